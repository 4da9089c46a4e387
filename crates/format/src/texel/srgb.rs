//! The sRGB transfer function on 8-bit values.
//! source: Khronos Data Format Specification, "sRGB transfer functions".

use std::sync::LazyLock;

/// What an sRGB value in 0…1 means in linear light.
fn to_linear(value: f64) -> f64 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

static DECODED: LazyLock<[f32; 256]> =
    LazyLock::new(|| std::array::from_fn(|i| to_linear(i as f64 / 255.0) as f32));

/// For each stored value but 0, the smallest linear value that rounds to it.
static THRESHOLDS: LazyLock<[f32; 255]> =
    LazyLock::new(|| std::array::from_fn(|i| to_linear((i as f64 + 0.5) / 255.0) as f32));

/// The table from stored 8-bit sRGB to linear light.
#[inline]
pub fn decode_table() -> &'static [f32; 256] {
    &DECODED
}

/// Linear light to the nearest stored 8-bit sRGB value; clamps, NaN gives 0.
#[inline]
pub fn encode(linear: f32) -> u8 {
    THRESHOLDS.partition_point(|&threshold| threshold <= linear) as u8
}
