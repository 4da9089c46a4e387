//! Records one thread of a run for the debugger.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tepui_debug::{Instruction, Recording};
use tepui_intel_chips::Chip;
use tepui_intel_compiler::Variant;
use tepui_intel_model::{Step as ModelStep, ThreadPlace, Watch};
use tepui_intel_record::{Recorder, tell, uniforms};
use tepui_ir::Stage;

use super::run::{Ran, RunOptions, run};
use super::{Compiled, compile};
use crate::compile::{ShaderError, Text};
use crate::inputs::Inputs;
use crate::record::{Group, found, source_lines};
use crate::run::Outcome;

/// Source of a recording while the model runs.
struct State {
    recorder: Recorder,
    /// The variant of the program at each address.
    known: HashMap<u64, Option<usize>>,
    /// The thread that is recorded, and its variant.
    own: Option<(ThreadPlace, usize)>,
    /// It has executed its last instruction.
    ended: bool,
}

/// Compiles text, runs it, and records the thread of a pixel or an invocation.
///
/// # Errors
/// The text is refused, its job faults before the thread runs, or no such thread runs.
pub fn record(
    text: &Text,
    chip: &'static Chip,
    inputs: &Inputs,
    group: Option<Group>,
) -> Result<(Recording, Option<Outcome>), ShaderError> {
    let compiled = compile(text, chip, false)?;
    let group = group.unwrap_or(match compiled.shader.info.stage {
        Stage::Fragment => Group::Pixel(inputs.size[0] / 2, inputs.size[1] / 2),
        _ => Group::Thread([0; 3], 0),
    });
    let programs: Vec<Vec<Instruction>> =
        compiled.program.variants.iter().map(|v| program(&compiled, v)).collect();
    let source = text.text.lines().map(str::to_owned).collect();
    let mut recording = Recording::new(group.title(), source, Vec::new());
    recording.file = "shader".to_owned();
    recording.uniforms = uniforms(&compiled.program.names);
    let state = State {
        recorder: Recorder::new(recording),
        known: HashMap::new(),
        own: None,
        ended: false,
    };
    let state = Arc::new(Mutex::new(state));
    let own = Arc::clone(&state);
    let variants = compiled.program.variants.clone();
    let code = compiled.program.code.clone();
    let watch = Watch::new(move |step| {
        let state = &mut *own.lock().unwrap_or_else(PoisonError::into_inner);
        let variant = *state.known.entry(step.kernel).or_insert_with(|| {
            let of = |v: &Variant| &code[v.offset as usize..(v.offset + v.stats.bytes) as usize];
            variants.iter().position(|v| step.runs(of(v)))
        });
        state.step(step, variant, &variants, group, &programs);
    });
    let Ran { outcome, regions } =
        run(text, &compiled, inputs, RunOptions { watch: Some(watch), check: true })?;
    let state = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
    let mut recording = std::mem::take(&mut state.recorder.recording);
    recording.memory.regions = regions;
    let Some((_, variant)) = state.own else {
        return Err(match outcome {
            Err(e) => e,
            Ok(_) => ShaderError::new(format!("nothing ran there: {}", recording.title)),
        });
    };
    let variant = compiled.program.variants[variant];
    recording.title += &format!(" (SIMD{})", variant.width);
    let generation = compiled.chip.generation;
    let names = &compiled.program.names;
    tell(&mut recording, names, generation, &compiled.program.code, variant.offset);
    // A fault ends a recording; the steps before it are kept.
    let outcome = outcome.ok();
    recording.findings = found(outcome.as_ref());
    Ok((recording, outcome))
}

impl State {
    fn step(
        &mut self,
        step: &ModelStep<'_>,
        variant: Option<usize>,
        variants: &[Variant],
        group: Group,
        programs: &[Vec<Instruction>],
    ) {
        if self.ended {
            return;
        }
        match (self.own, variant) {
            (None, Some(n)) if step.offset == 0 => {
                let Some(lane) = lane(group, step, variants[n].width) else { return };
                self.recorder.recording.program.clone_from(&programs[n]);
                self.own = Some((step.place, n));
                self.recorder.own(step, lane);
            }
            (Some((place, n)), Some(now)) if place == step.place && n == now => {
                // Of several primitives that have the pixel the first counts.
                if step.offset == 0 && !matches!(place, ThreadPlace::Group { .. }) {
                    self.ended = true;
                    return;
                }
                self.recorder.own(step, 0);
            }
            (Some(_), _) => self.recorder.other(step),
            _ => {}
        }
    }
}

/// The channel of the invocation or pixel, if a thread has it.
fn lane(group: Group, step: &ModelStep<'_>, width: u8) -> Option<usize> {
    let width = u32::from(width);
    match (group, step.place) {
        (Group::Thread(own, invocation), ThreadPlace::Group { workgroup, thread }) => {
            let is_own = own == workgroup && invocation / width == thread;
            is_own.then_some((invocation % width) as usize)
        }
        (Group::Pixel(x, y), ThreadPlace::Pixels(places)) => {
            (0..32).find(|&lane| step.alive >> lane & 1 != 0 && places[lane] == [x, y])
        }
        _ => None,
    }
}

/// The instructions of a variant. Those that the compiler adds belong to the line of what stands before them, at the start
/// to the first line that has code.
fn program(compiled: &Compiled, variant: &Variant) -> Vec<Instruction> {
    source_lines(compiled.lines(variant))
}
