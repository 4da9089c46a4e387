//! Five executors, one memory: each compute shader runs in the interpreter of the IR before and after all passes, as machine code on the model, and on
//! lavapipe, with the same inputs.
//!
//! Shaders: generated programs, written as SPIR-V by [`tepui_witness::emit`], which must leave the same bits; and the
//! compute shaders of `tools/corpus` that have buffers, whose floats may differ by what special functions may.

use std::collections::BTreeMap;
use std::path::Path;

use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, compile_prepared, prepare};
use tepui_ir::interp::{Memory, dispatch};
use tepui_ir::{Attrs, Builtin, InstFlags, Op, ResKind, Shader, Stage};
use tepui_ir_gen::{Config, Rng, inputs, program};
use tepui_passes::{lower_alu, pipeline};
use tepui_witness::dispatch::{Binding, Job, Left};
use tepui_witness::emit;
use tepui_witness::jobs::{self, Done};

/// Generated programs.
const PROGRAMS: u64 = 520;
/// Steps of the interpreter.
const LIMIT: u64 = 2_000_000;
/// Bytes of a buffer of a corpus shader.
const BUFFER: usize = 1 << 14;

/// A shader with its memory, ready for all.
struct Subject {
    job: Job,
    shader: Shader,
    start: Memory,
    /// Floats may differ a little.
    loose: bool,
}

fn job(name: String, spirv: Vec<u32>, s: &Shader, start: &Memory, groups: [u32; 3]) -> Job {
    let last = s.resources.values().map(|r| r.binding).max().unwrap_or(0);
    let bindings = (0..=last)
        .map(|b| match s.resources.values().find(|r| r.binding == b) {
            Some(r) => Binding {
                uniform: r.kind == ResKind::UniformBuffer,
                elements: (0..r.count.clamp(1, 8))
                    .map(|k| start.buffers[&(0, b, k)].clone())
                    .collect(),
            },
            None => Binding { uniform: false, elements: vec![vec![0; 16]] },
        })
        .collect();
    Job { name, spirv, groups, push: start.push.clone(), bindings }
}

fn generated() -> Vec<Subject> {
    let all =
        Config { int64: false, small: false, subgroups: false, div_zero: false, ..Config::all() };
    (0..PROGRAMS)
        .map(|seed| {
            let plain = Config { div_zero: false, ..Config::plain() };
            let shader = program(seed, if seed % 3 == 0 { &plain } else { &all });
            let mut lowered = shader.clone();
            lower_alu::run(&mut lowered, emit::LOWERED);
            let name = format!("program {seed}");
            let spirv = emit::module(&lowered).unwrap_or_else(|e| panic!("{name}: {e}\n{lowered}"));
            let mut start = Memory::default();
            start.buffers.insert((0, 0, 0), inputs(seed));
            let job = job(name, spirv, &shader, &start, [1; 3]);
            Subject { job, shader, start, loose: false }
        })
        .collect()
}

/// Why a shader of the corpus cannot be compared with a driver of another GPU.
fn unfit(s: &Shader) -> Option<&'static str> {
    let kinds = |k: ResKind| matches!(k, ResKind::UniformBuffer | ResKind::StorageBuffer);
    if s.resources.is_empty() {
        return Some("has no buffers");
    }
    if !s.resources.values().all(|r| kinds(r.kind)) {
        return Some("has images, which other tests compare");
    }
    if s.resources.values().any(|r| r.set != 0) {
        return Some("has several descriptor sets");
    }
    if s.resources.values().any(|r| r.count > 8) {
        return Some("has large arrays of descriptors");
    }
    let threads: u32 = s.info.workgroup_size.iter().product();
    if threads > 1024 || s.info.shared_bytes > 32768 {
        return Some("has larger workgroups than the machine");
    }
    let mut why = None;
    s.walk(|s, _, i| {
        if matches!(s.insts[i].op, Op::LoadGlobal | Op::StoreGlobal | Op::AtomicGlobal) {
            why = Some("goes by addresses, which are random here");
        }
        if let Attrs::Atomic(..) = s.insts[i].attrs
            && s.ty(s.result(i)).bits() == 64
        {
            why = Some("has 64-bit atomics, which the machine lacks");
        }
        let group =
            tepui_ir::op::OPS[s.insts[i].op as usize].props.contains(tepui_ir::Props::CONVERGENT);
        let built_in = matches!(
            s.insts[i].attrs,
            Attrs::Builtin(
                Builtin::SubgroupId
                    | Builtin::SubgroupSize
                    | Builtin::NumSubgroups
                    | Builtin::SubgroupInvocationId
            )
        );
        if (group && s.insts[i].op != Op::Barrier) || built_in {
            why = Some("looks at its sub-group, which has 32 lanes here");
        }
    });
    why
}

fn corpus(left_out: &mut BTreeMap<&'static str, usize>) -> Vec<Subject> {
    let mut all = Vec::new();
    for f in tepui_corpus::corpus("") {
        let words = tepui_corpus::read(&f).expect("a module can be read");
        let options = tepui_spirv::Options {
            entry: Some("main".to_owned()),
            stage: Some(Stage::Compute),
            ..Default::default()
        };
        let Ok(mut shader) = tepui_spirv::translate(&words, &options) else { continue };
        if shader.info.stage != Stage::Compute {
            continue;
        }
        if let Some(why) = unfit(&shader) {
            *left_out.entry(why).or_default() += 1;
            continue;
        }
        // Roundings must stay where they are.
        for d in shader.insts.values_mut() {
            d.flags |= InstFlags::EXACT | InstFlags::STRICT;
        }
        let name = f.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let start = memory(&shader, name.len() as u64);
        let job = job(name, words, &shader, &start, [2, 1, 1]);
        all.push(Subject { job, shader, start, loose: true });
    }
    all
}

fn memory(s: &Shader, seed: u64) -> Memory {
    let mut rng = Rng::new(seed);
    let mut word = || -> u32 {
        match rng.below(2) {
            0 => ((rng.below(4096) as f32 - 2048.0) / 64.0).to_bits(),
            _ => 1 + rng.below(15) as u32,
        }
    };
    let mut m = Memory { push: vec![1; 128], ..Memory::default() };
    for r in s.resources.values() {
        for k in 0..r.count.clamp(1, 8) {
            let bytes = (0..BUFFER / 4).flat_map(|_| word().to_le_bytes()).collect();
            m.buffers.insert((r.set, r.binding, k), bytes);
        }
    }
    m
}

/// Whether two memories are the same, or as near as special functions ask; the first difference else.
fn differ(s: &Subject, want: &Memory, got: &impl Fn(u32, u32) -> Vec<u8>) -> Option<String> {
    for (&(_, binding, element), bytes) in &want.buffers {
        let now = got(binding, element);
        for (k, (g, w)) in now.chunks_exact(4).zip(bytes.chunks_exact(4)).enumerate() {
            let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let (g, w) = (word(g), word(w));
            if g != w && !(s.loose && close(g, w)) {
                return Some(format!("binding {binding} byte {}: {g:#x} instead of {w:#x}", 4 * k));
            }
        }
    }
    None
}

fn close(a: u32, b: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    // What comes of a NaN, and whether one comes of two infinities, depends on how a function is computed.
    if x.is_nan() || y.is_nan() {
        return true;
    }
    let flush = |v: f32| if v.abs() < f32::MIN_POSITIVE { 0.0 } else { v };
    let (x, y) = (flush(x), flush(y));
    (x - y).abs() <= 1e-4 * x.abs().max(y.abs()).max(1e-4)
}

/// Variables that nobody wrote are zero in the interpreter and in the modules; here they must be, too.
fn define(s: &mut Shader) {
    for i in s.insts.keys().collect::<Vec<_>>() {
        if s.insts[i].op == Op::Undef && s.ty(s.result(i)).is_scalar() {
            s.insts[i].op = Op::Const;
            s.insts[i].attrs = Attrs::Const(0);
        }
    }
}

/// What the model leaves; `None` when the compiler refuses the shader.
fn model(s: &Subject) -> Option<Result<BTreeMap<(u32, u32), Vec<u8>>, String>> {
    let mut shader = s.shader.clone();
    let options = Options { robust: s.loose, ..Options::default() };
    prepare(&mut shader, &options, &mut |_, _| {});
    define(&mut shader);
    let p = compile_prepared(&shader, &options, &mut |_, _| {}).ok()?;
    let options =
        tepui_agx_model::Options { threads: 1, instruction_budget: 1 << 24, ..Default::default() };
    let mut machine = Machine::new(options).expect("a machine");
    let mut b = shader::Bindings { push: s.start.push.clone(), ..Default::default() };
    for (slot, bytes) in &s.start.buffers {
        let buffer = machine.buffer(bytes.len()).expect("memory");
        buffer.write(bytes).expect("as large");
        b.buffers.insert(*slot, buffer);
    }
    if let Err(e) = shader::run(&mut machine, &p, &b, s.job.groups) {
        return Some(Err(e.to_string()));
    }
    Some(Ok(b.buffers.iter().map(|(k, v)| ((k.1, k.2), v.read().expect("bound"))).collect()))
}

#[derive(Default, Debug)]
struct Tally {
    agree: usize,
    refused: usize,
    not_run: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

fn judge(s: &Subject, lavapipe: &Done<Left>, t: &mut Tally) {
    let mut want = s.start.clone();
    let name = &s.job.name;
    if let Err(e) = dispatch(&s.shader, s.job.groups, &mut want, LIMIT) {
        let why = e.to_string();
        let why = why.split_once(": ").map_or(why.as_str(), |w| w.1);
        *t.not_run.entry(why.to_owned()).or_default() += 1;
        return;
    }
    if s.loose && want.out_of_bounds > 0 {
        *t.not_run.entry("goes out of bounds with these inputs".to_owned()).or_default() += 1;
        return;
    }
    let mut wrong = |who: &str, what: String| t.wrong.push(format!("{name}: {who}: {what}"));
    let mut after = s.shader.clone();
    pipeline::optimise(&mut after);
    let mut memory = s.start.clone();
    match dispatch(&after, s.job.groups, &mut memory, LIMIT) {
        Err(e) => return wrong("after the passes", e.to_string()),
        Ok(_) => {
            let got = |b, e| memory.buffers[&(0, b, e)].clone();
            if let Some(d) = differ(s, &want, &got) {
                return wrong("after the passes", d);
            }
        }
    }
    match model(s) {
        None => t.refused += 1,
        Some(Err(e)) => return wrong("model", e),
        Some(Ok(buffers)) => {
            if let Some(d) = differ(s, &want, &|b, e| buffers[&(b, e)].clone()) {
                return wrong("model", d);
            }
        }
    }
    match lavapipe {
        Err(e) => wrong("lavapipe", e.clone()),
        Ok(bindings) => {
            let got = |b: u32, e: u32| bindings[b as usize][e as usize].clone();
            match differ(s, &want, &got) {
                Some(d) => wrong("lavapipe", d),
                None => t.agree += 1,
            }
        }
    }
}

fn compare(subjects: &[Subject]) -> Tally {
    let jobs: Vec<Job> = subjects.iter().map(|s| s.job.clone()).collect();
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("executors");
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    let done = jobs::ask(witness, "dispatch", &dir, &jobs);
    let mut t = Tally::default();
    for (s, d) in subjects.iter().zip(&done) {
        judge(s, d, &mut t);
    }
    t
}

#[test]
fn interpreter_model_and_lavapipe_leave_the_same() {
    let programs = generated();
    let count = programs.len();
    let mut left_out = BTreeMap::new();
    let mut all = programs;
    all.extend(corpus(&mut left_out));
    let t = compare(&all);
    println!(
        "{count} programs, {} shaders of the corpus; all agree on {}",
        all.len() - count,
        t.agree
    );
    println!("refused by the compiler: {}", t.refused);
    for (why, n) in &t.not_run {
        println!("{n:5} not run: {why}");
    }
    for (why, n) in &left_out {
        println!("{n:5} left out: {why}");
    }
    for w in &t.wrong {
        println!("wrong: {w}");
    }
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    assert!(t.agree >= 500, "{t:?}");
}
