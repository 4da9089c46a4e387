//! Device memory that the process holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vulkanalia_sys as vk;

/// Bytes of device memory that the process holds of each heap of a physical device.
#[derive(Default)]
pub struct HeapUsage([AtomicU64; vk::MAX_MEMORY_HEAPS]);

impl HeapUsage {
    /// Bytes of each heap.
    pub fn bytes(&self) -> [u64; vk::MAX_MEMORY_HEAPS] {
        self.0.each_ref().map(|heap| heap.load(Ordering::Relaxed))
    }
}

/// Bytes that count as used as long as this lives.
pub(crate) struct Counted {
    usage: Arc<HeapUsage>,
    heap: usize,
    pub size: u64,
}

impl Counted {
    /// Counts bytes of a heap.
    pub fn new(usage: &Arc<HeapUsage>, heap: usize, size: u64) -> Counted {
        usage.0[heap].fetch_add(size, Ordering::Relaxed);
        Counted { usage: usage.clone(), heap, size }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.usage.0[self.heap].fetch_sub(self.size, Ordering::Relaxed);
    }
}
