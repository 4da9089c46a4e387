//! Races: two SIMD-groups access the same bytes, one of them writes, and nothing orders the two.
//!
//! Each word of memory keeps its last write and its last read. SIMD-groups of a workgroup are ordered by barriers; those of
//! different workgroups are taken for ordered if both have executed an atomic or a memory barrier since the first access,
//! which is how programs hand data from one workgroup to another. Lanes of one SIMD-group execute together, so compilers
//! leave out barriers between them, and only stores of different values by one instruction are races. A store that
//! leaves memory as it was counts as none, nor do atomics: an atomic load is a plain load to the hardware.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a page of marks.
pub const PAGE_BYTES: u64 = 4096;
const WORDS: usize = (PAGE_BYTES / 4) as usize;
/// Pages of a launch that are watched; accesses of further ones are not looked at.
const MAX_PAGES: usize = 8192;

/// The group of reads by several groups.
const MANY: u32 = u32::MAX;

/// An access of a SIMD-group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// The SIMD-group, numbered from 1 over the launch; 0 for none.
    pub group: u32,
    /// Atomics and memory barriers of the launch before it.
    pub time: u32,
    /// Barriers of its workgroup before it.
    pub epoch: u16,
    /// The instruction.
    pub at: u16,
}

/// The last accesses of a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    write: Mark,
    read: Mark,
    /// Bytes of the last write and read.
    bytes: [u8; 2],
}

/// Kind of an access to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A load.
    Read,
    /// A store.
    Write,
}

/// An access that nothing orders with the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other access.
    pub how: How,
    /// The SIMD-group of it, if it is known.
    pub group: Option<u32>,
    /// Its instruction.
    pub at: u16,
    /// Whether it is of the same workgroup.
    pub near: bool,
}

impl Cell {
    /// Looks for an access that an access of some bytes of the word races with, and notes the access.
    pub fn access(
        &mut self,
        now: Mark,
        how: How,
        bytes: u8,
        ordered: impl Fn(&Mark, &Mark) -> Option<bool>,
    ) -> Option<Conflict> {
        let against = |other: &Mark, mask: u8, what: How| {
            if other.group == 0 || other.group == now.group || mask & bytes == 0 {
                return None;
            }
            let near = ordered(other, &now)?;
            let group = (other.group != MANY).then_some(other.group);
            Some(Conflict { how: what, group, at: other.at, near })
        };
        let mut conflict = against(&self.write, self.bytes[0], How::Write);
        match how {
            How::Read => {
                let several = self.read.group != 0
                    && self.read.group != now.group
                    && self.read.epoch == now.epoch;
                self.read = Mark { group: if several { MANY } else { now.group }, ..now };
                self.bytes[1] = if several { self.bytes[1] | bytes } else { bytes };
            }
            How::Write => {
                conflict = conflict.or_else(|| against(&self.read, self.bytes[1], How::Read));
                (self.write, self.bytes[0]) = (now, bytes);
            }
        }
        conflict
    }
}

/// The marks of a page of memory.
pub struct Page(Mutex<Box<[Cell; WORDS]>>);

impl Page {
    /// Calls `with` with the words' marks.
    pub fn with<R>(&self, with: impl FnOnce(&mut [Cell; WORDS]) -> R) -> R {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The device memory that a launch accesses.
pub struct Races {
    pages: Mutex<HashMap<u64, Arc<Page>>>,
    /// Counts atomics and memory barriers.
    clock: AtomicU32,
    /// Time at which each workgroup executed its last one.
    last: Mutex<HashMap<u32, u32>>,
    /// SIMD-groups of a workgroup.
    groups: u32,
}

impl Races {
    /// A detector without accesses, for a launch with workgroups of `groups` SIMD-groups.
    pub fn new(groups: u32) -> Races {
        Races {
            pages: Mutex::default(),
            clock: AtomicU32::new(1),
            last: Mutex::default(),
            groups: groups.max(1),
        }
    }

    /// The marks of a page; `None` if too many are watched.
    pub fn page(&self, number: u64) -> Option<Arc<Page>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = pages.get(&number) {
            return Some(page.clone());
        }
        if pages.len() >= MAX_PAGES {
            return None;
        }
        let page = Arc::new(Page(Mutex::new(Box::new([Cell::default(); WORDS]))));
        pages.insert(number, page.clone());
        Some(page)
    }

    /// The number of a SIMD-group: its workgroup's number and its own in it.
    pub fn number(&self, workgroup: u64, index: u32) -> u32 {
        // Numbers of very large launches repeat.
        let all = (workgroup * u64::from(self.groups) + u64::from(index)) % u64::from(MANY - 1);
        all as u32 + 1
    }

    /// Number of the workgroup of a SIMD-group, and its own in it.
    pub fn split(&self, group: u32) -> (u32, u32) {
        let number = group.wrapping_sub(1);
        (number / self.groups, number % self.groups)
    }

    /// The time of an access.
    pub fn time(&self) -> u32 {
        self.clock.load(Ordering::Relaxed)
    }

    /// A SIMD-group executes an atomic or a memory barrier.
    pub fn sync(&self, group: u32) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.insert(self.split(group).0, now);
    }

    /// Whether nothing orders an earlier access with the present one; then, whether both are of one workgroup.
    pub fn unordered(&self, before: &Mark, now: &Mark) -> Option<bool> {
        let own = self.split(now.group).0;
        if before.group != MANY && self.split(before.group).0 == own {
            return (before.epoch == now.epoch).then_some(true);
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // A load is compared when its lanes have an effect, and then may be older than what it is compared with.
        let first = before.time.min(now.time);
        let since = |workgroup: u32| last.get(&workgroup).is_some_and(|&t| t > first);
        let handed = since(own) && (before.group == MANY || since(self.split(before.group).0));
        (!handed).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(races: &Races, workgroup: u64, index: u32, epoch: u16) -> Mark {
        Mark { group: races.number(workgroup, index), time: races.time(), epoch, at: 0 }
    }

    #[test]
    fn barriers_order_the_groups_of_a_workgroup() {
        let races = Races::new(2);
        let ordered = |a: &Mark, b: &Mark| races.unordered(a, b);
        let mut cell = Cell::default();
        assert_eq!(cell.access(mark(&races, 0, 0, 1), How::Write, 15, ordered), None);
        let found = cell.access(mark(&races, 0, 1, 1), How::Read, 15, ordered).expect("a race");
        assert_eq!((found.how, found.group, found.near), (How::Write, Some(1), true));
        assert_eq!(cell.access(mark(&races, 0, 1, 2), How::Read, 15, ordered), None);
        // A barrier of another workgroup orders nothing.
        assert!(cell.access(mark(&races, 1, 0, 2), How::Read, 15, ordered).is_some());
        // Accesses of other bytes of the word do not race.
        let mut cell = Cell::default();
        assert_eq!(cell.access(mark(&races, 0, 0, 1), How::Write, 3, ordered), None);
        assert_eq!(cell.access(mark(&races, 0, 1, 1), How::Write, 12, ordered), None);
    }

    #[test]
    fn atomics_of_both_order_workgroups() {
        let races = Races::new(1);
        let ordered = |a: &Mark, b: &Mark| races.unordered(a, b);
        let mut cell = Cell::default();
        cell.access(mark(&races, 0, 0, 1), How::Write, 15, ordered);
        races.sync(races.number(0, 0));
        assert!(cell.access(mark(&races, 1, 0, 1), How::Read, 15, ordered).is_some());
        races.sync(races.number(1, 0));
        assert_eq!(cell.access(mark(&races, 1, 0, 1), How::Read, 15, ordered), None);
    }
}
