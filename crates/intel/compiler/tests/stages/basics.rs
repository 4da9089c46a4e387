//! One triangle, several ways to colour it.

use std::sync::LazyLock;

use super::rig::{Case, SIDE};
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::Format;

/// A triangle over most of the picture, with perspective and a varying.
pub const VERTEX: &str = "#version 450
layout(location = 0) out vec4 colour;
void main() {
    float x = float(gl_VertexIndex & 1) * 4.0 - 1.25;
    float y = float(gl_VertexIndex >> 1) * 4.0 - 1.5;
    float w = 1.0 + float(gl_VertexIndex) * 0.5;
    colour = vec4(x * 0.25, y * 0.25, w, 1.0 - x * 0.125);
    gl_Position = vec4(x * w, y * w, 0.25 * w, w);
}";

/// A fragment shader of [`VERTEX`] with this body.
pub fn fragment(body: &str) -> String {
    format!(
        "#version 450
layout(location = 0) in vec4 colour;
layout(location = 0) out vec4 o;
void main() {{ {body} }}"
    )
}

#[test]
fn a_smooth_varying_reaches_the_picture() {
    let fs = fragment("o = colour;");
    Case::new(VERTEX, &fs).check();
}

#[test]
fn parts_of_varyings_are_read() {
    for body in ["o = vec4(colour.w, colour.y, 0.0, 1.0);", "o = colour.zzxx * colour.y;"] {
        Case::new(VERTEX, &fragment(body)).check();
    }
}

#[test]
fn push_constants_at_run_time() {
    static BINDINGS: LazyLock<Bindings> = LazyLock::new(|| {
        let push = (1..=16u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        Bindings { push, ..Bindings::default() }
    });
    let fs = "#version 450
layout(push_constant) uniform Push { vec4 rows[4]; };
layout(location = 0) out vec4 o;
void main() { o = rows[int(gl_FragCoord.x) & 3]; }";
    let mut case = Case::new(VERTEX, fs);
    case.change = &|d| d.fragment_bindings = &BINDINGS;
    let programs = case.programs();
    for width in programs[1].variants.iter().map(|v| v.width) {
        let picture = case.draw(&programs, width);
        let mut drawn = 0;
        for (k, got) in (0u32..).zip(&picture.colours[0]) {
            let first = ((k % SIDE) & 3) as f32 * 4.0;
            let want = [1.0, 2.0, 3.0, 4.0].map(|n| (first + n).to_bits());
            assert!([[0; 4], want].contains(got), "{width}: {k}: {got:x?}");
            drawn += u32::from(*got == want);
        }
        assert!(drawn > SIDE * SIDE / 4, "{drawn}");
    }
}

#[test]
fn arithmetic_loops_and_branches() {
    let body = "vec4 c = colour;
        for (int i = 0; i < 6; i++) {
            if (c.x + c.y > 0.25) { c.x -= 0.125; } else { c.y += 0.25; continue; }
            c.z = sqrt(abs(c.z)) + float(i);
        }
        o = c;";
    Case::new(VERTEX, &fragment(body)).check();
}

#[test]
fn derivatives_of_quads() {
    // Coarse or fine is the GPU's choice where a value is not linear; these are.
    let body = "vec4 a = vec4(gl_FragCoord.xy, gl_FragCoord.x * 3.0 - gl_FragCoord.y, 1.0);
        o = vec4(dFdx(a.x), dFdy(a.z), dFdx(a.z) + dFdy(a.x), fwidth(a.y));";
    Case::new(VERTEX, &fragment(body)).check();
}

#[test]
fn the_place_of_a_fragment() {
    let body = "o = gl_FragCoord;";
    Case::new(VERTEX, &fragment(body)).check();
    let body = "o = vec4(gl_FragCoord.yx, gl_FragCoord.w * colour.x, gl_FragCoord.z);";
    Case::new(VERTEX, &fragment(body)).check();
}

#[test]
fn flat_linear_and_smooth_at_once() {
    let module = "
    struct V {
        @builtin(position) at: vec4f,
        @location(1) @interpolate(flat, first) id: vec2u,
        @location(3) @interpolate(linear) line: vec3f,
        @location(0) smoothly: f32,
        @location(7) @interpolate(flat, first) sign: i32,
        @location(2) @interpolate(perspective, centroid) cent: vec2f,
    }
    @vertex fn vs(@builtin(vertex_index) n: u32) -> V {
        var v: V;
        let x = f32(n & 1u) * 4.0 - 1.25;
        let y = f32(n >> 1u) * 4.0 - 1.5;
        let w = 1.0 + f32(n) * 0.5;
        v.at = vec4f(x * w, y * w, 0.25 * w, w);
        v.id = vec2u(n * 7u + 3u, 0x80000001u + n);
        v.line = vec3f(x, y, w);
        v.smoothly = x * y;
        v.sign = -5 - i32(n);
        v.cent = vec2f(w, x);
        return v;
    }";
    let float = "@fragment fn fs(v: V) -> @location(0) vec4f {
        return vec4f(v.line.xy, v.smoothly + v.line.z, v.cent.x * v.cent.y + f32(v.sign));
    }";
    Case::wgsl(&format!("{module}{float}")).check();
    let uint = "@fragment fn fs(v: V) -> @location(0) vec4u {
        return vec4u(v.id, u32(v.line.x > 0.0), u32(v.sign));
    }";
    let mut case = Case::wgsl(&format!("{module}{uint}"));
    case.targets = vec![Format::Uint];
    case.check();
    let sint = "@fragment fn fs(v: V) -> @location(0) vec4i {
        return vec4i(v.sign, i32(v.id.y), -1, select(3, -3, v.smoothly > 0.1));
    }";
    let mut case = Case::wgsl(&format!("{module}{sint}"));
    case.targets = vec![Format::Sint];
    case.check();
}

#[test]
fn front_and_back() {
    for swap in ["n", "2u - n"] {
        let module = format!(
            "@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {{
                let k = {swap};
                return vec4f(f32(k & 1u) * 4.0 - 1.0, f32(k >> 1u) * 4.0 - 1.0, 0.5, 1.0);
            }}
            @fragment fn fs(@builtin(front_facing) front: bool) -> @location(0) vec4f {{
                return select(vec4f(0.25), vec4f(1.0, 2.0, 3.0, 4.0), front);
            }}"
        );
        Case::wgsl(&module).check();
    }
}

#[test]
fn killed_fragments_leave_what_was_there() {
    for body in [
        "if (colour.x + colour.y > 0.1) discard; o = colour;",
        "o = colour; if (fract(gl_FragCoord.x * 0.25) > 0.5) { if (colour.z > 1.2) discard; o.x = 9.0; }",
        "float s = 0.0;
         for (int i = 0; i < 8; i++) { s += colour.z; if (s > 6.0) { if (colour.y < 0.0) discard; break; } }
         o = vec4(s, colour.wxy);",
        "if (colour.x > 0.0) discard; vec4 c = colour * 2.0; if (c.y > 0.3) discard; o = c;",
    ] {
        let mut case = Case::new(VERTEX, &fragment(body));
        case.clear = [0.5f32, -2.0, 7.0, 1.0].map(f32::to_bits);
        case.check();
    }
}

#[test]
fn several_targets() {
    let module = "
    struct O { @location(0) a: vec4f, @location(2) b: vec4u, @location(3) c: vec2f }
    @vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        return vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0);
    }
    @fragment fn fs(@builtin(position) p: vec4f) -> O {
        var o: O;
        o.a = vec4f(p.xy / 32.0, 0.25, 1.0);
        o.b = vec4u(u32(p.x), u32(p.y) * 100u, 70000u, 3u);
        o.c = p.yx;
        return o;
    }";
    let mut case = Case::wgsl(module);
    case.targets = vec![Format::Float, Format::Float, Format::Uint, Format::Float];
    case.check();
}
