//! Addresses of an image's texels.
//!
//! source: Mesa, isl.c (`isl_calc_phys_slice0_extent_sa_gfx4_2d`, `isl_surf_get_image_offset_*`),
//! isl_tiled_memcpy.c; SKL PRM volume 5, "surface layout", "tile formats".

use std::ops::Range;

use tepui_intel_layout as layout;
use tepui_intel_layout::{tail, yf3_tile_el};
use tepui_softgpu::Contents;

use super::surface::{Dimension, Image, Tiling, ys_tile, ys_tile_of_samples, ys3_tile};
use crate::memory::Memory;

impl Image {
    /// Size of a level in texels.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        let shrink = |size: u32| (size >> level.min(31)).max(1);
        match self.dimension {
            Dimension::One => [shrink(self.size[0]), 1, 1],
            Dimension::Two => [shrink(self.size[0]), shrink(self.size[1]), 1],
            Dimension::Three => self.size.map(shrink),
        }
    }

    /// Whether its levels and layers are consecutive rows without a pitch: 1D images, unless they are tiled (as depth
    /// is), in which case they are arranged like 2D images.
    pub fn is_rows(&self) -> bool {
        self.dimension == Dimension::One && self.tiling == Tiling::Linear
    }

    /// The first element (texel or block) of a level within a layer: column and row. Levels are aligned in
    /// elements.
    pub(super) fn level_place(&self, level: u32) -> [u64; 2] {
        let halign = u64::from(self.align[0]);
        let [width, height] = self.format.block;
        let size = |level| {
            let [w, h, _] = self.level_size(level);
            [w.div_ceil(width), h.div_ceil(height)].map(u64::from)
        };
        if self.is_rows() {
            // Levels are next to each other.
            let before: u64 = (0..level).map(|l| size(l)[0].next_multiple_of(halign)).sum();
            return [before, 0];
        }
        level_origin(level, self.align, |level| size(level).map(|v| v as u32))
    }

    /// The address of a texel of a layer (or slice) at a level; `None` outside of the image.
    pub fn texel(&self, level: u32, x: u32, y: u32, layer: u32) -> Option<u64> {
        self.level_plane(level).texel(self, [x, y], layer, 0)
    }

    /// A level, with its position computed once.
    pub fn level_plane(&self, level: u32) -> LevelPlane {
        // All levels of a tail are in the tile of the first one.
        let [left, top] = self.level_place(level.min(self.tail));
        let [width, height, _] = self.level_size(level);
        let (left, top, first) = match level.checked_sub(self.tail) {
            Some(number) => {
                let three = self.dimension == Dimension::Three;
                let element = self.format.bytes as u32;
                let large = matches!(self.tiling, Tiling::Ys { .. } | Tiling::Ys3 { .. });
                let [x, y, z] = tail::offset(three, large, number, element);
                (left + u64::from(x), top + u64::from(y), z)
            }
            None => (left, top, 0),
        };
        LevelPlane {
            level,
            size: [width, height],
            layers: self.layers_at(level),
            left: left + u64::from(self.offset[0]),
            top: top + u64::from(self.offset[1]),
            first,
            base_layer: self.first_layer,
        }
    }

    /// A level as the sampler reads it: for 3D images, Render Target View Extent is the number of slices that are
    /// rendered to, and the sampler can read all from Minimum Array Element on.
    ///
    /// source: Mesa, isl_surface_state.c: Skylake is the first generation whose sampler uses Minimum Array
    /// Element.
    pub fn sampled_plane(&self, level: u32) -> LevelPlane {
        let plane = self.level_plane(level);
        match self.dimension {
            Dimension::Three => {
                LevelPlane { layers: (self.size[2] >> level.min(31)).max(1), ..plane }
            }
            _ => plane,
        }
    }

    /// Whether a texel belongs to a clear block, for an image that [may have some](Image::may_be_clear).
    pub fn is_clear(
        &self,
        memory: &mut Memory<'_>,
        level: u32,
        place: [u32; 2],
        layer: u32,
    ) -> Result<bool, tepui_softgpu::Fault> {
        match self.auxiliary {
            Some(auxiliary) => auxiliary.plane(self, level).is_clear_at(memory, place, layer),
            None => Ok(false),
        }
    }

    /// Tells the checker that the clear colour stands for a texel.
    pub fn report_clear(&self, memory: &Memory<'_>, at: u64) {
        if memory.is_observed() {
            memory.report_contents(self.view, at, 1, self.used_clear());
        }
    }

    /// Number of layers, or of slices of a level.
    fn layers_at(&self, level: u32) -> u32 {
        match self.dimension {
            Dimension::Three => (self.size[2] >> level.min(31)).max(1).min(self.layers),
            _ => self.layers,
        }
    }
}

/// The first element of a level in a 2D layer, from the sizes of levels in elements: level 2 is to the right of
/// level 1, all others below level 2.
pub(super) fn level_origin(
    level: u32,
    align: [u32; 2],
    size: impl Fn(u32) -> [u32; 2],
) -> [u64; 2] {
    let aligned = |level: u32, axis: usize| {
        u64::from(size(level)[axis]).next_multiple_of(u64::from(align[axis]))
    };
    match level {
        0 => [0, 0],
        1 => [0, aligned(0, 1)],
        _ => [aligned(1, 0), aligned(0, 1) + (2..level).map(|l| aligned(l, 1)).sum::<u64>()],
    }
}

/// A level of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelPlane {
    /// Its number.
    pub level: u32,
    /// Width and height in texels.
    pub size: [u32; 2],
    /// Layers, or slices.
    pub layers: u32,
    left: u64,
    top: u64,
    /// The first slice of the level, for levels in a 3D tail.
    first: u32,
    /// Added to the layer.
    base_layer: u32,
}

impl LevelPlane {
    /// The first column and row of a layer, for single-sampled, uncompressed 2D images; `None` if they do not fit 32
    /// bits.
    pub fn first(&self, image: &Image, layer: u32) -> Option<[u64; 2]> {
        let layer = u64::from(self.base_layer.wrapping_add(layer));
        let row = layer.checked_mul(image.qpitch)?.checked_add(self.top)?;
        let fits = |v: u64| u32::try_from(v).is_ok();
        (fits(row) && fits(self.left)).then_some([self.left, row])
    }

    /// Tells the checker, if there is one, of the contents of an area of columns and rows.
    pub fn report_contents(
        &self,
        memory: &Memory<'_>,
        image: &Image,
        area: &[Range<u32>; 2],
        layer: u32,
        contents: Contents,
    ) {
        if !memory.is_observed() {
            return;
        }
        let [columns, rows] = [0, 1].map(|k| area[k].start..area[k].end.min(self.size[k]));
        for (x, y) in rows.flat_map(|y| columns.clone().map(move |x| (x, y))) {
            for sample in 0..image.samples {
                if let Some(at) = self.texel(image, [x, y], layer, sample) {
                    memory.report_contents(image.view, at, 1, contents);
                }
            }
        }
    }

    /// The address of a sample of a texel in a layer (or slice); `None` outside of the image.
    #[inline]
    pub fn texel(&self, image: &Image, [x, y]: [u32; 2], layer: u32, sample: u32) -> Option<u64> {
        if x >= self.size[0] || y >= self.size[1] || layer >= self.layers {
            return None;
        }
        let layer = self.base_layer.wrapping_add(layer);
        if let Tiling::YsSamples { element, samples } = image.tiling {
            let row = self.top + u64::from(y) + u64::from(layer) * image.qpitch;
            let place = [self.left + u64::from(x), row];
            return Some(
                image.base + place_of_samples(image.pitch, [element, samples], place, sample),
            );
        }
        let ([x, y], layer) = match image.samples {
            1 => ([x, y], u64::from(layer)),
            samples if image.interleaved => {
                (layout::interleave(samples, (x, y), sample).into(), layer.into())
            }
            // The samples of a layer are consecutive slices.
            samples => ([x, y], u64::from(layer) * u64::from(samples) + u64::from(sample)),
        };
        let [width, height] = image.format.block;
        let column = self.left + u64::from(x / width);
        let deep = match image.tiling {
            Tiling::Yf3 { element } => Some((element, yf3_tile_el(element))),
            Tiling::Ys3 { element } => Some((element, ys3_tile(element))),
            _ => None,
        };
        if let Some((element, tile)) = deep {
            let row = self.top + u64::from(y / height);
            let slice = layer + u64::from(self.first);
            return Some(image.base + place_of_three(image, element, tile, [column, row, slice]));
        }
        // source: Mesa, isl_genX_helpers.h (`isl_get_qpitch`): QPitch counts rows of elements.
        let above = layer * image.qpitch;
        let row = self.top + u64::from(y / height) + above;
        let bytes = image.format.bytes as u64;
        // Rows have no pitch: a layer is a row of QPitch texels.
        // source: Mesa, isl.h (`ISL_DIM_LAYOUT_GFX9_1D`).
        if image.is_rows() {
            return Some(image.base + (column + layer * image.qpitch) * bytes);
        }
        Some(image.base + place(image.tiling, image.pitch, column * bytes, row))
    }
}

/// The byte offset of an element of a 3D image in Yf or Ys tiles.
///
/// Assumption: tiles of consecutive depth are QPitch rows of elements times the depth of a tile apart; within
/// a tile, elements are ordered row by row, slice by slice. Only the GPU reads them.
fn place_of_three(image: &Image, element: u32, tile: [u32; 3], [x, y, z]: [u64; 3]) -> u64 {
    let [width, height, depth] = tile.map(u64::from);
    let bytes = width * height * depth * u64::from(element);
    let rows = z / depth * image.qpitch * depth;
    let tile = (rows + y / height * height * depth) * image.pitch + x / width * bytes;
    tile + ((z % depth * height + y % height) * width + x % width) * u64::from(element)
}

/// Bytes of a Ys tile.
const YS_BYTES: u64 = 1 << 16;

/// The byte offset of a sample in Ys tiles that have all samples of an element; those of an element are consecutive.
///
/// Assumption: elements are ordered row by row. Only the GPU reads such tiles.
fn place_of_samples(
    pitch: u64,
    [element, samples]: [u32; 2],
    [x, y]: [u64; 2],
    sample: u32,
) -> u64 {
    let [width, height, rows] = ys_tile_of_samples(element, samples).map(u64::from);
    let tile = y / height * rows * pitch + x / width * YS_BYTES;
    let number = (y % height * width + x % width) * u64::from(samples) + u64::from(sample);
    tile + number * u64::from(element)
}

/// The offset of a byte of a row, with rows or rows of tiles `pitch` bytes apart.
pub(super) fn place(tiling: Tiling, pitch: u64, x: u64, y: u64) -> u64 {
    match tiling {
        Tiling::Linear => y * pitch + x,
        Tiling::X => tiled(layout::Tiling::X, 1, pitch, [x, y]),
        Tiling::Y => tiled(layout::Tiling::Y, 1, pitch, [x, y]),
        Tiling::W => tiled(layout::Tiling::W, 1, pitch, [x, y]),
        Tiling::Yf { element } => tiled(layout::Tiling::Yf, element, pitch, [x, y]),
        // Assumption: elements are ordered row by row. Only the GPU reads such tiles.
        Tiling::Ys { element } => {
            let [width, height] = ys_tile(element).map(u64::from);
            let tile = y / height * height * pitch + x / width * width * height;
            tile + y % height * width + x % width
        }
        // Found by `place_of_three`.
        Tiling::Yf3 { .. } | Tiling::Ys3 { .. } => 0,
        // Found by `place_of_samples`.
        Tiling::YsSamples { .. } => 0,
    }
}

/// Version of [`place`] for tiles of 4 KiB, in images of elements of `element` bytes.
#[inline(always)]
fn tiled(tiling: layout::Tiling, element: u32, pitch: u64, [x, y]: [u64; 2]) -> u64 {
    const TILE_BYTES: u64 = 4096;
    let Some(bits) = tiling.bits(element) else { return y * pitch + x };
    let (width, rows) = bits.tile();
    let (width, rows) = (u64::from(width), u64::from(rows));
    // Two rows of a W tile count as one of the pitch.
    let pitch_rows = if tiling == layout::Tiling::W { rows / 2 } else { rows };
    let tile = y / rows * pitch_rows * pitch + x / width * TILE_BYTES;
    tile + u64::from(bits.index((x % width) as u32, (y % rows) as u32))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn tiles_hold_all_samples_without_a_gap() {
        for (element, samples, tile) in
            [(4, 2, [64, 128]), (4, 4, [64, 64]), (1, 8, [64, 128]), (16, 16, [16, 16])]
        {
            assert_eq!(ys_tile_of_samples(element, samples)[..2], tile);
            let pitch = u64::from(tile[0] * element);
            let places: HashSet<u64> = (0..tile[1])
                .flat_map(|y| (0..tile[0]).map(move |x| [x, y].map(u64::from)))
                .flat_map(|at| (0..samples).map(move |sample| (at, sample)))
                .map(|(at, sample)| place_of_samples(pitch, [element, samples], at, sample))
                .collect();
            assert_eq!(places.len() * element as usize, 1 << 16, "{element} {samples}");
            assert_eq!(places.iter().max(), Some(&((1 << 16) - u64::from(element))));
            // The next row of tiles.
            let below = [0, u64::from(tile[1])];
            assert_eq!(place_of_samples(pitch, [element, samples], below, 0), 1 << 16);
        }
    }

    #[test]
    fn tiles_are_filled_without_a_gap() {
        for (tiling, width, height) in [
            (Tiling::X, 512, 8),
            (Tiling::Y, 128, 32),
            (Tiling::W, 64, 64),
            (Tiling::Yf { element: 1 }, 64, 64),
            (Tiling::Yf { element: 4 }, 128, 32),
            (Tiling::Yf { element: 16 }, 256, 16),
        ] {
            let pitch = if tiling == Tiling::W { 128 } else { width };
            let places: HashSet<u64> = (0..height)
                .flat_map(|y| (0..width).map(move |x| place(tiling, pitch, x, y)))
                .collect();
            assert_eq!(places.len(), 4096, "{tiling:?}");
            assert_eq!(places.iter().max(), Some(&4095), "{tiling:?}");
        }
        // source: isl_tiled_memcpy.c: in a Y tile the second column of 16 bytes is 512 bytes on.
        assert_eq!(place(Tiling::Y, 128, 16, 0), 512);
        assert_eq!(place(Tiling::Y, 128, 0, 1), 16);
        assert_eq!(place(Tiling::X, 512, 0, 1), 512);
    }
}
