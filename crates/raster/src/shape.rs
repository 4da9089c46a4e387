//! Edge functions of primitives, computed once for all tiles.

use crate::{Grid, Kind};

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

/// A convex shape on the screen: a piece of a primitive.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its sides; the last `4 - sides` are unused.
    pub edges: [Edge; 4],
    /// Number of sides.
    pub sides: u8,
    /// Columns and rows that it may touch, cut down to scissors and framebuffer: first, one past
    /// last.
    pub min_px: [u16; 2],
    /// As `min_px`.
    pub max_px: [u16; 2],
    /// Its primitive.
    pub primitive: u32,
    /// Coverage is decided at the centre of a pixel for all its samples.
    pub centre_only: bool,
}

/// What is outside of the rectangle `min` to `max` (exclusive) is not drawn.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// First column and row.
    pub min: [u32; 2],
    /// One past the last.
    pub max: [u32; 2],
    /// Where samples are in their pixels, in sub-pixels: the least and the greatest of each axis. Shapes that reach no sample
    /// are not drawn. `None` is anywhere in a pixel.
    pub samples: Option<[[i64; 2]; 2]>,
}

/// The edge function of the side from `p` to `q` of a shape that lies to the right of it (y
/// downwards).
#[inline(always)]
fn edge(grid: &Grid, p: [i64; 2], q: [i64; 2]) -> Edge {
    let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
    let c = dy * p[0] - dx * p[1] - i64::from(!grid.includes([dx, dy]));
    Edge { a: -dy as i32, b: dx as i32, c }
}

/// What all pieces of a primitive have in common.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Its kind.
    pub kind: Kind,
    /// Diameter of a point or width of a line, in pixels.
    pub size_px: f32,
    /// Number of the primitive.
    pub primitive: u32,
    /// Coverage is decided at the centre of a pixel for all its samples.
    pub centre_only: bool,
}

impl Shape {
    /// The shape of a piece with these positions; `None` if there is nothing to draw.
    pub fn new(
        grid: &Grid,
        xy: [[i32; 2]; 3],
        outline: &Outline,
        limits: &Limits,
    ) -> Option<Shape> {
        let wide = |at: [i32; 2]| [i64::from(at[0]), i64::from(at[1])];
        let [p, q, r] = [wide(xy[0]), wide(xy[1]), wide(xy[2])];
        match outline.kind {
            Kind::Triangle => Shape::of_corners(grid, [p, q, r], outline, limits),
            Kind::Point => {
                let half = radius(grid, outline.size_px);
                let [x, y] = p;
                // Clockwise from the upper left.
                let corners = [
                    [x - half, y - half],
                    [x + half, y - half],
                    [x + half, y + half],
                    [x - half, y + half],
                ];
                Shape::of_corners(grid, corners, outline, limits)
            }
            Kind::Line => {
                Shape::of_corners(grid, line(grid, p, q, outline.size_px), outline, limits)
            }
        }
    }

    #[inline(always)]
    fn of_corners<const N: usize>(
        grid: &Grid,
        corners: [[i64; 2]; N],
        outline: &Outline,
        limits: &Limits,
    ) -> Option<Shape> {
        let (mut min_px, mut max_px) = ([0; 2], [0; 2]);
        let [least, greatest] = match limits.samples {
            None => [[0; 2], [grid.pixel() - 1; 2]],
            Some(_) if outline.centre_only => [[grid.pixel() / 2; 2]; 2],
            Some(samples) => samples,
        };
        for axis in 0..2 {
            let (mut low, mut high) = (corners[0][axis], corners[0][axis]);
            for corner in &corners[1..] {
                low = low.min(corner[axis]);
                high = high.max(corner[axis]);
            }
            let first = (low - greatest[axis] + grid.pixel() - 1) >> grid.subpixel_bits();
            let last = ((high - least[axis]) >> grid.subpixel_bits()) + 1;
            let first = first.max(i64::from(limits.min[axis]));
            let last = last.min(i64::from(limits.max[axis]));
            if first >= last {
                return None;
            }
            min_px[axis] = first as u16;
            max_px[axis] = last as u16;
        }
        let mut edges = [Edge::default(); 4];
        for i in 0..N {
            edges[i] = edge(grid, corners[i], corners[(i + 1) % N]);
        }
        Some(Shape {
            edges,
            sides: N as u8,
            min_px,
            max_px,
            primitive: outline.primitive,
            centre_only: outline.centre_only,
        })
    }
}

/// Half a size in sub-pixels, at least one.
fn radius(grid: &Grid, size_px: f32) -> i64 {
    ((f64::from(size_px) * grid.pixel() as f64 / 2.0).round() as i64).clamp(1, 1 << 20)
}

/// A line as the parallelogram that Vulkan allows where lines are not strict: its ends are cut
/// along the axis that it runs across.
fn line(grid: &Grid, p: [i64; 2], q: [i64; 2], width_px: f32) -> [[i64; 2]; 4] {
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
