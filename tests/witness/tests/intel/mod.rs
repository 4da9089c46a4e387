//! Captures of what the witness submits to a virtual Intel GPU through Mesa's driver and through Tepui's.
#![allow(dead_code, reason = "each test uses a part")]

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Output;

use tepui_capture::{Event, Events};

mod run;

/// Runs cases under `tepui trace` on a virtual GPU; returns the folder of the capture and what was printed.
pub fn trace(
    gpu: &str,
    name: &str,
    cases: &[&str],
    environment: &[(&str, &str)],
) -> (PathBuf, Output) {
    let folder = run::fresh_folder(name);
    let to = folder.to_str().expect("a path of text");
    let verb = ["trace", "--gpu", gpu, "--quiet", "--save", to];
    let mut command = run::witness(&verb, cases);
    let output = command.envs(environment.iter().copied()).output().expect("tepui starts");
    (folder, output)
}

/// Runs cases with Tepui's driver on a virtual GPU; returns the folder of the capture and what was printed. Options of
/// `witness run` may come before the cases. `debug` is `TEPUI_DEBUG`.
pub fn capture(gpu: &str, name: &str, cases: &[&str], debug: &str) -> (PathBuf, Output) {
    let folder = run::fresh_folder(name);
    let to = folder.to_str().expect("a path of text");
    let mut command = run::own_witness(&["run", "--gpu", gpu, "--capture", to], cases);
    let output = command.env("TEPUI_DEBUG", debug).output().expect("tepui starts");
    (folder, output)
}

/// Gives each event of the captures in a folder, with the memory at it.
pub fn events(folder: &Path, mut each: impl FnMut(&Events<BufReader<File>>, Event)) {
    let entries = std::fs::read_dir(folder).expect("the captures");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    // Tepui's driver writes shaders next to them.
    for path in paths.filter(|path| path.extension().is_some_and(|e| e == "capture")) {
        let file = File::open(path).expect("a capture");
        let mut events = Events::new(BufReader::new(file)).expect("a capture");
        while let Some(event) = events.next() {
            let event = event.expect("a whole capture");
            each(&events, event);
        }
    }
}
