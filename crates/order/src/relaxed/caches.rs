//! Caches that hold data back and keep old lines.

use rustc_hash::FxHashMap;

use super::Choices;
use crate::shadow::LINE_BYTES;
use crate::table::{CacheSet, Level, Table};
use crate::tracker::bits;

const LINE: usize = LINE_BYTES as usize;

/// Limit on the lines of a cache; it is written back and emptied when it has more.
const MAX_LINES: usize = 1 << 16;

/// Memory below the caches.
pub trait Backing {
    /// Reads bytes; returns whether they are bound.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool;
    /// Writes bytes that are bound.
    fn write(&mut self, address: u64, from: &[u8]);
}

/// A line of a cache. Byte N has bit N of each mask.
struct Copy {
    bytes: [u8; LINE],
    present: u64,
    /// Bytes that the level below does not have.
    dirty: u64,
}

/// A line of the shared cache that memory does not have.
struct SharedLine {
    bytes: [u8; LINE],
    mask: u64,
    /// The cache that each byte came from.
    from: [u8; LINE],
}

/// The caches of a GPU, with what they hold.
pub struct Caches {
    table: &'static Table,
    lines: Vec<FxHashMap<u64, Copy>>,
    shared: FxHashMap<u64, SharedLine>,
    choices: Choices,
}

/// The mask of bytes of a line.
fn mask(start: usize, length: usize) -> u64 {
    (u64::MAX >> (LINE - length)) << start
}

/// The parts of a range by line: the line's address, the first byte in it, and the range of the whole.
fn parts(
    address: u64,
    length: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done >= length {
            return None;
        }
        let at = address.wrapping_add(done as u64);
        let start = (at % LINE_BYTES) as usize;
        let count = (LINE - start).min(length - done);
        done += count;
        Some((at - start as u64, start, done - count..done))
    })
}

/// Calls a function with each run of set bits of a mask.
fn runs(mut mask: u64, mut with: impl FnMut(std::ops::Range<usize>)) {
    while mask != 0 {
        let start = mask.trailing_zeros() as usize;
        let length = (mask >> start).trailing_ones() as usize;
        with(start..start + length);
        mask &= !self::mask(start, length);
    }
}

impl Caches {
    /// Empty caches.
    #[must_use]
    pub fn new(table: &'static Table, choices: Choices) -> Caches {
        let lines = table.caches.iter().map(|_| FxHashMap::default()).collect();
        Caches { table, lines, shared: FxHashMap::default(), choices }
    }

    fn cache_of(&self, unit: u8) -> Option<usize> {
        self.table.units[usize::from(unit)].cache.map(usize::from)
    }

    /// Reads bound bytes as a unit sees them.
    pub fn read(&mut self, unit: u8, address: u64, into: &mut [u8], memory: &mut dyn Backing) {
        let Some(cache) = self.cache_of(unit) else {
            memory.read(address, into);
            return;
        };
        for (line, start, range) in parts(address, into.len()) {
            if self.choices.one_in(8) {
                self.evict(cache, line, memory);
            }
            let wanted = mask(start, range.len());
            let present = self.lines[cache].get(&line).map_or(0, |copy| copy.present);
            if wanted & !present != 0 {
                self.fill(cache, line, wanted, memory);
            }
            if let Some(copy) = self.lines[cache].get(&line) {
                into[range.clone()].copy_from_slice(&copy.bytes[start..start + range.len()]);
            }
        }
        self.limit(cache, memory);
    }

    /// Writes bound bytes by a unit.
    pub fn write(&mut self, unit: u8, address: u64, from: &[u8], memory: &mut dyn Backing) {
        let Some(cache) = self.cache_of(unit) else {
            memory.write(address, from);
            return;
        };
        for (line, start, range) in parts(address, from.len()) {
            if self.choices.one_in(4) {
                self.fill(cache, line, u64::MAX, memory);
            }
            let empty = || Copy { bytes: [0; LINE], present: 0, dirty: 0 };
            let copy = self.lines[cache].entry(line).or_insert_with(empty);
            copy.bytes[start..start + range.len()].copy_from_slice(&from[range.clone()]);
            let written = mask(start, range.len());
            copy.present |= written;
            copy.dirty |= written;
            if self.choices.one_in(4) {
                self.write_back_line(cache, line, memory);
            }
        }
        self.limit(cache, memory);
    }

    /// Writes data back, and drops lines, of some caches: they may do so at any time.
    pub fn age(&mut self, memory: &mut dyn Backing) {
        let cache = self.choices.below(self.lines.len());
        match self.choices.below(16) {
            0 => self.write_back(cache, memory),
            1 => self.empty(cache, memory),
            2 => self.write_back_shared(None, memory),
            _ => {}
        }
    }

    /// Performs an invalidation. Data that is not written back yet is, or stays in the cache.
    pub fn invalidate(&mut self, caches: CacheSet, memory: &mut dyn Backing) {
        let count = self.lines.len();
        for cache in bits(caches).filter(|&cache| cache < count) {
            if self.choices.one_in(2) {
                self.write_back(cache, memory);
            }
            self.lines[cache].retain(|_, copy| {
                copy.present = copy.dirty;
                copy.dirty != 0
            });
        }
    }

    /// Performs a flush.
    pub fn flush(&mut self, caches: CacheSet, to: Level, memory: &mut dyn Backing) {
        for (cache, description) in self.table.caches.iter().enumerate() {
            if caches >> cache & 1 == 0 {
                continue;
            }
            match (description.fills_from, to) {
                (Level::Shared, Level::Memory) => self.write_back_shared(Some(cache), memory),
                (Level::Memory, Level::Shared) => {}
                _ if description.flush_invalidates => self.empty(cache, memory),
                _ => self.write_back(cache, memory),
            }
        }
    }

    /// Writes everything back to memory and drops all lines.
    pub fn finish(&mut self, memory: &mut dyn Backing) {
        for cache in 0..self.lines.len() {
            self.empty(cache, memory);
        }
        self.write_back_shared(None, memory);
    }

    /// Reads bytes of a line that the cache does not have from the level below: the whole line where it is bound.
    fn fill(&mut self, cache: usize, line: u64, wanted: u64, memory: &mut dyn Backing) {
        let mut bytes = [0; LINE];
        let mut read = u64::MAX;
        if !memory.read(line, &mut bytes) {
            read = wanted;
            runs(wanted, |range| {
                memory.read(line + range.start as u64, &mut bytes[range]);
            });
        }
        if self.table.caches[cache].fills_from == Level::Shared
            && let Some(shared) = self.shared.get(&line)
        {
            runs(shared.mask, |range| bytes[range.clone()].copy_from_slice(&shared.bytes[range]));
        }
        let copy = self.lines[cache].entry(line);
        let copy = copy.or_insert(Copy { bytes: [0; LINE], present: 0, dirty: 0 });
        runs(read & !copy.present, |range| {
            copy.bytes[range.clone()].copy_from_slice(&bytes[range]);
        });
        copy.present |= read;
    }

    fn write_back_line(&mut self, cache: usize, line: u64, memory: &mut dyn Backing) {
        if let Some(copy) = self.lines[cache].get_mut(&line) {
            let dirty = std::mem::take(&mut copy.dirty);
            match self.table.caches[cache].fills_from {
                Level::Memory => runs(dirty, |range| {
                    memory.write(line + range.start as u64, &copy.bytes[range]);
                }),
                Level::Shared if dirty == 0 => {}
                Level::Shared => {
                    let empty = SharedLine { bytes: [0; LINE], mask: 0, from: [0; LINE] };
                    let below = self.shared.entry(line).or_insert(empty);
                    runs(dirty, |range| {
                        below.bytes[range.clone()].copy_from_slice(&copy.bytes[range.clone()]);
                        below.from[range].fill(cache as u8);
                    });
                    below.mask |= dirty;
                }
            }
        }
    }

    fn evict(&mut self, cache: usize, line: u64, memory: &mut dyn Backing) {
        self.write_back_line(cache, line, memory);
        self.lines[cache].remove(&line);
    }

    fn write_back(&mut self, cache: usize, memory: &mut dyn Backing) {
        let dirty = |(&line, copy): (&u64, &Copy)| (copy.dirty != 0).then_some(line);
        let dirty: Vec<u64> = self.lines[cache].iter().filter_map(dirty).collect();
        for line in dirty {
            self.write_back_line(cache, line, memory);
        }
    }

    fn empty(&mut self, cache: usize, memory: &mut dyn Backing) {
        self.write_back(cache, memory);
        self.lines[cache].clear();
    }

    /// Writes data of the shared cache to memory: that of a cache, or all.
    fn write_back_shared(&mut self, from: Option<usize>, memory: &mut dyn Backing) {
        self.shared.retain(|&line, shared| {
            let of =
                |&byte: &usize| from.is_none_or(|cache| usize::from(shared.from[byte]) == cache);
            let chosen = (0..LINE).filter(of).fold(0, |mask, byte| mask | 1 << byte) & shared.mask;
            runs(chosen, |range| memory.write(line + range.start as u64, &shared.bytes[range]));
            shared.mask &= !chosen;
            shared.mask != 0
        });
    }

    fn limit(&mut self, cache: usize, memory: &mut dyn Backing) {
        if self.lines[cache].len() > MAX_LINES {
            self.empty(cache, memory);
        }
    }
}
