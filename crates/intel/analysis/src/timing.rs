//! Cycles of single instructions: the unit that executes one, how long it is busy, and when results are there.
//!
//! A row of [`row`] is linear in the sizes of an instruction, in general registers. Most figures are a regression over
//! measurements of Mesa's authors; many of those for messages are their guesses. source: Mesa 25.0,
//! `brw_ir_performance.cpp` (`instruction_desc`, `calculate_desc`), `brw_ir_fs.h` (`get_exec_type`).

use serde::Serialize;
use tepui_intel_isa::message::{DataOp0, DataOp1, Descriptor};
use tepui_intel_isa::{
    Form, Generation, Inst, Location, MathFunction, Opcode, Register, Sfid, Type,
};

use crate::access::{Access, Descriptors, MessageLengths, REGISTER_BYTES};
use crate::bank;

/// A unit that executes instructions of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// The front end, which issues instructions in order.
    FrontEnd,
    /// The floating-point and integer pipe.
    Alu,
    /// Extended math.
    Math,
    /// The sampling engine.
    Sampler,
    /// The pixel interpolator.
    Interpolator,
    /// The unified return buffer.
    Urb,
    /// The data port of the data cache.
    DataCache,
    /// The data port of the render cache.
    RenderCache,
    /// The data port of the constant cache.
    ConstantCache,
    /// The message gateway.
    Gateway,
    /// The thread spawner.
    Spawner,
}

impl Unit {
    /// All units.
    pub const ALL: [Unit; 11] = [
        Unit::FrontEnd,
        Unit::Alu,
        Unit::Math,
        Unit::Sampler,
        Unit::Interpolator,
        Unit::Urb,
        Unit::DataCache,
        Unit::RenderCache,
        Unit::ConstantCache,
        Unit::Gateway,
        Unit::Spawner,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Unit::FrontEnd => "front end",
            Unit::Alu => "ALU",
            Unit::Math => "math",
            Unit::Sampler => "sampler",
            Unit::Interpolator => "interpolator",
            Unit::Urb => "URB",
            Unit::DataCache => "data cache",
            Unit::RenderCache => "render cache",
            Unit::ConstantCache => "constant cache",
            Unit::Gateway => "gateway",
            Unit::Spawner => "spawner",
        }
    }
}

/// Cycles of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// The unit that executes it after the front end; `None` if none does.
    pub unit: Option<Unit>,
    /// Cycles until the front end can issue the next instruction.
    pub issue: u32,
    /// Cycles until the unit can begin its next instruction.
    pub occupancy: u32,
    /// Cycles from the unit's begin until the sources have been read (messages).
    pub sources_read: u32,
    /// Cycles from the unit's begin until the destination is written.
    pub result: u32,
    /// Cycles until the accumulator is written.
    pub accumulator: u32,
    /// Cycles until flags are written.
    pub flag: u32,
}

/// Sizes of an instruction in general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sizes {
    /// The destination, or the response of a message.
    pub destination: i32,
    /// All channels in the execution type.
    pub execution: i32,
    /// The largest source, or the payloads of a message together.
    pub source: i32,
    /// The destination again if the sources conflict in their banks, else 0.
    pub conflict: i32,
    /// Whether two fused execution units take turns at a message (Gen12): its sources are read in twice the time.
    pub in_turns: bool,
}

/// Kinds of instructions that cost the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Arithmetic with one or two sources, moves, `sync` and `nop`.
    Alu,
    /// Operation of 64 bits, or a product of 32-bit integers.
    Alu64,
    /// Arithmetic with three sources.
    Ternary,
    /// Ternary operation of 64 bits.
    Ternary64,
    /// Dot products.
    Dot,
    /// `pln`.
    Plane,
    /// `lrp`.
    Lrp,
    /// Functions of one operand.
    Math,
    /// `math pow`.
    Pow,
    /// Integer division.
    Divide,
    /// Flow control.
    Flow,
    /// No cycles at all: a label.
    Label,
    /// A move from registers at addresses in a0, with the computation of the address.
    IndirectMove,
    /// A move from one channel that a0 selects.
    Broadcast,
    /// Moves between channels through a0.
    Shuffle,
    /// Moves within quads.
    QuadSwizzle,
    /// A select by the channel enables: a move without mask and one with it.
    SelectByEnables,
    /// Fine derivatives in y.
    FineDerivative,
    /// Reads of registers of the thread's state: enables, identities, time.
    ReadState,
    /// Reads of the channel enables to a flag register.
    LiveChannels,
    /// Writes of the control register.
    FloatMode,
    /// Two halves packed into a word each.
    PackHalf,
    /// Messages to the sampling engine.
    Sampler,
    /// Accesses of the data cache.
    DataAccess,
    /// Atomic operations of the data cache.
    DataAtomic,
    /// Fences of the data cache.
    DataFence,
    /// Accesses of the render cache.
    RenderAccess,
    /// Atomic operations of the render cache.
    RenderAtomic,
    /// Fences of the render cache.
    RenderFence,
    /// Reads through the constant cache.
    ConstantAccess,
    /// Interpolation at other places than the payload's.
    Interpolate,
    /// Accesses of the URB.
    Urb,
    /// A barrier: the message and the wait.
    Barrier,
    /// Messages to the gateway and the spawner.
    Spawn,
}

/// Parameters of the cycles of a class.
struct Row {
    unit: Option<Unit>,
    /// Issue: constant, for each register of the destination, and for each in a bank conflict.
    issue: [i32; 3],
    /// Occupancy: constant, and for each register of the execution size.
    occupancy: [i32; 2],
    /// Latencies: sources, destination, accumulator, flag.
    latency: [i32; 4],
    /// Latency of sources and destination for each register of sources.
    per_source: i32,
    /// Latency of the destination for each of its registers.
    per_destination: i32,
}

const fn row(unit: Option<Unit>, issue: [i32; 3], occupancy: [i32; 2], latency: [i32; 4]) -> Row {
    Row { unit, issue, occupancy, latency, per_source: 0, per_destination: 0 }
}

/// The parameters of a class on a generation. Rows of arithmetic differ by two cycles of latency.
fn parameters(class: Class, generation: Generation) -> Row {
    use Class as C;
    use Unit as U;
    let gen12 = generation >= Generation::Gen12;
    // Latency of results, accumulators and flags of plain arithmetic.
    let plain = if gen12 { [0, 10, 6, 14] } else { [0, 8, 4, 12] };
    let slow = [0, 12, 8, 16];
    let alu = Some(U::Alu);
    let pick = |gen9: i32, later: i32| if gen12 { later } else { gen9 };
    match class {
        C::Alu => row(alu, [0, 2, 0], [0, 2], plain),
        C::Alu64 if gen12 => row(alu, [0, 2, 0], [0, 2], plain),
        C::Alu64 => row(alu, [0, 4, 0], [0, 4], slow),
        C::Ternary => row(alu, [0, 2, 1], [0, 2], plain),
        C::Ternary64 if gen12 => row(alu, [0, 2, 1], [0, 2], plain),
        C::Ternary64 => row(alu, [0, 4, 1], [0, 4], slow),
        C::Dot => row(alu, [0, 2, 0], [0, 2], slow),
        C::Plane => row(alu, [0, 4, 0], [0, 4], slow),
        C::Lrp => row(alu, [0, 4, 1], [0, 4], slow),
        C::Math => row(Some(U::Math), [-2, 4, 0], [0, 4], [0, 16, 0, 0]),
        C::Pow => row(Some(U::Math), [-2, 4, 0], [0, 8], [0, 24, 0, 0]),
        C::Divide => row(Some(U::Math), [2, 0, 0], [26, 0], [0, 28, 0, 0]),
        C::Flow => row(None, [8, 0, 0], [0, 0], [0; 4]),
        C::Label => row(None, [0; 3], [0, 0], [0; 4]),
        C::IndirectMove => row(alu, [34, 0, 0], [34, 0], plain),
        C::Broadcast => row(alu, [pick(18, 20), 0, 0], [4, 0], plain),
        C::Shuffle => row(alu, [pick(42, 44), 0, 0], [pick(42, 44), 0], plain),
        C::QuadSwizzle => row(alu, [0, 8, 0], [0, 8], plain),
        C::SelectByEnables => row(alu, [pick(8, 10), 4, 0], [0, 4], plain),
        C::FineDerivative if gen12 => row(alu, [0, 14, 0], [0, 4], plain),
        C::FineDerivative => row(alu, [0, 2, 0], [0, 2], plain),
        C::ReadState if gen12 => row(alu, [20, 6, 0], [0, 6], plain),
        C::ReadState => row(alu, [0, 2, 0], [0, 2], plain),
        C::LiveChannels if gen12 => row(alu, [2, 0, 0], [2, 0], [0, 0, 0, 10]),
        C::LiveChannels => row(alu, [0, 2, 0], [0, 2], [0, 0, 0, 8]),
        C::FloatMode => row(alu, [pick(20, 24), 0, 0], [4, 0], [0; 4]),
        C::PackHalf => row(alu, [pick(16, 20), 6, 0], [0, 6], plain),
        C::Sampler => {
            Row { per_source: 2, ..row(Some(U::Sampler), [2, 0, 0], [0, 16], [8, 750, 0, 0]) }
        }
        C::DataAccess => row(Some(U::DataCache), [2, 0, 0], [0, 20], [10, 100, 0, 0]),
        C::DataAtomic => Row {
            per_destination: 400,
            ..row(Some(U::DataCache), [2, 0, 0], [30, 400], [10, 100, 0, 0])
        },
        C::DataFence => row(Some(U::DataCache), [2, 0, 0], [30, 0], [10, 100, 0, 0]),
        C::RenderAccess => row(Some(U::RenderCache), [2, 0, 0], [0, 450], [10, 300, 0, 0]),
        C::RenderAtomic => Row {
            per_destination: 400,
            ..row(Some(U::RenderCache), [2, 0, 0], [30, 450], [10, 100, 0, 0])
        },
        C::RenderFence => row(Some(U::RenderCache), [2, 0, 0], [30, 0], [10, 300, 0, 0]),
        C::ConstantAccess => row(Some(U::ConstantCache), [2, 0, 0], [0, 16], [10, 100, 0, 0]),
        C::Interpolate => row(Some(U::Interpolator), [2, 0, 0], [14, 0], [0, 90, 0, 0]),
        C::Urb => row(Some(U::Urb), [2, 0, 0], [0, 6], [32, 200, 0, 0]),
        C::Barrier => row(Some(U::Gateway), [90, 0, 0], [0, 0], [0; 4]),
        C::Spawn => row(Some(U::Spawner), [2, 0, 0], [0, 0], [10, 0, 0, 0]),
    }
}

/// The cycles of an instruction of a class and sizes.
pub fn timing(class: Class, generation: Generation, sizes: Sizes) -> Timing {
    let row = parameters(class, generation);
    let Sizes { destination, execution, source, conflict, in_turns } = sizes;
    let turns = 1 + i32::from(in_turns);
    let cycles = |n: i32| n.max(0) as u32;
    let [issue, per_destination, per_conflict] = row.issue;
    let [occupancy, per_register] = row.occupancy;
    let [sources_read, result, accumulator, flag] = row.latency;
    Timing {
        unit: row.unit,
        issue: cycles(issue + per_destination * destination + per_conflict * conflict),
        occupancy: cycles(occupancy + per_register * execution),
        sources_read: cycles(turns * (sources_read + row.per_source * source)),
        result: cycles(
            result + turns * row.per_source * source + row.per_destination * destination,
        ),
        accumulator: cycles(accumulator),
        flag: cycles(flag),
    }
}

/// The type in which an instruction computes: of its widest sources, floats first. Bytes count as words, and
/// conversions from and to half floats compute in 32 bits.
pub fn execution_type(inst: &Inst) -> Type {
    let mut found: Option<Type> = None;
    let operand = |n: usize| {
        // A function of one operand has null as the other, of the same type.
        inst.src[n]
    };
    let count = if inst.opcode.is_send() { 0 } else { inst.sources() };
    for src in (0..count).map(operand) {
        let ty = match src.ty {
            Type::B | Type::V => Type::W,
            Type::UB | Type::UV => Type::UW,
            Type::VF => Type::F,
            ty => ty,
        };
        let wider = found
            .is_none_or(|t| ty.bytes() > t.bytes() || ty.bytes() == t.bytes() && ty.is_float());
        if wider {
            found = Some(ty);
        }
    }
    let ty = found.unwrap_or(inst.dst.ty);
    match ty {
        Type::HF if inst.dst.ty != Type::HF => Type::F,
        Type::W | Type::UW if inst.dst.ty == Type::HF => Type::D,
        ty => ty,
    }
}

/// Bytes of the type in which a product is computed: twice as many for 32-bit integers, whose product has half
/// the usual rate.
pub(crate) fn product_bytes(inst: &Inst, ty: Type) -> usize {
    let product = matches!(inst.opcode, Opcode::Mul | Opcode::Mad);
    let wide = product
        && !ty.is_float()
        && ty.bytes() == 4
        && inst.src[0].ty.bytes() == inst.src[1].ty.bytes();
    if wide { 8 } else { ty.bytes() }
}

/// The class of an instruction by itself. Sequences that the class of [`crate::sequence`] covers are classed there.
pub fn class(inst: &Inst, descriptors: Descriptors) -> Class {
    let wide = product_bytes(inst, execution_type(inst)) > 4;
    match inst.opcode {
        Opcode::Math => match MathFunction::from_code(inst.function) {
            Some(MathFunction::Pow | MathFunction::Fdiv) => Class::Pow,
            Some(MathFunction::IntDiv | MathFunction::IntMod | MathFunction::IntDivMod) => {
                Class::Divide
            }
            _ => Class::Math,
        },
        Opcode::Dp2 | Opcode::Dp3 | Opcode::Dp4 | Opcode::Dph => Class::Dot,
        Opcode::Pln => Class::Plane,
        Opcode::Lrp => Class::Lrp,
        _ if inst.opcode.is_send() => message_class(inst, descriptors),
        _ => match inst.form() {
            Form::Ternary if wide => Class::Ternary64,
            Form::Ternary => Class::Ternary,
            Form::Jip | Form::JipUip | Form::Jump | Form::Call => Class::Flow,
            _ if inst.opcode == Opcode::Ret => Class::Flow,
            _ if wide => Class::Alu64,
            _ => Class::Alu,
        },
    }
}

/// The class of a message. Without a known descriptor it counts as an access.
fn message_class(inst: &Inst, descriptors: Descriptors) -> Class {
    let decode = |bits| Descriptor::decode(inst.send.sfid, bits);
    let descriptor = descriptors.desc.map_or(Descriptor::Unknown, decode);
    match inst.send.sfid {
        Sfid::Sampler => Class::Sampler,
        Sfid::ConstantCache | Sfid::SamplerCache => Class::ConstantAccess,
        Sfid::RenderCache => match descriptor {
            // Types of messages that `RenderOp` does not name.
            Descriptor::Render { op: None, .. } => {
                match descriptors.desc.map(|bits| bits >> 14 & 15) {
                    Some(7) => Class::RenderFence,
                    Some(6) => Class::RenderAtomic,
                    _ => Class::RenderAccess,
                }
            }
            _ => Class::RenderAccess,
        },
        Sfid::DataCache0 | Sfid::DataCache1 => match descriptor {
            Descriptor::Data0 { op: Some(DataOp0::MemoryFence), .. } => Class::DataFence,
            Descriptor::Data1 {
                op:
                    Some(
                        DataOp1::UntypedAtomic
                        | DataOp1::UntypedAtomic4x2
                        | DataOp1::TypedAtomic
                        | DataOp1::TypedAtomic4x2,
                    ),
                ..
            } => Class::DataAtomic,
            _ => Class::DataAccess,
        },
        Sfid::PixelInterpolator => Class::Interpolate,
        Sfid::Urb => Class::Urb,
        Sfid::Gateway => match descriptor {
            Descriptor::Gateway { op: Some(tepui_intel_isa::message::GatewayOp::Barrier) } => {
                Class::Barrier
            }
            _ => Class::Spawn,
        },
        Sfid::Null | Sfid::ThreadSpawner | Sfid::Vme | Sfid::Cre => Class::Spawn,
    }
}

/// The sizes of an instruction.
pub fn sizes(inst: &Inst, descriptors: Descriptors) -> Sizes {
    let registers = |bytes: usize| bytes.div_ceil(REGISTER_BYTES) as i32;
    let exec_size = usize::from(inst.exec_size);
    if inst.opcode.is_send() {
        let lengths = MessageLengths::of(inst, descriptors);
        return Sizes {
            // brw counts a result that nothing uses as one of 32 bits in each channel.
            destination: match inst.dst.location {
                Location::NULL => registers(4 * exec_size),
                _ => i32::from(lengths.response),
            },
            // Payloads have types of 32 bits.
            execution: registers(4 * exec_size),
            source: i32::from(lengths.payload) + i32::from(lengths.extended),
            conflict: 0,
            // The bit of an accumulator write.
            in_turns: inst.acc_write && inst.generation >= Generation::Gen12,
        };
    }
    let destination = match inst.form() {
        Form::Regular { dst: false, .. } if inst.opcode == Opcode::Sync => 1,
        Form::Regular { dst: true, .. } | Form::Ternary => {
            registers(exec_size * usize::from(inst.dst.stride).max(1) * inst.dst.ty.bytes())
        }
        _ => 0,
    };
    let access = Access::of(inst);
    let source = access.reads.iter().map(|span| i32::from(span.count)).max().unwrap_or(0);
    Sizes {
        destination,
        execution: registers(exec_size * execution_type(inst).bytes()),
        source,
        conflict: if bank::conflict(inst) { destination } else { 0 },
        in_turns: false,
    }
}

/// The cycles of an instruction by itself, as a scheduler needs them.
pub fn instruction_latency(inst: &Inst) -> Timing {
    let descriptors = Descriptors::of(inst);
    timing(class(inst, descriptors), inst.generation, sizes(inst, descriptors))
}

/// The general register of a direct operand.
pub(crate) fn general(location: Location) -> Option<u8> {
    match location {
        Location::Direct { register: Register::General(n), .. } => Some(n),
        _ => None,
    }
}
