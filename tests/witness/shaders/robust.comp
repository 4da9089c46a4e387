// Accesses in and out of bounds: reads beyond the end give 0, writes there do nothing.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) readonly buffer B { uvec4 b[]; };
layout(std140, binding = 2) uniform C { uvec4 c[64]; };
layout(std430, binding = 3) buffer D { uint d[]; };
layout(std430, binding = 4) buffer E { uint e[]; };
layout(std430, binding = 5) writeonly buffer F { uint f[]; };
layout(std430, binding = 6) writeonly buffer Out { uint r[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    // Distances beyond the end from one element to a gigabyte.
    uint far = (i & 1) == 1 ? i : 1u << min(i & 31, 28);
    r[8 * i] = a[i];
    r[8 * i + 1] = a[far];
    r[8 * i + 2] = b[i].x + b[i].w;
    r[8 * i + 3] = c[i].y;
    r[8 * i + 4] = uint(a.length());
    r[8 * i + 5] = uint(b.length());
    d[far + 8] = i + 1000;
    if (i >= 16)
        atomicAdd(e[i], 5);
    else
        atomicAdd(e[i], 1);
    r[8 * i + 6] = a[0xfffffff0u + (i & 15)];
    // Neighbours of which one is outside: before the beginning, after the end.
    r[8 * i + 7] = b[i - 1].w + b[i].x;
    r[512 + 4 * i] = a[i - 1] ^ a[i];
    r[512 + 4 * i + 1] = a[i * 2] ^ a[i * 2 + 1];
    uint four = i * 4;
    r[512 + 4 * i + 2] = (a[four] ^ a[four + 1]) + (a[four + 2] ^ a[four + 3]);
    f[four] = i;
    f[four + 1] = i + 1;
    f[four + 2] = i + 2;
    f[four + 3] = i + 3;
    r[512 + 4 * i + 3] = i;
}
