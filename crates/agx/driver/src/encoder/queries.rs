//! Words that commands write, and queries.

use tepui_vulkan::backend::Encoder as _;
use tepui_vulkan::{Result, vk};

use super::Encoder;
use super::bindings::split;
use crate::meta::Program;
use crate::query::Queries;

impl Encoder {
    /// Writes a word when everything before is done.
    pub(super) fn write_word(&mut self, address: u64, value: u32) -> Result<()> {
        if self.render.is_some() {
            self.after.push((address, value));
            return Ok(());
        }
        let [a, b] = split(address);
        self.run(Program::Word, &[a, b, value], &[], [1; 3])
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
        let ([a, b], [c, d]) =
            (split(pool.result_address(first)), split(pool.ready_address(first)));
        let ([e, f], [g, h]) = (split(address), split(stride));
        let p = Program::Queries {
            values: pool.values() as u8,
            wide: flags.contains(vk::QueryResultFlags::_64),
            availability: flags.contains(vk::QueryResultFlags::WITH_AVAILABILITY),
            partial: flags.intersects(vk::QueryResultFlags::PARTIAL | vk::QueryResultFlags::WAIT),
        };
        self.run(p, &[a, b, c, d, e, f, g, h, count], &[], [count, 1, 1])
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
