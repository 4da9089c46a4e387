//! Shader text to SPIR-V, with errors at their place.

use serde::Serialize;
use tepui_ir::Stage;

/// Language of a shader's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// WebGPU's language.
    Wgsl,
    /// Vulkan's dialect of GLSL.
    Glsl,
}

/// A shader's text with the options to compile it.
pub struct Source<'a> {
    /// Name of the file, for debug information.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// GLSL: `NAME` or `NAME=VALUE`.
    pub defines: &'a [String],
    /// Values of specialisation constants, `NAME=VALUE`.
    pub spec: &'a [String],
}

/// A place in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SourceLocation {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// Bytes from there on.
    pub length: u32,
}

/// Text that does not compile.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{whole}")]
pub struct SourceError {
    /// The message, in a line.
    pub message: String,
    /// The position in the source.
    pub place: Option<SourceLocation>,
    /// The message with the line of the text.
    pub whole: String,
}

impl SourceError {
    /// An error without a place.
    #[must_use]
    pub fn new(message: impl Into<String>) -> SourceError {
        let message = message.into();
        SourceError { whole: message.clone(), message, place: None }
    }
}

/// Reads SPIR-V words of either byte order.
///
/// # Errors
/// The bytes are no whole words.
pub fn words(bytes: &[u8]) -> Result<Vec<u32>, String> {
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
#[must_use]
pub fn stage_of(name: &str) -> Option<Stage> {
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

/// The language of text whose name does not tell, by its first line of code: GLSL begins with `#version`.
#[must_use]
pub fn language_of(text: &str) -> Language {
    let code = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with("//"));
    if code.is_some_and(|l| l.starts_with('#')) { Language::Glsl } else { Language::Wgsl }
}

#[cfg(feature = "naga")]
pub use crate::naga::{glsl, wgsl};

#[cfg(not(feature = "naga"))]
const NO_NAGA: &str = "this build has no naga (cargo's feature `naga`)";

/// Compiles WGSL to SPIR-V.
///
/// # Errors
/// This build cannot.
#[cfg(not(feature = "naga"))]
pub fn wgsl(_: &Source<'_>) -> Result<Vec<u32>, SourceError> {
    Err(SourceError::new(NO_NAGA))
}

/// Compiles GLSL to SPIR-V.
///
/// # Errors
/// This build cannot.
#[cfg(not(feature = "naga"))]
pub fn glsl(_: &Source<'_>, _: Stage) -> Result<Vec<u32>, SourceError> {
    Err(SourceError::new(NO_NAGA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_recognised_by_its_first_line() {
        assert_eq!(language_of("// a line\n#version 450\nvoid main() {}"), Language::Glsl);
        assert_eq!(language_of("@compute @workgroup_size(1)\nfn main() {}"), Language::Wgsl);
        assert_eq!(stage_of("x.vert.glsl"), Some(Stage::Vertex));
    }

    #[test]
    fn errors_have_places() {
        let source = |text| Source { name: "x", text, defines: &[], spec: &[] };
        let e = wgsl(&source("fn f() {\n  let a = b;\n}\n")).expect_err("b is not defined");
        assert_eq!(e.place, Some(SourceLocation { line: 2, column: 11, length: 1 }), "{e}");
        // Found by the validator.
        let text = "@fragment fn f() -> @location(0) vec4f {\n  return 1.0;\n}\n";
        let e = wgsl(&source(text)).expect_err("a number is no vector");
        assert_eq!(e.place.map(|p| p.line), Some(2), "{e:?}");
        let e = glsl(&source("#version 450\nvoid main() {\n  x = 1;\n}\n"), Stage::Compute);
        assert_eq!(e.expect_err("x is not defined").place.map(|p| p.line), Some(3));
    }
}
