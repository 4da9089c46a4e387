//! The sRGB transfer function on 8-bit values.
//! source: Khronos Data Format Specification, "sRGB transfer functions".

use std::sync::LazyLock;

/// Converts an sRGB value in 0…1 to linear.
fn to_linear(value: f64) -> f64 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

static DECODED: LazyLock<[f32; 256]> =
    LazyLock::new(|| std::array::from_fn(|i| to_linear(i as f64 / 255.0) as f32));

/// For each stored value but 0, the smallest linear value that rounds to it.
static THRESHOLDS: LazyLock<[f32; 255]> =
    LazyLock::new(|| std::array::from_fn(|i| to_linear((i as f64 + 0.5) / 255.0) as f32));

/// The table from stored 8-bit sRGB to linear.
#[inline]
pub fn decode_table() -> &'static [f32; 256] {
    &DECODED
}

/// For each stored value but 0, the smallest linear value that rounds to it.
pub fn thresholds() -> &'static [f32; 255] {
    &THRESHOLDS
}

/// Number of equal intervals of 0…1, each of which contains at most one threshold: thresholds are
/// at least 1/(255 · 12.92) apart.
pub const PARTS: usize = 4096;

/// For each interval, the stored value at its start.
static STARTS: LazyLock<[u8; PARTS]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        let linear = i as f32 / PARTS as f32;
        THRESHOLDS.partition_point(|&threshold| threshold <= linear) as u8
    })
});

/// Converts linear to the nearest stored 8-bit sRGB value; clamps, NaN gives 0.
#[inline]
pub fn encode(linear: f32) -> u8 {
    if linear >= 1.0 {
        return 255;
    }
    // A negative number or a NaN becomes 0.
    let start = STARTS[(linear * PARTS as f32) as usize % PARTS];
    let next = THRESHOLDS.get(usize::from(start)).is_some_and(|&threshold| threshold <= linear);
    start + u8::from(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_the_thresholds() {
        let slow = |x: f32| THRESHOLDS.partition_point(|&threshold| threshold <= x) as u8;
        for i in 0..=1 << 16 {
            let x = i as f32 / 65536.0;
            assert_eq!(encode(x), slow(x), "{x}");
        }
        for &t in THRESHOLDS.iter() {
            for x in [t.next_down(), t, t.next_up()] {
                assert_eq!(encode(x), slow(x), "{x}");
            }
        }
        for x in [-1.0, f32::NAN, 2.0, f32::INFINITY, -0.0] {
            assert_eq!(encode(x), slow(x), "{x}");
        }
    }
}
