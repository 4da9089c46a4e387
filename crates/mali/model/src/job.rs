//! Ends of streams: results and faults.

use std::fmt;

pub use tepui_softgpu::{JobFaultKind as FaultKind, ProgramPoint};

/// The end of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The queue on which the stream ran.
    pub queue: usize,
    /// Counts of the executed work, or the fault that ended it. A queue whose stream faulted accepts no
    /// further one.
    pub outcome: Result<JobStats, JobFault>,
}

/// Counts of the work that a stream executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// Instructions of the command stream.
    pub commands: u64,
    /// Dispatches of compute.
    pub dispatches: u64,
    /// Draws.
    pub draws: u64,
    /// Threads that shaders ran.
    pub threads: u64,
    /// Instructions of shaders, counted once per warp.
    pub instructions: u64,
    /// Threads, included above, that were executed as copies of rows of texels instead of in warps.
    pub copied: u64,
}

impl std::ops::AddAssign for JobStats {
    fn add_assign(&mut self, other: JobStats) {
        self.commands += other.commands;
        self.dispatches += other.dispatches;
        self.draws += other.draws;
        self.threads += other.threads;
        self.instructions += other.instructions;
        self.copied += other.copied;
    }
}

/// Kinds of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportKind {
    /// Read of a register that a message writes later.
    UnwaitedRead,
    /// Write of a register that a message accesses later.
    UnwaitedWrite,
    /// Read of a register whose value was given up.
    DiscardedRegister,
    /// Barrier, or message to the tile or to depth, before the waits that it needs.
    UnwaitedMessage,
    /// Access of memory or of a queue's register that work before may access later.
    MissingWait,
    /// Read of memory of which a cache may hold old data.
    MissingInvalidate,
    /// Job whose header says that it has ended.
    FinishedJob,
}

impl ReportKind {
    /// All kinds.
    pub const ALL: [ReportKind; 7] = [
        ReportKind::UnwaitedRead,
        ReportKind::UnwaitedWrite,
        ReportKind::DiscardedRegister,
        ReportKind::UnwaitedMessage,
        ReportKind::MissingWait,
        ReportKind::MissingInvalidate,
        ReportKind::FinishedJob,
    ];

    /// The name of the rule that is broken, as in `tepui_check`'s table.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            ReportKind::UnwaitedRead => "unwaited-read",
            ReportKind::UnwaitedWrite => "unwaited-write",
            ReportKind::DiscardedRegister => "discarded-register",
            ReportKind::UnwaitedMessage => "unwaited-message",
            ReportKind::MissingWait => "missing-wait",
            ReportKind::MissingInvalidate => "missing-invalidate",
            ReportKind::FinishedJob => "finished-job",
        }
    }

    /// True for reports about instructions of streams or jobs, instead of an instruction of a program: [`Report::at`] then has
    /// the names of both, and a number for the pair in place of the fingerprint.
    #[must_use]
    pub fn is_about_commands(self) -> bool {
        let commands = [Self::MissingWait, Self::MissingInvalidate, Self::FinishedJob];
        commands.contains(&self)
    }
}

/// A finding of the checker: a mistake that silicon would hide. Its program is a fingerprint of the machine code.
pub type Report = tepui_softgpu::Report<ReportKind>;

/// A report as text for standard error.
#[must_use]
pub fn describe(report: &Report) -> String {
    match report.kind.is_about_commands() {
        true => report.what.clone(),
        false => report.to_string(),
    }
}

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
    /// The command-stream front end.
    CommandStream,
    /// The job manager.
    JobManager,
    /// The unit that creates the workgroups and warps of a dispatch.
    Dispatch,
    /// The execution engine of a shader core.
    ShaderCore,
    /// The load/store unit of a shader core.
    LoadStore,
    /// The texture unit of a shader core.
    Texture,
    /// The tiler.
    Tiler,
    /// The fragment front end, tile buffer and blending.
    Fragment,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::CommandStream => "command-stream front end",
            Unit::JobManager => "job manager",
            Unit::Dispatch => "compute dispatch",
            Unit::ShaderCore => "shader core",
            Unit::LoadStore => "load/store unit",
            Unit::Texture => "texture unit",
            Unit::Tiler => "tiler",
            Unit::Fragment => "fragment unit",
        })
    }
}

/// The fault that ended a stream.
pub type JobFault = tepui_softgpu::JobFault<Unit>;

impl tepui_softgpu::GpuUnit for Unit {
    const PROGRAM: &'static str = "shader";
    const PACKET: &'static str = "command-stream instruction";
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_check::{Family, rule};

    #[test]
    fn kinds_and_rules_are_the_same() {
        let mut names = ReportKind::ALL.map(ReportKind::rule);
        let mut found: Vec<_> = rule::found_by(Family::Mali).collect();
        names.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, names);
    }
}
