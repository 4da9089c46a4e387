// Each thread adds itself to a counter; each workgroup marks itself. All accesses are atomic, so that dispatches
// need no barrier.
#version 460
layout(local_size_x = 32) in;

layout(std430, binding = 0) buffer Out { uint threads, groups_x, marks[]; };

void main()
{
    atomicAdd(threads, 1);
    atomicExchange(groups_x, gl_NumWorkGroups.x);
    if (gl_LocalInvocationIndex == 0)
        atomicAdd(marks[gl_WorkGroupID.y * 16 + gl_WorkGroupID.x], 1);
}
