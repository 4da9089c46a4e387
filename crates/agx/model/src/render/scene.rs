//! Scenes: the output of the geometry half of a render command and the input of its pixel half. A
//! scene has primitives in API order, each with its state, as the parameter buffer of the hardware
//! has.

use tepui_agx_packets::ppp;
pub use tepui_raster::PrimitiveKind;
use tepui_raster::{FillRule, Grid, Shape};

use tepui_softgpu::buffer_pool::{Buffers, bytes_of};

/// The hardware's grid of window positions: 8 sub-pixel bits, a guard band of ±32768 pixels.
pub const GRID: Grid = Grid::new(8, 32768, FillRule::TopLeft);

/// The primitives of a render command.
#[derive(Clone, Default)]
pub struct Scene {
    /// States, in the order in which draws first used them.
    pub states: Vec<State>,
    /// Draws in order: the first primitive of each, and its number in the render command.
    pub draws: Vec<(u32, u32)>,
    /// Vertex outputs as the vertex programs left them, in words.
    pub outputs: Vec<u32>,
    /// Primitives that survived culling and clipping, in order.
    pub primitives: Vec<Primitive>,
    /// Clipped primitives in order: each has one shape or more.
    pub shapes: Vec<Shape>,
    /// Earlier scenes of the same render command were drawn: tiles start with the partial-render
    /// background program instead of the background program.
    pub continued: bool,
    /// Later scenes of the same render command follow, because the parameter memory is full: tiles
    /// end with the partial-render program instead of the end-of-tile program.
    pub unfinished: bool,
}

impl Buffers for Scene {
    fn clear(&mut self) {
        let Scene { states, draws, outputs, primitives, shapes, continued, unfinished } = self;
        states.clear();
        draws.clear();
        outputs.clear();
        primitives.clear();
        shapes.clear();
        (*continued, *unfinished) = (false, false);
    }

    fn bytes(&self) -> usize {
        bytes_of(&self.outputs) + bytes_of(&self.primitives) + bytes_of(&self.shapes)
    }
}

impl Scene {
    /// A word of the vertex outputs; zero beyond the last.
    pub fn output(&self, word: u32) -> u32 {
        self.outputs.get(word as usize).copied().unwrap_or(0)
    }

    /// The number of a primitive's draw in the render command.
    pub fn draw_of(&self, primitive: u32) -> u32 {
        let behind = self.draws.partition_point(|&(first, _)| first <= primitive);
        behind.checked_sub(1).map_or(0, |last| self.draws[last].1)
    }
}

/// State that primitives share: the PPP's words at the time of the draw, and the arrays that they
/// point to.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Number of the draw in the render command, for reports.
    pub draw: u32,
    /// Visibility test, scissor, bias and stencil enables, pass type.
    pub control: ppp::FragmentControl,
    /// Further control, see `ppp`.
    pub control2: ppp::FragmentControl,
    /// Depth test, polygon mode, stencil reference; front, back.
    pub face: [ppp::FragmentFace; 2],
    /// Depth test and write of the fragment program, object type; front, back.
    pub face2: [ppp::FragmentFace2; 2],
    /// Stencil test; front, back.
    pub stencil: [ppp::FragmentStencil; 2],
    /// Slot of the occlusion result.
    pub occlusion: ppp::FragmentOcclusionQuery,
    /// The scissor rectangle of each viewport: its entry of the scissor array, intersected with its
    /// region clip; the region clip alone without the scissor test.
    pub scissors: Vec<Scissor>,
    /// Entry of the depth bias array.
    pub depth_bias: tepui_agx_packets::render::DepthBias,
    /// Clip of the first viewport, in units of 32 × 32 pixels; `scissors` has it already.
    pub region: ppp::RegionClip,
    /// Culling, flat shading vertex, depth clip and clamp.
    pub cull: ppp::Cull,
    /// Further culling: primitive id.
    pub cull2: ppp::Cull2,
    /// Remapping of vertex outputs.
    pub output_select: ppp::OutputSelect,
    /// Varyings of 32 bits by kind, in the order of the vertex outputs.
    pub varyings_32: ppp::VaryingCounts,
    /// Varyings of 16 bits, likewise.
    pub varyings_16: ppp::VaryingCounts,
    /// Sizes of the fragment program's register files.
    pub shader: ppp::FragmentShaderWord0,
    /// USC address of the fragment program's pipeline; 0 for none.
    pub pipeline: u64,
    /// USC address of the coefficient register bindings.
    pub bindings: u64,
}

/// One entry of the scissor array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scissor {
    /// First column and row.
    pub min_px: [u32; 2],
    /// One past the last column and row.
    pub max_px: [u32; 2],
    /// Depth range.
    pub depth: [f32; 2],
}

/// One primitive.
#[derive(Clone, Copy, Debug)]
pub struct Primitive {
    /// Its kind.
    pub kind: PrimitiveKind,
    /// Faces the viewer with its front; lines and points that are no part of a triangle do.
    pub front: bool,
    /// Index in [`Scene::states`].
    pub state: u32,
    /// For each vertex, in the order in which the API names them: first word of its outputs in
    /// [`Scene::outputs`].
    pub vertices: [u32; 3],
    /// Its window position before clipping, as homogeneous coordinates: window x · w, window y · w,
    /// window z · w and w. Interpolation is set up from these, so that clipping changes no varying.
    pub positions: [[f32; 4]; 3],
    /// Number of the provoking vertex, which flat varyings take, among the three.
    pub provoking: u8,
    /// Index of the viewport and scissor.
    pub viewport: u8,
    /// Layer of the render target.
    pub layer: u16,
    /// Number in the draw's instance.
    pub primitive_id: u32,
    /// Diameter of a point or width of a line, in pixels.
    pub size_px: f32,
}
