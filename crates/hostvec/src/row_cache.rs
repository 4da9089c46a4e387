//! Vector registers that hold rows which a group's memory has, too.

use std::ops::Range;

use crate::asm::V;

/// Vector registers of the host.
const REGISTERS: usize = 16;

/// Cache of rows in vector registers: the registers that hold rows written to memory before, so that
/// later reads need no load. A row's key is the offset of its first byte.
#[derive(Clone, Debug)]
pub struct RowCache {
    /// Bytes of a vector.
    width: u16,
    /// The registers that may hold rows.
    pool: Range<u8>,
    rows: [Option<u16>; REGISTERS],
    /// The register that is taken next.
    next: u8,
}

impl RowCache {
    /// An empty cache for vectors of `width` bytes, with the registers of the pool.
    pub fn new(width: u16, pool: Range<u8>) -> RowCache {
        assert!(usize::from(pool.end) <= REGISTERS && !pool.is_empty(), "registers {pool:?}");
        let next = pool.start;
        RowCache { width, pool, rows: [None; REGISTERS], next }
    }

    /// Forgets all rows: the registers may hold anything.
    pub fn clear(&mut self) {
        self.rows = [None; REGISTERS];
    }

    /// The register that holds the row at an offset.
    pub fn held(&self, base: u16) -> Option<V> {
        self.pool.clone().map(V).find(|v| self.rows[usize::from(v.0)] == Some(base))
    }

    /// A register for the row at an offset, which is about to be written; older copies of the row are
    /// forgotten.
    pub fn take(&mut self, base: u16) -> V {
        let same = self.held(base);
        self.forget(base, self.width.into());
        let v = same.unwrap_or_else(|| {
            let v = V(self.next);
            self.next =
                if self.next + 1 == self.pool.end { self.pool.start } else { self.next + 1 };
            v
        });
        self.rows[usize::from(v.0)] = Some(base);
        v
    }

    /// Forgets rows that overlap bytes about to be written.
    pub fn forget(&mut self, base: u16, bytes: usize) {
        let (first, end) = (usize::from(base), usize::from(base) + bytes);
        let width = usize::from(self.width);
        for row in &mut self.rows {
            if row.is_some_and(|b| usize::from(b) < end && first < usize::from(b) + width) {
                *row = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_held_until_they_are_written_over() {
        let mut rows = RowCache::new(32, 6..8);
        let (a, b) = (rows.take(0), rows.take(32));
        assert_ne!(a, b);
        assert_eq!((rows.held(0), rows.held(32), rows.held(64)), (Some(a), Some(b), None));
        // A row that is written again keeps its register, another one replaces the oldest.
        assert_eq!(rows.take(0), a);
        assert_eq!(rows.take(64), a);
        assert_eq!((rows.held(0), rows.held(64)), (None, Some(a)));
        rows.forget(60, 4);
        assert_eq!((rows.held(32), rows.held(64)), (None, Some(a)));
        rows.clear();
        assert_eq!(rows.held(64), None);
    }
}
