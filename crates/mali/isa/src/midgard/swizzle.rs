//! Swizzles in Mesa's text: the slots that are printed, and their letters. The printer writes them, the parser
//! reads them back.

use super::names::{component, component_number};
use super::word::expand;

/// The swizzle that leaves components in place.
pub(super) const IDENTITY: u32 = 0xe4;

/// The first components that the selectors of the lower and the upper half of a register can choose.
fn starts(how: u32, mode: u32) -> (u32, u32) {
    let bits = (8 << mode) >> u32::from(how >= expand::LOW);
    let half = 64 / bits.max(4);
    match how {
        expand::LOW => (0, half / 2),
        expand::HIGH => (half, half + half / 2),
        expand::LOW_TWICE => (0, 0),
        expand::HIGH_TWICE => (half, half),
        expand::SWAP => (half, 0),
        expand::LOW_SWAP => (half / 2, 0),
        expand::HIGH_SWAP => (half + half / 2, half),
        _ => (0, half),
    }
}

/// The printed selectors for elements of up to 32 bits: the slot, and the component of value 0.
fn selectors(how: u32, mode: u32, mask: u32) -> impl Iterator<Item = (u32, u32)> {
    let (first, second) = starts(how, mode);
    let skip = (8 << mode >> 4).max(1);
    let halves: u32 = if mode < 2 { 2 } else { 1 };
    (0..halves * 4)
        .filter(move |n| mask >> (n * skip) & 1 != 0)
        .map(move |n| (n % 4, if n < 4 { first } else { second }))
}

/// The first slot of each printed selector for elements of 64 bits.
fn wide_selectors(how: u32, mask: u32) -> impl Iterator<Item = u32> {
    let (first, _) = starts(how, 3);
    let step = if how >= expand::LOW { 1 } else { 2 };
    let slots = (first..4).step_by(step).enumerate();
    slots.filter(move |(n, _)| mask >> (4 * n) & 1 != 0).map(|(_, slot)| slot)
}

/// A slot of a swizzle; 0 for slots that do not exist.
fn slot(swizzle: u32, slot: u32) -> u32 {
    swizzle >> (2 * slot) & 3
}

/// Writes a swizzle with its point, or nothing if it is the identity.
pub(super) fn write(out: &mut String, swizzle: u32, how: u32, mode: u32, mask: u32) {
    if how == expand::NONE && swizzle == IDENTITY {
        return;
    }
    out.push('.');
    if mode != 3 {
        for (n, first) in selectors(how, mode, mask) {
            let c = slot(swizzle, n);
            if mode == 0 {
                out.extend([component(2 * c + first), component(2 * c + first + 1)]);
            } else {
                out.push(component(c + first));
            }
        }
        return;
    }
    for n in wide_selectors(how, mask) {
        let (a, b) = (slot(swizzle, n), slot(swizzle, n + 1));
        if how >= expand::LOW {
            let upper = if how == expand::HIGH { 2 } else { 0 };
            out.push(component((a + upper) / 2));
        } else if b == a + 1 {
            out.push(if a >> 1 != 0 { 'Y' } else { 'X' });
        } else {
            out.extend(['[', component(a), component(b), ']']);
        }
    }
}

/// The slots of a swizzle that text determines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SwizzleSlots {
    values: u32,
    known: u32,
}

impl SwizzleSlots {
    /// Sets a slot; `None` if it has another value already.
    pub fn set(self, slot: u32, value: u32) -> Option<SwizzleSlots> {
        let mask = 3 << (2 * slot);
        match self.known & mask {
            0 if slot < 4 && value < 4 => Some(SwizzleSlots {
                values: self.values | value << (2 * slot),
                known: self.known | mask,
            }),
            0 => None,
            _ => (self.values >> (2 * slot) & 3 == value).then_some(self),
        }
    }

    /// The swizzle. A slot that text does not determine follows from the previous one, and those before the first
    /// determined slot take its value; if text determines none, the swizzle is the identity.
    pub fn filled(self, fill: Fill) -> u32 {
        if self.known == 0 {
            return IDENTITY;
        }
        let known = |n: u32| self.known >> (2 * n) & 1 != 0;
        let mut last = match fill {
            Fill::Repeat => slot(self.values, self.known.trailing_zeros() / 2),
            Fill::Count => 0,
        };
        let mut begun = false;
        (0..4).fold(0, |all, n| {
            if known(n) {
                (last, begun) = (slot(self.values, n), true);
            } else if begun && fill == Fill::Count {
                last = (last + 1).min(3);
            }
            all | last << (2 * n)
        })
    }
}

/// Rule for slots of a swizzle that text does not determine, as Mesa's compiler fills them in most cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// The value of the previous slot.
    Repeat,
    /// One more than the previous slot; 0 for the first.
    Count,
}

/// The slots that the letters of a swizzle determine; `None` if [`write`] would not write them.
pub(super) fn read(letters: &str, how: u32, mode: u32, mask: u32) -> Option<SwizzleSlots> {
    let mut letters = letters.chars();
    let mut slots = SwizzleSlots::default();
    let next = |from: &mut std::str::Chars<'_>| from.next().and_then(component_number);
    if mode != 3 {
        for (n, first) in selectors(how, mode, mask) {
            let c = next(&mut letters)?.wrapping_sub(first) & 15;
            if mode == 0 {
                let second = next(&mut letters)?.wrapping_sub(first) & 15;
                if c & 1 != 0 || second != c + 1 {
                    return None;
                }
                slots = slots.set(n, c / 2)?;
            } else {
                slots = slots.set(n, c)?;
            }
        }
        return letters.next().is_none().then_some(slots);
    }
    for n in wide_selectors(how, mask) {
        let (a, b) = if how >= expand::LOW {
            let upper = if how == expand::HIGH { 1 } else { 0 };
            let c = next(&mut letters)?.checked_sub(upper)?;
            (2 * c, None)
        } else {
            match letters.next()? {
                'X' => (0, Some(1)),
                'Y' => (2, Some(3)),
                '[' => {
                    let (a, b) = (next(&mut letters)?, next(&mut letters)?);
                    letters.next().filter(|c| *c == ']')?;
                    (a, Some(b))
                }
                _ => return None,
            }
        };
        slots = slots.set(n, a)?;
        if let Some(b) = b.filter(|_| n < 3) {
            slots = slots.set(n + 1, b)?;
        }
    }
    letters.next().is_none().then_some(slots)
}
