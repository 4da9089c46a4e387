//! The checker of register allocation: follows allocated code and finds registers that do not hold
//! the expected value.

use super::{Assignment, Registers};
use crate::class::{RegSet, UNITS};
use crate::code::{Code, Step};
use crate::error::{CheckError, Error, Held, Result, Rule};
use crate::function::{Block, Function, Ins, Op, Val};
use crate::target::{Constraint, Overlap, Target};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Origins of the bits of each unit of each value: joining, splitting and copying make none of
/// their own.
struct Origins {
    /// Index of a value's first unit in `of`.
    first: SecondaryMap<Val, u32>,
    of: Vec<(Val, u8)>,
    /// Values of [`Op::Undef`], which any register holds.
    undefined: SecondaryMap<Val, bool>,
}

impl Origins {
    fn new<I: std::marker::Copy>(f: &Function<I>) -> Origins {
        let mut o = Origins {
            first: SecondaryMap::with_capacity(f.vals.len()),
            of: Vec::new(),
            undefined: SecondaryMap::new(),
        };
        for (v, class) in f.vals.iter() {
            o.first[v] = o.of.len() as u32;
            o.of.extend((0..class.units).map(|k| (v, k)));
        }
        // Definitions precede their uses in layout order.
        for data in f.blocks.values() {
            for &i in &data.insts {
                if let (Op::Undef, &[d]) = (f.insts[i].op, f.dsts(i)) {
                    o.undefined[d] = true;
                }
                for (d, at, s, k) in parts(f, i, f.insts[i].op) {
                    let from = o.get(s, k);
                    let to = o.first[d] as usize + usize::from(at);
                    o.of[to] = from;
                }
            }
        }
        o
    }

    fn get(&self, v: Val, k: u8) -> (Val, u8) {
        self.of[self.first[v] as usize + usize::from(k)]
    }

    /// Whether a register that holds `held` has unit `k` of a value.
    fn fits(&self, held: Option<&Held>, v: Val, k: u8) -> bool {
        let origin = self.get(v, k);
        held.is_some_and(|held| self.undefined[origin.0] || *held == Some(origin))
    }
}

/// Checks every instruction of every block, and that every edge leaves values where its successor
/// expects them.
///
/// # Errors
/// The first instruction or edge that is wrong.
pub fn check<T: Target>(
    f: &Function<T::Inst>,
    code: &Code<T::Inst>,
    assignment: &Assignment,
    registers: &Registers,
) -> Result<()> {
    let bad = |e: CheckError| Err(Error::Check(e));
    let origins = Origins::new(f);
    let mut regs = assignment.regs.iter();
    for b in f.blocks.keys() {
        let mut file: [Held; UNITS] = [None; UNITS];
        let write = |file: &mut [Held; UNITS], v: Val, reg: u16| {
            for k in 0..f.vals[v].units {
                file[usize::from(reg) + usize::from(k)] = Some(origins.get(v, k));
            }
        };
        let holds = |file: &[Held; UNITS], v: Val, reg: u16| {
            (0..f.vals[v].units)
                .all(|k| origins.fits(file.get(usize::from(reg) + usize::from(k)), v, k))
        };
        for &(v, reg) in &assignment.starts[b.index()] {
            write(&mut file, v, reg);
        }
        let mut steps = code.blocks[b.index()].steps.iter().map(|s| s.0).peekable();
        let moves = |file: &mut [Held; UNITS], s: Step<T::Inst>| match s {
            Step::Move { to, from, units } => {
                for k in 0..units {
                    file[usize::from(to + k)] = file[usize::from(from + k)];
                }
            }
            Step::Swap { a, b, units } => {
                for k in 0..units {
                    file.swap(usize::from(a + k), usize::from(b + k));
                }
            }
            _ => {}
        };
        for &i in &f.blocks[b].insts {
            let op = f.insts[i].op;
            if matches!(op, Op::Phi) {
                continue;
            }
            let Some((at, list, count)) = regs.next() else {
                return bad(CheckError::LeftOut { inst: i });
            };
            if *at != i {
                return bad(CheckError::LeftOut { inst: i });
            }
            let (dsts, srcs) = (f.dsts(i), f.srcs(i));
            let (to, from) = list.split_at(dsts.len());
            rules::<T>(f, b, i, (to, from), registers)?;
            match op {
                Op::Isa(_) | Op::Ctl(_) => {
                    for s in steps.by_ref().take(count - 1) {
                        moves(&mut file, s);
                    }
                    // Copies for the successor precede the instructions that leave the block.
                    while let (Op::Ctl(_), Some(&s @ (Step::Move { .. } | Step::Swap { .. }))) =
                        (op, steps.peek())
                    {
                        moves(&mut file, s);
                        steps.next();
                    }
                    for (&v, &reg) in srcs.iter().zip(from) {
                        if !holds(&file, v, reg) {
                            let held = file[usize::from(reg)];
                            return bad(CheckError::Operand {
                                block: b,
                                inst: i,
                                val: v,
                                unit: reg,
                                held,
                            });
                        }
                    }
                    steps.next();
                    if let (true, Some(inst)) = (T::CONSTRAINED, op.inst()) {
                        for unit in T::clobbers(inst).iter() {
                            file[usize::from(unit)] = None;
                        }
                    }
                    for (&v, &reg) in dsts.iter().zip(to) {
                        write(&mut file, v, reg);
                    }
                }
                _ => {
                    let wants: Vec<(Val, u16, Val, u8)> = parts(f, i, op);
                    for s in steps.by_ref().take(*count) {
                        moves(&mut file, s);
                    }
                    for (d, at, s, k) in wants {
                        let n = dsts.iter().position(|&x| x == d).unwrap_or(0);
                        let reg = usize::from(to[n]) + usize::from(at);
                        if !origins.fits(file.get(reg), s, k) {
                            return bad(CheckError::Part {
                                block: b,
                                inst: i,
                                val: s,
                                part: k,
                                unit: reg as u16,
                                held: file[reg],
                            });
                        }
                    }
                    if matches!(op, Op::Exports) {
                        for (&v, &reg) in srcs.iter().zip(&f.exports) {
                            if !holds(&file, v, reg) {
                                return bad(CheckError::Export { val: v, unit: reg });
                            }
                        }
                    }
                    if matches!(op, Op::Undef) {
                        for (&v, &reg) in dsts.iter().zip(to) {
                            write(&mut file, v, reg);
                        }
                    }
                }
            }
        }
        for s in steps {
            moves(&mut file, s);
        }
        for &s in &f.blocks[b].succs {
            let n = f.blocks[s].preds.iter().position(|&p| p == b).unwrap_or(0);
            for &(v, reg) in &assignment.starts[s.index()] {
                let phi = f.blocks[s]
                    .insts
                    .iter()
                    .find(|&&i| matches!(f.insts[i].op, Op::Phi) && f.dsts(i)[0] == v);
                let want = phi.map_or(v, |&i| f.srcs(i)[n]);
                if !holds(&file, want, reg) {
                    let held = file[usize::from(reg)];
                    return bad(CheckError::Edge { from: b, to: s, val: want, unit: reg, held });
                }
            }
        }
    }
    Ok(())
}

/// Checks the registers of an instruction's results and sources against their classes and its
/// constraints.
fn rules<T: Target>(
    f: &Function<T::Inst>,
    b: Block,
    i: Ins,
    (to, from): (&[u16], &[u16]),
    registers: &Registers,
) -> Result<()> {
    let (dsts, srcs) = (f.dsts(i), f.srcs(i));
    let check = |val: Val, unit: u16, rule: Rule, holds: bool| match holds {
        true => Ok(()),
        false => Err(Error::Check(CheckError::Constraint { block: b, inst: i, val, unit, rule })),
    };
    let at = |v: Val, reg: u16| RegSet::of(f.vals[v], reg);
    let inst = f.insts[i].op.inst().filter(|_| T::CONSTRAINED);
    let result = |n| inst.map_or(Constraint::Any, |inst| T::result(inst, n));
    let source = |k| inst.map_or(Constraint::Any, |inst| T::source(inst, k));
    for (n, (&d, &reg)) in dsts.iter().zip(to).enumerate() {
        check(d, reg, Rule::Class, f.vals[d].fits(reg))?;
        match result(n) {
            Constraint::Fixed(unit) => check(d, reg, Rule::Fixed, reg == unit)?,
            Constraint::Tied(k) => check(d, reg, Rule::Tied, reg == from[k])?,
            Constraint::Any => {}
        }
        let is_fixed = match result(n) {
            Constraint::Fixed(_) => true,
            Constraint::Tied(k) => matches!(source(k), Constraint::Fixed(_)),
            // Parts share the registers of their vectors.
            Constraint::Any => !matches!(f.insts[i].op, Op::Isa(_)),
        };
        let set = if f.vals[d].unmasked { registers.unmasked } else { registers.values };
        check(d, reg, Rule::Set, is_fixed || set.contains_all(&at(d, reg)))?;
        let Some(inst) = inst else { continue };
        check(d, reg, Rule::Clobber, is_fixed || !at(d, reg).meets(&T::clobbers(inst)))?;
        for (k, (&s, &other)) in srcs.iter().zip(from).enumerate() {
            let fine = match T::overlap(inst, n, k) {
                Overlap::Any => true,
                Overlap::Exact => at(d, reg) == at(s, other) || !at(d, reg).meets(&at(s, other)),
                Overlap::None => !at(d, reg).meets(&at(s, other)),
            };
            check(d, reg, Rule::Overlap, fine)?;
        }
    }
    for (k, (&s, &reg)) in srcs.iter().zip(from).enumerate() {
        if let Constraint::Fixed(unit) = source(k) {
            check(s, reg, Rule::Fixed, reg == unit)?;
        }
    }
    Ok(())
}

/// The operand and its unit that each unit of a joined, split or copied result is.
fn parts<I>(f: &Function<I>, i: Ins, op: Op<I>) -> Vec<(Val, u16, Val, u8)> {
    let (dsts, srcs) = (f.dsts(i), f.srcs(i));
    let mut out = Vec::new();
    match op {
        Op::Collect => {
            let mut at = 0;
            for &s in srcs {
                for k in 0..f.vals[s].units {
                    out.push((dsts[0], at, s, k));
                    at += 1;
                }
            }
        }
        Op::Split => {
            let mut k = 0;
            for &d in dsts {
                for at in 0..f.vals[d].units {
                    out.push((d, u16::from(at), srcs[0], k));
                    k += 1;
                }
            }
        }
        Op::Copy => {
            for k in 0..f.vals[dsts[0]].units {
                out.push((dsts[0], u16::from(k), srcs[0], k));
            }
        }
        _ => {}
    }
    out
}
