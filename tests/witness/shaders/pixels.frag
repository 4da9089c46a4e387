#version 460
// The interpolated colour, with what else a fragment may decide.
#ifndef TYPE
#define TYPE vec4
#endif
#ifndef WHERE
#define WHERE
#endif
layout(location = 0) WHERE in vec4 shade;
#ifdef INDEXED
layout(location = 1) in float parts[5];
#endif
layout(location = 0) out TYPE color;
#ifdef DUAL
layout(location = 0, index = 1) out vec4 second;
#endif
#ifdef TARGETS
layout(location = 1) out vec4 color1;
layout(location = 2) out uvec4 color2;
layout(location = 3) out vec4 color3;
#endif
#ifdef MANY
layout(location = 4) out vec4 color4;
layout(location = 5) out vec4 color5;
layout(location = 6) out vec4 color6;
layout(location = 7) out vec4 color7;
#endif
#ifdef EARLY
layout(early_fragment_tests) in;
#endif
#ifdef COUNT
layout(binding = 0) buffer Counts { uint counts[]; };
#endif
#ifdef TEXTURE
layout(binding = 0) uniform sampler2D image;
#endif

void main() {
    vec4 value = shade;
    ivec2 at = ivec2(gl_FragCoord.xy);
#ifdef DISCARD
    if (((at.x ^ at.y) & 4) != 0)
        discard;
#endif
#ifdef DEPTH
    gl_FragDepth = fract(shade.r * 2.0);
#endif
#ifdef SAMPLE
    value = vec4(vec3(gl_SampleID) / 4.0 + shade.rgb * 0.25, 1.0);
#endif
#ifdef SAMPLE_POSITION
    value = vec4(gl_SamplePosition, shade.b, 1.0);
#endif
#ifdef SAMPLE_IN
    value = vec4(vec3(gl_SampleMaskIn[0] & 15) / 15.0, 1.0);
#endif
#ifdef SAMPLE_OUT
    gl_SampleMask[0] = (at.x >> 3) & 15;
#endif
#ifdef AT_SAMPLE
    value = interpolateAtSample(shade, 1);
#endif
#ifdef AT_OFFSET
    value = interpolateAtOffset(shade, vec2(0.25, -0.375));
#endif
#ifdef INDEXED
    int part = (at.x + 3 * at.y) % 5;
    value.r = parts[part];
    value.g = interpolateAtOffset(parts[part], vec2(0.25, -0.375));
    value.b = interpolateAtCentroid(parts[(part + at.y) % 5]);
    value.a = interpolateAtSample(parts[(part + 2) % 5], 0);
#endif
#ifdef DERIVATIVES
    value = vec4(abs(dFdx(shade.r)), abs(dFdy(shade.g)), fwidth(shade.b), 0.0) * 30.0;
#endif
#ifdef COORDINATES
    value = vec4(gl_FragCoord.xy / 128.0, gl_FragCoord.z, 0.25 / gl_FragCoord.w);
#endif
#ifdef HELPERS
    value = vec4(dFdx(float(gl_HelperInvocation)) != 0.0 ? 1.0 : 0.0, shade.gba);
#endif
#ifdef TEXTURE
    value = texture(image, shade.rg * TEXTURE);
#endif
#ifdef COUNT
    atomicAdd(counts[(at.y >> 4) * 8 + (at.x >> 4)], 1u);
#endif
    color = TYPE(value SCALE);
#ifdef DUAL
    second = vec4(0.75, 0.5, 0.25, 1.0) * shade.g;
#endif
#ifdef TARGETS
    color1 = value.bgra;
    color2 = uvec4(value * 200.0);
    color3 = value * 4.0 - 1.0;
#endif
#ifdef MANY
    color4 = value.gbar;
    color5 = value * 0.5;
    color6 = value.abgr;
    color7 = 1.0 - value;
#endif
}
