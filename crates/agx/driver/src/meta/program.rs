//! The driver's own programs by key.

use tepui_vulkan_expand as expand;
use tepui_vulkan_meta::{self as meta, Packing};

/// A program of the driver's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// A program of a command that copies, converts or clears.
    Meta(meta::Program),
    /// A program of expanded draws.
    Expand(expand::Program),
    /// Opens tiles of a compressed image.
    Open {
        /// Reassembly of the texels' bits.
        packing: Packing,
        /// Samples of a texel.
        samples: u8,
    },
    /// Marks tiles of a compressed image as open.
    Mark,
    /// Fragments that resolve colours of the tile into images: a bit for each colour whose mean is taken, for each whose first
    /// sample is, and for each of integers.
    ResolveTile {
        /// Colours whose mean is taken.
        averaged: u8,
        /// Colours whose first sample is taken.
        first: u8,
        /// Colours of integers.
        integers: u8,
        /// Samples of a pixel.
        samples: u8,
    },
    /// Fragments that do nothing.
    Nothing,
}

impl From<meta::Program> for Program {
    fn from(p: meta::Program) -> Program {
        Program::Meta(p)
    }
}

impl From<expand::Program> for Program {
    fn from(p: expand::Program) -> Program {
        Program::Expand(p)
    }
}
