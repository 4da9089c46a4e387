//! The command language: a line in, text out. Terminals, scripts and pages speak it.

use std::fmt::Write;

use crate::session::{Condition, Session, Stop, Test, Value, Where};

/// What the commands are.
pub const HELP: &str = "\
step [N], s        N instructions forward         back [N], b        N instructions back
next, n            to the next source line        prev, p            to the source line before
mask, m            to where other lanes execute   goto N             to step N (start, end)
continue, c        to the next breakpoint         reverse, rc        to the breakpoint before
break LINE [if CONDITION]                         break @OFFSET [if CONDITION]
    CONDITION: [LANE.]rN[l|h] ==|!=|<|> NUMBER    delete N           removes a breakpoint
lane N             looks at another lane          where, w           where the cursor is
regs, r            registers of the lane          print rN[l|h]      a register in all lanes
writer rN[l|h]     to what wrote the register     list, l            the program around the cursor
exec               lanes that execute             source             the source around the cursor
history            what happened to the pixel of a capture
help               this text                      quit, q";

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Text to show.
    Text(String),
    /// The user is done.
    Quit,
}

/// Instructions or lines shown to each side.
const AROUND: usize = 5;
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
            let (at, condition) = breakpoint(&rest)?;
            if !s.recording.program.iter().any(|i| match at {
                Where::Offset(offset) => i.offset == offset,
                Where::Line(line) => i.line == line,
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
        "print" => print(s, value(first.ok_or("write print rN")?)?),
        "writer" => {
            let v = value(first.ok_or("write writer rN")?)?;
            match s.go_to_writer(v) {
                Some(_) => whereabouts(s),
                None => format!("{} has this value from the start\n", first.unwrap_or_default()),
            }
        }
        "exec" => exec(s),
        "history" if s.recording.history.is_empty() => {
            "only pixels of captures have one\n".to_owned()
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

/// `rN`, `rNl` or `rNh`.
fn value(text: &str) -> Result<Value, String> {
    let bad = || format!("`{text}` is no register: write r0, r12l, r12h");
    let rest = text.strip_prefix('r').ok_or_else(bad)?;
    let (digits, half) = match rest.strip_suffix('l') {
        Some(digits) => (digits, Some(0)),
        None => rest.strip_suffix('h').map_or((rest, None), |digits| (digits, Some(1))),
    };
    Ok(Value { register: digits.parse().map_err(|_| bad())?, half })
}

/// `LINE` or `@OFFSET`, and `if CONDITION`.
fn breakpoint(words: &[&str]) -> Result<(Where, Option<Condition>), String> {
    let first = *words.first().ok_or("write break LINE or break @OFFSET")?;
    let at = match first.strip_prefix('@') {
        Some(offset) => {
            let hex = offset.trim_start_matches("0x");
            let offset = u32::from_str_radix(hex, 16);
            Where::Offset(offset.map_err(|_| format!("`{first}`: write @ and hexadecimal digits"))?)
        }
        None => Where::Line(first.parse().map_err(|_| format!("`{first}` is not a line"))?),
    };
    match words[1..] {
        [] => Ok((at, None)),
        ["if", left, test, right] => Ok((at, Some(condition(left, test, right)?))),
        _ => Err("write `if rN == NUMBER` behind the place, with spaces".to_owned()),
    }
}

/// Whether text is the name of a register.
pub(crate) fn is_register(text: &str) -> bool {
    value(text).is_ok()
}

/// `[LANE.]rN TEST NUMBER`.
pub(crate) fn parse_condition(text: &str) -> Result<Condition, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        [left, test, right] => condition(left, test, right),
        _ => Err("write rN == NUMBER, with spaces".to_owned()),
    }
}

fn condition(left: &str, test: &str, right: &str) -> Result<Condition, String> {
    let (lane, name) = match left.split_once('.') {
        Some((lane, name)) => (Some(number(lane)?), name),
        None => (None, left),
    };
    let test = match test {
        "==" => Test::Equal,
        "!=" => Test::NotEqual,
        "<" => Test::Less,
        ">" => Test::Greater,
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
    Ok(Condition { lane, value: value(name)?, test, bits, float })
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
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        0 => f32::from_bits(sign | (fraction as f32 / (1u32 << 24) as f32).to_bits()),
        31 => f32::from_bits(sign | 0xff << 23 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

fn registers(s: &Session) -> String {
    let mut out =
        String::from("register  bits          integer           float       low half  high half\n");
    for number in 0..s.recording.registers() {
        let Some(word) = s.value(Value { register: number, half: None }, s.lane) else { continue };
        let mark = if s.recording.changed(number, s.at()) { '*' } else { ' ' };
        let _ = writeln!(out, "{mark} r{number:<6} {}", describe(word));
    }
    out
}

fn print(s: &Session, v: Value) -> String {
    let mut out = String::new();
    let exec = s.step().map_or(0, |step| step.exec);
    for lane in (0..32).filter(|lane| s.recording.alive >> lane & 1 != 0) {
        let Some(word) = s.value(v, lane) else { continue };
        let mark = if exec >> lane & 1 != 0 { ' ' } else { '-' };
        let text = match v.half {
            Some(_) => format!("{word:04x}  {:>6}  {}", word as i16, short(half(word as u16))),
            None => describe(word),
        };
        let _ = writeln!(out, "{mark} lane {lane:<3} {text}");
    }
    if out.is_empty() { "the program has no such register\n".to_owned() } else { out }
}

fn exec(s: &Session) -> String {
    let exec = s.step().map_or(0, |step| step.exec);
    let lane = |l: u32| match (exec >> l & 1, s.recording.alive >> l & 1) {
        (1, _) => '#',
        (_, 1) => '.',
        _ => ' ',
    };
    format!("{} (# executes, . waits)\n", (0..32).map(lane).collect::<String>())
}

fn listing(s: &Session) -> String {
    let mut out = String::new();
    let at = s.step().map_or(0, |step| step.at as usize);
    let end = (at + AROUND + 1).min(s.recording.program.len());
    for index in at.saturating_sub(AROUND)..end {
        let i = &s.recording.program[index];
        let mark = if index == at { '>' } else { ' ' };
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
    use crate::recording::{Instruction, Recording, Step};

    /// r1 counts to 3 in lane 0 and to 1 in lane 1: three instructions, the loop's body twice for lane 0 alone.
    pub(crate) fn recording() -> Recording {
        let program =
            (0..3).map(|k| Instruction { offset: 4 * k, text: format!("i{k}"), line: k + 1 });
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
