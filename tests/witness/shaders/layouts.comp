// Reads a structure of every shape from a buffer and writes its numbers one after another.
//
// LAYOUT  std430 or scalar, for a storage buffer; std140 for a uniform buffer (KIND uniform)
#version 460
#extension GL_EXT_scalar_block_layout : enable
layout(local_size_x = 32) in;

struct Inner {
    vec3 v;
    float f;
    ivec2 i[3];
};

struct Outer {
    float a;
    vec3 b;
    mat3 c;
    vec2 d;
    Inner e[2];
    mat4x2 f;
    uint h;
};

layout(LAYOUT, binding = 0) KIND In {
    Outer elements[4];
    layout(row_major) mat2x3 g[4];
};
layout(std430, binding = 1) writeonly buffer Out { float r[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= 4)
        return;
    uint n = i * 64;
    r[n++] = elements[i].a;
    for (int k = 0; k < 3; k++)
        r[n++] = elements[i].b[k];
    for (int k = 0; k < 9; k++)
        r[n++] = elements[i].c[k / 3][k % 3];
    r[n++] = elements[i].d.x;
    r[n++] = elements[i].d.y;
    for (int k = 0; k < 2; k++) {
        Inner e = elements[i].e[k];
        r[n++] = e.v.x;
        r[n++] = e.v.y;
        r[n++] = e.v.z;
        r[n++] = e.f;
        for (int l = 0; l < 3; l++) {
            r[n++] = intBitsToFloat(e.i[l].x);
            r[n++] = intBitsToFloat(e.i[l].y);
        }
    }
    for (int k = 0; k < 8; k++)
        r[n++] = elements[i].f[k / 2][k % 2];
    r[n++] = uintBitsToFloat(elements[i].h);
    for (int k = 0; k < 6; k++)
        r[n++] = g[i][k / 3][k % 3];
}
