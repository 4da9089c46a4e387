//! Primitive setup: applies state to an assembled primitive, culls and clips it.

use tepui_agx_packets::ppp::PolygonMode;
use tepui_raster::{
    ClipVolume, CoverageRule, DepthRange, Outline, Piece, PrimitiveKind, ProjectedPrimitive,
    ProjectedVertex, Projection, RasterBounds, Shape, Viewport, area,
};

use super::scene::{GRID, Primitive, State};
use crate::uvs::Layout;

/// An assembled primitive.
#[derive(Clone, Copy, Debug)]
pub struct Assembled {
    /// Its vertices, as numbers in the draw.
    pub vertices: [u32; 3],
    /// Number in the instance.
    pub id: u32,
}

/// The state that all primitives of a draw share.
pub struct Setup<'a> {
    /// Outputs of the draw's vertices.
    pub outputs: &'a [u32],
    /// First word of these in the outputs of the scene.
    pub first_word: u32,
    /// Layout of a vertex's outputs.
    pub layout: Layout,
    /// Primitive type.
    pub kind: PrimitiveKind,
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
    /// Width and height of the render target.
    pub size_px: [u32; 2],
    /// Sample extents, as [`RasterBounds::samples`].
    pub samples: Option<[[i32; 2]; 2]>,
}

/// The output of setup.
#[derive(Default)]
pub struct Output {
    /// Primitives.
    pub primitives: Vec<Primitive>,
    /// Their shapes, which name them by their numbers here.
    pub shapes: Vec<Shape>,
    /// Pieces of the primitive that is set up.
    pieces: Vec<Piece>,
}

impl Output {
    /// Adds to primitives and shapes that are there already.
    pub fn onto(primitives: Vec<Primitive>, shapes: Vec<Shape>) -> Output {
        Output { primitives, shapes, pieces: Vec::new() }
    }

    /// Output with capacity for `primitives` primitives.
    pub fn with_capacity(primitives: usize) -> Output {
        Output::onto(Vec::with_capacity(primitives), Vec::with_capacity(primitives))
    }

    /// Adds the other output's primitives and shapes.
    pub fn append(&mut self, other: &Output) {
        let base = self.primitives.len() as u32;
        self.primitives.extend_from_slice(&other.primitives);
        let moved = |shape: &Shape| Shape { primitive: shape.primitive + base, ..*shape };
        self.shapes.extend(other.shapes.iter().map(moved));
    }
}

/// A primitive that is partly inside of all planes, and where it goes.
struct Target<'a> {
    assembled: &'a Assembled,
    placed: ProjectedPrimitive<'a>,
    provoking: usize,
    layer: u32,
    viewport: usize,
}

impl Setup<'_> {
    /// The projection of vertices to the window, if all primitives go to one viewport.
    pub fn projection<'a>(&'a self, volume: &'a ClipVolume) -> Option<Projection<'a>> {
        let (first, selected) = self.layout.clip_distances;
        let distances = first..first + selected.count_ones() as usize;
        Some(Projection { grid: &GRID, viewport: self.only_viewport()?, volume, distances })
    }

    /// The viewport, if primitives do not select it.
    fn only_viewport(&self) -> Option<&Viewport> {
        let selected = self.layout.viewport && self.viewports.len() > 1;
        if selected { None } else { self.viewports.first() }
    }

    /// The view volume.
    pub fn volume(&self) -> ClipVolume {
        let range =
            if self.opengl_depth { DepthRange::MinusOneToOne } else { DepthRange::ZeroToOne };
        ClipVolume { w_min: self.w_min, depth: self.state.0.cull.depth_clip.then_some(range) }
    }

    /// Sets up one primitive; it is dropped if it is invisible. `spots` has the draw's projected
    /// vertices, or is empty.
    #[inline]
    pub fn primitive(&self, assembled: &Assembled, spots: &[ProjectedVertex], out: &mut Output) {
        let [a, b, c] = assembled.vertices;
        if let (Some(a), Some(b), Some(c)) =
            (spots.get(a as usize), spots.get(b as usize), spots.get(c as usize))
        {
            let any = a.outside | b.outside | c.outside;
            // A primitive with a coordinate that is not finite is not drawn, as in `positions`.
            if a.outside & b.outside & c.outside != 0 || any & ProjectedVertex::NOT_FINITE != 0 {
                return;
            }
            if any == 0
                && self.kind == PrimitiveKind::Triangle
                && self.filled([a, b, c], assembled, out)
            {
                return;
            }
        }
        self.any_primitive(assembled, out);
    }

    /// Sets up a triangle that is inside of all planes. False if it is not to be filled, so that nothing was done.
    #[inline]
    fn filled(
        &self,
        [a, b, c]: [&ProjectedVertex; 3],
        assembled: &Assembled,
        out: &mut Output,
    ) -> bool {
        let area = area([a.xy, b.xy, c.xy]);
        let state = self.state.0;
        let Some(front) = self.facing(area as f64) else { return true };
        if state.face[usize::from(!front)].polygon_mode != PolygonMode::Fill {
            return false;
        }
        let provoking = self.provoking();
        let (layer, viewport) = self.target(assembled.vertices[provoking]);
        let primitive = Primitive {
            kind: PrimitiveKind::Triangle,
            front,
            state: self.state.1,
            vertices: self.words(assembled.vertices),
            positions: [a.window, b.window, c.window],
            provoking: provoking as u8,
            viewport: viewport as u8,
            layer: layer as u16,
            primitive_id: assembled.id,
            size_px: 0.0,
        };
        let xy = if area > 0 { [a.xy, b.xy, c.xy] } else { [a.xy, c.xy, b.xy] };
        let outline = outline(&primitive, out.primitives.len() as u32, state);
        if let Some(shape) = Shape::new(&GRID, xy, &outline, &self.limits(viewport)) {
            out.shapes.push(shape);
            out.primitives.push(primitive);
        }
        true
    }

    /// The vertex that flat shading takes also says which layer and viewport.
    #[inline]
    fn provoking(&self) -> usize {
        (self.state.0.cull.flat_shading_vertex as usize).saturating_sub(1).min(2)
    }

    /// The scissor rectangle of a viewport.
    #[inline]
    fn limits(&self, viewport: usize) -> RasterBounds {
        let scissor = self.state.0.scissors.get(viewport);
        let (min, max) = scissor.map_or(([0; 2], self.size_px), |s| (s.min_px, s.max_px));
        let max = [max[0].min(self.size_px[0]), max[1].min(self.size_px[1])];
        RasterBounds { min, max, samples: self.samples }
    }

    /// First words of vertices in the outputs of the scene. Scenes are rendered long before 2^32 words.
    #[inline]
    fn words(&self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        let word = |vertex: u32| self.first_word + vertex * self.layout.stride as u32;
        [word(a), word(b), word(c)]
    }

    /// Version of [`Setup::primitive`] of any primitive.
    fn any_primitive(&self, assembled: &Assembled, out: &mut Output) {
        let Some(clip) = self.positions(assembled) else { return };
        let state = self.state.0;
        let provoking = self.provoking();
        let (layer, viewport) = self.target(assembled.vertices[provoking]);
        let Some(transform) = self.viewports.get(viewport) else { return };
        let volume = self.volume();
        let distances = self.clip_distances(assembled);
        let Some(placed) = ProjectedPrimitive::new(&GRID, transform, &volume, clip, distances)
        else {
            return;
        };
        let target = Target { assembled, placed, provoking, layer, viewport };
        match self.kind {
            PrimitiveKind::Triangle => {
                let turn = target.placed.turn();
                let Some(front) = self.facing(turn) else { return };
                let add = |out: &mut Output, kind, order| {
                    self.add(&target, kind, order, turn, front, out)
                };
                match state.face[usize::from(!front)].polygon_mode {
                    PolygonMode::Fill => add(out, PrimitiveKind::Triangle, [0, 1, 2]),
                    mode => {
                        let kind = match mode {
                            PolygonMode::Line => PrimitiveKind::Line,
                            _ => PrimitiveKind::Point,
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
        kind: PrimitiveKind,
        order: [usize; 3],
        turn: f64,
        front: bool,
        out: &mut Output,
    ) {
        let vertices = order.map(|i| target.assembled.vertices[i]);
        let size_px = match kind {
            PrimitiveKind::Triangle => 0.0,
            PrimitiveKind::Line => self.state.0.face[usize::from(!front)].line_width,
            PrimitiveKind::Point => self.point_size(vertices[0]),
        };
        let provoking = order.iter().position(|&i| i == target.provoking).unwrap_or(0);
        let primitive = Primitive {
            kind,
            front,
            state: self.state.1,
            vertices: self.words(vertices),
            positions: order.map(|i| target.placed.window[i]),
            provoking: provoking as u8,
            viewport: target.viewport as u8,
            layer: target.layer as u16,
            primitive_id: target.assembled.id,
            size_px,
        };
        let Output { primitives, shapes, pieces } = out;
        pieces.clear();
        match kind {
            PrimitiveKind::Triangle => target.placed.triangle(turn, pieces),
            PrimitiveKind::Line => target.placed.line([order[0], order[1]], pieces),
            PrimitiveKind::Point => target.placed.point(order[0], pieces),
        }
        let outline = outline(&primitive, primitives.len() as u32, self.state.0);
        let limits = self.limits(target.viewport);
        let before = shapes.len();
        shapes.extend(pieces.iter().filter_map(|p| Shape::new(&GRID, p.xy, &outline, &limits)));
        if shapes.len() > before {
            primitives.push(primitive);
        }
    }

    /// Positions in clip space. A primitive with a coordinate that is not finite is not drawn; what
    /// the hardware does with it is unknown.
    fn positions(&self, assembled: &Assembled) -> Option<[[f32; 4]; 3]> {
        let mut clip = [[0.0; 4]; 3];
        for (position, &vertex) in clip.iter_mut().zip(&assembled.vertices) {
            let first = vertex as usize * self.layout.stride;
            let words = self.outputs.get(first..first + 4)?;
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
        let at = vertex as usize * self.layout.stride + word;
        self.outputs.get(at).copied().unwrap_or(0)
    }

    /// Layer and viewport that a vertex selects.
    #[inline]
    fn target(&self, vertex: u32) -> (u32, usize) {
        let Some(word) = self.layout.target else { return (0, 0) };
        let word = self.word(vertex, word);
        let layer = if self.layout.layer { word & 0xffff } else { 0 };
        // Assumption: clamped. Framebuffers of OpenGL that are not layered ignore the layer; Mesa's
        // driver leaves that to the hardware, and Khronos' tests hold it to that.
        let layer = layer.min(self.layers.saturating_sub(1));
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
        // With y downwards, a positive area is clockwise to the viewer.
        let front = (area < 0.0) == cull.front_face_ccw;
        let culled = if front { cull.cull_front } else { cull.cull_back };
        (!culled).then_some(front)
    }
}

/// The rasterisation parameters of a primitive with this number.
fn outline(primitive: &Primitive, index: u32, state: &State) -> Outline {
    Outline {
        kind: primitive.kind,
        size_px: primitive.size_px,
        primitive: index,
        // Mesa asks for it for Bresenham lines. source: hk_cmd_draw.c, `primitive_msaa`
        coverage: match state.cull.primitive_msaa {
            true => CoverageRule::Centre,
            false => CoverageRule::Samples,
        },
        rectangular: false,
    }
}
