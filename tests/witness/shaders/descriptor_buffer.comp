// All kinds of descriptors that a compute shader reads from descriptor buffers.
#version 460
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 64) in;

layout(std140, set = 0, binding = 0) uniform Scale { uvec4 scale; } scales[3];
layout(std430, set = 0, binding = 1) buffer Words { uint w[]; } words[4];
layout(set = 0, binding = 2) uniform utextureBuffer texels[2];
layout(set = 0, binding = 3, r32ui) uniform uimageBuffer stored;
layout(set = 0, binding = 4) uniform usampler2D both[2];
layout(set = 0, binding = 5) uniform utexture2D image;
layout(set = 0, binding = 6, r32ui) uniform uimage2D target;
// Inline.
layout(std140, set = 0, binding = 7) uniform Block { uvec4 inlined[3]; };
layout(set = 1, binding = 0) uniform sampler embedded;

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint n = words[0].w[i];
    uint r = scales[nonuniformEXT(n % 3)].scale[i & 3];
    r = r * 31 + texelFetch(texels[nonuniformEXT(n & 1)], int(i)).x;
    r = r * 31 + imageLoad(stored, int(i)).x;
    vec2 at = (vec2(i & 7, i >> 3) + 0.5) / 8;
    r = r * 31 + textureLod(both[nonuniformEXT(i & 1)], at, 0).x;
    r = r * 31 + textureLod(usampler2D(image, embedded), at, 0).x;
    r = r * 31 + inlined[i % 3][n & 3];
    // Null descriptors, or the words once more.
    r = r * 31 + words[nonuniformEXT(2 + (i & 1))].w[i];
#if NULLS
    words[3].w[i] = 9;
#endif
    imageStore(target, ivec2(i & 7, i >> 3), uvec4(r ^ 5));
    imageStore(stored, int(i), uvec4(~r));
    words[1].w[i] = r;
}
