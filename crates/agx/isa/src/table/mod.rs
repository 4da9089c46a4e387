//! The table: one file per family, one row per instruction.
//!
//! The order in which rows are tried stands in [`crate::inst`]. Rows whose mnemonic begins with
//! `TODO.`, and fields named after their lowest bit (`u28`) or after applegpu's unknown operands
//! (`i2`, `q3`), are those whose meaning is not known; their value is kept.

pub mod barrier;
pub mod bitfield;
pub mod device;
pub mod float;
pub mod flow;
pub mod image;
pub mod integer;
pub mod local;
pub mod moves;
pub mod select;
pub mod simd;
pub mod stack;
pub mod state;
pub mod texture;
pub mod tile;
pub mod unary;
pub mod unknown;
pub mod varying;

/// Imports of every family file.
mod prelude {
    pub use crate::codec::ctor::*;
    pub use crate::operand::*;
    pub(crate) use crate::row::rows;
}

/// A family of instructions: a file of the table, for the manual.
pub struct Family {
    /// The end of the file's module path.
    pub module: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Their common properties.
    pub about: &'static str,
}

const fn family(module: &'static str, title: &'static str, about: &'static str) -> Family {
    Family { module, title, about }
}

/// The families in the order of the manual.
pub static FAMILIES: &[Family] = &[
    family("::moves", "Moves", "Register moves are `mov`, a `bitop`."),
    family("::float", "Float arithmetic", "See *Floats* for reading, rounding and `.sat`."),
    family(
        "::unary",
        "Float instructions of one source",
        "Source and result as in *Floats*. There is no separate half-precision form: a 16-bit \
         source is converted, the result is rounded to the destination's width.",
    ),
    family("::integer", "Integer arithmetic and bit manipulation", "See *Integers*."),
    family(
        "::bitfield",
        "Shifts and bitfields",
        "Sources are zero-extended integers without bounds, so that nothing is lost before the \
         result is cut to the destination's width.",
    ),
    family(
        "::flow",
        "Control flow",
        "`r0l` counts, for each thread, how many levels of structure must end until it is active \
         again.",
    ),
    family("::select", "Select and ballot", ""),
    family("::simd", "Sub-group operations", ""),
    family("::device", "Device memory", "See *Memory formats*."),
    family("::local", "Threadgroup memory", "See *Memory formats*."),
    family("::stack", "Stack", "Scratch memory of each thread; mapped by the helper program."),
    family("::state", "Uniforms and state registers", "Written by preambles."),
    family("::texture", "Textures", ""),
    family("::image", "Image stores", ""),
    family("::tile", "Tile memory and fragment results", ""),
    family("::varying", "Varyings", ""),
    family("::barrier", "Waits and barriers", ""),
    family("::unknown", "Unknown instructions", "Seen in code; the names are applegpu's."),
];
