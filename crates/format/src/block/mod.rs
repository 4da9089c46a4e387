//! Decoders of formats whose blocks hold several pixels: block-compressed and 4:2:2.
//!
//! A [`BlockCodec`] is created once per format and decodes one block at a time, in row order: into the
//! floats that a texture unit returns (sRGB formats give linear values), or into the integers and
//! halves that stand for them exactly ([`Stored`]), which are smaller.
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

use half::f16;

use crate::Format;
use crate::info::{Channels, Component, Compression, Encoding, Numeric};
use crate::texel::numeric::mask;
use crate::texel::srgb;

/// The largest number of pixels of a block: ASTC's 12×12.
pub const MAX_BLOCK_PX: usize = 144;

/// Reason why a format's blocks cannot be decoded.
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

/// The numbers that a block's pixels are decoded to: four channels, of which those that the format lacks
/// are 0, and 1 for alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Bytes: fixed point, or sRGB with linear alpha.
    Bytes,
    /// 16-bit integers; colours are to be divided by a number. Alpha, which no such format has, is 1: sums of
    /// it that a filter weighs are exact.
    Fixed(u16),
    /// Version of [`Stored::Fixed`] with sign.
    SignedFixed(i16),
    /// Half floats.
    Halves,
}

/// Decodes the blocks of one format.
#[derive(Clone, Copy, Debug)]
pub struct BlockCodec {
    width_px: u32,
    height_px: u32,
    bytes: u32,
    scheme: Scheme,
    numeric: Numeric,
    stored: Stored,
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
            stored: stored(&scheme, numeric),
        })
    }

    /// The form in which [`BlockCodec::decode_bytes`] or [`BlockCodec::decode_words`] gives components.
    pub fn stored(&self) -> Stored {
        self.stored
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
        let count = out.len().min(self.pixels());
        let out = &mut out[..count];
        if self.stored == Stored::Bytes {
            let mut pixels = [[0; 4]; MAX_BLOCK_PX];
            self.decode_bytes(block, &mut pixels[..self.pixels()]);
            for (out, pixel) in out.iter_mut().zip(pixels) {
                *out = from_bytes(pixel, self.numeric);
            }
            return;
        }
        let mut pixels = [[0; 4]; MAX_BLOCK_PX];
        self.decode_words(block, &mut pixels[..self.pixels()]);
        for (out, pixel) in out.iter_mut().zip(pixels) {
            *out = pixel.map(|word| match self.stored {
                Stored::SignedFixed(one) => f32::from(word as i16) / f32::from(one),
                Stored::Fixed(one) => f32::from(word) / f32::from(one),
                Stored::Halves | Stored::Bytes => f16::from_bits(word).to_f32(),
            });
            if self.stored != Stored::Halves {
                out[3] = 1.0;
            }
        }
    }

    /// Decodes a block of [`Stored::Bytes`] into a slice of [`BlockCodec::pixels`]; blocks of other formats
    /// leave it as it is.
    pub fn decode_bytes(&self, block: &[u8], pixels: &mut [[u8; 4]]) {
        debug_assert_eq!(pixels.len(), self.pixels());
        let bytes = self.padded(block);
        match &self.scheme {
            Scheme::Subsampled(channels) => {
                subsampled(channels, &bytes, pixels, |v| v as u8);
                pixels.iter_mut().for_each(|pixel| pixel[3] = 255);
            }
            Scheme::Compressed(compression) => match compression {
                Compression::Bc1 { .. }
                | Compression::Bc2
                | Compression::Bc3
                | Compression::Bc7 => bc::decode(*compression, &bytes, pixels),
                Compression::Etc2Rgb | Compression::Etc2Rgba1 | Compression::Etc2Rgba8 => {
                    etc::decode(*compression, &bytes, pixels);
                }
                Compression::Astc => {
                    let size = [self.width_px, self.height_px];
                    astc::decode_srgb(size, u128::from_le_bytes(bytes), pixels);
                }
                _ => {}
            },
        }
    }

    /// Decodes a block of other formats than [`BlockCodec::decode_bytes`], likewise.
    pub fn decode_words(&self, block: &[u8], pixels: &mut [[u16; 4]]) {
        debug_assert_eq!(pixels.len(), self.pixels());
        let bytes = self.padded(block);
        let signed = self.numeric == Numeric::Snorm;
        match &self.scheme {
            Scheme::Subsampled(channels) => {
                subsampled(channels, &bytes, pixels, |v| v as u16);
                pixels.iter_mut().for_each(|pixel| pixel[3] = 1);
            }
            Scheme::Compressed(compression) => match compression {
                Compression::Bc4 => bc::decode_red(&bytes, signed, pixels),
                Compression::Bc5 => bc::decode_red_green(&bytes, signed, pixels),
                Compression::Bc6h => {
                    bc::decode_halves(&bytes, self.numeric == Numeric::Sfloat, pixels);
                }
                Compression::EacR | Compression::EacRg => {
                    etc::decode_eac(*compression, signed, &bytes, pixels);
                }
                Compression::Astc => {
                    let (size, hdr) =
                        ([self.width_px, self.height_px], self.numeric == Numeric::Sfloat);
                    astc::decode_halves(size, hdr, u128::from_le_bytes(bytes), pixels);
                }
                _ => {}
            },
        }
    }

    /// A block, with zeros after its last byte.
    fn padded(&self, block: &[u8]) -> [u8; 16] {
        let mut bytes = [0; 16];
        let len = block.len().min(self.bytes());
        bytes[..len].copy_from_slice(&block[..len]);
        bytes
    }
}

fn stored(scheme: &Scheme, numeric: Numeric) -> Stored {
    match scheme {
        Scheme::Subsampled(channels) => {
            match channels.as_slice().iter().map(|c| c.bits).max().unwrap_or(8) {
                8 => Stored::Bytes,
                bits => Stored::Fixed(mask(u32::from(bits)) as u16),
            }
        }
        Scheme::Compressed(compression) => match (compression, numeric) {
            (Compression::Bc4 | Compression::Bc5, Numeric::Snorm) => {
                Stored::SignedFixed(bc::SIGNED_ONE)
            }
            (Compression::Bc4 | Compression::Bc5, _) => Stored::Fixed(bc::ONE),
            (Compression::EacR | Compression::EacRg, Numeric::Snorm) => Stored::SignedFixed(1023),
            (Compression::EacR | Compression::EacRg, _) => Stored::Fixed(2047),
            (Compression::Bc6h, _) => Stored::Halves,
            (Compression::Astc, Numeric::Srgb) => Stored::Bytes,
            (Compression::Astc, _) => Stored::Halves,
            _ => Stored::Bytes,
        },
    }
}

/// Decodes the colours of two pixels that share their chroma. The first green is the left pixel's.
fn subsampled<T: Copy>(
    channels: &Channels,
    block: &[u8; 16],
    pixels: &mut [[T; 4]],
    store: impl Fn(u64) -> T,
) {
    let raw = u128::from_le_bytes(*block);
    let mut luma = 0;
    for channel in channels.as_slice() {
        let value = store((raw >> channel.shift) as u64 & mask(u32::from(channel.bits)));
        match channel.component {
            Component::G => {
                pixels[luma][1] = value;
                luma += 1;
            }
            Component::R => pixels.iter_mut().for_each(|p| p[0] = value),
            _ => pixels.iter_mut().for_each(|p| p[2] = value),
        }
    }
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
