#version 460
// Where the sample is in its pixel.
layout(location = 0) out vec4 color;

void main() {
    color = vec4(gl_SamplePosition, 1.0, 1.0);
}
