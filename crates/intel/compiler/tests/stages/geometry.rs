//! Geometry shaders: the picture of the strips that the interpreter emits.

use super::rig::{SIDE, compiled, listing, machine, program, wgsl};
use std::collections::HashMap;
use tepui_compiler_test::reference::{self, Words};
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::{Draw, Format, LINES, POINTS, TRIANGLES, TRIANGLES_ADJACENCY};
use tepui_intel_compiler::stage::{ControlData, GeometryInfo};
use tepui_intel_compiler::{FragmentState, Options, Program, StageInfo};
use tepui_ir::interp::{Emission, Group, Memory, run};
use tepui_ir::{
    Attrs, Builder, Builtin, Interp, IoLoc, IoSlot, NumKind, Op, PrimitiveKind, RegionData,
    Sampling, Shader, Stage, Type, Value,
};

/// Words of a triangle's pixels: those of the input at location 0, which is flat.
const FLAT: &str = "@fragment fn fs(@location(0) @interpolate(flat, first) v: vec4u)
    -> @location(0) vec4u { return v; }";

/// Vertices at centres of pixels, each with its number.
const VERTICES: &str = "struct V {
    @builtin(position) at: vec4f,
    @location(0) @interpolate(flat, first) id: vec4u,
    @location(3) @interpolate(flat, first) more: vec2f,
}
@vertex fn vs(@builtin(vertex_index) n: u32) -> V {
    let x = f32(n % 4u) * 0.5 - 0.90625 + 0.0625 * f32(n % 3u);
    let y = f32(n / 4u) * 0.5 - 0.90625 + 0.125 * f32(n % 2u);
    return V(vec4f(x, y, 0.5, 1.0), vec4u(n, n * n, 7u, 1u + (n & 3u)), vec2f(x, y) * 2.0);
}";

pub fn slot(loc: IoLoc, kind: NumKind) -> IoSlot {
    let (interp, sampling) = (Interp::Flat, Sampling::Center);
    IoSlot { loc, component: 0, index: 0, kind, interp, sampling }
}

pub const POSITION: IoLoc = IoLoc::Builtin(Builtin::Position);

/// Builds bodies of shaders.
pub struct Body<'a>(pub Builder<'a>);

impl Body<'_> {
    pub fn input(&mut self, loc: IoLoc, comps: u8, vertex: Value) -> Value {
        let zero = self.0.u32(0);
        let ty = if comps == 1 { Type::B32 } else { Type::vec(32, comps) };
        let attrs = Attrs::Io(slot(loc, NumKind::Float));
        self.0.value(Op::LoadInputVertex, attrs, &[zero, vertex], ty)
    }

    pub fn output(&mut self, loc: IoLoc, v: Value) {
        let zero = self.0.u32(0);
        self.0.effect(Op::StoreOutput, Attrs::Io(slot(loc, NumKind::Uint)), &[v, zero]);
    }

    pub fn vertex(&mut self, stream: u32, position: Value, words: Value) {
        self.output(POSITION, position);
        self.output(IoLoc::Location(0), words);
        self.0.effect(Op::EmitVertex, Attrs::Index(stream), &[]);
    }

    pub fn end_primitive(&mut self) {
        self.0.effect(Op::EndPrimitive, Attrs::Index(0), &[]);
    }

    /// A position moved by fractions of the picture.
    pub fn moved(&mut self, position: Value, [dx, dy]: [Value; 2]) -> Value {
        let parts = self.0.split(position);
        let x = self.0.binary(Op::FAdd, parts[0], dx);
        let y = self.0.binary(Op::FAdd, parts[1], dy);
        self.0.vec(&[x, y, parts[2], parts[3]])
    }

    /// A loop of a number of rounds, which is known only when it runs.
    pub fn times(&mut self, n: Value, body: impl Fn(&mut Body<'_>, Value)) {
        let region = |b: &mut Self| b.0.shader.regions.push(RegionData::default());
        let zero = self.0.u32(0);
        let [round, go, stop] = [0; 3].map(|_| region(self));
        let k = self.0.shader.add_param(round, Type::B32);
        let mut b = Builder::at(self.0.shader, stop);
        b.break_(&[]);
        Builder::at(self.0.shader, go).yield_(&[]);
        let mut b = Builder::at(self.0.shader, round);
        let more = b.value(Op::ULt, Attrs::None, &[k, n], Type::B1);
        b.if_(more, go, stop, &[]);
        let mut inner = Body(b);
        body(&mut inner, k);
        let one = inner.0.u32(1);
        let next = inner.0.binary(Op::IAdd, k, one);
        inner.0.continue_(&[next]);
        self.0.loop_(round, &[zero], &[]);
    }
}

/// A geometry shader with a body.
pub fn geometry(
    [input, output]: [PrimitiveKind; 2],
    [vertices, invocations]: [u32; 2],
    body: impl Fn(&mut Body<'_>),
) -> Shader {
    let mut s = Shader::new(Stage::Geometry);
    let p = &mut s.info.primitives;
    (p.input, p.output) = (Some(input), output);
    (p.vertices, p.invocations) = (vertices, invocations);
    let mut b = Body(Builder::new(&mut s));
    body(&mut b);
    b.0.finish();
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    s
}

/// The strips that the interpreter emits to the first stream, in order: words of their vertices.
fn strips(gs: &Shader, vertices: &[Words], memory: &mut Memory) -> Vec<Vec<Words>> {
    let p = gs.info.primitives;
    let size = p.input.map_or(1, PrimitiveKind::vertices) as usize;
    let primitives: Vec<&[Words]> = vertices.chunks_exact(size).collect();
    let lanes: Vec<(usize, u32)> =
        (0..primitives.len()).flat_map(|n| (0..p.invocations).map(move |k| (n, k))).collect();
    let mut g = Group::plain(lanes.len());
    let keys: Vec<_> = vertices.iter().flat_map(HashMap::keys).copied().collect();
    for key in keys {
        let word = |v: &Words| v.get(&key).copied().unwrap_or(0);
        let all = lanes.iter().map(|l| primitives[l.0].iter().map(word).collect()).collect();
        g.vertex_inputs.insert(key, all);
    }
    let each = |f: &dyn Fn(&(usize, u32)) -> u64| lanes.iter().map(|l| vec![f(l)]).collect();
    g.builtins.insert(Builtin::PrimitiveId, each(&|l| l.0 as u64));
    g.builtins.insert(Builtin::InvocationId, each(&|l| l.1.into()));
    let out = run(gs, &g, memory, 1 << 20).unwrap_or_else(|e| panic!("{e}\n{gs}"));
    let mut all = Vec::new();
    for lane in 0..lanes.len() {
        let mut strip = Vec::new();
        for e in out.emitted.iter().filter(|e| e.lane == lane && e.stream == 0) {
            match &e.emission {
                Emission::Vertex(words) => strip.push(words.clone()),
                Emission::End => all.push(std::mem::take(&mut strip)),
            }
        }
        all.push(strip);
    }
    all
}

/// A draw through a geometry shader.
struct Case {
    gs: Shader,
    topology: u32,
    vertices: u32,
}

impl Case {
    /// Compares every pixel with those of the strips; returns the program's properties.
    fn check(&self) -> GeometryInfo {
        let vs = wgsl(Stage::Vertex, VERTICES);
        let fs = wgsl(Stage::Fragment, FLAT);
        let v = compiled(&vs, Options { feeds_stage: true, ..Options::default() });
        let g = compiled(&self.gs, Options::default());
        let f = program(&fs, FragmentState::default(), 0);
        let mut memory = Memory::default();
        let inputs = reference::vertices(&vs, &mut memory, (0, self.vertices), 0, &|_, _, _| 0)
            .expect("the interpreter runs the vertex shader");
        let strips = strips(&self.gs, &inputs, &mut memory);
        let want = picture(&self.gs, &fs, &strips, &mut memory);
        let got = self.draw([&v, &g, &f]);
        let mut lit = 0;
        for (k, (want, got)) in want.iter().zip(&got).enumerate() {
            let Some(want) = want else { continue };
            assert_eq!(
                got,
                want,
                "pixel {} {}\n{}\n{}",
                k % SIDE as usize,
                k / SIDE as usize,
                self.gs,
                listing(&g)
            );
            lit += usize::from(*want != [0; 4]);
        }
        assert!(lit >= 4, "{lit} pixels are too few\n{}", listing(&g));
        let StageInfo::Geometry(info) = g.stage else { panic!("{:?}", g.stage) };
        info
    }

    fn draw(&self, [v, g, f]: [&Program; 3]) -> Vec<[u32; 4]> {
        let none = Bindings::default();
        let mut d = Draw::triangle(v, f, [SIDE; 2], &none);
        d.primitives = vec![(g, &none)];
        d.targets = vec![Format::Uint];
        d.topology = self.topology;
        d.vertices = [0, self.vertices];
        let p = machine().draw(&d).unwrap_or_else(|e| panic!("{e}\n{}", listing(g)));
        let bad = &p.stats.reports;
        assert!(bad.is_empty(), "{bad:?}\n{}\n{}", listing(v), listing(g));
        p.colours[0].clone()
    }
}

/// The pixels of strips; `None` where that is not certain.
fn picture(
    gs: &Shader,
    fs: &Shader,
    strips: &[Vec<Words>],
    memory: &mut Memory,
) -> Vec<Option<[u32; 4]>> {
    let words =
        |w: &Words| [0, 1, 2, 3].map(|c| w.get(&(IoLoc::Location(0), c)).copied().unwrap_or(0));
    let mut all = vec![Some([0; 4]); (SIDE * SIDE) as usize];
    for strip in strips {
        if gs.info.primitives.output == PrimitiveKind::Points {
            for v in strip {
                let at = |c| f32::from_bits(v.get(&(POSITION, c)).copied().unwrap_or(0));
                let [x, y] = [0, 1].map(|c| ((at(c) + 1.0) * 0.5 * SIDE as f32).floor());
                let side = 0.0..SIDE as f32;
                if side.contains(&x) && side.contains(&y) {
                    all[(y as u32 * SIDE + x as u32) as usize] = Some(words(v));
                }
            }
            continue;
        }
        for (n, three) in strip.windows(3).enumerate() {
            // The first vertex stays the provoking one.
            let corners = match n % 2 {
                0 => [&three[0], &three[1], &three[2]],
                _ => [&three[0], &three[2], &three[1]],
            };
            let pixels = reference::triangle(fs, memory, corners, [SIDE; 2], &HashMap::new())
                .expect("the interpreter runs the fragment shader");
            for (to, p) in all.iter_mut().zip(pixels) {
                if p.doubtful {
                    *to = None;
                } else if p.alive && to.is_some() {
                    *to = Some(words(corners[0]));
                }
            }
        }
    }
    all
}

/// A square strip of whole pixels next to the position, with words.
fn square(b: &mut Body<'_>, position: Value, words: Value, size: f32) {
    const HALF: f32 = 1.0 / SIDE as f32;
    for (dx, dy) in [(0.0, 0.0), (size, 0.0), (0.0, size), (size, size)] {
        let offset = [b.0.f32(dx + HALF), b.0.f32(dy + HALF)];
        let at = b.moved(position, offset);
        b.vertex(0, at, words);
    }
}

#[test]
fn triangles_pass() {
    use PrimitiveKind::Triangles;
    let gs = geometry([Triangles; 2], [3, 1], |b| {
        for k in 0..3 {
            let vertex = b.0.u32(k);
            let position = b.input(POSITION, 4, vertex);
            let words = b.input(IoLoc::Location(0), 4, vertex);
            b.vertex(0, position, words);
        }
        b.end_primitive();
    });
    let info = Case { gs, topology: TRIANGLES, vertices: 15 }.check();
    assert_eq!((info.static_count, info.control), (Some(3), ControlData::None));
    assert_eq!((info.vertices_in, info.first_vertex(), info.topology()), (3, 0, 5));
}

#[test]
fn strips_end_where_they_are_cut() {
    use PrimitiveKind::{Points, Triangles};
    let gs = geometry([Points, Triangles], [8, 1], |b| {
        let zero = b.0.u32(0);
        let position = b.input(POSITION, 4, zero);
        let words = b.input(IoLoc::Location(0), 4, zero);
        square(b, position, words, 0.125);
        b.end_primitive();
        let offset = [0.25, 0.0].map(|v| b.0.f32(v));
        let next = b.moved(position, offset);
        square(b, next, words, 0.1875);
    });
    let info = Case { gs, topology: POINTS, vertices: 11 }.check();
    assert_eq!((info.static_count, info.control), (Some(8), ControlData::Cuts));
}

#[test]
fn numbers_of_vertices_differ() {
    use PrimitiveKind::{Points, Triangles};
    // More than a double word of bits; the number of squares is that of the input.
    for max in [16, 48, 120] {
        let gs = geometry([Points, Triangles], [max, 1], |b| {
            let zero = b.0.u32(0);
            let position = b.input(POSITION, 4, zero);
            let words = b.input(IoLoc::Location(0), 4, zero);
            let mut count = b.0.extract(words, 3);
            if max > 16 {
                let factor = b.0.u32(max / 16);
                count = b.0.binary(Op::IMul, count, factor);
            }
            b.times(count, |b, k| {
                let k = b.0.value(Op::U2F, Attrs::None, &[k], Type::B32);
                let step = b.0.f32(0.0625);
                let dx = b.0.binary(Op::FMul, k, step);
                let zero = b.0.f32(0.0);
                let at = b.moved(position, [dx, zero]);
                square(b, at, words, 0.1875);
                b.end_primitive();
            });
        });
        let info = Case { gs, topology: POINTS, vertices: 16 }.check();
        assert_eq!((info.static_count, info.control), (None, ControlData::Cuts));
        assert_eq!(info.control_units(), 1);
    }
}

#[test]
fn branches_emit() {
    use PrimitiveKind::{Lines, Points};
    let gs = geometry([Lines, Points], [3, 1], |b| {
        let [zero, one] = [0, 1].map(|k| b.0.u32(k));
        let position = b.input(POSITION, 4, one);
        let words = b.input(IoLoc::Location(0), 4, zero);
        b.vertex(0, position, words);
        let first = b.0.extract(words, 0);
        let odd = b.0.binary(Op::IAnd, first, one);
        let is_odd = b.0.value(Op::IEq, Attrs::None, &[odd, zero], Type::B1);
        let [go, none] = [0; 2].map(|_| b.0.shader.regions.push(RegionData::default()));
        Builder::at(b.0.shader, none).yield_(&[]);
        let mut inner = Body(Builder::at(b.0.shader, go));
        let offset = [0.0, 0.25].map(|v| inner.0.f32(v));
        let at = inner.moved(position, offset);
        let other = inner.input(IoLoc::Location(0), 4, one);
        inner.vertex(0, at, other);
        inner.0.yield_(&[]);
        b.0.if_(is_odd, go, none, &[]);
        let offset = [0.0, 0.125].map(|v| b.0.f32(v));
        let at = b.moved(position, offset);
        b.vertex(0, at, words);
    });
    let info = Case { gs, topology: LINES, vertices: 12 }.check();
    assert_eq!((info.static_count, info.control), (None, ControlData::None));
}

#[test]
fn invocations_and_vertices_by_number() {
    use PrimitiveKind::{Points, TrianglesAdjacency};
    for invocations in [1, 3, 11] {
        let gs = geometry([TrianglesAdjacency, Points], [6, invocations], |b| {
            let invocation = b.0.builtin(Builtin::InvocationId, Type::B32);
            let primitive = b.0.builtin(Builtin::PrimitiveId, Type::B32);
            let one = b.0.u32(1);
            let six = b.0.u32(6);
            let last = b.input(IoLoc::Location(0), 4, one);
            let last = b.0.extract(last, 3);
            let count = b.0.binary(Op::IAdd, last, one);
            b.times(count, |b, k| {
                let sum = b.0.binary(Op::IAdd, k, invocation);
                let vertex = b.0.binary(Op::UMod, sum, six);
                let position = b.input(POSITION, 4, vertex);
                let words = b.input(IoLoc::Location(0), 4, vertex);
                let words = b.0.split(words);
                let words = b.0.vec(&[words[0], primitive, words[2], invocation]);
                let row = b.0.value(Op::U2F, Attrs::None, &[invocation], Type::B32);
                let step = b.0.f32(0.0625);
                let dy = b.0.binary(Op::FMul, row, step);
                let zero = b.0.f32(0.0);
                let at = b.moved(position, [zero, dy]);
                b.vertex(0, at, words);
            });
        });
        let info = Case { gs, topology: TRIANGLES_ADJACENCY, vertices: 12 }.check();
        assert_eq!((u32::from(info.invocations), info.primitive_id), (invocations, true));
    }
}

#[test]
fn other_streams_are_not_drawn() {
    use PrimitiveKind::Points;
    let gs = geometry([Points; 2], [40, 1], |b| {
        let zero = b.0.u32(0);
        let position = b.input(POSITION, 4, zero);
        let words = b.input(IoLoc::Location(0), 4, zero);
        for k in 0..40 {
            let offset = [(k % 8) as f32 * 0.0625, (k / 8) as f32 * 0.0625].map(|v| b.0.f32(v));
            let at = b.moved(position, offset);
            b.vertex(k % 3, at, words);
        }
    });
    let info = Case { gs, topology: POINTS, vertices: 9 }.check();
    assert_eq!((info.static_count, info.control), (Some(40), ControlData::Streams));
}

#[test]
fn strips_of_one_stream_need_no_stream_of_each_vertex() {
    use PrimitiveKind::{Points, Triangles};
    for (output, control) in [(Points, ControlData::None), (Triangles, ControlData::Cuts)] {
        let gs = geometry([Points, output], [8, 1], |b| {
            let zero = b.0.u32(0);
            let position = b.input(POSITION, 4, zero);
            let words = b.input(IoLoc::Location(0), 4, zero);
            for k in 0..8 {
                b.vertex(2, position, words);
                if k == 3 {
                    b.0.effect(Op::EndPrimitive, Attrs::Index(2), &[]);
                }
            }
        });
        let g = compiled(&gs, Options::default());
        let StageInfo::Geometry(info) = g.stage else { panic!("{:?}", g.stage) };
        assert_eq!((info.stream, info.control), (2, control));
    }
}

#[test]
fn vertices_past_the_maximum_stay_in_the_entry() {
    use PrimitiveKind::Points;
    let gs = geometry([Points; 2], [2, 1], |b| {
        let zero = b.0.u32(0);
        let position = b.input(POSITION, 4, zero);
        let words = b.input(IoLoc::Location(0), 4, zero);
        let count = b.0.u32(9);
        let low = b.0.extract(words, 0);
        let count = b.0.binary(Op::UMax, count, low);
        b.times(count, |b, _| b.vertex(0, position, words));
    });
    let info = Case { gs, topology: POINTS, vertices: 16 }.check();
    assert_eq!(info.max_vertices, 2);
}

#[test]
fn layers_of_primitives() {
    use PrimitiveKind::Triangles;
    let gs = geometry([Triangles; 2], [3, 3], |b| {
        let layer = b.0.builtin(Builtin::InvocationId, Type::B32);
        for k in 0..3 {
            let vertex = b.0.u32(k);
            let position = b.input(POSITION, 4, vertex);
            let more = b.input(IoLoc::Location(3), 2, vertex);
            let parts = b.0.split(more);
            let words = b.0.vec(&[layer, parts[0], parts[1], layer]);
            b.output(IoLoc::Builtin(Builtin::Layer), layer);
            b.output(IoLoc::Builtin(Builtin::PrimitiveId), layer);
            b.vertex(0, position, words);
        }
    });
    let vs = wgsl(Stage::Vertex, VERTICES);
    let text = "shader fragment \"main\" {
  output [location 0 component 0 uint smooth center] b32x4 count 1 \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32x4 = load_input[location 0 component 0 uint flat center] %0
    %2:b32 = load_builtin[primitive_id]
    %3:b32 = load_builtin[layer]
    %4:b32 = extract[0] %1
    %5:b32 = const[0x1]
    %6:b32x4 = vec %4, %2, %3, %5
    store_output[location 0 component 0 uint smooth center] %6, %0
    yield
  }
}
";
    let fs = tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let v = compiled(&vs, Options { feeds_stage: true, ..Options::default() });
    let [g, f] = [&gs, &fs].map(|s| compiled(s, Options::default()));
    let none = Bindings::default();
    let mut d = Draw::triangle(&v, &f, [SIDE; 2], &none);
    d.primitives = vec![(&g, &none)];
    d.targets = vec![Format::Uint];
    d.layers = 3;
    d.vertices = [0, 9];
    let p = machine().draw(&d).unwrap_or_else(|e| panic!("{e}\n{}", listing(&g)));
    assert!(p.stats.reports.is_empty(), "{:?}\n{}", p.stats.reports, listing(&g));
    let mut lit = [0; 3];
    for (k, &got) in p.colours[0].iter().enumerate() {
        let layer = k as u32 / SIDE / SIDE;
        if got != [0; 4] {
            assert_eq!(got, [layer, layer, layer, 1], "{k}");
            lit[layer as usize] += 1;
        }
    }
    assert!(lit[0] > 20 && lit == [lit[0]; 3], "{lit:?}");
}
