//! Words from memory for all lanes.

use std::marker::PhantomData;

use tepui_layout::morton::spread;

use super::places;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::axis::Axis;
use crate::{Floats, Row, TextureUnit};

/// Texels that are apart in host memory, one for each lane.
pub struct Scattered<'a, const N: usize> {
    host: *const u8,
    offsets: &'a Row<N>,
    exec: u32,
    bytes: u32,
}

impl<'a, const N: usize> Scattered<'a, N> {
    /// Texels of `bytes` bytes at offsets, of those halves of the group that have a lane in
    /// `exec`.
    ///
    /// # Safety
    /// `host` must be valid for reads of `bytes` bytes at each offset as long as the value lives.
    pub unsafe fn new(
        host: *const u8,
        offsets: &'a Row<N>,
        exec: u32,
        bytes: u32,
    ) -> Scattered<'a, N> {
        Scattered { host, offsets, exec, bytes }
    }
}

/// The four texels of two axes in a level in host memory.
pub struct Corners<'a, const N: usize, U: TextureUnit> {
    host: *const u8,
    level: &'a U::Level,
    axes: &'a [Axis<N>; 3],
    keep: [u32; 2],
    exec: u32,
    shift: u32,
}

impl<'a, const N: usize, U: TextureUnit> Corners<'a, N, U> {
    /// Texels of `1 << shift` bytes of a level that starts at `host`. Only the bits of `keep` of columns and lines count.
    ///
    /// # Safety
    /// `host` must be valid for reads of all texels of the level as long as the value lives, and the texels of `axes` must be inside of it.
    pub unsafe fn new(
        host: *const u8,
        level: &'a U::Level,
        axes: &'a [Axis<N>; 3],
        keep: [u32; 2],
        exec: u32,
        shift: u32,
    ) -> Corners<'a, N, U> {
        Corners { host, level, axes, keep, exec, shift }
    }
}

/// A line of texels of four bytes, one of each lane, in Morton order.
pub struct Line<'a> {
    from: *const u32,
    lives: PhantomData<&'a u32>,
}

impl Line<'_> {
    /// The line that starts at `from`.
    ///
    /// # Safety
    /// `from` must be valid for reads of the line's texels as long as the value lives.
    pub unsafe fn new<'a>(from: *const u32) -> Line<'a> {
        Line { from, lives: PhantomData }
    }
}

/// The words of texels that lie apart.
#[inline(always)]
pub fn texels<const N: usize, const WIDTH: usize>(
    texels: &Scattered<'_, N>,
    words: &mut [Row<N>; 4],
) {
    let Scattered { host, offsets, exec, bytes } = *texels;
    #[cfg(target_arch = "x86_64")]
    if WIDTH == 16 && N.is_multiple_of(16) && bytes >= 4 {
        for (k, row) in words.iter_mut().enumerate().take(bytes as usize / 4) {
            // SAFETY: hosts of this width have AVX-512F; `Scattered` has the promise that texels can be read.
            unsafe { avx512::gather(host.wrapping_add(4 * k), offsets, exec, row) };
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if WIDTH >= 8 && N.is_multiple_of(8) && bytes >= 4 {
        for (k, row) in words.iter_mut().enumerate().take(bytes as usize / 4) {
            // SAFETY: hosts of this width have AVX2; `Scattered` has the promise that texels can be
            // read.
            unsafe { avx2::gather(host.wrapping_add(4 * k), offsets, exec, row) };
        }
        return;
    }
    let half = (1 << (N / 2)) - 1;
    for h in (0..N).step_by(N / 2).filter(|h| exec >> h & half != 0) {
        let lanes = h..h + N / 2;
        // SAFETY: `Scattered` has the promise that texels can be read.
        unsafe {
            match bytes {
                1 => {
                    for i in lanes {
                        words[0][i] = u32::from(host.add(offsets[i] as usize).read());
                    }
                }
                2 => {
                    for i in lanes {
                        let texel = host.add(offsets[i] as usize).cast::<u16>();
                        words[0][i] = u32::from(texel.read_unaligned());
                    }
                }
                4 => {
                    for i in lanes {
                        let texel = host.add(offsets[i] as usize).cast::<u32>();
                        words[0][i] = texel.read_unaligned();
                    }
                }
                8 => {
                    for i in lanes {
                        let texel = host.add(offsets[i] as usize).cast::<u64>().read_unaligned();
                        words[0][i] = texel as u32;
                        words[1][i] = (texel >> 32) as u32;
                    }
                }
                _ => {
                    for i in lanes {
                        let texel = host.add(offsets[i] as usize).cast::<[u32; 4]>();
                        for (word, value) in words.iter_mut().zip(texel.read_unaligned()) {
                            word[i] = value;
                        }
                    }
                }
            }
        }
    }
}

/// Rows that vectors of the host do not lie across.
#[repr(align(64))]
struct Aligned<T>(T);

/// The words of the four texels of two axes, left to right, then the next line.
#[inline(always)]
pub fn corner_texels<const N: usize, U: TextureUnit, const WIDTH: usize>(
    corners: &Corners<'_, N, U>,
    words: &mut [[Row<N>; 4]; 4],
) {
    let Corners { host, level, axes, keep, exec, shift } = *corners;
    let mut offsets = Aligned([[0; N]; 4]);
    places::corners(level, shift, keep, axes, &mut offsets.0);
    for (offsets, words) in offsets.0.iter().zip(words) {
        texels::<N, WIDTH>(&Scattered { host, offsets, exec, bytes: 1 << shift }, words);
    }
}

/// The words of a line of texels.
#[inline(always)]
pub fn line<const N: usize, const WIDTH: usize>(line: &Line<'_>, words: &mut Row<N>) {
    #[cfg(target_arch = "x86_64")]
    if WIDTH >= 8 && N.is_multiple_of(8) {
        // SAFETY: hosts of this width have AVX2; `Line` has the promise that texels can be read.
        return unsafe { avx2::line(line.from, words) };
    }
    for (pair, two) in words.chunks_exact_mut(2).enumerate() {
        let element = spread(2 * pair as u32) as usize;
        // SAFETY: `Line` has the promise that texels can be read; pairs lie side by side.
        let texels = unsafe { line.from.add(element).cast::<[u32; 2]>().read_unaligned() };
        two.copy_from_slice(&texels);
    }
}

/// The values of bytes of words in a table. The width is that of the vectors of hosts that the
/// caller is compiled for.
#[inline(always)]
pub fn look_up<const N: usize, const WIDTH: usize>(
    table: &[f32; 256],
    words: &Row<N>,
    shift: u32,
    out: &mut Floats<N>,
) {
    #[cfg(target_arch = "x86_64")]
    if WIDTH == 16 && N.is_multiple_of(16) {
        // SAFETY: hosts of this width have AVX-512F.
        return unsafe { avx512::look_up(table, words, shift, out) };
    }
    #[cfg(target_arch = "x86_64")]
    if WIDTH == 8 && N.is_multiple_of(8) {
        // SAFETY: hosts of this width have AVX2.
        return unsafe { avx2::look_up(table, words, shift, out) };
    }
    for i in 0..N {
        out[i] = table[((words[i] >> shift) & 0xff) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texels of each size, without and with wide vectors.
    #[test]
    fn scattered_texels_are_read_whole() {
        let memory: Vec<u8> = (0..1024u32).map(|i| (i * 37 + i / 256) as u8).collect();
        let offsets: Row<16> = std::array::from_fn(|i| (i as u32 * 7 % 16) * 48 + i as u32 % 3);
        for bytes in [1, 2, 4, 8, 16] {
            // SAFETY: the last offset is 722.
            let scattered =
                unsafe { Scattered::new(memory.as_ptr(), &offsets, 0xffff, bytes as u32) };
            let mut words = [[[0; 16]; 4]; 3];
            texels::<16, 4>(&scattered, &mut words[0]);
            words = [words[0]; 3];
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                words[1] = [[0; 16]; 4];
                texels::<16, 8>(&scattered, &mut words[1]);
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512f") {
                words[2] = [[0; 16]; 4];
                texels::<16, 16>(&scattered, &mut words[2]);
            }
            for (lane, &offset) in offsets.iter().enumerate() {
                let mut want = [0; 16];
                want[..bytes].copy_from_slice(&memory[offset as usize..][..bytes]);
                for (word, want) in want.chunks_exact(4).enumerate() {
                    let want = u32::from_le_bytes(want.try_into().unwrap());
                    for words in &words {
                        assert_eq!(words[word][lane], want, "{bytes} {lane}");
                    }
                }
            }
        }
    }
}
