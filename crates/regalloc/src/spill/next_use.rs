//! Next-use distances: the number of instructions from a point to the next use of a value.
//!
//! Eviction takes the value whose next use is furthest. An edge that leaves a loop counts as
//! [`LOOP_EXIT`] instructions, so that values that are only read after a loop are further than all that
//! the loop reads.
//! source: Braun and Hack, "Register Spilling and Live-Range Splitting for SSA-Form Programs", CC 2009

use super::loops::Loops;
use crate::function::{Block, Function, Op, Val};
use crate::liveness::Liveness;
use cranelift_entity::{EntityRef, SecondaryMap};

/// The distance of a value that is not read again.
pub(super) const DEAD: u32 = u32::MAX;
/// The length of an edge that leaves a loop.
pub(super) const LOOP_EXIT: u32 = 1 << 24;
/// Iterations over the blocks of a function with loops: the second propagates distances over back
/// edges. Distances guide the choice and need not be exact.
const ROUNDS: usize = 2;

/// Next uses of the values that are live at block starts, and in the block that is walked.
pub(super) struct NextUses<'a> {
    live: &'a Liveness,
    loops: &'a Loops,
    /// Distance from the start of each block to the next use of each value of [`Liveness::ins`].
    starts: Vec<Vec<u32>>,
    /// In the block that is walked: the position of each value's next use, counted from the block's
    /// first instruction; [`DEAD`] for all others.
    next: SecondaryMap<Val, u32>,
    /// Next uses after each operand of the instructions that are not passed yet, the next one last.
    operands: Vec<u32>,
}

impl<'a> NextUses<'a> {
    pub(super) fn new<I>(f: &Function<I>, live: &'a Liveness, loops: &'a Loops) -> NextUses<'a> {
        let mut uses = NextUses {
            live,
            loops,
            starts: live.ins.iter().map(|vals| vec![DEAD - 1; vals.len()]).collect(),
            next: SecondaryMap::with_default(DEAD),
            operands: Vec::new(),
        };
        uses.next.resize(f.vals.len());
        for _ in 0..if loops.any() { ROUNDS } else { 1 } {
            for b in f.blocks.keys().rev() {
                uses.fill_ends(f, b);
                for (n, &i) in f.blocks[b].insts.iter().enumerate().rev() {
                    for &d in f.dsts(i) {
                        uses.next[d] = DEAD;
                    }
                    if !matches!(f.insts[i].op, Op::Phi) {
                        for &s in f.srcs(i) {
                            uses.next[s] = n as u32;
                        }
                    }
                }
                let mut starts = std::mem::take(&mut uses.starts[b.index()]);
                for (start, &v) in starts.iter_mut().zip(&live.ins[b.index()]) {
                    let now = std::mem::replace(&mut uses.next[v], DEAD).min(DEAD - 1);
                    *start = now;
                }
                uses.starts[b.index()] = starts;
            }
        }
        uses
    }

    /// Adds the next uses of the values that are live where a block ends.
    fn fill_ends<I>(&mut self, f: &Function<I>, b: Block) {
        let end = f.blocks[b].insts.len() as u32;
        for &s in &f.blocks[b].succs {
            let exits = u32::from(self.loops.depth(b).saturating_sub(self.loops.depth(s)));
            let edge = end.saturating_add(exits.saturating_mul(LOOP_EXIT));
            for (&v, &start) in self.live.ins[s.index()].iter().zip(&self.starts[s.index()]) {
                self.next[v] = self.next[v].min(edge.saturating_add(start).min(DEAD - 1));
            }
            let Some(n) = f.blocks[s].preds.iter().position(|&p| p == b) else { continue };
            for &i in f.blocks[s].insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi)) {
                let source = f.srcs(i)[n];
                self.next[source] = self.next[source].min(end);
            }
        }
    }

    /// Begins a block: [`NextUses::at`] tells the next uses at its start, those of its phis included.
    pub(super) fn begin<I>(&mut self, f: &Function<I>, b: Block) {
        self.operands.clear();
        self.fill_ends(f, b);
        for (n, &i) in f.blocks[b].insts.iter().enumerate().rev() {
            if matches!(f.insts[i].op, Op::Phi) {
                break;
            }
            for &d in f.dsts(i).iter().rev() {
                self.operands.push(std::mem::replace(&mut self.next[d], DEAD));
            }
            for &s in f.srcs(i).iter().rev() {
                self.operands.push(std::mem::replace(&mut self.next[s], n as u32));
            }
        }
    }

    /// Passes an operand of the block that was begun: sources, then results of each instruction, in
    /// order. Returns its next use after the instruction, or [`DEAD`].
    pub(super) fn pass(&mut self, v: Val) -> u32 {
        let next = self.operands.pop().unwrap_or(DEAD);
        self.next[v] = next;
        next
    }

    /// The position of a value's next use in the block that was begun, or [`DEAD`].
    pub(super) fn at(&self, v: Val) -> u32 {
        self.next[v]
    }

    /// Ends the block that was begun.
    pub(super) fn end<I>(&mut self, f: &Function<I>, b: Block) {
        for &s in &f.blocks[b].succs {
            for &v in &self.live.ins[s.index()] {
                self.next[v] = DEAD;
            }
            let Some(n) = f.blocks[s].preds.iter().position(|&p| p == b) else { continue };
            for &i in f.blocks[s].insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi)) {
                self.next[f.srcs(i)[n]] = DEAD;
            }
        }
    }
}
