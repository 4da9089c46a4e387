//! Handle tables: small integers by which a client names objects.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Objects by number. Numbers start at 1, and the lowest free one is given first, as the kernel's
/// allocators do; 0 never names anything.
pub struct Ids<T> {
    used: BTreeMap<u32, T>,
    /// Freed numbers below `unused`; some may have been taken again.
    free: BinaryHeap<Reverse<u32>>,
    /// Numbers from here on were never allocated by `insert`.
    unused: u32,
}

impl<T> Default for Ids<T> {
    fn default() -> Self {
        Ids { used: BTreeMap::new(), free: BinaryHeap::new(), unused: 1 }
    }
}

impl<T> Ids<T> {
    /// The number that [`Ids::insert`] will return.
    pub fn next_id(&mut self) -> u32 {
        while let Some(&Reverse(id)) = self.free.peek() {
            if !self.used.contains_key(&id) {
                return id;
            }
            self.free.pop();
        }
        while self.used.contains_key(&self.unused) {
            self.unused += 1;
        }
        self.unused
    }

    /// Adds an object under the lowest free number.
    pub fn insert(&mut self, value: T) -> u32 {
        let id = self.next_id();
        self.used.insert(id, value);
        id
    }

    /// Adds an object under a given number; returns the object if the number is taken.
    pub fn insert_at(&mut self, id: u32, value: T) -> Result<(), T> {
        if id == 0 || self.used.contains_key(&id) {
            return Err(value);
        }
        self.used.insert(id, value);
        Ok(())
    }

    /// The object of a number.
    pub fn get(&self, id: u32) -> Option<&T> {
        self.used.get(&id)
    }

    /// Removes an object and frees its number.
    pub fn remove(&mut self, id: u32) -> Option<T> {
        let value = self.used.remove(&id)?;
        if id < self.unused {
            self.free.push(Reverse(id));
        }
        Some(value)
    }

    /// Numbers and objects in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.used.iter().map(|(&id, value)| (id, value))
    }

    /// Removes all objects.
    pub fn drain(&mut self) -> Vec<T> {
        std::mem::take(self).used.into_values().collect()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.used.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_comes_first() {
        let mut ids = Ids::default();
        assert_eq!([ids.insert('a'), ids.insert('b'), ids.insert('c')], [1, 2, 3]);
        assert_eq!(ids.remove(2), Some('b'));
        assert_eq!(ids.remove(1), Some('a'));
        assert_eq!(ids.remove(1), None);
        assert_eq!(ids.remove(0), None);
        assert_eq!([ids.insert('d'), ids.insert('e'), ids.insert('f')], [1, 2, 4]);
        assert_eq!(ids.get(0), None);
        assert_eq!(ids.get(5), None);
        assert_eq!(ids.drain(), ['d', 'e', 'c', 'f']);
    }

    #[test]
    fn a_chosen_number_is_skipped_and_freed() {
        let mut ids = Ids::default();
        assert_eq!(ids.insert_at(2, 'x'), Ok(()));
        assert_eq!(ids.insert_at(2, 'y'), Err('y'));
        assert_eq!(ids.insert_at(0, 'y'), Err('y'));
        assert_eq!(ids.insert_at(u32::MAX, 'z'), Ok(()));
        assert_eq!([ids.insert('a'), ids.insert('b')], [1, 3]);
        assert_eq!(ids.remove(2), Some('x'));
        assert_eq!(ids.insert_at(2, 'y'), Ok(()));
        assert_eq!(ids.insert('c'), 4);
        assert_eq!(ids.remove(u32::MAX), Some('z'));
        assert_eq!(ids.len(), 5 - 1);
    }
}
