//! The fragment shader and samples.

use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::FragmentInfo;
use tepui_intel_packets::gen12::{CpsState, State3dCpsPointers};
use tepui_intel_packets::pixel::{
    State3dMultisample, State3dPs, State3dPsExtra, State3dSampleMask, State3dSamplePattern,
    State3dWm,
};
use tepui_intel_packets::state::PipeControl;
use tepui_vulkan::{Result, vk};

use super::Context;
use crate::compression::ColourOperation;
use crate::packets::Out;
use crate::space;

/// The largest coordinate of a sample.
pub const MAX_SAMPLE_PLACE: f32 = 15.0 / 16.0;

/// 3DSTATE_WM.
pub fn windower(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let plain = State3dWm {
        statistics_enable: c.statistics,
        line_stipple_enable: c.state.stipple_enable,
        ..State3dWm::default()
    };
    let Some((_, info)) = c.fragment else { return out.put(&plain) };
    let writes = info.targets != 0 && c.colours != 0 || info.depth.is_some() || info.stencil;
    out.put(&State3dWm {
        barycentric_interpolation_mode: info.barycentrics.into(),
        early_depth_stencil_control: early_tests(info),
        force_thread_dispatch_enable: if info.side_effects && !writes { 2 } else { 0 },
        ..plain
    })
}

/// 3DSTATE_PS.
pub fn fragment(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let Some((v, info)) = c.fragment else { return out.put(&State3dPs::default()) };
    let of = |width: u8| v.programs.iter().find(|p| p.width == width);
    let pointer = |p: Option<&tepui_intel_compiler::Variant>| {
        let base = v.code.address - space::CODE;
        p.map_or((0, 0), |p| (base + u64::from(p.offset), u32::from(p.start)))
    };
    let [narrow, middle, wide] = [8, 16, 32].map(of);
    let several = v.programs.len() > 1;
    // A single program is kernel 0; of several, 8 channels are kernel 0, 32 kernel 1 and 16 kernel 2.
    // source: SKL PRM volume 2a, 3DSTATE_PS, on kernel start pointers
    let (zero, one, two) = match several {
        true => (pointer(narrow), pointer(wide), pointer(middle)),
        false => (pointer(v.programs.first()), (0, 0), (0, 0)),
    };
    let (scratch, log2) = c.scratch[4];
    let (resolve, clear) = v.operation.map_or((0, false), ColourOperation::fields);
    out.put(&State3dPs {
        kernel_start_pointer_0: zero.0,
        kernel_start_pointer_1: one.0,
        kernel_start_pointer_2: two.0,
        dispatch_grf_start_register_for_constant_setup_data_0: zero.1,
        dispatch_grf_start_register_for_constant_setup_data_1: one.1,
        dispatch_grf_start_register_for_constant_setup_data_2: two.1,
        n8_pixel_dispatch_enable: narrow.is_some(),
        n16_pixel_dispatch_enable: middle.is_some(),
        n32_pixel_dispatch_enable: wide.is_some(),
        vector_mask_enable: true,
        binding_table_entry_count: (v.places.entries.len() as u32).min(255),
        sampler_count: (v.places.samplers.len() as u32).min(16).div_ceil(4),
        per_thread_scratch_space: log2,
        scratch_space_base_pointer: scratch,
        position_xy_offset_select: if info.sample_position { 3 } else { 0 },
        push_constant_enable: v.shared_registers() > 0,
        // source: Mesa, intel_device_info.c (`max_threads_per_psd`)
        maximum_number_of_threads_per_psd: 64 - 1,
        render_target_resolve_type: resolve,
        render_target_fast_clear_enable: clear,
        ..State3dPs::default()
    })
}

/// 3DSTATE_PS_EXTRA.
pub fn outputs(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let Some((_, info)) = c.fragment else { return out.put(&State3dPsExtra::default()) };
    let own = tepui_intel_programs::pixel(info);
    // Depth and stencil that the program samples are those before its own fragment's: nothing is written before it has run.
    // source: Mesa, genX_gfx_state.c (`has_ds_feedback_loop`, `update_ps_extra_kills_pixel`)
    let depth_stencil = vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL;
    out.put(&State3dPsExtra {
        pixel_shader_kills_pixel: info.kills || c.state.feedback_loops.intersects(depth_stencil),
        pixel_shader_does_not_write_to_rt: u32::from(info.targets == 0 || c.colours == 0),
        ..own
    })
}

/// Early Depth/Stencil Control: before the program if it says so; after it if fragments that fail leave more than pixels; else the
/// hardware chooses. source: genxml (`EDSC_PREPS`, `EDSC_PSEXEC`, `EDSC_NORMAL`); Mesa, genX_pipeline.c (`emit_3dstate_wm`)
fn early_tests(info: &FragmentInfo) -> u32 {
    match (info.early_tests, info.side_effects) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

/// 3DSTATE_MULTISAMPLE.
pub fn samples(c: &Context<'_>, out: &mut Out) -> Result<()> {
    out.put(&State3dMultisample {
        number_of_multisamples: c.state.samples.max(1).trailing_zeros(),
        ..State3dMultisample::default()
    })
}

/// CPS_STATEs: the size of coarse pixels of each viewport; none where the program does not run for them, as it may run for samples
/// then. source: Mesa, genX_init_state.c (`init_cps_device_state`)
pub fn coarse_pixels(c: &Context<'_>, out: &mut Out) -> Result<()> {
    if c.generation == Generation::Gen9 {
        return Ok(());
    }
    let is_coarse = c.fragment.is_some_and(|(_, info)| info.coarse);
    let [min_cp_size_x, min_cp_size_y] = c.state.fragment_size.map(CpsState::size);
    let state = match is_coarse {
        true => CpsState {
            coarse_pixel_shading_mode: CpsState::CONSTANT,
            min_cp_size_x,
            min_cp_size_y,
            ..CpsState::default()
        },
        false => CpsState::default(),
    };
    (0..c.state.viewport_count.max(1)).try_for_each(|_| out.put(&state))
}

/// 3DSTATE_CPS_POINTERS, once pixels that are shaded have another size no longer. source: Mesa, genX_gfx_state.c, which quotes
/// ICL PRM volume 2a, 3DSTATE_CPS_POINTERS
pub fn coarse_pixels_pointer(state: u64, out: &mut Out) -> Result<()> {
    out.put(&PipeControl { psd_sync_enable: true, ..PipeControl::default() })?;
    out.put(&State3dCpsPointers { coarse_pixel_shading_state_array_pointer: state })
}

/// 3DSTATE_SAMPLE_MASK.
pub fn sample_mask(c: &Context<'_>, out: &mut Out) -> Result<()> {
    out.put(&State3dSampleMask { sample_mask: c.state.sample_mask & 0xffff })
}

/// 3DSTATE_SAMPLE_PATTERN: places of samples that the application chose, or the standard ones.
pub fn sample_pattern(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let mut pattern = State3dSamplePattern::standard();
    if c.state.sample_locations_enable {
        // Places are in sixteenths of a pixel.
        let places = c.state.sample_locations.map(|p| p.map(|x| x.clamp(0.0, MAX_SAMPLE_PLACE)));
        let [a, b, d, e] = places;
        let p = &mut pattern;
        match c.state.samples {
            4 => {
                [p.n4x_sample0_x_offset, p.n4x_sample0_y_offset] = a;
                [p.n4x_sample1_x_offset, p.n4x_sample1_y_offset] = b;
                [p.n4x_sample2_x_offset, p.n4x_sample2_y_offset] = d;
                [p.n4x_sample3_x_offset, p.n4x_sample3_y_offset] = e;
            }
            2 => {
                [p.n2x_sample0_x_offset, p.n2x_sample0_y_offset] = a;
                [p.n2x_sample1_x_offset, p.n2x_sample1_y_offset] = b;
            }
            _ => [p.n1x_sample0_x_offset, p.n1x_sample0_y_offset] = a,
        }
    }
    out.put(&pattern)
}
