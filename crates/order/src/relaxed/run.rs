//! Relaxed execution of a recorded sequence, with numbers in place of what programs compute.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

use super::{Backing, Caches, Choices, Item, Schedule, Until};
use crate::shadow::LINE_BYTES;
use crate::table::{CacheSet, Event, Level, Table};
use crate::tracker::Access;

const LINE: usize = LINE_BYTES as usize;

/// Memory that holds, for each byte, a number that stands for its last write; 0 before all.
#[derive(Default)]
struct Numbers(FxHashMap<u64, Box<[u8; LINE]>>);

impl Numbers {
    fn hash(&self, hasher: &mut FxHasher) {
        let mut lines: Vec<_> = self.0.iter().collect();
        lines.sort_unstable_by_key(|&(line, _)| line);
        for (&line, bytes) in lines {
            hasher.write_u64(line);
            hasher.write(&bytes[..]);
        }
    }
}

impl Backing for Numbers {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        for (at, byte) in (address..).zip(into) {
            let line = self.0.get(&(at / LINE_BYTES));
            *byte = line.map_or(0, |line| line[(at % LINE_BYTES) as usize]);
        }
        true
    }

    fn write(&mut self, address: u64, from: &[u8]) {
        for (at, &byte) in (address..).zip(from) {
            let line = self.0.entry(at / LINE_BYTES).or_insert_with(|| Box::new([0; LINE]));
            line[(at % LINE_BYTES) as usize] = byte;
        }
    }
}

/// An access of a command: its unit, and the bytes.
#[derive(Clone, Copy, Debug)]
struct Performed {
    unit: u8,
    access: Access,
    address: u64,
    bytes: u64,
}

/// Work that is performed later.
enum Work {
    /// The accesses of a command, and its number.
    Command(u32, Vec<Performed>),
    /// A flush.
    Flush(CacheSet, Level),
}

/// An execution of a sequence, by a seed.
pub(crate) struct RelaxedRun {
    table: &'static Table,
    caches: Caches,
    schedule: Schedule<Work>,
    memory: Numbers,
    /// Number of the current command, and its accesses that are performed later.
    command: u32,
    later: Vec<Performed>,
    /// Hash of what each command has read; sums do not depend on the order of commands.
    seen: u64,
}

impl RelaxedRun {
    pub fn new(table: &'static Table, seed: u64) -> RelaxedRun {
        RelaxedRun {
            table,
            caches: Caches::new(table, Choices::new(seed)),
            schedule: Schedule::new(Choices::new(!seed)),
            memory: Numbers::default(),
            command: 0,
            later: Vec::new(),
            seen: 0,
        }
    }

    /// Begins a command.
    pub fn command(&mut self) {
        self.end_command();
        self.command += 1;
        self.caches.age(&mut self.memory);
        if let Some(work) = self.schedule.spontaneous() {
            self.perform(work);
        }
    }

    pub fn access(&mut self, unit: u8, access: Access, address: u64, bytes: u64) {
        let access = Performed { unit, access, address, bytes };
        let description = &self.table.units[usize::from(unit)];
        match description.cache.is_none() && !description.posted {
            true => self.perform(Work::Command(self.command, vec![access])),
            false => self.later.push(access),
        }
    }

    pub fn event(&mut self, event: Event) {
        self.end_command();
        match event {
            Event::Wait(units) => {
                let waited = self.table.units_where(|unit| !unit.posted || unit.last);
                self.wait(Until::Units(units & waited));
            }
            Event::Finish => self.wait(Until::Empty),
            Event::Poll(address) => self.wait(Until::Written(address)),
            Event::Flush(caches, to) => {
                let work = Work::Flush(caches, to);
                self.schedule.begin(Item { work, units: 0, class: None, last: true, writes: None });
            }
            Event::Invalidate(caches) => self.caches.invalidate(caches, &mut self.memory),
        }
    }

    /// Performs everything that is left; a hash of what was read, and of memory.
    pub fn finish(mut self) -> u64 {
        self.end_command();
        self.wait(Until::Empty);
        self.caches.finish(&mut self.memory);
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.seen);
        self.memory.hash(&mut hasher);
        hasher.finish()
    }

    /// Holds the accesses of the command back.
    fn end_command(&mut self) {
        let accesses = std::mem::take(&mut self.later);
        let Some(&first) = accesses.first() else { return };
        let units = accesses.iter().fold(0, |set, access| set | 1 << access.unit);
        let described = |access: &Performed| &self.table.units[usize::from(access.unit)];
        let item = Item {
            units,
            class: accesses.iter().any(|a| described(a).in_order).then_some(0),
            last: accesses.iter().any(|a| described(a).last),
            writes: described(&first).last.then_some(first.address),
            work: Work::Command(self.command, accesses),
        };
        self.schedule.begin(item);
    }

    fn wait(&mut self, until: Until) {
        while let Some(work) = self.schedule.next(until) {
            self.perform(work);
        }
    }

    fn perform(&mut self, work: Work) {
        match work {
            Work::Flush(caches, to) => self.caches.flush(caches, to, &mut self.memory),
            Work::Command(command, accesses) => {
                let mut hasher = FxHasher::default();
                for access in &accesses {
                    self.perform_access(command, access, &mut hasher);
                }
                self.seen = self.seen.wrapping_add(hasher.finish());
            }
        }
    }

    fn perform_access(&mut self, command: u32, access: &Performed, hasher: &mut FxHasher) {
        let &Performed { unit, access: kind, address, bytes } = access;
        let mut values = vec![0; bytes as usize];
        if kind != Access::Write {
            self.caches.read(unit, address, &mut values, &mut self.memory);
        }
        let number = |at: u64| {
            let mut hasher = FxHasher::default();
            hasher.write_u64(u64::from(command) << 8 | u64::from(unit));
            hasher.write_u64(at);
            (hasher.finish() >> 56) as u8
        };
        match kind {
            Access::Read => {
                hasher.write_u32(command);
                hasher.write_u64(address);
                hasher.write(&values);
                return;
            }
            Access::Write => {
                values.iter_mut().zip(address..).for_each(|(value, at)| *value = number(at));
            }
            // A sum, which is the same in each order.
            Access::Atomic => {
                let add = |(value, at): (&mut u8, u64)| *value = value.wrapping_add(number(at));
                values.iter_mut().zip(address..).for_each(add);
            }
        }
        self.caches.write(unit, address, &values, &mut self.memory);
    }
}
