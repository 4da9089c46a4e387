#version 460
// Positions and colours from a vertex buffer.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 shade;
#ifdef INDEXED
layout(location = 1) out float parts[5];
#endif

void main() {
    gl_Position = position;
    shade = color;
#ifdef INDEXED
    for (int i = 0; i < 5; ++i)
        parts[i] = fract(color.r * (1.0 + 0.3 * float(i)) + color.g * 0.7);
#endif
}
