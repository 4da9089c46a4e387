//! Words that programs read.

use tepui_sysval::{Field, Long, Words as _, push_words};
use tepui_vulkan::vk;

push_words! {
    /// One side of a copy of texels.
    pub struct SideWords {
        /// Address of element (0, 0) of slice 0, in memory.
        pub base: Long,
        /// Bytes from slice to slice, in memory; rows of elements where bits of column and row make offsets.
        pub slice_pitch: Long,
        /// Bytes from row to row, tiles in a row, or bytes of a row of tiles, in memory.
        pub pitch: u32,
        /// Logarithms of a tile's columns and rows, in memory.
        pub tile_log2: [u32; 2],
        /// First column, row and slice.
        pub first: [u32; 3],
    }

    /// Words of copies of texels.
    pub struct CopyWords {
        /// The source.
        pub from: SideWords,
        /// The destination.
        pub to: SideWords,
        /// Columns, rows and slices of elements.
        pub size: [u32; 3],
    }

    /// Words of fills.
    pub struct FillWords {
        /// Address.
        pub to: Long,
        /// Number of words.
        pub count: u32,
        /// The word.
        pub word: u32,
    }

    /// Words of copies of elements that depend on a word in memory.
    pub struct ElementWords {
        /// Address of the source.
        pub from: Long,
        /// Address of the destination, whose elements follow each other.
        pub to: Long,
        /// Address of the word that decides.
        pub decides: Long,
        /// Bytes from element to element of the source.
        pub stride: u32,
        /// Number of elements.
        pub count: u32,
        /// Whether elements are kept if the word is zero, rather than if it is not.
        pub inverted: u32,
    }

    /// Words of the arguments of a draw of captured vertices.
    pub struct CaptureWords {
        /// Address of the counter with the end of the captured bytes.
        pub counter: Long,
        /// Address of the arguments.
        pub to: Long,
        /// First byte.
        pub start: u32,
        /// Bytes of a vertex.
        pub stride: u32,
        /// Instances.
        pub instances: u32,
        /// First instance.
        pub first_instance: u32,
    }

    /// Words of copies of query results.
    pub struct QueryWords {
        /// Address of the first query's values.
        pub values: Long,
        /// Address of the word that says whether the first query's values are there.
        pub available: Long,
        /// Address of the destination.
        pub to: Long,
        /// Bytes from query to query of the destination.
        pub stride: Long,
        /// Number of queries.
        pub count: u32,
    }

    /// Words of blits.
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
    pub struct ResolveWords {
        /// First column, row and layer of the source.
        pub from: [u32; 3],
        /// First column, row and layer of the destination.
        pub to: [u32; 3],
        /// Columns, rows and layers.
        pub size: [u32; 3],
    }

    /// Words of fragments that clear.
    pub struct ClearWords {
        /// The four components of each colour.
        pub colours: [[u32; 4]; 8],
    }

    /// Words of the vertices of rectangles.
    pub struct RectangleWords {
        /// Left, top, right and bottom in clip space.
        pub corners: [f32; 4],
        /// Depth.
        pub depth: f32,
        /// The first layer.
        pub layer: u32,
    }

    /// Words of draws of rectangles: those of the fragment program, then those of the vertices.
    pub struct DrawWords {
        /// Words of the fragment program.
        pub fragment: [u32; 32],
        /// Words of the vertices.
        pub rectangle: RectangleWords,
    }
}

/// The viewport in which a target of `size` pixels is clip space.
#[must_use]
pub fn viewport(size: [u32; 2]) -> vk::Viewport {
    vk::Viewport {
        x: 0.0,
        y: 0.0,
        width: size[0] as f32,
        height: size[1] as f32,
        min_depth: 0.0,
        max_depth: 1.0,
    }
}

/// The first layers and numbers of layers in which a rectangle is drawn: a view is the layer of its number, and without views there is
/// one range.
pub fn layers(all: (u32, u32), view_mask: u32) -> impl Iterator<Item = (u32, u32)> {
    let views = (0..32).filter(move |view| view_mask >> view & 1 != 0).map(|view| (view, 1));
    (view_mask == 0).then_some(all).into_iter().chain(views)
}

impl RectangleWords {
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

impl DrawWords {
    /// The first layer.
    pub const FIRST_LAYER: Field<DrawWords, u32> = DrawWords::RECTANGLE.then(RectangleWords::LAYER);

    /// The words of a draw; those of the fragment program that are not given are 0.
    ///
    /// # Panics
    /// When there are more than [`DrawWords::fragment`] has.
    #[must_use]
    pub fn new(fragment: &[u32], rectangle: RectangleWords) -> DrawWords {
        let mut words = DrawWords { rectangle, ..DrawWords::default() };
        words.fragment[..fragment.len()].copy_from_slice(fragment);
        words
    }
}

const _: () = assert!(ClearWords::BYTES <= DrawWords::FRAGMENT.bytes());
