//! Block-compressed texels: decoding through a small cache.

use tepui_format::block::BlockCodec;
use tepui_format::{Compression, Format, Numeric};

use crate::Row;
use crate::cache::{Cache, hash};
use crate::fetch::lanes;
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
        let Kind::Block(compression, _) = unpacker.kind else { return };
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
            let texels = self.cache.get(&key, spread, |_| decode(unpacker.format, &bits));
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

/// The texels of a block, row after row; none of a format without a codec, which descriptors cannot name.
fn decode(format: Format, bits: &[u32; 4]) -> Box<[Texel]> {
    let Ok(codec) = BlockCodec::new(format) else { return Box::default() };
    let mut texels = vec![[0.0; 4]; codec.pixels()];
    codec.decode(bits.map(u32::to_le_bytes).as_flattened(), &mut texels);
    texels.into_boxed_slice()
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
