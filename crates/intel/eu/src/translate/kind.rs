//! Operations for which there are translation templates.

use tepui_intel_isa::{Condition, MathFunction, Opcode, Type};

use crate::memory;
use crate::op::{Arithmetic, Flow, Op};
use crate::operand::{CHANNELS, Layout, Source};

/// Channels of a host vector.
pub const PART: usize = 8;
/// Bytes of a host vector.
pub const PART_B: usize = 4 * PART;

/// Location of a source's 32-bit elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Consecutive, from this byte on.
    Row(u16),
    /// One element for all channels, at this byte.
    Scalar(u16),
    /// An immediate.
    Bits(u32),
    /// Four consecutive elements for each four channels, from this byte on, in an order of two bits per channel.
    Quads { base: u16, order: u8 },
    /// Consecutive 16-bit elements, from this byte on.
    Words { base: u16, signed: bool },
    /// One 16-bit element for all channels, at this byte.
    ScalarWord { base: u16, signed: bool },
}

/// The operation of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOp {
    Nothing,
    /// A constant element.
    Constant(u32),
    Copy,
    FloatMove,
    IntMove,
    /// Integers to floats; true for signed integers.
    ToFloat(bool),
    /// Floats to integers; true for signed integers.
    ToInt(bool),
    Float,
    Plane,
    Int,
    /// Minimum or maximum, or a selection by the predicate.
    SelectFloat,
    SelectInt {
        signed: bool,
    },
    CompareFloat,
    CompareInt {
        signed: bool,
    },
    /// Sums or copies of 16-bit elements, sixteen at a time. Only if all channels execute, like the next two.
    Words,
    /// A copy of elements at arbitrary locations.
    Pieces,
    /// A copy of eight elements to every second one of two registers.
    Spread,
}

impl TemplateOp {
    /// Whether the template is only for operations whose channels all execute.
    pub fn needs_all(self) -> bool {
        matches!(self, TemplateOp::Words | TemplateOp::Pieces)
    }
}

fn is_word(ty: Type) -> bool {
    matches!(ty, Type::F | Type::D | Type::UD)
}

/// The location of a source's elements, if they have 32 bits and are contiguous.
pub fn value(src: &Source, n: usize) -> Option<Value> {
    match src.layout {
        _ if !is_word(src.ty) => None,
        Layout::Even { base, stride: 4 } => Some(Value::Row(base)),
        Layout::Even { base, stride: 0 } => Some(Value::Scalar(base)),
        Layout::Scalar(bits) => Some(Value::Bits(bits as u32)),
        Layout::Table(ref table) => quads(table, n),
        _ => None,
    }
}

/// 32-bit elements in the arrangement of [`Value::Quads`].
fn quads(table: &[u16; CHANNELS], n: usize) -> Option<Value> {
    let base = table[0] & !15;
    let place = |i: usize| (table[i].wrapping_sub(base) / 4) & 3;
    let fits = |i: usize| table[i] == base + 16 * (i as u16 / 4) + 4 * place(i % 4);
    let order = (0..4).fold(0, |order, i| order | (place(i) as u8) << (2 * i));
    (n >= PART && (0..n).all(fits)).then_some(Value::Quads { base, order })
}

/// As [`value`], and also for 16-bit integers.
fn int_value(src: &Source, n: usize) -> Option<Value> {
    let signed = match src.ty {
        Type::W => true,
        Type::UW => false,
        _ => return value(src, n),
    };
    match src.layout {
        Layout::Scalar(bits) if signed => Some(Value::Bits(i32::from(bits as i16) as u32)),
        Layout::Scalar(bits) => Some(Value::Bits(u32::from(bits as u16))),
        Layout::Even { base, stride: 2 } => Some(Value::Words { base, signed }),
        Layout::Even { base, stride: 0 } => Some(Value::ScalarWord { base, signed }),
        _ => None,
    }
}

/// The location of a source's elements, as the operation's arithmetic reads them.
pub fn operand(op: &Op, k: usize) -> Option<Value> {
    let n = usize::from(op.n);
    let wide = op.arithmetic == Arithmetic::Int64 && matches!(op.opcode, Opcode::Mov | Opcode::Cmp);
    match op.arithmetic == Arithmetic::Int32 || wide {
        true if !(op.copies && op.opcode == Opcode::Mov) => int_value(&op.src[k], n),
        _ => value(&op.src[k], n),
    }
}

/// The first byte of the destination's row; `None` for the null register.
pub fn row(op: &Op) -> Option<u16> {
    match op.dst.layout {
        Some(Layout::Even { base, .. }) => Some(base),
        _ => None,
    }
}

/// Whether writing a part changes the sources of a later part: handlers read all before they write.
fn overlaps(op: &Op, first: u16, bytes: usize) -> bool {
    let (Some(row), n) = (row(op), usize::from(op.n)) else { return false };
    let (row, first) = (usize::from(row), usize::from(first));
    n > PART && first < row + 4 * n && row < first + bytes && first != row
}

/// Whether integers of both sources compare as signed or unsigned; non-negative constants match both.
fn signedness(op: &Op) -> Option<bool> {
    let of = |k: usize| {
        let src = &op.src[k];
        match int_value(src, usize::from(op.n))? {
            Value::Bits(bits) if bits >> 31 == 0 && !src.negate => Some(None),
            // They are never negative.
            _ if src.ty == Type::UW && !src.negate => Some(None),
            _ => Some(Some(src.ty != Type::UD)),
        }
    };
    match (of(0)?, of(1)?) {
        (Some(a), Some(b)) => (a == b).then_some(a),
        (Some(a), None) | (None, Some(a)) => Some(a),
        (None, None) => Some(true),
    }
}

/// Number of sources of an operation that has a template.
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
pub fn kind(op: &Op) -> Option<TemplateOp> {
    if op.opcode == Opcode::Nop {
        return Some(TemplateOp::Nothing);
    }
    if let (true, 1, 0, Condition::None) =
        (op.copies && op.no_mask, op.n, op.predicate, op.condition)
        && let (Some(Value::Bits(bits)), Some(Layout::Even { .. })) =
            (value(&op.src[0], 1), &op.dst.layout)
        && op.dst.mask == u32::MAX
        && !op.dst.accumulator
        && !op.acc_write
    {
        return Some(TemplateOp::Constant(bits));
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
    // Derived conditions need an ordered type of the result.
    let derived = match op.condition {
        Condition::None | Condition::Zero | Condition::NotZero => true,
        Condition::Greater | Condition::GreaterEqual | Condition::Less | Condition::LessEqual => {
            op.dst.ty != Type::UD || matches!(op.opcode, Opcode::Cmp | Opcode::Sel)
        }
        _ => false,
    };
    let bare = op.condition == Condition::None && op.predicate == 0 && !op.saturate;
    if plain
        && bare
        && let Some(kind) = words(op)
    {
        return Some(kind);
    }
    if !plain || !written || !derived {
        return None;
    }
    if op.opcode == Opcode::Pln {
        return plane(op).then_some(TemplateOp::Plane);
    }
    let n = sources(op);
    for k in 0..n {
        let hazard = match operand(op, k)? {
            Value::Row(base) => overlaps(op, base, 4 * usize::from(op.n)),
            Value::Quads { base, .. } => overlaps(op, base, 4 * usize::from(op.n)),
            Value::Words { base, .. } => {
                overlaps(op, base, 2 * usize::from(op.n)) || row(op) == Some(base) && op.n > 8
            }
            Value::ScalarWord { base, .. } => {
                overlaps(op, base & !3, 4) || row(op) == Some(base & !3) && op.n > 8
            }
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
    // Absolute values of integers are rare, and so are inverted words.
    let narrow = |src: &Source| matches!(src.ty, Type::W | Type::UW);
    let inverted = op.logic && op.src[..n].iter().any(|src| src.negate && narrow(src));
    let no_abs = op.src[..n].iter().all(|src| !src.abs) && !inverted;
    let derives = op.condition != Condition::None;
    Some(match op.opcode {
        Opcode::Mov if op.copies => TemplateOp::Copy,
        Opcode::Mov => match (op.dst.ty, op.src[0].ty) {
            (Type::F, Type::F) => TemplateOp::FloatMove,
            (Type::F, from) if no_abs && !op.src[0].negate => TemplateOp::ToFloat(from != Type::UD),
            (to, Type::F) if !op.saturate => TemplateOp::ToInt(to == Type::D),
            _ if ints && int_dst && !op.saturate && no_abs => TemplateOp::IntMove,
            _ => return None,
        },
        Opcode::Add | Opcode::Mul | Opcode::Mad if floats && !int_dst => TemplateOp::Float,
        Opcode::Frc | Opcode::Rndu | Opcode::Rndd | Opcode::Rnde | Opcode::Rndz | Opcode::Lrp
            if floats && !int_dst =>
        {
            TemplateOp::Float
        }
        Opcode::Math if floats && !int_dst => match op.function {
            Some(
                MathFunction::Inv | MathFunction::Sqrt | MathFunction::Rsq | MathFunction::Fdiv,
            ) => TemplateOp::Float,
            _ => return None,
        },
        Opcode::Sel if floats && !int_dst && derives != (op.predicate != 0) => {
            TemplateOp::SelectFloat
        }
        Opcode::Sel if ints && int_dst && no_abs && !op.saturate => match derives {
            false if op.predicate != 0 => TemplateOp::SelectInt { signed: true },
            true if op.predicate == 0 && op.src[..2].iter().all(|src| !src.negate) => {
                TemplateOp::SelectInt { signed: signedness(op)? }
            }
            _ => return None,
        },
        Opcode::Cmp if derives && floats => TemplateOp::CompareFloat,
        Opcode::Cmp if derives && ints && no_abs && op.src[..2].iter().all(|src| !src.negate) => {
            TemplateOp::CompareInt { signed: signedness(op)? }
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
            TemplateOp::Int
        }
        _ => return None,
    })
}

/// Whether `pln` has its operands where the template reads them: coefficients in one register, coordinates in pairs of
/// registers.
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

/// Channels of a vector of words.
pub const WORDS: usize = 16;

/// Location of a source's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordValue {
    /// Consecutive, from this byte on.
    Row(u16),
    /// One word for all channels, at this byte.
    Scalar(u16),
    /// One word per four channels, from this byte on.
    Fours(u16),
    /// Eight constants, repeated.
    Constants([i8; 8]),
    /// An immediate for all channels.
    Bits(u16),
}

/// The location of a source's words, if it is one of these.
pub fn word_value(src: &Source, n: usize) -> Option<WordValue> {
    if src.negate || src.abs || !matches!(src.ty, Type::W | Type::UW | Type::V | Type::UV) {
        return None;
    }
    match &src.layout {
        Layout::Even { base, stride: 2 } => Some(WordValue::Row(*base)),
        Layout::Even { base, stride: 0 } => Some(WordValue::Scalar(*base)),
        Layout::Scalar(bits) => Some(WordValue::Bits(*bits as u16)),
        Layout::Integers(values) => Some(WordValue::Constants(*values)),
        Layout::Table(table) => {
            let fours = (0..n).all(|i| table[i] == table[0] + 2 * (i as u16 / 4));
            fours.then_some(WordValue::Fours(table[0]))
        }
        _ => None,
    }
}

/// The template of an operation on words, or of a copy with arbitrary locations.
fn words(op: &Op) -> Option<TemplateOp> {
    let (Some(Layout::Even { base: to, stride }), n) = (&op.dst.layout, usize::from(op.n)) else {
        return None;
    };
    let to = usize::from(*to);
    let bytes = op.dst.ty.bytes();
    let end = to + n * usize::from(*stride);
    let apart = |first: usize, last: usize| last <= to || end <= first;
    let row = op.dst.ty == Type::UD && *stride == 4 && value(&op.src[0], n).is_some();
    if op.copies
        && n == PART
        && (bytes, *stride, to % 4) == (4, 8, 0)
        && to / 8 * 8 + 2 * PART_B <= memory::GENERAL
    {
        let (first, last) = match value(&op.src[0], n) {
            Some(Value::Row(base)) => (usize::from(base), usize::from(base) + PART_B),
            Some(Value::Scalar(base)) => (usize::from(base), usize::from(base) + 4),
            Some(Value::Bits(_)) => (0, 0),
            _ => return None,
        };
        return (apart(first, last) || first == last).then_some(TemplateOp::Spread);
    }
    if op.copies
        && !row
        && let Some(runs) = pieces(op)
        && runs.iter().all(|&(_, from, length)| {
            apart(usize::from(from), usize::from(from) + usize::from(length))
        })
    {
        return Some(TemplateOp::Pieces);
    }
    let sums = match op.opcode {
        Opcode::Mov => n.is_multiple_of(WORDS),
        Opcode::Add => n.is_multiple_of(WORDS) && op.arithmetic == Arithmetic::Int32,
        _ => false,
    };
    let narrow = matches!(op.dst.ty, Type::W | Type::UW) && usize::from(*stride) == bytes;
    if !sums || !narrow {
        return None;
    }
    for src in &op.src[..sources(op)] {
        let (first, last) = match word_value(src, n)? {
            WordValue::Row(base) => (usize::from(base), usize::from(base) + 2 * n),
            WordValue::Scalar(base) => (usize::from(base), usize::from(base) + 2),
            // Eight bytes are read for each sixteen channels.
            WordValue::Fours(base) => (usize::from(base), usize::from(base) + n / 2),
            WordValue::Constants(_) | WordValue::Bits(_) => continue,
        };
        if !apart(first, last) {
            return None;
        }
    }
    Some(TemplateOp::Words)
}

/// Byte ranges of a copy whose elements are neither contiguous nor one for all: destination, source, and length, a
/// multiple of four. `None` if there are many ranges or they are short.
pub fn pieces(op: &Op) -> Option<Vec<(u16, u16, u16)>> {
    const MAX_RUNS: usize = 8;
    let Some(Layout::Even { base: to, stride }) = op.dst.layout else { return None };
    let bytes = op.dst.ty.bytes() as u16;
    let n = usize::from(op.n);
    let from = |i: usize| match &op.src[0].layout {
        Layout::Even { base, stride } => Some(base + i as u16 * stride),
        Layout::Table(table) => Some(table[i]),
        _ => None,
    };
    let mut runs: Vec<(u16, u16, u16)> = Vec::new();
    for i in 0..n {
        let (to, from) = (to + i as u16 * stride, from(i)?);
        match runs.last_mut() {
            Some((t, f, length)) if *t + *length == to && *f + *length == from => *length += bytes,
            _ => runs.push((to, from, bytes)),
        }
    }
    let whole = runs.iter().all(|(_, _, length)| length.is_multiple_of(4));
    (whole && runs.len() <= MAX_RUNS).then_some(runs)
}
