// Arrays of buffers, indexed by a value that is the same for all threads, or not.
#version 460
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer In { uint x[]; } inputs[16];
layout(std140, binding = 1) uniform Scale { uvec4 scale; } scales[8];
layout(std430, binding = 2) writeonly buffer Out { uint r[]; } outputs[4];
layout(push_constant) uniform Push { uint which; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint a = inputs[which].x[i];
    uint b = inputs[nonuniformEXT(a & 15)].x[i];
    uint c = scales[nonuniformEXT(b & 7)].scale[i & 3];
    outputs[nonuniformEXT(i & 3)].r[i >> 2] = a + b * c;
}
