//! Random instructions, for property tests.

use tepui_intel_chips::Generation;

use crate::inst::{Condition, Desc, Flag, Inst, Predicate};
use crate::operand::{Arf, Dst, Location, Region, Register, Src};
use crate::sfid::Sfid;
use crate::swsb::{Swsb, Token};
use crate::table::opcode::{Form, MathFunction, Opcode, SyncFunction};
use crate::types::Type;

/// A random instruction that can be encoded, from a source of random bits. Its operands are of all kinds that
/// the encoding has; the hardware may forbid their combination, see [`crate::validate`].
pub fn inst(generation: Generation, bits: &mut dyn FnMut() -> u64) -> Inst {
    loop {
        let inst = Random(bits).attempt(generation);
        if inst.encode_long().is_ok() {
            return inst;
        }
    }
}

struct Random<'b>(&'b mut dyn FnMut() -> u64);

impl Random<'_> {
    fn below(&mut self, n: usize) -> usize {
        ((self.0)() >> 16) as usize % n
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn attempt(&mut self, generation: Generation) -> Inst {
        let gen9 = generation == Generation::Gen9;
        let opcode = loop {
            let opcode = self.pick(Opcode::ALL);
            if opcode.code(generation).is_some() {
                break opcode;
            }
        };
        let mut inst = Inst::new(generation, opcode);
        if opcode == Opcode::Nop {
            return inst;
        }
        inst.exec_size = self.pick(&[1, 2, 4, 8, 16, 32]);
        inst.channel_offset = match inst.exec_size {
            1 | 2 | 4 => self.below(8) as u8 * 4,
            size => self.below(32 / usize::from(size)) as u8 * size,
        };
        inst.no_mask = self.chance(3);
        inst.acc_write = self.chance(5);
        inst.debug = self.chance(20);
        inst.saturate = !opcode.is_send() && self.chance(4);
        let form = inst.form();
        if gen9 {
            inst.align16 = match form {
                Form::Ternary => true,
                Form::Regular { .. } => self.chance(5),
                _ => false,
            };
            inst.thread_control = self.below(3) as u8;
            inst.no_dd_clear = self.chance(8);
            inst.no_dd_check = self.chance(8);
        } else {
            inst.thread_control = self.below(2) as u8;
            inst.swsb = self.swsb(opcode.is_send() || opcode == Opcode::Math);
        }
        if self.chance(3) {
            let controls = if inst.align16 { 8 } else { 14 };
            let control = 1 + self.below(controls - 1) as u8;
            inst.predicate = Predicate { control, inverse: self.chance(2) };
        }
        match opcode {
            Opcode::Math => inst.function = self.pick(MathFunction::ALL) as u8,
            Opcode::Sync => inst.function = self.pick(SyncFunction::ALL) as u8,
            _ => {}
        }
        self.operands(&mut inst);
        if inst.has_condition() && self.chance(2) {
            inst.condition = self.pick(Condition::ALL).0;
        }
        if inst.uses_flag() {
            inst.flag = Flag { register: self.below(2) as u8, half: self.below(2) as u8 };
        }
        inst
    }

    fn operands(&mut self, inst: &mut Inst) {
        match inst.form() {
            Form::None => {}
            Form::Regular { dst, sources } => {
                if dst {
                    inst.dst = self.dst(inst.align16);
                }
                let last = usize::from(sources) - 1;
                for k in 0..=last {
                    inst.src[k] = self.src(inst.align16, k == last, last == 0);
                }
            }
            Form::Ternary => self.ternary(inst),
            Form::Jip => inst.jip = self.jump(),
            Form::JipUip => {
                inst.jip = self.jump();
                inst.uip = self.jump();
            }
            Form::Call => {
                inst.dst = self.dst(false);
                inst.jip = self.jump();
            }
            Form::Jump => inst.src[0] = self.src(false, true, false),
            Form::Wait => {
                let register = Register::Architecture(Arf::Notification, 0);
                let byte = self.below(3) as u8 * 4;
                inst.dst = Dst { location: Location::Direct { register, byte }, ..Dst::NULL };
            }
            Form::Send => {
                inst.dst = self.dst(false);
                inst.src[0] = self.src(false, false, false);
                self.message(inst);
                inst.send.desc = match self.chance(3) {
                    true => Desc::Address(self.below(8) as u8),
                    false => Desc::Immediate((self.0)() as u32 & 0x7fff_ffff),
                };
            }
            Form::SplitSend => {
                let gen9 = inst.generation == Generation::Gen9;
                for k in 0..3 {
                    let general = k == 1 && gen9 || !self.chance(4);
                    let register = match general {
                        true => Register::General(self.below(128) as u8),
                        false => Register::NULL,
                    };
                    let half = gen9 && k < 2 && self.chance(4);
                    let location = Location::Direct { register, byte: u8::from(half) * 16 };
                    match k {
                        0 => inst.dst.location = location,
                        k => inst.src[k - 1].location = location,
                    }
                }
                self.message(inst);
                let bits = if gen9 { 0x7fff_ffff } else { u32::MAX };
                inst.send.desc = match self.chance(3) {
                    true => Desc::Address(0),
                    false => Desc::Immediate((self.0)() as u32 & bits),
                };
                let bits = if gen9 { 0xffff_03c0 } else { 0xffff_ffc0 };
                inst.send.ex_desc = match self.chance(3) {
                    true => Desc::Address(self.below(8) as u8),
                    false => Desc::Immediate((self.0)() as u32 & bits),
                };
            }
        }
    }

    fn message(&mut self, inst: &mut Inst) {
        inst.send.sfid = self.pick(Sfid::ALL);
        inst.send.end_of_thread = self.chance(3);
    }

    fn jump(&mut self) -> i32 {
        self.below(1 << 12) as i32 * 8 - (1 << 14)
    }

    fn swsb(&mut self, unordered: bool) -> Swsb {
        let distance = self.below(8) as u8;
        let token = if self.chance(2) {
            let combined = if unordered { Token::Set } else { Token::Dst };
            let token = match distance {
                0 => self.pick(&[Token::Set, Token::Src, Token::Dst]),
                _ => combined,
            };
            Some((self.below(16) as u8, token))
        } else {
            None
        };
        Swsb { distance, token }
    }

    fn register(&mut self) -> Register {
        if !self.chance(6) {
            return Register::General(self.below(128) as u8);
        }
        let (arf, _) = self.pick(Arf::ALL);
        let number = if arf.is_single() { 0 } else { self.below(2) as u8 };
        Register::Architecture(arf, number)
    }

    fn register_type(&mut self) -> Type {
        loop {
            let ty = self.pick(Type::ALL);
            if !ty.is_vector() {
                return ty;
            }
        }
    }

    fn location(&mut self, ty: Type, align16: bool) -> Location {
        if !align16 && self.chance(6) {
            let address = self.below(16) as u8;
            return Location::Indirect { address, offset: self.below(1024) as i16 - 512 };
        }
        let unit = if align16 { 16 } else { ty.bytes() };
        let byte = (self.below(32 / unit) * unit) as u8;
        Location::Direct { register: self.register(), byte }
    }

    fn dst(&mut self, align16: bool) -> Dst {
        let ty = self.register_type();
        let location = self.location(ty, align16);
        match align16 {
            true => Dst { location, ty, stride: 1, writemask: 1 + self.below(15) as u8 },
            false => Dst { location, ty, stride: self.pick(&[1, 2, 4]), writemask: 15 },
        }
    }

    fn src(&mut self, align16: bool, immediate: bool, wide: bool) -> Src {
        if immediate && self.chance(4) {
            let ty = loop {
                let ty = self.pick(Type::ALL);
                if ty.is_vector() || ty.bytes() > 1 && (wide || ty.bytes() < 8) {
                    break ty;
                }
            };
            return Src::immediate(ty, (self.0)());
        }
        let ty = self.register_type();
        let location = self.location(ty, align16);
        let region = if align16 {
            Region::Swizzle { vertical: self.pick(&[0, 4]), swizzle: self.below(256) as u8 }
        } else {
            let width = self.pick(&[1, 2, 4, 8, 16]);
            let horizontal = self.pick(&[0, 1, 2, 4]);
            match location {
                Location::Indirect { .. } if self.chance(2) => Region::PerRow { width, horizontal },
                _ => Region::Rows {
                    vertical: self.pick(&[0, 1, 2, 4, 8, 16, 32]),
                    width,
                    horizontal,
                },
            }
        };
        Src { location, ty, negate: self.chance(4), abs: self.chance(4), region }
    }

    fn ternary(&mut self, inst: &mut Inst) {
        let gen9 = inst.generation == Generation::Gen9;
        let location = |random: &mut Self, unit: usize| Location::Direct {
            register: Register::General(random.below(128) as u8),
            byte: (random.below(32 / unit) * unit) as u8,
        };
        let modifiers = |random: &mut Self| (random.chance(4), random.chance(4));
        if gen9 {
            let ty = self.pick(&[Type::F, Type::D, Type::UD, Type::DF, Type::HF]);
            inst.dst = Dst {
                location: location(self, ty.bytes().max(4)),
                ty,
                stride: 1,
                writemask: 1 + self.below(15) as u8,
            };
            for k in 0..3 {
                let ty = match ty {
                    Type::F | Type::HF if k > 0 => self.pick(&[Type::F, Type::HF]),
                    _ => ty,
                };
                let region = match self.chance(2) {
                    true => Region::SCALAR,
                    false => Region::Swizzle { vertical: 4, swizzle: self.below(256) as u8 },
                };
                let (negate, abs) = modifiers(self);
                let location = location(self, ty.bytes());
                inst.src[k] = Src { location, ty, negate, abs, region };
            }
            return;
        }
        let floats = [Type::HF, Type::F, Type::DF];
        let integers = [Type::UW, Type::W, Type::UD, Type::D, Type::UB, Type::B];
        let types: &[Type] = if self.chance(2) { &floats } else { &integers };
        inst.dst = Dst {
            location: location(self, 8),
            ty: self.pick(types),
            stride: self.pick(&[1, 2]),
            writemask: 15,
        };
        for k in 0..3 {
            let ty = self.pick(types);
            if k != 1 && ty.bytes() == 2 && self.chance(3) {
                inst.src[k] = Src::immediate(ty, (self.0)());
                continue;
            }
            let horizontal = self.pick(&[0, 1, 2, 4]);
            let vertical = if k == 2 { horizontal } else { self.pick(&[0, 1, 4, 8]) };
            let width = match horizontal {
                0 => vertical.max(1),
                _ => vertical / horizontal,
            };
            let (negate, abs) = modifiers(self);
            let region = Region::Rows { vertical, width, horizontal };
            inst.src[k] = Src { location: location(self, ty.bytes()), ty, negate, abs, region };
        }
    }
}
