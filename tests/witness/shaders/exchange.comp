// Threads of a workgroup exchange values through a buffer, with barriers.
#version 460
layout(local_size_x = 256) in;

layout(std430, binding = 0) coherent buffer Data { uint x[]; };

void main()
{
    uint base = gl_WorkGroupID.x * 256, i = gl_LocalInvocationIndex;
    for (uint k = 1; k < 256; k <<= 1) {
        uint sum = x[base + i] + x[base + (i ^ k)];
        memoryBarrierBuffer();
        barrier();
        x[base + i] = sum * 3 + k;
        memoryBarrierBuffer();
        barrier();
    }
}
