//! Arithmetic.

use super::operand::{Place, size_of};
use super::{Comp, Opnd, Select};
use crate::error::Result;
use crate::mir::{HALF, UNASSIGNED, Val, WORD, class_of};
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::operand::{ConvertMode, Dst, FCond, ICond, Round, Size};
use tepui_agx_isa::table::bitfield::{Asr, Bfeil, Bfi, Extr};
use tepui_agx_isa::table::float::{Fadd16, Fadd32, Fmadd16, Fmadd32, Fmul16, Fmul32};
use tepui_agx_isa::table::integer::{Bitop, Bitrev, Convert, Ffs, Iadd, Imadd, Intl, Popcount};
use tepui_agx_isa::table::unary::{
    Ceil, Exp2, Floor, Log2, Rcp, Rint, Rsqrt, RsqrtSpecial, SinPt1, SinPt2, Trunc,
};
use tepui_ir::{Inst, InstFlags, Op, Shader, Type, Value};

/// Truth tables: bit `a + 2 b`.
pub(super) mod table {
    pub const AND: u8 = 0b1000;
    pub const OR: u8 = 0b1110;
    pub const XOR: u8 = 0b0110;
    pub const NOT_A: u8 = 0b0101;
    pub const A: u8 = 0b1010;

    /// The table with an operand complemented.
    pub fn complement_a(t: u8) -> u8 {
        (t & 0b0101) << 1 | (t & 0b1010) >> 1
    }
    pub fn complement_b(t: u8) -> u8 {
        (t & 0b0011) << 2 | (t & 0b1100) >> 2
    }
}

/// The destination of a float result: the value after folded saturation and conversion.
struct Target {
    value: Value,
    sat: bool,
    bits: u8,
}

fn dst(bits: u8) -> Dst {
    Dst::new(UNASSIGNED, size_of(bits))
}

impl Select<'_> {
    /// The only user of a value.
    fn only_user(&self, v: Value) -> Option<Inst> {
        if self.uses[v] == 1 { self.user[v].expand() } else { None }
    }

    /// Saturation and conversion to 16 bits of a 32-bit result are free when nothing else uses it.
    fn target(&self, v: Value) -> Target {
        let mut t = Target { value: v, sat: false, bits: self.ty(v).bits() };
        while let Some(u) = self.only_user(t.value) {
            match self.s.insts[u].op {
                Op::FSat if !t.sat => t.sat = true,
                Op::F2F if t.bits == 32 && self.ty(self.s.result(u)).bits() == 16 => t.bits = 16,
                _ => break,
            }
            t.value = self.s.result(u);
        }
        t
    }

    fn float3(&mut self, t: &Target, half: bool, a: Opnd, b: Opnd, c: Opnd) -> Comp {
        let class = class_of(t.bits, 1);
        let (sat, d) = (t.sat, dst(t.bits));
        let inst: Isa = if half {
            Fmadd16 { sat, d, a: a.src(), b: b.src(), c: c.src(), ..Fmadd16::default() }.into()
        } else {
            Fmadd32 { sat, d, a: a.src(), b: b.src(), c: c.src(), ..Fmadd32::default() }.into()
        };
        Comp::Val(self.def(inst, class, &[a, b, c]))
    }

    pub(super) fn fadd(&mut self, sat: bool, bits: u8, half: bool, a: Opnd, b: Opnd) -> Val {
        let d = dst(bits);
        let inst: Isa = if half {
            Fadd16 { sat, d, a: a.src(), b: b.src(), ..Fadd16::default() }.into()
        } else {
            Fadd32 { sat, d, a: a.src(), b: b.src(), ..Fadd32::default() }.into()
        };
        self.def(inst, class_of(bits, 1), &[a, b])
    }

    pub(super) fn fmul(&mut self, sat: bool, bits: u8, half: bool, a: Opnd, b: Opnd) -> Val {
        let d = dst(bits);
        let inst: Isa = if half {
            Fmul16 { sat, d, a: a.src(), b: b.src(), ..Fmul16::default() }.into()
        } else {
            Fmul32 { sat, d, a: a.src(), b: b.src(), ..Fmul32::default() }.into()
        };
        self.def(inst, class_of(bits, 1), &[a, b])
    }

    /// The operand of a sum that is a root of which nothing but sums is used, and the factor that makes it of its square: the product
    /// is a part of the sum.
    fn root(&self, args: &[Value]) -> Option<(usize, Val)> {
        let of = |n: usize| Some((n, *self.roots.get(&args[n])?));
        let found = of(1).or_else(|| of(0))?;
        let v = args[found.0];
        (args[0] != args[1] && self.ty(v).bits() == 32 && self.sums[v] == self.uses[v])
            .then_some(found)
    }

    /// A product of which only the negation is used: the sign can be folded into its operands.
    fn negatable(&self, v: Value) -> Option<Inst> {
        let d = self.def_inst(v).filter(|_| self.uses[v] == 1 && self.ty(v).bits() <= 32)?;
        // If a fused product is zero, the sign would differ.
        let loose = !self.s.insts[d].flags.intersects(InstFlags::EXACT | InstFlags::STRICT);
        let op = self.s.insts[d].op;
        (op == Op::FMul || op == Op::FFma && loose).then_some(d)
    }

    fn negated_product(&mut self, product: Inst, t: &Target, k: usize) -> Comp {
        let args = self.s.args(product);
        let half = self.ty(args[0]).bits() == 16;
        let (a, b) = (self.fsrc(args[0], k).negated(), self.fsrc(args[1], k));
        match args.get(2) {
            Some(&c) => {
                let c = self.fsrc(c, k).negated();
                self.float3(t, half, a, b, c)
            }
            None => Comp::Val(self.fmul(t.sat, t.bits, half, a, b)),
        }
    }

    pub(super) fn iadd(&mut self, bits: u8, negate: bool, a: Opnd, b: Opnd, shift: u8) -> Val {
        let inst = Iadd { negate, d: dst(bits), a: a.src(), b: b.src(), shift, ..Iadd::default() };
        self.def(inst, class_of(bits, 1), &[a, b])
    }

    pub(super) fn imadd(&mut self, bits: u8, negate: bool, ops: [Opnd; 3], shift: u8) -> Val {
        let [a, b, c] = ops;
        let inst = Imadd {
            negate,
            d: dst(bits),
            a: a.src(),
            b: b.src(),
            c: c.src(),
            shift,
            ..Imadd::default()
        };
        self.def(inst, class_of(bits, 1), &ops)
    }

    pub(super) fn bitop(&mut self, bits: u8, table: u8, a: Opnd, b: Opnd) -> Val {
        let inst = Bitop { table, d: dst(bits), a: a.src(), b: b.src(), ..Bitop::default() };
        self.def(inst, class_of(bits, 1), &[a, b])
    }

    /// `(b >> c) & mask` bits.
    pub(super) fn bfeil(&mut self, bits: u8, b: Opnd, c: Opnd, mask: u8) -> Val {
        let a = Opnd::imm(0);
        let inst =
            Bfeil { d: dst(bits), a: a.src(), b: b.src(), c: c.src(), mask, ..Bfeil::default() };
        self.def(inst, class_of(bits, 1), &[a, b, c])
    }

    pub(super) fn bfi(&mut self, bits: u8, ops: [Opnd; 3], mask: u8) -> Val {
        let [a, b, c] = ops;
        let inst = Bfi { d: dst(bits), a: a.src(), b: b.src(), c: c.src(), mask, ..Bfi::default() };
        self.def(inst, class_of(bits, 1), &ops)
    }

    /// Whether the upper bits of an 8-bit value's register are zero, as after loads.
    pub(super) fn is_clean_byte(&self, v: Value) -> bool {
        let load =
            |op| matches!(op, Op::LoadBuffer | Op::LoadGlobal | Op::LoadShared | Op::LoadScratch);
        let def = self.s.def_op(v);
        if def == Some(Op::Extract) {
            let d = self.def_inst(v).map(|d| self.s.arg(d, 0));
            return d.and_then(|x| self.s.def_op(x)).is_some_and(load);
        }
        def.is_some_and(load)
    }

    /// An 8-bit value without what is above it.
    pub(super) fn low_byte(&mut self, v: Value, k: usize) -> Opnd {
        let o = self.isrc(v, k);
        if self.is_clean_byte(v) {
            return o;
        }
        match o.place {
            Place::Imm(_) => o,
            _ => Opnd::of(self.bitop(16, table::AND, o, Opnd::imm(255)), Size::B16),
        }
    }

    /// A shift count below the number of bits.
    fn count(&mut self, v: Value, k: usize, bits: u8) -> Opnd {
        let last = u64::from(bits - 1);
        if let Comp::Const(c) = self.comp(v, k) {
            return Opnd::imm((c & last) as u8);
        }
        let o = self.isrc(v, k);
        if upper_bound(self.s, v, MAX_DEPTH) <= last {
            return o;
        }
        Opnd::of(
            self.bitop(16, table::AND, Opnd { size: Size::B16, ..o }, Opnd::imm(last as u8)),
            Size::B16,
        )
    }

    /// A shift left by 1 to 4, when `v` is one: the value shifted and the shift.
    fn shifted(&self, v: Value) -> Option<(Value, u8)> {
        let d = self.def_inst(v)?;
        if self.s.insts[d].op != Op::IShl || self.ty(v).bits() == 64 {
            return None;
        }
        match self.s.as_const(self.s.arg(d, 1))? {
            n @ 1..=4 => Some((self.s.arg(d, 0), n as u8)),
            _ => None,
        }
    }

    /// A product that nothing else uses.
    fn product(&self, v: Value) -> Option<(Value, Value)> {
        let d = self.def_inst(v)?;
        (self.s.insts[d].op == Op::IMul && self.uses[v] == 1 && self.ty(v).bits() <= 32)
            .then(|| (self.s.arg(d, 0), self.s.arg(d, 1)))
    }

    fn add(&mut self, a: Value, b: Value, negate: bool, k: usize, bits: u8) -> Val {
        // Sums commute; differences only give their second operand away.
        let orders = if negate { &[(a, b)][..] } else { &[(a, b), (b, a)][..] };
        for &(x, y) in orders {
            if let Some((p, q)) = self.product(x) {
                let (ops, shift) = match self.shifted(y) {
                    Some((z, n)) => ([self.esrc(p, k), self.esrc(q, k), self.isrc(z, k)], n),
                    None => ([self.esrc(p, k), self.esrc(q, k), self.esrc(y, k)], 0),
                };
                return self.imadd(bits, negate, ops, shift);
            }
        }
        for &(x, y) in orders {
            if let Comp::Const(c) = self.comp(y, k) {
                let minus = c.wrapping_neg() & tepui_ir::mask(bits);
                if c >= 256 && minus < 256 {
                    let x = self.esrc(x, k);
                    return self.iadd(bits, !negate, x, Opnd::imm(minus as u8), 0);
                }
            }
        }
        for &(x, y) in orders {
            if let Some((z, n)) = self.shifted(y) {
                let (x, z) = (self.esrc(x, k), self.isrc(z, k));
                return self.iadd(bits, negate, x, z, n);
            }
        }
        let (x, y) = (self.esrc(a, k), self.esrc(b, k));
        self.iadd(bits, negate, x, y, 0)
    }

    /// A bitwise op with complemented operands taken in.
    fn logic(&mut self, op: Op, args: &[Value], k: usize, complement: bool) -> Val {
        let bits = self.ty(args[0]).bits();
        let mut t = match op {
            Op::IAnd => table::AND,
            Op::IOr => table::OR,
            _ => table::XOR,
        };
        let mut ops = [args[0], args[1]];
        for (n, o) in ops.iter_mut().enumerate() {
            if let Some(d) = self.def_inst(*o)
                && self.s.insts[d].op == Op::INot
                && bits > 1
            {
                *o = self.s.arg(d, 0);
                t = if n == 0 { table::complement_a(t) } else { table::complement_b(t) };
            }
        }
        if complement {
            t ^= 15;
        }
        // A right shift under a mask of low ones is one bitfield extraction.
        if op == Op::IAnd && t == table::AND && bits == 32 {
            for (x, m) in [(ops[0], ops[1]), (ops[1], ops[0])] {
                if let Comp::Const(m) = self.comp(m, k)
                    && (m + 1).is_power_of_two()
                    && m != 0
                    && let Some(d) = self.def_inst(x)
                    && self.s.insts[d].op == Op::UShr
                    && let Some(n) = self.s.as_const(self.s.arg(d, 1))
                {
                    let y = self.isrc(self.s.arg(d, 0), k);
                    return self.bfeil(
                        bits,
                        y,
                        Opnd::imm((n & 31) as u8),
                        m.count_ones() as u8 & 31,
                    );
                }
            }
        }
        if matches!(t, table::OR | table::XOR)
            && bits == 32
            && let Some(v) =
                self.funnel(ops[0], ops[1], k).or_else(|| self.funnel(ops[1], ops[0], k))
        {
            return v;
        }
        let (a, b) = (self.isrc(ops[0], k), self.isrc(ops[1], k));
        self.bitop(bits.max(16), t, a, b)
    }

    /// `x << n | y >> 32 - n`, a rotation where both are the same: one extraction from a pair of
    /// registers.
    fn funnel(&mut self, high: Value, low: Value, k: usize) -> Option<Val> {
        let shift = |v: Value, op: Op| {
            let d = self.def_inst(v).filter(|&d| self.s.insts[d].op == op && self.uses[v] == 1)?;
            let n = self.s.as_const(self.s.arg(d, 1))? & 31;
            Some((self.s.arg(d, 0), n))
        };
        let ((x, left), (y, right)) = (shift(high, Op::IShl)?, shift(low, Op::UShr)?);
        if left + right != 32 {
            return None;
        }
        let ops = [self.isrc(y, k), self.isrc(x, k), Opnd::imm(right as u8)];
        let [a, b, c] = ops.map(|o| o.src());
        Some(self.def(Extr { d: dst(32), a, b, c, ..Extr::default() }, WORD, &ops))
    }

    /// Selects an arithmetic instruction, component by component.
    pub(super) fn alu(&mut self, i: Inst) -> Result<()> {
        let s = self.s;
        let op = s.insts[i].op;
        let result = match s.results(i) {
            [r] => *r,
            _ => return self.refuse(i, "is not known to the back end"),
        };
        if op == Op::Bitcast {
            return self.bitcast(i);
        }
        let ty = self.ty(result);
        if !op.is_elementwise() {
            return self.refuse(i, "is not known to the back end");
        }
        // Free saturation and conversion move the result to a later value.
        let folds = foldable(op) || op == Op::FNeg && self.negatable(s.arg(i, 0)).is_some();
        let target = if folds && ty.bits() <= 32 {
            self.target(result)
        } else {
            Target { value: result, sat: false, bits: ty.bits() }
        };
        let mut comps = [Comp::Undef; 16];
        for k in 0..usize::from(ty.comps()) {
            comps[k] = self.one(i, op, k, ty, &target)?;
        }
        // Instructions that were folded into this one are done, too.
        let comps = &comps[..usize::from(ty.comps())];
        let mut v = result;
        self.set(v, comps);
        while v != target.value
            && let Some(u) = self.only_user(v)
        {
            v = self.s.result(u);
            self.set(v, comps);
        }
        Ok(())
    }

    fn one(&mut self, i: Inst, op: Op, k: usize, ty: Type, t: &Target) -> Result<Comp> {
        let s = self.s;
        let args = s.args(i);
        let bits = ty.bits();
        let from = self.ty(args[0]).bits();
        if bits == 64 || from == 64 {
            return self.one_long(i, op, k, ty);
        }
        let half = bits == 16;
        macro_rules! unary {
            ($row:ident) => {{
                let a = self.fsrc(args[0], k);
                let inst = $row { sat: t.sat, d: dst(t.bits), a: a.src(), ..$row::default() };
                Comp::Val(self.def(inst, class_of(t.bits, 1), &[a]))
            }};
        }
        macro_rules! int_unary {
            ($row:ident) => {{
                let a = self.isrc(args[0], k);
                let inst = $row { d: dst(bits), a: a.src(), ..$row::default() };
                Comp::Val(self.def(inst, Self::class(ty), &[a]))
            }};
        }
        Ok(match op {
            Op::FAdd | Op::FSub if let Some((n, r)) = self.root(args) => {
                let square = self.s.arg(self.def_inst(args[n]).unwrap_or(i), 0);
                let (x, other) = (self.fsrc(square, k), self.fsrc(args[1 - n], k));
                let (x, other) = match (op, n) {
                    (Op::FSub, 1) => (x.negated(), other),
                    (Op::FSub, _) => (x, other.negated()),
                    _ => (x, other),
                };
                self.float3(t, false, x, Opnd::of(r, Size::B32), other)
            }
            Op::FAdd | Op::FSub => {
                let (a, b) = (self.fsrc(args[0], k), self.fsrc(args[1], k));
                let b = if op == Op::FSub { b.negated() } else { b };
                Comp::Val(self.fadd(t.sat, t.bits, half, a, b))
            }
            Op::FMul => {
                let (a, b) = (self.fsrc(args[0], k), self.fsrc(args[1], k));
                Comp::Val(self.fmul(t.sat, t.bits, half, a, b))
            }
            Op::FFma => {
                let ops = [0, 1, 2].map(|n| self.fsrc(args[n], k));
                self.float3(t, half, ops[0], ops[1], ops[2])
            }
            Op::FSat => {
                let a = self.fsrc(args[0], k);
                Comp::Val(self.fadd(true, t.bits, half, a, Opnd::NEG_ZERO))
            }
            Op::F2F => {
                // Between 16 and 32 bits: the 32-bit adder converts.
                let a = self.fsrc(args[0], k);
                Comp::Val(self.fadd(t.sat, t.bits, false, a, Opnd::NEG_ZERO))
            }
            Op::FNeg if let Some(p) = self.negatable(args[0]) => self.negated_product(p, t, k),
            Op::FNeg | Op::FAbs => {
                let a = self.isrc(args[0], k);
                let sign = 1u64 << (bits - 1);
                let (table, m) = match op {
                    Op::FNeg => (table::XOR, sign),
                    _ => (table::AND, sign - 1),
                };
                let m = self.int(m, size_of(bits));
                Comp::Val(self.bitop(bits, table, a, m))
            }
            Op::FFloor => unary!(Floor),
            Op::FCeil => unary!(Ceil),
            Op::FTrunc => unary!(Trunc),
            Op::FRoundEven => unary!(Rint),
            Op::FRcp => unary!(Rcp),
            Op::FRsq => unary!(Rsqrt),
            Op::FExp2 => unary!(Exp2),
            Op::FLog2 => unary!(Log2),
            Op::FSqrt => {
                let a = self.fsrc(args[0], k);
                let inst = RsqrtSpecial { d: dst(32), a: a.src(), ..RsqrtSpecial::default() };
                let r = self.def(inst, WORD, &[a]);
                if ty.is_scalar() {
                    self.roots.insert(self.s.result(i), r);
                }
                Comp::Val(self.fmul(t.sat, t.bits, false, a, Opnd::of(r, Size::B32)))
            }
            Op::FSin | Op::FCos => {
                // An angle in quadrants, 0 to 4. source: Mesa, fsin_agx
                let a = self.fsrc(args[0], k);
                let turn = self
                    .konst(u64::from(std::f32::consts::FRAC_1_PI.to_bits() - (1 << 23)), Size::B32);
                let turns = if op == Op::FCos {
                    let inst = Fmadd32 {
                        d: dst(32),
                        a: a.src(),
                        b: turn.src(),
                        c: Opnd::imm(0x10).src(),
                        ..Fmadd32::default()
                    };
                    self.def(inst, WORD, &[a, turn])
                } else {
                    self.fmul(false, 32, false, a, turn)
                };
                let turns = Opnd::of(turns, Size::B32);
                let inst = Floor { d: dst(32), a: turns.src(), ..Floor::default() };
                let whole = self.def(inst, WORD, &[turns]);
                let part = self.fadd(false, 32, false, turns, Opnd::of(whole, Size::B32).negated());
                let four = Opnd::imm(0x50);
                let q = Opnd::of(
                    self.fmul(false, 32, false, Opnd::of(part, Size::B32), four),
                    Size::B32,
                );
                let inst = SinPt1 { d: dst(32), a: q.src(), ..SinPt1::default() };
                let x = Opnd::of(self.def(inst, WORD, &[q]), Size::B32);
                let inst = SinPt2 { d: dst(32), a: x.src(), ..SinPt2::default() };
                let y = Opnd::of(self.def(inst, WORD, &[x]), Size::B32);
                Comp::Val(self.fmul(t.sat, t.bits, false, x, y))
            }
            Op::FMin | Op::FMax => {
                let cc = if op == Op::FMin { FCond::Ltn } else { FCond::Gtn };
                let (a, b) = (self.plain(args[0], k), self.plain(args[1], k));
                let (x, y) = (self.isrc(args[0], k), self.isrc(args[1], k));
                let c = super::cond::Cond::Float { cc, a, b, inv: false };
                let v = self.cond_select(c, x, y, Self::class(ty));
                // The selection copies denormals bit by bit; the adder flushes them.
                let flushes =
                    bits == 32 && s.info.float_controls(32).is_some_and(|f| f.denorm_flush);
                Comp::Val(match flushes {
                    true => self.fadd(false, 32, false, Opnd::of(v, Size::B32), Opnd::NEG_ZERO),
                    false => v,
                })
            }
            Op::FEq | Op::FNeu | Op::FLt | Op::FGe | Op::SLt | Op::SGe | Op::ULt | Op::UGe => {
                let c = self.cond_comp(s.result(i), k);
                self.truth(c)
            }
            Op::IEq | Op::INe => {
                let c = self.cond_comp(s.result(i), k);
                self.truth(c)
            }
            Op::B2I if bits <= 16 => self.comp(args[0], k),
            Op::B2I => {
                let c = self.cond_comp(args[0], k);
                Comp::Val(self.cond_select(c, Opnd::imm(1), Opnd::imm(0), Self::class(ty)))
            }
            Op::B2F => {
                let c = self.cond_comp(args[0], k);
                let one = if bits == 16 { 0x3c00 } else { 0x3f80_0000 };
                let one = self.konst(one, size_of(bits));
                Comp::Val(self.cond_select(c, one, Opnd::imm(0), Self::class(ty)))
            }
            Op::Select => {
                let c = self.cond_comp(args[0], k);
                let (x, y) = (self.isrc(args[1], k), self.isrc(args[2], k));
                Comp::Val(self.cond_select(c, x, y, Self::class(ty)))
            }
            Op::IAdd => Comp::Val(self.add(args[0], args[1], false, k, bits.max(16))),
            Op::ISub => Comp::Val(self.add(args[0], args[1], true, k, bits.max(16))),
            Op::INeg => {
                let a = self.esrc(args[0], k);
                Comp::Val(self.iadd(bits.max(16), true, Opnd::imm(0), a, 0))
            }
            Op::IMul => {
                if let (x, Comp::Const(c)) | (Comp::Const(c), x) =
                    (self.comp(args[0], k), self.comp(args[1], k))
                    && c > 2
                    && (c - 1).is_power_of_two()
                    && c <= 17
                {
                    let x = self.comp_src(x, bits);
                    return Ok(Comp::Val(self.iadd(
                        bits.max(16),
                        false,
                        x,
                        x,
                        (c - 1).trailing_zeros() as u8,
                    )));
                }
                let (a, b) = (self.esrc(args[0], k), self.esrc(args[1], k));
                Comp::Val(self.imadd(bits.max(16), false, [a, b, Opnd::imm(0)], 0))
            }
            Op::UMulHi | Op::SMulHi if bits == 32 => {
                let sx = op == Op::SMulHi;
                let (mut a, mut b) = (self.isrc(args[0], k), self.isrc(args[1], k));
                a.sx = sx;
                b.sx = sx;
                let p = self.imadd(64, false, [a, b, Opnd::imm(0)], 0);
                self.words(Comp::Val(p))[1]
            }
            Op::SMin | Op::SMax | Op::UMin | Op::UMax => {
                let signed = matches!(op, Op::SMin | Op::SMax);
                let [a, b] = [args[0], args[1]].map(|x| match (bits, signed) {
                    (8, true) => self.sign_byte(x, k),
                    (8, false) => self.low_byte(x, k),
                    _ => self.isrc(x, k),
                });
                let cc = match op {
                    Op::SMin => ICond::Slt,
                    Op::SMax => ICond::Sgt,
                    Op::UMin => ICond::Ult,
                    _ => ICond::Ugt,
                };
                let c = super::cond::Cond::Int { cc, a, b, inv: false };
                Comp::Val(self.cond_select(c, a, b, Self::class(ty)))
            }
            Op::UAddSat | Op::USubSat | Op::SAddSat | Op::SSubSat if bits >= 16 => {
                let (mut a, mut b) = (self.isrc(args[0], k), self.isrc(args[1], k));
                let signed = matches!(op, Op::SAddSat | Op::SSubSat);
                // Signedness is a flag of an operand, which immediates lack.
                if signed && matches!((a.place, b.place), (Place::Imm(_), Place::Imm(_))) {
                    a = Opnd::of(
                        self.mov(Opnd { size: size_of(bits), ..a }, Self::class(ty)),
                        size_of(bits),
                    );
                }
                a.sx = signed;
                b.sx = signed;
                let negate = matches!(op, Op::USubSat | Op::SSubSat);
                let inst = Iadd {
                    negate,
                    sat: true,
                    d: dst(bits),
                    a: a.src(),
                    b: b.src(),
                    ..Iadd::default()
                };
                Comp::Val(self.def(inst, Self::class(ty), &[a, b]))
            }
            Op::IAnd | Op::IOr if bits == 1 => {
                if self.uses[s.result(i)] <= MAX_JOINED
                    && let Some(c) = self.joined(op, [args[0], args[1]], k)
                {
                    return Ok(self.known_truth(c));
                }
                // A comparison is the select of the other operand: of several users, each costs the
                // same as with its truth value.
                let compares = |x: Value| {
                    s.def_op(x).is_some_and(|op| op.info().results == [tepui_ir::Pat::B])
                };
                let single = |x: Value| self.uses[x] == 1 && compares(x);
                let first = single(args[0]) || !single(args[1]) && compares(args[0]);
                let (x, y) = if first { (args[0], args[1]) } else { (args[1], args[0]) };
                if !compares(x) {
                    return Ok(Comp::Val(self.logic(op, args, k, false)));
                }
                let other = if single(y) {
                    let c = self.cond_comp(y, k);
                    self.truth(c)
                } else {
                    self.comp(y, k)
                };
                let other = self.comp_src(other, 1);
                let c = self.cond_comp(x, k);
                let (t, e) =
                    if op == Op::IAnd { (other, Opnd::imm(0)) } else { (Opnd::imm(1), other) };
                Comp::Val(self.cond_select(c, t, e, HALF))
            }
            Op::IAnd | Op::IOr | Op::IXor => Comp::Val(self.logic(op, args, k, false)),
            Op::INot => {
                if let Some(d) = self.def_inst(args[0])
                    && matches!(s.insts[d].op, Op::IAnd | Op::IOr | Op::IXor)
                    && bits > 1
                {
                    return Ok(Comp::Val(self.logic(s.insts[d].op, s.args(d), k, true)));
                }
                if bits == 1 {
                    let c = self.cond_comp(args[0], k).inverted();
                    return Ok(self.truth(c));
                }
                let a = self.isrc(args[0], k);
                Comp::Val(self.bitop(bits.max(16), table::NOT_A, a, Opnd::imm(0)))
            }
            Op::IShl => {
                if let Comp::Const(n @ 1..=4) = self.comp(args[1], k) {
                    let a = self.isrc(args[0], k);
                    return Ok(Comp::Val(self.iadd(bits.max(16), false, Opnd::imm(0), a, n as u8)));
                }
                let (a, n) = (self.isrc(args[0], k), self.count(args[1], k, bits));
                Comp::Val(self.bfi(bits.max(16), [Opnd::imm(0), a, n], 0))
            }
            Op::UShr => {
                let n = self.count(args[1], k, bits);
                let a = if bits == 8 { self.low_byte(args[0], k) } else { self.isrc(args[0], k) };
                Comp::Val(self.bfeil(bits.max(16), a, n, 0))
            }
            Op::SShr => {
                let n = self.count(args[1], k, bits);
                let a = if bits == 8 { self.sign_byte(args[0], k) } else { self.isrc(args[0], k) };
                Comp::Val(self.asr(bits.max(16), a, n))
            }
            Op::BitReverse if bits == 32 => int_unary!(Bitrev),
            Op::BitInterleave => {
                let (a, b) = (self.isrc(args[0], k), self.isrc(args[1], k));
                let inst = Intl { d: dst(32), a: a.src(), b: b.src(), ..Intl::default() };
                Comp::Val(self.def(inst, WORD, &[a, b]))
            }
            Op::BitCount | Op::UFindMsb => {
                let a = if from == 8 { self.low_byte(args[0], k) } else { self.isrc(args[0], k) };
                let d = dst(32);
                let inst: Isa = if op == Op::BitCount {
                    Popcount { d, a: a.src(), ..Popcount::default() }.into()
                } else {
                    Ffs { d, a: a.src(), ..Ffs::default() }.into()
                };
                Comp::Val(self.def(inst, WORD, &[a]))
            }
            Op::BitInsert if bits == 32 => {
                let Comp::Const(n) = self.comp(args[3], k) else {
                    return self.refuse(i, "of a variable width");
                };
                if n == 0 {
                    return Ok(self.comp(args[0], k));
                }
                let ops = [0, 1, 2].map(|m| self.isrc(args[m], k));
                Comp::Val(self.bfi(bits, ops, field(n)))
            }
            Op::UBitExtract if bits == 32 => {
                let Comp::Const(n) = self.comp(args[2], k) else {
                    return self.refuse(i, "of a variable width");
                };
                if n == 0 {
                    return Ok(Comp::Const(0));
                }
                let (b, c) = (self.isrc(args[0], k), self.isrc(args[1], k));
                Comp::Val(self.bfeil(bits, b, c, field(n)))
            }
            Op::U2F | Op::S2F => {
                let signed = op == Op::S2F;
                let mode = match (from, signed) {
                    (32, false) => ConvertMode::U32ToF,
                    (32, true) => ConvertMode::S32ToF,
                    (16, false) => ConvertMode::U16ToF,
                    (16, true) => ConvertMode::S16ToF,
                    (_, false) => ConvertMode::U8ToF,
                    (_, true) => ConvertMode::S8ToF,
                };
                let src = self.isrc(args[0], k);
                let inst = Convert {
                    mode,
                    d: dst(bits),
                    src: src.src(),
                    round: Round::Rte,
                    ..Convert::default()
                };
                Comp::Val(self.def(inst, Self::class(ty), &[src]))
            }
            Op::F2U | Op::F2S
                if bits == 32
                    && let Some(axis) = self.pixel_axis(args[0], k) =>
            {
                Comp::Val(self.sr(super::special::sr::GLOBAL + axis, Size::B32))
            }
            Op::F2U | Op::F2S => {
                let c = self.comp(args[0], k);
                let src = match c {
                    // An immediate would be taken for an integer's bits.
                    Comp::Const(x) => self.konst(x, size_of(from)),
                    c => self.comp_src(c, from),
                };
                let mode = match (bits, op) {
                    (32, Op::F2U) => ConvertMode::FToU32,
                    (32, _) => ConvertMode::FToS32,
                    (_, Op::F2U) => ConvertMode::FToU16,
                    _ => ConvertMode::FToS16,
                };
                let inst = Convert {
                    mode,
                    d: dst(bits),
                    src: src.src(),
                    round: Round::Rtz,
                    ..Convert::default()
                };
                Comp::Val(self.def(inst, Self::class(ty), &[src]))
            }
            Op::U2U | Op::S2S => self.resize(op, args[0], k, from, bits),
            _ => return self.refuse(i, format!("of {ty} is not compiled")),
        })
    }

    /// A float operand without folded modifiers.
    fn plain(&mut self, v: Value, k: usize) -> Opnd {
        match self.comp(v, k) {
            Comp::Const(x) => {
                let bits = self.ty(v).bits();
                self.konst(x, size_of(bits))
            }
            _ => self.isrc(v, k),
        }
    }

    pub(super) fn asr(&mut self, bits: u8, a: Opnd, n: Opnd) -> Val {
        // A narrow immediate has no sign.
        let inst = Asr { d: dst(bits), a: a.src(), b: n.src(), ..Asr::default() };
        self.def(inst, class_of(bits, 1), &[a, n])
    }

    /// An 8-bit value, sign-extended to 16 bits.
    pub(super) fn sign_byte(&mut self, v: Value, k: usize) -> Opnd {
        let o = self.isrc(v, k);
        let up = self.bfi(16, [Opnd::imm(0), o, Opnd::imm(8)], 0);
        Opnd::of(self.asr(16, Opnd::of(up, Size::B16), Opnd::imm(8)), Size::B16)
    }

    /// Integer conversions up to 32 bits.
    fn resize(&mut self, op: Op, a: Value, k: usize, from: u8, to: u8) -> Comp {
        let c = self.comp(a, k);
        if let Comp::Const(x) = c {
            let x = if op == Op::S2S { tepui_ir::sext(x, from) as u64 } else { x };
            return Comp::Const(x & tepui_ir::mask(to));
        }
        match (from, to) {
            _ if from == to => c,
            (16, 8) => c,
            (32, 8 | 16) => {
                let o = self.isrc(a, k);
                let low = Opnd { size: Size::B16, ..o };
                Comp::Val(self.mov(low, HALF))
            }
            (8, 16) if op == Op::U2U && self.is_clean_byte(a) => c,
            (8, _) if op == Op::U2U => {
                let o = self.isrc(a, k);
                if self.is_clean_byte(a) {
                    return Comp::Val(self.bitop(to, table::A, o, Opnd::imm(0)));
                }
                Comp::Val(self.bitop(to, table::AND, o, Opnd::imm(255)))
            }
            (8, _) => {
                let o = self.isrc(a, k);
                let up = self.bfi(16, [Opnd::imm(0), o, Opnd::imm(8)], 0);
                Comp::Val(self.asr(to, Opnd::of(up, Size::B16), Opnd::imm(8)))
            }
            _ => {
                let mut o = self.isrc(a, k);
                if op == Op::U2U {
                    return Comp::Val(self.bitop(to, table::A, o, Opnd::imm(0)));
                }
                o.sx = true;
                Comp::Val(self.iadd(to, false, o, Opnd::imm(0), 0))
            }
        }
    }
}

/// A field's width as the mask operand has it: 0 for all 32 bits.
fn field(n: u64) -> u8 {
    if n >= 32 { 0 } else { n as u8 }
}

/// Ops whose machine instruction saturates and converts its result.
fn foldable(op: Op) -> bool {
    matches!(
        op,
        Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FFma
            | Op::FSat
            | Op::F2F
            | Op::FFloor
            | Op::FCeil
            | Op::FTrunc
            | Op::FRoundEven
            | Op::FRcp
            | Op::FRsq
            | Op::FExp2
            | Op::FLog2
            | Op::FSqrt
            | Op::FSin
            | Op::FCos
    )
}

/// Users that two joined conditions may have: each keeps two words alive instead of half of one.
const MAX_JOINED: u32 = 3;

/// Maximum depth of the analysis of [`upper_bound`].
const MAX_DEPTH: u32 = 4;

/// An unsigned upper bound of a scalar.
fn upper_bound(s: &Shader, v: Value, depth: u32) -> u64 {
    let ty = s.ty(v);
    let all = u64::MAX >> (64 - ty.bits());
    let Some(i) = s.def_inst(v).filter(|_| depth > 0 && ty.comps() == 1) else { return all };
    let of = |n: usize| upper_bound(s, s.arg(i, n), depth - 1);
    let known = match s.insts[i].op {
        Op::Const => s.as_const(v).unwrap_or(all),
        Op::IAnd | Op::UMin => of(0).min(of(1)),
        Op::UMax | Op::Select if s.args(i).len() >= 2 => {
            let n = s.args(i).len();
            of(n - 2).max(of(n - 1))
        }
        Op::IAdd => of(0).saturating_add(of(1)),
        Op::UShr => match s.as_const(s.arg(i, 1)) {
            Some(n) if n < u64::from(ty.bits()) => of(0) >> n,
            _ => of(0),
        },
        Op::U2U => of(0),
        _ => all,
    };
    // A sum that may be larger than the type wraps.
    if known > all { all } else { known }
}
