//! Constants: literals, composites and specialisation constants.

use crate::error::Result;
use crate::ids::Id;
use crate::module::Inst;
use crate::translate::Cx;
use crate::ty::Ty;
use crate::value::Val;
use rspirv::spirv::{Decoration, Op};
use tepui_ir::Type;

impl Cx<'_> {
    /// A composite whose parts are all the same.
    pub fn replicate(&mut self, ty: Id, part: Val) -> Result<Val> {
        match self.types.len(ty) {
            Some(n) if n <= crate::ty::MAX_LEAVES => self.construct(ty, vec![part; n as usize]),
            Some(_) => self.too_large("a composite of so many parts"),
            None => self.invalid("not a composite type"),
        }
    }

    /// Translates a constant declaration.
    pub fn declare_constant(&mut self, i: &Inst) -> Result<()> {
        let ops = self.m.ops(i);
        let val = match i.op {
            Op::ConstantTrue => self.const_val(Type::B1, 1),
            Op::ConstantFalse => self.const_val(Type::B1, 0),
            Op::SpecConstantTrue | Op::SpecConstantFalse => {
                let default = u64::from(i.op == Op::SpecConstantTrue);
                let v = self.spec_value(i.id).map_or(default, |v| u64::from(v != 0));
                self.const_val(Type::B1, v)
            }
            Op::Constant | Op::SpecConstant => {
                let ty = self.ir_ty(i.ty)?;
                if !ty.is_scalar() || ty.bits() == 1 {
                    return self.invalid("a literal constant is an integer or float scalar");
                }
                let lo = u64::from(self.m.op(i, 0)?);
                let mut bits =
                    if ty.bits() == 64 { lo | (u64::from(self.m.op(i, 1)?) << 32) } else { lo };
                if i.op == Op::SpecConstant
                    && let Some(v) = self.spec_value(i.id)
                {
                    bits = v;
                }
                self.const_val(ty, bits & ty.mask())
            }
            Op::ConstantNull => self.null(i.ty)?,
            Op::Undef => self.undef_val(i.ty)?,
            Op::ConstantComposite | Op::SpecConstantComposite => {
                let parts = ops.iter().map(|&o| self.val(o)).collect::<Result<Vec<_>>>()?;
                self.construct(i.ty, parts)?
            }
            Op::ConstantCompositeReplicateEXT | Op::SpecConstantCompositeReplicateEXT => {
                let part = self.arg(0)?;
                self.replicate(i.ty, part)?
            }
            Op::SpecConstantOp => {
                let Some(op) = Op::from_u32(self.m.op(i, 0)?) else {
                    return self.unsupported(format!("OpSpecConstantOp of opcode {}", ops[0]));
                };
                // Emission folds it; what does not fold is placed at the start of the shader.
                self.alu_inst(*i, op, 1)?
            }
            _ => return self.unsupported(format!("constant {}", i.name())),
        };
        self.globals.insert(i.id, val);
        Ok(())
    }

    fn spec_value(&self, id: Id) -> Option<u64> {
        let spec = self.m.decoration(id, Decoration::SpecId)?;
        self.options.spec.iter().find(|s| s.0 == spec).map(|s| s.1)
    }

    /// The zero of a type.
    pub fn null(&mut self, ty: Id) -> Result<Val> {
        if let Some(t) = self.types.ir(ty) {
            let c = self.konst(t.elem(), 0);
            return Ok(Val::Ssa(self.splat_const(c, t)));
        }
        match self.ty(ty)?.clone() {
            Ty::Pointer { .. } => self.null_pointer(ty),
            t => {
                let _ = t;
                self.each_element(ty, |cx, e, _| cx.null(e))
            }
        }
    }

    /// An undefined value of a type.
    pub fn undef_val(&mut self, ty: Id) -> Result<Val> {
        if let Some(t) = self.types.ir(ty) {
            return Ok(Val::Ssa(self.undef(t)));
        }
        match self.ty(ty)? {
            Ty::Pointer { .. } => self.null_pointer(ty),
            Ty::Void => Ok(Val::Void),
            _ => self.each_element(ty, |cx, e, _| cx.undef_val(e)),
        }
    }
}
