//! Who the contents of memory belong to.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number of the owner of a block's contents. No two blocks have the same, and a block has another one once its contents were given up.
pub(crate) struct Owner(AtomicU64);

/// A number that nothing has had.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Default for Owner {
    fn default() -> Self {
        Owner(AtomicU64::new(next()))
    }
}

impl Owner {
    /// The number.
    pub(crate) fn number(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes what follows another owner's.
    pub(crate) fn give_up(&self) {
        self.0.store(next(), Ordering::Relaxed);
    }
}
