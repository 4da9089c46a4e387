//! Query pools: occlusion counters of the device, and timestamps that the kernel writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tepui_vulkan::backend::{MAX_QUERY_VALUES, QueryInfo};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::QueryLayout;

use crate::device::Device;
use crate::kernel::{Bo, Window};

/// Kind of a query pool.
enum Kind {
    /// Occlusion: the first counter.
    Occlusion(u32),
    /// Timestamps: the kernel's object.
    Timestamps(u32),
    /// Primitives captured, and primitives needed.
    Feedback,
    /// Statistics of pipelines.
    Statistics(vk::QueryPipelineStatisticFlags),
    /// Primitives of a stream that reach the rasteriser.
    Generated,
}

/// Largest size of a pool in bytes: the kernel's offsets of timestamps have 32 bits.
const MAX_POOL_B: u64 = 1 << 31;

/// A query pool: for timestamps results, and for all pools words that say whether a result is there.
pub struct Queries {
    device: Arc<Device>,
    kind: Kind,
    layout: QueryLayout,
    /// Results of timestamps, then availability.
    memory: Bo,
}

impl Queries {
    /// A pool.
    ///
    /// # Errors
    /// When there is no memory, or no such queries.
    pub fn new(device: &Arc<Device>, info: &QueryInfo) -> Result<Queries> {
        let layout = QueryLayout { count: info.count, values: info.values() as u32 };
        let bytes = layout.bytes();
        if bytes > MAX_POOL_B {
            let why = format!("a pool of {} queries has {bytes} bytes", info.count);
            return Err(Error::device_memory(why));
        }
        let memory = Bo::new(&device.kernel, bytes, Window::Data, true)?;
        let kind = match info.kind {
            vk::QueryType::OCCLUSION => Kind::Occlusion(device.take_counters(info.count)?),
            vk::QueryType::TIMESTAMP => Kind::Timestamps(device.kernel.timestamps(&memory)?),
            vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => Kind::Feedback,
            vk::QueryType::PIPELINE_STATISTICS => Kind::Statistics(info.statistics),
            vk::QueryType::PRIMITIVES_GENERATED_EXT => Kind::Generated,
            other => return Err(Error::unsupported(format!("queries of type {}", other.as_raw()))),
        };
        let pool = Queries { device: device.clone(), kind, layout, memory };
        // New memory is zeros; counters may be those of an earlier pool.
        if matches!(pool.kind, Kind::Occlusion(_)) {
            pool.reset(0, info.count);
        }
        Ok(pool)
    }

    /// GPU address of a query's result.
    pub fn result_address(&self, query: u32) -> u64 {
        match self.kind {
            Kind::Occlusion(first) => self.device.counters.address + 8 * u64::from(first + query),
            Kind::Timestamps(_) | Kind::Feedback | Kind::Statistics(_) | Kind::Generated => {
                self.memory.address + self.layout.value(query, 0)
            }
        }
    }

    /// GPU address of the word that says whether a result is there.
    pub fn ready_address(&self, query: u32) -> u64 {
        self.memory.address + self.layout.available(query)
    }

    /// The counter of an occlusion query.
    pub fn counter(&self, query: u32) -> Option<u32> {
        match self.kind {
            Kind::Occlusion(first) => Some(first + query),
            Kind::Timestamps(_) | Kind::Feedback | Kind::Statistics(_) | Kind::Generated => None,
        }
    }

    /// Values of a query.
    pub fn values(&self) -> u32 {
        self.layout.values
    }

    /// GPU address of a query's count of captured primitives.
    pub fn captured(&self, query: u32) -> Option<u64> {
        matches!(self.kind, Kind::Feedback).then(|| self.result_address(query))
    }

    /// The statistics of a query, and whether it counts only the stream that it is begun with.
    pub fn statistics(&self) -> Option<(vk::QueryPipelineStatisticFlags, bool)> {
        match self.kind {
            Kind::Statistics(flags) => Some((flags, false)),
            // Each generated primitive is clipped to one.
            Kind::Generated => Some((vk::QueryPipelineStatisticFlags::CLIPPING_INVOCATIONS, true)),
            _ => None,
        }
    }

    /// Destination of a timestamp in the kernel: object and offset.
    pub fn stamp(&self, query: u32) -> (u32, u32) {
        match self.kind {
            Kind::Timestamps(handle) => (handle, 8 * query),
            Kind::Occlusion(_) | Kind::Feedback | Kind::Statistics(_) | Kind::Generated => (0, 0),
        }
    }

    fn word(&self, bo: &Bo, offset: u64) -> &AtomicU64 {
        debug_assert!(offset < bo.size);
        // SAFETY: the word is inside of the mapping, which lives as long as the buffer; the GPU may write it meanwhile.
        unsafe { &*bo.host().add(offset as usize).cast::<AtomicU64>() }
    }

    fn result(&self, query: u32, value: u32) -> &AtomicU64 {
        match self.kind {
            Kind::Occlusion(first) => {
                self.word(&self.device.counters, 8 * u64::from(first + query))
            }
            _ => self.word(&self.memory, self.layout.value(query, value)),
        }
    }

    /// Resets queries on the host.
    pub fn reset(&self, first: u32, count: u32) {
        for q in first..first + count {
            self.word(&self.memory, self.layout.available(q)).store(0, Ordering::Release);
            (0..self.layout.values).for_each(|v| self.result(q, v).store(0, Ordering::Release));
        }
    }

    /// The result of a query, if it is there.
    pub fn get(&self, query: u32) -> Option<[u64; MAX_QUERY_VALUES]> {
        let ready = self.word(&self.memory, self.layout.available(query));
        let value = |v: usize| match (v as u32) < self.layout.values {
            true => self.result(query, v as u32).load(Ordering::Acquire),
            false => 0,
        };
        (ready.load(Ordering::Acquire) != 0).then(|| std::array::from_fn(value))
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        match self.kind {
            Kind::Occlusion(first) => self.device.give_counters(first, self.layout.count),
            Kind::Timestamps(handle) => self.device.kernel.drop_timestamps(handle),
            Kind::Feedback | Kind::Statistics(_) | Kind::Generated => {}
        }
    }
}
