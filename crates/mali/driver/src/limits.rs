//! Limits, features and extensions of the driver, as data.
//!
//! Limits of the hardware and their sources: Mesa, panvk_physical_device.c, unless a line says otherwise. Features are those that the
//! compiler and the encoder have so far: dispatches and copies.

use tepui_mali_chips::Chip;
use tepui_vulkan::backend::{PhysicalInfo, SetMemory};
use tepui_vulkan::chain::Answers;
use tepui_vulkan::command::{MAX_PUSH, MAX_SETS};
use tepui_vulkan::promoted::{Features, Properties};
use tepui_vulkan::vk::{self, FALSE, TRUE};

use crate::texture::MAX_ELEMENTS;

/// Driver ID. Only registered ones have names, and unregistered ones may be returned (Vulkan specification, "Physical Device
/// Enumeration"): this one spells "TEPU".
const DRIVER: vk::DriverId = vk::DriverId::from_raw(0x5445_5055);
/// Arm's number among vendors.
const VENDOR_ID: u32 = 0x13b5;
/// Invocations of a subgroup: those of a warp.
pub const SUBGROUP_SIZE: u32 = 16;
/// Descriptors of a kind that a set has. Tables are indexed with 24 bits.
const MAX_DESCRIPTORS: u32 = 1 << 16;
/// Textures of which an instruction names one by an immediate. source: mali-driver facts of Mesa's valhall_enums
const MAX_SAMPLED: u32 = 1 << 16;
/// Buffers with dynamic offsets in all sets, of each kind.
const MAX_DYNAMIC: u32 = 16;
/// Samplers at once, the least that the specification allows.
const MAX_SAMPLERS: u32 = 4000;
/// Bytes of the largest allocation.
const MAX_MEMORY: u64 = 1 << 32;
/// Bytes of workgroup memory.
const MAX_SHARED: u32 = 32 << 10;
/// Ticks of the GPU's clock in a second, on the virtual device; a node says its own.
const TIMESTAMP_HZ: f32 = 1e9;

/// The only memory type, as a bit.
pub const MEMORY_TYPES: u32 = 1;

/// Device extensions of the hardware and the compiler, and their versions. [`tepui_vulkan::offer`] has those of the runtime.
const EXTENSIONS: &[(&str, u32)] = &[
    ("VK_KHR_external_memory", 1),
    ("VK_KHR_external_memory_fd", 1),
    ("VK_KHR_global_priority", 1),
    ("VK_KHR_maintenance1", 2),
    ("VK_KHR_maintenance2", 1),
    ("VK_KHR_maintenance3", 1),
    ("VK_EXT_external_memory_dma_buf", 1),
    ("VK_EXT_global_priority", 2),
    ("VK_EXT_host_image_copy", 1),
];

fn limits(chip: &Chip) -> vk::PhysicalDeviceLimits {
    let one = vk::SampleCountFlags::_1;
    let _ = chip;
    vk::PhysicalDeviceLimits {
        // Strides of planes have 32 bits, so that larger ones need not fit.
        max_image_dimension_1d: 16383,
        max_image_dimension_2d: 16383,
        max_image_dimension_3d: 512,
        max_image_dimension_cube: 16383,
        max_image_array_layers: 2048,
        max_texel_buffer_elements: MAX_ELEMENTS,
        max_uniform_buffer_range: 1 << 16,
        max_storage_buffer_range: u32::MAX,
        max_push_constants_size: MAX_PUSH as u32,
        max_memory_allocation_count: u32::MAX,
        max_sampler_allocation_count: MAX_SAMPLERS,
        buffer_image_granularity: 64,
        sparse_address_space_size: 0,
        max_bound_descriptor_sets: MAX_SETS as u32,
        max_per_stage_descriptor_samplers: MAX_SAMPLED,
        max_per_stage_descriptor_uniform_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_storage_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_sampled_images: MAX_SAMPLED,
        max_per_stage_descriptor_storage_images: MAX_SAMPLED,
        max_per_stage_descriptor_input_attachments: 9,
        max_per_stage_resources: 5 * MAX_DESCRIPTORS,
        max_descriptor_set_samplers: MAX_SAMPLED,
        max_descriptor_set_uniform_buffers: MAX_DESCRIPTORS,
        max_descriptor_set_uniform_buffers_dynamic: MAX_DYNAMIC,
        max_descriptor_set_storage_buffers: MAX_DESCRIPTORS,
        max_descriptor_set_storage_buffers_dynamic: MAX_DYNAMIC,
        max_descriptor_set_sampled_images: MAX_SAMPLED,
        max_descriptor_set_storage_images: MAX_SAMPLED,
        max_descriptor_set_input_attachments: 9,
        max_vertex_input_attributes: 16,
        max_vertex_input_bindings: 16,
        max_vertex_input_attribute_offset: 2047,
        max_vertex_input_binding_stride: 2048,
        max_vertex_output_components: 64,
        max_fragment_input_components: 64,
        max_fragment_output_attachments: 8,
        max_fragment_combined_output_resources: 5 * MAX_DESCRIPTORS,
        max_compute_shared_memory_size: MAX_SHARED,
        max_compute_work_group_count: [65535; 3],
        max_compute_work_group_invocations: 1024,
        max_compute_work_group_size: [1024; 3],
        sub_pixel_precision_bits: 8,
        sub_texel_precision_bits: 8,
        mipmap_precision_bits: 8,
        max_draw_indexed_index_value: u32::MAX,
        max_draw_indirect_count: 1,
        max_sampler_lod_bias: 16.0,
        max_sampler_anisotropy: 16.0,
        max_viewports: 1,
        max_viewport_dimensions: [16384; 2],
        viewport_bounds_range: [-32768.0, 32767.0],
        viewport_sub_pixel_bits: 0,
        min_memory_map_alignment: 4096,
        min_texel_buffer_offset_alignment: 64,
        min_uniform_buffer_offset_alignment: 16,
        min_storage_buffer_offset_alignment: 1 << tepui_passes::vectorise::LINE_LOG2,
        min_texel_offset: -8,
        max_texel_offset: 7,
        min_texel_gather_offset: -8,
        max_texel_gather_offset: 7,
        min_interpolation_offset: -0.5,
        max_interpolation_offset: 0.5,
        sub_pixel_interpolation_offset_bits: 8,
        max_framebuffer_width: 16384,
        max_framebuffer_height: 16384,
        max_framebuffer_layers: 256,
        framebuffer_color_sample_counts: one,
        framebuffer_depth_sample_counts: one,
        framebuffer_stencil_sample_counts: one,
        framebuffer_no_attachments_sample_counts: one,
        max_color_attachments: 8,
        sampled_image_color_sample_counts: one,
        sampled_image_integer_sample_counts: one,
        sampled_image_depth_sample_counts: one,
        sampled_image_stencil_sample_counts: one,
        storage_image_sample_counts: one,
        max_sample_mask_words: 1,
        timestamp_compute_and_graphics: TRUE,
        timestamp_period: 1e9 / TIMESTAMP_HZ,
        max_clip_distances: 0,
        max_cull_distances: 0,
        max_combined_clip_and_cull_distances: 0,
        discrete_queue_priorities: 2,
        point_size_range: [1.0, 1024.0],
        line_width_range: [1.0, 1.0],
        point_size_granularity: 1.0 / 16.0,
        line_width_granularity: 0.0,
        strict_lines: FALSE,
        standard_sample_locations: TRUE,
        optimal_buffer_copy_offset_alignment: 64,
        optimal_buffer_copy_row_pitch_alignment: 64,
        non_coherent_atom_size: 64,
        ..Default::default()
    }
}

/// A structure of features with these ones on.
macro_rules! on {
    ($Type:ident { $($field:ident),* $(,)? }) => {
        vk::$Type { $($field: TRUE,)* ..Default::default() }
    };
}

/// Features of Vulkan 1.0.
fn features() -> vk::PhysicalDeviceFeatures {
    on!(PhysicalDeviceFeatures { robust_buffer_access })
}

/// Features of the core versions after 1.0.
fn core_features() -> Features {
    Features {
        v14: on!(PhysicalDeviceVulkan14Features { global_priority_query, host_image_copy }),
        ..Features::default()
    }
}

fn property_chain(chip: &Chip) -> Answers {
    let uuid = uuid(chip);
    let text = |s: &str| s.as_bytes().to_vec();
    let core = Properties {
        v11: vk::PhysicalDeviceVulkan11Properties {
            device_uuid: uuid,
            driver_uuid: uuid,
            subgroup_size: SUBGROUP_SIZE,
            subgroup_supported_stages: vk::ShaderStageFlags::COMPUTE,
            subgroup_supported_operations: vk::SubgroupFeatureFlags::BASIC,
            max_multiview_view_count: 6,
            max_multiview_instance_index: (1 << 27) - 1,
            max_per_set_descriptors: MAX_DESCRIPTORS,
            max_memory_allocation_size: MAX_MEMORY,
            ..Default::default()
        },
        v12: vk::PhysicalDeviceVulkan12Properties {
            driver_id: DRIVER,
            driver_name: vk::StringArray::from_bytes(&text("Tepui Mali")),
            driver_info: vk::StringArray::from_bytes(&text(concat!(
                "Tepui ",
                env!("CARGO_PKG_VERSION")
            ))),
            max_timeline_semaphore_value_difference: u64::MAX,
            ..Default::default()
        },
        v13: vk::PhysicalDeviceVulkan13Properties {
            min_subgroup_size: SUBGROUP_SIZE,
            max_subgroup_size: SUBGROUP_SIZE,
            max_compute_workgroup_subgroups: 1024 / SUBGROUP_SIZE,
            max_buffer_size: MAX_MEMORY,
            storage_texel_buffer_offset_alignment_bytes: 64,
            uniform_texel_buffer_offset_alignment_bytes: 64,
            ..Default::default()
        },
        ..Properties::default()
    };
    core.answers()
}

/// A number that names the chip.
fn uuid(chip: &Chip) -> vk::ByteArray<16> {
    let mut bytes = *b"tepui-mali\0\0\0\0\0\0";
    bytes[12..].copy_from_slice(&chip.product_id.to_le_bytes());
    vk::ByteArray(bytes)
}

/// A number that names the chip and the driver's build.
fn cache_uuid(chip: &Chip) -> vk::ByteArray<16> {
    let mut bytes = uuid(chip).0;
    bytes[..8].copy_from_slice(&tepui_vulkan::cache::build_stamp().to_le_bytes());
    vk::ByteArray(bytes)
}

/// One memory type: mapped write-combined, as the GPU does not see the host's cache.
fn memory() -> vk::PhysicalDeviceMemoryProperties {
    let mut memory = PhysicalInfo::unified_memory();
    memory.memory_types[0].property_flags = vk::MemoryPropertyFlags::DEVICE_LOCAL
        | vk::MemoryPropertyFlags::HOST_VISIBLE
        | vk::MemoryPropertyFlags::HOST_COHERENT;
    memory
}

/// Description of a chip's physical device.
pub fn info(chip: &'static Chip) -> PhysicalInfo {
    let queue = vk::QueueFamilyProperties {
        queue_flags: vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER,
        queue_count: 1,
        timestamp_valid_bits: 64,
        min_image_transfer_granularity: vk::Extent3D { width: 1, height: 1, depth: 1 },
    };
    let device_name = format!("{}, Tepui", chip.name);
    PhysicalInfo {
        properties: vk::PhysicalDeviceProperties {
            api_version: vk::make_version(1, 4, 309),
            driver_version: vk::make_version(0, 1, 0),
            vendor_id: VENDOR_ID,
            device_id: chip.gpu_id(),
            device_type: vk::PhysicalDeviceType::INTEGRATED_GPU,
            device_name: vk::StringArray::from_bytes(device_name.as_bytes()),
            pipeline_cache_uuid: cache_uuid(chip),
            limits: limits(chip),
            sparse_properties: vk::PhysicalDeviceSparseProperties::default(),
        },
        features: features(),
        property_chain: property_chain(chip),
        feature_chain: core_features().answers(),
        extensions: EXTENSIONS.to_vec(),
        memory: memory(),
        priorities: &[vk::QueueGlobalPriority::LOW, vk::QueueGlobalPriority::MEDIUM],
        queues: vec![queue],
        graphics_stages: vk::ShaderStageFlags::ALL_GRAPHICS,
        set_memory: &[SetMemory::Device { memory_type: 0 }],
        max_memory_bytes: MAX_MEMORY,
    }
}
