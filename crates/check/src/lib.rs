//! Findings of the GPU models' checkers, independent of GPU families: the table of [rules](mod@rule),
//! [findings](finding) and how they are merged, [suppressions](suppress), and reports as text and
//! [SARIF](sarif).
//!
//! A virtual device appends each [`Finding`] as a line of JSON to a file ([`Log`]); `tepui check` reads
//! it after the program has ended.

pub mod finding;
mod log;
pub mod rule;
pub mod sarif;
pub mod suppress;

pub use finding::{Finding, Source, merge};
pub use log::Log;
pub use rule::{Family, Level, RULES, Rule, Subject, rule};

/// The environment variable that names the file of findings to virtual devices.
pub const FILE_VARIABLE: &str = "TEPUI_FINDINGS";
