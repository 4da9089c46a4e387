//! The 3D pipeline: a draw, from vertices to pixels.
//!
//! ```text
//!  3DPRIMITIVE ──fetch──▶ vertices ──vertex──▶ URB entries ──assembly──▶ primitives
//!    ──geometry──▶ shapes (clipped, culled), depth planes; ──setup──▶ attributes
//!    ──tile──▶ covered samples that pass early tests ([`depth`]) ──pixel──▶ threads
//!    ──target──▶ late tests, blending ([`blend`]), texels
//! ```
//!
//! Vertices come in batches of bounded size; a batch is a [`geometry::Scene`] of shapes, which is rendered
//! before the next begins. [`hiz`] has operations on depth without a draw. Fills and copies of drivers are
//! rectangle lists in pixels and take the same path.
//!
//! Texels are written to memory uncompressed. Auxiliary surfaces (CCS, MCS, HiZ) mark clear blocks: a fast clear
//! sets marks, a write or a resolve replaces a mark by the clear colour.

mod assembly;
pub(crate) mod blend;
pub(crate) mod coarse;
mod coarse_pixels;
mod copied;
mod depth;
mod fetch;
mod geometry;
mod geometry_shader;
pub(crate) mod hiz;
mod input_assembly;
mod lines;
mod outputs;
mod pixel;
mod plain_tile;
mod planes;
mod points;
mod setup;
mod shader;
mod state;
mod statistics;
mod stream_output;
mod strip;
pub(crate) mod target;
mod tessellation;
mod tile;
mod unit;
mod vertex;
pub(crate) mod write;

use std::collections::HashMap;

use tepui_intel_packets::vertex::Primitive3d;
use tepui_softgpu::AddressSpace;

use assembly::{Assembled, Assembly, ProvokingVertices};
use depth::Buffers;
use fetch::{Fetcher, Indices, Input};
use geometry::{Geometry, Scene};
use geometry_shader::GeometryStage;
use input_assembly::{InputAssembly, InputPrimitive};
use outputs::{finish_output, output};
use pixel::PixelShader;
use state::State;
pub(crate) use state::{has_pixel_shader, latched};
use statistics::DrawStatistics;
use stream_output::{STREAMS, StreamOutput};
use tessellation::{Patch, Tessellation};
use tile::SceneRenderer;
use unit::UNIT;
use vertex::{VertexStage, Vertices};

use crate::context::HardwareContext;
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats};
use crate::memory::Memory;
use crate::order::MemoryUnit;
use crate::port::DispatchState;
use crate::registers;

/// Limit on the vertices that are processed before primitives are assembled from them, and on the bytes of
/// their entries.
const BATCH_VERTICES: usize = 1 << 14;
const BATCH_BYTES: usize = 1 << 26;

/// The GPU and the memory of a draw.
#[derive(Clone, Copy)]
struct Machine<'a> {
    gpu: &'a Gpu,
    vm: &'a AddressSpace,
}

/// The parameters of a draw.
struct DrawParameters {
    vertices: u32,
    first: u32,
    instances: u32,
    start_instance: u32,
    base_vertex: i32,
}

impl DrawParameters {
    fn of(context: &HardwareContext, primitive: &Primitive3d) -> DrawParameters {
        if !primitive.indirect_parameter_enable {
            return DrawParameters {
                vertices: primitive.vertex_count_per_instance,
                first: primitive.start_vertex_location,
                instances: primitive.instance_count,
                start_instance: primitive.start_instance_location,
                base_vertex: primitive.base_vertex_location,
            };
        }
        let get = |register| context.registers.get(register);
        DrawParameters {
            vertices: get(registers::DRAW_VERTEX_COUNT),
            first: get(registers::DRAW_START_VERTEX),
            instances: get(registers::DRAW_INSTANCE_COUNT),
            start_instance: get(registers::DRAW_START_INSTANCE),
            base_vertex: get(registers::DRAW_BASE_VERTEX) as i32,
        }
    }
}

/// Executes draws.
///
/// # Errors
/// A command or state of the draw is not valid or not executed by the model, memory is not bound, or
/// a shader faults.
pub(crate) fn draw(
    gpu: &Gpu,
    vm: &AddressSpace,
    context: &mut HardwareContext,
    primitive: &Primitive3d,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    if primitive.predicate_enable && !context.registers.predicate() {
        return Ok(());
    }
    let counts = DrawParameters::of(context, primitive);
    let state = State::of(context)?;
    stats.draws += 1;
    if counts.vertices == 0 || counts.instances == 0 {
        return Ok(());
    }
    let mut memory = Memory::new(vm, MemoryUnit::State);
    let stream_output = StreamOutput::of(context)?;
    // If nothing is drawn, pixel state is left over from an earlier draw, and may not be in memory any more.
    let draws =
        !state.rejects_all() && stream_output.as_ref().is_none_or(|stream| !stream.discards);
    let output = output(context, &state, draws.then_some(&mut memory))?;
    let samples = state.samples() as u32;
    let buffers = Buffers::of(context, samples)?;
    let output = finish_output(output, &state, &buffers);
    let shader = match draws && state.has_pixel_shader() {
        true => Some(PixelShader::new(gpu, vm, context, &state, &mut memory)?),
        false => None,
    };
    // Gen12's vertex location: with indices the base vertex, otherwise the first vertex.
    let base = if primitive.vertex_access_type { counts.base_vertex as u32 } else { counts.first };
    let fetcher = Fetcher::new(context, &state, counts.start_instance, base)?;
    let stage = VertexStage::new(gpu, vm, context, &state, fetcher)?;
    let provoking = ProvokingVertices {
        lines: state.sf.line_strip_list_provoking_vertex_select,
        strips: state.sf.triangle_strip_list_provoking_vertex_select,
        fans: state.sf.triangle_fan_provoking_vertex_select,
    };
    let shaded = match state.gs.enable {
        true => Some(GeometryStage::new(gpu, vm, context, &state, provoking)?),
        false => None,
    };
    let tessellation = match state.tessellates() {
        true => Some(Tessellation::new(gpu, vm, context, &state)?),
        false => None,
    };
    let (assembly, stage_assembly) = match &shaded {
        _ if tessellation.is_some() => {
            /// The topology of patches of one vertex; those of more vertices follow.
            const PATCHLIST_1: u32 = 0x20;
            let Some(size) = state.topology.checked_sub(PATCHLIST_1 - 1).filter(|&n| n > 0) else {
                return Err(JobFault::new(UNIT, "tessellation of other primitives than patches"));
            };
            let topology = tessellation.as_ref().map_or(4, Tessellation::topology);
            let own = match &shaded {
                Some(stage) => stage.assembly()?,
                None => Assembly::new(topology, provoking)?,
            };
            (Primitives::Patches(Patches::of(size as usize)), own)
        }
        Some(stage) => {
            let assembly = InputAssembly::new(state.topology, state.gs.reorder_mode)?;
            (Primitives::Shaded(assembly, Vec::new()), stage.assembly()?)
        }
        None => {
            let own = Assembly::new(state.topology, provoking)?;
            (Primitives::Plain(own), Assembly::new(state.topology, provoking)?)
        }
    };
    let viewports = match draws {
        true => state::viewports(context, &mut memory, &state)?,
        false => Vec::new(),
    };
    let geometry = Geometry::new(
        &state,
        &viewports,
        stage_assembly.kind(),
        stage_assembly.rectangles,
        stage_assembly.provoking,
        match state.sf.legacy_global_depth_bias_enable {
            // source: SKL PRM volume 7, "depth offset": r is 1.
            true => Some(1.0),
            false => buffers.bias_unit(),
        },
        lines::Pattern::of(context, &state)?,
    )?;
    let shared = DispatchState::of(gpu, 0, context.bases, 0, 0);
    let drawing = SceneRenderer {
        gpu,
        vm,
        buffers: &buffers,
        output: &output,
        shader: shader.as_ref(),
        shared: &shared,
        attribute_dwords: geometry.attribute_dwords(),
    };
    let mut run = Run {
        drawing,
        indexed: primitive.vertex_access_type,
        stage: &stage,
        tessellation: tessellation.as_ref(),
        tessellated: Vertices {
            stride: tessellation.as_ref().map_or(0, |t| t.stride),
            data: Vec::new(),
        },
        shaded: shaded.as_ref(),
        primitives: assembly,
        made: Vertices {
            stride: shaded.as_ref().map_or(0, GeometryStage::stride),
            data: Vec::new(),
        },
        geometry,
        vertices: Vertices { stride: stage.stride, data: Vec::new() },
        scene: Scene::default(),
        stream_output,
        assembled: Default::default(),
        inputs: Vec::new(),
        steps: Vec::new(),
        totals: DrawStatistics::default(),
    };
    let indices = match primitive.vertex_access_type {
        true => Some(Indices::of(&state)?),
        false => None,
    };
    // Each primitive may become many in these stages.
    let most = if shaded.is_some() || tessellation.is_some() {
        BATCH_VERTICES / 16
    } else {
        BATCH_VERTICES
    };
    let limit = (BATCH_BYTES / (4 * stage.stride)).clamp(1, most);
    let mut budget = gpu.options.max_instructions;
    for instance in 0..counts.instances {
        for number in 0..counts.vertices {
            budget = budget.checked_sub(1).ok_or_else(|| {
                JobFault::new(UNIT, "the draw is taken for endless")
                    .of(crate::job::FaultKind::Endless)
            })?;
            let first = counts.first.wrapping_add(number);
            let input = match &indices {
                Some(indices) => {
                    let index = indices.read(&mut memory, first)?;
                    if indices.cut == Some(index) {
                        run.steps.push(Step::Restart);
                        continue;
                    }
                    let place = index.wrapping_add_signed(counts.base_vertex);
                    Input { index: place, id: index, instance }
                }
                None => Input { index: first, id: number, instance },
            };
            run.inputs.push(input);
            run.steps.push(Step::Vertex);
            if run.inputs.len() >= limit {
                run.batch(stats)?;
            }
        }
        run.steps.push(Step::EndInstance);
    }
    run.batch(stats)?;
    if let Some(stream) = &run.stream_output {
        stream.finish(context, &mut memory)?;
    }
    let totals = run.totals;
    let clipped = run.geometry.counts;
    totals.count(context, &state, clipped).map_err(|e| JobFault::new(UNIT, e.to_string()))
}

/// A step of a batch, in order.
enum Step {
    Vertex,
    Restart,
    EndInstance,
}

/// Assembly of primitives from vertices.
enum Primitives {
    Plain(Assembly),
    /// Assembly for a geometry shader.
    Shaded(InputAssembly, Vec<InputPrimitive>),
    /// Assembly for tessellation.
    Patches(Patches),
}

/// Assembly of patches with a number of vertices.
struct Patches {
    size: usize,
    /// Vertices of the incomplete patch.
    pending: Vec<u32>,
    number: u32,
    list: Vec<Patch>,
}

impl Patches {
    fn of(size: usize) -> Patches {
        Patches { size, pending: Vec::new(), number: 0, list: Vec::new() }
    }

    fn push(&mut self, vertex: u32) {
        self.pending.push(vertex);
        if self.pending.len() == self.size {
            let vertices = std::mem::take(&mut self.pending);
            self.list.push(Patch { vertices, number: self.number });
            self.number = self.number.wrapping_add(1);
        }
    }
}

impl Primitives {
    /// The vertices that later primitives need.
    fn held(&mut self) -> Vec<&mut u32> {
        match self {
            Primitives::Plain(assembly) => assembly.held().collect(),
            Primitives::Shaded(assembly, _) => assembly.held(),
            Primitives::Patches(patches) => patches.pending.iter_mut().collect(),
        }
    }

    /// Executes the next step of a batch; plain primitives that it completes go to `out`.
    fn step(
        &mut self,
        step: &Step,
        next: &mut impl Iterator<Item = u32>,
        out: &mut Vec<Assembled>,
    ) {
        match (self, step) {
            (Primitives::Plain(assembly), Step::Vertex) => {
                next.by_ref().take(1).for_each(|vertex| assembly.push(vertex, out));
            }
            (Primitives::Plain(assembly), Step::Restart) => assembly.restart(out),
            (Primitives::Plain(assembly), Step::EndInstance) => assembly.end_instance(out),
            (Primitives::Shaded(assembly, list), Step::Vertex) => {
                next.by_ref().take(1).for_each(|vertex| assembly.push(vertex, list));
            }
            (Primitives::Shaded(assembly, list), Step::Restart) => assembly.restart(list),
            (Primitives::Shaded(assembly, list), Step::EndInstance) => assembly.end_instance(list),
            (Primitives::Patches(patches), Step::Vertex) => {
                next.by_ref().take(1).for_each(|vertex| patches.push(vertex));
            }
            (Primitives::Patches(patches), Step::Restart) => patches.pending.clear(),
            (Primitives::Patches(patches), Step::EndInstance) => {
                patches.pending.clear();
                patches.number = 0;
            }
        }
    }
}

/// A draw that is being executed.
struct Run<'a> {
    drawing: SceneRenderer<'a>,
    /// Whether vertices may be repeated.
    indexed: bool,
    stage: &'a VertexStage,
    tessellation: Option<&'a Tessellation>,
    /// Output vertices of tessellation.
    tessellated: Vertices,
    shaded: Option<&'a GeometryStage>,
    primitives: Primitives,
    /// Output vertices of the geometry shader.
    made: Vertices,
    geometry: Geometry<'a>,
    vertices: Vertices,
    scene: Scene,
    stream_output: Option<StreamOutput>,
    /// Primitives of each stream; only geometry shaders have several streams.
    assembled: [Vec<Assembled>; STREAMS],
    /// Vertices of the batch that are not processed yet, and the steps between them.
    inputs: Vec<Input>,
    steps: Vec<Step>,
    totals: DrawStatistics,
}

impl Run<'_> {
    /// The vertices of the batch, without repetitions if they are indexed, and the index of each in order,
    /// counted from `next` on.
    fn unique(&self, next: u32) -> (Vec<Input>, Vec<u32>) {
        let mut unique: Vec<Input> = Vec::with_capacity(self.inputs.len());
        if !self.indexed {
            unique.extend(&self.inputs);
            return (unique, (next..).take(self.inputs.len()).collect());
        }
        let mut places = HashMap::new();
        let place = |input: &Input| {
            *places.entry((input.index, input.instance)).or_insert_with(|| {
                unique.push(*input);
                next + unique.len() as u32 - 1
            })
        };
        let order = self.inputs.iter().map(place).collect();
        (unique, order)
    }

    /// Runs the stages between the vertex shader and the clipper, if there are any.
    fn shade(&mut self, stats: &mut JobStats) -> Result<(), JobFault> {
        let machine = Machine { gpu: self.drawing.gpu, vm: self.drawing.vm };
        let Run { vertices, tessellated, made, assembled, primitives, totals, .. } = self;
        let mut input_primitives = Vec::new();
        let mut input = &*vertices;
        match (&mut *primitives, self.tessellation) {
            (Primitives::Patches(patches), Some(stage)) => {
                totals.primitives += patches.list.len() as u64;
                tessellated.data.clear();
                let mut list = Vec::new();
                let counts =
                    stage.run(machine, input, &patches.list, tessellated, &mut list, stats)?;
                patches.list.clear();
                totals.patches += counts[0];
                totals.points += counts[1];
                if self.shaded.is_some() {
                    input_primitives.extend(list.iter().map(|&([a, b, c], number)| {
                        InputPrimitive { vertices: [a, b, c, c, c, c], number }
                    }));
                } else {
                    assembled[0].append(&mut list);
                }
                input = tessellated;
            }
            (Primitives::Shaded(_, list), _) => {
                totals.primitives += list.len() as u64;
                input_primitives.append(list);
            }
            _ => totals.primitives += assembled[0].len() as u64,
        }
        if let Some(stage) = self.shaded {
            totals.geometry += input_primitives.len() as u64 * stage.invocations();
            made.data.clear();
            totals.geometry_primitives +=
                stage.run(machine, input, &input_primitives, made, assembled, stats)?;
        }
        Ok(())
    }

    /// Processes the batch: vertices, primitives, pixels.
    fn batch(&mut self, stats: &mut JobStats) -> Result<(), JobFault> {
        // Vertices that later primitives still need move to the front.
        let stride = self.stage.stride;
        let mut kept = Vec::new();
        for (place, held) in self.primitives.held().into_iter().enumerate() {
            kept.extend_from_slice(self.vertices.entry(*held));
            *held = place as u32;
        }
        self.vertices.data = kept;
        let next = (self.vertices.data.len() / stride) as u32;
        let (unique, order) = self.unique(next);
        let SceneRenderer { gpu, vm, .. } = self.drawing;
        self.stage.run(gpu, vm, &unique, &mut self.vertices, stats)?;
        self.totals.vertices += self.inputs.len() as u64;
        self.totals.shaded_vertices += unique.len() as u64;
        self.assembled.iter_mut().for_each(Vec::clear);
        let mut order = order.into_iter();
        for step in self.steps.drain(..) {
            self.primitives.step(&step, &mut order, &mut self.assembled[0]);
        }
        self.inputs.clear();
        self.scene.clear();
        self.shade(stats)?;
        let vertices = match (self.shaded, self.tessellation) {
            (Some(_), _) => &self.made,
            (None, Some(_)) => &self.tessellated,
            (None, None) => &self.vertices,
        };
        if let Some(stream) = &mut self.stream_output {
            let mut memory = Memory::new(vm, MemoryUnit::StreamOutput);
            let count = self.geometry.vertices_of_primitive();
            // Fans begin with the provoking vertex, which Vulkan counts as the first.
            let first = self.geometry.turned();
            for list in self.assembled.iter().map(Vec::as_slice).enumerate() {
                stream.write(&mut memory, vertices, list, count, first)?;
            }
            if stream.discards {
                return Ok(());
            }
        }
        let drawn = self.stream_output.as_ref().map_or(0, |stream| stream.drawn);
        self.geometry.add(vertices, &self.assembled[drawn], &mut self.scene)?;
        let counts = self.drawing.draw(&self.scene, stats)?;
        self.totals.passed += counts.passed;
        self.totals.pixels += counts.shaded;
        Ok(())
    }
}
