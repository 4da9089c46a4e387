//! Description of the physical device.

use tepui_format::Format;
use tepui_vulkan::backend::{FormatFeatures, PhysicalInfo, SetMemory};
use tepui_vulkan::chain::Answers;
use tepui_vulkan::promoted::{Features, Properties};
use tepui_vulkan::vk::{self, FormatFeatureFlags2 as F, TRUE};

/// Features of formats that can be rendered to.
pub const TARGETS: F =
    F::from_bits_truncate(F::COLOR_ATTACHMENT.bits() | F::DEPTH_STENCIL_ATTACHMENT.bits());

/// Features of a format: colour of 32 bits, and depth of 32 bits.
pub fn format_features(format: Format) -> FormatFeatures {
    let images = F::SAMPLED_IMAGE | F::TRANSFER_SRC | F::TRANSFER_DST;
    let target = match format {
        Format::R8G8B8A8_UNORM | Format::R32_UINT => F::COLOR_ATTACHMENT | F::STORAGE_IMAGE,
        Format::D32_SFLOAT => F::DEPTH_STENCIL_ATTACHMENT,
        _ => return FormatFeatures::default(),
    };
    FormatFeatures {
        linear: F::empty(),
        optimal: images | target,
        buffer: F::UNIFORM_TEXEL_BUFFER,
        samples: vk::SampleCountFlags::_1,
    }
}

/// Memory types of two heaps: the device's, which the host sees coherently, and the host's, which takes flushes.
fn memory() -> vk::PhysicalDeviceMemoryProperties {
    use vk::MemoryPropertyFlags as P;
    let mut m = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: 2,
        memory_heap_count: 2,
        ..Default::default()
    };
    m.memory_heaps[0] = vk::MemoryHeap { size: 1 << 30, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
    m.memory_heaps[1] = vk::MemoryHeap { size: 1 << 31, flags: vk::MemoryHeapFlags::empty() };
    m.memory_types[0] = vk::MemoryType {
        property_flags: P::DEVICE_LOCAL | P::HOST_VISIBLE | P::HOST_COHERENT,
        heap_index: 0,
    };
    m.memory_types[1] =
        vk::MemoryType { property_flags: P::HOST_VISIBLE | P::HOST_CACHED, heap_index: 1 };
    m
}

/// Description of the physical device.
pub fn info() -> PhysicalInfo {
    use vk::QueueFlags as Q;
    let queue = |queue_flags, queue_count| vk::QueueFamilyProperties {
        queue_flags,
        queue_count,
        timestamp_valid_bits: 64,
        min_image_transfer_granularity: vk::Extent3D { width: 1, height: 1, depth: 1 },
    };
    let features = Features {
        v12: vk::PhysicalDeviceVulkan12Features {
            descriptor_binding_variable_descriptor_count: TRUE,
            ..Default::default()
        },
        v13: vk::PhysicalDeviceVulkan13Features {
            inline_uniform_block: TRUE,
            ..Default::default()
        },
        ..Features::default()
    };
    let mut feature_chain: Answers = features.answers();
    // SAFETY: a structure of truth values.
    unsafe {
        feature_chain.add(vk::PhysicalDeviceShaderObjectFeaturesEXT {
            shader_object: TRUE,
            ..Default::default()
        });
    }
    PhysicalInfo {
        properties: vk::PhysicalDeviceProperties {
            api_version: tepui_vulkan::instance::API_VERSION,
            device_type: vk::PhysicalDeviceType::OTHER,
            device_name: vk::StringArray::from_bytes(b"Null"),
            ..Default::default()
        },
        features: vk::PhysicalDeviceFeatures {
            geometry_shader: TRUE,
            tessellation_shader: TRUE,
            ..Default::default()
        },
        property_chain: Properties::default().answers(),
        feature_chain,
        extensions: vec![("VK_EXT_shader_object", 1)],
        memory: memory(),
        queues: vec![
            queue(Q::GRAPHICS | Q::COMPUTE | Q::TRANSFER, 1),
            queue(Q::COMPUTE | Q::TRANSFER, 2),
        ],
        priorities: &[vk::QueueGlobalPriority::MEDIUM],
        graphics_stages: vk::ShaderStageFlags::ALL_GRAPHICS,
        set_memory: &[
            SetMemory::Device { memory_type: 0 },
            SetMemory::Device { memory_type: 1 },
            SetMemory::Host,
        ],
        max_memory_bytes: 1 << 30,
        shading_rates: &[],
    }
}
