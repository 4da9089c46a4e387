//! The driver's own programs by name.

use tepui_ir::NumKind;
use tepui_vulkan_expand as expand;

use crate::format::Packing;

/// A program of the driver's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Copies units of `unit` bytes between two pieces of memory, each linear or tiled; elements
    /// consist of several units.
    Copy {
        /// Bytes of a unit: 1, 2, 4, 8 or 16.
        unit: u8,
        /// Units of an element.
        units: u8,
        /// The source is tiled.
        from_tiled: bool,
        /// The destination is tiled.
        to_tiled: bool,
    },
    /// Copies texels of a compressed image to memory.
    Read {
        /// Reassembly of their bits.
        packing: Packing,
        /// Samples of a texel.
        samples: u8,
        /// The destination is tiled.
        to_tiled: bool,
    },
    /// Opens tiles of a compressed image.
    Open {
        /// Reassembly of the texels' bits.
        packing: Packing,
        /// Samples of a texel.
        samples: u8,
    },
    /// Marks tiles of a compressed image as open.
    Mark,
    /// Fills words.
    Fill,
    /// Writes one word.
    Word,
    /// Copies draws and sets the instance counts of those after a count to zero; words of a draw.
    Count(u8),
    /// Copies words that become zeros unless a word in memory is (or, inverted, is not) zero: parameters of draws and dispatches
    /// that depend on a condition. Words of an element.
    Condition(u8),
    /// A blit by the texture unit: numbers of the texels, 3D source, 3D destination.
    Blit {
        /// Number format of the texels.
        kind: NumKind,
        /// The source is a 3D image.
        deep: bool,
    },
    /// A resolve: numbers, samples, and how.
    Resolve {
        /// Number format of the texels.
        kind: NumKind,
        /// Samples of the source.
        samples: u8,
        /// Resolve mode.
        how: Resolve,
    },
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
    /// Copies query results.
    Queries {
        /// Values of a query.
        values: u8,
        /// Results are of 64 bits.
        wide: bool,
        /// Availability follows.
        availability: bool,
        /// Whether unavailable results are written too.
        partial: bool,
    },
    /// Vertices of a rectangle.
    ClearVertices,
    /// Fragments that store driver words: a bit for each colour, and a bit for those of integers.
    ClearFragments(u8, u8),
    /// A program of expanded draws.
    Expand(expand::Program),
    /// Fragments that do nothing.
    Nothing,
}

/// Resolve mode of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resolve {
    /// The first.
    First,
    /// Their mean.
    Average,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl From<expand::Program> for Program {
    fn from(p: expand::Program) -> Program {
        Program::Expand(p)
    }
}
