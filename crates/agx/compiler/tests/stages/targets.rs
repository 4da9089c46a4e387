//! Destinations of primitives: layers, viewports, views; and attachments that are read while they are
//! drawn to.

use super::outputs::special;
use super::rig::{Case, Linking, listing, machine, programs, shader, texel, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::pair::Pair;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::{Program, abi};
use tepui_format::Format::{R16_UINT, R32G32B32A32_SFLOAT};
use tepui_ir::{Attrs, Builtin, Dim, IoLoc, Op, ResKind, Shader, Stage, TexOperands};

/// Three triangles, each the upper left half of its viewport; location 9 is where each goes.
const VERTEX: &str = "#version 450
layout(location = 0) flat out int triangle;
layout(location = 9) flat out int place;
void main() {
    int n = int(gl_VertexIndex) % 3;
    triangle = int(gl_VertexIndex) / 3;
    place = 2 - triangle;
    gl_Position = vec4(float(n & 1) * 2.0 - 1.0, float(n >> 1) * 2.0 - 1.0, 0.5, 1.0);
}";
/// Both numbers in the picture.
const FRAGMENT: &str = "#version 450
layout(location = 0) flat in int triangle;
layout(location = 9) flat in int place;
layout(location = 0) out vec4 o;
void main() { o = vec4(float(triangle), float(place), 0.0, 1.0); }";

/// Turns inputs at location 9 into a built-in.
fn read_builtin(s: &mut Shader, b: Builtin) {
    for i in s.insts.keys().collect::<Vec<_>>() {
        if let (Op::LoadInput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs)
            && slot.loc == IoLoc::Location(9)
        {
            s.insts[i].op = Op::LoadBuiltin;
            s.insts[i].attrs = Attrs::Builtin(b);
            s.set_args(i, &[]);
        }
    }
    s.inputs.retain(|o| o.slot.loc != IoLoc::Location(9));
}

/// Draws and returns the pixels.
fn picture(v: &Program, f: &Program, tile: &Tile, change: &dyn Fn(&mut Draw<'_>)) -> Vec<[f32; 4]> {
    let none = Bindings::default();
    let mut d = Draw::triangles(v, f, tile, [32; 2], &none);
    change(&mut d);
    let p = machine().draw(&d).unwrap_or_else(|e| panic!("{e}\n{}\n{}", listing(v), listing(f)));
    p.colours[&0]
        .chunks(16)
        .map(|b| {
            let t = texel(R32G32B32A32_SFLOAT, b);
            [0, 1, 2, 3].map(|k: usize| f32::from_bits(t[k]))
        })
        .collect()
}

fn placed(b: Builtin, making: Linking, change: &dyn Fn(&mut Draw<'_>)) -> Vec<[f32; 4]> {
    let (mut vs, mut fs) = (shader(Stage::Vertex, VERTEX), shader(Stage::Fragment, FRAGMENT));
    special(&mut vs, b);
    read_builtin(&mut fs, b);
    let tile = Tile::single(R32G32B32A32_SFLOAT);
    let (v, f) = programs(&vs, &fs, &tile, &[], making);
    picture(&v, &f, &tile, &|d| {
        d.vertices = 9;
        change(d);
    })
}

/// A pixel of the triangle that went to a place, by where it is in its viewport.
fn check(got: [f32; 4], place: f32, [x, y]: [f32; 2], making: Linking) {
    let want = [2.0 - place, place, 0.0, 1.0];
    match x + y {
        d if d < 0.8 => assert_eq!(got, want, "{making:?} {place}: {x} {y}"),
        d if d > 1.0 => assert_eq!(got, [0.0; 4], "{making:?} {place}: {x} {y}"),
        _ => {}
    }
}

#[test]
fn each_triangle_in_its_layer() {
    for making in [Linking::Monolithic, Linking::Separate] {
        let got = placed(Builtin::Layer, making, &|d| d.layers = 3);
        for (k, &p) in got.iter().enumerate() {
            let layer = (k / 1024) as f32;
            check(p, layer, [(k % 32) as f32 / 32.0, (k / 32 % 32) as f32 / 32.0], making);
        }
        assert_eq!(got.len(), 3 * 1024);
    }
}

#[test]
fn each_triangle_in_its_viewport() {
    for making in [Linking::Monolithic, Linking::Separate] {
        let got = placed(Builtin::ViewportIndex, making, &|d| {
            d.viewports =
                vec![[0.0, 0.0, 8.0, 32.0], [8.0, 0.0, 8.0, 32.0], [16.0, 0.0, 16.0, 32.0]];
        });
        for (k, &p) in got.iter().enumerate() {
            let viewport = (k % 32 / 8).min(2);
            let (left, width) = [(0, 8), (8, 8), (16, 16)][viewport];
            let x = (k % 32 - left) as f32 / width as f32;
            check(p, viewport as f32, [x, (k / 32) as f32 / 32.0], making);
        }
    }
}

#[test]
fn each_view_in_its_layer() {
    let source = "
    struct V { @builtin(position) at: vec4f, @location(0) @interpolate(flat, first) which: i32 }
    @vertex fn vs(@builtin(vertex_index) n: u32, @builtin(view_index) view: i32) -> V {
        return V(vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0), view);
    }
    @fragment fn fs(v: V, @builtin(view_index) view: i32) -> @location(0) vec4f {
        return vec4f(f32(v.which) + 1.0, f32(view) + 1.0, 0.0, 1.0);
    }";
    let (vs, fs) = (wgsl(Stage::Vertex, source), wgsl(Stage::Fragment, source));
    let tile = Tile::single(R32G32B32A32_SFLOAT);
    let prolog = abi::Prolog::default();
    let pair = Pair {
        vertex: &vs,
        fragment: &fs,
        tile: &tile,
        attributes: &[],
        prolog,
        beyond: abi::Beyond::First,
        multiview: true,
    };
    for making in [Linking::Monolithic, Linking::Separate] {
        let (v, f) = pair.programs(making).unwrap_or_else(|e| panic!("{e}"));
        for view in 0..2u16 {
            let got = picture(&v, &f, &tile, &|d| (d.layers, d.view) = (2, view));
            for (k, &p) in got.iter().enumerate() {
                let n = f32::from(view) + 1.0;
                let want = if k / 1024 == usize::from(view) { [n, n, 0.0, 1.0] } else { [0.0; 4] };
                assert_eq!(p, want, "{making:?} view {view}: {k}");
            }
        }
    }
}

/// Turns the texture of a shader into an input attachment, and its loads into those of the
/// fragment's own pixel.
fn attached(s: &mut Shader, index: u32) {
    for r in s.resources.values_mut() {
        (r.kind, r.dim, r.input_attachment) = (ResKind::InputAttachment, Dim::Subpass, index);
    }
    for i in s.insts.keys().collect::<Vec<_>>() {
        if let (Op::TexFetch, Attrs::Image(mut image)) = (s.insts[i].op, s.insts[i].attrs) {
            (image.dim, image.operands) = (Dim::Subpass, TexOperands::empty());
            s.insts[i].op = Op::ImageLoad;
            s.insts[i].attrs = Attrs::Image(image);
            let args = s.args(i)[..2].to_vec();
            s.set_args(i, &args);
        }
    }
    tepui_ir::validate(s).unwrap_or_else(|e| panic!("{e}\n{s}"));
}

const QUAD: &str = "
@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
    let k = n % 3u;
    return vec4f(f32(k & 1u) * 4.0 - 1.0, f32(k >> 1u) * 4.0 - 1.0, 0.5, 1.0);
}";

#[test]
fn an_attachment_is_read_from_the_tile() {
    let source = format!(
        "{QUAD}
        @group(0) @binding(0) var t: texture_2d<f32>;
        @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {{
            return textureLoad(t, vec2i(p.xy), 0) * 2.0 + vec4f(p.x, 0.0, 0.0, 1.0);
        }}"
    );
    let mut case = Case::wgsl(&source, R32G32B32A32_SFLOAT);
    attached(&mut case.fs, 1);
    case.tile.attachments[1] = Some(0);
    let (v, f) = programs(&case.vs, &case.fs, &case.tile, &[], Linking::Monolithic);
    assert!(f.textures.is_empty() && f.uniforms.is_empty(), "the tile is all that is needed");
    // Two triangles over each other: the second reads what the first wrote.
    let got = picture(&v, &f, &case.tile, &|d| {
        (d.vertices, d.clear) = (6, [0.5f32, 0.25, 0.0, 3.0].map(f32::to_bits));
    });
    for (k, p) in got.iter().enumerate() {
        let x = (k % 32) as f32 + 0.5;
        assert_eq!(*p, [2.0 + 3.0 * x, 1.0, 0.0, 15.0], "{k}");
    }
}

#[test]
fn an_attachment_of_another_target_and_type() {
    let source = format!(
        "{QUAD}
        struct O {{ @location(0) a: vec4f, @location(1) b: u32 }}
        @group(0) @binding(0) var t: texture_2d<u32>;
        @fragment fn fs(@builtin(position) p: vec4f) -> O {{
            let old = textureLoad(t, vec2i(p.xy), 0);
            return O(vec4f(old), old.x + 1u);
        }}"
    );
    let mut case = Case::wgsl(&source, R32G32B32A32_SFLOAT);
    attached(&mut case.fs, 0);
    case.tile.formats[1] = Some(R16_UINT);
    case.tile.attachments[0] = Some(1);
    let (v, f) = programs(&case.vs, &case.fs, &case.tile, &[], Linking::Monolithic);
    let got = picture(&v, &f, &case.tile, &|d| (d.vertices, d.clear) = (9, [7, 0, 0, 0]));
    assert!(got.iter().all(|p| *p == [9.0, 0.0, 0.0, 1.0]), "{:?}", got[0]);
}
