//! State of the fragment units for a draw.

use arrayvec::ArrayVec;
use tepui_mali_packets::draw::{Blend, OcclusionMode};
use tepui_raster::{DepthBias, Tests};

use super::MAX_TARGETS;
use super::format::PixelFormat;

/// The blending of a target's colours.
pub(crate) struct MidgardBlend {
    /// Whether colours are written.
    pub enabled: bool,
    /// The address of the blend shader; 0 if fixed functions blend.
    pub shader: u64,
    /// The constant of equations.
    pub constant: f32,
    /// The format of pixels in the tile buffer; none if shaders write their bits.
    pub format: Option<PixelFormat>,
}

/// State of the fragment units for a draw.
pub(crate) struct FragmentState {
    /// Depth and stencil tests of front-facing and back-facing fragments.
    pub tests: [Tests; 2],
    /// Whether depth and stencil are tested and written after the shader.
    pub late: bool,
    /// Whether fragments that fail the depth test are discarded early, although the test itself comes later.
    pub killed_early: bool,
    /// Whether the shader writes depth or stencil.
    pub emits: bool,
    /// The range to which depths are clamped.
    pub range: [f32; 2],
    pub bias: Option<DepthBias>,
    pub sample_mask: u32,
    /// Whether shaders run per sample.
    pub per_sample: bool,
    pub alpha_to_coverage: bool,
    /// Address and mode of the occlusion counter.
    pub occlusion: Option<(u64, OcclusionMode)>,
    pub blends: ArrayVec<Blend, MAX_TARGETS>,
    /// Blending of Midgard's targets.
    pub midgard: ArrayVec<MidgardBlend, MAX_TARGETS>,
    /// Bytes of a vertex's varyings.
    pub varying_stride: u32,
    /// Whether point coordinates count from below.
    pub points_from_below: bool,
}
