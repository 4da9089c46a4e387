#version 460
// Positions and colours from a vertex buffer.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 shade;

void main() {
    gl_Position = position;
    shade = color;
}
