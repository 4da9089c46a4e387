//! An instruction of one unit, its decoder and its encoder.

use std::fmt;

use arrayvec::ArrayVec;

use super::error::InstError;
use super::table::{Encoding, Op, Unit};

/// The port that a source reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Port {
    /// The register of port 0.
    #[default]
    Zero,
    /// The register of port 1.
    One,
    /// The register of port 2.
    Two,
    /// Zero in the FMA unit; the result of this tuple's FMA unit in the ADD unit.
    Stage,
    /// The lower word of the tuple's uniforms, constants or special value.
    FauLow,
    /// The upper word.
    FauHigh,
    /// The FMA unit's result of the previous tuple.
    PassFma,
    /// The ADD unit's result of the previous tuple.
    PassAdd,
}

impl Port {
    /// All ports, by number.
    pub const ALL: [Port; 8] = [
        Port::Zero,
        Port::One,
        Port::Two,
        Port::Stage,
        Port::FauLow,
        Port::FauHigh,
        Port::PassFma,
        Port::PassAdd,
    ];
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Port::Zero => "port 0",
            Port::One => "port 1",
            Port::Two => "port 2",
            Port::Stage => "the stage",
            Port::FauLow => "the lower constant",
            Port::FauHigh => "the upper constant",
            Port::PassFma => "t0",
            Port::PassAdd => "t1",
        })
    }
}

/// An instruction. Its parts are those of its [row](Op::row), in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// The row of the table.
    pub op: Op,
    /// Sources.
    pub sources: ArrayVec<Port, 4>,
    /// Values of modifiers, numbers of the row's lists.
    pub modifiers: ArrayVec<u8, 12>,
    /// Immediates.
    pub immediates: ArrayVec<u32, 2>,
}

impl Inst {
    /// The instruction of a unit that does nothing.
    pub fn nop(unit: Unit) -> Inst {
        let op = Op::from_name(unit, "NOP").expect("the table has it");
        let (sources, modifiers, immediates) = Default::default();
        Inst { op, sources, modifiers, immediates }
    }

    /// Decodes the bits of a unit's instruction.
    ///
    /// # Errors
    /// The bits encode no instruction.
    pub fn decode(unit: Unit, bits: u32) -> Result<Inst, InstError> {
        let tries = Op::encodings(unit).iter();
        let found = tries.filter(|(op, index)| {
            let encoding = &op.row().encodings[*index];
            bits & encoding.mask == encoding.exact
        });
        let mut first = None;
        for (op, index) in found {
            match decode(*op, &op.row().encodings[*index], bits) {
                Ok(Some(inst)) => return Ok(inst),
                Ok(None) => {}
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or(InstError::Opcode { unit, bits }))
    }

    /// Encodes the instruction.
    ///
    /// # Errors
    /// A part is missing, has a value that its field cannot hold, or cannot be combined with the others.
    pub fn encode(&self) -> Result<u32, InstError> {
        let (op, row) = (self.op, self.op.row());
        let parts = [
            ("sources", row.sources.len(), self.sources.len()),
            ("modifiers", row.modifiers.len(), self.modifiers.len()),
            ("immediates", row.immediates.len(), self.immediates.len()),
        ];
        if let Some((what, ..)) = parts.iter().find(|(_, expected, found)| expected != found) {
            return Err(InstError::Parts { op, what });
        }
        let mut word = 0;
        for (index, (field, port)) in row.sources.iter().zip(&self.sources).enumerate() {
            if field.ports >> *port as u8 & 1 == 0 {
                return Err(InstError::Source { op, index, port: *port });
            }
            word |= (*port as u32) << field.start;
        }
        for (immediate, value) in row.immediates.iter().zip(&self.immediates) {
            if *value >> immediate.field.bits != 0 {
                let (field, value) = (immediate.name, *value);
                return Err(InstError::Unencodable { op, field, value });
            }
            word |= value << immediate.field.start;
        }
        let encodings = row.encodings.iter();
        let mut choices = encodings.filter_map(|encoding| self.encode_modifiers(encoding));
        choices.next().map(|bits| word | bits).ok_or(InstError::Modifiers { op })
    }

    /// The fixed bits of an encoding combined with those of the modifiers, if it has this combination.
    fn encode_modifiers(&self, encoding: &Encoding) -> Option<u32> {
        let row = self.op.row();
        let mut word = encoding.exact;
        for (index, field) in &encoding.direct {
            let value = self.modifiers[*index];
            let known = row.modifiers[*index].values.get(usize::from(value));
            if !matches!(known, Some(Some(_))) || value >> field.bits != 0 {
                return None;
            }
            word |= u32::from(value) << field.start;
        }
        if encoding.joint.is_empty() && encoding.cases.is_empty() {
            return Some(word);
        }
        let greater = self.is_ordered();
        let case = encoding.cases.iter().find(|case| {
            let mut values = encoding.joint.iter().zip(&case.values);
            case.greater.is_none_or(|g| g == greater)
                && values.all(|(index, value)| self.modifiers[*index] == *value)
        });
        case.map(|case| word | encoding.spread(case.number))
    }

    /// Whether the first source's port has a greater number than the second's.
    fn is_ordered(&self) -> bool {
        matches!(self.sources[..], [a, b, ..] if a as u8 > b as u8)
    }

    /// The name of a modifier's value; `None` if the row has no such modifier.
    pub fn modifier(&self, name: &str) -> Option<&'static str> {
        let mut list = self.op.row().modifiers.iter().zip(&self.modifiers);
        let (modifier, value) = list.find(|(modifier, _)| modifier.name == name)?;
        modifier.values.get(usize::from(*value)).copied().flatten()
    }

    /// The value of an immediate; `None` if the row has no such immediate.
    pub fn immediate(&self, name: &str) -> Option<u32> {
        let mut list = self.op.row().immediates.iter().zip(&self.immediates);
        list.find(|(immediate, _)| immediate.name == name).map(|(_, value)| *value)
    }
}

/// Decodes bits as an encoding of a row; `None` if they contain a reserved value.
fn decode(op: Op, encoding: &Encoding, bits: u32) -> Result<Option<Inst>, InstError> {
    let row = op.row();
    let ports = row.sources.iter().map(|s| Port::ALL[(bits >> s.start & 7) as usize]);
    let mut inst = Inst {
        op,
        sources: ports.collect(),
        modifiers: row.modifiers.iter().map(|_| 0).collect(),
        immediates: row.immediates.iter().map(|i| i.field.get(bits)).collect(),
    };
    for (index, field) in &encoding.direct {
        let value = field.get(bits);
        let known = row.modifiers[*index].values.get(value as usize);
        if !matches!(known, Some(Some(_))) {
            return Ok(None);
        }
        inst.modifiers[*index] = value as u8;
    }
    if !encoding.cases.is_empty() {
        let (number, greater) = (encoding.number(bits), inst.is_ordered());
        // Some modifiers have a field of their own and change the joint one too.
        let own = |index: usize| encoding.direct.iter().any(|(direct, _)| *direct == index);
        let fits = |case: &&super::table::JointCase| {
            let mut values = encoding.joint.iter().zip(&case.values);
            case.number == number
                && case.greater.is_none_or(|g| g == greater)
                && values.all(|(index, value)| !own(*index) || inst.modifiers[*index] == *value)
        };
        let Some(case) = encoding.cases.iter().find(fits) else { return Ok(None) };
        for (index, value) in encoding.joint.iter().zip(&case.values) {
            inst.modifiers[*index] = *value;
        }
    }
    for (index, (source, port)) in row.sources.iter().zip(&inst.sources).enumerate() {
        if source.ports >> *port as u8 & 1 == 0 {
            return Err(InstError::Source { op, index, port: *port });
        }
    }
    // Bits that belong to no field.
    if inst.encode().is_ok_and(|word| word != bits) {
        return Ok(None);
    }
    Ok(Some(inst))
}
