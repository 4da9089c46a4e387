//! The layout of an image: pitches, levels, sizes, addresses.

use tepui_format::units::{El, Extent, Px};
use tepui_layout::{Dimension, Limits, Shape, Texel};
use tepui_tiling::{Order, Plane, PlaneError};

use crate::miptree::{MiptreeDesc, MiptreeLayout, minify};
use crate::{
    ImageDesc, ImageKind, LayoutError, MAX_EXTENT, MAX_LAYERS, MAX_SAMPLES, MAX_SIZE_B, StrideRule,
    Tiling, TilingRule, tail,
};

/// The storage of a pixel's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Msaa {
    /// There is one sample.
    None,
    /// In slices of their own, one after the other (MSFMT_MSS).
    Array,
    /// Interleaved, in a proportionally larger surface (MSFMT_DEPTH_STENCIL).
    Interleaved,
}

/// The layout of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    desc: ImageDesc,
    /// The kind of pixels.
    pub kind: ImageKind,
    /// The storage of samples.
    pub msaa: Msaa,
    /// Alignment of levels in elements: HALIGN and VALIGN, or the tile of Yf.
    pub align_el: Extent<El>,
    /// Bytes from row to row (for linear images) or from row of tiles to row of tiles, divided by the rows of
    /// a tile; for W tiles, per two rows. Linear 1D images have no pitch: their layers are consecutive.
    pub row_pitch_B: u64,
    /// Rows of elements from layer to layer (slice to slice, sample to sample).
    pub qpitch_el: u32,
    /// Level from which on all levels share a tile (Mip Tail Start LOD).
    pub tail: Option<u32>,
    /// Bytes of the image.
    pub size_B: u64,
    /// Alignment of the image's address.
    pub alignment_B: u64,
    levels: Vec<Level>,
    /// Total height of the surface in rows of elements.
    height_el: u64,
    /// Whether a table maps pages of colours to their control surface, as on Gen12.
    pub(crate) has_table: bool,
}

/// One mip level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Width and height in pixels.
    pub extent_px: Extent<Px>,
    /// Depth in pixels.
    pub depth_px: u32,
    /// Width and height in elements; in samples if these are interleaved.
    pub extent_el: Extent<El>,
    /// First column, row and slice in elements, from the start of a layer.
    pub origin_el: [u32; 3],
}

impl Layout {
    /// Computes the layout of an image on Gen9.
    ///
    /// # Errors
    /// A rule of the hardware that the image breaks.
    pub fn new(desc: &ImageDesc) -> Result<Layout, LayoutError> {
        Layout::with(desc, align_el, Tiling::W)
    }

    /// Computes the layout of an image on Gen12.
    ///
    /// # Errors
    /// A rule of the hardware that the image breaks.
    pub fn of_gen12(desc: &ImageDesc) -> Result<Layout, LayoutError> {
        Layout::with(desc, align_gen12_el, Tiling::Y)
    }

    /// Computes the layout of an image whose levels have an alignment in elements, where stencil has a tiling.
    fn with(
        desc: &ImageDesc,
        align_el: fn(&ImageDesc, ImageKind) -> (u32, u32),
        stencil: Tiling,
    ) -> Result<Layout, LayoutError> {
        let kind = check(desc, stencil)?;
        let shape = &desc.shape;
        let is_gen12 = stencil == Tiling::Y;
        let is_colour = kind == ImageKind::Colour;
        let pitch_align_B = match is_gen12 && is_colour && may_be_compressed(desc, kind) {
            // source: Mesa, isl.c (`isl_calc_row_pitch_alignment`): of other pitches fast clears clear the wrong part.
            true => COMPRESSED_PITCH_B,
            false => 1,
        };
        let msaa = match (shape.samples, kind) {
            (1, _) => Msaa::None,
            (_, ImageKind::Colour) => Msaa::Array,
            _ => Msaa::Interleaved,
        };
        let block = shape.format.info().block;
        let is_rows = is_rows(desc);
        let align_el = align_el(desc, kind);
        let tail = tail_start(desc);
        let scale = if msaa == Msaa::Interleaved { sample_grid(shape.samples) } else { (1, 1) };
        let scaled = |px: u32, by: u32| match msaa {
            // source: Mesa, isl.c (`isl_msaa_interleaved_scale_px_to_sa`).
            Msaa::Interleaved => px.next_multiple_of(2) * by,
            _ => px,
        };
        let layers = match (shape.dimension, msaa) {
            (Dimension::D3, _) => shape.depth_px,
            // Tiles have all samples of their elements.
            (_, Msaa::Array) if desc.tiling == Tiling::Ys => shape.layers,
            (_, Msaa::Array) => shape.layers * shape.samples,
            _ => shape.layers,
        };
        let tree = MiptreeDesc {
            width_sa: scaled(shape.width_px, scale.0),
            height_sa: scaled(shape.height_px, scale.1),
            levels: shape.levels,
            layers,
            block: (block.width_px, block.height_px),
            align_el,
            tail,
            qpitch_align_el: match shape.dimension {
                // source: SKL PRM, RENDER_SURFACE_STATE, Surface QPitch: whole tiles for tiled 3D surfaces.
                Dimension::D3 if desc.tiling != Tiling::Linear => tile_el(desc).1,
                // source: Mesa, isl.c (`isl_calc_array_pitch_el_rows`): clears of depth are aligned to 16 by 8 pixels.
                _ if is_gen12 && kind == ImageKind::Depth && desc.may_have_aux => 8,
                _ => 1,
            },
            tile_el: tile_el(desc),
            tile_B: physical(desc),
        };
        let (laid, row_pitch_B, size_B) =
            if is_rows { rows(&tree, block.bytes) } else { image(desc, &tree, pitch_align_B)? };
        if size_B > MAX_SIZE_B {
            return Err(LayoutError::Size { size_B });
        }
        let levels = (0..shape.levels)
            .map(|level| {
                let extent_px = Extent::<Px>::new(shape.width_px, shape.height_px).minify(level);
                let (x, y) = laid.origins_el[level as usize];
                let [tail_x, tail_y, z] = match tail {
                    // Units know where levels are in Ys tiles.
                    Some(first) if level >= first && desc.tiling != Tiling::Ys => {
                        let three = shape.dimension == Dimension::D3;
                        tail::offset(three, false, level - first, block.bytes)
                    }
                    _ => [0; 3],
                };
                let samples =
                    Extent::<Px>::new(scaled(extent_px.w, scale.0), scaled(extent_px.h, scale.1));
                Level {
                    extent_px,
                    depth_px: minify(shape.depth_px, level),
                    extent_el: samples.to_el(block.extent()),
                    origin_el: [x + tail_x, y + tail_y, z],
                }
            })
            .collect();
        let (tile_B, tile_rows) = tree.tile_B;
        Ok(Layout {
            desc: *desc,
            kind,
            msaa,
            align_el: Extent::new(align_el.0, align_el.1),
            row_pitch_B,
            qpitch_el: laid.qpitch_el,
            tail,
            size_B,
            alignment_B: match desc.tiling {
                // source: Mesa, isl.c (`isl_calc_base_alignment`): whole elements for render targets.
                Tiling::Linear => u64::from(block.bytes).next_power_of_two(),
                _ => tile_B * tile_rows,
            },
            levels,
            height_el: laid.height_el,
            has_table: is_gen12,
        })
    }

    /// The description.
    pub fn desc(&self) -> &ImageDesc {
        &self.desc
    }

    /// The levels, level 0 first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The tile in elements; a single element for linear images.
    pub fn tile_el(&self) -> Extent<El> {
        let (w, h) = tile_el(&self.desc);
        Extent::new(w, h)
    }

    /// The index of an element within its tile; for linear images, the column.
    pub fn index_in_tile(&self, x: u32, y: u32) -> u32 {
        match (self.desc.tiling, self.plane()) {
            (Tiling::Linear, _) | (_, Err(_)) => x,
            (_, Ok(plane)) => plane.index_in_tile(x, y),
        }
    }

    /// The first row of a layer, slice or sample in elements.
    pub(crate) fn first_row_el(&self, layer: u32, sample: u32) -> u64 {
        let slice = match self.msaa {
            Msaa::Array => {
                u64::from(layer) * u64::from(self.desc.shape.samples) + u64::from(sample)
            }
            _ => u64::from(layer),
        };
        slice * u64::from(self.qpitch_el)
    }

    /// Byte offset of a sample, or of its block in block-compressed formats; `None` if the image has no
    /// such sample, and for 3D images in Yf tiles, whose order within a tile is not known.
    pub fn texel_offset_B(&self, at: Texel) -> Option<u64> {
        let shape = &self.desc.shape;
        let level = self.levels.get(at.level as usize)?;
        let layers = if shape.dimension == Dimension::D3 { level.depth_px } else { shape.layers };
        let layer = if shape.dimension == Dimension::D3 { at.z_px } else { at.layer };
        let inside = at.x_px < level.extent_px.w
            && at.y_px < level.extent_px.h
            && layer < layers
            && at.sample < shape.samples
            && (shape.dimension == Dimension::D3 || at.z_px == 0);
        if !inside || self.is_unknown() {
            return None;
        }
        let block = shape.format.info().block;
        let (x, y) = match self.msaa {
            Msaa::Interleaved => interleave(shape.samples, (at.x_px, at.y_px), at.sample),
            _ => (at.x_px / block.width_px, at.y_px / block.height_px),
        };
        let [left, top, _] = level.origin_el;
        let row = u64::from(top + y) + self.first_row_el(layer, at.sample);
        let plane = self.plane().ok()?;
        Some(plane.offset_B(left + x, u32::try_from(row).ok()?) as u64)
    }

    /// Whether the order of elements within tiles is not known.
    pub(crate) fn is_unknown(&self) -> bool {
        match self.desc.tiling {
            Tiling::Yf => self.desc.shape.dimension == Dimension::D3,
            tiling => tiling == Tiling::Ys,
        }
    }

    /// The first byte of the Ys tile with an element of a level and a layer; of the tail there is one tile. `None` for other tilings.
    ///
    /// source: Mesa, anv_sparse.c (`anv_sparse_bind_image_memory`), isl.c (`isl_surf_get_image_offset_B_tile_el`)
    pub fn ys_tile_B(&self, level: u32, layer: u32, [x, y, z]: [u32; 3]) -> Option<u64> {
        let [w, h, d] = ys_tile_el(&self.desc)?.map(u64::from);
        let [left, top, _] = self.levels.get(level as usize)?.origin_el;
        let (column, row) = (u64::from(left + x), u64::from(top + y));
        let row = row + u64::from(layer) * u64::from(self.qpitch_el);
        let (_, tile_rows) = physical(&self.desc);
        let rows = u64::from(z) / d * u64::from(self.qpitch_el) * d + row / h * tile_rows;
        Some(rows * self.row_pitch_B + column / w * YS_B)
    }

    /// The whole surface as a plane of the tiling kernels.
    pub(crate) fn plane(&self) -> Result<Plane, PlaneError> {
        let element_B = self.desc.shape.format.info().block.bytes;
        let order = match self.desc.tiling.bits(element_B) {
            Some(bits) => Order::Bits(bits),
            None => Order::Raster,
        };
        let (_, tile_rows) = physical(&self.desc);
        let tile_row_B = self.row_pitch_B * tile_rows;
        let tile = self.tile_el();
        let tiles = match self.desc.tiling {
            Tiling::W => self.row_pitch_B / 128,
            _ => self.row_pitch_B / (u64::from(tile.w) * u64::from(element_B)),
        };
        let too_large = |_| PlaneError::Extent(u32::MAX, u32::MAX);
        let width = u32::try_from(tiles * u64::from(tile.w)).map_err(too_large)?;
        let height = u32::try_from(self.height_el).map_err(too_large)?;
        Plane::new(order, element_B, (width, height), (tile.w, tile.h), tile_row_B)
    }
}

/// Alignment of the pitch of colours of which cache lines may be compressed on Gen12: four tiles.
const COMPRESSED_PITCH_B: u64 = 512;

/// Whether cache lines of an image with no other auxiliary surface may be compressed: those of texels of one sample in Y tiles. Stencil in
/// such tiles is that of Gen12.
/// source: Mesa, isl.c (`isl_surf_supports_ccs`).
pub(crate) fn may_be_compressed(desc: &ImageDesc, kind: ImageKind) -> bool {
    let block = desc.shape.format.info().block;
    desc.may_have_aux
        && matches!(kind, ImageKind::Colour | ImageKind::Stencil)
        && desc.shape.samples == 1
        && desc.tiling == Tiling::Y
        && block.width_px * block.height_px == 1
}

/// Whether levels and layers are consecutive rows: linear 1D images.
///
/// source: Mesa, isl.c (`isl_surf_choose_dim_layout`).
fn is_rows(desc: &ImageDesc) -> bool {
    desc.shape.dimension == Dimension::D1 && desc.tiling == Tiling::Linear
}

/// Bytes of a Ys tile.
const YS_B: u64 = 1 << 16;

/// A Ys tile in elements, as wide, high and deep as a standard block of sparse images; `None` for other tilings.
///
/// source: Mesa, isl.c (`isl_tiling_get_info`).
pub fn ys_tile_el(desc: &ImageDesc) -> Option<[u32; 3]> {
    let shape = &desc.shape;
    let element_B = shape.format.info().block.bytes;
    if desc.tiling != Tiling::Ys {
        return None;
    }
    if shape.dimension == Dimension::D3 {
        let [w, h, d] = yf3_tile_el(element_B);
        return Some([4 * w, 2 * h, 2 * d]);
    }
    let (width_B, rows) = Tiling::Yf.bits(element_B)?.tile();
    let samples = shape.samples.ilog2();
    let (w, h) = (4 * width_B / element_B, 4 * rows);
    Some([w >> samples.div_ceil(2), h >> (samples / 2), 1])
}

/// Bytes of a row of a tile, and its rows, in the units of pitches.
fn physical(desc: &ImageDesc) -> (u64, u64) {
    let element_B = desc.shape.format.info().block.bytes;
    match ys_tile_el(desc) {
        Some([w, ..]) => {
            let width_B = u64::from(w) * u64::from(element_B);
            (width_B, YS_B / width_B)
        }
        None => desc.tiling.physical(element_B),
    }
}

/// The tile in elements.
fn tile_el(desc: &ImageDesc) -> (u32, u32) {
    if let Some([w, h, _]) = ys_tile_el(desc) {
        return (w, h);
    }
    let element_B = desc.shape.format.info().block.bytes;
    if desc.tiling == Tiling::Yf && desc.shape.dimension == Dimension::D3 {
        let [w, h, _] = yf3_tile_el(element_B);
        return (w, h);
    }
    match desc.tiling.bits(element_B) {
        Some(bits) => (bits.tile().0 / element_B, bits.tile().1),
        None => (1, 1),
    }
}

/// A Yf tile of three dimensions in elements. source: Mesa, isl.c (`isl_tiling_get_info`).
pub fn yf3_tile_el(element_B: u32) -> [u32; 3] {
    match element_B {
        1 => [16, 16, 16],
        2 => [8, 16, 16],
        4 => [8, 16, 8],
        8 => [8, 8, 8],
        _ => [4, 8, 8],
    }
}

/// Alignment of levels in elements.
///
/// source: Mesa, isl_gfx9.c (`isl_gfx9_choose_image_alignment_el`), isl_gfx8.c
/// (`isl_gfx8_choose_image_alignment_el`).
fn align_el(desc: &ImageDesc, kind: ImageKind) -> (u32, u32) {
    let block = desc.shape.format.info().block;
    match (desc.tiling, kind) {
        (Tiling::Yf | Tiling::Ys, _) => tile_el(desc),
        _ if is_rows(desc) => (64, 1),
        _ if block.width_px * block.height_px > 1 => (4, 4),
        (_, ImageKind::Depth) if block.bytes == 2 => (8, 4),
        (_, ImageKind::Depth) => (4, 4),
        (_, ImageKind::Stencil) => (8, 8),
        (_, ImageKind::Colour) if desc.may_have_aux => (16, 4),
        (_, ImageKind::Colour) => (4, 4),
    }
}

/// Alignment of levels in elements on Gen12.
///
/// source: Mesa, isl_gfx12.c (`isl_gfx12_choose_image_alignment_el`).
fn align_gen12_el(desc: &ImageDesc, kind: ImageKind) -> (u32, u32) {
    let depth_16 = desc.shape.format.info().block.bytes == 2;
    match (desc.tiling, kind) {
        (Tiling::Yf | Tiling::Ys, _) => align_el(desc, kind),
        (_, ImageKind::Depth) if depth_16 && matches!(desc.shape.samples, 2 | 8) => (16, 4),
        (_, ImageKind::Depth) if depth_16 => (8, 8),
        (_, ImageKind::Depth) => (8, 4),
        (_, ImageKind::Stencil) => (16, 8),
        (_, ImageKind::Colour) => align_el(desc, kind),
    }
}

/// Width and height of the grid of a pixel's samples, if these are interleaved.
///
/// source: Mesa, isl.c (`isl_get_interleaved_msaa_px_size_sa`).
fn sample_grid(samples: u32) -> (u32, u32) {
    let log2 = samples.trailing_zeros();
    (1 << log2.div_ceil(2), 1 << (log2 / 2))
}

/// The position of a sample in an image with interleaved samples.
///
/// source: Mesa, blorp_blit.c (`blorp_nir_encode_msaa`): the lowest bit of a coordinate stays, bits of the
/// sample's number are inserted before the others.
pub fn interleave(samples: u32, (x, y): (u32, u32), s: u32) -> (u32, u32) {
    let (x0, y0) = (x & 1, y & 1);
    match samples {
        2 => ((x & !1) << 1 | (s & 1) << 1 | x0, y),
        4 => ((x & !1) << 1 | (s & 1) << 1 | x0, (y & !1) << 1 | s & 2 | y0),
        8 => ((x & !1) << 2 | s & 4 | (s & 1) << 1 | x0, (y & !1) << 1 | s & 2 | y0),
        _ => ((x & !1) << 2 | s & 4 | (s & 1) << 1 | x0, (y & !1) << 2 | (s & 8) >> 1 | s & 2 | y0),
    }
}

/// The first level of the tail, if there is one.
///
/// source: Mesa, isl.c (`isl_choose_miptail_start_level`).
fn tail_start(desc: &ImageDesc) -> Option<u32> {
    /// Maximum number of levels of a tail: rows of the table from that of 4 KiB tiles on.
    const MAX_TAIL_LEVELS: [u32; 2] = [11, 12];
    /// Rows of the tables of Gen12.
    const MAX_LARGE_TAIL_LEVELS: u32 = 15;
    let shape = &desc.shape;
    let three = shape.dimension == Dimension::D3;
    let is_large = desc.tiling == Tiling::Ys;
    // Compression does not work with 3D tails.
    if !is_large && desc.tiling != Tiling::Yf || shape.samples > 1 || three && desc.may_have_aux {
        return None;
    }
    let block = shape.format.info().block;
    let first = tail::offset(three, is_large, 0, block.bytes);
    let (tile_w, tile_h) = tile_el(desc);
    let depth = if three { yf3_tile_el(block.bytes)[2] } else { 1 };
    let tile = ys_tile_el(desc).unwrap_or([tile_w, tile_h, depth]);
    let size = [
        shape.width_px.div_ceil(block.width_px),
        shape.height_px.div_ceil(block.height_px),
        shape.depth_px,
    ];
    let most = if is_large { MAX_LARGE_TAIL_LEVELS } else { MAX_TAIL_LEVELS[usize::from(three)] };
    let less = u32::from(three && !is_large);
    (shape.levels.saturating_sub(most)..shape.levels).find(|&level| {
        // Observed in ANV's sizes: a 3D level in Yf tiles must be smaller than the slot.
        let fits = |axis: usize| minify(size[axis], level) + less <= tile[axis] - first[axis];
        (0..3).all(fits)
    })
}

/// Levels next to each other in one row, layers one after the other.
///
/// source: Mesa, isl.c (`isl_calc_phys_total_extent_el_gfx9_1d`).
fn rows(tree: &MiptreeDesc, element_B: u32) -> (MiptreeLayout, u64, u64) {
    let mut x = 0;
    let mut origins_el = Vec::with_capacity(tree.levels as usize);
    for level in 0..tree.levels {
        origins_el.push((x / tree.block.0, 0));
        x += minify(tree.width_sa, level).next_multiple_of(tree.align_el.0 * tree.block.0);
    }
    let width_el = u64::from(x / tree.block.0);
    let row_B = width_el * u64::from(element_B);
    let height_el = u64::from(tree.layers);
    (MiptreeLayout { origins_el, qpitch_el: 1, width_el, height_el }, row_B, row_B * height_el)
}

/// Levels and layers of 2D and 3D images.
fn image(
    desc: &ImageDesc,
    tree: &MiptreeDesc,
    pitch_align_B: u64,
) -> Result<(MiptreeLayout, u64, u64), LayoutError> {
    let laid = tree.lay_out();
    let least_B = tree.pitch_B(&laid).next_multiple_of(pitch_align_B);
    let pitch_B = match desc.linear_stride_B {
        Some(stride_B) if u64::from(stride_B) < least_B => {
            let rule = StrideRule::TooShort;
            return Err(LayoutError::Stride { stride_B, rule });
        }
        Some(stride_B) => stride_B.into(),
        None => least_B,
    };
    if let Some([_, h, d]) = ys_tile_el(desc) {
        let slices = if desc.shape.dimension == Dimension::D3 { desc.shape.depth_px } else { 1 };
        let (_, tile_rows) = tree.tile_B;
        // Slices of a level are where those of the first one are, so that all tiles of a depth are there.
        let rows = match u64::from(slices.div_ceil(d)) {
            1 if slices == 1 => laid.height_el.div_ceil(h.into()) * tile_rows,
            deep => deep * u64::from(laid.qpitch_el) * u64::from(d),
        };
        let size_B = rows * pitch_B;
        return Ok((laid, pitch_B, size_B));
    }
    if desc.tiling == Tiling::Yf && desc.shape.dimension == Dimension::D3 {
        // Tiles are as deep as they are wide: a row of tiles holds several slices.
        let element_B = desc.shape.format.info().block.bytes;
        let [w, h, d] = yf3_tile_el(element_B).map(u64::from);
        let pitch_B = laid.width_el.div_ceil(w) * w * u64::from(element_B);
        let slices = u64::from(desc.shape.depth_px).div_ceil(d);
        let rows = u64::from(laid.qpitch_el) * (slices - 1)
            + (laid.height_el - u64::from(laid.qpitch_el) * u64::from(tree.layers - 1));
        let size_B = rows.div_ceil(h) * h * d * pitch_B;
        return Ok((laid, pitch_B, size_B));
    }
    let size_B = tree.size_B(&laid, pitch_B);
    Ok((laid, pitch_B, size_B))
}

/// Checks the rules of the hardware; returns the kind of the image.
fn check(desc: &ImageDesc, stencil: Tiling) -> Result<ImageKind, LayoutError> {
    let Shape { format, dimension, samples, levels, .. } = desc.shape;
    let limits = Limits {
        width_px: MAX_EXTENT,
        extent_px: MAX_EXTENT,
        layers: MAX_LAYERS,
        samples: MAX_SAMPLES,
    };
    desc.shape.check(&limits)?;
    desc.shape.check_blocks()?;
    let kind = ImageKind::of(format).ok_or(LayoutError::DepthStencil { format })?;
    let block_B = format.info().block.bytes;
    if block_B > 16 || desc.tiling != Tiling::Linear && !block_B.is_power_of_two() {
        return Err(LayoutError::BlockSize { format, block_B });
    }
    let tiling = desc.tiling;
    let broken = |rule| Err(LayoutError::Tiling { tiling, rule });
    // source: Mesa, isl_gfx7.c (`isl_gfx6_filter_tiling`).
    match (kind, tiling) {
        (ImageKind::Stencil, tiling) if tiling == stencil => {}
        (ImageKind::Stencil, _) if stencil == Tiling::Y => return broken(TilingRule::StencilInY),
        (ImageKind::Stencil, _) => return broken(TilingRule::StencilInW),
        (_, Tiling::W) => return broken(TilingRule::WForStencil),
        (ImageKind::Depth, Tiling::Y | Tiling::Yf) => {}
        (ImageKind::Depth, _) => return broken(TilingRule::DepthInY),
        _ => {}
    }
    if dimension == Dimension::D1 && matches!(tiling, Tiling::Yf | Tiling::Ys) {
        return broken(TilingRule::YfFor2DAnd3D);
    }
    if samples > 1 {
        if dimension != Dimension::D2 || levels != 1 {
            return Err(LayoutError::Multisampled { samples, dimension, levels });
        }
        if !matches!(tiling, Tiling::Y | Tiling::Yf | Tiling::Ys | Tiling::W) {
            return broken(TilingRule::SamplesInY);
        }
    }
    if let Some(stride_B) = desc.linear_stride_B {
        let fail = |rule| Err(LayoutError::Stride { stride_B, rule });
        if tiling != Tiling::Linear || is_rows(desc) {
            return fail(StrideRule::OnlyLinear);
        }
        if !stride_B.is_multiple_of(block_B) {
            return fail(StrideRule::WholeElements);
        }
        if stride_B > MAX_PITCH_B {
            return fail(StrideRule::TooLarge);
        }
    }
    Ok(kind)
}

/// The largest pitch. source: genxml, RENDER_SURFACE_STATE, Surface Pitch: 18 bits, less one.
const MAX_PITCH_B: u32 = 1 << 18;

#[cfg(test)]
mod tests {
    use tepui_format::Format;

    use super::*;

    #[test]
    fn levels_of_gen12_are_aligned_by_kind() {
        // source: Mesa, isl_gfx12.c, the table of depth buffers.
        for (format, tiling, samples, right) in [
            (Format::D16_UNORM, Tiling::Y, 1, (8, 8)),
            (Format::D16_UNORM, Tiling::Y, 2, (16, 4)),
            (Format::D16_UNORM, Tiling::Y, 4, (8, 8)),
            (Format::D32_SFLOAT, Tiling::Y, 1, (8, 4)),
            (Format::S8_UINT, Tiling::Y, 1, (16, 8)),
            (Format::R8G8B8A8_UNORM, Tiling::Y, 1, (4, 4)),
            (Format::BC1_RGB_UNORM_BLOCK, Tiling::Y, 1, (4, 4)),
        ] {
            let mut desc = ImageDesc::new_2d(format, tiling, 64, 64);
            (desc.shape.samples, desc.may_have_aux) = (samples, false);
            let layout = Layout::of_gen12(&desc).unwrap();
            assert_eq!(layout.align_el, Extent::new(right.0, right.1), "{format} {samples}");
        }
        // Level 2 is to the right of level 1, which is 20 wide.
        let stencil = |tiling| {
            let mut desc = ImageDesc::new_2d(Format::S8_UINT, tiling, 40, 64);
            desc.shape.levels = 3;
            desc
        };
        let old = Layout::new(&stencil(Tiling::W)).unwrap();
        let new = Layout::of_gen12(&stencil(Tiling::Y)).unwrap();
        assert_eq!((old.levels()[2].origin_el[0], new.levels()[2].origin_el[0]), (24, 32));
        assert!(Layout::new(&stencil(Tiling::Y)).is_err());
        assert!(Layout::of_gen12(&stencil(Tiling::W)).is_err());
    }
}
