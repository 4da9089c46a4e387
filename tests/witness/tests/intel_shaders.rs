//! Shaders that Mesa's driver compiles for the virtual Skylake, disassembled by three: Mesa's driver
//! (`INTEL_DEBUG=hex` prints the bytes and its own text), Intel's `iga64` (of the bytes that the
//! driver saves), and the table of `tepui-intel-isa`.
//!
//! Text must be equal but for white space and, of Mesa's, what it says of a message's descriptor (the
//! version of the driver has other names there than the source of Mesa that the table follows) and the
//! names of jump targets, which `iga64` gives as places. Our `bare` says that a jump's bits are those of a
//! driver and not of Mesa's assembler. Programs that move between the pixels of a subspan in Align16 are left
//! to Mesa: `iga64` does not print their operands.

#[path = "intel/iga.rs"]
mod iga;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_intel_isa::{Generation, Inst, disasm};
use tepui_witness::cases;
use tepui_witness::compile::mesa_tool;
use tepui_witness::jobs::Driver;

/// Runs cases; the driver saves each program's bytes in the folder. Returns what it printed.
fn run(name: &str, cases: &[&str], debug: &str) -> (PathBuf, String) {
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    let tepui = witness.with_file_name("tepui");
    assert!(tepui.exists(), "{}: missing; build it first: cargo build -p tepui", tepui.display());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let output = Command::new(&tepui)
        .args(["shim", "--gpu", "skl", "--"])
        .arg(mesa_tool())
        .args(["run", "--icd", "anv", "--"])
        .arg(witness)
        .args(["run", "--device", Driver::Skylake.device()])
        .args(cases)
        .env("MESA_SHADER_CACHE_DISABLE", "true")
        .env("INTEL_DEBUG", debug)
        .env("INTEL_SHADER_BIN_DUMP_PATH", &folder)
        .output()
        .expect("tepui starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // Some cases are for features that the driver lacks.
    let ran = String::from_utf8_lossy(&output.stdout).matches("ok     ").count();
    assert!(10 * ran > 8 * cases.len(), "{ran} of {}", cases.len());
    (folder, said)
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
    let cases = some_cases();
    let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
    let (_, said) = run("intel-shaders-mesa", &cases, "cs,vs,tcs,tes,gs,fs,hex");
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
    let fetch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/fetch_opencl");
    let fetched = Command::new(&fetch).output().expect("fetch_opencl runs");
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    let clients = PathBuf::from(String::from_utf8(fetched.stdout).expect("a path").trim());
    let iga64 = clients.join("bin/iga64");
    let cases = some_cases();
    let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
    let (folder, _) = run("intel-shaders-iga", &cases, "nocompact");
    let (mut seen, mut programs, mut refused) = (0, 0, 0);
    for entry in std::fs::read_dir(&folder).expect("the programs") {
        let file = entry.expect("an entry").path();
        let code = std::fs::read(&file).expect("a program");
        let mut command = Command::new(mesa_tool());
        command.args(["run", "--icd", "none", "--"]).arg(&iga64).args(["-d", "-p=9"]);
        let output = command.arg(&file).output();
        let output = output.expect("iga64 starts");
        programs += 1;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(error.contains("inconvertible align16 operand"), "{error}");
            refused += 1;
            continue;
        }
        let theirs = String::from_utf8_lossy(&output.stdout);
        let mut theirs = theirs.lines().filter(|line| {
            !(line.trim().is_empty() || line.starts_with('L') && line.ends_with(':'))
        });
        // Behind the last instruction stand zeros, or constants.
        let end = disasm::end(Generation::Gen9, &code);
        for (n, bytes) in code[..end].chunks_exact(16).enumerate() {
            let inst = Inst::decode(Generation::Gen9, bytes, 0).expect("an instruction");
            let theirs = theirs.next().unwrap_or_else(|| panic!("{}: {n}", file.display()));
            assert_eq!(iga::text(&inst, 16 * n), iga::normalized(theirs), "{}", file.display());
            seen += 1;
        }
    }
    println!("{seen} instructions of {programs} programs, {refused} refused");
    assert!(seen > 15_000 && 50 * refused < programs, "{seen} {programs} {refused}");
}
