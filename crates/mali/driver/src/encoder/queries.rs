//! Queries: timestamps, which the compute queue stores when all earlier work is done, and counters of samples, to which fragment jobs
//! add.

use tepui_mali_packets::job::WriteValueType;
use tepui_vulkan::{Result, vk};
use tepui_vulkan_meta::{MetaEncoder, copy, query};

use super::Encoder;
use super::streams::subqueues::{Waits, mask_of};
use crate::kernel::Queue;
use crate::query::Queries;
use crate::stream::{DEFERRED_FLUSH, Flush, LS, SCRATCH};

/// Queries whose words the queue resets; a program resets more.
const MAX_STORES: u32 = 8;

/// All queues, as a mask.
const ALL: u8 = mask_of(Queue::VertexTiler) | mask_of(Queue::Fragment) | mask_of(Queue::Compute);

impl Encoder {
    /// Makes the compute queue wait for all earlier work.
    pub(super) fn settle_all(&mut self) {
        let mut waits = Waits::default();
        waits[Queue::Compute as usize] = ALL;
        self.order_queues(waits, Flush::default());
    }

    pub(super) fn timestamp_query(&mut self, pool: &Queries, query: u32) -> Result<()> {
        self.settle_all();
        if self.jobs.is_some() {
            self.write_value(pool.value_address(query), WriteValueType::SystemTimestamp, 0)?;
            self.settle_all();
            return self.write_word(pool.available_address(query), 1);
        }
        let stream = self.queues.stream(Queue::Compute);
        stream.move64(SCRATCH, pool.value_address(query));
        stream.store_time(SCRATCH, 0);
        stream.wait(1 << DEFERRED_FLUSH);
        self.store_word(Queue::Compute, pool.available_address(query), 1);
        self.queues.stream(Queue::Compute).wait(1 << LS);
        Ok(())
    }

    /// Makes a query available once the work that it counts is done: at the end of the rendering, if there is one.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn end_of_query(&mut self, available: u64) -> Result<()> {
        self.ended.push(available);
        match self.targets {
            Some(_) => Ok(()),
            None => self.queries_end(),
        }
    }

    /// Writes the words of availability of queries that have ended, after all fragments so far.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn queries_end(&mut self) -> Result<()> {
        if self.ended.is_empty() {
            return Ok(());
        }
        // Programs add to statistics.
        let mut waits = Waits::default();
        waits[Queue::Fragment as usize] = mask_of(Queue::Fragment) | mask_of(Queue::Compute);
        self.order_queues(waits, Flush::default());
        for at in std::mem::take(&mut self.ended) {
            match self.jobs {
                Some(_) => self.write_word(at, 1)?,
                None => self.store_word(Queue::Fragment, at, 1),
            }
        }
        self.queues.stream(Queue::Fragment).settle();
        Ok(())
    }

    pub(super) fn reset_pool(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        // Earlier work may read or write the queries.
        self.settle_all();
        if count > MAX_STORES {
            let bytes = 8 * u64::from(count);
            let values = bytes * u64::from(pool.values());
            copy::fill(self, pool.value_address(first), values, 0)?;
            copy::fill(self, pool.available_address(first), bytes, 0)?;
            return self.order();
        }
        for query in first..first + count {
            let values = (0..u64::from(pool.values())).map(|v| pool.value_address(query) + 8 * v);
            for at in values.chain([pool.available_address(query)]) {
                self.write_word(at, 0)?;
                self.write_word(at + 4, 0)?;
            }
        }
        // What comes next sees the words: commands on a query are in order without a barrier, and fragments add to it.
        match self.jobs {
            Some(_) => self.settle_all(),
            None => {
                self.queues.stream(Queue::Compute).settle();
                let mut waits = Waits::default();
                waits[Queue::Fragment as usize] = mask_of(Queue::Compute);
                self.order_queues(waits, Flush::default());
            }
        }
        Ok(())
    }

    pub(super) fn copy_results(
        &mut self,
        pool: &Queries,
        (first, count): (u32, u32),
        address: u64,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) -> Result<()> {
        // Results that are waited for are those of all earlier commands.
        self.settle_all();
        query::copy(self, &pool.results(first, count), address, stride, flags)
    }
}
