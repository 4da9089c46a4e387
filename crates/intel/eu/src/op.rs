//! A decoded operation: what a handler needs, resolved once.

use tepui_intel_isa::{Condition, Desc, MathFunction, Opcode};

use crate::fault::FaultKind;
use crate::operand::{Source, Target, lanes};
use crate::thread::Thread;

/// Executes an operation. Unsafe, because it may be compiled for a host with wide vectors;
/// `handlers::handler` gives those that this host executes.
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

/// What an operation does to the instruction pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A handler computes; the next operation follows.
    None,
    /// Flow control, by its opcode; jumps are indices of operations.
    Branch(Opcode, u32, u32),
    /// `jmpi` with a constant: an index.
    Jump(u32),
    /// `wait`: the double word of n0.
    Wait(u8),
    /// A message.
    Send,
}

/// A message as far as it is known before it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// All but the channels, and but the descriptors and what follows from them if registers have these.
    pub message: crate::message::Message,
    /// Both descriptors, if one is in a register.
    pub registers: Option<[Desc; 2]>,
}

/// Where 32-bit elements are that need no conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direct {
    /// Elsewhere, or they need one.
    No,
    /// One behind the other, from this byte on.
    Row(u16),
    /// One element for all channels, at this byte.
    Scalar(u16),
    /// These bits for all channels.
    Bits(u32),
}

/// A decoded operation.
#[derive(Clone, Debug)]
pub struct Op {
    pub opcode: Opcode,
    /// It moves bits as they are.
    pub copies: bool,
    pub handler: Handler,
    pub flow: Flow,
    /// Channels may wait to go on here.
    pub joins: bool,
    /// Byte offset in the program.
    pub ip: u32,
    /// Channels.
    pub n: u8,
    /// The first channel.
    pub first: u8,
    pub no_mask: bool,
    /// Predicate control; 0 is none.
    pub predicate: u8,
    pub inverse: bool,
    pub align16: bool,
    /// First bit of the flags, of 64: f0 has 0 to 31, f1 32 to 63.
    pub flag: u8,
    pub condition: Condition,
    pub saturate: bool,
    pub acc_write: bool,
    /// Negated sources are inverted.
    pub logic: bool,
    pub arithmetic: Arithmetic,
    pub function: Option<MathFunction>,
    pub dst: Target,
    pub src: [Source; 3],
    /// Short cuts to the sources.
    pub direct: [Direct; 3],
    /// First byte of a destination of 32-bit elements, one behind the other, where nothing is
    /// derived from the result.
    pub direct_dst: Option<u16>,
    pub message: Option<Message>,
    /// Reads channel enables, ip or the timestamp: they are written to the registers before.
    pub reads_state: bool,
}

impl Op {
    /// All channels of the operation.
    pub fn all(&self) -> u32 {
        lanes(usize::from(self.n))
    }
}
