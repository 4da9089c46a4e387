//! Registers that save copies.

use super::machine::{Func, Inst, Machine, QUAD, WORD, block, push, show, value};
use super::{CHECKED, counted_loop, inputs, many_phis};
use tepui_regalloc::{Code, Op, Step, Val, alloc, liveness};

/// Registers for a function, checked.
fn registers(f: &Func) -> Code<Inst> {
    let live = liveness::Liveness::new(f).expect("liveness");
    alloc::run::<Machine>(f, &live, &(0..64).into(), CHECKED).expect("registers")
}

fn copies(code: &Code<Inst>) -> usize {
    let steps = code.blocks.iter().flat_map(|b| &b.steps);
    steps.filter(|s| matches!(s.0, Step::Move { .. } | Step::Swap { .. })).count()
}

#[test]
fn phis_are_where_their_sources_are() {
    let mut f = Func::default();
    many_phis(&mut f, 5);
    assert_eq!(copies(&registers(&f)), 0);
}

/// Phis in another order than that in which registers are free.
#[test]
fn phis_are_where_their_sources_are_in_any_order() {
    let mut f = Func::default();
    let join = many_phis(&mut f, 5);
    f.blocks[join].insts[..5].reverse();
    assert_eq!(copies(&registers(&f)), 0);
}

/// A value that only one side of a selection defines, read after the join: it has no register there,
/// and the encoder refuses the instruction that reads it.
#[test]
fn what_a_path_does_not_define_has_no_register() {
    let mut f = Func::default();
    let join = many_phis(&mut f, 2);
    let other = f.blocks[join].preds[1];
    let some = value(&mut f, other, Inst::Input(7), WORD, &[]);
    show(&mut f, join, &[some]);
    let live = liveness::Liveness::new(&f).expect("liveness");
    let unchecked = alloc::Extras { check: false, defs: false };
    let code = alloc::run::<Machine>(&f, &live, &(0..64).into(), unchecked).expect("registers");
    assert_eq!(copies(&code), 0);
}

#[test]
fn a_loop_counts_in_one_register() {
    let mut f = Func::default();
    let entry = block(&mut f, 0);
    let used = inputs(&mut f, entry, 0, 3);
    let (_, out) = counted_loop(&mut f, &used, entry);
    show(&mut f, out, &used);
    let code = registers(&f);
    assert_eq!((copies(&code), code.units), (0, 8));
}

#[test]
fn vectors_are_collected_in_place() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let parts = inputs(&mut f, b, 0, 4);
    let vector = f.val(QUAD);
    push(&mut f, b, Op::Collect, &[vector], &parts);
    show(&mut f, b, &[vector]);
    // The parts live on in the vector.
    show(&mut f, b, &parts);
    show(&mut f, b, &[vector]);
    let code = registers(&f);
    assert_eq!((copies(&code), code.units), (0, 8));
}

#[test]
fn undefined_parts_are_not_copied() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let parts = inputs(&mut f, b, 0, 2);
    let undefined = f.val(WORD);
    push(&mut f, b, Op::Undef, &[undefined], &[]);
    // One undefined value stands in both vectors, and at two places of each.
    let vectors = [f.val(QUAD), f.val(QUAD)];
    for (&vector, &part) in vectors.iter().zip(&parts) {
        push(&mut f, b, Op::Collect, &[vector], &[part, undefined, undefined, part]);
    }
    show(&mut f, b, &vectors);
    // Two copies of the part for each vector; with the undefined ones there would be eight.
    assert_eq!(copies(&registers(&f)), 4);
}

#[test]
fn parts_stay_in_their_vector() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vector = value(&mut f, b, Inst::Input(0), QUAD, &[]);
    let parts: Vec<Val> = (0..4).map(|_| f.val(WORD)).collect();
    push(&mut f, b, Op::Split, &parts, &[vector]);
    show(&mut f, b, &parts);
    show(&mut f, b, &[vector]);
    show(&mut f, b, &parts);
    let code = registers(&f);
    assert_eq!((copies(&code), code.units), (0, 8));
}

#[test]
fn a_copy_of_what_dies_stays() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vals = inputs(&mut f, b, 0, 3);
    let copy = f.val(WORD);
    push(&mut f, b, Op::Copy, &[copy], &[vals[2]]);
    show(&mut f, b, &[vals[0], vals[1], copy]);
    let code = registers(&f);
    assert_eq!((copies(&code), code.units), (0, 6));
}
