//! Operands of instructions with one or two sources.

use tepui_intel_chips::Generation;

use super::Result;
use super::coder::{
    Coder, LocationKind, PER_ROW, STRIDE, VERTICAL, WIDTH, aligned, bit, file, indirect, kind,
    number, one_of, register, reserved, ty, unencodable,
};
use crate::error::FieldError;
use crate::operand::{Dst, Location, Region, Register, Src};
use crate::table::field::{self as f, Field};
use crate::types;

/// The bit fields of one operand of instructions with one or two sources.
pub(super) struct Fields {
    immediate: &'static Field,
    file: &'static Field,
    ty: &'static Field,
    vertical: &'static Field,
    width: &'static Field,
    horizontal: &'static Field,
    indirect: &'static Field,
    negate: &'static Field,
    abs: &'static Field,
    reg: &'static Field,
    sub: &'static Field,
    address: &'static Field,
    offset: &'static Field,
    a16_sub: &'static Field,
    swizzle: &'static Field,
}

pub(super) static SOURCE: [Fields; 2] = [
    Fields {
        immediate: &f::SRC0_IMMEDIATE,
        file: &f::SRC0_FILE,
        ty: &f::SRC0_TYPE,
        vertical: &f::SRC0_VERTICAL,
        width: &f::SRC0_WIDTH,
        horizontal: &f::SRC0_HORIZONTAL,
        indirect: &f::SRC0_INDIRECT,
        negate: &f::SRC0_NEGATE,
        abs: &f::SRC0_ABS,
        reg: &f::SRC0_REG,
        sub: &f::SRC0_SUB,
        address: &f::SRC0_ADDRESS,
        offset: &f::SRC0_OFFSET,
        a16_sub: &f::SRC0_A16_SUB,
        swizzle: &f::SRC0_SWIZZLE,
    },
    Fields {
        immediate: &f::SRC1_IMMEDIATE,
        file: &f::SRC1_FILE,
        ty: &f::SRC1_TYPE,
        vertical: &f::SRC1_VERTICAL,
        width: &f::SRC1_WIDTH,
        horizontal: &f::SRC1_HORIZONTAL,
        indirect: &f::SRC1_INDIRECT,
        negate: &f::SRC1_NEGATE,
        abs: &f::SRC1_ABS,
        reg: &f::SRC1_REG,
        sub: &f::SRC1_SUB,
        address: &f::SRC1_ADDRESS,
        offset: &f::SRC1_OFFSET,
        a16_sub: &f::SRC1_A16_SUB,
        swizzle: &f::SRC1_SWIZZLE,
    },
];

pub(super) fn dst(c: &mut impl Coder, align16: bool, dst: &mut Dst) -> Result<()> {
    let mut is_indirect = matches!(dst.location, Location::Indirect { .. });
    bit(c, &f::DST_INDIRECT, &mut is_indirect)?;
    ty(c, &f::DST_TYPE, types::TypePosition::Register, &mut dst.ty)?;
    if align16 {
        // The stride is not used, but hardware requires it to be 1.
        dst.stride = 1;
    }
    one_of(c, &f::DST_STRIDE, &STRIDE, &mut dst.stride)?;
    if is_indirect {
        if align16 {
            return Err(FieldError::Unknown("an indirect destination in Align16"));
        }
        // Gen12 has no file field for an indirect operand.
        if c.generation() == Generation::Gen9 && c.raw(&f::DST_FILE, 1)? != 1 {
            return Err(reserved(&f::DST_FILE, 0));
        }
        return indirect(c, &f::DST_ADDRESS, &f::DST_OFFSET, &mut dst.location);
    }
    let kind = file(c, None, &f::DST_FILE, kind(dst.location))?;
    let (mut reg, mut byte) = match dst.location {
        Location::Direct { register, byte } => (register, byte),
        _ => (Register::NULL, 0),
    };
    register(c, kind == LocationKind::General, &f::DST_REG, &mut reg)?;
    if align16 {
        let mut half = byte / 16;
        number(c, &f::DST_A16_SUB, &mut half)?;
        byte = half * 16;
        number(c, &f::DST_WRITEMASK, &mut dst.writemask)?;
    } else {
        number(c, &f::DST_SUB, &mut byte)?;
        aligned(&f::DST_SUB, byte, dst.ty)?;
        dst.writemask = 15;
    }
    dst.location = Location::Direct { register: reg, byte };
    Ok(())
}

pub(super) fn src(c: &mut impl Coder, n: usize, align16: bool, src: &mut Src) -> Result<()> {
    let fields = &SOURCE[n];
    // Immediates first: on Gen12 the file bit of an indirect source belongs to its offset.
    let mut is_indirect = matches!(src.location, Location::Indirect { .. });
    let gen9 = c.generation() == Generation::Gen9;
    let mut kind = kind(src.location);
    if gen9 {
        kind = file(c, Some(fields.immediate), fields.file, kind)?;
    } else if c.raw(fields.immediate, u64::from(kind == LocationKind::Immediate))? != 0 {
        kind = LocationKind::Immediate;
    } else if kind == LocationKind::Immediate {
        kind = LocationKind::General;
    }
    if kind == LocationKind::Immediate {
        ty(c, fields.ty, types::TypePosition::Immediate, &mut src.ty)?;
        return immediate(c, n, src);
    }
    ty(c, fields.ty, types::TypePosition::Register, &mut src.ty)?;
    bit(c, fields.negate, &mut src.negate)?;
    bit(c, fields.abs, &mut src.abs)?;
    bit(c, fields.indirect, &mut is_indirect)?;
    if is_indirect {
        if align16 {
            return Err(FieldError::Unknown("an indirect source in Align16"));
        }
        if gen9 && kind != LocationKind::General {
            return Err(reserved(fields.file, 0));
        }
        indirect(c, fields.address, fields.offset, &mut src.location)?;
        return region(c, fields, src);
    }
    if !gen9 {
        kind = file(c, None, fields.file, kind)?;
    }
    let (mut reg, mut byte) = match src.location {
        Location::Direct { register, byte } => (register, byte),
        _ => (Register::NULL, 0),
    };
    register(c, kind == LocationKind::General, fields.reg, &mut reg)?;
    if align16 {
        let mut half = byte / 16;
        number(c, fields.a16_sub, &mut half)?;
        byte = half * 16;
        let (mut vertical, mut swizzle) = match src.region {
            Region::Swizzle { vertical, swizzle } => (vertical, swizzle),
            _ => (4, Region::XYZW),
        };
        one_of(c, fields.vertical, &VERTICAL, &mut vertical)?;
        number(c, fields.swizzle, &mut swizzle)?;
        src.region = Region::Swizzle { vertical, swizzle };
    } else {
        number(c, fields.sub, &mut byte)?;
        aligned(fields.sub, byte, src.ty)?;
        region(c, fields, src)?;
    }
    src.location = Location::Direct { register: reg, byte };
    Ok(())
}

pub(super) fn region(c: &mut impl Coder, fields: &Fields, src: &mut Src) -> Result<()> {
    let (code, mut width, mut horizontal) = match src.region {
        Region::Rows { vertical, width, horizontal } => {
            let code = VERTICAL.iter().position(|v| *v == vertical);
            let code = code.ok_or_else(|| unencodable(fields.vertical, vertical))?;
            (code as u64, width, horizontal)
        }
        Region::PerRow { width, horizontal } => (PER_ROW, width, horizontal),
        Region::Swizzle { .. } => return Err(unencodable(fields.vertical, "a swizzle")),
    };
    let code = c.raw(fields.vertical, code)?;
    one_of(c, fields.width, &WIDTH, &mut width)?;
    one_of(c, fields.horizontal, &STRIDE, &mut horizontal)?;
    src.region = match code {
        PER_ROW if matches!(src.location, Location::Indirect { .. }) => {
            Region::PerRow { width, horizontal }
        }
        _ => {
            let vertical = VERTICAL.get(code as usize);
            let vertical = *vertical.ok_or_else(|| reserved(fields.vertical, code))?;
            Region::Rows { vertical, width, horizontal }
        }
    };
    Ok(())
}

pub(super) fn immediate(c: &mut impl Coder, n: usize, src: &mut Src) -> Result<()> {
    let field = match src.ty.immediate_bytes() {
        8 if n == 0 => &f::IMM64,
        8 => return Err(FieldError::Unknown("an immediate of 64 bits as the second source")),
        _ => &f::IMM32,
    };
    let value = c.raw(field, src.immediate_bits().unwrap_or(0))?;
    *src = Src::immediate(src.ty, value);
    Ok(())
}
