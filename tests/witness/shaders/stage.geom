#version 460
#ifdef SUBGROUP
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef VIEW
#extension GL_EXT_multiview : enable
#endif
// Geometry shaders: IN and OUT name the layouts, BODY what is emitted.
layout(IN, invocations = INVOCATIONS) in;
#ifndef MAX
#define MAX 12
#endif
layout(OUT, max_vertices = MAX) out;
layout(location = 0) in vec4 shade_in[];
#ifdef FEEDBACK
layout(xfb_buffer = 0, xfb_stride = 40) out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
};
layout(location = 0, xfb_buffer = 0, xfb_offset = 16) out vec4 shade;
#else
layout(location = 0) out vec4 shade;
#endif

#ifdef SUBGROUP
#include "subgroups.glsl"
#endif
#ifdef UNIFORMS
layout(binding = 0) uniform Uniforms { mat4 matrix[3]; vec4 tint[3]; };
#endif

void put(vec4 position, vec4 color) {
    gl_Position = position;
    gl_PointSize = 5.0;
    shade = color;
#ifdef UNIFORMS
    gl_Position = matrix[1] * gl_Position;
    shade *= tint[1];
#endif
#ifdef SUBGROUP
    shade = agreed(shade);
#endif
#ifdef VIEW
    gl_Position.x += 0.15 * float(gl_ViewIndex);
    shade.r = float(gl_ViewIndex) / 4.0;
#endif
    gl_PrimitiveID = gl_PrimitiveIDIn;
#ifdef LAYER
    gl_Layer = gl_PrimitiveIDIn % 4;
#endif
#ifdef VIEWPORT
    gl_ViewportIndex = (gl_PrimitiveIDIn + gl_InvocationID) % 4;
#endif
    EmitVertex();
}

void main() {
    vec4 offset = vec4(0.04 * float(gl_InvocationID), -0.05 * float(gl_InvocationID), 0.0, 0.0);
#if BODY == 0
    // A square around a point.
    vec4 at = gl_in[0].gl_Position + offset;
    for (int i = 0; i < 4; ++i) {
        put(at + vec4(i % 2 == 0 ? -0.05 : 0.05, i / 2 == 0 ? -0.08 : 0.08, 0.0, 0.0), shade_in[0]);
    }
    EndPrimitive();
#elif BODY == 1
    // The primitive, smaller.
    vec4 middle = vec4(0.0);
    int count = gl_in.length();
    for (int i = 0; i < count; ++i) {
        middle += gl_in[i].gl_Position / float(count);
    }
    for (int i = 0; i < count; ++i) {
        put(mix(gl_in[i].gl_Position, middle, 0.3) + offset, shade_in[i]);
    }
    EndPrimitive();
#elif BODY == 2
    // With adjacency: the inner triangle, then one to each neighbour if there is room.
    for (int i = 0; i < 3; ++i) {
        put(gl_in[2 * i].gl_Position, shade_in[2 * i]);
    }
    EndPrimitive();
    put(gl_in[0].gl_Position, shade_in[1]);
    put(mix(gl_in[0].gl_Position, gl_in[1].gl_Position, 0.5), shade_in[1]);
    put(gl_in[2].gl_Position, shade_in[1]);
    EndPrimitive();
#elif BODY == 3
    // Lines with adjacency: the inner line.
    put(gl_in[1].gl_Position, shade_in[0]);
    put(gl_in[2].gl_Position, shade_in[3]);
    EndPrimitive();
#elif BODY == 5
    // A square by one of the invocations, of far fewer vertices than there might be.
    vec4 at = gl_in[0].gl_Position;
    int count = gl_InvocationID == gl_PrimitiveIDIn % INVOCATIONS ? int(shade_in[0].a * 4.0) : 0;
    for (int i = 0; i < count; ++i) {
        put(at + vec4(i % 2 == 0 ? -0.01 : 0.01, i / 2 == 0 ? -0.01 : 0.01, 0.0, 0.0), shade_in[0]);
    }
    EndPrimitive();
#elif BODY == 4
    // As many vertices as the primitive's number says.
    int count = gl_PrimitiveIDIn % 5;
    for (int i = 0; i < 3 + count; ++i) {
        vec4 at = gl_in[i % 3].gl_Position;
        put(at + 0.03 * float(i) * vec4(1.0, -1.0, 0.0, 0.0), shade_in[i % 3]);
    }
    EndPrimitive();
#endif
}
