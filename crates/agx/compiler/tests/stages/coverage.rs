//! Coverage of triangles: the top-left rule on the sub-pixel grid, and triangles that reach far beyond
//! the screen.

use super::rig::{Linking, SIDE, machine, programs, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_format::Format::R8G8B8A8_UNORM;
use tepui_ir::Stage;
use tepui_ir_gen::Rng;

/// Positions come from a buffer. Each fragment counts itself, and adds a number of its triangle, at
/// its pixel.
const SOURCE: &str = "
@group(0) @binding(0) var<storage, read> positions: array<vec4f>;
struct V { @builtin(position) at: vec4f, @location(0) @interpolate(flat) id: u32 }
@vertex fn vs(@builtin(vertex_index) n: u32) -> V { return V(positions[n], n / 3u); }
@group(0) @binding(0) var<storage, read_write> counts: array<atomic<u32>>;
@fragment fn fs(v: V) -> @location(0) vec4f {
    let at = u32(v.at.y) * 32u + u32(v.at.x);
    atomicAdd(&counts[2u * at], 1u);
    atomicAdd(&counts[2u * at + 1u], (v.id + 1u) * (v.id + 1u));
    return vec4f(1.0);
}";

/// Sub-pixels of a pixel. source: the model's scene, which keeps positions with 8 fraction bits
const SUBPIXELS: i64 = 256;

/// Draws triangles at positions in clip space; for each pixel how many covered it and the sum of
/// their squared numbers, counted from 1.
fn draw(positions: &[[f32; 4]]) -> Vec<[u32; 2]> {
    let (vs, fs) = (wgsl(Stage::Vertex, SOURCE), wgsl(Stage::Fragment, SOURCE));
    let tile = Tile::single(R8G8B8A8_UNORM);
    let (v, f) = programs(&vs, &fs, &tile, &[], Linking::Monolithic);
    let mut m = machine();
    let words: Vec<u32> = positions.iter().flatten().map(|x| x.to_bits()).collect();
    let corners = m.buffer(words.len() * 4).expect("a buffer");
    corners.write_words(&words).expect("the buffer");
    let pixels = usize::from(SIDE) * usize::from(SIDE);
    let counts = m.buffer(pixels * 8).expect("a buffer");
    counts.write_words(&vec![0; 2 * pixels]).expect("the buffer");
    let [mut vertex, mut fragment] = [Bindings::default(), Bindings::default()];
    vertex.buffers.insert((0, 0, 0), corners);
    fragment.buffers.insert((0, 0, 0), counts.clone());
    let mut d = Draw::triangles(&v, &f, &tile, [SIDE; 2], &vertex);
    d.fragment_bindings = &fragment;
    d.vertices = positions.len() as u32;
    m.draw(&d).unwrap_or_else(|e| panic!("{e}"));
    let words = counts.read_words().expect("the buffer");
    words.chunks_exact(2).map(|c| [c[0], c[1]]).collect()
}

/// Clip-space position of a sub-pixel, without rounding.
fn clip([x, y]: [i64; 2]) -> [f32; 4] {
    let half = i64::from(SIDE) / 2 * SUBPIXELS;
    [(x - half) as f32 / half as f32, (y - half) as f32 / half as f32, 0.5, 1.0]
}

/// Whether a triangle covers a place, all in sub-pixels, y down: inside, or on a top or left edge.
// source: Vulkan specification, "Basic Polygon Rasterization"; the rule is Direct3D's, which all
// GPUs of PCs follow
fn covers(mut t: [[i64; 2]; 3], [px, py]: [i64; 2]) -> bool {
    let edge = |a: [i64; 2], b: [i64; 2], p: [i64; 2]| {
        (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
    };
    let area = edge(t[0], t[1], t[2]);
    if area < 0 {
        t.swap(1, 2);
    }
    area != 0
        && (0..3).all(|k| {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            let [dx, dy] = [b[0] - a[0], b[1] - a[1]];
            let top_left = dy < 0 || dy == 0 && dx > 0;
            match edge(a, b, [px, py]) {
                0 => top_left,
                e => e > 0,
            }
        })
}

/// Coverage of triangles at sub-pixel positions.
fn expected(triangles: &[[[i64; 2]; 3]]) -> Vec<[u32; 2]> {
    let side = i64::from(SIDE);
    let mut out = Vec::new();
    for y in 0..side {
        for x in 0..side {
            let centre = [x, y].map(|n| n * SUBPIXELS + SUBPIXELS / 2);
            let mut sums = [0u32; 2];
            for (k, &t) in (1..).zip(triangles) {
                if covers(t, centre) {
                    sums = [sums[0] + 1, sums[1] + k * k];
                }
            }
            out.push(sums);
        }
    }
    out
}

fn check(triangles: &[[[i64; 2]; 3]], what: &str) {
    let positions: Vec<_> = triangles.iter().flatten().map(|&p| clip(p)).collect();
    let (got, want) = (draw(&positions), expected(triangles));
    let covered = want.iter().filter(|w| w[0] > 0).count();
    assert!(covered > 100, "{what}: {covered} pixels are too few");
    for (k, (got, want)) in got.iter().zip(&want).enumerate() {
        let [x, y] = [k % usize::from(SIDE), k / usize::from(SIDE)];
        assert_eq!(
            got, want,
            "{what}: pixel {x} {y}: triangles and the sum of their squared numbers"
        );
    }
}

#[test]
fn edges_through_centres_belong_to_the_top_left() {
    // Corners at the centres of pixels, cut along both diagonals, in both windings.
    let [a, b] = [4, 20].map(|n| n * SUBPIXELS + SUBPIXELS / 2);
    let square = [[a, a], [b, a], [b, b], [a, b]];
    for (what, list) in [
        ("a falling diagonal", [[0, 1, 2], [0, 2, 3]]),
        ("a rising diagonal", [[0, 1, 3], [1, 2, 3]]),
        ("the other winding", [[2, 1, 0], [3, 2, 0]]),
    ] {
        let triangles = list.map(|t| t.map(|k| square[k]));
        check(&triangles, what);
        // Each pixel once: columns and rows 4 to 19.
        let positions: Vec<_> = triangles.iter().flatten().map(|&p| clip(p)).collect();
        for (k, got) in draw(&positions).iter().enumerate() {
            let inside = [k % 32, k / 32].iter().all(|n| (4..20).contains(n));
            assert_eq!(got[0], u32::from(inside), "{what}: pixel {} {}", k % 32, k / 32);
        }
    }
}

#[test]
fn random_triangles_cover_what_exact_arithmetic_says() {
    for (seed, step) in [(1, SUBPIXELS / 2), (2, SUBPIXELS / 4), (3, 16), (4, 1), (5, 1)] {
        let mut rng = Rng::new(seed);
        let places = 40 * SUBPIXELS / step;
        let mut place = || rng.below(places as usize) as i64 * step - 4 * SUBPIXELS;
        let triangles: Vec<_> = (0..60).map(|_| [0; 3].map(|_| [place(), place()])).collect();
        check(&triangles, &format!("triangles on a grid of {step}/{SUBPIXELS} pixels"));
    }
}

#[test]
fn slivers_between_neighbours_leave_no_gap() {
    // A fan around a place off the grid of pixels: every pixel of the square is covered once.
    let centre = [1531, 2203];
    let (low, high) = (0, 32 * SUBPIXELS);
    let mut rim = Vec::new();
    for k in 0..64 {
        rim.push([low + k * (high - low) / 64, low]);
    }
    rim.extend([[high, low], [high, high], [low, high]]);
    let count = rim.len();
    let fan: Vec<_> = (0..count).map(|k| [centre, rim[k], rim[(k + 1) % count]]).collect();
    check(&fan, "a fan");
    let positions: Vec<_> = fan.iter().flatten().map(|&p| clip(p)).collect();
    assert!(draw(&positions).iter().all(|got| got[0] == 1));
}

/// Distances in pixels from a point to the edges of a triangle in homogeneous window coordinates (x·w,
/// y·w, w), positive inside. This also holds for triangles with a corner behind the eye.
fn distances(t: &[[f64; 3]; 3], p: [f64; 2]) -> [f64; 3] {
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let first = cross(t[1], t[2]);
    let determinant: f64 = (0..3).map(|k| t[0][k] * first[k]).sum();
    [0, 1, 2].map(|k| {
        let [a, b, c] = cross(t[(k + 1) % 3], t[(k + 2) % 3]);
        let scale = determinant.signum() / a.hypot(b).max(1e-30);
        (a * p[0] + b * p[1] + c) * scale
    })
}

#[test]
fn triangles_that_reach_beyond_the_guard_band() {
    // Distance from an edge within which a centre may be either: clipping makes new corners on the
    // sub-pixel grid.
    const OPEN_PX: f64 = 0.02;
    let half = f64::from(SIDE) / 2.0;
    let (mut inside, mut outside) = (0u32, 0u32);
    for (seed, reach, behind) in
        [(1, 2e3, false), (2, 5e4, false), (3, 1e6, false), (4, 64.0, true), (5, 5e4, true)]
    {
        let mut rng = Rng::new(seed);
        let mut unit = || rng.below(1 << 20) as f32 / (1 << 20) as f32;
        let positions: Vec<[f32; 4]> = (0..120)
            .map(|k| {
                // The first corner of each is near the screen.
                let reach = if k % 3 == 0 { 2.0 } else { reach / half as f32 };
                let w = 0.25 + 4.0 * unit();
                let w = if behind && k % 3 == 2 { -w } else { w };
                let [x, y] = [0; 2].map(|_| (2.0 * unit() - 1.0) * reach);
                [x * w, y * w, 0.25 * w, w]
            })
            .collect();
        let windows: Vec<_> = positions
            .chunks_exact(3)
            .map(|t| {
                [0, 1, 2].map(|k| {
                    let [x, y, _, w] = t[k].map(f64::from);
                    [half * (x + w), half * (y + w), w]
                })
            })
            .collect();
        for (pixel, got) in draw(&positions).iter().enumerate() {
            let [x, y] = [pixel % 32, pixel / 32].map(|n| n as f64 + 0.5);
            let all: Vec<_> = windows.iter().map(|t| distances(t, [x, y])).collect();
            if all.iter().flatten().any(|d| d.abs() < OPEN_PX) {
                continue;
            }
            let mut want = [0u32; 2];
            for (k, d) in (1..).zip(&all) {
                if d.iter().all(|&d| d > 0.0) {
                    want = [want[0] + 1, want[1] + k * k];
                }
            }
            inside += want[0];
            outside += windows.len() as u32 - want[0];
            assert_eq!(*got, want, "reach {reach}, behind {behind}: pixel {x} {y}");
        }
    }
    println!("{inside} pixels inside, {outside} outside");
    assert!(inside > 20_000 && outside > 20_000, "{inside} and {outside} pixels are too few");
}
