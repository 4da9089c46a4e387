//! Lowers inputs and outputs that are indexed at run time: afterwards every offset operand is the
//! constant 0.
//!
//! Constant offsets are folded into the slot. An input that is indexed at run time is read at each
//! of its locations, with the sample or offset that the instruction interpolates at, and selected;
//! such an output is written under a comparison for each. Indices past the end access the last
//! element. The number of locations comes from the declaration ([`Shader::io_elements`]).

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Attrs, Inst, IoLoc, IoSlot, Op, Shader, Type, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    rewrite::run(s, &mut Io)
}

struct Io;

/// The slot `k` elements further; `None` past the last that there can be.
fn advance(mut slot: IoSlot, k: u32) -> Option<IoSlot> {
    match &mut slot.loc {
        IoLoc::Location(l) => *l = u16::try_from(u32::from(*l).checked_add(k)?).ok()?,
        IoLoc::Builtin(_) => {
            slot.component = u8::try_from(u32::from(slot.component).checked_add(k)?).ok()?;
        }
    }
    Some(slot)
}

impl Lowering for Io {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        offset_operand(s.insts[i].op)
            .and_then(|at| s.args(i).get(at))
            .is_some_and(|&offset| s.as_const(offset) != Some(0))
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, Attrs::Io(slot)) = (e.s.insts[i].op, e.s.insts[i].attrs) else {
            return Step::Keep;
        };
        let Some(at) = offset_operand(op) else { return Step::Keep };
        let store = matches!(op, Op::StoreOutput | Op::StoreOutputVertex);
        let output = store || matches!(op, Op::LoadOutputVertex | Op::LoadOutputPatch);
        let mut args = e.s.args(i).to_vec();
        let offset = args[at];
        let zero = e.u32(0);
        args[at] = zero;
        if let Some(k) = e.s.as_const(offset) {
            let Some(slot) = advance(slot, k as u32) else { return Step::Keep };
            return replace(e, i, op, slot, &args);
        }
        let n = e.s.io_elements(slot, output);
        let slots: Option<Vec<IoSlot>> = (0..n).map(|k| advance(slot, k)).collect();
        let Some(slots) = slots else { return Step::Keep };
        if store {
            for (k, &slot) in slots.iter().enumerate() {
                let cond = reaches(e, offset, k, slots.len());
                e.if_then(cond, |e| {
                    e.inst(op, Attrs::Io(slot), &args, &[]);
                });
            }
            return Step::Remove;
        }
        let ty = e.ty(e.s.result(i));
        let values: Vec<Value> =
            slots.iter().map(|&s| e.value(op, Attrs::Io(s), &args, ty)).collect();
        let mut v = values[values.len() - 1];
        for k in (0..values.len() - 1).rev() {
            let c = reaches(e, offset, k, values.len());
            v = e.select(c, values[k], v);
        }
        Step::Replace(vec![v])
    }
}

/// Index of the operand of an access that is the offset in locations.
fn offset_operand(op: Op) -> Option<usize> {
    match op {
        Op::LoadInput
        | Op::LoadInputAtSample
        | Op::LoadInputAtOffset
        | Op::LoadInputVertex
        | Op::LoadOutputVertex
        | Op::LoadOutputPatch => Some(0),
        Op::StoreOutput | Op::StoreOutputVertex => Some(1),
        _ => None,
    }
}

/// Whether an index means element `k` of `n`.
fn reaches(e: &mut Emit, index: Value, k: usize, n: usize) -> Value {
    let c = e.u32(k as u32);
    if k + 1 == n { e.op(Op::UGe, &[index, c]) } else { e.op(Op::IEq, &[index, c]) }
}

fn replace(e: &mut Emit, i: Inst, op: Op, slot: IoSlot, args: &[Value]) -> Step {
    let tys: Vec<Type> = e.s.results(i).iter().map(|&r| e.ty(r)).collect();
    let new = e.inst(op, Attrs::Io(slot), args, &tys);
    Step::Replace(e.s.results(new).to_vec())
}
