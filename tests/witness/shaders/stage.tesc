#version 460
#ifdef SUBGROUP
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// Levels that grow with PATCH, by default the patch's number.
#ifndef PATCH
#define PATCH gl_PrimitiveID
#endif
layout(vertices = POINTS) out;
layout(location = 0) in vec4 shade_in[];
layout(location = 0) out vec4 shade[];
#ifdef TINT
layout(location = 1) patch out vec4 tint;
#endif

#ifdef SUBGROUP
#include "subgroups.glsl"
#endif

void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
#ifdef SUBGROUP
    shade[gl_InvocationID] = agreed(shade_in[gl_InvocationID]);
#else
    shade[gl_InvocationID] = shade_in[gl_InvocationID];
#endif
#ifdef TINT
    // What the other invocations wrote; the last one says it to the patch.
    barrier();
    if (gl_InvocationID == POINTS - 1) {
        vec4 sum = vec4(0.0);
        for (int i = 0; i < POINTS; ++i) {
            sum += shade[i] / float(POINTS);
        }
        tint = sum;
    }
#endif
    if (gl_InvocationID == 0) {
        float level = LEVEL + 1.7 * float(PATCH);
        for (int i = 0; i < 4; ++i) {
            gl_TessLevelOuter[i] = level + 0.6 * float(i);
#ifdef CULLED
            // Every third patch is not drawn.
            if (PATCH % 3 == 1 && i == PATCH % 2) {
                gl_TessLevelOuter[i] = 0.0;
            }
#endif
        }
        gl_TessLevelInner[0] = level;
        gl_TessLevelInner[1] = level + 1.0;
    }
}
