//! One side of a copy of pixels.

use tepui_vulkan::backend::BufferPixels;
use tepui_vulkan::{Error, Result};

use super::bindings::split;
use crate::image::Plane;
use crate::meta::SIDE_WORDS;

/// One side of an image copy.
pub(super) struct Side {
    pub(super) words: [u32; SIDE_WORDS as usize],
    pub(super) tiled: bool,
}

impl Side {
    /// A buffer.
    pub(super) fn buffer(b: &BufferPixels) -> Side {
        let ([b0, b1], [s0, s1]) = (split(b.address), split(b.slice_pitch));
        Side { words: [b0, b1, s0, s1, b.row_pitch as u32, 0, 0, 0, 0, 0], tiled: false }
    }

    /// First column, row and slice of an image.
    pub(super) fn first(&self) -> [u32; 3] {
        [self.words[7], self.words[8], self.words[9]]
    }

    pub(super) fn image(
        plane: &Plane,
        address: u64,
        level: u32,
        first_layer: u32,
        [x, y, z]: [u32; 3],
    ) -> Result<Side> {
        let l = &plane.layout;
        let at = l
            .levels()
            .get(level as usize)
            .ok_or_else(|| Error::unsupported("a level that does not exist"))?;
        let start = address + at.offset_B + u64::from(first_layer) * l.layer_stride_B;
        let ([b0, b1], [s0, s1]) = (split(start), split(l.layer_stride_B));
        let tiled = l.desc().tiling != tepui_agx_layout::Tiling::Linear;
        let [tw, th] = at.tile_el.to_array();
        let (pitch, lw, lh) = match tiled {
            true => (at.tiles.w, tw.ilog2(), th.ilog2()),
            false => (at.stride_B as u32, 0, 0),
        };
        Ok(Side { words: [b0, b1, s0, s1, pitch, lw, lh, x, y, z], tiled })
    }
}
