//! Subdivision of an edge by a level. Positions are fixed-point numbers with 16 fraction bits.

use crate::kernel::{Flag, Kernel, Word};
use tepui_ir::Spacing;

/// One, as a position.
pub const ONE: u32 = 1 << 16;
/// One half.
pub const HALF: u32 = 1 << 15;
/// The bits in front of the point.
const INTEGER: u32 = 0x7fff_0000;
/// The smallest difference of levels that positions show.
const EPSILON: f32 = 1.0 / ONE as f32;
/// Maximum number of segments of an edge.
const MAX_SEGMENTS: u32 = 64;

/// A subdivided edge. Positions are interpolated between the two whole numbers of segments around the
/// level; the points of the smaller number are those of the larger without the one that splits a
/// segment.
#[derive(Clone, Copy)]
pub struct Edge<'k> {
    /// The level, as a position.
    pub level: Word<'k>,
    /// The number of segments is odd.
    pub odd: Flag<'k>,
    /// Points, both ends among them.
    pub points: Word<'k>,
    /// Points of the first half, without the one in the middle.
    pub half: Word<'k>,
    /// The point of the larger number of segments that the smaller has not.
    split: Word<'k>,
    /// Length of a segment, with the smaller number of them and with the larger.
    lengths: [Word<'k>; 2],
    /// Interpolation weight of the larger number.
    fraction: Word<'k>,
}

/// Position of an edge in its patch.
#[derive(Clone, Copy)]
pub enum EdgeKind<'k> {
    /// An edge of the patch.
    Outside,
    /// The inside, for edges whose largest level is this one, as a float.
    Inside(Word<'k>),
}

/// Clamps a level, a float, to the limits of the spacing; a NaN becomes the smallest.
pub fn clamped<'k>(level: Word<'k>, spacing: Spacing, place: EdgeKind<'k>) -> Word<'k> {
    let odd = spacing == Spacing::FractionalOdd;
    let most = (if odd { MAX_SEGMENTS - 1 } else { MAX_SEGMENTS }) as f32;
    let least = if spacing == Spacing::FractionalEven { 2.0f32 } else { 1.0 };
    let level = match place {
        // One segment inside, but not outside, has no place for the rows between them.
        EdgeKind::Inside(largest) if odd => {
            let more = largest.float_more(1.0 + EPSILON / 2.0);
            level.float_max(more.select((1.0 + EPSILON).to_bits(), least.to_bits()))
        }
        _ => level.float_max(least.to_bits()),
    };
    let level = level.float_min(most);
    if spacing == Spacing::Equal { level.float_ceil() } else { level }
}

/// A position of which a part of a segment counts as a whole.
fn ceil(v: Word<'_>) -> Word<'_> {
    let up = (v & INTEGER) + ONE;
    (v & (ONE - 1)).is(0).select(v, up)
}

impl<'k> Edge<'k> {
    /// The edge of a clamped level.
    pub fn new(k: &'k Kernel, level: Word<'k>, spacing: Spacing, inside: bool) -> Edge<'k> {
        let level = level.float_times(ONE as f32).float_plus(0.5).float_to_integer();
        let odd = match spacing {
            // One segment inside is none: the middle is a point then.
            Spacing::Equal if inside => (level >> 16 & 1).is(1) & !level.is(ONE),
            Spacing::Equal => (level >> 16 & 1).is(1),
            Spacing::FractionalEven => k.flag(false),
            Spacing::FractionalOdd => k.flag(true),
        };
        let points = ceil((level + odd.select(ONE + 1, 1)) >> 1) >> 15;
        let points = odd.select(points, points + 1);
        let half = (level + 1) >> 1;
        let half = (odd | half.is(HALF)).select(half + HALF, half);
        let (floor, ceiling) = (half & INTEGER, ceil(half));
        let (whole, halves) = (floor >> 16, ceiling >> 16);
        // Segments are split in an order that doubles them: the place of a number is what is left
        // of it without its highest bit.
        let number = whole - odd.word();
        let highest = k.word(1) << number.max(1).highest_bit();
        let split = ((number - number.min(highest)) << 1) + 1;
        let split = (odd & whole.is(1)).select(0, split);
        let split = floor.is(ceiling).select(halves + 1, split);
        // Twice the length of a segment, and rounded.
        let length = |halves: Word<'k>| {
            let segments = (halves << 1) - odd.word();
            (k.word(2 * ONE).over(segments) + 1) >> 1
        };
        Edge {
            level,
            odd,
            points,
            half: halves,
            split,
            lengths: [length(whole), length(halves)],
            fraction: half - floor,
        }
    }

    /// At least as many points as the rows between the inside and the edges need.
    #[must_use]
    pub fn with_rows(self) -> Edge<'k> {
        Edge { points: self.points.max(self.odd.select(4, 3)), ..self }
    }

    /// The one that `number` says, of several.
    pub fn choose(number: Word<'k>, edges: &[Edge<'k>]) -> Edge<'k> {
        let mut edge = edges[0];
        for (n, other) in edges.iter().enumerate().skip(1) {
            let here = number.is(n as u32);
            let choose = |a: Word<'k>, b: Word<'k>| here.select(a, b);
            edge = Edge {
                level: choose(other.level, edge.level),
                odd: (here & other.odd) | (!here & edge.odd),
                points: choose(other.points, edge.points),
                half: choose(other.half, edge.half),
                split: choose(other.split, edge.split),
                lengths: [0, 1].map(|k| choose(other.lengths[k], edge.lengths[k])),
                fraction: choose(other.fraction, edge.fraction),
            };
        }
        edge
    }

    /// The position of a point.
    #[must_use]
    pub fn position(&self, k: &'k Kernel, point: Word<'k>) -> Word<'k> {
        let behind = point.at_least(self.half);
        // The second half mirrors the first.
        let mirrored = (self.half << 1) - point - self.odd.word();
        let point = behind.select(mirrored, point);
        let in_fewer = point - self.split.less(point).word();
        let [few, many] = [in_fewer * self.lengths[0], point * self.lengths[1]];
        let mixed = few * (k.word(ONE) - self.fraction) + many * self.fraction;
        let at = (mixed + HALF) >> 16;
        let at = behind.select(k.word(ONE) - at, at);
        point.is(self.half).select(HALF, at)
    }
}
