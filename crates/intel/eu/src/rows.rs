//! Rows of channels: read from sources, computed, written to destinations, flags and accumulators.

use std::cmp::Ordering;

use tepui_intel_isa::{Condition, Type};

use crate::fault::FaultKind;
use crate::lane::{Bank, Element};
use crate::memory;
use crate::op::{DirectSource, Op};
use crate::operand::{CHANNELS, Row};
use crate::state::Thread;

/// The result of a handler.
pub type Done = Result<(), FaultKind>;

/// Whether a comparison's outcome satisfies a condition; `None` is NaN.
#[inline(always)]
pub fn holds(condition: Condition, order: Option<Ordering>) -> bool {
    match (condition, order) {
        (Condition::Unordered, None) | (Condition::NotZero, None) => true,
        (_, None) | (Condition::Unordered, _) => false,
        (Condition::Zero, Some(o)) => o == Ordering::Equal,
        (Condition::NotZero, Some(o)) => o != Ordering::Equal,
        (Condition::Greater, Some(o)) => o == Ordering::Greater,
        (Condition::GreaterEqual, Some(o)) => o != Ordering::Less,
        (Condition::Less, Some(o)) => o == Ordering::Less,
        (Condition::LessEqual, Some(o)) => o != Ordering::Greater,
        (Condition::None | Condition::Round | Condition::Overflow, _) => false,
    }
}

#[inline(always)]
pub fn load<T: Bank>(t: &Thread, op: &Op, k: usize) -> Result<Row<T>, FaultKind> {
    let mut row = [T::default(); CHANNELS];
    if T::IS_32 && op.direct[k] != DirectSource::No {
        load_direct(t, op, k, &mut row);
    } else {
        let channels = [u32::from(op.n), t.enabled(op)];
        op.src[k].load(&t.memory, channels, op.logic, t.float_mode(), &mut row)?;
    }
    Ok(row)
}

/// Applies a function to channels in groups of eight, which are the host's vectors: the loops have constant
/// lengths. Unused channels of the last group are computed too, but not written.
#[inline(always)]
pub fn map<T: Copy>(a: &mut Row<T>, n: usize, f: impl Fn(T) -> T) {
    for eight in &mut a.as_chunks_mut::<8>().0[..n.div_ceil(8)] {
        for value in eight {
            *value = f(*value);
        }
    }
}

/// As [`map`], for two rows.
#[inline(always)]
pub fn zip<T: Copy>(a: &mut Row<T>, b: &Row<T>, n: usize, f: impl Fn(T, T) -> T) {
    let b = b.as_chunks::<8>().0;
    for (a, b) in a.as_chunks_mut::<8>().0[..n.div_ceil(8)].iter_mut().zip(b) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = f(*a, *b);
        }
    }
}

/// Reads 32-bit elements without conversion, in rows of eight, to fill the host's vectors.
#[inline(always)]
pub fn load_direct<T: Bank>(t: &Thread, op: &Op, k: usize, row: &mut Row<T>) {
    let n = usize::from(op.n);
    match op.direct[k] {
        DirectSource::Row(base) => {
            let base = usize::from(base);
            let bytes = t.memory[base..base + 4 * n].as_chunks::<32>().0;
            for (row, bytes) in row.as_chunks_mut::<8>().0.iter_mut().zip(bytes) {
                let eight: [u32; 8] = bytemuck::pod_read_unaligned(bytes);
                for (value, bits) in row.iter_mut().zip(eight) {
                    *value = T::from_bits(u32::from_le(bits));
                }
            }
        }
        DirectSource::Scalar(base) => {
            row.fill(T::from_bits(memory::read32(&t.memory, usize::from(base))));
        }
        DirectSource::Bits(bits) => row.fill(T::from_bits(bits)),
        DirectSource::No => {}
    }
    let src = &op.src[k];
    if src.abs {
        map(row, n, T::absolute);
    }
    if src.negate && op.logic {
        map(row, n, T::invert);
    } else if src.negate {
        map(row, n, T::negate);
    }
    let mode = t.float_mode();
    if !mode.keeps_denormals() {
        map(row, n, |value| value.flush(mode));
    }
}

/// Outputs of an operation in addition to the destination.
#[derive(Clone, Copy)]
pub struct ImplicitOutputs {
    pub condition: Condition,
    pub accumulator: bool,
}

impl ImplicitOutputs {
    pub const NOTHING: ImplicitOutputs =
        ImplicitOutputs { condition: Condition::None, accumulator: false };

    pub fn of(op: &Op) -> ImplicitOutputs {
        ImplicitOutputs { condition: op.condition, accumulator: op.acc_write || op.dst.accumulator }
    }
}

/// Converts a row to the destination's type and writes it, the flags and the accumulator.
#[inline(always)]
pub fn finish<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>) -> Done {
    let mask = t.enabled(op) & t.predicated(op);
    match op.direct_dst {
        Some(base) if T::IS_32 => {
            store_direct(t, op, row, mask, usize::from(base));
            Ok(())
        }
        _ => finish_masked(t, op, row, mask, ImplicitOutputs::of(op)),
    }
}

/// Writes 32-bit elements without conversion.
#[inline(always)]
pub fn store_direct<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>, mask: u32, base: usize) {
    let n = usize::from(op.n);
    let mode = t.float_mode();
    let flush = !mode.keeps_denormals();
    let all = mask == op.all();
    let bytes = t.memory[base..base + 4 * n].as_chunks_mut::<32>().0;
    for (group, (row, bytes)) in row.as_chunks::<8>().0.iter().zip(bytes).enumerate() {
        let mut eight = [0u32; 8];
        for (bits, value) in eight.iter_mut().zip(row) {
            let value = if flush { value.flush(mode) } else { *value };
            *bits = value.to_bits(op.saturate).to_le();
        }
        if !all {
            let old: [u32; 8] = bytemuck::pod_read_unaligned(bytes);
            let mask = mask >> (group * 8);
            for (lane, (bits, old)) in eight.iter_mut().zip(old).enumerate() {
                let write = (mask >> lane & 1).wrapping_neg();
                *bits = *bits & write | old & !write;
            }
        }
        *bytes = bytemuck::cast(eight);
    }
}

#[inline(never)]
pub fn finish_masked<T: Bank>(
    t: &mut Thread,
    op: &Op,
    row: &Row<T>,
    mask: u32,
    derived: ImplicitOutputs,
) -> Done {
    use half::f16;
    match op.dst.ty {
        Type::UB => finish_as::<T, u8>(t, op, row, mask, derived),
        Type::B => finish_as::<T, i8>(t, op, row, mask, derived),
        Type::UW | Type::UV => finish_as::<T, u16>(t, op, row, mask, derived),
        Type::W | Type::V => finish_as::<T, i16>(t, op, row, mask, derived),
        Type::UD => finish_as::<T, u32>(t, op, row, mask, derived),
        Type::D => finish_as::<T, i32>(t, op, row, mask, derived),
        Type::UQ => finish_as::<T, u64>(t, op, row, mask, derived),
        Type::Q => finish_as::<T, i64>(t, op, row, mask, derived),
        Type::HF => finish_as::<T, f16>(t, op, row, mask, derived),
        Type::F | Type::VF => finish_as::<T, f32>(t, op, row, mask, derived),
        Type::DF => finish_as::<T, f64>(t, op, row, mask, derived),
    }
}

#[inline(never)]
pub fn finish_as<T: Bank, E: Element>(
    t: &mut Thread,
    op: &Op,
    row: &Row<T>,
    mask: u32,
    derived: ImplicitOutputs,
) -> Done {
    let n = usize::from(op.n);
    let mode = t.float_mode();
    let flush = match op.dst.ty {
        Type::F => !mode.keeps_denormals(),
        Type::DF => !mode.keeps_double_denormals(),
        _ => false,
    };
    let mut out = [E::boolean(false); CHANNELS];
    if flush {
        for (out, value) in out[..n].iter_mut().zip(row) {
            *out = E::store(value.flush(mode), op.saturate, mode);
        }
    } else {
        for (out, value) in out[..n].iter_mut().zip(row) {
            *out = E::store(*value, op.saturate, mode);
        }
    }
    op.dst.scatter(&mut t.memory, &out, n, mask & op.dst.mask)?;
    if derived.condition != Condition::None {
        let mut bits = 0;
        for (i, value) in out[..n].iter().enumerate() {
            bits |= u32::from(holds(derived.condition, value.sign())) << i;
        }
        t.set_flags(op, bits, mask & op.dst.mask);
    }
    if derived.accumulator {
        accumulate(t, op, row, mask);
    }
    Ok(())
}

/// Writes the accumulator: integers with the bits above 32, floats without conversion.
#[cold]
pub fn accumulate<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>, mask: u32) {
    let float = op.dst.ty.is_float();
    let mode = t.float_mode();
    for (i, value) in row[..usize::from(op.n)].iter().enumerate() {
        if mask >> i & 1 == 0 {
            continue;
        }
        let lane = t.accumulator_lane(op, i, float);
        if float {
            let value =
                if op.saturate { value.to_f32(mode).clamp(0.0, 1.0) } else { value.to_f32(mode) };
            t.set_accumulator_float(lane, value);
        } else {
            t.set_accumulator(lane, value.wrapped(i64::MIN, i64::MAX));
        }
    }
}

/// Writes the result of a selection: the condition determines the selection and writes no flags.
#[inline(always)]
pub fn finish_selected<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>, mask: u32) -> Done {
    match op.direct_dst {
        Some(base) if T::IS_32 => {
            store_direct(t, op, row, mask, usize::from(base));
            Ok(())
        }
        _ => {
            let accumulator = ImplicitOutputs::of(op).accumulator;
            finish_masked(
                t,
                op,
                row,
                mask,
                ImplicitOutputs { accumulator, ..ImplicitOutputs::NOTHING },
            )
        }
    }
}

/// A mask of the channels whose operands satisfy a condition.
#[inline(always)]
pub fn outcomes<T: Bank>(condition: Condition, n: usize, a: &Row<T>, b: &Row<T>) -> u32 {
    #[inline(always)]
    fn each<T: Copy>(n: usize, a: &Row<T>, b: &Row<T>, f: impl Fn(T, T) -> bool) -> u32 {
        let mut bits = 0;
        let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
        for (group, (a, b)) in a.iter().zip(b).take(n.div_ceil(8)).enumerate() {
            let mut eight = 0;
            for (lane, (a, b)) in a.iter().zip(b).enumerate() {
                eight |= u32::from(f(*a, *b)) << lane;
            }
            bits |= eight << (group * 8);
        }
        bits & crate::operand::lanes(n)
    }
    match condition {
        Condition::Zero => each(n, a, b, |a, b| a == b),
        Condition::NotZero => each(n, a, b, |a, b| a != b),
        Condition::Greater => each(n, a, b, |a, b| a > b),
        Condition::GreaterEqual => each(n, a, b, |a, b| a >= b),
        Condition::Less => each(n, a, b, |a, b| a < b),
        Condition::LessEqual => each(n, a, b, |a, b| a <= b),
        other => each(n, a, b, |a, b| holds(other, a.order(b))),
    }
}
