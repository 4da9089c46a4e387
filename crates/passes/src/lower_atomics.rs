//! Lowers float atomics to compare-and-exchange loops.
//!
//! Supports 32-bit floats and, within the word that contains them, 16-bit floats. The loop compares
//! bits, so that it ends for NaNs too; a lane repeats only if another one has changed the word.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{AtomicOp, Attrs, Inst, Mem, Op, Shader, Type, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    run_but(s, &|_, _| false)
}

/// Runs the pass on all atomics but those that the GPU has.
pub fn run_but(s: &mut Shader, native: &dyn Fn(&Shader, Inst) -> bool) -> bool {
    rewrite::run(s, &mut Atomics(native))
}

/// Whether the GPU has an atomic.
struct Atomics<'a>(&'a dyn Fn(&Shader, Inst) -> bool);

/// The op that computes the new value, and whether a GPU without float atomics lacks the atomic.
fn combines(op: AtomicOp, bits: u8) -> Option<Option<Op>> {
    Some(match op {
        AtomicOp::FAdd => Some(Op::FAdd),
        AtomicOp::FMin => Some(Op::FMin),
        AtomicOp::FMax => Some(Op::FMax),
        AtomicOp::Xchg if bits == 16 => None,
        _ => return None,
    })
}

impl Lowering for Atomics<'_> {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        matches!(s.insts[i].attrs, Attrs::Atomic(how, _) if combines(how, 16).is_some())
            && !(self.0)(s, i)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Attrs::Atomic(how, mem) = e.s.insts[i].attrs else { return Step::Keep };
        let load = match e.s.insts[i].op {
            Op::AtomicBuffer => Op::LoadBuffer,
            Op::AtomicGlobal => Op::LoadGlobal,
            Op::AtomicShared => Op::LoadShared,
            _ => return Step::Keep,
        };
        let ty = e.ty(e.s.result(i));
        let (Some(op), 16 | 32) = (combines(how, ty.bits()), ty.bits()) else { return Step::Keep };
        let mut place = e.s.args(i).to_vec();
        let Some(data) = place.pop() else { return Step::Keep };
        let mut mem = Mem { align_log2: 2, ..mem };
        let shift = (ty.bits() == 16).then(|| word_around(e, &mut place, &mut mem));
        let old = exchange(e, load, e.s.insts[i].op, (&place, mem), &mut |e, word| {
            let old = part(e, word, shift, ty);
            let new = match op {
                Some(op) => e.op(op, &[old, data]),
                None => data,
            };
            with_part(e, word, shift, new)
        });
        Step::Replace(vec![part(e, old, shift, ty)])
    }
}

/// Moves a place to the start of its word; the first bit of what was asked for.
fn word_around(e: &mut Emit, place: &mut [Value], mem: &mut Mem) -> Value {
    let at = place.len() - 1;
    let ty = e.ty(place[at]);
    let offset = e.konst(ty, i64::from(std::mem::take(&mut mem.offset)) as u64);
    let byte = e.op(Op::IAdd, &[place[at], offset]);
    let word = e.konst(ty, !3);
    place[at] = e.op(Op::IAnd, &[byte, word]);
    let (low, two, three) = (e.convert(Op::U2U, byte, Type::B32), e.u32(2), e.u32(3));
    let second = e.op(Op::IAnd, &[low, two]);
    e.op(Op::IShl, &[second, three])
}

/// The value in a word.
fn part(e: &mut Emit, word: Value, shift: Option<Value>, ty: Type) -> Value {
    match shift {
        None => word,
        Some(n) => {
            let x = e.op(Op::UShr, &[word, n]);
            e.convert(Op::U2U, x, ty)
        }
    }
}

/// The word with another value in it.
fn with_part(e: &mut Emit, word: Value, shift: Option<Value>, x: Value) -> Value {
    let Some(n) = shift else { return x };
    let ones = e.u32(0xffff);
    let hole = e.op(Op::IShl, &[ones, n]);
    let hole = e.op(Op::INot, &[hole]);
    let rest = e.op(Op::IAnd, &[word, hole]);
    let x = e.convert(Op::U2U, x, Type::B32);
    let x = e.op(Op::IShl, &[x, n]);
    e.op(Op::IOr, &[rest, x])
}

/// Exchanges a word for what `new` makes of it; the old one.
fn exchange(
    e: &mut Emit,
    load: Op,
    atomic: Op,
    (place, mem): (&[Value], Mem),
    new: &mut dyn FnMut(&mut Emit, Value) -> Value,
) -> Value {
    let first = e.value(load, Attrs::Mem(mem), place, Type::B32);
    let again = e.konst(Type::B1, 1);
    let out = e.while_(
        &[first, again],
        |_, p| p[1],
        |e, p| {
            let mut args = place.to_vec();
            let word = new(e, p[0]);
            args.extend([p[0], word]);
            let found = e.value(atomic, Attrs::Atomic(AtomicOp::CmpXchg, mem), &args, Type::B32);
            vec![found, e.op(Op::INe, &[found, p[0]])]
        },
    );
    out[0]
}
