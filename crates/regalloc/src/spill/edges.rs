//! Spill code on the edges to blocks with several predecessors: stores and reloads that bring values to
//! the registers or slots in which the block expects them, and the sources of phis in memory to the
//! phis' slots.
//!
//! Such an edge is the only one out of its predecessor, so the code goes at the predecessor's end. The
//! stores of values that are in registers come first, since they free registers; then copies from slot
//! to slot through one register; then reloads. If such a copy still reads a slot, that slot is written
//! last, through a temporary slot of the edge.

use super::walk::{Join, Walk};
use crate::function::{Block, Ins, Op, Val};
use crate::target::Target;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

/// The copy of a phi's source to the phi's slot.
pub(super) struct Edge {
    /// The phi's result.
    pub(super) phi: Val,
    /// The predecessor that the source comes from.
    pub(super) pred: Block,
    pub(super) source: Val,
    /// The store, and the load before it if the source is in memory; none if the source is the phi itself.
    pub(super) store: PackedOption<Ins>,
    pub(super) load: PackedOption<Ins>,
    /// Whether the store goes to a slot of the edge's own.
    pub(super) staged: bool,
}

/// Slots that are written elsewhere than after the definition of their value.
#[derive(Default)]
pub(super) struct Memory {
    /// The block of each phi in memory.
    pub(super) blocks: SecondaryMap<Val, PackedOption<Block>>,
    /// The predecessor at whose end a slot of an edge's own is used.
    pub(super) staging: SecondaryMap<Val, PackedOption<Block>>,
    /// The stores of phis in memory and of slots of edges.
    pub(super) stores: SecondaryMap<Val, Vec<Ins>>,
    pub(super) edges: Vec<Edge>,
    /// Instructions on edges.
    pub(super) on_edge: EntitySet<Ins>,
}

impl<T: Target> Walk<'_, T> {
    /// Writes the code of all edges, once all blocks are visited.
    pub(super) fn couple(&mut self) -> Memory {
        let mut memory = Memory::default();
        for b in self.f.blocks.keys() {
            let Some(join) = self.joins[b].take() else { continue };
            for &phi in &join.memory {
                memory.blocks[self.f.dsts(phi)[0]] = b.into();
            }
            let mut sources: Vec<Vec<Val>> = vec![Vec::new(); join.regs.len()];
            for n in 0..self.f.blocks[b].preds.len() {
                let mut code = Vec::new();
                let staged = self.store_phis((b, n), &join, &mut memory, &mut code);
                self.load_registers((b, n), &join, &mut sources, &mut code);
                self.store_staged(&staged, &mut memory, &mut code);
                for &i in &code {
                    memory.on_edge.insert(i);
                }
                let p = self.f.blocks[b].preds[n];
                let at = self.f.body_end(p);
                self.f.blocks[p].insts.splice(at..at, code);
            }
            let mut heads = join.phis;
            for (&(_, name), sources) in join.regs.iter().zip(&sources) {
                if let Some(name) = name {
                    heads.push(self.f.make(Op::Phi, &[name], sources, tepui_ir::Loc::default()));
                }
            }
            let insts = std::mem::take(&mut self.f.blocks[b].insts);
            heads.extend(insts.into_iter().filter(|&i| !matches!(self.f.insts[i].op, Op::Phi)));
            self.f.blocks[b].insts = heads;
        }
        memory
    }

    /// Copies the sources of phis in memory to their slots. Returns the phis whose slots are still read
    /// on the edge, each with the temporary slot that holds its source.
    fn store_phis(
        &mut self,
        (b, n): (Block, usize),
        join: &Join,
        memory: &mut Memory,
        code: &mut Vec<Ins>,
    ) -> Vec<(Val, Val)> {
        let p = self.f.blocks[b].preds[n];
        let mut copies = Vec::new();
        let mut read: EntitySet<Val> = EntitySet::new();
        for &phi in &join.memory {
            let (v, source) = (self.f.dsts(phi)[0], self.f.srcs(phi)[n]);
            let name = self.exit_name(p, source);
            if source != v && name.is_none() && self.values.remade(source).is_none() {
                read.insert(source);
            }
            copies.push((v, source, name));
        }
        for &phi in &join.phis {
            let source = self.f.srcs(phi)[n];
            if self.exit_name(p, source).is_none() {
                read.insert(source);
            }
        }
        // Stores come first: they free registers.
        copies.sort_by_key(|c| c.2.is_none());
        let mut staged = Vec::new();
        for (v, source, name) in copies {
            let mut edge = Edge {
                phi: v,
                pred: p,
                source,
                store: None.into(),
                load: None.into(),
                staged: read.contains(v) && source != v,
            };
            if source != v {
                let name = name.unwrap_or_else(|| {
                    let (name, load) = self.reload(source);
                    edge.load = load.into();
                    code.push(load);
                    name
                });
                let mut to = v;
                if edge.staged {
                    to = self.f.renamed(v);
                    memory.staging[to] = p.into();
                    staged.push((v, to));
                }
                let store = self.accesses.store::<T>(self.f, to, name, self.values.loc(v));
                memory.stores[to].push(store);
                edge.store = store.into();
                code.push(store);
            }
            memory.edges.push(edge);
        }
        staged
    }

    /// Copies temporary slots to the slots of their phis, once nothing reads those any more.
    fn store_staged(&mut self, staged: &[(Val, Val)], memory: &mut Memory, code: &mut Vec<Ins>) {
        for &(v, from) in staged {
            let (name, loc) = (self.f.renamed(v), self.values.loc(v));
            code.push(self.accesses.load::<T>(self.f, from, name, loc));
            let store = self.accesses.store::<T>(self.f, v, name, loc);
            memory.stores[v].push(store);
            code.push(store);
        }
    }

    /// Reloads values that the block expects in registers; `sources` gives the names of the phis'
    /// sources.
    fn load_registers(
        &mut self,
        (b, n): (Block, usize),
        join: &Join,
        sources: &mut [Vec<Val>],
        code: &mut Vec<Ins>,
    ) {
        let p = self.f.blocks[b].preds[n];
        let mut loaded: Vec<(Val, Val)> = Vec::new();
        let mut name_of = |walk: &mut Self, v: Val| {
            if let Some(name) = walk.exit_name(p, v) {
                return name;
            }
            if let Some(&(_, name)) = loaded.iter().find(|l| l.0 == v) {
                return name;
            }
            let (name, reload) = walk.reload(v);
            code.push(reload);
            loaded.push((v, name));
            name
        };
        for (&(v, name), sources) in join.regs.iter().zip(sources) {
            if name.is_some() {
                sources.push(name_of(self, v));
            }
        }
        for &phi in &join.phis {
            let source = self.f.srcs(phi)[n];
            let name = name_of(self, source);
            self.f.srcs_mut(phi)[n] = name;
        }
    }
}
