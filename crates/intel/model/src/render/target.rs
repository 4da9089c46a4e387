//! The pixel back end: executes a pixel thread's render target writes.
//!
//! Samples that passed the early tests are blended into the targets; late tests (for shaders that discard,
//! compute depth, or write memory first) are executed at a thread's first write of a pixel, and apply to all
//! targets.

use std::ops::Range;

use tepui_format::info::Numeric;
use tepui_raster::depth::{Plane, at};
use tepui_raster::{DepthStencil, Samples, TILE_SIDE, Tests};
use tepui_softgpu::{Contents, Fault};

use super::blend::{Blend, Blending, MAX_TARGETS, has_logic, logic};
use super::coarse_pixels::CoarsePixels;
use super::depth::DepthFormat;
use super::lines::SmoothLine;
use super::planes::Barycentrics;
use super::unit::MAX_SAMPLES;
use crate::compressed::clear_colour;
use crate::format::MAX_BYTES;
use crate::memory::Memory;
use crate::port::auxiliary::{
    AuxiliaryKind, AuxiliaryPlane, RowPair, is_clear_pixel, own_slices, slice,
};
use crate::port::image::LevelPlane;
use crate::port::plain::{PlainLevel, fill};
use crate::port::surface::Image;

/// Channels of the widest thread.
pub(crate) const LANES: usize = 32;

/// Output state that the pixel threads of a draw share.
pub(crate) struct OutputState {
    pub blending: Blending,
    pub samples: Samples<MAX_SAMPLES>,
    /// The sample mask.
    pub sample_mask: u32,
    /// Stipple pattern of polygons in a tile, one word per row; none if it is disabled.
    pub stipple: Option<[u32; TILE_SIDE]>,
    /// The tests of front and back faces.
    pub tests: [Tests; 2],
    /// The range of the depth bounds test, if it is enabled.
    pub depth_bounds: Option<[f32; 2]>,
    /// Whether tests are executed at render target writes.
    pub late: bool,
    /// The format of depth.
    pub depth_format: DepthFormat,
    /// Whether render target writes contain source depth, coverage, and stencil.
    pub depth_present: bool,
    pub mask_present: bool,
    pub stencil_present: bool,
    /// The clear or resolve operation on blocks of the targets, if the draw is one.
    pub operation: Option<BlockOperation>,
    pub depth_store: bool,
}

/// An operation of a draw on the blocks that its pixels cover, instead of writing pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockOperation {
    /// Marks blocks as clear.
    Clear,
    /// Writes the clear colour to clear blocks: the same as a resolve here, because colours are never compressed.
    PartialResolve,
    /// Writes the clear colour to clear blocks; on silicon, all blocks are plain then.
    Resolve,
    /// Removes clear marks, so that the surface's contents are used.
    Forget,
}

/// The data of a pixel write.
#[derive(Clone, Copy, Default)]
pub(crate) struct PixelWrite {
    pub colour: [u32; 4],
    pub second: [u32; 4],
    /// The alpha for alpha to coverage.
    pub alpha: f32,
    /// The coverage mask that the shader computed.
    pub mask: Option<u32>,
    pub depth: Option<f32>,
    pub stencil: Option<u8>,
}

/// A render target of a draw.
pub(crate) struct Target {
    pub image: Image,
    pub level: LevelPlane,
    pub auxiliary: Option<AuxiliaryPlane>,
    /// Size in pixels of the block that a pixel of a fast clear's or a resolve's rectangle covers.
    block: [u32; 2],
    pub order: ComponentOrder,
    /// The clear colour as a texel.
    clear: [u8; MAX_BYTES],
    /// The layer that [`write_rows`](BackEnd::write_rows) wrote last, if it supports it.
    pub plain: Option<(u32, Option<PlainLevel>)>,
}

impl Target {
    pub fn new(image: Image) -> Target {
        // source: Mesa, blorp_clear.c (`get_fast_clear_rect`): the scale of rectangles.
        let in_table = image.auxiliary.is_some_and(|a| a.kind == AuxiliaryKind::InTable);
        let block = match (image.samples, image.format.bytes) {
            (1, bytes) if in_table => [256 / bytes.clamp(1, 256) as u32, 16],
            (1, bytes) => [256 / bytes.max(4) as u32, 32],
            (2 | 4, _) => [8, 2],
            (8, _) => [2, 2],
            _ => [1, 2],
        };
        let mut clear = [0; MAX_BYTES];
        image.format.pack(image.clear.channels, &mut clear[..image.format.bytes]);
        Target {
            block,
            clear,
            level: image.level_plane(image.target_level),
            auxiliary: image.auxiliary.map(|a| a.plane(&image, image.target_level)),
            order: ComponentOrder::of(image.swizzle),
            plain: None,
            image,
        }
    }
}

/// The component order of a target: for each component of the shader, the index in the texel.
///
/// source: SKL PRM volume 2d, RENDER_SURFACE_STATE "Shader Channel Select": for a render target it may only
/// permute components. Assumption: a select is the destination of the shader's component. Drivers only swap
/// red and blue, for which destination and source are the same.
#[derive(Clone, Copy)]
pub(crate) struct ComponentOrder([u8; 4]);

impl ComponentOrder {
    /// The order of a surface's selects; the identity if they are invalid.
    pub fn of(selects: [u32; 4]) -> ComponentOrder {
        let order = selects.map(|select| select.wrapping_sub(4) as u8);
        let all = (0..4).all(|component| order.contains(&component));
        ComponentOrder(if all { order } else { [0, 1, 2, 3] })
    }

    /// Whether the order is the identity.
    pub fn is_same(self) -> bool {
        self.0 == [0, 1, 2, 3]
    }

    /// Permutes from the shader's order to the texel's.
    pub fn stored<T: Copy>(self, shader: [T; 4]) -> [T; 4] {
        let mut texel = shader;
        for (value, to) in shader.into_iter().zip(self.0) {
            texel[usize::from(to & 3)] = value;
        }
        texel
    }

    /// Permutes from the texel's order to the shader's.
    pub fn seen<T: Copy>(self, texel: [T; 4]) -> [T; 4] {
        self.0.map(|from| texel[usize::from(from & 3)])
    }
}

/// The clear blocks of a target in a tile.
#[derive(Clone, Copy, Default)]
struct ClearBlocks {
    /// The number of the tile, counted from 1.
    tile: u64,
    /// One bit per block.
    clear: u128,
}

/// The back end of a worker: the tile that it renders, and the pixels of the current thread.
pub(crate) struct BackEnd<'a> {
    pub output: &'a OutputState,
    /// The tile's depth and stencil.
    pub tile: DepthStencil<MAX_SAMPLES>,
    /// The tile's first pixel.
    pub corner: [u32; 2],
    /// X and Y of each channel's pixel.
    pub places: [[u32; 2]; LANES],
    /// The samples of each channel's pixel that the primitive covers and that passed early tests.
    pub covered: [u32; LANES],
    /// The sample of each channel, in per-sample threads.
    pub samples_of: [u8; LANES],
    /// The first pixel, if the thread is for a strip, and whether the per-channel data has been filled in
    /// ([`BackEnd::spread`]).
    pub strip: Option<[u32; 2]>,
    spread: bool,
    /// The pixels of the channels, if these are coarse.
    pub coarse: Option<Box<CoarsePixels>>,
    /// The primitive's barycentric coordinates.
    pub interpolation: Barycentrics,
    /// The layer of the render targets.
    pub layer: u32,
    /// The primitive: its face, its smooth line, its depth plane relative to the tile's corner, and the depth
    /// range.
    pub front: bool,
    pub smooth: Option<SmoothLine>,
    pub plane: Plane,
    pub depth_range: [f32; 2],
    /// Mask of the channels whose late tests have been executed.
    pub tested: u32,
    /// Number of samples that passed depth and stencil tests.
    pub passed: u64,
    /// The number of the tile, and the clear blocks of targets by their binding table index.
    tile_number: u64,
    clear_blocks: Vec<ClearBlocks>,
}

impl<'a> BackEnd<'a> {
    pub fn new(output: &'a OutputState) -> BackEnd<'a> {
        BackEnd {
            output,
            tile: DepthStencil::of_samples(output.samples.count),
            corner: [0; 2],
            places: [[0; 2]; LANES],
            covered: [0; LANES],
            samples_of: [0; LANES],
            strip: None,
            spread: false,
            coarse: None,
            interpolation: Barycentrics::default(),
            layer: 0,
            front: true,
            smooth: None,
            plane: [0.0; 3],
            depth_range: [0.0, 1.0],
            tested: 0,
            passed: 0,
            tile_number: 0,
            clear_blocks: Vec::new(),
        }
    }

    /// Begins a tile.
    pub fn begin_tile(&mut self, corner: [u32; 2], layer: u32) {
        self.corner = corner;
        self.layer = layer;
        self.tile_number += 1;
    }

    /// Sets the next thread's pixels to a strip: eight by two, in subspans of two by two, all of them
    /// covered.
    #[inline(always)]
    pub fn begin_strip(&mut self, first: [u32; 2]) {
        self.tested = 0;
        self.strip = Some(first);
        self.spread = false;
    }

    /// Fills in the per-channel data of a strip. Code that reads per-channel data calls it first.
    pub fn spread(&mut self) {
        let Some([x, y]) = self.strip.filter(|_| !self.spread) else { return };
        for (lane, place) in (0u32..).zip(&mut self.places[..16]) {
            *place = [x + lane / 4 * 2 + lane % 2, y + lane / 2 % 2];
        }
        self.covered = [0; LANES];
        self.covered[..16].fill(1);
        self.samples_of = [0; LANES];
        self.spread = true;
    }

    /// Sets the view of a target, and determines its clear blocks in the tile, before its pixels are accessed. `place` is the
    /// target's binding table index.
    ///
    /// # Errors
    /// Memory of its auxiliary surface is not bound.
    pub fn prepare(
        &mut self,
        memory: &mut Memory<'_>,
        target: &Target,
        place: usize,
    ) -> Result<(), Fault> {
        memory.set_view(target.image.view);
        let Some(auxiliary) = &target.auxiliary else { return Ok(()) };
        let known = self.clear_blocks.get(place);
        if known.is_some_and(|known| known.tile == self.tile_number) || target.image.mcs().is_some()
        {
            return Ok(());
        }
        if place >= self.clear_blocks.len() {
            self.clear_blocks.resize(place + 1, ClearBlocks::default());
        }
        let known = &mut self.clear_blocks[place];
        if known.tile != self.tile_number {
            known.tile = self.tile_number;
            known.clear = match self.output.operation {
                None if self.layer < target.level.layers => {
                    auxiliary.clear_blocks(memory, self.corner, self.layer)?
                }
                _ => 0,
            };
        }
        Ok(())
    }

    /// Writes the clear colour to a pixel's block if it is clear, and unmarks it.
    #[inline]
    pub fn unclear(
        &mut self,
        memory: &mut Memory<'_>,
        target: &Target,
        index: usize,
        [x, y]: [u32; 2],
    ) -> Result<(), Fault> {
        let Some(known) = self.clear_blocks.get_mut(index).filter(|known| known.clear != 0) else {
            return Ok(());
        };
        let Some(auxiliary) = &target.auxiliary else { return Ok(()) };
        let [width, height] = auxiliary.block();
        let [column, row] =
            [x.wrapping_sub(self.corner[0]) / width, y.wrapping_sub(self.corner[1]) / height];
        let bit = row * auxiliary.tile()[0] + column;
        if known.clear >> bit & 1 != 0 {
            known.clear &= !(1 << bit);
            target.resolve(memory, [x / width, y / height], self.layer)?;
        }
        Ok(())
    }

    /// The target's value of a channel's pixel, or of its sample; zeros outside of the target.
    ///
    /// # Errors
    /// Memory of the target is not bound.
    pub fn read(
        &mut self,
        memory: &mut Memory<'_>,
        target: &Target,
        binding: usize,
        lane: usize,
        of_sample: bool,
    ) -> Result<[u32; 4], Fault> {
        let place = self.places[lane];
        let [width, height] = target.level.size;
        if place[0] >= width || place[1] >= height || self.layer >= target.level.layers {
            return Ok([0; 4]);
        }
        self.unclear(memory, target, binding, place)?;
        target.own_slices(memory, place, self.layer)?;
        let image = &target.image;
        let sample = if of_sample { u32::from(self.samples_of[lane]) } else { 0 };
        let Some(at) = target.level.texel(image, place, self.layer, sample) else {
            return Ok([0; 4]);
        };
        let mut bytes = [0; MAX_BYTES];
        let texel = &mut bytes[..image.format.bytes];
        memory.read(at, texel)?;
        Ok(target.order.seen(image.format.unpack(texel, [0; 2])))
    }

    /// The depth of the primitive at a sample of a pixel of the tile.
    pub fn depth(&self, place: [u32; 2], sample: usize) -> f32 {
        let [x, y] = self.output.samples.px(sample);
        let column = place[0].wrapping_sub(self.corner[0]) as f32;
        let row = place[1].wrapping_sub(self.corner[1]) as f32;
        let [low, high] = self.depth_range;
        at(&self.plane, column + x, row + y).clamp(low, high)
    }

    /// The tests for the primitive's face.
    pub fn tests(&self) -> &'a Tests {
        &self.output.tests[usize::from(!self.front)]
    }

    /// Whether any block of a target in the tile is clear.
    pub fn has_clear_blocks(&self, index: usize) -> bool {
        self.clear_blocks.get(index).is_some_and(|known| known.clear != 0)
    }

    /// The samples of a channel's pixel that a write affects.
    pub fn samples(&mut self, lane: usize, written: &PixelWrite) -> u32 {
        let changes = written.mask.is_some() || self.output.blending.changes_coverage();
        if !self.output.late && !changes || self.tested >> lane & 1 != 0 {
            return self.covered[lane];
        }
        self.tested |= 1 << lane;
        let mut mask = self.covered[lane];
        if let Some(own) = written.mask {
            mask &= own;
        }
        if let Some((compare, reference)) = self.output.blending.alpha_test
            && !compare.holds(written.alpha, reference)
        {
            mask = 0;
        }
        if self.output.blending.alpha_to_coverage {
            // Assumption: alpha times the number of samples, from the first sample on.
            let count = self.output.samples.count as f32;
            let n = (written.alpha.clamp(0.0, 1.0) * count + 0.5) as u32;
            mask &= (1u32 << n) - 1;
        }
        if !self.output.late {
            self.covered[lane] = mask;
            return mask;
        }
        let tests = self.tests();
        let place = self.places[lane];
        let [x, y] = [0, 1].map(|axis| place[axis].wrapping_sub(self.corner[axis]) as usize);
        for sample in 0..self.output.samples.count {
            if mask >> sample & 1 == 0 {
                continue;
            }
            if let Some(bounds) = self.output.depth_bounds
                && self.tile.in_bounds([sample, y], 1 << x, bounds) == 0
            {
                mask &= !(1 << sample);
                continue;
            }
            let [low, high] = self.depth_range;
            let depth = match written.depth {
                Some(depth) => depth.clamp(low, high),
                None => self.depth(place, sample),
            };
            let depth = self.output.depth_format.quantise(depth);
            if !self.tile.test(tests, sample, x, y, depth, written.stencil) {
                mask &= !(1 << sample);
            }
        }
        self.passed += u64::from(mask.count_ones());
        self.covered[lane] = mask;
        mask
    }

    /// Writes a channel's pixel to a target; `None` for a null surface. The target has an index for its blending,
    /// and a binding table index.
    ///
    /// # Errors
    /// Memory of the target is not bound.
    pub fn write(
        &mut self,
        memory: &mut Memory<'_>,
        target: Option<&Target>,
        [index, binding]: [usize; 2],
        lane: usize,
        written: &PixelWrite,
    ) -> Result<(), Fault> {
        let place = [index, binding];
        let Some(mut coarse) = self.coarse.take() else {
            return self.write_pixel(memory, target, place, lane, written);
        };
        let outcome = self.write_coarse(&mut coarse, memory, target, place, lane, written);
        self.coarse = Some(coarse);
        outcome
    }

    /// As [`BackEnd::write`], for a channel with a single pixel.
    pub(super) fn write_pixel(
        &mut self,
        memory: &mut Memory<'_>,
        target: Option<&Target>,
        [index, binding]: [usize; 2],
        lane: usize,
        written: &PixelWrite,
    ) -> Result<(), Fault> {
        let mut samples = self.samples(lane, written);
        let Some(target) = target else { return Ok(()) };
        let Target { image, level, .. } = target;
        let place = self.places[lane];
        if let Some(operation) = self.output.operation {
            return target.operate(memory, operation, place, self.layer);
        }
        if samples == 0 {
            return Ok(());
        }
        self.unclear(memory, target, binding, place)?;
        target.own_slices(memory, place, self.layer)?;
        let output = self.output;
        let mut written = *written;
        if output.blending.alpha_to_one && !image.format.is_integer() {
            written.colour[3] = 1.0f32.to_bits();
            written.second[3] = 1.0f32.to_bits();
        }
        if let Some(smooth) = self.smooth.filter(|_| !image.format.is_integer()) {
            let alpha = f32::from_bits(written.colour[3]) * smooth.coverage(place);
            written.colour[3] = alpha.to_bits();
        }
        let blend = &output.blending.entries[index % MAX_TARGETS];
        while samples != 0 {
            let sample = samples.trailing_zeros();
            samples &= samples - 1;
            let Some(at) = level.texel(image, place, self.layer, sample) else { continue };
            let mut bytes = [0; MAX_BYTES];
            let texel = &mut bytes[..image.format.bytes];
            if blend.replaces() {
                image.format.pack(target.order.stored(written.colour), texel);
            } else {
                memory.read(at, texel)?;
                combine(&output.blending, blend, target, &written, texel);
            }
            memory.write(at, texel)?;
        }
        Ok(())
    }
}

impl Target {
    /// Clears or resolves the blocks that a pixel covers.
    fn operate(
        &self,
        memory: &mut Memory<'_>,
        operation: BlockOperation,
        place: [u32; 2],
        layer: u32,
    ) -> Result<(), Fault> {
        let image = &self.image;
        let [width, height] = self.block;
        if layer >= self.level.layers {
            return Ok(());
        }
        let [columns, rows] = [place[0] * width, place[1] * height];
        let area = [columns..columns + width, rows..rows + height];
        let Some(auxiliary) = &self.auxiliary else {
            // Without an auxiliary surface there is nothing to resolve, and no block to mark.
            return match operation {
                BlockOperation::Clear => self.fill(memory, area, layer),
                _ => Ok(()),
            };
        };
        self.operate_blocks(memory, auxiliary, operation, &area, layer)?;
        let contents = match operation {
            BlockOperation::Clear => {
                let texel = &self.clear[..image.format.bytes];
                Contents::Cleared(clear_colour(texel, image.clear.address()))
            }
            BlockOperation::PartialResolve => return Ok(()),
            BlockOperation::Resolve | BlockOperation::Forget => Contents::Plain,
        };
        self.level.report_contents(memory, image, &area, layer, contents);
        Ok(())
    }

    /// Executes an operation on the blocks of an area.
    fn operate_blocks(
        &self,
        memory: &mut Memory<'_>,
        auxiliary: &AuxiliaryPlane,
        operation: BlockOperation,
        [columns, rows]: &[Range<u32>; 2],
        layer: u32,
    ) -> Result<(), Fault> {
        let image = &self.image;
        let block = auxiliary.block();
        let columns = columns.start / block[0]..columns.end / block[0];
        let rows = rows.start / block[1]..rows.end / block[1];
        let width = columns.end - columns.start;
        if image.mcs().is_some() {
            for place in rows.flat_map(|y| columns.clone().map(move |x| [x, y])) {
                match operation {
                    BlockOperation::Clear => auxiliary.set_mcs(memory, place, layer, u64::MAX)?,
                    BlockOperation::PartialResolve | BlockOperation::Resolve => {
                        self.own_slices(memory, place, layer)?;
                    }
                    BlockOperation::Forget => {
                        auxiliary.set_mcs(memory, place, layer, own_slices(image.samples))?;
                    }
                }
            }
            return Ok(());
        }
        for y in rows.step_by(2) {
            let two_rows = auxiliary.two_rows([columns.start, y], width, layer);
            let single = [y, y + 1].into_iter().flat_map(|y| columns.clone().map(move |x| [x, y]));
            match (operation, two_rows) {
                (BlockOperation::Clear, Some(two)) => two.set(memory, true)?,
                (BlockOperation::Forget, Some(two)) => two.set(memory, false)?,
                (BlockOperation::PartialResolve | BlockOperation::Resolve, Some(two)) => {
                    self.resolve_rows(memory, two, [columns.start, y], block, layer)?;
                }
                (BlockOperation::Clear | BlockOperation::Forget, None) => {
                    let clear = operation == BlockOperation::Clear;
                    for element in single {
                        auxiliary.set_clear(memory, element, layer, clear)?;
                    }
                }
                (BlockOperation::PartialResolve | BlockOperation::Resolve, None) => {
                    for element in single {
                        if auxiliary.is_clear(memory, element, layer)? {
                            self.resolve(memory, element, layer)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Resolves the blocks of two rows, from a first one on.
    fn resolve_rows(
        &self,
        memory: &mut Memory<'_>,
        two: RowPair,
        [x, y]: [u32; 2],
        block: [u32; 2],
        layer: u32,
    ) -> Result<(), Fault> {
        let [upper, lower] = two.clear(memory)?;
        for (row, mut left) in [upper, lower].into_iter().enumerate() {
            while left != 0 {
                let first = left.trailing_zeros();
                let count = (left >> first).trailing_ones();
                left &= !(((1 << count) - 1) << first);
                let left_px = (x + first) * block[0];
                let top_px = (y + row as u32) * block[1];
                let area = [left_px..left_px + count * block[0], top_px..top_px + block[1]];
                self.fill(memory, area, layer)?;
            }
        }
        if upper | lower != 0 { two.set(memory, false) } else { Ok(()) }
    }

    /// Writes the clear colour to a clear block, and unmarks it.
    fn resolve(&self, memory: &mut Memory<'_>, element: [u32; 2], layer: u32) -> Result<(), Fault> {
        let Some(auxiliary) = &self.auxiliary else { return Ok(()) };
        let [width, height] = auxiliary.block();
        let [x, y] = [element[0] * width, element[1] * height];
        self.fill(memory, [x..x + width, y..y + height], layer)?;
        auxiliary.set_clear(memory, element, layer, false)
    }

    /// Writes the clear colour to all clear blocks of the level, and unmarks them.
    pub fn resolve_all(&self, memory: &mut Memory<'_>) -> Result<(), Fault> {
        let Some(auxiliary) = &self.auxiliary else { return Ok(()) };
        let [width, height] =
            [0, 1].map(|axis| self.level.size[axis].div_ceil(auxiliary.block()[axis]));
        for layer in 0..self.level.layers {
            for element in (0..height).flat_map(|y| (0..width).map(move |x| [x, y])) {
                if auxiliary.is_clear(memory, element, layer)? {
                    self.resolve(memory, element, layer)?;
                }
            }
        }
        Ok(())
    }

    /// Converts the clear colour to a pixel, which the sampler reads, if it is in memory: part of a fast clear.
    ///
    /// source: Mesa, isl.c (`isl_get_sampler_clear_field_offset`): for formats of less than 128 bits.
    pub fn convert_clear(&self, memory: &mut Memory<'_>) -> Result<(), Fault> {
        match self.image.clear.pixel {
            Some((at, before)) if self.image.format.bytes <= before.len() => {
                memory.write(at, &self.clear[..before.len()])
            }
            _ => Ok(()),
        }
    }

    /// Fills an area with the clear colour.
    fn fill(
        &self,
        memory: &mut Memory<'_>,
        [columns, rows]: [Range<u32>; 2],
        layer: u32,
    ) -> Result<(), Fault> {
        let image = &self.image;
        let texel = &self.clear[..image.format.bytes];
        if self.auxiliary.is_some() {
            let used = Contents::UsedClear(clear_colour(texel, image.clear.address()));
            let area = [columns.clone(), rows.clone()];
            self.level.report_contents(memory, image, &area, layer, used);
        }
        fill(memory, image, &self.level, &[columns, rows], layer, texel)
    }

    /// Moves the samples of a pixel to their own slices, if the target's MCS maps them otherwise.
    fn own_slices(
        &self,
        memory: &mut Memory<'_>,
        place: [u32; 2],
        layer: u32,
    ) -> Result<(), Fault> {
        let image = &self.image;
        let (true, Some(auxiliary)) = (image.samples > 1, &self.auxiliary) else { return Ok(()) };
        let [x, y] = place;
        if x >= self.level.size[0] || y >= self.level.size[1] || layer >= self.level.layers {
            return Ok(());
        }
        let mcs = auxiliary.mcs(memory, place, layer)?;
        let own = own_slices(image.samples);
        if mcs == own {
            return Ok(());
        }
        if is_clear_pixel(image.samples, mcs) {
            self.fill(memory, [x..x + 1, y..y + 1], layer)?;
        } else {
            let mut texels = [[0; MAX_BYTES]; MAX_SAMPLES];
            let bytes = image.format.bytes;
            for (sample, texel) in (0..image.samples).zip(&mut texels) {
                let from = slice(image.samples, mcs, sample);
                if let Some(at) = self.level.texel(image, place, layer, from) {
                    memory.read(at, &mut texel[..bytes])?;
                }
            }
            for (sample, texel) in (0..image.samples).zip(&texels) {
                if let Some(at) = self.level.texel(image, place, layer, sample) {
                    memory.write(at, &texel[..bytes])?;
                }
            }
        }
        auxiliary.set_mcs(memory, place, layer, own)
    }
}

/// Blends a pixel into a texel.
fn combine(
    blending: &Blending,
    blend: &Blend,
    target: &Target,
    written: &PixelWrite,
    texel: &mut [u8],
) {
    let (format, order) = (target.image.format, target.order);
    let mut colour = written.colour;
    if let Some(operation) = blend.logic.filter(|_| has_logic(format)) {
        let mut new = [0; MAX_BYTES];
        let new = &mut new[..texel.len()];
        format.pack(order.stored(colour), new);
        let result = logic(operation, bits(new), bits(texel));
        new.copy_from_slice(&result.to_le_bytes()[..new.len()]);
        format.merge(new, order.stored(blend.write), texel);
        return;
    }
    let integer = matches!(format.numeric(), Numeric::Uint | Numeric::Sint);
    if blend.enabled && !integer {
        let old = order.seen(format.unpack(texel, [0; 2])).map(f32::from_bits);
        let source = colour.map(f32::from_bits);
        let second = written.second.map(f32::from_bits);
        let result = blending.blend(blend, format.numeric(), source, second, old);
        colour = result.map(f32::to_bits);
    }
    let mut new = [0; MAX_BYTES];
    let new = &mut new[..texel.len()];
    format.pack(order.stored(colour), new);
    format.merge(new, order.stored(blend.write), texel);
}

fn bits(texel: &[u8]) -> u128 {
    tepui_format::texel::load(texel)
}
