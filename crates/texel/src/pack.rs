//! Packs channels, one texel per lane, into the bits of texels.

use tepui_format::Format;
use tepui_format::info::{Channels, Component, Encoding, Numeric};
use tepui_format::texel::{TexelCodec, srgb};

use crate::extended::{self, Extended};
use crate::{FormatError, Kernels, Row, TextureUnit, half, lanes};

/// Conversion of channels to the bits of a texel.
#[derive(Clone, Copy)]
pub struct Packer {
    /// The format, or one of the same size.
    pub format: Format,
    codec: TexelCodec,
    kind: Kind,
    channels: u32,
    fields: [Field; 4],
}

/// Position of a channel's bits.
#[derive(Clone, Copy, Default)]
struct Field {
    word: u32,
    shift: u32,
    bits: u32,
}

/// Number format of all channels of a format whose rows are packed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fixed {
    Unorm,
    Snorm,
    /// sRGB, with alpha as in `Unorm`.
    Srgb,
    Half,
    Uint,
    Sint,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One 32-bit channel a word: bits as they are.
    Words(usize),
    /// Channels of at most 16 bits, all lanes together.
    Rows(Fixed),
    /// Fixed point of extended range.
    Extended(Extended),
    /// Anything else, by the codec.
    Float,
    Integer,
}

impl Packer {
    /// The packer of a format without blocks.
    pub fn new(format: Format) -> Result<Packer, FormatError> {
        let codec = TexelCodec::new(format).map_err(|_| FormatError::NotWritable(format))?;
        let kind = match format {
            Format::R32_UINT | Format::R32_SINT | Format::R32_SFLOAT => Kind::Words(1),
            Format::R32G32_UINT | Format::R32G32_SINT | Format::R32G32_SFLOAT => Kind::Words(2),
            Format::R32G32B32A32_UINT | Format::R32G32B32A32_SINT | Format::R32G32B32A32_SFLOAT => {
                Kind::Words(4)
            }
            _ if codec.is_float() => Kind::Float,
            _ => Kind::Integer,
        };
        let mut packer = Packer { format, codec, kind, channels: 3, fields: [Field::default(); 4] };
        if let Encoding::Plain(channels) = &format.info().encoding {
            packer.channels = channels.as_slice().len() as u32;
            if let (Kind::Float | Kind::Integer, Some(fixed)) = (kind, fixed(channels)) {
                packer.kind = Kind::Rows(fixed);
                for c in channels.as_slice() {
                    packer.fields[index(c.component)] = Field {
                        word: u32::from(c.shift) / 32,
                        shift: u32::from(c.shift) % 32,
                        bits: u32::from(c.bits),
                    };
                }
            }
        }
        Ok(packer)
    }

    /// The packer of a format of extended range.
    pub fn extended(format: Extended) -> Result<Packer, FormatError> {
        let carrier = Packer::new(format.carrier())?;
        Ok(Packer { kind: Kind::Extended(format), channels: format.channels(), ..carrier })
    }

    /// Whether the format holds floats or fixed point rather than integers.
    #[inline]
    pub fn is_float(&self) -> bool {
        self.codec.is_float()
    }

    /// Channels of a texel.
    #[inline]
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Packs the lanes of `exec`. Channels are floats' bits for formats that hold floats, else
    /// integers, in the order of memory; words are the texels' bits, lowest first.
    pub fn pack<const N: usize, U: TextureUnit>(
        &self,
        kernels: &Kernels<N, U>,
        channels: &[Row<N>; 4],
        exec: u32,
        words: &mut [Row<N>; 4],
    ) {
        match self.kind {
            Kind::Words(n) => return words[..n].copy_from_slice(&channels[..n]),
            Kind::Rows(_) => return kernels.pack(self, channels, words),
            Kind::Extended(format) => return extended::pack(format, channels, exec, words),
            Kind::Float | Kind::Integer => {}
        }
        for i in lanes(exec) {
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

fn index(component: Component) -> usize {
    match component {
        Component::R | Component::D | Component::S => 0,
        Component::G => 1,
        Component::B => 2,
        Component::A => 3,
    }
}

/// The number format of all channels, if each has at most 16 bits.
fn fixed(channels: &Channels) -> Option<Fixed> {
    let list = channels.as_slice();
    let red = list.iter().find(|c| index(c.component) == 0)?;
    let fixed = match red.numeric {
        Numeric::Unorm => Fixed::Unorm,
        Numeric::Snorm => Fixed::Snorm,
        Numeric::Srgb => Fixed::Srgb,
        Numeric::Uint => Fixed::Uint,
        Numeric::Sint => Fixed::Sint,
        Numeric::Sfloat if red.bits == 16 => Fixed::Half,
        _ => return None,
    };
    list.iter().all(|c| c.bits <= 16).then_some(fixed)
}

/// Packs all lanes of a format of [`Kind::Rows`].
#[inline(always)]
pub(crate) fn pack_rows<const N: usize, const WIDTH: usize>(
    packer: &Packer,
    channels: &[Row<N>; 4],
    words: &mut [Row<N>; 4],
) {
    let Kind::Rows(fixed) = packer.kind else { return };
    *words = [[0; N]; 4];
    for (c, (row, field)) in channels.iter().zip(&packer.fields).enumerate() {
        if field.bits == 0 {
            continue;
        }
        let (word, all) = (&mut words[field.word as usize], (1u32 << field.bits) - 1);
        // Eight lanes at a time, by value: what is left of a row would be compiled in vectors of four, of two, and singly.
        macro_rules! each {
            ($v:ident => $bits:expr) => {
                for (word, row) in
                    word.as_chunks_mut::<8>().0.iter_mut().zip(row.as_chunks::<8>().0)
                {
                    let (row, mut out) = (*row, *word);
                    for i in 0..8 {
                        let $v = row[i];
                        out[i] |= ($bits & all) << field.shift;
                    }
                    *word = out;
                }
            };
        }
        match fixed {
            Fixed::Unorm => each!(v => rounded::<WIDTH>(f32::from_bits(v), 0.0, all)),
            Fixed::Srgb if c == 3 => each!(v => rounded::<WIDTH>(f32::from_bits(v), 0.0, all)),
            Fixed::Snorm => each!(v => rounded::<WIDTH>(f32::from_bits(v), -1.0, all >> 1)),
            Fixed::Srgb => each!(v => u32::from(srgb::encode(f32::from_bits(v)))),
            Fixed::Half => each!(v => half::narrow(f32::from_bits(v))),
            Fixed::Uint => each!(v => v.min(all)),
            Fixed::Sint => {
                let most = (all >> 1) as i32;
                each!(v => (v as i32).max(-most - 1).min(most) as u32);
            }
        }
    }
}

/// A float from `least` (0 or -1) to 1 times `most`, rounded once, ties to even; NaN becomes 0.
/// Bits above those of `most`, which has at most 16, are of no meaning.
#[inline(always)]
fn rounded<const WIDTH: usize>(value: f32, least: f32, most: u32) -> u32 {
    /// Added to a number, these leave the nearest integer in the lowest bits.
    const INTEGERS: f64 = 6_755_399_441_055_744.0;
    const FEW_INTEGERS: f32 = 12_582_912.0;
    let value = if value.is_nan() { 0.0 } else { value };
    let value = if value > least { value } else { least };
    let value = if value < 1.0 { value } else { 1.0 };
    if WIDTH >= 8 {
        // Such hosts round but once.
        return value.mul_add(most as f32, FEW_INTEGERS).to_bits();
    }
    // The product is exact in double precision.
    (f64::from(value) * f64::from(most) + INTEGERS).to_bits() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::Unit;

    const LANES: usize = 32;
    type Row = crate::Row<LANES>;

    /// Every format that has a codec has the codec's bits, but for the fractions of NaNs.
    #[test]
    fn agrees_with_the_codec() {
        let special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, f32::INFINITY, f32::NEG_INFINITY];
        let mut seed = 1u32;
        let mut seen = 0;
        for format in Format::all() {
            let Ok(packer) = Packer::new(format) else { continue };
            if !matches!(packer.kind, Kind::Rows(_)) {
                continue;
            }
            seen += 1;
            for round in 0..40 {
                let channels: [Row; 4] = std::array::from_fn(|_| {
                    std::array::from_fn(|i| {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let bits = seed ^ seed >> 16;
                        let unit = bits as f32 / 2f32.powi(31) - 1.0;
                        match (packer.is_float(), round % 4) {
                            (true, 0) => special[i % special.len()].to_bits(),
                            // Halfway between two values of 8 bits, or next to it.
                            (true, 1) => {
                                ((unit * 255.0).floor() + 0.5).mul_add(1.0 / 255.0, 0.0).to_bits()
                            }
                            (true, 2) if !f32::from_bits(bits).is_nan() => bits,
                            (true, _) => unit.to_bits(),
                            (false, 0) => bits,
                            (false, _) => (bits as i32 >> (bits % 32)) as u32,
                        }
                    })
                });
                let mut words = [[0; LANES]; 4];
                packer.pack(Kernels::<LANES, Unit>::of_host(), &channels, u32::MAX, &mut words);
                for i in 0..LANES {
                    let value = channels.map(|c| c[i]);
                    let want = match packer.is_float() {
                        true => packer.codec.pack_f32(value.map(f32::from_bits)),
                        false => packer.codec.pack_u32(value),
                    };
                    let got = (0..4).fold(0, |all, w| all | u128::from(words[w][i]) << (32 * w));
                    assert_eq!(got, want, "{format} {value:x?}");
                }
            }
        }
        assert!(seen > 40, "{seen}");
    }
}
