//! Prints the machine IR as text.

use crate::mir::{Agx, Ctl, Function, Ins, Op, Target, isa};
use cranelift_entity::EntityRef;
use std::fmt;

impl fmt::Display for Function {
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

impl Function {
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
        match (isa(&op), op) {
            (Some(inst), _) => {
                // Each hole shows its value: print with values for registers, then name them.
                let (mut d, mut s) = (self.dsts(i).iter(), self.srcs(i).iter());
                let mut names = Vec::new();
                let mut inst = *inst;
                Agx::assign(&mut inst, |w| {
                    let v = if w { d.next() } else { s.next() };
                    names.push(v.map_or_else(|| "?".to_owned(), |v| format!("v{}", v.index())));
                    // Distinct even registers below 240, to be found again in the text.
                    100 + 8 * (names.len() as u16 - 1)
                });
                let mut text = inst.to_string();
                for (n, name) in names.iter().enumerate().rev() {
                    text = rename(&text, 50 + 4 * n as u16, name);
                }
                if matches!(op, Op::Ctl(Ctl::If(_))) {
                    write!(out, "if ")?;
                }
                writeln!(out, "{text}")
            }
            (None, op) => {
                let name = match op {
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
                    Op::Isa(_) | Op::Ctl(Ctl::If(_)) => "",
                };
                write!(out, "{name}")?;
                for (n, s) in self.srcs(i).iter().enumerate() {
                    write!(out, "{} {s}", if n > 0 { "," } else { "" })?;
                    if op == Op::Exports {
                        write!(out, " to {}", half_name(self.exports[n]))?;
                    }
                }
                if let Op::Preload(half) = op {
                    write!(out, " {}", half_name(half))?;
                }
                writeln!(out)
            }
        }
    }
}

/// A half-register's name.
fn half_name(half: u16) -> String {
    format!("r{}{}", half / 2, if half.is_multiple_of(2) { "l" } else { "h" })
}

/// Replaces registers `r` to `r + 3` of a text (with whatever halves and lists) by a value's name.
fn rename(text: &str, r: u16, name: &str) -> String {
    let mut out = String::new();
    for (n, token) in text.split(' ').enumerate() {
        if n > 0 {
            out.push(' ');
        }
        let body = token.trim_end_matches(',');
        let (reg, mods) = body.split_once('.').map_or((body, ""), |(a, b)| (a, b));
        let first = reg.split('_').next().unwrap_or("");
        let half = first.ends_with('l');
        let number = first.trim_end_matches(['l', 'h']);
        if number == format!("r{r}") {
            out.push_str(name);
            if half && !reg.contains('_') {
                out.push('l');
            }
            if !mods.is_empty() {
                out.push('.');
                out.push_str(mods);
            }
            if token.ends_with(',') {
                out.push(',');
            }
        } else {
            out.push_str(token);
        }
    }
    out
}
