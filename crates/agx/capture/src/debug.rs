//! Debugging of captured commands: they are executed again while an observer follows one pixel or one thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tepui_agx_model::{
    Dispatch, Fingerprint, Gpu, Observe, Options, PixelEvent, Report, Sample, Shading,
    Step as ModelStep, Watch,
};
use tepui_agx_record::{Recorder, instructions};
use tepui_capture::{Session, Start};
use tepui_debug::target::{DebugTarget, in_workgroup};
use tepui_debug::{Finding, Recording};
use tepui_drm::uapi::asahi::{CMD_RENDER, CmdRender};

pub use crate::history::{History, Shaded, Touch};
use crate::replay::replayer;

/// Lanes of a SIMD-group.
const LANES: u32 = tepui_agx_chips::LANES as u32;

/// Results of debugging a command.
#[derive(Debug, Default)]
pub struct DebugResult {
    /// The history of the pixel.
    pub history: Option<History>,
    /// A SIMD-group, if one was recorded.
    pub recording: Option<Recording>,
    /// The machine code of its program.
    pub code: Vec<u8>,
    /// Dispatches of the command.
    pub dispatches: Vec<Dispatch>,
    /// The fault that ended the command.
    pub fault: Option<String>,
}

/// The recording in progress.
struct ActiveRecording {
    recorder: Recorder,
    /// The lane of the pixel or thread.
    lane: usize,
    program: u64,
    code: Vec<u8>,
}

#[derive(Default)]
struct State {
    seen: DebugResult,
    now: Option<ActiveRecording>,
    /// Touches whose programs have yet to run.
    waiting: Vec<usize>,
    /// Match of the recording with the target, to choose the best.
    rank: u8,
    /// The touch whose program runs.
    running: Option<usize>,
    /// The SIMD-group of the thread: program, workgroup, number in it.
    group: Option<(u64, [u32; 3], u32)>,
}

struct Observer {
    place: DebugTarget,
    /// Title of the commands.
    title: String,
    state: Mutex<State>,
    /// The SIMD-groups that run now may be the one that is recorded.
    steps: AtomicBool,
}

impl Observer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a recording.
    fn begin(&self, what: String, program: u64, code: &[u8], lane: usize) -> ActiveRecording {
        let title = format!("{what} of {}", self.title);
        let recording = Recording::new(title, Vec::new(), instructions(code));
        ActiveRecording { recorder: Recorder::new(recording), lane, program, code: code.to_vec() }
    }

    fn shading(&self, state: &mut State, draw: Option<u32>, s: &Shading<'_>, now: &[Sample]) {
        if state.waiting.is_empty() {
            return;
        }
        let index = state.waiting.remove(0);
        state.running = Some(index);
        let touch = &mut state.seen.history.get_or_insert_default().touches[index];
        touch.shaded = Some(Shaded {
            program: s.program,
            fingerprint: s.fingerprint,
            lane: s.lane,
            stores: s.stores.clone(),
            loads: s.loads.clone(),
            live: 0,
            after: Vec::new(),
        });
        // Depth and stencil were tested earlier, colours change now.
        for (before, now) in touch.before.iter_mut().zip(now) {
            before.colour.clone_from(&now.colour);
        }
        let own = touch.covering.draw;
        if draw.is_none_or(|draw| draw == own) {
            self.steps.store(true, Ordering::Relaxed);
            let what = format!("draw {own}, primitive {}", touch.covering.primitive);
            state.now = Some(self.begin(what, s.program, s.code, s.lane));
        }
    }
}

impl Observe for Observer {
    fn steps(&self) -> bool {
        self.steps.load(Ordering::Relaxed)
    }

    fn step(&self, step: &ModelStep<'_>) {
        let state = &mut *self.state();
        if state.now.is_none()
            && let DebugTarget::Thread(dispatch, thread) = self.place
            && state.group == Some((step.program, step.workgroup, step.index))
            && step.pixels.is_none()
            && let Some(d) = state.seen.dispatches.last()
        {
            let [x, y, z] = thread;
            let what = format!("thread {x},{y},{z} of dispatch {dispatch}");
            let lane = in_workgroup(d.grid.local, thread).1 % LANES;
            state.now = Some(self.begin(what, step.program, step.code, lane as usize));
        }
        let Some(now) = &mut state.now else { return };
        let own = match self.place {
            DebugTarget::Pixel([x, y, _], _) => {
                let lane = now.lane;
                step.pixels.is_some_and(|[xs, ys]| [xs.0[lane], ys.0[lane]] == [x, y])
            }
            DebugTarget::Thread(..) => {
                state.group == Some((step.program, step.workgroup, step.index))
            }
        };
        match own && step.program == now.program {
            true => _ = now.recorder.own(step, now.lane),
            false => now.recorder.other(step),
        }
    }

    fn dispatch(&self, dispatch: &Dispatch) {
        let state = &mut *self.state();
        state.seen.dispatches.push(*dispatch);
        state.group = None;
        if let DebugTarget::Thread(number, thread) = self.place
            && number == dispatch.number
        {
            let (workgroup, index) = in_workgroup(dispatch.grid.local, thread);
            state.group = Some((dispatch.program, workgroup, index / LANES));
        }
        self.steps.store(state.group.is_some(), Ordering::Relaxed);
    }

    fn pixel(&self) -> Option<[u32; 3]> {
        match self.place {
            DebugTarget::Pixel(pixel, _) => Some(pixel),
            DebugTarget::Thread(..) => None,
        }
    }

    fn pixel_event(&self, event: &PixelEvent<'_>) {
        let state = &mut *self.state();
        let DebugTarget::Pixel(pixel, draw) = self.place else { return };
        let history = state.seen.history.get_or_insert_default();
        history.pixel = pixel;
        match event {
            PixelEvent::Filled(samples) => {
                state.waiting.clear();
                if history.filled.is_empty() {
                    history.filled = samples.to_vec();
                }
                history.stored = samples.to_vec();
            }
            PixelEvent::Covered(covering, samples) => {
                let before = std::mem::replace(&mut history.stored, samples.to_vec());
                if covering.shaded {
                    state.waiting.push(history.touches.len());
                }
                let (covering, tested) = (covering.clone(), samples.to_vec());
                history.touches.push(Touch { covering, before, tested, shaded: None });
            }
            PixelEvent::Shading(shading, samples) => self.shading(state, draw, shading, samples),
            PixelEvent::Shaded(live, samples) => {
                self.steps.store(false, Ordering::Relaxed);
                history.stored = samples.to_vec();
                let touch = state.running.take().and_then(|k| history.touches.get_mut(k));
                let touch = touch.map(|touch| {
                    if let Some(shaded) = &mut touch.shaded {
                        (shaded.live, shaded.after) = (*live, samples.to_vec());
                    }
                    &*touch
                });
                let changed = touch.is_some_and(|touch| touch.changed_colour());
                // Without a draw that is asked for: what changed the colour, or else what was left alive, or else anything.
                let rank = match draw {
                    Some(_) => 0,
                    None => 1 + u8::from(*live != 0) + u8::from(changed),
                };
                if let Some(now) = state.now.take()
                    && rank >= state.rank
                {
                    (state.seen.recording, state.seen.code) =
                        (Some(now.recorder.recording), now.code);
                    state.rank = rank;
                }
            }
            PixelEvent::Stored(samples) => history.stored = samples.to_vec(),
        }
    }
}

/// Executes a command of a capture again and follows a pixel or a thread. `number` is what the command is called.
///
/// # Errors
/// Why the command cannot be executed.
pub fn debug(
    session: &Session,
    start: &Start,
    number: usize,
    place: DebugTarget,
) -> Result<DebugResult, String> {
    let title = format!("command {number}");
    let (state, steps) = (Mutex::default(), AtomicBool::new(false));
    let observer = Arc::new(Observer { place, title, state, steps });
    let options = Options {
        // One after the other, so that what is observed is in order.
        threads: 1,
        watch: Some(Watch::of(observer.clone())),
        check: true,
        audit: true,
        ..Options::default()
    };
    let replayed = replayer(Gpu::new(options)).start(session, start).map_err(|e| e.to_string())?;
    let mut state = observer.state();
    let mut seen = std::mem::take(&mut state.seen);
    // A program that a fault ended, or a thread's.
    if let Some(now) = state.now.take().filter(|now| !now.recorder.recording.steps().is_empty()) {
        (seen.recording, seen.code) = (Some(now.recorder.recording), now.code);
    }
    let DebugResult { recording, code, fault, .. } = &mut seen;
    match (replayed.result, recording) {
        (Err(error), _) => *fault = Some(error.to_string()),
        (Ok(stats), Some(recording)) => recording.findings = findings(&stats.reports, code),
        (Ok(_), None) => {}
    }
    Ok(seen)
}

/// The findings in a program.
fn findings(reports: &[Report], code: &[u8]) -> Vec<Finding> {
    let own = reports.iter().filter(|report| Fingerprint::begins(code, report.shader));
    own.map(|report| Finding {
        offset: report.at.offset,
        text: report.finding(String::new()).to_string(),
    })
    .collect()
}

/// Width and height of what a render command draws to.
#[must_use]
pub fn drawn_size(start: &Start) -> Option<[u32; 2]> {
    if start.kind != u32::from(CMD_RENDER) {
        return None;
    }
    let mut command = CmdRender::default();
    let known = size_of::<CmdRender>().min(start.payload.len());
    bytemuck::bytes_of_mut(&mut command)[..known].copy_from_slice(&start.payload[..known]);
    Some([command.width_px, command.height_px].map(u32::from))
}
