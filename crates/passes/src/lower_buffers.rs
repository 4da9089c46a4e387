//! Lowers buffer accesses to memory accesses with bounds checks (robust buffer access).
//!
//! A load reads `buffer_address + offset` if the whole access is inside `buffer_size`, else offset
//! 0, and then its result is replaced by zero; the driver must give empty descriptors a readable
//! address. Stores and atomics are predicated; an atomic outside returns zero.

use crate::edit::{Consts, push};
use tepui_ir::{Attrs, Inst, Mem, Op, Region, Shader, Type, Value};

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

    /// The offset with the constant part, and whether `bytes` from there on are inside.
    fn bounds(
        &mut self,
        s: &mut Shader,
        i: Inst,
        m: Mem,
        bytes: u32,
        out: &mut Vec<Inst>,
    ) -> (Value, Value) {
        self.changed = true;
        let (handle, mut off) = (s.arg(i, 0), s.arg(i, 1));
        if m.offset != 0 {
            let k = self.consts.get(s, Type::B32, m.offset as u32 as u64);
            off = push(s, out, i, Op::IAdd, Attrs::None, &[off, k], Type::B32);
        }
        let size = push(s, out, i, Op::BufferSize, Attrs::None, &[handle], Type::B32);
        // offset <= size - bytes, without wrapping: size >= bytes and offset <= size -sat bytes.
        let n = self.consts.get(s, Type::B32, u64::from(bytes));
        let room = push(s, out, i, Op::USubSat, Attrs::None, &[size, n], Type::B32);
        let a = push(s, out, i, Op::UGe, Attrs::None, &[room, off], Type::B1);
        let b = push(s, out, i, Op::UGe, Attrs::None, &[size, n], Type::B1);
        (off, push(s, out, i, Op::IAnd, Attrs::None, &[a, b], Type::B1))
    }

    fn address(&mut self, s: &mut Shader, i: Inst, off: Value, out: &mut Vec<Inst>) -> Value {
        let base = push(s, out, i, Op::BufferAddress, Attrs::None, &[s.arg(i, 0)], Type::B64);
        let wide = push(s, out, i, Op::U2U, Attrs::None, &[off], Type::B64);
        push(s, out, i, Op::IAdd, Attrs::None, &[base, wide], Type::B64)
    }

    fn load(&mut self, s: &mut Shader, i: Inst, m: Mem, out: &mut Vec<Inst>) {
        let old = s.result(i);
        let ty = s.ty(old);
        let (off, inside) = self.bounds(s, i, m, ty.size_bytes(), out);
        let zero = self.consts.get(s, Type::B32, 0);
        let safe = push(s, out, i, Op::Select, Attrs::None, &[inside, off, zero], Type::B32);
        let addr = self.address(s, i, safe, out);
        let v = push(s, out, i, Op::LoadGlobal, Attrs::Mem(Mem { offset: 0, ..m }), &[addr], ty);
        let none = self.consts.splat(s, ty, 0);
        let cond = if ty.is_scalar() {
            inside
        } else {
            push(
                s,
                out,
                i,
                Op::Vec,
                Attrs::None,
                &vec![inside; ty.comps() as usize],
                ty.with_bits(1),
            )
        };
        let sel = s.make_inst(Op::Select, Attrs::None, &[cond, v, none], &[]);
        s.set_results(sel, &[old]);
        out.push(sel);
    }

    fn guarded(&mut self, s: &mut Shader, i: Inst, m: Mem, op: Op, out: &mut Vec<Inst>) {
        let results = s.results(i).to_vec();
        let ty = if op == Op::StoreGlobal { s.ty(s.arg(i, 2)) } else { s.ty(results[0]) };
        let (off, inside) = self.bounds(s, i, m, ty.size_bytes(), out);
        let mut then = Vec::new();
        let addr = self.address(s, i, off, &mut then);
        let mut args = vec![addr];
        args.extend_from_slice(&s.args(i)[2..]);
        let attrs = match s.insts[i].attrs {
            Attrs::Atomic(a, m) => Attrs::Atomic(a, Mem { offset: 0, ..m }),
            _ => Attrs::Mem(Mem { offset: 0, ..m }),
        };
        let tys: Vec<Type> = results.iter().map(|&r| s.ty(r)).collect();
        let access = s.make_inst(op, attrs, &args, &tys);
        s.insts[access].loc = s.insts[i].loc;
        then.push(access);
        let got = s.results(access).to_vec();
        let none: Vec<Value> = tys.iter().map(|&t| self.consts.splat(s, t, 0)).collect();
        let (a, b) = (s.make_region(), s.make_region());
        let (ya, yb) = (
            s.make_inst(Op::Yield, Attrs::None, &got, &[]),
            s.make_inst(Op::Yield, Attrs::None, &none, &[]),
        );
        then.push(ya);
        s.regions[a].insts = then;
        s.regions[b].insts = vec![yb];
        let cond = s.make_inst(Op::If, Attrs::If(a, b), &[inside], &[]);
        s.set_results(cond, &results);
        out.push(cond);
    }
}
