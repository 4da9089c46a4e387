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
