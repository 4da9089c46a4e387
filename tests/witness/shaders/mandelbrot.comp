// Iterations until |z| > 2, exactly: no contraction, so that every driver counts the same.
#version 460
layout(local_size_x = 8, local_size_y = 8) in;

layout(std430, binding = 0) writeonly buffer Out { uint counts[]; };
layout(push_constant) uniform View { vec2 corner, step; uint width, limit; };

void main()
{
    uvec2 pixel = gl_GlobalInvocationID.xy;
    precise vec2 c = corner + vec2(pixel) * step;
    precise vec2 z = vec2(0);
    uint count = 0;
    while (count < limit) {
        precise float xx = z.x * z.x, yy = z.y * z.y;
        precise float magnitude = xx + yy;
        if (magnitude > 4.0)
            break;
        precise float xy = z.x * z.y;
        z.y = xy + xy + c.y;
        z.x = xx - yy + c.x;
        count++;
    }
    counts[pixel.y * width + pixel.x] = count;
}
