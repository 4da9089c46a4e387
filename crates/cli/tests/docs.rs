//! Checks that the listings in `docs/compiler.md` are the output of the commands above them.
//! `BLESS=1` rewrites them.

use std::path::Path;
use std::process::Command;

#[test]
fn listings_are_what_the_commands_print() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compiler.md");
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let dir = tempfile::tempdir().expect("a directory");
    // Shaders are in blocks of WGSL, with a file name after `wgsl` except in the first.
    for (n, block) in text.split("```wgsl").skip(1).enumerate() {
        let (name, rest) = block.split_once('\n').expect("a block has lines");
        let (shader, _) = rest.split_once("```").expect("a block ends");
        let name = if n == 0 { "shader.wgsl" } else { name.trim() };
        std::fs::write(dir.path().join(name), shader).expect("written");
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    let mut count = 0;
    while let Some((before, after)) = rest.split_once("```sh\ntepui compile ") {
        let (command, after) = after.split_once("\n```\n\n```text\n").expect("output follows");
        let (_, after) = after.split_once("```").expect("output ends");
        let got = Command::new(env!("CARGO_BIN_EXE_tepui"))
            .arg("compile")
            .args(command.split_whitespace())
            .current_dir(dir.path())
            .output()
            .expect("the command starts");
        assert!(got.status.success(), "{command}: {}", String::from_utf8_lossy(&got.stderr));
        let got = String::from_utf8_lossy(&got.stdout);
        out.push_str(&format!(
            "{before}```sh\ntepui compile {command}\n```\n\n```text\n{}\n```",
            got.trim_end()
        ));
        rest = after;
        count += 1;
    }
    out.push_str(rest);
    assert!(count >= 4, "{count} listings");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, out).expect("the page can be written");
    } else {
        assert!(out == text, "docs/compiler.md is not up to date: run with BLESS=1");
    }
}
