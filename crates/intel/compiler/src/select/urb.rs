//! Entries of the URB that are written in pieces, and reads of entries: hull, domain and geometry programs.
//!
//! Stores are collected until control flow, a barrier, a read of outputs or another vertex follows ([`Select::flush`]), and
//! then written two slots at a time. Handles count slots; a vertex whose number is not known takes an offset for each
//! channel, and components that nothing stores are left out by a mask.

use super::alu::op;
use super::{Comp, Ending, Select, Source};
use crate::mir::{self, Inst, MOp, Operand, Place, planes};
use crate::patch::SLOT_DWORDS;
use std::collections::BTreeMap;
use tepui_intel_isa::{Condition, Opcode, Type as Ty};
use tepui_ir::{self as ir, IoSlot, Value};

/// Maximum number of double words of a message's data.
const MAX_DATA: usize = 8;

/// Maximum offset in slots of a message. source: Mesa, `brw_eu.h` (`brw_urb_desc`)
const MAX_OFFSET: u32 = 0x7ff;

/// Bit of the mask of a component.
const MASK_SHIFT: u32 = 16;

/// A vertex of an entry, or what is not part of one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Base {
    /// The number of the vertex.
    pub vertex: Comp,
    /// Slots of a vertex.
    pub stride: u16,
    /// The first slot of the first vertex.
    pub first: u16,
}

impl Base {
    /// The beginning of the entry.
    pub const ENTRY: Base = Base { vertex: Comp::Const(0), stride: 0, first: 0 };
}

/// Stores that are not written yet: double words by slot, relative to the base.
#[derive(Default)]
pub(super) struct Pending {
    base: Option<Base>,
    slots: BTreeMap<u16, [Option<Comp>; SLOT_DWORDS as usize]>,
}

/// A write: the place of its first slot, and its data.
struct Write {
    address: Address,
    data: Vec<Option<Comp>>,
}

/// An offset in slots, with another one for each channel if that is not known.
#[derive(Clone, Copy)]
struct Address {
    offset: u16,
    per_channel: Option<Comp>,
}

impl Pending {
    /// Makes all double words of a slot that is written zero where nothing is stored.
    pub fn complete(&mut self, slot: u16) {
        if let Some(dwords) = self.slots.get_mut(&slot) {
            for dword in dwords {
                dword.get_or_insert(Comp::Const(0));
            }
        }
    }
}

impl Select<'_> {
    /// The offset of a slot of a vertex.
    fn urb_address(&mut self, base: Base, slot: u16) -> Address {
        let at = u32::from(base.first) + u32::from(slot);
        let Comp::Const(vertex) = base.vertex else {
            let x = self.source(base.vertex, Ty::UD);
            let stride = Source::immediate(Ty::UW, base.stride.into());
            let v = self.def(op(Opcode::Mul), Ty::UD, &[x, stride]);
            return Address { offset: at as u16, per_channel: Some(Comp::Val(v)) };
        };
        let at = at.wrapping_add(vertex.wrapping_mul(base.stride.into()));
        match at {
            0..=MAX_OFFSET => Address { offset: at as u16, per_channel: None },
            _ => Address { offset: 0, per_channel: Some(Comp::Const(at)) },
        }
    }

    /// The header of a message: handles, offsets for each channel, masks.
    fn urb_header(&mut self, handle: Source, more: &[Option<Comp>]) -> Source {
        let more: Vec<Comp> = more.iter().copied().flatten().collect();
        if more.is_empty() {
            return handle;
        }
        let handle = self.handle_value(handle);
        let mut all = vec![Comp::Val(handle)];
        all.extend(more);
        let v = self.collect(&all);
        Source { operand: Operand::value(Ty::UD), val: Some(v) }
    }

    /// A plane of handles as a value.
    fn handle_value(&mut self, handle: Source) -> tepui_regalloc::Val {
        match handle.val {
            Some(v) => v,
            None => self.def_plane(Inst::mov(handle.operand).op, Ty::UD, &[handle]),
        }
    }

    /// Stores a value to the slots of its words.
    pub(super) fn store_words(
        &mut self,
        i: ir::Inst,
        slot: &IoSlot,
        base: Base,
        slot_of: impl Fn(IoSlot, u8) -> Option<(u16, u8)>,
    ) {
        let words = self.words_of(self.s.arg(i, 0), slot.kind);
        if self.io.pending.base != Some(base) {
            self.flush();
            self.io.pending.base = Some(base);
        }
        for (k, &word) in (0..).zip(&words) {
            let Some((at, component)) = slot_of(*slot, k) else { continue };
            let dwords = self.io.pending.slots.entry(at).or_default();
            dwords[usize::from(component & 3)] = Some(word);
        }
    }

    /// The pending writes, in order of slots.
    fn urb_writes(&mut self) -> Vec<Write> {
        let pending = std::mem::take(&mut self.io.pending);
        let Some(base) = pending.base else { return Vec::new() };
        let mut runs: Vec<(u16, Vec<Option<Comp>>)> = Vec::new();
        for (slot, dwords) in pending.slots {
            let next = |run: &(u16, Vec<Option<Comp>>)| {
                run.1.len() < MAX_DATA && run.0 + run.1.len() as u16 / SLOT_DWORDS == slot
            };
            match runs.last_mut() {
                Some(run) if next(run) => run.1.extend(dwords),
                _ => runs.push((slot, dwords.to_vec())),
            }
        }
        let write = |c: &mut Self, (slot, mut data): (u16, Vec<Option<Comp>>)| {
            let end = data.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            data.truncate(end);
            Write { address: c.urb_address(base, slot), data }
        };
        runs.into_iter().map(|run| write(self, run)).collect()
    }

    /// Writes what is pending.
    pub(super) fn flush(&mut self) {
        for w in self.urb_writes() {
            self.write_urb(&w);
        }
    }

    /// As [`Select::flush`]; a write that can end the thread is returned instead of written.
    pub(super) fn flush_but_last(&mut self) -> Option<(u16, Vec<Comp>)> {
        let mut writes = self.urb_writes();
        let whole = |w: &Write| -> Option<(u16, Vec<Comp>)> {
            let data: Option<Vec<Comp>> = w.data.iter().copied().collect();
            data.filter(|_| w.address.per_channel.is_none()).map(|data| (w.address.offset, data))
        };
        let last = writes.last().and_then(whole);
        if last.is_some() {
            writes.pop();
        }
        for w in writes {
            self.write_urb(&w);
        }
        last
    }

    fn write_urb(&mut self, w: &Write) {
        let there = (0u32..).zip(&w.data).filter(|(_, c)| c.is_some());
        let mask = there.fold(0u32, |mask, (k, _)| mask | 1 << k);
        let masked = mask.count_ones() as usize != w.data.len();
        let mask = masked.then_some(Comp::Const(mask << MASK_SHIFT));
        let handle = self.io.handle;
        let header = self.urb_header(handle, &[w.address.per_channel, mask]);
        let data: Vec<Comp> = w.data.iter().map(|c| c.unwrap_or(Comp::Undef)).collect();
        let v = self.collect(&data);
        let data = Source { operand: Operand::value(Ty::UD), val: Some(v) };
        let op = mir::Op::UrbWrite {
            offset: w.address.offset,
            planes: w.data.len() as u8,
            per_channel: w.address.per_channel.is_some(),
            masked,
        };
        self.push(Inst::new(op, Operand::NONE, &[]), None, &[header, data]);
    }

    /// Writes double words from a slot on.
    pub(super) fn write_whole(&mut self, offset: u16, data: &[Comp]) {
        let address = Address { offset, per_channel: None };
        self.write_urb(&Write { address, data: data.iter().copied().map(Some).collect() });
    }

    /// The message that ends the thread: a write of double words from a slot on.
    pub(super) fn end_urb(&mut self, offset: u16, data: &[Comp]) -> Ending {
        let mut vals = vec![self.handle_value(self.io.handle)];
        vals.extend(data.iter().map(|&c| self.value(c)).collect::<Vec<_>>());
        // The register of barriers is another one.
        let end = u16::from(crate::emit::BARRIER);
        let first = end - data.len() as u16;
        let places = first - 1..end;
        self.f.exports = places.map(|register| mir::GRF_UNITS * register).collect();
        self.emit(MOp::Exports, &[], &vals);
        Ending::Urb { offset, handle: Operand::NONE, first, registers: data.len() as u8 }
    }

    /// Reads double words of a slot: `words` from a component on. What another stage wrote does not change.
    pub(super) fn read_urb(
        &mut self,
        handle: Source,
        base: Base,
        slot: u16,
        [component, words]: [u8; 2],
        changes: bool,
    ) -> Vec<Comp> {
        let Address { offset, per_channel } = self.urb_address(base, slot);
        let header = self.urb_header(handle, &[per_channel]);
        let count = component + words;
        let read =
            mir::Op::UrbRead { offset, planes: count, per_channel: per_channel.is_some(), changes };
        let d = self.f.val(planes(self.width, count));
        let inst = Inst::new(read, Operand::value(Ty::UD), &[]);
        self.push(inst, Some(d), &[header]);
        let parts = self.split(d, count.into());
        parts[component.into()..].iter().map(|&v| Comp::Val(v)).collect()
    }

    /// Sets the result of a load from words that are read slot by slot. `read` gets a slot, the first component and the
    /// number of components.
    pub(super) fn load_words(
        &mut self,
        i: ir::Inst,
        slot: &IoSlot,
        slot_of: impl Fn(IoSlot, u8) -> Option<(u16, u8)>,
        mut read: impl FnMut(&mut Self, u16, [u8; 2]) -> Vec<Comp>,
    ) {
        let r = self.s.result(i);
        let ty = self.ty(r);
        let count = crate::interface::words(ty);
        let places: Vec<Option<(u16, u8)>> = (0..count).map(|k| slot_of(*slot, k)).collect();
        let mut all: Vec<Comp> = Vec::with_capacity(count.into());
        let mut k = 0;
        while k < places.len() {
            let Some((at, first)) = places[k] else {
                all.push(Comp::Const(0));
                k += 1;
                continue;
            };
            // Components in a row of one slot.
            let row = places[k..].iter().zip(first..4);
            let n = row.take_while(|(p, c)| **p == Some((at, *c))).count();
            all.extend(read(self, at, [first, n as u8]));
            k += n;
        }
        let comps = self.of_words(ty, slot.kind, &all);
        self.set(r, &comps);
    }

    /// The number of a vertex that is at most `last`.
    pub(super) fn clamped(&mut self, vertex: Value, last: u32) -> Comp {
        match self.comp(vertex, 0) {
            Comp::Const(k) => Comp::Const(k.min(last)),
            Comp::Undef => Comp::Const(0),
            c => {
                let x = self.source(c, Ty::UD);
                let min = mir::Op::Alu {
                    opcode: Opcode::Sel,
                    function: 0,
                    condition: Condition::Less,
                    saturate: false,
                };
                Comp::Val(self.def(min, Ty::UD, &[x, Source::immediate(Ty::UD, last.into())]))
            }
        }
    }

    /// The handle of an input vertex whose number is not known: a double word from a register on, or of a register for each
    /// vertex (`wide`).
    pub(super) fn handle_of(&mut self, first: u16, vertex: Comp, wide: bool) -> Source {
        let base = Source {
            operand: Operand::new(Place::Fixed(mir::GRF_DWORDS * first), Ty::UD),
            val: None,
        };
        let number = match wide {
            false => vertex,
            true => {
                let x = self.source(vertex, Ty::UD);
                let row = self.def(op(Opcode::Shl), Ty::UD, &[x, Source::immediate(Ty::UD, 3)]);
                let lane = self.lane();
                let sources = [self.read(row, Ty::UD), self.read(lane, Ty::UD)];
                Comp::Val(self.def(op(Opcode::Add), Ty::UD, &sources))
            }
        };
        let number = self.value(number);
        let number = self.read(number, Ty::UD);
        let v = self.def_plane(mir::Op::Shuffle, Ty::UD, &[base, number]);
        self.read(v, Ty::UD)
    }
}
