//! Arithmetic, logic, comparison, selection.

use tepui_intel_isa::{Condition, Type};

use crate::fault::FaultKind;
use crate::lane::{Bank, Element, FloatMode};
use crate::memory;
use crate::op::{Arithmetic, DirectSource, Op};
use crate::operand::{CHANNELS, Row};
use crate::rounding::TowardZero;
use crate::rows::{
    Done, ImplicitOutputs, finish, finish_masked, finish_selected, holds, load, map, outcomes, zip,
};
use crate::state::Thread;

/// Runs a generic expression with the type of an operation's arithmetic: for integers only, or for all types.
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
fn unary<T: Bank>(t: &mut Thread, op: &Op, f: impl Fn(T) -> T) -> Done {
    let mut a = load::<T>(t, op, 0)?;
    map(&mut a, usize::from(op.n), f);
    finish(t, op, &a)
}

#[inline(always)]
fn binary<T: Bank>(t: &mut Thread, op: &Op, f: impl Fn(T, T) -> T) -> Done {
    let mut a = load::<T>(t, op, 0)?;
    let b = load::<T>(t, op, 1)?;
    zip(&mut a, &b, usize::from(op.n), f);
    finish(t, op, &a)
}

#[inline(always)]
fn ternary<T: Bank>(t: &mut Thread, op: &Op, f: impl Fn(T, T, T) -> T) -> Done {
    let mut a = load::<T>(t, op, 0)?;
    let b = load::<T>(t, op, 1)?;
    let c = load::<T>(t, op, 2)?;
    let groups = usize::from(op.n).div_ceil(8);
    let (b, c) = (b.as_chunks::<8>().0, c.as_chunks::<8>().0);
    for (group, a) in a.as_chunks_mut::<8>().0[..groups].iter_mut().enumerate() {
        for (lane, a) in a.iter_mut().enumerate() {
            *a = f(*a, b[group][lane], c[group][lane]);
        }
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
pub fn mov(t: &mut Thread, op: &Op) -> Done {
    with_bank!(all T, op, unary::<T>(t, op, |a| a))
}

/// Elements of the same size, bit by bit.
#[inline(always)]
pub fn copy(t: &mut Thread, op: &Op) -> Done {
    let n = usize::from(op.n);
    let mask = t.enabled(op) & t.predicated(op) & op.dst.mask;
    if let (Some(dst), DirectSource::Row(src)) = (op.direct_dst, op.direct[0])
        && mask == op.all()
    {
        let src = usize::from(src);
        t.memory.copy_within(src..src + 4 * n, usize::from(dst));
        return Ok(());
    }
    macro_rules! elements {
        ($t:ty, $bank:ty) => {{
            let mut row = [<$bank>::default(); CHANNELS];
            op.src[0].load::<$bank>(
                &t.memory,
                [n as u32, t.enabled(op)],
                false,
                FloatMode(!0),
                &mut row,
            )?;
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
pub fn not(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, unary::<T>(t, op, |a| !a))
}

#[inline(always)]
pub fn and(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a & b))
}

#[inline(always)]
pub fn or(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a | b))
}

#[inline(always)]
pub fn xor(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a ^ b))
}

/// The relevant bits of a shift count: 5, or 6 if a 64-bit operand takes part.
fn shift_mask(op: &Op) -> u32 {
    if op.src[0].ty.bytes() == 8 || op.dst.ty.bytes() == 8 { 63 } else { 31 }
}

#[inline(always)]
pub fn shl(t: &mut Thread, op: &Op) -> Done {
    let mask = shift_mask(op);
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a << (b as u32 & mask)))
}

#[inline(always)]
#[allow(clippy::unnecessary_cast, reason = "one of the types is the widest")]
pub fn shr(t: &mut Thread, op: &Op) -> Done {
    let (mask, width) = (shift_mask(op), width(op, 0).max(32));
    if op.arithmetic == Arithmetic::Int32 {
        return binary::<i32>(t, op, |a, b| (a as u32 >> (b as u32 & mask)) as i32);
    }
    with_bank!(int T, op, binary::<T>(t, op, |a, b| {
        (unsigned(a as i128, width) >> (b as u32 & mask)) as T
    }))
}

#[inline(always)]
pub fn rol(t: &mut Thread, op: &Op) -> Done {
    match op.dst.ty.bytes() {
        2 => binary::<i64>(t, op, |a, b| i64::from((a as u16).rotate_left(b as u32 & 15))),
        _ => binary::<i64>(t, op, |a, b| i64::from((a as u32).rotate_left(b as u32 & 31))),
    }
}

#[inline(always)]
pub fn ror(t: &mut Thread, op: &Op) -> Done {
    match op.dst.ty.bytes() {
        2 => binary::<i64>(t, op, |a, b| i64::from((a as u16).rotate_right(b as u32 & 15))),
        _ => binary::<i64>(t, op, |a, b| i64::from((a as u32).rotate_right(b as u32 & 31))),
    }
}

/// The first source plus the products of four bytes of the others, each with its own sign.
#[inline(always)]
pub fn dp4a(t: &mut Thread, op: &Op) -> Done {
    let signed = [1, 2].map(|k| op.src[k].ty.is_signed());
    let byte = |value: i64, n: u32, signed: bool| match (value >> (8 * n)) as u8 {
        byte if signed => i64::from(byte as i8),
        byte => i64::from(byte),
    };
    ternary::<i64>(t, op, |sum, b, c| {
        (0..4).fold(sum, |sum, n| sum + byte(b, n, signed[0]) * byte(c, n, signed[1]))
    })
}

#[inline(always)]
pub fn asr(t: &mut Thread, op: &Op) -> Done {
    let mask = shift_mask(op);
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a >> (b as u32 & mask)))
}

#[inline(always)]
pub fn add(t: &mut Thread, op: &Op) -> Done {
    match op.arithmetic {
        Arithmetic::Float if t.float_mode().to_zero() => binary(t, op, <f32 as TowardZero>::sum),
        Arithmetic::Double if t.float_mode().to_zero() => binary(t, op, <f64 as TowardZero>::sum),
        Arithmetic::Float => binary::<f32>(t, op, |a, b| a + b),
        Arithmetic::Double => binary::<f64>(t, op, |a, b| a + b),
        _ => with_bank!(int T, op, binary::<T>(t, op, |a, b| a.wrapping_add(b))),
    }
}

#[inline(always)]
pub fn mul(t: &mut Thread, op: &Op) -> Done {
    match op.arithmetic {
        Arithmetic::Float if t.float_mode().to_zero() => {
            binary(t, op, <f32 as TowardZero>::product)
        }
        Arithmetic::Double if t.float_mode().to_zero() => {
            binary(t, op, <f64 as TowardZero>::product)
        }
        Arithmetic::Float => {
            let mode = t.float_mode();
            binary::<f32>(t, op, |a, b| product(mode, a, b))
        }
        Arithmetic::Double => binary::<f64>(t, op, |a, b| a * b),
        _ => with_bank!(int T, op, binary::<T>(t, op, |a, b| a.wrapping_mul(b))),
    }
}

#[inline(always)]
pub fn avg(t: &mut Thread, op: &Op) -> Done {
    with_bank!(int T, op, binary::<T>(t, op, |a, b| a.wrapping_add(b).wrapping_add(1) >> 1))
}

#[inline(always)]
pub fn frc(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a - a.floor()))
}

#[inline(always)]
pub fn rndu(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.ceil()))
}

#[inline(always)]
pub fn rndd(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.floor()))
}

#[inline(always)]
pub fn rnde(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.round_ties_even()))
}

#[inline(always)]
pub fn rndz(t: &mut Thread, op: &Op) -> Done {
    with_bank!(float T, op, unary::<T>(t, op, |a| a.trunc()))
}

#[inline(always)]
pub fn mac(t: &mut Thread, op: &Op) -> Done {
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

/// Completes a product that `mul` began with the low 16 bits of source 1: adds the product with the high
/// ones. If the accumulator is written, it gets the lower half, and the destination the upper one; else the destination
/// gets the lower half.
///
/// source: Intel's graphics compiler, BinaryEncodingIGA.cpp: such a `mach` without AccWrCtrl is `macl` where the two have names;
/// for Tiger Lake it multiplies 32-bit integers with `mul` and it
#[inline(always)]
pub fn mach(t: &mut Thread, op: &Op) -> Done {
    let mut a = load::<i64>(t, op, 0)?;
    let b = load::<i64>(t, op, 1)?;
    let mask = t.enabled(op) & t.predicated(op);
    for i in 0..usize::from(op.n) {
        let lane = t.accumulator_lane(op, i, false);
        let product = a[i].wrapping_mul(b[i] >> 16 << 16).wrapping_add(t.accumulator(lane));
        if mask >> i & 1 != 0 && op.acc_write {
            t.set_accumulator(lane, product);
        }
        a[i] = match (op.acc_write, op.dst.ty) {
            (true, Type::UD) => (product as u64 >> 32) as i64,
            (true, _) => product >> 32,
            (false, Type::UD) => i64::from(product as u32),
            (false, _) => i64::from(product as i32),
        };
    }
    finish_masked(
        t,
        op,
        &a,
        mask,
        ImplicitOutputs { accumulator: false, ..ImplicitOutputs::of(op) },
    )
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
    finish_masked(
        t,
        op,
        &a,
        mask,
        ImplicitOutputs { accumulator: false, ..ImplicitOutputs::of(op) },
    )
}

#[inline(always)]
pub fn addc(t: &mut Thread, op: &Op) -> Done {
    with_carry(t, op, |a, b| a + b)
}

#[inline(always)]
pub fn subb(t: &mut Thread, op: &Op) -> Done {
    with_carry(t, op, |a, b| a - b)
}

#[inline(always)]
pub fn bfrev(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| i64::from((a as u32).reverse_bits()))
}

#[inline(always)]
pub fn lzd(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| i64::from((a as u32).leading_zeros()))
}

#[inline(always)]
pub fn fbh(t: &mut Thread, op: &Op) -> Done {
    let signed = op.src[0].ty.is_signed();
    unary::<i64>(t, op, |a| {
        let bits = if signed && a < 0 { !(a as u32) } else { a as u32 };
        if bits == 0 { -1 } else { i64::from(bits.leading_zeros()) }
    })
}

#[inline(always)]
pub fn fbl(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| match a as u32 {
        0 => -1,
        bits => i64::from(bits.trailing_zeros()),
    })
}

#[inline(always)]
pub fn cbit(t: &mut Thread, op: &Op) -> Done {
    unary::<i64>(t, op, |a| i64::from((a as u32).count_ones()))
}

#[inline(always)]
pub fn bfe(t: &mut Thread, op: &Op) -> Done {
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
pub fn bfi1(t: &mut Thread, op: &Op) -> Done {
    binary::<i64>(t, op, |width, offset| {
        let (width, offset) = (width as u32 & 31, offset as u32 & 31);
        i64::from(((1u32 << width) - 1) << offset)
    })
}

#[inline(always)]
pub fn bfi2(t: &mut Thread, op: &Op) -> Done {
    ternary::<i64>(t, op, |mask, insert, base| {
        let (mask, insert, base) = (mask as u32, insert as u32, base as u32);
        let shifted = insert.checked_shl(mask.trailing_zeros()).unwrap_or(0);
        i64::from(shifted & mask | base & !mask)
    })
}

#[inline(always)]
pub fn mad(t: &mut Thread, op: &Op) -> Done {
    match op.arithmetic {
        Arithmetic::Float if t.float_mode().to_zero() => ternary(t, op, f32::fused),
        Arithmetic::Double if t.float_mode().to_zero() => ternary(t, op, f64::fused),
        Arithmetic::Float => {
            let mode = t.float_mode();
            ternary::<f32>(t, op, |a, b, c| fused(mode, b, c, a))
        }
        Arithmetic::Double => ternary::<f64>(t, op, |a, b, c| b.mul_add(c, a)),
        _ => with_bank!(int T, op, ternary::<T>(t, op, |a, b, c| {
            a.wrapping_add(b.wrapping_mul(c))
        })),
    }
}

/// `a * b`.
#[inline(always)]
fn product(mode: FloatMode, a: f32, b: f32) -> f32 {
    mode.underflow(a * b, || f64::from(a) * f64::from(b))
}

/// `a * b + c`, rounded once.
#[inline(always)]
fn fused(mode: FloatMode, a: f32, b: f32, c: f32) -> f32 {
    mode.underflow(a.mul_add(b, c), || f64::from(a) * f64::from(b) + f64::from(c))
}

#[inline(always)]
pub fn lrp(t: &mut Thread, op: &Op) -> Done {
    // Each step flushes denormals, as the result does.
    let mode = t.float_mode();
    match op.arithmetic {
        Arithmetic::Double => ternary::<f64>(t, op, |a, b, c| {
            (a * b).flush(mode) + ((1.0 - a).flush(mode) * c).flush(mode)
        }),
        _ => ternary::<f32>(t, op, |a, b, c| {
            let rest = product(mode, (1.0 - a).flush(mode), c);
            product(mode, a, b).flush(mode) + rest.flush(mode)
        }),
    }
}

/// `csel`: the third source is compared with zero.
#[inline(always)]
pub fn csel(t: &mut Thread, op: &Op) -> Done {
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

/// Selects by the predicate, or with a condition the minimum or maximum: a NaN loses, and -0 is less
/// than +0.
// source: Mesa's brw selects with .l and .ge for fmin and fmax and does not ask NIR to lower those that keep
// the sign of zero (`lower_fminmax_signed_zero`), as compilers for hardware do that takes zeros as equal.
#[inline(always)]
pub fn sel(t: &mut Thread, op: &Op) -> Done {
    #[inline(always)]
    fn run<T: Bank>(t: &mut Thread, op: &Op) -> Done {
        let mut a = load::<T>(t, op, 0)?;
        let b = load::<T>(t, op, 1)?;
        let condition = op.condition;
        if condition == Condition::None {
            let take = t.predicated(op);
            let b = b.as_chunks::<8>().0;
            for (group, a) in a.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let take = take >> (group * 8);
                for (lane, a) in a.iter_mut().enumerate() {
                    *a = if take >> lane & 1 != 0 { *a } else { b[group][lane] };
                }
            }
        } else {
            // NaN as the second source is ignored; as the first source it fails the comparison.
            #[allow(clippy::eq_op, reason = "a NaN is not equal to itself")]
            let nan = |b: T| b != b;
            let n = usize::from(op.n);
            match condition {
                Condition::Less => zip(&mut a, &b, n, |a, b| {
                    if a < b || nan(b) || (a == b && a.is_negative()) { a } else { b }
                }),
                Condition::GreaterEqual => zip(&mut a, &b, n, |a, b| {
                    if a > b || nan(b) || (a == b && !a.is_negative()) { a } else { b }
                }),
                other => zip(
                    &mut a,
                    &b,
                    n,
                    |a, b| {
                        if holds(other, a.order(b)) || nan(b) { a } else { b }
                    },
                ),
            }
        }
        finish_selected(t, op, &a, t.enabled(op))
    }
    with_bank!(all T, op, run::<T>(t, op))
}

/// Compares, and writes the flags and all bits of the destination.
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
pub fn cmp(t: &mut Thread, op: &Op) -> Done {
    with_bank!(all T, op, compare::<T>(t, op, false))
}

#[inline(always)]
pub fn cmpn(t: &mut Thread, op: &Op) -> Done {
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
pub fn dp4(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3])
}

#[inline(always)]
pub fn dph(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + b[3])
}

#[inline(always)]
pub fn dp3(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
}

#[inline(always)]
pub fn dp2(t: &mut Thread, op: &Op) -> Done {
    dot(t, op, |a, b| a[0] * b[0] + a[1] * b[1])
}

/// The coefficients p, q, r of a plane: elements 0, 1 and 3, counted from the first source's element.
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
pub fn line(t: &mut Thread, op: &Op) -> Done {
    let [p, _, r] = coefficients(t, op)?;
    let mut u = load::<f32>(t, op, 1)?;
    u[..usize::from(op.n)].iter_mut().for_each(|u| *u = u.mul_add(p, r));
    finish(t, op, &u)
}

/// Plane equation: the second source is a pair of registers, u and v, for each eight channels.
#[inline(always)]
pub fn pln(t: &mut Thread, op: &Op) -> Done {
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
        *out = fused(mode, q, v, fused(mode, p, u, r).flush(mode));
    }
    finish(t, op, &row)
}
