// One step of a chain: x = x * a + b, so that the order of the steps shows in the result.
#version 460
layout(local_size_x = 64) in;

layout(std430, binding = 0) buffer Data { uint x[]; };
layout(push_constant) uniform Push { uint a, b; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    x[i] = x[i] * a + b;
}
