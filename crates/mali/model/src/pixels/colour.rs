//! Colours of the tile buffer: their bits, clear colours, and conversion to memory.
//!
//! Formats that the hardware blends are kept as integers of the memory format's precision. Silicon keeps
//! further bits, with which it dithers; they are not observable unless dithering is on.
//!
// source: Mesa, pan_clear.c (`tib_layouts`), pan_format.c (`panfrost_blendable_formats`), pan_desc.c
// (`pan_rt_init_format`).

use tepui_mali_packets::framebuffer::{
    ColorBufferInternalFormat as Internal, ColorFormat, RenderTarget,
};

use tepui_format::texel::{numeric, srgb};

use crate::job::{JobFault, Unit};

/// Maximum number of words of a pixel.
pub(crate) const MAX_WORDS: usize = 4;

/// The conversion of a target's pixels from the tile buffer to memory.
pub(crate) struct TargetFormat {
    /// Bits of the components of the tile buffer's pixel, the lowest first; none if it is raw.
    internal: Option<[u32; 4]>,
    /// Bits of the memory's components, the lowest first.
    memory: [u32; 4],
    /// Source of each of the memory's components: a component of the tile buffer, 0 or 1.
    swizzle: [u32; 4],
    /// Bytes of a pixel in memory.
    pub bytes: usize,
    /// The numbers that the tile buffer's components are.
    numbers: Numbers,
}

/// Numbers of a tile buffer's components.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Fixed point.
    Unorm,
    /// Colours of eight bits after the sRGB curve, and alpha as fixed point.
    Srgb,
    /// Floats of 16 bits, or of fewer without a sign.
    Float,
    /// Bits as the program gives them.
    Raw,
}

impl Numbers {
    /// The number of a component of some bits; 0 for raw ones.
    fn value(self, raw: u32, bits: u32, component: usize) -> f32 {
        match self {
            Numbers::Srgb if component < 3 && bits == 8 => srgb::decode_table()[raw as usize & 255],
            Numbers::Unorm | Numbers::Srgb => numeric::unorm_to_f32(raw, bits),
            Numbers::Float if bits == 16 => half::f16::from_bits(raw as u16).to_f32(),
            Numbers::Float => numeric::ufloat_to_f32(raw, bits - 5),
            Numbers::Raw => 0.0,
        }
    }

    /// The component of some bits that is nearest to a number.
    fn raw(self, value: f32, bits: u32, component: usize) -> u32 {
        match self {
            Numbers::Srgb if component < 3 && bits == 8 => srgb::encode(value).into(),
            Numbers::Unorm | Numbers::Srgb => numeric::f32_to_unorm(value, bits),
            Numbers::Float if bits == 16 => half::f16::from_f32(value).to_bits().into(),
            Numbers::Float => numeric::f32_to_ufloat(value, bits - 5),
            Numbers::Raw => 0,
        }
    }
}

/// Bits of components in the tile buffer, and the extra bits below each in clear colours.
fn layout(format: Internal) -> Option<[(u32, u32); 4]> {
    Some(match format {
        Internal::R8g8b8a8 => [(8, 0); 4],
        Internal::R10g10b10a2 => [(10, 0), (10, 0), (10, 0), (2, 0)],
        Internal::R8g8b8a2 => [(8, 2), (8, 2), (8, 2), (2, 0)],
        Internal::R4g4b4a4 => [(4, 4); 4],
        Internal::R5g6b5a0 => [(5, 5), (6, 4), (5, 5), (0, 2)],
        Internal::R5g5b5a1 => [(5, 5), (5, 5), (5, 5), (1, 1)],
        _ => return None,
    })
}

/// Bits of the components of float formats, which are the same in memory as in the tile buffer: the writeback
/// format is not used for them.
fn floats(format: Internal) -> Option<[u32; 4]> {
    Some(match format {
        Internal::R16f => [16, 0, 0, 0],
        Internal::R16g16f => [16, 16, 0, 0],
        Internal::R16g16b16a16f => [16; 4],
        Internal::R11g11b10f => [11, 11, 10, 0],
        _ => return None,
    })
}

impl TargetFormat {
    /// The format of a render target.
    pub fn new(target: &RenderTarget) -> Result<TargetFormat, JobFault> {
        let internal = layout(target.internal_format).map(|list| list.map(|(bits, _)| bits));
        let mut swizzle = [0, 1, 2, 3].map(|k| target.swizzle >> (3 * k) & 7);
        let memory = match target.writeback_format {
            ColorFormat::R8 => [8, 0, 0, 0],
            ColorFormat::R8g8 => [8, 8, 0, 0],
            ColorFormat::R8g8b8 => [8, 8, 8, 0],
            ColorFormat::R8g8b8a8 => [8; 4],
            ColorFormat::R4g4b4a4 => [4; 4],
            ColorFormat::R5g6b5 => [5, 6, 5, 0],
            ColorFormat::R10g10b10a2 => [10, 10, 10, 2],
            ColorFormat::R5g5b5a1 => [5, 5, 5, 1],
            ColorFormat::A2b10g10r10 => {
                swizzle.reverse();
                [2, 10, 10, 10]
            }
            ColorFormat::A1b5g5r5 => {
                swizzle.reverse();
                [1, 5, 5, 5]
            }
            ColorFormat::Raw8 => [8, 0, 0, 0],
            ColorFormat::Raw16 => [16, 0, 0, 0],
            ColorFormat::Raw24 => [24, 0, 0, 0],
            ColorFormat::Raw32 => [32, 0, 0, 0],
            ColorFormat::Raw48 => [48, 0, 0, 0],
            ColorFormat::Raw64 => [64, 0, 0, 0],
            ColorFormat::Raw96 => [96, 0, 0, 0],
            ColorFormat::Raw128 => [128, 0, 0, 0],
            _ if floats(target.internal_format).is_some() => [0; 4],
            other => {
                let what = format!("render targets in format {other}");
                return Err(JobFault::unimplemented(Unit::Fragment, what));
            }
        };
        let memory = floats(target.internal_format).unwrap_or(memory);
        let internal = internal.or(floats(target.internal_format));
        if internal.is_some() && memory.iter().any(|bits| *bits > 32) {
            let what = format!(
                "tiles of format {} written as {}",
                target.internal_format, target.writeback_format
            );
            return Err(JobFault::unimplemented(Unit::Fragment, what));
        }
        let bytes = memory.iter().sum::<u32>().div_ceil(8) as usize;
        let numbers = match (layout(target.internal_format), internal) {
            (Some(_), _) if target.srgb => Numbers::Srgb,
            (Some(_), _) => Numbers::Unorm,
            (None, Some(_)) => Numbers::Float,
            (None, None) => Numbers::Raw,
        };
        Ok(TargetFormat { internal, memory, swizzle, bytes, numbers })
    }

    /// Whether samples can be averaged: a tile buffer of raw bits does not say what they are.
    pub fn has_mean(&self) -> bool {
        self.numbers != Numbers::Raw
    }

    /// The mean of the samples of a pixel in the tile buffer, component by component; of sRGB colours the mean of what they stand for.
    pub fn mean(&self, samples: &[u128]) -> u128 {
        let (mut from, mut out) = (0, 0);
        for (component, &bits) in self.internal.iter().flatten().enumerate() {
            if bits == 0 {
                continue;
            }
            let most = (1u128 << bits) - 1;
            let number = |all: &u128| {
                f64::from(self.numbers.value((all >> from & most) as u32, bits, component))
            };
            let mean = samples.iter().map(number).sum::<f64>() / samples.len() as f64;
            out |= u128::from(self.numbers.raw(mean as f32, bits, component)) << from;
            from += bits;
        }
        out
    }

    /// The bits of a cleared pixel in the tile buffer.
    pub fn clear(target: &RenderTarget) -> u128 {
        let c = &target.clear;
        let words = [c.color_0, c.color_1, c.color_2, c.color_3];
        let all = words.iter().rev().fold(0u128, |bits, word| bits << 32 | u128::from(*word));
        let Some(list) = layout(target.internal_format) else { return all };
        let (mut from, mut to, mut out) = (0, 0, 0);
        for (bits, below) in list {
            let value = all >> (from + below) & ((1 << bits) - 1);
            out |= value << to;
            from += bits + below;
            to += bits;
        }
        out
    }

    /// The colour of a pixel in memory, for tools: red, green, blue, alpha.
    pub fn colour(&self, pixel: [u8; 16]) -> [f32; 4] {
        let mut from = 0;
        let all = u128::from_le_bytes(pixel);
        let mut colour = [0.0, 0.0, 0.0, 1.0];
        if self.internal.is_none() {
            let bytes = self.memory.iter().sum::<u32>().div_ceil(32).max(1) as usize;
            return std::array::from_fn(|k| f32::from(pixel[k * bytes]) / 255.0);
        }
        for (bits, which) in self.memory.iter().zip(self.swizzle) {
            let raw = (all >> from & ((1 << bits) - 1)) as u32;
            from += bits;
            if let (1.., Some(component)) = (*bits, colour.get_mut(which as usize)) {
                // Colours after the sRGB curve stay so.
                let numbers =
                    if self.numbers == Numbers::Srgb { Numbers::Unorm } else { self.numbers };
                *component = numbers.value(raw, *bits, which as usize);
            }
        }
        colour
    }

    /// Bits of a pixel in the tile buffer: 8 to 128, a power of two.
    fn bits(&self) -> u32 {
        let bits: u32 = self.internal.unwrap_or(self.memory).iter().sum();
        bits.next_power_of_two().clamp(8, 128)
    }

    /// Words of a pixel in the tile buffer.
    pub fn words(&self) -> usize {
        self.bits().div_ceil(32) as usize
    }

    /// The pixel of a sample in a 128-bit chunk, as Midgard's blend shaders write them: samples are consecutive, and
    /// the first chunk holds as many as fit. `None` if the sample is in another chunk.
    ///
    // source: Mesa, pan_lower_framebuffer.c (`pan_lower_fb_store`)
    pub fn of_chunk(&self, words: [u32; 4], chunk: u32, sample: u32) -> Option<[u32; 4]> {
        let bits = self.bits();
        let samples = 128 / bits;
        if sample / samples != chunk {
            return None;
        }
        let all = words.iter().rev().fold(0u128, |all, word| all << 32 | u128::from(*word));
        let pixel = all >> (sample % samples * bits) & u128::MAX >> (128 - bits);
        Some([0, 1, 2, 3].map(|k| (pixel >> (32 * k)) as u32))
    }

    /// Whether pixels in memory are identical to those of the tile buffer.
    pub fn is_same(&self) -> bool {
        self.internal.is_none_or(|internal| internal == self.memory && self.swizzle == [0, 1, 2, 3])
    }

    /// Version of [`TargetFormat::to_memory`] for pixels that are a word in both, whose components have the same bits; false
    /// for others.
    #[inline(always)]
    pub fn words_to_memory(&self, pixels: &[u32], out: &mut [u32]) -> bool {
        let Some(internal) = self.internal else { return false };
        let mut from = [0; 4];
        for k in 1..4 {
            from[k] = from[k - 1] + internal[k - 1];
        }
        let (mut to, mut moves) = (0, [(0, 0, 0, 0); 4]);
        for ((bits, which), moved) in self.memory.iter().zip(self.swizzle).zip(&mut moves) {
            let most = ((1u64 << bits) - 1) as u32;
            *moved = match which {
                0..4 if internal[which as usize] == *bits => (from[which as usize], most, 0, to),
                0..4 if internal[which as usize] != 0 => return false,
                4 => (0, 0, 0, to),
                _ => (0, 0, most, to),
            };
            to += bits;
        }
        if to > 32 || from[3] + internal[3] > 32 || moves.iter().any(|m| m.0 > 31 || m.3 > 31) {
            return false;
        }
        for (out, pixel) in out.iter_mut().zip(pixels) {
            *out = moves
                .iter()
                .fold(0, |bits, &(from, mask, one, to)| bits | (pixel >> from & mask | one) << to);
        }
        true
    }

    /// Converts a pixel for memory; the first [`TargetFormat::bytes`] bytes of the result are valid.
    #[inline]
    pub fn to_memory(&self, pixel: u128) -> [u8; 16] {
        let Some(internal) = &self.internal else { return pixel.to_le_bytes() };
        let mut components = [(0, 0); 4];
        let mut from = 0;
        for (component, bits) in components.iter_mut().zip(internal) {
            *component = (pixel >> from & ((1 << bits) - 1), *bits);
            from += bits;
        }
        let (mut to, mut out) = (0, 0u128);
        for (bits, which) in self.memory.iter().zip(self.swizzle) {
            let most = (1 << bits) - 1;
            let value = match which {
                0..4 => {
                    let (value, own) = components[which as usize];
                    // A component of fewer bits is widened by repeating its bits.
                    match own {
                        0 => most,
                        _ if own == *bits => value,
                        _ => value * most / ((1 << own) - 1),
                    }
                }
                4 => 0,
                _ => most,
            };
            out |= value << to;
            to += bits;
        }
        out.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_mali_packets::framebuffer::RtClear;

    fn target(internal_format: Internal, writeback_format: ColorFormat) -> RenderTarget {
        let swizzle = 1 << 3 | 2 << 6 | 3 << 9;
        RenderTarget { internal_format, writeback_format, swizzle, ..Default::default() }
    }

    #[test]
    fn clear_colours_lose_the_bits_for_dithering() {
        let mut target = target(Internal::R5g6b5a0, ColorFormat::R5g6b5);
        let color_0 = 31 << 5 | 63 << 14 | 1 << 25;
        target.clear = RtClear { color_0, ..Default::default() };
        assert_eq!(TargetFormat::clear(&target), 31 | 63 << 5 | 1 << 11);
        target.internal_format = Internal::Raw64;
        target.clear.color_1 = 7;
        assert_eq!(TargetFormat::clear(&target) as u64, u64::from(color_0) | 7 << 32);
    }

    #[test]
    fn means_are_of_the_numbers_that_components_stand_for() {
        let of = |internal, memory, srgb| {
            TargetFormat::new(&RenderTarget { srgb, ..target(internal, memory) }).unwrap()
        };
        let bytes = of(Internal::R8g8b8a8, ColorFormat::R8g8b8a8, false);
        assert_eq!(bytes.mean(&[0xff00_10ff, 0x0000_1000, 0xff00_1100, 0]), 0x8000_0c40);
        // Half of the light is 188 of 255; alpha has no curve.
        let curve = of(Internal::R8g8b8a8, ColorFormat::R8g8b8a8, true);
        assert_eq!(curve.mean(&[0xff00_00ff, 0]), 0x8000_00bc);
        let halves = of(Internal::R16g16f, ColorFormat::R8g8b8a8, false);
        // 1 and 2; −3 and 0.
        assert_eq!(halves.mean(&[0xc200_3c00, 0x0000_4000]), 0xbe00_3e00);
        let small = of(Internal::R11g11b10f, ColorFormat::R8g8b8a8, false);
        // Of eleven bits, 1 is 15 · 64.
        assert_eq!(small.mean(&[15 << 6, 17 << 6]), 16 << 6 | 1 << 4);
        assert!(!of(Internal::Raw32, ColorFormat::Raw32, false).has_mean());
    }

    #[test]
    fn components_go_where_the_swizzle_says() {
        let mut bgra = target(Internal::R8g8b8a8, ColorFormat::R8g8b8a8);
        bgra.swizzle = 2 | 1 << 3 | 5 << 9;
        let format = TargetFormat::new(&bgra).unwrap();
        assert_eq!(format.bytes, 4);
        assert_eq!(format.to_memory(0x4433_2211)[..4], [0x33, 0x22, 0x11, 0xff]);
        let mut words = [0];
        assert!(format.words_to_memory(&[0x4433_2211], &mut words) && words == [0xff11_2233]);
        assert!(TargetFormat::new(&target(Internal::R8g8b8a8, ColorFormat::Raw128)).is_err());
        let raw = TargetFormat::new(&target(Internal::Raw128, ColorFormat::Raw96)).unwrap();
        assert_eq!((raw.bytes, raw.to_memory(u128::MAX)), (12, [0xff; 16]));
    }

    #[test]
    fn chunks_have_as_many_samples_as_there_is_room_for() {
        let bytes = TargetFormat::new(&target(Internal::Raw8, ColorFormat::Raw8)).unwrap();
        let words = [0x4433_2211, 5, 6, 7];
        assert_eq!(bytes.of_chunk(words, 0, 2), Some([0x33, 0, 0, 0]));
        assert_eq!(bytes.of_chunk(words, 1, 2), None);
        let pairs = TargetFormat::new(&target(Internal::Raw64, ColorFormat::Raw64)).unwrap();
        assert_eq!(pairs.of_chunk(words, 0, 1), Some([6, 7, 0, 0]));
        assert_eq!(pairs.of_chunk(words, 1, 2), Some([0x4433_2211, 5, 0, 0]));
        let whole = TargetFormat::new(&target(Internal::Raw128, ColorFormat::Raw128)).unwrap();
        assert_eq!(whole.of_chunk(words, 3, 3), Some(words));
    }

    /// Rows of words are converted like single pixels, for all formats and swizzles.
    #[test]
    fn words_are_as_single_pixels() {
        let mut some = 0;
        for internal in [Internal::R8g8b8a8, Internal::R10g10b10a2, Internal::R5g6b5a0] {
            for memory in [ColorFormat::R8g8b8a8, ColorFormat::R5g6b5, ColorFormat::A2b10g10r10] {
                for swizzle in 0..1 << 12 {
                    let target = RenderTarget { swizzle, ..target(internal, memory) };
                    let Ok(format) = TargetFormat::new(&target) else { continue };
                    let pixels = [0x1234_5678, 0xfedc_ba98, 0, u32::MAX].map(|word: u32| {
                        // Bits that the tile buffer does not have are never set.
                        if internal == Internal::R5g6b5a0 { word & 0xffff } else { word }
                    });
                    let mut words = [0; 4];
                    if !format.words_to_memory(&pixels, &mut words) {
                        continue;
                    }
                    some += 1;
                    for (pixel, word) in pixels.iter().zip(words) {
                        let one = format.to_memory((*pixel).into());
                        assert_eq!(one[..4], word.to_le_bytes(), "{internal} {memory} {swizzle:o}");
                    }
                }
            }
        }
        assert!(some > 3000, "{some}");
    }
}
