//! Arithmetic, logic, comparison, selection.

use std::cmp::Ordering;

use tepui_intel_isa::{Condition, Opcode, Type};

use crate::fault::FaultKind;
use crate::lane::{Bank, Element, FloatMode};
use crate::memory;
use crate::op::{Arithmetic, Direct, Handler, Op};
use crate::operand::{CHANNELS, Row};
use crate::thread::Thread;

type Done = Result<(), FaultKind>;

/// Whether a condition holds for a comparison's outcome; `None` is a NaN.
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

/// Runs a generic expression with the type of an operation's arithmetic: of integers, or of all.
macro_rules! with_bank {
    (int $t:ident, $op:expr, $body:expr) => {
        match $op.arithmetic {
            Arithmetic::Int32 => {
                type $t = i32;
                $body
            }
            Arithmetic::Int64 => {
                type $t = i64;
                $body
            }
            _ => {
                type $t = i128;
                $body
            }
        }
    };
    (float $t:ident, $op:expr, $body:expr) => {
        match $op.arithmetic {
            Arithmetic::Double => {
                type $t = f64;
                $body
            }
            _ => {
                type $t = f32;
                $body
            }
        }
    };
    (all $t:ident, $op:expr, $body:expr) => {
        match $op.arithmetic {
            Arithmetic::Int32 => {
                type $t = i32;
                $body
            }
            Arithmetic::Int64 => {
                type $t = i64;
                $body
            }
            Arithmetic::Int128 => {
                type $t = i128;
                $body
            }
            Arithmetic::Float => {
                type $t = f32;
                $body
            }
            Arithmetic::Double => {
                type $t = f64;
                $body
            }
        }
    };
}

#[inline(always)]
fn load<T: Bank>(t: &Thread, op: &Op, k: usize) -> Result<Row<T>, FaultKind> {
    let mut row = [T::default(); CHANNELS];
    if T::IS_32 && op.direct[k] != Direct::No {
        load_direct(t, op, k, &mut row);
    } else {
        op.src[k].load(&t.memory, usize::from(op.n), op.logic, t.float_mode(), &mut row)?;
    }
    Ok(row)
}

/// Reads 32-bit elements as they are. Rows of eight, so that the host's vectors are full.
#[inline(always)]
fn load_direct<T: Bank>(t: &Thread, op: &Op, k: usize, row: &mut Row<T>) {
    let n = usize::from(op.n);
    match op.direct[k] {
        Direct::Row(base) => {
            let base = usize::from(base);
            let bytes = &t.memory[base..base + 4 * n];
            for (row, bytes) in row[..n].chunks_exact_mut(8).zip(bytes.chunks_exact(32)) {
                let eight: [u32; 8] = bytemuck::pod_read_unaligned(bytes);
                for (value, bits) in row.iter_mut().zip(eight) {
                    *value = T::from_bits(u32::from_le(bits));
                }
            }
        }
        Direct::Scalar(base) => {
            let value = T::from_bits(memory::read32(&t.memory, usize::from(base)));
            row.fill(value);
        }
        Direct::Bits(bits) => row.fill(T::from_bits(bits)),
        Direct::No => {}
    }
    let src = &op.src[k];
    if src.abs {
        row[..n].iter_mut().for_each(|value| *value = value.absolute());
    }
    if src.negate && op.logic {
        row[..n].iter_mut().for_each(|value| *value = value.invert());
    } else if src.negate {
        row[..n].iter_mut().for_each(|value| *value = value.negate());
    }
    let mode = t.float_mode();
    if !mode.keeps_denormals() {
        row[..n].iter_mut().for_each(|value| *value = value.flush(mode));
    }
}

/// What is derived from a result beside the destination.
#[derive(Clone, Copy)]
struct Derived {
    condition: Condition,
    accumulator: bool,
}

impl Derived {
    const NOTHING: Derived = Derived { condition: Condition::None, accumulator: false };

    fn of(op: &Op) -> Derived {
        Derived { condition: op.condition, accumulator: op.acc_write || op.dst.accumulator }
    }
}

/// Converts a row to the destination's type and writes it, the flags and the accumulator.
#[inline(always)]
fn finish<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>) -> Done {
    let mask = t.enabled(op) & t.predicated(op);
    match op.direct_dst {
        Some(base) if T::IS_32 => {
            store_direct(t, op, row, mask, usize::from(base));
            Ok(())
        }
        _ => finish_masked(t, op, row, mask, Derived::of(op)),
    }
}

/// Writes 32-bit elements as they are.
#[inline(always)]
fn store_direct<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>, mask: u32, base: usize) {
    let n = usize::from(op.n);
    let mode = t.float_mode();
    let flush = !mode.keeps_denormals();
    let all = mask == op.all();
    let bytes = &mut t.memory[base..base + 4 * n];
    for (n, (row, bytes)) in row[..n].chunks_exact(8).zip(bytes.chunks_exact_mut(32)).enumerate() {
        let mut eight: [u32; 8] = std::array::from_fn(|lane| {
            let value = if flush { row[lane].flush(mode) } else { row[lane] };
            value.to_bits(op.saturate).to_le()
        });
        if !all {
            let old: [u32; 8] = bytemuck::pod_read_unaligned(bytes);
            for (lane, bits) in eight.iter_mut().enumerate() {
                let write = (mask >> (n * 8 + lane) & 1).wrapping_neg();
                *bits = *bits & write | old[lane] & !write;
            }
        }
        bytes.copy_from_slice(bytemuck::bytes_of(&eight));
    }
}

#[inline(never)]
fn finish_masked<T: Bank>(
    t: &mut Thread,
    op: &Op,
    row: &Row<T>,
    mask: u32,
    derived: Derived,
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
fn finish_as<T: Bank, E: Element>(
    t: &mut Thread,
    op: &Op,
    row: &Row<T>,
    mask: u32,
    derived: Derived,
) -> Done {
    let n = usize::from(op.n);
    let mode = t.float_mode();
    let flush = op.dst.ty == Type::F && !mode.keeps_denormals();
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

/// Writes the accumulator: integers with the bits above 32, floats as they are.
#[cold]
fn accumulate<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>, mask: u32) {
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

#[inline(always)]
fn unary<T: Bank>(t: &mut Thread, op: &Op, f: impl Fn(T) -> T) -> Done {
    let mut a = load::<T>(t, op, 0)?;
    a[..usize::from(op.n)].iter_mut().for_each(|a| *a = f(*a));
    finish(t, op, &a)
}

#[inline(always)]
fn binary<T: Bank>(t: &mut Thread, op: &Op, f: impl Fn(T, T) -> T) -> Done {
    let mut a = load::<T>(t, op, 0)?;
    let b = load::<T>(t, op, 1)?;
    a[..usize::from(op.n)].iter_mut().zip(&b).for_each(|(a, b)| *a = f(*a, *b));
    finish(t, op, &a)
}

#[inline(always)]
fn ternary<T: Bank>(t: &mut Thread, op: &Op, f: impl Fn(T, T, T) -> T) -> Done {
    let mut a = load::<T>(t, op, 0)?;
    let b = load::<T>(t, op, 1)?;
    let c = load::<T>(t, op, 2)?;
    for (i, a) in a[..usize::from(op.n)].iter_mut().enumerate() {
        *a = f(*a, b[i], c[i]);
    }
    finish(t, op, &a)
}

/// Bits of a source's elements, for shifts and counts.
fn width(op: &Op, k: usize) -> u32 {
    op.src[k].ty.bytes() as u32 * 8
}

/// A value of `width` bits without sign.
#[inline(always)]
fn unsigned(value: i128, width: u32) -> u128 {
    value as u128 & (u128::MAX >> (128 - width))
}

#[inline(always)]
fn mov(t: &mut Thread, op: &Op) -> Done {
    with_bank!(all T, op, unary::<T>(t, op, |a| a))
}

/// Elements of the same size, bit by bit.
#[inline(always)]
fn copy(t: &mut Thread, op: &Op) -> Done {
    let n = usize::from(op.n);
    let mask = t.enabled(op) & t.predicated(op) & op.dst.mask;
    if let (Some(dst), Direct::Row(src)) = (op.direct_dst, op.direct[0])
        && mask == op.all()
    {
        let src = usize::from(src);
        t.memory.copy_within(src..src + 4 * n, usize::from(dst));
        return Ok(());
    }
    macro_rules! elements {
        ($t:ty, $bank:ty) => {{
            let mut row = [<$bank>::default(); CHANNELS];
            op.src[0].load::<$bank>(&t.memory, n, false, FloatMode(!0), &mut row)?;
            let row = row.map(|value| value as $t);
            op.dst.scatter(&mut t.memory, &row, n, mask)
        }};
    }
    match op.dst.ty.bytes() {
        1 => elements!(u8, i32),
        2 => elements!(u16, i32),
        4 => elements!(u32, i32),
        _ => elements!(u64, i128),
    }
}

#[inline(always)]
fn not(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, unary::<T>(t, op, |a| !a))
}

#[inline(always)]
fn and(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a & b))
}

#[inline(always)]
fn or(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a | b))
}

#[inline(always)]
fn xor(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a ^ b))
}

/// The bits of a shift count that count: 5, or 6 where a 64-bit operand takes part.
fn shift_mask(op: &Op) -> u32 {
    if op.src[0].ty.bytes() == 8 || op.dst.ty.bytes() == 8 { 63 } else { 31 }
}

#[inline(always)]
fn shl(t: &mut Thread, op: &Op) -> Done {
    let mask = shift_mask(op);
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a << (b as u32 & mask)))
}

#[inline(always)]
fn shr(t: &mut Thread, op: &Op) -> Done {
    let (mask, width) = (shift_mask(op), width(op, 0).max(32));
    if op.arithmetic == Arithmetic::Int32 {
        return binary::<i32>(t, op, |a, b| (a as u32 >> (b as u32 & mask)) as i32);
    }
    with_bank!(int T, op, binary::<T>(t, op, |a, b| {
        (unsigned(a as i128, width) >> (b as u32 & mask)) as T
    }))
}

#[inline(always)]
fn asr(t: &mut Thread, op: &Op) -> Done {
    let mask = shift_mask(op);
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a >> (b as u32 & mask)))
}

#[inline(always)]
fn add(t: &mut Thread, op: &Op) -> Done {
    match op.arithmetic {
        Arithmetic::Float => binary::<f32>(t, op, |a, b| a + b),
        Arithmetic::Double => binary::<f64>(t, op, |a, b| a + b),
        _ => with_bank!(int T, op, binary::<T>(t, op, |a, b| a.wrapping_add(b))),
    }
}

#[inline(always)]
fn mul(t: &mut Thread, op: &Op) -> Done {
    match op.arithmetic {
        Arithmetic::Float => binary::<f32>(t, op, |a, b| a * b),
        Arithmetic::Double => binary::<f64>(t, op, |a, b| a * b),
        _ => with_bank!(int T, op, binary::<T>(t, op, |a, b| a.wrapping_mul(b))),
    }
}

#[inline(always)]
fn avg(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a.wrapping_add(b).wrapping_add(1) >> 1))
}

#[inline(always)]
fn frc(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a - a.floor()))
}

#[inline(always)]
fn rndu(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.ceil()))
}

#[inline(always)]
fn rndd(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.floor()))
}

#[inline(always)]
fn rnde(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.round_ties_even()))
}

#[inline(always)]
fn rndz(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.trunc()))
}

#[inline(always)]
fn mac(t: &mut Thread, op: &Op) -> Done {
    let n = usize::from(op.n);
    match op.arithmetic {
        Arithmetic::Float => {
            let mut a = load::<f32>(t, op, 0)?;
            let b = load::<f32>(t, op, 1)?;
            for i in 0..n {
                a[i] = a[i] * b[i] + t.accumulator_float(t.accumulator_lane(op, i, true));
            }
            finish(t, op, &a)
        }
        Arithmetic::Double => Err(FaultKind::Unsupported("mac of DF")),
        _ => {
            let mut a = load::<i64>(t, op, 0)?;
            let b = load::<i64>(t, op, 1)?;
            for i in 0..n {
                let acc = t.accumulator(t.accumulator_lane(op, i, false));
                a[i] = a[i].wrapping_mul(b[i]).wrapping_add(acc);
            }
            finish(t, op, &a)
        }
    }
}

/// Completes a product that `mul` began with the low 16 bits of source 1: adds the product with
/// the high ones; the upper half goes to the destination, the lower stays.
#[inline(always)]
fn mach(t: &mut Thread, op: &Op) -> Done {
    let mut a = load::<i64>(t, op, 0)?;
    let b = load::<i64>(t, op, 1)?;
    let mask = t.enabled(op) & t.predicated(op);
    for i in 0..usize::from(op.n) {
        let lane = t.accumulator_lane(op, i, false);
        let product = a[i].wrapping_mul(b[i] >> 16 << 16).wrapping_add(t.accumulator(lane));
        if mask >> i & 1 != 0 {
            t.set_accumulator(lane, product);
        }
        a[i] = match op.dst.ty {
            Type::UD => (product as u64 >> 32) as i64,
            _ => product >> 32,
        };
    }
    finish_masked(t, op, &a, mask, Derived { accumulator: false, ..Derived::of(op) })
}

/// `addc` and `subb`: the accumulator receives carry or borrow.
#[inline(always)]
fn with_carry(t: &mut Thread, op: &Op, f: impl Fn(i64, i64) -> i64) -> Done {
    let mut a = load::<i64>(t, op, 0)?;
    let b = load::<i64>(t, op, 1)?;
    let mask = t.enabled(op) & t.predicated(op);
    for i in 0..usize::from(op.n) {
        let exact = f(a[i], b[i]);
        if mask >> i & 1 != 0 {
            t.set_accumulator(t.accumulator_lane(op, i, false), exact >> 32 & 1);
        }
        a[i] = exact & 0xffff_ffff;
    }
    finish_masked(t, op, &a, mask, Derived { accumulator: false, ..Derived::of(op) })
}

#[inline(always)]
fn addc(t: &mut Thread, op: &Op) -> Done {
    with_carry(t, op, |a, b| a + b)
}

#[inline(always)]
fn subb(t: &mut Thread, op: &Op) -> Done {
    with_carry(t, op, |a, b| a - b)
}

#[inline(always)]
fn bfrev(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| i64::from((a as u32).reverse_bits()))
}

#[inline(always)]
fn lzd(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| i64::from((a as u32).leading_zeros()))
}

#[inline(always)]
fn fbh(t: &mut Thread, op: &Op) -> Done {
    let signed = op.src[0].ty.is_signed();
    unary::<i64>(t, op, |a| {
        let bits = if signed && a < 0 { !(a as u32) } else { a as u32 };
        if bits == 0 { -1 } else { i64::from(bits.leading_zeros()) }
    })
}

#[inline(always)]
fn fbl(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| match a as u32 {
        0 => -1,
        bits => i64::from(bits.trailing_zeros()),
    })
}

#[inline(always)]
fn cbit(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| i64::from((a as u32).count_ones()))
}

#[inline(always)]
fn bfe(t: &mut Thread, op: &Op) -> Done {
    let signed = op.dst.ty.is_signed();
    ternary::<i64>(t, op, |width, offset, value| {
        let (width, offset, value) = (width as u32 & 31, offset as u32 & 31, value as u32);
        let (left, right) = match width + offset {
            _ if width == 0 => return 0,
            sum @ 0..32 => (32 - sum, 32 - width),
            _ => (0, offset),
        };
        match signed {
            true => i64::from((value << left) as i32 >> right),
            false => i64::from(value << left >> right),
        }
    })
}

#[inline(always)]
fn bfi1(t: &mut Thread, op: &Op) -> Done {
    binary::<i64>(t, op, |width, offset| {
        let (width, offset) = (width as u32 & 31, offset as u32 & 31);
        i64::from(((1u32 << width) - 1) << offset)
    })
}

#[inline(always)]
fn bfi2(t: &mut Thread, op: &Op) -> Done {
    ternary::<i64>(t, op, |mask, insert, base| {
        let (mask, insert, base) = (mask as u32, insert as u32, base as u32);
        let shifted = insert.checked_shl(mask.trailing_zeros()).unwrap_or(0);
        i64::from(shifted & mask | base & !mask)
    })
}

#[inline(always)]
fn mad(t: &mut Thread, op: &Op) -> Done {
    match op.arithmetic {
        Arithmetic::Float => ternary::<f32>(t, op, |a, b, c| b.mul_add(c, a)),
        Arithmetic::Double => ternary::<f64>(t, op, |a, b, c| b.mul_add(c, a)),
        _ => with_bank!(int T, op, ternary::<T>(t, op, |a, b, c| {
            a.wrapping_add(b.wrapping_mul(c))
        })),
    }
}

#[inline(always)]
fn lrp(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, ternary::<T>(t, op, |a, b, c| a * b + (1.0 - a) * c))
}

/// `csel`: the third source is compared with zero.
#[inline(always)]
fn csel(t: &mut Thread, op: &Op) -> Done {
    #[inline(always)]
    fn run<T: Bank>(t: &mut Thread, op: &Op) -> Done {
        let condition = op.condition;
        let plain = Op { condition: Condition::None, ..op.clone() };
        ternary::<T>(
            t,
            &plain,
            |a, b, c| {
                if holds(condition, c.order(T::default())) { a } else { b }
            },
        )
    }
    with_bank!(all T, op, run::<T>(t, op))
}

/// Selects by the predicate, or with a condition the minimum or maximum: a NaN loses.
#[inline(always)]
fn sel(t: &mut Thread, op: &Op) -> Done {
    #[inline(always)]
    fn run<T: Bank>(t: &mut Thread, op: &Op) -> Done {
        let mut a = load::<T>(t, op, 0)?;
        let b = load::<T>(t, op, 1)?;
        let condition = op.condition;
        if condition == Condition::None {
            let take = t.predicated(op);
            for (i, a) in a[..usize::from(op.n)].iter_mut().enumerate() {
                if take >> i & 1 == 0 {
                    *a = b[i];
                }
            }
        } else {
            for (a, b) in a[..usize::from(op.n)].iter_mut().zip(&b) {
                let nan = b.order(*b).is_none();
                if !holds(condition, a.order(*b)) && !nan {
                    *a = *b;
                }
            }
        }
        finish_selected(t, op, &a, t.enabled(op))
    }
    with_bank!(all T, op, run::<T>(t, op))
}

/// Writes what was selected: the condition says what is selected and writes no flags.
#[inline(always)]
fn finish_selected<T: Bank>(t: &mut Thread, op: &Op, row: &Row<T>, mask: u32) -> Done {
    match op.direct_dst {
        Some(base) if T::IS_32 => {
            store_direct(t, op, row, mask, usize::from(base));
            Ok(())
        }
        _ => {
            let accumulator = Derived::of(op).accumulator;
            finish_masked(t, op, row, mask, Derived { accumulator, ..Derived::NOTHING })
        }
    }
}

/// A bit for each channel whose operands satisfy a condition.
#[inline(always)]
fn outcomes<T: Bank>(condition: Condition, n: usize, a: &Row<T>, b: &Row<T>) -> u32 {
    #[inline(always)]
    fn each<T: Copy>(n: usize, a: &Row<T>, b: &Row<T>, f: impl Fn(T, T) -> bool) -> u32 {
        let mut bytes = [0u8; CHANNELS];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from(f(a[i], b[i]));
        }
        let bits = bytes.iter().enumerate().fold(0, |bits, (i, b)| bits | u32::from(*b) << i);
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

/// Compares, and sets the flags and all bits of the destination.
#[inline(always)]
fn compare<T: Bank>(t: &mut Thread, op: &Op, nan_loses: bool) -> Done {
    let n = usize::from(op.n);
    let a = load::<T>(t, op, 0)?;
    let b = load::<T>(t, op, 1)?;
    let mut bits = outcomes(op.condition, n, &a, &b);
    if nan_loses {
        for (i, b) in b[..n].iter().enumerate() {
            bits |= u32::from(b.order(*b).is_none()) << i;
        }
    }
    let mask = t.enabled(op) & t.predicated(op) & op.dst.mask;
    t.set_flags(op, bits, mask);
    if op.dst.layout.is_none() {
        return Ok(());
    }
    macro_rules! write {
        ($t:ty) => {{
            let row: Row<$t> = std::array::from_fn(|i| <$t>::boolean(bits >> i & 1 != 0));
            op.dst.scatter(&mut t.memory, &row, n, mask)
        }};
    }
    match op.dst.ty.bytes() {
        1 => write!(u8),
        2 => write!(u16),
        4 => write!(u32),
        _ => write!(u64),
    }
}

#[inline(always)]
fn cmp(t: &mut Thread, op: &Op) -> Done {
    with_bank!(all T, op, compare::<T>(t, op, false))
}

#[inline(always)]
fn cmpn(t: &mut Thread, op: &Op) -> Done {
    with_bank!(all T, op, compare::<T>(t, op, true))
}

/// Dot products of groups of four channels; all four receive the result.
#[inline(always)]
fn dot(t: &mut Thread, op: &Op, f: impl Fn(&[f32], &[f32]) -> f32) -> Done {
    let mut a = load::<f32>(t, op, 0)?;
    let b = load::<f32>(t, op, 1)?;
    for (a, b) in a[..usize::from(op.n)].chunks_exact_mut(4).zip(b.chunks_exact(4)) {
        let sum = f(a, b);
        a.fill(sum);
    }
    finish(t, op, &a)
}

#[inline(always)]
fn dp4(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3])
}

#[inline(always)]
fn dph(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + b[3])
}

#[inline(always)]
fn dp3(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
}

#[inline(always)]
fn dp2(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1])
}

/// The coefficients p, q, r of a plane: elements 0, 1 and 3 from the first source's element on.
fn coefficients(t: &Thread, op: &Op) -> Result<[f32; 3], FaultKind> {
    let crate::operand::Layout::Even { base, .. } = op.src[0].layout else {
        return Err(FaultKind::Unsupported("plane coefficients outside of a register"));
    };
    if usize::from(base) + 16 > memory::GENERAL {
        return Err(FaultKind::Unsupported("plane coefficients past the last register"));
    }
    let sign = if op.src[0].negate { -1.0 } else { 1.0 };
    let mode = t.float_mode();
    let read = |n: usize| {
        let value =
            f32::from_bits(memory::read32(&t.memory, usize::from(base) + 4 * n)).flush(mode);
        sign * if op.src[0].abs { value.abs() } else { value }
    };
    Ok([read(0), read(1), read(3)])
}

#[inline(always)]
fn line(t: &mut Thread, op: &Op) -> Done {
    let [p, _, r] = coefficients(t, op)?;
    let mut u = load::<f32>(t, op, 1)?;
    u[..usize::from(op.n)].iter_mut().for_each(|u| *u = u.mul_add(p, r));
    finish(t, op, &u)
}

/// Plane equation: the second source is a pair of registers, u and v, for each eight channels.
#[inline(always)]
fn pln(t: &mut Thread, op: &Op) -> Done {
    let [p, q, r] = coefficients(t, op)?;
    let crate::operand::Layout::Even { base, .. } = op.src[1].layout else {
        return Err(FaultKind::Unsupported("plane coordinates outside of registers"));
    };
    let base = usize::from(base);
    let n = usize::from(op.n);
    if base + n.div_ceil(8) * 64 > memory::GENERAL {
        return Err(FaultKind::Unsupported("plane coordinates past the last register"));
    }
    let mode = t.float_mode();
    let read = |at: usize| {
        let value = f32::from_bits(memory::read32(&t.memory, at)).flush(mode);
        let value = if op.src[1].abs { value.abs() } else { value };
        if op.src[1].negate { -value } else { value }
    };
    let mut row = [0.0f32; CHANNELS];
    for (i, out) in row[..n].iter_mut().enumerate() {
        let at = base + i / 8 * 64 + i % 8 * 4;
        let (u, v) = (read(at), read(at + 32));
        *out = q.mul_add(v, p.mul_add(u, r));
    }
    finish(t, op, &row)
}

/// Does nothing: of operations that flow control executes.
pub unsafe fn nothing(_: &mut Thread, _: &Op) -> Done {
    Ok(())
}

#[inline(always)]
fn nop(_: &mut Thread, _: &Op) -> Done {
    Ok(())
}

use crate::math::math;

/// Compiles the operations twice, for any host and for one with wide vectors, and makes the table of
/// handlers.
macro_rules! handlers {
    ($($opcode:ident $name:ident,)*; $copy:ident) => {
        mod any {
            use super::*;

            $(
                pub unsafe fn $name(t: &mut Thread, op: &Op) -> Done {
                    super::$name(t, op)
                }
            )*
            pub unsafe fn $copy(t: &mut Thread, op: &Op) -> Done {
                super::$copy(t, op)
            }
        }

        #[cfg(target_arch = "x86_64")]
        mod wide {
            use super::*;

            $(
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                pub unsafe fn $name(t: &mut Thread, op: &Op) -> Done {
                    super::$name(t, op)
                }
            )*
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            pub unsafe fn $copy(t: &mut Thread, op: &Op) -> Done {
                super::$copy(t, op)
            }
        }

        /// The handler of an operation that computes; `None` if there is none. It may be called on
        /// this host.
        pub fn handler(opcode: Opcode) -> Option<Handler> {
            #[cfg(target_arch = "x86_64")]
            if is_wide() {
                return match opcode {
                    $(Opcode::$opcode => Some(wide::$name),)*
                    _ => None,
                };
            }
            match opcode {
                $(Opcode::$opcode => Some(any::$name),)*
                _ => None,
            }
        }

        /// The handler that copies bits, for `mov` without conversion.
        pub fn copies() -> Handler {
            #[cfg(target_arch = "x86_64")]
            if is_wide() {
                return wide::$copy;
            }
            any::$copy
        }
    };
}

/// The host has what the wide handlers are compiled for.
#[cfg(target_arch = "x86_64")]
fn is_wide() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

handlers! {
    Mov mov, Sel sel, Not not, And and, Or or, Xor xor, Shr shr, Shl shl, Asr asr, Cmp cmp, Cmpn cmpn,
    Csel csel, Bfrev bfrev, Bfe bfe, Bfi1 bfi1, Bfi2 bfi2, Math math, Add add, Mul mul, Avg avg,
    Frc frc, Rndu rndu, Rndd rndd, Rnde rnde, Rndz rndz, Mac mac, Mach mach, Lzd lzd, Fbh fbh, Fbl fbl,
    Cbit cbit, Addc addc, Subb subb, Dp4 dp4, Dph dph, Dp3 dp3, Dp2 dp2, Line line, Pln pln, Mad mad,
    Lrp lrp, Nop nop,;
    copy
}

/// Reads a row of floats; for the mathematical functions.
pub(crate) fn floats(t: &Thread, op: &Op, k: usize) -> Result<Row<f32>, FaultKind> {
    load::<f32>(t, op, k)
}

/// Reads a row of integers.
pub(crate) fn integers(t: &Thread, op: &Op, k: usize) -> Result<Row<i64>, FaultKind> {
    load::<i64>(t, op, k)
}

/// Writes a row of floats.
pub(crate) fn finish_floats(t: &mut Thread, op: &Op, row: &Row<f32>) -> Done {
    finish(t, op, row)
}

/// Writes a row of integers.
pub(crate) fn finish_integers(t: &mut Thread, op: &Op, row: &Row<i64>) -> Done {
    finish(t, op, row)
}
