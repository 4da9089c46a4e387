//! Query pools: timestamps or counters, and words that say whether results are there.

use std::sync::atomic::{AtomicU64, Ordering};

use tepui_vulkan::backend::{MAX_QUERY_VALUES, QueryInfo};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::QueryLayout;
use tepui_vulkan_meta::query::Results;

use crate::device::Device;
use crate::kernel::Bo;
use crate::space::Window;

/// Values of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The time.
    Time,
    /// Samples that pass the tests.
    Samples,
    /// Primitives captured, and primitives needed.
    Captured,
    /// Statistics of pipelines.
    Statistics(vk::QueryPipelineStatisticFlags),
    /// Primitives of a stream that reach the rasteriser.
    Generated,
}

impl Kind {
    /// Statistics, and whether only the stream counts that a query is begun with.
    pub fn statistics(self) -> Option<(vk::QueryPipelineStatisticFlags, bool)> {
        match self {
            Kind::Statistics(flags) => Some((flags, false)),
            // Each generated primitive is clipped to one.
            Kind::Generated => Some((vk::QueryPipelineStatisticFlags::CLIPPING_INVOCATIONS, true)),
            _ => None,
        }
    }
}

/// A query pool.
pub struct Queries {
    /// The kind of its values.
    pub kind: Kind,
    layout: QueryLayout,
    memory: Bo,
}

impl Queries {
    /// A pool, whose queries are not available.
    ///
    /// # Errors
    /// When there is no memory, or no such queries.
    pub fn new(device: &Device, info: &QueryInfo) -> Result<Queries> {
        let kind = match info.kind {
            vk::QueryType::TIMESTAMP => Kind::Time,
            vk::QueryType::OCCLUSION => Kind::Samples,
            vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => Kind::Captured,
            vk::QueryType::PIPELINE_STATISTICS => Kind::Statistics(info.statistics),
            vk::QueryType::PRIMITIVES_GENERATED_EXT => Kind::Generated,
            other => {
                let kind = other.as_raw();
                return Err(Error::unsupported(format!("queries of type {kind} on Mali")));
            }
        };
        let layout = QueryLayout { count: info.count, values: info.values() as u32 };
        let memory = Bo::new(&device.kernel, layout.bytes(), Window::Data)?;
        Ok(Queries { kind, layout, memory })
    }

    /// Values of a query.
    pub fn values(&self) -> u32 {
        self.layout.values
    }

    /// GPU address of a query's first value.
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
            values_each: self.layout.values as u8,
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
            for v in 0..self.layout.values {
                self.word(self.layout.value(q, v)).store(0, Ordering::Release);
            }
        }
    }

    /// The result of a query, if it is there.
    pub fn get(&self, query: u32) -> Option<[u64; MAX_QUERY_VALUES]> {
        if self.word(self.layout.available(query)).load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut all = [0; MAX_QUERY_VALUES];
        for (v, to) in (0..self.layout.values).zip(&mut all) {
            *to = self.word(self.layout.value(query, v)).load(Ordering::Acquire);
        }
        Some(all)
    }
}
