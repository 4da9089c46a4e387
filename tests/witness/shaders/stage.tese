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
// Corners interpolated; the coordinates show in the colour.
layout(MODE) in;
layout(location = 0) in vec4 shade_in[];
#ifdef FEEDBACK
layout(xfb_buffer = 0, xfb_stride = 32) out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
};
layout(location = 0, xfb_buffer = 0, xfb_offset = 16) out vec4 shade;
#else
layout(location = 0) out vec4 shade;
#endif
#ifdef TINT
layout(location = 1) patch in vec4 tint;
#endif

#ifdef SUBGROUP
#include "subgroups.glsl"
#endif
#ifdef UNIFORMS
layout(binding = 0) uniform Uniforms { mat4 matrix[3]; vec4 tint[3]; };
#endif

void main() {
    vec3 at = gl_TessCoord;
#if POINTS == 3
    gl_Position = at.x * gl_in[0].gl_Position + at.y * gl_in[1].gl_Position + at.z * gl_in[2].gl_Position;
    shade = at.x * shade_in[0] + at.y * shade_in[1] + at.z * shade_in[2];
#else
    vec4 low = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, at.x);
    gl_Position = mix(low, mix(gl_in[3].gl_Position, gl_in[2].gl_Position, at.x), at.y);
    shade = mix(mix(shade_in[0], shade_in[1], at.x), mix(shade_in[3], shade_in[2], at.x), at.y);
#endif
    shade.b = fract(at.x * 5.0);
#ifdef UNIFORMS
    gl_Position = matrix[2] * gl_Position;
    shade *= tint[2];
#endif
#ifdef SUBGROUP
    shade = agreed(shade);
#endif
#ifdef TINT
    shade = mix(shade, tint, 0.5);
    shade.g = gl_TessLevelOuter[1] * 0.05 + float(gl_PatchVerticesIn) * 0.02;
#endif
#ifdef VIEW
    gl_Position.y += 0.15 * float(gl_ViewIndex);
    shade.g = float(gl_ViewIndex) / 4.0;
#endif
    gl_PointSize = 3.0;
}
