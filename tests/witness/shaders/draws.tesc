#version 460
// Patches of one point, which go on as they are.
layout(vertices = 1) out;
layout(location = 0) in uvec4 told_in[];
layout(location = 0) out uvec4 told[];

void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    told[gl_InvocationID] = told_in[gl_InvocationID];
    gl_TessLevelOuter = float[](1.0, 1.0, 1.0, 1.0);
    gl_TessLevelInner = float[](1.0, 1.0);
}
