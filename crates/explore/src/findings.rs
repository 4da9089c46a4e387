//! Findings of the checker with the source lines of their instructions.

use tepui_agx_model::{Fingerprint, Report};
use tepui_check::{Finding, Source, merge};

use crate::compile::{Compiled, Text};
use crate::listing::{self, Line};

/// Source locations of a program's instructions.
pub struct SourceMap {
    code: Vec<u8>,
    lines: Vec<Line>,
    source: Vec<String>,
    file: String,
}

impl SourceMap {
    /// Source map of a program: its machine code, its instructions with lines, and its text.
    pub fn new(text: &Text, code: &[u8], lines: Vec<Line>) -> SourceMap {
        let source = text.text.lines().map(str::to_owned).collect();
        let file = if text.name.is_empty() { "shader" } else { &text.name };
        SourceMap { code: code.to_vec(), lines, source, file: file.to_owned() }
    }

    /// Source map of a compiled shader.
    pub fn of(text: &Text, compiled: &Compiled) -> SourceMap {
        let program = &compiled.program;
        let lines = listing::lines(&program.code, &compiled.shader, &program.locs);
        SourceMap::new(text, &program.code, lines)
    }

    /// Reports as findings.
    #[must_use]
    pub fn findings(&self, reports: &[Report]) -> Vec<Finding> {
        let find = |report: &Report| {
            let mut finding = report.finding(String::new());
            if Fingerprint::begins(&self.code, report.shader) {
                finding.source = self.source(report.at.offset);
            }
            finding
        };
        merge(reports.iter().map(find))
    }

    /// The line of the instruction at an offset, or of the nearest instruction before it that has one.
    #[must_use]
    pub fn source(&self, offset: u32) -> Option<Source> {
        let mut before = self.lines.iter().take_while(|l| l.offset <= offset as usize);
        let line = before.by_ref().filter(|l| l.line != 0).last()?.line;
        let text = self.source.get(line as usize - 1)?.clone();
        Some(Source { file: self.file.clone(), line, text })
    }
}
