//! Descriptor sets in memory: the layout of the rows that shaders read for images and samplers.
//!
//! Each array element of a binding is a row of [`ROW_B`] bytes:
//!
//! | byte | contents |
//! | ---: | --- |
//! | 0 | texture descriptor: sampled images, texel buffers, and storage images that are read or queried for their size |
//! | 24 | PBE descriptor: storage images and storage texel buffers that are written or have atomics |
//! | 24 | samplers with a custom border colour: its four components |
//! | 40 | samplers with a custom border colour or a reduction: the second sampler ([`SECOND_SAMPLER`]) |
//! | 48 | sampler: index of the sampler state register or sampler heap entry (16 bits) |
//! | 50 | samplers with a custom border colour or a reduction: the number of the second sampler, else 0 |
//! | 24 | uniform texel buffers of three words a texel: the address of the first texel |
//! | 52 | uniform texel buffers: 1 if a texel is three words, which the hardware has no format for ([`THREE_WORDS_B`]) |
//! | 52 | samplers: the bias of the level of detail, a 16-bit float ([`crate::Options::lod_bias`]) |
//! | 54 | samplers: the reduction of texels, and the border ([`sampler_kind`]) |
//! | 56 | samplers with a reduction: the state of the sampler |
//! | 52 | storage images: row stride of the level in texels |
//! | 56 | storage images: logarithms of the samples per texel, and of the width and height of a tile, a byte each |
//! | 60 | storage images: layer stride in samples |
//!
//! Some images are described as another kind, because the hardware lacks theirs: one-dimensional
//! images are images of height 1. Texel buffers are linear images of [`BUFFER_WIDTH`] columns, with
//! their size and first texel in the fields that the hardware leaves to software. Cubes that are
//! stored to or loaded from are arrays of faces. The PBE descriptor of a multisampled image
//! describes a linear image of its samples, [`BUFFER_WIDTH`] per row. source: Mesa,
//! agx_nir_lower_texture.c

use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::sampler::{BorderColour, Filter, MipFilter, Sampler, Wrap};
use tepui_agx_packets::texture::Texture;
use tepui_packets::{Packet, PacketInfo};

/// Bytes of a row.
pub const ROW_B: u32 = 64;
/// Offset of the texture descriptor.
pub const TEXTURE_B: u32 = 0;
/// Offset of the PBE descriptor.
pub const PBE_B: u32 = 24;
/// Offset of the sampler's number.
pub const SAMPLER_B: u32 = 48;
/// Offset of a custom border colour. Sampled images and samplers have no PBE descriptor.
pub const BORDER_B: u32 = 24;
/// Offset of the state of the second sampler.
pub const SECOND_STATE_B: u32 = 40;
/// Offset of the second sampler's number.
pub const SECOND_SAMPLER_B: u32 = 50;
/// Marks the binding of a sampler's twin in [`crate::uniforms::SamplerState`] and
/// [`crate::Source::Descriptor`]: the hardware has no custom border colours, so the sampler itself makes
/// what is outside one, its twin makes it zero, and the program combines both with the colour
/// ([`crate::Borders::Custom`]). source: Mesa, hk_sampler.c, which emulates them in the same way.
/// Opaque black of formats whose alpha is not last in memory is made in the same way ([`crate::Borders::OpaqueBlack`]), but the sampler
/// itself is the hardware's opaque black and its twin makes one, so that programs that do not correct it use the sampler alone.
/// Nor has it reductions ([`crate::Options::reductions`]): the twin of a sampler with one takes the nearest texel of any level.
pub const SECOND_SAMPLER: u32 = 1 << 31;
/// Offset of the state of a sampler.
pub const STATE_B: u32 = 56;
/// Offset of the half-word of [`sampler_kind`].
pub const KIND_B: u32 = 54;
/// Offset of the bias of a sampler's level of detail.
pub const LOD_BIAS_B: u32 = 52;
/// Offset of the word that says that a texel buffer's texels are three words of 32 bits. source: Mesa,
/// agx_nir_lower_texture.c, which reads such buffers from memory as well
pub const THREE_WORDS_B: u32 = 52;
/// Offset of the address of such a buffer.
pub const THREE_WORDS_ADDRESS_B: u32 = PBE_B;
/// Offset of the high word of the distance from a storage image's or texel buffer's own addresses to those that its PBE descriptor has: the
/// pixel back end of a sparse resource writes to an alias of it. Neither has a sampler.
pub const ALIAS_DISTANCE_B: u32 = SAMPLER_B;
/// Offset of the row stride of a storage image in texels.
pub const PITCH_B: u32 = 52;
/// Offset of the logarithms of samples, tile width and tile height of a storage image.
pub const LOGS_B: u32 = 56;
/// Offset of the layer stride of a storage image in samples.
pub const LAYER_B: u32 = 60;

/// The sampler that loads look at: it makes what is outside of the image zero. source: Mesa,
/// agx_helpers.h, agx_pack_txf_sampler
#[must_use]
pub fn loads_sampler() -> Sampler {
    Sampler {
        minimum_lod: 0.0,
        maximum_lod: 14.0,
        maximum_anisotropy: 1,
        magnify: Filter::Nearest,
        minify: Filter::Nearest,
        mip_filter: MipFilter::Nearest,
        wrap_s: Wrap::ClampToBorder,
        wrap_t: Wrap::ClampToBorder,
        wrap_r: Wrap::ClampToBorder,
        border_colour: BorderColour::TransparentBlack,
        ..Sampler::default()
    }
}

/// Columns of a texel buffer as an image. source: Mesa, agx_nir_texture.h, AGX_TEXTURE_BUFFER_WIDTH
pub const BUFFER_WIDTH: u32 = 16384;
/// Maximum number of texels of a texel buffer: the largest image has as many rows as columns. source:
/// as above, AGX_TEXTURE_BUFFER_MAX_SIZE
pub const MAX_BUFFER_TEXELS: u32 = BUFFER_WIDTH * 16384;

/// Bits of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    /// Byte of the 32-bit word in the row.
    pub byte: u32,
    /// First bit of the word.
    pub low: u32,
    /// Number of bits; they may reach into the next word.
    pub width: u32,
}

/// The offset of a descriptor field in the row.
fn field(info: &PacketInfo, base: u32, ident: &str) -> Bits {
    let Some(piece) = info.fields.iter().find(|f| f.ident == ident).map(|f| f.pieces[0]) else {
        unreachable!("{} has no field {ident}", info.name)
    };
    Bits { byte: base + piece.start / 32 * 4, low: piece.start % 32, width: piece.width }
}

/// A field of the texture descriptor.
pub(crate) fn texture(ident: &str) -> Bits {
    field(Texture::INFO, TEXTURE_B, ident)
}

/// A field of the PBE descriptor.
pub(crate) fn pbe(ident: &str) -> Bits {
    field(Pbe::INFO, PBE_B, ident)
}

/// A field of a sampler's state.
pub(crate) fn sampler(ident: &str) -> Bits {
    field(Sampler::INFO, STATE_B, ident)
}

/// Reduction mode of a sampler, as its row encodes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduction {
    /// Weighted average.
    Average = 0,
    /// Minimum of each component.
    Least = 1,
    /// The greatest of each component.
    Greatest = 2,
}

/// Border of a sampler, as its row encodes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Border {
    /// None, or one that the hardware has for all formats.
    Hardware = 0,
    /// A colour in the row.
    Custom = 1,
    /// The hardware's opaque black, whose 1 is in the last channel in memory.
    OpaqueBlack = 2,
}

/// The half-word at [`KIND_B`].
#[must_use]
pub fn sampler_kind(reduction: Reduction, border: Border) -> u16 {
    reduction as u16 | (border as u16) << 2
}

/// The reduction in [`sampler_kind`].
pub(crate) const REDUCTION: Bits = Bits { byte: KIND_B & !3, low: 16, width: 2 };
/// The border in [`sampler_kind`].
pub(crate) const BORDER: Bits = Bits { byte: KIND_B & !3, low: 18, width: 2 };
/// The address mode of coordinates that take the border colour, as the state of a sampler has it.
pub(crate) const TO_BORDER: u32 = Wrap::ClampToBorder as u32;
/// The filter that interpolates between levels, as the state of a sampler has it.
pub(crate) const LINEAR_LEVELS: u32 = MipFilter::Linear as u32;

/// Logarithm of the samples of a storage image's texel.
pub(crate) const SAMPLES_LOG2: Bits = Bits { byte: LOGS_B, low: 0, width: 8 };
/// Logarithm of the width of a storage image's tile.
pub(crate) const TILE_WIDTH_LOG2: Bits = Bits { byte: LOGS_B, low: 8, width: 8 };
/// Logarithm of the height of a storage image's tile.
pub(crate) const TILE_HEIGHT_LOG2: Bits = Bits { byte: LOGS_B, low: 16, width: 8 };
