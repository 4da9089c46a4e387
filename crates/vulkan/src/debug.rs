//! Options of `TEPUI_DEBUG`, a list of words separated by commas.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

bitflags::bitflags! {
    /// Words of `TEPUI_DEBUG`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u32 {
        /// `errors`: why commands fail, on standard error.
        const ERRORS = 1 << 0;
        /// `shaders`: machine code of each compiled shader.
        const SHADERS = 1 << 1;
        /// `ir`: the IR of each shader as it comes from SPIR-V.
        const IR = 1 << 2;
        /// `stats`: a line of statistics for each compiled shader.
        const STATS = 1 << 3;
        /// `submit`: a line for each submission.
        const SUBMIT = 1 << 4;
        /// `commands`: each command as it is recorded.
        const COMMANDS = 1 << 5;
        /// `sync`: each submission is waited for.
        const SYNC = 1 << 6;
        /// `windows`: how the images of each swapchain come to the server.
        const WINDOWS = 1 << 8;
        /// `images`: a line for each image: its layout, and why it is not compressed.
        const IMAGES = 1 << 7;
        /// `nocompress`: no image is compressed unless a modifier asks for it.
        const NO_COMPRESSION = 1 << 9;
        /// `pieces`: draws whose stages run as compute programs are divided into small pieces.
        const PIECES = 1 << 10;
        /// `smallheap`: the tiler's heap has the least size, so that few draws fill it.
        const SMALL_HEAP = 1 << 11;
    }
}

/// Words and their flags.
pub const WORDS: &[(&str, Flags, &str)] = &[
    ("errors", Flags::ERRORS, "why commands fail"),
    ("shaders", Flags::SHADERS, "machine code of each compiled shader"),
    ("ir", Flags::IR, "the IR of each shader as it comes from SPIR-V"),
    ("stats", Flags::STATS, "a line of statistics for each compiled shader"),
    ("submit", Flags::SUBMIT, "a line for each submission"),
    ("commands", Flags::COMMANDS, "each command as it is recorded"),
    ("sync", Flags::SYNC, "wait for each submission before going on"),
    ("windows", Flags::WINDOWS, "how the images of each swapchain come to the server"),
    ("images", Flags::IMAGES, "the layout of each image, and why it is not compressed"),
    (
        "nocompress",
        Flags::NO_COMPRESSION,
        "compress no images but those whose modifier asks for it",
    ),
    ("pieces", Flags::PIECES, "divide draws with geometry shaders into small pieces"),
    ("smallheap", Flags::SMALL_HEAP, "give the heap of a tiler the least memory"),
];

/// The flags that the environment sets; unknown words are named once on standard error.
#[inline]
pub fn flags() -> Flags {
    static FLAGS: OnceLock<Flags> = OnceLock::new();
    *FLAGS.get_or_init(from_environment)
}

#[cold]
fn from_environment() -> Flags {
    let mut flags = Flags::empty();
    for word in std::env::var("TEPUI_DEBUG").unwrap_or_default().split(',') {
        match WORDS.iter().find(|w| w.0 == word) {
            Some(w) => flags |= w.1,
            None if word.is_empty() => {}
            None => {
                let known: Vec<&str> = WORDS.iter().map(|w| w.0).collect();
                eprintln!("tepui: TEPUI_DEBUG has no word '{word}'; it has {}", known.join(", "));
            }
        }
    }
    flags
}

/// A file that lines are appended to, named by an environment variable.
struct Lines {
    variable: &'static str,
    file: OnceLock<Option<Mutex<File>>>,
}

impl Lines {
    const fn new(variable: &'static str) -> Lines {
        Lines { variable, file: OnceLock::new() }
    }

    /// The file, if the variable is set.
    fn file(&self) -> Option<&Mutex<File>> {
        let open = || {
            let path = std::env::var_os(self.variable)?;
            let open = File::options().create(true).append(true).open(&path);
            if let Err(e) = &open {
                eprintln!("tepui: {}: {}: {e}", self.variable, path.display());
            }
            open.ok().map(Mutex::new)
        };
        self.file.get_or_init(open).as_ref()
    }

    /// Appends a line if the variable is set.
    fn append(&self, line: impl FnOnce() -> serde_json::Value) {
        let Some(file) = self.file() else { return };
        // One write, so that lines of several processes do not mix.
        let line = format!("{}\n", line());
        let written =
            file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
        if let Err(e) = written {
            eprintln!("tepui: {}: {e}", self.variable);
        }
    }
}

/// Names the file that statistics of compiled shaders go to.
pub const STATS_VARIABLE: &str = "TEPUI_STATS";

/// Writes the statistics of a compiled shader as a line of JSON to the file that `TEPUI_STATS` names, for `tepui compare`.
/// `name` says which shader it is; the same shader has the same name in another run.
pub fn statistics(gpu: &str, name: &str, stage: &str, all: &[(&str, &str, u64)]) {
    static LINES: Lines = Lines::new(STATS_VARIABLE);
    LINES.append(|| {
        let stats = all.iter().map(|&(name, _, value)| (name.to_owned(), value.into())).collect();
        let stats = serde_json::Value::Object(stats);
        serde_json::json!({ "gpu": gpu, "file": name, "stage": stage, "stats": stats })
    });
}

/// Names the file that source texts and the places of machine code in them go to, for debuggers.
pub const INFO_VARIABLE: &str = "TEPUI_SHADER_INFO";

static INFO: Lines = Lines::new(INFO_VARIABLE);

/// Writes the source texts in a module's debug information to the file that `TEPUI_SHADER_INFO` names: a line of JSON each.
pub fn sources(words: &[u32]) {
    if INFO.file().is_none() {
        return;
    }
    for (file, text) in tepui_spirv::sources(words).unwrap_or_default() {
        INFO.append(|| serde_json::json!({ "type": "source", "file": file, "text": text }));
    }
}

/// Whether [`program`] writes something.
pub fn wants_programs() -> bool {
    INFO.file().is_some()
}

/// Writes where a program's instructions come from to the same file: `places` are offset in the code, file and line; `names` say what
/// registers hold, as the compiler of the GPU writes them. A file's text is that of the last line before with this name.
pub fn program(
    shader: &tepui_ir::Shader,
    code: &[u8],
    places: &[(u32, tepui_ir::Loc)],
    names: &impl serde::Serialize,
) {
    INFO.append(|| {
        let place = |&(offset, loc): &(u32, tepui_ir::Loc)| {
            let l = shader.locs[loc];
            serde_json::json!([offset, l.file, l.line])
        };
        let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
        serde_json::json!({
            "type": "program",
            "stage": shader.info.stage.name(),
            "entry": shader.info.entry,
            "files": shader.files,
            "places": places.iter().map(place).collect::<Vec<_>>(),
            "code": hex,
            "names": names,
        })
    });
}
