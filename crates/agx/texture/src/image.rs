//! Images as texture and pixel back end descriptors describe them: the address of every texel.

use tepui_agx_layout::address::spread;
use tepui_agx_layout::{CACHE_LINE_B, Dimension, ImageDesc, Layout, PAGE_B, Tiling, Usage};
use tepui_agx_packets::texture::{ImageMode, Layout as Arrangement, SparseBlock};
use tepui_format::Format;
use tepui_format::info::{Compression, Encoding};
use tepui_format::units::{full_chain_levels, minify};
use tepui_texel::LevelLayout;

use crate::error::Unsupported;
use crate::metadata::{Metadata, MetadataLevel};

/// A descriptor's bytes.
pub type Descriptor = [u8; 24];

/// Maximum number of levels of an image.
pub const MAX_LEVELS: usize = tepui_agx_layout::MAX_LEVELS;

/// The fields of a descriptor that decide where texels are.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Format of a texel.
    pub format: Format,
    /// Memory layout.
    pub arrangement: Arrangement,
    /// Width of level 0 in texels.
    pub width: u32,
    /// Height of level 0 in texels.
    pub height: u32,
    /// Depth of a 3D image in texels, else 1.
    pub depth: u32,
    /// Layers of an array, six for each cube; 1 for a 3D image.
    pub layers: u32,
    /// The image is 3D: its levels halve the depth too.
    pub is_3d: bool,
    /// Samples of a texel.
    pub samples: u32,
    /// The image has more than one level.
    pub mipmapped: bool,
    /// Layers are aligned to pages.
    pub page_aligned_layers: bool,
    /// Address of level 0, or of the table of pages.
    pub address: u64,
    /// Whether the image is sparse.
    pub mode: ImageMode,
    /// Address of the compression metadata, if the image is compressed.
    pub metadata: Option<u64>,
    /// Bytes from row to row, if linear.
    pub stride: u64,
    /// Bytes from layer to layer, if linear.
    pub layer_stride: u64,
}

/// The computed layout of an image.
#[derive(Clone, Debug)]
pub struct Image {
    /// Address of level 0, or of the table of pages.
    pub address: u64,
    /// Bytes from layer to layer, or from slice to slice.
    pub layer_stride: u64,
    /// Layers, or slices of level 0.
    pub layers: u32,
    /// Samples of a texel.
    pub samples: u32,
    /// Bytes of an element (of one sample).
    pub sample_bytes: u32,
    /// Logarithm of the bytes of an element, all samples together.
    pub element_shift: u32,
    /// Texels of a compression block in each direction.
    pub block: [u32; 2],
    /// Bytes from the address on that cover all texels. `None` for linear images, which may be cut
    /// short by the end of their buffer.
    pub span: Option<u64>,
    /// Compression metadata.
    pub metadata: Option<Metadata>,
    /// The table of pages of a sparse image: bytes of a layer's.
    pub layer_table: Option<u64>,
    /// Levels, level 0 first.
    levels: [Level; MAX_LEVELS],
    level_count: u8,
    /// Every texel, or every block of a compressed format, is one element of one sample, its size is a power of two, and all lie
    /// within 4 GiB.
    pub plain: bool,
}

/// A level of an image.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// Depth in texels.
    pub depth: u32,
    /// Byte offset of the level within its layer.
    pub offset: u64,
    /// Logarithms of the sides of a tile, in elements.
    tile_shift: [u32; 2],
    /// Elements from tile row to tile row.
    row: u32,
    /// Fixed-point reciprocals of the sides of a block.
    block_reciprocal: [u32; 2],
    /// The level's compression metadata, if the level is compressed.
    pub metadata: Option<MetadataLevel>,
}

/// Fraction bits of [`Level::block_reciprocal`]. With 17 bits the product with a coordinate below
/// 2^14 is exact for all block sizes up to 12, and fits into 32 bits.
const RECIPROCAL_BITS: u32 = 17;

impl Level {
    const EMPTY: Level = Level {
        width: 1,
        height: 1,
        depth: 1,
        offset: 0,
        tile_shift: [0; 2],
        row: 1,
        block_reciprocal: [1 << RECIPROCAL_BITS; 2],
        metadata: None,
    };

    /// Whether `count` texels of a row, aligned to `count`, lie in one tile, so that their element
    /// indices differ in the spread bits of the column alone. `count` must be a power of two.
    pub fn has_lines(&self, count: u32) -> bool {
        let [tw, th] = self.tile_shift;
        self.block_reciprocal == [1 << RECIPROCAL_BITS; 2] && tw >= count.ilog2() && th > 0
    }

    /// One more than the largest element index of a texel inside the level.
    fn reach(&self) -> u64 {
        let [tw, th] = self.tile_shift;
        let last = |n: u32, reciprocal: u32| (n - 1).wrapping_mul(reciprocal) >> RECIPROCAL_BITS;
        let tile_row = u64::from(last(self.height, self.block_reciprocal[1]) >> th);
        let tile = u64::from(last(self.width, self.block_reciprocal[0]) >> tw);
        tile_row * u64::from(self.row) + ((tile + 1) << (tw + th))
    }
}

impl LevelLayout for Level {
    #[inline(always)]
    fn size(&self) -> [u32; 2] {
        [self.width, self.height]
    }

    #[inline(always)]
    fn column(&self, x: u32) -> u32 {
        self.plain_column(x.wrapping_mul(self.block_reciprocal[0]) >> RECIPROCAL_BITS)
    }

    #[inline(always)]
    fn line(&self, y: u32) -> u32 {
        self.plain_line(y.wrapping_mul(self.block_reciprocal[1]) >> RECIPROCAL_BITS)
    }

    #[inline(always)]
    fn plain_column(&self, x: u32) -> u32 {
        let [tw, th] = self.tile_shift;
        ((x >> tw) << (tw + th)) + spread(x & ((1 << tw) - 1))
    }

    #[inline(always)]
    fn plain_line(&self, y: u32) -> u32 {
        let th = self.tile_shift[1];
        ((y >> th) * self.row) + (spread(y & ((1 << th) - 1)) << 1)
    }

    #[inline]
    fn is_linear(&self) -> bool {
        self.block_reciprocal == [1 << RECIPROCAL_BITS; 2] && self.tile_shift == [0; 2]
    }

    #[inline]
    fn is_morton(&self) -> bool {
        self.block_reciprocal == [1 << RECIPROCAL_BITS; 2]
            && self.tile_shift.iter().all(|&s| s >= 2)
    }
}

impl Image {
    /// Computes the layout.
    pub fn new(shape: &Shape) -> Result<Image, Unsupported> {
        let mut image = match shape.arrangement {
            Arrangement::Linear => linear(shape),
            Arrangement::Gpu => gpu(shape),
            Arrangement::Twiddled => twiddled(shape),
            Arrangement::Interchange => Err(Unsupported::Layout(shape.arrangement)),
        }?;
        let encoding = &shape.format.info().encoding;
        let is_whole = match encoding {
            // A texel depends on four blocks.
            Encoding::Compressed(compression, _) => *compression != Compression::Pvrtc1,
            _ => image.block == [1, 1],
        };
        image.plain = is_whole
            && image.samples == 1
            && image.sample_bytes.is_power_of_two()
            && image.span.is_some_and(|span| span <= u64::from(u32::MAX));
        Ok(image)
    }

    /// The levels, level 0 first.
    pub fn levels(&self) -> &[Level] {
        &self.levels[..usize::from(self.level_count)]
    }

    /// A level; numbers past the end give the last one.
    #[inline]
    pub fn level(&self, number: u32) -> &Level {
        let last = usize::from(self.level_count) - 1;
        &self.levels[(number as usize).min(last)]
    }

    fn base(shape: &Shape) -> Image {
        let block = shape.format.info().block;
        Image {
            address: shape.address,
            layer_stride: 0,
            layers: shape.layers.max(shape.depth),
            samples: shape.samples,
            sample_bytes: block.bytes,
            element_shift: (block.bytes * shape.samples).ilog2(),
            block: [block.width_px, block.height_px],
            span: None,
            metadata: None,
            layer_table: None,
            levels: [Level::EMPTY; MAX_LEVELS],
            level_count: 0,
            plain: false,
        }
    }

    fn push(&mut self, level: Level) {
        if let Some(place) = self.levels.get_mut(usize::from(self.level_count)) {
            *place = level;
            self.level_count += 1;
        }
    }

    /// Completes a tiled image whose layer is `end` bytes: layer stride, pages, span.
    fn finish(&mut self, shape: &Shape, end: u64) {
        self.layer_stride =
            if shape.page_aligned_layers { end.next_multiple_of(PAGE_B) } else { end };
        let reach = |l: &Level| l.offset + (l.reach() << self.element_shift);
        let layer = self.levels().iter().map(reach).max().unwrap_or(0);
        match shape.mode {
            ImageMode::Normal | ImageMode::NormalWithCounters => {
                self.span = Some(u64::from(self.layers - 1) * self.layer_stride + layer);
            }
            ImageMode::SparseWithoutCounters | ImageMode::Sparse => {
                let pages = self.layer_stride.div_ceil(PAGE_B);
                self.layer_table = Some(SparseBlock::layer_table_bytes(pages));
            }
        }
    }
}

/// The address of the table entry for the page that holds byte `offset` of a layer, of which the table has `layer_b` bytes.
///
/// Assumption: tables of images with mode 2 have the same form as those with mode 3; Mesa uses mode
/// 2 only for null textures, whose table is a page of zeros.
pub fn sparse_entry(table: u64, layer_b: u64, layer: u64, offset: u64) -> u64 {
    table.wrapping_add(layer * layer_b + SparseBlock::entry_offset(offset / PAGE_B))
}

fn unsupported_samples(shape: &Shape, what: &'static str) -> Result<(), Unsupported> {
    if shape.samples > 1 { Err(Unsupported::Unknown(what)) } else { Ok(()) }
}

fn linear(shape: &Shape) -> Result<Image, Unsupported> {
    unsupported_samples(shape, "a linear multisampled image")?;
    if shape.mipmapped || shape.is_3d {
        return Err(Unsupported::Unknown("a linear image with levels or depth"));
    }
    if shape.metadata.is_some() || shape.mode != ImageMode::Normal {
        return Err(Unsupported::Unknown("a linear image that is compressed or sparse"));
    }
    let mut image = Image::base(shape);
    let [block_w, block_h] = image.block;
    if block_h > 1 {
        return Err(Unsupported::Unknown("a linear image of compression blocks"));
    }
    // Strides are multiples of 16 bytes in textures, of 4 in the pixel back end.
    let row = shape.stride >> image.element_shift;
    if row << image.element_shift != shape.stride {
        return Err(Unsupported::Unknown("a row that is no multiple of a texel"));
    }
    let elements = row * u64::from(shape.height - 1) + u64::from(shape.width);
    if elements > u64::from(u32::MAX) {
        return Err(Unsupported::Unknown("a linear image of more than 2^32 texels"));
    }
    image.layer_stride = shape.layer_stride;
    let layers = u64::from(image.layers - 1).saturating_mul(image.layer_stride);
    image.span = layers.checked_add(elements << image.element_shift);
    image.push(Level {
        width: shape.width,
        height: shape.height,
        row: row as u32,
        block_reciprocal: [reciprocal(block_w), reciprocal(1)],
        ..Level::EMPTY
    });
    Ok(image)
}

/// Tiles in raster order: the layout of Mesa's images.
fn gpu(shape: &Shape) -> Result<Image, Unsupported> {
    let mut image = Image::base(shape);
    let chain = chain(shape);
    let layout = Layout::new(&ImageDesc {
        shape: tepui_agx_layout::Shape {
            format: shape.format,
            dimension: if shape.is_3d { Dimension::D3 } else { Dimension::D2 },
            width_px: shape.width,
            height_px: shape.height,
            depth_px: shape.depth,
            layers: 1,
            samples: shape.samples,
            levels: chain,
        },
        tiling: if shape.metadata.is_some() { Tiling::Compressed } else { Tiling::Twiddled },
        // Only the layer stride depends on usage, and the descriptor has it.
        usage: Usage::default(),
        linear_stride_B: None,
    })?;
    let metadata = shape.metadata.zip(layout.metadata.as_ref());
    image.metadata = metadata.map(|(address, m)| Metadata::new(address, m, shape.format));
    let mut end = 0;
    for (l, level) in (0..).zip(layout.levels()) {
        let [w, h] = level.tile_el.to_array();
        image.push(Level {
            width: level.extent_px.w,
            height: level.extent_px.h,
            depth: level.depth_px,
            offset: level.offset_B,
            tile_shift: [w.ilog2(), h.ilog2()],
            row: level.tiles.w * w * h,
            block_reciprocal: image.block.map(reciprocal),
            metadata: metadata.and_then(|(_, m)| MetadataLevel::new(m, l, level, shape.samples)),
        });
        end = level.offset_B + level.size_B;
    }
    image.finish(shape, end);
    Ok(image)
}

/// Morton order within squares as large as the smaller side of a level.
/// source: Mesa 26.1, layout.c, `ail_initialize_twiddled`
fn twiddled(shape: &Shape) -> Result<Image, Unsupported> {
    if shape.metadata.is_some() {
        return Err(Unsupported::Unknown("compression of a fully twiddled image"));
    }
    let info = shape.format.info();
    if !info.block.bytes.is_power_of_two() || info.block.bytes > 16 {
        return Err(Unsupported::Unknown("a twiddled image of such texels"));
    }
    let mut image = Image::base(shape);
    let blocks = [shape.width.div_ceil(image.block[0]), shape.height.div_ceil(image.block[1])];
    let mut offset = 0u64;
    for l in 0..chain(shape) {
        let allocated = blocks.map(|n| minify(n.next_power_of_two(), l));
        let logical = if info.is_compressed() {
            allocated
        } else {
            blocks.map(|n| minify(n, l).next_power_of_two())
        };
        let side = logical[0].min(logical[1]).ilog2();
        image.push(Level {
            width: minify(shape.width, l),
            height: minify(shape.height, l),
            depth: minify(shape.depth, l),
            offset,
            tile_shift: [side; 2],
            row: logical[0] << side,
            block_reciprocal: image.block.map(reciprocal),
            metadata: None,
        });
        let elements = u64::from(allocated[0]) * u64::from(allocated[1]);
        offset = (offset + (elements << image.element_shift)).next_multiple_of(CACHE_LINE_B);
    }
    image.finish(&Shape { page_aligned_layers: true, ..*shape }, offset);
    Ok(image)
}

/// Levels that the layout has memory for: the whole chain or one.
fn chain(shape: &Shape) -> u32 {
    let major = shape.width.max(shape.height).max(if shape.is_3d { shape.depth } else { 1 });
    if shape.mipmapped { full_chain_levels(major) } else { 1 }
}

fn reciprocal(side: u32) -> u32 {
    (1u32 << RECIPROCAL_BITS).div_ceil(side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reciprocal_divides_every_coordinate() {
        for side in [1, 2, 4, 5, 6, 8, 10, 12] {
            for x in 0..16384u32 {
                assert_eq!((x * reciprocal(side)) >> RECIPROCAL_BITS, x / side, "{x} / {side}");
            }
        }
    }
}
