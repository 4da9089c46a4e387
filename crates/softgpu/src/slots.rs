//! A limited number of resources that work items take in turn: slots of scratch memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Slots, of which each is taken by one work item at a time.
pub struct Slots<T> {
    free: Mutex<Vec<T>>,
    changed: Condvar,
}

/// A slot that is taken; dropping it frees the slot.
struct Taken<'s, T: Copy> {
    slots: &'s Slots<T>,
    slot: T,
}

impl<T: Copy> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.slots.free().push(self.slot);
        self.slots.changed.notify_one();
    }
}

impl<T: Copy> Slots<T> {
    /// Slots that are all free; the last one is taken first.
    pub fn new(slots: impl IntoIterator<Item = T>) -> Slots<T> {
        Slots { free: Mutex::new(slots.into_iter().collect()), changed: Condvar::new() }
    }

    fn free(&self) -> MutexGuard<'_, Vec<T>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `body` with a slot, once one is free. There must be slots.
    pub fn with<R>(&self, body: impl FnOnce(T) -> R) -> R {
        let mut free = self.free();
        let slot = loop {
            match free.pop() {
                Some(slot) => break slot,
                None => free = self.changed.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(free);
        let taken = Taken { slots: self, slot };
        body(taken.slot)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_slot_has_one_user() {
        let slots = Slots::new([0usize, 1]);
        let users = [AtomicU32::new(0), AtomicU32::new(0)];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        slots.with(|slot| {
                            assert_eq!(users[slot].fetch_add(1, Ordering::SeqCst), 0);
                            std::thread::yield_now();
                            users[slot].fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
    }

    #[test]
    fn work_that_panics_frees_its_slot() {
        let slots = Slots::new([7]);
        let panics = AssertUnwindSafe(|| slots.with(|_| panic!("work")));
        assert!(catch_unwind(panics).is_err());
        assert_eq!(slots.with(|slot| slot), 7);
    }
}
