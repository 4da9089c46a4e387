//! Graphics state: everything that a draw depends on besides shaders, descriptors and buffers.
//!
//! A command buffer has one [`GraphicsState`]. Binding a pipeline copies what the pipeline fixes ([`Groups`]); commands set the
//! rest. A family's driver sees one structure, whoever set it.

use std::ffi::c_void;

use tepui_format::Format;
use vulkanalia_sys as vk;

use crate::chain;
use crate::key::{Key, structures};
use crate::object::slice;

/// Vertex buffers and attributes.
pub const MAX_VERTEX: usize = 32;
/// Viewports.
pub const MAX_VIEWPORTS: usize = 16;
/// Colour attachments.
pub const MAX_COLOURS: usize = 8;
/// Samples with places of the application's.
pub const MAX_SAMPLES: usize = 4;

/// Stride and step rate of a vertex buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VertexBinding {
    /// Bytes from element to element.
    pub stride: u32,
    /// Number of instances per element; 0 for all instances. `None` for per-vertex elements.
    pub per_instance: Option<u32>,
}

/// A vertex attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VertexAttribute {
    /// Vertex buffer.
    pub binding: u8,
    /// Format.
    pub format: Format,
    /// Bytes from the start of the element.
    pub offset: u32,
}

/// Parameters of advanced blend operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AdvancedBlend {
    /// The shader's colour is not premultiplied by its alpha.
    pub source_straight: bool,
    /// The attachment's colour is not premultiplied by its alpha.
    pub destination_straight: bool,
    /// Correlation of the coverage of source and destination.
    pub overlap: vk::BlendOverlapEXT,
    /// Results are clamped to 0–1, whatever the format.
    pub clamp: bool,
}

/// Blending of a colour attachment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Blend {
    /// Source factor, destination factor and operation of colours.
    pub colour: [i32; 3],
    /// Blend equation of alpha.
    pub alpha: [i32; 3],
    /// Parameters, if the operation of colours is an advanced one.
    pub advanced: AdvancedBlend,
}

/// Unit of the constant part of a depth bias: the smallest resolvable difference of the depth format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BiasUnit {
    /// Whether it is that of fixed point, for any format.
    pub unorm: bool,
    /// The number 1, for any format.
    pub one: bool,
    /// Whether it is exact, instead of up to twice as much.
    pub exact: bool,
}

impl BiasUnit {
    /// The unit that a chain of structures asks for.
    ///
    /// # Safety
    /// The chain is valid.
    pub(crate) unsafe fn of(next: *const c_void) -> BiasUnit {
        // SAFETY: as the caller says.
        let info: Option<&vk::DepthBiasRepresentationInfoEXT> =
            unsafe { chain::find(next, vk::StructureType::DEPTH_BIAS_REPRESENTATION_INFO_EXT) };
        info.map_or(BiasUnit::default(), |i| BiasUnit {
            unorm: i.depth_bias_representation
                == vk::DepthBiasRepresentationEXT::LEAST_REPRESENTABLE_VALUE_FORCE_UNORM,
            one: i.depth_bias_representation == vk::DepthBiasRepresentationEXT::FLOAT,
            exact: i.depth_bias_exact == vk::TRUE,
        })
    }
}

/// Stencil test of a face.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stencil {
    /// Operation when the stencil test fails.
    pub fail: vk::StencilOp,
    /// Operation when both tests pass.
    pub pass: vk::StencilOp,
    /// Operation when the depth test fails.
    pub depth_fail: vk::StencilOp,
    /// Comparison.
    pub compare: vk::CompareOp,
}

structures! {
    VertexAttribute { binding, format, offset }
    AdvancedBlend { source_straight, destination_straight, overlap, clamp }
    Blend { colour, alpha, advanced }
    BiasUnit { unorm, one, exact }
    Stencil { fail, pass, depth_fail, compare }
}

impl Key for Groups {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.bits().add_to(key);
    }
}

macro_rules! state {
    ($($(#[doc = $doc:expr])* $bit:literal $group:ident [$($dynamic:ident),*] { $($(#[$fdoc:meta])* $field:ident: $ty:ty = $default:expr,)* })*) => {
        bitflags::bitflags! {
            /// Groups of state: each is fixed by the pipeline or set by commands.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub struct Groups: u64 {
                $($(#[doc = $doc])* const $group = 1 << $bit;)*
            }
        }

        // No two groups have one bit.
        const _: () = {
            let mut seen = 0u64;
            $(
                assert!(seen & (1 << $bit) == 0);
                seen |= 1 << $bit;
            )*
        };

        impl Groups {
            /// The group that a dynamic state of the API makes dynamic.
            pub fn of(state: vk::DynamicState) -> Groups {
                match state {
                    $($(vk::DynamicState::$dynamic => Groups::$group,)*)*
                    vk::DynamicState::VIEWPORT_WITH_COUNT => Groups::VIEWPORTS | Groups::VIEWPORT_COUNT,
                    vk::DynamicState::SCISSOR_WITH_COUNT => Groups::SCISSORS | Groups::SCISSOR_COUNT,
                    vk::DynamicState::VERTEX_INPUT_EXT => Groups::VERTEX_ATTRIBUTES | Groups::VERTEX_STRIDES,
                    _ => Groups::empty(),
                }
            }
        }

        /// Graphics state.
        #[derive(Clone, Debug)]
        pub struct GraphicsState {
            $($($(#[$fdoc])* pub $field: $ty,)*)*
        }

        impl Default for GraphicsState {
            fn default() -> GraphicsState {
                GraphicsState { $($($field: $default,)*)* }
            }
        }

        impl Key for GraphicsState {
            fn add_to(&self, key: &mut Vec<u8>) {
                $($(self.$field.add_to(key);)*)*
            }
        }

        #[cfg(test)]
        impl crate::key::tests::Vary for GraphicsState {
            fn vary(&self) -> Vec<Self> {
                let mut all = Vec::new();
                $($(all.extend(crate::key::tests::Vary::vary(&self.$field).into_iter().map(|$field| {
                    GraphicsState { $field, ..self.clone() }
                }));)*)*
                all
            }
        }

        impl GraphicsState {
            /// Whether all of the state is that of another.
            pub fn is_same(&self, other: &GraphicsState) -> bool {
                true $($(&& self.$field == other.$field)*)*
            }

            /// Copies groups from another state; gives those that were not the same.
            pub fn update(&mut self, from: &GraphicsState, groups: Groups) -> Groups {
                let mut changed = Groups::empty();
                $(if groups.contains(Groups::$group) && (false $(|| self.$field != from.$field)*) {
                    $(self.$field.clone_from(&from.$field);)*
                    changed |= Groups::$group;
                })*
                changed
            }

            /// Copies groups from another state.
            pub fn copy(&mut self, from: &GraphicsState, groups: Groups) {
                $(if groups.contains(Groups::$group) {
                    $(self.$field.clone_from(&from.$field);)*
                })*
            }
        }
    };
}

const STENCIL: Stencil = Stencil {
    fail: vk::StencilOp::KEEP,
    pass: vk::StencilOp::KEEP,
    depth_fail: vk::StencilOp::KEEP,
    compare: vk::CompareOp::ALWAYS,
};

state! {
    /// Attributes, and which vertex buffers step with instances.
    0 VERTEX_ATTRIBUTES [] {
        /// Attributes by location.
        attributes: [Option<VertexAttribute>; MAX_VERTEX] = [None; MAX_VERTEX],
        /// Instances of an element, by vertex buffer.
        rates: [Option<u32>; MAX_VERTEX] = [None; MAX_VERTEX],
    }
    /// Robust access of vertex attributes, which the part of a pipeline with the vertex input asks for.
    50 ROBUST_VERTEX_INPUTS [] {
        /// Attributes past the end of their buffers read zeros, for shaders that were made without robust access, too.
        robust_vertex_inputs: bool = false,
    }
    /// Strides of vertex buffers.
    1 VERTEX_STRIDES [VERTEX_INPUT_BINDING_STRIDE] {
        /// Bytes from element to element, by vertex buffer.
        strides: [u32; MAX_VERTEX] = [0; MAX_VERTEX],
    }
    /// Topology.
    2 TOPOLOGY [PRIMITIVE_TOPOLOGY] {
        /// Primitive topology.
        topology: vk::PrimitiveTopology = vk::PrimitiveTopology::TRIANGLE_LIST,
    }
    /// Primitive restart.
    3 RESTART [PRIMITIVE_RESTART_ENABLE] {
        /// The largest index ends a strip.
        restart: bool = false,
    }
    /// Viewports.
    4 VIEWPORTS [VIEWPORT] {
        /// Viewports.
        viewports: [vk::Viewport; MAX_VIEWPORTS] = [vk::Viewport { x: 0.0, y: 0.0, width: 0.0, height: 0.0, min_depth: 0.0, max_depth: 1.0 }; MAX_VIEWPORTS],
    }
    /// Number of viewports.
    5 VIEWPORT_COUNT [] {
        /// Number of viewports.
        viewport_count: u32 = 1,
    }
    /// Scissors.
    6 SCISSORS [SCISSOR] {
        /// Scissors.
        scissors: [vk::Rect2D; MAX_VIEWPORTS] = [vk::Rect2D { offset: vk::Offset2D { x: 0, y: 0 }, extent: vk::Extent2D { width: 0, height: 0 } }; MAX_VIEWPORTS],
    }
    /// Number of scissors.
    7 SCISSOR_COUNT [] {
        /// Number of scissors.
        scissor_count: u32 = 1,
    }
    /// Line width.
    8 LINE_WIDTH [LINE_WIDTH] {
        /// Width of lines in pixels.
        line_width: f32 = 1.0,
    }
    /// Depth bias.
    9 DEPTH_BIAS [DEPTH_BIAS] {
        /// Constant part, clamp and slope of the depth bias.
        depth_bias: [f32; 3] = [0.0; 3],
        /// Unit of the constant part.
        depth_bias_unit: BiasUnit = BiasUnit { unorm: false, one: false, exact: false },
    }
    /// Whether there is a depth bias.
    10 DEPTH_BIAS_ENABLE [DEPTH_BIAS_ENABLE] {
        /// Whether there is a depth bias.
        depth_bias_enable: bool = false,
    }
    /// Blend constants.
    11 BLEND_CONSTANTS [BLEND_CONSTANTS] {
        /// Blend constants.
        blend_constants: [f32; 4] = [0.0; 4],
    }
    /// Bounds of the depth bounds test.
    12 DEPTH_BOUNDS [DEPTH_BOUNDS] {
        /// Smallest and largest depth.
        depth_bounds: [f32; 2] = [0.0, 1.0],
    }
    /// Stencil compare masks.
    13 STENCIL_COMPARE_MASK [STENCIL_COMPARE_MASK] {
        /// Bits that are compared: front and back.
        stencil_compare_mask: [u32; 2] = [0xff; 2],
    }
    /// Stencil write masks.
    14 STENCIL_WRITE_MASK [STENCIL_WRITE_MASK] {
        /// Bits that are written: front and back.
        stencil_write_mask: [u32; 2] = [0xff; 2],
    }
    /// Stencil references.
    15 STENCIL_REFERENCE [STENCIL_REFERENCE] {
        /// References: front and back.
        stencil_reference: [u32; 2] = [0; 2],
    }
    /// Cull mode.
    16 CULL_MODE [CULL_MODE] {
        /// Faces that are dropped.
        cull_mode: vk::CullModeFlags = vk::CullModeFlags::empty(),
    }
    /// Front face.
    17 FRONT_FACE [FRONT_FACE] {
        /// Winding of front faces.
        front_face: vk::FrontFace = vk::FrontFace::COUNTER_CLOCKWISE,
    }
    /// Depth test.
    18 DEPTH_TEST [DEPTH_TEST_ENABLE] {
        /// Depth test.
        depth_test: bool = false,
    }
    /// Depth writes.
    19 DEPTH_WRITE [DEPTH_WRITE_ENABLE] {
        /// Depth is written.
        depth_write: bool = false,
    }
    /// Depth comparison.
    20 DEPTH_COMPARE [DEPTH_COMPARE_OP] {
        /// Depth comparison.
        depth_compare: vk::CompareOp = vk::CompareOp::ALWAYS,
    }
    /// Depth bounds test.
    21 DEPTH_BOUNDS_TEST [DEPTH_BOUNDS_TEST_ENABLE] {
        /// Depth bounds test.
        depth_bounds_test: bool = false,
    }
    /// Stencil test.
    22 STENCIL_TEST [STENCIL_TEST_ENABLE] {
        /// Stencil test.
        stencil_test: bool = false,
    }
    /// Stencil operations.
    23 STENCIL_OP [STENCIL_OP] {
        /// Stencil operations: front and back.
        stencil: [Stencil; 2] = [STENCIL; 2],
    }
    /// Rasteriser discard.
    24 DISCARD [RASTERIZER_DISCARD_ENABLE] {
        /// Whether rasterisation is disabled.
        discard: bool = false,
    }
    /// Polygon mode.
    25 POLYGON_MODE [POLYGON_MODE_EXT] {
        /// Polygon mode.
        polygon_mode: vk::PolygonMode = vk::PolygonMode::FILL,
    }
    /// Samples.
    26 SAMPLES [RASTERIZATION_SAMPLES_EXT] {
        /// Samples of a pixel.
        samples: u32 = 1,
    }
    /// Sample mask.
    27 SAMPLE_MASK [SAMPLE_MASK_EXT] {
        /// Samples that are drawn.
        sample_mask: u32 = u32::MAX,
    }
    /// Whether the places of samples are the application's.
    48 SAMPLE_LOCATIONS_ENABLE [SAMPLE_LOCATIONS_ENABLE_EXT] {
        /// Samples are at `sample_locations`.
        sample_locations_enable: bool = false,
    }
    /// Places of samples.
    49 SAMPLE_LOCATIONS [SAMPLE_LOCATIONS_EXT] {
        /// Places of the samples in all pixels, from the upper left corner.
        sample_locations: [[f32; 2]; MAX_SAMPLES] = [[0.5; 2]; MAX_SAMPLES],
    }
    /// Conservative rasterisation.
    53 CONSERVATIVE [CONSERVATIVE_RASTERIZATION_MODE_EXT] {
        /// Triangles cover all pixels that they touch.
        conservative: bool = false,
    }
    /// Size of fragments.
    52 SHADING_RATE [FRAGMENT_SHADING_RATE_KHR] {
        /// Width and height in pixels of the fragments that the pipeline or a command asks for.
        fragment_size: [u32; 2] = [1; 2],
    }
    /// Alpha to coverage.
    28 ALPHA_TO_COVERAGE [ALPHA_TO_COVERAGE_ENABLE_EXT] {
        /// Alpha becomes coverage.
        alpha_to_coverage: bool = false,
    }
    /// Alpha to one.
    29 ALPHA_TO_ONE [ALPHA_TO_ONE_ENABLE_EXT] {
        /// Alpha becomes one.
        alpha_to_one: bool = false,
    }
    /// Logic operation.
    30 LOGIC_OP_ENABLE [LOGIC_OP_ENABLE_EXT] {
        /// Colours are combined by a logic operation.
        logic_op_enable: bool = false,
    }
    /// Logic operation.
    31 LOGIC_OP [LOGIC_OP_EXT] {
        /// The logic operation.
        logic_op: vk::LogicOp = vk::LogicOp::COPY,
    }
    /// Blending of attachments.
    32 BLEND_ENABLE [COLOR_BLEND_ENABLE_EXT] {
        /// Attachments that blend, a bit each.
        blend_enable: u8 = 0,
    }
    /// Blend equations and advanced operations: each command replaces what the other set.
    33 BLEND_EQUATION [COLOR_BLEND_EQUATION_EXT, COLOR_BLEND_ADVANCED_EXT] {
        /// Blend equations by attachment.
        blend: [Blend; MAX_COLOURS] = [Blend::default(); MAX_COLOURS],
    }
    /// Components that are written.
    34 WRITE_MASK [COLOR_WRITE_MASK_EXT] {
        /// Components that are written, by attachment.
        write_mask: [u8; MAX_COLOURS] = [0xf; MAX_COLOURS],
    }
    /// Attachments that are written.
    35 WRITE_ENABLE [COLOR_WRITE_ENABLE_EXT] {
        /// Attachments that are written, a bit each.
        write_enable: u8 = 0xff,
    }
    /// Depth clamp.
    36 DEPTH_CLAMP [DEPTH_CLAMP_ENABLE_EXT] {
        /// Depth is clamped to the range of the viewport or to one of its own.
        depth_clamp: bool = false,
    }
    /// Range that depth is clamped to.
    51 DEPTH_CLAMP_RANGE [DEPTH_CLAMP_RANGE_EXT] {
        /// Smallest and largest depth where depth is clamped; those of the viewport when `None`.
        depth_clamp_range: Option<[f32; 2]> = None,
    }
    /// Depth clip.
    37 DEPTH_CLIP [DEPTH_CLIP_ENABLE_EXT] {
        /// Primitives are clipped in depth; as depth clamp says when `None`.
        depth_clip: Option<bool> = None,
    }
    /// Range of depth in clip space.
    38 NEGATIVE_ONE_TO_ONE [DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT] {
        /// Depth in clip space is from -w to w.
        negative_one_to_one: bool = false,
    }
    /// Provoking vertex.
    39 PROVOKING [PROVOKING_VERTEX_MODE_EXT] {
        /// The last vertex is provoking.
        provoking_last: bool = false,
    }
    /// Line rasterisation.
    40 LINE_MODE [LINE_RASTERIZATION_MODE_EXT] {
        /// Line rasterisation mode.
        line_mode: vk::LineRasterizationMode = vk::LineRasterizationMode::DEFAULT,
    }
    /// Line stipple.
    41 LINE_STIPPLE_ENABLE [LINE_STIPPLE_ENABLE_EXT] {
        /// Lines are stippled.
        stipple_enable: bool = false,
    }
    /// Pattern of the line stipple.
    42 LINE_STIPPLE [LINE_STIPPLE] {
        /// Factor and pattern of the line stipple.
        stipple: (u32, u16) = (1, 0xffff),
    }
    /// Control points of a patch.
    43 PATCH [PATCH_CONTROL_POINTS_EXT] {
        /// Control points of a patch.
        patch_points: u32 = 3,
    }
    /// Origin of the coordinates of patches.
    46 PATCH_ORIGIN [TESSELLATION_DOMAIN_ORIGIN_EXT] {
        /// The origin of the coordinates of patches is at the lower left.
        patch_lower_left: bool = false,
    }
    /// Stream that is rasterised.
    47 RASTERIZATION_STREAM [RASTERIZATION_STREAM_EXT] {
        /// The stream of a geometry shader that is rasterised.
        rasterization_stream: u8 = 0,
    }
    /// Attachments that programs read while they write them.
    54 FEEDBACK_LOOPS [ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT] {
        /// Aspects of attachments that fragments may sample while draws write them.
        feedback_loops: vk::ImageAspectFlags = vk::ImageAspectFlags::empty(),
    }
    /// State that only pipelines have.
    44 FIXED [] {
        /// Sample shading.
        sample_shading: bool = false,
        /// The smallest share of samples that are shaded.
        min_sample_shading: f32 = 0.0,
        /// Views, a bit each; 0 without multiview.
        view_mask: u32 = 0,
        /// Formats of colour attachments.
        colour_formats: [Option<Format>; MAX_COLOURS] = [None; MAX_COLOURS],
        /// Colour attachments that the pipeline was made without, a bit each: draws leave those of the rendering as they are.
        absent_colours: u8 = 0,
        /// Format of the depth attachment.
        depth_format: Option<Format> = None,
        /// Format of the stencil attachment.
        stencil_format: Option<Format> = None,
        /// Input attachments are colours of the rendering: the pipeline was made without a render pass.
        local_read: bool = false,
    }
    /// Attachments of fragment outputs.
    45 LOCATIONS [] {
        /// The fragment output that each colour attachment takes; `None` for none.
        locations: [Option<u8>; MAX_COLOURS] = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7)],
        /// The input attachment index of each colour attachment; `None` for none.
        inputs: [Option<u8>; MAX_COLOURS] = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7)],
    }
}

/// Places of samples that an application gives: one pixel's are those of all.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn sample_locations(i: &vk::SampleLocationsInfoEXT) -> [[f32; 2]; MAX_SAMPLES] {
    let mut places = [[0.5; 2]; MAX_SAMPLES];
    // SAFETY: as the caller says.
    let given = unsafe { slice(i.sample_locations, i.sample_locations_count) };
    for (to, from) in places.iter_mut().zip(given) {
        *to = [from.x, from.y];
    }
    places
}

/// Whether a mode is conservative: underestimation is not offered.
pub(crate) fn is_conservative(mode: vk::ConservativeRasterizationModeEXT) -> bool {
    mode != vk::ConservativeRasterizationModeEXT::DISABLED
}

/// Width and height of fragments that an application gives: at least a pixel.
pub(crate) fn fragment_size(e: vk::Extent2D) -> [u32; 2] {
    [e.width.max(1), e.height.max(1)]
}

/// The range of depth that an application gives, if it does.
///
/// # Safety
/// The range is null or valid.
pub(crate) unsafe fn given_clamp_range(
    mode: vk::DepthClampModeEXT,
    range: *const vk::DepthClampRangeEXT,
) -> Option<[f32; 2]> {
    // SAFETY: as the caller says.
    let range = unsafe { range.as_ref() };
    let range = range.filter(|_| mode == vk::DepthClampModeEXT::USER_DEFINED_RANGE);
    range.map(|r| [r.min_depth_clamp, r.max_depth_clamp])
}

impl GraphicsState {
    /// The range that depth is clamped to where it is clamped: smallest and largest depth of a viewport.
    pub fn clamp_range(&self, viewport: usize) -> [f32; 2] {
        let v = &self.viewports[viewport];
        self.depth_clamp_range
            .unwrap_or([v.min_depth.min(v.max_depth), v.min_depth.max(v.max_depth)])
    }

    /// The range that the depth of fragments in a viewport has: what is not clamped is in the range that each format holds.
    pub fn depth_range(&self, viewport: usize) -> [f32; 2] {
        if self.depth_clamp { self.clamp_range(viewport) } else { [0.0, 1.0] }
    }

    /// A vertex buffer's steps.
    pub fn binding(&self, n: u8) -> VertexBinding {
        let n = usize::from(n).min(MAX_VERTEX - 1);
        VertexBinding { stride: self.strides[n], per_instance: self.rates[n] }
    }
}
