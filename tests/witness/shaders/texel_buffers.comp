// Reads a texel of each of a hundred texel buffers, more than have their descriptors in registers.
#version 460
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 64) in;

#define TEN(f, name, first) \
    f(name##0, first + 0) f(name##1, first + 1) f(name##2, first + 2) f(name##3, first + 3) f(name##4, first + 4) \
    f(name##5, first + 5) f(name##6, first + 6) f(name##7, first + 7) f(name##8, first + 8) f(name##9, first + 9)
#define ALL(f) \
    TEN(f, t0, 0) TEN(f, t1, 10) TEN(f, t2, 20) TEN(f, t3, 30) TEN(f, t4, 40) \
    TEN(f, t5, 50) TEN(f, t6, 60) TEN(f, t7, 70) TEN(f, t8, 80) TEN(f, t9, 90)

#define BUFFER(name, number) layout(binding = number) uniform utextureBuffer name;
ALL(BUFFER)
layout(std430, binding = 100) writeonly buffer Out { uint r[]; };

#define ADD(name, number) sum = sum * 3 + texelFetch(name, i).x;

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    uint sum = 0;
    ALL(ADD)
    r[i] = sum;
}
