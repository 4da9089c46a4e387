// Samples a texture bilinearly, eight times an invocation, a few texels apart.
//
// SAMPLER  sampler2D or samplerCube; SIZE  texels of a side
#version 460
layout(local_size_x = 8, local_size_y = 8) in;

layout(binding = 0) uniform SAMPLER t;
layout(std430, binding = 1) writeonly buffer Out { uint r[]; };

#ifdef CUBE
// Neighbours look at the same face, mostly; each sample of an invocation at another one.
vec3 at(vec2 p, int i)
{
    vec3 d = vec3(2.1 * p - 1.05, i < 4 ? 1 : -1);
    return i % 3 == 0 ? d : i % 3 == 1 ? d.yzx : d.zxy;
}
#else
vec2 at(vec2 p, int i)
{
    return p + vec2(i * 5.3, i * 2.7) / SIZE;
}
#endif

void main()
{
    uvec2 c = gl_GlobalInvocationID.xy;
    vec2 p = (vec2(c) + 0.3) / SIZE;
    vec4 sum = vec4(0);
    for (int i = 0; i < 8; i++)
        sum += textureLod(t, at(p, i), 0);
    r[c.y * SIZE + c.x] = packUnorm4x8(sum / 8);
}
