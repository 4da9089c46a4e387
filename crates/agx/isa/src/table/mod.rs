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

/// What every family file needs.
mod prelude {
    pub use crate::codec::ctor::*;
    pub use crate::operand::*;
    pub(crate) use crate::row::rows;
}
