//! Draws of triangles to one render target, without a driver: the command stream (v10) or the chains of jobs (v9) that a driver would
//! submit.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`prepare_draw`, `panvk_cmd_draw`), pan_jm.c (`jm_emit_malloc_vertex_job`)

use tepui_mali_chips::Arch;
use tepui_mali_compiler::{FragmentInfo, Program, StageInfo, VertexInfo, stage::LOCATION_BYTES};
use tepui_mali_model::{JobContext, JobStats, Stream};
use tepui_mali_packets::cs::{CsFinishTiling, CsMove32, CsRunFragment, CsRunIdvs, CsWait};
use tepui_mali_packets::draw::{
    Blend, BlendEquation, BlendMode, BlendOperandA, BlendOperandB, BlendOperandC, DcdFlags0,
    DcdFlags1, DepthSource, DepthStencil, Draw as DrawDescriptor, DrawMode, InternalConversion,
    PixelKill, Primitive, PrimitiveFlags, RegisterFileFormat, Scissor, VertexArray,
};
use tepui_mali_packets::framebuffer::{
    BlockFormat, ColorBufferInternalFormat, ColorFormat, FragmentJobPayload, FramebufferParameters,
    RenderTarget, ZInternalFormat,
};
use tepui_mali_packets::job::{Allocation, JobHeader, JobType, valhall};
use tepui_mali_packets::shader::{ShaderEnvironment, ShaderProgram, ShaderStage};
use tepui_mali_packets::texture::{CompareFunction, ComponentOrder, Format};
use tepui_mali_packets::tiler::{TilerContext, TilerContextJm};
use tepui_mali_packets::{Packet, Problem};
use tepui_softgpu::AddressSpace;

use crate::memory::Layout as Block;
use crate::{Bindings, Error, Inputs, Machine, Places, local_storage, move64, pack, tables};

/// Bytes of a vertex's position in its packet, before its varyings. source: Mesa, pan_jm.c (`jm_emit_malloc_vertex_job`)
const POSITION_B: u32 = 16;
/// Bytes of a job of vertices.
const JOB_B: usize = valhall::VARYING as usize + ShaderEnvironment::SIZE_BYTES;
/// Scoreboard slots of a queue, a bit each.
const ALL_SLOTS: u32 = 0xff;
/// Alignment of rows of linear images in bytes.
const ROW_ALIGN_B: u32 = 64;
/// Pixels of a side of the tiles in which jobs count.
const TILE_PX: u32 = 16;
/// The target's format in the tile buffer, as conversions have it.
const TILE_FORMAT: u32 = (Format::Rgba8Tb as u32) << 12 | ComponentOrder::Rgba as u32;

/// A draw of triangles with one instance. The nearest fragment stays.
pub struct Draw<'a> {
    /// The vertex program; it has no attributes.
    pub vertex: &'a Program,
    /// The fragment program, which writes floats to target 0.
    pub fragment: &'a Program,
    /// Width and height of the target.
    pub size: [u32; 2],
    /// Vertices.
    pub vertices: u32,
}

/// The results of a draw.
pub struct Drawn {
    /// Red, green, blue, alpha, row by row.
    pub pixels: Vec<u8>,
    /// Counts of what was executed.
    pub stats: JobStats,
}

/// A stage's descriptors in memory.
struct Stage {
    resources: u64,
    fau: u64,
    pairs: u32,
}

impl Stage {
    fn environment(&self, shader: u64, thread_storage: u64) -> ShaderEnvironment {
        ShaderEnvironment {
            fau_count: self.pairs,
            resources: self.resources,
            shader,
            thread_storage,
            fau: self.fau,
            ..ShaderEnvironment::default()
        }
    }
}

/// Addresses that a draw points to.
struct Parts {
    vertex: Stage,
    fragment: Stage,
    /// Programs of positions, varyings and fragments.
    programs: [u64; 3],
    threads: u64,
    blend: u64,
    depth_stencil: u64,
    context: u64,
    framebuffer: u64,
    primitives: PrimitiveFlags,
    flags: [u32; 2],
    varying_bytes: u32,
    area: Scissor,
    vertices: u32,
}

fn word<P: Packet>(packet: &P) -> Result<u32, Problem> {
    let bytes = pack(packet)?;
    Ok(crate::word(&bytes, 0))
}

/// The conversion between registers and the tile buffer, as programs get it for reads of that.
pub(crate) fn conversion() -> Result<u32, Problem> {
    word(&InternalConversion { memory_format: TILE_FORMAT, ..InternalConversion::default() })
}

fn blend() -> Blend {
    Blend {
        enable: true,
        round_to_fb_precision: true,
        equation: BlendEquation {
            rgb_a: BlendOperandA::Src,
            rgb_b: BlendOperandB::Src,
            rgb_c: BlendOperandC::Zero,
            alpha_a: BlendOperandA::Src,
            alpha_b: BlendOperandB::Src,
            alpha_c: BlendOperandC::Zero,
            color_mask: 0xf,
            ..BlendEquation::default()
        },
        mode: BlendMode::Opaque,
        num_comps: 4,
        conversion: InternalConversion {
            memory_format: TILE_FORMAT,
            register_format: RegisterFileFormat::F32,
            ..InternalConversion::default()
        },
        ..Blend::default()
    }
}

fn depth_stencil(info: &FragmentInfo) -> DepthStencil {
    DepthStencil {
        depth_write_enable: true,
        depth_function: CompareFunction::Less,
        depth_source: match info.depth {
            true => DepthSource::Shader,
            false => DepthSource::FixedFunction,
        },
        front_compare_function: CompareFunction::Always,
        back_compare_function: CompareFunction::Always,
        ..DepthStencil::default()
    }
}

/// The first two words of a draw descriptor.
fn flags(info: &FragmentInfo) -> Result<[u32; 2], Problem> {
    let of = |late| if late { PixelKill::ForceLate } else { PixelKill::ForceEarly };
    let changes_coverage = info.discards || info.sample_mask;
    let first = DcdFlags0 {
        pixel_kill_operation: of(!info.early_tests && (info.depth || info.side_effects)),
        zs_update_operation: of(!info.early_tests && (info.depth || changes_coverage)),
        shader_modifies_coverage: changes_coverage,
        ..DcdFlags0::default()
    };
    let second = DcdFlags1 { sample_mask: 0xffff, render_target_mask: 1 };
    Ok([word(&first)?, word(&second)?])
}

impl Machine {
    /// Draws. The buffers and images of both stages then hold what the draw left in those of the stage.
    ///
    /// # Errors
    /// When the draw does not run to its end, or a stage needs what there is none of.
    pub fn draw(
        &self,
        draw: &Draw<'_>,
        vertex_bindings: &mut Bindings,
        fragment_bindings: &mut Bindings,
    ) -> Result<Drawn, Error> {
        let arch = self.gpu.chip().arch;
        if arch < Arch(9) {
            return Err(Error::Chip(self.gpu.chip().id));
        }
        let (StageInfo::Vertex(vertex), StageInfo::Fragment(fragment)) =
            (&draw.vertex.stage, &draw.fragment.stage)
        else {
            return Err(Error::Unbound("pair of a vertex and a fragment program"));
        };
        if vertex.attributes != 0 {
            return Err(Error::Unbound("vertex attributes"));
        }
        let mut m = Block::new();
        let own = [&*vertex_bindings, &*fragment_bindings];
        let [first, second] = own.map(|b| Places::new(&mut m, arch, b));
        let places = [first?, second?];
        let stride = (4 * draw.size[0]).next_multiple_of(ROW_ALIGN_B);
        let picture = m.reserve(u64::from(stride) * u64::from(draw.size[1]));
        let stages = [
            stage(&mut m, draw, draw.vertex, vertex_bindings, &places[0])?,
            stage(&mut m, draw, draw.fragment, fragment_bindings, &places[1])?,
        ];
        let parts = parts(&mut m, draw, arch, (vertex, fragment), stages, (picture, stride))?;
        let (stats, vm) = self.submit(&mut m, arch, draw, &parts)?;
        for (bindings, places) in [vertex_bindings, fragment_bindings].into_iter().zip(&places) {
            places.take(arch, &vm, bindings)?;
        }
        let mut rows = vec![0; stride as usize * draw.size[1] as usize];
        vm.read(picture, &mut rows).map_err(|e| Error::Memory(e.to_string()))?;
        let row = |row: &[u8]| row[..4 * draw.size[0] as usize].to_vec();
        let pixels = rows.chunks_exact(stride as usize).flat_map(row).collect();
        Ok(Drawn { pixels, stats })
    }

    fn submit(
        &self,
        m: &mut Block,
        arch: Arch,
        draw: &Draw<'_>,
        parts: &Parts,
    ) -> Result<(JobStats, AddressSpace), Error> {
        if arch >= Arch(10) {
            let bytes = stream(parts)?;
            let address = m.place(&bytes);
            let vm = m.bind().map_err(Error::Memory)?;
            let stats = self.run_stream(&vm, Stream { address, size: bytes.len() as u64 })?;
            return Ok((stats, vm));
        }
        let vertices = m.place(&vertex_job(parts)?);
        let fragments = m.place(&fragment_job(parts, draw.size)?);
        let vm = m.bind().map_err(Error::Memory)?;
        let mut context = JobContext::default();
        let mut stats = self.gpu.chain(&vm, &mut context, vertices)?;
        stats += self.gpu.chain(&vm, &mut context, fragments)?;
        Ok((stats, vm))
    }
}

/// Places what a stage reads in memory.
fn stage(
    m: &mut Block,
    draw: &Draw<'_>,
    program: &Program,
    bindings: &mut Bindings,
    places: &Places,
) -> Result<Stage, Error> {
    bindings.addresses.clone_from(&places.buffers);
    let resources = tables(m, &bindings.layout, places.descriptors.clone())?;
    let (data, push) = (m.place(&program.data), m.place(&bindings.push));
    let inputs = Inputs { groups: [0; 3], size: Some(draw.size), data, push };
    let uniforms = crate::uniforms(program, bindings, &places.buffers, &inputs)?;
    let pairs = uniforms.len() as u32 / 8;
    Ok(Stage { resources, fau: m.place(&uniforms), pairs })
}

fn parts(
    m: &mut Block,
    draw: &Draw<'_>,
    arch: Arch,
    (vertex, fragment): (&VertexInfo, &FragmentInfo),
    [vertex_stage, fragment_stage]: [Stage; 2],
    (picture, stride): (u64, u32),
) -> Result<Parts, Error> {
    let code = m.place(&draw.vertex.code);
    let descriptor = |preload: u16, stage, is_half: bool, helpers, binary| ShaderProgram {
        stage,
        register_allocation: crate::allocation(is_half),
        requires_helper_threads: helpers,
        preload: preload.into(),
        binary,
        ..ShaderProgram::default()
    };
    let position = vertex.without_point_size;
    let (offset, preload, is_half) = position
        .map_or((0, draw.vertex.preload, draw.vertex.stats.is_half()), |e| {
            (e.offset, e.preload, e.stats.is_half())
        });
    let at = |offset: u32| code + u64::from(offset);
    let position = descriptor(preload, ShaderStage::Vertex, is_half, false, at(offset));
    let varying = vertex.varying.map(|e| {
        descriptor(e.preload, ShaderStage::Vertex, e.stats.is_half(), false, at(e.offset))
    });
    let binary = m.place(&draw.fragment.code);
    let is_half = draw.fragment.stats.is_half();
    let (preload, helpers) = (draw.fragment.preload, fragment.helpers);
    let shading = descriptor(preload, ShaderStage::Fragment, is_half, helpers, binary);
    let programs = [
        m.place(&pack(&position)?),
        varying.as_ref().map_or(Ok(0), |v| pack(v).map(|bytes| m.place(&bytes)))?,
        m.place(&pack(&shading)?),
    ];
    let scratch = draw.vertex.stats.scratch.max(draw.fragment.stats.scratch);
    let threads = local_storage(m, scratch, 0);
    let context = match arch {
        Arch(9) => pack(&TilerContextJm {
            first_provoking_vertex: true,
            fb_width: draw.size[0],
            fb_height: draw.size[1],
            ..TilerContextJm::default()
        })?,
        _ => pack(&TilerContext {
            first_provoking_vertex: true,
            fb_width: draw.size[0],
            fb_height: draw.size[1],
            ..TilerContext::default()
        })?,
    };
    let context = m.place(&context);
    let framebuffer = m.place(&framebuffer(draw.size, context, picture, stride)?);
    let locations = u32::BITS - fragment.locations.leading_zeros();
    let [width, height] = draw.size;
    Ok(Parts {
        vertex: vertex_stage,
        fragment: fragment_stage,
        programs,
        threads: m.place(&pack(&threads)?),
        blend: m.place(&pack(&blend())?),
        depth_stencil: m.place(&pack(&depth_stencil(fragment))?),
        context,
        framebuffer: framebuffer | FRAMEBUFFER_TAG,
        primitives: PrimitiveFlags {
            draw_mode: DrawMode::Triangles,
            secondary_shader: vertex.varying.is_some(),
            ..PrimitiveFlags::default()
        },
        flags: flags(fragment)?,
        varying_bytes: vertex.varying_bytes.max(LOCATION_BYTES * locations),
        area: Scissor {
            scissor_minimum_x: 0,
            scissor_minimum_y: 0,
            scissor_maximum_x: width - 1,
            scissor_maximum_y: height - 1,
        },
        vertices: draw.vertices,
    })
}

/// Low bits of the pointer to a framebuffer: one target, no depth in memory. source: Mesa, pan_desc.c (`pan_emit_fbd`)
const FRAMEBUFFER_TAG: u64 = 1;

/// Bytes from the beginning of a framebuffer to its targets, where it has no extension. source: Mesa, pan_desc.c (`pan_emit_fbd`)
const TARGETS_AT: usize = 128;

/// A framebuffer with depth in the tile buffer alone.
fn framebuffer(
    [width, height]: [u32; 2],
    tiler: u64,
    picture: u64,
    row_stride: u32,
) -> Result<Vec<u8>, Problem> {
    let parameters = FramebufferParameters {
        width,
        height,
        bound_max_x: width - 1,
        bound_max_y: height - 1,
        effective_tile_size: TILE_PX * TILE_PX,
        render_target_count: 1,
        z_internal_format: ZInternalFormat::D32,
        z_clear: 1.0,
        tiler,
        ..FramebufferParameters::default()
    };
    let target = RenderTarget {
        internal_format: ColorBufferInternalFormat::R8g8b8a8,
        write_enable: true,
        writeback_format: ColorFormat::R8g8b8a8,
        writeback_block_format: BlockFormat::Linear,
        swizzle: 1 << 3 | 2 << 6 | 3 << 9,
        clean_pixel_write_enable: true,
        base: picture,
        row_stride,
        ..RenderTarget::default()
    };
    let mut bytes = pack(&parameters)?;
    bytes.resize(TARGETS_AT, 0);
    bytes.extend(pack(&target)?);
    Ok(bytes)
}

/// The stream of a draw, and of its fragments.
fn stream(p: &Parts) -> Result<Vec<u8>, Problem> {
    let fau = |stage: &Stage| stage.fau | u64::from(stage.pairs) << 56;
    let mut stream = Vec::new();
    let pairs = [
        (0, p.vertex.resources),
        (4, p.fragment.resources),
        (8, fau(&p.vertex)),
        (12, fau(&p.fragment)),
        (16, p.programs[0]),
        (18, p.programs[1]),
        (20, p.programs[2]),
        (24, p.threads),
        (40, p.context),
        (46, 0),
        // One descriptor.
        (50, p.blend | 1),
        (52, p.depth_stencil),
    ];
    for (register, value) in pairs {
        move64(&mut stream, register, value)?;
    }
    let area = pack(&p.area)?;
    let words = [
        (33, p.vertices),
        (34, 1),
        (42, crate::word(&area, 0)),
        (43, crate::word(&area, 4)),
        (44, 0f32.to_bits()),
        (45, 1f32.to_bits()),
        (48, p.varying_bytes),
        (56, word(&p.primitives)?),
        (57, p.flags[0]),
        (58, p.flags[1]),
        (60, 1f32.to_bits()),
    ];
    for (destination, immediate) in words {
        stream.extend(pack(&CsMove32 { immediate, destination })?);
    }
    stream.extend(pack(&CsRunIdvs { malloc_enable: true, ..CsRunIdvs::default() })?);
    stream.extend(pack(&CsFinishTiling::default())?);
    // Fragments begin when the draw has ended.
    stream.extend(pack(&CsWait { wait_mask: ALL_SLOTS, ..CsWait::default() })?);
    move64(&mut stream, 40, p.framebuffer)?;
    stream.extend(pack(&CsRunFragment::default())?);
    Ok(stream)
}

/// The job of a draw.
fn vertex_job(p: &Parts) -> Result<Vec<u8>, Problem> {
    let flags = &p.primitives;
    let primitive = Primitive {
        draw_mode: flags.draw_mode,
        low_depth_cull: flags.low_depth_cull,
        high_depth_cull: flags.high_depth_cull,
        secondary_shader: flags.secondary_shader,
        index_count: p.vertices,
        ..Primitive::default()
    };
    let varying_bytes = if flags.secondary_shader { p.varying_bytes } else { 0 };
    let allocation = Allocation {
        vertex_packet_stride: POSITION_B + varying_bytes,
        vertex_attribute_stride: varying_bytes,
    };
    let draw = DrawDescriptor {
        vertex_array: VertexArray { packet: true, ..VertexArray::default() },
        minimum_z: 0.0,
        maximum_z: 1.0,
        depth_stencil: p.depth_stencil,
        blend_count: 1,
        blend: p.blend,
        shader: p.fragment.environment(p.programs[2], p.threads),
        ..DrawDescriptor::default()
    };
    let mut bytes = vec![0; JOB_B];
    let at = |offset: u64| offset as usize;
    let header = JobHeader {
        is_64_bit: true,
        job_type: JobType::MallocVertex,
        index: 1,
        ..JobHeader::default()
    };
    header.pack_into(&mut bytes)?;
    primitive.pack_into(&mut bytes[at(valhall::PRIMITIVE)..])?;
    allocation.pack_into(&mut bytes[at(valhall::ALLOCATION)..])?;
    p.area.pack_into(&mut bytes[at(valhall::SCISSOR)..])?;
    draw.pack_into(&mut bytes[at(valhall::DRAW)..])?;
    let environment = |program| p.vertex.environment(program, p.threads);
    environment(p.programs[0]).pack_into(&mut bytes[at(valhall::POSITION)..])?;
    if flags.secondary_shader {
        environment(p.programs[1]).pack_into(&mut bytes[at(valhall::VARYING)..])?;
    }
    let mut put = |offset: u64, value: &[u8]| {
        bytes[at(offset)..][..value.len()].copy_from_slice(value);
    };
    put(valhall::INSTANCES, &1u32.to_le_bytes());
    put(valhall::TILER, &p.context.to_le_bytes());
    put(valhall::SIZE, &1f32.to_le_bytes());
    put(valhall::DRAW, &p.flags[0].to_le_bytes());
    put(valhall::DRAW + 4, &p.flags[1].to_le_bytes());
    Ok(bytes)
}

/// The job of a framebuffer's fragments.
fn fragment_job(p: &Parts, [width, height]: [u32; 2]) -> Result<Vec<u8>, Problem> {
    let header = JobHeader {
        is_64_bit: true,
        job_type: JobType::Fragment,
        index: 1,
        ..JobHeader::default()
    };
    let payload = FragmentJobPayload {
        bound_max_x: (width - 1) / TILE_PX,
        bound_max_y: (height - 1) / TILE_PX,
        framebuffer: p.framebuffer,
        ..FragmentJobPayload::default()
    };
    Ok([pack(&header)?, pack(&payload)?].concat())
}
