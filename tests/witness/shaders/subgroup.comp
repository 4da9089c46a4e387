// One sub-group operation: r[i] = EXPR, over a (this thread's value) and the thread's place.
//
// T TR  types of the values and of the result; EXPR  the expression
// ACTIVE  which threads take part, over `lane` and `i`
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_subgroup_extended_types_int8 : enable
#extension GL_EXT_shader_subgroup_extended_types_int16 : enable
#extension GL_EXT_shader_subgroup_extended_types_int64 : enable
#extension GL_EXT_shader_subgroup_extended_types_float16 : enable
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_rotate : enable
layout(local_size_x = 128) in;

layout(std430, binding = 0) readonly buffer A { T a_in[]; };
layout(std430, binding = 1) writeonly buffer R { TR r_out[]; };
layout(std430, binding = 2) writeonly buffer Place { uvec2 place[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x, lane = gl_SubgroupInvocationID;
    place[i] = uvec2(gl_SubgroupID, lane);
    T a = a_in[i];
    r_out[i] = TR(0);
    if (ACTIVE)
        r_out[i] = TR(EXPR);
}
