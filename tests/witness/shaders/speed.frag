#version 460
// A colour of a uniform buffer, scaled by a number that benchmarks replace to make another program.
layout(location = 0) out vec4 colour;
layout(binding = 0) uniform Colour { vec4 base; };

void main() {
    colour = base * 1234.5 + vec4(gl_FragCoord.xy * 0.001, 0.0, 1.0);
}
