//! Decoded blocks of one size.

use tepui_format::Format;
use tepui_format::block::{BlockCodec, MAX_BLOCK_PX, Stored};

/// Sizes of decoded blocks: powers of two from [`SMALLEST`] bytes on. The largest is that of ASTC's 12x12 texels of eight bytes.
pub const SIZES: usize = 6;

/// Bytes of sixteen texels of four bytes.
const SMALLEST: usize = 64;

/// Bytes of a pool from which larger blocks are fewer, divided by the number of blocks.
const FULL: usize = 128;

/// A direct-mapped cache of decoded blocks, which are as large.
pub struct Pool {
    /// Bits of the decoded blocks; empty until the first block is decoded.
    bits: Vec<u128>,
    /// Their formats, likewise.
    formats: Vec<Option<Format>>,
    /// Eight bytes each; those of an entry follow each other.
    texels: Vec<u64>,
    count: usize,
    /// Logarithm of the bytes of an entry.
    shift: u32,
}

/// The number of the size of a format's decoded blocks.
#[inline(always)]
pub fn size_of(codec: &BlockCodec) -> usize {
    let bytes = (codec.pixels() << texel_shift(codec)).next_power_of_two().max(SMALLEST);
    (bytes / SMALLEST).ilog2() as usize
}

/// Logarithm of the bytes of a decoded texel.
#[inline(always)]
pub fn texel_shift(codec: &BlockCodec) -> u32 {
    if codec.stored() == Stored::Bytes { 2 } else { 3 }
}

impl Pool {
    /// A cache of `count` blocks of a size, a power of two, or of fewer that have as many bytes as `count` of [`FULL`].
    pub fn new(size: usize, count: usize) -> Pool {
        assert!(count.is_power_of_two());
        let bytes = SMALLEST << size;
        let count = (count * FULL / bytes).clamp(1, count);
        Pool {
            bits: Vec::new(),
            formats: Vec::new(),
            texels: Vec::new(),
            count,
            shift: bytes.ilog2(),
        }
    }

    /// Logarithm of the bytes of an entry.
    #[inline(always)]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The first byte, once a block has been decoded.
    pub fn host(&self) -> *const u8 {
        self.texels.as_ptr().cast()
    }

    /// The entry of a block, which is decoded if it is not there, and whether it was.
    #[inline(always)]
    pub fn find(&mut self, codec: &BlockCodec, format: Format, bits: u128) -> (usize, bool) {
        let entry = slot(format, bits) & (self.count - 1);
        let is_there =
            self.bits.get(entry) == Some(&bits) && self.formats.get(entry) == Some(&Some(format));
        if !is_there {
            self.fill(codec, format, bits, entry);
        }
        (entry, is_there)
    }

    /// The words of a texel of an entry; the second is 0 where texels have four bytes.
    #[inline(always)]
    pub fn words(&self, codec: &BlockCodec, entry: usize, index: usize) -> [u32; 2] {
        let first = entry << (self.shift - 3);
        if texel_shift(codec) == 3 {
            let both = self.texels[first + index];
            return [both as u32, (both >> 32) as u32];
        }
        let both = self.texels[first + index / 2];
        [(both >> (32 * (index % 2))) as u32, 0]
    }

    #[inline(never)]
    fn fill(&mut self, codec: &BlockCodec, format: Format, bits: u128, entry: usize) {
        if self.bits.is_empty() {
            self.bits.resize(self.count, 0);
            self.formats.resize(self.count, None);
            self.texels.resize(self.count << (self.shift - 3), 0);
        }
        (self.bits[entry], self.formats[entry]) = (bits, Some(format));
        let to = &mut self.texels[entry << (self.shift - 3)..];
        // Most formats have small blocks, for which the longer array would take longer to clear than the block to decode.
        match codec.pixels() {
            ..=16 => decode::<16>(codec, bits, to),
            _ => decode::<MAX_BLOCK_PX>(codec, bits, to),
        }
    }
}

/// Decodes a block of at most `PX` texels, an even number.
#[inline(always)]
fn decode<const PX: usize>(codec: &BlockCodec, bits: u128, to: &mut [u64]) {
    let pixels = codec.pixels();
    let bytes = bits.to_le_bytes();
    if texel_shift(codec) == 3 {
        let mut decoded = [[0; 4]; PX];
        codec.decode_words(&bytes, &mut decoded[..pixels]);
        for (to, [a, b, c, d]) in to.iter_mut().zip(&decoded[..pixels]) {
            let [a, b, c, d] = [a, b, c, d].map(|&v| u64::from(v));
            *to = a | b << 16 | c << 32 | d << 48;
        }
        return;
    }
    let mut decoded = [[0; 4]; PX];
    codec.decode_bytes(&bytes, &mut decoded[..pixels]);
    let pairs = decoded[..pixels.next_multiple_of(2)].as_chunks::<2>().0;
    for (to, [left, right]) in to.iter_mut().zip(pairs) {
        let [left, right] = [left, right].map(|&v| u64::from(u32::from_le_bytes(v)));
        *to = left | right << 32;
    }
}

/// The place of a block in a cache of 2^24 blocks; smaller ones take its lower bits.
#[inline(always)]
pub fn slot(format: Format, bits: u128) -> usize {
    const ODD: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9];
    let [low, high] = [bits as u64, (bits >> 64) as u64];
    let mixed = low.wrapping_mul(ODD[0])
        ^ high.wrapping_mul(ODD[1]).rotate_left(32)
        ^ (format as u64).wrapping_mul(ODD[2]);
    // The upper bits depend on all of those below them.
    ((mixed ^ mixed >> 29).wrapping_mul(ODD[0]) >> 40) as usize
}
