//! Utilities of passes: a map of replaced values, and constants at the start of the root region.

use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{Attrs, Inst, Op, Shader, Type, Value};

/// Replacements of values.
#[derive(Default)]
pub struct Renames {
    to: SecondaryMap<Value, PackedOption<Value>>,
    any: bool,
}

impl Renames {
    /// Replaces `old` by `new` from now on.
    pub fn set(&mut self, old: Value, new: Value) {
        if old != new {
            self.to[old] = new.into();
            self.any = true;
        }
    }

    /// The final replacement of `v`.
    #[must_use]
    pub fn get(&self, mut v: Value) -> Value {
        while let Some(n) = self.to[v].expand() {
            v = n;
        }
        v
    }

    /// Whether nothing was replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// Rewrites an instruction's operands.
    pub fn apply(&self, s: &mut Shader, inst: Inst) {
        if self.any {
            for a in s.args_mut(inst) {
                *a = self.get(*a);
            }
        }
    }

    /// Rewrites every operand of the shader.
    pub fn apply_all(&self, s: &mut Shader) {
        if !self.any {
            return;
        }
        let mut all = Vec::new();
        s.walk(|_, _, i| all.push(i));
        for i in all {
            self.apply(s, i);
        }
    }
}

/// Constants by bit size and value. New ones are put at the head of the root region by
/// [`Consts::finish`].
#[derive(Default)]
pub struct Consts {
    /// New constants at the start of the root region, which `known` does not hold yet.
    head: Vec<Inst>,
    known: FxHashMap<(u8, u64), Value>,
    undefs: FxHashMap<Type, Value>,
    new: Vec<Inst>,
    /// New vectors, which are placed after the scalars at the start of the root region.
    vecs: Vec<Inst>,
}

impl Consts {
    /// Collects the constants of the root region.
    #[must_use]
    pub fn new(s: &Shader) -> Consts {
        // Constants further down do not reach everything.
        let insts = s.regions[s.root].insts.iter().copied();
        let head = insts
            .take_while(|&i| matches!(s.insts[i].op, Op::Const | Op::Undef | Op::Vec))
            .filter(|&i| s.insts[i].op == Op::Const)
            .collect();
        Consts { head, ..Consts::default() }
    }

    /// Puts the constants of the head into `known`.
    fn learn(&mut self, s: &Shader) {
        self.known.reserve(self.head.len());
        for i in self.head.drain(..) {
            if let Attrs::Const(bits) = s.insts[i].attrs {
                let r = s.result(i);
                self.known.entry((s.ty(r).bits(), bits)).or_insert(r);
            }
        }
    }

    /// The scalar constant of `ty`'s component size.
    pub fn get(&mut self, s: &mut Shader, ty: Type, bits: u64) -> Value {
        if !self.head.is_empty() {
            self.learn(s);
        }
        let bits = bits & ty.mask();
        if let Some(&v) = self.known.get(&(ty.bits(), bits)) {
            return v;
        }
        let i = s.make_inst(Op::Const, Attrs::Const(bits), &[], &[ty.elem()]);
        self.new.push(i);
        let v = s.result(i);
        self.known.insert((ty.bits(), bits), v);
        v
    }

    /// A constant of `ty`'s shape with the same bits in every component.
    pub fn splat(&mut self, s: &mut Shader, ty: Type, bits: u64) -> Value {
        let c = self.get(s, ty, bits);
        self.vec(s, &[c; Type::MAX_COMPS][..ty.comps() as usize])
    }

    /// A constant of `ty` with these components.
    pub fn comps(&mut self, s: &mut Shader, ty: Type, bits: &[u64]) -> Value {
        let parts: ArrayVec<Value, { Type::MAX_COMPS }> =
            bits.iter().map(|&b| self.get(s, ty, b)).collect();
        self.vec(s, &parts)
    }

    /// A vector of constants.
    pub fn vec(&mut self, s: &mut Shader, parts: &[Value]) -> Value {
        if let [one] = parts {
            return *one;
        }
        let ty = s.ty(parts[0]).with_comps(parts.len() as u8);
        let i = s.make_inst(Op::Vec, Attrs::None, parts, &[ty]);
        self.vecs.push(i);
        s.result(i)
    }

    /// An undefined value.
    pub fn undef(&mut self, s: &mut Shader, ty: Type) -> Value {
        if let Some(&v) = self.undefs.get(&ty) {
            return v;
        }
        let i = s.make_inst(Op::Undef, Attrs::None, &[], &[ty]);
        self.new.push(i);
        let v = s.result(i);
        self.undefs.insert(ty, v);
        v
    }

    /// Puts the new constants in place.
    pub fn finish(self, s: &mut Shader) {
        if self.new.is_empty() && self.vecs.is_empty() {
            return;
        }
        let root = s.root;
        let insts = &s.regions[root].insts;
        let head = insts
            .iter()
            .take_while(|&&i| matches!(s.insts[i].op, Op::Const | Op::Undef | Op::Vec))
            .count();
        s.regions[root].insts.splice(head..head, self.vecs);
        s.regions[root].insts.splice(0..0, self.new);
    }
}

/// Appends `op` with one result to `out`.
pub(crate) fn push(
    s: &mut Shader,
    out: &mut Vec<Inst>,
    like: Inst,
    op: Op,
    attrs: Attrs,
    args: &[Value],
    ty: Type,
) -> Value {
    let i = s.make_inst(op, attrs, args, &[ty]);
    s.insts[i].loc = s.insts[like].loc;
    s.insts[i].flags = s.insts[like].flags;
    out.push(i);
    s.result(i)
}
