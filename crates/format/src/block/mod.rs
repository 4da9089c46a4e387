//! Decoders of formats whose blocks hold several pixels: block-compressed and 4:2:2.
//!
//! A [`BlockCodec`] is created once per format and decodes one block at a time into the floats that
//! a texture unit returns, in row order. sRGB formats give linear values.
//!
//! | compression | implementation |
//! | --- | --- |
//! | BC1 to BC7 | `bc.rs`, which wraps the crate `bcdec_rs` |
//! | ETC2, EAC | `etc.rs` |
//! | ASTC, low and high dynamic range | `astc/` |
//! | 4:2:2 in one plane | this file |
//! | PVRTC1 | `pvrtc.rs`: a pixel depends on four blocks, so it has its own [`PvrtcCodec`] |
//! | PVRTC2 | none: [`NoBlockCodec::Undecoded`] |
//!
//! Where the specifications leave rounding open, results are the exact values, rounded to nearest:
//! BC1's thirds in 8 bits, BC4, BC5 and EAC in floating point, ASTC in 16 bits as its specification
//! says.

mod astc;
mod bc;
mod etc;
mod pvrtc;

pub use pvrtc::{PvrtcCodec, Quad};

use crate::Format;
use crate::info::{Channels, Component, Compression, Encoding, Numeric};
use crate::texel::numeric::{mask, unorm_to_f32};
use crate::texel::srgb;

/// The largest number of pixels of a block: ASTC's 12×12.
pub const MAX_BLOCK_PX: usize = 144;

/// Why a format's blocks cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBlockCodec {
    /// A block is one pixel: use [`crate::texel`].
    #[error("{0} has one pixel per block: decode texels")]
    SinglePixels(Format),
    /// The format is planar; each plane has its own format.
    #[error("{0} is planar: use the formats of its planes")]
    Planar(Format),
    /// A pixel depends on the blocks around it.
    #[error("{0} has pixels that depend on four blocks: use PvrtcCodec")]
    FourBlocks(Format),
    /// There is no decoder.
    #[error("{0} has no decoder; only its layout is known")]
    Undecoded(Format),
}

/// Decodes the blocks of one format.
#[derive(Clone, Copy, Debug)]
pub struct BlockCodec {
    width_px: u32,
    height_px: u32,
    bytes: u32,
    scheme: Scheme,
    numeric: Numeric,
}

#[derive(Clone, Copy, Debug)]
enum Scheme {
    Compressed(Compression),
    Subsampled(Channels),
}

impl BlockCodec {
    /// The codec of a format's blocks.
    pub fn new(format: Format) -> Result<BlockCodec, NoBlockCodec> {
        let info = format.info();
        let (scheme, numeric) = match &info.encoding {
            Encoding::Compressed(Compression::Pvrtc1, _) => {
                return Err(NoBlockCodec::FourBlocks(format));
            }
            Encoding::Compressed(Compression::Pvrtc2, _) => {
                return Err(NoBlockCodec::Undecoded(format));
            }
            Encoding::Compressed(compression, numeric) => {
                (Scheme::Compressed(*compression), *numeric)
            }
            Encoding::Subsampled(channels) => (Scheme::Subsampled(*channels), Numeric::Unorm),
            Encoding::Planar(_) => return Err(NoBlockCodec::Planar(format)),
            Encoding::Plain(_) | Encoding::SharedExponent | Encoding::DepthStencil(_) => {
                return Err(NoBlockCodec::SinglePixels(format));
            }
        };
        let block = info.block;
        Ok(BlockCodec {
            width_px: block.width_px,
            height_px: block.height_px,
            bytes: block.bytes,
            scheme,
            numeric,
        })
    }

    /// Bytes of a block.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Pixels of a block.
    pub fn pixels(&self) -> usize {
        (self.width_px * self.height_px) as usize
    }

    /// Decodes a block into `out` in row order, as many pixels as `out` has room for. A short block
    /// reads as if padded with zeros. 4:2:2 formats give Cr, Y, Cb as red, green, blue.
    pub fn decode(&self, block: &[u8], out: &mut [[f32; 4]]) {
        let mut bytes = [0; 16];
        let len = block.len().min(self.bytes());
        bytes[..len].copy_from_slice(&block[..len]);
        if let Some(out) = out.get_mut(..self.pixels()) {
            return self.decode_whole(&bytes, out);
        }
        let mut pixels = [[0.0; 4]; MAX_BLOCK_PX];
        let pixels = &mut pixels[..self.pixels()];
        self.decode_whole(&bytes, pixels);
        out.copy_from_slice(&pixels[..out.len()]);
    }

    /// Decodes all pixels of a block.
    fn decode_whole(&self, bytes: &[u8; 16], pixels: &mut [[f32; 4]]) {
        match &self.scheme {
            Scheme::Subsampled(channels) => {
                subsampled(channels, u128::from_le_bytes(*bytes), pixels)
            }
            Scheme::Compressed(compression) => match compression {
                Compression::Bc1 { .. }
                | Compression::Bc2
                | Compression::Bc3
                | Compression::Bc4
                | Compression::Bc5
                | Compression::Bc6h
                | Compression::Bc7 => bc::decode(*compression, self.numeric, bytes, pixels),
                Compression::Etc2Rgb
                | Compression::Etc2Rgba1
                | Compression::Etc2Rgba8
                | Compression::EacR
                | Compression::EacRg => etc::decode(*compression, self.numeric, bytes, pixels),
                Compression::Astc => {
                    let size = (self.width_px, self.height_px);
                    astc::decode(size, self.numeric, u128::from_le_bytes(*bytes), pixels);
                }
                Compression::Pvrtc1 | Compression::Pvrtc2 => {}
            },
        }
    }
}

/// Decodes two pixels that share their chroma. The first green is the left pixel's.
fn subsampled(channels: &Channels, raw: u128, pixels: &mut [[f32; 4]]) {
    let mut luma = 0;
    for channel in channels.as_slice() {
        let bits = u32::from(channel.bits);
        let value = unorm_to_f32((raw >> channel.shift) as u32 & mask(bits) as u32, bits);
        match channel.component {
            Component::G => {
                pixels[luma][1] = value;
                luma += 1;
            }
            Component::R => pixels.iter_mut().for_each(|p| p[0] = value),
            _ => pixels.iter_mut().for_each(|p| p[2] = value),
        }
    }
    pixels.iter_mut().for_each(|p| p[3] = 1.0);
}

/// Converts stored bytes to floats: unorm, or sRGB with linear alpha.
fn from_bytes(rgba: [u8; 4], numeric: Numeric) -> [f32; 4] {
    let unorm = |v: u8| f32::from(v) / 255.0;
    let [r, g, b, a] = rgba;
    if numeric == Numeric::Srgb {
        let linear = |v: u8| srgb::decode_table()[usize::from(v)];
        [linear(r), linear(g), linear(b), unorm(a)]
    } else {
        rgba.map(unorm)
    }
}

#[cfg(test)]
mod tests;
