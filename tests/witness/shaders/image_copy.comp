// Copies an image texel by texel: r[c] = a[c].
//
// IMAGE  image2D, uimageCubeArray, …; LAYOUT_A LAYOUT_R  format qualifiers, or nothing
// AT  texel coordinates over the thread id c; BELOW  whether c is inside
#version 460
#extension GL_EXT_shader_image_load_formatted : require
layout(local_size_x = 8, local_size_y = 8) in;

layout(LAYOUT_A binding = 0) uniform readonly IMAGE a;
layout(LAYOUT_R binding = 1) uniform writeonly IMAGE r;

void main()
{
    ivec3 c = ivec3(gl_GlobalInvocationID);
    if (BELOW)
        imageStore(r, AT, imageLoad(a, AT));
}
