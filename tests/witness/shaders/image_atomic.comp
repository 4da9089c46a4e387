// Atomic operations on the texels of an image, by threads that meet on them.
//
// T  int, uint or float; IMAGE  the image type; QUALIFIER  its format
// OP(c, x)  the operation over `image, c`; AT  texel coordinates over the texel number t
#version 460
#extension GL_EXT_shader_atomic_float : enable
layout(local_size_x = 64) in;

layout(QUALIFIER, binding = 0) uniform IMAGE image;
layout(std430, binding = 1) readonly buffer A { T a[]; };
layout(std430, binding = 2) writeonly buffer Old { T old[]; };
layout(push_constant) uniform Push { int texels; };

void main()
{
    int i = int(gl_GlobalInvocationID.x), t = i % texels;
    T x = a[i];
    old[i] = OP(AT, x);
}
