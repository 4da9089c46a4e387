//! Templates: each computes for eight channels at a time what the handler of its operation computes for all.

use tepui_hostvec::asm::{ALL, Gpr, Kop, Mask, Rm, Shift, V, Vop, float, integer};
use tepui_intel_isa::{Condition, MathFunction, Opcode, Type};

use super::block::{REGISTERS, THREAD, Translator, field};
use super::kind::{
    PART, PART_B, TemplateOp, Value, WORDS, WordValue, operand, pieces, row, sources, word_value,
};
use crate::memory::{self, REGISTER_BYTES};
use crate::op::Op;
use crate::operand::Layout;
use crate::state::{HostState, Thread};

/// The result of a template, before it is written.
const RESULT: V = V(0);
/// The predicate.
const PREDICATE: Mask = Mask::In(13);
/// The result of a comparison.
const OUTCOME: Mask = Mask::In(14);

const ONE: u32 = 1f32.to_bits();
const SIGN: u32 = 1 << 31;

/// Rounding immediates, with exceptions masked. source: Intel's Software Developer's Manual, VROUNDPS
mod round {
    pub const EVEN: u8 = 8;
    pub const DOWN: u8 = 9;
    pub const UP: u8 = 10;
    pub const ZERO: u8 = 11;
}

impl Translator {
    /// Translates an operation that has a template.
    pub fn template(&mut self, op: &Op, kind: TemplateOp) {
        if let (TemplateOp::Constant(bits), Some(base)) = (kind, row(op)) {
            self.rows.forget(base, 4);
            self.asm.store_half(REGISTERS, i32::from(base), bits);
        }
        match kind {
            TemplateOp::Words => return self.words(op),
            TemplateOp::Pieces => return self.pieces(op),
            TemplateOp::Spread => return self.spread(op),
            _ => {}
        }
        for part in 0..usize::from(op.n) / PART {
            self.asm.forget();
            match kind {
                TemplateOp::CompareFloat | TemplateOp::CompareInt { .. } => {
                    self.compare(op, kind, part)
                }
                _ => {
                    self.result(op, kind, part);
                    self.finish(op, kind, part);
                }
            }
        }
    }

    /// Computes the result of a part.
    fn result(&mut self, op: &Op, kind: TemplateOp, part: usize) {
        match kind {
            TemplateOp::Copy => {
                let from = self.operand(RESULT, op, 0, part);
                self.asm.load(RESULT, from);
            }
            TemplateOp::FloatMove => {
                self.float(RESULT, op, 0, part);
                self.flush(RESULT);
            }
            TemplateOp::IntMove => self.int(RESULT, op, 0, part),
            TemplateOp::ToFloat(signed) => {
                let from = self.operand(V(1), op, 0, part);
                self.asm.load(V(1), from);
                let convert = if signed { Vop::CVTDQ2PS } else { Vop::CVTUDQ2PS };
                self.asm.vector(convert, RESULT, ALL, V(0), Rm::Reg(V(1)), None);
            }
            TemplateOp::ToInt(signed) => self.nearest_int(op, part, signed),
            TemplateOp::Float => self.float_result(op, part),
            TemplateOp::Plane => self.plane(op, part),
            TemplateOp::Int => self.int_result(op, part),
            TemplateOp::SelectFloat => self.select_float(op, part),
            TemplateOp::SelectInt { signed } => self.select_int(op, part, signed),
            TemplateOp::Nothing | TemplateOp::Constant(_) => {}
            TemplateOp::CompareFloat | TemplateOp::CompareInt { .. } => {}
            TemplateOp::Words | TemplateOp::Pieces | TemplateOp::Spread => {}
        }
    }

    // ---- sources ----

    /// A source's elements without modifiers: in a scratch register if no instruction can read them in place.
    fn operand(&mut self, scratch: V, op: &Op, k: usize, part: usize) -> Rm {
        match operand(op, k) {
            Some(Value::Quads { base, order }) => {
                let base = base + (part * PART_B) as u16;
                let from =
                    self.rows.held(base).map_or(Rm::Mem(REGISTERS, i32::from(base)), Rm::Reg);
                self.asm.vector(Vop::PSHUFD, scratch, ALL, V(0), from, Some(order));
                Rm::Reg(scratch)
            }
            Some(Value::Words { base, signed }) => {
                let from = Rm::Mem(REGISTERS, i32::from(base) + (part * PART_B / 2) as i32);
                let extend = if signed { Vop::PMOVSXWD } else { Vop::PMOVZXWD };
                self.asm.vector(extend, scratch, ALL, V(0), from, None);
                Rm::Reg(scratch)
            }
            Some(Value::ScalarWord { base, signed }) => {
                // The double word that contains it, shifted up and down.
                self.asm.load(scratch, Rm::Broadcast(REGISTERS, i32::from(base & !3)));
                if base & 2 == 0 {
                    self.asm.shift(Shift::Left, scratch, scratch, 16);
                }
                let down = if signed { Shift::Arithmetic } else { Shift::Right };
                self.asm.shift(down, scratch, scratch, 16);
                Rm::Reg(scratch)
            }
            Some(Value::Row(base)) => {
                let base = base + (part * PART_B) as u16;
                match self.rows.held(base) {
                    Some(v) => Rm::Reg(v),
                    None => Rm::Mem(REGISTERS, i32::from(base)),
                }
            }
            Some(Value::Scalar(base)) => Rm::Broadcast(REGISTERS, i32::from(base)),
            Some(Value::Bits(bits)) => Rm::Constant(bits),
            None => unreachable!("`kind` looked at the sources"),
        }
    }

    /// A float with its modifiers.
    fn float(&mut self, d: V, op: &Op, k: usize, part: usize) {
        let from = self.operand(d, op, k, part);
        self.asm.load(d, from);
        if op.src[k].abs {
            self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Constant(!SIGN), None);
        }
        if op.src[k].negate {
            self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Constant(SIGN), None);
        }
    }

    /// A float with its modifiers, as an instruction operand.
    fn float_operand(&mut self, scratch: V, op: &Op, k: usize, part: usize) -> Rm {
        if !op.src[k].abs && !op.src[k].negate {
            return self.operand(scratch, op, k, part);
        }
        self.float(scratch, op, k, part);
        Rm::Reg(scratch)
    }

    /// An integer with its modifier: inverted by logic, else negated.
    fn int(&mut self, d: V, op: &Op, k: usize, part: usize) {
        let negated = op.src[k].negate && !op.logic;
        let from = self.operand(if negated { V(5) } else { d }, op, k, part);
        if negated {
            self.asm.load(d, Rm::Constant(0));
            self.asm.vector(Vop::PSUBD, d, ALL, d, from, None);
            return;
        }
        self.asm.load(d, from);
        if op.src[k].negate {
            self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Constant(u32::MAX), None);
        }
    }

    fn int_operand(&mut self, scratch: V, op: &Op, k: usize, part: usize) -> Rm {
        if !op.src[k].negate {
            return self.operand(scratch, op, k, part);
        }
        self.int(scratch, op, k, part);
        Rm::Reg(scratch)
    }

    /// Flushes denormals to zero if only bits were moved.
    fn flush(&mut self, v: V) {
        if self.flush {
            self.asm.vector(Vop::MULPS, v, ALL, v, Rm::Constant(ONE), None);
        }
    }

    // ---- results ----

    fn float_result(&mut self, op: &Op, part: usize) {
        let d = RESULT;
        let rounded = |t: &mut Translator, how: u8| {
            let a = t.float_operand(V(1), op, 0, part);
            t.asm.load(V(1), a);
            t.asm.vector(Vop::RNDSCALEPS, d, ALL, V(0), Rm::Reg(V(1)), Some(how));
        };
        match (op.opcode, op.function) {
            (Opcode::Add, _) => self.float_binary(op, part, Vop::ADDPS),
            (Opcode::Mul, _) => self.float_binary(op, part, Vop::MULPS),
            (Opcode::Mad, _) => {
                self.float(d, op, 1, part);
                self.float(V(1), op, 2, part);
                let a = self.float_operand(V(2), op, 0, part);
                let a = self.in_memory_or(V(2), a);
                self.asm.vector(Vop::FMADD213PS, d, ALL, V(1), a, None);
            }
            (Opcode::Lrp, _) => {
                self.float(V(1), op, 0, part);
                self.asm.load(d, Rm::Constant(ONE));
                self.asm.vector(Vop::SUBPS, d, ALL, d, Rm::Reg(V(1)), None);
                let c = self.float_operand(V(2), op, 2, part);
                self.asm.vector(Vop::MULPS, d, ALL, d, c, None);
                let b = self.float_operand(V(2), op, 1, part);
                self.asm.vector(Vop::MULPS, V(1), ALL, V(1), b, None);
                self.asm.vector(Vop::ADDPS, d, ALL, V(1), Rm::Reg(d), None);
            }
            (Opcode::Frc, _) => {
                self.float(V(1), op, 0, part);
                self.asm.vector(Vop::RNDSCALEPS, V(2), ALL, V(0), Rm::Reg(V(1)), Some(round::DOWN));
                self.asm.vector(Vop::SUBPS, d, ALL, V(1), Rm::Reg(V(2)), None);
            }
            (Opcode::Rndu, _) => rounded(self, round::UP),
            (Opcode::Rndd, _) => rounded(self, round::DOWN),
            (Opcode::Rnde, _) => rounded(self, round::EVEN),
            (Opcode::Rndz, _) => rounded(self, round::ZERO),
            (_, Some(MathFunction::Fdiv)) => self.float_binary(op, part, Vop::DIVPS),
            (_, Some(MathFunction::Sqrt)) => {
                self.float(V(1), op, 0, part);
                self.asm.vector(Vop::SQRTPS, d, ALL, V(0), Rm::Reg(V(1)), None);
            }
            (_, function) => {
                self.float(V(1), op, 0, part);
                if function == Some(MathFunction::Rsq) {
                    self.asm.vector(Vop::SQRTPS, V(1), ALL, V(0), Rm::Reg(V(1)), None);
                }
                self.asm.load(d, Rm::Constant(ONE));
                self.asm.vector(Vop::DIVPS, d, ALL, d, Rm::Reg(V(1)), None);
            }
        }
    }

    /// The operand, loaded to a scratch register if it is a broadcast, which multiply-adds with two scratch
    /// registers cannot use.
    fn in_memory_or(&mut self, scratch: V, a: Rm) -> Rm {
        match a {
            Rm::Broadcast(..) => {
                self.asm.load(scratch, a);
                Rm::Reg(scratch)
            }
            _ => a,
        }
    }

    fn float_binary(&mut self, op: &Op, part: usize, vop: Vop) {
        self.float(RESULT, op, 0, part);
        let b = self.float_operand(V(1), op, 1, part);
        self.asm.vector(vop, RESULT, ALL, RESULT, b, None);
    }

    /// Plane equation: q v + (p u + r), with two fused multiply-adds.
    fn plane(&mut self, op: &Op, part: usize) {
        let (Layout::Even { base: plane, .. }, Layout::Even { base: at, .. }) =
            (&op.src[0].layout, &op.src[1].layout)
        else {
            unreachable!("`kind` looked at the sources")
        };
        let coefficient = |n: i32| Rm::Broadcast(REGISTERS, i32::from(*plane) + 4 * n);
        let at = i32::from(*at) + (2 * PART_B * part) as i32;
        self.asm.load(V(1), Rm::Mem(REGISTERS, at));
        self.asm.load(V(2), coefficient(0));
        self.asm.load(V(3), coefficient(3));
        self.asm.vector(Vop::FMADD213PS, V(1), ALL, V(2), Rm::Reg(V(3)), None);
        self.asm.load(RESULT, coefficient(1));
        self.asm.load(V(2), Rm::Mem(REGISTERS, at + PART_B as i32));
        self.asm.vector(Vop::FMADD213PS, RESULT, ALL, V(2), Rm::Reg(V(1)), None);
    }

    /// The nearest representable integer; NaN becomes 0.
    fn nearest_int(&mut self, op: &Op, part: usize, signed: bool) {
        const LIMIT: u32 = 2_147_483_648f32.to_bits();
        let d = RESULT;
        self.float(V(1), op, 0, part);
        if !signed {
            // The last operand if one is NaN.
            self.asm.vector(Vop::MAXPS, V(1), ALL, V(1), Rm::Constant(0), None);
            self.asm.vector(Vop::CVTTPS2UDQ, d, ALL, V(0), Rm::Reg(V(1)), None);
            return;
        }
        // Too large numbers are converted to the minimum integer.
        self.asm.vector(Vop::CVTTPS2DQ, d, ALL, V(0), Rm::Reg(V(1)), None);
        let (large, number) = (Mask::In(2), Mask::In(3));
        let limit = Rm::Constant(LIMIT);
        self.asm.compare(Vop::CMPPS, large, ALL, V(1), limit, float::GREATER_EQUAL);
        self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Reg(V(2)), None);
        self.asm.compare(Vop::CMPPS, number, ALL, V(1), Rm::Reg(V(1)), float::EQUAL);
        self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Reg(V(3)), None);
    }

    fn int_result(&mut self, op: &Op, part: usize) {
        let d = RESULT;
        let binary = |t: &mut Translator, vop: Vop| {
            t.int(d, op, 0, part);
            let b = t.int_operand(V(1), op, 1, part);
            t.asm.vector(vop, d, ALL, d, b, None);
        };
        match op.opcode {
            Opcode::Add => binary(self, Vop::PADDD),
            Opcode::Mul => binary(self, Vop::PMULLD),
            Opcode::And => binary(self, Vop::PANDD),
            Opcode::Or => binary(self, Vop::PORD),
            Opcode::Xor => binary(self, Vop::PXORD),
            Opcode::Not => {
                self.int(d, op, 0, part);
                self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Constant(u32::MAX), None);
            }
            shift => {
                let (variable, constant) = match shift {
                    Opcode::Shl => (Vop::PSLLVD, Shift::Left),
                    Opcode::Shr => (Vop::PSRLVD, Shift::Right),
                    _ => (Vop::PSRAVD, Shift::Arithmetic),
                };
                self.int(V(1), op, 0, part);
                match operand(op, 1) {
                    Some(Value::Bits(by)) if !op.src[1].negate => {
                        self.asm.shift(constant, d, V(1), (by & 31) as u8);
                    }
                    _ => {
                        self.int(V(2), op, 1, part);
                        let mask = Rm::Constant(31);
                        self.asm.vector(Vop::PANDD, V(2), ALL, V(2), mask, None);
                        self.asm.vector(variable, d, ALL, V(1), Rm::Reg(V(2)), None);
                    }
                }
            }
        }
    }

    fn select_float(&mut self, op: &Op, part: usize) {
        self.float(V(1), op, 0, part);
        self.float(V(2), op, 1, part);
        let (a, b) = (V(1), V(2));
        let take = if op.condition == Condition::None {
            self.predicate(op, part);
            PREDICATE
        } else {
            // NaN as the second source is ignored; as the first source it fails the comparison.
            let nan = Mask::In(3);
            self.float_outcome(op.condition, a, Rm::Reg(b));
            self.asm.compare(Vop::CMPPS, nan, ALL, b, Rm::Reg(b), float::UNORDERED);
            self.asm.mask_op(Kop::Or, OUTCOME, OUTCOME, nan);
            OUTCOME
        };
        self.asm.vector(Vop::PBLENDMD, RESULT, take, b, Rm::Reg(a), None);
        // Equal numbers have equal bits, but for zeros: -0 is less than +0.
        let merge = match op.condition {
            Condition::Less => Some(Vop::PORD),
            Condition::GreaterEqual => Some(Vop::PANDD),
            _ => None,
        };
        if let Some(merge) = merge {
            let equal = Mask::In(3);
            self.asm.compare(Vop::CMPPS, equal, ALL, a, Rm::Reg(b), float::EQUAL);
            self.asm.vector(merge, a, ALL, a, Rm::Reg(b), None);
            self.asm.vector(Vop::PBLENDMD, RESULT, equal, RESULT, Rm::Reg(a), None);
        }
        self.flush(RESULT);
    }

    fn select_int(&mut self, op: &Op, part: usize, signed: bool) {
        self.int(V(1), op, 0, part);
        self.int(V(2), op, 1, part);
        let take = if op.condition == Condition::None {
            self.predicate(op, part);
            PREDICATE
        } else {
            self.int_outcome(op.condition, V(1), Rm::Reg(V(2)), signed);
            OUTCOME
        };
        self.asm.vector(Vop::PBLENDMD, RESULT, take, V(2), Rm::Reg(V(1)), None);
    }

    // ---- words ----

    /// Sums or copies of words, all channels.
    fn words(&mut self, op: &Op) {
        let Some(base) = row(op) else { return };
        let n = usize::from(op.n);
        for part in 0..n / WORDS {
            self.asm.forget();
            self.word_source(RESULT, op, 0, part);
            if op.opcode == Opcode::Add {
                self.word_source(V(1), op, 1, part);
                self.asm.vector(Vop::PADDW, RESULT, ALL, RESULT, Rm::Reg(V(1)), None);
            }
            let to = Rm::Mem(REGISTERS, i32::from(base) + (part * PART_B) as i32);
            self.asm.store(to, ALL, RESULT);
        }
        self.rows.forget(base, 2 * n);
    }

    /// Sixteen words of a source.
    fn word_source(&mut self, d: V, op: &Op, k: usize, part: usize) {
        let at =
            |base: u16, bytes: usize| Rm::Mem(REGISTERS, i32::from(base) + (part * bytes) as i32);
        match word_value(&op.src[k], usize::from(op.n)) {
            Some(WordValue::Row(base)) => self.asm.load(d, at(base, PART_B)),
            Some(WordValue::Scalar(base)) => {
                self.asm.vector(Vop::PBROADCASTW, d, ALL, V(0), at(base, 0), None);
            }
            Some(WordValue::Bits(bits)) => {
                self.asm.load(d, Rm::Constant(u32::from(bits) << 16 | u32::from(bits)));
            }
            Some(WordValue::Fours(base)) => {
                self.asm.vector(Vop::PBROADCASTQ, d, ALL, V(0), at(base, 8), None);
                // Word n comes from word n / 4.
                let places = std::array::from_fn(|byte| (byte / 8 * 2 + byte % 2) as u8);
                self.asm.shuffle_bytes(d, d, places);
            }
            Some(WordValue::Constants(values)) => {
                let pair = |i: usize| {
                    let [low, high] = [2 * i, 2 * i + 1].map(|n| i16::from(values[n % 8]) as u16);
                    u32::from(high) << 16 | u32::from(low)
                };
                self.asm.load(d, Rm::Constant(0));
                self.asm.table(Vop::PORD, d, d, std::array::from_fn(pair));
            }
            None => unreachable!("`kind` looked at the sources"),
        }
    }

    /// A copy of all channels, as byte ranges.
    fn pieces(&mut self, op: &Op) {
        self.asm.forget();
        for (to, from, length) in pieces(op).unwrap_or_default() {
            let mut done = 0;
            while done < length {
                let [to, from] = [to, from].map(|base| i32::from(base + done));
                if length - done >= 8 {
                    self.asm.load_word(Gpr::RAX, REGISTERS, from);
                    self.asm.store_word(REGISTERS, to, Gpr::RAX);
                    done += 8;
                } else {
                    self.asm.load_half(Gpr::RAX, REGISTERS, from);
                    self.asm.store_low(REGISTERS, to, Gpr::RAX);
                    done += 4;
                }
            }
            self.rows.forget(to, usize::from(length));
        }
    }

    /// A copy of eight elements to every second element of two registers, as used to assemble the halves of
    /// addresses.
    fn spread(&mut self, op: &Op) {
        let Some(base) = row(op) else { return };
        self.asm.forget();
        let (mask, other) = (V(1), usize::from(base) % 8 / 4);
        let first = base & !7;
        // Four elements are moved to the even positions, or copied to the odd ones if they belong there.
        const TWICE: u8 = 0b10_10_00_00;
        let widen = |t: &mut Translator, d: V, from: Rm| {
            t.asm.vector(Vop::PMOVZXDQ, d, ALL, V(0), from, None);
            if other == 1 {
                t.asm.vector(Vop::PSHUFD, d, ALL, V(0), Rm::Reg(d), Some(TWICE));
            }
        };
        let places = std::array::from_fn(|lane| if lane % 2 == other { u32::MAX } else { 0 });
        for half in 0..2i32 {
            match operand(op, 0) {
                Some(Value::Row(from)) => {
                    widen(self, RESULT, Rm::Mem(REGISTERS, i32::from(from) + 16 * half));
                }
                _ => {
                    let from = self.operand(RESULT, op, 0, 0);
                    self.asm.load(RESULT, from);
                }
            }
            match self.masked && !op.no_mask {
                true => {
                    let row = field!(exec_row) + 4 * i32::from(op.first) + 16 * half;
                    widen(self, mask, Rm::Mem(THREAD, row));
                    self.asm.table(Vop::PANDD, mask, mask, places);
                }
                false => {
                    self.asm.load(mask, Rm::Constant(0));
                    self.asm.table(Vop::PORD, mask, mask, places);
                }
            }
            let to = Rm::Mem(REGISTERS, i32::from(first) + PART_B as i32 * half);
            self.asm.store(to, Mask::In(mask.0), RESULT);
        }
        self.rows.forget(first, 2 * PART_B);
    }

    // ---- comparisons ----

    /// Computes the channels in which a condition holds, in [`OUTCOME`].
    fn float_outcome(&mut self, condition: Condition, a: V, b: Rm) {
        let predicate = match condition {
            Condition::Zero => float::EQUAL,
            Condition::NotZero => float::NOT_EQUAL,
            Condition::Greater => float::GREATER,
            Condition::GreaterEqual => float::GREATER_EQUAL,
            Condition::Less => float::LESS,
            _ => float::LESS_EQUAL,
        };
        self.asm.compare(Vop::CMPPS, OUTCOME, ALL, a, b, predicate);
    }

    fn int_outcome(&mut self, condition: Condition, a: V, b: Rm, signed: bool) {
        let (predicate, not) = match condition {
            Condition::Zero => (integer::EQUAL, false),
            Condition::NotZero => (integer::NOT_EQUAL, false),
            Condition::Greater => (integer::GREATER, false),
            Condition::GreaterEqual => (integer::LESS, true),
            Condition::Less => (integer::LESS, false),
            _ => (integer::GREATER, true),
        };
        let ordered = matches!(predicate, integer::GREATER | integer::LESS);
        let vop = if signed || !ordered { Vop::PCMPD } else { Vop::PCMPUD };
        self.asm.compare(vop, OUTCOME, ALL, a, b, predicate);
        if not {
            self.asm.mask_not(OUTCOME, OUTCOME);
        }
    }

    fn compare(&mut self, op: &Op, kind: TemplateOp, part: usize) {
        match kind {
            TemplateOp::CompareInt { signed } => {
                let a = self.operand(V(1), op, 0, part);
                self.asm.load(V(1), a);
                let b = self.operand(V(2), op, 1, part);
                self.int_outcome(op.condition, V(1), b, signed);
            }
            _ => {
                self.float(V(1), op, 0, part);
                let b = self.float_operand(V(2), op, 1, part);
                self.float_outcome(op.condition, V(1), b);
            }
        }
        let enabled = self.enabled(op, part);
        self.set_flags(op, part, enabled);
        if let Some(base) = row(op) {
            self.asm.load(RESULT, Rm::Reg(V(14)));
            self.store(base + (part * PART_B) as u16, enabled);
        }
    }

    /// Loads the flags of a part's channels, into [`PREDICATE`].
    pub fn predicate(&mut self, op: &Op, part: usize) {
        self.asm.byte_to_mask(PREDICATE, REGISTERS, flag_byte(op, part));
        if op.inverse {
            self.asm.mask_not(PREDICATE, PREDICATE);
        }
    }

    /// The channels of a part that are written; `None` for all.
    fn enabled(&mut self, op: &Op, part: usize) -> Option<Mask> {
        let exec = self.exec(op, part);
        if op.predicate == 0 {
            return exec;
        }
        self.predicate(op, part);
        if let Some(exec) = exec {
            self.asm.mask_op(Kop::And, PREDICATE, PREDICATE, exec);
        }
        Some(PREDICATE)
    }

    /// Sets the flags of the enabled channels from [`OUTCOME`].
    fn set_flags(&mut self, op: &Op, part: usize, enabled: Option<Mask>) {
        let mut flags = OUTCOME;
        if let Some(enabled) = enabled {
            let (old, new) = (V(3), V(14));
            self.asm.byte_to_mask(Mask::In(old.0), REGISTERS, flag_byte(op, part));
            self.asm.vector(Vop::PBLENDMD, V(4), enabled, old, Rm::Reg(new), None);
            flags = Mask::In(4);
        }
        // If the flags of all parts are consecutive, they are written with one store.
        let parts = usize::from(op.n) / PART;
        if usize::from(op.flag & 31) + parts * PART <= 32 {
            self.asm.mask_to_bytes(part, parts, REGISTERS, flag_byte(op, 0), flags);
        } else {
            self.asm.mask_to_bytes(0, 1, REGISTERS, flag_byte(op, part), flags);
        }
    }

    // ---- destinations ----

    /// Writes the result, and flags that are derived from it.
    fn finish(&mut self, op: &Op, kind: TemplateOp, part: usize) {
        debug_assert!(sources(op) <= op.src.len());
        if op.saturate && op.dst.ty == Type::F {
            // Both return their last operand for NaN and for two zeros.
            self.asm.vector(Vop::MAXPS, RESULT, ALL, RESULT, Rm::Constant(0), None);
            self.asm.vector(Vop::MINPS, RESULT, ALL, RESULT, Rm::Constant(ONE), None);
        }
        let selects = matches!(kind, TemplateOp::SelectFloat | TemplateOp::SelectInt { .. });
        let enabled = if selects { self.exec(op, part) } else { self.enabled(op, part) };
        if op.condition != Condition::None && !selects {
            if op.dst.ty == Type::F {
                self.float_outcome(op.condition, RESULT, Rm::Constant(0));
            } else {
                self.int_outcome(op.condition, RESULT, Rm::Constant(0), true);
            }
            self.set_flags(op, part, enabled);
        }
        if let Some(base) = row(op) {
            self.store(base + (part * PART_B) as u16, enabled);
        }
    }

    /// Writes [`RESULT`] to the enabled channels of the row at a byte, and caches it.
    fn store(&mut self, base: u16, enabled: Option<Mask>) {
        let to = Rm::Mem(REGISTERS, i32::from(base));
        let old = self.rows.held(base);
        if enabled.is_some() {
            self.asm.load(V(5), old.map_or(to, Rm::Reg));
        }
        let v = self.rows.take(base);
        match enabled {
            None => self.asm.load(v, Rm::Reg(RESULT)),
            Some(mask) => {
                self.asm.vector(Vop::PBLENDMD, v, mask, V(5), Rm::Reg(RESULT), None);
            }
        }
        self.asm.store(to, ALL, v);
    }
}

/// The byte of the flags of a part's channels.
fn flag_byte(op: &Op, part: usize) -> i32 {
    let first = (usize::from(op.flag) + 8 * part) & 31;
    (memory::FLAG + usize::from(op.flag / 32) * REGISTER_BYTES + first / 8) as i32
}
