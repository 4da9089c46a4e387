//! Block-compressed texels: decoding through a cache.
//!
//! Decoding a block takes as long as a hundred texels do, and filters read the same few blocks again and again. The cache is looked up by
//! format and bits of a block, not by its address: it needs no invalidation, whoever writes to memory in between, and blocks that are
//! equal share an entry. Texels are kept as bytes or 16-bit numbers ([`Stored`](tepui_format::block::Stored)), which kernels then read and
//! unpack as those of other formats.
//!
//! ```text
//!  texel numbers ──block_corners──▶ offsets of blocks, texels within ──locate──▶ offsets in a pool ──texels──▶ bits
//! ```

mod pool;

use tepui_format::Format;

use crate::axis::Axis;
use crate::kernels::{BlockSizes, Located, Scattered};
use crate::unpack::Unpacker;
use crate::{Ints, Kernels, Row, TextureUnit, lanes};

pub(crate) use pool::Pool;

/// A texel of a block: floats, after the sRGB curve.
pub type Texel = [f32; 4];

/// The decoded blocks of a worker.
pub struct Blocks {
    pools: [Pool; pool::SIZES],
    /// The format that [`Blocks::texel`] was asked for last.
    last: Option<Unpacker>,
}

impl Blocks {
    /// A cache of `count` blocks of each size, a power of two; of the largest sizes, which few formats have, fewer. Nothing is allocated
    /// for a size until the first block of it.
    pub fn new(count: usize) -> Blocks {
        Blocks { pools: std::array::from_fn(|size| Pool::new(size, count)), last: None }
    }

    /// A texel of a block, counted row after row; zeros past the last one and of formats without a codec.
    #[inline]
    pub fn texel(&mut self, format: Format, bits: u128, index: usize) -> Texel {
        let (raw, divisor) = self.raw_texel(format, bits, index);
        std::array::from_fn(|c| raw[c] / divisor[c])
    }

    /// A texel as [`Unpacker::float`] gives it, and the numbers by which its channels are to be divided.
    #[inline]
    pub fn raw_texel(&mut self, format: Format, bits: u128, index: usize) -> (Texel, [f32; 4]) {
        if self.last.as_ref().is_none_or(|unpacker| unpacker.format != format) {
            self.last = Unpacker::of_blocks(format);
        }
        let Some(unpacker) = &self.last else { return ([0.0; 4], [1.0; 4]) };
        let Some(codec) = unpacker.codec().filter(|codec| index < codec.pixels()) else {
            return ([0.0; 4], unpacker.divisor);
        };
        let pool = &mut self.pools[pool::size_of(codec)];
        let (entry, _) = pool.find(codec, format, bits);
        let [low, high] = pool.words(codec, entry, index);
        let words = [[low], [high], [0], [0]];
        let raw = std::array::from_fn(|c| unpacker.float::<1, 4>(&words, &[0], c)[0]);
        (raw, unpacker.divisor)
    }

    /// Replaces the words of blocks by those of one of their texels. Words of other formats stay as they are, those of PVRTC1 too: its
    /// texels come decoded, and their words are those of four blocks.
    pub fn decode<const N: usize>(
        &mut self,
        unpacker: &Unpacker,
        exec: u32,
        [x, y]: [&Ints<N>; 2],
        words: &mut [Row<N>; 4],
    ) {
        let Some(codec) = unpacker.codec() else { return };
        let pool = &mut self.pools[pool::size_of(codec)];
        let block = unpacker.format.info().block;
        let within = within([block.width_px, block.height_px], x, y);
        // The words above those of a small block are not read from memory.
        let all = if block.bytes == 8 { u128::from(u64::MAX) } else { u128::MAX };
        let mut last = None;
        for i in lanes(exec) {
            let [a, b, c, d] = words.each_ref().map(|word| u128::from(word[i]));
            let bits = (a | b << 32 | c << 64 | d << 96) & all;
            let entry = match last {
                Some((same, entry)) if same == bits => entry,
                _ => pool.find(codec, unpacker.format, bits).0,
            };
            last = Some((bits, entry));
            [words[0][i], words[1][i]] = pool.words(codec, entry, within[i] as usize);
        }
    }
}

/// A level of a format with blocks in host memory, and the texels of a linear filter along two axes.
pub struct BlockQuad<'a, const N: usize, U: TextureUnit> {
    host: *const u8,
    level: &'a U::Level,
    axes: &'a [Axis<N>; 3],
    exec: u32,
}

impl<'a, const N: usize, U: TextureUnit> BlockQuad<'a, N, U> {
    /// The texels of `axes` in a level that starts at `host`, for the lanes of `exec`.
    ///
    /// # Safety
    /// `host` must be valid for reads of all blocks of the level as long as the value lives, and the texels must be inside of it.
    pub unsafe fn new(
        host: *const u8,
        level: &'a U::Level,
        axes: &'a [Axis<N>; 3],
        exec: u32,
    ) -> BlockQuad<'a, N, U> {
        BlockQuad { host, level, axes, exec }
    }
}

impl Blocks {
    /// The words of four texels for each lane, in the order of [`Kernels::quad`]; those of constant channels alone are left as they are. The format must have blocks, of which texels have been
    /// decoded ([`Unpacker::codec`]).
    #[inline]
    pub fn quad<const N: usize, U: TextureUnit>(
        &mut self,
        kernels: &Kernels<N, U>,
        unpacker: &Unpacker,
        quad: &BlockQuad<'_, N, U>,
        taps: &mut [[Row<N>; 4]; 4],
    ) {
        let Some(codec) = unpacker.codec() else { return };
        let BlockQuad { host, level, axes, exec } = *quad;
        let block = unpacker.format.info().block;
        let sizes = BlockSizes {
            shift: codec.bytes().ilog2(),
            texels: [block.width_px, block.height_px],
            texel_shift: pool::texel_shift(codec),
        };
        let [x, y, _] = axes;
        let (mut bounds, mut found) = ([[0; 2]; 2], false);
        kernels.bounds(&[x, y].map(|a| a.texel.each_ref()), exec, &mut bounds);
        let mut places = [[0; N]; 4];
        let mut offsets = [[0; N]; 4];
        let pool = &mut self.pools[pool::size_of(codec)];
        // SAFETY: `BlockQuad` has the promise that blocks can be read.
        let located = unsafe { Located::new(pool, codec, unpacker.format, host) };
        if let Some(grid) = sizes.grid(bounds) {
            kernels.locate_grid(located, level, grid, axes, &mut places, &mut found);
        } else {
            kernels.block_corners(level, sizes, axes, &mut offsets, &mut places);
            kernels.locate(located, &offsets, exec, &mut places, &mut found);
        }
        if found {
            // Words of constant channels alone are not read.
            let bytes = (1 << sizes.texel_shift).min(4 * unpacker.varying().div_ceil(2));
            for (places, words) in places.iter().zip(taps) {
                // SAFETY: `locate` has found places of texels of the pool.
                let texels = unsafe { Scattered::new(pool.host(), places, exec, bytes) };
                kernels.texels(&texels, words);
            }
            return;
        }
        // Blocks of this instruction took each other's place.
        kernels.block_corners(level, sizes, axes, &mut offsets, &mut places);
        for (k, words) in taps.iter_mut().enumerate() {
            // SAFETY: as before.
            let texels = unsafe { Scattered::new(host, &offsets[k], exec, codec.bytes() as u32) };
            kernels.texels(&texels, words);
            self.decode(unpacker, exec, [&x.texel[k & 1], &y.texel[k >> 1]], words);
        }
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

#[cfg(test)]
mod tests;
