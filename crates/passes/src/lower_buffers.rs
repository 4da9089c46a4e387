//! Lowers buffer accesses to memory accesses with bounds checks (robust buffer access).
//!
//! A load reads `buffer_address + offset` if the whole access is inside `buffer_size`, else offset
//! 0, and then its result is replaced by zero; the driver must give empty descriptors a readable
//! address. Stores and atomics are predicated; an atomic outside returns zero.
//!
//! Components of accesses that [`crate::vectorise`] joined ([`Access::SEPARATE`]) are inside or outside
//! each by itself. Such a load reads past the buffer if its first component is inside, but not past
//! the line of [`crate::vectorise::LINE_LOG2`] that the component is in.

use crate::edit::{Consts, push};
use tepui_ir::{Access, Attrs, Inst, Mem, Op, Region, Shader, Type, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    run_where(s, &|_, _| true)
}

/// Runs the pass on some accesses.
pub fn run_where(s: &mut Shader, wants: &dyn Fn(&Shader, Inst) -> bool) -> bool {
    let mut p = Lower { consts: Consts::new(s), changed: false, wants };
    let root = s.root;
    p.region(s, root);
    p.consts.finish(s);
    p.changed
}

struct Lower<'a> {
    consts: Consts,
    changed: bool,
    wants: &'a dyn Fn(&Shader, Inst) -> bool,
}

/// The access of memory at a constant offset that an access of a buffer becomes once its bounds are checked.
fn unchecked(m: Mem, offset: i32) -> Mem {
    Mem { offset, access: m.access - (Access::ROBUST | Access::SEPARATE), ..m }
}

/// An `if` of two blocks, which yield `values`.
fn branch(
    s: &mut Shader,
    cond: Value,
    blocks: [Vec<Inst>; 2],
    values: [&[Value]; 2],
    out: &mut Vec<Inst>,
) -> Inst {
    let regions = [s.make_region(), s.make_region()];
    for ((region, mut insts), values) in regions.into_iter().zip(blocks).zip(values) {
        insts.push(s.make_inst(Op::Yield, Attrs::None, values, &[]));
        s.regions[region].insts = insts;
    }
    let i = s.make_inst(Op::If, Attrs::If(regions[0], regions[1]), &[cond], &[]);
    out.push(i);
    i
}

impl Lower<'_> {
    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out = Vec::with_capacity(insts.len());
        for i in insts {
            for q in s.inst_regions(i) {
                self.region(s, q);
            }
            match (s.insts[i].op, s.insts[i].attrs) {
                _ if !(self.wants)(s, i) => out.push(i),
                (Op::LoadBuffer, Attrs::Mem(m)) => self.load(s, i, m, &mut out),
                (Op::StoreBuffer, Attrs::Mem(m)) => {
                    self.guarded(s, i, m, Op::StoreGlobal, &mut out)
                }
                (Op::AtomicBuffer, Attrs::Atomic(_, m)) => {
                    self.guarded(s, i, m, Op::AtomicGlobal, &mut out)
                }
                _ => out.push(i),
            }
        }
        s.regions[r].insts = out;
    }

    /// The offset with the constant part.
    fn offset(&mut self, s: &mut Shader, i: Inst, m: Mem, out: &mut Vec<Inst>) -> Value {
        self.changed = true;
        let off = s.arg(i, 1);
        if m.offset == 0 {
            return off;
        }
        let k = self.consts.get(s, Type::B32, m.offset as u32 as u64);
        push(s, out, i, Op::IAdd, Attrs::None, &[off, k], Type::B32)
    }

    /// Whether `bytes` from `off` on are inside: `off` is below `size - (bytes - 1)`, which is 0 if
    /// they are more than the buffer has.
    fn inside(
        &mut self,
        s: &mut Shader,
        i: Inst,
        off: Value,
        bytes: u32,
        out: &mut Vec<Inst>,
    ) -> Value {
        let size = push(s, out, i, Op::BufferSize, Attrs::None, &[s.arg(i, 0)], Type::B32);
        let n = self.consts.get(s, Type::B32, u64::from(bytes - 1));
        let limit = push(s, out, i, Op::USubSat, Attrs::None, &[size, n], Type::B32);
        push(s, out, i, Op::ULt, Attrs::None, &[off, limit], Type::B1)
    }

    fn address(&mut self, s: &mut Shader, i: Inst, off: Value, out: &mut Vec<Inst>) -> Value {
        let base = push(s, out, i, Op::BufferAddress, Attrs::None, &[s.arg(i, 0)], Type::B64);
        let wide = push(s, out, i, Op::U2U, Attrs::None, &[off], Type::B64);
        push(s, out, i, Op::IAdd, Attrs::None, &[base, wide], Type::B64)
    }

    fn load(&mut self, s: &mut Shader, i: Inst, m: Mem, out: &mut Vec<Inst>) {
        let old = s.result(i);
        let ty = s.ty(old);
        let separate = m.access.contains(Access::SEPARATE);
        let off = self.offset(s, i, m, out);
        let bytes = if separate { ty.elem_bytes() } else { ty.size_bytes() };
        let first = self.inside(s, i, off, bytes, out);
        let zero = self.consts.get(s, Type::B32, 0);
        let safe = push(s, out, i, Op::Select, Attrs::None, &[first, off, zero], Type::B32);
        let addr = self.address(s, i, safe, out);
        let v = push(s, out, i, Op::LoadGlobal, Attrs::Mem(unchecked(m, 0)), &[addr], ty);
        let none = self.consts.splat(s, ty, 0);
        let cond = if ty.is_scalar() {
            first
        } else {
            let mut each = vec![first; ty.comps() as usize];
            if separate {
                for (k, cond) in each.iter_mut().enumerate().skip(1) {
                    *cond = self.inside(s, i, off, (k as u32 + 1) * ty.elem_bytes(), out);
                }
            }
            push(s, out, i, Op::Vec, Attrs::None, &each, ty.with_bits(1))
        };
        let sel = s.make_inst(Op::Select, Attrs::None, &[cond, v, none], &[]);
        s.set_results(sel, &[old]);
        out.push(sel);
    }

    fn guarded(&mut self, s: &mut Shader, i: Inst, m: Mem, op: Op, out: &mut Vec<Inst>) {
        let results = s.results(i).to_vec();
        let ty = if op == Op::StoreGlobal { s.ty(s.arg(i, 2)) } else { s.ty(results[0]) };
        let off = self.offset(s, i, m, out);
        let inside = self.inside(s, i, off, ty.size_bytes(), out);
        let mut then = Vec::new();
        let addr = self.address(s, i, off, &mut then);
        let mut args = vec![addr];
        args.extend_from_slice(&s.args(i)[2..]);
        let attrs = match s.insts[i].attrs {
            Attrs::Atomic(a, m) => Attrs::Atomic(a, unchecked(m, 0)),
            _ => Attrs::Mem(unchecked(m, 0)),
        };
        let tys: Vec<Type> = results.iter().map(|&r| s.ty(r)).collect();
        let access = s.make_inst(op, attrs, &args, &tys);
        s.insts[access].loc = s.insts[i].loc;
        then.push(access);
        let got = s.results(access).to_vec();
        let none: Vec<Value> = tys.iter().map(|&t| self.consts.splat(s, t, 0)).collect();
        let mut other = Vec::new();
        if m.access.contains(Access::SEPARATE) {
            self.store_parts(s, i, m, off, &mut other);
        }
        let cond = branch(s, inside, [then, other], [&got, &none], out);
        s.set_results(cond, &results);
    }

    /// Stores the components that are inside of a buffer where the last one is outside.
    fn store_parts(&mut self, s: &mut Shader, i: Inst, m: Mem, off: Value, out: &mut Vec<Inst>) {
        let v = s.arg(i, 2);
        let ty = s.ty(v);
        for k in 0..u32::from(ty.comps()) - 1 {
            let at = k * ty.elem_bytes();
            let inside = self.inside(s, i, off, at + ty.elem_bytes(), out);
            let mut then = Vec::new();
            let part = push(s, &mut then, i, Op::Extract, Attrs::Index(k), &[v], ty.elem());
            let addr = self.address(s, i, off, &mut then);
            let align_log2 = m.align_log2.min(ty.elem_bytes().trailing_zeros() as u8);
            let attrs = Attrs::Mem(Mem { align_log2, ..unchecked(m, at as i32) });
            let store = s.make_inst(Op::StoreGlobal, attrs, &[addr, part], &[]);
            s.insts[store].loc = s.insts[i].loc;
            then.push(store);
            branch(s, inside, [then, Vec::new()], [&[], &[]], out);
        }
    }
}
