//! Operations for which there are translation templates.

use tepui_mali_isa::Special;
use tepui_mali_isa::modifier::{Condition, RoundMode};
use tepui_mali_isa::operand::CONSTANTS;

use crate::shader::alu::integer::SATURATE;
use crate::shader::alu::select::Chain;
use crate::shader::message::FORCED;
use crate::shader::op::{Next, Op, WriteMode};
use crate::shader::operand::{Select, Src};
use crate::shader::template::TemplateOp;
use crate::warp::row::Row;
use crate::warp::{REGISTERS, uniforms};

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
