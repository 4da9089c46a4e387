//! The fault that ends a job.

use std::fmt;

use crate::fault::Fault;

/// The hardware units of a GPU family.
pub trait GpuUnit: Copy + fmt::Debug + fmt::Display {
    /// The family's term for a program, for messages.
    const PROGRAM: &'static str;
    /// The family's term for an element of a control stream, for messages.
    const PACKET: &'static str;
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JobFaultKind {
    /// A packet, descriptor or instruction asks for something that the hardware does not have or that
    /// is unknown.
    #[default]
    Invalid,
    /// A unit accesses memory or registers that are not bound.
    Unbound,
    /// A record has another length than its header says.
    Length,
    /// Machine code that is no instruction.
    Undecodable,
    /// The model does not implement it yet.
    Unimplemented,
    /// The job exceeded its budget: it counts as an endless loop.
    Endless,
    /// The model panicked, which is a bug in it.
    Panic,
}

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramPoint {
    /// GPU address of the program's first instruction.
    pub program: u64,
    /// Byte offset of the instruction.
    pub offset: u32,
    /// The instruction, disassembled.
    pub text: String,
}

/// The fault that ended a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFault<U> {
    /// The unit that raised it.
    pub unit: U,
    /// Its kind.
    pub kind: JobFaultKind,
    /// A description, in one sentence without a full stop.
    pub what: String,
    /// The instruction that was being executed.
    pub program: Option<ProgramPoint>,
    /// GPU address of the packet that was being executed.
    pub packet: Option<u64>,
}

impl<U: GpuUnit> fmt::Display for JobFault<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.unit, self.what)?;
        if let Some(ProgramPoint { program, offset, text }) = &self.program {
            write!(f, ", in {} {program:#x} at offset {offset:#x}: {text}", U::PROGRAM)?;
        }
        if let Some(address) = self.packet {
            write!(f, ", in the {} at {address:#x}", U::PACKET)?;
        }
        Ok(())
    }
}

impl<U: GpuUnit> std::error::Error for JobFault<U> {}

impl<U: fmt::Display> JobFault<U> {
    /// The fault as lines of a report, indented: unit, description, instruction and packet. `program` and `packet` are the
    /// terms for these, of at most seven letters.
    pub fn lines(&self, program: &str, packet: &str) -> String {
        let mut text = format!("  unit    {}\n  what    {}\n", self.unit, self.what);
        if let Some(ProgramPoint { program: address, offset, text: instruction }) = &self.program {
            text += &format!("  {program:8}{address:#x}, at offset {offset:#x}: {instruction}\n");
        }
        if let Some(address) = self.packet {
            text += &format!("  {packet:8}{address:#x}\n");
        }
        text
    }
}

impl<U> JobFault<U> {
    /// A fault without a position.
    pub fn new(unit: U, what: impl Into<String>) -> JobFault<U> {
        let kind = JobFaultKind::Invalid;
        JobFault { unit, kind, what: what.into(), program: None, packet: None }
    }

    /// Sets the kind.
    pub fn of(self, kind: JobFaultKind) -> JobFault<U> {
        JobFault { kind, ..self }
    }

    /// Sets the address of the packet, unless it is set.
    pub fn at_packet(self, address: u64) -> JobFault<U> {
        JobFault { packet: self.packet.or(Some(address)), ..self }
    }

    /// The fault of a job that exceeds its budget.
    pub fn endless(unit: U) -> JobFault<U> {
        JobFault::new(unit, "the job is taken for endless").of(JobFaultKind::Endless)
    }

    /// The fault of a job that needs something that the model does not implement.
    pub fn unimplemented(unit: U, what: impl fmt::Display) -> JobFault<U> {
        JobFault::new(unit, format!("this model does not execute {what} yet"))
            .of(JobFaultKind::Unimplemented)
    }

    /// The fault of a unit's access to memory.
    pub fn memory(unit: U, fault: Fault) -> JobFault<U> {
        JobFault::new(unit, fault.to_string()).of(JobFaultKind::Unbound)
    }
}
