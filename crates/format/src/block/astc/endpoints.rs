//! Decodes the sixteen color endpoint modes. Section "Color Endpoint Decoding" and its subsections,
//! whose names the comments repeat.

/// One of the two endpoint colours of a partition.
#[derive(Clone, Copy, Default)]
pub(super) struct Endpoint {
    /// Eight bits per component, or twelve for HDR components.
    pub(super) value: [u32; 4],
    /// Whether each component is HDR.
    pub(super) hdr: [bool; 4],
}

type Pair = [[i32; 4]; 2];

/// 1.0 as twelve logarithmic bits: the alpha of HDR colours without alpha.
const HDR_ONE: i32 = 0x780;

/// The error colour, for HDR endpoints in the LDR profile.
const ERROR: Endpoint = Endpoint { value: [0xff, 0, 0xff, 0xff], hdr: [false; 4] };

/// Decodes the `values` of a partition.
pub(super) fn endpoints(mode: u32, values: &[u32], allow_hdr: bool) -> [Endpoint; 2] {
    let mut v = [0; 8];
    for (to, &from) in v.iter_mut().zip(values) {
        *to = from as i32;
    }
    let hdr = match mode {
        2 | 3 | 7 | 11 | 15 => [true; 4],
        14 => [true, true, true, false],
        _ => [false; 4],
    };
    if hdr[0] && !allow_hdr {
        return [ERROR; 2];
    }
    let pair = match mode {
        0 => luminance_direct(v),
        1 => luminance_offset(v),
        2 => hdr_luminance_large(v),
        3 => hdr_luminance_small(v),
        4 => [[v[0], v[0], v[0], v[2]], [v[1], v[1], v[1], v[3]]],
        5 => luminance_alpha_offset(v),
        6 => rgb_scale(v, [255, 255]),
        7 => hdr_rgb_scale(v),
        8 => rgb_direct(v, [255, 255]),
        9 => rgb_offset(v, None),
        10 => rgb_scale(v, [v[4], v[5]]),
        11 => hdr_rgb_direct(v),
        12 => rgb_direct(v, [v[6], v[7]]),
        13 => rgb_offset(v, Some((v[6], v[7]))),
        14 => with_alpha(hdr_rgb_direct(v), [v[6], v[7]]),
        _ => with_alpha(hdr_rgb_direct(v), hdr_alpha(v[6], v[7])),
    };
    let limit = |c: usize| if hdr[c] { 0xfff } else { 0xff };
    pair.map(|color| Endpoint {
        value: std::array::from_fn(|c| color[c].clamp(0, limit(c)) as u32),
        hdr,
    })
}

fn gray(low: i32, high: i32, alpha: i32) -> Pair {
    [[low, low, low, alpha], [high, high, high, alpha]]
}

fn with_alpha([mut low, mut high]: Pair, alpha: [i32; 2]) -> Pair {
    [low[3], high[3]] = alpha;
    [low, high]
}

/// Mode 0: LDR luminance, direct.
fn luminance_direct(v: [i32; 8]) -> Pair {
    gray(v[0], v[1], 255)
}

/// Mode 1: LDR luminance, base and offset.
fn luminance_offset(v: [i32; 8]) -> Pair {
    let low = v[0] >> 2 | v[1] & 0xc0;
    gray(low, low + (v[1] & 0x3f), 255)
}

/// Mode 2: HDR luminance, large range.
fn hdr_luminance_large(v: [i32; 8]) -> Pair {
    if v[1] >= v[0] {
        gray(v[0] << 4, v[1] << 4, HDR_ONE)
    } else {
        gray((v[1] << 4) + 8, (v[0] << 4) - 8, HDR_ONE)
    }
}

/// Mode 3: HDR luminance, small range.
fn hdr_luminance_small(v: [i32; 8]) -> Pair {
    let (low, offset) = if v[0] & 0x80 != 0 {
        ((v[1] & 0xe0) << 4 | (v[0] & 0x7f) << 2, (v[1] & 0x1f) << 2)
    } else {
        ((v[1] & 0xf0) << 4 | (v[0] & 0x7f) << 1, (v[1] & 0x0f) << 1)
    };
    gray(low, low + offset, HDR_ONE)
}

/// The procedure `bit_transfer_signed`: transfers the offset's top bit to the base; returns base
/// and signed offset.
fn transfer(offset: i32, base: i32) -> (i32, i32) {
    let base = base >> 1 | offset & 0x80;
    let offset = offset >> 1 & 0x3f;
    (base, if offset & 0x20 != 0 { offset - 0x40 } else { offset })
}

/// Mode 5: LDR luminance and alpha, base and offset.
fn luminance_alpha_offset(v: [i32; 8]) -> Pair {
    let (l, dl) = transfer(v[1], v[0]);
    let (a, da) = transfer(v[3], v[2]);
    [[l, l, l, a], [l + dl, l + dl, l + dl, a + da]]
}

/// The procedure `blue_contract`.
fn blue_contract([r, g, b, a]: [i32; 4]) -> [i32; 4] {
    [(r + b) >> 1, (g + b) >> 1, b, a]
}

/// Modes 6 and 10: LDR RGB, base and scale.
fn rgb_scale(v: [i32; 8], [low, high]: [i32; 2]) -> Pair {
    let scaled = |c: i32| (c * v[3]) >> 8;
    [[scaled(v[0]), scaled(v[1]), scaled(v[2]), low], [v[0], v[1], v[2], high]]
}

/// Modes 8 and 12: LDR RGB, direct.
fn rgb_direct(v: [i32; 8], [a0, a1]: [i32; 2]) -> Pair {
    let (low, high) = ([v[0], v[2], v[4], a0], [v[1], v[3], v[5], a1]);
    if v[1] + v[3] + v[5] >= v[0] + v[2] + v[4] {
        [low, high]
    } else {
        [blue_contract(high), blue_contract(low)]
    }
}

/// Modes 9 and 13: LDR RGB, base and offset.
fn rgb_offset(v: [i32; 8], alpha: Option<(i32, i32)>) -> Pair {
    let (r, dr) = transfer(v[1], v[0]);
    let (g, dg) = transfer(v[3], v[2]);
    let (b, db) = transfer(v[5], v[4]);
    let (a, da) = alpha.map_or((255, 0), |(base, offset)| transfer(offset, base));
    let (low, high) = ([r, g, b, a], [r + dr, g + dg, b + db, a + da]);
    if dr + dg + db >= 0 { [low, high] } else { [blue_contract(high), blue_contract(low)] }
}

/// Exchanges red with the major component.
fn major_first(mut color: [i32; 4], major: i32) -> [i32; 4] {
    if major > 0 {
        color.swap(0, major as usize);
    }
    color
}

/// Adds bit `from` of `word` as bit `to`, if `mode` is one of those in `modes`.
struct ModeBits {
    mode: i32,
}

impl ModeBits {
    fn add(&self, modes: i32, value: &mut i32, bit: i32, to: i32) {
        if modes >> self.mode & 1 != 0 {
            *value |= bit << to;
        }
    }
}

/// Mode 7: HDR RGB, base and scale.
fn hdr_rgb_scale(v: [i32; 8]) -> Pair {
    let packed = (v[0] & 0xc0) >> 6 | (v[1] & 0x80) >> 5 | (v[2] & 0x80) >> 4;
    let (major, mode) = match packed {
        p if p & 0xc != 0xc => (p >> 2, p & 3),
        p if p != 0xf => (p & 3, 4),
        _ => (0, 5),
    };
    let (mut red, mut green, mut blue, mut scale) =
        (v[0] & 0x3f, v[1] & 0x1f, v[2] & 0x1f, v[3] & 0x1f);
    let bit = |i: usize, at: i32| v[i] >> at & 1;
    let x = [bit(1, 6), bit(1, 5), bit(2, 6), bit(2, 5), bit(3, 7), bit(3, 6), bit(3, 5)];
    let bits = ModeBits { mode };
    bits.add(0x30, &mut green, x[0], 6);
    bits.add(0x3a, &mut green, x[1], 5);
    bits.add(0x30, &mut blue, x[2], 6);
    bits.add(0x3a, &mut blue, x[3], 5);
    bits.add(0x3d, &mut scale, x[6], 5);
    bits.add(0x2d, &mut scale, x[5], 6);
    bits.add(0x04, &mut scale, x[4], 7);
    bits.add(0x3b, &mut red, x[4], 6);
    bits.add(0x04, &mut red, x[3], 6);
    bits.add(0x10, &mut red, x[5], 7);
    bits.add(0x0f, &mut red, x[2], 7);
    bits.add(0x05, &mut red, x[1], 8);
    bits.add(0x0a, &mut red, x[0], 8);
    bits.add(0x05, &mut red, x[0], 9);
    bits.add(0x02, &mut red, x[6], 9);
    bits.add(0x01, &mut red, x[3], 10);
    bits.add(0x02, &mut red, x[5], 10);
    let shift = [1, 1, 2, 3, 4, 5][mode as usize];
    let [red, mut green, mut blue, scale] = [red, green, blue, scale].map(|c| c << shift);
    if mode != 5 {
        (green, blue) = (red - green, red - blue);
    }
    let high = major_first([red, green, blue, HDR_ONE], major);
    let low = [high[0] - scale, high[1] - scale, high[2] - scale, HDR_ONE];
    [low, high]
}

/// Mode 11: HDR RGB, direct.
fn hdr_rgb_direct(v: [i32; 8]) -> Pair {
    let major = (v[4] & 0x80) >> 7 | (v[5] & 0x80) >> 6;
    if major == 3 {
        return [
            [v[0] << 4, v[2] << 4, (v[4] & 0x7f) << 5, HDR_ONE],
            [v[1] << 4, v[3] << 4, (v[5] & 0x7f) << 5, HDR_ONE],
        ];
    }
    let mode = (v[1] & 0x80) >> 7 | (v[2] & 0x80) >> 6 | (v[3] & 0x80) >> 5;
    let (mut a, mut b0, mut b1) = (v[0] | (v[1] & 0x40) << 2, v[2] & 0x3f, v[3] & 0x3f);
    let mut c = v[1] & 0x3f;
    let signed = {
        let bits = [7, 6, 7, 6, 5, 6, 5, 6][mode as usize];
        move |value: i32| (value << (32 - bits)) >> (32 - bits)
    };
    let (d0, d1) = (signed(v[4] & 0x7f), signed(v[5] & 0x7f));
    let bit = |i: usize, at: i32| v[i] >> at & 1;
    let x = [bit(2, 6), bit(3, 6), bit(4, 6), bit(5, 6), bit(4, 5), bit(5, 5)];
    let bits = ModeBits { mode };
    bits.add(0xa4, &mut a, x[0], 9);
    bits.add(0x08, &mut a, x[2], 9);
    bits.add(0x50, &mut a, x[4], 9);
    bits.add(0x50, &mut a, x[5], 10);
    bits.add(0xa0, &mut a, x[1], 10);
    bits.add(0xc0, &mut a, x[2], 11);
    bits.add(0x04, &mut c, x[1], 6);
    bits.add(0xe8, &mut c, x[3], 6);
    bits.add(0x20, &mut c, x[2], 7);
    bits.add(0x5b, &mut b0, x[0], 6);
    bits.add(0x5b, &mut b1, x[1], 6);
    bits.add(0x12, &mut b0, x[2], 7);
    bits.add(0x12, &mut b1, x[3], 7);
    let shift = (mode >> 1) ^ 3;
    let [a, b0, b1, c, d0, d1] = [a, b0, b1, c, d0, d1].map(|value| value << shift);
    // Clamping before the components are exchanged gives the same result.
    let high = [a, a - b0, a - b1, HDR_ONE];
    let low = [a - c, a - b0 - c - d0, a - b1 - c - d1, HDR_ONE];
    [major_first(low, major), major_first(high, major)]
}

/// Mode 15: the alpha of HDR RGBA.
fn hdr_alpha(v6: i32, v7: i32) -> [i32; 2] {
    let mode = v6 >> 7 & 1 | v7 >> 6 & 2;
    let (mut low, mut high) = (v6 & 0x7f, v7 & 0x7f);
    if mode == 3 {
        return [low << 5, high << 5];
    }
    low |= (high << (mode + 1)) & 0x780;
    high &= 0x3f >> mode;
    high ^= 0x20 >> mode;
    high -= 0x20 >> mode;
    low <<= 4 - mode;
    high <<= 4 - mode;
    [low, high + low]
}
