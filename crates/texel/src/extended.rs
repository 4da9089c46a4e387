//! Extended range (XR) formats: fixed point of 10 bits for -0.753 to 1.251, in which the 8-bit
//! range 0 to 1 has headroom on both sides.
//!
//! source: Apple's documentation of `MTLPixelFormat.bgr10_xr`, `bgra10_xr` and their sRGB kin,
//! which gives bits, formula and ranges.
//!
//! Whether writes round to the nearest is not documented; here they do.

use tepui_format::Format;

use crate::{Row, lanes};

/// Encoding of zero.
const ZERO: f32 = 384.0;

/// Encoding of one, minus that of zero.
pub(crate) const UNIT: f32 = 510.0;

const LARGEST: f32 = 1023.0;

/// A format of extended range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    /// 16 bits a channel and four channels, rather than 10 bits and three.
    pub wide: bool,
    /// Colours are stored after the sRGB curve, continued beyond 1 and mirrored below 0.
    pub srgb: bool,
}

impl Extended {
    /// A format with texels of the same size.
    pub fn carrier(self) -> Format {
        if self.wide { Format::R16G16B16A16_UNORM } else { Format::A2B10G10R10_UNORM_PACK32 }
    }

    /// Number of channels.
    pub fn channels(self) -> u32 {
        if self.wide { 4 } else { 3 }
    }

    /// Word and shift of a channel's 10 bits.
    pub(crate) fn place(self, channel: usize) -> (usize, u32) {
        let channel = channel as u32;
        if self.wide { (channel as usize / 2, 16 * (channel % 2) + 6) } else { (0, 10 * channel) }
    }

    /// Value of a channel's bits: [`UNIT`] times the value, or the value for sRGB.
    #[inline(always)]
    pub fn decode(self, bits: u32, channel: usize) -> f32 {
        let value = bits as f32 - ZERO;
        match (channel, self.srgb) {
            // Alpha has no extended range.
            (3, _) => value.clamp(0.0, UNIT),
            (_, false) => value,
            (_, true) => curve(value / UNIT, to_linear),
        }
    }

    /// The bits of a channel.
    fn encode(self, value: f32, channel: usize) -> u32 {
        let stored = match (channel, self.srgb) {
            (3, _) => value.clamp(0.0, 1.0),
            (_, false) => value,
            (_, true) => curve(value, to_stored),
        };
        // A NaN stays one here and becomes the smallest as an integer.
        (stored * UNIT + ZERO).round_ties_even().clamp(0.0, LARGEST) as u32
    }

    /// The words of a texel.
    pub(crate) fn pack(self, value: [f32; 4]) -> [u32; 2] {
        let mut words = [0; 2];
        for (channel, value) in value.into_iter().enumerate().take(self.channels() as usize) {
            let (word, shift) = self.place(channel);
            words[word] |= self.encode(value, channel) << shift;
        }
        words
    }
}

/// A curve of positive numbers, mirrored.
fn curve(value: f32, of: fn(f64) -> f64) -> f32 {
    (of(f64::from(value.abs())) as f32).copysign(value)
}

// source: Khronos Data Format Specification, "sRGB transfer functions"
fn to_linear(v: f64) -> f64 {
    if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

fn to_stored(v: f64) -> f64 {
    if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
}

/// Packs rows of floats' bits.
pub(crate) fn pack<const N: usize>(
    format: Extended,
    channels: &[Row<N>; 4],
    exec: u32,
    words: &mut [Row<N>; 4],
) {
    for i in lanes(exec) {
        let value = [0, 1, 2, 3].map(|c: usize| f32::from_bits(channels[c][i]));
        let [low, high] = format.pack(value);
        (words[0][i], words[1][i]) = (low, high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Extended; 4] = [
        Extended { wide: false, srgb: false },
        Extended { wide: false, srgb: true },
        Extended { wide: true, srgb: false },
        Extended { wide: true, srgb: true },
    ];

    fn value(format: Extended, bits: u32, channel: usize) -> f32 {
        let divisor = if format.srgb && channel < 3 { 1.0 } else { UNIT };
        format.decode(bits, channel) / divisor
    }

    /// The ranges that the documentation gives, which the formula does not mention. Its upper ends
    /// are what the formula makes of 1022, not of 1023.
    #[test]
    fn ranges_are_the_documented_ones() {
        for format in ALL {
            let [low, high] = [0, 1022].map(|bits| value(format, bits, 0));
            let want = if format.srgb { [-0.5271, 1.66894] } else { [-0.752941, 1.25098] };
            assert!((low - want[0]).abs() < 1e-4 && (high - want[1]).abs() < 1e-4, "{low} {high}");
            assert_eq!([0, 1023].map(|bits| value(format, bits, 3)), [0.0, 1.0]);
        }
    }

    /// Each value of 8 bits has one of its own: twice the value, and 384.
    #[test]
    fn eight_bits_fit() {
        let format = Extended { wide: true, srgb: false };
        for v in 0..=255u32 {
            assert_eq!(value(format, 2 * v + 384, 1), v as f32 / 255.0);
        }
    }

    #[test]
    fn what_is_written_reads_the_same() {
        for format in ALL {
            for bits in 0..1024 {
                for channel in 0..format.channels() as usize {
                    let mut texel = [0.0; 4];
                    texel[channel] = value(format, bits, channel);
                    let words = format.pack(texel);
                    let (word, shift) = format.place(channel);
                    let want = if channel == 3 { bits.clamp(384, 894) } else { bits };
                    assert_eq!(words[word] >> shift & 1023, want, "{format:?} {channel}");
                }
            }
        }
    }
}
