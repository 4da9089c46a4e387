//! Captures of what the witness submits to a virtual Intel GPU through Mesa's driver.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tepui_capture::{Event, Events};
use tepui_witness::compile::mesa_tool;
use tepui_witness::jobs::Driver;

/// Runs cases under `tepui trace` on a virtual GPU; returns the folder of the capture and what was printed.
pub fn trace(
    gpu: &str,
    name: &str,
    cases: &[&str],
    environment: &[(&str, &str)],
) -> (PathBuf, Output) {
    let witness = Path::new(env!("CARGO_BIN_EXE_witness"));
    let tepui = witness.with_file_name("tepui");
    assert!(tepui.exists(), "{}: missing; build it first: cargo build -p tepui", tepui.display());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let output = Command::new(&tepui)
        .args(["trace", "--gpu", gpu, "--quiet", "--save"])
        .arg(&folder)
        .arg("--")
        .arg(mesa_tool())
        .args(["run", "--icd", "anv", "--"])
        .arg(witness)
        .args(["run", "--device", Driver::Skylake.device()])
        .args(cases)
        .envs(environment.iter().copied())
        .output()
        .expect("tepui starts");
    (folder, output)
}

/// Gives each event of the captures in a folder, with the memory at it.
pub fn events(folder: &Path, mut each: impl FnMut(&Events<BufReader<File>>, Event)) {
    for entry in std::fs::read_dir(folder).expect("the captures") {
        let file = File::open(entry.expect("an entry").path()).expect("a capture");
        let mut events = Events::new(BufReader::new(file)).expect("a capture");
        while let Some(event) = events.next() {
            let event = event.expect("a whole capture");
            each(&events, event);
        }
    }
}
