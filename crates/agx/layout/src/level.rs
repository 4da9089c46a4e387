//! One mip level of a layout.

use tepui_format::units::{El, Extent, Px, Tl};

/// One mip level within a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Width and height in pixels.
    pub extent_px: Extent<Px>,
    /// Depth in pixels.
    pub depth_px: u32,
    /// Width and height in elements.
    pub extent_el: Extent<El>,
    /// Byte offset of the level within its layer.
    pub offset_B: u64,
    /// Bytes reserved, padding included.
    pub size_B: u64,
    /// Elements of a row from which the hardware computes the number of tiles: one more than the
    /// width where halving dropped a column of blocks in a large level.
    pub stride_el: u32,
    /// Bytes from row to row of a linear image; of a tiled one, bytes of a row's elements.
    pub stride_B: u64,
    /// The tile; 1×1 where the image is linear.
    pub tile_el: Extent<El>,
    /// Number of tiles that cover the level. The reserved memory may be larger.
    pub tiles: Extent<Tl>,
}

impl Level {
    /// No level.
    pub(crate) const EMPTY: Level = Level {
        extent_px: Extent::new(0, 0),
        depth_px: 0,
        extent_el: Extent::new(0, 0),
        offset_B: 0,
        size_B: 0,
        stride_el: 0,
        stride_B: 0,
        tile_el: Extent::new(1, 1),
        tiles: Extent::new(0, 0),
    };
}
