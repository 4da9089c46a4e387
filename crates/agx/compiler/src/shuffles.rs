//! Initialises `r0h`, through which shuffles take their lane number.
//!
//! A shuffle combines the lane numbers of its whole quad, inactive lanes included. The lane number
//! is therefore passed in a register that is zero in all lanes that do not shuffle: selection sets
//! it before each shuffle, and this pass clears it at the end of the block, since no lane becomes
//! inactive within a block. A program of one block needs no clearing. source: applegpu's docs.html
//! on simd_shuffle

use crate::mir::{Block, Function, Ins, Op};
use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{Dst, Size};
use tepui_agx_isa::table::moves::MovImm16;
use tepui_ir::Loc;

/// The register.
pub const R0H: u16 = 1;

/// Whether an instruction sets the register.
fn sets(f: &Function, i: Ins) -> bool {
    matches!(f.insts[i].op, Op::Isa(Inst::Bitop(b)) if b.d.reg == R0H)
}

/// Runs the pass.
pub fn run(f: &mut Function) {
    if !f.state.uses_r0h {
        return;
    }
    // Lanes that are not active may have run what came before this part.
    let one = f.blocks.len() == 1 && !f.state.is_part;
    let clear: Inst =
        MovImm16 { d: Dst::new(R0H, Size::B16), imm: 0, ..MovImm16::default() }.into();
    for b in f.blocks.keys() {
        // Removes repeated settings of the same number.
        let mut last: Option<Ins> = None;
        let mut insts = std::mem::take(&mut f.blocks[b].insts);
        insts.retain(|&i| {
            if !sets(f, i) {
                return true;
            }
            let same =
                last.is_some_and(|l| f.insts[l].op == f.insts[i].op && f.srcs(l) == f.srcs(i));
            last = Some(i);
            !same
        });
        f.blocks[b].insts = insts;
        let ends = f.blocks[b].succs.is_empty();
        if let (Some(_), false, false) = (last, one, ends) {
            let at = f.body_end(b);
            let i = f.make(Op::Isa(clear), &[], &[], Loc::default());
            f.blocks[b].insts.insert(at, i);
        }
    }
    if !one {
        let i = f.make(Op::Isa(clear), &[], &[], Loc::default());
        f.blocks[Block::from_u32(0)].insts.insert(0, i);
    }
}
