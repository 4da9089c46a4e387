//! Descriptions of images, views, samplers, descriptors, query pools and sparse resources.

use std::sync::Arc;

use tepui_format::Format;
use vulkanalia_sys as vk;

use super::types::Types;
use crate::key::structures;

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
pub struct ViewInfo<'a, B: Types> {
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
pub enum Descriptor<'a, B: Types> {
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
    /// Width, height and depth of a page in pixels.
    pub page_px: [u32; 3],
    /// Bytes of a page.
    pub page_size: u64,
    /// The first level that is smaller than a block; as many as there are levels when none is.
    pub tail_level: u32,
    /// Bytes of that level and those after it in each layer, or in all of them.
    pub tail_size: u64,
    /// All layers have one tail.
    pub single_tail: bool,
}

/// A part of a resource, and the memory for it.
pub struct SparseBind<B: Types> {
    /// The resource's addresses.
    pub range: Arc<B::Range>,
    /// First byte in the range.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The memory, and where in it; nothing takes memory away.
    pub memory: Option<(Arc<B::Memory>, u64)>,
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
