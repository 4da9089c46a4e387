//! Edge functions of primitives, computed once for all tiles.

use crate::{Grid, Kind, Piece};

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
}

/// The edge function of the side from `p` to `q` of a shape that lies to the right of it (y
/// downwards).
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
    /// The shape of a piece; `None` if there is nothing to draw.
    pub fn new(grid: &Grid, piece: &Piece, outline: &Outline, limits: &Limits) -> Option<Shape> {
        let [p, q, r] = piece.xy.map(|v| v.map(i64::from));
        let corners: [[i64; 2]; 4] = match outline.kind {
            Kind::Triangle => [p, q, r, r],
            Kind::Point => {
                let half = radius(grid, outline.size_px);
                let [x, y] = p;
                // Clockwise from the upper left.
                [
                    [x - half, y - half],
                    [x + half, y - half],
                    [x + half, y + half],
                    [x - half, y + half],
                ]
            }
            Kind::Line => line(grid, p, q, outline.size_px),
        };
        let sides = if outline.kind == Kind::Triangle { 3 } else { 4 };
        let mut edges = [Edge::default(); 4];
        for (i, e) in edges.iter_mut().enumerate().take(sides) {
            *e = edge(grid, corners[i], corners[(i + 1) % sides]);
        }
        let low = |axis: usize| corners.iter().map(|c| c[axis]).min().unwrap_or(0);
        let high = |axis: usize| corners.iter().map(|c| c[axis]).max().unwrap_or(0);
        let mut shape = Shape {
            edges,
            sides: sides as u8,
            min_px: [0; 2],
            max_px: [0; 2],
            primitive: outline.primitive,
            centre_only: outline.centre_only,
        };
        for axis in 0..2 {
            let first = (low(axis) >> grid.subpixel_bits()).max(i64::from(limits.min[axis]));
            let last = ((high(axis) >> grid.subpixel_bits()) + 1).min(i64::from(limits.max[axis]));
            if first >= last {
                return None;
            }
            shape.min_px[axis] = first as u16;
            shape.max_px[axis] = last as u16;
        }
        Some(shape)
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
