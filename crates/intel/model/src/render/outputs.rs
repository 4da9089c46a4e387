//! Output state of a draw's pixel threads, from the state of a context.

use tepui_intel_packets::Packet as _;
use tepui_intel_packets::pixel::{State3dPolyStippleOffset, State3dPolyStipplePattern};
use tepui_raster::{Samples, TILE_SIDE, Tests};

use super::blend::Blending;
use super::depth::{Buffers, DepthFormat};
use super::state::{State, latched};
use super::target::{BlockOperation, OutputState};
use super::unit::GRID;
use super::unit::MAX_SAMPLES;
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;

/// The output state, except for the parts that depend on depth; without memory if there are no pixel threads.
pub(super) fn output(
    context: &HardwareContext,
    state: &State,
    memory: Option<&mut Memory<'_>>,
) -> Result<OutputState, JobFault> {
    let extra = &state.extra;
    let count = state.samples();
    let blending = match memory {
        Some(memory) => Blending::of(context, memory)?,
        None => Blending::NONE,
    };
    Ok(OutputState {
        blending,
        samples: Samples::new(&GRID, count, positions(state, count)),
        sample_mask: state.sample_mask & ((1u32 << count) - 1),
        stipple: match state.wm.polygon_stipple_enable {
            true => Some(stipple(context)?),
            false => None,
        },
        tests: [Tests::NONE; 2],
        depth_bounds: None,
        late: false,
        depth_format: DepthFormat::Float,
        depth_present: extra.pixel_shader_computed_depth_mode != 0,
        mask_present: extra.omask_present_to_render_target,
        stencil_present: extra.pixel_shader_computes_stencil,
        operation: match state.ps.render_target_resolve_type {
            0 if state.ps.render_target_fast_clear_enable => Some(BlockOperation::Clear),
            0 => None,
            // source: Mesa, blorp_genX_exec_brw.h: FAST_CLEAR_0 (gen120.xml) zeroes the CCS.
            2 if state.ps.render_target_fast_clear_enable => Some(BlockOperation::Forget),
            1 => Some(BlockOperation::PartialResolve),
            _ => Some(BlockOperation::Resolve),
        },
        depth_store: false,
    })
}

/// Completes the output state with depth and stencil: the tests, and when they are executed.
pub(super) fn finish_output(output: OutputState, state: &State, buffers: &Buffers) -> OutputState {
    /// Values of Early Depth/Stencil Control: the shader runs first; tests come first.
    const SHADER_FIRST: u32 = 1;
    const TESTS_FIRST: u32 = 2;
    let extra = &state.extra;
    let tests = buffers.tests(state);
    // Without a depth buffer the test passes.
    let bounds = &state.depth_bounds;
    let depth_bounds = (bounds.depth_bounds_test_enable != 0 && buffers.depth.is_some())
        .then_some([bounds.depth_bounds_test_min_value, bounds.depth_bounds_test_max_value]);
    let changes = extra.pixel_shader_kills_pixel
        || extra.pixel_shader_computed_depth_mode != 0
        || extra.omask_present_to_render_target
        || extra.pixel_shader_computes_stencil
        || output.blending.alpha_to_coverage
        || output.blending.alpha_test.is_some();
    let late = state.has_pixel_shader()
        && match state.wm.early_depth_stencil_control {
            // If all fragments pass, the order does not matter.
            SHADER_FIRST => {
                changes || depth_bounds.is_some() || !tests.iter().all(Tests::is_trivial)
            }
            TESTS_FIRST => false,
            _ => changes,
        };
    OutputState {
        late,
        tests,
        depth_bounds,
        depth_format: buffers.depth.map_or(DepthFormat::Float, |(_, format)| format),
        depth_store: tests[0].write,
        ..output
    }
}

/// The polygon stipple pattern in tile coordinates: tiles begin where the pattern does, 32 pixels apart. Bit 0 is the
/// left column.
fn stipple(context: &HardwareContext) -> Result<[u32; TILE_SIDE], JobFault> {
    let offset: State3dPolyStippleOffset = latched(context)?;
    let pattern = context.latched.get(State3dPolyStipplePattern::INFO.name);
    let rows = pattern.and_then(|bytes| bytes.get(4..)).unwrap_or(&[]);
    let mut words = [0u32; TILE_SIDE];
    for (word, bytes) in words.iter_mut().zip(rows.chunks_exact(4)) {
        let row = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        *word = row.reverse_bits().rotate_right(offset.polygon_stipple_x_offset);
    }
    words.rotate_left(offset.polygon_stipple_y_offset as usize % TILE_SIDE);
    Ok(words)
}

/// The sample positions in sixteenths of a pixel.
fn positions(state: &State, count: usize) -> [[u8; 2]; MAX_SAMPLES] {
    let p = &state.pattern;
    let at = |x: f64, y: f64| [(x * 16.0) as u8, (y * 16.0) as u8];
    let mut positions = [[8; 2]; MAX_SAMPLES];
    let list: &[[u8; 2]] = match count {
        1 => &[at(f64::from(p.n1x_sample0_x_offset), f64::from(p.n1x_sample0_y_offset))],
        2 => &[
            at(p.n2x_sample0_x_offset.into(), p.n2x_sample0_y_offset.into()),
            at(p.n2x_sample1_x_offset.into(), p.n2x_sample1_y_offset.into()),
        ],
        4 => &[
            at(p.n4x_sample0_x_offset.into(), p.n4x_sample0_y_offset.into()),
            at(p.n4x_sample1_x_offset.into(), p.n4x_sample1_y_offset.into()),
            at(p.n4x_sample2_x_offset.into(), p.n4x_sample2_y_offset.into()),
            at(p.n4x_sample3_x_offset.into(), p.n4x_sample3_y_offset.into()),
        ],
        8 => &[
            at(p.n8x_sample0_x_offset.into(), p.n8x_sample0_y_offset.into()),
            at(p.n8x_sample1_x_offset.into(), p.n8x_sample1_y_offset.into()),
            at(p.n8x_sample2_x_offset.into(), p.n8x_sample2_y_offset.into()),
            at(p.n8x_sample3_x_offset.into(), p.n8x_sample3_y_offset.into()),
            at(p.n8x_sample4_x_offset.into(), p.n8x_sample4_y_offset.into()),
            at(p.n8x_sample5_x_offset.into(), p.n8x_sample5_y_offset.into()),
            at(p.n8x_sample6_x_offset.into(), p.n8x_sample6_y_offset.into()),
            at(p.n8x_sample7_x_offset.into(), p.n8x_sample7_y_offset.into()),
        ],
        _ => &[
            at(p.n16x_sample0_x_offset.into(), p.n16x_sample0_y_offset.into()),
            at(p.n16x_sample1_x_offset.into(), p.n16x_sample1_y_offset.into()),
            at(p.n16x_sample2_x_offset.into(), p.n16x_sample2_y_offset.into()),
            at(p.n16x_sample3_x_offset.into(), p.n16x_sample3_y_offset.into()),
            at(p.n16x_sample4_x_offset.into(), p.n16x_sample4_y_offset.into()),
            at(p.n16x_sample5_x_offset.into(), p.n16x_sample5_y_offset.into()),
            at(p.n16x_sample6_x_offset.into(), p.n16x_sample6_y_offset.into()),
            at(p.n16x_sample7_x_offset.into(), p.n16x_sample7_y_offset.into()),
            at(p.n16x_sample8_x_offset.into(), p.n16x_sample8_y_offset.into()),
            at(p.n16x_sample9_x_offset.into(), p.n16x_sample9_y_offset.into()),
            at(p.n16x_sample10_x_offset.into(), p.n16x_sample10_y_offset.into()),
            at(p.n16x_sample11_x_offset.into(), p.n16x_sample11_y_offset.into()),
            at(p.n16x_sample12_x_offset.into(), p.n16x_sample12_y_offset.into()),
            at(p.n16x_sample13_x_offset.into(), p.n16x_sample13_y_offset.into()),
            at(p.n16x_sample14_x_offset.into(), p.n16x_sample14_y_offset.into()),
            at(p.n16x_sample15_x_offset.into(), p.n16x_sample15_y_offset.into()),
        ],
    };
    positions[..list.len()].copy_from_slice(list);
    positions
}
