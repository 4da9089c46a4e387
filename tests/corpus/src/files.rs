//! Where the modules are.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules of the corpus of `tools/corpus`, sorted; those of one package when `package` names it, of all when it is empty.
/// Brings the corpus first when it is not there.
///
/// # Panics
/// When it cannot be had: without it there is nothing to test.
#[must_use]
pub fn corpus(package: &str) -> Vec<PathBuf> {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/corpus");
    let run = |verb: &str| {
        let out = Command::new(&tool).arg(verb).output().expect("tools/corpus starts");
        assert!(
            out.status.success(),
            "`tools/corpus {verb}` fails, and without the corpus there is nothing to test:\n{}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    };
    run("fetch");
    let dir = Path::new(&run("path")).join("spv").join(package);
    modules(&[dir]).expect("the corpus can be read")
}

/// The `.spv` files among some paths, sorted, folders with all that is below them.
///
/// # Errors
/// When a folder cannot be read.
pub fn modules(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if path.is_dir() {
            let inner: Vec<PathBuf> = std::fs::read_dir(path)?
                .map(|e| e.map(|e| e.path()))
                .filter(|p| {
                    p.as_ref()
                        .map_or(true, |p| p.is_dir() || p.extension().is_some_and(|x| x == "spv"))
                })
                .collect::<io::Result<_>>()?;
            out.extend(modules(&inner)?);
        } else {
            out.push(path.clone());
        }
    }
    out.sort();
    Ok(out)
}

/// A module's words.
///
/// # Errors
/// When the file cannot be read.
pub fn read(file: &Path) -> io::Result<Vec<u32>> {
    Ok(words(&std::fs::read(file)?))
}

/// SPIR-V words of a file's bytes.
#[must_use]
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}
