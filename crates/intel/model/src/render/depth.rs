//! Depth and stencil buffers: their images, and their tiles while pixels are tested.

use tepui_intel_chips::Generation;
use tepui_intel_packets::gen12;
use tepui_intel_packets::output::{
    CompareFunction, State3dClearParams, State3dDepthBuffer, State3dHierDepthBuffer,
    State3dStencilBuffer, StencilOperation,
};
use tepui_raster::{Compare, DepthStencil, Stencil, StencilOp, TILE_SIDE, Tests};
use tepui_softgpu::{Contents, Fault, Protection};

use super::plain_tile;
use super::state::{State, latched, latched_as};
use super::unit::{MAX_SAMPLES, UNIT, unimplemented};
use crate::compressed::{View, ViewKind, clear_colour};
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;
use crate::port::auxiliary::{Auxiliary, AuxiliaryPlane};
use crate::port::plain::PlainLevel;
use crate::port::surface::{ClearColour, Dimension, Image, Tiling};

/// The format of depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DepthFormat {
    /// 32 bits, a float.
    Float,
    /// Unsigned normalised, with a number of bits.
    Unorm(u32),
}

impl DepthFormat {
    /// Packs a depth for memory.
    #[inline(always)]
    pub fn pack(self, depth: f32) -> u32 {
        match self {
            DepthFormat::Float => depth.to_bits(),
            DepthFormat::Unorm(bits) => {
                let most = f64::from((1u32 << bits) - 1);
                // A NaN becomes 0.
                (f64::from(depth).clamp(0.0, 1.0) * most).round_ties_even() as u32
            }
        }
    }

    /// Unpacks a depth from memory.
    #[inline(always)]
    pub fn unpack(self, texel: u32) -> f32 {
        match self {
            DepthFormat::Float => f32::from_bits(texel),
            DepthFormat::Unorm(bits) => {
                let most = (1u32 << bits) - 1;
                (f64::from(texel & most) / f64::from(most)) as f32
            }
        }
    }

    /// The depth after a round trip through the buffer's format.
    pub fn quantise(self, depth: f32) -> f32 {
        match self {
            DepthFormat::Float => depth,
            DepthFormat::Unorm(_) if depth.is_nan() => depth,
            DepthFormat::Unorm(_) => self.unpack(self.pack(depth)),
        }
    }
}

/// The depth and stencil buffers of a draw.
pub(super) struct Buffers {
    pub depth: Option<(Image, DepthFormat)>,
    /// The hierarchical depth buffer, or the CCS, which marks clear blocks.
    pub hiz: Option<AuxiliaryPlane>,
    /// The depth of clear blocks.
    pub clear: f32,
    pub stencil: Option<Image>,
    /// Whether 3DSTATE_DEPTH_BUFFER and 3DSTATE_STENCIL_BUFFER enable writes.
    depth_write: bool,
    stencil_write: bool,
    samples: u32,
}

/// A view of a buffer with a tiling.
fn image(depth: &State3dDepthBuffer, format: u32, tiling: Tiling, samples: u32) -> Option<Image> {
    Some(Image {
        base: depth.surface_base_address,
        // Surface Type: 0 one dimension, 1 two, 2 three, 3 cubes.
        dimension: if depth.surface_type == 2 { Dimension::Three } else { Dimension::Two },
        cube: false,
        array: true,
        size: [
            depth.width + 1,
            depth.height + 1,
            if depth.surface_type == 2 { depth.depth + 1 } else { 1 },
        ],
        layers: depth.depth + 1,
        first_layer: depth.minimum_array_element,
        level: depth.lod,
        target_level: depth.lod,
        levels: depth.lod + 1,
        min_lod: 0.0,
        pitch: u64::from(depth.surface_pitch) + 1,
        qpitch: 4 * u64::from(depth.surface_qpitch),
        align: [1; 2],
        tiling,
        tail: u32::MAX,
        offset: [0; 2],
        format: crate::format::find(format)?,
        swizzle: [4, 5, 6, 7],
        samples,
        interleaved: true,
        clear: ClearColour::default(),
        auxiliary: None,
        view: crate::compressed::View::PLAIN,
        may_be_clear: false,
    })
}

impl Buffers {
    /// The buffers of a context, for draws of `samples` samples.
    pub fn of(context: &HardwareContext, samples: u32) -> Result<Buffers, JobFault> {
        /// Surface Type of a null surface.
        const NULL: u32 = 7;
        let mut state: State3dDepthBuffer = latched_as::<_, gen12::State3dDepthBuffer>(context)?;
        let hiz_state: State3dHierDepthBuffer = latched(context)?;
        let stencil_state: State3dStencilBuffer =
            latched_as::<_, gen12::State3dStencilBuffer>(context)?;
        // Size and layers of stencil: those of the depth buffer, or on Gen12 its own.
        let mut of_stencil = state;
        let mut stencil_tiling = Tiling::W;
        let [mut depth_view, mut stencil_view] = [View::PLAIN; 2];
        if context.generation == Generation::Gen12 {
            // The stencil buffer has the write enable of stencil.
            let stencil: gen12::State3dStencilBuffer = latched(context)?;
            state.stencil_write_enable = stencil.stencil_write_enable;
            if stencil.control_surface_enable {
                stencil_view = View::through(View::TABLE, ViewKind::Compressed);
            }
            let of_depth: gen12::State3dDepthBuffer = latched(context)?;
            if of_depth.control_surface_enable {
                depth_view = View::through(View::TABLE, ViewKind::Compressed);
            }
            stencil_tiling = match (stencil.tiled_mode, stencil.surface_type) {
                // source: Mesa, isl_gfx7.c (`isl_gfx6_filter_tiling`): Gen12 has stencil in Y tiles.
                (0, _) => Tiling::Y,
                (1, 0 | 1 | 3 | NULL) => Tiling::Yf { element: 1 },
                (2, 0 | 1 | 3 | NULL) => Tiling::Ys { element: 1 },
                _ => return Err(unimplemented("a stencil buffer in such tiles")),
            };
            of_stencil = State3dDepthBuffer {
                surface_type: stencil.surface_type,
                width: stencil.width,
                height: stencil.height,
                depth: stencil.depth,
                minimum_array_element: stencil.minimum_array_element,
                lod: stencil.surf_lod,
                render_target_view_extent: stencil.render_target_view_extent,
                mip_tail_start_lod: stencil.mip_tail_start_lod,
                ..of_stencil
            };
        }
        // source: Mesa, isl.c (`isl_choose_image_alignment_el`) for Gen8 and later: depth is aligned to 4 by
        // 4 elements, 16-bit depth to 8 by 4, stencil to 8 by 8; isl_gfx12.c
        // (`isl_gfx12_choose_image_alignment_el`) for Gen12. The commands have no field.
        let align = |element: usize| match (context.generation, element) {
            (Generation::Gen9, 2) => [8, 4],
            (Generation::Gen9, _) => [4, 4],
            (Generation::Gen12, 2) if matches!(samples, 2 | 8) => [16, 4],
            (Generation::Gen12, 2) => [8, 8],
            (Generation::Gen12, _) => [8, 4],
        };
        let stencil_align = match context.generation {
            Generation::Gen9 => [8, 8],
            Generation::Gen12 => [16, 8],
        };
        let mut depth = None;
        if state.surface_type != NULL {
            // source: genxml, 3DSTATE_DEPTH_BUFFER "Surface Format".
            let (number, kept) = match state.surface_format {
                1 => (0x0d8, DepthFormat::Float),
                3 => (0x0d9, DepthFormat::Unorm(24)),
                5 => (0x10a, DepthFormat::Unorm(16)),
                other => {
                    return Err(unimplemented(&format!("the depth format {other}")));
                }
            };
            let element = if kept == DepthFormat::Unorm(16) { 2 } else { 4 };
            let tiling = match (state.tiled_resource_mode, state.surface_type) {
                (0, _) => Tiling::Y,
                (1, 0 | 1 | 3) => Tiling::Yf { element },
                (2, 0 | 1 | 3) => Tiling::Ys { element },
                _ => return Err(unimplemented("a depth buffer in such tiles")),
            };
            if let Some(mut image) = image(&state, number, tiling, samples) {
                image.align = match tiling.tile_elements() {
                    Some(tile) => {
                        image.tail = state.mip_tail_start_lod;
                        tile
                    }
                    None => align(element as usize),
                };
                image.view = depth_view;
                depth = Some((image, kept));
            }
        }
        let mut stencil = None;
        if stencil_state.stencil_buffer_enable
            && let Some(mut image) = image(&of_stencil, 0x142, stencil_tiling, samples)
        {
            image.base = stencil_state.surface_base_address;
            image.view = stencil_view;
            image.pitch = u64::from(stencil_state.surface_pitch) + 1;
            image.qpitch = 4 * u64::from(stencil_state.surface_qpitch);
            image.align = stencil_align;
            if let Some(tile) = stencil_tiling.tile_elements() {
                image.tail = of_stencil.mip_tail_start_lod;
                image.align = tile;
            }
            stencil = Some(image);
        }
        let clear: State3dClearParams = latched(context)?;
        // What is written through the hierarchy is in the depth buffer, whose CCS marks clear blocks, as the sampler reads them.
        //
        // Assumption: the hierarchical buffer says the same then, so that it needs no marks of its own.
        let writes_through = hiz_state.hierarchical_depth_buffer_write_thru_enable;
        let hiz =
            depth.as_ref().filter(|_| state.hierarchical_depth_buffer_enable).map(|(image, _)| {
                if writes_through {
                    let table = context.bases.auxiliary_table;
                    return Auxiliary::in_table(table, image.qpitch).plane(image, image.level);
                }
                let pitch = u64::from(hiz_state.surface_pitch) + 1;
                // source: Mesa, isl_emit_depth_stencil.c: the field counts rows of pixels, in units of four.
                let qpitch = 4 * u64::from(hiz_state.surface_qpitch);
                Auxiliary::hiz(hiz_state.surface_base_address, pitch, qpitch)
                    .plane(image, image.level)
            });
        if let (Some((image, _)), Some(hiz)) = (&mut depth, &hiz) {
            image.view = match writes_through {
                true => View::through(View::TABLE, ViewKind::WriteThrough),
                false => hiz.view(),
            };
        }
        Ok(Buffers {
            depth,
            hiz,
            clear: clear.depth_clear_value,
            stencil,
            depth_write: state.depth_write_enable,
            stencil_write: state.stencil_write_enable,
            samples,
        })
    }

    /// The unit of the depth bias; none for floats.
    pub fn bias_unit(&self) -> Option<f64> {
        match self.depth {
            Some((_, DepthFormat::Unorm(bits))) => Some(1.0 / f64::from(1u32 << bits)),
            _ => None,
        }
    }

    /// The tests of front-facing and of back-facing primitives.
    pub fn tests(&self, state: &State) -> [Tests; 2] {
        let s = &state.depth_stencil;
        let depth_test = s.depth_test_enable && self.depth.is_some();
        let depth = if depth_test { compare(s.depth_test_function) } else { Compare::ALWAYS };
        // Writes do not depend on the test: drivers clear without it.
        let write = s.depth_buffer_write_enable && self.depth_write && self.depth.is_some();
        let writes = s.stencil_buffer_write_enable && self.stencil_write;
        let enabled = s.stencil_test_enable && self.stencil.is_some();
        let front = Stencil {
            compare: compare(s.stencil_test_function),
            reference: s.stencil_reference_value as u8,
            read_mask: s.stencil_test_mask as u8,
            write_mask: if writes { s.stencil_write_mask as u8 } else { 0 },
            fail: operation(s.stencil_fail_op),
            depth_fail: operation(s.stencil_pass_depth_fail_op),
            pass: operation(s.stencil_pass_depth_pass_op),
        };
        let back = Stencil {
            compare: compare(s.backface_stencil_test_function),
            reference: s.backface_stencil_reference_value as u8,
            read_mask: s.backface_stencil_test_mask as u8,
            write_mask: if writes { s.backface_stencil_write_mask as u8 } else { 0 },
            fail: operation(s.backface_stencil_fail_op),
            depth_fail: operation(s.backface_stencil_pass_depth_fail_op),
            pass: operation(s.backface_stencil_pass_depth_pass_op),
        };
        let back = if s.double_sided_stencil_enable { back } else { front };
        [front, back].map(|stencil| Tests { depth, write, stencil: enabled.then_some(stencil) })
    }

    /// Number of pixels of a tile's row that are inside of an image.
    fn columns(image: &Image, corner: [u32; 2], row: usize) -> Option<usize> {
        let [width, height, _] = image.level_size(image.level);
        let y = corner[1] + row as u32;
        (y < height && corner[0] < width).then(|| ((width - corner[0]) as usize).min(TILE_SIDE))
    }

    /// Reads depth and stencil of a tile.
    pub fn load(
        &self,
        memory: &mut Memory<'_>,
        tile: &mut DepthStencil<MAX_SAMPLES>,
        corner: [u32; 2],
        layer: u32,
        [depth, stencil]: [bool; 2],
    ) -> Result<(), JobFault> {
        let fault = |fault| JobFault::memory(UNIT, fault);
        if let Some((image, format)) = self.depth.as_ref().filter(|_| depth) {
            memory.set_view(image.view);
            if let Some(plain) = self.plain(memory, image, layer) {
                plain_tile::load(&plain, *format, tile, corner);
                return self.load_rest(memory, tile, corner, layer, [depth, stencil]);
            }
            let mut row = [0; TILE_SIDE];
            self.texels(image, corner, layer, |sample, y, addresses| {
                for (at, texel) in addresses.iter().zip(&mut row) {
                    let mut bytes = [0; 4];
                    memory.read(*at, &mut bytes[..image.format.bytes]).map_err(fault)?;
                    *texel = u32::from_le_bytes(bytes);
                }
                let depths = tile.depth_row(sample, y);
                for (depth, &texel) in depths.iter_mut().zip(&row[..addresses.len()]) {
                    *depth = format.unpack(texel);
                }
                Ok(())
            })?;
        }
        self.load_rest(memory, tile, corner, layer, [depth, stencil])
    }

    /// Reads the clear state of depth blocks, and stencil.
    fn load_rest(
        &self,
        memory: &mut Memory<'_>,
        tile: &mut DepthStencil<MAX_SAMPLES>,
        corner: [u32; 2],
        layer: u32,
        [depth, stencil]: [bool; 2],
    ) -> Result<(), JobFault> {
        let fault = |fault| JobFault::memory(UNIT, fault);
        if depth {
            self.load_clear(memory, tile, corner, layer).map_err(fault)?;
        }
        if let Some(image) = self.stencil.as_ref().filter(|_| stencil) {
            memory.set_view(image.view);
            let mut row = [0; TILE_SIDE];
            self.texels(image, corner, layer, |sample, y, addresses| {
                for (at, texel) in addresses.iter().zip(&mut row) {
                    let mut byte = [0];
                    memory.read(*at, &mut byte).map_err(fault)?;
                    *texel = u32::from(byte[0]);
                }
                tile.put_stencil(sample, y, &row[..addresses.len()]);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Replaces the depth of clear blocks by the clear depth.
    fn load_clear(
        &self,
        memory: &mut Memory<'_>,
        tile: &mut DepthStencil<MAX_SAMPLES>,
        corner: [u32; 2],
        layer: u32,
    ) -> Result<(), Fault> {
        let (Some(hiz), Some((image, format))) = (&self.hiz, &self.depth) else { return Ok(()) };
        let mut clear = hiz.clear_blocks(memory, corner, layer)?;
        let depth = format.pack(self.clear).to_le_bytes();
        let used = Contents::UsedClear(clear_colour(&depth[..image.format.bytes], None));
        let level = memory.is_observed().then(|| image.level_plane(image.level));
        let value = format.quantise(self.clear);
        let [width, height] = hiz.block().map(|size| size as usize);
        let columns = hiz.tile()[0];
        while clear != 0 {
            let block = clear.trailing_zeros();
            clear &= clear - 1;
            let [x, y] = [(block % columns) as usize * width, (block / columns) as usize * height];
            if let Some(level) = &level {
                let first = [corner[0] + x as u32, corner[1] + y as u32];
                if let Some(at) = level.texel(image, first, layer, 0) {
                    memory.report_contents(image.view, at, 1, used);
                }
            }
            for sample in 0..self.samples as usize {
                for row in y..y + height {
                    tile.depth_row(sample, row)[x..x + width].fill(value);
                }
            }
        }
        Ok(())
    }

    /// Marks all blocks of a tile as not clear, as their depths are in memory.
    fn store_not_clear(
        &self,
        memory: &mut Memory<'_>,
        corner: [u32; 2],
        layer: u32,
    ) -> Result<(), Fault> {
        let Some(hiz) = &self.hiz else { return Ok(()) };
        let first = [0, 1].map(|axis| corner[axis] / hiz.block()[axis]);
        let [columns, rows] = hiz.tile();
        for y in first[1]..first[1] + rows {
            for x in first[0]..first[0] + columns {
                hiz.set_clear(memory, [x, y], layer, false)?;
            }
        }
        Ok(())
    }

    /// Writes depth and stencil of a tile back.
    pub fn store(
        &self,
        memory: &mut Memory<'_>,
        tile: &mut DepthStencil<MAX_SAMPLES>,
        corner: [u32; 2],
        layer: u32,
        [depth, stencil]: [bool; 2],
    ) -> Result<(), JobFault> {
        let fault = |fault| JobFault::memory(UNIT, fault);
        if let Some((image, format)) = self.depth.as_ref().filter(|_| depth) {
            memory.set_view(image.view);
            if let Some(plain) = self.plain(memory, image, layer) {
                plain_tile::store(&plain, *format, tile, corner);
            } else {
                self.texels(image, corner, layer, |sample, y, addresses| {
                    let depths = tile.depth_row(sample, y);
                    for (at, &depth) in addresses.iter().zip(depths.iter()) {
                        let bytes = format.pack(depth).to_le_bytes();
                        memory.write(*at, &bytes[..image.format.bytes]).map_err(fault)?;
                    }
                    Ok(())
                })?;
            }
            self.store_not_clear(memory, corner, layer).map_err(fault)?;
        }
        if let Some(image) = self.stencil.as_ref().filter(|_| stencil) {
            memory.set_view(image.view);
            let mut rows = [[0; TILE_SIDE]; TILE_SIDE];
            let mut of = usize::MAX;
            self.texels(image, corner, layer, |sample, y, addresses| {
                if of != sample {
                    tile.stencil_texels(sample, &mut rows);
                    of = sample;
                }
                for (at, &texel) in addresses.iter().zip(&rows[y]) {
                    memory.write(*at, &[texel as u8]).map_err(fault)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// A layer of the depth buffer, if it is contiguous in host memory.
    fn plain(&self, memory: &mut Memory<'_>, image: &Image, layer: u32) -> Option<PlainLevel> {
        let level = image.level_plane(image.level);
        PlainLevel::new(memory, image, &level, layer, Protection::READ | Protection::WRITE)
            .filter(plain_tile::suits)
    }

    /// Calls `row` with the addresses of each row of each sample of a tile.
    fn texels(
        &self,
        image: &Image,
        corner: [u32; 2],
        layer: u32,
        mut row: impl FnMut(usize, usize, &[u64]) -> Result<(), JobFault>,
    ) -> Result<(), JobFault> {
        let level = image.level_plane(image.level);
        let mut addresses = [0; TILE_SIDE];
        for sample in 0..self.samples {
            for y in 0..TILE_SIDE {
                let Some(columns) = Self::columns(image, corner, y) else { break };
                let mut count = 0;
                for (x, to) in addresses.iter_mut().enumerate().take(columns) {
                    let place = [corner[0] + x as u32, corner[1] + y as u32];
                    let Some(at) = level.texel(image, place, layer, sample) else { break };
                    *to = at;
                    count += 1;
                }
                row(sample as usize, y, &addresses[..count])?;
            }
        }
        Ok(())
    }
}

pub(super) fn compare(function: CompareFunction) -> Compare {
    use CompareFunction as F;
    match function {
        F::Always => Compare::ALWAYS,
        F::Never => Compare::NEVER,
        F::Less => Compare::LESS,
        F::Equal => Compare::EQUAL,
        F::Lequal => Compare::LEQUAL,
        F::Greater => Compare::GREATER,
        F::Notequal => Compare::NOT_EQUAL,
        F::Gequal => Compare::GEQUAL,
    }
}

fn operation(operation: StencilOperation) -> StencilOp {
    use StencilOperation as O;
    match operation {
        O::Keep => StencilOp::Keep,
        O::Zero => StencilOp::Zero,
        O::Replace => StencilOp::Replace,
        O::Incrsat => StencilOp::IncrSat,
        O::Decrsat => StencilOp::DecrSat,
        O::Incr => StencilOp::IncrWrap,
        O::Decr => StencilOp::DecrWrap,
        O::Invert => StencilOp::Invert,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_of_24_bits_survive_as_floats() {
        let format = DepthFormat::Unorm(24);
        let near = [0, 1, 2, 0x7f_ffff, 0x80_0000, 0x80_0001, 0xff_fffe, 0xff_ffff];
        for texel in near.into_iter().chain((0..1 << 24).step_by(9973)) {
            assert_eq!(format.pack(format.unpack(texel)), texel);
        }
        assert!(format.unpack(0x80_0000) < format.unpack(0x80_0001));
        assert_eq!(format.pack(f32::NAN), 0);
    }
}
