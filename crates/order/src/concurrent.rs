//! Work of a GPU that runs at the same time unless an event orders it, such as launches between barriers, commands of
//! several queues, and jobs with dependencies.
//!
//! A model says which events each item of work waits for, and what each item accesses. Two items race if
//! one writes bytes that the other accesses, and neither waits for the other, directly or through others
//! ([`Concurrency::races`]). Memory is taken for coherent: the [tracker](crate::tracker) has caches, but a
//! single sequence of commands.
//!
//! ```
//! use tepui_order::concurrent::Concurrency;
//! use tepui_order::Access;
//!
//! let mut work = Concurrency::default();
//! let first = work.begin(&[]);
//! work.access(Access::Write, 0x1000, 4);
//! let barrier = work.event([first..first + 1], &[]);
//! work.begin(&[barrier]);
//! work.access(Access::Read, 0x1000, 4);
//! assert!(work.races().is_empty());
//! assert!(work.order().has(first, 1));
//! ```

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::shadow::LINE_BYTES;
use crate::tracker::Access;

/// Number of an item of work, in the order in which items begin.
pub type Item = u32;

/// Number of an event.
pub type EventId = u32;

/// Limit on the items: sets of them have a bit for each.
const MAX_ITEMS: usize = 1 << 12;

/// Limit on the lines of memory that items have accessed, each item's counted.
const MAX_TOUCHES: usize = 1 << 21;

/// Bytes of a line: bit N is byte N.
type ByteMask = u64;

/// Accesses of a line by an item.
#[derive(Clone, Copy, Debug)]
struct Touch {
    item: Item,
    reads: ByteMask,
    writes: ByteMask,
    atomics: ByteMask,
    /// Bytes of which a write left the value as it was.
    silent: ByteMask,
}

impl Touch {
    fn changes(&self) -> ByteMask {
        self.writes | self.atomics
    }

    /// The bytes at which the order of an item's accesses and of those of one that has run later matters. Atomics need no order
    /// among each other. A silent write matters if the value is changed after it: the other way round it would stay.
    fn conflicts(&self, later: &Touch) -> ByteMask {
        self.writes & (later.reads | later.changes())
            | (self.reads | self.silent) & later.changes()
            | self.atomics & (later.reads | later.writes)
    }

    /// The access of a byte, the one that changes it if there are several.
    fn access(&self, byte: ByteMask) -> Access {
        match ((self.writes | self.silent) & byte, self.atomics & byte) {
            (1.., _) => Access::Write,
            (_, 1..) => Access::Atomic,
            _ => Access::Read,
        }
    }
}

/// Event that makes work wait for other work.
#[derive(Clone, Debug)]
struct WaitEvent {
    /// The items that it waits for.
    items: Vec<Range<Item>>,
    /// Events that it implies: it waits for what they wait for.
    implies: Vec<EventId>,
}

/// Two items that access the same bytes, one of them to change them, and that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The item that began first, and its access.
    pub earlier: (Item, Access),
    /// The other one.
    pub later: (Item, Access),
    /// The lowest address that both access.
    pub address: u64,
}

/// Set of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ItemSet(Vec<u64>);

impl ItemSet {
    fn insert(&mut self, item: Item) {
        let word = item as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (item % 64);
    }

    fn add(&mut self, other: &ItemSet) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn contains(&self, item: Item) -> bool {
        self.0.get(item as usize / 64).is_some_and(|word| word >> (item % 64) & 1 != 0)
    }
}

/// Waits between items, direct or through others.
#[derive(Clone, Debug, Default)]
pub struct Order(Vec<ItemSet>);

impl Order {
    /// Whether an item waits for another one.
    #[must_use]
    pub fn has(&self, earlier: Item, later: Item) -> bool {
        self.0.get(later as usize).is_some_and(|before| before.contains(earlier))
    }
}

/// Items of work, the events that order them, and what they access.
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    /// The events that each item waits for.
    items: Vec<Vec<EventId>>,
    events: Vec<WaitEvent>,
    lines: FxHashMap<u64, Vec<Touch>>,
    touches: usize,
    current: Item,
    truncated: bool,
}

impl Concurrency {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.items.clear();
        self.events.clear();
        self.lines.clear();
        (self.touches, self.current, self.truncated) = (0, 0, false);
    }

    /// Number of items so far, which is the number of the next one.
    #[must_use]
    pub fn count(&self) -> Item {
        self.items.len() as Item
    }

    /// Whether items or accesses are missing because there were too many.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Adds an event, which waits for items that have begun and for what other events wait for.
    pub fn event(
        &mut self,
        items: impl IntoIterator<Item = Range<Item>>,
        implies: &[EventId],
    ) -> EventId {
        let items = items.into_iter().collect();
        self.events.push(WaitEvent { items, implies: implies.to_vec() });
        self.events.len() as EventId - 1
    }

    /// Begins an item that waits for events. Accesses are its own until another one begins or is [chosen](Self::choose).
    pub fn begin(&mut self, waits: &[EventId]) -> Item {
        let item = self.count();
        match self.items.len() < MAX_ITEMS {
            true => self.items.push(waits.to_vec()),
            false => self.truncated = true,
        }
        self.current = item;
        item
    }

    /// Makes the following accesses those of an item that has begun.
    pub fn choose(&mut self, item: Item) {
        self.current = item;
    }

    /// Adds an access by the current item.
    pub fn access(&mut self, access: Access, address: u64, bytes: u64) {
        match access {
            Access::Read => self.touch_all(address, bytes, |touch| &mut touch.reads),
            Access::Write => self.touch_all(address, bytes, |touch| &mut touch.writes),
            Access::Atomic => self.touch_all(address, bytes, |touch| &mut touch.atomics),
        }
    }

    /// Adds a write by the current item that leaves memory as it is. Several items may write the same value in any order.
    pub fn silent_write(&mut self, address: u64, bytes: u64) {
        self.touch_all(address, bytes, |touch| &mut touch.silent);
    }

    fn touch_all(&mut self, address: u64, bytes: u64, of: fn(&mut Touch) -> &mut ByteMask) {
        // What has no item of its own must not become that of the last one.
        if self.truncated || self.current >= self.count() {
            return;
        }
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let line = at / LINE_BYTES;
            let line_end = (line + 1).saturating_mul(LINE_BYTES).min(end);
            let (first, last) = (at % LINE_BYTES, (line_end - 1) % LINE_BYTES);
            self.touch(line, ByteMask::MAX << first & ByteMask::MAX >> (63 - last), of);
            at = line_end;
        }
    }

    fn touch(&mut self, line: u64, bytes: ByteMask, of: fn(&mut Touch) -> &mut ByteMask) {
        let item = self.current;
        let touches = self.lines.entry(line).or_default();
        let touch = match touches.iter().rposition(|touch| touch.item == item) {
            Some(index) => &mut touches[index],
            None if self.touches >= MAX_TOUCHES => {
                self.truncated = true;
                return;
            }
            None => {
                self.touches += 1;
                touches.push(Touch { item, reads: 0, writes: 0, atomics: 0, silent: 0 });
                let last = touches.len() - 1;
                &mut touches[last]
            }
        };
        *of(touch) |= bytes;
    }

    /// The pairs of items whose accesses nothing orders, one of each, in order.
    #[must_use]
    pub fn races(&self) -> Vec<Race> {
        let before = self.before();
        let mut all: Vec<Race> = self.conflicts().into_values().collect();
        all.retain(|race| !is_ordered(&before, race));
        all.sort_by_key(|race| (race.later.0, race.earlier.0));
        all
    }

    /// Waits between items.
    #[must_use]
    pub fn order(&self) -> Order {
        Order(self.before())
    }

    /// The items that have accessed the line of memory that contains an address, in no order.
    pub fn users(&self, address: u64) -> impl Iterator<Item = Item> {
        let touches = self.lines.get(&(address / LINE_BYTES)).into_iter().flatten();
        touches.map(|touch| touch.item)
    }

    /// The items that each item waits for, directly or through others.
    fn before(&self) -> Vec<ItemSet> {
        let mut before: Vec<ItemSet> = Vec::with_capacity(self.items.len());
        let mut of_events: Vec<Option<ItemSet>> = vec![None; self.events.len()];
        for waits in &self.items {
            let mut set = ItemSet::default();
            for &event in waits {
                self.close(event, &before, &mut of_events);
                of_events[event as usize].iter().for_each(|more| set.add(more));
            }
            before.push(set);
        }
        before
    }

    /// Computes what an event waits for. Items that an event names have begun before it, and events that it implies
    /// are earlier ones, so that nothing waits for itself.
    fn close(&self, event: EventId, before: &[ItemSet], of_events: &mut [Option<ItemSet>]) {
        let mut missing = vec![event];
        while let Some(&next) = missing.last() {
            let WaitEvent { items, implies } = &self.events[next as usize];
            let open = implies.iter().filter(|&&e| e < next && of_events[e as usize].is_none());
            let open: Vec<EventId> = open.copied().collect();
            if of_events[next as usize].is_some() || open.is_empty() {
                missing.pop();
                if of_events[next as usize].is_none() {
                    let mut set = ItemSet::default();
                    for &event in implies {
                        of_events[event as usize].iter().for_each(|more| set.add(more));
                    }
                    for item in items.iter().cloned().flatten() {
                        let Some(more) = before.get(item as usize) else { continue };
                        set.insert(item);
                        set.add(more);
                    }
                    of_events[next as usize] = Some(set);
                }
            } else {
                missing.extend(open);
            }
        }
    }

    /// The pairs of items with conflicting accesses, ordered or not.
    fn conflicts(&self) -> FxHashMap<(Item, Item), Race> {
        let mut all: FxHashMap<(Item, Item), Race> = FxHashMap::default();
        for (&line, touches) in &self.lines {
            if touches.iter().all(|touch| touch.changes() == 0) {
                continue;
            }
            let mut sorted: Vec<&Touch> = touches.iter().collect();
            sorted.sort_unstable_by_key(|touch| touch.item);
            let mut changing: Vec<&Touch> = Vec::new();
            for (index, later) in sorted.iter().enumerate() {
                let earlier = if later.changes() == 0 { &changing[..] } else { &sorted[..index] };
                for earlier in earlier {
                    let both = earlier.conflicts(later);
                    if both == 0 {
                        continue;
                    }
                    let byte = both & both.wrapping_neg();
                    let address = line * LINE_BYTES + u64::from(both.trailing_zeros());
                    let race = Race {
                        earlier: (earlier.item, earlier.access(byte)),
                        later: (later.item, later.access(byte)),
                        address,
                    };
                    all.entry((earlier.item, later.item))
                        .and_modify(|known| {
                            if race.address < known.address {
                                *known = race;
                            }
                        })
                        .or_insert(race);
                }
                if later.changes() != 0 {
                    changing.push(later);
                }
            }
        }
        all
    }
}

fn is_ordered(before: &[ItemSet], race: &Race) -> bool {
    before[race.later.0 as usize].contains(race.earlier.0)
}
