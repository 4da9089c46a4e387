//! Findings: what a checker writes while a program runs, and how many lines of that become one.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rule::{Level, Rule, rule};

/// A finding, as a line of JSON in the file that the device appends to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule; empty in a line that takes findings back.
    pub rule: String,
    /// The shader: a fingerprint of its machine code, in hexadecimal.
    pub shader: String,
    /// Byte offset of the instruction.
    pub offset: u32,
    /// The instruction.
    pub instruction: String,
    /// File and line of the source, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The observation and the expectation.
    pub what: String,
    /// Bit mask of the lanes that it was first found in; 0 if it does not concern lanes.
    pub lanes: u32,
    /// The workgroup that it was first found in.
    pub workgroup: [u32; 3],
    /// Number of occurrences.
    pub count: u64,
    /// Position in the run of the first occurrence, such as `compute command 0 of submission 3`.
    pub first: String,
    /// The program in which it was first found, with its arguments; empty outside of a log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Milliseconds from the start of the device to the first occurrence.
    pub first_ms: u64,
    /// The suppression that covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
}

impl Finding {
    /// Its rule.
    #[must_use]
    pub fn rule(&self) -> Option<&'static Rule> {
        rule(&self.rule)
    }

    /// Its severity.
    #[must_use]
    pub fn level(&self) -> Level {
        self.rule().map_or(Level::Warning, |rule| rule.level)
    }

    /// Whether it fails a run.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.suppressed.is_none() && self.level() > Level::Note
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{}:{}: ", source.file, source.line)?;
        }
        let title = self.rule().map_or("", |rule| rule.title);
        writeln!(f, "{}: {title} [{}]", self.level().name(), self.rule)?;
        if let Some(source) = &self.source {
            writeln!(f, "    {}", source.text.trim())?;
        }
        // Findings about commands have no shader.
        if self.shader.is_empty() {
            writeln!(f, "    {}", self.instruction)?;
        } else {
            writeln!(
                f,
                "    {:#06x}: {}   (shader {})",
                self.offset, self.instruction, self.shader
            )?;
        }
        write!(f, "    {}", self.what)?;
        if self.workgroup != [0; 3] {
            let [x, y, z] = self.workgroup;
            write!(f, ", in workgroup {x},{y},{z}")?;
        }
        if !self.first.is_empty() {
            write!(f, "; first in {}", self.first)?;
            if let Some(path) = self.program.split(' ').next().filter(|path| !path.is_empty()) {
                write!(f, " of {}", path.rsplit('/').next().unwrap_or(path))?;
            }
            write!(f, " after {} ms", self.first_ms)?;
        }
        if self.count > 1 {
            write!(f, "; {} times", self.count)?;
        }
        writeln!(f)
    }
}

/// Adds findings up: one of each rule for an instruction of a shader, in the order in which they were first found.
#[must_use]
pub fn merge(lines: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut places = BTreeMap::new();
    let mut all: Vec<Option<Finding>> = Vec::new();
    for line in lines {
        // Of findings about commands, the instruction has the names of both.
        let commands =
            if line.shader.is_empty() { line.instruction.clone() } else { String::new() };
        let place = (line.shader.clone(), line.offset, commands);
        if line.rule.is_empty() {
            // A result that was reported unread is read later.
            if let Some(&k) = places.get(&("unread-result".to_owned(), place)) {
                all[k] = None::<Finding>;
            }
            continue;
        }
        let k = *places.entry((line.rule.clone(), place)).or_insert_with(|| {
            all.push(None);
            all.len() - 1
        });
        match &mut all[k] {
            Some(known) => known.count += line.count,
            slot => *slot = Some(line),
        }
    }
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, offset: u32) -> Finding {
        Finding { rule: rule.to_owned(), offset, count: 2, ..Finding::default() }
    }

    #[test]
    fn findings_about_commands_add_up_by_their_names() {
        let of = |instruction: &str| Finding {
            instruction: instruction.to_owned(),
            ..finding("missing-flush", 1)
        };
        let all = merge([of("A, B"), of("A, C"), of("A, B")]);
        assert_eq!(all.iter().map(|f| f.count).collect::<Vec<_>>(), [4, 2]);
        assert!(!all[0].to_string().contains("shader"), "{}", all[0]);
    }

    #[test]
    fn lines_add_up_and_are_taken_back() {
        let lines = [finding("lane-race", 4), finding("unread-result", 8), finding("lane-race", 4)];
        let all = merge(lines.clone());
        assert_eq!((all.len(), all[0].count), (2, 4));
        assert!(all[0].fails() && !all[1].fails());
        let all = merge(lines.into_iter().chain([finding("", 8)]));
        assert_eq!(all.iter().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["lane-race"]);
    }
}
