//! Clipping of triangles and lines against planes.
//!
//! A plane is given by the distance of each vertex from it, negative outside. The clipped primitive is
//! given as weights of the original vertices, so that clipping changes no coordinate: two primitives
//! that share an edge are cut at exactly the same place.

/// Maximum number of planes: w, near and far, the guard band, and 16 clip distances.
pub const MAX_PLANES: usize = 1 + 2 + 4 + 16;
/// Maximum number of corners of a clipped triangle: each plane adds one.
const MAX_CORNERS: usize = 3 + MAX_PLANES;

/// A point of a primitive, as weights of its vertices.
pub type Weights = [f64; 3];

/// Distances of a primitive's vertices from each plane.
#[derive(Clone, Debug, Default)]
pub struct Planes {
    distances: [[f32; 3]; MAX_PLANES],
    count: usize,
}

/// Position of a primitive relative to planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneSide {
    /// Inside of all planes.
    Inside,
    /// Outside of one plane.
    Outside,
    /// Partly inside.
    Across,
}

impl Planes {
    /// Adds a plane and returns the position of the primitive relative to it. NaN is outside. Planes
    /// that the primitive is inside of are not kept, since they cut nothing.
    pub fn add(&mut self, distances: [f32; 3]) -> PlaneSide {
        match distances.iter().filter(|&&d| d >= 0.0).count() {
            3 => PlaneSide::Inside,
            0 => PlaneSide::Outside,
            _ => {
                if let Some(slot) = self.distances.get_mut(self.count) {
                    *slot = distances.map(|d| if d.is_nan() { f32::MIN } else { d });
                    self.count += 1;
                }
                PlaneSide::Across
            }
        }
    }

    fn kept(&self) -> &[[f32; 3]] {
        &self.distances[..self.count]
    }

    /// The corners of the clipped triangle, in order; fewer than three if nothing is left.
    pub fn clip_triangle(&self) -> Corners {
        let mut polygon = Corners::default();
        for corner in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
            polygon.push(corner);
        }
        for plane in self.kept() {
            let mut left = Corners::default();
            let corners = polygon.as_slice();
            for (i, &here) in corners.iter().enumerate() {
                let next = corners[(i + 1) % corners.len()];
                let (a, b) = (distance(plane, here), distance(plane, next));
                if a >= 0.0 {
                    left.push(here);
                }
                // Always from the inside to the outside, so that neighbours cut a shared edge in the
                // same way.
                if a >= 0.0 && b < 0.0 {
                    left.push(between(here, next, a / (a - b)));
                } else if a < 0.0 && b >= 0.0 {
                    left.push(between(next, here, b / (b - a)));
                }
            }
            polygon = left;
        }
        polygon
    }

    /// Whether a vertex is inside of all planes.
    pub fn has_inside(&self, vertex: usize) -> bool {
        self.kept().iter().all(|plane| plane[vertex] >= 0.0)
    }

    /// The ends of the clipped line between two vertices.
    pub fn clip_edge(&self, from: usize, to: usize) -> Option<[Weights; 2]> {
        let mut ends = [from, to].map(|vertex| {
            let mut weights = [0.0; 3];
            weights[vertex] = 1.0;
            weights
        });
        for plane in self.kept() {
            let [a, b] = ends.map(|end| distance(plane, end));
            match (a >= 0.0, b >= 0.0) {
                (true, true) => {}
                (true, false) => ends[1] = between(ends[0], ends[1], a / (a - b)),
                (false, true) => ends[0] = between(ends[1], ends[0], b / (b - a)),
                (false, false) => return None,
            }
        }
        Some(ends)
    }
}

fn distance(plane: &[f32; 3], at: Weights) -> f64 {
    (0..3).map(|i| f64::from(plane[i]) * at[i]).sum()
}

fn between(from: Weights, to: Weights, t: f64) -> Weights {
    std::array::from_fn(|i| from[i] + t * (to[i] - from[i]))
}

/// Corners of a convex polygon.
#[derive(Clone, Debug)]
pub struct Corners {
    list: [Weights; MAX_CORNERS],
    count: usize,
}

impl Default for Corners {
    fn default() -> Corners {
        Corners { list: [[0.0; 3]; MAX_CORNERS], count: 0 }
    }
}

impl Corners {
    fn push(&mut self, corner: Weights) {
        // Rounding can make a polygon that is not quite convex; then a plane may add two corners.
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = corner;
            self.count += 1;
        }
    }

    /// The corners.
    pub fn as_slice(&self) -> &[Weights] {
        &self.list[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corner_cut_off_leaves_a_quadrilateral() {
        let mut planes = Planes::default();
        assert_eq!(planes.add([1.0, 1.0, -1.0]), PlaneSide::Across);
        let corners = planes.clip_triangle();
        assert_eq!(
            corners.as_slice(),
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
        );
    }

    #[test]
    fn neighbours_cut_their_edge_at_the_same_place() {
        let cut = |d: [f32; 3]| {
            let mut planes = Planes::default();
            planes.add(d);
            planes.clip_triangle()
        };
        // The edge between the vertices with distances 0.3 and -0.7, in both directions.
        let one = cut([0.3, -0.7, -0.1]);
        let other = cut([-0.7, 0.3, 0.9]);
        let on_edge = |corners: &Corners, third: usize| {
            *corners
                .as_slice()
                .iter()
                .find(|w| w[third] == 0.0 && w.iter().all(|&x| x < 1.0))
                .unwrap()
        };
        let a = on_edge(&one, 2);
        let b = on_edge(&other, 2);
        assert_eq!([a[0], a[1]], [b[1], b[0]]);
    }

    #[test]
    fn a_line_is_cut_at_both_ends() {
        let mut planes = Planes::default();
        planes.add([1.0, -3.0, 0.0]);
        let near =
            |got: Weights, want: Weights| got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12);
        for (from, to) in [(0, 1), (1, 0)] {
            let mut ends = planes.clip_edge(from, to).unwrap();
            ends.sort_by(|a, b| b[0].total_cmp(&a[0]));
            assert!(near(ends[0], [1.0, 0.0, 0.0]) && near(ends[1], [0.75, 0.25, 0.0]), "{ends:?}");
        }
        planes.add([-0.5, 2.0, 0.0]);
        for (from, to) in [(0, 1), (1, 0)] {
            let mut ends = planes.clip_edge(from, to).unwrap();
            ends.sort_by(|a, b| b[0].total_cmp(&a[0]));
            assert!(near(ends[0], [0.8, 0.2, 0.0]) && near(ends[1], [0.75, 0.25, 0.0]), "{ends:?}");
        }
    }

    #[test]
    fn planes_that_exclude_each_other_leave_nothing() {
        let mut planes = Planes::default();
        planes.add([1.0, -1.0, -1.0]);
        planes.add([-1.0, 0.5, 0.5]);
        assert!(planes.clip_triangle().as_slice().len() < 3);
        let mut planes = Planes::default();
        planes.add([1.0, -1.0, -1.0]);
        planes.add([-1.0, 0.5, 0.5]);
        assert!(planes.clip_edge(0, 1).is_none());
    }

    #[test]
    fn many_planes_stay_within_bounds() {
        let mut planes = Planes::default();
        for i in 0..40 {
            let angle = i as f32;
            planes.add([angle.sin() + 0.9, angle.cos() + 0.9, (angle * 1.7).sin() + 0.9]);
        }
        assert!(planes.clip_triangle().as_slice().len() <= MAX_CORNERS);
        assert_eq!(planes.add([f32::NAN; 3]), PlaneSide::Outside);
    }

    #[test]
    fn planes_that_all_corners_are_inside_of_cut_nothing() {
        let mut planes = Planes::default();
        assert_eq!(planes.add([0.0, 1.0, 2.0]), PlaneSide::Inside);
        assert_eq!(planes.add([-1.0, -0.5, f32::NAN]), PlaneSide::Outside);
        assert_eq!(planes.count, 0);
        assert_eq!(
            planes.clip_triangle().as_slice(),
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        );
    }
}
