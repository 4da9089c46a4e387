//! Translates memory instructions: variables, loads, stores, copies, access chains, atomics,
//! barriers.

use crate::error::Result;
use crate::ids::{Id, IdSet};
use crate::module::Inst;
use crate::translate::Cx;
use crate::ty::{Ty, UNTYPED};
use crate::value::{Place, Ptr, Space, Val};
use rspirv::spirv::{
    Decoration, MemoryAccess, MemorySemantics, Op as S, Scope as SScope, StorageClass,
};
use std::rc::Rc;
use tepui_ir::{
    Access, AtomicOp, Attrs, Barrier, Builtin, ImageFormat, Interp, IoLoc, IoSlot, MemSet, Op,
    ResKind, Resource, Sampling, Scope, Type, Value,
};

/// The operand that is a variable's initial value.
fn initialiser(i: &Inst) -> usize {
    if i.op == S::UntypedVariableKHR { 2 } else { 1 }
}

impl Cx<'_> {
    /// A module-scope `OpVariable` or `OpUntypedVariableKHR`.
    pub fn declare_variable(&mut self, i: &Inst, interface: &IdSet) -> Result<()> {
        let (class, ty) = self.variable_type(i)?;
        let mut access = self.var_access(i.id);
        let listed = interface.contains(&i.id) || self.m.version >= (1, 4);
        let place = match class {
            StorageClass::Private => {
                let p = self.local_variable(i, ty)?;
                self.globals.insert(i.id, Val::Ptr(Rc::new(p)));
                return Ok(());
            }
            StorageClass::Workgroup => {
                let l = self.types.layout(ty);
                let at = self.s.info.shared_bytes.next_multiple_of(16);
                let end = at.checked_add(l.size).filter(|&e| e <= 1 << 24);
                let Some(end) = end else { return self.too_large("workgroup memory") };
                // Blocks with explicit layout alias one another, from offset 0; untyped ones only where that is said.
                let block = self.m.decoration(ty, Decoration::Block).is_some()
                    && (i.op == S::Variable
                        || self.m.decoration(i.id, Decoration::Aliased).is_some());
                let konst = if block { 0 } else { at };
                self.s.info.shared_bytes =
                    self.s.info.shared_bytes.max(if block { l.size } else { end });
                if self.m.ops(i).len() > initialiser(i) {
                    self.shared.push((i.id, konst));
                }
                let space = Space::Shared;
                Place::Mem {
                    space,
                    handle: None,
                    offset: None,
                    konst,
                    align: 16,
                    stride: None,
                    row_major: false,
                }
            }
            StorageClass::PushConstant => {
                self.push_bytes = self.push_bytes.max(self.types.layout(ty).size);
                let space = Space::Push;
                access |= Access::CONST;
                Place::Mem {
                    space,
                    handle: None,
                    offset: None,
                    konst: 0,
                    align: 16,
                    stride: None,
                    row_major: false,
                }
            }
            StorageClass::UniformConstant if matches!(self.ty(ty)?, Ty::AccelerationStructure) => {
                return Ok(());
            }
            StorageClass::Uniform | StorageClass::UniformConstant | StorageClass::StorageBuffer => {
                self.declare_resource(i, class, ty, &mut access)?
            }
            StorageClass::TileImageEXT => Place::Tile(self.tile_image(i, ty)?),
            StorageClass::Input if !listed => return Ok(()),
            StorageClass::Output if !listed => return Ok(()),
            StorageClass::Input => {
                // A fragment shader that names its sample runs for each, whether it reads it or not.
                if interface.contains(&i.id) && self.names_sample(i.id) {
                    self.s.info.per_sample = true;
                }
                return self.declare_input(i, ty);
            }
            StorageClass::Output => return self.declare_output(i, ty),
            c => return self.unsupported(format!("storage class {c:?}")),
        };
        self.globals.insert(i.id, Val::Ptr(Rc::new(Ptr { place, ty, access })));
        Ok(())
    }

    /// The position of a tile image: the fragment output of the same location.
    fn tile_image(&mut self, i: &Inst, ty: Id) -> Result<IoSlot> {
        let mut base = ty;
        while let Ty::Array { elem, .. } = self.ty(base)? {
            base = *elem;
        }
        let Ty::TileImage { kind } = *self.ty(base)? else {
            return self.invalid("not a tile image");
        };
        let location = self.m.decoration(i.id, Decoration::Location).unwrap_or(0);
        let Ok(location) = u16::try_from(location) else {
            return self.invalid("no such location");
        };
        Ok(IoSlot {
            loc: IoLoc::Location(location),
            component: 0,
            index: 0,
            kind,
            interp: Interp::Flat,
            sampling: Sampling::Center,
        })
    }

    fn declare_resource(
        &mut self,
        i: &Inst,
        class: StorageClass,
        ty: Id,
        access: &mut Access,
    ) -> Result<Place> {
        let (Some(set), Some(binding)) = (
            self.m.decoration(i.id, Decoration::DescriptorSet),
            self.m.decoration(i.id, Decoration::Binding),
        ) else {
            return self.invalid("a resource needs DescriptorSet and Binding");
        };
        let mut base = ty;
        while let Ty::Array { elem, .. } | Ty::RuntimeArray { elem } = self.ty(base)? {
            base = *elem;
        }
        let mut r = Resource::new(ResKind::StorageBuffer, set, binding);
        let mut image = None;
        r.kind = match self.ty(base)?.clone() {
            Ty::Struct { members } => {
                let storage = class == StorageClass::StorageBuffer
                    || self.m.decoration(base, Decoration::BufferBlock).is_some();
                if storage {
                    let all = |k| {
                        !members.is_empty()
                            && (0..members.len() as u32)
                                .all(|n| self.m.member_decoration(base, n, k).is_some())
                    };
                    if all(Decoration::NonWritable) {
                        *access |= Access::NON_WRITABLE;
                    }
                    ResKind::StorageBuffer
                } else {
                    *access |= Access::CONST | Access::NON_WRITABLE;
                    ResKind::UniformBuffer
                }
            }
            Ty::Sampler => ResKind::Sampler,
            Ty::SampledImage { image: id } => match *self.ty(id)? {
                Ty::Image(t) => {
                    image = Some(t);
                    if t.dim == tepui_ir::Dim::Buffer {
                        ResKind::UniformTexelBuffer
                    } else {
                        ResKind::CombinedTextureSampler
                    }
                }
                _ => return self.invalid("not an image type"),
            },
            Ty::Image(t) => {
                image = Some(t);
                match (t.dim, t.storage) {
                    (tepui_ir::Dim::Subpass, _) => ResKind::InputAttachment,
                    (tepui_ir::Dim::Buffer, true) => ResKind::StorageTexelBuffer,
                    (tepui_ir::Dim::Buffer, false) => ResKind::UniformTexelBuffer,
                    (_, true) => ResKind::StorageImage,
                    (_, false) => ResKind::Texture,
                }
            }
            t => return self.unsupported(format!("a resource of type {t:?}")),
        };
        if let Some(t) = image {
            (r.dim, r.array, r.ms, r.texels) = (t.dim, t.array, t.ms, t.kind);
            r.format = if t.storage { t.format } else { ImageFormat::Unknown };
        }
        r.count = self.descriptor_count(ty);
        r.input_attachment = self.m.decoration(i.id, Decoration::InputAttachmentIndex).unwrap_or(0);
        r.name = self.m.name(i.id);
        if r.name.is_empty() {
            r.name = self.m.name(base);
        }
        let res = self.s.resources.push(r);
        Ok(Place::Resource { res, index: None })
    }

    /// Initialisers of private variables and outputs, and zeroing of workgroup memory.
    pub fn initialise_globals(&mut self) -> Result<()> {
        let m = self.m;
        for g in m.globals.iter().filter(|g| g.op == S::Variable && m.ops(g).len() > initialiser(g))
        {
            self.at = *g;
            let (class, _) = self.pointee(g.ty)?;
            if matches!(class, StorageClass::Private | StorageClass::Output)
                && let Some(Val::Ptr(p)) = self.globals.get(&g.id).cloned()
            {
                let v = self.arg(1)?;
                self.store(&p, &v, None)?;
            }
        }
        if self.shared.is_empty() {
            return Ok(());
        }
        // Zero-initialised workgroup variables: the invocations clear all of the memory word by
        // word together.
        let size = self.s.info.shared_bytes.next_multiple_of(4);
        self.s.info.shared_bytes = size;
        let [x, y, z] = self.s.info.workgroup_size;
        let step = x.saturating_mul(y).saturating_mul(z).saturating_mul(4).max(4);
        let (zero, two, end, step) = (self.u32(0), self.u32(2), self.u32(size), self.u32(step));
        let li = self.emit1(
            Op::LoadBuiltin,
            Attrs::Builtin(Builtin::LocalInvocationIndex),
            &[],
            Type::B32,
        );
        let start = self.alu(Op::IShl, &[li, two])?;
        let var = self.var(Type::B32, None, "zeroing");
        self.store_var(var, start);
        let body = self.in_region(|cx| {
            let at = cx.load_var(var);
            let done = cx.alu(Op::UGe, &[at, end])?;
            let out = cx.in_region(|cx| {
                cx.emit(Op::Break, Attrs::None, &[], &[]);
                Ok(())
            })?;
            let on = cx.in_region(|_| Ok(()))?;
            cx.emit(Op::If, Attrs::If(out, on), &[done], &[]);
            let mem = tepui_ir::Mem { align_log2: 2, ..Default::default() };
            cx.emit(Op::StoreShared, Attrs::Mem(mem), &[at, zero], &[]);
            let next = cx.alu(Op::IAdd, &[at, step])?;
            cx.store_var(var, next);
            cx.emit(Op::Continue, Attrs::None, &[], &[]);
            Ok(())
        })?;
        self.emit(Op::Loop, Attrs::Loop(body), &[], &[]);
        let b = Barrier { exec: Scope::Workgroup, mem: Scope::Workgroup, spaces: MemSet::SHARED };
        self.emit(Op::Barrier, Attrs::Barrier(b), &[], &[]);
        Ok(())
    }

    /// Memory operands at operand `n`: alignment and access flags.
    fn memory_operands(&self, n: usize) -> Result<(Option<u32>, Access)> {
        let ops = self.m.ops(&self.at);
        let Some(&bits) = ops.get(n) else { return Ok((None, Access::empty())) };
        let mask = MemoryAccess::from_bits_truncate(bits);
        let mut access = Access::empty();
        let align = if mask.contains(MemoryAccess::ALIGNED) {
            Some(self.m.op(&self.at, n + 1)?)
        } else {
            None
        };
        access.set(Access::VOLATILE, mask.contains(MemoryAccess::VOLATILE));
        access.set(Access::NONTEMPORAL, mask.contains(MemoryAccess::NONTEMPORAL));
        let coherent = MemoryAccess::MAKE_POINTER_AVAILABLE | MemoryAccess::MAKE_POINTER_VISIBLE;
        access.set(Access::COHERENT, mask.intersects(coherent));
        Ok((align, access))
    }

    /// Translates an instruction of this family; false when it is of another.
    pub fn memory_inst(&mut self, i: Inst) -> Result<bool> {
        let m = self.m;
        let ops = m.ops(&i);
        match i.op {
            S::Variable => {
                let (class, ty) = self.pointee(i.ty)?;
                if class != StorageClass::Function {
                    return self.invalid("a variable in a function has storage class Function");
                }
                let p = self.local_variable(&i, ty)?;
                if ops.len() > 1 {
                    let v = self.arg(1)?;
                    self.store(&p, &v, None)?;
                }
                self.bind(Val::Ptr(Rc::new(p)))?;
            }
            S::Load => {
                let (align, access) = self.memory_operands(1)?;
                let mut p = self.arg_ptr_to(0, i.ty)?;
                p.access |= access;
                let v = self.load(&p, align)?;
                self.bind(v)?;
            }
            S::Store => {
                let (align, access) = self.memory_operands(2)?;
                let mut p = self.arg_ptr_to(0, self.arg_ty(1)?)?;
                p.access |= access;
                let v = self.arg(1)?;
                self.store(&p, &v, align)?;
            }
            S::CopyMemory => {
                let (align, _) = self.memory_operands(2)?;
                let (to, from) = self.copy_args()?;
                let v = self.load(&from, align)?;
                self.store(&to, &v, align)?;
            }
            S::CopyMemorySized => {
                let (align, _) = self.memory_operands(3)?;
                self.copy_bytes(align)?;
            }
            S::UntypedAccessChainKHR | S::UntypedInBoundsAccessChainKHR => {
                let base = self.arg_ptr_as(1, m.op(&i, 0)?)?;
                let p = self.access_chain(&base, ops.get(2..).unwrap_or(&[]))?;
                self.bind(Val::Ptr(Rc::new(p)))?;
            }
            S::UntypedPtrAccessChainKHR | S::UntypedInBoundsPtrAccessChainKHR => {
                let ty = m.op(&i, 0)?;
                let base = self.arg_ptr_as(1, ty)?;
                let stride = match m.decoration(self.arg_ty(1)?, Decoration::ArrayStride) {
                    Some(s) => s,
                    None => self.types.layout(ty).size,
                };
                let p = self.ptr_step(&base, m.op(&i, 2)?, stride)?;
                let p = self.access_chain(&p, ops.get(3..).unwrap_or(&[]))?;
                self.bind(Val::Ptr(Rc::new(p)))?;
            }
            // A hint.
            S::UntypedPrefetchKHR => {}
            S::AccessChain | S::InBoundsAccessChain => {
                let base = self.arg_ptr(0)?;
                let p = self.access_chain(&base, &ops[1..])?;
                self.bind(Val::Ptr(Rc::new(p)))?;
            }
            S::PtrAccessChain | S::InBoundsPtrAccessChain => {
                let base = self.arg_ptr(0)?;
                let base_ty = self.arg_ty(0)?;
                let stride = match m.decoration(base_ty, Decoration::ArrayStride) {
                    Some(s) => s,
                    None => self.types.layout(base.ty).size,
                };
                let p = self.ptr_step(&base, m.op(&i, 1)?, stride)?;
                let p = self.access_chain(&p, &ops[2..])?;
                self.bind(Val::Ptr(Rc::new(p)))?;
            }
            S::ArrayLength | S::UntypedArrayLengthKHR => {
                let (mut p, n) = match i.op {
                    S::ArrayLength => ((*self.arg_ptr(0)?).clone(), m.op(&i, 1)?),
                    _ => (self.arg_ptr_as(1, m.op(&i, 0)?)?, m.op(&i, 2)?),
                };
                if matches!(p.place, Place::Resource { .. }) {
                    p = self.block_pointer(&p)?;
                }
                let Place::Mem { handle: Some(h), .. } = p.place else {
                    return self.unsupported("the length of an array outside a storage buffer");
                };
                let Some(arr) = self.types.element(p.ty, n) else {
                    return self.invalid("no such member");
                };
                let Some(elem) = self.types.element(arr, 0) else {
                    return self.invalid("not an array");
                };
                let (at, by) =
                    (self.types.member_offset(m, p.ty, n), self.types.stride(m, arr, elem).max(1));
                let size = self.emit1(Op::BufferSize, Attrs::None, &[h], Type::B32);
                let (at, by) = (self.u32(at), self.u32(by));
                let bytes = self.alu(Op::USubSat, &[size, at])?;
                let v = self.alu(Op::UDiv, &[bytes, by])?;
                self.bind(Val::Ssa(v))?;
            }
            S::ConvertPtrToU => {
                let p = self.arg_ptr(0)?;
                let a = self.address(&p)?;
                let ty = self.ir_ty(i.ty)?;
                let a = if ty == Type::B64 { a } else { self.op1(Op::U2U, a, ty) };
                self.bind(Val::Ssa(a))?;
            }
            S::ConvertUToPtr => {
                let a = self.arg_ssa(0)?;
                let a = if self.s.ty(a) == Type::B64 { a } else { self.op1(Op::U2U, a, Type::B64) };
                let v = self.pointer_from(i.ty, &[a])?;
                self.bind(v)?;
            }
            S::Bitcast if self.is_pointer(i.ty) || matches!(self.arg(0)?, Val::Ptr(_)) => {
                let v = self.pointer_bitcast(i)?;
                self.bind(v)?;
            }
            S::PtrEqual | S::PtrNotEqual => {
                let (a, b) = (self.place_arg(0)?, self.place_arg(1)?);
                let mut eq = self.konst(Type::B1, 1);
                for (a, b) in a.into_iter().zip(b) {
                    let e = self.alu(Op::IEq, &[a, b])?;
                    eq = self.alu(Op::IAnd, &[eq, e])?;
                }
                if i.op == S::PtrNotEqual {
                    eq = self.alu(Op::INot, &[eq])?;
                }
                self.bind(Val::Ssa(eq))?;
            }
            S::PtrDiff => {
                let (a, b) = (self.place_arg(0)?, self.place_arg(1)?);
                let (Some(&a), Some(&b)) = (a.last(), b.last()) else {
                    return self.invalid("not pointers");
                };
                let stride = m.decoration(self.arg_ty(0)?, Decoration::ArrayStride);
                let p = self.arg_ptr(0)?;
                // Untyped pointers count bytes.
                let pointee = if self.is_untyped(self.arg_ty(0)?) { UNTYPED } else { p.ty };
                let stride = stride.unwrap_or_else(|| self.types.layout(pointee).size).max(1);
                let d = self.alu(Op::ISub, &[a, b])?;
                let by = self.konst(self.s.ty(d), u64::from(stride));
                let d = self.alu(Op::SDiv, &[d, by])?;
                let ty = self.ir_ty(i.ty)?;
                let d = if ty == self.s.ty(d) { d } else { self.op1(Op::S2S, d, ty) };
                self.bind(Val::Ssa(d))?;
            }
            S::ControlBarrier => {
                let (exec, mem, sem) = (self.arg_const(0)?, self.arg_const(1)?, self.arg_const(2)?);
                self.barrier(exec, mem, sem)?;
            }
            S::MemoryBarrier => {
                let (mem, sem) = (self.arg_const(0)?, self.arg_const(1)?);
                self.barrier(SScope::Invocation as u32, mem, sem)?;
            }
            _ => return self.atomic_inst(i),
        }
        Ok(true)
    }

    fn is_pointer(&self, ty: Id) -> bool {
        matches!(self.types.get(ty), Some(Ty::Pointer { .. }))
    }

    fn pointer_bitcast(&mut self, i: Inst) -> Result<Val> {
        match self.arg(0)? {
            Val::Ptr(p) => {
                let a = self.address(&p)?;
                if self.is_pointer(i.ty) {
                    return self.pointer_from(i.ty, &[a]);
                }
                let ty = self.ir_ty(i.ty)?;
                if u32::from(ty.bits()) * u32::from(ty.comps()) != 64 {
                    return self.invalid("a pointer has 64 bits");
                }
                Ok(Val::Ssa(self.op1(Op::Bitcast, a, ty)))
            }
            Val::Ssa(v) => {
                let ty = self.s.ty(v);
                if u32::from(ty.bits()) * u32::from(ty.comps()) != 64 {
                    return self.invalid("a pointer has 64 bits");
                }
                let a = if ty == Type::B64 { v } else { self.op1(Op::Bitcast, v, Type::B64) };
                self.pointer_from(i.ty, &[a])
            }
            _ => self.invalid("not a pointer"),
        }
    }

    /// Values of a pointer operand; in a row-major matrix it points to the first component.
    fn place_arg(&mut self, n: usize) -> Result<Vec<Value>> {
        let mut p = (*self.arg_ptr(n)?).clone();
        if let Place::Mem { row_major, .. } = &mut p.place {
            *row_major = false;
        }
        let v = self.normalise(Val::Ptr(Rc::new(p)))?;
        let mut out = Vec::new();
        self.leaves(&v, &mut out)?;
        Ok(out)
    }

    fn scope(&self, s: u32) -> Result<Scope> {
        Ok(match SScope::from_u32(s) {
            Some(SScope::Invocation) => Scope::Invocation,
            Some(SScope::Subgroup) => Scope::Subgroup,
            Some(SScope::Workgroup) => Scope::Workgroup,
            Some(SScope::QueueFamily) => Scope::QueueFamily,
            Some(SScope::Device) => Scope::Device,
            s => return self.unsupported(format!("memory scope {s:?}")),
        })
    }

    fn barrier(&mut self, exec: u32, mem: u32, sem: u32) -> Result<()> {
        let (exec, mem) = (self.scope(exec)?, self.scope(mem)?);
        let sem = MemorySemantics::from_bits_truncate(sem);
        let mut spaces = MemSet::empty();
        spaces.set(MemSet::BUFFER, sem.contains(MemorySemantics::UNIFORM_MEMORY));
        spaces.set(MemSet::SHARED, sem.contains(MemorySemantics::WORKGROUP_MEMORY));
        spaces.set(MemSet::IMAGE, sem.contains(MemorySemantics::IMAGE_MEMORY));
        spaces.set(MemSet::OUTPUT, sem.contains(MemorySemantics::OUTPUT_MEMORY));
        if exec == Scope::Invocation && spaces.is_empty() {
            return Ok(());
        }
        self.emit(Op::Barrier, Attrs::Barrier(Barrier { exec, mem, spaces }), &[], &[]);
        Ok(())
    }

    /// The barrier half of an atomic's semantics: `release` before it, `acquire` after.
    fn atomic_fence(&mut self, scope: Id, sem: Id, release: bool) -> Result<()> {
        let Val::Ssa(s) = self.val(sem)? else { return self.invalid("semantics are a constant") };
        let Val::Ssa(sc) = self.val(scope)? else { return self.invalid("a scope is a constant") };
        let (Some(s), Some(sc)) = (self.s.as_const(s), self.s.as_const(sc)) else {
            return self.unsupported("scope or semantics that are not constant");
        };
        let bits = MemorySemantics::from_bits_truncate(s as u32);
        let both = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::SEQUENTIALLY_CONSISTENT;
        let one = if release { MemorySemantics::RELEASE } else { MemorySemantics::ACQUIRE };
        if bits.intersects(both | one) {
            self.barrier(SScope::Invocation as u32, sc as u32, s as u32)
        } else {
            Ok(())
        }
    }

    fn atomic_inst(&mut self, i: Inst) -> Result<bool> {
        use AtomicOp as A;
        let m = self.m;
        let op = match i.op {
            S::AtomicLoad | S::AtomicStore => None,
            S::AtomicExchange => Some(A::Xchg),
            S::AtomicCompareExchange => Some(A::CmpXchg),
            S::AtomicIIncrement | S::AtomicIDecrement | S::AtomicIAdd | S::AtomicISub => {
                Some(A::Add)
            }
            S::AtomicSMin => Some(A::SMin),
            S::AtomicUMin => Some(A::UMin),
            S::AtomicSMax => Some(A::SMax),
            S::AtomicUMax => Some(A::UMax),
            S::AtomicAnd => Some(A::And),
            S::AtomicOr => Some(A::Or),
            S::AtomicXor => Some(A::Xor),
            S::AtomicFAddEXT => Some(A::FAdd),
            S::AtomicFMinEXT => Some(A::FMin),
            S::AtomicFMaxEXT => Some(A::FMax),
            _ => return Ok(false),
        };
        let accessed = if i.op == S::AtomicStore { self.arg_ty(3)? } else { i.ty };
        let mut p = self.arg_ptr_to(0, accessed)?;
        if matches!(p.place, Place::Resource { .. }) {
            p = self.block_pointer(&p)?;
        }
        p.access |= Access::COHERENT;
        let Some(ty) = self.types.ir(p.ty).filter(|t| t.is_scalar() && t.bits() >= 16) else {
            return self.invalid("an atomic works on a scalar");
        };
        let (scope, sem) = (m.op(&i, 1)?, m.op(&i, 2)?);
        self.atomic_fence(scope, sem, true)?;
        let one = self.konst(ty, 1);
        let data = match i.op {
            S::AtomicLoad => vec![],
            S::AtomicIIncrement => vec![one],
            S::AtomicIDecrement => vec![self.konst(ty, u64::MAX)],
            S::AtomicISub => {
                let v = self.arg_ssa(3)?;
                vec![self.alu(Op::INeg, &[v])?]
            }
            // SPIR-V gives the value before the comparator.
            S::AtomicCompareExchange => vec![self.arg_ssa(5)?, self.arg_ssa(4)?],
            _ => vec![self.arg_ssa(3)?],
        };
        if data.iter().any(|&d| self.s.ty(d) != ty) {
            return self.invalid("the operand has another type than the memory");
        }
        let result = match (&p.place, op) {
            (Place::Texel { .. }, _) => self.texel_atomic(&p, i.op, op, &data, ty)?,
            (Place::Mem { .. }, Some(op)) => {
                let (mem, mut args, space) = self.mem_args(&p, None, ty.elem_bytes())?;
                args.extend(&data);
                let iop = match space {
                    Space::Buffer => Op::AtomicBuffer,
                    Space::Shared => Op::AtomicShared,
                    Space::Global => Op::AtomicGlobal,
                    Space::Push => return self.invalid("push constants cannot be written"),
                };
                Some(self.emit1(iop, Attrs::Atomic(op, mem), &args, ty))
            }
            (_, None) if i.op == S::AtomicLoad => match self.load(&p, None)? {
                Val::Ssa(v) => Some(v),
                _ => None,
            },
            (_, None) => {
                self.store(&p, &Val::Ssa(data[0]), None)?;
                None
            }
            (Place::Local { .. }, Some(op)) => Some(self.local_atomic(&p, op, &data)?),
            _ => return self.unsupported("an atomic through this kind of pointer"),
        };
        self.atomic_fence(scope, sem, false)?;
        if i.id != 0
            && let Some(v) = result
        {
            self.bind(Val::Ssa(v))?;
        }
        Ok(true)
    }

    /// An atomic on a variable that no other invocation sees: read, compute, write.
    fn local_atomic(&mut self, p: &Ptr, op: AtomicOp, data: &[Value]) -> Result<Value> {
        let Val::Ssa(old) = self.load(p, None)? else { return self.invalid("not a scalar") };
        let new = match op {
            AtomicOp::Xchg => data[0],
            AtomicOp::CmpXchg => {
                let e = self.alu(Op::IEq, &[old, data[0]])?;
                self.alu(Op::Select, &[e, data[1], old])?
            }
            _ => {
                let f = match op {
                    AtomicOp::Add => Op::IAdd,
                    AtomicOp::SMin => Op::SMin,
                    AtomicOp::UMin => Op::UMin,
                    AtomicOp::SMax => Op::SMax,
                    AtomicOp::UMax => Op::UMax,
                    AtomicOp::And => Op::IAnd,
                    AtomicOp::Or => Op::IOr,
                    AtomicOp::Xor => Op::IXor,
                    AtomicOp::FAdd => Op::FAdd,
                    AtomicOp::FMin => Op::FMin,
                    _ => Op::FMax,
                };
                self.alu(f, &[old, data[0]])?
            }
        };
        self.store(p, &Val::Ssa(new), None)?;
        Ok(old)
    }
}
