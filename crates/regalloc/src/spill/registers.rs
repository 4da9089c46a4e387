//! Set of the values that are in registers at a point of the walk, with their names there.

use super::next_use::DEAD;
use crate::function::{Function, Val};
use cranelift_entity::{EntityRef, SecondaryMap};

const ABSENT: u32 = u32::MAX;

/// A value in registers.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) val: Val,
    /// Its name there: itself, or a reload or phi with its bits.
    pub(super) name: Val,
    /// The position of its next use in the block.
    pub(super) next: u32,
    /// Power of two by which its distance is multiplied (or, if negative, divided) when values are
    /// chosen for eviction.
    pub(super) bias: i8,
}

impl Entry {
    /// The biased next-use distance from a position of the block.
    pub(super) fn distance(&self, from: u32) -> u64 {
        let distance = u64::from(self.next.saturating_sub(from)) << 16;
        if self.bias < 0 { distance >> -self.bias } else { distance << self.bias }
    }
}

/// The values in registers.
pub(super) struct Registers {
    entries: Vec<Entry>,
    /// The index of each value's entry, or [`ABSENT`].
    index: SecondaryMap<Val, u32>,
    units: u32,
}

impl Registers {
    pub(super) fn new<I>(f: &Function<I>) -> Registers {
        let mut index = SecondaryMap::with_default(ABSENT);
        index.resize(f.vals.len());
        Registers { entries: Vec::new(), index, units: 0 }
    }

    /// The values, in no order.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Units taken.
    pub(super) fn units(&self) -> u32 {
        self.units
    }

    /// The entry of a value, if it is there.
    pub(super) fn get(&self, v: Val) -> Option<&Entry> {
        self.entries.get(self.index[v] as usize)
    }

    /// Adds a value that is not there.
    pub(super) fn insert<I>(&mut self, f: &Function<I>, entry: Entry) {
        debug_assert!(self.index[entry.val] == ABSENT);
        self.index[entry.val] = self.entries.len() as u32;
        self.entries.push(entry);
        self.units += f.vals[entry.val].pressure();
    }

    /// Notes the next use of a value, which leaves the set if there is none.
    pub(super) fn set_next<I>(&mut self, f: &Function<I>, v: Val, next: u32) {
        if next == DEAD {
            self.remove(f, v);
        } else if let Some(e) = self.entries.get_mut(self.index[v] as usize) {
            e.next = next;
        }
    }

    /// Removes a value if it is there.
    pub(super) fn remove<I>(&mut self, f: &Function<I>, v: Val) {
        let at = std::mem::replace(&mut self.index[v], ABSENT);
        if at == ABSENT {
            return;
        }
        self.entries.swap_remove(at as usize);
        if let Some(moved) = self.entries.get(at as usize) {
            self.index[moved.val] = at;
        }
        self.units -= f.vals[v].pressure();
    }

    /// Empties the set and returns what was in it, by value, each with its name.
    pub(super) fn drain(&mut self) -> Vec<(Val, Val)> {
        let mut all: Vec<(Val, Val)> = Vec::with_capacity(self.entries.len());
        for e in self.entries.drain(..) {
            self.index[e.val] = ABSENT;
            all.push((e.val, e.name));
        }
        self.units = 0;
        all.sort_unstable_by_key(|e| e.0.index());
        all
    }
}
