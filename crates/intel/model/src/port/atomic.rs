//! Atomics on buffers, local memory and addresses.

use tepui_intel_eu::{Message, Refusal, ThreadView};

use super::payload::{Payload, lanes, put_u32, put_u64};
use super::refusal::{refuse, unimplemented};
use super::{Ports, Space};

/// An operation of an atomic message, and its operands.
///
/// source: Mesa, brw_eu_defines.h (`BRW_AOP_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    And,
    Or,
    Xor,
    Exchange,
    Increment,
    Decrement,
    Add,
    Subtract,
    ReverseSubtract,
    SignedMax,
    SignedMin,
    UnsignedMax,
    UnsignedMin,
    CompareExchange,
    PreDecrement,
    FloatMax,
    FloatMin,
    FloatCompareExchange,
}

impl Operation {
    pub fn of(code: u32, float: bool) -> Result<Operation, Refusal> {
        use Operation::*;
        let table: &[Operation] = match float {
            true => &[FloatMax, FloatMin, FloatCompareExchange],
            false => &[
                And,
                Or,
                Xor,
                Exchange,
                Increment,
                Decrement,
                Add,
                Subtract,
                ReverseSubtract,
                SignedMax,
                SignedMin,
                UnsignedMax,
                UnsignedMin,
                CompareExchange,
                PreDecrement,
            ],
        };
        let found = (code as usize).checked_sub(1).and_then(|index| table.get(index));
        found.copied().ok_or_else(|| unimplemented(format!("the atomic operation {code}")))
    }

    /// Number of operands in the message.
    pub fn operands(self) -> usize {
        match self {
            Operation::Increment | Operation::Decrement | Operation::PreDecrement => 0,
            Operation::CompareExchange | Operation::FloatCompareExchange => 2,
            _ => 1,
        }
    }

    /// The new value. `first` is the operand, or the compared value; `second` is the value that a successful
    /// comparison stores.
    pub fn apply(self, old: u64, first: u64, second: u64, bits: u32) -> u64 {
        let unused = 64 - bits;
        let mask = u64::MAX >> unused;
        let signed = |v: u64| ((v << unused) as i64) >> unused;
        let float = |v: u64| f32::from_bits(v as u32);
        let (old, first, second) = (old & mask, first & mask, second & mask);
        let new = match self {
            Operation::And => old & first,
            Operation::Or => old | first,
            Operation::Xor => old ^ first,
            Operation::Exchange => first,
            Operation::Increment => old.wrapping_add(1),
            Operation::Decrement | Operation::PreDecrement => old.wrapping_sub(1),
            Operation::Add => old.wrapping_add(first),
            Operation::Subtract => old.wrapping_sub(first),
            Operation::ReverseSubtract => first.wrapping_sub(old),
            Operation::SignedMax => signed(old).max(signed(first)) as u64,
            Operation::SignedMin => signed(old).min(signed(first)) as u64,
            Operation::UnsignedMax => old.max(first),
            Operation::UnsignedMin => old.min(first),
            Operation::CompareExchange if old == first => second,
            Operation::FloatCompareExchange if float(old) == float(first) => second,
            Operation::FloatMax => float(old).max(float(first)).to_bits().into(),
            Operation::FloatMin => float(old).min(float(first)).to_bits().into(),
            Operation::CompareExchange | Operation::FloatCompareExchange => old,
        };
        new & mask
    }

    /// The value that a message returns: the old value, except for the pre-decrement.
    pub fn result(self, old: u64) -> u64 {
        match self {
            Operation::PreDecrement => old.wrapping_sub(1),
            _ => old,
        }
    }
}

impl Ports<'_> {
    /// Atomically updates a value; returns the old one, or 0 outside of a surface.
    pub(super) fn update(
        &mut self,
        space: Space,
        offset: u64,
        bits: u32,
        change: impl Fn(u64) -> u64,
    ) -> Result<u64, Refusal> {
        let bytes = bits as usize / 8;
        let at = match space {
            Space::Local => {
                if !offset.is_multiple_of(bytes as u64) {
                    return Err(refuse("an atomic operation on an unaligned address"));
                }
                // Only this worker runs threads of the group, so no atomic operation is necessary.
                let mut old = [0; 8];
                self.load(space, offset, &mut old[..bytes])?;
                let old = u64::from_le_bytes(old);
                self.store(space, offset, &change(old).to_le_bytes()[..bytes])?;
                return Ok(old);
            }
            Space::Surface(surface) => match surface.byte(offset, bytes) {
                Some(at) => at,
                None => return Ok(0),
            },
            Space::Flat(base) => base.wrapping_add(offset),
        };
        self.update_at(at, bits, change)
    }

    /// As [`Ports::update`], for an address.
    pub(super) fn update_at(
        &mut self,
        at: u64,
        bits: u32,
        change: impl Fn(u64) -> u64,
    ) -> Result<u64, Refusal> {
        match bits {
            64 => self.memory.update_u64(at, change).map_err(refuse),
            _ => {
                let old = self.memory.update_u32(at, |old| change(old.into()) as u32);
                old.map(u64::from).map_err(refuse)
            }
        }
    }

    /// source: Mesa, brw_eu.h: bits 3:0 operation, bit 4 SIMD8, bit 5 returns the old value.
    pub(super) fn untyped_atomic(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
        float: bool,
    ) -> Result<(), Refusal> {
        let control = message.desc >> 8 & 0x3f;
        let operation = Operation::of(control & if float { 3 } else { 0xf }, float)?;
        let width = if control >> 4 & 1 != 0 { 8 } else { 16 };
        let payload = Payload::new(view, message);
        let space = self.space(message, payload.header)?;
        let registers = width / 8;
        for lane in lanes(message, width) {
            let operand = |index: usize| match index < operation.operands() {
                true => u64::from(payload.u32(registers * (1 + index), lane)),
                false => 0,
            };
            let (first, second) = (operand(0), operand(1));
            let change = |old| operation.apply(old, first, second, 32);
            let old = self.update(space, payload.u32(0, lane).into(), 32, change)?;
            if control >> 5 & 1 != 0 {
                put_u32(view, 0, lane, operation.result(old) as u32);
            }
        }
        Ok(())
    }

    /// source: Mesa, brw_eu.h: bits 3:0 operation, bit 4 of integers 64 bits, bit 5 returns the old
    /// value; always SIMD8.
    pub(super) fn a64_atomic(
        &mut self,
        view: &mut ThreadView<'_>,
        message: &Message,
        float: bool,
    ) -> Result<(), Refusal> {
        let control = message.desc >> 8 & 0x3f;
        let operation = Operation::of(control & if float { 3 } else { 0xf }, float)?;
        let wide = !float && control >> 4 & 1 != 0;
        let (bits, registers) = if wide { (64, 2) } else { (32, 1) };
        let payload = Payload::new(view, message);
        for lane in lanes(message, 8) {
            let operand = |index: usize| match (index < operation.operands(), wide) {
                (false, _) => 0,
                (true, true) => payload.u64(2 + registers * index, lane),
                (true, false) => payload.u32(2 + registers * index, lane).into(),
            };
            let (first, second) = (operand(0), operand(1));
            let change = |old| operation.apply(old, first, second, bits);
            let old = self.update_at(payload.u64(0, lane), bits, change)?;
            if control >> 5 & 1 != 0 {
                let result = operation.result(old);
                match wide {
                    true => put_u64(view, 0, lane, result),
                    false => put_u32(view, 0, lane, result as u32),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_those_of_their_width() {
        let apply = |op: Operation, old, first, second| op.apply(old, first, second, 32);
        assert_eq!(apply(Operation::Add, 0xffff_ffff, 2, 0), 1);
        assert_eq!(apply(Operation::SignedMin, 1, 0xffff_ffff, 0), 0xffff_ffff);
        assert_eq!(apply(Operation::UnsignedMin, 1, 0xffff_ffff, 0), 1);
        assert_eq!(apply(Operation::CompareExchange, 5, 5, 9), 9);
        assert_eq!(apply(Operation::CompareExchange, 5, 6, 9), 5);
        assert_eq!(Operation::PreDecrement.result(5), 4);
        assert_eq!(Operation::Subtract.apply(0, 1, 0, 64), u64::MAX);
        assert!(Operation::of(0, false).is_err() && Operation::of(4, true).is_err());
        assert_eq!(Operation::of(14, false).ok(), Some(Operation::CompareExchange));
    }
}
