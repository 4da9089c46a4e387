//! Chains of jobs, for GPUs with a job manager.
//!
//! Jobs of a chain run at the same time unless one names another as its dependency, or is a barrier, which waits for all before it. An
//! order becomes a job that flushes caches behind a barrier, and all later jobs depend on that one. Indices of jobs have 16 bits; a
//! longer recording is several chains, which the kernel runs one after the other, with all caches flushed between.
//!
//! A job whose parameters are in memory follows a job that copies them into it (`patch.rs`).
//!
//! source: Mesa, v9.xml (jobs), pan_jc.h (`pan_jc_add_job`), panvk_vX_queue.c

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tepui_mali_packets::cs::TaskAxis;
use tepui_mali_packets::job::{
    CacheFlushJobPayload, ComputePayload, JobHeader, JobType, WriteValueJobPayload, WriteValueType,
};
use tepui_mali_packets::shader::ShaderEnvironment;
use tepui_mali_packets::{Packet, Problem};
use tepui_sysval::Words as _;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch};
use tepui_vulkan::command::MAX_PUSH;
use tepui_vulkan_kit::arena::Upload;

use super::Encoder;
use super::patch::PatchWords;
use crate::device::{Device, packet};
use crate::kernel::{Queue, Work};
use crate::shader::Variant;
use crate::stream::Flush;

/// Bytes of a job of the kinds here: a header and the largest payload.
const JOB_B: u64 = (JobHeader::SIZE_BYTES + ComputePayload::SIZE_BYTES) as u64;
/// Alignment of jobs. source: v9.xml
const JOB_ALIGN: u64 = 128;
/// Maximum number of jobs of a chain, whose indices have 16 bits.
const MAX_JOBS: u32 = u16::MAX as u32;
/// Jobs that one dispatch or write adds, at most: a flush, and itself.
const MAX_ADDED: u32 = 2;
/// Jobs that a dispatch after a patch adds, at most: a flush, the patch as a dispatch, and itself.
const MAX_PATCHED: u32 = 1 + MAX_ADDED + 1;
/// Bytes of the status and the incomplete task at the start of a header, and of the fault's address.
const STATUS_B: usize = 16;
/// Offset of the address of the next job in a header.
const NEXT: usize = 24;
/// Word of a header with the type and the index.
const TYPE_WORD: usize = 4;
/// Bits of that word that are the type.
const TYPE_BITS: u32 = 0xfe;
/// Status of a job that has ended without a fault. source: Mesa, decode_jm.c (`pandecode_abort_on_fault_jc`)
const DONE: u32 = 1;

/// The chains of a recording.
#[derive(Default)]
pub struct Jobs {
    jobs: Vec<Upload>,
    /// First job of each chain, in `jobs`.
    chains: Vec<usize>,
    /// Index of the last job of the last chain.
    last: u32,
    /// Index of the job that all later ones wait for; 0 for none.
    after: u32,
    /// Caches that are flushed before the next job.
    order: Option<Flush>,
    reads_clock: bool,
    /// Number of the submission that has the chains; 0 before the first.
    submission: AtomicU64,
}

/// A dispatch of a program.
pub struct Launch {
    /// Table of resource tables, and its count.
    pub resources: u64,
    /// Uniforms, with the number of pairs in the upper byte.
    pub fau: u64,
    /// The program descriptor.
    pub program: u64,
    /// The descriptor of local memory.
    pub storage: u64,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// First workgroup.
    pub base: [u32; 3],
    /// Axis along which tasks grow.
    pub axis: TaskAxis,
    /// Workgroups of a task.
    pub increment: u32,
}

impl Launch {
    fn payload(&self, counts: [u32; 3]) -> ComputePayload {
        let first = |k: usize| self.base[k] * self.workgroup[k];
        ComputePayload {
            workgroup_size_x: self.workgroup[0],
            workgroup_size_y: self.workgroup[1],
            workgroup_size_z: self.workgroup[2],
            allow_merging_workgroups: false,
            task_increment: self.increment,
            task_axis: self.axis,
            workgroup_count_x: counts[0],
            workgroup_count_y: counts[1],
            workgroup_count_z: counts[2],
            offset_x: first(0),
            offset_y: first(1),
            offset_z: first(2),
            compute: ShaderEnvironment {
                attribute_offset: 0,
                fau_count: (self.fau >> 56) as u32,
                resources: self.resources,
                shader: self.program,
                thread_storage: self.storage,
                fau: self.fau & ((1 << 56) - 1),
            },
        }
    }
}

/// The bytes of a job.
fn job(header: &JobHeader, payload: &impl Packet) -> std::result::Result<Vec<u8>, Problem> {
    let mut bytes = vec![0; JOB_B as usize];
    let size = JobHeader::SIZE_BYTES;
    header.pack_into(&mut bytes[..size])?;
    payload.pack_into(&mut bytes[size..size + payload_bytes(payload)])?;
    Ok(bytes)
}

fn payload_bytes<P: Packet>(_: &P) -> usize {
    P::INFO.size_bytes
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
        let work = |&first: &usize| Work {
            queue: Queue::Compute,
            address: self.jobs[first].address,
            size: 0,
            reads_clock: self.reads_clock,
        };
        self.chains.iter().map(work).collect()
    }

    /// Clears what the hardware wrote into headers, so that the chains can run again.
    ///
    /// # Safety
    /// The GPU is not executing the chains.
    unsafe fn rearm(&self) {
        for job in &self.jobs {
            // SAFETY: each place has a job's bytes, and nobody else writes them now.
            unsafe { job.host.write_bytes(0, STATUS_B) };
        }
    }

    /// The status words of the last job of each chain.
    fn ends(&self) -> impl Iterator<Item = *const AtomicU32> + '_ {
        let starts = self.chains.iter().skip(1).copied().chain([self.jobs.len()]);
        starts.filter_map(|end| Some(self.jobs.get(end.checked_sub(1)?)?.host.cast_const().cast()))
    }
}

impl Encoder {
    /// Adds a job at a place, which waits for another one of the chain, if its index is not 0; returns the index.
    fn add(&mut self, place: Upload, header: JobHeader, payload: &impl Packet) -> Result<u32> {
        let Some(jobs) = &mut self.jobs else { return Ok(0) };
        if jobs.last == MAX_JOBS || jobs.chains.is_empty() {
            jobs.chains.push(jobs.jobs.len());
            (jobs.last, jobs.after) = (0, 0);
        } else if let Some(before) = jobs.jobs.last() {
            // SAFETY: the place has a job's bytes, and the GPU does not use it yet.
            unsafe { before.host.add(NEXT).cast::<u64>().write_unaligned(place.address.to_le()) };
        }
        jobs.last += 1;
        let index = jobs.last;
        let header = JobHeader { is_64_bit: true, index, ..header };
        let bytes = job(&header, payload).map_err(packet)?;
        // SAFETY: the place is new and of the right size.
        unsafe { place.write(&bytes) };
        jobs.jobs.push(place);
        Ok(index)
    }

    fn job_place(&mut self) -> Result<Upload> {
        self.reserve(JOB_B, JOB_ALIGN)
    }

    /// Makes room for some jobs in one chain, and adds the flush that later jobs wait for.
    fn begin_jobs(&mut self, count: u32) -> Result<u32> {
        let Some(jobs) = &mut self.jobs else { return Ok(0) };
        if jobs.last + count > MAX_JOBS {
            // The next chain comes after this one.
            jobs.last = MAX_JOBS;
            jobs.order = None;
            return Ok(0);
        }
        let after = jobs.after;
        let Some(flush) = jobs.order.take().filter(|_| jobs.last > 0 && !jobs.chains.is_empty())
        else {
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
        let place = self.job_place()?;
        let index = self.add(place, header, &payload)?;
        if let Some(jobs) = &mut self.jobs {
            jobs.after = index;
        }
        Ok(index)
    }

    /// Adds a job that writes a value, after what later jobs wait for.
    pub(super) fn write_value(
        &mut self,
        address: u64,
        kind: WriteValueType,
        immediate_value: u64,
    ) -> Result<()> {
        let after = self.begin_jobs(MAX_ADDED)?;
        let header = JobHeader {
            job_type: JobType::WriteValue,
            dependency_1: after,
            ..JobHeader::default()
        };
        if let (WriteValueType::SystemTimestamp, Some(jobs)) = (kind, &mut self.jobs) {
            jobs.reads_clock = true;
        }
        let place = self.job_place()?;
        self.add(place, header, &WriteValueJobPayload { address, kind, immediate_value })?;
        Ok(())
    }

    /// Adds the jobs of a dispatch. `written` are the words of uniforms that are numbers of workgroups, with their axes.
    pub(super) fn dispatch_job(
        &mut self,
        launch: &Launch,
        written: &[(usize, u8)],
        dispatch: &Dispatch,
        condition: Option<Condition>,
    ) -> Result<()> {
        let header = JobHeader { job_type: JobType::Compute, ..JobHeader::default() };
        let (arguments, counts) = match (*dispatch, condition) {
            (Dispatch::Direct(_, counts), None) => {
                let dependency_1 = self.begin_jobs(MAX_ADDED)?;
                let place = self.job_place()?;
                let header = JobHeader { dependency_1, ..header };
                self.add(place, header, &launch.payload(counts))?;
                return Ok(());
            }
            (Dispatch::Direct(_, counts), Some(_)) => {
                (self.upload(bytemuck::cast_slice(&counts), 4)?.address, counts)
            }
            (Dispatch::Indirect(_, address), _) => (address, [1; 3]),
        };
        let place = self.job_place()?;
        // The patch is the next job, and this one comes after it.
        self.begin_jobs(MAX_PATCHED)?;
        let after = self.jobs.as_ref().map_or(0, |jobs| match jobs.last {
            MAX_JOBS => 1,
            last => last + 1,
        });
        let header = JobHeader { dependency_1: after, suppress_prefetch: true, ..header };
        let own = JobHeader { is_64_bit: true, index: after + 1, ..header };
        let bytes = own.pack().map_err(packet)?;
        let word = bytes.as_chunks::<4>().0[TYPE_WORD];
        let spare = self.upload(&1u32.to_le_bytes(), 16)?.address;
        let fau = launch.fau & ((1 << 48) - 1);
        let count = |axis: u8| {
            let found = written.iter().find(|w| w.1 == axis);
            found.map_or(spare + 4, |w| fau + 4 * w.0 as u64).into()
        };
        let words = PatchWords {
            job: place.address.into(),
            arguments: arguments.into(),
            condition: condition.map_or(spare, |c| c.address).into(),
            count_x: count(0),
            count_y: count(1),
            count_z: count(2),
            inverted: u32::from(condition.is_some_and(|c| c.inverted)),
            type_word: u32::from_le_bytes(word) & !TYPE_BITS,
        };
        let mut push = [0; MAX_PUSH];
        push[..words.bytes().len()].copy_from_slice(words.bytes());
        let patch: Arc<Variant> = self.device.patch()?;
        self.dispatch_code(&patch, &push, &Dispatch::Direct([0; 3], [1; 3]), None)?;
        self.add(place, header, &launch.payload(counts))?;
        Ok(())
    }

    /// Number of the submission that has the recording's chains; 0 before the first.
    fn submission(&self) -> &AtomicU64 {
        static NONE: AtomicU64 = AtomicU64::new(0);
        self.jobs.as_ref().map_or(&NONE, |jobs| &jobs.submission)
    }
}

/// Chains that are submitted, with what tells whether they faulted.
#[derive(Default)]
pub struct Submitted {
    chains: Vec<(u64, usize, *const AtomicU32)>,
    faulted: bool,
}

// SAFETY: the pointers are to memory of encoders, which take their entries out before they give it back.
unsafe impl Send for Submitted {}

impl Submitted {
    /// Looks at the chains of submissions up to a number; whether one has ever faulted.
    fn look(&mut self, done: u64) -> bool {
        let Submitted { chains, faulted } = self;
        chains.retain(|&(number, _, status)| {
            if number > done {
                return true;
            }
            // SAFETY: the encoder has the memory still.
            *faulted |= unsafe { (*status).load(Ordering::Acquire) } != DONE;
            false
        });
        *faulted
    }

    /// Looks at the chains of an encoder whose memory is about to be used for something else, and forgets them.
    fn forget(&mut self, encoder: usize, done: u64) {
        self.look(done);
        self.chains.retain(|chain| chain.1 != encoder);
    }
}

impl Device {
    /// Whether a chain that has ended faulted.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn has_faulted(&self) -> Result<bool> {
        let done = self.kernel.finished()?;
        Ok(self.submitted().look(done))
    }

    /// Forgets the chains of an encoder.
    pub fn forget(&self, e: &Encoder) {
        let Some(jobs) = e.jobs.as_ref().filter(|jobs| !jobs.jobs.is_empty()) else { return };
        let done = self.kernel.finished().unwrap_or(u64::MAX);
        self.submitted().forget(key(jobs), done);
    }
}

/// The address of a recording's first job, which no other recording has.
fn key(jobs: &Jobs) -> usize {
    jobs.jobs.first().map_or(0, |job| job.host as usize)
}

/// Submits chains in order. One that is submitted already runs to its end before, since the hardware writes into headers.
///
/// # Errors
/// When the kernel refuses.
pub fn submit(
    device: &Device,
    waits: &[(u32, u64)],
    commands: &[&Encoder],
    signals: &[(u32, u64)],
) -> Result<()> {
    let mut waits = waits;
    let mut batch: Vec<&Jobs> = Vec::new();
    let send = |batch: &mut Vec<&Jobs>, waits: &[_], signals: &[_]| {
        let works: Vec<Work> = batch.iter().flat_map(|jobs| jobs.works()).collect();
        let number = device.kernel.submit(waits, &works, signals)?;
        let mut submitted = device.submitted();
        for jobs in batch.drain(..) {
            jobs.submission.store(number, Ordering::Release);
            let ends = jobs.ends().map(|status| (number, key(jobs), status));
            submitted.chains.extend(ends);
        }
        Ok(())
    };
    for e in commands {
        let Some(jobs) = e.jobs.as_ref().filter(|jobs| !jobs.jobs.is_empty()) else { continue };
        if batch.iter().any(|other| std::ptr::eq(*other, jobs)) {
            send(&mut batch, waits, &[])?;
            waits = &[];
        }
        let before = e.submission().load(Ordering::Acquire);
        if before != 0 {
            device.kernel.finish(before)?;
            device.has_faulted()?;
        }
        // SAFETY: the chains have run to their end, or never.
        unsafe { jobs.rearm() };
        batch.push(jobs);
    }
    send(&mut batch, waits, signals)
}
