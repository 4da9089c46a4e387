//! SAMPLER_STATE, converted to API-neutral terms.

use tepui_intel_eu::Refusal;
use tepui_intel_packets::sampler::{
    MapFilter, MipFilter as Mip, ReductionType, SamplerState, ShadowFunction, TextureCoordinateMode,
};
use tepui_intel_packets::{Packet, Revision};
use tepui_texel::{MipFilter, Wrap};

use super::super::refusal::{refuse, unimplemented};
use crate::memory::Memory;
use crate::order::MemoryUnit;

/// A sampler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    /// Whether the minification and the magnification filter are linear.
    pub min_linear: bool,
    pub mag_linear: bool,
    pub mip: MipFilter,
    /// Maximum number of samples along the line of anisotropy; 1 if disabled.
    pub anisotropy: u32,
    pub bias: f32,
    pub lod_range: [f32; 2],
    pub wrap: [Wrap; 3],
    /// Whether coordinates are in texels.
    pub pixel: bool,
    /// Whether filters reach across the edges of cubes.
    pub seamless: bool,
    pub shadow: ShadowFunction,
    pub reduction: Option<Reduction>,
    /// The border colour in its memory format.
    pub border: [u32; 4],
}

/// The reduction of a filter's texels that replaces their weighted sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Least,
    Greatest,
}

/// The wrap mode of an axis. `Cube` applies to cubes only, whose faces have edges of their own.
fn wrap(mode: TextureCoordinateMode) -> Wrap {
    use TextureCoordinateMode as M;
    match mode {
        M::Wrap => Wrap::Repeat,
        M::Mirror => Wrap::MirroredRepeat,
        M::Clamp | M::Cube => Wrap::ClampToEdge,
        M::ClampBorder => Wrap::ClampToBorder,
        M::MirrorOnce => Wrap::MirroredClampToEdge,
        M::HalfBorder => Wrap::ClampGl,
    }
}

impl Sampler {
    /// Reads a sampler; its border colour is an offset from `dynamic`.
    pub fn read(
        memory: &mut Memory<'_>,
        at: u64,
        dynamic: u64,
        revision: Revision,
    ) -> Result<Sampler, Refusal> {
        let mut bytes = [0; SamplerState::SIZE_BYTES];
        memory.read_by(MemoryUnit::State, at, &mut bytes).map_err(refuse)?;
        let s = SamplerState::unpack_as(&bytes, revision)
            .map_err(|problem| refuse(format!("the sampler at {at:#x}: {problem}")))?;
        let linear = |filter: MapFilter| match filter {
            MapFilter::Nearest => Ok(false),
            MapFilter::Linear | MapFilter::Anisotropic => Ok(true),
            MapFilter::Mono => Err(unimplemented("the filter MONO")),
        };
        let modes =
            [s.tcx_address_control_mode, s.tcy_address_control_mode, s.tcz_address_control_mode];
        let wraps = modes.map(wrap);
        let mut border = [0; 4];
        if wraps.iter().any(|w| matches!(w, Wrap::ClampToBorder | Wrap::ClampGl)) {
            let mut bytes = [0; 16];
            let at = dynamic + s.border_color_pointer;
            memory.read_by(MemoryUnit::State, at, &mut bytes).map_err(refuse)?;
            for (to, from) in border.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *to = u32::from_le_bytes(*from);
            }
        }
        let anisotropic = s.min_mode_filter == MapFilter::Anisotropic
            || s.mag_mode_filter == MapFilter::Anisotropic;
        // A signed number with eight bits of fraction.
        let bias = ((s.texture_lod_bias << 19) as i32 >> 19) as f32 / 256.0;
        Ok(Sampler {
            min_linear: linear(s.min_mode_filter)?,
            mag_linear: linear(s.mag_mode_filter)?,
            mip: match s.mip_mode_filter {
                Mip::None => MipFilter::None,
                Mip::Nearest => MipFilter::Nearest,
                Mip::Linear => MipFilter::Linear,
            },
            // source: genxml, SAMPLER_STATE "Maximum Anisotropy": 0 is 2:1, 7 is 16:1.
            anisotropy: if anisotropic { 2 * (s.maximum_anisotropy + 1) } else { 1 },
            bias,
            lod_range: [s.min_lod, s.max_lod],
            wrap: wraps,
            pixel: s.non_normalized_coordinate_enable,
            // source: genxml: Cube Surface Control Mode 1 overrides the address modes of cubes.
            seamless: s.cube_surface_control_mode,
            shadow: s.shadow_function,
            reduction: match (s.reduction_type_enable, s.reduction_type) {
                (true, ReductionType::Minimum) => Some(Reduction::Least),
                (true, ReductionType::Maximum) => Some(Reduction::Greatest),
                _ => None,
            },
            border,
        })
    }

    /// The result of a comparison, 1 or 0.
    ///
    /// source: Mesa, genX_init_state.c (`vk_to_intel_shadow_compare_op`): the function selects the texels
    /// that give 0 when compared with the reference.
    pub fn compare(&self, texel: f32, reference: f32) -> f32 {
        let zero = match self.shadow {
            ShadowFunction::Always => true,
            ShadowFunction::Never => false,
            ShadowFunction::Less => texel < reference,
            ShadowFunction::Equal => texel == reference,
            ShadowFunction::Lequal => texel <= reference,
            ShadowFunction::Greater => texel > reference,
            ShadowFunction::Notequal => texel != reference,
            ShadowFunction::Gequal => texel >= reference,
        };
        if zero { 0.0 } else { 1.0 }
    }
}
