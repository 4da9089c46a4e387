//! The triangles between rings.

use super::Output;
use super::edge::Edge;
use super::rings::{Ring, Rings, choose, locate, sum};
use crate::kernel::{Flag, Kernel, Slot, Word};

/// The numbers of points along a ring.
struct RingPoints<'k> {
    start: Word<'k>,
    perimeter: Word<'k>,
    /// The ring is a row of points, which goes there and back.
    row: Flag<'k>,
}

/// Lanes of sub-groups that make a transition together: half of the segments that an edge can have.
const TRANSITION_LANES: u32 = 32;

impl<'k> RingPoints<'k> {
    fn new(ring: &Ring<'k>, row: Flag<'k>) -> RingPoints<'k> {
        RingPoints { start: ring.start, perimeter: ring.perimeter(), row }
    }

    /// The point at a place of the ring, which ends where it begins.
    fn at(&self, place: Word<'k>) -> Word<'k> {
        let back = self.row & (self.perimeter >> 1).less(place);
        let around = place.is(self.perimeter).select(0, place);
        self.start + back.select(self.perimeter - place, around)
    }
}

impl<'k> Rings<'k> {
    /// Rings and the middle, which is one of a single point or row if the segments are even.
    fn rows(&self) -> Word<'k> {
        (self.across().0.points + 1) >> 1
    }

    /// Number of triangles.
    pub fn triangle_count(&self, k: &'k Kernel) -> Word<'k> {
        let edges = self.outer.len() as u32;
        let rows = self.rows();
        let along: Vec<Word<'k>> = (0..self.outer.len()).map(|e| self.along(e).points).collect();
        let along = sum(&along);
        let outer: Vec<Word<'k>> = self.outer.iter().map(|e| e.points).collect();
        let first = along + sum(&outer) - 4 * edges;
        // Row r has twice the inner points of each edge, which are 2 r fewer than along the whole
        // inside; r goes from 2 to the last.
        let others = (along * (rows - 2) + 2 * edges - rows * (rows - 1) * edges) * 2;
        let (few, many, _) = self.across();
        let middle = if self.triangle() { k.word(1) } else { (many.points - few.points + 1) << 1 };
        let middle = few.odd.select(middle, 0);
        self.simple.select(edges - 2, first + others + middle)
    }

    /// Writes the triangles.
    pub fn triangles(&self, to: &Output<'k>) {
        let k = to.k;
        k.if_else(
            self.simple,
            || {
                let number = k.word(self.outer.len() as u32 - 2);
                to.lanes(number, |n| {
                    let last = self.outer.len() as u32 - 1;
                    to.triangle(n, [n, n + 1, k.word(last)]);
                });
            },
            || {
                let done = k.slot(0);
                match to.lane {
                    Some((lane, TRANSITION_LANES)) => self.transition(to, &done, lane),
                    // Lanes that share a patch write the same.
                    _ => self.transition_in_turn(to, &done),
                }
                let rows = self.rows();
                k.range(2, rows, 1, |row| self.regular(to, &done, row));
                self.middle(to, &done);
            },
        );
    }

    /// The numbers of the points of a ring, which is a row if it is the last and the segments across are even.
    fn numbers(&self, number: Word<'k>) -> (Ring<'k>, RingPoints<'k>) {
        let ring = self.ring(number);
        let row = !self.across().0.odd & number.is(self.rows() - 1);
        let numbers = RingPoints::new(&ring, row);
        (ring, numbers)
    }

    /// The triangles between the edge of the patch and the first ring. Both sides of an edge have
    /// points of an order in which segments are halved; each lane has the place of a point that
    /// half an edge of the most segments has, and knows whether the sides have it.
    fn transition(&self, to: &Output<'k>, done: &Slot<'k>, lane: Word<'k>) {
        let k = to.k;
        let outside = self.outside(k);
        let (inside, inner) = self.numbers(k.word(1));
        let outer = RingPoints::new(&outside, k.flag(false));
        let corners = outside.corners(k).into_iter().zip(inside.corners(k));
        let first = lane.is(0);
        let order = first.select(0, (lane + TRANSITION_LANES) >> (lane.lowest_bit() + 1));
        let below = (k.word(1) << lane) - 1;
        let above = k.word(u32::MAX) - below - (k.word(1) << lane);
        for ((edge, out), (from_outer, from_inner)) in self.outer.iter().enumerate().zip(corners) {
            let along = self.along(edge);
            let on_outer = |n: Word<'k>| outer.at(from_outer + n);
            let on_inner = |n: Word<'k>| inner.at(from_inner + n);
            let steps = |e: &Edge<'k>| order.less(e.half - e.odd.word());
            let (steps_in, steps_out) = (steps(along) & !first, steps(out));
            let (all_in, all_out) = (steps_in.ballot(), steps_out.ballot());
            let (half_in, half_out) = (all_in.bits(), all_out.bits());
            let base = done.get();
            // The first half.
            let [i, o] = [all_in, all_out].map(|all| (all & below).bits());
            k.when(steps_in, || {
                to.triangle(base + i + o, [on_inner(i), on_outer(o), on_inner(i + 1)])
            });
            let stepped = i + steps_in.word();
            k.when(steps_out, || {
                to.triangle(base + stepped + o, [on_outer(o), on_outer(o + 1), on_inner(stepped)]);
            });
            // The middle, where a side with an odd number of segments has one.
            let base = base + half_in + half_out;
            let (odd_in, odd_out) = (along.odd, out.odd);
            let [i, i1, o, o1] = [
                on_inner(half_in),
                on_inner(half_in + 1),
                on_outer(half_out),
                on_outer(half_out + 1),
            ];
            k.when(first & odd_in, || to.triangle(base, [i, o, i1]));
            k.when(first & odd_out, || {
                let corner = odd_in.select(i1, i);
                to.triangle(base + odd_in.word(), [corner, o, o1]);
            });
            let base = base + odd_in.word() + odd_out.word();
            // The second half.
            let [behind_in, behind_out] = [all_in, all_out].map(|all| (all & above).bits());
            let (i, o) =
                (half_in + odd_in.word() + behind_in, half_out + odd_out.word() + behind_out);
            let at = base + behind_in + behind_out;
            k.when(steps_out, || to.triangle(at, [on_outer(o), on_outer(o + 1), on_inner(i)]));
            let stepped = o + steps_out.word();
            k.when(steps_in, || {
                let at = at + steps_out.word();
                to.triangle(at, [on_inner(i), on_outer(stepped), on_inner(i + 1)]);
            });
            done.set(base + half_in + half_out);
        }
    }

    /// The triangles of a transition, written one after the other by one thread.
    fn transition_in_turn(&self, to: &Output<'k>, done: &Slot<'k>) {
        let k = to.k;
        let outside = self.outside(k);
        let (inside, inner) = self.numbers(k.word(1));
        let outer = RingPoints::new(&outside, k.flag(false));
        let corners = outside.corners(k).into_iter().zip(inside.corners(k));
        for ((edge, out), (from_outer, from_inner)) in self.outer.iter().enumerate().zip(corners) {
            let along = self.along(edge);
            let on_outer = |n: Word<'k>| outer.at(from_outer + n);
            let on_inner = |n: Word<'k>| inner.at(from_inner + n);
            let triangle = |points: [Word<'k>; 3]| {
                let number = done.get();
                to.triangle(number, points);
                done.set(number + 1);
            };
            // The next point of each side.
            let (next_in, next_out) = (k.slot(0), k.slot(0));
            let step_in = || {
                let (i, o) = (next_in.get(), next_out.get());
                triangle([on_inner(i), on_outer(o), on_inner(i + 1)]);
                next_in.set(i + 1);
            };
            let step_out = || {
                let (i, o) = (next_in.get(), next_out.get());
                triangle([on_outer(o), on_outer(o + 1), on_inner(i)]);
                next_out.set(o + 1);
            };
            // Of the points of half an edge with maximum segments, only every (1 << apart)-th exists on
            // either side.
            let points = along.half.max(out.half).max(1);
            let bits = (points - 1).max(1).highest_bit() + 1;
            let number = k.word(1) << bits;
            let apart = k.word(5) - bits;
            let steps = |n: Word<'k>| {
                let place = n << apart;
                let first = place.is(0);
                let order = (place + 32) >> (place.lowest_bit() + 1);
                let has = |e: &Edge<'k>| order.less(e.half - e.odd.word()) & !first;
                // The corner is a point of the outer side.
                let corner = first & k.word(0).less(out.half - out.odd.word());
                (has(along), has(out) | corner)
            };
            k.range(0, number, 1, |n| {
                let (steps_in, steps_out) = steps(n);
                k.when(steps_in, step_in);
                k.when(steps_out, step_out);
            });
            // The middle, where a side with an odd number of segments has one.
            k.when(along.odd, step_in);
            k.when(out.odd, || {
                let (i, o) = (next_in.get(), next_out.get());
                triangle([on_inner(i), on_outer(o), on_outer(o + 1)]);
                next_out.set(o + 1);
            });
            k.range(0, number, 1, |n| {
                let (steps_in, steps_out) = steps(number - 1 - n);
                k.when(steps_out, step_out);
                k.when(steps_in, step_in);
            });
        }
    }

    /// The triangles between two rings of the inside: of each edge one at both ends, and two for
    /// each segment of the inner ring, whose diagonals mirror each other in both halves.
    fn regular(&self, to: &Output<'k>, done: &Slot<'k>, row: Word<'k>) {
        let k = to.k;
        let outside = self.ring(row - 1);
        let outer = RingPoints::new(&outside, k.flag(false));
        let (inside, inner) = self.numbers(row);
        let (outer_corners, inner_corners) = (outside.corners(k), inside.corners(k));
        let points: Vec<Word<'k>> = inside.lengths.iter().map(|&l| l + 1).collect();
        let triangles: Vec<Word<'k>> = points.iter().map(|&n| n << 1).collect();
        let (base, all) = (done.get(), sum(&triangles));
        to.lanes(all, |n| {
            let (edge, local) = locate(n, &triangles);
            let points = choose(edge, &points);
            let (begins, ends) = (local.is(0), (local + 1).is(points << 1));
            let end = begins | ends;
            let behind = begins.select(0, local - 1);
            let (i, second) = (behind >> 1, (behind & 1).is(1));
            let o = begins.select(0, i + 1);
            let early = i.less(points >> 1);
            let (o, i) = (o + choose(edge, &outer_corners), i + choose(edge, &inner_corners));
            let [o0, o1, i0, i1] = [outer.at(o), outer.at(o + 1), inner.at(i), inner.at(i + 1)];
            let a = (end | early).select(o0, i0);
            let b = early.select(second.select(o1, i1), second.select(o1, o0));
            let c = early.select(second.select(i1, i0), second.select(i1, o1));
            to.triangle(base + n, [a, end.select(o1, b), end.select(i0, c)]);
        });
        done.set(base + all);
    }

    /// The triangle or the row of quads in the middle, if the segments across are odd.
    fn middle(&self, to: &Output<'k>, done: &Slot<'k>) {
        let (few, many, wide) = self.across();
        let base = done.get();
        let (ring, numbers) = self.numbers(self.rows() - 1);
        if self.triangle() {
            let start = ring.start;
            let one = few.odd.word();
            to.lanes(one, |n| to.triangle(base + n, [start, start + 1, start + 2]));
            return;
        }
        let quads = many.points - few.points + 1;
        let start = wide.word();
        // The row goes back on the other side.
        let back = ((quads + 1) << 1) - 1 + start;
        let triangles = few.odd.select(quads << 1, 0);
        to.lanes(triangles, |n| {
            let (at, second) = (n >> 1, (n & 1).is(1));
            let [o0, o1] = [0, 1].map(|k| numbers.at(start + at + k));
            let [i0, i1] = [0, 1].map(|k| numbers.at(back - at - k));
            // Rows in v with a quad in the middle have other diagonals.
            let mirrors = !wide & many.odd;
            let middle = mirrors & at.is(((quads + 1) >> 1) - 1);
            let a = second.select(middle.select(o0, i0), mirrors.select(o0, i0));
            let b = second.select(o1, middle.select(i1, mirrors.select(o1, o0)));
            let c = second.select(i1, mirrors.select(i0, o1));
            to.triangle(base + n, [a, b, c]);
        });
    }
}
