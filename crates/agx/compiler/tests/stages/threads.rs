//! Results do not depend on the number of worker threads, nor on whether programs are interpreted
//! or translated.

use super::rig::{Linking, programs, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::shader::{self, Bindings};
use tepui_agx_bare::{Buffer, Machine};
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::{Options, compile};
use tepui_format::Format::R8G8B8A8_UNORM;
use tepui_ir::Stage;

/// Worker threads and the runs after which programs are translated.
const WAYS: [(usize, u32); 6] = [(1, u32::MAX), (1, 0), (2, 16), (4, u32::MAX), (7, 0), (7, 16)];

fn machine((threads, translate_after): (usize, u32)) -> Machine {
    let options = tepui_agx_model::Options {
        threads,
        translate_after,
        uninitialised: tepui_agx_model::POISON,
        ..Default::default()
    };
    Machine::new(options).expect("a machine")
}

fn buffer(m: &mut Machine, words: &[u32]) -> Buffer {
    let buffer = m.buffer(words.len() * 4).expect("a buffer");
    buffer.write_words(words).expect("the buffer");
    buffer
}

const GROUPS: u32 = 96;
const THREADS: u32 = 96;

/// A hash in a loop of another length for each thread, handed over through workgroup memory, with
/// sums over all.
const COMPUTE: &str = "
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<atomic<u32>, 4>;
var<workgroup> row: array<u32, 96>;
@compute @workgroup_size(96)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
    var x = id.x * 747796405u + 2891336453u;
    for (var k = 0u; k < (id.x & 31u); k++) {
        if ((x & 1u) == 0u) { x = x * 1664525u + k; } else { x = (x >> 3u) ^ (x << 7u); }
    }
    row[l] = x;
    workgroupBarrier();
    let y = row[95u - l] ^ x;
    out[id.x] = y;
    atomicAdd(&sums[0], y);
    atomicXor(&sums[1], y);
    atomicMax(&sums[2], y);
    atomicAdd(&sums[3], 1u);
}";

/// The expected result, computed on the CPU.
fn expected() -> (Vec<u32>, [u32; 4]) {
    let mut out = Vec::new();
    for group in 0..GROUPS {
        let row: Vec<u32> = (0..THREADS)
            .map(|l| {
                let id = group * THREADS + l;
                let mut x = id.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                for k in 0..id & 31 {
                    x = match x & 1 {
                        0 => x.wrapping_mul(1_664_525).wrapping_add(k),
                        _ => (x >> 3) ^ (x << 7),
                    };
                }
                x
            })
            .collect();
        out.extend(row.iter().zip(row.iter().rev()).map(|(a, b)| a ^ b));
    }
    let sums = [
        out.iter().fold(0u32, |a, &b| a.wrapping_add(b)),
        out.iter().fold(0, |a, b| a ^ b),
        out.iter().copied().max().unwrap_or(0),
        out.len() as u32,
    ];
    (out, sums)
}

#[test]
fn compute_is_the_same_at_any_number_of_threads() {
    let program =
        compile(&mut wgsl(Stage::Compute, COMPUTE), &Options::default()).expect("compiles");
    let (want, sums) = expected();
    for way in WAYS {
        let mut m = machine(way);
        let mut bindings = Bindings::default();
        let out = buffer(&mut m, &vec![0; want.len()]);
        let total = buffer(&mut m, &[0; 4]);
        bindings.buffers.insert((0, 0, 0), out.clone());
        bindings.buffers.insert((0, 1, 0), total.clone());
        // Several runs, so that the first are interpreted and later ones translated.
        for turn in 1..=3u32 {
            shader::run(&mut m, &program, &bindings, [GROUPS, 1, 1])
                .unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(out.read_words().expect("the buffer"), want, "{way:?}, turn {turn}");
            let got = total.read_words().expect("the buffer");
            let sum = [sums[0].wrapping_mul(turn), sums[1] * (turn & 1), sums[2], sums[3] * turn];
            assert_eq!(got, sum, "{way:?}, turn {turn}");
        }
    }
}

/// Triangles one over the other; each fragment's colour depends on what was there before, so that
/// order shows.
const DRAWING: &str = "
struct V { @builtin(position) at: vec4f, @location(0) c: vec3f }
fn hash(n: u32) -> f32 {
    let x = (n * 747796405u + 2891336453u) ^ (n << 13u);
    return f32((x * 1664525u) >> 8u) / 16777216.0;
}
@vertex fn vs(@builtin(vertex_index) n: u32) -> V {
    let at = vec2f(hash(4u * n), hash(4u * n + 1u)) * 2.4 - 1.2;
    return V(vec4f(at, 0.5, 1.0), vec3f(hash(4u * n + 2u), hash(4u * n + 3u), hash(n)));
}
@group(0) @binding(0) var<storage, read_write> count: array<atomic<u32>, 1>;
@fragment fn fs(v: V) -> @location(0) vec4f {
    if (v.c.x > 0.9) { discard; }
    atomicAdd(&count[0], 1u);
    return vec4f(v.c, 1.0);
}";

#[test]
fn drawings_are_the_same_at_any_number_of_threads() {
    const SIDE: u16 = 160;
    let (vs, fs) = (wgsl(Stage::Vertex, DRAWING), wgsl(Stage::Fragment, DRAWING));
    let tile = Tile::single(R8G8B8A8_UNORM);
    let (v, f) = programs(&vs, &fs, &tile, &[], Linking::Monolithic);
    let mut first: Option<(Vec<u8>, Vec<u32>)> = None;
    for way in WAYS {
        let mut m = machine(way);
        let mut bindings = Bindings::default();
        let count = buffer(&mut m, &[0]);
        bindings.buffers.insert((0, 0, 0), count.clone());
        let none = Bindings::default();
        let mut d = Draw::triangles(&v, &f, &tile, [SIDE; 2], &none);
        (d.fragment_bindings, d.vertices) = (&bindings, 600);
        let picture = m.draw(&d).unwrap_or_else(|e| panic!("{way:?}: {e}"));
        let got = (picture.colours[&0].clone(), count.read_words().expect("the buffer"));
        assert!(got.1[0] > 100_000, "{} fragments are too few", got.1[0]);
        match &first {
            None => first = Some(got),
            Some(first) => assert!(*first == got, "{way:?}: another picture or count"),
        }
    }
}
