//! Generates sequences of ioctls from bytes, for fuzzers and property tests.
//!
//! Random bytes alone would hardly get past the first check. So each file starts with buffers, sync
//! objects, an address space and a context, the client's memory with arrays that are well-formed,
//! and the input bends both: it chooses requests, fills their arguments, which are then mostly
//! tamed field by field, and changes single bytes of the memory.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Weak};

use bytemuck::bytes_of;
use tepui_drm::gem::Gem;
use tepui_drm::uapi::i915::{self, ExecFence, ExecObject2, UserExtension};
use tepui_drm::uapi::{Field, IoctlInfo, core};
use tepui_drm::user::Block;
use tepui_intel_model::{Batch, HardwareContext, JobFault, JobStats, Unit};
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

/// Reads the first word of the batch, and faults if that is odd: enough to have both ends.
struct Reader;

impl Execute for Reader {
    fn context(&self) -> HardwareContext {
        HardwareContext::default()
    }

    fn execute(
        &self,
        vm: &AddressSpace,
        _: &mut HardwareContext,
        batch: &Batch,
    ) -> Result<JobStats, JobFault> {
        match vm.read_array::<4>(batch.address) {
            Ok(word) if word[0] & 1 == 0 => Ok(JobStats::default()),
            _ => Err(JobFault::new(Unit::CommandStreamer, "odd")),
        }
    }
}

/// Layout of the client's memory.
const BASE: u64 = 0x10_0000;
const HANDLES: usize = 0x000;
const POINTS: usize = 0x100;
const OBJECTS: usize = 0x200;
const FENCES: usize = 0x300;
const EXTENSION: usize = 0x400;
const ITEMS: usize = 0x500;
const ENGINES: usize = 0x600;
const SCRATCH: usize = 0x800;
const MEMORY_BYTES: usize = 0x1000;

/// The client's memory before the input bends it.
fn memory() -> Vec<u8> {
    let mut memory = vec![0; MEMORY_BYTES];
    let mut put = |at: usize, bytes: &[u8]| memory[at..at + bytes.len()].copy_from_slice(bytes);
    put(HANDLES, bytes_of(&[1u32, 2, 1, 2]));
    put(POINTS, bytes_of(&[1u64, 2, 3, 4]));
    let object = |handle, offset| ExecObject2 { handle, offset, flags: 0x18, ..Default::default() };
    put(OBJECTS, bytes_of(&[object(1, 1 << 20), object(2, 1 << 40), object(1, 1 << 21)]));
    let fence = |handle, flags| ExecFence { handle, flags };
    put(FENCES, bytes_of(&[fence(1, 1), fence(2, 2), fence(2, 2), fence(1, 3)]));
    // An extension of name 0: timeline fences, memory regions, a parameter, by where it stands.
    put(EXTENSION, bytes_of(&UserExtension::default()));
    put(EXTENSION + 32, bytes_of(&[2u64, BASE + FENCES as u64, BASE + POINTS as u64]));
    let item = |query_id, length| i915::QueryItem {
        query_id,
        length,
        flags: 0,
        data_ptr: BASE + SCRATCH as u64,
    };
    put(ITEMS, bytes_of(&[item(1, 0), item(2, 512), item(4, 512), item(5, 0)]));
    put(ENGINES, &[0; 16]);
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
    let Some(chip) = tepui_intel_chips::chip("skl") else { return Outcome::default() };
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
        let index = usize::from(choice >> 1) % (i915::Ioctl::ALL.len() + core::Ioctl::ALL.len());
        let info = match i915::Ioctl::ALL.get(index) {
            Some(ioctl) => ioctl.info(),
            None => core::Ioctl::ALL[index - i915::Ioctl::ALL.len()].info(),
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
                "timeout_nsec" | "timeout_ns" => 0,
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
    let execute = info.argument.ends_with("execbuffer2");
    match field.name {
        "pad" | "dr1" | "dr4" | "batch_start_offset" | "batch_len" => 0,
        "flags" if execute => [0, 1 << 17, 1 << 18, 3 << 17, 1 << 19, 1 << 21][value as usize % 6],
        "num_cliprects" => 2 * u64::from(value & 7 == 7),
        "cliprects_ptr" => [0, 0, 0, 0, 0, 0, at(FENCES), at(EXTENSION)][value as usize >> 1 & 7],
        "buffers_ptr" => at(OBJECTS),
        "buffer_count" => 1 + (value & 1),
        "extensions" => at(EXTENSION) * (value & u64::from(rarely)),
        "items_ptr" => at(ITEMS),
        "num_items" => value & 3,
        "rsvd1" | "ctx_id" => value & 1,
        "param" => value % 60,
        "value" if info.argument.ends_with("context_param") => at(ENGINES) * (value & 1),
        "query_id" => small,
        "tiling_mode" | "caching" | "madv" => value & 1,
        "stride" => 512 * small,
        "read_domains" | "write_domain" => value & 1,
        "flags" => value & u64::from(rarely),
        "capability" => 0x13,
        "size" => [0, 8, 12, 4096][value as usize % 4],
        "offset" => small << 9,
        "vm_id" => 1 + (value & u64::from(rarely)),
        "count_handles" => 1 + (value & 1),
        "name_len" => value & 1,
        "point" | "src_point" | "dst_point" => value & 1,
        "handles" => at(HANDLES),
        "points" => at(POINTS),
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
    /// A file with two buffers, two sync objects, an address space and a context.
    fn open(&mut self) -> File {
        let file = self.device.open();
        let mut ask = |info: &'static IoctlInfo, arg: &[u8]| {
            self.request(&file, info, &mut arg.to_vec());
        };
        let gem = i915::GemCreateExt { size: 1 << 14, ..Default::default() };
        ask(i915::Ioctl::GemCreate.info(), bytes_of(&gem));
        ask(i915::Ioctl::GemCreate.info(), bytes_of(&gem));
        ask(i915::Ioctl::GemVmCreate.info(), bytes_of(&i915::VmControl::default()));
        let context = i915::ContextCreateExt::default();
        ask(i915::Ioctl::GemContextCreate.info(), bytes_of(&context));
        for flags in [1, 0] {
            let object = core::SyncobjCreate { flags, handle: 0 };
            ask(core::Ioctl::SyncobjCreate.info(), bytes_of(&object));
        }
        file
    }

    /// A descriptor that a request gave, or -1.
    fn descriptor(&self, value: u64) -> u64 {
        let index = value as usize % (self.descriptors.len() + 1);
        self.descriptors.get(index).map_or(-1, OwnedFd::as_raw_fd) as u64
    }

    fn request(&mut self, file: &File, info: &'static IoctlInfo, arg: &mut [u8]) {
        let before = arg.to_vec();
        if file.ioctl(&self.user, info.request, arg).is_err() {
            self.outcome.refused += 1;
            return;
        }
        self.outcome.done += 1;
        let place = |name| info.fields.iter().find(|f| f.name == name).map_or(0, |f| f.offset);
        let word = |name| {
            let bytes = arg.get(place(name)..).and_then(<[u8]>::first_chunk);
            i32::from_le_bytes(bytes.copied().unwrap_or_default())
        };
        match info.name {
            "DRM_IOCTL_PRIME_HANDLE_TO_FD" | "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD" => {
                // SAFETY: a fresh descriptor that the request gave to its client.
                self.descriptors.push(unsafe { OwnedFd::from_raw_fd(word("fd")) });
            }
            "DRM_IOCTL_I915_GEM_CREATE" | "DRM_IOCTL_I915_GEM_CREATE_EXT" => {
                let Ok(gem) = file.core().gem(word("handle") as u32) else {
                    panic!("the new handle names nothing");
                };
                let weak = Arc::downgrade(&gem);
                assert!(!self.gems.iter().any(|other| other.ptr_eq(&weak)), "a buffer twice");
                self.gems.push(weak);
            }
            "DRM_IOCTL_I915_GEM_EXECBUFFER2" => {
                self.outcome.submitted += 1;
                let flags = before.get(place("flags")..).and_then(<[u8]>::first_chunk);
                let flags = u64::from_le_bytes(flags.copied().unwrap_or_default());
                let out = arg.get(place("rsvd2") + 4..).and_then(<[u8]>::first_chunk);
                if let (true, Some(&fd)) = (flags & i915::exec::FENCE_OUT != 0, out) {
                    // SAFETY: as above.
                    let fd = unsafe { OwnedFd::from_raw_fd(i32::from_le_bytes(fd)) };
                    self.descriptors.push(fd);
                }
            }
            _ => {}
        }
    }

    /// After the files are closed: sees to it that they have left nothing.
    fn finish(self) -> Outcome {
        // A queue's thread may still be at a batch; it ends by itself.
        let patience = tepui_drm::monotonic_ns() + 10_000_000_000;
        while self.gems.iter().any(|gem| gem.strong_count() > 0) {
            assert!(tepui_drm::monotonic_ns() < patience, "a buffer outlives its files");
            std::thread::yield_now();
        }
        self.outcome
    }
}
