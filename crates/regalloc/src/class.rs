//! Register classes and sets of registers.

use std::ops::Range;

/// The register number of an operand whose register is not allocated yet.
pub const UNASSIGNED: u16 = u16::MAX;

/// Units of the largest register file.
pub const UNITS: usize = 256;

/// Register class: the size and alignment of the registers that a value takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegClass {
    /// Units.
    pub units: u8,
    /// The first unit is a multiple of this power of two.
    pub align: u8,
    /// Registers do not cross a multiple of this power of two; 0 where they may.
    pub within: u8,
    /// Written and read without the execution mask, so that instructions which other lanes execute
    /// in between must not overwrite it ([`crate::alloc::Registers::unmasked`]).
    pub unmasked: bool,
}

impl RegClass {
    /// A class of registers that may begin anywhere.
    #[must_use]
    #[inline]
    pub const fn new(units: u8) -> RegClass {
        RegClass { units, align: 1, within: 0, unmasked: false }
    }

    /// The class with an alignment, a power of two.
    #[must_use]
    #[inline]
    pub const fn aligned(self, align: u8) -> RegClass {
        assert!(align.is_power_of_two());
        RegClass { align, ..self }
    }

    /// The class without registers that cross a multiple of a power of two.
    #[must_use]
    #[inline]
    pub const fn within(self, within: u8) -> RegClass {
        assert!(within.is_power_of_two() && within >= self.units);
        RegClass { within, ..self }
    }

    /// The class of values that are written and read without the execution mask.
    #[must_use]
    #[inline]
    pub const fn unmasked(self) -> RegClass {
        RegClass { unmasked: true, ..self }
    }

    /// Whether registers of the class may begin at a unit.
    #[must_use]
    #[inline]
    pub const fn fits(self, reg: u16) -> bool {
        reg & (self.align as u16 - 1) == 0
            && (self.within == 0
                || (reg & (self.within as u16 - 1)) + self.units as u16 <= self.within as u16)
    }

    /// The first unit from `reg` on where registers of the class may begin.
    #[inline]
    pub(crate) const fn first_fit(self, reg: u16) -> u16 {
        let reg = reg.next_multiple_of(self.align as u16);
        if self.fits(reg) { reg } else { reg.next_multiple_of(self.within as u16) }
    }

    /// Units that count against the limit of register pressure: values that are not masked have
    /// registers of their own.
    #[must_use]
    #[inline]
    pub const fn pressure(self) -> u32 {
        if self.unmasked { 0 } else { self.units as u32 }
    }
}

/// The lowest bits.
const fn below(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// A set of units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegSet([u64; UNITS / 64]);

impl RegSet {
    /// No unit.
    pub const EMPTY: RegSet = RegSet([0; UNITS / 64]);

    /// The units of a range, those past the largest file left out.
    #[must_use]
    #[inline]
    pub const fn range(range: Range<u16>) -> RegSet {
        let mut set = RegSet::EMPTY;
        let (mut k, end) = (0, range.end as usize);
        while k < UNITS / 64 {
            let first = (range.start as usize).saturating_sub(64 * k);
            let last = end.saturating_sub(64 * k);
            set.0[k] = below(last) & !below(first);
            k += 1;
        }
        set
    }

    /// The registers of a class at a unit.
    #[must_use]
    #[inline]
    pub const fn of(class: RegClass, reg: u16) -> RegSet {
        RegSet::range(reg..reg.saturating_add(class.units as u16))
    }

    /// The units of either.
    #[must_use]
    #[inline]
    pub const fn union(mut self, other: RegSet) -> RegSet {
        let mut k = 0;
        while k < UNITS / 64 {
            self.0[k] |= other.0[k];
            k += 1;
        }
        self
    }

    /// The units that the other set does not have.
    #[must_use]
    #[inline]
    pub const fn without(mut self, other: RegSet) -> RegSet {
        let mut k = 0;
        while k < UNITS / 64 {
            self.0[k] &= !other.0[k];
            k += 1;
        }
        self
    }

    /// Adds the units of the other set.
    #[inline]
    pub const fn add(&mut self, other: RegSet) {
        *self = self.union(other);
    }

    /// Whether a unit is in both.
    #[must_use]
    #[inline]
    pub const fn meets(&self, other: &RegSet) -> bool {
        let (mut k, mut both) = (0, 0);
        while k < UNITS / 64 {
            both |= self.0[k] & other.0[k];
            k += 1;
        }
        both != 0
    }

    /// Whether all units of the other set are in this one.
    #[must_use]
    #[inline]
    pub const fn contains_all(&self, other: &RegSet) -> bool {
        other.without(*self).is_empty()
    }

    /// Whether a unit is in the set.
    #[must_use]
    #[inline]
    pub const fn contains(&self, unit: u16) -> bool {
        (unit as usize) < UNITS && self.0[unit as usize / 64] >> (unit % 64) & 1 != 0
    }

    /// Whether there is no unit.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Units.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        let (mut k, mut n) = (0, 0);
        while k < UNITS / 64 {
            n += self.0[k].count_ones();
            k += 1;
        }
        n
    }

    /// Adds a unit.
    #[inline]
    pub(crate) const fn insert(&mut self, unit: u16) {
        self.0[unit as usize / 64] |= 1 << (unit % 64);
    }

    /// Takes a unit out.
    #[inline]
    pub(crate) const fn remove(&mut self, unit: u16) {
        self.0[unit as usize / 64] &= !(1 << (unit % 64));
    }

    /// The units that are not in the set.
    #[inline]
    pub(crate) const fn complement(mut self) -> RegSet {
        let mut k = 0;
        while k < UNITS / 64 {
            self.0[k] = !self.0[k];
            k += 1;
        }
        self
    }

    /// The other units of the pairs that the units are in, each an even unit and the next one.
    #[inline]
    pub(crate) const fn other_halves(mut self) -> RegSet {
        const EVEN: u64 = u64::MAX / 3;
        let mut k = 0;
        while k < UNITS / 64 {
            self.0[k] = (self.0[k] & EVEN) << 1 | self.0[k] >> 1 & EVEN;
            k += 1;
        }
        self
    }

    /// The first unit from one on.
    #[inline]
    pub(crate) const fn next(&self, unit: u16) -> Option<u16> {
        let mut k = unit as usize / 64;
        let mut mask = u64::MAX << (unit % 64);
        while k < UNITS / 64 {
            let word = self.0[k] & mask;
            if word != 0 {
                return Some(64 * k as u16 + word.trailing_zeros() as u16);
            }
            mask = u64::MAX;
            k += 1;
        }
        None
    }

    /// From the first to the last unit.
    #[must_use]
    #[inline]
    pub fn hull(&self) -> Range<u16> {
        let first = (0..UNITS / 64).find(|&k| self.0[k] != 0);
        let last = (0..UNITS / 64).rfind(|&k| self.0[k] != 0);
        let (Some(first), Some(last)) = (first, last) else { return 0..0 };
        let start = 64 * first as u32 + self.0[first].trailing_zeros();
        let end = 64 * (last as u32 + 1) - self.0[last].leading_zeros();
        start as u16..end as u16
    }

    /// The units, ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<'_> {
        self.hull().filter(|&unit| self.contains(unit))
    }

    /// The first place for registers of a class.
    #[must_use]
    #[inline]
    pub fn find(&self, class: RegClass) -> Option<u16> {
        self.places(class).next()
    }

    /// The places for registers of a class, ascending.
    #[inline]
    pub fn places(&self, class: RegClass) -> impl DoubleEndedIterator<Item = u16> + use<'_> {
        (0..UNITS as u16).filter(move |&reg| {
            class.fits(reg)
                && usize::from(reg) + usize::from(class.units) <= UNITS
                && self.contains_all(&RegSet::of(class, reg))
        })
    }
}

impl std::fmt::Debug for RegSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_units() {
        for (start, end) in [(0, 0), (0, 1), (3, 64), (63, 65), (64, 128), (100, 256), (5, 3)] {
            let set = RegSet::range(start..end);
            assert_eq!(set.iter().collect::<Vec<_>>(), (start..end).collect::<Vec<_>>());
        }
        assert_eq!(RegSet::range(250..300).len(), 6);
        assert_eq!(RegSet::range(60..70).union(RegSet::range(140..150)).hull(), 60..150);
        assert_eq!(RegSet::EMPTY.hull(), 0..0);
    }

    #[test]
    fn units_come_and_go() {
        let mut set = RegSet::range(62..66);
        assert_eq!((set.next(0), set.next(64), set.next(66)), (Some(62), Some(64), None));
        set.remove(63);
        set.insert(200);
        assert_eq!(set.iter().collect::<Vec<_>>(), [62, 64, 65, 200]);
        assert_eq!(set.other_halves().iter().collect::<Vec<_>>(), [63, 64, 65, 201]);
        assert_eq!(set.complement().next(60), Some(60));
    }

    #[test]
    fn classes_fit_where_they_are_aligned_and_cross_nothing() {
        let class = RegClass::new(3).aligned(2).within(8);
        let places: Vec<u16> = (0..18).filter(|&reg| class.fits(reg)).collect();
        assert_eq!(places, [0, 2, 4, 8, 10, 12, 16]);
        assert_eq!((class.first_fit(5), class.first_fit(6), class.first_fit(9)), (8, 8, 10));
        let holes = RegSet::range(1..4).union(RegSet::range(5..9)).union(RegSet::range(12..20));
        assert_eq!(holes.places(class).collect::<Vec<_>>(), [12, 16]);
        assert_eq!(holes.find(RegClass::new(4)), Some(5));
    }
}
