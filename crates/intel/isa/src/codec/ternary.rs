//! Operands of instructions with three sources.

use super::Result;
use super::coder::{
    Coder, LocationKind, STRIDE, TERNARY_VERTICAL, aligned, bit, file, kind, number, one_of,
    register, reserved, ty, unencodable,
};
use crate::error::FieldError;
use crate::inst::Inst;
use crate::operand::{Location, Region, Register, Src};
use crate::table::field::{self as f, Field};
use crate::types::{self, Type};

/// The bit fields of one of three sources.
pub(super) struct TernaryFields {
    immediate: &'static Field,
    file: &'static Field,
    ty: &'static Field,
    half: Option<&'static Field>,
    reg: &'static Field,
    sub: &'static Field,
    negate: &'static Field,
    abs: &'static Field,
    swizzle: &'static Field,
    replicate: &'static Field,
    vertical: Option<&'static Field>,
    horizontal: &'static Field,
    imm16: Option<&'static Field>,
}

pub(super) static TERNARY: [TernaryFields; 3] = [
    TernaryFields {
        immediate: &f::T_SRC0_IMMEDIATE,
        file: &f::T_SRC0_FILE,
        ty: &f::T_SRC0_TYPE,
        half: None,
        reg: &f::T_SRC0_REG,
        sub: &f::T_SRC0_SUB,
        negate: &f::T_SRC0_NEGATE,
        abs: &f::T_SRC0_ABS,
        swizzle: &f::T_SRC0_SWIZZLE,
        replicate: &f::T_SRC0_REPLICATE,
        vertical: Some(&f::T_SRC0_VERTICAL),
        horizontal: &f::T_SRC0_HORIZONTAL,
        imm16: Some(&f::T_SRC0_IMM16),
    },
    TernaryFields {
        immediate: &f::T_SRC1_IMMEDIATE,
        file: &f::T_SRC1_FILE,
        ty: &f::T_SRC1_TYPE,
        half: Some(&f::T_SRC1_HALF),
        reg: &f::T_SRC1_REG,
        sub: &f::T_SRC1_SUB,
        negate: &f::T_SRC1_NEGATE,
        abs: &f::T_SRC1_ABS,
        swizzle: &f::T_SRC1_SWIZZLE,
        replicate: &f::T_SRC1_REPLICATE,
        vertical: Some(&f::T_SRC1_VERTICAL),
        horizontal: &f::T_SRC1_HORIZONTAL,
        imm16: None,
    },
    TernaryFields {
        immediate: &f::T_SRC2_IMMEDIATE,
        file: &f::T_SRC2_FILE,
        ty: &f::T_SRC2_TYPE,
        half: Some(&f::T_SRC2_HALF),
        reg: &f::T_SRC2_REG,
        sub: &f::T_SRC2_SUB,
        negate: &f::T_SRC2_NEGATE,
        abs: &f::T_SRC2_ABS,
        swizzle: &f::T_SRC2_SWIZZLE,
        replicate: &f::T_SRC2_REPLICATE,
        vertical: None,
        horizontal: &f::T_SRC2_HORIZONTAL,
        imm16: Some(&f::T_SRC2_IMM16),
    },
];

/// Encodes three sources in Align16 (Gen9).
pub(super) fn ternary16(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    if !inst.align16 {
        return Err(FieldError::Unknown("three sources in Align1 on Gen9"));
    }
    let position = types::TypePosition::Ternary { float: true };
    let dst = &mut inst.dst;
    ty(c, &f::T_DST_TYPE, position, &mut dst.ty)?;
    let (mut reg, byte) = match dst.location {
        Location::Direct { register, byte } => (register, byte),
        _ => (Register::General(0), 0),
    };
    if !byte.is_multiple_of(4) {
        return Err(unencodable(&f::T_DST_SUB, byte));
    }
    ternary_register(c, &f::T_DST_REG, &mut reg)?;
    let mut dword = byte / 4;
    number(c, &f::T_DST_SUB, &mut dword)?;
    aligned(&f::T_DST_SUB, dword * 4, dst.ty)?;
    number(c, &f::T_DST_WRITEMASK, &mut dst.writemask)?;
    dst.location = Location::Direct { register: reg, byte: dword * 4 };
    dst.stride = 1;

    // All sources share one type; if it is a float, sources 1 and 2 say whether they are half floats.
    let mut common = inst.src[0].ty;
    ty(c, &f::T_SRC_TYPE, position, &mut common)?;
    let floats = matches!(common, Type::F | Type::HF);
    for (src, fields) in inst.src.iter_mut().zip(&TERNARY) {
        let ty = match fields.half {
            Some(half) if floats => {
                let mut is_half = src.ty == Type::HF;
                bit(c, half, &mut is_half)?;
                if is_half { Type::HF } else { Type::F }
            }
            _ => common,
        };
        if !matches!(src.location, Location::NULL) && src.ty != ty {
            return Err(unencodable(&f::T_SRC_TYPE, src.ty));
        }
        src.ty = ty;
        ternary16_source(c, fields, src)?;
    }
    Ok(())
}

pub(super) fn ternary_register(
    c: &mut impl Coder,
    field: &'static Field,
    value: &mut Register,
) -> Result<()> {
    // When decoding, the default is the null register.
    let code = match *value {
        Register::General(n) => n,
        Register::NULL => 0,
        Register::Architecture(..) => return Err(unencodable(field, *value)),
    };
    let code = c.raw(field, u64::from(code))?;
    *value = Register::from_code(true, code as u8).ok_or_else(|| reserved(field, code))?;
    Ok(())
}

pub(super) fn ternary16_source(
    c: &mut impl Coder,
    fields: &TernaryFields,
    src: &mut Src,
) -> Result<()> {
    let (mut reg, byte) = match src.location {
        Location::Direct { register, byte } => (register, byte),
        _ => return Err(unencodable(fields.reg, "an indirect or immediate source")),
    };
    ternary_register(c, fields.reg, &mut reg)?;
    let mut word = byte / 2;
    number(c, fields.sub, &mut word)?;
    aligned(fields.sub, word * 2, src.ty)?;
    src.location = Location::Direct { register: reg, byte: word * 2 };
    bit(c, fields.negate, &mut src.negate)?;
    bit(c, fields.abs, &mut src.abs)?;
    let mut replicate = src.region == Region::SCALAR;
    bit(c, fields.replicate, &mut replicate)?;
    if replicate {
        src.region = Region::SCALAR;
        return Ok(());
    }
    let mut swizzle = match src.region {
        Region::Swizzle { vertical: 4, swizzle } => swizzle,
        // The default when decoding.
        Region::VECTOR => Region::XYZW,
        _ => return Err(unencodable(fields.swizzle, "this region")),
    };
    number(c, fields.swizzle, &mut swizzle)?;
    src.region = Region::Swizzle { vertical: 4, swizzle };
    Ok(())
}

/// Encodes three sources in Align1 (Gen12).
pub(super) fn ternary1(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    let dst = &mut inst.dst;
    let mut float = dst.ty.is_float();
    bit(c, &f::T_EXEC_FLOAT, &mut float)?;
    let position = types::TypePosition::Ternary { float };
    ty(c, &f::T_DST_TYPE, position, &mut dst.ty)?;
    let (mut reg, byte) = match dst.location {
        Location::Direct { register, byte } => (register, byte),
        _ => return Err(unencodable(&f::T_DST_REG, "an indirect destination")),
    };
    let general = file(c, None, &f::T_DST_FILE, kind(dst.location))? == LocationKind::General;
    register(c, general, &f::T_DST_REG, &mut reg)?;
    if !byte.is_multiple_of(8) {
        return Err(unencodable(&f::T_DST_SUB, byte));
    }
    let mut quad = byte / 8;
    number(c, &f::T_DST_SUB, &mut quad)?;
    one_of(c, &f::T_DST_STRIDE, &[1, 2], &mut dst.stride)?;
    dst.location = Location::Direct { register: reg, byte: quad * 8 };
    for (src, fields) in inst.src.iter_mut().zip(&TERNARY) {
        ternary1_source(c, fields, position, src)?;
    }
    Ok(())
}

pub(super) fn ternary1_source(
    c: &mut impl Coder,
    fields: &TernaryFields,
    position: types::TypePosition,
    src: &mut Src,
) -> Result<()> {
    let mut is_immediate = src.immediate_bits().is_some();
    bit(c, fields.immediate, &mut is_immediate)?;
    ty(c, fields.ty, position, &mut src.ty)?;
    if let (true, Some(imm16)) = (is_immediate, fields.imm16) {
        if src.ty.bytes() != 2 {
            return Err(unencodable(fields.ty, "an immediate that has not 16 bits"));
        }
        let value = c.raw(imm16, src.immediate_bits().unwrap_or(0) & 0xffff)?;
        *src = Src::immediate(src.ty, value);
        return Ok(());
    }
    let (mut reg, mut byte) = match src.location {
        Location::Direct { register, byte } => (register, byte),
        Location::Immediate(_) | Location::Indirect { .. } => {
            return Err(unencodable(fields.reg, "this operand"));
        }
    };
    let general = file(c, None, fields.file, kind(src.location))? == LocationKind::General;
    register(c, general, fields.reg, &mut reg)?;
    number(c, fields.sub, &mut byte)?;
    aligned(fields.sub, byte, src.ty)?;
    bit(c, fields.negate, &mut src.negate)?;
    bit(c, fields.abs, &mut src.abs)?;
    let Region::Rows { mut vertical, width: given, mut horizontal } = src.region else {
        return Err(unencodable(fields.horizontal, "this region"));
    };
    // When decoding, the default is <8,8,1>, which source 2 cannot have.
    if fields.vertical.is_none() && src.region == Region::VECTOR && src.location == Location::NULL {
        vertical = horizontal;
    }
    one_of(c, fields.horizontal, &STRIDE, &mut horizontal)?;
    match fields.vertical {
        Some(field) => one_of(c, field, &TERNARY_VERTICAL, &mut vertical)?,
        None if src.location == Location::NULL => vertical = horizontal,
        None if vertical == horizontal => {}
        None => return Err(unencodable(fields.horizontal, "a vertical stride of its own")),
    }
    // The width follows from the strides.
    let width = match (vertical, horizontal) {
        (0, 0) => 1,
        (v, 0) => v,
        (v, h) if v >= h => v / h,
        _ => return Err(reserved(fields.horizontal, u64::from(horizontal))),
    };
    if width != given && src.location != Location::NULL {
        return Err(unencodable(
            fields.horizontal,
            "a width that does not follow from the strides",
        ));
    }
    src.region = Region::Rows { vertical, width, horizontal };
    src.location = Location::Direct { register: reg, byte };
    Ok(())
}
