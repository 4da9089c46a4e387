//! Twiddled images: tiles in raster order, elements within a tile in Morton order.
//!
//! A miptree has two parts. **Large levels** are at least one page-sized tile wide and high and are
//! made of such tiles. **Small levels** follow, each the size of a power of two and made of the
//! largest square tile that is not larger than the level's smaller side. Every level is padded to a
//! cache line.
//!
//! The hardware finds the number of tiles of large level *l* from that of level 0 with shifts
//! alone: it shifts the tile count right by 2·*l* and adds a column, a row or both with their
//! corner where halving lost one. Layers repeat the miptree; so do the slices of a 3D image, which
//! keep the levels' space although deeper levels have fewer slices.
//! source: Mesa, asahi.rst, "Image layouts"; `src/asahi/layout/layout.c`.

use tepui_format::units::{El, Extent, Px, minify};

use crate::layout::Layout;
use crate::level::Level;
use crate::{CACHE_LINE_B, ImageDesc, LayoutError, PAGE_B};

/// The largest tile for elements of `element_B` bytes (all samples of a pixel together): square or
/// twice as wide as high, and exactly one page. `element_B` is a power of two of at most 64.
pub const fn page_tile(element_B: u32) -> Extent<El> {
    let log2_elements = PAGE_B.ilog2() - element_B.ilog2();
    Extent::new(1 << log2_elements.div_ceil(2), 1 << (log2_elements / 2))
}

/// Checks the rules of the hardware for twiddled and compressed images.
pub(crate) fn check(desc: &ImageDesc) -> Result<(), LayoutError> {
    let info = desc.shape.format.info();
    let block_B = info.block.bytes;
    if desc.linear_stride_B.is_some() {
        return Err(LayoutError::StrideOfTiled);
    }
    if !block_B.is_power_of_two() || block_B > 16 {
        return Err(LayoutError::BlockSize { format: desc.shape.format, block_B });
    }
    desc.shape.check_blocks()?;
    Ok(())
}

/// Computes the miptree of an image that passed [`check`].
pub(crate) fn lay_out(layout: &mut Layout, desc: &ImageDesc) {
    let info = desc.shape.format.info();
    let block = info.block.extent();
    let element_B = layout.element_B;
    let tile = page_tile(element_B);
    let level0_px = Extent::<Px>::new(desc.shape.width_px, desc.shape.height_px);
    let level0_el = level0_px.to_el(block);
    let level0_tl = level0_el.to_tl(tile);

    // The first small level is found by halving the size in whole blocks.
    let covered_px = Extent::<Px>::new(level0_el.w * block.w, level0_el.h * block.h);
    let large_levels = (0..)
        .find(|&l| {
            let el = covered_px.minify(l).to_el(block);
            el.w < tile.w || el.h < tile.h
        })
        .unwrap_or(0);

    let level_count = if desc.shape.levels > 1 { desc.shape.full_chain() } else { 1 };
    let mut offset_B = 0;
    for l in 0..level_count {
        let extent_px = level0_px.minify(l);
        let extent_el = extent_px.to_el(block);
        let mut stride_el = extent_el.w;
        let (reserved_el, tile_el);
        if l < large_levels {
            let odd = (1u32 << l) - 1;
            let lost_column = level0_tl.w & odd != 0;
            let lost_row = level0_tl.h & odd != 0;
            let mut tiles = level0_tl.area() >> (2 * l);
            if lost_column {
                tiles += u64::from(level0_tl.h >> l);
            }
            if lost_row {
                tiles += u64::from(level0_tl.w >> l);
            }
            if lost_column && lost_row {
                tiles += 1;
            }
            reserved_el = tiles * tile.area();
            tile_el = tile;
            if info.is_compressed() && lost_column {
                stride_el += 1;
            }
        } else {
            // Block-compressed images round to a power of two before halving, all others after.
            let since = l - large_levels;
            let padded = if info.is_compressed() {
                level0_el.next_power_of_two().minify(l)
            } else {
                level0_el.minify(large_levels).next_power_of_two().minify(since)
            };
            reserved_el = padded.area();
            let side = if info.is_compressed() {
                padded.w.min(padded.h)
            } else {
                minify(level0_el.w.min(level0_el.h), l)
            };
            tile_el = Extent::new(side.next_power_of_two(), side.next_power_of_two());
        }
        let size_B = (reserved_el * u64::from(element_B)).next_multiple_of(CACHE_LINE_B);
        layout.push_level(Level {
            extent_px,
            depth_px: minify(desc.shape.depth_px, l),
            extent_el,
            offset_B,
            size_B,
            stride_el,
            stride_B: u64::from(stride_el) * u64::from(element_B),
            tile_el,
            tiles: Extent::new(stride_el, extent_el.h).to_tl(tile_el),
        });
        offset_B += size_B;
    }

    let slices = desc.shape.layers.max(desc.shape.depth_px);
    let depth_or_stencil = info.is_depth_or_stencil();
    // A mipmapped image of more than a page gets page-aligned layers, where there are several or
    // where they hold depth or stencil. Stores and rendering to layers need them in any case: the
    // pixel back end and the depth unit count the layer stride in pages.
    let mipmapped = level_count > 1 && offset_B > PAGE_B && (slices > 1 || depth_or_stencil);
    let used = desc.usage.writable || (desc.usage.renderable && slices > 1);
    layout.page_aligned_layers = mipmapped || used;
    layout.layer_stride_B =
        if layout.page_aligned_layers { offset_B.next_multiple_of(PAGE_B) } else { offset_B };
}
