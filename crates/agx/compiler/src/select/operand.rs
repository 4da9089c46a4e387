//! Operands of machine instructions, with the modifiers that are folded into them.

use super::{Comp, Select};
use crate::mir::{HALF, LONG, RegClass, UNASSIGNED, Val, WORD};
use crate::uniforms::Source;
use tepui_agx_isa::operand::{Hint, Size, Src, SrcKind, minifloat_encode};
use tepui_ir::{Op, Type, Value};

/// Location of an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Place {
    Val(Val),
    Uniform(u16),
    Imm(u8),
}

/// A source of an ALU instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Opnd {
    pub place: Place,
    pub size: Size,
    pub abs: bool,
    pub neg: bool,
    pub sx: bool,
}

impl Opnd {
    pub const fn new(place: Place, size: Size) -> Opnd {
        Opnd { place, size, abs: false, neg: false, sx: false }
    }

    pub const fn of(v: Val, size: Size) -> Opnd {
        Opnd::new(Place::Val(v), size)
    }

    pub const fn uniform(half: u16, size: Size) -> Opnd {
        Opnd::new(Place::Uniform(half), size)
    }

    pub const fn imm(x: u8) -> Opnd {
        Opnd::new(Place::Imm(x), Size::B16)
    }

    /// -0.0: what is added where only a conversion or saturation is wanted.
    pub const NEG_ZERO: Opnd = Opnd::imm(0x80);

    pub fn val(&self) -> Option<Val> {
        match self.place {
            Place::Val(v) => Some(v),
            _ => None,
        }
    }

    pub fn negated(self) -> Opnd {
        Opnd { neg: !self.neg, ..self }
    }

    /// The operand in the ISA's form.
    pub fn src(self) -> Src {
        let (kind, size) = match self.place {
            Place::Val(_) => (SrcKind::Reg(UNASSIGNED), self.size),
            Place::Uniform(h) => (SrcKind::Uniform(h), self.size),
            Place::Imm(x) => (SrcKind::Imm(x), Size::B16),
        };
        let sign_extend = self.sx && !matches!(self.place, Place::Imm(_));
        Src { kind, size, hint: Hint::None, abs: self.abs, neg: self.neg, sign_extend }
    }
}

/// Register size for a type's bits.
pub(crate) fn size_of(bits: u8) -> Size {
    match bits {
        0..=16 => Size::B16,
        32 => Size::B32,
        _ => Size::B64,
    }
}

/// The value of a 16-bit float.
fn half_to_f32(bits: u16) -> f32 {
    let (sign, exp, man) =
        (u32::from(bits >> 15), u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    match (exp, man) {
        (0, _) => {
            let m = man as f32 / (1 << 24) as f32;
            if sign != 0 { -m } else { m }
        }
        (31, _) => f32::from_bits(sign << 31 | 0xff << 23 | man << 13),
        _ => f32::from_bits(sign << 31 | (exp + 112) << 23 | man << 13),
    }
}

impl Select<'_> {
    /// A constant that is not inline: in a uniform, or in a register when the uniforms are full.
    pub(crate) fn konst(&mut self, bits: u64, size: Size) -> Opnd {
        let (source, class) = match size {
            Size::B16 => (Source::Constant16 { bits: bits as u16 }, HALF),
            _ => (Source::Constant { bits: bits as u32 }, WORD),
        };
        match self.uniforms.get(source) {
            Some(half) => Opnd::uniform(half, size),
            None => Opnd::of(self.mov_imm(bits, class), size),
        }
    }

    /// An integer constant of a size.
    pub(crate) fn int(&mut self, bits: u64, size: Size) -> Opnd {
        if bits < 256 { Opnd::imm(bits as u8) } else { self.konst(bits, size) }
    }

    /// A component as an integer or bits operand of up to 32 bits (64 bits: registers only).
    pub(crate) fn comp_src(&mut self, c: Comp, bits: u8) -> Opnd {
        let size = size_of(bits);
        match c {
            Comp::Val(v) => Opnd::of(v, size),
            Comp::Const(x) if size == Size::B64 && x >= 256 => {
                Opnd::of(self.mov_imm(x, LONG), size)
            }
            Comp::Const(x) => self.int(x, size),
            Comp::Uniform(_) if size == Size::B64 => Opnd::of(self.reg(c, LONG), size),
            Comp::Uniform(h) => Opnd::uniform(h, size),
            Comp::Undef => Opnd::imm(0),
        }
    }

    /// The low bits of a wider value, when `v` is such.
    fn truncated(&self, v: Value, k: usize, bits: u8) -> Option<(Comp, u8)> {
        let d = self.def_inst(v)?;
        if !matches!(self.s.insts[d].op, Op::U2U | Op::S2S) {
            return None;
        }
        let a = self.s.arg(d, 0);
        let from = self.ty(a).bits();
        if from <= bits.max(16) {
            return None;
        }
        match self.truncated(a, k, bits) {
            Some(t) => Some(t),
            None => Some((self.comp(a, k), from)),
        }
    }

    /// Integer operand of the size of its type, for instructions that only look at those bits.
    pub(crate) fn isrc(&mut self, v: Value, k: usize) -> Opnd {
        let bits = self.ty(v).bits();
        if let Some((c, _)) = self.truncated(v, k, bits) {
            return match c {
                Comp::Const(x) => self.comp_src(Comp::Const(x & tepui_ir::mask(bits)), bits),
                c => self.comp_src(c, bits),
            };
        }
        let c = self.comp(v, k);
        self.comp_src(c, bits)
    }

    /// The word that a 64-bit value extends with zeros.
    pub(crate) fn zero_extended(&self, v: Value) -> Option<Value> {
        let s = self.s;
        let d = self.def_inst(v)?;
        let word = match s.insts[d].op {
            Op::U2U => s.arg(d, 0),
            Op::Bitcast => match *s.args(s.def_inst(s.arg(d, 0))?) {
                [low, high] if s.as_const(high) == Some(0) => low,
                _ => return None,
            },
            _ => return None,
        };
        (s.ty(word) == Type::B32 && s.ty(v) == Type::B64).then_some(word)
    }

    /// The word that was shifted left to 64 bits, of which none is lost, and by how many: two words by now.
    pub(crate) fn shifted_word(&self, v: Value) -> Option<(Value, u32)> {
        let s = self.s;
        let d = self.def_inst(v)?;
        if s.insts[d].op != Op::Bitcast || s.ty(v) != Type::B64 {
            return None;
        }
        let [low, high] = *s.args(self.def_inst(s.arg(d, 0))?) else { return None };
        let shift = |op: Op, v: Value| {
            let d = self.def_inst(v).filter(|&d| s.insts[d].op == op)?;
            Some((s.arg(d, 0), s.as_const(s.arg(d, 1))? as u32))
        };
        let (word, by) = shift(Op::IShl, low)?;
        // The upper bits go down by one and then by the rest, so that no shift is by all.
        let (half, rest) = shift(Op::UShr, high)?;
        let (of, one) = shift(Op::UShr, half)?;
        let whole = of == word && one == 1 && by + rest == 31;
        (whole && s.ty(word) == Type::B32).then_some((word, by))
    }

    /// Integer operand of an add or multiply, with extension from 16 (or, for 64 bits, 32) bits for
    /// free.
    pub(crate) fn esrc(&mut self, v: Value, k: usize) -> Opnd {
        let bits = self.ty(v).bits();
        if let Some(a) = self.zero_extended(v) {
            return self.isrc(a, 0);
        }
        if let Some(d) = self.def_inst(v) {
            let op = self.s.insts[d].op;
            if matches!(op, Op::U2U | Op::S2S | Op::B2I) {
                let a = self.s.arg(d, 0);
                let from = self.ty(a).bits();
                let clean = from == 8 && op == Op::U2U && self.is_clean_byte(a);
                if from < bits && (from >= 16 || op == Op::B2I || clean) {
                    let mut o = self.isrc(a, k);
                    // Immediates are never sign-extended.
                    if op == Op::S2S && o.val().is_none() && !matches!(o.place, Place::Uniform(_)) {
                        if from < 64 && matches!(o.place, Place::Imm(_)) {
                            return o;
                        }
                        return self.isrc(v, k);
                    }
                    o.sx = op == Op::S2S;
                    return o;
                }
            }
        }
        self.isrc(v, k)
    }

    /// Float operand: sign, absolute value and conversion from 16 bits are free.
    pub(crate) fn fsrc(&mut self, v: Value, k: usize) -> Opnd {
        let (mut v, mut neg, mut abs) = (v, false, false);
        let bits = self.ty(v).bits();
        while let Some(d) = self.def_inst(v) {
            let a = match self.s.insts[d].op {
                Op::FNeg => {
                    neg ^= !abs;
                    self.s.arg(d, 0)
                }
                Op::FAbs => {
                    abs = true;
                    self.s.arg(d, 0)
                }
                Op::F2F if self.ty(v).bits() == 32 => {
                    let a = self.s.arg(d, 0);
                    if self.ty(a).bits() != 16 {
                        break;
                    }
                    a
                }
                _ => break,
            };
            v = a;
        }
        let now = self.ty(v).bits();
        debug_assert!(now <= bits);
        let c = self.comp(v, k);
        let mut o = match c {
            Comp::Const(x) => {
                let f = if now == 16 { half_to_f32(x as u16) } else { f32::from_bits(x as u32) };
                match minifloat_encode(f) {
                    Some(m) => Opnd::imm(m),
                    None => self.konst(x, size_of(now)),
                }
            }
            c => self.comp_src(c, now),
        };
        o.neg = neg;
        o.abs = abs;
        o
    }

    /// The bits of an operand in a register of its own (no modifiers).
    pub(crate) fn mov(&mut self, o: Opnd, class: RegClass) -> Val {
        use tepui_agx_isa::operand::Dst;
        use tepui_agx_isa::table::integer::Bitop;
        let size = if class.units == 1 { Size::B16 } else { Size::B32 };
        let inst =
            Bitop { table: 0b1010, d: Dst::new(UNASSIGNED, size), a: o.src(), ..Bitop::default() };
        self.def(inst, class, &[o])
    }
}
