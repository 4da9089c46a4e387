//! Instruction fields by name, which braces after an instruction set.
//!
//! Mesa's text leaves out fields that do not affect an instruction, or that its compiler always fills with the same
//! value. Exact text includes those with another value, as in `{src2.swizzle:0x54, mask:0x3}`.

use super::super::word::{
    LoadStore, Registers, Scalar, ScalarSource, Texture, Vector, VectorSource,
};
use super::cursor::{Cursor, Result};
use super::error::AsmErrorKind as Kind;

/// An instruction whose fields have names.
pub(in super::super) trait Fields: Clone {
    /// Calls a function with the name, the bits and the value of each field.
    fn visit(&mut self, f: &mut dyn FnMut(&str, u32, &mut u32));

    /// The fields in which another instruction differs from this one, as text.
    fn differences(&self, other: &Self) -> Vec<String> {
        let mut values = Vec::new();
        self.clone().visit(&mut |_, _, value| values.push(*value));
        let (mut values, mut all) = (values.into_iter(), Vec::new());
        other.clone().visit(&mut |name, _, value| {
            if values.next() != Some(*value) {
                all.push(format!("{name}:{value:#x}"));
            }
        });
        all
    }

    /// Sets the fields that braces name.
    fn set(&mut self, braces: &BracedFields<'_>) -> Result<()> {
        for (name, value) in &braces.0 {
            let (mut found, mut failed) = (false, None);
            self.visit(&mut |field, bits, slot| {
                if field == name.rest {
                    found = true;
                    match value.clone().field("the field", bits) {
                        Ok(value) => *slot = value,
                        Err(error) => failed = Some(error),
                    }
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            if !found {
                return name.fail(Kind::Field(name.rest.into()));
            }
        }
        Ok(())
    }
}

impl Fields for LoadStore {
    fn visit(&mut self, f: &mut dyn FnMut(&str, u32, &mut u32)) {
        LoadStore::visit(self, |name, bits, value| f(name, bits, value));
    }
}

impl Fields for Texture {
    fn visit(&mut self, f: &mut dyn FnMut(&str, u32, &mut u32)) {
        Texture::visit(self, |name, bits, value| f(name, bits, value));
    }
}

/// The registers that are read and written, and whether there is an immediate.
fn registers(r: &mut Registers, f: &mut dyn FnMut(&str, u32, &mut u32)) {
    r.visit(|name, bits, value| match name {
        "src1" => f("src1.register", bits, value),
        "src2" => f("src2.register", bits, value),
        name => f(name, bits, value),
    });
}

impl Fields for (Registers, Vector) {
    fn visit(&mut self, f: &mut dyn FnMut(&str, u32, &mut u32)) {
        registers(&mut self.0, f);
        self.1.visit(|name, bits, value| match name {
            "src1" | "src2" => {
                let mut source = VectorSource::decode(u128::from(*value));
                source.visit(|part, bits, value| f(&format!("{name}.{part}"), bits, value));
                *value = source.encode() as u32;
            }
            name => f(name, bits, value),
        });
    }
}

impl Fields for (Registers, Scalar) {
    fn visit(&mut self, f: &mut dyn FnMut(&str, u32, &mut u32)) {
        registers(&mut self.0, f);
        self.1.visit(|name, bits, value| match name {
            "src1" | "src2" => {
                let mut source = ScalarSource::decode(u128::from(*value & 0x3f));
                source.visit(|part, bits, value| f(&format!("{name}.{part}"), bits, value));
                let mut rest = *value >> ScalarSource::BITS;
                if bits > ScalarSource::BITS {
                    f(&format!("{name}.rest"), bits - ScalarSource::BITS, &mut rest);
                }
                *value = source.encode() as u32 | rest << ScalarSource::BITS;
            }
            name => f(name, bits, value),
        });
    }
}

/// Names and values in braces.
#[derive(Clone, Default)]
pub(in super::super) struct BracedFields<'a>(Vec<(Cursor<'a>, Cursor<'a>)>);

impl<'a> BracedFields<'a> {
    /// Takes the braces from the end of a line.
    pub fn split(line: Cursor<'a>) -> Result<(Cursor<'a>, BracedFields<'a>)> {
        let Some(at) = line.rest.find('{') else { return Ok((line, BracedFields::default())) };
        let (body, mut braces) =
            (line.at(line.rest[..at].trim_end()), line.at(&line.rest[at + 1..]));
        let mut all = Vec::new();
        loop {
            braces.space();
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
            let name = braces.word(is_name);
            if name.rest.is_empty() || !braces.mark(":") {
                return name.expected("a field and its value, as in `{mask:0x3}`");
            }
            all.push((name, braces));
            braces.number("a number")?;
            if braces.mark("}") {
                braces.end()?;
                return Ok((body, BracedFields(all)));
            }
            braces.need(",", "a comma or a closing brace")?;
        }
    }

    /// The value of a field that determines how text is parsed.
    pub fn value(&self, field: &str) -> Option<i64> {
        let (_, value) = self.0.iter().find(|(name, _)| name.rest == field)?;
        value.clone().number("a number").ok()
    }

    /// An error if braces name any field.
    pub fn none(&self) -> Result<()> {
        match self.0.first() {
            Some((name, _)) => name.fail(Kind::Field(name.rest.into())),
            None => Ok(()),
        }
    }
}
