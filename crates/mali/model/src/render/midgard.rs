//! Midgard's descriptors of framebuffers, draws and blending, as what the later architectures' become.
//!
//! The tiler's context is a part of the framebuffer. A scene's number is kept in the first word of the polygon list, which
//! the driver writes as 0 before the first draw.
//!
// source: Mesa, v5.xml, pan_desc.c (pan_emit_fbd), pan_samples.c, pan_cmdstream.c (panfrost_prepare_fs_state,
// panfrost_emit_blend), pan_jc.c.

use tepui_mali_chips::Arch;
use tepui_mali_packets::bifrost::{DrawV7, Viewport};
use tepui_mali_packets::draw::{
    Blend, BlendMode, DcdFlags0, DcdFlags1, DepthClampMode, DepthStencil, PixelKill,
};
use tepui_mali_packets::framebuffer::{
    ColorBufferInternalFormat as Internal, FramebufferParameters, SamplePattern,
};
use tepui_mali_packets::midgard::{
    BlendV5, FramebufferParametersV5, RendererStateV5, TilerContextV5, framebuffer as part,
};
use tepui_mali_packets::shader::ShaderStage;
use tepui_mali_packets::texture::{ComponentOrder, Format};
use tepui_mali_packets::tiler::TilerContext;
use tepui_mali_packets::{Packet, revision};
use tepui_softgpu::{AddressSpace, UnitMemory};

use super::MOST_SAMPLES;
use super::draw::Draw;
use super::framebuffer::packet;
use super::renderer_state::{self, StateAddresses};
use super::stage::{Stage, StageAddresses};
use crate::dispatch;
use crate::gpu::Gpu;
use crate::job::{JobFault, Unit};
use crate::pixel::PixelFormat;
use crate::shader::message::LOCAL_WINDOW;
use crate::shader::midgard::rows;
use crate::shader::uniforms::Uniforms;

/// How a target's colours are blended.
pub(crate) struct MidgardBlend {
    /// Colours are written.
    pub enabled: bool,
    /// The address of the blend shader; 0 if fixed functions blend.
    pub shader: u64,
    /// The constant of equations.
    pub constant: f32,
    /// What pixels in the tile buffer are; none if shaders write their bits.
    pub format: Option<PixelFormat>,
}

/// Flags in a framebuffer's address.
const FLAGS: u64 = 0x3f;

/// The parameters of a framebuffer.
pub(crate) fn parameters(
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<FramebufferParameters, JobFault> {
    let p: FramebufferParametersV5 = packet(memory, at + part::PARAMETERS, "framebuffer")?;
    if p.z_preload_enable || p.s_preload_enable {
        let what = "depths that the hardware loads before it draws";
        return Err(JobFault::unimplemented(Unit::Fragment, what));
    }
    Ok(FramebufferParameters {
        width: p.width,
        height: p.height,
        bound_min_x: p.bound_min_x,
        bound_min_y: p.bound_min_y,
        bound_max_x: p.bound_max_x,
        bound_max_y: p.bound_max_y,
        sample_count: p.sample_count,
        sample_pattern: p.sample_pattern,
        tie_break_rule: p.tie_break_rule,
        effective_tile_size: p.effective_tile_size,
        render_target_count: p.render_target_count,
        color_buffer_allocation: p.color_buffer_allocation,
        s_clear: p.s_clear,
        s_write_enable: p.s_write_enable,
        z_internal_format: p.z_internal_format,
        z_write_enable: p.z_write_enable,
        has_zs_crc_extension: p.has_zs_crc_extension,
        z_clear: p.z_clear,
        point_sprite_coord_origin_max_y: false,
        // The tiler's context is here.
        tiler: at,
        ..FramebufferParameters::default()
    })
}

/// The tiler's context of a framebuffer, with the number of its scene.
pub(crate) fn context(memory: &mut UnitMemory<'_>, at: u64) -> Result<TilerContext, JobFault> {
    /// The hierarchy of a frame in which nothing is drawn.
    const DISABLED: u32 = 4096;
    let at = at & !FLAGS;
    let p: FramebufferParametersV5 = packet(memory, at + part::PARAMETERS, "framebuffer")?;
    let t: TilerContextV5 = packet(memory, at + part::TILER, "tiler context")?;
    let mut context = TilerContext {
        polygon_list: t.polygon_list,
        sample_pattern: p.sample_pattern,
        fb_width: p.width,
        fb_height: p.height,
        ..TilerContext::default()
    };
    if t.hierarchy_mask != DISABLED && t.polygon_list != 0 {
        let word = memory.read_array(t.polygon_list);
        let word = word.map_err(|fault| JobFault::memory(Unit::Tiler, fault))?;
        context.private_state.word0 = u32::from_le_bytes(word);
    }
    Ok(context)
}

/// Where samples are, in 1/16 of a pixel.
pub(crate) fn places(pattern: SamplePattern) -> [[u8; 2]; MOST_SAMPLES] {
    let at: &[[i8; 2]] = match pattern {
        SamplePattern::SingleSampled => &[[0, 0]],
        SamplePattern::Ordered4xGrid => &[[-4, -4], [4, -4], [-4, 4], [4, 4]],
        SamplePattern::Rotated4xGrid => &[[-2, -6], [6, -2], [-6, 2], [2, 6]],
        SamplePattern::D3d8xGrid => {
            &[[1, -3], [-1, 3], [5, 1], [-3, -5], [-5, 5], [-7, -1], [3, 7], [7, -7]]
        }
        SamplePattern::D3d16xGrid => &[
            [1, 1],
            [-1, -3],
            [-3, 2],
            [4, -1],
            [-5, -2],
            [2, 5],
            [5, 3],
            [3, -5],
            [-2, 6],
            [0, -7],
            [-4, -6],
            [-6, 4],
            [-8, 0],
            [7, -4],
            [6, 7],
            [-7, -8],
        ],
    };
    let mut places = [[8; 2]; MOST_SAMPLES];
    for (place, at) in places.iter_mut().zip(at) {
        *place = at.map(|v| (v + 8) as u8);
    }
    places
}

/// Bytes of a row of headers of a compressed image, of which descriptors only have the framebuffer's width.
pub(crate) fn header_stride(width: u32) -> u32 {
    const SIDE: u32 = 16;
    const HEADER: u32 = 16;
    width.div_ceil(SIDE) * HEADER
}

/// The format of a tile's pixels as fixed functions have them.
fn format(internal: Internal, srgb: bool) -> Option<PixelFormat> {
    let code = match internal {
        Internal::R8g8b8a8 => Format::Rgba8Unorm,
        Internal::R10g10b10a2 => Format::Rgb10A2Unorm,
        Internal::R4g4b4a4 => Format::Rgba4Unorm,
        Internal::R5g6b5a0 => Format::Rgb565,
        Internal::R5g5b5a1 => Format::Rgb5A1Unorm,
        _ => return None,
    };
    // Memory has the components in the order that the render target says.
    let order = match internal {
        Internal::R5g6b5a0 => ComponentOrder::Rgb1,
        _ => ComponentOrder::Rgba,
    };
    let bits = (code.raw() as u32) << 12 | order.raw() as u32 | u32::from(srgb) << 20;
    PixelFormat::new(bits)
}

/// Reads a blend descriptor: the equation, as later descriptors have it, and what is Midgard's.
pub(crate) fn blend(
    memory: &mut UnitMemory<'_>,
    at: u64,
    internal: Option<Internal>,
) -> Result<(Blend, MidgardBlend), JobFault> {
    const ENABLE: u8 = 2;
    let off = Blend { mode: BlendMode::Off, ..Blend::default() };
    let bytes = memory.read_array::<{ BlendV5::SIZE_BYTES }>(at);
    let bytes = bytes.map_err(|fault| JobFault::memory(Unit::Fragment, fault))?;
    let mut own = MidgardBlend { enabled: false, shader: 0, constant: 0.0, format: None };
    // Where nothing is written there is no equation.
    if bytes[1] & ENABLE == 0 {
        return Ok((off, own));
    }
    let b = BlendV5::unpack(&bytes)
        .map_err(|problem| JobFault::new(Unit::Fragment, format!("blend: {problem}")))?;
    own.enabled = true;
    own.shader = b.shader_pc;
    own.constant = b.constant;
    own.format = internal.and_then(|internal| format(internal, b.srgb));
    let equation = Blend {
        load_destination: b.load_destination,
        alpha_to_one: b.alpha_to_one,
        rgb_a: b.rgb_a,
        rgb_negate_a: b.rgb_negate_a,
        rgb_b: b.rgb_b,
        rgb_negate_b: b.rgb_negate_b,
        rgb_c: b.rgb_c,
        rgb_invert_c: b.rgb_invert_c,
        alpha_a: b.alpha_a,
        alpha_negate_a: b.alpha_negate_a,
        alpha_b: b.alpha_b,
        alpha_negate_b: b.alpha_negate_b,
        alpha_c: b.alpha_c,
        alpha_invert_c: b.alpha_invert_c,
        color_mask: b.color_mask,
        mode: BlendMode::FixedFunction,
        ..Blend::default()
    };
    Ok((if b.blend_shader { off } else { equation }, own))
}

/// Reads a draw descriptor.
pub(crate) fn descriptor(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<DrawV7, JobFault> {
    let bytes = memory.read_array::<{ DrawV7::SIZE_BYTES }>(at);
    let bytes = bytes.map_err(|fault| JobFault::memory(Unit::Tiler, fault))?;
    DrawV7::unpack_as(&bytes, revision(arch.0))
        .map_err(|problem| JobFault::new(Unit::Tiler, format!("draw: {problem}")))
}

/// Bytes of a renderer state, behind which the blend descriptors are.
const STATE_BYTES: u64 = RendererStateV5::SIZE_BYTES as u64;

/// The lowest bits of a shader's address: the tag of its first bundle.
const FIRST_TAG: u64 = 0xf;

/// The address of a state's program; `None` if it has none.
fn program(s: &RendererStateV5) -> Option<u64> {
    let at = s.shader & !FIRST_TAG;
    (at != 0).then_some(at)
}

/// Reads a stage; `None` if there is no program.
pub(crate) fn stage(
    gpu: &Gpu,
    vm: &AddressSpace,
    addresses: &StageAddresses,
    own: &StateAddresses,
    _: ShaderStage,
) -> Result<Option<Stage>, JobFault> {
    let mut memory = UnitMemory::new(vm);
    let s: RendererStateV5 = packet(&mut memory, own.state, "renderer state")?;
    let Some(program) = program(&s) else { return Ok(None) };
    let mut tables = own.tables;
    tables.arch = gpu.chip().arch;
    tables.uniform_buffers.1 = s.uniform_buffer_count;
    tables.textures.1 = s.texture_count;
    tables.samplers.1 = s.sampler_count;
    // Two pairs of words for each register.
    let pairs = u64::from(2 * s.uniform_count);
    let words = dispatch::uniform_words(&mut memory, own.push | pairs << 56)?;
    let code = gpu.program(&mut memory, program);
    let mut uniforms = Uniforms::new(&[], &code.rows);
    uniforms.set(tepui_mali_isa::Special::ThreadLocalPointer, LOCAL_WINDOW);
    // The first four are in r23, the next in r22.
    let registers =
        (0u32..).zip(words).map(|(n, word)| (rows::word(23u32.saturating_sub(n / 4), n % 4), word));
    Ok(Some(Stage {
        storage: renderer_state::storage(&mut memory, addresses.storage & !FLAGS)?,
        rows: std::sync::Arc::new(code.rows.clone()),
        program: code,
        uniforms,
        resources: 0,
        tables: Some(tables),
        prologue: Vec::new(),
        preload: 0,
        registers: Some(registers.collect()),
    }))
}

/// What pixels need of a draw.
pub(crate) fn draw(
    memory: &mut UnitMemory<'_>,
    d: &DrawV7,
    viewport: &Viewport,
) -> Result<Draw, JobFault> {
    let s: RendererStateV5 = packet(memory, d.state, "renderer state")?;
    let depth = DepthStencil {
        front_compare_function: s.front_compare_function,
        front_stencil_fail: s.front_stencil_fail,
        front_depth_fail: s.front_depth_fail,
        front_depth_pass: s.front_depth_pass,
        back_compare_function: s.back_compare_function,
        back_stencil_fail: s.back_stencil_fail,
        back_depth_fail: s.back_depth_fail,
        back_depth_pass: s.back_depth_pass,
        stencil_from_shader: s.stencil_from_shader,
        stencil_test_enable: s.stencil_enable,
        front_write_mask: s.stencil_mask_front,
        back_write_mask: s.stencil_mask_back,
        front_value_mask: s.front_mask,
        back_value_mask: s.back_mask,
        front_reference_value: s.front_reference_value,
        back_reference_value: s.back_reference_value,
        depth_clamp_mode: DepthClampMode::Bounds,
        depth_source: s.depth_source,
        depth_write_enable: s.depth_write_mask,
        depth_bias_enable: s.front_facing_depth_bias || s.back_facing_depth_bias,
        depth_function: s.depth_function,
        depth_units: s.depth_units,
        depth_factor: s.depth_factor,
        depth_bias_clamp: s.depth_bias_clamp,
        ..DepthStencil::default()
    };
    let late = match s.force_early_z {
        true => PixelKill::ForceEarly,
        false => PixelKill::ForceLate,
    };
    Ok(Draw {
        fragment: renderer_state::addresses(d, false),
        flags_0: DcdFlags0 {
            pixel_kill_operation: late,
            zs_update_operation: late,
            evaluate_per_sample: s.evaluate_per_sample,
            single_sampled_lines: s.single_sampled_lines,
            occlusion_query: d.occlusion_query,
            front_face_ccw: d.front_face_ccw,
            cull_front_face: d.cull_front_face,
            cull_back_face: d.cull_back_face,
            multisample_enable: s.multisample_enable,
            alpha_to_coverage: s.alpha_to_coverage,
            alpha_to_coverage_invert: s.alpha_to_coverage_invert,
            ..DcdFlags0::default()
        },
        flags_1: DcdFlags1 { sample_mask: s.sample_mask, render_target_mask: 0xff },
        depth_range: [viewport.minimum_z, viewport.maximum_z],
        occlusion: d.occlusion,
        blend: d.state.wrapping_add(STATE_BYTES),
        // As many as the framebuffer has targets.
        blend_count: u32::MAX,
        depth_stencil: 0,
        depth_state: Some(Box::new(depth)),
        varying_stride: 0,
        points_from_below: None,
    })
}
