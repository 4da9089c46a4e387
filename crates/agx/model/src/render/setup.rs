//! Primitive setup: applies state to an assembled primitive, culls and clips it.

use tepui_agx_packets::ppp::PolygonMode;
use tepui_raster::{ClipVolume, DepthRange, Kind, Piece, Placed, Viewport, drop_outside};

use super::scene::{GRID, Primitive, State};
use crate::uvs::Layout;

/// An assembled primitive: its vertices as first words in the outputs, and its number.
#[derive(Clone, Copy, Debug)]
pub struct Assembled {
    /// First words.
    pub vertices: [u32; 3],
    /// Number in the instance.
    pub id: u32,
}

/// The state that all primitives of a draw share.
pub struct Setup<'a> {
    /// Vertex outputs of the scene.
    pub outputs: &'a [u32],
    /// Layout of a vertex's outputs.
    pub layout: Layout,
    /// Primitive type.
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

/// The output of setup.
#[derive(Default)]
pub struct Output {
    /// Primitives.
    pub primitives: Vec<Primitive>,
    /// Their pieces.
    pub pieces: Vec<Piece>,
}

/// A primitive that is partly inside of all planes, and where it goes.
struct Target<'a> {
    assembled: &'a Assembled,
    placed: Placed<'a>,
    provoking: usize,
    layer: u32,
    viewport: usize,
}

impl Setup<'_> {
    /// Sets up one primitive; it is dropped if nothing of it can be seen.
    pub fn primitive(&self, assembled: &Assembled, out: &mut Output) {
        let Some(clip) = self.positions(assembled) else { return };
        let state = self.state.0;
        // A vertex that flat shading takes also says which layer and viewport.
        let provoking = (state.cull.flat_shading_vertex as usize).saturating_sub(1).min(2);
        let (layer, viewport) = self.target(assembled.vertices[provoking]);
        let Some(transform) = self.viewports.get(viewport) else { return };
        // Assumption: clamped. Framebuffers of OpenGL that are not layered ignore the layer; Mesa's
        // driver leaves that to the hardware, and Khronos' tests hold it to that.
        let layer = layer.min(self.layers.saturating_sub(1));
        let volume = ClipVolume {
            w_min: self.w_min,
            depth: state.cull.depth_clip.then_some(if self.opengl_depth {
                DepthRange::MinusOneToOne
            } else {
                DepthRange::ZeroToOne
            }),
        };
        let distances = self.clip_distances(assembled);
        let Some(placed) = Placed::new(&GRID, transform, &volume, clip, distances) else { return };
        let target = Target { assembled, placed, provoking, layer, viewport };
        match self.kind {
            Kind::Triangle => {
                let turn = target.placed.turn();
                let Some(front) = self.facing(turn) else { return };
                let add = |out: &mut Output, kind, order| {
                    self.add(&target, kind, order, turn, front, out)
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
            kind => self.add(&target, kind, [0, 1, 2], 0.0, true, out),
        }
    }

    /// Adds a primitive of the vertices in this order, unless nothing of it can be seen. A
    /// polygon's edges and corners keep the further vertices, one of which may be the provoking
    /// one.
    fn add(
        &self,
        target: &Target<'_>,
        kind: Kind,
        order: [usize; 3],
        turn: f64,
        front: bool,
        out: &mut Output,
    ) {
        let vertices = order.map(|i| target.assembled.vertices[i]);
        let first_piece = out.pieces.len();
        match kind {
            Kind::Triangle => target.placed.triangle(turn, &mut out.pieces),
            Kind::Line => target.placed.line([order[0], order[1]], &mut out.pieces),
            Kind::Point => target.placed.point(order[0], &mut out.pieces),
        }
        let size_px = match kind {
            Kind::Triangle => 0.0,
            Kind::Line => self.state.0.face[usize::from(!front)].line_width,
            Kind::Point => self.point_size(vertices[0]),
        };
        if let Some(scissor) = self.state.0.scissors.get(target.viewport) {
            let bounds = [scissor.min_px, scissor.max_px];
            drop_outside(&GRID, kind, size_px, bounds, first_piece, &mut out.pieces);
        }
        let pieces = out.pieces.len() - first_piece;
        if pieces == 0 {
            return;
        }
        let provoking = order.iter().position(|&i| i == target.provoking).unwrap_or(0);
        out.primitives.push(Primitive {
            kind,
            front,
            state: self.state.1,
            vertices,
            positions: order.map(|i| target.placed.window[i]),
            provoking: provoking as u8,
            viewport: target.viewport as u8,
            layer: target.layer as u16,
            primitive_id: target.assembled.id,
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

    /// Distances of the vertices from the clip planes of the vertex program.
    #[inline]
    fn clip_distances(&self, assembled: &Assembled) -> impl Iterator<Item = [f32; 3]> {
        let (first, selected) = self.layout.clip_distances;
        let [a, b, c] = assembled.vertices;
        (first..).take(selected.count_ones() as usize).map(move |word| {
            let distance = |vertex| f32::from_bits(self.word(vertex, word));
            [distance(a), distance(b), distance(c)]
        })
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
}
