//! The chains of a recording: where their jobs are, and what later ones wait for.

use std::sync::atomic::{AtomicU32, AtomicU64};

use tepui_mali_packets::Packet;
use tepui_mali_packets::job::JobHeader;
use tepui_vulkan_kit::arena::Upload;

use crate::kernel::{Queue, Work};
use crate::stream::Flush;

/// Bytes of a header.
pub const HEADER_B: usize = JobHeader::SIZE_BYTES;
/// Bytes of the status and the incomplete task at the start of a header, and of the fault's address.
const STATUS_B: usize = 16;

/// A chain of jobs.
#[derive(Clone, Copy)]
pub struct Chain {
    /// First job, in [`Jobs::jobs`].
    pub first: usize,
    pub queue: Queue,
}

/// Memory that the hardware writes and that is restored before its chains run again.
pub struct Restored {
    pub place: Upload,
    pub bytes: Vec<u8>,
}

/// The chains of a recording.
#[derive(Default)]
pub struct Jobs {
    pub jobs: Vec<Upload>,
    pub chains: Vec<Chain>,
    /// The last chain takes further jobs.
    pub is_open: bool,
    /// Index of the last job of the open chain.
    pub last: u32,
    /// Index of the job that all later ones wait for; 0 for none.
    pub after: u32,
    /// Index of the last draw; 0 for none.
    pub draw: u32,
    /// Caches that are flushed before the next job.
    pub order: Option<Flush>,
    pub reads_clock: bool,
    pub restored: Vec<Restored>,
    /// Number of the submission that has the chains; 0 before the first.
    pub submission: AtomicU64,
}

impl Jobs {
    /// Orders all later jobs after all earlier ones, with caches flushed between.
    pub fn order(&mut self, flush: Flush) {
        self.order = Some(self.order.map_or(flush, |before| before.and(flush)));
    }

    /// Forgets what was recorded.
    pub fn clear(&mut self) {
        *self = Jobs::default();
    }

    /// The chains as works.
    pub fn works(&self) -> Vec<Work> {
        let work = |chain: &Chain| Work {
            queue: chain.queue,
            address: self.jobs[chain.first].address,
            size: 0,
            reads_clock: self.reads_clock,
        };
        self.chains.iter().map(work).collect()
    }

    /// The headers of each chain's jobs, as they are in memory.
    ///
    /// # Safety
    /// The GPU is not executing the chains.
    pub unsafe fn headers(&self) -> Vec<(Queue, Vec<JobHeader>)> {
        let ends = self.chains.iter().skip(1).map(|chain| chain.first).chain([self.jobs.len()]);
        let header = |job: &Upload| {
            // SAFETY: the place has a job's bytes, and nobody writes them now.
            let bytes = unsafe { std::slice::from_raw_parts(job.host.cast_const(), HEADER_B) };
            JobHeader::unpack(bytes).unwrap_or_default()
        };
        let of = |(chain, end): (&Chain, usize)| {
            (chain.queue, self.jobs[chain.first..end].iter().map(header).collect())
        };
        self.chains.iter().zip(ends).map(of).collect()
    }

    /// Ends the last chain. The next one runs after it.
    pub fn end_chain(&mut self) {
        self.is_open = false;
        (self.last, self.after, self.draw) = (0, 0, 0);
        self.order = None;
    }

    /// Begins a chain if none is open.
    pub fn open_chain(&mut self, queue: Queue) {
        if !std::mem::replace(&mut self.is_open, true) {
            self.chains.push(Chain { first: self.jobs.len(), queue });
        }
    }

    /// Clears what the hardware wrote into headers, and restores other memory, so that the chains can run again.
    ///
    /// # Safety
    /// The GPU is not executing the chains.
    pub unsafe fn rearm(&self) {
        for job in &self.jobs {
            // SAFETY: each place has a job's bytes, and nobody else writes them now.
            unsafe { job.host.write_bytes(0, STATUS_B) };
        }
        for Restored { place, bytes } in &self.restored {
            // SAFETY: the place has these many bytes, and nobody else writes them now.
            unsafe { place.write(bytes) };
        }
    }

    /// The status words of the last job of each chain.
    pub fn ends(&self) -> impl Iterator<Item = *const AtomicU32> + '_ {
        let starts = self.chains.iter().skip(1).map(|chain| chain.first).chain([self.jobs.len()]);
        starts.filter_map(|end| Some(self.jobs.get(end.checked_sub(1)?)?.host.cast_const().cast()))
    }
}
