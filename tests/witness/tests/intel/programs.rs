//! Programs that Mesa's drivers compile for a virtual Intel GPU, with the statistics that they print.
//!
//! `INTEL_DEBUG` with the names of stages and `hex` prints a line of statistics for each program, and the bytes of each
//! instruction in front of its text.

use std::process::{Command, Stdio};

use tepui_witness::cases;

use crate::run;

/// A program.
#[derive(Debug)]
pub struct Program {
    /// The line of statistics.
    pub statistics: String,
    /// The machine code.
    pub code: Vec<u8>,
}

impl Program {
    /// The number in front of a word of the statistics.
    pub fn statistic(&self, name: &str) -> Option<usize> {
        let words: Vec<&str> = self.statistics.split_whitespace().collect();
        let at = words.iter().position(|word| word.trim_end_matches(['.', ',']) == name)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    }

    /// Spills and fills together.
    pub fn spills(&self) -> usize {
        let words = self.statistics.split_whitespace();
        let pair =
            words.clone().zip(words.skip(1)).find(|(_, word)| word.starts_with("spills:fills"));
        let (spills, fills) = pair.and_then(|(pair, _)| pair.split_once(':')).expect("spills");
        spills.parse::<usize>().expect("a number") + fills.parse::<usize>().expect("a number")
    }

    /// Channels of the program.
    pub fn width(&self) -> u8 {
        let digits = self.statistics.trim_start_matches("SIMD");
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().expect("a width")
    }
}

/// Folders of piglit's shaders of which one in four is compiled.
const PIGLIT: &[&str] = &[
    "arb_compute_shader",
    "arb_gpu_shader5",
    "arb_shader_storage_buffer_object",
    "arb_tessellation_shader",
    "glsl-1.10",
    "glsl-1.50",
];

/// Programs of ANV's for one in five of the witness' cases and for its algorithms, and of iris' for shaders of piglit's.
pub fn collect(gpu: &str) -> Vec<Program> {
    let verb = ["shim", "--gpu", gpu];
    let mut found = Vec::new();
    let names = some_cases();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut command = run::witness(&verb, &[]);
    command.arg("--exact").args(names);
    read(command, &mut found);
    let anv = found.len();
    assert!(anv > 400, "{anv} programs of ANV's");
    read(run::piglit(&verb, &some_shaders()), &mut found);
    assert!(found.len() > anv + 100, "{} programs of iris'", found.len() - anv);
    found
}

/// The algorithms, and one in five cases of each other group.
fn some_cases() -> Vec<String> {
    let mut of_group = std::collections::HashMap::new();
    let names = cases::all().into_iter().map(|case| case.name);
    names
        .filter(|name| {
            let group = name.split('/').next().unwrap_or(name).to_owned();
            let number: &mut u32 = of_group.entry(group).or_default();
            *number += 1;
            name.starts_with("algorithms/") || *number % 5 == 1
        })
        .collect()
}

fn some_shaders() -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for folder in PIGLIT {
        let folder = run::piglit_folder().join("tests/spec").join(folder).join("execution");
        let entries = std::fs::read_dir(&folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|file| file.extension().is_some_and(|e| e == "shader_test"));
        files.sort();
        all.extend(files);
    }
    all.into_iter().step_by(4).collect()
}

/// Runs a command with the driver's statistics switched on, and reads the programs that it prints.
fn read(mut command: Command, found: &mut Vec<Program>) {
    command.env("INTEL_DEBUG", "cs,vs,tcs,tes,gs,fs,hex").stdout(Stdio::null());
    let output = command.output().expect("tepui starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let mut open: Option<Program> = None;
    for line in said.lines() {
        if line.starts_with("Native code") {
            found.extend(open.take());
        } else if line.starts_with("SIMD") && line.contains(" shader: ") && open.is_none() {
            open = Some(Program { statistics: line.to_owned(), code: Vec::new() });
        } else if let Some(program) = &mut open {
            program.code.extend(bytes(line));
        }
        // Other text of the driver ends the listing.
        if line.starts_with("NIR ") {
            found.extend(open.take());
        }
    }
    found.extend(open);
}

/// The bytes at the start of a line: 8 or 16, two digits each.
fn bytes(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line;
    while bytes.len() < 16
        && let Some((pair, more)) = rest.split_once(' ')
        && pair.len() == 2
        && let Ok(byte) = u8::from_str_radix(pair, 16)
    {
        bytes.push(byte);
        rest = more;
    }
    if matches!(bytes.len(), 8 | 16) { bytes } else { Vec::new() }
}
