//! Comparison of what `tepui trace` decodes of ANV's batches with Mesa's own decoder, field by field.
//!
//! Mesa's driver prints every batch and the states that it points to (`INTEL_DEBUG=bat`): each double
//! word, and the fields that Mesa's genxml sees in it. `tepui trace` keeps a capture of the same
//! submissions, and `tepui_intel_capture` decodes it. Structures are paired by the submission, their
//! name and their address. What Mesa prints must be in our tree, and each command of our tree must be
//! among Mesa's; the fields that both name must mean the same, what only one names must stand in
//! [`MESA_ONLY`] or [`OURS_ONLY`], or fail. Needs Mesa, which `tools/mesa fetch` brings.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use tepui_capture::Event;
use tepui_decode::{Content, Record};
use tepui_intel_capture::Describer;
use tepui_intel_chips::Generation;
use tepui_intel_packets::{Decoded, PacketInfo, Value};
use tepui_packets::Base;

mod intel;

/// A GPU, and what is compared on it.
struct Subject {
    gpu: &'static str,
    generation: Generation,
    cases: &'static [&'static str],
    /// Structures that at least occur.
    kinds: usize,
    /// Surface states that are compared at least.
    surfaces: u64,
}

impl Subject {
    fn find(&self, name: &str) -> Option<&'static PacketInfo> {
        tepui_intel_packets::find(self.generation, name)
    }
}

const SKYLAKE: Subject =
    Subject { gpu: "skl", generation: Generation::Gen9, cases: CASES, kinds: 75, surfaces: 10_000 };

const TIGER_LAKE: Subject = Subject {
    gpu: "tgl",
    generation: Generation::Gen12,
    cases: &[
        "commands/ids_1x1x1",
        "commands/copy",
        "texel_buffer/R8_UNORM",
        "draws/at",
        "depth/d32_sfloat_less",
        "stencil/pass_keep",
    ],
    kinds: 70,
    surfaces: 100,
};

/// Cases whose batches have between them the commands that ANV submits for compute and drawing.
const CASES: &[&str] =
    &["commands/ids_1x1x1", "commands/copy", "texel_buffer/", "draws/at", "depth/", "stencil/"];

/// Fields of the declarations that genxml lacks: Intel's compute runtime uses them (hw_cmds_generated_gen12lp.inl).
const OURS_ONLY: &[&str] =
    &["MMIO Remap Enable", "MMIO Remap Enable Source", "MMIO Remap Enable Destination"];

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
    // Bits that other fields have one by one.
    "Shader Update Enable",
    // It tells two commands of Gen12 apart, which are two declarations here.
    "Extended Parameters Present",
    // The same bits as other types.
    "Hierarchical Depth Clear Value",
    "Border Color Float Red",
    "Border Color Float Green",
    "Border Color Float Blue",
    "Border Color Float Alpha",
    "Alpha Reference Value As FLOAT32",
];

/// Structures of which Mesa 26.1 names the fields otherwise than Mesa 25.0's genxml, whose names the
/// declarations have: components of vertex elements, in double words instead of one by one; and groups of numbers, which
/// Mesa prints one by one.
const RENAMED: &[&str] = &["3DSTATE_VF_COMPONENT_PACKING", "3DSTATE_PRIMITIVE_REPLICATION"];

/// Commands behind whose declared part a list of structures stands.
const LISTS: &[(&str, &str)] = &[
    ("3DSTATE_VERTEX_BUFFERS", "VERTEX_BUFFER_STATE"),
    ("3DSTATE_VERTEX_ELEMENTS", "VERTEX_ELEMENT_STATE"),
];

/// Bytes of the longest command.
const MAX_BYTES: usize = 1028;

/// A structure as Mesa prints it.
#[derive(Debug, Default)]
struct Block {
    name: String,
    /// It begins another submission.
    first: bool,
    /// Its address.
    start: Option<u64>,
    bytes: Vec<u8>,
    fields: Vec<(String, String)>,
}

/// Takes Mesa's text apart.
fn parse(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut first = false;
    for line in text.lines() {
        if line.starts_with("Batch for frame ") {
            first = true;
            continue;
        }
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
                    // Names may end in brackets themselves, behind a space.
                    Some((name, n)) if n.parse::<u32>().is_ok() && !name.ends_with(' ') => {
                        format!("{name} {n}")
                    }
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
            // Mesa prints canonical addresses, whose upper bits repeat bit 47.
            let address = address & ((1 << 48) - 1);
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
                        if at < MAX_BYTES {
                            block.bytes.resize((at + 4).max(block.bytes.len()), 0);
                            block.bytes[at..at + 4].copy_from_slice(&dword.to_le_bytes());
                        }
                    }
                }
                // `0xADDRESS:  0xHEADER:  NAME`
                Some(name) => {
                    let first = std::mem::take(&mut first);
                    blocks.push(Block { name: name.into(), first, ..Block::default() });
                }
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

/// States of which Mesa does not know the number and prints 32, 4 or 8: what is behind the last may be anything, and our
/// tree ends there. With each, the command that points to the first, which must be in our tree.
///
/// source: Mesa, intel_batch_decoder.c (`dump_binding_table`, `decode_dynamic_state`)
const GUESSED: &[(&str, &str)] = &[
    ("SF_CLIP_VIEWPORT", "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP"),
    ("CC_VIEWPORT", "3DSTATE_VIEWPORT_STATE_POINTERS_CC"),
    ("BLEND_STATE_ENTRY", "3DSTATE_BLEND_STATE_POINTERS"),
    (SURFACE, "3DSTATE_BINDING_TABLE_POINTERS_PS"),
];
const SURFACE: &str = "RENDER_SURFACE_STATE";

/// Compares a structure; returns what differs.
fn compare(block: &Block, decoded: &Decoded) -> Result<(), String> {
    let info = decoded.info;
    let mut ours = BTreeMap::new();
    flatten(decoded, &mut ours);
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
        let is_known = seen.contains_key(name) || seen.contains_key(base);
        if !is_known && !OURS_ONLY.contains(name) {
            return Err(format!("{name} is not Mesa's"));
        }
    }
    Ok(())
}

/// A block, and the structures of the list behind it as blocks of their own.
fn split(subject: &Subject, block: Block) -> Vec<Block> {
    let find = |name: &str| subject.find(name);
    let element = LISTS.iter().find(|(name, _)| *name == block.name).and_then(|(_, e)| find(e));
    let (Some(info), Some(element)) = (find(&block.name), element) else { return vec![block] };
    let own = |name: &str| {
        info.fields.iter().any(|f| f.name == name) || info.fixed.iter().any(|f| f.name == name)
    };
    let (head, list): (Vec<_>, Vec<_>) = block.fields.into_iter().partition(|f| own(&f.0));
    let count = block.bytes.len().saturating_sub(info.size_bytes) / element.size_bytes;
    let fields = list.len() / count.max(1);
    let elements = block.bytes[info.size_bytes..].chunks_exact(element.size_bytes);
    let at = block.start.map(|start| start + info.size_bytes as u64);
    let elements = elements.zip(list.chunks(fields.max(1))).enumerate();
    let elements = elements.map(|(i, (bytes, fields))| Block {
        name: element.name.into(),
        first: false,
        start: at.map(|at| at + (i * element.size_bytes) as u64),
        bytes: bytes.to_vec(),
        fields: fields.to_vec(),
    });
    let bytes = block.bytes.clone();
    let head = Block { fields: head, bytes, ..block };
    std::iter::once(head).chain(elements).collect()
}

/// The structures of a decoded batch.
struct Tree {
    start: u64,
    /// The fields of each by name and address.
    packets: HashMap<(&'static str, u64), Decoded>,
    /// The commands, and which of them Mesa has printed.
    commands: BTreeMap<u64, (&'static str, bool)>,
    problems: Vec<String>,
}

impl Tree {
    fn new(batch: &Record) -> Tree {
        let start = batch.address.unwrap_or_default();
        let mut tree = Tree {
            start,
            packets: HashMap::new(),
            commands: BTreeMap::new(),
            problems: Vec::new(),
        };
        tree.add(batch, true);
        tree
    }

    fn add(&mut self, record: &Record, is_batch: bool) {
        let at = record.address.unwrap_or_default();
        for problem in &record.problems {
            self.problems.push(format!("{} at {at:#x}: {problem}", record.title));
        }
        if let Content::Packet(decoded) = &record.content {
            self.packets.insert((decoded.info.name, at), decoded.clone());
        }
        for child in &record.children {
            if let (true, Content::Packet(decoded)) = (is_batch, &child.content) {
                let place = child.address.unwrap_or_default();
                self.commands.insert(place, (decoded.info.name, false));
            }
            self.add(child, child.title == "Second level batch");
        }
    }
}

/// Decodes the captures of a folder.
fn decode(folder: &Path) -> Vec<Tree> {
    let mut trees = Vec::new();
    let mut describer = Describer::default();
    intel::events(folder, |events, event| match event {
        Event::Process(process) => {
            let options = tepui_intel_decode::Options::default();
            describer = Describer::new(&process.parameters, options);
        }
        Event::Start(start) => {
            let batch = describer.command(&events.memory(&start), &start);
            trees.push(Tree::new(&batch));
        }
        _ => {}
    });
    trees
}

/// Fields compared and fields that differ, with counts.
#[derive(Default)]
struct Outcome {
    compared: BTreeMap<&'static str, u64>,
    failed: BTreeMap<(&'static str, String), u64>,
    /// The last command says that its pointer is not valid; Mesa follows it all the same.
    ignored: bool,
}

impl Outcome {
    fn fail(&mut self, name: &'static str, why: impl Into<String>) {
        *self.failed.entry((name, why.into())).or_insert(0) += 1;
    }

    fn block(&mut self, subject: &Subject, block: &Block, tree: &mut Tree) {
        let Some(start) = block.start else { return };
        // Mesa has one name for both.
        const EXTENDED: &str = "3DPRIMITIVE_EXTENDED";
        let extended = block.name == "3DPRIMITIVE" && tree.packets.contains_key(&(EXTENDED, start));
        let name = if extended { EXTENDED } else { &block.name };
        let Some(info) = subject.find(name) else { return };
        if info.name.starts_with("3DSTATE_") {
            let off = |(name, value): &(String, String)| {
                name.ends_with("Pointer Valid") && value == "false"
            };
            self.ignored = block.fields.iter().any(off);
        }
        if let Some((name, seen)) = tree.commands.get_mut(&start)
            && *name == info.name
        {
            *seen = true;
        }
        if RENAMED.contains(&info.name) || block.fields.is_empty() {
            return;
        }
        let Some(decoded) = tree.packets.get(&(info.name, start)) else {
            let guessed = GUESSED.iter().any(|(name, _)| *name == info.name);
            if !guessed && !self.ignored {
                self.fail(info.name, "is not in our tree");
            }
            return;
        };
        *self.compared.entry(info.name).or_insert(0) += 1;
        if let Err(why) = compare(block, decoded) {
            self.fail(info.name, why);
        }
    }
}

#[test]
fn mesa_sees_the_same_fields() {
    check(&SKYLAKE);
}

#[test]
fn mesa_sees_the_same_fields_on_tiger_lake() {
    check(&TIGER_LAKE);
}

fn check(subject: &Subject) {
    let name = format!("intel-packets-{}", subject.gpu);
    let debug = [("INTEL_DEBUG", "bat,nocolor")];
    let (folder, output) = intel::trace(subject.gpu, &name, subject.cases, &debug);
    let text = String::from_utf8_lossy(&output.stderr);
    let mut trees = decode(&folder);
    let mut outcome = Outcome::default();
    let mut submissions = 0;
    let mut at = 0;
    let mut printed: HashSet<usize> = HashSet::new();
    for block in parse(&text) {
        if block.first {
            // Submissions of the driver's own are not printed.
            let start = block.start.expect("an address");
            let next = (at..trees.len()).skip(usize::from(submissions > 0));
            let found = next.into_iter().find(|&i| trees[i].start == start);
            at = found.unwrap_or_else(|| panic!("no capture of the batch at {start:#x}"));
            submissions += 1;
            printed.insert(at);
        }
        if submissions > 0 {
            let tree = &mut trees[at];
            split(subject, block).iter().for_each(|block| outcome.block(subject, block, tree));
        }
    }
    for (index, tree) in trees.iter().enumerate() {
        for problem in &tree.problems {
            outcome.fail("problem", problem.as_str());
        }
        if printed.contains(&index) {
            for (at, (name, _)) in tree.commands.iter().filter(|(_, (_, seen))| !seen) {
                outcome.fail(name, format!("at {at:#x} is not Mesa's"));
            }
        }
    }
    let Outcome { compared, failed, .. } = outcome;
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(compared.len() >= subject.kinds, "only {} kinds: {compared:#?}", compared.len());
    let count = |name: &str| compared.get(name).copied().unwrap_or(0);
    for (name, pointer) in GUESSED {
        assert!(count(name) >= count(pointer) && count(name) > 0, "{name}: {}", count(name));
    }
    let surfaces = count(SURFACE);
    assert!(surfaces >= subject.surfaces, "only {surfaces} surface states");
    println!("{submissions} submissions: {compared:#?}");
}
