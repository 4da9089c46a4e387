//! Folds instructions of the machine IR into those that compute their operands: saturation into arithmetic, shifts by
//! constants into each other, sums of integers into products, copies of scalars to all channels into the arithmetic.
//!
//! Selection makes them one by one: the shift of an index to bytes does not see the one to rows of scratch memory, and the
//! sum before a saturation is selected before it.

use crate::mir::{Function, Inst, MOp, Op, Operand, Place};
use tepui_intel_isa::{Condition, Generation, Opcode, Type};
use tepui_ir::cranelift_entity::{EntityList, SecondaryMap};
use tepui_regalloc::{Ins, Val};

/// Definitions and numbers of uses of values.
struct Uses {
    def: SecondaryMap<Val, Option<Ins>>,
    count: SecondaryMap<Val, u32>,
}

/// Runs the pass. What nothing uses afterwards is left for the removal of dead code.
pub fn run(f: &mut Function, generation: Generation) {
    let mut uses = Uses { def: SecondaryMap::new(), count: SecondaryMap::new() };
    for block in f.blocks.values() {
        for &i in &block.insts {
            f.dsts(i).iter().for_each(|&d| uses.def[d] = Some(i));
            f.srcs(i).iter().for_each(|&s| uses.count[s] += 1);
        }
    }
    for b in f.blocks.keys() {
        let mut insts = std::mem::take(&mut f.blocks[b].insts);
        insts.retain(|&i| !saturation(f, &uses, i));
        insts.iter().for_each(|&i| shift(f, &uses, i));
        spread(f, &uses, &insts);
        if generation == Generation::Gen12 {
            insts.iter().for_each(|&i| multiply_add(f, &uses, i));
        }
        f.blocks[b].insts = insts;
    }
}

/// Whether an operand is all of a value, as it is.
fn is_plain(o: &Operand) -> bool {
    o.is_value() && !o.negate && !o.abs && o.byte == 0
}

/// The instruction that computes the only value of an instruction, if nothing else uses the value.
fn only_source(f: &Function, uses: &Uses, i: Ins) -> Option<(Ins, Inst)> {
    let [v] = *f.srcs(i) else { return None };
    let def = uses.def[v].filter(|_| uses.count[v] == 1)?;
    match (&f.insts[def].op, f.dsts(def)) {
        (MOp::Isa(inst), [_]) => Some((def, *inst)),
        _ => None,
    }
}

/// Lets the arithmetic before a saturation saturate; whether the instruction was one and is not needed any more.
fn saturation(f: &mut Function, uses: &Uses, i: Ins) -> bool {
    let MOp::Isa(saturation) = f.insts[i].op else { return false };
    let Op::Alu { opcode: Opcode::Mov, saturate: true, .. } = saturation.op else { return false };
    let ty = saturation.dst.ty;
    if ty != Type::F || saturation.src[0].ty != ty || !is_plain(&saturation.src[0]) {
        return false;
    }
    let Some((def, mut inst)) = only_source(f, uses, i) else { return false };
    let Op::Alu { opcode, condition, ref mut saturate, .. } = inst.op else { return false };
    let can_saturate = matches!(opcode, Opcode::Add | Opcode::Mul | Opcode::Mad | Opcode::Math);
    let (result, value) = (f.dsts(i)[0], f.dsts(def)[0]);
    if !can_saturate
        || condition != Condition::None
        || inst.dst.ty != ty
        || f.vals[result] != f.vals[value]
    {
        return false;
    }
    *saturate = true;
    f.insts[def].op = MOp::Isa(inst);
    f.insts[def].dsts.as_mut_slice(&mut f.pool)[0] = result;
    true
}

/// The count of a shift to the left of double words.
fn left(inst: &Inst) -> Option<u64> {
    let Op::Alu { opcode: Opcode::Shl, .. } = inst.op else { return None };
    match inst.src[1].place {
        Place::Immediate(count) if inst.dst.ty == Type::UD && inst.src[0].ty == Type::UD => {
            Some(count)
        }
        _ => None,
    }
}

/// Joins a shift to the left with one of its operand.
fn shift(f: &mut Function, uses: &Uses, i: Ins) {
    let MOp::Isa(mut outer) = f.insts[i].op else { return };
    let Some(count) = left(&outer).filter(|_| is_plain(&outer.src[0])) else { return };
    let Some((def, inner)) = only_source(f, uses, i) else { return };
    let Some(sum) = left(&inner).map(|n| n + count).filter(|&n| n < 32) else { return };
    outer.src[0] = inner.src[0];
    outer.src[1] = Operand::immediate(outer.src[1].ty, sum);
    f.insts[i].op = MOp::Isa(outer);
    let sources = f.srcs(def).to_vec();
    f.insts[i].srcs = EntityList::from_slice(&sources, &mut f.pool);
}

/// Lets all channels compute a scalar that is only copied to them, by an instruction of the same block: that takes one
/// instruction, which waits for nothing but the scalar's operands.
fn spread(f: &mut Function, uses: &Uses, insts: &[Ins]) {
    let mut inside = SecondaryMap::<Ins, bool>::new();
    for &i in insts {
        inside[i] = true;
        let MOp::Isa(copy) = f.insts[i].op else { continue };
        let Op::Alu { opcode: Opcode::Mov, condition: Condition::None, saturate: false, .. } =
            copy.op
        else {
            continue;
        };
        let is_copy = matches!(copy.dst.place, Place::Plane(_))
            && matches!(copy.src[0].place, Place::Scalar(_))
            && is_plain(&copy.src[0])
            && (copy.dst.ty, copy.src[0].ty) == (Type::UD, Type::UD);
        if !is_copy {
            continue;
        }
        let Some((def, inner)) = only_source(f, uses, i).filter(|&(def, _)| inside[def]) else {
            continue;
        };
        let Op::Alu { opcode, condition: Condition::None, saturate: false, .. } = inner.op else {
            continue;
        };
        let is_simple = matches!(
            opcode,
            Opcode::Add | Opcode::Shl | Opcode::Shr | Opcode::And | Opcode::Or | Opcode::Xor
        );
        if !is_simple || !inner.is_scalar() || inner.dst.ty.bytes() != 4 {
            continue;
        }
        let dst = Operand { ty: inner.dst.ty, ..copy.dst };
        f.insts[i].op = MOp::Isa(Inst { dst, ..inner });
        let sources = f.srcs(def).to_vec();
        f.insts[i].srcs = EntityList::from_slice(&sources, &mut f.pool);
    }
}

/// Makes a sum of double words, one of which is a product with a word, one instruction. From Gen11 on ternary instructions
/// take integers.
fn multiply_add(f: &mut Function, uses: &Uses, i: Ins) {
    let MOp::Isa(sum) = f.insts[i].op else { return };
    let plain = |inst: &Inst, wanted: Opcode| {
        let Op::Alu { opcode, condition: Condition::None, saturate: false, .. } = inst.op else {
            return false;
        };
        opcode == wanted && inst.dst.ty == Type::D
    };
    let is_register = |o: &Operand| is_plain(o) && o.ty == Type::D;
    if !plain(&sum, Opcode::Add) || !sum.src[..2].iter().all(is_register) {
        return;
    }
    let [a, b] = *f.srcs(i) else { return };
    for (k, product, other) in [(0, a, b), (1, b, a)] {
        if product == other || uses.count[product] != 1 {
            continue;
        }
        let Some(def) = uses.def[product] else { continue };
        let MOp::Isa(multiply) = f.insts[def].op else { continue };
        let word = multiply.src[1];
        let is_word = matches!(word.ty, Type::W | Type::UW) && !word.negate && !word.abs;
        if !plain(&multiply, Opcode::Mul) || !is_register(&multiply.src[0]) || !is_word {
            continue;
        }
        let added = sum.src[1 - k];
        let mut out = Inst { op: multiply.op, dst: sum.dst, src: [Operand::NONE; 4] };
        if let Op::Alu { opcode, .. } = &mut out.op {
            *opcode = Opcode::Mad;
        }
        (out.src[0], out.src[1], out.src[2]) = (added, multiply.src[0], word);
        f.insts[i].op = MOp::Isa(out);
        let mut sources = vec![other];
        sources.extend(f.srcs(def));
        f.insts[i].srcs = EntityList::from_slice(&sources, &mut f.pool);
        return;
    }
}
