//! The panthor interface's part of [`tepui_drm::exercise`]: sequences of its ioctls, for fuzzers and property tests.

use std::sync::Arc;

use bytemuck::bytes_of;
use tepui_drm::core::CoreFile;
use tepui_drm::exercise::{self, BASE, Effect, FAMILY, Family, Outcome};
use tepui_drm::uapi::panthor::{
    self as uapi, Ioctl, ObjArray, QueueCreate, QueueSubmit, SyncOp, VmBindOp,
};
use tepui_drm::uapi::{Field, IoctlInfo};
use tepui_mali_model::{Completion, JobFault, JobStats, QueueState, StartError, Stream, Unit};
use tepui_softgpu::AddressSpace;

use crate::{Device, Execute, File, Options, Queues};

/// Executor that reads the first word of each stream. An odd word faults; a word with bit 1 waits until the
/// bit is clear.
pub struct Reader;

/// The queues of a [`Reader`]: the stream of each, and its state.
struct ReaderQueues(Vec<(Stream, QueueState)>);

impl Execute for Reader {
    fn group(&self, queues: usize) -> Box<dyn Queues> {
        Box::new(ReaderQueues(vec![(Stream { address: 0, size: 0 }, QueueState::Idle); queues]))
    }
}

impl Queues for ReaderQueues {
    fn state(&self, queue: usize) -> Option<QueueState> {
        self.0.get(queue).map(|(_, state)| *state)
    }

    fn start(&mut self, queue: usize, stream: Stream) -> Result<(), StartError> {
        let queues = self.0.len();
        let Some(slot) = self.0.get_mut(queue) else {
            return Err(StartError::NoSuchQueue { queue, queues });
        };
        if slot.1 != QueueState::Idle {
            return Err(StartError::Busy(queue));
        }
        *slot = (stream, QueueState::Ready);
        Ok(())
    }

    fn run(&mut self, vm: &AddressSpace) -> Vec<Completion> {
        let mut done = Vec::new();
        for (queue, (stream, state)) in self.0.iter_mut().enumerate() {
            if matches!(state, QueueState::Idle | QueueState::Faulted) {
                continue;
            }
            let fault = JobFault::new(Unit::CommandStream, "odd");
            let word = vm.read_array::<4>(stream.address).map(u32::from_le_bytes);
            let (next, outcome) = match word {
                Ok(word) if word & 1 != 0 => (QueueState::Faulted, Err(fault)),
                Ok(word) if word & 2 != 0 => {
                    *state = QueueState::Waiting { address: stream.address };
                    continue;
                }
                Ok(_) => (QueueState::Idle, Ok(JobStats::default())),
                Err(fault) => {
                    (QueueState::Faulted, Err(JobFault::memory(Unit::CommandStream, fault)))
                }
            };
            *state = next;
            done.push(Completion { queue, outcome });
        }
        done
    }
}

/// Layout of the family's part of the client's memory.
const SYNCS: usize = FAMILY;
const QUEUES: usize = FAMILY + 0x80;
const BINDS: usize = FAMILY + 0x100;
const SUBMITS: usize = FAMILY + 0x300;
const SYNC_RANGES: usize = FAMILY + 0x500;

/// The address to which the first buffer is bound at the start.
const BOUND_AT: u64 = 1 << 32;

/// Drives two opens of a device with requests made of `input`, and closes them.
///
/// # Panics
/// If a buffer outlives the files, or a handle is given twice: bugs.
pub fn run(input: &[u8]) -> Outcome {
    let Some(chip) = tepui_mali_chips::chip("mali-g610") else { return Outcome::default() };
    let options = Options { report_faults: false, ..Options::default() };
    exercise::run(&Panthor(Device::with_executor(chip, options, Box::new(Reader))), input)
}

/// The device under test.
struct Panthor(Arc<Device>);

/// An array of well-formed objects in the client's memory.
fn array<T>(count: u32, offset: usize) -> ObjArray {
    ObjArray { stride: size_of::<T>() as u32, count, array: BASE + offset as u64 }
}

impl Family for Panthor {
    type File = File;

    fn open(&self) -> File {
        self.0.open()
    }

    fn core(file: &File) -> &CoreFile {
        file.core()
    }

    fn requests(&self) -> Vec<&'static IoctlInfo> {
        Ioctl::ALL.iter().map(|ioctl| ioctl.info()).collect()
    }

    fn fill(&self, put: &mut dyn FnMut(usize, &[u8])) {
        let sync = |flags, handle, timeline_value| SyncOp { flags, handle, timeline_value };
        let signal = uapi::SYNC_OP_SIGNAL;
        put(SYNCS, bytes_of(&[sync(0, 1, 0), sync(signal, 2, 0), sync(signal | 1, 2, 9)]));
        let queue = QueueCreate { ringbuf_size: 1 << 16, ..Default::default() };
        put(QUEUES, bytes_of(&[queue, queue, queue]));
        let bind = |flags, bo_handle, va, syncs| {
            let size = if bo_handle == 0 && va == 0 { 0 } else { 1 << 12 };
            VmBindOp { flags, bo_handle, bo_offset: 0, va, size, syncs }
        };
        let none = ObjArray::default();
        let signals = array::<SyncOp>(1, SYNCS + 16);
        put(BINDS, bytes_of(&[bind(0, 1, BOUND_AT, none), bind(2, 2, 1 << 33, none)]));
        let unmap = bind(uapi::BIND_OP_TYPE_UNMAP, 0, 1 << 33, none);
        let later = bind(0, 1, 1 << 34, signals);
        let sparse = bind(uapi::BIND_OP_MAP_SPARSE | uapi::BIND_OP_MAP_NOEXEC, 0, 1 << 35, none);
        let sync_only = bind(uapi::BIND_OP_TYPE_SYNC_ONLY, 0, 0, signals);
        put(BINDS + 96, bytes_of(&[unmap, later, sparse, sync_only]));
        let submit = |queue_index, syncs| QueueSubmit {
            queue_index,
            stream_size: 8,
            stream_addr: BOUND_AT + 64 * u64::from(queue_index),
            syncs,
            ..Default::default()
        };
        let both = array::<SyncOp>(2, SYNCS);
        put(SUBMITS, bytes_of(&[submit(0, none), submit(1, both), submit(2, signals)]));
        let empty = QueueSubmit { syncs: both, ..Default::default() };
        put(SUBMITS + 120, bytes_of(&empty));
        let range = uapi::BoSyncOp { handle: 1, r#type: 0, offset: 0, size: 4096 };
        put(SYNC_RANGES, bytes_of(&[range, range]));
    }

    /// An address space, two buffers, the first of them bound, a group and a heap.
    fn prepare(&self, ask: &mut dyn FnMut(&'static IoctlInfo, &[u8])) {
        let mut ask = |ioctl: Ioctl, arg: &[u8]| ask(ioctl.info(), arg);
        ask(Ioctl::VmCreate, bytes_of(&uapi::VmCreate::default()));
        let buffer = uapi::BoCreate { size: 1 << 12, ..Default::default() };
        ask(Ioctl::BoCreate, bytes_of(&buffer));
        ask(Ioctl::BoCreate, bytes_of(&uapi::BoCreate { exclusive_vm_id: 1, ..buffer }));
        let ops = array::<VmBindOp>(1, BINDS);
        ask(Ioctl::VmBind, bytes_of(&uapi::VmBind { vm_id: 1, flags: 0, ops }));
        let group = uapi::GroupCreate {
            queues: array::<QueueCreate>(3, QUEUES),
            vm_id: 1,
            ..Default::default()
        };
        ask(Ioctl::GroupCreate, bytes_of(&group));
        let heap = uapi::TilerHeapCreate {
            vm_id: 1,
            initial_chunk_count: 1,
            chunk_size: 128 << 10,
            max_chunks: 4,
            ..Default::default()
        };
        ask(Ioctl::TilerHeapCreate, bytes_of(&heap));
    }

    fn tame(&self, field: &Field, info: &IoctlInfo, value: u64, rarely: bool) -> Option<u64> {
        let small = value & 7;
        Some(match field.name {
            "r#type" => small,
            "size" if info.argument.ends_with("dev_query") => 8 * small,
            "size" => (1 + small) << 12,
            "flags" if info.argument.ends_with("bo_create") => value & 3,
            "flags" if info.argument.ends_with("vm_bind") => value & 1,
            "user_va_range" => (value & 1) << 40,
            "exclusive_vm_id" => value & 1,
            "id" => 1 + (value & u64::from(rarely)),
            "group_handle" => 1 + (value & u64::from(rarely)),
            "priority" => value & 1,
            "initial_chunk_count" => 1 + (value & 1),
            "max_chunks" => 1 + small,
            "chunk_size" => (128 << 10) + (small << 12),
            "offset" if info.argument.ends_with("mmio_offset") => {
                [uapi::USER_MMIO_OFFSET_32BIT, uapi::USER_MMIO_OFFSET_64BIT][value as usize & 1]
            }
            name if name.ends_with("_core_mask") || name.starts_with("max_") => value & 1,
            _ => return None,
        })
    }

    fn tame_bytes(&self, _field: &Field, info: &IoctlInfo, bytes: &mut [u8]) {
        let choice = u32::from(bytes[0]);
        let tamed = match info.argument {
            "drm_panthor_vm_bind" => {
                let first = choice as usize % 6;
                let count = 1 + (choice >> 4) % (6 - first as u32);
                array::<VmBindOp>(count, BINDS + 48 * first)
            }
            "drm_panthor_group_create" => array::<QueueCreate>(1 + choice % 3, QUEUES),
            "drm_panthor_group_submit" => {
                let first = choice as usize % 4;
                array::<QueueSubmit>(1 + (choice >> 4) % (4 - first as u32), SUBMITS + 40 * first)
            }
            "drm_panthor_bo_sync" => array::<uapi::BoSyncOp>(choice % 3, SYNC_RANGES),
            _ => return,
        };
        if bytes.len() == size_of::<ObjArray>() {
            bytes.copy_from_slice(bytes_of(&tamed));
        }
    }

    fn effect(&self, info: &IoctlInfo, _: &[u8], _: &[u8]) -> Effect {
        match info.name {
            "DRM_IOCTL_PANTHOR_BO_CREATE" => Effect::Buffer,
            "DRM_IOCTL_PANTHOR_GROUP_SUBMIT" => Effect::Submission(None),
            _ => Effect::Other,
        }
    }
}
