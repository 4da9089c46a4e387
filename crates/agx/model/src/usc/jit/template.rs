//! Operations that have templates: those of each lane alone, changes of the execution mask, and jumps.

use crate::usc::exec::float::convert;
use crate::usc::op::{Form, Op};
use crate::usc::opcode::Opcode;

/// Whether the operation is a function of each lane's registers alone and has a template.
pub fn is_of_lanes(op: &Op) -> bool {
    if op.d.form == Form::Pair {
        return false;
    }
    match op.opcode {
        Opcode::nop
        | Opcode::fadd
        | Opcode::hadd
        | Opcode::fmul
        | Opcode::hmul
        | Opcode::ffma
        | Opcode::rint
        | Opcode::floor
        | Opcode::ceil
        | Opcode::trunc
        | Opcode::rcp
        | Opcode::rsqrt
        | Opcode::srsqrt
        | Opcode::fcmpsel
        | Opcode::icmpsel
        | Opcode::mov_imm
        | Opcode::bitop
        | Opcode::bfi
        | Opcode::bfeil
        | Opcode::asr
        | Opcode::exp2
        | Opcode::log2
        | Opcode::sin_pt_1
        | Opcode::sin_pt_2
        | Opcode::dfdx
        | Opcode::dfdy => true,
        Opcode::get_sr => matches!(op.aux[0], 0..=2 | 4..=6 | 8..=10 | 48..=53 | 80..=82),
        Opcode::iadd | Opcode::imad => !op.d.saturate && op.aux[0] <= 4,
        Opcode::convert => {
            let rounds = op.aux[1] != 0;
            match op.aux[0] {
                convert::U32_TO_F | convert::S32_TO_F => rounds && op.d.form == Form::Word,
                convert::F_TO_U32 | convert::F_TO_S32 => true,
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether the operation changes the execution mask and has a template.
pub fn is_mask_change(op: &Op) -> bool {
    match op.opcode {
        Opcode::while_icmp | Opcode::while_fcmp => op.aux[2] != 0,
        opcode => opcode.changes_lanes(),
    }
}

/// The operation that a jump goes to, in a program of `count` operations; `None` if it is no jump, or
/// has no template.
pub fn jump_target(op: &Op, count: usize) -> Option<usize> {
    let jumps = matches!(op.opcode, Opcode::jmp_exec_any | Opcode::jmp_exec_none);
    Some(op.imm as usize).filter(|&target| jumps && target < count)
}
