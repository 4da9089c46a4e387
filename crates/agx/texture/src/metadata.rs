//! Compression metadata of an image: where it is, and how its tiles are numbered.

use tepui_agx_layout::compression::{self as layout, TILE_SA, TileMetadata, is_large_enough};
use tepui_format::Format;

/// The metadata of an image.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// Address of the first layer's.
    pub address: u64,
    /// Bytes from layer to layer.
    pub layer_stride: u64,
    /// The metadata of eight uncompressed subtiles.
    pub uncompressed: u64,
    /// The metadata of eight solid subtiles.
    pub solid: u64,
}

impl Metadata {
    pub(crate) fn new(address: u64, m: &layout::Metadata, format: Format) -> Metadata {
        Metadata {
            address,
            layer_stride: m.layer_stride_B,
            uncompressed: TileMetadata::uncompressed(format).map_or(0, |t| t.0),
            solid: u64::from_le_bytes([solid_mode(format.info().block.bytes); 8]),
        }
    }
}

/// The mode byte of a subtile of one colour, by the bytes of a texel.
/// source: Mesa 26.1, layout.h, `AIL_COMP_SOLID_*`
fn solid_mode(bytes: u32) -> u8 {
    match bytes {
        1 => 0x60,
        2 => 0x01,
        4 => 0x03,
        _ => 0x07,
    }
}

/// The metadata of a level.
#[derive(Clone, Copy, Debug)]
pub struct MetadataLevel {
    /// Offset of its metadata in its layer's.
    pub(crate) offset: u64,
    /// Tiles that cover the level.
    pub(crate) tiles: [u32; 2],
    /// Logarithms of the texels of a tile.
    pub(crate) tile_shift: [u32; 2],
    /// Logarithm of the side of the squares of tiles that are numbered in Morton order.
    square_shift: u32,
    /// One more than the largest number of a tile.
    pub(crate) count: u32,
}

impl MetadataLevel {
    /// `None` where the level is not compressed.
    pub(crate) fn new(
        m: &layout::Metadata,
        number: u32,
        level: &tepui_agx_layout::Level,
        samples: u32,
    ) -> Option<MetadataLevel> {
        if !is_large_enough(level.extent_px, samples) {
            return None;
        }
        let metadata = m.levels().get(number as usize)?;
        let tile = TILE_SA.ilog2();
        let tiles: [u32; 2] = metadata.tiles.to_array();
        let mut level = MetadataLevel {
            offset: metadata.offset_B,
            tiles,
            square_shift: layout::square_shift(metadata.tiles),
            tile_shift: [tile - u32::from(samples == 4), tile - u32::from(samples >= 2)],
            count: 0,
        };
        // Numbers grow with columns and with rows.
        let [w, h] = tiles;
        level.count = level.number(w.saturating_sub(1), h.saturating_sub(1)) + 1;
        Some(level)
    }

    /// The tile of a texel, numbered as the metadata is.
    /// source: Mesa, compression.cl, `index_metadata`
    #[inline]
    pub fn tile(&self, x: u32, y: u32) -> u32 {
        self.number(x >> self.tile_shift[0], y >> self.tile_shift[1])
    }

    /// The number of the tile in a column and row of tiles.
    #[inline]
    pub fn number(&self, x: u32, y: u32) -> u32 {
        let [w, h] = self.tiles;
        let bits = self.square_shift;
        let mask = (1 << bits) - 1;
        let major = if w > h { x } else { y };
        tepui_agx_layout::address::interleave(x & mask, y & mask) + ((major & !mask) << bits)
    }

    /// The first texel of a texel's tile.
    #[inline]
    pub fn corner(&self, x: u32, y: u32) -> [u32; 2] {
        [
            x >> self.tile_shift[0] << self.tile_shift[0],
            y >> self.tile_shift[1] << self.tile_shift[1],
        ]
    }

    /// Texels of a tile in each direction.
    pub(crate) fn tile_texels(&self) -> [u32; 2] {
        self.tile_shift.map(|s| 1 << s)
    }
}
