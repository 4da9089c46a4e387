//! Inputs of the vertices of a primitive or patch, outputs of a patch, and emitted vertices.

use super::{Machine, Mask};
use crate::attrs::{IoLoc, IoSlot};
use crate::entity::{Inst, Value};
use crate::op::Op;
use std::collections::HashMap;

/// Emission of a geometry shader to a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emission {
    /// A vertex is appended: its outputs by location (or built-in) and component.
    Vertex(HashMap<(IoLoc, u8), u32>),
    /// The strip ends.
    End,
}

/// An emission of one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The lane.
    pub lane: usize,
    /// The stream.
    pub stream: u32,
    /// The emission.
    pub emission: Emission,
}

/// The outputs of a tessellation control shader, whose lanes are the invocations of one patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Words of the vertices by location (or built-in), component and vertex.
    pub vertices: HashMap<(IoLoc, u8, u32), u32>,
    /// Words of the patch by location (or level) and component.
    pub outputs: HashMap<(IoLoc, u8), u32>,
}

/// Location and component of word `k` of a slot, `offset` locations or, for built-ins, components
/// further.
pub(super) fn place(slot: IoSlot, offset: u64, k: usize) -> (IoLoc, u8) {
    match slot.loc {
        IoLoc::Location(l) => {
            (IoLoc::Location(l.wrapping_add(offset as u16)), slot.component.wrapping_add(k as u8))
        }
        b => (b, slot.component.wrapping_add(k as u8).wrapping_add(offset as u8)),
    }
}

impl Machine<'_> {
    /// An offset operand for a lane: one past the end is that of the last element. A constant is
    /// the front end's: an element of what is declared.
    pub(super) fn io_offset(&self, offset: Value, slot: IoSlot, output: bool, lane: usize) -> u64 {
        let o = self.get(offset, 0, lane);
        match self.s.as_const(offset) {
            Some(_) => o,
            None => o.min(u64::from(self.s.io_elements(slot, output)) - 1),
        }
    }

    /// Sets a result for a lane from the words of a slot.
    pub(super) fn set_words(
        &mut self,
        r: Value,
        lane: usize,
        slot: IoSlot,
        offset: u64,
        word: impl Fn(&Self, (IoLoc, u8)) -> Option<u32>,
    ) {
        let ty = self.ty(r);
        for c in 0..ty.comps() as usize {
            let at = |k| u64::from(word(self, place(slot, offset, k)).unwrap_or(0));
            let x = if ty.bits() == 64 { at(2 * c) | (at(2 * c + 1) << 32) } else { at(c) };
            self.set(r, c, lane, x);
        }
    }

    /// The words of a value of a lane, and where a store to a slot puts them.
    pub(super) fn words(
        &self,
        v: Value,
        lane: usize,
        slot: IoSlot,
        offset: u64,
    ) -> Vec<((IoLoc, u8), u32)> {
        let ty = self.ty(v);
        let mut words = Vec::new();
        for c in 0..ty.comps() as usize {
            let x = self.get(v, c, lane);
            words.push(x as u32);
            if ty.bits() == 64 {
                words.push((x >> 32) as u32);
            }
        }
        words.into_iter().enumerate().map(|(k, w)| (place(slot, offset, k), w)).collect()
    }

    /// `load_input_vertex`, `load_output_vertex` and `load_output_patch`.
    pub(super) fn load_primitive(&mut self, inst: Inst, op: Op, slot: IoSlot, live: &Mask) {
        let r = self.s.result(inst);
        let args = self.s.args(inst).to_vec();
        for lane in (0..self.n).filter(|&l| live[l]) {
            let offset = self.io_offset(args[0], slot, op != Op::LoadInputVertex, lane);
            let vertex = args.get(1).map_or(0, |&v| self.get(v, 0, lane));
            self.set_words(r, lane, slot, offset, |m, at| match op {
                Op::LoadInputVertex => {
                    let lanes = m.group.vertex_inputs.get(&at)?;
                    lanes.get(lane)?.get(vertex as usize).copied()
                }
                Op::LoadOutputVertex => m.patch.vertices.get(&(at.0, at.1, vertex as u32)).copied(),
                _ => m.patch.outputs.get(&at).copied(),
            });
        }
    }

    /// Stores to outputs of the patch, of its vertex in operand 2 or of itself.
    pub(super) fn store_patch(&mut self, inst: Inst, slot: IoSlot, live: &Mask) {
        let args = self.s.args(inst).to_vec();
        for lane in (0..self.n).filter(|&l| live[l]) {
            let offset = self.io_offset(args[1], slot, true, lane);
            for (at, w) in self.words(args[0], lane, slot, offset) {
                match args.get(2) {
                    Some(&v) => {
                        let vertex = self.get(v, 0, lane) as u32;
                        self.patch.vertices.insert((at.0, at.1, vertex), w);
                    }
                    None => {
                        self.patch.outputs.insert(at, w);
                    }
                }
            }
        }
    }

    /// `emit_vertex` and `end_primitive`.
    pub(super) fn emit_primitive(&mut self, op: Op, stream: u32, live: &Mask) {
        for lane in (0..self.n).filter(|&l| live[l]) {
            let emission = match op {
                Op::EndPrimitive => Emission::End,
                _ => {
                    let word = |(&(loc, comp, _), words): (&(IoLoc, u8, u8), &Vec<Option<u32>>)| {
                        Some(((loc, comp), words[lane]?))
                    };
                    Emission::Vertex(self.outputs.iter().filter_map(word).collect())
                }
            };
            self.emitted.push(Emitted { lane, stream, emission });
        }
    }
}
