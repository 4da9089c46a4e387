//! SPIR-V types and their memory layout.

use crate::ids::{Id, IdMap};
use crate::module::Module;
use rspirv::spirv::{self, Decoration};
use std::rc::Rc;
use tepui_ir::{Dim, ImageFormat, NumKind, Type};

/// Maximum nesting of types: 255 structures, each with an array of the next, and a matrix in the
/// innermost.
/// source: SPIR-V specification, 2.17 Universal Limits, "Structure nesting depth"
pub(crate) const MAX_DEPTH: u32 = 2 * 255 + 2;
/// Maximum number of scalar and vector leaves of one variable or value.
pub(crate) const MAX_LEAVES: u32 = 1 << 16;

/// The pointee of pointers whose accesses say what they point to (`SPV_KHR_untyped_pointers`): no id is 0.
pub(crate) const UNTYPED: Id = 0;

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
    /// A pointer to values of a type, or [`UNTYPED`].
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

    /// Nesting depth and number of leaves of a type that is declared.
    pub fn size(&self, id: Id) -> Option<(u32, u32)> {
        self.map.get(&id).map(|t| (t.1, t.2))
    }

    /// Adds a type of a nesting depth and number of leaves.
    pub fn insert(&mut self, m: &Module, id: Id, ty: Ty, (depth, leaves): (u32, u32)) {
        let layout = self.compute_layout(m, id, &ty);
        self.map.insert(id, (ty, depth, leaves, layout));
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
        if id == UNTYPED {
            return Layout { size: 1, align: 1 };
        }
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
