//! Surface formats: texels as they stand in memory, and as messages carry them.
//!
//! A format's name says it all: channels from the lowest bits up, their widths, and what the bits
//! mean. [`TABLE`] has the numbers.
//!
//! source: Mesa, isl.h (`isl_format`).

use std::collections::HashMap;
use std::sync::OnceLock;

use half::f16;

/// What a channel's bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// 0 to 1.
    Unorm,
    /// 0 to 1 with the transfer function of sRGB.
    Srgb,
    /// -1 to 1.
    Snorm,
    /// An unsigned number.
    Uint,
    /// A number in two's complement.
    Sint,
    /// A float of 32, 16, 11 or 10 bits; those of 11 and 10 have no sign.
    Float,
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Channel {
    /// Which of red, green, blue and alpha it is; none for unused bits.
    component: Option<usize>,
    /// The first bit.
    shift: u32,
    /// Bits.
    width: u32,
    meaning: Meaning,
}

/// A format.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    /// Bytes of a texel.
    pub bytes: usize,
    channels: Vec<Channel>,
}

/// Numbers and names of the formats that texels can be read and written in.
const TABLE: &[(u32, &str)] = &[
    (0x000, "R32G32B32A32_FLOAT"),
    (0x001, "R32G32B32A32_SINT"),
    (0x002, "R32G32B32A32_UINT"),
    (0x006, "R32G32B32X32_FLOAT"),
    (0x040, "R32G32B32_FLOAT"),
    (0x041, "R32G32B32_SINT"),
    (0x042, "R32G32B32_UINT"),
    (0x080, "R16G16B16A16_UNORM"),
    (0x081, "R16G16B16A16_SNORM"),
    (0x082, "R16G16B16A16_SINT"),
    (0x083, "R16G16B16A16_UINT"),
    (0x084, "R16G16B16A16_FLOAT"),
    (0x085, "R32G32_FLOAT"),
    (0x086, "R32G32_SINT"),
    (0x087, "R32G32_UINT"),
    (0x08e, "R16G16B16X16_UNORM"),
    (0x08f, "R16G16B16X16_FLOAT"),
    (0x0c0, "B8G8R8A8_UNORM"),
    (0x0c1, "B8G8R8A8_UNORM_SRGB"),
    (0x0c2, "R10G10B10A2_UNORM"),
    (0x0c4, "R10G10B10A2_UINT"),
    (0x0c7, "R8G8B8A8_UNORM"),
    (0x0c8, "R8G8B8A8_UNORM_SRGB"),
    (0x0c9, "R8G8B8A8_SNORM"),
    (0x0ca, "R8G8B8A8_SINT"),
    (0x0cb, "R8G8B8A8_UINT"),
    (0x0cc, "R16G16_UNORM"),
    (0x0cd, "R16G16_SNORM"),
    (0x0ce, "R16G16_SINT"),
    (0x0cf, "R16G16_UINT"),
    (0x0d0, "R16G16_FLOAT"),
    (0x0d1, "B10G10R10A2_UNORM"),
    (0x0d3, "R11G11B10_FLOAT"),
    (0x0d6, "R32_SINT"),
    (0x0d7, "R32_UINT"),
    (0x0d8, "R32_FLOAT"),
    (0x0e9, "B8G8R8X8_UNORM"),
    (0x0eb, "R8G8B8X8_UNORM"),
    (0x100, "B5G6R5_UNORM"),
    (0x102, "B5G5R5A1_UNORM"),
    (0x104, "B4G4R4A4_UNORM"),
    (0x106, "R8G8_UNORM"),
    (0x107, "R8G8_SNORM"),
    (0x108, "R8G8_SINT"),
    (0x109, "R8G8_UINT"),
    (0x10a, "R16_UNORM"),
    (0x10b, "R16_SNORM"),
    (0x10c, "R16_SINT"),
    (0x10d, "R16_UINT"),
    (0x10e, "R16_FLOAT"),
    (0x11a, "B5G5R5X1_UNORM"),
    (0x124, "A1B5G5R5_UNORM"),
    (0x125, "A4B4G4R4_UNORM"),
    (0x140, "R8_UNORM"),
    (0x141, "R8_SNORM"),
    (0x142, "R8_SINT"),
    (0x143, "R8_UINT"),
    (0x144, "A8_UNORM"),
    (0x1ba, "B10G10R10A2_UINT"),
];

/// The format of a number.
pub(crate) fn find(number: u32) -> Option<&'static Format> {
    static FORMATS: OnceLock<HashMap<u32, Format>> = OnceLock::new();
    let formats = FORMATS.get_or_init(|| {
        TABLE.iter().filter_map(|&(number, name)| Some((number, parse(name)?))).collect()
    });
    formats.get(&number)
}

/// Takes a name apart: letters with widths, then what the bits mean.
fn parse(name: &str) -> Option<Format> {
    let (channels, meaning) = name.split_once('_')?;
    let meaning = match meaning {
        "UNORM" => Meaning::Unorm,
        "UNORM_SRGB" => Meaning::Srgb,
        "SNORM" => Meaning::Snorm,
        "UINT" => Meaning::Uint,
        "SINT" => Meaning::Sint,
        "FLOAT" => Meaning::Float,
        _ => return None,
    };
    let mut list = Vec::new();
    let (mut shift, mut rest) = (0, channels);
    while let Some(letter) = rest.chars().next() {
        let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1);
        let width: u32 = rest[1..1 + digits].parse().ok()?;
        let component = "RGBA".find(letter);
        // Alpha is linear.
        let linear = meaning == Meaning::Srgb && component == Some(3);
        let meaning = if linear { Meaning::Unorm } else { meaning };
        list.push(Channel { component, shift, width, meaning });
        shift += width;
        rest = &rest[1 + digits..];
    }
    Some(Format { bytes: shift as usize / 8, channels: list })
}

impl Format {
    /// What 1 is in the format's kind of numbers.
    pub fn one(&self) -> u32 {
        match self.channels.first().map(|c| c.meaning) {
            Some(Meaning::Uint | Meaning::Sint) => 1,
            _ => 1.0f32.to_bits(),
        }
    }

    /// The four components of a texel: floats, or integers of 32 bits. Missing colours are 0, a
    /// missing alpha is 1.
    pub fn unpack(&self, texel: &[u8]) -> [u32; 4] {
        let mut value = [0, 0, 0, self.one()];
        let bits = bits_of(texel);
        for channel in &self.channels {
            if let Some(component) = channel.component {
                value[component] = channel.decode((bits >> channel.shift) as u32);
            }
        }
        value
    }

    /// The four components of a texel as typed reads return them: formats that the data port does not
    /// convert come as their bits, 32 to a component.
    ///
    /// source: Mesa, isl_storage_image.c (`isl_lower_storage_image_format` on Gen9): shaders read
    /// surfaces of these formats as if they were R32_UINT or R32G32_UINT, and convert themselves.
    pub fn read(&self, texel: &[u8]) -> [u32; 4] {
        let first = self.channels.first();
        let even = self.channels.iter().all(|c| Some(c.width) == first.map(|f| f.width));
        let number = matches!(
            first.map(|c| c.meaning),
            Some(Meaning::Uint | Meaning::Sint | Meaning::Float)
        );
        if even && number {
            return self.unpack(texel);
        }
        let bits = bits_of(texel);
        [bits as u32, (bits >> 32) as u32, 0, 1]
    }

    /// Writes a texel. Integers that do not fit are clamped.
    pub fn pack(&self, value: [u32; 4], texel: &mut [u8]) {
        let mut bits = 0u128;
        for channel in &self.channels {
            if let Some(component) = channel.component {
                bits |= u128::from(channel.encode(value[component])) << channel.shift;
            }
        }
        texel.copy_from_slice(&bits.to_le_bytes()[..texel.len()]);
    }
}

impl Format {
    /// Writes the components of `write` of a texel; the others keep their bits.
    pub fn pack_some(&self, value: [u32; 4], write: [bool; 4], texel: &mut [u8]) {
        let mut bits = bits_of(texel);
        for channel in &self.channels {
            if let Some(component) = channel.component.filter(|&c| write[c]) {
                let mask = u128::from(u32::MAX >> (32 - channel.width)) << channel.shift;
                bits = bits & !mask | u128::from(channel.encode(value[component])) << channel.shift;
            }
        }
        texel.copy_from_slice(&bits.to_le_bytes()[..texel.len()]);
    }
}

fn bits_of(texel: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..texel.len()].copy_from_slice(texel);
    u128::from_le_bytes(bytes)
}

impl Channel {
    fn decode(&self, raw: u32) -> u32 {
        let unused = 32 - self.width;
        let raw = raw << unused >> unused;
        let signed = (raw << unused) as i32 >> unused;
        match self.meaning {
            Meaning::Uint => raw,
            Meaning::Sint => signed as u32,
            Meaning::Unorm => {
                let most = (u32::MAX >> unused) as f64;
                ((f64::from(raw) / most) as f32).to_bits()
            }
            Meaning::Srgb => {
                let value = f64::from(raw) / f64::from(u32::MAX >> unused);
                let linear = match value <= 0.04045 {
                    true => value / 12.92,
                    false => ((value + 0.055) / 1.055).powf(2.4),
                };
                (linear as f32).to_bits()
            }
            Meaning::Snorm => {
                let most = (u32::MAX >> unused >> 1) as f64;
                ((f64::from(signed) / most).max(-1.0) as f32).to_bits()
            }
            Meaning::Float => match self.width {
                32 => raw,
                16 => f16::from_bits(raw as u16).to_f32().to_bits(),
                // 5 bits of exponent like those of 16 bits, and fewer of fraction.
                width => f16::from_bits((raw << (15 - width)) as u16).to_f32().to_bits(),
            },
        }
    }

    fn encode(&self, value: u32) -> u32 {
        let unused = 32 - self.width;
        let most = u32::MAX >> unused;
        let float = f32::from_bits(value);
        match self.meaning {
            Meaning::Uint => value.min(most),
            Meaning::Sint => {
                let high = (most >> 1) as i32;
                (value as i32).clamp(-high - 1, high) as u32 & most
            }
            Meaning::Unorm => {
                let clamped = if float > 0.0 { float.min(1.0) } else { 0.0 };
                (f64::from(clamped) * f64::from(most)).round_ties_even() as u32
            }
            Meaning::Srgb => {
                let clamped = f64::from(if float > 0.0 { float.min(1.0) } else { 0.0 });
                let value = match clamped <= 0.003_130_8 {
                    true => clamped * 12.92,
                    false => 1.055 * clamped.powf(1.0 / 2.4) - 0.055,
                };
                (value * f64::from(most)).round_ties_even() as u32
            }
            Meaning::Snorm => {
                let clamped = if float.is_nan() { 0.0 } else { float.clamp(-1.0, 1.0) };
                let scaled = f64::from(clamped) * f64::from(most >> 1);
                scaled.round_ties_even() as i32 as u32 & most
            }
            Meaning::Float => match self.width {
                32 => value,
                16 => f16::from_f32(float).to_bits().into(),
                width => small_float(float, width),
            },
        }
    }
}

/// A float without a sign: 5 bits of exponent, `width` - 5 of fraction. Negative numbers are 0;
/// numbers are rounded towards 0, as images of such formats are written.
fn small_float(value: f32, width: u32) -> u32 {
    let fraction = width - 5;
    let infinity = 0x1f << fraction;
    if value.is_nan() {
        return infinity | 1;
    }
    if value <= 0.0 {
        return 0;
    }
    if value.is_infinite() {
        return infinity;
    }
    // The largest finite number stands for all above it.
    let exponent = (value.to_bits() >> 23) as i32 - 127;
    if exponent > 15 {
        return infinity - 1;
    }
    let scale = f64::from(exponent.max(-14));
    let steps = f64::from(value) / (scale - f64::from(fraction)).exp2();
    let base = if exponent < -14 { 0 } else { ((exponent + 15) as u32) << fraction };
    let below = if exponent < -14 { 0 } else { 1 << fraction };
    base + (steps as u32 - below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str) -> &'static Format {
        let row = TABLE.iter().find(|row| row.1 == name).unwrap();
        find(row.0).unwrap()
    }

    #[test]
    fn every_row_is_a_format_of_whole_bytes() {
        for &(number, name) in TABLE {
            let format = find(number).expect(name);
            let bits: u32 = format.channels.iter().map(|c| c.width).sum();
            assert_eq!(bits as usize, 8 * format.bytes, "{name}");
        }
    }

    #[test]
    fn all_texels_of_small_formats_survive() {
        for &(number, name) in TABLE.iter().filter(|row| !row.1.contains('X')) {
            let format = find(number).unwrap();
            if format.bytes > 2 || name.contains("FLOAT") {
                continue;
            }
            for raw in 0..1u32 << (8 * format.bytes) {
                let texel = &raw.to_le_bytes()[..format.bytes];
                let mut back = vec![0; format.bytes];
                format.pack(format.unpack(texel), &mut back);
                // The least SNORM has a twin.
                if name.contains("SNORM") {
                    assert_eq!(format.unpack(&back), format.unpack(texel), "{name} {raw:#x}");
                } else {
                    assert_eq!(back, texel, "{name} {raw:#x}");
                }
            }
        }
    }

    #[test]
    fn small_floats_survive() {
        let packed = format("R11G11B10_FLOAT");
        for raw in (0..0x7c0u32).chain([0x7c0]) {
            let bits = raw | raw << 11 | (raw >> 1) << 22;
            let mut back = [0; 4];
            packed.pack(packed.unpack(&bits.to_le_bytes()), &mut back);
            assert_eq!(u32::from_le_bytes(back), bits, "{raw:#x}");
        }
    }
}
