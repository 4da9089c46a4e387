#version 460
#ifdef SUBGROUP
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#extension GL_ARB_shader_viewport_layer_array : enable
#extension GL_EXT_multiview : enable
// Positions and colours from a vertex buffer. FLAT: the colour is that of the provoking vertex.
#ifndef FLAT
#define FLAT
#endif
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
#ifdef FEEDBACK
layout(xfb_buffer = 0, xfb_stride = 32) out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
};
layout(location = 0, xfb_buffer = 0, xfb_offset = 16) FLAT out vec4 shade;
#else
layout(location = 0) FLAT out vec4 shade;
#endif
#ifdef CLIP
out float gl_ClipDistance[CLIP];
#endif
#ifdef CULL
out float gl_CullDistance[CULL];
#endif

#ifdef SUBGROUP
#include "subgroups.glsl"
#endif
#ifdef UNIFORMS
layout(binding = 0) uniform Uniforms { mat4 matrix[3]; vec4 tint[3]; };
#endif

void main() {
    gl_Position = position;
    shade = color;
#ifdef UNIFORMS
    gl_Position = matrix[0] * gl_Position;
    shade *= tint[0];
#endif
#ifdef SUBGROUP
    shade = agreed(shade);
#endif
#ifdef SIZE
    gl_PointSize = SIZE;
#elif !defined(PLAIN)
    gl_PointSize = 1.0;
#endif
#ifdef CLIP
    for (int i = 0; i < CLIP; ++i) {
        float angle = float(i) * 0.9;
        gl_ClipDistance[i] = position.x * cos(angle) + position.y * sin(angle) + 0.8 * position.w;
    }
#endif
#ifdef CULL
    for (int i = 0; i < CULL; ++i) {
        float angle = float(i) * 2.1;
        gl_CullDistance[i] = position.x * cos(angle) + position.y * sin(angle) + 0.1 * position.w;
    }
#endif
#ifdef LAYER
    gl_Layer = gl_InstanceIndex % LAYER;
    gl_Position.x += 0.1 * float(gl_InstanceIndex);
#endif
#ifdef VIEWPORT
    gl_ViewportIndex = gl_InstanceIndex % VIEWPORT;
#endif
#ifdef VIEW
    gl_Position.x += 0.2 * float(gl_ViewIndex);
    shade.r = float(gl_ViewIndex) / 4.0;
#endif
#ifdef INSTANCED
    gl_Position.xy += vec2(gl_InstanceIndex % 8, gl_InstanceIndex / 8) * 0.25 * position.w;
    shade.b = float(gl_InstanceIndex) / 64.0;
#endif
}
