#version 460
// A point for each draw: where it is says which vertex the draw begins with, its colour what the draw was told.
layout(location = 0) flat out uvec4 told;

void main() {
    uvec2 at = uvec2(uint(gl_VertexIndex) % 128u, uint(gl_VertexIndex) / 128u);
    gl_Position = vec4((vec2(at) + 0.5) / vec2(64.0, 48.0) - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
    told = uvec4(gl_DrawID, gl_DrawID >> 8, gl_InstanceIndex, gl_BaseVertex + 16 * gl_BaseInstance);
}
