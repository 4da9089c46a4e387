//! Every shader that Mesa's `panfrost` driver compiles for a Mali-G52 is disassembled to the same text as by
//! Mesa.
//!
//! Runs if the variable `TEPUI_WITNESS_MALI` is set, with the same requirements as the test `mali`. The driver prints
//! its shaders' words with its own disassembly; here the words are disassembled, and both texts must be equal.

use std::path::Path;
use std::process::Command;

use tepui_mali_isa::bifrost::{asm, disasm};

/// Minimum number of shaders of the scenes.
const SHADERS: usize = 40;

/// A shader in Mesa's output: words, and lines of text without comments.
#[derive(Default)]
struct Shader {
    code: Vec<u8>,
    text: Vec<String>,
}

/// The words of a comment, the highest first.
fn word(line: &str) -> Option<[u32; 4]> {
    let mut words = line.strip_prefix("# ")?.split_whitespace();
    let mut next =
        || words.next().filter(|w| w.len() == 8).and_then(|w| u32::from_str_radix(w, 16).ok());
    let all = [next()?, next()?, next()?, next()?];
    Some(all)
}

/// The shaders of the driver's output.
fn shaders(output: &str) -> Vec<Shader> {
    let mut all: Vec<Shader> = Vec::new();
    let mut open = false;
    for line in output.lines() {
        if line == "clause_0:" {
            all.push(Shader::default());
            open = true;
        }
        let Some(shader) = all.last_mut().filter(|_| open) else { continue };
        if let Some(words) = word(line) {
            shader.code.extend(words.iter().rev().flat_map(|word| word.to_le_bytes()));
            continue;
        }
        let is_text =
            ["clause_", "ds(", "{", "}", "    *", "    +"].iter().any(|p| line.starts_with(p));
        if is_text {
            shader.text.push(line.trim_end().to_owned());
        } else if !line.is_empty() && !line.trim_start().starts_with('#') {
            // Statistics end a shader.
            open = false;
        }
    }
    all
}

#[test]
fn shaders_of_the_driver_read_as_mesa_reads_them() {
    if std::env::var_os("TEPUI_WITNESS_MALI").is_none() {
        return;
    }
    let gles = Path::new(env!("CARGO_BIN_EXE_gles"));
    let target = gles.parent().and_then(Path::parent).expect("a target folder");
    let foreign = target.join("aarch64-unknown-linux-gnu/release/gles");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bifrost");
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(gles.with_file_name("tepui"));
    let mesa = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa");
    command.args(["shim", "--gpu", "mali-g52", "--"]).arg(mesa);
    command.args(["run", "--arch", "arm64", "--"]).arg(&foreign).arg(&folder);
    command.env("BIFROST_MESA_DEBUG", "shaders,verbose");
    command.env("MESA_SHADER_CACHE_DISABLE", "true");
    let output = command.output().expect("it starts");
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said += &String::from_utf8_lossy(&output.stderr);
    let shaders = shaders(&said);
    assert!(shaders.len() >= SHADERS, "{} shaders: {said}", shaders.len());
    for shader in &shaders {
        let text = disasm::program(&shader.code);
        let ours: Vec<&str> =
            text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        assert_eq!(ours, shader.text, "{text}");
        // A shader that is assembled from its text reads the same, wherever its clauses are then.
        let again = asm::assemble(&text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let again = disasm::program(&again);
        let same = |line: &&str| !line.contains("clause_");
        let (first, second) = (text.lines().filter(same), again.lines().filter(same));
        assert!(first.eq(second), "{text}\n{again}");
    }
}
