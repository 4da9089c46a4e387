//! Morton order: the bits of two coordinates, interleaved.

/// The bits of `value` (below 65536) in the even positions.
#[inline]
pub const fn spread(value: u32) -> u32 {
    let v = value & 0xffff;
    let v = (v | v << 8) & 0x00ff_00ff;
    let v = (v | v << 4) & 0x0f0f_0f0f;
    let v = (v | v << 2) & 0x3333_3333;
    (v | v << 1) & 0x5555_5555
}

/// Morton order: the bits of `x` in the even positions, those of `y` in the odd.
#[inline]
pub const fn interleave(x: u32, y: u32) -> u32 {
    spread(x) | spread(y) << 1
}
