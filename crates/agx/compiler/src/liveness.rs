//! Which values are alive at the ends of blocks.

use crate::mir::{Block, Function, Op, Val};
use cranelift_entity::EntityRef;

/// A set of values.
#[derive(Clone, Default, PartialEq)]
pub struct ValSet {
    words: Vec<u64>,
}

impl ValSet {
    fn new(n: usize) -> ValSet {
        ValSet { words: vec![0; n.div_ceil(64)] }
    }

    /// Adds; returns whether it was not there.
    pub fn insert(&mut self, v: Val) -> bool {
        let (w, bit) = (v.index() / 64, 1 << (v.index() % 64));
        let new = self.words[w] & bit == 0;
        self.words[w] |= bit;
        new
    }

    /// Removes; returns whether it was there.
    pub fn remove(&mut self, v: Val) -> bool {
        let (w, bit) = (v.index() / 64, 1 << (v.index() % 64));
        let old = self.words[w] & bit != 0;
        self.words[w] &= !bit;
        old
    }

    /// Whether it is there.
    #[must_use]
    pub fn contains(&self, v: Val) -> bool {
        self.words[v.index() / 64] >> (v.index() % 64) & 1 != 0
    }

    fn unite(&mut self, other: &ValSet) {
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    /// All, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Val> + '_ {
        self.words.iter().enumerate().flat_map(|(w, &bits)| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                let n = rest.trailing_zeros();
                if n == 64 {
                    return None;
                }
                rest &= rest - 1;
                Some(Val::new(w * 64 + n as usize))
            })
        })
    }
}

/// Live values at block boundaries. Sources of phis live at the end of their predecessor; results of phis not at the start.
pub struct Liveness {
    /// At the start of each block.
    pub ins: Vec<ValSet>,
    /// At the end of each block.
    pub outs: Vec<ValSet>,
}

impl Liveness {
    /// Computes it.
    #[must_use]
    pub fn new(f: &Function) -> Liveness {
        let empty = ValSet::new(f.vals.len());
        let n = f.blocks.len();
        let mut l = Liveness { ins: vec![empty.clone(); n], outs: vec![empty.clone(); n] };
        let mut dirty = vec![true; n];
        let mut live = empty;
        while dirty.iter().any(|&d| d) {
            for (b, data) in f.blocks.iter().rev() {
                if !std::mem::replace(&mut dirty[b.index()], false) {
                    continue;
                }
                live.words.fill(0);
                for &s in &data.succs {
                    live.unite(&l.ins[s.index()]);
                    Self::phi_sources(f, b, s, |v| {
                        live.insert(v);
                    });
                }
                l.outs[b.index()].words.copy_from_slice(&live.words);
                for &i in data.insts.iter().rev() {
                    for &d in f.dsts(i) {
                        live.remove(d);
                    }
                    if !matches!(f.insts[i].op, Op::Phi) {
                        for &s in f.srcs(i) {
                            live.insert(s);
                        }
                    }
                }
                if l.ins[b.index()] != live {
                    l.ins[b.index()].words.copy_from_slice(&live.words);
                    for &p in &data.preds {
                        dirty[p.index()] = true;
                    }
                }
            }
        }
        l
    }

    fn phi_sources(f: &Function, from: Block, to: Block, mut each: impl FnMut(Val)) {
        let Some(n) = f.blocks[to].preds.iter().position(|&p| p == from) else { return };
        for &i in &f.blocks[to].insts {
            if !matches!(f.insts[i].op, Op::Phi) {
                break;
            }
            each(f.srcs(i)[n]);
        }
    }
}

/// Most half-registers alive at once, results that overlap dying operands counted once.
#[must_use]
pub fn pressure(f: &Function, l: &Liveness) -> (u32, Block) {
    let room = |v: Val| u32::from(f.vals[v].halves);
    let (mut most, mut at) = (0, Block::from_u32(0));
    for (b, data) in f.blocks.iter() {
        let mut live = l.outs[b.index()].clone();
        let mut now: u32 = live.iter().map(room).sum();
        let mut peak = now;
        for &i in data.insts.iter().rev() {
            let mut dead = 0;
            for &d in f.dsts(i) {
                if live.remove(d) {
                    now -= room(d);
                } else {
                    dead += room(d);
                }
            }
            let written: u32 = f.dsts(i).iter().map(|&d| room(d)).sum();
            if matches!(f.insts[i].op, Op::Phi) {
                // Phis are written together; what they displace is alive beside them.
                peak = peak.max(now + written + dead);
                continue;
            }
            let through = now;
            for &s in f.srcs(i) {
                if live.insert(s) {
                    now += room(s);
                }
            }
            peak = peak.max(now).max(through + written);
        }
        if peak > most {
            (most, at) = (peak, b);
        }
    }
    (most, at)
}
