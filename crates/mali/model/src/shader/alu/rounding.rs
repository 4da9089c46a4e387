//! Rounding in the four directions.

use half::f16;
use tepui_mali_isa::modifier::RoundMode;

/// A float rounded to an integer.
#[inline(always)]
pub fn to_integral(value: f32, mode: RoundMode) -> f32 {
    match mode {
        RoundMode::Rte => value.round_ties_even(),
        RoundMode::Rtp => value.ceil(),
        RoundMode::Rtn => value.floor(),
        RoundMode::Rtz => value.trunc(),
    }
}

/// Converts a float to a half-float.
#[inline(always)]
pub fn to_half(value: f32, mode: RoundMode) -> u16 {
    let nearest = f16::from_f32(value);
    let bits = nearest.to_bits();
    if mode == RoundMode::Rte {
        return bits;
    }
    let back = nearest.to_f32();
    let too_high = back > value;
    let too_low = back < value;
    let (down, up) = match mode {
        RoundMode::Rte => (false, false),
        RoundMode::Rtp => (false, too_low),
        RoundMode::Rtn => (too_high, false),
        RoundMode::Rtz => (too_high && value > 0.0, too_low && value < 0.0),
    };
    step(bits, down, up)
}

/// The next half-float below or above.
fn step(bits: u16, down: bool, up: bool) -> u16 {
    let negative = bits & 0x8000 != 0;
    match (down, up) {
        (true, _) if bits & 0x7fff == 0 => 0x8001,
        (_, true) if bits & 0x7fff == 0 => 0x0001,
        (true, _) => {
            if negative {
                bits + 1
            } else {
                bits - 1
            }
        }
        (_, true) => {
            if negative {
                bits - 1
            } else {
                bits + 1
            }
        }
        _ => bits,
    }
}

/// Converts an integer that is exact in 64-bit floats to a float.
#[inline(always)]
pub fn from_integer(value: i64, mode: RoundMode) -> f32 {
    let nearest = value as f32;
    if mode == RoundMode::Rte {
        return nearest;
    }
    // Floats converted from 32-bit integers are exact as 64-bit integers.
    let back = nearest as i64;
    let (too_high, too_low) = (back > value, back < value);
    match mode {
        RoundMode::Rte => nearest,
        RoundMode::Rtp if too_low => nearest.next_up(),
        RoundMode::Rtn if too_high => nearest.next_down(),
        RoundMode::Rtz if too_high && value > 0 => nearest.next_down(),
        RoundMode::Rtz if too_low && value < 0 => nearest.next_up(),
        _ => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_in_their_direction() {
        let value = 1.0 + 1.0 / 4096.0;
        assert_eq!(to_half(value, RoundMode::Rte), 0x3c00);
        assert_eq!(to_half(value, RoundMode::Rtp), 0x3c01);
        assert_eq!(to_half(value, RoundMode::Rtn), 0x3c00);
        assert_eq!(to_half(-value, RoundMode::Rtn), 0xbc01);
        assert_eq!(to_half(-value, RoundMode::Rtz), 0xbc00);
        assert_eq!(to_half(70000.0, RoundMode::Rte), 0x7c00);
        assert_eq!(to_half(70000.0, RoundMode::Rtz), 0x7bff);
        assert_eq!(to_half(1e-9, RoundMode::Rtp), 1);
        assert_eq!(to_half(-1e-9, RoundMode::Rtn), 0x8001);
        assert_eq!(to_half(-1e-9, RoundMode::Rtz), 0x8000);
    }

    #[test]
    fn integers_go_in_their_direction() {
        let value = (1 << 24) + 1;
        assert_eq!(from_integer(value, RoundMode::Rte), 16_777_216.0);
        assert_eq!(from_integer(value, RoundMode::Rtp), 16_777_218.0);
        assert_eq!(from_integer(-value, RoundMode::Rtn), -16_777_218.0);
        assert_eq!(from_integer(-value, RoundMode::Rtz), -16_777_216.0);
    }
}
