//! Commands that were begun and are not performed yet.

use super::Choices;
use crate::table::UnitSet;

/// Work that is performed later, and its place in the order.
#[derive(Clone, Debug)]
pub struct Item<W> {
    /// The work.
    pub work: W,
    /// The units that it accesses memory with: a wait for one of them waits for the item.
    pub units: UnitSet,
    /// Items of the same class are performed in order.
    pub class: Option<u8>,
    /// Whether it is performed only after all earlier items.
    pub last: bool,
    /// Address that it writes, for those that poll it.
    pub writes: Option<u64>,
}

/// The items that a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All of them.
    Empty,
    /// Items of units.
    Units(UnitSet),
    /// The last one that writes to an address.
    Written(u64),
}

/// Items that were begun, in order.
#[derive(Clone, Debug)]
pub struct Schedule<W> {
    pending: Vec<Item<W>>,
    choices: Choices,
}

/// Limit on the items that are held back.
const MAX_PENDING: usize = 64;

impl<W> Schedule<W> {
    /// A schedule with nothing to do.
    #[must_use]
    pub fn new(choices: Choices) -> Schedule<W> {
        Schedule { pending: Vec::new(), choices }
    }

    /// Adds an item after all others.
    pub fn begin(&mut self, item: Item<W>) {
        self.pending.push(item);
    }

    /// Removes an item that is performed before a wait is over; none if it is.
    pub fn next(&mut self, until: Until) -> Option<W> {
        let needed = |item: &Item<W>| match until {
            Until::Empty => true,
            Until::Units(units) => item.units & units != 0,
            Until::Written(address) => item.writes == Some(address),
        };
        let end = self.pending.iter().rposition(needed)? + 1;
        self.take(end)
    }

    /// Removes an item that is performed now although nothing waits for it; none most of the time.
    pub fn spontaneous(&mut self) -> Option<W> {
        if self.pending.len() > MAX_PENDING || self.choices.one_in(4) {
            return self.take(self.pending.len());
        }
        None
    }

    /// Removes one of the first items at random.
    fn take(&mut self, end: usize) -> Option<W> {
        let ready: Vec<usize> = (0..end).filter(|&index| self.is_ready(index)).collect();
        let chosen = *ready.get(self.choices.below(ready.len()))?;
        Some(self.pending.remove(chosen).work)
    }

    fn is_ready(&self, index: usize) -> bool {
        let (earlier, item) = (&self.pending[..index], &self.pending[index]);
        if item.last {
            return earlier.is_empty();
        }
        item.class.is_none() || earlier.iter().all(|other| other.class != item.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(work: u32, class: Option<u8>, last: bool) -> Item<u32> {
        Item { work, units: 1 << work, class, last, writes: Some(work.into()) }
    }

    /// The orders in which a schedule performs items, over many seeds.
    fn orders(items: &[Item<u32>], until: Until) -> std::collections::BTreeSet<Vec<u32>> {
        let order = |seed| {
            let mut schedule = Schedule::new(Choices::new(seed));
            items.iter().for_each(|item| schedule.begin(item.clone()));
            std::iter::from_fn(|| schedule.next(until)).collect()
        };
        (0..100).map(order).collect()
    }

    #[test]
    fn items_are_performed_in_each_allowed_order() {
        let free = [item(0, None, false), item(1, None, false), item(2, None, false)];
        assert_eq!(orders(&free, Until::Empty).len(), 6);
        let in_order = [item(0, Some(1), false), item(1, None, false), item(2, Some(1), false)];
        let all = orders(&in_order, Until::Empty);
        assert_eq!(all.len(), 3);
        assert!(
            all.iter().all(
                |order| order.iter().position(|&i| i == 0) < order.iter().position(|&i| i == 2)
            )
        );
        let flushed = [item(0, None, false), item(1, None, true), item(2, None, false)];
        let expected = [[0, 1, 2], [0, 2, 1], [2, 0, 1]];
        assert_eq!(orders(&flushed, Until::Empty), expected.map(Vec::from).into());
    }

    #[test]
    fn a_wait_leaves_what_comes_after_its_last_item() {
        let items = [item(0, None, false), item(1, None, false), item(2, None, false)];
        let expected = [vec![0, 1], vec![1]];
        for until in [Until::Units(0b010), Until::Written(1)] {
            assert_eq!(orders(&items, until), expected.clone().into());
        }
        assert_eq!(orders(&items, Until::Written(9)), [vec![]].into());
    }
}
