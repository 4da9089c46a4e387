//! The tessellator: points of a domain, and the primitives between them, from tessellation factors.
//!
//! source: Vulkan specification, "Tessellator". Which triangles lie between two rings of points, and
//! where the shorter segments of fractional spacings are, it leaves open.

/// The shape that is subdivided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    Quads,
    Triangles,
    Isolines,
}

/// How edges are subdivided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    Equal,
    FractionalOdd,
    FractionalEven,
}

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Points,
    Lines,
    /// Triangles whose area in (u, v) is positive, or negative.
    Positive,
    Negative,
}

/// The factors of a patch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Factors {
    pub outer: [f32; 4],
    pub inner: [f32; 2],
}

/// A subdivided patch.
#[derive(Clone, Debug, Default)]
pub(super) struct Tessellated {
    /// u and v of each point.
    pub points: Vec<[f32; 2]>,
    /// Points of each primitive; those of points and lines are repeated.
    pub primitives: Vec<[u32; 3]>,
}

/// More than 1 by as little as counts.
const MORE_THAN_ONE: f32 = 1.0 + 1.0 / 65536.0;

impl Spacing {
    fn clamp(self, factor: f32) -> f32 {
        let (low, high) = match self {
            Spacing::Equal => (1.0, 64.0),
            Spacing::FractionalOdd => (1.0, 63.0),
            Spacing::FractionalEven => (2.0, 64.0),
        };
        factor.max(low).min(high)
    }

    /// Segments of an edge.
    fn segments(self, factor: f32) -> u32 {
        let n = factor.ceil() as u32;
        match self {
            Spacing::Equal => n,
            Spacing::FractionalOdd => n | 1,
            Spacing::FractionalEven => n + n % 2,
        }
    }

    /// The places of an edge's points, from 0 to 1, in fixed point: so the places of the second half are exactly those
    /// of the first from the other end.
    ///
    /// Fractional spacings go from the places of one even (or odd) number of segments to those of the
    /// next: on either side of the middle one point is split in two, which part.
    ///
    /// source: Direct3D 11.3 functional specification, "Tessellator", whose places lavapipe has too.
    fn places(self, factor: f32) -> Vec<f32> {
        let count = self.segments(factor);
        let odd = count % 2 == 1;
        // Half the segments and points, with the part of the next.
        let factor = match self {
            Spacing::Equal => count * FIXED_ONE,
            _ => fixed(factor),
        };
        let half = factor.div_ceil(2) + if odd { FIXED_ONE / 2 } else { 0 };
        let (floor, ceil) = (half / FIXED_ONE, half.div_ceil(FIXED_ONE));
        let part = u64::from(half % FIXED_ONE);
        let reciprocal = |halves: u32| {
            let segments = (2 * halves - u32::from(odd)).max(1);
            u64::from((FIXED_ONE + segments / 2) / segments)
        };
        // The point that is split: points come in in the order of their number's reversed bits.
        let without_highest = |n: u32| n & !(n.checked_ilog2().map_or(0, |bit| 1 << bit));
        let split = match (floor == ceil, odd, floor) {
            (true, ..) => ceil + 1,
            (_, true, 1) => 0,
            (_, true, _) => (without_highest(floor - 1) << 1) + 1,
            (_, false, _) => (without_highest(floor) << 1) + 1,
        };
        let place = |point: u32| {
            let flips = point >= ceil;
            let point = if flips { 2 * ceil - point - u32::from(odd) } else { point };
            if point == ceil {
                return 0.5;
            }
            let before = u64::from(point - u32::from(point > split));
            let one = u64::from(FIXED_ONE);
            let at = before * reciprocal(floor) * (one - part)
                + u64::from(point) * reciprocal(ceil) * part;
            let at = ((at + one / 2) / one) as u32;
            float(if flips { FIXED_ONE - at } else { at })
        };
        (0..=count).map(place).collect()
    }
}

/// 1 in the tessellator's fixed point.
const FIXED_ONE: u32 = 1 << 16;

/// The nearest in fixed point, of what is not negative.
fn fixed(value: f32) -> u32 {
    (value * FIXED_ONE as f32 + 0.5) as u32
}

/// From fixed point; nothing is lost up to 1.
fn float(value: u32) -> f32 {
    value as f32 / FIXED_ONE as f32
}

/// Points and primitives that are being made.
struct Mesh {
    made: Tessellated,
    output: Output,
}

/// The order in which the points of half an edge come in as its factor grows: by the reversed bits of
/// their number.
///
/// source: Direct3D 11.3 functional specification, "Tessellator".
const ORDER: [u32; 33] = [
    0, 32, 16, 8, 17, 4, 18, 9, 19, 2, 20, 10, 21, 5, 22, 11, 23, 1, 24, 12, 25, 6, 26, 13, 27, 3,
    28, 14, 29, 7, 30, 15, 31,
];

impl Mesh {
    fn point(&mut self, u: f32, v: f32) -> u32 {
        self.made.points.push([u, v]);
        self.made.points.len() as u32 - 1
    }

    fn triangle(&mut self, [a, b, c]: [u32; 3]) {
        let [p, q, r] = [a, b, c].map(|k| self.made.points[k as usize].map(f64::from));
        let area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
        if matches!(self.output, Output::Points | Output::Lines) {
            return;
        }
        // Triangles without an area count, too: points of factors that are hardly more than 1 coincide.
        let turned = (area >= 0.0) != (self.output == Output::Positive);
        self.made.primitives.push(if turned { [a, c, b] } else { [a, b, c] });
    }

    /// Fills the strip between two rows of points whose places along it are given, where the second
    /// has the first's but for the outermost. Diagonals of either half are mirror images.
    fn stitch(&mut self, a: &[(u32, f32)], b: &[(u32, f32)]) {
        let (mut i, mut j) = (0, 0);
        while i + 1 < a.len() || j + 1 < b.len() {
            let on_a = match (a.get(i + 1), b.get(j + 1)) {
                (Some(next), Some(other)) if next.1 == other.1 => a[i].1 >= 0.5,
                // The next triangle stands on the row whose next point comes first.
                (Some(next), Some(other)) => next.1 < other.1,
                (next, _) => next.is_some(),
            };
            if on_a {
                self.triangle([a[i].0, a[i + 1].0, b[j].0]);
                i += 1;
            } else {
                self.triangle([b[j].0, b[j + 1].0, a[i].0]);
                j += 1;
            }
        }
    }

    /// Fills a row of squares between two rows of points. Diagonals begin at the second row, or in the middle square at the
    /// first.
    ///
    /// source: Mesa, tessellator.cpp (`StitchRegular`).
    fn strip(&mut self, a: &[u32], b: &[u32], middle: Option<usize>) {
        for (square, (a, b)) in a.windows(2).zip(b.windows(2)).enumerate() {
            let ([p, q], [r, s]) = match middle == Some(square) {
                false => ([a[0], a[1]], [b[0], b[1]]),
                true => ([b[0], b[1]], [a[0], a[1]]),
            };
            self.triangle([r, p, q]);
            self.triangle([r, q, s]);
        }
    }

    /// Fills the strip between an edge of the patch and the outermost ring inside, whose edges have
    /// `segments` segments with those beyond its corners. Either row's points come in their order.
    fn transition(&mut self, a: &[(u32, f32)], b: &[(u32, f32)], segments: u32) {
        let edge = a.len() as u32 - 1;
        let (half_a, half_b) = (edge / 2, segments / 2);
        let (odd_a, odd_b) = (edge % 2 == 1, segments % 2 == 1);
        let (mut i, mut j) = (0, 0);
        let mut step = |on_a: bool| {
            let (here, there) = (a[i], b[j]);
            if on_a && i + 1 < a.len() {
                i += 1;
                self.triangle([here.0, a[i].0, there.0]);
            } else if !on_a && j + 1 < b.len() {
                j += 1;
                self.triangle([there.0, b[j].0, here.0]);
            }
        };
        for (n, &point) in ORDER.iter().enumerate() {
            if n > 0 && point < half_b {
                step(false);
            }
            if point < half_a {
                step(true);
            }
        }
        if odd_b {
            step(false);
        }
        if odd_a {
            step(true);
        }
        for (n, &point) in ORDER.iter().enumerate().rev() {
            if point < half_a {
                step(true);
            }
            if n > 0 && point < half_b {
                step(false);
            }
        }
    }
}

/// Subdivides a patch; nothing if a factor of its edges is not positive.
pub(super) fn tessellate(
    domain: Domain,
    spacing: Spacing,
    output: Output,
    factors: &Factors,
) -> Tessellated {
    let edges = match domain {
        Domain::Quads => 4,
        Domain::Triangles => 3,
        Domain::Isolines => 2,
    };
    // A NaN is not positive.
    if !factors.outer[..edges].iter().all(|&f| f > 0.0) {
        return Tessellated::default();
    }
    let mut mesh = Mesh { made: Tessellated::default(), output };
    match domain {
        Domain::Quads => quads(&mut mesh, spacing, factors),
        Domain::Triangles => triangles(&mut mesh, spacing, factors),
        Domain::Isolines => isolines(&mut mesh, spacing, factors),
    }
    if output == Output::Points {
        mesh.made.primitives = (0..mesh.made.points.len() as u32).map(|k| [k; 3]).collect();
    }
    mesh.made
}

fn isolines(mesh: &mut Mesh, spacing: Spacing, factors: &Factors) {
    let lines = Spacing::Equal.segments(Spacing::Equal.clamp(factors.outer[0]));
    let places = spacing.places(spacing.clamp(factors.outer[1]));
    for &v in &Spacing::Equal.places(lines as f32)[..lines as usize] {
        let row: Vec<u32> = places.iter().map(|&u| mesh.point(u, v)).collect();
        if mesh.output == Output::Lines {
            mesh.made.primitives.extend(row.windows(2).map(|pair| [pair[0], pair[1], pair[1]]));
        }
    }
}

fn triangles(mesh: &mut Mesh, spacing: Spacing, factors: &Factors) {
    let outer = [0, 1, 2].map(|k| spacing.clamp(factors.outer[k]));
    let mut inner = spacing.clamp(factors.inner[0]);
    if inner <= 1.0 && outer.iter().any(|&f| f > 1.0) {
        inner = MORE_THAN_ONE;
    }
    // Corners u, v and w; the edge opposite of each is where it is 0, and has that outer factor.
    let at = |mesh: &mut Mesh, [u, v, _]: [f32; 3]| mesh.point(u, v);
    let corner = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0f32]];
    let corners = corner.map(|c| at(mesh, c));
    // Each side goes from one corner to the next: w = 0, u = 0, v = 0.
    let mut ring: [Vec<(u32, f32)>; 3] = std::array::from_fn(|side| {
        let factor = outer[[2, 0, 1][side]];
        let places = spacing.places(factor);
        let last = places.len() - 1;
        let (from, to) = (corner[side], corner[(side + 1) % 3]);
        (0..=last)
            .map(|k| match k {
                0 => (corners[side], 0.0),
                k if k == last => (corners[(side + 1) % 3], 1.0),
                k => {
                    let t = places[k];
                    let mix = |c: usize| from[c] + (to[c] - from[c]) * t;
                    (at(mesh, [mix(0), mix(1), mix(2)]), t)
                }
            })
            .collect()
    });
    let count = spacing.segments(inner);
    let places = spacing.places(inner);
    if count == 1 {
        mesh.triangle(corners);
        return;
    }
    for k in 1..=count / 2 {
        // A ring is as far from the edges as perpendiculars of the outermost meet.
        let depth = float((2 * fixed(places[k as usize]) + 1) / 3);
        let half_depth = float(fixed(depth).div_ceil(2));
        let next: [Vec<(u32, f32)>; 3] = if 2 * k == count {
            let middle = at(mesh, [float(FIXED_ONE / 3); 3]);
            std::array::from_fn(|_| vec![(middle, 0.5)])
        } else {
            let coordinate = |side: usize, place: f32| {
                // Along the side from its first corner to its second, whose opposite is `depth` away.
                let t = place - half_depth;
                let mut c = [0.0; 3];
                c[side] = 1.0 - depth - t;
                c[(side + 1) % 3] = t;
                c[(side + 2) % 3] = depth;
                c
            };
            let corners: [u32; 3] =
                std::array::from_fn(|side| at(mesh, coordinate(side, places[k as usize])));
            std::array::from_fn(|side| {
                (k..=count - k)
                    .map(|j| {
                        let place = places[j as usize];
                        match j {
                            j if j == k => (corners[side], place),
                            j if j == count - k => (corners[(side + 1) % 3], place),
                            _ => (at(mesh, coordinate(side, place)), place),
                        }
                    })
                    .collect()
            })
        };
        for side in 0..3 {
            match k {
                1 => mesh.transition(&ring[side], &next[side], count),
                _ => mesh.stitch(&ring[side], &next[side]),
            }
        }
        ring = next;
    }
    if !count.is_multiple_of(2) {
        mesh.triangle([ring[0][0].0, ring[1][0].0, ring[2][0].0]);
    }
}

fn quads(mesh: &mut Mesh, spacing: Spacing, factors: &Factors) {
    let outer = factors.outer.map(|f| spacing.clamp(f));
    let mut inner = factors.inner.map(|f| spacing.clamp(f));
    if outer.iter().chain(&inner).any(|&f| f > 1.0) {
        inner = inner.map(|f| f.max(MORE_THAN_ONE));
    }
    let [columns, rows] = inner.map(|f| spacing.segments(f) as usize);
    let [us, vs] = inner.map(|f| spacing.places(f));
    // Corners from the origin on around: (0, 0), (1, 0), (1, 1), (0, 1).
    let corner = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0f32]];
    let corners = corner.map(|[u, v]| mesh.point(u, v));
    if columns == 1 && rows == 1 {
        mesh.triangle([corners[0], corners[1], corners[2]]);
        mesh.triangle([corners[0], corners[2], corners[3]]);
        return;
    }
    // Sides v = 0, u = 1, v = 1, u = 0 have outer factors 1, 2, 3, 0.
    let mut ring: [Vec<(u32, f32)>; 4] = std::array::from_fn(|side| {
        let places = spacing.places(outer[[1, 2, 3, 0][side]]);
        let last = places.len() - 1;
        let (from, to) = (corner[side], corner[(side + 1) % 4]);
        (0..=last)
            .map(|k| match k {
                0 => (corners[side], 0.0),
                k if k == last => (corners[(side + 1) % 4], 1.0),
                k => {
                    let t = places[k];
                    let mix = |c: usize| from[c] + (to[c] - from[c]) * t;
                    (mesh.point(mix(0), mix(1)), t)
                }
            })
            .collect()
    });
    let mut grid = vec![vec![0; rows + 1]; columns + 1];
    for (i, column) in grid.iter_mut().enumerate().take(columns).skip(1) {
        for (j, point) in column.iter_mut().enumerate().take(rows).skip(1) {
            *point = mesh.point(us[i], vs[j]);
        }
    }
    let mut k = 1;
    loop {
        // The ring of the inside that is `k` steps from the edge, with places along each side.
        let (right, top) = (columns - k, rows - k);
        let next: [Vec<(u32, f32)>; 4] = [
            (k..=right).map(|i| (grid[i][k], us[i])).collect(),
            (k..=top).map(|j| (grid[right][j], vs[j])).collect(),
            (k..=right).rev().map(|i| (grid[i][top], 1.0 - us[i])).collect(),
            (k..=top).rev().map(|j| (grid[k][j], 1.0 - vs[j])).collect(),
        ];
        for side in 0..4 {
            let segments = if side % 2 == 0 { columns } else { rows };
            match k {
                1 => mesh.transition(&ring[side], &next[side], segments as u32),
                _ => mesh.stitch(&ring[side], &next[side]),
            }
        }
        let [across, up] = [right - k, top - k];
        if across.min(up) == 1 {
            // What is left is one square wide.
            let points = |side: usize| next[side].iter().map(|p| p.0).collect::<Vec<_>>();
            let turned = |side: usize| next[side].iter().rev().map(|p| p.0).collect::<Vec<_>>();
            if across > up {
                mesh.strip(&points(0), &turned(2), None);
            } else {
                let middle = (up % 2 == 1).then_some(up / 2);
                mesh.strip(&points(1), &turned(3), middle);
            }
        }
        if across.min(up) <= 1 {
            return;
        }
        ring = next;
        k += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice the area of all triangles, which must turn the same way.
    fn area(made: &Tessellated) -> f64 {
        made.primitives
            .iter()
            .map(|three| {
                let [p, q, r] = three.map(|k| made.points[k as usize].map(f64::from));
                let area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
                assert!(area >= 0.0);
                area
            })
            .sum()
    }

    #[test]
    fn triangles_cover_their_domain_once() {
        for spacing in [Spacing::Equal, Spacing::FractionalOdd, Spacing::FractionalEven] {
            for outer in [[1.0; 4], [1.0, 2.0, 3.0, 4.0], [7.3, 1.0, 5.5, 64.0], [9.0; 4]] {
                for inner in [[1.0, 1.0], [2.0, 3.0], [4.4, 1.0], [7.0, 6.2], [64.0, 2.5]] {
                    let factors = Factors { outer, inner };
                    let quads = tessellate(Domain::Quads, spacing, Output::Positive, &factors);
                    assert!((area(&quads) - 2.0).abs() < 1e-4, "{spacing:?} {factors:?}");
                    let three = tessellate(Domain::Triangles, spacing, Output::Positive, &factors);
                    assert!((area(&three) - 1.0).abs() < 1e-4, "{spacing:?} {factors:?}");
                }
            }
        }
    }

    #[test]
    fn fractional_edges_have_two_shorter_segments() {
        for (spacing, factor, count) in [
            (Spacing::FractionalOdd, 4.2, 5),
            (Spacing::FractionalEven, 4.2, 6),
            (Spacing::FractionalOdd, 1.5, 3),
            (Spacing::FractionalEven, 17.1, 18),
        ] {
            let places = spacing.places(factor);
            assert_eq!(places.len(), count + 1);
            let lengths: Vec<f32> = places.windows(2).map(|p| p[1] - p[0]).collect();
            let longest = lengths.iter().fold(0.0f32, |most, &l| most.max(l));
            let full = lengths.iter().filter(|&&l| (l - longest).abs() < 1e-4).count();
            assert_eq!(full, count - 2, "{places:?}");
            for (k, place) in places.iter().enumerate() {
                assert_eq!(place + places[count - k], 1.0, "{places:?}");
            }
        }
    }

    #[test]
    fn factors_that_are_not_positive_leave_nothing() {
        for bad in [0.0, -1.0, f32::NAN] {
            let factors = Factors { outer: [1.0, bad, 1.0, 1.0], inner: [1.0; 2] };
            let made = tessellate(Domain::Quads, Spacing::Equal, Output::Positive, &factors);
            assert!(made.points.is_empty());
        }
    }
}
