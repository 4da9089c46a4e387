//! Removes phis whose sources are all the same value.

use crate::function::{Function, Op, Val};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Runs the pass.
pub fn run<I>(f: &mut Function<I>) {
    let mut to: SecondaryMap<Val, PackedOption<Val>> = SecondaryMap::with_capacity(f.vals.len());
    let find = |to: &SecondaryMap<Val, PackedOption<Val>>, mut v: Val| {
        while let Some(n) = to[v].expand() {
            v = n;
        }
        v
    };
    let mut any = false;
    loop {
        let mut changed = false;
        for b in f.blocks.values() {
            for &i in &b.insts {
                if !matches!(f.insts[i].op, Op::Phi) {
                    break;
                }
                let d = f.dsts(i)[0];
                if to[d].is_some() {
                    continue;
                }
                let mut only = None;
                let mut several = false;
                for &s in f.srcs(i) {
                    let s = find(&to, s);
                    if s == d || only == Some(s) {
                        continue;
                    }
                    several |= only.is_some();
                    only = Some(s);
                }
                if let (Some(s), false) = (only, several) {
                    to[d] = s.into();
                    changed = true;
                    any = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    if !any {
        return;
    }
    for b in f.blocks.keys() {
        let insts = std::mem::take(&mut f.blocks[b].insts);
        for &i in &insts {
            for n in 0..f.srcs(i).len() {
                let s = find(&to, f.srcs(i)[n]);
                f.srcs_mut(i)[n] = s;
            }
        }
        f.blocks[b].insts = insts
            .into_iter()
            .filter(|&i| !(matches!(f.insts[i].op, Op::Phi) && to[f.dsts(i)[0]].is_some()))
            .collect();
    }
}
