//! What operands are written as: swizzles, constants and numbers.

use std::fmt::Write;

use super::super::table::{Alu as Isa, AluRow, Kind};
use super::super::word::{Vector, VectorSource, expand};
use super::{Printer, component};

impl Printer<'_> {
    pub(super) fn immediate(&mut self, value: u16, integer: bool) {
        match integer {
            true => {
                put!(self, "#{value}");
            }
            false => {
                put!(self, "#{}", general(f64::from(half(value))));
            }
        }
    }

    pub(super) fn swizzle(&mut self, swizzle: u32, how: u32, mode: u32, mask: u32) {
        let expands = how >= expand::LOW;
        let bits = (8 << mode) >> u32::from(expands);
        let mut first = 0;
        let mut second = 64 / bits.max(4);
        match how {
            expand::NONE if swizzle == 0xe4 => return,
            expand::LOW => second /= 2,
            expand::HIGH => {
                first = second;
                second += second / 2;
            }
            expand::LOW_TWICE => second = 0,
            expand::HIGH_TWICE => first = second,
            expand::SWAP => (first, second) = (second, 0),
            expand::LOW_SWAP => (first, second) = (second / 2, 0),
            expand::HIGH_SWAP => first = second + second / 2,
            _ => {}
        }
        self.out.push('.');
        if mode == 3 {
            self.selectors_64(swizzle, how, first, mask);
            return;
        }
        let skip = (8 << mode >> 4).max(1);
        let halves = if mode < 2 { 2 } else { 1 };
        for (half, start) in [first, second].into_iter().take(halves).enumerate() {
            for i in 0..4 {
                if mask >> ((half as u32 * 4 + i) * skip) & 1 == 0 {
                    continue;
                }
                let c = swizzle >> (2 * i) & 3;
                if mode == 0 {
                    let c = 2 * c + start;
                    put!(self, "{}{}", component(c), component(c + 1));
                } else {
                    put!(self, "{}", component(c + start));
                }
            }
        }
    }

    fn selectors_64(&mut self, swizzle: u32, how: u32, first: u32, mask: u32) {
        let expands = how >= expand::LOW;
        let step = if expands { 1 } else { 2 };
        for (n, i) in (first..4).step_by(step).enumerate() {
            if mask >> (4 * n) & 1 == 0 {
                continue;
            }
            let mut a = swizzle >> (2 * i) & 3;
            if expands {
                a += if how == expand::HIGH { 2 } else { 0 };
                put!(self, "{}", component(a / 2));
                continue;
            }
            let b = swizzle >> (2 * (i + 1)) & 3;
            if b == a + 1 {
                self.out.push(if a >> 1 != 0 { 'Y' } else { 'X' });
            } else {
                put!(self, "[{}{}]", component(a), component(b));
            }
        }
    }

    pub(super) fn vector_constants(
        &mut self,
        v: &Vector,
        source: &VectorSource,
        channels: u32,
        constants: &[u32; 4],
    ) {
        let expands = source.expands();
        let bits = v.bits() >> u32::from(expands);
        let count = 128 / bits.max(8);
        let mask = match channels {
            0 => condensed_mask(v.mask, bits),
            n => (1 << n) - 1,
        };
        let several = mask.count_ones() > 1;
        self.out.push(if several { '<' } else { '#' });
        let wanted = (0..count).filter(|i| mask >> i & 1 != 0);
        for (n, i) in wanted.enumerate() {
            let mut c = source.swizzle.checked_shr(2 * i).unwrap_or(0) & 3;
            if matches!(bits, 8 | 16) && !expands {
                let (upper, half) = (i >= count / 2, count / 2);
                if bits == 8 {
                    c = 2 * (source.swizzle >> (2 * (i >> 1 & 3)) & 3);
                } else {
                    c = source.swizzle >> (2 * (i & 3)) & 3;
                }
                c += match source.expand {
                    expand::HIGH_TWICE => half,
                    expand::SWAP if !upper => half,
                    expand::NONE if upper => half,
                    _ => 0,
                };
                c += if bits == 8 { i & 1 } else { 0 };
            }
            self.out.push_str(if n > 0 { ", " } else { "" });
            self.constant(constants, c, v.mode, expands, source.modifier, v.row());
        }
        self.out.push_str(if several { ">" } else { "" });
    }

    /// A component of the constants.
    pub(super) fn constant(
        &mut self,
        constants: &[u32; 4],
        c: u32,
        mode: u32,
        half: bool,
        modifier: u32,
        row: Option<&AluRow>,
    ) {
        let all = constants.iter().rev().fold(0u128, |all, word| all << 32 | u128::from(*word));
        let mode = mode.saturating_sub(u32::from(half));
        let bits = 8u32 << mode;
        let raw = (all.checked_shr(c * bits).unwrap_or(0) & ((1 << bits) - 1)) as u64;
        let kind = row.map_or(Kind::Float, |row| row.kind);
        let code = row.map_or(0, |row| row.op as u32);
        if mode == 0 {
            put!(self, "0x{raw:X}");
            if modifier != 0 {
                put!(self, " /* {modifier} */");
            }
            return;
        }
        let shifted = if half && modifier == 3 { raw << bits } else { raw };
        match kind {
            Kind::Unsigned => {
                put!(self, "{shifted}");
            }
            Kind::Signed if (Isa::Iand as u32..=Isa::Ipopcnt as u32).contains(&code) => {
                put!(self, "0x{shifted:X}");
            }
            Kind::Signed if half && modifier == 1 => {
                put!(self, "{raw}");
            }
            Kind::Signed if half && modifier == 3 => {
                put!(self, "{shifted}");
            }
            Kind::Signed => {
                put!(self, "{}", (raw << (64 - bits)) as i64 >> (64 - bits));
            }
            Kind::Float => {
                let value = match bits {
                    16 => f64::from(self::half(raw as u16)),
                    32 => f64::from(f32::from_bits(raw as u32)),
                    _ => f64::from_bits(raw),
                };
                let value = if modifier & 1 != 0 { value.abs() } else { value };
                let value = if modifier & 2 != 0 { -value } else { value };
                put!(self, "{}", general(value));
            }
        }
    }
}

/// A bit for each element, of a mask of eight bits; of elements of eight bits two for each.
fn condensed_mask(mask: u32, bits: u32) -> u32 {
    if bits == 8 {
        return (0..8).fold(0, |m, i| m | ((mask >> i & 1) * 3) << (2 * i));
    }
    let step = bits / 16;
    (0..128 / bits).fold(0, |m, i| m | (mask >> (i * step) & 1) << i)
}

/// The value of a half-float.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// A number as C's `%g` writes it.
pub(super) fn general(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        let name = if value == 0.0 {
            "0"
        } else if value.is_nan() {
            "nan"
        } else {
            "inf"
        };
        return format!("{sign}{name}");
    }
    let text = format!("{value:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let cut = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if (-4..6).contains(&exponent) {
        return cut(format!("{value:.*}", (5 - exponent).max(0) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", cut(digits.to_owned()), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_does() {
        let of = [0.0, -0.0, 1.0, 0.5, 255.0, 1e6, 1.5e-5, 123_456.7, 0.333_333_34, -1e30];
        let text = of.map(general);
        assert_eq!(
            text,
            ["0", "-0", "1", "0.5", "255", "1e+06", "1.5e-05", "123457", "0.333333", "-1e+30"]
        );
    }
}
