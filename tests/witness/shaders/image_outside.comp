// Texels at numbers of all sizes, of images and texel buffers without alpha: red and alpha.
#version 460
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_image_load_formatted : require
layout(local_size_x = 64) in;

layout(r32ui, binding = 0) uniform readonly uimage2D image;
layout(binding = 0) uniform readonly uimage2D any_image;
layout(binding = 1) uniform usampler2D t;
layout(binding = 2) uniform utextureBuffer u;
layout(r32ui, binding = 3) uniform readonly uimageBuffer s;
layout(binding = 3) uniform readonly uimageBuffer any_s;
layout(std430, binding = 4) readonly buffer Numbers { int numbers[]; };
layout(std430, binding = 5) writeonly buffer Out { uvec2 r[]; };

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    int n = numbers[i];
    r[8 * i] = imageLoad(image, ivec2(n, 3)).xw;
    r[8 * i + 1] = imageLoad(any_image, ivec2(3, n)).xw;
    r[8 * i + 2] = texelFetch(t, ivec2(n, 3), 0).xw;
    r[8 * i + 3] = texelFetch(t, ivec2(3, n), 0).xw;
    r[8 * i + 4] = texelFetch(t, ivec2(3, 3), n).xw;
    r[8 * i + 5] = texelFetch(u, n).xw;
    r[8 * i + 6] = imageLoad(s, n).xw;
    r[8 * i + 7] = imageLoad(any_s, n).xw;
}
