//! Chooses host instructions for each operation of a program.

use std::mem::offset_of;

use super::asm::{ALL, Assembler, Condition, Gpr, Kop, Label, Mask, Rm, Shift, Vop, Zmm};
use super::code::{Translated, exit};
use crate::usc::exec::Name;
use crate::usc::lanes::{Dst, File, Form, Lanes, Op, Row, Src};
use crate::usc::program::Program;

/// The group.
const LANES: Gpr = Gpr::RBX;
/// Its registers.
const REGISTERS: Gpr = Gpr::RBP;
/// Uniform registers and constants.
const SHARED: Gpr = Gpr::R13;
/// The program's operations.
const OPS: Gpr = Gpr::R15;
/// The execution mask of each half of the group.
const EXEC: [Mask; 2] = [Mask(1), Mask(2)];

/// `c ? b : a`, of the third operand's bits: the first, the second, the mask.
const SELECT: u8 = 0xd8;

/// Predicates of integer comparisons. source: SDM, VPCMPD.
mod integer {
    pub const EQUAL: u8 = 0;
    pub const LESS: u8 = 1;
    pub const NOT_EQUAL: u8 = 4;
    pub const GREATER: u8 = 6;
}

/// Predicates of float comparisons, quiet. source: SDM, CMPPS.
mod float {
    pub const EQUAL: u8 = 0x00;
    pub const LESS: u8 = 0x11;
    pub const LESS_EQUAL: u8 = 0x12;
    pub const UNORDERED: u8 = 0x03;
    pub const GREATER_EQUAL: u8 = 0x1d;
    pub const GREATER: u8 = 0x1e;
}

/// An operation that the interpreter's handler does.
struct ByHandler;

type Done = Result<(), ByHandler>;

/// Calls a handler.
extern "sysv64" fn step(l: &mut Lanes<'_, '_>, op: &Op) -> u32 {
    // SAFETY: as in the interpreter: the program holds handlers that this host can run.
    unsafe { (op.run)(l, op) as u32 }
}

/// Translates a program; `None` where the host cannot run the result.
pub fn translate(program: &Program) -> Option<Translated> {
    if !super::is_available() {
        return None;
    }
    let ops = program.ops();
    let mut t = Translator { asm: Assembler::default(), pending: 0, out: Label(0), index: 0 };
    t.out = t.asm.label();
    let labels: Vec<Label> = ops.iter().map(|_| t.asm.label()).collect();
    let mut begins = vec![false; ops.len()];
    let mut targets = vec![false; ops.len()];
    for op in ops {
        if matches!(op.name, Name::jmp_exec_any | Name::jmp_exec_none | Name::call) {
            // The link register's value stands above the target.
            if let Some(target) = targets.get_mut(op.imm as u32 as usize) {
                *target = true;
            }
        }
    }
    t.enter();
    for (index, op) in ops.iter().enumerate() {
        // Entries from outside and jumps must find nothing pending.
        if index == 0 || targets[index] {
            t.count();
        }
        begins[index] = t.pending == 0;
        t.asm.place(labels[index]);
        t.index = index;
        t.pending += 1;
        if t.operation(op, &labels).is_err() {
            t.by_handler();
        }
    }
    t.count();
    t.leave(ops.len(), exit::END);
    let out = t.out;
    t.asm.place(out);
    t.exit();
    let (code, places) = t.asm.finish();
    let places = begins.iter().zip(&labels).map(|(&b, label)| match b {
        true => places[label.0 as usize],
        false => u32::MAX,
    });
    Translated::new(&code, places.collect())
}

struct Translator {
    asm: Assembler,
    /// Operations since the last count.
    pending: i32,
    /// The way out, with the exit's number in `rax`.
    out: Label,
    /// The operation at hand.
    index: usize,
}

fn lanes_offset(field: usize) -> i32 {
    field as i32
}

macro_rules! field {
    ($name:ident) => {
        lanes_offset(offset_of!(Lanes<'_, '_>, $name))
    };
}

impl Translator {
    /// Saves what callers keep, and brings the arguments where they stay.
    fn enter(&mut self) {
        for r in [LANES, REGISTERS, SHARED, OPS] {
            self.asm.push(r);
        }
        self.asm.move_stack(-8);
        self.asm.mov(LANES, Gpr::RDI);
        self.asm.mov(REGISTERS, Gpr::RSI);
        self.asm.mov(SHARED, Gpr::RDX);
        self.asm.mov(OPS, Gpr::RCX);
        self.masks();
        self.asm.jump_register(Gpr(8));
    }

    fn exit(&mut self) {
        self.asm.move_stack(8);
        for r in [OPS, SHARED, REGISTERS, LANES] {
            self.asm.pop(r);
        }
        self.asm.ret();
    }

    /// Loads the execution mask.
    fn masks(&mut self) {
        for h in 0..2 {
            self.asm.mask_load(EXEC[h], LANES, field!(exec) + 2 * h as i32);
        }
    }

    /// Counts the operations so far.
    fn count(&mut self) {
        if self.pending != 0 {
            self.asm.add_to(LANES, field!(executed), self.pending);
            self.pending = 0;
        }
    }

    /// Returns with the program counter at an operation.
    fn leave(&mut self, pc: usize, why: u32) {
        self.asm.store_constant(LANES, field!(pc), pc as u32);
        self.asm.mov_constant(Gpr::RAX, u64::from(why));
        self.asm.jump(self.out);
    }

    fn by_handler(&mut self) {
        self.count();
        self.asm.store_constant(LANES, field!(pc), self.index as u32 + 1);
        self.asm.mov(Gpr::RDI, LANES);
        self.asm.address(Gpr::RSI, OPS, (self.index * size_of::<Op>()) as i32);
        self.asm.mov_constant(Gpr::RAX, step as *const () as u64);
        self.asm.call(Gpr::RAX);
        self.asm.test(Gpr::RAX);
        self.asm.jump_if(Condition::NotZero, self.out);
        self.masks();
    }

    /// Where a source's row is.
    fn place(s: Src, h: usize) -> Rm {
        let base = if s.file == File::Registers { REGISTERS } else { SHARED };
        Rm::Mem(base, (usize::from(s.row) * size_of::<Row>() + 64 * h) as i32)
    }

    /// An integer of 32 bits, as `Lanes::load_u32`.
    fn int(&mut self, d: Zmm, s: Src, h: usize) {
        self.asm.load(d, Self::place(s, h));
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
            return Self::place(s, h);
        }
        self.int(scratch, s, h);
        Rm::Reg(scratch)
    }

    /// A float of 32 bits with its modifiers, as `Lanes::load_f32`.
    fn float(&mut self, d: Zmm, s: Src, h: usize) {
        self.asm.load(d, Self::place(s, h));
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
            return Self::place(s, h);
        }
        self.float(scratch, s, h);
        Rm::Reg(scratch)
    }

    fn and(&mut self, d: Zmm, mask: u32) {
        self.asm.vector(Vop::PANDD, d, ALL, d, Rm::Constant(mask), None);
    }

    /// Writes the active lanes of a destination of at most 32 bits; changes `v`.
    fn store(&mut self, d: Dst, v: Zmm, h: usize) -> Done {
        let row = Rm::Mem(REGISTERS, (usize::from(d.row) * size_of::<Row>() + 64 * h) as i32);
        let old = Zmm(15);
        match d.form {
            Form::Word => {
                self.asm.store(row, EXEC[h], v);
                return Ok(());
            }
            Form::Pair => return Err(ByHandler),
            Form::Low => {
                self.asm.load(old, row);
                self.asm.vector(Vop::PTERNLOGD, old, ALL, v, Rm::Constant(0xffff), Some(SELECT));
            }
            Form::High => {
                self.asm.load(old, row);
                self.asm.shift(Shift::Left, v, v, 16);
                let high = Rm::Constant(0xffff_0000);
                self.asm.vector(Vop::PTERNLOGD, old, ALL, v, high, Some(SELECT));
            }
        }
        self.asm.store(row, EXEC[h], old);
        Ok(())
    }

    /// Writes a float, saturated and rounded as the destination asks, as `Lanes::store_f32`.
    fn store_float(&mut self, d: Dst, v: Zmm, h: usize) -> Done {
        if d.saturate {
            // Both give their last operand for a NaN.
            self.asm.vector(Vop::MAXPS, v, ALL, v, Rm::Constant(0), None);
            self.asm.vector(Vop::MINPS, v, ALL, v, Rm::Constant(1f32.to_bits()), None);
        }
        if matches!(d.form, Form::Low | Form::High) {
            let (nan, sign) = (Mask(3), Zmm(14));
            self.asm.compare(Vop::CMPPS, nan, ALL, v, Rm::Reg(v), float::UNORDERED);
            // One quiet NaN, with the sign.
            self.asm.shift(Shift::Right, sign, v, 16);
            self.and(sign, 0x8000);
            self.asm.vector(Vop::PORD, sign, ALL, sign, Rm::Constant(0x7e00), None);
            self.asm.vector(Vop::CVTPS2PH, v, ALL, Zmm(0), Rm::Reg(v), Some(0));
            self.asm.vector(Vop::PMOVZXWD, v, ALL, Zmm(0), Rm::Reg(v), None);
            self.asm.vector(Vop::PBLENDMD, v, nan, v, Rm::Reg(sign), None);
        }
        self.store(d, v, h)
    }

    fn operation(&mut self, op: &Op, labels: &[Label]) -> Done {
        // What no template writes.
        if op.d.form == Form::Pair {
            return Err(ByHandler);
        }
        match op.name {
            Name::nop => Ok(()),
            Name::stop => {
                self.count();
                self.leave(self.index + 1, exit::STOP);
                Ok(())
            }
            Name::fadd | Name::hadd => self.float_binary(op, Vop::ADDPS),
            Name::fmul | Name::hmul => self.float_binary(op, Vop::MULPS),
            Name::ffma => self.halves(|t, h| {
                t.float(Zmm(0), op.s[0], h);
                t.float(Zmm(1), op.s[1], h);
                let c = t.float_operand(Zmm(2), op.s[2], h);
                t.asm.vector(Vop::FMADD213PS, Zmm(0), ALL, Zmm(1), c, None);
                t.store_float(op.d, Zmm(0), h)
            }),
            Name::rint => self.round(op, 8),
            Name::floor => self.round(op, 9),
            Name::ceil => self.round(op, 10),
            Name::trunc => self.round(op, 11),
            Name::rcp => self.halves(|t, h| {
                t.asm.load(Zmm(0), Rm::Constant(1f32.to_bits()));
                let a = t.float_operand(Zmm(1), op.s[0], h);
                t.asm.vector(Vop::DIVPS, Zmm(0), ALL, Zmm(0), a, None);
                t.store_float(op.d, Zmm(0), h)
            }),
            Name::rsqrt => self.halves(|t, h| {
                let a = t.float_operand(Zmm(1), op.s[0], h);
                t.asm.vector(Vop::SQRTPS, Zmm(1), ALL, Zmm(0), a, None);
                t.asm.load(Zmm(0), Rm::Constant(1f32.to_bits()));
                t.asm.vector(Vop::DIVPS, Zmm(0), ALL, Zmm(0), Rm::Reg(Zmm(1)), None);
                t.store_float(op.d, Zmm(0), h)
            }),
            Name::srsqrt => self.halves(|t, h| {
                t.float(Zmm(1), op.s[0], h);
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
                t.store_float(op.d, Zmm(0), h)
            }),
            Name::fcmpsel => self.halves(|t, h| {
                t.float_condition(Mask(3), op, h);
                t.select(op, h)
            }),
            Name::icmpsel => self.halves(|t, h| {
                t.int_condition(Mask(3), op, h);
                t.select(op, h)
            }),
            Name::convert => self.convert(op),
            Name::mov_imm => self.halves(|t, h| {
                t.asm.load(Zmm(0), Rm::Constant(op.imm as u32));
                t.store(op.d, Zmm(0), h)
            }),
            Name::iadd if !op.d.saturate && op.aux[0] <= 4 => self.halves(|t, h| {
                t.int(Zmm(0), op.s[0], h);
                t.add_shifted(op, op.s[1], h)
            }),
            Name::imad if !op.d.saturate && op.aux[0] <= 4 => self.halves(|t, h| {
                t.int(Zmm(0), op.s[0], h);
                let b = t.int_operand(Zmm(1), op.s[1], h);
                t.asm.vector(Vop::PMULLD, Zmm(0), ALL, Zmm(0), b, None);
                t.add_shifted(op, op.s[2], h)
            }),
            Name::bitop => self.halves(|t, h| {
                t.int(Zmm(0), op.s[0], h);
                let table = match op.aux[0] {
                    // The tables of `b` and of `not b` give `a`: see the handler.
                    0b1100 | 0b0011 => 0b1010,
                    table => table,
                };
                // The host's table counts the first operand's bit by four, the second's by two.
                let bit = |k: usize| (table >> (k >> 2 & 1 | (k >> 1 & 1) << 1) & 1) << k;
                let truth = (0..8).map(bit).sum::<u16>();
                let b = t.int_operand(Zmm(1), op.s[1], h);
                t.asm.load(Zmm(1), b);
                t.asm.vector(
                    Vop::PTERNLOGD,
                    Zmm(0),
                    ALL,
                    Zmm(1),
                    Rm::Reg(Zmm(1)),
                    Some(truth as u8),
                );
                t.store(op.d, Zmm(0), h)
            }),
            Name::bfi => self.halves(|t, h| {
                // Amounts count modulo 128, and from 32 on the host's shifts give zero too.
                t.int(Zmm(2), op.s[2], h);
                t.and(Zmm(2), 0x7f);
                t.int(Zmm(1), op.s[1], h);
                let mask = field_mask(op);
                t.and(Zmm(1), mask);
                t.asm.vector(Vop::PSLLVD, Zmm(1), ALL, Zmm(1), Rm::Reg(Zmm(2)), None);
                t.asm.load(Zmm(3), Rm::Constant(mask));
                t.asm.vector(Vop::PSLLVD, Zmm(3), ALL, Zmm(3), Rm::Reg(Zmm(2)), None);
                t.int(Zmm(0), op.s[0], h);
                let field = Rm::Reg(Zmm(3));
                t.asm.vector(Vop::PTERNLOGD, Zmm(0), ALL, Zmm(1), field, Some(SELECT));
                t.store(op.d, Zmm(0), h)
            }),
            Name::bfeil => self.halves(|t, h| {
                t.int(Zmm(2), op.s[2], h);
                t.and(Zmm(2), 0x7f);
                t.int(Zmm(1), op.s[1], h);
                t.asm.vector(Vop::PSRLVD, Zmm(1), ALL, Zmm(1), Rm::Reg(Zmm(2)), None);
                t.int(Zmm(0), op.s[0], h);
                let field = Rm::Constant(field_mask(op));
                t.asm.vector(Vop::PTERNLOGD, Zmm(0), ALL, Zmm(1), field, Some(SELECT));
                t.store(op.d, Zmm(0), h)
            }),
            Name::asr => self.halves(|t, h| {
                t.int(Zmm(1), op.s[1], h);
                t.and(Zmm(1), 0x7f);
                t.int(Zmm(0), op.s[0], h);
                t.asm.vector(Vop::PSRAVD, Zmm(0), ALL, Zmm(0), Rm::Reg(Zmm(1)), None);
                t.store(op.d, Zmm(0), h)
            }),
            Name::if_icmp | Name::if_fcmp => self.halves(|t, h| {
                let (yes, out, go) = (Mask(3), Mask(4), Mask(5));
                t.condition(yes, op, h);
                t.counts(h);
                t.asm.compare(Vop::PCMPD, out, ALL, COUNT, Rm::Constant(0), integer::NOT_EQUAL);
                let deeper = Rm::Constant(u32::from(op.aux[2]));
                t.asm.vector(Vop::PADDD, COUNT, out, COUNT, deeper, None);
                t.asm.mask_op(Kop::Or, go, out, yes);
                t.asm.mask_not(go, go);
                t.asm.vector(Vop::PBLENDMD, COUNT, go, COUNT, Rm::Constant(1), None);
                t.asm.mask_op(Kop::AndNot, go, out, yes);
                t.resume(go, h);
                Ok(())
            }),
            Name::else_icmp | Name::else_fcmp => self.halves(|t, h| {
                let (yes, one, zero) = (Mask(3), Mask(4), Mask(5));
                t.condition(yes, op, h);
                t.counts(h);
                t.asm.compare(Vop::PCMPD, one, ALL, COUNT, Rm::Constant(1), integer::EQUAL);
                t.asm.compare(Vop::PCMPD, zero, ALL, COUNT, Rm::Constant(0), integer::EQUAL);
                t.asm.mask_op(Kop::And, yes, yes, one);
                t.asm.vector(Vop::PBLENDMD, COUNT, yes, COUNT, Rm::Constant(0), None);
                let leave = Rm::Constant(u32::from(op.aux[2]));
                t.asm.vector(Vop::PBLENDMD, COUNT, zero, COUNT, leave, None);
                if op.aux[2] == 0 {
                    t.asm.mask_op(Kop::Or, yes, yes, zero);
                }
                t.resume(yes, h);
                Ok(())
            }),
            Name::while_icmp | Name::while_fcmp if op.aux[2] != 0 => self.halves(|t, h| {
                let (yes, inside) = (Mask(3), Mask(4));
                t.condition(yes, op, h);
                t.counts(h);
                let n = Rm::Constant(u32::from(op.aux[2]));
                t.asm.compare(Vop::PCMPUD, inside, ALL, COUNT, n, integer::LESS);
                t.asm.vector(Vop::PBLENDMD, COUNT, inside, COUNT, n, None);
                t.asm.mask_op(Kop::And, yes, yes, inside);
                t.asm.vector(Vop::PBLENDMD, COUNT, yes, COUNT, Rm::Constant(0), None);
                t.resume(yes, h);
                Ok(())
            }),
            Name::pop_exec => self.halves(|t, h| {
                let go = Mask(3);
                t.counts(h);
                t.asm.load(Zmm(1), Rm::Constant(u32::from(op.aux[2])));
                t.asm.vector(Vop::PSUBUSW, COUNT, ALL, COUNT, Rm::Reg(Zmm(1)), None);
                t.asm.compare(Vop::PCMPD, go, ALL, COUNT, Rm::Constant(0), integer::EQUAL);
                t.resume(go, h);
                Ok(())
            }),
            Name::jmp_exec_any => self.jump(op, labels, Condition::NotZero),
            Name::jmp_exec_none => self.jump(op, labels, Condition::Zero),
            _ => Err(ByHandler),
        }
    }

    /// Does something for both halves of the group. Whether a template applies does not depend on the
    /// half, so nothing was written when the first fails.
    fn halves(&mut self, mut each: impl FnMut(&mut Translator, usize) -> Done) -> Done {
        each(self, 0)?;
        each(self, 1)
    }

    fn float_binary(&mut self, op: &Op, instruction: Vop) -> Done {
        self.halves(|t, h| {
            t.float(Zmm(0), op.s[0], h);
            let b = t.float_operand(Zmm(1), op.s[1], h);
            t.asm.vector(instruction, Zmm(0), ALL, Zmm(0), b, None);
            t.store_float(op.d, Zmm(0), h)
        })
    }

    fn round(&mut self, op: &Op, mode: u8) -> Done {
        self.halves(|t, h| {
            let a = t.float_operand(Zmm(1), op.s[0], h);
            t.asm.vector(Vop::RNDSCALEPS, Zmm(0), ALL, Zmm(0), a, Some(mode));
            t.store_float(op.d, Zmm(0), h)
        })
    }

    /// Integers to floats of 32 bits; `aux[1]` is 0 for rounding toward zero.
    fn convert(&mut self, op: &Op) -> Done {
        use crate::usc::exec::float::convert::{S32_TO_F, U32_TO_F};
        let instruction = match op.aux[0] {
            U32_TO_F => Vop::CVTUDQ2PS,
            S32_TO_F => Vop::CVTDQ2PS,
            _ => return Err(ByHandler),
        };
        if op.aux[1] == 0 || op.d.form != Form::Word {
            return Err(ByHandler);
        }
        self.halves(|t, h| {
            let a = t.int_operand(Zmm(1), op.s[0], h);
            t.asm.vector(instruction, Zmm(0), ALL, Zmm(0), a, None);
            t.store_float(op.d, Zmm(0), h)
        })
    }

    /// Adds `±c << aux[0]` to the first register and stores.
    fn add_shifted(&mut self, op: &Op, c: Src, h: usize) -> Done {
        let instruction = if op.aux[1] != 0 { Vop::PSUBD } else { Vop::PADDD };
        let c = if op.aux[0] == 0 {
            self.int_operand(Zmm(1), c, h)
        } else {
            self.int(Zmm(1), c, h);
            self.asm.shift(Shift::Left, Zmm(1), Zmm(1), op.aux[0] as u8);
            Rm::Reg(Zmm(1))
        };
        self.asm.vector(instruction, Zmm(0), ALL, Zmm(0), c, None);
        self.store(op.d, Zmm(0), h)
    }

    /// Source 2 in the lanes of mask 3, source 3 in the others.
    fn select(&mut self, op: &Op, h: usize) -> Done {
        self.int(Zmm(0), op.s[3], h);
        let x = self.int_operand(Zmm(1), op.s[2], h);
        self.asm.vector(Vop::PBLENDMD, Zmm(0), Mask(3), Zmm(0), x, None);
        self.store(op.d, Zmm(0), h)
    }

    /// The lanes in which a comparison of floats holds, as `fcompare`. Changes mask 7.
    fn float_condition(&mut self, yes: Mask, op: &Op, h: usize) {
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
    fn int_condition(&mut self, yes: Mask, op: &Op, h: usize) {
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

    /// The lanes in which the condition of a control-flow operation holds; `aux[1]` inverts it.
    fn condition(&mut self, yes: Mask, op: &Op, h: usize) {
        match op.name {
            Name::if_fcmp | Name::else_fcmp | Name::while_fcmp => {
                self.float_condition(yes, op, h);
            }
            _ => self.int_condition(yes, op, h),
        }
        if op.aux[1] != 0 {
            self.asm.mask_not(yes, yes);
        }
    }

    /// Loads the counts of constructs that lanes are out of.
    fn counts(&mut self, h: usize) {
        self.asm.load(COUNT, Rm::Mem(REGISTERS, 64 * h as i32));
        self.and(COUNT, 0xffff);
    }

    /// Writes the counts back, and makes the lanes of `go` that exist the active ones.
    fn resume(&mut self, go: Mask, h: usize) {
        let row = Rm::Mem(REGISTERS, 64 * h as i32);
        let (old, alive) = (Zmm(0), Mask(7));
        self.asm.load(old, row);
        let low = Rm::Constant(0xffff);
        self.asm.vector(Vop::PTERNLOGD, old, ALL, COUNT, low, Some(SELECT));
        self.asm.store(row, ALL, old);
        self.asm.mask_load(alive, LANES, field!(alive) + 2 * h as i32);
        self.asm.mask_op(Kop::And, EXEC[h], go, alive);
        self.asm.mask_store(LANES, field!(exec) + 2 * h as i32, EXEC[h]);
        self.asm.expand(old, EXEC[h]);
        self.asm.store(Rm::Mem(LANES, field!(exec_row) + 64 * h as i32), ALL, old);
    }

    /// Jumps to the operation `imm` if the whole mask passes a test against zero.
    fn jump(&mut self, op: &Op, labels: &[Label], condition: Condition) -> Done {
        let Some(&target) = labels.get(op.imm as usize) else { return Err(ByHandler) };
        self.count();
        self.asm.compare_memory(LANES, field!(exec), 0);
        if op.imm as usize > self.index {
            self.asm.jump_if(condition, target);
            return Ok(());
        }
        // Only a way back can go on forever.
        let next = self.asm.label();
        let not = if condition == Condition::Zero { Condition::NotZero } else { Condition::Zero };
        self.asm.jump_if(not, next);
        self.asm.load_word(Gpr::RAX, LANES, field!(executed));
        self.asm.compare_word(Gpr::RAX, LANES, field!(budget));
        let over = self.asm.label();
        self.asm.jump_if(Condition::Above, over);
        self.asm.jump(target);
        self.asm.place(over);
        self.leave(self.index + 1, exit::BUDGET);
        self.asm.place(next);
        Ok(())
    }
}

/// The counts that [`Translator::counts`] loads.
const COUNT: Zmm = Zmm(4);

/// The low `aux[0]` bits; 0 means all.
fn field_mask(op: &Op) -> u32 {
    match op.aux[0] {
        0 => u32::MAX,
        bits => (1 << bits) - 1,
    }
}
