// Reads texels of a uniform texel buffer, and copies those of a storage texel buffer.
//
// PREFIX  u, i or nothing; VALUE  vec4, ivec4 or uvec4; QUALIFIER  the format, or nothing
#version 460
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_image_load_formatted : require
layout(local_size_x = 64) in;

layout(binding = 0) uniform TEXTURE t;
layout(QUALIFIER binding = 1) uniform readonly IMAGE a;
layout(QUALIFIER binding = 2) uniform writeonly IMAGE b;
layout(std430, binding = 3) writeonly buffer Out { VALUE r[]; };

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    if (i >= textureSize(t))
        return;
    r[i] = texelFetch(t, i);
    imageStore(b, i, imageLoad(a, imageSize(a) - 1 - i));
}
