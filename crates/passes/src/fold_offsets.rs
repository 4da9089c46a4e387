//! Folds constant parts of address arithmetic into the offsets of memory instructions.
//!
//! Offsets are computed modulo 2^32, so `(i + 3) << 2` is exactly `(i << 2) + 12`; sums, shifts and
//! products by constants are split like this. Neighbouring accesses then have the same operand and
//! differ in their constant only, so that they share its computation and can be vectorised.

use tepui_ir::{Attrs, Builder, Inst, Mem, Op, Region, Shader, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut changed = false;
    let root = s.root;
    region(s, root, &mut changed);
    changed
}

/// Index of the operand that is the 32-bit offset.
fn offset_arg(op: Op) -> Option<usize> {
    Some(match op {
        Op::LoadShared | Op::StoreShared | Op::AtomicShared => 0,
        Op::LoadScratch | Op::StoreScratch | Op::LoadPush | Op::LoadConstant => 0,
        Op::LoadBuffer | Op::StoreBuffer | Op::AtomicBuffer => 1,
        _ => return None,
    })
}

/// Makes offsets of buffers and workgroup memory sums again, for machines whose messages take no constant: sums that do not
/// change in a loop can then leave it.
pub fn unfold(s: &mut Shader) -> bool {
    let mut changed = false;
    let root = s.root;
    unfold_region(s, root, &mut changed);
    changed
}

fn unfold_region(s: &mut Shader, r: Region, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    s.regions[r].insts.reserve(insts.len());
    for i in insts {
        let is_scratch = matches!(s.insts[i].op, Op::LoadScratch | Op::StoreScratch);
        if let Some(n) = offset_arg(s.insts[i].op)
            && !is_scratch
            && let Attrs::Mem(m) | Attrs::Atomic(_, m) = &mut s.insts[i].attrs
            && m.offset != 0
        {
            let offset = std::mem::take(&mut m.offset);
            let (v, loc) = (s.arg(i, n), s.insts[i].loc);
            let mut b = Builder::at(s, r);
            b.loc = loc;
            let add = b.u32(offset as u32);
            let sum = b.binary(Op::IAdd, v, add);
            s.args_mut(i)[n] = sum;
            *changed = true;
        }
        s.regions[r].insts.push(i);
        for q in s.inst_regions(i) {
            unfold_region(s, q, changed);
        }
    }
}

fn region(s: &mut Shader, r: Region, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    s.regions[r].insts.reserve(insts.len());
    for i in insts {
        if let Some(n) = offset_arg(s.insts[i].op) {
            fold(s, r, i, n, changed);
        }
        s.regions[r].insts.push(i);
        for q in s.inst_regions(i) {
            region(s, q, changed);
        }
    }
}

fn fold(s: &mut Shader, r: Region, i: Inst, n: usize, changed: &mut bool) {
    let v = s.arg(i, n);
    let c = constant(s, v, 0);
    if c == 0 || s.as_const(v).is_some() {
        return;
    }
    let mem = |m: Mem| Mem { offset: m.offset.wrapping_add(c as i32), ..m };
    let attrs = match s.insts[i].attrs {
        Attrs::Mem(m) => Attrs::Mem(mem(m)),
        Attrs::Atomic(op, m) => Attrs::Atomic(op, mem(m)),
        _ => return,
    };
    let loc = s.insts[i].loc;
    let mut b = Builder::at(s, r);
    b.loc = loc;
    let rest = variable(&mut b, v, 0).unwrap_or_else(|| b.u32(0));
    s.insts[i].attrs = attrs;
    s.args_mut(i)[n] = rest;
    *changed = true;
}

/// Deepest sum that is looked into.
const DEPTH: u32 = 6;

/// The constant part of an offset.
fn constant(s: &Shader, v: Value, depth: u32) -> u32 {
    let Some(d) = s.def_inst(v) else { return 0 };
    if let Some(c) = s.as_const(v) {
        return c as u32;
    }
    if depth > DEPTH {
        return 0;
    }
    let arg = |n: usize| s.arg(d, n);
    match s.insts[d].op {
        Op::IAdd => constant(s, arg(0), depth + 1).wrapping_add(constant(s, arg(1), depth + 1)),
        Op::IShl => match s.as_const(arg(1)) {
            Some(n) if s.as_const(arg(0)).is_none() => {
                constant(s, arg(0), depth + 1) << (n as u32 & 31)
            }
            _ => 0,
        },
        Op::IMul => match (s.as_const(arg(0)), s.as_const(arg(1))) {
            (None, Some(m)) => constant(s, arg(0), depth + 1).wrapping_mul(m as u32),
            (Some(m), None) => constant(s, arg(1), depth + 1).wrapping_mul(m as u32),
            _ => 0,
        },
        _ => 0,
    }
}

/// The rest of an offset; `None` when that is zero.
fn variable(b: &mut Builder<'_>, v: Value, depth: u32) -> Option<Value> {
    if b.shader.as_const(v).is_some() {
        return None;
    }
    if constant(b.shader, v, depth) == 0 {
        return Some(v);
    }
    let d = b.shader.def_inst(v)?;
    let (x, y) = (b.shader.arg(d, 0), b.shader.arg(d, 1));
    match b.shader.insts[d].op {
        Op::IAdd => match (variable(b, x, depth + 1), variable(b, y, depth + 1)) {
            (Some(x), Some(y)) => Some(b.binary(Op::IAdd, x, y)),
            (x, y) => x.or(y),
        },
        Op::IShl => {
            let x = variable(b, x, depth + 1)?;
            Some(b.binary(Op::IShl, x, y))
        }
        Op::IMul => {
            let (x, m) = if b.shader.as_const(y).is_some() { (x, y) } else { (y, x) };
            let x = variable(b, x, depth + 1)?;
            Some(b.binary(Op::IMul, x, m))
        }
        _ => Some(v),
    }
}
