//! Rasterisation, tests and interpolation parameters from the state of a draw.

use tepui_agx_packets::ppp::{self, ObjectType};
use tepui_agx_packets::render::PppMultisampleControl;
use tepui_packets::Packet;
use tepui_raster::{Compare, DepthBias, Interpolation, Stencil, StencilOp, Tests, WindowPlane};

use crate::job::{JobFault, RenderJob, Unit};
use crate::render::scene::{GRID, Primitive, State};

/// Maximum number of samples of a pixel.
pub const MAX_SAMPLES: usize = 4;

/// Sample positions of a pixel.
pub type Samples = tepui_raster::Samples<MAX_SAMPLES>;

/// The coverage of a shape in a tile.
pub type Coverage = tepui_raster::Coverage<MAX_SAMPLES>;
/// The visible opaque primitive of each sample of a tile.
pub type Tags = tepui_raster::Tags<MAX_SAMPLES>;

/// Depth and stencil of a tile.
pub type DepthStencil = tepui_raster::DepthStencil<MAX_SAMPLES>;

/// Sample positions of a render command; without a register value, as in a command without draws,
/// the one sample is at the centre.
///
/// # Errors
/// If the command has a number of samples that the hardware has not, or its positions are no register value.
pub fn samples(job: &RenderJob) -> Result<Samples, JobFault> {
    let isp = |what: String| JobFault::new(Unit::Isp, what);
    let count = usize::from(job.samples);
    if !matches!(count, 1 | 2 | 4) {
        return Err(isp(format!("{count} samples a pixel")));
    }
    let control = PppMultisampleControl::unpack(&job.ppp_multisamplectl.to_le_bytes())
        .map_err(|p| isp(p.to_string()))?;
    let unset = job.ppp_multisamplectl == 0 && count == 1;
    let positions = match unset {
        true => [[8; 2]; MAX_SAMPLES],
        false => std::array::from_fn(|i| {
            [control.sample_x[i], control.sample_y[i]].map(|sixteenths| sixteenths as u8)
        }),
    };
    Ok(Samples::new(&GRID, count, positions))
}

/// The coordinates of a point sprite start at its top.
pub fn sprite_from_top(state: &State) -> bool {
    !matches!(state.face2[0].object_type, ObjectType::PointSpriteUv10)
}

/// The range to which the depths of a viewport are clamped.
pub fn depth_range(state: &State, viewport: u8) -> [f32; 2] {
    let [low, high] = state.scissors.get(usize::from(viewport)).map_or([0.0, 1.0], |s| s.depth);
    if low.is_nan() || high.is_nan() {
        return [0.0, 1.0];
    }
    if low <= high { [low, high] } else { [high, low] }
}

/// The depth of a primitive with its bias. `integer` chooses the formula for fixed-point buffers.
///
/// source: asahi_drm.h, DRM_ASAHI_RENDER_DBIAS_IS_INT. That Mesa scales the bias by the format only
/// for the integer formula says that there the unit is 1.
pub fn depth_plane(
    primitive: &Primitive,
    interpolation: &Interpolation,
    state: &State,
    integer: bool,
) -> WindowPlane {
    let positions = &primitive.positions;
    if !(state.control.depth_bias_enable || state.control2.depth_bias_enable) {
        return interpolation.depth(positions);
    }
    let bias = DepthBias {
        constant: state.depth_bias.depth_bias,
        slope: state.depth_bias.slope_scale,
        clamp: state.depth_bias.clamp,
        unit: integer.then_some(1.0),
    };
    interpolation.biased_depth(positions, &bias)
}

/// The tests of front and back faces.
pub fn tests(state: &State) -> [Tests; 2] {
    let enabled = state.control.stencil_test_enable || state.control2.stencil_test_enable;
    let two_sided = state.control.two_sided_stencil || state.control2.two_sided_stencil;
    [0, 1].map(|side| {
        let (face, face2) = (&state.face[side], &state.face2[side]);
        let stencil_side = if two_sided { side } else { 0 };
        let word = &state.stencil[stencil_side];
        let stencil = enabled.then(|| Stencil {
            compare: compare(word.compare),
            reference: state.face[stencil_side].stencil_reference as u8,
            read_mask: word.read_mask as u8,
            write_mask: word.write_mask as u8,
            fail: operation(word.stencil_fail),
            depth_fail: operation(word.depth_fail),
            pass: operation(word.depth_pass),
        });
        Tests {
            depth: compare(face.depth_function).and(compare(face2.depth_function)),
            write: !(face.disable_depth_write && face2.disable_depth_write),
            stencil,
        }
    })
}

/// A comparison function: the hardware's encoding has a bit each for less, equal and greater. NaN
/// fails every comparison, even "always": Mesa emits NaN as depth to make a test fail.
/// source: Mesa's agx_nir_lower_frag_sidefx.c, `insert_z_write`
fn compare(function: ppp::ZsFunc) -> Compare {
    Compare::from_bits(function as u8 & 7)
}

fn operation(operation: ppp::StencilOp) -> StencilOp {
    match operation {
        ppp::StencilOp::Keep => StencilOp::Keep,
        ppp::StencilOp::Zero => StencilOp::Zero,
        ppp::StencilOp::Replace => StencilOp::Replace,
        ppp::StencilOp::IncrSat => StencilOp::IncrSat,
        ppp::StencilOp::DecrSat => StencilOp::DecrSat,
        ppp::StencilOp::Invert => StencilOp::Invert,
        ppp::StencilOp::IncrWrap => StencilOp::IncrWrap,
        ppp::StencilOp::DecrWrap => StencilOp::DecrWrap,
    }
}
