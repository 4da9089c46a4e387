#version 460
// Reads what stands in the attachments at its pixel. INPUT: the type. AT: what follows the input in a
// load. OUT: the output's location. DEPTH: there is a second input with depths.
layout(input_attachment_index = 0, binding = 0) uniform INPUT first;
#ifdef DEPTH
layout(input_attachment_index = 1, binding = 1) uniform INPUT depths;
#endif
layout(location = 0) in vec4 shade;
layout(location = OUT) out vec4 color;

void main() {
    vec4 value = subpassLoad(first AT);
    float z = 0.75;
#ifdef DEPTH
    z = subpassLoad(depths AT).x;
#endif
    color = vec4(value.gbr * 0.5 + shade.rgb * 0.5 * z, 1.0 - value.a * z);
}
