//! Clipper, setup and attribute setup: from assembled primitives to shapes on the screen and the plane
//! equations of pixel threads.

use tepui_intel_chips::Generation;
use tepui_raster::{
    ClipVolume, CoverageRule, DepthBias, DepthRange, Interpolation, Outline, Piece, PrimitiveKind,
    ProjectedPrimitive, RasterBounds, Shape, Viewport, WindowPlane, drop_outside,
};

use super::assembly::Assembled;
use super::lines::{Counter, Dashes, Pattern, SmoothLine};
use super::planes::Barycentrics;
use super::setup::Attributes;
use super::state::{State, ViewportState};
use super::unit::{GRID, unimplemented};
use super::vertex::Vertices;
use crate::job::JobFault;

/// Maximum width and height in pixels.
const MAX_PIXELS: u32 = 16384;

/// Data of a primitive that pixels need.
pub(super) struct Primitive {
    /// Whether it is front-facing.
    pub front: bool,
    /// Whether it is a filled triangle: neither a point nor a line.
    pub polygon: bool,
    /// The layer of the render targets.
    pub layer: u32,
    /// Its viewport.
    pub viewport: u32,
    /// The range to which depths are clamped.
    pub depth_range: [f32; 2],
    /// The plane of window depth.
    pub depth: WindowPlane,
    pub interpolation: Barycentrics,
    /// For lines: the dashes, and the parameters of smooth lines.
    pub dashes: Option<Dashes>,
    pub smooth: Option<SmoothLine>,
    /// Offset of its attributes in [`Scene::attributes`].
    pub attributes: usize,
}

/// Primitives to be rendered.
#[derive(Default)]
pub(super) struct Scene {
    pub primitives: Vec<Primitive>,
    /// Shapes of all primitives in order.
    pub shapes: Vec<Shape>,
    /// Attributes in the layout of pixel threads: four double words per component.
    pub attributes: Vec<u32>,
}

impl Scene {
    pub fn clear(&mut self) {
        self.primitives.clear();
        self.shapes.clear();
        self.attributes.clear();
    }
}

/// The fill mode of polygons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Solid,
    Wireframe,
    Points,
}

/// The clipper and setup of a draw.
pub(super) struct Geometry<'a> {
    state: &'a State,
    viewports: &'a [ViewportState],
    attributes: Attributes,
    kind: PrimitiveKind,
    rectangles: bool,
    provoking: usize,
    /// Unit of the depth bias; none for floats.
    bias_unit: Option<f64>,
    /// The pattern of dashed lines.
    pattern: Option<Pattern>,
    counter: Counter,
    pieces: Vec<Piece>,
    /// Number of primitives that reached the clipper, and that it passed on.
    pub counts: [u64; 2],
}

/// The header of a vertex.
struct Header {
    layer: u32,
    viewport: u32,
    point_width: f32,
    /// The replica of the primitive, below 16.
    replica: usize,
}

impl Header {
    /// source: SKL PRM volume 7, "vertex URB entry": double word 1 render target array index, 2
    /// viewport index, 3 point width.
    fn of(entry: &[u32], replica: usize) -> Header {
        let point_width = f32::from_bits(entry[3]);
        Header { layer: entry[1], viewport: entry[2], point_width, replica }
    }
}

/// A range of depths, ordered and without NaN.
fn depth_range(from: f32, to: f32) -> [f32; 2] {
    let [from, to] = [from, to].map(|v| if v.is_nan() { 0.0 } else { v });
    [from.min(to), from.max(to)]
}

/// A position of a vertex; there is one for each replica of the primitive. Zeros past the end of the entry.
fn position(entry: &[u32], replica: usize) -> [f32; 4] {
    [4, 5, 6, 7].map(|k| f32::from_bits(entry.get(4 * replica + k).copied().unwrap_or(0)))
}

impl<'a> Geometry<'a> {
    pub fn new(
        state: &'a State,
        viewports: &'a [ViewportState],
        kind: PrimitiveKind,
        rectangles: bool,
        provoking: usize,
        bias_unit: Option<f64>,
        pattern: Option<Pattern>,
    ) -> Result<Geometry<'a>, JobFault> {
        let attributes = Attributes::new(state)?;
        Ok(Geometry {
            state,
            viewports,
            attributes,
            kind,
            rectangles,
            provoking,
            bias_unit,
            pattern,
            counter: Counter::default(),
            pieces: Vec::new(),
            counts: [0; 2],
        })
    }

    /// The index of the vertex that counts as a primitive's first outside of the hardware: the second one for
    /// fans if it provokes, else the first.
    pub fn turned(&self) -> usize {
        usize::from(self.kind == PrimitiveKind::Triangle && self.provoking == 1)
    }

    /// Number of vertices of a primitive.
    pub fn vertices_of_primitive(&self) -> usize {
        match self.kind {
            PrimitiveKind::Point => 1,
            PrimitiveKind::Line => 2,
            PrimitiveKind::Triangle => 3,
        }
    }

    /// Number of double words of a primitive's attributes.
    pub fn attribute_dwords(&self) -> usize {
        self.attributes.dwords()
    }

    /// Adds primitives to a scene.
    ///
    /// # Errors
    /// Primitives other than rectangles in window coordinates.
    pub fn add(
        &mut self,
        vertices: &Vertices,
        list: &[Assembled],
        scene: &mut Scene,
    ) -> Result<(), JobFault> {
        if !self.rectangles && self.state.clip.perspective_divide_disable {
            return Err(unimplemented("a draw of other primitives than RECTLIST in pixels"));
        }
        let rejects = self.state.rejects_all();
        for assembled in list {
            self.counts[0] += 1;
            if rejects {
                continue;
            }
            if self.rectangles {
                self.rectangle(vertices, assembled, scene);
                continue;
            }
            for replica in self.replicas() {
                self.primitive(vertices, assembled, replica, scene);
            }
        }
        Ok(())
    }

    /// The replicas that are drawn of a primitive; only the first without replication.
    fn replicas(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.state.positions();
        let mask = if count == 1 { 1 } else { self.state.replication.replica_mask };
        (0..count).filter(move |replica| mask >> replica & 1 != 0)
    }

    /// The intersection of a viewport's extents and the drawing rectangle.
    fn limits(&self, viewport: &ViewportState) -> RasterBounds {
        let rectangle = &self.state.rectangle;
        let mut min =
            [rectangle.clipped_drawing_rectangle_x_min, rectangle.clipped_drawing_rectangle_y_min];
        let mut max = [
            rectangle.clipped_drawing_rectangle_x_max + 1,
            rectangle.clipped_drawing_rectangle_y_max + 1,
        ];
        let mut cut = |low: [u32; 2], high: [u32; 2]| {
            for axis in 0..2 {
                min[axis] = min[axis].max(low[axis]);
                max[axis] = max[axis].min(high[axis]);
            }
        };
        if self.state.raster.scissor_rectangle_enable {
            let s = &viewport.scissor;
            cut(
                [s.scissor_rectangle_x_min, s.scissor_rectangle_y_min],
                [s.scissor_rectangle_x_max + 1, s.scissor_rectangle_y_max + 1],
            );
        }
        // source: SKL PRM volume 7, "viewport extents": pixels outside are not drawn, unless the viewport
        // transform is disabled.
        if self.state.sf.viewport_transform_enable {
            let low = |v: f32| v.ceil().clamp(0.0, MAX_PIXELS as f32) as u32;
            let high = |v: f32| (v.floor() + 1.0).clamp(0.0, MAX_PIXELS as f32) as u32;
            let v = &viewport.sf;
            cut(
                [low(v.x_min_viewport), low(v.y_min_viewport)],
                [high(v.x_max_viewport), high(v.y_max_viewport)],
            );
        }
        RasterBounds { min, max: max.map(|v| v.min(MAX_PIXELS)), samples: None }
    }

    fn layer(&self, header: &Header) -> u32 {
        let of_vertex = match self.state.clip.force_zero_rta_index_enable {
            true => 0,
            false => header.layer & 0x7ff,
        };
        of_vertex + self.offset(&self.state.replication.rtai_offsets, header)
    }

    /// The offset of a replica. Without replication there is none: ANV sets the offset of the only view of a pass, which
    /// the shader writes to the header, too.
    fn offset(&self, offsets: &[u32; 16], header: &Header) -> u32 {
        if self.state.positions() == 1 { 0 } else { offsets[header.replica] }
    }

    fn viewport(&self, header: &Header) -> u32 {
        let offset = self.offset(&self.state.replication.viewport_offsets, header);
        ((header.viewport & 15) + offset).min(self.state.clip.maximum_vp_index)
    }

    /// Adds a rectangle of three corners in pixels: lower right, lower left, upper left in the drivers'
    /// order, though any three corners work.
    fn rectangle(&mut self, vertices: &Vertices, assembled: &Assembled, scene: &mut Scene) {
        let (three, number) = *assembled;
        let entries = three.map(|v| vertices.entry(v));
        let corners = entries.map(|entry| position(entry, 0));
        let Some(viewport) = self.viewports.first() else { return };
        let low = |axis: usize| corners.iter().map(|c| c[axis]).fold(f32::INFINITY, f32::min);
        let high = |axis: usize| corners.iter().map(|c| c[axis]).fold(f32::NEG_INFINITY, f32::max);
        if !(0..2).all(|axis| low(axis) < high(axis)) {
            return;
        }
        // Without w, and as two triangles: the fourth corner is opposite to the middle one.
        let window = corners.map(|c| [c[0], c[1], c[2], 1.0]);
        let at = |c: [f32; 2]| c.map(|v| GRID.snap(v));
        let (x, y) = ([low(0), high(0)], [low(1), high(1)]);
        let square = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]].map(at);
        self.pieces.clear();
        self.pieces.push(Piece { xy: [square[0], square[1], square[2]], z: [0.0; 3] });
        self.pieces.push(Piece { xy: [square[0], square[2], square[3]], z: [0.0; 3] });
        let header = Header::of(entries[self.provoking], 0);
        let limits = self.limits(viewport);
        self.emit(
            PrimitiveKind::Triangle,
            PrimitiveKind::Triangle,
            1.0,
            &window,
            entries,
            number,
            true,
            &header,
            viewport,
            &limits,
            scene,
        );
    }

    fn primitive(
        &mut self,
        vertices: &Vertices,
        assembled: &Assembled,
        replica: usize,
        scene: &mut Scene,
    ) {
        let (three, number) = *assembled;
        let entries = three.map(|v| vertices.entry(v));
        let header = Header::of(entries[self.provoking.min(2)], replica);
        let clip_state = &self.state.clip;
        let index = self.viewport(&header);
        let Some(viewport) = self.viewports.get(index as usize) else { return };
        let m = &viewport.sf;
        let transform = Viewport {
            scale: [
                m.viewport_matrix_element_m00,
                m.viewport_matrix_element_m11,
                m.viewport_matrix_element_m22,
            ],
            translate: [
                m.viewport_matrix_element_m30,
                m.viewport_matrix_element_m31,
                m.viewport_matrix_element_m32,
            ],
        };
        let near = self.state.raster.viewport_z_near_clip_test_enable;
        let range = match (near, clip_state.api_mode) {
            (false, _) => None,
            (true, true) => Some(DepthRange::ZeroToOne),
            (true, false) => Some(DepthRange::MinusOneToOne),
        };
        let volume = ClipVolume { w_min: f32::MIN_POSITIVE, depth: range };
        let clip = entries.map(|entry| position(entry, replica));
        // source: SKL PRM volume 7: eight clip distances follow the position; Mesa, brw_vue_map.c
        // (`brw_compute_vue_map`): all positions.
        let (vs, ds, gs) = (&self.state.vs, &self.state.ds, &self.state.gs);
        // The command of the last stage enables the distances.
        let [mut clips, mut culls] = match (gs.enable, ds.enable) {
            (true, _) => [
                gs.user_clip_distance_clip_test_enable_bitmask,
                gs.user_clip_distance_cull_test_enable_bitmask,
            ],
            (false, true) => [
                ds.user_clip_distance_clip_test_enable_bitmask,
                ds.user_clip_distance_cull_test_enable_bitmask,
            ],
            (false, false) => [
                vs.user_clip_distance_clip_test_enable_bitmask,
                vs.user_clip_distance_cull_test_enable_bitmask,
            ],
        };
        if clip_state.force_user_clip_distance_clip_test_enable_bitmask {
            clips = clip_state.user_clip_distance_clip_test_enable_bitmask;
        }
        if clip_state.force_user_clip_distance_cull_test_enable_bitmask {
            culls = clip_state.user_clip_distance_cull_test_enable_bitmask;
        }
        let first = 4 + 4 * self.state.positions();
        let dword = |entry: &[u32], k: usize| entry.get(first + k).copied().unwrap_or(0);
        let distance = |k: usize| entries.map(|entry| f32::from_bits(dword(entry, k)));
        let culled = |k: usize| distance(k).iter().all(|&d| d < 0.0 || d.is_nan());
        if (0..8).any(|k| culls >> k & 1 != 0 && culled(k)) {
            return;
        }
        let distances = (0..8).filter(|k| clips >> k & 1 != 0).map(distance);
        let Some(placed) = ProjectedPrimitive::new(&GRID, &transform, &volume, clip, distances)
        else {
            return;
        };
        self.counts[1] += 1;
        let limits = self.limits(viewport);
        self.pieces.clear();
        let (mut drawn, mut front) = (self.kind, true);
        if self.kind == PrimitiveKind::Triangle {
            let turn = placed.turn();
            // source: Mesa, anv_physical_device.c (`degenerateTrianglesRasterized`)
            if turn == 0.0 && !self.state.raster.conservative_rasterization_enable {
                return;
            }
            // source: genxml, 3DSTATE_RASTER: Front Winding 0 is clockwise on the screen.
            // One without an area faces back. source: Vulkan specification, "Basic Polygon Rasterization"
            front = turn != 0.0 && (turn > 0.0) != self.state.raster.front_winding;
            // Cull Mode: 0 both, 1 none, 2 front, 3 back.
            let culled = match self.state.raster.cull_mode {
                0 => true,
                2 => front,
                3 => !front,
                _ => false,
            };
            if culled {
                return;
            }
            match self.fill(front) {
                Fill::Solid => placed.triangle(turn, &mut self.pieces),
                Fill::Wireframe => {
                    drawn = PrimitiveKind::Line;
                    for side in [[0, 1], [1, 2], [2, 0]] {
                        placed.line(side, &mut self.pieces);
                    }
                }
                Fill::Points => {
                    drawn = PrimitiveKind::Point;
                    (0..3).for_each(|vertex| placed.point(vertex, &mut self.pieces));
                }
            }
        } else if self.kind == PrimitiveKind::Line {
            placed.line([0, 1], &mut self.pieces);
        } else {
            placed.point(0, &mut self.pieces);
        }
        let smooth = self.smooth();
        let size = match drawn {
            PrimitiveKind::Triangle => 1.0,
            PrimitiveKind::Line if smooth => SmoothLine::outline_px(self.line_width()),
            PrimitiveKind::Line => self.line_width(),
            PrimitiveKind::Point => self.point_width(&header),
        };
        drop_outside(&GRID, drawn, size, [limits.min, limits.max], 0, &mut self.pieces);
        if self.pieces.is_empty() {
            return;
        }
        let window = placed.window;
        let (kind, viewport) = (self.kind, *viewport);
        if drawn != PrimitiveKind::Line || !smooth && self.pattern.is_none() {
            self.emit(
                kind, drawn, size, &window, entries, number, front, &header, &viewport, &limits,
                scene,
            );
            return;
        }
        // Each line is clipped separately.
        for piece in std::mem::take(&mut self.pieces) {
            let ends = [piece.xy[0], piece.xy[1]];
            let before = scene.primitives.len();
            self.pieces.clear();
            self.pieces.push(piece);
            self.emit(
                kind, drawn, size, &window, entries, number, front, &header, &viewport, &limits,
                scene,
            );
            let dashes = self.pattern.map(|p| self.counter.next(p, [three[0], three[1]], ends));
            for primitive in &mut scene.primitives[before..] {
                primitive.dashes = dashes;
                primitive.smooth = smooth.then(|| SmoothLine::new(ends, self.line_width()));
            }
        }
    }

    /// Whether lines are smooth: where coverage of samples does not antialias them.
    fn smooth(&self) -> bool {
        self.state.raster.antialiasing_enable && (self.state.samples() == 1 || self.is_aliased())
    }

    /// Whether the centre of a pixel decides about the coverage of all its samples.
    ///
    /// source: SKL PRM volume 7, "multisample rasterization modes": it does with API Mode DX9/OGL, unless DX Multisample
    /// Rasterization Enable is set.
    fn is_aliased(&self) -> bool {
        let raster = &self.state.raster;
        raster.api_mode == 0 && !raster.dx_multisample_rasterization_enable
    }

    fn fill(&self, front: bool) -> Fill {
        let raster = &self.state.raster;
        match if front { raster.front_face_fill_mode } else { raster.back_face_fill_mode } {
            0 => Fill::Solid,
            1 => Fill::Wireframe,
            _ => Fill::Points,
        }
    }

    /// The line width; a width of 0 means the thinnest line.
    fn line_width(&self) -> f32 {
        let width = self.state.sf.line_width;
        if width == 0.0 { 1.0 } else { width }
    }

    fn point_width(&self, header: &Header) -> f32 {
        let clip = &self.state.clip;
        // source: genxml, 3DSTATE_SF "Point Width Source": 0 is the vertex.
        let width = match self.state.sf.point_width_source {
            false => header.point_width,
            true => return self.state.sf.point_width,
        };
        width.max(clip.minimum_point_width).min(clip.maximum_point_width)
    }

    /// The depth bias of a primitive.
    fn bias(&self, drawn: PrimitiveKind) -> Option<DepthBias> {
        let raster = &self.state.raster;
        let enabled = match drawn {
            PrimitiveKind::Triangle => raster.global_depth_offset_enable_solid,
            PrimitiveKind::Line => raster.global_depth_offset_enable_wireframe,
            PrimitiveKind::Point => raster.global_depth_offset_enable_point,
        };
        enabled.then_some(DepthBias {
            constant: raster.global_depth_offset_constant,
            slope: raster.global_depth_offset_scale,
            clamp: raster.global_depth_offset_clamp,
            unit: self.bias_unit,
        })
    }

    /// Adds the shapes of the pieces, and the primitive if any shape is left.
    #[expect(clippy::too_many_arguments, reason = "all that is known of a primitive")]
    fn emit(
        &mut self,
        kind: PrimitiveKind,
        drawn: PrimitiveKind,
        size_px: f32,
        window: &[[f32; 4]; 3],
        entries: [&[u32]; 3],
        number: u32,
        front: bool,
        header: &Header,
        viewport: &ViewportState,
        limits: &RasterBounds,
        scene: &mut Scene,
    ) {
        let primitive = scene.primitives.len() as u32;
        let raster = &self.state.raster;
        let coverage = match drawn {
            PrimitiveKind::Triangle if raster.conservative_rasterization_enable => {
                CoverageRule::Conservative
            }
            _ if self.state.samples() > 1 && self.is_aliased() => CoverageRule::Centre,
            _ => CoverageRule::Samples,
        };
        // source: Mesa, genX_gfx_state.c (`anv_rasterization_mode`): Gen12 draws rectangles so; what Gen9 draws is not known.
        let rectangular = self.state.generation == Generation::Gen12
            && raster.api_mode == 2
            && raster.dx_multisample_rasterization_enable;
        let outline = Outline { kind: drawn, size_px, primitive, coverage, rectangular };
        let before = scene.shapes.len();
        let shapes = self.pieces.iter().filter_map(|p| Shape::new(&GRID, p.xy, &outline, limits));
        scene.shapes.extend(shapes);
        if scene.shapes.len() == before {
            return;
        }
        // source: Vulkan specification, "Conservative Rasterization": values are those of the provoking vertex
        let is_degenerate = coverage == CoverageRule::Conservative
            && self.pieces.iter().all(|p| tepui_raster::area(p.xy) == 0);
        let planes = match is_degenerate {
            true => Interpolation::of_vertex(window, self.provoking.min(2)),
            false => Interpolation::new(kind, window),
        };
        let depth = match self.bias(drawn) {
            Some(bias) if kind == PrimitiveKind::Triangle => planes.biased_depth(window, &bias),
            _ => planes.depth(window),
        };
        let attributes = scene.attributes.len();
        let cc = &viewport.cc;
        let point = (drawn == PrimitiveKind::Point).then(|| {
            let top = !self.state.sbe.point_sprite_texture_coordinate_origin;
            planes.point_coordinates(&GRID, window[0], size_px, top)
        });
        let (one_over_w, perspective, linear) = match point {
            // The barycentric coordinates of a point are its point coordinates from 0 to 1, which are used
            // only by attributes that are replaced by them: all others are constant.
            Some([x, y]) => (
                [0.0, 0.0, 1.0 / f64::from(window[0][3])],
                [x, y].map(|p| planes.divide_by_w(p)),
                [x, y],
            ),
            None => {
                let second = [0.0, 1.0, 0.0];
                // A line's third vertex repeats the second.
                let third = if kind == PrimitiveKind::Line { [0.0; 3] } else { [0.0, 0.0, 1.0] };
                (
                    planes.one_over_w(),
                    [planes.over_w(second), planes.over_w(third)],
                    [planes.linear(second), planes.linear(third)],
                )
            }
        };
        self.attributes.add(
            entries,
            self.provoking,
            point.is_some(),
            front,
            number,
            &mut scene.attributes,
        );
        scene.primitives.push(Primitive {
            front,
            polygon: drawn == PrimitiveKind::Triangle,
            layer: self.layer(header),
            viewport: self.viewport(header),
            depth_range: depth_range(cc.minimum_depth, cc.maximum_depth),
            depth,
            interpolation: Barycentrics { one_over_w, perspective, linear },
            dashes: None,
            smooth: None,
            attributes,
        });
    }
}
