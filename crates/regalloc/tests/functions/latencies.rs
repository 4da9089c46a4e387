//! Scheduling for latency.

use super::machine::{Func, Inst, Picky, WORD, block, show, value};
use tepui_regalloc::{latency, liveness};

/// Four inputs, each of which is used at once.
fn chain() -> Func {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let mut sum = value(&mut f, b, Inst::Const(0), WORD, &[]);
    for k in 0..4 {
        let x = value(&mut f, b, Inst::Input(k), WORD, &[]);
        sum = value(&mut f, b, Inst::Mix(k), WORD, &[sum, x]);
    }
    show(&mut f, b, &[sum]);
    f
}

fn order(f: &Func) -> String {
    let insts = f.blocks.values().flat_map(|b| &b.insts);
    let name = |i: &Inst| match i {
        Inst::Input(_) => 'i',
        Inst::Mix(_) => 'm',
        Inst::Const(_) => 'c',
        _ => '.',
    };
    insts.filter_map(|&i| f.insts[i].op.inst().map(name)).collect()
}

#[test]
fn loads_go_before_their_uses() {
    let mut f = chain();
    let live = liveness::Liveness::new(&f).expect("liveness");
    assert_eq!(order(&f), "cimimimim.");
    assert!(latency::run::<Picky>(&mut f, &live, 64));
    assert_eq!(order(&f), "iciiimmmm.");
}

#[test]
fn the_limit_of_registers_holds_loads_back() {
    let mut f = chain();
    let live = liveness::Liveness::new(&f).expect("liveness");
    latency::run::<Picky>(&mut f, &live, 6);
    let (peak, _) = liveness::pressure::<Picky>(&f, &live);
    assert!(peak <= 6, "{peak}: {}", order(&f));
    assert_ne!(order(&f), "cimimimim.");
}

/// Sums of products of two loads each, by addresses that stay alive; the second address of each is made on the spot.
fn products(pairs: u32) -> Func {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let bases: Vec<_> =
        (0..2 * pairs).map(|k| value(&mut f, b, Inst::Const(k), WORD, &[])).collect();
    let mut sum = value(&mut f, b, Inst::Const(0), WORD, &[]);
    for pair in bases.chunks(2) {
        let first = value(&mut f, b, Inst::Input(0), WORD, &[pair[0]]);
        let address = value(&mut f, b, Inst::Mix(1), WORD, &[pair[1]]);
        let second = value(&mut f, b, Inst::Input(1), WORD, &[address]);
        let product = value(&mut f, b, Inst::Mix(2), WORD, &[first, second]);
        sum = value(&mut f, b, Inst::Mix(3), WORD, &[sum, product]);
    }
    show(&mut f, b, &bases);
    show(&mut f, b, &[sum]);
    f
}

/// At the limit everything that is ready may need more registers. What completes a product comes before what begins others.
#[test]
fn loads_overlap_next_to_the_limit() {
    for (pairs, spare) in [(6, 3), (8, 5), (12, 9)] {
        let mut f = products(pairs);
        let live = liveness::Liveness::new(&f).expect("liveness");
        let limit = (2 * pairs + 1 + spare) * u32::from(WORD.units);
        assert!(latency::run::<Picky>(&mut f, &live, limit), "{pairs}: {}", order(&f));
        let (peak, _) = liveness::pressure::<Picky>(&f, &live);
        assert!(peak <= limit, "{peak} of {limit}: {}", order(&f));
        assert!(order(&f).contains("ii"), "{pairs}: {}", order(&f));
    }
}
