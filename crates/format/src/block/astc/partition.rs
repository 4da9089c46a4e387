//! The partition function. Section "Partition Pattern Generation".

/// The partition of pixel (x, y) in a block with `count` partitions; `small` blocks have fewer than
/// 31 pixels.
pub(super) fn of(seed: u32, x: u32, y: u32, count: u32, small: bool) -> u32 {
    let (x, y) = if small { (x << 1, y << 1) } else { (x, y) };
    let seed = seed + (count - 1) * 1024;
    let random = hash(seed);

    // The slopes of each line are nibbles of the hash, squared and shifted.
    let (odd, by_count) = (if seed & 2 != 0 { 4 } else { 5 }, if count == 3 { 6 } else { 5 });
    let (shift_x, shift_y) = if seed & 1 != 0 { (odd, by_count) } else { (by_count, odd) };
    let slope = |nibble: u32, shift: u32| {
        let value = random >> nibble & 0xf;
        (value * value) >> shift
    };
    let line = |nibble: u32, offset: u32| {
        let (sx, sy) = (slope(nibble, shift_x), slope(nibble + 4, shift_y));
        (sx * x + sy * y + (random >> offset)) & 0x3f
    };
    let a = line(0, 14);
    let b = line(8, 10);
    let c = if count >= 3 { line(16, 6) } else { 0 };
    let d = if count >= 4 { line(24, 2) } else { 0 };
    if a >= b && a >= c && a >= d {
        0
    } else if b >= c && b >= d {
        1
    } else if c >= d {
        2
    } else {
        3
    }
}

fn hash(seed: u32) -> u32 {
    let mut p = seed;
    p ^= p >> 15;
    p = p.wrapping_sub(p << 17);
    p = p.wrapping_add(p << 7);
    p = p.wrapping_add(p << 4);
    p ^= p >> 5;
    p = p.wrapping_add(p << 16);
    p ^= p >> 7;
    p ^= p >> 3;
    p ^= p << 6;
    p ^= p >> 17;
    p
}
