//! The tessellator's programs write the points and triangles of a plain tessellator, which walks around the rings one point
//! after the other.

use proptest::prelude::*;
use tepui_expand::tessellate::{Tessellation, count, fill, word};
use tepui_expand::{TESSELLATED_B, THREADS};
use tepui_ir::interp::{self, Memory};
use tepui_ir::{PrimitiveKind, Spacing};

const ONE: u32 = 1 << 16;

/// A divided edge.
struct Edge {
    level: u32,
    odd: bool,
    points: usize,
    half: u32,
    /// The positions of the points.
    at: Vec<u32>,
}

impl Edge {
    /// The edge of a level; `largest` is that of all others if the edge is inside.
    fn new(level: f32, spacing: Spacing, largest: Option<f32>, rows: bool) -> Edge {
        let level = clamp(level, spacing, largest);
        let odd = match spacing {
            Spacing::Equal => level as u32 % 2 == 1 && !(largest.is_some() && level == 1.0),
            Spacing::FractionalEven => false,
            Spacing::FractionalOdd => true,
        };
        let level = (level * ONE as f32 + 0.5) as u32;
        // Segments that there are at least, an even or odd number of them.
        let mut segments = (level.div_ceil(ONE)).max(1);
        if segments % 2 != u32::from(odd) {
            segments += 1;
        }
        // Half of the level as if it began with one segment, or with two.
        let exact = level.div_ceil(2);
        let exact = if odd || exact == ONE / 2 { exact + ONE / 2 } else { exact };
        let (few, many) = (exact / ONE, exact.div_ceil(ONE));
        let fraction = exact % ONE;
        let count = |halves: u32| 2 * halves - u32::from(odd);
        let length = |halves: u32| (f64::from(ONE) / f64::from(count(halves))).round() as u32;
        // The order in which points came until there were `many` in a half.
        let newest = {
            let n = few - u32::from(odd);
            if n == 0 { 0 } else { 2 * (n - (1 << n.ilog2())) + 1 }
        };
        let mut at = Vec::new();
        for p in 0..=count(many) {
            let mirrored = p >= many;
            let q = if mirrored { count(many) - p } else { p };
            if q == many {
                at.push(ONE / 2);
                continue;
            }
            let in_few = if few != many && q > newest { q - 1 } else { q };
            let mixed = in_few * length(few) * (ONE - fraction) + q * length(many) * fraction;
            let v = (mixed + ONE / 2) / ONE;
            at.push(if mirrored { ONE - v } else { v });
        }
        let mut points = segments as usize + 1;
        if rows {
            points = points.max(if odd { 4 } else { 3 });
        }
        Edge { level, odd, points, half: many, at }
    }
}

fn clamp(level: f32, spacing: Spacing, largest: Option<f32>) -> f32 {
    let (mut least, most) = match spacing {
        Spacing::Equal => (1.0, 64.0),
        Spacing::FractionalEven => (2.0, 64.0),
        Spacing::FractionalOdd => (1.0, 63.0),
    };
    if spacing == Spacing::FractionalOdd && largest.is_some_and(|l| l > 1.0 + 0.5 / ONE as f32) {
        least = 1.0 + 1.0 / ONE as f32;
    }
    let level = level.max(least).min(most);
    if spacing == Spacing::Equal { level.ceil() } else { level }
}

#[derive(Default, Debug, PartialEq)]
struct Pattern {
    points: Vec<[u32; 2]>,
    indices: Vec<u32>,
}

/// Rings of points, as lists of their numbers from corner to corner.
type Sides = Vec<Vec<u32>>;

/// A ring from the points of its sides, each without its last.
fn ring(sides: &[Vec<[u32; 2]>], out: &mut Pattern) -> Sides {
    let first = out.points.len() as u32;
    let all: usize = sides.iter().map(|s| s.len() - 1).sum();
    let mut numbers = Vec::new();
    for side in sides {
        let from = out.points.len() as u32;
        out.points.extend(&side[..side.len() - 1]);
        let number = |k: u32| first + (from - first + k) % (all as u32).max(1);
        numbers.push((0..side.len() as u32).map(number).collect());
    }
    numbers
}

fn tessellate(t: &Tessellation, outer: [f32; 4], inner: [f32; 2]) -> Pattern {
    let mut out = Pattern::default();
    let edges = match t.domain {
        PrimitiveKind::Isolines => 2,
        PrimitiveKind::Triangles => 3,
        _ => 4,
    };
    if outer[..edges].iter().any(|&l| l.is_nan() || l <= 0.0) {
        return out;
    }
    let plain = |l: f32| Edge::new(l, t.spacing, None, false);
    if t.domain == PrimitiveKind::Isolines {
        let (rows, row) = (Edge::new(outer[0], Spacing::Equal, None, false), plain(outer[1]));
        for r in 0..rows.points - 1 {
            for p in 0..row.points {
                if p > 0 {
                    let n = out.points.len() as u32;
                    out.indices.extend([n - 1, n]);
                }
                out.points.push([row.at[p], rows.at[r]]);
            }
        }
    } else {
        rings(t, &outer[..edges], inner, &mut out);
    }
    if t.points {
        out.indices = (0..out.points.len() as u32).collect();
    } else if t.clockwise && edges > 2 {
        out.indices.chunks_mut(3).for_each(|c| c.swap(1, 2));
    }
    out
}

fn rings(t: &Tessellation, outer: &[f32], inner: [f32; 2], out: &mut Pattern) {
    let triangle = outer.len() == 3;
    let mut largest = outer.iter().map(|&l| clamp(l, t.spacing, None)).fold(0.0, f32::max);
    if !triangle {
        largest = largest.max(inner[0].max(inner[1]));
    }
    let outer: Vec<Edge> = outer.iter().map(|&l| Edge::new(l, t.spacing, None, false)).collect();
    let inside = |l: f32| Edge::new(l, t.spacing, Some(largest), true);
    let u = inside(inner[0]);
    let v = inside(if triangle { inner[0] } else { inner[1] });
    if outer.iter().chain([&u, &v]).all(|e| e.level == ONE) {
        if triangle {
            out.points = vec![[0, ONE], [0, 0], [ONE, 0]];
            out.indices = vec![0, 1, 2];
        } else {
            out.points = vec![[0, 0], [ONE, 0], [ONE, ONE], [0, ONE]];
            out.indices = vec![0, 1, 3, 1, 2, 3];
        }
        return;
    }
    let line = |e: &Edge, back: bool, f: &dyn Fn(u32) -> [u32; 2]| -> Vec<[u32; 2]> {
        let side = e.at[..e.points].iter().map(|&p| f(p));
        if back { side.rev().collect() } else { side.collect() }
    };
    let sides = if triangle {
        vec![
            line(&outer[0], true, &|p| [0, p]),
            line(&outer[1], false, &|p| [p, 0]),
            line(&outer[2], true, &|p| [p, ONE - p]),
        ]
    } else {
        vec![
            line(&outer[0], true, &|p| [0, p]),
            line(&outer[1], false, &|p| [p, 0]),
            line(&outer[2], false, &|p| [ONE, p]),
            line(&outer[3], true, &|p| [p, ONE]),
        ]
    };
    let mut before = ring(&sides, out);
    let (nu, nv) = (u.points, v.points);
    let few = if nu > nv { &v } else { &u };
    // Rings up to the middle.
    let rows = few.points.div_ceil(2);
    for r in 1..rows {
        let now = if !few.odd && r == rows - 1 && !triangle {
            // A row, which goes there and back.
            let first = out.points.len() as u32;
            let wide = nu > nv;
            let n = (if wide { nu } else { nv }) - 2 * r;
            for j in 0..n {
                out.points.push(if wide {
                    [u.at[r + j], ONE / 2]
                } else {
                    [ONE / 2, v.at[nv - 1 - r - j]]
                });
            }
            let there: Vec<u32> = (0..n as u32).map(|k| first + k).collect();
            let back: Vec<u32> = there.iter().rev().copied().collect();
            let ends = (vec![first], vec![first + n as u32 - 1]);
            if wide { vec![ends.0, there, ends.1, back] } else { vec![there, ends.1, back, ends.0] }
        } else if triangle {
            let away = (u.at[r] * 0xaaaa + ONE / 2) / ONE;
            let along = |p: usize| u.at[p] - away.div_ceil(2);
            if nu - 2 * r == 1 {
                out.points.push([0x5555; 2]);
                let only = vec![out.points.len() as u32 - 1];
                vec![only.clone(), only.clone(), only]
            } else {
                let forth = r..nu - r;
                let back = forth.clone().rev();
                let sides = [
                    back.clone().map(|p| [away, along(p)]).collect(),
                    forth.map(|p| [along(p), away]).collect(),
                    back.map(|p| [along(p), ONE - along(p) - away]).collect(),
                ];
                ring(&sides, out)
            }
        } else {
            let (fu, fv) = (r..nu - r, r..nv - r);
            let (first_u, last_u) = (u.at[r], u.at[nu - 1 - r]);
            let (first_v, last_v) = (v.at[r], v.at[nv - 1 - r]);
            let sides = [
                fv.clone().rev().map(|p| [first_u, v.at[p]]).collect(),
                fu.clone().map(|p| [u.at[p], first_v]).collect(),
                fv.map(|p| [last_u, v.at[p]]).collect(),
                fu.rev().map(|p| [u.at[p], last_v]).collect(),
            ];
            ring(&sides, out)
        };
        for (e, side) in now.iter().enumerate() {
            let along = if triangle || e % 2 == 1 { &u } else { &v };
            match r {
                1 => transition(side, along, &before[e], &outer[e], out),
                _ => regular(side, &before[e], out),
            }
        }
        before = now;
    }
    if few.odd && triangle {
        let [a, b, c] = [before[0][0], before[1][0], before[2][0]];
        out.indices.extend([a, b, c]);
    } else if few.odd {
        let wide = nu > nv;
        let there = if wide { &before[1] } else { &before[0] };
        let back: Vec<u32> = before[if wide { 3 } else { 2 }].iter().rev().copied().collect();
        let n = there.len();
        let other = !wide && v.odd;
        for p in 0..n - 1 {
            let (o, o1, i, i1) = (there[p], there[p + 1], back[p], back[p + 1]);
            out.indices.extend(match (other, p == n / 2 - 1) {
                (false, _) => [i, o, o1, i, o1, i1],
                (true, false) => [o, o1, i, i, o1, i1],
                (true, true) => [o, i1, i, o, o1, i1],
            });
        }
    }
}

/// When the point at a place of a half with 32 segments appears, if segments are halved in turn.
fn appears(place: u32) -> u32 {
    match place {
        0 => 0,
        1 => 32,
        p => {
            let m = p - 1;
            (32 + m) >> (m.trailing_zeros() + 1)
        }
    }
}

fn transition(inner: &[u32], along: &Edge, outer: &[u32], edge: &Edge, out: &mut Pattern) {
    let [has_in, has_out] = [along, edge].map(|e| e.half - u32::from(e.odd));
    let (mut i, mut o) = (0, 0);
    let mut step = |inside: bool, out: &mut Pattern| {
        if inside {
            out.indices.extend([inner[i], outer[o], inner[i + 1]]);
            i += 1;
        } else {
            out.indices.extend([outer[o], outer[o + 1], inner[i]]);
            o += 1;
        }
    };
    for place in 0..=32 {
        if place > 0 && appears(place) < has_in {
            step(true, out);
        }
        if appears(place) < has_out {
            step(false, out);
        }
    }
    let (middle_i, middle_o) = {
        let n = out.indices.len();
        if along.odd {
            step(true, out);
        }
        if edge.odd {
            step(false, out);
        }
        (n, out.indices.len())
    };
    // In the middle, triangles of the edge begin with the inner point.
    if edge.odd {
        let last = middle_o - 3;
        assert!(last >= middle_i);
        out.indices[last..middle_o].rotate_right(1);
    }
    for place in (0..=32).rev() {
        if appears(place) < has_out {
            step(false, out);
        }
        if place > 0 && appears(place) < has_in {
            step(true, out);
        }
    }
    assert_eq!((i, o), (inner.len() - 1, outer.len() - 1), "both sides are walked along");
}

fn regular(inner: &[u32], outer: &[u32], out: &mut Pattern) {
    let n = inner.len();
    assert_eq!(outer.len(), n + 2);
    out.indices.extend([outer[0], outer[1], inner[0]]);
    for p in 0..n - 1 {
        let (o, o1, i, i1) = (outer[p + 1], outer[p + 2], inner[p], inner[p + 1]);
        if p < n / 2 {
            out.indices.extend([o, i1, i, o, o1, i1]);
        } else {
            out.indices.extend([i, o, o1, i, o1, i1]);
        }
    }
    out.indices.extend([outer[n], outer[n + 1], inner[n - 1]]);
}

/// Levels of a patch: outer and inner.
type Levels = ([f32; 4], [f32; 2]);

/// Bytes of a patch's record here: 8 bytes, then the levels.
const STRIDE: u32 = 40;

fn run(t: &Tessellation, patches: &[Levels]) -> Vec<Pattern> {
    let n = patches.len() as u32;
    let mut records = Vec::new();
    for (outer, inner) in patches {
        records.extend([0xee; 8]);
        records.extend(outer.iter().chain(inner).flat_map(|l| l.to_le_bytes()));
        records.extend([0xee; 8]);
    }
    let mut words = vec![0u8; word::BYTES as usize];
    let mut m = Memory::default();
    let table = vec![0xee; 4 * n as usize];
    let buffers = [(word::PATCHES, records), (word::POINTS, table.clone()), (word::INDICES, table)];
    for (k, (at, bytes)) in buffers.into_iter().enumerate() {
        put(&mut words, &mut m, at, k as u64 + 1, bytes);
    }
    for (at, v) in [(word::COUNT, n), (word::STRIDE, STRIDE), (word::OUTER, 8), (word::INNER, 24)] {
        words[at as usize..][..4].copy_from_slice(&v.to_le_bytes());
    }
    m.uniforms = words.clone();
    let program = count(t);
    tepui_ir::validate(&program).unwrap_or_else(|e| panic!("{e}\n{program}"));
    interp::dispatch(&program, [n.div_ceil(THREADS), 1, 1], &mut m, 100_000_000)
        .expect("it counts");

    let mut sizes = Vec::new();
    let mut sums = [0u32, 0];
    for p in 0..patches.len() {
        let here = [2, 3].map(|k| {
            let table = m.physical.get_mut(&((k as u64) << 32)).expect("a table");
            let bytes: &mut [u8; 4] = (&mut table[4 * p..4 * p + 4]).try_into().expect("a word");
            let n = u32::from_le_bytes(*bytes);
            *bytes = sums[k - 2].to_le_bytes();
            sums[k - 2] += n;
            n
        });
        sizes.push(here);
    }
    put(&mut words, &mut m, word::LIST, 4, vec![0xee; (sums[0] * TESSELLATED_B) as usize]);
    put(&mut words, &mut m, word::INDEX_LIST, 5, vec![0xee; 4 * sums[1] as usize]);
    m.uniforms = words;
    let program = fill(t);
    tepui_ir::validate(&program).unwrap_or_else(|e| panic!("{e}\n{program}"));
    interp::dispatch(&program, [n, 1, 1], &mut m, 100_000_000).expect("it tessellates");
    assert_eq!(m.out_of_bounds, 0);

    let words = |k: u64| -> Vec<u32> {
        let bytes = m.physical[&(k << 32)].chunks_exact(4);
        bytes.map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    };
    let (points, indices) = (words(4), words(5));
    let (mut point, mut index) = (0, 0);
    let mut patterns = Vec::new();
    for (p, [n, m]) in sizes.into_iter().enumerate() {
        let (n, m) = (n as usize, m as usize);
        let own = points[3 * point..3 * (point + n)].chunks(3).map(|c| {
            assert_eq!(c[0], p as u32, "the patch of a point");
            [c[1], c[2]].map(|bits| (f32::from_bits(bits) * ONE as f32) as u32)
        });
        let numbers = indices[index..index + m].iter().map(|&i| i.wrapping_sub(point as u32));
        patterns.push(Pattern { points: own.collect(), indices: numbers.collect() });
        (point, index) = (point + n, index + m);
    }
    patterns
}

fn put(words: &mut [u8], m: &mut Memory, at: u32, k: u64, bytes: Vec<u8>) {
    words[at as usize..][..8].copy_from_slice(&(k << 32).to_le_bytes());
    m.physical.insert(k << 32, bytes);
}

fn check(t: &Tessellation, patches: &[Levels]) {
    for (got, levels) in run(t, patches).into_iter().zip(patches) {
        let want = tessellate(t, levels.0, levels.1);
        assert_eq!(got.points, want.points, "points of {levels:?}, {t:?}");
        assert_eq!(got.indices, want.indices, "indices of {levels:?}, {t:?}");
    }
}

const DOMAINS: [PrimitiveKind; 3] =
    [PrimitiveKind::Triangles, PrimitiveKind::Quads, PrimitiveKind::Isolines];

#[test]
fn special_levels() {
    let mut patches = vec![
        ([1.0; 4], [1.0; 2]),
        ([0.0, 1.0, 1.0, 1.0], [1.0; 2]),
        ([1.0, f32::NAN, 1.0, 1.0], [1.0; 2]),
        ([-1.0, 1.0, 1.0, 1.0], [1.0; 2]),
        ([1.0, 1.0, 2.0, 1.0], [f32::NAN, 1.0]),
        ([2.0; 4], [1.0; 2]),
        ([1.0; 4], [2.0; 2]),
        ([1.0; 4], [1.0, 3.0]),
        ([1.0; 4], [3.0, 1.0]),
        ([64.0; 4], [64.0; 2]),
        ([63.0, 64.0, 1.0, 2.0], [5.0, 64.0]),
        ([1000.0, 0.25, f32::INFINITY, 1.0e-30], [0.0, 40.5]),
    ];
    for n in 1..8 {
        for m in 1..8 {
            let (n, m) = (n as f32, m as f32);
            patches.push(([n, m, n, m + 1.0], [m, n]));
            patches.push(([3.0; 4], [n, m]));
        }
    }
    for domain in DOMAINS {
        for &spacing in Spacing::ALL {
            let t = Tessellation { domain, spacing, points: false, clockwise: false };
            check(&t, &patches);
        }
        // What they are drawn as matters little to the levels.
        let t = Tessellation { domain, spacing: Spacing::Equal, points: true, clockwise: false };
        check(&t, &patches[..20]);
        check(&Tessellation { points: false, clockwise: true, ..t }, &patches[..20]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn any_levels(
        outer in prop::collection::vec(prop::array::uniform4(0.1f32..70.0), 4),
        inner in prop::collection::vec(prop::array::uniform2(0.1f32..70.0), 4),
    ) {
        let patches: Vec<Levels> = outer.into_iter().zip(inner).collect();
        for domain in DOMAINS {
            for &spacing in Spacing::ALL {
                let t = Tessellation { domain, spacing, points: false, clockwise: false };
                check(&t, &patches);
            }
        }
    }
}
