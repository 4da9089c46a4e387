//! A pool of reusable buffers. A frame needs mostly the same memory as the one before it, and the
//! host would clear every page that it allocates anew.

use std::sync::{Mutex, PoisonError};

/// Sets of buffers that are not in use.
pub struct BufferPool<T>(Mutex<Vec<T>>);

/// Sets that are kept: as many as queues that run at the same time, mostly.
const MAX_SETS: usize = 2;

/// Buffers that can be used again.
pub trait Buffers: Default {
    /// Empties all of them.
    fn clear(&mut self);

    /// Bytes that they hold.
    fn bytes(&self) -> usize;
}

/// Sets that hold more are not kept.
const MOST_BYTES: usize = 64 << 20;

impl<T: Buffers> BufferPool<T> {
    /// An empty set; the memory may have been used before.
    pub fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Puts a set back.
    pub fn put(&self, mut buffers: T) {
        buffers.clear();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_SETS && buffers.bytes() <= MOST_BYTES {
            kept.push(buffers);
        }
    }
}

impl<T> Default for BufferPool<T> {
    fn default() -> Self {
        BufferPool(Mutex::default())
    }
}

/// Bytes that a list holds.
pub fn bytes_of<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Buffers for Vec<u8> {
        fn clear(&mut self) {
            self.clear();
        }

        fn bytes(&self) -> usize {
            bytes_of(self)
        }
    }

    #[test]
    fn memory_comes_back_empty_and_not_without_bound() {
        let pool = BufferPool::<Vec<u8>>::default();
        let mut used = vec![1; 100];
        used.reserve(4000);
        let place = used.as_ptr();
        pool.put(used);
        let again = pool.take();
        assert!(again.is_empty() && again.as_ptr() == place);
        pool.put(Vec::with_capacity(MOST_BYTES + 1));
        assert_eq!(pool.take().capacity(), 0);
    }
}
