//! The command language: a line in, text out. Terminals, scripts and pages speak it.

use std::fmt::Write;

use crate::memory::{MemoryLocation, Writer};
use crate::recording::Recording;
use crate::registers::{Register, RegisterFile};
use crate::session::{BreakpointLocation, Comparison, Condition, Session, Stop, Value};

/// Help text of the commands.
pub const HELP: &str = "\
step [N], s        N instructions forward         back [N], b        N instructions back
next, n            to the next source line        prev, p            to the source line before
mask, m            to where other lanes execute   goto N             to step N (start, end)
continue, c        to the next breakpoint         reverse, rc        to the breakpoint before
break LINE|@OFFSET|NAME [if CONDITION]            delete N           removes a breakpoint
    NAME: stops behind each instruction that writes the variable, or the value %N of the IR
    CONDITION: [LANE.]VALUE ==|!=|<|> NUMBER, where VALUE is rN, rNl, rNh or a NAME;
    of registers that lanes share gN[.ELEMENT][<V,W,H>][TYPE], such as g6<16,8,2>UW
watch PLACE        stops where memory changes     memory PLACE [N]   words of memory
    PLACE: 0x1500000000, local+16, scratch+16, or BUFFER[WORD]
access, a          what the instruction accesses  textures           images that the program accesses
texture N [FILE]   an image as a picture; on the command line, into a PNG file
lane N             looks at another lane          where, w           where the cursor is
regs, r            registers of the lane          print VALUE        a register or variable in all lanes
vars, v            variables of the lane          uniforms, u        uniform registers
writer VALUE|PLACE to what wrote it last          list, l            the program around the cursor
exec               lanes that execute             source             the source around the cursor
findings           mistakes that the checker has found in the program; finding N goes to the instruction of one
history            what happened to the pixel of a capture
help               this text                      quit, q";

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Text to show.
    Text(String),
    /// An image to show, by its index in [`Recording::images`](crate::Recording::images).
    Picture(usize),
    /// The user is done.
    Quit,
}

/// Instructions or lines shown to each side.
const AROUND: usize = 5;
/// Words of memory that are shown if no number is given, and most.
const WORDS: usize = 8;
const MAX_WORDS: usize = 1024;
/// Longest command.
const MAX_B: usize = 4096;

/// Carries out a command.
///
/// # Errors
/// The command is not one: what to write instead.
pub fn run(s: &mut Session, line: &str) -> Result<Answer, String> {
    if line.len() > MAX_B {
        return Err("the command is too long".to_owned());
    }
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else { return Ok(Answer::Text(String::new())) };
    let rest: Vec<&str> = words.collect();
    let first = rest.first().copied();
    let text = match name {
        "step" | "s" => repeat(s, count(first)?, Session::step_instruction),
        "back" | "b" => repeat(s, count(first)?, Session::back_instruction),
        "next" | "n" => repeat(s, count(first)?, Session::step_line),
        "prev" | "p" => repeat(s, count(first)?, Session::back_line),
        "mask" | "m" => repeat(s, count(first)?, Session::step_mask),
        "continue" | "c" => repeat(s, 1, Session::resume),
        "reverse" | "rc" => repeat(s, 1, Session::resume_back),
        "goto" => {
            let last = s.recording.steps().len().saturating_sub(1);
            let step = match first.ok_or("write goto N")? {
                "start" => 0,
                "end" => last,
                n => number(n)?,
            };
            let stop = s.go(step);
            moved(s, stop)
        }
        "break" => {
            let (at, condition) = breakpoint(s.recording.register_file, &rest)?;
            if let BreakpointLocation::Written(name) = &at {
                known(s, name)?;
            }
            if let Some(Condition { value: Value::Named(name), .. }) = &condition {
                known(s, name)?;
            }
            if !s.recording.program.iter().any(|i| match &at {
                BreakpointLocation::Offset(offset) => i.offset == *offset,
                BreakpointLocation::Line(line) => i.line == *line,
                BreakpointLocation::Written(name) => s.recording.writes(i, name),
                BreakpointLocation::Changed(_) => true,
            }) {
                return Err("no instruction is there".to_owned());
            }
            format!("breakpoint {}\n", s.set(at, condition))
        }
        "delete" => {
            let n: usize = number(first.ok_or("write delete N")?)?;
            let before = s.breakpoints.len();
            s.breakpoints.retain(|b| b.number as usize != n);
            if s.breakpoints.len() == before {
                return Err(format!("there is no breakpoint {n}"));
            }
            format!("breakpoint {n} deleted\n")
        }
        "lane" => {
            let lane: usize = number(first.ok_or("write lane N")?)?;
            if lane >= 32 || s.recording.alive >> lane & 1 == 0 {
                return Err(format!("there is no lane {lane}"));
            }
            s.lane = lane;
            whereabouts(s)
        }
        "where" | "w" => whereabouts(s),
        "regs" | "r" => registers(s),
        "vars" | "v" => variables(s),
        "uniforms" | "u" => uniforms(s),
        "print" => print(s, &checked(s, first.ok_or("write print rN or print NAME")?)?),
        "writer" => {
            let text = first.ok_or("write writer rN, writer NAME or writer PLACE")?;
            if !is_value(s, text)
                && let Ok(place) = s.recording.memory.parse(text, s.lane)
            {
                return Ok(Answer::Text(change(s, place)));
            }
            let value = checked(s, text)?;
            let register = s.place(&value, s.lane);
            match s.go_to_writer(register.ok_or_else(|| nowhere(s, text))?) {
                Some(_) => whereabouts(s),
                None => format!("{text} has this value from the start\n"),
            }
        }
        "watch" => {
            let text = first.ok_or("write watch PLACE")?;
            let place = s.recording.memory.parse(text, s.lane)?;
            format!("breakpoint {}\n", s.set(BreakpointLocation::Changed(place), None))
        }
        "memory" | "x" => {
            let place = s.recording.memory.parse(first.ok_or("write memory PLACE")?, s.lane)?;
            memory(s, place, rest.get(1).map_or(Ok(WORDS), |n| number(n))?)
        }
        "access" | "a" => accesses(s),
        "textures" => textures(s),
        "texture" => {
            let n: usize = number(first.ok_or("write texture N")?)?;
            if n >= s.recording.images.len() {
                return Err(format!("there is no texture {n}; `textures` lists them"));
            }
            return Ok(Answer::Picture(n));
        }
        "exec" => exec(s),
        "history" if s.recording.history.is_empty() => {
            "only pixels of captures have one\n".to_owned()
        }
        "findings" => findings(s),
        "finding" => {
            let n: usize = number(first.ok_or("write finding N")?)?;
            let finding = s.recording.findings.get(n).cloned();
            let finding = finding.ok_or_else(|| {
                format!("there is no finding {n}; `findings` lists {}", s.recording.findings.len())
            })?;
            let index = s.recording.index_of(finding.offset);
            let step = s.recording.steps().iter().position(|step| Some(step.at as usize) == index);
            let step =
                step.ok_or_else(|| format!("this SIMD-group was not there:\n{}", finding.text))?;
            let stop = s.go(step);
            moved(s, stop)
        }
        "history" => s.recording.history.clone(),
        "list" | "l" => listing(s),
        "source" => source(s),
        "help" | "h" | "?" => format!("{HELP}\n"),
        "quit" | "q" => return Ok(Answer::Quit),
        other => return Err(format!("`{other}` is no command; `help` lists them")),
    };
    Ok(Answer::Text(text))
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn count(text: Option<&str>) -> Result<usize, String> {
    text.map_or(Ok(1), number)
}

/// A register, or else a name.
fn value(file: RegisterFile, text: &str) -> Value {
    file.parse(text).map_or_else(|| Value::Named(text.to_owned()), Value::In)
}

/// A register, or a name that the program has.
fn checked(s: &Session, text: &str) -> Result<Value, String> {
    let value = value(s.recording.register_file, text);
    if let Value::Named(name) = &value {
        known(s, name)?;
    }
    Ok(value)
}

/// Whether the program has a value of a name.
fn known(s: &Session, name: &str) -> Result<(), String> {
    if s.recording.names.iter().any(|n| n.is(name)) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is neither a register ({}) nor a value of the program that has a register",
        s.recording.register_file.example()
    ))
}

/// Reason why a lane has no register of a name.
fn nowhere(s: &Session, name: &str) -> String {
    format!("no register of lane {} holds `{name}` here", s.lane)
}

/// `LINE`, `@OFFSET` or `NAME`, and `if CONDITION`.
fn breakpoint(
    file: RegisterFile,
    words: &[&str],
) -> Result<(BreakpointLocation, Option<Condition>), String> {
    let first = *words.first().ok_or("write break LINE or break @OFFSET")?;
    let at = match first.strip_prefix('@') {
        Some(offset) => {
            let hex = offset.trim_start_matches("0x");
            let offset = u32::from_str_radix(hex, 16);
            BreakpointLocation::Offset(
                offset.map_err(|_| format!("`{first}`: write @ and hexadecimal digits"))?,
            )
        }
        None if first.starts_with(|c: char| c.is_ascii_digit()) => {
            BreakpointLocation::Line(first.parse().map_err(|_| format!("`{first}` is not a line"))?)
        }
        None => BreakpointLocation::Written(first.to_owned()),
    };
    match words[1..] {
        [] => Ok((at, None)),
        ["if", left, test, right] => Ok((at, Some(condition(file, left, test, right)?))),
        _ => Err("write `if VALUE == NUMBER` behind the place, with spaces".to_owned()),
    }
}

/// Whether text names a register, or a value that the program has.
pub(crate) fn is_value(s: &Session, text: &str) -> bool {
    checked(s, text).is_ok()
}

/// `[LANE.]VALUE TEST NUMBER`.
pub(crate) fn parse_condition(file: RegisterFile, text: &str) -> Result<Condition, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        [left, test, right] => condition(file, left, test, right),
        _ => Err("write VALUE == NUMBER, with spaces".to_owned()),
    }
}

fn condition(file: RegisterFile, left: &str, test: &str, right: &str) -> Result<Condition, String> {
    // Names may have points, too.
    let (lane, name) = match left.split_once('.').map(|(lane, name)| (lane.parse().ok(), name)) {
        Some((Some(lane), name)) => (Some(lane), name),
        _ => (None, left),
    };
    let test = match test {
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        ">" => Comparison::Greater,
        other => return Err(format!("`{other}` is no comparison: ==, !=, <, >")),
    };
    let bad = |_| format!("`{right}` is not a number");
    let (bits, float) = match right.strip_prefix("0x") {
        Some(hex) => (u32::from_str_radix(hex, 16).map_err(bad)?, false),
        None if right.contains('.') => {
            let float: f32 = right.parse().map_err(|_| format!("`{right}` is not a number"))?;
            (float.to_bits(), true)
        }
        None => (right.parse::<i64>().map_err(bad)? as u32, false),
    };
    Ok(Condition { lane, value: value(file, name), test, bits, float })
}

fn repeat(s: &mut Session, count: usize, go: impl Fn(&mut Session) -> Stop) -> String {
    let mut stop = Stop::Step;
    for _ in 0..count {
        stop = go(s);
        if stop != Stop::Step {
            break;
        }
    }
    moved(s, stop)
}

fn moved(s: &Session, stop: Stop) -> String {
    let why = match stop {
        Stop::Step => String::new(),
        Stop::Breakpoint(n) => format!("breakpoint {n}\n"),
        Stop::Start => "at the start\n".to_owned(),
        Stop::End if s.recording.truncated => {
            "at the end of the recording, which is full\n".to_owned()
        }
        Stop::End => "at the end\n".to_owned(),
    };
    why + &whereabouts(s)
}

/// Step, lanes, instruction and source line.
#[must_use]
pub fn whereabouts(s: &Session) -> String {
    let (Some(step), Some(i)) = (s.step(), s.instruction()) else {
        return "nothing ran\n".to_owned();
    };
    let mut out = format!(
        "step {} of {}, lane {}{}, exec {:08x}\n",
        s.at(),
        s.recording.steps().len().saturating_sub(1),
        s.lane,
        if step.exec >> s.lane & 1 != 0 { "" } else { " (does not execute)" },
        step.exec
    );
    if let Some(text) = s.recording.source.get((i.line as usize).wrapping_sub(1)) {
        let _ = writeln!(out, "{}:{}: {}", s.recording.file, i.line, text.trim());
    }
    let _ = writeln!(out, "  {:4x}: {}", i.offset, i.text);
    s.recording.findings_at(i.offset).for_each(|finding| out += &finding.text);
    out
}

/// A word as hexadecimal digits, as an integer, a float and two halves.
#[must_use]
pub fn describe(word: u32) -> String {
    let halves = [word as u16, (word >> 16) as u16].map(half);
    format!(
        "{word:08x}  {:>11}  {:>14}  {:>10} {:>10}",
        word as i32,
        short(f32::from_bits(word)),
        short(halves[0]),
        short(halves[1])
    )
}

/// A float in few characters.
#[must_use]
pub fn short(value: f32) -> String {
    let size = value.abs();
    match value == 0.0 || (1e-4..1e7).contains(&size) || !value.is_finite() {
        true => format!("{value}"),
        false => format!("{value:e}"),
    }
}

/// The value of a 16-bit float.
pub(crate) fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        0 => f32::from_bits(sign | (fraction as f32 / (1u32 << 24) as f32).to_bits()),
        31 => f32::from_bits(sign | 0xff << 23 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The findings of the checker, with the numbers that `finding` takes.
fn findings(s: &Session) -> String {
    let list = &s.recording.findings;
    if list.is_empty() {
        return "the checker has found nothing in this program\n".to_owned();
    }
    list.iter().enumerate().map(|(n, finding)| format!("{n}: {}", finding.text)).collect()
}

fn registers(s: &Session) -> String {
    if s.recording.register_file.is_shared() {
        return shared_registers(s);
    }
    let mut out = String::from(
        "register  bits          integer           float       low half  high half  name\n",
    );
    for number in 0..s.recording.registers() {
        let Some(word) = s.register(Register::of_lane(number), s.lane) else { continue };
        let mark = if s.recording.changed(number, s.at()) { '*' } else { ' ' };
        let line = format!("{mark} r{number:<6} {}  {}", describe(word), s.name(number, s.lane));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// The registers that lanes share, with what the lane has in them: those that the program uses.
fn shared_registers(s: &Session) -> String {
    let mut out = String::new();
    let r = &s.recording;
    for number in (0..r.registers()).filter(|&number| r.is_used(number)) {
        let mark = if r.changed(number, s.at()) { '*' } else { ' ' };
        let line = format!(
            "{mark} {:<4} {}  {}",
            r.register_file.name(number),
            row(r, number, s.at()),
            s.name(number, s.lane)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// The words of a register that lanes share.
pub(crate) fn row(r: &Recording, number: usize, step: usize) -> String {
    let words = r.register(number, step).unwrap_or_default();
    words.iter().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(" ")
}

/// The bits of a register, or of a part of one.
fn describe_in(register: Register, bits: u32) -> String {
    match register.bytes() {
        1 => format!("{:02x}  {:>6}", bits as u8, bits as i32),
        2 => {
            let bits = bits as u16;
            format!("{bits:04x}  {:>6}  {}", bits as i16, short(half(bits)))
        }
        _ => describe(bits),
    }
}

fn print(s: &Session, value: &Value) -> String {
    let mut out = String::new();
    let exec = s.step().map_or(0, |step| step.exec);
    for lane in (0..32).filter(|lane| s.recording.alive >> lane & 1 != 0) {
        let Some(register) = s.place(value, lane) else { continue };
        let Some(bits) = s.register(register, lane) else { continue };
        let mark = if exec >> lane & 1 != 0 { ' ' } else { '-' };
        let place = match value {
            Value::In(_) => String::new(),
            Value::Named(_) if s.recording.register_file.is_shared() => format!(" {register:<14}"),
            Value::Named(_) => format!(" {register:<4}"),
        };
        let _ = writeln!(out, "{mark} lane {lane:<3}{place} {}", describe_in(register, bits));
    }
    match (out.is_empty(), value) {
        (false, _) => out,
        (true, Value::In(_)) => "the program has no such register\n".to_owned(),
        (true, Value::Named(name)) => format!("no register holds `{name}` here\n"),
    }
}

/// The variables of the source that the lane has in registers.
fn variables(s: &Session) -> String {
    let mut out = String::new();
    for (name, register) in s.variables() {
        let Some(bits) = s.register(register, s.lane) else { continue };
        let name = name.to_string();
        let _ = writeln!(out, "  {name:<20} {register:<4} {}", describe_in(register, bits));
    }
    if out.is_empty() { "no variable of the source has a register here\n".to_owned() } else { out }
}

fn uniforms(s: &Session) -> String {
    let mut out = String::new();
    for u in &s.recording.uniforms {
        let name = u.name.and_then(|n| s.recording.names.get(n as usize));
        let name = name.map_or(String::new(), ToString::to_string);
        let place = s.recording.register_file.uniform(u.half / 2);
        let line = format!("  {place:<7} {}  {name}", describe(u.word));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if out.is_empty() { "the program reads no uniform register\n".to_owned() } else { out }
}

/// Words of memory as they are before the instruction; a star marks those that the instruction before changed.
fn memory(s: &Session, place: MemoryLocation, count: usize) -> String {
    let mut out = String::new();
    for k in 0..count.min(MAX_WORDS) as u64 {
        let Some(address) = place.address.checked_add(4 * k) else { break };
        let place = MemoryLocation { address, ..place };
        let memory = &s.recording.memory;
        let name = memory.describe(place);
        let mark = if memory.changed(place, s.at()) { '*' } else { ' ' };
        let text = memory.word(place, s.at()).map_or_else(|| "not known".to_owned(), describe);
        let _ = writeln!(out, "{mark} {name:<18} {text}");
    }
    if out.contains("not known") {
        out += "known are the pages (1 KiB) that this SIMD-group accesses\n";
    }
    out
}

/// The accesses of the instruction at the cursor in each lane, with the first word at each address.
fn accesses(s: &Session) -> String {
    let Some(access) = s.recording.memory.at(s.at()) else {
        return "the instruction accesses no memory\n".to_owned();
    };
    let (verb, bytes) = (if access.writes { "writes" } else { "reads" }, access.bytes);
    let mut out = format!("{verb} {bytes} bytes of a lane; the first word before that:\n");
    for (lane, &address) in access.addresses.iter().enumerate() {
        if access.lanes >> lane & 1 == 0 {
            continue;
        }
        let place = MemoryLocation { space: access.space, address: address & !3 };
        let word = s.recording.memory.word(place, s.at());
        let text = word.map_or_else(|| "not bound".to_owned(), describe);
        let name = s.recording.memory.describe(place);
        let _ = writeln!(out, "  lane {lane:<3} {name:<18} {text}");
    }
    out
}

/// Goes to where a word of memory changed last, and says who did it.
fn change(s: &mut Session, place: MemoryLocation) -> String {
    let name = s.recording.memory.describe(place);
    match s.go_to_change(place) {
        None => format!("{name} has not changed since the start\n"),
        Some(write) => {
            let by = match write.by {
                Writer::Own(_) => "this SIMD-group",
                Writer::Other(..) => "another",
            };
            let other = match write.by {
                Writer::Own(_) => String::new(),
                Writer::Other([x, y, z], n) => format!(", SIMD-group {n} of workgroup {x},{y},{z}"),
            };
            let (before, after) = (write.before, write.after);
            format!("{name}: {before:#x} became {after:#x} by {by}{other}\n{}", whereabouts(s))
        }
    }
}

/// The images that the program accesses.
fn textures(s: &Session) -> String {
    let mut out = String::new();
    for (n, image) in s.recording.images.iter().enumerate() {
        let at = s.recording.index_of(image.offset).map(|i| &s.recording.program[i]);
        let text = at.map_or("", |i| i.text.as_str());
        let _ = writeln!(out, "  texture {n}: {}, at {:x}: {text}", image.what, image.offset);
    }
    if out.is_empty() { "the SIMD-group accesses no image\n".to_owned() } else { out }
}

fn exec(s: &Session) -> String {
    let lanes: String = (0..32).map(|lane| s.lane_mark(lane)).collect();
    let waits = match s.recording.nesting {
        Some(_) => "1 to 9 waits for so many levels of branches and loops to end",
        None => ". waits",
    };
    format!("{lanes} (# executes, {waits})\n")
}

fn listing(s: &Session) -> String {
    let mut out = String::new();
    let at = s.step().map_or(0, |step| step.at as usize);
    let end = (at + AROUND + 1).min(s.recording.program.len());
    for index in at.saturating_sub(AROUND)..end {
        let i = &s.recording.program[index];
        let mark = match index == at {
            true => '>',
            false if s.recording.findings_at(i.offset).next().is_some() => '!',
            false => ' ',
        };
        let _ = writeln!(out, "{mark} {:4x}: {:50} line {}", i.offset, i.text, i.line);
    }
    out
}

fn source(s: &Session) -> String {
    let mut out = String::new();
    let at = s.instruction().map_or(0, |i| i.line as usize);
    let end = (at + AROUND).min(s.recording.source.len());
    for number in at.saturating_sub(AROUND).max(1)..=end {
        let mark = if number == at { '>' } else { ' ' };
        let _ = writeln!(out, "{mark} {number:4}: {}", s.recording.source[number - 1]);
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::names::{Name, RegisterName};
    use crate::recording::{Finding, Instruction, Step};

    /// r1 counts to 3 in lane 0 and to 1 in lane 1: three instructions, the loop's body twice for lane 0 alone.
    pub(crate) fn recording() -> Recording {
        let program = (0..3).map(|k| Instruction {
            offset: 4 * k,
            text: format!("i{k}"),
            line: k + 1,
            ..Default::default()
        });
        let source = ["a", "b", "c"].map(str::to_owned).to_vec();
        let mut r = Recording::new(String::new(), source, program.collect());
        (r.file, r.alive) = ("x".to_owned(), 3);
        let steps =
            [(0, 3, [0, 0]), (1, 3, [0, 0]), (1, 1, [1, 1]), (1, 1, [2, 1]), (2, 3, [3, 1])];
        for (at, exec, r1) in steps {
            r.push(Step { at, exec }, [&[9, 9][..], &r1[..]].into_iter()).expect("it fits");
        }
        r
    }

    fn text(s: &mut Session, line: &str) -> String {
        match run(s, line) {
            Ok(Answer::Text(text)) => text,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn findings_are_at_their_instructions() {
        let mut r = recording();
        let finding = |offset| Finding { offset, text: format!("race at {offset}\n") };
        r.findings = vec![finding(4), finding(12)];
        let mut s = Session::new(r);
        assert_eq!(text(&mut s, "findings"), "0: race at 4\n1: race at 12\n");
        assert!(text(&mut s, "list").contains("!    4: i1"), "{}", text(&mut s, "list"));
        let there = text(&mut s, "finding 0");
        assert!(there.starts_with("step 1 of 4") && there.ends_with("race at 4\n"), "{there}");
        let refused = run(&mut s, "finding 1").unwrap_err();
        assert!(refused.starts_with("this SIMD-group was not there"), "{refused}");
        assert!(run(&mut s, "finding 2").unwrap_err().contains("no finding 2"));
        let mut s = Session::new(recording());
        assert!(text(&mut s, "findings").contains("nothing"));
    }

    #[test]
    fn stepping_goes_both_ways() {
        let mut s = Session::new(recording());
        assert!(text(&mut s, "step 2").starts_with("step 2 of 4, lane 0, exec 00000001\n"));
        assert!(text(&mut s, "back").starts_with("step 1 of 4"));
        assert!(text(&mut s, "mask").starts_with("step 2 of 4"));
        assert!(text(&mut s, "next").starts_with("step 4 of 4"));
        assert!(text(&mut s, "step").starts_with("at the end\nstep 4"));
        assert!(text(&mut s, "prev").starts_with("step 1 of 4"));
        assert!(text(&mut s, "goto start").starts_with("step 0"));
        assert!(text(&mut s, "goto 77").starts_with("at the end\nstep 4"));
    }

    #[test]
    fn breakpoints_stop_where_their_condition_holds() {
        let mut s = Session::new(recording());
        assert_eq!(text(&mut s, "break @4 if 0.r1 == 2"), "breakpoint 1\n");
        assert!(text(&mut s, "continue").starts_with("breakpoint 1\nstep 3 of 4"));
        assert!(text(&mut s, "continue").starts_with("at the end"));
        assert_eq!(text(&mut s, "break 2"), "breakpoint 2\n");
        assert!(text(&mut s, "delete 1").ends_with("deleted\n"));
        assert!(text(&mut s, "reverse").starts_with("breakpoint 2\nstep 1"));
        for bad in
            ["break 9", "break", "break 1 if", "break 1 if r1 = 2", "delete 7", "lane 2", "x"]
        {
            assert!(run(&mut s, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn writers_are_found_for_each_lane() {
        let mut s = Session::new(recording());
        s.go(4);
        assert!(text(&mut s, "writer r1").starts_with("step 3 of 4"));
        s.go(4);
        s.lane = 1;
        assert!(text(&mut s, "writer r1").starts_with("step 1 of 4"));
        assert_eq!(text(&mut s, "writer r0"), "r0 has this value from the start\n");
        assert!(text(&mut s, "print r1").contains("lane 0   00000000"));
    }

    /// g2 and g3 have a counter of 16 lanes, g4.4 is a double word for all.
    fn shared() -> Recording {
        let program = (0..3).map(|k| Instruction {
            offset: 8 * k,
            text: format!("i{k}"),
            line: k + 1,
            writes: match k {
                0 => vec![RegisterName { half: 4, halves: 4, name: Some(0), unmasked: false }],
                _ => vec![RegisterName { half: 9, halves: 1, name: Some(1), unmasked: true }],
            },
            ..Default::default()
        });
        let mut r = Recording::new(String::new(), Vec::new(), program.collect());
        r.register_file = RegisterFile::Shared { general: 5, others: &["f0"] };
        r.alive = 0xffff;
        let zero = [0; 8];
        let low: [u32; 8] = std::array::from_fn(|k| k as u32);
        let high: [u32; 8] = std::array::from_fn(|k| 0xffff_0008 + k as u32);
        let scalar = [0, 0, 0, 0, 77, 0, 0, 0];
        for (at, exec, rows) in [
            (0, 0xffff, [zero, zero, zero, zero, zero]),
            (1, 0x00ff, [zero, zero, low, high, zero]),
            (2, 0xffff, [zero, zero, low, high, scalar]),
        ] {
            let flag = [at];
            let rows = rows.iter().map(|row| &row[..]).chain([&flag[..]]);
            r.push(Step { at, exec }, rows).expect("it fits");
        }
        let name = |variable: &str| Name { variable: variable.to_owned(), ..Name::default() };
        r.set_names(vec![name("count"), name("limit")]);
        r
    }

    #[test]
    fn shared_registers_are_read_by_region_and_by_name() {
        let mut s = Session::new(shared());
        s.go(2);
        assert!(text(&mut s, "print g2").contains("lane 9   ffff0009"));
        assert!(text(&mut s, "print g2<16,8,2>UW").contains("lane 9   0009       9"));
        assert!(text(&mut s, "print count").contains("lane 9   g2<8,8,1>UD    ffff0009"));
        // Lanes that did not execute have it, too: the instruction has no mask.
        assert!(text(&mut s, "print limit").contains("lane 15  g4.4<0,1,0>UD  0000004d"));
        assert!(text(&mut s, "print f0").contains("lane 3   00000002"));
        let registers = text(&mut s, "regs");
        assert!(registers.contains("* g4   00000000 00000000 00000000 00000000 0000004d"));
        assert!(registers.contains("  g2   00000000 00000001") && !registers.contains("g0 "));
        assert!(text(&mut s, "vars").contains("limit"));
        assert!(text(&mut s, "writer limit").starts_with("step 1 of 2"));
        s.go(0);
        assert_eq!(text(&mut s, "break count if 12.g2<16,8,2>W == 12"), "breakpoint 1\n");
        assert!(text(&mut s, "continue").starts_with("at the end"), "lane 12 does not execute");
        s.go(0);
        assert_eq!(text(&mut s, "break count if 5.count == 5"), "breakpoint 2\n");
        assert!(text(&mut s, "continue").starts_with("breakpoint 2\nstep 1"));
        for bad in ["print r2", "print g2<8,8>", "break 1 if g9 == 2", "print g5"] {
            assert!(run(&mut s, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn halves_are_floats_of_16_bits() {
        let known = [(0x3c00, 1.0), (0xc000, -2.0), (1, 5.960_464_5e-8), (0x7c00, f32::INFINITY)];
        for (bits, value) in known {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7e00).is_nan());
    }

    proptest::proptest! {
        #[test]
        fn no_command_panics(line in "[a-z@.=<>0-9 ]{0,24}") {
            let mut s = Session::new(recording());
            let _ = run(&mut s, &line);
            let _ = run(&mut s, "where");
            let _ = run(&mut Session::new(Recording::default()), &line);
        }
    }
}
