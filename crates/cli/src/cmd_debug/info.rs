//! Source lines of programs in captures, from the file that Tepui's Vulkan driver wrote next to them.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use tepui_agx_compiler::Names;
use tepui_debug::Recording;

use crate::cmd_run::SHADER_INFO;

/// A line of the file.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Entry {
    Source {
        file: String,
        text: String,
    },
    Program {
        stage: String,
        entry: String,
        files: Vec<String>,
        /// Offset, file, line.
        places: Vec<(u32, usize, u32)>,
        code: String,
        #[serde(default)]
        names: Option<Names>,
    },
}

/// Adds source and lines to a recording of a program, if the file next to its capture lists the
/// program's machine code.
pub fn add(capture: &Path, code: &[u8], recording: &mut Recording) {
    let path = capture.with_file_name(SHADER_INFO);
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut sources: HashMap<String, String> = HashMap::new();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Entry::Source { file, text }) => {
                sources.insert(file, text);
            }
            Ok(Entry::Program { stage, entry, files, places, code: program, names })
                if program.starts_with(&hex) =>
            {
                fill(recording, &files, &places, &sources);
                tepui_explore::names::tell(recording, &names.unwrap_or_default(), code);
                recording.title = format!("{stage} shader {entry}, {}", recording.title);
                return;
            }
            // An entry of another program, or an incomplete line of a process that was killed.
            Ok(Entry::Program { .. }) | Err(_) => {}
        }
    }
}

fn fill(
    recording: &mut Recording,
    files: &[String],
    places: &[(u32, usize, u32)],
    sources: &HashMap<String, String>,
) {
    // A program with code of several files shows the one that has most of it.
    let count = |file: usize| places.iter().filter(|p| p.1 == file && p.2 != 0).count();
    let Some(file) = (0..files.len()).max_by_key(|&file| (count(file), std::cmp::Reverse(file)))
    else {
        return;
    };
    if let Some(text) = sources.get(&files[file]) {
        recording.source = tepui_explore::listing::text_lines(text);
    }
    // naga names no file.
    if !files[file].is_empty() {
        recording.file.clone_from(&files[file]);
    }
    // Instructions that the compiler adds belong to the line of what stands before them, at the start to the first line that has
    // code.
    let own = places.iter().filter(|p| p.1 == file && p.2 != 0);
    let mut last = own.map(|p| p.2).min().unwrap_or(0);
    for i in &mut recording.program {
        if let Ok(at) = places.binary_search_by_key(&i.offset, |p| p.0)
            && places[at].1 == file
            && places[at].2 != 0
        {
            last = places[at].2;
        }
        i.line = last;
    }
}
