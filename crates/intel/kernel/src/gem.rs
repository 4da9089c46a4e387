//! Buffers: their memory, and what SET_TILING and SET_CACHING keep for them.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tepui_drm::Errno;
use tepui_drm::gem::{Backing, Gem};
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::i915 as uapi;
use tepui_softgpu::Memory;

use crate::chips::PAGE_BYTES;

/// The memory behind a buffer.
pub struct Buffer {
    /// The memory, whole pages.
    pub memory: Arc<Memory>,
    /// The tiling that a fence register would give the buffer. Nothing of the model reads it: it is
    /// what one client tells another through GET_TILING.
    pub tiling: AtomicU32,
    /// The caching that was set.
    pub caching: AtomicU32,
    /// Submissions that name the buffer and have not ended, and whether its handle was closed.
    uses: Mutex<Uses>,
}

#[derive(Default)]
struct Uses {
    submissions: u32,
    closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer {
    fn new(memory: Memory) -> Buffer {
        Buffer {
            memory: Arc::new(memory),
            tiling: AtomicU32::new(uapi::TILING_NONE),
            caching: AtomicU32::new(uapi::CACHING_CACHED),
            uses: Mutex::default(),
        }
    }

    /// A submission names the buffer.
    pub fn begin_use(&self) {
        lock(&self.uses).submissions += 1;
    }

    /// A submission that named the buffer ended. True if that was the last one and the handle is
    /// closed: then the buffer is to be unbound.
    pub fn end_use(&self) -> bool {
        let mut uses = lock(&self.uses);
        uses.submissions = uses.submissions.saturating_sub(1);
        uses.closed && uses.submissions == 0
    }

    /// The handle was closed. True if no submission uses the buffer: then it is to be unbound.
    pub fn close(&self) -> bool {
        let mut uses = lock(&self.uses);
        uses.closed = true;
        uses.submissions == 0
    }

    /// A handle of the buffer exists (again): an imported buffer may have been closed before.
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
        self.memory.file()
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

/// A buffer of another process.
pub fn import(fd: OwnedFd, size: u64) -> Result<Box<dyn Backing>, Errno> {
    if !size.is_multiple_of(PAGE_BYTES) {
        return Err(Errno::INVAL);
    }
    let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
    let memory = Memory::from_file(fd, size).map_err(|_| Errno::NOMEM)?;
    Ok(Box::new(Buffer::new(memory)))
}

/// The driver's object of a buffer.
pub fn buffer(gem: &Gem) -> Result<&Buffer, Refusal> {
    gem.backing::<Buffer>().ok_or(Errno::INVAL.into())
}
