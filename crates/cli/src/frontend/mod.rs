//! Loads shader files as SPIR-V: `.spv` directly, WGSL through naga, GLSL through glslangValidator
//! if it is installed, else through naga.

mod glslang;

use std::path::Path;

use tepui_explore::source::{self, Language, Source, words};
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

/// The language of a file, by its name; of standard input, by its first line of code.
fn language_of(path: &Path, text: &str) -> Language {
    if !input::is_stdin(path) {
        let is_wgsl = path.extension().is_some_and(|e| e == "wgsl");
        return if is_wgsl { Language::Wgsl } else { Language::Glsl };
    }
    source::language_of(text)
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
    let name = path.display().to_string();
    let request = Source { name: &name, text: &text, defines, spec };
    match language_of(path, &text) {
        Language::Wgsl => Ok(Module {
            words: source::wgsl(&request).map_err(|e| e.to_string())?,
            stage,
            specialised: true,
        }),
        Language::Glsl => {
            let Some(stage) = stage.or_else(|| source::stage_of(&name)) else {
                return Err(
                    "the file name does not determine the stage: give --stage compute, vertex or fragment".to_owned()
                );
            };
            let first = match glslang::compile(path, &request, stage) {
                Ok(words) => return Ok(Module { words, stage: Some(stage), specialised: false }),
                Err(e) => e,
            };
            match source::glsl(&request, stage) {
                Ok(words) => Ok(Module { words, stage: Some(stage), specialised: true }),
                Err(second) => Err(format!("no front end accepts it.\n{first}\n{second}")),
            }
        }
    }
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
