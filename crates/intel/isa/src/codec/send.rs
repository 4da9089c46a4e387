//! Messages.

use tepui_intel_chips::Generation;

use super::Result;
use super::coder::{Coder, bit, number, register, reserved, unencodable};
use super::operand::{dst, src};
use crate::error::FieldError;
use crate::inst::{Desc, Inst};
use crate::operand::{Arf, Location, Region, Register, Src};
use crate::sfid::Sfid;
use crate::table::field::{self as f, Field};

pub(super) fn send(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    sfid(c, &mut inst.send.sfid)?;
    bit(c, &f::SEND_EOT, &mut inst.send.end_of_thread)?;
    dst(c, inst.align16, &mut inst.dst)?;
    src(c, 0, inst.align16, &mut inst.src[0])?;
    // The descriptor is encoded as an immediate second source, or is register a0.
    let immediate = matches!(inst.send.desc, Desc::Immediate(_));
    let code = c.raw(&f::SRC1_FILE, if immediate { 3 } else { 0 })?;
    match code {
        3 => {
            let bits = if let Desc::Immediate(bits) = inst.send.desc { bits } else { 0 };
            inst.send.desc = Desc::Immediate(c.raw(&f::SEND_DESC, u64::from(bits))? as u32);
        }
        0 => {
            let mut operand = Src { region: Region::SCALAR, ..Src::NULL };
            if let Desc::Address(dword) = inst.send.desc {
                let register = Register::Architecture(Arf::Address, 0);
                operand.location = Location::Direct { register, byte: dword * 4 };
            }
            src(c, 1, false, &mut operand)?;
            let plain = Src { location: operand.location, region: Region::SCALAR, ..Src::NULL };
            match operand.location {
                Location::Direct { register: Register::Architecture(Arf::Address, 0), byte }
                    if operand == plain =>
                {
                    inst.send.desc = Desc::Address(byte / 4);
                }
                _ => return Err(FieldError::Unknown("a descriptor outside of a0")),
            }
        }
        code => return Err(reserved(&f::SRC1_FILE, code)),
    }
    Ok(())
}

pub(super) fn sfid(c: &mut impl Coder, sfid: &mut Sfid) -> Result<()> {
    let id = c.raw(&f::SEND_SFID, *sfid as u64)?;
    *sfid = Sfid::from_id(id as u8).ok_or_else(|| reserved(&f::SEND_SFID, id))?;
    Ok(())
}

/// A payload or response of a split send: a register; on Gen9 it may begin in the second half.
pub(super) fn send_register(
    c: &mut impl Coder,
    file_field: Option<&'static Field>,
    reg_field: &'static Field,
    half_field: Option<&'static Field>,
    location: &mut Location,
) -> Result<()> {
    let (mut reg, byte) = match *location {
        Location::Direct { register, byte } => (register, byte),
        _ => return Err(unencodable(reg_field, "an indirect operand")),
    };
    let general = match file_field {
        Some(field) => c.raw(field, u64::from(reg.is_general()))? != 0,
        None => true,
    };
    register(c, general, reg_field, &mut reg)?;
    let mut half = byte / 16;
    match half_field {
        Some(field) => number(c, field, &mut half)?,
        None if byte == 0 => {}
        None => return Err(unencodable(reg_field, "a subregister")),
    }
    *location = Location::Direct { register: reg, byte: half * 16 };
    Ok(())
}

pub(super) fn split_send(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    let gen9 = c.generation() == Generation::Gen9;
    let half = |field| gen9.then_some(field);
    if gen9 && (c.raw(&f::DST_INDIRECT, 0)? != 0 || c.raw(&f::SRC0_INDIRECT, 0)? != 0) {
        return Err(FieldError::Unknown("an indirect operand of a split send"));
    }
    sfid(c, &mut inst.send.sfid)?;
    bit(c, &f::SEND_EOT, &mut inst.send.end_of_thread)?;
    let dst = &mut inst.dst;
    let dst_half = half(&f::SEND_DST_HALF);
    send_register(c, Some(&f::SEND_DST_FILE), &f::SEND_DST_REG, dst_half, &mut dst.location)?;
    let src0 = &mut inst.src[0].location;
    let src0_file = (!gen9).then_some(&f::SEND_SRC0_FILE);
    send_register(c, src0_file, &f::SEND_SRC0_REG, half(&f::SEND_SRC0_HALF), src0)?;
    let src1 = &mut inst.src[1].location;
    send_register(c, Some(&f::SEND_SRC1_FILE), &f::SEND_SRC1_REG, None, src1)?;

    let send = &mut inst.send;
    let mut in_register = matches!(send.desc, Desc::Address(_));
    bit(c, &f::SEND_DESC_REG, &mut in_register)?;
    send.desc = match (in_register, send.desc) {
        (true, _) => Desc::Address(0),
        (false, Desc::Immediate(bits)) => {
            Desc::Immediate(c.raw(&f::SEND_DESC, u64::from(bits))? as u32)
        }
        (false, Desc::Address(_)) => Desc::Immediate(c.raw(&f::SEND_DESC, 0)? as u32),
    };
    let mut in_register = matches!(send.ex_desc, Desc::Address(_));
    bit(c, &f::SEND_EX_DESC_REG, &mut in_register)?;
    if in_register {
        let mut dword = if let Desc::Address(dword) = send.ex_desc { dword } else { 0 };
        number(c, &f::SEND_EX_DESC_SUB, &mut dword)?;
        send.ex_desc = Desc::Address(dword);
    } else {
        let bits = if let Desc::Immediate(bits) = send.ex_desc { bits } else { 0 };
        let (high, low) = if gen9 { (16, 4) } else { (11, 5) };
        if bits & ((1 << high) - 1) & !(((1 << low) - 1) << 6) != 0 {
            return Err(unencodable(&f::SEND_EX_DESC_LOW, format!("{bits:#x}")));
        }
        let top = c.raw(&f::SEND_EX_DESC_HIGH, u64::from(bits >> high))?;
        let bottom = c.raw(&f::SEND_EX_DESC_LOW, u64::from(bits >> 6 & ((1 << low) - 1)))?;
        send.ex_desc = Desc::Immediate((top << high | bottom << 6) as u32);
    }
    Ok(())
}
