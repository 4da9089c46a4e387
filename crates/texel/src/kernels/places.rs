//! Addresses of texels: from coordinates inside of a level to element numbers and byte offsets.

#[cfg(target_arch = "x86_64")]
use super::avx2;
use crate::axis::Axis;
use crate::{Ints, LevelLayout, Row};

/// Texels of a load.
#[repr(align(64))]
pub struct Placed<const N: usize> {
    /// Columns and lines, inside the level.
    pub at: [Ints<N>; 2],
    /// All bits in the lanes that are outside.
    pub outside: Row<N>,
}

impl<const N: usize> Placed<N> {
    /// All zeros.
    pub const ZERO: Placed<N> = Placed { at: [[0; N]; 2], outside: [0; N] };
}

#[inline(always)]
pub fn place<const N: usize>(
    level: &impl LevelLayout,
    at: [&Ints<N>; 2],
    outside: [&Row<N>; 3],
    elements: &mut Row<N>,
    out: &mut Row<N>,
) {
    for i in 0..N {
        elements[i] = level.column(at[0][i] as u32) + level.line(at[1][i] as u32);
        out[i] = outside[0][i] | outside[1][i] | outside[2][i];
    }
}

#[inline(always)]
pub fn texel_offsets<const N: usize>(
    level: &impl LevelLayout,
    shift: u32,
    keep: [u32; 2],
    at: [&Ints<N>; 2],
    out: &mut Row<N>,
) {
    for i in 0..N {
        let (x, y) = (at[0][i] as u32 & keep[0], at[1][i] as u32 & keep[1]);
        out[i] = (level.plain_column(x) + level.plain_line(y)) << shift;
    }
}

#[inline(always)]
pub fn block_offsets<const N: usize>(
    level: &impl LevelLayout,
    shift: u32,
    at: [&Ints<N>; 2],
    out: &mut Row<N>,
) {
    for i in 0..N {
        out[i] = level.element(at[0][i] as u32, at[1][i] as u32) << shift;
    }
}

#[inline(always)]
pub fn corners<const N: usize>(
    level: &impl LevelLayout,
    shift: u32,
    keep: [u32; 2],
    axes: &[Axis<N>; 3],
    out: &mut [Row<N>; 4],
) {
    let [x, y, _] = axes;
    for i in 0..N {
        let column = |k: usize| level.plain_column(x.texel[k][i] as u32 & keep[0]) << shift;
        let line = |k: usize| level.plain_line(y.texel[k][i] as u32 & keep[1]) << shift;
        let (columns, lines) = ([column(0), column(1)], [line(0), line(1)]);
        out[0][i] = columns[0] + lines[0];
        out[1][i] = columns[1] + lines[0];
        out[2][i] = columns[0] + lines[1];
        out[3][i] = columns[1] + lines[1];
    }
}

#[inline(always)]
pub fn layers<const N: usize>(
    layer: &Row<N>,
    last: u32,
    exec: u32,
    out: &mut Row<N>,
    same: &mut bool,
) {
    for i in 0..N {
        out[i] = (layer[i] & 0xffff).min(last);
    }
    let first = out[exec.trailing_zeros() as usize % N];
    let mut apart = 0;
    for i in 0..N {
        apart |= (out[i] ^ first) & 0u32.wrapping_sub(exec >> i & 1);
    }
    *same = apart == 0;
}

#[inline(always)]
pub fn bounds<const N: usize>(at: &[[&Ints<N>; 2]; 2], exec: u32, out: &mut [[u32; 2]; 2]) {
    for a in 0..2 {
        let (mut low, mut high) = (u32::MAX, 0);
        for i in 0..N {
            let [t0, t1] = [at[a][0][i] as u32, at[a][1][i] as u32];
            let on = 0u32.wrapping_sub(exec >> i & 1);
            low = low.min(t0.min(t1) | !on);
            high = high.max(t0.max(t1) & on);
        }
        (out[0][a], out[1][a]) = (low, high);
    }
}

#[inline(always)]
pub fn follow<const N: usize, const WIDTH: usize>(at: [&Row<N>; 2], out: &mut bool) {
    #[cfg(target_arch = "x86_64")]
    if WIDTH >= 8 && N.is_multiple_of(8) {
        // SAFETY: hosts of this width have AVX2.
        *out = unsafe { avx2::follow(at) };
        return;
    }
    let [x, y] = at;
    let mut apart = 0;
    for i in 0..N {
        apart |= (x[i] ^ x[0].wrapping_add(i as u32)) | (y[i] ^ y[0]);
    }
    *out = apart == 0;
}

#[inline(always)]
pub fn place_load<const N: usize>(level: &impl LevelLayout, at: [&Row<N>; 2], out: &mut Placed<N>) {
    let last = level.size().map(|n| n - 1);
    for i in 0..N {
        let (x, y) = (at[0][i].min(last[0]), at[1][i].min(last[1]));
        out.outside[i] = 0u32.wrapping_sub(u32::from(x != at[0][i] || y != at[1][i]));
        (out.at[0][i], out.at[1][i]) = (x as i32, y as i32);
    }
}

#[inline(always)]
pub fn offsets<const N: usize>(elements: &Row<N>, start: u64, shift: u32, out: &mut [u64; N]) {
    for i in 0..N {
        out[i] = start + (u64::from(elements[i]) << shift);
    }
}
