#version 450
// The Mandelbrot set into a storage image, one thread a pixel.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, rgba8) writeonly uniform image2D picture;

void main() {
    ivec2 size = imageSize(picture);
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, size))) return;
    vec2 c = (vec2(at) - vec2(0.7, 0.5) * vec2(size)) * (2.4 / float(size.y));
    vec2 z = vec2(0.0);
    int n = 0;
    while (n < 100 && dot(z, z) < 4.0) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        n++;
    }
    float t = n == 100 ? 0.0 : float(n) / 40.0;
    imageStore(picture, at, vec4(t, t * t, sqrt(t), 1.0));
}
