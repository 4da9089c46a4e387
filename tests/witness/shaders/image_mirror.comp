// Mirrors an image, an invocation a workgroup: r[x, y] = a[last - x, y]. Coordinates are the same for a whole thread, and those of
// the load partly others than those of the store.
#version 460
layout(local_size_x = 1) in;

layout(r32ui, binding = 0) uniform readonly uimage2D a;
layout(r32ui, binding = 1) uniform writeonly uimage2D r;

void main()
{
    ivec2 c = ivec2(gl_GlobalInvocationID);
    imageStore(r, c, imageLoad(a, ivec2(imageSize(a).x - 1 - c.x, c.y)));
}
