//! The fixed-function state of a graphics pipeline.

use ash::vk;

/// Fixed-function state of a pipeline. The default draws filled triangles over one attachment of
/// [`vk::Format::R8G8B8A8_UNORM`] without any test.
#[derive(Clone)]
#[expect(missing_docs, reason = "the names are Vulkan's")]
pub struct State {
    pub bindings: Vec<vk::VertexInputBindingDescription>,
    pub attributes: Vec<vk::VertexInputAttributeDescription>,
    /// Divisors of instanced bindings: binding and divisor.
    pub divisors: Vec<vk::VertexInputBindingDivisorDescriptionKHR>,
    /// Attributes past the end of their buffers read zeros, whatever the device does.
    pub robust_inputs: bool,
    pub topology: vk::PrimitiveTopology,
    pub restart: bool,
    pub patch_points: u32,
    pub viewports: Vec<vk::Viewport>,
    pub scissors: Vec<vk::Rect2D>,
    pub polygon_mode: vk::PolygonMode,
    pub cull: vk::CullModeFlags,
    pub front_face: vk::FrontFace,
    pub provoking_last: bool,
    /// The stream of a geometry shader that is rasterised.
    pub rasterization_stream: u32,
    pub line_width: f32,
    pub line_mode: Option<vk::LineRasterizationModeKHR>,
    pub discard: bool,
    pub depth_clamp: bool,
    /// Smallest and largest depth where it is clamped; the viewport's if there are none. It is never dynamic.
    pub clamp_range: Option<[f32; 2]>,
    pub depth_clip: Option<bool>,
    pub negative_one_to_one: bool,
    /// Constant factor, clamp, slope factor.
    pub depth_bias: Option<[f32; 3]>,
    /// Its constant part counts exact steps of fixed point.
    pub bias_of_unorm: bool,
    pub samples: vk::SampleCountFlags,
    pub sample_shading: Option<f32>,
    /// Pixels of a fragment, on a device with shading rates.
    pub fragment_px: Option<[u32; 2]>,
    pub sample_mask: u32,
    /// Places of samples in a pixel; the standard ones if there are none.
    pub sample_places: Vec<[f32; 2]>,
    pub alpha_to_coverage: bool,
    pub alpha_to_one: bool,
    /// Comparison, and whether depth is written.
    pub depth: Option<(vk::CompareOp, bool)>,
    /// Front and back.
    pub stencil: Option<[vk::StencilOpState; 2]>,
    /// One for each colour attachment; attachments beyond are written without blending.
    pub blend: Vec<vk::PipelineColorBlendAttachmentState>,
    /// Advanced blend operations: source and destination are premultiplied, and how their coverage overlaps.
    pub advanced: Option<(bool, bool, vk::BlendOverlapEXT)>,
    pub blend_constants: [f32; 4],
    pub logic_op: Option<vk::LogicOp>,
    pub colors: Vec<vk::Format>,
    /// The shader's location that each colour attachment takes; empty: each its own.
    pub locations: Vec<u32>,
    pub depth_format: vk::Format,
    pub stencil_format: vk::Format,
    pub view_mask: u32,
    pub push_bytes: u32,
    pub flags: vk::PipelineCreateFlags,
    /// Aspects of attachments that programs sample, set when the pipeline is bound.
    pub loops: Option<vk::ImageAspectFlags>,
    /// The subpass that the pipeline draws in; without, it draws in a dynamic rendering.
    pub subpass: Option<(vk::RenderPass, u32)>,
}

impl State {
    /// The default, with a viewport and a scissor of this size.
    pub fn new(size_px: [u32; 2]) -> State {
        let [width, height] = size_px;
        State {
            bindings: Vec::new(),
            attributes: Vec::new(),
            divisors: Vec::new(),
            robust_inputs: false,
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            restart: false,
            patch_points: 0,
            viewports: vec![vk::Viewport {
                x: 0.0,
                y: 0.0,
                width: width as f32,
                height: height as f32,
                min_depth: 0.0,
                max_depth: 1.0,
            }],
            scissors: vec![vk::Rect2D {
                offset: vk::Offset2D::default(),
                extent: vk::Extent2D { width, height },
            }],
            polygon_mode: vk::PolygonMode::FILL,
            cull: vk::CullModeFlags::NONE,
            front_face: vk::FrontFace::COUNTER_CLOCKWISE,
            provoking_last: false,
            rasterization_stream: 0,
            line_width: 1.0,
            line_mode: None,
            discard: false,
            depth_clamp: false,
            clamp_range: None,
            depth_clip: None,
            negative_one_to_one: false,
            depth_bias: None,
            bias_of_unorm: false,
            samples: vk::SampleCountFlags::TYPE_1,
            sample_shading: None,
            fragment_px: None,
            sample_mask: u32::MAX,
            sample_places: Vec::new(),
            alpha_to_coverage: false,
            alpha_to_one: false,
            depth: None,
            stencil: None,
            blend: Vec::new(),
            advanced: None,
            blend_constants: [0.0; 4],
            logic_op: None,
            colors: vec![vk::Format::R8G8B8A8_UNORM],
            locations: Vec::new(),
            depth_format: vk::Format::UNDEFINED,
            stencil_format: vk::Format::UNDEFINED,
            view_mask: 0,
            push_bytes: 0,
            flags: vk::PipelineCreateFlags::empty(),
            loops: None,
            subpass: None,
        }
    }

    /// Adds a vertex buffer of tightly packed attributes: their formats with sizes in bytes.
    /// Locations continue after the existing ones.
    pub fn vertex_buffer(
        mut self,
        rate: vk::VertexInputRate,
        attributes: &[(vk::Format, u32)],
    ) -> State {
        let binding = self.bindings.len() as u32;
        let mut offset = 0;
        for &(format, size) in attributes {
            self.attributes.push(vk::VertexInputAttributeDescription {
                location: self.attributes.len() as u32,
                binding,
                format,
                offset,
            });
            offset += size;
        }
        self.bindings.push(vk::VertexInputBindingDescription {
            binding,
            stride: offset,
            input_rate: rate,
        });
        self
    }
}
