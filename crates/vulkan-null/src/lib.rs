//! A family without a GPU, for tests of the Vulkan runtime.
//!
//! Memory is the host's, GPU addresses are the host's addresses, and an encoder records commands as text, which a submission
//! appends to [`Shared::log`]. Copies and fills of buffers, events and timestamps happen as well, at submission. The family has two
//! memory types in two heaps, two queue families, three kinds of memory of descriptor sets, and all graphics stages.
//!
//! | module | contents |
//! | --- | --- |
//! | [`info`] | the description of the physical device |
//! | [`memory`] | memory, images and the text of addresses |
//! | [`encoder`] | commands |

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "addresses are those that the application gives, valid as the specification says"
)]

pub mod encoder;
pub mod info;
pub mod memory;
mod node;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tepui_drm::client::{RenderNode, Wait};
use tepui_format::Format;
use tepui_vulkan::backend::{
    Allocation, Backend, Descriptor, Executable, FormatFeatures, HostCopy, ImageInfo,
    MAX_QUERY_VALUES, MemoryUser, PerSetMemory, PhysicalInfo, Place, PlaneMemory, QueryInfo,
    QueueId, QueueRequest, SamplerInfo, ShaderInfo, SparseBind, SparseLayout, Stages, Subresource,
    SyncPoint, Types, ViewInfo,
};
use tepui_vulkan::descriptor::DescriptorType;
use tepui_vulkan::draws::Immediate;
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};

pub use encoder::Encoder;
pub use memory::{Image, Memory, Shared};

/// The family. Those of different numbers are different ones to the runtime.
pub struct Null<const FAMILY: u8 = 0>;

/// A physical device.
pub struct Physical {
    info: PhysicalInfo,
    shared: Arc<Shared>,
}

impl Physical {
    /// A physical device, and the state of it that tests observe.
    pub fn new() -> (Physical, Arc<Shared>) {
        let shared = Arc::new(Shared::default());
        (Physical { info: info::info(), shared: shared.clone() }, shared)
    }
}

/// A device.
pub struct Device {
    /// State of the physical device that tests observe.
    pub shared: Arc<Shared>,
    node: RenderNode,
}

/// A shader.
pub struct Shader {
    /// Name of the stage.
    pub stage: String,
}

/// Descriptor of an image view or a texel buffer: address and size.
pub struct View {
    address: u64,
    size: u64,
}

/// A sampler: its number in the device, from 1.
pub struct Sampler(u32);

/// Values of queries; those that are not available are [`u64::MAX`].
pub type Queries = Arc<Vec<AtomicU64>>;

/// An address range without memory.
pub struct Range(Memory);

/// Kinds of memory of descriptor sets: addresses and sizes, numbers of samplers, and the type's number for the encoder.
mod kind {
    pub const SURFACES: usize = 0;
    pub const SAMPLERS: usize = 1;
    pub const TYPES: usize = 2;
}

impl<const FAMILY: u8> Types for Null<FAMILY> {
    type Physical = Physical;
    type Device = Device;
    type Memory = Memory;
    type Range = Range;
    type Image = Image;
    type View = View;
    type BufferView = View;
    type Sampler = Sampler;
    type Shader = Shader;
    type Queries = Queries;
    type Encoder = Encoder;
    type Draws = Immediate;
}

impl<const FAMILY: u8> Backend for Null<FAMILY> {
    fn info(physical: &Physical) -> &PhysicalInfo {
        &physical.info
    }

    fn format_features(_physical: &Physical, format: Format) -> FormatFeatures {
        info::format_features(format)
    }

    fn modifiers(_physical: &Physical, _format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)> {
        Vec::new()
    }

    fn open(physical: &Arc<Physical>, queues: &[QueueRequest]) -> Result<Device> {
        let shared = physical.shared.clone();
        for QueueRequest { family, count, .. } in queues {
            shared.say(format!("open: {count} of queue family {family}"));
        }
        Ok(Device { shared, node: node::open() })
    }

    fn check(device: &Device) -> Result<()> {
        match device.shared.is_lost() {
            true => Err(Error::new(vk::Result::ERROR_DEVICE_LOST, "the test loses the device")),
            false => Ok(()),
        }
    }

    fn node(device: &Device) -> &RenderNode {
        &device.node
    }

    fn memory_types(_device: &Device, user: &MemoryUser<'_>) -> u32 {
        match user {
            MemoryUser::Buffer(_) => 0b11,
            MemoryUser::Image(_) => 0b01,
            MemoryUser::File(_) | MemoryUser::Host => 0,
        }
    }

    fn allocate(device: &Device, a: Allocation) -> Result<Memory> {
        if a.exportable || a.import.is_some() {
            return Err(Error::unsupported("shared memory of the null family"));
        }
        Memory::new(&device.shared, a.size, a.memory_type, a.purpose)
    }

    fn address(memory: &Memory) -> u64 {
        memory.start() as u64
    }

    fn host(memory: &Memory) -> *mut u8 {
        memory.start()
    }

    unsafe fn map_at(_memory: &Memory, _address: *mut u8) -> Result<()> {
        Err(Error::unsupported("placed mappings of the null family"))
    }

    fn size(memory: &Memory) -> u64 {
        memory.size
    }

    fn flush(memory: &Memory, offset: u64, size: u64) -> Result<()> {
        memory.shared.say(format!("flush m{}+{offset:#x} {size}", memory.number));
        Ok(())
    }

    fn invalidate(memory: &Memory, offset: u64, size: u64) -> Result<()> {
        memory.shared.say(format!("invalidate m{}+{offset:#x} {size}", memory.number));
        Ok(())
    }

    fn export(_device: &Device, _memory: &Memory) -> Result<OwnedFd> {
        Err(Error::unsupported("shared memory of the null family"))
    }

    fn reserve(device: &Device, size: u64, _image: Option<&Image>, _place: Place) -> Result<Range> {
        Memory::new(&device.shared, size, 0, Default::default()).map(Range)
    }

    fn range_address(range: &Range) -> u64 {
        range.0.start() as u64
    }

    fn bind_sparse(device: &Device, binds: &[SparseBind<Self>]) -> Result<()> {
        for b in binds {
            let range = device.shared.text(Self::range_address(&b.range) + b.offset);
            let memory = b.memory.as_ref().map_or("nothing".to_owned(), |(memory, at)| {
                device.shared.text(Self::address(memory) + at)
            });
            device.shared.say(format!("bind {range} {} to {memory}", b.size));
        }
        Ok(())
    }

    fn sparse_layout(image: &Image) -> SparseLayout {
        SparseLayout {
            page_px: [128, 128, 1],
            page_size: 1 << 16,
            tail_level: 0,
            tail_size: image.size,
            single_tail: false,
        }
    }

    fn sparse_page(_image: &Image, _level: u32, _layer: u32, _px: [u32; 3]) -> u64 {
        0
    }

    fn best_modifier(_device: &Device, _info: &ImageInfo, _list: &[u64]) -> Option<u64> {
        None
    }

    fn image(_device: &Device, info: &ImageInfo) -> Result<Image> {
        Ok(Image::new(info))
    }

    fn image_size(image: &Image) -> (u64, u64) {
        (image.size, 4096)
    }

    fn is_rendered(_device: &Device, format: Format) -> bool {
        info::format_features(format).optimal.intersects(info::TARGETS)
    }

    fn plane(_image: &Image, _aspect: vk::ImageAspectFlags) -> usize {
        0
    }

    fn plane_memory(image: &Image, plane: usize) -> PlaneMemory {
        match plane {
            0 => PlaneMemory { offset: 0, size: image.size, alignment: 4096 },
            _ => PlaneMemory::default(),
        }
    }

    fn subresource(image: &Image, _plane: usize, level: u32, layer: u32) -> Subresource {
        image.subresource(level, layer)
    }

    fn copy_host(_image: &Image, _plane: usize, _copy: HostCopy<'_>) -> Result<()> {
        Err(Error::unsupported("host copies of the null family"))
    }

    fn view(_device: &Device, info: &ViewInfo<'_, Self>) -> Result<View> {
        let r = info.range;
        let at = info.image.subresource(r.base_mip_level, r.base_array_layer);
        Ok(View { address: info.addresses[0] + at.offset, size: at.size })
    }

    fn buffer_view(_device: &Device, _format: Format, address: u64, size: u64) -> Result<View> {
        Ok(View { address, size })
    }

    fn sampler(device: &Device, _info: &SamplerInfo) -> Result<Sampler> {
        Ok(Sampler(device.shared.samplers.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn descriptor_sizes(_physical: &Physical, ty: DescriptorType) -> PerSetMemory<u32> {
        use DescriptorType as D;
        match ty {
            D::Sampler => [0, 8, 8],
            D::CombinedImageSampler | D::Mutable => [16, 8, 8],
            _ => [16, 0, 8],
        }
    }

    fn write_descriptor(
        _physical: &Physical,
        ty: DescriptorType,
        d: &Descriptor<'_, Self>,
        mut out: PerSetMemory<&mut [u8]>,
    ) {
        let surface = |out: &mut [u8], address: u64, size: u64| {
            out[..8].copy_from_slice(&address.to_le_bytes());
            out[8..16].copy_from_slice(&size.to_le_bytes());
        };
        out[kind::TYPES].copy_from_slice(&(ty as u64 + 1).to_le_bytes());
        match d {
            Descriptor::Null => out.iter_mut().for_each(|bytes| bytes.fill(0)),
            Descriptor::Buffer { address, size } => {
                surface(out[kind::SURFACES], *address, *size);
            }
            Descriptor::BufferView(v) => surface(out[kind::SURFACES], v.address, v.size),
            Descriptor::Image { view, sampler } => {
                if let Some(v) = view {
                    surface(out[kind::SURFACES], v.address, v.size);
                }
                if let Some(s) = sampler {
                    out[kind::SAMPLERS][..4].copy_from_slice(&s.0.to_le_bytes());
                }
            }
        }
    }

    fn shader(device: &Device, info: ShaderInfo<'_, Self>) -> Result<Shader> {
        memory::lock(&device.shared.compiled).push(info.key);
        Ok(Shader { stage: format!("{:?}", info.ir.info.stage).to_lowercase() })
    }

    fn link(
        device: &Device,
        stages: &Stages<'_, Self>,
        _state: &GraphicsState,
        _optimise: bool,
    ) -> Result<()> {
        let Stages { vertex, control, evaluation, geometry, fragment, expanded } = *stages;
        let all = [vertex, control, evaluation, geometry, fragment];
        let names: Vec<_> = all.into_iter().flatten().map(|s| &*s.stage).collect();
        let expanded = if expanded.is_empty() { "" } else { ", expanded in part" };
        device.shared.say(format!("link {}{expanded}", names.join(" ")));
        Ok(())
    }

    fn executables(_shader: &Shader) -> Vec<Executable> {
        Vec::new()
    }

    fn queries(_device: &Device, info: &QueryInfo) -> Result<Queries> {
        Ok(Arc::new((0..info.count).map(|_| AtomicU64::new(u64::MAX)).collect()))
    }

    fn reset_queries(pool: &Queries, first: u32, count: u32) {
        for q in &pool[first as usize..(first + count) as usize] {
            q.store(u64::MAX, Ordering::Relaxed);
        }
    }

    fn query_result(pool: &Queries, query: u32) -> Option<[u64; MAX_QUERY_VALUES]> {
        let value = pool[query as usize].load(Ordering::Relaxed);
        let mut all = [0; MAX_QUERY_VALUES];
        all[0] = value;
        (value != u64::MAX).then_some(all)
    }

    fn encoder(device: &Arc<Device>, queue_family: u32) -> Result<Encoder> {
        Ok(Encoder::new(device, queue_family))
    }

    fn submit(
        device: &Device,
        queue: QueueId,
        waits: &[SyncPoint],
        commands: &[&Encoder],
        signals: &[SyncPoint],
    ) -> Result<()> {
        Self::check(device)?;
        let failed = |e| Error::kernel("a submission", e);
        let (handles, points): (Vec<u32>, Vec<u64>) = waits.iter().copied().unzip();
        if !handles.is_empty() {
            let wait =
                Wait { deadline_ns: i64::MAX, all: true, for_submit: true, available: false };
            device.node.wait_syncs(&handles, &points, wait).map_err(failed)?;
        }
        let family = if FAMILY == 0 { String::new() } else { format!(" of family {FAMILY}") };
        for c in commands {
            device.shared.say(format!("queue {}.{}{family}", queue.family, queue.index));
            c.execute();
        }
        for &(handle, point) in signals {
            match point {
                0 => device.node.signal_syncs(&[handle]),
                point => device.node.signal_point(handle, point),
            }
            .map_err(failed)?;
        }
        Ok(())
    }

    fn timestamp(_device: &Device) -> Result<u64> {
        Ok(tepui_drm::monotonic_ns())
    }
}
