//! Random programs as shaders of each stage of draws: sixteen pixels, or what makes sixteen points, each with its part of a
//! buffer. The interpreter and the model leave the same memory and the same colours.

use super::rig::{SIDE, listing, machine, wgsl};
use std::ops::Range;
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::{Draw, Format, POINTS, TRIANGLES, patches};
use tepui_intel_compiler::stage::Tessellator;
use tepui_intel_compiler::{FragmentState, Options, PatchInterface, Program};
use tepui_ir::interp::{Emission, Group, Memory, run};
use tepui_ir::{
    Attrs, Builder, Builtin, Interp, IoLoc, IoSlot, Mem, NumKind, Op, PrimitiveKind, RegionData,
    Sampling, Shader, Spacing, Stage, Type, Value,
};
use tepui_ir_gen::{Config, LANES, SLOT, memory, program};

/// Pixels of a row, of which there are as many.
const ROW: u32 = 4;
/// Points of a quad, and invocations of a patch.
const CORNERS: u32 = 4;
/// The start of results in a part of the buffer, and the last word of the inputs.
const RESULTS: i32 = 64;
const LAST_INPUT: i32 = 60;

/// All that graphics stages have: neither workgroups nor subgroups.
const CONFIG: Config = Config { shared: false, subgroups: false, div_zero: false, ..Config::all() };

fn slot(loc: IoLoc, kind: NumKind) -> IoSlot {
    let (interp, sampling) = (Interp::Flat, Sampling::Center);
    IoSlot { loc, component: 0, index: 0, kind, interp, sampling }
}

fn at(offset: i32) -> Attrs {
    Attrs::Mem(Mem { align_log2: 2, offset, ..Mem::default() })
}

/// The program as one of another stage: `number` makes the number of the invocation, `end` the outputs from four words of
/// results, with the buffer's handle and the offset of the invocation's part.
fn staged(
    mut s: Shader,
    stage: Stage,
    number: impl Fn(&mut Builder<'_>) -> Value,
    end: impl Fn(&mut Builder<'_>, Value, [Value; 2]),
) -> Shader {
    s.info.stage = stage;
    let root = s.root;
    let (mut lane, mut handle) = (None, None);
    for i in std::mem::take(&mut s.regions[root].insts) {
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadBuiltin, Attrs::Builtin(Builtin::LocalInvocationIndex)) => {
                let own = number(&mut Builder::at(&mut s, root));
                s.insts[i].op = Op::Copy;
                s.insts[i].attrs = Attrs::None;
                s.set_args(i, &[own]);
                lane = Some(own);
            }
            (Op::Descriptor, _) => handle = handle.or(Some(s.result(i))),
            (Op::Yield, _) => {
                let mut b = Builder::at(&mut s, root);
                let (lane, handle) = (lane.expect("a number"), handle.expect("a buffer"));
                let size = b.u32(SLOT);
                let base = b.binary(Op::IMul, lane, size);
                let four = Type::vec(32, 4);
                let words = b.value(Op::LoadBuffer, at(RESULTS), &[handle, base], four);
                end(&mut b, words, [handle, base]);
            }
            _ => {}
        }
        s.regions[root].insts.push(i);
    }
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    s
}

fn store(b: &mut Builder<'_>, slot: IoSlot, v: Value) {
    let zero = b.u32(0);
    b.effect(Op::StoreOutput, Attrs::Io(slot), &[v, zero]);
}

/// A fragment shader: the number is that of the pixel; some fragments are discarded before the end.
fn fragment(seed: u64, config: &Config) -> Shader {
    let number = |b: &mut Builder<'_>| {
        let place = b.builtin(Builtin::FragCoord, Type::vec(32, 4));
        let [x, y] = [0, 1].map(|k| {
            let v = b.value(Op::Extract, Attrs::Index(k), &[place], Type::B32);
            b.value(Op::F2U, Attrs::None, &[v], Type::B32)
        });
        let row = b.u32(ROW);
        let first = b.binary(Op::IMul, y, row);
        b.binary(Op::IAdd, first, x)
    };
    staged(program(seed, config), Stage::Fragment, number, |b, words, buffer| {
        let first = b.value(Op::Extract, Attrs::Index(0), &[words], Type::B32);
        let [three, one] = [3, 1].map(|n| b.u32(n));
        let low = b.binary(Op::IAnd, first, three);
        let gone = b.value(Op::IEq, Attrs::None, &[low, one], Type::B1);
        b.effect(Op::DemoteIf, Attrs::None, &[gone]);
        b.effect(Op::StoreBuffer, at(LAST_INPUT), &[buffer[0], buffer[1], three]);
        store(b, slot(IoLoc::Location(0), NumKind::Uint), words);
    })
}

/// The number of an invocation; of fragments four in each square, in rows of eight pixels.
pub fn number_of_lane(b: &mut Builder<'_>, stage: Stage) -> Value {
    match stage {
        Stage::Vertex => return b.builtin(Builtin::VertexIndex, Type::B32),
        Stage::Fragment => {}
        _ => return b.builtin(Builtin::PrimitiveId, Type::B32),
    }
    let place = b.builtin(Builtin::FragCoord, Type::vec(32, 4));
    let parts = b.split(place);
    let [x, y] = [0, 1].map(|k| b.value(Op::F2U, Attrs::None, &[parts[k]], Type::B32));
    let [one, two, four] = [1, 2, 4].map(|n| b.u32(n));
    let [left, top] = [x, y].map(|v| b.binary(Op::UShr, v, one));
    let [right, down] = [x, y].map(|v| b.binary(Op::IAnd, v, one));
    let squares = b.binary(Op::IMul, top, four);
    let square = b.binary(Op::IAdd, squares, left);
    let first = b.binary(Op::IMul, square, four);
    let row = b.binary(Op::IMul, down, two);
    let own = b.binary(Op::IAdd, row, right);
    b.binary(Op::IAdd, first, own)
}

/// Stores a vertex: the centre of a pixel, and its colour.
fn point(b: &mut Builder<'_>, id: Value, words: Value) {
    let [three, two] = [3, 2].map(|n| b.u32(n));
    let [x, y] = [b.binary(Op::IAnd, id, three), b.binary(Op::UShr, id, two)].map(|v| {
        let v = b.value(Op::U2F, Attrs::None, &[v], Type::B32);
        let (half, less) = (b.f32(0.5), b.f32(-0.75));
        let v = b.binary(Op::FMul, v, half);
        b.binary(Op::FAdd, v, less)
    });
    let (z, w) = (b.f32(0.5), b.f32(1.0));
    let place = b.vec(&[x, y, z, w]);
    store(b, slot(IoLoc::Builtin(Builtin::Position), NumKind::Float), place);
    store(b, slot(IoLoc::Location(0), NumKind::Uint), words);
}

/// A vertex shader of points, a pixel each.
fn vertex(seed: u64, config: &Config) -> Shader {
    let number = |b: &mut Builder<'_>| b.builtin(Builtin::VertexIndex, Type::B32);
    staged(program(seed, config), Stage::Vertex, number, |b, words, _| {
        let id = number(b);
        point(b, id, words);
    })
}

/// A geometry shader of points, of which some have another one over them.
fn geometry(seed: u64, config: &Config) -> Shader {
    let number = |b: &mut Builder<'_>| b.builtin(Builtin::PrimitiveId, Type::B32);
    let mut s = program(seed, config);
    s.info.primitives.input = Some(PrimitiveKind::Points);
    s.info.primitives.vertices = 2;
    staged(s, Stage::Geometry, number, |b, words, _| {
        let id = number(b);
        point(b, id, words);
        b.effect(Op::EmitVertex, Attrs::Index(0), &[]);
        let parts = b.split(words);
        let one = b.u32(1);
        let low = b.binary(Op::IAnd, parts[0], one);
        let again = b.value(Op::IEq, Attrs::None, &[low, one], Type::B1);
        let [go, none] = [0; 2].map(|_| b.shader.regions.push(RegionData::default()));
        Builder::at(b.shader, none).yield_(&[]);
        let mut inner = Builder::at(b.shader, go);
        let turned = inner.vec(&[parts[1], parts[3], parts[0], parts[2]]);
        point(&mut inner, id, turned);
        inner.effect(Op::EmitVertex, Attrs::Index(0), &[]);
        inner.yield_(&[]);
        b.if_(again, go, none, &[]);
    })
}

/// The corner of a quad that a point of a patch is, from 0 to 3.
fn corner(b: &mut Builder<'_>) -> Value {
    let coord = b.builtin(Builtin::TessCoord, Type::vec(32, 3));
    let parts = b.split(coord);
    let [u, v] = [0, 1].map(|k| b.value(Op::F2U, Attrs::None, &[parts[k]], Type::B32));
    let row = b.binary(Op::IAdd, v, v);
    b.binary(Op::IAdd, u, row)
}

/// The number of one of four invocations of a patch.
fn of_patch(b: &mut Builder<'_>, own: Value) -> Value {
    let patch = b.builtin(Builtin::PrimitiveId, Type::B32);
    let four = b.u32(4);
    let first = b.binary(Op::IMul, patch, four);
    b.binary(Op::IAdd, first, own)
}

/// Sets all levels to 1: quads have four points.
fn levels(b: &mut Builder<'_>) {
    let one = b.f32(1.0);
    for (builtin, count) in [(Builtin::TessLevelOuter, 4), (Builtin::TessLevelInner, 2)] {
        for component in 0..count {
            let slot = slot(IoLoc::Builtin(builtin), NumKind::Float);
            store(b, IoSlot { component, ..slot }, one);
        }
    }
}

/// A tessellation control shader of four invocations.
fn control(seed: u64, config: &Config) -> Shader {
    let number = |b: &mut Builder<'_>| {
        let own = b.builtin(Builtin::InvocationId, Type::B32);
        of_patch(b, own)
    };
    let mut s = program(seed, config);
    s.info.primitives.vertices = 4;
    staged(s, Stage::TessControl, number, |b, words, _| {
        let own = b.builtin(Builtin::InvocationId, Type::B32);
        let zero = b.u32(0);
        let attrs = Attrs::Io(slot(IoLoc::Location(0), NumKind::Uint));
        b.effect(Op::StoreOutputVertex, attrs, &[words, zero, own]);
        levels(b);
    })
}

/// A tessellation evaluation shader of four points.
fn evaluation(seed: u64, config: &Config) -> Shader {
    let number = |b: &mut Builder<'_>| {
        let own = corner(b);
        of_patch(b, own)
    };
    let mut s = program(seed, config);
    quads(&mut s);
    staged(s, Stage::TessEvaluation, number, |b, words, _| {
        let id = number(b);
        point(b, id, words);
    })
}

fn quads(s: &mut Shader) {
    let p = &mut s.info.primitives;
    (p.input, p.spacing, p.point_mode) = (Some(PrimitiveKind::Quads), Some(Spacing::Equal), true);
}

/// A control shader for [`evaluation`].
fn plain_control() -> Shader {
    let mut s = Shader::new(Stage::TessControl);
    s.info.primitives.vertices = 1;
    let mut b = Builder::new(&mut s);
    levels(&mut b);
    b.finish();
    s
}

/// An evaluation shader for [`control`]: the words of each vertex.
fn plain_evaluation() -> Shader {
    let mut s = Shader::new(Stage::TessEvaluation);
    quads(&mut s);
    let mut b = Builder::new(&mut s);
    let own = corner(&mut b);
    let zero = b.u32(0);
    let attrs = Attrs::Io(slot(IoLoc::Location(0), NumKind::Uint));
    let words = b.value(Op::LoadInputVertex, attrs, &[zero, own], Type::vec(32, 4));
    let id = of_patch(&mut b, own);
    point(&mut b, id, words);
    b.finish();
    s
}

/// Results of an execution: the buffer, and the colours of pixels that are written.
#[derive(PartialEq)]
struct Left {
    buffer: Vec<u8>,
    colours: Vec<Option<[u32; 4]>>,
}

fn interpreted(s: &Shader, seed: u64) -> Left {
    let mut memory: Memory = memory(seed);
    // Patches have groups of their own.
    let count = if s.info.stage == Stage::TessControl { CORNERS } else { LANES };
    let groups = (0..LANES).step_by(count as usize);
    let colours = groups.flat_map(|first| group(s, seed, [first, count], &mut memory)).collect();
    Left { buffer: memory.buffers[&(0, 0, 0)].clone(), colours }
}

/// Runs some invocations; the colours of their pixels.
fn group(
    s: &Shader,
    seed: u64,
    [first, count]: [u32; 2],
    memory: &mut Memory,
) -> Vec<Option<[u32; 4]>> {
    let mut g = Group::plain(count as usize);
    let each =
        |f: &dyn Fn(u32) -> Vec<u64>| (first..first + count).map(f).collect::<Vec<Vec<u64>>>();
    let centre = |n: u32| u64::from((n as f32 + 0.5).to_bits());
    let number = |n: u32| vec![u64::from(n)];
    g.builtins.insert(Builtin::VertexIndex, each(&number));
    let patches = matches!(s.info.stage, Stage::TessControl | Stage::TessEvaluation);
    let primitive = |k: u32| number(if patches { k / CORNERS } else { k });
    g.builtins.insert(Builtin::PrimitiveId, each(&primitive));
    g.builtins.insert(Builtin::InvocationId, each(&|k| number(k % CORNERS)));
    let at = |on: u32| u64::from((on as f32).to_bits());
    g.builtins.insert(Builtin::TessCoord, each(&|k| vec![at(k & 1), at(k >> 1 & 1), at(0)]));
    g.builtins.insert(
        Builtin::FragCoord,
        each(&|k| vec![centre(k % ROW), centre(k / ROW), centre(0), centre(0)]),
    );
    let out = run(s, &g, memory, 2_000_000).unwrap_or_else(|e| panic!("{seed}: {e}"));
    let colour = IoLoc::Location(0);
    let emitted = |k: usize, c: u8| {
        let last = out.emitted.iter().rev().find(|e| e.lane == k)?;
        match &last.emission {
            Emission::Vertex(words) => words.get(&(colour, c)).copied(),
            Emission::End => None,
        }
    };
    let word = |k: usize, c: u8| match s.info.stage {
        Stage::Geometry => emitted(k, c),
        Stage::TessControl => out.patch.vertices.get(&(colour, c, k as u32)).copied(),
        _ => out.outputs.get(&(colour, c, 0))?[k],
    };
    let pixel = |k: usize| {
        let live = !out.helpers[k];
        live.then(|| [0, 1, 2, 3].map(|c| word(k, c).unwrap_or(0)))
    };
    (0..count as usize).map(pixel).collect()
}

/// The colour that targets are filled with.
const CLEAR: u32 = 0xdead_beef;

/// The programs of a draw, of which one is random.
struct Pipeline<'a> {
    stage: Stage,
    vertex: &'a Program,
    primitives: Vec<&'a Program>,
    fragment: &'a Program,
    topology: u32,
    vertices: u32,
}

impl Pipeline<'_> {
    fn random(&self) -> &Program {
        match self.stage {
            Stage::Vertex => self.vertex,
            Stage::TessEvaluation => self.primitives[1],
            Stage::TessControl | Stage::Geometry => self.primitives[0],
            _ => self.fragment,
        }
    }
}

fn drawn(p: &Pipeline<'_>, seed: u64, width: u8) -> Result<Left, String> {
    let (none, mut own) = (Bindings::default(), Bindings::default());
    own.buffers = memory(seed).buffers.into_iter().collect();
    let mut d = Draw::triangle(p.vertex, p.fragment, [ROW; 2], &none);
    d.targets = vec![Format::Uint];
    d.clear = [CLEAR; 4];
    d.width = width;
    (d.topology, d.vertices) = (p.topology, [0, p.vertices]);
    match p.stage {
        Stage::Vertex => d.vertex_bindings = &own,
        Stage::Fragment => d.fragment_bindings = &own,
        _ => {}
    }
    let bindings = |q: &Program| if std::ptr::eq(q, p.random()) { &own } else { &none };
    d.primitives = p.primitives.iter().map(|&q| (q, bindings(q))).collect();
    if p.primitives.len() > 1 {
        let own = plain_evaluation().info.primitives;
        d.tessellator = Some(Tessellator::new(&own, &own, false));
    }
    let picture = machine().draw(&d).map_err(|e| e.to_string())?;
    if let Some(r) = picture.stats.reports.first() {
        return Err(format!("{:#x}: {}: {}", r.at.offset, r.at.text, r.what));
    }
    let buffer = picture.buffer(p.stage, (0, 0, 0)).to_vec();
    let colours = picture.colours[0].iter().map(|&c| (c != [CLEAR; 4]).then_some(c)).collect();
    Ok(Left { buffer, colours })
}

fn compiled(s: &Shader, registers: u16) -> Program {
    super::rig::program(s, FragmentState::default(), registers)
}

/// Seeds of a test, or those that `TEPUI_SEEDS` asks for.
fn seeds(first: u64, count: u64) -> Range<u64> {
    tepui_compiler_test::seeds(first, count)
}

fn compare(s: &Shader, p: &Pipeline<'_>, seed: u64) {
    let want = interpreted(s, seed);
    let own = p.random();
    let widths: Vec<u8> = match p.stage {
        Stage::Fragment => own.variants.iter().map(|v| v.width).chain([0]).collect(),
        _ => vec![0],
    };
    for width in widths {
        match drawn(p, seed, width) {
            Ok(got) => {
                let first = want.buffer.iter().zip(&got.buffer).position(|(a, b)| a != b);
                assert!(
                    first.is_none(),
                    "seed {seed}, {width} channels: byte {} of invocation {}\n{s}\n{}",
                    first.unwrap_or(0) as u32 % SLOT,
                    first.unwrap_or(0) as u32 / SLOT,
                    listing(own)
                );
                assert!(
                    want.colours == got.colours,
                    "seed {seed}, {width} channels: {:x?}, not {:x?}\n{s}\n{}",
                    got.colours,
                    want.colours,
                    listing(own)
                );
            }
            Err(e) => panic!("seed {seed}, {width} channels: {e}\n{s}\n{}", listing(own)),
        }
    }
}

/// A vertex program of a triangle over the whole target.
pub fn whole_of() -> Program {
    let text = "@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        return vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0);
    }";
    compiled(&wgsl(Stage::Vertex, text), 0)
}

fn fragments_of<'a>(vertex: &'a Program, fragment: &'a Program) -> Pipeline<'a> {
    let (primitives, topology, vertices) = (Vec::new(), TRIANGLES, 3);
    Pipeline { stage: Stage::Fragment, vertex, primitives, fragment, topology, vertices }
}

fn fragments(seeds: Range<u64>, config: &Config, registers: u16) -> u64 {
    let vs = whole_of();
    let mut spilled = 0;
    for seed in seeds {
        let s = fragment(seed, config);
        let p = compiled(&s, registers);
        spilled += u64::from(p.stats.spills > 0);
        compare(&s, &fragments_of(&vs, &p), seed);
    }
    spilled
}

#[test]
fn random_fragments() {
    const { assert!(SIDE > ROW) };
    fragments(seeds(0, 100), &CONFIG, 0);
}

#[test]
fn random_fragments_that_spill() {
    let spilled = fragments(seeds(1000, 40), &CONFIG, 20);
    assert!(spilled >= 20 || std::env::var_os("TEPUI_SEEDS").is_some(), "{spilled}");
}

/// A fragment shader that writes a flat input.
pub fn flat() -> Program {
    let text = "@fragment fn fs(@location(0) @interpolate(flat, first) v: vec4u)
        -> @location(0) vec4u { return v; }";
    compiled(&wgsl(Stage::Fragment, text), 0)
}

/// A vertex program whose vertices another stage reads.
pub fn first() -> Program {
    let text = "@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        return vec4f(f32(n));
    }";
    let options = Options { feeds_stage: true, ..Options::default() };
    super::rig::compiled(&wgsl(Stage::Vertex, text), options)
}

/// Random programs, some of them with few registers, in a pipeline.
fn random(stage: Stage, make: fn(u64, &Config) -> Shader, seed: u64) {
    let (vs, fs) = (first(), flat());
    let tessellates = stage != Stage::Geometry;
    let others = [plain_control(), plain_evaluation()];
    for (first, registers) in [(seed, 0), (seed + 500, 20)] {
        for seed in seeds(first, 40) {
            let s = make(seed, &CONFIG);
            let patch = match stage {
                Stage::TessControl => Some(PatchInterface::new(&s, &others[1], 1)),
                Stage::TessEvaluation => Some(PatchInterface::new(&others[0], &s, 1)),
                _ => None,
            };
            let options = Options { registers, patch, ..Options::default() };
            let own = super::rig::compiled(&s, options);
            let plain = Options { patch, ..Options::default() };
            let other = |k: usize| super::rig::compiled(&others[k], plain);
            let both = match stage {
                Stage::TessControl => Some(other(1)),
                Stage::TessEvaluation => Some(other(0)),
                _ => None,
            };
            let primitives = match (stage, &both) {
                (Stage::TessControl, Some(evaluation)) => vec![&own, evaluation],
                (_, Some(control)) => vec![control, &own],
                _ => vec![&own],
            };
            let (topology, vertices) = if tessellates { (patches(1), 4) } else { (POINTS, LANES) };
            let p = Pipeline { stage, vertex: &vs, primitives, fragment: &fs, topology, vertices };
            compare(&s, &p, seed);
        }
    }
}

#[test]
fn random_geometry() {
    random(Stage::Geometry, geometry, 4000);
}

#[test]
fn random_control() {
    random(Stage::TessControl, control, 5000);
}

#[test]
fn random_evaluation() {
    random(Stage::TessEvaluation, evaluation, 6000);
}

#[test]
fn random_vertices() {
    let fs = flat();
    for (first, registers) in [(2000, 0), (3000, 20)] {
        for seed in seeds(first, 60) {
            let s = vertex(seed, &CONFIG);
            let pack_elements = seed % 2 == 0;
            let options = Options { registers, pack_elements, ..Options::default() };
            let own = super::rig::compiled(&s, options);
            let (primitives, topology, vertices) = (Vec::new(), POINTS, LANES);
            let (stage, fragment) = (Stage::Vertex, &fs);
            let p = Pipeline { stage, vertex: &own, primitives, fragment, topology, vertices };
            compare(&s, &p, seed);
        }
    }
}
