//! Decodes PVRTC1: two low-resolution images, upscaled and blended by a weight per pixel.
//!
//! A 64-bit word has one pixel of each image, A and B, and the weights of a block of pixels. The
//! pixels of the low-resolution images are at the centres of the blocks, so decoding a pixel needs
//! the words of the four blocks whose centres surround it. Blocks wrap around at the edges of the
//! image.
//!
//! source: Khronos Data Format Specification, "PVRTC Compressed Texture Image Formats". Two details
//! that its text leaves open or states differently follow the decompressor that Imagination
//! published, and other decoders: stored weights of 2 bits per pixel are 0, 3, 5, 8 in blocks that
//! interpolate them too, and such blocks have no transparent pixels.

use super::{NoBlockCodec, from_bytes};
use crate::Format;
use crate::info::{Compression, Encoding, Numeric};

/// The words of the four blocks around a pixel: upper left and right, lower left and right.
pub type Quad = [[u64; 2]; 2];

/// Decodes single pixels of a PVRTC1 image.
#[derive(Clone, Copy, Debug)]
pub struct PvrtcCodec {
    /// Logarithm of a block's width: 3 for 2 bits per pixel, 2 for 4. Its height is 4 pixels.
    width_shift: u32,
    numeric: Numeric,
}

/// Weights of image B in eighths, indexed by the stored two bits.
const WEIGHTS: [u32; 4] = [0, 3, 5, 8];

/// Weights in punch-through blocks, where the third value is a transparent pixel.
const PUNCH_THROUGH: [u32; 4] = [0, 4, 4, 8];

impl PvrtcCodec {
    /// The codec of a PVRTC1 format.
    pub fn new(format: Format) -> Result<PvrtcCodec, NoBlockCodec> {
        let info = format.info();
        match info.encoding {
            Encoding::Compressed(Compression::Pvrtc1, numeric) => {
                Ok(PvrtcCodec { width_shift: info.block.width_px.ilog2(), numeric })
            }
            _ => Err(NoBlockCodec::Undecoded(format)),
        }
    }

    /// Columns (left, right) and rows (upper, lower) of the blocks whose words pixel (`x`, `y`)
    /// needs, in an image of `blocks` columns and rows.
    #[inline]
    pub fn blocks(&self, x: u32, y: u32, blocks: [u32; 2]) -> [[u32; 2]; 2] {
        let around = |at: u32, shift: u32, count: u32| {
            let block = at >> shift;
            // Pixels before the centre of their block need the previous block.
            let before = at & ((1 << shift) - 1) < 1 << (shift - 1);
            let first = if before { (block + count - 1) % count } else { block % count };
            [first, (first + 1) % count]
        };
        [around(x, self.width_shift, blocks[0]), around(y, 2, blocks[1])]
    }

    /// Decodes pixel (`x`, `y`) of the image.
    #[inline]
    pub fn pixel(&self, quad: &Quad, x: u32, y: u32) -> [f32; 4] {
        from_bytes(self.rgba8(quad, x, y), self.numeric)
    }

    /// Decodes pixel (`x`, `y`) to bytes, before the sRGB curve.
    pub fn rgba8(&self, quad: &Quad, x: u32, y: u32) -> [u8; 4] {
        let ws = self.width_shift;
        let half = 1 << (ws - 1);
        // Position relative to the centre of the upper left block, and to that block's first pixel.
        let (xr, yr) = (x.wrapping_sub(half) & ((1 << ws) - 1), y.wrapping_sub(2) & 3);
        let (qx, qy) = (xr + half, yr + 2);
        let scaled = |color: fn(u64) -> [u32; 4]| -> [u32; 4] {
            let [left, right] = [(1 << ws) - xr, xr];
            let [upper, lower] = [4 - yr, yr];
            let [[a, b], [c, d]] = quad.map(|row| row.map(color));
            std::array::from_fn(|i| {
                let sum =
                    (a[i] * left + b[i] * right) * upper + (c[i] * left + d[i] * right) * lower;
                // 5 bits and fraction to 8 bits; alpha has 4 bits.
                if i == 3 {
                    (sum >> (ws - 2)) + (sum >> (ws + 2))
                } else {
                    (sum >> (ws - 1)) + (sum >> (ws + 4))
                }
            })
        };
        let (first, second) = (scaled(color_a), scaled(color_b));
        let (weight, transparent) = self.weight(quad, qx, qy);
        let mut out =
            std::array::from_fn(|i| ((first[i] * (8 - weight) + second[i] * weight) / 8) as u8);
        if transparent {
            out[3] = 0;
        }
        out
    }

    /// The weight of a pixel, given relative to the quad's first pixel, and whether it is
    /// transparent.
    fn weight(&self, quad: &Quad, qx: u32, qy: u32) -> (u32, bool) {
        let (word, ox, oy) = self.word(quad, qx, qy);
        if self.width_shift == 2 {
            let stored = (word >> (2 * (4 * oy + ox)) & 3) as usize;
            return match flagged(word) {
                false => (WEIGHTS[stored], false),
                true => (PUNCH_THROUGH[stored], stored == 2),
            };
        }
        if !flagged(word) || (ox ^ oy) & 1 == 0 {
            return (self.stored(quad, qx, qy), false);
        }
        // Every second pixel has no stored weight and is interpolated. Neighbours may be in another
        // word.
        let across = || self.stored(quad, qx - 1, qy) + self.stored(quad, qx + 1, qy);
        let along = || self.stored(quad, qx, qy - 1) + self.stored(quad, qx, qy + 1);
        let mean = match (word & 1 != 0, word >> 20 & 1 != 0) {
            (false, _) => (across() + along() + 2) / 4,
            (true, true) => along().div_ceil(2),
            (true, false) => across().div_ceil(2),
        };
        (mean, false)
    }

    /// The word that holds a pixel's weight, and the pixel's position in its block.
    fn word(&self, quad: &Quad, qx: u32, qy: u32) -> (u64, u32, u32) {
        let word = quad[(qy >> 2 & 1) as usize][(qx >> self.width_shift & 1) as usize];
        (word, qx & ((1 << self.width_shift) - 1), qy & 3)
    }

    /// A stored weight of the format with 2 bits per pixel.
    fn stored(&self, quad: &Quad, qx: u32, qy: u32) -> u32 {
        let (word, x, y) = self.word(quad, qx, qy);
        if !flagged(word) {
            return (word >> (8 * y + x) & 1) as u32 * 8;
        }
        let at = 8 * y + (x & !1);
        let bits = word >> at & 3;
        // The lower bits of two pixels hold flags; there the lower bit of the weight is a copy of
        // the upper one.
        let flag_below = at == 0 || at == 20 && word & 1 != 0;
        let bits = if flag_below { (bits >> 1) * 3 } else { bits };
        WEIGHTS[bits as usize]
    }
}

/// The modulation flag of a block: punch-through (4 bits per pixel) or interpolated weights (2
/// bits).
fn flagged(word: u64) -> bool {
    word >> 32 & 1 != 0
}

/// Expands four bits to five.
fn four(v: u32) -> u32 {
    v << 1 | v >> 3
}

/// Expands a colour to 5 bits for red, green and blue and 4 for alpha. `blue` is the blue of opaque
/// colours and that of translucent ones.
fn color(bits: u32, blue: [u32; 2]) -> [u32; 4] {
    if bits & 0x8000 != 0 {
        [bits >> 10 & 31, bits >> 5 & 31, blue[0], 15]
    } else {
        [four(bits >> 8 & 15), four(bits >> 4 & 15), blue[1], (bits >> 12 & 7) << 1]
    }
}

fn color_a(word: u64) -> [u32; 4] {
    let bits = (word >> 32) as u32 & 0xffff;
    let three = bits >> 1 & 7;
    color(bits, [four(bits >> 1 & 15), three << 2 | three >> 1])
}

fn color_b(word: u64) -> [u32; 4] {
    let bits = (word >> 48) as u32;
    color(bits, [bits & 31, four(bits & 15)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMATS: [(Format, u32, bool); 2] = [
        (Format::PVRTC1_4BPP_UNORM_BLOCK_IMG, 4, false),
        (Format::PVRTC1_2BPP_UNORM_BLOCK_IMG, 8, true),
    ];

    /// The position of a word in the file format: the bits of column and row interleaved, the row's
    /// lower. source: Khronos Data Format Specification, "PVRTC1 4bpp word offset calculation"
    fn morton(x: u32, y: u32, size: [u32; 2]) -> usize {
        let common = size[0].min(size[1]).ilog2();
        let low =
            (0..common).map(|i| (y >> i & 1) << (2 * i) | (x >> i & 1) << (2 * i + 1)).sum::<u32>();
        (low | (x | y) >> common << (2 * common)) as usize
    }

    fn decode(codec: &PvrtcCodec, words: &[u64], size: [u32; 2], x: u32, y: u32) -> [u8; 4] {
        let [columns, rows] = codec.blocks(x, y, size);
        let quad = rows.map(|row| columns.map(|column| words[(row * size[0] + column) as usize]));
        codec.pixel(&quad, x, y).map(|v| (v * 255.0).round() as u8)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        /// Whole images agree with another decoder, which upscales block by block.
        #[test]
        fn agrees_with_an_independent_decoder(
            words in prop::collection::vec(any::<u64>(), 64),
            log_size in (0u32..4, 0u32..4),
        ) {
            let size = [1 << log_size.0, 1 << log_size.1];
            for (format, block_width, two) in FORMATS {
                let codec = PvrtcCodec::new(format).unwrap();
                let (width, height) = (size[0] * block_width, size[1] * 4);
                let mut file = vec![0; (size[0] * size[1]) as usize * 8];
                for y in 0..size[1] {
                    for x in 0..size[0] {
                        let at = morton(x, y, size) * 8;
                        let word = words[(y * size[0] + x) as usize];
                        file[at..at + 8].copy_from_slice(&word.to_le_bytes());
                    }
                }
                let mut image = vec![0; (width * height) as usize];
                let [w, h] = [width as usize, height as usize];
                texture2ddecoder::decode_pvrtc(&file, w, h, &mut image, two).unwrap();
                for (i, theirs) in image.iter().enumerate() {
                    let (x, y) = (i as u32 % width, i as u32 / width);
                    let [b, g, r, a] = theirs.to_le_bytes();
                    prop_assert_eq!(
                        decode(&codec, &words, size, x, y), [r, g, b, a],
                        "{} {:?} {:?}", format, size, (x, y)
                    );
                }
            }
        }
    }

    /// The specification's formulas, computed by hand for an image of one word.
    #[test]
    fn by_hand() {
        // A opaque red, B opaque blue; weights of the first row 0, 3, 5, 8.
        let word = 0x801f_fc00_0000_00e4u64;
        let four = PvrtcCodec::new(Format::PVRTC1_4BPP_SRGB_BLOCK_IMG).unwrap();
        let unorm = PvrtcCodec::new(Format::PVRTC1_4BPP_UNORM_BLOCK_IMG).unwrap();
        let at = |x| decode(&unorm, &[word], [1, 1], x, 0);
        assert_eq!(at(0), [255, 0, 0, 255]);
        assert_eq!(at(1), [159, 0, 95, 255]);
        assert_eq!(at(2), [95, 0, 159, 255]);
        assert_eq!(at(3), [0, 0, 255, 255]);
        // The sRGB curve is applied last.
        let linear = four.pixel(&[[word; 2]; 2], 1, 0);
        assert!((linear[0] - 0.3467).abs() < 1e-3, "{linear:?}");
        // Punch-through: halves, and the third value is transparent.
        let at = |x| decode(&unorm, &[word | 1 << 32], [1, 1], x, 0);
        assert_eq!(at(1), [127, 0, 127, 255]);
        assert_eq!(at(2), [127, 0, 127, 0]);
    }

    #[test]
    fn no_other_format() {
        for format in Format::all() {
            let is = matches!(format.info().encoding, Encoding::Compressed(Compression::Pvrtc1, _));
            assert_eq!(PvrtcCodec::new(format).is_ok(), is);
        }
    }
}
