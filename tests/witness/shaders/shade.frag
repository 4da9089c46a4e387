#version 460
// The interpolated colour, as it is.
#ifndef FLAT
#define FLAT
#endif
#ifdef NUMBERS
layout(location = 0) flat in uvec4 told;
#else
layout(location = 0) FLAT in vec4 shade;
#endif
layout(location = 0) out vec4 color;
#ifdef EARLY
layout(early_fragment_tests) in;
#endif

void main() {
#ifdef NUMBERS
    color = vec4(told & 255u) / 255.0;
#elif defined(POINT_COORD)
    color = vec4(gl_PointCoord, shade.rg);
#elif defined(PRIMITIVE)
    color = vec4(uvec4(gl_PrimitiveID, gl_PrimitiveID >> 3, gl_PrimitiveID >> 6, 7) & 7u) / 7.0;
#elif defined(FACING)
    color = gl_FrontFacing ? vec4(1.0, shade.gb, 1.0) : vec4(0.0, shade.gb, 1.0);
#else
    color = shade;
#endif
}
