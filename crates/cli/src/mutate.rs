//! `tepui check --mutate`: how many missing flushes, invalidations and stalls the checker would notice in a capture.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use tepui_capture::{Event, Events};
use tepui_gpus::capture::{Removals, ReplayOptions, Replayer};

use crate::cmd_decode::captures;
use crate::cmd_isa::print_out;
use crate::input;

/// Results of all commands of the captures.
#[derive(Default)]
struct Totals {
    /// Commands executed.
    commands: u64,
    /// Captures with findings as they are, whose events are not removed.
    left_out: u64,
    /// By the name of an event.
    removals: BTreeMap<String, Removals>,
}

/// Removes each kind of event from each barrier of a capture, or of all in a directory, one at a time, and prints how many
/// removals matter, and how many are reported.
///
/// # Errors
/// A capture cannot be read or executed, or has no commands.
pub fn run(path: &Path) -> Result<ExitCode, String> {
    let mut totals = Totals::default();
    for capture in captures(path)? {
        add(&capture, &mut totals).map_err(|error| format!("{}: {error}", capture.display()))?;
    }
    if totals.commands == 0 {
        return Err(format!("{}: no command was executed", path.display()));
    }
    Ok(print_out("check", &table(&totals)))
}

fn add(path: &Path, totals: &mut Totals) -> Result<(), String> {
    let file = input::open(path).map_err(|error| error.to_string())?;
    let mut events = Events::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let options =
        ReplayOptions { threads: 1, check: true, removals: true, ..ReplayOptions::default() };
    let mut replayer: Option<Replayer> = None;
    while let Some(event) = events.next() {
        match event.map_err(|error| error.to_string())? {
            Event::Process(process) => replayer = Some(Replayer::new(&process, &options)?),
            Event::Start(start) => {
                let Some(replayer) = &mut replayer else { continue };
                let replayed = replayer.start(events.session(), &start)?;
                replayed.result?;
                totals.commands += 1;
                totals.left_out += u64::from(!replayed.reports.is_empty());
                for report in &replayed.reports {
                    eprintln!("tepui check: {report} (submission {})", start.submission);
                }
                for (name, removals) in replayed.removals {
                    *totals.removals.entry(name).or_default() += removals;
                }
            }
            Event::Finish(finish) => {
                if let Some(replayer) = &mut replayer {
                    replayer.finish(events.session(), &finish);
                }
            }
            Event::Opened(_) | Event::Closed(_) | Event::Call(_) => {}
        }
    }
    Ok(())
}

fn table(totals: &Totals) -> String {
    let mut text = format!(
        "{:34} {:>8} {:>8} {:>9} {:>7}\n",
        "removed, one at a time", "barriers", "matters", "reported", "missed"
    );
    let row = |text: &mut String, name: &str, r: &Removals| {
        let Removals { removed, reported, different, missed } = r;
        let share = match different {
            0 => String::new(),
            _ => format!("{:3.0} %", 100.0 * (different - missed) as f64 / *different as f64),
        };
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "{name:34} {removed:8} {different:8} {reported:9} {missed:7}  {share}");
    };
    let mut sum = Removals::default();
    for (name, removals) in &totals.removals {
        row(&mut text, name, removals);
        sum += *removals;
    }
    row(&mut text, "all", &sum);
    let Totals { commands, left_out, .. } = totals;
    let _ = writeln!(
        text,
        "{commands} commands, of which {left_out} were left out: they have findings as they are"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_event_and_the_sum() {
        let flushes = Removals { removed: 4, reported: 3, different: 2, missed: 0 };
        let waits = Removals { removed: 4, reported: 1, different: 2, missed: 1 };
        let removals = [("flush".to_owned(), flushes), ("wait".to_owned(), waits)];
        let totals = Totals { commands: 5, left_out: 1, removals: removals.into() };
        let text = table(&totals);
        let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().map(fields).collect();
        assert_eq!(lines[1], ["flush", "4", "2", "3", "0", "100", "%"]);
        assert_eq!(lines[3], ["all", "8", "4", "4", "1", "75", "%"]);
        assert!(
            text.ends_with(
                "5 commands, of which 1 were left out: they have findings as they are\n"
            )
        );
    }
}
