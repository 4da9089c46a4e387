//! Primitives before and after clipping.

/// PrimitiveKind of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveKind {
    /// Three vertices.
    Triangle,
    /// The first two vertices. The third repeats the second; for lines made from polygons, the vertices
    /// are those of the triangle.
    Line,
    /// The first vertex. Unused slots repeat it; for points made from polygons they hold the triangle's
    /// vertices.
    Point,
}

/// A clipped primitive or a part of it on the screen: a triangle, a line or a point.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Window positions in sub-pixels of the [`Grid`](crate::Grid), within its guard band.
    /// Triangles are wound so that (x1 - x0)(y2 - y0) - (x2 - x0)(y1 - y0) is positive with y
    /// downwards.
    pub xy: [[i32; 2]; 3],
    /// Window depths before bias and clamp.
    pub z: [f32; 3],
}
