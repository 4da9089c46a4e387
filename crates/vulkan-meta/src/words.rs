//! Words that programs read: structures of 32-bit words, 64-bit numbers as two, the low one first.

use bytemuck::{Pod, Zeroable};
use tepui_vulkan::vk;

/// The number of the word at which a field of a structure begins.
macro_rules! word {
    ($words:ty, $($field:tt)+) => {
        const { (std::mem::offset_of!($words, $($field)+) / 4) as u32 }
    };
}
pub(crate) use word;

/// The two words of a 64-bit number.
#[must_use]
pub fn split(v: u64) -> [u32; 2] {
    [v as u32, (v >> 32) as u32]
}

/// One side of a copy of texels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct SideWords {
    /// Address of element (0, 0) of slice 0, in memory.
    pub base: [u32; 2],
    /// Bytes from slice to slice, in memory; rows of elements where bits of column and row make offsets.
    pub slice_pitch: [u32; 2],
    /// Bytes from row to row, tiles in a row, or bytes of a row of tiles, in memory.
    pub pitch: u32,
    /// Logarithms of a tile's columns and rows, in memory.
    pub tile_log2: [u32; 2],
    /// First column, row and slice.
    pub first: [u32; 3],
}

/// Words of copies of texels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct CopyWords {
    /// The source.
    pub from: SideWords,
    /// The destination.
    pub to: SideWords,
    /// Columns, rows and slices of elements.
    pub size: [u32; 3],
}

/// Words of fills.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct FillWords {
    /// Address.
    pub to: [u32; 2],
    /// Number of words.
    pub count: u32,
    /// The word.
    pub word: u32,
}

/// Words of copies of elements that depend on a word in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ElementWords {
    /// Address of the source.
    pub from: [u32; 2],
    /// Address of the destination, whose elements follow each other.
    pub to: [u32; 2],
    /// Address of the word that decides.
    pub decides: [u32; 2],
    /// Bytes from element to element of the source.
    pub stride: u32,
    /// Number of elements.
    pub count: u32,
    /// Whether elements are kept if the word is zero, rather than if it is not.
    pub inverted: u32,
}

/// Words of copies of query results.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct QueryWords {
    /// Address of the first query's values.
    pub values: [u32; 2],
    /// Address of the word that says whether the first query's values are there.
    pub available: [u32; 2],
    /// Address of the destination.
    pub to: [u32; 2],
    /// Bytes from query to query of the destination.
    pub stride: [u32; 2],
    /// Number of queries.
    pub count: u32,
}

/// Words of blits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct BlitWords {
    /// First column, row and layer of the destination.
    pub to: [u32; 3],
    /// Columns, rows and layers.
    pub size: [u32; 3],
    /// Normalised source coordinates from pixel to pixel of the destination.
    pub scale: [f32; 3],
    /// Normalised source coordinates of the lower corner of the destination's first pixel.
    pub offset: [f32; 3],
    /// First layer of the source.
    pub layer: u32,
}

/// Words of resolves.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ResolveWords {
    /// First column, row and layer of the source.
    pub from: [u32; 3],
    /// First column, row and layer of the destination.
    pub to: [u32; 3],
    /// Columns, rows and layers.
    pub size: [u32; 3],
}

/// Words of fragments that clear.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ClearWords {
    /// The four components of each colour.
    pub colours: [[u32; 4]; 8],
}

/// The first word of [`RectangleWords`]: words of the fragment program are before.
pub const RECTANGLE: u32 = 32;

/// Words of the vertices of rectangles, from word [`RECTANGLE`] on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct RectangleWords {
    /// Left, top, right and bottom in clip space.
    pub corners: [f32; 4],
    /// Depth.
    pub depth: f32,
    /// The first layer.
    pub layer: u32,
}

impl RectangleWords {
    /// The word of [`RectangleWords::layer`].
    pub const LAYER: usize = (RECTANGLE + word!(RectangleWords, layer)) as usize;

    /// Words of a rectangle of a target of `size` pixels.
    #[must_use]
    pub fn new(rect: vk::Rect2D, size: [u32; 2], depth: f32, layer: u32) -> RectangleWords {
        let to_clip = |v: i64, n: u32| 2.0 * v as f32 / n.max(1) as f32 - 1.0;
        let (x, y) = (i64::from(rect.offset.x), i64::from(rect.offset.y));
        let corners = [
            to_clip(x, size[0]),
            to_clip(y, size[1]),
            to_clip(x + i64::from(rect.extent.width), size[0]),
            to_clip(y + i64::from(rect.extent.height), size[1]),
        ];
        RectangleWords { corners, depth, layer }
    }
}

const _: () = assert!(size_of::<ClearWords>() <= 4 * RECTANGLE as usize);
