//! Loads shader files as SPIR-V: `.spv` directly, WGSL through naga, GLSL through glslangValidator
//! if it is installed, else through naga.

mod glslang;
#[cfg(feature = "naga")]
mod naga;

use std::path::Path;

use tepui_ir::Stage;

use crate::input;

/// A loaded shader file.
pub struct Module {
    /// SPIR-V words.
    pub words: Vec<u32>,
    /// The stage, if the file name or the caller determines it.
    pub stage: Option<Stage>,
    /// Whether specialisation constants have their values already.
    pub specialised: bool,
}

/// Language of a shader's text.
#[derive(Clone, Copy, PartialEq)]
enum Language {
    Wgsl,
    Glsl,
}

/// A shader's text with the options to compile it.
struct Request<'a> {
    path: &'a Path,
    text: &'a str,
    /// GLSL: `NAME` or `NAME=VALUE`.
    defines: &'a [String],
    /// Values of specialisation constants, `NAME=VALUE`.
    spec: &'a [String],
}

/// Reads SPIR-V words of either byte order.
fn words(bytes: &[u8]) -> Result<Vec<u32>, String> {
    if !bytes.len().is_multiple_of(4) {
        return Err(format!("{} bytes are not a whole number of SPIR-V words", bytes.len()));
    }
    let swap = bytes.first() == Some(&0x07);
    Ok(bytes
        .chunks_exact(4)
        .map(|c| {
            let w = u32::from_le_bytes([c[0], c[1], c[2], c[3]]);
            if swap { w.swap_bytes() } else { w }
        })
        .collect())
}

/// The stage by file name: `x.comp`, `x.vert.glsl`.
fn stage_of(path: &Path) -> Option<Stage> {
    let name = path.file_name()?.to_str()?;
    name.rsplit('.').find_map(|part| match part {
        "comp" => Some(Stage::Compute),
        "vert" => Some(Stage::Vertex),
        "frag" => Some(Stage::Fragment),
        "tesc" => Some(Stage::TessControl),
        "tese" => Some(Stage::TessEvaluation),
        "geom" => Some(Stage::Geometry),
        _ => None,
    })
}

/// The language of a file, by its name; of standard input, by its first line of code.
fn language_of(path: &Path, text: &str) -> Language {
    if !input::is_stdin(path) {
        let is_wgsl = path.extension().is_some_and(|e| e == "wgsl");
        return if is_wgsl { Language::Wgsl } else { Language::Glsl };
    }
    let code = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with("//"));
    if code.is_some_and(|l| l.starts_with('#')) { Language::Glsl } else { Language::Wgsl }
}

/// Reads a shader file, or standard input for `-`.
///
/// # Errors
/// The file cannot be read, or no front end accepts it.
pub fn load(
    path: &Path,
    stage: Option<Stage>,
    defines: &[String],
    spec: &[String],
) -> Result<Module, String> {
    let bytes = input::read(path).map_err(|e| e.to_string())?;
    let is_spv = path.extension().is_some_and(|e| e == "spv");
    if is_spv
        || bytes.starts_with(&[0x03, 0x02, 0x23, 0x07])
        || bytes.starts_with(&[0x07, 0x23, 0x02, 0x03])
    {
        return Ok(Module { words: words(&bytes)?, stage, specialised: false });
    }
    let text = String::from_utf8(bytes).map_err(|_| "is neither SPIR-V nor text".to_owned())?;
    let request = Request { path, text: &text, defines, spec };
    match language_of(path, &text) {
        Language::Wgsl => Ok(Module { words: by_naga_wgsl(&request)?, stage, specialised: true }),
        Language::Glsl => {
            let Some(stage) = stage.or_else(|| stage_of(path)) else {
                return Err(
                    "the file name does not determine the stage: give --stage compute, vertex or fragment".to_owned()
                );
            };
            let first = match glslang::compile(&request, stage) {
                Ok(words) => return Ok(Module { words, stage: Some(stage), specialised: false }),
                Err(e) => e,
            };
            match by_naga_glsl(&request, stage) {
                Ok(words) => Ok(Module { words, stage: Some(stage), specialised: true }),
                Err(second) => Err(format!("no front end accepts it.\n{first}\n{second}")),
            }
        }
    }
}

#[cfg(feature = "naga")]
use self::naga::{glsl as by_naga_glsl, wgsl as by_naga_wgsl};

#[cfg(not(feature = "naga"))]
const NO_NAGA: &str = "this build has no naga (cargo's feature `naga`)";

#[cfg(not(feature = "naga"))]
fn by_naga_wgsl(_: &Request<'_>) -> Result<Vec<u32>, String> {
    Err(NO_NAGA.to_owned())
}

#[cfg(not(feature = "naga"))]
fn by_naga_glsl(_: &Request<'_>, _: Stage) -> Result<Vec<u32>, String> {
    Err(NO_NAGA.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_is_recognised_by_its_first_line() {
        let stdin = Path::new("-");
        assert!(language_of(stdin, "// a line\n#version 450\nvoid main() {}") == Language::Glsl);
        assert!(language_of(stdin, "@compute @workgroup_size(1)\nfn main() {}") == Language::Wgsl);
        assert!(language_of(Path::new("x.comp"), "void main() {}") == Language::Glsl);
    }
}
