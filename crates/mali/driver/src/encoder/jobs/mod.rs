//! Chains of jobs (v9), for GPUs with a job manager.
//!
//! Jobs of a chain run at the same time unless one names another as its dependency, or is a barrier, which waits for all before it. An
//! order becomes a job that flushes caches behind a barrier, and all later jobs depend on that one. Draws depend on the draw before
//! as well, since the tiler takes them one by one. Fragment jobs run in another slot and are chains of their own ([`rendering`]).
//! Indices of jobs have 16 bits; a longer recording is several chains. The kernel runs chains one after the other, with all caches
//! flushed between.
//!
//! A job whose parameters are in memory follows jobs that copy them into it ([`patch`]).
//!
//! source: Mesa, v9.xml (jobs), pan_jc.h (`pan_jc_add_job`), panvk_vX_queue.c

pub mod chains;
mod dispatch;
mod draw;
mod patch;
mod rendering;
mod submit;

use tepui_mali_packets::job::{
    CacheFlushJobPayload, JobHeader, JobType, WriteValueJobPayload, WriteValueType,
};
use tepui_mali_packets::{Packet, Problem};
use tepui_vulkan::Result;
use tepui_vulkan_kit::arena::Upload;

use super::Encoder;
use crate::kernel::Queue;
use crate::packed::packet;
use chains::HEADER_B;

pub use submit::submit;

/// Alignment of jobs. source: v9.xml
const JOB_ALIGN: u64 = 128;
/// Maximum number of jobs of a chain, whose indices have 16 bits.
const MAX_JOBS: u32 = u16::MAX as u32;
/// Offset of the address of the next job in a header.
const NEXT: usize = 24;

/// The bytes of a job: a header, and a payload after it.
fn bytes(header: &JobHeader, payload: &impl Packet) -> std::result::Result<Vec<u8>, Problem> {
    fn size<P: Packet>(_: &P) -> usize {
        P::INFO.size_bytes
    }
    let mut bytes = vec![0; HEADER_B + size(payload)];
    header.pack_into(&mut bytes[..HEADER_B])?;
    payload.pack_into(&mut bytes[HEADER_B..])?;
    Ok(bytes)
}

impl Encoder {
    /// The headers of each chain's jobs, on a GPU with a job manager.
    ///
    /// # Safety
    /// The GPU is not executing the recording.
    pub unsafe fn chains(&self) -> Vec<(Queue, Vec<JobHeader>)> {
        // SAFETY: as the caller says.
        self.jobs.as_ref().map_or_else(Vec::new, |jobs| unsafe { jobs.headers() })
    }

    /// Memory of a job.
    fn job_place(&mut self, bytes: usize) -> Result<Upload> {
        self.reserve(bytes as u64, JOB_ALIGN)
    }

    /// Adds a job at a place, whose bytes begin with a header, to the open chain; returns its index.
    fn add_at(&mut self, place: Upload, header: JobHeader, mut bytes: Vec<u8>) -> Result<u32> {
        let Some(jobs) = &mut self.jobs else { return Ok(0) };
        jobs.open_chain(Queue::Compute);
        if let Some(before) = jobs.jobs.last().filter(|_| jobs.last > 0) {
            // SAFETY: the place has a job's bytes, and the GPU does not use it yet.
            unsafe { before.host.add(NEXT).cast::<u64>().write_unaligned(place.address.to_le()) };
        }
        jobs.last += 1;
        let index = jobs.last;
        let header = JobHeader { is_64_bit: true, index, ..header };
        header.pack_into(&mut bytes[..HEADER_B]).map_err(packet)?;
        // SAFETY: the place is new and of the right size.
        unsafe { place.write(&bytes) };
        jobs.jobs.push(place);
        Ok(index)
    }

    /// Adds a job; returns its index.
    fn add(&mut self, header: JobHeader, payload: &impl Packet) -> Result<u32> {
        let bytes = bytes(&header, payload).map_err(packet)?;
        let place = self.job_place(bytes.len())?;
        self.add_at(place, header, bytes)
    }

    /// Makes room for some jobs in one chain, and adds the flush that later jobs wait for; returns the index of the last flush.
    fn begin_jobs(&mut self, count: u32) -> Result<u32> {
        let Some(jobs) = &mut self.jobs else { return Ok(0) };
        if jobs.last + u32::from(jobs.order.is_some()) + count > MAX_JOBS {
            jobs.end_chain();
        }
        let after = jobs.after;
        let Some(flush) = jobs.order.take().filter(|_| jobs.last > 0) else {
            return Ok(after);
        };
        let payload = CacheFlushJobPayload {
            clean_shader_core_ls: true,
            invalidate_shader_core_ls: flush.invalidate,
            invalidate_shader_core_other: flush.others,
            l2_clean: flush.clean,
            l2_invalidate: flush.invalidate,
            ..CacheFlushJobPayload::default()
        };
        let header =
            JobHeader { job_type: JobType::CacheFlush, barrier: true, ..JobHeader::default() };
        let index = self.add(header, &payload)?;
        if let Some(jobs) = &mut self.jobs {
            jobs.after = index;
        }
        Ok(index)
    }

    /// The index of the job that is added after some others, once there is room for them.
    fn index_after(&self, others: u32) -> u32 {
        self.jobs.as_ref().map_or(0, |jobs| jobs.last + others + 1)
    }

    /// Adds a job that writes a value, after what later jobs wait for.
    pub(super) fn write_value(
        &mut self,
        address: u64,
        kind: WriteValueType,
        immediate_value: u64,
    ) -> Result<()> {
        let dependency_1 = self.begin_jobs(1)?;
        let header =
            JobHeader { job_type: JobType::WriteValue, dependency_1, ..JobHeader::default() };
        if let (WriteValueType::SystemTimestamp, Some(jobs)) = (kind, &mut self.jobs) {
            jobs.reads_clock = true;
        }
        self.add(header, &WriteValueJobPayload { address, kind, immediate_value })?;
        Ok(())
    }
}
