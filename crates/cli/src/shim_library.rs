//! The library that `tepui shim` preloads: the file beside the command, else a copy that the command
//! carries.
//!
//! `cargo build` leaves `libtepui_drm_shim.so` beside the command, but `cargo install` takes the
//! command alone. So the command holds the library's bytes and writes them into the user's cache when
//! no file is beside it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Name of the file.
const NAME: &str = "libtepui_drm_shim.so";

// An assembler directive, not `include_bytes`: it reads the file when code is generated, so that
// `cargo check`, which builds no library, does not miss it. The library is a dependency, and cargo
// has linked it before it compiles this crate.
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

/// The library: where `TEPUI_SHIM_LIB` says, else in `deps` beside this command, where cargo leaves
/// it, or beside the command, else in the user's cache.
///
/// # Errors
/// No such file and no place to write one, or a path that LD_PRELOAD cannot name.
pub fn find() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("TEPUI_SHIM_LIB").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        // The program may change its directory before it starts another.
        return std::path::absolute(&path)
            .ok()
            .filter(|path| path.is_file())
            .ok_or_else(|| format!("{}: no such file (TEPUI_SHIM_LIB)", path.display()));
    }
    let own = std::env::current_exe().map_err(|error| format!("this command's path: {error}"))?;
    let folder = own.parent().ok_or("this command has no folder")?;
    let beside = [folder.join("deps").join(NAME), folder.join(NAME)];
    let path = match beside.into_iter().find(|path| path.is_file()) {
        Some(path) => path,
        None => {
            let cache = cache().ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
            unpack(embedded(), &cache).map_err(|error| {
                format!("{}: {error}; name the library {NAME} in TEPUI_SHIM_LIB", cache.display())
            })?
        }
    };
    // The dynamic linker splits LD_PRELOAD at colons and spaces.
    match path.to_str() {
        Some(text) if !text.contains([':', ' ']) => Ok(path),
        _ => Err(format!(
            "{}: LD_PRELOAD cannot name a path with a colon or a space; copy the library elsewhere and name it in TEPUI_SHIM_LIB",
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

/// Writes the library into a folder, under a name that tells its contents; what is there already is
/// taken if its contents are these.
fn unpack(library: &[u8], folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(format!("libtepui_drm_shim-{:016x}.so", xxh3_64(library)));
    if std::fs::read(&path).is_ok_and(|bytes| bytes == library) {
        return Ok(path);
    }
    std::fs::create_dir_all(folder)?;
    // Another process may be writing it as well: each writes a file of its own and renames it.
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
