//! Generates sequences of ioctls from bytes, for fuzzers and property tests of the virtual devices.
//!
//! Random bytes alone would hardly get past the first check. So each file starts with objects, the
//! client's memory with arrays that are well-formed, and the input bends both: it chooses requests,
//! fills their arguments, which are then mostly tamed field by field, and changes single bytes of
//! the memory. A [`Family`] says what its own requests need; the core's are known here.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Weak};

use bytemuck::bytes_of;

use crate::core::CoreFile;
use crate::device::VirtualFile;
use crate::gem::Gem;
use crate::uapi::{Direction, Field, IoctlInfo, Request, core};
use crate::user::Block;

/// Requests of one sequence.
const MAX_REQUESTS: usize = 256;

/// Address of the client's memory.
pub const BASE: u64 = 0x10_0000;
/// Offset of four GEM or sync object handles.
const HANDLES: usize = 0x000;
/// Offset of four timeline points.
pub const POINTS: usize = 0x100;
/// Offset of what a family fills: up to [`SCRATCH`].
pub const FAMILY: usize = 0x200;
/// Offset of memory for everything else.
pub const SCRATCH: usize = 0x800;
const MEMORY_BYTES: usize = 0x1000;

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

/// Effect of a family's own request that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None that the generator tracks.
    Other,
    /// It created a buffer, whose handle is in the argument's field `handle`.
    Buffer,
    /// It submitted work, and returned the descriptor of a fence if one was requested.
    Submission(Option<RawFd>),
}

/// A device under test, with the requests of its family.
pub trait Family {
    /// An open file of the device.
    type File: VirtualFile;

    /// Opens the device.
    fn open(&self) -> Self::File;

    /// The DRM core's part of an open file.
    fn core(file: &Self::File) -> &CoreFile;

    /// The family's own requests.
    fn requests(&self) -> Vec<&'static IoctlInfo>;

    /// Puts the family's arrays into the client's memory, at offsets from [`FAMILY`] to [`SCRATCH`].
    fn fill(&self, put: &mut dyn FnMut(usize, &[u8]));

    /// Makes the objects that a new file starts with, by requests and their arguments.
    fn prepare(&self, ask: &mut dyn FnMut(&'static IoctlInfo, &[u8]));

    /// A plausible value for a field, made of a random one; `None` where every family's will do.
    /// With `rarely` it may be one that is mostly refused.
    fn tame(&self, field: &Field, info: &IoctlInfo, value: u64, rarely: bool) -> Option<u64>;

    /// Makes a field of more than 8 bytes plausible, of random bytes that stand in it.
    fn tame_bytes(&self, _field: &Field, _info: &IoctlInfo, _bytes: &mut [u8]) {}

    /// Effect of a successful request of the family. `before` and `after` are the argument's bytes.
    fn effect(&self, info: &IoctlInfo, before: &[u8], after: &[u8]) -> Effect;
}

/// Takes bytes off the front of the input; zeros when it is used up.
fn take<const N: usize>(input: &mut &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let (head, rest) = input.split_at(N.min(input.len()));
    bytes[..head.len()].copy_from_slice(head);
    *input = rest;
    bytes
}

/// The bytes of an argument's field; zeros if the argument is shorter or has no such field.
pub fn field<const N: usize>(info: &IoctlInfo, name: &str, arg: &[u8]) -> [u8; N] {
    let field = info.fields.iter().find(|field| field.name == name);
    let bytes = field.and_then(|field| arg.get(field.offset..)).and_then(<[u8]>::first_chunk);
    bytes.copied().unwrap_or([0; N])
}

/// Drives two opens of a device with requests made of `input`, and closes them.
///
/// # Panics
/// If a buffer outlives the files, or a handle is given twice: bugs.
pub fn run<F: Family>(family: &F, mut input: &[u8]) -> Outcome {
    let mut memory = vec![0; MEMORY_BYTES];
    let mut put = |at: usize, bytes: &[u8]| memory[at..at + bytes.len()].copy_from_slice(bytes);
    put(HANDLES, bytes_of(&[1u32, 2, 1, 2]));
    put(POINTS, bytes_of(&[1u64, 2, 3, 4]));
    family.fill(&mut put);
    for _ in 0..take::<1>(&mut input)[0] % 8 {
        let [low, high, flip] = take(&mut input);
        memory[usize::from(u16::from_le_bytes([low, high])) % MEMORY_BYTES] ^= flip;
    }
    let mut requests = family.requests();
    requests.extend(core::Ioctl::ALL.iter().map(|ioctl| ioctl.info()));
    let mut session = Session {
        family,
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
        let info = requests[usize::from(choice >> 1) % requests.len()];
        let raw: [u8; 64] = take(&mut input);
        let mut arg = raw[..info.request.size()].to_vec();
        for field in info.fields {
            let place = field.offset..field.offset + field.size;
            if field.size > 8 {
                if mode & 7 != 0 {
                    family.tame_bytes(field, info, &mut arg[place]);
                }
                continue;
            }
            let mut word = [0; 8];
            word[..field.size].copy_from_slice(&raw[place.clone()]);
            let value = u64::from_le_bytes(word);
            let value = match field.name {
                // Whatever the mode: nothing here may wait for ever, or for 5 seconds.
                "timeout_nsec" | "timeout_ns" => 0,
                "flags" if info.argument == "drm_syncobj_transfer" => 0,
                "fd" => session.descriptor(value),
                _ if mode & 7 != 0 => {
                    let rarely = mode >> 3 == 0;
                    let own = family.tame(field, info, value, rarely);
                    own.unwrap_or_else(|| tame(field, value, rarely))
                }
                _ => value,
            };
            arg[place].copy_from_slice(&value.to_le_bytes()[..field.size]);
        }
        session.request(file, info, &mut arg);
    }
    drop(files);
    session.finish()
}

/// A plausible value for a field that has the same meaning in every family.
fn tame(field: &Field, value: u64, rarely: bool) -> u64 {
    let at = |offset: usize| BASE + offset as u64;
    match field.name {
        "pad" => 0,
        "flags" => value & u64::from(rarely),
        "capability" => 0x13,
        "vm_id" => 1 + (value & u64::from(rarely)),
        "count_handles" => 1 + (value & 1),
        "name_len" | "point" | "src_point" | "dst_point" => value & 1,
        "handles" => at(HANDLES),
        "points" => at(POINTS),
        _ if field.size == 8 => at(SCRATCH),
        _ => 1 + (value & 1),
    }
}

/// The objects that a sequence has created.
struct Session<'a, F> {
    family: &'a F,
    user: Block,
    descriptors: Vec<OwnedFd>,
    gems: Vec<Weak<Gem>>,
    outcome: Outcome,
}

impl<F: Family> Session<'_, F> {
    /// A file with the family's objects and two sync objects.
    fn open(&mut self) -> F::File {
        let family = self.family;
        let file = family.open();
        let mut ask = |info: &'static IoctlInfo, arg: &[u8]| {
            self.request(&file, info, &mut arg.to_vec());
        };
        family.prepare(&mut ask);
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

    fn request(&mut self, file: &F::File, info: &'static IoctlInfo, arg: &mut [u8]) {
        let before = arg.to_vec();
        if file.ioctl(&self.user, info.request, arg).is_err() {
            self.outcome.refused += 1;
            return;
        }
        self.outcome.done += 1;
        if let "DRM_IOCTL_PRIME_HANDLE_TO_FD" | "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD" = info.name {
            self.keep(i32::from_le_bytes(field(info, "fd", arg)));
        }
        match self.family.effect(info, &before, arg) {
            Effect::Other => {}
            Effect::Buffer => {
                let handle = u32::from_le_bytes(field(info, "handle", arg));
                let Ok(gem) = F::core(file).gem(handle) else {
                    panic!("the new handle names nothing");
                };
                let weak = Arc::downgrade(&gem);
                assert!(!self.gems.iter().any(|other| other.ptr_eq(&weak)), "a buffer twice");
                self.gems.push(weak);
            }
            Effect::Submission(fence) => {
                self.outcome.submitted += 1;
                if let Some(fd) = fence {
                    self.keep(fd);
                }
            }
        }
    }

    /// Takes a descriptor that a request gave to its client.
    fn keep(&mut self, fd: RawFd) {
        // SAFETY: it is fresh, and the request's client, which is this session, owns it.
        self.descriptors.push(unsafe { OwnedFd::from_raw_fd(fd) });
    }

    /// After the files are closed: sees to it that they have left nothing.
    fn finish(self) -> Outcome {
        // A queue's thread may still be at its work; it ends by itself.
        let patience = crate::monotonic_ns() + 10_000_000_000;
        while self.gems.iter().any(|gem| gem.strong_count() > 0) {
            assert!(crate::monotonic_ns() < patience, "a buffer outlives its files");
            std::thread::yield_now();
        }
        self.outcome
    }
}

/// Runs 16 sequences of 4096 bytes each and adds their outcomes up. The bytes are those of a
/// generator without randomness of its own, so that the share of answered requests says whether
/// taming works: it is the same in every run, but for a request that races with a queue's thread.
pub fn survey(run: impl Fn(&[u8]) -> Outcome) -> Outcome {
    let mut state = 1u64;
    let input: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    })
    .take(1 << 16)
    .collect();
    input.chunks(4096).map(run).fold(Outcome::default(), |sum, outcome| Outcome {
        done: sum.done + outcome.done,
        refused: sum.refused + outcome.refused,
        submitted: sum.submitted + outcome.submitted,
    })
}

/// Makes requests of numbers and untamed arguments on one open file. Waits of random length, and a
/// transfer's own wait, are left out.
pub fn untamed(file: &dyn VirtualFile, requests: Vec<(u8, Vec<u8>)>) {
    let user = Block::new(0, vec![0; 4096]);
    for (nr, mut arg) in requests {
        if matches!(nr, 0xc3 | 0xca | 0xcc) {
            continue;
        }
        let request = Request::new(Direction::ReadWrite, nr, arg.len());
        let _ = file.ioctl(&user, request, &mut arg);
    }
}
