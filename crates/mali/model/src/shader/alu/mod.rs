//! Arithmetic.
//!
//! Each module has a function that gives the handler of an instruction, and helpers that apply a function to
//! the lanes, or to each half or byte of them. The semantics follow the prose of Mesa's ISA.xml, or, if it
//! does not describe them, NIR's definitions of the operations that Mesa's compiler emits them for
//! (nir_opcodes.py, bifrost_compile.c).

pub mod bitwise;
pub mod convert;
pub mod float;
pub mod integer;
pub mod rounding;
pub mod select;
pub mod special;

use super::op::{Lanes, Op};
use crate::warp::row::{LANES, Row, halves, join};
use crate::warp::trap::Trap;

type Done = Result<(), Box<Trap>>;

/// Applies a function to one source.
#[inline(always)]
fn unary(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(u32) -> u32) -> Done {
    let a = l.get(&op.src[0]);
    l.put(op, &a.map(f));
    Ok(())
}

/// Applies a function to two sources.
#[inline(always)]
fn binary(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(u32, u32) -> u32) -> Done {
    let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
    l.put(op, &zip(&a, &b, f));
    Ok(())
}

/// Applies a function to three sources.
#[inline(always)]
fn ternary(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(u32, u32, u32) -> u32) -> Done {
    let [a, b, c] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let mut out = a;
    for i in 0..LANES {
        out.0[i] = f(a.0[i], b.0[i], c.0[i]);
    }
    l.put(op, &out);
    Ok(())
}

/// Applies a function to two sources of 64 bits.
#[inline(always)]
fn binary64(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(u64, u64) -> u64) -> Done {
    let (a, b) = (l.get64(&op.src[0]), l.get64(&op.src[1]));
    l.put64(op, &std::array::from_fn(|i| f(a[i], b[i])));
    Ok(())
}

#[inline(always)]
fn zip(a: &Row, b: &Row, f: impl Fn(u32, u32) -> u32) -> Row {
    let mut out = *a;
    for (out, b) in out.0.iter_mut().zip(&b.0) {
        *out = f(*out, *b);
    }
    out
}

/// Lifts a function on halves to words.
#[inline(always)]
fn by_halves(f: impl Fn(u16, u16) -> u16) -> impl Fn(u32, u32) -> u32 {
    move |a, b| {
        let (a, b) = (halves(a), halves(b));
        join([f(a[0], b[0]), f(a[1], b[1])])
    }
}

/// Lifts a function on bytes to words.
#[inline(always)]
fn by_bytes(f: impl Fn(u8, u8) -> u8) -> impl Fn(u32, u32) -> u32 {
    move |a, b| {
        let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
        u32::from_le_bytes(std::array::from_fn(|i| f(a[i], b[i])))
    }
}
