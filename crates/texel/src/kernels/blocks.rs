//! The blocks of formats with blocks: offsets in memory, and places in a cache of decoded ones.

use tepui_format::Format;
use tepui_format::block::BlockCodec;

#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::axis::Axis;
use crate::blocks::Pool;
use crate::{LevelLayout, Row, TextureUnit};

/// Fraction bits of the reciprocal of a block's side. The product with a coordinate below 2^14 is exact for all sides up to 12, and fits into
/// 32 bits.
const RECIPROCAL_BITS: u32 = 17;

/// Sizes of the blocks of a format.
#[derive(Clone, Copy)]
pub struct BlockSizes {
    /// Logarithm of a block's bytes.
    pub shift: u32,
    /// Width and height in texels.
    pub texels: [u32; 2],
    /// Logarithm of a decoded texel's bytes.
    pub texel_shift: u32,
}

/// Blocks along an axis of a grid that is located at once.
pub const GRID: u32 = 4;

/// At most [`GRID`] blocks along each of two axes.
#[derive(Clone, Copy)]
pub struct BlockGrid {
    sizes: BlockSizes,
    /// The first block along both axes.
    first: [u32; 2],
    /// The last one.
    last: [u32; 2],
}

impl BlockSizes {
    /// The block of a texel along an axis, and the texel's number in it.
    #[inline(always)]
    fn split(&self, axis: usize) -> impl Fn(u32) -> (u32, u32) + Copy {
        let side = self.texels[axis];
        let reciprocal = (1u32 << RECIPROCAL_BITS).div_ceil(side);
        move |at: u32| {
            let block = at.wrapping_mul(reciprocal) >> RECIPROCAL_BITS;
            (block, at.wrapping_sub(block.wrapping_mul(side)))
        }
    }

    /// The blocks of the texels between two; `None` if they are more than [`locate_grid`] takes.
    #[inline(always)]
    pub fn grid(self, [low, high]: [[u32; 2]; 2]) -> Option<BlockGrid> {
        let block = |at: [u32; 2]| [self.split(0)(at[0]).0, self.split(1)(at[1]).0];
        let [first, last] = [block(low), block(high)];
        let fits = |a: usize| last[a].wrapping_sub(first[a]) < GRID;
        (fits(0) && fits(1)).then_some(BlockGrid { sizes: self, first, last })
    }
}

/// Offsets of the blocks of the four texels of two axes from the level's start, and of the texels within decoded blocks.
#[inline(always)]
pub fn block_corners<const N: usize>(
    level: &impl LevelLayout,
    sizes: BlockSizes,
    axes: &[Axis<N>; 3],
    blocks: &mut [Row<N>; 4],
    texels: &mut [Row<N>; 4],
) {
    let BlockSizes { shift, texels: [width, _], texel_shift: texel } = sizes;
    let [x, y, _] = axes;
    let (across, down) = (sizes.split(0), sizes.split(1));
    for i in 0..N {
        let column = |k: usize| {
            let (block, within) = across(x.texel[k][i] as u32);
            (level.plain_column(block) << shift, within << texel)
        };
        let line = |k: usize| {
            let (block, within) = down(y.texel[k][i] as u32);
            (level.plain_line(block) << shift, within.wrapping_mul(width) << texel)
        };
        let (columns, lines) = ([column(0), column(1)], [line(0), line(1)]);
        for k in 0..4 {
            let ((c, cw), (l, lw)) = (columns[k & 1], lines[k >> 1]);
            blocks[k][i] = c.wrapping_add(l);
            texels[k][i] = cw.wrapping_add(lw);
        }
    }
}

/// Blocks of a level that are looked up in a cache.
pub struct Located<'a> {
    pool: &'a mut Pool,
    codec: &'a BlockCodec,
    format: Format,
    host: *const u8,
}

impl<'a> Located<'a> {
    /// The blocks of a level that starts at `host`.
    ///
    /// # Safety
    /// `host` must be valid for reads of all blocks of the level as long as the value lives.
    pub unsafe fn new(
        pool: &'a mut Pool,
        codec: &'a BlockCodec,
        format: Format,
        host: *const u8,
    ) -> Located<'a> {
        Located { pool, codec, format, host }
    }

    /// The bits of the block at an offset, which must be that of a block of the level.
    #[inline(always)]
    fn bits(&self, offset: u32) -> u128 {
        let from = self.host.wrapping_add(offset as usize);
        // SAFETY: `Located` has the promise that blocks can be read.
        unsafe {
            match self.codec.bytes() {
                8 => u128::from(from.cast::<u64>().read_unaligned().to_le()),
                _ => from.cast::<u128>().read_unaligned().to_le(),
            }
        }
    }
}

/// Adds the places of decoded blocks to those of texels within them. `found` is false if two of the blocks have the same place in the cache:
/// then only one of them is in it, and the places mean nothing.
///
/// Neighbouring lanes read the same blocks, so this is a loop over blocks that differ, and each is looked for in all lanes.
#[inline(always)]
pub fn locate<const N: usize, const WIDTH: usize>(
    located: Located<'_>,
    offsets: &[Row<N>; 4],
    exec: u32,
    places: &mut [Row<N>; 4],
    found: &mut bool,
) {
    // The entries of the blocks so far, at most one for each texel.
    let (mut entries, mut count) = ([[0u32; N]; 4], 0);
    let place = |offset: u32| {
        let bits = located.bits(offset);
        let (entry, is_there) = located.pool.find(located.codec, located.format, bits);
        let entries = entries.as_flattened_mut();
        if !is_there && entries[..count].contains(&(entry as u32)) {
            return None;
        }
        entries[count % (4 * N)] = entry as u32;
        count += 1;
        Some((entry as u32) << located.pool.shift())
    };
    #[cfg(target_arch = "x86_64")]
    if WIDTH == 16 && N.is_multiple_of(16) {
        // SAFETY: hosts of this width have AVX-512F.
        *found = unsafe { avx512::add_places(offsets, exec, place, places) };
        return;
    }
    *found = add_places::<N, WIDTH>(offsets, exec, place, places);
}

/// Places of the decoded blocks of the four texels of two axes, together with those of the texels within them, for texels of a small grid of
/// blocks ([`BlockSizes::grid`]): each block of the grid is looked up once, and no lane is compared with another. `found` is as in [`locate`].
#[inline(always)]
pub fn locate_grid<const N: usize, U: TextureUnit, const WIDTH: usize>(
    located: Located<'_>,
    level: &U::Level,
    grid: BlockGrid,
    axes: &[Axis<N>; 3],
    places: &mut [Row<N>; 4],
    found: &mut bool,
) {
    let BlockGrid { sizes, first, last } = grid;
    let BlockSizes { shift, texels: [width, _], texel_shift: texel } = sizes;
    // Places of the grid's blocks; those of lanes without a texel are of any.
    let mut table = [0u32; (GRID * GRID) as usize];
    let (mut entries, mut count) = ([0u32; (GRID * GRID) as usize], 0);
    for y in 0..=(last[1] - first[1]) % GRID {
        let line = level.plain_line(first[1] + y) << shift;
        for x in 0..=(last[0] - first[0]) % GRID {
            let column = level.plain_column(first[0] + x) << shift;
            let bits = located.bits(column.wrapping_add(line));
            let (entry, is_there) = located.pool.find(located.codec, located.format, bits);
            if !is_there && entries[..count].contains(&(entry as u32)) {
                *found = false;
                return;
            }
            entries[count] = entry as u32;
            count += 1;
            table[(y * GRID + x) as usize] = (entry as u32) << located.pool.shift();
        }
    }
    let [x, y, _] = axes;
    let (across, down) = (sizes.split(0), sizes.split(1));
    let mut blocks = [[0; N]; 4];
    for i in 0..N {
        let column = |k: usize| {
            let (block, within) = across(x.texel[k][i] as u32);
            (block.wrapping_sub(first[0]) % GRID, within << texel)
        };
        let line = |k: usize| {
            let (block, within) = down(y.texel[k][i] as u32);
            (block.wrapping_sub(first[1]) % GRID * GRID, within.wrapping_mul(width) << texel)
        };
        let (columns, lines) = ([column(0), column(1)], [line(0), line(1)]);
        for k in 0..4 {
            let ((c, cw), (l, lw)) = (columns[k & 1], lines[k >> 1]);
            blocks[k][i] = c + l;
            places[k][i] = cw.wrapping_add(lw);
        }
    }
    *found = true;
    for (blocks, places) in blocks.iter().zip(places) {
        #[cfg(target_arch = "x86_64")]
        if WIDTH == 16 && N.is_multiple_of(16) {
            // SAFETY: hosts of this width have AVX-512F.
            unsafe { avx512::add_entries(&table, blocks, places) };
            continue;
        }
        for i in 0..N {
            places[i] = places[i].wrapping_add(table[(blocks[i] % (GRID * GRID)) as usize]);
        }
    }
}

/// Adds the number that `place` gives for an offset to the lanes of `exec` that have it, for each of the four rows. Returns false when
/// `place` has none.
#[inline(always)]
fn add_places<const N: usize, const WIDTH: usize>(
    offsets: &[Row<N>; 4],
    exec: u32,
    mut place: impl FnMut(u32) -> Option<u32>,
    places: &mut [Row<N>; 4],
) -> bool {
    let mut left = [exec; 4];
    for k in 0..4 {
        while left[k] != 0 {
            let offset = offsets[k][left[k].trailing_zeros() as usize % N];
            let Some(number) = place(offset) else { return false };
            for r in k..4 {
                left[r] &= !add_where::<N, WIDTH>(&offsets[r], offset, number, &mut places[r]);
            }
        }
    }
    true
}

/// Adds a number to the lanes whose offset is a given one, and returns these lanes.
#[inline(always)]
fn add_where<const N: usize, const WIDTH: usize>(
    offsets: &Row<N>,
    offset: u32,
    number: u32,
    to: &mut Row<N>,
) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if WIDTH == 8 && N.is_multiple_of(8) {
        // SAFETY: hosts of this width have AVX2.
        return unsafe { avx2::add_where(offsets, offset, number, to) };
    }
    let mut same = 0;
    for i in 0..N {
        let equal = u32::from(offsets[i] == offset);
        to[i] = to[i].wrapping_add(number & equal.wrapping_neg());
        same |= equal << i;
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever vectors there are, the lanes with an offset get its number, and each offset is asked for once.
    #[test]
    fn lanes_with_an_offset_get_its_number() {
        type Add = fn(&[Row<32>; 4], u32, &mut Vec<u32>, &mut [Row<32>; 4]) -> bool;
        fn number(offset: u32, asked: &mut Vec<u32>) -> Option<u32> {
            asked.push(offset);
            (offset != 99).then_some(1000 * offset)
        }
        let mut ways: Vec<Add> =
            vec![|o, exec, asked, p| add_places::<32, 4>(o, exec, |at| number(at, asked), p)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            ways.push(|o, exec, asked, p| add_places::<32, 8>(o, exec, |at| number(at, asked), p));
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the host has AVX-512F.
            ways.push(|o, exec, asked, p| unsafe {
                avx512::add_places(o, exec, |at| number(at, asked), p)
            });
        }
        let offset = |k: usize, i: usize, n: u32| (7 * k as u32 + i as u32 * 5) / 3 % n;
        for (n, exec) in [(1, 1), (4, u32::MAX), (40, 0x8000_0001), (40, 0x00ff_ff00), (40, 0)] {
            let offsets: [Row<32>; 4] =
                std::array::from_fn(|k| std::array::from_fn(|i| offset(k, i, n)));
            for add in &ways {
                let (mut asked, mut places) = (Vec::new(), [[5; 32]; 4]);
                assert!(add(&offsets, exec, &mut asked, &mut places));
                for (k, i) in (0..4).flat_map(|k| (0..32).map(move |i| (k, i))) {
                    if exec >> i & 1 != 0 {
                        assert_eq!(places[k][i], 5 + 1000 * offsets[k][i], "{n} {exec:x} {k} {i}");
                    }
                }
                let count = asked.len();
                asked.sort();
                asked.dedup();
                assert_eq!(asked.len(), count);
            }
        }
        for add in &ways {
            let mut offsets = [[1; 32]; 4];
            offsets[3][9] = 99;
            assert!(!add(&offsets, u32::MAX, &mut Vec::new(), &mut [[0; 32]; 4]));
        }
    }
}
