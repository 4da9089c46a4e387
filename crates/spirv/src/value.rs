//! Values of SPIR-V ids, pointers among them: the object of a pointer is known, except for dynamic indices.

use crate::ids::Id;
use crate::ty::ImageTy;
use rspirv::spirv::BuiltIn;
use std::rc::Rc;
use tepui_ir::{Access, IoSlot, Res, Value, Var};

/// The meaning of a SPIR-V id.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    Void,
    /// A scalar or vector.
    Ssa(Value),
    /// A structure, array or matrix (columns).
    Agg(Rc<[Val]>, Extent),
    Ptr(Rc<Ptr>),
    /// An image, or an image with its sampler.
    Image {
        image: Value,
        sampler: Option<Value>,
        ty: ImageTy,
        access: Access,
    },
    Sampler(Value),
    /// A colour of the tile.
    Tile(IoSlot),
}

/// Size of an aggregate, which bounds every walk over it: parts are shared, so that a short module
/// could name a value of any depth and of any number of leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Levels of aggregates.
    pub depth: u32,
    /// Scalars and vectors, at least one for each aggregate.
    pub leaves: u32,
}

impl Val {
    /// Its size.
    pub fn extent(&self) -> Extent {
        match self {
            Val::Agg(_, extent) => *extent,
            _ => Extent { depth: 0, leaves: 1 },
        }
    }
}

/// A variable split into one IR variable per scalar or vector leaf.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// `dims`: lengths of the arrays (and matrices) around the leaf, outermost first.
    Leaf {
        var: Var,
        dims: Vec<u32>,
    },
    Struct(Vec<Rc<Tree>>),
}

/// Memory space of a [`Place::Mem`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Space {
    Buffer,
    Push,
    Shared,
    Global,
}

/// The object of a pointer.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Part of a variable: indices so far (one for each array passed), and a vector component.
    Local { tree: Rc<Tree>, index: Vec<Value>, comp: Option<Value> },
    /// Memory with a byte layout: `base + offset + konst`.
    Mem {
        space: Space,
        handle: Option<Value>,
        /// b32 byte offset, b64 address in [`Space::Global`].
        offset: Option<Value>,
        konst: u32,
        /// Known alignment of `base + offset` in bytes.
        align: u32,
        /// Bytes between components: this is a column of a row-major matrix, or the matrix (see
        /// `row_major`).
        stride: Option<u32>,
        row_major: bool,
    },
    /// An input, or an output of a patch: `slot` with a dynamic number of locations on top.
    Io {
        slot: IoSlot,
        dynamic: Option<Value>,
        comp: Option<Value>,
        /// Vertex index, once the access chain has passed it.
        vertex: Option<Value>,
        output: bool,
    },
    /// A built-in input variable.
    Builtin { which: BuiltIn, comp: Option<Value> },
    /// A descriptor, or an array of them that `index` has not reached the end of.
    Resource { res: Res, index: Option<Value> },
    /// A colour of the tile.
    Tile(IoSlot),
    /// A texel of a storage image.
    Texel { image: Val, coord: Value, sample: Value },
}

/// A pointer.
#[derive(Clone, Debug)]
pub(crate) struct Ptr {
    pub place: Place,
    /// Pointee type.
    pub ty: Id,
    pub access: Access,
}

impl Ptr {
    /// The run-time parts; false when this pointer cannot be a run-time value.
    pub fn leaves(&self, out: &mut Vec<Value>) -> bool {
        match &self.place {
            Place::Mem { handle, offset, .. } => {
                out.extend(handle);
                out.extend(offset);
                true
            }
            _ => false,
        }
    }

    /// The pointer with other run-time parts.
    pub fn with_leaves(&self, next: &mut impl FnMut(Value) -> Value) -> Ptr {
        let mut p = self.clone();
        if let Place::Mem { handle, offset, .. } = &mut p.place {
            *handle = handle.map(&mut *next);
            *offset = offset.map(&mut *next);
        }
        p
    }
}
