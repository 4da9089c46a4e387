#version 460
// As many varyings as there are, of every way of interpolation.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 smooth_in[12];
layout(location = 12) flat out ivec4 flat_in[9];
layout(location = 21) noperspective out vec4 linear_in[8];

void main() {
    gl_Position = position;
    for (int i = 0; i < 12; ++i) {
        smooth_in[i] = color * float(i + 1) / 12.0;
    }
    for (int i = 0; i < 9; ++i) {
        flat_in[i] = ivec4(color * 100.0) + i;
    }
    for (int i = 0; i < 8; ++i) {
        linear_in[i] = fract(color * float(i + 1));
    }
}
