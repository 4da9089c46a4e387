//! Descriptions of physical devices, queues and memory.

use std::os::fd::OwnedFd;

use vulkanalia_sys as vk;

use super::object::ImageInfo;
use crate::chain::Answers;

/// A sync object of the kernel, and a point of it; 0 for binary ones.
pub type SyncPoint = (u32, u64);

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
    /// Pages of the application's own.
    Host,
}

/// Memory that there is before an allocation.
pub enum Import {
    /// The memory of a file descriptor.
    File(OwnedFd),
    /// Whole pages of the application's own, which it keeps as long as the memory lives.
    Host(*mut u8),
}

/// A size of fragments that pipelines may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShadingRate {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Numbers of samples of a pixel with which it can be.
    pub samples: vk::SampleCountFlags,
}

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
    /// Sizes of fragments, from the widest and highest to a pixel; none without shading rates.
    pub shading_rates: &'static [ShadingRate],
}

impl PhysicalInfo {
    /// One heap and one type of memory, of a GPU that shares memory and its cache with the host. The heap is three quarters of
    /// the memory, since everything else lives in it too.
    #[must_use]
    pub fn unified_memory() -> vk::PhysicalDeviceMemoryProperties {
        let mut memory = vk::PhysicalDeviceMemoryProperties {
            memory_type_count: 1,
            memory_heap_count: 1,
            ..Default::default()
        };
        memory.memory_types[0] = vk::MemoryType {
            property_flags: vk::MemoryPropertyFlags::DEVICE_LOCAL
                | vk::MemoryPropertyFlags::HOST_VISIBLE
                | vk::MemoryPropertyFlags::HOST_COHERENT
                | vk::MemoryPropertyFlags::HOST_CACHED,
            heap_index: 0,
        };
        let host = rustix::system::sysinfo();
        let total = host.totalram as u64 * u64::from(host.mem_unit);
        let flags = vk::MemoryHeapFlags::DEVICE_LOCAL;
        memory.memory_heaps[0] = vk::MemoryHeap { size: total / 4 * 3, flags };
        memory
    }
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

/// Memory of a set as the host sees it: for families that read descriptors when they encode draws.
#[derive(Clone, Copy)]
pub struct HostBytes {
    start: *const u8,
    size: u32,
}

// SAFETY: an address is data; reading takes an unsafe function.
unsafe impl Send for HostBytes {}
// SAFETY: as above.
unsafe impl Sync for HostBytes {}

impl Default for HostBytes {
    fn default() -> HostBytes {
        HostBytes { start: std::ptr::dangling(), size: 0 }
    }
}

impl HostBytes {
    /// The memory at an address of the host.
    pub(crate) fn new(start: *const u8, size: u32) -> HostBytes {
        HostBytes { start, size }
    }

    pub(crate) fn start(self) -> *const u8 {
        self.start
    }

    pub(crate) fn size(self) -> u32 {
        self.size
    }

    /// The bytes.
    ///
    /// # Safety
    /// The set lives, and nothing writes to it meanwhile.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: as the caller says.
        unsafe { std::slice::from_raw_parts(self.start, self.size as usize) }
    }
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
    /// Memory that is imported.
    pub import: Option<Import>,
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
