// Shaders to begin with.

/** Uniform buffer of every shader here: crates/explore/src/run.rs fills it. */
const INPUTS = `struct Inputs { size: vec2f, time: f32, pad: f32, pointer: vec2f }
@group(0) @binding(0) var<uniform> inputs: Inputs;
`;

export const EXAMPLES = {
  "Mandelbrot": {
    text: `// The Mandelbrot set. "Play" lets time run.
${INPUTS}
@fragment fn main(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let zoom = 1.2 + 0.2 * sin(inputs.time);
    let c = (at.xy - vec2f(0.65, 0.5) * inputs.size) * (2.0 * zoom / inputs.size.y);
    var z = vec2f(0.0);
    var n = 0;
    loop {
        if n >= 100 || dot(z, z) > 4.0 { break; }
        z = vec2f(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        n++;
    }
    let t = select(f32(n) / 40.0, 0.0, n == 100);
    return vec4f(t, t * t, sqrt(t), 1.0);
}
`,
  },
  "Lit cube": {
    vertices: 36,
    text: `// A turning cube: a vertex and a fragment shader, 36 vertices.
${INPUTS}
struct Corner { @builtin(position) at: vec4f, @location(0) normal: vec3f }

@vertex fn corner(@builtin(vertex_index) i: u32) -> Corner {
    let face = i / 6u;
    // Two triangles of a square, then the square on one of six sides.
    let k = array<u32, 6>(0u, 1u, 2u, 2u, 1u, 3u)[i % 6u];
    let p = vec3f(f32(k & 1u), f32(k >> 1u), 1.0) * vec3f(2.0, 2.0, 1.0) - vec3f(1.0, 1.0, 0.0);
    let side = select(1.0, -1.0, face >= 3u);
    let q = array<vec3f, 3>(p.xyz, p.zxy, p.yzx)[face % 3u] * side;
    let n = array<vec3f, 3>(vec3f(0.0, 0.0, 1.0), vec3f(1.0, 0.0, 0.0), vec3f(0.0, 1.0, 0.0))[face % 3u] * side;
    let c = cos(inputs.time + 0.7);
    let s = sin(inputs.time + 0.7);
    let turn = mat3x3f(c, 0.4 * s, s, 0.0, 0.917, -0.4, -s, 0.4 * c, c);
    let v = turn * q * 0.8 + vec3f(0.0, 0.0, 4.0);
    let aspect = inputs.size.y / inputs.size.x;
    return Corner(vec4f(v.x * aspect * 1.6, v.y * 1.6, v.z - 1.0, v.z), turn * n);
}

@fragment fn shade(in: Corner) -> @location(0) vec4f {
    let light = normalize(vec3f(0.4, 0.7, -0.8));
    let d = max(dot(normalize(in.normal), light), 0.0);
    return vec4f(vec3f(0.95, 0.6, 0.25) * (0.15 + 0.85 * d), 1.0);
}
`,
  },
  "Matrix product": {
    groups: "2,2", words: 256, fill: "random",
    text: `// c = a · b for matrices of 16 × 16, in tiles of 8 × 8 that a workgroup shares.
const N = 16u;
const TILE = 8u;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<workgroup> left: array<array<f32, TILE>, TILE>;
var<workgroup> right: array<array<f32, TILE>, TILE>;

@compute @workgroup_size(TILE, TILE)
fn main(@builtin(global_invocation_id) at: vec3u, @builtin(local_invocation_id) own: vec3u) {
    var sum = 0.0;
    for (var t = 0u; t < N / TILE; t++) {
        left[own.y][own.x] = a[at.y * N + t * TILE + own.x];
        right[own.y][own.x] = b[(t * TILE + own.y) * N + at.x];
        workgroupBarrier();
        for (var k = 0u; k < TILE; k++) {
            sum += left[own.y][k] * right[k][own.x];
        }
        workgroupBarrier();
    }
    c[at.y * N + at.x] = sum;
}
`,
  },
  "Image filter": {
    groups: "32,32",
    images: { "0.0": { what: "checkerboard,size=256x256", file: null }, "0.2": { what: "256x256", file: null } },
    samplers: { "0.1": "linear,mirror" },
    text: `// Edges of an image by Sobel's filter, from a sampled image to a storage image. Give it a picture of yours.
@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var edge_sampler: sampler;
@group(0) @binding(2) var edges: texture_storage_2d<rgba8unorm, write>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) at: vec3u) {
    let size = vec2f(textureDimensions(edges));
    var across = vec3f(0.0);
    var down = vec3f(0.0);
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let place = (vec2f(at.xy) + 0.5 + vec2f(f32(x), f32(y))) / size;
            let colour = textureSampleLevel(picture, edge_sampler, place, 0.0).rgb;
            across += colour * f32(x * (2 - abs(y)));
            down += colour * f32(y * (2 - abs(x)));
        }
    }
    textureStore(edges, at.xy, vec4f(sqrt(across * across + down * down) * 0.5, 1.0));
}
`,
  },
  "Divergent loop": {
    groups: "1", words: 32, fill: "index",
    text: `// Collatz: each lane loops for as long as its own number needs. Debug it, and see lanes fall asleep.
@group(0) @binding(0) var<storage, read_write> steps: array<u32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var n = id.x + 1u;
    var count = 0u;
    while n != 1u {
        if (n & 1u) == 0u {
            n = n / 2u;
        } else {
            n = 3u * n + 1u;
        }
        count++;
    }
    steps[id.x] = count;
}
`,
  },
  "GLSL": {
    stage: "fragment",
    text: `#version 450
// GLSL for Vulkan: colours of the direction from the middle.
layout(set = 0, binding = 0) uniform Inputs { vec2 size; float time; float pad; vec2 pointer; } inputs;
layout(location = 0) out vec4 colour;

void main() {
    vec2 p = (gl_FragCoord.xy - 0.5 * inputs.size) / inputs.size.y;
    float angle = atan(p.y, p.x) + inputs.time;
    vec3 hue = 0.5 + 0.5 * cos(angle + vec3(0.0, 2.1, 4.2));
    colour = vec4(hue * smoothstep(0.5, 0.45, length(p)), 1.0);
}
`,
  },
};
