//! Precoloured registers: values that are in fixed registers at the start of a program or must be
//! at its end.

use super::NONE;
use crate::function::{Function, Op, Val};
use crate::target::{Constraint, Target};
use cranelift_entity::SecondaryMap;
use std::ops::Range;

/// The end of the registers that are live at the start or the end of the program.
#[must_use]
pub fn fixed_end<I>(f: &Function<I>) -> u16 {
    let ends = f.insts.values().filter_map(|i| match i.op {
        Op::Preload(unit) => {
            let dsts = i.dsts.as_slice(&f.pool);
            Some(unit + dsts.first().map_or(0, |&d| u16::from(f.vals[d].units)))
        }
        _ => None,
    });
    ends.max().unwrap_or(0).max(exports(f).end)
}

/// From the first to the last unit that something is exported in.
pub(super) fn exports<I>(f: &Function<I>) -> Range<u16> {
    let all = f.insts.values().filter(|i| matches!(i.op, Op::Exports));
    let ends = all.flat_map(|i| {
        let srcs = i.srcs.as_slice(&f.pool).iter().zip(&f.exports);
        srcs.map(|(&s, &at)| (at, at + u16::from(f.vals[s].units)))
    });
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).map_or(0..0, |(start, end)| start..end)
}

/// Exported values hint to be made where they are exported, and loaded vectors where their parts
/// are.
pub(super) fn hints<T: Target>(f: &Function<T::Inst>, hint: &mut SecondaryMap<Val, u16>) {
    if f.exports.is_empty() && !T::CONSTRAINED {
        return;
    }
    for b in f.blocks.values() {
        for &i in b.insts.iter().filter(|&&i| matches!(f.insts[i].op, Op::Exports)) {
            for (&s, &at) in f.srcs(i).iter().zip(&f.exports) {
                hint[s] = at;
            }
        }
        for &i in b.insts.iter().filter(|_| T::CONSTRAINED) {
            let Some(inst) = f.insts[i].op.inst() else { continue };
            for (k, &s) in f.srcs(i).iter().enumerate() {
                if let Constraint::Fixed(at) = T::source(inst, k) {
                    hint[s] = at;
                }
            }
        }
    }
    for b in f.blocks.values() {
        for &i in b.insts.iter().rev() {
            match (&f.insts[i].op, f.dsts(i), f.srcs(i)) {
                (Op::Collect, &[d], srcs) if hint[d] != NONE => {
                    let mut at = hint[d];
                    for &s in srcs {
                        if hint[s] == NONE {
                            hint[s] = at;
                        }
                        at += u16::from(f.vals[s].units);
                    }
                }
                (Op::Split, parts, &[s]) if hint[s] == NONE => {
                    let mut at = 0;
                    for &p in parts {
                        if hint[p] != NONE && hint[p] >= at {
                            hint[s] = hint[p] - at;
                            break;
                        }
                        at += u16::from(f.vals[p].units);
                    }
                }
                _ => {}
            }
        }
    }
}
