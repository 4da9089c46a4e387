//! Validates the machine IR: the numbers and sizes of operands and values agree, definitions
//! dominate uses, and phis have one source for each predecessor.

use crate::error::{Error, Result};
use crate::function::Function;
use crate::machine::Machine;
use cranelift_entity::{EntityRef, SecondaryMap};
use tepui_regalloc::liveness::{LiveSet, Liveness};
use tepui_regalloc::{Block, Op, Val};

/// Checks every rule.
///
/// # Errors
/// The first broken rule.
pub fn run<M: Machine>(f: &Function<M>) -> Result<()> {
    let bad = |what: String| Err(Error::Invalid(what));
    let mut defined: SecondaryMap<Val, bool> = SecondaryMap::with_capacity(f.vals.len());
    for (b, data) in f.blocks.iter() {
        let mut heads = true;
        for &i in &data.insts {
            let op = f.insts[i].op;
            let (dsts, srcs) = (f.dsts(i), f.srcs(i));
            for &d in dsts {
                if std::mem::replace(&mut defined[d], true) {
                    return bad(format!("{d} is defined twice"));
                }
            }
            match op {
                Op::Phi => {
                    if !heads || srcs.len() != data.preds.len() {
                        return bad(format!(
                            "{b}: phi {i} has {} sources for {} ways",
                            srcs.len(),
                            data.preds.len()
                        ));
                    }
                    for &s in srcs {
                        if f.vals[s] != f.vals[dsts[0]] {
                            return bad(format!("{b}: phi {i} joins values of different sizes"));
                        }
                    }
                }
                Op::Collect | Op::Split => {
                    let size =
                        |l: &[Val]| l.iter().map(|&v| u32::from(f.vals[v].units)).sum::<u32>();
                    if size(dsts) != size(srcs) {
                        return bad(format!(
                            "{b}: {i} has results of {} units from {}",
                            size(dsts),
                            size(srcs)
                        ));
                    }
                }
                _ => {}
            }
            heads &= matches!(op, Op::Phi);
            if let Some(inst) = op.inst() {
                let (mut d, mut s) = (dsts.iter(), srcs.iter());
                let mut wrong = None;
                M::operands(inst, |o| {
                    let v = if o.written { d.next() } else { s.next() };
                    let units = v.map_or(0, |&v| u16::from(f.vals[v].units));
                    if units < o.units || (o.exact && units != o.units) {
                        wrong = Some((o.units, units));
                    }
                });
                if let Some((want, have)) = wrong {
                    return bad(format!(
                        "{b}: {i} ({inst:?}) takes {want} units and is given {have}"
                    ));
                }
                if d.next().is_some() || s.next().is_some() {
                    return bad(format!("{b}: {i} ({inst:?}) has more values than places"));
                }
            }
        }
    }
    let l = Liveness::new(f)?;
    if let Some(v) = l.ins[0].first() {
        return bad(format!("{v} is used where it is not defined"));
    }
    let mut here = LiveSet::new(f);
    for (b, data) in f.blocks.iter() {
        // Only reachable blocks have live-in values.
        if data.preds.is_empty() && b != Block::from_u32(0) && !l.ins[b.index()].is_empty() {
            // Unreachable code may name any value.
            continue;
        }
        here.fill(f, &l.ins[b.index()]);
        for &i in &data.insts {
            if !matches!(f.insts[i].op, Op::Phi) {
                for &s in f.srcs(i) {
                    if !here.contains(s) {
                        return bad(format!("{b}: {i} uses {s} before it is defined"));
                    }
                }
            }
            for &d in f.dsts(i) {
                here.insert(d);
            }
        }
    }
    Ok(())
}
