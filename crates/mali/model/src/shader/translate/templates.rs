//! Templates: each computes for eight lanes at a time what the handler of its operation computes for all.

use tepui_hostvec::asm::{
    ALL, Condition as Flags, Gpr, Kop, Label, Mask, Rm, Shift, V, Vop, float, integer,
};
use tepui_mali_isa::modifier::{Clamp, Mux, RoundMode};

use super::block::{CONTEXT, PART_BYTES, PARTS, REGISTERS, ROW_BYTES, SHARED, Translator, shared};
use super::kind::{Value, float_condition, integer_condition, local_offset, value};
use crate::shader::alu::bitwise::{ARITHMETIC, NOT_RESULT};
use crate::shader::alu::select::{Chain, holds};
use crate::shader::decode::IF_ZERO;
use crate::shader::op::{Op, WriteMode};
use crate::shader::operand::{Select, Src};
use crate::shader::template::{Logic, Number, TemplateOp};

/// The result of a template, before it is written.
const RESULT: V = V(0);
/// The result of a comparison.
const OUTCOME: Mask = Mask::In(14);
/// A second one.
const OTHER: Mask = Mask::In(13);

const ONE: u32 = 1f32.to_bits();
const MINUS_ONE: u32 = (-1f32).to_bits();
const SIGN: u32 = 1 << 31;
const ONES: u32 = u32::MAX;

/// The lanes that take a branch.
pub enum TakenLanes {
    /// All executing lanes.
    Always,
    /// The executing lanes of [`TAKEN`].
    Lanes,
}

/// The lanes of each part that satisfy a branch's condition.
const TAKEN: [Mask; PARTS] = [OTHER, OUTCOME];

/// The rounding of the host: exceptions masked. source: Intel's Software Developer's Manual, VROUNDPS
fn rounding(mode: RoundMode) -> u8 {
    match mode {
        RoundMode::Rte => 8,
        RoundMode::Rtn => 9,
        RoundMode::Rtp => 10,
        RoundMode::Rtz => 11,
    }
}

impl Translator<'_> {
    /// Translates an operation that falls through to the next.
    pub fn template(&mut self, op: &Op, kind: TemplateOp, index: usize) {
        if let TemplateOp::LoadLocal { words } | TemplateOp::StoreLocal { words } = kind {
            return self.local(op, kind, words, index);
        }
        for part in 0..PARTS {
            self.asm.forget();
            self.result(op, kind, part);
            self.write(op, part);
        }
    }

    /// Loads or stores words of thread-local storage; the interpreter handles accesses past its end.
    fn local(&mut self, op: &Op, kind: TemplateOp, words: u8, index: usize) {
        let first = usize::from(local_offset(op).unwrap_or_default());
        let end = first + 4 * usize::from(words);
        self.asm.forget();
        self.asm.compare_memory_word(CONTEXT, shared!(local_bytes), end as i32);
        let slow = self.slow_for(index);
        self.asm.jump_if(Flags::Less, slow);
        self.asm.load_word(Gpr::RAX, CONTEXT, shared!(local));
        let stores = matches!(kind, TemplateOp::StoreLocal { .. });
        let (register, _) = op.staging[usize::from(stores)];
        for part in 0..PARTS {
            for word in 0..usize::from(words) {
                self.asm.forget();
                let row = usize::from(register) + word;
                let base = (row * ROW_BYTES + part * PART_BYTES) as u16;
                let at = (first / 4 + word) * ROW_BYTES + part * PART_BYTES;
                let memory = Rm::Mem(Gpr::RAX, at as i32);
                if stores {
                    let from = Rm::Mem(REGISTERS, base.into());
                    let from = self.rows.held(base).map_or(from, Rm::Reg);
                    self.asm.load(RESULT, from);
                    self.asm.store(memory, self.exec(part), RESULT);
                } else {
                    self.asm.load(RESULT, memory);
                    self.write_row(base, part, RESULT);
                }
            }
        }
    }

    /// Computes the result of a part.
    fn result(&mut self, op: &Op, kind: TemplateOp, part: usize) {
        let d = RESULT;
        match kind {
            TemplateOp::Copy => self.load(d, op, 0, part),
            TemplateOp::MultiplyAdd => {
                self.load(d, op, 0, part);
                self.load(V(1), op, 1, part);
                match self.value(&op.src[2]) {
                    // The product only, rounded once; its zeros keep their sign.
                    Some(Value::Bits(SIGN)) => {
                        self.asm.vector(Vop::MULPS, d, ALL, d, Rm::Reg(V(1)), None);
                    }
                    _ => {
                        let c = self.operand(V(2), &op.src[2], part);
                        self.asm.vector(Vop::FMADD213PS, d, ALL, V(1), c, None);
                    }
                }
                self.clamp(op);
            }
            TemplateOp::AddFloat => {
                self.binary(op, part, Vop::ADDPS);
                self.clamp(op);
            }
            TemplateOp::AddFloatImmediate => {
                self.load(d, op, 0, part);
                self.asm.vector(Vop::ADDPS, d, ALL, d, Rm::Constant(op.immediate), None);
            }
            TemplateOp::Minimum => self.extreme(op, part, Vop::MINPS, Vop::PORD),
            TemplateOp::Maximum => self.extreme(op, part, Vop::MAXPS, Vop::PANDD),
            TemplateOp::Reciprocal => {
                self.load(V(1), op, 0, part);
                self.asm.load(d, Rm::Constant(ONE));
                self.asm.vector(Vop::DIVPS, d, ALL, d, Rm::Reg(V(1)), None);
            }
            TemplateOp::Round => {
                self.load(V(1), op, 0, part);
                let how = Some(rounding(op.round));
                self.asm.vector(Vop::RNDSCALEPS, d, ALL, V(0), Rm::Reg(V(1)), how);
                self.clamp(op);
            }
            TemplateOp::AddInt => self.binary(op, part, Vop::PADDD),
            TemplateOp::SubtractInt => self.binary(op, part, Vop::PSUBD),
            TemplateOp::MultiplyInt => self.binary(op, part, Vop::PMULLD),
            TemplateOp::AddIntImmediate => {
                self.load(d, op, 0, part);
                self.asm.vector(Vop::PADDD, d, ALL, d, Rm::Constant(op.immediate), None);
            }
            TemplateOp::Shift { left, logic } => self.shift(op, part, left, logic),
            TemplateOp::Select(number) => {
                self.outcome(op, number, part, OUTCOME);
                self.load(V(1), op, 2, part);
                self.load(V(2), op, 3, part);
                self.asm.vector(Vop::PBLENDMD, d, OUTCOME, V(2), Rm::Reg(V(1)), None);
            }
            TemplateOp::Compare(number) => self.compare(op, number, part),
            TemplateOp::Mux => self.mux(op, part),
            TemplateOp::FromInt { signed } => {
                self.load(V(1), op, 0, part);
                let convert = if signed { Vop::CVTDQ2PS } else { Vop::CVTUDQ2PS };
                self.asm.vector(convert, d, ALL, V(0), Rm::Reg(V(1)), None);
            }
            TemplateOp::ToInt { signed } => self.nearest_int(op, part, signed),
            TemplateOp::FromHalf => {
                self.load(V(1), op, 0, part);
                self.asm.halves_to_floats(d, Rm::Reg(V(1)), false);
            }
            TemplateOp::Extend { signed } => {
                self.load(d, op, 0, part);
                let down = if signed { Shift::Arithmetic } else { Shift::Right };
                self.asm.shift(Shift::Left, d, d, 16);
                self.asm.shift(down, d, d, 16);
            }
            TemplateOp::JoinHalves => {
                self.load(d, op, 0, part);
                self.load(V(1), op, 1, part);
                self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Constant(0xffff), None);
                self.asm.shift(Shift::Left, V(1), V(1), 16);
                self.asm.vector(Vop::PORD, d, ALL, d, Rm::Reg(V(1)), None);
            }
            TemplateOp::JoinBytes => {
                self.load(d, op, 0, part);
                self.load(V(1), op, 1, part);
                self.load(V(2), op, 2, part);
                self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Constant(0xff), None);
                self.asm.vector(Vop::PANDD, V(1), ALL, V(1), Rm::Constant(0xff), None);
                self.asm.shift(Shift::Left, V(1), V(1), 8);
                self.asm.vector(Vop::PORD, d, ALL, d, Rm::Reg(V(1)), None);
                self.asm.shift(Shift::Left, V(2), V(2), 16);
                self.asm.vector(Vop::PORD, d, ALL, d, Rm::Reg(V(2)), None);
            }
            TemplateOp::LoadLocal { .. } | TemplateOp::StoreLocal { .. } => {
                unreachable!("no part at a time")
            }
            TemplateOp::BranchZero | TemplateOp::BranchCompare(_) => unreachable!("no result"),
        }
    }

    // ---- sources ----

    fn value(&self, src: &Src) -> Option<Value> {
        value(src, self.program_rows)
    }

    /// A source: in a scratch register if no instruction can read it in place.
    fn operand(&mut self, scratch: V, src: &Src, part: usize) -> Rm {
        let (base, row) = match self.value(src) {
            Some(Value::Bits(bits)) => return Rm::Constant(bits),
            Some(Value::Register(row)) => (REGISTERS, row),
            Some(Value::Shared(row)) => (SHARED, row),
            None => unreachable!("`kind` looked at the sources"),
        };
        let at = usize::from(row) * ROW_BYTES + part * PART_BYTES;
        let held = if base == REGISTERS { self.rows.held(at as u16) } else { None };
        let from = held.map_or(Rm::Mem(base, at as i32), Rm::Reg);
        let selected = self.select(scratch, src.select, from);
        if (src.clear, src.flip) == (0, 0) {
            return selected;
        }
        self.asm.load(scratch, selected);
        if src.clear != 0 {
            self.asm.vector(Vop::PANDD, scratch, ALL, scratch, Rm::Constant(!src.clear), None);
        }
        if src.flip != 0 {
            self.asm.vector(Vop::PXORD, scratch, ALL, scratch, Rm::Constant(src.flip), None);
        }
        Rm::Reg(scratch)
    }

    /// Selects a part of a row.
    fn select(&mut self, d: V, select: Select, from: Rm) -> Rm {
        // Shuffles the bytes of a word; indices from 4 on give zero.
        let mut bytes = |places: [u8; 4]| {
            self.asm.load(d, from);
            let byte = |i: usize| match places[i % 4] {
                place @ 0..4 => place + (i / 4 % 4 * 4) as u8,
                _ => 0x80,
            };
            self.asm.shuffle_bytes(d, d, std::array::from_fn(byte));
            Rm::Reg(d)
        };
        match select {
            Select::Whole => from,
            Select::Half { index, signed: false } => bytes([2 * index, 2 * index + 1, 4, 4]),
            Select::HalfShifted(index) => bytes([4, 4, 2 * index, 2 * index + 1]),
            Select::Byte { index, signed: false } => bytes([index, 4, 4, 4]),
            Select::Halves([a, b]) => bytes([2 * a, 2 * a + 1, 2 * b, 2 * b + 1]),
            Select::HalvesOfBytes { bytes: [a, b], .. } => bytes([a, 4, b, 4]),
            Select::Bytes(places) => bytes(places),
            Select::Half { index, signed: true } => self.signed(d, from, 16, 16 * index),
            Select::Byte { index, signed: true } => self.signed(d, from, 8, 8 * index),
            Select::Float16(index) => {
                self.asm.load(d, from);
                self.asm.halves_to_floats(d, Rm::Reg(d), index != 0);
                Rm::Reg(d)
            }
        }
    }

    /// Sign-extends a bit field.
    fn signed(&mut self, d: V, from: Rm, bits: u8, first: u8) -> Rm {
        self.asm.load(d, from);
        if first + bits < 32 {
            self.asm.shift(Shift::Left, d, d, 32 - bits - first);
        }
        self.asm.shift(Shift::Arithmetic, d, d, 32 - bits);
        Rm::Reg(d)
    }

    /// A source in a register.
    fn load(&mut self, d: V, op: &Op, k: usize, part: usize) {
        let from = self.operand(d, &op.src[k], part);
        self.asm.load(d, from);
    }

    // ---- results ----

    fn binary(&mut self, op: &Op, part: usize, vop: Vop) {
        self.load(RESULT, op, 0, part);
        let b = self.operand(V(1), &op.src[1], part);
        self.asm.vector(vop, RESULT, ALL, RESULT, b, None);
    }

    /// Clamps a float.
    fn clamp(&mut self, op: &Op) {
        let d = RESULT;
        // Both return their last operand for NaN and for two zeros.
        let mut bound = |vop: Vop, bits: u32| {
            self.asm.vector(vop, d, ALL, d, Rm::Constant(bits), None);
        };
        match op.clamp {
            Clamp::None => {}
            Clamp::Clamp0Inf => bound(Vop::MAXPS, 0),
            Clamp::ClampM11 => {
                bound(Vop::MAXPS, MINUS_ONE);
                bound(Vop::MINPS, ONE);
            }
            Clamp::Clamp01 => {
                bound(Vop::MAXPS, 0);
                bound(Vop::MINPS, ONE);
            }
        }
    }

    /// The minimum or maximum: for a number and NaN the number, for two zeros the combination of both operand
    /// orders.
    fn extreme(&mut self, op: &Op, part: usize, vop: Vop, both: Vop) {
        let (d, a, b) = (RESULT, V(1), V(2));
        self.load(a, op, 0, part);
        self.load(b, op, 1, part);
        self.asm.vector(vop, d, ALL, a, Rm::Reg(b), None);
        self.asm.vector(vop, V(3), ALL, b, Rm::Reg(a), None);
        self.asm.vector(both, d, ALL, d, Rm::Reg(V(3)), None);
        for (nan, number) in [(b, a), (a, b)] {
            self.asm.compare(Vop::CMPPS, OTHER, ALL, nan, Rm::Reg(nan), float::UNORDERED);
            self.asm.vector(Vop::PBLENDMD, d, OTHER, d, Rm::Reg(number), None);
        }
        self.clamp(op);
    }

    /// The nearest representable integer; NaN becomes 0.
    fn nearest_int(&mut self, op: &Op, part: usize, signed: bool) {
        const LIMIT: u32 = 2_147_483_648f32.to_bits();
        let (d, a) = (RESULT, V(1));
        self.load(a, op, 0, part);
        if op.round != RoundMode::Rtz {
            let how = Some(rounding(op.round));
            self.asm.vector(Vop::RNDSCALEPS, a, ALL, V(0), Rm::Reg(a), how);
        }
        if !signed {
            // The last operand if one is NaN.
            self.asm.vector(Vop::MAXPS, a, ALL, a, Rm::Constant(0), None);
            self.asm.vector(Vop::CVTTPS2UDQ, d, ALL, V(0), Rm::Reg(a), None);
            return;
        }
        // Too large numbers are converted to the minimum integer.
        self.asm.vector(Vop::CVTTPS2DQ, d, ALL, V(0), Rm::Reg(a), None);
        let limit = Rm::Constant(LIMIT);
        self.asm.compare(Vop::CMPPS, Mask::In(2), ALL, a, limit, float::GREATER_EQUAL);
        self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Reg(V(2)), None);
        self.asm.compare(Vop::CMPPS, Mask::In(3), ALL, a, Rm::Reg(a), float::EQUAL);
        self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Reg(V(3)), None);
    }

    fn shift(&mut self, op: &Op, part: usize, left: bool, logic: Logic) {
        let d = RESULT;
        let (variable, constant) = match (left, op.flags & ARITHMETIC != 0) {
            (true, _) => (Vop::PSLLVD, Shift::Left),
            (false, false) => (Vop::PSRLVD, Shift::Right),
            (false, true) => (Vop::PSRAVD, Shift::Arithmetic),
        };
        let unchanged = match logic {
            Logic::And => ONES,
            Logic::Or | Logic::Xor => 0,
        };
        self.load(d, op, 0, part);
        match self.value(&op.src[1]) {
            Some(Value::Bits(by)) if by & 31 == 0 => {}
            Some(Value::Bits(by)) => self.asm.shift(constant, d, d, (by & 31) as u8),
            _ => {
                self.load(V(1), op, 1, part);
                self.asm.vector(Vop::PANDD, V(1), ALL, V(1), Rm::Constant(31), None);
                self.asm.vector(variable, d, ALL, d, Rm::Reg(V(1)), None);
            }
        }
        let vop = match logic {
            Logic::And => Vop::PANDD,
            Logic::Or => Vop::PORD,
            Logic::Xor => Vop::PXORD,
        };
        let b = self.operand(V(1), &op.src[2], part);
        if b != Rm::Constant(unchanged) {
            self.asm.vector(vop, d, ALL, d, b, None);
        }
        if op.flags & NOT_RESULT != 0 {
            self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Constant(ONES), None);
        }
    }

    /// The lanes in which the condition of the first two sources holds.
    fn outcome(&mut self, op: &Op, number: Number, part: usize, d: Mask) {
        let a = V(1);
        self.load(a, op, 0, part);
        let b = self.operand(V(2), &op.src[1], part);
        if number == Number::Float {
            let predicate = float_condition(op.condition);
            return self.asm.compare(Vop::CMPPS, d, ALL, a, b, predicate);
        }
        let Some((predicate, not)) = integer_condition(op.condition) else {
            return self.asm.mask_all(d);
        };
        let ordered = matches!(predicate, integer::GREATER | integer::LESS);
        let vop = if number == Number::Unsigned && ordered { Vop::PCMPUD } else { Vop::PCMPD };
        self.asm.compare(vop, d, ALL, a, b, predicate);
        if not {
            self.asm.mask_not(d, d);
        }
    }

    fn compare(&mut self, op: &Op, number: Number, part: usize) {
        self.outcome(op, number, part, OUTCOME);
        let chain = match op.flags {
            f if f == Chain::Or as u32 => Some(Kop::Or),
            f if f == Chain::And as u32 => Some(Kop::And),
            _ => None,
        };
        if let Some(kop) = chain
            && !(kop == Kop::Or && self.value(&op.src[2]) == Some(Value::Bits(0)))
        {
            self.load(V(1), op, 2, part);
            let zero = Rm::Constant(0);
            self.asm.compare(Vop::PCMPD, OTHER, ALL, V(1), zero, integer::NOT_EQUAL);
            self.asm.mask_op(kop, OUTCOME, OUTCOME, OTHER);
        }
        self.asm.load(RESULT, Rm::Reg(V(14)));
        if op.immediate != ONES {
            let truth = Rm::Constant(op.immediate);
            self.asm.vector(Vop::PANDD, RESULT, ALL, RESULT, truth, None);
        }
    }

    fn mux(&mut self, op: &Op, part: usize) {
        let (d, a, m) = (RESULT, V(1), V(2));
        self.load(d, op, 1, part);
        self.load(a, op, 0, part);
        self.load(m, op, 2, part);
        let zero = Rm::Constant(0);
        match op.flags {
            f if f == Mux::Bit as u32 => return self.asm.select(d, a, Rm::Reg(m)),
            f if f == Mux::Neg as u32 => {
                self.asm.compare(Vop::PCMPD, OTHER, ALL, m, zero, integer::LESS);
            }
            f => {
                if f == Mux::FpZero as u32 {
                    self.asm.vector(Vop::PANDD, m, ALL, m, Rm::Constant(!SIGN), None);
                }
                self.asm.compare(Vop::PCMPD, OTHER, ALL, m, zero, integer::EQUAL);
            }
        }
        self.asm.vector(Vop::PBLENDMD, d, OTHER, d, Rm::Reg(a), None);
    }

    // ---- destinations ----

    /// Writes the result of a part to the executing lanes, and caches it.
    fn write(&mut self, op: &Op, part: usize) {
        let base = usize::from(op.dest) * ROW_BYTES + part * PART_BYTES;
        let to = Rm::Mem(REGISTERS, base as i32);
        let base = base as u16;
        let old = self.rows.held(base).map_or(to, Rm::Reg);
        let bits = match op.written {
            WriteMode::Bits(bits) => bits,
            WriteMode::Lower16 { high: false } => 0xffff,
            WriteMode::Lower16 { high: true } => {
                self.asm.shift(Shift::Left, RESULT, RESULT, 16);
                0xffff_0000
            }
            WriteMode::Word | WriteMode::Float16 { .. } => ONES,
        };
        let mut value = RESULT;
        if bits != ONES {
            value = V(4);
            self.asm.load(value, old);
            self.asm.select(value, RESULT, Rm::Constant(bits));
        }
        self.write_row(base, part, value);
    }

    /// Writes a part of a row in the executing lanes, and caches it.
    fn write_row(&mut self, base: u16, part: usize, value: V) {
        let to = Rm::Mem(REGISTERS, base.into());
        let old = self.rows.held(base).map_or(to, Rm::Reg);
        let exec = self.exec(part);
        if exec != ALL {
            self.asm.load(V(5), old);
        }
        let v = self.rows.take(base);
        match exec {
            Mask::All => self.asm.load(v, Rm::Reg(value)),
            _ => self.asm.vector(Vop::PBLENDMD, v, exec, V(5), Rm::Reg(value), None),
        }
        self.asm.store(to, ALL, v);
    }

    // ---- branches ----

    /// Computes the lanes that take a branch.
    pub fn taken(&mut self, op: &Op, kind: TemplateOp) -> TakenLanes {
        let if_zero = op.flags & IF_ZERO != 0;
        let always = match (kind, [0, 1].map(|k| self.value(&op.src[k]))) {
            (TemplateOp::BranchZero, [Some(Value::Bits(bits)), _]) => (bits == 0) == if_zero,
            (
                TemplateOp::BranchCompare(Number::Unsigned),
                [Some(Value::Bits(a)), Some(Value::Bits(b))],
            ) => holds(op.condition, a, b),
            _ => false,
        };
        if always {
            return TakenLanes::Always;
        }
        for (part, mask) in TAKEN.into_iter().enumerate() {
            match kind {
                TemplateOp::BranchCompare(number) => self.outcome(op, number, part, mask),
                _ => {
                    self.load(V(1), op, 0, part);
                    let predicate = if if_zero { integer::EQUAL } else { integer::NOT_EQUAL };
                    let zero = Rm::Constant(0);
                    self.asm.compare(Vop::PCMPD, mask, ALL, V(1), zero, predicate);
                }
            }
        }
        TakenLanes::Lanes
    }

    /// Jumps to a label if no executing lane takes the branch, and to another if all do.
    pub fn test_taken(&mut self, none: Label, all: Label) {
        let [any, rest] = [Mask::In(0), Mask::In(1)];
        let [first, second] = TAKEN;
        if self.masked {
            let exec = [0, 1].map(|part| self.exec(part));
            self.asm.mask_op(Kop::AndNot, rest, first, exec[0]);
            self.asm.mask_op(Kop::AndNot, any, second, exec[1]);
            self.asm.mask_op(Kop::Or, rest, rest, any);
            self.asm.test_mask(rest);
            self.asm.jump_if(Flags::Zero, all);
            self.asm.mask_op(Kop::And, first, first, exec[0]);
            self.asm.mask_op(Kop::And, second, second, exec[1]);
        } else {
            self.asm.mask_op(Kop::And, rest, first, second);
            self.asm.test_mask(rest);
            self.asm.jump_if(Flags::Carry, all);
        }
        self.asm.mask_op(Kop::Or, any, first, second);
        self.asm.test_mask(any);
        self.asm.jump_if(Flags::Zero, none);
    }
}
