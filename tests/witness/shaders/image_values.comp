// Stores values from a buffer and loads them again behind a barrier of the whole image.
//
// IMAGE  the image type; LAYOUT  its format qualifier, or nothing; VALUE  vec4, ivec4 or uvec4
// LOAD  load instead of store
#version 460
#extension GL_EXT_shader_image_load_formatted : require
layout(local_size_x = 64) in;

layout(LAYOUT binding = 0) uniform IMAGE image;
layout(std430, binding = 1) buffer Values { VALUE values[]; };
layout(push_constant) uniform Push { int width, height; };

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    ivec2 at = ivec2(i % width, i / width);
    if (at.y >= height)
        return;
#ifdef LOAD
    values[i] = imageLoad(image, at);
#else
    imageStore(image, at, values[i]);
#endif
}
