//! Edge functions of primitives, computed once for all tiles.

use crate::{FillRule, Grid, PrimitiveKind};

/// An edge function: a point at sub-pixels x, y is inside if `a x + b y + c` is not negative.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edge {
    /// Change from sub-pixel to sub-pixel along x.
    pub a: i32,
    /// Change from sub-pixel to sub-pixel along y.
    pub b: i32,
    /// Value at the origin of the window, less one if points on the edge are outside.
    pub c: i64,
}

/// A convex shape on the screen: the outline of a piece of a primitive. Edge functions are computed
/// from its corners per tile: most shapes of large scenes touch one tile, and corners take less memory.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The corners in sub-pixels, clockwise with y downwards; a triangle repeats the last.
    pub corners: [[i32; 2]; 4],
    /// First column and row that it may touch, clipped to scissor and framebuffer.
    pub min_px: [u16; 2],
    /// One past the last column and row.
    pub max_px: [u16; 2],
    /// Index of its primitive.
    pub primitive: u32,
    /// Number of its sides.
    pub sides: u8,
    /// Coverage of a pixel's samples.
    pub coverage: CoverageRule,
    /// Fill rule for samples on an edge.
    pub fill: FillRule,
}

/// Coverage of a pixel's samples by a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoverageRule {
    /// Each sample that is inside.
    #[default]
    Samples,
    /// All samples if the centre of the pixel is inside.
    Centre,
    /// All samples if the shape touches the pixel, once it is grown by 1/512 of a pixel (conservative rasterisation).
    ///
    /// source of the growth: Mesa, anv_physical_device.c (`primitiveOverestimationSize`)
    Conservative,
}

/// Rectangle outside of which nothing is drawn, from `min` to `max` (exclusive).
#[derive(Clone, Copy, Debug)]
pub struct RasterBounds {
    /// First column and row.
    pub min: [u32; 2],
    /// One past the last.
    pub max: [u32; 2],
    /// Bounding box of the sample positions in a pixel, in sub-pixels: the least and the greatest of
    /// each axis. Shapes that reach no sample are not drawn. `None` stands for positions anywhere in a
    /// pixel.
    pub samples: Option<[[i32; 2]; 2]>,
}

/// Parameters shared by all pieces of a primitive.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Its kind.
    pub kind: PrimitiveKind,
    /// Diameter of a point or width of a line, in pixels.
    pub size_px: f32,
    /// Number of the primitive.
    pub primitive: u32,
    /// Coverage of a pixel's samples.
    pub coverage: CoverageRule,
    /// A line is a rectangle, as Vulkan has strict lines, instead of a parallelogram.
    pub rectangular: bool,
}

impl Shape {
    /// The shape of a piece with these positions; `None` if there is nothing to draw.
    pub fn new(
        grid: &Grid,
        xy: [[i32; 2]; 3],
        outline: &Outline,
        limits: &RasterBounds,
    ) -> Option<Shape> {
        let [p, q, r] = xy;
        let (corners, sides) = match outline.kind {
            PrimitiveKind::Triangle => ([p, q, r, r], 3),
            PrimitiveKind::Point => {
                let half = radius(grid, outline.size_px);
                let [x, y] = p;
                // Clockwise from the upper left.
                let corners = [
                    [x - half, y - half],
                    [x + half, y - half],
                    [x + half, y + half],
                    [x - half, y + half],
                ];
                (corners, 4)
            }
            PrimitiveKind::Line if outline.rectangular => {
                (rectangle(grid, p, q, outline.size_px)?, 4)
            }
            PrimitiveKind::Line => (line(grid, p, q, outline.size_px), 4),
        };
        let (mut min_px, mut max_px) = ([0; 2], [0; 2]);
        let pixel = grid.pixel() as i32;
        let [least, greatest] = match (limits.samples, outline.coverage) {
            // Half a sub-pixel is what it grows by.
            (_, CoverageRule::Conservative) => [[-1; 2], [pixel; 2]],
            (None, _) => [[0; 2], [pixel - 1; 2]],
            (Some(_), CoverageRule::Centre) => [[pixel / 2; 2]; 2],
            (Some(samples), CoverageRule::Samples) => samples,
        };
        let bits = grid.subpixel_bits();
        for axis in 0..2 {
            let [a, b, c, d] = [corners[0], corners[1], corners[2], corners[3]].map(|v| v[axis]);
            let (low, high) = (a.min(b).min(c.min(d)), a.max(b).max(c.max(d)));
            let first = (low - greatest[axis] + (1 << bits) - 1) >> bits;
            let last = ((high - least[axis]) >> bits) + 1;
            let limit = |px: u32| i32::try_from(px).unwrap_or(i32::MAX);
            let (first, last) =
                (first.max(limit(limits.min[axis])), last.min(limit(limits.max[axis])));
            if first >= last {
                return None;
            }
            min_px[axis] = first as u16;
            max_px[axis] = last as u16;
        }
        Some(Shape {
            corners,
            min_px,
            max_px,
            primitive: outline.primitive,
            sides,
            coverage: outline.coverage,
            fill: grid.fill_rule(),
        })
    }

    /// The edge function of the side from a corner to the next; the shape lies to its right (y downwards).
    #[inline(always)]
    pub fn edge(&self, side: usize) -> Edge {
        let next = if side + 1 == usize::from(self.sides) { 0 } else { side + 1 };
        let (p, q) = (self.corners[side], self.corners[next & 3]);
        let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
        let is_filled = self.coverage == CoverageRule::Conservative || self.fill.includes([dx, dy]);
        let on_edge = i64::from(!is_filled);
        let c = i64::from(dy) * i64::from(p[0]) - i64::from(dx) * i64::from(p[1]) - on_edge;
        Edge { a: -dy, b: dx, c }
    }
}

/// Half a size in sub-pixels, at least one.
fn radius(grid: &Grid, size_px: f32) -> i32 {
    ((f64::from(size_px) * grid.pixel() as f64 / 2.0).round() as i32).clamp(1, 1 << 20)
}

/// A line as a rectangle: its ends are cut at right angles. None if it has no direction.
fn rectangle(grid: &Grid, p: [i32; 2], q: [i32; 2], width_px: f32) -> Option<[[i32; 2]; 4]> {
    let half = f64::from(width_px) * grid.pixel() as f64 / 2.0;
    let along = [0, 1].map(|axis| f64::from(q[axis]) - f64::from(p[axis]));
    let length = along[0].hypot(along[1]);
    if length == 0.0 {
        return None;
    }
    let limit = f64::from(1 << 20);
    let across =
        [-along[1], along[0]].map(|v| (v * half / length).round().clamp(-limit, limit) as i32);
    let moved = |[x, y]: [i32; 2], sign: i32| [x + sign * across[0], y + sign * across[1]];
    Some([moved(p, -1), moved(q, -1), moved(q, 1), moved(p, 1)])
}

/// A line as the parallelogram that Vulkan allows where lines are not strict: its ends are cut
/// along the axis that it runs across.
fn line(grid: &Grid, p: [i32; 2], q: [i32; 2], width_px: f32) -> [[i32; 2]; 4] {
    let half = radius(grid, width_px);
    let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
    if dx.abs() >= dy.abs() {
        // From left to right, the upper side first.
        let (p, q) = if dx >= 0 { (p, q) } else { (q, p) };
        [[p[0], p[1] - half], [q[0], q[1] - half], [q[0], q[1] + half], [p[0], p[1] + half]]
    } else {
        // From top to bottom, the right side first.
        let (p, q) = if dy >= 0 { (p, q) } else { (q, p) };
        [[p[0] + half, p[1]], [q[0] + half, q[1]], [q[0] - half, q[1]], [p[0] - half, p[1]]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FillRule;

    #[test]
    fn rectangular_lines_end_at_right_angles() {
        let grid = Grid::new(8, 32768, FillRule::TopLeft);
        let px = grid.pixel() as i32;
        // A line of 5 pixels by slope 3 : 4, ten pixels wide: half the width is (-3, 4) along its normal.
        let (p, q) = ([0, 0], [4 * px, 3 * px]);
        let corners = rectangle(&grid, p, q, 10.0).unwrap();
        let moved = [[3, -4], [7, -1], [1, 7], [-3, 4]];
        assert_eq!(corners, moved.map(|corner| corner.map(|v: i32| v * px)));
        // Along an axis it is the parallelogram.
        for q in [[4 * px, 0], [0, 4 * px]] {
            assert_eq!(rectangle(&grid, p, q, 3.0), Some(line(&grid, p, q, 3.0)));
        }
        assert_eq!(rectangle(&grid, p, p, 3.0), None);
    }
}
