//! Buffer objects: their memory, and the state of SET_TILING and SET_CACHING.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use tepui_drm::Errno;
use tepui_drm::gem::{Backing, Gem};
use tepui_drm::lock;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::i915 as uapi;
use tepui_drm::user::{ClientPages, UserMemory};
use tepui_softgpu::Memory;

use crate::chips::PAGE_BYTES;

/// A buffer of a submission, and the 48-bit address at which the client pinned it.
pub(crate) struct PinnedBuffer {
    pub gem: Arc<Gem>,
    pub address: u64,
}

/// The driver's data of a buffer object.
pub struct Buffer {
    /// The memory, whole pages.
    pub memory: Arc<Memory>,
    /// The tiling for a fence register. The model does not read it: it is information that one client passes
    /// to another through GET_TILING.
    pub tiling: AtomicU32,
    /// The caching that was set.
    pub caching: AtomicU32,
    /// Whether the GPU may not write: a client's own pages that it offers for reading.
    pub read_only: bool,
    /// Whether the memory consists of a client's own pages.
    pub of_client: bool,
    /// Number of unfinished submissions that name the buffer, and whether its handle was closed.
    uses: Mutex<UseCount>,
}

#[derive(Default)]
struct UseCount {
    submissions: u32,
    closed: bool,
}

impl Buffer {
    fn new(memory: Memory) -> Buffer {
        Buffer {
            memory: Arc::new(memory),
            tiling: AtomicU32::new(uapi::TILING_NONE),
            caching: AtomicU32::new(uapi::CACHING_CACHED),
            read_only: false,
            of_client: false,
            uses: Mutex::default(),
        }
    }

    /// Refuses operations that are not allowed on a client's own pages.
    ///
    /// source: i915_gem_userptr.c and i915_gem_tiling.c give these errors.
    pub fn require_own(&self, errno: Errno) -> Result<(), Refusal> {
        match self.of_client {
            true => Err(Refusal { errno, why: "the buffer consists of the client's own pages" }),
            false => Ok(()),
        }
    }

    /// Records that a submission names the buffer.
    pub fn begin_use(&self) {
        lock(&self.uses).submissions += 1;
    }

    /// Records that a submission that named the buffer has ended. True if it was the last one and the handle
    /// is closed: then the buffer must be unbound.
    pub fn end_use(&self) -> bool {
        let mut uses = lock(&self.uses);
        uses.submissions = uses.submissions.saturating_sub(1);
        uses.closed && uses.submissions == 0
    }

    /// Records that the handle was closed. True if no submission uses the buffer: then it must be unbound.
    pub fn close(&self) -> bool {
        let mut uses = lock(&self.uses);
        uses.closed = true;
        uses.submissions == 0
    }

    /// Records that a handle of the buffer exists: an imported buffer may have been closed before.
    pub fn reopen(&self) {
        lock(&self.uses).closed = false;
    }
}

impl Backing for Buffer {
    fn size(&self) -> u64 {
        self.memory.size() as u64
    }

    fn base(&self) -> *mut u8 {
        self.memory.base()
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        // The file of a client's pages contains more than this buffer.
        self.memory.file().filter(|_| !self.of_client)
    }
}

/// A new buffer of at least `size` bytes, rounded up to whole pages as the kernel does.
pub fn allocate(size: u64) -> Result<Buffer, Refusal> {
    require(size > 0, "size is 0")?;
    let size = size.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::INVAL)?;
    let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
    let memory = Memory::shareable(size).map_err(|error| Refusal {
        errno: Errno::from_io_error(&error).unwrap_or(Errno::NOMEM),
        why: "the memory could not be allocated",
    })?;
    Ok(Buffer::new(memory))
}

/// A buffer of the client's own pages.
///
/// # Errors
/// Errors of the interface. source: i915_gem_userptr.c, in its order of checks.
pub fn client_pages(user: &dyn UserMemory, args: &uapi::GemUserptr) -> Result<Buffer, Refusal> {
    let known = uapi::USERPTR_READ_ONLY | uapi::USERPTR_PROBE | uapi::USERPTR_UNSYNCHRONIZED;
    require(args.flags & !known == 0, "unknown flags")?;
    require(args.user_size > 0, "user_size is 0")?;
    require(
        (args.user_ptr | args.user_size).is_multiple_of(PAGE_BYTES),
        "user_ptr or user_size is not one of whole pages",
    )?;
    let fault = Refusal { errno: Errno::FAULT, why: "the range is not the client's" };
    let end = args.user_ptr.checked_add(args.user_size).filter(|&end| end <= 1 << 47);
    if args.user_ptr == 0 || end.is_none() {
        return Err(fault);
    }
    if args.flags & uapi::USERPTR_UNSYNCHRONIZED != 0 {
        return Err(Refusal { errno: Errno::NODEV, why: "unsynchronized pages are not supported" });
    }
    let size = usize::try_from(args.user_size).map_err(|_| Errno::TOOBIG)?;
    let memory = match user.pages(args.user_ptr, args.user_size)? {
        // SAFETY: submissions are refused and buffers unbound when the pages are no longer mapped.
        ClientPages::Here(base) => unsafe { Memory::borrowed(base, size) },
        ClientPages::File(file, offset) => Memory::from_file_at(file, offset, size),
    };
    let memory = memory.map_err(|_| fault)?;
    if args.flags & uapi::USERPTR_PROBE != 0 && !memory.is_mapped() {
        return Err(fault);
    }
    let read_only = args.flags & uapi::USERPTR_READ_ONLY != 0;
    Ok(Buffer { read_only, of_client: true, ..Buffer::new(memory) })
}

/// A buffer of another process.
pub fn import(fd: OwnedFd, size: u64) -> Result<Box<dyn Backing>, Errno> {
    if !size.is_multiple_of(PAGE_BYTES) {
        return Err(Errno::INVAL);
    }
    let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
    let memory = Memory::from_file(fd, size).map_err(|_| Errno::NOMEM)?;
    Ok(Box::new(Buffer::new(memory)))
}

/// The driver's data of a buffer.
pub fn buffer(gem: &Gem) -> Result<&Buffer, Refusal> {
    gem.backing::<Buffer>().ok_or(Errno::INVAL.into())
}
