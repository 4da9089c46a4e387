//! The tracker: decides for each access whether the events since earlier accesses order the two.
//!
//! Commands and events are numbered in one sequence ([`Time`]). For each cache the tracker keeps when the
//! data of earlier writes reached the level below ([`Flushes`]) and which lines the cache may still hold
//! from before its last invalidation; a line of memory has its last accesses ([`crate::shadow`]).
//! An access compares a few numbers and costs the same however long the sequence is.

use rustc_hash::FxHashSet;

use crate::shadow::{GRANULE_BYTES, GRANULES, Granule, LINE_BYTES, Line, Reads, Shadow};
use crate::table::{Event, Level, MAX_CACHES, MAX_UNITS, Table};

pub use crate::shadow::Time;

/// Limit on the hazards that are kept.
const MAX_HAZARDS: usize = 1 << 12;

/// A unit's access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A read and a write in one step. Those of one cache come in any order without changing what is left.
    Atomic,
}

impl From<tepui_softgpu::Access> for Access {
    fn from(access: tepui_softgpu::Access) -> Access {
        match access {
            tepui_softgpu::Access::Read | tepui_softgpu::Access::Execute => Access::Read,
            tepui_softgpu::Access::Write => Access::Write,
            tepui_softgpu::Access::Atomic => Access::Atomic,
        }
    }
}

/// One of the two accesses of a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    /// The command.
    pub time: Time,
    /// The unit, by its index in the table.
    pub unit: u8,
    /// Read or write.
    pub access: Access,
}

/// The event that would have ordered two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// A wait for the unit of the earlier access.
    Wait {
        /// The unit.
        unit: u8,
    },
    /// A flush of the cache that has the earlier write.
    Flush {
        /// The cache.
        cache: u8,
        /// The level that the later access needs the data in.
        to: Level,
    },
    /// A wait for a flush of that cache, which was asked for.
    Finish {
        /// The cache.
        cache: u8,
    },
    /// An invalidation of the cache that the later access reads through, after the write has arrived.
    Invalidate {
        /// The cache.
        cache: u8,
    },
}

/// Two accesses of the same bytes that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The first address of the later access.
    pub address: u64,
    /// The earlier access.
    pub earlier: Side,
    /// The later access.
    pub later: Side,
    /// The event that is missing between the two.
    pub missing: Missing,
}

/// Flushes of the data of one cache to one level.
#[derive(Clone, Default)]
struct Flushes {
    /// For each flush: the time before which writes are in it, and when it was complete.
    done: Vec<(Time, Time)>,
    /// Flushes that are not complete: when each was asked for, and the time before which writes are in it.
    pending: Vec<(Time, Time)>,
}

impl Flushes {
    fn ask(&mut self, now: Time, covered: Time) {
        self.pending.push((now, covered));
    }

    /// Completes the flushes that were asked for up to a time; returns when the last of them was.
    fn finish(&mut self, limit: Time, now: Time) -> Option<Time> {
        let count = self.pending.partition_point(|&(asked, _)| asked <= limit);
        let (asked, covered) = self.pending.drain(..count).next_back()?;
        self.done.push((covered, now));
        Some(asked)
    }

    /// Time at which a write arrived: at the first flush that contains it.
    fn arrival(&self, write: Time) -> Option<Time> {
        let at = self.done.partition_point(|&(covered, _)| covered <= write);
        self.done.get(at).map(|&(_, end)| end)
    }

    /// The last time before which writes are in a flush, complete or not.
    fn covered(&self) -> Time {
        let pending = self.pending.last().map(|&(_, covered)| covered);
        pending.or(self.done.last().map(|&(covered, _)| covered)).unwrap_or(0)
    }
}

/// State of a cache.
#[derive(Clone, Default)]
struct CacheState {
    /// Flushes to the level that the cache is filled from.
    down: Flushes,
    /// For a cache above the shared level, flushes of its data from there to memory.
    to_memory: Flushes,
    /// Time of the last invalidation.
    invalidated: Time,
    /// Accesses before this time left no line that the cache still holds.
    dropped: Time,
}

/// Order of the accesses of a sequence of commands.
pub struct Tracker {
    table: &'static Table,
    now: Time,
    /// For each unit, the time before which all its accesses are performed.
    performed: [Time; MAX_UNITS],
    caches: [CacheState; MAX_CACHES],
    /// Arrivals of posted writes.
    posted: Flushes,
    /// For each unit, the time of its last posted write.
    last_posted: [Time; MAX_UNITS],
    shadow: Shadow,
    hazards: Vec<Hazard>,
    seen: FxHashSet<(Missing, Side, Side)>,
}

impl Tracker {
    /// A tracker of a GPU on which nothing has run.
    ///
    /// # Panics
    /// If the table has more caches or units than the tracker has room for: it is a constant.
    #[must_use]
    pub fn new(table: &'static Table) -> Tracker {
        assert!(table.caches.len() <= MAX_CACHES && table.units.len() <= MAX_UNITS);
        Tracker {
            table,
            now: 0,
            performed: [0; MAX_UNITS],
            caches: Default::default(),
            posted: Flushes::default(),
            last_posted: [0; MAX_UNITS],
            shadow: Shadow::default(),
            hazards: Vec::new(),
            seen: FxHashSet::default(),
        }
    }

    /// Forgets all commands, accesses and hazards: everything earlier is performed, written back and dropped.
    pub fn restart(&mut self) {
        let mut shadow = std::mem::take(&mut self.shadow);
        shadow.clear();
        *self = Tracker { shadow, ..Tracker::new(self.table) };
    }

    /// Begins a command; returns its time.
    pub fn command(&mut self) -> Time {
        self.now += 1;
        self.now
    }

    /// The hazards since the last call, in order: one for each pair of commands, units and missing event.
    pub fn take(&mut self) -> Vec<Hazard> {
        std::mem::take(&mut self.hazards)
    }

    /// Number of accesses that were not tracked because too much memory was accessed.
    #[must_use]
    pub fn untracked(&self) -> u64 {
        self.shadow.untracked
    }

    /// Handles an event.
    pub fn event(&mut self, event: Event) {
        self.now += 1;
        match event {
            Event::Wait(units) => {
                for (unit, description) in self.table.units.iter().enumerate() {
                    let waits = units >> unit & 1 != 0;
                    match self.last_posted[unit] {
                        _ if waits && !description.posted => self.performed[unit] = self.now,
                        write if waits && description.last && write != 0 => self.finish(write + 1),
                        _ => {}
                    }
                }
            }
            Event::Finish => self.finish(self.now),
            Event::Poll(address) => self.poll(address),
            Event::Flush(caches, to) => {
                for cache in bits(caches) {
                    self.flush(cache, to);
                }
            }
            Event::Invalidate(caches) => {
                for cache in bits(caches) {
                    // What runs now may read the line once more, after this.
                    let units = self.table.units.iter().enumerate();
                    let users = units.filter(|(_, unit)| unit.cache == Some(cache as u8));
                    let done = users.map(|(unit, _)| self.performed[unit]).min();
                    let state = &mut self.caches[cache];
                    state.dropped = state.dropped.max(done.unwrap_or(self.now));
                    state.invalidated = self.now;
                }
            }
        }
    }

    fn flush(&mut self, cache: usize, to: Level) {
        let Some(from) = self.table.caches.get(cache).map(|cache| cache.fills_from) else { return };
        let state = &mut self.caches[cache];
        if from == to {
            state.down.ask(self.now, self.now);
        } else if from == Level::Shared {
            let covered = state.down.covered();
            if covered > state.to_memory.covered() {
                state.to_memory.ask(self.now, covered);
            }
        }
    }

    /// Completes all accesses and flushes up to a time.
    fn finish(&mut self, limit: Time) {
        for performed in &mut self.performed {
            *performed = limit.max(*performed);
        }
        if self.posted.covered() < limit {
            self.posted.done.push((limit, self.now));
        }
        for (state, cache) in self.caches.iter_mut().zip(self.table.caches) {
            let asked = state.down.finish(limit, self.now);
            if let Some(asked) = asked.filter(|_| cache.flush_invalidates) {
                state.dropped = state.dropped.max(asked);
                state.invalidated = state.invalidated.max(asked);
            }
            state.to_memory.finish(limit, self.now);
        }
    }

    fn poll(&mut self, address: u64) {
        let Some(line) = self.shadow.line(address) else { return };
        let last = line.granules[(address % LINE_BYTES / GRANULE_BYTES) as usize];
        if last.write != 0 && self.table.units[usize::from(last.write_unit)].last {
            self.finish(last.write + 1);
        }
    }

    /// Handles an access by a unit of the current command.
    pub fn access(&mut self, unit: u8, access: Access, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let line_end = (at / LINE_BYTES + 1).saturating_mul(LINE_BYTES);
            self.line_access(unit, access, at, end.min(line_end));
            at = line_end;
        }
    }

    /// Handles the access of bytes of one line.
    fn line_access(&mut self, unit: u8, access: Access, start: u64, end: u64) {
        if access != Access::Read && self.table.units[usize::from(unit)].posted {
            self.last_posted[usize::from(unit)] = self.now;
        }
        let mut shadow = std::mem::take(&mut self.shadow);
        if let Some(line) = shadow.line(start) {
            let first = (start % LINE_BYTES / GRANULE_BYTES) as usize;
            let last = ((end - 1) % LINE_BYTES / GRANULE_BYTES) as usize;
            for granule in first..=last.min(GRANULES - 1) {
                let base = start / LINE_BYTES * LINE_BYTES + granule as u64 * GRANULE_BYTES;
                let from = start.max(base) - base;
                let to = end.min(base + GRANULE_BYTES) - base;
                let mask = ((1u32 << to) - (1 << from)) as u8;
                if let Some((missing, earlier)) = self.hazard(line, granule, unit, access, mask) {
                    let later = Side { time: self.now, unit, access };
                    self.report(Hazard { address: base + from, earlier, later, missing });
                }
                self.record(&mut line.granules[granule], unit, access, mask);
            }
            if let Some(cache) = self.cache_of(unit) {
                let dropped = self.caches[cache].dropped.max(1);
                let touch = &mut line.touches[cache];
                if touch.first < dropped {
                    touch.first = if touch.last < dropped { self.now } else { touch.last };
                }
                touch.last = self.now;
            }
        }
        self.shadow = shadow;
    }

    fn cache_of(&self, unit: u8) -> Option<usize> {
        self.table.units[usize::from(unit)].cache.map(usize::from)
    }

    /// The earlier access that nothing orders with this one.
    fn hazard(
        &self,
        line: &Line,
        granule: usize,
        unit: u8,
        access: Access,
        mask: u8,
    ) -> Option<(Missing, Side)> {
        let last = &line.granules[granule];
        let commute = last.atomic && access == Access::Atomic;
        let commute = commute && self.cache_of(last.write_unit) == self.cache_of(unit);
        let wrote =
            !commute && last.write != 0 && last.write != self.now && last.written & mask != 0;
        if wrote {
            let missing = match access {
                Access::Read => self.unseen(line, last, unit),
                Access::Write => self.unordered_write(last, unit),
                Access::Atomic => {
                    self.unseen(line, last, unit).or_else(|| self.unordered_write(last, unit))
                }
            };
            let access = if last.atomic { Access::Atomic } else { Access::Write };
            let side = Side { time: last.write, unit: last.write_unit, access };
            if let Some(missing) = missing {
                return Some((missing, side));
            }
        }
        if access != Access::Read {
            for read in last.reads {
                let overlaps = read.time != 0 && read.time != self.now && read.mask & mask != 0;
                if overlaps && !self.is_performed(read.unit, read.time, unit) {
                    let side = Side { time: read.time, unit: read.unit, access: Access::Read };
                    return Some((Missing::Wait { unit: read.unit }, side));
                }
            }
        }
        None
    }

    /// Whether an access is performed before one of the current command by a unit.
    fn is_performed(&self, unit: u8, time: Time, by: u8) -> bool {
        let description = &self.table.units[usize::from(unit)];
        let immediate = description.cache.is_none() && !description.posted;
        let ordered = unit == by && (description.in_order || description.posted);
        let last = self.table.units[usize::from(by)].last;
        immediate || ordered || last || self.performed[usize::from(unit)] > time
    }

    /// Time at which the data of a write was in a level, where units with other caches find it.
    fn arrival(&self, unit: u8, write: Time, level: Level) -> Result<Time, Missing> {
        let description = &self.table.units[usize::from(unit)];
        let Some(cache) = description.cache else {
            if !description.posted {
                return Ok(write);
            }
            return self.posted.arrival(write).ok_or(Missing::Wait { unit });
        };
        let state = &self.caches[usize::from(cache)];
        let from = self.table.caches[usize::from(cache)].fills_from;
        let through = if from == Level::Shared && level == Level::Memory {
            &state.to_memory
        } else {
            &state.down
        };
        through.arrival(write).ok_or_else(|| match through.pending.last() {
            Some(&(_, covered)) if covered > write => Missing::Finish { cache },
            _ => Missing::Flush { cache, to: from.max(level) },
        })
    }

    /// The event without which a unit may read something else than the last write.
    fn unseen(&self, line: &Line, last: &Granule, unit: u8) -> Option<Missing> {
        let writer = last.write_unit;
        let Some(cache) = self.cache_of(unit) else {
            return self.arrival(writer, last.write, Level::Memory).err();
        };
        if self.cache_of(writer) == Some(cache) {
            let performed = self.is_performed(writer, last.write, unit);
            return (!performed).then_some(Missing::Wait { unit: writer });
        }
        let level = self.table.caches[cache].fills_from;
        let arrival = match self.arrival(writer, last.write, level) {
            Ok(arrival) => arrival,
            Err(missing) => return Some(missing),
        };
        let state = &self.caches[cache];
        if state.invalidated > arrival {
            return None;
        }
        let (touch, dropped) = (&line.touches[cache], state.dropped.max(1));
        let held = if touch.first >= dropped { touch.first } else { touch.last };
        (held >= dropped && held < arrival).then_some(Missing::Invalidate { cache: cache as u8 })
    }

    /// The event without which a write may be overtaken by the last one.
    fn unordered_write(&self, last: &Granule, unit: u8) -> Option<Missing> {
        let writer = last.write_unit;
        let (from, to) = (self.cache_of(writer), self.cache_of(unit));
        if from == to {
            let performed = self.is_performed(writer, last.write, unit);
            return (!performed).then_some(Missing::Wait { unit: writer });
        }
        let level = to.map_or(Level::Memory, |cache| self.table.caches[cache].fills_from);
        let missing = self.arrival(writer, last.write, level).err()?;
        // Flushes that were asked for are complete before it.
        let follows = self.table.units[usize::from(unit)].last;
        (!follows || !matches!(missing, Missing::Finish { .. })).then_some(missing)
    }

    fn record(&self, last: &mut Granule, unit: u8, access: Access, mask: u8) {
        match access {
            Access::Write | Access::Atomic => {
                let same = last.write == self.now && last.write_unit == unit;
                last.written = if same { last.written | mask } else { mask };
                (last.write, last.write_unit) = (self.now, unit);
                last.atomic = access == Access::Atomic;
                last.reads = Default::default();
            }
            // Reads of units without a cache are performed at once.
            Access::Read if self.cache_of(unit).is_some() => {
                let open = |read: &Reads| {
                    read.time != 0 && self.performed[usize::from(read.unit)] <= read.time
                };
                let [first, second] = &mut last.reads;
                let slot = match (open(first), open(second)) {
                    (true, _) if first.unit == unit => first,
                    (_, true) if second.unit == unit => second,
                    (false, _) => first,
                    (_, false) => second,
                    _ => return,
                };
                match open(slot) {
                    true => slot.mask |= mask,
                    false => *slot = Reads { time: self.now, unit, mask },
                }
            }
            Access::Read => {}
        }
    }

    fn report(&mut self, hazard: Hazard) {
        let key = (hazard.missing, hazard.earlier, hazard.later);
        if self.hazards.len() < MAX_HAZARDS && self.seen.insert(key) {
            self.hazards.push(hazard);
        }
    }
}

/// The caches of a set.
pub(crate) fn bits(set: u32) -> impl Iterator<Item = usize> {
    (0..MAX_CACHES).filter(move |bit| set >> bit & 1 != 0)
}
