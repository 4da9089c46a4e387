//! Table of the descriptors that may belong to the virtual device, so that calls on all others pass
//! through after one load.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

static HINTS: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];

/// Records whether a descriptor belongs to the virtual device.
pub fn hint(fd: c_int, ours: bool) {
    if let Some(hint) = usize::try_from(fd).ok().and_then(|index| HINTS.get(index)) {
        hint.store(ours.into(), Ordering::Relaxed);
    }
}

/// Whether a descriptor may belong to the virtual device; `None` if the table does not reach so
/// far.
#[inline]
pub fn of(fd: usize) -> Option<bool> {
    HINTS.get(fd).map(|hint| hint.load(Ordering::Relaxed) != 0)
}

/// Forgets all descriptors.
pub fn clear() {
    for hint in &HINTS {
        hint.store(0, Ordering::Relaxed);
    }
}
