//! Lossless compression: the metadata buffer of compressed images, and the known part of its
//! content.
//!
//! A compressed image is a twiddled image followed by a **metadata buffer**. Each 16×16 samples of
//! a compressed level are one **compression tile** with eight bytes of metadata, one byte ("mode")
//! a **subtile** of 8×4 samples. A multisampled pixel counts as 1×2 or 2×2 samples.
//!
//! Modes whose meaning is known are [`SubtileMode::Solid`] and the uncompressed mode of a format
//! ([`uncompressed_mode`]): a tile all of whose subtiles are uncompressed holds its samples exactly
//! where a twiddled image has them. **Unknown** are all other modes, that is, how the hardware
//! packs the samples of a compressed subtile; where a solid subtile keeps its colour; and which
//! byte of the word belongs to which subtile.
//! source: Mesa, `src/asahi/layout/layout.h` (`AIL_COMP_*`), `layout.c`
//! (`ail_initialize_compression`), `src/asahi/libagx/compression.cl`.

use tepui_format::Format;
use tepui_format::units::{Extent, Sa, Tl};

use crate::address::interleave;
use crate::formats::format_support;
use crate::level::Level;
use crate::{CACHE_LINE_B, ImageDesc, LayoutError, MAX_LEVELS};

/// Samples of a compression tile in each direction.
pub const TILE_SA: u32 = 16;

/// Bytes of metadata of a compression tile.
pub const TILE_METADATA_B: u64 = 8;

/// Width and height of a subtile.
pub const SUBTILE: Extent<Sa> = Extent::new(8, 4);

/// The metadata buffer of a compressed image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Byte offset of the buffer in the image.
    pub offset_B: u64,
    /// Bytes from layer to layer of metadata.
    pub layer_stride_B: u64,
    /// Bytes of the buffer, all layers.
    pub size_B: u64,
    levels: [MetadataLevel; MAX_LEVELS],
    level_count: u8,
}

/// The metadata of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataLevel {
    /// Byte offset of the level's metadata within that of the layer.
    pub offset_B: u64,
    /// Bytes reserved, padding included.
    pub size_B: u64,
    /// The compression tiles that cover the level.
    pub tiles: Extent<Tl>,
}

/// Checks the rules of the hardware for compressed images.
pub(crate) fn check(desc: &ImageDesc) -> Result<(), LayoutError> {
    let info = desc.shape.format.info();
    // Compression happens on the way out of the pixel back end or the depth unit.
    if !format_support(desc.shape.format).renderable && !info.is_depth_or_stencil() {
        return Err(LayoutError::NotCompressible { format: desc.shape.format });
    }
    if desc.usage.writable {
        return Err(LayoutError::WritableCompressed);
    }
    let sa = extent_sa(Extent::new(desc.shape.width_px, desc.shape.height_px), desc.shape.samples);
    if sa.w < TILE_SA || sa.h < TILE_SA {
        return Err(LayoutError::TooSmallToCompress { width_sa: sa.w, height_sa: sa.h });
    }
    Ok(())
}

/// The extent of an image in samples: a pixel of two samples counts as 1x2, one of four as 2x2.
pub fn extent_sa(px: Extent<tepui_format::units::Px>, samples: u32) -> Extent<Sa> {
    Extent::new(px.w * if samples == 4 { 2 } else { 1 }, px.h * if samples >= 2 { 2 } else { 1 })
}

/// Whether a level of a compressed image is compressed: metadata is reserved for levels whose
/// larger side has 16 samples, but used only where the smaller one has.
/// source: Mesa 26.1, layout.h, `ail_is_level_logically_compressed`
pub fn is_large_enough(level: Extent<tepui_format::units::Px>, samples: u32) -> bool {
    let sa = extent_sa(level, samples);
    sa.w.min(sa.h) >= TILE_SA
}

impl Metadata {
    /// Lays out the metadata of an image's levels, from byte `offset_B` of the image on.
    pub(crate) fn new(desc: &ImageDesc, levels: &[Level], offset_B: u64) -> Metadata {
        let tile = Extent::<Sa>::new(TILE_SA, TILE_SA);
        let level0 =
            extent_sa(Extent::new(desc.shape.width_px, desc.shape.height_px), desc.shape.samples);
        let padded = level0.align(tile);
        let major = padded.w.max(padded.h);

        let mut metadata = Metadata {
            offset_B,
            layer_stride_B: 0,
            size_B: 0,
            levels: [MetadataLevel { offset_B: 0, size_B: 0, tiles: Extent::new(0, 0) };
                MAX_LEVELS],
            level_count: 0,
        };
        let mut sa = padded;
        for (l, level) in (0..).zip(levels) {
            if major >> l < TILE_SA {
                break;
            }
            // Addresses are Morton order over the whole level, so that both sides are padded.
            let reserved = sa.next_power_of_two();
            let tiles =
                u64::from(reserved.w.div_ceil(TILE_SA)) * u64::from(reserved.h.div_ceil(TILE_SA));
            let size_B = (tiles * TILE_METADATA_B).next_multiple_of(CACHE_LINE_B);
            let covered = extent_sa(level.extent_px, desc.shape.samples);
            metadata.levels[l as usize] = MetadataLevel {
                offset_B: metadata.layer_stride_B,
                size_B,
                tiles: Extent::new(covered.w.div_ceil(TILE_SA), covered.h.div_ceil(TILE_SA)),
            };
            metadata.level_count += 1;
            metadata.layer_stride_B += size_B;
            sa = Extent::new(sa.w.div_ceil(2), sa.h.div_ceil(2));
        }
        metadata.size_B = metadata.layer_stride_B * u64::from(desc.slices());
        metadata
    }

    /// The levels that metadata is reserved for, level 0 first. Not all of them are compressed
    /// ([`is_large_enough`]).
    pub fn levels(&self) -> &[MetadataLevel] {
        &self.levels[..usize::from(self.level_count)]
    }

    /// Byte offset in the image of the metadata of a compression tile; `None` if the level is not
    /// compressed or has no such tile. The layer must exist.
    pub fn tile_offset_B(&self, level: u32, layer: u32, x_tl: u32, y_tl: u32) -> Option<u64> {
        let level = self.levels().get(level as usize)?;
        if x_tl >= level.tiles.w || y_tl >= level.tiles.h {
            return None;
        }
        Some(
            self.offset_B
                + u64::from(layer) * self.layer_stride_B
                + level.offset_B
                + u64::from(tile_index(level.tiles, x_tl, y_tl)) * TILE_METADATA_B,
        )
    }
}

/// Logarithm of the side of the squares of tiles that are numbered in Morton order; the squares follow
/// each other along the longer side.
pub fn square_shift(tiles: Extent<Tl>) -> u32 {
    tiles.w.min(tiles.h).next_power_of_two().ilog2()
}

/// The index of a compression tile within its level: Morton order as far as the smaller side
/// reaches, the rest of the longer side's coordinate above.
/// source: Mesa, compression.cl, `index_metadata`.
fn tile_index(tiles: Extent<Tl>, x_tl: u32, y_tl: u32) -> u32 {
    let bits = square_shift(tiles);
    let mask = (1 << bits) - 1;
    let major = if tiles.w > tiles.h { x_tl } else { y_tl };
    interleave(x_tl & mask, y_tl & mask) + ((major & !mask) << bits)
}

/// A decoded mode byte of a subtile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubtileMode {
    /// All samples have one colour. Where it is kept is unknown.
    Solid,
    /// The samples lie where a twiddled image has them.
    Uncompressed,
    /// A mode of unknown meaning.
    Unknown(u8),
}

/// The mode byte of a subtile of one colour. source: Mesa, `AIL_COMP_SOLID`.
pub const SOLID_MODE: u8 = 0x03;

/// The mode byte of an uncompressed subtile; depends on the bytes of a pixel. `None` for formats
/// that cannot be compressed. source: Mesa, `AIL_COMP_UNCOMPRESSED_*`.
pub fn uncompressed_mode(format: Format) -> Option<u8> {
    match format.info().block.bytes {
        1 => Some(0x1f),
        2 => Some(0x3f),
        4 => Some(0x7f),
        8 | 16 => Some(0xff),
        _ => None,
    }
}

/// The metadata of one compression tile: a mode for each of its eight subtiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TileMetadata(pub u64);

impl TileMetadata {
    /// A tile all of whose subtiles are uncompressed. `None` for formats that cannot be compressed.
    pub fn uncompressed(format: Format) -> Option<TileMetadata> {
        let mode = uncompressed_mode(format)?;
        Some(TileMetadata(u64::from_le_bytes([mode; 8])))
    }

    /// The eight modes in the order of memory. Which subtile each belongs to is unknown.
    pub fn modes(self, format: Format) -> [SubtileMode; 8] {
        let uncompressed = uncompressed_mode(format);
        self.0.to_le_bytes().map(|mode| match mode {
            SOLID_MODE => SubtileMode::Solid,
            mode if Some(mode) == uncompressed => SubtileMode::Uncompressed,
            mode => SubtileMode::Unknown(mode),
        })
    }

    /// Whether every sample of the tile lies where a twiddled image has it, so that the tile can be
    /// read and written as one.
    pub fn is_uncompressed(self, format: Format) -> bool {
        TileMetadata::uncompressed(format) == Some(self)
    }
}

impl std::fmt::Debug for TileMetadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TileMetadata({:#018x})", self.0)
    }
}
