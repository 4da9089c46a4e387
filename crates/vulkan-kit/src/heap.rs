//! Ranges of addresses: first fit, with neighbours merged when they are given back.

use std::collections::BTreeMap;

/// Free ranges of an address space.
pub struct Heap {
    /// Length by start.
    free: BTreeMap<u64, u64>,
}

impl Heap {
    /// A heap without ranges.
    pub const fn empty() -> Heap {
        Heap { free: BTreeMap::new() }
    }

    /// A heap with one free range.
    pub fn new(start: u64, end: u64) -> Heap {
        let mut heap = Heap::empty();
        heap.give(start, end - start);
        heap
    }

    /// Takes `size` bytes at a multiple of `align`.
    pub fn take(&mut self, size: u64, align: u64) -> Option<u64> {
        let (start, length, at) = self.free.iter().find_map(|(&start, &length)| {
            let at = start.next_multiple_of(align);
            let left = length.checked_sub(at - start)?;
            (size <= left).then_some((start, length, at))
        })?;
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        let end = start + length;
        if at + size < end {
            self.free.insert(at + size, end - at - size);
        }
        Some(at)
    }

    /// Takes `size` bytes at an address, if all of them are free.
    pub fn take_at(&mut self, at: u64, size: u64) -> bool {
        let Some((&start, &length)) = self.free.range(..=at).next_back() else { return false };
        let (end, wanted) = (start + length, at.checked_add(size));
        let Some(to) = wanted.filter(|&to| to <= end) else { return false };
        self.free.remove(&start);
        for (from, length) in [(start, at - start), (to, end - to)] {
            if length > 0 {
                self.free.insert(from, length);
            }
        }
        true
    }

    /// Gives a range back.
    pub fn give(&mut self, start: u64, size: u64) {
        let (mut start, mut size) = (start, size);
        if let Some((&before, &length)) = self.free.range(..start).next_back()
            && before + length == start
        {
            self.free.remove(&before);
            start = before;
            size += length;
        }
        if let Some(length) = self.free.remove(&(start + size)) {
            size += length;
        }
        self.free.insert(start, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_once() {
        let mut h = Heap::new(0x1000, 0x5000);
        assert!(h.take_at(0x2000, 0x1000));
        for (at, size) in [(0x2000, 1), (0x1800, 0x900), (0x4800, 0x900), (0, 1), (u64::MAX, 2)] {
            assert!(!h.take_at(at, size), "{at:#x}");
        }
        assert_eq!((h.take(0x1000, 1), h.take(0x1000, 1)), (Some(0x1000), Some(0x3000)));
        h.give(0x2000, 0x1000);
        assert!(h.take_at(0x2000, 0x1000));
        assert!(h.take_at(0x4000, 0x1000));
    }

    #[test]
    fn ranges_are_aligned_and_merge() {
        let mut h = Heap::new(0x1000, 0x5000);
        let a = h.take(0x800, 0x1000).unwrap();
        let b = h.take(0x1000, 0x1000).unwrap();
        let c = h.take(0x100, 0x100).unwrap();
        assert_eq!((a, b, c), (0x1000, 0x2000, 0x1800));
        assert_eq!(h.take(0x3000, 1), None);
        for (at, size) in [(a, 0x800), (c, 0x100), (b, 0x1000)] {
            h.give(at, size);
        }
        assert_eq!(h.take(0x4000, 0x1000), Some(0x1000));
    }
}
