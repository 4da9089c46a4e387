//! Vertex shaders: attributes, numbers of vertices and instances, stores of positions and varyings.
//!
//! A vertex shader is compiled twice: the position program stores what the tiler needs, the varying program what fragments read, and
//! runs for visible vertices only. Both store to buffers of the hardware, at the addresses of table 61.
//! source: Mesa, bifrost_compile.c (`bi_emit_store_vary`, `bi_emit_load_attr`)

use super::stage::Part;
use super::texture::narrow_table;
use super::{Opnd, Select};
use crate::error::Result;
use crate::interface::FauWord;
use crate::mir::{Comp, Inst as Isa, Memory, PAIR, Val, WORD, words};
use crate::preload;
use crate::stage::LOCATION_BYTES;
use std::collections::BTreeMap;
use tepui_ir::{Attrs, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Shader, Stage, Type};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::UNSIGNED;
use tepui_mali_isa::modifier::{Condition, MemoryAccess, RegisterFormat, VectorSize};
use tepui_mali_isa::operand::Swizzle;
use tepui_sysval::SystemValue;

/// The table of vertex packets.
const PACKETS: u32 = 61;
/// Elements from a vertex's position to its point size and layer.
const EXTRA_ELEMENTS: u32 = 4;
/// Byte of the layer among them.
const LAYER_BYTE: i64 = 2;
/// Attributes that an instruction can name.
const IMMEDIATE_ATTRIBUTES: u16 = 16;

/// Attributes by location, those that are read as floats apart.
#[derive(Default)]
pub(super) struct Attributes {
    /// Components up to the last one that the shader reads.
    widths: BTreeMap<(u16, bool), usize>,
    /// The words of those that were loaded at the top of the program.
    loaded: BTreeMap<(u16, bool), Vec<Comp>>,
}

/// The end of the components that a load of an attribute reads.
fn end_of(ty: Type, slot: &IoSlot) -> usize {
    usize::from(slot.component) + usize::from(ty.comps()) * if ty.bits() == 64 { 2 } else { 1 }
}

impl Attributes {
    /// The attributes that a shader reads.
    pub(super) fn of(s: &Shader) -> Attributes {
        let mut widths = BTreeMap::new();
        s.walk(|s, _, i| {
            if let (Op::LoadInput, Attrs::Io(slot)) = (s.insts[i].op, &s.insts[i].attrs)
                && let IoLoc::Location(location) = slot.loc
            {
                let end = end_of(s.ty(s.result(i)), slot).min(4);
                let width = widths.entry((location, slot.kind == NumKind::Float)).or_insert(0);
                *width = end.max(*width);
            }
        });
        Attributes { widths, loaded: BTreeMap::new() }
    }
}

impl Select<'_> {
    /// An attribute.
    pub(super) fn attribute(&mut self, i: Inst, slot: &IoSlot) -> Result<()> {
        let s = self.s;
        let IoLoc::Location(location) = slot.loc else {
            return self.refuse(i, "of a built-in that vertices do not have");
        };
        let ty = self.ty(s.result(i));
        let first = usize::from(slot.component);
        let end = end_of(ty, slot);
        if end > 4 {
            return self.refuse(i, "past the end of its location is not compiled");
        }
        let format = match slot.kind {
            NumKind::Float => RegisterFormat::F32,
            _ => RegisterFormat::Auto,
        };
        let is_float = slot.kind == NumKind::Float;
        if let Some(all) = self.attributes.loaded.get(&(location, is_float)) {
            let all = all[first..end].to_vec();
            let comps = self.of_words(ty, slot.kind, &all);
            self.set(s.result(i), &comps);
            return Ok(());
        }
        // At the top of the program all that the shader reads of the attribute is loaded, for what follows.
        let shared = self.region_depth == 1;
        let widest = self.attributes.widths.get(&(location, is_float)).copied();
        let count = widest.filter(|_| shared).unwrap_or(end);
        let vertex = Opnd::val(self.vertex_number(i)?);
        let instance = Opnd::val(self.instance_of(i, location)?);
        let d = self.f.val(words(count as u8));
        let size = [VectorSize::None, VectorSize::V2, VectorSize::V3, VectorSize::V4][count - 1];
        let table = u32::from(self.attribute_table);
        match narrow_table(table) {
            Some(table) if location < IMMEDIATE_ATTRIBUTES => {
                let inst = Isa::new(IsaOp::LD_ATTR_IMM).with(size).with(format);
                let inst = inst.staged(0, count as u8).immediate(0, location.into());
                self.isa(inst.immediate(1, table.into()), &[d], &[], &[vertex, instance]);
            }
            _ => {
                let handle = self.handle_of(table, location.into(), None);
                let inst = Isa::new(IsaOp::LD_ATTR).with(size).with(format).staged(0, count as u8);
                self.isa(inst, &[d], &[], &[vertex, instance, handle]);
            }
        }
        let mut all: Vec<Comp> = self.split(d).into_iter().map(Comp::Val).collect();
        if let (true, [_, _, _, alpha], 8..=32) = (self.robust, &mut all[..], ty.bits()) {
            *alpha = self.attribute_alpha(location, is_float, *alpha)?;
        }
        let comps = self.of_words(ty, slot.kind, &all[first..end]);
        if shared {
            self.attributes.loaded.insert((location, is_float), all);
        }
        self.set(s.result(i), &comps);
        Ok(())
    }

    /// The alpha of an attribute that may be outside of its buffer, where all that is read is 0: alpha that the format lacks is 1 there,
    /// too.
    fn attribute_alpha(&mut self, location: u16, is_float: bool, alpha: Comp) -> Result<Comp> {
        let one = if is_float { 0x3f80_0000 } else { 1 };
        let (opaque, alpha) = (self.fau_word(FauWord::OpaqueAttributes)?, self.opnd(alpha));
        let (opaque, mask) = (self.opnd(opaque), Opnd::imm(1 << location));
        let bit = self.word(IsaOp::LSHIFT_AND_I32, &[mask, Opnd::imm(0), opaque]);
        let ops = [Opnd::val(bit), Opnd::imm(0), Opnd::imm(one), alpha];
        let inst = Isa::new(IsaOp::CSEL_U32).with(Condition::Ne);
        Ok(Comp::Val(self.def(inst, WORD, &ops)))
    }

    /// The number of the instance with which an attribute is fetched. The hardware divides it by the attribute's divisor, so that the first
    /// instance is multiplied by that; an attribute with divisor 0 has divisor 1, and the number of the instance in the draw is masked.
    fn instance_of(&mut self, i: Inst, location: u16) -> Result<Val> {
        let own = self.instance_number(i)?;
        if !self.adds_first_instance {
            return Ok(own);
        }
        let location = location as u8;
        let first = self.system(SystemValue::BaseInstance)?;
        let word = |factor| FauWord::Instances { location, factor };
        let (mask, factor) = (self.fau_word(word(false))?, self.fau_word(word(true))?);
        let [first, mask, factor] = [first, mask, factor].map(|c| self.opnd(c));
        let first = self.word(IsaOp::IMUL_I32, &[first, factor]);
        let own = self.word(IsaOp::LSHIFT_AND_I32, &[Opnd::val(own), Opnd::imm(0), mask]);
        Ok(self.word(IsaOp::IADD_U32, &[Opnd::val(own), Opnd::val(first)]))
    }

    /// The number of the instance in the draw. A vertex shader that runs as a compute program may begin with another than the first.
    fn instance_number(&mut self, i: Inst) -> Result<Val> {
        let own = self.preloaded(i, preload::INSTANCE)?;
        if self.s.info.stage != Stage::Compute {
            return Ok(own);
        }
        let first = self.system(SystemValue::BaseWorkgroup { axis: 1 })?;
        let first = self.opnd(first);
        Ok(self.word(IsaOp::IADD_U32, &[Opnd::val(own), first]))
    }

    /// The number of the vertex. A vertex shader that runs as a compute program reads it from a list, by the number of the invocation;
    /// the second number of the invocation is the instance.
    fn vertex_number(&mut self, i: Inst) -> Result<Val> {
        let own = self.preloaded(i, preload::VERTEX)?;
        if self.s.info.stage != Stage::Compute {
            return Ok(own);
        }
        let pair = self.fau.pair([0, 1].map(|half| FauWord::System(SystemValue::VertexList, half)));
        let Some(first) = pair else { return Err(super::full()) };
        let inst = Isa::new(IsaOp::SHADDX_U64).immediate(0, 2);
        let ops = [Opnd::uniform(first), Opnd::val(own).part(Swizzle::W0)];
        let address = self.def(inst, PAIR, &ops);
        let d = self.f.val(WORD);
        let inst = Isa::new(IsaOp::LOAD_I32).staged(0, 1).flag(&UNSIGNED, true);
        self.isa(inst, &[d], &[], &[Opnd::val(address)]);
        Ok(d)
    }

    pub(super) fn vertex_builtin(&mut self, i: Inst, b: Builtin) -> Result<Option<Comp>> {
        Ok(Some(match b {
            Builtin::VertexIndex => Comp::Val(self.vertex_number(i)?),
            Builtin::InstanceIndex => {
                let own = Opnd::val(self.instance_number(i)?);
                let first = self.system(SystemValue::BaseInstance)?;
                let first = self.opnd(first);
                Comp::Val(self.word(IsaOp::IADD_U32, &[own, first]))
            }
            Builtin::BaseVertex => self.system(SystemValue::BaseVertex)?,
            Builtin::BaseInstance => self.system(SystemValue::BaseInstance)?,
            Builtin::DrawIndex => self.system(SystemValue::DrawIndex)?,
            Builtin::ViewIndex => self.system(SystemValue::ViewIndex)?,
            _ => return Ok(None),
        }))
    }

    /// The address in the vertex's buffer.
    fn packet(&mut self, i: Inst, elements: u32) -> Result<Opnd> {
        let own = self.preloaded(i, preload::VERTEX_PACKET)?;
        let element = Opnd::val(self.add_const(Opnd::val(own), elements));
        let table = narrow_table(PACKETS).unwrap_or_default();
        let inst = Isa::new(IsaOp::LEA_BUF_IMM).staged(0, 2).immediate(0, table.into());
        let d = self.f.val(PAIR);
        self.isa(inst, &[d], &[], &[element]);
        Ok(Opnd::val(d))
    }

    fn store_packet(&mut self, address: Opnd, at: i64, bytes: u8, vals: &[Val]) {
        let op = match bytes {
            1 => IsaOp::STORE_I8,
            2 => IsaOp::STORE_I16,
            4 => IsaOp::STORE_I32,
            8 => IsaOp::STORE_I64,
            12 => IsaOp::STORE_I96,
            _ => IsaOp::STORE_I128,
        };
        let access = match self.part {
            Part::Varying => MemoryAccess::Estream,
            _ => MemoryAccess::Istream,
        };
        let staged = self.collect(vals);
        let inst = Isa::new(op).with(access).staged(0, vals.len() as u8).immediate(0, at);
        self.isa(inst.of(Memory::None), &[], &[staged], &[address]);
    }

    /// Stores the outputs.
    pub(super) fn end_vertex(&mut self, last: Inst) -> Result<()> {
        match self.part {
            Part::Varying => self.store_varyings(last),
            part => self.store_position(last, part == Part::Position),
        }
    }

    /// Stores the position in pixels, with the reciprocal of w; then the point size and the layer.
    fn store_position(&mut self, last: Inst, with_size: bool) -> Result<()> {
        let position = self.outputs.position;
        let own = position.map(|c| self.opnd(c));
        let inverse = self.word(IsaOp::FRCP_F32, &[own[3]]);
        let mut staged = Vec::with_capacity(4);
        for axis in 0..3u8 {
            let nothing = Opnd::imm(0x8000_0000);
            let ops = [own[usize::from(axis)], Opnd::val(inverse), nothing];
            let ndc = self.word(IsaOp::FMA_F32, &ops);
            let [scale, offset] = [false, true].map(|offset| FauWord::Viewport { axis, offset });
            let pair = self.fau.pair([scale, offset]);
            let Some(first) = pair else { return Err(super::full()) };
            let ops = [Opnd::val(ndc), Opnd::uniform(first), Opnd::uniform(first + 1)];
            staged.push(self.word(IsaOp::FMA_F32, &ops));
        }
        staged.push(inverse);
        let address = self.packet(last, 0)?;
        self.store_packet(address, 0, 16, &staged);
        let size = self.outputs.point_size.filter(|_| with_size);
        if size.is_some() || self.outputs.layer.is_some() {
            let address = self.packet(last, EXTRA_ELEMENTS)?;
            if let Some(c) = size {
                let o = self.opnd(c);
                let half = self.word(IsaOp::V2F32_TO_V2F16, &[o, o]);
                self.store_packet(address, 0, 2, &[half]);
            }
            if let Some(c) = self.outputs.layer {
                let v = self.register(c);
                self.store_packet(address, LAYER_BYTE, 1, &[v]);
            }
        }
        Ok(())
    }

    fn store_varyings(&mut self, last: Inst) -> Result<()> {
        let varyings = std::mem::take(&mut self.outputs.varyings);
        if varyings.is_empty() {
            return Ok(());
        }
        let w = self.outputs.position[3];
        let address = self.packet(last, 0)?;
        for (location, (comps, interp)) in varyings {
            let at = i64::from(LOCATION_BYTES) * i64::from(location);
            let mut first = 0;
            while first < 4 {
                if comps[first] == Comp::Undef {
                    first += 1;
                    continue;
                }
                let count = comps[first..].iter().take_while(|c| **c != Comp::Undef).count();
                let mut vals = Vec::with_capacity(count);
                for &c in &comps[first..first + count] {
                    vals.push(match interp {
                        // Linear on the screen: divided by w again after interpolation.
                        Interp::Linear => {
                            let ops = [self.opnd(c), self.opnd(w), Opnd::imm(0x8000_0000)];
                            self.word(IsaOp::FMA_F32, &ops)
                        }
                        _ => self.register(c),
                    });
                }
                self.store_packet(address, at + 4 * first as i64, 4 * count as u8, &vals);
                first += count;
            }
        }
        Ok(())
    }

    /// A value of the interface, of words of 32 bits, as one of a type.
    pub(super) fn of_words(
        &mut self,
        ty: tepui_ir::Type,
        kind: NumKind,
        all: &[Comp],
    ) -> Vec<Comp> {
        if ty.bits() != 16 || kind != NumKind::Float {
            return all.to_vec();
        }
        let narrowed = |x: &mut Self, c: Comp| match c {
            Comp::Undef => c,
            c => {
                let o = x.opnd(c);
                Comp::Val(x.def(Isa::new(IsaOp::V2F32_TO_V2F16), WORD, &[o, o]))
            }
        };
        all.iter().map(|&c| narrowed(self, c)).collect()
    }
}
