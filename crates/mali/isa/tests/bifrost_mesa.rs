//! Bifrost's table against Mesa's, and Mesa's own cases of packed clauses.
//!
//! They are part of Mesa's source, which `tools/mesa source` downloads from Debian.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_mali_isa::bifrost::Clause;
use tepui_mali_isa::bifrost::table::{Encoding, Field, Op, Row, Unit};

/// The folder of Mesa's compiler.
fn compiler() -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/mesa");
    let output = Command::new(tool).arg("source").output().expect("tools/mesa runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tools/mesa source: {errors}");
    let root = PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim());
    root.join("src/panfrost/compiler")
}

/// An XML element.
#[derive(Debug, Default)]
struct Element {
    tag: String,
    /// The text between the name and the end of the tag.
    attributes: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.attributes.split_once(&format!(" {name}=\""))?;
        Some(rest.split_once('"')?.0)
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.attribute(name).map(|text| match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).expect("a number"),
            None => text.parse().expect("a number"),
        })
    }

    fn all<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Element> + 'a {
        self.children.iter().filter(move |child| child.tag == tag)
    }
}

/// Reads elements up to the end of the one that is open.
fn elements(rest: &mut &str, into: &mut Element) {
    while let Some((text, behind)) = rest.split_once('<') {
        into.text += text.trim();
        let comment = behind.strip_prefix("!--");
        if let Some((_, behind)) = comment.and_then(|text| text.split_once("-->")) {
            *rest = behind;
            continue;
        }
        let (tag, behind) = behind.split_once('>').expect("a tag's end");
        *rest = behind;
        if tag.starts_with('/') {
            return;
        }
        let inner = tag.trim_end_matches('/');
        let end = inner.find(' ').unwrap_or(inner.len());
        let (name, attributes) = (inner[..end].to_owned(), inner[end..].to_owned());
        let mut element = Element { tag: name, attributes, ..Element::default() };
        if !tag.ends_with('/') {
            elements(rest, &mut element);
        }
        into.children.push(element);
    }
}

/// Whether a condition holds for values of modifiers by name. An alias is a second way to write the values of another
/// condition, for Mesa's compiler only.
fn holds(condition: &Element, value: &dyn Fn(&str) -> String) -> bool {
    if condition.attribute("alias").is_some() {
        return false;
    }
    let side = |name| match condition.attribute(name).expect("two sides") {
        constant if constant.starts_with('#') => constant[1..].to_owned(),
        modifier => value(modifier),
    };
    let mut parts = condition.children.iter().map(|part| holds(part, value));
    match condition.tag.as_str() {
        "and" => parts.all(|part| part),
        "or" => parts.any(|part| part),
        "eq" => side("left") == side("right"),
        "neq" => side("left") != side("right"),
        _ => false,
    }
}

/// The values of a modifier in Mesa's list, padded with `reserved`.
fn values(modifier: &Element) -> Vec<String> {
    let mut list: Vec<String> = modifier
        .children
        .iter()
        .map(|child| if child.tag == "opt" { child.text.clone() } else { child.tag.clone() })
        .collect();
    if let (true, Some(name)) = (list.is_empty(), modifier.attribute("opt")) {
        list = vec!["none".to_owned(), name.to_owned()];
    }
    list
}

fn check_modifiers(row: &Row, ins: &Element) {
    let theirs: Vec<&Element> =
        ins.all("mod").filter(|modifier| modifier.attribute("pseudo").is_none()).collect();
    assert_eq!(row.modifiers.len(), theirs.len(), "{}", row.name);
    for (ours, theirs) in row.modifiers.iter().zip(theirs) {
        assert_eq!(Some(ours.name), theirs.attribute("name"), "{}", row.name);
        let mut list = values(theirs);
        let text = |value: &Option<&str>| value.unwrap_or("reserved").to_owned();
        let default = theirs.attribute("default").map(str::to_owned);
        let none = list.iter().any(|v| v == "none").then(|| "none".to_owned());
        let found = ours.default.map(|number| text(&ours.values[usize::from(number)]));
        assert_eq!(found, default.or(none), "{}: {}", row.name, ours.name);
        while list.last().is_some_and(|v| v == "reserved") {
            list.pop();
        }
        assert_eq!(ours.values.iter().map(text).collect::<Vec<_>>(), list, "{}", row.name);
    }
}

/// Every combination of values that Mesa's conditions allow has a case of ours, and no other.
fn check_encoding(row: &Row, ours: &Encoding, theirs: &Element, whole: bool) {
    let name = row.name;
    assert_eq!(Some(ours.mask), theirs.number("mask"), "{name}");
    assert_eq!(Some(ours.exact), theirs.number("exact"), "{name}");
    let condition = theirs.children.first().filter(|_| !whole);
    let derived: Vec<&Element> = theirs.all("derived").collect();
    let place = |element: &Element| Field {
        start: element.number("start").expect("a place") as u8,
        bits: element.number("size").expect("a size") as u8,
    };
    let fields: Vec<Field> = derived.iter().map(|d| place(d)).collect();
    assert_eq!(ours.fields, fields, "{name}");
    let joint: Vec<_> = ours.joint.iter().map(|index| &row.modifiers[*index]).collect();
    let ordered = ours.cases.iter().any(|case| case.greater.is_some());
    let mut expected = BTreeSet::new();
    let mut numbers = vec![0; joint.len()];
    loop {
        for greater in [false, true] {
            if greater && !ordered {
                continue;
            }
            let value = |modifier: &str| match modifier {
                "ordering" if greater => "gt".to_owned(),
                "ordering" => "lt".to_owned(),
                _ => {
                    let at = joint.iter().position(|m| m.name == modifier);
                    let at = at.unwrap_or_else(|| panic!("{name}: {modifier} is not joint"));
                    joint[at].values[numbers[at]].unwrap_or("reserved").to_owned()
                }
            };
            if condition.is_some_and(|condition| !holds(condition, &value)) {
                continue;
            }
            let mut number = 0;
            let mut shift = 0;
            let found = derived.iter().zip(&fields).all(|(derived, field)| {
                let fits = |c: &Element| holds(c, &value);
                let at = derived.children.iter().position(fits);
                number |= (at.unwrap_or(0) as u32) << shift;
                shift += field.bits;
                at.is_some()
            });
            if found && !numbers.iter().zip(&joint).any(|(n, m)| m.values[*n].is_none()) {
                let values: Vec<u8> = numbers.iter().map(|n| *n as u8).collect();
                expected.insert((number, ordered.then_some(greater), values));
            }
        }
        // The next combination.
        let Some(at) = (0..numbers.len()).find(|i| numbers[*i] + 1 < joint[*i].values.len()) else {
            break;
        };
        numbers[at] += 1;
        numbers[..at].fill(0);
    }
    let found = ours.cases.iter().map(|c| (c.number, c.greater, c.values.clone()));
    let found: BTreeSet<_> = found.collect();
    if !ours.cases.is_empty() {
        assert_eq!(found, expected, "{name}");
    }
}

fn check_row(row: &Row, ins: &Element) {
    let name = row.name;
    let sources = ins.all("src").filter(|source| source.attribute("pseudo").is_none());
    let sources: Vec<(u8, u8)> = sources
        .map(|s| {
            let ports = s.number("mask").unwrap_or(0xff);
            (s.number("start").expect("a place") as u8, ports as u8)
        })
        .collect();
    assert_eq!(
        row.sources.iter().map(|s| (s.start, s.ports)).collect::<Vec<_>>(),
        sources,
        "{name}"
    );
    let immediates: Vec<(&str, u8, u8)> = ins
        .all("immediate")
        .filter(|i| i.attribute("pseudo").is_none())
        .map(|i| {
            let place = |what| i.number(what).expect("a place") as u8;
            (i.attribute("name").expect("a name"), place("start"), place("size"))
        })
        .collect();
    let ours = row.immediates.iter().map(|i| (i.name, i.field.start, i.field.bits));
    assert_eq!(ours.collect::<Vec<_>>(), immediates, "{name}");
    assert_eq!(row.last, ins.attribute("last").is_some(), "{name}");
    assert_eq!(row.table, ins.attribute("table").is_some(), "{name}");
    assert_eq!(row.dest, ins.attribute("dests") != Some("0"), "{name}");
    let staging = row.staging.map(|s| {
        let access = [s.read.then_some("r"), s.write.then_some("w")];
        format!("{}={}", access.into_iter().flatten().collect::<String>(), s.count)
    });
    assert_eq!(staging.as_deref(), ins.attribute("staging"), "{name}");
    check_modifiers(row, ins);
    let encodings: Vec<&Element> = ins.all("encoding").collect();
    match encodings[..] {
        [] => check_encoding(row, &row.encodings[0], ins, true),
        _ => {
            assert_eq!(row.encodings.len(), encodings.len(), "{name}");
            for (ours, theirs) in row.encodings.iter().zip(encodings) {
                check_encoding(row, ours, theirs, false);
            }
        }
    }
    // Modifiers with a field of their own, in each encoding.
    for (index, ours) in row.encodings.iter().enumerate() {
        let copies: Vec<(&str, u8)> = ins.all("encoding").nth(index).map_or(Vec::new(), |e| {
            let place = |c: &Element| c.number("start").expect("a place") as u8;
            e.all("copy").map(|c| (c.attribute("name").expect("a name"), place(c))).fold(
                Vec::new(),
                |mut list, (name, place)| {
                    list.push((Box::leak(name.to_owned().into_boxed_str()) as &str, place));
                    list
                },
            )
        });
        for (at, modifier) in ins.all("mod").filter(|m| m.attribute("pseudo").is_none()).enumerate()
        {
            let name = modifier.attribute("name").expect("a name");
            let start = modifier.number("start").map(|s| s as u8);
            let start = start.or(copies.iter().find(|(n, _)| *n == name).map(|(_, s)| *s));
            let found = ours.direct.iter().find(|(i, _)| *i == at).map(|(_, field)| field.start);
            assert_eq!(found, start, "{}: {name}", row.name);
        }
    }
}

#[test]
fn the_table_is_mesa_s() {
    let path = compiler().join("bifrost/ISA.xml");
    let text = std::fs::read_to_string(path).expect("the table");
    let mut root = Element::default();
    elements(&mut text.as_str(), &mut root);
    let (mut all, mut count) = (0, 0);
    for ins in root.children[0].all("ins") {
        all += 1;
        if ins.attribute("pseudo").is_some() {
            continue;
        }
        count += 1;
        let unit = if ins.attribute("unit") == Some("fma") { Unit::Fma } else { Unit::Add };
        let name = ins.attribute("name").expect("a name");
        let op = Op::from_name(unit, name).unwrap_or_else(|| panic!("{name}"));
        check_row(op.row(), ins);
    }
    // The other encodings are for Mesa's compiler only.
    assert_eq!((all, count), (362, 304));
}

/// The numbers of a text that begin with `0x`.
fn hex(text: &str) -> Vec<u64> {
    let parts = text.split("0x").skip(1);
    let digits = |part: &str| part.chars().take_while(char::is_ascii_hexdigit).collect::<String>();
    parts.map(|part| u64::from_str_radix(&digits(part), 16).expect("a number")).collect()
}

/// Mesa's cases of packing hold when unpacked, and when packed again.
#[test]
fn clauses_are_packed_as_mesa_s() {
    let path = compiler().join("test/test-pack-formats.cpp");
    let text = std::fs::read_to_string(path).expect("the cases");
    let mut counts = Vec::new();
    for case in text.split("TEST_F(PackFormats").skip(1) {
        let (tuples, rest) = case.split_once("};").expect("tuples");
        let tuples = hex(tuples);
        let (_, expected) = rest.split_once("expected[]").expect("words");
        let mut words = hex(expected);
        // Cases omit the words of constants, so the last word of tuples is marked as the end.
        let last = words.len() - 2;
        words[last] |= 0x40;
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (clause, count) = match Clause::decode(&code) {
            Ok(decoded) => decoded,
            Err(error) => panic!("{case}: {error}"),
        };
        assert_eq!(count * 2, words.len(), "{case}");
        for (tuple, bits) in clause.tuples.iter().zip(tuples.chunks(2)) {
            let fma = u128::from(tuple.fma.encode().expect("FMA"));
            let add = u128::from(tuple.add.encode().expect("ADD"));
            let packed = u128::from(tuple.registers.0) | fma << 35 | add << 58;
            assert_eq!(packed, u128::from(bits[0]) | u128::from(bits[1]) << 64, "{case}");
        }
        counts.push(clause.tuples.len());
        assert_eq!(clause.encode(), Ok(code));
    }
    assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8]);
}
