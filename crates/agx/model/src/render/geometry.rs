//! The geometry half of a render command: draws become primitives of a [`Scene`].
//!
//! A draw is processed in batches: indices are fetched and assembled to primitives, their vertices
//! are shaded, then primitives are set up. When a scene has become too large, the pixel half
//! renders it as a partial render, as the hardware does when its parameter buffer is full.

use tepui_agx_packets::render::PppControl;
use tepui_agx_packets::vdm::{Primitive, VdmVertex};
use tepui_packets::Packet;
use tepui_raster::{Assembler, ProjectedVertex, Provoking, Topology, Viewport};
use tepui_softgpu::AddressSpace;

use super::batch::{Batch, GeometryMemory};
use super::scene::Scene;
use super::setup::{Assembled, Output, Setup};
use super::shade::shade;
use crate::isp::setup::samples;
use crate::job::{JobFault, JobStats, RenderJob, Unit};
use crate::pipeline::Pipeline;
use crate::render::draw::{Draw, VertexState};
use crate::usc::cache::Programs;
use crate::usc::launch::Launch;
use crate::uvs::Layout;
use crate::workers::map;
use crate::{Gpu, ppp};

/// Cost of an index besides the instructions of its vertex, counted in instructions. Because of it
/// a job of 2^32 indices exceeds any budget before it begins.
const INDEX_COST: u64 = 4096;
/// Cost of a draw, counted in instructions.
const DRAW_COST: u64 = 1024;
/// Indices of a batch: enough that threads have something to share, and a multiple of three so that separate triangles end with it.
const BATCH: u32 = 3 << 15;
/// Indices of an instance of which a [`Pattern`] is kept.
const MAX_PATTERN: u32 = BATCH / 32;
/// Words of vertex outputs at which a scene is rendered.
const MAX_OUTPUT_WORDS: usize = 1 << 25;
/// Primitives at which a scene is rendered.
const MAX_PRIMITIVES: usize = 1 << 20;
/// Primitives of a work item.
const SETUP_AT_A_TIME: usize = 512;

/// Vertices of a work item that places them.
const PLACE_AT_A_TIME: usize = 2048;

/// A function that renders a scene.
pub type Sink<'a> = dyn FnMut(&Scene, &mut JobStats) -> Result<(), JobFault> + 'a;

/// The state of the geometry half during a render command.
pub struct Geometry<'a> {
    gpu: &'a Gpu,
    /// The address space.
    pub vm: &'a AddressSpace,
    job: &'a RenderJob,
    control: PppControl,
    programs: &'a Programs<'a>,
    /// State of the control stream.
    pub state: VertexState,
    /// State of the primitive processing pipe.
    pub ppp: ppp::Latch,
    /// The vertex program, ready to run.
    launch: Option<Launch<'a>>,
    scene: Scene,
    sink: &'a mut Sink<'a>,
    stats: JobStats,
    /// Cost of indices and draws so far.
    spent: u64,
    draws: u32,
    memory: GeometryMemory,
}

impl<'a> Geometry<'a> {
    /// A geometry half in its state after reset.
    pub fn new(
        gpu: &'a Gpu,
        vm: &'a AddressSpace,
        job: &'a RenderJob,
        programs: &'a Programs<'a>,
        sink: &'a mut Sink<'a>,
    ) -> Result<Geometry<'a>, JobFault> {
        let control = PppControl::unpack(&job.ppp_ctrl.to_le_bytes())
            .map_err(|problem| JobFault::new(Unit::Ppp, problem.to_string()))?;
        Ok(Geometry {
            gpu,
            vm,
            job,
            control,
            programs,
            state: VertexState::default(),
            ppp: ppp::Latch::default(),
            launch: None,
            scene: gpu.scenes.take(),
            sink,
            stats: JobStats::default(),
            spent: 0,
            draws: 0,
            memory: gpu.geometry.take(),
        })
    }

    /// Whether the budget allows `further` instructions.
    pub fn charge(&self, further: u64) -> Result<(), JobFault> {
        let cost = self.spent.saturating_add(self.stats.instructions).saturating_add(further);
        if cost > self.gpu.options.job_budget {
            return Err(JobFault::endless(Unit::Vdm));
        }
        Ok(())
    }

    /// Makes the next draw load its vertex pipeline again.
    pub fn forget_pipeline(&mut self) {
        self.launch = None;
    }

    /// Renders the rest of the scene; returns the statistics of the whole command.
    pub fn finish(mut self) -> Result<JobStats, JobFault> {
        (self.sink)(&self.scene, &mut self.stats)?;
        self.gpu.scenes.put(self.scene);
        self.gpu.geometry.put(self.memory);
        Ok(self.stats)
    }

    /// Renders the scene as a partial render, and moves what later primitives need to a new one.
    fn flush(&mut self, assembler: &mut Assembler, stride: usize) -> Result<(), JobFault> {
        self.scene.unfinished = true;
        (self.sink)(&self.scene, &mut self.stats)?;
        let (state, draw) = (self.scene.states.pop(), self.scene.draws.pop());
        let outputs = std::mem::take(&mut self.scene.outputs);
        self.scene = Scene { continued: true, ..Scene::default() };
        self.scene.states.extend(state);
        self.scene.draws.extend(draw.map(|(_, number)| (0, number)));
        let mut count = 0;
        for held in assembler.held() {
            let from = self.memory.batch.first_word + *held as usize * stride;
            *held = count;
            count += 1;
            match outputs.get(from..from + stride) {
                Some(words) => self.scene.outputs.extend_from_slice(words),
                None => self.scene.outputs.extend(std::iter::repeat_n(0, stride)),
            }
        }
        self.memory.reuse.clear();
        self.memory.batch.begin_draw(0, count as usize);
        Ok(())
    }

    /// Whether the limit of draws is reached.
    pub fn is_enough(&self) -> bool {
        u64::from(self.draws) >= self.gpu.options.draws
    }

    /// Executes a draw.
    pub fn draw(&mut self, draw: &Draw) -> Result<(), JobFault> {
        self.stats.launches += 1;
        self.spent = self.spent.saturating_add(DRAW_COST);
        let number = self.draws;
        self.draws = self.draws.wrapping_add(1);
        if draw.count == 0 || draw.instances == 0 {
            return self.charge(0);
        }
        let indices = u64::from(draw.count).saturating_mul(u64::from(draw.instances));
        self.spent = self.spent.saturating_add(indices.saturating_mul(INDEX_COST));
        self.charge(0)?;
        let layout = Layout::new(
            self.state.outputs.output_count_1,
            &self.ppp.output_select,
            &self.ppp.varyings_32,
            &self.ppp.varyings_16,
        )
        .map_err(|why| JobFault::new(Unit::Vdm, why))?;
        if self.launch.is_none() {
            self.launch = Some(self.load_pipeline()?);
        }
        if let Some(state) = self.ppp.state(self.vm, self.job, number)? {
            self.scene.states.push(state);
        }
        self.scene.draws.push((self.scene.primitives.len() as u32, number));
        let provoking = provoking(self.state.further.flat_shading_control);
        let mut assembler = Assembler::new(topology(draw.primitive), provoking);
        self.memory.batch.begin_draw(self.scene.outputs.len(), 0);
        let has_pattern = draw.instances > 1 && draw.count <= MAX_PATTERN;
        for instance in 0..draw.instances {
            if has_pattern && instance > 0 {
                let GeometryMemory { batch, pattern, .. } = &mut self.memory;
                batch.repeat(pattern, draw.count, instance);
                if batch.indices > BATCH - MAX_PATTERN {
                    self.work_off(layout, &mut assembler)?;
                }
                continue;
            }
            self.memory.reuse.clear();
            self.memory.batch.next_id = 0;
            let mut first = 0;
            while first < draw.count {
                let count = (draw.count - first).min(BATCH - self.memory.batch.indices);
                self.gather(draw, instance, first, count, &mut assembler)?;
                first += count;
                if first == draw.count {
                    assembler.restart(self.memory.batch.emit());
                }
                if self.memory.batch.indices >= BATCH {
                    self.work_off(layout, &mut assembler)?;
                }
            }
            if has_pattern {
                self.memory.pattern.take(&self.memory.batch);
            }
        }
        self.work_off(layout, &mut assembler)
    }

    fn load_pipeline(&mut self) -> Result<Launch<'a>, JobFault> {
        let pipeline = Pipeline {
            vm: self.vm,
            usc_exec_base: self.job.usc_exec_base,
            address: self.state.word1.pipeline,
            samplers: self.state.word0.sampler_state_register_count,
            sampler_heap: (self.job.sampler_heap, u32::from(self.job.sampler_count)),
            helper: self.job.vertex_helper,
        };
        let launch = pipeline.load(self.programs)?;
        self.gpu.prepare(self.vm, launch, &mut self.stats)
    }

    /// Adds some of an instance's indices to the batch.
    fn gather(
        &mut self,
        draw: &Draw,
        instance: u32,
        first: u32,
        count: u32,
        assembler: &mut Assembler,
    ) -> Result<(), JobFault> {
        let batch = &mut self.memory.batch;
        batch.indices += count;
        let Some(buffer) = &draw.indices else {
            let (mut first, mut count) = (first, count);
            if draw.primitive == Primitive::Triangles && assembler.is_between() {
                let whole = count - count % 3;
                batch.triangles(draw.start.wrapping_add(first), whole, instance);
                first += whole;
                count -= whole;
            }
            for i in first..first + count {
                let here = batch.vertex(draw.start.wrapping_add(i), instance);
                assembler.push(here, batch.emit());
            }
            return Ok(());
        };
        let mut fetched = std::mem::take(&mut batch.fetched);
        fetched.read(self.vm, buffer, first, count)?;
        let mut indices = &fetched.indices[..];
        let restarts = buffer.restart.is_some_and(|restart| indices.contains(&restart));
        if draw.primitive == Primitive::Triangles && assembler.is_between() && !restarts {
            let (triangles, rest) = indices.as_chunks();
            batch.indexed_triangles(&mut self.memory.reuse, triangles, draw.start, instance);
            indices = rest;
        }
        for &index in indices {
            if buffer.restart == Some(index) {
                assembler.restart(batch.emit());
                continue;
            }
            let new = batch.count() as u32;
            let here = self.memory.reuse.place(index, new);
            if here == new {
                batch.vertex(draw.start.wrapping_add(index), instance);
            }
            assembler.push(here, batch.emit());
        }
        batch.fetched = fetched;
        Ok(())
    }

    /// Runs the batch's vertices, sets up its primitives, and begins the next batch.
    fn work_off(&mut self, layout: Layout, assembler: &mut Assembler) -> Result<(), JobFault> {
        let Batch { first_word, earlier, vertices, .. } = &self.memory.batch;
        if let Some(launch) = &self.launch
            && !vertices.is_empty()
        {
            let outputs = &mut self.scene.outputs;
            let from = first_word + earlier * layout.stride;
            outputs.resize(from + vertices.len() * layout.stride, 0);
            let part = (&mut outputs[from..], layout.stride);
            shade(self.gpu, self.vm, launch, vertices, part, &mut self.stats)?;
        }
        self.setup(layout, assembler)?;
        let Scene { outputs, primitives, .. } = &self.scene;
        if outputs.len() >= MAX_OUTPUT_WORDS || primitives.len() >= MAX_PRIMITIVES {
            self.flush(assembler, layout.stride)?;
        } else {
            self.memory.batch.begin(self.memory.batch.count());
        }
        Ok(())
    }

    /// Sets up the batch's primitives.
    fn setup(&mut self, layout: Layout, assembler: &Assembler) -> Result<(), JobFault> {
        let cull = (self.ppp.cull.rasterizer_discard, self.ppp.cull2.rasterizer_discard);
        if cull.0 || cull.1 || self.scene.states.is_empty() {
            return Ok(());
        }
        // The scene's primitives precede those that are set up now.
        let mut out = Output::onto(
            std::mem::take(&mut self.scene.primitives),
            std::mem::take(&mut self.scene.shapes),
        );
        let number = self.scene.states.len() - 1;
        let clamp_w = self.control.enable_w_clamp && self.ppp.cull2.clamp_w;
        let viewports: Vec<Viewport> = self
            .ppp
            .viewports
            .iter()
            .map(|v| Viewport {
                scale: [v.scale_x, v.scale_y, v.scale_z],
                translate: [v.translate_x, v.translate_y, v.translate_z],
            })
            .collect();
        let setup = Setup {
            outputs: self.scene.outputs.get(self.memory.batch.first_word..).unwrap_or_default(),
            first_word: self.memory.batch.first_word as u32,
            layout,
            kind: assembler.kind(),
            state: (&self.scene.states[number], number as u32),
            viewports: &viewports,
            opengl_depth: self.control.opengl,
            w_min: if clamp_w {
                self.ppp.w_clamp.max(f32::MIN_POSITIVE)
            } else {
                f32::MIN_POSITIVE
            },
            default_point_size: self.control.default_point_size,
            layers: u32::from(self.job.layers).max(1),
            size_px: [self.job.width_px, self.job.height_px].map(u32::from),
            // A command whose positions are no register value fails where it is rendered.
            samples: samples(self.job).ok().map(|samples| samples.extent()),
        };
        let Batch { spots, assembled: all, .. } = &mut self.memory.batch;
        if let Some(projection) = setup.projection(&setup.volume()) {
            let (stride, placed) = (layout.stride, spots.len());
            let new = setup.outputs.get(placed * stride..).unwrap_or_default();
            spots.resize(placed + new.len() / stride, ProjectedVertex::default());
            let parts = spots[placed..].chunks_mut(PLACE_AT_A_TIME);
            let parts = parts.zip(new.chunks(PLACE_AT_A_TIME * stride));
            map(self.gpu, parts, |(places, new)| projection.place(new, stride, places))?;
        }
        let (spots, all) = (&*spots, &*all);
        let run = |part: &[Assembled], out: &mut Output| {
            part.iter().for_each(|assembled| setup.primitive(assembled, spots, out));
        };
        if all.len() <= SETUP_AT_A_TIME || self.gpu.workers() == 1 {
            run(all, &mut out);
        } else {
            let part = |part: &[Assembled]| {
                let mut out = Output::with_capacity(part.len());
                run(part, &mut out);
                out
            };
            let parts = map(self.gpu, all.chunks(SETUP_AT_A_TIME), part)?;
            parts.iter().for_each(|part| out.append(part));
        }
        (self.scene.primitives, self.scene.shapes) = (out.primitives, out.shapes);
        Ok(())
    }
}

/// The topology of a draw.
fn topology(primitive: Primitive) -> Topology {
    match primitive {
        Primitive::Points => Topology::Points,
        Primitive::Lines => Topology::Lines,
        Primitive::LineStrip => Topology::LineStrip,
        Primitive::LineLoop => Topology::LineLoop,
        Primitive::Triangles => Topology::Triangles,
        Primitive::TriangleStrip => Topology::TriangleStrip,
        Primitive::TriangleFan => Topology::TriangleFan,
        Primitive::Quads => Topology::Quads,
        Primitive::QuadStrip => Topology::QuadStrip,
    }
}

/// The provoking vertex for assembly. source: hk_cmd_draw.c, `provoking` in hk_flush_dynamic_state;
/// agx_nir_lower_uvs.c, translate_flat_shade_model; for quadrilaterals agx_pipe.c,
/// quads_follow_provoking_vertex_convention
fn provoking(vertex: VdmVertex) -> Provoking {
    match vertex {
        VdmVertex::Vertex0 | VdmVertex::Vertex1 => Provoking::First,
        VdmVertex::Vertex2 => Provoking::Last,
    }
}
