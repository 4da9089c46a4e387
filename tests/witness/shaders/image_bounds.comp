// Loads, stores and fetches beyond the edges of an image and of texel buffers.
#version 460
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 64) in;

layout(r32ui, binding = 0) uniform uimage2D image;
layout(binding = 1) uniform usampler2D t;
layout(binding = 2) uniform utextureBuffer u;
layout(r32ui, binding = 3) uniform uimageBuffer s;
layout(std430, binding = 4) writeonly buffer Out { uint r[]; };

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    // Around the left upper and the right lower corner of 16 x 16.
    ivec2 at = ivec2(i % 8, i / 8) - 4 + (i >= 64 ? 16 : 0);
    if (i >= 64)
        at.y -= 8;
    r[4 * i] = imageLoad(image, at).x;
    r[4 * i + 1] = texelFetch(t, at, 0).x;
    r[4 * i + 2] = texelFetch(u, i - 8).x;
    r[4 * i + 3] = imageLoad(s, i - 8).x;
    imageStore(image, at + ivec2(100, 0), uvec4(0xbad));
    imageStore(s, i + 100, uvec4(0xbad));
}
