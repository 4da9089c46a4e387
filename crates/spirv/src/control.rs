//! Converts SPIR-V's blocks and merge instructions to nested regions.
//!
//! Every target of a branch is a [`Scope`] on a stack: the merge block of a selection, the end of a
//! called function, a loop's exit and its next iteration. Code is emitted so that the end of a
//! region falls through to the innermost merge scope. A branch that crosses other scopes sets a
//! flag of its target and leaves the innermost scope; code after that scope is then guarded by the
//! flag ([`Cx::after`]). Thereby any control flow that the specification allows becomes `if`s and
//! `loop`s with exits of one level, and no block is translated twice.

use crate::error::{Kind, Result};
use crate::ids::{Id, IdMap, IdSet};
use crate::module::{Block, Inst, Merge};
use crate::scope::{Scope, ScopeExit, ScopeKind, Target};
use crate::translate::{Cx, Frame};
use crate::ty::Ty;
use crate::value::Val;
use rspirv::spirv::Op as S;
use tepui_ir::{Attrs, Op, Region, Type, Value, Var, stack};

/// Deepest nesting of regions. SPIR-V allows 1,023 nested constructs, and a loop takes up to three
/// regions.
/// source: SPIR-V specification, 2.17 Universal Limits
const MAX_DEPTH: usize = 4096;
/// From this depth on, a merge block with one predecessor is no longer placed into the branch that
/// reaches it.
const FLAT_DEPTH: usize = 60;
/// Maximum nesting of calls.
const MAX_CALLS: usize = 48;

impl Cx<'_> {
    fn push_scope(&mut self, target: Target, kind: ScopeKind) {
        let start = (self.region, self.s.regions[self.region].insts.len());
        self.scopes.push(Scope {
            target,
            kind,
            flag: None,
            reached: false,
            pending: Vec::new(),
            start,
        });
    }

    fn pop_scope(&mut self) -> ScopeExit {
        let Some(s) = self.scopes.pop() else {
            return ScopeExit { pending: Vec::new(), reached: false };
        };
        if let Some(flag) = s.flag {
            let f = self.konst(Type::B1, 0);
            let st = self.s.make_inst(Op::StoreVar, Attrs::Var(flag), &[f], &[]);
            self.s.regions[s.start.0].insts.insert(s.start.1, st);
        }
        ScopeExit { pending: s.pending, reached: s.reached }
    }

    /// Sends control to scope `k`.
    fn exit_to(&mut self, k: usize) -> Result<()> {
        let inner = k + 1;
        self.scopes[k].reached = true;
        let loop_between = self.scopes[inner..]
            .iter()
            .rposition(|s| s.kind == ScopeKind::Break)
            .map(|j| j + inner);
        let merge_between = self.scopes[inner..]
            .iter()
            .rposition(|s| s.kind == ScopeKind::Merge)
            .map(|j| j + inner);
        match (self.scopes[k].kind, loop_between, merge_between) {
            (ScopeKind::Break, None, _) => self.leave(Op::Break),
            (ScopeKind::Next, None, Some(_)) => self.leave(Op::Continue),
            (_, None, None) => {}
            (_, Some(j), _) => {
                self.raise(k, j)?;
                self.leave(Op::Break);
            }
            (_, None, Some(j)) => self.raise(k, j)?,
        }
        Ok(())
    }

    fn leave(&mut self, op: Op) {
        if !self.ended() {
            self.emit(op, Attrs::None, &[], &[]);
        }
    }

    /// Sets the flag of scope `k` and leaves a note at obstacle `j`.
    fn raise(&mut self, k: usize, j: usize) -> Result<()> {
        let flag = match self.scopes[k].flag {
            Some(f) => f,
            None => {
                let f = self.var(Type::B1, None, "exit");
                self.scopes[k].flag = Some(f);
                f
            }
        };
        let t = self.konst(Type::B1, 1);
        self.store_var(flag, t);
        if !self.scopes[j].pending.contains(&k) {
            self.scopes[j].pending.push(k);
        }
        Ok(())
    }

    /// Emits code after a scope: the jumps that crossed it continue, else `rest` runs.
    fn after(
        &mut self,
        left: ScopeExit,
        rest: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let Some((&k, more)) = left.pending.split_first() else {
            return if left.reached { rest(self) } else { Ok(()) };
        };
        if more.is_empty() && !left.reached {
            return self.exit_to(k);
        }
        let Some(flag) = self.scopes[k].flag else {
            return self.invalid("control flow is not structured");
        };
        let c = self.load_var(flag);
        let then = self.nested(|cx| cx.exit_to(k))?;
        let left = ScopeExit { pending: more.to_vec(), reached: left.reached };
        let mut left = Some(left);
        let els = self.nested(|cx| match left.take() {
            Some(l) => cx.after(l, rest),
            None => Ok(()),
        })?;
        self.emit(Op::If, Attrs::If(then, els), &[c], &[]);
        Ok(())
    }

    fn nested(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Region> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.at.err(Kind::Nesting { limit: MAX_DEPTH });
        }
        let r = stack::grow(|| self.in_region(f));
        self.depth -= 1;
        r
    }

    /// Continuation of translation after a construct: block `to` in the same region if its only
    /// predecessor is the end of the construct. Jumps that crossed the construct are dispatched first;
    /// then the rest is translated already.
    fn follow(&mut self, left: ScopeExit, to: Id) -> Result<Option<Id>> {
        if left.pending.is_empty() {
            return Ok(left.reached.then_some(to));
        }
        self.after(left, &mut |cx| cx.chain(to))?;
        Ok(None)
    }

    // ---- functions ----

    /// Inlines a call; the current region is then the point of return.
    /// The caller handles `self.call_left` before it continues.
    pub fn call(&mut self, func: Id, args: Vec<Val>) -> Result<Val> {
        let m = self.m;
        let Some(f) = m.functions.get(&func).filter(|f| f.entry != 0) else {
            return self.invalid(format!("%{func} is not a function with a body"));
        };
        if self.frames.len() >= MAX_CALLS || self.frames.iter().any(|fr| fr.func == func) {
            return self.invalid("recursion, or calls that nest too deeply");
        }
        if f.params.len() != args.len() {
            return self.invalid("the call has another number of arguments than the function");
        }
        let vals = f.params.iter().copied().zip(args).collect();
        self.frames.push(Frame {
            func,
            vals,
            ret: Vec::new(),
            ret_val: None,
            phis: IdMap::default(),
            done: IdSet::default(),
            preds: predecessors(m, &f.blocks, f.entry),
        });
        self.push_scope(Target::Return(self.frames.len()), ScopeKind::Merge);
        stack::grow(|| self.chain(f.entry))?;
        let left = self.pop_scope();
        self.call_left = Some(left);
        let Some(frame) = self.frames.pop() else { return Ok(Val::Void) };
        match frame.ret_val {
            None => match m.result_ty.get(&func) {
                Some(&t) if !matches!(self.types.get(t), Some(Ty::Void)) => self.undef_val(t),
                _ => Ok(Val::Void),
            },
            Some(shape) => {
                let vals: Vec<Value> = frame.ret.iter().map(|&v| self.load_var(v)).collect();
                let shape = self.merged_shape(m.result_ty.get(&func).copied().unwrap_or(0), shape);
                Ok(Self::with_leaves(&shape, &mut vals.into_iter()))
            }
        }
    }

    fn return_value(&mut self) -> Result<()> {
        let v = self.arg(0)?;
        let v = self.normalise(v)?;
        let mut leaves = Vec::new();
        self.leaves(&v, &mut leaves)?;
        let depth = self.frames.len() - 1;
        if self.frames[depth].ret_val.is_none() {
            let vars = leaves.iter().map(|&l| self.var(self.s.ty(l), None, "return")).collect();
            self.frames[depth].ret = vars;
            self.frames[depth].ret_val = Some(v);
        }
        let vars = self.frames[depth].ret.clone();
        if vars.len() != leaves.len() {
            return self.invalid("the function returns values of different shapes");
        }
        for (var, l) in vars.into_iter().zip(leaves) {
            self.store_checked(var, l)?;
        }
        Ok(())
    }

    fn store_checked(&mut self, var: Var, v: Value) -> Result<()> {
        if self.s.vars[var].ty != self.s.ty(v) {
            return self.invalid("values of different types meet");
        }
        self.store_var(var, v);
        Ok(())
    }

    // ---- phis ----

    /// Stores what the phis of `to` take from `from`.
    fn phi_edge(&mut self, from: Id, to: Id) -> Result<()> {
        let m = self.m;
        let Some(b) = self.find_block(to) else {
            return self.invalid(format!("%{to} is not a block here"));
        };
        let at = self.at;
        let mut stores = Vec::new();
        for i in &m.insts[b.first as usize..b.term as usize] {
            match i.op {
                S::Line | S::NoLine => continue,
                S::Phi => {}
                _ => break,
            }
            self.at = *i;
            let Some(pair) = m.ops(i).chunks_exact(2).find(|p| p[1] == from) else {
                return self.invalid(format!("no value for predecessor %{from}"));
            };
            let v = self.val(pair[0])?;
            let v = self.normalise(v)?;
            let mut leaves = Vec::new();
            self.leaves(&v, &mut leaves)?;
            let depth = self.frames.len() - 1;
            if !self.frames[depth].phis.contains_key(&i.id) {
                let name = m.name(i.id);
                let vars = leaves.iter().map(|&l| self.var(self.s.ty(l), None, &name)).collect();
                self.frames[depth].phis.insert(i.id, (v, vars));
            }
            let vars = &self.frames[depth].phis[&i.id].1;
            if vars.len() != leaves.len() {
                return self.invalid("the phi's values have different shapes");
            }
            stores.extend(vars.iter().copied().zip(leaves));
        }
        for (var, v) in stores {
            self.store_checked(var, v)?;
        }
        self.at = at;
        Ok(())
    }

    /// `OpPhi`: what the edge that was taken has stored.
    pub fn phi(&mut self, i: Inst) -> Result<()> {
        let Some((shape, vars)) = self.frames.last().and_then(|f| f.phis.get(&i.id)).cloned()
        else {
            let v = self.undef_val(i.ty)?;
            return self.bind(v);
        };
        let vals: Vec<Value> = vars.into_iter().map(|v| self.load_var(v)).collect();
        let shape = self.merged_shape(i.ty, shape);
        self.bind(Self::with_leaves(&shape, &mut vals.into_iter()))
    }

    // ---- blocks ----

    fn find_block(&self, id: Id) -> Option<Block> {
        let f = self.frames.last()?.func;
        self.m.functions.get(&f)?.blocks.get(&id).cloned()
    }

    fn preds(&self, id: Id) -> u32 {
        self.frames.last().and_then(|f| f.preds.get(&id)).copied().unwrap_or(0)
    }

    fn scope_of(&self, t: Target) -> Option<usize> {
        self.scopes.iter().rposition(|s| s.target == t)
    }

    /// Goes to a block: a jump if it is a scope, else its code is placed here.
    fn goto(&mut self, from: Id, to: Id) -> Result<()> {
        self.phi_edge(from, to)?;
        match self.scope_of(Target::Block(to)) {
            Some(k) => self.exit_to(k),
            None => self.chain(to),
        }
    }

    /// Translates blocks from `b` on until control leaves.
    fn chain(&mut self, b: Id) -> Result<()> {
        let mut next = Some(b);
        while let Some(b) = next {
            let Some(block) = self.find_block(b) else {
                return self.invalid(format!("%{b} is not a block here"));
            };
            if self.frames.last_mut().is_some_and(|f| !f.done.insert(b)) {
                return self
                    .invalid(format!("block %{b} is reached in a way that is not structured"));
            }
            self.step_once()?;
            next = match block.merge {
                Some(Merge::Loop { merge, cont }) => self.loop_(b, &block, merge, cont)?,
                _ => self.block_from(b, &block, block.first)?,
            };
        }
        Ok(())
    }

    /// Translates a loop. Returns the block that follows in the same region.
    fn loop_(&mut self, b: Id, block: &Block, merge: Id, cont: Id) -> Result<Option<Id>> {
        self.push_scope(Target::Block(merge), ScopeKind::Break);
        let body = self.nested(|cx| {
            cx.push_scope(Target::Block(b), ScopeKind::Next);
            // If the continue construct has one incoming edge, its code is placed at the end of that
            // path.
            if cont != b && cx.preds(cont) > 1 {
                cx.push_scope(Target::Block(cont), ScopeKind::Merge);
                cx.run_from(b, block, block.first)?;
                let left = cx.pop_scope();
                cx.after(left, &mut |cx| cx.chain(cont))?;
            } else {
                cx.run_from(b, block, block.first)?;
            }
            let left = cx.pop_scope();
            cx.leave(if left.reached { Op::Continue } else { Op::Break });
            Ok(())
        })?;
        self.emit(Op::Loop, Attrs::Loop(body), &[], &[]);
        let left = self.pop_scope();
        self.follow(left, merge)
    }

    /// [`Cx::block_from`], and the blocks that follow.
    fn run_from(&mut self, b: Id, block: &Block, first: u32) -> Result<()> {
        match self.block_from(b, block, first)? {
            Some(next) => self.chain(next),
            None => Ok(()),
        }
    }

    /// Translates a block from instruction `first` on. Returns the block that follows in the same
    /// region.
    fn block_from(&mut self, b: Id, block: &Block, first: u32) -> Result<Option<Id>> {
        let m = self.m;
        for n in first..block.term {
            let i = m.insts[n as usize];
            self.instruction(i)?;
            if i.op == S::FunctionCall
                && let Some(left) = self.call_left.take()
                && (!left.pending.is_empty() || !left.reached)
            {
                self.after(left, &mut |cx| cx.run_from(b, block, n + 1))?;
                return Ok(None);
            }
        }
        let i = m.insts[block.term as usize];
        self.at = i;
        self.flags = tepui_ir::InstFlags::empty();
        match i.op {
            S::Branch => {
                let to = m.op(&i, 0)?;
                self.phi_edge(b, to)?;
                match self.scope_of(Target::Block(to)) {
                    Some(k) => self.exit_to(k)?,
                    None => return Ok(Some(to)),
                }
            }
            S::BranchConditional => {
                let (c, t, f) = (self.arg_ssa(0)?, m.op(&i, 1)?, m.op(&i, 2)?);
                if self.s.ty(c) != Type::B1 {
                    return self.invalid("the condition is not a truth value");
                }
                let merge = match block.merge {
                    Some(Merge::Selection(x)) => Some(x),
                    _ => None,
                };
                return self.branch(b, c, t, f, merge);
            }
            S::Switch => return self.switch(b, block, i),
            S::Return => self.exit_to_return(self.frames.len())?,
            S::ReturnValue => {
                self.return_value()?;
                self.exit_to_return(self.frames.len())?;
            }
            S::Kill | S::TerminateInvocation => {
                self.emit(Op::Demote, Attrs::None, &[], &[]);
                self.exit_to_return(1)?;
            }
            S::Unreachable => {}
            _ => return self.unsupported(i.name()),
        }
        Ok(None)
    }

    fn exit_to_return(&mut self, depth: usize) -> Result<()> {
        match self.scope_of(Target::Return(depth)) {
            Some(k) => self.exit_to(k),
            None => self.invalid("return outside a function"),
        }
    }

    /// Whether the merge block of a selection needs a scope: it is reached from more than one
    /// place.
    fn needs_scope(&self, merge: Id) -> bool {
        self.scope_of(Target::Block(merge)).is_none()
            && (self.preds(merge) > 1 || (self.preds(merge) == 1 && self.depth > FLAT_DEPTH))
    }

    /// Whether a selection's target is reached from inside of its other side, too: both ways go on
    /// there, in front of the merge block.
    fn is_join(&self, to: Id) -> bool {
        let header =
            self.find_block(to).is_some_and(|b| matches!(b.merge, Some(Merge::Loop { .. })));
        self.scope_of(Target::Block(to)).is_none() && self.preds(to) > 1 + u32::from(header)
    }

    /// Translates a selection by a condition. Returns the block that follows in the same region.
    fn branch(&mut self, b: Id, c: Value, t: Id, f: Id, merge: Option<Id>) -> Result<Option<Id>> {
        let merge = merge.filter(|&m| self.needs_scope(m));
        if let Some(m) = merge {
            self.push_scope(Target::Block(m), ScopeKind::Merge);
        }
        let join = [t, f].into_iter().find(|&x| t != f && self.is_join(x));
        if let Some(j) = join {
            self.push_scope(Target::Block(j), ScopeKind::Merge);
        }
        if t == f {
            self.goto(b, t)?;
        } else {
            let then = self.nested(|cx| cx.goto(b, t))?;
            let els = self.nested(|cx| cx.goto(b, f))?;
            self.emit(Op::If, Attrs::If(then, els), &[c], &[]);
        }
        if let Some(j) = join {
            let left = self.pop_scope();
            self.after(left, &mut |cx| cx.chain(j))?;
        }
        match merge {
            Some(m) => {
                let left = self.pop_scope();
                self.follow(left, m)
            }
            None => Ok(None),
        }
    }

    // ---- switch ----

    /// Translates a switch. Returns the block that follows in the same region.
    fn switch(&mut self, b: Id, block: &Block, i: Inst) -> Result<Option<Id>> {
        let m = self.m;
        let sel = self.arg_ssa(0)?;
        let ty = self.s.ty(sel);
        if !ty.is_scalar() || ty.bits() == 1 {
            return self.invalid("the selector is not an integer");
        }
        let default = m.op(&i, 1)?;
        let per = if ty.bits() == 64 { 3 } else { 2 };
        let merge = match block.merge {
            Some(Merge::Selection(x)) => Some(x),
            _ => None,
        };
        // Targets in order, each with the literals that select it.
        let mut targets: Vec<(Id, Vec<u64>)> = Vec::new();
        let mut place: IdMap<usize> = IdMap::default();
        for c in m.ops(&i)[2..].chunks(per) {
            let &[lo, .., label] = c else { return self.invalid("a case without target") };
            let lit = u64::from(lo) | if per == 3 { u64::from(c[1]) << 32 } else { 0 };
            let at = *place.entry(label).or_insert_with(|| {
                targets.push((label, Vec::new()));
                targets.len() - 1
            });
            targets[at].1.push(lit & ty.mask());
        }
        let d = *place.entry(default).or_insert_with(|| {
            targets.push((default, Vec::new()));
            targets.len() - 1
        });
        // Conditions, evaluated before anything else so that they stay visible.
        let mut any = self.konst(Type::B1, 0);
        let mut conds = Vec::with_capacity(targets.len());
        for (_, lits) in &targets {
            let mut c = self.konst(Type::B1, 0);
            for &l in lits {
                let l = self.konst(ty, l);
                let e = self.alu(Op::IEq, &[sel, l])?;
                c = if self.s.as_const(c) == Some(0) { e } else { self.alu(Op::IOr, &[c, e])? };
            }
            any = if self.s.as_const(any) == Some(0) { c } else { self.alu(Op::IOr, &[any, c])? };
            conds.push(c);
        }
        // Literals of the default's own label need no test: whatever no other target takes is its.
        let mut others = self.konst(Type::B1, 0);
        for (n, &c) in conds.iter().enumerate() {
            if n != d {
                others = if self.s.as_const(others) == Some(0) {
                    c
                } else {
                    self.alu(Op::IOr, &[others, c])?
                };
            }
        }
        conds[d] = self.alu(Op::INot, &[others])?;
        // Chains of cases that fall into each other.
        let labels: Vec<Id> = targets.iter().map(|t| t.0).collect();
        let mut next = vec![None; labels.len()];
        let mut entered = vec![false; labels.len()];
        for (n, &l) in labels.iter().enumerate() {
            if Some(l) == merge || self.scope_of(Target::Block(l)).is_some() {
                continue;
            }
            if let Some(to) = self.falls_into(l, &place, merge)? {
                if std::mem::replace(&mut entered[to], true) {
                    return self.invalid("two cases fall into the same case");
                }
                next[n] = Some(to);
            }
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut last = None;
        let mut placed = 0;
        for (n, &is_entered) in entered.iter().enumerate() {
            if is_entered {
                continue;
            }
            let mut g = vec![n];
            while let Some(x) = next[g[g.len() - 1]] {
                g.push(x);
                if g.len() > labels.len() {
                    return self.invalid("cases fall into each other in a circle");
                }
            }
            placed += g.len();
            if g.contains(&d) { last = Some(g) } else { groups.push(g) }
        }
        if placed != labels.len() {
            return self.invalid("cases fall into each other in a circle");
        }
        groups.extend(last);
        for &l in &labels {
            self.phi_edge(b, l)?;
        }
        let scope = merge.filter(|&x| self.scope_of(Target::Block(x)).is_none());
        if let Some(x) = scope {
            self.push_scope(Target::Block(x), ScopeKind::Merge);
        }
        if groups.len() <= 12 {
            self.groups(&labels, &conds, &groups)?;
        } else {
            // Side by side: the selector matches one of them only. Deep nesting is worse than the
            // tests.
            for g in &groups {
                let c = self.group_cond(&conds, g)?;
                let then = self.nested(|cx| cx.group(&labels, &conds, g, g.len() - 1))?;
                let els = self.nested(|_| Ok(()))?;
                self.emit(Op::If, Attrs::If(then, els), &[c], &[]);
            }
        }
        match scope {
            Some(x) => {
                let left = self.pop_scope();
                self.follow(left, x)
            }
            None => Ok(None),
        }
    }

    fn group_cond(&mut self, conds: &[Value], g: &[usize]) -> Result<Value> {
        let mut c = conds[g[0]];
        for &n in &g[1..] {
            c = self.alu(Op::IOr, &[c, conds[n]])?;
        }
        Ok(c)
    }

    /// An if-else chain over groups of cases; the last needs no test.
    fn groups(&mut self, labels: &[Id], conds: &[Value], groups: &[Vec<usize>]) -> Result<()> {
        let Some((g, more)) = groups.split_first() else { return Ok(()) };
        if more.is_empty() {
            return self.group(labels, conds, g, g.len() - 1);
        }
        let c = self.group_cond(conds, g)?;
        let then = self.nested(|cx| cx.group(labels, conds, g, g.len() - 1))?;
        let els = self.nested(|cx| cx.groups(labels, conds, more))?;
        self.emit(Op::If, Attrs::If(then, els), &[c], &[]);
        Ok(())
    }

    /// Cases `g[..=k]`, of which each falls into the next.
    fn group(&mut self, labels: &[Id], conds: &[Value], g: &[usize], k: usize) -> Result<()> {
        let label = labels[g[k]];
        let enter = |cx: &mut Self| match cx.scope_of(Target::Block(label)) {
            Some(s) => cx.exit_to(s),
            None => cx.chain(label),
        };
        let mut run = |cx: &mut Self| {
            // Values of a later case of the chain jump directly to it.
            let later = &g[k + 1..];
            if later.is_empty() {
                return enter(cx);
            }
            let c = cx.group_cond(conds, later)?;
            let skip = cx.nested(|cx| cx.jump_to(labels[later[0]]))?;
            let here = cx.nested(enter)?;
            cx.emit(Op::If, Attrs::If(skip, here), &[c], &[]);
            Ok(())
        };
        if k == 0 {
            return run(self);
        }
        self.push_scope(Target::Block(label), ScopeKind::Merge);
        self.group(labels, conds, g, k - 1)?;
        let left = self.pop_scope();
        self.after(left, &mut run)
    }

    fn jump_to(&mut self, label: Id) -> Result<()> {
        match self.scope_of(Target::Block(label)) {
            Some(k) => self.exit_to(k),
            None => self.invalid("control flow is not structured"),
        }
    }

    /// The other case that the code of case `label` branches to.
    fn falls_into(
        &self,
        label: Id,
        place: &IdMap<usize>,
        merge: Option<Id>,
    ) -> Result<Option<usize>> {
        let mut seen = IdSet::from_iter([label]);
        let mut work = vec![label];
        let mut found = None;
        while let Some(b) = work.pop() {
            let Some(block) = self.find_block(b) else {
                return self.invalid(format!("%{b} is not a block here"));
            };
            for s in successors(self.m, &block) {
                if Some(s) == merge || self.scope_of(Target::Block(s)).is_some() {
                    continue;
                }
                match place.get(&s) {
                    Some(&n) if s != label => {
                        if found.is_some_and(|f| f != n) {
                            return self.invalid("a case falls into two other cases");
                        }
                        found = Some(n);
                    }
                    _ => {
                        if seen.insert(s) {
                            work.push(s);
                        }
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Blocks that a block branches to, each once.
fn successors(m: &crate::module::Module, b: &Block) -> Vec<Id> {
    let i = &m.insts[b.term as usize];
    let ops = m.ops(i);
    let mut out: Vec<Id> = match i.op {
        S::Branch => ops.iter().copied().take(1).collect(),
        S::BranchConditional => ops.iter().copied().skip(1).take(2).collect(),
        S::Switch => {
            // Labels follow literals of 1 or 2 words; the width follows from the number of words
            // and the selector's type.
            let wide = ops.first().and_then(|s| m.result_ty.get(s)).is_some_and(|t| {
                m.globals
                    .iter()
                    .any(|g| g.id == *t && g.op == S::TypeInt && m.ops(g).first() == Some(&64))
            });
            let per = if wide { 3 } else { 2 };
            let cases = ops.get(2..).unwrap_or(&[]).chunks_exact(per).map(|c| c[per - 1]);
            ops.get(1).copied().into_iter().chain(cases).collect()
        }
        _ => Vec::new(),
    };
    out.sort_unstable();
    out.dedup();
    out
}

/// Number of predecessors of each block, among reachable blocks.
fn predecessors(m: &crate::module::Module, blocks: &IdMap<Block>, entry: Id) -> IdMap<u32> {
    let mut count: IdMap<u32> = IdMap::default();
    let mut work = vec![entry];
    let mut seen = IdSet::from_iter([entry]);
    while let Some(b) = work.pop() {
        let Some(block) = blocks.get(&b) else { continue };
        for s in successors(m, block) {
            *count.entry(s).or_default() += 1;
            if seen.insert(s) {
                work.push(s);
            }
        }
    }
    count
}
