#version 460
layout(location = 0) in vec4 smooth_in[12];
layout(location = 12) flat in ivec4 flat_in[9];
layout(location = 21) noperspective in vec4 linear_in[8];
layout(location = 0) out vec4 color;

void main() {
    color = vec4(0.0);
    for (int i = 0; i < 12; ++i) {
        color += smooth_in[i] / 20.0;
    }
    for (int i = 0; i < 9; ++i) {
        color += vec4(flat_in[i]) / 4000.0;
    }
    for (int i = 0; i < 8; ++i) {
        color += linear_in[i] / 40.0;
    }
}
