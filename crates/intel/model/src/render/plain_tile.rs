//! Depth of a tile, read from and written to a level that is contiguous in host memory.

use tepui_raster::{DepthStencil, TILE_SIDE};
use tepui_texel::LevelLayout;
#[cfg(target_arch = "x86_64")]
use tepui_texel::Vectors;

use super::depth::DepthFormat;
use super::unit::MAX_SAMPLES;
use crate::port::plain::PlainLevel;

type Tile = DepthStencil<MAX_SAMPLES>;

/// Pixels that are contiguous in memory, in a row or a column of 16 bytes.
const TOGETHER: usize = 4;

/// Whether this module supports a level: it must be tiled, and begin at a multiple of four pixels.
pub(super) fn suits(level: &PlainLevel) -> bool {
    !level.is_linear() && level.begins_at_multiple(TOGETHER as u32) && matches!(level.shift, 1 | 2)
}

/// Reads the depths of the pixels that a tile has in a level that [`suits`].
pub(super) fn load(level: &PlainLevel, format: DepthFormat, tile: &mut Tile, corner: [u32; 2]) {
    each_row(level, corner, |y, _, places| {
        let mut texels = [0u32; TILE_SIDE];
        for (four, &place) in texels.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(places) {
            // SAFETY: the pixels of the row up to the next multiple of four are inside of the level's memory, as
            // guaranteed by `each_row`.
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

/// Writes the depths of the pixels that a tile has in a level that [`suits`].
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

/// Calls `row` with the index of each row of a tile inside of the level, the number of its pixels inside, and the
/// address of each group of four. A level's memory has whole tiles of the image, which begin and end at multiples of
/// four pixels.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_softgpu::{AddressSpace, Protection};

    use super::*;
    use crate::format;
    use crate::memory::Memory;
    use crate::port::surface::{ClearColour, Dimension, Image, Tiling};

    const BASE: u64 = 0x10_0000;
    const BYTES: usize = 1 << 16;

    #[test]
    fn tiles_are_those_of_single_texels() {
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(tepui_softgpu::Memory::new(BYTES).unwrap());
        let all = Protection::READ | Protection::WRITE;
        vm.bind(BASE, memory, 0, BYTES as u64, all).unwrap();
        let formats = [
            (0x0d8, DepthFormat::Float),
            (0x0d9, DepthFormat::Unorm(24)),
            (0x10a, DepthFormat::Unorm(16)),
        ];
        for (number, kept) in formats {
            // Texels with distinct depths.
            let bytes: Vec<u8> = match kept {
                DepthFormat::Unorm(16) => {
                    (0..BYTES / 2).flat_map(|i| (i as u16).to_le_bytes()).collect()
                }
                _ => (0..BYTES / 4).flat_map(|i| (i as u32 + 5).to_le_bytes()).collect(),
            };
            vm.write(BASE, &bytes).unwrap();
            let image = Image {
                base: BASE,
                dimension: Dimension::Two,
                cube: false,
                array: true,
                size: [45, 37, 1],
                layers: 1,
                first_layer: 0,
                level: 0,
                target_level: 0,
                levels: 1,
                min_lod: 0.0,
                pitch: 256,
                qpitch: 40,
                align: [4, 4],
                tiling: Tiling::Y,
                tail: u32::MAX,
                offset: [0; 2],
                format: format::find(number).unwrap(),
                swizzle: [4, 5, 6, 7],
                samples: 1,
                interleaved: true,
                clear: ClearColour::default(),
                auxiliary: None,
                view: crate::compressed::View::PLAIN,
                may_be_clear: false,
            };
            let mut memory = Memory::new(&vm, crate::order::MemoryUnit::Sampler);
            let plane = image.level_plane(0);
            let level = PlainLevel::new(&mut memory, &image, &plane, 0, all).expect("contiguous");
            assert!(suits(&level));
            for corner in [[0, 0], [32, 0], [32, 32]] {
                let mut tile = Tile::of_samples(1);
                load(&level, kept, &mut tile, corner);
                let mut want = bytes.clone();
                for y in 0..TILE_SIDE {
                    for x in 0..TILE_SIDE {
                        let place = [corner[0] + x as u32, corner[1] + y as u32];
                        let Some(at) = plane.texel(&image, place, 0, 0) else { continue };
                        let mut texel = [0; 4];
                        memory.read(at, &mut texel[..image.format.bytes]).unwrap();
                        let depth = tile.depth_row(0, y)[x];
                        let texel = u32::from_le_bytes(texel);
                        assert_eq!(depth, kept.unpack(texel), "{kept:?} {place:?}");
                        // Writes back a different depth.
                        let new = 1.0 - depth;
                        tile.depth_row(0, y)[x] = new;
                        let from = (at - BASE) as usize;
                        let texel = kept.pack(new).to_le_bytes();
                        want[from..from + image.format.bytes]
                            .copy_from_slice(&texel[..image.format.bytes]);
                    }
                }
                store(&level, kept, &mut tile, corner);
                let mut now = vec![0; BYTES];
                vm.read(BASE, &mut now).unwrap();
                assert!(now == want, "{kept:?} {corner:?}");
                vm.write(BASE, &bytes).unwrap();
            }
        }
    }
}
