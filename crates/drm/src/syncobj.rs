//! Sync objects: a box that a fence is put into (binary), or fences at rising points (timeline).
//!
//! source: the rules are those of the kernel's DRM core, "DRM Sync Objects" in the kernel's GPU
//! documentation, and of drm.h.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bitflags::bitflags;
use rustix::io::Errno;

use crate::fence::{Fence, notify, wait_until};
use crate::lock;

bitflags! {
    /// Flags of a wait.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WaitFlags: u32 {
        /// Waits for all objects, not for any.
        const ALL = 1;
        /// Waits for missing fences too.
        const FOR_SUBMIT = 2;
        /// The wait ends when the fence is there, signalled or not.
        const AVAILABLE = 4;
        /// The request carries a deadline hint, which a model has no use for.
        const DEADLINE = 8;
    }
}

/// Fences at rising points. A point has signalled when its fence and all before it have.
#[derive(Default)]
struct Timeline {
    /// The last point known to have signalled; fences up to it are dropped.
    signaled: u64,
    /// Later points, in order.
    pending: VecDeque<(u64, Fence)>,
}

impl Timeline {
    fn last(&self) -> u64 {
        self.pending.back().map_or(self.signaled, |&(point, _)| point)
    }

    fn prune(&mut self) {
        while self.pending.front().is_some_and(|(_, fence)| fence.is_signaled()) {
            // An error stays visible to whoever asks for the point while it is the last one.
            if self.pending.len() == 1 && self.pending[0].1.outcome() != Some(Ok(())) {
                break;
            }
            if let Some((point, _)) = self.pending.pop_front() {
                self.signaled = point;
            }
        }
    }

    /// The fences that make a point; 0 asks for the last one. `None` before it is submitted.
    fn find(&mut self, point: u64) -> Option<Vec<Fence>> {
        self.prune();
        let point = if point == 0 { self.last() } else { point };
        if point > self.last() {
            return None;
        }
        let mut fences = Vec::new();
        if point > self.signaled {
            for (at, fence) in &self.pending {
                fences.push(fence.clone());
                if *at >= point {
                    break;
                }
            }
        }
        Some(fences)
    }
}

enum State {
    Empty,
    Binary(Fence),
    Timeline(Timeline),
}

/// A sync object.
pub struct Syncobj(Mutex<State>);

impl Default for Syncobj {
    fn default() -> Self {
        Syncobj::new(None)
    }
}

impl Syncobj {
    /// An object that holds a fence, or none.
    pub fn new(fence: Option<Fence>) -> Syncobj {
        Syncobj(Mutex::new(fence.map_or(State::Empty, State::Binary)))
    }

    /// Replaces whatever the object holds.
    pub fn replace(&self, fence: Option<Fence>) {
        let new = fence.map_or(State::Empty, State::Binary);
        // Dropped after the lock is: the last reference to a fence may run code of its own.
        let _old = std::mem::replace(&mut *lock(&self.0), new);
        notify();
    }

    /// Adds a point after those of the object. A point that is not above the last one takes the last
    /// one's number and stands for all before it, as in the kernel.
    pub fn add_point(&self, point: u64, fence: Fence) {
        {
            let mut state = lock(&self.0);
            match &mut *state {
                State::Timeline(timeline) => {
                    timeline.prune();
                    let last = timeline.last();
                    if point > last {
                        timeline.pending.push_back((point, fence));
                    } else {
                        let mut before: Vec<_> =
                            timeline.pending.drain(..).map(|(_, fence)| fence).collect();
                        before.push(fence);
                        timeline.signaled = 0;
                        timeline.pending.push_back((last, Fence::all(&before)));
                    }
                }
                before => {
                    let mut timeline = Timeline::default();
                    if let State::Binary(old) = before {
                        timeline.pending.push_back((0, old.clone()));
                    }
                    timeline.pending.push_back((point, fence));
                    *before = State::Timeline(timeline);
                }
            }
        }
        notify();
    }

    /// The fences that make a point (0: whatever the object holds now); all of them must signal.
    /// `None` if there is no fence, or the point was not submitted yet.
    fn find(&self, point: u64) -> Option<Vec<Fence>> {
        match &mut *lock(&self.0) {
            State::Empty => None,
            State::Binary(fence) if point == 0 => Some(vec![fence.clone()]),
            State::Binary(_) => None,
            State::Timeline(timeline) => timeline.find(point),
        }
    }

    /// The fence of a point (0: whatever the object holds now). `EINVAL` if there is none.
    pub fn fence(&self, point: u64) -> Result<Fence, Errno> {
        Ok(Fence::all(&self.find(point).ok_or(Errno::INVAL)?))
    }

    /// The last point that has signalled, or that was submitted; 0 for a binary object.
    pub fn query(&self, last_submitted: bool) -> u64 {
        match &mut *lock(&self.0) {
            State::Timeline(timeline) => {
                timeline.prune();
                let done = |timeline: &Timeline| {
                    timeline.pending.iter().all(|(_, fence)| fence.is_signaled())
                };
                if last_submitted || done(timeline) { timeline.last() } else { timeline.signaled }
            }
            _ => 0,
        }
    }
}

/// Waits for points (0 for binary objects) until the deadline, in nanoseconds of CLOCK_MONOTONIC.
/// Returns the index of the first that was found signalled. There must be at least one.
///
/// # Errors
/// `EINVAL` for a missing fence without [`WaitFlags::FOR_SUBMIT`]; `ETIME` at the deadline.
pub fn wait(
    objects: &[(Arc<Syncobj>, u64)],
    flags: WaitFlags,
    deadline_ns: i64,
) -> Result<u32, Errno> {
    let may_be_missing = flags.intersects(WaitFlags::FOR_SUBMIT | WaitFlags::AVAILABLE);
    // The fence that is there when the wait starts, or the first to appear, is waited for, even if the
    // object is reset in between.
    let mut found: Vec<Option<Vec<Fence>>> =
        objects.iter().map(|(object, point)| object.find(*point)).collect();
    if !may_be_missing && found.iter().any(Option::is_none) {
        return Err(Errno::INVAL);
    }
    let deadline = u64::try_from(deadline_ns).unwrap_or(0);
    wait_until(Some(deadline), || {
        let mut first = None;
        let mut ready = 0;
        for (index, ((object, point), fences)) in objects.iter().zip(&mut found).enumerate() {
            if fences.is_none() {
                *fences = object.find(*point);
            }
            let Some(fences) = fences else { continue };
            if flags.contains(WaitFlags::AVAILABLE) || fences.iter().all(Fence::is_signaled) {
                ready += 1;
                first.get_or_insert(index as u32);
            }
        }
        first.filter(|_| ready == objects.len() || !flags.contains(WaitFlags::ALL))
    })
    .ok_or(Errno::TIME)
}

/// Calls back when a point (0: the binary fence) has signalled or, with `available`, is there. Waits
/// for points that were not submitted yet.
pub fn on_point(
    object: &Arc<Syncobj>,
    point: u64,
    available: bool,
    callback: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    if let Some(fences) = object.find(point) {
        if available {
            callback();
        } else {
            Fence::all(&fences).on_signal(move |_| callback());
        }
        return Ok(());
    }
    // Rare: a thread of its own waits for the point to be submitted, and ends with the object.
    let object = Arc::downgrade(object);
    crate::spawn("tepui-eventfd", move || {
        let fences = wait_until(None, || match object.upgrade() {
            Some(object) => object.find(point).map(Some),
            None => Some(None),
        });
        match fences.flatten() {
            Some(_) if available => callback(),
            Some(fences) => Fence::all(&fences).on_signal(move |_| callback()),
            None => {}
        }
    })?;
    Ok(())
}

impl Drop for Syncobj {
    fn drop(&mut self) {
        notify();
    }
}
