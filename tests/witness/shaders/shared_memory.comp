// 32 KiB of local memory, zeroed by the driver, with bytes, halves and vectors in it.
#version 460
#extension GL_EXT_null_initializer : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint r[]; };

shared uint words[4096] = {};
shared uvec4 quads[512] = {};
shared uint16_t halves[2048] = {};
shared uint8_t bytes[4096] = {};

void main()
{
    uint i = gl_LocalInvocationIndex, place = gl_WorkGroupID.x % 4;
    // Another quarter of each array is written by each workgroup; the rest must be zero.
    for (uint k = 0; k < 4; k++) {
        words[(i * 4 + k) * 4 + place] = x[i] + k;
        bytes[(i * 4 + k) * 4 + place] = uint8_t(x[i] >> (k * 8));
    }
    halves[i * 8 + place] = uint16_t(x[i] >> 5);
    if (i < 128)
        quads[i * 4 + place] = uvec4(x[i], i, ~x[i], 9);
    barrier();
    uint j = 255 - i;
    uint sum = 0;
    for (uint k = 0; k < 16; k++)
        sum = sum * 3 + words[j * 16 + k] + uint(bytes[j * 16 + k]) * 7;
    for (uint k = 0; k < 8; k++)
        sum = sum * 5 + uint(halves[j * 8 + k]);
    for (uint k = 0; k < 2; k++) {
        uvec4 q = quads[j * 2 + k];
        sum = sum * 11 + (q.x ^ q.y ^ q.z ^ q.w);
    }
    r[gl_GlobalInvocationID.x] = sum;
}
