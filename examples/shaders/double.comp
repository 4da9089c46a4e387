#version 450
// Doubles every word of a buffer into another.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { uint values[]; } data_in;
layout(set = 0, binding = 1) writeonly buffer Out { uint values[]; } data_out;

void main() {
    uint i = gl_GlobalInvocationID.x;
    data_out.values[i] = 2 * data_in.values[i];
}
