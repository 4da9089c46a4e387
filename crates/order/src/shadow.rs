//! Last accesses of each line of memory.

use rustc_hash::FxHashMap;

use crate::table::MAX_CACHES;

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;

/// Bytes whose accesses are tracked together. Bytes of a granule that were written have a mask.
pub const GRANULE_BYTES: u64 = 4;

/// Granules of a line.
pub const GRANULES: usize = (LINE_BYTES / GRANULE_BYTES) as usize;

/// Limit on lines: their records take 200 MiB.
const MAX_LINES: usize = 1 << 19;

/// Number of a command or event in the sequence of both; 0 is before all.
pub type Time = u32;

/// Reads of a granule by a unit.
#[derive(Clone, Copy, Default)]
pub struct Reads {
    /// The first that was not known to be performed at the last one; 0 for none.
    pub time: Time,
    /// The unit.
    pub unit: u8,
    /// The bytes.
    pub mask: u8,
}

/// Last accesses of a granule.
#[derive(Clone, Copy, Default)]
pub struct Granule {
    /// Time of the last write; 0 for none.
    pub write: Time,
    /// The unit that wrote.
    pub write_unit: u8,
    /// The bytes that were written at that time.
    pub written: u8,
    /// Whether it was by an atomic.
    pub atomic: bool,
    /// Reads since then that may not be performed. A write waits for its own unit's reads alone, at most, so two
    /// units suffice to find one that it does not wait for.
    pub reads: [Reads; 2],
}

/// Accesses of a line through a cache that may have put a copy of it there.
#[derive(Clone, Copy, Default)]
pub struct Touch {
    /// The first access that may be after the last invalidation.
    pub first: Time,
    /// The last access.
    pub last: Time,
}

/// Last accesses of a line.
#[derive(Clone, Default)]
pub struct Line {
    pub granules: [Granule; GRANULES],
    pub touches: [Touch; MAX_CACHES],
}

/// Last accesses of all lines that were accessed.
#[derive(Default)]
pub struct Shadow {
    lines: FxHashMap<u64, Box<Line>>,
    /// Accesses of lines that there was no room for.
    pub untracked: u64,
}

impl Shadow {
    /// The record of the line at an address; none if there is no room for another one.
    pub fn line(&mut self, address: u64) -> Option<&mut Line> {
        let index = address / LINE_BYTES;
        if self.lines.len() >= MAX_LINES && !self.lines.contains_key(&index) {
            self.untracked += 1;
            return None;
        }
        Some(self.lines.entry(index).or_default())
    }

    /// Forgets all accesses.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.untracked = 0;
    }
}
