#version 460
// Three streams of points, each into a buffer of its own: RASTERISED is the one that has positions.
layout(IN, invocations = INVOCATIONS) in;
layout(points, max_vertices = 12) out;
layout(location = 0) in vec4 shade_in[];
layout(stream = RASTERISED, xfb_buffer = RASTERISED, xfb_stride = 32) out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
};
layout(stream = RASTERISED, location = 0, xfb_buffer = RASTERISED, xfb_offset = 16) out vec4 shade;
layout(stream = 1 - RASTERISED, location = 1, xfb_buffer = 1 - RASTERISED, xfb_stride = 24, xfb_offset = 4) out vec4 other;
layout(stream = 2, location = 2, xfb_buffer = 2, xfb_stride = 8, xfb_offset = 4) out float third;

void main() {
    int n = gl_PrimitiveIDIn + gl_InvocationID;
    for (int i = 0; i < gl_in.length(); ++i) {
        gl_Position = gl_in[i].gl_Position + vec4(0.02 * float(n), 0.0, 0.0, 0.0);
        gl_PointSize = 4.0;
        shade = shade_in[i];
        EmitStreamVertex(RASTERISED);
        if ((n + i) % 3 != 0) {
            other = gl_in[i].gl_Position.yxwz + float(n);
            EmitStreamVertex(1 - RASTERISED);
            EndStreamPrimitive(1 - RASTERISED);
        }
        for (int k = 0; k < n % 3; ++k) {
            third = float(n * 16 + i * 4 + k);
            EmitStreamVertex(2);
        }
    }
}
