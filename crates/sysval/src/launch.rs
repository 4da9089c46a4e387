//! Words of one launch.

use crate::{Field, Words};

/// Words that a launch reads from memory, where earlier programs leave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryWords {
    /// Byte offset of the first of them among the words of the launch.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
    /// GPU address.
    pub address: u64,
}

impl MemoryWords {
    /// All words of a structure.
    #[must_use]
    pub const fn all<S: Words>(address: u64) -> MemoryWords {
        MemoryWords { offset: 0, bytes: S::BYTES, address }
    }

    /// One field.
    #[must_use]
    pub const fn field<S, T>(field: Field<S, T>, address: u64) -> MemoryWords {
        MemoryWords { offset: field.offset(), bytes: field.bytes(), address }
    }

    /// The fields of a structure at `address` from one up to another, which is not among them.
    #[must_use]
    pub const fn until<S, T, U>(first: Field<S, T>, end: Field<S, U>, address: u64) -> MemoryWords {
        let (offset, end) = (first.offset(), end.offset());
        MemoryWords { offset, bytes: end - offset, address: address + offset as u64 }
    }
}

/// Words that a driver supplies to one launch of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchWords<'a> {
    /// Words from the CPU.
    pub values: &'a [u32],
    /// Words from memory instead.
    pub in_memory: &'a [MemoryWords],
}

impl<'a> LaunchWords<'a> {
    /// Words from the CPU alone.
    #[must_use]
    pub const fn of(values: &'a [u32]) -> Self {
        LaunchWords { values, in_memory: &[] }
    }

    /// The word at a byte offset, if it is from the CPU; those that nothing supplies are 0.
    #[must_use]
    pub fn value(&self, offset: u32) -> u32 {
        self.values.get(offset as usize / 4).copied().unwrap_or(0)
    }

    /// Address of the word at a byte offset, if it is in memory.
    #[must_use]
    pub fn address(&self, offset: u32) -> Option<u64> {
        let there = |m: &&MemoryWords| offset >= m.offset && offset - m.offset < m.bytes;
        let words = self.in_memory.iter().find(there)?;
        Some(words.address + u64::from(offset - words.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Long, push_words};

    push_words! {
        struct Own {
            table: Long,
            count: u32,
            factor: u32,
        }
    }

    #[test]
    fn words_are_from_memory_where_a_range_says_so() {
        let own = Own { factor: 3, ..Own::default() };
        let in_memory =
            [MemoryWords::field(Own::TABLE, 0x100), MemoryWords::field(Own::COUNT, 0x208)];
        let words = LaunchWords { values: own.words(), in_memory: &in_memory };
        assert_eq!(words.address(0), Some(0x100));
        assert_eq!(words.address(4), Some(0x104));
        assert_eq!(words.address(8), Some(0x208));
        assert_eq!((words.address(12), words.value(12), words.value(16)), (None, 3, 0));
        let until = MemoryWords::until(Own::COUNT, Own::FACTOR, 0x1000);
        assert_eq!(until, MemoryWords { offset: 8, bytes: 4, address: 0x1008 });
    }
}
