//! Block-compressed texels: decoding through a small cache.

mod etc2;

use tepui_format::block::BlockCodec;
use tepui_format::texel::srgb::decode_table;
use tepui_format::{Compression, Format, Numeric};

use crate::Row;
use crate::cache::{Cache, hash};
use crate::fetch::lanes;
use crate::half;
use crate::unpack::{Kind, Unpacker};

/// A texel of a block: floats, after the sRGB curve.
type Texel = [f32; 4];

/// The decoded blocks of a worker, by format and bits: they do not age when memory changes.
pub(crate) struct Blocks {
    cache: Cache<(Format, [u32; 4]), Box<[Texel]>>,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks { cache: Cache::new(64) }
    }
}

impl Blocks {
    /// Replaces the words of blocks by the channels of one of their texels, as floats' bits.
    pub fn decode(
        &mut self,
        unpacker: &Unpacker,
        exec: u32,
        x: &Row,
        y: &Row,
        words: &mut [Row; 4],
    ) {
        let Kind::Block(compression, numeric) = unpacker.kind else { return };
        // Their texels come decoded: see `pvrtc.rs`.
        if compression == Compression::Pvrtc1 {
            return;
        }
        let block = unpacker.format.info().block;
        let used = block.bytes as usize / 4;
        for i in lanes(exec) {
            let mut bits = [0; 4];
            for (to, word) in bits.iter_mut().zip(words.iter()).take(used) {
                *to = word[i];
            }
            let key = (unpacker.format, bits);
            let spread =
                |_: &_| hash(bits.map(u64::from).into_iter().chain([unpacker.format as u64]));
            let texels = self
                .cache
                .get(&key, spread, |_| decode(unpacker.format, compression, numeric, &bits));
            let at = (y[i] % block.height_px) * block.width_px + x[i] % block.width_px;
            let texel = texels.get(at as usize).copied().unwrap_or_default();
            for (word, value) in words.iter_mut().zip(texel) {
                word[i] = value.to_bits();
            }
        }
    }
}

/// Whether texels of a block format are decoded: all but those of PVRTC2, which the hardware does not
/// have.
pub(crate) fn is_decoded(compression: Compression) -> bool {
    compression != Compression::Pvrtc2
}

/// The texels of a block, row after row.
fn decode(
    format: Format,
    compression: Compression,
    numeric: Numeric,
    bits: &[u32; 4],
) -> Box<[Texel]> {
    let block = format.info().block;
    let mut bytes = [0; 16];
    for (to, word) in bytes.chunks_exact_mut(4).zip(bits) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    let mut out = vec![[0.0, 0.0, 0.0, 1.0]; (block.width_px * block.height_px) as usize];
    let signed = matches!(numeric, Numeric::Snorm | Numeric::Sfloat);
    match compression {
        Compression::Bc1 { .. } | Compression::Bc2 | Compression::Bc3 | Compression::Bc7 => {
            let mut rgba = [0; 64];
            match compression {
                Compression::Bc1 { .. } => bcdec_rs::bc1(&bytes[..8], &mut rgba, 16),
                Compression::Bc2 => bcdec_rs::bc2(&bytes, &mut rgba, 16),
                Compression::Bc3 => bcdec_rs::bc3(&bytes, &mut rgba, 16),
                _ => bcdec_rs::bc7(&bytes, &mut rgba, 16),
            }
            for (texel, from) in out.iter_mut().zip(rgba.chunks_exact(4)) {
                *texel = from_bytes(numeric, [from[0], from[1], from[2], from[3]]);
            }
        }
        Compression::Bc4 => {
            let mut red = [0.0; 16];
            bcdec_rs::bc4_float(&bytes[..8], &mut red, 4, signed);
            out.iter_mut().zip(red).for_each(|(texel, red)| texel[0] = red);
        }
        Compression::Bc5 => {
            let mut both = [0.0; 32];
            bcdec_rs::bc5_float(&bytes, &mut both, 8, signed);
            for (texel, from) in out.iter_mut().zip(both.chunks_exact(2)) {
                texel[..2].copy_from_slice(from);
            }
        }
        Compression::Bc6h => {
            let mut rgb = [0; 48];
            bcdec_rs::bc6h_half(&bytes, &mut rgb, 12, signed);
            for (texel, from) in out.iter_mut().zip(rgb.chunks_exact(3)) {
                for (to, value) in texel.iter_mut().zip(from) {
                    *to = half::widen(u32::from(*value));
                }
            }
        }
        Compression::Etc2Rgb | Compression::Etc2Rgba1 | Compression::Etc2Rgba8 => {
            let rgba = etc2::colours(compression, &bytes);
            for (texel, from) in out.iter_mut().zip(rgba) {
                *texel = from_bytes(numeric, from);
            }
        }
        Compression::EacR | Compression::EacRg => {
            let channels = if compression == Compression::EacRg { 2 } else { 1 };
            for (c, half) in bytes.chunks_exact(8).enumerate().take(channels) {
                for (texel, value) in out.iter_mut().zip(etc2::eleven_bits(half, signed)) {
                    texel[c] = value;
                }
            }
        }
        Compression::Astc if numeric == Numeric::Sfloat => {
            if let Ok(codec) = BlockCodec::new(format) {
                codec.decode(&bytes, &mut out);
            }
        }
        Compression::Astc => {
            let (w, h) = (block.width_px, block.height_px);
            let footprint = astc_decode::Footprint::new(w, h);
            astc_decode::astc_decode_block(&bytes, footprint, |x, y, rgba| {
                if let Some(texel) = out.get_mut((y * w + x) as usize) {
                    *texel = from_bytes(numeric, rgba);
                }
            });
        }
        // The first is decoded elsewhere, the other refused by `is_decoded`.
        Compression::Pvrtc1 | Compression::Pvrtc2 => {}
    }
    out.into_boxed_slice()
}

fn from_bytes(numeric: Numeric, rgba: [u8; 4]) -> Texel {
    let mut out = rgba.map(|v| f32::from(v) / 255.0);
    if numeric == Numeric::Srgb {
        for (to, v) in out.iter_mut().zip(rgba).take(3) {
            *to = decode_table()[usize::from(v)];
        }
    }
    out
}

/// Bits of a channel of a custom border colour, and whether they are signed; `None` for halves.
/// source: Mesa's agx_border.c, `get_channel_info`
pub(crate) fn border_bits(
    compression: Compression,
    numeric: Numeric,
    channel: usize,
) -> Option<(u32, bool)> {
    let signed = numeric == Numeric::Snorm;
    match (compression, numeric) {
        (Compression::EacR | Compression::EacRg, _) => Some((11, signed)),
        (Compression::Bc4 | Compression::Bc5, _) => Some((14, signed)),
        (_, Numeric::Ufloat | Numeric::Sfloat) => None,
        (_, Numeric::Srgb) if channel < 3 => Some((12, false)),
        _ => Some((8, false)),
    }
}

#[cfg(test)]
mod tests;
