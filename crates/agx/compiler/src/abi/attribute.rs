//! Vertex attributes: the memory layout of their formats, and the values that a load of them gives.

use tepui_agx_isa::operand::Format as IsaFormat;
use tepui_format::{Component, Encoding, Format, Numeric};

/// The layout of an attribute in its buffer. Its offset is part of the base address, which is in a
/// uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// Format.
    pub format: Format,
    /// Bytes from one element to the next; a multiple of the format's alignment.
    pub stride: u32,
    /// Per-instance attributes: the number of instances that share an element, 0 for all.
    pub per_instance: Option<u32>,
}

/// The value that a load of an attribute gives, and its conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Format of the load.
    pub isa: IsaFormat,
    /// Channels that are loaded.
    pub count: u8,
    /// Bits of the registers that are loaded into.
    pub bits: u8,
    /// Conversion of channels to components.
    pub unpack: Unpack,
}

/// Conversion of loaded channels to components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpack {
    /// Each channel is a component, which `Convert` changes; red, green, blue and alpha are these
    /// channels.
    Channels([Option<u8>; 4], Convert),
    /// Bit fields of the one word that is loaded: first bit and bits of red, green, blue and alpha.
    Fields([Option<(u8, u8)>; 4], Numeric),
}

/// The conversion of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convert {
    /// None.
    None,
    /// Converts from a 16-bit float.
    Half,
    /// Sign-extends from this number of bits.
    Sign(u8),
    /// An unsigned integer becomes a float.
    Uscaled,
    /// Converts a signed integer of this number of bits to float.
    Sscaled(u8),
}

impl Fetch {
    /// The fetch of a format; `None` if it is not a vertex format. source: Mesa, agx_nir_lower_vbo.c,
    /// agx_vbo_internal_format
    #[must_use]
    pub fn new(format: Format) -> Option<Fetch> {
        use Numeric::{Sfloat, Sint, Snorm, Sscaled, Ufloat, Uint, Unorm, Uscaled};
        let rgb = [Some(0), Some(1), Some(2), None];
        let channels = match &format.info().encoding {
            Encoding::Plain(c) => c,
            Encoding::SharedExponent => {
                let unpack = Unpack::Channels(rgb, Convert::None);
                return Some(Fetch { isa: IsaFormat::Rgb9E5, count: 3, bits: 32, unpack });
            }
            _ => return None,
        };
        let list = channels.as_slice();
        let first = list.first()?;
        let names = [Component::R, Component::G, Component::B, Component::A];
        let at = names.map(|n| list.iter().position(|c| c.component == n).map(|k| k as u8));
        let array = list
            .iter()
            .enumerate()
            .all(|(k, c)| c.bits == first.bits && c.shift == k as u16 * u16::from(c.bits));
        let count = list.len() as u8;
        let fetch = |isa, bits, convert| {
            Some(Fetch { isa, count, bits, unpack: Unpack::Channels(at, convert) })
        };
        if array {
            return match (first.numeric, first.bits) {
                (Unorm, 8) => fetch(IsaFormat::U8Norm, 32, Convert::None),
                (Snorm, 8) => fetch(IsaFormat::S8Norm, 32, Convert::None),
                (Unorm, 16) => fetch(IsaFormat::U16Norm, 32, Convert::None),
                (Snorm, 16) => fetch(IsaFormat::S16Norm, 32, Convert::None),
                (Uint, 8) => fetch(IsaFormat::I8, 32, Convert::None),
                (Uint, 16) => fetch(IsaFormat::I16, 32, Convert::None),
                (Uint | Sint | Sfloat, 32) => fetch(IsaFormat::I32, 32, Convert::None),
                (Sint, 8) => fetch(IsaFormat::I8, 32, Convert::Sign(8)),
                (Sint, 16) => fetch(IsaFormat::I16, 16, Convert::Sign(16)),
                (Uscaled, 8) => fetch(IsaFormat::I8, 32, Convert::Uscaled),
                (Uscaled, 16) => fetch(IsaFormat::I16, 32, Convert::Uscaled),
                (Sscaled, 8) => fetch(IsaFormat::I8, 32, Convert::Sscaled(8)),
                (Sscaled, 16) => fetch(IsaFormat::I16, 32, Convert::Sscaled(16)),
                (Sfloat, 16) => fetch(IsaFormat::I16, 16, Convert::Half),
                _ => None,
            };
        }
        let bits = format.info().block.bytes * 8;
        match (first.numeric, first.bits, bits) {
            (Unorm, 10, 32) if count == 4 => fetch(IsaFormat::Rgb10A2, 32, Convert::None),
            (Ufloat, 11, 32) => fetch(IsaFormat::Rg11B10F, 32, Convert::None),
            (Ufloat, ..) => None,
            (numeric, _, 8 | 16 | 32) => {
                let isa = match bits {
                    8 => IsaFormat::I8,
                    16 => IsaFormat::I16,
                    _ => IsaFormat::I32,
                };
                let fields = names.map(|n| channels.get(n).map(|c| (c.shift as u8, c.bits)));
                Some(Fetch { isa, count: 1, bits: 32, unpack: Unpack::Fields(fields, numeric) })
            }
            _ => None,
        }
    }

    /// The value of a component that the format lacks.
    #[must_use]
    pub fn missing(format: Format, component: usize) -> u32 {
        let integer = match &format.info().encoding {
            Encoding::Plain(c) => c.as_slice().first().is_some_and(|c| c.numeric.is_integer()),
            _ => false,
        };
        match (component, integer) {
            (3, true) => 1,
            (3, false) => 1f32.to_bits(),
            _ => 0,
        }
    }
}
