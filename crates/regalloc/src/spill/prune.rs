//! Removes unread reloads, phis and stores, and finds the values that need slots.

use super::edges::Memory;
use super::values::Accesses;
use crate::function::{Function, Ins, Op, Val};
use crate::target::{Effect, StackAccess, Target};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Runs the pass; returns the values that are loaded from slots.
pub(super) fn run<T: Target>(
    f: &mut Function<T::Inst>,
    accesses: &Accesses,
    memory: &Memory,
) -> EntitySet<Val> {
    let mut def: SecondaryMap<Val, PackedOption<Ins>> = SecondaryMap::with_capacity(f.vals.len());
    let mut keep: EntitySet<Ins> = EntitySet::with_capacity(f.insts.len());
    let mut slots: EntitySet<Val> = EntitySet::new();
    let mut work: Vec<Ins> = Vec::new();
    for data in f.blocks.values() {
        for &i in &data.insts {
            for &d in f.dsts(i) {
                def[d] = i.into();
            }
            let op = &f.insts[i].op;
            let fixed = !matches!(op, Op::Phi) && op.effect::<T>() == Effect::Fixed;
            if fixed && accesses.get(i).is_none() && keep.insert(i) {
                work.push(i);
            }
        }
    }
    while let Some(i) = work.pop() {
        let mut need = |i: Option<Ins>| {
            if let Some(i) = i
                && keep.insert(i)
            {
                work.push(i);
            }
        };
        for &s in f.srcs(i) {
            need(def[s].expand());
        }
        if let Some((StackAccess::Load, v)) = accesses.get(i)
            && slots.insert(v)
        {
            // The source of a needed store is needed: at the stores on edges, or at its definition.
            let stores = &memory.stores[v];
            stores.iter().for_each(|&i| need(Some(i)));
            if stores.is_empty() {
                need(def[v].expand());
            }
        }
    }
    for data in f.blocks.values_mut() {
        data.insts.retain(|&i| keep.contains(i));
    }
    slots
}
