#version 460
// Writes what it was given: an attribute of type TYPE, and its own numbers.
layout(location = 0) in TYPE value;
layout(binding = 0) buffer Values { uvec4 values[]; };

void main() {
    values[gl_VertexIndex] = BITS(value);
    gl_Position = vec4(0.0);
    gl_PointSize = 1.0;
}
