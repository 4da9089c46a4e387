//! Registers that instructions demand, and registers of values that are not masked.

use super::CHECKED;
use super::machine::{
    Func, GROUP, HALF, Inst, Machine, Picky, QUAD, RESULT, SCALAR, WORD, block, ctl,
    picky_registers, show, value,
};
use tepui_regalloc::alloc::Registers;
use tepui_regalloc::{Code, Ctl, Error, RegClass, RegSet, Step, Val, alloc, liveness};

/// Registers for a function, checked.
fn registers(f: &Func, registers: &Registers) -> Result<Code<Inst>, Error> {
    let live = liveness::Liveness::new(f).expect("liveness");
    alloc::run::<Picky>(f, &live, registers, alloc::Extras { defs: true, ..CHECKED })
}

fn unit_of(code: &Code<Inst>, v: Val) -> u16 {
    code.defs.iter().find(|d| d.val == v).expect("a place").unit
}

#[test]
fn more_operands_than_bits_of_a_word() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vals: Vec<Val> = (0..36).map(|k| value(&mut f, b, Inst::Input(k), WORD, &[])).collect();
    // Those past the 32nd end here, the first ones live on.
    show(&mut f, b, &vals);
    let more: Vec<Val> =
        (0..36).map(|k| value(&mut f, b, Inst::Input(100 + k), WORD, &[])).collect();
    show(&mut f, b, &more);
    show(&mut f, b, &vals[..4]);
    let live = liveness::Liveness::new(&f).expect("liveness");
    alloc::run::<Machine>(&f, &live, &(0..90).into(), CHECKED).expect("registers");
}

#[test]
fn values_take_no_registers_in_holes() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let classes = [QUAD, HALF, WORD, QUAD, GROUP, HALF, WORD, GROUP];
    let vals: Vec<Val> =
        classes.iter().zip(0..).map(|(&c, k)| value(&mut f, b, Inst::Input(k), c, &[])).collect();
    show(&mut f, b, &vals);
    let values = RegSet::range(3..9).union(RegSet::range(16..30)).union(RegSet::range(47..60));
    let set = Registers { values, ..Registers::default() };
    let code = registers(&f, &set).expect("registers");
    for &v in &vals {
        let at = unit_of(&code, v);
        assert!(values.contains_all(&RegSet::of(f.vals[v], at)) && f.vals[v].fits(at), "{v}: {at}");
    }
    assert!(code.units > 47);
}

#[test]
fn a_fixed_source_lives_on_where_it_was() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    // Enough values to fill the registers that the call needs.
    let vals: Vec<Val> = (0..5).map(|k| value(&mut f, b, Inst::Input(k), WORD, &[])).collect();
    let result = value(&mut f, b, Inst::Call(0), WORD, &[vals[1], vals[1], vals[0]]);
    show(&mut f, b, &vals);
    show(&mut f, b, &[result]);
    let code = registers(&f, &picky_registers(40)).expect("registers");
    assert_eq!(unit_of(&code, result), RESULT);
    assert!(code.units >= RESULT + 2);
}

#[test]
fn a_tied_source_that_lives_on_is_copied() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let x = value(&mut f, b, Inst::Input(0), WORD, &[]);
    let y = value(&mut f, b, Inst::Input(1), WORD, &[]);
    let first = value(&mut f, b, Inst::Tied(0), WORD, &[x, y]);
    show(&mut f, b, &[x]);
    let second = value(&mut f, b, Inst::Tied(1), WORD, &[first, y]);
    show(&mut f, b, &[second]);
    let code = registers(&f, &picky_registers(40)).expect("registers");
    // The second one ends: it needs no copy.
    assert_eq!(unit_of(&code, first), unit_of(&code, second));
    let moves = code.blocks[0].steps.iter().filter(|s| matches!(s.0, Step::Move { .. })).count();
    assert_eq!(moves, 1);
}

#[test]
fn an_early_result_takes_no_source() {
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let x = value(&mut f, b, Inst::Input(0), QUAD, &[]);
    let y = value(&mut f, b, Inst::Early(0), QUAD, &[x]);
    let z = value(&mut f, b, Inst::Halves(0), QUAD, &[y]);
    show(&mut f, b, &[z]);
    let code = registers(&f, &picky_registers(40)).expect("registers");
    assert!(unit_of(&code, x).abs_diff(unit_of(&code, y)) >= 8);
    let set = Registers { values: RegSet::range(0..12), ..Registers::default() };
    assert_eq!(registers(&f, &set).map(|_| ()), Err(Error::Full { limit: 12 }));
}

/// A scalar that is read in the else block: the then block runs before it and must not write its
/// register, though it is not alive there along the edges of the program.
#[test]
fn the_then_block_keeps_scalars_of_the_else_block() {
    let mut f = Func::default();
    let entry = block(&mut f, 0);
    let cond = value(&mut f, entry, Inst::Input(99), WORD, &[]);
    let outer = value(&mut f, entry, Inst::Input(0), SCALAR, &[]);
    ctl(&mut f, entry, Ctl::If(Inst::Test), &[cond]);
    let (then, other, join) = (block(&mut f, 0), block(&mut f, 0), block(&mut f, 0));
    for (a, b) in [(entry, then), (entry, other), (then, join), (other, join)] {
        f.edge(a, b);
    }
    let inner = value(&mut f, then, Inst::Input(1), SCALAR, &[]);
    show(&mut f, then, &[inner]);
    ctl(&mut f, other, Ctl::Else, &[]);
    show(&mut f, other, &[outer]);
    ctl(&mut f, join, Ctl::EndIf, &[]);
    let live = liveness::Liveness::new(&f).expect("liveness");
    let physical = liveness::Liveness::physical(&f).expect("liveness");
    assert!(!live.is_live_in(outer, then) && physical.is_live_in(outer, then));
    assert_eq!(alloc::unmasked::pressure::<Picky>(&f), Ok(2));
    let code = registers(&f, &picky_registers(40)).expect("registers");
    assert_ne!(unit_of(&code, outer), unit_of(&code, inner));
    let one = Registers { unmasked: RegSet::range(200..201), ..picky_registers(40) };
    assert_eq!(registers(&f, &one).map(|_| ()), Err(Error::Unmasked { limit: 1 }));
}

/// Behind a break, the lanes that stay execute the rest of the loop: what the lanes that left read
/// after it is alive there.
#[test]
fn the_rest_of_a_loop_keeps_scalars_of_lanes_that_left() {
    let mut f = Func::default();
    let entry = block(&mut f, 0);
    ctl(&mut f, entry, Ctl::Loop, &[]);
    let (head, leave, stay, out) =
        (block(&mut f, 1), block(&mut f, 1), block(&mut f, 1), block(&mut f, 0));
    for (a, b) in [(entry, head), (head, leave), (head, stay), (leave, out), (stay, head)] {
        f.edge(a, b);
    }
    let cond = value(&mut f, head, Inst::Input(9), WORD, &[]);
    ctl(&mut f, head, Ctl::If(Inst::Test), &[cond]);
    let found = value(&mut f, leave, Inst::Input(0), SCALAR, &[]);
    ctl(&mut f, leave, Ctl::Break, &[]);
    let other = value(&mut f, stay, Inst::Input(1), SCALAR, &[]);
    show(&mut f, stay, &[other]);
    ctl(&mut f, stay, Ctl::EndLoop, &[]);
    show(&mut f, out, &[found]);
    let code = registers(&f, &picky_registers(40)).expect("registers");
    assert_ne!(unit_of(&code, found), unit_of(&code, other));
}

#[test]
fn classes_have_boundaries() {
    let class = RegClass::new(2).within(2);
    let mut f = Func::default();
    let b = block(&mut f, 0);
    let vals: Vec<Val> = [HALF, class, HALF, class]
        .iter()
        .zip(0..)
        .map(|(&c, k)| value(&mut f, b, Inst::Input(k), c, &[]))
        .collect();
    show(&mut f, b, &vals);
    let code = registers(&f, &(0..6).into()).expect("registers");
    assert!(vals.iter().all(|&v| f.vals[v].fits(unit_of(&code, v))));
}
