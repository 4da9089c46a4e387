//! Inputs, outputs and built-ins of graphics stages: what they have in common.
//!
//! Outputs are collected and written at the end of the program ([`Select::end`]). Inputs in registers are declared at its
//! start ([`Select::begin`]).

use super::alu::mov;
use super::convert::int_type;
use super::{Comp, Select, Source};
use crate::bind::{Constant, Surface};
use crate::error::Result;
use crate::mir::{Inst, MOp, Operand, Place, planes};
use crate::payload::{DOMAIN_END, FragmentPayload, GeometryPayload, HullPayload};
use crate::slots::place;
use crate::stage::{
    DomainInfo, FragmentInfo, FragmentState, GeometryInfo, HullInfo, VertexInfo, VertexOutputs,
};
use crate::vue::Varying;
use std::collections::BTreeMap;
use tepui_intel_isa::Type as Ty;
use tepui_ir::{self as ir, Attrs, Builtin, IoSlot, NumKind, Type, Value};
use tepui_regalloc::Val;
use tepui_sysval::SystemValue;

/// Parameters of a graphics stage for a number of channels.
#[derive(Clone, Copy)]
pub enum Stage<'a> {
    /// Compute shaders have no inputs and outputs.
    Compute,
    /// A vertex shader.
    Vertex(&'a VertexInfo),
    /// A tessellation control shader.
    Hull(&'a HullInfo),
    /// A tessellation evaluation shader.
    Domain(&'a DomainInfo),
    /// A geometry shader.
    Geometry(&'a GeometryInfo),
    /// A fragment shader.
    Fragment(&'a FragmentInfo, FragmentPayload, FragmentState),
}

impl Stage<'_> {
    /// The first surfaces of the binding table: the colour targets of fragments up to the last one that is written.
    pub fn surfaces(&self) -> Vec<Surface> {
        match self {
            Stage::Fragment(FragmentInfo { targets: 0, .. }, ..) => vec![Surface::NoTarget],
            Stage::Fragment(info, ..) => {
                let end = u8::BITS - info.targets.leading_zeros();
                (0..end as u8).map(Surface::Target).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The register at which constants begin.
    pub fn start(&self) -> u16 {
        match self {
            Stage::Compute => 1,
            Stage::Vertex(_) => 2,
            Stage::Hull(info) => HullPayload::new(info).end,
            Stage::Domain(_) => DOMAIN_END,
            Stage::Geometry(info) => GeometryPayload::new(info).end,
            Stage::Fragment(_, payload, _) => payload.end,
        }
    }
}

/// The stage's own part of a selection.
pub(super) struct Io<'a> {
    pub stage: Stage<'a>,
    /// Registers of the URB data or the setup data.
    pub inputs: u16,
    /// Inputs in registers, by varying and component.
    pub preloaded: BTreeMap<(u16, u8), Comp>,
    /// Depth and W of fragments.
    pub position: [Comp; 2],
    /// Outputs.
    pub outputs: BTreeMap<Varying, [Comp; 4]>,
    /// Outputs of fragments.
    pub fragment: super::output::Outputs,
    /// URB handles of hull, domain and geometry programs.
    pub handle: Source,
    /// Writes of the URB that are to come.
    pub pending: super::urb::Pending,
    /// The last instruction of a fragment shader that is worth suspending channels before, and whether it is selected.
    pub last_costly: (Option<ir::Inst>, bool),
    /// The number of emitted vertices.
    pub count: Comp,
    /// Control data of geometry programs.
    pub control: Vec<Comp>,
}

impl<'a> Io<'a> {
    pub fn new(stage: Stage<'a>, inputs: u16) -> Io<'a> {
        Io {
            stage,
            inputs,
            preloaded: BTreeMap::new(),
            position: [Comp::Undef; 2],
            outputs: BTreeMap::new(),
            fragment: super::output::Outputs::default(),
            handle: Source::payload(crate::payload::HANDLES),
            pending: super::urb::Pending::default(),
            last_costly: (None, false),
            count: Comp::Const(0),
            control: Vec::new(),
        }
    }
}

impl Select<'_> {
    /// Runs before the first instruction.
    pub(super) fn begin(&mut self) {
        match self.io.stage {
            Stage::Compute => {}
            Stage::Vertex(info) => self.begin_vertex(info),
            Stage::Hull(info) => self.begin_hull(info),
            Stage::Domain(_) => self.begin_domain(),
            Stage::Geometry(_) => self.begin_geometry(),
            Stage::Fragment(info, payload, _) => self.begin_fragment(info, &payload),
        }
    }

    /// Runs after the last instruction: the message that ends the thread.
    pub(super) fn end(&mut self) -> super::Ending {
        match self.io.stage {
            Stage::Compute => super::Ending::Compute,
            Stage::Vertex(info) => self.end_vertices(
                &info.outputs,
                Operand::new(Place::Payload(crate::payload::HANDLES), Ty::UD),
            ),
            Stage::Hull(_) => self.end_hull(),
            Stage::Domain(info) => self.end_vertices(
                &info.outputs,
                Operand::new(Place::Payload(crate::payload::DOMAIN_HANDLES), Ty::UD),
            ),
            Stage::Geometry(info) => self.end_geometry(info),
            Stage::Fragment(info, _, state) => self.end_fragment(info, &state),
        }
    }

    /// Selects an instruction that belongs to the stage; whether it is one.
    pub(super) fn stage_io(&mut self, i: ir::Inst) -> Result<bool> {
        if self.s.insts[i].attrs == Attrs::Builtin(Builtin::ViewIndex) {
            let at = self.map.dword(Constant::System(SystemValue::ViewIndex));
            self.set(self.s.result(i), &[at.map_or(Comp::Undef, Comp::Fixed)]);
            return Ok(true);
        }
        match self.io.stage {
            Stage::Compute => Ok(false),
            Stage::Vertex(_) => self.vertex_io(i),
            Stage::Hull(info) => self.hull_io(i, info),
            Stage::Domain(info) => self.domain_io(i, info),
            Stage::Geometry(info) => self.geometry_io(i, info),
            Stage::Fragment(_, payload, state) => self.fragment_io(i, &payload, &state),
        }
    }

    /// A plane that is in registers when the program starts.
    pub(super) fn preload(&mut self, register: u16) -> Val {
        let d = self.f.val(planes(self.width, 1));
        self.emit(MOp::Preload(crate::mir::GRF_UNITS * register), &[d], &[]);
        d
    }

    /// An output outside of the program's straight line cannot be collected.
    pub(super) fn at_root(&self, i: ir::Inst) -> Result<()> {
        match self.nesting {
            0 => Ok(()),
            _ => self.refuse(i, "inside of control flow is not compiled for Intel's GPUs yet"),
        }
    }

    /// Collects an output of a stage before the rasteriser.
    pub(super) fn vertex_output(&mut self, i: ir::Inst, slot: &IoSlot) -> Result<()> {
        self.at_root(i)?;
        let words = self.words_of(self.s.arg(i, 0), slot.kind);
        for (k, &word) in (0..).zip(&words) {
            if let Some((varying, component)) = place(slot, k) {
                let all = self.io.outputs.entry(varying).or_insert([Comp::Undef; 4]);
                all[usize::from(component & 3)] = word;
            }
        }
        Ok(())
    }

    /// A value as words of the interface: 16-bit floats become 32-bit ones, small integers are extended.
    pub(super) fn words_of(&mut self, v: Value, kind: NumKind) -> Vec<Comp> {
        let bits = self.ty(v).bits();
        let comps: Vec<Comp> = (0..self.dwords(v)).map(|k| self.comp(v, k)).collect();
        if bits >= 32 {
            return comps;
        }
        let signed = kind == NumKind::Sint;
        let (from, to) = match kind {
            NumKind::Float => (Ty::HF, Ty::F),
            _ => (int_type(bits, signed).unwrap_or(Ty::UD), if signed { Ty::D } else { Ty::UD }),
        };
        comps.into_iter().map(|c| self.converted(c, from, to)).collect()
    }

    /// A component in another type.
    fn converted(&mut self, c: Comp, from: Ty, to: Ty) -> Comp {
        if c == Comp::Undef {
            return c;
        }
        let source = self.register(c, from);
        Comp::Val(self.def(mov(to), to, &[source]))
    }

    /// The components of a type from words of the interface.
    pub(super) fn of_words(&mut self, ty: Type, kind: NumKind, words: &[Comp]) -> Vec<Comp> {
        if ty.bits() >= 32 || kind != NumKind::Float {
            // The low bits of a double word are a smaller integer.
            return words.to_vec();
        }
        words.iter().map(|&c| self.converted(c, Ty::F, Ty::HF)).collect()
    }

    /// An instruction with a plane as its result whose sources are no values.
    pub(super) fn def_payload(&mut self, inst: &Inst, ty: Ty) -> Val {
        let sources: Vec<Source> = inst
            .src
            .iter()
            .filter(|o| o.place != crate::mir::Place::None)
            .map(|&operand| Source { operand, val: None })
            .collect();
        self.def_plane(inst.op, ty, &sources)
    }

    /// The writes of a vertex's entry: two slots at a time; the last one ends the thread.
    pub(super) fn end_vertices(&mut self, info: &VertexOutputs, handle: Operand) -> super::Ending {
        let mut writes = self.slots(info);
        // A message has data: the first double word of the position is overwritten by nothing that is read.
        let (offset, data) = writes.pop().unwrap_or((1, vec![Comp::Const(0)]));
        for (offset, data) in &writes {
            self.urb_write(*offset, handle, data);
        }
        let vals: Vec<Val> = data.iter().map(|&c| self.value(c)).collect();
        let first = crate::emit::RESERVED - vals.len() as u16;
        self.f.exports =
            (0..).zip(&vals).map(|(k, _)| crate::mir::GRF_UNITS * (first + k)).collect();
        self.emit(MOp::Exports, &[], &vals);
        super::Ending::Urb { offset, handle, first, registers: vals.len() as u8 }
    }

    /// Runs of slots that are written, as messages take them: offset and data.
    fn slots(&mut self, info: &VertexOutputs) -> Vec<(u16, Vec<Comp>)> {
        const MAX_DATA: usize = 8;
        let mut writes: Vec<(u16, Vec<Comp>)> = Vec::new();
        for (offset, &slot) in (0..).zip(&info.vue.slots) {
            let found = slot.and_then(|varying| self.io.outputs.get(&varying)).copied();
            let data = match (slot, found) {
                // Layer, viewport and the like are read in any case.
                (Some(Varying::Header), found) => {
                    let words = found.unwrap_or([Comp::Undef; 4]);
                    words.map(|c| if c == Comp::Undef { Comp::Const(0) } else { c })
                }
                (_, Some(words)) => words,
                _ => continue,
            };
            match writes.last_mut() {
                Some((at, run)) if run.len() < MAX_DATA && *at + run.len() as u16 / 4 == offset => {
                    run.extend(data);
                }
                _ => writes.push((offset, data.to_vec())),
            }
        }
        writes
    }

    /// A write of an entry that does not end the thread.
    fn urb_write(&mut self, offset: u16, handle: Operand, data: &[Comp]) {
        let v = self.collect(data);
        let planes = data.len() as u8;
        let op = crate::mir::Op::UrbWrite { offset, planes, per_channel: false, masked: false };
        let inst = Inst::new(op, Operand::NONE, &[]);
        let data = Source { operand: Operand::value(Ty::UD), val: Some(v) };
        self.push(inst, None, &[Source { operand: handle, val: None }, data]);
    }
}
