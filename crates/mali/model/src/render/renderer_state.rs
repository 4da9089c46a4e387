//! Renderer state of Bifrost and Midgard: shaders and draw state, converted to the stages and pipelines of Valhall's
//! descriptors.
//!
// source: Mesa, v7.xml ("Renderer State", "Draw"), pan_cmdstream.c (panfrost_prepare_fs_state), pan_shader.h
// (pan_shader_prepare_bifrost_rsd), bi_opt_message_preload.c.

use tepui_mali_chips::Arch;
use tepui_mali_packets::bifrost::{DrawV7, LocalStorageV7, PixelKillV7, RendererState, Viewport};
use tepui_mali_packets::draw::{DcdFlags0, DcdFlags1, DepthClampMode, DepthStencil, PixelKill};
use tepui_mali_packets::shader::{LocalStorage, ShaderStage};
use tepui_mali_packets::{Packet, revision};
use tepui_softgpu::{AddressSpace, UnitMemory};

use super::descriptor::packet;
use super::stage::Stage;
use crate::environment;
use crate::gpu::Gpu;
use crate::job::{JobFault, Unit};
use crate::pixels::draw::Draw;
use crate::shader::bifrost;
use crate::shader::op::Op;
use crate::warp::addresses::{StageAddresses, StateAddresses, Tables, padded};
use crate::warp::uniforms::{PROGRAM, Uniforms};

/// The addresses that a draw descriptor gives a stage.
pub(crate) fn addresses(draw: &DrawV7, secondary: bool) -> StageAddresses {
    let tables = Tables {
        arch: Arch(7),
        uniform_buffers: (draw.uniform_buffers, 0),
        textures: (draw.textures, 0),
        samplers: (draw.samplers, 0),
        attributes: draw.attributes,
        attribute_buffers: draw.attribute_buffers,
        varyings: draw.varyings,
        varying_buffers: draw.varying_buffers,
        offset_start: draw.offset_start,
        instance_size: padded(draw.instance_size_shift, draw.instance_size_odd),
    };
    let state = StateAddresses { state: draw.state, secondary, tables, push: draw.push_uniforms };
    StageAddresses { storage: draw.thread_storage, bifrost: Some(state), ..Default::default() }
}

/// Reads the renderer state of an address.
pub(crate) fn state(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<RendererState, JobFault> {
    let bytes = memory.read_array::<{ RendererState::SIZE_BYTES }>(at);
    let bytes = bytes.map_err(|fault| JobFault::memory(Unit::Fragment, fault))?;
    RendererState::unpack_as(&bytes, revision(arch.0))
        .map_err(|problem| JobFault::new(Unit::Fragment, format!("renderer state: {problem}")))
}

/// Local storage of a draw's threads.
pub(crate) fn storage(memory: &mut UnitMemory<'_>, at: u64) -> Result<LocalStorage, JobFault> {
    if at == 0 {
        return Ok(LocalStorage::default());
    }
    let own: LocalStorageV7 = packet(memory, at, "local storage")?;
    Ok(LocalStorage {
        tls_size: own.tls_size,
        wls_instances: own.wls_instances,
        wls_size_base: own.wls_size_base,
        wls_size_scale: own.wls_size_scale,
        tls_base_pointer: own.tls_base_pointer,
        wls_base_pointer: own.wls_base_pointer,
        ..LocalStorage::default()
    })
}

/// The registers from r48 on that a preload descriptor names, one bit each.
fn registers(preload: u32, stage: ShaderStage) -> u16 {
    /// The coverage mask of fragments.
    const COVERAGE: u32 = 1 << 7;
    match stage {
        // Coverage is in r60, not in the register of its bit.
        ShaderStage::Fragment if preload & COVERAGE != 0 => (preload & !COVERAGE | 1 << 12) as u16,
        _ => preload as u16,
    }
}

/// The messages of preload descriptors: varyings and textures that are loaded before the shader begins.
fn preloads(descriptors: [u32; 2], rows: usize) -> Option<(Vec<Op>, Vec<u32>)> {
    let mut ops = Vec::new();
    let mut words: Vec<u32> = Vec::new();
    for (descriptor, register) in descriptors.into_iter().zip([0, 4]) {
        let get = |start: u32, size: u32| descriptor >> start & ((1 << size) - 1);
        let short = get(9, 2) == 1;
        match get(0, 4) {
            0 => {}
            1 => {
                let format = bifrost::format_flags(if short { "f16" } else { "f32" })?;
                let channels = get(11, 2) as u8 + 1;
                ops.push(bifrost::load_varying(get(4, 5), format, register, channels));
            }
            2 => {
                let zero = get(15, 1) != 0;
                let (mut made, handles) =
                    bifrost::preloaded_texture(get(4, 3), get(7, 2), short, zero, register)?;
                let row = u16::try_from(usize::from(PROGRAM) + rows + words.len() + 1).ok()? - 1;
                if let Some(op) = made.last_mut() {
                    (op.src[0].row, op.src[0].high) = (row, row + 1);
                }
                words.extend(handles);
                ops.extend(made);
            }
            _ => return None,
        }
    }
    Some((ops, words))
}

/// Reads a stage; `None` if there is no program.
pub(crate) fn stage(
    gpu: &Gpu,
    vm: &AddressSpace,
    addresses: &StageAddresses,
    own: &StateAddresses,
    stage: ShaderStage,
) -> Result<Option<Stage>, JobFault> {
    if own.state == 0 {
        return Ok(None);
    }
    let mut memory = UnitMemory::new(vm);
    let s = state(gpu.chip().arch, &mut memory, own.state)?;
    let (program, preload, count) = match own.secondary {
        // The upper word belongs to the primary shader.
        true => {
            let address = s.shader & !0xffff_ffff | s.secondary_shader;
            (address, s.secondary_preload, s.secondary_uniform_count)
        }
        false => (s.shader, s.preload, s.uniform_count),
    };
    if program & 0xffff_ffff == 0 {
        return Ok(None);
    }
    let mut tables = own.tables;
    tables.arch = gpu.chip().arch;
    tables.uniform_buffers.1 = s.uniform_buffer_count;
    tables.textures.1 = s.texture_count;
    tables.samplers.1 = s.sampler_count;
    let words = environment::uniform_words(&mut memory, own.push | u64::from(count) << 56)?;
    let code = gpu.program(&mut memory, program);
    let mut rows = code.rows.clone();
    let mut prologue = Vec::new();
    if stage == ShaderStage::Fragment {
        let descriptors = [s.message_preload_1, s.message_preload_2];
        let made = preloads(descriptors, rows.len());
        let (ops, words) = made.ok_or_else(|| {
            JobFault::unimplemented(Unit::Fragment, "a message before the shader of this kind")
        })?;
        rows.extend(words.into_iter().map(crate::warp::row::Row::splat));
        prologue = ops;
    }
    let uniforms = Uniforms::new(&words, &rows);
    Ok(Some(Stage {
        storage: storage(&mut memory, addresses.storage)?,
        rows: std::sync::Arc::new(rows),
        program: code,
        uniforms,
        resources: 0,
        attribute_offset: 0,
        tables: Some(tables),
        prologue,
        preload: registers(preload, stage),
        registers: None,
    }))
}

fn kill(kill: PixelKillV7) -> PixelKill {
    match kill {
        PixelKillV7::ForceEarly | PixelKillV7::StrongEarly => PixelKill::ForceEarly,
        PixelKillV7::WeakEarly => PixelKill::WeakEarly,
        PixelKillV7::ForceLate => PixelKill::ForceLate,
    }
}

/// Bytes of a renderer state, which the blend descriptors follow.
const STATE_BYTES: u64 = RendererState::SIZE_BYTES as u64;

/// The state of a draw that pixels need.
pub(crate) fn draw(arch: Arch, d: &DrawV7, s: &RendererState, viewport: &Viewport) -> Draw {
    let (front, back) = (&s.stencil_front, &s.stencil_back);
    let depth = DepthStencil {
        front_compare_function: front.compare_function,
        front_stencil_fail: front.stencil_fail,
        front_depth_fail: front.depth_fail,
        front_depth_pass: front.depth_pass,
        back_compare_function: back.compare_function,
        back_stencil_fail: back.stencil_fail,
        back_depth_fail: back.depth_fail,
        back_depth_pass: back.depth_pass,
        stencil_from_shader: s.stencil_from_shader,
        stencil_test_enable: s.stencil_enable,
        front_write_mask: s.stencil_mask_front,
        back_write_mask: s.stencil_mask_back,
        front_value_mask: front.mask,
        back_value_mask: back.mask,
        front_reference_value: front.reference_value,
        back_reference_value: back.reference_value,
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
    let is_midgard = arch.0 < 6;
    let [pixel_kill, zs_update] = match is_midgard {
        true if s.force_early_z => [PixelKill::ForceEarly; 2],
        true => [PixelKill::ForceLate; 2],
        false => [s.pixel_kill_operation, s.zs_update_operation].map(kill),
    };
    Draw {
        fragment: addresses(d, false),
        flags_0: DcdFlags0 {
            pixel_kill_operation: pixel_kill,
            zs_update_operation: zs_update,
            evaluate_per_sample: s.evaluate_per_sample,
            single_sampled_lines: s.single_sampled_lines,
            occlusion_query: d.occlusion_query,
            front_face_ccw: d.front_face_ccw,
            cull_front_face: d.cull_front_face,
            cull_back_face: d.cull_back_face,
            multisample_enable: s.multisample_enable,
            shader_modifies_coverage: s.shader_modifies_coverage,
            alpha_to_coverage: s.alpha_to_coverage,
            alpha_to_coverage_invert: s.alpha_to_coverage_invert,
            ..DcdFlags0::default()
        },
        flags_1: DcdFlags1 { sample_mask: s.sample_mask, render_target_mask: 0xff },
        depth_range: [viewport.minimum_z, viewport.maximum_z],
        occlusion: d.occlusion,
        // v4 has the blend state in the renderer state.
        blend: d.state.wrapping_add(if arch.0 < 5 { 0 } else { STATE_BYTES }),
        // The count is that of the framebuffer's targets.
        blend_count: u32::MAX,
        depth_stencil: 0,
        depth_state: Some(Box::new(depth)),
        varying_stride: 0,
        points_from_below: (!is_midgard).then_some(s.point_sprite_coord_origin_max_y),
    }
}

/// The draw of a frame shader.
pub(crate) fn frame_draw(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<Draw, JobFault> {
    let d: DrawV7 = packet(memory, at, "draw descriptor")?;
    let s = state(arch, memory, d.state)?;
    let viewport = match d.viewport {
        0 => Viewport::default(),
        at => packet(memory, at, "viewport")?,
    };
    Ok(draw(arch, &d, &s, &viewport))
}
