//! The 128-bit encoding: one description of the fields, run by an encoder and by a decoder.
//!
//! `instruction` walks an [`Inst`] and hands each field to a coder, which either writes the
//! field's value into the bits or reads it from them. So encoding and decoding cannot differ.
//!
//! source: Mesa, `src/intel/compiler/brw_eu_inst.h`, `brw_eu_emit.c`.

mod coder;
mod operand;
mod send;
mod ternary;

use coder::{Coder, Reader, SIZES, Writer, bit, number, one_of, reserved, unencodable};
use operand::{dst, src};
use send::{send, split_send};
use tepui_intel_chips::Generation;
use ternary::{ternary1, ternary16};

use crate::compact;
use crate::error::{DecodeError, FieldError};
use crate::inst::{Condition, Inst};
use crate::operand::{Arf, Location, Register};
use crate::swsb::Swsb;
use crate::table::field::{self as f, Field};
use crate::table::opcode::{Form, MathFunction, Opcode, SyncFunction};
use crate::types::{self, Type};

type Result<T, E = FieldError> = std::result::Result<T, E>;

fn jump(c: &mut impl Coder, field: &'static Field, offset: &mut i32) -> Result<()> {
    *offset = c.raw(field, u64::from(*offset as u32))? as u32 as i32;
    Ok(())
}

/// All fields of an instruction except for its opcode.
fn instruction(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    let form = inst.form();
    if inst.opcode == Opcode::Nop {
        return Ok(());
    }
    if f::ACCESS_MODE.exists(c.generation()) || inst.align16 {
        bit(c, &f::ACCESS_MODE, &mut inst.align16)?;
    }
    match form {
        Form::None => {}
        Form::Regular { dst: has_dst, sources } => {
            if has_dst {
                dst(c, inst.align16, &mut inst.dst)?;
            }
            for n in 0..usize::from(sources) {
                src(c, n, inst.align16, &mut inst.src[n])?;
            }
        }
        Form::Ternary => match c.generation() {
            Generation::Gen9 => ternary16(c, inst)?,
            Generation::Gen12 => ternary1(c, inst)?,
        },
        Form::Jip => jump(c, &f::JIP, &mut inst.jip)?,
        Form::JipUip => {
            jump(c, &f::JIP, &mut inst.jip)?;
            jump(c, &f::UIP, &mut inst.uip)?;
        }
        Form::Call => {
            dst(c, false, &mut inst.dst)?;
            jump(c, &f::JIP, &mut inst.jip)?;
        }
        Form::Jump => src(c, 1, false, &mut inst.src[0])?,
        Form::Wait => dst(c, false, &mut inst.dst)?,
        Form::Send => send(c, inst)?,
        Form::SplitSend => split_send(c, inst)?,
    }
    controls(c, inst)
}

fn controls(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    one_of(c, &f::EXEC_SIZE, &SIZES, &mut inst.exec_size)?;
    let mut quarter = inst.channel_offset / 8;
    let mut nibble = inst.channel_offset / 4 % 2;
    number(c, &f::QUARTER, &mut quarter)?;
    number(c, &f::NIBBLE, &mut nibble)?;
    let offset = quarter * 8 + nibble * 4;
    // Larger rows begin at a multiple of their size.
    if inst.exec_size >= 8 && !offset.is_multiple_of(inst.exec_size)
        || !inst.channel_offset.is_multiple_of(4)
    {
        return Err(reserved(&f::QUARTER, u64::from(offset)));
    }
    inst.channel_offset = offset;
    bit(c, &f::NO_MASK, &mut inst.no_mask)?;
    bit(c, &f::NO_DD_CLEAR, &mut inst.no_dd_clear)?;
    bit(c, &f::NO_DD_CHECK, &mut inst.no_dd_check)?;
    if c.generation() == Generation::Gen9 {
        number(c, &f::THREAD_CONTROL, &mut inst.thread_control)?;
        if inst.thread_control > 2 {
            return Err(reserved(&f::THREAD_CONTROL, 3));
        }
    } else {
        number(c, &f::ATOMIC_CONTROL, &mut inst.thread_control)?;
        let unordered = inst.opcode.is_send() || inst.opcode == Opcode::Math;
        let code = inst.swsb.code(unordered).ok_or_else(|| unencodable(&f::SWSB, "this pair"))?;
        let code = c.raw(&f::SWSB, u64::from(code))?;
        inst.swsb =
            Swsb::from_code(code as u8, unordered).ok_or_else(|| reserved(&f::SWSB, code))?;
    }
    number(c, &f::PREDICATE, &mut inst.predicate.control)?;
    let names = if inst.align16 { 8 } else { 14 };
    if inst.predicate.control >= names {
        return Err(reserved(&f::PREDICATE, u64::from(inst.predicate.control)));
    }
    if inst.predicate.control != 0 {
        bit(c, &f::PREDICATE_INVERSE, &mut inst.predicate.inverse)?;
    }
    bit(c, &f::ACC_WRITE, &mut inst.acc_write)?;
    bit(c, &f::DEBUG, &mut inst.debug)?;
    if !inst.opcode.is_send() {
        bit(c, &f::SATURATE, &mut inst.saturate)?;
    }
    function(c, inst)?;
    if inst.uses_flag() {
        number(c, &f::FLAG, &mut inst.flag.register)?;
        number(c, &f::FLAG_SUB, &mut inst.flag.half)?;
    }
    Ok(())
}

/// The field that holds a condition, or the function of `math` and `sync`.
fn function(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    if inst.has_condition() {
        let code = c.raw(&f::CONDITION, inst.condition as u64)?;
        let condition = Condition::from_code(code as u8);
        inst.condition = condition.ok_or_else(|| reserved(&f::CONDITION, code))?;
        return Ok(());
    }
    let known: fn(u8) -> bool = match inst.opcode {
        Opcode::Math => |code| MathFunction::from_code(code).is_some(),
        Opcode::Sync => |code| SyncFunction::from_code(code).is_some(),
        _ => return Ok(()),
    };
    if c.generation() >= Generation::Gen12
        && inst.src[0].immediate_bits().is_some()
        && inst.src[0].ty.bytes() == 8
    {
        return Err(FieldError::Unknown("an immediate of 64 bits over the function"));
    }
    number(c, &f::CONDITION, &mut inst.function)?;
    if known(inst.function) {
        return Ok(());
    }
    Err(reserved(&f::CONDITION, u64::from(inst.function)))
}

/// Bits that Mesa's assembler (25.0) sets in a branch in addition to its jumps, and its driver (26.1) does
/// not: the null register as destination; on Gen12 a type for source 0.
pub(crate) fn branch_extras(inst: &Inst) -> u128 {
    let mut bits = 0;
    if !matches!(inst.form(), Form::Jip | Form::JipUip) {
        return bits;
    }
    let signed = Type::D.code(inst.generation, types::TypePosition::Register).unwrap_or(0);
    if !matches!(inst.opcode, Opcode::Endif | Opcode::Cont) {
        f::DST_TYPE.set(inst.generation, &mut bits, u64::from(signed));
        f::DST_STRIDE.set(inst.generation, &mut bits, 1);
    }
    let typed = matches!(inst.opcode, Opcode::Break | Opcode::Cont | Opcode::Endif);
    if typed && inst.generation >= Generation::Gen12 {
        f::SRC0_TYPE.set(inst.generation, &mut bits, u64::from(signed));
    }
    bits
}

/// Bits that Mesa's assembler sets in fields that belong to no operand of the instruction.
fn implied(inst: &Inst) -> u128 {
    let mut bits = branch_extras(inst);
    let mut set = |field: &Field, value: u64| field.set(inst.generation, &mut bits, value);
    let gen9 = inst.generation == Generation::Gen9;
    let signed = if gen9 { 1 } else { 6 };
    if inst.opcode == Opcode::Nop && inst.compacted {
        // All indices 0.
        let code = inst.opcode.code(inst.generation).unwrap_or(0);
        return compact::expand(inst.generation, u64::from(code)).unwrap_or(0);
    }
    match (inst.form(), inst.opcode) {
        (Form::Regular { sources: 1, .. }, _)
            if gen9
                && !inst.compacted
                && inst.src[0].immediate_bits().is_some()
                && inst.src[0].ty.immediate_bytes() < 8 =>
        {
            // The missing second source has the immediate's type.
            let code = inst.src[0].ty.code(inst.generation, types::TypePosition::Immediate);
            set(&f::SRC1_TYPE, u64::from(code.unwrap_or(0)));
        }
        (Form::Jip | Form::JipUip | Form::Call, opcode) => {
            if opcode == Opcode::Cont {
                let ty = Type::UD.code(inst.generation, types::TypePosition::Register);
                set(&f::DST_REG, u64::from(Register::Architecture(Arf::Ip, 0).code()));
                set(&f::DST_TYPE, u64::from(ty.unwrap_or(0)));
                set(&f::DST_STRIDE, 1);
            }
            if gen9 {
                set(&f::SRC0_FILE, 3);
                set(&f::SRC0_TYPE, signed);
                set(&f::SRC1_TYPE, signed);
            } else {
                set(&f::SRC0_IMMEDIATE, 1);
                if inst.form() == Form::JipUip {
                    set(&f::SRC1_IMMEDIATE, 1);
                }
            }
        }
        (Form::Jump, _) => {
            let ip = u64::from(Register::Architecture(Arf::Ip, 0).code());
            let unsigned = if gen9 { 0 } else { 2 };
            set(&f::DST_REG, ip);
            set(&f::DST_TYPE, unsigned);
            set(&f::DST_STRIDE, 1);
            set(&f::SRC0_REG, ip);
            set(&f::SRC0_TYPE, unsigned);
            if inst.exec_size != 1 {
                set(&f::SRC0_VERTICAL, 3);
            }
        }
        (Form::Wait, _) => {
            if let Location::Direct { register, byte } = inst.dst.location {
                set(&f::SRC0_REG, u64::from(register.code()));
                set(&f::SRC0_SUB, u64::from(byte));
            }
            let code = inst.dst.ty.code(inst.generation, types::TypePosition::Register);
            set(&f::SRC0_TYPE, u64::from(code.unwrap_or(0)));
            set(&f::SRC1_TYPE, 7);
            set(&f::SRC1_VERTICAL, 4);
            set(&f::SRC1_WIDTH, 3);
            set(&f::SRC1_HORIZONTAL, 1);
        }
        _ => {}
    }
    bits
}

impl Inst {
    /// The 128-bit form.
    ///
    /// # Errors
    /// A part of it cannot be encoded.
    pub fn encode_long(&self) -> Result<u128> {
        let mut inst = *self;
        let generation = self.generation;
        let code = self
            .opcode
            .code(generation)
            .ok_or(FieldError::NoSuchOpcode { mnemonic: self.opcode.mnemonic(), generation })?;
        let mut writer = Writer::new(generation, implied(self));
        writer.raw(&f::OPCODE, u64::from(code))?;
        instruction(&mut writer, &mut inst)?;
        Ok(writer.bits() ^ self.unusual)
    }

    /// Decodes a 128-bit form; `compacted` says that it was expanded from 64 bits.
    ///
    /// # Errors
    /// The bits encode no instruction.
    pub fn decode_long(generation: Generation, bits: u128, compacted: bool) -> Result<Inst> {
        let code = f::OPCODE.get(generation, bits) as u8;
        let opcode = Opcode::from_code(generation, code);
        let opcode = opcode.ok_or(FieldError::Opcode { code, generation })?;
        let mut inst = Inst { compacted, ..Inst::new(generation, opcode) };
        instruction(&mut Reader { generation, bits }, &mut inst)?;
        inst.unusual = inst.encode_long()? ^ bits;
        Ok(inst)
    }

    /// Its bytes: 8 if it is [compacted](Inst::compacted), else 16.
    ///
    /// # Errors
    /// A part of it cannot be encoded, or it has no compacted form.
    pub fn encode(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let long = self.encode_long()?;
        if self.compacted {
            bytes.extend(compact::compact(self.generation, long)?.to_le_bytes());
        } else {
            bytes.extend(long.to_le_bytes());
        }
        Ok(())
    }

    /// Decodes the instruction at a byte of the code.
    ///
    /// # Errors
    /// The bytes encode no instruction, or end within it.
    pub fn decode(generation: Generation, code: &[u8], offset: usize) -> Result<Inst, DecodeError> {
        let at = |kind| DecodeError { offset, kind };
        let rest = code.get(offset..).unwrap_or(&[]);
        let short = rest.first_chunk().ok_or_else(|| at(FieldError::Truncated))?;
        let short = u64::from_le_bytes(*short);
        let compacted = f::COMPACTED.get(generation, u128::from(short)) != 0;
        let long = if compacted {
            compact::expand(generation, short).map_err(at)?
        } else {
            let long = rest.first_chunk().ok_or_else(|| at(FieldError::Truncated))?;
            u128::from_le_bytes(*long)
        };
        Inst::decode_long(generation, long, compacted).map_err(at)
    }
}
