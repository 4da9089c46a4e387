//! Properties of the driver in extension chains.

use tepui_intel_chips::{Chip, Generation};
use tepui_intel_compiler::max_threads;
use tepui_vulkan::backend::{MAX_PLANES, ShadingRate};
use tepui_vulkan::chain::Answers;
use tepui_vulkan::feedback::{MAX_FEEDBACK, MAX_STREAMS};
use tepui_vulkan::promoted::{self, CONFORMANCE_VERSION, Properties};
use tepui_vulkan::vk::{self, FALSE, TRUE};

use crate::graphics::pixel::MAX_SAMPLE_PLACE;
use crate::limits::{MAX_DYNAMIC, MAX_LATE, MAX_MEMORY, MAX_SAMPLERS};
use crate::shader::SUBGROUP_SIZE;
use crate::states::{RECORDS, UNIFORM_UNIT_B, sizes};

/// Driver ID. Only registered ones have names, and unregistered ones may be returned (Vulkan specification, "Physical Device
/// Enumeration"): this one spells "TEPU".
const DRIVER: vk::DriverId = vk::DriverId::from_raw(0x5445_5055);
/// Operations of subgroups.
const SUBGROUP_OPERATIONS: vk::SubgroupFeatureFlags = vk::SubgroupFeatureFlags::BASIC
    .union(vk::SubgroupFeatureFlags::VOTE)
    .union(vk::SubgroupFeatureFlags::ARITHMETIC)
    .union(vk::SubgroupFeatureFlags::BALLOT)
    .union(vk::SubgroupFeatureFlags::SHUFFLE)
    .union(vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE)
    .union(vk::SubgroupFeatureFlags::CLUSTERED)
    .union(vk::SubgroupFeatureFlags::QUAD)
    .union(vk::SubgroupFeatureFlags::ROTATE)
    .union(vk::SubgroupFeatureFlags::ROTATE_CLUSTERED);

/// Properties of the core versions.
fn core(chip: &Chip) -> Properties {
    let uuid = uuid(chip);
    let name = |s: &str| vk::StringArray::from_bytes(s.as_bytes());
    let info = |s: &str| vk::StringArray::from_bytes(s.as_bytes());
    let stencil_modes =
        vk::ResolveModeFlags::SAMPLE_ZERO | vk::ResolveModeFlags::MIN | vk::ResolveModeFlags::MAX;
    let independence = vk::ShaderFloatControlsIndependence::ALL;
    Properties {
        v11: vk::PhysicalDeviceVulkan11Properties {
            device_uuid: uuid,
            driver_uuid: uuid,
            subgroup_size: u32::from(SUBGROUP_SIZE),
            subgroup_supported_stages: vk::ShaderStageFlags::ALL_GRAPHICS
                | vk::ShaderStageFlags::COMPUTE,
            subgroup_supported_operations: SUBGROUP_OPERATIONS,
            subgroup_quad_operations_in_all_stages: TRUE,
            point_clipping_behavior: vk::PointClippingBehavior::USER_CLIP_PLANES_ONLY,
            max_multiview_view_count: 16,
            max_multiview_instance_index: u32::MAX >> 4,
            max_per_set_descriptors: 1 << 16,
            max_memory_allocation_size: MAX_MEMORY,
            ..Default::default()
        },
        v12: vk::PhysicalDeviceVulkan12Properties {
            driver_id: DRIVER,
            driver_name: name("Tepui Intel"),
            conformance_version: CONFORMANCE_VERSION,
            filter_minmax_single_component_formats: TRUE,
            filter_minmax_image_component_mapping: TRUE,
            supported_depth_resolve_modes: stencil_modes | vk::ResolveModeFlags::AVERAGE,
            supported_stencil_resolve_modes: stencil_modes,
            independent_resolve_none: TRUE,
            independent_resolve: TRUE,
            framebuffer_integer_color_sample_counts: crate::format::SAMPLES,
            max_update_after_bind_descriptors_in_all_pools: MAX_LATE,
            robust_buffer_access_update_after_bind: TRUE,
            max_per_stage_descriptor_update_after_bind_samplers: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_uniform_buffers: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_storage_buffers: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_sampled_images: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_storage_images: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_input_attachments: 64,
            max_per_stage_update_after_bind_resources: MAX_LATE,
            max_descriptor_set_update_after_bind_samplers: MAX_LATE,
            max_descriptor_set_update_after_bind_uniform_buffers: MAX_LATE,
            max_descriptor_set_update_after_bind_uniform_buffers_dynamic: MAX_DYNAMIC,
            max_descriptor_set_update_after_bind_storage_buffers: MAX_LATE,
            max_descriptor_set_update_after_bind_storage_buffers_dynamic: MAX_DYNAMIC,
            max_descriptor_set_update_after_bind_sampled_images: MAX_LATE,
            max_descriptor_set_update_after_bind_storage_images: MAX_LATE,
            max_descriptor_set_update_after_bind_input_attachments: 64,
            driver_info: info(concat!("Tepui ", env!("CARGO_PKG_VERSION"))),
            denorm_behavior_independence: independence,
            shader_signed_zero_inf_nan_preserve_float16: TRUE,
            shader_signed_zero_inf_nan_preserve_float32: TRUE,
            shader_rounding_mode_rte_float16: TRUE,
            shader_rounding_mode_rte_float32: TRUE,
            rounding_mode_independence: vk::ShaderFloatControlsIndependence::NONE,
            max_timeline_semaphore_value_difference: u64::MAX,
            ..Default::default()
        },
        v13: vk::PhysicalDeviceVulkan13Properties {
            min_subgroup_size: 8,
            max_subgroup_size: 32,
            max_compute_workgroup_subgroups: max_threads(chip.generation),
            required_subgroup_size_stages: vk::ShaderStageFlags::COMPUTE,
            max_inline_uniform_block_size: 4096,
            max_per_stage_descriptor_inline_uniform_blocks: 32,
            max_per_stage_descriptor_update_after_bind_inline_uniform_blocks: 32,
            max_descriptor_set_inline_uniform_blocks: 32,
            max_descriptor_set_update_after_bind_inline_uniform_blocks: 32,
            max_inline_uniform_total_size: 1 << 16,
            storage_texel_buffer_offset_alignment_bytes: 16,
            uniform_texel_buffer_offset_alignment_bytes: 16,
            max_buffer_size: MAX_MEMORY,
            ..Default::default()
        },
        v14: vk::PhysicalDeviceVulkan14Properties {
            line_sub_pixel_precision_bits: 4,
            max_vertex_attrib_divisor: u32::MAX,
            supports_non_zero_first_instance: TRUE,
            max_push_descriptors: 32,
            dynamic_rendering_local_read_depth_stencil_attachments: TRUE,
            dynamic_rendering_local_read_multisampled_attachments: TRUE,
            max_combined_image_sampler_descriptor_count: MAX_PLANES as u32,
            default_robustness_storage_buffers: ROBUST,
            default_robustness_uniform_buffers: ROBUST,
            default_robustness_vertex_inputs: ROBUST,
            default_robustness_images: vk::PipelineRobustnessImageBehavior::ROBUST_IMAGE_ACCESS_2,
            ..Default::default()
        },
    }
}

/// Properties of the core versions and of extensions.
pub fn chain(chip: &Chip) -> Answers {
    let uuid = uuid(chip);
    let mut a = core(chip).answers();
    // SAFETY: these structures hold no pointers.
    unsafe {
        a.add(tepui_vulkan::descriptor::buffer_properties(|ty| sizes(ty)[RECORDS]));
        a.add(vk::PhysicalDeviceRobustness2PropertiesKHR {
            robust_storage_buffer_access_size_alignment: 4,
            robust_uniform_buffer_access_size_alignment: u64::from(UNIFORM_UNIT_B),
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMaintenance7PropertiesKHR {
            separate_depth_stencil_attachment_access: TRUE,
            ..promoted::dynamic_buffers(MAX_DYNAMIC)
        });
        // There are no task and mesh shaders.
        a.add(vk::PhysicalDeviceComputeShaderDerivativesPropertiesKHR::default());
        a.add(vk::PhysicalDeviceExternalMemoryHostPropertiesEXT {
            min_imported_host_pointer_alignment: crate::kernel::PAGE_B,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMaintenance9PropertiesKHR {
            default_vertex_attribute_value: vk::DefaultVertexAttributeValueKHR::ZERO_ZERO_ZERO_ZERO,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMapMemoryPlacedPropertiesEXT {
            min_placed_memory_map_alignment: crate::kernel::PAGE_B,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceProvokingVertexPropertiesEXT {
            provoking_vertex_mode_per_pipeline: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceGraphicsPipelineLibraryPropertiesEXT {
            graphics_pipeline_library_fast_linking: TRUE,
            graphics_pipeline_library_independent_interpolation_decoration: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceShaderModuleIdentifierPropertiesEXT {
            shader_module_identifier_algorithm_uuid: uuid,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceShaderObjectPropertiesEXT {
            shader_binary_uuid: cache_uuid(chip),
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceExtendedDynamicState3PropertiesEXT {
            dynamic_primitive_topology_unrestricted: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceCustomBorderColorPropertiesEXT {
            max_custom_border_color_samplers: MAX_SAMPLERS,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceSampleLocationsPropertiesEXT {
            // The runtime keeps four places.
            sample_location_sample_counts: vk::SampleCountFlags::_2 | vk::SampleCountFlags::_4,
            max_sample_location_grid_size: vk::Extent2D { width: 1, height: 1 },
            sample_location_coordinate_range: [0.0, MAX_SAMPLE_PLACE],
            sample_location_sub_pixel_bits: 4,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceTransformFeedbackPropertiesEXT {
            max_transform_feedback_streams: MAX_STREAMS as u32,
            max_transform_feedback_buffers: MAX_FEEDBACK as u32,
            max_transform_feedback_buffer_size: 1 << 32,
            max_transform_feedback_stream_data_size: 128 * 4,
            max_transform_feedback_buffer_data_size: 128 * 4,
            max_transform_feedback_buffer_data_stride: 2048,
            transform_feedback_queries: TRUE,
            transform_feedback_streams_lines_triangles: FALSE,
            transform_feedback_rasterization_stream_select: TRUE,
            transform_feedback_draw: TRUE,
            ..Default::default()
        });
        if has_coarse_pixels(chip) {
            let side = 4;
            a.add(vk::PhysicalDeviceFragmentShadingRatePropertiesKHR {
                max_fragment_size: vk::Extent2D { width: side, height: side },
                max_fragment_size_aspect_ratio: side,
                max_fragment_shading_rate_coverage_samples: side * side * 16,
                max_fragment_shading_rate_rasterization_samples: vk::SampleCountFlags::_16,
                fragment_shading_rate_with_sample_mask: TRUE,
                fragment_shading_rate_with_conservative_rasterization: TRUE,
                fragment_shading_rate_with_fragment_shader_interlock: TRUE,
                fragment_shading_rate_with_custom_sample_locations: TRUE,
                fragment_shading_rate_strict_multiply_combiner: TRUE,
                ..Default::default()
            });
        }
        if is_conservative(chip) {
            a.add(vk::PhysicalDeviceConservativeRasterizationPropertiesEXT {
                primitive_overestimation_size: 1.0 / 512.0,
                degenerate_triangles_rasterized: TRUE,
                conservative_rasterization_post_depth_coverage: TRUE,
                ..Default::default()
            });
        }
        a.add(vk::PhysicalDeviceMultiDrawPropertiesEXT {
            max_multi_draw_count: u32::MAX,
            ..Default::default()
        });
    }
    a
}

/// Bounds of buffers are those of their surface states.
const ROBUST: vk::PipelineRobustnessBufferBehavior =
    vk::PipelineRobustnessBufferBehavior::ROBUST_BUFFER_ACCESS_2;

/// A number that names the chip and the driver's version.
fn uuid(chip: &Chip) -> vk::ByteArray<16> {
    let mut bytes = *b"tepui-intel\0\0\0\0\0";
    for (to, from) in bytes[11..].iter_mut().zip(chip.id.bytes()) {
        *to = from;
    }
    vk::ByteArray(bytes)
}

/// A number that names the chip and the driver's build.
pub fn cache_uuid(chip: &Chip) -> vk::ByteArray<16> {
    let mut bytes = uuid(chip).0;
    bytes[..8].copy_from_slice(&tepui_vulkan::cache::build_stamp().to_le_bytes());
    vk::ByteArray(bytes)
}

/// Whether triangles can cover all pixels that they touch. ANV offers it on Gen12 alone.
pub fn is_conservative(chip: &Chip) -> bool {
    chip.generation == Generation::Gen12
}

/// Whether pixel shaders can run for coarse pixels.
pub fn has_coarse_pixels(chip: &Chip) -> bool {
    chip.generation == Generation::Gen12
}

/// Any number of samples, as the specification has it for fragments of a pixel.
// SAFETY: all values of flags of the API are valid.
const ANY_SAMPLES: vk::SampleCountFlags =
    unsafe { vk::SampleCountFlags::from_bits_unchecked(u32::MAX) };

/// Sizes of coarse pixels. source: Mesa, anv_physical_device.c (`anv_GetPhysicalDeviceFragmentShadingRatesKHR`)
pub static SHADING_RATES: [ShadingRate; 9] = {
    let samples = crate::format::SAMPLES;
    [
        ShadingRate { size: [4, 4], samples },
        ShadingRate { size: [4, 2], samples },
        ShadingRate { size: [4, 1], samples },
        ShadingRate { size: [2, 4], samples },
        ShadingRate { size: [2, 2], samples },
        ShadingRate { size: [2, 1], samples },
        ShadingRate { size: [1, 4], samples },
        ShadingRate { size: [1, 2], samples },
        ShadingRate { size: [1, 1], samples: ANY_SAMPLES },
    ]
};
