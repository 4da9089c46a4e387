//! Decodes ETC2 and EAC.
//!
//! A colour block is 64 bits, most significant byte first. Its first 32 bits are colours, its last
//! two planes of index bits, one bit per pixel, pixels in column order. source: Khronos Data Format
//! Specification, "ETC1 Compressed Texture Image Formats", "ETC2 Compressed Texture Image Formats".
//! Bits are numbered as there, 63 first.

use crate::info::Compression;

/// A word of a block, most significant byte first.
fn word(block: &[u8; 16], at: usize) -> u64 {
    block[at..at + 8].iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Decodes a block of colours, 4×4 pixels.
pub(super) fn decode(compression: Compression, block: &[u8; 16], pixels: &mut [[u8; 4]]) {
    if compression == Compression::Etc2Rgba8 {
        let (alpha, colors) = (word(block, 0), color_block(word(block, 8), false));
        for (i, pixel) in pixels.iter_mut().enumerate() {
            let [r, g, b, _] = colors[i];
            *pixel = [r, g, b, eac8(alpha, i)];
        }
    } else {
        let colors = color_block(word(block, 0), compression == Compression::Etc2Rgba1);
        pixels.copy_from_slice(&colors);
    }
}

/// Decodes a block of one or two channels of eleven bits, 4×4 pixels.
pub(super) fn decode_eac(
    compression: Compression,
    signed: bool,
    block: &[u8; 16],
    pixels: &mut [[u16; 4]],
) {
    let (red, green) = (word(block, 0), word(block, 8));
    for (i, pixel) in pixels.iter_mut().enumerate() {
        let green = if compression == Compression::EacRg { eac11(green, i, signed) } else { 0 };
        *pixel = [eac11(red, i, signed), green, 0, 1];
    }
}

/// `count` bits of `word` from bit `high` down.
fn bits(word: u64, high: u32, count: u32) -> i32 {
    (word >> (high + 1 - count) & ((1 << count) - 1)) as i32
}

/// The modifiers of each table for indices 0 and 1; those of 2 and 3 are their negatives.
const MODIFIERS: [[i32; 2]; 8] =
    [[2, 8], [5, 17], [9, 29], [13, 42], [18, 60], [24, 80], [33, 106], [47, 183]];

/// Distances of the modes T and H.
const DISTANCES: [i32; 8] = [3, 6, 11, 16, 23, 32, 41, 64];

const TRANSPARENT: [u8; 4] = [0; 4];

type Color = [i32; 3];

fn opaque(color: Color) -> [u8; 4] {
    let [r, g, b] = color.map(|c| c.clamp(0, 255) as u8);
    [r, g, b, 255]
}

fn add(color: Color, value: i32) -> [u8; 4] {
    opaque(color.map(|c| c + value))
}

/// Decodes a colour block into pixels in row order. `punch_through` selects the format with one bit
/// of alpha.
fn color_block(word: u64, punch_through: bool) -> [[u8; 4]; 16] {
    // With one bit of alpha, the bit that otherwise selects differential colours tells whether all
    // pixels are opaque.
    let flag = bits(word, 33, 1) != 0;
    let transparent = punch_through && !flag;
    if !flag && !punch_through {
        let nibble = |high| bits(word, high, 4) * 17;
        let first = [nibble(63), nibble(55), nibble(47)];
        let second = [nibble(59), nibble(51), nibble(43)];
        return halves(word, [first, second], false);
    }
    // Differential: five bits, and a difference of three. Sums out of range choose the other modes.
    let sum = |high| {
        let difference = bits(word, high - 5, 3);
        bits(word, high, 5) + if difference >= 4 { difference - 8 } else { difference }
    };
    let outside = |value: i32| !(0..32).contains(&value);
    let (r, g, b) = (sum(63), sum(55), sum(47));
    if outside(r) {
        mode_t(word, transparent)
    } else if outside(g) {
        mode_h(word, transparent)
    } else if outside(b) {
        planar(word)
    } else {
        let five = |c: i32| c << 3 | c >> 2;
        let first = [bits(word, 63, 5), bits(word, 55, 5), bits(word, 47, 5)].map(five);
        halves(word, [first, [r, g, b].map(five)], transparent)
    }
}

/// The two index bits of pixel (x, y).
fn index(word: u64, x: u32, y: u32) -> usize {
    let i = x * 4 + y;
    (word >> (16 + i) & 1) as usize * 2 + (word >> i & 1) as usize
}

fn each_pixel(mut color: impl FnMut(u32, u32) -> [u8; 4]) -> [[u8; 4]; 16] {
    std::array::from_fn(|i| color(i as u32 % 4, i as u32 / 4))
}

/// Individual and differential mode: two colours, one per half, each with a table of modifiers.
fn halves(word: u64, colors: [Color; 2], transparent: bool) -> [[u8; 4]; 16] {
    let tables = [bits(word, 39, 3), bits(word, 36, 3)];
    let flipped = bits(word, 32, 1) != 0;
    each_pixel(|x, y| {
        let half = usize::from(if flipped { y >= 2 } else { x >= 2 });
        let [small, large] = MODIFIERS[tables[half] as usize];
        match (index(word, x, y), transparent) {
            (0, false) => add(colors[half], small),
            (0, true) => add(colors[half], 0),
            (1, _) => add(colors[half], large),
            (2, false) => add(colors[half], -small),
            (2, true) => TRANSPARENT,
            _ => add(colors[half], -large),
        }
    })
}

fn painted(word: u64, paint: [[u8; 4]; 4], transparent: bool) -> [[u8; 4]; 16] {
    each_pixel(|x, y| match index(word, x, y) {
        2 if transparent => TRANSPARENT,
        i => paint[i],
    })
}

/// T mode: one colour as it is, another with a distance on either side.
fn mode_t(word: u64, transparent: bool) -> [[u8; 4]; 16] {
    let nibble = |high| bits(word, high, 4) * 17;
    let red = (bits(word, 60, 2) << 2 | bits(word, 57, 2)) * 17;
    let (first, second) = ([red, nibble(55), nibble(51)], [nibble(47), nibble(43), nibble(39)]);
    let d = DISTANCES[(bits(word, 35, 2) << 1 | bits(word, 32, 1)) as usize];
    painted(word, [opaque(first), add(second, d), opaque(second), add(second, -d)], transparent)
}

/// H mode: two colours, each with a distance on either side.
fn mode_h(word: u64, transparent: bool) -> [[u8; 4]; 16] {
    let first = [
        bits(word, 62, 4),
        bits(word, 58, 3) << 1 | bits(word, 52, 1),
        bits(word, 51, 1) << 3 | bits(word, 49, 3),
    ];
    let second = [bits(word, 46, 4), bits(word, 42, 4), bits(word, 38, 4)];
    // The order of the colours is the distance's lowest bit.
    let order = i32::from(first >= second);
    let d = DISTANCES[(bits(word, 34, 1) << 2 | bits(word, 32, 1) << 1 | order) as usize];
    let (first, second) = (first.map(|c| c * 17), second.map(|c| c * 17));
    let paint = [add(first, d), add(first, -d), add(second, d), add(second, -d)];
    painted(word, paint, transparent)
}

/// Planar mode: a plane through three colours, at the origin, one block to the right, and one block
/// down.
fn planar(word: u64) -> [[u8; 4]; 16] {
    let six = |c: i32| c << 2 | c >> 4;
    let seven = |c: i32| c << 1 | c >> 6;
    let origin = [
        six(bits(word, 62, 6)),
        seven(bits(word, 56, 1) << 6 | bits(word, 54, 6)),
        six(bits(word, 48, 1) << 5 | bits(word, 44, 2) << 3 | bits(word, 41, 3)),
    ];
    let right = [
        six(bits(word, 38, 5) << 1 | bits(word, 32, 1)),
        seven(bits(word, 31, 7)),
        six(bits(word, 24, 6)),
    ];
    let down = [six(bits(word, 18, 6)), seven(bits(word, 12, 7)), six(bits(word, 5, 6))];
    each_pixel(|x, y| {
        let (x, y) = (x as i32, y as i32);
        opaque(std::array::from_fn(|c| {
            let o = origin[c];
            (x * (right[c] - o) + y * (down[c] - o) + 4 * o + 2) >> 2
        }))
    })
}

/// The modifier tables of EAC.
const EAC: [[i32; 8]; 16] = [
    [-3, -6, -9, -15, 2, 5, 8, 14],
    [-3, -7, -10, -13, 2, 6, 9, 12],
    [-2, -5, -8, -13, 1, 4, 7, 12],
    [-2, -4, -6, -13, 1, 3, 5, 12],
    [-3, -6, -8, -12, 2, 5, 7, 11],
    [-3, -7, -9, -11, 2, 6, 8, 10],
    [-4, -7, -8, -11, 3, 6, 7, 10],
    [-3, -5, -8, -11, 2, 4, 7, 10],
    [-2, -6, -8, -10, 1, 5, 7, 9],
    [-2, -5, -8, -10, 1, 4, 7, 9],
    [-2, -4, -8, -10, 1, 3, 7, 9],
    [-2, -5, -7, -10, 1, 4, 6, 9],
    [-3, -4, -7, -10, 2, 3, 6, 9],
    [-1, -2, -3, -10, 0, 1, 2, 9],
    [-4, -6, -8, -9, 3, 5, 7, 8],
    [-3, -5, -7, -9, 2, 4, 6, 8],
];

/// Modifier and multiplier of pixel `i` in row order.
fn eac(word: u64, i: usize) -> (i32, i32) {
    let place = (i % 4 * 4 + i / 4) as u32;
    let index = bits(word, 47 - 3 * place, 3);
    (EAC[bits(word, 51, 4) as usize][index as usize], bits(word, 55, 4))
}

fn eac8(word: u64, i: usize) -> u8 {
    let (modifier, multiplier) = eac(word, i);
    (bits(word, 63, 8) + modifier * multiplier).clamp(0, 255) as u8
}

/// Eleven bits, of 2047 or with sign of 1023: an 8-bit base, and modifiers in eighths if the multiplier
/// is 0.
fn eac11(word: u64, i: usize, signed: bool) -> u16 {
    let (modifier, multiplier) = eac(word, i);
    let step = modifier * if multiplier == 0 { 1 } else { multiplier * 8 };
    let base = bits(word, 63, 8);
    if signed {
        let base = (base as u8 as i8).max(-127);
        (i32::from(base) * 8 + step).clamp(-1023, 1023) as u16
    } else {
        (base * 8 + 4 + step).clamp(0, 2047) as u16
    }
}
