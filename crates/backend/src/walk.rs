//! The walk of instruction selection over regions, branches and loops: blocks, edges and phis of the machine IR.
//!
//! The IR is structured, and so is the machine IR: [`Ctl`] marks where constructs begin and end. A family selects
//! instructions ([`Select::inst`]) and conditions ([`Select::branch`]); what lanes do at a branch is decided after
//! register allocation.

use crate::builder::{Builder, Comp, Frame};
use crate::machine::Machine;
use std::ops::DerefMut;
use tepui_ir::{Attrs, Inst, Op as IrOp, Region, Value};
use tepui_regalloc::{Block, Ctl, Op, RegClass, Val};

/// Instruction selection of a family.
pub trait Select<'a>: DerefMut<Target = Builder<'a, Self::Machine>> {
    /// The machine.
    type Machine: Machine;
    /// Reason why a shader is not compiled.
    type Error;

    /// Selects an instruction that is no control flow.
    ///
    /// # Errors
    /// When it is not compiled.
    fn inst(&mut self, i: Inst) -> Result<(), Self::Error>;

    /// Ends the block with a [`Ctl::If`] on a condition.
    ///
    /// # Errors
    /// When it is not compiled.
    fn branch(&mut self, cond: Value) -> Result<(), Self::Error>;

    /// The class of registers that one component of a value, or a part of one, takes where paths join.
    fn class(&self, v: Value) -> RegClass;

    /// A component in registers of a class, from instructions that are appended if it is not there yet.
    fn reg(&mut self, c: Comp<Uniform<'a, Self>>, class: RegClass) -> Val;

    /// Runs after each instruction of the outermost region, control flow included.
    fn after_root_inst(&mut self, _i: Inst) {}
}

/// The places of components that registers do not hold.
pub type Uniform<'a, S> = <<S as Select<'a>>::Machine as Machine>::Uniform;

/// Ways into a block: for each, its last block and components of values that it brings.
type Ways<'a, S> = [(Block, Vec<Comp<Uniform<'a, S>>>)];

/// Selects a region; returns whether its end (a `yield`) is reached.
///
/// # Errors
/// When an instruction is not compiled.
pub fn region<'a, S: Select<'a>>(x: &mut S, r: Region) -> Result<bool, S::Error> {
    x.region_depth += 1;
    let ended = insts(x, r);
    x.region_depth -= 1;
    ended
}

fn insts<'a, S: Select<'a>>(x: &mut S, r: Region) -> Result<bool, S::Error> {
    let s = x.s;
    for &i in &s.regions[r].insts {
        let d = &s.insts[i];
        x.loc = d.loc;
        match (d.op, d.attrs) {
            (IrOp::If, Attrs::If(a, b)) => {
                if !branch(x, i, [a, b])? {
                    return Ok(false);
                }
            }
            (IrOp::Loop, Attrs::Loop(body)) => {
                if !repeat(x, i, body)? {
                    return Ok(false);
                }
            }
            (IrOp::Yield, _) => return Ok(true),
            (IrOp::Break, _) => {
                let comps = x.all_comps(s.args(i));
                x.emit(Op::Ctl(Ctl::Break), &[], &[]);
                let cur = x.cur;
                if let Some(f) = x.frames.last_mut() {
                    f.exits.push((cur, comps));
                }
                return Ok(false);
            }
            (IrOp::Continue, _) => {
                next_iteration(x, s.args(i));
                x.emit(Op::Ctl(Ctl::Continue), &[], &[]);
                return Ok(false);
            }
            _ => x.inst(i)?,
        }
        if x.region_depth == 1 {
            x.after_root_inst(i);
        }
    }
    Ok(true)
}

/// Classes of the components of some values.
fn classes<'a, S: Select<'a>>(x: &S, vals: &[Value]) -> Vec<RegClass> {
    vals.iter().flat_map(|&v| std::iter::repeat_n(x.class(v), x.count(v))).collect()
}

/// The components of some values in registers, of the classes of those that they become.
fn regs<'a, S: Select<'a>>(x: &mut S, vals: &[Value], classes: &[RegClass]) -> Vec<Val> {
    let comps = x.all_comps(vals);
    comps.iter().zip(classes).map(|(&c, &class)| x.reg(c, class)).collect()
}

/// Edge and phi sources from here to the innermost loop's header.
fn next_iteration<'a, S: Select<'a>>(x: &mut S, args: &[Value]) {
    let Some(frame) = x.frames.last() else { return };
    let header = frame.header;
    let classes: Vec<RegClass> = frame.phis.iter().map(|&phi| x.f.vals[x.f.dsts(phi)[0]]).collect();
    let regs = regs(x, args, &classes);
    for (k, &v) in regs.iter().enumerate() {
        let phi = x.frames.last().map(|frame| frame.phis[k]);
        if let Some(phi) = phi {
            x.add_source(phi, v);
        }
    }
    let cur = x.cur;
    x.f.edge(cur, header);
}

/// Joins the ways into the current block: results from the components that each way brings.
fn join<'a, S: Select<'a>>(x: &mut S, results: &[Value], ways: &Ways<'a, S>) {
    let join = x.cur;
    for (b, _) in ways {
        x.f.edge(*b, join);
    }
    let classes = classes(x, results);
    let mut joined = Vec::with_capacity(classes.len());
    for (k, &class) in classes.iter().enumerate() {
        // Undefined on one way is whatever the others bring.
        let mut known = ways.iter().map(|w| w.1[k]).filter(|c| *c != Comp::Undef);
        let first = known.next().unwrap_or(Comp::Undef);
        if known.all(|c| c == first)
            && (ways.len() == 1
                || !matches!(first, Comp::Val(_))
                || ways.iter().all(|w| w.1[k] == first))
        {
            joined.push(first);
            continue;
        }
        let srcs: Vec<Val> = ways.iter().map(|(b, c)| reg_at_end(x, *b, c[k], class)).collect();
        let d = x.f.val(class);
        let loc = x.loc;
        let phi = x.f.make(Op::Phi, &[d], &srcs, loc);
        x.f.blocks[join].insts.push(phi);
        joined.push(Comp::Val(d));
    }
    x.set_all(results, &joined);
}

/// Puts a component into registers at the end of an earlier block.
fn reg_at_end<'a, S: Select<'a>>(
    x: &mut S,
    b: Block,
    c: Comp<Uniform<'a, S>>,
    class: RegClass,
) -> Val {
    if let Comp::Val(v) = c
        && x.f.vals[v] == class
    {
        return v;
    }
    let here = x.open_block(b);
    let v = x.reg(c, class);
    x.close_block(here);
    v
}

fn branch<'a, S: Select<'a>>(x: &mut S, i: Inst, sides: [Region; 2]) -> Result<bool, S::Error> {
    let s = x.s;
    x.branch(s.arg(i, 0))?;
    let from = x.cur;
    let mut ways = Vec::with_capacity(2);
    for (k, side) in sides.into_iter().enumerate() {
        let block = x.block();
        x.f.edge(from, block);
        x.cur = block;
        if k == 1 {
            x.emit(Op::Ctl(Ctl::Else), &[], &[]);
        }
        if region(x, side)? {
            let args = s.terminator(side).map_or(&[][..], |t| s.args(t));
            ways.push((x.cur, x.all_comps(args)));
        }
    }
    x.loc = s.insts[i].loc;
    x.cur = x.block();
    join(x, s.results(i), &ways);
    x.emit(Op::Ctl(Ctl::EndIf), &[], &[]);
    Ok(!ways.is_empty())
}

fn repeat<'a, S: Select<'a>>(x: &mut S, i: Inst, body: Region) -> Result<bool, S::Error> {
    let s = x.s;
    let params = &s.regions[body].params;
    let classes = classes(x, params);
    let first = regs(x, s.args(i), &classes);
    let header = x.enter_loop();
    let mut phis = Vec::with_capacity(classes.len());
    let mut vals = Vec::with_capacity(classes.len());
    for (&class, &v) in classes.iter().zip(&first) {
        let d = x.f.val(class);
        phis.push(x.emit(Op::Phi, &[d], &[v]));
        vals.push(Comp::Val(d));
    }
    x.set_all(params, &vals);
    x.frames.push(Frame { header, phis, exits: Vec::new() });
    region(x, body)?;
    // The end of the loop has a block of its own unless the body's last one goes on to the next
    // iteration.
    let cur = x.cur;
    let last = x.f.blocks[cur].insts.last().copied();
    match last.map(|l| x.f.insts[l].op) {
        Some(Op::Ctl(Ctl::Continue)) => {
            x.f.blocks[cur].insts.pop();
        }
        Some(Op::Ctl(Ctl::Break)) => x.cur = x.block(),
        _ => {}
    }
    x.emit(Op::Ctl(Ctl::EndLoop), &[], &[]);
    x.depth -= 1;
    let Some(frame) = x.frames.pop() else { return Ok(false) };
    x.loc = s.insts[i].loc;
    x.cur = x.block();
    join(x, s.results(i), &frame.exits);
    Ok(!frame.exits.is_empty())
}
