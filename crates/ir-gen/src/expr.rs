//! Random expressions.

use crate::{ARRAY, COMPS, Gen};
use tepui_ir::{Attrs, Builtin, InstFlags, Op, Reduce, ReduceOp, Type, Value};

const BINARY: &[Op] = &[
    Op::IAdd,
    Op::IAdd,
    Op::ISub,
    Op::IMul,
    Op::IAnd,
    Op::IOr,
    Op::IXor,
    Op::SMin,
    Op::SMax,
    Op::UMin,
    Op::UMax,
    Op::SMulHi,
    Op::UMulHi,
    Op::UAddSat,
    Op::USubSat,
    Op::SAddSat,
    Op::SSubSat,
    Op::UAddCarry,
    Op::USubBorrow,
];
const DIVIDE: &[Op] = &[Op::UDiv, Op::UMod, Op::SDiv, Op::SRem, Op::SMod];
const SHIFT: &[Op] = &[Op::IShl, Op::UShr, Op::SShr];
const UNARY: &[Op] = &[Op::INeg, Op::INot, Op::IAbs, Op::ISign, Op::BitReverse];
const COUNT: &[Op] = &[Op::BitCount, Op::FindLsb, Op::UFindMsb, Op::SFindMsb];
const COMPARE: &[Op] = &[Op::IEq, Op::INe, Op::SLt, Op::SGe, Op::ULt, Op::UGe];
const FLOAT: &[Op] = &[Op::FAdd, Op::FMul, Op::FSub, Op::FMin, Op::FMax];
/// 64-bit operations that every implementation rounds correctly.
const DOUBLE: &[Op] = &[Op::FDiv, Op::FSqrt, Op::FFma, Op::FSign];
const ROUND: &[Op] = &[Op::FFloor, Op::FCeil, Op::FTrunc, Op::FRoundEven, Op::FNeg, Op::FAbs];

impl Gen<'_> {
    fn pool(&self, bits: u8) -> usize {
        self.pools.iter().position(|p| p.bits == bits).unwrap_or(0)
    }

    /// A leaf: a constant, a variable, an array element or a vector component.
    fn leaf(&mut self, bits: u8) -> Value {
        let p = self.pool(bits);
        match self.rng.below(8) {
            0 | 1 => {
                let c = self.rng.int(bits);
                self.b.const_bits(Type::scalar(bits), c)
            }
            2 => {
                let i = self.index();
                let a = self.pools[p].array;
                self.b.load_var(a, Some(i))
            }
            3 => {
                let v = self.b.load_var(self.pools[p].vector, None);
                let k = self.rng.below(usize::from(COMPS)) as u32;
                self.b.extract(v, k)
            }
            _ => {
                let k = self.rng.below(self.pools[p].scalars.len());
                let v = self.pools[p].scalars[k];
                self.b.load_var(v, None)
            }
        }
    }

    /// An index inside every array.
    pub(crate) fn index(&mut self) -> Value {
        if self.rng.one_in(2) {
            let c = self.rng.below(ARRAY as usize) as u32;
            return self.b.u32(c);
        }
        let x = self.leaf_var32();
        let m = self.b.u32(ARRAY - 1);
        self.b.binary(Op::IAnd, x, m)
    }

    fn leaf_var32(&mut self) -> Value {
        let k = self.rng.below(self.pools[0].scalars.len());
        let v = self.pools[0].scalars[k];
        self.b.load_var(v, None)
    }

    /// An integer expression.
    pub(crate) fn int(&mut self, bits: u8, depth: u32) -> Value {
        if depth >= 4 || self.rng.one_in(3) {
            return self.leaf(bits);
        }
        let ty = Type::scalar(bits);
        let d = depth + 1;
        match self.rng.below(20) {
            0..=6 => {
                let op = self.rng.pick(BINARY);
                let (x, y) = (self.int(bits, d), self.int(bits, d));
                self.b.binary(op, x, y)
            }
            7 => {
                let op = self.rng.pick(DIVIDE);
                let (x, mut y) = (self.int(bits, d), self.int(bits, d));
                if self.rng.one_in(2) {
                    let c = self.rng.int(bits);
                    y = self.b.const_bits(ty, c);
                }
                if !self.config.div_zero {
                    let one = self.b.const_bits(ty, 1);
                    y = self.b.binary(Op::IOr, y, one);
                }
                self.b.binary(op, x, y)
            }
            8..=10 => {
                let op = self.rng.pick(SHIFT);
                let (x, n) = (self.int(bits, d), self.int(32, d));
                self.b.binary(op, x, n)
            }
            11 => {
                let op = self.rng.pick(UNARY);
                let x = self.int(bits, d);
                self.b.unary(op, x)
            }
            12 => {
                let op = self.rng.pick(COUNT);
                let from = self.size();
                let x = self.int(from, d);
                let n = self.b.unary(op, x);
                self.b.convert(Op::S2S, n, bits)
            }
            13 | 14 => {
                let (c, x, y) = (self.cond(d), self.int(bits, d), self.int(bits, d));
                self.b.select(c, x, y)
            }
            15 => {
                let from = self.size();
                let x = self.int(from, d);
                let op = self.rng.pick(&[Op::U2U, Op::S2S]);
                self.b.convert(op, x, bits)
            }
            16 => {
                let c = self.cond(d);
                self.b.value(Op::B2I, Attrs::None, &[c], ty)
            }
            17 => {
                let (x, y) = (self.int(bits, d), self.int(bits, d));
                let (o, n) = (self.rng.below(70) as u32, self.rng.below(70) as u32);
                let (o, n) = (self.b.u32(o), self.b.u32(n));
                match self.rng.below(3) {
                    0 => self.b.alu(Op::BitInsert, &[x, y, o, n]),
                    1 => self.b.alu(Op::UBitExtract, &[x, o, n]),
                    _ => self.b.alu(Op::SBitExtract, &[x, o, n]),
                }
            }
            18 if self.config.floats || self.config.halves => self.int_from_float(bits, d),
            19 if self.config.subgroups => self.subgroup(bits, d),
            _ => {
                // Bitcast to another vector type and back.
                let x = self.int(bits, d);
                let half = match bits {
                    64 => 32,
                    32 => 16,
                    16 => 8,
                    _ => return x,
                };
                let v = self.b.value(Op::Bitcast, Attrs::None, &[x], Type::vec(half, 2));
                let (lo, hi) = (self.b.extract(v, 0), self.b.extract(v, 1));
                let swapped = self.b.vec(&[hi, lo]);
                self.b.value(Op::Bitcast, Attrs::None, &[swapped], ty)
            }
        }
    }

    /// One of the integer sizes in use.
    pub(crate) fn size(&mut self) -> u8 {
        let k = self.rng.below(self.pools.len());
        self.pools[k].bits
    }

    /// A float expression.
    fn float(&mut self, bits: u8, depth: u32) -> Value {
        if depth >= 5 || self.rng.one_in(3) {
            let from = self.size();
            let x = self.int(from, depth + 1);
            let op = self.rng.pick(&[Op::S2F, Op::U2F]);
            return self.b.convert(op, x, bits);
        }
        if self.config.halves && self.config.floats && self.rng.one_in(6) {
            let from = if bits == 64 { self.rng.pick(&[16, 32]) } else { 48 - bits };
            let x = self.float(from, depth + 1);
            return self.b.convert(Op::F2F, x, bits);
        }
        if self.config.doubles && bits < 64 && self.rng.one_in(4) {
            let x = self.float(64, depth + 1);
            return self.b.convert(Op::F2F, x, bits);
        }
        if bits == 64 && self.rng.one_in(3) {
            let x = self.float(bits, depth + 1);
            let op = self.rng.pick(DOUBLE);
            let mut args = vec![x];
            while args.len() < op.info().operands.len() {
                args.push(self.float(bits, depth + 2));
            }
            return self.b.alu(op, &args);
        }
        if self.rng.one_in(4) {
            let op = self.rng.pick(ROUND);
            let x = self.float(bits, depth + 1);
            return self.b.unary(op, x);
        }
        let op = self.rng.pick(FLOAT);
        let (x, y) = (self.float(bits, depth + 1), self.float(bits, depth + 1));
        self.b.binary(op, x, y)
    }

    /// The size of a float expression.
    fn float_size(&mut self) -> u8 {
        if self.config.doubles && self.rng.one_in(2) {
            return 64;
        }
        match (self.config.floats, self.config.halves) {
            (true, true) => self.rng.pick(&[16, 32]),
            (true, false) => 32,
            _ => 16,
        }
    }

    fn int_from_float(&mut self, bits: u8, depth: u32) -> Value {
        let flags = std::mem::replace(&mut self.b.flags, InstFlags::EXACT | InstFlags::STRICT);
        let from = self.float_size();
        let f = self.float(from, depth);
        let op = self.rng.pick(&[Op::F2S, Op::F2U]);
        let x = self.b.convert(op, f, bits);
        self.b.flags = flags;
        x
    }

    fn lane(&mut self) -> Value {
        self.b.builtin(Builtin::SubgroupInvocationId, Type::B32)
    }

    /// Selects `v`, which was read from lane `from`, if that lane is active, else `other`: values
    /// read from inactive lanes are undefined.
    fn select_if_active(&mut self, v: Value, from: Value, other: Value) -> Value {
        let (yes, last, one) = (self.b.bool(true), self.b.u32(31), self.b.u32(1));
        let all = self.b.unary(Op::Ballot, yes);
        let all = self.b.extract(all, 0);
        let known = self.b.binary(Op::IAnd, from, last);
        let bit = self.b.binary(Op::UShr, all, known);
        let bit = self.b.binary(Op::IAnd, bit, one);
        let on = self.b.binary(Op::IEq, bit, one);
        let near = self.b.binary(Op::UGe, last, from);
        let on = self.b.binary(Op::IAnd, on, near);
        self.b.select(on, v, other)
    }

    fn subgroup(&mut self, bits: u8, depth: u32) -> Value {
        const SCANS: &[Op] = &[Op::Reduce, Op::InclusiveScan, Op::ExclusiveScan];
        let (x, ty) = (self.int(bits, depth), Type::scalar(bits));
        match self.rng.below(8) {
            0 => {
                let op = self.rng.pick(&[
                    ReduceOp::IAdd,
                    ReduceOp::IMul,
                    ReduceOp::UMax,
                    ReduceOp::SMin,
                    ReduceOp::Xor,
                ]);
                let kind = self.rng.pick(SCANS);
                self.b.value(kind, Attrs::Reduce(Reduce { op, cluster: 0 }), &[x], ty)
            }
            1 => self.b.unary(Op::ReadFirst, x),
            2 => {
                let n = self.rng.below(crate::LANES as usize) as u32;
                let n = self.b.u32(n);
                let v = self.b.binary(Op::ShuffleXor, x, n);
                let own = self.lane();
                let from = self.b.binary(Op::IXor, own, n);
                self.select_if_active(v, from, x)
            }
            3 => {
                let m = self.b.u32(crate::LANES - 1);
                let y = self.int(32, depth);
                let n = self.b.binary(Op::IAnd, y, m);
                let op = self.rng.pick(&[Op::Shuffle, Op::ShuffleUp, Op::ShuffleDown]);
                let v = self.b.binary(op, x, n);
                let own = self.lane();
                let from = match op {
                    Op::ShuffleUp => self.b.binary(Op::ISub, own, n),
                    Op::ShuffleDown => self.b.binary(Op::IAdd, own, n),
                    _ => n,
                };
                self.select_if_active(v, from, x)
            }
            4 => {
                let c = self.cond(depth);
                let v = self.b.unary(Op::Ballot, c);
                let m = self.b.extract(v, 0);
                self.b.convert(Op::U2U, m, bits)
            }
            5 => {
                let c = self.cond(depth);
                let c = match self.rng.below(4) {
                    0 => self.b.unary(Op::VoteAny, c),
                    1 => self.b.unary(Op::VoteAll, c),
                    2 => self.b.unary(Op::VoteEqBits, x),
                    _ => {
                        let op = self.rng.pick(&[ReduceOp::And, ReduceOp::Or, ReduceOp::Xor]);
                        let kind = self.rng.pick(SCANS);
                        let reduce = Attrs::Reduce(Reduce { op, cluster: 0 });
                        self.b.value(kind, reduce, &[c], Type::B1)
                    }
                };
                self.b.value(Op::B2I, Attrs::None, &[c], ty)
            }
            6 => {
                let n = self.rng.below(4) as u32;
                let n = self.b.u32(n);
                let v = self.b.binary(Op::QuadBroadcast, x, n);
                let (own, quad) = (self.lane(), self.b.u32(!3));
                let base = self.b.binary(Op::IAnd, own, quad);
                let from = self.b.binary(Op::IOr, base, n);
                self.select_if_active(v, from, x)
            }
            _ => {
                let op = self.rng.pick(&[
                    ReduceOp::IAdd,
                    ReduceOp::IMul,
                    ReduceOp::SMin,
                    ReduceOp::UMax,
                    ReduceOp::Xor,
                ]);
                // At most as many lanes as the smallest subgroups have.
                let cluster = self.rng.pick(&[2, 4, 8]);
                self.b.value(Op::Reduce, Attrs::Reduce(Reduce { op, cluster }), &[x], ty)
            }
        }
    }

    /// A condition.
    pub(crate) fn cond(&mut self, depth: u32) -> Value {
        match self.rng.below(7) {
            0 => {
                let k = self.rng.below(self.bools.len());
                let v = self.bools[k];
                self.b.load_var(v, None)
            }
            1 if depth < 4 => {
                let c = self.cond(depth + 1);
                self.b.unary(Op::INot, c)
            }
            2 if depth < 4 => {
                let op = self.rng.pick(&[Op::IAnd, Op::IOr, Op::IXor]);
                let (x, y) = (self.cond(depth + 1), self.cond(depth + 1));
                self.b.binary(op, x, y)
            }
            3 if self.rng.one_in(6) => {
                let c = self.rng.one_in(2);
                self.b.bool(c)
            }
            4 if (self.config.floats || self.config.halves) && depth < 4 => {
                let flags =
                    std::mem::replace(&mut self.b.flags, InstFlags::EXACT | InstFlags::STRICT);
                let op = self.rng.pick(&[Op::FLt, Op::FGe, Op::FEq, Op::FNeu]);
                let bits = self.float_size();
                let (x, y) = (self.float(bits, depth + 1), self.float(bits, depth + 1));
                let c = self.b.binary(op, x, y);
                self.b.flags = flags;
                c
            }
            _ => {
                let (op, bits) = (self.rng.pick(COMPARE), self.size());
                let (x, y) = (self.int(bits, depth + 1), self.int(bits, depth + 1));
                self.b.binary(op, x, y)
            }
        }
    }
}
