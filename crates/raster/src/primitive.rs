//! Primitives before and after clipping.

/// What a primitive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Three vertices.
    Triangle,
    /// The first two vertices. The third repeats the second, or is that of the triangle of which
    /// this is an edge.
    Line,
    /// The first vertex. The others repeat it, or are those of the triangle of which this is a
    /// corner.
    Point,
}

/// What clipping left of a primitive, or a part of it: a triangle, a line or a point on the screen.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Window positions in sub-pixels of the [`Grid`](crate::Grid), within its guard band.
    /// Triangles are wound so that (x1 - x0)(y2 - y0) - (x2 - x0)(y1 - y0) is positive with y
    /// downwards.
    pub xy: [[i32; 2]; 3],
    /// Window depths before bias and clamp.
    pub z: [f32; 3],
}
