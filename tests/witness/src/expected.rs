//! Failures that are known: data files in `expected/`, one for each driver that has some.
//!
//! A line names a case, or the beginning of a case's name and `*`, and says how it fails:
//!
//! ```text
//! # Why, for people.
//! sparse/*               error lacks sparse resources
//! passes/absent_colors   wrong first: 12 of 64; second: 3 of 64
//! algorithms/scan        at-most sums: 900 of 4096
//! ```
//!
//! `error` quotes a part of the error. `wrong` has each output with wrong elements, how many there are and of how many, so that a
//! case that gets worse (or better) is seen; outputs that are not named must be right. `at-most` is for cases whose threads race: the
//! counts are limits. A test whose case fails in another way says which line would be right.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::compare::Finding;

/// Expected failures of one driver.
#[derive(Debug, Default)]
pub struct Expected {
    /// The file, from the project's folder.
    path: PathBuf,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    case: Pattern,
    failure: Failure,
}

/// Names of cases.
#[derive(Debug)]
enum Pattern {
    Exact(String),
    Prefix(String),
}

/// A way to fail.
#[derive(Debug, PartialEq)]
enum Failure {
    /// The case ends with an error that contains this.
    Error(String),
    /// These outputs have wrong elements.
    Wrong(Vec<Count>),
    /// At most these outputs have wrong elements, and at most that many.
    AtMost(Vec<Count>),
}

/// Wrong elements of an output.
#[derive(Debug, PartialEq)]
struct Count {
    output: String,
    wrong: usize,
    of: usize,
}

impl Pattern {
    fn matches(&self, case: &str) -> bool {
        match self {
            Pattern::Exact(name) => name == case,
            Pattern::Prefix(start) => case.starts_with(start.as_str()),
        }
    }
}

impl Failure {
    fn parse(kind: &str, text: &str) -> Result<Failure, String> {
        match kind {
            "error" if !text.is_empty() => Ok(Failure::Error(text.to_owned())),
            "wrong" => Ok(Failure::Wrong(counts(text)?)),
            "at-most" => Ok(Failure::AtMost(counts(text)?)),
            _ => {
                Err(format!("`{kind} {text}` is none of error TEXT, wrong COUNTS, at-most COUNTS"))
            }
        }
    }

    /// Whether findings fail in this way.
    fn is(&self, findings: &Result<Vec<Finding>, String>) -> bool {
        match (self, findings) {
            (Failure::Error(text), Err(error)) => error.contains(text.as_str()),
            (Failure::Wrong(counts), Ok(findings)) => *counts == wrong_outputs(findings),
            (Failure::AtMost(limits), Ok(findings)) => wrong_outputs(findings).iter().all(|c| {
                let limit = limits.iter().find(|limit| limit.output == c.output);
                limit.is_some_and(|limit| c.wrong <= limit.wrong && c.of == limit.of)
            }),
            _ => false,
        }
    }
}

/// `OUTPUT: N of M`, separated by semicolons.
fn counts(text: &str) -> Result<Vec<Count>, String> {
    let count = |part: &str| {
        let (output, numbers) = part.trim().rsplit_once(": ")?;
        let (wrong, of) = numbers.split_once(" of ")?;
        Some(Count { output: output.to_owned(), wrong: wrong.parse().ok()?, of: of.parse().ok()? })
    };
    let one = |part| count(part).ok_or_else(|| format!("`{part}` is not `OUTPUT: N of M`"));
    text.split(';').map(one).collect()
}

fn wrong_outputs(findings: &[Finding]) -> Vec<Count> {
    let wrong = findings.iter().filter(|finding| !finding.passed);
    let count = |f: &Finding| Count { output: f.output.clone(), wrong: f.failures, of: f.elements };
    wrong.map(count).collect()
}

/// The line that would describe how a case failed; empty if it passed.
fn line_for(case: &str, findings: &Result<Vec<Finding>, String>) -> String {
    match findings {
        Err(error) => format!("{case} error {}", error.lines().next().unwrap_or_default()),
        Ok(findings) => {
            let mut text = String::new();
            for Count { output, wrong, of } in wrong_outputs(findings) {
                let start =
                    if text.is_empty() { format!("{case} wrong ") } else { "; ".to_owned() };
                let _ = write!(text, "{start}{output}: {wrong} of {of}");
            }
            text
        }
    }
}

impl Expected {
    /// Reads the file of a driver; without a file, nothing is expected to fail.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not in the format above.
    pub fn read(driver: &str) -> Result<Expected, String> {
        let path = PathBuf::from(format!("tests/witness/expected/{driver}.txt"));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&path);
        if !file.exists() {
            return Ok(Expected::default());
        }
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", path.display()))?;
        Expected::parse(&text, path)
    }

    fn parse(text: &str, path: PathBuf) -> Result<Expected, String> {
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fail = |why: String| format!("{}:{}: {why}", path.display(), index + 1);
            let (case, how) = line.split_once(' ').ok_or_else(|| fail("no failure".into()))?;
            let how = how.trim_start();
            let (kind, text) = how.split_once(' ').unwrap_or((how, ""));
            let failure = Failure::parse(kind, text).map_err(fail)?;
            let case = match case.strip_suffix('*') {
                Some(start) => Pattern::Prefix(start.to_owned()),
                None => Pattern::Exact(case.to_owned()),
            };
            lines.push(Line { case, failure });
        }
        Ok(Expected { path, lines })
    }

    /// The lines that name none of these cases.
    pub fn unused<'a>(&'a self, cases: &'a [String]) -> impl Iterator<Item = String> + 'a {
        let unused = |line: &&Line| !cases.iter().any(|case| line.case.matches(case));
        self.lines.iter().filter(unused).map(|line| format!("{}: {line:?}", self.path.display()))
    }

    /// Compares how a case fared with the line for it, if there is one.
    ///
    /// # Errors
    /// The case passed, or failed in another way.
    pub fn check(
        &self,
        case: &str,
        findings: &Result<Vec<Finding>, String>,
    ) -> Option<Result<(), String>> {
        let line = self.lines.iter().find(|line| line.case.matches(case))?;
        if line.failure.is(findings) {
            return Some(Ok(()));
        }
        let path = self.path.display();
        let right = line_for(case, findings);
        Some(Err(if right.is_empty() {
            format!("it passes now: take its line out of {path}")
        } else {
            format!(
                "it fails otherwise than {path} says ({:?}). If that is right, the line is:\n{right}",
                line.failure
            )
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Output, Rule};
    use crate::compare;

    fn expected(text: &str) -> Expected {
        Expected::parse(text, "x.txt".into()).expect("valid lines")
    }

    /// Findings of an output `a` with as many of four elements wrong, and of a right output `b`.
    fn findings(wrong: usize) -> Result<Vec<Finding>, String> {
        let data: Vec<u32> = (0..4).map(|i| u32::from(i < wrong)).collect();
        let a = Output::cpu("a", &data, &[0; 4], Rule::Bits);
        Ok(compare::against_cpu(&[a, Output::cpu("b", &[1u32], &[1], Rule::Bits)]))
    }

    #[test]
    fn counts_are_exact() {
        let list = expected("# why\ng/case wrong a: 2 of 4\n");
        assert_eq!(list.check("g/case", &findings(2)), Some(Ok(())));
        let worse = list.check("g/case", &findings(3)).expect("a line").unwrap_err();
        assert!(worse.ends_with("g/case wrong a: 3 of 4"), "{worse}");
        assert!(list.check("g/case", &findings(1)).expect("a line").is_err());
        let passes = list.check("g/case", &findings(0)).expect("a line").unwrap_err();
        assert_eq!(passes, "it passes now: take its line out of x.txt");
        assert!(list.check("g/case", &Err("lost".into())).expect("a line").is_err());
        assert_eq!(list.check("g/case_2", &findings(4)), None);
    }

    #[test]
    fn limits_and_errors() {
        let list = expected("g/race at-most a: 2 of 4\nh/* error lacks");
        assert_eq!(list.check("g/race", &findings(1)), Some(Ok(())));
        assert!(list.check("g/race", &findings(3)).expect("a line").is_err());
        assert_eq!(list.check("h/any", &Err("it lacks all".into())), Some(Ok(())));
        assert!(list.check("h/any", &Err("lost".into())).expect("a line").is_err());
        assert!(list.check("h/any", &findings(4)).expect("a line").is_err());
    }

    #[test]
    fn lines_without_a_case_are_found() {
        let list = expected("g/case wrong a: 2 of 4\nh/* error lacks");
        let cases = ["g/case".to_owned()];
        assert_eq!(list.unused(&cases).count(), 1);
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["case", "case wrong", "case wrong a: 1", "case fails", "case error"] {
            assert!(Expected::parse(line, "x.txt".into()).is_err(), "{line}");
        }
    }
}
