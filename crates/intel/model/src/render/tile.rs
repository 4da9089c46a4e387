//! Rasterisation tile by tile: covered samples, early tests, pixel threads.
//!
//! One worker renders a tile's shapes in their order, so that pictures are the same for any number of
//! threads.

use tepui_intel_eu::Thread;
use tepui_raster::{Bins, Compare, Coverage, Shape, TILE_SIDE, Tests};
use tepui_softgpu::AddressSpace;

use super::coarse_pixels::CoarsePixels;
use super::depth::Buffers;
use super::geometry::{Primitive, Scene};
use super::pixel::{PixelShader, Subspan, ThreadParameters};
use super::target::{BackEnd, OutputState};
use super::unit::{MAX_SAMPLES, UNIT};
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats};
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::port::{DispatchState, Ports};

/// Width of a strip in pixels; its height is two.
pub(super) const STRIP: u32 = 8;
/// Side of a tile in pixels.
const SIDE: u32 = TILE_SIDE as u32;

/// State for rendering a scene.
pub(super) struct SceneRenderer<'a> {
    pub gpu: &'a Gpu,
    pub vm: &'a AddressSpace,
    pub buffers: &'a Buffers,
    pub output: &'a OutputState,
    pub shader: Option<&'a PixelShader>,
    /// Shared thread state if there is no shader: no message is ever sent.
    pub shared: &'a DispatchState,
    /// Number of double words of a primitive's attributes.
    pub attribute_dwords: usize,
}

/// Counts of a scene's pixels.
#[derive(Clone, Copy, Default)]
pub(super) struct PixelCounts {
    /// Number of samples that passed all tests.
    pub passed: u64,
    /// Number of pixels that were shaded.
    pub shaded: u64,
}

/// A worker's result.
pub(super) struct WorkerResult {
    pub stats: JobStats,
    pub(super) counts: PixelCounts,
}

impl SceneRenderer<'_> {
    /// Renders a scene.
    pub fn draw(&self, scene: &Scene, stats: &mut JobStats) -> Result<PixelCounts, JobFault> {
        let mut counts = PixelCounts::default();
        let mut layers: Vec<u32> = scene.primitives.iter().map(|p| p.layer).collect();
        layers.sort_unstable();
        layers.dedup();
        let mut bins = Bins::default();
        for layer in layers {
            let of_layer = |s: &Shape| scene.primitives[s.primitive as usize].layer == layer;
            let members: Vec<u32> =
                (0u32..).zip(&scene.shapes).filter(|(_, s)| of_layer(s)).map(|(i, _)| i).collect();
            let most = |axis: usize| {
                let ends = members.iter().map(|&i| scene.shapes[i as usize].max_px[axis]);
                u32::from(ends.max().unwrap_or(0)).div_ceil(SIDE)
            };
            let least = |axis: usize| {
                let starts = members.iter().map(|&i| scene.shapes[i as usize].min_px[axis]);
                u32::from(starts.min().unwrap_or(0)) / SIDE
            };
            let (first, tiles) = ([least(0), least(1)], [most(0), most(1)]);
            bins.fill(&scene.shapes, &members, tiles, [SIDE, SIDE]);
            let items: Vec<[u32; 2]> = (first[1]..tiles[1])
                .flat_map(|y| (first[0]..tiles[0]).map(move |x| [x, y]))
                .filter(|[x, y]| bins.tile(y * tiles[0] + x).next().is_some())
                .collect();
            let shared = self.shader.map_or(self.shared, |shader| &shader.shared);
            let begin = |core| Worker {
                drawing: self,
                scene,
                core,
                memory: Memory::new(self.vm, MemoryUnit::Depth),
                thread: shared.thread(),
                ports: Ports::of_pixels(self.vm, shared, self.back_end()),
                coverage: Coverage::default(),
                pending: Vec::new(),
                budget: self.gpu.options.max_instructions,
                part: WorkerResult { stats: JobStats::default(), counts: PixelCounts::default() },
            };
            let run = |worker: &mut Worker<'_, '_>, [x, y]: [u32; 2]| {
                let shapes = bins.tile(y * tiles[0] + x);
                worker.tile([x * SIDE, y * SIDE], layer, shapes)
            };
            let (parts, outcome) = self
                .gpu
                .pool
                .share(items.into_iter(), begin, run, |mut worker| {
                    worker.part.counts.passed += worker.ports.pixels_mut().map_or(0, |p| p.passed);
                    worker.part
                })
                .map_err(|error| JobFault::new(UNIT, error.to_string()))?;
            for part in parts {
                stats.threads += part.stats.threads;
                stats.instructions += part.stats.instructions;
                counts.passed += part.counts.passed;
                counts.shaded += part.counts.shaded;
            }
            outcome?;
        }
        Ok(counts)
    }
}

impl<'a> SceneRenderer<'a> {
    fn back_end(&self) -> BackEnd<'a> {
        let coarse = self.shader.and_then(|shader| shader.coarse);
        let mut back_end = BackEnd::new(self.output);
        back_end.coarse = coarse.map(|size| Box::new(CoarsePixels::of(size)));
        back_end
    }
}

/// The columns of a pair of rows whose strips are fully covered.
pub(super) fn whole_strips([upper, lower]: [u32; 2]) -> u32 {
    let both = upper & lower;
    let pairs = both & both >> 1;
    let fours = pairs & pairs >> 2;
    (fours & fours >> 4 & 0x0101_0101) * 0xff
}

/// The state of a worker.
pub(super) struct Worker<'w, 'a> {
    pub drawing: &'w SceneRenderer<'a>,
    pub scene: &'w Scene,
    core: u32,
    memory: Memory<'w>,
    thread: Thread,
    pub ports: Ports<'w>,
    pub(super) coverage: Coverage<MAX_SAMPLES>,
    /// Subspans for the next thread.
    pub(super) pending: Vec<Subspan>,
    pub budget: u64,
    pub part: WorkerResult,
}

impl<'w> Worker<'w, '_> {
    pub(super) fn back_end(&mut self) -> Result<&mut BackEnd<'w>, JobFault> {
        self.ports.pixels_mut().ok_or_else(|| JobFault::new(UNIT, "pixels without a back end"))
    }

    /// Renders the shapes of a tile.
    fn tile(
        &mut self,
        corner: [u32; 2],
        layer: u32,
        shapes: impl Iterator<Item = u32>,
    ) -> Result<(), JobFault> {
        let output = self.drawing.output;
        // Depth and stencil are read only if a test uses them: otherwise there may be no buffer.
        let looked_at = [
            output.depth_bounds.is_some()
                || output.tests.iter().any(|t| t.write || t.depth != Compare::ALWAYS),
            output.tests.iter().any(|t| t.stencil.is_some()),
        ];
        let unorm = match output.depth_format {
            super::depth::DepthFormat::Float => 0,
            super::depth::DepthFormat::Unorm(bits) => bits,
        };
        let Some(back_end) = self.ports.pixels_mut() else { return Ok(()) };
        back_end.begin_tile(corner, layer);
        back_end.tile.unorm_bits = unorm;
        let drawing = self.drawing;
        drawing.buffers.load(&mut self.memory, &mut back_end.tile, corner, layer, looked_at)?;
        for index in shapes {
            let scene = self.scene;
            let shape = &scene.shapes[index as usize];
            if !self.coverage.draw(shape, &output.samples, corner, [SIDE; 2]) {
                continue;
            }
            let primitive = &scene.primitives[shape.primitive as usize];
            self.shape(corner, primitive)?;
        }
        let stencil = output.tests.iter().any(|t| t.stencil.is_some_and(|s| s.write_mask != 0));
        if output.depth_store || stencil {
            let drawing = self.drawing;
            let Some(back_end) = self.ports.pixels_mut() else { return Ok(()) };
            drawing.buffers.store(
                &mut self.memory,
                &mut back_end.tile,
                corner,
                layer,
                [output.depth_store, stencil],
            )?;
        }
        Ok(())
    }

    /// Tests and shades the pixels that a shape covers.
    fn shape(&mut self, corner: [u32; 2], primitive: &Primitive) -> Result<(), JobFault> {
        let output = self.drawing.output;
        let count = output.samples.count;
        let [from, to] = self.coverage.rows;
        let plane = primitive.depth;
        let start = plane[0] * f64::from(corner[0]) + plane[1] * f64::from(corner[1]) + plane[2];
        let back_end = self.back_end()?;
        back_end.interpolation = primitive.interpolation;
        back_end.front = primitive.front;
        back_end.smooth = primitive.smooth;
        back_end.depth_range = primitive.depth_range;
        back_end.plane = [plane[0] as f32, plane[1] as f32, start as f32];
        let tests = back_end.tests();
        if let Some(size) = self.drawing.shader.and_then(|shader| shader.coarse) {
            return self.coarse_shape(corner, primitive, tests, size);
        }
        if count == 1 {
            return self.shape_of_pixels(corner, primitive, tests);
        }
        // Pairs of rows, because subspans have two rows.
        for y in (from & !1..to).step_by(2) {
            let mut covered = [[0u32; 2]; MAX_SAMPLES];
            let mut passed = [[0u32; 2]; MAX_SAMPLES];
            let mut any = [0u32; 2];
            for sample in 0..count {
                for row in 0..2 {
                    let line = y + row;
                    if line < from || line >= to {
                        continue;
                    }
                    let bits = self.covered_line(corner, primitive, [sample, line]);
                    let left = self.test_line(primitive, tests, [sample, line], bits)?;
                    covered[sample][row] = bits;
                    passed[sample][row] = left;
                    any[row] |= left;
                }
            }
            if any != [0; 2] && self.drawing.shader.is_some() {
                self.pair(corner, y, primitive, &covered, &passed, any[0] | any[1])?;
            }
        }
        self.flush(primitive)
    }

    /// The pixels of a line that a shape covers at a sample.
    pub(super) fn covered_line(
        &self,
        corner: [u32; 2],
        primitive: &Primitive,
        [sample, line]: [usize; 2],
    ) -> u32 {
        match self.drawing.output.sample_mask >> sample & 1 {
            0 => 0,
            _ => self.coverage.bits[sample][line] & self.pattern(corner, line, primitive),
        }
    }

    /// Executes the early tests of a line's pixels at a sample; returns those that pass.
    pub(super) fn test_line(
        &mut self,
        primitive: &Primitive,
        tests: &Tests,
        [sample, line]: [usize; 2],
        mut bits: u32,
    ) -> Result<u32, JobFault> {
        let output = self.drawing.output;
        if output.late || bits == 0 {
            return Ok(bits);
        }
        if !tests.is_trivial() || output.depth_bounds.is_some() {
            let [dx, dy] = output.samples.px(sample);
            let plane = self.plane()?;
            let at = [dx, line as f32 + dy];
            let tile = &mut self.back_end()?.tile;
            if let Some(bounds) = output.depth_bounds {
                bits = tile.in_bounds([sample, line], bits, bounds);
            }
            bits = tile.test_row(tests, [sample, line], bits, &plane, at, primitive.depth_range);
        }
        self.part.counts.passed += u64::from(bits.count_ones());
        Ok(bits)
    }

    /// As [`Worker::shape`], for single-sampled pixels.
    fn shape_of_pixels(
        &mut self,
        corner: [u32; 2],
        primitive: &Primitive,
        tests: &Tests,
    ) -> Result<(), JobFault> {
        let output = self.drawing.output;
        if output.sample_mask & 1 == 0 {
            return Ok(());
        }
        let [from, to] = self.coverage.rows;
        let tested = !output.late && !tests.is_trivial();
        let patterned = output.stipple.is_some() && primitive.polygon
            || primitive.dashes.is_some()
            || primitive.smooth.is_some();
        let [dx, dy] = output.samples.px(0);
        let shaded = self.drawing.shader.is_some();
        let strips = self.drawing.shader.is_some_and(PixelShader::takes_strips);
        let mut covered = [0u32; TILE_SIDE];
        covered[from..to].copy_from_slice(&self.coverage.bits[0][from..to]);
        if patterned {
            for (line, covered) in covered.iter_mut().enumerate().take(to).skip(from) {
                *covered &= self.pattern(corner, line, primitive);
            }
        }
        let mut passed = covered;
        if let Some(bounds) = output.depth_bounds.filter(|_| !output.late) {
            let tile = &self.back_end()?.tile;
            for (line, passed) in passed.iter_mut().enumerate().take(to).skip(from) {
                *passed = tile.in_bounds([0, line], *passed, bounds);
            }
        }
        if tested {
            let back_end = self.back_end()?;
            let (plane, range) = (back_end.plane, back_end.depth_range);
            let tile = &mut back_end.tile;
            tile.test_rows(tests, 0, from..to, &mut passed, &plane, [dx, dy], range);
        }
        let copied = match strips {
            true => self.copied(corner, primitive, &passed),
            false => [0; TILE_SIDE / 2],
        };
        // Pairs of rows, because subspans have two rows.
        for y in (from & !1..to).step_by(2) {
            let [covered, passed] = [covered, passed].map(|rows| [rows[y], rows[y + 1]]);
            let pixels = passed[0].count_ones() + passed[1].count_ones();
            if !output.late {
                self.part.counts.passed += u64::from(pixels);
            }
            if pixels == 0 || !shaded {
                continue;
            }
            self.part.counts.shaded += u64::from(pixels);
            let passed = passed.map(|row| row & !copied[y / 2]);
            let whole = match strips {
                true => self.strips([corner[0], corner[1] + y as u32], primitive, passed)?,
                false => 0,
            };
            let any = (passed[0] | passed[1]) & !whole;
            let mut left = (any | any >> 1) & 0x5555_5555;
            while left != 0 {
                let x = left.trailing_zeros();
                left &= left - 1;
                let pixels = |[upper, lower]: [u32; 2]| {
                    let [upper, lower] = [upper >> x, lower >> x];
                    [upper & 1, upper >> 1 & 1, lower & 1, lower >> 1 & 1]
                };
                let subspan = Subspan {
                    place: [corner[0] + x, corner[1] + y as u32],
                    covered: pixels(passed),
                    coverage: pixels(covered),
                    sample: 0,
                };
                self.add(primitive, subspan)?;
            }
        }
        self.flush(primitive)
    }

    /// Runs a thread for each strip of eight by two pixels of a pair of rows whose pixels are all shaded; returns the
    /// columns of these strips.
    fn strips(
        &mut self,
        [left, top]: [u32; 2],
        primitive: &Primitive,
        passed: [u32; 2],
    ) -> Result<u32, JobFault> {
        let done = whole_strips(passed);
        for first in (0..SIDE).step_by(STRIP as usize) {
            if done >> first & 1 == 0 {
                continue;
            }
            let Some(shader) = self.drawing.shader else { break };
            self.part.stats.threads += 1;
            let attributes =
                &self.scene.attributes[primitive.attributes..][..self.drawing.attribute_dwords];
            let work = ThreadParameters { core: self.core, primitive, attributes, subspans: &[] };
            let Worker { thread, ports, budget, .. } = self;
            let at = [left + first, top];
            self.part.stats.instructions += shader.run_strip(thread, ports, budget, &work, at)?;
        }
        Ok(done)
    }

    /// The pixels of a row that stipple, dashes and smooth lines leave.
    fn pattern(&self, corner: [u32; 2], line: usize, primitive: &Primitive) -> u32 {
        let stipple = self.drawing.output.stipple.as_ref().filter(|_| primitive.polygon);
        let mut bits = stipple.map_or(u32::MAX, |rows| rows[line]);
        if let Some(dashes) = &primitive.dashes {
            bits &= dashes.row(corner, line);
        }
        if let Some(smooth) = &primitive.smooth {
            bits &= smooth.row(corner, line);
        }
        bits
    }

    fn plane(&mut self) -> Result<[f32; 3], JobFault> {
        Ok(self.back_end()?.plane)
    }

    /// Creates subspans from a pair of rows.
    fn pair(
        &mut self,
        corner: [u32; 2],
        y: usize,
        primitive: &Primitive,
        covered: &[[u32; 2]; MAX_SAMPLES],
        passed: &[[u32; 2]; MAX_SAMPLES],
        any: u32,
    ) -> Result<(), JobFault> {
        let Some(shader) = self.drawing.shader else { return Ok(()) };
        let count = self.drawing.output.samples.count;
        let mut left = (any | any >> 1) & 0x5555_5555;
        while left != 0 {
            let x = left.trailing_zeros();
            left &= left - 1;
            let mut subspan =
                Subspan { place: [corner[0] + x, corner[1] + y as u32], ..Subspan::default() };
            for pixel in 0..4 {
                let (column, row) = (x + pixel as u32 % 2, pixel / 2);
                for sample in 0..count {
                    let bit = |bits: u32| (bits >> column & 1) << sample;
                    subspan.covered[pixel] |= bit(passed[sample][row]);
                    subspan.coverage[pixel] |= bit(covered[sample][row]);
                }
            }
            let pixels = |subspan: &Subspan| {
                subspan.covered.iter().filter(|mask| **mask != 0).count() as u64
            };
            if shader.per_sample {
                for sample in 0..count {
                    let only = subspan.covered.map(|mask| mask & 1 << sample);
                    if only != [0; 4] {
                        let only = Subspan { covered: only, sample: sample as u8, ..subspan };
                        self.part.counts.shaded += pixels(&only);
                        self.add(primitive, only)?;
                    }
                }
            } else {
                self.part.counts.shaded += pixels(&subspan);
                self.add(primitive, subspan)?;
            }
        }
        Ok(())
    }

    /// Adds a subspan to the next thread, which runs when it is full.
    pub(super) fn add(&mut self, primitive: &Primitive, subspan: Subspan) -> Result<(), JobFault> {
        self.pending.push(subspan);
        let full = self.drawing.shader.is_some_and(|s| self.pending.len() >= s.subspans());
        if full { self.flush(primitive) } else { Ok(()) }
    }

    /// Runs the thread of the pending subspans.
    pub(super) fn flush(&mut self, primitive: &Primitive) -> Result<(), JobFault> {
        let Some(shader) = self.drawing.shader else { return Ok(()) };
        if self.pending.is_empty() {
            return Ok(());
        }
        self.part.stats.threads += 1;
        let attributes =
            &self.scene.attributes[primitive.attributes..][..self.drawing.attribute_dwords];
        self.part.stats.instructions += shader.run(
            &mut self.thread,
            &mut self.ports,
            &mut self.budget,
            &ThreadParameters { core: self.core, primitive, attributes, subspans: &self.pending },
        )?;
        self.pending.clear();
        Ok(())
    }
}
