//! The programs by key.

use tepui_ir::{NumKind, Stage};

use crate::packing::Packing;
use crate::view::TileBits;

/// Conventions of a family's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conventions {
    /// Threads of a workgroup: a power of two from 8 on.
    pub threads: u32,
    /// Space of the driver's words.
    pub words: Words,
}

pub use tepui_vulkan_kit::builder::Words;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Copies elements between two pieces of memory; words are [`crate::words::CopyWords`].
    CopyMemory {
        /// Bytes of a unit: 1, 2, 4, 8 or 16.
        unit: u8,
        /// Units of an element.
        units: u8,
        /// Order of the source's elements.
        from: Order,
        /// Order of the destination's.
        to: Order,
    },
    /// Copies texels, of which at least one side is not in memory; words are [`crate::words::CopyWords`].
    CopyTexels {
        /// The source.
        from: Side,
        /// The destination.
        to: Side,
        /// Samples of a texel.
        samples: u8,
    },
    /// Fills words of memory; words are [`crate::words::FillWords`].
    Fill,
    /// Writes one word of memory; words are [`crate::words::FillWords`].
    Word,
    /// Copies elements of this number of words and sets the second words of those after a count in memory to zero: instance counts of
    /// draws. Words are [`crate::words::ElementWords`].
    Count(u8),
    /// Copies elements of this number of words, or zeros where a condition in memory does not hold: parameters of draws and
    /// dispatches. Words are [`crate::words::ElementWords`].
    Condition(u8),
    /// Writes the arguments of a draw of captured vertices; words are [`crate::words::CaptureWords`].
    Captured,
    /// Copies query results; words are [`crate::words::QueryWords`].
    Queries {
        /// Values of a query.
        values: u8,
        /// Values are differences: the second of two numbers minus the first.
        pairs: bool,
        /// Results are of 64 bits.
        wide: bool,
        /// Availability follows.
        availability: bool,
        /// Results that are not available are written, too.
        partial: bool,
    },
    /// Copies pixels with conversion and filter; words are [`crate::words::BlitWords`].
    Blit {
        /// Number format of the texels.
        kind: NumKind,
        /// The source is a volume.
        volume: bool,
        /// Destination.
        to: Output,
    },
    /// Resolves samples; words are [`crate::words::ResolveWords`].
    Resolve {
        /// Number format of the texels.
        kind: NumKind,
        /// Samples of the source.
        samples: u8,
        /// The kind of resolve.
        how: Resolve,
        /// Destination.
        to: Output,
    },
    /// Vertices of a rectangle, a strip of four for each layer; words are [`crate::words::RectangleWords`].
    RectangleVertices,
    /// Fragments that store words; words are [`crate::words::ClearWords`].
    ClearFragments {
        /// Colours that are written, a bit each.
        colours: u8,
        /// Colours of integers, a bit each.
        integers: u8,
    },
}

/// Order of elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Rows.
    Rows,
    /// Rows of tiles, in which elements are in Morton order.
    Morton,
    /// Rows of tiles, in which elements are in Morton order with column ^ row in place of the column.
    Interleaved,
    /// Rows of tiles, in which bits of column and row make the offset.
    Bits(TileBits),
}

/// A side of a copy of texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Memory.
    Memory(Order),
    /// Texels of an image: a texture as the source, a storage image as the destination.
    Image(Packing),
    /// Texels that are drawn, as a destination.
    Drawn(Output, Packing),
}

/// Destination of a program's texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// A compute program's storage image.
    Store,
    /// A fragment's first colour.
    Colour,
    /// A fragment's depth.
    Depth,
    /// A fragment's stencil reference.
    Stencil,
}

/// Reduction of samples to one.
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

impl Program {
    /// The stage that it runs in.
    #[must_use]
    pub fn stage(self) -> Stage {
        let drawn = match self {
            Program::RectangleVertices => return Stage::Vertex,
            Program::ClearFragments { .. } | Program::CopyTexels { to: Side::Drawn(..), .. } => {
                true
            }
            Program::Blit { to, .. } | Program::Resolve { to, .. } => to != Output::Store,
            _ => false,
        };
        if drawn { Stage::Fragment } else { Stage::Compute }
    }
}
