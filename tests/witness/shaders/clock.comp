// r[i] = 1 if the clock does not go back while the invocation computes.
#version 460
#extension GL_ARB_shader_clock : require
layout(local_size_x = 64) in;

layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer R { uint r[]; };

bool is_later(uvec2 b, uvec2 a)
{
    return b.y > a.y || b.y == a.y && b.x >= a.x;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= r.length())
        return;
    uint x = a[i];
    uvec2 first = clock2x32ARB();
    for (uint k = 0; k < x % 37u + 2u; ++k)
        x = x * 747796405u + 2891336453u;
    uvec2 second = clock2x32ARB();
    for (uint k = 0; k < x % 11u; ++k)
        x ^= x >> 3;
    uvec2 third = clock2x32ARB();
    // What is computed between is needed.
    bool right = is_later(second, first) && is_later(third, second) && third != first;
    r[i] = right ? 1u + (x & 0u) : 0u;
}
