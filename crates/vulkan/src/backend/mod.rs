//! Interface of a GPU family's driver to the runtime.
//!
//! The runtime keeps objects, state and order; a [`Backend`] lays out images, writes descriptors,
//! compiles shaders and encodes commands. Its [`Types`] are parts of the runtime's objects, so nothing is
//! looked up or cast at run time.
//!
//! Functions here take data that the runtime fills in: descriptions of this module, [`CommandState`], [`GraphicsState`], [`Dependency`] and
//! [`SetLayout`](crate::descriptor::SetLayout).

mod command;
mod device;
mod object;
mod shader;
mod types;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tepui_format::Format;
use vulkanalia_sys as vk;

use crate::command::CommandState;
use crate::dependency::{Dependency, Ordering, Within};
use crate::descriptor::DescriptorType;
use crate::error::{Error, Result};
use crate::feedback::Counters;
use crate::state::GraphicsState;

pub use command::{
    Attachment, Blit, BufferPixels, Condition, Counts, Dispatch, Draw, HostCopy, ImageCopy,
    ImageRef, Rendering, ResolveTarget,
};
pub use device::{
    Allocation, FormatFeatures, HostBytes, Import, MAX_SET_MEMORY, MemoryPurpose, MemoryUser,
    PerSetMemory, PhysicalInfo, Place, QueueId, QueueRequest, SetMemory, ShadingRate, SyncPoint,
};
pub use object::{
    Addresses, Descriptor, ExplicitPlane, ExplicitPlanes, ImageInfo, MAX_PLANES, MAX_QUERY_VALUES,
    MAX_VIEW_FORMATS, PlaneMemory, QueryInfo, SamplerInfo, SparseBind, SparseLayout, Subresource,
    ViewFormats, ViewInfo,
};
pub(crate) use shader::STAGES;
pub use shader::{Between, Executable, ShaderInfo, Stages, SubgroupSize};
pub use types::Types;

/// A GPU family's driver.
///
/// Functions that answer queries take the physical device, as two of a family differ; those that make objects take the
/// device.
pub trait Backend: Types<Encoder: Encoder<Self>> {
    /// Views swap the components of border colours as those of texels, so that samplers have them as the application gives them;
    /// otherwise samplers have them as the view shows them that the application names.
    const VIEWS_SWIZZLE_BORDERS: bool = false;

    /// Buffers whose addresses are to come again have those of their memory, which come again, too, unless they are sparse. Without, they
    /// have ranges of their own where memory can be bound to ranges.
    const REPLAYS_MEMORY: bool = false;

    /// Description of the physical device.
    fn info(physical: &Self::Physical) -> &PhysicalInfo;

    /// Features of a format.
    fn format_features(physical: &Self::Physical, format: Format) -> FormatFeatures;

    /// DRM format modifiers with which images of a format can be shared between devices, and the features of such images.
    fn modifiers(physical: &Self::Physical, format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)>;

    /// Whether images with a DRM format modifier have a plane after those of the format, which says how these are compressed. They have
    /// two dimensions, one level, one layer, and views of formats with the modifier.
    fn has_control_plane(_physical: &Self::Physical, _modifier: u64) -> bool {
        false
    }

    /// Whether images with a DRM format modifier have two dimensions, and views only of formats with the modifier, which a list names.
    fn restricts_views(physical: &Self::Physical, modifier: u64) -> bool {
        Self::has_control_plane(physical, modifier)
    }

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
    fn sparse_page(image: &Self::Image, level: u32, layer: u32, px: [u32; 3]) -> u64;

    /// The modifier of a list that suits an image best; `None` if none does. The image's own modifier
    /// is ignored.
    fn best_modifier(device: &Self::Device, info: &ImageInfo, list: &[u64]) -> Option<u64>;

    /// Lays out an image.
    fn image(device: &Self::Device, info: &ImageInfo) -> Result<Self::Image>;

    /// Tells that an image that is bound as a whole has its addresses, before anything uses it.
    fn bind_image(
        _device: &Self::Device,
        _image: &Self::Image,
        _info: &ImageInfo,
        _addresses: &Addresses,
    ) -> Result<()> {
        Ok(())
    }

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

    /// Copies a rectangle of a plane to or from memory on the host.
    fn copy_host(image: &Self::Image, plane: usize, copy: HostCopy<'_>) -> Result<()>;

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
pub trait Encoder<B: Types>: Sized {
    /// Forgets what was recorded.
    fn reset(&mut self);

    /// Begins recording after [`Encoder::reset`]; for families to which it matters whether the commands may be submitted again
    /// before they have ended (`SIMULTANEOUS_USE`).
    fn begin(&mut self, _usage: vk::CommandBufferUsageFlags) {}

    /// Ends recording.
    fn finish(&mut self) -> Result<()>;

    /// Begins a rendering.
    fn begin_rendering(&mut self, rendering: &Rendering<B>) -> Result<()>;

    /// Ends the rendering. Returns the colours whose samples it has resolved already, a bit each; [`Encoder::resolve`] is called
    /// for the others.
    fn end_rendering(&mut self, rendering: &Rendering<B>) -> Result<u8>;

    /// Records a draw that directly follows another draw, with no command between them, and whose state is therefore the other's;
    /// whether it did so. After `false` the draw is encoded with its state. Applications draw many times with equal state, so this
    /// comes before all that other draws need.
    #[inline]
    fn draw_again(&mut self, _state: &CommandState<B>, _draw: &Draw) -> bool {
        false
    }

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

    /// Writes a texel's bytes to all texels of a part of an image whose format is neither rendered to nor as large as one that is:
    /// those of three channels.
    fn clear_texels(
        &mut self,
        image: &ImageCopy<'_, B>,
        _texel: &[u8],
        _extent: [u32; 3],
    ) -> Result<()> {
        Err(Error::unsupported(format!("clears of {:?}", image.image.1.format)))
    }

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
