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
