//! Block-compressed texels: decoding through a small cache.

use tepui_format::block::BlockCodec;
use tepui_format::{Compression, Format};

use crate::cache::{Cache, hash};
use crate::unpack::{Kind, Unpacker};
use crate::{Row, lanes};

/// A texel of a block: floats, after the sRGB curve.
type Texel = [f32; 4];

/// The decoded blocks of a worker, by format and bits: they do not age when memory changes.
pub struct Blocks {
    cache: Cache<(Format, [u32; 4]), Box<[Texel]>>,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks { cache: Cache::new(64) }
    }
}

impl Blocks {
    /// Replaces the words of blocks by the channels of one of their texels, as floats' bits.
    pub fn decode<const N: usize>(
        &mut self,
        unpacker: &Unpacker,
        exec: u32,
        x: &Row<N>,
        y: &Row<N>,
        words: &mut [Row<N>; 4],
    ) {
        let Kind::Block(compression, _) = unpacker.kind else { return };
        // Their texels come decoded: their words are those of four blocks.
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

/// The texels of a block, row after row; none of a format without a codec.
fn decode(format: Format, bits: &[u32; 4]) -> Box<[Texel]> {
    let Ok(codec) = BlockCodec::new(format) else { return Box::default() };
    let mut texels = vec![[0.0; 4]; codec.pixels()];
    codec.decode(bits.map(u32::to_le_bytes).as_flattened(), &mut texels);
    texels.into_boxed_slice()
}

#[cfg(test)]
mod tests;
