//! SPIR-V types and their memory layout.

use crate::error::Result;
use crate::ids::{Id, IdMap};
use crate::module::{Inst, Module};
use crate::translate::Cx;
use rspirv::spirv::{self, Decoration, Op};
use std::rc::Rc;
use tepui_ir::{Dim, ImageFormat, NumKind, Type};

/// Maximum nesting of types: 255 structures, each with an array of the next, and a matrix in the
/// innermost.
/// source: SPIR-V specification, 2.17 Universal Limits, "Structure nesting depth"
pub(crate) const MAX_DEPTH: u32 = 2 * 255 + 2;
/// Maximum number of scalar and vector leaves of one variable or value.
pub(crate) const MAX_LEAVES: u32 = 1 << 16;

/// An image type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ImageTy {
    pub dim: Dim,
    pub array: bool,
    pub ms: bool,
    /// Declared for storage access (`Sampled` is 2).
    pub storage: bool,
    pub format: ImageFormat,
    pub kind: NumKind,
    pub bits: u8,
}

/// A type.
#[derive(Clone, Debug)]
pub(crate) enum Ty {
    Void,
    Bool,
    Int {
        bits: u8,
        signed: bool,
    },
    Float {
        bits: u8,
    },
    Vector {
        elem: Id,
        n: u8,
    },
    Matrix {
        col: Id,
        n: u8,
    },
    Array {
        elem: Id,
        len: u32,
    },
    RuntimeArray {
        elem: Id,
    },
    Struct {
        members: Rc<[Id]>,
    },
    Pointer {
        class: spirv::StorageClass,
        to: Id,
    },
    Image(ImageTy),
    /// A colour of the tile (`VK_EXT_shader_tile_image`), and what its components are.
    TileImage {
        kind: NumKind,
    },
    Sampler,
    SampledImage {
        image: Id,
    },
    /// An acceleration structure. It can only be declared: ray queries are refused by their own
    /// type.
    AccelerationStructure,
    Function,
}

/// Types by id, with their nesting depth and number of leaves.
#[derive(Default)]
pub(crate) struct Types {
    map: IdMap<(Ty, u32, u32, Layout)>,
}

impl Types {
    pub fn get(&self, id: Id) -> Option<&Ty> {
        self.map.get(&id).map(|t| &t.0)
    }

    /// Number of scalars and vectors in a value of the type (pointers, images count one).
    pub fn leaves(&self, id: Id) -> u32 {
        self.map.get(&id).map_or(1, |t| t.2)
    }

    /// The IR type of a scalar or vector.
    pub fn ir(&self, id: Id) -> Option<Type> {
        match self.get(id)? {
            Ty::Bool => Some(Type::B1),
            Ty::Int { bits, .. } | Ty::Float { bits } => Some(Type::scalar(*bits)),
            Ty::Vector { elem, n } => Some(self.ir(*elem)?.with_comps(*n)),
            _ => None,
        }
    }

    /// The component type of a scalar, vector or matrix.
    pub fn num_kind(&self, id: Id) -> NumKind {
        match self.get(id) {
            Some(Ty::Float { .. }) => NumKind::Float,
            Some(Ty::Int { signed: true, .. }) => NumKind::Sint,
            Some(Ty::Vector { elem, .. } | Ty::Array { elem, .. }) => self.num_kind(*elem),
            Some(Ty::Matrix { col, .. }) => self.num_kind(*col),
            _ => NumKind::Uint,
        }
    }

    /// The type of element `n` of an aggregate.
    pub fn element(&self, id: Id, n: u32) -> Option<Id> {
        match self.get(id)? {
            Ty::Vector { elem, .. } | Ty::Array { elem, .. } | Ty::RuntimeArray { elem } => {
                Some(*elem)
            }
            Ty::Matrix { col, .. } => Some(*col),
            Ty::Struct { members } => members.get(n as usize).copied(),
            _ => None,
        }
    }

    /// Number of elements of an aggregate.
    pub fn len(&self, id: Id) -> Option<u32> {
        match self.get(id)? {
            Ty::Vector { n, .. } | Ty::Matrix { n, .. } => Some(u32::from(*n)),
            Ty::Array { len, .. } => Some(*len),
            Ty::Struct { members } => Some(members.len() as u32),
            _ => None,
        }
    }
}

impl Cx<'_> {
    /// Reads a type declaration.
    pub fn declare_type(&mut self, i: &Inst) -> Result<()> {
        let m = self.m;
        let op = |n| m.op(i, n);
        let mut depth = 0;
        let mut leaves = 1u32;
        let elem = |cx: &Self, n: usize| -> Result<(Id, u32, u32)> {
            let id = m.op(i, n)?;
            match cx.types.map.get(&id) {
                Some((_, d, l, _)) => Ok((id, d + 1, *l)),
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
                    let (d, l) = match self.types.map.get(&id) {
                        Some((_, d, l, _)) => (d + 1, *l),
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
                Ty::Pointer { class, to: op(1)? }
            }
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
        if self.types.map.contains_key(&i.id) {
            return i.invalid(format!("type %{} is declared twice", i.id));
        }
        if depth > MAX_DEPTH {
            return i.invalid(format!("types nest deeper than {MAX_DEPTH}"));
        }
        let layout = self.types.compute_layout(m, i.id, &ty);
        self.types.map.insert(i.id, (ty, depth, leaves, layout));
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

/// Size and alignment in bytes of a value in memory. Explicit decorations win; without them
/// (workgroup memory) the layout is the natural one, every component aligned to its own size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    pub size: u32,
    pub align: u32,
}

impl Types {
    /// Layout of a type; truth values take four bytes.
    pub fn layout(&self, id: Id) -> Layout {
        // A type that is not declared yet can only be a pointer.
        self.map.get(&id).map_or(Layout { size: 8, align: 8 }, |t| t.3)
    }

    fn compute_layout(&self, m: &Module, id: Id, ty: &Ty) -> Layout {
        match ty {
            Ty::Bool => Layout { size: 4, align: 4 },
            Ty::Int { bits, .. } | Ty::Float { bits } => {
                let b = u32::from(*bits) / 8;
                Layout { size: b, align: b }
            }
            Ty::Vector { elem, n } => {
                let e = self.layout(*elem);
                Layout { size: e.size * u32::from(*n), align: e.align }
            }
            Ty::Matrix { col, n } => {
                let e = self.layout(*col);
                Layout { size: e.size * u32::from(*n), align: e.align }
            }
            Ty::Array { elem, len } => {
                let e = self.layout(*elem);
                Layout { size: self.stride(m, id, *elem).saturating_mul(*len), align: e.align }
            }
            Ty::RuntimeArray { elem } => Layout { size: 0, align: self.layout(*elem).align },
            Ty::Struct { members } => {
                let mut l = Layout { size: 0, align: 1 };
                for (n, &ty) in members.iter().enumerate() {
                    let e = self.layout(ty);
                    let at = self.member_offset_with(m, id, n as u32, l.size, e.align);
                    let size = match m.member_decoration(id, n as u32, Decoration::MatrixStride) {
                        Some(s) => e.size.max(s.saturating_mul(4)),
                        None => e.size,
                    };
                    l.size = l.size.max(at.saturating_add(size));
                    l.align = l.align.max(e.align);
                }
                l.size = l.size.saturating_add(l.align - 1) / l.align * l.align;
                l
            }
            Ty::Pointer { .. } => Layout { size: 8, align: 8 },
            _ => Layout { size: 0, align: 1 },
        }
    }

    fn member_offset_with(&self, m: &Module, id: Id, n: u32, end: u32, align: u32) -> u32 {
        m.member_decoration(id, n, Decoration::Offset)
            .unwrap_or_else(|| end.saturating_add(align - 1) / align * align)
    }

    /// Byte offset of a structure's member.
    pub fn member_offset(&self, m: &Module, id: Id, n: u32) -> u32 {
        if let Some(o) = m.member_decoration(id, n, Decoration::Offset) {
            return o;
        }
        let Some(Ty::Struct { members }) = self.get(id) else { return 0 };
        let mut end = 0u32;
        for (k, &ty) in members.iter().enumerate() {
            let l = self.layout(ty);
            let at = self.member_offset_with(m, id, k as u32, end, l.align);
            if k as u32 == n {
                return at;
            }
            end = at.saturating_add(l.size);
        }
        end
    }

    /// Bytes between elements of an array type `id` of `elem`.
    pub fn stride(&self, m: &Module, id: Id, elem: Id) -> u32 {
        m.decoration(id, Decoration::ArrayStride).unwrap_or_else(|| {
            let l = self.layout(elem);
            l.size.saturating_add(l.align - 1) / l.align * l.align
        })
    }
}
