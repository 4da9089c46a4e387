//! Interface of a GPU family's driver to the runtime.
//!
//! The runtime keeps objects, state and order; a [`Backend`] lays out images, writes descriptors,
//! compiles shaders and encodes commands. Its types are parts of the runtime's objects, so nothing is
//! looked up or cast at run time.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tepui_format::Format;
use tepui_ir::Shader;
use vulkanalia_sys as vk;

use crate::cache::Programs;
use crate::chain::Answers;
use crate::command::CommandState;
use crate::dependency::{Dependency, Ordering, Within};
use crate::descriptor::{DescriptorType, SetLayout};
use crate::draws::DrawMode;
use crate::error::Result;
use crate::executable::Executable;
use crate::feedback::Counters;
use crate::pipeline::STAGES;
use crate::sparse::SparseBind;
use crate::state::GraphicsState;

/// A sync object of the kernel, and a point of it; 0 for binary ones.
pub type SyncPoint = (u32, u64);

/// Planes of an image: at most three of a Y′CbCr format, or depth and stencil.
pub const MAX_PLANES: usize = 3;

/// A queue of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueId {
    /// Queue family, an index of [`PhysicalInfo::queues`].
    pub family: u32,
    /// Index in the queue family.
    pub index: u32,
}

/// Queues of one queue family that a device is created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRequest {
    /// Queue family.
    pub family: u32,
    /// Number of queues.
    pub count: u32,
    /// Priority among queues of other processes, one of [`PhysicalInfo::priorities`].
    pub priority: vk::QueueGlobalPriority,
}

/// A resource to which memory is bound, or a file descriptor that is imported as memory.
pub enum MemoryUser<'a> {
    /// A buffer with this usage.
    Buffer(vk::BufferUsageFlags2),
    /// An image.
    Image(&'a ImageInfo),
    /// A file descriptor of memory.
    File(vk::ExternalMemoryHandleTypeFlags),
}

/// GPU addresses of an image's planes; they differ from a common base only when planes are bound one by one.
pub type Addresses = [u64; MAX_PLANES];

/// Description of a physical device. A family gives what its hardware and its compiler do; the runtime adds what it does itself
/// ([`crate::offer`]).
#[derive(Clone)]
pub struct PhysicalInfo {
    /// Properties of Vulkan 1.0.
    pub properties: vk::PhysicalDeviceProperties,
    /// Features of Vulkan 1.0.
    pub features: vk::PhysicalDeviceFeatures,
    /// Properties in extension chains.
    pub property_chain: Answers,
    /// Features in extension chains.
    pub feature_chain: Answers,
    /// Device extensions: name and version. Promoted ones stay listed, as clients look for their names.
    pub extensions: Vec<(&'static str, u32)>,
    /// Heaps and types of memory.
    pub memory: vk::PhysicalDeviceMemoryProperties,
    /// Queue families.
    pub queues: Vec<vk::QueueFamilyProperties>,
    /// Priorities that a queue may have among those of other processes, from low to high; medium, which
    /// queues have by default, is one of them.
    pub priorities: &'static [vk::QueueGlobalPriority],
    /// Graphics stages that the hardware executes; the family expands the others.
    pub graphics_stages: vk::ShaderStageFlags,
    /// Kinds of memory of descriptor sets, at most [`MAX_SET_MEMORY`]; the first one is memory of the device.
    pub set_memory: &'static [SetMemory],
    /// Largest size in bytes of a memory allocation.
    pub max_memory_bytes: u64,
}

/// Maximum number of kinds of memory of descriptor sets.
pub const MAX_SET_MEMORY: usize = 3;

/// One value for each kind of memory of descriptor sets; those of kinds that the physical device does not have are unused.
pub type PerSetMemory<T> = [T; MAX_SET_MEMORY];

/// A kind of memory of descriptor sets. Hardware that addresses surfaces and samplers in windows of their own has one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetMemory {
    /// Memory that the GPU reads. Inline blocks are in the first kind.
    Device {
        /// Memory type.
        memory_type: u32,
    },
    /// A table of the host, which the family reads when it encodes draws.
    Host,
}

/// Features of a format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatFeatures {
    /// Linear images.
    pub linear: vk::FormatFeatureFlags2,
    /// Images whose layout the driver chooses.
    pub optimal: vk::FormatFeatureFlags2,
    /// Buffers.
    pub buffer: vk::FormatFeatureFlags2,
    /// Counts of samples that attachments may have.
    pub samples: vk::SampleCountFlags,
}

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
    /// The colour of `FLOAT_OPAQUE_BLACK`, if the sampler has it and shaders are made for samplers with custom border colours: families may
    /// treat it as one.
    pub opaque_black: Option<[u32; 4]>,
    /// Reduction of filtered texels.
    pub reduction: vk::SamplerReductionMode,
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

/// The counts of a draw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Vertices or indices.
    pub count: u32,
    /// Instances.
    pub instances: u32,
    /// First vertex or index.
    pub first: u32,
    /// Number that is added to indices.
    pub vertex_offset: i32,
    /// First instance.
    pub first_instance: u32,
    /// Indices come from the index buffer.
    pub indexed: bool,
    /// Number of the draw in a multi-draw.
    pub draw_index: u32,
}

impl Counts {
    /// Number that is added to vertex numbers.
    pub fn base_vertex(&self) -> u32 {
        if self.indexed { self.vertex_offset as u32 } else { self.first }
    }
}

/// A draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Counts are known.
    Direct(Counts),
    /// Counts are in memory.
    Indirect {
        /// GPU address of the first draw's parameters.
        address: u64,
        /// Maximum number of draws.
        count: u32,
        /// Bytes from draw to draw.
        stride: u32,
        /// GPU address of the number of draws.
        count_address: Option<u64>,
        /// Indices come from the index buffer.
        indexed: bool,
        /// Number of the first draw in a multi-draw.
        draw_index: u32,
    },
}

impl Draw {
    /// Whether indices come from the index buffer.
    pub fn is_indexed(&self) -> bool {
        match self {
            Draw::Direct(Counts { indexed, .. }) | Draw::Indirect { indexed, .. } => *indexed,
        }
    }
}

/// Condition of draws and dispatches: a 32-bit word in memory that decides when they execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// GPU address of the word.
    pub address: u64,
    /// Whether they execute if the word is zero, rather than if it is not.
    pub inverted: bool,
}

/// Size of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// First workgroup and workgroups in each direction.
    Direct([u32; 3], [u32; 3]),
    /// First workgroup, and the GPU address of the workgroups in each direction.
    Indirect([u32; 3], u64),
}

/// One attachment of a rendering.
pub struct Attachment<B: Backend> {
    /// Image.
    pub image: Arc<ImageRef<B>>,
    /// Load operation.
    pub load: vk::AttachmentLoadOp,
    /// Store operation.
    pub store: vk::AttachmentStoreOp,
    /// The clear value, as four words; for depth the first, for stencil the second.
    pub clear: [u32; 4],
    /// The image that samples are resolved to, and the resolve mode.
    pub resolve: Option<(Arc<ImageRef<B>>, vk::ResolveModeFlags)>,
}

impl<B: Backend> Clone for Attachment<B> {
    fn clone(&self) -> Self {
        Attachment {
            image: self.image.clone(),
            load: self.load,
            store: self.store,
            clear: self.clear,
            resolve: self.resolve.clone(),
        }
    }
}

/// A level and a range of layers of an image, in a format.
pub struct ImageRef<B: Backend> {
    /// Layout of the image.
    pub image: Arc<B::Image>,
    /// Description of the image.
    pub info: ImageInfo,
    /// GPU addresses of the image's planes.
    pub addresses: Addresses,
    /// Plane.
    pub plane: usize,
    /// Format of the view.
    pub format: Format,
    /// Level.
    pub level: u32,
    /// First layer, or first slice of a 3D image.
    pub layer: u32,
    /// Layers.
    pub layers: u32,
}

impl<B: Backend> ImageRef<B> {
    /// Width and height of the plane's level in pixels.
    pub fn extent(&self) -> [u32; 2] {
        let divisors = match self.info.format.info().planes().get(self.plane) {
            Some(p) => [p.width_divisor, p.height_divisor],
            None => [1, 1],
        };
        [0, 1].map(|k| (self.info.extent[k].div_ceil(divisors[k]) >> self.level).max(1))
    }
}

impl<B: Backend> Clone for Rendering<B> {
    fn clone(&self) -> Self {
        Rendering {
            area: self.area,
            layers: self.layers,
            view_mask: self.view_mask,
            colours: self.colours.clone(),
            depth: self.depth.clone(),
            stencil: self.stencil.clone(),
            samples: self.samples,
        }
    }
}

/// A rendering: what draws go to.
pub struct Rendering<B: Backend> {
    /// Pixels that are rendered.
    pub area: vk::Rect2D,
    /// Layers.
    pub layers: u32,
    /// Views, a bit each; 0 without multiview.
    pub view_mask: u32,
    /// Colour attachments by location.
    pub colours: Vec<Option<Attachment<B>>>,
    /// Depth attachment.
    pub depth: Option<Attachment<B>>,
    /// Stencil attachment.
    pub stencil: Option<Attachment<B>>,
    /// Samples of a pixel when there are no attachments.
    pub samples: u32,
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

/// A copy between an image and a buffer, or two images: pixels of one level and layer range.
pub struct ImageCopy<'a, B: Backend> {
    /// Layout, description and addresses of the image.
    pub image: (&'a B::Image, &'a ImageInfo, Addresses),
    /// Aspect, level and layers.
    pub layers: vk::ImageSubresourceLayers,
    /// First pixel.
    pub offset: [i32; 3],
}

/// Location of the pixels of an image copy in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferPixels {
    /// GPU address of the first pixel.
    pub address: u64,
    /// Bytes from row to row (of blocks).
    pub row_pitch: u64,
    /// Bytes from layer to layer or slice to slice.
    pub slice_pitch: u64,
}

/// A region of a blit: corners in both images, and layers.
pub struct Blit<'a, B: Backend> {
    /// Source image.
    pub source: (&'a B::Image, &'a ImageInfo, Addresses),
    /// Destination image.
    pub target: (&'a B::Image, &'a ImageInfo, Addresses),
    /// The region.
    pub region: vk::ImageBlit2,
    /// Linear filter.
    pub linear: bool,
}

/// The purpose of a memory allocation, for families that have a window of addresses for some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryPurpose {
    /// Buffers and images.
    #[default]
    Resources,
    /// Descriptor sets: the kind of their memory.
    Sets(usize),
}

/// Parameters of a memory allocation.
#[derive(Default)]
pub struct Allocation {
    /// Bytes.
    pub size: u64,
    /// Memory type.
    pub memory_type: u32,
    /// The memory is exported later.
    pub exportable: bool,
    /// The memory of a file descriptor is imported.
    pub import: Option<OwnedFd>,
    /// Its address.
    pub place: Place,
    /// Its purpose.
    pub purpose: MemoryPurpose,
}

/// Requested address of memory or of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Any.
    #[default]
    Any,
    /// Any that can be requested again on another device ([`Place::At`]).
    Replayable,
    /// This address, or the error `VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS`.
    At(u64),
}

impl Place {
    /// The address of an object with capture and replay: this one, unless it is 0.
    pub(crate) fn replayable(is: bool, address: u64) -> Place {
        match (is, address) {
            (false, _) => Place::Any,
            (true, 0) => Place::Replayable,
            (true, at) => Place::At(at),
        }
    }
}

/// A GPU family's driver.
///
/// Functions that answer queries take the physical device, as two of a family differ; those that make objects take the
/// device.
pub trait Backend: Sized + Send + Sync + 'static {
    /// A physical device's own data.
    type Physical: Send + Sync;
    /// A device: an open render node with an address space and queues.
    type Device: Send + Sync;
    /// Memory that the GPU and the host see.
    type Memory: Send + Sync;
    /// Addresses of a sparse resource.
    type Range: Send + Sync;
    /// Layout of an image.
    type Image: Send + Sync;
    /// Descriptors of an image view.
    type View: Send + Sync;
    /// Descriptors of a texel buffer.
    type BufferView: Send + Sync;
    /// A sampler.
    type Sampler: Send + Sync;
    /// A compiled shader with its variants.
    type Shader: Send + Sync;
    /// Memory of a query pool.
    type Queries: Send + Sync;
    /// Recorder of a command buffer.
    type Encoder: Encoder<Self> + Send;
    /// Encoding of its draws: [`Immediate`](crate::draws::Immediate) or [`Expanding`](crate::draws::Expanding).
    type Draws: DrawMode<Self>;

    /// Description of the physical device.
    fn info(physical: &Self::Physical) -> &PhysicalInfo;

    /// Features of a format.
    fn format_features(physical: &Self::Physical, format: Format) -> FormatFeatures;

    /// DRM format modifiers with which images of a format can be shared between devices, and the features of such images.
    fn modifiers(physical: &Self::Physical, format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)>;

    /// Opens a device with queues.
    fn open(physical: &Arc<Self::Physical>, queues: &[QueueRequest]) -> Result<Self::Device>;

    /// Fails with `ERROR_DEVICE_LOST` once the GPU or the kernel has given the device up.
    fn check(device: &Self::Device) -> Result<()>;

    /// The render node of a device, for sync objects.
    fn node(device: &Self::Device) -> &tepui_drm::client::RenderNode;

    /// Memory types of a resource, a bit each.
    fn memory_types(device: &Self::Device, user: &MemoryUser<'_>) -> u32;

    /// Allocates, maps and binds memory.
    fn allocate(device: &Self::Device, allocation: Allocation) -> Result<Self::Memory>;

    /// GPU address of memory.
    fn address(memory: &Self::Memory) -> u64;

    /// Host address of memory.
    fn host(memory: &Self::Memory) -> *mut u8;

    /// Maps memory once more, at an address where the application has room.
    ///
    /// # Safety
    /// Nothing that counts is at [`Backend::size`] bytes from the address on, a multiple of the page's size.
    unsafe fn map_at(memory: &Self::Memory, address: *mut u8) -> Result<()>;

    /// Bytes of memory.
    fn size(memory: &Self::Memory) -> u64;

    /// Makes the host's writes to a range of memory visible to the GPU; only called for memory that is not coherent.
    fn flush(_memory: &Self::Memory, _offset: u64, _size: u64) -> Result<()> {
        Ok(())
    }

    /// Makes the GPU's writes to a range of memory visible to the host; only called for memory that is not coherent.
    fn invalidate(_memory: &Self::Memory, _offset: u64, _size: u64) -> Result<()> {
        Ok(())
    }

    /// A file descriptor of memory.
    fn export(device: &Self::Device, memory: &Self::Memory) -> Result<OwnedFd>;

    /// Reserves an address range of `size` bytes without memory: reads give zeros, and writes are
    /// dropped. It belongs to a buffer, to an image whose memory is bound as a whole, or to `image`,
    /// whose blocks are bound separately.
    fn reserve(
        device: &Self::Device,
        size: u64,
        image: Option<&Self::Image>,
        place: Place,
    ) -> Result<Self::Range>;

    /// The first address of a range.
    fn range_address(range: &Self::Range) -> u64;

    /// Binds memory to parts of ranges, and takes it away.
    fn bind_sparse(device: &Self::Device, binds: &[SparseBind<Self>]) -> Result<()>;

    /// Layout of a sparse image's blocks.
    fn sparse_layout(image: &Self::Image) -> SparseLayout;

    /// The first byte of the page that holds a pixel of a level of a sparse image, which is none of the small ones.
    fn sparse_page(image: &Self::Image, level: u32, layer: u32, px: [u32; 2]) -> u64;

    /// The modifier of a list that suits an image best; `None` if none does. The image's own modifier
    /// is ignored.
    fn best_modifier(device: &Self::Device, info: &ImageInfo, list: &[u64]) -> Option<u64>;

    /// Lays out an image.
    fn image(device: &Self::Device, info: &ImageInfo) -> Result<Self::Image>;

    /// Bytes and alignment of an image.
    fn image_size(image: &Self::Image) -> (u64, u64);

    /// Whether images of a format can be rendered to.
    fn is_rendered(device: &Self::Device, format: Format) -> bool;

    /// The plane that holds an aspect of an image: one of the planes of a Y′CbCr format, or depth or stencil.
    fn plane(image: &Self::Image, aspect: vk::ImageAspectFlags) -> usize;

    /// Location of a plane.
    fn plane_memory(image: &Self::Image, plane: usize) -> PlaneMemory;

    /// Location of a level and layer of a plane in the plane's memory.
    fn subresource(image: &Self::Image, plane: usize, level: u32, layer: u32) -> Subresource;

    /// Copies a rectangle of a plane to or from memory on the host. `plane_host` is the plane's first byte.
    ///
    /// # Safety
    /// Both pieces of memory reach as far as the image and the rectangle do.
    unsafe fn copy_host(
        image: &Self::Image,
        plane_host: *mut u8,
        region: &crate::host::HostRegion,
        memory: *mut u8,
        row_pitch: usize,
        to_image: bool,
    ) -> Result<()>;

    /// Describes an image view.
    fn view(device: &Self::Device, info: &ViewInfo<'_, Self>) -> Result<Self::View>;

    /// Describes a texel buffer of `size` bytes.
    fn buffer_view(
        device: &Self::Device,
        format: Format,
        address: u64,
        size: u64,
    ) -> Result<Self::BufferView>;

    /// Describes a sampler.
    fn sampler(device: &Self::Device, info: &SamplerInfo) -> Result<Self::Sampler>;

    /// Bytes of a descriptor in each kind of a set's memory; multiples of its alignment.
    fn descriptor_sizes(physical: &Self::Physical, ty: DescriptorType) -> PerSetMemory<u32>;

    /// Writes a descriptor into a set's memory, which has [`Backend::descriptor_sizes`] bytes for it.
    fn write_descriptor(
        physical: &Self::Physical,
        ty: DescriptorType,
        descriptor: &Descriptor<'_, Self>,
        out: PerSetMemory<&mut [u8]>,
    );

    /// Compiles a shader.
    fn shader(device: &Self::Device, info: ShaderInfo<'_, Self>) -> Result<Self::Shader>;

    /// Makes the variants that a whole graphics pipeline is known to need. With `optimise` they are as good as the compiler can
    /// make them; without it, shaders of libraries are linked as fast as may be.
    fn link(
        device: &Self::Device,
        stages: &Stages<'_, Self>,
        state: &GraphicsState,
        optimise: bool,
    ) -> Result<()>;

    /// The programs of a shader that there are so far.
    fn executables(shader: &Self::Shader) -> Vec<Executable>;

    /// Makes a query pool.
    fn queries(device: &Self::Device, info: &QueryInfo) -> Result<Self::Queries>;

    /// Resets queries on the host.
    fn reset_queries(pool: &Self::Queries, first: u32, count: u32);

    /// Values of a query that is available, as many as it has ([`QueryInfo::values`]); `None` when it is not.
    fn query_result(pool: &Self::Queries, query: u32) -> Option<[u64; MAX_QUERY_VALUES]>;

    /// A recorder of command buffers for a queue family.
    fn encoder(device: &Arc<Self::Device>, queue_family: u32) -> Result<Self::Encoder>;

    /// Submits recorded commands to a queue: waits, runs them in order, signals.
    fn submit(
        device: &Self::Device,
        queue: QueueId,
        waits: &[SyncPoint],
        commands: &[&Self::Encoder],
        signals: &[SyncPoint],
    ) -> Result<()>;

    /// Ticks of the GPU's clock.
    fn timestamp(device: &Self::Device) -> Result<u64>;
}

/// Records commands for the GPU. The runtime calls it in the order of the API's commands; state comes along with each
/// draw and dispatch. Draws are in an extension of it for each mode ([`crate::draws`]).
pub trait Encoder<B: Backend>: Sized {
    /// Forgets what was recorded.
    fn reset(&mut self);

    /// Ends recording.
    fn finish(&mut self) -> Result<()>;

    /// Begins a rendering.
    fn begin_rendering(&mut self, rendering: &Rendering<B>) -> Result<()>;

    /// Ends the rendering. Returns the colours whose samples it has resolved already, a bit each; [`Encoder::resolve`] is called
    /// for the others.
    fn end_rendering(&mut self, rendering: &Rendering<B>) -> Result<u8>;

    /// Dispatches.
    fn dispatch(&mut self, state: &mut CommandState<B>, dispatch: &Dispatch) -> Result<()>;

    /// Orders what comes before and after, as a barrier, waiting for events or a render pass asks. Inside of a rendering the encoder
    /// may ask for a split of it; the runtime then calls this once more, between the two parts.
    fn barrier(&mut self, dependency: &Dependency<B>, within: Within) -> Result<Ordering>;

    /// Copies bytes between buffers that do not overlap.
    fn copy_buffer(&mut self, from: u64, to: u64, size: u64) -> Result<()>;

    /// A copy of arguments of an indirect command that lie in a sparse buffer; what has no memory is zeros. Gives its address.
    fn copy_arguments(&mut self, address: u64, size: u64) -> Result<u64>;

    /// Fills memory with a word.
    fn fill_buffer(&mut self, address: u64, size: u64, word: u32) -> Result<()>;

    /// Writes bytes to memory.
    fn update_buffer(&mut self, address: u64, data: &[u8]) -> Result<()>;

    /// Copies pixels between a buffer and an image.
    fn copy_buffer_image(
        &mut self,
        image: &ImageCopy<'_, B>,
        buffer: BufferPixels,
        extent: [u32; 3],
        to_image: bool,
    ) -> Result<()>;

    /// Copies pixels between images.
    fn copy_image(
        &mut self,
        from: &ImageCopy<'_, B>,
        to: &ImageCopy<'_, B>,
        extent: [u32; 3],
    ) -> Result<()>;

    /// Copies pixels with conversion and filter.
    fn blit(&mut self, blit: &Blit<'_, B>) -> Result<()>;

    /// Resolves samples of a region.
    fn resolve(
        &mut self,
        from: &ImageRef<B>,
        to: &ImageRef<B>,
        region: &vk::ImageResolve2,
        mode: vk::ResolveModeFlags,
    ) -> Result<()>;

    /// Clears rectangles of attachments inside of a rendering.
    fn clear_attachments(
        &mut self,
        state: &mut CommandState<B>,
        attachments: &[vk::ClearAttachment],
        rects: &[vk::ClearRect],
    ) -> Result<()>;

    /// Begins transform feedback at the byte offsets that counters give.
    fn begin_feedback(&mut self, counters: &Counters) -> Result<()>;

    /// Ends transform feedback and writes the counters.
    fn end_feedback(&mut self, counters: &Counters) -> Result<()>;

    /// Makes the arguments of an indirect draw of captured vertices: those between byte `start` and what a counter says.
    fn byte_count(
        &mut self,
        counter: u64,
        start: u32,
        stride: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64>;

    /// Resets queries.
    fn reset_queries(&mut self, pool: &B::Queries, first: u32, count: u32) -> Result<()>;

    /// Begins a query of occlusion, of captured primitives, or of statistics.
    fn begin_query(
        &mut self,
        pool: &B::Queries,
        query: u32,
        precise: bool,
        stream: u8,
    ) -> Result<()>;

    /// Ends a query.
    fn end_query(&mut self, pool: &B::Queries, query: u32, stream: u8) -> Result<()>;

    /// Writes a timestamp when all commands before are done.
    fn write_timestamp(&mut self, pool: &B::Queries, query: u32) -> Result<()>;

    /// Copies query results to memory.
    fn copy_query_results(
        &mut self,
        pool: &B::Queries,
        first: u32,
        count: u32,
        address: u64,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) -> Result<()>;

    /// Writes a word of an event when the first scope of a dependency is done.
    fn write_event(&mut self, address: u64, value: u32, after: &Dependency<B>) -> Result<()>;
}
