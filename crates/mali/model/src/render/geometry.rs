//! From shaded vertices to primitives and their shapes on the screen: assembly, clipping, culling, plane
//! equations.
//!
//! Shaders store window positions with 1/w; dividing by it gives back clip space.
//!
// source: Mesa, nir_lower_viewport_transform.c.

use tepui_mali_packets::draw::{DrawMode, PrimitiveFlags, Scissor};
use tepui_mali_packets::tiler::TilerContext;
use tepui_raster::{
    Assembler, ClipVolume, CoverageRule, Interpolation, Outline, Piece, PrimitiveKind,
    ProjectedPrimitive, Provoking, RasterBounds, Shape, Topology, Viewport,
};
use tepui_softgpu::UnitMemory;

use crate::job::{JobFault, Unit};
use crate::pixels::GRID;
use crate::pixels::draw::Draw;
use crate::pixels::scene::{Barycentrics, Primitive, Scene};

const UNIT: Unit = Unit::Tiler;

/// Positions are those of the window.
const WINDOW: Viewport = Viewport { scale: [1.0; 3], translate: [0.0; 3] };

/// Limit to which larger points are clamped: the size that drivers promise, the largest number of 16 bits with four
/// fractional ones.
///
/// source: Mesa, panvk_physical_device.c (`pointSizeRange`). That hardware limits sizes is an assumption.
const LARGEST_POINT_PX: f32 = 4095.9375;

/// A shaded vertex.
#[derive(Clone, Copy, Default)]
pub(crate) struct ShadedVertex {
    /// Window position, with 1/w.
    pub position: [f32; 4],
    /// Diameter of a point.
    pub size: f32,
    pub layer: u8,
    /// Offset of its varyings in the scene.
    pub varyings: u32,
}

/// Parameters of the primitive setup of a draw.
pub(crate) struct PrimitiveSetup {
    topology: Topology,
    provoking: Provoking,
    limits: RasterBounds,
    /// Point diameter and line width of the draw.
    pub size_px: f32,
    /// Depth clipping planes: below the first, above the second.
    low: Option<f32>,
    high: Option<f32>,
    front_is_counter_clockwise: bool,
    cull_front: bool,
    cull_back: bool,
    /// Lines cover all samples of the pixels whose centres they cover, and are parallelograms; others are rectangles.
    /// source: Mesa, panvk_vX_cmd_draw.c: Bresenham lines set the flag, and lines are strict (panvk_vX_physical_device.c).
    single_sampled_lines: bool,
    /// Whether depths have a bias.
    biased: bool,
    /// Number of layers of the context, and the offset that is added to a vertex's layer.
    layers: u32,
    layer_offset: i32,
}

impl PrimitiveSetup {
    /// Reads the parameters of a draw.
    pub fn new(
        memory: &mut UnitMemory<'_>,
        flags: &PrimitiveFlags,
        draw: &Draw,
        context: &TilerContext,
        scissor: Scissor,
        size_px: f32,
    ) -> Result<PrimitiveSetup, JobFault> {
        let topology = match flags.draw_mode {
            DrawMode::Points => Topology::Points,
            DrawMode::Lines => Topology::Lines,
            DrawMode::LineStrip => Topology::LineStrip,
            DrawMode::LineLoop => Topology::LineLoop,
            DrawMode::Triangles => Topology::Triangles,
            DrawMode::TriangleStrip => Topology::TriangleStrip,
            DrawMode::TriangleFan | DrawMode::Polygon => Topology::TriangleFan,
            DrawMode::Quads => Topology::Quads,
            DrawMode::None => return Err(JobFault::new(UNIT, "a draw without primitives")),
        };
        let depth = draw.depth(memory)?;
        let clip = depth.depth_cull_enable;
        let [low, high] = draw.depth_range;
        Ok(PrimitiveSetup {
            topology,
            provoking: match context.first_provoking_vertex {
                true => Provoking::First,
                false => Provoking::Last,
            },
            limits: limits(&scissor, context),
            size_px,
            low: (flags.low_depth_cull && clip).then_some(low),
            high: (flags.high_depth_cull && clip).then_some(high),
            front_is_counter_clockwise: draw.flags_0.front_face_ccw,
            cull_front: draw.flags_0.cull_front_face,
            cull_back: draw.flags_0.cull_back_face,
            single_sampled_lines: draw.flags_0.single_sampled_lines,
            biased: depth.depth_bias_enable,
            layers: context.layer_count,
            layer_offset: context.layer_offset,
        })
    }

    /// The assembly of a draw's primitives.
    pub fn assembly(&self, draw: u32) -> Assembly<'_> {
        let assembler = Assembler::new(self.topology, self.provoking);
        let kind = assembler.kind();
        let provoking = match (self.provoking, self.topology, kind) {
            (_, _, PrimitiveKind::Point) => 0,
            // The hub of a fan is not the first vertex of its triangles.
            (Provoking::First, Topology::TriangleFan, _) => 1,
            (Provoking::First, ..) => 0,
            (Provoking::Last, _, PrimitiveKind::Line) => 1,
            (Provoking::Last, ..) => 2,
        };
        Assembly { setup: self, assembler, kind, provoking, draw, number: 0, pieces: Vec::new() }
    }
}

/// The intersection of a scissor and the framebuffer.
fn limits(scissor: &Scissor, context: &TilerContext) -> RasterBounds {
    RasterBounds {
        min: [scissor.scissor_minimum_x, scissor.scissor_minimum_y],
        max: [
            (scissor.scissor_maximum_x + 1).min(context.fb_width),
            (scissor.scissor_maximum_y + 1).min(context.fb_height),
        ],
        samples: None,
    }
}

/// Adds a primitive that covers all pixels within the scissor, in each layer. Its depth is 0, which
/// is an assumption.
pub(crate) fn fullscreen(draw: Draw, context: &TilerContext, scissor: &Scissor, scene: &mut Scene) {
    let limits = limits(scissor, context);
    if (0..2).any(|k| limits.min[k] >= limits.max[k]) {
        return;
    }
    scene.draws.push(draw);
    for layer in 0..context.layer_count {
        scene.shapes.push(Shape {
            // It has no edges, so all pixels are inside.
            corners: [[0; 2]; 4],
            sides: 0,
            min_px: limits.min.map(|v| v as u16),
            max_px: limits.max.map(|v| v.min(u32::from(u16::MAX)) as u16),
            primitive: scene.primitives.len() as u32,
            coverage: CoverageRule::Samples,
            fill: GRID.fill_rule(),
        });
        scene.primitives.push(Primitive {
            draw: scene.draws.len() as u32 - 1,
            layer,
            number: 0,
            front: true,
            depth: [0.0; 3],
            biased: None,
            barycentrics: Barycentrics { one_over_w: [0.0, 0.0, 1.0], ..Default::default() },
            vertices: [0; 3],
            provoking: 0,
            point: None,
        });
    }
}

/// Turns a draw's vertices into primitives.
pub(crate) struct Assembly<'a> {
    setup: &'a PrimitiveSetup,
    assembler: Assembler,
    kind: PrimitiveKind,
    provoking: u8,
    draw: u32,
    /// Primitives of the instance so far.
    number: u32,
    pieces: Vec<Piece>,
}

impl Assembly<'_> {
    /// Begins an instance.
    pub fn instance(&mut self) {
        self.number = 0;
    }

    /// Adds a vertex of the instance.
    pub fn vertex(&mut self, vertex: u32, of_instance: &[ShadedVertex], scene: &mut Scene) {
        let mut made = [[0; 3]; 2];
        let mut count = 0;
        self.assembler.push(vertex, |three| {
            made[count] = three;
            count += 1;
        });
        for three in &made[..count] {
            self.primitive(three, of_instance, scene);
        }
    }

    /// Ends a strip.
    pub fn restart(&mut self, of_instance: &[ShadedVertex], scene: &mut Scene) {
        let mut last = None;
        self.assembler.restart(|three| last = Some(three));
        if let Some(three) = last {
            self.primitive(&three, of_instance, scene);
        }
    }

    fn primitive(&mut self, three: &[u32; 3], of_instance: &[ShadedVertex], scene: &mut Scene) {
        let number = self.number;
        self.number += 1;
        let setup = self.setup;
        let vertices = three.map(|v| of_instance[v as usize % of_instance.len()]);
        let layer =
            i64::from(vertices[usize::from(self.provoking)].layer) + i64::from(setup.layer_offset);
        let Ok(layer) = u32::try_from(layer) else { return };
        if layer >= setup.layers {
            return;
        }
        let clip = vertices.map(|v| {
            let [x, y, z, reciprocal] = v.position;
            let w = 1.0 / reciprocal;
            [x * w, y * w, z * w, w]
        });
        let depths = |bound: f32, sign: f32| clip.map(|p| sign * (p[2] - bound * p[3]));
        let planes = setup
            .low
            .map(|low| depths(low, 1.0))
            .into_iter()
            .chain(setup.high.map(|high| depths(high, -1.0)));
        let volume = ClipVolume { w_min: f32::MIN_POSITIVE, depth: None };
        let Some(placed) = ProjectedPrimitive::new(&GRID, &WINDOW, &volume, clip, planes) else {
            return;
        };
        let mut front = true;
        self.pieces.clear();
        match self.kind {
            PrimitiveKind::Triangle => {
                let turn = placed.turn();
                if turn == 0.0 || turn.is_nan() {
                    return;
                }
                front = (turn < 0.0) == setup.front_is_counter_clockwise;
                if if front { setup.cull_front } else { setup.cull_back } {
                    return;
                }
                placed.triangle(turn, &mut self.pieces);
            }
            PrimitiveKind::Line => placed.line([0, 1], &mut self.pieces),
            PrimitiveKind::Point => placed.point(0, &mut self.pieces),
        }
        let size_px = match self.kind {
            PrimitiveKind::Point => vertices[0].size.min(LARGEST_POINT_PX),
            _ => setup.size_px,
        };
        let first = scene.shapes.len();
        let outline = Outline {
            kind: self.kind,
            size_px,
            primitive: scene.primitives.len() as u32,
            coverage: match self.kind == PrimitiveKind::Line && setup.single_sampled_lines {
                true => CoverageRule::Centre,
                false => CoverageRule::Samples,
            },
            rectangular: !setup.single_sampled_lines,
        };
        for piece in &self.pieces {
            scene.shapes.extend(Shape::new(&GRID, piece.xy, &outline, &setup.limits));
        }
        if scene.shapes.len() == first {
            return;
        }
        let interpolation = Interpolation::with_repeated_fragments(self.kind, &placed.window);
        let depth = interpolation.depth(&placed.window);
        let biased =
            (setup.biased && self.kind == PrimitiveKind::Triangle).then(|| Box::new(placed.window));
        let point = (self.kind == PrimitiveKind::Point).then(|| {
            Box::new(interpolation.point_coordinates(&GRID, placed.window[0], size_px, true))
        });
        scene.primitives.push(Primitive {
            draw: self.draw,
            layer,
            number,
            front,
            depth,
            biased,
            barycentrics: Barycentrics {
                one_over_w: interpolation.one_over_w(),
                over_w: [
                    interpolation.over_w([0.0, 1.0, 0.0]),
                    interpolation.over_w([0.0, 0.0, 1.0]),
                ],
            },
            vertices: vertices.map(|v| v.varyings),
            provoking: self.provoking,
            point,
        });
    }
}
