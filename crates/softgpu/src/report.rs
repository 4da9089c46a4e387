//! Reports of checkers.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::job::ProgramPoint;

/// A finding of a checker: a program's mistake that silicon would hide. `K` is the GPU family's kind of
/// findings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Report<K> {
    /// Its kind.
    pub kind: K,
    /// A description, in one sentence without a full stop.
    pub what: String,
    /// The instruction that it is about.
    pub at: ProgramPoint,
}

impl<K> fmt::Display for Report<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProgramPoint { program: shader, offset, text } = &self.at;
        write!(f, "{}, in shader {shader:#x} at offset {offset:#x}: {text}", self.what)
    }
}

/// The reports of a GPU, collected by the host's threads: one of each kind per instruction.
#[derive(Debug)]
pub struct Reports<K>(Mutex<Collected<K>>);

#[derive(Debug)]
struct Collected<K> {
    seen: HashSet<(K, u64, u32)>,
    new: Vec<Report<K>>,
}

impl<K> Default for Reports<K> {
    fn default() -> Reports<K> {
        Reports(Mutex::new(Collected { seen: HashSet::new(), new: Vec::new() }))
    }
}

impl<K: Copy + Eq + Hash> Reports<K> {
    /// Maximum number of reports in a GPU's lifetime.
    const MAX_REPORTS: usize = 4096;

    /// Adds a report, unless there was one of its kind for the instruction.
    pub fn add(&self, report: Report<K>) {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (report.kind, report.at.program, report.at.offset);
        if collected.seen.len() < Self::MAX_REPORTS && collected.seen.insert(place) {
            collected.new.push(report);
        }
    }

    /// Forgets all reports, so that each may be added again.
    pub fn forget(&self) {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        collected.seen.clear();
        collected.new.clear();
    }

    /// The reports since the last call, by place.
    pub fn take(&self) -> Vec<Report<K>> {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = std::mem::take(&mut collected.new);
        new.sort_by_key(|report| (report.at.program, report.at.offset));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_reported_once() {
        let reports = Reports::default();
        let report = |kind, offset, what: &str| {
            let at = ProgramPoint { program: 0x1000, offset, text: "add".into() };
            Report { kind, what: what.into(), at }
        };
        reports.add(report('a', 16, "first"));
        reports.add(report('a', 16, "the same once more"));
        reports.add(report('b', 16, "another kind"));
        reports.add(report('a', 0, "another place"));
        let texts: Vec<String> = reports.take().iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0], "another place, in shader 0x1000 at offset 0x0: add");
        reports.add(report('b', 16, "again"));
        assert!(reports.take().is_empty());
        reports.forget();
        reports.add(report('b', 16, "again"));
        assert_eq!(reports.take().len(), 1);
    }
}
