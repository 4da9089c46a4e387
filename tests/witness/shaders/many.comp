// More descriptors than 16 bits of bytes reach: each read by a thread of its own, all by a loop, the last alone.
//
// COUNT  descriptors; IMAGES  storage images instead of uniform buffers
#version 460
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 64) in;

#ifdef IMAGES
layout(r32ui, binding = 0) uniform readonly uimage2D many[COUNT];
#define VALUE(i) imageLoad(many[i], ivec2(0)).x
#else
layout(std140, binding = 0) uniform U { uvec4 value; } many[COUNT];
#define VALUE(i) many[i].value.x
#endif
layout(std430, binding = 1) writeonly buffer Out { uint r[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    r[i] = VALUE(nonuniformEXT(i));
    if (gl_WorkGroupID.x == 0) {
        uint sum = 0;
        for (uint k = 0; k < COUNT; ++k)
            sum = sum * 3 + VALUE(k);
        r[COUNT + i] = sum;
        // At a number that the compiler knows.
        r[COUNT + 64 + i] = VALUE(COUNT - 1);
    }
}
