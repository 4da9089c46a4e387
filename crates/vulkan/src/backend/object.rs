//! Descriptions of images, views, samplers, descriptors, shaders and query pools.

use std::sync::Arc;

use tepui_format::Format;
use tepui_ir::Shader;
use vulkanalia_sys as vk;

use super::Backend;
use crate::cache::Programs;
use crate::descriptor::SetLayout;
use crate::key::{Key, structures};
use crate::pipeline::STAGES;
use crate::state::GraphicsState;

/// Planes of an image: at most three of a Y′CbCr format, or depth and stencil.
pub const MAX_PLANES: usize = 3;

/// GPU addresses of an image's planes; they differ from a common base only when planes are bound one by one.
pub type Addresses = [u64; MAX_PLANES];

/// Maximum number of formats in [`ViewFormats::Listed`].
pub const MAX_VIEW_FORMATS: usize = 8;

/// Formats that views of an image may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewFormats {
    /// The image's own.
    Own,
    /// A list of formats, which may lack the image's own.
    Listed([Option<Format>; MAX_VIEW_FORMATS]),
    /// Any that is compatible with the image's.
    Any,
}

/// An image to lay out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageInfo {
    /// 1D, 2D or 3D.
    pub image_type: vk::ImageType,
    /// Format.
    pub format: Format,
    /// Size of level 0 in pixels.
    pub extent: [u32; 3],
    /// Mip levels.
    pub levels: u32,
    /// Array layers.
    pub layers: u32,
    /// Samples of a pixel.
    pub samples: u32,
    /// Usage.
    pub usage: vk::ImageUsageFlags,
    /// Creation flags.
    pub flags: vk::ImageCreateFlags,
    /// Formats of views.
    pub views: ViewFormats,
    /// Consecutive rows of pixels.
    pub linear: bool,
    /// The DRM format modifier of the layout, for images that have one.
    pub modifier: Option<u64>,
    /// Layouts of the planes that the application gives with a modifier; the driver's choice when `None`.
    pub explicit: Option<ExplicitPlanes>,
}

/// Layouts of an image's planes in memory that something else has laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplicitPlanes {
    /// Number of planes.
    pub count: u32,
    /// One for each.
    pub planes: [ExplicitPlane; MAX_PLANES],
}

/// Layout of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExplicitPlane {
    /// First byte in the memory that is bound.
    pub offset: u64,
    /// Bytes from row to row; layouts that have no rows ignore them.
    pub row_pitch: u64,
    /// Bytes from layer to layer, for arrays.
    pub array_pitch: u64,
    /// Bytes from slice to slice, for 3D images.
    pub depth_pitch: u64,
}

/// Location of a level of a layer in an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subresource {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes from row to row.
    pub row_pitch: u64,
    /// Bytes from layer to layer.
    pub array_pitch: u64,
    /// Bytes from slice to slice.
    pub depth_pitch: u64,
}

/// Location of a plane in an image's memory, and its memory requirements when it is bound separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneMemory {
    /// First byte in the image's memory.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub alignment: u64,
}

/// An image view to describe.
pub struct ViewInfo<'a, B: Backend> {
    /// Layout of the image.
    pub image: &'a B::Image,
    /// Description of the image.
    pub image_info: &'a ImageInfo,
    /// GPU addresses of the image's planes.
    pub addresses: Addresses,
    /// The address range of a sparse image.
    pub sparse: Option<&'a B::Range>,
    /// Shape that shaders see.
    pub view_type: vk::ImageViewType,
    /// Format that shaders see.
    pub format: Format,
    /// Sources of the four components.
    pub swizzle: [vk::ComponentSwizzle; 4],
    /// Levels and layers; counts are resolved.
    pub range: vk::ImageSubresourceRange,
    /// Usage of the view.
    pub usage: vk::ImageUsageFlags,
    /// Smallest level of detail that is sampled.
    pub min_lod: f32,
}

/// A sampler to describe.
#[derive(Clone, Copy, Debug)]
pub struct SamplerInfo {
    /// Core state.
    pub core: vk::SamplerCreateInfo,
    /// Custom border colour as bits, in the order in which views give components.
    pub border: Option<[u32; 4]>,
    /// The format of the views that the custom border colour is for, if it is known.
    pub border_format: Option<Format>,
    /// The colour of `FLOAT_OPAQUE_BLACK`, if the sampler has it and shaders are made for samplers with custom border colours: families may
    /// treat it as one.
    pub opaque_black: Option<[u32; 4]>,
    /// Reduction of filtered texels.
    pub reduction: vk::SamplerReductionMode,
}

structures! {
    SamplerInfo { core, border, border_format, opaque_black, reduction }
}

/// Contents of a descriptor.
pub enum Descriptor<'a, B: Backend> {
    /// Null descriptor: reads give zeros.
    Null,
    /// A range of memory.
    Buffer {
        /// GPU address.
        address: u64,
        /// Bytes.
        size: u64,
    },
    /// A texel buffer.
    BufferView(&'a B::BufferView),
    /// An image, a sampler or both; what is absent stays as it is in memory.
    Image {
        /// The image.
        view: Option<&'a B::View>,
        /// The sampler.
        sampler: Option<&'a B::Sampler>,
    },
}

/// The size of a stage's subgroups, as its creation asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SubgroupSize {
    /// Shaders read `VkPhysicalDeviceSubgroupProperties::subgroupSize`.
    #[default]
    Constant,
    /// Shaders read the size that they have, which may be any: those of SPIR-V 1.6 and later, and with
    /// `ALLOW_VARYING_SUBGROUP_SIZE`.
    Varying,
    /// This size.
    Required(u32),
}

impl Key for SubgroupSize {
    fn add_to(&self, key: &mut Vec<u8>) {
        match *self {
            SubgroupSize::Constant => 0u8.add_to(key),
            SubgroupSize::Varying => 1u8.add_to(key),
            SubgroupSize::Required(size) => (2u8, size).add_to(key),
        }
    }
}

/// A shader on its way to machine code.
pub struct ShaderInfo<'a, B: Backend> {
    /// The shader, specialised.
    pub ir: Shader,
    /// Hash of everything that the shader follows from.
    pub key: u128,
    /// Cache of compiled programs.
    pub programs: Arc<Programs>,
    /// Whether the text of machine code is kept for executable properties.
    pub captures: bool,
    /// Whether samplers may have custom border colours.
    pub custom_borders: bool,
    /// Whether samplers may have a minimum or maximum reduction.
    pub reductions: bool,
    /// Descriptors of images may be null.
    pub null_images: bool,
    /// Set layouts by number.
    pub sets: &'a [Option<Arc<SetLayout<B>>>],
    /// Out-of-bounds accesses of buffers are defined.
    pub robust: bool,
    /// The size of subgroups.
    pub subgroup_size: SubgroupSize,
    /// For shaders whose state is not known before they are linked or drawn with, which should be fast then: the state as far as it
    /// is known. They are those of pipeline libraries, of pipelines with dynamic state that makes variants, and shader objects.
    pub partial_state: Option<&'a GraphicsState>,
}

/// Shaders of a whole graphics pipeline by stage.
pub struct Stages<'a, B: Backend> {
    /// Vertex shader.
    pub vertex: Option<&'a B::Shader>,
    /// Tessellation control shader.
    pub control: Option<&'a B::Shader>,
    /// Tessellation evaluation shader.
    pub evaluation: Option<&'a B::Shader>,
    /// Geometry shader.
    pub geometry: Option<&'a B::Shader>,
    /// Fragment shader.
    pub fragment: Option<&'a B::Shader>,
    /// Stages that there are shaders of and that the hardware does not have: they are expanded.
    pub expanded: vk::ShaderStageFlags,
}

impl<'a, B: Backend> Stages<'a, B> {
    /// Shaders in the order of the pipeline, for hardware with these stages.
    pub(crate) fn new(
        all: [Option<&'a B::Shader>; STAGES.len()],
        hardware: vk::ShaderStageFlags,
    ) -> Stages<'a, B> {
        let there = STAGES.iter().zip(&all).filter(|(_, shader)| shader.is_some());
        let there = there.fold(vk::ShaderStageFlags::empty(), |all, (&stage, _)| all | stage);
        let [vertex, control, evaluation, geometry, fragment] = all;
        let expanded = there.difference(hardware);
        Stages { vertex, control, evaluation, geometry, fragment, expanded }
    }
}

/// A query's kind and place.
#[derive(Clone, Copy, Debug)]
pub struct QueryInfo {
    /// Kind.
    pub kind: vk::QueryType,
    /// Queries.
    pub count: u32,
    /// Counters of pipeline statistics.
    pub statistics: vk::QueryPipelineStatisticFlags,
}

/// Pages and small levels of a sparse image.
#[derive(Clone, Copy, Debug)]
pub struct SparseLayout {
    /// Width and height of a page in pixels.
    pub page_px: [u32; 2],
    /// Bytes of a page.
    pub page_size: u64,
    /// The first level that is smaller than a block; as many as there are levels when none is.
    pub tail_level: u32,
    /// Bytes of that level and those after it in each layer.
    pub tail_size: u64,
}

/// Maximum number of values of a query: all pipeline statistics but those of mesh shaders.
pub const MAX_QUERY_VALUES: usize = 11;

impl QueryInfo {
    /// Values of a query.
    pub fn values(&self) -> usize {
        match self.kind {
            // Primitives that were written, and those that would have been.
            vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => 2,
            vk::QueryType::PIPELINE_STATISTICS => self.statistics.bits().count_ones() as usize,
            _ => 1,
        }
    }
}
