// A small path tracer: spheres over a checkered floor, diffuse, mirror and glass, under a sky.
#version 460
layout(local_size_x = 8, local_size_y = 8) in;

layout(std430, binding = 0) writeonly buffer Out { uint pixels[]; };
layout(push_constant) uniform View { uint width, height, samples; };

struct Sphere {
    vec3 centre;
    float radius;
    vec3 colour;
    int kind; // 0 diffuse, 1 mirror, 2 glass, 3 light
};

const Sphere scene[6] = {
    Sphere(vec3(-1.7, 1.0, 0.2), 1.0, vec3(0.85, 0.25, 0.2), 0),
    Sphere(vec3(0.4, 1.0, -0.6), 1.0, vec3(0.95, 0.95, 0.95), 1),
    Sphere(vec3(1.5, 0.7, 1.3), 0.7, vec3(1.0), 2),
    Sphere(vec3(-0.5, 0.4, 1.6), 0.4, vec3(0.2, 0.4, 0.85), 0),
    Sphere(vec3(2.6, 0.5, -0.3), 0.5, vec3(0.9, 0.7, 0.3), 1),
    Sphere(vec3(-2.5, 5.5, 1.5), 1.2, vec3(7.0, 6.3, 5.0), 3)
};

uint state;

float random()
{
    state = state * 747796405u + 2891336453u;
    uint word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    word = (word >> 22) ^ word;
    return float(word >> 8) * (1.0 / 16777216.0);
}

vec3 random_direction()
{
    // By rejection, which diverges as real path tracers do.
    for (int i = 0; i < 16; i++) {
        vec3 p = vec3(random(), random(), random()) * 2.0 - 1.0;
        float square = dot(p, p);
        if (square > 0.01 && square < 1.0)
            return p * inversesqrt(square);
    }
    return vec3(0, 1, 0);
}

float hit(Sphere s, vec3 from, vec3 direction)
{
    vec3 to = from - s.centre;
    float b = dot(to, direction);
    float discriminant = b * b - dot(to, to) + s.radius * s.radius;
    if (discriminant < 0.0)
        return -1.0;
    float root = sqrt(discriminant);
    if (-b - root > 1e-3)
        return -b - root;
    return -b + root > 1e-3 ? -b + root : -1.0;
}

vec3 trace(vec3 from, vec3 direction)
{
    vec3 light = vec3(0), weight = vec3(1);
    for (int bounce = 0; bounce < 6; bounce++) {
        float nearest = 1e9;
        int which = -1;
        for (int i = 0; i < 6; i++) {
            float t = hit(scene[i], from, direction);
            if (t > 0.0 && t < nearest) {
                nearest = t;
                which = i;
            }
        }
        vec3 normal, colour;
        int kind = 0;
        float floor_distance = direction.y < -1e-4 ? -from.y / direction.y : -1.0;
        if (floor_distance > 1e-3 && floor_distance < nearest) {
            nearest = floor_distance;
            normal = vec3(0, 1, 0);
            vec3 p = from + direction * nearest;
            bool dark = ((int(floor(p.x)) + int(floor(p.z))) & 1) == 0;
            colour = dark ? vec3(0.25) : vec3(0.8);
        } else if (which < 0) {
            float up = 0.5 * direction.y + 0.5;
            return light + weight * mix(vec3(0.9, 0.85, 0.8), vec3(0.35, 0.55, 0.95), up);
        } else {
            normal = (from + direction * nearest - scene[which].centre) / scene[which].radius;
            colour = scene[which].colour;
            kind = scene[which].kind;
        }
        vec3 at = from + direction * nearest;
        switch (kind) {
        case 0:
            direction = normalize(normal + random_direction());
            weight *= colour;
            from = at + normal * 1e-3;
            break;
        case 1:
            direction = reflect(direction, normal);
            weight *= colour;
            from = at + normal * 1e-3;
            break;
        case 2: {
            bool enters = dot(direction, normal) < 0.0;
            vec3 facing = enters ? normal : -normal;
            vec3 bent = refract(direction, facing, enters ? 1.0 / 1.5 : 1.5);
            float c = 1.0 - abs(dot(direction, facing));
            float reflectance = 0.04 + 0.96 * c * c * c * c * c;
            bool mirror = dot(bent, bent) < 0.5 || random() < reflectance;
            direction = mirror ? reflect(direction, facing) : bent;
            from = at + (mirror ? facing : -facing) * 1e-3;
            break;
        }
        default:
            return light + weight * colour;
        }
    }
    return light;
}

void main()
{
    uvec2 pixel = gl_GlobalInvocationID.xy;
    if (pixel.x >= width || pixel.y >= height)
        return;
    vec3 sum = vec3(0);
    for (uint i = 0; i < samples; i++) {
        state = (pixel.y * width + pixel.x) * 9781u + i * 6271u + 1u;
        vec2 screen = (vec2(pixel) + vec2(random(), random())) / vec2(width, height) * 2.0 - 1.0;
        vec3 direction = normalize(vec3(screen.x * 1.33, -screen.y, -2.2));
        // Tilt the view down a little.
        direction.yz = mat2(0.980067, -0.198669, 0.198669, 0.980067) * direction.yz;
        sum += trace(vec3(0.0, 2.1, 7.0), direction);
    }
    vec3 colour = clamp(sqrt(sum / float(samples)), 0.0, 1.0);
    pixels[pixel.y * width + pixel.x] = packUnorm4x8(vec4(colour, 1.0));
}
