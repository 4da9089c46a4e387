//! Common subexpression elimination on machine instructions.
//!
//! Instruction selection creates expressions that the IR did not have: indices of accesses, halves
//! of values, loads of descriptors. A scoped table follows the structure of the program: entries
//! made in a then or else block or in a loop are dropped at its end.

use crate::function::{Ctl, Function, Ins, Op, Val};
use crate::target::Target;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Whether an instruction may be shared.
fn eligible<I>(f: &Function<I>, i: Ins, wanted: &impl Fn(&Function<I>, Ins) -> bool) -> bool {
    match &f.insts[i].op {
        Op::Isa(_) => wanted(f, i),
        Op::Split | Op::Collect => true,
        _ => false,
    }
}

/// Hash of an instruction and its operands.
fn key<I: Copy + Hash>(f: &Function<I>, i: Ins) -> u64 {
    let mut h = FxHasher::default();
    match f.insts[i].op {
        Op::Isa(inst) => inst.hash(&mut h),
        Op::Collect => h.write_u64(1),
        _ => h.write_u64(2),
    }
    for &s in f.srcs(i) {
        h.write_u64(s.index() as u64);
    }
    for &d in f.dsts(i) {
        h.write_u8(f.vals[d].units);
    }
    h.finish()
}

fn same<I: PartialEq>(f: &Function<I>, a: Ins, b: Ins) -> bool {
    f.insts[a].op == f.insts[b].op
        && f.srcs(a) == f.srcs(b)
        && f.dsts(a).len() == f.dsts(b).len()
        && f.dsts(a).iter().zip(f.dsts(b)).all(|(&x, &y)| f.vals[x] == f.vals[y])
}

/// Runs the pass. `wanted` says which of the target's instructions are shared: pure ones, and loads
/// of memory that nothing writes.
pub fn run<T: Target>(f: &mut Function<T::Inst>, wanted: impl Fn(&Function<T::Inst>, Ins) -> bool) {
    let mut table: FxHashMap<u64, Ins> = FxHashMap::default();
    // Undo log: each key that was inserted, and the entry that it replaced.
    let mut undo: Vec<(u64, Option<Ins>)> = Vec::new();
    let mut scopes: Vec<usize> = Vec::new();
    let mut to: SecondaryMap<Val, PackedOption<Val>> = SecondaryMap::with_capacity(f.vals.len());
    let mut any = false;
    for b in f.blocks.keys() {
        let mut insts = std::mem::take(&mut f.blocks[b].insts);
        let mut open = 0;
        insts.retain(|&i| {
            if any && !matches!(f.insts[i].op, Op::Phi) {
                for n in 0..f.srcs(i).len() {
                    if let Some(v) = to[f.srcs(i)[n]].expand() {
                        f.srcs_mut(i)[n] = v;
                    }
                }
            }
            let mut close = |table: &mut FxHashMap<u64, Ins>,
                             undo: &mut Vec<(u64, Option<Ins>)>| {
                let from = scopes.pop().unwrap_or(0);
                for (k, old) in undo.drain(from..).rev() {
                    match old {
                        Some(i) => table.insert(k, i),
                        None => table.remove(&k),
                    };
                }
            };
            match f.insts[i].op {
                Op::Ctl(Ctl::If(_) | Ctl::Loop) => open += 1,
                Op::Ctl(Ctl::Else) => {
                    close(&mut table, &mut undo);
                    scopes.push(undo.len());
                }
                Op::Ctl(Ctl::EndIf | Ctl::EndLoop) => close(&mut table, &mut undo),
                _ if eligible(f, i, &wanted) => {
                    let k = key(f, i);
                    match table.get(&k) {
                        Some(&first) if same(f, first, i) => {
                            for n in 0..f.dsts(i).len() {
                                to[f.dsts(i)[n]] = f.dsts(first)[n].into();
                            }
                            any = true;
                            return false;
                        }
                        old => {
                            undo.push((k, old.copied()));
                            table.insert(k, i);
                        }
                    }
                }
                _ => {}
            }
            true
        });
        // A block of `if`, `else` or a loop opens a scope.
        for _ in 0..open {
            scopes.push(undo.len());
        }
        f.blocks[b].insts = insts;
    }
    if any {
        // Phis may name values of blocks that come later.
        for b in f.blocks.keys() {
            for n in 0..f.blocks[b].insts.len() {
                let i = f.blocks[b].insts[n];
                if !matches!(f.insts[i].op, Op::Phi) {
                    break;
                }
                for n in 0..f.srcs(i).len() {
                    if let Some(v) = to[f.srcs(i)[n]].expand() {
                        f.srcs_mut(i)[n] = v;
                    }
                }
            }
        }
    }
}
