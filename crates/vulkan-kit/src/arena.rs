//! Upload memory of a command buffer: chunks that are filled from their start on.

use crate::recycle::Piece;

/// Memory that the GPU and the host see.
///
/// # Safety
/// [`Piece::size`] bytes at [`Mapped::host`] are mapped and writable as long as the value lives.
pub unsafe trait Mapped: Piece {
    /// GPU address.
    fn address(&self) -> u64;

    /// Host address.
    fn host(&self) -> *mut u8;

    /// Writes bytes at an offset.
    ///
    /// # Panics
    /// When they leave the memory.
    fn write(&self, offset: u64, bytes: &[u8]) {
        let end = offset.checked_add(bytes.len() as u64);
        assert!(end.is_some_and(|end| end <= self.size()), "a write leaves its memory");
        // SAFETY: the range is inside of the memory; the GPU does not use what is being written.
        unsafe {
            self.host().add(offset as usize).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        }
    }
}

/// Chunks of memory, of which the last one is being filled.
pub struct Arena<T> {
    chunks: Vec<T>,
    /// The next byte.
    next: Upload,
    /// Bytes from there on to the end of the last chunk.
    left: u64,
}

// SAFETY: the pointer is that of the chunks' memory, which they share with the GPU.
unsafe impl<T: Send> Send for Arena<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Arena<T> {}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { chunks: Vec::new(), next: NOWHERE, left: 0 }
    }
}

/// A place in upload memory.
#[derive(Clone, Copy, Debug)]
pub struct Upload {
    /// GPU address.
    pub address: u64,
    /// Host address.
    pub host: *mut u8,
}

/// The place before there is memory.
const NOWHERE: Upload = Upload { address: 0, host: std::ptr::null_mut() };

impl Upload {
    /// Copies bytes to the place.
    ///
    /// # Safety
    /// The place was taken with room for the bytes, and the GPU does not use it yet.
    pub unsafe fn write(&self, bytes: &[u8]) {
        // SAFETY: as the caller says.
        unsafe { self.host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }
}

impl<T: Mapped> Arena<T> {
    /// Takes `size` bytes at a multiple of `align`, a power of two, in a chunk; `new` makes one of at least as many bytes as it gets
    /// where the last one is full.
    ///
    /// # Errors
    /// Errors of `new`.
    #[inline]
    pub fn take<E>(
        &mut self,
        size: u64,
        align: u64,
        new: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<Upload, E> {
        let mut skip = self.next.address.wrapping_neg() & (align - 1);
        if skip + size > self.left || self.next.host.is_null() {
            self.begin_new(size, new)?;
            skip = 0;
        }
        // SAFETY: the bytes are left.
        unsafe { self.advance(skip) };
        // SAFETY: as above.
        Ok(unsafe { self.advance(size) })
    }

    /// Bytes that are left in the last chunk.
    #[inline]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Leaves all but `size` bytes of what is [left](Arena::left) for later; returns their number.
    pub fn withhold(&mut self, size: u64) -> u64 {
        let withheld = self.left.saturating_sub(size);
        self.left -= withheld;
        withheld
    }

    /// Gives back bytes that were withheld.
    ///
    /// # Safety
    /// The bytes were [withheld](Arena::withhold) of the last chunk.
    pub unsafe fn give_back(&mut self, withheld: u64) {
        self.left += withheld;
    }

    /// The next byte: its addresses are those of nothing before there is a chunk.
    #[inline]
    pub fn next(&self) -> Upload {
        self.next
    }

    /// Takes bytes.
    ///
    /// # Safety
    /// At least `size` bytes are [left](Arena::left).
    #[inline]
    pub unsafe fn advance(&mut self, size: u64) -> Upload {
        debug_assert!(size <= self.left, "bytes are taken that are not there");
        let taken = self.next;
        self.next.address += size;
        self.next.host = taken.host.wrapping_add(size as usize);
        self.left -= size;
        taken
    }

    /// Begins a new chunk of at least `size` bytes.
    ///
    /// # Errors
    /// Errors of `new`.
    #[cold]
    pub fn begin_new<E>(
        &mut self,
        size: u64,
        new: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<(), E> {
        self.chunks.push(new(size)?);
        self.begin(self.chunks.len() - 1);
        Ok(())
    }

    /// Fills a chunk from its start on.
    fn begin(&mut self, number: usize) {
        let chunk = &self.chunks[number];
        self.next = Upload { address: chunk.address(), host: chunk.host() };
        self.left = chunk.size();
    }

    /// The chunk that is being filled.
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()
    }

    /// The first chunk.
    pub fn first(&self) -> Option<&T> {
        self.chunks.first()
    }

    /// Removes all chunks after the first `keep`; what is kept is filled anew.
    pub fn recycle(&mut self, keep: usize) -> impl Iterator<Item = T> + '_ {
        let keep = keep.min(self.chunks.len());
        (self.next, self.left) = (NOWHERE, 0);
        if let Some(k) = keep.checked_sub(1) {
            self.begin(k);
        }
        self.chunks.drain(keep..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk at an address.
    struct Chunk(u64, Vec<u8>);

    impl Piece for Chunk {
        fn size(&self) -> u64 {
            self.1.len() as u64
        }
    }

    // SAFETY: the chunk owns its bytes.
    unsafe impl Mapped for Chunk {
        fn address(&self) -> u64 {
            self.0
        }

        fn host(&self) -> *mut u8 {
            self.1.as_ptr().cast_mut()
        }
    }

    #[test]
    fn chunks_are_filled_in_turn() {
        let mut made = 0;
        let mut arena = Arena::default();
        let mut take = |arena: &mut Arena<Chunk>, size, align| {
            let new = |size: u64| {
                made += 1;
                Ok::<_, ()>(Chunk(0x1000 * made, vec![0; size.max(64) as usize]))
            };
            arena.take(size, align, new).map(|u| u.address)
        };
        assert_eq!(take(&mut arena, 10, 1), Ok(0x1000));
        assert_eq!(take(&mut arena, 16, 16), Ok(0x1010));
        assert_eq!(take(&mut arena, 32, 32), Ok(0x1020));
        assert_eq!(take(&mut arena, 1, 1), Ok(0x2000));
        assert_eq!(arena.withhold(8), 55);
        assert_eq!((arena.left(), arena.withhold(8)), (8, 0));
        // SAFETY: they were withheld.
        unsafe { arena.give_back(55) };
        assert_eq!(arena.left(), 63);
        assert_eq!(take(&mut arena, 100, 1), Ok(0x3000));
        assert_eq!(arena.recycle(1).count(), 2);
        assert_eq!(take(&mut arena, 64, 4), Ok(0x1000));
    }
}
