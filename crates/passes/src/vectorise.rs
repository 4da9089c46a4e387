//! Neighbouring loads and stores of one region become one wider access.
//!
//! Accesses join when they have the same op, the same address operands and access flags, and constant offsets that follow each other;
//! loads only across instructions that write nothing, stores only when nothing at all touches memory between them.

use crate::edit::push;
use tepui_ir::{Access, Attrs, Extend, Inst, Mem, Op, Props, Region, Shader, Type, Value};

/// Most components of a joined access.
const MAX_COMPS: u32 = 4;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut changed = false;
    let root = s.root;
    region(s, root, &mut changed);
    changed
}

/// Op, address operands, how it is treated, bits of a component; then the whole attributes and the number of components.
type Parts = (Op, Vec<Value>, (Access, Extend), u8, Mem, u32);

/// The parts of an access that must agree, and its place.
fn access(s: &Shader, i: Inst) -> Option<Parts> {
    let d = &s.insts[i];
    let Attrs::Mem(m) = d.attrs else { return None };
    if m.access.contains(Access::VOLATILE) {
        return None;
    }
    let n = d.op.info().operands.len();
    let args = s.args(i);
    let (lead, ty) = if d.op.info().results.is_empty() {
        (n - 1, s.ty(args[n - 1]))
    } else {
        (n, s.ty(s.result(i)))
    };
    Some((d.op, args[..lead].to_vec(), (m.access, m.index), ty.bits(), m, u32::from(ty.comps())))
}

fn region(s: &mut Shader, r: Region, changed: &mut bool) {
    for i in s.regions[r].insts.clone() {
        for q in s.inst_regions(i) {
            region(s, q, changed);
        }
    }
    let insts = s.regions[r].insts.clone();
    let all: Vec<Option<Parts>> = insts.iter().map(|&i| access(s, i)).collect();
    if all.iter().flatten().count() < 2 {
        return;
    }
    let mut gone = vec![false; insts.len()];
    let mut before: Vec<Vec<Inst>> = vec![Vec::new(); insts.len()];
    let mut replace: Vec<Option<Vec<Inst>>> = vec![None; insts.len()];
    for at in 0..insts.len() {
        if gone[at] || replace[at].is_some() {
            continue;
        }
        let Some((op, ref lead, acc, bits, mem, comps)) = all[at] else { continue };
        let store = op.info().results.is_empty();
        // Members of the group: position in the region, byte offset, components.
        let mut group = vec![(at, mem.offset, comps)];
        for (k, &i) in insts.iter().enumerate().skip(at + 1) {
            let props = s.insts[i].op.props();
            if let Some((o, ref l, a, b, m, c)) = all[k]
                && (o, l, a, b) == (op, lead, acc, bits)
                && !gone[k]
                && replace[k].is_none()
            {
                group.push((k, m.offset, c));
                continue;
            }
            let stop = props.intersects(Props::WRITES | Props::CONVERGENT | Props::REGIONS)
                || (store && props.contains(Props::READS));
            if stop {
                break;
            }
        }
        let step = i32::from(bits.max(8) / 8);
        group.sort_by_key(|g| g.1);
        // A run from this access on, in both directions, without overlap.
        let Some(me) = group.iter().position(|g| g.0 == at) else { continue };
        let (mut lo, mut hi, mut total) = (me, me, comps);
        while lo > 0
            && group[lo - 1].1 + group[lo - 1].2 as i32 * step == group[lo].1
            && total + group[lo - 1].2 <= MAX_COMPS
        {
            lo -= 1;
            total += group[lo].2;
        }
        while hi + 1 < group.len()
            && group[hi].1 + group[hi].2 as i32 * step == group[hi + 1].1
            && total + group[hi + 1].2 <= MAX_COMPS
        {
            hi += 1;
            total += group[hi].2;
        }
        if lo == hi || total > MAX_COMPS {
            continue;
        }
        let run = &group[lo..=hi];
        let overlap = group.iter().any(|g| {
            !run.contains(g)
                && g.1 < run[0].1 + total as i32 * step
                && g.1 + g.2 as i32 * step > run[0].1
        });
        if store && overlap {
            continue;
        }
        *changed = true;
        let ty = Type::vec(bits, total as u8);
        let first = insts[run[0].0];
        let Attrs::Mem(m) = s.insts[first].attrs else { continue };
        if store {
            // At the place of the last store, when all values exist.
            let last = run.iter().map(|g| g.0).max().unwrap_or(at);
            let mut new = Vec::new();
            let mut parts = Vec::new();
            for g in run {
                let v = s.args(insts[g.0])[lead.len()];
                let t = s.ty(v);
                for k in 0..g.2 {
                    parts.push(if t.is_scalar() {
                        v
                    } else {
                        push(s, &mut new, insts[g.0], Op::Extract, Attrs::Index(k), &[v], t.elem())
                    });
                }
                gone[g.0] = true;
            }
            let v = push(s, &mut new, first, Op::Vec, Attrs::None, &parts, ty);
            let mut args = lead.clone();
            args.push(v);
            let st = s.make_inst(op, Attrs::Mem(m), &args, &[]);
            s.insts[st].loc = s.insts[first].loc;
            new.push(st);
            replace[last] = Some(new);
        } else {
            let mut new = Vec::new();
            let v = push(s, &mut new, first, op, Attrs::Mem(m), lead, ty);
            let mut k0 = 0;
            for g in run {
                let old = s.result(insts[g.0]);
                let mut parts = Vec::new();
                for k in 0..g.2 {
                    parts.push(push(
                        s,
                        &mut new,
                        first,
                        Op::Extract,
                        Attrs::Index(k0 + k),
                        &[v],
                        ty.elem(),
                    ));
                }
                k0 += g.2;
                let (o, a) = if parts.len() == 1 { (Op::Copy, parts) } else { (Op::Vec, parts) };
                let def = s.make_inst(o, Attrs::None, &a, &[]);
                s.set_results(def, &[old]);
                new.push(def);
                gone[g.0] = true;
            }
            before[at] = new;
        }
    }
    let mut out = Vec::with_capacity(insts.len());
    for (k, i) in insts.into_iter().enumerate() {
        out.append(&mut before[k]);
        if let Some(new) = replace[k].take() {
            out.extend(new);
        } else if !gone[k] {
            out.push(i);
        }
    }
    s.regions[r].insts = out;
}
