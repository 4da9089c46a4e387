//! Buffer objects.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};

use tepui_drm::Errno;
use tepui_drm::gem::{Backing, Gem};
use tepui_drm::refusal::{Refusal, require};
use tepui_softgpu::Memory;

use crate::chips::PAGE_BYTES;
use crate::vm::Vm;

/// The driver's data of a buffer object.
pub struct Buffer {
    /// The memory, whole pages.
    pub memory: Arc<Memory>,
    /// The only address space that may bind it, if it is private to one; then it is never exported.
    pub private_to: Option<Weak<Vm>>,
    /// The flags that it was created with.
    pub create_flags: u32,
    /// Whether the buffer comes from another driver.
    pub imported: bool,
    /// Whether clients may only read it.
    pub read_only: bool,
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

    fn is_exportable(&self) -> bool {
        self.private_to.is_none() && !self.read_only
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }
}

/// Allocates memory of whole pages. With `shareable` it has a file.
pub fn memory(size: u64, shareable: bool) -> Result<Memory, Refusal> {
    require(size > 0, "size is 0")?;
    let size = size.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::INVAL)?;
    let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
    let new = if shareable { Memory::shareable } else { Memory::new };
    new(size).map_err(|error| Refusal {
        errno: Errno::from_io_error(&error).unwrap_or(Errno::NOMEM),
        why: "the memory could not be allocated",
    })
}

/// A buffer of another process.
pub fn import(fd: OwnedFd, size: u64) -> Result<Box<dyn Backing>, Errno> {
    if !size.is_multiple_of(PAGE_BYTES) {
        return Err(Errno::INVAL);
    }
    let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
    let memory = Memory::from_file(fd, size).map_err(|_| Errno::NOMEM)?;
    Ok(Box::new(Buffer {
        memory: Arc::new(memory),
        private_to: None,
        create_flags: 0,
        imported: true,
        read_only: false,
    }))
}

/// The driver's object of a buffer.
pub fn buffer(gem: &Gem) -> Result<&Buffer, Refusal> {
    gem.backing::<Buffer>().ok_or(Errno::INVAL.into())
}
