//! Outputs of fragments other than one colour.

use super::basics::{VERTEX, fragment};
use super::rig::{Case, SIDE, program, shader, wgsl};
use tepui_intel_bare::draw::CompareFunction;
use tepui_intel_bare::draw::Format;
use tepui_intel_compiler::{FragmentState, StageInfo};
use tepui_ir::Stage;

/// A triangle over the whole picture.
const WHOLE: &str = "@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
    return vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0);
}
";

fn pixels() -> impl Iterator<Item = (usize, u32, u32)> {
    (0..SIDE * SIDE).map(|k| (k as usize, k % SIDE, k / SIDE))
}

#[test]
fn depths_of_shaders() {
    let fs = "struct O { @location(0) c: vec4f, @builtin(frag_depth) d: f32 }
    @fragment fn fs(@builtin(position) p: vec4f) -> O {
        return O(vec4f(1.0, 2.0, p.z, 4.0), p.x / 32.0);
    }";
    let mut case = Case::wgsl(&format!("{WHOLE}{fs}"));
    case.change = &|d| d.depth = Some((CompareFunction::Less, 0.75));
    let programs = case.programs();
    for width in [8, 16, 0] {
        let p = case.draw(&programs, width);
        for (k, x, _) in pixels() {
            let own = (x as f32 + 0.5) / 32.0;
            let (depth, colour) =
                if own < 0.75 { (own, [1.0, 2.0, 0.5, 4.0]) } else { (0.75, [0.0; 4]) };
            assert_eq!(p.depth[k], depth, "{width}: {k}");
            assert_eq!(p.colours[0][k].map(f32::from_bits), colour, "{width}: {k}");
        }
    }
}

#[test]
fn depths_of_fragments_and_early_tests() {
    // A discarded fragment writes no depth if the test follows the shader, and does if it precedes.
    let body = "if (gl_FragCoord.x > 16.0) discard; o = colour;";
    for early in [false, true] {
        let mut case = Case::new(VERTEX, &fragment(body));
        case.fs.info.early_tests = early;
        case.change = &|d| d.depth = Some((CompareFunction::Less, 1.0));
        let programs = case.programs();
        for width in [8, 16] {
            let p = case.draw(&programs, width);
            for (k, x, y) in pixels().filter(|(_, x, y)| x + y < 50) {
                let want = if x >= 16 && !early { 1.0 } else { 0.25 };
                assert!(
                    (p.depth[k] - want).abs() < 1e-3,
                    "{early} {width}: {x} {y} {}",
                    p.depth[k]
                );
                let lit = p.colours[0][k] != [0; 4];
                assert_eq!(lit, x < 16, "{early} {width}: {x} {y}");
            }
        }
    }
}

#[test]
fn stencil_values_of_shaders() {
    let text = "shader fragment \"main\" {
  output [builtin frag_stencil_ref component 0 uint flat center] b32 count 1 \"\"
  output [location 0 component 0 float smooth center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32x4 = load_builtin[frag_coord]
    %3:b32 = extract[0] %2
    %4:b32 = f2u %3
    %5:b32 = const[0x4]
    %6:b32 = ushr %4, %5
    %7:b32x4 = vec %1, %1, %1, %3
    store_output[builtin frag_stencil_ref component 0 uint flat center] %6, %0
    store_output[location 0 component 0 float smooth center] %7, %0
    yield
  }
}
";
    let fs = tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let mut case = Case::of(wgsl(Stage::Vertex, &format!("{WHOLE}@fragment fn f() {{}}")), fs);
    case.change = &|d| d.stencil = Some(CompareFunction::Equal);
    let programs = case.programs();
    assert_eq!(programs[1].variants.len(), 1, "stencil has 8 channels");
    let p = case.draw(&programs, 0);
    for (k, x, _) in pixels() {
        let want = if x < 16 { [1.0, 1.0, 1.0, x as f32 + 0.5] } else { [0.0; 4] };
        assert_eq!(p.colours[0][k].map(f32::from_bits), want, "{k}");
    }
}

#[test]
fn two_sources_of_blending() {
    let fs = "enable dual_source_blending;
    struct O { @location(0) @blend_src(0) a: vec4f, @location(0) @blend_src(1) b: vec4f }
    @fragment fn fs(@builtin(position) p: vec4f) -> O {
        return O(vec4f(p.xy, 1.0, 2.0), vec4f(0.5, 0.25, 1.0, p.x));
    }";
    let vs = wgsl(Stage::Vertex, &format!("{WHOLE}@fragment fn f() {{}}"));
    let mut case = Case::of(vs, wgsl(Stage::Fragment, fs));
    // SRC1_COLOR and ZERO. source: Mesa, genxml (`3D_Color_Buffer_Blend_Factor`)
    case.change = &|d| d.blend = Some([9, 17]);
    let programs = case.programs();
    let p = case.draw(&programs, 0);
    for (k, x, y) in pixels() {
        let (x, y) = (x as f32 + 0.5, y as f32 + 0.5);
        let want = [x * 0.5, y * 0.25, 1.0, 2.0 * x];
        assert_eq!(p.colours[0][k].map(f32::from_bits), want, "{k}");
    }
}

#[test]
fn several_targets_and_discards() {
    let fs = "struct O { @location(0) a: vec4f, @location(1) b: vec4u, @location(2) c: vec4f }
    @fragment fn fs(@builtin(position) p: vec4f) -> O {
        if (((u32(p.x) ^ u32(p.y)) & 3u) == 1u) { discard; }
        return O(vec4f(p.xy, 0.25, p.x * p.x), vec4u(u32(p.x), u32(p.y) * 100u, 70000u, 3u), p);
    }";
    let mut case = Case::wgsl(&format!("{WHOLE}{fs}"));
    case.targets = vec![Format::Float, Format::Uint, Format::Float];
    case.clear = [7; 4];
    case.check();
}

#[test]
fn the_first_alpha_for_all_targets() {
    // Alpha to coverage takes it; without, the colours are the same.
    let fs = "struct O { @location(0) a: vec4f, @location(1) b: vec4f }
    @fragment fn fs(@builtin(position) p: vec4f) -> O { return O(p.xyxy, p.yxyx); }";
    let mut case = Case::wgsl(&format!("{WHOLE}{fs}"));
    case.targets = vec![Format::Float, Format::Float];
    case.state = FragmentState { replicate_alpha: true, ..FragmentState::default() };
    case.check();
}

#[test]
fn no_colour() {
    let fs = "@group(0) @binding(0) var<storage, read_write> b: array<u32>;
    @fragment fn fs(@builtin(position) p: vec4f) {
        if (p.x > 20.0) { discard; }
        b[u32(p.y) * 32u + u32(p.x)] = 5u;
    }";
    let vs = wgsl(Stage::Vertex, &format!("{WHOLE}@fragment fn f() {{}}"));
    let case = Case::of(vs, wgsl(Stage::Fragment, fs));
    let (b, p) = super::effects::draw(&case, 4 * 1024);
    for (k, x, _) in pixels() {
        assert_eq!(b[k], if x < 20 { 5 } else { 0 }, "{k}");
        assert_eq!(p.colours[0][k], [0; 4]);
    }
}

#[test]
fn a_target_without_the_first() {
    let fs = "@fragment fn fs(@builtin(position) p: vec4f) -> @location(2) vec4f { return p; }";
    let mut case = Case::wgsl(&format!("{WHOLE}{fs}"));
    case.targets = vec![Format::Float; 3];
    case.check();
}

#[test]
fn programs_say_what_they_do() {
    let fs = shader(Stage::Fragment, &fragment("if (colour.x > 0.5) discard; o = gl_FragCoord;"));
    let p = program(&fs, FragmentState::default(), 0);
    let StageInfo::Fragment(info) = &p.stage else { panic!("{:?}", p.stage) };
    assert!(info.kills && info.source_depth && info.source_w && !info.side_effects);
    assert_eq!((info.barycentrics, info.targets, info.inputs.len()), (1, 1, 1));
    assert!(!info.per_sample && !info.linear && !info.pulls_barycentrics);
}
