//! The Vulkan driver of Apple AGX GPUs.
//!
//! ```text
//! SPIR-V ─ runtime ─▶ IR ─ shader (variants) ─▶ machine code in the USC window
//! commands ─ runtime ─▶ encoder ─▶ control streams, USC words, state records ─▶ kernel ─▶ asahi ioctls
//! ```
//!
//! - [`kernel`]: the asahi kernel interface, on a render node or a virtual device of this process
//! - [`device`]: shared memory of code, samplers and scratch
//! - [`shader`]: variants of shaders, and the contents of their registers
//! - [`encoder`]: draws, dispatches and renders; [`tile`]: programs before and after a tile's fragments
//! - [`descriptor`], [`image`], [`mod@format`]: resources of shaders
//! - [`meta`]: copies, blits and clears as programs; [`query`]: counters and timestamps
//! - [`limits`]: features and limits of the driver
//!
//! [`Physical`] is the entry point of a process: a chip, and the way to open its node.

mod borders;
mod caches;
pub mod code;
pub mod descriptor;
pub mod device;
pub mod encoder;
mod family;
pub mod format;
pub mod image;
pub mod kernel;
pub mod limits;
pub mod meta;
mod mutable;
mod parts;
pub mod query;
mod recipe;
pub mod residency;
pub mod scratch;
pub mod shader;
mod state;
pub mod tile;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tepui_agx_chips::Chip;
use tepui_agx_compiler::Borders;
use tepui_drm::client::RenderNode;
use tepui_format::Format;
use tepui_vulkan::backend::{
    Allocation, Backend, Descriptor, Executable, FormatFeatures, HostCopy, ImageInfo, Import,
    MAX_QUERY_VALUES, MemoryUser, PerSetMemory, PhysicalInfo, Place, PlaneMemory, QueryInfo,
    QueueId, QueueRequest, SamplerInfo, ShaderInfo, SparseBind, SparseLayout, Stages, Subresource,
    SyncPoint, Types, ViewInfo,
};
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::descriptor::DescriptorType;
use tepui_vulkan::draws::Expanding;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};

use device::Device;
pub use family::Agx;

use encoder::Encoder;
use image::Image;
use kernel::{Bo, Kernel, Range, Window};
use query::Queries;
use recipe::Places;
use residency::PageTable;
use shader::{Linking, Origin, Shader};

/// Opens a render node.
pub type Open = Box<dyn Fn() -> Result<RenderNode> + Send + Sync>;

/// A physical device.
pub struct Physical {
    info: PhysicalInfo,
    open: Open,
}

impl Physical {
    /// A chip whose render node `open` opens, once for each device that is created. `soft_faults` says that the GPU reads zeros
    /// where there is no memory.
    pub fn new(chip: &'static Chip, soft_faults: bool, open: Open) -> Physical {
        Physical { info: limits::info(chip, soft_faults), open }
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

impl Types for Agx {
    type Physical = Physical;
    type Device = Arc<Device>;
    type Memory = Bo;
    type Range = Range;
    type Image = Image;
    type View = descriptor::View;
    type BufferView = descriptor::BufferView;
    type Sampler = descriptor::Sampler;
    type Shader = Shader;
    type Queries = Queries;
    type Encoder = Encoder;
    type Draws = Expanding;
}

impl Backend for Agx {
    fn info(physical: &Physical) -> &PhysicalInfo {
        &physical.info
    }

    fn format_features(_physical: &Physical, format: Format) -> FormatFeatures {
        format::features(format)
    }

    fn modifiers(_physical: &Physical, format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)> {
        format::modifiers(format)
    }

    fn open(physical: &Arc<Physical>, queues: &[QueueRequest]) -> Result<Arc<Device>> {
        let priority =
            queues.iter().map(|q| q.priority).next().unwrap_or(vk::QueueGlobalPriority::MEDIUM);
        Device::new(Kernel::new((physical.open)()?, priority)?)
    }

    fn check(device: &Arc<Device>) -> Result<()> {
        encoder::submit(device, &[], &[], [0; 2], &[])
    }

    fn node(device: &Arc<Device>) -> &RenderNode {
        &device.kernel.node
    }

    fn memory_types(_device: &Arc<Device>, _user: &MemoryUser<'_>) -> u32 {
        limits::MEMORY_TYPES
    }

    fn allocate(device: &Arc<Device>, a: Allocation) -> Result<Bo> {
        let window = Window::of(a.place);
        match a.import {
            Some(Import::Host(_)) => Err(Error::unsupported("memory of the host")),
            Some(Import::File(fd)) => Bo::import(&device.kernel, &fd, a.size, window),
            None => Bo::new(&device.kernel, a.size, window, a.exportable),
        }
    }

    fn address(memory: &Bo) -> u64 {
        memory.address
    }

    fn host(memory: &Bo) -> *mut u8 {
        memory.host()
    }

    unsafe fn map_at(memory: &Bo, address: *mut u8) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe { memory.map_at(address) }
    }

    fn size(memory: &Bo) -> u64 {
        memory.size
    }

    fn export(_device: &Arc<Device>, memory: &Bo) -> Result<OwnedFd> {
        memory.export()
    }

    fn reserve(
        device: &Arc<Device>,
        size: u64,
        image: Option<&Image>,
        place: Place,
    ) -> Result<Range> {
        // A range whose address can be asked for again has memory as a whole.
        if place == Place::Any && !device.kernel.has_soft_faults() {
            return Err(Error::unsupported("sparse resources on a kernel without soft faults"));
        }
        let table =
            image.map(|i| PageTable::new(&device.kernel, &i.planes[0].layout)).transpose()?;
        let (window, fallbacks) = match place {
            Place::Any => {
                (Window::Sparse, residency::fallbacks(&device.zeros, &device.dropped_writes))
            }
            _ => (Window::of(place), Vec::new()),
        };
        Range::new(&device.kernel, size, table, fallbacks, window)
    }

    fn range_address(range: &Range) -> u64 {
        range.address
    }

    fn bind_sparse(device: &Arc<Device>, binds: &[SparseBind<Agx>]) -> Result<()> {
        let mut ops = Vec::new();
        for b in binds {
            let memory = b.memory.as_ref().map(|(bo, at)| (&**bo, *at));
            b.range.bind(b.offset, b.size, memory, &mut ops)?;
        }
        device.kernel.bind(&ops)?;
        for b in binds {
            if let Some(table) = &b.range.table {
                let address = b.memory.is_some().then(|| b.range.address + b.offset);
                table.set(b.offset, b.size, address);
            }
        }
        Ok(())
    }

    fn sparse_layout(image: &Image) -> SparseLayout {
        image.sparse_layout()
    }

    fn sparse_page(image: &Image, level: u32, layer: u32, px: [u32; 3]) -> u64 {
        image.sparse_page(level, layer, px)
    }

    fn best_modifier(_device: &Arc<Device>, info: &ImageInfo, list: &[u64]) -> Option<u64> {
        image::best_modifier(info, list)
    }

    fn is_rendered(_device: &Arc<Device>, format: Format) -> bool {
        format::is_rendered(format)
    }

    fn image(_device: &Arc<Device>, info: &ImageInfo) -> Result<Image> {
        Image::new(info)
    }

    fn image_size(image: &Image) -> (u64, u64) {
        (image.size, image::ALIGNMENT)
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

    fn view(device: &Arc<Device>, info: &ViewInfo<'_, Agx>) -> Result<descriptor::View> {
        descriptor::view(device, info)
    }

    fn buffer_view(
        _device: &Arc<Device>,
        format: Format,
        address: u64,
        size: u64,
    ) -> Result<descriptor::BufferView> {
        descriptor::buffer_view(format, address, size)
    }

    fn sampler(device: &Arc<Device>, info: &SamplerInfo) -> Result<descriptor::Sampler> {
        descriptor::Sampler::new(device, info)
    }

    fn descriptor_sizes(_physical: &Physical, ty: DescriptorType) -> PerSetMemory<u32> {
        [descriptor::size(ty), 0, 0]
    }

    fn write_descriptor(
        _physical: &Physical,
        ty: DescriptorType,
        d: &Descriptor<'_, Agx>,
        [out, ..]: PerSetMemory<&mut [u8]>,
    ) {
        descriptor::write(ty, d, out);
    }

    fn shader(device: &Arc<Device>, info: ShaderInfo<'_, Agx>) -> Result<Shader> {
        let ShaderInfo {
            mut ir,
            key,
            programs,
            captures,
            sets,
            robust,
            custom_borders,
            reductions,
            null_images,
            partial_state,
            // All subgroups have 32 invocations.
            subgroup_size: _,
        } = info;
        let borders = if custom_borders { Borders::Custom } else { Borders::Hardware };
        let origin = Origin { key, programs, captures, borders, reductions, null_images };
        let linking = if partial_state.is_some() { Linking::Parts } else { Linking::Whole };
        let places = Places::new(sets);
        mutable::run(&mut ir, sets);
        tepui_expand::lower_limit(&mut ir);
        let shader = Shader::new(&Arc::downgrade(device), ir, places, robust, origin, linking)?;
        if let Some(state) = partial_state {
            shader.prepare(state)?;
        }
        Ok(shader)
    }

    fn link(
        device: &Arc<Device>,
        stages: &Stages<'_, Agx>,
        state: &GraphicsState,
        optimise: bool,
    ) -> Result<()> {
        let (Some(vertex), fragment) = (stages.vertex, stages.fragment) else { return Ok(()) };
        // Expanded stages are linked by the first draw, which knows the kind of primitives.
        if !stages.expanded.is_empty() {
            return Ok(());
        }
        // Parts are put together by the first draw: its state may be known only then, and most pipelines of applications that
        // link many are never drawn with.
        let parts = vertex.is_prepared() && fragment.is_none_or(Shader::is_prepared);
        if !optimise && parts && !state.alpha_to_coverage {
            return Ok(());
        }
        encoder::variants::link(device, vertex, fragment, state)
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
        let (mut bytes, mut counts) = (Vec::new(), [0u16; 2]);
        for c in commands {
            c.commands(&mut bytes, &mut counts);
        }
        if debug::flags().contains(Flags::SUBMIT) {
            let sum = |of: fn(encoder::LaunchCounts) -> u32| -> u32 {
                commands.iter().map(|c| of(c.launch_counts())).sum()
            };
            eprintln!(
                "tepui: {} renders, {} compute streams, {} launches, {} barriers, {} splits",
                counts[0],
                counts[1],
                sum(|c| c.launches),
                sum(|c| c.barriers),
                sum(|c| c.splits)
            );
        }
        encoder::submit(device, waits, &bytes, counts, signals)
    }

    fn timestamp(device: &Arc<Device>) -> Result<u64> {
        let ns = device.kernel.time()?;
        let hz = device.kernel.params.command_timestamp_frequency_hz;
        Ok((u128::from(ns) * u128::from(hz) / 1_000_000_000) as u64)
    }
}

/// The chip of a render node, and whether reads of unmapped memory give zeros.
///
/// # Errors
/// When the node is not that of an AGX GPU that is known.
pub fn chip(node: &RenderNode) -> Result<(&'static Chip, bool)> {
    let unknown = || Error::new(vk::Result::ERROR_INCOMPATIBLE_DRIVER, "no AGX GPU that is known");
    let driver = node.driver().map_err(|e| Error::kernel("asking for the kernel's driver", e))?;
    if driver != "asahi" {
        return Err(unknown());
    }
    let params = kernel::params(node)?;
    let known = tepui_agx_chips::CHIPS.iter().find(|c| {
        c.soc == params.chip_id
            && c.generation == params.gpu_generation
            && c.variant as u32 == params.gpu_variant
    });
    Ok((known.ok_or_else(unknown)?, kernel::has_soft_faults(&params)))
}
