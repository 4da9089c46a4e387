//! The layout of an image: levels, layers, sizes, addresses.

use tepui_format::units::{El, Extent, Px, Tl};
use tepui_layout::{Limits, Texel};

use crate::compression::{self, Metadata};
use crate::{
    CACHE_LINE_B, ImageDesc, LayoutError, LevelAddresser, MAX_EXTENT, MAX_LEVELS, MAX_SAMPLES,
    Tiling, linear, twiddled,
};

/// The layout of an image: sizes and offsets of levels and layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    desc: ImageDesc,
    levels: [Level; MAX_LEVELS],
    level_count: u8,
    /// Bytes of an element: of a block, or of all samples of a pixel.
    pub element_B: u32,
    /// Bytes from layer to layer, or from slice to slice of a 3D image.
    pub layer_stride_B: u64,
    /// Whether layers are aligned to pages, which the descriptor has to say.
    pub page_aligned_layers: bool,
    /// The metadata of a compressed image.
    pub metadata: Option<Metadata>,
    /// Bytes of the image, metadata included.
    pub size_B: u64,
}

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
    /// Elements of a row from which the hardware computes the number of tiles: one more than the width where
    /// halving dropped a column of blocks in a large level.
    pub stride_el: u32,
    /// Bytes from row to row of a linear image; of a tiled one, bytes of a row's elements.
    pub stride_B: u64,
    /// The tile; 1×1 where the image is linear.
    pub tile_el: Extent<El>,
    /// Number of tiles that cover the level. The reserved memory may be larger.
    pub tiles: Extent<Tl>,
}

impl Level {
    const EMPTY: Level = Level {
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

impl Layout {
    /// Computes the layout of an image.
    ///
    /// # Errors
    /// A rule of the hardware that the image breaks.
    pub fn new(desc: &ImageDesc) -> Result<Layout, LayoutError> {
        check(desc)?;
        let mut layout = Layout {
            desc: *desc,
            levels: [Level::EMPTY; MAX_LEVELS],
            level_count: 0,
            element_B: desc.shape.format.info().block.bytes * desc.shape.samples,
            layer_stride_B: 0,
            page_aligned_layers: false,
            metadata: None,
            size_B: 0,
        };
        match desc.tiling {
            Tiling::Linear => linear::lay_out(&mut layout, desc),
            Tiling::Twiddled | Tiling::Compressed => twiddled::lay_out(&mut layout, desc),
        }
        layout.size_B = layout.layer_stride_B * u64::from(layout.slices());
        if desc.tiling == Tiling::Compressed {
            let metadata = Metadata::new(&layout);
            layout.size_B += metadata.size_B;
            layout.metadata = Some(metadata);
        }
        layout.size_B = layout.size_B.next_multiple_of(CACHE_LINE_B);
        Ok(layout)
    }

    pub(crate) fn push_level(&mut self, level: Level) {
        self.levels[usize::from(self.level_count)] = level;
        self.level_count += 1;
    }

    /// The description.
    pub fn desc(&self) -> &ImageDesc {
        &self.desc
    }

    /// All levels that have memory, level 0 first: the whole chain if the image has more than one.
    pub fn levels(&self) -> &[Level] {
        &self.levels[..usize::from(self.level_count)]
    }

    /// Layers, or slices of a 3D image; each has a miptree.
    pub fn slices(&self) -> u32 {
        self.desc.shape.layers.max(self.desc.shape.depth_px)
    }

    /// Whether the tiles of a level have metadata. Levels of a compressed image that are smaller
    /// than 16 samples in both directions have none.
    pub fn is_level_compressed(&self, level: u32) -> bool {
        self.metadata.as_ref().is_some_and(|m| m.levels().len() > level as usize)
    }

    /// Byte offset of level `level` of layer `layer` (or slice of a 3D image); `None` if there is no such level or
    /// layer.
    pub fn level_offset_B(&self, level: u32, layer: u32) -> Option<u64> {
        let level = self.levels().get(level as usize)?;
        (layer < self.slices()).then(|| self.layer_stride_B * u64::from(layer) + level.offset_B)
    }

    /// Computes addresses within one level of any layer.
    pub fn level_addresser(&self, level: u32) -> Option<LevelAddresser> {
        let level = self.levels().get(level as usize)?;
        Some(LevelAddresser::new(level, self.desc.tiling, self.element_B))
    }

    /// Byte offset of a sample, or of its block in block-compressed formats; `None` if the image has no such
    /// sample.
    pub fn texel_offset_B(&self, at: Texel) -> Option<u64> {
        let level = self.levels().get(at.level as usize)?;
        let inside = at.x_px < level.extent_px.w
            && at.y_px < level.extent_px.h
            && at.z_px < level.depth_px
            && at.layer < self.desc.shape.layers
            && at.sample < self.desc.shape.samples;
        if !inside {
            return None;
        }
        let block = self.desc.shape.format.info().block;
        let addresser = LevelAddresser::new(level, self.desc.tiling, self.element_B);
        let element = addresser.offset_B(at.x_px / block.width_px, at.y_px / block.height_px);
        Some(
            self.layer_stride_B * u64::from(at.layer.max(at.z_px))
                + level.offset_B
                + element
                + u64::from(at.sample) * u64::from(block.bytes),
        )
    }
}

/// Checks the rules of the hardware for all images, then those for its memory layout.
fn check(desc: &ImageDesc) -> Result<(), LayoutError> {
    let buffer = desc.tiling == Tiling::Linear && linear::is_buffer(desc);
    let width_px = if buffer { linear::MAX_BUFFER_PX } else { MAX_EXTENT };
    desc.shape.check(&Limits { width_px, ..Limits::new(MAX_EXTENT, MAX_SAMPLES) })?;
    match desc.tiling {
        Tiling::Linear => linear::check(desc),
        Tiling::Twiddled => twiddled::check(desc),
        Tiling::Compressed => twiddled::check(desc).and_then(|()| compression::check(desc)),
    }
}
