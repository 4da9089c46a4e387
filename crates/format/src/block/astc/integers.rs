//! Bounded integer sequence encoding (BISE): integers of some low bits and a trit or quint above
//! them, five trits or three quints packed together. Sections "Integer Sequence Encoding",
//! "Endpoint Unquantization", "Weight Unquantization".

/// The range of a sequence's integers: `bits` low bits, and above them a digit of base 1 (none), 3
/// or 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    base: u32,
    bits: u32,
}

const fn range(base: u32, bits: u32) -> Range {
    Range { base, bits }
}

/// All ranges, the smallest first: 2, 3, 4, 5, 6, 8, 10, 12, … 256 values.
const RANGES: [Range; 21] = [
    range(1, 1),
    range(3, 0),
    range(1, 2),
    range(5, 0),
    range(3, 1),
    range(1, 3),
    range(5, 1),
    range(3, 2),
    range(1, 4),
    range(5, 2),
    range(3, 3),
    range(1, 5),
    range(5, 3),
    range(3, 4),
    range(1, 6),
    range(5, 4),
    range(3, 5),
    range(1, 7),
    range(5, 5),
    range(3, 6),
    range(1, 8),
];

impl Range {
    /// The range of weights with encoding `index`: 2 to 8 values, then 10 to 32.
    pub(super) fn of_weights(index: u32) -> Range {
        RANGES[index.min(11) as usize]
    }

    /// The largest range for which `count` integers fit into `room` bits; ranges of colours have at
    /// least 6 values.
    pub(super) fn largest_for_colors(count: u32, room: u32) -> Option<Range> {
        RANGES[4..].iter().rev().find(|range| range.bits(count) <= room).copied()
    }

    /// The length of a sequence of `count` integers in bits.
    pub(super) fn bits(self, count: u32) -> u32 {
        let digits = match self.base {
            3 => (8 * count).div_ceil(5),
            5 => (7 * count).div_ceil(3),
            _ => 0,
        };
        digits + self.bits * count
    }
}

/// Reads a sequence from bit 0 of `stream` up. The last group may be truncated; missing bits read
/// as 0.
pub(super) fn read(stream: u128, range: Range, out: &mut [u32]) {
    let end = range.bits(out.len() as u32);
    let stream = if end >= 128 { stream } else { stream & ((1 << end) - 1) };
    let mut at = 0;
    let mut take = |count: u32| {
        let value = if at < 128 { (stream >> at) as u32 & ((1 << count) - 1) } else { 0 };
        at += count;
        value
    };
    // The number of bits of the packed digits after the low bits of each integer.
    let pieces: &[u32] = match range.base {
        3 => &[2, 2, 1, 2, 1],
        5 => &[3, 2, 2],
        _ => &[0],
    };
    for group in out.chunks_mut(pieces.len()) {
        let mut packed = 0;
        let mut shift = 0;
        for (value, &piece) in group.iter_mut().zip(pieces) {
            *value = take(range.bits);
            packed |= take(piece) << shift;
            shift += piece;
        }
        let digits = match range.base {
            3 => trits(packed),
            5 => quints(packed),
            _ => [0; 5],
        };
        for (value, digit) in group.iter_mut().zip(digits) {
            *value |= digit << range.bits;
        }
    }
}

/// Unpacks five trits from eight bits.
fn trits(packed: u32) -> [u32; 5] {
    let bit = |value: u32, at: u32| value >> at & 1;
    let (c, t3, t4);
    if packed >> 2 & 7 == 7 {
        c = packed >> 5 << 2 | packed & 3;
        (t3, t4) = (2, 2);
    } else {
        c = packed & 0x1f;
        (t3, t4) = match packed >> 5 & 3 {
            3 => (bit(packed, 7), 2),
            low => (low, bit(packed, 7)),
        };
    }
    let (t0, t1, t2) = if c & 3 == 3 {
        (bit(c, 3) << 1 | (bit(c, 2) & !bit(c, 3)), bit(c, 4), 2)
    } else if c >> 2 & 3 == 3 {
        (c & 3, 2, 2)
    } else {
        (bit(c, 1) << 1 | (bit(c, 0) & !bit(c, 1)), c >> 2 & 3, bit(c, 4))
    };
    [t0, t1, t2, t3, t4]
}

/// Unpacks three quints from seven bits.
fn quints(packed: u32) -> [u32; 5] {
    let bit = |at: u32| packed >> at & 1;
    if packed >> 1 & 3 == 3 && packed >> 5 & 3 == 0 {
        let low = bit(0);
        let q2 = low << 2 | (bit(4) & !low) << 1 | (bit(3) & !low);
        return [4, 4, q2, 0, 0];
    }
    let (c, q2) = if packed >> 1 & 3 == 3 {
        ((packed >> 3 & 3) << 3 | (!(packed >> 5) & 3) << 1 | bit(0), 4)
    } else {
        (packed & 0x1f, packed >> 5 & 3)
    };
    let (q0, q1) = if c & 7 == 5 { (c >> 3, 4) } else { (c & 7, c >> 3) };
    [q0, q1, q2, 0, 0]
}

/// Repeats `value` of `from` bits to fill `to` bits.
fn replicate(value: u32, from: u32, to: u32) -> u32 {
    let mut filled = 0;
    let mut have = 0;
    while have < to {
        filled = filled << from | value;
        have += from;
    }
    filled >> (have - to)
}

/// Distributes the bits of `value` above the lowest to the positions that `pattern` gives from the
/// top: `b` the second bit, `c` the third, and so on.
fn place(value: u32, pattern: &[u8]) -> u32 {
    pattern.iter().fold(0, |placed, &letter| {
        let bit = match letter {
            b'0' => 0,
            letter => value >> (letter - b'a') & 1,
        };
        placed << 1 | bit
    })
}

/// Unquantises an integer with a trit or quint; the lowest bit mirrors the result.
fn mirrored(value: u32, range: Range, factor: u32, pattern: &[u8], mirror: u32, top: u32) -> u32 {
    let digit = value >> range.bits;
    let a = if value & 1 != 0 { mirror } else { 0 };
    let t = (digit * factor + place(value, pattern)) ^ a;
    (a & top) | t >> 2
}

/// Unquantises an endpoint's integer to 0 to 255.
pub(super) fn unquantize_color(range: Range, value: u32) -> u32 {
    let (factor, pattern): (u32, &[u8]) = match (range.base, range.bits) {
        (3, 1) => (204, b"000000000"),
        (3, 2) => (93, b"b000b0bb0"),
        (3, 3) => (44, b"cb000cbcb"),
        (3, 4) => (22, b"dcb000dcb"),
        (3, 5) => (11, b"edcb000ed"),
        (3, 6) => (5, b"fedcb000f"),
        (5, 1) => (113, b"000000000"),
        (5, 2) => (54, b"b0000bb00"),
        (5, 3) => (26, b"cb0000cbc"),
        (5, 4) => (13, b"dcb0000dc"),
        (5, 5) => (6, b"edcb0000e"),
        (_, bits) => return replicate(value, bits.max(1), 8),
    };
    mirrored(value, range, factor, pattern, 0x1ff, 0x80)
}

/// Unquantises a weight's integer to 0 to 64.
pub(super) fn unquantize_weight(range: Range, value: u32) -> u32 {
    let weight = match (range.base, range.bits) {
        (3, 0) => [0, 32, 63][value.min(2) as usize],
        (5, 0) => [0, 16, 32, 47, 63][value.min(4) as usize],
        (3, 1) => mirrored(value, range, 50, b"0000000", 0x7f, 0x20),
        (3, 2) => mirrored(value, range, 23, b"b000b0b", 0x7f, 0x20),
        (3, _) => mirrored(value, range, 11, b"cb000cb", 0x7f, 0x20),
        (5, 1) => mirrored(value, range, 28, b"0000000", 0x7f, 0x20),
        (5, _) => mirrored(value, range, 13, b"b0000b0", 0x7f, 0x20),
        (_, bits) => replicate(value, bits.max(1), 6),
    };
    if weight > 32 { weight + 1 } else { weight }
}
