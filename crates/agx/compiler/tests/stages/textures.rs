//! Fragment shaders that sample and load from images.

use super::rig::{Linking, machine, programs, texel, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::image::{self, ImageInfo};
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_format::Format::{R8G8B8A8_UNORM, R32G32B32A32_SFLOAT};
use tepui_ir::Stage;

#[test]
fn a_texture_on_a_triangle() {
    let source = "
    @group(0) @binding(0) var t: texture_2d<f32>;
    @group(0) @binding(1) var s: sampler;
    struct V { @builtin(position) at: vec4f, @location(0) uv: vec2f, @location(1) @interpolate(flat, first) k: vec4f }
    @vertex fn vs(@builtin(vertex_index) n: u32) -> V {
        let p = vec2f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0);
        return V(vec4f(p, 0.5, 1.0), p * 0.5 + 0.5, textureLoad(t, vec2i(1, 2), 0));
    }
    @fragment fn fs(v: V) -> @location(0) vec4f {
        return textureSample(t, s, v.uv) + 2.0 * v.k;
    }";
    let (vs, fs) = (wgsl(Stage::Vertex, source), wgsl(Stage::Fragment, source));
    let tile = Tile::single(R32G32B32A32_SFLOAT);
    for making in [Linking::Monolithic, Linking::Separate] {
        let (v, f) = programs(&vs, &fs, &tile, &[], making);
        let mut m = machine();
        let info = ImageInfo::new_2d(R8G8B8A8_UNORM, 4, 4);
        let picture = m.image(&info).expect("an image");
        let texels: Vec<u8> = (0..64u32).map(|k| (k * 4 + 1) as u8).collect();
        picture.write(0, 0, &texels).expect("texels");
        let mut bindings = Bindings::default();
        bindings.images.insert((0, 0, 0), picture.row().expect("a descriptor"));
        let sampler = image::sampler(&Default::default()).expect("a sampler");
        bindings.samplers.insert((0, 1, 0), sampler);
        let mut d = Draw::triangles(&v, &f, &tile, [32; 2], &bindings);
        d.clear = [9; 4];
        let p = m.draw(&d).unwrap_or_else(|e| panic!("{e}\n{}", super::rig::listing(&f)));
        let at = |x: usize, y: usize, c: usize| f32::from(texels[(y * 4 + x) * 4 + c]) / 255.0;
        for k in 0..1024 {
            let (x, y) = (k % 32, k / 32);
            let got = texel(R32G32B32A32_SFLOAT, &p.colours[&0][k * 16..]);
            for (c, g) in got.iter().enumerate() {
                let want = at(x / 8, y / 8, c) + 2.0 * at(1, 2, c);
                let g = f32::from_bits(*g);
                assert!((g - want).abs() < 1e-5, "{making:?} {x} {y} {c}: {g}, not {want}");
            }
        }
    }
}
