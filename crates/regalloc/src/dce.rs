//! Removes instructions without effect whose results are unused.

use crate::function::{Function, Ins, Op, Val};
use crate::target::{Effect, Target};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Runs the pass.
pub fn run<T: Target>(f: &mut Function<T::Inst>) {
    let mut def: SecondaryMap<Val, Option<Ins>> = SecondaryMap::with_capacity(f.vals.len());
    let mut keep: EntitySet<Ins> = EntitySet::with_capacity(f.insts.len());
    let mut work: Vec<Ins> = Vec::new();
    for b in f.blocks.values() {
        for &i in &b.insts {
            for &d in f.dsts(i) {
                def[d] = Some(i);
            }
            let phi = matches!(f.insts[i].op, Op::Phi);
            if !phi && f.insts[i].op.effect::<T>() == Effect::Fixed && keep.insert(i) {
                work.push(i);
            }
        }
    }
    while let Some(i) = work.pop() {
        for &s in f.srcs(i) {
            if let Some(d) = def[s]
                && keep.insert(d)
            {
                work.push(d);
            }
        }
    }
    for b in f.blocks.values_mut() {
        b.insts.retain(|&i| keep.contains(i));
    }
}
