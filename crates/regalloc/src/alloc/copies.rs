//! Sequentialises parallel copies into moves and swaps.

use crate::class::{RegSet, UNITS};
use crate::code::Step;
use crate::target::Target;

/// A copy of `units` units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Copy {
    /// First unit written.
    pub to: u16,
    /// First unit read.
    pub from: u16,
    /// Number of units.
    pub units: u16,
}

/// The copies in a circle for which there is no free register.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NoSpare;

/// Whether copies that block each other overlap in part, so that they cannot be done whole.
fn overlap_in_part<T: Target>(rest: &[Copy]) -> bool {
    let units = rest[0].units;
    if T::SWAPS {
        return rest.iter().any(|c| c.units != units || c.to % units != 0 || c.from % units != 0);
    }
    // The copy that reads each unit.
    let mut reader: [Option<(u16, u16)>; UNITS] = [None; UNITS];
    for c in rest {
        for unit in c.from..c.from + c.units {
            let known = reader[usize::from(unit)].replace((c.from, c.units));
            if known.is_some_and(|known| known != (c.from, c.units)) {
                return true;
            }
        }
    }
    rest.iter().any(|c| {
        (c.to..c.to + c.units)
            .filter_map(|unit| reader[usize::from(unit)])
            .any(|read| read != (c.to, c.units))
    })
}

/// Appends steps that do all copies at once. What several of them write to the same unit is the
/// same. Where the target does not swap, or with several instructions, `spare` gives units that hold nothing.
pub fn sequence<T: Target>(
    copies: &[Copy],
    spare: impl Fn() -> RegSet,
    mut out: impl FnMut(Step<T::Inst>),
) -> Result<(), NoSpare> {
    if copies.iter().all(|c| c.to == c.from) {
        return Ok(());
    }
    let mut rest: Vec<Copy> = Vec::with_capacity(copies.len());
    let mut written = [false; UNITS];
    // A copy to its own register counts as done.
    for c in copies.iter().filter(|c| c.to == c.from) {
        written[usize::from(c.to)..usize::from(c.to + c.units)].fill(true);
    }
    for c in copies.iter().filter(|c| c.to != c.from) {
        // As many units at once as an instruction moves, if none of them is written already.
        let mut k = 0;
        while k < c.units {
            let (to, from) = (c.to + k, c.from + k);
            if written[usize::from(to)] {
                k += 1;
                continue;
            }
            // A move whose registers overlap would read what it has written.
            let n = T::move_units(to, from, (c.units - k).min(to.abs_diff(from)));
            let again = written[usize::from(to)..usize::from(to + n)].iter().any(|w| *w);
            let n = if again { 1 } else { n };
            written[usize::from(to)..usize::from(to + n)].fill(true);
            rest.push(Copy { to, from, units: n });
            k += n;
        }
    }
    // How many copies still read each unit.
    let mut readers = [0u16; UNITS];
    for c in &rest {
        for h in c.from..c.from + c.units {
            readers[usize::from(h)] += 1;
        }
    }
    let overlaps = |c: &Copy, readers: &[u16; UNITS]| {
        (c.to..c.to + c.units).any(|h| {
            // Its own reads do not block it.
            let own = u16::from((c.from..c.from + c.units).contains(&h));
            readers[usize::from(h)] > own
        })
    };
    loop {
        let mut progress = false;
        rest.retain(|c| {
            if overlaps(c, &readers) {
                return true;
            }
            out(Step::Move { to: c.to, from: c.from, units: c.units });
            for h in c.from..c.from + c.units {
                readers[usize::from(h)] -= 1;
            }
            progress = true;
            false
        });
        if rest.is_empty() {
            return Ok(());
        }
        if progress {
            continue;
        }
        if overlap_in_part::<T>(&rest) {
            // Copies that overlap in part block each other: all as units.
            rest = single_units(&rest);
            continue;
        }
        // Only cycles are left.
        let Some(c) = rest.pop() else { return Ok(()) };
        let free = match T::SWAPS && !T::SWAPS_BY_SEVERAL {
            true => None,
            false => free_place::<T>(&spare(), c),
        };
        if T::SWAPS && free.is_none() {
            out(Step::Swap { a: c.to, b: c.from, units: c.units });
            for other in &mut rest {
                if other.from == c.to {
                    other.from = c.from;
                } else if other.from == c.from {
                    other.from = c.to;
                }
            }
            rest.retain(|c| c.to != c.from);
        } else if let Some(free) = free {
            // What is overwritten moves away, and its reader reads it there.
            out(Step::Move { to: free, from: c.to, units: c.units });
            for other in &mut rest {
                if other.from == c.to {
                    other.from = free;
                }
            }
            rest.push(c);
        } else if c.units > 1 {
            rest.push(c);
            rest = single_units(&rest);
        } else {
            return Err(NoSpare);
        }
        readers.fill(0);
        for c in &rest {
            for h in c.from..c.from + c.units {
                readers[usize::from(h)] += 1;
            }
        }
    }
}

fn single_units(copies: &[Copy]) -> Vec<Copy> {
    let units = |c: &Copy| (0..c.units).map(|k| (c.to + k, c.from + k)).collect::<Vec<_>>();
    copies.iter().flat_map(units).map(|(to, from)| Copy { to, from, units: 1 }).collect()
}

/// A place among free units to and from which one instruction moves what `c` overwrites.
fn free_place<T: Target>(free: &RegSet, c: Copy) -> Option<u16> {
    let whole = |&reg: &u16| {
        (reg..reg + c.units).all(|h| free.contains(h))
            && T::move_units(reg, c.to, c.units) == c.units
            && T::move_units(c.to, reg, c.units) == c.units
    };
    (0..UNITS as u16 - c.units + 1).find(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::RegClass;
    use crate::target::{Effect, StackAccess, StackOffset};
    use proptest::prelude::*;

    /// Moves of up to four units between multiples of their number.
    #[derive(Clone, Copy, Debug)]
    struct Moves<const SWAPS: bool>;

    impl<const SWAPS: bool> Target for Moves<SWAPS> {
        type Inst = ();
        const MAX_SPILLED_UNITS: u8 = 4;
        const UNIT_BYTES: u32 = 4;
        const SLOT_ALIGN: u32 = 4;
        const STACK_IMMEDIATES: u32 = 64;
        const STACK_OFFSET: RegClass = RegClass::new(1);
        const SWAPS: bool = SWAPS;

        fn effect((): &()) -> Effect {
            Effect::Pure
        }
        fn is_load((): &()) -> bool {
            false
        }
        fn rematerialises((): &()) -> bool {
            false
        }
        fn stack_access(_: StackAccess, _: RegClass, _: StackOffset) {}
        fn stack_offset(_: u32) {}
        fn move_units(to: u16, from: u16, units: u16) -> u16 {
            [4, 2].into_iter().find(|n| units >= *n && (to | from).is_multiple_of(*n)).unwrap_or(1)
        }
        fn assign((): &mut (), _: impl FnMut(bool) -> u16) {}
    }

    fn run(steps: &[Step<()>]) -> Vec<u16> {
        let mut r: Vec<u16> = (0..256).collect();
        for s in steps {
            match *s {
                Step::Move { to, from, units } => {
                    for k in 0..units {
                        r[usize::from(to + k)] = r[usize::from(from + k)];
                    }
                }
                Step::Swap { a, b, units } => {
                    for k in 0..units {
                        r.swap(usize::from(a + k), usize::from(b + k));
                    }
                }
                _ => {}
            }
        }
        r
    }

    /// Disjoint copies of one, two, four and eight units within 96 units.
    fn copies(list: &[(u16, u16, u16)]) -> Vec<Copy> {
        let mut written = [false; 128];
        let mut copies = Vec::new();
        for &(to, from, size) in list {
            let units = [1, 2, 4, 8][usize::from(size)];
            let (to, from) = if units > 1 { (to * 2, from * 2) } else { (to, from) };
            let range = usize::from(to)..usize::from(to + units);
            if !written[range.clone()].iter().any(|w| *w) {
                written[range].fill(true);
                copies.push(Copy { to, from, units });
            }
        }
        copies
    }

    /// Every unit holds what the copies say, `free` units aside.
    fn check(copies: &[Copy], steps: &[Step<()>], free: &RegSet) {
        let got = run(steps);
        let mut want: Vec<u16> = (0..256).collect();
        for c in copies {
            for k in 0..c.units {
                want[usize::from(c.to + k)] = c.from + k;
            }
        }
        for h in (0..256).filter(|&h| !free.contains(h)) {
            assert_eq!(got[usize::from(h)], want[usize::from(h)], "unit {h} after {steps:?}");
        }
    }

    proptest! {
        #[test]
        fn copies_happen_at_once(list in proptest::collection::vec((0u16..12, 0u16..12, 0u16..4), 1..12)) {
            let copies = copies(&list);
            let mut steps = Vec::new();
            let done = sequence::<Moves<true>>(&copies, || RegSet::EMPTY, |s| steps.push(s));
            prop_assert_eq!(done, Ok(()));
            check(&copies, &steps, &RegSet::EMPTY);
        }

        #[test]
        fn copies_without_swaps_go_through_free_units(
            list in proptest::collection::vec((0u16..12, 0u16..12, 0u16..4), 1..12),
            spare in 1u16..9,
        ) {
            let copies = copies(&list);
            let free = RegSet::range(101..101 + spare);
            let mut steps = Vec::new();
            let done = sequence::<Moves<false>>(&copies, || free, |s| steps.push(s));
            prop_assert_eq!(done, Ok(()));
            let swaps = steps.iter().any(|s| matches!(s, Step::Swap { .. }));
            prop_assert!(!swaps);
            check(&copies, &steps, &free);
        }
    }

    #[test]
    fn a_circle_without_swap_and_free_unit_is_an_error() {
        let circle = [Copy { to: 0, from: 1, units: 1 }, Copy { to: 1, from: 0, units: 1 }];
        let done = sequence::<Moves<false>>(&circle, || RegSet::EMPTY, |_| {});
        assert_eq!(done, Err(NoSpare));
    }

    #[test]
    fn circles_of_different_sizes_stay_whole() {
        let circle = |a, b, units| [Copy { to: a, from: b, units }, Copy { to: b, from: a, units }];
        let copies = [circle(0, 4, 4), circle(9, 11, 1)].concat();
        let free = RegSet::range(100..104);
        let mut steps = Vec::new();
        let done = sequence::<Moves<false>>(&copies, || free, |s| steps.push(s));
        assert_eq!(done, Ok(()));
        check(&copies, &steps, &free);
        let moves = |n| {
            let of_size = |s: &&Step<()>| matches!(s, Step::Move { units, .. } if *units == n);
            steps.iter().filter(of_size).count()
        };
        assert_eq!((moves(4), moves(1)), (3, 3), "{steps:?}");
    }

    #[test]
    fn moves_are_as_large_as_the_target_has_them() {
        let copies = [Copy { to: 4, from: 16, units: 8 }, Copy { to: 20, from: 34, units: 4 }];
        let mut units = Vec::new();
        let done = sequence::<Moves<false>>(
            &copies,
            || RegSet::EMPTY,
            |s| {
                let Step::Move { units: n, .. } = s else { panic!("{s:?}") };
                units.push(n);
            },
        );
        assert_eq!((done, &units[..]), (Ok(()), &[4, 4, 2, 2][..]));
    }
}
