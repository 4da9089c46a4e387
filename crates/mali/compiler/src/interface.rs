//! The interface between a program and its driver: resource tables, fast-access uniforms (FAU), local memory.
//!
//! Descriptors are found by a handle, `table << 24 | index`; [`Layout`] says which descriptors of which table the elements of a
//! binding are. The words that the driver puts into fast-access uniforms are [`Program::fau`](crate::Program::fau), in order.

use serde::{Deserialize, Serialize};
use tepui_ir::{ResKind, Shader};
use tepui_sysval::SystemValue;

/// Words of fast-access uniforms that instructions can name: four pages of 64.
pub const MAX_FAU_WORDS: usize = 256;

/// Words of uniform buffers that drivers copy there: four copies of a command stream's registers.
pub const PUSHED_WORDS: u32 = 64;

/// Maximum number of words that are numbers of the program.
const MAX_CONSTANTS: usize = 96;
/// Words after which no numbers are added, so that what has to be there has a place.
const MAX_WORDS_WITH_CONSTANTS: usize = 160;

/// Bits of the index in a handle.
const INDEX_BITS: u32 = 24;

/// A handle of a descriptor.
#[must_use]
pub const fn handle(table: u32, index: u32) -> u32 {
    table << INDEX_BITS | index & ((1 << INDEX_BITS) - 1)
}

/// The descriptors of a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// The resource table.
    pub table: u8,
    /// Index of the first element's first descriptor.
    pub first: u32,
    /// Descriptors from one element to the next.
    pub stride: u32,
    /// Descriptor of the sampler within an element, of combined images and samplers.
    pub sampler: u32,
    /// Descriptor of the sampler for a shader that has a sampler alone in the binding.
    pub lone_sampler: u32,
    /// The descriptors are known when commands are recorded: the driver can put addresses of the buffers, and words of uniform
    /// buffers, into fast-access uniforms.
    pub is_pushable: bool,
}

/// The descriptors of all bindings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The bindings, in any order.
    pub bindings: Vec<Binding>,
}

impl Layout {
    /// A layout for a shader that no driver has laid out: set N is table N + 1, bindings follow each other.
    #[must_use]
    pub fn of(s: &Shader) -> Layout {
        let mut resources: Vec<_> = s.resources.values().collect();
        resources.sort_by_key(|r| (r.set, r.binding));
        resources.dedup_by_key(|r| (r.set, r.binding));
        let mut bindings: Vec<Binding> = Vec::new();
        let mut next = (0, 0);
        for r in resources {
            if next.0 != r.set {
                next = (r.set, 0);
            }
            let stride = if r.kind == ResKind::CombinedTextureSampler { 2 } else { 1 };
            bindings.push(Binding {
                set: r.set,
                binding: r.binding,
                table: r.set as u8 + 1,
                first: next.1,
                stride,
                sampler: stride - 1,
                lone_sampler: stride - 1,
                is_pushable: true,
            });
            next.1 += stride * r.count.max(1);
        }
        Layout { bindings }
    }

    /// The descriptors of a binding.
    #[must_use]
    pub fn find(&self, set: u32, binding: u32) -> Option<&Binding> {
        self.bindings.iter().find(|b| (b.set, b.binding) == (set, binding))
    }
}

/// A word of fast-access uniforms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FauWord {
    /// A word of a system value; those of 64 bits have a second word.
    System(SystemValue, u8),
    /// A word of a uniform buffer.
    Buffer {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Element of the binding.
        element: u32,
        /// Word in the buffer; words past its end are 0.
        word: u32,
    },
    /// A word of the address of a buffer.
    Address {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Element of the binding.
        element: u32,
        /// 0 or 1.
        half: u8,
    },
    /// The viewport's factor for a direction of normalised coordinates, or what is added then, as a float.
    Viewport {
        /// 0 to 2.
        axis: u8,
        /// Number that is added.
        offset: bool,
    },
    /// For the number of an instance with which an attribute is fetched: the mask of the instance's number in its draw, or the factor of
    /// the first instance, which is added ([`Options::adds_first_instance`](crate::Options::adds_first_instance)).
    Instances {
        /// Location of the attribute.
        location: u8,
        /// The factor.
        factor: bool,
    },
    /// The locations of attributes whose formats have no alpha, a bit each.
    OpaqueAttributes,
    /// The number of the draw's viewport.
    ViewportIndex,
    /// The conversion descriptor of a render target, for reads of the tile buffer.
    TileConversion(u8),
    /// A word of the address of the push constants in memory, for offsets that are not known before.
    PushAddress(u8),
    /// A word of the address of [`Program::data`](crate::Program::data).
    DataAddress(u8),
    /// A number.
    Constant(u32),
    /// Padding: any value.
    Unused,
}

/// Fast-access uniforms of a program.
#[derive(Clone, Debug, Default)]
pub struct Fau {
    words: Vec<FauWord>,
    /// Words before these, which are the driver's own.
    reserved: usize,
}

impl Fau {
    /// No words after the driver's.
    #[must_use]
    pub fn new(reserved: usize) -> Fau {
        Fau { words: Vec::new(), reserved }
    }

    /// The words, without those of the driver.
    #[must_use]
    pub fn into_words(self) -> Vec<FauWord> {
        self.words
    }

    /// The number of a word, which is added if it is not there yet; `None` if all are taken.
    pub fn word(&mut self, word: FauWord) -> Option<u8> {
        let found = self.words.iter().position(|w| *w == word);
        let at = found.unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        });
        u8::try_from(at + self.reserved).ok()
    }

    /// Whether there may be more numbers.
    fn takes_constants(&self) -> bool {
        let count = self.words.iter().filter(|w| matches!(w, FauWord::Constant(_))).count();
        count < MAX_CONSTANTS && self.words.len() < MAX_WORDS_WITH_CONSTANTS
    }

    /// The number of a word with a number; `None` if as many numbers are there as may be.
    pub fn constant(&mut self, value: u32) -> Option<u8> {
        let word = FauWord::Constant(value);
        let known = self.words.contains(&word) || self.takes_constants();
        if known { self.word(word) } else { None }
    }

    /// The number of the first word of a slot with a number in its low half; `None` as for [`Fau::constant`].
    pub fn constant_pair(&mut self, value: u32) -> Option<u8> {
        let words = [FauWord::Constant(value), FauWord::Unused];
        let known = self.find_pair(words).is_some() || self.takes_constants();
        if known { self.pair(words) } else { None }
    }

    /// The number of the first word of a slot with the address of a buffer; `None` if there are `most` of them already.
    pub fn address(&mut self, words: [FauWord; 2], most: usize) -> Option<u8> {
        let is_address = |w: &&FauWord| matches!(w, FauWord::Address { half: 0, .. });
        let count = self.words.iter().filter(is_address).count();
        let is_free = count < most && self.words.len() < MAX_WORDS_WITH_CONSTANTS;
        if self.find_pair(words).is_some() || is_free { self.pair(words) } else { None }
    }

    /// The number of the first word of a slot with copies of two words; `None` if enough words are taken.
    pub fn together(&mut self, numbers: [u8; 2]) -> Option<u8> {
        let place = |n: u8| usize::from(n).checked_sub(self.reserved);
        let [a, b] = numbers.map(|n| self.words.get(place(n)?).copied());
        let words = [a?, b?];
        let is_free = self.words.len() < MAX_WORDS_WITH_CONSTANTS;
        if is_free || self.find_pair(words).is_some() { self.pair(words) } else { None }
    }

    /// Place of two words of one slot, among those that are not the driver's.
    fn find_pair(&self, words: [FauWord; 2]) -> Option<usize> {
        (0..self.words.len().saturating_sub(1))
            .find(|&at| (at + self.reserved).is_multiple_of(2) && self.words[at..at + 2] == words)
    }

    /// The number of the first of two words in one slot of 64 bits.
    pub fn pair(&mut self, words: [FauWord; 2]) -> Option<u8> {
        let found = self.find_pair(words);
        let at = found.unwrap_or_else(|| {
            if !(self.words.len() + self.reserved).is_multiple_of(2) {
                self.words.push(FauWord::Unused);
            }
            self.words.extend(words);
            self.words.len() - 2
        });
        u8::try_from(at + self.reserved + 1).ok().map(|last| last - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_in_one_slot() {
        let mut fau = Fau::new(4);
        assert_eq!(fau.word(FauWord::Constant(1)), Some(4));
        let address = [FauWord::DataAddress(0), FauWord::DataAddress(1)];
        assert_eq!(fau.pair(address), Some(6));
        assert_eq!(fau.pair(address), Some(6));
        assert_eq!(fau.word(FauWord::DataAddress(1)), Some(7));
        assert_eq!(fau.word(FauWord::Constant(1)), Some(4));
        assert_eq!(fau.into_words().len(), 4);
    }

    #[test]
    fn copies_of_words_share_a_slot() {
        let mut fau = Fau::new(2);
        let words = [1, 2, 3, 4].map(|n| fau.constant(n).expect("a word"));
        assert_eq!(fau.together([words[0], words[3]]), Some(6));
        assert_eq!(fau.together([words[0], words[3]]), Some(6));
        assert_eq!(fau.together([words[1], words[2]]), Some(8));
        assert_eq!(fau.together([0, words[0]]), None, "the first words are the driver's");
        assert_eq!(fau.into_words()[4..6], [FauWord::Constant(1), FauWord::Constant(4)]);
    }

    #[test]
    fn addresses_are_limited() {
        let mut fau = Fau::new(0);
        let words =
            |binding| [0, 1].map(|half| FauWord::Address { set: 0, binding, element: 0, half });
        assert_eq!(fau.address(words(0), 1), Some(0));
        assert_eq!(fau.address(words(1), 1), None);
        assert_eq!(fau.address(words(0), 1), Some(0));
    }

    #[test]
    fn there_are_256_words() {
        let mut fau = Fau::new(0);
        for n in 0..256 {
            assert_eq!(fau.word(FauWord::Constant(n)), Some(n as u8));
        }
        assert_eq!(fau.word(FauWord::Constant(256)), None);
        assert_eq!(fau.word(FauWord::Constant(3)), Some(3));
    }
}
