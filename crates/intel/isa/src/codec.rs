//! The 128-bit encoding: one description of the fields, run by an encoder and by a decoder.
//!
//! [`instruction`] walks an [`Inst`] and hands each field to a [`Coder`], which either writes the
//! field's value into the bits or reads it from them. So encoding and decoding cannot differ.
//!
//! source: Mesa, `src/intel/compiler/brw_eu_inst.h`, `brw_eu_emit.c`.

use tepui_intel_chips::Generation;

use crate::compact;
use crate::error::{DecodeError, FieldError};
use crate::inst::{Condition, Desc, Inst};
use crate::operand::{Arf, Dst, Place, Region, Register, Src};
use crate::sfid::Sfid;
use crate::swsb::Swsb;
use crate::table::field::{self as f, Field};
use crate::table::opcode::{Form, MathFunction, Opcode, SyncFunction};
use crate::types::{self, Type};

type Result<T, E = FieldError> = std::result::Result<T, E>;

/// Reads or writes fields.
trait Coder {
    fn generation(&self) -> Generation;
    /// Writing: puts `value` into the field and returns it. Reading: returns the field's value.
    fn raw(&mut self, field: &'static Field, value: u64) -> Result<u64>;
}

struct Reader {
    generation: Generation,
    bits: u128,
}

impl Coder for Reader {
    fn generation(&self) -> Generation {
        self.generation
    }

    fn raw(&mut self, field: &'static Field, _: u64) -> Result<u64> {
        Ok(field.get(self.generation, self.bits))
    }
}

struct Writer {
    generation: Generation,
    bits: u128,
}

impl Coder for Writer {
    fn generation(&self) -> Generation {
        self.generation
    }

    fn raw(&mut self, field: &'static Field, value: u64) -> Result<u64> {
        let width = field.width(self.generation);
        if width < 64 && value >> width != 0 {
            return Err(unencodable(field, format!("{value:#x}")));
        }
        field.set(self.generation, &mut self.bits, value);
        Ok(value)
    }
}

fn unencodable(field: &'static Field, what: impl ToString) -> FieldError {
    FieldError::Unencodable { field: field.name, what: what.to_string() }
}

fn reserved(field: &'static Field, value: u64) -> FieldError {
    FieldError::Reserved { field: field.name, value }
}

/// A field of one bit. Where the generation has none it must be off.
fn bit(c: &mut impl Coder, field: &'static Field, value: &mut bool) -> Result<()> {
    let mut number = u64::from(*value);
    whole(c, field, &mut number)?;
    *value = number != 0;
    Ok(())
}

fn whole(c: &mut impl Coder, field: &'static Field, value: &mut u64) -> Result<()> {
    if field.exists(c.generation()) {
        *value = c.raw(field, *value)?;
        return Ok(());
    }
    match *value {
        0 => Ok(()),
        _ => Err(FieldError::Absent { field: field.name, generation: c.generation() }),
    }
}

fn number(c: &mut impl Coder, field: &'static Field, value: &mut u8) -> Result<()> {
    let mut wide = u64::from(*value);
    whole(c, field, &mut wide)?;
    *value = wide as u8;
    Ok(())
}

/// A value of a list, by its index.
fn one_of(c: &mut impl Coder, field: &'static Field, list: &[u8], value: &mut u8) -> Result<()> {
    let index = list.iter().position(|v| v == value);
    let index = index.ok_or_else(|| unencodable(field, *value))? as u64;
    let index = c.raw(field, index)?;
    *value = *list.get(index as usize).ok_or_else(|| reserved(field, index))?;
    Ok(())
}

const SIZES: [u8; 6] = [1, 2, 4, 8, 16, 32];
const VERTICAL: [u8; 7] = [0, 1, 2, 4, 8, 16, 32];
const WIDTH: [u8; 5] = [1, 2, 4, 8, 16];
const STRIDE: [u8; 4] = [0, 1, 2, 4];
const TERNARY_VERTICAL: [u8; 4] = [0, 1, 4, 8];
/// Code of a vertical stride: an address register for each row.
const PER_ROW: u64 = 15;

fn ty(c: &mut impl Coder, field: &'static Field, place: types::Place, ty: &mut Type) -> Result<()> {
    let generation = c.generation();
    let code = ty.code(generation, place).ok_or_else(|| unencodable(field, *ty));
    // A reader's type is a default that need not stand here.
    let code = c.raw(field, u64::from(code.unwrap_or(255)))?;
    *ty = Type::from_code(generation, place, code as u8).ok_or_else(|| match code {
        255 => unencodable(field, *ty),
        _ => reserved(field, code),
    })?;
    Ok(())
}

fn register(
    c: &mut impl Coder,
    general: bool,
    field: &'static Field,
    value: &mut Register,
) -> Result<()> {
    let code = c.raw(field, u64::from(value.code()))?;
    *value = Register::from_code(general, code as u8).ok_or_else(|| reserved(field, code))?;
    Ok(())
}

/// The bit fields of one operand of instructions with one or two sources.
struct Fields {
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

static SOURCE: [Fields; 2] = [
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

/// What a place is, as the file field and its neighbours say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Architecture,
    General,
    Immediate,
}

fn kind(place: Place) -> Kind {
    match place {
        Place::Direct { register: Register::Architecture(..), .. } => Kind::Architecture,
        Place::Direct { .. } | Place::Indirect { .. } => Kind::General,
        Place::Immediate(_) => Kind::Immediate,
    }
}

/// The register file: two bits on Gen9; on Gen12 a bit for immediates (where there can be one), and
/// one bit.
fn file(
    c: &mut impl Coder,
    immediate: Option<&'static Field>,
    field: &'static Field,
    value: Kind,
) -> Result<Kind> {
    let code = match value {
        Kind::Architecture => 0,
        Kind::General => 1,
        Kind::Immediate => 3,
    };
    if c.generation() == Generation::Gen9 {
        return match c.raw(field, code)? {
            0 => Ok(Kind::Architecture),
            1 => Ok(Kind::General),
            3 if immediate.is_some() => Ok(Kind::Immediate),
            code => Err(reserved(field, code)),
        };
    }
    if let Some(immediate) = immediate
        && c.raw(immediate, code >> 1)? != 0
    {
        return Ok(Kind::Immediate);
    }
    Ok(if c.raw(field, code & 1)? != 0 { Kind::General } else { Kind::Architecture })
}

/// A subregister has to begin at an element: the text counts elements.
fn aligned(field: &'static Field, byte: u8, ty: Type) -> Result<()> {
    match usize::from(byte) % ty.bytes() {
        0 => Ok(()),
        _ => Err(reserved(field, u64::from(byte))),
    }
}

fn indirect(
    c: &mut impl Coder,
    address_field: &'static Field,
    offset_field: &'static Field,
    place: &mut Place,
) -> Result<()> {
    let (mut address, offset) = match *place {
        Place::Indirect { address, offset } => (address, offset),
        _ => (0, 0),
    };
    if !(-512..512).contains(&offset) {
        return Err(unencodable(offset_field, offset));
    }
    // On Gen12 the fields overlap: the offset is written first.
    let raw = c.raw(offset_field, u64::from(offset as u16 & 0x3ff))?;
    number(c, address_field, &mut address)?;
    let offset = ((raw as i16) << 6) >> 6;
    *place = Place::Indirect { address, offset };
    Ok(())
}

fn dst(c: &mut impl Coder, align16: bool, dst: &mut Dst) -> Result<()> {
    let mut is_indirect = matches!(dst.place, Place::Indirect { .. });
    bit(c, &f::DST_INDIRECT, &mut is_indirect)?;
    ty(c, &f::DST_TYPE, types::Place::Register, &mut dst.ty)?;
    if align16 {
        // The stride is not used; the hardware wants it to be 1.
        dst.stride = 1;
    }
    one_of(c, &f::DST_STRIDE, &STRIDE, &mut dst.stride)?;
    if is_indirect {
        if align16 {
            return Err(FieldError::Unknown("an indirect destination in Align16"));
        }
        // Gen12 has no file beside an indirect place.
        if c.generation() == Generation::Gen9 && c.raw(&f::DST_FILE, 1)? != 1 {
            return Err(reserved(&f::DST_FILE, 0));
        }
        return indirect(c, &f::DST_ADDRESS, &f::DST_OFFSET, &mut dst.place);
    }
    let kind = file(c, None, &f::DST_FILE, kind(dst.place))?;
    let (mut reg, mut byte) = match dst.place {
        Place::Direct { register, byte } => (register, byte),
        _ => (Register::NULL, 0),
    };
    register(c, kind == Kind::General, &f::DST_REG, &mut reg)?;
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
    dst.place = Place::Direct { register: reg, byte };
    Ok(())
}

fn src(c: &mut impl Coder, n: usize, align16: bool, src: &mut Src) -> Result<()> {
    let fields = &SOURCE[n];
    // Immediates first: on Gen12 the file bit of an indirect source belongs to its offset.
    let mut is_indirect = matches!(src.place, Place::Indirect { .. });
    let gen9 = c.generation() == Generation::Gen9;
    let mut kind = kind(src.place);
    if gen9 {
        kind = file(c, Some(fields.immediate), fields.file, kind)?;
    } else if c.raw(fields.immediate, u64::from(kind == Kind::Immediate))? != 0 {
        kind = Kind::Immediate;
    } else if kind == Kind::Immediate {
        kind = Kind::General;
    }
    if kind == Kind::Immediate {
        ty(c, fields.ty, types::Place::Immediate, &mut src.ty)?;
        return immediate(c, n, src);
    }
    ty(c, fields.ty, types::Place::Register, &mut src.ty)?;
    bit(c, fields.negate, &mut src.negate)?;
    bit(c, fields.abs, &mut src.abs)?;
    bit(c, fields.indirect, &mut is_indirect)?;
    if is_indirect {
        if align16 {
            return Err(FieldError::Unknown("an indirect source in Align16"));
        }
        if gen9 && kind != Kind::General {
            return Err(reserved(fields.file, 0));
        }
        indirect(c, fields.address, fields.offset, &mut src.place)?;
        return region(c, fields, src);
    }
    if !gen9 {
        kind = file(c, None, fields.file, kind)?;
    }
    let (mut reg, mut byte) = match src.place {
        Place::Direct { register, byte } => (register, byte),
        _ => (Register::NULL, 0),
    };
    register(c, kind == Kind::General, fields.reg, &mut reg)?;
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
    src.place = Place::Direct { register: reg, byte };
    Ok(())
}

fn region(c: &mut impl Coder, fields: &Fields, src: &mut Src) -> Result<()> {
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
        PER_ROW if matches!(src.place, Place::Indirect { .. }) => {
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

fn immediate(c: &mut impl Coder, n: usize, src: &mut Src) -> Result<()> {
    let field = match src.ty.immediate_bytes() {
        8 if n == 0 => &f::IMM64,
        8 => return Err(FieldError::Unknown("an immediate of 64 bits as the second source")),
        _ => &f::IMM32,
    };
    let value = c.raw(field, src.immediate_bits().unwrap_or(0))?;
    *src = Src::immediate(src.ty, value);
    Ok(())
}

/// The bit fields of one source of three.
struct TernaryFields {
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

static TERNARY: [TernaryFields; 3] = [
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

/// Three sources in Align16 (Gen9).
fn ternary16(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    if !inst.align16 {
        return Err(FieldError::Unknown("three sources in Align1 on Gen9"));
    }
    let place = types::Place::Ternary { float: true };
    let dst = &mut inst.dst;
    ty(c, &f::T_DST_TYPE, place, &mut dst.ty)?;
    let (mut reg, byte) = match dst.place {
        Place::Direct { register, byte } => (register, byte),
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
    dst.place = Place::Direct { register: reg, byte: dword * 4 };
    dst.stride = 1;

    // One type for all sources; where it is a float, sources 1 and 2 say if they are half floats.
    let mut common = inst.src[0].ty;
    ty(c, &f::T_SRC_TYPE, place, &mut common)?;
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
        if !matches!(src.place, Place::NULL) && src.ty != ty {
            return Err(unencodable(&f::T_SRC_TYPE, src.ty));
        }
        src.ty = ty;
        ternary16_source(c, fields, src)?;
    }
    Ok(())
}

fn ternary_register(c: &mut impl Coder, field: &'static Field, value: &mut Register) -> Result<()> {
    // A reader's default is the null register.
    let code = match *value {
        Register::General(n) => n,
        Register::NULL => 0,
        Register::Architecture(..) => return Err(unencodable(field, *value)),
    };
    let code = c.raw(field, u64::from(code))?;
    *value = Register::from_code(true, code as u8).ok_or_else(|| reserved(field, code))?;
    Ok(())
}

fn ternary16_source(c: &mut impl Coder, fields: &TernaryFields, src: &mut Src) -> Result<()> {
    let (mut reg, byte) = match src.place {
        Place::Direct { register, byte } => (register, byte),
        _ => return Err(unencodable(fields.reg, "an indirect or immediate source")),
    };
    ternary_register(c, fields.reg, &mut reg)?;
    let mut word = byte / 2;
    number(c, fields.sub, &mut word)?;
    aligned(fields.sub, word * 2, src.ty)?;
    src.place = Place::Direct { register: reg, byte: word * 2 };
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
        // The default of a reader.
        Region::VECTOR => Region::XYZW,
        _ => return Err(unencodable(fields.swizzle, "this region")),
    };
    number(c, fields.swizzle, &mut swizzle)?;
    src.region = Region::Swizzle { vertical: 4, swizzle };
    Ok(())
}

/// Three sources in Align1 (Gen12).
fn ternary1(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    let dst = &mut inst.dst;
    let mut float = dst.ty.is_float();
    bit(c, &f::T_EXEC_FLOAT, &mut float)?;
    let place = types::Place::Ternary { float };
    ty(c, &f::T_DST_TYPE, place, &mut dst.ty)?;
    let (mut reg, byte) = match dst.place {
        Place::Direct { register, byte } => (register, byte),
        _ => return Err(unencodable(&f::T_DST_REG, "an indirect destination")),
    };
    let general = file(c, None, &f::T_DST_FILE, kind(dst.place))? == Kind::General;
    register(c, general, &f::T_DST_REG, &mut reg)?;
    if !byte.is_multiple_of(8) {
        return Err(unencodable(&f::T_DST_SUB, byte));
    }
    let mut quad = byte / 8;
    number(c, &f::T_DST_SUB, &mut quad)?;
    one_of(c, &f::T_DST_STRIDE, &[1, 2], &mut dst.stride)?;
    dst.place = Place::Direct { register: reg, byte: quad * 8 };
    for (src, fields) in inst.src.iter_mut().zip(&TERNARY) {
        ternary1_source(c, fields, place, src)?;
    }
    Ok(())
}

fn ternary1_source(
    c: &mut impl Coder,
    fields: &TernaryFields,
    place: types::Place,
    src: &mut Src,
) -> Result<()> {
    let mut is_immediate = src.immediate_bits().is_some();
    bit(c, fields.immediate, &mut is_immediate)?;
    ty(c, fields.ty, place, &mut src.ty)?;
    if let (true, Some(imm16)) = (is_immediate, fields.imm16) {
        if src.ty.bytes() != 2 {
            return Err(unencodable(fields.ty, "an immediate that has not 16 bits"));
        }
        let value = c.raw(imm16, src.immediate_bits().unwrap_or(0) & 0xffff)?;
        *src = Src::immediate(src.ty, value);
        return Ok(());
    }
    let (mut reg, mut byte) = match src.place {
        Place::Direct { register, byte } => (register, byte),
        Place::Immediate(_) | Place::Indirect { .. } => {
            return Err(unencodable(fields.reg, "this operand"));
        }
    };
    let general = file(c, None, fields.file, kind(src.place))? == Kind::General;
    register(c, general, fields.reg, &mut reg)?;
    number(c, fields.sub, &mut byte)?;
    aligned(fields.sub, byte, src.ty)?;
    bit(c, fields.negate, &mut src.negate)?;
    bit(c, fields.abs, &mut src.abs)?;
    let Region::Rows { mut vertical, width: given, mut horizontal } = src.region else {
        return Err(unencodable(fields.horizontal, "this region"));
    };
    // A reader's default is <8,8,1>, which source 2 cannot have.
    if fields.vertical.is_none() && src.region == Region::VECTOR && src.place == Place::NULL {
        vertical = horizontal;
    }
    one_of(c, fields.horizontal, &STRIDE, &mut horizontal)?;
    match fields.vertical {
        Some(field) => one_of(c, field, &TERNARY_VERTICAL, &mut vertical)?,
        None if src.place == Place::NULL => vertical = horizontal,
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
    if width != given && src.place != Place::NULL {
        return Err(unencodable(
            fields.horizontal,
            "a width that does not follow from the strides",
        ));
    }
    src.region = Region::Rows { vertical, width, horizontal };
    src.place = Place::Direct { register: reg, byte };
    Ok(())
}

fn jump(c: &mut impl Coder, field: &'static Field, offset: &mut i32) -> Result<()> {
    *offset = c.raw(field, u64::from(*offset as u32))? as u32 as i32;
    Ok(())
}

fn send(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    sfid(c, &mut inst.send.sfid)?;
    bit(c, &f::SEND_EOT, &mut inst.send.end_of_thread)?;
    dst(c, inst.align16, &mut inst.dst)?;
    src(c, 0, inst.align16, &mut inst.src[0])?;
    // The descriptor stands as an immediate second source, or is register a0.
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
                operand.place = Place::Direct { register, byte: dword * 4 };
            }
            src(c, 1, false, &mut operand)?;
            let plain = Src { place: operand.place, region: Region::SCALAR, ..Src::NULL };
            match operand.place {
                Place::Direct { register: Register::Architecture(Arf::Address, 0), byte }
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

fn sfid(c: &mut impl Coder, sfid: &mut Sfid) -> Result<()> {
    let id = c.raw(&f::SEND_SFID, *sfid as u64)?;
    *sfid = Sfid::from_id(id as u8).ok_or_else(|| reserved(&f::SEND_SFID, id))?;
    Ok(())
}

/// A payload or response of a split send: a register, on Gen9 from its first or second half.
fn send_register(
    c: &mut impl Coder,
    file_field: Option<&'static Field>,
    reg_field: &'static Field,
    half_field: Option<&'static Field>,
    place: &mut Place,
) -> Result<()> {
    let (mut reg, byte) = match *place {
        Place::Direct { register, byte } => (register, byte),
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
    *place = Place::Direct { register: reg, byte: half * 16 };
    Ok(())
}

fn split_send(c: &mut impl Coder, inst: &mut Inst) -> Result<()> {
    let gen9 = c.generation() == Generation::Gen9;
    let half = |field| gen9.then_some(field);
    if gen9 && (c.raw(&f::DST_INDIRECT, 0)? != 0 || c.raw(&f::SRC0_INDIRECT, 0)? != 0) {
        return Err(FieldError::Unknown("an indirect operand of a split send"));
    }
    sfid(c, &mut inst.send.sfid)?;
    bit(c, &f::SEND_EOT, &mut inst.send.end_of_thread)?;
    let dst = &mut inst.dst;
    let dst_half = half(&f::SEND_DST_HALF);
    send_register(c, Some(&f::SEND_DST_FILE), &f::SEND_DST_REG, dst_half, &mut dst.place)?;
    let src0 = &mut inst.src[0].place;
    let src0_file = (!gen9).then_some(&f::SEND_SRC0_FILE);
    send_register(c, src0_file, &f::SEND_SRC0_REG, half(&f::SEND_SRC0_HALF), src0)?;
    let src1 = &mut inst.src[1].place;
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

/// All fields of an instruction but its opcode.
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
    if inst.exec_size >= 8 && !offset.is_multiple_of(inst.exec_size) || inst.channel_offset % 4 != 0
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

/// The field that holds a condition, or what `math` and `sync` do.
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

/// What Mesa's assembler (25.0) writes to a branch beside its jumps, and its driver (26.1) does
/// not: the null register as destination; on Gen12 a type for source 0.
pub(crate) fn branch_extras(inst: &Inst) -> u128 {
    let mut bits = 0;
    if !matches!(inst.form(), Form::Jip | Form::JipUip) {
        return bits;
    }
    let signed = Type::D.code(inst.generation, types::Place::Register).unwrap_or(0);
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

/// What Mesa's assembler writes to fields that belong to no operand of the instruction.
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
        (Form::Regular { sources: 1, .. }, _) if gen9 && !inst.compacted => {
            // The absent second source has the immediate's type.
            if inst.src[0].immediate_bits().is_some() && inst.src[0].ty.immediate_bytes() < 8 {
                let code = inst.src[0].ty.code(inst.generation, types::Place::Immediate);
                set(&f::SRC1_TYPE, u64::from(code.unwrap_or(0)));
            }
        }
        (Form::Jip | Form::JipUip | Form::Call, opcode) => {
            if opcode == Opcode::Cont {
                let ty = Type::UD.code(inst.generation, types::Place::Register);
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
            if let Place::Direct { register, byte } = inst.dst.place {
                set(&f::SRC0_REG, u64::from(register.code()));
                set(&f::SRC0_SUB, u64::from(byte));
            }
            let code = inst.dst.ty.code(inst.generation, types::Place::Register);
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
        let mut writer = Writer { generation, bits: implied(self) };
        writer.raw(&f::OPCODE, u64::from(code))?;
        instruction(&mut writer, &mut inst)?;
        Ok(writer.bits ^ self.unusual)
    }

    /// Decodes a 128-bit form; `compacted` says that it stood in 64 bits.
    ///
    /// # Errors
    /// The bits are no instruction.
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
    /// The bytes are no instruction, or end within it.
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
