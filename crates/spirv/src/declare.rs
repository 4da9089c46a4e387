//! Declarations of types.

use crate::error::Result;
use crate::ids::Id;
use crate::module::Inst;
use crate::translate::Cx;
use crate::ty::{ImageTy, MAX_DEPTH, Ty, UNTYPED};
use rspirv::spirv::{self, Op};
use tepui_ir::{Dim, ImageFormat, Type};

impl Cx<'_> {
    /// Reads a type declaration.
    pub fn declare_type(&mut self, i: &Inst) -> Result<()> {
        let m = self.m;
        let op = |n| m.op(i, n);
        let mut depth = 0;
        let mut leaves = 1u32;
        let elem = |cx: &Self, n: usize| -> Result<(Id, u32, u32)> {
            let id = m.op(i, n)?;
            match cx.types.size(id) {
                Some((d, l)) => Ok((id, d + 1, l)),
                None if cx.forward.contains(&id) => Ok((id, 1, 1)),
                None => i.invalid(format!("%{id} is not a type that is declared before")),
            }
        };
        let ty = match i.op {
            Op::TypeVoid => Ty::Void,
            Op::TypeBool => Ty::Bool,
            Op::TypeInt => match op(0)? {
                b @ (8 | 16 | 32 | 64) => Ty::Int { bits: b as u8, signed: op(1)? != 0 },
                b => return i.unsupported(format!("{b}-bit integers")),
            },
            Op::TypeFloat => match op(0)? {
                b @ (16 | 32 | 64) if m.ops(i).len() == 1 => Ty::Float { bits: b as u8 },
                b => return i.unsupported(format!("{b}-bit floats of this encoding")),
            },
            Op::TypeVector => {
                let (e, d, _) = elem(self, 0)?;
                depth = d;
                let n = op(1)?;
                if !matches!(n, 2..=4 | 8 | 16) || !self.types.ir(e).is_some_and(Type::is_scalar) {
                    return i.invalid("a vector has 2 to 4 scalar components");
                }
                Ty::Vector { elem: e, n: n as u8 }
            }
            Op::TypeMatrix => {
                let (e, d, _) = elem(self, 0)?;
                depth = d;
                let n = op(1)?;
                if !(2..=4).contains(&n) || !matches!(self.types.get(e), Some(Ty::Vector { .. })) {
                    return i.invalid("a matrix has 2 to 4 vector columns");
                }
                leaves = n;
                Ty::Matrix { col: e, n: n as u8 }
            }
            Op::TypeArray => {
                let (e, d, l) = elem(self, 0)?;
                depth = d;
                let len = self.const_u32(op(1)?).filter(|&n| n > 0);
                let Some(len) = len else {
                    return i.invalid("the array's length is not a positive constant");
                };
                leaves = l.saturating_mul(len);
                Ty::Array { elem: e, len }
            }
            Op::TypeRuntimeArray => {
                let (e, d, l) = elem(self, 0)?;
                (depth, leaves) = (d, l);
                Ty::RuntimeArray { elem: e }
            }
            Op::TypeStruct => {
                leaves = 0;
                for n in 0..m.ops(i).len() {
                    let id = op(n)?;
                    // A member may be a pointer that is only forward-declared; anything else must
                    // exist.
                    let (d, l) = match self.types.size(id) {
                        Some((d, l)) => (d + 1, l),
                        None if self.forward.contains(&id) => (1, 1),
                        None => {
                            return i.invalid(format!("member type %{id} is not declared before"));
                        }
                    };
                    depth = depth.max(d);
                    leaves = leaves.saturating_add(l);
                }
                // Without members it is a leaf itself, or an array of any length would have none.
                leaves = leaves.max(1);
                Ty::Struct { members: m.ops(i).into() }
            }
            Op::TypePointer => {
                let Some(class) = spirv::StorageClass::from_u32(op(0)?) else {
                    return i.unsupported(format!("storage class {}", op(0)?));
                };
                match op(1)? {
                    UNTYPED => return i.invalid("%0 is not a type"),
                    to => Ty::Pointer { class, to },
                }
            }
            Op::TypeUntypedPointerKHR => match spirv::StorageClass::from_u32(op(0)?) {
                Some(class) => Ty::Pointer { class, to: UNTYPED },
                None => return i.unsupported(format!("storage class {}", op(0)?)),
            },
            Op::TypeForwardPointer => {
                self.forward.insert(op(0)?);
                return Ok(());
            }
            Op::TypeImage if op(1)? == spirv::Dim::DimTileImageDataEXT as u32 => {
                Ty::TileImage { kind: self.types.num_kind(op(0)?) }
            }
            Op::TypeImage => {
                let kind = self.types.num_kind(op(0)?);
                let bits = self.types.ir(op(0)?).map_or(32, Type::bits);
                let dim = match spirv::Dim::from_u32(op(1)?) {
                    Some(spirv::Dim::Dim1D) => Dim::D1,
                    Some(spirv::Dim::Dim2D) => Dim::D2,
                    Some(spirv::Dim::Dim3D) => Dim::D3,
                    Some(spirv::Dim::DimCube) => Dim::Cube,
                    Some(spirv::Dim::DimBuffer) => Dim::Buffer,
                    Some(spirv::Dim::DimSubpassData) => Dim::Subpass,
                    d => return i.unsupported(format!("image dimension {d:?}")),
                };
                let format = match spirv::ImageFormat::from_u32(op(6)?) {
                    Some(f) => ImageFormat::from_name(&format!("{f:?}").to_lowercase()),
                    None => None,
                };
                let Some(format) = format else {
                    return i.unsupported(format!("image format {}", op(6)?));
                };
                Ty::Image(ImageTy {
                    dim,
                    array: op(3)? != 0,
                    ms: op(4)? != 0,
                    storage: op(5)? == 2 && dim != Dim::Subpass,
                    format,
                    kind,
                    bits,
                })
            }
            Op::TypeSampler => Ty::Sampler,
            Op::TypeAccelerationStructureKHR => Ty::AccelerationStructure,
            Op::TypeSampledImage => match self.types.get(op(0)?) {
                Some(Ty::Image(_)) => Ty::SampledImage { image: op(0)? },
                _ => return i.invalid("needs an image type"),
            },
            Op::TypeFunction => Ty::Function,
            _ => return i.unsupported(format!("type {}", i.name())),
        };
        // A second declaration could make a type part of itself.
        if self.types.get(i.id).is_some() {
            return i.invalid(format!("type %{} is declared twice", i.id));
        }
        if depth > MAX_DEPTH {
            return i.invalid(format!("types nest deeper than {MAX_DEPTH}"));
        }
        self.types.insert(m, i.id, ty, (depth, leaves));
        Ok(())
    }

    /// The type with this id.
    pub fn ty(&self, id: Id) -> Result<&Ty> {
        match self.types.get(id) {
            Some(t) => Ok(t),
            None => self.invalid(format!("%{id} is not a type")),
        }
    }

    /// The IR type of a scalar or vector type.
    pub fn ir_ty(&self, id: Id) -> Result<Type> {
        match self.types.ir(id) {
            Some(t) => Ok(t),
            None => self.invalid(format!("%{id} is not a scalar or vector type")),
        }
    }

    /// Pointee and storage class of a pointer type.
    pub fn pointee(&self, id: Id) -> Result<(spirv::StorageClass, Id)> {
        match self.types.get(id) {
            Some(Ty::Pointer { class, to }) => Ok((*class, *to)),
            _ => self.invalid(format!("%{id} is not a pointer type")),
        }
    }
}
