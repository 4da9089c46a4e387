//! Slabs: parts of larger memory, for pieces of which the kernel would have to make and map each.

use std::sync::Arc;

use crate::arena::Mapped;
use crate::recycle::Piece;

/// A part of larger memory, which lives as long as one of its parts.
pub struct Part<T> {
    whole: Arc<T>,
    offset: u64,
    size: u64,
}

impl<T> Part<T> {
    /// The memory, and the offset of the part in it.
    pub fn place(&self) -> (&T, u64) {
        (&self.whole, self.offset)
    }
}

impl<T> Piece for Part<T> {
    fn size(&self) -> u64 {
        self.size
    }
}

// SAFETY: the part is inside of the memory.
unsafe impl<T: Mapped> Mapped for Part<T> {
    fn address(&self) -> u64 {
        self.whole.address() + self.offset
    }

    fn host(&self) -> *mut u8 {
        self.whole.host().wrapping_add(self.offset as usize)
    }
}

/// Memory that is being divided.
pub struct Slab<T> {
    whole: Option<Arc<T>>,
    used: u64,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { whole: None, used: 0 }
    }
}

impl<T: Mapped> Slab<T> {
    /// A part of `size` bytes; `new` makes memory of `slab_b` bytes where the last one is full, or of the size of a part that is
    /// larger than half of it.
    ///
    /// # Errors
    /// Errors of `new`.
    pub fn take<E>(
        &mut self,
        size: u64,
        slab_b: u64,
        new: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<Part<T>, E> {
        if size > slab_b / 2 {
            return Ok(Part { whole: Arc::new(new(size)?), offset: 0, size });
        }
        let whole = match &self.whole {
            Some(whole) if self.used + size <= whole.size() => whole,
            _ => {
                self.used = 0;
                self.whole.insert(Arc::new(new(slab_b)?))
            }
        };
        let part = Part { whole: whole.clone(), offset: self.used, size };
        self.used += size;
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory(u64);

    impl Piece for Memory {
        fn size(&self) -> u64 {
            self.0
        }
    }

    // SAFETY: nothing is read or written.
    unsafe impl Mapped for Memory {
        fn address(&self) -> u64 {
            0x1000
        }

        fn host(&self) -> *mut u8 {
            std::ptr::null_mut()
        }
    }

    #[test]
    fn parts_follow_one_another() {
        let mut slab = Slab::default();
        let mut made = Vec::new();
        let mut take = |size| {
            let new = |bytes| {
                made.push(bytes);
                Ok::<_, ()>(Memory(bytes))
            };
            slab.take(size, 100, new).map(|part| (part.address(), part.size()))
        };
        assert_eq!([take(30), take(50)], [Ok((0x1000, 30)), Ok((0x101e, 50))]);
        // Large parts have memory of their own.
        assert_eq!([take(51), take(20)], [Ok((0x1000, 51)), Ok((0x1050, 20))]);
        assert_eq!(take(1), Ok((0x1000, 1)));
        assert_eq!(made, [100, 51, 100]);
    }

    #[test]
    fn memory_lives_as_long_as_its_parts() {
        let mut slab = Slab::default();
        let first = slab.take(40, 100, |bytes| Ok::<_, ()>(Memory(bytes))).unwrap();
        let second = slab.take(40, 100, |bytes| Ok::<_, ()>(Memory(bytes))).unwrap();
        drop(slab);
        assert_eq!(Arc::strong_count(&first.whole), 2);
        drop(first);
        assert_eq!(second.place().1, 40);
        assert_eq!(Arc::strong_count(&second.whole), 1);
    }
}
