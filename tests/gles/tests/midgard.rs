//! Every program that Mesa's `panfrost` driver submits on a Mali-T860 or T720 disassembles as Mesa disassembles it, and its
//! exact text is assembled to the same bytes.
//!
//! Runs if the variable `TEPUI_WITNESS_MALI` is set, and needs what the test `mali` needs. The driver prints its disassembly of what
//! it compiles, without the words; `tepui trace` keeps what it submits, and `tepui decode` disassembles that. Each program of
//! the capture must be one that Mesa has printed, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use tepui_mali_isa::asm::hex_bytes;
use tepui_mali_isa::midgard::{TextureRegisters, asm, disasm};

/// GPUs, programs that the scenes at least have, and scenes if not all.
const GPUS: &[(&str, usize, &[&str])] = &[("mali-t860", 25, &[]), ("mali-t720", 15, T720)];

/// Scenes that the T720's driver draws, though it offers an older version.
const T720: &[&str] =
    &["cubes", "texture", "blend", "instances", "points", "strips", "discard", "formats", "shadow"];

type Text = Vec<String>;

/// The programs of the driver's output: what follows its last intermediate form, without blank lines and marks of the
/// end.
fn printed(output: &str) -> BTreeSet<Text> {
    let mut all = BTreeSet::new();
    let mut open: Option<Text> = None;
    for line in output.lines().map(str::trim_end) {
        let closes_block = line.starts_with("} ->") || line.starts_with("} from");
        let begins_block = line.starts_with("block") && line.ends_with('{');
        let prefixes = ["MESA:", "tepui", "Mali-"];
        let other = prefixes.iter().any(|p| line.starts_with(p)) || line.contains("shader:");
        if closes_block || begins_block || other {
            all.extend(open.take().filter(|text| !text.is_empty()));
            open = closes_block.then(Text::new);
        } else if let Some(text) = open.as_mut().filter(|_| !line.is_empty() && line != "break") {
            // Names of scenes stand between programs.
            let is_scene = line != "writeout" && line.bytes().all(|b| b.is_ascii_lowercase());
            match is_scene {
                true => all.extend(open.take().filter(|text| !text.is_empty())),
                false => text.push(line.to_owned()),
            }
        }
    }
    all.extend(open);
    all
}

/// The programs of a decoded capture, with their words in hexadecimal.
fn decoded(output: &str) -> BTreeMap<Text, String> {
    let mut all = BTreeMap::new();
    let mut open: Option<(Text, String)> = None;
    for line in output.lines() {
        let trimmed = line.trim();
        let instruction = trimmed
            .split_once(": ")
            .filter(|(at, _)| !at.is_empty() && at.bytes().all(|b| b.is_ascii_hexdigit()));
        match (&mut open, instruction) {
            (Some((text, words)), Some((_, rest))) => {
                // The words of a bundle stand before its first lines.
                let are_words =
                    |word: &str| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
                let text_only = match rest.split_once(' ') {
                    Some((first, text)) if are_words(first) => {
                        words.push_str(first);
                        text
                    }
                    _ => rest,
                };
                text.push(text_only.trim().to_owned());
            }
            _ => {
                all.extend(open.take().filter(|(text, _)| !text.is_empty()));
                open = trimmed.starts_with("Code at").then(Default::default);
            }
        }
    }
    all.extend(open);
    all
}

/// A line of Mesa's for a T720 whose texture instruction names registers. Mesa's disassembler takes those of operands and
/// results for each other, other than its compiler does.
fn swapped(line: &str) -> String {
    if !line.starts_with("TEX") && !line.starts_with("DERIVATIVE") {
        return line.to_owned();
    }
    let words = line.split(' ').map(|word| match word.strip_prefix("AL") {
        Some(rest) => format!("R{rest}"),
        None if word.starts_with('R') => format!("AL{}", &word[1..]),
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn programs_of_the_driver_read_as_mesa_reads_them() {
    if std::env::var_os("TEPUI_WITNESS_MALI").is_none() {
        return;
    }
    GPUS.iter().for_each(|(gpu, programs, scenes)| check(gpu, *programs, scenes));
}

fn check(gpu: &str, programs: usize, scenes: &[&str]) {
    let gles = Path::new(env!("CARGO_BIN_EXE_gles"));
    let tepui = gles.with_file_name("tepui");
    let target = gles.parent().and_then(Path::parent).expect("a target folder");
    let foreign = target.join("aarch64-unknown-linux-gnu/release/gles");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("midgard-{gpu}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mesa = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa");
    let mut command = Command::new(&tepui);
    command.args(["trace", "--gpu", gpu, "--quiet", "--save"]).arg(folder.join("capture"));
    command.arg("--").arg(mesa).args(["run", "--arch", "arm64", "--"]);
    command.arg(&foreign).arg(folder.join("scenes")).args(scenes);
    if !scenes.is_empty() {
        command.env("MESA_GLES_VERSION_OVERRIDE", "3.1");
    }
    command.env("MIDGARD_MESA_DEBUG", "shaders,internal").env("MESA_SHADER_CACHE_DISABLE", "true");
    let output = command.output().expect("it starts");
    let mut theirs = printed(&String::from_utf8_lossy(&output.stdout));
    theirs.extend(printed(&String::from_utf8_lossy(&output.stderr)));
    if gpu == "mali-t720" {
        let swap = |program: Text| program.iter().map(|line| swapped(line)).collect::<Text>();
        theirs = theirs.into_iter().map(swap).collect();
    }
    let capture = folder.join("capture");
    let output = Command::new(&tepui).arg("decode").arg(&capture).arg("--commands").output();
    let ours = decoded(&String::from_utf8_lossy(&output.expect("it starts").stdout));
    assert!(ours.len() >= programs, "{gpu}: {} programs, {} of Mesa", ours.len(), theirs.len());
    let shares = TextureRegisters::shared(gpu == "mali-t720");
    for (program, words) in &ours {
        let code = hex_bytes(words).expect("words");
        let parts = disasm::parts(&code, 0).map(|part| part.exact(&code, shares) + "\n");
        let exact: String = parts.collect();
        assert_eq!(asm::assemble(&exact), Ok(code), "{gpu}: {exact}");
        let near = || theirs.iter().filter(|text| text.len() == program.len()).collect::<Vec<_>>();
        assert!(theirs.contains(program), "{gpu}: {program:#?}\nMesa: {:#?}", near());
    }
}
