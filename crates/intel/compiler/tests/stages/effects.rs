//! Fragments that write memory, and helper invocations.

use super::rig::{Case, SIDE};
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::{Draw, Picture};
use tepui_ir::Stage;

/// Draws with a buffer of zeros at each number of channels, which leaves the same; the buffer's words and the last picture.
pub fn draw(case: &Case<'_>, bytes: usize) -> (Vec<u32>, Picture) {
    let programs = case.programs();
    let none = Bindings::default();
    let mut buffer = Bindings::default();
    buffer.buffers.insert((0, 0, 0), vec![0; bytes]);
    let mut out: Option<(Vec<u32>, Picture)> = None;
    for width in [8, 16, 0] {
        let [v, f] = &programs;
        let mut d = Draw::triangle(v, f, [SIDE; 2], &none);
        d.fragment_bindings = &buffer;
        d.width = width;
        (case.change)(&mut d);
        let p = super::rig::machine().draw(&d).unwrap_or_else(|e| panic!("{width}: {e}"));
        let bytes = p.buffer(Stage::Fragment, (0, 0, 0));
        let words: Vec<u32> =
            bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        if let Some((first, _)) = &out {
            assert_eq!(*first, words, "{width}\n{}", super::rig::listing(f));
        }
        out = Some((words, p));
    }
    out.expect("there are widths")
}

/// A triangle over half of the picture: many squares are covered in part.
const HALF: &str = "
@group(0) @binding(0) var<storage, read_write> b: array<atomic<u32>>;
@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
    return vec4f(f32(n & 1u) * 1.96875 - 1.0, f32(n >> 1u) * 1.96875 - 1.0, 0.5, 1.0);
}
";

fn inside(x: u32, y: u32) -> Option<bool> {
    let left = 31.5 - (x as f32 + 0.5) - (y as f32 + 0.5);
    (left.abs() > 0.01).then_some(left > 0.0)
}

#[test]
fn only_live_fragments_write() {
    let fs = "@fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
        let at = u32(p.y) * 32u + u32(p.x);
        atomicAdd(&b[at], 1u);
        if (((u32(p.x) + u32(p.y)) & 1u) != 0u) { discard; }
        atomicAdd(&b[at], 256u);
        return vec4f(1.0);
    }";
    let case = Case::wgsl(&format!("{HALF}{fs}"));
    let (b, p) = draw(&case, 4 * 1024);
    let mut count = 0;
    for k in 0..SIDE * SIDE {
        let (x, y) = (k % SIDE, k / SIDE);
        let Some(inside) = inside(x, y) else { continue };
        let kept = (x + y) & 1 == 0;
        let want = if inside { 1 + 256 * u32::from(kept) } else { 0 };
        assert_eq!(b[k as usize], want, "{x} {y}");
        assert_eq!(p.colours[0][k as usize] != [0; 4], inside && kept, "{x} {y}");
        count += u32::from(inside);
    }
    assert!(count > 400);
}

#[test]
fn derivatives_after_a_discard() {
    // Helpers take part.
    let fs = "@fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
        let v = p.x * 3.0 + p.y * 5.0;
        if (((u32(p.x) + u32(p.y)) & 1u) != 0u) { discard; }
        return vec4f(dpdx(v), dpdy(v), dpdxFine(p.x * p.y), dpdyFine(p.x * p.y));
    }";
    let case = Case::wgsl(&format!("{HALF}{fs}"));
    let programs = case.programs();
    for width in [8, 16, 0] {
        let p = case.draw(&programs, width);
        for k in 0..SIDE * SIDE {
            let (x, y) = (k % SIDE, k / SIDE);
            if inside(x, y) == Some(true) && (x + y) & 1 == 0 {
                let want = [3.0, 5.0, y as f32 + 0.5, x as f32 + 0.5];
                let got = p.colours[0][k as usize].map(f32::from_bits);
                assert_eq!(got, want, "{width}: {x} {y}");
            }
        }
    }
}

#[test]
fn helpers_know_that_they_are() {
    // The neighbour in X of a fragment, where that one is a helper.
    let text = |op: &str| {
        format!(
            "shader fragment \"main\" {{
  output [location 0 component 0 float smooth center] b32x4 count 1 \"\"
  body {{
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32x4 = load_builtin[frag_coord]
    %3:b32 = extract[0] %2
    %4:b32 = f2u %3
    %5:b32 = const[0x5]
    %6:b1 = ieq %4, %5
    demote_if %6
    %7:b1 = {op}
    %8:b32 = b2f %7
    %9:b32 = ddx_coarse %8
    %10:b32x4 = vec %8, %9, %1, %1
    store_output[location 0 component 0 float smooth center] %10, %0
    yield
  }}
}}
"
        )
    };
    for (op, demoted) in [("is_helper", true), ("load_builtin[helper_invocation]", false)] {
        let fs = tepui_ir::parse(&text(op)).unwrap_or_else(|e| panic!("{e}"));
        let vs = super::rig::wgsl(Stage::Vertex, &format!("{HALF}@fragment fn f() {{}}"));
        let case = Case::of(vs, fs);
        let programs = case.programs();
        for width in [8, 16, 0] {
            let p = case.draw(&programs, width);
            let mut helpers = 0;
            for k in 0..SIDE * SIDE {
                let (x, y) = (k % SIDE, k / SIDE);
                let there = |x, y| inside(x, y).map(|inside| inside && !(demoted && x == 5));
                let [Some(inside), Some(left), Some(right)] =
                    [inside(x, y), there(x & !1, y & !1), there(x | 1, y & !1)]
                else {
                    continue;
                };
                if !inside || x == 5 {
                    continue;
                }
                let step = f32::from(u8::from(!right)) - f32::from(u8::from(!left));
                let got = p.colours[0][k as usize].map(f32::from_bits);
                assert_eq!(got, [0.0, step, 1.0, 1.0], "{op} {width}: {x} {y}");
                helpers += u32::from(!right);
            }
            assert!(helpers > 8, "{helpers}");
        }
    }
}

#[test]
fn comparisons_of_nans_discard_as_written() {
    for (condition, kept) in [("v < 0.5", true), ("!(v < 0.5)", false), ("!(v == v)", false)] {
        let fs = format!(
            "@fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {{
                let v = bitcast<f32>(0x7fc00000u | u32(p.x));
                if ({condition}) {{ discard; }}
                return vec4f(1.0);
            }}"
        );
        let case = Case::wgsl(&format!("{HALF}{fs}"));
        let programs = case.programs();
        for width in [8, 16] {
            let p = case.draw(&programs, width);
            assert_eq!(p.colours[0][33] != [0; 4], kept, "{condition} {width}");
        }
    }
}

#[test]
fn programs_that_spill() {
    // Sixteen values that are all needed twice, in two orders.
    let (mut values, mut sums) = (String::new(), String::new());
    for k in 0..16 {
        values += &format!("let a{k} = sin(p.x * {k}.25 + p.y);\n");
        sums += &format!("s = s * 0.5 + a{};\n", k * 7 % 16);
    }
    let fs = format!(
        "@fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {{
            let at = u32(p.y) * 32u + u32(p.x);
            var s = 0.0;
            {values}
            for (var k = 0u; k < at % 3u; k++) {{ {sums} }}
            if (s > 1.0) {{ discard; }}
            atomicAdd(&b[at], 1u);
            return vec4f(s, p.xy, a3);
        }}"
    );
    let mut case = Case::wgsl(&format!("{HALF}{fs}"));
    let plain = case.programs();
    assert_eq!(plain[1].stats.spills, 0);
    let want = case.draw(&plain, 8);
    case.registers = 8;
    let few = case.programs();
    assert!(few[1].stats.spills > 0, "{}", few[1].stats);
    assert_eq!(few[1].variants.len(), 1);
    let got = case.draw(&few, 0);
    assert_eq!(want.colours, got.colours);
}

#[test]
fn squares_without_live_fragments_go_to_the_end() {
    let source = |limit: &str| {
        format!(
            "@fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {{
                if (p.x < {limit}) {{ discard; }}
                var s = p.y;
                for (var k = 0u; k < u32(p.y) + 20u; k++) {{ s = s * 0.5 + p.x; }}
                if (s < p.x) {{
                    if (p.y > 20.0) {{ discard; }}
                    for (var k = 0u; k < u32(p.x); k++) {{ s = s * 0.25 + p.y; }}
                }}
                return vec4f(s, p.xy, 1.0);
            }}"
        )
    };
    let executed = [40.0, 7.0, 0.0].map(|limit| {
        let case = Case::wgsl(&format!("{HALF}{}", source(&format!("{limit:?}"))));
        let programs = case.programs();
        if limit > 0.0 && limit < 32.0 {
            case.check();
        }
        [8, 16].map(|width| case.draw(&programs, width).stats.instructions)
    });
    for ([none, few], all) in [0, 1].map(|k| ([executed[0][k], executed[1][k]], executed[2][k])) {
        assert!(3 * none < all && none < few && few < all, "{none} {few} {all}");
    }
}
