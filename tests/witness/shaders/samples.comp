// Writes each sample of a multisampled image (STORE), or copies them to a buffer.
#version 460
layout(local_size_x = 8, local_size_y = 8) in;

layout(std430, binding = 0) buffer Data { uint data[]; };
#ifdef STORE
layout(FORMAT, binding = 1) uniform writeonly uimage2DMS image;
#else
layout(binding = 1) uniform usampler2DMS image;
#endif
layout(push_constant) uniform Push { uvec2 size; };

void main()
{
    uvec2 at = gl_GlobalInvocationID.xy;
    if (any(greaterThanEqual(at, size)))
        return;
    for (uint s = 0; s < SAMPLES; ++s) {
        uint i = (at.y * size.x + at.x) * SAMPLES + s;
#ifdef STORE
        imageStore(image, ivec2(at), int(s), uvec4(data[i], data[i] * 3u, data[i] * 5u, data[i] * 7u));
#else
        uvec4 texel = texelFetch(image, ivec2(at), int(s));
        data[i] = texel.x + (texel.y << 8) + (texel.z << 16) + (texel.w << 24);
#endif
    }
}
