//! Parses one instruction.

use tepui_intel_chips::Generation;

use super::{ParsedInstruction, Target};
use crate::codec::branch_extras;
use crate::inst::{Condition, Desc, Flag, Inst, PREDICATES, PREDICATES_ALIGN16};
use crate::operand::{Arf, Dst, Location, Region, Register, Src};
use crate::scan::{ParseError, Result, Scanner};
use crate::sfid::Sfid;
use crate::swsb::Token;
use crate::table::opcode::{Form, MathFunction, Opcode, SyncFunction};
use crate::types::Type;

/// A source as written: its region depends on the access mode, which follows the operands.
struct WrittenSource {
    at: usize,
    src: Src,
    /// Region numbers between the angle brackets.
    region: WrittenRegion,
    swizzle: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WrittenRegion {
    None,
    Vertical(u8),
    Rows(u8, u8, u8),
    PerRow(u8, u8),
}

pub(super) struct Parser<'p, 's> {
    s: &'p mut Scanner<'s>,
    generation: Generation,
}

impl<'p, 's> Parser<'p, 's> {
    pub(super) fn new(s: &'p mut Scanner<'s>, generation: Generation) -> Parser<'p, 's> {
        Parser { s, generation }
    }

    pub(super) fn instruction(mut self) -> Result<ParsedInstruction<'s>> {
        self.s.blank();
        let at = self.s.position();
        let predicate = self.predicate()?;
        let mnemonic_at = self.s.position();
        let mnemonic = self.s.word();
        let Some(opcode) = Opcode::from_mnemonic(self.generation, mnemonic) else {
            let message = format!("no instruction '{mnemonic}' on {}", self.generation);
            return Err(ParseError { at: mnemonic_at, message });
        };
        let mut inst = Inst::new(self.generation, opcode);
        let mut flag = None;
        let mut name = None;
        if let Some((inverse, which, control)) = predicate {
            inst.predicate.inverse = inverse;
            flag = Some(which);
            name = Some(control);
        }
        self.suffixes(&mut inst, &mut flag)?;
        self.function(&mut inst)?;
        if self.s.accept("(") {
            let size = self.s.integer()?;
            inst.exec_size = match size {
                1 | 2 | 4 | 8 | 16 | 32 => size as u8,
                _ => return self.s.fail("execution sizes are 1, 2, 4, 8, 16 and 32"),
            };
            self.s.expect(")")?;
        } else {
            inst.exec_size = 1;
        }
        let mut item = ParsedInstruction { at, inst, jip: Target::Offset, uip: Target::Offset };
        let written = self.operands(&mut item)?;
        if self.s.accept("{") {
            self.options(&mut item.inst)?;
        }
        self.s.expect(";")?;
        if let Some(name) = name {
            item.inst.predicate.control = self.predicate_control(at, name, item.inst.align16)?;
        }
        if let Some(flag) = flag {
            item.inst.flag = flag;
        }
        let inst = &mut item.inst;
        if inst.has_condition() || inst.condition == Condition::None {
            for (n, written) in written.into_iter().enumerate() {
                inst.src[n] = finish(inst, written)?;
            }
            Ok(item)
        } else {
            Err(ParseError { at, message: "no conditional modifier here".to_owned() })
        }
    }

    /// Parses a predicate, `(+f0.0.any8h)`: inverse, flag, name of the control.
    fn predicate(&mut self) -> Result<Option<(bool, Flag, &'s str)>> {
        if !self.s.accept("(") {
            return Ok(None);
        }
        let inverse = self.s.accept("-");
        if !inverse {
            self.s.accept("+");
        }
        let flag = self.flag()?;
        let name = if self.s.rest().starts_with('.') {
            self.s.run(|c| c == '.' || c.is_ascii_alphanumeric())
        } else {
            ""
        };
        self.s.expect(")")?;
        self.s.blank();
        Ok(Some((inverse, flag, name)))
    }

    fn predicate_control(&self, at: usize, name: &str, align16: bool) -> Result<u8> {
        let names: &[&str] = if align16 { &PREDICATES_ALIGN16 } else { &PREDICATES };
        // Index 0 means no predicate.
        match names[1..].iter().position(|n| *n == name) {
            Some(n) => Ok(n as u8 + 1),
            None => Err(ParseError { at, message: format!("no predicate control '{name}' here") }),
        }
    }

    fn flag(&mut self) -> Result<Flag> {
        self.s.blank();
        if !self.s.take("f") {
            return self.s.fail("expected a flag register");
        }
        let register = self.small(1)?;
        let half =
            if self.s.rest().starts_with(".") && self.s.take(".") { self.small(1)? } else { 0 };
        Ok(Flag { register, half })
    }

    /// Parses a decimal number up to a limit.
    fn small(&mut self, limit: u8) -> Result<u8> {
        let at = self.s.position();
        match self.s.decimal()? {
            n if n <= u64::from(limit) => Ok(n as u8),
            n => Err(ParseError { at, message: format!("{n} is more than {limit}") }),
        }
    }

    fn suffixes(&mut self, inst: &mut Inst, flag: &mut Option<Flag>) -> Result<()> {
        while self.s.rest().starts_with('.') {
            let at = self.s.position();
            self.s.take(".");
            if self.s.rest().starts_with('f')
                && self.s.rest()[1..].starts_with(|c: char| c.is_ascii_digit())
            {
                let which = self.flag()?;
                if flag.is_some_and(|flag| flag != which) {
                    let message = "predicate and condition share a flag register".to_owned();
                    return Err(ParseError { at, message });
                }
                *flag = Some(which);
                continue;
            }
            match self.s.word() {
                "sat" => inst.saturate = true,
                "breakpoint" => inst.debug = true,
                "e" => inst.condition = Condition::Zero,
                "ne" => inst.condition = Condition::NotZero,
                word => {
                    let found = Condition::ALL[1..].iter().find(|(_, name)| name[1..] == *word);
                    match found {
                        Some((condition, _)) => inst.condition = *condition,
                        None => {
                            return Err(ParseError { at, message: format!("unknown '.{word}'") });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn function(&mut self, inst: &mut Inst) -> Result<()> {
        let code = match inst.opcode {
            Opcode::Math => {
                let word = self.s.word();
                MathFunction::ALL.iter().find(|f| f.name() == word).map(|f| *f as u8)
            }
            Opcode::Sync => {
                let word = self.s.word();
                SyncFunction::ALL.iter().find(|f| f.name() == word).map(|f| *f as u8)
            }
            _ => return Ok(()),
        };
        match code {
            Some(code) => {
                inst.function = code;
                Ok(())
            }
            None => self.s.fail("expected a function"),
        }
    }

    fn operands(&mut self, item: &mut ParsedInstruction<'s>) -> Result<Vec<WrittenSource>> {
        let inst = &mut item.inst;
        let mut written = Vec::new();
        match inst.form() {
            Form::None => {}
            Form::Regular { dst, sources } => {
                if dst {
                    inst.dst = self.dst()?;
                }
                for _ in 0..sources {
                    written.push(self.src()?);
                }
            }
            Form::Ternary => {
                inst.dst = self.dst()?;
                for _ in 0..3 {
                    written.push(self.src()?);
                }
            }
            Form::Jip => item.jip = self.jump("JIP:", &mut inst.jip)?,
            Form::JipUip => {
                item.jip = self.jump("JIP:", &mut inst.jip)?;
                self.s.blank();
                if !self.s.rest().starts_with(['{', ';']) {
                    item.uip = self.jump("UIP:", &mut inst.uip)?;
                }
            }
            Form::Call => {
                inst.dst = self.dst()?;
                item.jip = self.jump("JIP:", &mut inst.jip)?;
            }
            Form::Jump => written.push(self.src()?),
            Form::Wait => inst.dst = self.dst()?,
            Form::Send => {
                inst.dst = self.dst()?;
                written.push(self.src()?);
                self.s.blank();
                inst.send.desc = self.desc()?;
                if let Desc::Address(_) = inst.send.desc {
                    // The descriptor register is followed by its bits.
                    self.s.integer()?;
                } else if let Desc::Immediate(bits) = inst.send.desc {
                    // The end of the thread is an option too.
                    inst.send.desc = Desc::Immediate(bits & 0x7fff_ffff);
                }
                self.message(inst)?;
            }
            Form::SplitSend => {
                inst.dst.location = self.payload()?;
                inst.src[0].location = self.payload()?;
                inst.src[1].location = self.payload()?;
                inst.send.desc = self.desc()?;
                inst.send.ex_desc = self.desc()?;
                self.message(inst)?;
            }
        }
        Ok(written)
    }

    /// Parses a label or an offset in bytes.
    fn jump(&mut self, what: &str, offset: &mut i32) -> Result<Target<'s>> {
        self.s.accept(what);
        self.s.blank();
        let at = self.s.position();
        if self.s.rest().starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            let value = self.s.integer()? as i64;
            match i32::try_from(value) {
                Ok(value) => *offset = value,
                Err(_) => {
                    return Err(ParseError {
                        at,
                        message: "the offset has over 32 bits".to_owned(),
                    });
                }
            }
            return Ok(Target::Offset);
        }
        match self.s.word() {
            "" => self.s.fail("expected a label or an offset"),
            name => Ok(Target::Label(name, at)),
        }
    }

    fn desc(&mut self) -> Result<Desc> {
        self.s.blank();
        if self.s.take("a0") {
            let dword = if self.s.take(".") { self.small(7)? } else { 0 };
            self.region()?;
            self.ty()?;
            return Ok(Desc::Address(dword));
        }
        let at = self.s.position();
        match u32::try_from(self.s.integer()?) {
            Ok(bits) => Ok(Desc::Immediate(bits)),
            Err(_) => Err(ParseError { at, message: "a descriptor has 32 bits".to_owned() }),
        }
    }

    /// Parses the shared function; the text after `MsgDesc:` explains the descriptor and is skipped.
    fn message(&mut self, inst: &mut Inst) -> Result<()> {
        self.s.blank();
        let names = Sfid::ALL.iter().filter(|sfid| self.s.rest().starts_with(sfid.name()));
        let Some(sfid) = names.max_by_key(|sfid| sfid.name().len()) else {
            return self.s.fail("expected a shared function");
        };
        self.s.take(sfid.name());
        inst.send.sfid = *sfid;
        if self.s.accept("MsgDesc:") {
            let rest = self.s.rest();
            let end = rest.find(['{', ';']).unwrap_or(rest.len());
            let end = rest[end..].chars().next().unwrap_or('{');
            self.s.skip_to(end);
        }
        Ok(())
    }

    fn options(&mut self, inst: &mut Inst) -> Result<()> {
        loop {
            self.s.blank();
            if self.s.take(",") {
                continue;
            }
            if self.s.take("}") {
                return Ok(());
            }
            let at = self.s.position();
            if self.s.take("@") {
                inst.swsb.distance = self.small(7)?;
                continue;
            }
            if self.s.take("$") {
                let id = self.small(15)?;
                let token = match self.s.run(|c| c == '.' || c.is_ascii_lowercase()) {
                    "" => Token::Set,
                    ".src" => Token::Src,
                    ".dst" => Token::Dst,
                    _ => {
                        return Err(ParseError { at, message: "expected .src or .dst".to_owned() });
                    }
                };
                inst.swsb.token = Some((id, token));
                continue;
            }
            let word = self.s.word();
            match word {
                "align1" => inst.align16 = false,
                "align16" => inst.align16 = true,
                "WE_all" | "nomask" => inst.no_mask = true,
                "NoDDClr" => inst.no_dd_clear = true,
                "NoDDChk" => inst.no_dd_check = true,
                "compacted" => inst.compacted = true,
                "atomic" => inst.thread_control = 1,
                "switch" => inst.thread_control = 2,
                "AccWrEnable" if !inst.opcode.has_branch_control() => inst.acc_write = true,
                "BranchCtrl" if inst.opcode.has_branch_control() => inst.acc_write = true,
                "EOT" if inst.opcode.is_send() => inst.send.end_of_thread = true,
                "breakpoint" => inst.debug = true,
                "bits" => inst.unusual = self.s.wide()?,
                "bare" => inst.unusual = branch_extras(inst),
                _ => match channel_offset(word) {
                    Some(offset) => inst.channel_offset = offset,
                    None => {
                        let message = format!("no option '{word}' here");
                        return Err(ParseError { at, message });
                    }
                },
            }
        }
    }

    /// Parses a register's name: `g12`, `acc0`, `null`.
    fn register(&mut self) -> Result<Register> {
        self.s.blank();
        let rest = self.s.rest();
        if rest.starts_with(['g', 'r']) && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.s.take(&rest[..1]);
            return Ok(Register::General(self.small(127)?));
        }
        let found = Arf::ALL
            .iter()
            .filter(|(arf, letters)| {
                rest.strip_prefix(letters).is_some_and(|rest| {
                    arf.is_single() || rest.starts_with(|c: char| c.is_ascii_digit())
                })
            })
            .max_by_key(|(_, letters)| letters.len());
        match found {
            Some((arf, letters)) => {
                self.s.take(letters);
                let number = if arf.is_single() { 0 } else { self.small(15)? };
                Ok(Register::Architecture(*arf, number))
            }
            None => self.s.fail("expected a register"),
        }
    }

    /// Parses a register with its subregister in elements, or an indirect operand.
    fn location(&mut self) -> Result<(Location, u64)> {
        self.s.blank();
        if self.s.take("g[a0") || self.s.take("r[a0") {
            let address = if self.s.take(".") { self.small(15)? } else { 0 };
            self.s.blank();
            let at = self.s.position();
            let offset = if self.s.rest().starts_with(']') { 0 } else { self.s.integer()? as i64 };
            if !(-512..1024).contains(&offset) {
                return Err(ParseError { at, message: "the offset has over 10 bits".to_owned() });
            }
            self.s.expect("]")?;
            let offset = ((offset as i16) << 6) >> 6;
            return Ok((Location::Indirect { address, offset }, 0));
        }
        let register = self.register()?;
        let element = if self.s.rest().starts_with('.')
            && self.s.rest()[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            self.s.take(".");
            self.s.decimal()?
        } else {
            0
        };
        Ok((Location::register(register), element))
    }

    /// Sets the subregister of a location, in elements.
    fn element(&self, at: usize, location: Location, element: u64, ty: Type) -> Result<Location> {
        let Location::Direct { register, .. } = location else { return Ok(location) };
        match element.checked_mul(ty.bytes() as u64) {
            Some(byte @ 0..=31) => Ok(Location::Direct { register, byte: byte as u8 }),
            _ => Err(ParseError {
                at,
                message: "the subregister lies outside of the register".to_owned(),
            }),
        }
    }

    fn dst(&mut self) -> Result<Dst> {
        let at = self.s.position();
        let (location, element) = self.location()?;
        let stride = match self.region()? {
            WrittenRegion::None => 1,
            WrittenRegion::Vertical(stride @ (0 | 1 | 2 | 4)) => stride,
            _ => {
                return Err(ParseError {
                    at,
                    message: "a destination has a stride of 1, 2 or 4".to_owned(),
                });
            }
        };
        let mut writemask = 15;
        if self.s.take(".") {
            let letters = self.s.run(|c| "xyzw".contains(c));
            writemask = letters
                .bytes()
                .fold(0, |mask, c| mask | 1 << b"xyzw".iter().position(|l| *l == c).unwrap_or(0));
        }
        let ty = self.ty()?;
        let location = self.element(at, location, element, ty)?;
        Ok(Dst { location, ty, stride, writemask })
    }

    fn ty(&mut self) -> Result<Type> {
        self.s.take(":");
        let at = self.s.position();
        let letters = self.s.run(|c| c.is_ascii_uppercase());
        Type::from_letters(letters)
            .ok_or_else(|| ParseError { at, message: "expected a type".to_owned() })
    }

    /// Parses a payload of a split send: `g12UD`, `g12.1UD` from its second half.
    fn payload(&mut self) -> Result<Location> {
        let at = self.s.position();
        let (location, half) = self.location()?;
        self.region()?;
        self.ty()?;
        match (location, half) {
            (Location::Direct { register, .. }, 0 | 1) => {
                Ok(Location::Direct { register, byte: half as u8 * 16 })
            }
            _ => Err(ParseError { at, message: "a payload is a register or its half".to_owned() }),
        }
    }

    fn region(&mut self) -> Result<WrittenRegion> {
        if !self.s.take("<") {
            return Ok(WrittenRegion::None);
        }
        let at = self.s.position();
        let bad = |what: &str| Err(ParseError { at, message: format!("no such {what}") });
        let per_row = self.s.take("VxH");
        let mut numbers = Vec::new();
        while per_row || numbers.is_empty() || numbers.len() < 3 {
            let first = !per_row && numbers.is_empty();
            if !(first || self.s.accept(",") || self.s.accept(";")) {
                break;
            }
            self.s.blank();
            numbers.push(self.small(32)?);
            if numbers.len() == 3 {
                break;
            }
        }
        self.s.expect(">")?;
        let width = |w: u8| matches!(w, 1 | 2 | 4 | 8 | 16);
        let stride = |h: u8| matches!(h, 0 | 1 | 2 | 4);
        match (per_row, numbers.as_slice()) {
            (false, &[v]) if v == 0 || v.is_power_of_two() => Ok(WrittenRegion::Vertical(v)),
            (false, &[v, w, h]) if (v == 0 || v.is_power_of_two()) && width(w) && stride(h) => {
                Ok(WrittenRegion::Rows(v, w, h))
            }
            (_, &[w, h]) if width(w) && stride(h) => Ok(WrittenRegion::PerRow(w, h)),
            _ => bad("region"),
        }
    }

    fn src(&mut self) -> Result<WrittenSource> {
        self.s.blank();
        let at = self.s.position();
        if let Some(src) = self.immediate()? {
            return Ok(WrittenSource { at, src, region: WrittenRegion::None, swizzle: None });
        }
        let negate = self.s.take("-") || self.s.take("~");
        let abs = self.s.take("(abs)");
        let (location, element) = self.location()?;
        let region = self.region()?;
        let swizzle = if self.s.take(".") { Some(self.swizzle()?) } else { None };
        let ty = self.ty()?;
        let location = self.element(at, location, element, ty)?;
        let src = Src { location, ty, negate, abs, region: Region::SCALAR };
        Ok(WrittenSource { at, src, region, swizzle })
    }

    fn swizzle(&mut self) -> Result<u8> {
        let letters = self.s.run(|c| "xyzw".contains(c));
        let code = |c: u8| b"xyzw".iter().position(|l| *l == c).unwrap_or(0) as u8;
        match *letters.as_bytes() {
            [all] => Ok(code(all) * 0b01_01_01_01),
            [x, y, z, w] => Ok(code(x) | code(y) << 2 | code(z) << 4 | code(w) << 6),
            _ => self.s.fail("expected one or four components"),
        }
    }

    fn immediate(&mut self) -> Result<Option<Src>> {
        let at = self.s.position();
        let rest = self.s.rest();
        let value = if self.s.take("[") {
            let mut value = 0;
            for n in 0..4 {
                if n > 0 {
                    self.s.expect(",")?;
                }
                value |= (self.s.integer()? & 0xff) << (8 * n);
            }
            self.s.expect("]")?;
            value
        } else if rest.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) {
            self.s.integer()?
        } else {
            return Ok(None);
        };
        let ty = self.ty()?;
        let signed = value as i64;
        let fits = match ty.immediate_bytes() {
            2 => (-0x8000..=0xffff).contains(&signed),
            4 => (-0x8000_0000..=0xffff_ffff).contains(&signed),
            8 => true,
            _ => false,
        };
        match fits {
            true => Ok(Some(Src::immediate(ty, value))),
            false => Err(ParseError { at, message: format!("the number does not fit {ty}") }),
        }
    }
}

/// A source with its region, once the access mode is known.
fn finish(inst: &Inst, written: WrittenSource) -> Result<Src> {
    let WrittenSource { at, mut src, region, swizzle } = written;
    if src.immediate_bits().is_some() {
        return Ok(src);
    }
    let fail = |message: &str| Err(ParseError { at, message: message.to_owned() });
    if inst.align16 && inst.form() != Form::Jump {
        src.region = match region {
            WrittenRegion::Rows(0, 1, 0) if inst.form() == Form::Ternary => Region::SCALAR,
            WrittenRegion::Rows(4, 4, 1) if inst.form() == Form::Ternary => {
                Region::Swizzle { vertical: 4, swizzle: swizzle.unwrap_or(Region::XYZW) }
            }
            WrittenRegion::Vertical(vertical) if inst.form() != Form::Ternary => {
                Region::Swizzle { vertical, swizzle: swizzle.unwrap_or(Region::XYZW) }
            }
            _ => return fail("no region of Align16"),
        };
        return Ok(src);
    }
    if swizzle.is_some() {
        return fail("only Align16 has swizzles");
    }
    src.region = match region {
        WrittenRegion::None => Region::SCALAR,
        WrittenRegion::Vertical(vertical) => Region::Rows { vertical, width: 1, horizontal: 0 },
        WrittenRegion::Rows(vertical, width, horizontal) => {
            Region::Rows { vertical, width, horizontal }
        }
        WrittenRegion::PerRow(width, horizontal) => Region::PerRow { width, horizontal },
    };
    Ok(src)
}

/// The channel offset of `2Q` (eights), `2H` (sixteens) or `2N` (fours).
fn channel_offset(word: &str) -> Option<u8> {
    let (number, unit) = word.split_at_checked(1)?;
    let unit = match unit {
        "Q" => 8,
        "H" => 16,
        "N" => 4,
        _ => return None,
    };
    let number: u8 = number.parse().ok()?;
    let offset = number.checked_sub(1)? * unit;
    (offset < 32).then_some(offset)
}
