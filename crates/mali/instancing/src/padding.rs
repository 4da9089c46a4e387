//! Padded vertex counts and their factorisation.

use crate::InstancingError;

/// The number of threads that the hardware dispatches per instance of `vertices` vertices.
///
/// From 20 vertices on, the four most significant bits decide, and the padded count is larger than
/// `vertices`. Fewer vertices are padded to even numbers, and fewer than ten not at all. source:
/// Mesa, pan_attributes.c, `panfrost_padded_vertex_count`; instancing.rst, the table of high bits.
pub fn padded_vertex_count(vertices: u32) -> Result<u32, InstancingError> {
    match vertices {
        0 => return Err(InstancingError::NoVertices),
        1..=9 => return Ok(vertices),
        10..=19 => return Ok(vertices.next_multiple_of(2)),
        _ => {}
    }
    let n = vertices.ilog2() - 3;
    let (odd, shift): (u64, u32) = match vertices >> n {
        0b1000 => (9, n),
        0b1001 => (5, n + 1),
        0b1010 | 0b1011 => (3, n + 2),
        0b1100 | 0b1101 => (7, n + 1),
        _ => (1, n + 4),
    };
    u32::try_from(odd << shift).map_err(|_| InstancingError::TooManyVertices(vertices))
}

/// A padded count in the attribute unit's form: `odd` · 2^`shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    /// The power of two.
    pub shift: u32,
    /// The odd factor: 1, 3, 5, 7 or 9.
    pub odd: u32,
}

impl Modulus {
    /// Splits a padded count, which is at least 1.
    pub(crate) fn new(padded_vertices: u32) -> Modulus {
        let shift = padded_vertices.trailing_zeros();
        Modulus { shift, odd: padded_vertices >> shift }
    }

    /// The descriptor's encoding of the odd factor: `k` for 2`k` + 1.
    pub const fn odd_field(self) -> u32 {
        self.odd / 2
    }

    /// The remainder as the hardware computes it: the low bits are kept, the others reduced modulo the odd
    /// factor.
    pub const fn apply(self, linear_id: u32) -> u32 {
        let low = (1 << self.shift) - 1;
        ((linear_id >> self.shift) % self.odd) << self.shift | linear_id & low
    }
}
