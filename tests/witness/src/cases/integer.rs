//! Integer operations on 8, 16, 32 and 64 bits.

use super::map::{binary, ternary, unary};
use crate::case::Case;

/// Operations of every width, signed and unsigned.
macro_rules! common {
    ($cases:ident, $t:ty, $bits:literal) => {{
        let name = |op: &str| format!("{}/{op}", stringify!($t));
        $cases.push(unary::<$t, $t>(name("neg"), "-a", |a| Some(a.wrapping_neg())));
        $cases.push(unary::<$t, $t>(name("not"), "~a", |a| Some(!a)));
        $cases.push(binary::<$t, $t, $t>(name("add"), "a + b", |a, b| Some(a.wrapping_add(b))));
        $cases.push(binary::<$t, $t, $t>(name("sub"), "a - b", |a, b| Some(a.wrapping_sub(b))));
        $cases.push(binary::<$t, $t, $t>(name("mul"), "a * b", |a, b| Some(a.wrapping_mul(b))));
        $cases.push(ternary::<$t, $t, $t, $t>(name("mad"), "a * b + c", |a, b, c| {
            Some(a.wrapping_mul(b).wrapping_add(c))
        }));
        // Undefined: a divisor of zero, and the one quotient that overflows.
        $cases.push(binary::<$t, $t, $t>(name("div"), "a / b", |a, b| a.checked_div(b)));
        $cases.push(binary::<$t, $t, $t>(name("div_constant"), "a / TA(10)", |a, _| {
            a.checked_div(10)
        }));
        $cases.push(binary::<$t, $t, $t>(name("and"), "a & b", |a, b| Some(a & b)));
        $cases.push(binary::<$t, $t, $t>(name("or"), "a | b", |a, b| Some(a | b)));
        $cases.push(binary::<$t, $t, $t>(name("xor"), "a ^ b", |a, b| Some(a ^ b)));
        $cases.push(binary::<$t, $t, $t>(name("and_not"), "a & ~b", |a, b| Some(a & !b)));
        // The shift amount must be below the width.
        $cases.push(binary::<$t, $t, $t>(
            name("shl"),
            concat!("a << (b & TB(", $bits, " - 1))"),
            |a, b| Some(a.wrapping_shl(b as u32)),
        ));
        $cases.push(binary::<$t, $t, $t>(
            name("shr"),
            concat!("a >> (b & TB(", $bits, " - 1))"),
            |a, b| Some(a.wrapping_shr(b as u32)),
        ));
        $cases.push(unary::<$t, $t>(name("shl_constant"), "(a << 3) + a", |a| {
            Some((a << 3).wrapping_add(a))
        }));
        $cases.push(unary::<$t, $t>(name("shr_constant"), "a >> 5", |a| Some(a >> 5)));
        $cases.push(binary::<$t, $t, $t>(name("min"), "min(a, b)", |a, b| Some(a.min(b))));
        $cases.push(binary::<$t, $t, $t>(name("max"), "max(a, b)", |a, b| Some(a.max(b))));
        $cases.push(ternary::<$t, $t, $t, $t>(
            name("clamp"),
            "clamp(a, min(b, c), max(b, c))",
            |a, b, c| Some(a.clamp(b.min(c), b.max(c))),
        ));
        $cases.push(binary::<$t, $t, u32>(
            name("compare"),
            "uint(a < b) | uint(a <= b) << 1 | uint(a == b) << 2 | uint(a != b) << 3 | \
             uint(a >= b) << 4 | uint(a > b) << 5",
            |a, b| {
                let bits = [a < b, a <= b, a == b, a != b, a >= b, a > b];
                Some(bits.iter().enumerate().map(|(i, &bit)| u32::from(bit) << i).sum())
            },
        ));
        $cases.push(ternary::<$t, $t, $t, $t>(name("select"), "a < b ? c : b", |a, b, c| {
            Some(if a < b { c } else { b })
        }));
    }};
}

macro_rules! unsigned {
    ($cases:ident, $t:ty) => {{
        let name = |op: &str| format!("{}/{op}", stringify!($t));
        $cases.push(binary::<$t, $t, $t>(name("mod"), "a % b", |a, b| a.checked_rem(b)));
    }};
}

macro_rules! signed {
    ($cases:ident, $t:ty) => {{
        let name = |op: &str| format!("{}/{op}", stringify!($t));
        $cases.push(unary::<$t, $t>(name("abs"), "abs(a)", |a| Some(a.wrapping_abs())));
        $cases.push(unary::<$t, $t>(name("sign"), "sign(a)", |a| Some(a.signum())));
        // GLSL leaves the remainder of negative operands undefined.
        $cases.push(binary::<$t, $t, $t>(name("mod"), "a % b", |a, b| {
            (a >= 0 && b > 0).then(|| a % b)
        }));
    }};
}

/// Bits `offset` to `offset + count`, if the specification defines the operation.
fn field(offset: i32, count: i32) -> Option<(u32, u32)> {
    let legal = (0..=32).contains(&offset) && (0..=32).contains(&count) && offset + count <= 32;
    legal.then_some((offset as u32, count as u32))
}

fn mask(count: u32) -> u32 {
    ((1u64 << count) - 1) as u32
}

/// Shift as hardware would for a full width: to zero.
fn shl(x: u32, by: u32) -> u32 {
    x.checked_shl(by).unwrap_or(0)
}

fn bits32() -> Vec<Case> {
    // Offset and count in range for every input.
    const FIELD: &str = "(b & 31), (c & 0x7fffffff) % (33 - (b & 31))";
    let offset_count = |b: i32, c: i32| (b & 31, (c & 0x7fff_ffff) % (33 - (b & 31)));
    vec![
        unary::<u32, u32>("u32/bit_count".into(), "bitCount(a)", |a| Some(a.count_ones())),
        unary::<u32, u32>("u32/reverse".into(), "bitfieldReverse(a)", |a| Some(a.reverse_bits())),
        unary::<u32, i32>("u32/find_lsb".into(), "findLSB(a)", |a| {
            Some(if a == 0 { -1 } else { a.trailing_zeros() as i32 })
        }),
        unary::<u32, i32>("u32/find_msb".into(), "findMSB(a)", |a| {
            Some(31 - a.leading_zeros() as i32)
        }),
        unary::<i32, i32>("i32/find_msb".into(), "findMSB(a)", |a| {
            let a = if a < 0 { !a } else { a };
            Some(31 - a.leading_zeros() as i32)
        }),
        ternary::<u32, i32, i32, u32>(
            "u32/bitfield_extract".into(),
            &format!("bitfieldExtract(a, {FIELD})"),
            move |a, b, c| {
                let (b, c) = offset_count(b, c);
                field(b, c).map(|(offset, count)| a >> offset & mask(count))
            },
        ),
        ternary::<i32, i32, i32, i32>(
            "i32/bitfield_extract".into(),
            &format!("bitfieldExtract(a, {FIELD})"),
            move |a, b, c| {
                let (b, c) = offset_count(b, c);
                field(b, c).map(|(offset, count)| {
                    if count == 0 { 0 } else { a << (32 - offset - count) >> (32 - count) }
                })
            },
        ),
        ternary::<u32, i32, i32, u32>(
            "u32/bitfield_insert".into(),
            &format!("bitfieldInsert(a, 0xc3a5965au, {FIELD})"),
            move |a, b, c| {
                let (b, c) = offset_count(b, c);
                field(b, c).map(|(offset, count)| {
                    let window = shl(mask(count), offset);
                    a & !window | shl(0xc3a5_965a, offset) & window
                })
            },
        ),
        unary::<u32, u32>("u32/extract_constant".into(), "bitfieldExtract(a, 5, 11)", |a| {
            Some(a >> 5 & 0x7ff)
        }),
        binary::<u32, u32, u32>(
            "u32/insert_constant".into(),
            "bitfieldInsert(a, b, 7, 9)",
            |a, b| Some(a & !(0x1ff << 7) | (b & 0x1ff) << 7),
        ),
        binary::<u32, u32, u32>(
            "u32/rotate".into(),
            "a << (b & 31) | a >> ((32 - (b & 31)) & 31)",
            |a, b| Some(a.rotate_left(b & 31)),
        ),
        binary::<u32, u32, [u32; 2]>("u32/add_carry".into(), "add_carry(a, b)", |a, b| {
            let (sum, carry) = a.overflowing_add(b);
            Some([sum, carry.into()])
        }),
        binary::<u32, u32, [u32; 2]>("u32/sub_borrow".into(), "sub_borrow(a, b)", |a, b| {
            let (difference, borrow) = a.overflowing_sub(b);
            Some([difference, borrow.into()])
        }),
        binary::<u32, u32, [u32; 2]>("u32/mul_extended".into(), "mul_extended(a, b)", |a, b| {
            let product = a as u64 * b as u64;
            Some([product as u32, (product >> 32) as u32])
        }),
        binary::<i32, i32, [i32; 2]>("i32/mul_extended".into(), "mul_extended(a, b)", |a, b| {
            let product = a as i64 * b as i64;
            Some([product as i32, (product >> 32) as i32])
        }),
        ternary::<i32, i32, i32, i32>("i32/mad_negative".into(), "c - a * b", |a, b, c| {
            Some(c.wrapping_sub(a.wrapping_mul(b)))
        }),
        ternary::<u32, u32, u32, u32>(
            "u32/add_shifted".into(),
            "(a << 2) + b - (c << 1)",
            |a, b, c| Some((a << 2).wrapping_add(b).wrapping_sub(c << 1)),
        ),
        binary::<u32, u32, u64>("u32/mul_wide".into(), "uint64_t(a) * uint64_t(b)", |a, b| {
            Some(a as u64 * b as u64)
        }),
        binary::<i32, i32, i64>("i32/mul_wide".into(), "int64_t(a) * int64_t(b)", |a, b| {
            Some(a as i64 * b as i64)
        }),
        binary::<u32, u32, u32>(
            "u32/boolean_logic".into(),
            "uint((a > 7u && b < 100u) ^^ (!(a == b) || b > 0x80000000u))",
            |a, b| Some(((a > 7 && b < 100) ^ (a != b || b > 0x8000_0000)).into()),
        ),
        unary::<u32, [u8; 4]>("u32/unpack8".into(), "unpack8(a)", |a| Some(a.to_le_bytes())),
        unary::<u32, [u16; 2]>("u32/unpack16".into(), "unpack16(a)", |a| {
            Some([a as u16, (a >> 16) as u16])
        }),
        binary::<u32, u32, u64>("u32/pack64".into(), "pack64(uvec2(a, b))", |a, b| {
            Some(a as u64 | (b as u64) << 32)
        }),
        unary::<u64, [u32; 2]>("u64/unpack32".into(), "unpack32(a)", |a| {
            Some([a as u32, (a >> 32) as u32])
        }),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    common!(cases, u32, "32");
    unsigned!(cases, u32);
    common!(cases, i32, "32");
    signed!(cases, i32);
    cases.extend(bits32());
    common!(cases, u16, "16");
    unsigned!(cases, u16);
    common!(cases, i16, "16");
    signed!(cases, i16);
    common!(cases, u8, "8");
    unsigned!(cases, u8);
    common!(cases, i8, "8");
    signed!(cases, i8);
    common!(cases, u64, "64");
    unsigned!(cases, u64);
    common!(cases, i64, "64");
    signed!(cases, i64);
    cases
}
