//! The test cases of Mesa's assembler: text, and its expected bytes.
//!
//! They are part of Mesa's source, which `tools/mesa source` downloads from Debian.

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_intel_isa::{Generation, Inst, asm, disasm, validate};

/// The folder with a generation's cases.
fn cases(generation: &str) -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/mesa");
    let output = Command::new(tool).arg("source").output().expect("tools/mesa runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tools/mesa source: {errors}");
    let root = PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim());
    root.join("src/intel/compiler/tests").join(generation)
}

/// The bytes of a file of hexadecimal numbers, one line per instruction.
fn expected(file: &Path) -> Vec<u8> {
    let text = std::fs::read_to_string(file).expect("the expected bytes");
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect()
}

/// Assembles all cases; decodes, prints and assembles the results. Returns the number of instructions.
fn check(generation: Generation, folder: &str) -> usize {
    let mut instructions = 0;
    for entry in std::fs::read_dir(cases(folder)).expect("a folder of cases") {
        let file = entry.expect("a file").path();
        if file.extension().is_none_or(|e| e != "asm") {
            continue;
        }
        let name = file.display();
        let source = std::fs::read_to_string(&file).expect("a case");
        let expected = expected(&file.with_extension("expected"));
        let code = asm::assemble(generation, &source);
        let code = code.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        for (n, (found, expected)) in code.chunks(16).zip(expected.chunks(16)).enumerate() {
            let text = Inst::decode(generation, expected, 0).map(|inst| inst.to_string());
            assert_eq!(found, expected, "{name}, instruction {n}: {text:?}");
        }
        assert_eq!(code.len(), expected.len(), "{name}");
        let text = disasm::program(generation, &code);
        assert_eq!(asm::assemble(generation, &text).as_ref(), Ok(&code), "{name}\n{text}");
        // Compaction does not change the meaning: short forms expand to the long ones.
        let compacted = asm::assemble_compacting(generation, &source).expect("the same text");
        assert!(compacted.len() <= code.len(), "{name}");
        let text = disasm::program(generation, &compacted);
        assert_eq!(asm::assemble(generation, &text).as_ref(), Ok(&compacted), "{name}\n{text}");
        // Mesa's assembler accepts them, so they satisfy the rules.
        for offset in (0..code.len()).step_by(16) {
            let inst = Inst::decode(generation, &code, offset).expect("an instruction");
            assert_eq!(validate::check(&inst), Ok(()), "{name}: {inst}");
        }
        instructions += code.len() / 16;
    }
    instructions
}

#[test]
fn gen9() {
    assert_eq!(check(Generation::Gen9, "gen9"), 2678);
}

#[test]
fn gen12() {
    assert_eq!(check(Generation::Gen12, "gen12"), 125);
}
