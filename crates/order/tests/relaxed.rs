//! Relaxed execution against the tracker: a sequence without a hazard gives one result for all seeds, one with a hazard
//! gives different results.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use tepui_order::{Access, Cache, Event, Level, Table, Trace, Unit};

const fn unit(name: &'static str, cache: Option<u8>) -> Unit {
    Unit { name, cache, in_order: false, posted: false, last: false }
}

const UNITS: &[Unit] = &[
    Unit { in_order: true, ..unit("target", Some(0)) },
    unit("port", Some(1)),
    unit("sampler", Some(2)),
    unit("streamer", None),
    Unit { posted: true, last: true, ..unit("post-sync", None) },
];

macro_rules! caches {
    ($level:ident) => {
        &[
            Cache { name: "target", fills_from: Level::$level, flush_invalidates: true },
            Cache { name: "port", fills_from: Level::$level, flush_invalidates: true },
            Cache { name: "sampler", fills_from: Level::$level, flush_invalidates: false },
        ]
    };
}

static ONE_LEVEL: Table = Table { caches: caches!(Memory), units: UNITS };
static TWO_LEVELS: Table = Table { caches: caches!(Shared), units: UNITS };

/// Seeds of relaxed execution.
const SEEDS: u64 = 64;

#[derive(Clone, Debug)]
enum Step {
    Access(u8, Access, u64, u64),
    Event(Event),
}

/// An access to the first bytes of two lines.
fn access() -> impl Strategy<Value = Step> {
    (0..5u8, any::<bool>(), 0..3u64, 0..2u64, 1..3u64).prop_map(
        |(unit, write, granule, line, granules)| {
            // The sampler reads, post-sync writes write.
            let write = unit == 4 || unit != 2 && write;
            let access = if write { Access::Write } else { Access::Read };
            Step::Access(unit, access, 0x1000 + 0x40 * line + 4 * granule, 4 * granules)
        },
    )
}

fn event() -> impl Strategy<Value = Step> {
    let event = prop_oneof![
        3 => (1..4u32, any::<bool>()).prop_map(|(caches, memory)| {
            Event::Flush(caches, if memory { Level::Memory } else { Level::Shared })
        }),
        2 => Just(Event::Invalidate(0b100)),
        3 => Just(Event::Finish),
        1 => Just(Event::Wait(u32::MAX)),
        1 => Just(Event::Poll(0x1000)),
    ];
    event.prop_map(Step::Event)
}

/// A barrier of everything.
fn barrier(two_levels: bool) -> Vec<Step> {
    let mut all = vec![Event::Flush(0b011, Level::Memory), Event::Finish, Event::Invalidate(0b100)];
    if two_levels {
        all.insert(0, Event::Flush(0b011, Level::Shared));
    }
    all.into_iter().map(Step::Event).collect()
}

fn trace(steps: &[Step]) -> Trace {
    let mut trace = Trace::default();
    for step in steps {
        match *step {
            Step::Access(unit, access, address, bytes) => {
                trace.command();
                trace.access(unit, access, address, bytes);
            }
            Step::Event(event) => trace.event(event),
        }
    }
    trace
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Accesses with few events between.
    #[test]
    fn a_sequence_without_a_hazard_has_one_result(
        two_levels: bool,
        steps in prop::collection::vec(prop_oneof![access(), event()], 2..14),
    ) {
        let table = if two_levels { &TWO_LEVELS } else { &ONE_LEVEL };
        let trace = trace(&steps);
        if !trace.is_reported(table) {
            prop_assert!(!trace.differs(table, SEEDS));
        }
    }

    /// Accesses with a barrier after each never differ.
    #[test]
    fn barriers_order_everything(
        two_levels: bool,
        accesses in prop::collection::vec(access(), 1..8),
    ) {
        let table = if two_levels { &TWO_LEVELS } else { &ONE_LEVEL };
        let step = |step: Step| [vec![step], barrier(two_levels)].concat();
        let trace = trace(&accesses.into_iter().flat_map(step).collect::<Vec<_>>());
        prop_assert!(!trace.is_reported(table));
        prop_assert!(!trace.differs(table, SEEDS));
    }
}

/// Nine of ten sequences with a hazard give another result for one of the seeds.
#[test]
fn most_hazards_show() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let steps = prop::collection::vec(prop_oneof![access(), event()], 2..14);
    let (mut reported, mut shown) = (0, 0);
    for round in 0..600 {
        let table = if round % 2 == 0 { &TWO_LEVELS } else { &ONE_LEVEL };
        let trace = trace(&steps.new_tree(&mut runner).expect("a sequence").current());
        if trace.is_reported(table) {
            reported += 1;
            shown += u32::from(trace.differs(table, SEEDS));
        }
    }
    println!("{shown} of {reported}");
    assert!(reported > 200 && 10 * shown >= 9 * reported, "{shown} of {reported}");
}
