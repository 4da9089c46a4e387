//! The declarations of Intel's commands and states agree with Mesa's, field by field, on what ANV
//! submits.
//!
//! Mesa's driver prints every batch and the states that it points to (`INTEL_DEBUG=bat`): each double
//! word, and the fields that Mesa's genxml sees in it. The same double words are decoded here; what
//! both name must mean the same, what only one names must stand in [`MESA_ONLY`] or [`OURS_ONLY`]. The
//! work itself need not be executed: batches are printed when they are submitted. Needs Mesa, which
//! `tools/mesa fetch` brings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tepui_intel_packets::{Decoded, PacketInfo, Value, find};
use tepui_packets::Base;
use tepui_witness::jobs::Driver;

/// Cases whose batches have between them the commands that ANV submits for compute and drawing.
const CASES: &[&str] =
    &["commands/ids_1x1x1", "commands/copy", "texel_buffer/", "draws/at", "depth/", "stencil/"];

/// Structures that at least occur.
const EXPECTED: usize = 75;

/// Fields that Mesa prints and the declarations leave out.
const MESA_ONLY: &[&str] = &[
    // Of surface states: planes of video, which share bits with other fields.
    "Y Offset for U or UV Plane",
    "X Offset for U or UV Plane",
    "Separate UV Plane Enable",
    "Quilt Width",
    "Quilt Height",
    "Auxiliary Table Index for Media Compressed Surface",
    "Y Offset for V Plane",
    "X Offset for V Plane",
    // The same bits as other types.
    "Hierarchical Depth Clear Value",
    "Border Color Float Red",
    "Border Color Float Green",
    "Border Color Float Blue",
    "Border Color Float Alpha",
    "Alpha Reference Value As FLOAT32",
];

/// Structures of which Mesa 26.1 names the fields otherwise than Mesa 25.0's genxml, whose names the
/// declarations have: components of vertex elements, in double words instead of one by one.
const RENAMED: &[&str] = &["3DSTATE_VF_COMPONENT_PACKING"];

/// Commands behind whose declared part a list of structures stands.
const LISTS: &[(&str, &str)] = &[
    ("3DSTATE_VERTEX_BUFFERS", "VERTEX_BUFFER_STATE"),
    ("3DSTATE_VERTEX_ELEMENTS", "VERTEX_ELEMENT_STATE"),
];

/// Bytes of the longest command.
const MOST_BYTES: usize = 1028;

/// A structure as Mesa prints it.
#[derive(Debug, Default)]
struct Block {
    name: String,
    /// Its address.
    start: Option<u64>,
    bytes: Vec<u8>,
    fields: Vec<(String, String)>,
}

/// Takes Mesa's text apart.
fn parse(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in text.lines() {
        if let Some(field) = line.strip_prefix("    ") {
            let (Some(block), Some((name, value))) = (blocks.last_mut(), field.split_once(": "))
            else {
                continue;
            };
            // The fields of a structure inside follow its name; an element of a group has its index
            // in brackets, which is behind a space here.
            if !value.trim_start().starts_with("<struct") {
                let name = name.trim();
                let element = name.strip_suffix(']').and_then(|n| n.rsplit_once('['));
                let name = match element {
                    Some((name, n)) if n.parse::<u32>().is_ok() => format!("{name} {n}"),
                    _ => name.to_owned(),
                };
                block.fields.push((name, value.trim().into()));
            }
            continue;
        }
        if line.starts_with("0x") {
            let mut words = line.split_whitespace();
            let (address, value, rest) = (words.next(), words.next(), words.next());
            let hex = |text: &str| {
                u64::from_str_radix(text.trim_matches(':').trim_start_matches("0x"), 16)
            };
            let Some(Ok(address)) = address.map(hex) else { continue };
            let Some(value) = value.map(|v| v.trim_end_matches(':').trim_start_matches("0x"))
            else {
                continue;
            };
            match rest {
                // `0xADDRESS:  0xVALUE : Dword 3`
                Some(":") => {
                    if let (Some(block), Ok(dword)) =
                        (blocks.last_mut(), u32::from_str_radix(value, 16))
                    {
                        // Structures inside count their double words anew; addresses go on.
                        let start = *block.start.get_or_insert(address);
                        let at = address.wrapping_sub(start) as usize;
                        if at < MOST_BYTES {
                            block.bytes.resize((at + 4).max(block.bytes.len()), 0);
                            block.bytes[at..at + 4].copy_from_slice(&dword.to_le_bytes());
                        }
                    }
                }
                // `0xADDRESS:  0xHEADER:  NAME`
                Some(name) => blocks.push(Block { name: name.into(), ..Block::default() }),
                None => {}
            }
            continue;
        }
        let heading = line.split_whitespace().next().unwrap_or_default();
        let name = match heading {
            "pointer" => "RENDER_SURFACE_STATE",
            "descriptor" => "INTERFACE_DESCRIPTOR_DATA",
            other => other,
        };
        // Whatever follows belongs to it, known or not.
        blocks.push(Block { name: name.into(), ..Block::default() });
    }
    blocks
}

/// The fields of a packet by name, those of packets inside of it included.
fn flatten(decoded: &Decoded, into: &mut BTreeMap<&'static str, String>) {
    for (field, value) in &decoded.fields {
        match value {
            Value::Packet(inner) => flatten(inner, into),
            value => {
                let number = match value {
                    Value::Uint(v) | Value::Hex(v) | Value::Address(v) | Value::Unknown(v) => {
                        Some(i128::from(*v))
                    }
                    Value::Int(v) => Some(i128::from(*v)),
                    Value::Bool(v) => Some(i128::from(*v)),
                    Value::Name(name) => match field.kind.base {
                        Base::Enum(info) => {
                            info.values.iter().find(|v| v.name == *name).map(|v| v.value.into())
                        }
                        _ => None,
                    },
                    _ => None,
                };
                let text = number.map_or_else(|| format!("{value}"), |n| n.to_string());
                into.insert(field.name, text);
            }
        }
    }
}

/// Whether Mesa's text means the value.
fn same(mesa: &str, ours: &str) -> bool {
    let word = mesa.split_whitespace().next().unwrap_or_default();
    let number = match word {
        "true" => Some(1),
        "false" => Some(0),
        hex if hex.starts_with("0x") => u64::from_str_radix(&hex[2..], 16).ok().map(i128::from),
        decimal => decimal.parse::<i128>().ok(),
    };
    if let (Some(a), Ok(b)) = (number, ours.parse::<i128>()) {
        // Mesa prints negative numbers and large unsigned ones alike.
        return a == b || a as u32 == b as u32 && a >> 32 == 0;
    }
    match (word.parse::<f64>(), ours.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-6 * a.abs().max(1.0) || a.is_nan() && b.is_nan(),
        _ => false,
    }
}

/// The structure that Mesa prints for each of 32 slots of a binding table, whose length it does not know for draws: what is
/// behind the table's end may be anything. Bits that must be zero tell it from surface states.
const GUESSED: &str = "RENDER_SURFACE_STATE";
/// The structure that Mesa prints four of, however many viewports there are. source: Mesa, intel_batch_decoder.c
const VIEWPORTS: &str = "SF_CLIP_VIEWPORT";

/// Surface states that are compared at least.
const SURFACES: u64 = 10_000;

/// Whether bytes behind the end of a binding table or of the viewports were printed as one of them.
fn is_none(block: &Block, info: &'static PacketInfo) -> bool {
    [GUESSED, VIEWPORTS].contains(&info.name)
        && (info.decode)(&block.bytes)
            .is_ok_and(|d| d.problems.iter().any(|p| p.to_string().contains("must be zero")))
}

/// Compares a structure; returns what differs.
fn compare(block: &Block, info: &'static PacketInfo) -> Result<(), String> {
    let decoded = (info.decode)(&block.bytes).map_err(|e| e.to_string())?;
    if let Some(problem) = decoded.problems.first() {
        return Err(problem.to_string());
    }
    let mut ours = BTreeMap::new();
    flatten(&decoded, &mut ours);
    let fixed: BTreeSet<&str> = info.fixed.iter().map(|f| f.name).collect();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, value) in &block.fields {
        // A field of a group is printed once an element, in order.
        let times = seen.entry(name).and_modify(|n| *n += 1).or_insert(0);
        let numbered = format!("{name} {times}");
        let found = ours.get(name.as_str()).or_else(|| ours.get(numbered.as_str()));
        match found {
            Some(_) if *times > 0 && ours.contains_key(name.as_str()) => {
                // Behind the declared part: states of a list.
            }
            Some(text) if same(value, text) => {}
            Some(text) => return Err(format!("{name}: Mesa says {value}, we say {text}")),
            None if fixed.contains(name.as_str()) || MESA_ONLY.contains(&name.as_str()) => {}
            None => return Err(format!("{name} is not declared")),
        }
    }
    for name in ours.keys() {
        let base = name.rsplit_once(' ').map_or(*name, |(base, _)| base);
        if !seen.contains_key(name) && !seen.contains_key(base) {
            return Err(format!("{name} is not Mesa's"));
        }
    }
    Ok(())
}

/// A block, and the structures of the list behind it as blocks of their own.
fn split(block: Block) -> Vec<Block> {
    let element = LISTS.iter().find(|(name, _)| *name == block.name).and_then(|(_, e)| find(e));
    let (Some(info), Some(element)) = (find(&block.name), element) else { return vec![block] };
    let own = |name: &str| {
        info.fields.iter().any(|f| f.name == name) || info.fixed.iter().any(|f| f.name == name)
    };
    let (head, list): (Vec<_>, Vec<_>) = block.fields.into_iter().partition(|f| own(&f.0));
    let count = block.bytes.len().saturating_sub(info.size_bytes) / element.size_bytes;
    let fields = list.len() / count.max(1);
    let elements = block.bytes[info.size_bytes..].chunks_exact(element.size_bytes);
    let elements = elements.zip(list.chunks(fields.max(1))).map(|(bytes, fields)| Block {
        name: element.name.into(),
        start: None,
        bytes: bytes.to_vec(),
        fields: fields.to_vec(),
    });
    let head = Block { name: block.name, start: None, bytes: block.bytes.clone(), fields: head };
    std::iter::once(head).chain(elements).collect()
}

#[test]
fn mesa_sees_the_same_fields() {
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    let mut command = Driver::Skylake.command(witness).unwrap();
    command.args(["run", "--device", Driver::Skylake.device()]).args(CASES);
    command.env("INTEL_DEBUG", "bat,nocolor");
    let output = command.output().expect("the witness starts");
    // Cases that draw fail as long as draws are not executed; what was submitted was printed.
    let text = String::from_utf8_lossy(&output.stderr);
    let (mut compared, mut failed) = (BTreeMap::new(), BTreeMap::new());
    for block in parse(&text).into_iter().flat_map(split) {
        let Some(info) = find(&block.name) else { continue };
        let renamed = RENAMED.contains(&info.name);
        if renamed || block.bytes.len() < info.size_bytes || block.fields.is_empty() {
            continue;
        }
        if is_none(&block, info) {
            continue;
        }
        *compared.entry(info.name).or_insert(0u64) += 1;
        if let Err(why) = compare(&block, info) {
            *failed.entry((info.name, why)).or_insert(0u64) += 1;
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(compared.len() >= EXPECTED, "only {} kinds: {compared:#?}", compared.len());
    let surfaces = compared.get(GUESSED).copied().unwrap_or(0);
    assert!(surfaces >= SURFACES, "only {surfaces} surface states");
    println!("{compared:#?}");
}
