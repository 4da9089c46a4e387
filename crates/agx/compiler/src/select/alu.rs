//! Arithmetic: what is folded into results and operands. The operations themselves are in the modules.

mod bits;
mod convert;
mod float;
mod integer;

use super::operand::{Place, size_of};
use super::{Comp, Opnd, Select};
use crate::error::Result;
use crate::mir::{UNASSIGNED, Val, WORD, class_of};
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::operand::{Dst, Size};
use tepui_agx_isa::table::bitfield::{Asr, Bfeil, Bfi, Extr};
use tepui_agx_isa::table::float::{Fadd16, Fadd32, Fmadd16, Fmadd32, Fmul16, Fmul32};
use tepui_agx_isa::table::integer::{Bitop, Iadd, Imadd};
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

    /// One component of a result.
    fn one(&mut self, i: Inst, op: Op, k: usize, ty: Type, t: &Target) -> Result<Comp> {
        let from = self.ty(self.s.arg(i, 0)).bits();
        if ty.bits() == 64 || from == 64 {
            return self.one_long(i, op, k, ty);
        }
        match op {
            Op::FNeg | Op::FAbs | Op::FMin | Op::FMax => self.float_op(i, op, k, ty, t),
            op if foldable(op) => self.float_op(i, op, k, ty, t),
            Op::IAnd
            | Op::IOr
            | Op::IXor
            | Op::INot
            | Op::IShl
            | Op::UShr
            | Op::SShr
            | Op::BitReverse
            | Op::BitInterleave
            | Op::BitCount
            | Op::UFindMsb
            | Op::BitInsert
            | Op::UBitExtract => self.bit_op(i, op, k, ty),
            Op::U2F | Op::S2F | Op::F2U | Op::F2S | Op::U2U | Op::S2S => {
                self.conversion(i, op, k, ty)
            }
            _ => self.integer_op(i, op, k, ty),
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
