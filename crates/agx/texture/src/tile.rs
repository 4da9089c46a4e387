//! The tilebuffer: local memory seen as a tile of pixels. Fragment shaders keep the tile's colours in
//! it; compute shaders use it to write images block by block.
//!
//! How silicon lays out the tile in local memory is unknown and cannot be seen by programs that Mesa
//! makes: they reach the tile only through `st_tile`, `ld_tile` and `image_write_block`. This model
//! keeps pixels row after row, the samples of a pixel side by side.

use tepui_format::Format;
use tepui_format::texel::TexelCodec;

use crate::half;

/// Where the samples of a tile lie in local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tilebuffer {
    /// Pixels in each direction.
    pub size: [u32; 2],
    /// Samples of a pixel.
    pub samples: u32,
    /// Bytes of a sample.
    pub sample_bytes: u32,
}

impl Tilebuffer {
    /// Where a sample starts, in bytes from the start of local memory. Coordinates wrap around at the
    /// tile's sides, which are powers of two: fragments give their place in the whole image.
    #[inline]
    pub fn offset(&self, x: u32, y: u32, sample: u32) -> usize {
        let [w, h] = self.size;
        let pixel = (y & (h - 1)) * w + (x & (w - 1));
        ((pixel * self.samples + sample) * self.sample_bytes) as usize
    }
}

/// How the channels of a pixel are kept in the tile.
///
// source: applegpu.py, MEMORY_FORMATS; Mesa's agx_tilebuffer.c, formats.c
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TileFormat {
    I8,
    I16,
    I32,
    F16,
    U8Norm,
    S8Norm,
    U16Norm,
    S16Norm,
    Rgb10A2,
    Srgba8,
    Rg11B10F,
    Rgb9E5,
}

/// What the bits of a register are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Floats.
    Float,
    /// Bits.
    Bits,
}

impl TileFormat {
    /// Bytes of a channel; of all channels together in a packed format.
    pub const fn unit(self) -> usize {
        match self {
            TileFormat::I8 | TileFormat::U8Norm | TileFormat::S8Norm | TileFormat::Srgba8 => 1,
            TileFormat::I16 | TileFormat::F16 | TileFormat::U16Norm | TileFormat::S16Norm => 2,
            _ => 4,
        }
    }

    /// Channels of a format that keeps all in one word.
    pub const fn packed(self) -> Option<usize> {
        match self {
            TileFormat::Rgb10A2 => Some(4),
            TileFormat::Rg11B10F | TileFormat::Rgb9E5 => Some(3),
            _ => None,
        }
    }

    /// What registers hold that are stored to it.
    pub const fn value(self) -> Value {
        match self {
            TileFormat::I8 | TileFormat::I16 | TileFormat::I32 => Value::Bits,
            _ => Value::Float,
        }
    }

    /// The format of the word of a format that keeps all channels in one.
    pub(crate) fn word_format(self) -> Format {
        match self {
            TileFormat::Rgb10A2 => Format::A2B10G10R10_UNORM_PACK32,
            TileFormat::Rg11B10F => Format::B10G11R11_UFLOAT_PACK32,
            _ => Format::E5B9G9R9_UFLOAT_PACK32,
        }
    }

    /// The bits of one channel of a format that is not packed.
    pub fn encode(self, channel: usize, value: u32) -> u32 {
        use tepui_format::texel::numeric::{f32_to_snorm, f32_to_unorm};
        let float = f32::from_bits(value);
        match self {
            TileFormat::I8 => value & 0xff,
            TileFormat::I16 => value & 0xffff,
            TileFormat::F16 => half::narrow(float),
            TileFormat::U8Norm => f32_to_unorm(float, 8),
            TileFormat::S8Norm => f32_to_snorm(float, 8) as u32 & 0xff,
            TileFormat::U16Norm => f32_to_unorm(float, 16),
            TileFormat::S16Norm => f32_to_snorm(float, 16) as u32 & 0xffff,
            TileFormat::Srgba8 if channel == 3 => f32_to_unorm(float, 8),
            TileFormat::Srgba8 => u32::from(tepui_format::texel::srgb::encode(float)),
            _ => value,
        }
    }

    /// The value of one channel of a format that is not packed: bits, or a float's bits.
    pub fn decode(self, channel: usize, stored: u32) -> u32 {
        use tepui_format::texel::numeric::{snorm_to_f32, unorm_to_f32};
        let float = match self {
            TileFormat::F16 => half::widen(stored),
            TileFormat::U8Norm => unorm_to_f32(stored, 8),
            TileFormat::S8Norm => snorm_to_f32(i32::from(stored as u8 as i8), 8),
            TileFormat::U16Norm => unorm_to_f32(stored, 16),
            TileFormat::S16Norm => snorm_to_f32(i32::from(stored as u16 as i16), 16),
            TileFormat::Srgba8 if channel == 3 => unorm_to_f32(stored, 8),
            TileFormat::Srgba8 => tepui_format::texel::srgb::decode_table()[stored as usize & 0xff],
            _ => return stored,
        };
        float.to_bits()
    }

    /// Writes the channels of `mask` of a pixel whose first channel is at the start of `into`.
    /// Channels come one after the other, those outside of the mask left out; packed formats take all.
    /// False if the pixel is not inside.
    pub fn store(self, mask: u8, values: &[u32; 4], into: &mut [u8]) -> bool {
        if let Some(count) = self.packed() {
            let Ok(codec) = TexelCodec::new(self.word_format()) else { return false };
            let mut value = [0.0; 4];
            for (v, bits) in value.iter_mut().zip(values).take(count) {
                *v = f32::from_bits(*bits);
            }
            let Some(bytes) = into.get_mut(..4) else { return false };
            bytes.copy_from_slice(&(codec.pack_f32(value) as u32).to_le_bytes());
            return true;
        }
        let unit = self.unit();
        let channels = (0..4).filter(|c| mask >> c & 1 != 0);
        for (value, c) in values.iter().zip(channels) {
            let Some(bytes) = into.get_mut(c * unit..(c + 1) * unit) else { return false };
            bytes.copy_from_slice(&self.encode(c, *value).to_le_bytes()[..unit]);
        }
        true
    }

    /// Reads the channels of `mask` of a pixel, one after the other; `None` if it is not inside.
    pub fn load(self, mask: u8, from: &[u8]) -> Option<[u32; 4]> {
        let mut out = [0; 4];
        if let Some(count) = self.packed() {
            let codec = TexelCodec::new(self.word_format()).ok()?;
            let word = from.get(..4)?;
            let value = codec.unpack_f32(tepui_format::texel::load(word));
            for (o, v) in out.iter_mut().zip(value).take(count) {
                *o = v.to_bits();
            }
            return Some(out);
        }
        let unit = self.unit();
        let channels = (0..4).filter(|c| mask >> c & 1 != 0);
        for (o, c) in out.iter_mut().zip(channels) {
            let bytes = from.get(c * unit..(c + 1) * unit)?;
            let mut word = [0; 4];
            word[..unit].copy_from_slice(bytes);
            *o = self.decode(c, u32::from_le_bytes(word));
        }
        Some(out)
    }
}
