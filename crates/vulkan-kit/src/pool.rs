//! Pools of small pieces of memory that live for long: code, descriptors, samplers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::arena::Mapped;
use crate::heap::Heap;

/// A pool: chunks of memory, and the free ranges in them.
pub struct Pool<T> {
    chunk_b: u64,
    align: u64,
    state: Mutex<State<T>>,
}

struct State<T> {
    chunks: Vec<T>,
    free: Heap,
}

/// A piece of a pool, which goes back when it is dropped.
pub struct PoolPiece<T: Mapped> {
    pool: Arc<Pool<T>>,
    /// GPU address.
    pub address: u64,
    size: u64,
}

impl<T: Mapped> Pool<T> {
    /// An empty pool of pieces with an alignment, in chunks of `chunk_b` bytes.
    pub fn new(chunk_b: u64, align: u64) -> Arc<Pool<T>> {
        let state = State { chunks: Vec::new(), free: Heap::empty() };
        Arc::new(Pool { chunk_b, align, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece with these bytes, and room for `padding` bytes after them. `new` makes a chunk of at least as many bytes as it is asked
    /// for.
    ///
    /// # Errors
    /// Errors of `new`.
    pub fn place<E>(
        self: &Arc<Self>,
        bytes: &[u8],
        padding: u64,
        new: impl FnOnce(u64) -> Result<T, E>,
    ) -> Result<PoolPiece<T>, E> {
        let size = (bytes.len() as u64 + padding).max(1).next_multiple_of(self.align);
        let mut state = self.state();
        let address = match state.free.take(size, self.align) {
            Some(at) => at,
            None => {
                // A chunk may begin anywhere: there is room to align the piece in it.
                let chunk = new((size + self.align).max(self.chunk_b))?;
                let (start, end) = (chunk.address(), chunk.address() + chunk.size());
                let at = start.next_multiple_of(self.align);
                if at > start {
                    state.free.give(start, at - start);
                }
                if end > at + size {
                    state.free.give(at + size, end - at - size);
                }
                state.chunks.push(chunk);
                at
            }
        };
        let holds = |c: &&T| (c.address()..c.address() + c.size()).contains(&address);
        if let Some(chunk) = state.chunks.iter().find(holds) {
            chunk.write(address - chunk.address(), bytes);
        }
        Ok(PoolPiece { pool: self.clone(), address, size })
    }

    /// The first `N` bytes at an address, if it is in a chunk of the pool.
    pub fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let state = self.state();
        let mut chunks = state.chunks.iter();
        let (chunk, at) = chunks.find_map(|c| {
            let at = address.checked_sub(c.address())?;
            (at.checked_add(N as u64)? <= c.size()).then_some((c, at))
        })?;
        let mut bytes = [0; N];
        // SAFETY: the range is inside of the mapping; pieces are written before others know their addresses.
        unsafe { chunk.host().add(at as usize).copy_to_nonoverlapping(bytes.as_mut_ptr(), N) }
        Some(bytes)
    }
}

impl<T: Mapped> PoolPiece<T> {
    /// Writes bytes at an offset of the piece; those past its end are dropped.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let room = self.size.saturating_sub(offset).min(bytes.len() as u64);
        let state = self.pool.state();
        let holds = |c: &&T| (c.address()..c.address() + c.size()).contains(&self.address);
        if let Some(chunk) = state.chunks.iter().find(holds) {
            chunk.write(self.address + offset - chunk.address(), &bytes[..room as usize]);
        }
    }
}

impl<T: Mapped> Drop for PoolPiece<T> {
    fn drop(&mut self) {
        self.pool.state().free.give(self.address, self.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recycle::Piece;

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
    fn pieces_are_aligned_written_and_used_again() {
        let pool = Pool::new(64, 16);
        let new = |at: u64| move |size: u64| Ok::<_, ()>(Chunk(at, vec![0; size as usize]));
        let none = |_: u64| Err(());
        let a = pool.place(&[1; 10], 0, new(0x1008)).unwrap();
        let b = pool.place(&[2; 20], 0, none).unwrap();
        assert_eq!((a.address, b.address), (0x1010, 0x1020));
        assert!(pool.place(&[3; 17], 0, none).is_err());
        drop(a);
        let c = pool.place(&[4; 8], 8, none).unwrap();
        assert_eq!(c.address, 0x1010);
        c.write(4, &[9; 100]);
        let state = pool.state();
        let bytes = &state.chunks[0].1;
        assert_eq!(bytes[8..24], [4, 4, 4, 4, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
        assert_eq!(bytes[24], 2, "a write past the end of a piece is dropped");
        drop(state);
        assert_eq!(pool.read(0x1020), Some([2; 4]));
        assert_eq!([0x1006, 0x1046, u64::MAX].map(|at| pool.read::<4>(at)), [None; 3]);
        let large = pool.place(&[5; 200], 0, new(0x2000)).unwrap();
        assert_eq!(large.address, 0x2000);
    }
}
