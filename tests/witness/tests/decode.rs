//! Comparison of what `tepui trace` decodes with Mesa's own decoder on the same submissions, field by
//! field for what both name.
//!
//! Mesa's driver prints what it submits (`ASAHI_MESA_DEBUG=trace`) while `tepui trace` watches from
//! the kernel's side. Both outputs are taken apart; commands are paired by the order of the
//! submissions, packets by their kind and order in a command, fields by their name. Whatever Mesa
//! prints must be there and mean the same; where the two encode a fact differently (a stride with
//! its bias, an address in two halves), [`translate`] says how. Needs Mesa, which `tools/mesa
//! fetch` brings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use tepui_witness::compile::mesa_tool;

/// A packet as Mesa prints it.
#[derive(Debug, Default)]
struct Block {
    title: String,
    fields: Vec<(String, String)>,
    /// The memory that is dumped behind it.
    bytes: Vec<u8>,
    /// Instructions behind it: offset and bytes.
    code: Vec<(u64, String)>,
    /// Texture state register of the command that it is for, counted from 1; 0 for other packets.
    slot: usize,
}

/// A command as Mesa prints it.
#[derive(Debug, Default)]
struct MesaCommand {
    assignments: Vec<(String, String)>,
    blocks: Vec<Block>,
}

/// Takes Mesa's text apart.
fn parse(text: &str) -> Vec<MesaCommand> {
    let mut commands: Vec<MesaCommand> = Vec::new();
    let mut slot = 0;
    for line in text.lines() {
        if let Some((name, value)) = assignment(line) {
            // The list of attachments stands before the command.
            if matches!(name, "size" | "pointer") {
                continue;
            }
            if name == "flags" {
                commands.push(MesaCommand::default());
                slot = 0;
            }
            if let Some(command) = commands.last_mut() {
                command.assignments.push((name.into(), value.into()));
            }
            continue;
        }
        let Some(command) = commands.last_mut() else { continue };
        let in_code =
            command.blocks.last().is_some_and(|b| matches!(&*b.title, "Shader" | "Preshader"));
        if let Some(last) = command.blocks.last_mut() {
            if in_code && let Some(instruction) = instruction(line) {
                last.code.push(instruction);
                continue;
            }
            if let Some((offset, bytes)) = dump(line) {
                // A star stands for lines like the one before.
                while last.bytes.len() < offset && last.bytes.len() >= 16 {
                    last.bytes.extend_from_within(last.bytes.len() - 16..);
                }
                last.bytes.extend(bytes);
                continue;
            }
            if let Some((name, value)) = line.strip_prefix("  ").and_then(|l| l.split_once(": ")) {
                last.fields.push((name.into(), value.into()));
                continue;
            }
        }
        let is_heading = line.is_empty()
            || line == "*"
            || line.ends_with(')') && line.contains(" (")
            || line.starts_with("Pipeline ")
            || line.starts_with("Linking to ")
            || line.ends_with(" helper program:")
            || line.ends_with(" attachments:");
        if line.starts_with("ts") && line.ends_with(": ") {
            slot += 1;
        } else if !is_heading {
            let title = line.trim_end_matches(':');
            let title = if title.starts_with("Heap sampler") { "Heap sampler" } else { title };
            let slot = if matches!(title, "Texture" | "PBE") { slot } else { 0 };
            command.blocks.push(Block { title: title.into(), slot, ..Block::default() });
        }
    }
    commands
}

/// `name = value`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(" = ")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    name.chars().all(plain).then_some((name, value))
}

/// `  1c: 7e198a098000   mov r6, u5`.
fn instruction(line: &str) -> Option<(u64, String)> {
    let (offset, rest) = line.trim_start().split_once(": ")?;
    let bytes = rest.split_whitespace().next()?;
    let is_hex = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
    let even = bytes.len().is_multiple_of(2);
    (is_hex(offset) && is_hex(bytes) && even)
        .then(|| (u64::from_str_radix(offset, 16).unwrap_or(0), bytes.into()))
}

/// `000010  00 00 00 00 `.
fn dump(line: &str) -> Option<(usize, Vec<u8>)> {
    let (offset, rest) = line.split_once("  ")?;
    if offset.len() != 6 {
        return None;
    }
    let bytes = rest.split_whitespace().map(|b| u8::from_str_radix(b, 16).ok());
    Some((usize::from_str_radix(offset, 16).ok()?, bytes.collect::<Option<_>>()?))
}

/// The packets of a decoded command, in order of print.
fn flatten<'a>(record: &'a Json, out: &mut Vec<&'a Json>) {
    if record.get("fields").is_some() || record.get("problems").is_some() {
        out.push(record);
    }
    for child in record["children"].as_array().into_iter().flatten() {
        flatten(child, out);
    }
}

/// Whether our record is of the kind that a block of Mesa's is.
fn is_kind(block: &Block, is_compute: bool, record: &Json) -> bool {
    let title = record["name"].as_str().unwrap_or("");
    let packet = record["packet"].as_str().unwrap_or(title);
    let by_unit = |cdm: &str, vdm: &str| packet == if is_compute { cdm } else { vdm };
    match block.title.as_str() {
        "Uniform" => packet == "USC Uniform",
        "Uniform (high)" => packet == "USC Uniform High",
        "Shared" => packet == "USC Shared",
        "Shader" => packet == "USC Shader",
        "Registers" => packet == "USC Registers",
        "No preshader" => packet == "USC No Preshader",
        "Preshader" => packet == "USC Preshader",
        "Fragment properties" => packet == "USC Fragment Properties",
        "Texture state" => packet == "USC Texture",
        "Sampler state" => packet == "USC Sampler",
        "Sampler" => packet == "Sampler" && title.starts_with("ss"),
        "Heap sampler" => packet == "Sampler" && title.starts_with("Sampler "),
        "Texture" | "PBE" | "Border" | "ZLS Control" | "Index List" => packet == block.title,
        "Compute" if block.fields.iter().any(|f| f.0 == "Pipeline") => {
            packet == "CDM Launch Word 1"
        }
        "Compute" => packet == "CDM Launch Word 0",
        "Global size" => packet == "CDM Global size",
        "Local size" => packet == "CDM Local size",
        "Unknown G14X" => packet == "CDM Unk G14X",
        "Indirect buffer" => by_unit("CDM Indirect", "Index List: Indirect buffer"),
        "Barrier" => by_unit("CDM Barrier", "VDM Barrier"),
        "Stream Link" => by_unit("CDM Stream Link", "VDM Stream Link"),
        "Stream Terminate" => by_unit("CDM Stream Terminate", "VDM Stream Terminate"),
        "Stream Return" => packet == "CDM Stream Return",
        "Restart index" => packet == "VDM State Restart Index",
        "Vertex shader word 0" => packet == "VDM State Vertex Shader Word 0",
        "Vertex shader word 1" => packet == "VDM State Vertex Shader Word 1",
        "Vertex outputs" => packet == "VDM State Vertex Outputs",
        "Tessellation" => packet == "VDM State Tessellation",
        "Tessellation scale" => packet == "VDM State Tessellation Scale",
        "Vertex unknown" => packet == "VDM State Vertex Unknown",
        "Index buffer" => packet == "Index List: Buffer lo",
        "Index count" => packet == "Index List: Count",
        "Instance count" => packet == "Index List: Instances",
        "Start" => packet == "Index List: Start",
        "Index buffer size" => packet == "Index List: Buffer size",
        "Coefficient binding header" => packet == "CF binding header",
        "Coefficient binding" => packet == "CF binding",
        other => title.eq_ignore_ascii_case(other),
    }
}

/// A number as either prints it.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn as_number(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| number(value.as_str()?))
}

/// Whether a value of ours is what Mesa's text says.
fn equal(mesa: &str, ours: &Json) -> bool {
    match ours {
        Json::Bool(on) => mesa == on.to_string(),
        Json::Number(n) => {
            number(mesa).is_some_and(|m| Some(m) == n.as_u64())
                || n.as_f64().is_some_and(|value| mesa == format!("{value:.6}"))
        }
        Json::String(text) => {
            let unknown = mesa.strip_prefix("unknown ").and_then(|m| m.strip_suffix(" (XXX)"));
            match (unknown, text.strip_prefix("unknown ")) {
                (Some(mesa), Some(ours)) => u64::from_str_radix(mesa, 16).ok() == number(ours),
                _ => mesa == text || number(mesa).is_some_and(|m| Some(m) == number(text)),
            }
        }
        _ => false,
    }
}

/// Result of comparing one of Mesa's fields.
#[derive(PartialEq)]
enum Verdict {
    Same,
    /// The field does not exist in this form of the packet; Mesa prints all that share its bits.
    OtherForm,
    Different,
}

/// Compares a field of Mesa's with the fields of our packet, in which some facts are put
/// differently.
fn translate(packet: &str, name: &str, mesa: &str, fields: &Json) -> Verdict {
    let says = |same: bool| if same { Verdict::Same } else { Verdict::Different };
    if let Some(ours) = fields.get(name) {
        // The driver subtracts what the hardware adds, and Mesa prints what the driver stored.
        // Mesa's stride of a texture reaches into the bit behind it, "Extended".
        let stored = match (packet, name) {
            ("Texture", "Stride") => number(mesa).map(|m| (m & 0x1f_ffff) + 16),
            ("PBE", "Stride") => number(mesa).map(|m| m + 4),
            (_, "Layer stride (linear)") => number(mesa).map(|m| m + 128),
            ("Fragment face", "Line width") => {
                let sixteenths = ours.as_f64().map(|pixels| (pixels * 16.0) as u64);
                return says(number(mesa).map(|m| m + 1) == sixteenths);
            }
            _ => return says(equal(mesa, ours)),
        };
        return says(stored.is_some() && stored == as_number(ours));
    }
    // Addresses in two halves.
    for (high, low, whole) in [
        ("Address hi", "Address lo", "Address"),
        ("Target hi", "Target lo", "Target"),
        ("Pointer (hi)", "Pointer (lo)", "Pointer"),
    ] {
        let Some(address) = fields.get(whole).and_then(as_number) else { continue };
        if name == high {
            return says(number(mesa) == Some(address >> 32));
        }
        if name == low {
            return says(number(mesa) == Some(address & 0xffff_ffff));
        }
    }
    if let Some(plane) = name.strip_prefix("Clip distance plane ") {
        let planes = fields.get("Clip distance planes").and_then(as_number);
        let on = planes.zip(number(plane)).map(|(planes, plane)| planes >> plane & 1 != 0);
        return says(on.map(|on| on.to_string()).as_deref() == Some(mesa));
    }
    if matches!(packet, "Texture" | "PBE") { Verdict::OtherForm } else { Verdict::Different }
}

#[derive(Debug, Default)]
struct Count {
    commands: usize,
    packets: usize,
    fields: usize,
    instructions: usize,
}

/// Compares one command; differences are said in lines.
fn compare(mesa: &MesaCommand, tree: &Json, count: &mut Count) -> Vec<String> {
    let mut odd = Vec::new();
    let is_compute = mesa.assignments.iter().any(|(name, _)| name == "cdm_ctrl_stream_base");
    for (name, value) in &mesa.assignments {
        let ours = match name.as_str() {
            "sample_size_B" => "sample_size_bytes",
            name => name,
        };
        // Mesa prints flags in hexadecimal without saying so.
        let value = if name == "flags" { format!("0x{value}") } else { value.clone() };
        match tree["fields"].get(ours) {
            Some(ours) if equal(&value, ours) => count.fields += 1,
            ours => odd.push(format!("{name}: Mesa has {value}, here it is {ours:?}")),
        }
    }
    let mut records = Vec::new();
    flatten(tree, &mut records);
    odd.extend(compare_descriptors(mesa, &records, count));
    // Where the search for the next record of a kind goes on.
    let mut next: HashMap<String, usize> = HashMap::new();
    for block in mesa.blocks.iter().filter(|block| block.slot == 0) {
        let kind = match block.title.as_str() {
            "Compute" => format!("Compute {}", block.fields.iter().any(|f| f.0 == "Pipeline")),
            title => title.to_owned(),
        };
        let from = next.get(&kind).copied().unwrap_or(0);
        let found = (from..records.len()).find(|&i| is_kind(block, is_compute, records[i]));
        let Some(index) = found else {
            odd.push(format!("{}: Mesa has another, {:?}", block.title, block.fields));
            continue;
        };
        next.insert(kind, index + 1);
        count.packets += 1;
        let record = records[index];
        let at = record["address"].as_str().unwrap_or("no address");
        odd.extend(compare_fields(block, record, count));
        odd.extend(
            compare_behind(block, record, count)
                .map(|what| format!("{} at {at}: {what}", block.title)),
        );
    }
    // Nothing may be left of the kinds that Mesa printed.
    for block in mesa.blocks.iter().filter(|block| block.slot == 0) {
        let kind = match block.title.as_str() {
            "Compute" => format!("Compute {}", block.fields.iter().any(|f| f.0 == "Pipeline")),
            title => title.to_owned(),
        };
        let from = next.remove(&kind).unwrap_or(records.len());
        let left = (from..records.len()).find(|&i| is_kind(block, is_compute, records[i]));
        if let Some(index) = left {
            let at = records[index]["address"].as_str().unwrap_or("no address");
            odd.push(format!("{} at {at}: Mesa has no other", block.title));
        }
    }
    odd
}

/// Compares the fields of a packet.
fn compare_fields(block: &Block, record: &Json, count: &mut Count) -> Vec<String> {
    let name = record["name"].as_str().unwrap_or("");
    let packet = record["packet"].as_str().unwrap_or(name);
    let at = record["address"].as_str().unwrap_or("no address");
    let mut odd = Vec::new();
    for (field, value) in &block.fields {
        match translate(packet, field, value, &record["fields"]) {
            Verdict::Same => count.fields += 1,
            Verdict::OtherForm => {}
            Verdict::Different => odd.push(format!(
                "{} at {at}: {field}: Mesa has {value}, here it is {:?}",
                block.title,
                record["fields"].get(field)
            )),
        }
    }
    odd
}

/// Compares descriptors of texture state registers. Both decoders guess whether one is a texture or
/// a PBE descriptor and print both readings if they cannot tell; ours knows more that cannot be, so
/// each of its readings must be one of Mesa's, but not the other way round.
fn compare_descriptors(mesa: &MesaCommand, records: &[&Json], count: &mut Count) -> Vec<String> {
    let mut ours: Vec<Vec<&Json>> = Vec::new();
    for &record in records {
        let name = record["name"].as_str().unwrap_or("");
        if !name.starts_with("ts") || !matches!(record["packet"].as_str(), Some("Texture" | "PBE"))
        {
            continue;
        }
        let register =
            |r: &Json| r["name"].as_str().map(|n| n.split(':').next() == name.split(':').next());
        let same = |slot: &Vec<&Json>| {
            slot.len() == 1
                && slot[0]["packet"] != record["packet"]
                && slot[0]["address"] == record["address"]
                && register(slot[0]) == Some(true)
        };
        match ours.last_mut() {
            Some(slot) if same(slot) => slot.push(record),
            _ => ours.push(vec![record]),
        }
    }
    let mut odd = Vec::new();
    let slots = mesa.blocks.iter().map(|block| block.slot).max().unwrap_or(0);
    if slots != ours.len() {
        odd.push(format!("Mesa has {slots} texture state registers, here are {}", ours.len()));
    }
    for (slot, records) in ours.iter().enumerate() {
        let theirs: Vec<&Block> = mesa.blocks.iter().filter(|b| b.slot == slot + 1).collect();
        for record in records {
            match theirs.iter().find(|block| record["packet"] == block.title.as_str()) {
                Some(block) => {
                    count.packets += 1;
                    odd.extend(compare_fields(block, record, count));
                }
                None => odd.push(format!("{}: Mesa reads it otherwise", record["name"])),
            }
        }
    }
    odd
}

/// Compares the memory and the instructions behind a packet.
fn compare_behind(block: &Block, record: &Json, count: &mut Count) -> Option<String> {
    let child =
        |key: &str| record["children"].as_array()?.iter().find_map(|child| child.get(key)).cloned();
    if block.title.starts_with("Uniform") {
        let hex: String = block.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let ours = child("bytes");
        if ours.as_ref().and_then(Json::as_str) != Some(&hex) {
            return Some(format!("Mesa loads {hex}, here it is {ours:?}"));
        }
        count.fields += 1;
    }
    if let Some(code) = child("code") {
        for (offset, bytes) in &block.code {
            let ours = code.as_array().into_iter().flatten().find(|i| i["offset"] == *offset);
            if ours.and_then(|i| i["bytes"].as_str()) != Some(bytes) {
                return Some(format!("at {offset:#x} Mesa has {bytes}, here it is {ours:?}"));
            }
            count.instructions += 1;
        }
    }
    None
}

/// Commands that the GPU started, by submission and command, and the hardware commands of each
/// submission in the order of the kernel calls: `None` if it was refused.
type Ours = (HashMap<(u64, u64), Json>, Vec<(Option<u64>, usize)>);

fn read_trace(text: &str) -> Ours {
    let mut commands = HashMap::new();
    let mut submissions = Vec::new();
    let mut accepted = 0;
    for line in text.lines() {
        let event: Json = serde_json::from_str(line).expect("a line of JSON");
        if event["type"] == "command" {
            let key = ["submission", "command"].map(|k| event[k].as_u64().expect("a number"));
            commands.insert((key[0], key[1]), event["tree"].clone());
        }
        if event["type"] == "call" && event["call"]["name"] == "DRM_IOCTL_ASAHI_SUBMIT" {
            let memory = event["call"]["memory"].as_array().cloned().unwrap_or_default();
            let buffer = memory.iter().find(|m| m["name"] == "cmdbuf");
            let is_hardware = |c: &&Json| matches!(c["name"].as_str(), Some("Render" | "Compute"));
            let list = buffer.and_then(|b| b["children"].as_array());
            let hardware = list.map_or(0, |list| list.iter().filter(is_hardware).count());
            let id = (event["call"]["result"] == 0).then(|| {
                accepted += 1;
                accepted
            });
            submissions.push((id, hardware));
        }
    }
    (commands, submissions)
}

/// Runs a program under both decoders and compares. Gives how much was compared.
fn check(name: &str, program: &[&str]) -> Count {
    let mesa = mesa_tool();
    let version = Command::new(&mesa).arg("version").stdin(Stdio::null()).output();
    assert!(
        version.is_ok_and(|output| output.status.success()),
        "there is no Mesa here; `tools/mesa fetch` brings it"
    );
    let tepui = Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui");
    assert!(tepui.exists(), "{}: missing; build it first: cargo build -p tepui", tepui.display());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("decode").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the traces");
    let trace = folder.join("trace.jsonl");
    let output = Command::new(&tepui)
        .args(["trace", "--gpu", "m1", "--json", "--everything", "-o"])
        .arg(&trace)
        .arg("--")
        .arg(&mesa)
        .args(["run", "--"])
        .args(program)
        .env("EGL_PLATFORM", "surfaceless")
        .env("ASAHI_MESA_DEBUG", "trace")
        .env("AGXDECODE_DUMP_FILE", folder.join("mesa"))
        .env("MESA_SHADER_CACHE_DISABLE", "true")
        .stdin(Stdio::null())
        .output()
        .expect("tepui starts");
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let (commands, submissions) = read_trace(&text);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!commands.is_empty(), "{name} submitted nothing:\n{said}");

    let mut dumps: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_stem().is_some_and(|stem| stem == "mesa"))
        .collect();
    dumps.sort();
    let dumped: String =
        dumps.iter().map(|path| std::fs::read_to_string(path).expect("a dump")).collect();
    let mut theirs = parse(&dumped).into_iter();

    let mut count = Count::default();
    let mut odd = Vec::new();
    for (id, hardware) in submissions {
        for index in 0..hardware {
            let mesa = theirs.next().expect("Mesa dumps every command that it submits");
            let Some(tree) = id.and_then(|id| commands.get(&(id, index as u64))) else { continue };
            count.commands += 1;
            let found = compare(&mesa, tree, &mut count);
            odd.extend(found.into_iter().map(|what| format!("{}: {what}", tree["name"])));
        }
    }
    assert!(odd.is_empty(), "{name}: {} differences\n{}", odd.len(), odd.join("\n"));
    assert!(count.commands > 0 && count.fields > 0, "{name}: nothing compared");
    eprintln!("{name}: {count:?}");
    count
}

/// A scene of vkmark without a window.
fn vkmark(scene: &str) {
    let root = Command::new(mesa_tool()).arg("path").output().expect("tools/mesa");
    let root = String::from_utf8_lossy(&root.stdout).trim().to_owned();
    let windows = format!("{root}/usr/lib/{}-linux-gnu/vkmark", std::env::consts::ARCH);
    let data = format!("{root}/usr/share/vkmark");
    let name = format!("vkmark-{scene}");
    let scene = format!("{scene}:duration=0.05");
    check(
        &name,
        &[
            "vkmark",
            "--winsys-dir",
            &windows,
            "--data-dir",
            &data,
            "--winsys",
            "headless",
            "--size",
            "64x64",
            "-b",
            &scene,
        ],
    );
}

/// A group of compute cases.
fn compute(group: &str) {
    let witness = env!("CARGO_BIN_EXE_witness");
    let spirv = format!("{}/spirv", env!("CARGO_TARGET_TMPDIR"));
    check(
        &group.replace('/', "-"),
        &[witness, "run", "--device", "Apple M1", "--spirv", &spirv, group],
    );
}

#[test]
fn draws_of_a_cube() {
    vkmark("cube");
}

#[test]
fn draws_with_textures() {
    vkmark("texture");
    vkmark("effect2d");
    vkmark("desktop");
}

#[test]
fn draws_with_vertex_buffers_and_lighting() {
    vkmark("vertex");
    vkmark("shading");
    vkmark("clear");
}

#[test]
fn opengl() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/opengl.py");
    check("opengl", &["python3", script]);
}

#[test]
fn compute_commands() {
    compute("commands/fill");
    compute("commands/indirect");
    compute("commands/push_constants");
}

#[test]
fn mesas_text_is_understood() {
    let text = "\
flags = 2
cdm_ctrl_stream_base = 0x2ffff64000
Encoder (2ffff64000, handle 9)
Pipeline (11fff98000, handle 10)
Uniform
  Size (halfs): 6
000000  00 80 F8 FF 2F 00 00 00 EF BE AD DE
Shader
  Code: 0xfffbc000

   0: 72011004               mov      r0, thread_in_grid_x
  12: 8800                   stop

ts3: 
Texture
  Swizzle R: unknown 6 (XXX)
Coefficient binding:
  Components: 1
flags = 0
";
    let commands = parse(text);
    assert_eq!(commands.len(), 2);
    let blocks = &commands[0].blocks;
    let titles: Vec<_> = blocks.iter().map(|block| block.title.as_str()).collect();
    assert_eq!(titles, ["Uniform", "Shader", "Texture", "Coefficient binding"]);
    assert_eq!(blocks[0].bytes.len(), 12);
    assert_eq!(blocks[1].code, [(0, "72011004".into()), (0x12, "8800".into())]);
    assert_eq!(blocks[1].fields.len(), 1);
    assert!(equal("unknown 6 (XXX)", &Json::from("unknown 0x6")));
    assert!(!equal("unknown 6 (XXX)", &Json::from("R")));
    assert!(equal("14.000000", &Json::from(14.0)) && !equal("14.000000", &Json::from(13.0)));
}
