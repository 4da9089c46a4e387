//! Decodes BC1 to BC7, most with the crate `bcdec_rs`.

use crate::info::Compression;

/// The value 1 of BC4 and BC5: colours between two of 8 bits, in sevenths and in fifths, are multiples of
/// its reciprocal.
pub(super) const ONE: u16 = 255 * 35;

/// The value 1 of BC4 and BC5 with sign.
pub(super) const SIGNED_ONE: i16 = 127 * 35;

/// Decodes a block of BC1, BC2, BC3 or BC7.
pub(super) fn decode(compression: Compression, block: &[u8; 16], pixels: &mut [[u8; 4]]) {
    let rgba = pixels.as_flattened_mut();
    match compression {
        Compression::Bc1 { .. } => bcdec_rs::bc1(&block[..8], rgba, 16),
        Compression::Bc2 => bcdec_rs::bc2(block, rgba, 16),
        Compression::Bc3 => bcdec_rs::bc3(block, rgba, 16),
        _ => bcdec_rs::bc7(block, rgba, 16),
    }
    if compression == (Compression::Bc1 { alpha: false }) {
        pixels.iter_mut().for_each(|pixel| pixel[3] = 255);
    }
}

/// Decodes a block of BC4.
pub(super) fn decode_red(block: &[u8; 16], signed: bool, pixels: &mut [[u16; 4]]) {
    pixels.fill([0, 0, 0, 1]);
    channel(block, 0, signed, pixels);
}

/// Decodes a block of BC5.
pub(super) fn decode_red_green(block: &[u8; 16], signed: bool, pixels: &mut [[u16; 4]]) {
    pixels.fill([0, 0, 0, 1]);
    channel(block, 0, signed, pixels);
    channel(block, 1, signed, pixels);
}

/// Decodes one of the channels of BC4 and BC5: two colours, then three bits a pixel.
/// source: Khronos Data Format Specification, "BC4", "BC5"
fn channel(block: &[u8; 16], number: usize, signed: bool, pixels: &mut [[u16; 4]]) {
    let half = &block[8 * number..8 * number + 8];
    let half = u64::from_le_bytes(std::array::from_fn(|i| half[i]));
    let end = |byte: u64| match signed {
        // The most negative byte means the same as its neighbour.
        true => i32::from(byte as u8 as i8).max(-127),
        false => i32::from(byte as u8),
    };
    let (first, last) = (end(half), end(half >> 8));
    let one = if signed { i32::from(SIGNED_ONE) } else { i32::from(ONE) };
    let between = |parts: i32, at: i32| 35 / parts * (first * (parts - at) + last * at);
    let palette: [i32; 8] = if first > last {
        [0, 7, 1, 2, 3, 4, 5, 6].map(|at| between(7, at))
    } else {
        let [a, b, c, d, e, f] = [0, 5, 1, 2, 3, 4].map(|at| between(5, at));
        [a, b, c, d, e, f, if signed { -one } else { 0 }, one]
    };
    for (i, pixel) in pixels.iter_mut().enumerate() {
        pixel[number] = palette[(half >> (16 + 3 * i) & 7) as usize] as u16;
    }
}

/// Decodes a block of BC6H.
pub(super) fn decode_halves(block: &[u8; 16], signed: bool, pixels: &mut [[u16; 4]]) {
    let mut rgb = [0; 48];
    bcdec_rs::bc6h_half(block, &mut rgb, 12, signed);
    for (pixel, rgb) in pixels.iter_mut().zip(rgb.chunks_exact(3)) {
        *pixel = [rgb[0], rgb[1], rgb[2], half::f16::ONE.to_bits()];
    }
}
