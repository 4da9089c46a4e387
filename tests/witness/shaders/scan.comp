// Exclusive prefix sums of blocks of 512 (up-sweep and down-sweep), and each block's total.
#version 460
layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer In { uint values[]; };
layout(std430, binding = 1) writeonly buffer Out { uint prefix[]; };
layout(std430, binding = 2) writeonly buffer Totals { uint totals[]; };

shared uint tree[512];

void main()
{
    uint thread = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 512;
    tree[2 * thread] = values[base + 2 * thread];
    tree[2 * thread + 1] = values[base + 2 * thread + 1];
    uint offset = 1;
    for (uint width = 256; width > 0; width >>= 1) {
        barrier();
        if (thread < width)
            tree[offset * (2 * thread + 2) - 1] += tree[offset * (2 * thread + 1) - 1];
        offset <<= 1;
    }
    barrier();
    if (thread == 0) {
        totals[gl_WorkGroupID.x] = tree[511];
        tree[511] = 0;
    }
    for (uint width = 1; width < 512; width <<= 1) {
        offset >>= 1;
        barrier();
        if (thread < width) {
            uint left = offset * (2 * thread + 1) - 1, right = offset * (2 * thread + 2) - 1;
            uint sum = tree[left];
            tree[left] = tree[right];
            tree[right] += sum;
        }
    }
    barrier();
    prefix[base + 2 * thread] = tree[2 * thread];
    prefix[base + 2 * thread + 1] = tree[2 * thread + 1];
}
