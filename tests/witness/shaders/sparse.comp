#version 460
// Texels of an array at 64 x 64 places of two layers and four levels.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) writeonly buffer Result { vec4 texels[]; };
layout(set = 0, binding = 1) uniform sampler2DArray image;

void main() {
    uvec3 at = gl_GlobalInvocationID;
    float level = float(at.z / 2u), layer = float(at.z % 2u);
    vec2 place = (vec2(at.xy) + 0.5) / 64.0;
    texels[(at.z * 64u + at.y) * 64u + at.x] = textureLod(image, vec3(place, layer), level);
}
