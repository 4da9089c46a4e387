//! Finds the library that `tepui shim` preloads: the file beside the command, else a copy embedded
//! in the command.
//!
//! `cargo build` puts `libtepui_drm_shim.so` beside the command, but `cargo install` installs only
//! the command. So the command embeds the library and writes it to the user's cache if there is no
//! file beside it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Name of the file.
const NAME: &str = "libtepui_drm_shim.so";

// An assembler directive instead of `include_bytes` reads the file when code is generated, so that
// `cargo check`, which does not build the library, works. The library is a dependency, so cargo
// links it before it compiles this crate.
#[cfg(target_os = "linux")]
std::arch::global_asm!(
    ".pushsection .rodata.tepui_shim_library, \"a\", @progbits",
    ".balign 16",
    ".globl tepui_shim_library_begin",
    "tepui_shim_library_begin:",
    concat!(".incbin \"", env!("TEPUI_SHIM_BUILT"), "\""),
    ".globl tepui_shim_library_end",
    "tepui_shim_library_end:",
    ".popsection",
);

/// The library's bytes.
#[cfg(target_os = "linux")]
fn embedded() -> &'static [u8] {
    unsafe extern "C" {
        static tepui_shim_library_begin: u8;
        static tepui_shim_library_end: u8;
    }
    let (begin, end) = (&raw const tepui_shim_library_begin, &raw const tepui_shim_library_end);
    // SAFETY: the labels enclose constant bytes of one section, defined above.
    unsafe { std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin)) }
}

#[cfg(not(target_os = "linux"))]
fn embedded() -> &'static [u8] {
    &[]
}

/// The path of the library: `TEPUI_SHIM_LIB`, else the file in `deps` beside this command, where
/// cargo puts it, or beside the command, else the copy in the user's cache.
///
/// # Errors
/// The file does not exist or cannot be written, or LD_PRELOAD cannot contain its path.
pub fn find() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("TEPUI_SHIM_LIB").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        // Absolute, because the program may change its working directory before it starts another.
        return std::path::absolute(&path)
            .ok()
            .filter(|path| path.is_file())
            .ok_or_else(|| format!("{}: no such file (TEPUI_SHIM_LIB)", path.display()));
    }
    let exe = std::env::current_exe().map_err(|error| format!("this command's path: {error}"))?;
    let folder = exe.parent().ok_or("this command has no folder")?;
    let beside = [folder.join("deps").join(NAME), folder.join(NAME)];
    let path = match beside.into_iter().find(|path| path.is_file()) {
        Some(path) => path,
        None => {
            let cache = cache().ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
            unpack(embedded(), &cache).map_err(|error| {
                format!("{}: {error}; set TEPUI_SHIM_LIB to the path of {NAME}", cache.display())
            })?
        }
    };
    // The dynamic linker splits LD_PRELOAD at colons and spaces.
    match path.to_str() {
        Some(text) if !text.contains([':', ' ']) => Ok(path),
        _ => Err(format!(
            "{}: LD_PRELOAD cannot contain a path with a colon or a space; copy the library elsewhere and set TEPUI_SHIM_LIB to its path",
            path.display()
        )),
    }
}

/// The user's cache for the library.
fn cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(cache.join("tepui/shim"))
}

/// Writes the library to a folder, under a name with a hash of its contents. A file that exists is
/// kept if its contents are the same.
fn unpack(library: &[u8], folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(format!("libtepui_drm_shim-{:016x}.so", xxh3_64(library)));
    if std::fs::read(&path).is_ok_and(|bytes| bytes == library) {
        return Ok(path);
    }
    std::fs::create_dir_all(folder)?;
    // Another process may write it at the same time, so each writes its own file and renames it.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(library)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_carries_the_library() {
        assert!(embedded().starts_with(b"\x7fELF"), "{} bytes", embedded().len());
        let folder = tempfile::tempdir().unwrap();
        let path = unpack(embedded(), folder.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), embedded());
        // A damaged copy is replaced.
        std::fs::write(&path, b"x").unwrap();
        assert_eq!(unpack(embedded(), folder.path()).unwrap(), path);
        assert_eq!(std::fs::read(&path).unwrap(), embedded());
    }
}
