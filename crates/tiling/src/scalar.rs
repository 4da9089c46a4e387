//! Element-by-element copies: for the edges of rectangles, element sizes without a brick kernel,
//! and processors without AVX2.

use crate::plane::{Order, Plane, Rect, deposit, spread};

/// Copies the elements of `rect`, to the tiled side if `TILE`, else from it. `linear` points to the
/// rectangle's top left element.
///
/// # Safety
///
/// `tiled` is valid for the plane's bytes up to the last tile that the rectangle touches, `linear`
/// for `rect.h` rows `stride_B` apart of `rect.w` elements; what is written does not overlap what
/// is read.
pub(crate) unsafe fn copy<const TILE: bool>(
    plane: &Plane,
    tiled: *mut u8,
    linear: *mut u8,
    stride_B: usize,
    rect: Rect,
) {
    // SAFETY: the caller's promise is that of each branch.
    unsafe {
        match plane.element_B {
            1 => sized::<1, TILE>(plane, tiled, linear, stride_B, rect),
            2 => sized::<2, TILE>(plane, tiled, linear, stride_B, rect),
            3 => sized::<3, TILE>(plane, tiled, linear, stride_B, rect),
            4 => sized::<4, TILE>(plane, tiled, linear, stride_B, rect),
            6 => sized::<6, TILE>(plane, tiled, linear, stride_B, rect),
            8 => sized::<8, TILE>(plane, tiled, linear, stride_B, rect),
            12 => sized::<12, TILE>(plane, tiled, linear, stride_B, rect),
            16 => sized::<16, TILE>(plane, tiled, linear, stride_B, rect),
            32 => sized::<32, TILE>(plane, tiled, linear, stride_B, rect),
            64 => sized::<64, TILE>(plane, tiled, linear, stride_B, rect),
            other => unreachable!("Plane::new lets no elements of {other} bytes through"),
        }
    }
}

/// [`copy`] for elements of `N` bytes.
///
/// The position along the curve is the spread bits of x exclusive-or bits that depend on y only.
/// Stepping right adds one to the spread bits: subtracting their mask carries across the gaps.
/// source: Fabian Giesen, "Texture tiling and swizzling".
unsafe fn sized<const N: usize, const TILE: bool>(
    plane: &Plane,
    tiled: *mut u8,
    linear: *mut u8,
    stride_B: usize,
    rect: Rect,
) {
    let (tile_w, tile_h) = (1 << plane.log2_tile_w, 1 << plane.log2_tile_h);
    // Masks of the bits of x and of y in an element's index.
    let (mask, y_mask) = match plane.order {
        Order::Bits(bits) => {
            let bits = bits.of_elements(N as u32);
            (bits.x, bits.y)
        }
        _ => (spread(tile_w - 1), 0),
    };
    let x_first = match plane.order {
        Order::Bits(_) => deposit(rect.x % tile_w, mask),
        _ => spread(rect.x % tile_w),
    };
    let tile_B = plane.tile_B();
    for row in 0..rect.h {
        let y = rect.y + row;
        let y_bits = match plane.order {
            Order::Morton | Order::Raster => spread(y % tile_h) << 1,
            Order::UInterleaved => spread(y % tile_h) * 3,
            Order::Bits(_) => deposit(y % tile_h, y_mask),
        };
        let mut tile_B_at =
            (y / tile_h) as usize * plane.tile_row_B + (rect.x / tile_w) as usize * tile_B;
        let mut x_bits = x_first;
        for column in 0..rect.w as usize {
            let tiled_at = tile_B_at + (x_bits ^ y_bits) as usize * N;
            // SAFETY: the element lies in a tile that the rectangle touches, and in one of the
            // rectangle's rows; the caller vouches for both.
            unsafe {
                let tiled = tiled.add(tiled_at).cast::<[u8; N]>();
                let linear = linear.add(row as usize * stride_B + column * N).cast::<[u8; N]>();
                if TILE { *tiled = *linear } else { *linear = *tiled }
            }
            x_bits = x_bits.wrapping_sub(mask) & mask;
            if x_bits == 0 {
                tile_B_at += tile_B;
            }
        }
    }
}
