// Accelerations of bodies that attract each other, with tiles of bodies in local memory.
#version 460
#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(std430, binding = 0) readonly buffer In { vec4 bodies[]; };
layout(std430, binding = 1) writeonly buffer Out { vec4 accelerations[]; };

shared vec4 tile[BLOCK];

void main()
{
    vec4 me = bodies[gl_GlobalInvocationID.x];
    vec3 sum = vec3(0);
    float potential = 0;
    for (uint block = 0; block < gl_NumWorkGroups.x; block++) {
        tile[gl_LocalInvocationID.x] = bodies[block * BLOCK + gl_LocalInvocationID.x];
        barrier();
        for (uint i = 0; i < BLOCK; i++) {
            vec3 to = tile[i].xyz - me.xyz;
            float inverse = inversesqrt(dot(to, to) + 0.01);
            sum += to * (tile[i].w * inverse * inverse * inverse);
            potential += tile[i].w * inverse;
        }
        barrier();
    }
    accelerations[gl_GlobalInvocationID.x] = vec4(sum, potential);
}
