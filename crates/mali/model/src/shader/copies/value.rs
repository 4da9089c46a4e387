//! Symbolic values of registers, which describe all threads together.

use arrayvec::ArrayVec;
use tepui_mali_isa::modifier::Condition;

use crate::warp::row::LANES;

/// An affine 32-bit number: `add`, plus a multiple of each of a thread's coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Affine {
    pub by: [u32; 3],
    pub add: u32,
}

impl Affine {
    /// A number that is uniform over all threads.
    pub const fn bits(add: u32) -> Affine {
        Affine { by: [0; 3], add }
    }

    /// The coordinate on an axis.
    pub fn axis(axis: usize) -> Affine {
        let mut by = [0; 3];
        by[axis] = 1;
        Affine { by, add: 0 }
    }

    /// The number, if it is uniform.
    pub fn same(&self) -> Option<u32> {
        (self.by == [0; 3]).then_some(self.add)
    }

    pub fn plus(self, other: Affine) -> Affine {
        let by = std::array::from_fn(|k| self.by[k].wrapping_add(other.by[k]));
        Affine { by, add: self.add.wrapping_add(other.add) }
    }

    pub fn times(self, factor: u32) -> Affine {
        Affine { by: self.by.map(|n| n.wrapping_mul(factor)), add: self.add.wrapping_mul(factor) }
    }

    pub fn minus(self, other: Affine) -> Affine {
        self.plus(other.times(u32::MAX))
    }

    /// The numbers of threads from `first` on, along the first axis.
    #[inline(always)]
    pub fn row(&self, first: [u32; 3]) -> [u32; LANES] {
        let start = self.at(first);
        let mut row = [0; LANES];
        for (lane, number) in (0..).zip(&mut row) {
            *number = self.by[0].wrapping_mul(lane).wrapping_add(start);
        }
        row
    }

    /// The number of the thread at a coordinate.
    #[inline(always)]
    pub fn at(&self, place: [u32; 3]) -> u32 {
        let mut sum = self.add;
        for (by, place) in self.by.iter().zip(place) {
            sum = sum.wrapping_add(by.wrapping_mul(place));
        }
        sum
    }
}

/// A region of coordinates: the box between two corners, both included, or its complement. A box whose first corner is
/// past the last on an axis is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub first: [u32; 3],
    pub last: [u32; 3],
    /// Whether it is the complement.
    pub outside: bool,
}

impl Region {
    pub const ALL: Region = Region { first: [0; 3], last: [u32::MAX; 3], outside: false };

    const NONE: Region = Region { first: [1; 3], last: [0; 3], outside: false };

    /// The complement.
    pub fn not(self) -> Region {
        Region { outside: !self.outside, ..self }
    }

    /// The intersection; `None` if it is not such a region.
    pub fn and(self, other: Region) -> Option<Region> {
        (!self.outside && !other.outside).then(|| Region {
            first: std::array::from_fn(|k| self.first[k].max(other.first[k])),
            last: std::array::from_fn(|k| self.last[k].min(other.last[k])),
            outside: false,
        })
    }

    /// The coordinates at which a number satisfies a comparison with another one; `None` if they do not form
    /// such a region on one axis.
    pub fn compared(condition: Condition, number: Affine, other: u32) -> Option<Region> {
        use Condition as C;
        let axis = (0..3).find(|axis| number == Affine::axis(*axis))?;
        let range = match condition {
            C::Ge => Some((other, u32::MAX)),
            C::Gt => other.checked_add(1).map(|first| (first, u32::MAX)),
            C::Le => Some((0, other)),
            C::Lt => other.checked_sub(1).map(|last| (0, last)),
            C::Eq => Some((other, other)),
            C::Ne | C::Gtlt | C::Total => return None,
        };
        let Some((first, last)) = range else { return Some(Region::NONE) };
        let mut region = Region::ALL;
        (region.first[axis], region.last[axis]) = (first, last);
        Some(region)
    }

    /// Whether the region contains all of the box between two corners, or none of it; `None` if it contains a
    /// part.
    pub fn has_all(&self, first: [u32; 3], last: [u32; 3]) -> Option<bool> {
        let between = |k: usize| self.first[k] <= first[k] && last[k] <= self.last[k];
        let apart = |k: usize| last[k] < self.first[k] || self.last[k] < first[k];
        if (0..3).any(apart) {
            return Some(self.outside);
        }
        (0..3).all(between).then_some(!self.outside)
    }

    /// Whether the region contains a coordinate.
    #[inline(always)]
    pub fn has(&self, place: [u32; 3]) -> bool {
        let mut between = true;
        for (place, (first, last)) in place.iter().zip(self.first.iter().zip(&self.last)) {
            between &= first <= place && place <= last;
        }
        between != self.outside
    }
}

/// A channel of a texel within a word: at most `most`, shifted left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelBits {
    /// The index of the fetch.
    pub fetch: u8,
    pub channel: u8,
    pub most: u32,
    pub shift: u32,
}

impl ChannelBits {
    /// The bits of the word that it may set.
    fn bits(&self) -> u32 {
        u32::MAX.checked_shr(self.most.leading_zeros()).unwrap_or(0) << self.shift
    }
}

/// A word composed of channels, each of which has its own bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word(pub ArrayVec<ChannelBits, 4>);

impl Word {
    /// An unmodified channel.
    pub fn channel(fetch: u8, channel: u8) -> Word {
        Word(ArrayVec::from_iter([ChannelBits { fetch, channel, most: u32::MAX, shift: 0 }]))
    }

    fn bits(&self) -> u32 {
        self.0.iter().fold(0, |bits, part| bits | part.bits())
    }

    /// Whether the upper half is zero.
    pub fn is_half(&self) -> bool {
        self.bits() >> 16 == 0
    }

    /// The minimum of a channel and a number.
    pub fn at_most(mut self, most: u32) -> Option<Word> {
        match self.0.as_mut_slice() {
            [part] if part.shift == 0 => part.most = part.most.min(most),
            _ => return None,
        }
        Some(self)
    }

    /// The word shifted left, if no bits are lost.
    pub fn shifted(mut self, by: u32) -> Option<Word> {
        if by > self.bits().leading_zeros() {
            return None;
        }
        self.0.iter_mut().for_each(|part| part.shift += by);
        Some(self)
    }

    /// The union of both words, if their bits are disjoint.
    pub fn or(mut self, other: &Word) -> Option<Word> {
        if self.bits() & other.bits() != 0 {
            return None;
        }
        self.0.try_extend_from_slice(&other.0).ok()?;
        Some(self)
    }
}

/// The symbolic value of a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Unknown,
    Number(Affine),
    /// Both coordinates of a pixel, 16 bits each.
    Pixel,
    /// The samples that a fragment covers.
    Coverage,
    /// All ones for threads in this region, zeros for the others.
    Mask(Region),
    /// All ones in each half of the word for threads in its region, zeros for the others.
    HalfMasks([Region; 2]),
    /// Not zero for threads in this region, zero for the others.
    Truth(Region),
    /// Channels of texels.
    Word(Word),
    /// A word of an address: the sum of a 64-bit number and an unsigned 32-bit one.
    Address {
        base: u64,
        offset: Affine,
        upper: bool,
    },
}

impl Value {
    pub const fn bits(bits: u32) -> Value {
        Value::Number(Affine::bits(bits))
    }

    /// The bits, if they are uniform.
    pub fn same(&self) -> Option<u32> {
        match self {
            Value::Number(number) => number.same(),
            _ => None,
        }
    }

    /// The region in which it is not zero.
    pub fn truth(&self) -> Option<Region> {
        match self {
            Value::Mask(region) | Value::Truth(region) => Some(*region),
            _ => None,
        }
    }

    /// The bitwise OR of two values; `None` if it cannot be represented.
    pub fn or(self, other: Value) -> Option<Value> {
        Some(match (self, other) {
            (value, zero) | (zero, value) if zero.same() == Some(0) => value,
            (Value::Word(a), Value::Word(b)) => Value::Word(a.or(&b)?),
            _ => return None,
        })
    }
}
