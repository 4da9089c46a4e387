//! Constant folding, algebraic simplification and value numbering in one walk.
//!
//! The operands of each instruction are replaced by their simplified values; then the instruction
//! is folded if all are constants, rewritten by the first rule of [`mod@crate::rules`] that
//! matches, or replaced by an equal instruction that dominates it.

use crate::edit::{Consts, Renames};
use crate::rules::{BY_OP, Expr, Rule, commutes};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use tepui_ir::op::fold;
use tepui_ir::{Access, Attrs, Builtin, Inst, Op, Props, Region, Shader, Stage, Type, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut p = Simplify {
        consts: Consts::new(s),
        names: Renames::default(),
        table: FxHashMap::with_capacity_and_hasher(
            s.regions[s.root].insts.len(),
            Default::default(),
        ),
        undo: Vec::new(),
        group: FxHashMap::default(),
        changed: false,
    };
    let root = s.root;
    p.region(s, root);
    p.consts.finish(s);
    p.changed
}

struct Simplify {
    consts: Consts,
    names: Renames,
    /// Instructions in sight by the hash of what they compute. Two that differ and share a hash:
    /// the first stays.
    table: FxHashMap<u64, Inst>,
    /// Hashes entered, to leave with their region.
    undo: Vec<u64>,
    /// Version of `table` for ops across lanes: valid only while the same lanes are active.
    group: FxHashMap<u64, Inst>,
    changed: bool,
}

/// Whether two of these in sight of each other are one.
fn numbered(s: &Shader, i: Inst) -> bool {
    let d = &s.insts[i];
    if s.results(i).len() != 1 || d.op == Op::Undef {
        return false;
    }
    match d.attrs {
        Attrs::Mem(m) if matches!(d.op, Op::LoadBuffer | Op::LoadGlobal) => {
            m.access.contains(Access::CONST) && !m.access.contains(Access::VOLATILE)
        }
        _ => d.op.is_pure() && !d.op.props().contains(Props::CONVERGENT),
    }
}

/// Whether two of these are one when the same lanes come to both.
fn grouped(s: &Shader, i: Inst) -> bool {
    let op = s.insts[i].op;
    s.results(i).len() == 1 && op.is_pure() && op.props().contains(Props::CONVERGENT)
}

/// Whether an instruction may deactivate lanes.
fn parts(s: &Shader, i: Inst) -> bool {
    matches!(s.insts[i].op, Op::If | Op::Loop | Op::Demote | Op::DemoteIf)
}

impl Simplify {
    fn region(&mut self, s: &mut Shader, r: Region) {
        let mark = self.undo.len();
        let outer = std::mem::take(&mut self.group);
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out = Vec::with_capacity(insts.len());
        for i in insts {
            self.names.apply(s, i);
            if s.inst_regions(i).next().is_some() {
                for inner in s.inst_regions(i) {
                    self.region(s, inner);
                }
                out.push(i);
                self.group.clear();
                continue;
            }
            let before = out.len();
            if grouped(s, i) {
                match self.group.entry(hash(s, i)) {
                    Entry::Occupied(e) if same(s, *e.get(), i) => {
                        self.changed = true;
                        self.names.set(s.result(i), s.result(*e.get()));
                        continue;
                    }
                    Entry::Occupied(_) => {}
                    Entry::Vacant(e) => {
                        e.insert(i);
                    }
                }
            } else if parts(s, i) {
                self.group.clear();
            }
            match self.value(s, i, &mut out, 0) {
                Some(v) => {
                    self.changed = true;
                    let r = s.result(i);
                    s.inherit_name(v, r);
                    self.names.set(r, v);
                }
                None => {
                    debug_assert_eq!(before, out.len());
                    out.push(i);
                }
            }
        }
        s.regions[r].insts = out;
        self.group = outer;
        if r != s.root {
            for k in self.undo.drain(mark..) {
                self.table.remove(&k);
            }
        }
    }

    /// The replacement of the instruction, if there is one. New instructions go to `out`.
    fn value(&mut self, s: &mut Shader, i: Inst, out: &mut Vec<Inst>, depth: u32) -> Option<Value> {
        let op = s.insts[i].op;
        if !numbered(s, i) {
            return None;
        }
        if let Some(v) = self.fold(s, i) {
            return Some(v);
        }
        match op {
            Op::LoadConstant => {
                if let Some(comps) = known_data(s, i) {
                    let ty = s.ty(s.result(i));
                    return Some(self.consts.comps(s, ty, &comps));
                }
            }
            Op::LoadBuiltin => {
                if let Some(comps) = known_builtin(s, i) {
                    let ty = s.ty(s.result(i));
                    return Some(self.consts.comps(s, ty, &comps));
                }
            }
            Op::IAnd => {
                // The added value has no bits under the mask.
                if let Some(m) = s.as_const(s.arg(i, 1))
                    && m.checked_add(1).is_some_and(u64::is_power_of_two)
                    && let Some(d) = s.def_inst(s.arg(i, 0))
                    && s.insts[d].op == Op::IAdd
                    && s.as_const(s.arg(d, 1)).is_some_and(|c| c & m == 0)
                {
                    let x = s.arg(d, 0);
                    s.args_mut(i)[0] = x;
                    self.changed = true;
                }
            }
            Op::UMin => {
                let args = [s.arg(i, 0), s.arg(i, 1)];
                for [x, bound] in [args, [args[1], args[0]]] {
                    if let (Some(most), Some(bound)) = (most(s, x), s.as_const(bound))
                        && most <= bound
                    {
                        return Some(x);
                    }
                }
            }
            Op::Extract => {
                if let (Attrs::Index(k), Some(d)) = (s.insts[i].attrs, s.def_inst(s.arg(i, 0)))
                    && s.insts[d].attrs == Attrs::Builtin(Builtin::LocalInvocationId)
                    && s.info.stage == Stage::Compute
                    && s.info.workgroup_size.get(k as usize) == Some(&1)
                {
                    let ty = s.ty(s.result(i));
                    return Some(self.consts.get(s, ty, 0));
                }
                if let (Attrs::Index(k), Some(d)) = (s.insts[i].attrs, s.def_inst(s.arg(i, 0)))
                    && s.insts[d].op == Op::Vec
                {
                    return Some(s.arg(d, k as usize));
                }
            }
            Op::Vec => {
                // All components of one vector in order: the vector itself.
                let from = |v: Value, k: usize| {
                    let d = s.def_inst(v)?;
                    (s.insts[d].op == Op::Extract && s.insts[d].attrs == Attrs::Index(k as u32))
                        .then(|| s.arg(d, 0))
                };
                let args = s.args(i);
                if let Some(v) = from(args[0], 0)
                    && s.ty(v) == s.ty(s.result(i))
                    && (1..args.len()).all(|k| from(args[k], k) == Some(v))
                {
                    return Some(v);
                }
            }
            Op::Bitcast | Op::S2S | Op::U2U | Op::F2F => {
                let a = s.arg(i, 0);
                if s.ty(a) == s.ty(s.result(i)) {
                    return Some(a);
                }
                if op == Op::Bitcast
                    && let Some(d) = s.def_inst(a)
                    && s.insts[d].op == Op::Bitcast
                    && s.ty(s.arg(d, 0)) == s.ty(s.result(i))
                {
                    return Some(s.arg(d, 0));
                }
            }
            Op::ExtractDyn => {
                if let Some(k) = s.as_const(s.arg(i, 1)) {
                    let (v, ty) = (s.arg(i, 0), s.ty(s.result(i)));
                    if k < u64::from(s.ty(v).comps()) && !s.ty(v).is_scalar() {
                        return Some(self.emit(
                            s,
                            i,
                            Op::Extract,
                            Attrs::Index(k as u32),
                            &[v],
                            ty,
                            out,
                            depth,
                        ));
                    }
                }
            }
            _ => {}
        }
        let rules = &BY_OP[op as usize];
        if depth < 8 && !rules.rules.is_empty() {
            for rule in rules.for_operands(s, s.args(i)) {
                let mut binds = [None; 4];
                if self.matches_inst(s, rule, &rule.from, i, &mut binds)
                    && still_flushes(s, i, &rule.to, &binds)
                {
                    let ty = s.ty(s.result(i));
                    return Some(self.build(s, i, &rule.to, &binds, ty, out, depth + 1));
                }
            }
        }
        // Operands of commutative ops in one order: constants last.
        if commutes(op) {
            let args = s.args(i);
            let (ca, cb) = (s.is_const(args[0]), s.is_const(args[1]));
            if (ca && !cb) || (ca == cb && args[0] > args[1]) {
                s.args_mut(i).swap(0, 1);
            }
        }
        let key = hash(s, i);
        match self.table.entry(key) {
            Entry::Occupied(e) => same(s, *e.get(), i).then(|| s.result(*e.get())),
            Entry::Vacant(e) => {
                e.insert(i);
                self.undo.push(key);
                None
            }
        }
    }

    fn fold(&mut self, s: &mut Shader, i: Inst) -> Option<Value> {
        let d = &s.insts[i];
        if d.op == Op::Vec {
            return None;
        }
        let ty = s.ty(s.result(i));
        let bits = s.fold(d.op, &d.attrs, s.args(i), ty)?;
        Some(self.consts.comps(s, ty, &bits))
    }

    fn matches_inst(
        &self,
        s: &Shader,
        rule: &Rule,
        e: &Expr,
        i: Inst,
        binds: &mut [Option<Value>; 4],
    ) -> bool {
        let Expr::Op(op, pats) = e else { return false };
        let d = &s.insts[i];
        if d.op != *op || !rule.allowed(d.flags, s.ty(s.result(i)).bits()) {
            return false;
        }
        let args = s.args(i);
        if pats.len() != args.len() {
            return false;
        }
        let saved = *binds;
        if pats.iter().zip(args).all(|(p, &a)| self.matches(s, rule, p, a, binds)) {
            return true;
        }
        *binds = saved;
        if commutes(*op) && args.len() >= 2 {
            let swapped = [args[1], args[0]].into_iter().chain(args[2..].iter().copied());
            if pats.iter().zip(swapped).all(|(p, a)| self.matches(s, rule, p, a, binds)) {
                return true;
            }
            *binds = saved;
        }
        false
    }

    fn matches(
        &self,
        s: &Shader,
        rule: &Rule,
        e: &Expr,
        v: Value,
        binds: &mut [Option<Value>; 4],
    ) -> bool {
        let mut bind = |n: u8| match binds[n as usize] {
            Some(b) => b == v,
            None => {
                binds[n as usize] = Some(v);
                true
            }
        };
        match e {
            Expr::Var(n) => bind(*n),
            Expr::Const(n) => s.is_const(v) && bind(*n),
            Expr::Pow2(n) => s.const_all(v, &u64::is_power_of_two) && bind(*n),
            Expr::Int(x) => {
                let m = s.ty(v).mask();
                s.const_all(v, &|b| b == *x as u64 & m)
            }
            Expr::Float(x) => {
                s.is_const(v) && {
                    let want = float_bits(s.ty(v).bits(), *x);
                    s.const_all(v, &|b| b == want)
                }
            }
            Expr::Op(..) => s.def_inst(v).is_some_and(|d| self.matches_inst(s, rule, e, d, binds)),
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "the place, the rule's side, its bindings and where it goes"
    )]
    fn build(
        &mut self,
        s: &mut Shader,
        like: Inst,
        e: &Expr,
        binds: &[Option<Value>; 4],
        ty: Type,
        out: &mut Vec<Inst>,
        depth: u32,
    ) -> Value {
        match e {
            Expr::Var(n) | Expr::Const(n) | Expr::Pow2(n) => match binds[*n as usize] {
                Some(v) => v,
                None => self.consts.undef(s, ty),
            },
            Expr::Int(x) => self.consts.splat(s, ty, *x as u64 & ty.mask()),
            Expr::Float(x) => self.consts.splat(s, ty, float_bits(ty.bits(), *x)),
            Expr::Op(op, args) => {
                // The type of a constant operand is that of its sibling, or of the whole.
                let first = args.iter().find_map(|a| match a {
                    Expr::Var(n) | Expr::Const(n) | Expr::Pow2(n) => {
                        binds[*n as usize].map(|v| s.ty(v))
                    }
                    _ => None,
                });
                let arg_ty = if first.is_some_and(|t| t.bits() == 1) && ty.bits() != 1 {
                    ty
                } else {
                    first.unwrap_or(ty)
                };
                let vals: Vec<Value> = args
                    .iter()
                    .map(|a| self.build(s, like, a, binds, arg_ty, out, depth))
                    .collect();
                let t = tepui_ir::builder::infer(s, *op, &vals).unwrap_or(ty);
                self.emit(s, like, *op, Attrs::None, &vals, t, out, depth)
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "an instruction's parts and where it goes")]
    fn emit(
        &mut self,
        s: &mut Shader,
        like: Inst,
        op: Op,
        attrs: Attrs,
        args: &[Value],
        ty: Type,
        out: &mut Vec<Inst>,
        depth: u32,
    ) -> Value {
        let i = s.make_inst(op, attrs, args, &[ty]);
        s.insts[i].loc = s.insts[like].loc;
        s.insts[i].flags = s.insts[like].flags;
        match self.value(s, i, out, depth + 1) {
            Some(v) => v,
            None => {
                out.push(i);
                s.result(i)
            }
        }
    }
}

/// Built-ins that the size of the workgroup tells.
fn known_builtin(s: &Shader, i: Inst) -> Option<Vec<u64>> {
    let (Attrs::Builtin(b), Stage::Compute) = (s.insts[i].attrs, s.info.stage) else { return None };
    let size = s.info.workgroup_size;
    match b {
        Builtin::WorkgroupSize => Some(size.map(u64::from).to_vec()),
        Builtin::LocalInvocationIndex if size == [1; 3] => Some(vec![0]),
        _ => None,
    }
}

/// The largest value that an unsigned scalar can have, where its definition says so.
fn most(s: &Shader, v: Value) -> Option<u64> {
    let d = s.def_inst(v).filter(|_| s.ty(v).is_scalar())?;
    match s.insts[d].op {
        Op::IAnd | Op::UMin => s.as_const(s.arg(d, 1)).or_else(|| s.as_const(s.arg(d, 0))),
        Op::UShr => {
            let all = u64::MAX >> (64 - u32::from(s.ty(v).bits()));
            Some(all >> (s.as_const(s.arg(d, 1))? % u64::from(s.ty(v).bits())))
        }
        Op::U2U => {
            let from = s.ty(s.arg(d, 0)).bits();
            (from < s.ty(v).bits()).then(|| u64::MAX >> (64 - u32::from(from)))
        }
        _ => None,
    }
}

/// The components of a load from the constant data at a constant offset.
fn known_data(s: &Shader, i: Inst) -> Option<Vec<u64>> {
    let Attrs::Mem(m) = s.insts[i].attrs else { return None };
    let at = (s.as_const(s.arg(i, 0))? as u32).wrapping_add(m.offset as u32) as usize;
    let ty = s.ty(s.result(i));
    let bytes = ty.elem_bytes() as usize;
    let all = s.data.get(at..)?.get(..bytes * usize::from(ty.comps()))?;
    let number = |b: &[u8]| b.iter().rev().fold(0, |a, &x| a << 8 | u64::from(x));
    Some(all.chunks(bytes).map(number).collect())
}

fn hash(s: &Shader, i: Inst) -> u64 {
    let (d, mut h) = (&s.insts[i], FxHasher::default());
    (d.op, d.attrs, d.flags, s.args(i), s.ty(s.result(i))).hash(&mut h);
    h.finish()
}

/// Whether two instructions compute the same.
fn same(s: &Shader, a: Inst, b: Inst) -> bool {
    let (x, y) = (&s.insts[a], &s.insts[b]);
    (x.op, x.attrs, x.flags) == (y.op, y.attrs, y.flags)
        && s.args(a) == s.args(b)
        && s.ty(s.result(a)) == s.ty(s.result(b))
}

/// Whether an instruction that must flush denormals is replaced by one that flushes them too.
fn still_flushes(s: &Shader, i: Inst, to: &Expr, binds: &[Option<Value>; 4]) -> bool {
    let mode = s.info.float_controls(s.ty(s.result(i)).bits());
    if !mode.is_some_and(|c| c.denorm_flush) || !s.insts[i].op.may_flush() {
        return true;
    }
    match to {
        Expr::Var(n) | Expr::Const(n) | Expr::Pow2(n) => {
            binds[*n as usize].and_then(|v| s.def_op(v)).is_some_and(Op::may_flush)
        }
        Expr::Op(Op::FNeg | Op::FAbs, args) => still_flushes(s, i, &args[0], binds),
        Expr::Op(op, _) => op.may_flush(),
        Expr::Int(_) | Expr::Float(_) => true,
    }
}

/// The bits of a float constant.
#[must_use]
pub fn float_bits(bits: u8, x: f64) -> u64 {
    let mut out = Vec::new();
    fold(Op::F2F, &[(Type::B64, &[x.to_bits()])], &Attrs::None, &[Type::scalar(bits)], &mut out);
    out.first().copied().unwrap_or(0)
}
