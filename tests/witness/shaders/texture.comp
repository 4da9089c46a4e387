// One texture operation a thread: r[i] = EXPR, over the texture t and coordinates p and q.
//
// SAMPLER  sampler2D, usamplerCubeArray, …; RESULT  vec4, ivec4 or uvec4; EXPR  the operation
#version 460
#extension GL_EXT_texture_shadow_lod : enable
#extension GL_EXT_samplerless_texture_functions : enable
layout(local_size_x = 64) in;

layout(binding = 0) uniform SAMPLER t;
layout(std430, binding = 1) readonly buffer P { vec4 p_in[]; };
layout(std430, binding = 2) readonly buffer Q { vec4 q_in[]; };
layout(std430, binding = 3) writeonly buffer R { RESULT r_out[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= uint(r_out.length()))
        return;
    vec4 p = p_in[i], q = q_in[i];
    r_out[i] = RESULT(EXPR);
}
