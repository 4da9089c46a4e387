// Tiled matrix product c = a * b through local memory.
//
// T  element type; SIZE  rows and columns, a multiple of 16
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#define TILE 16

layout(local_size_x = TILE, local_size_y = TILE) in;

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { T b[]; };
layout(std430, binding = 2) writeonly buffer C { T c[]; };

shared T tile_a[TILE][TILE];
shared T tile_b[TILE][TILE];

void main()
{
    uint row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
    uint y = gl_LocalInvocationID.y, x = gl_LocalInvocationID.x;
    T sum = T(0);
    for (uint k = 0; k < SIZE; k += TILE) {
        tile_a[y][x] = a[row * SIZE + k + x];
        tile_b[y][x] = b[(k + y) * SIZE + column];
        barrier();
        for (uint i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        barrier();
    }
    c[row * SIZE + column] = sum;
}
