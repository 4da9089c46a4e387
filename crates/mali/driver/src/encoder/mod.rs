//! The encoder: command streams or chains of jobs, and the state that they point to.
//!
//! State, descriptors and inputs of programs are gathered here for all GPUs ([`draw`], [`compute`], [`rendering`], [`inputs`]).
//! [`streams`] executes draws, dispatches and renderings by command streams (v10), [`jobs`] by a job manager (v9).
//!
//! A command buffer owns its memory until it is reset. Streams are gathered on the host and copied to the GPU at the end of the
//! recording; jobs are written where they run.

mod compute;
mod draw;
mod expand;
mod inputs;
mod jobs;
mod load;
mod meta;
mod order;
mod queries;
mod record;
mod rendering;
mod stages;
pub mod streams;
mod targets;
mod uploaded;

use std::sync::Arc;

use tepui_mali_packets::shader::{AddressMode, LocalStorage};
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan::command::{BindPoint, MAX_SETS};
use tepui_vulkan::{Result, vk};
use tepui_vulkan_expand::ExpandState;
use tepui_vulkan_kit::Arena;
use tepui_vulkan_kit::arena::Upload;

use crate::device::{Device, ExpandMemory, ThreadMemory};
use crate::graphics::raster::Occlusion;
use crate::kernel::{Bo, Queue, Work, has_job_manager};
use crate::packed::{DESCRIPTOR_ALIGN, packet};
use crate::shader::Variant;
use crate::stream::{Flush, STREAM_ALIGN};

use jobs::chains::Jobs;
use streams::subqueues::{Subqueues, Waits};
use targets::Targets;
use tepui_mali_packets::job::WriteValueType;
use uploaded::Uploaded;

/// Records a command buffer.
pub struct Encoder {
    /// The device.
    pub device: Arc<Device>,
    queues: Subqueues,
    /// Chains of jobs, on GPUs that have a job manager instead of queues.
    jobs: Option<Jobs>,
    uploads: Arena<Bo>,
    uploaded: Uploaded,
    /// Addresses of sets that are pushed: of dispatches, and of draws.
    pushed: [[u64; MAX_SETS]; 2],
    /// Usage of the recording.
    usage: vk::CommandBufferUsageFlags,
    /// The rendering that draws go to.
    targets: Option<Targets>,
    /// State of expanded draws.
    expansion: ExpandState<ExpandMemory>,
    /// Stages of a draw ran as compute programs.
    is_expanding: bool,
    /// Programs have left what later draws read.
    awaits_compute: bool,
    /// The occlusion query that counts draws.
    occlusion: Option<Occlusion>,
    /// Occlusion queries that have ended since fragments last ran: their words of availability.
    ended: Vec<u64>,
    /// Streams of the finished recording.
    works: Vec<Work>,
    /// Programs that commands use, kept while they may run.
    keep: Vec<Arc<Variant>>,
    /// Memory of threads that commands use.
    threads: Vec<Arc<ThreadMemory>>,
}

// SAFETY: pointers into upload memory are the encoder's own.
unsafe impl Send for Encoder {}
// SAFETY: submissions only read.
unsafe impl Sync for Encoder {}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.clear(0);
    }
}

impl Encoder {
    /// An empty encoder.
    pub fn new(device: &Arc<Device>) -> Encoder {
        Encoder {
            device: device.clone(),
            queues: Subqueues::default(),
            jobs: has_job_manager(device.kernel.chip).then(Jobs::default),
            uploads: Arena::default(),
            uploaded: Uploaded::default(),
            pushed: Default::default(),
            usage: vk::CommandBufferUsageFlags::empty(),
            targets: None,
            expansion: ExpandState::default(),
            is_expanding: false,
            awaits_compute: false,
            occlusion: None,
            ended: Vec::new(),
            works: Vec::new(),
            keep: Vec::new(),
            threads: Vec::new(),
        }
    }

    /// Forgets what was recorded; keeps some memory.
    pub fn clear(&mut self, keep: usize) {
        self.device.forget(self);
        if let Some(jobs) = &mut self.jobs {
            jobs.clear();
        }
        self.queues.clear();
        self.uploads.recycle(keep).for_each(|bo| self.device.recycle(bo));
        self.uploaded.clear();
        self.pushed = Default::default();
        self.usage = vk::CommandBufferUsageFlags::empty();
        self.targets = None;
        self.expansion = ExpandState::default();
        (self.is_expanding, self.awaits_compute) = (false, false);
        self.occlusion = None;
        self.ended.clear();
        self.works.clear();
        self.keep.clear();
        self.threads.clear();
    }

    /// The instructions of a queue's stream.
    ///
    /// # Errors
    /// When a value did not fit into its field.
    pub fn words(&self, queue: Queue) -> Result<&[u64]> {
        Ok(self.queues.words().map_err(packet)?[queue as usize])
    }

    /// Room in memory that the GPU reads and writes.
    ///
    /// # Errors
    /// When there is no memory.
    fn reserve(&mut self, size: u64, align: u64) -> Result<Upload> {
        let device = &self.device;
        self.uploads.take(size, align, |size| device.upload_chunk(size))
    }

    /// A copy of bytes that the GPU reads.
    ///
    /// # Errors
    /// When there is no memory.
    fn upload(&mut self, bytes: &[u8], align: u64) -> Result<Upload> {
        let place = self.reserve(bytes.len() as u64, align)?;
        // SAFETY: the place is new and of the right size.
        unsafe { place.write(bytes) };
        Ok(place)
    }

    /// Uploads sets that are pushed and changed; gives the addresses of all.
    ///
    /// # Errors
    /// When there is no memory.
    fn push_sets(&mut self, point: &mut BindPoint, is_graphics: bool) -> Result<[u64; MAX_SETS]> {
        let changed = std::mem::take(&mut point.changed);
        let of = usize::from(is_graphics);
        for (k, set) in point.sets.iter().enumerate().filter(|s| changed >> s.0 & 1 != 0) {
            if !set.pushed[0].is_empty() {
                self.pushed[of][k] = self.upload(&set.pushed[0], DESCRIPTOR_ALIGN)?.address;
            }
        }
        Ok(self.pushed[of])
    }

    /// The descriptor of the memory of threads that need some bytes each.
    ///
    /// # Errors
    /// When there is no memory.
    fn thread_storage(&mut self, bytes: u32) -> Result<LocalStorage> {
        let mut storage = LocalStorage::default();
        if let Some(threads) = self.device.thread_memory(bytes)? {
            storage.tls_size = threads.log2_bytes - 4;
            storage.tls_address_mode = AddressMode::Packed;
            storage.tls_base_pointer = threads.memory.address >> 8;
            self.threads.push(threads);
        }
        Ok(storage)
    }

    /// Keeps a program while the commands may run.
    fn keep(&mut self, v: &Arc<Variant>) {
        if !self.keep.last().is_some_and(|last| Arc::ptr_eq(last, v)) {
            self.keep.push(v.clone());
        }
    }

    /// Orders queues, see [`Subqueues::order`]; with a job manager, all later jobs after all earlier ones.
    fn order_queues(&mut self, waits: Waits, flush: Flush) {
        self.uploaded.forget_copies();
        match &mut self.jobs {
            Some(_) if waits == Waits::default() && flush.is_none() => {}
            Some(jobs) => jobs.order(flush),
            None => self.queues.order(waits, flush, self.device.counters()),
        }
    }

    /// Stores a word by the compute queue itself, or by a job.
    ///
    /// # Errors
    /// When there is no memory.
    fn write_word(&mut self, address: u64, word: u32) -> Result<()> {
        match self.jobs {
            Some(_) => self.write_value(address, WriteValueType::Immediate32, word.into()),
            None => {
                self.store_word(Queue::Compute, address, word);
                Ok(())
            }
        }
    }

    /// Ends the recording: copies the streams to the GPU.
    ///
    /// # Errors
    /// When there is no memory, or a value does not fit.
    fn close(&mut self) -> Result<()> {
        self.queries_end()?;
        if let Some(jobs) = &self.jobs {
            self.works = jobs.works();
            return Ok(());
        }
        self.queues.finish();
        let words = self.queues.words().map_err(packet)?;
        let device = &self.device;
        for (queue, words) in Queue::ALL.into_iter().zip(words) {
            if words.is_empty() {
                continue;
            }
            let bytes: &[u8] = bytemuck::cast_slice(words);
            let new = |size| device.upload_chunk(size);
            let place = self.uploads.take(bytes.len() as u64, STREAM_ALIGN, new)?;
            // SAFETY: the place is new and of the right size.
            unsafe { place.write(bytes) };
            let (address, size) = (place.address, bytes.len() as u32);
            self.works.push(Work { queue, address, size, reads_clock: false });
        }
        Ok(())
    }
}

/// Submits command buffers in order.
///
/// Older kernels accept work for a group that is lost, and those with a job manager do not tell of faults, so that the device is asked
/// before.
///
/// # Errors
/// When the device is lost, or the kernel refuses.
pub fn submit(
    device: &Device,
    waits: &[SyncPoint],
    commands: &[&Encoder],
    signals: &[SyncPoint],
) -> Result<()> {
    device.check()?;
    if has_job_manager(device.kernel.chip) {
        return jobs::submit(device, waits, commands, signals);
    }
    let works: Vec<Work> = commands.iter().flat_map(|c| c.works.iter().copied()).collect();
    device.kernel.submit(waits, &works, signals).map(drop)
}
