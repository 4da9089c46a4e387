//! Query pools: pairs of counters before and after, or timestamps, and words that say whether results are there.

use std::sync::atomic::{AtomicU64, Ordering};

use tepui_vulkan::backend::{MAX_QUERY_VALUES, QueryInfo};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::QueryLayout;
use tepui_vulkan_meta::query::Results;

use crate::device::Device;
use crate::kernel::Bo;
use crate::space::Window;

/// Registers of pipeline statistics, in the order of the API's bits. source: Mesa, genX_query.c (`vk_pipeline_stat_to_reg`)
const STATISTICS: [u64; MAX_QUERY_VALUES] = [
    0x2310, // IA_VERTICES_COUNT
    0x2318, // IA_PRIMITIVES_COUNT
    0x2320, // VS_INVOCATION_COUNT
    0x2328, // GS_INVOCATION_COUNT
    0x2330, // GS_PRIMITIVES_COUNT
    0x2338, // CL_INVOCATION_COUNT
    0x2340, // CL_PRIMITIVES_COUNT
    0x2348, // PS_INVOCATION_COUNT
    0x2300, // HS_INVOCATION_COUNT
    0x2308, // DS_INVOCATION_COUNT
    0x2290, // CS_INVOCATION_COUNT
];

/// Primitives that a stream captured, and those that it would have with enough room. source: genxml, SO_NUM_PRIMS_WRITTEN0,
/// SO_PRIM_STORAGE_NEEDED0
const CAPTURED: [u64; 2] = [0x5200, 0x5240];
/// Primitives that reach the clipper. source: genxml, CL_INVOCATION_COUNT
const GENERATED: u64 = 0x2338;

/// Source of a query's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Samples that passed the depth test, which the end of the pipeline writes.
    Samples,
    /// The time, which the end of the pipeline writes.
    Time,
    /// Registers of the command streamer, one for each value.
    Registers([u64; MAX_QUERY_VALUES]),
}

/// A query pool.
pub struct Queries {
    source: Source,
    /// Results of a query.
    results: u32,
    layout: QueryLayout,
    memory: Bo,
}

impl Queries {
    /// A pool, whose queries are not available.
    ///
    /// # Errors
    /// When there is no memory, or no such queries.
    pub fn new(device: &Device, info: &QueryInfo) -> Result<Queries> {
        let mut registers = [0; MAX_QUERY_VALUES];
        let source = match info.kind {
            vk::QueryType::OCCLUSION => Source::Samples,
            vk::QueryType::TIMESTAMP => Source::Time,
            vk::QueryType::PIPELINE_STATISTICS => {
                let bits = info.statistics.bits();
                let all = (0..STATISTICS.len()).filter(|k| bits >> k & 1 != 0);
                registers.iter_mut().zip(all).for_each(|(to, k)| *to = STATISTICS[k]);
                Source::Registers(registers)
            }
            vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => {
                registers[..2].copy_from_slice(&CAPTURED);
                Source::Registers(registers)
            }
            vk::QueryType::PRIMITIVES_GENERATED_EXT => {
                registers[0] = GENERATED;
                Source::Registers(registers)
            }
            other => return Err(Error::unsupported(format!("queries of type {}", other.as_raw()))),
        };
        let results = info.values() as u32;
        let values = if source == Source::Time { results } else { 2 * results };
        let layout = QueryLayout { count: info.count, values };
        let memory = Bo::new(&device.kernel, layout.bytes(), Window::Data)?;
        Ok(Queries { source, results, layout, memory })
    }

    /// Source of the values.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Values of a query are differences.
    fn has_pairs(&self) -> bool {
        self.source != Source::Time
    }

    /// Registers whose values are a query's, for a stream.
    pub fn registers(&self, stream: u8) -> impl Iterator<Item = u64> {
        let list = match self.source {
            Source::Registers(list) => list,
            _ => [0; MAX_QUERY_VALUES],
        };
        // Registers of streams follow one another.
        let step = if list[..2] == CAPTURED { 8 * u64::from(stream) } else { 0 };
        list.into_iter().take(self.results as usize).map(move |r| r + step)
    }

    /// GPU address of a value of a query at its beginning or its end; for timestamps the only one.
    pub fn value_address(&self, query: u32, value: u32, at_end: bool) -> u64 {
        let k = if self.has_pairs() { 2 * value + u32::from(at_end) } else { value };
        self.memory.address + self.layout.value(query, k)
    }

    /// GPU address of the word that says whether a result is there.
    pub fn available_address(&self, query: u32) -> u64 {
        self.memory.address + self.layout.available(query)
    }

    /// Bytes of the values of queries, and of their words of availability.
    pub fn bytes(&self, count: u32) -> [u64; 2] {
        [8 * u64::from(self.layout.values) * u64::from(count), 8 * u64::from(count)]
    }

    /// Queries for a copy.
    pub fn results(&self, first: u32, count: u32) -> Results {
        Results {
            values: self.value_address(first, 0, false),
            available: self.available_address(first),
            values_each: self.results as u8,
            pairs: self.has_pairs(),
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
        let value = |v: u32| self.word(self.layout.value(query, v)).load(Ordering::Acquire);
        let mut all = [0; MAX_QUERY_VALUES];
        for (k, to) in (0..self.results).zip(&mut all) {
            *to = match self.has_pairs() {
                true => value(2 * k + 1).wrapping_sub(value(2 * k)),
                false => value(k),
            };
        }
        Some(all)
    }
}
