//! The Vulkan driver of Intel's GPUs.
//!
//! ```text
//! SPIR-V ─ runtime ─▶ IR ─ shader ─▶ machine code in the window of code
//! commands ─ runtime ─▶ encoder ─▶ batches, states, binding tables ─▶ kernel ─▶ i915 ioctls
//! ```
//!
//! - [`kernel`]: the i915 interface, on a render node or a virtual device of this process; [`space`]: windows of addresses;
//!   [`page_table`]: pages of images whose cache lines are compressed; [`tiled_resources`]: those of sparse resources
//! - [`device`]: memory that all of a device shares; [`pool`]: small pieces of it
//! - [`descriptor`], [`surface`], [`image`], [`blocks`], [`mod@format`]: resources of shaders; [`states`]: their surface states; [`bind`]: places of
//!   descriptors; [`mod@mocs`]: cache policies
//! - [`shader`]: shaders; [`variant`]: their programs; [`programs`]: those of a pipeline; [`meta`]: the driver's own
//! - [`encoder`]: dispatches, draws and copies; [`graphics`]: packets of draws, [`packets`] as bytes; [`flush`]: barriers to PIPE_CONTROL
//! - [`limits`]: features and limits of the driver
//!
//! [`Physical`] is the entry point of a process: a chip, and the way to open its node.

pub mod bind;
pub mod blocks;
pub mod clear_colours;
pub mod compression;
pub mod descriptor;
pub mod device;
pub mod encoder;
mod family;
pub mod flush;
pub mod format;
pub mod generate;
pub mod graphics;
pub mod image;
pub mod kernel;
pub mod limits;
pub mod meta;
pub mod mocs;
mod own_programs;
pub mod packets;
pub mod page_table;
pub mod pool;
pub mod programs;
mod properties;
pub mod query;
pub mod shader;
pub mod space;
pub mod states;
pub mod surface;
mod templates;
pub mod tiled_resources;
pub mod variant;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tepui_drm::client::RenderNode;
use tepui_format::Format;
use tepui_intel_chips::Chip;
use tepui_vulkan::backend::{
    Addresses, Allocation, Backend, Descriptor, Executable, FormatFeatures, HostCopy, ImageInfo,
    Import, MAX_QUERY_VALUES, MemoryPurpose, MemoryUser, PerSetMemory, PhysicalInfo, Place,
    PlaneMemory, QueryInfo, QueueId, QueueRequest, SamplerInfo, ShaderInfo, SparseBind,
    SparseLayout, Stages, Subresource, SyncPoint, Types, ViewInfo,
};
use tepui_vulkan::descriptor::DescriptorType;
use tepui_vulkan::draws::Immediate;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Result, vk};

use device::Device;
pub use family::Intel;

use encoder::Encoder;
use image::Image;
use kernel::{Bo, Kernel};
use programs::Programs;
use query::Queries;
use shader::Shader;
use space::Window;
use tiled_resources::SparseRange;

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
}

impl Types for Intel {
    type Physical = Physical;
    type Device = Arc<Device>;
    type Memory = Arc<Bo>;
    type Range = SparseRange;
    type Image = Image;
    type View = descriptor::View;
    type BufferView = descriptor::View;
    type Sampler = states::Sampler;
    type Shader = Shader;
    type Queries = Queries;
    type Encoder = Encoder;
    type Draws = Immediate;
}

impl Backend for Intel {
    const VIEWS_SWIZZLE_BORDERS: bool = true;
    const REPLAYS_MEMORY: bool = true;

    fn info(physical: &Physical) -> &PhysicalInfo {
        &physical.info
    }

    fn format_features(physical: &Physical, format: Format) -> FormatFeatures {
        format::features(physical.chip.generation, format)
    }

    fn modifiers(physical: &Physical, format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)> {
        format::modifiers(physical.chip.generation, format)
    }

    fn has_control_plane(physical: &Physical, modifier: u64) -> bool {
        modifier == compression::modifier(physical.chip.generation)
    }

    fn open(physical: &Arc<Physical>, queues: &[QueueRequest]) -> Result<Arc<Device>> {
        let priority =
            queues.iter().map(|q| q.priority).next().unwrap_or(vk::QueueGlobalPriority::MEDIUM);
        let device = Device::new(Kernel::new((physical.open)()?, physical.chip, priority)?)?;
        encoder::start(&device)?;
        Ok(device)
    }

    fn check(device: &Arc<Device>) -> Result<()> {
        device.kernel.check()
    }

    fn node(device: &Arc<Device>) -> &RenderNode {
        &device.kernel.node
    }

    fn memory_types(_device: &Arc<Device>, _user: &MemoryUser<'_>) -> u32 {
        limits::MEMORY_TYPES
    }

    fn allocate(device: &Arc<Device>, a: Allocation) -> Result<Arc<Bo>> {
        let window = match (a.purpose, a.place) {
            (MemoryPurpose::Sets(states::STATES), _) => Window::Surfaces,
            (MemoryPurpose::Sets(_), _) => Window::Sets,
            (_, Place::Any) => Window::Data,
            (_, Place::Replayable) => Window::Replay,
            (_, Place::At(address)) => Window::At(address),
        };
        let kernel = &device.kernel;
        match a.import {
            Some(Import::File(fd)) => Bo::import(kernel, &fd, a.size, window),
            Some(Import::Host(pages)) => Bo::of_host(kernel, pages, a.size, window).map(Arc::new),
            None if a.exportable => Bo::shareable(kernel, a.size, window),
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

    fn export(_device: &Arc<Device>, memory: &Arc<Bo>) -> Result<OwnedFd> {
        memory.export()
    }

    fn reserve(
        device: &Arc<Device>,
        size: u64,
        _image: Option<&Image>,
        place: Place,
    ) -> Result<SparseRange> {
        let window = match place {
            Place::Any => Window::Sparse,
            Place::Replayable => Window::SparseReplay,
            Place::At(address) => Window::SparseAt(address),
        };
        device.tiled_resources(encoder::translation_batch)?.reserve(size, window)
    }

    fn range_address(range: &SparseRange) -> u64 {
        range.address
    }

    fn bind_sparse(_device: &Arc<Device>, binds: &[SparseBind<Intel>]) -> Result<()> {
        binds.iter().try_for_each(|b| b.range.bind(b))
    }

    fn sparse_layout(image: &Image) -> SparseLayout {
        image.sparse_layout()
    }

    fn sparse_page(image: &Image, level: u32, layer: u32, px: [u32; 3]) -> u64 {
        image.sparse_page(level, layer, px)
    }

    fn best_modifier(device: &Arc<Device>, info: &ImageInfo, list: &[u64]) -> Option<u64> {
        image::best_modifier(device.generation(), info, list)
    }

    fn image(device: &Arc<Device>, info: &ImageInfo) -> Result<Image> {
        Image::new(device.generation(), info)
    }

    fn bind_image(
        device: &Arc<Device>,
        image: &Image,
        info: &ImageInfo,
        addresses: &Addresses,
    ) -> Result<()> {
        let map = |table| image.map(table, info, addresses, device.constant_colours());
        device.page_table.as_ref().map_or(Ok(()), map)
    }

    fn image_size(image: &Image) -> (u64, u64) {
        (image.size, image.alignment())
    }

    fn is_rendered(device: &Arc<Device>, format: Format) -> bool {
        format::is_rendered(device.generation(), format)
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

    fn view(device: &Arc<Device>, info: &ViewInfo<'_, Intel>) -> Result<descriptor::View> {
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

    fn sampler(device: &Arc<Device>, info: &SamplerInfo) -> Result<states::Sampler> {
        descriptor::sampler(device, info)
    }

    fn descriptor_sizes(_physical: &Physical, ty: DescriptorType) -> PerSetMemory<u32> {
        states::sizes(ty)
    }

    fn write_descriptor(
        physical: &Physical,
        ty: DescriptorType,
        d: &Descriptor<'_, Intel>,
        out: PerSetMemory<&mut [u8]>,
    ) {
        descriptor::write(physical.chip.generation, ty, d, out);
    }

    fn shader(device: &Arc<Device>, info: ShaderInfo<'_, Intel>) -> Result<Shader> {
        Shader::new(&Arc::downgrade(device), info)
    }

    fn link(
        _device: &Arc<Device>,
        stages: &Stages<'_, Intel>,
        state: &GraphicsState,
        _optimise: bool,
    ) -> Result<()> {
        Programs::new(stages, state, state.view_mask != 0).map(drop)
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
