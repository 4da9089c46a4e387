//! Samples: masks, programs that run for each, interpolation at samples and offsets.

use super::rig::{Case, Linking, machine, programs, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_format::Format::{R8G8B8A8_UNORM, R32G32B32A32_SFLOAT};
use tepui_ir::{Attrs, Op, Stage};

const VERTEX: &str = "
struct V { @builtin(position) at: vec4f, @location(0) @interpolate(perspective, sample) p: vec2f, @location(1) q: vec2f }
@vertex fn vs(@builtin(vertex_index) n: u32) -> V {
    let p = vec2f(f32(n & 1u) * 2.0 - 1.0, f32(n >> 1u) * 2.0 - 1.0);
    return V(vec4f(p, 0.5, 1.0), (p + 1.0) * 16.0, (p + 1.0) * 16.0);
}";

/// Vulkan's standard places of four samples.
const PLACES: [[f32; 2]; 4] = [[0.375, 0.125], [0.875, 0.375], [0.125, 0.625], [0.625, 0.875]];

fn draw(fragment: &str, samples: u8, mask: u16, making: Linking) -> Vec<u32> {
    let source = format!(
        "{VERTEX}\n@group(0) @binding(0) var<storage, read_write> b: array<u32>;\n{fragment}"
    );
    let (vs, fs) = (wgsl(Stage::Vertex, &source), wgsl(Stage::Fragment, &source));
    let tile = Tile { samples, ..Tile::single(R8G8B8A8_UNORM) };
    let (v, f) = programs(&vs, &fs, &tile, &[], making);
    let mut m = machine();
    let words = m.buffer((1 << 14) * 4).expect("a buffer");
    let mut bindings = Bindings::default();
    bindings.buffers.insert((0, 0, 0), words.clone());
    let none = Bindings::default();
    let mut d = Draw::triangles(&v, &f, &tile, [32; 2], &none);
    d.fragment_bindings = &bindings;
    d.sample_mask = mask;
    m.draw(&d).unwrap_or_else(|e| panic!("{making:?}: {e}\n{}", super::rig::listing(&f)));
    words.read_words().expect("the buffer")
}

/// Whether the lower left half covers a place; `None` on the edge.
fn covers(x: f32, y: f32) -> Option<bool> {
    ((x + y - 32.0).abs() > 1e-3).then_some(x + y < 32.0)
}

#[test]
fn a_program_for_each_sample() {
    let fs = "@fragment fn fs(v: V, @builtin(sample_index) s: u32) -> @location(0) vec4f {
        let at = (u32(v.at.y) * 32u + u32(v.at.x)) * 4u + s;
        b[at] = 1u + bitcast<u32>(v.p.x + 100.0 * v.p.y);
        return vec4f(1.0);
    }";
    for making in [Linking::Monolithic, Linking::Separate] {
        let b = draw(fs, 4, u16::MAX, making);
        for y in 0..32u32 {
            for x in 0..32u32 {
                for s in 0..4usize {
                    let (px, py) = (x as f32 + PLACES[s][0], y as f32 + PLACES[s][1]);
                    let got = b[((y * 32 + x) * 4) as usize + s];
                    match covers(px, py) {
                        Some(true) => {
                            let v = f32::from_bits(got.wrapping_sub(1));
                            let want = px + 100.0 * py;
                            assert!(
                                (v - want).abs() < 1e-2,
                                "{making:?} {x} {y} {s}: {v}, not {want}"
                            );
                        }
                        Some(false) => assert_eq!(got, 0, "{making:?} {x} {y} {s}"),
                        None => {}
                    }
                }
            }
        }
    }
}

#[test]
fn a_program_with_scratch_memory_for_each_sample() {
    // An array that is indexed at run time and too large for registers, filled anew for each
    // sample.
    let fs = "@fragment fn fs(v: V, @builtin(sample_index) s: u32) -> @location(0) vec4f {
        var a: array<u32, 64>;
        let x = u32(v.at.x);
        for (var k = 0u; k < 64u; k++) { a[(k * 5u + x) % 64u] = a[(k * 3u) % 64u] + k * (s + 1u); }
        let at = (u32(v.at.y) * 32u + x) * 4u + s;
        b[at] = 1u + a[(x * 7u + s) % 64u];
        return vec4f(1.0);
    }";
    let [whole, parts] = [Linking::Monolithic, Linking::Separate].map(|m| draw(fs, 4, u16::MAX, m));
    assert!(whole.iter().filter(|&&w| w > 1).count() > 1000);
    for y in 0..32u32 {
        for x in 0..32u32 {
            for (s, place) in PLACES.iter().enumerate() {
                let at = (y * 32 + x) as usize * 4 + s;
                let mut a = [0u32; 64];
                for k in 0..64u32 {
                    a[((k * 5 + x) % 64) as usize] = a[(k * 3 % 64) as usize] + k * (s as u32 + 1);
                }
                let want = match covers(x as f32 + place[0], y as f32 + place[1]) {
                    Some(true) => 1 + a[((x * 7 + s as u32) % 64) as usize],
                    Some(false) => 0,
                    None => continue,
                };
                assert_eq!([whole[at], parts[at]], [want; 2], "{x} {y} {s}");
            }
        }
    }
}

#[test]
fn the_mask_of_covered_samples() {
    let fs = "@fragment fn fs(v: V2, @builtin(sample_mask) m: u32) -> @location(0) vec4f {
        b[u32(v.at.y) * 32u + u32(v.at.x)] = m + 256u;
        return vec4f(1.0);
    }
    struct V2 { @builtin(position) at: vec4f, @location(1) q: vec2f }";
    for making in [Linking::Monolithic, Linking::Separate] {
        for mask in [0xf, 0b0110] {
            let b = draw(fs, 4, mask, making);
            for y in 0..32u32 {
                for x in 0..32u32 {
                    let mut want = 0;
                    for (s, p) in PLACES.iter().enumerate() {
                        let inside = covers(x as f32 + p[0], y as f32 + p[1]).unwrap_or(false);
                        want |= u32::from(inside) << s;
                    }
                    let on_edge =
                        PLACES.iter().any(|p| covers(x as f32 + p[0], y as f32 + p[1]).is_none());
                    let got = b[(y * 32 + x) as usize];
                    if !on_edge {
                        let want = if want == 0 { 0 } else { (want & u32::from(mask)) + 256 };
                        assert_eq!(got, want, "{making:?} {x} {y}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_written_mask_kills() {
    // With one sample, a mask of 0 discards the fragment.
    let module = "
    struct O { @location(0) c: vec4f, @builtin(sample_mask) m: u32 }
    @vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        return vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0);
    }
    @fragment fn fs(@builtin(position) p: vec4f) -> O {
        var o: O;
        o.c = p;
        o.m = select(0xfffffffeu, 1u, (u32(p.x) & 1u) == 0u);
        return o;
    }";
    let mut case = Case::wgsl(module, R32G32B32A32_SFLOAT);
    case.clear = [3.0f32; 4].map(f32::to_bits);
    case.check();
}

/// The colour shader with its input read in another way.
fn replaced(op: Op, args: &dyn Fn(&mut tepui_ir::Builder<'_>) -> tepui_ir::Value) -> Case<'static> {
    let mut case = Case::new(
        super::basics::VERTEX,
        &super::basics::fragment("o = colour;"),
        R32G32B32A32_SFLOAT,
    );
    let s = &mut case.fs;
    let root = s.root;
    let insts = std::mem::take(&mut s.regions[root].insts);
    for i in insts {
        if s.insts[i].op == Op::LoadInput && matches!(s.insts[i].attrs, Attrs::Io(_)) {
            let extra = args(&mut tepui_ir::Builder::at(s, root));
            let first = s.arg(i, 0);
            s.insts[i].op = op;
            s.set_args(i, &[first, extra]);
        }
        s.regions[root].insts.push(i);
    }
    tepui_ir::validate(s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    case
}

/// The value of `colour` at a position of the window, in 64 bits.
fn colour_at(x: f64, y: f64) -> [f64; 4] {
    let corner = |n: u32| {
        let (px, py) = (f64::from(n & 1) * 4.0 - 1.25, f64::from(n >> 1) * 4.0 - 1.5);
        let w = 1.0 + f64::from(n) * 0.5;
        (
            [(px * 0.5 + 0.5) * 32.0, (py * 0.5 + 0.5) * 32.0],
            w,
            [px * 0.25, py * 0.25, w, 1.0 - px * 0.125],
        )
    };
    let c = [corner(0), corner(1), corner(2)];
    let edge = |a: [f64; 2], b: [f64; 2]| (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
    let e = [edge(c[1].0, c[2].0), edge(c[2].0, c[0].0), edge(c[0].0, c[1].0)];
    let sum: f64 = (0..3).map(|k| e[k] / c[k].1).sum();
    [0, 1, 2, 3].map(|n| (0..3).map(|k| e[k] / c[k].1 * c[k].2[n]).sum::<f64>() / sum)
}

fn check_at(case: &Case<'_>, dx: f64, dy: f64) {
    let want = case.reference();
    for making in [Linking::Monolithic, Linking::Separate] {
        let (p, _, f) = case.draw(making);
        for (k, pixel) in want.iter().enumerate() {
            if !pixel.alive || pixel.doubtful {
                continue;
            }
            let (x, y) = ((k % 32) as f64 + 0.5 + dx, (k / 32) as f64 + 0.5 + dy);
            let got = super::rig::texel(R32G32B32A32_SFLOAT, &p.colours[&0][k * 16..]);
            for (g, w) in got.iter().zip(colour_at(x, y)) {
                let g = f64::from(f32::from_bits(*g));
                assert!(
                    (g - w).abs() < 1e-4,
                    "{making:?} {x} {y}: {g}, not {w}\n{}",
                    super::rig::listing(&f)
                );
            }
        }
    }
}

#[test]
fn interpolation_at_an_offset() {
    let case = replaced(Op::LoadInputAtOffset, &|b| {
        let (x, y) = (b.f32(0.25), b.f32(-0.375));
        b.vec(&[x, y])
    });
    check_at(&case, 0.25, -0.375);
}

#[test]
fn interpolation_at_a_sample() {
    // The only sample is at the centre.
    let case = replaced(Op::LoadInputAtSample, &|b| b.u32(0));
    check_at(&case, 0.0, 0.0);
}
