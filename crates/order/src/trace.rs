//! A recorded sequence, judged again without one of its events: how many of them the tracker would miss.

use std::collections::BTreeMap;

use crate::table::{CacheSet, Event, Level, Table, UnitSet};
use crate::tracker::{Access, Tracker};

/// Limit on the steps of a trace.
const MAX_STEPS: usize = 1 << 22;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Command,
    Event(Event),
    Access { unit: u8, access: Access, address: u64, bytes: u64 },
}

/// Commands, events and accesses in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    steps: Vec<Step>,
    truncated: bool,
}

/// Removals of a kind of event, and how many of them the tracker reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removals {
    /// Events that were removed one at a time.
    pub removed: u64,
    /// Removals after which there is a hazard.
    pub reported: u64,
}

impl Trace {
    /// Adds the beginning of a command.
    pub fn command(&mut self) {
        self.push(Step::Command);
    }

    /// Adds an event.
    pub fn event(&mut self, event: Event) {
        self.push(Step::Event(event));
    }

    /// Adds an access, as part of the last one where it continues or repeats it.
    pub fn access(&mut self, unit: u8, access: Access, address: u64, bytes: u64) {
        /// Number of the last steps that an access is compared with.
        const LOOK_BACK: usize = 8;
        let end = address.saturating_add(bytes);
        for step in self.steps.iter_mut().rev().take(LOOK_BACK) {
            let Step::Access { unit: u, access: a, address: from, bytes: length } = step else {
                break;
            };
            let to = *from + *length;
            if (*u, *a) == (unit, access) && address <= to && end >= *from {
                let start = address.min(*from);
                (*from, *length) = (start, end.max(to) - start);
                return;
            }
        }
        self.push(Step::Access { unit, access, address, bytes });
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.truncated = false;
    }

    /// Whether steps at the end are missing because there were too many.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    fn push(&mut self, step: Step) {
        match self.steps.len() < MAX_STEPS {
            true => self.steps.push(step),
            false => self.truncated = true,
        }
    }

    /// Whether the sequence has a hazard, with another event in place of the one at an index.
    fn has_hazard(&self, table: &'static Table, changed: Option<(usize, Option<Event>)>) -> bool {
        let mut tracker = Tracker::new(table);
        self.steps.iter().enumerate().any(|(index, step)| {
            match (*step, changed) {
                (Step::Event(_), Some((at, other))) if at == index => {
                    other.into_iter().for_each(|event| tracker.event(event));
                }
                (Step::Event(event), _) => tracker.event(event),
                (Step::Command, _) => {
                    tracker.command();
                }
                (Step::Access { unit, access, address, bytes }, _) => {
                    tracker.access(unit, access, address, bytes);
                }
            }
            !tracker.take().is_empty()
        })
    }

    /// Removes each event, and each cache of one, by itself; counts the removals and those that are reported by the
    /// name of the event. A sequence that has a hazard as it is gives none.
    #[must_use]
    pub fn removals(&self, table: &'static Table) -> BTreeMap<String, Removals> {
        let mut all: BTreeMap<String, Removals> = BTreeMap::new();
        if self.has_hazard(table, None) {
            return all;
        }
        for (index, step) in self.steps.iter().enumerate() {
            let Step::Event(event) = *step else { continue };
            for (name, rest) in weaker(table, event) {
                let count = all.entry(name).or_default();
                count.removed += 1;
                count.reported += u64::from(self.has_hazard(table, Some((index, rest))));
            }
        }
        all
    }
}

/// The events that are weaker than one by a cache, or by what it waits for, with the name of the difference.
fn weaker(table: &'static Table, event: Event) -> Vec<(String, Option<Event>)> {
    let without = |set: CacheSet, of: &dyn Fn(CacheSet) -> Event| {
        let caches = table.caches.iter().enumerate().filter(|(index, _)| set >> index & 1 != 0);
        let rest = |index: usize| Some(set & !(1 << index)).filter(|&set| set != 0).map(of);
        caches.map(|(index, cache)| (cache.name, rest(index))).collect::<Vec<_>>()
    };
    let named = |verb: &str, list: Vec<(&str, Option<Event>)>| {
        list.into_iter().map(|(name, rest)| (format!("{verb} {name}"), rest)).collect()
    };
    match event {
        Event::Invalidate(set) => named("invalidate", without(set, &Event::Invalidate)),
        Event::Flush(set, Level::Shared) => {
            named("flush to shared level", without(set, &|set| Event::Flush(set, Level::Shared)))
        }
        Event::Flush(set, Level::Memory) => {
            named("flush to memory", without(set, &|set| Event::Flush(set, Level::Memory)))
        }
        Event::Poll(_) => vec![("poll".to_owned(), None)],
        Event::Wait(_) => vec![("wait".to_owned(), None)],
        Event::Finish => vec![
            ("wait and finish flushes".to_owned(), None),
            ("finish flushes".to_owned(), Some(Event::Wait(UnitSet::MAX))),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cache, Unit};

    static TABLE: Table = Table {
        caches: &[
            Cache { name: "render", fills_from: Level::Memory, flush_invalidates: true },
            Cache { name: "texture", fills_from: Level::Memory, flush_invalidates: false },
        ],
        units: &[
            Unit { name: "target", cache: Some(0), in_order: true, posted: false, last: false },
            Unit { name: "sampler", cache: Some(1), in_order: false, posted: false, last: false },
        ],
    };

    /// A texture that is read, drawn to and read again.
    fn trace(barrier: &[Event]) -> Trace {
        let mut trace = Trace::default();
        trace.command();
        trace.access(1, Access::Read, 0x1000, 4);
        trace.event(Event::Finish);
        trace.command();
        trace.access(0, Access::Write, 0x1000, 4);
        barrier.iter().for_each(|&event| trace.event(event));
        trace.command();
        trace.access(1, Access::Read, 0x1000, 4);
        trace
    }

    #[test]
    fn each_event_is_removed_by_itself() {
        let barrier = [Event::Flush(0b01, Level::Memory), Event::Finish, Event::Invalidate(0b11)];
        let found = trace(&barrier).removals(&TABLE);
        let found: Vec<_> =
            found.iter().map(|(name, r)| (name.as_str(), r.removed, r.reported)).collect();
        let expected = [
            ("finish flushes", 2, 1),
            ("flush to memory render", 1, 1),
            // Nothing has read through it.
            ("invalidate render", 1, 0),
            ("invalidate texture", 1, 1),
            ("wait and finish flushes", 2, 2),
        ];
        assert_eq!(found, expected);
        assert!(trace(&barrier[..2]).removals(&TABLE).is_empty());
    }

    #[test]
    fn accesses_that_follow_each_other_are_one_step() {
        let mut trace = Trace::default();
        for at in [0, 4, 0x100, 8, 0x104, 4] {
            trace.access(0, Access::Read, at, 4);
        }
        trace.access(0, Access::Write, 12, 4);
        assert_eq!(trace.steps.len(), 3);
        trace.command();
        trace.access(0, Access::Read, 0, 4);
        assert_eq!(trace.steps.len(), 5);
    }
}
