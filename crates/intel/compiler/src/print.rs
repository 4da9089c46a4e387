//! The text of machine IR.

use crate::mir::{Both, Function, Inst, MOp, Op, Operand, Place};
use std::fmt;
use tepui_regalloc::Val;

/// A function as text.
pub struct Text<'a>(pub &'a Function);

/// Writes an operand; `vals` are the values that operands without a register have.
fn operand(
    f: &mut fmt::Formatter<'_>,
    o: &Operand,
    vals: &mut std::slice::Iter<'_, Val>,
) -> fmt::Result {
    if o.negate {
        f.write_str("-")?;
    }
    if o.abs {
        f.write_str("(abs)")?;
    }
    match o.place {
        Place::Plane(_) | Place::Scalar(_) => match vals.next() {
            Some(v) if o.byte > 0 => write!(f, "{v}+{}:{}", o.byte, o.ty),
            Some(v) => write!(f, "{v}:{}", o.ty),
            None => f.write_str("?"),
        },
        Place::Fixed(dword) => write!(f, "g{}.{}:{}", dword / 8, dword % 8, o.ty),
        Place::Payload(register) => write!(f, "g{register}:{}", o.ty),
        Place::Immediate(bits) => write!(f, "{bits:#x}:{}", o.ty),
        Place::None | Place::Null => f.write_str("null"),
    }
}

/// The conditions of two comparisons, and how they combine.
fn both_text(both: &Both) -> String {
    let [first, second] = both.conditions.map(|c| c.suffix());
    format!("{first}{}{second}", if both.either { ".or" } else { ".and" })
}

/// Writes the name of an operation.
fn name(f: &mut fmt::Formatter<'_>, op: &Op) -> fmt::Result {
    match op {
        Op::Alu { opcode, condition, saturate, function } => {
            write!(f, "{opcode}{}", condition.suffix())?;
            if let Some(function) = tepui_intel_isa::MathFunction::from_code(*function) {
                write!(f, ".{}", function.name())?;
            }
            f.write_str(if *saturate { ".sat" } else { "" })
        }
        Op::Compare(c) => write!(f, "compare{}", c.suffix()),
        Op::Select(c) => write!(f, "select{}", c.suffix()),
        Op::CompareBoth(both) => write!(f, "compare{}", both_text(both)),
        Op::TestBoth(both) => write!(f, "test{}", both_text(both)),
        Op::Test(c) => write!(f, "test{}", c.suffix()),
        Op::Send(m) => {
            let desc = tepui_intel_isa::message::Descriptor::decode(m.sfid, m.control);
            write!(f, "send {}{desc}", m.sfid)?;
            f.write_str(if m.bindless { " bindless" } else { "" })
        }
        Op::Ballot(c) => write!(f, "ballot{}", c.suffix()),
        Op::ReadLane => f.write_str("read_lane"),
        Op::Clock => f.write_str("clock"),
        Op::Shuffle => f.write_str("shuffle"),
        Op::Scan { opcode, condition, cluster } => {
            write!(f, "scan.{opcode}{}.{cluster}", condition.suffix())
        }
        Op::Scanned(which) => write!(f, "scanned.{which:?}"),
        Op::MulHigh => f.write_str("mul_high"),
        Op::Lane => f.write_str("lane"),
        Op::Half(half) => write!(f, "half.{half}"),
        Op::Address => f.write_str("address"),
        Op::Arrange { planes, width } => write!(f, "arrange.{planes}x{width}"),
        Op::Barycentric { second } => {
            write!(f, "barycentric_{}", if *second { "second" } else { "first" })
        }
        Op::Pixel { y, coarse: false } => write!(f, "pixel_{}", axis(*y)),
        Op::Pixel { y, coarse: true } => write!(f, "coarse_pixel_{}", axis(*y)),
        Op::SampleId => f.write_str("sample_id"),
        Op::SampleOffset { y } => write!(f, "sample_offset_{}", axis(*y)),
        Op::BeginLive => f.write_str("begin_live"),
        Op::Keep(c) => write!(f, "keep{}", c.suffix()),
        Op::Suspend => f.write_str("suspend"),
        Op::Resume => f.write_str("resume"),
        Op::Helper { from_start } => {
            write!(f, "helper{}", if *from_start { "_from_start" } else { "" })
        }
        Op::Derivative { y, fine } => {
            write!(f, "dd{}_{}", axis(*y), if *fine { "fine" } else { "coarse" })
        }
        Op::UrbWrite { offset, planes, .. } => write!(f, "urb_write.{planes} +{offset}"),
        Op::UrbRead { offset, planes, .. } => write!(f, "urb_read.{planes} +{offset}"),
        Op::TargetWrite(p) => write!(f, "target_write {}", p.index),
        Op::Spread { planes, width, .. } => write!(f, "spread.{planes}x{width}"),
        Op::SamplerHeader { bits, table } => write!(f, "sampler_header {bits:#x} {table}"),
        Op::Resident { planes, width } => write!(f, "resident.{planes}x{width}"),
        Op::Barrier => f.write_str("barrier"),
        Op::Fence { buffers, local } => {
            f.write_str("fence")?;
            f.write_str(if *buffers { ".buffers" } else { "" })?;
            f.write_str(if *local { ".local" } else { "" })
        }
        Op::Interlock { end } => f.write_str(if *end { "interlock.end" } else { "interlock" }),
        Op::Scratch { store, at, .. } => {
            write!(f, "{}_scratch +{at}", if *store { "store" } else { "load" })
        }
    }
}

fn axis(y: bool) -> char {
    if y { 'y' } else { 'x' }
}

fn inst(f: &mut fmt::Formatter<'_>, i: &Inst, srcs: &[Val]) -> fmt::Result {
    name(f, &i.op)?;
    let mut vals = srcs.iter();
    for (k, o) in i.src.iter().filter(|o| o.place != Place::None).enumerate() {
        f.write_str(if k == 0 { " " } else { ", " })?;
        operand(f, o, &mut vals)?;
    }
    Ok(())
}

fn list(f: &mut fmt::Formatter<'_>, vals: &[Val]) -> fmt::Result {
    for (k, v) in vals.iter().enumerate() {
        write!(f, "{}{v}", if k == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f = self.0;
        for (b, data) in &f.blocks {
            write!(out, "{b}: preds ")?;
            for p in &data.preds {
                write!(out, "{p} ")?;
            }
            writeln!(out)?;
            for &i in &data.insts {
                let (dsts, srcs) = (f.dsts(i), f.srcs(i));
                out.write_str("  ")?;
                if !dsts.is_empty() {
                    list(out, dsts)?;
                    out.write_str(" = ")?;
                }
                match &f.insts[i].op {
                    MOp::Isa(x) => inst(out, x, srcs)?,
                    MOp::Ctl(tepui_regalloc::Ctl::If(x)) => {
                        out.write_str("if ")?;
                        inst(out, x, srcs)?;
                    }
                    MOp::Ctl(c) => write!(out, "{c:?}")?,
                    op => {
                        let name = match op {
                            MOp::Phi => "phi ",
                            MOp::Collect => "collect ",
                            MOp::Split => "split ",
                            MOp::Copy => "copy ",
                            MOp::Undef => "undef",
                            MOp::Preload(unit) => {
                                write!(out, "preload g{}", unit / crate::mir::GRF_UNITS)?;
                                ""
                            }
                            MOp::Exports => "exports ",
                            _ => "other ",
                        };
                        out.write_str(name)?;
                        list(out, srcs)?;
                    }
                }
                writeln!(out)?;
            }
        }
        Ok(())
    }
}
