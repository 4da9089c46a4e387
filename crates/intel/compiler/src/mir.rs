//! Machine IR: instructions of execution units on the values of [`tepui_regalloc::Function`].
//!
//! # Values
//!
//! A value is a *plane* or several in a row: a double word for each channel of the thread, in order. Values of 8 and 16
//! bits have the low bits of their double words and leave the others undefined; values of 64 bits are two planes; truth
//! values are all ones or zero. So each channel owns the same bytes of all registers, a move under the execution mask
//! never touches what another channel has there, and conversions between sizes are regions.
//!
//! A *scalar* value ([`SCALAR`], [`crate::scalars`]) is one double word that one channel computes without the execution
//! mask and all channels read.
//!
//! # Instructions
//!
//! An [`Inst`] is an instruction of the hardware at the width of the thread, or one of a few fixed sequences
//! ([`Op`]) that belong together because they communicate through a flag or an accumulator. [`crate::emit`] divides them
//! into instructions that the hardware has.

use crate::payload::TargetPayload;
use tepui_intel_isa::{Condition, Opcode, Sfid, Type, descriptor};
use tepui_regalloc::{Effect, Overlap, RegClass, StackAccess, StackOffset, Target, UNASSIGNED};

/// Double words of a register.
pub const GRF_DWORDS: u16 = 8;
/// Bytes of a register.
pub const GRF_BYTES: u16 = 32;
/// Units of registers, as [`tepui_regalloc`] counts them, in one of the hardware's registers.
pub const GRF_UNITS: u16 = 2;
/// Bytes of a unit.
pub const UNIT_BYTES: u16 = GRF_BYTES / GRF_UNITS;

/// A function in machine IR.
pub type Function = tepui_regalloc::Function<Inst>;
/// An operation of the machine IR.
pub type MOp = tepui_regalloc::Op<Inst>;

/// The location of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Place {
    /// No operand.
    #[default]
    None,
    /// The null register.
    Null,
    /// A plane, by its first unit.
    Plane(u16),
    /// A scalar value, which all channels read, by its unit.
    Scalar(u16),
    /// A double word of the register file that all channels read, by its index.
    Fixed(u16),
    /// A plane of the thread's payload, by its register.
    Payload(u16),
    /// An immediate.
    Immediate(u64),
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Operand {
    /// Its location.
    pub place: Place,
    /// Its type.
    pub ty: Type,
    /// First byte within each double word.
    pub byte: u8,
    /// Negated; inverted in bitwise operations.
    pub negate: bool,
    /// Absolute value, taken before the negation.
    pub abs: bool,
}

impl Operand {
    /// No operand.
    pub const NONE: Operand =
        Operand { place: Place::None, ty: Type::UD, byte: 0, negate: false, abs: false };

    /// An operand without modifiers.
    #[must_use]
    pub const fn new(place: Place, ty: Type) -> Operand {
        Operand { place, ty, byte: 0, negate: false, abs: false }
    }

    /// A value whose register is not allocated yet.
    #[must_use]
    pub const fn value(ty: Type) -> Operand {
        Operand::new(Place::Plane(UNASSIGNED), ty)
    }

    /// An immediate.
    #[must_use]
    pub const fn immediate(ty: Type, bits: u64) -> Operand {
        Operand::new(Place::Immediate(bits), ty)
    }

    /// A scalar value whose register is not allocated yet.
    #[must_use]
    pub const fn scalar(ty: Type) -> Operand {
        Operand::new(Place::Scalar(UNASSIGNED), ty)
    }

    /// Whether it is a register that allocation chooses.
    #[must_use]
    pub const fn is_value(&self) -> bool {
        matches!(self.place, Place::Plane(_) | Place::Scalar(_))
    }

    /// Sets the register of a value.
    fn assign(&mut self, unit: u16) {
        match &mut self.place {
            Place::Plane(at) | Place::Scalar(at) => *at = unit,
            _ => {}
        }
    }

    /// The operand, negated.
    #[must_use]
    pub const fn negated(self) -> Operand {
        Operand { negate: !self.negate, ..self }
    }
}

/// A message, apart from its payload and its response. Its sources are a header ([`Header::Value`]) or the payload, then
/// the payload or the second payload, then the handle of the surface ([`Message::bindless`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Message {
    /// The unit that receives it.
    pub sfid: Sfid,
    /// The function control of its descriptor.
    pub control: u32,
    /// Channels of the message; wider threads send several.
    pub width: u8,
    /// Planes of the payload, of the second payload and of the response. Of several planes, threads that are wider than
    /// the message have the parts of each message together ([`Op::Arrange`]).
    pub planes: [u8; 3],
    /// The header, with which there is no second payload.
    pub header: Header,
    /// Whether the surface is that of a handle, a scalar value, instead of an entry of the binding table.
    pub bindless: bool,
    /// Whether the last plane of the response is one register with a mask of channels ([`Op::Resident`]).
    pub residency: bool,
    /// Its effect.
    pub effect: MessageEffect,
}

impl Message {
    /// A message of an entry of the binding table, without a header.
    #[must_use]
    pub const fn new(sfid: Sfid, control: u32, width: u8, planes: [u8; 3]) -> Message {
        let effect = MessageEffect::Read;
        let header = Header::None;
        Message { sfid, control, width, planes, header, bindless: false, residency: false, effect }
    }
}

/// The header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Header {
    /// No header.
    None,
    /// g0.
    Thread,
    /// A value of its own ([`Op::SamplerHeader`]).
    Value,
}

/// The effect of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MessageEffect {
    /// Reads memory that nothing writes.
    Pure,
    /// Reads memory.
    Read,
    /// Writes memory.
    Write,
}

/// A conjunction or disjunction of two comparisons of values of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Both {
    /// The conditions.
    pub conditions: [Condition; 2],
    /// Whether one of them suffices.
    pub either: bool,
}

/// The operation of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// An instruction of the hardware: its sources are operands, its result is masked.
    Alu {
        /// The operation.
        opcode: Opcode,
        /// Function of `math`.
        function: u8,
        /// The condition of a minimum or maximum.
        condition: Condition,
        /// Whether the result is saturated.
        saturate: bool,
    },
    /// All ones where a comparison of two sources holds, else zero.
    Compare(Condition),
    /// The third source where a comparison of the first two holds, else the fourth.
    Select(Condition),
    /// A comparison of two sources that decides about a branch.
    Test(Condition),
    /// All ones where two comparisons, of the first two and of the last two sources, hold together, else zero.
    CompareBoth(Both),
    /// Two comparisons that decide about a branch together.
    TestBoth(Both),
    /// The upper half of a product of double words, through the accumulator.
    MulHigh,
    /// The number of each channel within its thread.
    Lane,
    /// The channels that execute and for which a comparison of two sources holds, as a mask: a scalar value.
    Ballot(Condition),
    /// The double word that one channel has of the first source, by its number: a scalar value.
    ReadLane,
    /// The double words that other channels have of the first source, by their numbers in the second.
    Shuffle,
    /// Combines double words of the channels that execute, from the first to each, within clusters: first source by an
    /// operation, where other channels have the identity, the second source. The result is a register of identities
    /// and a plane, written without the execution mask ([`scan_class`]).
    Scan {
        /// The operation.
        opcode: Opcode,
        /// The condition of a minimum or maximum.
        condition: Condition,
        /// Channels of a cluster.
        cluster: u8,
    },
    /// The part of a scan's result that channels take.
    Scanned(Scanned),
    /// A message, whose response is the result.
    Send(Message),
    /// The header of a message of the sampler, written without the execution mask. Its sources are bits of the second
    /// double word and the handle of a sampler, both scalar values, if there are any.
    SamplerHeader {
        /// Bits of the second double word: texel offsets, the component of a gather, components that are left out.
        bits: u32,
        /// The number of the sampler's sixteen in the sampler table.
        table: u8,
    },
    /// The timestamp: the first two double words of a register, written without the execution mask.
    Clock,
    /// For each channel 0 if its texels have memory, else 1, from the responses of messages with residency.
    Resident {
        /// Planes of a response, with that of the mask.
        planes: u8,
        /// Channels of a message.
        width: u8,
    },
    /// Values of 64 bits from their halves, one or two: both double words of a channel are neighbours. Of two, the parts
    /// for each message of eight channels are together.
    Address,
    /// The low (0) or the high (1) halves of values of 64 bits that are neighbours.
    Half(u8),
    /// Planes in the order of messages of fewer channels: the parts of all planes for the first message, then for the next.
    Arrange {
        /// Planes.
        planes: u8,
        /// Channels of a message.
        width: u8,
    },
    /// Planes from the responses of messages of fewer channels, the inverse of [`Op::Arrange`].
    Spread {
        /// Planes.
        planes: u8,
        /// The first planes, which are taken.
        taken: u8,
        /// Channels of a message.
        width: u8,
    },
    /// The first or the second barycentric coordinate, of a pair as the payload and the pixel interpolator have it: eight
    /// channels of the first, then of the second.
    Barycentric {
        /// The second instead of the first.
        second: bool,
    },
    /// X or Y of each channel's pixel, or of the upper left one of its coarse pixel, as floats.
    Pixel {
        /// Y instead of X.
        y: bool,
        /// Channels are coarse pixels.
        coarse: bool,
    },
    /// The number of each channel's sample.
    SampleId,
    /// X or Y of each channel's sample in its pixel, in sixteenths.
    SampleOffset {
        /// Y instead of X.
        y: bool,
    },
    /// Fills the flag of live channels with those that are no helper invocations from the start.
    BeginLive,
    /// Keeps channels live where a comparison of two sources holds.
    Keep(Condition),
    /// Suspends the channels of squares in which none is live, up to [`Op::Resume`].
    Suspend,
    /// Resumes suspended channels. Follows all control flow.
    Resume,
    /// All ones in channels that are not live, else zero.
    Helper {
        /// From the start, instead of now.
        from_start: bool,
    },
    /// A derivative of a plane of floats within squares of four channels.
    Derivative {
        /// In Y instead of X.
        y: bool,
        /// One for each row or column, instead of one for all.
        fine: bool,
    },
    /// Writes planes to the URB entries of a plane of handles, which offsets and masks follow.
    UrbWrite {
        /// Offset in slots.
        offset: u16,
        /// Planes.
        planes: u8,
        /// Whether each channel has an offset.
        per_channel: bool,
        /// Whether a mask has the planes that are written.
        masked: bool,
    },
    /// Reads planes from the URB entries of a plane of handles, which offsets follow.
    UrbRead {
        /// Offset in slots.
        offset: u16,
        /// Planes.
        planes: u8,
        /// Whether each channel has an offset.
        per_channel: bool,
        /// Whether threads write the entries meanwhile.
        changes: bool,
    },
    /// Writes planes to a render target; alpha and mask are sources after them.
    TargetWrite(TargetPayload),
    /// Waits for the other threads of the workgroup.
    Barrier,
    /// Waits until earlier writes to memory are visible.
    Fence {
        /// Of buffers and images.
        buffers: bool,
        /// Of workgroup memory.
        local: bool,
    },
    /// Begins a part of the program that threads of the same pixels execute one after the other, or ends it.
    Interlock {
        /// Ends it.
        end: bool,
    },
    /// Loads a spilled value from scratch memory, or stores it there, at an offset in registers.
    Scratch {
        /// Whether it stores.
        store: bool,
        /// Units of the value.
        units: u8,
        /// The offset in registers.
        at: u16,
    },
}

/// The channel of a scan's result that each channel takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scanned {
    /// Its own: an inclusive scan.
    Own,
    /// The one before: an exclusive scan.
    Before,
    /// The last of its cluster of some channels: a reduction.
    Last(u8),
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inst {
    /// Its operation.
    pub op: Op,
    /// The result.
    pub dst: Operand,
    /// The sources.
    pub src: [Operand; 4],
}

impl Inst {
    /// An instruction of the hardware.
    #[must_use]
    pub fn alu(opcode: Opcode, dst: Type, src: &[Operand]) -> Inst {
        let op = Op::Alu { opcode, function: 0, condition: Condition::None, saturate: false };
        Inst::new(op, Operand::value(dst), src)
    }

    /// An instruction.
    ///
    /// # Panics
    /// When there are more than four sources.
    #[must_use]
    pub fn new(op: Op, dst: Operand, src: &[Operand]) -> Inst {
        let mut all = [Operand::NONE; 4];
        all[..src.len()].copy_from_slice(src);
        Inst { op, dst, src: all }
    }

    /// Whether one channel computes its result for all.
    #[must_use]
    pub const fn is_scalar(&self) -> bool {
        matches!(self.dst.place, Place::Scalar(_))
    }

    /// A copy of all bits.
    #[must_use]
    pub fn mov(src: Operand) -> Inst {
        Inst::alu(Opcode::Mov, Type::UD, &[src])
    }
}

/// Channels of an instruction that reads other channels: one for each address register.
pub const SHUFFLE_WIDTH: u8 = 8;

/// Memories that have no bytes in common: buffers and images, workgroup memory, the thread's scratch memory.
const BUFFERS: u8 = 1;
const LOCAL: u8 = 2;
const SCRATCH: u8 = 4;

/// Planes of threads of `W` channels: the machine as register allocation sees it.
#[derive(Clone, Copy, Debug)]
pub struct Eu<const W: u8>;

/// Units of a plane.
#[must_use]
pub const fn plane_units(width: u8) -> u8 {
    width / 4
}

/// The class of values whose channels do not have the same bytes as those of planes: a masked move would touch bytes of
/// other channels, so they never move and share their registers with no other channel's values.
#[must_use]
pub const fn interleaved(width: u8, planes: u8) -> RegClass {
    RegClass::new(plane_units(width) * planes).aligned(GRF_UNITS as u8).unmasked()
}

/// The class of results of [`Op::Scan`].
#[must_use]
pub const fn scan_class(width: u8) -> RegClass {
    let identities = GRF_UNITS as u8;
    RegClass::new(plane_units(width) + identities).aligned(identities).unmasked()
}

/// The class of headers of messages.
pub const HEADER: RegClass = RegClass::new(GRF_UNITS as u8).aligned(GRF_UNITS as u8).unmasked();

/// The class of scalar values: computed by one channel without the execution mask.
pub const SCALAR: RegClass = RegClass::new(1).unmasked();

/// The class of values of some planes.
#[must_use]
pub const fn planes(width: u8, count: u8) -> RegClass {
    let units = plane_units(width);
    RegClass::new(units * count).aligned(units)
}

impl<const W: u8> Target for Eu<W> {
    type Inst = Inst;

    // Planes by themselves: channels of a scratch message are those of its first double words.
    const MAX_SPILLED_UNITS: u8 = plane_units(W);
    const UNIT_BYTES: u32 = UNIT_BYTES as u32;
    const SLOT_ALIGN: u32 = GRF_BYTES as u32;
    // Offsets of scratch block messages have 12 bits and count registers.
    const STACK_IMMEDIATES: u32 = (1 << 12) * GRF_BYTES as u32;
    const STACK_OFFSET: RegClass = planes(W, 1);
    const CONSTRAINED: bool = true;
    const SWAPS: bool = false;

    fn effect(inst: &Inst) -> Effect {
        match &inst.op {
            Op::Alu { .. }
            | Op::Compare(_)
            | Op::Select(_)
            | Op::Test(_)
            | Op::CompareBoth(_)
            | Op::TestBoth(_)
            | Op::MulHigh
            | Op::Lane
            | Op::Ballot(_)
            | Op::ReadLane
            | Op::Shuffle
            | Op::Scan { .. }
            | Op::Scanned(_)
            | Op::SamplerHeader { .. }
            | Op::Resident { .. }
            | Op::Address
            | Op::Half(_)
            | Op::Arrange { .. }
            | Op::Spread { .. }
            | Op::Barycentric { .. }
            | Op::Pixel { .. }
            | Op::SampleId
            | Op::SampleOffset { .. }
            | Op::Helper { from_start: true }
            | Op::Scratch { store: false, .. } => Effect::Pure,
            Op::UrbRead { changes: false, .. } => Effect::Pure,
            Op::UrbRead { changes: true, .. } => Effect::Read,
            Op::Helper { from_start: false } | Op::Derivative { .. } => Effect::Convergent,
            Op::Send(m) => match m.effect {
                MessageEffect::Pure => Effect::Pure,
                MessageEffect::Read => Effect::Read,
                MessageEffect::Write => Effect::Fixed,
            },
            Op::BeginLive
            | Op::Keep(_)
            | Op::Suspend
            | Op::Resume
            | Op::Clock
            | Op::UrbWrite { .. }
            | Op::TargetWrite(_)
            | Op::Barrier
            | Op::Fence { .. }
            | Op::Interlock { .. }
            | Op::Scratch { store: true, .. } => Effect::Fixed,
        }
    }

    fn is_load(inst: &Inst) -> bool {
        matches!(inst.op, Op::Send(_) | Op::UrbRead { .. } | Op::Scratch { store: false, .. })
    }

    fn rematerialises(inst: &Inst) -> bool {
        matches!(inst.op, Op::Lane | Op::Alu { opcode: Opcode::Mov, .. })
    }

    fn stack_access(access: StackAccess, class: RegClass, offset: StackOffset) -> Inst {
        let store = access == StackAccess::Store;
        let at = match offset {
            StackOffset::Immediate(bytes) => bytes / u32::from(GRF_BYTES),
            StackOffset::Register => u32::MAX,
        };
        let op = Op::Scratch { store, units: class.units, at: at as u16 };
        let value = Operand::value(Type::UD);
        match store {
            true => Inst::new(op, Operand::NONE, &[value]),
            false => Inst::new(op, value, &[]),
        }
    }

    fn stack_offset(offset: u32) -> Inst {
        Inst::mov(Operand::immediate(Type::UD, u64::from(offset)))
    }

    fn move_units(_: u16, _: u16, units: u16) -> u16 {
        units.min(u16::from(plane_units(W)))
    }

    fn overlap(inst: &Inst, _: usize, _: usize) -> Overlap {
        // Instructions of two registers run in two halves; but planes are aligned, so a result and a source are the same
        // or disjoint, and each half reads its own part. Of several messages or shuffles, the first would overwrite what
        // the others read; scans write the identity before they read. Addresses are written half by half.
        match inst.op {
            Op::Send(m) if m.width < W => Overlap::None,
            Op::Shuffle if W > SHUFFLE_WIDTH => Overlap::None,
            Op::Address | Op::Scan { .. } | Op::SamplerHeader { .. } => Overlap::None,
            Op::Barycentric { .. } => Overlap::None,
            // The first comparison writes the result before the second one reads.
            Op::CompareBoth(_) => Overlap::None,
            _ => Overlap::Any,
        }
    }

    // source of both: Mesa, brw_ir_performance.cpp; the longer ones of the two generations.
    fn latency(inst: &Inst) -> u32 {
        let (_, busy) = Self::pipe(inst);
        busy + match inst.op {
            Op::Send(_) | Op::Scratch { .. } => 100,
            Op::UrbRead { .. } => 200,
            Op::Alu { opcode: Opcode::Math, .. } => 24,
            Op::Compare(_) | Op::Select(_) | Op::Test(_) => 14,
            Op::CompareBoth(_) | Op::TestBoth(_) => 14,
            _ => 10,
        }
    }

    fn pipe(inst: &Inst) -> (u8, u32) {
        let registers = if inst.is_scalar() { 1 } else { u32::from(W) / 8 };
        match inst.op {
            Op::Send(_) | Op::Scratch { .. } => (1, 20 * registers),
            Op::UrbRead { .. } => (1, 6 * registers),
            Op::Alu { opcode: Opcode::Math, .. } => (2, 4 * registers),
            Op::Select(_) | Op::CompareBoth(_) | Op::TestBoth(_) => (0, 4 * registers),
            Op::MulHigh | Op::Lane => (0, 4 * registers),
            _ => (0, 2 * registers),
        }
    }

    fn memories(inst: &Inst) -> u8 {
        let Op::Send(m) = &inst.op else { return u8::MAX };
        let surface = (m.control & 0xff) as u8;
        match m.sfid {
            Sfid::DataCache0 | Sfid::DataCache1 if surface == descriptor::LOCAL => LOCAL,
            Sfid::DataCache0
                if m.header == Header::Thread && surface == descriptor::STATELESS_NON_COHERENT =>
            {
                SCRATCH
            }
            Sfid::DataCache0 | Sfid::DataCache1 => BUFFERS,
            _ => u8::MAX,
        }
    }

    fn assign(inst: &mut Inst, mut regs: impl FnMut(bool) -> u16) {
        if inst.dst.is_value() {
            inst.dst.assign(regs(true));
        }
        for src in inst.src.iter_mut().filter(|s| s.is_value()) {
            src.assign(regs(false));
        }
    }
}

/// Whether equal instructions are computed once.
#[must_use]
pub fn is_shared(inst: &Inst) -> bool {
    match &inst.op {
        // Constants are cheaper to make again than to keep.
        Op::Alu { opcode: Opcode::Mov, .. } => inst.src[0].is_value() || inst.is_scalar(),
        Op::Send(m) => m.effect == MessageEffect::Pure,
        Op::Alu { .. } | Op::Compare(_) | Op::CompareBoth(_) | Op::Select(_) => true,
        Op::MulHigh | Op::Lane => true,
        Op::UrbRead { changes, .. } => !changes,
        // Handles of vertices, in the payload.
        Op::Shuffle => matches!(inst.src[0].place, Place::Fixed(_)),
        Op::Address
        | Op::Barycentric { .. }
        | Op::Pixel { .. }
        | Op::SampleId
        | Op::SampleOffset { .. }
        | Op::SamplerHeader { .. } => true,
        _ => false,
    }
}
