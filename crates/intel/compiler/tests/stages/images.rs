//! Random image instructions in stages of draws: what they leave in buffers and images is what the interpreter leaves.

use super::image_memory::bindings;
use super::random::{first, flat, number_of_lane, whole_of};
use super::rig::{compiled, listing, machine, wgsl};
use tepui_compiler_test::images::{compare, divides_quads, memory};
use tepui_intel_bare::Bindings;
use tepui_intel_bare::draw::{Draw, POINTS};
use tepui_intel_compiler::{Options, Program};
use tepui_ir::interp::{Group, run};
use tepui_ir::{Attrs, Builder, Builtin, DerivativeGroup, Op, PrimitiveKind, Shader, Stage, Value};
use tepui_ir_gen::image_programs::{LANES, program};

/// Width of the target of most draws.
const ROW: u32 = 8;
/// Lanes of programs that store, and the width of their target: two squares.
const FEW_LANES: u32 = 8;
const FEW_ROW: u32 = 4;

/// The program as a shader of another stage; `None` if its derivatives need other squares than the stage has, or come from
/// several messages.
fn staged(text: &str, stage: Stage) -> Option<Shader> {
    let mut s = tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let implicit = s.info.derivatives != DerivativeGroup::None;
    let squares = s.info.derivatives == DerivativeGroup::Quads;
    if squares || implicit && stage != Stage::Fragment || divides_quads(&s, true) {
        return None;
    }
    s.info.stage = stage;
    s.info.derivatives = DerivativeGroup::None;
    s.info.workgroup_size = [1; 3];
    s.info.primitives.input = Some(PrimitiveKind::Points);
    let root = s.root;
    for i in std::mem::take(&mut s.regions[root].insts) {
        if s.insts[i].attrs == Attrs::Builtin(Builtin::LocalInvocationIndex) {
            let own: Value = number_of_lane(&mut Builder::at(&mut s, root), stage);
            (s.insts[i].op, s.insts[i].attrs) = (Op::Copy, Attrs::None);
            s.set_args(i, &[own]);
        }
        s.regions[root].insts.push(i);
    }
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    Some(s)
}

/// The lanes of a group, by number; fragments four to a square.
fn group(stage: Stage, lanes: u32) -> Group {
    let mut g = Group::plain(lanes as usize);
    let each = |f: &dyn Fn(u32) -> Vec<u64>| (0..lanes).map(f).collect::<Vec<_>>();
    let place = |lane: u32| {
        let (square, k) = (lane / 4, lane % 4);
        [square % (ROW / 2) * 2 + k % 2, square / (ROW / 2) * 2 + k / 2]
    };
    let centre = |n: u32| u64::from((n as f32 + 0.5).to_bits());
    match stage {
        Stage::Fragment => {
            let at = |lane| [place(lane).map(centre), [0; 2]].concat();
            g.builtins.insert(Builtin::FragCoord, each(&at));
        }
        Stage::Vertex => _ = g.builtins.insert(Builtin::VertexIndex, each(&|n| vec![n.into()])),
        _ => _ = g.builtins.insert(Builtin::PrimitiveId, each(&|n| vec![n.into()])),
    }
    g
}

struct Programs {
    stage: Stage,
    /// The program before the stage.
    first: Program,
    whole: Program,
    /// The program after the stage.
    last: Program,
}

/// Runs a program in a stage; why it is refused, if it is.
fn check(others: &Programs, seed: u64, storage: bool) -> Option<String> {
    let stage = others.stage;
    // What a thread stores another one may load before or after.
    let (lanes, row) = if storage { (FEW_LANES, FEW_ROW) } else { (LANES, ROW) };
    let mut p = program(seed, storage, lanes);
    if p.text.contains("tex_gather") {
        // The model clamps level 0 of a gather to the sampler's range, which Vulkan leaves out.
        p.sampler.min_lod = 0.0;
    }
    let Some(s) = staged(&p.text, stage) else { return Some("other squares".to_owned()) };
    let start = memory(&p, seed);
    let mut want = start.clone();
    run(&s, &group(stage, lanes), &mut want, 1 << 20).unwrap_or_else(|e| panic!("{seed}: {e}"));
    let generation = super::rig::generation();
    let options = Options { check: true, ..Options::default() };
    let own = match tepui_intel_compiler::compile(&mut s.clone(), generation, &options) {
        Ok(own) => own,
        Err(e) if e.is_bug() => panic!("seed {seed}: {e}\n{s}"),
        Err(e) => return Some(e.to_string()),
    };
    let bound = bindings(&s, &start);
    let none = Bindings::default();
    let (v, f) = match stage {
        Stage::Vertex => (&own, &others.last),
        Stage::Fragment => (&others.whole, &own),
        _ => (&others.first, &others.last),
    };
    let mut d = Draw::triangle(v, f, [row, lanes / row], &none);
    d.width = if stage == Stage::Fragment {
        own.variants[seed as usize % own.variants.len()].width
    } else {
        0
    };
    match stage {
        Stage::Vertex => d.vertex_bindings = &bound,
        Stage::Fragment => d.fragment_bindings = &bound,
        _ => d.primitives = vec![(&own, &bound)],
    }
    if stage != Stage::Fragment {
        (d.topology, d.vertices) = (POINTS, [0, lanes]);
    }
    let picture =
        machine().draw(&d).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{s}\n{}", listing(&own)));
    if let Some(r) = picture.stats.reports.first() {
        panic!(
            "seed {seed}: {:#x}: {}: {}\n{s}\n{}",
            r.at.offset,
            r.at.text,
            r.what,
            listing(&own)
        );
    }
    let left = picture.bindings(stage).expect("the stage is there");
    let mut now = start;
    now.buffers.extend(left.buffers.iter().map(|(&slot, bytes)| (slot, bytes.clone())));
    now.images.extend(left.images.iter().map(|(&slot, p)| (slot, p.data.clone())));
    compare(&p, seed, &now, &want, &listing(&own));
    None
}

/// Runs programs of a stage, of sampled and of storage images.
fn check_all(stage: Stage) {
    let fs = wgsl(Stage::Fragment, "@fragment fn fs() {}");
    let last = if stage == Stage::Vertex { compiled(&fs, Options::default()) } else { flat() };
    let others = Programs { stage, first: first(), whole: whole_of(), last };
    for storage in [false, true] {
        let (mut same, mut refused) = (0, Vec::new());
        for seed in tepui_compiler_test::seeds(0, 60) {
            match check(&others, seed, storage) {
                None => same += 1,
                Some(why) => refused.push(why),
            }
        }
        // The hardware has no multisampled storage images, and the data port tells no residency.
        let known = ["multisampled images", "with residency: the data port", "other squares"];
        let expected = |why: &String| known.iter().any(|known| why.contains(known));
        assert!(refused.iter().all(expected), "{refused:#?}");
        assert!(same > 20 || std::env::var_os("TEPUI_SEEDS").is_some(), "{same}");
    }
}

#[test]
fn images_of_vertices() {
    check_all(Stage::Vertex);
}

#[test]
fn images_of_primitives() {
    check_all(Stage::Geometry);
}

#[test]
fn images_of_fragments() {
    check_all(Stage::Fragment);
}
