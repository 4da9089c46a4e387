//! Fast-access uniforms that follow from descriptors of buffers, which are read when commands are recorded: addresses, and words of
//! uniform buffers, which queues copy there before a program runs.

use tepui_mali_compiler::{FauWord, Layout};
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::Buffer;
use tepui_mali_textures::DESCRIPTOR_B;

use crate::tables;
use crate::variant::Dynamic;

/// Maximum number of words of a copy: the registers of a load.
const MAX_COPY: u32 = 16;

/// The place of a buffer's descriptor in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descriptor {
    /// A byte of the set's memory.
    Memory(usize),
    /// A number among the set's buffers with dynamic offsets.
    Dynamic(usize),
}

/// A buffer of a descriptor set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferAt {
    /// The descriptor set.
    pub set: usize,
    descriptor: Descriptor,
}

/// A word of a buffer's address among a program's uniforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The word of the uniforms.
    pub to: usize,
    /// The buffer.
    pub buffer: BufferAt,
    /// 0 or 1.
    pub half: u8,
}

/// Consecutive words of a uniform buffer that are consecutive words of a program's uniforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// First word of the uniforms.
    to: usize,
    /// Number of words.
    count: u32,
    /// The buffer.
    pub buffer: BufferAt,
    /// First word of the buffer.
    from: u32,
}

/// A copy of words in memory to uniforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordCopy {
    /// First word of the uniforms.
    pub to: usize,
    /// Address of the first word.
    pub from: u64,
    /// Number of words.
    pub count: u32,
}

impl BufferAt {
    /// The buffer of an element of a binding; `None` if there is no such binding.
    fn new(layout: &Layout, dynamic: &Dynamic, place: (u32, u32, u32)) -> Option<BufferAt> {
        let (set, binding, element) = place;
        let b = layout.find(set, binding)?;
        let (set, at) = (set as usize, (b.first + element * b.stride) as usize);
        let descriptor = match b.table {
            tables::DRIVER => {
                let before: u32 = dynamic.iter().take(set).sum();
                Descriptor::Dynamic(at - (tables::FIRST_DYNAMIC + before) as usize)
            }
            _ => Descriptor::Memory(at * DESCRIPTOR_B),
        };
        Some(BufferAt { set, descriptor })
    }

    /// Address and bytes of the buffer, given the memory of the set and its buffers with dynamic offsets; `None` if there is none.
    pub fn find(&self, memory: &[u8], dynamic: &[(u64, u32)]) -> Option<(u64, u32)> {
        match self.descriptor {
            Descriptor::Memory(at) => {
                let bytes = memory.get(at..)?.first_chunk::<DESCRIPTOR_B>()?;
                let b = Buffer::unpack(bytes).ok().filter(|b| b.address != 0)?;
                Some((b.address, b.size))
            }
            Descriptor::Dynamic(n) => dynamic.get(n).copied().filter(|b| b.0 != 0),
        }
    }
}

impl Words {
    /// The copy, given address and bytes of the buffer; `None` if the words are past its end. Words past the end are not copied.
    pub fn copy(&self, (address, bytes): (u64, u32)) -> Option<WordCopy> {
        let count = (bytes / 4).saturating_sub(self.from).min(self.count);
        let from = address + 4 * u64::from(self.from);
        (count > 0).then_some(WordCopy { to: self.to, from, count })
    }
}

/// The words of addresses among a program's uniforms.
pub fn addresses(fau: &[FauWord], layout: &Layout, dynamic: &Dynamic) -> Vec<Address> {
    let one = |(to, w): (usize, &FauWord)| {
        let FauWord::Address { set, binding, element, half } = *w else { return None };
        let buffer = BufferAt::new(layout, dynamic, (set, binding, element))?;
        Some(Address { to, buffer, half })
    };
    fau.iter().enumerate().filter_map(one).collect()
}

/// The words of uniform buffers among a program's uniforms.
pub fn words(fau: &[FauWord], layout: &Layout, dynamic: &Dynamic) -> Vec<Words> {
    let mut all: Vec<Words> = Vec::new();
    for (to, w) in fau.iter().enumerate() {
        let FauWord::Buffer { set, binding, element, word } = *w else { continue };
        let Some(buffer) = BufferAt::new(layout, dynamic, (set, binding, element)) else {
            continue;
        };
        let follows = |w: &Words| {
            (w.buffer, w.to + w.count as usize, w.from + w.count) == (buffer, to, word)
                && w.count < MAX_COPY
        };
        match all.last_mut() {
            Some(last) if follows(last) => last.count += 1,
            _ => all.push(Words { to, count: 1, buffer, from: word }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use tepui_mali_compiler::Binding;

    use super::*;

    fn binding(set: u32, binding: u32, table: u8, first: u32) -> Binding {
        Binding {
            set,
            binding,
            table,
            first,
            stride: 1,
            sampler: 0,
            lone_sampler: 0,
            is_pushable: true,
        }
    }

    fn word(set: u32, binding: u32, element: u32, word: u32) -> FauWord {
        FauWord::Buffer { set, binding, element, word }
    }

    #[test]
    fn consecutive_words_are_one_copy() {
        let layout = Layout {
            bindings: vec![
                binding(0, 3, tables::FIRST_SET, 2),
                binding(1, 0, tables::DRIVER, tables::FIRST_DYNAMIC + 2),
            ],
        };
        let fau = [
            FauWord::Constant(1),
            word(0, 3, 1, 4),
            word(0, 3, 1, 5),
            word(0, 3, 0, 6),
            word(1, 0, 0, 0),
            FauWord::Address { set: 0, binding: 3, element: 0, half: 1 },
        ];
        let dynamic = [2, 1, 0, 0, 0, 0, 0, 0];
        let all = words(&fau, &layout, &dynamic);
        let places: Vec<_> = all.iter().map(|w| (w.to, w.count, w.buffer.set, w.from)).collect();
        assert_eq!(places, [(1, 2, 0, 4), (3, 1, 0, 6), (4, 1, 1, 0)]);
        assert_eq!(all[0].buffer.descriptor, Descriptor::Memory(3 * DESCRIPTOR_B));
        assert_eq!(all[2].buffer.descriptor, Descriptor::Dynamic(0));
        let buffer = BufferAt { set: 0, descriptor: Descriptor::Memory(2 * DESCRIPTOR_B) };
        assert_eq!(addresses(&fau, &layout, &dynamic), [Address { to: 5, buffer, half: 1 }]);
    }

    #[test]
    fn words_past_the_end_are_not_copied() {
        let buffer = BufferAt { set: 0, descriptor: Descriptor::Memory(DESCRIPTOR_B) };
        let words = Words { to: 7, count: 4, buffer, from: 2 };
        let copy = |bytes: u32| {
            let memory = [
                crate::descriptor::buffer(0, 0),
                crate::descriptor::buffer(0x1_0000, bytes.into()),
            ];
            words.copy(buffer.find(memory.as_flattened(), &[])?)
        };
        assert_eq!(copy(64), Some(WordCopy { to: 7, from: 0x1_0008, count: 4 }));
        assert_eq!(copy(19), Some(WordCopy { to: 7, from: 0x1_0008, count: 2 }));
        assert_eq!(copy(8), None);
        assert_eq!(copy(0), None);
        assert_eq!(buffer.find(&[], &[]), None);
    }
}
