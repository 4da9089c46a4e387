// More values alive at once than there are registers.
#version 460
#extension GL_EXT_control_flow_attributes : require
#define COUNT 240
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint r[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint v[COUNT];
    [[unroll]] for (int k = 0; k < COUNT; k++)
        v[k] = x[(i * 7 + k * 13) & 1023] + k;
    // Every value depends on one that is far away, so that none dies early.
    uint turns = (x[i] & 3) + 1;
    for (uint turn = 0; turn < turns; turn++) {
        [[unroll]] for (int k = 0; k < COUNT; k++)
            v[k] = v[k] * 5 + v[(k + 119) % COUNT];
    }
    uint sum = 0;
    [[unroll]] for (int k = COUNT - 1; k >= 0; k--)
        sum = sum * 31 ^ v[k];
    r[i] = sum;
}
