//! The text of an instruction, in the syntax of Mesa's disassembler.
//!
//! There are two differences: the second zero of the constants is `imm21`, and bits that fields do not
//! explain follow in braces, so that text determines a word exactly.

use std::fmt;

use crate::inst::Inst;
use crate::modifier::{Flow, ModifierValue};
use crate::operand::Swizzle;

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.op.row();
        f.write_str(row.name)?;
        for (field, value) in row.form.modifiers.iter().zip(&self.modifiers) {
            if field.kind.default != Some(*value) {
                write!(f, ".{}", field.kind.name_of(*value).unwrap_or("reserved"))?;
            }
        }
        if self.flow != Flow::None {
            write!(f, ".{}", Flow::KIND.name_of(self.flow.raw()).unwrap_or("reserved"))?;
        }
        f.write_str(" ")?;
        let mut separator = "";
        let mut next = |f: &mut fmt::Formatter<'_>| {
            let result = f.write_str(separator);
            separator = ", ";
            result
        };
        if let Some(dest) = self.dest {
            next(f)?;
            write!(f, "{dest}")?;
        }
        for staging in &self.staging {
            next(f)?;
            write!(f, "{staging}")?;
        }
        for source in &self.sources {
            next(f)?;
            write!(f, "{}", source.operand)?;
            f.write_str(if source.neg { ".neg" } else { "" })?;
            f.write_str(if source.abs { ".abs" } else { "" })?;
            if source.swizzle != Swizzle::Identity {
                write!(f, ".{}", source.swizzle.name())?;
            }
            f.write_str(if source.not { ".not" } else { "" })?;
        }
        for (field, value) in row.form.immediates.iter().zip(&self.immediates) {
            next(f)?;
            match (field.name, field.signed) {
                ("constant", _) => write!(f, "#{value:#X}")?,
                (name, true) => write!(f, "{name}:{value}")?,
                (name, false) => write!(f, "{name}:{value:#X}")?,
            }
        }
        if self.unusual != 0 {
            write!(f, " {{{:#x}}}", self.unusual)?;
        }
        Ok(())
    }
}
