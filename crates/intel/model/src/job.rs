//! Work for the model and its outcome: batches, results, faults.

use std::collections::BTreeMap;
use std::fmt;

use tepui_order::Removals;
pub use tepui_softgpu::{JobFaultKind as FaultKind, ProgramPoint};

/// A batch: commands from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// GPU address of the first command, 48 bits.
    pub address: u64,
    /// Bytes up to the end of the buffer, or the length that the client gave.
    pub length: u64,
}

/// The results of a finished batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// Commands executed.
    pub commands: u64,
    /// Walkers that dispatched threads.
    pub dispatches: u64,
    /// Draws.
    pub draws: u64,
    /// EU threads that ran.
    pub threads: u64,
    /// Instructions executed, counted once per thread.
    pub instructions: u64,
    /// The reports of the checker, each only once in the GPU's life.
    pub reports: Vec<Report>,
    /// Flushes, invalidations and stalls by name: how many there were, and without how many the checker reports
    /// something. None if it was not asked for, or the batch cannot be judged: it has reports as it is, or several results.
    pub removals: Option<BTreeMap<String, Removals>>,
}

/// Kinds of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportKind {
    /// Read of a register that the thread never wrote.
    UnwrittenRegister,
    /// Read of a byte of local memory that the workgroup never wrote.
    UnwrittenLocal,
    /// Read of a byte of memory whose page was never written.
    UnwrittenMemory,
    /// Access of a register that the software scoreboard does not order after an earlier one (Gen12).
    UnorderedAccess,
    /// Access of memory whose data another cache may still hold.
    MissingFlush,
    /// Read of memory of which the unit's cache may hold old data.
    MissingInvalidate,
    /// Access of memory that an earlier command may access later.
    MissingWait,
    /// Command that needs another one before it.
    CommandOrder,
    /// Memory of an image was read or written as its auxiliary surface does not allow.
    CompressionState,
}

impl ReportKind {
    /// All kinds.
    pub const ALL: [ReportKind; 9] = [
        ReportKind::UnwrittenRegister,
        ReportKind::UnwrittenLocal,
        ReportKind::UnwrittenMemory,
        ReportKind::UnorderedAccess,
        ReportKind::MissingFlush,
        ReportKind::MissingInvalidate,
        ReportKind::MissingWait,
        ReportKind::CommandOrder,
        ReportKind::CompressionState,
    ];

    /// The name of the rule that is broken, as in `tepui_check`'s table.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            ReportKind::UnwrittenRegister => "unwritten-register",
            ReportKind::UnwrittenLocal => "unwritten-local",
            ReportKind::UnwrittenMemory => "unwritten-memory",
            ReportKind::UnorderedAccess => "unordered-access",
            ReportKind::MissingFlush => "missing-flush",
            ReportKind::MissingInvalidate => "missing-invalidate",
            ReportKind::MissingWait => "missing-wait",
            ReportKind::CommandOrder => "command-order",
            ReportKind::CompressionState => "compression-state",
        }
    }

    /// True for reports about commands, instead of an instruction of a program: [`Report::at`] then has the
    /// names of both, and a number for the pair in place of the address.
    #[must_use]
    pub fn is_about_commands(self) -> bool {
        use ReportKind as Kind;
        matches!(
            self,
            Kind::MissingFlush
                | Kind::MissingInvalidate
                | Kind::MissingWait
                | Kind::CommandOrder
                | Kind::CompressionState
        )
    }
}

/// A finding of the checker: a mistake in a program that silicon would hide.
pub type Report = tepui_softgpu::Report<ReportKind>;

/// A report as a finding, with its position in the run.
#[must_use]
pub fn finding(report: &Report, first: String) -> tepui_check::Finding {
    let shader = match report.kind.is_about_commands() {
        true => String::new(),
        false => format!("{:016x}", report.at.program),
    };
    tepui_check::Finding {
        rule: report.kind.rule().to_owned(),
        shader,
        offset: report.at.offset,
        instruction: report.at.text.clone(),
        what: report.what.clone(),
        count: 1,
        first,
        ..tepui_check::Finding::default()
    }
}

/// The hardware units that raise faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// The command streamer.
    CommandStreamer,
    /// The thread dispatch of media and compute.
    Dispatch,
    /// An execution unit.
    ExecutionUnit,
    /// The data port.
    DataPort,
    /// The sampler.
    Sampler,
    /// The 3D pipeline, from vertices to pixels.
    Pixels,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::CommandStreamer => "command streamer",
            Unit::Dispatch => "thread dispatch",
            Unit::ExecutionUnit => "execution unit",
            Unit::DataPort => "data port",
            Unit::Sampler => "sampler",
            Unit::Pixels => "3D pipeline",
        })
    }
}

/// The fault that ended a batch.
pub type JobFault = tepui_softgpu::JobFault<Unit>;

impl tepui_softgpu::GpuUnit for Unit {
    const PROGRAM: &'static str = "kernel";
    const PACKET: &'static str = "command";
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_check::{Family, rule};

    #[test]
    fn kinds_and_rules_are_the_same() {
        let mut names = ReportKind::ALL.map(ReportKind::rule);
        let mut found: Vec<_> = rule::found_by(Family::Intel).collect();
        names.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, names);
    }
}
