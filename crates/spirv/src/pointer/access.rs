//! Loads and stores through pointers, and components of vectors with run-time indices.

use super::low_bit;
use crate::error::Result;
use crate::translate::Cx;
use crate::ty::Ty;
use crate::value::{Place, Ptr, Space, Tree, Val};
use rspirv::spirv::BuiltIn;
use std::rc::Rc;
use tepui_ir::{Access, Attrs, Mem, Op, Type, Value, stack};

impl Cx<'_> {
    /// The value at a pointer.
    pub fn load(&mut self, p: &Ptr, align: Option<u32>) -> Result<Val> {
        match self.ty(p.ty)?.clone() {
            Ty::Image(ty) => {
                let image = self.handle(p)?;
                return Ok(Val::Image { image, sampler: None, ty, access: p.access });
            }
            Ty::SampledImage { image: i } => {
                let Ty::Image(ty) = *self.ty(i)? else { return self.invalid("not an image type") };
                let image = self.handle(p)?;
                return Ok(Val::Image { image, sampler: Some(image), ty, access: p.access });
            }
            Ty::Sampler => return Ok(Val::Sampler(self.handle(p)?)),
            _ => {}
        }
        if let (Place::Tile(slot), Ty::TileImage { .. }) = (&p.place, self.ty(p.ty)?) {
            return Ok(Val::Tile(*slot));
        }
        let p = if matches!(p.place, Place::Resource { .. })
            && matches!(self.ty(p.ty)?, Ty::Struct { .. })
        {
            &self.block_pointer(p)?
        } else {
            p
        };
        if let Ty::Pointer { .. } = self.ty(p.ty)? {
            return self.load_pointer(p, align);
        }
        let Some(t) = self.types.ir(p.ty) else {
            return self.each_element(p.ty, |cx, _, k| {
                let i = cx.u32(k);
                let e = cx.step(p.clone(), i, false)?;
                cx.load(&e, align)
            });
        };
        let v = match &p.place {
            Place::Local { tree, index, comp } => {
                let Tree::Leaf { var, dims } = &**tree else { return self.invalid("not a leaf") };
                let at = self.linear(dims, index)?;
                let ty = self.s.vars[*var].ty;
                let v = self.emit1(Op::LoadVar, Attrs::Var(*var), at.as_slice(), ty);
                self.component(v, *comp)?
            }
            Place::Mem { .. } => self.load_mem(p, t, align)?,
            Place::Io { .. } => self.load_io(p, t)?,
            // Volatile, it knows who was demoted.
            Place::Builtin { which: BuiltIn::HelperInvocation, .. }
                if p.access.contains(Access::VOLATILE) =>
            {
                self.emit1(Op::IsHelper, Attrs::None, &[], Type::B1)
            }
            Place::Builtin { which, comp } => {
                let v = self.load_builtin(*which, if comp.is_some() { None } else { Some(t) })?;
                self.component(v, *comp)?
            }
            _ => return self.unsupported("a load through this kind of pointer"),
        };
        Ok(Val::Ssa(v))
    }

    fn component(&mut self, v: Value, comp: Option<Value>) -> Result<Value> {
        match comp {
            None => Ok(v),
            Some(c) => self.extract_dyn(v, c),
        }
    }

    /// A component by a run-time (or constant) index.
    pub fn extract_dyn(&mut self, v: Value, index: Value) -> Result<Value> {
        let comps = self.s.ty(v).comps();
        match self.s.as_const(index) {
            Some(c) if c < u64::from(comps) => Ok(self.extract(v, c as u32)),
            Some(_) => {
                let e = self.s.ty(v).elem();
                Ok(self.undef(e))
            }
            None => self.alu(Op::ExtractDyn, &[v, index]),
        }
    }

    /// A vector with one component replaced.
    pub fn insert_dyn(&mut self, v: Value, x: Value, index: Value) -> Result<Value> {
        if self.s.ty(x) != self.s.ty(v).elem() {
            return self.invalid("the component has another type than the vector's");
        }
        match self.s.as_const(index) {
            Some(c) => {
                let mut parts = self.split(v);
                if let Some(p) = parts.get_mut(c as usize) {
                    *p = x;
                }
                self.vec(&parts)
            }
            None => self.alu(Op::InsertDyn, &[v, x, index]),
        }
    }

    fn load_pointer(&mut self, p: &Ptr, align: Option<u32>) -> Result<Val> {
        match &p.place {
            Place::Local { tree, index, .. } => {
                let leaves: Vec<Rc<Tree>> = match &**tree {
                    Tree::Struct(parts) => parts.clone(),
                    Tree::Leaf { .. } => vec![tree.clone()],
                };
                let mut vals = Vec::new();
                for l in leaves {
                    let Tree::Leaf { var, dims } = &*l else { return self.invalid("not a leaf") };
                    let at = self.linear(dims, index)?;
                    let ty = self.s.vars[*var].ty;
                    vals.push(self.emit1(Op::LoadVar, Attrs::Var(*var), at.as_slice(), ty));
                }
                self.pointer_from(p.ty, &vals)
            }
            Place::Mem { .. } => {
                let a = self.load_mem(p, Type::B64, align)?;
                self.pointer_from(p.ty, &[a])
            }
            Place::Io { .. } => {
                let a = self.load_io(p, Type::B64)?;
                self.pointer_from(p.ty, &[a])
            }
            _ => self.unsupported("loading a pointer from here"),
        }
    }

    /// Attributes and leading operands of a memory access.
    pub fn mem_args(
        &mut self,
        p: &Ptr,
        align: Option<u32>,
        need: u32,
    ) -> Result<(Mem, Vec<Value>, Space)> {
        let Place::Mem { space, handle, offset, konst, align: known, .. } = p.place else {
            return self.invalid("not a pointer to memory");
        };
        let mut a = known.min(low_bit(konst));
        if let Some(x) = align
            && x.is_power_of_two()
        {
            a = if space == Space::Global { x } else { a.max(x) };
        }
        // Scalars are always aligned to their size; less would break a rule of the environment.
        let a = a.max(need).min(1 << 16);
        let (offset, konst) = match (offset, i32::try_from(konst)) {
            (Some(o), Ok(k)) => (o, k),
            (None, Ok(k)) => {
                (if space == Space::Global { self.konst(Type::B64, 0) } else { self.u32(0) }, k)
            }
            _ => (self.full_offset(p)?, 0),
        };
        let mem = Mem {
            align_log2: a.trailing_zeros() as u8,
            offset: konst,
            access: p.access,
            ..Mem::default()
        };
        let mut args: Vec<Value> = handle.into_iter().collect();
        args.push(offset);
        Ok((mem, args, space))
    }

    pub(super) fn load_mem(&mut self, p: &Ptr, t: Type, align: Option<u32>) -> Result<Value> {
        if let Some(parts) = self.strided(p, t) {
            let parts = parts
                .iter()
                .map(|q| self.load_mem(q, t.elem(), align))
                .collect::<Result<Vec<_>>>()?;
            return self.vec(&parts);
        }
        let mt = memory_type(t);
        let (mem, args, space) = self.mem_args(p, align, mt.elem_bytes())?;
        let op = match space {
            Space::Buffer => Op::LoadBuffer,
            Space::Push => Op::LoadPush,
            Space::Shared => Op::LoadShared,
            Space::Global => Op::LoadGlobal,
        };
        let v = self.emit1(op, Attrs::Mem(mem), &args, mt);
        if t.bits() != 1 {
            return Ok(v);
        }
        let zero = self.iconst(mt, 0);
        self.alu(Op::INe, &[v, zero])
    }

    /// The components of a column of a row-major matrix.
    fn strided(&self, p: &Ptr, t: Type) -> Option<Vec<Ptr>> {
        let Place::Mem { stride: Some(by), row_major: true, .. } = p.place else { return None };
        if t.is_scalar() {
            return None;
        }
        let elem = self.types.element(p.ty, 0)?;
        Some(
            (0..u32::from(t.comps()))
                .map(|k| {
                    let mut q = Ptr { ty: elem, ..p.clone() };
                    if let Place::Mem { konst, stride, row_major, .. } = &mut q.place {
                        *konst = konst.wrapping_add(k.wrapping_mul(by));
                        (*stride, *row_major) = (None, false);
                    }
                    q
                })
                .collect(),
        )
    }

    /// Writes a value through a pointer.
    pub fn store(&mut self, p: &Ptr, v: &Val, align: Option<u32>) -> Result<()> {
        let p =
            if matches!(p.place, Place::Resource { .. }) { &self.block_pointer(p)? } else { p };
        match v {
            Val::Agg(parts, _) => {
                if self.types.len(p.ty) != Some(parts.len() as u32) {
                    return self.invalid("the value has another shape than the pointee");
                }
                for (k, part) in parts.iter().enumerate() {
                    let i = self.u32(k as u32);
                    let e = self.step(p.clone(), i, false)?;
                    stack::grow(|| self.store(&e, part, align))?;
                }
                Ok(())
            }
            Val::Ptr(_) => self.store_pointer(p, v, align),
            Val::Ssa(v) => {
                let v = *v;
                if self.types.ir(p.ty) != Some(self.s.ty(v)) {
                    return self.invalid("the value has another type than the pointee");
                }
                match &p.place {
                    Place::Local { tree, index, comp } => {
                        let Tree::Leaf { var, dims } = &**tree else {
                            return self.invalid("not a leaf");
                        };
                        let at = self.linear(dims, index)?;
                        let ty = self.s.vars[*var].ty;
                        let v = match comp {
                            None => v,
                            Some(c) => {
                                let old =
                                    self.emit1(Op::LoadVar, Attrs::Var(*var), at.as_slice(), ty);
                                self.insert_dyn(old, v, *c)?
                            }
                        };
                        if self.s.ty(v) != ty {
                            return self.invalid("the value has another type than the variable");
                        }
                        let mut args = vec![v];
                        args.extend(at);
                        self.emit(Op::StoreVar, Attrs::Var(*var), &args, &[]);
                        Ok(())
                    }
                    Place::Mem { .. } => self.store_mem(p, v, align),
                    Place::Io { .. } => self.store_io(p, v),
                    _ => self.unsupported("a store through this kind of pointer"),
                }
            }
            _ => self.unsupported("storing an image or sampler"),
        }
    }

    fn store_pointer(&mut self, p: &Ptr, v: &Val, align: Option<u32>) -> Result<()> {
        let v = self.normalise(v.clone())?;
        let mut leaves = Vec::new();
        self.leaves(&v, &mut leaves)?;
        match &p.place {
            Place::Local { tree, index, .. } => {
                let trees: Vec<Rc<Tree>> = match &**tree {
                    Tree::Struct(parts) => parts.clone(),
                    Tree::Leaf { .. } => vec![tree.clone()],
                };
                if trees.len() != leaves.len() {
                    return self
                        .invalid("the pointer has another storage class than the variable's");
                }
                for (t, v) in trees.iter().zip(leaves) {
                    let Tree::Leaf { var, dims } = &**t else { return self.invalid("not a leaf") };
                    if self.s.vars[*var].ty != self.s.ty(v) {
                        return self.invalid("the pointer has another type than the variable");
                    }
                    let mut args = vec![v];
                    args.extend(self.linear(dims, index)?);
                    self.emit(Op::StoreVar, Attrs::Var(*var), &args, &[]);
                }
                Ok(())
            }
            Place::Mem { .. } if leaves.len() == 1 && self.s.ty(leaves[0]) == Type::B64 => {
                self.store_mem(p, leaves[0], align)
            }
            _ => self.unsupported("storing this pointer here"),
        }
    }

    pub(super) fn store_mem(&mut self, p: &Ptr, v: Value, align: Option<u32>) -> Result<()> {
        let t = self.s.ty(v);
        if let Some(parts) = self.strided(p, t) {
            for (k, q) in parts.iter().enumerate() {
                let c = self.extract(v, k as u32);
                self.store_mem(q, c, align)?;
            }
            return Ok(());
        }
        let mt = memory_type(t);
        let v = if t.bits() == 1 { self.op1(Op::B2I, v, mt) } else { v };
        let (mem, mut args, space) = self.mem_args(p, align, mt.elem_bytes())?;
        let op = match space {
            Space::Buffer => Op::StoreBuffer,
            Space::Shared => Op::StoreShared,
            Space::Global => Op::StoreGlobal,
            Space::Push => return self.invalid("push constants cannot be written"),
        };
        args.push(v);
        self.emit(op, Attrs::Mem(mem), &args, &[]);
        Ok(())
    }
}

/// Truth values are 32 bits in memory.
fn memory_type(t: Type) -> Type {
    if t.bits() == 1 { t.with_bits(32) } else { t }
}
