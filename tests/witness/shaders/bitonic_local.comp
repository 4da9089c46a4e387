// Sorts each block of 1024 in local memory with a bitonic network.
#version 460
layout(local_size_x = 512) in;

layout(std430, binding = 0) buffer Data { uint data[]; };

shared uint block[1024];

void main()
{
    uint thread = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 1024;
    block[thread] = data[base + thread];
    block[thread + 512] = data[base + thread + 512];
    for (uint run = 2; run <= 1024; run <<= 1) {
        for (uint stride = run >> 1; stride > 0; stride >>= 1) {
            barrier();
            uint low = 2 * thread - (thread & (stride - 1));
            uint high = low + stride;
            bool ascending = (low & run) == 0;
            if ((block[low] > block[high]) == ascending) {
                uint swap = block[low];
                block[low] = block[high];
                block[high] = swap;
            }
        }
    }
    barrier();
    data[base + thread] = block[thread];
    data[base + thread + 512] = block[thread + 512];
}
