//! Midgard's descriptors of framebuffers, draws and blending, converted to those of later architectures.
//!
//! The tiler context is a part of the framebuffer. A scene's number is kept in the first word of the polygon list,
//! which the driver writes as 0 before the first draw.
//!
// source: Mesa, v5.xml, pan_desc.c (pan_emit_fbd), pan_samples.c, pan_cmdstream.c (panfrost_prepare_fs_state,
// panfrost_emit_blend), pan_jc.c.

use tepui_mali_chips::Arch;
use tepui_mali_packets::bifrost::{DrawV7, RendererState};
use tepui_mali_packets::draw::{Blend, BlendMode};
use tepui_mali_packets::framebuffer::{
    ColorBufferInternalFormat as Internal, FramebufferParameters,
};
use tepui_mali_packets::midgard::{
    BlendV5, FramebufferParametersV5, TilerContextV5, framebuffer as part,
};
use tepui_mali_packets::texture::{ComponentOrder, Format};
use tepui_mali_packets::tiler::TilerContext;
use tepui_mali_packets::{Packet, revision};
use tepui_softgpu::{AddressSpace, UnitMemory};

use super::descriptor::packet;
use super::stage::Stage;
use super::{renderer_state, sfbd};
use crate::environment;
use crate::gpu::Gpu;
use crate::job::{JobFault, Unit};
use crate::pixels::format::PixelFormat;
use crate::pixels::state::MidgardBlend;
use crate::shader::midgard::rows;
use crate::warp::addresses::{StageAddresses, StateAddresses};
use crate::warp::uniforms::Uniforms;

/// Flags in a framebuffer's address.
const FLAGS: u64 = 0x3f;

/// The parameters of a framebuffer of v5.
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
        // The tiler context is a part of the framebuffer.
        tiler: at,
        ..FramebufferParameters::default()
    })
}

/// The tiler context of a framebuffer, with the number of its scene.
pub(crate) fn context(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<TilerContext, JobFault> {
    let at = at & !FLAGS;
    let (tiler, p) = match arch.0 {
        ..5 => (sfbd::part::TILER, sfbd::parameters(memory, at)?),
        _ => (part::TILER, parameters(memory, at)?),
    };
    let t: TilerContextV5 = packet(memory, at + tiler, "tiler context")?;
    let mut context = TilerContext {
        polygon_list: t.polygon_list,
        sample_pattern: p.sample_pattern,
        fb_width: p.width,
        fb_height: p.height,
        ..TilerContext::default()
    };
    // If nothing is drawn, there is no heap.
    if t.heap_start != t.heap_end && t.polygon_list != 0 {
        let word = memory.read_array(t.polygon_list);
        let word = word.map_err(|fault| JobFault::memory(Unit::Tiler, fault))?;
        context.private_state.word0 = u32::from_le_bytes(word);
    }
    Ok(context)
}

/// Bytes of a row of headers of a compressed image, for which descriptors only have the framebuffer's width.
pub(crate) fn header_stride(width: u32) -> u32 {
    const SIDE: u32 = 16;
    const HEADER: u32 = 16;
    width.div_ceil(SIDE) * HEADER
}

/// The format of a tile's pixels for fixed-function blending.
fn format(internal: Internal, srgb: bool) -> Option<PixelFormat> {
    let code = match internal {
        Internal::R8g8b8a8 => Format::Rgba8Unorm,
        Internal::R10g10b10a2 => Format::Rgb10A2Unorm,
        Internal::R4g4b4a4 => Format::Rgba4Unorm,
        Internal::R5g6b5a0 => Format::Rgb565,
        Internal::R5g5b5a1 => Format::Rgb5A1Unorm,
        _ => return None,
    };
    // Memory has the components in the order given by the render target.
    let order = match internal {
        Internal::R5g6b5a0 => ComponentOrder::Rgb1,
        _ => ComponentOrder::Rgba,
    };
    let bits = (code.raw() as u32) << 12 | order.raw() as u32 | u32::from(srgb) << 20;
    PixelFormat::new(bits)
}

/// The blending of a target: the equation, as in later descriptors, and Midgard's own state. v4 has it in the renderer
/// state at the address, v5 in a descriptor per target.
pub(crate) fn blend(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
    index: u32,
    internal: Option<Internal>,
) -> Result<(Blend, MidgardBlend), JobFault> {
    let off = Blend { mode: BlendMode::Off, ..Blend::default() };
    let mut own = MidgardBlend { enabled: false, shader: 0, constant: 0.0, format: None };
    let b = if arch.0 < 5 {
        let s = renderer_state::state(arch, memory, at)?;
        BlendV5 {
            load_destination: s.load_destination,
            blend_shader: s.has_blend_shader,
            alpha_to_one: s.alpha_to_one,
            enable: s.write_enable,
            srgb: s.srgb,
            shader_pc: s.blend_shader,
            equation: s.blend_equation,
            constant: s.blend_constant,
            ..BlendV5::default()
        }
    } else {
        const ENABLE: u8 = 2;
        let at = at.wrapping_add(u64::from(index) * BlendV5::SIZE_BYTES as u64);
        let bytes = memory.read_array::<{ BlendV5::SIZE_BYTES }>(at);
        let bytes = bytes.map_err(|fault| JobFault::memory(Unit::Fragment, fault))?;
        // A target that is not written has no equation.
        if bytes[1] & ENABLE == 0 {
            return Ok((off, own));
        }
        BlendV5::unpack(&bytes)
            .map_err(|problem| JobFault::new(Unit::Fragment, format!("blend: {problem}")))?
    };
    if !b.enable {
        return Ok((off, own));
    }
    own.enabled = true;
    own.shader = b.shader_pc;
    own.constant = b.constant;
    own.format = internal.and_then(|internal| format(internal, b.srgb));
    let equation = Blend {
        load_destination: b.load_destination,
        alpha_to_one: b.alpha_to_one,
        equation: b.equation,
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

/// The lowest bits of a shader's address: the tag of its first bundle.
const FIRST_TAG: u64 = 0xf;

/// The address of a state's program; `None` if it has none.
fn program(s: &RendererState) -> Option<u64> {
    let at = s.shader & !FIRST_TAG;
    (at != 0).then_some(at)
}

/// Reads a stage; `None` if there is no program.
pub(crate) fn stage(
    gpu: &Gpu,
    vm: &AddressSpace,
    addresses: &StageAddresses,
    own: &StateAddresses,
) -> Result<Option<Stage>, JobFault> {
    if own.state == 0 {
        return Ok(None);
    }
    let mut memory = UnitMemory::new(vm);
    let s = renderer_state::state(gpu.chip().arch, &mut memory, own.state)?;
    let Some(program) = program(&s) else { return Ok(None) };
    let mut tables = own.tables;
    tables.arch = gpu.chip().arch;
    tables.uniform_buffers.1 = s.uniform_buffer_count;
    tables.textures.1 = s.texture_count;
    tables.samplers.1 = s.sampler_count;
    // Each register holds two pairs of words.
    let pairs = u64::from(2 * s.uniform_registers);
    let words = environment::uniform_words(&mut memory, own.push | pairs << 56)?;
    let code = gpu.program(&mut memory, program);
    let uniforms = Uniforms::new(&[], &code.rows);
    // The first four words are in r23, the next in r22.
    let registers =
        (0u32..).zip(words).map(|(n, word)| (rows::word(23u32.saturating_sub(n / 4), n % 4), word));
    Ok(Some(Stage {
        storage: renderer_state::storage(&mut memory, addresses.storage & !FLAGS)?,
        rows: std::sync::Arc::new(code.rows.clone()),
        program: code,
        uniforms,
        resources: 0,
        attribute_offset: 0,
        tables: Some(tables),
        prologue: Vec::new(),
        preload: 0,
        registers: Some(registers.collect()),
    }))
}
