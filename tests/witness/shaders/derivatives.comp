// Derivatives and levels of detail of invocations in groups of four.
#version 460
#extension GL_NV_compute_shader_derivatives : require
layout(local_size_x = X, local_size_y = Y, local_size_z = Z) in;
layout(GROUP) in;
layout(binding = 0) uniform sampler2D t;
layout(binding = 1) readonly buffer Values { float values[]; };
layout(binding = 2) readonly buffer Places { vec2 places[]; };
layout(binding = 3) writeonly buffer Result { vec4 r[]; };

void main()
{
    uvec3 at = gl_GlobalInvocationID;
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize;
    uint k = (at.z * size.y + at.y) * size.x + at.x;
    float f = values[k];
    vec2 place = places[k];
    r[4 * k] = vec4(dFdxFine(f), dFdyFine(f), fwidthFine(f), float(gl_LocalInvocationIndex));
    r[4 * k + 1] = vec4(dFdxCoarse(f), dFdyCoarse(f), dFdx(f), dFdy(f));
    r[4 * k + 2] = vec4(texture(t, place).x, texture(t, place, 1.0).x, textureQueryLod(t, place));
    // A sum that each invocation of the group has in another round.
    float sum = 0.0;
    for (uint n = 0; n < 4; ++n) {
        float own = f * float(n + 1);
        sum += dFdxFine(own);
    }
    r[4 * k + 3] = vec4(sum, dFdxFine(place), dFdyFine(place).y);
}
