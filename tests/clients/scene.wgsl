// The scene that wgpu_draw.py and webgpu_draw.mjs draw: rings over a floor, lit by a sun that casts
// shadows, mapped with a texture whose smaller levels are drawn, and a last pass over the picture.

struct Frame {
    eye: vec4f,
    target_: vec4f,
    sun: vec4f, // direction towards it
    size: vec4f, // of the picture: width, height
}

struct Vertex {
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) uv: vec2f,
    @location(3) place: vec4f, // of the instance: place and size
    @location(4) turn: vec4f, // a unit quaternion
    @location(5) tint: vec4f, // 8 bits a channel
}

struct Surface {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
    @location(1) normal: vec3f,
    @location(2) uv: vec2f,
    @location(3) @interpolate(flat) tint: vec4f,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(1) @binding(0) var albedo: texture_2d<f32>;
@group(1) @binding(1) var fine: sampler;
@group(1) @binding(2) var shadow: texture_depth_2d;
@group(1) @binding(3) var nearer: sampler_comparison;

fn rotate(q: vec4f, v: vec3f) -> vec3f {
    return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v);
}

fn look(eye: vec3f, at: vec3f, p: vec3f) -> vec3f {
    let z = normalize(eye - at);
    let x = normalize(cross(vec3f(0.0, 1.0, 0.0), z));
    return vec3f(dot(x, p - eye), dot(cross(z, x), p - eye), dot(z, p - eye));
}

fn camera(p: vec3f) -> vec4f {
    let v = look(frame.eye.xyz, frame.target_.xyz, p);
    let near = 0.5;
    let far = 60.0;
    let scale = 1.9;
    let depth = (-v.z - near) * far / (far - near);
    return vec4f(v.x * scale * frame.size.y / frame.size.x, v.y * scale, depth, -v.z);
}

fn sunlight(p: vec3f) -> vec4f {
    let v = look(frame.sun.xyz * 20.0, vec3f(0.0), p);
    return vec4f(v.xy / 11.0, -v.z / 40.0, 1.0);
}

fn world(v: Vertex) -> vec3f {
    return rotate(v.turn, v.position) * v.place.w + v.place.xyz;
}

@vertex fn umbra(v: Vertex) -> @builtin(position) vec4f {
    return sunlight(world(v));
}

@vertex fn surface(v: Vertex) -> Surface {
    let p = world(v);
    return Surface(camera(p), p, rotate(v.turn, v.normal), v.uv, v.tint);
}

@fragment fn lit(s: Surface) -> @location(0) vec4f {
    let n = normalize(s.normal);
    let to_eye = normalize(frame.eye.xyz - s.world);
    let sun = normalize(frame.sun.xyz);
    let at = sunlight(s.world + n * 0.06);
    let place = at.xy * vec2f(0.5, -0.5) + 0.5;
    var light = 0.0;
    for (var i = 0; i < 4; i++) {
        let step = (vec2f(f32(i & 1), f32(i >> 1)) - 0.5) / 512.0;
        light += 0.25 * textureSampleCompareLevel(shadow, nearer, place + step, at.z - 0.002);
    }
    let diffuse = max(dot(n, sun), 0.0) * light;
    let gloss = pow(max(dot(n, normalize(sun + to_eye)), 0.0), 48.0) * light;
    let sky = 0.25 + 0.15 * n.y;
    let colour = textureSample(albedo, fine, s.uv).rgb * s.tint.rgb;
    return vec4f(colour * (sky + 1.4 * diffuse) + vec3f(1.0, 0.9, 0.7) * gloss, 1.0);
}

// A pass over the whole picture: one triangle.
struct Screen {
    @builtin(position) clip: vec4f,
    @location(0) uv: vec2f,
}

@vertex fn screen(@builtin(vertex_index) i: u32) -> Screen {
    let corner = vec2f(f32((i << 1u) & 2u), f32(i & 2u));
    return Screen(vec4f(corner * vec2f(2.0, -2.0) + vec2f(-1.0, 1.0), 0.0, 1.0), corner);
}

@group(0) @binding(0) var source: texture_2d<f32>;
@group(0) @binding(1) var soft: sampler;

@fragment fn halve(s: Screen) -> @location(0) vec4f {
    return textureSample(source, soft, s.uv);
}

@fragment fn develop(s: Screen) -> @location(0) vec4f {
    let texel = 1.0 / vec2f(textureDimensions(source));
    var glow = vec3f(0.0);
    var weights = 0.0;
    for (var y = -3; y <= 3; y++) {
        for (var x = -3; x <= 3; x++) {
            let at = vec2f(f32(x), f32(y));
            let weight = exp(-0.15 * dot(at, at));
            let near = textureSampleLevel(source, soft, s.uv + at * texel * 2.0, 0.0).rgb;
            glow += weight * max(near - 0.9, vec3f(0.0));
            weights += weight;
        }
    }
    let colour = textureSampleLevel(source, soft, s.uv, 0.0).rgb + 1.5 * glow / weights;
    let edge = s.uv - 0.5;
    let mapped = colour / (colour + 0.6) * 1.5;
    return vec4f(mapped * (1.0 - 0.9 * dot(edge, edge)), 1.0);
}

// The small one: a triangle with a colour at each corner.
struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) colour: vec3f,
}

@vertex fn corner(@builtin(vertex_index) i: u32) -> Corner {
    let at = array(vec2f(0.0, 0.8), vec2f(-0.8, -0.7), vec2f(0.8, -0.6))[i];
    let colour = array(vec3f(1.0, 0.1, 0.1), vec3f(0.1, 1.0, 0.1), vec3f(0.1, 0.2, 1.0))[i];
    return Corner(vec4f(at, 0.0, 1.0), colour);
}

@fragment fn shade(c: Corner) -> @location(0) vec4f {
    return vec4f(c.colour, 1.0);
}
