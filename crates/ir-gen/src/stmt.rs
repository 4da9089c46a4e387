//! Random statements: assignments, control flow and memory accesses.

use crate::{Gen, LANES, SLOT, at};
use tepui_ir::{AtomicOp, Attrs, Barrier, Mem, MemSet, Op, Region, Scope, Type, Value, VarData};

/// Offset in the lane's slot from which programs read and write at random addresses.
pub(crate) const HEAP: u32 = SLOT - 32;

impl Gen<'_> {
    pub(crate) fn statement(&mut self, depth: u32) {
        self.budget = self.budget.saturating_sub(1);
        match self.rng.below(if depth < 3 { 17 } else { 11 }) {
            0..=3 => {
                let bits = self.size();
                let x = self.int(bits, 0);
                let p = self.pools.iter().position(|p| p.bits == bits).unwrap_or(0);
                let k = self.rng.below(self.pools[p].scalars.len());
                let v = self.pools[p].scalars[k];
                self.b.store_var(v, x, None);
            }
            4 => {
                let p = self.rng.below(self.pools.len());
                let (x, i) = (self.int(self.pools[p].bits, 1), self.index());
                self.b.store_var(self.pools[p].array, x, Some(i));
            }
            5 => {
                let c = self.cond(0);
                let k = self.rng.below(self.bools.len());
                let v = self.bools[k];
                self.b.store_var(v, c, None);
            }
            6 => self.vector(),
            7 if self.config.images && self.rng.one_in(2) => self.image(),
            7 | 8 => self.memory(),
            9 if self.config.atomics => self.atomic(),
            10 if self.config.shared && depth == 0 => self.workgroup_exchange(),
            11..=13 => {
                let c = self.cond(0);
                let then = self.block(depth + 1);
                let els = if self.rng.one_in(3) {
                    self.nested(|g| g.b.yield_(&[]))
                } else {
                    self.block(depth + 1)
                };
                self.b.if_(c, then, els, &[]);
            }
            14 | 15 => self.counted_loop(depth),
            16 => self.switch(depth),
            _ => {}
        }
    }

    fn vector(&mut self) {
        let p = self.rng.below(self.pools.len());
        let (bits, var) = (self.pools[p].bits, self.pools[p].vector);
        let old = self.b.load_var(var, None);
        let parts: Vec<Value> = (0..crate::COMPS).map(|_| self.int(bits, 2)).collect();
        let v = self.b.vec(&parts);
        let op = self.rng.pick(&[Op::IAdd, Op::IXor, Op::UMin, Op::IMul]);
        let mut new = self.b.binary(op, old, v);
        if self.rng.one_in(3) {
            let (x, i) = (self.int(bits, 2), self.index());
            new = self.b.alu(Op::InsertDyn, &[new, x, i]);
        }
        self.b.store_var(var, new, None);
    }

    /// A random offset in the lane's heap, aligned to `bytes`.
    fn heap_offset(&mut self, bytes: u32) -> (Value, u32) {
        let slots = 32 / bytes;
        if self.rng.one_in(2) {
            let k = self.rng.below(slots as usize) as u32;
            return (self.base, HEAP + k * bytes);
        }
        let (i, m, n) = (self.int(32, 3), self.b.u32(slots - 1), self.b.u32(bytes));
        let i = self.b.binary(Op::IAnd, i, m);
        let o = self.b.binary(Op::IMul, i, n);
        (self.b.binary(Op::IAdd, self.base, o), HEAP)
    }

    /// A load or store in the lane's heap by 64-bit address.
    fn physical(&mut self, bits: u8) {
        let bytes = u32::from(bits) / 8;
        let shift = bytes.trailing_zeros();
        let base = self.b.value(Op::BufferAddress, Attrs::None, &[self.handle], Type::B64);
        let own = self.b.convert(Op::U2U, self.base, 64);
        let start = self.b.u64(u64::from(HEAP));
        let (i, m) = (self.int(32, 3), self.b.u32(32 / bytes - 1));
        let i = self.b.binary(Op::IAnd, i, m);
        let op = self.rng.pick(&[Op::U2U, Op::S2S]);
        let wide = self.b.convert(op, i, 64);
        let n = self.b.u32(shift);
        let scaled = self.b.binary(Op::IShl, wide, n);
        let mut terms = [base, own, start, scaled];
        for k in (1..terms.len()).rev() {
            let j = self.rng.below(k + 1);
            terms.swap(k, j);
        }
        let sum = terms[1..].iter().fold(terms[0], |a, &t| self.b.binary(Op::IAdd, a, t));
        let mem = Attrs::Mem(Mem { align_log2: shift as u8, ..Mem::default() });
        if self.rng.one_in(2) {
            let x = self.int(bits, 1);
            self.b.effect(Op::StoreGlobal, mem, &[sum, x]);
        } else {
            let x = self.b.value(Op::LoadGlobal, mem, &[sum], Type::scalar(bits));
            let p = self.pools.iter().position(|p| p.bits == bits).unwrap_or(0);
            let v = self.pools[p].scalars[0];
            self.b.store_var(v, x, None);
        }
    }

    /// Several accesses to nearby addresses that may alias.
    fn aliasing_accesses(&mut self) {
        // Few bytes, so that accesses alias; of all sizes, so that they overlap partially.
        let near = |g: &mut Self, bytes: u32| {
            let slots = 8 / bytes;
            let k = g.rng.below(slots as usize) as u32 * bytes;
            if g.rng.one_in(2) {
                return (g.base, HEAP + k);
            }
            let (i, m, n) = (g.int(32, 3), g.b.u32(slots - 1), g.b.u32(bytes));
            let i = g.b.binary(Op::IAnd, i, m);
            let o = g.b.binary(Op::IMul, i, n);
            (g.b.binary(Op::IAdd, g.base, o), HEAP)
        };
        let mut sum = self.b.u32(0);
        for _ in 0..2 + self.rng.below(4) {
            let bits = self.size();
            let bytes = u32::from(bits) / 8;
            let (o, k) = near(self, bytes);
            let mem = Attrs::Mem(Mem {
                align_log2: bytes.trailing_zeros() as u8,
                offset: k as i32,
                ..Mem::default()
            });
            if self.rng.one_in(2) {
                let x = self.int(bits, 3);
                self.b.effect(Op::StoreBuffer, mem, &[self.handle, o, x]);
            } else {
                let ty = Type::scalar(bits);
                let x = self.b.value(Op::LoadBuffer, mem, &[self.handle, o], ty);
                let x = self.b.convert(Op::U2U, x, 32);
                let three = self.b.u32(3);
                let scaled = self.b.binary(Op::IMul, sum, three);
                sum = self.b.binary(Op::IAdd, scaled, x);
            }
        }
        let v = self.pools[0].scalars[0];
        self.b.store_var(v, sum, None);
    }

    fn memory(&mut self) {
        let bits = self.size();
        if self.config.int64 && self.rng.one_in(3) {
            return self.physical(bits);
        }
        if self.rng.one_in(4) {
            return self.aliasing_accesses();
        }
        let ty = Type::scalar(bits);
        let bytes = u32::from(bits) / 8;
        let (o, k) = self.heap_offset(bytes);
        let mem = Attrs::Mem(Mem {
            align_log2: bytes.trailing_zeros() as u8,
            offset: k as i32,
            ..Mem::default()
        });
        if self.rng.one_in(2) {
            let x = self.int(bits, 1);
            self.b.effect(Op::StoreBuffer, mem, &[self.handle, o, x]);
        } else {
            let x = self.b.value(Op::LoadBuffer, mem, &[self.handle, o], ty);
            let p = self.pools.iter().position(|p| p.bits == bits).unwrap_or(0);
            let v = self.pools[p].scalars[0];
            self.b.store_var(v, x, None);
        }
    }

    fn atomic(&mut self) {
        let op = self.rng.pick(&[
            AtomicOp::Add,
            AtomicOp::SMin,
            AtomicOp::UMax,
            AtomicOp::And,
            AtomicOp::Xor,
            AtomicOp::Xchg,
            AtomicOp::CmpXchg,
        ]);
        let (o, k) = self.heap_offset(4);
        let mem = Mem { align_log2: 2, offset: k as i32, ..Mem::default() };
        let mut args = vec![self.handle, o, self.int(32, 2)];
        if op == AtomicOp::CmpXchg {
            args.push(self.int(32, 2));
        }
        let old = self.b.value(Op::AtomicBuffer, Attrs::Atomic(op, mem), &args, Type::B32);
        let v = self.pools[0].scalars[1];
        self.b.store_var(v, old, None);
    }

    /// Every lane writes a value to workgroup memory and, after a barrier, reads another lane's.
    fn workgroup_exchange(&mut self) {
        let barrier = Attrs::Barrier(Barrier {
            exec: Scope::Workgroup,
            mem: Scope::Workgroup,
            spaces: MemSet::SHARED,
        });
        let four = self.b.u32(4);
        let own = self.b.binary(Op::IMul, self.lane, four);
        let x = self.int(32, 1);
        self.b.effect(Op::Barrier, barrier, &[]);
        self.b.effect(Op::StoreShared, at(0), &[own, x]);
        self.b.effect(Op::Barrier, barrier, &[]);
        let (i, m) = (self.int(32, 2), self.b.u32(LANES - 1));
        let i = self.b.binary(Op::IAnd, i, m);
        let o = self.b.binary(Op::IMul, i, four);
        let y = self.b.value(Op::LoadShared, at(0), &[o], Type::B32);
        let v = self.pools[0].scalars[2];
        self.b.store_var(v, y, None);
    }

    fn nested(&mut self, f: impl FnOnce(&mut Self)) -> Region {
        let r = self.b.shader.make_region();
        let outer = std::mem::replace(&mut self.b.region, r);
        f(self);
        self.b.region = outer;
        r
    }

    fn block(&mut self, depth: u32) -> Region {
        self.nested(|g| {
            for _ in 0..1 + g.rng.below(3) {
                if g.budget > 0 {
                    g.statement(depth);
                }
            }
            match g.rng.below(8) {
                0 if g.loops > 0 => g.b.break_(&[]),
                1 if g.loops > 0 => g.b.continue_(&[]),
                _ => g.b.yield_(&[]),
            }
        })
    }

    /// A lowered `switch`: an else-if chain that compares one value with constants.
    fn switch(&mut self, depth: u32) {
        let (x, m) = (self.int(32, 1), self.b.u32(3));
        let x = self.b.binary(Op::IAnd, x, m);
        let tests: Vec<Value> = (0..2 + self.rng.below(2) as u32)
            .map(|k| {
                let k = self.b.u32(k);
                self.b.binary(Op::IEq, x, k)
            })
            .collect();
        self.else_if_chain(&tests, depth);
    }

    fn else_if_chain(&mut self, tests: &[Value], depth: u32) {
        let [first, rest @ ..] = tests else { return };
        let then = self.block(depth + 1);
        let els = match rest.is_empty() {
            true => self.block(depth + 1),
            false => self.nested(|g| {
                g.else_if_chain(rest, depth);
                g.b.yield_(&[]);
            }),
        };
        self.b.if_(*first, then, els, &[]);
    }

    /// A loop that increments its counter first, so that `continue` cannot make it infinite.
    fn counted_loop(&mut self, depth: u32) {
        let i = self.b.shader.vars.push(VarData { ty: Type::B32, len: None, name: "i".into() });
        let zero = self.b.u32(0);
        self.b.store_var(i, zero, None);
        let n = if self.rng.one_in(3) {
            let (x, m) = (self.int(32, 2), self.b.u32(7));
            self.b.binary(Op::IAnd, x, m)
        } else {
            let n = 1 + self.rng.below(6) as u32;
            self.b.u32(n)
        };
        self.loops += 1;
        let body = self.nested(|g| {
            let x = g.b.load_var(i, None);
            let done = g.b.binary(Op::UGe, x, n);
            let out = g.nested(|g| g.b.break_(&[]));
            let on = g.nested(|g| g.b.yield_(&[]));
            g.b.if_(done, out, on, &[]);
            let one = g.b.u32(1);
            let next = g.b.binary(Op::IAdd, x, one);
            g.b.store_var(i, next, None);
            for _ in 0..1 + g.rng.below(3) {
                if g.budget > 0 {
                    g.statement(depth + 1);
                }
            }
            g.b.continue_(&[]);
        });
        self.loops -= 1;
        self.b.loop_(body, &[], &[]);
    }
}
