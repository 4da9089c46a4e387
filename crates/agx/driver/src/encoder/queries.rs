//! Words that commands write, and queries.

use tepui_vulkan::backend::Encoder as _;
use tepui_vulkan::{Result, vk};
use tepui_vulkan_meta::copy;
use tepui_vulkan_meta::query::{self, Results};

use super::Encoder;
use crate::query::Queries;

impl Encoder {
    /// Writes a word when everything before is done.
    pub(super) fn write_word(&mut self, address: u64, value: u32) -> Result<()> {
        if self.render.is_some() {
            self.after.push((address, value));
            return Ok(());
        }
        self.order();
        copy::word(self, address, value)?;
        self.order();
        Ok(())
    }

    /// Writes the words and timestamps that were deferred to the end of the render.
    pub(super) fn finish_queries(&mut self) -> Result<()> {
        for (address, value) in std::mem::take(&mut self.after) {
            self.write_word(address, value)?;
        }
        for (handle, offset) in std::mem::take(&mut self.stamps) {
            self.timestamp(handle, offset)?;
        }
        Ok(())
    }

    pub(super) fn copy_results(
        &mut self,
        pool: &Queries,
        first: u32,
        count: u32,
        address: u64,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) -> Result<()> {
        let results = Results {
            values: pool.result_address(first),
            available: pool.ready_address(first),
            values_each: pool.values() as u8,
            pairs: false,
            count,
        };
        query::copy(self, &results, address, stride, flags)
    }

    pub(super) fn reset_pool(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        // Commands of a query run one after the other.
        self.order();
        self.fill_buffer(pool.result_address(first), 8 * u64::from(pool.values() * count), 0)?;
        self.fill_buffer(pool.ready_address(first), 8 * u64::from(count), 0)?;
        self.order();
        Ok(())
    }

    pub(super) fn timestamp_query(&mut self, pool: &Queries, query: u32) -> Result<()> {
        let (handle, offset) = pool.stamp(query);
        if self.render.is_some() {
            self.stamps.push((handle, offset));
            self.after.push((pool.ready_address(query), 1));
            return Ok(());
        }
        self.timestamp(handle, offset)?;
        self.write_word(pool.ready_address(query), 1)
    }
}
