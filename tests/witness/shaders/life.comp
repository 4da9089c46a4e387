// One generation of Conway's game of life on a torus, a byte a cell.
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 8, local_size_y = 8) in;

layout(std430, binding = 0) readonly buffer In { uint8_t now[]; };
layout(std430, binding = 1) writeonly buffer Out { uint8_t next[]; };
layout(push_constant) uniform Size { int width, height; };

void main()
{
    ivec2 here = ivec2(gl_GlobalInvocationID.xy);
    if (here.x >= width || here.y >= height)
        return;
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            ivec2 there = (here + ivec2(dx, dy) + ivec2(width, height)) % ivec2(width, height);
            alive += int(now[there.y * width + there.x]);
        }
    int me = int(now[here.y * width + here.x]);
    next[here.y * width + here.x] = uint8_t(alive == 3 || alive - me == 3 || (me == 1 && alive == 4) ? 1 : 0);
}
