//! Thread dispatch of compute: workgroups, their threads, and the payload of threads.
//!
//! A workgroup's threads run one after the other on one worker of the host, each until it ends or
//! waits at a barrier; local memory belongs to the group. Groups are independent, so workers take
//! them in order.

use tepui_intel_eu::{Program, REGISTER_BYTES, Stop, Thread};
use tepui_intel_packets::media::{
    FloatingPointMode, InterfaceDescriptorData, MediaVfeState, SharedLocalMemorySize,
};
use tepui_softgpu::{AddressSpace, Slots};

use crate::context::Bases;
use crate::gpu::Gpu;
use crate::job::{FaultKind, JobFault, JobStats, Unit};
use crate::port::{DispatchState, Ports};
use crate::program::{program, thread_fault};
use crate::watch::ThreadPlace;

const UNIT: Unit = Unit::Dispatch;

/// Limit on the threads of a workgroup: the counters of a walker have six bits each, an interface
/// descriptor's ten.
const MAX_THREADS: u32 = 1 << 10;

/// A dispatch, from a walker and its interface descriptor.
pub(crate) struct Dispatch {
    pub bases: Bases,
    pub descriptor: InterfaceDescriptorData,
    pub vfe: MediaVfeState,
    /// The first workgroup.
    pub start: [u32; 3],
    /// One past the last workgroup.
    pub end: [u32; 3],
    /// Number of channels of a thread.
    pub lanes: u32,
    /// Threads of a workgroup.
    pub threads: [u32; 3],
    /// Execution masks of the last thread of a row, and of the threads of the last row.
    pub right_mask: u32,
    pub bottom_mask: u32,
    /// Constants: those for all threads, followed by those for each.
    pub constants: Vec<u8>,
    /// Number of constant registers that all threads share.
    pub cross_thread: usize,
    /// Number of constant registers per thread.
    pub per_thread: usize,
    /// Whether the constants are the walker's indirect data instead of those of MEDIA_CURBE_LOAD.
    pub indirect: bool,
}

impl Dispatch {
    /// Number of threads of a workgroup.
    fn thread_count(&self) -> u32 {
        self.threads.iter().product()
    }

    /// Number of enabled channels of all threads.
    pub fn invocations(&self) -> u64 {
        let group: u32 = (0..self.thread_count()).map(|n| self.mask(n).count_ones()).sum();
        u64::from(group) * self.groups().unwrap_or(0) as u64
    }

    /// Number of workgroups, if it fits a host integer.
    fn groups(&self) -> Option<usize> {
        let mut count = 1usize;
        for (start, end) in self.start.iter().zip(&self.end) {
            count = count.checked_mul(end.saturating_sub(*start) as usize)?;
        }
        Some(count)
    }

    fn group(&self, index: usize) -> [u32; 3] {
        let size = [0, 1, 2].map(|axis| (self.end[axis] - self.start[axis]) as usize);
        let [x, y, z] = [index % size[0], index / size[0] % size[1], index / size[0] / size[1]];
        [self.start[0] + x as u32, self.start[1] + y as u32, self.start[2] + z as u32]
    }

    /// Bytes of local memory of a workgroup.
    fn local_bytes(&self) -> usize {
        use SharedLocalMemorySize as Size;
        1024 * match self.descriptor.shared_local_memory_size {
            Size::Encodes0k => 0,
            Size::Encodes1k => 1,
            Size::Encodes2k => 2,
            Size::Encodes4k => 4,
            Size::Encodes8k => 8,
            Size::Encodes16k => 16,
            Size::Encodes32k => 32,
            Size::Encodes64k => 64,
        }
    }

    /// The enabled channels of a thread.
    fn mask(&self, thread: u32) -> u32 {
        let all = if self.lanes == 32 { u32::MAX } else { (1 << self.lanes) - 1 };
        let [width, height, _] = self.threads;
        let (x, y) = (thread % width, thread / width % height);
        let right = if x + 1 == width { self.right_mask } else { u32::MAX };
        let bottom = if y + 1 == height { self.bottom_mask } else { u32::MAX };
        all & right & bottom
    }

    /// The initial control register of a thread.
    ///
    /// source: Mesa, brw_eu_defines.h (`BRW_CR0_*`): bit 0 alternative float mode, bits 5:4
    /// rounding, bits 6, 7 and 10 keep denormals of 64, 32 and 16 bits.
    fn control(&self) -> u32 {
        let alternative = self.descriptor.floating_point_mode == FloatingPointMode::Alternate;
        u32::from(alternative) | (self.descriptor.rounding_mode as u32) << 4
    }

    /// Register 0 of a thread's payload.
    ///
    /// source: IVB PRM volume 2 part 2, "GPGPU thread payload": r0.1, r0.6, r0.7 workgroup; r0.3 and
    /// r0.4 samplers and binding table; r0.5 scratch memory.
    fn header(&self, group: [u32; 3], slot: u32) -> [u32; 8] {
        let scratch = self.vfe.scratch_space_base_pointer as u32;
        let size = 1024u32 << self.vfe.per_thread_scratch_space;
        let samplers = self.descriptor.sampler_state_pointer as u32;
        [
            0,
            group[0],
            0,
            samplers | self.vfe.per_thread_scratch_space,
            self.descriptor.binding_table_pointer as u32,
            scratch.wrapping_add(slot.wrapping_mul(size)) & !0x3ff | slot & 0x1ff,
            group[1],
            group[2],
        ]
    }
}

/// The state of a worker: threads and memory that its groups use one after the other.
struct Worker<'a> {
    threads: Vec<Thread>,
    ports: Ports<'a>,
    /// Number of instructions that may still be executed.
    budget: u64,
    stats: JobStats,
}

/// Runs a dispatch to its end.
pub(crate) fn run(
    gpu: &Gpu,
    vm: &AddressSpace,
    dispatch: &Dispatch,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let count = dispatch.thread_count();
    if count > MAX_THREADS || count != dispatch.descriptor.number_of_threads_in_gpgpu_thread_group {
        let what = "the walker's threads are not those of the interface descriptor";
        return Err(JobFault::new(UNIT, what));
    }
    stats.dispatches += 1;
    let groups = dispatch.groups();
    let Some(groups) = groups else {
        return Err(JobFault::new(UNIT, "the walker has more workgroups than can be counted")
            .of(FaultKind::Endless));
    };
    if groups == 0 {
        return Ok(());
    }
    let kernel = dispatch.bases.instruction + dispatch.descriptor.kernel_start_pointer;
    let cached = program(gpu, vm, kernel)?;
    let shared = DispatchState::new(gpu, kernel, dispatch.bases, &dispatch.descriptor);
    // Scratch memory is allocated for this number of threads: each workgroup takes the slots of its threads while it runs.
    let resident = dispatch.vfe.maximum_number_of_threads + 1;
    let slots = Slots::new((0..(resident / count).max(1)).rev());
    let begin = |_core| Worker {
        threads: Vec::new(),
        ports: Ports::new(vm, &shared, dispatch.local_bytes()),
        budget: gpu.options.max_instructions,
        stats: JobStats::default(),
    };
    let run = |worker: &mut Worker<'_>, group: usize| {
        slots.with(|set| worker.group(dispatch, &cached.program, kernel, group, set * count))
    };
    let (parts, outcome) = gpu
        .pool
        .share(0..groups, begin, run, |worker| worker.stats)
        .map_err(|error| JobFault::new(UNIT, error.to_string()))?;
    for part in parts {
        stats.threads += part.threads;
        stats.instructions += part.instructions;
    }
    outcome
}

impl Worker<'_> {
    /// Runs a workgroup to its end.
    fn group(
        &mut self,
        dispatch: &Dispatch,
        program: &Program,
        kernel: u64,
        index: usize,
        first_slot: u32,
    ) -> Result<(), JobFault> {
        let count = dispatch.thread_count() as usize;
        let group = dispatch.group(index);
        while self.threads.len() < count {
            self.threads.push(self.ports.thread());
        }
        self.ports.begin_group();
        for (number, thread) in self.threads[..count].iter_mut().enumerate() {
            start(thread, dispatch, program, group, number, first_slot + number as u32);
        }
        self.stats.threads += count as u64;
        let mut running: Vec<usize> = (0..count).collect();
        while !running.is_empty() {
            let mut progress = false;
            let mut left = Vec::with_capacity(running.len());
            for number in running {
                let before = self.budget;
                self.ports.place = ThreadPlace::Group { workgroup: group, thread: number as u32 };
                let stop = self.threads[number]
                    .run(program, &mut self.ports, &mut self.budget)
                    .map_err(|fault| thread_fault(kernel, fault))?;
                let executed = before - self.budget;
                self.stats.instructions += executed;
                match stop {
                    Stop::EndOfThread => progress = true,
                    Stop::Yielded => {
                        progress = true;
                        left.push(number);
                    }
                    // Only the `wait` itself was executed: no progress.
                    Stop::Waiting => {
                        progress |= executed > 1;
                        left.push(number);
                    }
                }
            }
            if self.ports.barrier_complete(count) {
                self.threads[..count].iter_mut().for_each(Thread::notify);
                progress = true;
            }
            if !progress {
                let what = "threads wait at a barrier that others do not reach";
                return Err(JobFault::new(UNIT, what).of(FaultKind::Endless));
            }
            running = left;
        }
        Ok(())
    }
}

/// Initialises a thread: its payload, channels and modes.
fn start(
    thread: &mut Thread,
    dispatch: &Dispatch,
    program: &Program,
    group: [u32; 3],
    number: usize,
    slot: u32,
) {
    thread.clear_for(program, dispatch.mask(number as u32), 0);
    thread.start(&tepui_intel_eu::Dispatch {
        mask: dispatch.mask(number as u32),
        vector_mask: dispatch.mask(number as u32),
        state: 0,
        control: dispatch.control(),
    });
    thread.write_payload(0, &dispatch.header(group, slot));
    let grf = thread.grf_mut();
    let mut put = |at: usize, from: usize, registers: usize| {
        let bytes = registers * REGISTER_BYTES;
        let from = dispatch.constants.get(from..).unwrap_or(&[]);
        let from = &from[..bytes.min(from.len())];
        let room = grf.len().saturating_sub(at);
        let length = from.len().min(room);
        if length > 0 {
            grf[at..at + length].copy_from_slice(&from[..length]);
        }
    };
    let [cross, own] = [dispatch.cross_thread, dispatch.per_thread].map(|n| n * REGISTER_BYTES);
    // In memory the shared constants come first. In registers they do too, except for indirect data, where
    // each thread's own come first: observed in the code of Intel's OpenCL compiler, which uses indirect
    // data, and of Mesa's, which does not.
    let (cross_at, own_at) = if dispatch.indirect { (own, 0) } else { (0, cross) };
    put(REGISTER_BYTES + cross_at, 0, dispatch.cross_thread);
    put(REGISTER_BYTES + own_at, cross + number * own, dispatch.per_thread);
}
