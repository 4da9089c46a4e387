#version 460
// Each sample of each pixel of an image of four samples.
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform texture2DMS image;
layout(binding = 1) writeonly buffer Texels { vec4 texels[]; };

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    ivec2 size = textureSize(image);
    if (any(greaterThanEqual(at, size)))
        return;
    for (int s = 0; s < 4; s++)
        texels[(at.y * size.x + at.x) * 4 + s] = texelFetch(image, at, s);
}
