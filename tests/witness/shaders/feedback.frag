// Reads, as an image, what stands in its own attachment; DEPTH: which is that of depth.
#version 460
#extension GL_EXT_samplerless_texture_functions : require
layout(binding = 0) uniform texture2D target;
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 color;

void main()
{
    vec4 was = texelFetch(target, ivec2(gl_FragCoord.xy), 0);
#ifdef DEPTH
    color = vec4(was.r, shade.rg, 1.0);
#else
    color = vec4(was.gbr * 0.5 + shade.rgb * 0.5, 1.0 - was.a);
#endif
}
