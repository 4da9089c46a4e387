//! Operands of selected instructions, and what the hardware demands of those that are no registers.
//!
//! Uniforms, constants and special values reach an instruction through one buffer of 64 bits ([`tepui_mali_isa::validate`]).
//! Operands that do not fit are moved to registers first, so that every instruction is legal from selection on: nothing is folded
//! into operands afterwards.

use super::Select;
use crate::mir::{Comp, Fixed, Inst, MOp, Place, RegClass, Source, UNASSIGNED, Val, WORD};
use arrayvec::ArrayVec;
use tepui_mali_isa::operand::{CONSTANTS, Special, Swizzle, constant, select};
use tepui_mali_isa::table::Row;
use tepui_mali_isa::table::field::{Select as Selection, SourceField};
use tepui_mali_isa::{Op, Operand};

/// The value of an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum From {
    /// A machine value.
    Val(Val),
    /// A number.
    Const(u32),
    /// A source without a register.
    Fixed(Fixed),
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Opnd {
    pub from: From,
    pub neg: bool,
    pub abs: bool,
    pub not: bool,
    pub swizzle: Swizzle,
}

impl Opnd {
    pub const fn new(from: From) -> Opnd {
        Opnd { from, neg: false, abs: false, not: false, swizzle: Swizzle::Identity }
    }

    pub const fn val(v: Val) -> Opnd {
        Opnd::new(From::Val(v))
    }

    pub const fn imm(n: u32) -> Opnd {
        Opnd::new(From::Const(n))
    }

    pub const fn special(special: Special, word: u8) -> Opnd {
        Opnd::new(From::Fixed(Fixed::Special(special, word)))
    }

    pub const fn uniform(word: u8) -> Opnd {
        Opnd::new(From::Fixed(Fixed::Uniform(word)))
    }

    pub const fn part(self, swizzle: Swizzle) -> Opnd {
        Opnd { swizzle, ..self }
    }

    pub const fn inverted(self) -> Opnd {
        Opnd { not: !self.not, ..self }
    }

    pub fn negated(self) -> Opnd {
        match self.from {
            // Numbers take their sign at once.
            From::Const(n) if self.swizzle == Swizzle::Identity && !self.neg && !self.abs => {
                Opnd::imm(n ^ 0x8000_0000)
            }
            _ => Opnd { neg: !self.neg, ..self },
        }
    }

    /// Whether nothing changes the value on its way.
    pub fn is_plain(&self) -> bool {
        !self.neg && !self.abs && !self.not && self.swizzle == Swizzle::Identity
    }

    pub fn known(&self) -> Option<u32> {
        match self.from {
            From::Const(n) => Some(n),
            _ => None,
        }
    }
}

/// A number as an entry of the table of constants: whole, or a part that the source selects.
fn from_table(row: &Row, field: &SourceField, value: u32) -> Option<Source> {
    let of = |entry: u8| Source::new(Place::Fixed(Fixed::Constant(entry)));
    let width = row.source_width(field);
    if matches!(field.select, Selection::Lanes(_)) {
        // Bytes: the lowest is read.
        const BYTES: [Swizzle; 4] = [Swizzle::B00, Swizzle::B11, Swizzle::B22, Swizzle::B33];
        let byte = value as u8;
        let mut entries = CONSTANTS.iter().zip(0u8..);
        return entries.find_map(|(word, entry)| {
            let at = word.to_le_bytes().iter().position(|b| *b == byte)?;
            Some(Source { swizzle: BYTES[at], ..of(entry) })
        });
    }
    let allowed = |swizzle| match select(row, field) {
        Some((_, _, list)) => list.contains(&Some(swizzle)),
        None => swizzle == Swizzle::Identity,
    };
    if let Some(entry) = constant(value)
        && allowed(Swizzle::Identity)
    {
        return Some(of(entry));
    }
    if field.float
        && width == 32
        && let Some(entry) = constant(value ^ 0x8000_0000)
    {
        return Some(Source { neg: true, ..of(entry) });
    }
    part_of_table(row, field, value, &allowed).map(|(entry, neg, swizzle)| Source {
        neg,
        swizzle,
        ..of(entry)
    })
}

/// A half of an entry that is the number when it is widened, or that fills both halves.
fn part_of_table(
    row: &Row,
    field: &SourceField,
    value: u32,
    allowed: &dyn Fn(Swizzle) -> bool,
) -> Option<(u8, bool, Swizzle)> {
    let width = row.source_width(field);
    let signed = row.name.contains(".s") || row.name.contains(".v2s");
    let halves = CONSTANTS
        .iter()
        .zip(0u8..)
        .flat_map(|(word, entry)| [(entry, *word as u16, 0), (entry, (*word >> 16) as u16, 1)]);
    for (entry, half, at) in halves {
        let (swizzle, widened) = match (field.select, width) {
            (Selection::Swizzle(_), 32) if field.float => {
                let wide = half_to_float(half)?;
                ([Swizzle::H0, Swizzle::H1][at], wide)
            }
            (Selection::Swizzle(_) | Selection::Widen(_), 16) => {
                ([Swizzle::H00, Swizzle::H11][at], u32::from(half) * 0x1_0001)
            }
            (Selection::Widen(_), 32) => {
                let wide = if signed { half as i16 as i32 as u32 } else { half.into() };
                ([Swizzle::H0, Swizzle::H1][at], wide)
            }
            _ => return None,
        };
        if !allowed(swizzle) {
            continue;
        }
        let sign = if width == 16 { 0x8000_8000 } else { 0x8000_0000 };
        if widened == value {
            return Some((entry, false, swizzle));
        }
        if field.float && widened ^ sign == value {
            return Some((entry, true, swizzle));
        }
    }
    None
}

/// A 16-bit float as one of 32 bits; `None` for what is not a normal number or zero.
fn half_to_float(half: u16) -> Option<u32> {
    let (sign, exponent, mantissa) = (half >> 15, half >> 10 & 0x1f, half & 0x3ff);
    let bits = match exponent {
        0 if mantissa == 0 => 0,
        // Such an entry is never what is looked for.
        0 | 31 => return Some(0x7fc0_dead),
        _ => (u32::from(exponent) + 112) << 23 | u32::from(mantissa) << 13,
    };
    Some(u32::from(sign) << 31 | bits)
}

/// Whether sources fit through the buffer of uniforms, constants and special values.
fn fits(inst: &Inst) -> bool {
    let message = inst.is_message();
    let in_engine = matches!(inst.op, Op::BLEND | Op::ATEST);
    let mut words: ArrayVec<Operand, 4> = ArrayVec::new();
    let mut slots: ArrayVec<(bool, u8, u8), 4> = ArrayVec::new();
    let mut page = None;
    let count = inst.op.row().form.sources.len();
    for fixed in inst.sources[..count].iter().filter_map(Source::fixed) {
        let operand = fixed.operand();
        if !words.contains(&operand) {
            words.push(operand);
        }
        let slot = match operand {
            Operand::Uniform(n) => (false, 0, n >> 1),
            Operand::Special(special, _) => {
                let (page, index) = special.place();
                if message && (page == 3 || special == Special::WarpId) {
                    return false;
                }
                (true, page, index)
            }
            _ => continue,
        };
        if !slots.contains(&slot) {
            slots.push(slot);
        }
        if let Some(own) = operand.page()
            && page.replace(own).is_some_and(|other| other != own)
        {
            return false;
        }
    }
    words.len() <= 2 && slots.len() <= if message && !in_engine { 2 } else { 1 }
}

impl Select<'_> {
    /// A component as an operand; undefined ones are zero.
    pub(crate) fn opnd(&self, c: Comp) -> Opnd {
        match c {
            Comp::Val(v) => Opnd::val(v),
            Comp::Const(n) => Opnd::imm(n as u32),
            Comp::Uniform(fixed) => Opnd::new(From::Fixed(fixed)),
            Comp::Undef => Opnd::imm(0),
        }
    }

    /// Appends an instruction with its results and sources; staging values come before the sources.
    pub(crate) fn isa(&mut self, inst: Inst, dsts: &[Val], staged: &[Val], ops: &[Opnd]) {
        let mut inst = inst;
        let row = inst.op.row();
        debug_assert_eq!(row.form.sources.len(), ops.len(), "{}", inst.op);
        let mut vals: ArrayVec<Option<Val>, 4> = ArrayVec::new();
        for (at, (op, field)) in ops.iter().zip(row.form.sources).enumerate() {
            let (source, val) = self.source(row, field, *op);
            inst.sources[at] = source;
            vals.push(val);
        }
        if !fits(&inst) {
            self.put_together(&mut inst);
        }
        // From the last on, since addresses are the first.
        for at in (0..vals.len()).rev() {
            if fits(&inst) {
                break;
            }
            if let Some(fixed) = inst.sources[at].fixed() {
                let v = self.moved(fixed, inst.source_units(at));
                inst.sources[at].place = Place::Register(UNASSIGNED);
                vals[at] = Some(v);
            }
        }
        let mut srcs: ArrayVec<Val, 8> = staged.iter().copied().collect();
        srcs.extend(vals.into_iter().flatten());
        self.emit(MOp::Isa(inst), dsts, &srcs);
    }

    /// Lets an instruction that reads two words of fast-access uniforms in different slots read copies of them in one slot.
    fn put_together(&mut self, inst: &mut Inst) {
        let count = inst.op.row().form.sources.len();
        let uniform = |s: &Source| match s.fixed() {
            Some(Fixed::Uniform(n)) => Some(n),
            _ => None,
        };
        let mut words: ArrayVec<u8, 4> = ArrayVec::new();
        for at in 0..count {
            if let Some(n) = uniform(&inst.sources[at])
                && !words.contains(&n)
            {
                if inst.source_units(at) != 1 {
                    return;
                }
                words.push(n);
            }
        }
        let [a, b] = words[..] else { return };
        let Some(first) = self.fau.together([a, b]) else { return };
        let mut other = *inst;
        for source in &mut other.sources[..count] {
            if let Some(n) = uniform(source) {
                let number = if n == a { first } else { first + 1 };
                source.place = Place::Fixed(Fixed::Uniform(number));
            }
        }
        if fits(&other) {
            *inst = other;
        }
    }

    /// Appends an instruction with one result.
    pub(crate) fn def(&mut self, inst: Inst, class: RegClass, ops: &[Opnd]) -> Val {
        let d = self.f.val(class);
        self.isa(inst, &[d], &[], ops);
        d
    }

    /// Appends an instruction whose result is a register.
    pub(crate) fn word(&mut self, op: Op, ops: &[Opnd]) -> Val {
        self.def(Inst::new(op), WORD, ops)
    }

    fn source(&mut self, row: &Row, field: &SourceField, op: Opnd) -> (Source, Option<Val>) {
        let of = |place| {
            let Opnd { neg, abs, not, swizzle, .. } = op;
            Source { neg, abs, not, swizzle, ..Source::new(place) }
        };
        match op.from {
            From::Val(v) => (of(Place::Register(UNASSIGNED)), Some(v)),
            From::Fixed(fixed) => (of(Place::Fixed(fixed)), None),
            From::Const(value) => {
                let plain = Opnd { not: false, ..op }.is_plain()
                    || matches!(field.select, Selection::Lanes(_));
                let found = from_table(row, field, value).filter(|_| plain);
                match found {
                    Some(source) => (Source { not: op.not, ..source }, None),
                    None => match self.constant_word(value).from {
                        From::Fixed(fixed) => (of(Place::Fixed(fixed)), None),
                        _ => (of(Place::Register(UNASSIGNED)), Some(self.mov_imm(value))),
                    },
                }
            }
        }
    }

    /// A source without a register in a register, or in two.
    fn moved(&mut self, fixed: Fixed, units: u8) -> Val {
        if units == 1 {
            return self.mov(fixed);
        }
        let high = match fixed {
            Fixed::Uniform(n) => Fixed::Uniform(n | 1),
            Fixed::Special(special, _) => Fixed::Special(special, 1),
            Fixed::Constant(_) => Fixed::Constant(0),
        };
        let halves = [self.mov(fixed), self.mov(high)];
        self.collect(&halves)
    }

    /// Copies a source without a register to one.
    pub(crate) fn mov(&mut self, fixed: Fixed) -> Val {
        self.word(Op::MOV_I32, &[Opnd::new(From::Fixed(fixed))])
    }

    /// A number in a register.
    pub(crate) fn mov_imm(&mut self, value: u32) -> Val {
        if let Some(entry) = constant(value) {
            return self.mov(Fixed::Constant(entry));
        }
        let inst = Inst::new(Op::IADD_IMM_I32).immediate(0, value.into());
        self.def(inst, WORD, &[Opnd::imm(0)])
    }

    /// A number as a word of fast-access uniforms, or in a register where those are for other words.
    pub(crate) fn constant_word(&mut self, value: u32) -> Opnd {
        match self.fau.constant(value) {
            Some(word) => Opnd::uniform(word),
            None => Opnd::val(self.mov_imm(value)),
        }
    }

    /// Consecutive registers from values.
    pub(crate) fn collect(&mut self, vals: &[Val]) -> Val {
        if let [v] = vals {
            return *v;
        }
        let units = vals.iter().map(|&v| self.f.vals[v].units).sum();
        let d = self.f.val(crate::mir::words(units));
        self.emit(MOp::Collect, &[d], vals);
        d
    }

    /// The registers of a value of several.
    pub(crate) fn split(&mut self, v: Val) -> Vec<Val> {
        let units = self.f.vals[v].units;
        if units == 1 {
            return vec![v];
        }
        let parts: Vec<Val> = (0..units).map(|_| self.f.val(WORD)).collect();
        self.emit(MOp::Split, &parts, &[v]);
        parts
    }
}
