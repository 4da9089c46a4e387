//! Races of concurrent work, compared with all orders in which it may run.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use tepui_order::Access;
use tepui_order::concurrent::Concurrency;

const WORDS: u64 = 3;

/// A step of a random sequence.
#[derive(Clone, Debug)]
enum Step {
    /// An item that waits for some events, and its accesses of words.
    Item(Vec<usize>, Vec<(Access, u64)>),
    /// An event that waits for some items, and implies some events.
    Event(Vec<usize>, Vec<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    let access = prop_oneof![Just(Access::Read), Just(Access::Write), Just(Access::Atomic)];
    let some = || prop::collection::vec(0..6usize, 0..3);
    let accesses = prop::collection::vec((access, 0..WORDS), 0..3);
    prop_oneof![
        (some(), accesses).prop_map(|(waits, accesses)| Step::Item(waits, accesses)),
        (some(), some()).prop_map(|(items, implied)| Step::Event(items, implied)),
    ]
}

/// Random numbers as numbers of items or events of which there are some.
fn below(list: &[usize], count: usize) -> Vec<usize> {
    list.iter().filter_map(|n| n.checked_rem(count)).collect()
}

/// The items that an event waits for, from what it names and implies.
fn waited(events: &[(Vec<usize>, Vec<usize>)], event: usize) -> BTreeSet<usize> {
    let (items, implied) = &events[event];
    let mut all: BTreeSet<usize> = items.iter().copied().collect();
    implied.iter().for_each(|&event| all.extend(waited(events, event)));
    all
}

/// The events that an item waits for, and its accesses of words.
type Work = (Vec<usize>, Vec<(Access, u64)>);

/// A sequence: what each item accesses and which events it waits for, and the events.
#[derive(Default)]
struct Sequence {
    items: Vec<Work>,
    events: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Sequence {
    /// The sequence of some steps.
    fn new(steps: &[Step]) -> Sequence {
        let mut all = Sequence::default();
        for step in steps {
            let (items, events) = (all.items.len(), all.events.len());
            match step {
                Step::Item(waits, accesses) => {
                    all.items.push((below(waits, events), accesses.clone()));
                }
                Step::Event(named, implied) => {
                    all.events.push((below(named, items), below(implied, events)));
                }
            }
        }
        all
    }

    /// The items that each item waits for itself.
    fn waits(&self) -> Vec<BTreeSet<usize>> {
        let of = |(waits, _): &Work| {
            waits.iter().flat_map(|&event| waited(&self.events, event)).collect()
        };
        self.items.iter().map(of).collect()
    }

    /// The pairs of items that access a word, one of them to change it, and that run in either order.
    fn races(&self) -> BTreeSet<(usize, usize)> {
        let waits = self.waits();
        let mut seen: HashMap<(usize, usize), BTreeSet<bool>> = HashMap::new();
        let mut order = Vec::new();
        permute(&waits, &mut order, &mut |order| {
            let place = |item| order.iter().position(|&other| other == item);
            for later in 0..waits.len() {
                for earlier in 0..later {
                    let found = place(earlier) < place(later);
                    seen.entry((earlier, later)).or_default().insert(found);
                }
            }
        });
        let conflict = |&(a, b): &(usize, usize)| {
            let pairs =
                self.items[a].1.iter().flat_map(|x| self.items[b].1.iter().map(move |y| (x, y)));
            let mut pairs = pairs.filter(|((_, x), (_, y))| x == y);
            pairs.any(|((x, _), (y, _))| {
                (*x, *y) != (Access::Atomic, Access::Atomic)
                    && (*x != Access::Read || *y != Access::Read)
            })
        };
        let both = seen.into_iter().filter(|(_, orders)| orders.len() == 2);
        both.map(|(pair, _)| pair).filter(conflict).collect()
    }
}

/// Calls a function with each order that keeps items after those that they wait for.
fn permute(waits: &[BTreeSet<usize>], order: &mut Vec<usize>, with: &mut dyn FnMut(&[usize])) {
    if order.len() == waits.len() {
        with(order);
    }
    for item in 0..waits.len() {
        if !order.contains(&item) && waits[item].iter().all(|other| order.contains(other)) {
            order.push(item);
            permute(waits, order, with);
            order.pop();
        }
    }
}

/// The sequence as the checker gets it.
fn concurrency(steps: &[Step]) -> Concurrency {
    let mut work = Concurrency::default();
    let mut events = 0;
    for step in steps {
        let items = work.count() as usize;
        let below = |list: &[usize], limit| -> Vec<u32> {
            below(list, limit).into_iter().map(|n| n as u32).collect()
        };
        match step {
            Step::Item(waits, accesses) => {
                work.begin(&below(waits, events));
                accesses.iter().for_each(|&(access, word)| work.access(access, 4 * word, 4));
            }
            Step::Event(named, implied) => {
                let named = below(named, items).into_iter().map(|item| item..item + 1);
                work.event(named, &below(implied, events));
                events += 1;
            }
        }
    }
    work
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 2000 }))]

    /// Two items race exactly if they may run in either order.
    #[test]
    fn races_are_those_of_all_orders(steps in prop::collection::vec(step(), 1..8)) {
        let races = concurrency(&steps).races();
        let pairs: BTreeSet<_> =
            races.iter().map(|race| (race.earlier.0 as usize, race.later.0 as usize)).collect();
        prop_assert_eq!(pairs, Sequence::new(&steps).races());
    }
}

#[test]
fn a_race_names_both_accesses() {
    let mut work = Concurrency::default();
    let first = work.begin(&[]);
    work.access(Access::Write, 0x1010, 0x100);
    let second = work.begin(&[]);
    work.access(Access::Read, 0x1081, 1);
    // Bytes of one word that only one of them accesses.
    work.access(Access::Write, 0x100c, 4);
    work.access(Access::Write, 0x1110, 1);
    let [race] = work.races()[..] else { panic!("{:?}", work.races()) };
    assert_eq!((race.earlier, race.later), ((first, Access::Write), (second, Access::Read)));
    assert_eq!(race.address, 0x1081);
    // The first one goes on; what it reads at once is no race.
    work.choose(first);
    work.access(Access::Read, 0x2000, 4);
    work.choose(second);
    work.access(Access::Read, 0x2000, 4);
    assert_eq!(work.races().len(), 1);
    work.clear();
    assert!(work.races().is_empty() && work.count() == 0);
}

/// A write of the value that is there matters only if another item changes it later: in the other order it would not stay.
#[test]
fn silent_writes_race_with_later_changes() {
    type Step = fn(&mut Concurrency);
    let silent: Step = |work| work.silent_write(0x1000, 4);
    let write: Step = |work| work.access(Access::Write, 0x1000, 4);
    let add: Step = |work| work.access(Access::Atomic, 0x1000, 4);
    let read: Step = |work| work.access(Access::Read, 0x1000, 4);
    let races = |first: Step, second: Step| {
        let mut work = Concurrency::default();
        for step in [first, second] {
            work.begin(&[]);
            step(&mut work);
        }
        work.races().len()
    };
    assert_eq!([races(silent, write), races(silent, add)], [1, 1]);
    let ordered = [(write, silent), (silent, silent), (silent, read), (read, silent)];
    assert_eq!(ordered.map(|(first, second)| races(first, second)), [0; 4]);
}

#[test]
fn sequences_that_are_too_long_say_so() {
    let mut work = Concurrency::default();
    (0..5000).for_each(|_| {
        work.begin(&[]);
        work.access(Access::Write, 0, 4);
    });
    assert!(work.is_truncated() && !work.races().is_empty());
}

/// Work after the last item that there is room for is nobody's.
#[test]
fn what_is_left_out_belongs_to_no_item() {
    let mut work = Concurrency::default();
    (0..5000).for_each(|_| {
        work.begin(&[]);
    });
    let last = work.count() - 1;
    for item in [0, last] {
        work.choose(item);
        work.access(Access::Write, 0, 4);
    }
    assert!(work.races().is_empty());
}

/// An event that implies others waits for the items of each.
#[test]
fn an_event_waits_for_what_it_implies() {
    let mut work = Concurrency::default();
    let items: Vec<u32> = (0..3).map(|_| work.begin(&[])).collect();
    let events = [0, 2].map(|n| work.event(std::iter::once(items[n]..items[n] + 1), &[]));
    let join = work.event([], &events);
    let last = work.begin(&[join]);
    work.access(Access::Write, 0x1000, 4);
    work.choose(items[2]);
    work.access(Access::Read, 0x1020, 4);
    let order = work.order();
    assert_eq!([0, 1, 2].map(|n| order.has(items[n], last)), [true, false, true]);
    assert!(!order.has(last, items[0]) && !order.has(items[0], 99));
    let mut users: Vec<u32> = work.users(0x103f).collect();
    users.sort_unstable();
    assert_eq!(users, [items[2], last]);
    assert_eq!(work.users(0x1040).count(), 0);
}
