//! Liveness: the values that are live where blocks begin and end.
//!
//! Each value is followed from its uses up to its definition, so the cost is the size of the
//! result: values times the blocks that they are live in.

use crate::error::{Error, Result};
use crate::function::{Block, Ctl, Function, Ins, Op, Val};
use crate::target::{Constraint, Overlap, Target};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};

/// Set of values for walks over blocks, emptied in constant time by a generation counter.
#[derive(Clone, Default)]
pub struct LiveSet {
    /// The generation in which each value was inserted.
    stamps: Vec<u32>,
    round: u32,
}

impl LiveSet {
    /// An empty set for the values of a function.
    #[must_use]
    pub fn new<I>(f: &Function<I>) -> LiveSet {
        LiveSet { stamps: vec![0; f.vals.len()], round: 1 }
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.round += 1;
    }

    /// Inserts a value; returns whether it was absent.
    pub fn insert(&mut self, v: Val) -> bool {
        std::mem::replace(&mut self.stamps[v.index()], self.round) != self.round
    }

    /// Removes a value; returns whether it was present.
    pub fn remove(&mut self, v: Val) -> bool {
        std::mem::replace(&mut self.stamps[v.index()], 0) == self.round
    }

    /// Whether the set contains a value.
    #[must_use]
    pub fn contains(&self, v: Val) -> bool {
        self.stamps[v.index()] == self.round
    }

    /// Replaces the contents by these values; returns their size in units.
    pub fn fill<I>(&mut self, f: &Function<I>, vals: &[Val]) -> u32 {
        self.clear();
        vals.iter().filter(|&&v| self.insert(v)).map(|&v| f.vals[v].pressure()).sum()
    }
}

impl LiveSet {
    /// Replaces the contents by the values that are live at the end of a block; returns their size in
    /// units.
    fn fill_outs<I>(&mut self, f: &Function<I>, l: &Liveness, b: Block) -> u32 {
        self.clear();
        let mut units = 0;
        for &s in &f.blocks[b].succs {
            let n = f.blocks[s].preds.iter().position(|&p| p == b);
            let phis = f.blocks[s].insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi));
            let sources = phis.filter_map(|&i| Some(f.srcs(i)[n?]));
            for v in l.ins[s.index()].iter().copied().chain(sources) {
                if self.insert(v) {
                    units += f.vals[v].pressure();
                }
            }
        }
        units
    }
}

/// Values that are live where blocks begin. Sources of phis are live at the end of their
/// predecessor; results of phis are not live at the start.
pub struct Liveness {
    /// Live-in values of each block, ascending.
    pub ins: Vec<Vec<Val>>,
    /// The first block of the loop that a block ends, of [`Liveness::physical`].
    headers: SecondaryMap<Block, PackedOption<Block>>,
}

/// Maximum number of pairs of a value and a block that it is live in; they fit into 1 GiB.
pub(crate) const MAX_PAIRS: usize = 1 << 28;

impl Liveness {
    /// Computes the live-in sets of all blocks.
    ///
    /// # Errors
    /// If the result has more than 2^28 pairs.
    pub fn new<I>(f: &Function<I>) -> Result<Liveness> {
        Liveness::along(f, |_| [None; 2])
    }

    /// Liveness along the edges that a program counter takes with some lanes waiting: each block is also
    /// followed by the next in layout order, so that else follows then, and the rest of a loop a
    /// break; and the last block of a loop by its first one, even where all lanes that reach it leave:
    /// others have continued earlier.
    ///
    /// # Errors
    /// When the result would be too large.
    pub fn physical<I>(f: &Function<I>) -> Result<Liveness> {
        let (mut headers, mut ends) = (SecondaryMap::new(), SecondaryMap::new());
        let mut open: Vec<Block> = Vec::new();
        for (b, data) in f.blocks.iter() {
            match data.insts.last().map(|&i| &f.insts[i].op) {
                Some(Op::Ctl(Ctl::Loop)) => open.push(Block::new(b.index() + 1)),
                Some(Op::Ctl(Ctl::EndLoop)) => {
                    let header = PackedOption::from(open.pop());
                    headers[b] = header;
                    if let Some(header) = header.expand() {
                        ends[header] = PackedOption::from(b);
                    }
                }
                _ => {}
            }
        }
        let before = |b: Block| b.index().checked_sub(1).map(Block::new);
        let live = Liveness::along(f, |b| [before(b), ends[b].expand()])?;
        Ok(Liveness { headers, ..live })
    }

    fn along<I>(f: &Function<I>, also: impl Fn(Block) -> [Option<Block>; 2]) -> Result<Liveness> {
        let mut def: SecondaryMap<Val, PackedOption<Block>> =
            SecondaryMap::with_capacity(f.vals.len());
        // Uses of values in blocks that do not define them; a phi uses its source in the predecessor.
        let mut uses: Vec<(Val, Block)> = Vec::new();
        let mut last: SecondaryMap<Val, PackedOption<Block>> =
            SecondaryMap::with_capacity(f.vals.len());
        for (b, data) in f.blocks.iter() {
            for &i in &data.insts {
                for &d in f.dsts(i) {
                    def[d] = b.into();
                }
                let phi = matches!(f.insts[i].op, Op::Phi);
                for (n, &s) in f.srcs(i).iter().enumerate() {
                    let at = if phi { data.preds[n] } else { b };
                    if def[s] != at.into() && last[s] != at.into() {
                        last[s] = at.into();
                        uses.push((s, at));
                    }
                }
            }
        }
        uses.sort_unstable();
        let mut ins: Vec<Vec<Val>> = vec![Vec::new(); f.blocks.len()];
        let mut work: Vec<Block> = Vec::new();
        let mut pairs = 0;
        for (v, b) in uses {
            work.push(b);
            while let Some(b) = work.pop() {
                let list = &mut ins[b.index()];
                if def[v] == b.into() || list.last() == Some(&v) {
                    continue;
                }
                list.push(v);
                pairs += 1;
                work.extend(&f.blocks[b].preds);
                work.extend(also(b).into_iter().flatten());
            }
            if pairs > MAX_PAIRS {
                return Err(Error::Liveness { needed: pairs, limit: MAX_PAIRS });
            }
        }
        Ok(Liveness { ins, headers: SecondaryMap::new() })
    }

    /// Whether a value is live where a block begins.
    #[must_use]
    pub fn is_live_in(&self, v: Val, b: Block) -> bool {
        self.ins[b.index()].binary_search(&v).is_ok()
    }

    /// The values that are live where a block ends, ascending, of [`Liveness::physical`].
    #[must_use]
    pub fn physical_outs<I>(&self, f: &Function<I>, b: Block) -> Vec<Val> {
        let mut out = self.outs(f, b);
        out.extend(self.ins.get(b.index() + 1).into_iter().flatten());
        out.extend(self.headers[b].expand().iter().flat_map(|header| &self.ins[header.index()]));
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The values that are live where a block ends, ascending.
    #[must_use]
    pub fn outs<I>(&self, f: &Function<I>, b: Block) -> Vec<Val> {
        let mut out = Vec::new();
        for &s in &f.blocks[b].succs {
            out.extend_from_slice(&self.ins[s.index()]);
            let Some(n) = f.blocks[s].preds.iter().position(|&p| p == b) else { continue };
            let phis = f.blocks[s].insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi));
            out.extend(phis.map(|&i| f.srcs(i)[n]));
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Register pressure of a function: the maximum number of units live at the same point, and its block.
/// Results that overlap dying operands count once.
#[must_use]
pub fn pressure<T: Target>(f: &Function<T::Inst>, l: &Liveness) -> (u32, Block) {
    let (mut most, mut at) = (0, Block::from_u32(0));
    let mut live = LiveSet::new(f);
    for b in f.blocks.keys() {
        let peak = block_pressure::<T>(f, l, b, &mut live);
        if peak > most {
            (most, at) = (peak, b);
        }
    }
    (most, at)
}

/// Most units live at once in a block; `live` is storage.
pub(crate) fn block_pressure<T: Target>(
    f: &Function<T::Inst>,
    l: &Liveness,
    b: Block,
    live: &mut LiveSet,
) -> u32 {
    let size = |v: Val| f.vals[v].pressure();
    let mut now = live.fill_outs(f, l, b);
    let mut peak = now;
    for &i in f.blocks[b].insts.iter().rev() {
        let mut dead = 0;
        for &d in f.dsts(i) {
            if live.remove(d) {
                now -= size(d);
            } else {
                dead += size(d);
            }
        }
        let written: u32 = f.dsts(i).iter().map(|&d| size(d)).sum();
        if matches!(f.insts[i].op, Op::Phi) {
            // Phis are written together; the values that they replace are still live then.
            peak = peak.max(now + written + dead);
            continue;
        }
        let through = now;
        for &s in f.srcs(i) {
            if live.insert(s) {
                now += size(s);
            }
        }
        let extra = Extra::new::<T>(f, i);
        peak = peak.max(now + extra.read).max(through + written + extra.written);
    }
    peak
}

/// Units that an instruction with constraints needs besides those of its operands and of what lives
/// on.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extra {
    /// While it reads its sources.
    pub(crate) read: u32,
    /// Time at which it has read them.
    pub(crate) written: u32,
}

impl Extra {
    pub(crate) fn new<T: Target>(f: &Function<T::Inst>, i: Ins) -> Extra {
        let mut extra = Extra::default();
        if !T::CONSTRAINED {
            return extra;
        }
        let Some(inst) = f.insts[i].op.inst() else { return extra };
        let (dsts, srcs) = (f.dsts(i), f.srcs(i));
        for (k, s) in srcs.iter().enumerate() {
            let tied = |n| T::result(inst, n) == Constraint::Tied(k);
            // A copy, if the value lives on.
            if T::source(inst, k) != Constraint::Any || (0..dsts.len()).any(tied) {
                extra.read += f.vals[*s].pressure();
            }
        }
        for (n, d) in dsts.iter().enumerate() {
            if (0..srcs.len()).any(|k| T::overlap(inst, n, k) != Overlap::Any) {
                extra.read += f.vals[*d].pressure();
            }
        }
        extra.written = T::clobbers(inst).len();
        extra
    }
}
