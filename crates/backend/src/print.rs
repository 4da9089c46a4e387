//! Prints the machine IR as text.

use crate::function::Function;
use crate::machine::Machine;
use cranelift_entity::EntityRef;
use std::fmt;
use tepui_regalloc::{Ctl, Ins, Op};

impl<M: Machine> fmt::Display for Function<M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (b, data) in self.blocks.iter() {
            write!(out, "{b}:")?;
            if !data.preds.is_empty() {
                write!(out, "  from")?;
                for p in &data.preds {
                    write!(out, " {p}")?;
                }
            }
            writeln!(out)?;
            for &i in &data.insts {
                self.line(out, i)?;
            }
        }
        Ok(())
    }
}

impl<M: Machine> Function<M> {
    /// One instruction, with a line's end.
    pub(crate) fn line(&self, out: &mut impl fmt::Write, i: Ins) -> fmt::Result {
        write!(out, "  ")?;
        for (n, &d) in self.dsts(i).iter().enumerate() {
            write!(out, "{}{d}:{}", if n > 0 { ", " } else { "" }, self.vals[d].units)?;
        }
        if !self.dsts(i).is_empty() {
            write!(out, " = ")?;
        }
        let op = self.insts[i].op;
        let name = match op {
            Op::Isa(inst) | Op::Ctl(Ctl::If(inst)) => {
                let (mut d, mut s) = (self.dsts(i).iter(), self.srcs(i).iter());
                let text = M::text(&inst, |written| {
                    let v = if written { d.next() } else { s.next() };
                    v.map_or_else(|| "?".to_owned(), |v| format!("v{}", v.index()))
                });
                let is_branch = matches!(op, Op::Ctl(_));
                return writeln!(out, "{}{text}", if is_branch { "if " } else { "" });
            }
            Op::Phi => "phi",
            Op::Collect => "collect",
            Op::Split => "split",
            Op::Copy => "copy",
            Op::Undef => "undef",
            Op::Preload(_) => "preload",
            Op::Exports => "exports",
            Op::Ctl(Ctl::Else) => "else",
            Op::Ctl(Ctl::EndIf) => "end_if",
            Op::Ctl(Ctl::Loop) => "loop",
            Op::Ctl(Ctl::EndLoop) => "end_loop",
            Op::Ctl(Ctl::Break) => "break",
            Op::Ctl(Ctl::Continue) => "continue",
        };
        write!(out, "{name}")?;
        for (n, s) in self.srcs(i).iter().enumerate() {
            write!(out, "{} {s}", if n > 0 { "," } else { "" })?;
            if matches!(op, Op::Exports) {
                write!(out, " to {}", M::unit_name(self.exports[n]))?;
            }
        }
        if let Op::Preload(unit) = op {
            write!(out, " {}", M::unit_name(unit))?;
        }
        writeln!(out)
    }
}
