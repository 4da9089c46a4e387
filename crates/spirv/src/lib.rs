//! The SPIR-V front end: translates modules to the IR.
//!
//! [`translate`] takes the words of a module (SPIR-V 1.0 to 1.6, Vulkan 1.3's compute, vertex and
//! fragment stages) and returns a [`Shader`] for one entry point: specialised, with all calls
//! inlined and control flow structured. What the IR cannot express is refused with an [`Error`]
//! that names the instruction and its word offset.
//!
//! The stages of translation:
//!
//! 1. `module`: the words are parsed into instructions (using `rspirv`'s grammar tables) and
//!    sections.
//! 2. `ty`, `declare`, `num`: types with their memory layout, constants and specialisation constants.
//! 3. `control`, `scope`: functions are inlined and blocks become nested regions; this is the file to read
//!    for control flow.
//! 4. `value`, `pointer`, `memory`, `io`: pointers are resolved at translation time; function and private
//!    variables become IR variables (one per scalar or vector leaf), the rest becomes memory with
//!    byte offsets, descriptors, inputs.
//! 5. `alu`, `glsl`, `image`, `subgroup`: one function per family of instructions. Emission folds
//!    constants.
//!
//! A value that is used where the IR's regions do not allow it (for example after the loop that
//! defines it) is passed through a variable; the passes promote all variables back to SSA values.

mod alu;
mod control;
mod declare;
mod decor;
mod error;
mod glsl;
mod ids;
mod image;
mod io;
mod memory;
mod module;
mod num;
mod options;
mod outputs;
mod pointer;
mod scope;
mod subgroup;
mod translate;
mod ty;
mod value;

pub use error::{Error, Kind, Result};
pub use options::Options;
use std::collections::HashMap;

use tepui_ir::{Shader, Stage};

/// Translates one entry point.
///
/// # Errors
/// When the module is not valid, or needs something that is not supported: with the instruction and
/// its word offset.
///
/// ```
/// let wgsl = "@compute @workgroup_size(8) fn main() {}";
/// let module = naga::front::wgsl::parse_str(wgsl)?;
/// let info = naga::valid::Validator::new(Default::default(), Default::default()).validate(&module)?;
/// let words = naga::back::spv::write_vec(&module, &info, &Default::default(), None)?;
/// let shader = tepui_spirv::translate(&words, &tepui_spirv::Options::default())?;
/// assert_eq!(shader.info.workgroup_size, [8, 1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn translate(words: &[u32], options: &Options) -> Result<Shader> {
    let m = module::Module::parse(words)?;
    translate::translate(&m, options)
}

/// [`translate`] from bytes in either byte order.
///
/// # Errors
/// Like [`translate`]; a length that is not a multiple of four is an error in the header.
pub fn translate_bytes(bytes: &[u8], options: &Options) -> Result<Shader> {
    if !bytes.len().is_multiple_of(4) {
        let kind = Kind::Length { bytes: bytes.len() };
        return Err(Error { word: bytes.len() / 4, inst: "header".to_owned(), kind });
    }
    let mut words: Vec<u32> =
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    if words.first() == Some(&rspirv::spirv::MAGIC_NUMBER.swap_bytes()) {
        words.iter_mut().for_each(|w| *w = w.swap_bytes());
    }
    translate(&words, options)
}

/// The entry points of a module: name and stage, `None` for a stage that is not supported.
///
/// # Errors
/// When the module's sections cannot be read.
pub fn entry_points(words: &[u32]) -> Result<Vec<(String, Option<Stage>)>> {
    let m = module::Module::parse(words)?;
    Ok(m.entry_points
        .iter()
        .map(|e| {
            let stage = match m.ops(e).first() {
                Some(&model) => translate::stage(model),
                None => None,
            };
            (m.string(e, 2).0, stage)
        })
        .collect())
}

/// The source text that debug information carries, by the name of its file: of `OpSource`, or of
/// `DebugSource` (NonSemantic.Shader.DebugInfo.100). Files without text are left out.
///
/// # Errors
/// As for [`translate`], when the words are no module.
pub fn sources(words: &[u32]) -> Result<HashMap<String, String>> {
    Ok(module::Module::parse(words)?.sources())
}
