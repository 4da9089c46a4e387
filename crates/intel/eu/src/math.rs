//! The mathematical functions.

use tepui_intel_isa::MathFunction;

use crate::fault::FaultKind;
use crate::memory::{GENERAL, REGISTER_BYTES};
use crate::op::Op;
use crate::operand::{Layout, Row};
use crate::rows::{finish, load};
use crate::state::Thread;

/// Executes `math`.
#[inline(always)]
pub fn math(t: &mut Thread, op: &Op) -> Result<(), FaultKind> {
    use MathFunction as F;
    let function = op.function.ok_or(FaultKind::Unsupported("math without a function"))?;
    match function {
        F::Inv => unary(t, op, |x| 1.0 / x),
        F::Log => unary(t, op, f32::log2),
        F::Exp => unary(t, op, f32::exp2),
        F::Sqrt => unary(t, op, f32::sqrt),
        F::Rsq => unary(t, op, |x| 1.0 / x.sqrt()),
        F::Sin => unary(t, op, |x| f64::from(x).sin() as f32),
        F::Cos => unary(t, op, |x| f64::from(x).cos() as f32),
        F::Fdiv => binary(t, op, |x, y| x / y),
        F::Pow => binary(t, op, |x, y| x.abs().powf(y)),
        F::IntDiv => integer(t, op, quotient),
        F::IntMod => integer(t, op, remainder),
        F::IntDivMod => {
            // The remainder goes to the register after the quotient.
            let mut second = op.clone();
            let bytes = (usize::from(op.n) * 4).div_ceil(REGISTER_BYTES) * REGISTER_BYTES;
            match &mut second.dst.layout {
                Some(Layout::Even { base, .. }) if usize::from(*base) + 2 * bytes <= GENERAL => {
                    *base += bytes as u16;
                }
                _ => return Err(FaultKind::Unsupported("intdivmod to these registers")),
            }
            let a = load::<i64>(t, op, 0)?;
            let b = load::<i64>(t, op, 1)?;
            let apply = |f: fn(i64, i64, bool) -> i64| -> Row<i64> {
                std::array::from_fn(|i| f(a[i], b[i], op.src[0].ty.is_signed()))
            };
            finish(t, op, &apply(quotient))?;
            finish(t, &second, &apply(remainder))
        }
        F::Invm => Err(FaultKind::Unsupported("math invm")),
        F::Rsqrtm => Err(FaultKind::Unsupported("math rsqrtm")),
    }
}

fn unary(t: &mut Thread, op: &Op, f: impl Fn(f32) -> f32) -> Result<(), FaultKind> {
    let mut row = load::<f32>(t, op, 0)?;
    row[..usize::from(op.n)].iter_mut().for_each(|x| *x = f(*x));
    finish(t, op, &row)
}

fn binary(t: &mut Thread, op: &Op, f: impl Fn(f32, f32) -> f32) -> Result<(), FaultKind> {
    let mut row = load::<f32>(t, op, 0)?;
    let other = load::<f32>(t, op, 1)?;
    row[..usize::from(op.n)].iter_mut().zip(&other).for_each(|(x, y)| *x = f(*x, *y));
    finish(t, op, &row)
}

fn integer(t: &mut Thread, op: &Op, f: impl Fn(i64, i64, bool) -> i64) -> Result<(), FaultKind> {
    let signed = op.src[0].ty.is_signed();
    let mut row = load::<i64>(t, op, 0)?;
    let other = load::<i64>(t, op, 1)?;
    row[..usize::from(op.n)].iter_mut().zip(&other).for_each(|(x, y)| *x = f(*x, *y, signed));
    finish(t, op, &row)
}

/// The quotient, rounded toward zero. The result of division by zero is not known; here it is the greatest
/// magnitude.
fn quotient(a: i64, b: i64, signed: bool) -> i64 {
    match (b, signed) {
        (0, false) => i64::from(u32::MAX),
        (0, true) if a < 0 => i64::from(i32::MIN),
        (0, true) => i64::from(i32::MAX),
        _ => a / b,
    }
}

fn remainder(a: i64, b: i64, _: bool) -> i64 {
    if b == 0 { a } else { a % b }
}
