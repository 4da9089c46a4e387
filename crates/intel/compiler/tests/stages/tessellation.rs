//! Tessellation: the picture of the points and triangles that the interpreter's shaders give.

use super::geometry::{Body, POSITION, geometry, slot};
use super::rig::{SIDE, compiled, listing, machine, wgsl};
use std::collections::HashMap;
use tepui_compiler_test::reference::{self, Words};
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::{Draw, Format, patches};
use tepui_intel_compiler::stage::{DomainInfo, HullInfo, Tessellator};
use tepui_intel_compiler::{Options, PatchInterface, StageInfo};
use tepui_ir::interp::{Group, Memory, run};
use tepui_ir::{
    Attrs, Barrier, Builder, Builtin, IoLoc, MemSet, NumKind, Op, PrimitiveKind, Scope, Shader,
    Spacing, Stage, Type, Value,
};
use tepui_tessellator::{Domain, ONE, Output, tessellate};

/// Flat words of the vertex.
const FLAT: &str = "@fragment fn fs(@location(0) @interpolate(flat, first) v: vec4u)
    -> @location(0) vec4u { return v; }";

/// Vertices with their numbers, at multiples of 1/16.
const VERTICES: &str = "struct V {
    @builtin(position) at: vec4f,
    @location(1) @interpolate(flat, first) id: vec4u,
}
@vertex fn vs(@builtin(vertex_index) n: u32) -> V {
    let at = vec2f(f32(n * 5u % 16u), f32(n * 3u % 16u)) * 0.0625;
    return V(vec4f(at, 0.5, 1.0), vec4u(n, n * n, 7u, n & 3u));
}";

const OUTER: IoLoc = IoLoc::Builtin(Builtin::TessLevelOuter);
const INNER: IoLoc = IoLoc::Builtin(Builtin::TessLevelInner);

impl Body<'_> {
    fn patch_output(&mut self, loc: IoLoc, component: u8, v: Value) {
        let zero = self.0.u32(0);
        let slot = tepui_ir::IoSlot { component, ..slot(loc, NumKind::Float) };
        self.0.effect(Op::StoreOutput, Attrs::Io(slot), &[v, zero]);
    }

    fn vertex_output(&mut self, loc: IoLoc, component: u8, v: Value, vertex: Value) {
        let zero = self.0.u32(0);
        let slot = tepui_ir::IoSlot { component, ..slot(loc, NumKind::Float) };
        self.0.effect(Op::StoreOutputVertex, Attrs::Io(slot), &[v, zero, vertex]);
    }

    fn vertex_output_read(&mut self, loc: IoLoc, comps: u8, vertex: Value) -> Value {
        let zero = self.0.u32(0);
        let attrs = Attrs::Io(slot(loc, NumKind::Float));
        self.0.value(Op::LoadOutputVertex, attrs, &[zero, vertex], Type::vec(32, comps))
    }

    fn patch_read(&mut self, op: Op, loc: IoLoc, component: u8, comps: u8) -> Value {
        let zero = self.0.u32(0);
        let slot = tepui_ir::IoSlot { component, ..slot(loc, NumKind::Float) };
        let ty = if comps == 1 { Type::B32 } else { Type::vec(32, comps) };
        self.0.value(op, Attrs::Io(slot), &[zero], ty)
    }

    fn levels(&mut self, outer: [f32; 4], inner: [f32; 2]) {
        for (loc, levels) in [(OUTER, &outer[..]), (INNER, &inner[..])] {
            for (c, &level) in (0..).zip(levels) {
                let v = self.0.f32(level);
                self.patch_output(loc, c, v);
            }
        }
    }

    fn barrier(&mut self) {
        let (exec, mem, spaces) = (Scope::Workgroup, Scope::Invocation, MemSet::empty());
        self.0.effect(Op::Barrier, Attrs::Barrier(Barrier { exec, mem, spaces }), &[]);
    }

    fn id(&mut self, b: Builtin) -> Value {
        self.0.builtin(b, Type::B32)
    }
}

fn built(stage: Stage, change: impl Fn(&mut Shader), body: impl Fn(&mut Body<'_>)) -> Shader {
    let mut s = Shader::new(stage);
    change(&mut s);
    let mut b = Body(Builder::new(&mut s));
    body(&mut b);
    b.0.finish();
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    s
}

fn control(vertices: u32, body: impl Fn(&mut Body<'_>)) -> Shader {
    built(Stage::TessControl, |s| s.info.primitives.vertices = vertices, body)
}

fn evaluation(domain: PrimitiveKind, points: bool, body: impl Fn(&mut Body<'_>)) -> Shader {
    let change = |s: &mut Shader| {
        let p = &mut s.info.primitives;
        (p.input, p.spacing, p.clockwise) = (Some(domain), Some(Spacing::Equal), Some(false));
        p.point_mode = points;
    };
    built(Stage::TessEvaluation, change, body)
}

/// A draw of patches.
struct Case {
    tcs: Shader,
    tes: Shader,
    /// Vertices of an input patch.
    vertices: u32,
    patches: u32,
    /// A geometry shader that passes points follows.
    geometry: bool,
}

/// The vertices of a primitive or point.
type Primitive = Vec<Words>;

impl Case {
    /// The primitives of a patch.
    fn primitives(&self, number: u32, input: &[Words], memory: &mut Memory) -> Vec<Primitive> {
        let lanes = self.tcs.info.primitives.vertices as usize;
        let mut g = Group::plain(lanes);
        for &key in input[0].keys() {
            let words: Vec<u32> = input.iter().map(|v| v[&key]).collect();
            g.vertex_inputs.insert(key, vec![words; lanes]);
        }
        let same = |n: u32, lanes: usize| vec![vec![u64::from(n)]; lanes];
        g.builtins.insert(Builtin::InvocationId, (0..lanes as u64).map(|k| vec![k]).collect());
        g.builtins.insert(Builtin::PrimitiveId, same(number, lanes));
        g.builtins.insert(Builtin::PatchVertices, same(self.vertices, lanes));
        let out = run(&self.tcs, &g, memory, 1 << 20).unwrap_or_else(|e| panic!("{e}"));
        let level = |loc, c| f32::from_bits(out.patch.outputs.get(&(loc, c)).copied().unwrap_or(0));
        let p = self.tes.info.primitives;
        let domain = match p.input {
            Some(PrimitiveKind::Quads) => Domain::Quads,
            Some(PrimitiveKind::Isolines) => Domain::Isolines,
            _ => Domain::Triangles,
        };
        let made = tessellate(
            domain,
            tepui_tessellator::Spacing::Equal,
            if p.point_mode { Output::Points } else { Output::Positive },
            [0, 1, 2, 3].map(|c| level(OUTER, c)),
            [0, 1].map(|c| level(INNER, c)),
        );
        let n = made.points.len();
        let mut g = Group::plain(n);
        for (&key, &word) in &out.patch.outputs {
            g.inputs.insert(key, vec![word; n]);
        }
        for &(loc, c, _) in out.patch.vertices.keys() {
            let word = |k| out.patch.vertices.get(&(loc, c, k)).copied().unwrap_or(0);
            let words: Vec<u32> = (0..lanes as u32).map(word).collect();
            g.vertex_inputs.insert((loc, c), vec![words; n]);
        }
        let coordinates = |&[u, v]: &[u32; 2]| {
            let w = if domain == Domain::Triangles { ONE - u - v } else { 0 };
            [u, v, w].map(|x| u64::from((x as f32 / ONE as f32).to_bits())).to_vec()
        };
        g.builtins.insert(Builtin::TessCoord, made.points.iter().map(coordinates).collect());
        g.builtins.insert(Builtin::PrimitiveId, same(number, n));
        g.builtins.insert(Builtin::PatchVertices, same(lanes as u32, n));
        let out = run(&self.tes, &g, memory, 1 << 20).unwrap_or_else(|e| panic!("{e}"));
        let mut points = vec![Words::new(); n];
        for ((loc, c, _), words) in out.outputs {
            for (point, word) in points.iter_mut().zip(words) {
                point.extend(word.map(|word| ((loc, c), word)));
            }
        }
        let corners = if p.point_mode { 1 } else { 3 };
        let primitive = |list: &[u32]| list.iter().map(|&k| points[k as usize].clone()).collect();
        made.indices.chunks_exact(corners).map(primitive).collect()
    }

    /// The pixels; `None` where that is not certain.
    fn picture(&self, vs: &Shader, fs: &Shader) -> Vec<Option<[u32; 4]>> {
        let mut memory = Memory::default();
        let count = self.vertices * self.patches;
        let all = reference::vertices(vs, &mut memory, (0, count), 0, &|_, _, _| 0)
            .expect("the interpreter runs the vertex shader");
        let words = |w: &Words| [0, 1, 2, 3].map(|c| w[&(IoLoc::Location(0), c)]);
        let mut pixels = vec![Some([0; 4]); (SIDE * SIDE) as usize];
        for (number, input) in (0..).zip(all.chunks_exact(self.vertices as usize)) {
            for primitive in self.primitives(number, input, &mut memory) {
                let [a, b, c] = match &primitive[..] {
                    [v] => {
                        let at = |c| f32::from_bits(v[&(POSITION, c)]);
                        let [x, y] = [0, 1].map(|c| ((at(c) + 1.0) * 0.5 * SIDE as f32) as u32);
                        pixels[(y * SIDE + x) as usize] = Some(words(v));
                        continue;
                    }
                    three => [&three[0], &three[1], &three[2]],
                };
                let drawn =
                    reference::triangle(fs, &mut memory, [a, b, c], [SIDE; 2], &HashMap::new())
                        .expect("the interpreter runs the fragment shader");
                for (to, p) in pixels.iter_mut().zip(drawn) {
                    match p.doubtful {
                        true => *to = None,
                        false if p.alive => *to = to.map(|_| words(a)),
                        false => {}
                    }
                }
            }
        }
        pixels
    }

    /// Compares every pixel, with the number of input vertices known when compiling or not; returns the programs'
    /// properties.
    fn check(&self) -> (HullInfo, DomainInfo) {
        let (vs, fs) = (wgsl(Stage::Vertex, VERTICES), wgsl(Stage::Fragment, FLAT));
        let want = self.picture(&vs, &fs);
        let lit = want.iter().flatten().filter(|c| **c != [0; 4]).count();
        assert!(lit >= 8, "{lit} pixels are too few");
        let unknown = !self.tcs.reads_builtin(Builtin::PatchVertices);
        let mut infos = None;
        for known in [true, false].into_iter().filter(|&known| known || unknown) {
            let vertices = if known { self.vertices as u8 } else { 0 };
            let patch = Some(PatchInterface::new(&self.tcs, &self.tes, vertices));
            let options = Options { patch, ..Options::default() };
            let v = compiled(&vs, Options { feeds_stage: true, ..options });
            let [h, f] = [&self.tcs, &fs].map(|s| compiled(s, options));
            let d = compiled(&self.tes, Options { feeds_stage: self.geometry, ..options });
            let g = compiled(&pass_points(), options);
            let none = Bindings::default();
            let mut draw = Draw::triangle(&v, &f, [SIDE; 2], &none);
            draw.primitives = vec![(&h, &none), (&d, &none)];
            draw.primitives.extend(self.geometry.then_some((&g, &none)));
            let own = [&self.tcs, &self.tes].map(|s| s.info.primitives);
            draw.tessellator = Some(Tessellator::new(&own[0], &own[1], true));
            draw.targets = vec![Format::Uint];
            draw.topology = patches(self.vertices);
            draw.vertices = [0, self.vertices * self.patches];
            let listings = || format!("{}\n{}", listing(&h), listing(&d));
            let p = machine().draw(&draw).unwrap_or_else(|e| panic!("{e}\n{}", listings()));
            let bad = &p.stats.reports;
            assert!(bad.is_empty(), "{bad:?}\n{}", listings());
            for (k, (want, got)) in want.iter().zip(&p.colours[0]).enumerate() {
                let (x, y) = (k % SIDE as usize, k / SIDE as usize);
                assert!(want.is_none_or(|w| w == *got), "{x} {y}: {got:?}\n{}", listings());
            }
            let (StageInfo::Hull(hull), StageInfo::Domain(domain)) = (h.stage, d.stage) else {
                panic!("stages")
            };
            infos = Some((hull, domain));
        }
        infos.expect("one of both")
    }
}

/// A geometry shader that emits the point that it gets.
fn pass_points() -> Shader {
    geometry([PrimitiveKind::Points; 2], [1, 1], |b| {
        let zero = b.0.u32(0);
        let position = b.input(POSITION, 4, zero);
        let words = b.input(IoLoc::Location(0), 4, zero);
        b.vertex(0, position, words);
    })
}

/// A pixel's centre for coordinates from 0 to 1 in a tile of a picture of tiles: `x`, `y` from -1 on.
fn placed(b: &mut Body<'_>, coordinates: [Value; 2], tile: Value) -> Value {
    let three = b.0.u32(3);
    let one = b.0.u32(1);
    let [column, row] = [b.0.binary(Op::IAnd, tile, three), b.0.binary(Op::UShr, tile, one)];
    let row = b.0.binary(Op::UShr, row, one);
    let parts = [(column, coordinates[0]), (row, coordinates[1])].map(|(n, at)| {
        let n = b.0.value(Op::U2F, Attrs::None, &[n], Type::B32);
        let (half, quarter) = (b.0.f32(0.5), b.0.f32(0.25));
        let n = b.0.binary(Op::FMul, n, half);
        let at = b.0.binary(Op::FMul, at, quarter);
        let sum = b.0.binary(Op::FAdd, n, at);
        let first = b.0.f32(1.0 / 32.0 - 1.0);
        b.0.binary(Op::FAdd, sum, first)
    });
    let (z, w) = (b.0.f32(0.5), b.0.f32(1.0));
    b.0.vec(&[parts[0], parts[1], z, w])
}

/// An evaluation shader of points, whose words say where they are and what they read.
fn tell(domain: PrimitiveKind, read: impl Fn(&mut Body<'_>) -> [Value; 2]) -> Shader {
    evaluation(domain, true, |b| {
        let coord = b.0.builtin(Builtin::TessCoord, Type::vec(32, 3));
        let [u, v] = [0, 1].map(|k| b.0.extract(coord, k));
        let patch = b.id(Builtin::PrimitiveId);
        let at = placed(b, [u, v], patch);
        let [first, second] = read(b);
        let w = b.0.extract(coord, 2);
        let words = b.0.vec(&[first, second, patch, w]);
        b.output(POSITION, at);
        b.output(IoLoc::Location(0), words);
    })
}

/// A control shader that passes the words of vertices.
fn pass(vertices: u32, inputs: u32, levels: ([f32; 4], [f32; 2])) -> Shader {
    control(vertices, |b| {
        let id = b.id(Builtin::InvocationId);
        let limit = b.0.u32(inputs);
        let from = b.0.binary(Op::UMod, id, limit);
        let words = b.input(IoLoc::Location(1), 4, from);
        b.vertex_output(IoLoc::Location(2), 0, words, id);
        b.levels(levels.0, levels.1);
    })
}

#[test]
fn points_of_each_domain() {
    use PrimitiveKind::{Isolines, Quads, Triangles};
    for (domain, levels) in [
        (Quads, ([2.0, 4.0, 3.0, 1.0], [4.0, 2.0])),
        (Triangles, ([2.0, 4.0, 3.0, 0.0], [4.0, 0.0])),
        (Isolines, ([3.0, 4.0, 0.0, 0.0], [0.0; 2])),
    ] {
        let tcs = pass(3, 3, levels);
        let tes = tell(domain, |b| {
            let [zero, two] = [0, 2].map(|k| b.0.u32(k));
            let [a, c] = [zero, two].map(|k| b.input(IoLoc::Location(2), 4, k));
            [b.0.extract(a, 1), b.0.extract(c, 0)]
        });
        let (hull, info) = Case { tcs, tes, vertices: 3, patches: 11, geometry: false }.check();
        // Three vertices of three slots follow the header of two; all are pushed, two in a register.
        assert_eq!((info.read_length, hull.patch.entry_units()), (6, 3));
    }
}

#[test]
fn invocations_of_a_patch() {
    // Fewer than a thread has, several threads, and all that there can be.
    for (outputs, inputs) in [(1, 2), (5, 5), (8, 3), (13, 32), (32, 7)] {
        let tcs = pass(outputs, inputs, ([2.0; 4], [2.0; 2]));
        let tes = tell(PrimitiveKind::Quads, move |b| {
            let [last, first] = [outputs - 1, outputs / 2].map(|k| b.0.u32(k));
            let [a, c] = [last, first].map(|k| b.input(IoLoc::Location(2), 4, k));
            [b.0.extract(a, 1), b.0.extract(c, 0)]
        });
        let (hull, _) = Case { tcs, tes, vertices: inputs, patches: 9, geometry: false }.check();
        let threads = if hull.eight_patches { outputs } else { outputs.div_ceil(8) };
        assert_eq!(u32::from(hull.threads), threads);
    }
}

#[test]
fn invocations_read_each_other() {
    for outputs in [3, 12] {
        let tcs = control(outputs, |b| {
            let id = b.id(Builtin::InvocationId);
            let patch = b.id(Builtin::PrimitiveId);
            let count = b.id(Builtin::PatchVertices);
            let from = b.0.binary(Op::UMod, id, count);
            let words = b.input(IoLoc::Location(1), 4, from);
            let parts = b.0.split(words);
            let both = b.0.vec(&[parts[1], patch]);
            b.vertex_output(IoLoc::Location(0), 2, both, id);
            b.vertex_output(IoLoc::Location(0), 0, count, id);
            b.barrier();
            let (one, limit) = (b.0.u32(1), b.0.u32(outputs));
            let next = b.0.binary(Op::IAdd, id, one);
            let next = b.0.binary(Op::UMod, next, limit);
            let theirs = b.vertex_output_read(IoLoc::Location(0), 4, next);
            let theirs = b.0.extract(theirs, 2);
            let sum = b.0.binary(Op::IAdd, theirs, id);
            b.vertex_output(IoLoc::Location(1), 0, sum, id);
            b.barrier();
            // The first invocation adds what all have.
            let zero = b.0.u32(0);
            let is_first = b.0.value(Op::IEq, Attrs::None, &[id, zero], Type::B1);
            let [go, none] =
                [0; 2].map(|_| b.0.shader.regions.push(tepui_ir::RegionData::default()));
            Builder::at(b.0.shader, none).yield_(&[]);
            let mut inner = Body(Builder::at(b.0.shader, go));
            let mut total = inner.0.u32(0);
            for k in 0..outputs {
                let k = inner.0.u32(k);
                let v = inner.vertex_output_read(IoLoc::Location(1), 2, k);
                let v = inner.0.extract(v, 0);
                total = inner.0.binary(Op::IAdd, total, v);
            }
            inner.patch_output(IoLoc::Location(3), 1, total);
            inner.levels([1.0, 2.0, 3.0, 4.0], [2.0; 2]);
            inner.0.yield_(&[]);
            b.0.if_(is_first, go, none, &[]);
        });
        let tes = tell(PrimitiveKind::Quads, |b| {
            let total = b.patch_read(Op::LoadInput, IoLoc::Location(3), 1, 1);
            let outer = b.patch_read(Op::LoadInput, OUTER, 2, 1);
            [total, outer]
        });
        Case { tcs, tes, vertices: 2, patches: 10, geometry: false }.check();
    }
}

#[test]
fn vertices_by_number() {
    let tcs = pass(20, 4, ([4.0; 4], [4.0; 2]));
    let tes = tell(PrimitiveKind::Quads, |b| {
        let coord = b.0.builtin(Builtin::TessCoord, Type::vec(32, 3));
        let u = b.0.extract(coord, 0);
        let four = b.0.f32(16.0);
        let n = b.0.binary(Op::FMul, u, four);
        let n = b.0.value(Op::F2U, Attrs::None, &[n], Type::B32);
        let v = b.input(IoLoc::Location(2), 4, n);
        let count = b.id(Builtin::PatchVertices);
        let parts = b.0.split(v);
        [b.0.binary(Op::IAdd, parts[0], parts[1]), count]
    });
    Case { tcs, tes, vertices: 4, patches: 3, geometry: false }.check();
}

#[test]
fn triangles_of_a_patch() {
    let tcs = control(1, |b| {
        let zero = b.0.u32(0);
        let words = b.input(IoLoc::Location(1), 4, zero);
        b.patch_output(IoLoc::Location(0), 0, words);
        b.levels([2.0; 4], [2.0; 2]);
    });
    for domain in [PrimitiveKind::Triangles, PrimitiveKind::Quads] {
        let tes = evaluation(domain, false, |b| {
            let coord = b.0.builtin(Builtin::TessCoord, Type::vec(32, 3));
            let [u, v] = [0, 1].map(|k| b.0.extract(coord, k));
            let patch = b.id(Builtin::PrimitiveId);
            let at = placed(b, [u, v], patch);
            // Edges between pixels.
            let half = b.0.f32(1.0 / SIDE as f32);
            let at = b.moved(at, [half, half]);
            let words = b.patch_read(Op::LoadInput, IoLoc::Location(0), 0, 4);
            let parts = b.0.split(words);
            let words = b.0.vec(&[parts[0], parts[1], parts[2], patch]);
            b.output(POSITION, at);
            b.output(IoLoc::Location(0), words);
        });
        let tcs = tcs.clone();
        let (hull, _) = Case { tcs, tes, vertices: 1, patches: 9, geometry: false }.check();
        assert_eq!((hull.patch.domain, hull.threads), (domain, 1));
    }
}

#[test]
fn points_go_to_a_geometry_shader() {
    let tcs = pass(3, 3, ([2.0, 4.0, 3.0, 1.0], [4.0, 2.0]));
    let tes = tell(PrimitiveKind::Quads, |b| {
        let one = b.0.u32(1);
        let a = b.input(IoLoc::Location(2), 4, one);
        [b.0.extract(a, 1), b.0.extract(a, 0)]
    });
    Case { tcs, tes, vertices: 3, patches: 7, geometry: true }.check();
}
