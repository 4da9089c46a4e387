//! The points of triangles and quads: rings around the middle.
//!
//! Ring 0 is the edge of the patch. The corners of the others are as many points from the inner
//! levels' ends as the ring's number says. Rings go counter-clockwise from (0, 1): the edges of a
//! triangle are u = 0, v = 0 and w = 0, those of a quad u = 0, v = 0, u = 1 and v = 1.

use super::Output;
use super::edge::{Edge, EdgeKind, HALF, ONE, clamped};
use crate::kernel::{Flag, Kernel, Word};
use tepui_ir::Spacing;

/// A third, as a position.
const THIRD: u32 = 0x5555;
/// Two thirds.
const TWO_THIRDS: u32 = 0xaaaa;

/// The rings of a patch.
pub(super) struct Rings<'k> {
    /// The edges.
    pub outer: Vec<Edge<'k>>,
    /// Subdivision of the inside: in u and v, or one for all three edges of a triangle.
    pub inner: Vec<Edge<'k>>,
    /// All levels are one: the corners make all triangles.
    pub simple: Flag<'k>,
}

/// The points around the middle that have the same distance from the edges.
pub(super) struct Ring<'k> {
    /// Number of the first.
    pub start: Word<'k>,
    /// Segments of each edge.
    pub lengths: Vec<Word<'k>>,
}

impl<'k> Ring<'k> {
    /// All segments.
    pub fn perimeter(&self) -> Word<'k> {
        sum(&self.lengths)
    }

    /// The edge and the place on it of a point.
    pub fn locate(&self, at: Word<'k>) -> (Word<'k>, Word<'k>) {
        locate(at, &self.lengths)
    }

    /// The place of the first point of each edge.
    pub fn corners(&self, k: &'k Kernel) -> Vec<Word<'k>> {
        let mut at = k.word(0);
        let mut corners = Vec::with_capacity(self.lengths.len());
        for &l in &self.lengths {
            corners.push(at);
            at = at + l;
        }
        corners
    }
}

/// Finds a number in consecutive runs: the index of the run, and the position in it.
pub(super) fn locate<'k>(at: Word<'k>, runs: &[Word<'k>]) -> (Word<'k>, Word<'k>) {
    let (mut edge, mut local) = (at.constant(0), at);
    let mut before = runs[0];
    for (n, &run) in runs.iter().enumerate().skip(1) {
        let past = at.at_least(before);
        edge = past.select(n as u32, edge);
        local = past.select(at - before, local);
        before = before + run;
    }
    (edge, local)
}

pub(super) fn sum<'k>(of: &[Word<'k>]) -> Word<'k> {
    of[1..].iter().fold(of[0], |all, &w| all + w)
}

/// The one that `number` says, of several.
pub(super) fn choose<'k>(number: Word<'k>, of: &[Word<'k>]) -> Word<'k> {
    let others = of.iter().enumerate().skip(1);
    others.fold(of[0], |chosen, (n, &w)| number.is(n as u32).select(w, chosen))
}

impl<'k> Rings<'k> {
    pub fn new(
        k: &'k Kernel,
        spacing: Spacing,
        outer: Vec<Word<'k>>,
        inner: Vec<Word<'k>>,
    ) -> Rings<'k> {
        let clamp = |l: &Word<'k>| clamped(*l, spacing, EdgeKind::Outside);
        let outer: Vec<Word<'k>> = outer.iter().map(clamp).collect();
        let mut largest = outer[1..].iter().fold(outer[0], |most, &l| most.float_max(l));
        if inner.len() == 2 {
            largest = largest.float_max(inner[0].float_max(inner[1]));
        }
        let outer: Vec<Edge<'k>> = outer.iter().map(|&l| Edge::new(k, l, spacing, false)).collect();
        let inside = |l: &Word<'k>| {
            Edge::new(k, clamped(*l, spacing, EdgeKind::Inside(largest)), spacing, true)
        };
        let inner: Vec<Edge<'k>> = inner.iter().map(inside).collect();
        let all = outer.iter().chain(&inner);
        let simple = all.fold(k.flag(true), |all, e| all & e.level.is(ONE));
        Rings { outer, inner: inner.into_iter().map(Edge::with_rows).collect(), simple }
    }

    /// The patch is a triangle.
    pub fn triangle(&self) -> bool {
        self.inner.len() == 1
    }

    /// Subdivision of the inside along an edge.
    pub fn along(&self, edge: usize) -> &Edge<'k> {
        if self.triangle() { &self.inner[0] } else { &self.inner[(edge + 1) % 2] }
    }

    /// The inside's subdivisions with fewer and more points, and whether the latter is in u.
    pub fn across(&self) -> (Edge<'k>, Edge<'k>, Flag<'k>) {
        let [u, v] = [self.inner[0], *self.inner.last().unwrap_or(&self.inner[0])];
        let wide = v.points.less(u.points);
        let number = wide.word();
        (Edge::choose(number, &[u, v]), Edge::choose(number, &[v, u]), wide)
    }

    /// Rings of which each edge has segments, ring 0 among them.
    pub fn count(&self) -> Word<'k> {
        self.across().0.points >> 1
    }

    /// The edge of the patch.
    pub fn outside(&self, k: &'k Kernel) -> Ring<'k> {
        Ring { start: k.word(0), lengths: self.outer.iter().map(|e| e.points - 1).collect() }
    }

    /// Points of the edge of the patch.
    fn outside_points(&self) -> Word<'k> {
        let lengths: Vec<Word<'k>> = self.outer.iter().map(|e| e.points - 1).collect();
        sum(&lengths)
    }

    /// A ring inside of the edge of the patch.
    pub fn ring(&self, number: Word<'k>) -> Ring<'k> {
        let before = number - 1;
        let inside = if self.triangle() {
            let n = self.inner[0].points;
            before * (n - 1 - number) * 3
        } else {
            let n = self.inner[0].points + self.inner[1].points;
            before * (n - 2 - (number << 1)) * 2
        };
        let length = |edge| self.along(edge).points - 1 - (number << 1);
        Ring {
            start: self.outside_points() + inside,
            lengths: (0..self.outer.len()).map(length).collect(),
        }
    }

    /// Number of points.
    pub fn point_count(&self) -> Word<'k> {
        let inside = if self.triangle() {
            let rings = self.count() - 1;
            let even = (!self.inner[0].odd).word();
            rings * (rings + even) * 3 + even
        } else {
            (self.inner[0].points - 2) * (self.inner[1].points - 2)
        };
        self.simple.select(self.outer.len() as u32, self.outside_points() + inside)
    }

    /// Writes the points.
    pub fn points(&self, to: &Output<'k>) {
        let k = to.k;
        let corners: &[[u32; 2]] = if self.triangle() {
            &[[0, ONE], [0, 0], [ONE, 0]]
        } else {
            &[[0, 0], [ONE, 0], [ONE, ONE], [0, ONE]]
        };
        k.if_else(
            self.simple,
            || {
                let number = k.word(corners.len() as u32);
                let axis = |of: usize| corners.iter().map(|c| k.word(c[of])).collect::<Vec<_>>();
                to.lanes(number, |n| {
                    to.point(n, [choose(n, &axis(0)), choose(n, &axis(1))]);
                });
            },
            || {
                self.outside_positions(to);
                k.range(1, self.count(), 1, |ring| self.ring_positions(to, ring));
                self.middle_positions(to);
            },
        );
    }

    fn outside_positions(&self, to: &Output<'k>) {
        let k = to.k;
        let ring = self.outside(k);
        to.lanes(ring.perimeter(), |n| {
            let (edge, local) = ring.locate(n);
            let divided = Edge::choose(edge, &self.outer);
            // Coordinates grow along some edges.
            let grows = if self.triangle() { edge.is(1) } else { edge.is(1) | edge.is(2) };
            let local = grows.select(local, divided.points - 1 - local);
            let at = divided.position(k, local);
            let [zero, one] = [k.word(0), k.word(ONE)];
            let (u, v) = if self.triangle() {
                ([zero, at, at], [at, zero, one - at])
            } else {
                return to.point(
                    n,
                    [choose(edge, &[zero, at, one, at]), choose(edge, &[at, zero, at, one])],
                );
            };
            to.point(n, [choose(edge, &u), choose(edge, &v)]);
        });
    }

    fn ring_positions(&self, to: &Output<'k>, number: Word<'k>) {
        let k = to.k;
        let ring = self.ring(number);
        if self.triangle() {
            let side = &self.inner[0];
            let away = side.position(k, number) * TWO_THIRDS;
            let away = (away + HALF) >> 16;
            let end = side.points - 1 - number;
            to.lanes(ring.perimeter(), |n| {
                let (edge, local) = ring.locate(n);
                let at = edge.is(1).select(number + local, end - local);
                let along = side.position(k, at) - ((away + 1) >> 1);
                let rest = k.word(ONE) - along - away;
                let at = [choose(edge, &[away, along, along]), choose(edge, &[along, away, rest])];
                to.point(ring.start + n, at);
            });
            return;
        }
        let [u, v] = [self.inner[0], self.inner[1]];
        let [end_u, end_v] = [u, v].map(|e| e.points - 1 - number);
        to.lanes(ring.perimeter(), |n| {
            let (edge, local) = ring.locate(n);
            let forth = number + local;
            let at_u = choose(edge, &[number, forth, end_u, end_u - local]);
            let at_v = choose(edge, &[end_v - local, number, forth, end_v]);
            to.point(ring.start + n, [u.position(k, at_u), v.position(k, at_v)]);
        });
    }

    /// The point in the middle, or a row of them.
    fn middle_positions(&self, to: &Output<'k>) {
        let k = to.k;
        let number = self.count();
        let start = self.ring(number).start;
        let (few, many, wide) = self.across();
        let points = few.odd.select(0, many.points - (number << 1));
        to.lanes(points, |n| {
            let third = k.word(THIRD);
            if self.triangle() {
                return to.point(start + n, [third, third]);
            }
            let at = wide.select(number + n, many.points - 1 - number - n);
            let at = many.position(k, at);
            to.point(start + n, [wide.select(at, HALF), wide.select(HALF, at)]);
        });
    }
}
