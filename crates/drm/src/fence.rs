//! Fences: one-shot completion of GPU work, with or without an error.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use crate::{lock, monotonic_ns};

/// The result of the work that a fence stands for.
pub type Outcome = Result<(), Errno>;

type Callback = Box<dyn FnOnce(Outcome) + Send>;

enum State {
    Pending(Vec<Callback>),
    Done(Outcome, u64),
}

/// A completion that is signalled once. Clones refer to the same fence.
#[derive(Clone)]
pub struct Fence(Arc<Mutex<State>>);

impl Default for Fence {
    fn default() -> Self {
        Fence::new()
    }
}

impl Fence {
    /// Creates an unsignalled fence.
    pub fn new() -> Fence {
        Fence(Arc::new(Mutex::new(State::Pending(Vec::new()))))
    }

    /// Creates a signalled fence.
    pub fn signaled() -> Fence {
        Fence(Arc::new(Mutex::new(State::Done(Ok(()), monotonic_ns()))))
    }

    /// Combines fences: the result signals once all of these have, with the first error among them.
    pub fn all(fences: &[Fence]) -> Fence {
        match fences {
            [] => return Fence::signaled(),
            [one] => return one.clone(),
            _ => {}
        }
        let whole = Fence::new();
        let left = Arc::new(AtomicUsize::new(fences.len()));
        let error = Arc::new(Mutex::new(Ok(())));
        for fence in fences {
            let (whole, left, error) = (whole.clone(), left.clone(), error.clone());
            fence.on_signal(move |outcome| {
                {
                    let mut error = lock(&error);
                    *error = error.and(outcome);
                }
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    let outcome = *lock(&error);
                    whole.signal(outcome);
                }
            });
        }
        whole
    }

    /// Signals the fence. Later calls have no effect.
    pub fn signal(&self, outcome: Outcome) {
        let callbacks = {
            let mut state = lock(&self.0);
            match &mut *state {
                State::Done(..) => return,
                State::Pending(callbacks) => {
                    let callbacks = std::mem::take(callbacks);
                    *state = State::Done(outcome, monotonic_ns());
                    callbacks
                }
            }
        };
        for callback in callbacks {
            callback(outcome);
        }
        notify();
    }

    /// The result, if the fence has signalled.
    pub fn outcome(&self) -> Option<Outcome> {
        match *lock(&self.0) {
            State::Pending(_) => None,
            State::Done(outcome, _) => Some(outcome),
        }
    }

    /// Time of the signal in nanoseconds of CLOCK_MONOTONIC.
    pub fn signaled_at_ns(&self) -> Option<u64> {
        match *lock(&self.0) {
            State::Pending(_) => None,
            State::Done(_, at) => Some(at),
        }
    }

    /// Number of references to this fence, for tests.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether the fence has signalled.
    pub fn is_signaled(&self) -> bool {
        self.outcome().is_some()
    }

    /// Runs a callback when the fence signals, immediately if it has. Callbacks live until then, so a
    /// waiter with a deadline uses [`wait_until`] instead.
    pub fn on_signal(&self, callback: impl FnOnce(Outcome) + Send + 'static) {
        let outcome = match &mut *lock(&self.0) {
            State::Pending(callbacks) => return callbacks.push(Box::new(callback)),
            State::Done(outcome, _) => *outcome,
        };
        callback(outcome);
    }

    /// Waits without a deadline.
    pub fn wait(&self) -> Outcome {
        wait_until(None, || self.outcome()).unwrap_or(Err(Errno::TIME))
    }
}

/// Counter of changes of any fence or sync object. One condition variable for all of them makes waits
/// for several objects, with reset and wait-before-signal, free of races and of per-fence lists.
static CHANGES: (Mutex<u64>, Condvar) = (Mutex::new(0), Condvar::new());

/// Wakes every waiter in [`wait_until`] to evaluate its condition again.
pub fn notify() {
    *lock(&CHANGES.0) += 1;
    CHANGES.1.notify_all();
}

thread_local! {
    /// The client for which this thread waits, and whether it is gone.
    static CLIENT_GONE: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs `body` on behalf of a client that may go away: once `gone` is set and waiters are woken ([`notify`]), each
/// wait of `body` ends as if its deadline had passed, as a kernel's waits end when the process is killed.
pub fn on_behalf_of<T>(gone: Arc<AtomicBool>, body: impl FnOnce() -> T) -> T {
    struct Restore(Option<Arc<AtomicBool>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CLIENT_GONE.set(self.0.take());
        }
    }
    let _restore = Restore(CLIENT_GONE.replace(Some(gone)));
    body()
}

/// Waits for work that is being recorded before its client goes on, so that memory changes by the GPU alone while
/// the recorder compares it before and after. Work that waits for the client itself, by memory, ends the wait after
/// a second.
pub fn wait_recorded(done: &[Fence]) {
    const LONGEST_NS: u64 = 1_000_000_000;
    let ended = || done.iter().all(Fence::is_signaled).then_some(());
    wait_until(Some(monotonic_ns() + LONGEST_NS), ended);
}

/// Waits until `ready` returns a value; `None` once the deadline (absolute nanoseconds of
/// CLOCK_MONOTONIC) has passed. `ready` is called at least once.
pub fn wait_until<T>(deadline_ns: Option<u64>, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    // Drivers wait at the end of their threads, too, when the variable may be gone: such a client waits for itself.
    let gone = CLIENT_GONE.try_with(|gone| gone.borrow().clone()).ok().flatten();
    let mut seen = *lock(&CHANGES.0);
    loop {
        if let Some(value) = ready() {
            return Some(value);
        }
        if gone.as_ref().is_some_and(|gone| gone.load(Ordering::Acquire)) {
            return None;
        }
        let mut changes = lock(&CHANGES.0);
        while *changes == seen {
            changes = match deadline_ns {
                None => CHANGES.1.wait(changes).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_sub(monotonic_ns());
                    if left == 0 {
                        return None;
                    }
                    let left = Duration::from_nanos(left);
                    CHANGES.1.wait_timeout(changes, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        seen = *changes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_signals_once_and_calls_back() {
        let fence = Fence::new();
        let (sender, receiver) = std::sync::mpsc::channel();
        let late = sender.clone();
        fence.on_signal(move |outcome| sender.send(outcome).unwrap());
        assert_eq!(fence.outcome(), None);
        fence.signal(Err(Errno::IO));
        fence.signal(Ok(()));
        fence.on_signal(move |outcome| late.send(outcome).unwrap());
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [Err(Errno::IO), Err(Errno::IO)]);
        assert_eq!(fence.wait(), Err(Errno::IO));
    }

    #[test]
    fn all_waits_for_all_and_keeps_an_error() {
        let fences = [Fence::new(), Fence::new(), Fence::signaled()];
        let all = Fence::all(&fences);
        fences[1].signal(Err(Errno::CANCELED));
        assert_eq!(all.outcome(), None);
        fences[0].signal(Ok(()));
        assert_eq!(all.outcome(), Some(Err(Errno::CANCELED)));
        assert_eq!(Fence::all(&[]).outcome(), Some(Ok(())));
    }

    #[test]
    fn waiting_wakes_on_a_signal_and_gives_up_at_the_deadline() {
        let fence = Fence::new();
        let soon = monotonic_ns() + 20_000_000;
        assert_eq!(wait_until(Some(soon), || fence.outcome()), None);
        assert!(monotonic_ns() >= soon);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| fence.wait());
            fence.signal(Ok(()));
            assert_eq!(waiter.join().unwrap(), Ok(()));
        });
    }
}
