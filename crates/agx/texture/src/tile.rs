//! The tilebuffer: local memory addressed as a tile of pixels. It holds the colours of the tile
//! that fragment shaders draw; compute shaders use it for block image stores.
//!
//! How silicon lays out the tile in local memory is unknown and cannot be seen by programs that
//! Mesa makes: they reach the tile only through `st_tile`, `ld_tile` and `image_write_block`. This
//! model keeps pixels row after row, the samples of a pixel side by side.

use tepui_format::Format;
use tepui_format::texel::{TexelCodec, srgb};

use crate::{LANES, Row, half};

/// The layout of a tile in local memory.
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
    /// Byte offset of a sample in local memory. Coordinates are taken modulo the tile's sides,
    /// which are powers of two: fragments have coordinates of the whole image.
    #[inline]
    pub fn offset(&self, x: u32, y: u32, sample: u32) -> usize {
        let [w, h] = self.size;
        let pixel = (y & (h - 1)) * w + (x & (w - 1));
        ((pixel * self.samples + sample) * self.sample_bytes) as usize
    }
}

/// The format of a pixel in the tile, and of elements that memory instructions access.
///
// source: applegpu.py, MEMORY_FORMATS; Mesa's agx_compiler.h, `enum agx_format`; agx_tilebuffer.c,
// formats.c
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

/// The kind of value that a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Floats.
    Float,
    /// Integers.
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

    /// Number of channels of a packed format, which has all in one word.
    pub const fn packed(self) -> Option<usize> {
        match self {
            TileFormat::Rgb10A2 => Some(4),
            TileFormat::Rg11B10F | TileFormat::Rgb9E5 => Some(3),
            _ => None,
        }
    }

    /// Bytes of a pixel of the channels of `mask`.
    pub const fn pixel_bytes(self, mask: u8) -> usize {
        if self.packed().is_some() { 4 } else { self.unit() * mask.count_ones() as usize }
    }

    /// Unit of the index of memory instructions in bytes: the size of a channel, one in packed
    /// formats.
    pub const fn stride(self) -> u32 {
        if self.packed().is_some() { 1 } else { self.unit() as u32 }
    }

    /// Whether memory instructions load channels without conversion.
    pub const fn is_raw(self) -> bool {
        matches!(self, TileFormat::I8 | TileFormat::I16 | TileFormat::I32 | TileFormat::F16)
    }

    /// The kind of value that is stored to it.
    pub const fn value(self) -> Value {
        match self {
            TileFormat::I8 | TileFormat::I16 | TileFormat::I32 => Value::Bits,
            _ => Value::Float,
        }
    }

    /// The pixel format of a packed format.
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
            TileFormat::Srgba8 => u32::from(srgb::encode(float)),
            _ => value,
        }
    }

    /// The value of one channel of a format that is not packed: an integer, or the bits of a float.
    pub fn decode(self, channel: usize, stored: u32) -> u32 {
        use tepui_format::texel::numeric::{snorm_to_f32, unorm_to_f32};
        let float = match self {
            TileFormat::F16 => half::widen(stored),
            TileFormat::U8Norm => unorm_to_f32(stored, 8),
            TileFormat::S8Norm => snorm_to_f32(i32::from(stored as u8 as i8), 8),
            TileFormat::U16Norm => unorm_to_f32(stored, 16),
            TileFormat::S16Norm => snorm_to_f32(i32::from(stored as u16 as i16), 16),
            TileFormat::Srgba8 if channel == 3 => unorm_to_f32(stored, 8),
            TileFormat::Srgba8 => srgb::decode_table()[stored as usize & 0xff],
            _ => return stored,
        };
        float.to_bits()
    }

    /// Writes the channels of `mask` of a pixel whose first channel is at the start of `into`.
    /// Channels come one after the other, those outside of the mask left out; packed formats take
    /// all. Returns false if the pixel is past the end.
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

    /// The fast path for pixels of the channels of `mask`: the first one, two or four channels of a
    /// format that is not packed.
    pub fn plain(self, mask: u8) -> Option<Plain> {
        let channels = match mask {
            1 => 1,
            3 => 2,
            15 => 4,
            _ => return None,
        };
        self.packed().is_none().then_some(Plain { format: self, channels })
    }
}

/// Conversion of the pixels of all lanes, for formats with contiguous channels; the results are those
/// of [`TileFormat::store`] and [`TileFormat::load`].
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    format: TileFormat,
    channels: usize,
}

impl Plain {
    /// Bytes of a pixel: a power of two of at most 16.
    pub fn bytes(self) -> usize {
        self.channels * self.format.unit()
    }

    /// Word and shift of a channel.
    #[inline(always)]
    fn place(self, channel: usize) -> (usize, usize) {
        let bit = 8 * self.format.unit() * channel;
        (bit / 32, bit % 32)
    }

    /// Packs channels to words; the words of a pixel are consecutive.
    #[inline(always)]
    pub fn pack(self, channels: &[Row; 4]) -> [Row; 4] {
        let mut words = [[0; LANES]; 4];
        for (c, row) in channels.iter().enumerate().take(self.channels) {
            let (word, shift) = self.place(c);
            let word = &mut words[word];
            // The format is chosen outside of the loops, so that these vectorise.
            macro_rules! each {
                ($encode:expr) => {
                    for i in 0..LANES {
                        word[i] |= $encode(row[i]) << shift;
                    }
                };
            }
            match self.format {
                TileFormat::I8 => each!(|v: u32| v & 0xff),
                TileFormat::I16 => each!(|v: u32| v & 0xffff),
                TileFormat::I32 => each!(|v: u32| v),
                TileFormat::F16 => each!(|v: u32| half::narrow(f32::from_bits(v))),
                TileFormat::Srgba8 if c < 3 => {
                    each!(|v: u32| u32::from(srgb::encode(f32::from_bits(v))));
                }
                TileFormat::U8Norm | TileFormat::Srgba8 => each!(|v: u32| byte(f32::from_bits(v))),
                format => each!(|v: u32| format.encode(c, v)),
            }
        }
        words
    }

    /// Unpacks words to channels.
    #[inline(always)]
    pub fn unpack(self, words: &[Row; 4]) -> [Row; 4] {
        let mut channels = [[0; LANES]; 4];
        let bits = u32::MAX >> (32 - 8 * self.format.unit());
        for (c, row) in channels.iter_mut().enumerate().take(self.channels) {
            let (word, shift) = self.place(c);
            let word = &words[word];
            macro_rules! each {
                ($decode:expr) => {
                    for i in 0..LANES {
                        row[i] = $decode(word[i] >> shift & bits);
                    }
                };
            }
            match self.format {
                TileFormat::I8 | TileFormat::I16 | TileFormat::I32 => each!(|v: u32| v),
                TileFormat::F16 => each!(|v: u32| half::widen(v).to_bits()),
                TileFormat::Srgba8 if c < 3 => {
                    let table = srgb::decode_table();
                    each!(|v: u32| table[(v & 0xff) as usize].to_bits());
                }
                TileFormat::U8Norm | TileFormat::Srgba8 => {
                    each!(|v: u32| (v as i32 as f32 / 255.0).to_bits());
                }
                format => each!(|v: u32| format.decode(c, v)),
            }
        }
        channels
    }

    /// Writes the pixel of a lane to the start of `into`, which must have room for it.
    #[inline(always)]
    pub fn put(self, words: &[Row; 4], lane: usize, into: &mut [u8]) {
        let first = words[0][lane].to_le_bytes();
        match self.bytes() {
            4 => into[..4].copy_from_slice(&first),
            1 => into[0] = first[0],
            2 => into[..2].copy_from_slice(&first[..2]),
            bytes => {
                for (to, word) in into[..bytes].as_chunks_mut().0.iter_mut().zip(words) {
                    *to = word[lane].to_le_bytes();
                }
            }
        }
    }

    /// Reads the pixel of a lane from the start of `from`; bytes past the end read as zero.
    #[inline(always)]
    pub fn get(self, from: &[u8], lane: usize, words: &mut [Row; 4]) {
        match (self.bytes(), from.first_chunk::<4>()) {
            (4, Some(word)) => words[0][lane] = u32::from_le_bytes(*word),
            (bytes, _) => {
                let mut all = [0; 16];
                let there = from.len().min(bytes);
                all[..there].copy_from_slice(&from[..there]);
                for (row, word) in words.iter_mut().zip(all.as_chunks::<4>().0) {
                    row[lane] = u32::from_le_bytes(*word);
                }
            }
        }
    }
}

/// A float as 8-bit unorm: the same results as `f32_to_unorm`, in fewer operations.
#[inline(always)]
fn byte(value: f32) -> u32 {
    // A NaN becomes 0. Adding 2^23 rounds to an integer, ties to even, in the low bits.
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < 1.0 { value } else { 1.0 };
    value.mul_add(255.0, 8_388_608.0).to_bits() & 0xff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lanes_agree_with_single_pixels() {
        use TileFormat::*;
        let mut seed = 1u32;
        for format in [I8, I16, I32, F16, U8Norm, S8Norm, U16Norm, S16Norm, Srgba8] {
            for mask in [1, 3, 15] {
                let plain = format.plain(mask).unwrap();
                let mut channels = [[0; LANES]; 4];
                for (i, value) in channels.as_flattened_mut().iter_mut().enumerate() {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let unit = (seed >> 8) as f32 / (1 << 24) as f32;
                    *value = match i % 5 {
                        0 => seed,
                        1 => (3.0 * unit - 1.0).to_bits(),
                        _ => unit.to_bits(),
                    };
                }
                let words = plain.pack(&channels);
                let mut again = [[u32::MAX; LANES]; 4];
                for lane in 0..LANES {
                    let values = channels.map(|row| row[lane]);
                    let (mut one, mut all) = ([0; 16], [0; 16]);
                    assert!(format.store(mask, &values, &mut one));
                    plain.put(&words, lane, &mut all);
                    assert_eq!(one, all, "{format:?} {mask} {values:x?}");
                    plain.get(&all, lane, &mut again);
                }
                let back = plain.unpack(&again);
                for lane in 0..LANES {
                    let mut pixel = [0; 16];
                    plain.put(&words, lane, &mut pixel);
                    let want = format.load(mask, &pixel).unwrap();
                    assert_eq!(back.map(|row| row[lane]), want, "{format:?} {mask}");
                }
            }
            assert!(format.plain(5).is_none());
        }
        assert!(Rgb10A2.plain(15).is_none());
    }
}
