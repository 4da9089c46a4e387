#version 460
// A vertex at an attribute, moved by push constants.
layout(location = 0) in vec4 position;
layout(push_constant) uniform Push { vec4 offset; };

void main() {
    gl_Position = position + offset;
}
