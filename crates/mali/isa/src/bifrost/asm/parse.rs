//! Text to clauses whose registers have no ports yet.

use arrayvec::ArrayVec;

use super::{AsmError, AsmErrorKind as Kind};
use crate::bifrost::disasm::Fau;
use crate::bifrost::header::{Exceptions, Flow, FlushToZero, Header, Message};
use crate::bifrost::registers::Access;
use crate::bifrost::table::{Op, Row, Unit};

/// A source as the text names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourceName {
    Register(u8),
    Stage,
    PassFma,
    PassAdd,
    /// Uniforms or a special value; true selects the upper word.
    Fau(Fau, bool),
    Constant(u32),
    Label(String),
}

/// An instruction whose sources have no ports.
#[derive(Clone, Debug)]
pub(super) struct DraftInst {
    pub op: Op,
    pub dest: Option<(u8, Access)>,
    pub sources: ArrayVec<SourceName, 4>,
    pub modifiers: ArrayVec<u8, 12>,
    pub immediates: ArrayVec<u32, 2>,
}

/// A clause whose tuples have no ports.
#[derive(Clone, Debug, Default)]
pub(super) struct DraftClause {
    pub header: Header,
    pub staging: Option<u8>,
    pub insts: Vec<DraftInst>,
}

/// A statement of a source.
pub(super) enum Statement {
    Label(String),
    Directive(String),
    Clause(DraftClause),
}

/// The statements of a source, each with its line.
pub(super) fn statements(source: &str) -> (Vec<(usize, Statement)>, Vec<AsmError>) {
    let mut all = Vec::new();
    let mut errors = Vec::new();
    let mut clause: Option<(usize, DraftClause)> = None;
    let mut header: Option<Header> = None;
    for (index, full) in source.lines().enumerate() {
        let line = index + 1;
        let text = without_comments(full);
        let text = text.trim();
        let mut fail = |kind| errors.push(AsmError { line, kind });
        if text.is_empty() || text.starts_with('#') {
        } else if let Some((start, draft)) = &mut clause {
            if text == "}" {
                all.push((*start, Statement::Clause(std::mem::take(draft))));
                clause = None;
                continue;
            }
            let unit = if draft.insts.len() % 2 == 0 { Unit::Fma } else { Unit::Add };
            match instruction(text, unit) {
                Ok((inst, staging)) => {
                    if let (Some(old), Some(new)) = (draft.staging, staging)
                        && old != new
                    {
                        fail(Kind::Staging);
                    }
                    draft.staging = staging.or(draft.staging);
                    draft.insts.push(inst);
                }
                Err(kind) => fail(kind),
            }
        } else if text == "{" {
            let header =
                header.take().unwrap_or(Header { flow: Flow::NotBackToBack, ..Header::default() });
            clause = Some((line, DraftClause { header, ..DraftClause::default() }));
        } else if let Some(label) = text.strip_suffix(':') {
            all.push((line, Statement::Label(label.to_owned())));
        } else if text.starts_with('.') {
            all.push((line, Statement::Directive(text.to_owned())));
        } else {
            match parse_header(text) {
                Ok(parsed) => header = Some(parsed),
                Err(kind) => fail(kind),
            }
        }
    }
    if let Some((line, _)) = clause {
        errors.push(AsmError { line, kind: Kind::Expected("`}` at the clause's end") });
    }
    (all, errors)
}

fn without_comments(line: &str) -> String {
    let line = line.split("//").next().unwrap_or("");
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("/*") {
        out.push_str(before);
        rest = behind.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out + rest
}

fn parse_header(text: &str) -> Result<Header, Kind> {
    let mut header = Header { flow: Flow::End, ..Header::default() };
    let mut rest = text;
    while !rest.is_empty() {
        let inside = |word: &str| {
            let (list, behind) = rest.strip_prefix(word)?.split_once(')')?;
            Some((list, behind))
        };
        if let Some((list, behind)) = inside("dwb(") {
            for slot in list.split(',') {
                let slot: u8 = number(slot.trim(), 7).ok_or(Kind::Header(slot.to_owned()))?;
                header.wait |= 1 << slot;
            }
            rest = behind.trim_start();
            continue;
        }
        if let Some((slot, behind)) = inside("ds(") {
            header.slot = number(slot, 7).ok_or(Kind::Header(slot.to_owned()))?;
            rest = behind.trim_start();
            continue;
        }
        // Some names of flow modes consist of two words.
        let longest = |flow: &&Flow| {
            let behind = rest.strip_prefix(flow.name());
            behind.is_some_and(|b| b.is_empty() || b.starts_with(' '))
        };
        let flow = Flow::ALL.iter().filter(longest).max_by_key(|flow| flow.name().len());
        if let Some(flow) = flow {
            header.flow = *flow;
            rest = rest[flow.name().len()..].trim_start();
            continue;
        }
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = behind.trim_start();
        header_word(&mut header, word)?;
    }
    Ok(header)
}

fn header_word(header: &mut Header, word: &str) -> Result<(), Kind> {
    let message = |name: &str| Message::ALL.iter().copied().find(|m| m.name() == name);
    match word {
        "osrb" => header.staging_barrier = true,
        "inf_suppress" => header.suppress_inf = true,
        "nan_suppress" => header.suppress_nan = true,
        "td" => header.terminate_discarded = true,
        "ncph" => header.prefetch = true,
        _ => {
            let unknown = || Kind::Header(word.to_owned());
            if let Some(next) = word.strip_prefix("next_") {
                header.next_message = message(next).ok_or_else(unknown)?;
            } else if let Some(found) = message(word) {
                header.message = found;
            } else if let Some(mode) = FlushToZero::ALL.iter().find(|m| m.name() == word) {
                header.flush_to_zero = *mode;
            } else {
                let mode = Exceptions::ALL.iter().find(|m| m.name() == word);
                header.exceptions = *mode.ok_or_else(unknown)?;
            }
        }
    }
    Ok(())
}

fn number(text: &str, most: u8) -> Option<u8> {
    text.parse().ok().filter(|n| *n <= most)
}

fn register(text: &str) -> Option<u8> {
    number(text.strip_prefix('r')?, 63)
}

/// Parses an instruction; its staging register is returned with it.
fn instruction(text: &str, unit: Unit) -> Result<(DraftInst, Option<u8>), Kind> {
    let expected = match unit {
        Unit::Fma => "an instruction of the FMA unit, which begins with `*`",
        Unit::Add => "an instruction of the ADD unit, which begins with `+`",
    };
    let text = text.strip_prefix(unit.mark()).ok_or(Kind::Expected(expected))?;
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let (op, rest) = mnemonic_of(unit, mnemonic)?;
    let row = op.row();
    let mut inst = DraftInst {
        op,
        dest: None,
        sources: ArrayVec::new(),
        modifiers: row.modifiers.iter().map(|_| 0).collect(),
        immediates: ArrayVec::new(),
    };
    let mut words: Vec<&str> = rest.split('.').filter(|w| !w.is_empty()).collect();
    modifiers(&mut inst, row, None, &mut words)?;
    let mut operands = operands.split(',').map(str::trim);
    inst.dest = dest(operands.next().unwrap_or(""), unit)?;
    for index in 0..row.sources.len() {
        let text = operands.next().ok_or(Kind::Expected("a source"))?;
        let (source, mut words) = source(text, unit)?;
        modifiers(&mut inst, row, Some(index), &mut words)?;
        inst.sources.push(source);
    }
    for immediate in &row.immediates {
        let text = operands.next().and_then(|t| t.split_once(':'));
        let value = text.filter(|(name, _)| *name == immediate.name);
        let value = value.and_then(|(_, value)| value.parse().ok());
        inst.immediates.push(value.ok_or(Kind::Expected("an immediate: `name:number`"))?);
    }
    let mut staging = None;
    if row.staging.is_some() {
        let text = operands.next().and_then(|t| register(t.strip_prefix('@')?));
        staging = Some(text.ok_or(Kind::Expected("a staging register: `@r0`"))?);
    }
    match operands.next() {
        Some(_) => Err(Kind::Expected("the end of the instruction")),
        None => Ok((inst, staging)),
    }
}

/// The instruction of a mnemonic, and the modifiers that follow its name.
fn mnemonic_of(unit: Unit, mnemonic: &str) -> Result<(Op, &str), Kind> {
    let ends = mnemonic.match_indices('.').map(|(at, _)| at).chain([mnemonic.len()]);
    let mut found = ends.filter_map(|end| Some((Op::from_name(unit, &mnemonic[..end])?, end)));
    let (op, end) = found.next_back().ok_or_else(|| Kind::Mnemonic(mnemonic.to_owned()))?;
    Ok((op, &mnemonic[end..]))
}

/// Takes the values of modifiers of a source, or of the instruction, in the row's order.
fn modifiers(
    inst: &mut DraftInst,
    row: &Row,
    source: Option<usize>,
    words: &mut Vec<&str>,
) -> Result<(), Kind> {
    for (index, modifier) in row.modifiers.iter().enumerate() {
        if row.source_of(modifier) != source {
            continue;
        }
        let word = words.first().copied();
        let value = modifier.values.iter().position(|v| v.is_some() && *v == word);
        let value = value.map(|v| v as u8).filter(|v| Some(*v) != modifier.default);
        if value.is_some() {
            words.remove(0);
        }
        let op = inst.op.to_string();
        let needed = || Kind::Needed { op, modifier: modifier.name };
        inst.modifiers[index] = value.or(modifier.default).ok_or_else(needed)?;
    }
    match words.first() {
        None => Ok(()),
        Some(word) => {
            let (op, modifier) = (inst.op.to_string(), (*word).to_owned());
            Err(Kind::Modifier { op, modifier })
        }
    }
}

/// `t0`, or `r5:t0` with an optional half.
fn dest(text: &str, unit: Unit) -> Result<Option<(u8, Access)>, Kind> {
    let own = if unit == Unit::Fma { "t0" } else { "t1" };
    let expected = Kind::Expected("a destination: `t0` or `t1`, after a register and `:` or alone");
    let (written, access) = match (text.strip_suffix(".h0"), text.strip_suffix(".h1")) {
        (Some(rest), _) => (rest, Access::WriteLow),
        (_, Some(rest)) => (rest, Access::WriteHigh),
        _ => (text, Access::Write),
    };
    match written.split_once(':') {
        Some((name, pass)) if pass == own => Ok(Some((register(name).ok_or(expected)?, access))),
        None if text == own => Ok(None),
        _ => Err(expected),
    }
}

/// A source, and its modifiers.
fn source(text: &str, unit: Unit) -> Result<(SourceName, Vec<&str>), Kind> {
    let expected = Kind::Expected("a source: a register, `t`, `t0`, `t1`, a uniform, a value");
    let mut words = text.split('.');
    // A constant is followed by its float value, which is a comment, and then by its modifiers.
    let name = words.next().unwrap_or("").trim();
    let mut rest: Vec<&str> = words.collect();
    let word = rest.first().copied();
    if let Some(register) = register(name) {
        return Ok((SourceName::Register(register), rest));
    }
    let named = match (name, unit) {
        ("t0", _) => SourceName::PassFma,
        ("t1", _) => SourceName::PassAdd,
        ("t", Unit::Add) => SourceName::Stage,
        ("#0", Unit::Fma) if !matches!(word, Some("x" | "y")) => SourceName::Stage,
        _ => {
            if let Some(hex) = name.strip_prefix("0x") {
                let value = u32::from_str_radix(hex, 16).map_err(|_| expected)?;
                return Ok((SourceName::Constant(value), rest));
            }
            let pair = name.strip_prefix('u').and_then(|n| number(n, 127));
            let fau = match pair {
                Some(pair) => Some((Fau::Uniform(pair), ["w0", "w1"])),
                None => Fau::special(name).map(|number| (Fau::Special(number), ["x", "y"])),
            };
            let Some((fau, halves)) = fau else {
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                return match !name.is_empty() && name.chars().all(is_name) {
                    true => Ok((SourceName::Label(name.to_owned()), rest)),
                    false => Err(expected),
                };
            };
            let high = halves.iter().position(|half| Some(*half) == word).ok_or(expected)?;
            rest.remove(0);
            SourceName::Fau(fau, high == 1)
        }
    };
    Ok((named, rest))
}
