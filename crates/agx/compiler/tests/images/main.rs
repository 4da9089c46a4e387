//! Random image instructions: what the machine code leaves in buffers and images is what the
//! interpreter leaves.

mod arrays;
mod residency;

use tepui_agx_bare::bind::Bound;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, Snapshot, compile_prepared, lower, prepare};
use tepui_agx_model::{Report, ReportKind};
use tepui_ir::NumKind;
use tepui_ir::interp::{Group, ImageData, Memory, run};
use tepui_ir_gen::Rng;
use tepui_ir_gen::image_programs::{ELEMENTS, INPUTS, LANES, Program, RESULTS, program};
use tepui_ir_gen::texels::{format_of, quantise};

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

fn listing(code: &[u8]) -> String {
    tepui_agx_isa::disasm::Disassembler::new(code).map(|l| format!("{l}\n")).collect()
}

fn check(seed: u64, storage: bool, optimised: bool) {
    let p = program(seed, storage, LANES);
    let mut s = tepui_ir::parse(&p.text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    let start = memory(&p, seed);
    let mut want = start.clone();
    let group = Group::workgroup(&s, [0; 3], [1; 3]);
    run(&s, &group, &mut want, 1 << 20).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    let first = s.clone();
    let options = Options::default();
    if optimised {
        prepare(&mut s, &options, &mut |_, _| {});
    } else {
        lower(&mut s, &options, &mut |_, _| {});
    }
    let mut mir = String::new();
    let compiled = compile_prepared(&s, &options, &mut |_, m| {
        if let Snapshot::Mir(m) = m {
            mir = m.to_string();
        }
    })
    .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}\n{s}\n{mir}", p.text));
    let code = listing(&compiled.code);
    let options = tepui_agx_model::Options {
        threads: 1,
        check: true,
        uninitialised: tepui_agx_model::POISON,
        instruction_budget: 1 << 20,
        ..Default::default()
    };
    let mut machine = Machine::new(options).expect("a machine");
    let bound = Bound::new(&mut machine, &first, &start).expect("memory");
    let stats = shader::run(&mut machine, &compiled, &bound.bindings, [1; 3])
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}\n{code}", p.text));
    // Halves that an instruction ignores are copied and read: a minimum of the level of detail after
    // gradients takes a register of 32 bits, of which the low half counts, and a query of an array's
    // level ignores the layer.
    let spare = |r: &Report| {
        r.kind == ReportKind::UnwrittenRegister
            && ["lod_grad_min", "query_lod"].iter().any(|word| code.contains(word))
    };
    if let Some(r) = stats.reports.iter().find(|r| !spare(r)) {
        panic!("seed {seed}: {}: {}\n{}\n{code}", r.at.text, r.what, p.text);
    }
    let now = bound.memory(&start).expect("bound");
    let got = now.words(0, 1);
    let floats = |v: &[u32]| v.iter().map(|&x| f32::from_bits(x)).collect::<Vec<_>>();
    for (k, (&g, &w)) in got.iter().zip(&want.words(0, 1)).enumerate() {
        assert!(
            close(&p, g, w),
            "seed {seed}: lane {} word {}: {g:#x} ({}) instead of {w:#x} ({})\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{}\n{code}",
            k as u32 / RESULTS,
            k as u32 % RESULTS,
            f32::from_bits(g),
            f32::from_bits(w),
            floats(&got[k & !3..][..4]),
            floats(&want.words(0, 1)[k & !3..][..4]),
            (
                floats(&p.inputs[k / RESULTS as usize * INPUTS as usize..][..8]),
                &p.inputs[k / RESULTS as usize * INPUTS as usize..][8..16]
            ),
            p.shape,
            p.sampler,
            p.text
        );
    }
    for (slot, now) in &now.images {
        let wanted = &want.images[slot];
        for (k, (g, w)) in
            now.levels.iter().flatten().zip(wanted.levels.iter().flatten()).enumerate()
        {
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
                "seed {seed}: element {} texel {k}: {g:x?} instead of {w:x?}\n{:?}\n{}\n{code}",
                slot.2,
                p.shape,
                p.text
            );
        }
    }
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    // More in a run of its own: TEPUI_SEEDS=FROM..TO.
    if let Ok(text) = std::env::var("TEPUI_SEEDS")
        && let Some((a, b)) = text.split_once("..")
        && let (Ok(a), Ok(b)) = (a.parse(), b.parse())
    {
        return a..b;
    }
    0..count
}

#[test]
fn textures() {
    for seed in seeds(400) {
        check(seed, false, seed % 4 != 0);
    }
}

#[test]
fn storage_images() {
    for seed in seeds(300) {
        check(seed, true, seed % 4 != 0);
    }
}
