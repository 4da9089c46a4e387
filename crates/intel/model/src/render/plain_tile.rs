//! Depths of a tile, read from and written to a level that is contiguous in host memory.

use tepui_raster::{DepthStencil, TILE_SIDE};
use tepui_texel::{LevelLayout, Vectors};

use super::MOST_SAMPLES;
use super::depth::DepthFormat;
use crate::port::plain::PlainLevel;

type Tile = DepthStencil<MOST_SAMPLES>;

/// Pixels that lie side by side in memory, in a row or a column of 16 bytes.
const TOGETHER: usize = 4;

/// Whether the functions of this module can access a level: it lies in tiles, and begins at a multiple of four pixels.
pub(super) fn suits(level: &PlainLevel) -> bool {
    !level.is_linear() && level.begins_at_multiple(TOGETHER as u32) && matches!(level.shift, 1 | 2)
}

/// Reads the depths of the pixels that a tile has in a level that [`suits`].
pub(super) fn load(level: &PlainLevel, format: DepthFormat, tile: &mut Tile, corner: [u32; 2]) {
    each_row(level, corner, |y, _, places| {
        let mut texels = [0u32; TILE_SIDE];
        for (four, &place) in texels.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(places) {
            // SAFETY: the pixels of the row up to the next multiple of four are inside of the level's memory, as
            // `each_row` says.
            *four = unsafe {
                match level.shift {
                    1 => place.cast::<[u16; TOGETHER]>().read_unaligned().map(u32::from),
                    _ => place.cast::<[u32; TOGETHER]>().read_unaligned(),
                }
            };
        }
        unpack(format, &texels, tile.depth_row(0, y));
    });
}

/// Writes them.
pub(super) fn store(level: &PlainLevel, format: DepthFormat, tile: &mut Tile, corner: [u32; 2]) {
    each_row(level, corner, |y, count, places| {
        let mut texels = [0u32; TILE_SIDE];
        pack(format, tile.depth_row(0, y), &mut texels);
        for (k, (four, &place)) in texels.as_chunks::<TOGETHER>().0.iter().zip(places).enumerate() {
            let own = count.saturating_sub(k * TOGETHER).min(TOGETHER);
            for (i, &texel) in four.iter().enumerate().take(own) {
                // SAFETY: the pixel is inside of the level.
                unsafe {
                    match level.shift {
                        1 => place.cast::<u16>().add(i).write_unaligned(texel as u16),
                        _ => place.cast::<u32>().add(i).write_unaligned(texel),
                    }
                }
            }
        }
    });
}

/// Calls `row` with the number of each row of a tile inside of the level, its pixels inside of it, and where each first
/// of four is. A level's memory has whole tiles of the image, which begin and end at multiples of four pixels.
fn each_row(level: &PlainLevel, corner: [u32; 2], mut row: impl FnMut(usize, usize, &[*mut u8])) {
    let [width, height] = level.size();
    let count = (width.saturating_sub(corner[0]) as usize).min(TILE_SIDE);
    let rows = (height.saturating_sub(corner[1]) as usize).min(TILE_SIDE);
    if count == 0 {
        return;
    }
    let groups = count.div_ceil(TOGETHER);
    let mut columns = [0; TILE_SIDE / TOGETHER];
    for (k, column) in columns.iter_mut().enumerate().take(groups) {
        *column = level.plain_column(corner[0] + (k * TOGETHER) as u32);
    }
    for y in 0..rows {
        let line = level.plain_line(corner[1] + y as u32);
        let places: [*mut u8; TILE_SIDE / TOGETHER] = std::array::from_fn(|k| {
            level.host().wrapping_add(((columns[k] + line) as usize) << level.shift)
        });
        row(y, count, &places[..groups]);
    }
}

/// Compiles a loop over a row for hosts with wide vectors, too.
macro_rules! row_loop {
    ($name:ident, $any:ident($from:ident: $from_ty:ty, $to:ident: $to_ty:ty), $format:ident => $body:expr) => {
        fn $name($format: DepthFormat, $from: $from_ty, $to: $to_ty) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                unsafe fn wide($format: DepthFormat, $from: $from_ty, $to: $to_ty) {
                    $any($format, $from, $to);
                }
                if Vectors::of_host() != Vectors::Any {
                    // SAFETY: the host has AVX2.
                    return unsafe { wide($format, $from, $to) };
                }
            }
            $any($format, $from, $to);
        }

        #[inline(always)]
        fn $any($format: DepthFormat, $from: $from_ty, $to: $to_ty) {
            $body
        }
    };
}

row_loop!(unpack, unpack_any(from: &[u32; TILE_SIDE], to: &mut [f32; TILE_SIDE]), format => {
    match format {
        DepthFormat::Float => {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = f32::from_bits(from);
            }
        }
        DepthFormat::Unorm(_) => {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = format.unpack(from);
            }
        }
    }
});

row_loop!(pack, pack_any(from: &[f32; TILE_SIDE], to: &mut [u32; TILE_SIDE]), format => {
    match format {
        DepthFormat::Float => {
            for (to, from) in to.iter_mut().zip(from) {
                *to = from.to_bits();
            }
        }
        DepthFormat::Unorm(_) => {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = format.pack(from);
            }
        }
    }
});
