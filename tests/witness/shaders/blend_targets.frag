#version 460
// The interpolated colour in eight attachments.
layout(location = 0) in vec4 value;
layout(location = 0) out vec4 colors[8];

void main() {
    vec4 color = value SCALE;
    for (int k = 0; k < 8; k++)
        colors[k] = color;
}
