//! Reads the text of the table. The text is part of the program: an error in it panics, in every test.

use super::{Encoding, Field, Immediate, JointCase, Message, Modifier, Row, Source, Staging, Unit};

/// The rows of a file.
pub(super) fn rows(text: &'static str) -> Vec<Row> {
    let mut lines = text.lines();
    let title = lines.next().and_then(|line| line.strip_prefix("; "));
    let theme = title.expect("a file begins with its title");
    let mut rows: Vec<Row> = Vec::new();
    let mut line = Vec::new();
    let end = |rows: &mut Vec<Row>, words: &mut Vec<&'static str>| {
        if let Some(row) = rows.last_mut().filter(|_| !words.is_empty()) {
            part(row, words);
        }
        words.clear();
    };
    for text in lines.filter(|line| !line.is_empty()) {
        if text.starts_with("    ") {
            line.extend(text.split_whitespace());
            continue;
        }
        end(&mut rows, &mut line);
        match text.starts_with(' ') {
            true => line.extend(text.split_whitespace()),
            false => rows.push(head(text, theme)),
        }
    }
    end(&mut rows, &mut line);
    rows
}

/// The first line of a row.
fn head(text: &'static str, theme: &'static str) -> Row {
    let mut words = text.split_whitespace();
    let name = words.next().expect("a mnemonic");
    let unit = if name.starts_with('*') { Unit::Fma } else { Unit::Add };
    let source = |word: &str| {
        let (start, ports) = word.split_once(':').unwrap_or((word, "ff"));
        Source { start: decimal(start), ports: hex(ports) as u8 }
    };
    Row {
        unit,
        name: &name[1..],
        theme,
        sources: words.map(source).collect(),
        modifiers: Vec::new(),
        immediates: Vec::new(),
        message: Message::None,
        staging: None,
        dest: true,
        last: false,
        table: false,
        encodings: Vec::new(),
    }
}

fn decimal(text: &str) -> u8 {
    text.parse().expect("a decimal number")
}

fn hex(text: &str) -> u32 {
    u32::from_str_radix(text, 16).expect("a hexadecimal number")
}

/// `START:BITS`.
fn field(text: &str) -> Field {
    let (start, bits) = text.split_once(':').expect("a place and a number of bits");
    Field { start: decimal(start), bits: decimal(bits) }
}

/// A further line of a row.
fn part(row: &mut Row, words: &[&'static str]) {
    let first = words[0];
    let is_hex = first.len() == 6 && first.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex && words.len() > 1 && words[1].len() == 6 {
        let encoding = encoding(row, words);
        row.encodings.push(encoding);
    } else if let Some(immediate) = first.strip_prefix('#') {
        let (name, place) = immediate.split_once('@').expect("an immediate's place");
        row.immediates.push(Immediate { name, field: field(place) });
    } else if words.get(1) == Some(&"=") {
        row.modifiers.push(modifier(words));
    } else {
        attributes(row, words);
    }
}

fn modifier(words: &[&'static str]) -> Modifier {
    let (name, place) = match words[0].split_once('@') {
        Some((name, place)) => (name, Some(field(place))),
        None => (words[0], None),
    };
    let list = &words[2..];
    let values = list.iter().map(|word| match *word {
        "-" => None,
        word => Some(word.trim_matches(['[', ']'])),
    });
    let default = list.iter().position(|word| word.starts_with('['));
    Modifier { name, field: place, values: values.collect(), default: default.map(|n| n as u8) }
}

fn attributes(row: &mut Row, words: &[&'static str]) {
    let mut words = words.iter().map(|word| word.trim_end_matches(','));
    while let Some(word) = words.next() {
        match word {
            "last" => row.last = true,
            "table" => row.table = true,
            "dests" => row.dest = words.next() != Some("0"),
            "message" => row.message = message(words.next().expect("a message")),
            "staging" => {
                let (access, count) =
                    words.next().and_then(|w| w.split_once('=')).expect("staging");
                let (read, write) = (access.contains('r'), access.contains('w'));
                row.staging = Some(Staging { read, write, count });
            }
            other => panic!("{}: what is {other}?", row.name),
        }
    }
}

fn message(name: &str) -> Message {
    match name {
        "attribute" => Message::Attribute,
        "load" => Message::Load,
        "store" => Message::Store,
        "atomic" => Message::Atomic,
        "varying" => Message::Varying,
        "tex" => Message::Texture,
        "vartex" => Message::VaryingTexture,
        "tile" => Message::Tile,
        "atest" => Message::Atest,
        "barrier" => Message::Barrier,
        "blend" => Message::Blend,
        "job" | "job_management" => Message::Job,
        "z_stencil" => Message::ZStencil,
        other => panic!("what is message {other}?"),
    }
}

fn encoding(row: &Row, words: &[&'static str]) -> Encoding {
    let index = |name: &str| {
        let found = row.modifiers.iter().position(|m| m.name == name);
        found.unwrap_or_else(|| panic!("{}: what is {name}?", row.name))
    };
    let shared = row.modifiers.iter().enumerate().filter_map(|(i, m)| Some((i, m.field?)));
    let mut direct: Vec<(usize, Field)> = shared.collect();
    let mut words = words.iter().copied();
    let mut next = || hex(words.next().expect("two numbers"));
    let (mask, exact) = (next(), next());
    let mut fields = Vec::new();
    let mut keys: Vec<&str> = Vec::new();
    let mut cases = Vec::new();
    while let Some(word) = words.next() {
        if let Some((name, place)) = word.split_once('@') {
            direct.push((index(name), field(place)));
        } else if fields.is_empty() && keys.is_empty() {
            fields = word.split('+').map(field).filter(|field| field.bits > 0).collect();
            keys = words.next().expect("modifiers").split(',').collect();
            assert_eq!(words.next(), Some("="), "{}", row.name);
        } else {
            let (number, values) = word.split_once(':').expect("a case");
            let mut case =
                JointCase { number: u32::from(decimal(number)), greater: None, values: Vec::new() };
            for (key, value) in keys.iter().zip(values.split('/')) {
                if *key == "ordering" {
                    case.greater = Some(value == "gt");
                    continue;
                }
                let list = &row.modifiers[index(key)].values;
                let number = list.iter().position(|v| *v == Some(value));
                case.values.push(number.unwrap_or_else(|| panic!("{value}?")) as u8);
            }
            cases.push(case);
        }
    }
    let joint = keys.into_iter().filter(|key| *key != "ordering").map(index).collect();
    Encoding { mask, exact, direct, fields, joint, cases }
}
