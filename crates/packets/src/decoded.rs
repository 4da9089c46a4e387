//! Decoded packets: field names with values, for text and JSON output.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::field::Field;
use crate::packet::PacketInfo;
use crate::problem::Problem;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, printed in decimal.
    Uint(u64),
    /// A signed number.
    Int(i64),
    /// Bits, printed in hexadecimal.
    Hex(u64),
    /// A GPU address.
    Address(u64),
    /// A flag.
    Bool(bool),
    /// A floating or fixed-point number.
    Float(f32),
    /// An enumerator's name in the hardware's words.
    Name(&'static str),
    /// Raw bits that are not a valid value of the field's type.
    Unknown(u64),
    /// A packet inside the packet.
    Packet(Box<Decoded>),
    /// Elements of one type.
    Array(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Uint(v) => write!(f, "{v}"),
            Value::Int(v) => write!(f, "{v}"),
            Value::Hex(v) | Value::Address(v) => write!(f, "{v:#x}"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v:?}"),
            Value::Name(v) => f.write_str(v),
            Value::Unknown(v) => write!(f, "unknown {v:#x}"),
            Value::Packet(v) => write!(f, "{v}"),
            Value::Array(v) => {
                for (i, element) in v.iter().enumerate() {
                    write!(f, "{}{element}", if i == 0 { "" } else { " " })?;
                }
                Ok(())
            }
        }
    }
}

/// Addresses and unknown bits become strings in hexadecimal, since a JSON number is exact only to
/// 53 bits in many readers; infinities and NaN, which JSON does not have, become strings.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Uint(v) => serializer.serialize_u64(*v),
            Value::Int(v) => serializer.serialize_i64(*v),
            Value::Bool(v) => serializer.serialize_bool(*v),
            Value::Float(v) if v.is_finite() => serializer.serialize_f32(*v),
            Value::Name(v) => serializer.serialize_str(v),
            Value::Packet(v) => v.serialize(serializer),
            Value::Array(v) => {
                let mut list = serializer.serialize_seq(Some(v.len()))?;
                for element in v {
                    list.serialize_element(element)?;
                }
                list.end()
            }
            Value::Hex(_) | Value::Address(_) | Value::Unknown(_) | Value::Float(_) => {
                serializer.collect_str(self)
            }
        }
    }
}

/// A decoded packet.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The packet's table.
    pub info: &'static PacketInfo,
    /// The fields that exist in this form of the packet, in order of declaration.
    pub fields: Vec<(&'static Field, Value)>,
    /// Violations of the declaration.
    pub problems: Vec<Problem>,
}

impl PartialEq for Decoded {
    fn eq(&self, other: &Decoded) -> bool {
        self.info.name == other.info.name
            && self.problems == other.problems
            && self.fields.len() == other.fields.len()
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .all(|(a, b)| a.0.name == b.0.name && a.1 == b.1)
    }
}

impl Decoded {
    /// The value of the field with this name in the hardware's words.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| field.name == name).map(|(_, value)| value)
    }

    /// Writes the fields as lines `name: value`, indented by `indent` spaces. Unless `all` is set,
    /// false flags are left out and true ones share one line, `Set: name, name`. Problems follow as
    /// lines that begin with `!`.
    pub fn write_text(&self, out: &mut dyn fmt::Write, indent: usize, all: bool) -> fmt::Result {
        for (field, value) in &self.fields {
            match value {
                Value::Bool(_) if !all => {}
                Value::Packet(inner) => {
                    writeln!(out, "{:indent$}{}:", "", field.name)?;
                    inner.write_text(out, indent + 2, all)?;
                }
                _ => writeln!(out, "{:indent$}{}: {value}", "", field.name)?,
            }
        }
        if !all {
            let set = self.fields.iter().filter(|(_, value)| *value == Value::Bool(true));
            for (i, (field, _)) in set.clone().enumerate() {
                match i {
                    0 => write!(out, "{:indent$}Set: {}", "", field.name)?,
                    _ => write!(out, ", {}", field.name)?,
                }
            }
            if set.count() > 0 {
                writeln!(out)?;
            }
        }
        for problem in &self.problems {
            writeln!(out, "{:indent$}! {problem}", "")?;
        }
        Ok(())
    }
}

impl fmt::Display for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.info.name)?;
        self.write_text(f, 2, true)
    }
}

/// Serialises as an object with a member for each field; problems, if any, are listed under `"!"`.
impl Serialize for Decoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (field, value) in &self.fields {
            map.serialize_entry(field.name, value)?;
        }
        if !self.problems.is_empty() {
            let texts: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
            map.serialize_entry("!", &texts)?;
        }
        map.end()
    }
}
