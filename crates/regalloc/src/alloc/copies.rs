//! Sequentialises parallel copies into moves and swaps.

use crate::code::Step;

/// A copy of `units` units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Copy {
    /// First unit written.
    pub to: u16,
    /// First unit read.
    pub from: u16,
    /// How many.
    pub units: u16,
}

/// Appends steps that do all copies at once. What several of them write to the same unit is the
/// same.
pub fn sequence<I>(copies: &[Copy], mut out: impl FnMut(Step<I>)) {
    if copies.iter().all(|c| c.to == c.from) {
        return;
    }
    let mut rest: Vec<Copy> = Vec::with_capacity(copies.len());
    let mut written = [false; 256];
    // A copy to its own register counts as done.
    for c in copies.iter().filter(|c| c.to == c.from) {
        written[usize::from(c.to)..usize::from(c.to + c.units)].fill(true);
    }
    for c in copies.iter().filter(|c| c.to != c.from) {
        // Whole registers where both sides are aligned, else units.
        let mut k = 0;
        while k < c.units {
            let (to, from) = (c.to + k, c.from + k);
            if written[usize::from(to)] {
                k += 1;
                continue;
            }
            let whole =
                k + 2 <= c.units && to % 2 == 0 && from % 2 == 0 && !written[usize::from(to) + 1];
            let n = if whole { 2 } else { 1 };
            written[usize::from(to)..usize::from(to + n)].fill(true);
            rest.push(Copy { to, from, units: n });
            k += n;
        }
    }
    // How many copies still read each unit.
    let mut readers = [0u16; 256];
    for c in &rest {
        for h in c.from..c.from + c.units {
            readers[usize::from(h)] += 1;
        }
    }
    let overlaps = |c: &Copy, readers: &[u16; 256]| {
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
            return;
        }
        if progress {
            continue;
        }
        if rest.iter().any(|c| c.units == 1) && rest.iter().any(|c| c.units == 2) {
            // Single units and pairs block each other: all as units.
            rest = rest
                .iter()
                .flat_map(|c| {
                    (0..c.units).map(|k| Copy { to: c.to + k, from: c.from + k, units: 1 })
                })
                .collect();
            continue;
        }
        // Only cycles are left.
        let Some(c) = rest.pop() else { return };
        out(Step::Swap { a: c.to, b: c.from, units: c.units });
        for other in &mut rest {
            if other.from == c.to {
                other.from = c.from;
            } else if other.from == c.from {
                other.from = c.to;
            }
        }
        rest.retain(|c| c.to != c.from);
        readers.fill(0);
        for c in &rest {
            for h in c.from..c.from + c.units {
                readers[usize::from(h)] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn copies_happen_at_once(pairs in proptest::collection::vec((0u16..12, 0u16..12, 0u16..3), 1..12)) {
            let mut written = [false; 40];
            let mut copies = Vec::new();
            for (to, from, size) in pairs {
                let units = [1, 2, 4][usize::from(size)];
                let (to, from) = if units > 1 { (to * 2, from * 2) } else { (to, from) };
                let range = usize::from(to)..usize::from(to + units);
                if written[range.clone()].iter().any(|w| *w) {
                    continue;
                }
                written[range].fill(true);
                copies.push(Copy { to, from, units });
            }
            let mut steps = Vec::new();
            sequence(&copies, |s| steps.push(s));
            let got = run(&steps);
            for c in &copies {
                for k in 0..c.units {
                    prop_assert_eq!(got[usize::from(c.to + k)], c.from + k);
                }
            }
            for (h, w) in written.iter().enumerate() {
                if !w {
                    prop_assert_eq!(got[h], h as u16);
                }
            }
        }
    }
}
