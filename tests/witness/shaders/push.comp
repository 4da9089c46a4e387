// 128 bytes of push constants of many types, and a part indexed dynamically.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 32) in;

layout(std430, binding = 0) writeonly buffer Out { uint r[]; };
layout(push_constant, std430) uniform Push {
    uint a;
    float b;
    uint16_t c, d;
    uint8_t e, f, g, h;
    uvec4 v;
    uint64_t w;
    uint table[22];
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint x = 0;
    switch (i) {
    case 0: x = a; break;
    case 1: x = floatBitsToUint(b); break;
    case 2: x = c; break;
    case 3: x = d; break;
    case 4: x = uint(e) | uint(f) << 8 | uint(g) << 16 | uint(h) << 24; break;
    case 5: x = v.x ^ v.w; break;
    case 6: x = uint(w); break;
    case 7: x = uint(w >> 32); break;
    default: x = table[(i - 8) % 22] + table[(i * 7) % 22]; break;
    }
    r[i] = x;
}
