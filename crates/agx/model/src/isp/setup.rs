//! Setup: what rasterisation and interpolation need of a primitive, computed once for all its tiles.

use tepui_agx_packets::ppp::ObjectType;

use crate::render::scene::{Kind, Piece, Primitive, SUBPIXEL_BITS, Scene, State};

/// One pixel in sub-pixels.
pub const PIXEL: i64 = 1 << SUBPIXEL_BITS;

/// A side of a shape: a point at sub-pixels x, y is inside if `a x + b y + c` is not negative.
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
    /// Columns and rows that it may touch, cut down to scissors and framebuffer: first, one past last.
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

/// The side from `p` to `q` of a shape that lies to the right of it (y downwards). Points on a top or
/// left side are inside, so that shapes that share a side cover each sample once.
fn edge(p: [i64; 2], q: [i64; 2]) -> Edge {
    let (dx, dy) = (q[0] - p[0], q[1] - p[1]);
    let inclusive = dy < 0 || (dy == 0 && dx > 0);
    let c = dy * p[0] - dx * p[1] - i64::from(!inclusive);
    Edge { a: -dy as i32, b: dx as i32, c }
}

impl Shape {
    /// The shape of a piece; `None` if there is nothing to draw.
    pub fn new(
        piece: &Piece,
        primitive: &Primitive,
        index: u32,
        state: &State,
        limits: &Limits,
    ) -> Option<Shape> {
        let [p, q, r] = piece.xy.map(|v| v.map(i64::from));
        let corners: [[i64; 2]; 4] = match primitive.kind {
            Kind::Triangle => [p, q, r, r],
            Kind::Point => {
                let half = radius(primitive.size_px);
                let [x, y] = p;
                // Clockwise from the upper left.
                [
                    [x - half, y - half],
                    [x + half, y - half],
                    [x + half, y + half],
                    [x - half, y + half],
                ]
            }
            Kind::Line => line(p, q, primitive.size_px),
        };
        let sides = if primitive.kind == Kind::Triangle { 3 } else { 4 };
        let mut edges = [Edge::default(); 4];
        for (i, e) in edges.iter_mut().enumerate().take(sides) {
            *e = edge(corners[i], corners[(i + 1) % sides]);
        }
        let low = |axis: usize| corners.iter().map(|c| c[axis]).min().unwrap_or(0);
        let high = |axis: usize| corners.iter().map(|c| c[axis]).max().unwrap_or(0);
        let mut shape = Shape {
            edges,
            sides: sides as u8,
            min_px: [0; 2],
            max_px: [0; 2],
            primitive: index,
            // Mesa asks for it for Bresenham lines. source: hk_cmd_draw.c, `primitive_msaa`
            centre_only: state.cull.primitive_msaa,
        };
        for axis in 0..2 {
            let first = low(axis).div_euclid(PIXEL).max(i64::from(limits.min[axis]));
            let last = (high(axis).div_euclid(PIXEL) + 1).min(i64::from(limits.max[axis]));
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
fn radius(size_px: f32) -> i64 {
    ((f64::from(size_px) * PIXEL as f64 / 2.0).round() as i64).clamp(1, 1 << 20)
}

/// A line as the parallelogram that Vulkan allows where lines are not strict: its ends are cut along
/// the axis that it runs across.
fn line(p: [i64; 2], q: [i64; 2], width_px: f32) -> [[i64; 2]; 4] {
    // Lines are at most 16 pixels wide, which bounds the slopes of their sides.
    let half = radius(width_px.min(16.0));
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

/// A plane equation in window coordinates: a, b, c of `a x + b y + c`.
pub type WindowPlane = [f64; 3];

/// How values at the vertices of a primitive become planes over the window.
#[derive(Clone, Copy, Debug)]
pub struct Interpolation {
    /// Rows a, b, c of the plane; columns: the vertices' values.
    inverse: [[f64; 3]; 3],
    w: [f64; 3],
}

impl Interpolation {
    /// Sets up a primitive from its vertices' homogeneous window coordinates, as they were before
    /// clipping: a value that is linear in the primitive's own plane is `inverse · values` over w.
    pub fn new(primitive: &Primitive) -> Interpolation {
        let p = primitive.positions.map(|v| v.map(f64::from));
        let row = |v: [f64; 4]| [v[0], v[1], v[3]];
        let w = p.map(|v| v[3]);
        let constant = Interpolation { inverse: [[0.0; 3], [0.0; 3], [1.0 / w[0], 0.0, 0.0]], w };
        let solved = match primitive.kind {
            Kind::Point => return constant,
            Kind::Triangle => invert([row(p[0]), row(p[1]), row(p[2])]),
            Kind::Line => {
                // Across the line nothing changes: the third vertex stands beside the first and has
                // its values.
                let d = [0, 1].map(|k| p[1][k] / w[1] - p[0][k] / w[0]);
                let beside = [p[0][0] - d[1] * w[0], p[0][1] + d[0] * w[0], w[0]];
                invert([row(p[0]), row(p[1]), beside]).map(|m| m.map(|[x, y, z]| [x + z, y, 0.0]))
            }
        };
        match solved {
            Some(inverse) => Interpolation { inverse, w },
            None => constant,
        }
    }

    fn apply(&self, values: [f64; 3]) -> WindowPlane {
        self.inverse.map(|r| r[0] * values[0] + r[1] * values[1] + r[2] * values[2])
    }

    /// The plane of a value over w, for interpolation with perspective.
    pub fn over_w(&self, values: [f32; 3]) -> WindowPlane {
        self.apply(values.map(f64::from))
    }

    /// The plane of a value that is linear on the screen.
    pub fn linear(&self, values: [f32; 3]) -> WindowPlane {
        self.apply(std::array::from_fn(|i| f64::from(values[i]) * self.w[i]))
    }

    /// The plane of 1/w.
    pub fn one_over_w(&self) -> WindowPlane {
        self.apply([1.0; 3])
    }

    /// The plane of the depth in the window.
    pub fn depth(&self, primitive: &Primitive) -> WindowPlane {
        self.apply(primitive.positions.map(|p| f64::from(p[2])))
    }

    /// The planes of the coordinates in a point, from 0 to 1, with y downwards if `top`.
    pub fn point_coordinates(&self, primitive: &Primitive, top: bool) -> [WindowPlane; 2] {
        let p = primitive.positions[0].map(f64::from);
        let size = f64::from(primitive.size_px).max(1.0 / PIXEL as f64);
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
    pub fn divide_by_w(&self, plane: WindowPlane) -> WindowPlane {
        plane.map(|v| v / self.w[0])
    }
}

/// The inverse of a matrix given by rows; `None` if it has none.
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

/// The coordinates of a point sprite start at its top.
pub fn sprite_from_top(state: &State) -> bool {
    !matches!(state.face2[0].object_type, ObjectType::PointSpriteUv10)
}

/// The depth of a primitive with its bias. `integer` chooses the formula for fixed-point buffers.
pub fn depth_plane(
    primitive: &Primitive,
    interpolation: &Interpolation,
    state: &State,
    integer: bool,
) -> WindowPlane {
    let mut plane = interpolation.depth(primitive);
    let enabled = state.control.depth_bias_enable || state.control2.depth_bias_enable;
    if !enabled {
        return plane;
    }
    let bias = &state.depth_bias;
    // source: asahi_drm.h, DRM_ASAHI_RENDER_DBIAS_IS_INT; Vulkan, "Depth Bias": for floats the unit
    // is that of the last place of the largest depth of the primitive. That Mesa scales the bias by
    // the format only for the integer formula says that there the unit is 1.
    let unit = if integer {
        1.0
    } else {
        let largest = primitive
            .positions
            .iter()
            .map(|p| (p[2] / p[3]).abs())
            .fold(0.0f32, |m, z| if z.is_finite() { m.max(z) } else { m });
        let exponent = (largest.to_bits() >> 23) as i32 - 127;
        2f64.powi(exponent - 23)
    };
    let slope = plane[0].abs().max(plane[1].abs());
    let mut offset = f64::from(bias.slope_scale) * slope + f64::from(bias.depth_bias) * unit;
    let clamp = f64::from(bias.clamp);
    if clamp > 0.0 {
        offset = offset.min(clamp);
    } else if clamp < 0.0 {
        offset = offset.max(clamp);
    }
    plane[2] += offset;
    plane
}

/// What confines a primitive.
pub fn limits(scene: &Scene, primitive: &Primitive, framebuffer: [u32; 2]) -> Limits {
    let state = &scene.states[primitive.state as usize];
    let scissor = state.scissors.get(usize::from(primitive.viewport));
    let (min, max) = scissor.map_or(([0; 2], framebuffer), |s| (s.min_px, s.max_px));
    Limits { min, max: [max[0].min(framebuffer[0]), max[1].min(framebuffer[1])] }
}
