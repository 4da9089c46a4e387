//! The instruction, its decoder and its encoder.

use std::ops::Range;

use arrayvec::ArrayVec;

use crate::error::{DecodeError, FieldError};
use crate::modifier::{Flow, Modifier, ModifierValue};
use crate::operand::{Dest, Halves, Operand, REGISTERS, Source, Staging, Swizzle, select};
use crate::table::field::{Count, INVERT_BIT, ImmediateField};
use crate::table::{Op, Row};

/// Bytes of an instruction.
pub const BYTES: usize = 8;

/// Bits of the flow.
const FLOW: Range<u8> = 59..63;
/// Bits of the page of uniforms and special values.
const PAGE: Range<u8> = 57..59;
/// First bit of the destination.
const DEST: u8 = 40;

/// An instruction. Its operands and modifiers are those of its [row](Op::row), in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// The row of the table.
    pub op: Op,
    /// Its flow: waits, reconvergence, the thread's end.
    pub flow: Flow,
    /// The destination, if the row has one.
    pub dest: Option<Dest>,
    /// Staging registers.
    pub staging: ArrayVec<Staging, 2>,
    /// Sources.
    pub sources: ArrayVec<Source, 4>,
    /// Immediates.
    pub immediates: ArrayVec<i64, 2>,
    /// Values of modifiers.
    pub modifiers: ArrayVec<u8, 12>,
    /// Bits that differ from the encoding of all fields: those of no field, and unexpected marks.
    pub unusual: u64,
}

fn get(word: u64, start: u8, bits: u8) -> u64 {
    word >> start & (u64::MAX >> (64 - bits))
}

impl Inst {
    /// The row with all fields at their defaults: registers 0, modifiers as text omits them or else the
    /// lowest value that is not reserved.
    pub fn new(op: Op) -> Inst {
        let row = op.row();
        let form = &row.form;
        let source = |field| {
            let first = select(row, field).and_then(|(_, _, list)| {
                let list = || list.iter().copied().flatten();
                list().find(|s| *s == Swizzle::Identity).or_else(|| list().next())
            });
            let source = Source::new(Operand::register(0));
            Source { swizzle: first.unwrap_or_default(), ..source }
        };
        let modifier = |m: &Modifier| {
            let first = m.kind.values.iter().position(Option::is_some).unwrap_or(0) as u8;
            m.kind.default.unwrap_or(first)
        };
        Inst {
            op,
            flow: Flow::None,
            dest: form.dest.then_some(Dest { register: 0, halves: Halves::Both }),
            staging: form.staging.iter().map(|_| Staging { register: 0, count: 1 }).collect(),
            sources: form.sources.iter().map(source).collect(),
            immediates: form.immediates.iter().map(|_| 0).collect(),
            modifiers: form.modifiers.iter().map(modifier).collect(),
            unusual: 0,
        }
    }

    /// The value of a modifier; `None` if the row has no modifier of this kind.
    pub fn modifier<T: ModifierValue>(&self) -> Option<T> {
        let mut fields = self.op.row().form.modifiers.iter().zip(&self.modifiers);
        let (_, raw) = fields.find(|(field, _)| field.kind.name == T::KIND.name)?;
        T::from_raw(*raw)
    }

    /// The value of a modifier as a number; 0 if the row has no modifier of this kind.
    pub fn raw_modifier(&self, field: &Modifier) -> u8 {
        let mut fields = self.op.row().form.modifiers.iter().zip(&self.modifiers);
        fields.find(|(f, _)| *f == field).map_or(0, |(_, raw)| *raw)
    }

    /// Whether a one-bit modifier is set.
    pub fn flag(&self, field: &Modifier) -> bool {
        self.raw_modifier(field) != 0
    }

    /// The value of an immediate; `None` if the row has no such immediate.
    pub fn immediate(&self, name: &str) -> Option<i64> {
        let fields = self.op.row().form.immediates.iter();
        fields.zip(&self.immediates).find(|(f, _)| f.name == name).map(|(_, value)| *value)
    }

    /// Decodes eight bytes at an offset.
    ///
    /// # Errors
    /// The bytes encode no instruction: the reason, and the offset.
    pub fn decode_at(code: &[u8], offset: usize) -> Result<Inst, DecodeError> {
        let bytes = code.get(offset..).and_then(|rest| rest.first_chunk::<BYTES>());
        let word = bytes.ok_or(FieldError::Truncated).map(|b| u64::from_le_bytes(*b));
        word.and_then(Inst::decode).map_err(|kind| DecodeError { offset, kind })
    }

    /// Decodes a word.
    ///
    /// # Errors
    /// The word encodes no instruction.
    pub fn decode(word: u64) -> Result<Inst, FieldError> {
        let opcode = get(word, 48, 9) as u16;
        let op = Op::of_word(word).ok_or(FieldError::Opcode { opcode, word })?;
        let row = op.row();
        let flow = get(word, FLOW.start, 4);
        let reserved = |field, value| FieldError::Reserved { field, value };
        let mut inst = Inst {
            flow: Flow::from_raw(flow as u8).ok_or(reserved("flow", flow))?,
            dest: None,
            staging: ArrayVec::new(),
            sources: ArrayVec::new(),
            immediates: ArrayVec::new(),
            modifiers: ArrayVec::new(),
            ..Inst::new(op)
        };
        if row.form.dest {
            let bits = get(word, DEST, 8);
            let halves = match bits >> 6 {
                1 => Halves::Low,
                2 => Halves::High,
                3 => Halves::Both,
                none => return Err(reserved("the mask of the destination", none)),
            };
            inst.dest = Some(Dest { register: (bits & 0x3f) as u8, halves });
        }
        for field in row.form.staging {
            let count = match field.count {
                Count::At33 => get(word, 33, 3) as u8,
                Count::LessOneAt36 => get(word, 36, 3) as u8 + 1,
            };
            let register = if count == 0 { 0 } else { get(word, field.start, 6) as u8 };
            if register + count > REGISTERS {
                return Err(FieldError::Staging { register, count });
            }
            inst.staging.push(Staging { register, count });
        }
        let page = get(word, PAGE.start, 2) as u8;
        for field in row.form.sources {
            let bits = get(word, field.slot * 8, 8) as u8;
            let operand = Operand::from_bits(bits, page);
            let operand = operand.ok_or(reserved("a special value", u64::from(bits)))?;
            let mut source = Source::new(operand);
            if field.float {
                source.neg = get(word, field.negate_bit(), 1) != 0;
                source.abs = get(word, field.negate_bit() + 1, 1) != 0;
            }
            source.not = field.inverted && get(word, INVERT_BIT, 1) != 0;
            if let Some((start, bits, list)) = select(row, field) {
                let value = get(word, start, bits);
                let swizzle = list.get(value as usize).copied().flatten();
                source.swizzle = swizzle.ok_or(reserved("the swizzle of a source", value))?;
            }
            inst.sources.push(source);
        }
        for field in row.form.immediates {
            let value = get(word, field.start, field.bits) as i64;
            let unused = 64 - u32::from(field.bits);
            inst.immediates.push(match field.signed {
                true => value << unused >> unused,
                false => value,
            });
        }
        for field in row.form.modifiers {
            let value = get(word, field.start, field.bits);
            if field.kind.name_of(value as u8).is_none() {
                return Err(reserved(field.kind.name, value));
            }
            inst.modifiers.push(value as u8);
        }
        inst.unusual = word ^ inst.encode()?;
        Ok(inst)
    }

    /// Encodes the instruction.
    ///
    /// # Errors
    /// A part is missing or has a value that its field cannot hold.
    pub fn encode(&self) -> Result<u64, FieldError> {
        let row = self.op.row();
        self.check_parts(row)?;
        let mut word = row.fixed() | u64::from(self.flow.raw()) << FLOW.start;
        if let Some(dest) = self.dest {
            register(dest.register)?;
            word |= u64::from(dest.register | (dest.halves as u8) << 6) << DEST;
        }
        for (field, staging) in row.form.staging.iter().zip(&self.staging) {
            let Staging { register, count } = *staging;
            let (least, start) = match field.count {
                Count::At33 => (0, 33),
                Count::LessOneAt36 => (1, 36),
            };
            if register >= REGISTERS || count > 8 || register + count > REGISTERS {
                return Err(FieldError::Staging { register, count });
            }
            if count < least || count - least > 7 {
                let value = i64::from(count);
                return Err(FieldError::Unencodable {
                    field: "the number of staging registers",
                    value,
                });
            }
            word |= u64::from(count - least) << start | u64::from(register) << field.start;
        }
        let mut page = None;
        for (field, source) in row.form.sources.iter().zip(&self.sources) {
            word |= self.encode_source(row, field, source, &mut page)?;
        }
        word |= u64::from(page.unwrap_or(0)) << PAGE.start;
        for (field, value) in row.form.immediates.iter().zip(&self.immediates) {
            if !range(field).contains(value) {
                return Err(FieldError::Unencodable { field: field.name, value: *value });
            }
            word |= (*value as u64 & (u64::MAX >> (64 - field.bits))) << field.start;
        }
        for (field, value) in row.form.modifiers.iter().zip(&self.modifiers) {
            if field.kind.name_of(*value).is_none() || *value >> field.bits != 0 {
                let value = i64::from(*value);
                return Err(FieldError::Unencodable { field: field.kind.name, value });
            }
            word |= u64::from(*value) << field.start;
        }
        Ok(word ^ self.unusual)
    }

    fn encode_source(
        &self,
        row: &Row,
        field: &crate::table::field::SourceField,
        source: &Source,
        page: &mut Option<u8>,
    ) -> Result<u64, FieldError> {
        if let Operand::Register { index, .. } = source.operand {
            register(index)?;
        }
        if let Operand::Constant(index) = source.operand
            && index >= 32
        {
            return Err(FieldError::Unencodable { field: "a constant", value: i64::from(index) });
        }
        if let Some(this) = source.operand.page() {
            match *page {
                Some(other) if other != this => return Err(FieldError::Pages(other, this)),
                _ => *page = Some(this),
            }
        }
        let no = |field| FieldError::Unencodable { field, value: 1 };
        if (source.neg || source.abs) && !field.float {
            return Err(no("a source that is no float"));
        }
        if source.not && !field.inverted {
            return Err(no("a source that cannot be inverted"));
        }
        let mut word = u64::from(source.operand.bits()) << (field.slot * 8);
        if field.float {
            let bits = u64::from(source.neg) | u64::from(source.abs) << 1;
            word |= bits << field.negate_bit();
        }
        word |= u64::from(source.not) << INVERT_BIT;
        match select(row, field) {
            Some((start, _, list)) => {
                let value = list.iter().position(|s| *s == Some(source.swizzle));
                let value = value.ok_or(no("a source without this swizzle"))?;
                word |= (value as u64) << start;
            }
            None if source.swizzle != Swizzle::Identity => {
                return Err(no("a source without swizzle"));
            }
            None => {}
        }
        Ok(word)
    }

    fn check_parts(&self, row: &Row) -> Result<(), FieldError> {
        let form = &row.form;
        let parts = [
            ("destinations", usize::from(form.dest), usize::from(self.dest.is_some())),
            ("staging operands", form.staging.len(), self.staging.len()),
            ("sources", form.sources.len(), self.sources.len()),
            ("immediates", form.immediates.len(), self.immediates.len()),
            ("modifiers", form.modifiers.len(), self.modifiers.len()),
        ];
        for (what, expected, found) in parts {
            if expected != found {
                return Err(FieldError::Parts { op: self.op, what, expected, found });
            }
        }
        Ok(())
    }
}

/// Whether the file has the register.
fn register(index: u8) -> Result<(), FieldError> {
    match index < REGISTERS {
        true => Ok(()),
        false => Err(FieldError::Unencodable { field: "a register", value: i64::from(index) }),
    }
}

/// The values of an immediate.
pub(crate) fn range(field: &ImmediateField) -> std::ops::RangeInclusive<i64> {
    match field.signed {
        true => -(1 << (field.bits - 1))..=(1 << (field.bits - 1)) - 1,
        false => 0..=(1 << field.bits) - 1,
    }
}
