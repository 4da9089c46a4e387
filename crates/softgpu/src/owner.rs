//! Who the contents of memory belong to.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::Memory;

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

impl Memory {
    /// A number of the contents' owner: of the block until [`Memory::give_up`], and another one after each. No two blocks have the same.
    pub fn owner(&self) -> u64 {
        self.owner.0.load(Ordering::Relaxed)
    }

    /// Tells that the client does not need the contents any more (`MADV_DONTNEED` of the kernel interfaces): whoever uses the block
    /// next is another owner, even if it reads the same bytes.
    pub fn give_up(&self) {
        self.owner.0.store(next(), Ordering::Relaxed);
    }
}
