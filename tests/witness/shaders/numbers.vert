#version 460
// A point for each vertex of each instance: where it is says which, its colour what it was told.
layout(location = 0) in uint each;
layout(location = 1) in uint divided;
layout(location = 0) flat out uvec4 told;

void main() {
    uint draw = uint(gl_DrawID);
    uvec2 at = uvec2(uint(gl_VertexIndex) % 32u + 32u * (draw % 4u), uint(gl_InstanceIndex) + 24u * (draw / 4u));
    gl_Position = vec4((vec2(at) + 0.5) / vec2(64.0, 48.0) - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
    told = uvec4(gl_VertexIndex, each, divided, uint(gl_BaseVertex) + 16u * uint(gl_BaseInstance));
}
