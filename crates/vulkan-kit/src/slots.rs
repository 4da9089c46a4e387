//! Numbered places of a hardware table of limited size, as of samplers: equal contents share a place.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Places by contents.
pub struct Slots<K> {
    free: Vec<u16>,
    /// The place, and how many users it has.
    used: FxHashMap<K, (u16, u32)>,
}

/// A place that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its number.
    pub number: u16,
    /// Whether it is new, so that its contents have to be written.
    pub is_new: bool,
}

impl<K: Eq + Hash> Slots<K> {
    /// Places 0 to `count` - 1, all free.
    pub fn new(count: u16) -> Slots<K> {
        Slots { free: (0..count).rev().collect(), used: FxHashMap::default() }
    }

    /// Takes the place of these contents, or a free one; `None` when there is none.
    pub fn take(&mut self, contents: K) -> Option<Slot> {
        if let Some((number, users)) = self.used.get_mut(&contents) {
            *users += 1;
            return Some(Slot { number: *number, is_new: false });
        }
        let number = self.free.pop()?;
        self.used.insert(contents, (number, 1));
        Some(Slot { number, is_new: true })
    }

    /// Gives the place of contents back, once for each time that it was taken.
    pub fn give(&mut self, contents: &K) {
        let Some((number, users)) = self.used.get_mut(contents) else { return };
        let number = *number;
        *users -= 1;
        if *users == 0 {
            self.used.remove(contents);
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contents_share_a_place_until_the_last_user_goes() {
        let mut s = Slots::new(2);
        let slot = |number, is_new| Some(Slot { number, is_new });
        assert_eq!(s.take("a"), slot(0, true));
        assert_eq!(s.take("a"), slot(0, false));
        assert_eq!(s.take("b"), slot(1, true));
        assert_eq!(s.take("c"), None);
        s.give(&"a");
        assert_eq!(s.take("c"), None);
        s.give(&"a");
        s.give(&"a");
        assert_eq!([s.take("c"), s.take("d")], [slot(0, true), None]);
    }
}
