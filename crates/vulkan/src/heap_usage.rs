//! Device memory that the process holds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use vulkanalia_sys as vk;

/// Bytes of device memory that the process holds of each heap of a physical device.
#[derive(Default)]
pub struct HeapUsage([AtomicU64; vk::MAX_MEMORY_HEAPS]);

impl HeapUsage {
    /// The process's use of a device, under a name that only this device has in the process: allocations of all instances count together,
    /// as VK_EXT_memory_budget has it.
    pub fn of_device(name: &str) -> Arc<HeapUsage> {
        static DEVICES: Mutex<BTreeMap<String, Arc<HeapUsage>>> = Mutex::new(BTreeMap::new());
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        devices.entry(name.to_owned()).or_default().clone()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_count_together() {
        let [first, second] = ["a device"; 2].map(HeapUsage::of_device);
        let allocation = Counted::new(&first, 1, 4096);
        assert_eq!(second.bytes()[..2], [0, 4096]);
        assert_eq!(HeapUsage::of_device("another").bytes()[1], 0);
        drop(allocation);
        assert_eq!(second.bytes()[1], 0);
    }
}
