//! Random image instructions: what the machine code leaves in buffers and images is what the
//! interpreter leaves.

use std::collections::BTreeMap;

use crate::{Compiler, Executor, Failure, Refusal};
use tepui_ir::interp::{Group, ImageData, Memory, Slot, run};
use tepui_ir::{DerivativeGroup, ImageFormat, NumKind, Op, Shader};
use tepui_ir_gen::Rng;
use tepui_ir_gen::image_programs::{ELEMENTS, INPUTS, LANES, Program, RESULTS, program};
use tepui_ir_gen::texels::{format_of, quantise};
use tepui_passes::divergence::Divergence;

/// Kind of the instructions of random programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Images {
    /// Textures and texel buffers, with samplers.
    Textures,
    /// Storage images and storage texel buffers.
    Storage,
}

/// Counters of a run.
#[derive(Default, Debug)]
pub struct Tally {
    /// Programs that left the same memory.
    pub same: usize,
    /// Programs that were not compiled or not run, by reason.
    pub refused: BTreeMap<String, usize>,
}

impl Tally {
    /// Asserts that some programs left the same memory, and that the reasons of all others contain one of `known`.
    ///
    /// # Panics
    /// When that is not so.
    pub fn takes_all_but(&self, known: &[&str]) {
        println!("{self:?}");
        assert!(self.same > 0, "{self:?}");
        let is_known = |why: &String| known.iter().any(|known| why.contains(known));
        assert!(self.refused.keys().all(is_known), "{self:?}");
    }
}

/// Why some programs are not run: see [`divides_quads`].
pub const QUADS: &str = "lanes of a quad are in different messages and have no derivatives";

/// Whether lanes choose the descriptors of lookups with implicit derivatives, or with `offsets` their texel offsets, which are then in
/// messages' headers: lanes of a quad that have the same ones are in one message, others not. Vulkan leaves such derivatives undefined
/// without `quadDivergentImplicitLod`.
pub fn divides_quads(s: &Shader, offsets: bool) -> bool {
    if s.info.derivatives == DerivativeGroup::None {
        return false;
    }
    let divergence = Divergence::new(s);
    s.any(|s, _, i| {
        let implicit = matches!(s.insts[i].op, Op::TexSample | Op::TexQueryLod);
        let mut handles = s.args(i).iter().take(2).copied();
        let offset = || s.tex_args(i).and_then(|(_, t)| t.offset).filter(|_| offsets);
        implicit
            && (handles.any(|h| divergence.is_divergent(h))
                || offset().is_some_and(|o| divergence.is_divergent(o)))
    })
}

/// Memory with random texels.
///
/// # Panics
/// Never: the formats of programs are plain ones.
pub fn memory(p: &Program, seed: u64) -> Memory {
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

/// Whether the last words are the alpha of a texel of zeros, 0 and 1, for a GPU whose texels outside of images have neither.
fn is_outside(p: &Program, got: &[u32], want: &[u32]) -> bool {
    let one = match p.shape.kind {
        NumKind::Float => 1f32.to_bits(),
        _ => 1,
    };
    p.zeros_outside && got.ends_with(&[0; 4]) && want.ends_with(&[0, 0, 0, one])
}

/// Compiles and runs the programs of some seeds, each on an executor of its own; every fourth only with the passes that the compiler
/// needs. `adjust` changes a program beforehand, so that it does not depend on what the GPU does differently.
///
/// # Panics
/// When a program leaves something else than the interpreter, with the program and the first difference.
pub fn check<C: Compiler, E: Executor<Program = C::Program>>(
    compiler: &C,
    mut executor: impl FnMut() -> E,
    seeds: impl IntoIterator<Item = u64>,
    images: Images,
    adjust: impl Fn(&mut Program),
) -> Tally {
    // A lane may load what one of another subgroup stores, before or after.
    let lanes = match images {
        Images::Textures => LANES,
        Images::Storage => LANES.min(compiler.subgroup() as u32),
    };
    let mut tally = Tally::default();
    for seed in seeds {
        let mut p = program(seed, images == Images::Storage, lanes);
        adjust(&mut p);
        match one(compiler, &mut executor(), seed, &p) {
            None => tally.same += 1,
            Some(why) => *tally.refused.entry(why).or_default() += 1,
        }
    }
    tally
}

/// Compiles and runs a program; returns the reason why there is nothing to compare.
fn one<C: Compiler, E: Executor<Program = C::Program>>(
    compiler: &C,
    executor: &mut E,
    seed: u64,
    p: &Program,
) -> Option<String> {
    let first = tepui_ir::parse(&p.text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    tepui_ir::validate(&first).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    let start = memory(p, seed);
    let mut want = start.clone();
    let group = Group::workgroup(&first, [0; 3], [1; 3]);
    run(&first, &group, &mut want, 1 << 20)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", p.text));
    let mut s = first.clone();
    match seed.is_multiple_of(4) {
        true => compiler.lower(&mut s, &mut |_, _| {}),
        false => compiler.prepare(&mut s),
    }
    let compiled = match compiler.compile(&s) {
        Ok(compiled) => compiled,
        Err(Refusal::Bug(e)) => panic!("seed {seed}: {e}\n{}\n{s}", p.text),
        Err(Refusal::Unsupported(why)) => return Some(why),
    };
    let code = compiler.listing(&compiled);
    let mut now = start;
    match executor.execute(&compiled, &first, &mut now, [1; 3]) {
        Ok(()) => {}
        Err(Failure::Unsupported(why)) => return Some(why),
        Err(Failure::Wrong(e)) => panic!("seed {seed}: {e}\n{}\n{code}", p.text),
    }
    compare(p, seed, &now, &want, &code);
    None
}

/// Compares what a program leaves with what the interpreter leaves; `code` is its listing.
///
/// # Panics
/// When they differ.
pub fn compare(p: &Program, seed: u64, now: &Memory, want: &Memory, code: &str) {
    compare_results(p, seed, now, want, code);
    assert_eq!(now.images.len(), want.images.len(), "seed {seed}: the executor leaves all images");
    for (slot, now) in &now.images {
        compare_image(p, seed, *slot, now, &want.images[slot], code);
    }
}

fn compare_results(p: &Program, seed: u64, now: &Memory, want: &Memory, code: &str) {
    let (got, want) = (now.words(0, 1), want.words(0, 1));
    assert_eq!(got.len(), want.len(), "seed {seed}: the executor leaves the results");
    let floats = |v: &[u32]| v.iter().map(|&x| f32::from_bits(x)).collect::<Vec<_>>();
    for (k, (&g, &w)) in got.iter().zip(&want).enumerate() {
        assert!(
            close(p, g, w) || is_outside(p, &got[..=k], &want[..=k]),
            "seed {seed}: lane {} word {}: {g:#x} ({}) instead of {w:#x} ({})\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{}\n{code}",
            k as u32 / RESULTS,
            k as u32 % RESULTS,
            f32::from_bits(g),
            f32::from_bits(w),
            floats(&got[k & !3..][..4]),
            floats(&want[k & !3..][..4]),
            p.inputs.chunks(INPUTS as usize).nth(k / RESULTS as usize).map(|i| (floats(i), i)),
            p.shape,
            p.sampler,
            p.text
        );
    }
}

/// Difference of texels in a format that may be: a value in the middle between two numbers of the format may round either way.
fn step(format: ImageFormat) -> f32 {
    match format.name() {
        n if n.contains("32") => 0.0,
        n if n.contains("8") => 1.01 / 127.0,
        n if n.contains("10") => 1.0 / 32.0,
        _ => 1.0 / 1024.0,
    }
}

fn compare_image(
    p: &Program,
    seed: u64,
    slot: Slot,
    got: &ImageData,
    want: &ImageData,
    code: &str,
) {
    let step = step(p.shape.format);
    let texels = got.levels.iter().flatten().zip(want.levels.iter().flatten());
    for (k, (g, w)) in texels.enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::tests::{Identity, Interpreter};

    #[test]
    fn the_interpreter_agrees_with_itself() {
        for images in [Images::Textures, Images::Storage] {
            let t = check(&Identity, || Interpreter(0), 0..20, images, |_| {});
            assert_eq!(t.same, 20, "{t:?}");
        }
    }

    #[test]
    fn alpha_outside_is_0_or_1_where_the_gpu_has_0() {
        let mut p = program(0, false, LANES);
        p.shape.kind = NumKind::Uint;
        assert!(!is_outside(&p, &[0; 4], &[0, 0, 0, 1]));
        p.zeros_outside = true;
        assert!(is_outside(&p, &[7, 0, 0, 0, 0], &[7, 0, 0, 0, 1]));
        assert!(!is_outside(&p, &[1, 0, 0, 0], &[1, 0, 0, 1]), "a texel of the image");
        assert!(!is_outside(&p, &[0; 3], &[0, 0, 1]));
    }

    /// Takes a texel away after each run.
    struct Forgetful(Interpreter);

    impl Executor for Forgetful {
        type Program = tepui_ir::Shader;

        fn execute(
            &mut self,
            program: &tepui_ir::Shader,
            shader: &tepui_ir::Shader,
            memory: &mut Memory,
            groups: [u32; 3],
        ) -> Result<(), Failure> {
            self.0.execute(program, shader, memory, groups)?;
            let image = memory.images.values_mut().next().expect("an image");
            image.levels[0][0] = [u64::from(7f32.to_bits()); 4];
            Ok(())
        }
    }

    #[test]
    #[should_panic(expected = "texel 0: [40e00000")]
    fn a_wrong_texel_is_found() {
        check(&Identity, || Forgetful(Interpreter(0)), 0..1, Images::Storage, |_| {});
    }
}
