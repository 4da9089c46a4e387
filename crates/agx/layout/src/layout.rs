//! The layout of an image: levels, layers, sizes, addresses.

use tepui_layout::Texel;

use crate::address::LevelAddresser;
use crate::compression::{Metadata, is_large_enough};
use crate::level::Level;
use crate::{ImageDesc, MAX_LEVELS};

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

impl Layout {
    /// A layout without levels.
    pub(crate) fn empty(desc: &ImageDesc) -> Layout {
        Layout {
            desc: *desc,
            levels: [Level::EMPTY; MAX_LEVELS],
            level_count: 0,
            element_B: desc.shape.format.info().block.bytes * desc.shape.samples,
            layer_stride_B: 0,
            page_aligned_layers: false,
            metadata: None,
            size_B: 0,
        }
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
        self.desc.slices()
    }

    /// Whether a level is compressed: in a compressed image, those of at least 16 samples in each
    /// direction.
    pub fn is_level_compressed(&self, level: u32) -> bool {
        let Some(at) = self.levels().get(level as usize) else { return false };
        let has_metadata =
            self.metadata.as_ref().is_some_and(|m| m.levels().len() > level as usize);
        has_metadata && is_large_enough(at.extent_px, self.desc.shape.samples)
    }

    /// Byte offset of level `level` of layer `layer` (or slice of a 3D image); `None` if there is
    /// no such level or layer.
    pub fn level_offset_B(&self, level: u32, layer: u32) -> Option<u64> {
        let level = self.levels().get(level as usize)?;
        (layer < self.slices()).then(|| self.layer_stride_B * u64::from(layer) + level.offset_B)
    }

    /// Computes addresses within one level of any layer.
    pub fn level_addresser(&self, level: u32) -> Option<LevelAddresser> {
        let level = self.levels().get(level as usize)?;
        Some(LevelAddresser::new(level, self.desc.tiling, self.element_B))
    }

    /// Byte offset of a sample, or of its block in block-compressed formats; `None` if the image
    /// has no such sample.
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
