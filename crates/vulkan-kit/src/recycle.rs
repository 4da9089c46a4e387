//! Memory that is used again: chunks of one size, and larger pieces.
//!
//! The kernel would have to find, clear and map the pages of new memory for each command buffer.

/// A piece of memory.
pub trait Piece {
    /// Bytes.
    fn size(&self) -> u64;
}

/// Limits of what is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a chunk.
    pub chunk_b: u64,
    /// Maximum number of unused chunks.
    pub max_chunks: usize,
    /// Maximum bytes of all larger unused pieces.
    pub max_large_b: u64,
}

/// Unused pieces, the oldest first.
pub struct Recycled<T> {
    limits: Limits,
    chunks: Vec<T>,
    large: Vec<T>,
}

impl<T: Piece> Recycled<T> {
    /// No pieces.
    pub fn new(limits: Limits) -> Recycled<T> {
        Recycled { limits, chunks: Vec::new(), large: Vec::new() }
    }

    /// The smallest piece with room for `size` bytes, unless most of it would be idle.
    pub fn take(&mut self, size: u64) -> Option<T> {
        if size <= self.limits.chunk_b {
            return self.chunks.pop();
        }
        let fits = |piece: &T| piece.size() >= size && piece.size() <= 2 * size;
        let found = self.large.iter().enumerate().filter(|(_, piece)| fits(piece));
        let (at, _) = found.min_by_key(|(_, piece)| piece.size())?;
        Some(self.large.remove(at))
    }

    /// Keeps a piece; the oldest larger ones are dropped when there are too many bytes of them.
    pub fn give(&mut self, piece: T) {
        if piece.size() == self.limits.chunk_b {
            if self.chunks.len() < self.limits.max_chunks {
                self.chunks.push(piece);
            }
            return;
        }
        self.large.push(piece);
        let mut kept: u64 = self.large.iter().map(T::size).sum();
        while kept > self.limits.max_large_b {
            kept -= self.large.remove(0).size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Piece for u64 {
        fn size(&self) -> u64 {
            *self
        }
    }

    fn pool() -> Recycled<u64> {
        Recycled::new(Limits { chunk_b: 64, max_chunks: 2, max_large_b: 1000 })
    }

    #[test]
    fn small_requests_take_chunks() {
        let mut p = pool();
        assert_eq!(p.take(10), None);
        (0..3).for_each(|_| p.give(64));
        assert_eq!([p.take(64), p.take(1), p.take(1)], [Some(64), Some(64), None]);
    }

    #[test]
    fn large_requests_take_the_smallest_piece_of_which_half_is_used() {
        let mut p = pool();
        [400, 200, 300].into_iter().for_each(|size| p.give(size));
        assert_eq!(p.take(99), None);
        assert_eq!([p.take(150), p.take(150), p.take(150)], [Some(200), Some(300), None]);
        assert_eq!(p.take(400), Some(400));
    }

    #[test]
    fn the_oldest_large_pieces_go_first() {
        let mut p = pool();
        [400, 300, 500].into_iter().for_each(|size| p.give(size));
        assert_eq!([p.take(300), p.take(400), p.take(400)], [Some(300), Some(500), None]);
    }
}
