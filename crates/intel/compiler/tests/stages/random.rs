//! Random programs as vertex and as fragment shaders: sixteen points, or sixteen pixels, each with its part of a buffer. The
//! interpreter and the model leave the same memory and the same colours.

use super::rig::{SIDE, listing, machine, wgsl};
use std::ops::Range;
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::{Draw, Format, POINTS};
use tepui_intel_compiler::{FragmentState, Program};
use tepui_ir::interp::{Group, Memory, run};
use tepui_ir::{
    Attrs, Builder, Builtin, Interp, IoLoc, IoSlot, Mem, NumKind, Op, Sampling, Shader, Stage,
    Type, Value,
};
use tepui_ir_gen::{Config, LANES, SLOT, memory, program};

/// Pixels of a row, of which there are as many.
const ROW: u32 = 4;
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

/// A vertex shader of points, a pixel each.
fn vertex(seed: u64, config: &Config) -> Shader {
    let number = |b: &mut Builder<'_>| b.builtin(Builtin::VertexIndex, Type::B32);
    staged(program(seed, config), Stage::Vertex, number, |b, words, _| {
        let id = b.builtin(Builtin::VertexIndex, Type::B32);
        let [three, two] = [3, 2].map(|n| b.u32(n));
        let [x, y] = [b.binary(Op::IAnd, id, three), b.binary(Op::UShr, id, two)].map(|v| {
            // The centre of a pixel.
            let v = b.value(Op::U2F, Attrs::None, &[v], Type::B32);
            let (half, less) = (b.f32(0.5), b.f32(-0.75));
            let v = b.binary(Op::FMul, v, half);
            b.binary(Op::FAdd, v, less)
        });
        let (z, w) = (b.f32(0.5), b.f32(1.0));
        let place = b.vec(&[x, y, z, w]);
        store(b, slot(IoLoc::Builtin(Builtin::Position), NumKind::Float), place);
        store(b, slot(IoLoc::Location(0), NumKind::Uint), words);
    })
}

/// Results of an execution: the buffer, and the colours of pixels that are written.
#[derive(PartialEq)]
struct Left {
    buffer: Vec<u8>,
    colours: Vec<Option<[u32; 4]>>,
}

fn interpreted(s: &Shader, seed: u64) -> Left {
    let mut memory: Memory = memory(seed);
    let mut g = Group::plain(LANES as usize);
    let each = |f: &dyn Fn(u32) -> Vec<u64>| (0..LANES).map(f).collect::<Vec<_>>();
    let centre = |n: u32| u64::from((n as f32 + 0.5).to_bits());
    g.builtins.insert(Builtin::VertexIndex, each(&|k| vec![u64::from(k)]));
    g.builtins.insert(
        Builtin::FragCoord,
        each(&|k| vec![centre(k % ROW), centre(k / ROW), centre(0), centre(0)]),
    );
    let out = run(s, &g, &mut memory, 2_000_000).unwrap_or_else(|e| panic!("{seed}: {e}"));
    let word = |k: usize, c: u8| out.outputs.get(&(IoLoc::Location(0), c, 0))?[k];
    let colours = (0..LANES as usize).map(|k| {
        let live = !out.helpers[k];
        live.then(|| [0, 1, 2, 3].map(|c| word(k, c).unwrap_or(0)))
    });
    Left { buffer: memory.buffers[&(0, 0, 0)].clone(), colours: colours.collect() }
}

/// The colour that targets are filled with.
const CLEAR: u32 = 0xdead_beef;

fn drawn([v, f]: [&Program; 2], seed: u64, width: u8, points: bool) -> Result<Left, String> {
    let (none, mut own) = (Bindings::default(), Bindings::default());
    own.buffers = memory(seed).buffers.into_iter().collect();
    let mut d = Draw::triangle(v, f, [ROW; 2], &none);
    d.targets = vec![Format::Uint];
    d.clear = [CLEAR; 4];
    d.width = width;
    if points {
        (d.topology, d.vertices, d.vertex_bindings) = (POINTS, [0, LANES], &own);
    } else {
        d.fragment_bindings = &own;
    }
    let p = machine().draw(&d).map_err(|e| e.to_string())?;
    if let Some(r) = p.stats.reports.first() {
        return Err(format!("{:#x}: {}: {}", r.at.offset, r.at.text, r.what));
    }
    let buffer = p.bindings[usize::from(!points)].buffers[&(0, 0, 0)].clone();
    let colours = p.colours[0].iter().map(|&c| (c != [CLEAR; 4]).then_some(c)).collect();
    Ok(Left { buffer, colours })
}

fn compiled(s: &Shader, registers: u16) -> Program {
    super::rig::program(s, FragmentState::default(), registers)
}

/// Seeds of a test, or those that `TEPUI_SEEDS` asks for.
fn seeds(first: u64, count: u64) -> Range<u64> {
    tepui_compiler_test::seeds(first, count)
}

fn compare(s: &Shader, programs: [&Program; 2], seed: u64, points: bool) {
    let want = interpreted(s, seed);
    let own = programs[usize::from(!points)];
    let widths: Vec<u8> = match points {
        true => vec![0],
        false => own.variants.iter().map(|v| v.width).chain([0]).collect(),
    };
    for width in widths {
        match drawn(programs, seed, width, points) {
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

fn whole() -> Program {
    let text = "@vertex fn vs(@builtin(vertex_index) n: u32) -> @builtin(position) vec4f {
        return vec4f(f32(n & 1u) * 4.0 - 1.0, f32(n >> 1u) * 4.0 - 1.0, 0.5, 1.0);
    }";
    compiled(&wgsl(Stage::Vertex, text), 0)
}

fn fragments(seeds: Range<u64>, config: &Config, registers: u16) -> u64 {
    let vs = whole();
    let mut spilled = 0;
    for seed in seeds {
        let s = fragment(seed, config);
        let p = compiled(&s, registers);
        spilled += u64::from(p.stats.spills > 0);
        compare(&s, [&vs, &p], seed, false);
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

#[test]
fn random_vertices() {
    let fs = compiled(
        &wgsl(
            Stage::Fragment,
            "@fragment fn fs(@location(0) @interpolate(flat, first) v: vec4u) -> @location(0) vec4u {
                return v;
            }",
        ),
        0,
    );
    for (first, registers) in [(2000, 0), (3000, 20)] {
        for seed in seeds(first, 60) {
            let s = vertex(seed, &CONFIG);
            compare(&s, [&compiled(&s, registers), &fs], seed, true);
        }
    }
}
