//! Rendering of tiles by one worker: fill, draw, store.

use tepui_raster::{Bins, Plane, TILE_SIDE, Tests};
use tepui_softgpu::RangeCache;

use super::frame::{Frame, Shader};
use super::history::{Covered, History};
use super::setup::{Coverage, DepthStencil, MAX_SAMPLES, Samples};
use super::zls::Tile;
use crate::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::render::coefficients::local;
use crate::usc::exec::texture::View;
use crate::usc::row::LANES;
use crate::usc::stage::{EndOfTile, Fragments, QUADS, Quad, Stage};
use crate::usc::workgroup::Worker;

/// A worker of a frame.
pub struct TileWorker<'f, 'v> {
    frame: &'f Frame<'v>,
    /// The shader core; `None` if the frame has no programs.
    core: Option<Worker<'f>>,
    /// The program that the core is prepared for.
    entered: usize,
    ranges: RangeCache,
    notes: tepui_agx_texture::Notes,
    fragments: Fragments,
    /// The quads of the SIMD-group that is being filled, and their program.
    quads: usize,
    batch: Option<Batch>,
    /// Positions of the group's quads in the tile: a word for each row of quads, a bit for each
    /// column.
    occupied: [u16; TILE_SIDE / 2],
    coverage: Coverage,
    /// The coverage after depth and stencil tests.
    passed: [[u32; TILE_SIDE]; MAX_SAMPLES],
    /// Coefficient registers of the current primitive, computed when its first quad is shaded.
    planes: Vec<Plane>,
    /// The colours of a tile after a uniform background program; reused for later tiles.
    flat: Vec<u8>,
    /// Samples that passed, by state.
    visible: Vec<u64>,
    budget: u64,
    /// The pixel that is observed.
    history: Option<History>,
}

/// The state that the quads of a group share.
#[derive(Clone, Copy)]
struct Batch {
    shader: Shader,
    state: usize,
}

impl<'f, 'v: 'f> TileWorker<'f, 'v> {
    /// A worker that acts as core number `core`.
    pub fn new(gpu: &Gpu, frame: &'f Frame<'v>, core: u32) -> TileWorker<'f, 'v> {
        let first = frame.programs.first();
        let worker = first.map(|p| {
            let mut worker = Worker::new(gpu.port(frame.vm, core), &p.launch, gpu.options.checks());
            worker.enter(&p.launch);
            worker
        });
        let mut ranges = RangeCache::default();
        ranges.refresh(frame.vm);
        TileWorker {
            frame,
            core: worker,
            entered: 0,
            ranges,
            notes: Default::default(),
            fragments: Fragments::new(frame.samples, frame.tilebuffer),
            quads: 0,
            batch: None,
            occupied: [0; TILE_SIDE / 2],
            coverage: Coverage::default(),
            passed: [[0; TILE_SIDE]; MAX_SAMPLES],
            planes: Vec::new(),
            flat: Vec::new(),
            visible: vec![0; frame.states.len()],
            budget: gpu.options.instruction_budget,
            history: gpu.options.watch.as_ref().and_then(History::new),
        }
    }

    /// Instructions executed so far.
    pub fn executed(&self) -> u64 {
        self.core.as_ref().map_or(0, |core| core.executed.instructions)
    }

    /// The results: statistics, and the samples that passed, by state.
    pub fn finish(self) -> (JobStats, Vec<u64>) {
        (self.core.map_or_else(JobStats::default, crate::dispatch::done), self.visible)
    }

    /// Draws a tile.
    pub fn tile(&mut self, bins: &Bins, layer: u32, place: [u32; 2]) -> Result<(), JobFault> {
        let frame = self.frame;
        let mut shapes = bins.tile(place[1] * frame.tiles[0] + place[0]).peekable();
        if shapes.peek().is_none() && !frame.empty_tiles {
            return Ok(());
        }
        let corner = [place[0] * frame.tile_px[0], place[1] * frame.tile_px[1]];
        self.start(layer, corner)?;
        if let Some(history) = &mut self.history {
            history.enter(layer, corner, frame.tile_px);
            history.filled(&self.fragments, self.core.as_mut());
        }
        let mut last = u32::MAX;
        for index in shapes {
            let shape = &frame.shapes[index as usize];
            if shape.primitive != last {
                self.planes.clear();
                last = shape.primitive;
            }
            if self.coverage.draw(shape, &frame.samples, corner, frame.tile_px) {
                self.primitive(shape.primitive as usize)?;
            }
        }
        self.flush()?;
        if let Some(history) = &mut self.history {
            history.stored(&self.fragments, self.core.as_mut());
        }
        self.end(layer, corner)
    }

    /// Fills the tile: depth and stencil from memory or the background object, colours by the
    /// background program.
    fn start(&mut self, layer: u32, corner: [u32; 2]) -> Result<(), JobFault> {
        let frame = self.frame;
        self.fragments.layer = layer;
        self.fragments.corner = corner;
        let mut memory = View { vm: frame.vm, ranges: &mut self.ranges };
        let planes = &mut self.fragments.planes;
        let tile = Tile { layer, corner, size_px: frame.tile_px };
        frame.zls.load(&mut memory, &mut self.notes, planes, &tile).map_err(zls)?;
        if let Some(core) = &mut self.core {
            if !self.flat.is_empty() {
                core.local().copy_from_slice(&self.flat);
                return Ok(());
            }
            core.clear_local(frame.tile_bytes());
        }
        let Some(program) = frame.background else { return Ok(()) };
        // A background program is a fragment program on all samples of the tile, before any test.
        let shader = Shader { program, bindings: usize::MAX, early: true, key: u64::MAX };
        self.fragments.registers = 0;
        let all = (1 << frame.samples.count) - 1;
        let quad = Quad { coefficients: 0, depth: [0.0; 3], range: [0.0, 1.0], face: 0 };
        let mut rows = frame.tile_px[1].min(frame.size_px[1] - corner[1]);
        let mut columns = frame.tile_px[0].min(frame.size_px[0] - corner[0]);
        let flat = frame.background_is_flat && frame.tile_bytes() > 0;
        if flat {
            // One quad is shaded for all.
            (rows, columns) = (2, 2);
        }
        for y in (0..rows).step_by(2) {
            for x in (0..columns).step_by(2) {
                self.batch = Some(Batch { shader, state: usize::MAX });
                self.push(quad, [corner[0] + x, corner[1] + y], &[all; 4], &[all; 4]);
                if self.quads == QUADS {
                    self.flush()?;
                }
            }
        }
        self.flush()?;
        if let Some(core) = self.core.as_mut().filter(|_| flat) {
            let local = core.local();
            let pixel = frame.tilebuffer.samples * frame.tilebuffer.sample_bytes;
            let (first, rest) = local.split_at_mut(pixel as usize);
            rest.chunks_exact_mut(first.len()).for_each(|other| other.copy_from_slice(first));
            self.flat.clone_from(local);
        }
        Ok(())
    }

    /// Stores the tile.
    fn end(&mut self, layer: u32, corner: [u32; 2]) -> Result<(), JobFault> {
        let frame = self.frame;
        if let Some(program) = frame.end {
            self.enter(program);
            if let Some(core) = &mut self.core {
                let prepared = &frame.programs[program];
                core.preload(&prepared.launch.program.code);
                let stage = Stage::EndOfTile(EndOfTile { corner, layer });
                core.run_entered(&prepared.rows, stage, 1, self.budget)?;
            }
        }
        let mut memory = View { vm: frame.vm, ranges: &mut self.ranges };
        let tile = Tile { layer, corner, size_px: frame.tile_px };
        frame.zls.store(&mut memory, &mut self.notes, &self.fragments.planes, &tile).map_err(zls)
    }

    fn enter(&mut self, program: usize) {
        if self.entered != program {
            if let Some(core) = &mut self.core {
                core.enter(&self.frame.programs[program].launch);
            }
            self.entered = program;
        }
    }

    /// Tests and shades the covered samples of a primitive.
    fn primitive(&mut self, index: usize) -> Result<(), JobFault> {
        let frame = self.frame;
        let primitive = &frame.scene.primitives[index];
        let setup = &frame.setups[index];
        let state = &frame.states[primitive.state as usize];
        let corner = self.fragments.corner;
        // Planes count from the 32 × 32 pixels around: that is what programs expect which evaluate
        // them themselves. source: Mesa's agx_nir_lower_interpolation.c
        let origin = corner.map(|v| v & !31);
        let depth = local(setup.depth, origin);
        let face = usize::from(!primitive.front);
        let early = state.shader.is_none_or(|s| s.early);
        let [y0, y1] = self.coverage.rows;
        if early {
            // Tests of the group in flight come first.
            if self.batch.is_some_and(|b| !b.shader.early) {
                self.flush()?;
            }
            let rows = Rows {
                samples: &frame.samples,
                offset: [0, 1].map(|k| (corner[k] - origin[k]) as f32),
                depth,
                range: setup.range,
                tests: &state.tests[face],
            };
            let planes = &mut self.fragments.planes;
            let (count, any) = rows.test(planes, &self.coverage, &mut self.passed);
            self.visible[primitive.state as usize] += count;
            if any == 0 {
                if self.history.is_some() {
                    self.observe(index, true);
                }
                return Ok(());
            }
        } else {
            for s in 0..frame.samples.count {
                self.passed[s][y0..y1].copy_from_slice(&self.coverage.bits[s][y0..y1]);
            }
        }
        if self.history.is_some() {
            self.observe(index, early);
        }
        let Some(shader) = state.shader else { return Ok(()) };
        if self.batch.is_some_and(|b| b.shader.key != shader.key) {
            self.flush()?;
        }
        let bindings = &frame.bindings[shader.bindings];
        if self.planes.is_empty() {
            let planes = &mut self.planes;
            bindings.compute(frame.scene, primitive, &setup.interpolation, &depth, origin, planes);
        }
        let mut quad = Quad { coefficients: usize::MAX, depth, range: setup.range, face };
        for y in ((y0 & !1)..y1).step_by(2) {
            let row = |bits: &[[u32; TILE_SIDE]; MAX_SAMPLES], s: usize, dy: usize| {
                if (y0..y1).contains(&(y + dy)) { bits[s][y + dy] } else { 0 }
            };
            let mut columns = 0;
            for s in 0..frame.samples.count {
                columns |= row(&self.passed, s, 0) | row(&self.passed, s, 1);
            }
            let mut columns = (columns | columns >> 1) & 0x5555_5555;
            while columns != 0 {
                let x = columns.trailing_zeros() as usize;
                columns &= columns - 1;
                if self.occupied[y / 2] >> (x / 2) & 1 != 0 || self.quads == QUADS {
                    self.flush()?;
                }
                if self.quads == 0 {
                    self.batch = Some(Batch { shader, state: primitive.state as usize });
                    self.fragments.registers = bindings.registers;
                    quad.coefficients = usize::MAX;
                }
                if quad.coefficients == usize::MAX {
                    quad.coefficients = self.fragments.coefficients.len();
                    self.fragments.coefficients.extend_from_slice(&self.planes);
                }
                self.occupied[y / 2] |= 1 << (x / 2);
                let (mut covered, mut live) = ([0; 4], [0; 4]);
                for s in 0..frame.samples.count {
                    for dy in 0..2 {
                        let (all, left) =
                            (row(&self.coverage.bits, s, dy) >> x, row(&self.passed, s, dy) >> x);
                        covered[2 * dy] |= (all & 1) << s;
                        covered[2 * dy + 1] |= (all >> 1 & 1) << s;
                        live[2 * dy] |= (left & 1) << s;
                        live[2 * dy + 1] |= (left >> 1 & 1) << s;
                    }
                }
                self.push(quad, [corner[0] + x as u32, corner[1] + y as u32], &covered, &live);
            }
        }
        Ok(())
    }

    /// Tells an observer of a primitive, after the tests that run before its program.
    #[cold]
    fn observe(&mut self, index: usize, early: bool) {
        let frame = self.frame;
        let primitive = &frame.scene.primitives[index];
        let state = &frame.states[primitive.state as usize];
        let Some(history) = &mut self.history else { return };
        history.covered(
            &Covered {
                primitive,
                draw: frame.scene.draw_of(index as u32),
                tests: &state.tests[usize::from(!primitive.front)],
                depth: (frame.setups[index].depth, frame.setups[index].range),
                coverage: &self.coverage,
                passed: &self.passed,
                early,
                has_program: state.shader.is_some(),
            },
            &self.fragments,
            self.core.as_mut(),
        );
    }

    /// Adds a quad to the group.
    fn push(&mut self, quad: Quad, at: [u32; 2], covered: &[u32; 4], live: &[u32; 4]) {
        let f = &mut self.fragments;
        f.quads[self.quads] = quad;
        for lane in 0..4 {
            let i = self.quads * 4 + lane;
            f.x.0[i] = at[0] + (lane as u32 & 1);
            f.y.0[i] = at[1] + (lane as u32 >> 1);
            f.covered.0[i] = covered[lane];
            f.live.0[i] = live[lane];
        }
        self.quads += 1;
    }

    /// Runs the group.
    fn flush(&mut self) -> Result<(), JobFault> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        let quads = std::mem::take(&mut self.quads);
        self.occupied = [0; TILE_SIDE / 2];
        if quads > 0 {
            let lanes = quads * 4;
            let f = &mut self.fragments;
            for i in lanes..LANES {
                (f.covered.0[i], f.live.0[i]) = (0, 0);
                // Quads that do not run are read all the same where all lanes are computed.
                f.quads[i / 4] = f.quads[quads - 1];
            }
            f.undecided = f.live;
            if batch.shader.early {
                f.undecided.0.fill(0);
            } else {
                f.tests = self.frame.states[batch.state].tests;
                f.visible = 0;
            }
            self.enter(batch.shader.program);
            let alive = u32::MAX >> (LANES - lanes);
            let prepared = &self.frame.programs[batch.shader.program];
            if let Some(core) = &mut self.core {
                core.preload(&prepared.launch.program.code);
                self.fragments.prepare(core.local().len());
                let code = &prepared.launch.program.code;
                let seen = match &mut self.history {
                    Some(history) => history.shading(&self.fragments, code, core),
                    None => None,
                };
                let stage = Stage::Fragment(&mut self.fragments);
                core.run_entered(&prepared.rows, stage, alive, self.budget)?;
                if let (Some(history), Some(lane)) = (&mut self.history, seen) {
                    if !batch.shader.early {
                        self.fragments.finish();
                    }
                    history.shaded(lane, &self.fragments, core);
                }
            }
            if !batch.shader.early {
                self.fragments.finish();
                self.visible[batch.state] += self.fragments.visible;
            }
        }
        self.fragments.coefficients.clear();
        Ok(())
    }
}

/// The tests of a primitive in a tile, before any program.
struct Rows<'a> {
    samples: &'a Samples,
    /// From the origin of plane equations to the corner of the tile.
    offset: [f32; 2],
    depth: Plane,
    range: [f32; 2],
    tests: &'a Tests,
}

impl Rows<'_> {
    /// Tests covered samples. Returns the number of samples that passed and a mask of the columns
    /// that have some.
    fn test(
        &self,
        planes: &mut DepthStencil,
        coverage: &Coverage,
        passed: &mut [[u32; TILE_SIDE]; MAX_SAMPLES],
    ) -> (u64, u32) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            return unsafe { self.test_wide(planes, coverage, passed) };
        }
        self.test_any(planes, coverage, passed)
    }

    /// As [`Rows::test_any`], in wide vectors.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn test_wide(
        &self,
        planes: &mut DepthStencil,
        coverage: &Coverage,
        passed: &mut [[u32; TILE_SIDE]; MAX_SAMPLES],
    ) -> (u64, u32) {
        self.test_any(planes, coverage, passed)
    }

    #[inline(always)]
    fn test_any(
        &self,
        planes: &mut DepthStencil,
        coverage: &Coverage,
        passed: &mut [[u32; TILE_SIDE]; MAX_SAMPLES],
    ) -> (u64, u32) {
        let (mut count, mut any) = (0, 0);
        let trivial = self.tests.is_trivial();
        let [first, end] = coverage.rows;
        for (s, passed) in passed.iter_mut().enumerate().take(self.samples.count) {
            let [sx, sy] = self.samples.px(s);
            for (y, passed) in passed.iter_mut().enumerate().take(end).skip(first) {
                let mask = coverage.bits[s][y];
                let left = if mask == 0 || trivial {
                    mask
                } else {
                    let at = [self.offset[0] + sx, self.offset[1] + y as f32 + sy];
                    planes.test_row(self.tests, [s, y], mask, &self.depth, at, self.range)
                };
                *passed = left;
                count += u64::from(left.count_ones());
                any |= left;
            }
        }
        (count, any)
    }
}

fn zls(fault: tepui_softgpu::Fault) -> JobFault {
    JobFault::new(Unit::Isp, format!("depth or stencil buffer: {fault}"))
}
