// A 3x3 box filter from one image to another.
@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var linear: sampler;
@group(0) @binding(2) var blurred: texture_storage_2d<rgba8unorm, write>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let size = textureDimensions(blurred);
    if (any(id.xy >= size)) { return; }
    let texel = 1.0 / vec2<f32>(size);
    var sum = vec4<f32>(0.0);
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let at = (vec2<f32>(id.xy) + 0.5 + vec2<f32>(f32(x), f32(y))) * texel;
            sum += textureSampleLevel(picture, linear, at, 0.0);
        }
    }
    textureStore(blurred, id.xy, sum / 9.0);
}
