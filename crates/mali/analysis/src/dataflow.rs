//! Forward dataflow over the instructions or clauses of a program.

use std::collections::BTreeSet;

/// The state in which each of `count` instructions is entered, from that of the first one; none for those that are not reached.
/// `step` takes a state over an instruction, `next` lists the instructions after it, and `merge` joins another state into one and says
/// whether that changed it. `None` if there are more than `max_visits` visits.
pub fn entries<S: Copy, I: IntoIterator<Item = usize>>(
    [count, max_visits]: [usize; 2],
    start: S,
    step: impl Fn(usize, &mut S),
    next: impl Fn(usize) -> I,
    merge: impl Fn(&mut S, &S) -> bool,
) -> Option<Vec<Option<S>>> {
    let mut entries: Vec<Option<S>> = vec![None; count];
    let mut open = BTreeSet::new();
    if let Some(entry) = entries.first_mut() {
        *entry = Some(start);
        open.insert(0);
    }
    let mut visits = 0;
    while let Some(n) = open.pop_first() {
        visits += 1;
        if visits > max_visits {
            return None;
        }
        let Some(mut state) = entries[n] else { continue };
        step(n, &mut state);
        for to in next(n) {
            let changed = match &mut entries[to] {
                Some(entry) => merge(entry, &state),
                entry => {
                    *entry = Some(state);
                    true
                }
            };
            if changed {
                open.insert(to);
            }
        }
    }
    Some(entries)
}
