//! The bits of texels, a lane each, to channels.
//!
//! Fixed-point channels come out as the integers that are stored, to be divided at the very end
//! ([`Unpacker::divisor`]): a weighted sum of them is exact, where a sum of fractions is not.

use tepui_format::block::{BlockCodec, Stored};
use tepui_format::info::{Channels, Component, Encoding, Numeric};
use tepui_format::texel::srgb::decode_table;
use tepui_format::{Compression, Format};

use crate::extended::{Extended, UNIT};
use crate::half;
use crate::kernels::look_up;
use crate::{Floats, FormatError, Row};

/// Conversion of the bits of a texel to channels. The channels are in the order of memory, named by the
/// descriptor's letters: for A1R5G5B5, red is still the first.
#[derive(Clone, Copy, Debug)]
pub struct Unpacker {
    /// The format.
    pub format: Format,
    /// The numeric type.
    pub kind: Kind,
    /// Source of the bits.
    pub source: Source,
    /// Channels that exist.
    pub count: u32,
    fields: [Field; 4],
    bytes: bool,
    /// Channels of decoded blocks that the format has, the first ones; the others are the same in all texels.
    varying: u32,
    /// Final divisor of each channel.
    pub divisor: [f32; 4],
}

/// A channel's bits.
#[derive(Clone, Copy, Debug, Default)]
struct Field {
    word: u32,
    shift: u32,
    mask: u32,
    /// Bits of a word above the field, for sign extension.
    unused: u32,
}

/// Source of the bits of texels.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Memory.
    Memory,
    /// Decoded blocks: see [`crate::blocks::Blocks`].
    Blocks(BlockCodec),
    /// Four decoded blocks of PVRTC1: bytes.
    Pvrtc1,
}

/// Number format of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fixed point without sign.
    Unorm,
    /// Fixed point with sign.
    Snorm,
    /// Integers without sign.
    Uint,
    /// Integers with sign.
    Sint,
    /// Half floats.
    Half,
    /// Floats.
    Single,
    /// Floats of 11, 11 and 10 bits.
    Ufloat,
    /// 8 bits each, after the sRGB curve but for alpha.
    Srgb,
    /// Three mantissas that share an exponent.
    SharedExponent,
    /// Two texels with a luma each, chroma together.
    Subsampled,
    /// Fixed point of extended range.
    Extended(Extended),
}

impl Unpacker {
    /// The unpacker of a format.
    pub fn new(format: Format) -> Result<Unpacker, FormatError> {
        let info = format.info();
        match &info.encoding {
            Encoding::Plain(channels) => plain(format, channels),
            Encoding::SharedExponent => Ok(Unpacker {
                format,
                kind: Kind::SharedExponent,
                source: Source::Memory,
                count: 3,
                fields: [Field::default(); 4],
                bytes: false,
                varying: 4,
                divisor: [1.0; 4],
            }),
            Encoding::Subsampled(_) => Ok(Unpacker {
                format,
                kind: Kind::Subsampled,
                source: Source::Memory,
                count: 3,
                fields: subsampled(format),
                bytes: false,
                varying: 4,
                divisor: [255.0, 255.0, 255.0, 1.0],
            }),
            // The hardware sees depth and stencil as colours of one channel.
            Encoding::Planar(_) | Encoding::DepthStencil(_) => Err(FormatError::Undecoded(format)),
            Encoding::Compressed(Compression::Pvrtc1, numeric) => {
                Ok(decoded(format, Source::Pvrtc1, Stored::Bytes, *numeric))
            }
            Encoding::Compressed(..) => {
                Unpacker::of_blocks(format).ok_or(FormatError::Undecoded(format))
            }
        }
    }

    /// The unpacker of texels of decoded blocks: of the formats that have a [`BlockCodec`].
    pub fn of_blocks(format: Format) -> Option<Unpacker> {
        let codec = BlockCodec::new(format).ok()?;
        let numeric = format.info().numeric();
        Some(decoded(format, Source::Blocks(codec), codec.stored(), numeric))
    }

    /// The unpacker of a format of extended range.
    pub fn extended(format: Extended) -> Unpacker {
        let divisor = |c: usize| if format.srgb && c < 3 { 1.0 } else { UNIT };
        Unpacker {
            format: format.carrier(),
            kind: Kind::Extended(format),
            source: Source::Memory,
            count: format.channels(),
            fields: std::array::from_fn(|c| {
                let (word, shift) = format.place(c.min(format.channels() as usize - 1));
                Field { word: word as u32, shift, mask: 0x3ff, unused: 22 }
            }),
            bytes: false,
            varying: 4,
            divisor: std::array::from_fn(divisor),
        }
    }

    /// Whether shaders see integers.
    #[inline]
    pub fn is_integer(&self) -> bool {
        matches!(self.kind, Kind::Uint | Kind::Sint)
    }

    /// Whether all channels are bytes of the first word, without sign.
    #[inline(always)]
    pub fn is_bytes(&self) -> bool {
        self.bytes
    }

    /// The value of a channel of decoded blocks that is the same in all texels, before the division.
    #[inline(always)]
    pub fn constant(&self, channel: usize) -> Option<f32> {
        (channel >= self.varying as usize).then_some(if channel == 3 { 1.0 } else { 0.0 })
    }

    /// The number of channels of decoded blocks that are not [`Unpacker::constant`].
    #[inline(always)]
    pub fn varying(&self) -> u32 {
        self.varying
    }

    /// The codec of the blocks that texels come from, if [`crate::blocks::Blocks`] has them.
    #[inline(always)]
    pub fn codec(&self) -> Option<&BlockCodec> {
        match &self.source {
            Source::Blocks(codec) => Some(codec),
            Source::Memory | Source::Pvrtc1 => None,
        }
    }

    /// Whether a filter that weighs one texel with 1 and others with 0 gives that texel bit for bit: channels are never negative
    /// zeros, infinite or not a number.
    #[inline(always)]
    pub fn is_plain_fraction(&self) -> bool {
        matches!(self.kind, Kind::Unorm | Kind::Srgb)
    }

    /// Byte of a channel, for formats whose channels are bytes.
    #[inline(always)]
    pub fn byte(&self, channel: usize) -> usize {
        (self.fields[channel].shift / 8) as usize & 3
    }

    /// The place of a channel in its word.
    #[inline(always)]
    pub fn shift(&self, channel: usize) -> u32 {
        self.fields[channel].shift
    }

    /// The bits of a channel of integers.
    #[inline(always)]
    pub fn integer<const N: usize>(&self, words: &[Row<N>; 4], channel: usize) -> Row<N> {
        let mut out = [0; N];
        self.each_integer(words, channel, |i, value| out[i] = value);
        out
    }

    /// Hands on the bits of a channel of integers, lane by lane: what is done with them is part of
    /// the loop.
    #[inline(always)]
    pub fn each_integer<const N: usize>(
        &self,
        words: &[Row<N>; 4],
        channel: usize,
        mut use_it: impl FnMut(usize, u32),
    ) {
        let f = self.fields[channel];
        let word = &words[f.word as usize];
        if self.kind == Kind::Sint {
            for i in 0..N {
                let top = word[i].wrapping_shl(f.unused.wrapping_sub(f.shift));
                use_it(i, (top as i32).wrapping_shr(f.unused) as u32);
            }
        } else {
            for i in 0..N {
                use_it(i, word[i].wrapping_shr(f.shift) & f.mask);
            }
        }
    }

    /// A channel as floats, not yet divided. `x` are the texels' columns. The width is that of the
    /// vectors of hosts that the caller is compiled for.
    #[inline(always)]
    pub fn float<const N: usize, const WIDTH: usize>(
        &self,
        words: &[Row<N>; 4],
        x: &Row<N>,
        channel: usize,
    ) -> Floats<N> {
        let f = self.fields[channel];
        let word = &words[f.word as usize];
        let mut out = [0.0; N];
        match self.kind {
            Kind::Unorm => {
                for i in 0..N {
                    // At most 16 bits, and signed conversions are the faster ones.
                    out[i] = ((word[i] >> f.shift) & f.mask) as i32 as f32;
                }
            }
            Kind::Uint => {
                for i in 0..N {
                    out[i] = ((word[i] >> f.shift) & f.mask) as f32;
                }
            }
            Kind::Snorm => {
                let lowest = -self.divisor[channel];
                for i in 0..N {
                    let top = word[i].wrapping_shl(f.unused.wrapping_sub(f.shift));
                    let value = ((top as i32) >> f.unused) as f32;
                    // The most negative integer means the same as its neighbour.
                    out[i] = if value < lowest { lowest } else { value };
                }
            }
            Kind::Sint => {
                for i in 0..N {
                    let top = word[i].wrapping_shl(f.unused.wrapping_sub(f.shift));
                    out[i] = ((top as i32) >> f.unused) as f32;
                }
            }
            Kind::Half => {
                for i in 0..N {
                    out[i] = half::widen((word[i] >> f.shift) & 0xffff);
                }
            }
            Kind::Single => {
                for i in 0..N {
                    out[i] = f32::from_bits(word[i]);
                }
            }
            Kind::Ufloat => {
                // The layout is that of a half with fewer mantissa bits and no sign.
                let up = 10 - (f.mask.count_ones() - 5);
                for i in 0..N {
                    out[i] = half::widen(((word[i] >> f.shift) & f.mask) << up);
                }
            }
            Kind::Srgb => {
                if channel == 3 {
                    for i in 0..N {
                        out[i] = ((word[i] >> f.shift) & 0xff) as i32 as f32;
                    }
                } else {
                    look_up::<N, WIDTH>(decode_table(), word, f.shift, &mut out);
                }
            }
            Kind::SharedExponent => {
                if channel < 3 {
                    for i in 0..N {
                        // 2^(exponent - bias - mantissa bits), built from bits: always normal.
                        let scale = f32::from_bits(((word[i] >> 27) + 127 - 15 - 9) << 23);
                        let mantissa = (word[i] >> (9 * channel)) & 0x1ff;
                        out[i] = mantissa as i32 as f32 * scale;
                    }
                }
            }
            Kind::Subsampled => {
                // The first channel is the luma, which each of the two texels has for itself.
                let step = if channel == 0 { 16 } else { 0 };
                for i in 0..N {
                    out[i] = ((word[i] >> (f.shift + step * (x[i] & 1))) & f.mask) as i32 as f32;
                }
            }
            Kind::Extended(format) => {
                for i in 0..N {
                    out[i] = format.decode((word[i] >> f.shift) & f.mask, channel);
                }
            }
        }
        out
    }
}

fn index(component: Component) -> usize {
    match component {
        Component::R | Component::D | Component::S => 0,
        Component::G => 1,
        Component::B => 2,
        Component::A => 3,
    }
}

fn field(shift: u16, bits: u8) -> Field {
    let bits = u32::from(bits);
    Field {
        word: u32::from(shift) / 32,
        shift: u32::from(shift) % 32,
        mask: if bits >= 32 { u32::MAX } else { (1 << bits) - 1 },
        unused: 32 - bits.min(32),
    }
}

fn plain(format: Format, channels: &Channels) -> Result<Unpacker, FormatError> {
    let list = channels.as_slice();
    let (Some(first), Some(red)) = (list.first(), list.iter().find(|c| index(c.component) == 0))
    else {
        return Err(FormatError::Undecoded(format));
    };
    let bits = u32::from(first.bits);
    let kind = match red.numeric {
        Numeric::Unorm => Kind::Unorm,
        Numeric::Snorm => Kind::Snorm,
        Numeric::Uint if bits <= 32 => Kind::Uint,
        Numeric::Sint if bits <= 32 => Kind::Sint,
        Numeric::Sfloat if bits == 16 => Kind::Half,
        Numeric::Sfloat if bits == 32 => Kind::Single,
        Numeric::Ufloat => Kind::Ufloat,
        Numeric::Srgb => Kind::Srgb,
        _ => return Err(FormatError::Undecoded(format)),
    };
    let mut out = Unpacker {
        format,
        kind,
        source: Source::Memory,
        count: list.len() as u32,
        fields: [Field::default(); 4],
        bytes: kind == Kind::Unorm
            && list.iter().all(|c| c.bits == 8 && c.shift < 32 && c.shift % 8 == 0),
        varying: 4,
        divisor: [1.0; 4],
    };
    for c in list {
        let at = index(c.component);
        out.fields[at] = field(c.shift, c.bits);
        out.divisor[at] = match kind {
            Kind::Unorm => out.fields[at].mask as f32,
            Kind::Snorm => (out.fields[at].mask >> 1) as f32,
            Kind::Srgb if at == 3 => 255.0,
            _ => 1.0,
        };
    }
    Ok(out)
}

/// Luma of the first texel, then the two chroma channels. Luma of the second is 16 bits further.
///
/// Assumption: luma (green) is the first channel, then blue, then red, whatever the order of bytes.
/// That is what drivers undo with the swizzle BRG1, and the only order that makes one swizzle right
/// for both formats. source: cmdbuf.xml, "Channels"
fn subsampled(format: Format) -> [Field; 4] {
    let green_first = format == Format::G8B8G8R8_422_UNORM;
    let [g, b, r] = if green_first { [0, 8, 24] } else { [8, 0, 16] };
    [field(g, 8), field(b, 8), field(r, 8), Field::default()]
}

/// The unpacker of texels that were decoded from blocks: four channels, in as many bytes or 16-bit numbers.
fn decoded(format: Format, source: Source, stored: Stored, numeric: Numeric) -> Unpacker {
    let bits = if stored == Stored::Bytes { 8 } else { 16 };
    let (kind, one) = match stored {
        Stored::Bytes if numeric == Numeric::Srgb => (Kind::Srgb, 255.0),
        Stored::Bytes => (Kind::Unorm, 255.0),
        Stored::Fixed(one) => (Kind::Unorm, f32::from(one)),
        Stored::SignedFixed(one) => (Kind::Snorm, f32::from(one)),
        Stored::Halves => (Kind::Half, 1.0),
    };
    Unpacker {
        format,
        kind,
        source,
        count: 4,
        fields: std::array::from_fn(|c| field(c as u16 * bits, bits as u8)),
        bytes: kind == Kind::Unorm && bits == 8,
        varying: varying(format),
        divisor: match (stored, kind) {
            (Stored::Fixed(_) | Stored::SignedFixed(_), _) => [one, one, one, 1.0],
            (_, Kind::Srgb) => [1.0, 1.0, 1.0, one],
            _ => [one; 4],
        },
    }
}

/// The number of channels that a compressed format has.
fn varying(format: Format) -> u32 {
    match &format.info().encoding {
        Encoding::Compressed(Compression::Bc4 | Compression::EacR, _) => 1,
        Encoding::Compressed(Compression::Bc5 | Compression::EacRg, _) => 2,
        Encoding::Compressed(Compression::Bc6h, _) => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use tepui_format::texel::{TexelCodec, load};

    use super::*;

    const LANES: usize = 32;

    /// Every format that has a codec gives the codec's values.
    #[test]
    fn agrees_with_the_codec() {
        let mut seen = 0;
        for format in Format::all() {
            let (Ok(codec), Ok(unpacker)) = (TexelCodec::new(format), Unpacker::new(format)) else {
                continue;
            };
            if codec.bytes() > 16 || !format.info().block.bytes.is_power_of_two() {
                continue;
            }
            seen += 1;
            let mut seed = 1u32;
            for _ in 0..64 {
                let mut bytes = [[0; 16]; LANES];
                let mut words = [[0; LANES]; 4];
                for (lane, texel) in bytes.iter_mut().enumerate() {
                    for w in 0..codec.bytes().div_ceil(4) {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let value = seed ^ seed >> 16;
                        let n = codec.bytes().min(4);
                        texel[4 * w..4 * w + n].copy_from_slice(&value.to_le_bytes()[..n]);
                        let low = if n == 4 { u32::MAX } else { (1 << (8 * n)) - 1 };
                        words[w][lane] = value & low;
                    }
                }
                for c in 0..unpacker.count as usize {
                    let floats = unpacker.float::<LANES, 4>(&words, &[0; LANES], c);
                    let ints = unpacker.integer(&words, c);
                    for lane in 0..LANES {
                        let raw = load(&bytes[lane][..codec.bytes()]);
                        let want = codec.unpack_f32(raw)[c];
                        let got = floats[lane] / unpacker.divisor[c];
                        assert!(
                            got == want || got.is_nan() && want.is_nan(),
                            "{format} {c}: {got} {want}"
                        );
                        if unpacker.is_integer() {
                            assert_eq!(ints[lane], codec.unpack_u32(raw)[c], "{format}");
                        }
                    }
                }
            }
        }
        assert!(seen > 60, "{seen}");
    }
}
