// A large array in each thread, indexed by data: it does not fit in registers.
//
// LENGTH  words in the array
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint r[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint state = x[i];
    uint a[LENGTH];
    for (uint k = 0; k < LENGTH; k++)
        a[k] = k * 7 + i;
    for (uint k = 0; k < 200; k++) {
        state = state * 1664525u + 1013904223u;
        uint from = (state >> 8) % LENGTH, to = (state >> 20) % LENGTH;
        if ((state >> 30) == 1)
            continue;
        a[to] += a[from] ^ k;
    }
    uint sum = 0;
    for (uint k = 0; k < LENGTH; k++)
        sum = sum * 33 + a[k];
    r[i] = sum;
}
