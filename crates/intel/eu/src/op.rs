//! A decoded operation: the operands of a handler, resolved once.

use tepui_intel_isa::{Condition, Desc, MathFunction, Opcode};

use crate::fault::FaultKind;
use crate::operand::{Source, Target, lanes};
use crate::state::Thread;

/// Executes an operation. Unsafe, because it may be compiled for a host with wide vectors;
/// `handlers::handler` returns only those that this host can execute.
pub type Handler = unsafe fn(&mut Thread, &Op) -> Result<(), FaultKind>;

/// The type that an operation computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// 32 bits, wrapped.
    Int32,
    /// 64 bits: exact for operands of up to 32.
    Int64,
    /// 128 bits, for operands of 64.
    Int128,
    /// `f32`.
    Float,
    /// `f64`.
    Double,
}

/// The effect of an operation on the instruction pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A handler computes; the next operation follows.
    None,
    /// Flow control, by its opcode; jumps are indices of operations.
    Branch(Opcode, u32, u32),
    /// `jmpi` with a constant: the index of the target.
    Jump(u32),
    /// `wait`, with the double word of n0.
    Wait(u8),
    /// A message.
    Send,
}

/// The parts of a message that are known before it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The message without its channels, and without descriptors and register counts if descriptors are in
    /// registers.
    pub message: crate::message::Message,
    /// Both descriptors, if one is in a register.
    pub registers: Option<[Desc; 2]>,
}

/// Location of 32-bit elements that need no conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectSource {
    /// Another location, or elements that need a conversion.
    No,
    /// Consecutive elements, from this byte on.
    Row(u16),
    /// One element for all channels, at this byte.
    Scalar(u16),
    /// An immediate.
    Bits(u32),
}

/// A decoded operation.
#[derive(Clone, Debug)]
pub struct Op {
    pub opcode: Opcode,
    /// Whether it copies bits without change.
    pub copies: bool,
    pub handler: Handler,
    pub flow: Flow,
    /// Whether waiting channels may resume here.
    pub joins: bool,
    /// Byte offset in the program.
    pub ip: u32,
    /// Number of channels.
    pub n: u8,
    /// The first channel.
    pub first: u8,
    pub no_mask: bool,
    /// Predicate control; 0 is none.
    pub predicate: u8,
    pub inverse: bool,
    pub align16: bool,
    /// First bit in the 64 flag bits: f0 has 0 to 31, f1 32 to 63.
    pub flag: u8,
    pub condition: Condition,
    pub saturate: bool,
    pub acc_write: bool,
    /// Whether it is a bitwise operation, which inverts negated sources.
    pub logic: bool,
    pub arithmetic: Arithmetic,
    pub function: Option<MathFunction>,
    pub dst: Target,
    pub src: [Source; 3],
    /// Direct locations of the sources.
    pub direct: [DirectSource; 3],
    /// First byte of a destination of consecutive 32-bit elements, if nothing else is derived from the
    /// result.
    pub direct_dst: Option<u16>,
    pub message: Option<Message>,
    /// Whether it reads channel enables, ip or the timestamp: these registers are updated before it executes.
    pub reads_state: bool,
}

impl Op {
    /// All channels of the operation.
    pub fn all(&self) -> u32 {
        lanes(usize::from(self.n))
    }
}
