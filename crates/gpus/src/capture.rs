//! Captures of any family: what requests and commands say, and executing commands again.

use std::collections::BTreeMap;

use tepui_agx_capture as agx;
pub use tepui_agx_model::{CodeChange, Omission, Omitted, OrderEvent};
use tepui_capture::describe::CallDescription;
use tepui_capture::{Call, Changed, Comparison, Finish, Process, Session, Start};
use tepui_decode::{GpuMemory, Record};
use tepui_intel_capture as intel;
pub use tepui_intel_model::{Removals, spaced};
use tepui_mali_capture as mali;

use crate::counts::{Counts, agx_counts, intel_counts, mali_counts};
use crate::{Family, intel as intel_chips, mali as mali_chips};

/// A capture whose commands Tepui does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownDriver {
    /// The family has no decoder.
    #[error(
        "a capture of {0} (kernel driver {1}); those of {agx}, {intel} and {mali} can be decoded",
        agx = Family::Agx,
        intel = Family::Intel,
        mali = Family::Mali
    )]
    Family(Family, String),
    /// No family has this kernel driver.
    #[error("a capture of the unknown kernel driver `{0}`")]
    Driver(String),
}

/// The family of a capture.
fn family(process: &Process) -> Result<Family, UnknownDriver> {
    let driver = process.driver.as_str();
    match (Family::of_driver(driver), driver) {
        (Some(Family::Agx), _) => Ok(Family::Agx),
        (Some(Family::Intel), "i915") => Ok(Family::Intel),
        (Some(Family::Mali), driver) if mali::Interface::named(driver).is_some() => {
            Ok(Family::Mali)
        }
        (Some(family), _) => Err(UnknownDriver::Family(family, driver.into())),
        (None, _) => Err(UnknownDriver::Driver(driver.into())),
    }
}

/// Turns the requests and commands of a capture into records. Commands must come in the order of the
/// capture, since they build on earlier ones.
pub enum Describer {
    /// AGX.
    Agx(tepui_agx_decode::Options),
    /// Intel.
    Intel(intel::Describer),
    /// Mali.
    Mali(mali::Describer),
}

impl Describer {
    /// A describer for the capture of a process. If `everything` is set, state that several commands point to is
    /// decoded each time.
    ///
    /// # Errors
    /// The captures of this driver cannot be decoded.
    pub fn new(process: &Process, everything: bool) -> Result<Describer, UnknownDriver> {
        Ok(match family(process)? {
            Family::Intel => {
                let options = tepui_intel_decode::Options { everything, ..Default::default() };
                Describer::Intel(intel::Describer::new(&process.parameters, options))
            }
            Family::Mali => {
                let of_chip = mali_chip(process).map(tepui_mali_decode::Options::of);
                let options =
                    tepui_mali_decode::Options { everything, ..of_chip.unwrap_or_default() };
                let interface = mali::Interface::named(&process.driver);
                let interface = interface.unwrap_or(mali::Interface::Panthor);
                Describer::Mali(mali::Describer::new(interface, options))
            }
            _ => {
                let options = agx::describe::options(&process.parameters);
                Describer::Agx(tepui_agx_decode::Options { everything, ..options })
            }
        })
    }

    /// Describes a request.
    pub fn call(&self, call: &Call) -> CallDescription {
        match self {
            Describer::Agx(_) => agx::describe::call(call),
            Describer::Intel(_) => intel::call(call),
            Describer::Mali(describer) => describer.call(call),
        }
    }

    /// A command that has just started, with everything that it points to.
    pub fn command(&mut self, memory: &dyn GpuMemory, start: &Start) -> Record {
        match self {
            Describer::Agx(options) => agx::describe::command(memory, start, *options),
            Describer::Intel(describer) => describer.command(memory, start),
            Describer::Mali(describer) => describer.command(memory, start),
        }
    }
}

/// The pixel or thread that a debugger follows.
pub use tepui_debug::target::DebugTarget;

/// Results of debugging a command.
#[derive(Debug, Default)]
pub struct DebugResult {
    /// The history of the pixel, as text.
    pub history: Option<String>,
    /// The SIMD-group that was recorded.
    pub recording: Option<tepui_debug::Recording>,
    /// The machine code of its program.
    pub code: Vec<u8>,
    /// Reason why there is none.
    pub missing: Option<String>,
    /// The fault that ended the command.
    pub fault: Option<String>,
}

/// Follows a pixel or a thread through the commands of a capture, which it is given in their order.
pub struct Debugger {
    target: DebugTarget,
    of: DebuggerOf,
}

enum DebuggerOf {
    /// Commands bring all that they need.
    Agx,
    /// Commands build on those before.
    Mali(Box<mali::debug::Debugger>),
}

impl Debugger {
    /// A debugger at the beginning of the capture of a process.
    ///
    /// # Errors
    /// There is no debugger for it.
    pub fn new(process: &Process, target: DebugTarget) -> Result<Debugger, String> {
        let of = match family(process).map_err(|error| error.to_string())? {
            Family::Agx => DebuggerOf::Agx,
            Family::Mali => {
                let chip = mali_chip(process);
                let chip =
                    chip.ok_or_else(|| format!("a capture of an unknown chip: {}", process.gpu))?;
                DebuggerOf::Mali(Box::new(mali::debug::Debugger::new(chip, target)?))
            }
            family => {
                let (agx, mali) = (Family::Agx, Family::Mali);
                return Err(format!(
                    "captures of {family} cannot be debugged yet; those of {agx} and {mali} can"
                ));
            }
        };
        Ok(Debugger { target, of })
    }

    /// Goes on to the next command.
    ///
    /// # Errors
    /// This one cannot be executed.
    pub fn skip(&mut self, session: &Session, start: &Start) -> Result<(), String> {
        match &mut self.of {
            DebuggerOf::Agx => Ok(()),
            DebuggerOf::Mali(debugger) => debugger.skip(session, start),
        }
    }

    /// Whether a command draws to the pixel's place, or has the thread's dispatch; goes on to the next one.
    ///
    /// # Errors
    /// The command cannot be executed.
    pub fn has(&mut self, session: &Session, start: &Start) -> Result<bool, String> {
        match (&mut self.of, self.target) {
            (DebuggerOf::Mali(debugger), _) => debugger.has(session, start),
            (DebuggerOf::Agx, DebugTarget::Pixel([x, y, _], _)) => {
                Ok(agx::debug::drawn_size(start).is_some_and(|[w, h]| x < w && y < h))
            }
            (DebuggerOf::Agx, DebugTarget::Thread(..)) => {
                Ok(agx::debug::drawn_size(start).is_none())
            }
        }
    }

    /// Executes a command and follows the pixel or thread. `number` is what the command is called.
    ///
    /// # Errors
    /// The command cannot be executed.
    pub fn debug(
        &mut self,
        session: &Session,
        start: &Start,
        number: usize,
    ) -> Result<DebugResult, String> {
        let place = self.target;
        let (mut result, dispatches) = match &mut self.of {
            DebuggerOf::Agx => {
                of_agx_debug(agx::debug::debug(session, start, number, place)?, place)
            }
            DebuggerOf::Mali(debugger) => {
                let seen = debugger.debug(session, start, number)?;
                let result = DebugResult {
                    history: seen.history,
                    recording: seen.recording,
                    code: seen.code,
                    missing: None,
                    fault: seen.fault,
                };
                (result, seen.dispatches)
            }
        };
        if result.recording.is_none() && result.missing.is_none() {
            result.missing = Some(match place {
                DebugTarget::Pixel(_, Some(draw)) => {
                    format!("no program of draw {draw} ran for the pixel")
                }
                DebugTarget::Pixel(..) => "no program ran for the pixel".to_owned(),
                DebugTarget::Thread(dispatch, _) if (dispatch as usize) < dispatches => {
                    format!("no such thread ran in dispatch {dispatch}")
                }
                DebugTarget::Thread(..) => format!("the command has {dispatches} dispatches"),
            });
        }
        Ok(result)
    }
}

/// A result of AGX's debugger, and the number of dispatches.
fn of_agx_debug(seen: agx::debug::DebugResult, place: DebugTarget) -> (DebugResult, usize) {
    let grid = match place {
        DebugTarget::Thread(dispatch, _) if seen.recording.is_none() => {
            let own = seen.dispatches.iter().find(|d| d.number == dispatch);
            own.map(|d| format!("the grid of dispatch {dispatch} has {:?} threads", d.grid.global))
        }
        _ => None,
    };
    let result = DebugResult {
        history: seen.history.map(|h| h.to_string()),
        recording: seen.recording,
        code: seen.code,
        missing: grid,
        fault: seen.fault,
    };
    (result, seen.dispatches.len())
}

/// Width and height of what a command draws to, where it says so itself; `None` if it draws nothing.
pub fn drawn_size(process: &Process, start: &Start) -> Option<[u32; 2]> {
    match family(process) {
        Ok(Family::Agx) => agx::debug::drawn_size(start),
        _ => None,
    }
}

/// Options of replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayOptions {
    /// Worker threads of the model; 0 takes one for each core of the host.
    pub threads: usize,
    /// The model reports errors that silicon would hide, where it can.
    pub check: bool,
    /// With `check`, on Intel: judges each batch without each of its flushes, invalidations and stalls, at most this many of a
    /// kind.
    pub removals: Option<usize>,
    /// The GPU's clock stands still, so that all executions write the same timestamps.
    pub still_clock: bool,
    /// Queues of a group go on until all have ended or wait, in place of until one has ended: relaxed execution, which always does so, is
    /// then comparable.
    pub settles: bool,
    /// The seed of relaxed execution: in another order that the hardware may take, where the model has that.
    pub relaxed: Option<u64>,
    /// Maximum number of draws that are executed of each command.
    pub draws: Option<u64>,
    /// Number of further executions of each command, for timing.
    pub repeats: u32,
    /// Whether pictures of attachments are read.
    pub pictures: bool,
}

/// Contents of an attachment after a command.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of the attachment, for file names: `colour-ts0-layer0`.
    pub name: String,
    /// Width and height.
    pub size_px: [u32; 2],
    /// Rows of pixels: red, green, blue, alpha.
    pub texels: Vec<[f32; 4]>,
}

/// The result of a replayed command.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Counts of what was executed, by name, or the fault that ended it.
    pub result: Result<Vec<(&'static str, u64)>, String>,
    /// The reports of the model's checker.
    pub reports: Vec<String>,
    /// For each kind of event of its commands, how many were removed, one at a time, and how many removals matter
    /// ([`ReplayOptions::removals`]); none of a command that cannot be judged.
    pub removals: Option<BTreeMap<String, Removals>>,
    /// The pages that it changed.
    pub changed: Vec<Changed>,
    /// Hash over all changes.
    pub hash: u64,
    /// Whether the queue had executed all earlier work before, and all of this after.
    pub settled: [bool; 2],
    /// Pictures of the attachments.
    pub pictures: Vec<Picture>,
    /// With further executions: the shortest elapsed time, and the shortest CPU time.
    pub time: Option<[std::time::Duration; 2]>,
}

/// Executes the commands of a capture on its GPU's model.
pub enum Replayer {
    /// AGX.
    Agx(agx::Replayer),
    /// Intel.
    Intel(intel::Replayer),
    /// Mali.
    Mali(mali::Replayer),
}

impl Replayer {
    /// For the capture of a process.
    ///
    /// # Errors
    /// There is no model for it, or not with these options.
    pub fn new(process: &Process, options: &ReplayOptions) -> Result<Replayer, String> {
        let family = family(process).map_err(|error| error.to_string())?;
        match family {
            Family::Intel => intel_replayer(process, options),
            Family::Mali => mali_replayer(process, options),
            _ => Ok(Replayer::Agx(agx_replayer(options))),
        }
    }

    /// The kind of a command, as decoders call it.
    pub fn kind(&self, start: &Start) -> &'static str {
        match self {
            Replayer::Agx(_) => {
                u16::try_from(start.kind).map_or("unknown", tepui_agx_decode::submit::kind_name)
            }
            Replayer::Intel(_) => "Batch",
            Replayer::Mali(_) => "Run",
        }
    }

    /// Executes a command that has just started in the capture.
    ///
    /// # Errors
    /// Why it cannot be executed.
    pub fn start(&mut self, session: &Session, start: &Start) -> Result<Replayed, String> {
        match self {
            Replayer::Agx(r) => r.start(session, start).map(of_agx).map_err(|e| e.to_string()),
            Replayer::Intel(r) => r.start(session, start).map(of_intel).map_err(|e| e.to_string()),
            Replayer::Mali(r) => r.start(session, start).map(of_mali).map_err(|e| e.to_string()),
        }
    }

    /// Executes a command as [`Replayer::start`] does, but leaves its queue as it is, so that it can be executed again. Reports
    /// are those of this execution. While it runs, an instruction is [changed](CodeChange).
    ///
    /// # Errors
    /// Why it cannot be executed.
    pub fn attempt(
        &self,
        session: &Session,
        start: &Start,
        change: Option<&CodeChange>,
    ) -> Result<Replayed, String> {
        let patch = change.map(|change| (change.address, &change.bytes[..]));
        match self {
            Replayer::Agx(r) => {
                r.model().gpu().forget();
                r.attempt(session, start, patch).map(of_agx).map_err(|e| e.to_string())
            }
            Replayer::Intel(r) => {
                r.model().gpu().forget();
                r.attempt(session, start, patch).map(of_intel).map_err(|e| e.to_string())
            }
            Replayer::Mali(r) => {
                r.model().gpu().forget();
                r.attempt(session, start, patch).map(of_mali).map_err(|e| e.to_string())
            }
        }
    }

    /// The waits of the programs that the last attempt has run, each with bytes of an instruction without it.
    pub fn code_changes(&self) -> Vec<CodeChange> {
        match self {
            Replayer::Agx(replayer) => replayer.model().gpu().code_changes(),
            Replayer::Intel(replayer) => replayer.model().gpu().code_changes(),
            Replayer::Mali(replayer) => replayer.model().gpu().code_changes(),
        }
    }

    /// The events of commands, one of which can be left out; none on Intel, whose batches are judged by
    /// [`ReplayOptions::removals`].
    pub fn omission(&self) -> Option<&Omission> {
        match self {
            Replayer::Agx(replayer) => Some(replayer.model().gpu().omission()),
            Replayer::Intel(_) => None,
            Replayer::Mali(replayer) => Some(replayer.model().gpu().omission()),
        }
    }

    /// Compares with the capture, where the command has just finished. `None` for a command that was
    /// not executed.
    pub fn finish(&mut self, session: &Session, finish: &Finish) -> Option<Comparison> {
        match self {
            Replayer::Agx(replayer) => replayer.finish(session, finish),
            Replayer::Intel(replayer) => replayer.finish(session, finish),
            Replayer::Mali(replayer) => replayer.finish(session, finish),
        }
    }
}

fn of_agx(replayed: agx::Replayed) -> Replayed {
    let reports = replayed.result.iter().flat_map(|stats| &stats.reports);
    let reports = reports.map(ToString::to_string).collect();
    let pictures = |all: Vec<_>| all.into_iter().map(agx_picture).collect();
    Replayed { reports, ..described(replayed, agx_counts, pictures) }
}

fn of_intel(replayed: intel::Replayed) -> Replayed {
    let stats = replayed.result.iter();
    let about = |report: &tepui_intel_model::Report| match report.kind {
        kind if kind.is_about_commands() => report.what.clone(),
        _ => report.to_string(),
    };
    let reports = stats.clone().flat_map(|stats| &stats.reports).map(about).collect();
    let removals = stats.flat_map(|stats| stats.removals.clone()).next();
    Replayed { reports, removals, ..described(replayed, intel_counts, intel_pictures) }
}

fn of_mali(replayed: mali::Replayed) -> Replayed {
    let reports = replayed.result.iter().flat_map(|stats| &stats.reports);
    let reports = reports.map(tepui_mali_model::describe).collect();
    let counts = |stats: &mali::RunStats| mali_counts(&stats.counts);
    Replayed { reports, ..described(replayed, counts, mali_pictures) }
}

/// The clock that stands still.
fn still_clock() -> u64 {
    0
}

impl ReplayOptions {
    fn clock(&self) -> fn() -> u64 {
        if self.still_clock { still_clock } else { tepui_drm::monotonic_ns }
    }
}

/// A family's result as this module gives it.
fn described<S, F: std::fmt::Display, A>(
    replayed: tepui_capture::Replayed<S, F, A>,
    counts: impl FnOnce(&S) -> Counts,
    pictures: impl FnOnce(Vec<A>) -> Vec<Picture>,
) -> Replayed {
    Replayed {
        result: replayed.result.map(|stats| counts(&stats)).map_err(|fault| fault.to_string()),
        reports: Vec::new(),
        removals: None,
        changed: replayed.changed,
        hash: replayed.hash,
        settled: replayed.settled,
        pictures: pictures(replayed.attachments),
        time: replayed.time,
    }
}

fn agx_replayer(options: &ReplayOptions) -> agx::Replayer {
    let model = tepui_agx_model::Options {
        threads: options.threads,
        check: options.check,
        relaxed: options.relaxed,
        draws: options.draws.unwrap_or(u64::MAX),
        ..Default::default()
    };
    let replayer = agx::replayer(tepui_agx_model::Gpu::new(model)).with_repeats(options.repeats);
    if options.pictures { replayer.with_attachments() } else { replayer }
}

fn agx_picture(attachment: tepui_agx_model::Attachment) -> Picture {
    use tepui_agx_model::Aspect;
    let aspect = match attachment.aspect {
        Aspect::Colour(register) => format!("colour-ts{register}"),
        Aspect::Depth => "depth".to_owned(),
        Aspect::Stencil => "stencil".to_owned(),
    };
    Picture {
        name: format!("{aspect}-layer{}", attachment.layer),
        size_px: attachment.size_px,
        texels: attachment.texels,
    }
}

fn intel_pictures(pictures: Vec<tepui_intel_model::Picture>) -> Vec<Picture> {
    let named = |(index, picture): (usize, tepui_intel_model::Picture)| Picture {
        name: format!("target{index}"),
        size_px: picture.size_px,
        texels: picture.texels,
    };
    pictures.into_iter().enumerate().map(named).collect()
}

fn intel_replayer(process: &Process, options: &ReplayOptions) -> Result<Replayer, String> {
    let id = process.parameters.get(..2).map(|id| u16::from_le_bytes([id[0], id[1]]));
    let chip = id.and_then(intel_chips::with_device_id);
    let chip = chip.ok_or_else(|| format!("a capture of an unknown chip: {}", process.gpu))?;
    let model = tepui_intel_model::Options {
        threads: options.threads,
        clock: options.clock(),
        check: options.check,
        removals: options.removals,
        relaxed: options.relaxed,
        max_draws: options.draws.unwrap_or(u64::MAX),
        ..Default::default()
    };
    let gpu = tepui_intel_model::Gpu::new(chip, model);
    let replayer = intel::replayer(gpu).with_repeats(options.repeats);
    Ok(Replayer::Intel(if options.pictures { replayer.with_attachments() } else { replayer }))
}

/// Frames of one run may have pictures of the same name, so they are numbered.
fn mali_pictures(pictures: Vec<tepui_mali_model::Picture>) -> Vec<Picture> {
    let named = |(index, picture): (usize, tepui_mali_model::Picture)| Picture {
        name: format!("{index}-{}", picture.name),
        size_px: picture.size_px,
        texels: picture.texels,
    };
    pictures.into_iter().enumerate().map(named).collect()
}

/// The chip of a capture.
fn mali_chip(process: &Process) -> Option<&'static mali_chips::Chip> {
    let id = process.parameters.first_chunk::<4>().map(|id| u32::from_le_bytes(*id));
    mali_chips::CHIPS.iter().find(|chip| Some(chip.product_id) == id)
}

fn mali_replayer(process: &Process, options: &ReplayOptions) -> Result<Replayer, String> {
    let chip = mali_chip(process);
    let chip = chip.ok_or_else(|| format!("a capture of an unknown chip: {}", process.gpu))?;
    let model = tepui_mali_model::Options {
        threads: options.threads,
        clock: options.clock(),
        max_draws: options.draws.unwrap_or(u64::MAX),
        check: options.check,
        relaxed: options.relaxed,
        settles: options.settles,
        ..Default::default()
    };
    let gpu = tepui_mali_model::Gpu::new(chip, model);
    let replayer = mali::replayer(gpu).with_repeats(options.repeats);
    Ok(Replayer::Mali(if options.pictures { replayer.with_attachments() } else { replayer }))
}
