//! Finds scripts, and counts their results.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{Error, Result};

/// The `.amber` files in `paths`, sorted; folders are searched recursively.
///
/// # Errors
/// A folder cannot be read.
pub fn scripts(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let inner: Vec<_> =
                std::fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
            let amber = |p: &PathBuf| p.is_dir() || p.extension().is_some_and(|x| x == "amber");
            all.extend(scripts(&inner.into_iter().filter(amber).collect::<Vec<_>>())?);
        } else {
            all.push(path.clone());
        }
    }
    all.sort();
    Ok(all)
}

/// The results of a set of scripts.
#[derive(Debug, Default, serde::Serialize)]
pub struct Report {
    /// Number of scripts whose expectations all hold.
    pub passed: usize,
    /// Scripts that need an unsupported feature, by reason.
    pub refused: BTreeMap<String, Vec<String>>,
    /// Scripts that failed.
    pub failed: Vec<String>,
    /// Invalid scripts.
    pub invalid: Vec<String>,
}

impl Report {
    /// Adds the result of a script.
    pub fn add(&mut self, name: String, result: &Result<()>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(Error::Refused { what, .. }) => {
                self.refused.entry(what.clone()).or_default().push(name);
            }
            Err(e @ Error::Failed { .. }) => self.failed.push(format!("{name}: {e}")),
            Err(e @ Error::Invalid { .. }) => self.invalid.push(format!("{name}: {e}")),
        }
    }

    /// Whether no script failed or was invalid.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failed.is_empty() && self.invalid.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut refused: Vec<_> = self.refused.iter().collect();
        refused.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
        for (why, names) in &refused {
            writeln!(f, "{:5} refused: {why} ({})", names.len(), names[0])?;
        }
        for (title, list) in [("failed", &self.failed), ("invalid", &self.invalid)] {
            for line in list {
                writeln!(f, "{title}: {line}")?;
            }
        }
        writeln!(
            f,
            "passed {}, failed {}, refused {}, invalid {}",
            self.passed,
            self.failed.len(),
            refused.iter().map(|(_, names)| names.len()).sum::<usize>(),
            self.invalid.len(),
        )
    }
}
