//! Recordings of what a capture's commands ran.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use tepui_capture::{Event, Events, Process, Session, Start};
use tepui_debug::Recording;
use tepui_gpus::capture::{
    DebugResult, DebugTarget, Debugger, ReplayOptions, Replayer, drawn_size,
};

use super::load::{RunArgs, numbers};
use super::{info, say};
use crate::cmd_decode::captures;
use crate::input;

/// Selection of a command in a capture.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CommandSelection {
    /// Captures: the command, by its number in the list that `tepui debug CAPTURE` prints. Without it, the last that draws to
    /// the pixel's place, or the first that dispatches.
    #[arg(long, value_name = "N")]
    command: Option<usize>,
    /// Captures: the draw of the command whose program is stepped through; else the last that changed the pixel.
    #[arg(long, value_name = "N")]
    draw: Option<u32>,
    /// Captures: the layer of the pixel.
    #[arg(long, default_value_t = 0)]
    layer: u32,
    /// Captures: the dispatch of the command that has the thread.
    #[arg(long, value_name = "N", conflicts_with = "draw")]
    dispatch: Option<u64>,
}

/// Whether a path is a capture or a folder of them.
pub fn is_capture(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|e| e == "capture")
}

/// Records what is asked for, with the history of the pixel; without a place prints the commands and returns `None`.
///
/// # Errors
/// The capture cannot be read, or nothing ran at the place.
pub fn record(
    path: &Path,
    which: &CommandSelection,
    place: &RunArgs,
) -> Result<Option<Recording>, String> {
    let path = one(path)?;
    let at = match (&place.pixel, which.dispatch) {
        (Some(pixel), None) => {
            let [x, y] = numbers(pixel, 0)?;
            DebugTarget::Pixel([x, y, which.layer], which.draw)
        }
        (None, Some(dispatch)) => DebugTarget::Thread(dispatch, numbers(&place.thread, 0)?),
        (Some(_), Some(_)) => {
            return Err("--pixel goes with --draw, --thread with --dispatch".into());
        }
        (None, None) => {
            list(&path)?;
            return Ok(None);
        }
    };
    let number = match which.command {
        Some(number) => number,
        None => find(&path, at)?,
    };
    let mut count = 0;
    let mut debugger = None;
    let found = commands(&path, |process, session, start| {
        let index = count;
        count += 1;
        let debugger = match debugger_of(&mut debugger, process, at) {
            Ok(debugger) => debugger,
            Err(e) => return Some(Err(e)),
        };
        if index == number {
            return Some(debugger.debug(session, start, number));
        }
        // A command that cannot be executed leaves nothing for later ones.
        let _ = debugger.skip(session, start);
        None
    })?;
    let DebugResult { history, recording, code, missing, fault } = found
        .ok_or_else(|| format!("the capture has {count} commands; there is no {number}"))??;
    let mut told = history.map_or_else(String::new, |h| format!("command {number}, {h}"));
    if let Some(fault) = fault {
        told += &format!("the command ends in a fault: {fault}\n");
    }
    // If nothing ran there, the history has the reason.
    let mut recording = recording.ok_or_else(|| {
        let missing = missing.unwrap_or_else(|| "nothing ran there".to_owned());
        format!("{missing} in command {number}; `tepui debug CAPTURE` lists the commands\n{told}")
    })?;
    (recording.history, recording.embedded) = (told, true);
    recording.file = "shader".to_owned();
    info::add(&path, &code, &mut recording);
    Ok(Some(recording))
}

/// The one capture of a path.
fn one(path: &Path) -> Result<PathBuf, String> {
    let mut all = captures(path)?;
    match (all.len(), all.pop()) {
        (1, Some(one)) => Ok(one),
        (_, last) => Err(format!(
            "{} captures of as many processes: name one, such as {}",
            all.len() + 1,
            last.unwrap_or_default().display()
        )),
    }
}

/// Calls `visit` for each command of a capture until it returns something.
fn commands<T>(
    path: &Path,
    mut visit: impl FnMut(&Process, &Session, &Start) -> Option<T>,
) -> Result<Option<T>, String> {
    let file = input::open(path).map_err(|error| error.to_string())?;
    let mut events = Events::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let mut process = None;
    while let Some(event) = events.next() {
        match event.map_err(|error| error.to_string())? {
            Event::Process(p) => process = Some(p),
            Event::Start(start) => {
                if let Some(process) = &process
                    && let Some(found) = visit(process, events.session(), &start)
                {
                    return Ok(Some(found));
                }
            }
            Event::Finish(_) | Event::Opened(_) | Event::Closed(_) | Event::Call(_) => {}
        }
    }
    Ok(None)
}

/// The debugger of a capture, made for its first command.
fn debugger_of<'a>(
    debugger: &'a mut Option<Debugger>,
    process: &Process,
    at: DebugTarget,
) -> Result<&'a mut Debugger, String> {
    Ok(match debugger {
        Some(debugger) => debugger,
        none => none.insert(Debugger::new(process, at)?),
    })
}

/// The last command that draws to a pixel's place, or the first that has the thread's dispatch.
fn find(path: &Path, at: DebugTarget) -> Result<usize, String> {
    let (mut found, mut count) = (None, 0);
    let mut debugger = None;
    let refused = commands(path, |process, session, start| {
        let debugger = match debugger_of(&mut debugger, process, at) {
            Ok(debugger) => debugger,
            Err(e) => return Some(e),
        };
        if debugger.has(session, start).unwrap_or(false)
            && (found.is_none() || matches!(at, DebugTarget::Pixel(..)))
        {
            found = Some(count);
        }
        count += 1;
        None
    })?;
    if let Some(refused) = refused {
        return Err(refused);
    }
    found.ok_or_else(|| format!("none of the {count} commands of the capture has this place"))
}

/// Prints the commands of a capture.
fn list(path: &Path) -> Result<(), String> {
    let mut replayer: Option<Replayer> = None;
    let (mut count, mut failed) = (0, None);
    commands(path, |process, session, start| {
        let replayer = match &mut replayer {
            Some(replayer) => replayer,
            none => match Replayer::new(
                process,
                &ReplayOptions { check: true, ..ReplayOptions::default() },
            ) {
                Ok(new) => none.insert(new),
                Err(e) => {
                    failed = Some(e);
                    return Some(());
                }
            },
        };
        let size = drawn_size(process, start);
        let size = size.map_or(String::new(), |[w, h]| format!(" {w} x {h},"));
        let (result, reports) = match replayer.start(session, start) {
            Ok(replayed) => (replayed.result, replayed.reports),
            Err(e) => (Err(e), Vec::new()),
        };
        let result = match result {
            Ok(counts) => {
                counts.iter().map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", ")
            }
            Err(e) => e,
        };
        say(format_args!("command {count}: {},{size} {result}\n", replayer.kind(start)));
        for report in reports {
            say(format_args!("  check: {report}\n"));
        }
        count += 1;
        None::<()>
    })?;
    match failed {
        Some(e) => Err(e),
        None => Ok(()),
    }
}
