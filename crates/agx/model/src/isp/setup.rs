//! Rasterisation, tests and interpolation parameters from the state of a draw.

use tepui_agx_packets::ppp::{self, ObjectType};
use tepui_agx_packets::render::PppMultisampleControl;
use tepui_raster::{
    Compare, DepthBias, Interpolation, Limits, Outline, Stencil, StencilOp, Tests, WindowPlane,
};

use crate::render::scene::{GRID, Primitive, Scene, State};

/// The most samples of a pixel.
pub const MAX_SAMPLES: usize = 4;

/// Where the samples of a pixel are.
pub type Samples = tepui_raster::Samples<MAX_SAMPLES>;

/// The coverage of a shape in a tile.
pub type Coverage = tepui_raster::Coverage<MAX_SAMPLES>;

/// Depth and stencil of a tile.
pub type DepthStencil = tepui_raster::DepthStencil<MAX_SAMPLES>;

/// Sample positions of a render command; without a register value, as in a command without draws,
/// the one sample is at the centre.
pub fn samples(count: usize, control: Option<&PppMultisampleControl>) -> Samples {
    let positions = match control {
        Some(control) => std::array::from_fn(|i| {
            [control.sample_x[i], control.sample_y[i]].map(|sixteenths| sixteenths as u8)
        }),
        None => [[8; 2]; MAX_SAMPLES],
    };
    Samples::new(&GRID, count, positions)
}

/// The rasterisation parameters of a primitive.
pub fn outline(primitive: &Primitive, index: u32, state: &State) -> Outline {
    Outline {
        kind: primitive.kind,
        size_px: primitive.size_px,
        primitive: index,
        // Mesa asks for it for Bresenham lines. source: hk_cmd_draw.c, `primitive_msaa`
        centre_only: state.cull.primitive_msaa,
    }
}

/// The scissor rectangle of a primitive.
pub fn limits(scene: &Scene, primitive: &Primitive, framebuffer: [u32; 2]) -> Limits {
    let state = &scene.states[primitive.state as usize];
    let scissor = state.scissors.get(usize::from(primitive.viewport));
    let (min, max) = scissor.map_or(([0; 2], framebuffer), |s| (s.min_px, s.max_px));
    Limits { min, max: [max[0].min(framebuffer[0]), max[1].min(framebuffer[1])] }
}

/// The coordinates of a point sprite start at its top.
pub fn sprite_from_top(state: &State) -> bool {
    !matches!(state.face2[0].object_type, ObjectType::PointSpriteUv10)
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
