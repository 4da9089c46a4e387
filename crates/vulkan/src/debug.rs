//! What `TEPUI_DEBUG` asks for: a list of words, separated by commas.

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
];

/// The flags that the environment sets; unknown words are named once on standard error.
pub fn flags() -> Flags {
    static FLAGS: OnceLock<Flags> = OnceLock::new();
    *FLAGS.get_or_init(|| {
        let mut flags = Flags::empty();
        for word in std::env::var("TEPUI_DEBUG").unwrap_or_default().split(',') {
            match WORDS.iter().find(|w| w.0 == word) {
                Some(w) => flags |= w.1,
                None if word.is_empty() => {}
                None => {
                    let known: Vec<&str> = WORDS.iter().map(|w| w.0).collect();
                    eprintln!(
                        "tepui: TEPUI_DEBUG has no word '{word}'; it has {}",
                        known.join(", ")
                    );
                }
            }
        }
        flags
    })
}

/// Names the file that statistics of compiled shaders go to.
pub const STATS_VARIABLE: &str = "TEPUI_STATS";

/// Writes the statistics of a compiled shader as a line of JSON to the file that `TEPUI_STATS` names, for `tepui compare`.
/// `name` says which shader it is; the same shader has the same name in another run.
pub fn statistics(gpu: &str, name: &str, stage: &str, all: &[(&str, &str, u64)]) {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let path = std::env::var_os(STATS_VARIABLE)?;
        let open = File::options().create(true).append(true).open(&path);
        if let Err(e) = &open {
            eprintln!("tepui: {STATS_VARIABLE}: {}: {e}", path.display());
        }
        open.ok().map(Mutex::new)
    });
    let Some(file) = file else { return };
    let stats: Vec<String> = all.iter().map(|(n, _, v)| format!("\"{n}\":{v}")).collect();
    let line = format!(
        "{{\"gpu\":\"{gpu}\",\"file\":\"{name}\",\"stage\":\"{stage}\",\"stats\":{{{}}}}}\n",
        stats.join(",")
    );
    // One write, so that lines of several processes do not mix.
    let written = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    if let Err(e) = written {
        eprintln!("tepui: {STATS_VARIABLE}: {e}");
    }
}
