// Reads texels of three words of a uniform texel buffer, and behind its end.
//
// TEXTURE  the texture's type; VALUE  vec4, ivec4 or uvec4
#version 460
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 64) in;

layout(binding = 0) uniform TEXTURE t;
layout(std430, binding = 1) writeonly buffer Out { VALUE r[]; };

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    int n = textureSize(t);
    if (i < n)
        r[i] = texelFetch(t, i);
    else if (i < n + 4)
        r[i] = VALUE(texelFetch(t, i * i).xyz, n);
}
