//! Text of operands: swizzles, constants and numbers.

use std::fmt::Write;

use super::super::half::half;
use super::super::swizzle;
use super::super::table::{Alu as Isa, AluRow, SourceType};
use super::super::word::{Vector, VectorSource};
use super::Printer;

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
        swizzle::write(self.out, swizzle, how, mode, mask);
    }

    pub(super) fn vector_constants(
        &mut self,
        v: &Vector,
        source: &VectorSource,
        constants: &[u32; 4],
    ) {
        let mask = v.constant_mask(source.expand);
        let several = mask.count_ones() > 1;
        self.out.push(if several { '<' } else { '#' });
        let wanted = (0..16).filter(|i| mask >> i & 1 != 0);
        for (n, i) in wanted.enumerate() {
            let c = v.constant_place(source.expand, i).component(source.swizzle);
            self.out.push_str(if n > 0 { ", " } else { "" });
            let text = constant(constants, c, v.mode, source.expands(), source.modifier, v.row());
            self.out.push_str(&text);
        }
        self.out.push_str(if several { ">" } else { "" });
    }
}

/// A component of the constants, as Mesa writes it.
pub(in super::super) fn constant(
    constants: &[u32; 4],
    c: u32,
    mode: u32,
    narrow: bool,
    modifier: u32,
    row: Option<&AluRow>,
) -> String {
    let all = constants.iter().rev().fold(0u128, |all, word| all << 32 | u128::from(*word));
    let mode = mode.saturating_sub(u32::from(narrow));
    let bits = 8u32 << mode;
    let raw = (all.checked_shr(c * bits).unwrap_or(0) & ((1 << bits) - 1)) as u64;
    if mode == 0 {
        let unusual = if modifier != 0 { format!(" /* {modifier} */") } else { String::new() };
        return format!("0x{raw:X}{unusual}");
    }
    let kind = row.map_or(SourceType::Float, |row| row.kind);
    let code = row.map_or(0, |row| row.op as u32);
    let shifted = if narrow && modifier == 3 { raw << bits } else { raw };
    match kind {
        SourceType::Unsigned => shifted.to_string(),
        SourceType::Signed if (Isa::Iand as u32..=Isa::Ipopcnt as u32).contains(&code) => {
            format!("0x{shifted:X}")
        }
        SourceType::Signed if narrow && modifier == 1 => raw.to_string(),
        SourceType::Signed if narrow && modifier == 3 => shifted.to_string(),
        SourceType::Signed => ((raw << (64 - bits)) as i64 >> (64 - bits)).to_string(),
        SourceType::Float => {
            let value = match bits {
                16 => f64::from(half(raw as u16)),
                32 => f64::from(f32::from_bits(raw as u32)),
                _ => f64::from_bits(raw),
            };
            let value = if modifier & 1 != 0 { value.abs() } else { value };
            let value = if modifier & 2 != 0 { -value } else { value };
            general(value)
        }
    }
}

/// A number as C's `%g` writes it.
pub(in super::super) fn general(value: f64) -> String {
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
