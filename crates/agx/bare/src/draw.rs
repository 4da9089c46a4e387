//! Draws: vertex and fragment programs with hand-made state and control stream, and readback of the
//! picture.
//!
//! A [`Draw`] is one draw call with its own framebuffer, which is cleared before and stored after it.
//! Colour images are linear.

use std::collections::HashMap;
use tepui_sysval::SystemValue;

use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::tile::{Layout, Tile};
use tepui_agx_compiler::link::{self, Varyings};
use tepui_agx_compiler::varyings::{FragmentTable, VertexTable};
use tepui_agx_compiler::{Program, Source, Table};
use tepui_agx_isa::asm::assemble;
use tepui_agx_isa::operand::Format as IsaFormat;
use tepui_agx_model::{BgEot, Helper, JobStats, RenderJob};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::ppp::{self, ZsFunc};
use tepui_agx_packets::render::PppMultisampleControl;
use tepui_agx_packets::texture::{Layout as ImageLayout, TextureDimension};
use tepui_agx_packets::usc::{self, SharedLayout};
use tepui_agx_packets::vdm::{self, Primitive};

use crate::shader::{Bindings, States, halves, states, uniforms};
use crate::{Buffer, Error, Machine, USC_BASE};

/// Granularity of the layer stride of linear images. source: cmdbuf.xml, "PBE", "Layer
/// stride (linear)"
const LAYER_B: u64 = 128;

/// Tiles that nothing is drawn to are cleared and stored, too. source: asahi_drm.h
const PROCESS_EMPTY_TILES: u32 = 1 << 1;

/// Images that tiles are stored to, by the colour's number.
type Images = Vec<(u8, Buffer)>;

/// A vertex attribute's buffer.
#[derive(Clone)]
pub struct VertexBuffer {
    /// The buffer.
    pub buffer: Buffer,
    /// Layout of its elements.
    pub attribute: Attribute,
    /// Offset of the first element in bytes from the buffer's start.
    pub offset: u64,
}

impl VertexBuffer {
    /// The last element that lies in the buffer.
    pub(crate) fn clamp(&self) -> u32 {
        let size = self.attribute.format.info().block.bytes as usize;
        let room = self.buffer.size().saturating_sub(self.offset as usize + size);
        match self.attribute.stride {
            0 => 0,
            stride => (room / stride as usize) as u32,
        }
    }
}

/// Depth and stencil of a draw; a tile starts with the depth 1 and the stencil 0.
#[derive(Clone, Copy, Debug)]
pub struct DepthStencil {
    /// Depths that pass.
    pub depth: ZsFunc,
    /// Stencil values that pass; the shader's or 0 is compared with the tile's.
    pub stencil: Option<ZsFunc>,
}

impl Default for DepthStencil {
    fn default() -> DepthStencil {
        DepthStencil { depth: ZsFunc::Always, stencil: None }
    }
}

/// One draw.
pub struct Draw<'a> {
    /// The vertex program, with its varyings' places in uniforms or known.
    pub vertex: &'a Program,
    /// The fragment program.
    pub fragment: &'a Program,
    /// Formats and samples of the framebuffer.
    pub tile: &'a Tile,
    /// Width and height of the framebuffer.
    pub size_px: [u16; 2],
    /// Layers of the framebuffer.
    pub layers: u16,
    /// Topology.
    pub primitive: Primitive,
    /// Vertices of an instance.
    pub vertices: u32,
    /// The first of them.
    pub first_vertex: u32,
    /// Instances.
    pub instances: u32,
    /// The first of them.
    pub first_instance: u32,
    /// Attributes by location.
    pub attributes: Vec<Option<VertexBuffer>>,
    /// Buffers and push constants of the vertex shader.
    pub vertex_bindings: &'a Bindings,
    /// Buffers and push constants of the fragment shader.
    pub fragment_bindings: &'a Bindings,
    /// Depth and stencil.
    pub tests: DepthStencil,
    /// Initial colours by location, as the bits of four words.
    pub clear: [u32; 4],
    /// The blend constant.
    pub blend_constant: [f32; 4],
    /// The pipeline's sample mask.
    pub sample_mask: u16,
    /// The view that is drawn.
    pub view: u16,
    /// Viewports: left, top, width and height in pixels; the whole framebuffer when there is none.
    pub viewports: Vec<[f32; 4]>,
}

impl<'a> Draw<'a> {
    /// A draw of triangles from the first vertex on, without depth test, over zeros.
    pub fn triangles(
        vertex: &'a Program,
        fragment: &'a Program,
        tile: &'a Tile,
        size_px: [u16; 2],
        none: &'a Bindings,
    ) -> Draw<'a> {
        Draw {
            vertex,
            fragment,
            tile,
            size_px,
            layers: 1,
            primitive: Primitive::Triangles,
            vertices: 3,
            first_vertex: 0,
            instances: 1,
            first_instance: 0,
            attributes: Vec::new(),
            vertex_bindings: none,
            fragment_bindings: none,
            tests: DepthStencil::default(),
            clear: [0; 4],
            blend_constant: [0.0; 4],
            sample_mask: u16::MAX,
            view: 0,
            viewports: Vec::new(),
        }
    }
}

/// A draw whose programs, state and control stream are in memory; [`Machine::render`] runs it, any number of times.
pub struct Prepared {
    job: RenderJob,
    images: Images,
}

/// The results of a draw.
pub struct Picture {
    /// Bytes of each colour image by location, row after row, layer after layer; layers begin at
    /// multiples of 128 bytes.
    pub colours: HashMap<u8, Vec<u8>>,
    /// The model's statistics and reports.
    pub stats: JobStats,
}

/// Places of samples in sixteenths of a pixel: Vulkan's standard locations.
fn sample_places(samples: u8) -> [[u64; 2]; 4] {
    match samples {
        1 => [[8, 8]; 4],
        2 => [[12, 12], [4, 4], [8, 8], [8, 8]],
        _ => [[6, 2], [14, 6], [2, 10], [10, 14]],
    }
}

fn shared(layout: &Layout, samples: u8) -> usc::Shared {
    let [w, h] = layout.tile_px;
    usc::Shared {
        uses_shared_memory: true,
        layout: match layout.tile_px {
            [32, 32] => SharedLayout::Tile32x32,
            [32, _] => SharedLayout::Tile32x16,
            _ => SharedLayout::Tile16x16,
        },
        sample_count: u32::from(samples),
        sample_stride_in_8_bytes: layout.sample_bytes / 8,
        bytes_per_threadgroup: (layout.sample_bytes * u32::from(samples) * w * h)
            .next_multiple_of(256),
    }
}

/// The mnemonic of a tile format.
fn text(format: IsaFormat) -> &'static str {
    format.text().unwrap_or("i32")
}

impl Machine {
    /// Prepares and runs a draw.
    ///
    /// # Errors
    /// When stages do not fit together, memory cannot be bound, or the job faults.
    pub fn draw(&mut self, d: &Draw<'_>) -> Result<Picture, Error> {
        let prepared = self.prepare_draw(d)?;
        self.render(&prepared)
    }

    /// Runs a prepared draw.
    ///
    /// # Errors
    /// When the job faults.
    pub fn render(&self, p: &Prepared) -> Result<Picture, Error> {
        let stats = self.gpu().render(self.vm(), &p.job)?;
        let mut colours = HashMap::new();
        for (n, image) in &p.images {
            colours.insert(*n, image.read()?);
        }
        Ok(Picture { colours, stats })
    }

    /// Writes a draw's programs, state and control stream to memory.
    ///
    /// # Errors
    /// When stages do not fit together, or memory cannot be bound.
    pub fn prepare_draw(&mut self, d: &Draw<'_>) -> Result<Prepared, Error> {
        let (Table::Vertex(vt), Table::Fragment(ft)) = (&d.vertex.table, &d.fragment.table) else {
            return Err(Error::MissingStage);
        };
        let linked = link::varyings(vt, ft, 0)?;
        let layout = Layout::new(d.tile)?;
        let scratch = d.vertex.stats.scratch.max(d.fragment.stats.scratch);
        if scratch > 0 {
            self.scratch(scratch)?;
        }
        let vertex_uniforms = {
            let own = |s: Source| vertex_source(d, &linked, s);
            uniforms(self, d.vertex, d.vertex_bindings, &own)?
        };
        let fragment_uniforms = {
            let own = |s: Source| fragment_source(d, s);
            uniforms(self, d.fragment, d.fragment_bindings, &own)?
        };
        let vertex_states = states(d.vertex, d.vertex_bindings)?;
        let fragment_states = states(d.fragment, d.fragment_bindings)?;
        // A command has one heap.
        let heap = match (&vertex_states.heap[..], &fragment_states.heap[..]) {
            ([], heap) | (heap, []) => heap,
            (a, b) if a == b => a,
            _ => return Err(Error::SamplerHeaps),
        };
        let heap_buffer = self.buffer(8 * heap.len())?;
        heap_buffer.write(heap.as_flattened())?;
        let (sampler_heap, sampler_count) = match heap.len() {
            0 => (0, 0),
            n => (heap_buffer.address(), n as u16),
        };
        let vertex = self.vertex_pipeline(d.vertex, &vertex_uniforms, &vertex_states)?;
        let fragment =
            self.fragment_pipeline(d, ft, &layout, &fragment_uniforms, &fragment_states)?;
        let mut bindings = linked.header.pack()?.to_vec();
        for b in &linked.bindings {
            bindings.extend(b.pack()?);
        }
        let bindings = u64::from(self.code(&bindings)?);
        let record = self.record(d, vt, ft, &linked, fragment, bindings)?;
        let stream = self.stream(d, &linked, vertex, record)?;
        let (eot, images) = self.end_of_tile(d, &layout)?;
        let bg = self.background(d, &layout)?;
        let program = |at: Option<u32>| BgEot { usc: at.map_or(0, |a| a | 4), rsrc_spec: 0 };
        let places = sample_places(d.tile.samples);
        let control = PppMultisampleControl {
            sample_x: places.map(|p| p[0]).map(|v| v as _),
            sample_y: places.map(|p| p[1]).map(|v| v as _),
        };
        let control = control.pack()?;
        let mut word = [0; 8];
        word.copy_from_slice(&control);
        let job = RenderJob {
            usc_exec_base: USC_BASE,
            flags: PROCESS_EMPTY_TILES,
            vdm_ctrl_stream_base: stream,
            vertex_helper: self.helper(),
            fragment_helper: self.helper(),
            ppp_multisamplectl: u64::from_le_bytes(word),
            width_px: d.size_px[0],
            height_px: d.size_px[1],
            layers: d.layers,
            utile_width_px: layout.tile_px[0] as u8,
            utile_height_px: layout.tile_px[1] as u8,
            samples: d.tile.samples,
            sample_size_bytes: layout.sample_bytes as u8,
            bg: program(bg),
            partial_bg: program(bg),
            eot: program(eot),
            partial_eot: program(eot),
            sampler_heap,
            sampler_count,
            isp_bgobjdepth: 1f32.to_bits(),
            isp_bgobjvals: 0x300,
            ..RenderJob::default()
        };
        Ok(Prepared { job, images })
    }

    fn helper(&self) -> Helper {
        self.helper
    }

    fn program_words(
        &mut self,
        p: &Program,
        uniforms: &[u16],
        states: &States,
    ) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let mut words = self.uniform_words(uniforms)?;
        words.extend(self.state_words(&states.textures, &states.samplers)?);
        let end = match &p.preamble {
            Some(code) => {
                let code = u64::from(self.code(code)?);
                usc::Preshader { code }.pack()?.to_vec()
            }
            None => usc::NoPreshader {}.pack()?.to_vec(),
        };
        Ok((words, end))
    }

    fn vertex_pipeline(
        &mut self,
        p: &Program,
        uniforms: &[u16],
        states: &States,
    ) -> Result<u64, Error> {
        let (mut words, end) = self.program_words(p, uniforms, states)?;
        let none = usc::Shared {
            uses_shared_memory: false,
            layout: SharedLayout::VertexCompute,
            sample_count: 1,
            sample_stride_in_8_bytes: 0,
            bytes_per_threadgroup: 65536,
        };
        words.extend(none.pack()?);
        let code = u64::from(self.code(&p.code)?);
        words.extend(usc::Shader { code, unk_2: 3, ..usc::Shader::default() }.pack()?);
        words.extend(usc::Registers { register_count: 256, ..usc::Registers::default() }.pack()?);
        words.extend(end);
        Ok(u64::from(self.code(&words)?))
    }

    fn fragment_pipeline(
        &mut self,
        d: &Draw<'_>,
        t: &FragmentTable,
        layout: &Layout,
        uniforms: &[u16],
        states: &States,
    ) -> Result<u64, Error> {
        let p = d.fragment;
        let (mut words, end) = self.program_words(p, uniforms, states)?;
        words.extend(shared(layout, d.tile.samples).pack()?);
        let code = u64::from(self.code(&p.code)?);
        let loads_varyings = !t.coefficients.is_empty();
        let shader = usc::Shader { code, loads_varyings, unk_2: 2, ..usc::Shader::default() };
        words.extend(shader.pack()?);
        let registers = usc::Registers { register_count: 256, unk_1: true, ..Default::default() };
        words.extend(registers.pack()?);
        let properties = usc::FragmentProperties {
            early_z_testing: !t.decides,
            unk_2: true,
            unk_3: 0xf,
            unk_4: 2,
            ..usc::FragmentProperties::default()
        };
        words.extend(properties.pack()?);
        words.extend(end);
        Ok(u64::from(self.code(&words)?))
    }

    /// The record of fixed-function state; returns its address and words.
    fn record(
        &mut self,
        d: &Draw<'_>,
        v: &VertexTable,
        f: &FragmentTable,
        linked: &Varyings,
        fragment: u64,
        bindings: u64,
    ) -> Result<(u64, u32), Error> {
        let [width, height] = d.size_px.map(f32::from);
        let whole = [[0.0, 0.0, width, height]];
        let viewports = if d.viewports.is_empty() { &whole[..] } else { &d.viewports };
        let stencil = d.tests.stencil;
        let mut r = Vec::new();
        let header = ppp::Header {
            fragment_control: true,
            fragment_control_2: true,
            fragment_front_face: true,
            fragment_front_face_2: true,
            fragment_front_stencil: true,
            fragment_back_face: true,
            fragment_back_face_2: true,
            fragment_back_stencil: true,
            viewport: true,
            viewport_count: viewports.len() as u32,
            output_select: true,
            varying_counts_32: true,
            varying_counts_16: true,
            cull: true,
            cull_2: true,
            fragment_shader: true,
            output_size: true,
            ..Default::default()
        };
        r.extend(header.pack()?);
        let control = ppp::FragmentControl {
            stencil_test_enable: stencil.is_some(),
            ..ppp::FragmentControl::default()
        };
        r.extend(control.pack()?);
        let second = ppp::FragmentControl {
            tag_write_disable: f.is_idle(),
            disable_tri_merging: f.keeps_quads_apart(),
            pass_type: f.pass_type(),
            ..ppp::FragmentControl::default()
        };
        r.extend(second.pack()?);
        let face = ppp::FragmentFace {
            line_width: 1.0,
            depth_function: d.tests.depth,
            ..ppp::FragmentFace::default()
        };
        let face2 = ppp::FragmentFace2 {
            depth_function: d.tests.depth,
            object_type: match d.primitive {
                Primitive::Points => ppp::ObjectType::PointSpriteUv01,
                Primitive::Lines | Primitive::LineStrip | Primitive::LineLoop => {
                    ppp::ObjectType::Line
                }
                _ => ppp::ObjectType::Triangle,
            },
            ..ppp::FragmentFace2::default()
        };
        let stencil = ppp::FragmentStencil {
            write_mask: 0xff,
            read_mask: 0xff,
            depth_pass: ppp::StencilOp::Replace,
            compare: stencil.unwrap_or(ZsFunc::Always),
            ..ppp::FragmentStencil::default()
        };
        for _ in 0..2 {
            r.extend(face.pack()?);
            r.extend(face2.pack()?);
            r.extend(stencil.pack()?);
        }
        r.extend(ppp::ViewportControl {}.pack()?);
        for &[x, y, width, height] in viewports {
            let window = ppp::Viewport {
                translate_x: x + width / 2.0,
                scale_x: width / 2.0,
                translate_y: y + height / 2.0,
                scale_y: height / 2.0,
                translate_z: 0.0,
                scale_z: 1.0,
            };
            r.extend(window.pack()?);
        }
        r.extend(linked.select.clone().pack()?);
        r.extend(linked.counts_32.clone().pack()?);
        r.extend(linked.counts_16.clone().pack()?);
        let cull = ppp::Cull { depth_clip: true, ..ppp::Cull::default() };
        r.extend(cull.pack()?);
        let cull2 =
            ppp::Cull2 { needs_primitive_id: linked.numbers_primitives, ..ppp::Cull2::default() };
        r.extend(cull2.pack()?);
        let word0 = ppp::FragmentShaderWord0 {
            uniform_register_count: 512,
            texture_state_register_count: (d.fragment.textures.len() as u32).next_multiple_of(8),
            sampler_state_register_count: usc::SamplerStates::Compact16,
            cf_binding_count: linked.bindings.len() as u32,
            ..ppp::FragmentShaderWord0::default()
        };
        r.extend(word0.pack()?);
        r.extend(ppp::FragmentShaderWord1 { pipeline: fragment, ..Default::default() }.pack()?);
        let cf_bindings = if linked.bindings.is_empty() { 0 } else { bindings };
        r.extend(ppp::FragmentShaderWord2 { cf_bindings }.pack()?);
        r.extend(ppp::FragmentShaderWord3::default().pack()?);
        r.extend(ppp::OutputSize { count: u32::from(v.words()) }.pack()?);
        let buffer = self.buffer(r.len())?;
        buffer.write(&r)?;
        Ok((buffer.address(), r.len() as u32 / 4))
    }

    /// The control stream; returns its address.
    fn stream(
        &mut self,
        d: &Draw<'_>,
        linked: &Varyings,
        vertex: u64,
        (pointer, size_words): (u64, u32),
    ) -> Result<u64, Error> {
        let mut s = Vec::new();
        let state = vdm::State {
            vertex_shader_word_0_present: true,
            vertex_shader_word_1_present: true,
            vertex_outputs_present: true,
            vertex_unknown_present: true,
            ..vdm::State::default()
        };
        s.extend(state.pack()?);
        let word0 = vdm::StateVertexShaderWord0 {
            uniform_register_count: 512,
            texture_state_register_count: (d.vertex.textures.len() as u32).next_multiple_of(8),
            sampler_state_register_count: usc::SamplerStates::Compact16,
            ..vdm::StateVertexShaderWord0::default()
        };
        s.extend(word0.pack()?);
        s.extend(vdm::StateVertexShaderWord1 { pipeline: vertex, ..Default::default() }.pack()?);
        let (n, m) = (linked.words, linked.words);
        s.extend(vdm::StateVertexOutputs { output_count_1: n, output_count_2: m }.pack()?);
        let further = vdm::StateVertexUnknown {
            generate_primitive_id: linked.numbers_primitives,
            ..vdm::StateVertexUnknown::default()
        };
        s.extend(further.pack()?);
        s.resize(s.len().next_multiple_of(8), 0);
        s.extend(vdm::PppState { pointer, size_words }.pack()?);
        let list = vdm::IndexList {
            primitive: d.primitive,
            index_count_present: true,
            instance_count_present: true,
            start_present: true,
            ..vdm::IndexList::default()
        };
        s.extend(list.pack()?);
        s.extend(vdm::IndexListCount { count: d.vertices }.pack()?);
        s.extend(vdm::IndexListInstances { count: d.instances }.pack()?);
        s.extend(vdm::IndexListStart { start: d.first_vertex }.pack()?);
        s.extend(vdm::StreamTerminate {}.pack()?);
        let buffer = self.buffer(s.len())?;
        buffer.write(&s)?;
        Ok(buffer.address())
    }

    /// A program of the tile from assembly.
    fn tile_program(
        &mut self,
        d: &Draw<'_>,
        layout: &Layout,
        code: &str,
        textures: Option<(u64, u32)>,
    ) -> Result<u32, Error> {
        let assembled = assemble(code).map_err(Error::TileProgram)?;
        let mut words = Vec::new();
        if let Some((buffer, count)) = textures {
            words.extend(usc::Texture { start: 0, count, buffer }.pack()?);
        }
        words.extend(shared(layout, d.tile.samples).pack()?);
        let code = u64::from(self.code(&assembled)?);
        words.extend(usc::Shader { code, ..Default::default() }.pack()?);
        words.extend(usc::Registers { register_count: 64, ..Default::default() }.pack()?);
        words.extend(usc::NoPreshader {}.pack()?);
        self.code(&words)
    }

    /// Stores each colour of the tile; nothing of multisampled ones.
    fn end_of_tile(
        &mut self,
        d: &Draw<'_>,
        layout: &Layout,
    ) -> Result<(Option<u32>, Images), Error> {
        if d.tile.samples > 1 {
            return Ok((None, Vec::new()));
        }
        let [width, height] = d.size_px.map(u32::from);
        let (mut images, mut code, mut descriptors) = (Vec::new(), String::new(), Vec::new());
        for (n, slot) in layout.slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let stride = width * slot.format.info().block.bytes;
            let layer_stride = u64::from(stride * height).next_multiple_of(LAYER_B);
            let image = self.buffer((layer_stride * u64::from(d.layers)) as usize)?;
            let layered = d.layers > 1;
            let (dimension, name) = match layered {
                true => (TextureDimension::D2Array, "tex_2d_array"),
                false => (TextureDimension::D2, "tex_2d"),
            };
            let mut pbe = Pbe {
                dimension,
                layout: ImageLayout::Linear,
                width,
                height,
                buffer: image.address(),
                stride,
                // The tile holds the image's bits already.
                srgb: false,
                ..crate::image::descriptors(slot.format)?.1
            };
            if layered {
                pbe.extended = true;
                (pbe.depth_linear, pbe.layer_stride_linear) = (u32::from(d.layers), layer_stride);
            }
            descriptors.extend(pbe.pack()?);
            // Coordinates are the tile's own but for the layer.
            let place = if layered { "r1l_r1h_r2l_r2h_r3l" } else { "r1_r2" };
            code += &format!(
                "mov_imm r0, {}, 0b0\nget_sr r1, sr2 (threadgroup_position_in_grid.z)\n\
                 image_write_block r0l, {place}, 0, ts{}, {name}, rte, {}, 0, 9, 1\n",
                slot.offset,
                images.len(),
                text(slot.isa),
            );
            images.push((n as u8, image));
        }
        if images.is_empty() {
            return Ok((None, images));
        }
        let table = self.buffer(descriptors.len())?;
        table.write(&descriptors)?;
        let textures = Some((table.address(), images.len() as u32));
        let program = self.tile_program(d, layout, &(code + "stop"), textures)?;
        Ok((Some(program), images))
    }

    /// Fills the tile with the clear colour.
    fn background(&mut self, d: &Draw<'_>, layout: &Layout) -> Result<Option<u32>, Error> {
        let mut code: String =
            (0..4).map(|c| format!("mov_imm r{c}, {}, 0b0\n", d.clear[c])).collect();
        for slot in layout.slots.iter().flatten() {
            let n = usize::from(slot.channels);
            let regs: Vec<String> = (0..n).map(|c| format!("r{c}")).collect();
            code += &format!(
                "st_tile {}, {}, 0, {}, {}, 255, 0\n",
                regs.join("_"),
                text(slot.isa),
                &"xyzw"[..n],
                slot.offset
            );
        }
        if layout.slots.iter().all(Option::is_none) {
            return Ok(None);
        }
        self.tile_program(d, layout, &(code + "stop"), None).map(Some)
    }
}

fn vertex_source(d: &Draw<'_>, linked: &Varyings, s: Source) -> Option<Vec<u16>> {
    let attribute = |n: u8| d.attributes.get(usize::from(n)).and_then(Option::as_ref);
    Some(match s {
        Source::AttributeBase { index } => {
            let at = attribute(index).map_or(0, |a| a.buffer.address() + a.offset);
            crate::address_halves(at).to_vec()
        }
        Source::AttributeClamp { index } => {
            halves(attribute(index).map_or(0, VertexBuffer::clamp)).to_vec()
        }
        Source::System(SystemValue::BaseVertex) => halves(d.first_vertex).to_vec(),
        Source::System(SystemValue::BaseInstance) => halves(d.first_instance).to_vec(),
        Source::System(SystemValue::DrawIndex) => vec![0],
        Source::System(SystemValue::ViewIndex) => vec![d.view],
        Source::VaryingWord { varying } => {
            vec![linked.places.iter().find(|p| p.0 == varying).map_or(0, |p| p.1)]
        }
        _ => return None,
    })
}

fn fragment_source(d: &Draw<'_>, s: Source) -> Option<Vec<u16>> {
    Some(match s {
        Source::FirstFan => vec![0],
        Source::System(SystemValue::ViewIndex) => vec![d.view],
        Source::System(SystemValue::SampleMask) => vec![d.sample_mask],
        Source::System(SystemValue::SamplePositions) => {
            let places = sample_places(d.tile.samples);
            let bytes = places.map(|[x, y]| (x | y << 4) as u8);
            halves(u32::from_le_bytes(bytes)).to_vec()
        }
        Source::System(SystemValue::BlendConstant { component }) => {
            halves(d.blend_constant[usize::from(component & 3)].to_bits()).to_vec()
        }
        _ => return None,
    })
}
