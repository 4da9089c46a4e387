//! Compute shaders in the interpreter, before and after the passes, on the same random memory.

use tepui_ir::interp::{Fault, ImageData, Memory, dispatch};
use tepui_ir::{InstFlags, ResKind, Shader, Stage, validate};
use tepui_ir_gen::Rng;
use tepui_passes::pipeline;

/// What a run said.
#[derive(Debug, Clone, PartialEq)]
pub enum Ran {
    /// The same memory, bit for bit, after every stage.
    Same,
    /// The interpreter stops before the end: what it lacks, or the step limit.
    NotRun(String),
}

/// Steps of a run, each for all lanes of a workgroup.
const LIMIT: u64 = 100_000;
/// Bytes of each buffer.
const BUFFER: usize = 1 << 14;

/// What a GPU's compiler runs after the optimisations, and must not change the meaning either.
const LOWER: &[&str] = &[
    "lower_vars",
    "lower_buffers",
    "simplify",
    "dce",
    "lower_addresses",
    "lower_bits16",
    "scalarise",
    "lower_int64",
    "simplify",
    "dce",
];

fn memory(s: &Shader, seed: u64) -> Memory {
    let mut rng = Rng::new(seed);
    let mut word = || -> u32 {
        match rng.below(3) {
            // A float of moderate size, a small number, anything.
            0 => ((rng.below(4096) as f32 - 2048.0) / 64.0).to_bits(),
            1 => rng.below(16) as u32,
            _ => rng.int(32) as u32,
        }
    };
    let mut m = Memory { push: (0..256).map(|_| word() as u8 & 15).collect(), ..Memory::default() };
    for r in s.resources.values() {
        for k in 0..r.count.clamp(1, 8) {
            let slot = (r.set, r.binding, k);
            match r.kind {
                ResKind::UniformBuffer | ResKind::StorageBuffer => {
                    let bytes = (0..BUFFER / 4).flat_map(|_| word().to_le_bytes()).collect();
                    m.buffers.insert(slot, bytes);
                }
                _ => {
                    let mut image = ImageData::new([8, 8, 2], 4, 1);
                    for texel in image.levels.iter_mut().flatten() {
                        *texel = [0; 4].map(|_: u64| u64::from(word()));
                    }
                    m.images.insert(slot, image);
                }
            }
        }
    }
    m
}

/// Runs a compute shader that has buffers or images; `None` for another.
///
/// # Errors
/// When two runs differ, or only one of them ends.
pub(crate) fn compare(first: &Shader, seed: u64) -> Result<Option<Ran>, String> {
    if first.info.stage != Stage::Compute || first.resources.is_empty() {
        return Ok(None);
    }
    let mut s = first.clone();
    // Roundings must stay where they are, to compare bits.
    for d in s.insts.values_mut() {
        d.flags |= InstFlags::EXACT | InstFlags::STRICT;
    }
    let start = memory(&s, seed);
    let run = |s: &Shader| -> Result<Memory, Fault> {
        let mut m = start.clone();
        dispatch(s, [2, 1, 1], &mut m, LIMIT).map(|_| m)
    };
    let want = match run(&s) {
        Ok(m) => m,
        Err(e @ Fault::Steps { .. }) => return Ok(Some(Ran::NotRun(e.to_string()))),
        Err(Fault::Unsupported { what, .. }) => return Ok(Some(Ran::NotRun(what))),
        Err(Fault::Memory { error, .. }) => return Ok(Some(Ran::NotRun(error.to_string()))),
    };
    pipeline::optimise(&mut s);
    same(&run, &s, &want, "the optimisations")?;
    for p in LOWER {
        if let Some(pass) = pipeline::find(p) {
            (pass.run)(&mut s);
        }
    }
    validate(&s).map_err(|e| format!("lowered: {e}"))?;
    // Buffers that are reached by address only must have one.
    match same(&run, &s, &want, "the lowerings") {
        Err(e) if e.contains("the address of this binding") => {
            Ok(Some(Ran::NotRun("lowered: the address of this binding".to_owned())))
        }
        r => r.map(|()| Some(Ran::Same)),
    }
}

fn same(
    run: &impl Fn(&Shader) -> Result<Memory, Fault>,
    s: &Shader,
    want: &Memory,
    what: &str,
) -> Result<(), String> {
    match run(s) {
        Ok(m) if m.buffers == want.buffers && m.images == want.images => Ok(()),
        Ok(m) => {
            let slot = want.buffers.iter().find(|(k, v)| m.buffers.get(k) != Some(v));
            let place = slot.map(|(k, v)| {
                let at = v.iter().zip(&m.buffers[k]).position(|(a, b)| a != b);
                format!(" at set {}, binding {}, byte {}", k.0, k.1, at.unwrap_or(0))
            });
            Err(format!("another memory after {what}{}", place.unwrap_or_default()))
        }
        Err(e) => Err(format!("stops after {what}: {e}")),
    }
}
