//! Blocks of sparse images, which have memory of their own: tiles.

use tepui_intel_layout::ys_tile_el;
use tepui_vulkan::backend::{ImageInfo, SparseLayout};
use tepui_vulkan::vk;

use crate::image::Image;
use crate::tiled_resources::TILE_B;

/// Whether blocks of a sparse image have memory of their own: its tiles are standard blocks. Host copies do not know the order of texels in
/// these, and in images of three dimensions it is another one than in those of two, as which a view may show them; such images are bound as
/// a whole. source: Mesa, isl_gfx7.c (`isl_gfx6_filter_tiling`)
pub fn has_blocks(info: &ImageInfo) -> bool {
    use vk::ImageCreateFlags as F;
    let flat = F::_2D_ARRAY_COMPATIBLE | F::_2D_VIEW_COMPATIBLE_EXT;
    info.flags.contains(F::SPARSE_RESIDENCY)
        && !info.usage.contains(vk::ImageUsageFlags::HOST_TRANSFER)
        && !(info.image_type == vk::ImageType::_3D && info.flags.intersects(flat))
}

impl Image {
    /// Blocks of sparse images: tiles. Images in other tiles are one tail.
    pub fn sparse_layout(&self) -> SparseLayout {
        let l = &self.planes[0].layout;
        let Some([w, h, d]) = ys_tile_el(l.desc()) else {
            let (tail_level, tail_size) = (0, self.size);
            return SparseLayout {
                page_px: [1; 3],
                page_size: TILE_B,
                tail_level,
                tail_size,
                single_tail: true,
            };
        };
        let block = l.desc().shape.format.info().block;
        SparseLayout {
            page_px: [w * block.width_px, h * block.height_px, d],
            page_size: TILE_B,
            tail_level: l.tail.unwrap_or(l.desc().shape.levels),
            tail_size: TILE_B,
            single_tail: false,
        }
    }

    /// The first byte of the block that holds a pixel of a level.
    pub fn sparse_page(&self, level: u32, layer: u32, [x, y, z]: [u32; 3]) -> u64 {
        let l = &self.planes[0].layout;
        let block = l.desc().shape.format.info().block;
        l.ys_tile_B(level, layer, [x / block.width_px, y / block.height_px, z]).unwrap_or(0)
    }
}
