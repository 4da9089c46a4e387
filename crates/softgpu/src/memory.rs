//! Host memory of buffer objects.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, ProtFlags};

use crate::owner::Owner;

/// Bytes of a page of the host.
const HOST_PAGE: usize = 4096;

/// A block of shared, zero-initialised memory that the model reads and writes and that a client may
/// map as well.
///
/// The pages are shared, so that they can be mapped any number of times: through the file
/// descriptor of a [`Memory::shareable`] block, which another process can map too, or of any block
/// by duplicating the mapping at [`Memory::base`] (`mremap` from length 0). Most buffers are never
/// shared, and a descriptor for each would soon reach the limit of a client's process.
///
/// A host page without access precedes and follows each block, so that an access of the model that
/// misses a block never meets another one.
pub struct Memory {
    base: NonNull<u8>,
    size: usize,
    /// Bytes of the mapping: those of the block in whole pages, and a page at each end.
    whole: usize,
    file: Option<OwnedFd>,
    /// The pages are a client's own, and not unmapped with the block.
    borrowed: bool,
    pub(crate) owner: Owner,
}

// SAFETY: the mapping lives as long as the value; the model and its clients share it the way a GPU
// and a CPU share DRAM: races are the client's to order, and accesses go through raw pointers.
unsafe impl Send for Memory {}
// SAFETY: as above; no reference into the mapping is ever handed out.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `size` bytes (rounded up to the host's page), all zero and not yet resident.
    pub fn new(size: usize) -> io::Result<Memory> {
        Memory::map(None, 0, size)
    }

    /// Version of [`Memory::new`] in a `memfd` that other processes can be given.
    pub fn shareable(size: usize) -> io::Result<Memory> {
        let file = rustix::fs::memfd_create("tepui-bo", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, size as u64)?;
        Memory::map(Some(file), 0, size)
    }

    /// Maps an existing shareable file (an imported buffer) of `size` bytes.
    pub fn from_file(file: OwnedFd, size: usize) -> io::Result<Memory> {
        Memory::map(Some(file), 0, size)
    }

    /// Maps a part of a shareable file, from an offset of whole pages on.
    pub fn from_file_at(file: OwnedFd, offset: u64, size: usize) -> io::Result<Memory> {
        Memory::map(Some(file), offset, size)
    }

    /// A block of pages that a client has mapped: a buffer of its own memory. It has no guard pages.
    ///
    /// # Errors
    /// The range is empty, or not one of whole pages.
    ///
    /// # Safety
    /// `size` bytes from `base` on can be read and written while the block is accessed, also by others.
    /// [`Memory::is_mapped`] tells whether they still are.
    pub unsafe fn borrowed(base: *mut u8, size: usize) -> io::Result<Memory> {
        let whole_pages =
            (base as usize).is_multiple_of(HOST_PAGE) && size.is_multiple_of(HOST_PAGE);
        match NonNull::new(base).filter(|_| whole_pages && size > 0) {
            Some(base) => {
                let owner = Owner::default();
                Ok(Memory { base, size, whole: size, file: None, borrowed: true, owner })
            }
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "no whole pages")),
        }
    }

    /// Whether the pages are a client's own.
    pub fn is_borrowed(&self) -> bool {
        self.borrowed
    }

    /// Whether all pages are mapped: those of a client may have been unmapped.
    pub fn is_mapped(&self) -> bool {
        if !self.borrowed {
            return true;
        }
        const STEP_PAGES: usize = 4096;
        let mut state = [0u8; STEP_PAGES];
        (0..self.size).step_by(STEP_PAGES * HOST_PAGE).all(|at| {
            let length = (self.size - at).min(STEP_PAGES * HOST_PAGE);
            let start = self.base().wrapping_add(at).cast();
            // SAFETY: the kernel checks the range and writes a byte for each of its pages.
            unsafe { libc::mincore(start, length, state.as_mut_ptr()) == 0 }
        })
    }

    fn map(file: Option<OwnedFd>, offset: u64, size: usize) -> io::Result<Memory> {
        if size == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a buffer of 0 bytes"));
        }
        let whole =
            size.checked_next_multiple_of(HOST_PAGE).and_then(|s| s.checked_add(2 * HOST_PAGE));
        let whole = whole.ok_or(io::ErrorKind::OutOfMemory)?;
        let any = std::ptr::null_mut();
        let private = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let room = unsafe { rustix::mm::mmap_anonymous(any, whole, ProtFlags::empty(), private)? };
        let base = room.wrapping_byte_add(HOST_PAGE);
        let memory = NonNull::new(base.cast()).map(|base| Memory {
            base,
            size,
            whole,
            file,
            borrowed: false,
            owner: Owner::default(),
        });
        let memory = memory.ok_or(io::ErrorKind::OutOfMemory)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: this replaces a part of the mapping that was made above, between its first and
        // last page.
        unsafe {
            match &memory.file {
                Some(file) => rustix::mm::mmap(base, size, access, flags, file, offset)?,
                None => rustix::mm::mmap_anonymous(base, size, access, flags)?,
            }
        };
        Ok(memory)
    }

    /// The first byte. Valid for [`Memory::size`] bytes while the value lives.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether the host page at `offset` was ever touched. Memory starts without pages, all zero;
    /// neither the GPU nor a client has written to a page that does not exist yet. (A swapped-out page
    /// counts as untouched too.)
    pub fn is_touched(&self, offset: usize) -> bool {
        let start = offset & !(HOST_PAGE - 1);
        let mut state = 0u8;
        if start >= self.size {
            return false;
        }
        // SAFETY: the page is in the mapping, and the kernel writes one byte for it.
        let failed = unsafe {
            libc::mincore(self.base().wrapping_add(start).cast(), 1, (&raw mut state).cast())
        };
        failed != 0 || state & 1 != 0
    }

    /// The file of shareable memory, to be mapped or exported again.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.borrowed {
            return;
        }
        let room = self.base.as_ptr().wrapping_sub(HOST_PAGE);
        // SAFETY: the mapping was made in `map` with this size and is unmapped nowhere else.
        let _ = unsafe { rustix::mm::munmap(room.cast(), self.whole) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_touched_by_the_first_write() {
        let memory = Memory::new(4 << 12).expect("memfd");
        assert!(!memory.is_touched(0x1000));
        // SAFETY: inside the mapping.
        unsafe { *memory.base().add(0x1010) = 1 };
        assert!(memory.is_touched(0x1000) && memory.is_touched(0x1ffc));
        assert!(!memory.is_touched(0) && !memory.is_touched(0x3000));
    }
}
