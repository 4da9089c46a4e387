// Looks outside of textures, each of another format: a sample, gathers of each component, and a fetch.
//
// SAMPLER  sampler2D, isampler2D or usampler2D; VALUE  vec4, ivec4 or uvec4; COUNT  textures
#version 460
layout(local_size_x = 1) in;

layout(binding = 0) uniform SAMPLER t[COUNT];
layout(std430, binding = 1) writeonly buffer Out { VALUE r[]; };

void main()
{
    uint i = gl_WorkGroupID.x;
    vec2 p = vec2(-1);
    r[6 * i] = textureLod(t[i], p, 0);
    r[6 * i + 1] = textureGather(t[i], p, 0);
    r[6 * i + 2] = textureGather(t[i], p, 1);
    r[6 * i + 3] = textureGather(t[i], p, 2);
    r[6 * i + 4] = textureGather(t[i], p, 3);
    r[6 * i + 5] = texelFetch(t[i], ivec2(-1, 7), 0);
}
