//! Memory of buffer objects on hosts without page tables (WebAssembly): a block of the heap.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

use crate::owner::Owner;

/// Granularity of page-table entries, which keep permissions in the low bits.
const HOST_PAGE: usize = 4096;

/// A block of zero-initialised memory that the model reads and writes. It has no guard pages and cannot
/// be shared.
pub struct Memory {
    base: NonNull<u8>,
    size: usize,
    layout: Layout,
    pub(crate) owner: Owner,
}

// SAFETY: the block lives as long as the value; accesses go through raw pointers.
unsafe impl Send for Memory {}
// SAFETY: as above; no reference into the block is ever handed out.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `size` bytes, all zero.
    ///
    /// # Errors
    /// The heap has no room.
    pub fn new(size: usize) -> io::Result<Memory> {
        if size == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a buffer of 0 bytes"));
        }
        let whole = size.checked_next_multiple_of(HOST_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let layout = Layout::from_size_align(whole, HOST_PAGE)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: the layout is not empty.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) });
        let base = base.ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Memory { base, size, layout, owner: Owner::default() })
    }

    /// The first byte. Valid for [`Memory::size`] bytes while the value lives.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether the page at `offset` was ever touched. The heap does not tell: true for all of the
    /// block.
    pub fn is_touched(&self, offset: usize) -> bool {
        offset < self.size
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the block was allocated in `new` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}
