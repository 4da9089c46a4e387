//! Rendering of tiles by one worker: fill, draw, store.

use tepui_raster::{Bins, Interpolation, Plane, TILE_SIDE, Tests, WindowPlane};
use tepui_softgpu::RangeCache;

use super::frame::{Frame, Shader};
use super::history::{Covered, History};
use super::setup::{self, Coverage, DepthStencil, MAX_SAMPLES, Samples, Tags};
use super::zls::Tile;
use crate::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::render::coefficients::local;
use crate::render::scene::PrimitiveKind;
use crate::usc::exec::texture::View;
use crate::usc::row::LANES;
use crate::usc::stage::{EndOfTile, Fragments, QUADS, Quad, Stage};
use crate::usc::workgroup::Worker;

/// Maximum number of opaque primitives of a tile that wait to be shaded.
const MAX_TAGS: usize = 4096;

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
    /// The opaque primitives that samples show which are not shaded yet: a tag is one more than an index of `tagged`.
    tags: Tags,
    tagged: Vec<Tagged>,
    /// The order in which those of several programs are shaded: indices of `tagged`.
    order: Vec<u16>,
    /// The primitive of which something was covered last.
    prepared: Prepared,
    /// Its coefficient registers, computed when its first quad is shaded.
    planes: Vec<Plane>,
    /// The colours of a tile after a uniform background program; reused for later tiles.
    flat: Vec<u8>,
    /// The tile was not drawn to since its last start, and the next one starts with equal contents.
    untouched: bool,
    /// Samples that passed, by state.
    visible: Vec<u64>,
    budget: u64,
    /// The pixel that is observed.
    history: Option<History>,
}

/// An opaque primitive that was tested, and that is yet to be shaded.
struct Tagged {
    prepared: Prepared,
    /// First row that it may cover, and one past the last.
    rows: [usize; 2],
}

/// A primitive, prepared for its fragments.
#[derive(Clone, Copy)]
struct Prepared {
    /// Its index in the scene; none has the number `u32::MAX`.
    primitive: u32,
    /// Setup of planes from values at vertices.
    interpolation: Interpolation,
    /// Its depth, bias included, in the window.
    window_depth: WindowPlane,
    /// The depth relative to the origin of the tile's planes.
    depth: Plane,
    /// Depths are clamped to this range.
    range: [f32; 2],
    /// 0 for the front, 1 for the back.
    face: usize,
}

/// The bits of a number, one in each lane of a quad.
const BITS: [[u32; 4]; 16] = {
    let mut all = [[0; 4]; 16];
    let mut number = 0;
    while number < 64 {
        all[number / 4][number % 4] = ((number / 4) >> (number % 4)) as u32 & 1;
        number += 1;
    }
    all
};

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
            tags: Tags::default(),
            tagged: Vec::new(),
            order: Vec::new(),
            prepared: Prepared {
                primitive: u32::MAX,
                interpolation: Interpolation::new(PrimitiveKind::Point, &[[1.0; 4]; 3]),
                window_depth: [0.0; 3],
                depth: [0.0; 3],
                range: [0.0, 1.0],
                face: 0,
            },
            planes: Vec::new(),
            flat: Vec::new(),
            untouched: false,
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
        self.untouched = shapes.peek().is_none()
            && !self.flat.is_empty()
            && frame.end_keeps_colours
            && !frame.zls.loads();
        if let Some(history) = &mut self.history {
            history.enter(layer, corner, frame.tile_px);
            history.filled(&self.fragments, self.core.as_mut());
        }
        self.prepared.primitive = u32::MAX;
        for index in shapes {
            let shape = &frame.scene.shapes[index as usize];
            if self.coverage.draw(shape, &frame.samples, corner, frame.tile_px) {
                self.primitive(shape.primitive)?;
            }
        }
        self.shade_tagged()?;
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
        if self.untouched {
            return Ok(());
        }
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
        let shader =
            Shader { program, bindings: usize::MAX, early: true, key: u64::MAX, opaque: false };
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

    /// Prepares a primitive for its fragments: once for all of its shapes that follow each other in a tile.
    fn prepare(&mut self, index: u32) {
        if self.prepared.primitive == index {
            return;
        }
        self.planes.clear();
        let scene = self.frame.scene;
        let primitive = &scene.primitives[index as usize];
        let state = &scene.states[primitive.state as usize];
        let interpolation = Interpolation::new(primitive.kind, &primitive.positions);
        let bias_is_integer = self.frame.integer_bias;
        let depth = setup::depth_plane(primitive, &interpolation, state, bias_is_integer);
        self.prepared = Prepared {
            primitive: index,
            window_depth: depth,
            depth: local(depth, origin(self.fragments.corner)),
            interpolation,
            range: setup::depth_range(state, primitive.viewport),
            face: usize::from(!primitive.front),
        };
    }

    /// Tests and shades the covered samples of a primitive.
    fn primitive(&mut self, index: u32) -> Result<(), JobFault> {
        let frame = self.frame;
        let primitive = &frame.scene.primitives[index as usize];
        self.prepare(index);
        let Prepared { depth, range, face, .. } = self.prepared;
        let state = &frame.states[primitive.state as usize];
        let corner = self.fragments.corner;
        let origin = origin(corner);
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
                range,
                tests: &state.tests[face],
            };
            let planes = &mut self.fragments.planes;
            let count = rows.test(planes, &self.coverage, &mut self.passed);
            self.visible[primitive.state as usize] += count;
            if count == 0 {
                if self.history.is_some() {
                    self.observe(true);
                }
                return Ok(());
            }
        } else {
            for s in 0..frame.samples.count {
                self.passed[s][y0..y1].copy_from_slice(&self.coverage.bits[s][y0..y1]);
            }
        }
        if self.history.is_some() {
            self.observe(early);
        }
        let Some(shader) = state.shader else { return Ok(()) };
        let waits = shader.opaque;
        if !self.tagged.is_empty() && (!waits || self.tagged.len() == MAX_TAGS) {
            let own = (self.coverage.clone(), self.passed, self.prepared);
            self.shade_tagged()?;
            (self.coverage, self.passed, self.prepared) = own;
            self.planes.clear();
        }
        if !waits {
            return self.quads(index, shader);
        }
        let rows = self.coverage.rows;
        self.tagged.push(Tagged { prepared: self.prepared, rows });
        self.tags.set(self.tagged.len() as u16, rows, frame.samples.count, &self.passed);
        Ok(())
    }

    /// Shades what is left of opaque primitives.
    fn shade_tagged(&mut self) -> Result<(), JobFault> {
        let mut tagged = std::mem::take(&mut self.tagged);
        let result = self.shade_in_order(&tagged);
        tagged.clear();
        self.tagged = tagged;
        self.tags.clear();
        result
    }

    /// Shades what is left of these: program by program, since groups share one, and the samples of two never are the same.
    fn shade_in_order(&mut self, tagged: &[Tagged]) -> Result<(), JobFault> {
        let frame = self.frame;
        let key = |own: &Tagged| frame.shader(own.prepared.primitive).map(|shader| shader.key);
        let Some(first) = tagged.first().map(key) else { return Ok(()) };
        if tagged.iter().all(|other| key(other) == first) {
            return (1..).zip(tagged).try_for_each(|(tag, own)| self.shade(tag, own));
        }
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..tagged.len() as u16);
        order.sort_unstable_by_key(|&i| (key(&tagged[usize::from(i)]), i));
        let result = order.iter().try_for_each(|&i| self.shade(i + 1, &tagged[usize::from(i)]));
        self.order = order;
        result
    }

    /// Shades what is left of an opaque primitive.
    fn shade(&mut self, tag: u16, own: &Tagged) -> Result<(), JobFault> {
        let count = self.frame.samples.count;
        if !self.tags.left(tag, own.rows, count, &mut self.passed) {
            return Ok(());
        }
        self.coverage.rows = own.rows;
        let index = own.prepared.primitive;
        if self.prepared.primitive != index {
            self.prepared = own.prepared;
            self.planes.clear();
        }
        match self.frame.shader(index) {
            Some(shader) => self.quads(index, shader),
            None => Ok(()),
        }
    }

    /// Puts the quads of a primitive of which samples passed into groups. For an opaque one, what passed is all that counts as covered.
    fn quads(&mut self, index: u32, shader: Shader) -> Result<(), JobFault> {
        let frame = self.frame;
        let primitive = &frame.scene.primitives[index as usize];
        let corner = self.fragments.corner;
        let origin = origin(corner);
        let Prepared { depth, range, face, .. } = self.prepared;
        let [y0, y1] = self.coverage.rows;
        if self.batch.is_some_and(|b| b.shader.key != shader.key) {
            self.flush()?;
        }
        let bindings = &frame.bindings[shader.bindings];
        if self.planes.is_empty() {
            let planes = &mut self.planes;
            bindings.compute(
                frame.scene,
                primitive,
                &self.prepared.interpolation,
                &depth,
                origin,
                planes,
            );
        }
        let mut quad = Quad { coefficients: usize::MAX, depth, range, face };
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
                // Opaque primitives have no sample in common when they are shaded.
                let occupied = !shader.opaque && self.occupied[y / 2] >> (x / 2) & 1 != 0;
                if occupied || self.quads == QUADS {
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
                let at = [corner[0] + x as u32, corner[1] + y as u32];
                let quad_bits =
                    |bits, s| row(bits, s, 0) >> x & 3 | (row(bits, s, 1) >> x & 3) << 2;
                if frame.samples.count == 1 {
                    let lanes = |bits| BITS[quad_bits(bits, 0) as usize];
                    let live = lanes(&self.passed);
                    let covered = if shader.opaque { live } else { lanes(&self.coverage.bits) };
                    self.push(quad, at, &covered, &live);
                    continue;
                }
                let (mut covered, mut live) = ([0; 4], [0; 4]);
                for s in 0..frame.samples.count {
                    let lanes = |bits| BITS[quad_bits(bits, s) as usize];
                    let left = lanes(&self.passed);
                    let all = if shader.opaque { left } else { lanes(&self.coverage.bits) };
                    for lane in 0..4 {
                        covered[lane] |= all[lane] << s;
                        live[lane] |= left[lane] << s;
                    }
                }
                self.push(quad, at, &covered, &live);
            }
        }
        Ok(())
    }

    /// Tells an observer of a primitive, after the tests that run before its program.
    #[cold]
    fn observe(&mut self, early: bool) {
        let frame = self.frame;
        let setup = &self.prepared;
        let index = setup.primitive;
        let primitive = &frame.scene.primitives[index as usize];
        let state = &frame.states[primitive.state as usize];
        let Some(history) = &mut self.history else { return };
        history.covered(
            &Covered {
                primitive,
                draw: frame.scene.draw_of(index),
                tests: &state.tests[setup.face],
                depth: (setup.window_depth, setup.range),
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
    #[inline(always)]
    fn push(&mut self, quad: Quad, at: [u32; 2], covered: &[u32; 4], live: &[u32; 4]) {
        let f = &mut self.fragments;
        f.quads[self.quads] = quad;
        let [x, y] = at;
        for (row, lanes) in [
            (&mut f.x, &[x, x + 1, x, x + 1]),
            (&mut f.y, &[y, y, y + 1, y + 1]),
            (&mut f.covered, covered),
            (&mut f.live, live),
        ] {
            row.0.as_chunks_mut::<4>().0[self.quads] = *lanes;
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

/// Origin of plane equations in a tile: the corner of the surrounding 32 × 32 pixels, which programs
/// expect that evaluate planes themselves. source: Mesa's agx_nir_lower_interpolation.c
fn origin(corner: [u32; 2]) -> [u32; 2] {
    corner.map(|v| v & !31)
}

/// The tests of a primitive in a tile, before any program.
struct Rows<'a> {
    samples: &'a Samples,
    /// Offset of the tile's corner from the origin of plane equations.
    offset: [f32; 2],
    depth: Plane,
    range: [f32; 2],
    tests: &'a Tests,
}

impl Rows<'_> {
    /// Tests covered samples. Returns the number of samples that passed.
    fn test(
        &self,
        planes: &mut DepthStencil,
        coverage: &Coverage,
        passed: &mut [[u32; TILE_SIDE]; MAX_SAMPLES],
    ) -> u64 {
        let trivial = self.tests.is_trivial();
        let [first, end] = coverage.rows;
        let mut count = 0;
        for (s, passed) in passed.iter_mut().enumerate().take(self.samples.count) {
            passed[first..end].copy_from_slice(&coverage.bits[s][first..end]);
            if !trivial {
                let [sx, sy] = self.samples.px(s);
                let at = [self.offset[0] + sx, self.offset[1] + sy];
                planes.test_rows(self.tests, s, first..end, passed, &self.depth, at, self.range);
            }
            count += passed[first..end].iter().map(|row| u64::from(row.count_ones())).sum::<u64>();
        }
        count
    }
}

fn zls(fault: tepui_softgpu::Fault) -> JobFault {
    JobFault::new(Unit::Isp, format!("depth or stencil buffer: {fault}"))
}
