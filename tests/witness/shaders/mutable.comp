// Sums of what descriptors of four kinds hold.
#version 460
layout(local_size_x = 32) in;

layout(binding = 0) uniform Uniforms { uvec4 factors; };
layout(std430, binding = 1) readonly buffer Words { uint words[]; };
layout(binding = 2) uniform usamplerBuffer texels;
layout(std430, binding = 3) writeonly buffer Out { uint sums[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    sums[i] = factors.x * words[i] + factors.y * texelFetch(texels, int(i)).x;
}
