//! Random image instructions: what the machine code leaves in buffers and images is what the interpreter leaves.

use tepui_intel_bare::image::Picture;
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_chips::chip;
use tepui_intel_compiler::set_memory::placement;
use tepui_intel_compiler::{Options, compile_prepared, lower, prepare};
use tepui_intel_isa::{Generation, Inst};
use tepui_ir::interp::{Group, ImageData, Memory, run};
use tepui_ir::{DerivativeGroup, NumKind, Op, Shader};
use tepui_ir_gen::Rng;
use tepui_ir_gen::image_programs::{ELEMENTS, LANES, Program, RESULTS, program};
use tepui_ir_gen::texels::{format_of, quantise};
use tepui_passes::divergence::Divergence;

/// Memory with random texels.
fn memory(p: &Program, seed: u64) -> Memory {
    let mut rng = Rng::new(seed);
    let mut m = Memory::default();
    m.set_words(0, 0, &p.inputs);
    m.buffers.insert((0, 1, 0), vec![0; (LANES * RESULTS * 4) as usize]);
    let s = &p.shape;
    for e in 0..ELEMENTS {
        let mut image = ImageData::multisampled(s.size, s.layers, s.levels, s.samples);
        image.format = s.format;
        for t in image.levels.iter_mut().flatten() {
            *t = [0; 4].map(|_: u64| match s.kind {
                NumKind::Float => u64::from((rng.below(1025) as f32 / 1024.0).to_bits()),
                _ => rng.below(100) as u64,
            });
        }
        let format = format_of(s.format).expect("known");
        quantise(&mut image, format, s.kind).expect("a plain format");
        m.images.insert((0, 2, e), image);
        m.samplers.insert((0, 3, e), p.sampler);
    }
    m
}

fn bindings(s: &Shader, m: &Memory) -> Bindings {
    let images = m.images.iter().map(|(&slot, data)| {
        let mut named = s.resources.values();
        let r = named.find(|r| (r.set, r.binding) == (slot.0, slot.1)).expect("declared");
        (slot, Picture::new(data.clone(), r))
    });
    Bindings {
        buffers: m.buffers.iter().map(|(&k, v)| (k, v.clone())).collect(),
        images: images.collect(),
        samplers: m.samplers.iter().map(|(&k, &v)| (k, v)).collect(),
        sets: placement(s),
        ..Bindings::default()
    }
}

fn listing(generation: Generation, code: &[u8]) -> String {
    let (mut text, mut at) = (String::new(), 0);
    while let Ok(inst) = Inst::decode(generation, code, at) {
        text += &format!("{at:#06x} {inst}\n");
        at += inst.bytes();
    }
    text
}

fn close(p: &Program, got: u32, want: u32) -> bool {
    if got == want {
        return true;
    }
    if p.shape.kind != NumKind::Float {
        return false;
    }
    let (g, w) = (f32::from_bits(got), f32::from_bits(want));
    // Weights have 8 bits, so each is off by 1/512 at most: those of up to three axes and the one between two levels. Texels are in 0..1,
    // so the result is off by the sum of these at most.
    let tolerance = if p.filtered { 4.0 / 512.0 + 1e-5 } else { 1e-6 };
    (g - w).abs() <= tolerance
}

/// Why some programs have no result to compare.
const QUADS: &str = "lanes of a quad are in different messages and have no derivatives";

/// Why some programs of 32 channels are not compiled.
const REGISTERS: &str = "registers";

/// Whether lanes choose the descriptors or the texel offsets of lookups with implicit derivatives: lanes of a quad that
/// have the same ones are in one message, others not.
fn divided_quads(s: &Shader) -> bool {
    let divergence = Divergence::new(s);
    s.any(|s, _, i| {
        let implicit = matches!(s.insts[i].op, Op::TexSample | Op::TexQueryLod);
        implicit
            && s.info.derivatives != DerivativeGroup::None
            && (s.args(i)[..2].iter().any(|&h| divergence.is_divergent(h))
                || s.tex_args(i)
                    .and_then(|(_, t)| t.offset)
                    .is_some_and(|o| divergence.is_divergent(o)))
    })
}

/// The result of a program: the same memory, or refused with a reason.
fn check(
    generation: Generation,
    width: u8,
    seed: u64,
    storage: bool,
    optimised: bool,
) -> Option<String> {
    // What a thread stores another one of the workgroup may load before or after.
    let lanes = if storage { u32::from(width) } else { LANES };
    let mut p = program(seed, storage, lanes);
    if p.text.contains("tex_gather") {
        // The model clamps level 0 of a gather to the sampler's range, which Vulkan leaves out.
        p.sampler.min_lod = 0.0;
    }
    let mut s = tepui_ir::parse(&p.text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    if divided_quads(&s) {
        return Some(QUADS.to_owned());
    }
    let start = memory(&p, seed);
    let mut want = start.clone();
    let group = Group::workgroup(&s, [0; 3], [1; 3]);
    run(&s, &group, &mut want, 1 << 20).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    let first = s.clone();
    let options = Options { width, check: true, ..Options::default() };
    match optimised {
        true => prepare(&mut s, generation, &options, &mut |_, _| {}),
        false => lower(&mut s, generation, &options, &mut |_, _| {}),
    }
    let compiled = match compile_prepared(&s, generation, &options, &mut |_, _| {}) {
        Ok(compiled) => compiled,
        Err(e) if e.is_bug() => panic!("seed {seed}: {e}\n{}\n{s}", p.text),
        Err(e) => return Some(e.to_string()),
    };
    let code = listing(generation, &compiled.code);
    let model = tepui_intel_model::Options {
        threads: 1,
        check: true,
        max_instructions: 1 << 22,
        ..Default::default()
    };
    let id = if generation == Generation::Gen9 { "skl" } else { "tgl" };
    let machine = Machine::new(chip(id).expect("a chip"), model);
    let mut bound = bindings(&first, &start);
    let stats = machine
        .run(&compiled, &mut bound, [1; 3])
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}\n{s}\n{code}", p.text));
    if let Some(r) = stats.reports.first() {
        panic!("seed {seed}: {:#x}: {}: {}\n{}\n{code}", r.at.offset, r.at.text, r.what, p.text);
    }
    let got: Vec<u32> = bound.buffers[&(0, 1, 0)]
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| u32::from_le_bytes(*b))
        .collect();
    for (k, (&g, &w)) in got.iter().zip(&want.words(0, 1)).enumerate() {
        assert!(
            close(&p, g, w),
            "{generation} width {width} seed {seed}: lane {} word {}: {g:#x} ({}) instead of {w:#x} ({})\n{:?}\n{:?}\n{}\n{s}\n{code}",
            k as u32 / RESULTS,
            k as u32 % RESULTS,
            f32::from_bits(g),
            f32::from_bits(w),
            p.shape,
            p.sampler,
            p.text
        );
    }
    for (slot, now) in &bound.images {
        let wanted = &want.images[slot];
        let all = now.data.levels.iter().flatten().zip(wanted.levels.iter().flatten());
        for (k, (g, w)) in all.enumerate() {
            // A value in the middle between two numbers of the format may round either way.
            let step = match p.shape.format.name() {
                n if n.contains("32") => 0.0,
                n if n.contains("8") => 1.01 / 127.0,
                n if n.contains("10") => 1.0 / 32.0,
                _ => 1.0 / 1024.0,
            };
            let same = |c: usize| {
                let (x, y) = (f32::from_bits(g[c] as u32), f32::from_bits(w[c] as u32));
                g[c] == w[c] || (p.shape.kind == NumKind::Float && (x - y).abs() <= step)
            };
            assert!(
                (0..4).all(same),
                "{generation} width {width} seed {seed}: element {} texel {k}: {g:x?} instead of {w:x?}\n{:?}\n{}\n{s}\n{code}",
                slot.2,
                p.shape,
                p.text
            );
        }
    }
    None
}

/// Seeds of programs; `TEPUI_SEEDS=FROM..TO` chooses others.
fn check_all(count: u64, storage: bool) {
    let mut refused = std::collections::BTreeMap::<String, u32>::new();
    let mut same = 0;
    for generation in [Generation::Gen9, Generation::Gen12] {
        for seed in tepui_compiler_test::seeds(0, count) {
            let width = [8, 16, 32][seed as usize % 3];
            match check(generation, width, seed, storage, seed % 4 != 0) {
                None => same += 1,
                // Long messages of 32 channels take half of the registers, twice.
                Some(why) if width == 32 && why.contains("units of registers") => {
                    *refused.entry(REGISTERS.to_owned()).or_default() += 1;
                }
                Some(why) => *refused.entry(why).or_default() += 1,
            }
        }
    }
    println!("{same} the same, refused: {refused:#?}");
    // The hardware has no multisampled storage images, and the data port tells no residency.
    let known = ["multisampled images", "with residency: the data port", QUADS, REGISTERS];
    let expected = |why: &String| known.iter().any(|known| why.contains(known));
    assert!(refused.keys().all(expected), "{refused:#?}");
    assert!(same > 0);
}

#[test]
fn sampled_images() {
    check_all(300, false);
}

#[test]
fn storage_images() {
    check_all(300, true);
}
