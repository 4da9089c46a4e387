//! The tracker against a simulation of the caches that takes all allowed behaviours.
//!
//! A sequence of accesses and events over two lines is executed in every way in which the hardware may
//! execute it: accesses are performed late, lines are written back and dropped at any time. The tracker must
//! report its first hazard exactly at the first access from which on two executions differ, in a value that
//! was read or in the final memory.

use std::collections::HashSet;

use tepui_order::{Access, Cache, Event, Level, Table, Tracker, Unit};

const CACHES: usize = 3;
const GRANULES: usize = 2;
const STEPS: usize = 7;

/// Units 0 to 2 have a cache each; the first is in order, and its flush drops lines. Unit 3 accesses memory when its command is
/// read, unit 4 writes to memory later.
const fn table(caches: &'static [Cache]) -> Table {
    Table {
        caches,
        units: &[
            Unit { name: "target", cache: Some(0), in_order: true, posted: false, last: false },
            Unit { name: "port", cache: Some(1), in_order: false, posted: false, last: false },
            Unit { name: "sampler", cache: Some(2), in_order: false, posted: false, last: false },
            Unit { name: "streamer", cache: None, in_order: true, posted: false, last: false },
            Unit { name: "post-sync", cache: None, in_order: false, posted: true, last: true },
        ],
    }
}

macro_rules! caches {
    ($level:ident) => {
        &[
            Cache { name: "target", fills_from: Level::$level, flush_invalidates: true },
            Cache { name: "port", fills_from: Level::$level, flush_invalidates: false },
            Cache { name: "sampler", fills_from: Level::$level, flush_invalidates: false },
        ]
    };
}

static ONE_LEVEL: Table = table(caches!(Memory));
static TWO_LEVELS: Table = table(caches!(Shared));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Access(u8, Access, usize),
    Event(Event),
}

/// A value: the step that wrote it, 0 before all.
type Value = u8;

/// A cached line: values, and which of them are to be written back.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Copy {
    values: [Value; GRANULES],
    present: [bool; GRANULES],
    dirty: [bool; GRANULES],
}

/// State of the machine between two steps.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Machine {
    memory: [Value; GRANULES],
    /// Data of the shared cache that memory does not have, with the cache that it came from.
    shared: [Option<(u8, Value)>; GRANULES],
    caches: [Option<Copy>; CACHES],
    /// Steps that are begun and not performed, in order.
    pending: Vec<usize>,
    /// Value that each step has read.
    reads: [Value; STEPS],
}

struct Run<'a> {
    two_levels: bool,
    steps: &'a [Step],
}

impl Run<'_> {
    fn below(&self, m: &Machine, g: usize) -> Value {
        m.shared[g].map_or(m.memory[g], |(_, value)| value)
    }

    /// Writes the dirty data of a cache down.
    fn write_back(&self, m: &mut Machine, cache: usize) {
        let Some(mut copy) = m.caches[cache] else { return };
        for g in 0..GRANULES {
            if copy.dirty[g] {
                match self.two_levels {
                    true => m.shared[g] = Some((cache as u8, copy.values[g])),
                    false => m.memory[g] = copy.values[g],
                }
                copy.dirty[g] = false;
            }
        }
        m.caches[cache] = Some(copy);
    }

    fn perform(&self, m: &Machine, index: usize) -> Vec<Machine> {
        let mut m = m.clone();
        match self.steps[index] {
            Step::Access(unit, access, g) => {
                let value = index as Value + 1;
                let Some(cache) = ONE_LEVEL.units[usize::from(unit)].cache else {
                    match access {
                        Access::Read => m.reads[index] = m.memory[g],
                        _ => m.memory[g] = value,
                    }
                    return vec![m];
                };
                let cache = usize::from(cache);
                let empty = Copy {
                    values: [0; GRANULES],
                    present: [false; GRANULES],
                    dirty: [false; GRANULES],
                };
                let mut copy = m.caches[cache].unwrap_or(empty);
                let fill = |copy: &mut Copy, m: &Machine| {
                    for other in 0..GRANULES {
                        if !copy.present[other] {
                            copy.values[other] = self.below(m, other);
                            copy.present[other] = true;
                        }
                    }
                };
                match access {
                    Access::Read => {
                        fill(&mut copy, &m);
                        m.reads[index] = copy.values[g];
                        m.caches[cache] = Some(copy);
                        vec![m]
                    }
                    _ => {
                        copy.values[g] = value;
                        (copy.present[g], copy.dirty[g]) = (true, true);
                        // A write may read the rest of the line, or not.
                        let mut filled = (m.clone(), copy);
                        fill(&mut filled.1, &m);
                        filled.0.caches[cache] = Some(filled.1);
                        m.caches[cache] = Some(copy);
                        vec![m, filled.0]
                    }
                }
            }
            Step::Event(Event::Flush(set, level)) => {
                for cache in (0..CACHES).filter(|cache| set >> cache & 1 != 0) {
                    match (self.two_levels, level) {
                        (true, Level::Memory) => {
                            for g in 0..GRANULES {
                                if let Some((_, value)) =
                                    m.shared[g].filter(|&(from, _)| usize::from(from) == cache)
                                {
                                    (m.memory[g], m.shared[g]) = (value, None);
                                }
                            }
                        }
                        (false, Level::Shared) => {}
                        _ => {
                            self.write_back(&mut m, cache);
                            if ONE_LEVEL.caches[cache].flush_invalidates {
                                m.caches[cache] = None;
                            }
                        }
                    }
                }
                vec![m]
            }
            Step::Event(_) => vec![m],
        }
    }

    /// Whether a pending step may be performed next: flushes and the last unit after all that is before them, accesses in order within a unit that
    /// keeps it.
    fn ready(&self, m: &Machine, at: usize) -> bool {
        let earlier = &m.pending[..at];
        match self.steps[m.pending[at]] {
            Step::Access(unit, ..) => {
                let description = &ONE_LEVEL.units[usize::from(unit)];
                if description.last {
                    return at == 0;
                }
                !description.in_order
                    || !earlier
                        .iter()
                        .any(|&e| matches!(self.steps[e], Step::Access(other, ..) if other == unit))
            }
            Step::Event(_) => at == 0,
        }
    }

    /// All states that are reached without beginning another step.
    fn closure(&self, from: HashSet<Machine>) -> HashSet<Machine> {
        let mut all = from.clone();
        let mut open: Vec<Machine> = from.into_iter().collect();
        while let Some(m) = open.pop() {
            let mut next = Vec::new();
            for at in 0..m.pending.len() {
                if self.ready(&m, at) {
                    let mut rest = m.clone();
                    let index = rest.pending.remove(at);
                    next.extend(self.perform(&rest, index));
                }
            }
            for cache in 0..CACHES {
                if let Some(copy) = m.caches[cache] {
                    let mut other = m.clone();
                    if copy.dirty.contains(&true) {
                        self.write_back(&mut other, cache);
                    } else {
                        other.caches[cache] = None;
                    }
                    next.push(other);
                }
            }
            for g in 0..GRANULES {
                if let Some((_, value)) = m.shared[g] {
                    let mut other = m.clone();
                    (other.memory[g], other.shared[g]) = (value, None);
                    next.push(other);
                }
            }
            for m in next {
                if all.insert(m.clone()) {
                    open.push(m);
                }
            }
        }
        all
    }

    /// Whether all executions of the first steps read the same, and leave the same in memory.
    fn is_determined(&self, count: usize) -> bool {
        let mut states = HashSet::from([Machine {
            memory: [0; GRANULES],
            shared: [None; GRANULES],
            caches: [None; CACHES],
            pending: Vec::new(),
            reads: [0; STEPS],
        }]);
        for index in 0..count {
            let reached = self.closure(states);
            states = match self.steps[index] {
                Step::Access(unit, ..) => {
                    let description = &ONE_LEVEL.units[usize::from(unit)];
                    let immediate = description.cache.is_none() && !description.posted;
                    let begin = |mut m: Machine| match immediate {
                        true => self.perform(&m, index),
                        false => {
                            m.pending.push(index);
                            vec![m]
                        }
                    };
                    reached.into_iter().flat_map(begin).collect()
                }
                Step::Event(Event::Flush(..)) => {
                    let begin = |mut m: Machine| {
                        m.pending.push(index);
                        m
                    };
                    reached.into_iter().map(begin).collect()
                }
                Step::Event(Event::Invalidate(set)) => {
                    let drop = |mut m: Machine| {
                        for cache in (0..CACHES).filter(|cache| set >> cache & 1 != 0) {
                            self.write_back(&mut m, cache);
                            m.caches[cache] = None;
                        }
                        m
                    };
                    reached.into_iter().map(drop).collect()
                }
                Step::Event(Event::Finish) => {
                    reached.into_iter().filter(|m| m.pending.is_empty()).collect()
                }
                // The value that is waited for is that of the last write, if it is one of the unit that comes last.
                Step::Event(Event::Poll(address)) => {
                    let g = (address - 0x1000) as usize / 4;
                    let wrote = |step: &Step| matches!(*step, Step::Access(_, Access::Write, at) if at == g);
                    let last = self.steps[..index].iter().rposition(wrote);
                    let last = last.filter(|&at| matches!(self.steps[at], Step::Access(4, ..)));
                    let seen = |m: &Machine| last.is_none_or(|at| m.memory[g] == at as Value + 1);
                    reached.into_iter().filter(seen).collect()
                }
                Step::Event(Event::Wait(units)) => {
                    let waits = |&step: &usize| matches!(self.steps[step], Step::Access(unit, ..) if units >> unit & 1 != 0);
                    reached.into_iter().filter(|m| !m.pending.iter().any(waits)).collect()
                }
            };
        }
        let ends: HashSet<_> = self
            .closure(states)
            .into_iter()
            .filter(|m| {
                let clean = |c: &Option<Copy>| c.is_none_or(|c| !c.dirty.contains(&true));
                m.pending.is_empty()
                    && m.shared.iter().all(Option::is_none)
                    && m.caches.iter().all(clean)
            })
            .map(|m| (m.reads, m.memory))
            .collect();
        assert!(!ends.is_empty());
        ends.len() == 1
    }
}

fn random(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

/// A sequence in which events often follow a write that a later access needs them for.
fn sequence(seed: &mut u64) -> Vec<Step> {
    let level = |n| if n == 0 { Level::Shared } else { Level::Memory };
    (0..STEPS)
        .map(|_| match random(seed) % 9 {
            0..=3 => {
                let unit = random(seed) as u8 % 5;
                let write = unit == 4 || unit != 2 && random(seed).is_multiple_of(2);
                let access = if write { Access::Write } else { Access::Read };
                Step::Access(unit, access, usize::from(random(seed).is_multiple_of(4)))
            }
            4 | 5 => {
                Step::Event(Event::Flush(1 + random(seed) as u32 % 3, level(random(seed) % 2)))
            }
            6 => Step::Event(Event::Invalidate(4)),
            7 => Step::Event(match random(seed) % 3 {
                0 => Event::Poll(0x1000 + 4 * (random(seed) as u64 % 2)),
                _ => Event::Finish,
            }),
            _ => Step::Event(Event::Wait(if random(seed).is_multiple_of(2) {
                0b1111
            } else {
                0b1_0000
            })),
        })
        .collect()
}

/// Index of the step at which the tracker reports its first hazard.
fn first_hazard(table: &'static Table, steps: &[Step]) -> Option<usize> {
    let mut tracker = Tracker::new(table);
    steps.iter().position(|step| {
        match *step {
            Step::Access(unit, access, g) => {
                tracker.command();
                tracker.access(unit, access, 0x1000 + 4 * g as u64, 4);
            }
            Step::Event(event) => tracker.event(event),
        }
        !tracker.take().is_empty()
    })
}

/// Compares the tracker with the simulation; whether there is a hazard.
fn compare(two_levels: bool, steps: &[Step]) -> bool {
    let table = if two_levels { &TWO_LEVELS } else { &ONE_LEVEL };
    let hazard = first_hazard(table, steps);
    let run = Run { two_levels, steps };
    match hazard {
        Some(at) => {
            assert!(run.is_determined(at), "found too late, at {at}: {steps:?}");
            assert!(!run.is_determined(at + 1), "nothing is wrong at {at}: {steps:?}");
        }
        None => assert!(run.is_determined(steps.len()), "nothing found: {steps:?}"),
    }
    hazard.is_some()
}

#[test]
fn hazards_are_the_accesses_whose_result_may_differ() {
    let (mut seed, mut found, mut clean) = (7, 0, 0);
    for round in 0..6000 {
        match compare(round % 2 == 1, &sequence(&mut seed)) {
            true => found += 1,
            false => clean += 1,
        }
    }
    assert!(found > 1000 && clean > 1000, "{found} {clean}");
}

/// The sampler may read its line before or after the streamer's write, but not without the invalidation between.
#[test]
fn an_invalidation_after_the_write_suffices_while_reads_are_in_flight() {
    let steps = [
        Step::Access(2, Access::Read, 1),
        Step::Access(3, Access::Write, 0),
        Step::Event(Event::Invalidate(4)),
        Step::Access(2, Access::Read, 0),
    ];
    for two_levels in [false, true] {
        assert!(!compare(two_levels, &steps));
        assert!(compare(two_levels, &[steps[0], steps[1], steps[3]]));
    }
}

/// Atomics of two commands give the same sum in either order; a plain read afterwards has to wait for both.
#[test]
fn atomics_of_one_cache_need_no_order() {
    let mut tracker = Tracker::new(&ONE_LEVEL);
    let mut access = |unit, access| {
        tracker.command();
        tracker.access(unit, access, 0x1000, 4);
        tracker.take().len()
    };
    assert_eq!(access(1, Access::Atomic), 0);
    assert_eq!(access(1, Access::Atomic), 0);
    assert_eq!(access(1, Access::Read), 1);
    assert_eq!(access(1, Access::Atomic), 1);
    assert_eq!(access(0, Access::Atomic), 1);
}
