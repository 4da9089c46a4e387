//! Lowers arithmetic on integer sizes that a GPU lacks: 8-bit arithmetic (and 16-bit, if asked) is
//! done in 16 or 32 bits.
//!
//! Moves, selects, bitwise logic, bit casts, conversions and memory accesses keep their size;
//! booleans are not changed.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Attrs, Inst, Op, ReduceOp, Shader, Type, Value};

/// The integer sizes that a GPU lacks.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Integer arithmetic on fewer bits than this is widened to this size (16 or 32).
    pub min_int_bits: u8,
}

/// Widens integer arithmetic below `min_int_bits`.
pub fn run(s: &mut Shader, options: Options) -> bool {
    let narrow = 2..options.min_int_bits;
    s.values.values().any(|v| narrow.contains(&v.ty.bits()))
        && rewrite::run(s, &mut options.clone())
}

/// The extension of operands with which the low bits of the wide result are the result; `None` for ops
/// that are not widened.
fn extend(op: Op) -> Option<Op> {
    Some(match op {
        Op::IAdd
        | Op::ISub
        | Op::IMul
        | Op::INeg
        | Op::IShl
        | Op::UDiv
        | Op::UMod
        | Op::UMin
        | Op::UMax
        | Op::ULt
        | Op::UGe
        | Op::IEq
        | Op::INe
        | Op::UShr
        | Op::UMulHi
        | Op::UAddSat
        | Op::USubSat
        | Op::UAddCarry
        | Op::USubBorrow
        | Op::BitCount
        | Op::FindLsb
        | Op::UFindMsb
        | Op::BitReverse
        | Op::BitInsert
        | Op::UBitExtract
        | Op::ReadFirst
        | Op::ReadLane
        | Op::Shuffle
        | Op::ShuffleXor
        | Op::ShuffleUp
        | Op::ShuffleDown
        | Op::QuadBroadcast
        | Op::QuadSwap => Op::U2U,
        Op::SDiv
        | Op::SRem
        | Op::SMod
        | Op::IAbs
        | Op::ISign
        | Op::SMin
        | Op::SMax
        | Op::SLt
        | Op::SGe
        | Op::SShr
        | Op::SMulHi
        | Op::SAddSat
        | Op::SSubSat
        | Op::SBitExtract
        | Op::SFindMsb => Op::S2S,
        _ => return None,
    })
}

impl Lowering for Options {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        let narrow = |a: &Value| (8..self.min_int_bits).contains(&s.ty(*a).bits());
        s.results(i).len() == 1 && s.args(i).first().is_some_and(narrow)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        let (r, narrow) = (e.s.result(i), e.ty(e.s.arg(i, 0)));
        let ext = match (op, attrs) {
            (Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan, Attrs::Reduce(reduce)) => {
                match reduce.op {
                    // Floats have their own sizes; an exclusive minimum's identity is that of the
                    // narrow type.
                    ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax => None,
                    ReduceOp::SMin | ReduceOp::SMax => Some(Op::S2S),
                    _ => Some(Op::U2U),
                }
            }
            _ => extend(op),
        };
        let Some(ext) = ext else { return Step::Keep };
        let wide = narrow.with_bits(self.min_int_bits);
        // Operands of T's type are widened; counts, lanes and indices stay.
        let args: Vec<Value> = e.s.args(i).to_vec();
        let mut new: Vec<Value> = args
            .iter()
            .map(|&v| if e.ty(v) == narrow { e.convert(ext, v, wide) } else { v })
            .collect();
        let result = e.ty(r);
        let out = if result == narrow { wide } else { result };
        let n = u32::from(narrow.bits());
        let splat = |e: &mut Emit, ty: Type, x: u64| {
            let c = e.konst(ty, x);
            e.vec(&vec![c; ty.comps() as usize])
        };
        let count_ty = narrow.with_bits(32);
        if matches!(op, Op::IShl | Op::UShr | Op::SShr) {
            // The count is taken modulo the narrow size.
            let m = splat(e, count_ty, u64::from(n - 1));
            new[1] = e.op(Op::IAnd, &[new[1], m]);
        }
        let v = e.value(op, attrs, &new, out);
        let v = match op {
            Op::BitReverse | Op::UMulHi | Op::SMulHi => {
                // The wide reversal has the bits on top; the wide high half is that of the whole
                // product.
                let v = if op == Op::BitReverse { v } else { e.op(Op::IMul, &new) };
                let by = if op == Op::BitReverse { u32::from(wide.bits()) - n } else { n };
                let by = splat(e, count_ty, u64::from(by));
                e.op(Op::UShr, &[v, by])
            }
            Op::UAddSat => {
                let most = splat(e, wide, narrow.mask());
                e.op(Op::UMin, &[v, most])
            }
            Op::SAddSat | Op::SSubSat => {
                let (lo, hi) =
                    (splat(e, wide, !(narrow.mask() >> 1)), splat(e, wide, narrow.mask() >> 1));
                let v = e.op(Op::SMax, &[v, lo]);
                e.op(Op::SMin, &[v, hi])
            }
            Op::UAddCarry => {
                let v = e.op(Op::IAdd, &new);
                let by = splat(e, count_ty, u64::from(n));
                e.op(Op::UShr, &[v, by])
            }
            Op::SBitExtract => {
                // A field past the end is empty, not the sign.
                let limit = splat(e, count_ty, u64::from(n));
                let inside = e.op(Op::ULt, &[new[1], limit]);
                let zero = splat(e, wide, 0);
                e.op(Op::Select, &[inside, v, zero])
            }
            Op::ExclusiveScan => {
                // The identity of the wide type need not be that of the narrow one: only minima and
                // maxima differ, and the low bits of theirs are the same but for signed ones.
                return self.exclusive(e, v, attrs, narrow);
            }
            _ => v,
        };
        Step::Replace(vec![if result == narrow { e.convert(Op::U2U, v, narrow) } else { v }])
    }
}

impl Options {
    /// A signed minimum or maximum before the first lane is the end of the narrow type's range.
    fn exclusive(&self, e: &mut Emit, v: Value, attrs: Attrs, narrow: Type) -> Step {
        let Attrs::Reduce(r) = attrs else { return Step::Keep };
        let wide = e.ty(v);
        let most = narrow.mask() >> 1;
        let end = match r.op {
            ReduceOp::SMin => Some((Op::SMin, most)),
            ReduceOp::SMax => Some((Op::SMax, !most)),
            _ => None,
        };
        let v = match end {
            Some((op, end)) => {
                let c = e.konst(wide, end);
                let c = e.vec(&vec![c; wide.comps() as usize]);
                e.op(op, &[v, c])
            }
            None => v,
        };
        Step::Replace(vec![e.convert(Op::U2U, v, narrow)])
    }
}
