//! Compressed images: what is known of the metadata, and what this model makes of the rest.
//!
//! A compressed image has eight bytes of metadata for each tile of 16×16 samples. Two contents are
//! known, because Mesa's own kernels write them: all eight bytes say "uncompressed" (texels lie
//! where a twiddled image has them), or all eight say "solid" (the colour stands at the start of
//! the tile's texels, eight times). How silicon packs texels in between is unknown.
//!
//! This model's pixel back end therefore writes every tile uncompressed, which silicon may do with
//! any tile, so that its texture unit, Mesa's decompression and clear kernels and a reader of the
//! memory agree. Texels of a tile with any other metadata (memory that was never written, or an
//! image of another device) read as zero, with a [`Note`].
//!
// source: Mesa 26.1, libagx/compression.cl, `libagx_fast_clear`; layout.h, `AIL_COMP_*`

use tepui_agx_layout::compression::TILE_METADATA_B;
use tepui_softgpu::{Access, Fault};
use tepui_texel::LevelLayout;

use crate::image::{Image, Level};
use crate::lanes::Texels;
use crate::memory::Memory;
use crate::metadata::{Metadata, MetadataLevel};
use crate::{LANES, Note, Notes, Row};

fn address_of(metadata: &Metadata, level: &MetadataLevel, layer: u64, tile: u32) -> u64 {
    metadata
        .address
        .wrapping_add(layer * metadata.layer_stride)
        .wrapping_add(level.offset + u64::from(tile) * TILE_METADATA_B)
}

fn read_tile<M: Memory>(memory: &mut M, address: u64) -> Result<u64, Fault> {
    if let Some(host) = memory.window(address, 8, Access::Read) {
        // SAFETY: the window has eight bytes that may be read.
        return Ok(u64::from_le(unsafe { host.cast::<u64>().read_unaligned() }));
    }
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// State of the texels of a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TileState {
    /// Stored as in an uncompressed image.
    Plain,
    /// All texels are those of this element.
    Solid(u32),
    /// Unknown: they read as zero.
    Unknown,
}

/// Maximum number of tiles that [`together`] handles.
const MAX_TILES: u32 = 12;

/// Bits of columns and lines that tell where texels of a box lie, all others to be cleared: all
/// bits if each lies where an uncompressed image has it, those of the tile if all tiles are solid.
/// `None` if neither, or if there are many tiles. The box's corners must be inside of the level.
#[inline]
pub(crate) fn together<M: Memory>(
    memory: &mut M,
    image: &Image,
    level: &Level,
    layer: u64,
    [low, high]: [[u32; 2]; 2],
) -> Option<[u32; 2]> {
    let (Some(metadata), Some(m)) = (&image.metadata, &level.metadata) else {
        return Some([u32::MAX; 2]);
    };
    if low[0] > high[0] || low[1] > high[1] {
        return None;
    }
    let [sx, sy] = m.tile_shift;
    let [x0, x1] = [low[0] >> sx, high[0] >> sx];
    let [y0, y1] = [low[1] >> sy, high[1] >> sy];
    if (x1 - x0 + 1).saturating_mul(y1 - y0 + 1) > MAX_TILES {
        return None;
    }
    let bytes = u64::from(m.count) * TILE_METADATA_B;
    let tiles = memory.window(address_of(metadata, m, layer, 0), bytes, Access::Read)?;
    let tile = |x, y| {
        let number = m.number(x, y);
        debug_assert!(number < m.count);
        // SAFETY: the window has the metadata of all tiles of the level.
        u64::from_le(unsafe { tiles.cast::<u64>().add(number as usize).read_unaligned() })
    };
    let first = tile(x0, y0);
    for y in y0..=y1 {
        for x in x0..=x1 {
            if tile(x, y) != first {
                return None;
            }
        }
    }
    if first == metadata.uncompressed {
        Some([u32::MAX; 2])
    } else if first == metadata.solid {
        Some(m.tile_shift.map(|s| u32::MAX << s))
    } else {
        None
    }
}

/// The state of the tile of a texel.
pub(crate) fn state<M: Memory>(
    memory: &mut M,
    notes: &mut Notes,
    image: &Image,
    level: &Level,
    layer: u64,
    x: u32,
    y: u32,
) -> Result<TileState, Fault> {
    let (Some(metadata), Some(m)) = (&image.metadata, &level.metadata) else {
        return Ok(TileState::Plain);
    };
    let now = read_tile(memory, address_of(metadata, m, layer, m.tile(x, y)))?;
    Ok(if now == metadata.uncompressed {
        TileState::Plain
    } else if now == metadata.solid {
        let [x, y] = m.corner(x, y);
        TileState::Solid(level.element(x, y))
    } else {
        notes.add(Note::UnknownCompression { metadata: now });
        TileState::Unknown
    })
}

/// Looks at the metadata of the tiles that lanes are about to read. Lanes in a solid tile are
/// pointed to its colour; the result has the lanes whose texels are unknown and read as zero.
pub(crate) fn redirect<M: Memory>(
    memory: &mut M,
    notes: &mut Notes,
    image: &Image,
    texels: &Texels<'_>,
    exec: u32,
    elements: &mut Row,
) -> u32 {
    let Texels { level, at: [x, y], layer, .. } = texels;
    let (Some(metadata), Some(m)) = (&image.metadata, &level.metadata) else { return 0 };
    let mut unknown = 0;
    // Neighbouring lanes are in the same tile most of the time.
    let [sx, sy] = m.tile_shift;
    let mut last = [u32::MAX; 3];
    let mut now = Ok(0);
    for i in 0..LANES {
        if exec >> i & 1 == 0 {
            continue;
        }
        let (x, y) = (x[i] as u32, y[i] as u32);
        let place = [x >> sx, y >> sy, layer[i]];
        if place != last {
            last = place;
            let address = address_of(metadata, m, u64::from(layer[i]), m.tile(x, y));
            now = read_tile(memory, address).map_err(|fault| {
                notes.add(Note::Unmapped { address: fault.address });
            });
        }
        let Ok(now) = now else {
            unknown |= 1 << i;
            continue;
        };
        if now == metadata.uncompressed {
            continue;
        }
        if now == metadata.solid {
            let [x, y] = m.corner(x, y);
            elements[i] = level.element(x, y);
        } else {
            notes.add(Note::UnknownCompression { metadata: now });
            unknown |= 1 << i;
        }
    }
    unknown
}

/// Makes the tiles uncompressed that `covered` texels (x0, y0, x1, y1; the last two exclusive) are
/// about to be written to. Tiles that are not covered whole keep what they show.
pub(crate) fn open_tiles<M: Memory>(
    memory: &mut M,
    notes: &mut Notes,
    image: &Image,
    level: &Level,
    layer: u64,
    [x0, y0, x1, y1]: [u32; 4],
) -> Result<(), Fault> {
    let (Some(metadata), Some(m)) = (&image.metadata, &level.metadata) else { return Ok(()) };
    let [tw, th] = m.tile_texels();
    let (mut y, x_start) = (y0 / th * th, x0 / tw * tw);
    while y < y1 {
        let mut x = x_start;
        while x < x1 {
            let address = address_of(metadata, m, layer, m.tile(x, y));
            let now = read_tile(memory, address)?;
            if now != metadata.uncompressed {
                let end = [(x + tw).min(level.width), (y + th).min(level.height)];
                let whole = x0 <= x && y0 <= y && end[0] <= x1 && end[1] <= y1;
                if !whole {
                    expand(memory, notes, image, level, layer, [x, y, end[0], end[1]], now)?;
                }
                memory.write(address, &metadata.uncompressed.to_le_bytes())?;
            }
            x += tw;
        }
        y += th;
    }
    Ok(())
}

/// Writes what a tile shows to where an uncompressed tile has it.
fn expand<M: Memory>(
    memory: &mut M,
    notes: &mut Notes,
    image: &Image,
    level: &Level,
    layer: u64,
    [x0, y0, x1, y1]: [u32; 4],
    now: u64,
) -> Result<(), Fault> {
    let texel = 1usize << image.element_shift;
    let base = image.address.wrapping_add(layer * image.layer_stride).wrapping_add(level.offset);
    let at = |x, y| base.wrapping_add(u64::from(level.element(x, y)) << image.element_shift);
    let mut colour = [0; 64];
    let colour = &mut colour[..texel];
    if image.metadata.as_ref().is_some_and(|m| m.solid == now) {
        memory.read(at(x0, y0), colour)?;
    } else {
        notes.add(Note::UnknownCompression { metadata: now });
    }
    for y in y0..y1 {
        for x in x0..x1 {
            memory.write(at(x, y), colour)?;
        }
    }
    Ok(())
}
