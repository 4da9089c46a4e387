// Which thread am I: every built-in variable of a dispatch, in the order of linear thread ids.
#version 460
layout(local_size_x = X, local_size_y = Y, local_size_z = Z) in;

layout(std430, binding = 0) writeonly buffer Out { uvec4 ids[]; };

void main()
{
#ifdef GROUPS
    uvec3 size = uvec3(GROUPS) * gl_WorkGroupSize;
#else
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize;
#endif
    uvec3 me = gl_GlobalInvocationID;
    uint linear = (me.z * size.y + me.y) * size.x + me.x;
    ids[3 * linear] = uvec4(gl_GlobalInvocationID, gl_LocalInvocationIndex);
    ids[3 * linear + 1] = uvec4(gl_WorkGroupID, 77);
    ids[3 * linear + 2] = uvec4(gl_LocalInvocationID, gl_NumWorkGroups.x * 10000 + gl_NumWorkGroups.y * 100 + gl_NumWorkGroups.z);
}
