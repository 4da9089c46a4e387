#version 460
// Reads one texel of each of 64 parts of a texel buffer, the last of the part, and writes the one before.
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 64) in;

layout(binding = 0) uniform utextureBuffer t;
layout(r8ui, binding = 1) uniform uimageBuffer a;
layout(std430, binding = 2) writeonly buffer Out { uvec4 r[]; };

void main()
{
    int k = int(gl_GlobalInvocationID.x);
    int part = textureSize(t) / 64;
    int at = part * k + part - 1;
    r[k] = uvec4(texelFetch(t, at).x, imageLoad(a, at).x, textureSize(t), imageSize(a));
    imageStore(a, at - 1, uvec4(255 - k));
}
