//! Geometry shaders: inputs by the handles of vertices, emitted vertices by number ([`crate::emissions`]).

use super::alu::op;
use super::urb::Base;
use super::{Comp, Ending, Select, Source};
use crate::emissions::{CONTROL, COUNT, STREAM};
use crate::error::Result;
use crate::mir::{GRF_DWORDS, Operand, Place};
use crate::payload::{GeometryPayload, HANDLES};
use crate::slots::{place, slot_between};
use crate::stage::{ControlData, GeometryInfo};
use crate::vue::Varying;
use tepui_intel_isa::{Opcode, Type as Ty};
use tepui_ir::{self as ir, Attrs, Builtin, IoLoc, IoSlot, Op, Value};

/// Bits of a handle, and of the number of the invocation after them. source: Mesa, `brw_fs_thread_payload.cpp`
/// (`gs_thread_payload`)
const HANDLE_MASK: u64 = 0xffff;
const INVOCATION_SHIFT: u64 = 27;

impl Select<'_> {
    pub(super) fn begin_geometry(&mut self) {
        let handles = Source::payload(HANDLES);
        let mask = Source::immediate(Ty::UD, HANDLE_MASK);
        let v = self.def_plane(op(Opcode::And), Ty::UD, &[handles, mask]);
        self.io.handle = self.read(v, Ty::UD);
    }

    pub(super) fn geometry_io(&mut self, i: ir::Inst, info: &GeometryInfo) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInputVertex, Attrs::Io(slot)) => self.input_of_vertex(i, &slot, info),
            (Op::StoreOutputVertex, Attrs::Io(slot)) => {
                let base = Base {
                    vertex: self.comp(s.arg(i, 2), 0),
                    stride: info.vertex_slots(),
                    first: info.first_vertex(),
                };
                let header = place(&slot, 0).is_some_and(|p| p.0 == Varying::Header);
                self.store_words(i, &slot, base, |slot, k| {
                    let (varying, component) = place(&slot, k)?;
                    Some((info.outputs.vue.slot(varying)? as u16, component))
                });
                if header {
                    self.io.pending.complete(0);
                }
            }
            (Op::StoreOutput, Attrs::Io(IoSlot { loc: IoLoc::Location(n), component, .. })) => {
                let word = self.comp(s.arg(i, 0), 0);
                match n {
                    COUNT => self.io.count = word,
                    // State has it.
                    STREAM => {}
                    CONTROL => {
                        let at = usize::from(component);
                        self.io.control.resize(self.io.control.len().max(at + 1), Comp::Undef);
                        self.io.control[at] = word;
                    }
                    _ => return Ok(false),
                }
            }
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let comp = match b {
                    Builtin::PrimitiveId => {
                        let at = GeometryPayload::new(info).primitive_id;
                        self.plane_of(Source::payload(at))
                    }
                    Builtin::InvocationId if info.invocations == 1 => Comp::Const(0),
                    Builtin::InvocationId => {
                        let sources =
                            [Source::payload(HANDLES), Source::immediate(Ty::UD, INVOCATION_SHIFT)];
                        Comp::Val(self.def_plane(op(Opcode::Shr), Ty::UD, &sources))
                    }
                    Builtin::DeviceIndex => Comp::Const(0),
                    _ => return Ok(false),
                };
                self.set(s.result(i), &[comp]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn input_of_vertex(&mut self, i: ir::Inst, slot: &IoSlot, info: &GeometryInfo) {
        let handle = self.vertex_handle(self.s.arg(i, 1), info);
        self.load_words(i, slot, slot_between, |c, at, words| {
            c.read_urb(handle, Base::ENTRY, at, words, false)
        });
    }

    /// The handles of an input vertex.
    fn vertex_handle(&mut self, vertex: Value, info: &GeometryInfo) -> Source {
        let first = GeometryPayload::new(info).vertices;
        // The invocations of a primitive have its handles in one register.
        let wide = info.invocations == 1;
        match self.clamped(vertex, u32::from(info.vertices_in).max(1) - 1) {
            Comp::Const(k) if wide => Source::payload(first + k as u16),
            Comp::Const(k) => {
                let fixed = Operand::new(Place::Fixed(GRF_DWORDS * first + k as u16), Ty::UD);
                let c = self.plane_of(Source { operand: fixed, val: None });
                self.source(c, Ty::UD)
            }
            c => self.handle_of(first, c, wide),
        }
    }

    /// Control data, then the number of vertices if it is not known.
    pub(super) fn end_geometry(&mut self, info: &GeometryInfo) -> Ending {
        let count = self.io.count;
        let mut control = std::mem::take(&mut self.io.control);
        if info.control == ControlData::None {
            control.clear();
        }
        if info.static_count.is_some() && control.is_empty() {
            return match self.flush_but_last() {
                Some((offset, data)) => self.end_urb(offset, &data),
                // A write is needed; the vertices are not read.
                None => self.end_urb(info.first_vertex(), &[]),
            };
        }
        self.flush();
        let last = self.control_data(info, &control);
        match (info.static_count, last) {
            (Some(_), Some((offset, data))) => self.end_urb(offset, &data),
            _ => self.end_urb(0, &[count]),
        }
    }

    /// Writes control data; the last write is returned if it ends the thread.
    fn control_data(&mut self, info: &GeometryInfo, words: &[Comp]) -> Option<(u16, Vec<Comp>)> {
        const WORDS: usize = 8;
        let mut writes = Vec::new();
        for (n, words) in (0u16..).zip(words.chunks(WORDS)) {
            writes.push((info.control_slot() + 2 * n, words.to_vec()));
        }
        let last = if info.static_count.is_some() { writes.pop() } else { None };
        for (offset, data) in writes {
            self.write_whole(offset, &data);
        }
        last
    }
}
