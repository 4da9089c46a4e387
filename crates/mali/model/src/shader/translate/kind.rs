//! Operations for which there are translation templates.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // No translator asks.

use tepui_mali_isa::modifier::{Condition, RoundMode};
use tepui_mali_isa::operand::CONSTANTS;
use tepui_mali_isa::{Op as Isa, Special};

use super::super::alu::integer::SATURATE;
use super::super::alu::select::Chain;
use super::super::message::FORCED;
use super::super::op::{Next, Op, WriteMode};
use super::super::operand::{Select, Src};
use super::super::row::Row;
use super::super::uniforms;
use super::super::warp::REGISTERS;

/// Interpretation of the bits in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Float,
    Signed,
    Unsigned,
}

/// The operation that combines a shifted value with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// An operation on words that has a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOp {
    /// Copies the first source.
    Copy,
    /// Fused multiply-add of floats.
    MultiplyAdd,
    /// Sum of floats.
    AddFloat,
    /// Version of [`TemplateOp::AddFloat`] with the immediate.
    AddFloatImmediate,
    Minimum,
    Maximum,
    /// Reciprocal of a float.
    Reciprocal,
    /// Rounds a float to an integral value.
    Round,
    AddInt,
    /// Version of [`TemplateOp::AddInt`] with the immediate.
    AddIntImmediate,
    SubtractInt,
    MultiplyInt,
    Shift {
        left: bool,
        logic: Logic,
    },
    /// Selects the third or the fourth source, by a comparison of the others.
    Select(Number),
    Compare(Number),
    /// Selects the first or the second source, by bits of the third.
    Mux,
    FromInt {
        signed: bool,
    },
    ToInt {
        signed: bool,
    },
    /// Converts the lower half-float of the source.
    FromHalf,
    /// Extends the lower half of the source.
    Extend {
        signed: bool,
    },
    /// Combines two halves to a word.
    JoinHalves,
    /// Combines two bytes and a half above them to a word.
    JoinBytes,
    /// Loads words of thread-local storage at a constant offset.
    LoadLocal {
        words: u8,
    },
    /// Stores words of thread-local storage at a constant offset.
    StoreLocal {
        words: u8,
    },
    /// A branch if the first source is zero, or if it is not.
    BranchZero,
    /// A branch by a comparison of the sources.
    BranchCompare(Number),
}

impl TemplateOp {
    /// The operation of an instruction.
    pub fn of(isa: Isa) -> Option<TemplateOp> {
        let shift = |left, logic| TemplateOp::Shift { left, logic };
        Some(match isa {
            Isa::MOV_I32 => TemplateOp::Copy,
            Isa::FMA_F32 => TemplateOp::MultiplyAdd,
            Isa::FADD_F32 => TemplateOp::AddFloat,
            Isa::FADD_IMM_F32 => TemplateOp::AddFloatImmediate,
            Isa::FMIN_F32 => TemplateOp::Minimum,
            Isa::FMAX_F32 => TemplateOp::Maximum,
            Isa::FRCP_F32 => TemplateOp::Reciprocal,
            Isa::FROUND_F32 => TemplateOp::Round,
            Isa::IADD_U32 | Isa::IADD_S32 => TemplateOp::AddInt,
            Isa::IADD_IMM_I32 => TemplateOp::AddIntImmediate,
            Isa::ISUB_U32 | Isa::ISUB_S32 => TemplateOp::SubtractInt,
            Isa::IMUL_I32 | Isa::IMUL_S32 => TemplateOp::MultiplyInt,
            Isa::LSHIFT_AND_I32 => shift(true, Logic::And),
            Isa::LSHIFT_OR_I32 => shift(true, Logic::Or),
            Isa::LSHIFT_XOR_I32 => shift(true, Logic::Xor),
            Isa::RSHIFT_AND_I32 => shift(false, Logic::And),
            Isa::RSHIFT_OR_I32 => shift(false, Logic::Or),
            Isa::RSHIFT_XOR_I32 => shift(false, Logic::Xor),
            Isa::CSEL_U32 => TemplateOp::Select(Number::Unsigned),
            Isa::CSEL_S32 => TemplateOp::Select(Number::Signed),
            Isa::CSEL_F32 => TemplateOp::Select(Number::Float),
            Isa::ICMP_OR_U32 | Isa::ICMP_AND_U32 | Isa::ICMP_MULTI_U32 => {
                TemplateOp::Compare(Number::Unsigned)
            }
            Isa::ICMP_OR_S32 | Isa::ICMP_AND_S32 | Isa::ICMP_MULTI_S32 => {
                TemplateOp::Compare(Number::Signed)
            }
            Isa::FCMP_OR_F32 | Isa::FCMP_AND_F32 => TemplateOp::Compare(Number::Float),
            Isa::MUX_I32 => TemplateOp::Mux,
            Isa::U32_TO_F32 => TemplateOp::FromInt { signed: false },
            Isa::S32_TO_F32 => TemplateOp::FromInt { signed: true },
            Isa::F32_TO_U32 => TemplateOp::ToInt { signed: false },
            Isa::F32_TO_S32 => TemplateOp::ToInt { signed: true },
            Isa::F16_TO_F32 => TemplateOp::FromHalf,
            Isa::U16_TO_U32 => TemplateOp::Extend { signed: false },
            Isa::S16_TO_S32 => TemplateOp::Extend { signed: true },
            Isa::MKVEC_V2I16 => TemplateOp::JoinHalves,
            Isa::MKVEC_V2I8 => TemplateOp::JoinBytes,
            Isa::LOAD_I32 => TemplateOp::LoadLocal { words: 1 },
            Isa::LOAD_I64 => TemplateOp::LoadLocal { words: 2 },
            Isa::LOAD_I96 => TemplateOp::LoadLocal { words: 3 },
            Isa::LOAD_I128 => TemplateOp::LoadLocal { words: 4 },
            Isa::STORE_I32 => TemplateOp::StoreLocal { words: 1 },
            Isa::STORE_I64 => TemplateOp::StoreLocal { words: 2 },
            Isa::STORE_I96 => TemplateOp::StoreLocal { words: 3 },
            Isa::STORE_I128 => TemplateOp::StoreLocal { words: 4 },
            _ => return None,
        })
    }

    /// The number of sources.
    pub fn sources(self) -> usize {
        match self {
            TemplateOp::Copy
            | TemplateOp::AddFloatImmediate
            | TemplateOp::AddIntImmediate
            | TemplateOp::Reciprocal
            | TemplateOp::Round
            | TemplateOp::FromInt { .. }
            | TemplateOp::ToInt { .. }
            | TemplateOp::FromHalf
            | TemplateOp::Extend { .. }
            | TemplateOp::LoadLocal { .. }
            | TemplateOp::StoreLocal { .. }
            | TemplateOp::BranchZero => 1,
            TemplateOp::AddFloat
            | TemplateOp::Minimum
            | TemplateOp::Maximum
            | TemplateOp::AddInt
            | TemplateOp::SubtractInt
            | TemplateOp::MultiplyInt
            | TemplateOp::JoinHalves
            | TemplateOp::BranchCompare(_) => 2,
            TemplateOp::MultiplyAdd
            | TemplateOp::Shift { .. }
            | TemplateOp::Compare(_)
            | TemplateOp::Mux
            | TemplateOp::JoinBytes => 3,
            TemplateOp::Select(_) => 4,
        }
    }

    /// Whether it is a branch.
    pub fn branches(self) -> bool {
        matches!(self, TemplateOp::BranchZero | TemplateOp::BranchCompare(_))
    }
}

/// The operation, if the template can handle its operands. `rows` are the program's constants.
pub fn kind(op: &Op, rows: &[Row]) -> Option<TemplateOp> {
    let kind = op.kind?;
    if let TemplateOp::LoadLocal { words } | TemplateOp::StoreLocal { words } = kind {
        let (register, count) =
            op.staging[usize::from(matches!(kind, TemplateOp::StoreLocal { .. }))];
        let whole = match kind {
            TemplateOp::StoreLocal { .. } => op.flags & FORCED != 0,
            _ => words > 1 || op.flags & 0xff == 32,
        };
        let fits = count == words && usize::from(register) + usize::from(words) <= REGISTERS;
        return local_offset(op)
            .filter(|_| whole && fits && op.next == Next::Following)
            .map(|_| kind);
    }
    let sources = op.src[..kind.sources()].iter();
    if !sources.map(|src| value(src, rows)).all(|value| value.is_some()) {
        return None;
    }
    if kind.branches() {
        return (op.next == Next::Chosen).then_some(kind);
    }
    if op.next != Next::Following || matches!(op.written, WriteMode::Float16 { .. }) {
        return None;
    }
    let has_template = match kind {
        TemplateOp::AddInt | TemplateOp::SubtractInt | TemplateOp::MultiplyInt => {
            op.flags & SATURATE == 0
        }
        TemplateOp::Compare(_) => op.flags != Chain::High as u32,
        TemplateOp::FromInt { .. } => op.round == RoundMode::Rte,
        _ => true,
    };
    (has_template && usize::from(op.dest) < REGISTERS).then_some(kind)
}

/// The constant offset in thread-local storage of a load or store, if it has one.
pub fn local_offset(op: &Op) -> Option<u16> {
    let src = &op.src[0];
    let [low, high] = [0, 1].map(|word| uniforms::special(Special::ThreadLocalPointer, word));
    let plain = Some(src.row) == low && Some(src.high) == high && src.is_plain();
    let offset = u16::try_from(op.immediate).ok()?;
    (plain && offset.is_multiple_of(4)).then_some(offset)
}

/// The origin of a source's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An immediate for all lanes, after selection.
    Bits(u32),
    /// A register of the warp, before selection.
    Register(u16),
    /// An index into the rows that all warps share.
    Shared(u16),
}

/// The origin of a source's value; `None` if templates cannot read it.
pub fn value(src: &Src, rows: &[Row]) -> Option<Value> {
    let same = |row: &Row| {
        let [first, rest @ ..] = src.apply(row).0;
        rest.iter().all(|bits| *bits == first).then_some(Value::Bits(first))
    };
    if usize::from(src.row) < REGISTERS {
        return Some(Value::Register(src.row)).filter(|_| selects(src.select));
    }
    if let Some(at) = src.row.checked_sub(uniforms::PROGRAM) {
        return same(rows.get(usize::from(at))?);
    }
    let constant = src.row.checked_sub(uniforms::ZERO).map(usize::from);
    if let Some(bits) = constant.and_then(|at| CONSTANTS.get(at)) {
        return same(&Row::splat(*bits));
    }
    Some(Value::Shared(src.row - REGISTERS as u16)).filter(|_| selects(src.select))
}

/// Whether templates support a selection.
fn selects(select: Select) -> bool {
    !matches!(select, Select::HalvesOfBytes { signed: true, .. })
}

/// The integer comparison of a condition, and whether to invert it; `None` if it always holds.
pub fn integer_condition(condition: Condition) -> Option<(u8, bool)> {
    use tepui_hostvec::asm::integer::{EQUAL, GREATER, LESS, NOT_EQUAL};
    match condition {
        Condition::Eq => Some((EQUAL, false)),
        Condition::Ne | Condition::Gtlt => Some((NOT_EQUAL, false)),
        Condition::Gt => Some((GREATER, false)),
        Condition::Ge => Some((LESS, true)),
        Condition::Lt => Some((LESS, false)),
        Condition::Le => Some((GREATER, true)),
        Condition::Total => None,
    }
}

/// The float comparison of a condition.
pub fn float_condition(condition: Condition) -> u8 {
    use tepui_hostvec::asm::float;
    match condition {
        Condition::Eq => float::EQUAL,
        Condition::Ne => float::NOT_EQUAL,
        Condition::Gt => float::GREATER,
        Condition::Ge => float::GREATER_EQUAL,
        Condition::Lt => float::LESS,
        Condition::Le => float::LESS_EQUAL,
        Condition::Gtlt => float::LESS_OR_GREATER,
        Condition::Total => float::ORDERED,
    }
}
