//! Lowers the remaining variables (arrays with run-time indices) to scratch memory.

use crate::edit::Consts;
use tepui_ir::cranelift_entity::EntityRef;
use tepui_ir::{Attrs, Inst, Mem, Op, Region, Shader, Type};

/// Runs the pass; `Info::scratch_bytes` grows by what the variables take. An index past the end
/// means the last element, as it does for the variable.
pub fn run(s: &mut Shader) -> bool {
    let mut base = vec![None; s.vars.len()];
    let mut next = s.info.scratch_bytes;
    let mut found = Vec::new();
    s.walk(|s, _, i| {
        if let Attrs::Var(v) = s.insts[i].attrs {
            found.push(v);
        }
    });
    for v in found {
        if base[v.index()].is_none() {
            let d = &s.vars[v];
            next = next.next_multiple_of(memory(d.ty).size_bytes().next_power_of_two().min(16));
            base[v.index()] = Some(next);
            next += memory(d.ty).size_bytes() * d.len.unwrap_or(1);
        }
    }
    if next == s.info.scratch_bytes {
        return false;
    }
    s.info.scratch_bytes = next;
    let mut consts = Consts::new(s);
    let root = s.root;
    region(s, root, &base, &mut consts);
    consts.finish(s);
    true
}

/// Truth values take a byte.
fn memory(t: Type) -> Type {
    if t.bits() == 1 { t.with_bits(8) } else { t }
}

fn region(s: &mut Shader, r: Region, base: &[Option<u32>], consts: &mut Consts) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    for i in insts {
        for q in s.inst_regions(i) {
            region(s, q, base, consts);
        }
        let Attrs::Var(v) = s.insts[i].attrs else {
            out.push(i);
            continue;
        };
        let d = s.vars[v].clone();
        let store = s.insts[i].op == Op::StoreVar;
        let mt = memory(d.ty);
        let offset = match d.len {
            None => consts.get(s, Type::B32, 0),
            Some(n) => {
                let index = s.arg(i, usize::from(store));
                let last = consts.get(s, Type::B32, u64::from(n - 1));
                let k = crate::edit::push(
                    s,
                    &mut out,
                    i,
                    Op::UMin,
                    Attrs::None,
                    &[index, last],
                    Type::B32,
                );
                let size = consts.get(s, Type::B32, u64::from(mt.size_bytes()));
                crate::edit::push(s, &mut out, i, Op::IMul, Attrs::None, &[k, size], Type::B32)
            }
        };
        let align_log2 = mt.elem_bytes().trailing_zeros() as u8;
        let mem = Mem { align_log2, offset: base[v.index()].unwrap_or(0) as i32, ..Mem::default() };
        if store {
            let mut x = s.arg(i, 0);
            if d.ty.bits() == 1 {
                x = crate::edit::push(s, &mut out, i, Op::B2I, Attrs::None, &[x], mt);
            }
            s.insts[i].op = Op::StoreScratch;
            s.insts[i].attrs = Attrs::Mem(mem);
            s.set_args(i, &[offset, x]);
            out.push(i);
        } else {
            let old = s.result(i);
            if d.ty.bits() == 1 {
                let x = crate::edit::push(
                    s,
                    &mut out,
                    i,
                    Op::LoadScratch,
                    Attrs::Mem(mem),
                    &[offset],
                    mt,
                );
                let zero = consts.splat(s, mt, 0);
                let c = s.make_inst(Op::INe, Attrs::None, &[x, zero], &[]);
                s.set_results(c, &[old]);
                out.push(c);
            } else {
                s.insts[i].op = Op::LoadScratch;
                s.insts[i].attrs = Attrs::Mem(mem);
                s.set_args(i, &[offset]);
                out.push(i);
            }
        }
    }
    s.regions[r].insts = out;
}
