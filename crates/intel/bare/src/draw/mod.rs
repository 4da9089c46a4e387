//! Draws: programs of all stages with hand-made state, and readback of the targets.
//!
//! The packets are those that Mesa's driver emits for a draw, without what the model's reset state has already. Colour
//! targets are linear; depth and stencil have one tile.

mod output;
mod primitives;
mod raster;
mod vertex;

use crate::memory::{self, Layout};
use crate::sets::Resources;
use crate::{Bindings, Error, Machine, PAGE, constants, surface};
use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::{Tessellator, VertexOutputs};
use tepui_intel_compiler::{Error as CompilerError, Program, StageInfo, Surface};
use tepui_intel_model::{Batch, JobStats};
use tepui_intel_packets::bindings::State3dConstantBody;
use tepui_intel_packets::mi::MiBatchBufferEnd;
pub use tepui_intel_packets::output::CompareFunction;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};
use tepui_intel_packets::vertex::{Primitive3d, State3dVfTopology};
use tepui_ir::Stage;

/// Bytes of a pixel of any format here.
const PIXEL_BYTES: u32 = 16;
/// Slots of scratch memory: a worker each.
const SCRATCH_SLOTS: u64 = memory::SLOTS;

/// Topologies. source: Mesa, genxml (`3D_Prim_Topo_Type`)
pub const POINTS: u32 = 1;
/// A list of lines.
pub const LINES: u32 = 2;
/// A list of triangles.
pub const TRIANGLES: u32 = 4;
/// A list of triangles with the vertices across their edges.
pub const TRIANGLES_ADJACENCY: u32 = 11;

/// Patches of a number of vertices.
#[must_use]
pub const fn patches(vertices: u32) -> u32 {
    0x1f + vertices
}

/// A format of four double words for colour targets and attributes. source: Mesa, isl.h
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Floats.
    #[default]
    Float = 0,
    /// Signed integers.
    Sint = 1,
    /// Unsigned integers.
    Uint = 2,
}

/// A vertex attribute: four double words of each vertex, or of each instance.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its location.
    pub location: u16,
    /// The values.
    pub values: Vec<[u32; 4]>,
}

/// One draw over targets that are filled first.
pub struct Draw<'a> {
    /// The vertex program.
    pub vertex: &'a Program,
    /// Hull, domain and geometry programs in this order, those that there are, with their buffers and push constants.
    pub primitives: Vec<(&'a Program, &'a Bindings)>,
    /// The tessellator, of draws with hull and domain programs.
    pub tessellator: Option<Tessellator>,
    /// The fragment program.
    pub fragment: &'a Program,
    /// Width and height of the targets.
    pub size: [u32; 2],
    /// Formats of the targets.
    pub targets: Vec<Format>,
    /// The bits that targets are filled with.
    pub clear: [u32; 4],
    /// Logarithm of the samples of a pixel.
    pub samples_log2: u32,
    /// Layers of the targets.
    pub layers: u32,
    /// Topology.
    pub topology: u32,
    /// The first vertex and how many there are.
    pub vertices: [u32; 2],
    /// The first instance and how many there are.
    pub instances: [u32; 2],
    /// The number of the draw.
    pub draw_index: u32,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Buffers and push constants of the vertex shader.
    pub vertex_bindings: &'a Bindings,
    /// Buffers and push constants of the fragment shader.
    pub fragment_bindings: &'a Bindings,
    /// Uses only this number of channels of the fragment program; 0 for all that it has.
    pub width: u8,
    /// Blending of the first target with the second source: source and destination factor.
    pub blend: Option<[u32; 2]>,
    /// Viewports: left, top, width and height; the whole target when there is none.
    pub viewports: Vec<[f32; 4]>,
    /// The depth test, over a buffer of a depth, with writes; targets have at most 32 by 32 pixels then.
    pub depth: Option<(CompareFunction, f32)>,
    /// The stencil test of the reference with a buffer of zeros.
    pub stencil: Option<CompareFunction>,
    /// Whether counter-clockwise triangles face to the front, instead of clockwise ones.
    pub counter_clockwise: bool,
}

impl<'a> Draw<'a> {
    /// A triangle over zeros.
    pub fn triangle(
        vertex: &'a Program,
        fragment: &'a Program,
        size: [u32; 2],
        none: &'a Bindings,
    ) -> Draw<'a> {
        Draw {
            vertex,
            primitives: Vec::new(),
            tessellator: None,
            fragment,
            size,
            targets: vec![Format::Float],
            clear: [0; 4],
            samples_log2: 0,
            layers: 1,
            topology: TRIANGLES,
            vertices: [0, 3],
            instances: [0, 1],
            draw_index: 0,
            attributes: Vec::new(),
            vertex_bindings: none,
            fragment_bindings: none,
            width: 0,
            blend: None,
            viewports: Vec::new(),
            depth: None,
            stencil: None,
            counter_clockwise: false,
        }
    }

    fn pitch(&self) -> u32 {
        PIXEL_BYTES * self.size[0]
    }

    /// Slices of a target: its layers, and the samples of each.
    fn slices(&self) -> u32 {
        self.layers << self.samples_log2
    }

    /// Rows of a slice, as the surface's state counts them.
    fn rows(&self) -> u32 {
        self.size[1].next_multiple_of(4)
    }

    fn target_bytes(&self) -> u64 {
        u64::from(self.pitch()) * u64::from(self.rows()) * u64::from(self.slices())
    }
}

/// The results of a draw.
pub struct Picture {
    /// The pixels of each target, row after row, slice after slice.
    pub colours: Vec<Vec<[u32; 4]>>,
    /// Depths in rows, of draws with a depth test.
    pub depth: Vec<f32>,
    /// The resources of each shader.
    bindings: Vec<(Stage, Bindings)>,
    /// The model's statistics and reports.
    pub stats: JobStats,
}

impl Picture {
    /// The resources of a shader.
    #[must_use]
    pub fn bindings(&self, stage: Stage) -> Option<&Bindings> {
        self.bindings.iter().find(|b| b.0 == stage).map(|b| &b.1)
    }

    /// The contents of a buffer of a shader, empty if there is none.
    #[must_use]
    pub fn buffer(&self, stage: Stage, key: (u32, u32, u32)) -> &[u8] {
        let found = self.bindings(stage).and_then(|bindings| bindings.buffers.get(&key));
        found.map_or(&[], Vec::as_slice)
    }
}

/// Why a draw has no picture.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// A program is not of the stage that it is used for.
    #[error("the {0} program is of another stage")]
    Stage(&'static str),
    /// The stages do not fit together.
    #[error("{0}")]
    Link(#[from] CompilerError),
    /// The draw does not run to its end.
    #[error("{0}")]
    Run(#[from] Error),
    /// A packet has no encoding.
    #[error("{0}")]
    Packet(#[from] tepui_intel_packets::Problem),
}

/// The stage of a program, and its outputs if it is one before the rasteriser.
fn stage_of(p: &Program) -> (Stage, Option<&VertexOutputs>) {
    match &p.stage {
        StageInfo::Compute => (Stage::Compute, None),
        StageInfo::Vertex(info) => (Stage::Vertex, Some(&info.outputs)),
        StageInfo::Hull(_) => (Stage::TessControl, None),
        StageInfo::Domain(info) => (Stage::TessEvaluation, Some(&info.outputs)),
        StageInfo::Geometry(info) => (Stage::Geometry, Some(&info.outputs)),
        StageInfo::Fragment(_) => (Stage::Fragment, None),
    }
}

/// A stage's program in memory.
struct Placed {
    code: u64,
    table: u64,
    constants: u64,
    /// Registers of constants.
    registers: u32,
    scratch: u64,
    scratch_log2: u32,
    samplers: u64,
    resources: Resources,
}

/// Layout of the batch.
struct Builder<'d, 'a> {
    d: &'d Draw<'a>,
    generation: Generation,
    m: Layout,
    batch: Vec<u8>,
}

impl Machine {
    /// Runs a draw.
    ///
    /// # Errors
    /// When the stages do not fit together, or the draw does not run to its end.
    pub fn draw(&self, d: &Draw<'_>) -> Result<Picture, DrawError> {
        let StageInfo::Vertex(vertex) = &d.vertex.stage else {
            return Err(DrawError::Stage("vertex"));
        };
        let StageInfo::Fragment(fragment) = &d.fragment.stage else {
            return Err(DrawError::Stage("fragment"));
        };
        let mut programs = vec![(d.vertex, d.vertex_bindings)];
        programs.extend(&d.primitives);
        // The last stage before the rasteriser.
        let outputs = programs.iter().filter_map(|(p, _)| stage_of(p).1).next_back();
        let outputs = outputs.unwrap_or(&vertex.outputs);
        programs.push((d.fragment, d.fragment_bindings));
        let setup = outputs.vue.setup(&fragment.inputs)?;
        let generation = self.generation;
        let mut b = Builder { d, generation, m: Layout::new(), batch: Vec::new() };
        // Binding tables are within 64 KiB of the surface state base.
        let tables: Vec<u64> = programs
            .iter()
            .map(|(p, _)| b.m.reserve(4 * p.map.surfaces.len() as u64, 64))
            .collect();
        let fill: Vec<u8> = d.clear.iter().flat_map(|c| c.to_le_bytes()).collect();
        let targets: Vec<u64> = d
            .targets
            .iter()
            .map(|_| {
                let pixels = d.target_bytes() as usize / fill.len();
                b.m.place(&fill.repeat(pixels), PAGE)
            })
            .collect();
        let mut placed = Vec::new();
        for (&(program, bindings), &table) in programs.iter().zip(&tables) {
            placed.push(b.place(program, bindings, table, &targets)?);
        }
        let zs = b.zs_buffers();
        let base = b.m.address(0);
        b.batch.extend(crate::bases(self.generation, base)?);
        b.vertex_fetch(vertex)?;
        for ((program, _), placed) in programs.iter().zip(&placed) {
            let variant = program.variants[0];
            match &program.stage {
                StageInfo::Vertex(info) => b.vertex_shader(info, placed)?,
                StageInfo::Hull(info) => b.hull_shader(info, placed, variant)?,
                StageInfo::Domain(info) => b.domain_shader(info, placed, variant)?,
                StageInfo::Geometry(info) => b.geometry_shader(info, placed, variant)?,
                StageInfo::Fragment(info) => b.pixel_shader(info, placed)?,
                StageInfo::Compute => return Err(DrawError::Stage("second")),
            }
        }
        b.tessellator()?;
        b.raster(outputs, fragment, &setup)?;
        b.zs(&zs)?;
        b.output(fragment)?;
        b.primitive()?;
        let batch_at = b.m.place(&b.batch, PAGE);
        let vm = b.m.bind().map_err(Error::Memory)?;
        let mut context = self.gpu.context();
        let batch = Batch { address: b.m.address(batch_at), length: b.batch.len() as u64 };
        let stats = self.gpu.execute(&vm, &mut context, &batch).map_err(Error::Fault)?;
        let read = |at: u64, bytes: &mut [u8]| {
            vm.read(b.m.address(at), bytes).map_err(|e| Error::Memory(e.to_string()))
        };
        let mut colours = Vec::new();
        for &at in &targets {
            let mut bytes = vec![0; d.target_bytes() as usize];
            read(at, &mut bytes)?;
            let rows = bytes.chunks_exact(d.pitch() as usize).enumerate();
            let rows = rows.filter(|(row, _)| *row as u32 % d.rows() < d.size[1]);
            let dword = |b: &[u8; 4]| u32::from_le_bytes(*b);
            let pixel = |p: &[u8; 16]| {
                let dwords = p.as_chunks::<4>().0;
                std::array::from_fn(|k| dword(&dwords[k]))
            };
            colours.push(rows.flat_map(|(_, row)| row.as_chunks::<16>().0).map(pixel).collect());
        }
        let mut depth = Vec::new();
        if let Some(at) = zs.depth {
            let mut tile = [0; output::TILE_BYTES];
            read(at, &mut tile)?;
            depth = output::depths(&tile, d.size);
        }
        let mut bindings: Vec<(Stage, Bindings)> =
            programs.iter().map(|&(p, own)| (stage_of(p).0, own.clone())).collect();
        for ((_, bindings), placed) in bindings.iter_mut().zip(&placed) {
            bindings.addresses = placed.resources.addresses(&b.m);
            placed.resources.take(&b.m, &vm, bindings)?;
        }
        Ok(Picture { colours, depth, bindings, stats })
    }
}

impl Builder<'_, '_> {
    fn add<P: tepui_intel_packets::Packet>(&mut self, packet: P) -> Result<(), DrawError> {
        let from = self.batch.len();
        self.batch.resize(from + P::INFO.size_bytes, 0);
        packet.pack_into(&mut self.batch[from..])?;
        Ok(())
    }

    /// Places a program with its surfaces and constants.
    fn place(
        &mut self,
        p: &Program,
        bindings: &Bindings,
        table: u64,
        targets: &[u64],
    ) -> Result<Placed, DrawError> {
        let code = self.m.place(&p.code, PAGE);
        let data = (self.m.place(&p.data, PAGE), p.data.len());
        let resources = Resources::new(&mut self.m, bindings)?;
        let mut entries = Vec::new();
        let mut addresses = Vec::new();
        for s in &p.map.surfaces {
            let state = match *s {
                Surface::Target(n) => {
                    let n = usize::from(n);
                    let state = targets.get(n).map(|&at| self.target(n, at));
                    self.m.place(&state.unwrap_or_else(|| surface(0, 0)).pack()?, PAGE)
                }
                _ => resources.surface(&mut self.m, s, data)?,
            };
            addresses.push(self.m.address(resources.buffer(s, data).0));
            entries.extend((state as u32).to_le_bytes());
        }
        self.m.fill(table, &entries);
        let samplers = resources.samplers(&mut self.m, &p.map.samplers)?;
        let records = resources.records(&mut self.m)?;
        let m = &self.m;
        let set = |set: u32| records.iter().find(|r| r.0 == set).map_or(0, |r| m.address(r.1));
        let words = constants(p, bindings, [0; 3], &addresses, &set);
        let constants = self.m.place(&words, PAGE);
        let scratch = p.variants.iter().map(|v| v.stats.scratch).max().unwrap_or(0);
        let scratch_log2 = scratch.div_ceil(1024).next_power_of_two().trailing_zeros();
        let scratch = match scratch {
            0 => 0,
            _ => self.m.reserve((1024 << scratch_log2) * SCRATCH_SLOTS, PAGE),
        };
        let registers = u32::from(p.map.shared_registers());
        Ok(Placed { code, table, constants, registers, scratch, scratch_log2, samplers, resources })
    }

    /// The surface state of a colour target.
    fn target(&self, n: usize, at: u64) -> RenderSurfaceState {
        let d = self.d;
        RenderSurfaceState {
            surface_type: SurfaceType::Surftype2d,
            surface_format: d.targets[n] as u32,
            surface_array: true,
            surface_horizontal_alignment: 1,
            surface_vertical_alignment: 1,
            // In units of four rows.
            surface_qpitch: d.rows() / 4,
            width: d.size[0] - 1,
            height: d.size[1] - 1,
            depth: d.layers - 1,
            render_target_view_extent: d.layers - 1,
            surface_pitch: d.pitch() - 1,
            number_of_multisamples: d.samples_log2,
            surface_base_address: self.m.address(at),
            ..RenderSurfaceState::default()
        }
    }

    fn scratch(&self, p: &Placed) -> u64 {
        if p.scratch == 0 { 0 } else { self.m.address(p.scratch) }
    }

    fn constant_body(&self, p: &Placed) -> State3dConstantBody {
        State3dConstantBody {
            read_length_3: p.registers,
            buffer_3: self.m.address(p.constants),
            ..State3dConstantBody::default()
        }
    }

    fn primitive(&mut self) -> Result<(), DrawError> {
        self.add(State3dVfTopology { primitive_topology_type: self.d.topology })?;
        self.add(Primitive3d {
            vertex_count_per_instance: self.d.vertices[1],
            start_vertex_location: self.d.vertices[0],
            instance_count: self.d.instances[1],
            start_instance_location: self.d.instances[0],
            ..Primitive3d::default()
        })?;
        self.add(MiBatchBufferEnd::default())
    }
}
