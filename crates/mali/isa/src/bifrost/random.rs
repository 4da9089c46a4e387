//! Random instructions and clauses, for property tests and fuzzing.

use super::clause::{Clause, MAX_TUPLES, Tuple, has_inner_constant};
use super::header::{Flow, Header, Message};
use super::inst::Inst;
use super::registers::Registers;
use super::table::{Op, Unit};

/// A random instance of a row; `None` if no draw succeeded.
pub fn inst_of(op: Op, bits: &mut impl FnMut() -> u64) -> Option<Inst> {
    const DRAWS: usize = 4096;
    let row = op.row();
    (0..DRAWS).find_map(|_| {
        let encoding = &row.encodings[bits() as usize % row.encodings.len()];
        let word = bits() as u32 & ((1 << row.unit.bits()) - 1) & !encoding.mask | encoding.exact;
        Inst::decode(row.unit, word).ok().filter(|inst| inst.op == op)
    })
}

/// A random instruction of a unit.
pub fn inst(unit: Unit, bits: &mut impl FnMut() -> u64) -> Inst {
    let list = Op::encodings(unit);
    let (op, _) = list[bits() as usize % list.len()];
    inst_of(op, bits).unwrap_or_else(|| Inst::nop(unit))
}

/// A random clause.
pub fn clause(bits: &mut impl FnMut() -> u64) -> Clause {
    let count = 1 + bits() as usize % MAX_TUPLES;
    let block = |first: bool, bits: &mut dyn FnMut() -> u64| {
        let valid = |r: &Registers| r.ports(first).is_some();
        let draw = |_| Registers(bits() & ((1 << super::registers::BITS) - 1));
        (0..64).map(draw).find(valid).unwrap_or(Registers(if first {
            0x2_0000_0000
        } else {
            3 << 25
        }))
    };
    let pick = bits();
    let header = Header {
        flow: Flow::ALL[pick as usize % 8],
        message: Message::ALL[(pick >> 8) as usize % Message::ALL.len()],
        next_message: Message::ALL[(pick >> 16) as usize % Message::ALL.len()],
        staging: (pick >> 24) as u8 & 0x3f,
        wait: (pick >> 32) as u8,
        slot: (pick >> 40) as u8 & 7,
        staging_barrier: pick >> 44 & 1 != 0,
        terminate_discarded: pick >> 45 & 1 != 0,
        prefetch: pick >> 46 & 1 != 0,
        suppress_inf: pick >> 47 & 1 != 0,
        ..Header::default()
    };
    let mut clause = Clause { header, ..Clause::default() };
    for index in 0..count {
        let registers = block(index == 0, bits);
        clause.tuples.push(Tuple {
            registers,
            fma: inst(Unit::Fma, bits),
            add: inst(Unit::Add, bits),
        });
    }
    if has_inner_constant(count) {
        clause.constants.push(bits() & !15);
    }
    if bits() & 1 != 0 {
        // Equal upper bits: no modifier.
        let keep = 0x0fff_ffff_0fff_fff0;
        clause.constants.push(bits() & keep);
        clause.constants.push(bits() & keep);
    }
    clause
}
