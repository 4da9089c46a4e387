#version 450
// The first triangle that everyone draws: positions and colours out of constant arrays.
layout(location = 0) out vec3 colour;

const vec2 positions[3] = vec2[](vec2(0.0, -0.5), vec2(0.5, 0.5), vec2(-0.5, 0.5));
const vec3 colours[3] = vec3[](vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, 1));

void main() {
    gl_Position = vec4(positions[gl_VertexIndex], 0.0, 1.0);
    colour = colours[gl_VertexIndex];
}
