#version 460
// The centre, the depth and the rate of a fragment.
#extension GL_EXT_fragment_shading_rate : require
layout(location = 0) out vec4 color;

void main() {
    color = vec4(gl_FragCoord.xyz, float(gl_ShadingRateEXT));
}
