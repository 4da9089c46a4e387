//! Shaders that Mesa's drivers compile for the virtual Skylake, ANV for cases of the witness and iris for shaders of
//! piglit's, disassembled by three: the driver (`INTEL_DEBUG=hex` prints the bytes and its own text), Intel's `iga64` (of the bytes that the
//! driver saves), and the table of `tepui-intel-isa`.
//!
//! Text must be equal but for white space and, of Mesa's, what it says of a message's descriptor (the
//! version of the driver has other names there than the source of Mesa that the table follows) and the
//! names of jump targets, which `iga64` gives as places. Our `bare` says that a jump's bits are those of a
//! driver and not of Mesa's assembler. Programs that move between the pixels of a subspan in Align16 are left
//! to Mesa: `iga64` does not print their operands.

#[path = "intel/iga.rs"]
mod iga;
#[path = "intel/run.rs"]
mod run;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Command;

use tepui_intel_isa::{Generation, Inst, disasm};
use tepui_witness::cases;

/// The virtual Skylake for a program.
const SKYLAKE: [&str; 3] = ["shim", "--gpu", "skl"];

/// Shaders of piglit's: a folder, and one in so many of it.
const PIGLIT: &[(&str, usize)] = &[
    ("tests/spec/arb_compute_shader/execution", 6),
    ("tests/spec/arb_gpu_shader5/execution", 24),
    ("tests/spec/arb_shader_storage_buffer_object/execution", 7),
    ("tests/spec/arb_shader_texture_lod/execution", 5),
    ("tests/spec/arb_tessellation_shader/execution", 12),
    ("tests/spec/glsl-1.10/execution", 100),
    ("tests/spec/glsl-1.50/execution", 15),
    ("generated_tests/spec/arb_tessellation_shader/execution", 400),
    ("generated_tests/spec/arb_gpu_shader_int64/execution", 600),
    ("generated_tests/spec/glsl-4.30/execution", 500),
];

/// Runs cases of the witness on ANV and shaders of piglit's on iris; the drivers save each program's bytes in the folder.
/// Returns what they printed.
fn run(name: &str, debug: &str) -> (PathBuf, String) {
    let folder = run::fresh_folder(name);
    let start = |mut command: Command| {
        command.env("INTEL_DEBUG", debug).env("INTEL_SHADER_BIN_DUMP_PATH", &folder);
        let output = command.output().expect("tepui starts");
        let [said, errors] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (said, errors)
    };
    let cases = some_cases();
    let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
    let (said, errors) = start(run::witness(&SKYLAKE, &cases));
    // Some cases are for features that the driver lacks.
    let ran = said.matches("ok     ").count();
    assert!(10 * ran > 8 * cases.len(), "{ran} of {}", cases.len());
    let of_anv = std::fs::read_dir(&folder).expect("the programs").count();
    let shaders = some_shaders();
    let (said, of_iris) = start(run::piglit(&SKYLAKE, &shaders));
    let ran = said.matches("\"pass\"").count();
    assert!(10 * ran > 9 * shaders.len(), "{ran} of {}: {said}", shaders.len());
    let programs = std::fs::read_dir(&folder).expect("the programs").count();
    assert!(programs > of_anv + shaders.len(), "{of_anv} programs of ANV's, {programs} in all");
    (folder, errors + &of_iris)
}

/// Files of [`PIGLIT`].
fn some_shaders() -> Vec<PathBuf> {
    let piglit = run::piglit_folder();
    let mut chosen = Vec::new();
    for (folder, share) in PIGLIT {
        let folder = piglit.join(folder);
        let entries = std::fs::read_dir(&folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|file| file.extension().is_some_and(|e| e == "shader_test"));
        files.sort();
        chosen.extend(files.into_iter().step_by(*share));
    }
    chosen
}

/// A few cases of each group.
fn some_cases() -> Vec<String> {
    let mut of_group: HashMap<String, u32> = HashMap::new();
    let names = cases::all().into_iter().map(|case| case.name);
    names
        .filter(|name| {
            let group = name.split('/').next().unwrap_or(name).to_owned();
            let number = of_group.entry(group).or_default();
            *number += 1;
            *number % 5 == 1
        })
        .collect()
}

/// The bytes at the start of a line of `INTEL_DEBUG=hex`, and the text behind them.
fn hex(line: &str) -> Option<(Vec<u8>, &str)> {
    let mut bytes = Vec::new();
    let mut rest = line;
    while bytes.len() < 16
        && let Some((pair, behind)) = rest.split_once(' ')
        && pair.len() == 2
        && let Ok(byte) = u8::from_str_radix(pair, 16)
    {
        bytes.push(byte);
        rest = behind;
    }
    // A compacted instruction's line leaves the place of eight bytes free.
    matches!(bytes.len(), 8 | 16).then_some((bytes, rest))
}

/// A message without what the descriptor says, and white space made one space.
fn plain(text: &str) -> String {
    let words = |text: &str| {
        let mut jump = false;
        let words = text.split_whitespace().filter(|&word| word != "bare").map(|word| {
            let target = std::mem::replace(&mut jump, matches!(word, "JIP:" | "UIP:"));
            if target { "L" } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let Some((before, said)) = text.split_once("MsgDesc:") else { return words(text) };
    // The unit's name is the last word in front; the lengths follow the descriptor's text.
    let before = words(before);
    let numbers = said.find(" mlen ").map_or("", |at| &said[at..]);
    // Units with two words in one of the two.
    let unit = before.rfind("0x").and_then(|at| before[at..].find(' ').map(|end| at + end));
    format!("{} {}", &before[..unit.unwrap_or(before.len())], words(numbers))
}

#[test]
fn mesa_prints_the_same() {
    let (_, said) = run("intel-shaders-mesa", "cs,vs,tcs,tes,gs,fs,hex");
    let mut seen = 0;
    let mut compacted = 0;
    let mut opcodes: BTreeMap<String, u32> = BTreeMap::new();
    let mut lines = said.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((bytes, text)) = hex(line) else { continue };
        let mut text = text.trim().to_owned();
        // What a message says stands on a line of its own.
        if !text.ends_with(';')
            && let Some(more) = lines.next()
        {
            text = format!("{text} {}", more.trim());
        }
        let inst = Inst::decode(Generation::Gen9, &bytes, 0);
        let inst = inst.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(inst.bytes(), bytes.len(), "{text}");
        let labels = disasm::Labels::new();
        let ours = disasm::Text { inst: &inst, offset: 0, labels: &labels }.to_string();
        assert_eq!(plain(&ours), plain(&text), "{line}");
        seen += 1;
        compacted += u32::from(inst.compacted);
        *opcodes.entry(inst.opcode.mnemonic().to_owned()).or_default() += 1;
    }
    println!("{seen} instructions, {compacted} compacted, {} opcodes", opcodes.len());
    assert!(
        seen > 20_000 && compacted > 5000 && opcodes.len() > 30,
        "{seen} {compacted} {opcodes:?}"
    );
}

#[test]
fn intels_disassembler_prints_the_same() {
    let (folder, _) = run("intel-shaders-iga", "nocompact");
    let (mut seen, mut programs, mut refused) = (0, 0, 0);
    for entry in std::fs::read_dir(&folder).expect("the programs") {
        let file = entry.expect("an entry").path();
        let code = std::fs::read(&file).expect("a program");
        let theirs = run::iga64(Generation::Gen9, &file);
        programs += 1;
        let theirs = match theirs {
            Ok(lines) => lines,
            Err(error) => {
                assert!(error.contains("inconvertible align16 operand"), "{error}");
                refused += 1;
                continue;
            }
        };
        let mut theirs = theirs.iter();
        // Behind the last instruction stand zeros, or constants.
        let end = disasm::end(Generation::Gen9, &code);
        for (n, bytes) in code[..end].chunks_exact(16).enumerate() {
            let inst = Inst::decode(Generation::Gen9, bytes, 0).expect("an instruction");
            let theirs = theirs.next().unwrap_or_else(|| panic!("{}: {n}", file.display()));
            // What it does not refuse of Align16 it reads as if it were Align1.
            if inst.align16 {
                continue;
            }
            assert_eq!(iga::text(&inst, 16 * n), iga::normalized(theirs), "{}", file.display());
            seen += 1;
        }
    }
    println!("{seen} instructions of {programs} programs, {refused} refused");
    assert!(seen > 15_000 && 50 * refused < programs, "{seen} {programs} {refused}");
}
