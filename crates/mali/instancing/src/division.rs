//! Division of a 32-bit number by a constant as the attribute unit computes it.

/// The attribute unit's parameters for division by a constant.
///
/// A power of two is a shift. For any other divisor *d*, the id is multiplied by the inverse, a
/// 32-bit fixed-point number whose top bit is always set and therefore not stored:
///
/// - shift = ⌊log2 *d*⌋,
/// - *m* = ⌈2^(shift+32) / *d*⌉, *e* = 2^(shift+32) mod *d*;
/// - if *e* ≤ 2^shift, the multiplier is *m* − 1, which is rounded down, and the hardware
///   compensates by adding the multiplier once to the product (the round-down rule); else it is
///   *m*.
///
/// source: Mesa, instancing.rst; ridiculousfish, "Labor of Division (Episode III)".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Right shift of the product's high word; for a power of two, of the linear id.
    pub shift: u32,
    /// The multiplier without its top bit, as in descriptors.
    pub magic_multiplier: u32,
    /// Whether the round-down rule applies (`extra_flags` of descriptors).
    pub round_down: bool,
    /// Whether the divisor is a power of two, for which descriptors have a type that only shifts.
    pub power_of_two: bool,
}

impl Division {
    /// The parameters for `divisor`, which is at least 1.
    ///
    /// For a power of two, `magic_multiplier` and `round_down` follow the same rule and would
    /// divide correctly too, but drivers use the shift.
    pub(crate) fn new(divisor: u32) -> Division {
        let shift = divisor.ilog2();
        let power = 1u64 << (shift + 32);
        let d = u64::from(divisor);
        let (m, e) = (power.div_ceil(d), power % d);
        let round_down = e <= 1 << shift;
        let multiplier = if round_down { m - 1 } else { m };
        debug_assert_eq!(multiplier >> 31, 1, "the top bit is implied");
        Division {
            shift,
            magic_multiplier: multiplier as u32 & !(1 << 31),
            round_down,
            power_of_two: divisor.is_power_of_two(),
        }
    }

    /// The multiplier with its implied bit.
    pub const fn multiplier(self) -> u32 {
        self.magic_multiplier | 1 << 31
    }

    /// The quotient as the hardware computes it: a shift, or [`Division::multiply`].
    pub const fn apply(self, linear_id: u32) -> u32 {
        if self.power_of_two { linear_id >> self.shift } else { self.multiply(linear_id) }
    }

    /// Division by multiplication: multiply, correct, take the high word, shift.
    pub const fn multiply(self, linear_id: u32) -> u32 {
        let mut product = linear_id as u64 * self.multiplier() as u64;
        if self.round_down {
            product += self.multiplier() as u64;
        }
        ((product >> 32) as u32) >> self.shift
    }
}
