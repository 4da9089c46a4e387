//! The walk that lowering passes share: visits every instruction in program order, with its
//! operands already replaced, and provides an emitter that appends the replacement.

use crate::edit::{Consts, Renames};
use tepui_ir::{Attrs, Inst, InstFlags, Loc, Op, Region, Shader, Type, Value, builder};

/// The result of lowering an instruction.
pub enum Step {
    /// Keeps the instruction.
    Keep,
    /// Replaces its results by these values and removes it.
    Replace(Vec<Value>),
    /// Removes it; its results are replaced elsewhere, or it has none.
    Remove,
}

/// A lowering.
pub trait Lowering {
    /// Whether the lowering may do something with an instruction; it is asked about no other, and
    /// does not run when there is none.
    fn wants(&self, _s: &Shader, _i: Inst) -> bool {
        true
    }

    /// Looks at an instruction that is wanted, whose regions have not been walked yet.
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step;

    /// Called when the regions of an instruction that stays have been walked, before what follows
    /// it.
    fn after(&mut self, _e: &mut Emit, _i: Inst) {}

    /// Called at the start of each region.
    fn enter(&mut self, _e: &mut Emit, _r: Region) {}
}

/// Walks the shader; true when anything was replaced or removed.
pub fn run(s: &mut Shader, pass: &mut impl Lowering) -> bool {
    if !s.any(|s, _, i| pass.wants(s, i)) {
        return false;
    }
    let mut consts = Consts::new(s);
    let mut w = Walk { names: Renames::default(), changed: false };
    let root = s.root;
    w.region(s, &mut consts, pass, root);
    consts.finish(s);
    w.changed
}

struct Walk {
    names: Renames,
    changed: bool,
}

impl Walk {
    fn region(&mut self, s: &mut Shader, c: &mut Consts, pass: &mut impl Lowering, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out = Vec::with_capacity(insts.len() + insts.len() / 2);
        if let Some(&first) = insts.first() {
            let mut e = Emit::new(s, c, &mut out, first);
            pass.enter(&mut e, r);
        }
        for i in insts {
            self.names.apply(s, i);
            let step = if pass.wants(s, i) {
                pass.inst(&mut Emit::new(s, c, &mut out, i), i)
            } else {
                Step::Keep
            };
            match step {
                Step::Keep => {
                    out.push(i);
                    if s.inst_regions(i).next().is_some() {
                        for q in s.inst_regions(i) {
                            self.region(s, c, pass, q);
                        }
                        let mut e = Emit::new(s, c, &mut out, i);
                        pass.after(&mut e, i);
                    }
                }
                Step::Replace(new) => {
                    self.changed = true;
                    for (old, new) in s.results(i).to_vec().into_iter().zip(new) {
                        debug_assert_eq!(s.ty(old), s.ty(new), "{}", s.insts[i].op.name());
                        s.inherit_name(new, old);
                        self.names.set(old, new);
                    }
                }
                Step::Remove => self.changed = true,
            }
        }
        s.regions[r].insts = out;
    }
}

/// Appends instructions with the location and flags of the one that they replace; folds scalar
/// constants.
pub struct Emit<'a> {
    /// The shader.
    pub s: &'a mut Shader,
    /// Its constants.
    pub consts: &'a mut Consts,
    /// The region so far.
    pub out: &'a mut Vec<Inst>,
    /// Location of new instructions.
    pub loc: Loc,
    /// Flags of new instructions.
    pub flags: InstFlags,
}

impl<'a> Emit<'a> {
    /// An emitter that appends to `out` in the name of `like`.
    pub fn new(
        s: &'a mut Shader,
        consts: &'a mut Consts,
        out: &'a mut Vec<Inst>,
        like: Inst,
    ) -> Emit<'a> {
        let (loc, flags) = (s.insts[like].loc, s.insts[like].flags);
        Emit { s, consts, out, loc, flags }
    }

    /// Type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.s.ty(v)
    }

    /// Appends an instruction with results of the given types.
    pub fn inst(&mut self, op: Op, attrs: Attrs, args: &[Value], tys: &[Type]) -> Inst {
        let i = self.s.make_inst(op, attrs, args, tys);
        self.s.insts[i].loc = self.loc;
        self.s.insts[i].flags = self.flags;
        self.out.push(i);
        i
    }

    /// An instruction with one result.
    pub fn value(&mut self, op: Op, attrs: Attrs, args: &[Value], ty: Type) -> Value {
        if ty.is_scalar()
            && let Some(bits) = self.s.fold(op, &attrs, args, ty)
        {
            return self.konst(ty, bits[0]);
        }
        let i = self.inst(op, attrs, args, &[ty]);
        self.s.result(i)
    }

    /// An op whose result type follows from its operands.
    ///
    /// # Panics
    /// When it does not.
    pub fn op(&mut self, op: Op, args: &[Value]) -> Value {
        let Some(ty) = builder::infer(self.s, op, args) else {
            panic!("{}: the operands do not fix the result type", op.name())
        };
        self.value(op, Attrs::None, args, ty)
    }

    /// A conversion to `ty`.
    pub fn convert(&mut self, op: Op, a: Value, ty: Type) -> Value {
        if matches!(op, Op::U2U | Op::S2S | Op::F2F | Op::Bitcast) && self.ty(a) == ty {
            return a;
        }
        self.value(op, Attrs::None, &[a], ty)
    }

    /// A constant, the same in each component.
    pub fn konst(&mut self, ty: Type, bits: u64) -> Value {
        self.consts.get(self.s, ty, bits)
    }

    /// A 32-bit integer.
    pub fn u32(&mut self, v: u32) -> Value {
        self.konst(Type::B32, u64::from(v))
    }

    /// A 32-bit float.
    pub fn f32(&mut self, v: f32) -> Value {
        self.u32(v.to_bits())
    }

    /// A float constant of the size of `ty`.
    pub fn float(&mut self, ty: Type, x: f64) -> Value {
        self.konst(ty, crate::simplify::float_bits(ty.bits(), x))
    }

    /// Any bits.
    pub fn undef(&mut self, ty: Type) -> Value {
        self.consts.undef(self.s, ty)
    }

    /// One of two values by a scalar condition.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        match self.s.as_const(c) {
            Some(0) => b,
            Some(_) => a,
            None => {
                let n = self.ty(a).comps();
                let c = if n == 1 { c } else { self.vec(&vec![c; n as usize]) };
                self.op(Op::Select, &[c, a, b])
            }
        }
    }

    /// A vector of scalars.
    pub fn vec(&mut self, parts: &[Value]) -> Value {
        if let [one] = parts {
            return *one;
        }
        let ty = self.ty(parts[0]).with_comps(parts.len() as u8);
        let i = self.inst(Op::Vec, Attrs::None, parts, &[ty]);
        self.s.result(i)
    }

    /// Component `k`, looking through `vec`.
    pub fn extract(&mut self, v: Value, k: u32) -> Value {
        let ty = self.ty(v);
        if ty.is_scalar() {
            return v;
        }
        if let Some(d) = self.s.def_inst(v)
            && self.s.insts[d].op == Op::Vec
        {
            return self.s.arg(d, k as usize);
        }
        self.value(Op::Extract, Attrs::Index(k), &[v], ty.elem())
    }

    /// All components.
    pub fn split(&mut self, v: Value) -> Vec<Value> {
        (0..u32::from(self.ty(v).comps())).map(|k| self.extract(v, k)).collect()
    }

    /// An `if` without results.
    pub fn if_then(&mut self, cond: Value, then: impl FnOnce(&mut Emit)) {
        let (a, _) = self.region(
            |e| {
                then(e);
                Vec::new()
            },
            Op::Yield,
        );
        let (b, _) = self.region(|_| Vec::new(), Op::Yield);
        self.inst(Op::If, Attrs::If(a, b), &[cond], &[]);
    }

    /// An `if` with one result, a value from each side.
    pub fn if_else(
        &mut self,
        cond: Value,
        ty: Type,
        then: impl FnOnce(&mut Emit) -> Value,
        other: impl FnOnce(&mut Emit) -> Value,
    ) -> Value {
        let (a, _) = self.region(|e| vec![then(e)], Op::Yield);
        let (b, _) = self.region(|e| vec![other(e)], Op::Yield);
        let i = self.inst(Op::If, Attrs::If(a, b), &[cond], &[ty]);
        self.s.result(i)
    }

    fn region(&mut self, f: impl FnOnce(&mut Emit) -> Vec<Value>, end: Op) -> (Region, Vec<Value>) {
        let mut out = Vec::new();
        let mut e = Emit {
            s: &mut *self.s,
            consts: &mut *self.consts,
            out: &mut out,
            loc: self.loc,
            flags: self.flags,
        };
        let vals = f(&mut e);
        e.inst(end, Attrs::None, &vals, &[]);
        let r = self.s.make_region();
        self.s.regions[r].insts = out;
        (r, vals)
    }

    /// A loop that carries `init`: `test` gives the condition to go on, `body` the next values; the
    /// results are the carried values when it ends.
    pub fn while_(
        &mut self,
        init: &[Value],
        test: impl FnOnce(&mut Emit, &[Value]) -> Value,
        body: impl FnOnce(&mut Emit, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let r = self.s.make_region();
        let tys: Vec<Type> = init.iter().map(|&v| self.ty(v)).collect();
        let params: Vec<Value> = tys.iter().map(|&t| self.s.add_param(r, t)).collect();
        let mut out = Vec::new();
        let mut e = Emit {
            s: &mut *self.s,
            consts: &mut *self.consts,
            out: &mut out,
            loc: self.loc,
            flags: self.flags,
        };
        let on = test(&mut e, &params);
        let (go, _) = e.region(|_| Vec::new(), Op::Yield);
        let (stop, _) = e.region(|_| params.clone(), Op::Break);
        e.inst(Op::If, Attrs::If(go, stop), &[on], &[]);
        let next = body(&mut e, &params);
        e.inst(Op::Continue, Attrs::None, &next, &[]);
        self.s.regions[r].insts = out;
        let i = self.inst(Op::Loop, Attrs::Loop(r), init, &tys);
        self.s.results(i).to_vec()
    }
}
