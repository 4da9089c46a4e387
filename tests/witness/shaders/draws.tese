#version 460
// The corners of a patch of one point, all of them at the point.
layout(quads, point_mode) in;
layout(location = 0) in uvec4 told_in[];
layout(location = 0) flat out uvec4 told;

void main() {
    gl_Position = gl_in[0].gl_Position;
    gl_PointSize = 1.0;
    told = told_in[0];
}
