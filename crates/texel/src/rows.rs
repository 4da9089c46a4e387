//! Copies rectangles of texels to and from a level of an image in host memory, whose texels are in
//! rows or in 4x4 squares.

use crate::LevelLayout;

/// The longest side: that of a tile.
pub const MAX_SIDE: usize = 32;

/// Whether [`write()`] and [`read()`] can copy these texels: columns and lines from `at` on.
pub fn suit(level: &impl LevelLayout, at: [u32; 2], size: [usize; 2]) -> bool {
    let squares = at.iter().all(|v| v % 4 == 0) && size.iter().all(|n| n % 4 == 0);
    let inside = size.iter().all(|&n| n <= MAX_SIDE);
    inside && (level.is_linear() || squares && level.is_morton())
}

/// Writes texels that [`suit`].
///
/// # Safety
/// The texels must be inside of the level. `to`, where the level starts, must be valid for writes
/// of all its texels, which are of the size of `T`.
#[inline(always)]
pub unsafe fn write<T: Copy>(
    level: &impl LevelLayout,
    to: *mut u8,
    [x0, y0]: [u32; 2],
    [width, height]: [usize; 2],
    texels: &[[T; MAX_SIDE]; MAX_SIDE],
) {
    debug_assert!(suit(level, [x0, y0], [width, height]));
    // SAFETY: the caller's promise.
    let place = |element: u32| unsafe { to.cast::<T>().add(element as usize) };
    if level.is_linear() {
        for (y, row) in (y0..).zip(&texels[..height]) {
            let to = place(level.element(x0, y));
            // SAFETY: the caller's promise; a row's texels lie side by side.
            unsafe { std::ptr::copy_nonoverlapping(row[..width].as_ptr(), to, width) };
        }
        return;
    }
    // In the order in which squares mostly lie in memory, so that the host sees where stores will
    // go.
    let columns: [u32; SQUARES] = std::array::from_fn(|k| level.plain_column(x0 + 4 * k as u32));
    let lines: [u32; SQUARES] = std::array::from_fn(|k| level.plain_line(y0 + 4 * k as u32));
    for square in 0..SQUARES * SQUARES {
        let [column, line] = [compact(square), compact(square >> 1)];
        let [x, y] = [4 * column, 4 * line];
        if x >= width || y >= height {
            continue;
        }
        let two = |x: usize, y: usize| [texels[y][x], texels[y][x + 1]];
        let four = |x: usize, y: usize| [two(x, y), two(x, y + 1)];
        let all = [four(x, y), four(x + 2, y), four(x, y + 2), four(x + 2, y + 2)];
        let to = place(columns[column] + lines[line]);
        // SAFETY: the caller's promise; Morton order has sixteen texels of an aligned square side
        // by side.
        unsafe { to.cast::<[[[T; 2]; 2]; 4]>().write_unaligned(all) };
    }
}

/// Reads texels that [`suit`].
///
/// # Safety
/// The texels must be inside of the level. `from`, where the level starts, must be valid for reads
/// of all its texels, which are of the size of `T`.
#[inline(always)]
pub unsafe fn read<T: Copy>(
    level: &impl LevelLayout,
    from: *const u8,
    [x0, y0]: [u32; 2],
    [width, height]: [usize; 2],
    texels: &mut [[T; MAX_SIDE]; MAX_SIDE],
) {
    debug_assert!(suit(level, [x0, y0], [width, height]));
    // SAFETY: the caller's promise.
    let place = |element: u32| unsafe { from.cast::<T>().add(element as usize) };
    if level.is_linear() {
        for (y, row) in (y0..).zip(&mut texels[..height]) {
            let from = place(level.element(x0, y));
            // SAFETY: the caller's promise; a row's texels lie side by side.
            unsafe { std::ptr::copy_nonoverlapping(from, row[..width].as_mut_ptr(), width) };
        }
        return;
    }
    for (y, rows) in (0..height).step_by(4).zip(texels.as_chunks_mut::<4>().0) {
        let line = level.plain_line(y0 + y as u32);
        for x in (0..width).step_by(4) {
            let from = place(level.plain_column(x0 + x as u32) + line);
            // SAFETY: the caller's promise; Morton order has sixteen texels of an aligned square
            // side by side.
            let [a, b, c, d] = unsafe { from.cast::<[[[T; 2]; 2]; 4]>().read_unaligned() };
            for (row, [left, right]) in
                rows.iter_mut().zip([[a[0], b[0]], [a[1], b[1]], [c[0], d[0]], [c[1], d[1]]])
            {
                row[x..x + 2].copy_from_slice(&left);
                row[x + 2..x + 4].copy_from_slice(&right);
            }
        }
    }
}

/// Squares along the longest side.
const SQUARES: usize = MAX_SIDE / 4;

/// Every second of six bits.
fn compact(bits: usize) -> usize {
    bits & 1 | bits >> 1 & 2 | bits >> 2 & 4
}
