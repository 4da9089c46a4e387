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
}

impl Log {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append_to(path: &Path) -> io::Result<Log> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Log { file, start: Instant::now() })
    }

    /// Appends a finding of this moment.
    pub fn add(&self, finding: Finding) {
        let first_ms = self.start.elapsed().as_millis() as u64;
        if let Ok(mut line) = serde_json::to_string(&Finding { first_ms, ..finding }) {
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
