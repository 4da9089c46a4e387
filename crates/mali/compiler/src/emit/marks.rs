//! Marks of last uses: the register file need not keep a value that nothing reads any more.
//!
//! A source is marked if no path reads its register again before it is written. Staging registers are never marked, nor registers
//! that a message may still read as staging registers. source: Mesa, va_mark_last.c

use super::Listing;
use super::slots::registers;
use crate::mir::{Inst, Place};
use tepui_mali_isa::Flow;
use tepui_regalloc::RegSet;

/// Registers as bits.
fn bits(set: RegSet) -> u64 {
    set.iter().filter(|&r| r < 64).fold(0, |all, r| all | 1 << r)
}

fn range(register: u16, count: u8) -> u64 {
    (u64::MAX >> (64 - count)) << register
}

/// Registers that a message reads as staging registers.
fn staged(inst: &Inst) -> u64 {
    let fields = inst.op.row().form.staging.iter().zip(&inst.staging);
    let read = fields.filter(|(field, own)| !field.write && own.count > 0);
    read.fold(0, |all, (_, own)| all | range(own.register, own.count))
}

/// Registers of a program's lines.
struct Sets {
    reads: u64,
    writes: u64,
    staged: u64,
}

/// Marks sources.
pub(super) fn run(listing: &mut Listing) {
    let count = listing.lines.len();
    let target = |n: usize| listing.lines[n].target.map(|l| listing.labels[l as usize] as usize);
    let sets: Vec<Sets> = listing
        .lines
        .iter()
        .map(|line| {
            let [now, later, read] = registers(&line.inst);
            Sets { reads: bits(read), writes: bits(now.union(later)), staged: staged(&line.inst) }
        })
        .collect();
    // Registers that are read after each line.
    let mut live = vec![0u64; count + 1];
    let mut before = vec![0u64; count + 1];
    loop {
        let mut changed = false;
        for n in (0..count).rev() {
            let jumps = super::branches::is_jump(&listing.lines[n].inst);
            let next = if jumps { 0 } else { before[n + 1] };
            live[n] = next | target(n).map_or(0, |t| before[t]);
            let own = live[n] & !sets[n].writes | sets[n].reads;
            changed |= own != before[n];
            before[n] = own;
        }
        if !changed {
            break;
        }
    }
    // Registers that messages may still read before each line.
    let mut reading = vec![0u64; count + 1];
    loop {
        let mut changed = false;
        for n in 0..count {
            let waits = matches!(listing.lines[n].inst.flow, Flow::Wait | Flow::Wait012);
            let after = if waits { 0 } else { reading[n] | sets[n].staged };
            for to in [Some(n + 1), target(n)].into_iter().flatten() {
                changed |= after & !reading[to] != 0;
                reading[to] |= after;
            }
        }
        if !changed {
            break;
        }
    }
    for (n, line) in listing.lines.iter_mut().enumerate() {
        let kept = live[n] | reading[n] | sets[n].staged;
        for at in 0..line.inst.op.row().form.sources.len() {
            let units = line.inst.source_units(at);
            let source = &mut line.inst.sources[at];
            if let Place::Register(register) = source.place {
                source.last = range(register, units) & kept == 0;
            }
        }
    }
}
