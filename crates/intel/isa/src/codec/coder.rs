//! Reads and writes fields, and the encodings that several kinds of operands share.

use tepui_intel_chips::Generation;

use super::Result;
use crate::error::FieldError;
use crate::operand::{Location, Register};
use crate::table::field::Field;
use crate::types::{self, Type};

/// Reads or writes fields.
pub(super) trait Coder {
    fn generation(&self) -> Generation;
    /// Writing: puts `value` into the field and returns it. Reading: returns the field's value.
    fn raw(&mut self, field: &'static Field, value: u64) -> Result<u64>;
}

pub(super) struct Reader {
    pub generation: Generation,
    pub bits: u128,
}

impl Coder for Reader {
    fn generation(&self) -> Generation {
        self.generation
    }

    fn raw(&mut self, field: &'static Field, _: u64) -> Result<u64> {
        Ok(field.get(self.generation, self.bits))
    }
}

pub(super) struct Writer {
    generation: Generation,
    /// The low and the high half.
    halves: [u64; 2],
}

impl Writer {
    pub(super) fn new(generation: Generation, bits: u128) -> Writer {
        Writer { generation, halves: [bits as u64, (bits >> 64) as u64] }
    }

    pub(super) fn bits(&self) -> u128 {
        u128::from(self.halves[0]) | u128::from(self.halves[1]) << 64
    }
}

impl Coder for Writer {
    fn generation(&self) -> Generation {
        self.generation
    }

    fn raw(&mut self, field: &'static Field, value: u64) -> Result<u64> {
        // Most fields are one run of bits in one half.
        if let &[(high, low)] = field.runs(self.generation)
            && high / 64 == low / 64
        {
            let mask = u64::MAX >> (63 - (high - low));
            if value > mask {
                return Err(unencodable(field, format!("{value:#x}")));
            }
            let half = &mut self.halves[usize::from(low / 64)];
            *half = *half & !(mask << (low % 64)) | value << (low % 64);
            return Ok(value);
        }
        let width = field.width(self.generation);
        if width < 64 && value >> width != 0 {
            return Err(unencodable(field, format!("{value:#x}")));
        }
        let mut bits = self.bits();
        field.set(self.generation, &mut bits, value);
        *self = Writer::new(self.generation, bits);
        Ok(value)
    }
}

pub(super) fn unencodable(field: &'static Field, what: impl ToString) -> FieldError {
    FieldError::Unencodable { field: field.name, what: what.to_string() }
}

pub(super) fn reserved(field: &'static Field, value: u64) -> FieldError {
    FieldError::Reserved { field: field.name, value }
}

/// A field of one bit. If the generation does not have the field, the value must be false.
pub(super) fn bit(c: &mut impl Coder, field: &'static Field, value: &mut bool) -> Result<()> {
    let mut number = u64::from(*value);
    whole(c, field, &mut number)?;
    *value = number != 0;
    Ok(())
}

pub(super) fn whole(c: &mut impl Coder, field: &'static Field, value: &mut u64) -> Result<()> {
    if field.exists(c.generation()) {
        *value = c.raw(field, *value)?;
        return Ok(());
    }
    match *value {
        0 => Ok(()),
        _ => Err(FieldError::Absent { field: field.name, generation: c.generation() }),
    }
}

pub(super) fn number(c: &mut impl Coder, field: &'static Field, value: &mut u8) -> Result<()> {
    let mut wide = u64::from(*value);
    whole(c, field, &mut wide)?;
    *value = wide as u8;
    Ok(())
}

/// A value in a list, by its index.
pub(super) fn one_of(
    c: &mut impl Coder,
    field: &'static Field,
    list: &[u8],
    value: &mut u8,
) -> Result<()> {
    let index = list.iter().position(|v| v == value);
    let index = index.ok_or_else(|| unencodable(field, *value))? as u64;
    let index = c.raw(field, index)?;
    *value = *list.get(index as usize).ok_or_else(|| reserved(field, index))?;
    Ok(())
}

pub(super) const SIZES: [u8; 6] = [1, 2, 4, 8, 16, 32];
pub(super) const VERTICAL: [u8; 7] = [0, 1, 2, 4, 8, 16, 32];
pub(super) const WIDTH: [u8; 5] = [1, 2, 4, 8, 16];
pub(super) const STRIDE: [u8; 4] = [0, 1, 2, 4];
pub(super) const TERNARY_VERTICAL: [u8; 4] = [0, 1, 4, 8];
/// Vertical stride code for an address register per row.
pub(super) const PER_ROW: u64 = 15;

pub(super) fn ty(
    c: &mut impl Coder,
    field: &'static Field,
    position: types::TypePosition,
    ty: &mut Type,
) -> Result<()> {
    let generation = c.generation();
    let code = ty.code(generation, position).ok_or_else(|| unencodable(field, *ty));
    // When decoding, the type is a default that need not be encodable.
    let code = c.raw(field, u64::from(code.unwrap_or(255)))?;
    *ty = Type::from_code(generation, position, code as u8).ok_or_else(|| match code {
        255 => unencodable(field, *ty),
        _ => reserved(field, code),
    })?;
    Ok(())
}

pub(super) fn register(
    c: &mut impl Coder,
    general: bool,
    field: &'static Field,
    value: &mut Register,
) -> Result<()> {
    let code = c.raw(field, u64::from(value.code()))?;
    *value = Register::from_code(general, code as u8).ok_or_else(|| reserved(field, code))?;
    Ok(())
}

/// The kind of an operand's location, from the file field and its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LocationKind {
    Architecture,
    General,
    Immediate,
}

pub(super) fn kind(location: Location) -> LocationKind {
    match location {
        Location::Direct { register: Register::Architecture(..), .. } => LocationKind::Architecture,
        Location::Direct { .. } | Location::Indirect { .. } => LocationKind::General,
        Location::Immediate(_) => LocationKind::Immediate,
    }
}

/// The register file: two bits on Gen9; on Gen12 one bit for immediates (if they are allowed), and one bit.
pub(super) fn file(
    c: &mut impl Coder,
    immediate: Option<&'static Field>,
    field: &'static Field,
    value: LocationKind,
) -> Result<LocationKind> {
    let code = match value {
        LocationKind::Architecture => 0,
        LocationKind::General => 1,
        LocationKind::Immediate => 3,
    };
    if c.generation() == Generation::Gen9 {
        return match c.raw(field, code)? {
            0 => Ok(LocationKind::Architecture),
            1 => Ok(LocationKind::General),
            3 if immediate.is_some() => Ok(LocationKind::Immediate),
            code => Err(reserved(field, code)),
        };
    }
    if let Some(immediate) = immediate
        && c.raw(immediate, code >> 1)? != 0
    {
        return Ok(LocationKind::Immediate);
    }
    Ok(if c.raw(field, code & 1)? != 0 {
        LocationKind::General
    } else {
        LocationKind::Architecture
    })
}

/// A subregister must begin at an element, because text counts elements.
pub(super) fn aligned(field: &'static Field, byte: u8, ty: Type) -> Result<()> {
    match usize::from(byte) % ty.bytes() {
        0 => Ok(()),
        _ => Err(reserved(field, u64::from(byte))),
    }
}

pub(super) fn indirect(
    c: &mut impl Coder,
    address_field: &'static Field,
    offset_field: &'static Field,
    location: &mut Location,
) -> Result<()> {
    let (mut address, offset) = match *location {
        Location::Indirect { address, offset } => (address, offset),
        _ => (0, 0),
    };
    if !(-512..512).contains(&offset) {
        return Err(unencodable(offset_field, offset));
    }
    // On Gen12 the fields overlap, so the offset is written first.
    let raw = c.raw(offset_field, u64::from(offset as u16 & 0x3ff))?;
    number(c, address_field, &mut address)?;
    let offset = ((raw as i16) << 6) >> 6;
    *location = Location::Indirect { address, offset };
    Ok(())
}
