//! Emits instructions into the current region, with constant folding; constants and vectors at the
//! start of the root region; variables.

use super::{Cx, Value32, float_size};
use crate::error::Result;
use crate::value::Val;
use arrayvec::ArrayVec;
use tepui_ir::{Attrs, InstFlags, Op, Type, Value, Var, VarData};

impl Cx<'_> {
    /// A value that may be used in the current region: through a variable when it was defined in a
    /// region that is closed.
    fn visible(&mut self, v: Value) -> Value {
        if self.open[self.home[v]] {
            return v;
        }
        let ty = self.s.ty(v);
        let var = match self.demoted.get(&Value32(v)) {
            Some(&var) => var,
            None => {
                let name = self.s.names[v].as_deref().unwrap_or_default().to_owned();
                let var = self.s.vars.push(VarData { ty, len: None, name });
                self.demoted.insert(Value32(v), var);
                var
            }
        };
        self.emit1(Op::LoadVar, Attrs::Var(var), &[], ty)
    }

    /// Appends an instruction.
    pub fn emit(&mut self, op: Op, attrs: Attrs, args: &[Value], tys: &[Type]) -> tepui_ir::Inst {
        if !args.iter().all(|&a| self.open[self.home[a]]) {
            let seen: Vec<Value> = args.iter().map(|&a| self.visible(a)).collect();
            return self.emit(op, attrs, &seen, tys);
        }
        let inst = self.s.make_inst(op, attrs, args, tys);
        self.s.insts[inst].loc = self.loc;
        self.s.insts[inst].flags = self.flags | self.float_flags(op, args, tys);
        // Code after a terminator is dead.
        if !self.ended() {
            self.s.regions[self.region].insts.push(inst);
        }
        for n in 0..tys.len() {
            let r = self.s.results(inst)[n];
            self.home[r] = self.region;
        }
        inst
    }

    /// Whether infinities and NaNs of a value's size must be kept by the current instruction.
    pub fn keeps_special(&self, v: Value) -> bool {
        let flags = self.flags | self.float_flags(Op::FDiv, &[v], &[]);
        flags.contains(InstFlags::STRICT)
            || self.s.info.float_controls(self.s.ty(v).bits()).is_some_and(|f| f.preserve_special)
    }

    /// The float controls of the sizes that a float op reads and writes.
    fn float_flags(&self, op: Op, args: &[Value], tys: &[Type]) -> InstFlags {
        let all = self.default_flags;
        // `FPFastMathMode` on an instruction says it all for this instruction.
        if all.iter().all(|f| f.is_empty()) || self.fast_math || !op.touches_floats() {
            return InstFlags::empty();
        }
        let sizes = args.iter().map(|&a| self.s.ty(a)).chain(tys.iter().copied());
        sizes.filter_map(|t| Some(all[float_size(t.bits())?])).collect()
    }

    /// Appends an instruction with one result; folds constants.
    pub fn emit1(&mut self, op: Op, attrs: Attrs, args: &[Value], ty: Type) -> Value {
        if op == Op::Vec && args.iter().all(|&a| self.s.is_const(a)) {
            return self.const_vec(args, ty);
        }
        if let Some(bits) = self.s.fold(op, &attrs, args, ty) {
            let parts: ArrayVec<Value, { Type::MAX_COMPS }> =
                bits.iter().map(|&c| self.konst(ty, c)).collect();
            return if let [one] = parts[..] { one } else { self.const_vec(&parts, ty) };
        }
        let inst = self.emit(op, attrs, args, &[ty]);
        self.s.result(inst)
    }

    /// One operand, result type given.
    pub fn op1(&mut self, op: Op, a: Value, ty: Type) -> Value {
        self.emit1(op, Attrs::None, &[a], ty)
    }

    /// An op whose result type follows from its operands.
    pub fn alu(&mut self, op: Op, args: &[Value]) -> Result<Value> {
        match tepui_ir::builder::infer(&self.s, op, args) {
            Some(ty) => Ok(self.emit1(op, Attrs::None, args, ty)),
            None => self.invalid(format!("the operands do not fix the type of {}", op.name())),
        }
    }

    /// Component `i`, looking through `vec`.
    pub fn extract(&mut self, v: Value, i: u32) -> Value {
        let ty = self.s.ty(v);
        if ty.is_scalar() {
            return v;
        }
        if let Some(inst) = self.s.def_inst(v)
            && self.s.insts[inst].op == Op::Vec
        {
            return self.s.arg(inst, i as usize);
        }
        self.emit1(Op::Extract, Attrs::Index(i), &[v], ty.elem())
    }

    /// All components.
    pub fn split(&mut self, v: Value) -> Vec<Value> {
        (0..u32::from(self.s.ty(v).comps())).map(|i| self.extract(v, i)).collect()
    }

    /// A vector of scalars.
    pub fn vec(&mut self, parts: &[Value]) -> Result<Value> {
        if let [one] = parts {
            return Ok(*one);
        }
        let Some(&first) = parts.first() else { return self.invalid("a vector needs components") };
        let elem = self.s.ty(first);
        if parts.iter().any(|&p| self.s.ty(p) != elem) || !elem.is_scalar() {
            return self.invalid("the components of a vector have different types");
        }
        match Type::new(u32::from(elem.bits()), parts.len() as u32) {
            Some(ty) => Ok(self.emit1(Op::Vec, Attrs::None, parts, ty)),
            None => self.invalid(format!("a vector of {} components", parts.len())),
        }
    }

    /// A scalar constant of the component size of `ty`.
    pub fn konst(&mut self, ty: Type, bits: u64) -> Value {
        let bits = bits & ty.mask();
        if let Some(&v) = self.consts.get(&(ty.bits(), bits)) {
            return v;
        }
        let inst = self.s.make_inst(Op::Const, Attrs::Const(bits), &[], &[ty.elem()]);
        self.prelude.push(inst);
        let v = self.s.result(inst);
        self.consts.insert((ty.bits(), bits), v);
        v
    }

    pub fn u32(&mut self, v: u32) -> Value {
        self.konst(Type::B32, u64::from(v))
    }

    pub fn f32(&mut self, v: f32) -> Value {
        self.u32(v.to_bits())
    }

    pub fn const_val(&mut self, ty: Type, bits: u64) -> Val {
        Val::Ssa(self.konst(ty, bits))
    }

    /// A float constant of the component size of `ty`, splatted to its shape.
    pub fn fconst(&mut self, ty: Type, v: f64) -> Value {
        let bits = match ty.bits() {
            16 => u64::from(half_bits(v)),
            32 => u64::from((v as f32).to_bits()),
            _ => v.to_bits(),
        };
        let c = self.konst(ty, bits);
        self.splat_const(c, ty)
    }

    /// An integer constant splatted to the shape of `ty`.
    pub fn iconst(&mut self, ty: Type, v: u64) -> Value {
        let c = self.konst(ty, v);
        self.splat_const(c, ty)
    }

    pub fn splat_const(&mut self, c: Value, ty: Type) -> Value {
        if ty.is_scalar() { c } else { self.const_vec(&vec![c; ty.comps() as usize], ty) }
    }

    /// A vector of constants in the prelude.
    fn const_vec(&mut self, parts: &[Value], ty: Type) -> Value {
        if let Some(&v) = self.const_vecs.get(parts) {
            return v;
        }
        let inst = self.s.make_inst(Op::Vec, Attrs::None, parts, &[ty]);
        self.prelude.push(inst);
        let v = self.s.result(inst);
        self.const_vecs.insert(parts.to_vec(), v);
        v
    }

    pub fn undef(&mut self, ty: Type) -> Value {
        if let Some(&v) = self.undefs.get(&(ty.bits(), ty.comps())) {
            return v;
        }
        let inst = self.s.make_inst(Op::Undef, Attrs::None, &[], &[ty]);
        self.prelude.push(inst);
        let v = self.s.result(inst);
        self.undefs.insert((ty.bits(), ty.comps()), v);
        v
    }

    /// A scalar repeated to the shape of `ty`.
    pub fn splat(&mut self, v: Value, comps: u8) -> Result<Value> {
        self.vec(&vec![v; comps as usize])
    }

    /// A new variable.
    pub fn var(&mut self, ty: Type, len: Option<u32>, name: &str) -> Var {
        self.s.vars.push(VarData { ty, len, name: name.to_owned() })
    }

    pub fn load_var(&mut self, var: Var) -> Value {
        let ty = self.s.vars[var].ty;
        self.emit1(Op::LoadVar, Attrs::Var(var), &[], ty)
    }

    pub fn store_var(&mut self, var: Var, v: Value) {
        self.emit(Op::StoreVar, Attrs::Var(var), &[v], &[]);
    }
}

fn half_bits(v: f64) -> u16 {
    let (t, mut out) = (Type::B64, Vec::new());
    tepui_ir::op::fold(Op::F2F, &[(t, &[v.to_bits()])], &Attrs::None, &[Type::B16], &mut out);
    out.first().copied().unwrap_or(0) as u16
}
