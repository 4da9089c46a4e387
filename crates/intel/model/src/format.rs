//! Surface formats: texels in memory, and their components in messages.
//!
//! [`TABLE`] maps numbers to formats of `tepui_format`, whose codecs convert.

use std::collections::HashMap;
use std::sync::OnceLock;

use tepui_format::Format as F;
use tepui_format::block::{BlockCodec, MAX_BLOCK_PX};
use tepui_format::info::{Component, Encoding, Numeric};
use tepui_format::texel::{TexelCodec, load};
use tepui_intel_chips::Generation;
use tepui_intel_layout::surface_format::{OPAQUE, SurfaceFormat, TABLE};
use tepui_texel::{Packer, Pick, Unpacker};

/// The conversion of texels.
#[derive(Clone, Copy)]
enum Codec {
    /// One by one.
    Texel(TexelCodec),
    /// A block at a time; messages only read these.
    Block(BlockCodec),
}

/// A format.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    format: F,
    /// Bytes of a texel, or of a block of texels.
    pub bytes: usize,
    /// Texels of a block, across and down: 1 unless compressed.
    pub block: [u32; 2],
    codec: Codec,
    /// Whether the alpha bits are ignored.
    opaque: bool,
    /// Whether components are integers.
    integer: bool,
    /// The first generation whose typed reads convert the format; none if all return raw bits.
    converted: Option<Generation>,
    /// Vectorised unpacking and packing of texels; none for blocks, and for formats that the vector code does
    /// not support.
    pub unpacker: Option<Unpacker>,
    /// The unpacker of decoded blocks.
    blocks: Option<Unpacker>,
    pub packer: Option<Packer>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.format.name())
    }
}

/// Maximum number of bytes of a texel or block.
pub(crate) const MAX_BYTES: usize = 16;

/// The components of a texel in their order.
const COMPONENTS: [Component; 4] = [Component::R, Component::G, Component::B, Component::A];

/// The format of a number.
pub(crate) fn find(number: u32) -> Option<&'static Format> {
    static FORMATS: OnceLock<HashMap<u32, Format>> = OnceLock::new();
    let formats = FORMATS.get_or_init(|| {
        let of = |opaque: bool| {
            move |row: &SurfaceFormat| Some((row.number, Format::new(row.format, opaque)?))
        };
        TABLE.iter().filter_map(of(false)).chain(OPAQUE.iter().filter_map(of(true))).collect()
    });
    formats.get(&number)
}

impl Format {
    fn new(format: F, opaque: bool) -> Option<Format> {
        let info = format.info();
        let numeric = info.numeric();
        let codec = match TexelCodec::new(format) {
            Ok(codec) => Codec::Texel(codec),
            Err(_) => Codec::Block(BlockCodec::new(format).ok()?),
        };
        let widths = match &info.encoding {
            Encoding::Plain(channels) => channels.as_slice().iter().map(|c| c.bits).collect(),
            _ => vec![0, 1],
        };
        let even = widths.windows(2).all(|pair| pair[0] == pair[1]);
        let integer = matches!(numeric, Numeric::Uint | Numeric::Sint);
        let texels = matches!(codec, Codec::Texel(_))
            && match &info.encoding {
                Encoding::Plain(channels) => channels.get(Component::R).is_some(),
                Encoding::SharedExponent => true,
                _ => false,
            };
        Some(Format {
            format,
            bytes: info.block.bytes as usize,
            block: [info.block.width_px, info.block.height_px],
            codec,
            opaque,
            integer,
            // source: Mesa, isl_storage_image.c (`isl_lower_storage_image_format`): the data port converts
            // normalised integers from Gen11 on.
            converted: match numeric {
                _ if !even => None,
                _ if integer => Some(Generation::Gen9),
                Numeric::Sfloat => Some(Generation::Gen9),
                Numeric::Unorm | Numeric::Snorm => Some(Generation::Gen12),
                _ => None,
            },
            unpacker: Unpacker::new(format).ok().filter(|_| texels),
            blocks: Unpacker::of_blocks(format),
            packer: Packer::new(format).ok().filter(|_| texels),
        })
    }

    /// The divisors of the components of [`Format::raw`], and of texels of blocks
    /// ([`raw_texel`](tepui_texel::blocks::Blocks::raw_texel)).
    pub fn divisor(&self) -> [f32; 4] {
        match self.unpacker.as_ref().or(self.blocks.as_ref()) {
            Some(unpacker) if !self.integer => std::array::from_fn(|c| match self.pick(c) {
                Pick::Channel(k) => unpacker.divisor[usize::from(k)],
                // Sums of a constant are exact.
                Pick::One | Pick::Zero => 1.0,
            }),
            _ => [1.0; 4],
        }
    }

    /// As [`Format::unpack`], but fixed-point components are the stored integers: their weighted sums are exact,
    /// so that all filters give the same bits. Blocks have no texels here.
    pub fn raw(&self, texel: &[u8], place: [u32; 2]) -> [u32; 4] {
        let Some(unpacker) = self.unpacker.as_ref().filter(|_| !self.integer) else {
            return self.unpack(texel, place);
        };
        let bits = load(texel);
        let words = [0, 1, 2, 3].map(|word| [(bits >> (32 * word)) as u32]);
        std::array::from_fn(|c| match self.pick(c) {
            Pick::Channel(k) => unpacker.float::<1, 4>(&words, &[0], usize::from(k))[0].to_bits(),
            Pick::One => self.one(),
            Pick::Zero => 0,
        })
    }

    /// The source of a component: missing colours are 0, a missing alpha is 1.
    pub fn pick(&self, component: usize) -> Pick {
        let there = match &self.format.info().encoding {
            Encoding::Plain(channels) => channels.get(COMPONENTS[component]).is_some(),
            Encoding::SharedExponent => component < 3,
            Encoding::Compressed(compression, _) => component < compression.components(),
            _ => true,
        };
        match (there && !(self.opaque && component == 3), component) {
            (true, c) => Pick::Channel(c as u8),
            (false, 3) => Pick::One,
            (false, _) => Pick::Zero,
        }
    }

    /// The bits of a texel that components occupy, lowest word first; `None` if components share bits.
    pub fn mask(&self, components: [bool; 4]) -> Option<[u32; 4]> {
        let Encoding::Plain(channels) = &self.format.info().encoding else { return None };
        let chosen = COMPONENTS.into_iter().zip(components).filter(|(_, chosen)| *chosen);
        let bits = chosen
            .filter_map(|(component, _)| channels.get(component))
            .fold(0, |all, c| all | ((1u128 << c.bits) - 1) << c.shift);
        Some([0, 1, 2, 3].map(|word| (bits >> (32 * word)) as u32))
    }

    /// Whether both are the same format.
    pub fn is(&self, other: &Format) -> bool {
        self.format == other.format && self.opaque == other.opaque
    }

    /// Whether unpacking and packing a texel restores its bits.
    pub fn keeps_bits(&self) -> bool {
        /// Maximum width in bits of a component whose values stay distinct as floats.
        const MAX_BITS: u32 = 16;
        let Encoding::Plain(channels) = &self.format.info().encoding else { return false };
        let exact = match self.numeric() {
            Numeric::Uint | Numeric::Sint => true,
            Numeric::Unorm => channels.as_slice().iter().all(|c| u32::from(c.bits) <= MAX_BITS),
            _ => false,
        };
        let bits =
            self.mask([true; 4]).map_or(0, |words| words.iter().map(|w| w.count_ones()).sum());
        exact && !self.opaque && self.packer.is_some() && bits as usize == 8 * self.bytes
    }

    /// The numeric type.
    pub fn numeric(&self) -> Numeric {
        self.format.info().numeric()
    }

    /// Its depth has 24 bits.
    pub fn is_24_bit_depth(&self) -> bool {
        self.format == F::X8_D24_UNORM_PACK32
    }

    /// Whether a component has 32 bits.
    pub fn has_32_bit_channels(&self) -> bool {
        match &self.format.info().encoding {
            Encoding::Plain(channels) => channels.as_slice().iter().any(|c| c.bits == 32),
            _ => false,
        }
    }

    /// Whether components are integers.
    pub fn is_integer(&self) -> bool {
        self.integer
    }

    /// Replaces components that the format does not have: missing colours by 0, a missing alpha by 1.
    pub fn present(&self, colour: [u32; 4]) -> [u32; 4] {
        std::array::from_fn(|c| match self.pick(c) {
            Pick::Channel(_) => colour[c],
            Pick::One => self.one(),
            Pick::Zero => 0,
        })
    }

    /// Unpacker of compressed texels that [`tepui_texel::blocks::Blocks`] has decoded; `None` for other formats.
    pub fn block_unpacker(&self) -> Option<Unpacker> {
        self.blocks.filter(|_| matches!(self.format.info().encoding, Encoding::Compressed(..)))
    }

    /// The format of blocks that [`tepui_texel::blocks::Blocks`] decodes.
    pub fn decoded(&self) -> F {
        self.format
    }

    /// The value 1 in the format's numeric type.
    pub fn one(&self) -> u32 {
        if self.integer { 1 } else { 1.0f32.to_bits() }
    }

    /// The four components of a texel, as 32-bit floats or integers. `place` is the texel's position within
    /// its block. Missing colours are 0, a missing alpha is 1.
    pub fn unpack(&self, texel: &[u8], place: [u32; 2]) -> [u32; 4] {
        let mut texel = match &self.codec {
            Codec::Texel(codec) if self.integer => codec.unpack_u32(load(texel)),
            Codec::Texel(codec) => codec.unpack_f32(load(texel)).map(f32::to_bits),
            Codec::Block(codec) => {
                let mut pixels = [[0.0; 4]; MAX_BLOCK_PX];
                codec.decode(texel, &mut pixels);
                let index = place[1] * self.block[0] + place[0];
                pixels[index as usize % MAX_BLOCK_PX].map(f32::to_bits)
            }
        };
        if self.opaque {
            texel[3] = self.one();
        }
        texel
    }

    /// The four components of a texel as typed reads return them: formats that the data port does not convert
    /// are returned as raw bits, 32 per component.
    ///
    /// source: Mesa, isl_storage_image.c (`isl_lower_storage_image_format`): shaders read surfaces of these
    /// formats as R32_UINT or R32G32_UINT, and convert themselves.
    pub fn read(&self, texel: &[u8], generation: Generation) -> [u32; 4] {
        if self.converted.is_some_and(|since| since <= generation) {
            return self.unpack(texel, [0; 2]);
        }
        let bits = load(texel);
        [bits as u32, (bits >> 32) as u32, 0, 1]
    }

    /// Packs a texel. Integers that do not fit are clamped. Blocks are not written: no message can.
    pub fn pack(&self, value: [u32; 4], texel: &mut [u8]) {
        if let Some(bits) = self.packed(value) {
            texel.copy_from_slice(&bits.to_le_bytes()[..texel.len()]);
        }
    }

    fn packed(&self, value: [u32; 4]) -> Option<u128> {
        match &self.codec {
            Codec::Texel(codec) if self.integer => Some(codec.pack_u32(value)),
            Codec::Texel(codec) => Some(codec.pack_f32(value.map(f32::from_bits))),
            Codec::Block(_) => None,
        }
    }

    /// Copies the components selected by `write` from another texel; the others keep their bits.
    pub fn merge(&self, new: &[u8], write: [bool; 4], texel: &mut [u8]) {
        let Encoding::Plain(channels) = &self.format.info().encoding else {
            // Components that share an exponent are written together.
            if write == [true; 4] {
                texel.copy_from_slice(new);
            }
            return;
        };
        let new = load(new);
        let mut bits = load(texel);
        for (component, _) in COMPONENTS.into_iter().zip(write).filter(|(_, write)| *write) {
            if let Some(channel) = channels.get(component) {
                let mask = ((1u128 << channel.bits) - 1) << channel.shift;
                bits = bits & !mask | new & mask;
            }
        }
        texel.copy_from_slice(&bits.to_le_bytes()[..texel.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_integers_divide_to_what_texels_mean() {
        let mut seed = 1u32;
        for &SurfaceFormat { number, format, .. } in TABLE.iter().chain(OPAQUE) {
            let found = find(number).unwrap();
            for _ in 0..64 {
                let mut bytes = [0; MAX_BYTES];
                for byte in &mut bytes[..found.bytes] {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *byte = (seed >> 24) as u8;
                }
                if found.block != [1, 1] {
                    continue;
                }
                let texel = &bytes[..found.bytes];
                let (want, raw) = (found.unpack(texel, [0; 2]), found.raw(texel, [0; 2]));
                for c in 0..4 {
                    if found.is_integer() {
                        assert_eq!(raw[c], want[c], "{} {c}", format.name());
                        continue;
                    }
                    let got = f32::from_bits(raw[c]) / found.divisor()[c];
                    let want = f32::from_bits(want[c]);
                    let same = got == want || got.is_nan() && want.is_nan();
                    assert!(same, "{} {c}: {got}, want {want}", format.name());
                }
            }
        }
    }

    #[test]
    fn components_have_the_bits_that_merging_changes() {
        for &SurfaceFormat { number, format, .. } in TABLE {
            let found = find(number).unwrap();
            for write in 0..16u32 {
                let write = [0, 1, 2, 3].map(|c| write >> c & 1 != 0);
                let Some(mask) = found.mask(write) else { continue };
                let mut texel = vec![0; found.bytes];
                found.merge(&vec![0xff; found.bytes], write, &mut texel);
                let mask = mask.map(u32::to_le_bytes);
                assert_eq!(texel, mask.as_flattened()[..found.bytes], "{}", format.name());
            }
        }
    }

    #[test]
    fn every_row_has_a_codec() {
        for &SurfaceFormat { number, format, .. } in TABLE {
            let found = find(number).unwrap_or_else(|| panic!("{}", format.name()));
            assert!(found.bytes <= MAX_BYTES, "{}", format.name());
        }
    }

    #[test]
    fn packed_formats_have_isl_s_order() {
        // source: isl's names: B5G6R5_UNORM has blue in the lowest bits.
        let texel = |number, value: [f32; 4]| {
            let format = find(number).unwrap();
            let mut bytes = vec![0; format.bytes];
            format.pack(value.map(f32::to_bits), &mut bytes);
            bytes
        };
        assert_eq!(texel(0x100, [0.0, 0.0, 1.0, 0.0]), [0x1f, 0]);
        assert_eq!(texel(0x125, [0.0, 0.0, 0.0, 1.0]), [0x0f, 0], "A4B4G4R4");
        assert_eq!(texel(0x0c2, [1.0, 0.0, 0.0, 0.0]), [0xff, 0x03, 0, 0], "R10G10B10A2");
    }

    /// Two texels with a luma each share their chroma: red is Cr, green luma, blue Cb.
    #[test]
    fn texels_of_two_share_their_chroma() {
        for (number, bytes) in [(0x182, [10, 20, 30, 40]), (0x190, [20, 10, 40, 30])] {
            let format = find(number).unwrap();
            assert_eq!((format.bytes, format.block), (4, [2, 1]));
            for (x, luma) in [(0, 10.0), (1, 30.0)] {
                let texel = format.unpack(&bytes, [x, 0]).map(f32::from_bits);
                assert_eq!(texel.map(|v| v * 255.0), [40.0, luma, 20.0, 255.0], "{number:#x} {x}");
            }
        }
    }

    #[test]
    fn only_the_chosen_components_change() {
        let format = find(0x0c7).unwrap();
        let mut texel = [1, 2, 3, 4];
        format.merge(&[255; 4], [false, true, false, false], &mut texel);
        assert_eq!(texel, [1, 255, 3, 4]);
    }

    #[test]
    fn normalised_formats_are_read_as_bits() {
        let read = |number, generation| find(number).unwrap().read(&[0, 255, 0, 255], generation);
        let one = 1.0f32.to_bits();
        assert_eq!(read(0x0c7, Generation::Gen9), [0xff00_ff00, 0, 0, 1]);
        assert_eq!(read(0x0c7, Generation::Gen12), [0, one, 0, one]);
        for generation in Generation::ALL {
            assert_eq!(read(0x0cb, generation), [0, 255, 0, 255]);
            assert_eq!(read(0x0d3, generation)[0], 0xff00_ff00);
        }
    }
}
