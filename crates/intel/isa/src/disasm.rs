//! The disassembler, in the syntax of Mesa's `brw_disasm`.

use std::collections::HashMap;
use std::fmt::{self, Write};

use half::f16;
use tepui_intel_chips::Generation;

use crate::codec::branch_extras;
use crate::error::DecodeError;
use crate::inst::{Desc, Inst, PREDICATES, PREDICATES_ALIGN16};
use crate::message::{self, Descriptor};
use crate::operand::{Dst, Location, Region, Src};
use crate::swsb::Token;
use crate::table::opcode::{Form, MathFunction, Opcode, SyncFunction};
use crate::types::Type;

/// Text output that tracks its column.
#[derive(Default)]
struct Line {
    text: String,
    start: usize,
    /// Characters of this line that are not counted as columns: Mesa's column count excludes descriptors.
    uncounted: usize,
}

impl Line {
    fn column(&self) -> usize {
        self.text.len() - self.start - self.uncounted
    }

    /// Writes a space, and further ones up to a column.
    fn pad(&mut self, column: usize) {
        let spaces = column.saturating_sub(self.column()).max(1);
        self.text.extend(std::iter::repeat_n(' ', spaces));
    }

    fn uncounted(&mut self, text: impl fmt::Display) {
        let before = self.text.len();
        let _ = write!(self.text, "{text}");
        self.uncounted += self.text.len() - before;
    }

    fn newline(&mut self) {
        self.text.push('\n');
        self.start = self.text.len();
        self.uncounted = 0;
    }
}

impl Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.text.push_str(s);
        Ok(())
    }
}

/// Names of jump targets, by byte offset.
pub type Labels = HashMap<usize, usize>;

/// An instruction's text at an offset of a program.
pub struct Text<'a> {
    /// The instruction.
    pub inst: &'a Inst,
    /// Its byte offset.
    pub offset: usize,
    /// Names for its jump targets; other targets are written as offsets.
    pub labels: &'a Labels,
}

impl fmt::Display for Inst {
    /// The text without its context: jumps are offsets in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text { inst: self, offset: 0, labels: &Labels::new() }.fmt(f)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line::default();
        self.write(&mut line)?;
        f.write_str(&line.text)
    }
}

impl Text<'_> {
    fn write(&self, w: &mut Line) -> fmt::Result {
        let inst = self.inst;
        if inst.predicate.control != 0 {
            let names: &[&str] = if inst.align16 { &PREDICATES_ALIGN16 } else { &PREDICATES };
            let sign = if inst.predicate.inverse { '-' } else { '+' };
            let name = names.get(usize::from(inst.predicate.control)).unwrap_or(&"");
            write!(w, "({sign}f{}.{}{name}) ", inst.flag.register, inst.flag.half)?;
        }
        w.write_str(inst.opcode.mnemonic())?;
        if inst.saturate {
            w.write_str(".sat")?;
        }
        if inst.debug {
            w.write_str(".breakpoint")?;
        }
        match inst.opcode {
            Opcode::Math => {
                let function = MathFunction::from_code(inst.function);
                write!(w, " {}", function.map_or("?", MathFunction::name))?;
            }
            Opcode::Sync => {
                let function = SyncFunction::from_code(inst.function);
                write!(w, " {}", function.map_or("?", SyncFunction::name))?;
            }
            _ => w.write_str(inst.condition.suffix())?,
        }
        if inst.condition.suffix() != "" && !inst.opcode.condition_without_flag() {
            write!(w, ".f{}.{}", inst.flag.register, inst.flag.half)?;
        }
        if inst.opcode != Opcode::Nop {
            write!(w, "({})", inst.exec_size)?;
        }
        self.operands(w)?;
        w.pad(64);
        self.options(w)?;
        w.write_str(";")
    }

    fn operands(&self, w: &mut Line) -> fmt::Result {
        let inst = self.inst;
        let logic = inst.opcode.is_logic();
        match inst.form() {
            Form::None => {}
            Form::Regular { dst: has_dst, sources } => {
                if has_dst {
                    w.pad(16);
                    dst(w, &inst.dst, inst.align16)?;
                }
                for (n, source) in inst.src[..usize::from(sources)].iter().enumerate() {
                    w.pad(32 + 16 * n);
                    src(w, source, logic)?;
                }
            }
            Form::Ternary => {
                w.pad(16);
                dst(w, &Dst { stride: inst.dst.stride, ..inst.dst }, inst.align16)?;
                for (n, source) in inst.src.iter().enumerate() {
                    w.pad(32 + 16 * n);
                    ternary_src(w, source)?;
                }
            }
            Form::Jip => {
                w.pad(16);
                self.target(w, "JIP: ", inst.jip)?;
            }
            Form::JipUip => {
                w.pad(16);
                self.target(w, "JIP: ", inst.jip)?;
                w.pad(38);
                self.target(w, "UIP: ", inst.uip)?;
            }
            Form::Call => {
                w.pad(16);
                dst(w, &inst.dst, false)?;
                w.pad(32);
                self.target(w, "JIP: ", inst.jip)?;
            }
            Form::Jump => {
                w.pad(16);
                src(w, &inst.src[0], false)?;
            }
            Form::Wait => {
                w.pad(16);
                dst(w, &inst.dst, false)?;
            }
            Form::Send => {
                w.pad(16);
                dst(w, &inst.dst, inst.align16)?;
                w.pad(32);
                src(w, &inst.src[0], false)?;
                w.pad(48);
                let end = u32::from(inst.send.end_of_thread) << 31;
                match inst.send.desc {
                    Desc::Immediate(bits) => w.uncounted(format_args!("0x{:08x}", bits | end)),
                    Desc::Address(dword) => {
                        address(w, dword, "<0,1,0>UD")?;
                        w.pad(64);
                        // The bits of the second source's fields: a0.N.
                        let bits = 0x200 | (u32::from(dword) * 4) | end;
                        w.uncounted(format_args!("0x{bits:08x}"));
                    }
                }
                self.message(w)?;
            }
            Form::SplitSend => {
                for (at, location) in [
                    (16, inst.dst.location),
                    (32, inst.src[0].location),
                    (48, inst.src[1].location),
                ] {
                    w.pad(at);
                    if let Location::Direct { register, byte } = location {
                        write!(w, "{register}")?;
                        if byte != 0 {
                            write!(w, ".{}", byte / 16)?;
                        }
                        w.write_str("UD")?;
                    }
                }
                for (at, desc) in [(64, inst.send.desc), (80, inst.send.ex_desc)] {
                    w.pad(at);
                    match desc {
                        Desc::Immediate(bits) => w.uncounted(format_args!("0x{bits:08x}")),
                        Desc::Address(dword) => address(w, dword, "<0>UD")?,
                    }
                }
                self.message(w)?;
            }
        }
        Ok(())
    }

    fn message(&self, w: &mut Line) -> fmt::Result {
        let send = &self.inst.send;
        w.newline();
        w.pad(16);
        w.uncounted("            ");
        write!(w, "{} MsgDesc:", send.sfid)?;
        match send.desc {
            Desc::Address(_) => w.write_str(" indirect")?,
            Desc::Immediate(desc) => {
                let decoded = Descriptor::decode(send.sfid, desc);
                if decoded == Descriptor::Unknown {
                    write!(w, "unsupported shared function ID {}", send.sfid as u8)?;
                } else {
                    write!(w, "{decoded} ")?;
                }
                write!(w, " mlen {}", message::payload_registers(desc))?;
            }
        }
        if let (Form::SplitSend, Desc::Immediate(desc)) = (self.inst.form(), send.ex_desc) {
            write!(w, " ex_mlen {}", message::payload1_registers(desc))?;
        }
        if let Desc::Immediate(desc) = send.desc {
            write!(w, " rlen {}", message::response_registers(desc))?;
        }
        Ok(())
    }

    fn target(&self, w: &mut Line, what: &str, jump: i32) -> fmt::Result {
        w.write_str(what)?;
        let to = self.offset as i64 + i64::from(jump);
        let label = usize::try_from(to).ok().and_then(|to| self.labels.get(&to));
        match label {
            Some(label) => write!(w, " LABEL{label}"),
            None => write!(w, " {jump}"),
        }
    }

    fn options(&self, w: &mut Line) -> fmt::Result {
        let inst = self.inst;
        if inst.opcode == Opcode::Nop {
            return match (inst.compacted, inst.unusual) {
                (false, 0) => Ok(()),
                (true, 0) => w.write_str("{ compacted }"),
                (false, bits) => write!(w, "{{ bits {bits:#x} }}"),
                (true, bits) => write!(w, "{{ compacted bits {bits:#x} }}"),
            };
        }
        w.write_str(if inst.align16 { "{ align16" } else { "{ align1" })?;
        let mut option = |on: bool, text: &str| if on { write!(w, " {text}") } else { Ok(()) };
        option(inst.no_mask, "WE_all")?;
        match (inst.no_dd_clear, inst.no_dd_check) {
            (true, true) => option(true, "NoDDClr,NoDDChk")?,
            (clear, check) => {
                option(clear, "NoDDClr")?;
                option(check, "NoDDChk")?;
            }
        }
        let offset = inst.channel_offset;
        match inst.exec_size {
            8 if offset.is_multiple_of(8) => write!(w, " {}Q", offset / 8 + 1)?,
            16 => write!(w, " {}H", offset / 16 + 1)?,
            32 => {}
            _ => write!(w, " {}N", offset / 4 + 1)?,
        }
        if inst.swsb.distance != 0 {
            write!(w, " @{}", inst.swsb.distance)?;
        }
        if let Some((id, token)) = inst.swsb.token {
            let what = match token {
                Token::Set => "",
                Token::Src => ".src",
                Token::Dst => ".dst",
            };
            write!(w, " ${id}{what}")?;
        }
        let mut option = |on: bool, text: &str| if on { write!(w, " {text}") } else { Ok(()) };
        option(inst.compacted, "compacted")?;
        option(inst.thread_control == 1, "atomic")?;
        option(inst.thread_control == 2, "switch")?;
        let branch = inst.opcode.has_branch_control();
        option(inst.acc_write, if branch { "BranchCtrl" } else { "AccWrEnable" })?;
        option(inst.opcode.is_send() && inst.send.end_of_thread, "EOT")?;
        match inst.unusual {
            0 => {}
            bits if bits == branch_extras(inst) => w.write_str(" bare")?,
            bits => write!(w, " bits {bits:#x}")?,
        }
        w.write_str(" }")
    }
}

fn address(w: &mut Line, dword: u8, suffix: &str) -> fmt::Result {
    match dword {
        0 => write!(w, "a0{suffix}"),
        _ => write!(w, "a0.{dword}{suffix}"),
    }
}

/// Writes a register, a subregister in elements, or an indirect operand.
fn location(w: &mut Line, location: Location, ty: Type) -> fmt::Result {
    match location {
        Location::Direct { register, byte } => {
            write!(w, "{register}")?;
            match usize::from(byte) / ty.bytes() {
                0 => Ok(()),
                element => write!(w, ".{element}"),
            }
        }
        Location::Indirect { address, offset } => {
            w.write_str("g[a0")?;
            if address != 0 {
                write!(w, ".{address}")?;
            }
            if offset != 0 {
                write!(w, " {}", offset & 0x3ff)?;
            }
            w.write_str("]")
        }
        Location::Immediate(_) => Ok(()),
    }
}

fn dst(w: &mut Line, dst: &Dst, align16: bool) -> fmt::Result {
    location(w, dst.location, dst.ty)?;
    write!(w, "<{}>", dst.stride)?;
    if align16 && dst.writemask != 15 {
        w.write_str(".")?;
        for (n, letter) in "xyzw".chars().enumerate() {
            if dst.writemask >> n & 1 != 0 {
                w.write_char(letter)?;
            }
        }
    }
    write!(w, "{}", dst.ty)
}

fn modifiers(w: &mut Line, src: &Src, logic: bool) -> fmt::Result {
    match (src.negate, logic) {
        (true, true) => w.write_str("~")?,
        (true, false) => w.write_str("-")?,
        _ => {}
    }
    w.write_str(if src.abs { "(abs)" } else { "" })
}

fn swizzle(w: &mut Line, swizzle: u8) -> fmt::Result {
    let letter = |n: u8| char::from(b"xyzw"[usize::from(swizzle >> (2 * n) & 3)]);
    if (1..4).all(|n| letter(n) == letter(0)) {
        write!(w, ".{}", letter(0))
    } else if swizzle != Region::XYZW {
        write!(w, ".{}{}{}{}", letter(0), letter(1), letter(2), letter(3))
    } else {
        Ok(())
    }
}

fn src(w: &mut Line, src: &Src, logic: bool) -> fmt::Result {
    if let Location::Immediate(bits) = src.location {
        return immediate(w, src.ty, bits);
    }
    modifiers(w, src, logic)?;
    location(w, src.location, src.ty)?;
    match src.region {
        Region::Rows { vertical, width, horizontal } => {
            write!(w, "<{vertical},{width},{horizontal}>")?;
        }
        Region::PerRow { width, horizontal } => write!(w, "<VxH,{width},{horizontal}>")?,
        Region::Swizzle { vertical, swizzle: order } => {
            write!(w, "<{vertical}>")?;
            swizzle(w, order)?;
        }
    }
    write!(w, "{}", src.ty)
}

fn ternary_src(w: &mut Line, src: &Src) -> fmt::Result {
    if let Location::Immediate(bits) = src.location {
        return match src.ty {
            Type::W => write!(w, "{}W", bits as u16),
            _ => write!(w, "0x{:04x}{}", bits as u16, src.ty),
        };
    }
    modifiers(w, src, false)?;
    location(w, src.location, src.ty)?;
    if let (Region::SCALAR, Location::Direct { byte, .. }) = (src.region, src.location)
        && usize::from(byte) < src.ty.bytes()
    {
        w.write_str(".0")?;
    }
    match src.region {
        Region::Rows { vertical, width, horizontal } => {
            write!(w, "<{vertical},{width},{horizontal}>")?;
        }
        Region::Swizzle { swizzle: order, .. } => {
            w.write_str("<4,4,1>")?;
            swizzle(w, order)?;
        }
        Region::PerRow { .. } => {}
    }
    write!(w, "{}", src.ty)
}

/// The value of an element of the vector immediate VF: sign, three bits of exponent, four of mantissa.
///
/// source: Mesa, `brw_packed_float.c` (`brw_vf_to_float`).
pub fn vf_to_f32(bits: u8) -> f32 {
    if bits & 0x7f == 0 {
        return f32::from_bits(u32::from(bits) << 24);
    }
    let (sign, exponent, mantissa) =
        (u32::from(bits >> 7), u32::from(bits >> 4 & 7), u32::from(bits & 15));
    f32::from_bits(sign << 31 | (exponent + 124) << 23 | mantissa << 19)
}

fn immediate(w: &mut Line, ty: Type, bits: u64) -> fmt::Result {
    let low = bits as u32;
    match ty {
        Type::UQ | Type::Q => write!(w, "0x{bits:016x}{ty}"),
        Type::UD | Type::UV | Type::V => write!(w, "0x{low:08x}{ty}"),
        Type::D => write!(w, "{}D", low as i32),
        Type::UW => write!(w, "0x{:04x}UW", low as u16),
        Type::W => write!(w, "{}W", low as i16),
        Type::VF => {
            write!(w, "0x{low:x}VF")?;
            w.pad(48);
            let [a, b, c, d] = low.to_le_bytes().map(|b| general(f64::from(vf_to_f32(b))));
            write!(w, "/* [{a}F, {b}F, {c}F, {d}F]VF */")
        }
        Type::F => {
            write!(w, "0x{low:x}F")?;
            w.pad(48);
            write!(w, " /* {}F */", general(f64::from(f32::from_bits(low))))
        }
        Type::DF => {
            write!(w, "0x{bits:016x}DF")?;
            w.pad(48);
            write!(w, "/* {}DF */", general(f64::from_bits(bits)))
        }
        Type::HF => {
            write!(w, "0x{:04x}HF", low as u16)?;
            w.pad(48);
            write!(w, "/* {}HF */", general(f16::from_bits(low as u16).to_f64()))
        }
        Type::UB | Type::B => write!(w, "0x{low:x}{ty}"),
    }
}

/// A number as C's `%g` writes it: six significant digits, no zeros at the end.
fn general(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        return format!("{sign}nan");
    }
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    if value == 0.0 {
        return format!("{sign}0");
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |s: &str| match s.contains('.') {
        true => s.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => s.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        return trim(&format!("{value:.*}", (5 - exponent) as usize));
    }
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{exponent_sign}{:02}", trim(mantissa), exponent.abs())
}

/// The contents of a listed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An instruction.
    Inst(Box<Inst>),
    /// Bytes that encode no instruction; decoding continues 16 bytes further, or 8 if the bytes claim to be
    /// compacted.
    Error(DecodeError),
    /// The end of the code, if a label is there.
    End,
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingEntry {
    /// Its byte offset.
    pub offset: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its contents.
    pub content: Content,
    /// Number of the label at this offset.
    pub label: Option<usize>,
    /// Its text; for errors, the bytes as a comment.
    pub text: String,
}

/// Disassembles code from an offset up to its end.
///
/// The code of a whole shader is followed by zeros or constants after the last `send`; `end` stops there.
pub fn disassemble(generation: Generation, code: &[u8], start: usize) -> Vec<ListingEntry> {
    let mut found = Vec::new();
    let mut offset = start;
    while offset < code.len() {
        let inst = Inst::decode(generation, code, offset);
        let bytes = match &inst {
            Ok(inst) => inst.bytes(),
            Err(_) if code[offset..].get(3).is_some_and(|b| b >> 5 & 1 != 0) => 8,
            Err(_) => 16,
        };
        found.push((offset, bytes.min(code.len() - offset), inst));
        offset += bytes;
    }
    // Labels are numbered in the order in which jumps name them, UIP before JIP.
    let mut labels = Labels::new();
    let places: std::collections::HashSet<usize> =
        found.iter().map(|(offset, ..)| *offset).chain([offset]).collect();
    for (offset, _, inst) in &found {
        let Ok(inst) = inst else { continue };
        let jumps: &[i32] = match inst.form() {
            Form::JipUip => &[inst.uip, inst.jip],
            Form::Jip => &[inst.jip],
            Form::Call if inst.opcode == Opcode::Call => &[inst.jip],
            _ => &[],
        };
        for jump in jumps {
            let Ok(to) = usize::try_from(*offset as i64 + i64::from(*jump)) else { continue };
            if places.contains(&to) {
                let next = labels.len();
                labels.entry(to).or_insert(next);
            }
        }
    }
    let list = |(offset, length, inst): (usize, usize, Result<Inst, DecodeError>)| {
        let bytes = code[offset..offset + length].to_vec();
        let (content, text) = match inst {
            Ok(inst) => {
                let text = Text { inst: &inst, offset, labels: &labels }.to_string();
                (Content::Inst(Box::new(inst)), text)
            }
            Err(error) => {
                let hex: String = bytes.iter().map(|b| format!("{b:02x} ")).collect();
                (Content::Error(error), format!("/* {}*/", hex))
            }
        };
        ListingEntry { offset, bytes, content, label: labels.get(&offset).copied(), text }
    };
    let mut listed: Vec<ListingEntry> = found.into_iter().map(list).collect();
    // A label after the last instruction.
    if let Some(label) = labels.get(&offset) {
        listed.push(ListingEntry {
            offset,
            bytes: Vec::new(),
            content: Content::End,
            label: Some(*label),
            text: String::new(),
        });
    }
    listed
}

impl ListingEntry {
    /// The text preceded by its label, as the assembler reads it.
    pub fn labelled(&self) -> String {
        match self.label {
            Some(label) => format!("LABEL{label}:\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// The text of a whole program, as Mesa's disassembler prints it.
pub fn program(generation: Generation, code: &[u8]) -> String {
    let mut text = String::new();
    for line in disassemble(generation, code, 0) {
        if let Some(label) = line.label {
            let _ = write!(text, "\nLABEL{label}:\n");
        }
        if !line.text.is_empty() {
            text.push_str(&line.text);
            text.push('\n');
        }
    }
    text
}

/// The end of a shader's code: after the first `send` that ends the thread and that no jump target lies
/// beyond, or at an illegal instruction (zeros).
pub fn end(generation: Generation, code: &[u8]) -> usize {
    let mut offset = 0;
    let mut furthest = 0;
    while let Ok(inst) = Inst::decode(generation, code, offset) {
        if inst.opcode == Opcode::Illegal {
            break;
        }
        for jump in [inst.jip, inst.uip] {
            furthest = furthest.max(offset as i64 + i64::from(jump));
        }
        let end_of_thread = inst.opcode.is_send() && inst.send.end_of_thread;
        offset += inst.bytes();
        if end_of_thread && furthest < offset as i64 {
            break;
        }
    }
    offset
}
