//! Finds the dynamic libraries that the command gives to other programs: the file next to the command,
//! else a copy embedded in the command.
//!
//! `cargo build` puts the libraries next to the command, but `cargo install` installs only the command.
//! So the command embeds them and writes one to the user's cache if there is no file next to it.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// A library.
pub struct Library {
    /// Name of the file.
    name: &'static str,
    /// The environment variable that names another file.
    variable: &'static str,
    /// The folder for its copies in the user's cache.
    folder: &'static str,
    embedded: fn() -> &'static [u8],
}

/// The library that `tepui shim` preloads.
pub const SHIM: Library = Library {
    name: "libtepui_drm_shim.so",
    variable: "TEPUI_SHIM_LIB",
    folder: "tepui/shim",
    embedded: shim,
};

/// The Vulkan driver that `tepui run` names to the loader.
pub const ICD: Library = Library {
    name: "libvulkan_tepui.so",
    variable: "TEPUI_ICD_LIB",
    folder: "tepui/icd",
    embedded: icd,
};

// An assembler directive instead of `include_bytes` reads the file when code is generated, so that
// `cargo check`, which does not build the library, works. The library is a dependency, so cargo
// links it before it compiles this crate.
macro_rules! embed {
    ($function:ident, $path:expr, $begin:ident, $end:ident) => {
        #[cfg(target_os = "linux")]
        std::arch::global_asm!(
            concat!(".pushsection .rodata.", stringify!($begin), ", \"a\", @progbits"),
            ".balign 16",
            concat!(".globl ", stringify!($begin)),
            concat!(stringify!($begin), ":"),
            concat!(".incbin \"", $path, "\""),
            concat!(".globl ", stringify!($end)),
            concat!(stringify!($end), ":"),
            ".popsection",
        );

        /// The library's bytes.
        #[cfg(target_os = "linux")]
        fn $function() -> &'static [u8] {
            unsafe extern "C" {
                static $begin: u8;
                static $end: u8;
            }
            let (begin, end) = (&raw const $begin, &raw const $end);
            // SAFETY: the labels enclose constant bytes of one section, defined above.
            unsafe { std::slice::from_raw_parts(begin, end.offset_from_unsigned(begin)) }
        }

        #[cfg(not(target_os = "linux"))]
        fn $function() -> &'static [u8] {
            &[]
        }
    };
}

embed!(shim, env!("TEPUI_SHIM_BUILT"), tepui_shim_library_begin, tepui_shim_library_end);
embed!(icd, env!("TEPUI_ICD_BUILT"), tepui_icd_library_begin, tepui_icd_library_end);

/// The environment variable that names the library for programs of arm64.
pub const ARM64_VARIABLE: &str = "TEPUI_SHIM_LIB_AARCH64";

/// The library that arm64 programs preload on a machine of another architecture: the file that its
/// variable names, else the one that `tools/forwarder` built next to this command. `None` if there is
/// none.
///
/// # Errors
/// If the variable names no file.
pub fn arm64_shim() -> Result<Option<PathBuf>, String> {
    if let Some(path) = std::env::var_os(ARM64_VARIABLE).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        let found = std::path::absolute(&path).ok().filter(|path| path.is_file());
        return found
            .map(Some)
            .ok_or_else(|| format!("{}: no such file ({ARM64_VARIABLE})", path.display()));
    }
    let exe = std::env::current_exe().map_err(|error| format!("this command's path: {error}"))?;
    // The command is in TARGET/release, the library in TARGET/aarch64-unknown-linux-gnu/release.
    let target = exe.parent().and_then(Path::parent);
    let built =
        target.map(|target| target.join("aarch64-unknown-linux-gnu/release").join(SHIM.name));
    Ok(built.filter(|path| path.is_file()))
}

impl Library {
    /// The path of the library: the file that its variable names, else the file in `deps` next to this
    /// command, where cargo puts it, or next to the command, else the copy in the user's cache.
    ///
    /// # Errors
    /// If the file does not exist or cannot be written.
    pub fn find(&self) -> Result<PathBuf, String> {
        let Library { name, variable, .. } = self;
        if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            // Absolute, because the program may change its working directory before it starts
            // another.
            return std::path::absolute(&path)
                .ok()
                .filter(|path| path.is_file())
                .ok_or_else(|| format!("{}: no such file ({variable})", path.display()));
        }
        let exe =
            std::env::current_exe().map_err(|error| format!("this command's path: {error}"))?;
        let folder = exe.parent().ok_or("this command has no folder")?;
        let candidates = [folder.join("deps").join(name), folder.join(name)];
        match candidates.into_iter().find(|path| path.is_file()) {
            Some(path) => Ok(path),
            None => {
                let cache = self.cache()?;
                unpack((self.embedded)(), &cache, name).map_err(|error| {
                    format!("{}: {error}; set {variable} to the path of {name}", cache.display())
                })
            }
        }
    }

    /// The user's cache for files of the library.
    ///
    /// # Errors
    /// The environment names none.
    pub fn cache(&self) -> Result<PathBuf, String> {
        let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        Ok(cache.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join(self.folder))
    }
}

/// A file that every user can read: the file itself, or a copy in a folder of this user's among temporary files.
///
/// A program that root starts may go on as another user, and what is below root's home is not there for it: the loader would find no
/// driver, without a word.
///
/// # Errors
/// The copy cannot be written.
pub fn for_all_users(path: PathBuf) -> io::Result<PathBuf> {
    // Others cannot change their user.
    let user = rustix::process::geteuid();
    if !user.is_root() || is_readable_by_all(&path) {
        return Ok(path);
    }
    let folder = std::env::temp_dir().join(format!("tepui-{}", user.as_raw()));
    match std::fs::DirBuilder::new().mode(0o755).create(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    // Nobody else may have made it, or write to it.
    let found = std::fs::symlink_metadata(&folder)?;
    if !found.is_dir() || found.uid() != user.as_raw() || found.mode() & 0o022 != 0 {
        let why = format!("{}: not a folder of this user alone", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("file");
    let copy = unpack(&std::fs::read(&path)?, &folder, name)?;
    forget_old(&folder);
    Ok(copy)
}

/// Copies that are kept of programs' libraries and manifests: the newest, with some room for builds that are in use at once.
const COPIES: usize = 16;

/// Removes all but the newest copies.
fn forget_old(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<_> = entries
        .flatten()
        .filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())))
        .collect();
    files.sort();
    for (_, path) in files.iter().rev().skip(COPIES) {
        let _ = std::fs::remove_file(path);
    }
}

/// Whether every user can read a file: by its own permissions and those of the folders above it.
fn is_readable_by_all(path: &Path) -> bool {
    let has = |path: &Path, bits| std::fs::metadata(path).is_ok_and(|m| m.mode() & bits == bits);
    let Ok(path) = path.canonicalize() else { return false };
    has(&path, 0o004) && path.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// Writes a file to a folder, under its name with a hash of its contents. A file that exists is
/// kept if its contents are the same.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn unpack(contents: &[u8], folder: &Path, name: &str) -> io::Result<PathBuf> {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let path = folder.join(format!("{stem}-{:016x}.{extension}", xxh3_64(contents)));
    if std::fs::read(&path).is_ok_and(|bytes| bytes == contents) {
        return Ok(path);
    }
    std::fs::create_dir_all(folder)?;
    // Another process may write it at the same time, so each writes its own file and renames it. Programs that change their user
    // read it, too.
    let mut file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    file.write_all(contents)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_carries_the_libraries() {
        for library in [SHIM, ICD] {
            let embedded = (library.embedded)();
            assert!(embedded.starts_with(b"\x7fELF"), "{}: {} bytes", library.name, embedded.len());
            let folder = tempfile::tempdir().unwrap();
            let path = unpack(embedded, folder.path(), library.name).unwrap();
            assert_eq!(path.extension().unwrap(), "so");
            assert_eq!(std::fs::read(&path).unwrap(), embedded);
            // A damaged copy is replaced.
            std::fs::write(&path, b"x").unwrap();
            assert_eq!(unpack(embedded, folder.path(), library.name).unwrap(), path);
            assert_eq!(std::fs::read(&path).unwrap(), embedded);
        }
        assert_ne!((SHIM.embedded)().len(), (ICD.embedded)().len());
    }

    #[test]
    fn files_are_readable_by_every_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = unpack(b"driver", folder.path(), "driver.so").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
        // A folder of its user's alone.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!is_readable_by_all(&path));
        let found = for_all_users(path.clone()).unwrap();
        if rustix::process::geteuid().is_root() {
            assert!(is_readable_by_all(&found), "{}", found.display());
            assert_eq!(std::fs::read(&found).unwrap(), b"driver");
            assert_eq!(for_all_users(found.clone()).unwrap(), found);
        } else {
            assert_eq!(found, path);
        }
    }
}
