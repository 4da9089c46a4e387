// Buffers with dynamic offsets, in a dispatch each.
#version 460
layout(local_size_x = 32) in;

layout(std140, binding = 0) uniform In { uvec4 x; };
layout(std430, binding = 1) writeonly buffer Out { uint r[32]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    r[i] = x[i & 3] + i;
}
