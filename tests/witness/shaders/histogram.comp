// Counts bytes: atomics in local memory, then one global addition a bin and workgroup.
#version 460
layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer In { uint words[]; };
layout(std430, binding = 1) buffer Out { uint bins[256]; };

shared uint local_bins[256];

void main()
{
    uint thread = gl_LocalInvocationID.x;
    local_bins[thread] = 0;
    barrier();
    uint word = words[gl_GlobalInvocationID.x];
    for (int byte = 0; byte < 4; byte++)
        atomicAdd(local_bins[bitfieldExtract(word, 8 * byte, 8)], 1);
    barrier();
    atomicAdd(bins[thread], local_bins[thread]);
}
