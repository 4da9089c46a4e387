// Fast Fourier transform of 1024 complex numbers in local memory (Stockham, radix 2).
#version 460
#define SIZE 1024
layout(local_size_x = SIZE / 2) in;

layout(std430, binding = 0) readonly buffer In { vec2 samples[]; };
layout(std430, binding = 1) writeonly buffer Out { vec2 spectrum[]; };

shared vec2 work[2][SIZE];

vec2 multiply(vec2 a, vec2 b)
{
    return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

void main()
{
    uint thread = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * SIZE;
    work[0][thread] = samples[base + thread];
    work[0][thread + SIZE / 2] = samples[base + thread + SIZE / 2];
    uint from = 0;
    for (uint length = 1; length < SIZE; length *= 2) {
        barrier();
        uint k = thread & (length - 1);
        float angle = -3.14159265358979 * float(k) / float(length);
        vec2 twiddled = multiply(work[from][thread + SIZE / 2], vec2(cos(angle), sin(angle)));
        vec2 even = work[from][thread];
        uint to = (thread << 1) - k;
        from = 1 - from;
        work[from][to] = even + twiddled;
        work[from][to + length] = even - twiddled;
    }
    barrier();
    spectrum[base + thread] = work[from][thread];
    spectrum[base + thread + SIZE / 2] = work[from][thread + SIZE / 2];
}
