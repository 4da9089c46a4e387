//! Descriptors that are pushed: the bytes of a set that a push changes, made when it is recorded.

use std::ops::Range;

use crate::backend::PerSetMemory;

/// A range of the bytes of a set in one kind of memory.
pub(super) type Written = (usize, Range<usize>);

/// Bytes of a set, and those of them that count.
#[derive(Clone, Default)]
pub struct Pushed {
    pub(super) bytes: PerSetMemory<Vec<u8>>,
    pub(super) written: Vec<Written>,
}

impl Pushed {
    /// Copies the bytes that count into a set.
    pub fn put_into(&self, set: &mut PerSetMemory<Vec<u8>>) {
        for (kind, range) in &self.written {
            let from = self.bytes[*kind].get(range.clone());
            if let (Some(to), Some(from)) = (set[*kind].get_mut(range.clone()), from) {
                to.copy_from_slice(from);
            }
        }
    }
}
