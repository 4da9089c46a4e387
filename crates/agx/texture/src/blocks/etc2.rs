//! ETC2 and EAC.
//!
//! source: Khronos Data Format Specification, "ETC2 Compressed Texture Image Formats"

use tepui_format::Compression;

/// Small and large step of each table of the individual and differential modes.
const STEPS: [[i32; 2]; 8] =
    [[2, 8], [5, 17], [9, 29], [13, 42], [18, 60], [24, 80], [33, 106], [47, 183]];

/// Distances of the T and H modes.
const DISTANCES: [i32; 8] = [3, 6, 11, 16, 23, 32, 41, 64];

/// Steps of EAC's tables.
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

/// The sixteen colours of a block, row after row.
pub(super) fn colours(compression: Compression, bytes: &[u8; 16]) -> [[u8; 4]; 16] {
    match compression {
        Compression::Etc2Rgba8 => {
            let mut out = rgb(word(&bytes[8..]), false);
            for (texel, alpha) in out.iter_mut().zip(alpha(word(&bytes[..8]))) {
                texel[3] = alpha;
            }
            out
        }
        Compression::Etc2Rgba1 => rgb(word(&bytes[..8]), true),
        _ => rgb(word(&bytes[..8]), false),
    }
}

/// The sixteen values of an EAC block of 11 bits, row after row.
pub(super) fn eleven_bits(bytes: &[u8], signed: bool) -> [f32; 16] {
    let bits = word(bytes);
    let base = (bits >> 56) as u8;
    let (multiplier, table) = ((bits >> 52 & 15) as i32, (bits >> 48 & 15) as usize);
    each(|i| {
        let step = EAC[table][(bits >> (45 - 3 * i) & 7) as usize];
        let step = if multiplier == 0 { step } else { step * multiplier * 8 };
        if signed {
            let base = i32::from(base as i8).max(-127);
            (base * 8 + step).clamp(-1023, 1023) as f32 / 1023.0
        } else {
            (i32::from(base) * 8 + 4 + step).clamp(0, 2047) as f32 / 2047.0
        }
    })
}

fn alpha(bits: u64) -> [u8; 16] {
    let base = (bits >> 56) as i32;
    let (multiplier, table) = ((bits >> 52 & 15) as i32, (bits >> 48 & 15) as usize);
    each(|i| clamp(base + EAC[table][(bits >> (45 - 3 * i) & 7) as usize] * multiplier))
}

fn rgb(bits: u64, one_bit_alpha: bool) -> [[u8; 4]; 16] {
    // The bit that chooses the differential mode says "opaque" where there is alpha.
    let flag = bits >> 33 & 1 != 0;
    if !flag && !one_bit_alpha {
        let base = |shift: u32| [shift, shift - 8, shift - 16].map(|s| four(bits >> s));
        return halves(bits, [base(60), base(56)], true);
    }
    let base = [59, 51, 43].map(|s| (bits >> s & 31) as i32);
    let delta = [56, 48, 40].map(|s| ((bits >> s & 7) as i32) << 29 >> 29);
    let second = [0, 1, 2].map(|c| base[c] + delta[c]);
    let opaque = flag || !one_bit_alpha;
    match second.map(|v| !(0..32).contains(&v)) {
        [true, ..] => t_mode(bits, opaque),
        [_, true, _] => h_mode(bits, opaque),
        [_, _, true] => planar(bits),
        _ => {
            let five = |v: i32| v << 3 | v >> 2;
            halves(bits, [base.map(five), second.map(five)], opaque)
        }
    }
}

/// Two halves, each with a colour and a table of steps.
fn halves(bits: u64, base: [[i32; 3]; 2], opaque: bool) -> [[u8; 4]; 16] {
    let tables = [(bits >> 37 & 7) as usize, (bits >> 34 & 7) as usize];
    let above = bits >> 32 & 1 != 0;
    each_at(|x, y, i| {
        let half = usize::from(if above { y >= 2 } else { x >= 2 });
        let index = index(bits, i);
        if index == 2 && !opaque {
            return [0; 4];
        }
        let [small, large] = STEPS[tables[half]];
        let step = match index {
            0 if !opaque => 0,
            0 => small,
            1 => large,
            2 => -small,
            _ => -large,
        };
        colour(base[half].map(|v| v + step))
    })
}

fn t_mode(bits: u64, opaque: bool) -> [[u8; 4]; 16] {
    let red = (bits >> 59 & 3) << 2 | bits >> 56 & 3;
    let first = [four(red), four(bits >> 52), four(bits >> 48)];
    let second = [44, 40, 36].map(|s| four(bits >> s));
    let d = DISTANCES[(bits >> 34 & 3) as usize * 2 + (bits >> 32 & 1) as usize];
    let paint = [first, second.map(|v| v + d), second, second.map(|v| v - d)];
    painted(bits, &paint, opaque)
}

fn h_mode(bits: u64, opaque: bool) -> [[u8; 4]; 16] {
    let green = (bits >> 56 & 7) << 1 | bits >> 52 & 1;
    let blue = (bits >> 51 & 1) << 3 | bits >> 47 & 7;
    let first = [bits >> 59 & 15, green, blue];
    let second = [43, 39, 35].map(|s| bits >> s & 15);
    // The order of the colours is the lowest bit of the distance.
    let ordered = usize::from(first >= second);
    let d = DISTANCES[(bits >> 34 & 1) as usize * 4 + (bits >> 32 & 1) as usize * 2 + ordered];
    let (first, second) = (first.map(four), second.map(four));
    let paint =
        [first.map(|v| v + d), first.map(|v| v - d), second.map(|v| v + d), second.map(|v| v - d)];
    painted(bits, &paint, opaque)
}

fn painted(bits: u64, paint: &[[i32; 3]; 4], opaque: bool) -> [[u8; 4]; 16] {
    each_at(|_, _, i| match index(bits, i) {
        2 if !opaque => [0; 4],
        k => colour(paint[k]),
    })
}

fn planar(bits: u64) -> [[u8; 4]; 16] {
    let six = |v: u64| ((v & 63) << 2 | (v & 63) >> 4) as i32;
    let seven = |v: u64| ((v & 127) << 1 | (v & 127) >> 6) as i32;
    let origin = [
        six(bits >> 57),
        seven((bits >> 56 & 1) << 6 | bits >> 49 & 63),
        six((bits >> 48 & 1) << 5 | (bits >> 43 & 3) << 3 | bits >> 39 & 7),
    ];
    let right = [six((bits >> 34 & 31) << 1 | bits >> 32 & 1), seven(bits >> 25), six(bits >> 19)];
    let down = [six(bits >> 13), seven(bits >> 6), six(bits)];
    each_at(|x, y, _| {
        let (x, y) = (x as i32, y as i32);
        colour([0, 1, 2].map(|c| {
            (x * (right[c] - origin[c]) + y * (down[c] - origin[c]) + 4 * origin[c] + 2) >> 2
        }))
    })
}

/// The two index bits of a texel: high bits in the upper half of the word.
fn index(bits: u64, i: u32) -> usize {
    ((bits >> (16 + i) & 1) << 1 | bits >> i & 1) as usize
}

/// Four bits to eight.
fn four(v: u64) -> i32 {
    (v & 15) as i32 * 17
}

fn clamp(v: i32) -> u8 {
    v.clamp(0, 255) as u8
}

fn colour(rgb: [i32; 3]) -> [u8; 4] {
    let [r, g, b] = rgb.map(clamp);
    [r, g, b, 255]
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |w, b| w << 8 | u64::from(*b))
}

/// Texels are numbered column after column; results come row after row.
fn each_at<T: Copy + Default>(mut texel: impl FnMut(u32, u32, u32) -> T) -> [T; 16] {
    let mut out = [T::default(); 16];
    for y in 0..4 {
        for x in 0..4 {
            out[(4 * y + x) as usize] = texel(x, y, 4 * x + y);
        }
    }
    out
}

fn each<T: Copy + Default>(mut texel: impl FnMut(u32) -> T) -> [T; 16] {
    each_at(|_, _, i| texel(i))
}
