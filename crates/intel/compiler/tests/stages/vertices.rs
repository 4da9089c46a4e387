//! Vertex shaders: elements, numbers of the draw, outputs that fixed functions take.

use super::rig::{Case, SIDE, compiled, machine, wgsl};
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::{Attribute, Draw, Format, POINTS};
use tepui_intel_compiler::{Options, Program, StageInfo, stage::VertexElement};
use tepui_ir::Stage;

fn ir(text: &str) -> tepui_ir::Shader {
    tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// A fragment shader that writes its input at location 0, which is flat.
const FLAT: &str = "@fragment fn fs(@location(0) @interpolate(flat, first) v: vec4u)
    -> @location(0) vec4u { return v; }";

#[test]
fn attributes_and_numbers_of_the_draw() {
    let vs = "shader vertex \"main\" {
  input [location 2 component 0 float flat center] b32x4 count 1 \"\"
  input [location 7 component 1 uint flat center] b32x2 count 1 \"\"
  output [builtin position component 0 float smooth center] b32x4 count 1 \"\"
  output [location 0 component 0 uint flat center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32x4 = load_input[location 2 component 0 float flat center] %0
    %2:b32x2 = load_input[location 7 component 1 uint flat center] %0
    %3:b32 = load_builtin[vertex_index]
    %4:b32 = load_builtin[instance_index]
    %5:b32 = load_builtin[base_instance]
    %6:b32 = load_builtin[draw_index]
    %7:b32 = load_builtin[base_vertex]
    %8:b32 = extract[0] %2
    %9:b32 = extract[1] %2
    %10:b32 = const[0x64]
    %11:b32 = imul %3, %10
    %12:b32 = iadd %11, %4
    %13:b32 = imul %5, %10
    %14:b32 = iadd %13, %6
    %15:b32 = imul %14, %10
    %16:b32 = iadd %15, %7
    %17:b32x4 = vec %12, %16, %8, %9
    store_output[builtin position component 0 float smooth center] %1, %0
    store_output[location 0 component 0 uint flat center] %17, %0
    yield
  }
}
";
    let mut case = Case::of(ir(vs), wgsl(Stage::Fragment, FLAT));
    case.targets = vec![Format::Uint];
    for pack_elements in [false, true] {
        let options = Options { pack_elements, ..Options::default() };
        let programs = [&case.vs, &case.fs].map(|s| compiled(s, options));
        attributes_of(&programs, pack_elements);
    }
}

fn attributes_of(programs: &[Program; 2], packed: bool) {
    let corners = [[-1.0f32, -1.0], [3.0, -1.0], [-1.0, 3.0]];
    let StageInfo::Vertex(info) = &programs[0].stage else { panic!() };
    // Of the attribute at location 7 there are two components.
    assert_eq!((info.packed, info.registers()), (packed, if packed { 11 } else { 16 }));
    let want = [
        VertexElement::Attribute(2),
        VertexElement::Attribute(7),
        VertexElement::Ids {
            first_vertex: true,
            first_instance: true,
            vertex: true,
            instance: true,
        },
        VertexElement::DrawIndex,
    ];
    assert_eq!(info.elements, want);
    let none = Bindings::default();
    let mut d = Draw::triangle(&programs[0], &programs[1], [SIDE; 2], &none);
    d.targets = vec![Format::Uint];
    d.vertices = [2, 3];
    d.instances = [5, 2];
    d.draw_index = 9;
    let mut places = vec![[0; 4]; 2];
    places.extend(corners.map(|[x, y]| [x, y, 0.5, 1.0].map(f32::to_bits)));
    d.attributes = vec![
        Attribute { location: 7, values: (0..5).map(|k| [1, 10 + k, 20 + k, 2]).collect() },
        Attribute { location: 2, values: places },
    ];
    let p = machine().draw(&d).unwrap_or_else(|e| panic!("{e}"));
    assert!(p.stats.reports.is_empty(), "{:?}", p.stats.reports);
    // The second instance lies over the first one.
    assert_eq!(p.colours[0][33], [2 * 100 + 6, (5 * 100 + 9) * 100 + 2, 12, 22]);
}

#[test]
fn many_varyings() {
    // More than setup can move: the last ones are where the entry has them.
    for (count, first) in [(16, 0), (20, 3), (28, 1)] {
        let mut fields = String::new();
        let (mut stores, mut sum) = (String::new(), String::new());
        for k in first..first + count {
            fields += &format!("@location({k}) a{k}: vec2f,\n");
            stores += &format!("v.a{k} = vec2f(x * {k}.0, y + {k}.0);\n");
            sum += &format!(" + v.a{k} * {}.0", k % 5 + 1);
        }
        let module = format!(
            "struct V {{ @builtin(position) at: vec4f, {fields} }}
            @vertex fn vs(@builtin(vertex_index) n: u32) -> V {{
                var v: V;
                let x = f32(n & 1u) * 4.0 - 1.25;
                let y = f32(n >> 1u) * 4.0 - 1.5;
                v.at = vec4f(x, y, 0.5, 1.0);
                {stores}
                return v;
            }}
            @fragment fn fs(v: V) -> @location(0) vec4f {{
                return vec4f((vec2f(0.0){sum}) / 64.0, v.a{first}.y, v.a{}.x);
            }}",
            first + count - 1
        );
        Case::wgsl(&module).check();
    }
}

#[test]
fn clip_and_cull_distances() {
    let draw = |clip: &str, cull: &str| {
        let text = ir_distances(clip, cull);
        let fs = "@fragment fn fs() -> @location(0) vec4f { return vec4f(1.0); }";
        let case = Case::of(ir(&text), wgsl(Stage::Fragment, fs));
        let programs = case.programs();
        case.draw(&programs, 0).colours[0].iter().filter(|c| **c != [0; 4]).count() as u32
    };
    // Constants: one, minus one; the X coordinate of the position.
    assert_eq!(draw("%one", "%one"), SIDE * SIDE);
    assert_eq!(draw("%x", "%one"), SIDE * SIDE / 2);
    assert_eq!(draw("%one", "%minus"), 0);
    // A primitive with a distance on the inside is not culled.
    assert_eq!(draw("%one", "%x"), SIDE * SIDE);
}

/// A vertex shader with two clip distances and a cull distance.
fn ir_distances(clip: &str, cull: &str) -> String {
    let name = |v: &str| match v {
        "%one" => "%1",
        "%minus" => "%2",
        _ => "%12",
    };
    format!(
        "shader vertex \"main\" {{
  output [builtin position component 0 float smooth center] b32x4 count 1 \"\"
  body {{
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32 = const[0xbf800000]
    %3:b32 = const[0x1]
    %4:b32 = const[0x40800000]
    %5:b32 = const[0x3f000000]
    %6:b32 = load_builtin[vertex_index]
    %7:b32 = iand %6, %3
    %8:b32 = ushr %6, %3
    %9:b32 = u2f %7
    %10:b32 = u2f %8
    %11:b32 = fmul %9, %4
    %12:b32 = fadd %11, %2
    %13:b32 = fmul %10, %4
    %14:b32 = fadd %13, %2
    %15:b32x4 = vec %12, %14, %5, %1
    store_output[builtin position component 0 float smooth center] %15, %0
    store_output[builtin clip_distance component 0 float smooth center] %1, %0
    store_output[builtin clip_distance component 1 float smooth center] {}, %0
    store_output[builtin cull_distance component 0 float smooth center] {}, %0
    yield
  }}
}}
",
        name(clip),
        name(cull)
    )
}

#[test]
fn fragments_read_distances() {
    let fs = "shader fragment \"main\" {
  output [location 0 component 0 float smooth center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = load_input[builtin clip_distance component 1 float smooth center] %0
    %2:b32 = load_input[builtin cull_distance component 0 float smooth center] %0
    %3:b32x4 = load_builtin[frag_coord]
    %4:b32 = extract[0] %3
    %5:b32x4 = vec %1, %2, %4, %4
    store_output[location 0 component 0 float smooth center] %5, %0
    yield
  }
}
";
    let case = Case::of(ir(&ir_distances("%x", "%one")), ir(fs));
    let programs = case.programs();
    for width in [8, 16] {
        let p = case.draw(&programs, width);
        let mut seen = 0;
        for c in p.colours[0].iter().filter(|c| **c != [0; 4]) {
            let [clip, cull, x, _] = c.map(f32::from_bits);
            assert!(
                (clip - (x / 16.0 - 1.0)).abs() < 1e-4 && (cull - 1.0).abs() < 1e-5,
                "{clip} {cull} {x}"
            );
            seen += 1;
        }
        assert_eq!(seen, SIDE * SIDE / 2);
    }
}

#[test]
fn points_with_sizes_and_coordinates() {
    let vs = "shader vertex \"main\" {
  output [builtin position component 0 float smooth center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32 = const[0x41000000]
    %3:b32 = const[0x3f000000]
    %4:b32x4 = vec %0, %0, %3, %1
    store_output[builtin position component 0 float smooth center] %4, %0
    store_output[builtin point_size component 0 float smooth center] %2, %0
    yield
  }
}
";
    let fs = "shader fragment \"main\" {
  output [location 0 component 0 float smooth center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32x2 = load_builtin[point_coord]
    %3:b32 = extract[0] %2
    %4:b32 = extract[1] %2
    %5:b32x4 = vec %3, %4, %1, %1
    store_output[location 0 component 0 float smooth center] %5, %0
    yield
  }
}
";
    let mut case = Case::of(ir(vs), ir(fs));
    case.change = &|d| {
        d.topology = POINTS;
        d.vertices = [0, 1];
    };
    let programs = case.programs();
    for width in [8, 16] {
        let p = case.draw(&programs, width);
        for k in 0..SIDE * SIDE {
            let (x, y) = (k % SIDE, k / SIDE);
            let inside = (12..20).contains(&x) && (12..20).contains(&y);
            let at = |v: u32| (v as f32 + 0.5 - 12.0) / 8.0;
            let want = if inside { [at(x), at(y), 1.0, 1.0] } else { [0.0; 4] };
            for (g, w) in p.colours[0][k as usize].map(f32::from_bits).into_iter().zip(want) {
                assert!((g - w).abs() < 1e-5, "{width}: {x} {y}: {g}, not {w}");
            }
        }
    }
}

#[test]
fn layers_viewports_and_numbers_of_primitives() {
    let vs = "shader vertex \"main\" {
  output [builtin position component 0 float smooth center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32 = const[0xbf800000]
    %3:b32 = const[0x1]
    %4:b32 = const[0x40800000]
    %6:b32 = load_builtin[vertex_index]
    %15:b32 = const[0x3]
    %16:b32 = umod %6, %15
    %7:b32 = iand %16, %3
    %8:b32 = ushr %16, %3
    %9:b32 = u2f %7
    %10:b32 = u2f %8
    %11:b32 = fmul %9, %4
    %12:b32 = fadd %11, %2
    %13:b32 = fmul %10, %4
    %14:b32 = fadd %13, %2
    %17:b32x4 = vec %12, %14, %0, %1
    %18:b32 = load_builtin[instance_index]
    store_output[builtin position component 0 float smooth center] %17, %0
    store_output[builtin layer component 0 uint flat center] %18, %0
    store_output[builtin viewport_index component 0 uint flat center] %18, %0
    yield
  }
}
";
    let fs = "shader fragment \"main\" {
  output [location 0 component 0 uint smooth center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x1]
    %2:b32 = load_builtin[layer]
    %3:b32 = load_builtin[viewport_index]
    %4:b32 = load_builtin[primitive_id]
    %5:b32x4 = vec %2, %3, %4, %1
    store_output[location 0 component 0 uint smooth center] %5, %0
    yield
  }
}
";
    let mut case = Case::of(ir(vs), ir(fs));
    case.targets = vec![Format::Uint];
    case.change = &|d| {
        d.layers = 3;
        d.instances = [0, 3];
        d.vertices = [0, 6];
        d.viewports = (0..3u8).map(|k| [f32::from(4 * k), 0.0, 8.0, 32.0]).collect();
    };
    let programs = case.programs();
    let StageInfo::Vertex(info) = &programs[0].stage else { panic!() };
    assert!(info.outputs.layer && info.outputs.viewport && !info.outputs.point_size);
    for width in [8, 16] {
        let p = case.draw(&programs, width);
        assert_eq!(p.colours[0].len() as u32, 3 * SIDE * SIDE);
        for (k, &got) in (0..).zip(&p.colours[0]) {
            let (x, layer) = (k % SIDE, k / SIDE / SIDE);
            let inside = (4 * layer..4 * layer + 8).contains(&x);
            let want = if inside { [layer, layer, 1, 1] } else { [0; 4] };
            assert_eq!(got, want, "{width}: {k}");
        }
    }
}

#[test]
fn values_of_other_sizes_pass() {
    let vs = "shader vertex \"main\" {
  output [builtin position component 0 float smooth center] b32x4 count 1 \"\"
  output [location 0 component 0 float smooth center] b16x2 count 1 \"\"
  output [location 1 component 0 sint flat center] b16 count 1 \"\"
  output [location 2 component 0 uint flat center] b64 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x3f800000]
    %2:b32 = const[0xbf800000]
    %3:b32 = const[0x1]
    %4:b32 = const[0x40800000]
    %6:b32 = load_builtin[vertex_index]
    %7:b32 = iand %6, %3
    %8:b32 = ushr %6, %3
    %9:b32 = u2f %7
    %10:b32 = u2f %8
    %11:b32 = fmul %9, %4
    %12:b32 = fadd %11, %2
    %13:b32 = fmul %10, %4
    %14:b32 = fadd %13, %2
    %17:b32x4 = vec %12, %14, %0, %1
    %18:b16 = f2f %12
    %19:b16 = f2f %14
    %20:b16x2 = vec %18, %19
    %21:b16 = const[0xfffb]
    %22:b64 = const[0x123456789abcdef]
    store_output[builtin position component 0 float smooth center] %17, %0
    store_output[location 0 component 0 float smooth center] %20, %0
    store_output[location 1 component 0 sint flat center] %21, %0
    store_output[location 2 component 0 uint flat center] %22, %0
    yield
  }
}
";
    let fs = "shader fragment \"main\" {
  output [location 0 component 0 float smooth center] b16x2 count 1 \"\"
  output [location 1 component 0 sint smooth center] b16 count 1 \"\"
  output [location 2 component 0 uint smooth center] b32x2 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b16x2 = load_input[location 0 component 0 float smooth center] %0
    %2:b16 = load_input[location 1 component 0 sint flat center] %0
    %3:b64 = load_input[location 2 component 0 uint flat center] %0
    %4:b32x2 = bitcast %3
    store_output[location 0 component 0 float smooth center] %1, %0
    store_output[location 1 component 0 sint smooth center] %2, %0
    store_output[location 2 component 0 uint smooth center] %4, %0
    yield
  }
}
";
    let mut case = Case::of(ir(vs), ir(fs));
    case.targets = vec![Format::Float, Format::Sint, Format::Uint];
    let programs = case.programs();
    for width in [8, 16] {
        let p = case.draw(&programs, width);
        for k in 0..SIDE * SIDE {
            let at = |v: u32| (v as f32 + 0.5) / 16.0 - 1.0;
            let [x, y, ..] = p.colours[0][k as usize].map(f32::from_bits);
            assert!((x - at(k % SIDE)).abs() < 2e-3 && (y - at(k / SIDE)).abs() < 2e-3, "{x} {y}");
            assert_eq!(p.colours[1][k as usize][0] as i32, -5);
            assert_eq!(p.colours[2][k as usize][..2], [0x89ab_cdef, 0x0123_4567]);
        }
    }
}
