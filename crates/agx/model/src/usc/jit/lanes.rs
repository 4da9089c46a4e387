//! Templates of operations that are functions of each lane's registers alone. Each does for sixteen
//! lanes what the handler of the same name does; the handlers say what that is.

use super::asm::{ALL, Gpr, Kop, Mask, Rm, Shift, Vop, Zmm};
use super::translate::{LANES, Translator};
use crate::usc::exec::Name;
use crate::usc::exec::float::convert;
use crate::usc::lanes::{Dst, Form, Lanes, NUMBERS, Op, Row, Src};

/// Offset of a field of a field of the group.
macro_rules! place {
    ($($field:tt)*) => {
        std::mem::offset_of!(Lanes<'_, '_>, $($field)*)
    };
}

/// `c ? b : a`, of the third operand's bits: the first, the second, the mask.
pub const SELECT: u8 = 0xd8;

/// Predicates of integer comparisons. source: SDM, VPCMPD.
pub mod integer {
    pub const EQUAL: u8 = 0;
    pub const LESS: u8 = 1;
    pub const NOT_EQUAL: u8 = 4;
    pub const GREATER: u8 = 6;
}

/// Predicates of float comparisons, quiet. source: SDM, CMPPS.
mod float {
    pub const NOT_GREATER_EQUAL: u8 = 0x19;
    pub const EQUAL: u8 = 0x00;
    pub const LESS: u8 = 0x11;
    pub const LESS_EQUAL: u8 = 0x12;
    pub const UNORDERED: u8 = 0x03;
    pub const GREATER_EQUAL: u8 = 0x1d;
    pub const GREATER: u8 = 0x1e;
}

/// Is the operation a function of each lane's registers alone, for which there is a template?
pub fn is_of_lanes(op: &Op) -> bool {
    if op.d.form == Form::Pair {
        return false;
    }
    match op.name {
        Name::nop
        | Name::fadd
        | Name::hadd
        | Name::fmul
        | Name::hmul
        | Name::ffma
        | Name::rint
        | Name::floor
        | Name::ceil
        | Name::trunc
        | Name::rcp
        | Name::rsqrt
        | Name::srsqrt
        | Name::fcmpsel
        | Name::icmpsel
        | Name::mov_imm
        | Name::bitop
        | Name::bfi
        | Name::bfeil
        | Name::asr => true,
        Name::get_sr => matches!(op.aux[0], 0..=2 | 4..=6 | 8..=10 | 48..=53 | 80..=82),
        Name::iadd | Name::imad => !op.d.saturate && op.aux[0] <= 4,
        Name::convert => {
            let rounds = op.aux[1] != 0;
            match op.aux[0] {
                convert::U32_TO_F | convert::S32_TO_F => rounds && op.d.form == Form::Word,
                convert::F_TO_U32 | convert::F_TO_S32 => true,
                _ => false,
            }
        }
        _ => false,
    }
}

impl Translator<'_> {
    /// An integer of 32 bits, as `Lanes::load_u32`.
    pub fn int(&mut self, d: Zmm, s: Src, h: usize) {
        let from = self.source(s, h);
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

    /// The same as the last operand of an instruction: in memory if it lies there as it is.
    fn int_operand(&mut self, scratch: Zmm, s: Src, h: usize) -> Rm {
        if matches!(s.form, Form::Word | Form::Pair) {
            return self.source(s, h);
        }
        self.int(scratch, s, h);
        Rm::Reg(scratch)
    }

    /// A float of 32 bits with its modifiers, as `Lanes::load_f32`.
    pub fn float(&mut self, d: Zmm, s: Src, h: usize) {
        let from = self.source(s, h);
        self.asm.load(d, from);
        if matches!(s.form, Form::Low | Form::High) {
            if s.form == Form::High {
                self.asm.shift(Shift::Right, d, d, 16);
            }
            // The low halves of all lanes side by side, then widened.
            self.asm.vector(Vop::PMOVDW, d, ALL, Zmm(0), Rm::Reg(d), None);
            self.asm.vector(Vop::CVTPH2PS, d, ALL, Zmm(0), Rm::Reg(d), None);
        }
        if s.abs {
            self.and(d, 0x7fff_ffff);
        }
        if s.neg {
            self.asm.vector(Vop::PXORD, d, ALL, d, Rm::Constant(0x8000_0000), None);
        }
    }

    fn float_operand(&mut self, scratch: Zmm, s: Src, h: usize) -> Rm {
        if matches!(s.form, Form::Word | Form::Pair) && s.is_plain() {
            return self.source(s, h);
        }
        self.float(scratch, s, h);
        Rm::Reg(scratch)
    }

    pub fn and(&mut self, d: Zmm, mask: u32) {
        self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Constant(mask), None);
    }

    /// Sets a destination of at most 32 bits; changes `v`.
    pub fn store(&mut self, d: Dst, v: Zmm, h: usize) {
        match d.form {
            Form::Word | Form::Pair => {
                let row = self.row(d.row, h, true);
                self.asm.load(row, Rm::Reg(v));
            }
            Form::Low => self.merge(d.row, v, 0xffff, h),
            Form::High => {
                self.asm.shift(Shift::Left, v, v, 16);
                self.merge(d.row, v, 0xffff_0000, h);
            }
        }
    }

    /// Sets some bits of a row.
    fn merge(&mut self, row: u16, v: Zmm, bits: u32, h: usize) {
        let at = self.row(row, h, false);
        self.asm.vector(Vop::PTERNLOGD, at, ALL, v, Rm::Constant(bits), Some(SELECT));
        // It is held, so this only notes the change.
        self.row(row, h, true);
    }

    /// Clamps floats to 0..1.
    pub fn saturate(&mut self, v: Zmm) {
        // Both give their last operand for a NaN.
        self.asm.vector(Vop::MAXPS, v, ALL, v, Rm::Constant(0), None);
        self.asm.vector(Vop::MINPS, v, ALL, v, Rm::Constant(1f32.to_bits()), None);
    }

    /// Writes a float, saturated and rounded as the destination asks, as `Lanes::store_f32`.
    pub fn store_float(&mut self, d: Dst, v: Zmm, h: usize) {
        if d.saturate {
            self.saturate(v);
        }
        if matches!(d.form, Form::Low | Form::High) {
            let (nan, sign) = (Mask(3), Zmm(5));
            self.asm.compare(Vop::CMPPS, nan, ALL, v, Rm::Reg(v), float::UNORDERED);
            // One quiet NaN, with the sign.
            self.asm.shift(Shift::Right, sign, v, 16);
            self.and(sign, 0x8000);
            self.asm.vector(Vop::PORD, sign, ALL, sign, Rm::Constant(0x7e00), None);
            self.asm.vector(Vop::CVTPS2PH, v, ALL, Zmm(0), Rm::Reg(v), Some(0));
            self.asm.vector(Vop::PMOVZXWD, v, ALL, Zmm(0), Rm::Reg(v), None);
            self.asm.vector(Vop::PBLENDMD, v, nan, v, Rm::Reg(sign), None);
        }
        self.store(d, v, h);
    }

    /// One operation of [`is_of_lanes`] for one half.
    pub fn lanes(&mut self, op: &Op, h: usize) {
        let t = self;
        let [a, b, c, _] = op.s;
        match op.name {
            Name::fadd | Name::hadd => t.float_binary(op, Vop::ADDPS, h),
            Name::fmul | Name::hmul => t.float_binary(op, Vop::MULPS, h),
            Name::ffma => {
                t.float(Zmm(0), a, h);
                let b = t.float_operand(Zmm(1), b, h);
                let b = t.in_register(Zmm(1), b);
                let c = t.float_operand(Zmm(2), c, h);
                t.asm.vector(Vop::FMADD213PS, Zmm(0), ALL, b, c, None);
                t.store_float(op.d, Zmm(0), h);
            }
            Name::rint => t.round(op, 8, h),
            Name::floor => t.round(op, 9, h),
            Name::ceil => t.round(op, 10, h),
            Name::trunc => t.round(op, 11, h),
            Name::rcp => {
                t.asm.load(Zmm(0), Rm::Constant(1f32.to_bits()));
                let a = t.float_operand(Zmm(1), a, h);
                t.asm.vector(Vop::DIVPS, Zmm(0), ALL, Zmm(0), a, None);
                t.store_float(op.d, Zmm(0), h);
            }
            Name::rsqrt => {
                let a = t.float_operand(Zmm(1), a, h);
                t.asm.vector(Vop::SQRTPS, Zmm(1), ALL, Zmm(0), a, None);
                t.asm.load(Zmm(0), Rm::Constant(1f32.to_bits()));
                t.asm.vector(Vop::DIVPS, Zmm(0), ALL, Zmm(0), Rm::Reg(Zmm(1)), None);
                t.store_float(op.d, Zmm(0), h);
            }
            Name::srsqrt => {
                t.float(Zmm(1), a, h);
                t.asm.vector(Vop::SQRTPS, Zmm(0), ALL, Zmm(0), Rm::Reg(Zmm(1)), None);
                t.asm.vector(Vop::DIVPS, Zmm(0), ALL, Zmm(0), Rm::Reg(Zmm(1)), None);
                // 1 for zero, which subnormals are, and for infinity.
                let (small, infinite) = (Mask(3), Mask(4));
                let inf = Rm::Constant(f32::INFINITY.to_bits());
                t.asm.compare(Vop::PCMPD, infinite, ALL, Zmm(1), inf, integer::EQUAL);
                t.and(Zmm(1), 0x7fff_ffff);
                let least = Rm::Constant(f32::MIN_POSITIVE.to_bits());
                t.asm.compare(Vop::PCMPUD, small, ALL, Zmm(1), least, integer::LESS);
                t.asm.mask_op(Kop::Or, small, small, infinite);
                let one = Rm::Constant(1f32.to_bits());
                t.asm.vector(Vop::PBLENDMD, Zmm(0), small, Zmm(0), one, None);
                t.store_float(op.d, Zmm(0), h);
            }
            Name::fcmpsel => {
                t.float_condition(Mask(3), op, h);
                t.select(op, h);
            }
            Name::icmpsel => {
                t.int_condition(Mask(3), op, h);
                t.select(op, h);
            }
            Name::convert => t.convert(op, h),
            Name::get_sr => t.special(op, h),
            Name::mov_imm => {
                t.asm.load(Zmm(0), Rm::Constant(op.imm as u32));
                t.store(op.d, Zmm(0), h);
            }
            Name::iadd => {
                t.int(Zmm(0), a, h);
                t.add_shifted(op, b, h);
            }
            Name::imad => {
                t.int(Zmm(0), a, h);
                let b = t.int_operand(Zmm(1), b, h);
                t.asm.vector(Vop::PMULLD, Zmm(0), ALL, Zmm(0), b, None);
                t.add_shifted(op, c, h);
            }
            Name::bitop => {
                let table = match op.aux[0] {
                    // The tables of `b` and of `not b` give `a`: see the handler.
                    0b1100 | 0b0011 => 0b1010,
                    table => table,
                };
                // The host's table counts the first operand's bit by four, the second's by two.
                let bit = |k: usize| (table >> (k >> 2 & 1 | (k >> 1 & 1) << 1) & 1) << k;
                let truth = (0..8).map(bit).sum::<u16>() as u8;
                t.int(Zmm(0), a, h);
                let b = t.int_operand(Zmm(1), b, h);
                let b = t.in_register(Zmm(1), b);
                t.asm.vector(Vop::PTERNLOGD, Zmm(0), ALL, b, Rm::Reg(b), Some(truth));
                t.store(op.d, Zmm(0), h);
            }
            Name::bfi => {
                let mask = field_mask(op);
                t.int(Zmm(1), b, h);
                t.and(Zmm(1), mask);
                t.shift_by(Zmm(1), Vop::PSLLVD, Shift::Left, c, h);
                t.asm.load(Zmm(3), Rm::Constant(mask));
                t.shift_by(Zmm(3), Vop::PSLLVD, Shift::Left, c, h);
                t.int(Zmm(0), a, h);
                let field = Rm::Reg(Zmm(3));
                t.asm.vector(Vop::PTERNLOGD, Zmm(0), ALL, Zmm(1), field, Some(SELECT));
                t.store(op.d, Zmm(0), h);
            }
            Name::bfeil => {
                t.int(Zmm(1), b, h);
                t.shift_by(Zmm(1), Vop::PSRLVD, Shift::Right, c, h);
                let mask = field_mask(op);
                if mask == u32::MAX {
                    t.store(op.d, Zmm(1), h);
                    return;
                }
                t.int(Zmm(0), a, h);
                let field = Rm::Constant(mask);
                t.asm.vector(Vop::PTERNLOGD, Zmm(0), ALL, Zmm(1), field, Some(SELECT));
                t.store(op.d, Zmm(0), h);
            }
            Name::asr => {
                t.int(Zmm(0), a, h);
                t.shift_by(Zmm(0), Vop::PSRAVD, Shift::Arithmetic, b, h);
                t.store(op.d, Zmm(0), h);
            }
            // `is_of_lanes` names no other but `nop`.
            _ => {}
        }
    }

    /// A special register that tells of the group's place.
    fn special(&mut self, op: &Op, h: usize) {
        let a = usize::from(op.aux[0] & 3);
        // A row whose address is in the group.
        let row = |field: usize| (field + a * size_of::<*const Row>()) as i32;
        let word = |field: usize| Rm::Broadcast(LANES, (field + a * size_of::<u32>()) as i32);
        let half = Rm::Mem(Gpr::RAX, 64 * h as i32);
        match op.aux[0] {
            0..=2 => self.asm.load(Zmm(0), word(place!(position.workgroup))),
            4..=6 => self.asm.load(Zmm(0), word(place!(position.threads_here))),
            8..=10 => self.asm.load(Zmm(0), word(place!(place.local_size))),
            48..=50 => {
                self.asm.load_word(Gpr::RAX, LANES, row(place!(position.in_group)));
                self.asm.load(Zmm(0), half);
            }
            51 | 52 => {
                self.asm.mov_constant(Gpr::RAX, (&raw const NUMBERS) as u64);
                self.asm.load(Zmm(0), half);
                if op.aux[0] == 51 {
                    let first = Rm::Broadcast(LANES, place!(place.first_thread) as i32);
                    self.asm.vector(Vop::PADDD, Zmm(0), ALL, Zmm(0), first, None);
                }
            }
            53 => self.asm.load(Zmm(0), Rm::Broadcast(LANES, place!(place.index) as i32)),
            // `is_of_lanes` names no other but 80 to 82.
            _ => {
                self.asm.load_word(Gpr::RAX, LANES, row(place!(position.in_grid)));
                self.asm.load(Zmm(0), half);
                let origin = word(place!(position.origin));
                self.asm.vector(Vop::PADDD, Zmm(0), ALL, Zmm(0), origin, None);
            }
        }
        self.store(op.d, Zmm(0), h);
    }

    fn float_binary(&mut self, op: &Op, instruction: Vop, h: usize) {
        self.float(Zmm(0), op.s[0], h);
        let b = self.float_operand(Zmm(1), op.s[1], h);
        self.asm.vector(instruction, Zmm(0), ALL, Zmm(0), b, None);
        self.store_float(op.d, Zmm(0), h);
    }

    fn round(&mut self, op: &Op, mode: u8, h: usize) {
        let a = self.float_operand(Zmm(1), op.s[0], h);
        self.asm.vector(Vop::RNDSCALEPS, Zmm(0), ALL, Zmm(0), a, Some(mode));
        self.store_float(op.d, Zmm(0), h);
    }

    /// An operand that must be a register.
    fn in_register(&mut self, scratch: Zmm, operand: Rm) -> Zmm {
        match operand {
            Rm::Reg(at) => at,
            _ => {
                self.asm.load(scratch, operand);
                scratch
            }
        }
    }

    /// Shifts by an amount that counts modulo 128; the host too shifts everything out from 32 on.
    fn shift_by(&mut self, d: Zmm, variable: Vop, constant: Shift, by: Src, h: usize) {
        if let Some(by) = self.program.constant(by) {
            self.asm.shift(constant, d, d, by as u8 & 0x7f);
            return;
        }
        self.int(Zmm(2), by, h);
        self.and(Zmm(2), 0x7f);
        self.asm.vector(variable, d, ALL, d, Rm::Reg(Zmm(2)), None);
    }

    /// Between integers and floats; `aux[1]` is 0 for rounding toward zero.
    fn convert(&mut self, op: &Op, h: usize) {
        let t = self;
        match op.aux[0] {
            convert::U32_TO_F | convert::S32_TO_F => {
                let unsigned = op.aux[0] == convert::U32_TO_F;
                let instruction = if unsigned { Vop::CVTUDQ2PS } else { Vop::CVTDQ2PS };
                let a = t.int_operand(Zmm(1), op.s[0], h);
                t.asm.vector(instruction, Zmm(0), ALL, Zmm(0), a, None);
                t.store_float(op.d, Zmm(0), h);
            }
            mode => {
                t.float(Zmm(1), op.s[0], h);
                if op.aux[1] != 0 {
                    let a = Rm::Reg(Zmm(1));
                    t.asm.vector(Vop::RNDSCALEPS, Zmm(1), ALL, Zmm(0), a, Some(8));
                }
                // Out of range, the host gives one value for all: what is too large becomes the
                // largest, what is too small the smallest, a NaN zero.
                let (a, wrong) = (Zmm(1), Mask(3));
                let from = Rm::Reg(a);
                if mode == convert::F_TO_S32 {
                    t.asm.vector(Vop::CVTTPS2DQ, Zmm(0), ALL, Zmm(0), from, None);
                    let end = Rm::Constant(2147483648f32.to_bits());
                    t.asm.compare(Vop::CMPPS, wrong, ALL, a, end, float::GREATER_EQUAL);
                    let largest = Rm::Constant(i32::MAX as u32);
                    t.asm.vector(Vop::PBLENDMD, Zmm(0), wrong, Zmm(0), largest, None);
                    t.asm.compare(Vop::CMPPS, wrong, ALL, a, from, float::UNORDERED);
                } else {
                    t.asm.vector(Vop::CVTTPS2UDQ, Zmm(0), ALL, Zmm(0), from, None);
                    let zero = Rm::Constant(0);
                    t.asm.compare(Vop::CMPPS, wrong, ALL, a, zero, float::NOT_GREATER_EQUAL);
                }
                t.asm.vector(Vop::PBLENDMD, Zmm(0), wrong, Zmm(0), Rm::Constant(0), None);
                t.store(op.d, Zmm(0), h);
            }
        }
    }

    /// Adds `±c << aux[0]` to the first register and stores.
    fn add_shifted(&mut self, op: &Op, c: Src, h: usize) {
        let instruction = if op.aux[1] != 0 { Vop::PSUBD } else { Vop::PADDD };
        let c = if op.aux[0] == 0 {
            self.int_operand(Zmm(1), c, h)
        } else {
            self.int(Zmm(1), c, h);
            self.asm.shift(Shift::Left, Zmm(1), Zmm(1), op.aux[0] as u8);
            Rm::Reg(Zmm(1))
        };
        self.asm.vector(instruction, Zmm(0), ALL, Zmm(0), c, None);
        self.store(op.d, Zmm(0), h);
    }

    /// Source 2 in the lanes of mask 3, source 3 in the others.
    fn select(&mut self, op: &Op, h: usize) {
        self.int(Zmm(0), op.s[3], h);
        let x = self.int_operand(Zmm(1), op.s[2], h);
        self.asm.vector(Vop::PBLENDMD, Zmm(0), Mask(3), Zmm(0), x, None);
        self.store(op.d, Zmm(0), h);
    }

    /// The lanes in which a comparison of floats holds, as `fcompare`. Changes mask 7.
    pub fn float_condition(&mut self, yes: Mask, op: &Op, h: usize) {
        self.float(Zmm(0), op.s[0], h);
        let b = self.float_operand(Zmm(1), op.s[1], h);
        let (predicate, or_nan) = match op.aux[0] {
            0 => (float::EQUAL, false),
            1 => (float::LESS, false),
            2 => (float::GREATER, false),
            3 => (float::LESS, true),
            5 => (float::GREATER_EQUAL, false),
            6 => (float::LESS_EQUAL, false),
            _ => (float::GREATER, true),
        };
        self.asm.compare(Vop::CMPPS, yes, ALL, Zmm(0), b, predicate);
        if or_nan {
            let nan = Mask(7);
            self.asm.load(Zmm(1), b);
            self.asm.compare(Vop::CMPPS, nan, ALL, Zmm(1), Rm::Reg(Zmm(1)), float::UNORDERED);
            self.asm.mask_op(Kop::Or, yes, yes, nan);
        }
    }

    /// The lanes in which a comparison of integers holds, as `icompare`.
    pub fn int_condition(&mut self, yes: Mask, op: &Op, h: usize) {
        let signed = op.aux[0] & 4 != 0;
        let wide = |s: Src| Src { sign_extend: signed && !s.constant, ..s };
        self.int(Zmm(0), wide(op.s[0]), h);
        let b = self.int_operand(Zmm(1), wide(op.s[1]), h);
        let (instruction, predicate) = match op.aux[0] {
            0 | 4 => (Vop::PCMPD, integer::EQUAL),
            1 => (Vop::PCMPUD, integer::LESS),
            2 => (Vop::PCMPUD, integer::GREATER),
            5 => (Vop::PCMPD, integer::LESS),
            _ => (Vop::PCMPD, integer::GREATER),
        };
        self.asm.compare(instruction, yes, ALL, Zmm(0), b, predicate);
    }
}

/// The low `aux[0]` bits; 0 means all.
fn field_mask(op: &Op) -> u32 {
    match op.aux[0] {
        0 => u32::MAX,
        bits => (1 << bits) - 1,
    }
}
