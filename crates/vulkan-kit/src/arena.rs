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
    used: u64,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { chunks: Vec::new(), used: 0 }
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
    /// Takes `size` bytes at a multiple of `align` in a chunk; `new` makes one of at least as many bytes where the last one is full.
    ///
    /// # Errors
    /// Errors of `new`.
    pub fn take<E>(
        &mut self,
        size: u64,
        align: u64,
        new: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<Upload, E> {
        let mut at = self.used.next_multiple_of(align);
        let chunk = match self.chunks.pop() {
            Some(chunk) if at + size <= chunk.size() => chunk,
            full => {
                self.chunks.extend(full);
                at = 0;
                new(size)?
            }
        };
        self.used = at + size;
        // SAFETY: the range is inside of the chunk.
        let host = unsafe { chunk.host().add(at as usize) };
        let upload = Upload { address: chunk.address() + at, host };
        self.chunks.push(chunk);
        Ok(upload)
    }

    /// The chunk that is being filled.
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()
    }

    /// Bytes of it that are in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The first chunk.
    pub fn first(&self) -> Option<&T> {
        self.chunks.first()
    }

    /// Removes all chunks after the first `keep`; what is kept is filled anew.
    pub fn recycle(&mut self, keep: usize) -> impl Iterator<Item = T> + '_ {
        self.used = 0;
        self.chunks.drain(keep.min(self.chunks.len())..)
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
        assert_eq!(take(&mut arena, 100, 1), Ok(0x3000));
        assert_eq!(arena.recycle(1).count(), 2);
        assert_eq!(take(&mut arena, 64, 4), Ok(0x1000));
    }
}
