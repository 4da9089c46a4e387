//! Reusable frame buffers. A frame needs mostly the same memory as the one before it, and the operating
//! system clears every page that is allocated anew.

use std::sync::{Mutex, PoisonError};

/// Pool of sets of buffers.
pub struct BufferPool<T>(Mutex<Vec<T>>);

/// Maximum number of unused sets that are kept: usually the number of queues that run at the same time.
const MAX_SETS: usize = 2;

/// Buffers that can be used again.
pub trait Buffers: Default {
    /// Empties all of them.
    fn clear(&mut self);

    /// Bytes that the buffers take.
    fn bytes(&self) -> usize;
}

/// Larger sets are freed instead of kept.
const MAX_BYTES: usize = 64 << 20;

impl<T: Buffers> BufferPool<T> {
    /// An empty set; the memory may have been used before.
    pub fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Puts a set back.
    pub fn put(&self, mut buffers: T) {
        buffers.clear();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_SETS && buffers.bytes() <= MAX_BYTES {
            kept.push(buffers);
        }
    }
}

impl<T> Default for BufferPool<T> {
    fn default() -> Self {
        BufferPool(Mutex::default())
    }
}

/// Bytes allocated for a list.
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
        pool.put(Vec::with_capacity(MAX_BYTES + 1));
        assert_eq!(pool.take().capacity(), 0);
    }
}
