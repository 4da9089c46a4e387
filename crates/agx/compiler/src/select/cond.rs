//! Conditions: folds comparisons into the selects and branches that use them.

use super::operand::Place;
use super::{Comp, Opnd, Select};
use crate::flow::{invert_float, invert_int};
use crate::mir::{HALF, RegClass, UNASSIGNED, Val, WORD};
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::operand::{Dst, FCond, ICond, Size};
use tepui_agx_isa::table::flow::{IfFcmp, IfIcmp};
use tepui_agx_isa::table::select::{FcmpBallot, Fcmpsel, IcmpBallot, Icmpsel};
use tepui_ir::{Op, Value};

/// A comparison, perhaps inverted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cond {
    Int { cc: ICond, a: Opnd, b: Opnd, inv: bool },
    Float { cc: FCond, a: Opnd, b: Opnd, inv: bool },
}

impl Cond {
    pub fn inverted(self) -> Cond {
        match self {
            Cond::Int { cc, a, b, inv } => Cond::Int { cc, a, b, inv: !inv },
            Cond::Float { cc, a, b, inv } => Cond::Float { cc, a, b, inv: !inv },
        }
    }

    /// A word of an operand with which the comparison fails, or `holds`, whatever the other one is: whether it is the first operand's.
    fn settled(self, holds: bool) -> Option<(bool, u32)> {
        // Operands that a select can give as they are.
        let word = |o: Opnd| {
            let plain = o.size == Size::B32 && !o.abs && !o.neg && !o.sx;
            plain && !matches!(o.place, Place::Imm(_))
        };
        let either = |a: Opnd, b: Opnd, [x, y]: [u32; 2]| match (word(a), word(b)) {
            (_, true) => Some((false, y)),
            (true, _) => Some((true, x)),
            _ => None,
        };
        match self {
            // No comparison holds with NaN.
            Cond::Float { cc: FCond::Eq | FCond::Lt | FCond::Gte, a, b, inv } if inv == holds => {
                either(a, b, [f32::NAN.to_bits(); 2])
            }
            Cond::Int { cc: ICond::Ult, a, b, inv } if inv == holds => either(a, b, [u32::MAX, 0]),
            Cond::Int { cc: ICond::Slt, a, b, inv } if inv == holds => {
                either(a, b, [i32::MAX as u32, i32::MIN as u32])
            }
            Cond::Int { cc: ICond::Ueq, a, b, inv } => {
                let other = |n: u8| if inv == holds { n ^ 1 } else { n };
                match (a.place, b.place) {
                    (_, Place::Imm(n)) if word(a) => Some((true, other(n).into())),
                    (Place::Imm(n), _) if word(b) => Some((false, other(n).into())),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// An `if` on it.
    pub fn branch(self) -> (Isa, [Opnd; 2]) {
        match self {
            Cond::Int { cc, a, b, inv } => {
                let cc = if inv { invert_int(cc) } else { cc };
                let i = IfIcmp { cc, a: a.src(), b: b.src(), n: 1, ..IfIcmp::default() };
                (i.into(), [a, b])
            }
            Cond::Float { cc, a, b, inv } => {
                let cc = if inv { invert_float(cc) } else { cc };
                let i = IfFcmp { cc, a: a.src(), b: b.src(), n: 1, ..IfFcmp::default() };
                (i.into(), [a, b])
            }
        }
    }
}

impl Select<'_> {
    /// The condition that computes a boolean (component 0).
    pub(crate) fn cond(&mut self, v: Value) -> Cond {
        self.cond_comp(v, 0)
    }

    pub(crate) fn cond_comp(&mut self, v: Value, k: usize) -> Cond {
        if let Some(d) = self.def_inst(v) {
            let args = self.s.args(d);
            match self.s.insts[d].op {
                Op::INot => return self.cond_comp(args[0], k).inverted(),
                op @ (Op::IEq | Op::INe | Op::SLt | Op::SGe | Op::ULt | Op::UGe)
                    if matches!(self.ty(args[0]).bits(), 1 | 16 | 32) =>
                {
                    let (a, b) = (self.isrc(args[0], k), self.isrc(args[1], k));
                    let cc = match op {
                        Op::IEq | Op::INe => ICond::Ueq,
                        Op::SLt | Op::SGe => ICond::Slt,
                        _ => ICond::Ult,
                    };
                    let inv = matches!(op, Op::INe | Op::SGe | Op::UGe);
                    return Cond::Int { cc, a, b, inv };
                }
                op @ (Op::IEq | Op::INe | Op::ULt | Op::UGe) if self.ty(args[0]).bits() == 8 => {
                    let (a, b) = (self.low_byte(args[0], k), self.low_byte(args[1], k));
                    let cc = if matches!(op, Op::IEq | Op::INe) { ICond::Ueq } else { ICond::Ult };
                    return Cond::Int { cc, a, b, inv: matches!(op, Op::INe | Op::UGe) };
                }
                op @ (Op::SLt | Op::SGe) if self.ty(args[0]).bits() == 8 => {
                    let (a, b) = (self.sign_byte(args[0], k), self.sign_byte(args[1], k));
                    return Cond::Int { cc: ICond::Slt, a, b, inv: op == Op::SGe };
                }
                op @ (Op::FEq | Op::FNeu | Op::FLt | Op::FGe) if self.ty(args[0]).bits() <= 32 => {
                    let (a, b) = (self.fsrc(args[0], k), self.fsrc(args[1], k));
                    let cc = match op {
                        Op::FEq | Op::FNeu => FCond::Eq,
                        Op::FLt => FCond::Lt,
                        _ => FCond::Gte,
                    };
                    return Cond::Float { cc, a, b, inv: op == Op::FNeu };
                }
                _ => {}
            }
        }
        let c = self.comp(v, k);
        if let Some(known) = self.conditions.iter().find(|(t, _)| c == Comp::Val(*t)) {
            return known.1;
        }
        let a = self.comp_src(c, 1);
        Cond::Int { cc: ICond::Ueq, a, b: Opnd::imm(0), inv: true }
    }

    /// `x` where the condition holds, else `y`; both as wide as the result.
    pub(crate) fn cond_select(&mut self, c: Cond, x: Opnd, y: Opnd, class: RegClass) -> Val {
        let size = if class.units == 1 { Size::B16 } else { Size::B32 };
        let d = Dst::new(UNASSIGNED, size);
        match c {
            Cond::Int { cc, a, b, inv } => {
                let (x, y) = if inv { (y, x) } else { (x, y) };
                let i = Icmpsel {
                    cc,
                    d,
                    a: a.src(),
                    b: b.src(),
                    x: x.src(),
                    y: y.src(),
                    ..Icmpsel::default()
                };
                self.def(i, class, &[a, b, x, y])
            }
            Cond::Float { cc, a, b, inv } => {
                let (x, y) = if inv { (y, x) } else { (x, y) };
                let i = Fcmpsel {
                    cc,
                    d,
                    a: a.src(),
                    b: b.src(),
                    x: x.src(),
                    y: y.src(),
                    ..Fcmpsel::default()
                };
                self.def(i, class, &[a, b, x, y])
            }
        }
    }

    /// One bit for each active lane of the SIMD-group where the condition holds.
    pub(crate) fn cond_ballot(&mut self, c: Cond) -> Val {
        let d = Dst::new(UNASSIGNED, Size::B32);
        match c {
            Cond::Int { cc, a, b, inv } => {
                let (a, b) = (self.in_reg(a), self.in_reg(b));
                let cc = if inv { invert_int(cc) } else { cc };
                let i = IcmpBallot { d, cc, a: a.src(), b: b.src(), ..IcmpBallot::default() };
                self.def(i, WORD, &[a, b])
            }
            Cond::Float { cc, a, b, inv } => {
                let (a, b) = (self.in_reg(a), self.in_reg(b));
                let cc = if inv { invert_float(cc) } else { cc };
                let i = FcmpBallot { d, cc, a: a.src(), b: b.src(), ..FcmpBallot::default() };
                self.def(i, WORD, &[a, b])
            }
        }
    }

    /// An operand that is no uniform.
    pub(crate) fn in_reg(&mut self, o: Opnd) -> Opnd {
        match o.place {
            super::operand::Place::Uniform(_) => {
                let class = if o.size == Size::B16 { HALF } else { WORD };
                let v = self.mov(Opnd { abs: false, neg: false, sx: false, ..o }, class);
                Opnd { place: super::operand::Place::Val(v), ..o }
            }
            _ => o,
        }
    }

    /// Two conditions of which both or either must hold as one comparison: an operand of one of them becomes, where the other
    /// decides, a number with which the comparison fails, or holds. Nothing if neither has such an operand.
    pub(crate) fn joined(&mut self, op: Op, args: [Value; 2], k: usize) -> Option<Cond> {
        let either = op == Op::IOr;
        for [compares, decides] in [args, [args[1], args[0]]] {
            let c = self.cond_comp(compares, k);
            let Some((first, number)) = c.settled(either) else { continue };
            let (Cond::Int { a, b, .. } | Cond::Float { a, b, .. }) = c;
            let number = self.int(number.into(), Size::B32);
            let test = self.cond_comp(decides, k);
            let test = if either { test.inverted() } else { test };
            let v = self.cond_select(test, if first { a } else { b }, number, WORD);
            let v = Opnd::of(v, Size::B32);
            let (x, y) = if first { (v, b) } else { (a, v) };
            return Some(match c {
                Cond::Int { cc, inv, .. } => Cond::Int { cc, a: x, b: y, inv },
                Cond::Float { cc, inv, .. } => Cond::Float { cc, a: x, b: y, inv },
            });
        }
        None
    }

    /// A truth value as 0 or 1 in half a register.
    pub(crate) fn truth(&mut self, c: Cond) -> Comp {
        Comp::Val(self.cond_select(c, Opnd::imm(1), Opnd::imm(0), HALF))
    }

    /// The condition as a 16-bit 0 or 1, noted so that later comparisons with it use the condition
    /// itself.
    pub(crate) fn known_truth(&mut self, c: Cond) -> Comp {
        let v = self.cond_select(c, Opnd::imm(1), Opnd::imm(0), HALF);
        self.conditions.push((v, c));
        Comp::Val(v)
    }
}
