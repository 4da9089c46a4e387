//! Query pools: timestamps or counters of samples, and words that say whether results are there.

use std::sync::atomic::{AtomicU64, Ordering};

use tepui_vulkan::backend::{MAX_QUERY_VALUES, QueryInfo};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::QueryLayout;
use tepui_vulkan_meta::query::Results;

use crate::device::Device;
use crate::kernel::Bo;
use crate::space::Window;

/// A query pool.
pub struct Queries {
    layout: QueryLayout,
    memory: Bo,
}

impl Queries {
    /// A pool, whose queries are not available.
    ///
    /// # Errors
    /// When there is no memory, or no such queries.
    pub fn new(device: &Device, info: &QueryInfo) -> Result<Queries> {
        if !matches!(info.kind, vk::QueryType::TIMESTAMP | vk::QueryType::OCCLUSION) {
            let kind = info.kind.as_raw();
            return Err(Error::unsupported(format!("queries of type {kind} on Mali")));
        }
        let layout = QueryLayout { count: info.count, values: 1 };
        let memory = Bo::new(&device.kernel, layout.bytes(), Window::Data)?;
        Ok(Queries { layout, memory })
    }

    /// GPU address of a query's value.
    pub fn value_address(&self, query: u32) -> u64 {
        self.memory.address + self.layout.value(query, 0)
    }

    /// GPU address of the word that says whether a result is there.
    pub fn available_address(&self, query: u32) -> u64 {
        self.memory.address + self.layout.available(query)
    }

    /// Queries for a copy.
    pub fn results(&self, first: u32, count: u32) -> Results {
        Results {
            values: self.value_address(first),
            available: self.available_address(first),
            values_each: 1,
            pairs: false,
            count,
        }
    }

    fn word(&self, offset: u64) -> &AtomicU64 {
        debug_assert!(offset + 8 <= self.memory.size);
        // SAFETY: the word is inside of the mapping, which lives as long as the pool; the GPU may write it meanwhile.
        unsafe { &*self.memory.host().add(offset as usize).cast::<AtomicU64>() }
    }

    /// Resets queries on the host.
    pub fn reset(&self, first: u32, count: u32) {
        for q in first..first.saturating_add(count).min(self.layout.count) {
            self.word(self.layout.available(q)).store(0, Ordering::Release);
            self.word(self.layout.value(q, 0)).store(0, Ordering::Release);
        }
    }

    /// The result of a query, if it is there.
    pub fn get(&self, query: u32) -> Option<[u64; MAX_QUERY_VALUES]> {
        if self.word(self.layout.available(query)).load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut all = [0; MAX_QUERY_VALUES];
        all[0] = self.word(self.layout.value(query, 0)).load(Ordering::Acquire);
        Some(all)
    }
}
