#version 460
#extension GL_ARB_sparse_texture2 : require
// Which texels of an array have memory, at 64 x 64 places of two layers and four levels: by a sampler, and by a fetch.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) writeonly buffer Result { uvec2 codes[]; };
layout(set = 0, binding = 1) uniform sampler2DArray image;

void main() {
    uvec3 at = gl_GlobalInvocationID;
    int level = int(at.z / 2u), layer = int(at.z % 2u);
    vec2 place = (vec2(at.xy) + 0.5) / 64.0;
    ivec2 texel = ivec2((at.xy * 2u + 1u) * uvec2(textureSize(image, level).xy) / 128u);
    vec4 unused;
    int sampled = sparseTextureLodARB(image, vec3(place, layer), float(level), unused);
    int fetched = sparseTexelFetchARB(image, ivec3(texel, layer), level, unused);
    codes[(at.z * 64u + at.y) * 64u + at.x] =
        uvec2(sparseTexelsResidentARB(sampled), sparseTexelsResidentARB(fetched));
}
