//! Limits, features and extensions of the driver, as data.
//!
//! Limits of the hardware and their sources: Mesa, anv_physical_device.c, unless a line says otherwise. Features are those that the
//! compiler and the encoder have so far.

use tepui_intel_chips::{Chip, VENDOR_ID};
use tepui_vulkan::backend::{PhysicalInfo, SetMemory};
use tepui_vulkan::chain::Answers;
use tepui_vulkan::command::{MAX_PUSH, MAX_SETS};
use tepui_vulkan::promoted::{Features, Properties};
use tepui_vulkan::vk::{self, FALSE, TRUE};

use crate::descriptor::UNIFORM_UNIT_B;

/// Driver ID. Only registered ones have names, and unregistered ones may be returned (Vulkan specification, "Physical Device
/// Enumeration"): this one spells "TEPU".
const DRIVER: vk::DriverId = vk::DriverId::from_raw(0x5445_5055);
/// Descriptors of a kind that a stage sees: those that entries of a binding table can name.
const MAX_DESCRIPTORS: u32 = 200;
/// Buffers with dynamic offsets in all sets, of each kind.
const MAX_DYNAMIC: u32 = 16;
/// Samplers at once, the least that the specification allows.
const MAX_SAMPLERS: u32 = 4000;
/// Bytes of the largest allocation.
const MAX_MEMORY: u64 = 1 << 32;

/// The only memory type, as a bit.
pub const MEMORY_TYPES: u32 = 1;

/// Device extensions of the hardware and the compiler, and their versions. [`tepui_vulkan::offer`] has those of the runtime.
const EXTENSIONS: &[(&str, u32)] = &[
    ("VK_KHR_16bit_storage", 1),
    ("VK_KHR_8bit_storage", 1),
    ("VK_KHR_buffer_device_address", 1),
    ("VK_KHR_external_memory", 1),
    ("VK_KHR_external_memory_fd", 1),
    ("VK_KHR_maintenance1", 2),
    ("VK_KHR_maintenance2", 1),
    ("VK_KHR_maintenance3", 1),
    ("VK_KHR_maintenance4", 2),
    ("VK_KHR_pipeline_executable_properties", 1),
    ("VK_KHR_shader_float16_int8", 1),
    ("VK_KHR_shader_float_controls", 4),
    ("VK_KHR_shader_integer_dot_product", 1),
    ("VK_KHR_uniform_buffer_standard_layout", 1),
    ("VK_KHR_variable_pointers", 1),
    ("VK_KHR_vulkan_memory_model", 3),
    ("VK_KHR_zero_initialize_workgroup_memory", 1),
    ("VK_EXT_external_memory_dma_buf", 1),
    ("VK_EXT_host_image_copy", 1),
    ("VK_EXT_inline_uniform_block", 1),
    ("VK_EXT_scalar_block_layout", 1),
];

fn limits(chip: &Chip) -> vk::PhysicalDeviceLimits {
    let samples = vk::SampleCountFlags::_1;
    vk::PhysicalDeviceLimits {
        max_image_dimension_1d: 16384,
        max_image_dimension_2d: 16384,
        max_image_dimension_3d: 2048,
        max_image_dimension_cube: 16384,
        max_image_array_layers: 2048,
        max_texel_buffer_elements: 1 << 27,
        max_uniform_buffer_range: 1 << 27,
        max_storage_buffer_range: 1 << 30,
        max_push_constants_size: MAX_PUSH as u32,
        max_memory_allocation_count: 4096,
        max_sampler_allocation_count: MAX_SAMPLERS,
        buffer_image_granularity: 1,
        sparse_address_space_size: 0,
        max_bound_descriptor_sets: MAX_SETS as u32,
        max_per_stage_descriptor_samplers: 128,
        max_per_stage_descriptor_uniform_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_storage_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_sampled_images: MAX_DESCRIPTORS,
        max_per_stage_descriptor_storage_images: MAX_DESCRIPTORS,
        max_per_stage_descriptor_input_attachments: 64,
        max_per_stage_resources: MAX_DESCRIPTORS,
        max_descriptor_set_samplers: 6 * 128,
        max_descriptor_set_uniform_buffers: 6 * MAX_DESCRIPTORS,
        max_descriptor_set_uniform_buffers_dynamic: MAX_DYNAMIC,
        max_descriptor_set_storage_buffers: 6 * MAX_DESCRIPTORS,
        max_descriptor_set_storage_buffers_dynamic: MAX_DYNAMIC,
        max_descriptor_set_sampled_images: 6 * MAX_DESCRIPTORS,
        max_descriptor_set_storage_images: 6 * MAX_DESCRIPTORS,
        max_descriptor_set_input_attachments: 64,
        max_vertex_input_attributes: 28,
        max_vertex_input_bindings: 28,
        max_vertex_input_attribute_offset: 2047,
        max_vertex_input_binding_stride: 4095,
        max_vertex_output_components: 128,
        max_fragment_input_components: 116,
        max_fragment_output_attachments: 8,
        max_fragment_dual_src_attachments: 1,
        max_fragment_combined_output_resources: MAX_DESCRIPTORS,
        max_compute_shared_memory_size: 64 << 10,
        max_compute_work_group_count: [65535; 3],
        // 56 threads of 32 channels would be more; 64 bits of a group's barrier and the API's least leave this.
        max_compute_work_group_invocations: 1024,
        max_compute_work_group_size: [1024, 1024, 1024],
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
        viewport_sub_pixel_bits: 13,
        min_memory_map_alignment: 4096,
        min_texel_buffer_offset_alignment: 16,
        min_uniform_buffer_offset_alignment: u64::from(UNIFORM_UNIT_B),
        min_storage_buffer_offset_alignment: 1 << tepui_passes::vectorise::LINE_LOG2,
        min_texel_offset: -8,
        max_texel_offset: 7,
        min_texel_gather_offset: -32,
        max_texel_gather_offset: 31,
        min_interpolation_offset: -0.5,
        max_interpolation_offset: 0.4375,
        sub_pixel_interpolation_offset_bits: 4,
        max_framebuffer_width: 16384,
        max_framebuffer_height: 16384,
        max_framebuffer_layers: 2048,
        framebuffer_color_sample_counts: samples,
        framebuffer_depth_sample_counts: samples,
        framebuffer_stencil_sample_counts: samples,
        framebuffer_no_attachments_sample_counts: samples,
        max_color_attachments: 8,
        sampled_image_color_sample_counts: samples,
        sampled_image_integer_sample_counts: samples,
        sampled_image_depth_sample_counts: samples,
        sampled_image_stencil_sample_counts: samples,
        storage_image_sample_counts: samples,
        max_sample_mask_words: 1,
        timestamp_compute_and_graphics: FALSE,
        timestamp_period: 1e9 / chip.timestamp_hz as f32,
        max_clip_distances: 8,
        max_cull_distances: 8,
        max_combined_clip_and_cull_distances: 8,
        discrete_queue_priorities: 2,
        point_size_range: [0.125, 255.875],
        line_width_range: [1.0, 1.0],
        point_size_granularity: 0.125,
        line_width_granularity: 0.0,
        strict_lines: FALSE,
        standard_sample_locations: TRUE,
        optimal_buffer_copy_offset_alignment: 128,
        optimal_buffer_copy_row_pitch_alignment: 128,
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
    on!(PhysicalDeviceFeatures {
        robust_buffer_access,
        full_draw_index_uint32,
        independent_blend,
        logic_op,
        draw_indirect_first_instance,
        depth_clamp,
        depth_bias_clamp,
        fill_mode_non_solid,
        vertex_pipeline_stores_and_atomics,
        fragment_stores_and_atomics,
        shader_clip_distance,
        shader_cull_distance,
        shader_float64,
        shader_int64,
        shader_int16,
    })
}

fn feature_chain() -> Answers {
    let core = Features {
        v11: on!(PhysicalDeviceVulkan11Features {
            storage_buffer_16bit_access,
            uniform_and_storage_buffer_16bit_access,
            storage_push_constant16,
            variable_pointers_storage_buffer,
            variable_pointers,
        }),
        v12: on!(PhysicalDeviceVulkan12Features {
            storage_buffer_8bit_access,
            uniform_and_storage_buffer_8bit_access,
            storage_push_constant8,
            shader_float16,
            shader_int8,
            scalar_block_layout,
            uniform_buffer_standard_layout,
            buffer_device_address,
            buffer_device_address_capture_replay,
            vulkan_memory_model,
            vulkan_memory_model_device_scope,
        }),
        v13: on!(PhysicalDeviceVulkan13Features {
            inline_uniform_block,
            shader_zero_initialize_workgroup_memory,
            shader_integer_dot_product,
            maintenance4,
        }),
        v14: on!(PhysicalDeviceVulkan14Features { host_image_copy }),
    };
    let mut a = core.answers();
    // SAFETY: feature structures of the registry have truth values only.
    unsafe {
        a.add(on!(PhysicalDevicePipelineExecutablePropertiesFeaturesKHR {
            pipeline_executable_info
        }));
    }
    a
}

fn property_chain(chip: &Chip) -> Answers {
    let uuid = uuid(chip);
    let name = |s: &str| vk::StringArray::from_bytes(s.as_bytes());
    let info = |s: &str| vk::StringArray::from_bytes(s.as_bytes());
    let independence = vk::ShaderFloatControlsIndependence::ALL;
    let core = Properties {
        v11: vk::PhysicalDeviceVulkan11Properties {
            device_uuid: uuid,
            driver_uuid: uuid,
            subgroup_size: 16,
            subgroup_supported_stages: vk::ShaderStageFlags::COMPUTE,
            subgroup_supported_operations: vk::SubgroupFeatureFlags::BASIC,
            point_clipping_behavior: vk::PointClippingBehavior::USER_CLIP_PLANES_ONLY,
            max_per_set_descriptors: 1024,
            max_memory_allocation_size: MAX_MEMORY,
            ..Default::default()
        },
        v12: vk::PhysicalDeviceVulkan12Properties {
            driver_id: DRIVER,
            driver_name: name("Tepui Intel"),
            driver_info: info(concat!("Tepui ", env!("CARGO_PKG_VERSION"))),
            denorm_behavior_independence: independence,
            rounding_mode_independence: vk::ShaderFloatControlsIndependence::NONE,
            max_timeline_semaphore_value_difference: u64::MAX,
            ..Default::default()
        },
        v13: vk::PhysicalDeviceVulkan13Properties {
            min_subgroup_size: 8,
            max_subgroup_size: 32,
            max_compute_workgroup_subgroups: 56,
            max_inline_uniform_block_size: 4096,
            max_per_stage_descriptor_inline_uniform_blocks: 32,
            max_descriptor_set_inline_uniform_blocks: 32,
            max_inline_uniform_total_size: 1 << 16,
            storage_texel_buffer_offset_alignment_bytes: 16,
            uniform_texel_buffer_offset_alignment_bytes: 16,
            max_buffer_size: MAX_MEMORY,
            ..Default::default()
        },
        v14: vk::PhysicalDeviceVulkan14Properties {
            max_push_descriptors: 32,
            ..Default::default()
        },
    };
    core.answers()
}

/// A number that names the chip and the driver's version.
fn uuid(chip: &Chip) -> vk::ByteArray<16> {
    let mut bytes = *b"tepui-intel\0\0\0\0\0";
    for (to, from) in bytes[11..].iter_mut().zip(chip.id.bytes()) {
        *to = from;
    }
    vk::ByteArray(bytes)
}

/// A number that names the chip and the driver's build.
fn cache_uuid(chip: &Chip) -> vk::ByteArray<16> {
    let mut bytes = uuid(chip).0;
    bytes[..8].copy_from_slice(&tepui_vulkan::cache::build_stamp().to_le_bytes());
    vk::ByteArray(bytes)
}

/// Description of a chip's physical device.
pub fn info(chip: &'static Chip) -> PhysicalInfo {
    let mut memory = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: 1,
        memory_heap_count: 1,
        ..Default::default()
    };
    memory.memory_types[0] = vk::MemoryType {
        // GPU and CPU share the last level of the cache.
        property_flags: vk::MemoryPropertyFlags::DEVICE_LOCAL
            | vk::MemoryPropertyFlags::HOST_VISIBLE
            | vk::MemoryPropertyFlags::HOST_COHERENT
            | vk::MemoryPropertyFlags::HOST_CACHED,
        heap_index: 0,
    };
    let host = rustix::system::sysinfo();
    let total = host.totalram as u64 * u64::from(host.mem_unit);
    // Three quarters of the memory: the GPU shares it with everything else. source: Mesa, anv_physical_device.c,
    // `anv_compute_sys_heap_size`
    memory.memory_heaps[0] =
        vk::MemoryHeap { size: total / 4 * 3, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
    let queue = vk::QueueFamilyProperties {
        queue_flags: vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER,
        queue_count: 1,
        timestamp_valid_bits: 0,
        min_image_transfer_granularity: vk::Extent3D { width: 1, height: 1, depth: 1 },
    };
    let device_name = format!("{}, Tepui", chip.name);
    PhysicalInfo {
        properties: vk::PhysicalDeviceProperties {
            api_version: vk::make_version(1, 4, 309),
            driver_version: vk::make_version(0, 1, 0),
            vendor_id: u32::from(VENDOR_ID),
            device_id: u32::from(chip.device_id),
            device_type: vk::PhysicalDeviceType::INTEGRATED_GPU,
            device_name: vk::StringArray::from_bytes(device_name.as_bytes()),
            pipeline_cache_uuid: cache_uuid(chip),
            limits: limits(chip),
            sparse_properties: vk::PhysicalDeviceSparseProperties::default(),
        },
        features: features(),
        property_chain: property_chain(chip),
        feature_chain: feature_chain(),
        extensions: EXTENSIONS.to_vec(),
        memory,
        priorities: &[vk::QueueGlobalPriority::LOW, vk::QueueGlobalPriority::MEDIUM],
        queues: vec![queue],
        graphics_stages: vk::ShaderStageFlags::ALL_GRAPHICS,
        set_memory: &[SetMemory::Device { memory_type: 0 }, SetMemory::Device { memory_type: 0 }],
        max_memory_bytes: MAX_MEMORY,
    }
}
