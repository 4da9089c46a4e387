#version 450
// A textured surface with one light.
layout(location = 0) in vec3 normal;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec4 colour;
layout(set = 0, binding = 0) uniform sampler2D albedo;
layout(push_constant) uniform Light { vec3 direction; float ambient; } light;

void main() {
    float lit = max(dot(normalize(normal), light.direction), 0.0) + light.ambient;
    vec4 texel = texture(albedo, uv);
    if (texel.a < 0.5) discard;
    colour = vec4(texel.rgb * lit, texel.a);
}
