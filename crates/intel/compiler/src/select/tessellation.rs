//! Tessellation control shaders (hull programs) and tessellation evaluation shaders (domain programs).
//!
//! A hull thread has eight invocations of one patch, or one invocation of each of eight patches: the number of an invocation
//! is then that of the thread. Entries of patches are [`crate::patch`].

use super::alu::op;
use super::urb::Base;
use super::{Comp, Ending, Select, Source};
use crate::bind::Constant;
use crate::error::Result;
use crate::mir::{self, GRF_DWORDS, Operand, Place};
use crate::patch::{PatchInterface, SLOT_DWORDS};
use crate::payload::{DOMAIN_COORDINATES, DOMAIN_HANDLES, HANDLES, HullPayload};
use crate::slots::{patch_slot, slot_between, vertex_slot};
use crate::stage::{DomainInfo, HullInfo};
use tepui_intel_isa::{Generation, Opcode, Type as Ty};
use tepui_ir::{self as ir, Attrs, Builtin, Op, Scope};
use tepui_sysval::SystemValue;

/// Double words of g0: the handle of a patch, its number, and the number of the thread.
const PATCH_HANDLE: u16 = 0;
const PATCH_NUMBER: u16 = 1;
const THREAD: u16 = 2;

/// Channels of a thread.
const CHANNELS: u32 = 8;

/// The bits of the thread's number, and the first of them. source: Mesa, brw_compile_tcs.cpp (`brw_set_tcs_invocation_id`)
const fn thread_bits(generation: Generation) -> (u32, u32) {
    match generation {
        Generation::Gen9 => (0x00fe_0000, 17),
        Generation::Gen12 => (0x007f_0000, 16),
    }
}

/// The vertices of a patch.
fn vertices(p: &PatchInterface, vertex: Comp) -> Base {
    Base { vertex, stride: p.vertex_slots(), first: p.first_vertex() }
}

fn fixed(dword: u16) -> Source {
    Source { operand: Operand::new(Place::Fixed(dword), Ty::UD), val: None }
}

impl Select<'_> {
    pub(super) fn begin_hull(&mut self, info: &HullInfo) {
        self.io.handle = match info.eight_patches {
            true => Source::payload(HANDLES),
            false => {
                let c = self.plane_of(fixed(PATCH_HANDLE));
                self.source(c, Ty::UD)
            }
        };
    }

    pub(super) fn hull_io(&mut self, i: ir::Inst, info: &HullInfo) -> Result<bool> {
        let s = self.s;
        let p = info.patch;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInputVertex, Attrs::Io(slot)) => {
                let handle = self.hull_input(i, info);
                self.load_words(i, &slot, slot_between, |c, at, words| {
                    c.read_urb(handle, Base::ENTRY, at, words, false)
                });
            }
            (Op::StoreOutput, Attrs::Io(slot)) => {
                self.store_words(i, &slot, Base::ENTRY, |slot, k| patch_slot(&p, slot, k));
            }
            (Op::StoreOutputVertex, Attrs::Io(slot)) => {
                let vertex = self.output_vertex(s.arg(i, 2), info);
                let base = vertices(&p, vertex);
                self.store_words(i, &slot, base, |slot, k| vertex_slot(&p, slot, k));
            }
            (Op::LoadOutputPatch, Attrs::Io(slot)) => {
                self.flush();
                let handle = self.io.handle;
                let of = |slot, k| patch_slot(&p, slot, k);
                self.load_words(i, &slot, of, |c, at, words| {
                    c.read_urb(handle, Base::ENTRY, at, words, true)
                });
            }
            (Op::LoadOutputVertex, Attrs::Io(slot)) => {
                self.flush();
                let handle = self.io.handle;
                let vertex = self.output_vertex(s.arg(i, 1), info);
                let base = vertices(&p, vertex);
                let of = |slot, k| vertex_slot(&p, slot, k);
                self.load_words(i, &slot, of, |c, at, words| {
                    c.read_urb(handle, base, at, words, true)
                });
            }
            (Op::Barrier, Attrs::Barrier(b)) => {
                self.flush();
                let waits = matches!(b.exec, Scope::Workgroup | Scope::QueueFamily | Scope::Device);
                self.memory_fence(b);
                if waits && info.threads > 1 {
                    self.effect(mir::Op::Barrier);
                }
            }
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let comp = match b {
                    Builtin::InvocationId => self.invocation(info),
                    Builtin::PrimitiveId if info.eight_patches => {
                        let at = HullPayload::new(info).primitive_id;
                        self.plane_of(Source::payload(at))
                    }
                    Builtin::PrimitiveId => Comp::Fixed(PATCH_NUMBER),
                    Builtin::PatchVertices => self.patch_vertices(p.input_vertices),
                    Builtin::DeviceIndex => Comp::Const(0),
                    _ => return Ok(false),
                };
                self.set(s.result(i), &[comp]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The number of vertices of a patch, which the driver gives if it is not known.
    fn patch_vertices(&self, known: u8) -> Comp {
        match known {
            0 => self
                .map
                .dword(Constant::System(SystemValue::PatchVertices))
                .map_or(Comp::Undef, Comp::Fixed),
            n => Comp::Const(n.into()),
        }
    }

    /// The number of each channel's invocation.
    fn invocation(&mut self, info: &HullInfo) -> Comp {
        let (mask, shift) = thread_bits(self.generation);
        let number = |c: &mut Self, shift: u32| {
            let sources = [fixed(THREAD), Source::immediate(Ty::UD, mask.into())];
            let v = c.def(op(Opcode::And), Ty::UD, &sources);
            let sources = [c.read(v, Ty::UD), Source::immediate(Ty::UD, shift.into())];
            c.def(op(Opcode::Shr), Ty::UD, &sources)
        };
        if info.eight_patches {
            return match info.threads {
                1 => Comp::Const(0),
                _ => Comp::Val(number(self, shift)),
            };
        }
        let lane = self.lane();
        if info.threads == 1 {
            return Comp::Val(lane);
        }
        let first = number(self, shift - CHANNELS.trailing_zeros());
        let sources = [self.read(first, Ty::UD), self.read(lane, Ty::UD)];
        Comp::Val(self.def(op(Opcode::Add), Ty::UD, &sources))
    }

    fn is_invocation(&self, v: ir::Value) -> bool {
        let s = self.s;
        let builtin = Attrs::Builtin(Builtin::InvocationId);
        s.def_inst(v)
            .is_some_and(|d| s.insts[d].op == Op::LoadBuiltin && s.insts[d].attrs == builtin)
    }

    /// A vertex of the patch that is written: the invocation's own one is in range.
    fn output_vertex(&mut self, vertex: ir::Value, info: &HullInfo) -> Comp {
        match self.is_invocation(vertex) {
            true => self.comp(vertex, 0),
            false => self.clamped(vertex, u32::from(info.patch.output_vertices).max(1) - 1),
        }
    }

    /// The handles of an input vertex.
    fn hull_input(&mut self, i: ir::Inst, info: &HullInfo) -> Source {
        let payload = HullPayload::new(info);
        let first = payload.vertices;
        let vertex = self.s.arg(i, 1);
        if !info.eight_patches && info.threads == 1 && self.is_invocation(vertex) {
            return Source::payload(first);
        }
        match self.clamped(vertex, u32::from(payload.input_vertices) - 1) {
            Comp::Const(k) if info.eight_patches => Source::payload(first + k as u16),
            Comp::Const(k) => {
                let c = self.plane_of(fixed(GRF_DWORDS * first + k as u16));
                self.source(c, Ty::UD)
            }
            c => self.handle_of(first, c, info.eight_patches),
        }
    }

    pub(super) fn end_hull(&mut self) -> Ending {
        match self.flush_but_last() {
            Some((offset, data)) => self.end_urb(offset, &data),
            // The first double word of a patch is not used. source: Mesa, brw_compile_tcs.cpp
            // (`brw_emit_tcs_thread_end`)
            None => self.end_urb(0, &[Comp::Const(0)]),
        }
    }

    pub(super) fn begin_domain(&mut self) {
        self.io.handle = Source::payload(DOMAIN_HANDLES);
    }

    pub(super) fn domain_io(&mut self, i: ir::Inst, info: &DomainInfo) -> Result<bool> {
        let s = self.s;
        let p = info.patch;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInput, Attrs::Io(slot)) => {
                let of = |slot, k| patch_slot(&p, slot, k);
                self.load_words(i, &slot, of, |c, at, words| {
                    c.domain_words(Base::ENTRY, at, words, info)
                });
            }
            (Op::LoadInputVertex, Attrs::Io(slot)) => {
                let vertex = self.clamped(s.arg(i, 1), u32::from(p.output_vertices).max(1) - 1);
                let base = vertices(&p, vertex);
                let of = |slot, k| vertex_slot(&p, slot, k);
                self.load_words(i, &slot, of, |c, at, words| c.domain_words(base, at, words, info));
            }
            (Op::StoreOutput, Attrs::Io(slot)) => self.vertex_output(i, &slot)?,
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let comps = match b {
                    Builtin::TessCoord => [0, 1, 2]
                        .map(|k| self.plane_of(Source::payload(DOMAIN_COORDINATES + k)))
                        .to_vec(),
                    Builtin::PrimitiveId => vec![Comp::Fixed(PATCH_NUMBER)],
                    Builtin::PatchVertices => vec![self.patch_vertices(p.output_vertices)],
                    Builtin::DeviceIndex => vec![Comp::Const(0)],
                    _ => return Ok(false),
                };
                self.set(s.result(i), &comps);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Double words of a patch: those of the first slots are in registers.
    fn domain_words(
        &mut self,
        base: Base,
        slot: u16,
        [component, words]: [u8; 2],
        info: &DomainInfo,
    ) -> Vec<Comp> {
        if let Comp::Const(vertex) = base.vertex {
            let slot = u32::from(base.first) + u32::from(slot) + vertex * u32::from(base.stride);
            if slot < 2 * u32::from(info.read_length) {
                let first = GRF_DWORDS * self.io.inputs + SLOT_DWORDS * slot as u16;
                let dword = |c: u8| Comp::Fixed(first + u16::from(c));
                return (component..component + words).map(dword).collect();
            }
        }
        let c = self.plane_of(fixed(PATCH_HANDLE));
        let handle = self.source(c, Ty::UD);
        self.read_urb(handle, base, slot, [component, words], false)
    }
}
