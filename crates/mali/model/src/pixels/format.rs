//! Pixel formats of descriptors.
//!
//! The 22 bits in a descriptor are the order of the components, the format from bit 12 on, and an sRGB flag.
//!
// source: Mesa, pan_format.h (`MALI_PACK_FMT`), pan_format.c, v10.xml ("Format", "RGB Component
// Order").

use std::sync::LazyLock;

use tepui_format::Format;
use tepui_format::info::{Component, Encoding, Numeric};
use tepui_format::texel::{TexelCodec, load};
use tepui_mali_packets::texture::{ComponentOrder, Format as Code};
use tepui_texel::{
    Kernels, LevelLayout, Packer, Pick, Result as Delivery, Tap, TextureUnit, Unpacker,
};

use crate::warp::row::{ALL, LANES, Row, numbers};

/// The precision of the texture unit.
///
/// source: Mesa, panvk_physical_device.c (`subTexelPrecisionBits`, `mipmapPrecisionBits`): 8 bits.
pub struct Unit;

impl TextureUnit for Unit {
    const SUBTEXEL_BITS: u32 = 8;
    const LOD_BITS: u32 = 8;
    type Level = NoLevel;
}

/// Level type of the shared addressing code, which does not handle levels here.
pub enum NoLevel {}

impl LevelLayout for NoLevel {
    fn size(&self) -> [u32; 2] {
        match *self {}
    }
    fn column(&self, _: u32) -> u32 {
        match *self {}
    }
    fn line(&self, _: u32) -> u32 {
        match *self {}
    }
    fn plain_column(&self, _: u32) -> u32 {
        match *self {}
    }
    fn plain_line(&self, _: u32) -> u32 {
        match *self {}
    }
    fn is_linear(&self) -> bool {
        match *self {}
    }
    fn is_morton(&self) -> bool {
        match *self {}
    }
}

/// A pixel format.
#[derive(Clone)]
pub struct PixelFormat {
    codec: TexelCodec,
    /// The channel of each stored component: 0 to 3, or none.
    channels: [Option<usize>; 4],
    /// The component that each channel is read from.
    sources: [Option<usize>; 4],
    /// Values of channels that no component holds: 0 or 1.
    missing: [bool; 4],
    /// Whether numbers are signed.
    signed: bool,
    /// Scale of 32-bit fixed-point or normalised numbers, which the codec treats as integers.
    scale: Option<Scale>,
    /// Channels that the format has.
    present: [bool; 4],
    /// Whether texels are unsigned normalised fixed point.
    unorm: bool,
    /// Vectorised conversion of rows of texels; none if only the codec can convert the format.
    rows: Option<Rows>,
}

/// Conversion of all lanes' texels at once.
#[derive(Clone)]
struct Rows {
    unpacker: Unpacker,
    packer: Packer,
    /// The component from which each channel is picked.
    picks: [Pick; 4],
}

impl Rows {
    /// The conversion of a format with a component order; none if the format has no separate components.
    fn new(format: Format, order: &ComponentMap) -> Option<Rows> {
        let Encoding::Plain(components) = &format.info().encoding else { return None };
        let names = [Component::R, Component::G, Component::B, Component::A];
        components.get(Component::R)?;
        let pick = |channel: usize| match order.sources[channel] {
            Some(k) if components.get(names[k]).is_some() => Pick::Channel(k as u8),
            // A missing alpha is 1.
            Some(3) => Pick::One,
            None if order.missing[channel] => Pick::One,
            _ => Pick::Zero,
        };
        Some(Rows {
            unpacker: Unpacker::new(format).ok()?,
            packer: Packer::new(format).ok()?,
            picks: std::array::from_fn(pick),
        })
    }
}

/// Interpretation of 32-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Fixed point with 16 fractional bits.
    Fixed,
    /// Normalised from 0 to 1.
    Unorm,
    /// Normalised from -1 to 1.
    Snorm,
}

impl Scale {
    /// The scale of a format; none if the codec converts its numbers.
    fn of(code: Code) -> Option<Scale> {
        match code {
            Code::R32Fixed | Code::Rg32Fixed | Code::Rgb32Fixed | Code::Rgba32Fixed => {
                Some(Scale::Fixed)
            }
            Code::R32Unorm | Code::Rg32Unorm | Code::Rgb32Unorm | Code::Rgba32Unorm => {
                Some(Scale::Unorm)
            }
            Code::R32Snorm | Code::Rg32Snorm | Code::Rgb32Snorm | Code::Rgba32Snorm => {
                Some(Scale::Snorm)
            }
            _ => None,
        }
    }

    /// The integer that represents one.
    fn one(self) -> f64 {
        match self {
            Scale::Fixed => f64::from(1 << 16),
            Scale::Unorm => f64::from(u32::MAX),
            Scale::Snorm => f64::from(i32::MAX),
        }
    }

    fn unpack(self, bits: u32) -> f32 {
        let value = match self {
            Scale::Unorm => f64::from(bits),
            Scale::Fixed | Scale::Snorm => f64::from(bits as i32),
        };
        let value = value / self.one();
        (if self == Scale::Snorm { value.max(-1.0) } else { value }) as f32
    }

    fn pack(self, value: f32) -> u32 {
        let value = f64::from(value) * self.one();
        match self {
            Scale::Fixed => value as i32 as u32,
            Scale::Unorm => value.round_ties_even() as u32,
            Scale::Snorm => value.max(-self.one()).round_ties_even() as i32 as u32,
        }
    }
}

/// Four channels in registers of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericType {
    /// Floating point.
    Float,
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
}

impl PixelFormat {
    /// The bits of a conversion descriptor that name a format.
    pub const BITS: u32 = (1 << 22) - 1;

    /// The format of a descriptor. `None` if the model does not know it.
    pub fn new(bits: u32) -> Option<PixelFormat> {
        let code = Code::from_raw(u64::from(bits >> 12 & 0xff))?;
        let mut order = ORDERS[(bits & 0xfff) as usize]?;
        if code == Code::S8 {
            // Stencil is the second component; the first would be depth.
            order.channels.swap(0, 1);
            for source in &mut order.sources {
                *source = source.map(|component| [1, 0, 2, 3][component]);
            }
        }
        let srgb = bits >> 20 & 1 != 0;
        let format = (if srgb { &NAMED[1] } else { &NAMED[0] })[code.raw() as usize & 0xff]?;
        let signed = format.name().ends_with("_SINT");
        let scale = Scale::of(code);
        let unorm = matches!(format.info().numeric(), Numeric::Unorm | Numeric::Srgb)
            || scale == Some(Scale::Unorm);
        let components = match &format.info().encoding {
            Encoding::Plain(channels) => channels.as_slice().len(),
            Encoding::SharedExponent => 3,
            _ => 1,
        };
        let mut present = [false; 4];
        for channel in order.channels.iter().take(components).flatten() {
            present[*channel] = true;
        }
        let codec = TexelCodec::new(format).ok()?;
        let rows = if scale.is_none() { Rows::new(format, &order) } else { None };
        let ComponentMap { channels, sources, missing } = order;
        Some(PixelFormat { codec, channels, sources, missing, signed, scale, present, unorm, rows })
    }

    /// The format of tile buffer pixels: as [`PixelFormat::new`], and also the blendable formats.
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

    /// The value of a blend descriptor's constant: fixed point with as many bits as the format's largest
    /// component, left-aligned in sixteen, or a float for float formats.
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

    /// The numeric type of the format's channels in registers.
    pub fn kind(&self) -> NumericType {
        match (self.codec.is_float(), self.signed) {
            (true, _) => NumericType::Float,
            _ if self.scale.is_some() => NumericType::Float,
            (false, true) => NumericType::Signed,
            (false, false) => NumericType::Unsigned,
        }
    }

    /// Whether texels are unsigned normalised fixed point.
    pub fn is_unorm(&self) -> bool {
        self.unorm
    }

    /// Replaces channels that the format does not have by 0 or 1.
    pub fn present(&self, channels: [u32; 4], kind: NumericType) -> [u32; 4] {
        let one = if kind == NumericType::Float { 1f32.to_bits() } else { 1 };
        std::array::from_fn(|c| match self.present[c] {
            true => channels[c],
            false if self.missing[c] => one,
            false => 0,
        })
    }

    /// Version of [`PixelFormat::unpack`] for components that are decoded already.
    pub fn ordered(&self, components: [f32; 4]) -> [u32; 4] {
        self.read_from(components.map(f32::to_bits), 1f32.to_bits())
    }

    /// The channels of a pixel, as bits of floats or integers.
    pub fn unpack(&self, bytes: &[u8], kind: NumericType) -> [u32; 4] {
        let raw = load(bytes);
        let components = match (kind, self.scale) {
            (NumericType::Float, Some(scale)) => {
                self.codec.unpack_u32(raw).map(|v| scale.unpack(v).to_bits())
            }
            (NumericType::Float, None) => self.codec.unpack_f32(raw).map(f32::to_bits),
            (NumericType::Signed | NumericType::Unsigned, _) => self.codec.unpack_u32(raw),
        };
        let one = if kind == NumericType::Float { 1f32.to_bits() } else { 1 };
        self.read_from(components, one)
    }

    /// Unpacks pixels that are words, in the lanes of a mask; other lanes of `out` are unchanged.
    pub fn unpack_rows(&self, words: &[Row; 4], mask: u16, kind: NumericType, out: &mut [Row; 4]) {
        let Some(rows) = self.rows.as_ref().filter(|_| kind == self.kind()) else {
            for lane in numbers(mask) {
                let bytes = bytes(&words.each_ref().map(|row| row.0[lane]));
                let channels = self.unpack(&bytes[..self.bytes()], kind);
                for (row, value) in out.iter_mut().zip(channels) {
                    row.0[lane] = value;
                }
            }
            return;
        };
        let words = words.map(|row| row.0);
        let none = [0; LANES];
        let tap = Tap {
            unpacker: &rows.unpacker,
            words: &words,
            x: &none,
            outside: &none,
            border: [0; 4],
            wanted: 15,
        };
        let integer = rows.unpacker.is_integer();
        let delivery = Delivery { picks: &rows.picks, mask: 15, narrow: false, integer };
        let mut channels = [none; 4];
        Kernels::<LANES, Unit>::of_host().deliver_tap(&tap, &delivery, &mut channels);
        for (row, channel) in out.iter_mut().zip(&channels) {
            *row = if mask == ALL { Row(*channel) } else { row.choose(mask, &Row(*channel)) };
        }
    }

    /// Packs colours into words in the lanes of a mask if pixels are of this kind; the values of other lanes are
    /// unspecified.
    pub fn pack_rows(&self, colours: &[Row; 4], mask: u16, kind: NumericType) -> Option<[Row; 4]> {
        let rows = self.rows.as_ref().filter(|_| kind == self.kind())?;
        let mut components = [[0; LANES]; 4];
        for (component, channel) in components.iter_mut().zip(self.channels) {
            if let Some(channel) = channel {
                *component = colours[channel].0;
            }
        }
        let mut words = [[0; LANES]; 4];
        let kernels = Kernels::<LANES, Unit>::of_host();
        rows.packer.pack(kernels, &components, mask.into(), &mut words);
        Some(words.map(Row))
    }

    /// The channels of components.
    fn read_from(&self, components: [u32; 4], one: u32) -> [u32; 4] {
        std::array::from_fn(|channel| match self.sources[channel] {
            Some(component) => components[component],
            None if self.missing[channel] => one,
            None => 0,
        })
    }

    /// Packs a pixel; the first [`PixelFormat::bytes`] bytes of the result are valid.
    pub fn pack(&self, channels: [u32; 4], kind: NumericType) -> [u8; 16] {
        let mut components = [0; 4];
        for (component, channel) in self.channels.iter().enumerate() {
            if let Some(channel) = channel {
                components[component] = channels[*channel];
            }
        }
        let raw = match (kind, self.scale) {
            (NumericType::Float, Some(scale)) => {
                let numbers = components.map(|v| scale.pack(f32::from_bits(v)));
                match self.signed {
                    true => self.codec.pack_i32(numbers.map(|v| v as i32)),
                    false => self.codec.pack_u32(numbers),
                }
            }
            (NumericType::Float, None) => self.codec.pack_f32(components.map(f32::from_bits)),
            (NumericType::Signed, _) => self.codec.pack_i32(components.map(|v| v as i32)),
            (NumericType::Unsigned, _) => self.codec.pack_u32(components),
        };
        raw.to_le_bytes()
    }
}

/// The bytes of four words.
pub fn bytes(words: &[u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// The words of sixteen bytes.
pub fn words(bytes: &[u8; 16]) -> [u32; 4] {
    let (words, _) = bytes.as_chunks::<4>();
    std::array::from_fn(|k| u32::from_le_bytes(words[k]))
}

/// The formats of all codes: linear, and with the sRGB transfer function.
static NAMED: LazyLock<[[Option<Format>; 256]; 2]> = LazyLock::new(|| {
    [false, true].map(|srgb| {
        std::array::from_fn(|code| name(Code::from_raw(code as u64)?, srgb)?.parse().ok())
    })
});

/// The component orders of all twelve-bit codes.
static ORDERS: LazyLock<Vec<Option<ComponentMap>>> =
    LazyLock::new(|| (0..1 << 12).map(ComponentMap::new).collect());

/// Mapping between channels and stored components.
#[derive(Clone, Copy)]
struct ComponentMap {
    channels: [Option<usize>; 4],
    sources: [Option<usize>; 4],
    missing: [bool; 4],
}

impl ComponentMap {
    /// Decodes a component order, or v6's swizzle, which is encoded differently.
    fn new(bits: u32) -> Option<ComponentMap> {
        let mut order = ComponentMap {
            channels: [None; 4],
            sources: [None; 4],
            missing: [false, false, false, true],
        };
        let Some(named) = ComponentOrder::from_raw(u64::from(bits)) else {
            return ComponentMap::swizzle(bits);
        };
        let letters = named.to_string();
        if letters.len() != 4 {
            return None;
        }
        // Red in several channels.
        if letters.matches('R').count() > 1 {
            let digits = letters.chars().map(|letter| "RGBA01".find(letter));
            let swizzle = digits.rev().try_fold(0, |bits, digit| Some(bits << 3 | digit? as u32));
            return ComponentMap::swizzle(swizzle?);
        }
        for (component, letter) in letters.chars().enumerate() {
            let channel = match letter {
                'R' => 0,
                'G' => 1,
                'B' => 2,
                'A' => 3,
                '1' | '0' => {
                    order.missing[component] = letter == '1';
                    continue;
                }
                _ => return None,
            };
            order.channels[component] = Some(channel);
            order.sources[channel] = Some(component);
        }
        Some(order)
    }

    /// Decodes v6's swizzle: three bits per channel: a component, 0 or 1.
    ///
    // source: Mesa, pan_format.h (`PAN_V6_SWIZZLE`)
    fn swizzle(bits: u32) -> Option<ComponentMap> {
        let mut order =
            ComponentMap { channels: [None; 4], sources: [None; 4], missing: [false; 4] };
        for channel in 0..4 {
            match bits >> (3 * channel) & 7 {
                component @ 0..4 => {
                    order.sources[channel] = Some(component as usize);
                    order.channels[component as usize].get_or_insert(channel);
                }
                4 => {}
                5 => order.missing[channel] = true,
                _ => return None,
            }
        }
        Some(order)
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
        // Numbers that are converted by [`Scale`].
        "UNORM" if bits == "32" => "UINT",
        "SNORM" if bits == "32" => "SINT",
        "UNORM" if srgb => "SRGB",
        "UNORM" => "UNORM",
        "SNORM" => "SNORM",
        "UI" => "UINT",
        "I" => "SINT",
        "F" => "SFLOAT",
        "FIXED" => "SINT",
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
        assert_eq!(rgba.unpack(&[255, 0, 255, 0], NumericType::Float), [one, 0, one, 0]);
        let bgra = format(Code::Rgba8Unorm, ComponentOrder::Bgra);
        assert_eq!(bgra.unpack(&[255, 0, 0, 255], NumericType::Float), [0, 0, one, one]);
        assert_eq!(bgra.pack([0, 0, one, one], NumericType::Float)[..4], [255, 0, 0, 255]);
        // Stencil reads as red with the order that drivers use.
        let stencil = format(Code::S8, ComponentOrder::Grba);
        assert_eq!(stencil.unpack(&[7], NumericType::Unsigned)[..2], [7, 0]);
        let integers = format(Code::Rg16i, ComponentOrder::Rgb1);
        assert_eq!((integers.bytes(), integers.kind()), (4, NumericType::Signed));
        let found = integers.unpack(&[0xff, 0xff, 5, 0], NumericType::Signed);
        assert_eq!(found, [u32::MAX, 5, 0, 1]);
        let packed = integers.pack([(-2i32) as u32, 70_000, 9, 9], NumericType::Signed);
        assert_eq!(packed[..4], [0xfe, 0xff, 0xff, 0x7f]);
        let float = format(Code::R32f, ComponentOrder::Rgb1);
        assert_eq!(
            float.unpack(&2.5f32.to_le_bytes(), NumericType::Float),
            [2.5f32.to_bits(), 0, 0, one]
        );
        let fixed = format(Code::R32Fixed, ComponentOrder::Rgb1);
        let bytes = (-3i32 << 15).to_le_bytes();
        assert_eq!(fixed.unpack(&bytes, NumericType::Float), [(-1.5f32).to_bits(), 0, 0, one]);
        let snorm = format(Code::Rg32Snorm, ComponentOrder::Rgb1);
        let bytes: Vec<u8> = [i32::MIN, i32::MAX].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(snorm.kind(), NumericType::Float);
        assert_eq!(snorm.unpack(&bytes, NumericType::Float), [(-1f32).to_bits(), one, 0, one]);
        assert_eq!(
            snorm.pack([0xc000_0000, one, 0, 0], NumericType::Float)[..5],
            [1, 0, 0, 0x80, 255]
        );
        let unorm = format(Code::R32Unorm, ComponentOrder::Rgb1);
        let half = 0x8000_0000u32.to_le_bytes();
        assert_eq!(unorm.unpack(&half, NumericType::Float), [0.5f32.to_bits(), 0, 0, one]);
        assert_eq!(unorm.pack([2f32.to_bits(), 0, 0, 0], NumericType::Float)[..4], [255; 4]);
        let packed = format(Code::Rgb565, ComponentOrder::Rgb1);
        assert_eq!(packed.unpack(&[0x1f, 0], NumericType::Float), [one, 0, 0, one]);
        assert!(PixelFormat::new((Code::Bc1Unorm.raw() << 12) as u32).is_none());
    }

    /// Rows of words are packed and unpacked like single pixels.
    #[test]
    fn rows_are_as_single_pixels() {
        let mut seed = 1u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed
        };
        let (mut fast, mut packed) = (0, 0);
        for (code, srgb) in (0..=0xff).flat_map(|code| [(code, 0), (code, 1)]) {
            for order in [ComponentOrder::Rgba, ComponentOrder::Bgra, ComponentOrder::Rgb1] {
                let bits = srgb << 20 | code << 12 | order.raw() as u32;
                let Some(format) = PixelFormat::new(bits) else { continue };
                fast += usize::from(format.rows.is_some());
                let (size, kind) = (format.bytes(), format.kind());
                let words: [Row; 4] =
                    std::array::from_fn(|_| Row(std::array::from_fn(|_| random())));
                let lanes = random() as u16;
                let mut rows = [Row::splat(7); 4];
                format.unpack_rows(&words, lanes, kind, &mut rows);
                let specials = [f32::NAN, -1.0, 0.0, 0.5, 1.0, 2.0, f32::INFINITY, 0.3];
                let colours: [Row; 4] = std::array::from_fn(|_| {
                    Row(std::array::from_fn(|_| match kind {
                        NumericType::Float => specials[random() as usize >> 8 & 7].to_bits(),
                        _ => random(),
                    }))
                });
                let pack = format.pack_rows(&colours, lanes, kind);
                packed += usize::from(pack.is_some());
                for lane in 0..LANES {
                    let texel = bytes(&words.map(|row| row.0[lane]));
                    let one = format.unpack(&texel[..size], kind);
                    let expected = if lanes >> lane & 1 != 0 { one } else { [7; 4] };
                    let found = rows.map(|row| row.0[lane]);
                    let like = |(a, b): (u32, u32)| {
                        // The rounding of a NaN is unspecified.
                        a == b || [a, b].iter().all(|bits| f32::from_bits(*bits).is_nan())
                    };
                    assert!(found.into_iter().zip(expected).all(like), "format {bits:#x}");
                    if let Some(pack) = &pack
                        && lanes >> lane & 1 != 0
                    {
                        let one = format.pack(colours.map(|row| row.0[lane]), kind);
                        let found = bytes(&pack.map(|row| row.0[lane]));
                        assert_eq!(found[..size], one[..size], "format {bits:#x}");
                    }
                }
            }
        }
        assert!(fast > 150 && packed > 150, "{fast}, {packed}");
    }

    #[test]
    fn swizzles_choose_a_component_for_each_channel() {
        let of = |code: Code, channels: [u32; 4]| {
            let swizzle = channels.iter().rev().fold(0, |bits, c| bits << 3 | c);
            PixelFormat::new((code.raw() << 12) as u32 | swizzle).expect("a format")
        };
        let one = 1f32.to_bits();
        // Luminance and alpha: red three times, then green.
        let grey = of(Code::Rg8Unorm, [0, 0, 0, 1]);
        assert_eq!(grey.unpack(&[255, 0], NumericType::Float), [one, one, one, 0]);
        let packed = grey.pack([one, 7, 7, one], NumericType::Float);
        assert_eq!(packed[..2], [255, 255]);
        let bgr1 = of(Code::Rgba8Unorm, [2, 1, 0, 5]);
        assert_eq!(bgr1.unpack(&[255, 0, 0, 0], NumericType::Float), [0, 0, one, one]);
    }
}
