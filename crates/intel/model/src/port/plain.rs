//! Levels of images that are contiguous in host memory, for vectorised access by all lanes of a message.
//!
//! A message reads or writes the texels of up to sixteen channels. If the image is single-sampled and linear or
//! in X or Y tiles, the offset of a texel is the sum of a part that depends on its column and one that depends
//! on its row ([`LevelLayout`]), which `tepui_texel` computes for all channels at once.

use std::ops::Range;

use tepui_softgpu::{Fault, Protection};
use tepui_texel::LevelLayout;

use super::image::LevelPlane;
use super::surface::{Dimension, Image, Tiling};
use crate::memory::Memory;

/// Fills an area of a layer of a level with a texel, in all samples.
///
/// # Errors
/// Memory is not bound.
pub(crate) fn fill(
    memory: &mut Memory<'_>,
    image: &Image,
    level: &LevelPlane,
    area: &[Range<u32>; 2],
    layer: u32,
    texel: &[u8],
) -> Result<(), Fault> {
    if let Some(plain) = PlainLevel::new(memory, image, level, layer, Protection::WRITE) {
        plain.fill(area.clone(), texel);
        return Ok(());
    }
    let [width, height] = level.size;
    for y in area[1].start..area[1].end.min(height) {
        for x in area[0].start..area[0].end.min(width) {
            for sample in 0..image.samples {
                if let Some(at) = level.texel(image, [x, y], layer, sample) {
                    memory.write(at, texel)?;
                }
            }
        }
    }
    Ok(())
}

/// A layer of a level, and its location on the host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainLevel {
    /// Width and height in texels.
    size: [u32; 2],
    /// The level's first column and row in the image.
    first: [u32; 2],
    columns: Columns,
    rows: Rows,
    /// Base-2 logarithm of a texel's bytes.
    pub shift: u32,
    /// The image's first byte. All texels of the level are inside of memory that is bound to the image's addresses,
    /// and that stays bound while a batch runs.
    host: *mut u8,
    linear: bool,
    /// Fixed-point reciprocals of the sides of a block.
    block_reciprocal: [u32; 2],
}

/// Fraction bits of [`PlainLevel::block_reciprocal`]: the product with a coordinate of up to 2^14 is exact for all sides of blocks up to 12,
/// and fits into 32 bits.
const RECIPROCAL_BITS: u32 = 17;

// SAFETY: host threads may concurrently read and write the GPU's memory, as silicon's units do.
unsafe impl Send for PlainLevel {}

/// Decomposition of a column into texels: those of whole tiles, those of a tile's columns of 16 bytes, and
/// the rest.
#[derive(Clone, Copy, Debug)]
struct Columns {
    tile: u32,
    tile_texels: u32,
    in_tile: u32,
    part: u32,
    part_texels: u32,
    rest: u32,
}

/// Decomposition of a row into texels: those of whole rows of tiles, and the rest.
#[derive(Clone, Copy, Debug)]
struct Rows {
    tile: u32,
    pitch: u32,
    in_tile: u32,
    texels: u32,
}

impl PlainLevel {
    /// The layer of a level, for the access `need`; `None` if it is not contiguous, or its layout is not
    /// supported.
    pub fn new(
        memory: &mut Memory<'_>,
        image: &Image,
        level: &LevelPlane,
        layer: u32,
        need: Protection,
    ) -> Option<PlainLevel> {
        match image.format.block {
            [1, 1] => PlainLevel::of_elements(memory, image, level, layer, need),
            _ => None,
        }
    }

    /// As [`PlainLevel::new`], of formats with blocks, too: texels are in the elements that [`LevelLayout::element`] says.
    pub fn of_elements(
        memory: &mut Memory<'_>,
        image: &Image,
        level: &LevelPlane,
        layer: u32,
        need: Protection,
    ) -> Option<PlainLevel> {
        let bytes = image.format.bytes as u64;
        let plain = image.samples == 1
            && bytes.is_power_of_two()
            && image.dimension == Dimension::Two
            && layer < level.layers;
        if !plain {
            return None;
        }
        let [left, top] = level.first(image, layer)?;
        let block = image.format.block;
        let [width, height] = [0, 1].map(|k| u64::from(level.size[k].div_ceil(block[k])));
        // Width in bytes and height in rows of a tile.
        let [across, down] = match image.tiling {
            Tiling::Linear => [bytes, 1],
            Tiling::X => [512, 8],
            Tiling::Y => [128, 32],
            _ => return None,
        };
        let pitch = image.pitch;
        // No column exceeds the pitch, so that no texel lies past the last row of tiles.
        if !pitch.is_multiple_of(across) || (left + width) * bytes > pitch {
            return None;
        }
        let span = (top + height).next_multiple_of(down).checked_mul(pitch)?;
        // A linear image may end with its last texel.
        let span = match image.tiling {
            Tiling::Linear => span - pitch + (left + width) * bytes,
            _ => span,
        };
        if span > 1 << 31 {
            return None;
        }
        let host = memory.window(image.base, span, need)?;
        let shift = bytes.trailing_zeros();
        let texels = |bytes: u32| bytes - shift;
        let (columns, rows) = match image.tiling {
            Tiling::Linear => (
                Columns {
                    tile: 31,
                    tile_texels: 0,
                    in_tile: 0,
                    part: 0,
                    part_texels: 0,
                    rest: u32::MAX,
                },
                Rows { tile: 0, pitch: (pitch >> shift) as u32, in_tile: 0, texels: 0 },
            ),
            Tiling::X => (
                Columns {
                    tile: texels(9),
                    tile_texels: texels(12),
                    in_tile: 0,
                    part: 0,
                    part_texels: 0,
                    rest: (1 << texels(9)) - 1,
                },
                Rows {
                    tile: 3,
                    pitch: ((8 * pitch) >> shift) as u32,
                    in_tile: 7,
                    texels: texels(9),
                },
            ),
            _ => (
                Columns {
                    tile: texels(7),
                    tile_texels: texels(12),
                    in_tile: (1 << texels(7)) - 1,
                    part: texels(4),
                    part_texels: texels(9),
                    rest: (1 << texels(4)) - 1,
                },
                Rows {
                    tile: 5,
                    pitch: ((32 * pitch) >> shift) as u32,
                    in_tile: 31,
                    texels: texels(4),
                },
            ),
        };
        Some(PlainLevel {
            size: level.size,
            first: [left as u32, top as u32],
            columns,
            rows,
            shift,
            host,
            linear: image.tiling == Tiling::Linear,
            block_reciprocal: block.map(|side| (1u32 << RECIPROCAL_BITS).div_ceil(side)),
        })
    }

    /// Whether the level's first column in the image is a multiple of a power of two, so that pixels that begin at a
    /// multiple of it stay in one column of 16 bytes if they fit in one.
    pub fn begins_at_multiple(&self, pixels: u32) -> bool {
        self.first[0].is_multiple_of(pixels)
    }

    /// Fills the part of an area that is inside of the level, which must be writable.
    pub fn fill(&self, [columns, rows]: [Range<u32>; 2], texel: &[u8]) {
        debug_assert_eq!(texel.len(), 1 << self.shift);
        const PATTERN: usize = 64;
        let [width, height] = self.size;
        let columns = columns.start..columns.end.min(width);
        let rows = rows.start..rows.end.min(height);
        let mut pattern = [0; PATTERN];
        for part in pattern.chunks_exact_mut(texel.len()) {
            part.copy_from_slice(texel);
        }
        // Contiguous texels, up to the end of a row or of a tile's column.
        let mut x = columns.start;
        while x < columns.end {
            let run = self.side_by_side(x).min(columns.end - x);
            let column = self.plain_column(x);
            for y in rows.clone() {
                let element = column.wrapping_add(self.plain_line(y));
                let to = self.host.wrapping_add((element as usize) << self.shift);
                // SAFETY: the texels are inside of the level, and contiguous.
                let to =
                    unsafe { std::slice::from_raw_parts_mut(to, (run as usize) << self.shift) };
                let (whole, rest) = to.as_chunks_mut::<PATTERN>();
                whole.fill(pattern);
                rest.copy_from_slice(&pattern[..rest.len()]);
            }
            x += run;
        }
    }

    /// Number of contiguous texels from a column on.
    fn side_by_side(&self, x: u32) -> u32 {
        let place = x.wrapping_add(self.first[0]) & self.columns.rest;
        (self.columns.rest - place).saturating_add(1)
    }

    /// Whether an area is entirely inside of the level.
    pub fn has(&self, at: [u32; 2], size: [u32; 2]) -> bool {
        (0..2)
            .all(|axis| at[axis].checked_add(size[axis]).is_some_and(|end| end <= self.size[axis]))
    }

    /// Copies an area of another level, whose texels have the same size. Both areas must be inside of their levels, and
    /// this level must be writable.
    pub fn copy_area(&self, to: [u32; 2], source: &PlainLevel, from: [u32; 2], size: [u32; 2]) {
        /// Bytes of a column of a Y tile.
        const COLUMN: usize = 16;
        assert!(self.shift == source.shift && self.has(to, size) && source.has(from, size));
        let mut x = 0;
        while x < size[0] {
            let (left, right) = (from[0] + x, to[0] + x);
            let run = source.side_by_side(left).min(self.side_by_side(right)).min(size[0] - x);
            let (left, right) = (source.plain_column(left), self.plain_column(right));
            let bytes = (run as usize) << self.shift;
            for y in 0..size[1] {
                let line = left.wrapping_add(source.plain_line(from[1] + y));
                let from = source.host.wrapping_add((line as usize) << self.shift);
                let line = right.wrapping_add(self.plain_line(to[1] + y));
                let to = self.host.wrapping_add((line as usize) << self.shift);
                // SAFETY: the texels are inside of their levels, and contiguous in each; the two may overlap.
                unsafe {
                    match bytes {
                        COLUMN => to
                            .cast::<[u8; COLUMN]>()
                            .write_unaligned(from.cast::<[u8; COLUMN]>().read_unaligned()),
                        _ => to.copy_from(from, bytes),
                    }
                }
            }
            x += run;
        }
    }

    /// The first byte of the image. Texels of the level are at their [`element`](LevelLayout::element) times their
    /// size from there, for the access that was given to [`PlainLevel::new`].
    #[inline(always)]
    pub fn host(&self) -> *mut u8 {
        self.host
    }
}

/// Transposes blocks of four: the words of four texels become those of four components, and vice versa.
#[inline(always)]
pub(crate) fn transposed([a, b, c, d]: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
    [
        [a[0], b[0], c[0], d[0]],
        [a[1], b[1], c[1], d[1]],
        [a[2], b[2], c[2], d[2]],
        [a[3], b[3], c[3], d[3]],
    ]
}

impl LevelLayout for PlainLevel {
    #[inline(always)]
    fn size(&self) -> [u32; 2] {
        self.size
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
        let x = x.wrapping_add(self.first[0]);
        let c = &self.columns;
        ((x >> c.tile) << c.tile_texels)
            .wrapping_add((x & c.in_tile) >> c.part << c.part_texels)
            .wrapping_add(x & c.rest)
    }

    #[inline(always)]
    fn plain_line(&self, y: u32) -> u32 {
        let y = y.wrapping_add(self.first[1]);
        let r = &self.rows;
        (y >> r.tile).wrapping_mul(r.pitch).wrapping_add((y & r.in_tile) << r.texels)
    }

    #[inline(always)]
    fn is_linear(&self) -> bool {
        self.linear
    }

    #[inline(always)]
    fn is_morton(&self) -> bool {
        false
    }
}
