//! Finds the modules of the corpus.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules of the corpus of `tools/corpus`, sorted; those of one package if `package` names it, of all
/// packages if it is empty. Fetches the corpus first if it is missing.
///
/// # Panics
/// If it cannot be fetched: without it there is nothing to test.
#[must_use]
pub fn corpus(package: &str) -> Vec<PathBuf> {
    modules(&[directory().join("spv").join(package)]).expect("the corpus can be read")
}

/// The tessellation and geometry shaders of the corpus of `tools/corpus`, sorted.
///
/// # Panics
/// As [`corpus`].
#[must_use]
pub fn primitives() -> Vec<PathBuf> {
    modules(&[directory().join("primitives")]).expect("the corpus can be read")
}

/// The WGSL files of crates in the corpus of `tools/corpus`, sorted; of one crate if `package` names it.
///
/// # Panics
/// As [`corpus`].
#[must_use]
pub fn wgsl(package: &str) -> Vec<PathBuf> {
    files(&[directory().join("wgsl").join(package)], "wgsl").expect("the corpus can be read")
}

/// The folder of the corpus.
fn directory() -> PathBuf {
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
    PathBuf::from(run("path"))
}

/// The `.spv` files in some paths, sorted; folders are searched recursively.
///
/// # Errors
/// If a folder cannot be read.
pub fn modules(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    files(paths, "spv")
}

fn files(paths: &[PathBuf], extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if path.is_dir() {
            let inner: Vec<PathBuf> = std::fs::read_dir(path)?
                .map(|e| e.map(|e| e.path()))
                .filter(|p| {
                    p.as_ref().map_or(true, |p| {
                        p.is_dir() || p.extension().is_some_and(|x| x == extension)
                    })
                })
                .collect::<io::Result<_>>()?;
            out.extend(files(&inner, extension)?);
        } else {
            out.push(path.clone());
        }
    }
    out.sort();
    Ok(out)
}

/// A module's words: of SPIR-V, or naga's translation of WGSL.
///
/// # Errors
/// If the file cannot be read, or naga does not accept it.
pub fn read(file: &Path) -> io::Result<Vec<u32>> {
    let bytes = std::fs::read(file)?;
    if file.extension().is_none_or(|e| e != "wgsl") {
        return Ok(words(&bytes));
    }
    let text = String::from_utf8_lossy(&bytes);
    by_naga(&text).map_err(|e| io::Error::other(format!("{}: {e}", file.display())))
}

fn by_naga(text: &str) -> Result<Vec<u32>, String> {
    use naga::back::{pipeline_constants::process_overrides, spv};
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&module)
        .map_err(|e| e.emit_to_string(text))?;
    // Pipeline constants without a default in the source are 0.
    let missing = module.overrides.iter().filter(|(_, o)| o.init.is_none());
    let key = |o: &naga::Override| {
        o.id.map(|id| id.to_string()).or_else(|| o.name.clone()).unwrap_or_default()
    };
    let constants = missing.map(|(_, o)| (key(o), 0.0)).collect();
    let (module, info) =
        process_overrides(&module, &info, None, &constants).map_err(|e| e.to_string())?;
    let options = spv::Options { lang_version: (1, 3), ..Default::default() };
    spv::write_vec(&module, &info, &options, None).map_err(|e| e.to_string())
}

/// SPIR-V words of a file's bytes.
#[must_use]
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}
