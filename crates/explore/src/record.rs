//! Records one SIMD-group of a run for the debugger.

use std::sync::{Arc, Mutex, PoisonError};

use tepui_agx_model::{Step as ModelStep, Watch};
use tepui_agx_record::Recorder;
use tepui_debug::{Instruction, Recording};
use tepui_ir::Stage;

use crate::assembly::{self, Assembly};
use crate::compile::{ShaderError, Text, compile};
use crate::listing::{self, Line};
use crate::names;
use crate::run::{Inputs, Outcome, RunOptions, run_compiled};

/// The SIMD-group that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// The SIMD-group of a compute shader that has a thread: workgroup, and thread in it by number.
    Thread([u32; 3], u32),
    /// The first SIMD-group of a fragment shader that has a pixel: column and row.
    Pixel(u32, u32),
}

impl Group {
    /// The title of its recording.
    pub(crate) fn title(self) -> String {
        match self {
            Group::Thread([x, y, z], n) => format!("workgroup {x},{y},{z}, thread {n}"),
            Group::Pixel(x, y) => format!("pixel {x},{y}"),
        }
    }

    /// The lane of the thread or pixel, if a step is of this group.
    fn lane(self, step: &ModelStep<'_>) -> Option<usize> {
        const LANES: u32 = 32;
        match (self, step.pixels) {
            (Group::Thread(workgroup, thread), None) => {
                let own = step.workgroup == workgroup && step.index == thread / LANES;
                own.then_some((thread % LANES) as usize)
            }
            (Group::Pixel(x, y), Some([xs, ys])) => (0..LANES as usize)
                .find(|&l| step.alive >> l & 1 != 0 && xs.0[l] == x && ys.0[l] == y),
            _ => None,
        }
    }
}

/// Compiles text, runs it, and records a SIMD-group.
///
/// # Errors
/// The text is refused, its job faults before the group runs, or no such group runs.
pub fn record(
    text: &Text,
    inputs: &Inputs,
    group: Option<Group>,
) -> Result<(Recording, Option<Outcome>), ShaderError> {
    if text.assembly {
        let assembly = Assembly::read(text)?;
        let group = group.unwrap_or(Group::Thread([0; 3], 0));
        let run = |how| assembly::run(&assembly, inputs, how);
        return record_program(text, assembly.listing(), &assembly.code, group, run);
    }
    let compiled = compile(text, false)?;
    let program = &compiled.program;
    let group = group.unwrap_or(match compiled.shader.info.stage {
        Stage::Fragment => Group::Pixel(inputs.size[0] / 2, inputs.size[1] / 2),
        _ => Group::Thread([0; 3], 0),
    });
    let lines = listing::lines(&program.code, &compiled.shader, &program.locs);
    let run = |how| run_compiled(text, &compiled, inputs, how);
    let (mut recording, outcome) = record_program(text, lines, &program.code, group, run)?;
    names::tell(&mut recording, &program.names, &program.code);
    Ok((recording, outcome))
}

/// Lines of a listing as instructions. Those that the compiler adds belong to the line of what stands before them, at the start
/// to the first line that has code.
pub(crate) fn source_lines(lines: Vec<Line>) -> Vec<Instruction> {
    let mut last = lines.iter().map(|l| l.line).filter(|&line| line != 0).min().unwrap_or(0);
    let instructions = lines.into_iter().map(|l| {
        if l.line != 0 {
            last = l.line;
        }
        Instruction { offset: l.offset as u32, text: l.text, line: last, ..Instruction::default() }
    });
    instructions.collect()
}

/// Runs a program and records a SIMD-group of it.
fn record_program(
    text: &Text,
    lines: Vec<Line>,
    code: &[u8],
    group: Group,
    run: impl FnOnce(RunOptions) -> Result<Outcome, ShaderError>,
) -> Result<(Recording, Option<Outcome>), ShaderError> {
    let source = text.text.lines().map(str::to_owned).collect();
    let mut recording = Recording::new(group.title(), source, source_lines(lines));
    recording.file = "shader".to_owned();
    let recorder = Arc::new(Mutex::new(Recorder::new(recording)));
    let (own, code) = (Arc::clone(&recorder), code.to_vec());
    let watch = Watch::new(move |step| {
        let r = &mut *own.lock().unwrap_or_else(PoisonError::into_inner);
        // Preambles, vertex programs and programs of tiles are others. Of several groups that have the pixel the first counts.
        let lane = group.lane(step).filter(|_| code.starts_with(step.code));
        let ended = r
            .recording
            .steps()
            .last()
            .is_some_and(|s| r.recording.program[s.at as usize].text == "stop");
        match lane {
            Some(lane) if !ended => _ = r.own(step, lane),
            _ if !ended => r.other(step),
            _ => {}
        }
    });
    let how = RunOptions { watch: Some(watch), check: true, ..RunOptions::default() };
    let regions = how.regions.clone();
    let outcome = run(how);
    let r = &mut *recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let mut recording = std::mem::take(&mut r.recording);
    recording.memory.regions = regions.take();
    match outcome {
        // A fault ends a recording; the steps before it are kept.
        Err(e) if recording.steps().is_empty() => Err(e),
        _ if recording.steps().is_empty() => {
            Err(ShaderError::new(format!("nothing ran there: {}", recording.title)))
        }
        outcome => {
            let outcome = outcome.ok();
            recording.findings = found(outcome.as_ref());
            Ok((recording, outcome))
        }
    }
}

/// The findings of a run in the program whose source is known.
pub(crate) fn found(outcome: Option<&Outcome>) -> Vec<tepui_debug::Finding> {
    let findings = outcome.into_iter().flat_map(|outcome| &outcome.findings);
    let own = findings.filter(|finding| finding.source.is_some());
    own.map(|f| tepui_debug::Finding { offset: f.offset, text: f.to_string() }).collect()
}
