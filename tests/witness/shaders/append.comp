// Appends the odd numbers to a list whose length is an atomic counter.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer List { uint length; uint list[]; };

void main()
{
    uint x = a[gl_GlobalInvocationID.x];
    if ((x & 1) == 1)
        list[atomicAdd(length, 1)] = x;
}
