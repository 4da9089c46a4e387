//! Pointers, which are resolved during translation: the object of an access chain is known, except
//! for dynamic indices.

mod access;
mod untyped;

use crate::error::Result;
use crate::ids::Id;
use crate::module::{Inst, short};
use crate::translate::Cx;
use crate::ty::{MAX_LEAVES, Ty};
use crate::value::{Place, Ptr, Space, Tree, Val};
use rspirv::spirv::{Decoration, StorageClass};
use std::rc::Rc;
use tepui_ir::{Access, Attrs, IoLoc, Op, Type, Value, stack};

fn low_bit(n: u32) -> u32 {
    if n == 0 { 1 << 16 } else { 1 << n.trailing_zeros() }
}

impl Cx<'_> {
    // ---- variables ----

    /// Splits a variable of type `ty` into leaves.
    pub fn make_tree(&mut self, ty: Id, dims: &mut Vec<u32>, name: &str) -> Result<Rc<Tree>> {
        let len: u32 = dims.iter().fold(1u32, |a, &d| a.saturating_mul(d));
        if self.types.leaves(ty).saturating_mul(len) > MAX_LEAVES {
            return self
                .too_large(format!("a variable of more than {MAX_LEAVES} scalars and vectors"));
        }
        if let Some(t) = self.types.ir(ty) {
            let var = self.var(t, (!dims.is_empty()).then_some(len), name);
            return Ok(Rc::new(Tree::Leaf { var, dims: dims.clone() }));
        }
        match self.ty(ty)?.clone() {
            Ty::Array { elem, len: n } => self.in_dim(elem, n, dims, name),
            Ty::Matrix { col, n } => self.in_dim(col, u32::from(n), dims, name),
            Ty::Struct { members } => {
                let mut parts = Vec::new();
                for (k, &m) in members.iter().enumerate() {
                    let sub = match self.m.member_name(ty, k as u32) {
                        Some(n) => format!("{name}.{n}"),
                        None => format!("{name}.{k}"),
                    };
                    parts.push(stack::grow(|| self.make_tree(m, dims, &short(sub)))?);
                }
                Ok(Rc::new(Tree::Struct(parts)))
            }
            Ty::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => {
                let var = self.var(Type::B64, (!dims.is_empty()).then_some(len), name);
                Ok(Rc::new(Tree::Leaf { var, dims: dims.clone() }))
            }
            Ty::Pointer { class: StorageClass::Workgroup, .. } => {
                let var = self.var(Type::B32, (!dims.is_empty()).then_some(len), name);
                Ok(Rc::new(Tree::Leaf { var, dims: dims.clone() }))
            }
            Ty::Pointer { class: StorageClass::StorageBuffer, .. } => {
                let len = (!dims.is_empty()).then_some(len);
                let handle = self.var(Type::B64, len, name);
                let offset = self.var(Type::B32, len, name);
                let leaf = |var| Rc::new(Tree::Leaf { var, dims: dims.clone() });
                Ok(Rc::new(Tree::Struct(vec![leaf(handle), leaf(offset)])))
            }
            // An empty variable: some compilers declare one for the result of a function without a
            // result.
            Ty::Void => Ok(Rc::new(Tree::Struct(Vec::new()))),
            t => self.unsupported(format!("a variable of type {t:?}")),
        }
    }

    fn in_dim(&mut self, elem: Id, n: u32, dims: &mut Vec<u32>, name: &str) -> Result<Rc<Tree>> {
        dims.push(n);
        let t = self.make_tree(elem, dims, name);
        dims.pop();
        t
    }

    /// The element index of a leaf: indices in all dimensions, `None` when it is no array.
    fn linear(&mut self, dims: &[u32], index: &[Value]) -> Result<Option<Value>> {
        if dims.len() != index.len() {
            return self.invalid("the access chain does not reach a scalar or vector");
        }
        let mut at: Option<Value> = None;
        for (&d, &i) in dims.iter().zip(index) {
            at = Some(match at {
                None => i,
                Some(a) => {
                    let d = self.u32(d);
                    let a = self.alu(Op::IMul, &[a, d])?;
                    self.alu(Op::IAdd, &[a, i])?
                }
            });
        }
        Ok(at)
    }

    // ---- access chains ----

    /// Follows indices (ids) from a pointer.
    pub fn access_chain(&mut self, base: &Ptr, indices: &[Id]) -> Result<Ptr> {
        let mut p = base.clone();
        for &i in indices {
            let index = self.ssa(i)?;
            let signed =
                self.m.result_ty.get(&i).is_some_and(|t| {
                    matches!(self.types.get(*t), Some(Ty::Int { signed: true, .. }))
                });
            p = self.step(p, index, signed)?;
        }
        Ok(p)
    }

    /// Follows one index.
    fn step(&mut self, mut p: Ptr, index: Value, signed: bool) -> Result<Ptr> {
        // Arrays of descriptors first: their elements have no memory yet.
        if let Place::Resource { res, index: at } = &p.place {
            let (res, at) = (*res, *at);
            let elem = match self.ty(p.ty)? {
                Ty::Array { elem, .. } | Ty::RuntimeArray { elem } => Some(*elem),
                _ => None,
            };
            if let Some(elem) = elem {
                let i = self.as_u32(index, signed)?;
                let inner = self.descriptor_count(elem);
                let i = if inner == 1 {
                    i
                } else {
                    let n = self.u32(inner);
                    self.alu(Op::IMul, &[i, n])?
                };
                let index = match at {
                    Some(a) => self.alu(Op::IAdd, &[a, i])?,
                    None => i,
                };
                return Ok(Ptr {
                    place: Place::Resource { res, index: Some(index) },
                    ty: elem,
                    access: p.access,
                });
            }
            p = self.block_pointer(&p)?;
        }
        if let Place::Tile(mut slot) = p.place {
            let (Ty::Array { elem, .. }, Some(k)) = (self.ty(p.ty)?, self.s.as_const(index)) else {
                return self.unsupported("a tile image that is chosen at run time");
            };
            let ty = *elem;
            if let IoLoc::Location(n) = &mut slot.loc {
                *n = n.saturating_add(u16::try_from(k).unwrap_or(u16::MAX));
            }
            return Ok(Ptr { place: Place::Tile(slot), ty, access: p.access });
        }
        let ty = p.ty;
        let member = match self.ty(ty)? {
            Ty::Struct { members } => {
                let Some(n) = self.s.as_const(index).filter(|&n| n < members.len() as u64) else {
                    return self.invalid("a structure is indexed by a constant in range");
                };
                Some((n as u32, members[n as usize]))
            }
            _ => None,
        };
        let elem = match member {
            Some((_, t)) => t,
            None => match self.types.element(ty, 0) {
                Some(e) => e,
                None => return self.invalid("the type that is indexed is not a composite"),
            },
        };
        let vector = matches!(self.ty(ty)?, Ty::Vector { .. });
        let mut access = p.access;
        if let Some((n, _)) = member {
            access |= self.member_access(ty, n);
        }
        let place = match p.place {
            Place::Local { tree, index: mut at, comp } => match (member, &*tree) {
                (Some((n, _)), Tree::Struct(parts)) => {
                    let Some(t) = parts.get(n as usize).cloned() else {
                        return self.invalid("no such member");
                    };
                    Place::Local { tree: t, index: at, comp }
                }
                _ if vector => {
                    Place::Local { tree, index: at, comp: Some(self.as_u32(index, signed)?) }
                }
                _ => {
                    at.push(self.as_u32(index, signed)?);
                    Place::Local { tree, index: at, comp }
                }
            },
            Place::Mem { space, handle, offset, konst, align, stride, row_major } => {
                let (by, stride, row_major) = match (member, self.ty(ty)?.clone()) {
                    (Some((n, _)), _) => {
                        let m = self.m;
                        let stride = m.member_decoration(ty, n, Decoration::MatrixStride);
                        let row = m.member_decoration(ty, n, Decoration::RowMajor).is_some();
                        (self.types.member_offset(m, ty, n), stride, row)
                    }
                    (_, Ty::Matrix { col, .. }) => {
                        let elem = self.types.element(col, 0).unwrap_or(0);
                        let size = self.types.layout(elem).size;
                        let stride = stride.unwrap_or_else(|| self.types.layout(col).size);
                        if row_major { (size, Some(stride), true) } else { (stride, None, false) }
                    }
                    (_, Ty::Vector { elem, .. }) => {
                        let size = self.types.layout(elem).size;
                        (stride.filter(|_| row_major).unwrap_or(size), None, false)
                    }
                    // Arrays of matrices keep the matrix's layout.
                    _ => (self.types.stride(self.m, ty, elem), stride, row_major),
                };
                let (offset, konst, align) = match (member, self.s.as_const(index)) {
                    (Some(_), _) => (offset, konst.wrapping_add(by), align),
                    (_, Some(c))
                        if c.checked_mul(u64::from(by)).is_some_and(|x| x < 1 << 30)
                            && konst < 1 << 30 =>
                    {
                        (offset, konst + c as u32 * by, align)
                    }
                    _ => {
                        let o = self.add_scaled(space, offset, index, signed, by)?;
                        (Some(o), konst, align.min(low_bit(by)))
                    }
                };
                Place::Mem { space, handle, offset, konst, align, stride, row_major }
            }
            Place::Io { slot, dynamic, comp, vertex, output } => self.step_io(
                ty,
                member.map(|m| m.0),
                elem,
                vector,
                index,
                signed,
                (slot, dynamic, comp, vertex, output),
            )?,
            Place::Builtin { which, comp: None } => {
                Place::Builtin { which, comp: Some(self.as_u32(index, signed)?) }
            }
            _ => return self.unsupported("indexing this kind of pointer"),
        };
        Ok(Ptr { place, ty: elem, access })
    }

    /// `base + index * by`.
    fn add_scaled(
        &mut self,
        space: Space,
        base: Option<Value>,
        index: Value,
        signed: bool,
        by: u32,
    ) -> Result<Value> {
        let ty = if space == Space::Global { Type::B64 } else { Type::B32 };
        let from = self.s.ty(index);
        if !from.is_scalar() || from.bits() == 1 {
            return self.invalid("an index is an integer scalar");
        }
        let i = if from == ty {
            index
        } else {
            self.op1(if signed { Op::S2S } else { Op::U2U }, index, ty)
        };
        let i = if by == 1 {
            i
        } else if by.is_power_of_two() {
            let s = self.u32(by.trailing_zeros());
            self.alu(Op::IShl, &[i, s])?
        } else {
            let s = self.konst(ty, u64::from(by));
            self.alu(Op::IMul, &[i, s])?
        };
        match base {
            Some(b) => self.alu(Op::IAdd, &[b, i]),
            None => Ok(i),
        }
    }

    /// `OpPtrAccessChain`'s first index: steps over whole pointees.
    pub fn ptr_step(&mut self, p: &Ptr, index: Id, stride: u32) -> Result<Ptr> {
        let p = if matches!(p.place, Place::Resource { .. }) {
            self.block_pointer(p)?
        } else {
            p.clone()
        };
        let i = self.ssa(index)?;
        if self.s.as_const(i) == Some(0) {
            return Ok(p);
        }
        let Place::Mem { space, handle, offset, konst, align, stride: s, row_major } = p.place
        else {
            return self.unsupported("OpPtrAccessChain on this kind of pointer");
        };
        let signed = true;
        let offset = Some(self.add_scaled(space, offset, i, signed, stride)?);
        let align = align.min(low_bit(stride));
        Ok(Ptr {
            place: Place::Mem { space, handle, offset, konst, align, stride: s, row_major },
            ..p
        })
    }

    /// Number of descriptors that a resource type takes (0 and 1 both count one for the inner of a
    /// run-time array).
    pub fn descriptor_count(&self, ty: Id) -> u32 {
        match self.types.get(ty) {
            Some(Ty::Array { elem, len }) => len.saturating_mul(self.descriptor_count(*elem)),
            Some(Ty::RuntimeArray { .. }) => 0,
            _ => 1,
        }
    }

    /// The descriptor that a pointer has reached.
    pub fn handle(&mut self, p: &Ptr) -> Result<Value> {
        let Place::Resource { res, index } = &p.place else {
            return self.invalid("not a pointer to a resource");
        };
        let (res, index) = (*res, *index);
        let index = match index {
            Some(i) => i,
            None => self.u32(0),
        };
        let mut access = p.access & Access::NON_UNIFORM;
        if self.m.decoration(self.at.id, Decoration::NonUniform).is_some() {
            access |= Access::NON_UNIFORM;
        }
        Ok(self.emit1(Op::Descriptor, Attrs::Res(res, access), &[index], Type::B64))
    }

    /// Converts a pointer to a buffer's descriptor to one to the start of its memory.
    pub fn block_pointer(&mut self, p: &Ptr) -> Result<Ptr> {
        if !matches!(self.ty(p.ty)?, Ty::Struct { .. }) {
            return self.invalid("the descriptor is not a buffer's");
        }
        let handle = self.handle(p)?;
        let place = Place::Mem {
            space: Space::Buffer,
            handle: Some(handle),
            offset: None,
            konst: 0,
            align: 16,
            stride: None,
            row_major: false,
        };
        Ok(Ptr { place, ty: p.ty, access: p.access })
    }

    fn member_access(&self, ty: Id, n: u32) -> Access {
        self.m.decor.of((ty, Some(n))).map(|d| access_of(d.kind)).collect()
    }

    /// Access flags from the decorations of a variable.
    pub fn var_access(&self, id: Id) -> Access {
        self.m.decor.of((id, None)).map(|d| access_of(d.kind)).collect()
    }

    // ---- pointers as values ----

    /// A pointer whose parts are all run-time values.
    pub fn normalise(&mut self, v: Val) -> Result<Val> {
        match v {
            Val::Agg(parts, extent) => {
                let parts =
                    parts.iter().map(|p| self.normalise(p.clone())).collect::<Result<Vec<_>>>()?;
                Ok(Val::Agg(parts.into(), extent))
            }
            Val::Ptr(p) => {
                let p = match p.place {
                    Place::Resource { .. } if matches!(self.ty(p.ty)?, Ty::Struct { .. }) => {
                        self.block_pointer(&p)?
                    }
                    _ => (*p).clone(),
                };
                let Place::Mem { space, handle, stride, row_major, .. } = p.place else {
                    return Ok(Val::Ptr(Rc::new(p)));
                };
                if stride.is_some() && row_major {
                    return self.unsupported("a run-time pointer into a row-major matrix");
                }
                let offset = self.full_offset(&p)?;
                let align = self.types.layout(p.ty).align;
                let place = Place::Mem {
                    space,
                    handle,
                    offset: Some(offset),
                    konst: 0,
                    align,
                    stride,
                    row_major,
                };
                Ok(Val::Ptr(Rc::new(Ptr { place, ..p })))
            }
            v => Ok(v),
        }
    }

    fn full_offset(&mut self, p: &Ptr) -> Result<Value> {
        let Place::Mem { space, offset, konst, .. } = p.place else {
            return self.invalid("not a pointer to memory");
        };
        let ty = if space == Space::Global { Type::B64 } else { Type::B32 };
        let k = self.konst(ty, u64::from(konst));
        match offset {
            None => Ok(k),
            Some(o) if konst == 0 => Ok(o),
            Some(o) => self.alu(Op::IAdd, &[o, k]),
        }
    }

    /// The 64-bit address of a physical pointer.
    pub fn address(&mut self, p: &Ptr) -> Result<Value> {
        match p.place {
            Place::Mem { space: Space::Global, .. } => self.full_offset(p),
            _ => self.unsupported("the address of a pointer that is not physical"),
        }
    }

    /// A physical pointer from an address.
    pub fn global_pointer(&self, addr: Value, ty: Id) -> Val {
        let place = Place::Mem {
            space: Space::Global,
            handle: None,
            offset: Some(addr),
            konst: 0,
            align: self.types.layout(ty).align,
            stride: None,
            row_major: false,
        };
        Val::Ptr(Rc::new(Ptr { place, ty, access: Access::empty() }))
    }

    /// A pointer of type `pty` from its leaves: the reverse of flattening.
    pub fn pointer_from(&mut self, pty: Id, leaves: &[Value]) -> Result<Val> {
        let (class, ty) = self.pointee(pty)?;
        let (space, handle, offset) = match (class, leaves) {
            (StorageClass::PhysicalStorageBuffer, &[a]) => return Ok(self.global_pointer(a, ty)),
            (StorageClass::Workgroup, &[o]) => (Space::Shared, None, o),
            (StorageClass::StorageBuffer, &[h, o]) => (Space::Buffer, Some(h), o),
            _ => return self.unsupported(format!("a run-time pointer in storage class {class:?}")),
        };
        let align = self.types.layout(ty).align;
        let place = Place::Mem {
            space,
            handle,
            offset: Some(offset),
            konst: 0,
            align,
            stride: None,
            row_major: false,
        };
        Ok(Val::Ptr(Rc::new(Ptr { place, ty, access: Access::empty() })))
    }

    /// `OpConstantNull` of a pointer type.
    pub fn null_pointer(&mut self, pty: Id) -> Result<Val> {
        let (z32, z64) = (self.u32(0), self.konst(Type::B64, 0));
        match self.pointee(pty)?.0 {
            StorageClass::PhysicalStorageBuffer => self.pointer_from(pty, &[z64]),
            // The first variable is at offset 0, so null is an offset that no variable has.
            StorageClass::Workgroup => {
                let none = self.u32(u32::MAX);
                self.pointer_from(pty, &[none])
            }
            StorageClass::StorageBuffer => self.pointer_from(pty, &[z64, z32]),
            c => self.unsupported(format!("a null pointer in storage class {c:?}")),
        }
    }

    // ---- operands ----

    /// The pointer that operand `n` is.
    pub fn arg_ptr(&self, n: usize) -> Result<Rc<Ptr>> {
        match self.arg(n)? {
            Val::Ptr(p) => Ok(p),
            _ => self.invalid(format!("operand {n} is not a pointer")),
        }
    }

    /// Declares a variable of a module or function.
    pub fn local_variable(&mut self, i: &Inst, ty: Id) -> Result<Ptr> {
        let name = self.m.name(i.id);
        let tree = self.make_tree(ty, &mut Vec::new(), &name)?;
        Ok(Ptr {
            place: Place::Local { tree, index: Vec::new(), comp: None },
            ty,
            access: Access::empty(),
        })
    }
}

fn access_of(d: Decoration) -> Access {
    match d {
        Decoration::Coherent => Access::COHERENT,
        Decoration::Volatile => Access::VOLATILE,
        Decoration::Restrict => Access::RESTRICT,
        Decoration::NonWritable => Access::NON_WRITABLE,
        Decoration::NonReadable => Access::NON_READABLE,
        Decoration::NonUniform => Access::NON_UNIFORM,
        _ => Access::empty(),
    }
}
