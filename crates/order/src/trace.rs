//! A recorded sequence, judged again without a part of one of its barriers: by the tracker, and by relaxed execution.

use std::collections::BTreeMap;

use crate::relaxed::RelaxedRun;
use crate::table::{CacheSet, Event, Level, Table};
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

/// Removals of a kind of event from barriers, and how many of them the tracker reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removals {
    /// Removals, one at a time.
    pub removed: u64,
    /// Removals after which the checker finds something.
    pub reported: u64,
    /// Removals after which some of the relaxed executions give another result.
    pub different: u64,
    /// Removals that give another result and are not reported.
    pub missed: u64,
    /// Removals that a static checker finds.
    pub found: u64,
}

impl Removals {
    /// Counts a removal: whether a static checker finds it, whether the checker reports it, and whether it gives another result.
    pub fn add(&mut self, found: bool, reported: bool, different: bool) {
        *self += Removals {
            removed: 1,
            reported: u64::from(reported),
            different: u64::from(different),
            missed: u64::from(different && !reported && !found),
            found: u64::from(found),
        };
    }
}

/// Elements of a list, evenly spaced: all, or as many as a limit.
pub fn spaced<T>(list: &[T], limit: usize) -> impl Iterator<Item = &T> {
    let count = list.len().min(limit);
    (0..count).map(move |n| &list[n * list.len() / count])
}

impl std::ops::AddAssign for Removals {
    fn add_assign(&mut self, other: Removals) {
        self.removed += other.removed;
        self.reported += other.reported;
        self.different += other.different;
        self.missed += other.missed;
        self.found += other.found;
    }
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

    fn push(&mut self, step: Step) {
        match self.steps.len() < MAX_STEPS {
            true => self.steps.push(step),
            false => self.truncated = true,
        }
    }

    /// Calls a function with each step, with other events in place of those at some indices.
    fn walk(&self, changes: &[Change], mut with: impl FnMut(Step) -> bool) -> bool {
        self.steps.iter().enumerate().any(|(index, &step)| {
            match changes.iter().find(|(changed, _)| *changed == index) {
                Some(&(_, other)) => other.is_some_and(|event| with(Step::Event(event))),
                None => with(step),
            }
        })
    }

    /// Whether the sequence has a hazard.
    fn has_hazard(&self, table: &'static Table, changes: &[Change]) -> bool {
        let mut tracker = Tracker::new(table);
        self.walk(changes, |step| {
            match step {
                Step::Event(event) => tracker.event(event),
                Step::Command => {
                    tracker.command();
                }
                Step::Access { unit, access, address, bytes } => {
                    tracker.access(unit, access, address, bytes);
                }
            }
            !tracker.take().is_empty()
        })
    }

    /// The result of a relaxed execution by a seed: a hash of what is read and of memory at the end. Writes store numbers
    /// of their own.
    fn relaxed(&self, table: &'static Table, seed: u64, changes: &[Change]) -> u64 {
        let mut run = RelaxedRun::new(table, seed);
        self.walk(changes, |step| {
            match step {
                Step::Event(event) => run.event(event),
                Step::Command => run.command(),
                Step::Access { unit, access, address, bytes } => {
                    run.access(unit, access, address, bytes);
                }
            }
            false
        });
        run.finish()
    }

    /// Whether relaxed executions with the first seeds give different results.
    #[must_use]
    pub fn differs(&self, table: &'static Table, seeds: u64) -> bool {
        let first = self.relaxed(table, 0, &[]);
        (1..seeds).any(|seed| self.relaxed(table, seed, &[]) != first)
    }

    /// Whether there is a hazard.
    #[must_use]
    pub fn is_reported(&self, table: &'static Table) -> bool {
        self.has_hazard(table, &[])
    }

    /// The events of each barrier: those without an access through a cache between them.
    fn barriers(&self, table: &'static Table) -> Vec<Vec<(usize, Event)>> {
        let mut all = vec![Vec::new()];
        for (index, step) in self.steps.iter().enumerate() {
            let last = all.last_mut().map_or(0, |last: &mut Vec<_>| {
                if let Step::Event(event) = *step {
                    last.push((index, event));
                }
                last.len()
            });
            let ends = matches!(*step, Step::Access { unit, .. }
                if table.units[usize::from(unit)].cache.is_some());
            if ends && last > 0 {
                all.push(Vec::new());
            }
        }
        all.retain(|barrier| !barrier.is_empty());
        all
    }

    /// Removes each kind of event from each barrier, one at a time: each cache of its flushes and invalidations, its
    /// stalls, and the whole barrier. Counts by the name of what is removed the removals, those that are reported, and
    /// those after which relaxed executions with some seeds give another result. Of a kind there are up to `limit`, evenly
    /// spaced. Nothing is said about a sequence that is incomplete, that has a hazard as it is, or of which executions differ as it
    /// is: within a command, accesses are in no order.
    #[must_use]
    pub fn removals(
        &self,
        table: &'static Table,
        seeds: u64,
        limit: usize,
    ) -> Option<BTreeMap<String, Removals>> {
        let mut all: BTreeMap<String, Removals> = BTreeMap::new();
        if self.truncated || self.has_hazard(table, &[]) || self.differs(table, seeds) {
            return None;
        }
        let mut kinds: BTreeMap<String, Vec<Vec<Change>>> = BTreeMap::new();
        for barrier in self.barriers(table) {
            for (name, changes) in weaker_barriers(table, &barrier) {
                kinds.entry(name).or_default().push(changes);
            }
        }
        let right = self.relaxed(table, 0, &[]);
        for (name, removals) in kinds {
            for changes in spaced(&removals, limit) {
                let reported = self.has_hazard(table, changes);
                let other = |seed| self.relaxed(table, seed, changes) != right;
                let different = (0..seeds).any(other);
                all.entry(name.clone()).or_default().add(false, reported, different);
            }
        }
        Some(all)
    }
}

/// An event in place of the one at an index; none if it is removed.
type Change = (usize, Option<Event>);

/// The barriers that are weaker than one by a kind of event, with the name of the difference.
fn weaker_barriers(
    table: &'static Table,
    barrier: &[(usize, Event)],
) -> BTreeMap<String, Vec<Change>> {
    let mut all: BTreeMap<String, Vec<Change>> = BTreeMap::new();
    for &(index, event) in barrier {
        for (name, rest) in weaker(table, event) {
            all.entry(name).or_default().push((index, rest));
        }
        all.entry("the whole barrier".to_owned()).or_default().push((index, None));
    }
    all
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
        Event::Finish => {
            let wait = Event::Wait(table.units_where(|unit| !unit.posted));
            vec![
                ("wait and finish flushes".to_owned(), None),
                ("finish flushes".to_owned(), Some(wait)),
            ]
        }
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
        let found = trace(&barrier).removals(&TABLE, 64, usize::MAX).expect("a right sequence");
        let counts = |(name, r): (&'static str, &Removals)| {
            (name, [r.removed, r.reported, r.different, r.missed])
        };
        let names = found.iter().map(|(name, r)| counts((name.clone().leak(), r)));
        let expected = [
            ("finish flushes", [2, 1, 1, 0]),
            ("flush to memory render", [1, 1, 1, 0]),
            // Nothing has read through it.
            ("invalidate render", [1, 0, 0, 0]),
            ("invalidate texture", [1, 1, 1, 0]),
            ("the whole barrier", [2, 2, 2, 0]),
            ("wait and finish flushes", [2, 2, 2, 0]),
        ];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        assert!(trace(&barrier[..2]).removals(&TABLE, 1, usize::MAX).is_none());
        let one = trace(&barrier).removals(&TABLE, 1, 1).expect("a right sequence");
        assert_eq!(one["finish flushes"].removed, 1);
        assert_eq!(spaced(&[0, 1, 2, 3, 4], 2).collect::<Vec<_>>(), [&0, &2]);
        assert!(trace(&barrier[..2]).differs(&TABLE, 64));
        assert!(!trace(&barrier).differs(&TABLE, 64));
    }

    /// A draw that samples its own target has no hazard, since a command's own accesses are in no order; its executions differ.
    #[test]
    fn sequences_of_which_executions_differ_are_not_judged() {
        let mut trace = Trace::default();
        trace.command();
        trace.access(1, Access::Read, 0x1000, 4);
        trace.event(Event::Finish);
        trace.command();
        trace.access(0, Access::Write, 0x1000, 4);
        trace.access(1, Access::Read, 0x1000, 4);
        assert!(!trace.is_reported(&TABLE) && trace.differs(&TABLE, 64));
        assert!(trace.removals(&TABLE, 64, usize::MAX).is_none());
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
