//! Primitive setup: facing and culling, clipping, the viewport, and snapping to the sub-pixel grid.

use tepui_agx_packets::ppp::{PolygonMode, Viewport};

use super::clip::{Planes, Side, Weights};
use super::scene::{GUARD_BAND_PX, Kind, Piece, Primitive, SUBPIXEL_BITS, State};
use crate::uvs::Layout;

/// Sub-pixels of a pixel.
const SUBPIXELS: f32 = (1 << SUBPIXEL_BITS) as f32;

/// An assembled primitive: its vertices as first words in the outputs, and its number.
#[derive(Clone, Copy, Debug)]
pub struct Assembled {
    /// First words.
    pub vertices: [u32; 3],
    /// Number in the instance.
    pub id: u32,
}

/// What all primitives of a draw have in common.
pub struct Setup<'a> {
    /// Vertex outputs of the scene.
    pub outputs: &'a [u32],
    /// Where a vertex's words lie.
    pub layout: Layout,
    /// What the primitives are.
    pub kind: Kind,
    /// State of the draw, and its index in the scene.
    pub state: (&'a State, u32),
    /// Viewports.
    pub viewports: &'a [Viewport],
    /// Depth in clip space goes from -w to w, not from 0.
    pub opengl_depth: bool,
    /// Smallest w that is not clipped.
    pub w_min: f32,
    /// Points have size 1.
    pub default_point_size: bool,
    /// Layers of the render target.
    pub layers: u32,
}

/// What setup leaves.
#[derive(Default)]
pub struct Output {
    /// Primitives.
    pub primitives: Vec<Primitive>,
    /// Their pieces.
    pub pieces: Vec<Piece>,
}

/// A primitive on its way.
struct Shape {
    /// Positions in clip space.
    clip: [[f32; 4]; 3],
    /// Window positions as homogeneous coordinates.
    window: [[f32; 4]; 3],
}

/// A primitive that is partly inside of all planes, in one viewport.
struct Placed<'a> {
    assembled: &'a Assembled,
    shape: Shape,
    transform: &'a Viewport,
    side: Side,
    planes: Planes,
    provoking: usize,
    layer: u32,
    viewport: usize,
}

impl Placed<'_> {
    /// Which way a triangle turns: positive if clockwise with y downwards.
    fn turn(&self) -> f64 {
        if self.side == Side::Inside {
            return area(each(self.shape.clip, |p| spot(self.transform, p).0)) as f64;
        }
        // The sign of the determinant is that of the visible part, whatever the signs of w.
        let [a, b, c] = each(self.shape.window, |p| each([p[0], p[1], p[3]], f64::from));
        a[0] * (b[1] * c[2] - b[2] * c[1])
            + a[1] * (b[2] * c[0] - b[0] * c[2])
            + a[2] * (b[0] * c[1] - b[1] * c[0])
    }

    /// The pieces of a triangle that turns in this way.
    fn fill(&self, turn: f64, pieces: &mut Vec<Piece>) {
        if self.side == Side::Inside {
            pieces.push(piece(each(self.shape.clip, |p| spot(self.transform, p)), turn > 0.0));
            return;
        }
        let corners = self.planes.clip_triangle();
        let mut spots = corners.as_slice().iter().map(|&w| spot_between(&self.shape, w));
        let (Some(first), Some(mut last)) = (spots.next(), spots.next()) else { return };
        for next in spots {
            let three = [first, last, next];
            let area = area(each(three, |s| s.0));
            // Snapping may have turned a sliver.
            if area != 0 && (area > 0) == (turn > 0.0) {
                pieces.push(piece(three, area > 0));
            }
            last = next;
        }
    }

    /// The piece of the line between the first two vertices of this order.
    fn line(&self, order: [usize; 3], pieces: &mut Vec<Piece>) {
        let [i, j, _] = order;
        let ends = if self.side == Side::Inside {
            [i, j].map(|i| spot(self.transform, self.shape.clip[i]))
        } else {
            match self.planes.clip_edge(i, j) {
                Some(ends) => ends.map(|w| spot_between(&self.shape, w)),
                None => return,
            }
        };
        let [a, b] = ends;
        pieces.push(Piece { xy: [a.0, b.0, b.0], z: [a.1, b.1, b.1] });
    }

    /// The piece of a vertex as a point.
    fn point(&self, vertex: usize, pieces: &mut Vec<Piece>) {
        if self.side == Side::Inside || self.planes.has_inside(vertex) {
            let (xy, z) = spot(self.transform, self.shape.clip[vertex]);
            pieces.push(Piece { xy: [xy; 3], z: [z; 3] });
        }
    }
}

/// A point on the screen: sub-pixels, and depth.
type Spot = ([i32; 2], f32);

impl Setup<'_> {
    /// Sets up one primitive; it is dropped if nothing of it can be seen.
    pub fn primitive(&self, assembled: &Assembled, out: &mut Output) {
        let Some(clip) = self.positions(assembled) else { return };
        let state = self.state.0;
        // A vertex that flat shading takes also says which layer and viewport.
        let provoking = (state.cull.flat_shading_vertex as usize).saturating_sub(1).min(2);
        let (layer, viewport) = self.target(assembled.vertices[provoking]);
        let Some(transform) = self.viewports.get(viewport) else { return };
        if layer >= self.layers {
            return;
        }
        let window = clip.map(|p| to_window(transform, p));
        let shape = Shape { clip, window };
        let mut planes = Planes::default();
        let side = self.planes(assembled, &shape, &mut planes);
        if side == Side::Outside {
            return;
        }
        let placed =
            Placed { assembled, shape, transform, side, planes, provoking, layer, viewport };
        match self.kind {
            Kind::Triangle => {
                let turn = placed.turn();
                let Some(front) = self.facing(turn) else { return };
                let add = |out: &mut Output, kind, order| {
                    self.add(&placed, kind, order, turn, front, out)
                };
                match state.face[usize::from(!front)].polygon_mode {
                    PolygonMode::Fill => add(out, Kind::Triangle, [0, 1, 2]),
                    mode => {
                        let kind = match mode {
                            PolygonMode::Line => Kind::Line,
                            _ => Kind::Point,
                        };
                        for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
                            add(out, kind, order);
                        }
                    }
                }
            }
            kind => self.add(&placed, kind, [0, 1, 2], 0.0, true, out),
        }
    }

    /// Adds a primitive of the vertices in this order, unless nothing of it can be seen. A polygon's
    /// edges and corners keep the further vertices, one of which may be the provoking one.
    fn add(
        &self,
        placed: &Placed<'_>,
        kind: Kind,
        order: [usize; 3],
        turn: f64,
        front: bool,
        out: &mut Output,
    ) {
        let vertices = order.map(|i| placed.assembled.vertices[i]);
        let first_piece = out.pieces.len();
        match kind {
            Kind::Triangle => placed.fill(turn, &mut out.pieces),
            Kind::Line => placed.line(order, &mut out.pieces),
            Kind::Point => placed.point(order[0], &mut out.pieces),
        }
        let size_px = match kind {
            Kind::Triangle => 0.0,
            Kind::Line => self.state.0.face[usize::from(!front)].line_width,
            Kind::Point => self.point_size(vertices[0]),
        };
        self.drop_hidden(kind, placed.viewport, size_px, first_piece, &mut out.pieces);
        let pieces = out.pieces.len() - first_piece;
        if pieces == 0 {
            return;
        }
        let provoking = order.iter().position(|&i| i == placed.provoking).unwrap_or(0);
        out.primitives.push(Primitive {
            kind,
            front,
            state: self.state.1,
            vertices,
            positions: order.map(|i| placed.shape.window[i]),
            provoking: provoking as u8,
            viewport: placed.viewport as u8,
            layer: placed.layer as u16,
            primitive_id: placed.assembled.id,
            size_px,
            first_piece: first_piece as u32,
            pieces: pieces as u32,
        });
    }

    /// Positions in clip space. A primitive with a coordinate that is not finite is not drawn; what
    /// the hardware does with it is unknown.
    fn positions(&self, assembled: &Assembled) -> Option<[[f32; 4]; 3]> {
        let mut clip = [[0.0; 4]; 3];
        for (position, &vertex) in clip.iter_mut().zip(&assembled.vertices) {
            let words = self.outputs.get(vertex as usize..vertex as usize + 4)?;
            for (c, &word) in position.iter_mut().zip(words) {
                *c = f32::from_bits(word);
                if !c.is_finite() {
                    return None;
                }
            }
        }
        Some(clip)
    }

    fn word(&self, vertex: u32, word: usize) -> u32 {
        self.outputs.get(vertex as usize + word).copied().unwrap_or(0)
    }

    /// Layer and viewport that a vertex selects.
    fn target(&self, vertex: u32) -> (u32, usize) {
        let Some(word) = self.layout.target else { return (0, 0) };
        let word = self.word(vertex, word);
        let layer = if self.layout.layer { word & 0xffff } else { 0 };
        let viewport = if self.layout.viewport { word >> 16 } else { 0 };
        // Viewports that the state does not have are undefined in every API.
        (layer, (viewport as usize).min(self.viewports.len().saturating_sub(1)))
    }

    fn point_size(&self, vertex: u32) -> f32 {
        match self.layout.point_size {
            Some(word) if !self.default_point_size => {
                let size = f32::from_bits(self.word(vertex, word));
                if size.is_finite() { size.clamp(0.0, 512.0) } else { 0.0 }
            }
            _ => 1.0,
        }
    }

    /// Distances from all planes, and how the primitive lies towards them.
    fn planes(&self, assembled: &Assembled, shape: &Shape, planes: &mut Planes) -> Side {
        let mut side = Side::Inside;
        let mut add = |distances: [f32; 3]| match planes.add(distances) {
            Side::Outside => true,
            Side::Across => {
                side = Side::Across;
                false
            }
            Side::Inside => false,
        };
        let clip = shape.clip;
        if add(each(clip, |p| p[3] - self.w_min)) {
            return Side::Outside;
        }
        if self.state.0.cull.depth_clip {
            let near = each(clip, |p| if self.opengl_depth { p[2] + p[3] } else { p[2] });
            if add(near) || add(each(clip, |p| p[3] - p[2])) {
                return Side::Outside;
            }
        }
        let (first, selected) = self.layout.clip_distances;
        let mut word = first;
        for plane in 0..16 {
            if selected >> plane & 1 != 0 {
                let distances = each(assembled.vertices, |v| f32::from_bits(self.word(v, word)));
                word += 1;
                if add(distances) {
                    return Side::Outside;
                }
            }
        }
        for axis in 0..2 {
            let limit = |p: [f32; 4]| GUARD_BAND_PX * p[3];
            if add(each(shape.window, |p| limit(p) - p[axis]))
                || add(each(shape.window, |p| limit(p) + p[axis]))
            {
                return Side::Outside;
            }
        }
        side
    }

    /// Front or back from the sign of the area with y downwards; `None` if the face is culled.
    fn facing(&self, area: f64) -> Option<bool> {
        let cull = &self.state.0.cull;
        if area == 0.0 || area.is_nan() {
            return None;
        }
        // With y downwards a positive area is clockwise to the eye.
        let front = (area < 0.0) == cull.front_face_ccw;
        let culled = if front { cull.cull_front } else { cull.cull_back };
        (!culled).then_some(front)
    }

    /// Drops pieces that lie wholly outside of the scissor.
    fn drop_hidden(
        &self,
        kind: Kind,
        viewport: usize,
        size_px: f32,
        first: usize,
        pieces: &mut Vec<Piece>,
    ) {
        let Some(scissor) = self.state.0.scissors.get(viewport) else { return };
        // A line may reach out half its width, and a pixel more by the rules of its rasterisation.
        let reach = match kind {
            Kind::Triangle => 0,
            _ => to_subpixels(size_px / 2.0 + 1.0),
        };
        let low = scissor.min_px.map(|p| i64::from(p) << SUBPIXEL_BITS);
        let high = scissor.max_px.map(|p| i64::from(p) << SUBPIXEL_BITS);
        let seen = |piece: &Piece| {
            (0..2).all(|axis| {
                let at = each(piece.xy, |xy| i64::from(xy[axis]));
                let least = at.iter().min().copied().unwrap_or(0) - i64::from(reach);
                let most = at.iter().max().copied().unwrap_or(0) + i64::from(reach);
                least < high[axis] && most > low[axis]
            })
        };
        let mut kept = first;
        for i in first..pieces.len() {
            if seen(&pieces[i]) {
                pieces[kept] = pieces[i];
                kept += 1;
            }
        }
        pieces.truncate(kept);
    }
}

/// What becomes of each vertex. (An array's `map` is a call here, one for each vertex.)
#[inline(always)]
fn each<T: Copy, U>([a, b, c]: [T; 3], f: impl Fn(T) -> U) -> [U; 3] {
    [f(a), f(b), f(c)]
}

fn to_window(v: &Viewport, [x, y, z, w]: [f32; 4]) -> [f32; 4] {
    [
        x * v.scale_x + w * v.translate_x,
        y * v.scale_y + w * v.translate_y,
        z * v.scale_z + w * v.translate_z,
        w,
    ]
}

/// The nearest sub-pixel; casts saturate.
fn to_subpixels(pixels: f32) -> i32 {
    (pixels * SUBPIXELS).round_ties_even() as i32
}

/// Where a vertex inside of all planes lies.
fn spot(v: &Viewport, [x, y, z, w]: [f32; 4]) -> Spot {
    let r = 1.0 / w;
    let x = x * r * v.scale_x + v.translate_x;
    let y = y * r * v.scale_y + v.translate_y;
    let z = z * r * v.scale_z + v.translate_z;
    ([to_subpixels(x), to_subpixels(y)], z)
}

/// Where a point that clipping made lies.
fn spot_between(shape: &Shape, weights: Weights) -> Spot {
    let sum =
        |c: usize| -> f64 { (0..3).map(|i| weights[i] * f64::from(shape.window[i][c])).sum() };
    let r = 1.0 / sum(3);
    let within = |x: f64| (x as f32).clamp(-GUARD_BAND_PX, GUARD_BAND_PX);
    let xy = [within(sum(0) * r), within(sum(1) * r)];
    (xy.map(to_subpixels), (sum(2) * r) as f32)
}

/// Twice the area of a triangle in sub-pixels, positive if clockwise with y downwards.
fn area([a, b, c]: [[i32; 2]; 3]) -> i64 {
    let d = |p: [i32; 2], q: [i32; 2], axis: usize| i64::from(q[axis]) - i64::from(p[axis]);
    d(a, b, 0) * d(a, c, 1) - d(a, c, 0) * d(a, b, 1)
}

fn piece([a, b, c]: [Spot; 3], clockwise: bool) -> Piece {
    let [a, b, c] = if clockwise { [a, b, c] } else { [a, c, b] };
    Piece { xy: [a.0, b.0, c.0], z: [a.1, b.1, c.1] }
}
