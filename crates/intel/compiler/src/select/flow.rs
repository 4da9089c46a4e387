//! Blocks from regions: `if`s, loops, and the values that they carry.

use super::{Comp, Select};
use crate::error::Result;
use crate::mir::{MOp, SCALAR};
use tepui_ir::{self as ir, Attrs, Op, Region, Value};
use tepui_regalloc::{Block, Ctl, Ins, RegClass, Val};

/// A loop that encloses the current position.
pub(super) struct Frame {
    /// The block before it.
    pub before: Block,
    /// Its first block.
    header: Block,
    /// The phis of its parameters.
    phis: Vec<Ins>,
    /// The blocks that leave it, with the results that they bring.
    exits: Vec<(Block, Vec<Comp>)>,
}

impl Select<'_> {
    fn block(&mut self) -> Block {
        let b = self.f.blocks.push(Default::default());
        self.f.blocks[b].depth = self.depth;
        b
    }

    /// A component for a phi of a class.
    fn of_class(&mut self, c: Comp, class: RegClass) -> Val {
        if class == SCALAR { self.scalar(c) } else { self.value(c) }
    }

    /// The classes of the double words of values that blocks carry.
    fn classes(&self, vals: &[Value]) -> Vec<RegClass> {
        let class = |&v: &Value| match self.scalars.contains(v) {
            true => std::iter::repeat_n(SCALAR, self.dwords(v)),
            false => std::iter::repeat_n(self.plane(), self.dwords(v)),
        };
        vals.iter().flat_map(class).collect()
    }

    /// Puts a component into registers at the end of an earlier block.
    fn value_at_end(&mut self, b: Block, c: Comp, class: RegClass) -> Val {
        if let Comp::Val(v) = c
            && self.f.vals[v] == class
        {
            return v;
        }
        self.at_end(b, |select| select.of_class(c, class))
    }

    /// Selects instructions at the end of an earlier block.
    pub(super) fn at_end(&mut self, b: Block, add: impl FnOnce(&mut Self) -> Val) -> Val {
        let at = self.f.body_end(b);
        let tail = self.f.blocks[b].insts.split_off(at);
        let cur = std::mem::replace(&mut self.cur, b);
        let v = add(self);
        self.cur = cur;
        self.f.blocks[b].insts.extend(tail);
        v
    }

    /// Selects a region; returns whether its end (a `yield`) is reached.
    pub(super) fn region(&mut self, r: Region) -> Result<bool> {
        let s = self.s;
        for &i in &s.regions[r].insts {
            let d = &s.insts[i];
            self.loc = d.loc;
            self.io.last_costly.1 |= self.io.last_costly.0 == Some(i);
            let ends = matches!(d.op, Op::Yield | Op::Break | Op::Continue) && self.nesting > 0;
            if ends || matches!(d.op, Op::If | Op::Loop) {
                self.flush();
            }
            match (d.op, d.attrs) {
                (Op::If, Attrs::If(a, b)) => {
                    if !self.branch(i, a, b)? {
                        return Ok(false);
                    }
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    if !self.repeat(i, body)? {
                        return Ok(false);
                    }
                }
                (Op::Yield, _) => return Ok(true),
                (Op::Break, _) => {
                    let comps = self.all_comps(s.args(i));
                    self.emit(MOp::Ctl(Ctl::Break), &[], &[]);
                    let cur = self.cur;
                    if let Some(f) = self.frames.last_mut() {
                        f.exits.push((cur, comps));
                    }
                    return Ok(false);
                }
                (Op::Continue, _) => {
                    self.next_iteration(s.args(i));
                    self.emit(MOp::Ctl(Ctl::Continue), &[], &[]);
                    return Ok(false);
                }
                _ => self.inst(i)?,
            }
        }
        Ok(true)
    }

    /// Edge and phi sources from here to the innermost loop's header.
    fn next_iteration(&mut self, args: &[Value]) {
        let comps = self.all_comps(args);
        let Some(frame) = self.frames.last() else { return };
        let classes: Vec<RegClass> =
            frame.phis.iter().map(|&phi| self.f.vals[self.f.dsts(phi)[0]]).collect();
        let vals: Vec<Val> =
            comps.iter().zip(classes).map(|(&c, class)| self.of_class(c, class)).collect();
        let Some(frame) = self.frames.last() else { return };
        for (&phi, &v) in frame.phis.iter().zip(&vals) {
            self.f.insts[phi].srcs.push(v, &mut self.f.pool);
        }
        let (cur, header) = (self.cur, frame.header);
        self.f.edge(cur, header);
    }

    /// Joins the ways into the current block: results from the components that each way brings. Channels that leave a loop
    /// wait while others change its scalar values, so each takes what it had.
    fn join(&mut self, results: &[Value], ways: &[(Block, Vec<Comp>)], leaves_loop: bool) {
        let join = self.cur;
        for (b, _) in ways {
            self.f.edge(*b, join);
        }
        let classes = self.classes(results);
        let mut joined = Vec::with_capacity(classes.len());
        for (k, class) in classes.into_iter().enumerate() {
            // Undefined on one way is whatever the others bring, if that is there on every way.
            let mut known = ways.iter().map(|w| w.1[k]).filter(|c| *c != Comp::Undef);
            let first = known.next().unwrap_or(Comp::Undef);
            let same = known.all(|c| c == first);
            let everywhere = !matches!(first, Comp::Val(_)) || ways.iter().all(|w| w.1[k] == first);
            let changes = match first {
                Comp::Val(v) => leaves_loop && class != SCALAR && self.f.vals[v] == SCALAR,
                _ => false,
            };
            if same && everywhere && !changes {
                joined.push(first);
                continue;
            }
            let srcs: Vec<Val> =
                ways.iter().map(|(b, c)| self.value_at_end(*b, c[k], class)).collect();
            let d = self.f.val(class);
            let phi = self.f.make(MOp::Phi, &[d], &srcs, self.loc);
            self.f.blocks[join].insts.push(phi);
            joined.push(Comp::Val(d));
        }
        let mut at = 0;
        for &r in results {
            let n = self.dwords(r);
            self.set(r, &joined[at..at + n]);
            at += n;
        }
    }

    fn branch(&mut self, i: ir::Inst, a: Region, b: Region) -> Result<bool> {
        let s = self.s;
        let (test, sources) = self.test(s.arg(i, 0));
        let vals: Vec<Val> = sources.iter().filter_map(|s| s.val).collect();
        self.emit(MOp::Ctl(Ctl::If(test)), &[], &vals);
        let from = self.cur;
        self.nesting += 1;
        let mut ways = Vec::with_capacity(2);
        for (k, region) in [a, b].into_iter().enumerate() {
            let block = self.block();
            self.f.edge(from, block);
            self.cur = block;
            if k == 1 {
                self.emit(MOp::Ctl(Ctl::Else), &[], &[]);
            }
            if self.region(region)? {
                let args = s.terminator(region).map_or(&[][..], |t| s.args(t));
                ways.push((self.cur, self.all_comps(args)));
            }
        }
        self.nesting -= 1;
        self.loc = s.insts[i].loc;
        self.cur = self.block();
        self.join(s.results(i), &ways, false);
        self.emit(MOp::Ctl(Ctl::EndIf), &[], &[]);
        Ok(!ways.is_empty())
    }

    fn repeat(&mut self, i: ir::Inst, body: Region) -> Result<bool> {
        let s = self.s;
        let params = &s.regions[body].params;
        let comps = self.all_comps(s.args(i));
        let classes = self.classes(params);
        let first: Vec<Val> =
            comps.iter().zip(classes).map(|(&c, class)| self.of_class(c, class)).collect();
        self.emit(MOp::Ctl(Ctl::Loop), &[], &[]);
        let from = self.cur;
        self.depth = self.depth.saturating_add(1);
        self.nesting += 1;
        let header = self.block();
        self.f.edge(from, header);
        self.cur = header;
        let mut phis = Vec::with_capacity(first.len());
        let mut vals = Vec::with_capacity(first.len());
        for &v in &first {
            let class = self.f.vals[v];
            let d = self.f.val(class);
            phis.push(self.emit(MOp::Phi, &[d], &[v]));
            vals.push(Comp::Val(d));
        }
        let mut at = 0;
        for &p in params {
            let n = self.dwords(p);
            self.set(p, &vals[at..at + n]);
            at += n;
        }
        self.frames.push(Frame { before: from, header, phis, exits: Vec::new() });
        self.region(body)?;
        // The end of the loop has a block of its own unless the body's last one goes on to the next iteration.
        let last = self.f.blocks[self.cur].insts.last().copied();
        match last.map(|l| self.f.insts[l].op) {
            Some(MOp::Ctl(Ctl::Continue)) => {
                self.f.blocks[self.cur].insts.pop();
            }
            Some(MOp::Ctl(Ctl::Break)) => self.cur = self.block(),
            _ => {}
        }
        self.emit(MOp::Ctl(Ctl::EndLoop), &[], &[]);
        self.depth -= 1;
        self.nesting -= 1;
        let Some(frame) = self.frames.pop() else { return Ok(false) };
        self.loc = s.insts[i].loc;
        self.cur = self.block();
        self.join(s.results(i), &frame.exits, true);
        Ok(!frame.exits.is_empty())
    }
}
