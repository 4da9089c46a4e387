//! Says for which operations there are templates.

use tepui_intel_isa::{Condition, MathFunction, Opcode, Type};

use crate::memory;
use crate::op::{Arithmetic, Flow, Op};
use crate::operand::{Layout, Source};

/// Channels of a vector of the host.
pub const PART: usize = 8;
/// Bytes of one.
pub const PART_B: usize = 4 * PART;

/// Where a source's elements of 32 bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// One behind the other, from this byte on.
    Row(u16),
    /// One for all channels, at this byte.
    Scalar(u16),
    /// These bits for all channels.
    Bits(u32),
}

/// What a template does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nothing,
    /// One element, of a constant.
    Constant(u32),
    Copy,
    FloatMove,
    IntMove,
    /// Integers to floats; whether they are signed.
    ToFloat(bool),
    /// Floats to integers; whether these are signed.
    ToInt(bool),
    Float,
    Plane,
    Int,
    /// Minimum or maximum, or by the predicate.
    SelectFloat,
    SelectInt {
        signed: bool,
    },
    CompareFloat,
    CompareInt {
        signed: bool,
    },
}

fn is_word(ty: Type) -> bool {
    matches!(ty, Type::F | Type::D | Type::UD)
}

/// Where a source's elements are, if they have 32 bits and lie side by side.
pub fn value(src: &Source) -> Option<Value> {
    match src.layout {
        _ if !is_word(src.ty) => None,
        Layout::Even { base, stride: 4 } => Some(Value::Row(base)),
        Layout::Even { base, stride: 0 } => Some(Value::Scalar(base)),
        Layout::Scalar(bits) => Some(Value::Bits(bits as u32)),
        _ => None,
    }
}

/// As [`value`], also for constants of 16 bits among integers.
fn int_value(src: &Source) -> Option<Value> {
    match (&src.layout, src.ty) {
        (Layout::Scalar(bits), Type::W) => Some(Value::Bits(i32::from(*bits as i16) as u32)),
        (Layout::Scalar(bits), Type::UW) => Some(Value::Bits(u32::from(*bits as u16))),
        _ => value(src),
    }
}

/// Where the elements of a source are, as the operation's arithmetic reads them.
pub fn operand(op: &Op, k: usize) -> Option<Value> {
    match op.arithmetic {
        Arithmetic::Int32 if op.opcode != Opcode::Mov => int_value(&op.src[k]),
        _ => value(&op.src[k]),
    }
}

/// The first byte of the destination's row; `None` for the null register.
pub fn row(op: &Op) -> Option<u16> {
    match op.dst.layout {
        Some(Layout::Even { base, .. }) => Some(base),
        _ => None,
    }
}

/// Whether a part that is written changes what a later part reads: handlers read all before they write.
fn overlaps(op: &Op, first: u16, bytes: usize) -> bool {
    let (Some(row), n) = (row(op), usize::from(op.n)) else { return false };
    let (row, first) = (usize::from(row), usize::from(first));
    n > PART && first < row + 4 * n && row < first + bytes && first != row
}

/// Whether integers of both sources are ordered alike; constants without a sign are of either kind.
fn signedness(op: &Op) -> Option<bool> {
    let of = |k: usize| {
        let src = &op.src[k];
        match value(src)? {
            Value::Bits(bits) if bits >> 31 == 0 && !src.negate => Some(None),
            _ => Some(Some(src.ty == Type::D)),
        }
    };
    match (of(0)?, of(1)?) {
        (Some(a), Some(b)) => (a == b).then_some(a),
        (Some(a), None) | (None, Some(a)) => Some(a),
        (None, None) => Some(true),
    }
}

/// Sources of an operation that has a template.
pub fn sources(op: &Op) -> usize {
    match op.opcode {
        Opcode::Mad | Opcode::Lrp | Opcode::Csel => 3,
        Opcode::Mov | Opcode::Not | Opcode::Frc => 1,
        Opcode::Rndu | Opcode::Rndd | Opcode::Rnde | Opcode::Rndz => 1,
        Opcode::Math => match op.function {
            Some(MathFunction::Fdiv) => 2,
            _ => 1,
        },
        _ => 2,
    }
}

/// The template of an operation, if there is one.
pub fn kind(op: &Op) -> Option<Kind> {
    if op.opcode == Opcode::Nop {
        return Some(Kind::Nothing);
    }
    if let (true, 1, 0, Condition::None) =
        (op.copies && op.no_mask, op.n, op.predicate, op.condition)
        && let (Some(Value::Bits(bits)), Some(Layout::Even { .. })) =
            (value(&op.src[0]), &op.dst.layout)
        && op.dst.mask == u32::MAX
        && !op.dst.accumulator
        && !op.acc_write
    {
        return Some(Kind::Constant(bits));
    }
    let plain = op.flow == Flow::None
        && matches!(op.n, 8 | 16 | 32)
        && op.first.is_multiple_of(8)
        && op.flag.is_multiple_of(8)
        && !op.acc_write
        && !op.dst.accumulator
        && op.predicate <= 1
        && !op.reads_state
        && op.dst.mask == u32::MAX;
    let written = match op.dst.layout {
        None => true,
        Some(Layout::Even { stride: 4, .. }) => is_word(op.dst.ty),
        Some(_) => false,
    };
    // Derived conditions need an order of the result.
    let derived = match op.condition {
        Condition::None | Condition::Zero | Condition::NotZero => true,
        Condition::Greater | Condition::GreaterEqual | Condition::Less | Condition::LessEqual => {
            op.dst.ty != Type::UD || matches!(op.opcode, Opcode::Cmp | Opcode::Sel)
        }
        _ => false,
    };
    if !plain || !written || !derived {
        return None;
    }
    if op.opcode == Opcode::Pln {
        return plane(op).then_some(Kind::Plane);
    }
    let n = sources(op);
    for k in 0..n {
        let hazard = match operand(op, k)? {
            Value::Row(base) => overlaps(op, base, 4 * usize::from(op.n)),
            Value::Scalar(base) => overlaps(op, base, 4) || row(op) == Some(base) && op.n > 8,
            Value::Bits(_) => false,
        };
        if hazard {
            return None;
        }
    }
    let all = |ty: fn(Type) -> bool| op.src[..n].iter().all(|src| ty(src.ty));
    let floats = all(|ty| ty == Type::F) && op.arithmetic == Arithmetic::Float;
    let ints = all(|ty| ty != Type::F);
    let int_dst = op.dst.ty != Type::F;
    // Magnitudes of integers are rare.
    let no_abs = op.src[..n].iter().all(|src| !src.abs);
    let derives = op.condition != Condition::None;
    Some(match op.opcode {
        Opcode::Mov if op.copies => Kind::Copy,
        Opcode::Mov => match (op.dst.ty, op.src[0].ty) {
            (Type::F, Type::F) => Kind::FloatMove,
            (Type::F, from) if no_abs && !op.src[0].negate => Kind::ToFloat(from == Type::D),
            (to, Type::F) if !op.saturate => Kind::ToInt(to == Type::D),
            (_, Type::D | Type::UD) if int_dst && !op.saturate && no_abs => Kind::IntMove,
            _ => return None,
        },
        Opcode::Add | Opcode::Mul | Opcode::Mad if floats && !int_dst => Kind::Float,
        Opcode::Frc | Opcode::Rndu | Opcode::Rndd | Opcode::Rnde | Opcode::Rndz | Opcode::Lrp
            if floats && !int_dst =>
        {
            Kind::Float
        }
        Opcode::Math if floats && !int_dst => match op.function {
            Some(
                MathFunction::Inv | MathFunction::Sqrt | MathFunction::Rsq | MathFunction::Fdiv,
            ) => Kind::Float,
            _ => return None,
        },
        Opcode::Sel if floats && !int_dst && derives != (op.predicate != 0) => Kind::SelectFloat,
        Opcode::Sel if ints && int_dst && no_abs && !op.saturate => match derives {
            false if op.predicate != 0 => Kind::SelectInt { signed: true },
            true if op.predicate == 0 && op.src[..2].iter().all(|src| !src.negate) => {
                Kind::SelectInt { signed: signedness(op)? }
            }
            _ => return None,
        },
        Opcode::Cmp if derives && floats => Kind::CompareFloat,
        Opcode::Cmp if derives && ints && no_abs && op.src[..2].iter().all(|src| !src.negate) => {
            Kind::CompareInt { signed: signedness(op)? }
        }
        Opcode::Add
        | Opcode::Mul
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Asr
            if ints && int_dst && no_abs && op.arithmetic == Arithmetic::Int32 =>
        {
            Kind::Int
        }
        _ => return None,
    })
}

/// Whether `pln` has its operands where the template reads them: coefficients in one register, coordinates in pairs of registers.
fn plane(op: &Op) -> bool {
    let (Layout::Even { base: plane, .. }, Layout::Even { base: at, .. }) =
        (&op.src[0].layout, &op.src[1].layout)
    else {
        return false;
    };
    let bytes = 8 * usize::from(op.n);
    let plain = op.src[..2].iter().all(|src| !src.negate && !src.abs && src.ty == Type::F);
    plain
        && op.dst.ty == Type::F
        && usize::from(*plane) + 16 <= memory::GENERAL
        && usize::from(*at) + bytes <= memory::GENERAL
        && !overlaps(op, *plane, 16)
        && !overlaps(op, *at, bytes)
        && (op.n == 8 || row(op) != Some(*at) && row(op) != Some(*plane))
}
