//! Records one warp of a run for the debugger.

use std::sync::{Arc, Mutex, PoisonError};

use tepui_debug::{Instruction, Recording};
use tepui_ir::Stage;
use tepui_mali_chips::Chip;
use tepui_mali_model::{Step as ModelStep, WarpPlace, Watch};
use tepui_mali_record::{Recorder, end, tell};

use super::run::{Ran, RunOptions, run};
use super::{Compiled, compile, lines};
use crate::compile::{ShaderError, Text};
use crate::inputs::Inputs;
use crate::record::{Group, found, source_lines};
use crate::run::Outcome;

/// Lanes of a warp.
const LANES: u32 = tepui_mali_compiler::target::LANES;

/// Source of a recording while the model runs.
struct State {
    recorder: Recorder,
    /// The warp that is recorded.
    own: Option<WarpPlace>,
}

/// Compiles text, runs it, and records the warp of a pixel or an invocation. A second run, with the checker, finds what the
/// program does not wait for: under it, registers that are waited for hold nothing.
///
/// # Errors
/// The text is refused, its job faults before the warp runs, or no such warp runs.
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
    let source = text.text.lines().map(str::to_owned).collect();
    let mut listing = source_lines(lines(&compiled.program, &compiled.shader));
    let line = listing.last().map_or(0, |last| last.line);
    listing.push(Instruction { line, ..end(super::code(&compiled.program)) });
    let mut recording = Recording::new(group.title(), source, listing);
    recording.file = "shader".to_owned();
    let state = State { recorder: Recorder::new(recording), own: None };
    let state = Arc::new(Mutex::new(state));
    let (own, code) = (Arc::clone(&state), super::code(&compiled.program).to_vec());
    let watch = Watch::new(move |step| {
        let state = &mut *own.lock().unwrap_or_else(PoisonError::into_inner);
        state.step(step, code == step.code, group);
    });
    let how = RunOptions { watch: Some(watch), ..RunOptions::default() };
    let Ran { outcome, regions } = run(text, &compiled, inputs, how)?;
    let state = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
    let mut recording = std::mem::take(&mut state.recorder.recording);
    recording.memory.regions = regions;
    if state.own.is_none() {
        return Err(match outcome {
            Err(e) => e,
            Ok(_) => ShaderError::new(format!("nothing ran there: {}", recording.title)),
        });
    }
    tell(&mut recording, &compiled.program.names, &compiled.program.code);
    // A fault ends a recording; the steps before it are kept.
    let outcome = outcome.ok().and_then(|_| checked(text, &compiled, inputs));
    recording.findings = found(outcome.as_ref());
    Ok((recording, outcome))
}

/// The results of a run with the checker.
fn checked(text: &Text, compiled: &Compiled, inputs: &Inputs) -> Option<Outcome> {
    let how = RunOptions { check: true, ..RunOptions::default() };
    run(text, compiled, inputs, how).ok()?.outcome.ok()
}

impl State {
    /// A step of the recorded program, or of another. Of several primitives that have the pixel the first counts.
    fn step(&mut self, step: &ModelStep<'_>, is_own_program: bool, group: Group) {
        match &self.own {
            None if is_own_program && step.offset == 0 => {
                let Some(lane) = lane(group, step) else { return };
                self.own = Some(step.place.clone());
                self.recorder.own(step, lane);
            }
            Some(place) if is_own_program && place == step.place => self.recorder.own(step, 0),
            Some(_) => self.recorder.other(step),
            None => {}
        }
    }
}

/// The lane of the invocation or pixel, if a warp has it.
fn lane(group: Group, step: &ModelStep<'_>) -> Option<usize> {
    match (group, step.place) {
        (Group::Thread(own, invocation), WarpPlace::Group { workgroup, warp, .. }) => {
            let is_own = own == *workgroup && invocation / LANES == *warp;
            is_own.then_some((invocation % LANES) as usize)
        }
        (Group::Pixel(x, y), WarpPlace::Pixels { places, live, .. }) => {
            (0..places.len()).find(|&lane| live >> lane & 1 != 0 && places[lane] == [x, y])
        }
        _ => None,
    }
}
