//! Templates of elementary functions, step by step as `usc::exec::approx` computes them, and of
//! derivatives.

use super::translator::{REGISTERS, Translator};
use crate::usc::exec::approx::{ATANH, EXP, LOG_SHIFT, SINE};
use crate::usc::op::{File, Op};
use tepui_hostvec::asm::{ALL, Rm, Shift, V, Vop, float};

/// A float as an operand.
fn number(x: f32) -> Rm {
    Rm::Constant(x.to_bits())
}

impl Translator<'_> {
    fn add(&mut self, d: V, a: V, b: Rm) {
        self.asm.vector(Vop::ADDPS, d, ALL, a, b, None);
    }

    fn subtract(&mut self, d: V, a: V, b: Rm) {
        self.asm.vector(Vop::SUBPS, d, ALL, a, b, None);
    }

    fn multiply(&mut self, d: V, a: V, b: Rm) {
        self.asm.vector(Vop::MULPS, d, ALL, a, b, None);
    }

    /// `v = value` in the lanes in which a comparison of `a` holds.
    fn replace(&mut self, v: V, value: Rm, a: V, predicate: u8, b: Rm) {
        let mask = self.mask(3);
        self.asm.compare(Vop::CMPPS, mask, ALL, a, b, predicate);
        self.asm.vector(Vop::PBLENDMD, v, mask, v, value, None);
        self.free_mask(mask);
    }

    /// A polynomial, the highest power's coefficient first; each operation rounds.
    fn polynomial(&mut self, p: V, x: V, coefficients: &[f32]) {
        for (i, &coefficient) in coefficients.iter().enumerate() {
            if i == 0 {
                self.asm.load(p, number(coefficient));
            } else {
                self.multiply(p, p, Rm::Reg(x));
                self.add(p, p, number(coefficient));
            }
        }
    }

    /// See `approx::exp2`.
    pub fn exp2(&mut self, op: &Op) {
        let (x, t, whole, p) = (V(0), V(1), V(2), V(3));
        self.float(x, op.s[0]);
        self.asm.vector(Vop::MAXPS, t, ALL, x, number(-200.0), None);
        self.asm.vector(Vop::MINPS, t, ALL, t, number(200.0), None);
        self.asm.vector(Vop::RNDSCALEPS, whole, ALL, V(0), Rm::Reg(t), Some(8));
        self.subtract(t, t, Rm::Reg(whole));
        self.multiply(t, t, number(std::f32::consts::LN_2));
        self.polynomial(p, t, &EXP);
        self.multiply(p, p, Rm::Reg(t));
        self.multiply(p, p, Rm::Reg(t));
        self.add(p, p, Rm::Reg(t));
        self.add(p, p, number(1.0));
        // Two factors, whose exponents are half of it and the rest.
        self.asm.vector(Vop::CVTTPS2DQ, whole, ALL, V(0), Rm::Reg(whole), None);
        self.asm.shift(Shift::Arithmetic, t, whole, 1);
        self.asm.vector(Vop::PSUBD, whole, ALL, whole, Rm::Reg(t), None);
        for exponent in [t, whole] {
            let bias = Rm::Constant(127);
            self.asm.vector(Vop::PADDD, exponent, ALL, exponent, bias, None);
            self.asm.shift(Shift::Left, exponent, exponent, 23);
            self.multiply(p, p, Rm::Reg(exponent));
        }
        self.replace(p, number(0.0), x, float::LESS, number(-126.0));
        self.replace(p, Rm::Reg(x), x, float::UNORDERED, Rm::Reg(x));
        self.store_float(op.d, p);
    }

    /// See `approx::log2`.
    pub fn log2(&mut self, op: &Op) {
        let (x, e, m, s, p) = (V(0), V(1), V(2), V(3), V(4));
        self.float(x, op.s[0]);
        self.asm.vector(Vop::PSUBD, e, ALL, x, Rm::Constant(LOG_SHIFT), None);
        self.asm.shift(Shift::Arithmetic, e, e, 23);
        self.asm.shift(Shift::Left, m, e, 23);
        self.asm.vector(Vop::PSUBD, m, ALL, x, Rm::Reg(m), None);
        self.subtract(s, m, number(1.0));
        self.add(m, m, number(1.0));
        self.asm.vector(Vop::DIVPS, s, ALL, s, Rm::Reg(m), None);
        let s2 = m;
        self.multiply(s2, s, Rm::Reg(s));
        self.polynomial(p, s2, &ATANH);
        self.multiply(p, p, Rm::Reg(s2));
        self.multiply(p, p, Rm::Reg(s));
        self.multiply(s, s, number(2.0));
        self.add(s, s, Rm::Reg(p));
        self.multiply(s, s, number(std::f32::consts::LOG2_E));
        self.asm.vector(Vop::CVTDQ2PS, e, ALL, V(0), Rm::Reg(e), None);
        self.add(s, s, Rm::Reg(e));
        self.replace(s, Rm::Reg(x), x, float::EQUAL, number(f32::INFINITY));
        self.replace(s, number(f32::NEG_INFINITY), x, float::LESS, number(f32::MIN_POSITIVE));
        self.replace(s, number(f32::NAN), x, float::NOT_GREATER_EQUAL, number(0.0));
        self.store_float(op.d, s);
    }

    /// See `exec::float::sin_pt_1`.
    pub fn fold_turn(&mut self, op: &Op) {
        let (x, folded, middle) = (V(0), V(1), V(2));
        self.float(x, op.s[0]);
        self.subtract(folded, x, number(4.0));
        self.asm.load(middle, number(2.0));
        self.subtract(middle, middle, Rm::Reg(x));
        self.replace(folded, Rm::Reg(middle), x, float::LESS, number(3.0));
        self.replace(folded, Rm::Reg(x), x, float::LESS, number(1.0));
        self.store_float(op.d, folded);
    }

    /// See `approx::sinc_quarter`.
    pub fn sinc_quarter(&mut self, op: &Op) {
        let (x, p) = (V(0), V(1));
        self.float(x, op.s[0]);
        self.multiply(x, x, Rm::Reg(x));
        self.polynomial(p, x, &SINE);
        self.store_float(op.d, p);
    }

    /// Differences within quads: of the lanes that each of four has as its first and its second.
    pub fn derivative(&mut self, op: &Op, [first, second]: [u8; 2]) {
        let s = op.s[0];
        let (whole, a, b) = (V(2), V(0), V(1));
        let mut from = self.source(s);
        // Lanes that do not execute count too, with what is in the register file: what a region
        // keeps has all lanes.
        if let (File::Registers, Rm::Reg(at), None) = (s.file, from, self.kept(s.row)) {
            self.asm.load(whole, self.in_file(REGISTERS, s.row));
            self.asm.vector(Vop::PBLENDMD, whole, self.exec(), whole, Rm::Reg(at), None);
            from = Rm::Reg(whole);
        }
        self.float_from(a, s, from);
        self.asm.vector(Vop::PSHUFD, b, ALL, V(0), Rm::Reg(a), Some(first));
        self.asm.vector(Vop::PSHUFD, a, ALL, V(0), Rm::Reg(a), Some(second));
        self.subtract(a, a, Rm::Reg(b));
        self.store_float(op.d, a);
    }
}
