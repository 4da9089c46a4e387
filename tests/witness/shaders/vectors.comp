// Loads and stores of a vector type at every element, with a swizzle in between.
//
// T  a vector type; SWIZZLE  components of the store; S  what is done to a value
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 32) in;

layout(scalar, binding = 0) readonly buffer In { T a[]; };
layout(scalar, binding = 1) buffer Out { T r[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    T x = a[i];
    r[i].SWIZZLE = (x * x + x).SWIZZLE;
}
