//! Captures of what the witness submits to a virtual Intel GPU through Mesa's driver.

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
