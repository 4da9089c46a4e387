//! Vertex outputs other than varyings: clip and cull distances, point sizes, layers.

use super::rig::{Case, Linking, machine, programs, programs_behind, shader, texel, wgsl};
use tepui_agx_bare::draw::Draw;
use tepui_agx_bare::shader::Bindings;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{Interface, Prolog};
use tepui_agx_compiler::{Options, Table, compile_as};
use tepui_format::Format::R32G32B32A32_SFLOAT;
use tepui_ir::{Attrs, Builtin, IoLoc, Shader, Stage};

/// Turns locations from 9 on into components of a built-in, which the GLSL front end does not have.
pub fn special(s: &mut Shader, b: Builtin) {
    for d in s.insts.values_mut() {
        if let Attrs::Io(slot) = &mut d.attrs
            && let IoLoc::Location(n @ 9..) = slot.loc
        {
            slot.loc = IoLoc::Builtin(b);
            slot.component = (n - 9) as u8;
        }
    }
    s.outputs.retain(|o| !matches!(o.slot.loc, IoLoc::Location(9..)));
    s.inputs.retain(|o| !matches!(o.slot.loc, IoLoc::Location(9..)));
}

/// Draws one triangle or point and returns the red channel of each pixel.
fn red(vs: &str, fs: &str, making: Linking, change: &dyn Fn(&mut Draw<'_>)) -> Vec<f32> {
    red_of(vs, fs, Builtin::ClipDistance, Prolog::default(), making, change)
}

/// [`red`] with locations from 9 on that are components of a built-in.
fn red_of(
    vs: &str,
    fs: &str,
    special_locations: Builtin,
    prolog: Prolog,
    making: Linking,
    change: &dyn Fn(&mut Draw<'_>),
) -> Vec<f32> {
    let (mut vs, mut fs) = (shader(Stage::Vertex, vs), shader(Stage::Fragment, fs));
    special(&mut vs, special_locations);
    special(&mut fs, special_locations);
    let tile = Tile::single(R32G32B32A32_SFLOAT);
    let (v, f) = programs_behind(&vs, &fs, &tile, &[], prolog, making);
    let none = Bindings::default();
    let mut d = Draw::triangles(&v, &f, &tile, [32; 2], &none);
    change(&mut d);
    let p = machine().draw(&d).unwrap_or_else(|e| {
        panic!("{e}\n{}\n{}", super::rig::listing(&v), super::rig::listing(&f))
    });
    p.colours[&0].chunks(16).map(|b| f32::from_bits(texel(R32G32B32A32_SFLOAT, b)[0])).collect()
}

const ONE: &str = "#version 450
layout(location = 0) out vec4 o;
void main() { o = vec4(1.0); }";

#[test]
fn clip_distances_cut_and_are_read() {
    let vs = "#version 450
    layout(location = 9) out float clip0;
    layout(location = 10) out float clip1;
    layout(location = 3) out float other;
    void main() {
        vec2 p = vec2(float(gl_VertexIndex & 1) * 4.0 - 1.0, float(gl_VertexIndex >> 1) * 4.0 - 1.0);
        gl_Position = vec4(p, 0.5, 1.0);
        clip0 = p.x;
        clip1 = 0.5 - p.y;
        other = p.y;
    }";
    let fs = "#version 450
    layout(location = 3) in float other;
    layout(location = 9) in float clip0;
    layout(location = 0) out vec4 o;
    void main() { o = vec4(2.0 + other + clip0, other, 0.0, 1.0); }";
    for making in [Linking::Monolithic, Linking::Separate] {
        let got = red(vs, fs, making, &|_| {});
        for (k, &v) in got.iter().enumerate() {
            let (x, y) = ((k % 32) as f32 + 0.5, (k / 32) as f32 + 0.5);
            let (cx, cy) = (x / 16.0 - 1.0, y / 16.0 - 1.0);
            let want = if cx > 0.0 && cy < 0.5 { 2.0 + cy + cx } else { 0.0 };
            assert!((v - want).abs() < 1e-4, "{making:?} {x} {y}: {v}, not {want}");
        }
    }
}

#[test]
fn the_vertex_store_has_everything_in_order() {
    let vs = "#version 450
    layout(location = 9) out float clip;
    layout(location = 0) out vec2 a;
    layout(location = 1) flat out uint b;
    layout(location = 2) out vec3 c;
    void main() {
        float x = float(gl_VertexIndex & 1) * 4.0 - 1.25;
        float y = float(gl_VertexIndex >> 1) * 4.0 - 1.5;
        gl_Position = vec4(x, y, 0.5, 1.0);
        gl_PointSize = 1.0;
        clip = 1.0;
        a = vec2(x, y); b = 77u; c = vec3(y, x, 5.0);
    }";
    let fs = "#version 450
    layout(location = 2) in vec3 c;
    layout(location = 1) flat in uint b;
    layout(location = 0) in vec2 a;
    layout(location = 0) out vec4 o;
    void main() { o = vec4(a.y, float(b), c.z, c.x * a.x); }";
    let mut case = Case::new(vs, fs, R32G32B32A32_SFLOAT);
    special(&mut case.vs, Builtin::ClipDistance);
    case.check();
}

#[test]
fn points_have_sizes_and_coordinates() {
    let vs = "#version 450
    void main() { gl_Position = vec4(0.0, 0.0, 0.5, 1.0); gl_PointSize = 16.0; }";
    let fs = "#version 450
    layout(location = 0) out vec4 o;
    void main() { o = vec4(1.0 + gl_PointCoord.x + 2.0 * gl_PointCoord.y, 0.0, 0.0, 0.0); }";
    for making in [Linking::Monolithic, Linking::Separate] {
        let got = red(vs, fs, making, &|d| {
            d.primitive = tepui_agx_packets::vdm::Primitive::Points;
            d.vertices = 1;
        });
        for (k, &v) in got.iter().enumerate() {
            let (x, y) = ((k % 32) as f32 + 0.5, (k / 32) as f32 + 0.5);
            let (px, py) = ((x - 8.0) / 16.0, (y - 8.0) / 16.0);
            let inside = (0.0..1.0).contains(&px) && (0.0..1.0).contains(&py);
            let want = if inside { 1.0 + px + 2.0 * py } else { 0.0 };
            assert!((v - want).abs() < 1e-4, "{making:?} {x} {y}: {v}, not {want}");
        }
    }
}

#[test]
fn a_vertex_without_outputs_for_the_fragments() {
    let vs = "#version 450
    void main() {
        gl_Position = vec4(float(gl_VertexIndex & 1) * 4.0 - 1.0, float(gl_VertexIndex >> 1) * 4.0 - 1.0, 0.5, 1.0);
    }";
    for making in [Linking::Monolithic, Linking::Separate] {
        assert!(red(vs, ONE, making, &|_| {}).iter().all(|&v| v == 1.0), "{making:?}");
    }
}

#[test]
fn spilled_programs_draw_the_same() {
    // More values alive than a thread has registers.
    let mut body = String::from("float v[150];\n");
    for k in 0..150 {
        body += &format!("v[{k}] = sin(gl_FragCoord.x * {k}.5) + gl_FragCoord.y;\n");
    }
    body += "float s = 0.0;\n";
    for k in (0..150).rev() {
        body += &format!("s = s * 0.5 + v[{k}] * v[{}];\n", (k * 7) % 150);
    }
    let fs = super::basics::fragment(&format!("{body} o = vec4(s, colour.xyz);"));
    let mut case = Case::new(super::basics::VERTEX, &fs, R32G32B32A32_SFLOAT);
    case.tolerance = 1e-3;
    case.check();
}

#[test]
fn cull_distances_end_whole_primitives() {
    // Two triangles side by side; of the first all vertices are on the wrong side, of the second
    // only two.
    let vs = "#version 450
    layout(location = 9) out float cull;
    layout(location = 0) out float a;
    void main() {
        int n = int(gl_VertexIndex) % 3;
        int t = int(gl_VertexIndex) / 3;
        float x = float(n & 1) - 1.0 + float(t);
        float y = float(n >> 1) * 2.0 - 1.0;
        gl_Position = vec4(x, y, 0.5, 1.0);
        cull = t == 1 && n == 2 ? 1.0 : -1.0;
        a = 1.0;
    }";
    let fs = "#version 450
    layout(location = 0) in float a;
    layout(location = 0) out vec4 o;
    void main() { o = vec4(a); }";
    let prolog = Prolog { killed: 0, cull_distances: 1 };
    for making in [Linking::Monolithic, Linking::Separate] {
        let got = red_of(vs, fs, Builtin::CullDistance, prolog, making, &|d| d.vertices = 6);
        let count = |left: bool| {
            got.iter().enumerate().filter(|(k, v)| (k % 32 < 16) == left && **v == 1.0).count()
        };
        assert_eq!(count(true), 0, "{making:?}");
        assert!(count(false) > 200, "{making:?}: {}", count(false));
    }
}

#[test]
fn the_states_sample_mask_kills() {
    let vs = "#version 450
    void main() {
        gl_Position = vec4(float(gl_VertexIndex & 1) * 4.0 - 1.0, float(gl_VertexIndex >> 1) * 4.0 - 1.0, 0.5, 1.0);
    }";
    for making in [Linking::Monolithic, Linking::Separate] {
        for (killed, want) in [(0b1110, 1.0), (0b0001, 0.0)] {
            let prolog = Prolog { killed, cull_distances: 0 };
            let got = red_of(vs, ONE, Builtin::ClipDistance, prolog, making, &|_| {});
            assert!(got.iter().all(|&v| v == want), "{making:?} {killed:04b}");
        }
    }
}

#[test]
fn primitives_are_numbered() {
    let module = "
    @vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        let k = n % 3u;
        let x = f32(k & 1u) * 0.5 - 1.0 + 0.5 * f32(n / 3u);
        return vec4f(x, f32(k >> 1u) * 2.0 - 1.0, 0.5, 1.0);
    }
    @fragment fn fs(@builtin(primitive_index) p: u32) -> @location(0) vec4f {
        return vec4f(f32(p) + 1.0);
    }";
    let mut case = Case::wgsl(module, R32G32B32A32_SFLOAT);
    case.change = &|d| d.vertices = 12;
    for making in [Linking::Monolithic, Linking::Separate] {
        let (p, ..) = case.draw(making);
        for n in 0..4usize {
            // A pixel near the lower left of each.
            let at = (2 * 32 + 8 * n + 1) * 16;
            let v = f32::from_bits(texel(R32G32B32A32_SFLOAT, &p.colours[&0][at..])[0]);
            assert_eq!(v, n as f32 + 1.0, "{making:?}");
        }
    }
}

/// OpenGL's one colour for all targets is left in registers once; a target that there is not costs nothing.
#[test]
fn a_colour_of_several_locations_has_registers_once() {
    let source = "
    struct O { @location(1) a: vec4f, @location(2) b: vec4f, @location(4) c: vec4f }
    @vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        return vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0);
    }
    @fragment fn fs(@builtin(position) at: vec4f) -> O {
        return O(at, at.yxzw, at);
    }";
    let (vs, fs) = (wgsl(Stage::Vertex, source), wgsl(Stage::Fragment, source));
    let main = compile_as(
        &mut fs.clone(),
        &Options::default(),
        &Interface::main(Stage::Fragment),
        &mut |_, _| {},
    )
    .expect("the shader");
    let Table::Fragment(table) = &main.table else { panic!("{:?}", main.table) };
    assert_eq!([table.colours, table.copies], [0b10110, 0b10000]);
    let mut tile = Tile::single(R32G32B32A32_SFLOAT);
    tile.formats = std::array::from_fn(|n| matches!(n, 2 | 4).then_some(R32G32B32A32_SFLOAT));
    for making in [Linking::Monolithic, Linking::Separate] {
        let (v, f) = programs(&vs, &fs, &tile, &[], making);
        let none = Bindings::default();
        let d = Draw::triangles(&v, &f, &tile, [32; 2], &none);
        let p = machine().draw(&d).unwrap_or_else(|e| panic!("{e}\n{}", super::rig::listing(&f)));
        let at = |n: u8| {
            let t = texel(R32G32B32A32_SFLOAT, &p.colours[&n][16 * (32 * 5 + 9)..]);
            [0, 1].map(|k: usize| f32::from_bits(t[k]))
        };
        assert_eq!([at(2), at(4)], [[5.5, 9.5], [9.5, 5.5]], "{making:?}");
    }
}
