//! State of draws: packets as functions of the pipeline, of dynamic state and of the rendering.
//!
//! Each rule of [`RULES`] makes the bytes of one or more packets and names the state that they depend on. An encoder makes those
//! whose state changed and emits what differs from what it emitted last, so that equal state costs nothing.
//!
//! - [`vertex`]: fetch; [`stages`]: stages before the rasteriser, the URB; [`feedback`]: stream output; [`raster`]: clipping, setup, viewports; [`pixel`]: fragment shader, samples;
//!   [`output`]: depth, stencil and blending

pub mod feedback;
pub mod output;
pub mod pixel;
pub mod raster;
pub mod stages;
pub mod vertex;

use std::sync::LazyLock;

use bitflags::bitflags;
use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::{
    DomainInfo, FragmentInfo, GeometryInfo, HullInfo, Tessellator, VertexInfo, VertexOutputs,
};
use tepui_intel_compiler::vue::Setup;
use tepui_ir::Capture;
use tepui_vulkan::Result;
use tepui_vulkan::command::VertexBuffer;
use tepui_vulkan::feedback::{FeedbackBuffer, MAX_FEEDBACK};
use tepui_vulkan::state::{GraphicsState, Groups};
use tepui_vulkan::vk;

use crate::packets::Out;
use crate::packets::STAGES;
use crate::variant::Variant;

bitflags! {
    /// Causes besides groups of dynamic state why packets change.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Causes: u8 {
        /// Other shaders.
        const SHADERS = 1;
        /// Another rendering.
        const RENDERING = 2;
        /// Another size of indices.
        const INDEX = 4;
        /// Other vertex buffers.
        const BUFFERS = 8;
        /// Transform feedback begins or ends.
        const FEEDBACK = 16;
    }
}

/// Inputs of packets.
pub struct Context<'a> {
    /// Generation.
    pub generation: Generation,
    /// Graphics state.
    pub state: &'a GraphicsState,
    /// The vertex program.
    pub vertex: &'a Variant,
    /// Its properties.
    pub vertex_info: &'a VertexInfo,
    /// The hull program and its properties.
    pub hull: Option<(&'a Variant, &'a HullInfo)>,
    /// The domain program and its properties.
    pub domain: Option<(&'a Variant, &'a DomainInfo)>,
    /// The geometry program and its properties.
    pub geometry: Option<(&'a Variant, &'a GeometryInfo)>,
    /// The tessellator ([`crate::programs::Programs::tessellator`]).
    pub tessellator: Option<[Tessellator; 2]>,
    /// Outputs of the last stage before the rasteriser.
    pub outputs: &'a VertexOutputs,
    /// The fragment program and its properties.
    pub fragment: Option<(&'a Variant, &'a FragmentInfo)>,
    /// Sources of the fragment's attributes.
    pub setup: &'a Setup,
    /// Address and logarithm of the KiB of scratch memory of each stage.
    pub scratch: [(u64, u32); STAGES.len()],
    /// Pixels that are rendered.
    pub area: vk::Rect2D,
    /// Colour attachments that there are, a bit each.
    pub colours: u8,
    /// There is a depth attachment, and a stencil attachment.
    pub depth: bool,
    /// The depth attachment has floats.
    pub float_depth: bool,
    /// There is a stencil attachment.
    pub stencil: bool,
    /// Bytes of an index; 0 for draws without indices.
    pub index_bytes: u32,
    /// Vertex buffers that attributes read, a bit each.
    pub read_buffers: u32,
    /// Vertex buffers.
    pub buffers: &'a [VertexBuffer; tepui_vulkan::state::MAX_VERTEX],
    /// Outputs of the last stage before the rasteriser that are captured.
    pub captures: &'a [Capture],
    /// Buffers that they are captured into, while they are.
    pub feedback: Option<&'a [FeedbackBuffer; MAX_FEEDBACK]>,
    /// Statistics count the draw. Draws of the driver's own have other shaders, so that packets change with these.
    pub statistics: bool,
}

/// A function that appends packets.
pub type Make = fn(&Context<'_>, &mut Out) -> Result<()>;

/// Kind of a rule.
pub enum Kind {
    /// Packets in the batch.
    Packets(Make),
    /// State in memory with an alignment, and the packet with its offset from the base of dynamic state.
    State {
        /// The state.
        make: Make,
        /// Alignment.
        align: u64,
        /// The packet that points to it.
        point: fn(u64, &mut Out) -> Result<()>,
    },
}

/// A rule.
pub struct Rule {
    /// Name, for messages.
    pub name: &'static str,
    /// Groups of state that change it.
    pub groups: Groups,
    /// Other causes that do.
    pub causes: Causes,
    /// The packets that it makes.
    pub kind: Kind,
    /// Effect of emitting them.
    pub effect: Effect,
}

impl Rule {
    const fn with(self, effect: Effect) -> Rule {
        Rule { effect, ..self }
    }
}

/// Effect of a rule's packets on other state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None.
    Nothing,
    /// Constants are to be set again before the next primitive.
    DropsConstants,
    /// The packet is the hull stage's, which Gen12 needs again before each primitive.
    Hull,
    /// The state is the colour calculator's, which changes of the pipeline take away.
    ColourCalculator,
    /// Operations on hierarchical depth overwrite it.
    DepthOperation,
}

const fn packets(name: &'static str, groups: Groups, causes: Causes, make: Make) -> Rule {
    Rule { name, groups, causes, kind: Kind::Packets(make), effect: Effect::Nothing }
}

const fn state(
    name: &'static str,
    groups: Groups,
    causes: Causes,
    (make, align): (Make, u64),
    point: fn(u64, &mut Out) -> Result<()>,
) -> Rule {
    let kind = Kind::State { make, align, point };
    Rule { name, groups, causes, kind, effect: Effect::Nothing }
}

/// Rules as bits, by group of state and by other cause.
struct RulesOf {
    groups: [u32; 64],
    causes: [u32; 8],
}

static RULES_OF: LazyLock<RulesOf> = LazyLock::new(|| {
    let all = |depends: &dyn Fn(&Rule) -> bool| {
        let bits = RULES.iter().enumerate();
        bits.fold(0, |all, (k, rule)| all | u32::from(depends(rule)) << k)
    };
    RulesOf {
        groups: std::array::from_fn(|k| all(&|r: &Rule| r.groups.bits() >> k & 1 != 0)),
        causes: std::array::from_fn(|k| all(&|r: &Rule| r.causes.bits() >> k & 1 != 0)),
    }
});

/// The rules whose packets may change with groups of state and other causes: a bit each, in the order of [`RULES`].
pub fn rules_of(groups: Groups, causes: Causes) -> u32 {
    let mut all = 0;
    for_each_bit(groups.bits(), |k| all |= RULES_OF.groups[k]);
    for_each_bit(causes.bits().into(), |k| all |= RULES_OF.causes[k]);
    all
}

/// Calls a function with the number of each bit that is set.
pub fn for_each_bit(mut bits: u64, mut f: impl FnMut(usize)) {
    while bits != 0 {
        f(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// The union of groups of state.
const fn any(list: &[Groups]) -> Groups {
    let (mut all, mut k) = (Groups::empty(), 0);
    while k < list.len() {
        all = all.union(list[k]);
        k += 1;
    }
    all
}

const SHADERS: Causes = Causes::SHADERS;
const RENDERING: Causes = Causes::RENDERING;
const BOTH: Causes = SHADERS.union(RENDERING);
const NONE: Causes = Causes::empty();

/// The rules, in the order in which packets are emitted.
///
/// source: Mesa, genX_gfx_state.c, which says for each packet what it depends on
pub static RULES: &[Rule] = &[
    packets("urb", Groups::empty(), SHADERS, stages::urb).with(Effect::DropsConstants),
    packets("vf", Groups::RESTART, Causes::INDEX, vertex::restart),
    packets("topology", any(&[Groups::TOPOLOGY, Groups::PATCH]), NONE, vertex::topology),
    packets("elements", Groups::VERTEX_ATTRIBUTES, SHADERS, vertex::elements),
    packets(
        "buffers",
        any(&[Groups::VERTEX_ATTRIBUTES, Groups::VERTEX_STRIDES]),
        Causes::BUFFERS,
        vertex::buffers,
    ),
    packets("vertex stage", Groups::empty(), SHADERS, stages::vertex),
    packets("hull stage", Groups::PATCH, SHADERS, stages::hull).with(Effect::Hull),
    packets("domain stage", Groups::PATCH_ORIGIN, SHADERS, stages::tessellation),
    packets("geometry stage", Groups::PROVOKING, SHADERS, stages::geometry),
    packets(
        "stream output",
        any(&[Groups::DISCARD, Groups::PROVOKING, Groups::RASTERIZATION_STREAM]),
        SHADERS,
        feedback::streamout,
    ),
    // Draws of the driver's own capture nothing: they have no declarations.
    packets("stream output buffers", Groups::empty(), Causes::FEEDBACK, feedback::buffers),
    packets(
        "clip",
        any(&[
            Groups::PROVOKING,
            Groups::NEGATIVE_ONE_TO_ONE,
            Groups::VIEWPORT_COUNT,
            Groups::DISCARD,
            Groups::TOPOLOGY,
            Groups::POLYGON_MODE,
        ]),
        SHADERS,
        raster::clip,
    ),
    packets(
        "sf",
        any(&[Groups::LINE_WIDTH, Groups::PROVOKING, Groups::DEPTH_BIAS]),
        SHADERS.union(Causes::RENDERING),
        raster::sf,
    ),
    packets(
        "raster",
        any(&[
            Groups::CULL_MODE,
            Groups::FRONT_FACE,
            Groups::POLYGON_MODE,
            Groups::DEPTH_BIAS,
            Groups::DEPTH_BIAS_ENABLE,
            Groups::DEPTH_CLAMP,
            Groups::DEPTH_CLIP,
            Groups::SAMPLES,
            Groups::TOPOLOGY,
            Groups::LINE_MODE,
            Groups::LINE_WIDTH,
            Groups::CONSERVATIVE,
        ]),
        BOTH,
        raster::raster,
    ),
    packets("stipple", Groups::LINE_STIPPLE, NONE, raster::stipple),
    packets("setup", Groups::empty(), SHADERS, raster::setup),
    packets("windower", Groups::LINE_STIPPLE_ENABLE, BOTH, pixel::windower)
        .with(Effect::DepthOperation),
    packets("fragment", Groups::SAMPLES, BOTH, pixel::fragment).with(Effect::DepthOperation),
    packets("fragment outputs", Groups::FEEDBACK_LOOPS, BOTH, pixel::outputs)
        .with(Effect::DepthOperation),
    packets("samples", Groups::SAMPLES, NONE, pixel::samples).with(Effect::DepthOperation),
    state(
        "coarse pixels",
        any(&[Groups::SHADING_RATE, Groups::VIEWPORT_COUNT]),
        SHADERS,
        (pixel::coarse_pixels, 32),
        pixel::coarse_pixels_pointer,
    ),
    packets("sample mask", Groups::SAMPLE_MASK, NONE, pixel::sample_mask),
    packets(
        "sample pattern",
        any(&[Groups::SAMPLES, Groups::SAMPLE_LOCATIONS, Groups::SAMPLE_LOCATIONS_ENABLE]),
        NONE,
        pixel::sample_pattern,
    ),
    packets(
        "depth and stencil",
        any(&[
            Groups::DEPTH_TEST,
            Groups::DEPTH_WRITE,
            Groups::DEPTH_COMPARE,
            Groups::STENCIL_TEST,
            Groups::STENCIL_OP,
            Groups::STENCIL_COMPARE_MASK,
            Groups::STENCIL_WRITE_MASK,
            Groups::STENCIL_REFERENCE,
        ]),
        RENDERING,
        output::depth_stencil,
    ),
    packets(
        "depth bounds",
        any(&[Groups::DEPTH_BOUNDS, Groups::DEPTH_BOUNDS_TEST]),
        RENDERING,
        output::depth_bounds,
    ),
    packets("ps blend", BLENDING, BOTH, output::ps_blend),
    state("blend", BLENDING, BOTH, (output::blend, 64), output::blend_pointer),
    state(
        "colour calculator",
        Groups::BLEND_CONSTANTS,
        NONE,
        (output::constants, 64),
        output::constants_pointer,
    )
    .with(Effect::ColourCalculator),
    state(
        "depth viewports",
        any(&[
            Groups::VIEWPORTS,
            Groups::VIEWPORT_COUNT,
            Groups::DEPTH_CLAMP,
            Groups::DEPTH_CLAMP_RANGE,
        ]),
        NONE,
        (raster::depth_viewports, 32),
        raster::depth_viewports_pointer,
    )
    .with(Effect::DepthOperation),
    state(
        "viewports",
        any(&[Groups::VIEWPORTS, Groups::VIEWPORT_COUNT, Groups::NEGATIVE_ONE_TO_ONE]),
        RENDERING,
        (raster::viewports, 64),
        raster::viewports_pointer,
    ),
    state(
        "scissors",
        any(&[Groups::SCISSORS, Groups::SCISSOR_COUNT, Groups::VIEWPORT_COUNT]),
        RENDERING,
        (raster::scissors, 32),
        raster::scissors_pointer,
    ),
];

const BLENDING: Groups = any(&[
    Groups::BLEND_ENABLE,
    Groups::BLEND_EQUATION,
    Groups::WRITE_MASK,
    Groups::WRITE_ENABLE,
    Groups::LOGIC_OP,
    Groups::LOGIC_OP_ENABLE,
    Groups::ALPHA_TO_COVERAGE,
    Groups::ALPHA_TO_ONE,
    Groups::LOCATIONS,
    // Of it the colours that the pipeline was made without.
    Groups::FIXED,
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_what_they_depend_on() {
        assert!(RULES.len() <= 32);
        let causes = Causes::SHADERS | Causes::BUFFERS;
        let groups = Groups::BLEND_EQUATION | Groups::SCISSORS;
        let found = rules_of(groups, causes);
        for (k, rule) in RULES.iter().enumerate() {
            let depends = rule.groups.intersects(groups) || rule.causes.intersects(causes);
            assert_eq!(found >> k & 1 != 0, depends, "{}", rule.name);
        }
    }

    #[test]
    fn groups_of_state_change_packets() {
        let changes = RULES.iter().fold(Groups::empty(), |all, rule| all.union(rule.groups));
        // Fetches stay within vertex buffers always.
        let others = Groups::ROBUST_VERTEX_INPUTS;
        assert_eq!(changes, Groups::all().difference(others));
    }
}
