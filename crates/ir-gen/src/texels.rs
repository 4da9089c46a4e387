//! Texels of the interpreter's images as bytes of formats, for tests that run a shader on a GPU too.

use tepui_format::Format;
use tepui_format::texel::{self, TexelCodec};
use tepui_ir::interp::ImageData;
use tepui_ir::{ImageFormat, NumKind};

/// A format whose texels are not bytes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTexels(pub Format);

impl std::fmt::Display for NotTexels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} has no texels by themselves", self.0.name())
    }
}

impl std::error::Error for NotTexels {}

fn codec(format: Format) -> Result<TexelCodec, NotTexels> {
    TexelCodec::new(format).map_err(|_| NotTexels(format))
}

/// A texel's bytes from components as bits.
fn encode(c: &TexelCodec, kind: NumKind, t: [u64; 4]) -> u128 {
    match kind {
        NumKind::Float => c.pack_f32(t.map(|x| f32::from_bits(x as u32))),
        NumKind::Sint => c.pack_i32(t.map(|x| x as u32 as i32)),
        NumKind::Uint => c.pack_u32(t.map(|x| x as u32)),
    }
}

fn decode(c: &TexelCodec, kind: NumKind, raw: u128) -> [u64; 4] {
    match kind {
        NumKind::Float => c.unpack_f32(raw).map(|x| u64::from(x.to_bits())),
        NumKind::Sint => c.unpack_i32(raw).map(|x| u64::from(x as u32)),
        NumKind::Uint => c.unpack_u32(raw).map(u64::from),
    }
}

/// Quantises every texel to the format.
///
/// # Errors
/// When the format is one of blocks.
pub fn quantise(data: &mut ImageData, format: Format, kind: NumKind) -> Result<(), NotTexels> {
    let c = codec(format)?;
    for t in data.levels.iter_mut().flatten() {
        *t = decode(&c, kind, encode(&c, kind, *t));
    }
    Ok(())
}

/// The bytes of texels, one after the other.
///
/// # Errors
/// When the format is one of blocks.
pub fn bytes(texels: &[[u64; 4]], format: Format, kind: NumKind) -> Result<Vec<u8>, NotTexels> {
    let c = codec(format)?;
    let texel = |t| encode(&c, kind, t).to_le_bytes().into_iter().take(c.bytes());
    Ok(texels.iter().flat_map(|&t| texel(t)).collect())
}

/// The texels of bytes.
///
/// # Errors
/// When the format is one of blocks.
pub fn texels(bytes: &[u8], format: Format, kind: NumKind) -> Result<Vec<[u64; 4]>, NotTexels> {
    let c = codec(format)?;
    Ok(bytes.chunks_exact(c.bytes()).map(|b| decode(&c, kind, texel::load(b))).collect())
}

/// The format of a storage format; none for undeclared ones and those of 64 bits.
#[must_use]
pub fn format_of(f: ImageFormat) -> Option<Format> {
    use Format::*;
    Some(match f {
        ImageFormat::Rgba32f => R32G32B32A32_SFLOAT,
        ImageFormat::Rgba16f => R16G16B16A16_SFLOAT,
        ImageFormat::R32f => R32_SFLOAT,
        ImageFormat::Rgba8 => R8G8B8A8_UNORM,
        ImageFormat::Rgba8Snorm => R8G8B8A8_SNORM,
        ImageFormat::Rg32f => R32G32_SFLOAT,
        ImageFormat::Rg16f => R16G16_SFLOAT,
        ImageFormat::R11fG11fB10f => B10G11R11_UFLOAT_PACK32,
        ImageFormat::R16f => R16_SFLOAT,
        ImageFormat::Rgba16 => R16G16B16A16_UNORM,
        ImageFormat::Rgb10A2 => A2B10G10R10_UNORM_PACK32,
        ImageFormat::Rg16 => R16G16_UNORM,
        ImageFormat::Rg8 => R8G8_UNORM,
        ImageFormat::R16 => R16_UNORM,
        ImageFormat::R8 => R8_UNORM,
        ImageFormat::Rgba16Snorm => R16G16B16A16_SNORM,
        ImageFormat::Rg16Snorm => R16G16_SNORM,
        ImageFormat::Rg8Snorm => R8G8_SNORM,
        ImageFormat::R16Snorm => R16_SNORM,
        ImageFormat::R8Snorm => R8_SNORM,
        ImageFormat::Rgba32i => R32G32B32A32_SINT,
        ImageFormat::Rgba16i => R16G16B16A16_SINT,
        ImageFormat::Rgba8i => R8G8B8A8_SINT,
        ImageFormat::R32i => R32_SINT,
        ImageFormat::Rg32i => R32G32_SINT,
        ImageFormat::Rg16i => R16G16_SINT,
        ImageFormat::Rg8i => R8G8_SINT,
        ImageFormat::R16i => R16_SINT,
        ImageFormat::R8i => R8_SINT,
        ImageFormat::Rgba32ui => R32G32B32A32_UINT,
        ImageFormat::Rgba16ui => R16G16B16A16_UINT,
        ImageFormat::Rgba8ui => R8G8B8A8_UINT,
        ImageFormat::R32ui => R32_UINT,
        ImageFormat::Rgb10A2ui => A2B10G10R10_UINT_PACK32,
        ImageFormat::Rg32ui => R32G32_UINT,
        ImageFormat::Rg16ui => R16G16_UINT,
        ImageFormat::Rg8ui => R8G8_UINT,
        ImageFormat::R16ui => R16_UINT,
        ImageFormat::R8ui => R8_UINT,
        ImageFormat::Unknown | ImageFormat::R64ui | ImageFormat::R64i => return None,
    })
}
