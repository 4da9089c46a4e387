//! Queries.
//!
//! The end of the pipeline writes counts of samples and timestamps (PIPE_CONTROL); all other counters are registers, which the
//! command streamer stores once earlier work is done. source: Mesa, genX_query.c

use tepui_intel_chips::Generation;
use tepui_intel_packets::mi::MiStoreRegisterMem;
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};
use tepui_vulkan::{Result, vk};
use tepui_vulkan_meta::{copy, query};

use super::Encoder;
use crate::flush::{Flush, Mode};
use crate::query::{Queries, Source};

/// Queries whose words the command streamer resets; a program resets more.
const MAX_STORES: u32 = 8;

impl Encoder {
    /// Writes a value at the end of the pipeline.
    fn write_at_end(
        &mut self,
        address: u64,
        post_sync_operation: PostSyncOperation,
        data: u64,
    ) -> Result<()> {
        let generation = self.device.generation();
        let of_depth = post_sync_operation == PostSyncOperation::WritePsDepthCount;
        let stalls = !of_depth;
        if stalls && self.hardware.mode == Some(Mode::Compute) && generation == Generation::Gen9 {
            // WaStallBeforePostSyncOpOnGPGPU.
            self.emit(&PipeControl {
                command_streamer_stall_enable: true,
                stall_at_pixel_scoreboard: true,
                ..PipeControl::default()
            })?;
        }
        self.emit(&PipeControl {
            address,
            post_sync_operation,
            immediate_data: data,
            // source: SKL PRM volume 2a, PIPE_CONTROL, on counts of depth
            depth_stall_enable: of_depth,
            command_streamer_stall_enable: stalls,
            ..PipeControl::default()
        })
    }

    /// Selects a pipeline if none is, emits flushes that are pending.
    fn settle(&mut self, mode: Option<Mode>) -> Result<()> {
        match mode {
            Some(mode) => self.select(mode)?,
            None if self.hardware.mode.is_none() => self.select(Mode::Graphics)?,
            None => {}
        }
        self.flush()
    }

    /// Stores the values of a query's registers when earlier work is done.
    fn store_registers(
        &mut self,
        pool: &Queries,
        query: u32,
        stream: u8,
        at_end: bool,
    ) -> Result<()> {
        self.hardware.pending |= Flush::STALL;
        self.settle(None)?;
        for (k, register) in (0..).zip(pool.registers(stream)) {
            let memory_address = pool.value_address(query, k, at_end);
            for half in [0, 4] {
                self.emit(&MiStoreRegisterMem {
                    register_address: register + half,
                    memory_address: memory_address + half,
                    ..MiStoreRegisterMem::default()
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn begin_of_query(&mut self, pool: &Queries, query: u32, stream: u8) -> Result<()> {
        match pool.source() {
            Source::Samples => {
                self.settle(Some(Mode::Graphics))?;
                let at = pool.value_address(query, 0, false);
                self.write_at_end(at, PostSyncOperation::WritePsDepthCount, 0)
            }
            Source::Time => Ok(()),
            Source::Registers(_) => self.store_registers(pool, query, stream, false),
        }
    }

    pub(super) fn end_of_query(&mut self, pool: &Queries, query: u32, stream: u8) -> Result<()> {
        let available = pool.available_address(query);
        match pool.source() {
            Source::Samples => {
                self.settle(Some(Mode::Graphics))?;
                let at = pool.value_address(query, 0, true);
                self.write_at_end(at, PostSyncOperation::WritePsDepthCount, 0)?;
                self.write_at_end(available, PostSyncOperation::WriteImmediateData, 1)
            }
            Source::Time => Ok(()),
            Source::Registers(_) => {
                self.store_registers(pool, query, stream, true)?;
                self.store_word(available, 1)
            }
        }
    }

    pub(super) fn timestamp_query(&mut self, pool: &Queries, query: u32) -> Result<()> {
        self.settle(None)?;
        let at = pool.value_address(query, 0, false);
        self.write_at_end(at, PostSyncOperation::WriteTimestamp, 0)?;
        self.write_at_end(pool.available_address(query), PostSyncOperation::WriteImmediateData, 1)
    }

    pub(super) fn reset_pool(&mut self, pool: &Queries, first: u32, count: u32) -> Result<()> {
        // Earlier work may write to the queries.
        self.hardware.pending |= Flush::STALL;
        self.settle(None)?;
        let [values, available] =
            [pool.value_address(first, 0, false), pool.available_address(first)];
        let all = [values, available].into_iter().zip(pool.bytes(count));
        if count <= MAX_STORES {
            for (address, bytes) in all {
                (0..bytes / 4).try_for_each(|k| self.store_word(address + 4 * k, 0))?;
            }
            return Ok(());
        }
        for (address, bytes) in all {
            copy::fill(self, address, bytes, 0)?;
        }
        self.hardware.pending |= Flush::data(self.device.generation()) | Flush::STALL;
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
        query::copy(self, &pool.results(first, count), address, stride, flags)
    }
}
