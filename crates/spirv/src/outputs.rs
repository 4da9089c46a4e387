//! Stores of outputs when a shader ends, and the outputs that transform feedback captures.

use crate::error::Result;
use crate::ids::Id;
use crate::io::{advance, default_slot};
use crate::translate::{Cx, Output};
use crate::ty::Ty;
use crate::value::{Place, Ptr, Tree, Val};
use rspirv::spirv::Decoration as D;
use std::collections::HashSet;
use std::rc::Rc;
use tepui_ir::{Attrs, Capture, InstFlags, IoLoc, IoSlot, NumKind, Op, Stage, Value};

/// Maximum number of buffers of transform feedback that a device has.
const MAX_FEEDBACK_BUFFERS: u32 = 4;

/// Source and destination of the next captured value.
struct Captured {
    slot: IoSlot,
    stream: u32,
    buffer: u32,
    stride: u32,
    offset: u32,
}

impl Cx<'_> {
    /// Stores what the shader wrote to its outputs.
    pub fn store_outputs(&mut self) -> Result<()> {
        let mut written = HashSet::new();
        for d in self.s.insts.values() {
            if let (Op::StoreVar, Attrs::Var(v)) = (d.op, d.attrs) {
                written.insert(v);
            }
        }
        self.captures()?;
        let outputs = std::mem::take(&mut self.outputs);
        if self.s.info.stage != Stage::Geometry {
            return self.store_each(&outputs, &written);
        }
        // Outputs of each emitted vertex.
        for (region, inst) in std::mem::take(&mut self.emits) {
            let declared = std::mem::take(&mut self.s.outputs);
            let stores = self.in_region(|cx| cx.store_each(&outputs, &written))?;
            if self.s.outputs.is_empty() {
                self.s.outputs = declared;
            }
            let mut stores = std::mem::take(&mut self.s.regions[stores].insts);
            stores.pop();
            let insts = &mut self.s.regions[region].insts;
            if let Some(at) = insts.iter().position(|&i| i == inst) {
                insts.splice(at..at, stores);
            }
        }
        Ok(())
    }

    fn store_each(&mut self, outputs: &[Output], written: &HashSet<tepui_ir::Var>) -> Result<()> {
        for o in outputs {
            let kind = self.types.num_kind(o.ptr.ty);
            let slot = match self.slot(o.id, None, kind, None)? {
                Some(s) => s,
                None if matches!(self.ty(o.ptr.ty)?, Ty::Struct { .. }) => default_slot(),
                None => {
                    return self.invalid(format!("output %{} needs a Location or a BuiltIn", o.id));
                }
            };
            let Place::Local { tree, .. } = &o.ptr.place else { continue };
            let tree = tree.clone();
            let invariant = self.m.decoration(o.id, D::Invariant).is_some();
            self.store_output(o.id, &o.ptr, &tree, slot, written, invariant)?;
        }
        Ok(())
    }

    /// The outputs that transform feedback captures.
    fn captures(&mut self) -> Result<()> {
        let outputs: Vec<(Id, Id)> = self.outputs.iter().map(|o| (o.id, o.ptr.ty)).collect();
        for (id, ty) in outputs {
            // The elements of an array of blocks go to consecutive buffers.
            let (mut block, mut instances) = (ty, 1u32);
            while let Ty::Array { elem, len } = *self.ty(block)? {
                (block, instances) = (elem, instances.saturating_mul(len));
            }
            let members = match self.ty(block)? {
                Ty::Struct { members } => members.to_vec(),
                _ => Vec::new(),
            };
            let parts: Vec<(Option<(Id, u32)>, Id)> = if members.is_empty() {
                instances = 1;
                vec![(None, ty)]
            } else {
                members.iter().zip(0..).map(|(&m, n)| (Some((block, n)), m)).collect()
            };
            let step = self.locations(block);
            let mut at = self.slot(id, None, NumKind::Float, None)?;
            for (member, part) in parts {
                // Decorations of the member win over those of the variable.
                let get = |d: D| {
                    member
                        .and_then(|(t, n)| self.m.member_decoration(t, n, d))
                        .or_else(|| self.m.decoration(id, d))
                };
                let kind = self.types.num_kind(part);
                let slot = self.slot(id, member, kind, at)?;
                at = slot.map(|s| advance(s, self.locations(part)));
                let (Some(slot), Some(buffer), Some(offset)) =
                    (slot, get(D::XfbBuffer), get(D::Offset))
                else {
                    continue;
                };
                let stride = get(D::XfbStride).unwrap_or(0);
                let stream = get(D::Stream).unwrap_or(0);
                for k in 0..instances.min(MAX_FEEDBACK_BUFFERS) {
                    let mut to = Captured {
                        slot: advance(slot, step.saturating_mul(k)),
                        stream,
                        buffer: buffer.saturating_add(k),
                        stride,
                        offset,
                    };
                    self.capture(part, &mut to)?;
                }
            }
        }
        Ok(())
    }

    /// Captures a value: structures and arrays of them member by member, packed as OpenGL does it.
    fn capture(&mut self, ty: Id, to: &mut Captured) -> Result<()> {
        let mut leaf = ty;
        while let Ty::Array { elem, .. } | Ty::Matrix { col: elem, .. } = self.ty(leaf)? {
            leaf = *elem;
        }
        let locations = self.locations(ty);
        if locations > u32::from(u16::MAX) {
            return self.too_large("captured outputs");
        }
        let Ty::Struct { members } = self.ty(leaf)? else {
            let align = self.component_bytes(leaf)?;
            to.offset = to.offset.next_multiple_of(align);
            let ty = self.ir_ty(leaf)?;
            let Captured { slot, stream, buffer, stride, offset } = *to;
            let slot = IoSlot { kind: self.types.num_kind(leaf), ..slot };
            self.s.captures.push(Capture { slot, ty, locations, stream, buffer, stride, offset });
            let columns = locations / self.locations(leaf).max(1);
            to.offset = offset.saturating_add(columns.saturating_mul(ty.size_bytes()));
            to.slot = advance(slot, locations);
            return Ok(());
        };
        let (members, each) = (members.to_vec(), self.locations(leaf).max(1));
        let align = self.component_bytes(leaf)?;
        for _ in 0..locations / each {
            to.offset = to.offset.next_multiple_of(align);
            for &m in &members {
                self.capture(m, to)?;
            }
            to.offset = to.offset.next_multiple_of(align);
        }
        Ok(())
    }

    /// Bytes of the widest component of a type, to which captured structures are aligned.
    fn component_bytes(&self, ty: Id) -> Result<u32> {
        Ok(match self.ty(ty)? {
            Ty::Array { elem, .. } | Ty::Matrix { col: elem, .. } => self.component_bytes(*elem)?,
            Ty::Struct { members } => {
                let mut most = 4;
                for &m in members.iter() {
                    most = most.max(self.component_bytes(m)?);
                }
                most
            }
            _ => self.ir_ty(ty)?.elem_bytes().max(1),
        })
    }

    fn store_output(
        &mut self,
        id: Id,
        p: &Ptr,
        tree: &Rc<Tree>,
        slot: IoSlot,
        written: &HashSet<tepui_ir::Var>,
        invariant: bool,
    ) -> Result<()> {
        let is_block = matches!(self.ty(p.ty)?, Ty::Struct { .. });
        if !is_block && let Tree::Leaf { var, dims } = &**tree {
            if !written.contains(var) {
                return Ok(());
            }
            if matches!(&p.place, Place::Local { index, .. } if index.is_empty()) || dims.is_empty()
            {
                self.declare_io(id, p.ty, slot, false)?;
            }
        }
        if let Some(t) = self.types.ir(p.ty) {
            let Val::Ssa(v) = self.load(p, None)? else {
                return self.invalid("not a scalar or vector");
            };
            let zero = self.u32(0);
            if t.bits() == 64 && t.comps() > 2 {
                let parts = self.split(v);
                let (lo, hi) = (self.vec(&parts[..2])?, self.vec(&parts[2..])?);
                self.write_output(slot, lo, zero, invariant);
                self.write_output(advance(slot, 1), hi, zero, invariant);
            } else {
                self.write_output(slot, v, zero, invariant);
            }
            return Ok(());
        }
        let Some(n) = self.types.len(p.ty) else {
            return self.unsupported("an output of this type");
        };
        let mut at = slot;
        for k in 0..n {
            let Some(e) = self.types.element(p.ty, k) else {
                return self.invalid("no such member");
            };
            let index = self.u32(k);
            let sub = self.step_local(p, index, e, is_block.then_some(k))?;
            let sub_tree = match (&**tree, is_block) {
                (Tree::Struct(parts), true) => parts[k as usize].clone(),
                _ => tree.clone(),
            };
            let s = if is_block {
                let kind = self.types.num_kind(e);
                self.slot(id, Some((p.ty, k)), kind, Some(at))?.unwrap_or(at)
            } else {
                at
            };
            let invariant =
                invariant || is_block && self.m.member_decoration(p.ty, k, D::Invariant).is_some();
            self.store_output(id, &sub, &sub_tree, s, written, invariant)?;
            at = s;
            match at.loc {
                IoLoc::Location(_) => {
                    at = advance(at, self.locations(e));
                    if is_block {
                        at.component = 0;
                    }
                }
                // Elements of a distance array are components; the members of a block begin anew.
                IoLoc::Builtin(_) if is_block => at.component = 0,
                IoLoc::Builtin(_) => at.component = at.component.saturating_add(1),
            }
        }
        Ok(())
    }

    fn write_output(&mut self, slot: IoSlot, v: Value, zero: Value, invariant: bool) {
        self.flags.set(InstFlags::EXACT, invariant);
        self.emit(Op::StoreOutput, Attrs::Io(slot), &[v, zero], &[]);
        self.flags.remove(InstFlags::EXACT);
    }

    fn step_local(&mut self, p: &Ptr, index: Value, elem: Id, member: Option<u32>) -> Result<Ptr> {
        let Place::Local { tree, index: at, comp } = &p.place else {
            return self.invalid("not a variable");
        };
        let mut at = at.clone();
        let tree = match (member, &**tree) {
            (Some(k), Tree::Struct(parts)) => parts[k as usize].clone(),
            _ => {
                at.push(index);
                tree.clone()
            }
        };
        Ok(Ptr { place: Place::Local { tree, index: at, comp: *comp }, ty: elem, access: p.access })
    }
}
