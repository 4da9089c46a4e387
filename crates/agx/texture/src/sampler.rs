//! Sampler descriptors, decoded.

use tepui_agx_packets::Packet;
use tepui_agx_packets::sampler::{self as packets, BorderColour};
use tepui_format::info::Encoding;
use tepui_format::{Compression, Numeric};
use tepui_texel::unpack::{Kind, Unpacker};
use tepui_texel::{CompareFunc, Filter, MipFilter, Wrap, half};

use crate::error::Unsupported;

/// A sampler state register: the descriptor, and the custom border colour that follows it in the
/// extended form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplerState {
    /// The descriptor.
    pub sampler: [u8; 8],
    /// The custom border colour, encoded for the image's format.
    pub border: [u32; 4],
}

/// A decoded sampler.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Smallest level of detail.
    pub min_lod: f32,
    /// Largest level of detail.
    pub max_lod: f32,
    /// Maximum anisotropy.
    pub max_anisotropy: u32,
    /// Filter when magnifying.
    pub magnify: Filter,
    /// Filter when minifying.
    pub minify: Filter,
    /// Filter between levels.
    pub mip: MipFilter,
    /// Wrap mode of each coordinate.
    pub wrap: [Wrap; 3],
    /// Coordinates are unnormalised.
    pub pixel_coordinates: bool,
    /// Depth comparison.
    pub compare: CompareFunc,
    /// Seamless cube maps: linear filters cross the edges of faces.
    pub seamless: bool,
    border_colour: BorderColour,
    border: [u32; 4],
}

impl Sampler {
    /// Decodes a sampler state register.
    pub fn decode(state: &SamplerState) -> Result<Sampler, Unsupported> {
        let d = packets::Sampler::unpack(&state.sampler)?;
        Ok(Sampler {
            min_lod: d.minimum_lod,
            max_lod: d.maximum_lod,
            max_anisotropy: d.maximum_anisotropy.max(1),
            magnify: filter(d.magnify)?,
            minify: filter(d.minify)?,
            mip: mip(d.mip_filter),
            wrap: [d.wrap_s, d.wrap_t, d.wrap_r].map(wrap),
            pixel_coordinates: d.pixel_coordinates,
            compare: compare(d.compare_func),
            seamless: !d.seamful_cube_maps,
            border_colour: d.border_colour,
            border: state.border,
        })
    }

    /// The sampler that drivers bind for loads: nearest, with a border of zeros. source: Mesa's
    /// agx_helpers.h, `agx_pack_txf_sampler`
    pub const LOADS: Sampler = Sampler {
        min_lod: 0.0,
        max_lod: 14.0,
        max_anisotropy: 1,
        magnify: Filter::Nearest,
        minify: Filter::Nearest,
        mip: MipFilter::Nearest,
        wrap: [Wrap::ClampToBorder; 3],
        pixel_coordinates: false,
        compare: CompareFunc::Lequal,
        seamless: true,
        border_colour: BorderColour::TransparentBlack,
        border: [0; 4],
    };

    /// The border colour as channels in the order of memory: bits of integers for formats that hold
    /// integers, else of floats, which are multiplied by the format's divisors.
    ///
    /// The fixed colours too are in the order of memory: the image's swizzle applies to them.
    /// source: Mesa's agx_border.c; hk_sampler.c on the workaround that it makes necessary
    pub fn border_for(&self, unpacker: &Unpacker) -> [u32; 4] {
        let fixed = match self.border_colour {
            BorderColour::TransparentBlack => [0, 0, 0, 0],
            BorderColour::OpaqueBlack => [0, 0, 0, 1],
            BorderColour::OpaqueWhite => [1, 1, 1, 1],
            BorderColour::Custom => return self.custom_border(unpacker),
        };
        if unpacker.is_integer() {
            return fixed;
        }
        std::array::from_fn(|c| (fixed[c] as f32 * unpacker.divisor[c]).to_bits())
    }

    /// Fixed-point colours are encoded with the format's bits, sRGB with four more and no curve,
    /// compressed formats with bits of their own; floats as halves unless the format has singles.
    /// source: Mesa's agx_border.c
    fn custom_border(&self, unpacker: &Unpacker) -> [u32; 4] {
        let fixed = |c: usize, bits: u32, signed: bool| {
            let all = ((1u32 << bits) - 1) >> u32::from(signed);
            let stored = if signed {
                let up = 32 - bits;
                ((self.border[c] << up) as i32 >> up) as f32
            } else {
                (self.border[c] & all) as f32
            };
            let value = (stored / all as f32).max(-1.0);
            (value * unpacker.divisor[c]).to_bits()
        };
        let half = |c: usize| half::widen(self.border[c] & 0xffff);
        if let Encoding::Compressed(compression, numeric) = &unpacker.format.info().encoding {
            return std::array::from_fn(|c| match border_bits(*compression, *numeric, c) {
                Some((bits, signed)) => fixed(c, bits, signed),
                None => (half(c) * unpacker.divisor[c]).to_bits(),
            });
        }
        std::array::from_fn(|c| match unpacker.kind {
            Kind::Uint | Kind::Sint | Kind::Single => self.border[c],
            Kind::Half | Kind::Ufloat | Kind::SharedExponent => half(c).to_bits(),
            // The colour is encoded as a texel is.
            Kind::Unorm | Kind::Subsampled => (self.border[c] as f32).to_bits(),
            Kind::Snorm => fixed(c, (unpacker.divisor[c] as u32).count_ones() + 1, true),
            // Assumption, since Mesa has none: the colour is encoded as a texel is.
            Kind::Extended(format) => format.decode(self.border[c] & 0x3ff, c).to_bits(),
            Kind::Srgb if c == 3 => fixed(c, 8, false),
            Kind::Srgb => fixed(c, 12, false),
        })
    }
}

fn filter(filter: packets::Filter) -> Result<Filter, Unsupported> {
    match filter {
        packets::Filter::Nearest => Ok(Filter::Nearest),
        packets::Filter::Linear => Ok(Filter::Linear),
        packets::Filter::Bicubic => Err(Unsupported::Unknown("the bicubic filter")),
    }
}

fn mip(filter: packets::MipFilter) -> MipFilter {
    match filter {
        packets::MipFilter::None => MipFilter::None,
        packets::MipFilter::Nearest => MipFilter::Nearest,
        packets::MipFilter::Linear => MipFilter::Linear,
    }
}

fn wrap(wrap: packets::Wrap) -> Wrap {
    match wrap {
        packets::Wrap::ClampToEdge => Wrap::ClampToEdge,
        packets::Wrap::Repeat => Wrap::Repeat,
        packets::Wrap::MirroredRepeat => Wrap::MirroredRepeat,
        packets::Wrap::ClampToBorder => Wrap::ClampToBorder,
        packets::Wrap::ClampGl => Wrap::ClampGl,
        packets::Wrap::MirroredClampToEdge => Wrap::MirroredClampToEdge,
    }
}

fn compare(func: packets::CompareFunc) -> CompareFunc {
    match func {
        packets::CompareFunc::Never => CompareFunc::Never,
        packets::CompareFunc::Less => CompareFunc::Less,
        packets::CompareFunc::Equal => CompareFunc::Equal,
        packets::CompareFunc::Lequal => CompareFunc::Lequal,
        packets::CompareFunc::Greater => CompareFunc::Greater,
        packets::CompareFunc::NotEqual => CompareFunc::NotEqual,
        packets::CompareFunc::Gequal => CompareFunc::Gequal,
        packets::CompareFunc::Always => CompareFunc::Always,
    }
}

/// Bits of a channel of a custom border colour, and whether they are signed; `None` for halves.
/// source: Mesa's agx_border.c, `get_channel_info`
fn border_bits(compression: Compression, numeric: Numeric, channel: usize) -> Option<(u32, bool)> {
    let signed = numeric == Numeric::Snorm;
    match (compression, numeric) {
        (Compression::EacR | Compression::EacRg, _) => Some((11, signed)),
        (Compression::Bc4 | Compression::Bc5, _) => Some((14, signed)),
        (_, Numeric::Ufloat | Numeric::Sfloat) => None,
        (_, Numeric::Srgb) if channel < 3 => Some((12, false)),
        _ => Some((8, false)),
    }
}
