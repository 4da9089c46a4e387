//! Divided edges.

use crate::{ONE, Spacing};

/// An edge, with the places of its points.
///
/// Fractional spacings go from the places of one even (or odd) number of segments to those of the next: on either side of
/// the middle one point is split in two, which part. The places of the second half are exactly those of the first from the
/// other end.
pub(crate) struct Edge {
    /// The factor in fixed point.
    pub factor: u32,
    /// Segments are of an odd number.
    pub odd: bool,
    /// Points, both ends included.
    pub points: usize,
    /// Points of a half.
    pub half: u32,
    /// The places of the points in fixed point.
    pub at: Vec<u32>,
}

impl Edge {
    /// The edge of a factor.
    pub fn outer(factor: f32, spacing: Spacing) -> Edge {
        Edge::new(factor, spacing, None)
    }

    /// An axis of the inside; `largest` is the largest factor of all others.
    pub fn inner(factor: f32, spacing: Spacing, largest: f32) -> Edge {
        let mut edge = Edge::new(factor, spacing, Some(largest));
        // There are rings, or the row in the middle.
        edge.points = edge.points.max(if edge.odd { 4 } else { 3 });
        edge
    }

    fn new(factor: f32, spacing: Spacing, largest: Option<f32>) -> Edge {
        let factor = clamp(factor, spacing, largest);
        let odd = match spacing {
            Spacing::Equal => factor as u32 % 2 == 1 && !(largest.is_some() && factor == 1.0),
            Spacing::FractionalEven => false,
            Spacing::FractionalOdd => true,
        };
        let factor = (factor * ONE as f32 + 0.5) as u32;
        let mut segments = factor.div_ceil(ONE).max(1);
        if segments % 2 != u32::from(odd) {
            segments += 1;
        }
        // Half of the factor as if it began with one segment, or with two.
        let exact = factor.div_ceil(2);
        let exact = if odd || exact == ONE / 2 { exact + ONE / 2 } else { exact };
        let (few, many) = (exact / ONE, exact.div_ceil(ONE));
        let fraction = exact % ONE;
        let count = |halves: u32| 2 * halves - u32::from(odd);
        let length = |halves: u32| (f64::from(ONE) / f64::from(count(halves))).round() as u32;
        // The order in which points came until there were `many` in a half.
        let newest = match few - u32::from(odd) {
            0 => 0,
            n => 2 * (n - (1 << n.ilog2())) + 1,
        };
        let place = |point: u32| {
            let mirrored = point >= many;
            let q = if mirrored { count(many) - point } else { point };
            if q == many {
                return ONE / 2;
            }
            let in_few = if few != many && q > newest { q - 1 } else { q };
            let mixed = in_few * length(few) * (ONE - fraction) + q * length(many) * fraction;
            let at = (mixed + ONE / 2) / ONE;
            if mirrored { ONE - at } else { at }
        };
        let at = (0..=count(many)).map(place).collect();
        Edge { factor, odd, points: segments as usize + 1, half: many, at }
    }
}

/// A factor within the limits of a spacing. A NaN becomes the least.
pub(crate) fn clamp(factor: f32, spacing: Spacing, largest: Option<f32>) -> f32 {
    let (mut least, most) = match spacing {
        Spacing::Equal => (1.0, 64.0),
        Spacing::FractionalEven => (2.0, 64.0),
        Spacing::FractionalOdd => (1.0, 63.0),
    };
    // An inside of one segment would leave no room for the points of the edges.
    if spacing == Spacing::FractionalOdd && largest.is_some_and(|l| l > 1.0 + 0.5 / ONE as f32) {
        least = 1.0 + 1.0 / ONE as f32;
    }
    let factor = factor.max(least).min(most);
    if spacing == Spacing::Equal { factor.ceil() } else { factor }
}
