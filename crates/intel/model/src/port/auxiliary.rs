//! Auxiliary surfaces: the states of an image's blocks in CCS, MCS and HiZ.
//!
//! The texels of an image are always uncompressed here, so that only two of the states in an auxiliary
//! surface matter: a block is clear (its texels are the clear colour, whatever memory holds), or it is not.
//!
//! | surface | an element is | clear | not |
//! | --- | --- | --- | --- |
//! | CCS | 2 bits for a pair of cache lines | 3 | 0, which drivers write too |
//! | CCS of Gen12 | 4 bits for a pair of cache lines, found through a [table](super::auxiliary_table) | all
//! ones | 0 |
//! | MCS | 8 to 64 bits for a pixel | all ones | the number of a slice for each sample |
//! | HiZ | 16 bytes for 8 by 4 pixels | all zeros | anything else |
//!
//! source: Mesa, docs/isl/aux-surf-comp.rst; isl.c (`isl_tiling_get_info`, `isl_surf_get_ccs_surf`,
//! `isl_surf_get_mcs_surf`, `isl_surf_get_hiz_surf`): sizes and tiles; blorp_clear.c (`blorp_ccs_ambiguate`): a
//! cache line of a CCS is 16 by 16 elements, and 0 is uncompressed; (`get_mcs_ambiguate_pixel`): what an MCS says
//! of samples that are in their own slices; iris_resource.c (`iris_resource_configure_aux`): a HiZ buffer of
//! zeros is clear.

use tepui_intel_packets::surface::{AuxiliarySurfaceMode, RenderSurfaceState, TileMode};
use tepui_softgpu::{Access, Fault, FaultKind};

use super::auxiliary_table as table;
use super::image::{level_origin, place};
use super::surface::{Dimension, Image, Tiling};
use crate::compressed::{View, ViewKind};
use crate::memory::{Memory, address};

const TILE_BYTES: u64 = 4096;

/// Side in pixels of the tiles of [`AuxiliaryPlane::clear_blocks`].
const SIDE: u32 = tepui_raster::TILE_SIDE as u32;

/// The format of stencil buffers as surfaces, R8_UINT. source: Mesa, isl.h
pub(crate) const STENCIL: u32 = 0x142;

/// Kinds of auxiliary surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuxiliaryKind {
    /// For colour images.
    Ccs,
    /// For colour images on Gen12, and for depth that is written through its hierarchy; found through the table.
    InTable,
    /// For samples of colour images.
    Mcs {
        /// Bytes of an element.
        bytes: u32,
    },
    /// For depth.
    Hiz,
}

/// The auxiliary surface of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Auxiliary {
    pub kind: AuxiliaryKind,
    /// GPU address of the surface, or of the table that maps to it.
    base: u64,
    /// Bytes of a row of tiles, divided by the rows of a tile.
    pitch: u64,
    /// Rows of elements from one layer to the next.
    qpitch: u64,
    /// Whether blocks that are not clear are plain on silicon, too.
    keeps_plain: bool,
}

/// A level of an auxiliary surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuxiliaryPlane {
    surface: Auxiliary,
    /// The image's address, pitch and bytes per texel, if a table maps these to the CCS.
    image: (u64, u64, u64),
    /// Pixels of an element.
    block: [u32; 2],
    /// Elements of the level.
    size: [u32; 2],
    /// The level's first element.
    left: u64,
    top: u64,
    base_layer: u32,
}

impl Auxiliary {
    /// The auxiliary surface that a surface state names; on Gen12 with the address of the table that maps to it.
    ///
    /// Assumption: the CCS of a stencil buffer can be ignored, as it has no clear blocks.
    pub fn of(state: &RenderSurfaceState, samples: u32, table: u64) -> Option<Auxiliary> {
        use AuxiliarySurfaceMode as Mode;
        if state.auxiliary_surface_base_address == 0 {
            let compresses = state.auxiliary_surface_mode == Mode::AuxCcsE && samples == 1;
            let is_stencil = state.depth_stencil_resource && state.surface_format == STENCIL;
            let in_tiles = state.tile_mode == TileMode::Ymajor && state.tiled_resource_mode == 0;
            let qpitch = 4 * u64::from(state.surface_qpitch);
            return (table != 0 && compresses && !is_stencil && in_tiles)
                .then(|| Auxiliary::in_table(table, qpitch));
        }
        let kind = match (state.auxiliary_surface_mode, samples) {
            (Mode::AuxCcsD | Mode::AuxCcsE, 1) => AuxiliaryKind::Ccs,
            (Mode::AuxCcsD | Mode::AuxCcsE | Mode::AuxMcsLce, samples) => {
                AuxiliaryKind::mcs(samples)
            }
            (Mode::AuxHiz, _) => AuxiliaryKind::Hiz,
            _ => return None,
        };
        // source: Mesa, isl_surface_state.c: the field counts rows of pixels of the image, in units of four.
        let rows = 4 * u64::from(state.auxiliary_surface_qpitch);
        Some(Auxiliary {
            kind,
            base: address(state.auxiliary_surface_base_address),
            pitch: 128 * (u64::from(state.auxiliary_surface_pitch) + 1),
            keeps_plain: kind == AuxiliaryKind::Ccs
                && state.auxiliary_surface_mode == Mode::AuxCcsD,
            qpitch: match kind {
                AuxiliaryKind::Mcs { .. } => rows,
                AuxiliaryKind::Ccs | AuxiliaryKind::InTable | AuxiliaryKind::Hiz => rows / 4,
            },
        })
    }

    /// The CCS that a table maps to, with the rows of the image per layer.
    pub fn in_table(table: u64, qpitch: u64) -> Auxiliary {
        Auxiliary {
            kind: AuxiliaryKind::InTable,
            base: table,
            pitch: 0,
            qpitch,
            keeps_plain: false,
        }
    }

    /// The HiZ buffer at an address, with its pitch in bytes and the rows of pixels per layer.
    pub fn hiz(base: u64, pitch: u64, qpitch_px: u64) -> Auxiliary {
        Auxiliary {
            kind: AuxiliaryKind::Hiz,
            base: address(base),
            pitch,
            qpitch: qpitch_px / 4,
            keeps_plain: false,
        }
    }

    /// How accesses through it see the image's memory, for the checker.
    pub fn view(&self) -> View {
        match self.kind {
            AuxiliaryKind::InTable => View::through(View::TABLE, ViewKind::Compressed),
            AuxiliaryKind::Hiz => View::through(self.base, ViewKind::Hierarchy),
            _ if self.keeps_plain => View::through(self.base, ViewKind::ClearBlocks),
            _ => View::through(self.base, ViewKind::Compressed),
        }
    }

    /// How accesses to its own memory see that.
    fn own_view(&self) -> View {
        match self.kind {
            AuxiliaryKind::InTable => View::BYTES,
            _ => View::through(self.base, ViewKind::Surface),
        }
    }

    /// Pixels of an element of an image's auxiliary surface.
    fn block(&self, image: &Image) -> [u32; 2] {
        match self.kind {
            AuxiliaryKind::Ccs | AuxiliaryKind::InTable => {
                [32 / (image.format.bytes as u32).clamp(1, 32), 4]
            }
            AuxiliaryKind::Mcs { .. } => [1, 1],
            AuxiliaryKind::Hiz => [8, 4],
        }
    }

    /// Alignment of levels in elements.
    ///
    /// source: Mesa, isl.c (`isl_choose_image_alignment_el`), isl_gfx9.c: 128 by 64 pixels of a CCS of 32 bits,
    /// 16 by 8 of HiZ.
    fn align(&self) -> [u32; 2] {
        match self.kind {
            AuxiliaryKind::Ccs => [16, 16],
            AuxiliaryKind::InTable => [1, 1],
            AuxiliaryKind::Mcs { .. } => [16, 4],
            AuxiliaryKind::Hiz => [2, 2],
        }
    }

    /// A level, with its position computed once.
    pub fn plane(self, image: &Image, level: u32) -> AuxiliaryPlane {
        let block = self.block(image);
        let size = |level| {
            let [width, height, _] = image.level_size(level);
            [width.div_ceil(block[0]), height.div_ceil(block[1])]
        };
        // The layout of a CCS found through a table follows the texels of the image.
        let [left, top] = match self.kind {
            AuxiliaryKind::InTable => image.level_place(level),
            _ => level_origin(level, self.align(), size),
        };
        AuxiliaryPlane {
            surface: self,
            image: (image.base, image.pitch, image.format.bytes as u64),
            block,
            size: size(level),
            left,
            top,
            base_layer: image.first_layer,
        }
    }

    /// Whether any block of an image is clear, or may be.
    pub fn has_clear_blocks(self, memory: &mut Memory<'_>, image: &Image) -> bool {
        if self.kind == AuxiliaryKind::InTable {
            return self.has_clear_blocks_in_table(memory, image);
        }
        let end = |level| {
            let plane = self.plane(image, level);
            plane.top + u64::from(plane.size[1])
        };
        let rows = (image.level..image.level + image.levels.min(16)).map(end).max().unwrap_or(0);
        let (first_layer, layers) = match image.dimension {
            Dimension::Three => (0, image.size[2]),
            _ => (image.first_layer, image.layers),
        };
        let first = u64::from(first_layer) * self.qpitch;
        let last = first + u64::from(layers.max(1) - 1) * self.qpitch + rows;
        let tile_rows = match self.kind {
            AuxiliaryKind::Ccs => 128,
            AuxiliaryKind::Mcs { .. } => 32,
            AuxiliaryKind::Hiz | AuxiliaryKind::InTable => 16,
        };
        // Rows of tiles are consecutive.
        let row_bytes = 32 * self.pitch;
        let from = self.base + first / tile_rows * row_bytes;
        let to = self.base + last.div_ceil(tile_rows) * row_bytes;
        let mut bytes = [0; TILE_BYTES as usize];
        (from..to).step_by(TILE_BYTES as usize).any(|at| {
            if memory.read(at, &mut bytes).is_err() {
                return true;
            }
            let mut words =
                bytes.chunks_exact(16).map(|b| u128::from_le_bytes(std::array::from_fn(|k| b[k])));
            match self.kind {
                AuxiliaryKind::Ccs => words.any(|w| w & w >> 1 & (u128::MAX / 3) != 0),
                AuxiliaryKind::Mcs { .. } => words.any(|w| w != 0),
                AuxiliaryKind::Hiz | AuxiliaryKind::InTable => words.any(|w| w == 0),
            }
        })
    }

    /// As [`Auxiliary::has_clear_blocks`], for a CCS found through a table: examines all 64 KiB pages of the
    /// image.
    fn has_clear_blocks_in_table(self, memory: &mut Memory<'_>, image: &Image) -> bool {
        let layers = match image.dimension {
            Dimension::Three => image.size[2],
            _ => image.first_layer + image.layers,
        };
        let end = |level| {
            let [_, height, _] = image.level_size(level);
            image.level_place(level)[1] + u64::from(height)
        };
        let rows = (image.level..image.level + image.levels.min(16)).map(end).max().unwrap_or(0);
        let rows = u64::from(layers.max(1) - 1) * self.qpitch + rows;
        let bytes = rows.next_multiple_of(32).saturating_mul(image.pitch);
        let first = image.base / table::PAGE_BYTES;
        let last = image.base.saturating_add(bytes).div_ceil(table::PAGE_BYTES);
        (first..last).any(|page| {
            let found = table::find(memory, self.base, page * table::PAGE_BYTES);
            let Ok(Some(at)) = found else { return found.is_err() };
            let mut ccs = [0; table::CCS_BYTES];
            memory.read(at, &mut ccs).is_err() || table::has_clear(&ccs)
        })
    }
}

impl AuxiliaryKind {
    fn mcs(samples: u32) -> AuxiliaryKind {
        AuxiliaryKind::Mcs {
            bytes: match samples {
                2 | 4 => 1,
                8 => 4,
                _ => 8,
            },
        }
    }
}

/// The MCS value of a pixel whose samples are all in their own slices: entries are as wide as the number of a slice.
///
/// source: Mesa, blorp_clear.c (`get_mcs_ambiguate_pixel`); BDW PRM volume 5, "Compressed Multisample Surfaces"
pub(crate) fn own_slices(samples: u32) -> u64 {
    match samples {
        2 => 0b10,
        4 => 0xe4,
        8 => 0xfa_c688,
        _ => 0xfedc_ba98_7654_3210,
    }
}

/// The slice that contains a sample.
pub(crate) fn slice(samples: u32, mcs: u64, sample: u32) -> u32 {
    let bits = match samples {
        2 => 1,
        4 => 2,
        8 => 3,
        _ => 4,
    };
    (mcs >> (bits * (sample & 15)) & ((1 << bits) - 1)) as u32 & (samples - 1)
}

/// Whether an MCS value means that the pixel is clear.
///
/// source: Mesa, blorp_nir_builder.h (`blorp_nir_mcs_is_clear_color`).
pub(crate) fn is_clear_pixel(samples: u32, mcs: u64) -> bool {
    let ones = match samples {
        2 => 0x3,
        4 => 0xff,
        8 => 0xffff_ffff,
        _ => u64::MAX,
    };
    mcs & ones == ones
}

/// The HiZ value of a block that is not clear.
const NOT_CLEAR: [u8; 16] = [0xff; 16];

impl AuxiliaryPlane {
    /// How accesses through its surface see the image's memory, for the checker.
    pub fn view(&self) -> View {
        self.surface.view()
    }

    /// Pixels of an element.
    pub fn block(&self) -> [u32; 2] {
        self.block
    }

    /// The address of an element, and the position of its bits in the byte.
    fn element(&self, [x, y]: [u32; 2], layer: u32) -> (u64, u32) {
        let layer = u64::from(self.base_layer.wrapping_add(layer));
        let x = self.left + u64::from(x);
        let y = self.top + u64::from(y) + layer * self.surface.qpitch;
        let Auxiliary { base, pitch, kind, .. } = self.surface;
        let (at, bit) = match kind {
            // Assumption: each byte of a cache line, which is eight rows of eight bytes, has two by two
            // elements.
            AuxiliaryKind::Ccs => {
                let tile = y / 128 * 32 * pitch + x / 128 * TILE_BYTES;
                let line = x % 128 / 16 * 512 + y % 128 / 16 * 64;
                (tile + line + y % 16 / 2 * 8 + x % 16 / 2, (y & 1) * 4 + (x & 1) * 2)
            }
            AuxiliaryKind::Mcs { bytes } => (place(Tiling::Y, pitch, x * u64::from(bytes), y), 0),
            // The table is indexed by the address of the block's first texel.
            AuxiliaryKind::InTable => {
                let (image, pitch, bytes) = self.image;
                let [width, height] = self.block.map(u64::from);
                let x = self.left + (x - self.left) * width;
                let y = self.top + (y - layer * self.surface.qpitch - self.top) * height;
                let y = y + layer * self.surface.qpitch;
                return (image + place(Tiling::Y, pitch, x * bytes, y), 0);
            }
            // Each column of 16 bytes has two columns of elements.
            AuxiliaryKind::Hiz => {
                let tile = y / 16 * 32 * pitch + x / 16 * TILE_BYTES;
                (tile + x % 16 / 2 * 512 + (2 * (y % 16) + x % 2) * 16, 0)
            }
        };
        (base + at, bit as u32)
    }

    /// Reads the MCS value of a pixel.
    ///
    /// # Errors
    /// The page is not bound.
    pub fn mcs(&self, memory: &mut Memory<'_>, place: [u32; 2], layer: u32) -> Result<u64, Fault> {
        let (at, bytes) = match self.surface.kind {
            AuxiliaryKind::Mcs { bytes } => (self.element(place, layer).0, bytes as usize),
            _ => return Ok(0),
        };
        let mut value = [0; 8];
        memory.in_view(self.surface.own_view(), |memory| memory.read(at, &mut value[..bytes]))?;
        Ok(u64::from_le_bytes(value))
    }

    /// Writes the MCS value of a pixel.
    ///
    /// # Errors
    /// The page is not bound.
    pub fn set_mcs(
        &self,
        memory: &mut Memory<'_>,
        place: [u32; 2],
        layer: u32,
        value: u64,
    ) -> Result<(), Fault> {
        let inside = place[0] < self.size[0] && place[1] < self.size[1];
        match self.surface.kind {
            AuxiliaryKind::Mcs { bytes } if inside => {
                let at = self.element(place, layer).0;
                let value = value.to_le_bytes();
                memory.in_view(self.surface.own_view(), |memory| {
                    memory.write(at, &value[..bytes as usize])
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether the block of an element is clear. For a CCS and for HiZ.
    ///
    /// # Errors
    /// The page is not bound.
    pub fn is_clear(
        &self,
        memory: &mut Memory<'_>,
        element: [u32; 2],
        layer: u32,
    ) -> Result<bool, Fault> {
        let (at, bit) = self.element(element, layer);
        memory.in_view(self.surface.own_view(), |memory| match self.surface.kind {
            AuxiliaryKind::Ccs => {
                let mut byte = [0];
                memory.read(at, &mut byte)?;
                Ok(byte[0] >> bit & 3 == 3)
            }
            AuxiliaryKind::InTable => {
                let Some(ccs) = table::find(memory, self.surface.base, at)? else {
                    return Ok(false);
                };
                let (place, bit) = table::place(at);
                let mut byte = [0];
                memory.read(ccs + place, &mut byte)?;
                Ok(byte[0] >> bit & 0xf == table::CLEAR)
            }
            AuxiliaryKind::Mcs { .. } => Ok(false),
            AuxiliaryKind::Hiz => {
                let mut block = [0; 16];
                memory.read(at, &mut block)?;
                Ok(block == [0; 16])
            }
        })
    }

    /// Whether the block of a pixel is clear. For a CCS and for HiZ.
    ///
    /// # Errors
    /// The page is not bound.
    pub fn is_clear_at(
        &self,
        memory: &mut Memory<'_>,
        [x, y]: [u32; 2],
        layer: u32,
    ) -> Result<bool, Fault> {
        self.is_clear(memory, [x / self.block[0], y / self.block[1]], layer)
    }

    /// Sets whether a block is clear. Blocks outside of the level are ignored.
    ///
    /// # Errors
    /// The page is not bound.
    pub fn set_clear(
        &self,
        memory: &mut Memory<'_>,
        element: [u32; 2],
        layer: u32,
        clear: bool,
    ) -> Result<(), Fault> {
        if element[0] >= self.size[0] || element[1] >= self.size[1] {
            return Ok(());
        }
        let (at, bit) = self.element(element, layer);
        memory.in_view(self.surface.own_view(), |memory| match self.surface.kind {
            AuxiliaryKind::Ccs => {
                let mut byte = [0];
                memory.read(at, &mut byte)?;
                let state = if clear { 3 } else { 0 };
                memory.write(at, &[byte[0] & !(3 << bit) | state << bit])
            }
            AuxiliaryKind::InTable => {
                let Some(ccs) = table::find(memory, self.surface.base, at)? else {
                    // A surface without a CCS has no clear state, so it cannot be fast-cleared.
                    let kind = FaultKind::Unmapped;
                    let fault = Fault { address: at, access: Access::Write, kind };
                    return if clear { Err(fault) } else { Ok(()) };
                };
                let (place, bit) = table::place(at);
                let mut byte = [0];
                memory.read(ccs + place, &mut byte)?;
                let state = if clear { table::CLEAR } else { 0 };
                memory.write(ccs + place, &[byte[0] & !(0xf << bit) | state << bit])
            }
            AuxiliaryKind::Mcs { .. } => Ok(()),
            AuxiliaryKind::Hiz => memory.write(at, if clear { &[0; 16] } else { &NOT_CLEAR }),
        })
    }

    /// Elements of a tile, across and down.
    pub fn tile(&self) -> [u32; 2] {
        self.block.map(|size| (SIDE / size).max(1))
    }

    /// A mask of the clear blocks of a tile of pixels, row by row.
    ///
    /// # Errors
    /// A page is not bound.
    pub fn clear_blocks(
        &self,
        memory: &mut Memory<'_>,
        corner: [u32; 2],
        layer: u32,
    ) -> Result<u128, Fault> {
        let [columns, rows] = self.tile();
        let first = [0, 1].map(|axis| corner[axis] / self.block[axis]);
        let mut clear = 0;
        let pair = |y: u32| self.two_rows([first[0], first[1] + y], columns, layer);
        if rows.is_multiple_of(2) && (0..rows).step_by(2).all(|y| pair(y).is_some()) {
            for (y, two) in (0..rows).step_by(2).filter_map(|y| Some((y, pair(y)?))) {
                let [upper, lower] = two.clear(memory)?.map(u128::from);
                clear |= (upper | lower << columns) << (y * columns);
            }
            return Ok(clear);
        }
        for y in 0..rows.min(self.size[1].saturating_sub(first[1])) {
            for x in 0..columns.min(self.size[0].saturating_sub(first[0])) {
                if self.is_clear(memory, [first[0] + x, first[1] + y], layer)? {
                    clear |= 1 << (y * columns + x);
                }
            }
        }
        Ok(clear)
    }
}

impl AuxiliaryPlane {
    /// Two rows of elements of a CCS that exactly fill consecutive bytes; `None` if they do not, or are not all
    /// inside of the level.
    pub fn two_rows(&self, first: [u32; 2], columns: u32, layer: u32) -> Option<RowPair> {
        let [x, y] = first;
        let (at, bit) = self.element(first, layer);
        let in_line = (self.left + u64::from(x)) % 16 + u64::from(columns) <= 16;
        let inside = x.checked_add(columns)? <= self.size[0] && y.checked_add(2)? <= self.size[1];
        let whole =
            self.surface.kind == AuxiliaryKind::Ccs && bit == 0 && columns.is_multiple_of(2);
        let view = self.surface.own_view();
        (whole && in_line && inside).then_some(RowPair { at, columns, view })
    }
}

/// Two rows of at most sixteen elements of a CCS, with two by two elements per byte.
#[derive(Clone, Copy)]
pub(crate) struct RowPair {
    at: u64,
    columns: u32,
    view: View,
}

impl RowPair {
    /// A mask of the clear blocks of each row.
    ///
    /// # Errors
    /// The page is not bound.
    pub fn clear(self, memory: &mut Memory<'_>) -> Result<[u32; 2], Fault> {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..self.columns as usize / 2];
        memory.in_view(self.view, |memory| memory.read(self.at, bytes))?;
        let mut clear = [0; 2];
        for (byte, left) in bytes.iter().zip((0..).step_by(2)) {
            let both = u32::from(byte & byte >> 1);
            clear[0] |= (both & 1 | both >> 1 & 2) << left;
            clear[1] |= (both >> 4 & 1 | both >> 5 & 2) << left;
        }
        Ok(clear)
    }

    /// Sets whether all blocks are clear.
    ///
    /// # Errors
    /// The page is not bound.
    pub fn set(self, memory: &mut Memory<'_>, clear: bool) -> Result<(), Fault> {
        let bytes = [if clear { 0xff } else { 0 }; 8];
        let bytes = &bytes[..self.columns as usize / 2];
        memory.in_view(self.view, |memory| memory.write(self.at, bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use tepui_softgpu::{AddressSpace, Protection};

    use super::*;

    fn plane(kind: AuxiliaryKind, pitch: u64) -> AuxiliaryPlane {
        let surface = Auxiliary { kind, base: 0, pitch, qpitch: 256, keeps_plain: false };
        let block = [8, 4];
        let image = (0, pitch, 4);
        AuxiliaryPlane { surface, image, block, size: [1024; 2], left: 0, top: 0, base_layer: 0 }
    }

    #[test]
    fn elements_fill_a_tile_without_a_gap() {
        let ccs = plane(AuxiliaryKind::Ccs, 128);
        let places: HashSet<(u64, u32)> =
            (0..128).flat_map(|y| (0..128).map(move |x| ccs.element([x, y], 0))).collect();
        assert_eq!(places.len(), 4 * 4096);
        assert!(places.iter().all(|&(at, bit)| at < 4096 && bit < 8));
        let hiz = plane(AuxiliaryKind::Hiz, 128);
        let places: HashSet<u64> =
            (0..16).flat_map(|y| (0..16).map(move |x| hiz.element([x, y], 0).0)).collect();
        assert_eq!(places.len(), 256);
        assert!(places.iter().all(|&at| at < 4096 && at % 16 == 0));
        // A cache line of a CCS is 16 by 16 elements, and lines are arranged as in a Y tile.
        assert_eq!(ccs.element([15, 15], 0).0 / 64, 0);
        assert_eq!(ccs.element([0, 16], 0).0, 64);
        assert_eq!(ccs.element([16, 0], 0).0, 512);
    }

    #[test]
    fn rows_of_elements_say_what_single_ones_do() {
        const BASE: u64 = 0x1_0000;
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(tepui_softgpu::Memory::new(1 << 15).expect("memory"));
        vm.bind(BASE, memory, 0, 1 << 15, Protection::READ | Protection::WRITE).expect("bound");
        let mut ccs = plane(AuxiliaryKind::Ccs, 256);
        ccs.surface.base = BASE;
        let bytes: Vec<u8> =
            (0..1u32 << 15).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 21) as u8).collect();
        vm.write(BASE, &bytes).expect("bound");
        let mut memory = Memory::new(&vm, crate::order::MemoryUnit::Sampler);
        let mut compared = 0;
        for (x, y, columns) in
            [(0, 0, 8), (8, 2, 8), (36, 62, 4), (112, 128, 16), (2, 6, 14), (200, 40, 2)]
        {
            let two = ccs.two_rows([x, y], columns, 0).expect("in a line");
            let [upper, lower] = two.clear(&mut memory).expect("bound").map(u64::from);
            let bits = upper | lower << columns;
            for k in 0..2 * columns {
                let element = [x + k % columns, y + k / columns];
                let one = ccs.is_clear(&mut memory, element, 0).expect("bound");
                assert_eq!(bits >> k & 1 != 0, one, "{element:?}");
                compared += u32::from(one);
            }
            for clear in [true, false] {
                two.set(&mut memory, clear).expect("bound");
                let now = two.clear(&mut memory).expect("bound");
                assert_eq!(now, [if clear { (1 << columns) - 1 } else { 0 }; 2]);
            }
        }
        assert!(compared > 5, "{compared}");
        for (x, y, columns) in
            [(1, 0, 2), (0, 1, 2), (12, 0, 8), (1020, 0, 8), (0, 1023, 2), (0, 0, 3)]
        {
            assert!(ccs.two_rows([x, y], columns, 0).is_none(), "{x} {y} {columns}");
        }
    }

    #[test]
    fn samples_in_their_own_slices_are_not_clear() {
        for samples in [2, 4, 8, 16] {
            assert!(!is_clear_pixel(samples, own_slices(samples)));
            assert!(is_clear_pixel(samples, u64::MAX));
            let own = own_slices(samples);
            assert!((0..samples).all(|sample| slice(samples, own, sample) == sample), "{samples}");
        }
    }
}
