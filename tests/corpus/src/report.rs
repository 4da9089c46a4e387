//! The report: counts, and the table of refusals.

use crate::{Entry, Outcome, RunOutcome};
use std::collections::BTreeMap;
use std::fmt;

/// Outcomes for a set of shaders.
#[derive(Debug, Default, serde::Serialize)]
pub struct Report {
    /// Number of compiled shaders, without those that use vendor extensions.
    pub compiled: usize,
    /// Number of refused shaders, without those that use vendor extensions.
    pub refused: usize,
    /// Numbers of compiled and refused shaders that use vendor extensions.
    pub vendor: [usize; 2],
    /// Shaders that are invalid, or whose results differ after the passes.
    pub wrong: Vec<String>,
    /// Panics.
    pub crashed: Vec<String>,
    /// Number of shaders with the same memory and outputs.
    pub same: usize,
    /// Shaders that the interpreter did not run to the end, by reason.
    pub not_run: BTreeMap<String, usize>,
    /// Refusals: number, whether all are of one vendor, and a file.
    pub reasons: BTreeMap<String, (usize, bool, String)>,
    /// Numbers of shaders that the AGX back end compiled and refused, of those that the front end accepted,
    /// without vendor extensions.
    pub agx: [usize; 2],
    /// Numbers of shaders with vendor extensions that the AGX back end compiled and refused.
    pub agx_vendor: [usize; 2],
    /// Number of refused shaders that exceed Vulkan's limits for the GPU.
    pub too_large: usize,
    /// The back end's refusals: number and a file.
    pub agx_reasons: BTreeMap<String, (usize, String)>,
    /// Total IR instructions before and after the passes.
    pub instructions: [usize; 2],
}

impl Report {
    /// Counts an entry point.
    pub fn add(&mut self, e: &Entry) {
        let file = e.file.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
        let vendor = e.vendor.is_some();
        match &e.outcome {
            Outcome::Compiled { instructions, ran, agx } => {
                let counts = if vendor { &mut self.agx_vendor } else { &mut self.agx };
                match agx {
                    Ok(_) => counts[0] += 1,
                    Err(not) => {
                        counts[1] += 1;
                        self.too_large += usize::from(not.too_large && !vendor);
                        self.agx_reasons.entry(not.why.clone()).or_insert((0, file.clone())).0 += 1;
                    }
                }
                *(if vendor { &mut self.vendor[0] } else { &mut self.compiled }) += 1;
                self.instructions[0] += instructions[0];
                self.instructions[1] += instructions[1];
                match ran {
                    Some(RunOutcome::Same) => self.same += 1,
                    Some(RunOutcome::NotRun(why)) => {
                        *self.not_run.entry(why.clone()).or_default() += 1
                    }
                    None => {}
                }
            }
            Outcome::Refused(why) => {
                *(if vendor { &mut self.vendor[1] } else { &mut self.refused }) += 1;
                let key = format!("{}: {}", why.inst, why.kind);
                let r = self.reasons.entry(key).or_insert((0, true, file));
                r.0 += 1;
                r.1 &= vendor;
            }
            Outcome::Wrong(what) => self.wrong.push(format!("{}: {what}", e.file.display())),
            Outcome::Crashed(what) => self.crashed.push(format!("{}: {what}", e.file.display())),
        }
    }

    /// The fraction of shaders without vendor extensions that compile, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.compiled as f64 / self.all().max(1) as f64
    }

    /// The fraction of these that become AGX machine code, from 0 to 1, without those that exceed the GPU's
    /// limits.
    #[must_use]
    pub fn agx_share(&self) -> f64 {
        self.agx[0] as f64 / (self.all() - self.too_large).max(1) as f64
    }

    fn all(&self) -> usize {
        self.compiled + self.refused + self.wrong.len() + self.crashed.len()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (vendor, title) in [(false, "refused"), (true, "refused, one vendor's")] {
            for (why, (n, v, file)) in &self.reasons {
                if *v == vendor {
                    writeln!(f, "{n:4}  {title}: {why} ({file})")?;
                }
            }
        }
        for (why, n) in &self.not_run {
            writeln!(f, "{n:4}  not run: {why}")?;
        }
        for (title, list) in [("wrong", &self.wrong), ("crashed", &self.crashed)] {
            for line in list {
                writeln!(f, "{title}: {line}")?;
            }
        }
        for (why, (n, file)) in &self.agx_reasons {
            writeln!(f, "{n:4}  refused by the AGX back end: {why} ({file})")?;
        }
        writeln!(
            f,
            "AGX: compiled {}, refused {}, larger than its limits {} ({:.1} % compiled); one vendor's: compiled {}, refused {}",
            self.agx[0],
            self.all() - self.agx[0] - self.too_large,
            self.too_large,
            100.0 * self.agx_share(),
            self.agx_vendor[0],
            self.agx_vendor[1],
        )?;
        let [before, after] = self.instructions;
        writeln!(
            f,
            "compiled {}, refused {}, wrong {}, crashed {} ({:.1} % compiled); one vendor's: compiled {}, refused {}",
            self.compiled,
            self.refused,
            self.wrong.len(),
            self.crashed.len(),
            100.0 * self.share(),
            self.vendor[0],
            self.vendor[1],
        )?;
        writeln!(
            f,
            "run by the interpreter before and after: the same {}, not run {}; IR instructions {before} before, {after} after",
            self.same,
            self.not_run.values().sum::<usize>(),
        )
    }
}
