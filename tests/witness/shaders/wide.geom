#version 460
// Passes on as many components as there are.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec4 smooth_in[][12];
layout(location = 12) flat in ivec4 flat_in[][9];
layout(location = 21) noperspective in vec4 linear_in[][8];
layout(location = 0) out vec4 smooth_out[12];
layout(location = 12) flat out ivec4 flat_out[9];
layout(location = 21) noperspective out vec4 linear_out[8];

void main() {
    for (int v = 0; v < 3; ++v) {
        gl_Position = gl_in[v].gl_Position;
        for (int i = 0; i < 12; ++i)
            smooth_out[i] = smooth_in[v][i];
        for (int i = 0; i < 9; ++i)
            flat_out[i] = flat_in[v][i] + gl_PrimitiveIDIn;
        for (int i = 0; i < 8; ++i)
            linear_out[i] = linear_in[v][i];
        EmitVertex();
    }
}
