//! Runs the commands of `examples/README.md` as written there.

use std::path::Path;
use std::process::Command;

#[test]
fn the_commands_of_the_examples_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("examples/README.md")).expect("the page is there");
    // A copy, for what the commands write.
    let dir = tempfile::tempdir().expect("a directory");
    for folder in ["shaders", "agx"] {
        std::fs::create_dir(dir.path().join(folder)).expect("made");
        for entry in root.join("examples").join(folder).read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            let to = dir.path().join(folder).join(path.file_name().expect("a name"));
            std::fs::copy(&path, to).expect("copied");
        }
    }
    let command = Path::new(env!("CARGO_BIN_EXE_tepui"));
    let paths = format!(
        "{}:{}",
        command.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut count = 0;
    for block in page.split("```sh\n").skip(1) {
        let (lines, _) = block.split_once("```").expect("a block ends");
        for line in lines.lines().filter(|line| line.starts_with("tepui ")) {
            let got = Command::new("sh")
                .args(["-c", line])
                .current_dir(dir.path())
                .env("PATH", &paths)
                .output()
                .expect("a shell");
            let errors = String::from_utf8_lossy(&got.stderr);
            assert!(got.status.success(), "{line}: {errors}");
            let wrote = got.stdout.len() > 20 || line.contains(" -o ") || line.contains("--out");
            assert!(wrote, "{line}: no output");
            count += 1;
        }
    }
    assert!(count >= 12, "{count} commands");
    for (name, least) in [("mandelbrot.png", 2000), ("blurred.png", 2000), ("doubled.bin", 256)] {
        let size = dir.path().join(name).metadata().map_or(0, |m| m.len());
        assert!(size >= least, "{name}: {size} bytes");
    }
    let doubled = std::fs::read(dir.path().join("doubled.bin")).expect("written");
    let source = std::fs::read(dir.path().join("agx/mandelbrot.s")).expect("there");
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    assert_eq!(word(&doubled[8..]), 2u32.wrapping_mul(word(&source[8..])));
}
