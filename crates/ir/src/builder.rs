//! Builds shaders: appends instructions to a region and infers result types where the op table
//! determines them.

use crate::attrs::{Access, Attrs, Builtin, InstFlags, Mem};
use crate::entity::{Inst, Loc, Region, Res, Value, Var};
use crate::op::{Op, Pat};
use crate::shader::Shader;
use crate::types::Type;

/// Appends to [`Builder::region`]; `loc` and `flags` are given to each new instruction.
///
/// ```
/// use tepui_ir::{Builder, Op, Shader, Stage, Type};
/// let mut shader = Shader::new(Stage::Compute);
/// let mut b = Builder::new(&mut shader);
/// let two = b.f32(2.0);
/// let four = b.binary(Op::FMul, two, two);
/// assert_eq!(b.shader.ty(four), Type::B32);
/// b.finish();
/// tepui_ir::validate(&shader).unwrap();
/// ```
pub struct Builder<'a> {
    /// The shader.
    pub shader: &'a mut Shader,
    /// Region that instructions are appended to.
    pub region: Region,
    /// Location of the next instructions.
    pub loc: Loc,
    /// Flags of the next instructions.
    pub flags: InstFlags,
}

impl<'a> Builder<'a> {
    /// A builder at the end of the root region.
    pub fn new(shader: &'a mut Shader) -> Builder<'a> {
        let region = shader.root;
        Builder::at(shader, region)
    }

    /// A builder at the end of `region`.
    pub fn at(shader: &'a mut Shader, region: Region) -> Builder<'a> {
        Builder { shader, region, loc: Loc::default(), flags: InstFlags::empty() }
    }

    /// Appends an instruction with results of the given types.
    pub fn inst(&mut self, op: Op, attrs: Attrs, args: &[Value], tys: &[Type]) -> Inst {
        let inst = self.shader.make_inst(op, attrs, args, tys);
        self.shader.insts[inst].loc = self.loc;
        self.shader.insts[inst].flags = self.flags;
        self.shader.regions[self.region].insts.push(inst);
        inst
    }

    /// Appends an instruction with one result of type `ty`.
    pub fn value(&mut self, op: Op, attrs: Attrs, args: &[Value], ty: Type) -> Value {
        let inst = self.inst(op, attrs, args, &[ty]);
        self.shader.result(inst)
    }

    /// Appends an instruction without results.
    pub fn effect(&mut self, op: Op, attrs: Attrs, args: &[Value]) -> Inst {
        self.inst(op, attrs, args, &[])
    }

    /// Appends an op without attributes whose result type follows from its operands.
    ///
    /// # Panics
    /// When the op table does not fix the result type (conversions, loads): use [`Builder::value`].
    pub fn alu(&mut self, op: Op, args: &[Value]) -> Value {
        let ty = infer(self.shader, op, args)
            .unwrap_or_else(|| panic!("{}: the operands do not fix the result type", op.name()));
        self.value(op, Attrs::None, args, ty)
    }

    /// [`Builder::alu`] with one operand.
    pub fn unary(&mut self, op: Op, a: Value) -> Value {
        self.alu(op, &[a])
    }

    /// [`Builder::alu`] with two operands.
    pub fn binary(&mut self, op: Op, a: Value, b: Value) -> Value {
        self.alu(op, &[a, b])
    }

    /// A conversion to components of `bits`.
    pub fn convert(&mut self, op: Op, a: Value, bits: u8) -> Value {
        let ty = self.shader.ty(a).with_bits(bits);
        self.value(op, Attrs::None, &[a], ty)
    }

    /// A scalar constant of type `ty` (its low bits are taken).
    pub fn const_bits(&mut self, ty: Type, bits: u64) -> Value {
        self.value(Op::Const, Attrs::Const(bits & ty.mask()), &[], ty.elem())
    }

    /// A 32-bit integer constant.
    pub fn u32(&mut self, v: u32) -> Value {
        self.const_bits(Type::B32, u64::from(v))
    }

    /// A 64-bit integer constant.
    pub fn u64(&mut self, v: u64) -> Value {
        self.const_bits(Type::B64, v)
    }

    /// A 32-bit float constant.
    pub fn f32(&mut self, v: f32) -> Value {
        self.u32(v.to_bits())
    }

    /// A truth value.
    pub fn bool(&mut self, v: bool) -> Value {
        self.const_bits(Type::B1, u64::from(v))
    }

    /// The scalar `bits` repeated to the shape of `ty`.
    pub fn splat_bits(&mut self, ty: Type, bits: u64) -> Value {
        let c = self.const_bits(ty, bits);
        self.splat(c, ty.comps())
    }

    /// The scalar `v` repeated `comps` times.
    pub fn splat(&mut self, v: Value, comps: u8) -> Value {
        if comps == 1 { v } else { self.vec(&vec![v; comps as usize]) }
    }

    /// An undefined value.
    pub fn undef(&mut self, ty: Type) -> Value {
        self.value(Op::Undef, Attrs::None, &[], ty)
    }

    /// A vector of scalars; the scalar itself when there is one.
    ///
    /// # Panics
    /// When there are no scalars or more than 16.
    pub fn vec(&mut self, parts: &[Value]) -> Value {
        if let [one] = parts {
            return *one;
        }
        let ty = self.shader.ty(parts[0]).with_comps(parts.len() as u8);
        self.value(Op::Vec, Attrs::None, parts, ty)
    }

    /// Component `i`; `v` itself when it is scalar. Looks through `vec`.
    pub fn extract(&mut self, v: Value, i: u32) -> Value {
        let ty = self.shader.ty(v);
        if ty.is_scalar() {
            return v;
        }
        if let Some(inst) = self.shader.def_inst(v)
            && self.shader.insts[inst].op == Op::Vec
        {
            return self.shader.arg(inst, i as usize);
        }
        self.value(Op::Extract, Attrs::Index(i), &[v], ty.elem())
    }

    /// All components as scalars.
    pub fn split(&mut self, v: Value) -> Vec<Value> {
        (0..u32::from(self.shader.ty(v).comps())).map(|i| self.extract(v, i)).collect()
    }

    /// `c ? a : b`, with a scalar or component-wise condition.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        let comps = self.shader.ty(a).comps();
        let c = if self.shader.ty(c).comps() == comps { c } else { self.splat(c, comps) };
        self.alu(Op::Select, &[c, a, b])
    }

    /// Reads a variable.
    pub fn load_var(&mut self, var: Var, index: Option<Value>) -> Value {
        let ty = self.shader.vars[var].ty;
        self.value(Op::LoadVar, Attrs::Var(var), index.as_slice(), ty)
    }

    /// Writes a variable.
    pub fn store_var(&mut self, var: Var, value: Value, index: Option<Value>) -> Inst {
        match index {
            Some(i) => self.effect(Op::StoreVar, Attrs::Var(var), &[value, i]),
            None => self.effect(Op::StoreVar, Attrs::Var(var), &[value]),
        }
    }

    /// The handle of element `index` of a resource.
    pub fn descriptor(&mut self, res: Res, index: Value, access: Access) -> Value {
        self.value(Op::Descriptor, Attrs::Res(res, access), &[index], Type::B64)
    }

    /// A load from memory (`op` is one of the loads).
    pub fn load(&mut self, op: Op, mem: Mem, args: &[Value], ty: Type) -> Value {
        self.value(op, Attrs::Mem(mem), args, ty)
    }

    /// A built-in of type `ty`.
    pub fn builtin(&mut self, b: Builtin, ty: Type) -> Value {
        self.value(Op::LoadBuiltin, Attrs::Builtin(b), &[], ty)
    }

    /// Appends an `if`; the regions must already end in terminators. Returns the instruction.
    pub fn if_(&mut self, cond: Value, then: Region, els: Region, tys: &[Type]) -> Inst {
        self.inst(Op::If, Attrs::If(then, els), &[cond], tys)
    }

    /// Appends a `loop`.
    pub fn loop_(&mut self, body: Region, init: &[Value], tys: &[Type]) -> Inst {
        self.inst(Op::Loop, Attrs::Loop(body), init, tys)
    }

    /// Ends the region with `yield`.
    pub fn yield_(&mut self, vals: &[Value]) {
        self.effect(Op::Yield, Attrs::None, vals);
    }

    /// Ends the region with `break`.
    pub fn break_(&mut self, vals: &[Value]) {
        self.effect(Op::Break, Attrs::None, vals);
    }

    /// Ends the region with `continue`.
    pub fn continue_(&mut self, vals: &[Value]) {
        self.effect(Op::Continue, Attrs::None, vals);
    }

    /// Ends the root region.
    pub fn finish(&mut self) {
        self.yield_(&[]);
    }
}

/// The result type of `op` on `args`, when the op table fixes it.
#[must_use]
pub fn infer(shader: &Shader, op: Op, args: &[Value]) -> Option<Type> {
    let info = op.info();
    let t = || {
        info.operands
            .iter()
            .zip(args)
            .find(|(p, _)| matches!(p, Pat::T | Pat::F | Pat::I))
            .or_else(|| info.operands.iter().zip(args).find(|(p, _)| matches!(p, Pat::B | Pat::W)))
            .map(|(_, &a)| shader.ty(a))
    };
    // T seen through a B or W operand is good for its component count only.
    let has_t = info.operands.iter().any(|p| matches!(p, Pat::T | Pat::F | Pat::I));
    match *info.results.first()? {
        Pat::T | Pat::F | Pat::I if has_t => t(),
        Pat::E if has_t => t().map(Type::elem),
        Pat::B => t().map(|t| t.with_bits(1)),
        Pat::W => t().map(|t| t.with_bits(32)),
        Pat::B1 => Some(Type::B1),
        Pat::S32 => Some(Type::B32),
        Pat::S64 | Pat::H => Some(Type::B64),
        Pat::V2 => Some(Type::vec(32, 2)),
        Pat::V4 => Some(Type::vec(32, 4)),
        _ => None,
    }
}
