#version 460
// The interpolated colour to three locations, each in its own way.
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out vec4 third;

void main() {
    first = shade;
    second = vec4(1.0) - shade;
    third = vec4(shade.gbr, 0.5);
}
