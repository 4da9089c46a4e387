//! Random instructions, for property tests and fuzzing.

use crate::inst::Inst;
use crate::table::{Op, ROWS};

/// A random instruction from a source of random bits.
///
/// Every field that has no reserved value is random in its own bits; words that the decoder rejects
/// are drawn again. Bits of no field are 0.
pub fn inst(bits: &mut impl FnMut() -> u64) -> Inst {
    let index = (bits() % ROWS.len() as u64) as usize;
    let op = Op::all().nth(index).unwrap_or(Op::NOP);
    inst_of(op, bits)
}

/// A random instance of a row.
pub fn inst_of(op: Op, bits: &mut impl FnMut() -> u64) -> Inst {
    /// Limit on the draws, after which the row's default instance is returned.
    const DRAWS: usize = 4096;
    let row = op.row();
    let second = row.form.second;
    let opcodes = 0x1ff << 48 | u64::from(second.mask) << second.shift;
    for _ in 0..DRAWS {
        let word = bits() & !opcodes & !(1 << 63) | row.fixed();
        if let Ok(mut inst) = Inst::decode(word)
            && inst.op == op
        {
            inst.unusual = 0;
            return inst;
        }
    }
    Inst::new(op)
}
