//! Channels, a lane each, to the bits of texels: the pixel back end's conversions.

use tepui_format::Format;
use tepui_format::info::Encoding;
use tepui_format::texel::TexelCodec;

use crate::error::Unsupported;
use crate::{LANES, Row};

/// How channels become the bits of a texel.
#[derive(Clone, Copy)]
pub struct Packer {
    codec: TexelCodec,
    kind: Kind,
    channels: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One 32-bit channel a word: bits as they are.
    Words(usize),
    /// Anything else, by the codec.
    Float,
    Integer,
}

impl Packer {
    /// How texels of a format are packed; the pixel back end writes no blocks.
    pub fn new(format: Format) -> Result<Packer, Unsupported> {
        let codec = TexelCodec::new(format).map_err(|_| Unsupported::NotWritable(format))?;
        let kind = match format {
            Format::R32_UINT | Format::R32_SINT | Format::R32_SFLOAT => Kind::Words(1),
            Format::R32G32_UINT | Format::R32G32_SINT | Format::R32G32_SFLOAT => Kind::Words(2),
            Format::R32G32B32A32_UINT | Format::R32G32B32A32_SINT | Format::R32G32B32A32_SFLOAT => {
                Kind::Words(4)
            }
            _ if codec.is_float() => Kind::Float,
            _ => Kind::Integer,
        };
        let channels = match &format.info().encoding {
            Encoding::Plain(channels) => channels.as_slice().len() as u32,
            _ => 3,
        };
        Ok(Packer { codec, kind, channels })
    }

    /// Whether the format holds floats or fixed point rather than integers.
    pub fn is_float(&self) -> bool {
        self.codec.is_float()
    }

    /// Channels of a texel.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Packs the lanes of `exec`. Channels are floats' bits for formats that hold floats, else
    /// integers, in the order of memory; words are the texels' bits, lowest first.
    pub fn pack(&self, channels: &[Row; 4], exec: u32, words: &mut [Row; 4]) {
        if let Kind::Words(n) = self.kind {
            words[..n].copy_from_slice(&channels[..n]);
            return;
        }
        for i in 0..LANES {
            if exec >> i & 1 == 0 {
                continue;
            }
            let value = [channels[0][i], channels[1][i], channels[2][i], channels[3][i]];
            let bits = match self.kind {
                Kind::Integer => self.codec.pack_u32(value),
                _ => self.codec.pack_f32(value.map(f32::from_bits)),
            };
            for (w, word) in words.iter_mut().enumerate() {
                word[i] = (bits >> (32 * w)) as u32;
            }
        }
    }
}
