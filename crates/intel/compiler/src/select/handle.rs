//! Descriptors: entries of the tables of surfaces and samplers, or records in the memory of a set.

use super::alu::op;
use super::memory::Payload;
use super::{Comp, Select, Source};
use crate::bind::{Constant, Sampler, Surface, View, descriptor_of};
use crate::error::{Error, Result};
use crate::mir::{Message, MessageEffect, Operand};
use crate::set_memory::{SetBinding, buffer, sampled, storage};
use tepui_intel_isa::descriptor::{self, STATELESS_NON_COHERENT};
use tepui_intel_isa::message::DataOp1;
use tepui_intel_isa::{Condition, Opcode, Sfid, Type as Ty};
use tepui_ir::{self as ir, Res, Value};
use tepui_regalloc::Val;

/// A surface or a sampler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Handle {
    /// An entry of its table.
    Entry(u8),
    /// A handle that all channels read.
    Record(Val),
}

impl Select<'_> {
    /// The resource of a handle and its index.
    pub(super) fn descriptor(&self, i: ir::Inst, handle: Value) -> Result<(Res, Value)> {
        match descriptor_of(self.s, handle) {
            Some(found) => Ok(found),
            None => self.refuse(i, "of a handle that is chosen at run time is not compiled"),
        }
    }

    /// The binding of a resource in the memory of its set.
    fn placed(&self, i: ir::Inst, res: Res) -> Result<SetBinding> {
        let r = &self.s.resources[res];
        match self.map.placed(r.set, r.binding) {
            Some(placed) => Ok(placed),
            None => self
                .refuse(i, format!("of set {} binding {}, which has no place", r.set, r.binding)),
        }
    }

    /// The element of a binding, if the binding table has an entry for it.
    fn entry_of(&self, res: Res, index: Value) -> Option<u32> {
        let r = &self.s.resources[res];
        let bindless = self.map.placed(r.set, r.binding).is_some_and(|placed| placed.bindless);
        self.s.as_const(index).filter(|_| !bindless).map(|element| element as u32)
    }

    /// The surface of an image or texel buffer.
    pub(super) fn image_surface(
        &mut self,
        i: ir::Inst,
        handle: Value,
        view: View,
    ) -> Result<Handle> {
        let (res, index) = self.descriptor(i, handle)?;
        let r = &self.s.resources[res];
        if let Some(element) = self.entry_of(res, index) {
            let surface = Surface::Image { set: r.set, binding: r.binding, element, view };
            return match self.map.surface(surface) {
                Some(entry) => Ok(Handle::Entry(entry)),
                None => Err(full("surfaces of a stage", crate::bind::MAX_SURFACES)),
            };
        }
        let at = match view {
            View::Sampled => sampled::SURFACE,
            View::Storage => storage::SURFACE,
            View::Raw => storage::RAW,
        };
        self.scalar_record(i, handle, at)
    }

    /// A sampler.
    pub(super) fn sampler(&mut self, i: ir::Inst, handle: Value) -> Result<Handle> {
        let (res, index) = self.descriptor(i, handle)?;
        let r = &self.s.resources[res];
        if let Some(element) = self.entry_of(res, index) {
            let sampler = Sampler { set: r.set, binding: r.binding, element };
            return match self.map.sampler(sampler) {
                Some(entry) => Ok(Handle::Entry(entry)),
                None => Err(full("samplers of a stage", crate::bind::MAX_SAMPLERS)),
            };
        }
        self.scalar_record(i, handle, sampled::SAMPLER)
    }

    fn scalar_record(&mut self, i: ir::Inst, handle: Value, at: u32) -> Result<Handle> {
        let word = self.record(i, handle, at, 1)?[0];
        let word = self.first(word, Ty::UD);
        Ok(Handle::Record(self.scalar(word)))
    }

    /// Double words of the record of a descriptor, at an offset in bytes.
    pub(super) fn record(
        &mut self,
        i: ir::Inst,
        handle: Value,
        at: u32,
        dwords: u8,
    ) -> Result<Vec<Comp>> {
        let (res, index) = self.descriptor(i, handle)?;
        let placed = self.placed(i, res)?;
        let bytes = placed.stride;
        let set = [false, true].map(|high| {
            self.map.dword(Constant::SetAddress(placed.set, high)).map_or(Comp::Undef, Comp::Fixed)
        });
        let immediate =
            |n: u32| Source { operand: Operand::immediate(Ty::UD, n.into()), val: None };
        let first = placed.offset.wrapping_add(at);
        let offset = match self.comp(index, 0) {
            Comp::Const(k) => Comp::Const(first.wrapping_add(k.wrapping_mul(bytes))),
            c => {
                let x = self.source(c, Ty::UD);
                let shift = immediate(bytes.trailing_zeros());
                let x = self.def(op(Opcode::Shl), Ty::UD, &[x, shift]);
                let x = self.read(x, Ty::UD);
                Comp::Val(self.def(op(Opcode::Add), Ty::UD, &[x, immediate(first)]))
            }
        };
        let address = match placed.in_buffer {
            true => self.far_by(set, offset),
            // The set does not cross a multiple of 4 GiB.
            false => {
                let [low, offset] = [set[0], offset].map(|c| self.source(c, Ty::UD));
                [Comp::Val(self.def(op(Opcode::Add), Ty::UD, &[low, offset])), set[1]]
            }
        };
        let width = self.message_width();
        let kind = DataOp1::A64UntypedSurfaceRead;
        let control = descriptor::untyped(kind, STATELESS_NON_COHERENT, dwords, width);
        let message = Message {
            effect: MessageEffect::Pure,
            ..Message::new(Sfid::DataCache1, control, width, [2, 0, dwords])
        };
        let words = self.respond(message, &[Payload::Address(address)]);
        match self.is_uniform(self.comp(index, 0)) {
            true => Ok(words.into_iter().map(|c| self.first(c, Ty::UD)).collect()),
            false => Ok(words),
        }
    }

    /// The address of a buffer in set memory, with its dynamic offset if it has one.
    pub(super) fn buffer_address(&mut self, i: ir::Inst, handle: Value) -> Result<[Comp; 2]> {
        let (res, index) = self.descriptor(i, handle)?;
        let placed = self.placed(i, res)?;
        let words = self.record(i, handle, buffer::ADDRESS, 2)?;
        let address = [words[0], words[1]];
        if placed.dynamic == 0 {
            return Ok(address);
        }
        // There are few dynamic offsets.
        let mut offset = Comp::Const(0);
        for element in 0..placed.dynamic {
            let (set, binding) = (placed.set, placed.binding);
            let constant = Constant::DynamicOffset { set, binding, element };
            let own = self.map.dword(constant).map_or(Comp::Undef, Comp::Fixed);
            let c = self.comp(index, 0);
            let x = self.register(c, Ty::UD);
            let k = Source { operand: Operand::immediate(Ty::UD, element.into()), val: None };
            let test = super::cond::Comparison { condition: Condition::Zero, sources: [x, k] };
            offset = self.pick(&test, [own, offset]);
        }
        Ok(self.far_by(address, offset))
    }
}

fn full(what: &'static str, limit: usize) -> Error {
    Error::Limit { what, needed: limit as u64 + 1, limit: limit as u64 }
}
