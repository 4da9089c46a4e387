//! Host memory behind a buffer object.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

/// A block of shared, zero-initialised memory that the model reads and writes and that a client
/// may map as well. It stands behind a `memfd`, so the same pages can be mapped any number of
/// times, exported as a file descriptor, or mapped by another process.
pub struct Memory {
    base: NonNull<u8>,
    size: usize,
    file: OwnedFd,
}

// SAFETY: the mapping lives as long as the value; the model and its clients share it the way a GPU
// and a CPU share DRAM: races are the client's to order, and accesses go through raw pointers.
unsafe impl Send for Memory {}
// SAFETY: as above; no reference into the mapping is ever handed out.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `size` bytes (rounded up to the host's page), all zero and not yet resident.
    pub fn new(size: usize) -> io::Result<Memory> {
        let file = rustix::fs::memfd_create("tepui-bo", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, size as u64)?;
        Memory::from_file(file, size)
    }

    /// Maps an existing shareable file (an imported buffer) of `size` bytes.
    pub fn from_file(file: OwnedFd, size: usize) -> io::Result<Memory> {
        if size == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a buffer of 0 bytes"));
        }
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                size,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Memory { base, size, file })
    }

    /// The first byte. Valid for [`Memory::size`] bytes while the value lives.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The file behind the memory, to be mapped or exported again.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// A duplicate of the file, for an owner of its own.
    pub fn dup(&self) -> io::Result<File> {
        Ok(self.file.as_fd().try_clone_to_owned()?.into())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `from_file` with this size and nobody else unmaps it.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.size) };
    }
}
