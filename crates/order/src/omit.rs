//! Runs without one of their events, and programs without one of their waits: the model leaves it out, and a tool looks who notices.
//!
//! A model asks its [`Omission`] at each event that orders work, before it handles it. A run without an omission
//! counts the events; each of them can then be left out of another run of the same work. Events are numbered within a
//! front end, such as a queue, so that they have the same numbers when front ends take turns of other lengths.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limit on the events that a run counts.
const MAX_EVENTS: usize = 1 << 16;

/// An event of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderEvent {
    /// The front end that handles it, such as the number of a queue.
    pub front: u32,
    /// Its number among the front end's events.
    pub index: u32,
    /// Number of the work that the front end has begun before it.
    pub after: u32,
    /// Its kind, for statistics.
    pub kind: &'static str,
}

/// Events that a run goes without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Omitted {
    /// One event.
    Event(OrderEvent),
    /// All events of a front end between two pieces of work: after the first ones, up to a number.
    Barrier {
        /// The front end.
        front: u32,
        /// The number of the work before.
        after: u32,
    },
}

/// An instruction of a program without its wait for other instructions: bytes that a tool writes over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeChange {
    /// The kind of wait, for statistics.
    pub kind: &'static str,
    /// Address of the first byte that is replaced.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the static checker finds the changed program wrong; none if there is no such checker.
    pub is_found: Option<bool>,
}

#[derive(Debug, Default)]
struct State {
    omitted: Option<Omitted>,
    /// By front end: events, and work.
    counts: BTreeMap<u32, [u32; 2]>,
    events: Vec<OrderEvent>,
}

/// Events of a run, one of which the model leaves out. Nothing is counted before [`Omission::begin`].
#[derive(Debug, Default)]
pub struct Omission {
    counts: AtomicBool,
    state: Mutex<State>,
}

impl Omission {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run without events of an earlier one, or with all of them.
    pub fn begin(&self, omitted: Option<Omitted>) {
        *self.state() = State { omitted, ..State::default() };
        self.counts.store(true, Ordering::Relaxed);
    }

    /// The events of the run since [`Omission::begin`], those that were left out as well.
    #[must_use]
    pub fn events(&self) -> Vec<OrderEvent> {
        self.state().events.clone()
    }

    /// Counts an event of a front end; returns whether the model leaves it out.
    pub fn omits(&self, front: u32, kind: &'static str) -> bool {
        if !self.counts.load(Ordering::Relaxed) {
            return false;
        }
        let mut state = self.state();
        let [index, after] = *state.counts.entry(front).or_default();
        let event = OrderEvent { front, index, after, kind };
        state.counts.insert(front, [index.saturating_add(1), after]);
        if state.events.len() < MAX_EVENTS {
            state.events.push(event);
        }
        match state.omitted {
            Some(Omitted::Event(omitted)) => omitted == event,
            Some(Omitted::Barrier { front: of, after: at }) => (of, at) == (front, after),
            None => false,
        }
    }

    /// Counts work that a front end begins.
    pub fn work(&self, front: u32) {
        if self.counts.load(Ordering::Relaxed) {
            let mut state = self.state();
            let [_, work] = state.counts.entry(front).or_default();
            *work = work.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_of_one_front_end_is_left_out() {
        let omission = Omission::default();
        assert!(!omission.omits(0, "wait") && omission.events().is_empty());
        // Front ends take turns in another order in each run.
        let run = |fronts: [u32; 4]| fronts.map(|front| omission.omits(front, "wait"));
        omission.begin(None);
        assert_eq!(run([0, 0, 1, 1]), [false; 4]);
        let event = omission.events()[1];
        assert_eq!(event, OrderEvent { front: 0, index: 1, after: 0, kind: "wait" });
        omission.begin(Some(Omitted::Event(event)));
        assert_eq!(run([1, 0, 1, 0]), [false, false, false, true]);
        assert_eq!(omission.events().len(), 4);
        omission.begin(Some(Omitted::Event(OrderEvent { kind: "flush", ..event })));
        assert_eq!(run([0, 0, 1, 1]), [false; 4]);
        // All events between two pieces of work.
        omission.begin(Some(Omitted::Barrier { front: 0, after: 1 }));
        assert_eq!(run([0, 0, 1, 1]), [false; 4]);
        omission.work(0);
        assert_eq!(run([0, 1, 0, 1]), [true, false, true, false]);
        omission.work(0);
        assert_eq!(run([0; 4]), [false; 4]);
    }
}
