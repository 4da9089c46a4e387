//! Draws: vertex and fragment programs with hand-made state, and readback of the targets.
//!
//! The packets are those that Mesa's driver emits for a draw, without what the model's reset state has already. Colour
//! targets are linear; depth and stencil have one tile.

use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::{FragmentInfo, VertexElement, VertexInfo};
use tepui_intel_compiler::vue::{Setup, SetupAttribute, Varying};
use tepui_intel_compiler::{Error as CompilerError, Program, StageInfo, Surface};
use tepui_intel_model::{Batch, JobStats};
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersPs, State3dBindingTablePointersVs, State3dConstantBody,
    State3dConstantPs, State3dConstantVs, State3dUrbVs,
};
use tepui_intel_packets::gen12;
use tepui_intel_packets::mi::MiBatchBufferEnd;
pub use tepui_intel_packets::output::CompareFunction;
use tepui_intel_packets::output::{
    BlendState, BlendStateEntry, CcViewport, SfClipViewport, State3dBlendStatePointers,
    State3dDepthBuffer, State3dPsBlend, State3dStencilBuffer, State3dViewportStatePointersCc,
    State3dViewportStatePointersSfClip, State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::{
    State3dMultisample, State3dPs, State3dPsExtra, State3dSampleMask, State3dSamplePattern,
    State3dWm,
};
use tepui_intel_packets::raster::{
    SfOutputAttributeDetail, State3dClip, State3dDrawingRectangle, State3dRaster, State3dSbe,
    State3dSbeSwiz, State3dSf,
};
use tepui_intel_packets::stages::State3dVs;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};
use tepui_intel_packets::vertex::{
    Primitive3d, State3dVertexBuffers, State3dVertexElements, State3dVfSgvs, State3dVfTopology,
    VertexBufferState, VertexComponentControl, VertexElementState,
};

use crate::memory::{self, Layout};
use crate::{Bindings, Error, Machine, PAGE, constants, surface};

/// Buffers of the numbers of the draw. source: Mesa, anv_private.h (`ANV_SVGS_VB_INDEX`, `ANV_DRAWID_VB_INDEX`)
const IDS_BUFFER: u32 = 31;
const DRAW_BUFFER: u32 = 32;
/// Formats of one and two double words. source: Mesa, isl.h (`ISL_FORMAT_R32_UINT`, `ISL_FORMAT_R32G32_UINT`)
const R32_UINT: u32 = 0xd7;
const R32G32_UINT: u32 = 0x87;
/// Bytes of a pixel of any format here.
const PIXEL_BYTES: u32 = 16;
/// Slots of scratch memory: a worker each.
const SCRATCH_SLOTS: u64 = memory::SLOTS;

/// Bytes of a tile, and of a row of it.
const TILE_BYTES: usize = 4096;
const TILE_PITCH: u32 = 128;

/// Topologies. source: Mesa, genxml (`3D_Prim_Topo_Type`)
pub const POINTS: u32 = 1;
/// A list of triangles.
pub const TRIANGLES: u32 = 4;

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
    /// The buffers of the vertex and of the fragment shader.
    pub bindings: [Bindings; 2],
    /// The model's statistics and reports.
    pub stats: JobStats,
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

/// A stage's program in memory.
struct Placed {
    code: u64,
    table: u64,
    constants: u64,
    /// Registers of constants.
    registers: u32,
    scratch: u64,
    scratch_log2: u32,
    buffers: Vec<((u32, u32, u32), u64)>,
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
        let setup = vertex.outputs.vue.setup(&fragment.inputs)?;
        let generation = self.generation;
        let mut b = Builder { d, generation, m: Layout::new(), batch: Vec::new() };
        // Binding tables are within 64 KiB of the surface state base.
        let tables =
            [d.vertex, d.fragment].map(|p| b.m.reserve(4 * p.map.surfaces.len() as u64, 64));
        let fill: Vec<u8> = d.clear.iter().flat_map(|c| c.to_le_bytes()).collect();
        let targets: Vec<u64> = d
            .targets
            .iter()
            .map(|_| {
                let pixels = d.target_bytes() as usize / fill.len();
                b.m.place(&fill.repeat(pixels), PAGE)
            })
            .collect();
        let vs = b.place(d.vertex, d.vertex_bindings, tables[0], &targets)?;
        let ps = b.place(d.fragment, d.fragment_bindings, tables[1], &targets)?;
        let zs = b.zs_buffers();
        let base = b.m.address(0);
        b.batch.extend(crate::bases(self.generation, base)?);
        b.vertex_fetch(vertex)?;
        b.vertex_shader(vertex, &vs)?;
        b.raster(vertex, fragment, &setup)?;
        b.pixel_shader(fragment, &ps)?;
        b.zs(zs)?;
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
        if let Some(at) = zs[0] {
            let mut tile = [0; TILE_BYTES];
            read(at, &mut tile)?;
            depth = depths(&tile, d.size);
        }
        let mut bindings = [d.vertex_bindings, d.fragment_bindings].map(Bindings::clone);
        for (bindings, placed) in bindings.iter_mut().zip([&vs, &ps]) {
            for &(key, at) in &placed.buffers {
                if let Some(bytes) = bindings.buffers.get_mut(&key) {
                    read(at, bytes)?;
                }
            }
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
        let data = self.m.place(&p.data, PAGE);
        let buffers: Vec<(_, u64)> =
            bindings.buffers.iter().map(|(&key, bytes)| (key, self.m.place(bytes, PAGE))).collect();
        let mut states = Vec::new();
        let mut addresses = Vec::new();
        for s in &p.map.surfaces {
            let (at, state) = match *s {
                Surface::Target(n) => match targets.get(usize::from(n)) {
                    Some(&at) => (at, self.target(usize::from(n), at)),
                    None => (0, surface(0, 0)),
                },
                Surface::Data => (data, surface(self.m.address(data), p.data.len())),
                Surface::Buffer { set, binding, element } => {
                    let key = (set, binding, element);
                    let at = buffers.iter().find(|b| b.0 == key).map_or(0, |b| b.1);
                    let bytes = bindings.buffers.get(&key).map_or(0, Vec::len);
                    (at, surface(self.m.address(at), bytes))
                }
                _ => (0, surface(0, 0)),
            };
            addresses.push(self.m.address(at));
            states.extend(state.pack()?);
        }
        let states = self.m.place(&states, 64);
        let size = RenderSurfaceState::SIZE_BYTES as u64;
        let entry = |k| ((states + k * size) as u32).to_le_bytes();
        let entries: Vec<u8> = (0..p.map.surfaces.len() as u64).flat_map(entry).collect();
        self.m.fill(table, &entries);
        // Draws have no descriptor sets in memory.
        let words = constants(p, bindings, [0; 3], &addresses, &|_| 0);
        let constants = self.m.place(&words, PAGE);
        let scratch = p.variants.iter().map(|v| v.stats.scratch).max().unwrap_or(0);
        let scratch_log2 = scratch.div_ceil(1024).next_power_of_two().trailing_zeros();
        let scratch = match scratch {
            0 => 0,
            _ => self.m.reserve((1024 << scratch_log2) * SCRATCH_SLOTS, PAGE),
        };
        let registers = u32::from(p.map.shared_registers());
        Ok(Placed { code, table, constants, registers, scratch, scratch_log2, buffers })
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

    fn vertex_fetch(&mut self, info: &VertexInfo) -> Result<(), DrawError> {
        let mut buffers: Vec<(u32, u32, Vec<u8>)> = Vec::new();
        let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        for (k, a) in (0..).zip(&self.d.attributes) {
            buffers.push((k, 16, bytes(a.values.as_flattened())));
        }
        let first = [self.d.vertices[0], self.d.instances[0]];
        buffers.push((IDS_BUFFER, 0, bytes(&first)));
        buffers.push((DRAW_BUFFER, 0, bytes(&[self.d.draw_index])));
        self.add(State3dVertexBuffers { dword_length: 4 * buffers.len() as u32 - 1 })?;
        for (index, pitch, bytes) in buffers {
            let at = self.m.place(&bytes, 64);
            self.add(VertexBufferState {
                buffer_pitch: pitch,
                address_modify_enable: true,
                vertex_buffer_index: index,
                buffer_starting_address: self.m.address(at),
                buffer_size: bytes.len() as u32,
                ..VertexBufferState::default()
            })?;
        }
        self.add(State3dVertexElements { dword_length: 2 * info.elements.len() as u32 - 1 })?;
        for element in &info.elements {
            use VertexComponentControl::{Store0, StoreSrc};
            let (index, format, controls) = match element {
                VertexElement::Attribute(n) => {
                    let found = self.d.attributes.iter().position(|a| a.location == *n);
                    (found.map(|k| k as u32), Format::Uint as u32, [StoreSrc; 4])
                }
                VertexElement::Ids { first_vertex, first_instance, .. } => {
                    let used = |on: bool| if on { StoreSrc } else { Store0 };
                    let controls = [used(*first_vertex), used(*first_instance), Store0, Store0];
                    (Some(IDS_BUFFER), R32G32_UINT, controls)
                }
                VertexElement::DrawIndex => {
                    (Some(DRAW_BUFFER), R32_UINT, [StoreSrc, Store0, Store0, Store0])
                }
            };
            self.add(VertexElementState {
                source_element_format: format,
                valid: index.is_some(),
                vertex_buffer_index: index.unwrap_or(0),
                component_0_control: controls[0],
                component_1_control: controls[1],
                component_2_control: controls[2],
                component_3_control: controls[3],
                ..VertexElementState::default()
            })?;
        }
        let mut sgvs = State3dVfSgvs::default();
        for (k, element) in (0..).zip(&info.elements) {
            if let VertexElement::Ids { vertex, instance, .. } = *element {
                sgvs = State3dVfSgvs {
                    vertexid_element_offset: k,
                    vertexid_component_number: 2,
                    vertexid_enable: vertex,
                    instanceid_element_offset: k,
                    instanceid_component_number: 3,
                    instanceid_enable: instance,
                };
            }
        }
        self.add(sgvs)
    }

    fn vertex_shader(&mut self, info: &VertexInfo, p: &Placed) -> Result<(), DrawError> {
        let variant = self.d.vertex.variants[0];
        let urb = State3dUrbVs {
            vs_number_of_urb_entries: 64,
            vs_urb_entry_allocation_size: info.entry_units() - 1,
            vs_urb_starting_address: 4,
        };
        match self.generation {
            Generation::Gen9 => self.add(urb)?,
            Generation::Gen12 => self.add(gen12::State3dUrbAllocVs {
                vs_number_of_urb_entries_slice0: urb.vs_number_of_urb_entries,
                vs_urb_starting_address_slice0: urb.vs_urb_starting_address,
                ..urb.into()
            })?,
        }
        self.add(State3dVs {
            kernel_start_pointer: p.code + u64::from(variant.offset),
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            vertex_urb_entry_read_length: info.read_length(),
            dispatch_grf_start_register_for_urb_data: variant.start.into(),
            enable: true,
            simd8_dispatch_enable: true,
            maximum_number_of_threads: 335,
            user_clip_distance_clip_test_enable_bitmask: info.outputs.clip_mask.into(),
            user_clip_distance_cull_test_enable_bitmask: info.outputs.cull_mask.into(),
            ..State3dVs::default()
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantVs { constant_body: constants, ..State3dConstantVs::default() })?;
        self.add(State3dBindingTablePointersVs { pointer_to_vs_binding_table: p.table })
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

    fn raster(
        &mut self,
        vertex: &VertexInfo,
        fragment: &FragmentInfo,
        setup: &Setup,
    ) -> Result<(), DrawError> {
        let out = &vertex.outputs;
        let several = self.d.samples_log2 > 0;
        self.add(State3dClip {
            clip_enable: true,
            api_mode: true,
            viewport_xy_clip_test_enable: true,
            guardband_clip_test_enable: true,
            non_perspective_barycentric_enable: fragment.linear,
            force_zero_rta_index_enable: !out.layer,
            maximum_vp_index: self.d.viewports.len().max(1) as u32 - 1,
            minimum_point_width: 0.125,
            maximum_point_width: 255.875,
            ..State3dClip::default()
        })?;
        self.add(State3dSf {
            viewport_transform_enable: true,
            point_width: 1.0,
            // 0 takes it from vertices.
            point_width_source: !out.point_size,
            line_width: 1.0,
            ..State3dSf::default()
        })?;
        self.add(State3dRaster {
            viewport_z_near_clip_test_enable: true,
            viewport_z_far_clip_test_enable: true,
            cull_mode: 1,
            front_winding: self.d.counter_clockwise,
            api_mode: 2,
            dx_multisample_rasterization_enable: several,
            dx_multisample_rasterization_mode: if several { 3 } else { 0 },
            ..State3dRaster::default()
        })?;
        let bit = |f: fn(&SetupAttribute) -> bool| {
            let all = (0..).zip(&setup.attributes);
            all.fold(0u32, |mask, (k, a)| mask | u32::from(f(a)) << k)
        };
        let primitive =
            setup.attributes.iter().position(|a| a.generated == Some(Varying::PrimitiveId));
        self.add(State3dSbe {
            vertex_urb_entry_read_offset: setup.read_offset.into(),
            vertex_urb_entry_read_length: setup.read_length.into(),
            force_vertex_urb_entry_read_offset: true,
            force_vertex_urb_entry_read_length: true,
            attribute_swizzle_enable: true,
            number_of_sf_output_attributes: setup.attributes.len() as u32,
            constant_interpolation_enable: bit(|a| a.flat),
            point_sprite_texture_coordinate_enable: bit(|a| {
                a.generated == Some(Varying::PointCoord)
            }),
            primitive_id_override_attribute_select: primitive.unwrap_or(0) as u32,
            primitive_id_override_component_x: primitive.is_some(),
            ..State3dSbe::default()
        })?;
        let detail = |k: usize| match setup.attributes.get(k) {
            Some(SetupAttribute { source: Some(source), .. }) => SfOutputAttributeDetail {
                source_attribute: u32::from(*source),
                ..SfOutputAttributeDetail::default()
            },
            // Zero.
            _ => SfOutputAttributeDetail {
                component_override_x: true,
                component_override_y: true,
                component_override_z: true,
                component_override_w: true,
                ..SfOutputAttributeDetail::default()
            },
        };
        self.add(State3dSbeSwiz {
            attribute_0: detail(0),
            attribute_1: detail(1),
            attribute_2: detail(2),
            attribute_3: detail(3),
            attribute_4: detail(4),
            attribute_5: detail(5),
            attribute_6: detail(6),
            attribute_7: detail(7),
            attribute_8: detail(8),
            attribute_9: detail(9),
            attribute_10: detail(10),
            attribute_11: detail(11),
            attribute_12: detail(12),
            attribute_13: detail(13),
            attribute_14: detail(14),
            attribute_15: detail(15),
            ..State3dSbeSwiz::default()
        })?;
        self.add(State3dDrawingRectangle {
            clipped_drawing_rectangle_x_max: 0xffff,
            clipped_drawing_rectangle_y_max: 0xffff,
            ..State3dDrawingRectangle::default()
        })
    }

    fn pixel_shader(&mut self, info: &FragmentInfo, p: &Placed) -> Result<(), DrawError> {
        let wanted = self.d.width;
        let all = &self.d.fragment.variants;
        let of = |width: u8| {
            let used = wanted == 0 || wanted == width;
            all.iter().find(|v| v.width == width && used).copied()
        };
        let (narrow, wide) = (of(8), of(16));
        let pointer = |v: Option<tepui_intel_compiler::Variant>| {
            v.map_or((0, 0), |v| (p.code + u64::from(v.offset), u32::from(v.start)))
        };
        // A single program is kernel 0.
        let (zero, two) = match (narrow, wide) {
            (Some(_), Some(_)) => (pointer(narrow), pointer(wide)),
            (one, other) => (pointer(one.or(other)), (0, 0)),
        };
        self.add(State3dPs {
            kernel_start_pointer_0: zero.0,
            kernel_start_pointer_2: two.0,
            dispatch_grf_start_register_for_constant_setup_data_0: zero.1,
            dispatch_grf_start_register_for_constant_setup_data_2: two.1,
            n8_pixel_dispatch_enable: narrow.is_some(),
            n16_pixel_dispatch_enable: wide.is_some(),
            vector_mask_enable: true,
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            position_xy_offset_select: if info.sample_position { 3 } else { 0 },
            push_constant_enable: p.registers > 0,
            maximum_number_of_threads_per_psd: 63,
            ..State3dPs::default()
        })?;
        use tepui_ir::DepthMode;
        self.add(State3dPsExtra {
            input_coverage_mask_state: u32::from(info.coverage),
            pixel_shader_has_uav: info.side_effects,
            pixel_shader_pulls_bary: info.pulls_barycentrics,
            pixel_shader_computes_stencil: info.stencil,
            pixel_shader_is_per_sample: info.per_sample,
            attribute_enable: !info.inputs.is_empty(),
            pixel_shader_uses_source_w: info.source_w,
            pixel_shader_uses_source_depth: info.source_depth,
            pixel_shader_computed_depth_mode: match info.depth {
                None => 0,
                Some(DepthMode::Any) => 1,
                Some(DepthMode::Greater) => 2,
                Some(DepthMode::Less | DepthMode::Unchanged) => 3,
            },
            pixel_shader_kills_pixel: info.kills,
            omask_present_to_render_target: info.sample_mask,
            pixel_shader_valid: true,
            ..State3dPsExtra::default()
        })?;
        self.add(State3dWm {
            barycentric_interpolation_mode: info.barycentrics.into(),
            early_depth_stencil_control: if info.early_tests { 2 } else { 0 },
            force_thread_dispatch_enable: if info.side_effects { 2 } else { 0 },
            ..State3dWm::default()
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantPs { constant_body: constants, ..State3dConstantPs::default() })?;
        self.add(State3dBindingTablePointersPs { pointer_to_ps_binding_table: p.table })
    }

    fn output(&mut self, info: &FragmentInfo) -> Result<(), DrawError> {
        self.add(State3dMultisample {
            number_of_multisamples: self.d.samples_log2,
            ..State3dMultisample::default()
        })?;
        self.add(State3dSampleMask { sample_mask: 0xffff })?;
        self.add(State3dSamplePattern::standard())?;
        let mut blend = BlendState::default().pack()?.to_vec();
        for k in 0..8 {
            let mut entry = BlendStateEntry::default();
            if let (0, Some([source, destination])) = (k, self.d.blend) {
                entry = BlendStateEntry {
                    color_buffer_blend_enable: true,
                    source_blend_factor: source,
                    destination_blend_factor: destination,
                    source_alpha_blend_factor: source,
                    destination_alpha_blend_factor: destination,
                    ..entry
                };
            }
            blend.extend(entry.pack()?);
        }
        let blend = self.m.place(&blend, 64);
        self.add(State3dBlendStatePointers {
            blend_state_pointer_valid: true,
            blend_state_pointer: blend,
        })?;
        self.add(State3dPsBlend {
            has_writeable_rt: info.targets != 0,
            color_buffer_blend_enable: self.d.blend.is_some(),
            ..State3dPsBlend::default()
        })?;
        let [width, height] = self.d.size.map(|n| n as f32);
        let mut viewports = self.d.viewports.clone();
        if viewports.is_empty() {
            viewports.push([0.0, 0.0, width, height]);
        }
        let (mut clip, mut depths) = (Vec::new(), Vec::new());
        for &[left, top, width, height] in &viewports {
            let state = SfClipViewport {
                viewport_matrix_element_m00: width / 2.0,
                viewport_matrix_element_m11: height / 2.0,
                viewport_matrix_element_m22: 1.0,
                viewport_matrix_element_m30: left + width / 2.0,
                viewport_matrix_element_m31: top + height / 2.0,
                viewport_matrix_element_m32: 0.0,
                x_min_clip_guardband: -64.0,
                x_max_clip_guardband: 64.0,
                y_min_clip_guardband: -64.0,
                y_max_clip_guardband: 64.0,
                x_min_viewport: left,
                x_max_viewport: left + width - 1.0,
                y_min_viewport: top,
                y_max_viewport: top + height - 1.0,
            };
            clip.extend(state.pack()?);
            depths.extend(CcViewport { minimum_depth: 0.0, maximum_depth: 1.0 }.pack()?);
        }
        let clip = self.m.place(&clip, 64);
        self.add(State3dViewportStatePointersSfClip { sf_clip_viewport_pointer: clip })?;
        let depths = self.m.place(&depths, 64);
        self.add(State3dViewportStatePointersCc { cc_viewport_pointer: depths })
    }

    /// A tile each for depth and for stencil, if there is such a test.
    fn zs_buffers(&mut self) -> [Option<u64>; 2] {
        let depth = self.d.depth.map(|(_, clear)| {
            let bytes = clear.to_le_bytes().repeat(TILE_BYTES / 4);
            self.m.place(&bytes, PAGE)
        });
        let stencil = self.d.stencil.map(|_| self.m.place(&[0; TILE_BYTES], PAGE));
        [depth, stencil]
    }

    fn zs(&mut self, [depth, stencil]: [Option<u64>; 2]) -> Result<(), DrawError> {
        let [width, height] = self.d.size.map(|n| n - 1);
        // source: Mesa, genxml (`SURFTYPE_2D`, `SURFTYPE_NULL`, `D32_FLOAT`)
        let kind = |there: bool| if there { 1 } else { 7 };
        let depth_buffer = State3dDepthBuffer {
            surface_type: kind(depth.is_some() || stencil.is_some()),
            surface_format: 1,
            depth_write_enable: depth.is_some(),
            stencil_write_enable: stencil.is_some(),
            surface_base_address: depth.map_or(0, |at| self.m.address(at)),
            surface_pitch: TILE_PITCH - 1,
            width,
            height,
            ..State3dDepthBuffer::default()
        };
        let stencil_at = stencil.map_or(0, |at| self.m.address(at));
        match self.generation {
            Generation::Gen9 => {
                self.add(depth_buffer)?;
                self.add(State3dStencilBuffer {
                    stencil_buffer_enable: stencil.is_some(),
                    surface_base_address: stencil_at,
                    surface_pitch: TILE_PITCH - 1,
                    ..State3dStencilBuffer::default()
                })?;
            }
            Generation::Gen12 => {
                self.add(gen12::State3dDepthBuffer::from(depth_buffer))?;
                self.add(gen12::State3dStencilBuffer {
                    surface_type: kind(stencil.is_some()),
                    stencil_write_enable: stencil.is_some(),
                    surface_base_address: stencil_at,
                    surface_pitch: TILE_PITCH - 1,
                    width,
                    height,
                    ..gen12::State3dStencilBuffer::default()
                })?;
            }
        }
        self.add(State3dWmDepthStencil {
            depth_test_enable: depth.is_some(),
            depth_buffer_write_enable: depth.is_some(),
            depth_test_function: self.d.depth.map_or(CompareFunction::Always, |d| d.0),
            stencil_test_enable: stencil.is_some(),
            stencil_test_function: self.d.stencil.unwrap_or_default(),
            stencil_test_mask: 0xff,
            ..State3dWmDepthStencil::default()
        })
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

/// The depths of a Y tile: columns of 16 bytes, 32 rows each.
fn depths(tile: &[u8; TILE_BYTES], [width, height]: [u32; 2]) -> Vec<f32> {
    let at = |x: u32, y: u32| (x / 4 * 512 + y * 16 + x % 4 * 4) as usize;
    let depth = |x, y| {
        let bytes = tile[at(x, y)..].first_chunk().copied();
        f32::from_le_bytes(bytes.unwrap_or_default())
    };
    (0..height).flat_map(|y| (0..width).map(move |x| depth(x, y))).collect()
}
