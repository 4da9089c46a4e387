//! Fragment shaders that write memory, and buffers and push constants in both stages.

use super::rig::{Linking, machine, programs, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_format::Format::R8G8B8A8_UNORM;
use tepui_ir::Stage;

const VERTEX: &str = "
@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
    return vec4f(f32(n & 1u) * 2.0 - 1.0, f32(n >> 1u) * 2.0 - 1.0, 0.5, 1.0);
}";

/// Draws with a storage buffer of 4096 words and returns it.
fn buffer(fragment: &str, making: Linking) -> Vec<u32> {
    let source = format!("{VERTEX}\n{fragment}");
    let (vs, fs) = (wgsl(Stage::Vertex, &source), wgsl(Stage::Fragment, &source));
    let tile = Tile::single(R8G8B8A8_UNORM);
    let (v, f) = programs(&vs, &fs, &tile, &[], making);
    let mut m = machine();
    let words = m.buffer(4096 * 4).expect("a buffer");
    let mut bindings = Bindings::default();
    bindings.buffers.insert((0, 0, 0), words.clone());
    let none = Bindings::default();
    let mut d = Draw::triangles(&v, &f, &tile, [32; 2], &none);
    d.fragment_bindings = &bindings;
    m.draw(&d).unwrap_or_else(|e| panic!("{e}\n{}", super::rig::listing(&f)));
    words.read_words().expect("the buffer")
}

/// Pixels of the lower left half.
fn covered(x: u32, y: u32) -> bool {
    x + y < 31
}

#[test]
fn only_fragments_write() {
    let body = "
    @group(0) @binding(0) var<storage, read_write> b: array<atomic<u32>>;
    @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
        let old = atomicAdd(&b[4095], 1u);
        atomicStore(&b[u32(p.y) * 32u + u32(p.x)], 1u + u32(p.x));
        return vec4f(1.0);
    }";
    for making in [Linking::Monolithic, Linking::Separate] {
        let b = buffer(body, making);
        let mut n = 0;
        for y in 0..32 {
            for x in 0..32 {
                let word = b[(y * 32 + x) as usize];
                if x + y == 31 {
                    // The edge goes through the centre.
                    n += u32::from(word != 0);
                    continue;
                }
                assert_eq!(word, if covered(x, y) { 1 + x } else { 0 }, "{making:?} {x} {y}");
                n += u32::from(covered(x, y));
            }
        }
        assert_eq!(b[4095], n, "{making:?}");
    }
}

#[test]
fn killed_fragments_stop_writing() {
    let body = "
    @group(0) @binding(0) var<storage, read_write> b: array<u32>;
    @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
        let at = u32(p.y) * 32u + u32(p.x);
        b[at] = 1u;
        if ((u32(p.x) & 3u) == 1u) { discard; }
        b[at + 1024u] = 2u;
        return vec4f(1.0);
    }";
    for making in [Linking::Monolithic, Linking::Separate] {
        let b = buffer(body, making);
        for y in 0..32 {
            for x in (0..32).filter(|x| x + y != 31) {
                let at = (y * 32 + x) as usize;
                let in_it = covered(x, y);
                let want = [u32::from(in_it), 2 * u32::from(in_it && x & 3 != 1)];
                assert_eq!([b[at], b[at + 1024]], want, "{making:?} {x} {y}");
            }
        }
    }
}

#[test]
fn uniforms_push_constants_and_preambles() {
    let source = "
    struct P { a: vec4f, b: vec4f }
    @group(0) @binding(1) var<uniform> p: P;
    var<push_constant> k: vec4f;
    @vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        let s = 1.0 / p.b.x;
        return vec4f((f32(n & 1u) * 4.0 - 1.0) * s, (f32(n >> 1u) * 4.0 - 1.0) * s, 0.5, k.w);
    }
    @fragment fn fs(@builtin(position) at: vec4f) -> @location(0) vec4f {
        return p.a * (1.0 / p.b) * k + vec4f(at.x * 0.0);
    }";
    let (vs, fs) = (wgsl(Stage::Vertex, source), wgsl(Stage::Fragment, source));
    let tile = Tile::single(tepui_format::Format::R32G32B32A32_SFLOAT);
    for making in [Linking::Monolithic, Linking::Separate] {
        let (v, f) = programs(&vs, &fs, &tile, &[], making);
        assert!(f.preamble.is_some() && v.preamble.is_some());
        let mut m = machine();
        let block = m.buffer(32).expect("a buffer");
        let values = [1f32, 2.0, 3.0, 4.0, 1.0, 0.5, 4.0, 8.0].map(f32::to_bits);
        block.write_words(&values).expect("the buffer");
        let push = [2f32, 4.0, 8.0, 1.0];
        let mut bindings = Bindings {
            push: push.iter().flat_map(|f| f.to_le_bytes()).collect(),
            ..Bindings::default()
        };
        bindings.buffers.insert((0, 1, 0), block);
        let mut d = Draw::triangles(&v, &f, &tile, [32; 2], &bindings);
        d.clear = [7; 4];
        let p = m.draw(&d).unwrap_or_else(|e| panic!("{e}"));
        let got: Vec<f32> = p.colours[&0][..16]
            .chunks(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        assert_eq!(got, [2.0, 16.0, 6.0, 0.5], "{making:?}");
    }
}
