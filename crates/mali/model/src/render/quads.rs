//! A worker that renders tiles: covered samples, early tests, and warps of four quads of fragments.
//!
//! A warp's quads may belong to several primitives of a draw, but each pixel is in it once: a later fragment
//! of the same pixel waits for the next warp.

use std::collections::HashMap;
use std::sync::Arc;

use tepui_mali_packets::framebuffer::PrePostFrameShaderMode as Mode;
use tepui_raster::{Coverage, TILE_SIDE};
use tepui_softgpu::AddressSpace;

use super::frame::Frame;
use super::pipeline::Pipeline;
use super::stage::{Core, Stage};
use crate::job::{JobFault, JobStats, Unit};
use crate::pixels::{Lane, MAX_SAMPLES, Pixels, SIDE};
use crate::warp::Warp;
use crate::warp::row::{LANES, Row};
use crate::watch::WarpPlace;

/// A worker that renders tiles.
pub(crate) struct Worker<'f, 'vm> {
    pub(super) frame: &'f Frame<'f>,
    pub(super) core: Core<'vm>,
    coverage: Coverage<MAX_SAMPLES>,
    /// The draw whose shader is loaded, and its pipeline.
    current: Option<(CurrentShader, &'f Arc<Pipeline>)>,
    /// Lanes of the next warp.
    lanes: usize,
    /// Warps that an observer has been told of.
    warps: u64,
    /// Pixels that have a lane in the next warp, one bit per column.
    busy: [u32; TILE_SIDE],
}

/// The owner of the loaded shader: a draw, or a frame shader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CurrentShader {
    Draw(u32),
    FrameShader(usize),
}

/// Samples of the pixels of a quad.
type Quad = [u16; 4];

impl<'f, 'vm> Worker<'f, 'vm> {
    /// A worker with the fragment units of a framebuffer.
    pub fn new(frame: &'f Frame<'f>, vm: &'vm AddressSpace, number: u32, pixels: Pixels) -> Self {
        let mut core = Core::new(frame.gpu, vm, number);
        core.port.pixels = Some(Box::new(pixels));
        Worker {
            frame,
            core,
            coverage: Coverage::default(),
            current: None,
            lanes: 0,
            warps: 0,
            busy: [0; TILE_SIDE],
        }
    }

    /// Its statistics and occlusion counts.
    pub fn finish(self) -> (JobStats, HashMap<u64, (u64, bool)>) {
        (self.core.stats, self.core.port.pixels.map(|p| p.counted).unwrap_or_default())
    }

    fn pixels(&mut self) -> Result<&mut Pixels, JobFault> {
        let missing = || JobFault::new(Unit::Fragment, "fragments without units");
        self.core.port.pixels.as_deref_mut().ok_or_else(missing)
    }

    /// Renders the tile at a corner.
    pub fn tile(
        &mut self,
        corner: [u32; 2],
        shapes: &mut dyn Iterator<Item = u32>,
    ) -> Result<(), JobFault> {
        let frame = self.frame;
        let [min, max] = frame.area;
        let min = [0, 1].map(|k| min[k].max(corner[k]));
        let max = [0, 1].map(|k| max[k].min(corner[k] + SIDE));
        let pixels = self.pixels()?;
        pixels.corner = corner;
        pixels.tile.clear(&frame.framebuffer);
        let mut shapes = shapes.peekable();
        let any = shapes.peek().is_some();
        for index in 0..2 {
            self.frame_shader(index, any)?;
        }
        for index in shapes {
            self.shape(index, corner)?;
        }
        self.flush()?;
        self.frame_shader(2, any)?;
        let Some(pixels) = self.core.port.pixels.as_deref_mut() else { return Ok(()) };
        let memory = &mut self.core.port.memory;
        pixels
            .tile
            .write(memory, &frame.framebuffer, corner, [min, max])
            .map_err(|fault| JobFault::memory(Unit::Fragment, fault))
    }

    /// Runs a frame shader for all pixels of the tile.
    fn frame_shader(&mut self, index: usize, any: bool) -> Result<(), JobFault> {
        let Some((mode, pipeline)) = &self.frame.shaders[index] else { return Ok(()) };
        if *mode == Mode::Intersect && !any {
            return Ok(());
        }
        self.choose(CurrentShader::FrameShader(index), pipeline)?;
        if let Some(copies) = &pipeline.copies
            && index < 2
        {
            return self.copy(pipeline, copies);
        }
        let p = &self.frame.framebuffer.parameters;
        let size = [p.width, p.height];
        let pixels = self.pixels()?;
        let corner = pixels.corner;
        let dirty = pixels.tile.dirty;
        let count = pixels.framebuffer.samples.count;
        let mask = ((1u32 << count) - 1) & pipeline.state.sample_mask;
        for y in (0..SIDE).step_by(2) {
            for x in (0..SIDE).step_by(2) {
                let quad = [0, 1, 2, 3].map(|k| {
                    let (x, y) = (corner[0] + x + k % 2, corner[1] + y + k / 2);
                    if x < size[0] && y < size[1] { mask as u16 } else { 0 }
                });
                if quad != [0; 4] {
                    self.quads(pipeline, [x, y], quad, None)?;
                }
            }
        }
        self.flush()?;
        // Attachments that a frame shader loads need not be written back.
        if index < 2 {
            self.pixels()?.tile.dirty = dirty;
        }
        Ok(())
    }

    /// Loads the shader of a pipeline.
    fn choose(
        &mut self,
        wanted: CurrentShader,
        pipeline: &'f Arc<Pipeline>,
    ) -> Result<(), JobFault> {
        if self.current.is_some_and(|(current, _)| current == wanted) {
            return Ok(());
        }
        self.flush()?;
        self.current = Some((wanted, pipeline));
        self.core.forget();
        if let Some(stage) = &pipeline.stage {
            self.core.begin(stage);
        }
        self.pixels()?.state = Some(pipeline.state.clone());
        Ok(())
    }

    /// Renders a shape.
    fn shape(&mut self, index: u32, corner: [u32; 2]) -> Result<(), JobFault> {
        let frame = self.frame;
        let shape = &frame.scene.shapes[index as usize];
        let samples = &frame.framebuffer.samples;
        if !self.coverage.draw(shape, samples, corner, [SIDE; 2]) {
            return Ok(());
        }
        let primitive = &frame.scene.primitives[shape.primitive as usize];
        let wanted = CurrentShader::Draw(primitive.draw);
        let pipeline = match self.current {
            Some((current, pipeline)) if current == wanted => pipeline,
            _ => match frame.pipelines.get(&primitive.draw) {
                Some(pipeline) => pipeline,
                None => return Ok(()),
            },
        };
        self.choose(wanted, pipeline)?;
        let [from, to] = self.coverage.rows;
        let count = samples.count;
        if pipeline.state.late {
            // Tests of earlier fragments come first.
            let covers = |s: usize, y: usize| self.coverage.bits[s][y] & self.busy[y] != 0;
            if (from..to).any(|y| (0..count).any(|s| covers(s, y))) {
                self.flush()?;
            }
        }
        let front = primitive.front;
        let pixels = self.core.port.pixels.as_deref_mut();
        let Some(pixels) = pixels else { return Ok(()) };
        let plane = pixels.plane(primitive);
        let tests = &pipeline.state.tests[usize::from(!front)];
        let early = !pipeline.state.late && !tests.is_trivial();
        let kills = pipeline.state.late && pipeline.state.killed_early;
        let mut passed_all = 0;
        for y in (from & !1)..to {
            for sample in 0..count {
                let bits = &mut self.coverage.bits[sample][y];
                if y < from || pipeline.state.sample_mask >> sample & 1 == 0 {
                    *bits = 0;
                }
                if *bits == 0 {
                    continue;
                }
                let [dx, dy] = samples.px(sample);
                let place = [dx, y as f32 + dy];
                if early {
                    let depth = &mut pixels.tile.depth;
                    pixels.tile.dirty = true;
                    *bits = depth.test_row(
                        tests,
                        [sample, y],
                        *bits,
                        &plane,
                        place,
                        pipeline.state.range,
                    );
                } else if kills {
                    let look = tepui_raster::Tests { write: false, ..*tests };
                    let depth = &mut pixels.tile.depth;
                    *bits = depth.test_row(
                        &look,
                        [sample, y],
                        *bits,
                        &plane,
                        place,
                        pipeline.state.range,
                    );
                }
                passed_all += u64::from(bits.count_ones());
            }
        }
        if !pipeline.state.late {
            pixels.count(passed_all);
        }
        if pipeline.stage.is_none() || passed_all == 0 {
            return Ok(());
        }
        let primitive = shape.primitive;
        for y in ((from & !1)..to).step_by(2) {
            let row = |y: usize| match y < to {
                true => (0..count).fold(0, |any, s| any | self.coverage.bits[s][y]),
                false => 0,
            };
            let any = row(y) | row(y + 1);
            let mut left = (any | any >> 1) & 0x5555_5555;
            while left != 0 {
                let x = left.trailing_zeros();
                left &= left - 1;
                let mut quad: Quad = [0; 4];
                for (k, mask) in quad.iter_mut().enumerate() {
                    let (column, line) = (x + k as u32 % 2, y + k / 2);
                    if line < to {
                        for sample in 0..count {
                            let bit = self.coverage.bits[sample][line] >> column & 1;
                            *mask |= (bit as u16) << sample;
                        }
                    }
                }
                self.quads(pipeline, [x, y as u32], quad, Some(primitive))?;
            }
        }
        Ok(())
    }

    /// Adds a quad, once per sample if the shader runs per sample.
    fn quads(
        &mut self,
        pipeline: &Pipeline,
        place: [u32; 2],
        quad: Quad,
        primitive: Option<u32>,
    ) -> Result<(), JobFault> {
        if !pipeline.state.per_sample {
            return self.add(pipeline, place, quad, 0, primitive);
        }
        for sample in 0..self.frame.framebuffer.samples.count {
            let only = quad.map(|mask| mask & 1 << sample);
            if only != [0; 4] {
                self.add(pipeline, place, only, sample as u8, primitive)?;
            }
        }
        Ok(())
    }

    /// Adds a quad to the next warp, which runs when it is full.
    fn add(
        &mut self,
        pipeline: &Pipeline,
        [x, y]: [u32; 2],
        quad: Quad,
        sample: u8,
        primitive: Option<u32>,
    ) -> Result<(), JobFault> {
        let row = |k: usize| (u32::from(quad[k] != 0) | u32::from(quad[k + 1] != 0) << 1) << x;
        let rows = [row(0), row(2)];
        let line = y as usize;
        if self.busy[line] & rows[0] | self.busy[(line + 1) % TILE_SIDE] & rows[1] != 0 {
            self.flush()?;
        }
        self.busy[line] |= rows[0];
        self.busy[(line + 1) % TILE_SIDE] |= rows[1];
        let first = self.lanes;
        let pixels = self.pixels()?;
        for (k, coverage) in quad.into_iter().enumerate() {
            pixels.lanes[first + k] = Lane {
                place: [(x as usize + k % 2) as u8, (line + k / 2) as u8],
                coverage,
                sample,
                primitive,
                untested: pipeline.state.late && coverage != 0,
            };
        }
        self.lanes += 4;
        if self.lanes == LANES { self.flush() } else { Ok(()) }
    }

    /// Runs the warp of the pending quads.
    fn flush(&mut self) -> Result<(), JobFault> {
        let count = std::mem::take(&mut self.lanes);
        if count == 0 {
            return Ok(());
        }
        self.busy = [0; TILE_SIDE];
        let Some((shader, pipeline)) = self.current else { return Ok(()) };
        let Some(stage) = &pipeline.stage else { return Ok(()) };
        let all = (u32::from(u16::MAX) >> (LANES - count)) as u16;
        let core = &mut self.core;
        let Some(pixels) = core.port.pixels.as_deref_mut() else { return Ok(()) };
        let corner = pixels.corner;
        pixels.calling = None;
        pixels.weights.lanes = 0;
        let argument = pixels.framebuffer.parameters.frame_argument;
        // Lanes after the last one are unused.
        pixels.lanes[count..].fill(Lane::default());
        let lanes = &pixels.lanes;
        let mut live = 0u16;
        for (lane, own) in lanes.iter().enumerate() {
            live |= u16::from(own.coverage != 0) << lane;
        }
        if let Some(watched) = &mut core.port.watched {
            let draw = match shader {
                CurrentShader::Draw(draw) => Some(draw),
                CurrentShader::FrameShader(_) => None,
            };
            let place = |lane: &Lane| [0, 1].map(|k| corner[k] + u32::from(lane.place[k]));
            watched.place = WarpPlace::Pixels {
                places: lanes.each_ref().map(place),
                live,
                draw,
                layer: self.frame.framebuffer.parameters.internal_layer_index,
                frame: self.frame.number,
                warp: self.warps,
            };
            self.warps += 1;
        }
        let warp = &mut core.warp;
        warp.start(all);
        warp.helpers = all & !live;
        stage.fill(warp);
        if stage.preloads(57) || stage.preloads(58) {
            let [mut flags, mut numbers] = [[0; LANES]; 2];
            for lane in 0..count {
                if let Some(primitive) = pixels.primitive(lane) {
                    flags[lane] = u32::from(!primitive.front);
                    numbers[lane] = primitive.number;
                }
            }
            set(warp, stage, 57, || Row(numbers));
            set(warp, stage, 58, || Row(flags));
        }
        set(warp, stage, 59, || {
            Row(lanes.map(|lane| {
                let [x, y] = [0, 1].map(|k| corner[k] + u32::from(lane.place[k]));
                x & 0xffff | y << 16
            }))
        });
        set(warp, stage, 60, || Row(lanes.map(|lane| lane.coverage.into())));
        set(warp, stage, 61, || {
            Row(lanes.map(|lane| u32::from(lane.coverage) | u32::from(lane.sample) << 16))
        });
        set(warp, stage, 62, || Row::splat(argument as u32));
        set(warp, stage, 63, || Row::splat((argument >> 32) as u32));
        core.stats.threads += u64::from(live.count_ones());
        core.run(self.frame.gpu, stage, &self.frame.budget)?;
        let pixels = self.pixels()?;
        for lane in (0..count).filter(|lane| live >> lane & 1 != 0) {
            if pixels.lanes[lane].untested {
                pixels.test(lane, None, None);
            }
        }
        Ok(())
    }
}

/// Sets a register if the stage preloads it.
#[inline(always)]
fn set(warp: &mut Warp, stage: &Stage, register: usize, row: impl FnOnce() -> Row) {
    if stage.preloads(register) {
        warp.registers[register] = row();
    }
}
