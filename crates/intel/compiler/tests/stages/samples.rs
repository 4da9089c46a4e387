//! Fragments of several samples: places of interpolation, masks, programs that run for each sample.

use super::rig::{Case, SIDE};
use tepui_intel_bare::draw::{Draw, Format};
use tepui_intel_compiler::FragmentState;
use tepui_ir::{Attrs, Builder, Op, Value};

/// A triangle whose varying is the place in the window, linear and with perspective alike.
const VERTEX: &str = "
struct V {
    @builtin(position) at: vec4f,
    @location(0) @interpolate(perspective, center) centre: vec2f,
    @location(1) @interpolate(linear, sample) own: vec2f,
    @location(2) @interpolate(perspective, centroid) cent: vec2f,
}
// An input at samples makes a program for each, read or not.
struct P {
    @builtin(position) at: vec4f,
    @location(0) @interpolate(perspective, center) centre: vec2f,
    @location(2) @interpolate(perspective, centroid) cent: vec2f,
}
@vertex fn vs(@builtin(vertex_index) n: u32) -> V {
    let p = vec2f(f32(n & 1u) * 4.0 - 1.25, f32(n >> 1u) * 4.0 - 1.5);
    let q = p * 16.0 + 16.0;
    return V(vec4f(p, 0.5, 1.0), q, q, q);
}
";

/// Vulkan's places of four samples.
const PLACES: [[f32; 2]; 4] = [[0.375, 0.125], [0.875, 0.375], [0.125, 0.625], [0.625, 0.875]];

/// Whether the triangle covers a place; `None` too near to its edge.
fn covers(x: f32, y: f32) -> Option<bool> {
    let left = 52.0 - x - y;
    (left.abs() > 0.01).then_some(left > 0.0)
}

/// The covered samples of a pixel.
fn coverage(x: u32, y: u32) -> Option<u32> {
    let mut mask = 0;
    for (s, p) in PLACES.iter().enumerate() {
        mask |= u32::from(covers(x as f32 + p[0], y as f32 + p[1])?) << s;
    }
    Some(mask)
}

fn several(d: &mut Draw<'_>) {
    d.samples_log2 = 2;
}

/// Draws with four samples, and compares each that is covered with the texel that `want` gives for a pixel, its coverage and
/// the sample; the others have the clear colour.
fn check(case: &Case<'_>, want: impl Fn(u32, u32, u32, usize) -> [f32; 4]) {
    let programs = case.programs();
    let widths: Vec<u8> = programs[1].variants.iter().map(|v| v.width).chain([0]).collect();
    for width in widths {
        let p = case.draw(&programs, width);
        let mut seen = 0;
        for (k, got) in p.colours[0].iter().enumerate() {
            let k = k as u32;
            let (x, y, s) = (k % SIDE, k / SIDE % SIDE, (k / SIDE / SIDE) as usize);
            let Some(mask) = coverage(x, y) else { continue };
            let want = if mask >> s & 1 != 0 { want(x, y, mask, s) } else { [9.0; 4] };
            for (g, w) in got.map(f32::from_bits).into_iter().zip(want) {
                assert!((g - w).abs() < 1e-3, "{width}: {x} {y} {s}: {g}, not {w}");
            }
            seen += 1;
        }
        assert!(seen > 3000, "{seen}");
    }
}

fn case(fs: &str) -> Case<'static> {
    let mut case = Case::wgsl(&format!("{VERTEX}{fs}"));
    case.clear = [9.0f32; 4].map(f32::to_bits);
    case.change = &several;
    case
}

#[test]
fn a_program_for_each_sample() {
    let fs = "@fragment fn fs(v: V, @builtin(sample_index) s: u32) -> @location(0) vec4f {
        return vec4f(v.at.xy, f32(s), v.own.x);
    }";
    let case = case(fs);
    assert_eq!(case.programs()[1].variants.len(), 1, "one width");
    check(&case, |x, y, _, s| {
        let [dx, dy] = PLACES[s];
        [x as f32 + dx, y as f32 + dy, s as f32, x as f32 + dx]
    });
}

#[test]
fn inputs_at_the_sample_make_a_program_for_each() {
    let fs = "@fragment fn fs(v: V) -> @location(0) vec4f { return vec4f(v.own, v.centre); }";
    check(&case(fs), |x, y, _, s| {
        let [dx, dy] = PLACES[s];
        [x as f32 + dx, y as f32 + dy, x as f32 + 0.5, y as f32 + 0.5]
    });
}

#[test]
fn the_state_can_ask_for_a_program_for_each_sample() {
    let fs = "@fragment fn fs(v: P) -> @location(0) vec4f { return vec4f(v.centre, v.at.xy); }";
    let mut each = case(fs);
    each.state = FragmentState { per_sample: true, ..FragmentState::default() };
    check(&each, |x, y, _, s| {
        let [dx, dy] = PLACES[s];
        let at = [x as f32 + dx, y as f32 + dy];
        [at[0], at[1], at[0], at[1]]
    });
    check(&case(fs), |x, y, _, _| {
        let at = [x as f32 + 0.5, y as f32 + 0.5];
        [at[0], at[1], at[0], at[1]]
    });
}

#[test]
fn centroids_lie_in_the_triangle() {
    let fs = "@fragment fn fs(v: P) -> @location(0) vec4f { return vec4f(v.cent, v.centre); }";
    check(&case(fs), |x, y, mask, _| {
        // The model's choice: the first covered sample, or the centre of a covered pixel.
        let s = mask.trailing_zeros() as usize;
        let [dx, dy] = if mask == 0xf { [0.5; 2] } else { PLACES[s] };
        [x as f32 + dx, y as f32 + dy, x as f32 + 0.5, y as f32 + 0.5]
    });
}

#[test]
fn the_mask_of_covered_samples() {
    let fs = "@fragment fn fs(v: P, @builtin(sample_mask) m: u32) -> @location(0) vec4f {
        return vec4f(f32(m), v.centre, 0.0);
    }";
    check(&case(fs), |x, y, mask, _| [mask as f32, x as f32 + 0.5, y as f32 + 0.5, 0.0]);
    let fs = "@fragment fn fs(v: V, @builtin(sample_mask) m: u32, @builtin(sample_index) s: u32)
        -> @location(0) vec4f { return vec4f(f32(m), f32(s), v.at.xy); }";
    check(&case(fs), |x, y, _, s| {
        let [dx, dy] = PLACES[s];
        [(1 << s) as f32, s as f32, x as f32 + dx, y as f32 + dy]
    });
}

#[test]
fn a_written_mask_selects_samples() {
    let fs =
        "struct O { @location(0) c: vec4f, @location(1) d: vec4f, @builtin(sample_mask) m: u32 }
    @fragment fn fs(v: P) -> O {
        if (v.centre.x > 20.0 && v.centre.y > 12.0) { discard; }
        return O(vec4f(v.centre, 1.0, 2.0), vec4f(3.0), select(5u, 0xau, (u32(v.at.x) & 1u) != 0u));
    }";
    let mut case = case(fs);
    case.targets = vec![Format::Float, Format::Float];
    let lit = |x: u32, y: u32, s: usize| {
        let mask = if x & 1 != 0 { 0xa } else { 5 };
        mask >> s & 1 != 0 && !(x >= 20 && y >= 12)
    };
    check(&case, |x, y, _, s| match lit(x, y, s) {
        true => [x as f32 + 0.5, y as f32 + 0.5, 1.0, 2.0],
        false => [9.0; 4],
    });
    let programs = case.programs();
    for width in [8, 16] {
        let p = case.draw(&programs, width);
        for (k, got) in p.colours[1].iter().enumerate() {
            let k = k as u32;
            let (x, y, s) = (k % SIDE, k / SIDE % SIDE, (k / SIDE / SIDE) as usize);
            let Some(mask) = coverage(x, y) else { continue };
            let want = if mask >> s & 1 != 0 && lit(x, y, s) { 3.0f32 } else { 9.0 };
            assert_eq!(f32::from_bits(got[0]), want, "{width}: {x} {y} {s}");
        }
    }
}

#[test]
fn pixels_of_one_sample() {
    let fs = "@fragment fn fs(v: V, @builtin(sample_index) s: u32) -> @location(0) vec4f {
        return vec4f(v.at.xy, f32(s), v.own.x);
    }";
    let mut case = Case::wgsl(&format!("{VERTEX}{fs}"));
    case.state = FragmentState { single_sample: true, ..FragmentState::default() };
    case.check();
    assert_eq!(case.programs()[1].variants.len(), 2);
}

/// The shader of the place at the centre, with its input read in another way.
fn replaced(op: Op, args: &dyn Fn(&mut Builder<'_>) -> Value) -> Case<'static> {
    let fs = "@fragment fn fs(v: P) -> @location(0) vec4f { return vec4f(v.centre, v.centre); }";
    let mut case = case(fs);
    let s = &mut case.fs;
    let root = s.root;
    for i in std::mem::take(&mut s.regions[root].insts) {
        let centre = matches!(s.insts[i].attrs, Attrs::Io(slot)
            if slot.loc == tepui_ir::IoLoc::Location(0));
        if s.insts[i].op == Op::LoadInput && centre {
            let extra = args(&mut Builder::at(s, root));
            let first = s.arg(i, 0);
            s.insts[i].op = op;
            s.set_args(i, &[first, extra]);
        }
        s.regions[root].insts.push(i);
    }
    tepui_ir::validate(s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    case
}

#[test]
fn interpolation_at_offsets() {
    for (dx, dy, [near_x, near_y]) in [
        (0.25f32, -0.375f32, [0.25, -0.375]),
        // Out of the range of sixteenths that the message takes.
        (0.5, -0.75, [0.4375, -0.5]),
    ] {
        let case = replaced(Op::LoadInputAtOffset, &|b| {
            let (x, y) = (b.f32(dx), b.f32(dy));
            b.vec(&[x, y])
        });
        check(&case, |x, y, _, _| {
            let at = [x as f32 + 0.5 + near_x, y as f32 + 0.5 + near_y];
            [at[0], at[1], at[0], at[1]]
        });
    }
}

#[test]
fn interpolation_at_samples() {
    for sample in 0..4 {
        let case = replaced(Op::LoadInputAtSample, &|b| b.u32(sample));
        let [dx, dy] = PLACES[sample as usize];
        check(&case, |x, y, _, _| {
            let at = [x as f32 + dx, y as f32 + dy];
            [at[0], at[1], at[0], at[1]]
        });
    }
}

#[test]
fn interpolation_at_a_sample_that_is_not_known() {
    let case = replaced(Op::LoadInputAtSample, &|b| {
        let four = tepui_ir::Type::vec(32, 4);
        let at = Attrs::Builtin(tepui_ir::Builtin::FragCoord);
        let place = b.value(Op::LoadBuiltin, at, &[], four);
        let x = b.value(Op::Extract, Attrs::Index(0), &[place], tepui_ir::Type::B32);
        let x = b.value(Op::F2U, Attrs::None, &[x], tepui_ir::Type::B32);
        let three = b.u32(3);
        b.binary(Op::IAnd, x, three)
    });
    check(&case, |x, y, _, _| {
        let [dx, dy] = PLACES[x as usize & 3];
        let at = [x as f32 + dx, y as f32 + dy];
        [at[0], at[1], at[0], at[1]]
    });
}

#[test]
fn interpolation_at_the_shaded_sample() {
    let case = replaced(Op::LoadInputAtSample, &|b| {
        let id = Attrs::Builtin(tepui_ir::Builtin::SampleId);
        b.value(Op::LoadBuiltin, id, &[], tepui_ir::Type::B32)
    });
    check(&case, |x, y, _, s| {
        let [dx, dy] = PLACES[s];
        let at = [x as f32 + dx, y as f32 + dy];
        [at[0], at[1], at[0], at[1]]
    });
}
