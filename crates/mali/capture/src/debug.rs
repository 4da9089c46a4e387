//! Debugging of captured runs: they are executed again while an observer follows one pixel or one thread.
//!
//! A run builds on those before it: registers of queues, scenes of tiler contexts. So a [`Debugger`] executes all runs of a capture in
//! their order, and observes those that it is asked about.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tepui_capture::{Session, Start};
use tepui_debug::target::{DebugTarget, in_workgroup};
use tepui_debug::{Finding, Recording};
use tepui_mali_chips::Chip;
use tepui_mali_model::{
    Gpu, Options, Report, Step as ModelStep, WarpPlace, Watch, finding, fingerprint,
};
use tepui_mali_record::{Isa, Recorder, instructions};

use crate::replay::{Replayer, replayer};

/// Lanes of a warp of the model.
const LANES: u32 = 16;

/// Results of debugging a run.
#[derive(Debug, Default)]
pub struct DebugResult {
    /// The programs that ran for the pixel, as text.
    pub history: Option<String>,
    /// A warp, if one was recorded.
    pub recording: Option<Recording>,
    /// The machine code of its program.
    pub code: Vec<u8>,
    /// Dispatches that the run had.
    pub dispatches: usize,
    /// The fault that ended the run.
    pub fault: Option<String>,
}

/// The recording in progress.
struct ActiveRecording {
    recorder: Recorder,
    place: WarpPlace,
    program: u64,
    code: Vec<u8>,
}

/// A program that ran for the pixel.
struct Touch {
    draw: Option<u32>,
    program: u64,
    code: u64,
    lane: usize,
}

#[derive(Default)]
struct State {
    now: Option<ActiveRecording>,
    touches: Vec<Touch>,
    /// The warps that have begun: a warp is told of before each of its instructions.
    warp: Option<WarpPlace>,
    /// Numbers of dispatches of the run.
    dispatches: BTreeSet<u64>,
    title: String,
}

struct Observer {
    isa: Isa,
    target: DebugTarget,
    state: Mutex<State>,
}

impl Observer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lane that is followed, and what it is, if a warp has it.
    fn lane(&self, state: &State, step: &ModelStep<'_>) -> Option<(usize, String)> {
        match (self.target, step.place) {
            (
                DebugTarget::Thread(number, thread),
                WarpPlace::Group { workgroup, warp, size, dispatch },
            ) => {
                let (own, index) = in_workgroup(*size, thread);
                let at = state.dispatches.iter().position(|d| d == dispatch)?;
                let is_own = at as u64 == number && own == *workgroup && index / LANES == *warp;
                let [x, y, z] = thread;
                let what = format!("thread {x},{y},{z} of dispatch {number}");
                is_own.then_some(((index % LANES) as usize, what))
            }
            (
                DebugTarget::Pixel([x, y, wanted], draw),
                WarpPlace::Pixels { places, live, draw: own, layer, .. },
            ) if *layer == wanted && (draw.is_none() || draw == *own) => {
                let is_pixel = |&lane: &usize| live >> lane & 1 != 0 && places[lane] == [x, y];
                let lane = (0..places.len()).find(is_pixel)?;
                Some((lane, own.map_or("a frame's shader".to_owned(), |n| format!("draw {n}"))))
            }
            _ => None,
        }
    }

    fn step(&self, step: &ModelStep<'_>) {
        let state = &mut *self.state();
        if let WarpPlace::Group { dispatch, .. } = step.place {
            state.dispatches.insert(*dispatch);
        }
        if let Some(now) = &mut state.now
            && now.place == *step.place
        {
            match now.program == step.program {
                true => now.recorder.own(step, 0),
                false => now.recorder.other(step),
            }
            return;
        }
        let begins = state.warp.as_ref() != Some(step.place) && step.offset == 0;
        if begins {
            state.warp = Some(step.place.clone());
        }
        if begins && let Some((lane, what)) = self.lane(state, step) {
            let draw = match step.place {
                WarpPlace::Pixels { draw, .. } => *draw,
                _ => None,
            };
            let code = fingerprint(step.code);
            state.touches.push(Touch { draw, program: step.program, code, lane });
            // Shaders around a frame's draws count if no draw has the pixel; of draws the last one counts.
            let is_better = draw.is_some()
                || !state.now.as_ref().is_some_and(|now| {
                    matches!(now.place, WarpPlace::Pixels { draw: Some(_), .. })
                });
            if is_better {
                let title = format!("{what} of {}", state.title);
                let program = instructions(self.isa, step.code);
                let recording = Recording::new(title, Vec::new(), program);
                let mut recorder = Recorder::new(recording);
                recorder.own(step, lane);
                let place = step.place.clone();
                let (program, code) = (step.program, step.code.to_vec());
                state.now = Some(ActiveRecording { recorder, place, program, code });
                return;
            }
        }
        if let Some(now) = &mut state.now {
            now.recorder.other(step);
        }
    }
}

/// Follows a pixel or a thread through the runs of a capture.
pub struct Debugger {
    replayer: Replayer,
    /// Finds mistakes in the same runs; under it, registers that are waited for hold nothing.
    checker: Replayer,
    watch: Watch,
    observer: Arc<Observer>,
}

impl Debugger {
    /// A debugger at the beginning of a capture of a chip.
    ///
    /// # Errors
    /// Programs of the chip cannot be recorded.
    pub fn new(chip: &'static Chip, target: DebugTarget) -> Result<Debugger, String> {
        let isa = match chip.arch.0 {
            9.. => Isa::Valhall,
            6.. => Isa::Bifrost,
            _ => return Err(format!("programs of {} are not recorded yet", chip.arch)),
        };
        let observer = Arc::new(Observer { isa, target, state: Mutex::default() });
        let told = observer.clone();
        let watch = Watch::new(move |step| told.step(step));
        watch.turn(false);
        let gpu = Gpu::new(chip, Options::default()).watched(watch.clone());
        let check = Options { check: true, ..Options::default() };
        let checker = replayer(Gpu::new(chip, check));
        Ok(Debugger { replayer: replayer(gpu), checker, watch, observer })
    }

    /// Executes a run without looking at it.
    ///
    /// # Errors
    /// Why it cannot be executed.
    pub fn skip(&mut self, session: &Session, start: &Start) -> Result<(), String> {
        // The checker's queues have the same state; its reports are those of the run that is followed.
        self.checker.start(session, start).map_err(|e| e.to_string())?;
        self.replayer.start(session, start).map(drop).map_err(|e| e.to_string())
    }

    /// Executes a run; returns whether a program ran for the pixel or thread.
    ///
    /// # Errors
    /// Why it cannot be executed.
    pub fn has(&mut self, session: &Session, start: &Start) -> Result<bool, String> {
        *self.observer.state() = State::default();
        self.watch.turn(true);
        let result = self.skip(session, start);
        self.watch.turn(false);
        result.map(|()| !self.observer.state().touches.is_empty())
    }

    /// Executes a run and follows the pixel or thread; `number` is what the run is called.
    ///
    /// # Errors
    /// Why it cannot be executed.
    pub fn debug(
        &mut self,
        session: &Session,
        start: &Start,
        number: usize,
    ) -> Result<DebugResult, String> {
        *self.observer.state() = State { title: format!("command {number}"), ..State::default() };
        self.watch.turn(true);
        let replayed = self.replayer.start(session, start).map_err(|e| e.to_string());
        self.watch.turn(false);
        let fault = replayed?.result.err().map(|fault| fault.to_string());
        let mut state = self.observer.state();
        let mut result =
            DebugResult { dispatches: state.dispatches.len(), fault, ..Default::default() };
        if let DebugTarget::Pixel([x, y, _], _) = self.observer.target {
            result.history = Some(history([x, y], &state.touches));
        }
        if let Some(now) = state.now.take() {
            (result.recording, result.code) = (Some(now.recorder.recording), now.code);
        }
        drop(state);
        if let Some(recording) = &mut result.recording {
            recording.findings = self.findings(session, start, &result.code);
        }
        Ok(result)
    }

    /// The findings of the checker in a program of a run.
    fn findings(&mut self, session: &Session, start: &Start, code: &[u8]) -> Vec<Finding> {
        self.checker.model().gpu().forget();
        let replayed = self.checker.start(session, start);
        let reports = replayed.ok().and_then(|r| r.result.ok()).map(|stats| stats.reports);
        let own = |report: &&Report| {
            !report.kind.is_about_commands() && report.at.program == fingerprint(code)
        };
        let reports = reports.unwrap_or_default();
        let text = |report: &Report| finding(report, String::new()).to_string();
        reports
            .iter()
            .filter(own)
            .map(|report| Finding { offset: report.at.offset, text: text(report) })
            .collect()
    }
}

/// The programs that ran for a pixel, a line each.
fn history([x, y]: [u32; 2], touches: &[Touch]) -> String {
    let mut out = format!("pixel {x},{y}\n");
    for Touch { draw, program, code, lane } in touches {
        let what = draw.map_or("frame".to_owned(), |draw| format!("draw {draw}"));
        let _ = writeln!(out, "  {what:<9} program {code:016x} at {program:#x}, lane {lane}");
    }
    out
}
