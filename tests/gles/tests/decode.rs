//! The chains of jobs that `tepui trace` decodes agree with Mesa's own decoder, field by field.
//!
//! Mesa's driver prints every chain that it submits and the descriptors that it points to (`PAN_MESA_DEBUG=trace`).
//! `tepui trace` keeps a capture of the same submissions, and `tepui_mali_capture` decodes it. Jobs are paired by their
//! order and address. For each structure of a job that Mesa prints, our tree must have one of the same name whose
//! fields have the same meaning; a structure or field that only one of them names fails unless it is in the lists
//! below.
//!
//! Runs if the variable `TEPUI_WITNESS_MALI` is set, with the same requirements as the test `mali`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use tepui_capture::{Event, Events};
use tepui_decode::{Content, Record};
use tepui_mali_capture::{Describer, Interface};
use tepui_mali_decode::Options;
use tepui_mali_packets::Value;
use tepui_mali_packets::texture::{ComponentOrder, Format};

/// GPUs, and how many kinds of structures at least occur.
const GPUS: &[(&str, usize)] = &[("mali-g52", 18), ("mali-g57", 18)];

/// Names of Mesa's structures, without numbers and addresses, and of ours.
const STRUCTURES: &[(&str, &[&str])] = &[
    ("Job Header", &["Job Header"]),
    ("Invocation", &["Invocation"]),
    ("Primitive", &["Primitive (v7)", "Primitive"]),
    ("Parameters", &["Framebuffer Parameters"]),
    ("Color Render Target", &["Render Target"]),
    ("Tiler Context", &["Tiler Context (job manager)"]),
    ("Tiler Heap", &["Tiler Heap (v7)", "Tiler Heap"]),
    ("State", &["Renderer State"]),
    ("Attribute", &["Attribute (v7)", "Attribute"]),
    ("Varying", &["Attribute (v7)"]),
    ("Attribute Buffer", &["Attribute Buffer"]),
    ("Varying Buffer", &["Attribute Buffer"]),
    ("Draw", &["Draw (v7)", "Draw"]),
    ("Vertex Draw", &["Draw (v7)"]),
    ("Fragment Draw", &["Draw (v7)"]),
    ("Local Storage", &["Local Storage (v7)", "Local Storage"]),
    ("Viewport", &["Viewport"]),
    ("Sampler", &["Sampler"]),
    ("Texture", &["Texture"]),
    // v10 names the parts of planes otherwise than v9.
    ("Plane", &[]),
    ("Compute", &["Compute Payload"]),
    ("Surface With Stride", &["Surface With Stride"]),
    ("Blend RT", &["Blend"]),
    ("Fragment Job Payload", &["Fragment Job Payload"]),
    ("Shader Shader", &["Shader Program"]),
    ("Entry", &["Resource"]),
    ("Buffer", &["Buffer"]),
    ("Allocation", &["Allocation"]),
    ("Scissor", &["Scissor"]),
    ("Depth/stencil", &["Depth/stencil"]),
];

/// Fields that Mesa 26.1 names otherwise than Mesa 25.0's genxml, whose names the declarations have.
const RENAMED: &[(&str, &str)] = &[
    ("Clean Tile Write Enable", "Clean Pixel Write Enable"),
    ("Aligned line-ends", "Single-sampled lines"),
    ("Blend Constant", "Constant"),
    ("Primitive Index Override", "Primitive Index Writeback"),
    ("Preload R48-R63", "Preload"),
    ("Row stride", "Header Row Stride"),
    ("Format (v7)", "Format"),
    ("Conversion Format (v7)", "Conversion Memory Format"),
];

/// Fields that Mesa prints in addition to others of the same bits, and words that the GPU writes while the chain runs,
/// after which Mesa prints.
const MESA_ONLY: &[&str] = &[
    "Exception Status",
    "First Incomplete Task",
    "Fault Pointer",
    "Type",
    "Divisor",
    "Divisor E",
    "Instance Size",
    "Instance Primitive Size",
    // 64 bits, whose upper ones are other fields.
    "Secondary shader",
];

/// Structures within others that are words of the GPU's own, bits that are one field here, or another form of the same bits.
const UNNAMED: &[&str] = &["State", "Weights", "Internal", "Conversion"];

/// Fields that other forms of a structure have, and Mesa prints of all.
const OTHER_FORM: &[&str] = &[
    "Fragment coverage bitmask type",
    "Vertex warp limit",
    "Buffer type",
    "Packet stride",
    "Attribute stride",
    "Stride",
    "Divisor R",
    "Divisor D",
    // Fields of the record that follows a buffer.
    "Divisor Numerator",
    "Writeback Float Format",
];

/// Fields of ours that Mesa prints in parts, or not of this form.
const OURS_ONLY: &[&str] = &[
    // Fields of headers on Valhall.
    "Is 64b",
    "Invalidate Cache",
    "Enable Texture Mapper",
    "Exception Status",
    "First Incomplete Task",
    "Fault Pointer",
    "State",
    "Instance Size shift",
    "Instance Size odd",
    "Instance Primitive Size",
    // On Valhall: fields that Mesa omits, and fields that were added in v10.
    "Conversion Register Format",
    "Shader read only Z/S",
    "Conversion",
    "Flags 2 Read mask",
    "Flags 2 Write mask",
    "Preload",
    "Secondary preload",
    "Message Preload 1",
    "Message Preload 2",
];

/// A structure as Mesa prints it.
#[derive(Debug)]
struct Block {
    indent: usize,
    name: String,
    /// The names of structures within it that stand around the next field.
    path: Vec<(usize, String)>,
    fields: Vec<(Vec<String>, String)>,
}

/// A heading without numbers, addresses and what describes a render target.
fn heading(text: &str) -> &str {
    let end = text.find(['@', '(']).unwrap_or(text.len());
    let text = text[..end].trim_end();
    let hex = |word: &str| word.bytes().all(|b| b.is_ascii_hexdigit());
    let text = match text.rsplit_once(' ') {
        Some((name, number)) if number.bytes().any(|b| b.is_ascii_digit()) && hex(number) => name,
        _ => text,
    };
    if text.ends_with("Color Render Target") { "Color Render Target" } else { text }
}

/// Jobs of Mesa's text, each with its structures.
fn parse(text: &str) -> Vec<(u64, Vec<Block>)> {
    let mut jobs: Vec<(u64, Vec<Block>)> = Vec::new();
    let mut open: Vec<Block> = Vec::new();
    // The headings of two structures stand on the line of their first field.
    let text = text.replace("Depth/stencil  Type: ", "Depth/stencil:\n  Type: ");
    let text = text.replace("Compute  Workgroup size X: ", "Compute:\n  Workgroup size X: ");
    for line in text.lines() {
        let line = line.trim_end();
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.starts_with(['#', '+', '*']) || content.starts_with("clause_") {
            continue;
        }
        let (name, value) = match content.split_once(": ") {
            Some((name, value)) => (name, Some(value)),
            None => match content.strip_suffix(':') {
                Some(name) => (name, None),
                // Some headings have no colon after the address.
                None if content.contains(" @") => (content, None),
                None => continue,
            },
        };
        while let Some(last) = open.last() {
            // Fields of the structure on its heading's line stand two columns further.
            if last.indent < indent {
                break;
            }
            let done = open.pop();
            if let (Some(job), Some(done)) = (jobs.last_mut(), done) {
                job.1.push(done);
            }
        }
        let Some(value) = value else {
            if let Some(at) = name.strip_prefix("Job Header (") {
                let at = u64::from_str_radix(at.trim_end_matches(')'), 16).expect("an address");
                jobs.push((at, Vec::new()));
            }
            let name = heading(name);
            let words = open.last().is_some_and(|block| block.name.starts_with("Tiler Context"));
            // Parts of other structures have this name too.
            let part = name == "Compute" && indent > 0;
            if STRUCTURES.iter().any(|(mesa, _)| *mesa == name) && !words && !part {
                let name = name.to_owned();
                open.push(Block { indent, name, path: Vec::new(), fields: Vec::new() });
            } else if let Some(block) = open.last_mut() {
                block.path.retain(|(column, _)| *column < indent);
                block.path.push((indent, name.to_owned()));
            }
            continue;
        };
        if let Some(block) = open.last_mut() {
            block.path.retain(|(column, _)| *column < indent);
            let mut path: Vec<String> = block.path.iter().map(|(_, name)| name.clone()).collect();
            path.push(name.to_owned());
            block.fields.push((path, value.to_owned()));
        }
    }
    while let (Some(done), Some(job)) = (open.pop(), jobs.last_mut()) {
        job.1.push(done);
    }
    jobs
}

/// A packet of our tree.
#[derive(Debug)]
struct DecodedPacket {
    name: &'static str,
    fields: BTreeMap<String, String>,
    matched: bool,
}

fn flatten(
    fields: &[(&'static tepui_packets::Field, Value)],
    prefix: &str,
    into: &mut DecodedPacket,
) {
    for (field, value) in fields {
        let name = if prefix.is_empty() {
            field.name.to_owned()
        } else {
            format!("{prefix} {}", field.name)
        };
        match value {
            Value::Packet(inner) => flatten(&inner.fields, &name, into),
            value => {
                let text = match value {
                    Value::Uint(v) | Value::Hex(v) | Value::Address(v) | Value::Unknown(v) => {
                        v.to_string()
                    }
                    Value::Int(v) => v.to_string(),
                    value => value.to_string(),
                };
                into.fields.insert(name, text);
            }
        }
    }
}

/// The packets of a job.
fn packets(record: &Record, into: &mut Vec<DecodedPacket>, problems: &mut Vec<String>) {
    // Values that no enumeration has are compared below, with what Mesa says of them.
    let compared = |p: &String| p.contains(" is no known ") || p.contains(" found, must be ");
    let all = record.problems.iter().map(|p| p.to_string()).filter(|p| !compared(p));
    problems.extend(all.map(|p| format!("{}: {p}", record.title)));
    if let Content::Packet(decoded) = &record.content {
        let mut ours =
            DecodedPacket { name: decoded.info.name, fields: BTreeMap::new(), matched: false };
        flatten(&decoded.fields, "", &mut ours);
        into.push(ours);
    }
    record.children.iter().for_each(|child| packets(child, into, problems));
}

/// The name of a pixel format's bits.
fn pixel_format(bits: u64) -> String {
    let code = Format::from_raw(bits >> 12 & 0xff);
    let order = ComponentOrder::from_raw(bits & 0xfff);
    let name = |name: Option<String>| name.unwrap_or_else(|| "XXX: INVALID".into());
    let srgb = if bits >> 20 & 1 != 0 { " sRGB" } else { "" };
    format!("{}{srgb} {}", name(code.map(|v| v.to_string())), name(order.map(|v| v.to_string())))
}

/// Whether Mesa's text means the value.
fn same(mesa: &str, ours: &str) -> bool {
    if mesa == ours || mesa == "XXX: INVALID" && ours.parse::<u64>().is_ok() {
        return true;
    }
    let word = mesa.split_whitespace().next().unwrap_or_default();
    let number = match word {
        hex if hex.starts_with("0x") => u64::from_str_radix(&hex[2..], 16).ok().map(i128::from),
        decimal => decimal.parse::<i128>().ok(),
    };
    if let (Some(a), Ok(b)) = (number, ours.parse::<i128>()) {
        return a == b || a as u32 == b as u32 && a >> 32 == 0;
    }
    match (word.parse::<f64>(), ours.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-5 * a.abs().max(1.0),
        _ => false,
    }
}

/// The field of ours that a path of Mesa's names.
fn field<'a>(path: &[String], ours: &'a DecodedPacket) -> Option<(&'a String, &'a String)> {
    (1..=path.len().min(3)).rev().find_map(|length| {
        let name = path[path.len() - length..].join(" ");
        let renamed = RENAMED.iter().find(|(mesa, _)| *mesa == name);
        let own = renamed.map_or(name.as_str(), |(_, own)| own);
        let found = ours.fields.get_key_value(&name).or_else(|| ours.fields.get_key_value(own));
        // Fields of compressed images, whose names others have on Valhall.
        found.or_else(|| ours.fields.get_key_value(&format!("AFBC {own}")))
    })
}

/// The differences between a structure of Mesa's and a packet.
fn differences(block: &Block, ours: &DecodedPacket) -> Vec<String> {
    let mut all = Vec::new();
    let mut seen: Vec<&String> = Vec::new();
    let unnamed = |path: &[String]| {
        path.last().is_some_and(|name| MESA_ONLY.contains(&name.as_str()))
            || path.last().is_some_and(|name| OTHER_FORM.contains(&name.as_str()))
            || path.iter().any(|part| UNNAMED.contains(&part.as_str()))
            || path.iter().any(|part| part.contains("reload"))
                && path.last().is_some_and(|name| name != "Uniform count")
    };
    for (path, value) in &block.fields {
        let Some((name, text)) = field(path, ours) else {
            if !unnamed(path) {
                all.push(format!("{path:?} is not declared"));
            }
            continue;
        };
        seen.push(name);
        let is_format = path.last().is_some_and(|name| name.starts_with("Format"));
        let agrees = same(value, text)
            || is_format && text.parse().is_ok_and(|bits| pixel_format(bits) == *value);
        if !agrees && !MESA_ONLY.contains(&name.as_str()) {
            all.push(format!("{name}: Mesa says {value}, we say {text}"));
        }
    }
    for name in ours.fields.keys() {
        if !seen.contains(&name) && !OURS_ONLY.contains(&name.as_str()) {
            all.push(format!("{name} is not Mesa's"));
        }
    }
    all
}

/// The jobs of a capture, in order.
fn decode(folder: &Path) -> Vec<Record> {
    let mut jobs = Vec::new();
    let mut describer = None;
    for entry in std::fs::read_dir(folder).expect("the captures") {
        let file = File::open(entry.expect("an entry").path()).expect("a capture");
        let mut events = Events::new(BufReader::new(file)).expect("a capture");
        while let Some(event) = events.next() {
            match event.expect("a whole capture") {
                Event::Process(process) => {
                    let id = process.parameters.first_chunk().map(|id| u32::from_le_bytes(*id));
                    let chip = tepui_mali_chips::CHIPS.iter().find(|c| Some(c.product_id) == id);
                    let arch = chip.expect("a chip").arch;
                    let options = Options { arch, everything: true, ..Options::default() };
                    describer = Some(Describer::new(Interface::Panfrost, options));
                }
                Event::Start(start) => {
                    let describer = describer.as_mut().expect("a process");
                    let run = describer.command(&events.memory(&start), &start);
                    jobs.extend(run.children.into_iter().flat_map(|chain| chain.children));
                }
                _ => {}
            }
        }
    }
    jobs
}

#[test]
fn mesa_sees_the_same_fields() {
    if std::env::var_os("TEPUI_WITNESS_MALI").is_none() {
        return;
    }
    let failed: Vec<String> = GPUS.iter().flat_map(|(gpu, kinds)| check(gpu, *kinds)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Compares the chains of a GPU; returns what differs.
fn check(gpu: &str, kinds: usize) -> Vec<String> {
    let gles = Path::new(env!("CARGO_BIN_EXE_gles"));
    let target = gles.parent().and_then(Path::parent).expect("a target folder");
    let foreign = target.join("aarch64-unknown-linux-gnu/release/gles");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("decode-{gpu}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mesa = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa");
    let output = Command::new(gles.with_file_name("tepui"))
        .args(["trace", "--gpu", gpu, "--quiet", "--save"])
        .arg(folder.join("capture"))
        .arg("--")
        .arg(mesa)
        .args(["run", "--arch", "arm64", "--"])
        .arg(&foreign)
        .arg(folder.join("scenes"))
        .env("PAN_MESA_DEBUG", "trace")
        .env("PANDECODE_DUMP_FILE", folder.join("mesa"))
        .env("MESA_SHADER_CACHE_DISABLE", "true")
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut text = String::new();
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mesa.")) {
            text += &String::from_utf8_lossy(&std::fs::read(path).expect("Mesa's text"));
        }
    }
    let (theirs, ours) = (parse(&text), decode(&folder.join("capture")));
    assert_eq!(theirs.len(), ours.len(), "{gpu}: jobs");
    let mut compared: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed: BTreeMap<String, u64> = BTreeMap::new();
    for ((at, blocks), record) in theirs.iter().zip(&ours) {
        assert_eq!(record.address, Some(*at), "{gpu}: the address of a job");
        let (mut own, mut problems) = (Vec::new(), Vec::new());
        packets(record, &mut own, &mut problems);
        problems.into_iter().for_each(|p| *failed.entry(p).or_default() += 1);
        for block in blocks {
            let names = STRUCTURES.iter().find(|(mesa, _)| *mesa == block.name);
            let names = names.map_or(&[][..], |(_, own)| own);
            // An empty record of a table.
            if block.fields.is_empty() || names.is_empty() {
                continue;
            }
            let candidates = own.iter_mut().filter(|ours| names.contains(&ours.name));
            let best = candidates.map(|ours| (differences(block, ours), ours));
            match best.min_by_key(|(differences, ours)| (differences.len(), ours.matched)) {
                Some((differences, ours)) => {
                    *compared.entry(ours.name).or_default() += 1;
                    ours.matched = true;
                    for d in differences {
                        *failed.entry(format!("{}: {d}", ours.name)).or_default() += 1;
                    }
                }
                None => {
                    *failed.entry(format!("{} is not in our tree", block.name)).or_default() += 1;
                }
            }
        }
    }
    assert!(compared.len() >= kinds, "{gpu}: only {} kinds: {compared:#?}", compared.len());
    println!("{gpu}: {} jobs: {compared:#?}", ours.len());
    failed.into_iter().map(|(what, times)| format!("{gpu}: {what}, {times} times")).collect()
}
