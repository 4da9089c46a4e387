//! Sizes that a GPU does not compute in: 8-bit arithmetic in 16 or 32 bits, and ops that only 32 bits have.

use crate::edit::push;
use tepui_ir::{Attrs, Inst, Op, Pat, Region, Shader, Type};

/// What a GPU cannot do.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Integer arithmetic on fewer bits than this is widened to this size (16 or 32).
    pub min_int_bits: u8,
}

/// Widens integer arithmetic below `min_int_bits`.
pub fn run(s: &mut Shader, options: Options) -> bool {
    let mut changed = false;
    let root = s.root;
    region(s, root, options, &mut changed);
    changed
}

/// How operands are widened so that the low bits of the wide result are the result.
fn extend(op: Op) -> Option<Op> {
    Some(match op {
        Op::IAdd | Op::ISub | Op::IMul | Op::INeg => Op::U2U,
        Op::SDiv
        | Op::SRem
        | Op::SMod
        | Op::IAbs
        | Op::ISign
        | Op::SMin
        | Op::SMax
        | Op::SLt
        | Op::SGe => Op::S2S,
        Op::UDiv
        | Op::UMod
        | Op::UMin
        | Op::UMax
        | Op::ULt
        | Op::UGe
        | Op::BitCount
        | Op::FindLsb
        | Op::UFindMsb => Op::U2U,
        Op::SFindMsb => Op::S2S,
        _ => return None,
    })
}

fn region(s: &mut Shader, r: Region, o: Options, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    for i in insts {
        for q in s.inst_regions(i).collect::<Vec<_>>() {
            region(s, q, o, changed);
        }
        let op = s.insts[i].op;
        let args = s.args(i).to_vec();
        let narrow = args.first().is_some_and(|&a| (8..o.min_int_bits).contains(&s.ty(a).bits()));
        // An unsigned division by zero gives all ones of the narrow size: the wide quotient's low bits, too.
        let (Some(ext), true) = (extend(op), narrow) else {
            out.push(i);
            continue;
        };
        *changed = true;
        let wide = s.ty(args[0]).with_bits(o.min_int_bits);
        let mut new = Vec::new();
        for &a in &args {
            new.push(push(s, &mut out, i, ext, Attrs::None, &[a], wide));
        }
        let result = s.result(i);
        if op.info().results == [Pat::I] {
            let v = push(s, &mut out, i, op, Attrs::None, &new, wide);
            let back = s.make_inst(Op::U2U, Attrs::None, &[v], &[]);
            s.set_results(back, &[result]);
            out.push(back);
        } else {
            let ty: Type = s.ty(result);
            let v = push(s, &mut out, i, op, Attrs::None, &new, ty);
            let same = s.make_inst(Op::Copy, Attrs::None, &[v], &[]);
            s.set_results(same, &[result]);
            out.push(same);
        }
    }
    s.regions[r].insts = out;
}
