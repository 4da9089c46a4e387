// The size of a storage image of each shape.
#version 460
layout(local_size_x = 1) in;

layout(r32ui, binding = 0) uniform readonly uimage1D a;
layout(r32ui, binding = 1) uniform readonly uimage1DArray b;
layout(r32ui, binding = 2) uniform readonly uimage2D c;
layout(r32ui, binding = 3) uniform readonly uimage2DArray d;
layout(r32ui, binding = 4) uniform readonly uimage3D e;
layout(r32ui, binding = 5) uniform readonly uimageCube f;
layout(r32ui, binding = 6) uniform readonly uimageCubeArray g;
layout(std430, binding = 7) writeonly buffer Out { ivec4 r[]; };

void main()
{
    r[0] = ivec4(imageSize(a), 0, 0, 0);
    r[1] = ivec4(imageSize(b), 0, 0);
    r[2] = ivec4(imageSize(c), 0, 0);
    r[3] = ivec4(imageSize(d), 0);
    r[4] = ivec4(imageSize(e), 0);
    r[5] = ivec4(imageSize(f), 0, 0);
    r[6] = ivec4(imageSize(g), 0);
}
