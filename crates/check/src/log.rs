//! The file that virtual devices append findings to.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use crate::finding::Finding;

/// A file of findings, which several processes may append to.
#[derive(Debug)]
pub struct Log {
    file: File,
    start: Instant,
    /// The process's program and its arguments.
    program: String,
}

/// Bytes of a program's arguments that are kept.
const MAX_ARGUMENTS: usize = 200;

/// The program of this process, with its arguments.
fn program() -> String {
    let arguments: Vec<String> =
        std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    let mut text = arguments.join(" ");
    text.truncate(text.floor_char_boundary(MAX_ARGUMENTS));
    text
}

impl Log {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append_to(path: &Path) -> io::Result<Log> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Log { file, start: Instant::now(), program: program() })
    }

    /// Appends a finding of this moment.
    pub fn add(&self, finding: Finding) {
        let first_ms = self.start.elapsed().as_millis() as u64;
        let program = self.program.clone();
        if let Ok(mut line) = serde_json::to_string(&Finding { first_ms, program, ..finding }) {
            line.push('\n');
            // One write a line; a full disk is found when the file is read.
            let _ = (&self.file).write_all(line.as_bytes());
        }
    }

    /// Reads a file; a line that was cut off at its end is left out.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> io::Result<Vec<Finding>> {
        let text = std::fs::read_to_string(path)?;
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_name_the_program() {
        let path = std::env::temp_dir().join(format!("tepui-findings-{}", std::process::id()));
        let log = Log::append_to(&path).unwrap();
        let first = "dispatch 1".to_owned();
        log.add(Finding { rule: "lane-race".to_owned(), first, ..Finding::default() });
        let read = Log::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let [finding] = &read[..] else { panic!("{read:?}") };
        let own = std::env::args().next().unwrap();
        assert!(finding.program.starts_with(&own), "{finding:?}");
        let name = own.rsplit('/').next().unwrap();
        assert!(finding.to_string().contains(&format!("dispatch 1 of {name} after")), "{finding}");
    }
}
