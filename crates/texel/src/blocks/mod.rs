//! Block-compressed texels: decoding through a cache.
//!
//! Decoding a block takes as long as a hundred texels do, and filters read the same few blocks again and again. The cache is looked up by
//! format and bits of a block, not by its address: it needs no invalidation, whoever writes to memory in between, and blocks that are
//! equal share an entry.

use tepui_format::Format;
use tepui_format::block::BlockCodec;

use crate::axis::Axis;
use crate::unpack::Unpacker;
use crate::{Ints, Row, lanes};

/// A texel of a block: floats, after the sRGB curve.
pub type Texel = [f32; 4];

/// The decoded blocks of a worker.
pub struct Blocks {
    /// Direct-mapped; empty until the first block is decoded.
    entries: Vec<Entry>,
    count: usize,
}

/// A decoded block, or none.
#[derive(Clone, Default)]
struct Entry {
    bits: u128,
    format: Option<Format>,
    /// Row after row; none of a format without a codec.
    texels: Box<[Texel]>,
}

impl Blocks {
    /// A cache of `count` blocks, a power of two. A block of 4x4 texels takes 300 bytes.
    pub fn new(count: usize) -> Blocks {
        assert!(count.is_power_of_two());
        Blocks { entries: Vec::new(), count }
    }

    /// The texels of a block, row after row; none of a format without a codec.
    #[inline]
    pub fn texels(&mut self, format: Format, bits: u128) -> &[Texel] {
        let index = self.find(format, bits);
        &self.entries[index].texels
    }

    /// The entry of a block, which is decoded if it is not there.
    #[inline]
    fn find(&mut self, format: Format, bits: u128) -> usize {
        let index = slot(format, bits) & (self.count - 1);
        match self.entries.get(index) {
            Some(entry) if entry.bits == bits && entry.format == Some(format) => {}
            _ => self.fill(index, format, bits),
        }
        index
    }

    #[inline(never)]
    fn fill(&mut self, index: usize, format: Format, bits: u128) {
        if self.entries.is_empty() {
            self.entries.resize(self.count, Entry::default());
        }
        let entry = &mut self.entries[index];
        (entry.bits, entry.format) = (bits, Some(format));
        match BlockCodec::new(format) {
            Ok(codec) => {
                if entry.texels.len() != codec.pixels() {
                    entry.texels = vec![[0.0; 4]; codec.pixels()].into_boxed_slice();
                }
                codec.decode(&bits.to_le_bytes(), &mut entry.texels);
            }
            Err(_) => entry.texels = Box::default(),
        }
    }

    /// Replaces the words of blocks by the channels of one of their texels, as floats' bits. Words of other formats stay as they are, those
    /// of PVRTC1 too: its texels come decoded, and their words are those of four blocks.
    pub fn decode<const N: usize>(
        &mut self,
        unpacker: &Unpacker,
        exec: u32,
        [x, y]: [&Ints<N>; 2],
        words: &mut [Row<N>; 4],
    ) {
        if !unpacker.is_block() {
            return;
        }
        let format = unpacker.format;
        let block = format.info().block;
        let within = within([block.width_px, block.height_px], x, y);
        // The words above those of a small block are not read from memory.
        let all = if block.bytes == 8 { u128::from(u64::MAX) } else { u128::MAX };
        let mut last = None;
        for i in lanes(exec) {
            let [a, b, c, d] = words.each_ref().map(|word| u128::from(word[i]));
            let bits = (a | b << 32 | c << 64 | d << 96) & all;
            let index = match last {
                Some((same, index)) if same == bits => index,
                _ => self.find(format, bits),
            };
            last = Some((bits, index));
            let texels = &self.entries[index].texels;
            let texel = texels.get(within[i] as usize).copied().unwrap_or_default();
            for (word, value) in words.iter_mut().zip(texel) {
                word[i] = value.to_bits();
            }
        }
    }
}

/// The blocks of the four texels of a linear filter along two axes: left to right, then the next line.
pub struct Corners<'a, const N: usize> {
    host: *const u8,
    /// Bytes from there.
    offsets: &'a [Row<N>; 4],
    axes: &'a [Axis<N>; 3],
    exec: u32,
}

impl<'a, const N: usize> Corners<'a, N> {
    /// Blocks at offsets from an address, for the lanes of `exec`.
    ///
    /// # Safety
    /// `host` must be valid for reads of a block at the offsets of these lanes as long as the value lives.
    pub unsafe fn new(
        host: *const u8,
        offsets: &'a [Row<N>; 4],
        axes: &'a [Axis<N>; 3],
        exec: u32,
    ) -> Corners<'a, N> {
        Corners { host, offsets, axes, exec }
    }
}

/// Texels of blocks that an instruction has read, by the blocks' offsets. Direct-mapped; neighbours have places of their own.
struct Recent {
    offsets: [u32; Recent::COUNT],
    /// As many texels as a block has, until an entry of the cache changes.
    texels: [*const Texel; Recent::COUNT],
}

impl Recent {
    const COUNT: usize = 8;
    /// No block is at an odd offset.
    const NONE: Recent =
        Recent { offsets: [u32::MAX; Recent::COUNT], texels: [std::ptr::null(); Recent::COUNT] };
}

impl Blocks {
    /// The weighted sums of four texels, in the order of [`Kernels::quad`](crate::Kernels::quad), of formats with blocks.
    pub fn filter<const N: usize>(
        &mut self,
        unpacker: &Unpacker,
        corners: &Corners<'_, N>,
        out: &mut [Row<N>; 4],
    ) {
        let Ok(codec) = BlockCodec::new(unpacker.format) else { return };
        let Corners { offsets, axes: [x, y, _], exec, .. } = *corners;
        let block = unpacker.format.info().block;
        let size = [block.width_px, block.height_px];
        let within = [0, 1, 2, 3].map(|k| within(size, &x.texel[k & 1], &y.texel[k >> 1]));
        let mut recent = Recent::NONE;
        let mut sums = [[0.0; 4]; N];
        for i in lanes(exec) {
            let (right, lower) = (x.weight[i], y.weight[i]);
            let weights = [
                (1.0 - lower) * (1.0 - right),
                (1.0 - lower) * right,
                lower * (1.0 - right),
                lower * right,
            ];
            let mut sum = [0.0; 4];
            for k in 0..4 {
                let offset = offsets[k][i];
                let place = (offset >> block.bytes.ilog2()) as usize % Recent::COUNT;
                if recent.offsets[place] != offset {
                    let texels = self.read(&codec, unpacker.format, corners, offset, &mut recent);
                    (recent.offsets[place], recent.texels[place]) = (offset, texels);
                }
                // SAFETY: an entry has all texels of its block, and no entry has changed since this one was looked up.
                let texel = unsafe { *recent.texels[place].add(within[k][i] as usize) };
                // A texel without weight does not count, not even an infinite one.
                let counts = if weights[k] == 0.0 { 0 } else { u32::MAX };
                for (sum, value) in sum.iter_mut().zip(texel) {
                    *sum += f32::from_bits((weights[k] * value).to_bits() & counts);
                }
            }
            sums[i] = sum;
        }
        for (c, row) in out.iter_mut().enumerate() {
            for (value, sum) in row.iter_mut().zip(&sums) {
                *value = sum[c].to_bits();
            }
        }
    }

    /// The texels of the block at an offset. If it takes the place of another, nothing is recent any more.
    #[inline(never)]
    fn read<const N: usize>(
        &mut self,
        codec: &BlockCodec,
        format: Format,
        corners: &Corners<'_, N>,
        offset: u32,
        recent: &mut Recent,
    ) -> *const Texel {
        let from = corners.host.wrapping_add(offset as usize);
        // SAFETY: `Corners` has the promise that blocks can be read.
        let bits = unsafe {
            match codec.bytes() {
                8 => u128::from(from.cast::<u64>().read_unaligned().to_le()),
                _ => from.cast::<u128>().read_unaligned().to_le(),
            }
        };
        let index = slot(format, bits) & (self.count - 1);
        match self.entries.get(index) {
            Some(entry) if entry.bits == bits && entry.format == Some(format) => {}
            _ => {
                *recent = Recent::NONE;
                self.fill(index, format, bits);
            }
        }
        let texels = &self.entries[index].texels;
        assert_eq!(texels.len(), codec.pixels());
        texels.as_ptr()
    }
}

/// The number of each lane's texel within its block.
#[inline(always)]
fn within<const N: usize>([width, height]: [u32; 2], x: &Ints<N>, y: &Ints<N>) -> Row<N> {
    let mut out = [0; N];
    if width == 4 && height == 4 {
        for i in 0..N {
            out[i] = (y[i] as u32 % 4) * 4 + x[i] as u32 % 4;
        }
    } else {
        for i in 0..N {
            out[i] = (y[i] as u32 % height) * width + x[i] as u32 % width;
        }
    }
    out
}

/// The place of a block in a cache of 2^24 blocks; smaller ones take its lower bits.
#[inline(always)]
fn slot(format: Format, bits: u128) -> usize {
    const ODD: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9];
    let [low, high] = [bits as u64, (bits >> 64) as u64];
    let mixed = low.wrapping_mul(ODD[0])
        ^ high.wrapping_mul(ODD[1]).rotate_left(32)
        ^ (format as u64).wrapping_mul(ODD[2]);
    // The upper bits depend on all of those below them.
    ((mixed ^ mixed >> 29).wrapping_mul(ODD[0]) >> 40) as usize
}

#[cfg(test)]
mod tests;
