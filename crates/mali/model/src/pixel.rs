//! Pixel formats of descriptors.
//!
//! A descriptor's 22 bits are the order of the components, the format from bit 12 on, and whether it
//! is sRGB.
//!
// source: Mesa, pan_format.h (`MALI_PACK_FMT`), pan_format.c, v10.xml ("Format", "RGB Component
// Order").

use tepui_format::Format;
use tepui_format::info::{Encoding, Numeric};
use tepui_format::texel::{TexelCodec, load};
use tepui_mali_packets::texture::{ComponentOrder, Format as Code};

/// A pixel format.
#[derive(Clone)]
pub struct PixelFormat {
    codec: TexelCodec,
    /// The channel of each stored component: 0 to 3, or none.
    channels: [Option<usize>; 4],
    /// What channels are that no component holds: 0 or 1.
    missing: [bool; 4],
    /// Numbers are stored with a sign.
    signed: bool,
    /// Channels that texels have.
    present: [bool; 4],
    /// Texels are normalised fixed point without a sign.
    unorm: bool,
}

/// Four channels in registers of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Floats.
    Float,
    /// Integers with a sign.
    Signed,
    /// Integers without one.
    Unsigned,
}

impl PixelFormat {
    /// The format of a descriptor. `None` if the model does not know it.
    pub fn new(bits: u32) -> Option<PixelFormat> {
        let code = Code::from_raw(u64::from(bits >> 12 & 0xff))?;
        let order = ComponentOrder::from_raw(u64::from(bits & 0xff))?;
        let srgb = bits >> 20 & 1 != 0;
        let format: Format = name(code, srgb)?.parse().ok()?;
        let mut channels = [None; 4];
        let mut missing = [false, false, false, true];
        let order = order.to_string();
        if order.len() != 4 {
            return None;
        }
        for (component, letter) in order.chars().enumerate() {
            channels[component] = match letter {
                'R' => Some(0),
                'G' => Some(1),
                'B' => Some(2),
                'A' => Some(3),
                '1' | '0' => {
                    missing[component] = letter == '1';
                    None
                }
                _ => return None,
            };
        }
        let signed = format.name().ends_with("_SINT");
        let unorm = matches!(format.info().numeric(), Numeric::Unorm | Numeric::Srgb);
        let components = match &format.info().encoding {
            Encoding::Plain(channels) => channels.as_slice().len(),
            Encoding::SharedExponent => 3,
            _ => 1,
        };
        let mut present = [false; 4];
        for channel in channels.iter().take(components).flatten() {
            present[*channel] = true;
        }
        let codec = TexelCodec::new(format).ok()?;
        Some(PixelFormat { codec, channels, missing, signed, present, unorm })
    }

    /// The format of a tile's pixels: as [`PixelFormat::new`], and those of the formats that are
    /// blended.
    pub fn of_tile(bits: u32) -> Option<PixelFormat> {
        let code = Code::from_raw(u64::from(bits >> 12 & 0xff))?;
        let plain = match code {
            Code::Rgba8Tb => Code::Rgba8Unorm,
            Code::Rgb10A2Tb => Code::Rgb10A2Unorm,
            Code::Rgb5A1Au | Code::Rgb5A1Pu => Code::Rgb5A1Unorm,
            Code::R5g6b5Au | Code::R5g6b5Pu => Code::Rgb565,
            Code::Rgba4Au | Code::Rgba4Pu => Code::Rgba4Unorm,
            _ => return PixelFormat::new(bits),
        };
        PixelFormat::new(bits & !(0xff << 12) | (plain.raw() as u32) << 12)
    }

    /// What the constant of a blend descriptor stands for: fixed point of the bits of the format's
    /// largest component, in the upper ones of sixteen, or a float where the format has floats.
    pub fn constant(bits: u32, constant: u32) -> f32 {
        let most = match Code::from_raw(u64::from(bits >> 12 & 0xff)) {
            Some(Code::Rgba8Tb) => 8,
            Some(Code::Rgb10A2Tb) => 10,
            Some(Code::Rgb5A1Au | Code::Rgb5A1Pu) => 5,
            Some(Code::R5g6b5Au | Code::R5g6b5Pu) => 6,
            Some(Code::Rgba4Au | Code::Rgba4Pu) => 4,
            _ => return half::f16::from_bits(constant as u16).to_f32(),
        };
        let one = ((1u32 << most) - 1) << (16 - most);
        constant as f32 / one as f32
    }

    /// Bytes of a pixel.
    pub fn bytes(&self) -> usize {
        self.codec.bytes()
    }

    /// What the format's numbers are in registers of 32 bits.
    pub fn kind(&self) -> Kind {
        match (self.codec.is_float(), self.signed) {
            (true, _) => Kind::Float,
            (false, true) => Kind::Signed,
            (false, false) => Kind::Unsigned,
        }
    }

    /// Whether texels are normalised fixed point without a sign.
    pub fn is_unorm(&self) -> bool {
        self.unorm
    }

    /// Channels as texels of the format have them: those that are missing become 0 or 1.
    pub fn present(&self, channels: [u32; 4], kind: Kind) -> [u32; 4] {
        let one = if kind == Kind::Float { 1f32.to_bits() } else { 1 };
        std::array::from_fn(|c| match self.present[c] {
            true => channels[c],
            false if self.missing[c] => one,
            false => 0,
        })
    }

    /// As [`PixelFormat::unpack`] of components that were decoded already.
    pub fn ordered(&self, components: [f32; 4]) -> [u32; 4] {
        let mut out = self.missing.map(|one| if one { 1f32.to_bits() } else { 0 });
        for (component, channel) in self.channels.iter().enumerate() {
            if let Some(channel) = channel {
                out[*channel] = components[component].to_bits();
            }
        }
        out
    }

    /// The channels of a pixel, as bits of floats or integers.
    pub fn unpack(&self, bytes: &[u8], kind: Kind) -> [u32; 4] {
        let raw = load(bytes);
        let components = match kind {
            Kind::Float => self.codec.unpack_f32(raw).map(f32::to_bits),
            Kind::Signed | Kind::Unsigned => self.codec.unpack_u32(raw),
        };
        let one = if kind == Kind::Float { 1f32.to_bits() } else { 1 };
        let mut out: [u32; 4] = std::array::from_fn(|i| if self.missing[i] { one } else { 0 });
        for (component, channel) in self.channels.iter().enumerate() {
            if let Some(channel) = channel {
                out[*channel] = components[component];
            }
        }
        out
    }

    /// The bytes of a pixel, of which [`PixelFormat::bytes`] count.
    pub fn pack(&self, channels: [u32; 4], kind: Kind) -> [u8; 16] {
        let mut components = [0; 4];
        for (component, channel) in self.channels.iter().enumerate() {
            if let Some(channel) = channel {
                components[component] = channels[*channel];
            }
        }
        let raw = match kind {
            Kind::Float => self.codec.pack_f32(components.map(f32::from_bits)),
            Kind::Signed => self.codec.pack_i32(components.map(|v| v as i32)),
            Kind::Unsigned => self.codec.pack_u32(components),
        };
        raw.to_le_bytes()
    }
}

/// The name of the format whose first component is in the lowest bits.
fn name(code: Code, srgb: bool) -> Option<String> {
    let text = code.to_string();
    let packed = match text.as_str() {
        "RGB565" => Some("B5G6R5_UNORM_PACK16"),
        "RGBA4 UNORM" => Some("A4B4G4R4_UNORM_PACK16"),
        "RGB5 A1 UNORM" => Some("A1B5G5R5_UNORM_PACK16"),
        "RGB10 A2 UNORM" => Some("A2B10G10R10_UNORM_PACK32"),
        "RGB10 A2 SNORM" => Some("A2B10G10R10_SNORM_PACK32"),
        "RGB10 A2UI" => Some("A2B10G10R10_UINT_PACK32"),
        "RGB10 A2I" => Some("A2B10G10R10_SINT_PACK32"),
        "R11F G11F B10F" => Some("B10G11R11_UFLOAT_PACK32"),
        "R9F G9F B9F E5F" => Some("E5B9G9R9_UFLOAT_PACK32"),
        // Depth and stencil read as red.
        "Z32" => Some("R32_SFLOAT"),
        "Z16 UNORM" => Some("R16_UNORM"),
        "Z24X8 UNORM" => Some("X8_D24_UNORM_PACK32"),
        "S8" => Some("R8_UINT"),
        _ => None,
    };
    if let Some(packed) = packed {
        return Some(packed.to_owned());
    }
    // Letters, a number of bits, and what the bits are: "RGBA8 UNORM", "RG16F", "R32UI".
    let letters = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[letters..];
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (channels, bits) = (&text[..letters], &rest[..digits]);
    let numeric = match rest[digits..].trim() {
        "UNORM" if srgb => "SRGB",
        "UNORM" => "UNORM",
        "SNORM" => "SNORM",
        "UI" => "UINT",
        "I" => "SINT",
        "F" => "SFLOAT",
        _ => return None,
    };
    let parts: String = channels.chars().map(|c| format!("{c}{bits}")).collect();
    Some(format!("{parts}_{numeric}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(code: Code, order: ComponentOrder) -> PixelFormat {
        PixelFormat::new((code.raw() << 12 | order.raw()) as u32).expect("a format")
    }

    #[test]
    fn components_go_to_their_channels() {
        let rgba = format(Code::Rgba8Unorm, ComponentOrder::Rgba);
        let one = 1f32.to_bits();
        assert_eq!(rgba.unpack(&[255, 0, 255, 0], Kind::Float), [one, 0, one, 0]);
        let bgra = format(Code::Rgba8Unorm, ComponentOrder::Bgra);
        assert_eq!(bgra.unpack(&[255, 0, 0, 255], Kind::Float), [0, 0, one, one]);
        assert_eq!(bgra.pack([0, 0, one, one], Kind::Float)[..4], [255, 0, 0, 255]);
        let integers = format(Code::Rg16i, ComponentOrder::Rgb1);
        assert_eq!((integers.bytes(), integers.kind()), (4, Kind::Signed));
        let found = integers.unpack(&[0xff, 0xff, 5, 0], Kind::Signed);
        assert_eq!(found, [u32::MAX, 5, 0, 1]);
        let packed = integers.pack([(-2i32) as u32, 70_000, 9, 9], Kind::Signed);
        assert_eq!(packed[..4], [0xfe, 0xff, 0xff, 0x7f]);
        let float = format(Code::R32f, ComponentOrder::Rgb1);
        assert_eq!(float.unpack(&2.5f32.to_le_bytes(), Kind::Float), [2.5f32.to_bits(), 0, 0, one]);
        let packed = format(Code::Rgb565, ComponentOrder::Rgb1);
        assert_eq!(packed.unpack(&[0x1f, 0], Kind::Float), [one, 0, 0, one]);
        assert!(PixelFormat::new((Code::Bc1Unorm.raw() << 12) as u32).is_none());
    }
}
