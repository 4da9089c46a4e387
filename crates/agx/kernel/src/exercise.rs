//! Generates sequences of ioctls from bytes, for fuzzers and property tests.
//!
//! Random bytes alone would hardly get past the first check. So each file starts with one object of
//! every kind, the client's memory with arrays and a command buffer that are well-formed, and the
//! input bends both: it chooses requests, fills their arguments, which are then mostly tamed field
//! by field, and changes single bytes of the memory.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Weak};

use tepui_agx_model::{ComputeJob, JobFault, JobStats, RenderJob, Unit};
use tepui_drm::gem::Gem;
use tepui_drm::uapi::asahi::{self, CmdCompute, CmdHeader, GemBindOp, Sync};
use tepui_drm::uapi::{Field, IoctlInfo, core};
use tepui_drm::user::Block;
use tepui_softgpu::AddressSpace;

use crate::{Device, Execute, File, Options};

/// Requests of one sequence.
const MAX_REQUESTS: usize = 256;

/// Outcome of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Requests that succeeded.
    pub done: usize,
    /// Requests that were refused.
    pub refused: usize,
    /// Submissions among those that succeeded.
    pub submitted: usize,
}

/// Reads a word where the stream stands, and faults if that is odd: enough to have both ends.
struct Reader;

impl Execute for Reader {
    fn compute(&self, vm: &AddressSpace, job: &ComputeJob) -> Result<JobStats, JobFault> {
        match vm.read_array::<4>(job.registers.ctrl_stream_base) {
            Ok(word) if word[0] & 1 == 0 => Ok(JobStats::default()),
            _ => Err(JobFault::new(Unit::Cdm, "odd")),
        }
    }

    fn render(&self, _: &AddressSpace, _: &RenderJob) -> Result<JobStats, JobFault> {
        Ok(JobStats::default())
    }
}

/// Layout of the client's memory.
const BASE: u64 = 0x10_0000;
const HANDLES: usize = 0x000;
const POINTS: usize = 0x100;
const SYNCS: usize = 0x200;
const BINDS: usize = 0x300;
const COMMANDS: usize = 0x400;
const SCRATCH: usize = 0x800;
const MEMORY_BYTES: usize = 0x1000;

/// Where the first buffer is bound at the start.
const BOUND_AT: u64 = 1 << 37;

/// The client's memory before the input bends it.
fn memory() -> Vec<u8> {
    let mut memory = vec![0; MEMORY_BYTES];
    let mut put = |at: usize, bytes: &[u8]| memory[at..at + bytes.len()].copy_from_slice(bytes);
    put(HANDLES, bytemuck::bytes_of(&[1u32, 2, 1, 2]));
    put(POINTS, bytemuck::bytes_of(&[1u64, 2, 3, 4]));
    let sync = |sync_type, handle, timeline_value| Sync { sync_type, handle, timeline_value };
    put(SYNCS, bytemuck::bytes_of(&[sync(0, 1, 0), sync(0, 2, 0), sync(1, 2, 9), sync(1, 1, 3)]));
    let bind = |handle, addr| GemBindOp { flags: 6, handle, offset: 0, range: 1 << 14, addr };
    put(BINDS, bytemuck::bytes_of(&[bind(1, BOUND_AT), bind(2, 1 << 38), bind(1, 1 << 36)]));
    let header = CmdHeader { cmd_type: 1, size: 64, vdm_barrier: 0xffff, cdm_barrier: 0 };
    let command = CmdCompute { cdm_ctrl_stream_base: BOUND_AT, ..Default::default() };
    let one = [bytemuck::bytes_of(&header), bytemuck::bytes_of(&command)].concat();
    put(COMMANDS, &one.repeat(4));
    memory
}

/// Takes bytes off the front of the input; zeros when it is used up.
fn take<const N: usize>(input: &mut &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let (head, rest) = input.split_at(N.min(input.len()));
    bytes[..head.len()].copy_from_slice(head);
    *input = rest;
    bytes
}

/// Drives two opens of a device with requests made of `input`, and closes them.
///
/// # Panics
/// If a buffer outlives the files, or a handle is given twice: bugs.
pub fn run(mut input: &[u8]) -> Outcome {
    let Some(chip) = tepui_agx_chips::chip("m1") else { return Outcome::default() };
    let options = Options { report_faults: false, ..Options::default() };
    let device = Device::with_executor(chip, options, Box::new(Reader));
    let mut memory = memory();
    for _ in 0..take::<1>(&mut input)[0] % 8 {
        let [low, high, flip] = take(&mut input);
        memory[usize::from(u16::from_le_bytes([low, high])) % MEMORY_BYTES] ^= flip;
    }
    let mut session = Session {
        device: device.clone(),
        user: Block::new(BASE, memory),
        descriptors: Vec::new(),
        gems: Vec::new(),
        outcome: Outcome::default(),
    };
    let mut files = [session.open(), session.open()];
    for _ in 0..MAX_REQUESTS {
        if input.is_empty() {
            break;
        }
        let [choice, mode] = take(&mut input);
        let file = &mut files[usize::from(choice & 1)];
        if choice == 0xff {
            *file = session.open();
            continue;
        }
        let index = usize::from(choice >> 1) % (asahi::Ioctl::ALL.len() + core::Ioctl::ALL.len());
        let info = match asahi::Ioctl::ALL.get(index) {
            Some(ioctl) => ioctl.info(),
            None => core::Ioctl::ALL[index - asahi::Ioctl::ALL.len()].info(),
        };
        let raw: [u8; 64] = take(&mut input);
        let mut arg = raw[..info.request.size()].to_vec();
        for field in info.fields {
            let place = field.offset..field.offset + field.size;
            let mut word = [0; 8];
            word[..field.size].copy_from_slice(&raw[place.clone()]);
            let value = u64::from_le_bytes(word);
            let value = match field.name {
                // Whatever the mode: nothing here may wait for ever, or for 5 seconds.
                "timeout_nsec" => 0,
                "flags" if info.argument == "drm_syncobj_transfer" => 0,
                "fd" => session.descriptor(value),
                _ if mode & 7 != 0 => tame(field, info, value, mode >> 3 == 0),
                _ => value,
            };
            arg[place].copy_from_slice(&value.to_le_bytes()[..field.size]);
        }
        session.request(file, info, &mut arg);
    }
    drop(files);
    session.finish()
}

/// A plausible value for a field.
fn tame(field: &Field, info: &IoctlInfo, value: u64, rarely: bool) -> u64 {
    let (small, id) = (value & 7, 1 + (value & 1));
    let at = |offset: usize| BASE + offset as u64;
    match field.name {
        "pad" | "param_group" => 0,
        "stride" => 32,
        "flags" if info.argument.ends_with("gem_create") => value & 3,
        "flags" if info.argument.ends_with("bind_object") => 1,
        "flags" | "priority" | "op" => value & u64::from(rarely),
        "kernel_start" => (1 << 38) + (small << 14),
        "kernel_end" => (1 << 39) - (small << 14),
        "capability" => 0x13,
        "vm_id" if info.argument.ends_with("bind_object") => 0,
        "size" | "range" => (1 + small) << 14,
        "offset" => (small >> 1) << 14,
        "queue_id" | "vm_id" => 1 + (value & u64::from(rarely)),
        "cmdbuf_size" => 72 * (1 + (value & 3)),
        "count_handles" | "num_binds" => 1 + (value & 1),
        "in_sync_count" | "out_sync_count" | "name_len" => value & 1,
        "point" | "src_point" | "dst_point" | "timeline_value" => value & 1,
        "handles" => at(HANDLES),
        "points" => at(POINTS),
        "syncs" => at(SYNCS) + 16 * (value & 1),
        "userptr" => at(BINDS),
        "cmdbuf" => at(COMMANDS),
        _ if field.size == 8 => at(SCRATCH),
        _ => id,
    }
}

/// The objects that a sequence has created.
struct Session {
    device: Arc<Device>,
    user: Block,
    descriptors: Vec<OwnedFd>,
    gems: Vec<Weak<Gem>>,
    outcome: Outcome,
}

impl Session {
    /// A file with two buffers, the first of them bound, two sync objects, an address space, a
    /// queue and a timestamp object.
    fn open(&mut self) -> File {
        let file = self.device.open();
        let [kernel_start, kernel_end] = [1u64 << 38, 1 << 39];
        let mut ask = |ioctl: asahi::Ioctl, arg: &[u8]| {
            self.request(&file, ioctl.info(), &mut arg.to_vec());
        };
        use bytemuck::bytes_of;
        let vm = asahi::VmCreate { kernel_start, kernel_end, ..Default::default() };
        ask(asahi::Ioctl::VmCreate, bytes_of(&vm));
        let gem = asahi::GemCreate { size: 1 << 14, ..Default::default() };
        ask(asahi::Ioctl::GemCreate, bytes_of(&gem));
        let private = asahi::GemCreate { flags: asahi::GEM_VM_PRIVATE, vm_id: 1, ..gem };
        ask(asahi::Ioctl::GemCreate, bytes_of(&private));
        let userptr = BASE + BINDS as u64;
        let bind = asahi::VmBind { vm_id: 1, num_binds: 1, stride: 32, pad: 0, userptr };
        ask(asahi::Ioctl::VmBind, bytes_of(&bind));
        let queue = asahi::QueueCreate { vm_id: 1, ..Default::default() };
        ask(asahi::Ioctl::QueueCreate, bytes_of(&queue));
        let object =
            asahi::GemBindObject { flags: 1, handle: 1, range: 1 << 14, ..Default::default() };
        ask(asahi::Ioctl::GemBindObject, bytes_of(&object));
        for flags in [1, 0] {
            let info = core::Ioctl::SyncobjCreate.info();
            let object = core::SyncobjCreate { flags, handle: 0 };
            self.request(&file, info, &mut bytes_of(&object).to_vec());
        }
        file
    }

    /// A descriptor that a request gave, or -1.
    fn descriptor(&self, value: u64) -> u64 {
        let index = value as usize % (self.descriptors.len() + 1);
        self.descriptors.get(index).map_or(-1, OwnedFd::as_raw_fd) as u64
    }

    fn request(&mut self, file: &File, info: &'static IoctlInfo, arg: &mut [u8]) {
        if file.ioctl(&self.user, info.request, arg).is_err() {
            self.outcome.refused += 1;
            return;
        }
        self.outcome.done += 1;
        let word = |name| {
            let field = info.fields.iter().find(|field| field.name == name);
            let bytes = field.and_then(|field| arg[field.offset..].first_chunk());
            i32::from_le_bytes(bytes.copied().unwrap_or_default())
        };
        match info.name {
            "DRM_IOCTL_PRIME_HANDLE_TO_FD" | "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD" => {
                // SAFETY: a fresh descriptor that the request gave to its client.
                self.descriptors.push(unsafe { OwnedFd::from_raw_fd(word("fd")) });
            }
            "DRM_IOCTL_ASAHI_GEM_CREATE" => {
                let Ok(gem) = file.core().gem(word("handle") as u32) else {
                    panic!("the new handle names nothing");
                };
                let weak = Arc::downgrade(&gem);
                assert!(!self.gems.iter().any(|other| other.ptr_eq(&weak)), "a buffer twice");
                self.gems.push(weak);
            }
            "DRM_IOCTL_ASAHI_SUBMIT" => self.outcome.submitted += 1,
            _ => {}
        }
    }

    /// After the files are closed: sees to it that they have left nothing.
    fn finish(self) -> Outcome {
        // A queue's thread may still be at a command; it ends by itself.
        let patience = tepui_drm::monotonic_ns() + 10_000_000_000;
        while self.gems.iter().any(|gem| gem.strong_count() > 0) {
            assert!(tepui_drm::monotonic_ns() < patience, "a buffer outlives its files");
            std::thread::yield_now();
        }
        self.outcome
    }
}
