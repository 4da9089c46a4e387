//! The Vulkan driver of Valhall GPUs: with a command-stream front end (v10) and with a job manager (v9).
//!
//! ```text
//! SPIR-V ─ runtime ─▶ IR ─ shader ─▶ machine code and program descriptors
//! commands ─ runtime ─▶ encoder ─▶ three command streams, descriptors, tables ─▶ kernel ─▶ panthor ioctls
//!                            └──▶ chains of jobs, descriptors, tables ─▶ kernel ─▶ panfrost ioctls
//! ```
//!
//! - [`kernel`]: the panthor and panfrost interfaces, on a render node or a virtual device of this process; [`space`]: windows of addresses
//! - [`device`]: memory that all of a device shares
//! - [`descriptor`], [`texture`], [`image`], [`mod@format`]: resources of shaders
//! - [`shader`]: programs; [`meta`]: those of the driver's own; [`pushed`]: words of uniform buffers among their uniforms
//! - [`stream`]: the builder of command streams
//! - [`graphics`]: descriptors of draws and renderings
//! - [`encoder`]: draws, renderings, dispatches, copies, the order of queues
//! - [`limits`]: features and limits of the driver
//!
//! [`Physical`] is the entry point of a process: a chip, and the way to open its node.

pub mod descriptor;
pub mod device;
pub mod encoder;
mod family;
pub mod format;
pub mod graphics;
pub mod image;
pub mod kernel;
pub mod limits;
pub mod meta;
pub mod packed;
pub mod programs;
pub mod pushed;
pub mod query;
pub mod shader;
pub mod space;
pub mod stream;
pub mod submitted;
pub mod tables;
pub mod texture;
pub mod variant;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tepui_drm::client::RenderNode;
use tepui_format::Format;
use tepui_mali_chips::Chip;
use tepui_mali_compiler::Clips;
use tepui_vulkan::backend::{
    Allocation, Backend, Descriptor, Executable, FormatFeatures, HostCopy, ImageInfo, Import,
    MAX_QUERY_VALUES, MemoryUser, PerSetMemory, PhysicalInfo, Place, PlaneMemory, QueryInfo,
    QueueId, QueueRequest, SamplerInfo, ShaderInfo, SparseBind, SparseLayout, Stages, Subresource,
    SyncPoint, Types, ViewInfo,
};
use tepui_vulkan::descriptor::DescriptorType;
use tepui_vulkan::draws::Expanding;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};

use device::Device;
pub use family::Mali;

use encoder::Encoder;
use graphics::blend::Blending;
use image::Image;
use kernel::{Bo, Kernel};
use query::Queries;
use shader::Shader;
use space::Window;

pub use kernel::chip;

/// Opens a render node.
pub type Open = Box<dyn Fn() -> Result<RenderNode> + Send + Sync>;

/// A physical device.
pub struct Physical {
    info: PhysicalInfo,
    chip: &'static Chip,
    open: Open,
}

impl Physical {
    /// A chip whose render node `open` opens, once for each device that is created.
    pub fn new(chip: &'static Chip, open: Open) -> Physical {
        Physical { info: limits::info(chip), chip, open }
    }

    /// The device is that of a render node of the machine, with these device numbers.
    #[must_use]
    pub fn on_node(mut self, major: u32, minor: u32) -> Physical {
        self.info.extensions.push(("VK_EXT_physical_device_drm", 1));
        let numbers = vk::PhysicalDeviceDrmPropertiesEXT {
            has_render: vk::TRUE,
            render_major: i64::from(major),
            render_minor: i64::from(minor),
            ..Default::default()
        };
        // SAFETY: a structure of numbers.
        unsafe { self.info.property_chain.add(numbers) };
        self
    }

    /// TEXTURE_FEATURES_0 of the chip.
    fn texture_features(&self) -> u32 {
        self.chip.texture_features().0
    }
}

/// Addresses of a sparse resource, which there are none of.
pub enum Range {}

impl Types for Mali {
    type Physical = Physical;
    type Device = Arc<Device>;
    type Memory = Arc<Bo>;
    type Range = Range;
    type Image = Image;
    type View = descriptor::View;
    type BufferView = descriptor::View;
    type Sampler = descriptor::Sampler;
    type Shader = Shader;
    type Queries = Queries;
    type Encoder = Encoder;
    type Draws = Expanding;
}

impl Backend for Mali {
    fn info(physical: &Physical) -> &PhysicalInfo {
        &physical.info
    }

    fn format_features(physical: &Physical, format: Format) -> FormatFeatures {
        format::features(physical.chip, physical.texture_features(), format)
    }

    fn modifiers(physical: &Physical, format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)> {
        format::modifiers(physical.chip, physical.texture_features(), format)
    }

    fn restricts_views(_physical: &Physical, modifier: u64) -> bool {
        image::is_compressed(modifier)
    }

    fn open(physical: &Arc<Physical>, queues: &[QueueRequest]) -> Result<Arc<Device>> {
        let priority =
            queues.iter().map(|q| q.priority).next().unwrap_or(vk::QueueGlobalPriority::MEDIUM);
        Device::new(Kernel::new((physical.open)()?, physical.chip, priority)?)
    }

    fn check(device: &Arc<Device>) -> Result<()> {
        device.check()
    }

    fn node(device: &Arc<Device>) -> &RenderNode {
        &device.kernel.node
    }

    fn memory_types(_device: &Arc<Device>, user: &MemoryUser<'_>) -> u32 {
        match user {
            MemoryUser::File(_) => 1 << limits::MEMORY_COMBINED,
            _ => limits::MEMORY_TYPES,
        }
    }

    fn allocate(device: &Arc<Device>, a: Allocation) -> Result<Arc<Bo>> {
        let window = match a.place {
            Place::Any => Window::Data,
            Place::Replayable => Window::Replay,
            Place::At(address) => Window::At(address),
        };
        let kernel = &device.kernel;
        match a.import {
            Some(Import::Host(_)) => Err(Error::unsupported("memory of the host")),
            Some(Import::File(fd)) => Bo::import(kernel, &fd, a.size, window),
            None if a.exportable => Bo::shareable(kernel, a.size, window),
            None if a.memory_type == limits::MEMORY_CACHED => {
                Bo::cached(kernel, a.size, window).map(Arc::new)
            }
            None => Bo::new(kernel, a.size, window).map(Arc::new),
        }
    }

    fn address(memory: &Arc<Bo>) -> u64 {
        memory.address
    }

    fn host(memory: &Arc<Bo>) -> *mut u8 {
        Bo::host(memory)
    }

    unsafe fn map_at(memory: &Arc<Bo>, address: *mut u8) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe { memory.map_at(address) }
    }

    fn size(memory: &Arc<Bo>) -> u64 {
        memory.size
    }

    fn flush(memory: &Arc<Bo>, offset: u64, size: u64) -> Result<()> {
        memory.sync(offset, size)
    }

    fn invalidate(memory: &Arc<Bo>, offset: u64, size: u64) -> Result<()> {
        memory.sync(offset, size)
    }

    fn export(_device: &Arc<Device>, memory: &Arc<Bo>) -> Result<OwnedFd> {
        memory.export()
    }

    fn reserve(
        _device: &Arc<Device>,
        _size: u64,
        _image: Option<&Image>,
        _place: Place,
    ) -> Result<Range> {
        Err(Error::unsupported("sparse resources on Mali"))
    }

    fn range_address(range: &Range) -> u64 {
        match *range {}
    }

    fn bind_sparse(_device: &Arc<Device>, binds: &[SparseBind<Mali>]) -> Result<()> {
        match binds {
            [] => Ok(()),
            _ => Err(Error::unsupported("sparse resources on Mali")),
        }
    }

    fn sparse_layout(image: &Image) -> SparseLayout {
        image.sparse_layout()
    }

    fn sparse_page(_image: &Image, _level: u32, _layer: u32, _px: [u32; 3]) -> u64 {
        0
    }

    fn best_modifier(device: &Arc<Device>, info: &ImageInfo, list: &[u64]) -> Option<u64> {
        image::best_modifier(device.kernel.chip, info, list)
    }

    fn image(device: &Arc<Device>, info: &ImageInfo) -> Result<Image> {
        Image::new(device.kernel.chip.arch, info)
    }

    fn image_size(image: &Image) -> (u64, u64) {
        (image.size, image::ALIGNMENT)
    }

    fn is_rendered(device: &Arc<Device>, format: Format) -> bool {
        // The kernel does not say the chip's features; all that are rendered to are in all chips of an architecture.
        let (chip, all) = (device.kernel.chip, u32::MAX);
        format::is_rendered(chip, all, format)
    }

    fn plane(image: &Image, aspect: vk::ImageAspectFlags) -> usize {
        image.plane(aspect)
    }

    fn plane_memory(image: &Image, plane: usize) -> PlaneMemory {
        image.plane_memory(plane)
    }

    fn subresource(image: &Image, plane: usize, level: u32, layer: u32) -> Subresource {
        image.subresource(plane, level, layer)
    }

    fn copy_host(image: &Image, plane: usize, copy: HostCopy<'_>) -> Result<()> {
        image.copy_host(plane, copy)
    }

    fn view(device: &Arc<Device>, info: &ViewInfo<'_, Mali>) -> Result<descriptor::View> {
        descriptor::view(device, info)
    }

    fn buffer_view(
        device: &Arc<Device>,
        format: Format,
        address: u64,
        size: u64,
    ) -> Result<descriptor::View> {
        descriptor::buffer_view(device, format, address, size)
    }

    fn sampler(_device: &Arc<Device>, info: &SamplerInfo) -> Result<descriptor::Sampler> {
        descriptor::sampler(info)
    }

    fn descriptor_sizes(_physical: &Physical, ty: DescriptorType) -> PerSetMemory<u32> {
        descriptor::sizes(ty)
    }

    fn write_descriptor(
        _physical: &Physical,
        ty: DescriptorType,
        d: &Descriptor<'_, Mali>,
        out: PerSetMemory<&mut [u8]>,
    ) {
        descriptor::write(ty, d, out);
    }

    fn shader(device: &Arc<Device>, info: ShaderInfo<'_, Mali>) -> Result<Shader> {
        Shader::new(device, info)
    }

    fn link(
        _device: &Arc<Device>,
        stages: &Stages<'_, Mali>,
        state: &GraphicsState,
        _optimise: bool,
    ) -> Result<()> {
        // Vertices of expanded draws are those of programs that follow from the last stage.
        let expands = !stages.expanded.is_empty()
            || stages.control.is_some()
            || stages.geometry.is_some()
            || stages.vertex.is_some_and(|v| v.shows_invocations)
            || stages.fragment.is_some_and(|f| f.reads_primitive);
        let vertex = stages.vertex.filter(|_| !expands);
        let several_views = state.view_mask != 0;
        let vertex =
            vertex.map(|v| v.of(v.vertex_key(stages.fragment, several_views))).transpose()?;
        let clips = vertex.map_or(Ok(Clips::default()), |v| v.vertex().map(|info| info.clips))?;
        if let Some(fragment) = stages.fragment.filter(|_| !state.discard) {
            let blending = Blending::new(state, &state.colour_formats)?;
            fragment.fragment(state, blending.lowered, &state.colour_formats, false, clips)?;
        }
        Ok(())
    }

    fn executables(shader: &Shader) -> Vec<Executable> {
        shader.executables()
    }

    fn queries(device: &Arc<Device>, info: &QueryInfo) -> Result<Queries> {
        Queries::new(device, info)
    }

    fn reset_queries(pool: &Queries, first: u32, count: u32) {
        pool.reset(first, count);
    }

    fn query_result(pool: &Queries, query: u32) -> Option<[u64; MAX_QUERY_VALUES]> {
        pool.get(query)
    }

    fn encoder(device: &Arc<Arc<Device>>, _queue_family: u32) -> Result<Encoder> {
        Ok(Encoder::new(device))
    }

    fn submit(
        device: &Arc<Device>,
        _queue: QueueId,
        waits: &[SyncPoint],
        commands: &[&Encoder],
        signals: &[SyncPoint],
    ) -> Result<()> {
        encoder::submit(device, waits, commands, signals)
    }

    fn timestamp(device: &Arc<Device>) -> Result<u64> {
        device.kernel.time()
    }
}
