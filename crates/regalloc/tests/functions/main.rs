//! Spilling and register allocation on a small machine: stores, reloads, rematerialisation and copies,
//! and that functions still compute the same.

mod constraints;
mod latencies;
mod machine;
mod random;
mod registers;

use machine::{
    Func, HALF, Inst, Machine, QUAD, WIDE, WORD, block, count, ctl, execute, push, show, value,
};
use tepui_regalloc::alloc::Registers;
use tepui_regalloc::spill::{self, Spilled};
use tepui_regalloc::{Block, Ctl, Error, Op, Target, Val, alloc, liveness, phis};

/// The allocation is checked.
const CHECKED: alloc::Extras = alloc::Extras { check: true, defs: false };

/// Spills to `limit` units; the result needs no more, gets registers, and shows the same.
fn check(f: &mut Func, limit: u32, scratch: u32) -> Spilled {
    // As the compilers do: a few units more than values take at once.
    check_on::<Machine>(f, limit, scratch, &(0..limit as u16 + 1).into())
}

/// Checks allocation on any machine.
fn check_on<T: Target<Inst = Inst>>(
    f: &mut Func,
    limit: u32,
    scratch: u32,
    registers: &Registers,
) -> Spilled {
    let want = execute(f, 300);
    phis::run(f);
    let live = liveness::Liveness::new(f).expect("liveness");
    let (live, spilled) = spill::run::<T>(f, &live, limit, scratch).expect("it can be spilled");
    let (pressure, at) = liveness::pressure::<T>(f, &live);
    assert!(pressure <= limit, "{pressure} units in {at}, {limit} allowed");
    assert_eq!(execute(f, 300), want);
    alloc::run::<T>(f, &live, registers, CHECKED).expect("registers");
    spilled
}

fn is_load(i: &Inst) -> bool {
    matches!(i, Inst::Load(_))
}

fn is_store(i: &Inst) -> bool {
    matches!(i, Inst::Store(_))
}

fn inputs(f: &mut Func, b: Block, from: u32, n: u32) -> Vec<Val> {
    (from..from + n).map(|k| value(f, b, Inst::Input(k), WORD, &[])).collect()
}

#[test]
fn nothing_is_spilled_that_fits() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vals = inputs(&mut f, b, 0, 4);
    show(&mut f, b, &vals);
    assert_eq!(check(&mut f, 8, 0), Spilled::default());
}

#[test]
fn one_reload_serves_several_uses() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let far = value(&mut f, b, Inst::Input(100), WORD, &[]);
    let vals = inputs(&mut f, b, 0, 4);
    show(&mut f, b, &vals);
    for v in &vals {
        show(&mut f, b, &[*v]);
    }
    for _ in 0..5 {
        show(&mut f, b, &[far]);
    }
    assert_eq!(check(&mut f, 8, 0), Spilled { stores: 1, loads: 1, scratch_bytes: 4 });
}

/// A loop that reads the values of `used` and counts in a phi.
fn counted_loop(f: &mut Func, used: &[Val], entry: Block) -> (Block, Block) {
    let start = value(f, entry, Inst::Const(7), WORD, &[]);
    ctl(f, entry, Ctl::Loop, &[]);
    let (head, stay, leave, out) = (block(f, 1), block(f, 1), block(f, 1), block(f, 0));
    // Layout order: head, then, else, join.
    f.edge(entry, head);
    f.edge(head, stay);
    f.edge(head, leave);
    f.edge(leave, out);
    f.edge(stay, head);
    let (phi, next) = (f.val(WORD), f.val(WORD));
    push(f, head, Op::Phi, &[phi], &[start, next]);
    let mut all = used.to_vec();
    all.push(phi);
    show(f, head, &all);
    ctl(f, head, Ctl::If(Inst::Test), &[phi]);
    push(f, stay, Op::Isa(Inst::Mix(1)), &[next], &[phi]);
    ctl(f, stay, Ctl::EndLoop, &[]);
    ctl(f, leave, Ctl::Break, &[]);
    (head, out)
}

#[test]
fn loops_keep_what_they_read() {
    let mut f = Func::default();
    let entry = block(&mut f, 0);
    // A value that is only read after the loop and was just used: without loop analysis it would stay
    // in a register.
    let read = inputs(&mut f, entry, 0, 2);
    let through = value(&mut f, entry, Inst::Input(50), WORD, &[]);
    show(&mut f, entry, &[through]);
    let (head, out) = counted_loop(&mut f, &read, entry);
    show(&mut f, out, &[through]);
    show(&mut f, out, &read);
    let spilled = check(&mut f, 7, 0);
    assert_eq!(spilled, Spilled { stores: 1, loads: 1, scratch_bytes: 4 });
    assert_eq!((count(&f, entry, is_store), count(&f, out, is_load)), (1, 1));
    for b in f.blocks.keys().filter(|&b| b != entry && b != out) {
        assert_eq!(
            count(&f, b, |i| is_load(i) || is_store(i)),
            0,
            "{b}, the loop begins with {head}"
        );
    }
}

/// A selection whose join has `n` phis of values of both sides; all are read after it.
fn many_phis(f: &mut Func, n: u32) -> Block {
    let entry = block(f, 0);
    let cond = value(f, entry, Inst::Input(99), WORD, &[]);
    ctl(f, entry, Ctl::If(Inst::Test), &[cond]);
    let (then, other, join) = (block(f, 0), block(f, 0), block(f, 0));
    for (a, b) in [(entry, then), (entry, other), (then, join), (other, join)] {
        f.edge(a, b);
    }
    ctl(f, other, Ctl::Else, &[]);
    let (x, y) = (inputs(f, then, 0, n), inputs(f, other, 1000, n));
    let phis: Vec<Val> = x
        .iter()
        .zip(&y)
        .map(|(&x, &y)| {
            let v = f.val(WORD);
            push(f, join, Op::Phi, &[v], &[x, y]);
            v
        })
        .collect();
    ctl(f, join, Ctl::EndIf, &[]);
    for v in phis {
        show(f, join, &[v]);
    }
    join
}

#[test]
fn phis_that_do_not_fit_are_in_memory() {
    let mut f = Func::default();
    let join = many_phis(&mut f, 10);
    let spilled = check(&mut f, 8, 0);
    let phis = f.blocks[join].insts.iter().filter(|&&i| matches!(f.insts[i].op, Op::Phi)).count();
    assert!(phis <= 4, "{phis} phis in registers");
    // A source is stored once, in the slot of its phi: no copies on edges.
    assert_eq!(spilled.loads as usize, 10 - phis);
    assert_eq!(spilled.stores as usize, 2 * (10 - phis));
    assert_eq!(spilled.scratch_bytes as usize, 4 * (10 - phis));
}

/// Eight values that rotate by one place in each iteration of a loop that needs all registers for
/// others.
#[test]
fn phis_in_memory_move_on() {
    let mut f = Func::default();
    let entry = block(&mut f, 0);
    let vals = inputs(&mut f, entry, 0, 4);
    let starts = inputs(&mut f, entry, 10, 8);
    ctl(&mut f, entry, Ctl::Loop, &[]);
    let (head, stay, leave, out) =
        (block(&mut f, 1), block(&mut f, 1), block(&mut f, 1), block(&mut f, 0));
    for (a, b) in [(entry, head), (head, stay), (head, leave), (leave, out), (stay, head)] {
        f.edge(a, b);
    }
    let ring: Vec<Val> = (0..8).map(|_| f.val(WORD)).collect();
    for k in 0..8 {
        push(&mut f, head, Op::Phi, &[ring[k]], &[starts[k], ring[(k + 1) % 8]]);
    }
    show(&mut f, head, &vals);
    let test = vals.iter().find(|&&v| {
        let mut g = f.clone();
        ctl(&mut g, head, Ctl::If(Inst::Test), &[v]);
        execute(&g, 100).len() > 40
    });
    let test = *test.expect("an even one");
    ctl(&mut f, head, Ctl::If(Inst::Test), &[test]);
    for &x in &ring {
        show(&mut f, stay, &[x]);
    }
    show(&mut f, stay, &vals);
    ctl(&mut f, stay, Ctl::EndLoop, &[]);
    ctl(&mut f, leave, Ctl::Break, &[]);
    show(&mut f, out, &ring[..3]);
    check(&mut f, 10, 0);
    let of_ring = |v: &Val| ring.contains(v);
    let phis = f.blocks[head].insts.iter().filter(|&&i| f.dsts(i).iter().any(of_ring));
    assert!(phis.count() <= 5, "the others are in memory");
}

#[test]
fn constants_are_made_again() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let constants: Vec<Val> = (0..6).map(|k| value(&mut f, b, Inst::Const(k), WORD, &[])).collect();
    let vals = inputs(&mut f, b, 0, 3);
    for pair in constants.windows(2) {
        show(&mut f, b, pair);
    }
    show(&mut f, b, &vals);
    assert_eq!(check(&mut f, 10, 0), Spilled::default());
}

#[test]
fn far_slots_have_their_offset_in_a_register() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vals = inputs(&mut f, b, 0, 40);
    for v in &vals {
        show(&mut f, b, &[*v]);
    }
    let spilled = check(&mut f, 12, 0);
    assert!(spilled.scratch_bytes > 64);
    let offsets = count(&f, b, |i| matches!(i, Inst::Offset(at) if *at >= 64));
    let far = count(&f, b, |i| matches!(i, Inst::Load(None) | Inst::Store(None)));
    assert!(far > 0 && far == offsets, "{far} far accesses, {offsets} offsets");
    let near = |i: &Inst| matches!(i, Inst::Load(Some(at)) | Inst::Store(Some(at)) if *at >= 64);
    assert_eq!(count(&f, b, near), 0);
}

#[test]
fn slots_stand_behind_what_is_there() {
    let mut f = Func::default();
    many_phis(&mut f, 6);
    let spilled = check(&mut f, 8, 17);
    assert!(spilled.scratch_bytes > 20 && spilled.scratch_bytes <= 20 + 4 * 6);
    for b in f.blocks.keys() {
        assert_eq!(count(&f, b, |i| matches!(i, Inst::Store(Some(at)) if *at < 20)), 0);
    }
}

#[test]
fn slots_are_shared_where_they_are_not_needed_together() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    for k in 0..5 {
        let far = value(&mut f, b, Inst::Input(100 + k), WORD, &[]);
        let vals = inputs(&mut f, b, 10 * k, 4);
        show(&mut f, b, &vals);
        show(&mut f, b, &[far]);
    }
    assert_eq!(check(&mut f, 8, 0), Spilled { stores: 5, loads: 5, scratch_bytes: 4 });
}

#[test]
fn vectors_are_spilled_whole() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vector = value(&mut f, b, Inst::Input(1), QUAD, &[]);
    let vals = inputs(&mut f, b, 2, 4);
    let half = value(&mut f, b, Inst::Mix(0), HALF, &vals);
    show(&mut f, b, &[half]);
    show(&mut f, b, &[vector]);
    assert_eq!(check(&mut f, 10, 0), Spilled { stores: 1, loads: 1, scratch_bytes: 16 });
}

#[test]
fn what_one_instruction_needs_is_an_error() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vals = inputs(&mut f, b, 0, 6);
    show(&mut f, b, &vals);
    let live = liveness::Liveness::new(&f).expect("liveness");
    let error = spill::run::<Machine>(&mut f, &live, 10, 0).map(|_| ()).expect_err("twelve units");
    assert_eq!(error, Error::Registers { needed: 12, limit: 10 });
}

#[test]
fn what_is_too_wide_for_the_stack_stays() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let wide = value(&mut f, b, Inst::Input(0), WIDE, &[]);
    let vals = inputs(&mut f, b, 1, 3);
    for v in &vals {
        show(&mut f, b, &[*v]);
    }
    show(&mut f, b, &[wide]);
    let spilled = check(&mut f, 14, 0);
    assert_eq!((spilled.stores, spilled.loads), (1, 1));
}
