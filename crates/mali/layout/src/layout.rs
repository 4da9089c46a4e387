//! The layout of an image: levels, surfaces, layers, sizes, addresses.

use tepui_format::units::{El, Extent, Px, Tl, minify};
use tepui_layout::{Dimension, Limits, Shape, ShapeError, Texel};
use tepui_mali_chips::Arch;
use tepui_tiling::{Order, Plane, PlaneError};

use crate::afbc::{self, Afbc, HEADER_B};
use crate::{
    CACHE_LINE_B, ImageDesc, LayoutError, MAX_EXTENT, MAX_LEVELS, MAX_SAMPLES, Modifier, PAGE_B,
};

/// The layout of an image: sizes and offsets of levels, surfaces and layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    desc: ImageDesc,
    levels: Vec<Level>,
    /// Bytes from layer to layer.
    pub layer_stride_B: u64,
    /// Bytes of the image.
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
    /// Bytes of the level, all surfaces and checksums included.
    pub size_B: u64,
    /// Bytes from row to row: of elements where linear, of tiles where u-interleaved, of headers
    /// (tiles of headers, if tiled) where AFBC.
    pub row_stride_B: u64,
    /// Bytes from surface to surface: slice of a 3D image, or sample. Of a 3D AFBC image: from body
    /// to body.
    pub surface_stride_B: u64,
    /// The tile: a superblock of AFBC, a single element where linear.
    pub tile_el: Extent<El>,
    /// Number of tiles, padding included.
    pub tiles: Extent<Tl>,
    /// Headers and bodies of AFBC.
    pub afbc: Option<AfbcLevel>,
    /// The checksums that follow the level.
    pub checksums: Option<Checksums>,
}

/// The headers and bodies of an AFBC level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfbcLevel {
    /// Bytes of headers: of one surface; for a 3D image, of all slices, whose headers precede all bodies.
    pub header_size_B: u64,
    /// Bytes of body: of one surface; for a 3D image, of all slices.
    pub body_size_B: u64,
    /// Bytes from the headers of a surface to those of the next.
    pub header_stride_B: u64,
}

/// Checksums of tiles of 16×16 pixels, by which the GPU skips writes of unchanged tiles
/// (transaction elimination).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksums {
    /// Byte offset within the layer.
    pub offset_B: u64,
    /// Bytes from row to row.
    pub stride_B: u64,
    /// Size in bytes.
    pub size_B: u64,
}

impl Checksums {
    /// source: Mesa, `panfrost_compute_checksum_size`: 8 bytes a tile of 16×16, read by regions of
    /// 32×32.
    fn new(offset_B: u64, extent: Extent<Px>) -> Checksums {
        let stride_B = u64::from(extent.w.div_ceil(32)) * 2 * 8;
        Checksums { offset_B, stride_B, size_B: stride_B * u64::from(extent.h.div_ceil(32)) * 2 }
    }
}

impl Layout {
    /// Computes the layout of an image.
    ///
    /// # Errors
    /// A rule of the hardware that the image breaks.
    pub fn new(desc: &ImageDesc) -> Result<Layout, LayoutError> {
        check(desc)?;
        let (mut levels, end_B) = lay_out(desc)?;
        // Imported surfaces have no padding at the end.
        let layer_stride_B = end_B.next_multiple_of(CACHE_LINE_B);
        let size_B = match desc.explicit {
            Some(_) => end_B,
            None => (layer_stride_B * u64::from(desc.shape.layers)).next_multiple_of(PAGE_B),
        };
        levels.shrink_to_fit();
        Ok(Layout { desc: *desc, levels, layer_stride_B, size_B })
    }

    /// The description.
    pub fn desc(&self) -> &ImageDesc {
        &self.desc
    }

    /// The levels, level 0 first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Byte offset of a surface of a level: a slice of a 3D image or a sample of a layer; of its
    /// headers in AFBC images. `None` if there is no such surface.
    pub fn surface_offset_B(&self, level: u32, layer: u32, surface: u32) -> Option<u64> {
        let at = self.levels.get(level as usize)?;
        let surfaces = at.depth_px.max(self.desc.shape.samples);
        let stride_B = at.afbc.map_or(at.surface_stride_B, |afbc| afbc.header_stride_B);
        (layer < self.desc.shape.layers && surface < surfaces).then(|| {
            u64::from(layer) * self.layer_stride_B + at.offset_B + u64::from(surface) * stride_B
        })
    }

    /// Byte offset of the header of an AFBC superblock; `None` if the image is not AFBC or has no
    /// such superblock.
    pub fn afbc_header_offset_B(
        &self,
        level: u32,
        layer: u32,
        slice: u32,
        x_tl: u32,
        y_tl: u32,
    ) -> Option<u64> {
        let Modifier::Afbc(afbc) = self.desc.modifier else { return None };
        let start_B = self.surface_offset_B(level, layer, slice)?;
        let Extent { w, h, .. } = self.levels[level as usize].tiles;
        (x_tl < w && y_tl < h).then(|| start_B + afbc.header_index(x_tl, y_tl, w) * HEADER_B)
    }

    /// Byte offset of a sample, or of its block in block-compressed formats; `None` if the image
    /// has no such sample, and for AFBC, whose pixels have no fixed addresses.
    pub fn texel_offset_B(&self, at: Texel) -> Option<u64> {
        let level = self.levels.get(at.level as usize)?;
        let inside = at.x_px < level.extent_px.w
            && at.y_px < level.extent_px.h
            && at.z_px < level.depth_px
            && at.sample < self.desc.shape.samples;
        if !inside || level.afbc.is_some() {
            return None;
        }
        let start_B = self.surface_offset_B(at.level, at.layer, at.z_px.max(at.sample))?;
        let block = self.desc.shape.format.info().block;
        let plane = self.plane(level).ok()?;
        let element = plane.offset_B(at.x_px / block.width_px, at.y_px / block.height_px);
        Some(start_B + element as u64)
    }

    /// A surface of a level for the tiling kernels.
    pub(crate) fn plane(&self, level: &Level) -> Result<Plane, PlaneError> {
        let order = match self.desc.modifier {
            Modifier::UInterleaved => Order::UInterleaved,
            Modifier::Linear | Modifier::Afbc(_) => Order::Raster,
        };
        let extent = (level.extent_el.w, level.extent_el.h);
        let tile = (level.tile_el.w, level.tile_el.h);
        let element_B = self.desc.shape.format.info().block.bytes;
        Plane::new(order, element_B, extent, tile, level.row_stride_B)
    }
}

/// The levels of a layer, and the end of the last one.
/// source: Mesa, pan_layout.c, `pan_image_layout_init`.
fn lay_out(desc: &ImageDesc) -> Result<(Vec<Level>, u64), LayoutError> {
    let info = desc.shape.format.info();
    let block = info.block.extent();
    let block_B = u64::from(info.block.bytes);
    let afbc = match desc.modifier {
        Modifier::Afbc(afbc) => Some(afbc),
        Modifier::Linear | Modifier::UInterleaved => None,
    };
    let tile = desc.modifier.tile_el(desc.shape.format);
    let align = match afbc {
        Some(Afbc { superblock, .. }) => {
            let side = afbc.map_or(1, Afbc::header_tile);
            let render = superblock.render_extent();
            Extent::new(render.w * side, render.h * side)
        }
        None => tile,
    };
    let align_B = row_align_B(desc);

    let mut levels = Vec::with_capacity(desc.shape.levels as usize);
    let mut offset_B = desc.explicit.map_or(0, |e| u64::from(e.offset_B));
    for l in 0..desc.shape.levels {
        let extent_px = Extent::<Px>::new(desc.shape.width_px, desc.shape.height_px).minify(l);
        let depth_px = minify(desc.shape.depth_px, l);
        let extent_el = extent_px.to_el(block);
        let padded = extent_el.align(align);
        let tiles = padded.to_tl(tile);
        offset_B = offset_B.next_multiple_of(CACHE_LINE_B);
        let start_B = offset_B;

        let mut row_B = block_B * u64::from(padded.w) * u64::from(tile.h);
        if desc.arch >= Arch(7) {
            row_B = row_B.next_multiple_of(align_B);
        }
        match (desc.explicit, afbc) {
            (Some(explicit), None) => {
                if u64::from(explicit.row_stride_B) < row_B {
                    let stride_B = explicit.row_stride_B;
                    return Err(LayoutError::ExplicitStride { stride_B, row_B });
                }
                row_B = explicit.row_stride_B.into();
            }
            _ if desc.modifier == Modifier::Linear => row_B = row_B.next_multiple_of(CACHE_LINE_B),
            _ => {}
        }
        let content_B = row_B * u64::from(tiles.h);
        for (what, value) in
            [("a row stride in bytes", row_B), ("a surface stride in bytes", content_B)]
        {
            ShapeError::limit(what, value, MAX_STRIDE_B)?;
        }

        let surfaces = u64::from(depth_px) * u64::from(desc.shape.samples);
        let mut level = Level {
            extent_px,
            depth_px,
            extent_el,
            offset_B: start_B,
            size_B: 0,
            row_stride_B: row_B,
            surface_stride_B: content_B,
            tile_el: tile,
            tiles,
            afbc: None,
            checksums: None,
        };
        if let Some(afbc) = afbc {
            level.row_stride_B = u64::from(tiles.w) * u64::from(afbc.header_tile()) * HEADER_B;
            if let Some(explicit) = desc.explicit
                && u64::from(explicit.row_stride_B) < level.row_stride_B
            {
                let (stride_B, row_B) = (explicit.row_stride_B, level.row_stride_B);
                return Err(LayoutError::ExplicitStride { stride_B, row_B });
            }
            let header_B = (tiles.area() * HEADER_B).next_multiple_of(afbc.body_align_B(desc.arch));
            level.afbc = Some(if desc.shape.dimension == Dimension::D3 {
                // All headers of a 3D image precede all bodies.
                offset_B += header_B * u64::from(depth_px);
                AfbcLevel {
                    header_size_B: header_B * u64::from(depth_px),
                    body_size_B: content_B * u64::from(depth_px),
                    header_stride_B: header_B,
                }
            } else {
                level.surface_stride_B += header_B;
                AfbcLevel {
                    header_size_B: header_B,
                    body_size_B: content_B,
                    header_stride_B: level.surface_stride_B,
                }
            });
        }
        offset_B += level.surface_stride_B * surfaces;
        if desc.checksums {
            let checksums = Checksums::new(offset_B, extent_px);
            offset_B += checksums.size_B;
            level.checksums = Some(checksums);
        }
        level.size_B = offset_B - start_B;
        levels.push(level);
    }
    Ok((levels, offset_B))
}

/// The largest distance between rows and between surfaces: descriptors have 32 bits for each.
/// source: Mesa, v7.xml, "Surface With Stride"; v9.xml, "Plane".
const MAX_STRIDE_B: u64 = u32::MAX as u64;

/// The alignment of row strides and of the offsets of imported images.
/// source: Mesa, pan_layout.c, `format_minimum_alignment`, for formats of one plane.
fn row_align_B(desc: &ImageDesc) -> u64 {
    match desc.modifier {
        Modifier::Afbc(_) => 16,
        Modifier::Linear | Modifier::UInterleaved => 64,
    }
}

/// Checks the rules of the hardware for all images, then those for AFBC.
fn check(desc: &ImageDesc) -> Result<(), LayoutError> {
    let Shape { format, dimension, samples, .. } = desc.shape;
    desc.shape.check(&Limits::new(MAX_EXTENT, MAX_SAMPLES))?;
    desc.shape.check_blocks()?;
    debug_assert!(desc.shape.full_chain() as usize <= MAX_LEVELS);
    let block_B = format.info().block.bytes;
    if block_B > 16 {
        return Err(LayoutError::BlockSize { format, block_B });
    }
    if dimension == Dimension::D3 && samples > 1 {
        return Err(LayoutError::Multisampled3d { samples });
    }
    check_explicit(desc)?;
    match desc.modifier {
        Modifier::Afbc(afbc) => afbc::check(desc, afbc),
        Modifier::Linear | Modifier::UInterleaved => Ok(()),
    }
}

/// source: Mesa, pan_layout.c, `pan_image_layout_init`.
fn check_explicit(desc: &ImageDesc) -> Result<(), LayoutError> {
    let Some(explicit) = desc.explicit else { return Ok(()) };
    let plain =
        desc.shape.dimension == Dimension::D2 && desc.shape.layers == 1 && desc.shape.levels == 1;
    if !plain || desc.shape.samples > 1 || desc.checksums {
        return Err(LayoutError::ExplicitShape);
    }
    let align = row_align_B(desc) as u32;
    let mut numbers = vec![("offset", explicit.offset_B)];
    if desc.arch >= Arch(7) {
        numbers.push(("row stride", explicit.row_stride_B));
    }
    for (what, value) in numbers {
        if value % align != 0 {
            return Err(LayoutError::ExplicitAlignment { what, value, align });
        }
    }
    Ok(())
}

/// The index within a u-interleaved tile of element (`x`, `y`) of a u-interleaved tile:
/// | y3 | x3^y3 | y2 | x2^y2 | y1 | x1^y1 | y0 | x0^y0 |. source: Mesa, tiling.rst.
#[inline(always)]
pub const fn index_in_tile(x: u32, y: u32) -> u32 {
    INDICES[(y & 15) as usize][(x & 15) as usize] as u32
}

/// [`index_in_tile`] of all elements, row by row.
const INDICES: [[u8; 16]; 16] = {
    let mut indices = [[0; 16]; 16];
    let mut at = 0;
    while at < 256 {
        indices[at / 16][at % 16] = interleave((at % 16) as u32, (at / 16) as u32) as u8;
        at += 1;
    }
    indices
};

const fn interleave(x: u32, y: u32) -> u32 {
    let mut index = 0;
    let mut bit = 0;
    while bit < 4 {
        index |= ((x ^ y) >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1);
        bit += 1;
    }
    index
}
