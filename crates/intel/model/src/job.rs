//! What the model executes and how that ends: batches, results, faults.

use std::fmt;

/// A batch: commands from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// GPU address of the first command, 48 bits.
    pub address: u64,
    /// Bytes up to the end of the buffer, or as many as the client said.
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
    /// Instructions executed, counted once a thread.
    pub instructions: u64,
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

/// Kinds of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A command, state or instruction asks for what the hardware does not have or what is unknown.
    #[default]
    Invalid,
    /// A unit reads or writes memory that is not bound.
    Unbound,
    /// Machine code that is no instruction.
    Undecodable,
    /// The model does not implement it yet.
    Unimplemented,
    /// A budget is spent: the batch counts as an endless loop.
    Endless,
    /// The model panicked, which is a bug in it.
    Panic,
}

/// A place in a kernel (the program of an EU thread).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramPoint {
    /// GPU address of the kernel's first instruction.
    pub kernel: u64,
    /// Byte offset of the instruction.
    pub offset: u32,
    /// The instruction, disassembled.
    pub text: String,
}

/// The fault that ended a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{unit}: {what}{}", location(.program, .command))]
pub struct JobFault {
    /// The unit that raised it.
    pub unit: Unit,
    /// Its kind.
    pub kind: FaultKind,
    /// A description, in one sentence without a full stop.
    pub what: String,
    /// Where in a kernel.
    pub program: Option<ProgramPoint>,
    /// GPU address of the command that was being executed.
    pub command: Option<u64>,
}

fn location(program: &Option<ProgramPoint>, command: &Option<u64>) -> String {
    let mut text = String::new();
    if let Some(p) = program {
        text += &format!(", in kernel {:#x} at offset {:#x}: {}", p.kernel, p.offset, p.text);
    }
    if let Some(address) = command {
        text += &format!(", in the command at {address:#x}");
    }
    text
}

impl JobFault {
    /// A fault without a position.
    pub fn new(unit: Unit, what: impl Into<String>) -> JobFault {
        JobFault { unit, kind: FaultKind::Invalid, what: what.into(), program: None, command: None }
    }

    /// The same fault with a kind.
    pub fn of(self, kind: FaultKind) -> JobFault {
        JobFault { kind, ..self }
    }

    /// The fault of something that the model does not implement.
    pub fn unimplemented(unit: Unit, what: impl fmt::Display) -> JobFault {
        JobFault::new(unit, format!("{what} is not executed by this model yet"))
            .of(FaultKind::Unimplemented)
    }

    /// The fault of a unit's access to memory.
    pub fn memory(unit: Unit, fault: tepui_softgpu::Fault) -> JobFault {
        JobFault::new(unit, fault.to_string()).of(FaultKind::Unbound)
    }

    /// The same fault at a command, unless it has one.
    pub fn at_command(self, address: u64) -> JobFault {
        JobFault { command: self.command.or(Some(address)), ..self }
    }
}
