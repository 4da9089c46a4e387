//! Interpolation: how values at the vertices of a primitive become planes over the window.

use crate::{Grid, PrimitiveKind};

/// A plane equation in window coordinates: a, b, c of `a x + b y + c`.
pub type WindowPlane = [f64; 3];

/// Interpolation of a primitive's values: solves for the planes through the values at its vertices.
#[derive(Clone, Copy, Debug)]
pub struct Interpolation {
    /// Rows a, b, c of the plane; columns: the vertices' values.
    inverse: [[f64; 3]; 3],
    w: [f64; 3],
}

impl Interpolation {
    /// Sets up a primitive from its vertices' homogeneous window coordinates before clipping
    /// (window x · w, y · w, z · w, and w): a value that is linear in the primitive's own plane is
    /// `inverse · values` over w.
    pub fn new(kind: PrimitiveKind, positions: &[[f32; 4]; 3]) -> Interpolation {
        Interpolation::with_lines(kind, positions, |[x, y]| [-y, x])
    }

    /// Values of one vertex everywhere, as triangles without an area have them.
    pub fn of_vertex(positions: &[[f32; 4]; 3], vertex: usize) -> Interpolation {
        let w = positions.map(|v| f64::from(v[3]));
        let mut of = [0.0; 3];
        of[vertex] = 1.0 / w[vertex];
        Interpolation { inverse: [[0.0; 3], [0.0; 3], of], w }
    }

    /// Version of [`Interpolation::new`] for lines whose fragments are repeated along the line's minor
    /// axis, as OpenGL's: values are constant along that axis.
    pub fn with_repeated_fragments(
        kind: PrimitiveKind,
        positions: &[[f32; 4]; 3],
    ) -> Interpolation {
        let across = |[x, y]: [f64; 2]| if x.abs() >= y.abs() { [0.0, x] } else { [y, 0.0] };
        Interpolation::with_lines(kind, positions, across)
    }

    /// `across` gives the direction in which values are constant, from the direction of a line.
    fn with_lines(
        kind: PrimitiveKind,
        positions: &[[f32; 4]; 3],
        across: impl Fn([f64; 2]) -> [f64; 2],
    ) -> Interpolation {
        let p = positions.map(|v| v.map(f64::from));
        let row = |v: [f64; 4]| [v[0], v[1], v[3]];
        let w = p.map(|v| v[3]);
        let constant = Interpolation::of_vertex(positions, 0);
        let solved = match kind {
            PrimitiveKind::Point => return constant,
            PrimitiveKind::Triangle => invert([row(p[0]), row(p[1]), row(p[2])]),
            PrimitiveKind::Line => {
                // Values are constant across the line: the third vertex is next to the first and has
                // its values.
                let d = [0, 1].map(|k| p[1][k] / w[1] - p[0][k] / w[0]);
                let across = across(d);
                let beside = [p[0][0] + across[0] * w[0], p[0][1] + across[1] * w[0], w[0]];
                invert([row(p[0]), row(p[1]), beside]).map(|m| m.map(|[x, y, z]| [x + z, y, 0.0]))
            }
        };
        match solved {
            Some(inverse) => Interpolation { inverse, w },
            None => constant,
        }
    }

    #[inline]
    fn apply(&self, values: [f64; 3]) -> WindowPlane {
        self.inverse.map(|r| r[0] * values[0] + r[1] * values[1] + r[2] * values[2])
    }

    /// The plane of a value over w, for interpolation with perspective.
    #[inline]
    pub fn over_w(&self, values: [f32; 3]) -> WindowPlane {
        self.apply(values.map(f64::from))
    }

    /// The plane of a value that is linear on the screen.
    #[inline]
    pub fn linear(&self, values: [f32; 3]) -> WindowPlane {
        self.apply(std::array::from_fn(|i| f64::from(values[i]) * self.w[i]))
    }

    /// The planes of several values: over w, or linear on the screen. `values` has the values at each
    /// vertex.
    #[inline(always)]
    pub fn planes<const N: usize>(&self, linear: bool, values: &[[f32; N]; 3]) -> [[f64; N]; 3] {
        let mut at = [[0.0; N]; 3];
        for v in 0..3 {
            for i in 0..N {
                let value = f64::from(values[v][i]);
                at[v][i] = if linear { value * self.w[v] } else { value };
            }
        }
        let mut planes = [[0.0; N]; 3];
        for (plane, r) in planes.iter_mut().zip(&self.inverse) {
            for i in 0..N {
                plane[i] = r[0] * at[0][i] + r[1] * at[1][i] + r[2] * at[2][i];
            }
        }
        planes
    }

    /// The plane of 1/w.
    #[inline]
    pub fn one_over_w(&self) -> WindowPlane {
        self.apply([1.0; 3])
    }

    /// The plane of the depth in the window.
    #[inline]
    pub fn depth(&self, positions: &[[f32; 4]; 3]) -> WindowPlane {
        self.apply(positions.map(|p| f64::from(p[2])))
    }

    /// The plane of the depth in the window, with a bias.
    pub fn biased_depth(&self, positions: &[[f32; 4]; 3], bias: &DepthBias) -> WindowPlane {
        let mut plane = self.depth(positions);
        let unit = match bias.unit {
            Some(unit) => unit,
            None => {
                let largest = positions
                    .iter()
                    .map(|p| (p[2] / p[3]).abs())
                    .fold(0.0f32, |m, z| if z.is_finite() { m.max(z) } else { m });
                let exponent = (largest.to_bits() >> 23) as i32 - 127;
                2f64.powi(exponent - 23)
            }
        };
        let slope = plane[0].abs().max(plane[1].abs());
        let mut offset = f64::from(bias.slope) * slope + f64::from(bias.constant) * unit;
        let clamp = f64::from(bias.clamp);
        if clamp > 0.0 {
            offset = offset.min(clamp);
        } else if clamp < 0.0 {
            offset = offset.max(clamp);
        }
        plane[2] += offset;
        plane
    }

    /// The planes of the coordinates in a point, from 0 to 1, with y downwards if `top`.
    pub fn point_coordinates(
        &self,
        grid: &Grid,
        position: [f32; 4],
        size_px: f32,
        top: bool,
    ) -> [WindowPlane; 2] {
        let p = position.map(f64::from);
        let size = f64::from(size_px).max(1.0 / grid.pixel() as f64);
        let axis = |k: usize| {
            let centre = p[k] / p[3];
            (1.0 / size, 0.5 - centre / size)
        };
        let (sx, cx) = axis(0);
        let (sy, cy) = axis(1);
        let down = [0.0, sy, cy];
        [[sx, 0.0, cx], if top { down } else { [0.0, -sy, 1.0 - cy] }]
    }

    /// A plane of a value over w from one of the value, for a primitive of one w.
    #[inline]
    pub fn divide_by_w(&self, plane: WindowPlane) -> WindowPlane {
        plane.map(|v| v / self.w[0])
    }
}

/// An offset of depths. source: Vulkan, "Depth Bias".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthBias {
    /// Multiple of the unit.
    pub constant: f32,
    /// Multiple of the depth's slope.
    pub slope: f32,
    /// The largest offset if positive, the least if negative.
    pub clamp: f32,
    /// The unit; `None` for floats, where it is that of the last place of the primitive's largest
    /// depth.
    pub unit: Option<f64>,
}

/// The inverse of a matrix given by rows; `None` if it is singular.
fn invert(m: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let c = [cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])];
    let determinant = m[0][0] * c[0][0] + m[0][1] * c[0][1] + m[0][2] * c[0][2];
    let scale = 1.0 / determinant;
    if !scale.is_finite() {
        return None;
    }
    Some(std::array::from_fn(|r| std::array::from_fn(|k| c[k][r] * scale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values are constant across a line, or along its minor axis.
    #[test]
    fn lines_have_one_value_across() {
        let ends = [[0.0, 0.0, 0.0, 1.0], [20.0, 10.0, 0.0, 1.0], [0.0; 4]];
        let plane = Interpolation::new(PrimitiveKind::Line, &ends).linear([0.0, 1.0, 0.0]);
        assert!((plane[0] - 0.04).abs() < 1e-9 && (plane[1] - 0.02).abs() < 1e-9, "{plane:?}");
        let repeated = Interpolation::with_repeated_fragments(PrimitiveKind::Line, &ends);
        let plane = repeated.linear([0.0, 1.0, 0.0]);
        assert!((plane[0] - 0.05).abs() < 1e-9 && plane[1].abs() < 1e-9, "{plane:?}");
    }
}
