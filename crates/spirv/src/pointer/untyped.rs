//! Untyped pointers (`SPV_KHR_untyped_pointers`): what an access reads or writes is the access', not the pointer's.
//!
//! A pointer keeps the type of whatever it was made from; an access through a pointer of an untyped type takes its own instead.

use super::low_bit;
use crate::error::Result;
use crate::ids::Id;
use crate::module::Inst;
use crate::translate::Cx;
use crate::ty::{Ty, UNTYPED};
use crate::value::{Place, Ptr, Val};
use rspirv::spirv::{Op as S, StorageClass};
use std::rc::Rc;
use tepui_ir::Type;

/// Maximum number of accesses that a copy of bytes becomes.
const MAX_COPIES: u32 = 1 << 14;

impl Cx<'_> {
    /// Whether a type is that of untyped pointers.
    pub fn is_untyped(&self, ty: Id) -> bool {
        matches!(self.types.get(ty), Some(Ty::Pointer { to: UNTYPED, .. }))
    }

    /// Storage class and type of a module's variable.
    pub fn variable_type(&self, i: &Inst) -> Result<(StorageClass, Id)> {
        let (class, ty) = self.pointee(i.ty)?;
        if i.op != S::UntypedVariableKHR {
            return if ty == UNTYPED {
                self.invalid("OpVariable has a typed pointer")
            } else {
                Ok((class, ty))
            };
        }
        // source: the Vulkan specification, "Validation Rules within a Module", on OpTypeUntypedPointerKHR
        let is_memory = matches!(
            class,
            StorageClass::StorageBuffer
                | StorageClass::Uniform
                | StorageClass::PushConstant
                | StorageClass::Workgroup
        );
        if !is_memory {
            return self.unsupported(format!("an untyped variable in storage class {class:?}"));
        }
        let ty = self.m.op(i, 1)?;
        self.ty(ty)?;
        Ok((class, ty))
    }

    /// The pointer that operand `n` is; to `accessed` if it is untyped.
    pub fn arg_ptr_to(&mut self, n: usize, accessed: Id) -> Result<Ptr> {
        let p = self.arg_ptr(n)?;
        if self.is_untyped(self.arg_ty(n)?) { self.retyped(&p, accessed) } else { Ok((*p).clone()) }
    }

    /// The pointer that operand `n` is, as one to a type whatever its own is.
    pub fn arg_ptr_as(&mut self, n: usize, ty: Id) -> Result<Ptr> {
        let p = self.arg_ptr(n)?;
        self.retyped(&p, ty)
    }

    /// A pointer to the same memory as a value of another type.
    fn retyped(&mut self, p: &Ptr, ty: Id) -> Result<Ptr> {
        self.ty(ty)?;
        if p.ty == ty {
            return Ok(p.clone());
        }
        let is_array = |cx: &Self, ty| {
            matches!(cx.types.get(ty), Some(Ty::Array { .. } | Ty::RuntimeArray { .. }))
        };
        let p = match p.place {
            // Elements of an array of descriptors are blocks of memory of their own.
            Place::Resource { .. } if is_array(self, p.ty) => {
                if !is_array(self, ty) {
                    return self.invalid("an array of descriptors is accessed as something else");
                }
                return Ok(Ptr { ty, ..p.clone() });
            }
            Place::Resource { .. } => self.block_pointer(p)?,
            _ => p.clone(),
        };
        let Place::Mem { space, handle, offset, konst, align, .. } = p.place else {
            return self.unsupported("an untyped pointer to what has no layout in memory");
        };
        // Only structures say how a matrix in them lies.
        let place =
            Place::Mem { space, handle, offset, konst, align, stride: None, row_major: false };
        Ok(Ptr { place, ty, access: p.access })
    }

    /// The shape of a value that one of several values becomes: of untyped pointers, nothing is known but the memory.
    pub fn merged_shape(&self, ty: Id, mut shape: Val) -> Val {
        if self.is_untyped(ty)
            && let Val::Ptr(p) = &mut shape
        {
            let p = Rc::make_mut(p);
            p.ty = UNTYPED;
            if let Place::Mem { align, stride, row_major, .. } = &mut p.place {
                (*align, *stride, *row_major) = (1, None, false);
            }
        }
        shape
    }

    /// The pointers of a copy, of which one may be untyped.
    pub fn copy_args(&mut self) -> Result<(Ptr, Ptr)> {
        let types = [self.arg_ptr(0)?.ty, self.arg_ptr(1)?.ty];
        let [to, from] = [self.is_untyped(self.arg_ty(0)?), self.is_untyped(self.arg_ty(1)?)];
        let ty = match (to, from) {
            (true, true) => return self.invalid("one of the pointers of a copy is typed"),
            (true, false) => types[1],
            (false, _) => types[0],
        };
        Ok((self.arg_ptr_to(0, ty)?, self.arg_ptr_to(1, ty)?))
    }

    /// `OpCopyMemorySized`: copies bytes, in words as large as their alignment allows.
    pub fn copy_bytes(&mut self, given: Option<u32>) -> Result<()> {
        let size = self.arg_const(2)?;
        let [to, from] = [0, 1].map(|n| -> Result<(Ptr, u32)> {
            let mut p = (*self.arg_ptr(n)?).clone();
            if matches!(p.place, Place::Resource { .. }) {
                p = self.block_pointer(&p)?;
            }
            let Place::Mem { konst, align, stride, row_major, .. } = &mut p.place else {
                return self.unsupported("a copy of bytes of what has no layout in memory");
            };
            (*stride, *row_major) = (None, false);
            let align = (*align).min(low_bit(*konst));
            Ok((p, align))
        });
        let ((to, a), (from, b)) = (to?, from?);
        let given = given.filter(|a| a.is_power_of_two()).unwrap_or(1);
        let unit = a.min(b).max(given).min(low_bit(size)).min(4);
        if size / unit > MAX_COPIES {
            return self.too_large(format!("a copy of {size} bytes"));
        }
        let ty = Type::scalar(unit as u8 * 8);
        for at in (0..size).step_by(unit as usize) {
            let [to, from] = [&to, &from].map(|p| {
                let mut p = p.clone();
                if let Place::Mem { konst, .. } = &mut p.place {
                    *konst = konst.wrapping_add(at);
                }
                p
            });
            let v = self.load_mem(&from, ty, None)?;
            self.store_mem(&to, v, None)?;
        }
        Ok(())
    }
}
