//! `tepui check --mutate`: how many missing flushes, invalidations, stalls, waits and dependencies would be noticed in a capture.
//!
//! A removal *matters* if memory at the end differs in one of the executions without it. On AGX and Mali the model executes each
//! command without the event, with the checker and relaxed with some seeds. Intel's batches are judged by their accesses, with
//! numbers in place of values ([`ReplayOptions::removals`]). Waits of machine code are removed from the programs in memory: the
//! static checkers judge the program, and the checker executes the command, in which what is not waited for is poison.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use tepui_capture::{Event, Events, Finish, Process, Session, Start};
use tepui_gpus::capture::{
    CodeChange, Omitted, Removals, ReplayOptions, Replayed, Replayer, spaced,
};

use crate::cmd_decode::captures;
use crate::cmd_isa::print_out;
use crate::input;

/// Relaxed executions of a command without an event.
const SEEDS: u64 = 8;

/// Results of all commands of the captures.
#[derive(Default)]
struct Totals {
    /// Commands executed.
    commands: u64,
    /// Commands left out: other orders of the whole command give other memory, or work of the queue goes on after them, or on
    /// Intel they have findings as they are.
    left_out: u64,
    /// By the name of an event.
    removals: BTreeMap<String, Removals>,
}

/// Removes each kind of event from each barrier of a capture, or of all in a directory, one at a time, and prints how many
/// removals matter, and how many are reported; of a kind at most a number in a command.
///
/// # Errors
/// A capture cannot be read or executed, or has no commands.
pub fn run(path: &Path, limit: usize, json: bool) -> Result<ExitCode, String> {
    let mut totals = Totals::default();
    for capture in captures(path)? {
        add(&capture, limit, &mut totals)
            .map_err(|error| format!("{}: {error}", capture.display()))?;
    }
    if totals.commands == 0 {
        return Err(format!("{}: no command was executed", path.display()));
    }
    Ok(print_out("check", &if json { lines(&totals) } else { table(&totals) }))
}

fn add(path: &Path, limit: usize, totals: &mut Totals) -> Result<(), String> {
    let file = input::open(path).map_err(|error| error.to_string())?;
    let mut events = Events::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    let mut judge: Option<Judge> = None;
    while let Some(event) = events.next() {
        match event.map_err(|error| error.to_string())? {
            Event::Process(process) => judge = Some(Judge::new(&process, limit)?),
            Event::Start(start) => {
                if let Some(judge) = &mut judge {
                    judge.command(events.session(), &start, totals)?;
                }
            }
            Event::Finish(finish) => {
                if let Some(judge) = &mut judge {
                    judge.finish(events.session(), &finish);
                }
            }
            Event::Opened(_) | Event::Closed(_) | Event::Call(_) => {}
        }
    }
    Ok(())
}

/// The executions that each command is judged by.
struct Judge {
    /// In the usual order.
    plain: Replayer,
    /// With the checker.
    checked: Replayer,
    /// In other orders.
    relaxed: Vec<Replayer>,
    /// With the checker alone, for programs without a wait.
    programs: Replayer,
    /// Changes of programs that were judged.
    judged: HashSet<CodeChange>,
    limit: usize,
}

impl Judge {
    fn new(process: &Process, limit: usize) -> Result<Judge, String> {
        let plain = ReplayOptions {
            threads: 1,
            still_clock: true,
            settles: true,
            ..ReplayOptions::default()
        };
        let programs = ReplayOptions { check: true, ..plain };
        let checked = ReplayOptions { removals: Some(limit), ..programs };
        let checked = Replayer::new(process, &checked)?;
        let programs = Replayer::new(process, &programs)?;
        // Without omissions the checker does all.
        let last = if checked.omission().is_some() { SEEDS } else { 0 };
        let relaxed =
            |seed| Replayer::new(process, &ReplayOptions { relaxed: Some(seed), ..plain });
        let relaxed = (1..=last).map(relaxed).collect::<Result<_, _>>()?;
        let (plain, judged) = (Replayer::new(process, &plain)?, HashSet::new());
        Ok(Judge { plain, checked, relaxed, programs, judged, limit })
    }

    fn replayers(&mut self) -> impl Iterator<Item = &mut Replayer> {
        let all = [&mut self.plain, &mut self.checked, &mut self.programs];
        all.into_iter().chain(&mut self.relaxed)
    }

    fn command(
        &mut self,
        session: &Session,
        start: &Start,
        totals: &mut Totals,
    ) -> Result<(), String> {
        totals.commands += 1;
        let is_whole = self.checked.omission().is_none();
        let plain = execute(&self.plain, None, session, start)?;
        if let Err(fault) = &plain.result {
            return Err(format!("submission {}: {fault}", start.submission));
        }
        self.code(&plain, session, start, totals)?;
        if !is_whole {
            self.omissions(&plain, session, start, totals)?;
        }
        for replayer in [&mut self.plain, &mut self.programs].into_iter().chain(&mut self.relaxed) {
            begin(replayer, None);
            replayer.start(session, start)?;
        }
        begin(&self.checked, None);
        let replayed = self.checked.start(session, start)?;
        if !is_whole {
            return Ok(());
        }
        totals.left_out += u64::from(replayed.removals.is_none());
        for report in &replayed.reports {
            eprintln!("tepui check: {report} (submission {})", start.submission);
        }
        for (name, removals) in replayed.removals.into_iter().flatten() {
            *totals.removals.entry(name).or_default() += removals;
        }
        Ok(())
    }

    /// Executes a command without each wait of its programs that was not judged yet.
    fn code(
        &mut self,
        plain: &Replayed,
        session: &Session,
        start: &Start,
        totals: &mut Totals,
    ) -> Result<(), String> {
        let whole = execute(&self.programs, None, session, start)?;
        if plain.settled != [true; 2] || whole.result.is_err() || whole.hash != plain.hash {
            return Ok(());
        }
        let known: BTreeSet<String> = whole.reports.into_iter().collect();
        let mut kinds: BTreeMap<&str, Vec<CodeChange>> = BTreeMap::new();
        for change in self.programs.code_changes() {
            if self.judged.insert(change.clone()) {
                kinds.entry(change.kind).or_default().push(change);
            }
        }
        for (kind, changes) in kinds {
            for change in spaced(&changes, self.limit) {
                let without = self.programs.attempt(session, start, Some(change))?;
                let found = change.is_found == Some(true);
                let reported = without.result.is_err()
                    || without.reports.iter().any(|report| !known.contains(report));
                let different = without.result.is_err() || without.hash != plain.hash;
                totals.removals.entry(kind.to_owned()).or_default().add(found, reported, different);
                if different && !reported && !found {
                    eprintln!(
                        "tepui check: missed: {kind} at {:#x} (submission {})",
                        change.address, start.submission
                    );
                }
            }
        }
        Ok(())
    }

    /// Executes a command without each of its events.
    fn omissions(
        &self,
        plain: &Replayed,
        session: &Session,
        start: &Start,
        totals: &mut Totals,
    ) -> Result<(), String> {
        let execute =
            |replayer: &Replayer, event| crate::mutate::execute(replayer, event, session, start);
        let is_same = |other: &Replayed| other.result.is_ok() && other.hash == plain.hash;
        let checked = execute(&self.checked, None)?;
        let known: BTreeSet<String> = checked.reports.into_iter().collect();
        let mut kinds: BTreeMap<&str, Vec<Omitted>> = BTreeMap::new();
        let mut barriers: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for event in self.checked.omission().into_iter().flat_map(|all| all.events()) {
            kinds.entry(event.kind).or_default().push(Omitted::Event(event));
            *barriers.entry((event.front, event.after)).or_default() += 1;
        }
        // A barrier of one event is that event.
        barriers.retain(|_, count| *count > 1);
        if !barriers.is_empty() {
            let barrier = |(front, after)| Omitted::Barrier { front, after };
            kinds.insert("the whole barrier", barriers.into_keys().map(barrier).collect());
        }
        let mut reason = match plain.settled {
            [false, _] => Some("other queues were going on"),
            [_, false] => Some("its queues go on"),
            _ => None,
        };
        for replayer in self.relaxed.iter().filter(|_| !kinds.is_empty()) {
            if reason.is_none() && !is_same(&execute(replayer, None)?) {
                reason = Some("another order gives other memory");
            }
        }
        if let Some(reason) = reason {
            totals.left_out += 1;
            eprintln!("tepui check: left out: {reason} (submission {})", start.submission);
            return Ok(());
        }
        for (kind, events) in kinds {
            for &event in spaced(&events, self.limit) {
                let checked = execute(&self.checked, Some(event))?;
                let reported = checked.result.is_err()
                    || checked.reports.iter().any(|report| !known.contains(report));
                let mut different = false;
                for replayer in &self.relaxed {
                    different = different || !is_same(&execute(replayer, Some(event))?);
                }
                totals.removals.entry(kind.to_owned()).or_default().add(false, reported, different);
                if different && !reported {
                    eprintln!(
                        "tepui check: missed: {kind}, {event:?} (submission {})",
                        start.submission
                    );
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, session: &Session, finish: &Finish) {
        for replayer in self.replayers() {
            replayer.finish(session, finish);
        }
    }
}

fn execute(
    replayer: &Replayer,
    event: Option<Omitted>,
    session: &Session,
    start: &Start,
) -> Result<Replayed, String> {
    begin(replayer, event);
    replayer.attempt(session, start, None)
}

fn begin(replayer: &Replayer, event: Option<Omitted>) {
    if let Some(omission) = replayer.omission() {
        omission.begin(event);
    }
}

/// The share of the removals that matter that is noticed, in percent.
fn share(removals: &Removals) -> Option<f64> {
    let Removals { different, missed, .. } = *removals;
    (different > 0).then(|| 100.0 * (different - missed) as f64 / different as f64)
}

fn table(totals: &Totals) -> String {
    let mut text = format!(
        "{:36} {:>8} {:>8} {:>10} {:>9} {:>7}\n",
        "removed, one at a time", "number", "matters", "statically", "reported", "missed"
    );
    let row = |text: &mut String, name: &str, r: &Removals| {
        let Removals { removed, reported, different, missed, found } = r;
        let share = share(r).map_or_else(String::new, |share| format!("{share:3.0} %"));
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{name:36} {removed:8} {different:8} {found:10} {reported:9} {missed:7}  {share}"
        );
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
        "{commands} commands, of which {left_out} were left out: they have findings as they are, or other orders give other memory, \
         or their queues go on"
    );
    text
}

/// A line of JSON for each kind, and one for the whole.
fn lines(totals: &Totals) -> String {
    let kinds = totals.removals.iter().map(|(name, r)| {
        json!({
            "type": "removals", "kind": name, "removed": r.removed, "matter": r.different, "reported": r.reported,
            "missed": r.missed, "found_statically": r.found,
        })
    });
    let Totals { commands, left_out, .. } = totals;
    let whole = json!({ "type": "commands", "commands": commands, "left_out": left_out });
    kinds.chain([whole]).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_event_and_the_sum() {
        let flushes = Removals { removed: 4, reported: 3, different: 2, missed: 0, found: 0 };
        let waits = Removals { removed: 4, reported: 1, different: 2, missed: 1, found: 2 };
        let removals = [("flush".to_owned(), flushes), ("wait".to_owned(), waits)];
        let totals = Totals { commands: 5, left_out: 1, removals: removals.into() };
        let text = table(&totals);
        let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let rows: Vec<_> = text.lines().map(fields).collect();
        assert_eq!(rows[1], ["flush", "4", "2", "0", "3", "0", "100", "%"]);
        assert_eq!(rows[3], ["all", "8", "4", "2", "4", "1", "75", "%"]);
        assert!(text.contains("5 commands, of which 1 were left out"));
        assert!(
            lines(&totals).ends_with("{\"commands\":5,\"left_out\":1,\"type\":\"commands\"}\n")
        );
    }
}
