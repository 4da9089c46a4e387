//! Templates of operations that are functions of each lane's registers alone. Each does for the
//! lanes of a part what the handler of the same name does; the handlers say what that is.

use super::translator::{LANES, Translator};
use crate::usc::exec::float::convert;
use crate::usc::lanes::Lanes;
use crate::usc::op::{Dst, Form, Op, Src};
use crate::usc::opcode::Opcode;
use crate::usc::row::{NUMBERS, Row};
use tepui_hostvec::asm::{ALL, Gpr, Kop, Mask, Rm, Shift, V, Vop, float, integer};

/// Offset of a field of a field of the group.
macro_rules! place {
    ($($field:tt)*) => {
        std::mem::offset_of!(Lanes<'_, '_>, $($field)*)
    };
}

impl Translator<'_> {
    /// An integer of 32 bits, as `Lanes::load_u32`.
    pub fn int(&mut self, d: V, s: Src) {
        let from = self.source(s);
        self.asm.load(d, from);
        match (s.form, s.sign_extend) {
            (Form::Word | Form::Pair, _) => {}
            (Form::Low, false) => self.and(d, 0xffff),
            (Form::Low, true) => {
                self.asm.shift(Shift::Left, d, d, 16);
                self.asm.shift(Shift::Arithmetic, d, d, 16);
            }
            (Form::High, false) => self.asm.shift(Shift::Right, d, d, 16),
            (Form::High, true) => self.asm.shift(Shift::Arithmetic, d, d, 16),
        }
    }

    /// An integer source as the last operand of an instruction: in memory if it is a whole row.
    fn int_operand(&mut self, scratch: V, s: Src) -> Rm {
        if matches!(s.form, Form::Word | Form::Pair) {
            return self.source(s);
        }
        self.int(scratch, s);
        Rm::Reg(scratch)
    }

    /// A float of 32 bits with its modifiers, as `Lanes::load_f32`.
    pub fn float(&mut self, d: V, s: Src) {
        let from = self.source(s);
        self.float_from(d, s, from);
    }

    /// A float source from its row.
    pub fn float_from(&mut self, d: V, s: Src, from: Rm) {
        match s.form {
            Form::Word | Form::Pair => self.asm.load(d, from),
            Form::Low | Form::High => {
                self.asm.halves_to_floats(d, from, s.form == Form::High);
            }
        }
        if s.abs {
            self.and(d, 0x7fff_ffff);
        }
        if s.neg {
            self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Constant(0x8000_0000), None);
        }
    }

    fn float_operand(&mut self, scratch: V, s: Src) -> Rm {
        if matches!(s.form, Form::Word | Form::Pair) && s.is_plain() {
            return self.source(s);
        }
        self.float(scratch, s);
        Rm::Reg(scratch)
    }

    pub fn and(&mut self, d: V, mask: u32) {
        self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Constant(mask), None);
    }

    /// Sets a destination of at most 32 bits; changes `v`.
    pub fn store(&mut self, d: Dst, v: V) {
        match d.form {
            Form::Word | Form::Pair => match self.kept(d.row) {
                Some(kept) => self.copy_to(kept, self.exec(), Rm::Reg(v)),
                None => {
                    let row = self.row(d.row, true);
                    self.asm.load(row, Rm::Reg(v));
                }
            },
            Form::Low => self.merge(d.row, v, 0xffff),
            Form::High => {
                self.asm.shift(Shift::Left, v, v, 16);
                self.merge(d.row, v, 0xffff_0000);
            }
        }
    }

    /// Sets some bits of a row.
    fn merge(&mut self, row: u16, v: V, bits: u32) {
        if let Some(kept) = self.kept(row) {
            // The bits that stay come to the value.
            self.asm.select(v, kept, Rm::Constant(!bits));
            return self.copy_to(kept, self.exec(), Rm::Reg(v));
        }
        let at = self.row(row, false);
        self.asm.select(at, v, Rm::Constant(bits));
        // It is in a register, so this only marks the change.
        self.row(row, true);
    }

    /// Destination for the last instruction of a template, with its lanes: the row itself. `None` for
    /// parts of rows and values to be saturated.
    fn place(&mut self, d: Dst) -> Option<(V, Mask)> {
        if d.saturate || !matches!(d.form, Form::Word | Form::Pair) {
            return None;
        }
        match self.kept(d.row) {
            Some(kept) => Some((kept, self.exec())),
            None => Some((self.row(d.row, true), ALL)),
        }
    }

    /// Sets a destination to the result of one instruction. Integers are not saturated
    /// ([`is_of_lanes`](super::template::is_of_lanes)).
    fn store_result(&mut self, d: Dst, instruction: Vop, a: V, b: Rm, immediate: Option<u8>) {
        match self.place(d) {
            Some((at, lanes)) => self.asm.vector(instruction, at, lanes, a, b, immediate),
            None => {
                self.asm.vector(instruction, V(0), ALL, a, b, immediate);
                match instruction {
                    Vop::PADDD | Vop::PSUBD => self.store(d, V(0)),
                    _ => self.store_float(d, V(0)),
                }
            }
        }
    }

    /// Copies an operand to some lanes of a row.
    fn copy_to(&mut self, at: V, lanes: Mask, from: Rm) {
        match (lanes, from) {
            (_, Rm::Reg(from)) if from == at => {}
            (ALL, _) => self.asm.load(at, from),
            _ => self.asm.vector(Vop::PBLENDMD, at, lanes, at, from, None),
        }
    }

    /// Clamps floats to 0..1.
    pub fn saturate(&mut self, v: V) {
        // Both give their last operand for a NaN.
        self.asm.vector(Vop::MAXPS, v, ALL, v, Rm::Constant(0), None);
        self.asm.vector(Vop::MINPS, v, ALL, v, Rm::Constant(1f32.to_bits()), None);
    }

    /// Writes a float, saturated and rounded as the destination asks, as `Lanes::store_f32`.
    pub fn store_float(&mut self, d: Dst, v: V) {
        if d.saturate {
            self.saturate(v);
        }
        if matches!(d.form, Form::Low | Form::High) {
            let (nan, sign) = (self.mask(3), V(5));
            self.asm.compare(Vop::CMPPS, nan, ALL, v, Rm::Reg(v), float::UNORDERED);
            // One quiet NaN, with the sign.
            self.asm.shift(Shift::Right, sign, v, 16);
            self.and(sign, 0x8000);
            self.asm.vector(Vop::PORD, sign, ALL, sign, Rm::Constant(0x7e00), None);
            self.asm.vector(Vop::CVTPS2PH, v, ALL, V(0), Rm::Reg(v), Some(0));
            self.asm.vector(Vop::PMOVZXWD, v, ALL, V(0), Rm::Reg(v), None);
            self.asm.vector(Vop::PBLENDMD, v, nan, v, Rm::Reg(sign), None);
            self.free_mask(nan);
        }
        self.store(d, v);
    }

    /// One operation of [`is_of_lanes`](super::template::is_of_lanes) for the part at hand.
    pub fn lanes(&mut self, op: &Op) {
        let t = self;
        let [a, b, c, _] = op.s;
        match op.opcode {
            Opcode::fadd | Opcode::hadd => t.float_binary(op, Vop::ADDPS),
            Opcode::fmul | Opcode::hmul => t.float_binary(op, Vop::MULPS),
            Opcode::ffma => {
                let a = t.float_operand(V(0), a);
                let b = t.float_operand(V(1), b);
                let b = t.in_register(V(1), b);
                let c = t.float_operand(V(2), c);
                let sum = t.place(op.d);
                match sum {
                    // The sum takes the place of the summand, or of the first factor.
                    Some((at, lanes)) if c == Rm::Reg(at) => {
                        let a = t.in_register(V(0), a);
                        t.asm.vector(Vop::FMADD231PS, at, lanes, a, Rm::Reg(b), None);
                    }
                    Some((at, lanes)) if b != at => {
                        t.copy_to(at, lanes, a);
                        t.asm.vector(Vop::FMADD213PS, at, lanes, b, c, None);
                    }
                    _ => {
                        t.asm.load(V(0), a);
                        t.asm.vector(Vop::FMADD213PS, V(0), ALL, b, c, None);
                        t.store_float(op.d, V(0));
                    }
                }
            }
            Opcode::rint => t.round(op, 8),
            Opcode::floor => t.round(op, 9),
            Opcode::ceil => t.round(op, 10),
            Opcode::trunc => t.round(op, 11),
            Opcode::rcp => {
                t.asm.load(V(0), Rm::Constant(1f32.to_bits()));
                let a = t.float_operand(V(1), a);
                t.store_result(op.d, Vop::DIVPS, V(0), a, None);
            }
            Opcode::rsqrt => {
                let a = t.float_operand(V(1), a);
                t.asm.vector(Vop::SQRTPS, V(1), ALL, V(0), a, None);
                t.asm.load(V(0), Rm::Constant(1f32.to_bits()));
                t.store_result(op.d, Vop::DIVPS, V(0), Rm::Reg(V(1)), None);
            }
            Opcode::srsqrt => {
                t.float(V(1), a);
                t.asm.vector(Vop::SQRTPS, V(0), ALL, V(0), Rm::Reg(V(1)), None);
                t.asm.vector(Vop::DIVPS, V(0), ALL, V(0), Rm::Reg(V(1)), None);
                // 1 for zero, which subnormals are, and for infinity.
                let (small, infinite) = (t.mask(3), t.mask(4));
                let inf = Rm::Constant(f32::INFINITY.to_bits());
                t.asm.compare(Vop::PCMPD, infinite, ALL, V(1), inf, integer::EQUAL);
                t.and(V(1), 0x7fff_ffff);
                let least = Rm::Constant(f32::MIN_POSITIVE.to_bits());
                t.asm.compare(Vop::PCMPUD, small, ALL, V(1), least, integer::LESS);
                t.asm.mask_op(Kop::Or, small, small, infinite);
                let one = Rm::Constant(1f32.to_bits());
                t.asm.vector(Vop::PBLENDMD, V(0), small, V(0), one, None);
                t.free_mask(small);
                t.free_mask(infinite);
                t.store_float(op.d, V(0));
            }
            Opcode::fcmpsel => {
                let yes = t.mask(3);
                t.float_condition(yes, op);
                t.select(op, yes);
            }
            Opcode::icmpsel => {
                let yes = t.mask(3);
                t.int_condition(yes, op);
                t.select(op, yes);
            }
            Opcode::convert => t.convert(op),
            Opcode::get_sr => t.special(op),
            Opcode::mov_imm => match t.place(op.d) {
                Some((at, lanes)) => t.copy_to(at, lanes, Rm::Constant(op.imm as u32)),
                None => {
                    t.asm.load(V(0), Rm::Constant(op.imm as u32));
                    t.store(op.d, V(0));
                }
            },
            Opcode::iadd => {
                let a = t.int_operand(V(0), a);
                let a = t.in_register(V(0), a);
                t.add_shifted(op, a, b);
            }
            Opcode::imad => {
                let a = t.int_operand(V(0), a);
                let a = t.in_register(V(0), a);
                let b = t.int_operand(V(1), b);
                t.asm.vector(Vop::PMULLD, V(0), ALL, a, b, None);
                t.add_shifted(op, V(0), c);
            }
            Opcode::bitop => {
                let table = match op.aux[0] {
                    // The tables of `b` and of `not b` give `a`: see the handler.
                    0b1100 | 0b0011 => 0b1010,
                    table => table,
                };
                t.int(V(0), a);
                let b = t.int_operand(V(1), b);
                let b = t.in_register(V(1), b);
                t.asm.logic(table, V(0), b);
                t.store(op.d, V(0));
            }
            Opcode::bfi => {
                let mask = field_mask(op);
                t.int(V(1), b);
                t.and(V(1), mask);
                t.shift_by(V(1), Vop::PSLLVD, Shift::Left, c);
                t.asm.load(V(3), Rm::Constant(mask));
                t.shift_by(V(3), Vop::PSLLVD, Shift::Left, c);
                t.int(V(0), a);
                let field = Rm::Reg(V(3));
                t.asm.select(V(0), V(1), field);
                t.store(op.d, V(0));
            }
            Opcode::bfeil => {
                t.int(V(1), b);
                t.shift_by(V(1), Vop::PSRLVD, Shift::Right, c);
                let mask = field_mask(op);
                if mask == u32::MAX {
                    t.store(op.d, V(1));
                    return;
                }
                t.int(V(0), a);
                let field = Rm::Constant(mask);
                t.asm.select(V(0), V(1), field);
                t.store(op.d, V(0));
            }
            Opcode::asr => {
                t.int(V(0), a);
                t.shift_by(V(0), Vop::PSRAVD, Shift::Arithmetic, b);
                t.store(op.d, V(0));
            }
            Opcode::exp2 => t.exp2(op),
            Opcode::log2 => t.log2(op),
            Opcode::sin_pt_1 => t.fold_turn(op),
            Opcode::sin_pt_2 => t.sinc_quarter(op),
            // Left and right, top and bottom of each pixel's row or column.
            Opcode::dfdx => t.derivative(op, [0b10_10_00_00, 0b11_11_01_01]),
            Opcode::dfdy => t.derivative(op, [0b01_00_01_00, 0b11_10_11_10]),
            // `is_of_lanes` names no other but `nop`.
            _ => {}
        }
    }

    /// A special register that tells of the group's place.
    fn special(&mut self, op: &Op) {
        let a = usize::from(op.aux[0] & 3);
        // A row whose address is in the group.
        let row = |field: usize| (field + a * size_of::<*const Row>()) as i32;
        let word = |field: usize| Rm::Broadcast(LANES, (field + a * size_of::<u32>()) as i32);
        let piece = self.piece(Gpr::RAX, 0);
        match op.aux[0] {
            0..=2 => self.asm.load(V(0), word(place!(position.workgroup))),
            4..=6 => self.asm.load(V(0), word(place!(position.threads_here))),
            8..=10 => self.asm.load(V(0), word(place!(place.local_size))),
            48..=50 => {
                self.asm.load_word(Gpr::RAX, LANES, row(place!(position.in_group)));
                self.asm.load(V(0), piece);
            }
            51 | 52 => {
                self.asm.mov_constant(Gpr::RAX, (&raw const NUMBERS) as u64);
                self.asm.load(V(0), piece);
                if op.aux[0] == 51 {
                    let first = Rm::Broadcast(LANES, place!(place.first_thread) as i32);
                    self.asm.vector(Vop::PADDD, V(0), ALL, V(0), first, None);
                }
            }
            53 => self.asm.load(V(0), Rm::Broadcast(LANES, place!(place.index) as i32)),
            // `is_of_lanes` names no other but 80 to 82.
            _ => {
                self.asm.load_word(Gpr::RAX, LANES, row(place!(position.in_grid)));
                self.asm.load(V(0), piece);
                let origin = word(place!(position.origin));
                self.asm.vector(Vop::PADDD, V(0), ALL, V(0), origin, None);
            }
        }
        self.store(op.d, V(0));
    }

    fn float_binary(&mut self, op: &Op, instruction: Vop) {
        let a = self.float_operand(V(0), op.s[0]);
        let a = self.in_register(V(0), a);
        let b = self.float_operand(V(1), op.s[1]);
        self.store_result(op.d, instruction, a, b, None);
    }

    fn round(&mut self, op: &Op, mode: u8) {
        let a = self.float_operand(V(1), op.s[0]);
        self.store_result(op.d, Vop::RNDSCALEPS, V(0), a, Some(mode));
    }

    /// An operand that must be a register.
    fn in_register(&mut self, scratch: V, operand: Rm) -> V {
        match operand {
            Rm::Reg(at) => at,
            _ => {
                self.asm.load(scratch, operand);
                scratch
            }
        }
    }

    /// Shifts by an amount that counts modulo 128; the host too shifts everything out from 32 on.
    fn shift_by(&mut self, d: V, variable: Vop, constant: Shift, by: Src) {
        if let Some(by) = self.code.constant(by) {
            self.asm.shift(constant, d, d, by as u8 & 0x7f);
            return;
        }
        self.int(V(2), by);
        self.and(V(2), 0x7f);
        self.asm.vector(variable, d, ALL, d, Rm::Reg(V(2)), None);
    }

    /// Between integers and floats; `aux[1]` is 0 for rounding toward zero.
    fn convert(&mut self, op: &Op) {
        let t = self;
        match op.aux[0] {
            convert::U32_TO_F | convert::S32_TO_F => {
                let unsigned = op.aux[0] == convert::U32_TO_F;
                let instruction = if unsigned { Vop::CVTUDQ2PS } else { Vop::CVTDQ2PS };
                let a = t.int_operand(V(1), op.s[0]);
                t.asm.vector(instruction, V(0), ALL, V(0), a, None);
                t.store_float(op.d, V(0));
            }
            mode => {
                t.float(V(1), op.s[0]);
                if op.aux[1] != 0 {
                    let a = Rm::Reg(V(1));
                    t.asm.vector(Vop::RNDSCALEPS, V(1), ALL, V(0), a, Some(8));
                }
                // Out of range, the host gives one value for all: what is too large becomes the
                // largest, what is too small the smallest, a NaN zero.
                let (a, wrong) = (V(1), t.mask(3));
                let from = Rm::Reg(a);
                if mode == convert::F_TO_S32 {
                    t.asm.vector(Vop::CVTTPS2DQ, V(0), ALL, V(0), from, None);
                    let end = Rm::Constant(2147483648f32.to_bits());
                    t.asm.compare(Vop::CMPPS, wrong, ALL, a, end, float::GREATER_EQUAL);
                    let largest = Rm::Constant(i32::MAX as u32);
                    t.asm.vector(Vop::PBLENDMD, V(0), wrong, V(0), largest, None);
                    t.asm.compare(Vop::CMPPS, wrong, ALL, a, from, float::UNORDERED);
                } else {
                    t.asm.vector(Vop::CVTTPS2UDQ, V(0), ALL, V(0), from, None);
                    let zero = Rm::Constant(0);
                    t.asm.compare(Vop::CMPPS, wrong, ALL, a, zero, float::NOT_GREATER_EQUAL);
                }
                t.asm.vector(Vop::PBLENDMD, V(0), wrong, V(0), Rm::Constant(0), None);
                t.free_mask(wrong);
                t.store(op.d, V(0));
            }
        }
    }

    /// Adds `±c << aux[0]` and stores.
    fn add_shifted(&mut self, op: &Op, a: V, c: Src) {
        let instruction = if op.aux[1] != 0 { Vop::PSUBD } else { Vop::PADDD };
        let c = if op.aux[0] == 0 {
            self.int_operand(V(1), c)
        } else {
            self.int(V(1), c);
            self.asm.shift(Shift::Left, V(1), V(1), op.aux[0] as u8);
            Rm::Reg(V(1))
        };
        self.store_result(op.d, instruction, a, c, None);
    }

    /// Source 2 in the lanes of a mask, which is given back, source 3 in the others.
    fn select(&mut self, op: &Op, yes: Mask) {
        let a = self.int_operand(V(0), op.s[3]);
        let a = self.in_register(V(0), a);
        let x = self.int_operand(V(1), op.s[2]);
        match self.place(op.d) {
            Some((at, ALL)) => self.asm.vector(Vop::PBLENDMD, at, yes, a, x, None),
            _ => {
                self.asm.vector(Vop::PBLENDMD, V(0), yes, a, x, None);
                self.store(op.d, V(0));
            }
        }
        self.free_mask(yes);
    }

    /// The lanes in which a comparison of floats holds, as `fcompare`.
    pub fn float_condition(&mut self, yes: Mask, op: &Op) {
        self.float(V(0), op.s[0]);
        let b = self.float_operand(V(1), op.s[1]);
        let (predicate, or_nan) = match op.aux[0] {
            0 => (float::EQUAL, false),
            1 => (float::LESS, false),
            2 => (float::GREATER, false),
            3 => (float::LESS, true),
            5 => (float::GREATER_EQUAL, false),
            6 => (float::LESS_EQUAL, false),
            _ => (float::GREATER, true),
        };
        self.asm.compare(Vop::CMPPS, yes, ALL, V(0), b, predicate);
        if or_nan {
            let nan = self.mask(7);
            self.asm.load(V(1), b);
            self.asm.compare(Vop::CMPPS, nan, ALL, V(1), Rm::Reg(V(1)), float::UNORDERED);
            self.asm.mask_op(Kop::Or, yes, yes, nan);
            self.free_mask(nan);
        }
    }

    /// The lanes in which a comparison of integers holds, as `icompare`.
    pub fn int_condition(&mut self, yes: Mask, op: &Op) {
        let signed = op.aux[0] & 4 != 0;
        let wide = |s: Src| Src { sign_extend: signed && !s.constant, ..s };
        self.int(V(0), wide(op.s[0]));
        let b = self.int_operand(V(1), wide(op.s[1]));
        let (instruction, predicate) = match op.aux[0] {
            0 | 4 => (Vop::PCMPD, integer::EQUAL),
            1 => (Vop::PCMPUD, integer::LESS),
            2 => (Vop::PCMPUD, integer::GREATER),
            5 => (Vop::PCMPD, integer::LESS),
            _ => (Vop::PCMPD, integer::GREATER),
        };
        self.asm.compare(instruction, yes, ALL, V(0), b, predicate);
    }
}

/// The low `aux[0]` bits; 0 means all.
fn field_mask(op: &Op) -> u32 {
    match op.aux[0] {
        0 => u32::MAX,
        bits => (1 << bits) - 1,
    }
}
