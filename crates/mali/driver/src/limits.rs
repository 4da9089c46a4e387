//! Limits, features and extensions of the driver, as data.
//!
//! Limits of the hardware and their sources: Mesa, panvk_physical_device.c, unless a line says otherwise. Features are those that the
//! compiler and the encoder have so far.

use tepui_mali_chips::Chip;
use tepui_vulkan::backend::{MAX_PLANES, PhysicalInfo, SetMemory};
use tepui_vulkan::chain::Answers;
use tepui_vulkan::command::{MAX_PUSH, MAX_SETS};
use tepui_vulkan::feedback::{MAX_FEEDBACK, MAX_STREAMS};
use tepui_vulkan::promoted::{self, CONFORMANCE_VERSION, Features, Properties};
use tepui_vulkan::state::{MAX_COLOURS, MAX_VIEWPORTS};
use tepui_vulkan::vk::{self, FALSE, TRUE};

use crate::format;
use crate::kernel::has_job_manager;
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
/// Descriptors of a kind that are updated after they are bound.
const MAX_LATE: u32 = 1 << 20;
/// Images and samplers of a kind that a set has.
const MAX_SAMPLED: u32 = 1 << 16;
/// Buffers with dynamic offsets in all sets, of each kind.
const MAX_DYNAMIC: u32 = 16;
/// Samplers at once, the least that the specification allows.
const MAX_SAMPLERS: u32 = 4000;
/// Bytes of the largest allocation: with a job manager half of the addresses, of which the kernel gives 4 GiB less some.
/// source: Linux, panfrost_drv.c (`panfrost_open`)
fn max_memory(chip: &Chip) -> u64 {
    if has_job_manager(chip) { 1 << 31 } else { 1 << 32 }
}

/// Components between stages: those of 32 locations.
const MAX_COMPONENTS: u32 = 128;

/// Bytes of workgroup memory.
const MAX_SHARED: u32 = 32 << 10;
/// Ticks of the GPU's clock in a second, on the virtual device; a node says its own.
const TIMESTAMP_HZ: f32 = 1e9;

/// Draws of an indirect command: each takes instructions of a stream, which has a length.
const MAX_INDIRECT_DRAWS: u32 = 1 << 16;

/// Buffer accesses of stages that ask for no other.
const ROBUST: vk::PipelineRobustnessBufferBehavior =
    vk::PipelineRobustnessBufferBehavior::ROBUST_BUFFER_ACCESS;

/// The memory type that the host writes combined.
pub const MEMORY_COMBINED: u32 = 0;
/// The memory type that the host's cache holds, for reads. What is exported is write-combined all the same, so that importers agree.
pub const MEMORY_CACHED: u32 = 1;
/// The memory types, a bit each.
pub const MEMORY_TYPES: u32 = 1 << MEMORY_COMBINED | 1 << MEMORY_CACHED;

/// Device extensions of the hardware and the compiler, and their versions. [`tepui_vulkan::offer`] has those of the runtime.
const EXTENSIONS: &[(&str, u32)] = &[
    ("VK_KHR_16bit_storage", 1),
    ("VK_KHR_8bit_storage", 1),
    ("VK_KHR_buffer_device_address", 1),
    ("VK_KHR_depth_clamp_zero_one", 1),
    ("VK_KHR_depth_stencil_resolve", 1),
    ("VK_KHR_draw_indirect_count", 1),
    ("VK_KHR_dynamic_rendering_local_read", 1),
    ("VK_KHR_external_memory", 1),
    ("VK_KHR_external_memory_fd", 1),
    ("VK_KHR_global_priority", 1),
    ("VK_KHR_index_type_uint8", 1),
    ("VK_KHR_line_rasterization", 1),
    ("VK_KHR_load_store_op_none", 1),
    ("VK_KHR_maintenance1", 2),
    ("VK_KHR_maintenance2", 1),
    ("VK_KHR_maintenance3", 1),
    ("VK_KHR_maintenance4", 2),
    ("VK_KHR_maintenance5", 1),
    ("VK_KHR_maintenance6", 1),
    ("VK_KHR_maintenance7", 1),
    ("VK_KHR_maintenance8", 1),
    ("VK_KHR_maintenance9", 1),
    ("VK_KHR_multiview", 1),
    ("VK_KHR_pipeline_executable_properties", 1),
    ("VK_KHR_robustness2", 1),
    ("VK_KHR_sampler_mirror_clamp_to_edge", 3),
    ("VK_KHR_sampler_ycbcr_conversion", 14),
    ("VK_KHR_shader_atomic_int64", 1),
    ("VK_KHR_shader_draw_parameters", 1),
    ("VK_KHR_shader_float16_int8", 1),
    ("VK_KHR_shader_float_controls", 4),
    ("VK_KHR_shader_float_controls2", 1),
    ("VK_KHR_shader_integer_dot_product", 1),
    ("VK_KHR_shader_maximal_reconvergence", 1),
    ("VK_KHR_shader_quad_control", 1),
    ("VK_KHR_shader_subgroup_extended_types", 1),
    ("VK_KHR_shader_subgroup_rotate", 2),
    ("VK_KHR_shader_subgroup_uniform_control_flow", 1),
    ("VK_KHR_shader_terminate_invocation", 1),
    ("VK_KHR_uniform_buffer_standard_layout", 1),
    ("VK_KHR_variable_pointers", 1),
    ("VK_KHR_vertex_attribute_divisor", 1),
    ("VK_KHR_vulkan_memory_model", 3),
    ("VK_KHR_workgroup_memory_explicit_layout", 1),
    ("VK_KHR_zero_initialize_workgroup_memory", 1),
    ("VK_EXT_4444_formats", 1),
    ("VK_EXT_blend_operation_advanced", 2),
    ("VK_EXT_color_write_enable", 1),
    ("VK_EXT_conditional_rendering", 2),
    ("VK_EXT_custom_border_color", 12),
    ("VK_EXT_depth_clamp_control", 1),
    ("VK_EXT_depth_clamp_zero_one", 1),
    ("VK_EXT_depth_clip_control", 1),
    ("VK_EXT_depth_clip_enable", 1),
    ("VK_EXT_descriptor_buffer", 1),
    ("VK_EXT_descriptor_indexing", 2),
    ("VK_EXT_dynamic_rendering_unused_attachments", 1),
    ("VK_EXT_extended_dynamic_state", 1),
    ("VK_EXT_extended_dynamic_state2", 1),
    ("VK_EXT_extended_dynamic_state3", 2),
    ("VK_EXT_external_memory_dma_buf", 1),
    ("VK_EXT_global_priority", 2),
    ("VK_EXT_global_priority_query", 1),
    ("VK_EXT_graphics_pipeline_library", 1),
    ("VK_EXT_host_image_copy", 1),
    ("VK_EXT_image_2d_view_of_3d", 1),
    ("VK_EXT_image_drm_format_modifier", 2),
    ("VK_EXT_image_robustness", 1),
    ("VK_EXT_image_view_min_lod", 1),
    ("VK_EXT_index_type_uint8", 1),
    ("VK_EXT_inline_uniform_block", 1),
    ("VK_EXT_line_rasterization", 1),
    ("VK_EXT_load_store_op_none", 1),
    ("VK_EXT_map_memory_placed", 1),
    ("VK_EXT_multi_draw", 1),
    ("VK_EXT_mutable_descriptor_type", 1),
    ("VK_EXT_non_seamless_cube_map", 1),
    ("VK_EXT_pipeline_robustness", 1),
    ("VK_EXT_primitive_topology_list_restart", 1),
    ("VK_EXT_primitives_generated_query", 1),
    ("VK_EXT_provoking_vertex", 1),
    ("VK_EXT_robustness2", 1),
    ("VK_EXT_sampler_filter_minmax", 2),
    ("VK_EXT_scalar_block_layout", 1),
    ("VK_EXT_shader_atomic_float", 1),
    ("VK_EXT_shader_atomic_float2", 1),
    ("VK_EXT_shader_demote_to_helper_invocation", 1),
    ("VK_EXT_shader_object", 1),
    ("VK_EXT_shader_stencil_export", 1),
    ("VK_EXT_shader_subgroup_ballot", 1),
    ("VK_EXT_shader_subgroup_vote", 1),
    ("VK_EXT_shader_viewport_index_layer", 1),
    ("VK_EXT_subgroup_size_control", 2),
    ("VK_EXT_texel_buffer_alignment", 1),
    ("VK_EXT_transform_feedback", 1),
    ("VK_EXT_vertex_attribute_divisor", 3),
    ("VK_EXT_vertex_input_dynamic_state", 2),
    ("VK_EXT_ycbcr_2plane_444_formats", 1),
    ("VK_EXT_ycbcr_image_arrays", 1),
    ("VK_VALVE_mutable_descriptor_type", 1),
];

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

fn limits() -> vk::PhysicalDeviceLimits {
    let (one, samples) = (vk::SampleCountFlags::_1, format::SAMPLES);
    vk::PhysicalDeviceLimits {
        // Strides of planes have 32 bits, so that larger ones need not fit.
        max_image_dimension_1d: 16384,
        max_image_dimension_2d: 16384,
        max_image_dimension_3d: 2048,
        max_image_dimension_cube: 16384,
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
        max_vertex_output_components: MAX_COMPONENTS,
        max_tessellation_generation_level: 64,
        max_tessellation_patch_size: 32,
        max_tessellation_control_per_vertex_input_components: MAX_COMPONENTS,
        max_tessellation_control_per_vertex_output_components: MAX_COMPONENTS,
        max_tessellation_control_per_patch_output_components: 120,
        max_tessellation_control_total_output_components: 2048,
        max_tessellation_evaluation_input_components: MAX_COMPONENTS,
        max_tessellation_evaluation_output_components: MAX_COMPONENTS,
        max_geometry_shader_invocations: 32,
        max_geometry_input_components: MAX_COMPONENTS,
        max_geometry_output_components: MAX_COMPONENTS,
        max_geometry_output_vertices: 256,
        max_geometry_total_output_components: 1024,
        max_fragment_input_components: MAX_COMPONENTS,
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
        max_draw_indirect_count: MAX_INDIRECT_DRAWS,
        max_sampler_lod_bias: 16.0,
        max_sampler_anisotropy: 16.0,
        max_viewports: MAX_VIEWPORTS as u32,
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
        framebuffer_color_sample_counts: samples,
        framebuffer_depth_sample_counts: samples,
        framebuffer_stencil_sample_counts: samples,
        framebuffer_no_attachments_sample_counts: samples,
        max_color_attachments: 8,
        max_fragment_dual_src_attachments: 1,
        sampled_image_color_sample_counts: samples,
        sampled_image_integer_sample_counts: samples,
        sampled_image_depth_sample_counts: samples,
        sampled_image_stencil_sample_counts: samples,
        storage_image_sample_counts: one,
        max_sample_mask_words: 1,
        timestamp_compute_and_graphics: TRUE,
        timestamp_period: 1e9 / TIMESTAMP_HZ,
        max_clip_distances: 8,
        max_cull_distances: 8,
        max_combined_clip_and_cull_distances: 8,
        discrete_queue_priorities: 2,
        point_size_range: [1.0, 1024.0],
        line_width_range: [1.0, 8.0 - 1.0 / 16.0],
        point_size_granularity: 1.0 / 16.0,
        line_width_granularity: 1.0 / 16.0,
        strict_lines: TRUE,
        standard_sample_locations: TRUE,
        optimal_buffer_copy_offset_alignment: 64,
        optimal_buffer_copy_row_pitch_alignment: 64,
        non_coherent_atom_size: 64,
    }
}

/// A structure of features with these ones on.
macro_rules! on {
    ($Type:ident { $($field:ident),* $(,)? }) => {
        vk::$Type { $($field: TRUE,)* ..Default::default() }
    };
}

/// Adds structures of features.
macro_rules! answer {
    ($to:expr, $($Type:ident { $($field:ident),* $(,)? })*) => {
        $($to.add(on!($Type { $($field),* }));)*
    };
}

/// Features of Vulkan 1.0.
fn features() -> vk::PhysicalDeviceFeatures {
    on!(PhysicalDeviceFeatures {
        robust_buffer_access,
        full_draw_index_uint32,
        independent_blend,
        logic_op,
        geometry_shader,
        tessellation_shader,
        shader_tessellation_and_geometry_point_size,
        vertex_pipeline_stores_and_atomics,
        depth_clamp,
        depth_bias_clamp,
        fill_mode_non_solid,
        fragment_stores_and_atomics,
        sample_rate_shading,
        alpha_to_one,
        dual_src_blend,
        large_points,
        multi_viewport,
        shader_clip_distance,
        shader_cull_distance,
        multi_draw_indirect,
        draw_indirect_first_instance,
        occlusion_query_precise,
        pipeline_statistics_query,
        inherited_queries,
        wide_lines,
        shader_int64,
        shader_int16,
        shader_resource_min_lod,
        image_cube_array,
        sampler_anisotropy,
        texture_compression_bc,
        texture_compression_etc2,
        texture_compression_astc_ldr,
        shader_image_gather_extended,
        shader_storage_image_extended_formats,
        shader_storage_image_read_without_format,
        shader_storage_image_write_without_format,
        shader_uniform_buffer_array_dynamic_indexing,
        shader_sampled_image_array_dynamic_indexing,
        shader_storage_buffer_array_dynamic_indexing,
        shader_storage_image_array_dynamic_indexing,
    })
}

/// Features of the core versions after 1.0.
fn core_features() -> Features {
    Features {
        v11: on!(PhysicalDeviceVulkan11Features {
            storage_buffer_16bit_access,
            uniform_and_storage_buffer_16bit_access,
            storage_push_constant16,
            multiview,
            multiview_geometry_shader,
            multiview_tessellation_shader,
            shader_draw_parameters,
            sampler_ycbcr_conversion,
            variable_pointers_storage_buffer,
            variable_pointers,
        }),
        v12: on!(PhysicalDeviceVulkan12Features {
            sampler_mirror_clamp_to_edge,
            sampler_filter_minmax,
            draw_indirect_count,
            storage_buffer_8bit_access,
            uniform_and_storage_buffer_8bit_access,
            storage_push_constant8,
            shader_buffer_int64_atomics,
            shader_shared_int64_atomics,
            shader_float16,
            shader_int8,
            descriptor_indexing,
            shader_input_attachment_array_dynamic_indexing,
            shader_uniform_texel_buffer_array_dynamic_indexing,
            shader_storage_texel_buffer_array_dynamic_indexing,
            shader_uniform_buffer_array_non_uniform_indexing,
            shader_sampled_image_array_non_uniform_indexing,
            shader_storage_buffer_array_non_uniform_indexing,
            shader_storage_image_array_non_uniform_indexing,
            shader_uniform_texel_buffer_array_non_uniform_indexing,
            shader_storage_texel_buffer_array_non_uniform_indexing,
            descriptor_binding_uniform_buffer_update_after_bind,
            descriptor_binding_sampled_image_update_after_bind,
            descriptor_binding_storage_image_update_after_bind,
            descriptor_binding_storage_buffer_update_after_bind,
            descriptor_binding_uniform_texel_buffer_update_after_bind,
            descriptor_binding_storage_texel_buffer_update_after_bind,
            descriptor_binding_update_unused_while_pending,
            descriptor_binding_partially_bound,
            descriptor_binding_variable_descriptor_count,
            runtime_descriptor_array,
            scalar_block_layout,
            uniform_buffer_standard_layout,
            shader_subgroup_extended_types,
            subgroup_broadcast_dynamic_id,
            buffer_device_address,
            buffer_device_address_capture_replay,
            vulkan_memory_model,
            vulkan_memory_model_device_scope,
            shader_output_viewport_index,
            shader_output_layer,
        }),
        v13: on!(PhysicalDeviceVulkan13Features {
            robust_image_access,
            descriptor_binding_inline_uniform_block_update_after_bind,
            shader_demote_to_helper_invocation,
            shader_terminate_invocation,
            inline_uniform_block,
            subgroup_size_control,
            compute_full_subgroups,
            shader_zero_initialize_workgroup_memory,
            shader_integer_dot_product,
            maintenance4,
        }),
        v14: on!(PhysicalDeviceVulkan14Features {
            global_priority_query,
            shader_subgroup_rotate,
            shader_subgroup_rotate_clustered,
            shader_float_controls2,
            index_type_uint8,
            rectangular_lines,
            bresenham_lines,
            dynamic_rendering_local_read,
            maintenance5,
            maintenance6,
            pipeline_robustness,
            vertex_attribute_instance_rate_divisor,
            vertex_attribute_instance_rate_zero_divisor,
            host_image_copy,
        }),
    }
}

fn feature_chain(chip: &Chip) -> Answers {
    let mut core = core_features();
    // The panfrost kernel driver chooses addresses.
    let replays = vk::Bool32::from(!has_job_manager(chip));
    core.v12.buffer_device_address_capture_replay = replays;
    let mut a = core.answers();
    a.join(&tepui_vulkan::offer::float_atomics());
    // SAFETY: feature structures of the registry have truth values only.
    unsafe {
        a.add(vk::PhysicalDeviceRobustness2FeaturesKHR {
            // Jobs do not say how many indices there are, and those of indirect draws are not limited.
            robust_buffer_access2: vk::Bool32::from(!has_job_manager(chip)),
            robust_image_access2: vk::TRUE,
            null_descriptor: vk::TRUE,
            ..Default::default()
        });
        answer! { a,
            PhysicalDevicePipelineExecutablePropertiesFeaturesKHR { pipeline_executable_info }
            PhysicalDeviceMaintenance7FeaturesKHR { maintenance7 }
            PhysicalDeviceMaintenance8FeaturesKHR { maintenance8 }
            PhysicalDeviceMaintenance9FeaturesKHR { maintenance9 }
            PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR { shader_maximal_reconvergence }
            PhysicalDeviceShaderQuadControlFeaturesKHR { shader_quad_control }
            PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR {
                shader_subgroup_uniform_control_flow,
            }
            PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR {
                workgroup_memory_explicit_layout,
                workgroup_memory_explicit_layout_scalar_block_layout,
                workgroup_memory_explicit_layout_8bit_access,
                workgroup_memory_explicit_layout_16bit_access,
            }
            PhysicalDeviceMapMemoryPlacedFeaturesEXT { memory_map_placed, memory_unmap_reserve }
            PhysicalDeviceShaderObjectFeaturesEXT { shader_object }
            PhysicalDeviceTexelBufferAlignmentFeaturesEXT { texel_buffer_alignment }
            PhysicalDeviceCustomBorderColorFeaturesEXT {
                custom_border_colors, custom_border_color_without_format,
            }
            PhysicalDeviceNonSeamlessCubeMapFeaturesEXT { non_seamless_cube_map }
            PhysicalDeviceImageViewMinLodFeaturesEXT { min_lod }
            PhysicalDeviceImage2DViewOf3DFeaturesEXT { image_2d_view_of_3d, sampler_2d_view_of_3d }
            PhysicalDevice4444FormatsFeaturesEXT { format_a4_r4_g4_b4, format_a4_b4_g4_r4 }
            PhysicalDeviceExtendedDynamicStateFeaturesEXT { extended_dynamic_state }
            PhysicalDeviceExtendedDynamicState2FeaturesEXT {
                extended_dynamic_state2, extended_dynamic_state2_logic_op,
                extended_dynamic_state2_patch_control_points,
            }
            PhysicalDeviceExtendedDynamicState3FeaturesEXT {
                extended_dynamic_state_3depth_clamp_enable, extended_dynamic_state3_polygon_mode,
                extended_dynamic_state3_rasterization_samples, extended_dynamic_state3_sample_mask,
                extended_dynamic_state3_alpha_to_coverage_enable,
                extended_dynamic_state3_alpha_to_one_enable, extended_dynamic_state3_logic_op_enable,
                extended_dynamic_state3_color_blend_enable,
                extended_dynamic_state3_color_blend_equation,
                extended_dynamic_state3_color_blend_advanced,
                extended_dynamic_state3_color_write_mask, extended_dynamic_state_3depth_clip_enable,
                extended_dynamic_state3_provoking_vertex_mode,
                extended_dynamic_state3_tessellation_domain_origin,
                extended_dynamic_state3_rasterization_stream,
                extended_dynamic_state3_line_rasterization_mode,
                extended_dynamic_state_3depth_clip_negative_one_to_one,
            }
            PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT { graphics_pipeline_library }
            PhysicalDeviceBlendOperationAdvancedFeaturesEXT { advanced_blend_coherent_operations }
            PhysicalDeviceTransformFeedbackFeaturesEXT { transform_feedback, geometry_streams }
            PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT { primitives_generated_query }
            PhysicalDeviceVertexInputDynamicStateFeaturesEXT { vertex_input_dynamic_state }
            PhysicalDeviceColorWriteEnableFeaturesEXT { color_write_enable }
            PhysicalDeviceDepthClipEnableFeaturesEXT { depth_clip_enable }
            PhysicalDeviceDepthClipControlFeaturesEXT { depth_clip_control }
            PhysicalDeviceDescriptorBufferFeaturesEXT { descriptor_buffer, descriptor_buffer_image_layout_ignored, descriptor_buffer_push_descriptors }
            PhysicalDeviceDepthClampControlFeaturesEXT { depth_clamp_control }
            PhysicalDeviceDepthClampZeroOneFeaturesKHR { depth_clamp_zero_one }
            PhysicalDeviceProvokingVertexFeaturesEXT { provoking_vertex_last }
            PhysicalDeviceMultiDrawFeaturesEXT { multi_draw }
            PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT { primitive_topology_list_restart }
            PhysicalDeviceMutableDescriptorTypeFeaturesEXT { mutable_descriptor_type }
            PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT {
                dynamic_rendering_unused_attachments,
            }
            PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT { ycbcr2plane444_formats }
            PhysicalDeviceYcbcrImageArraysFeaturesEXT { ycbcr_image_arrays }
            PhysicalDeviceConditionalRenderingFeaturesEXT {
                conditional_rendering, inherited_conditional_rendering,
            }
        }
    }
    a
}

fn property_chain(chip: &Chip) -> Answers {
    let uuid = uuid(chip);
    let stencil_modes =
        vk::ResolveModeFlags::SAMPLE_ZERO | vk::ResolveModeFlags::MIN | vk::ResolveModeFlags::MAX;
    let text = |s: &str| s.as_bytes().to_vec();
    let core = Properties {
        v11: vk::PhysicalDeviceVulkan11Properties {
            device_uuid: uuid,
            driver_uuid: uuid,
            subgroup_size: SUBGROUP_SIZE,
            subgroup_supported_stages: vk::ShaderStageFlags::ALL_GRAPHICS
                | vk::ShaderStageFlags::COMPUTE,
            subgroup_supported_operations: SUBGROUP_OPERATIONS,
            subgroup_quad_operations_in_all_stages: TRUE,
            max_multiview_view_count: 6,
            max_multiview_instance_index: (1 << 27) - 1,
            max_per_set_descriptors: MAX_DESCRIPTORS,
            max_memory_allocation_size: max_memory(chip),
            ..Default::default()
        },
        v12: vk::PhysicalDeviceVulkan12Properties {
            driver_id: DRIVER,
            conformance_version: CONFORMANCE_VERSION,
            filter_minmax_single_component_formats: TRUE,
            filter_minmax_image_component_mapping: TRUE,
            supported_depth_resolve_modes: stencil_modes | vk::ResolveModeFlags::AVERAGE,
            supported_stencil_resolve_modes: stencil_modes,
            independent_resolve_none: TRUE,
            independent_resolve: TRUE,
            framebuffer_integer_color_sample_counts: format::SAMPLES,
            max_update_after_bind_descriptors_in_all_pools: MAX_LATE,
            robust_buffer_access_update_after_bind: TRUE,
            max_per_stage_descriptor_update_after_bind_samplers: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_uniform_buffers: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_storage_buffers: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_sampled_images: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_storage_images: MAX_LATE,
            max_per_stage_descriptor_update_after_bind_input_attachments: 9,
            max_per_stage_update_after_bind_resources: 5 * MAX_LATE,
            max_descriptor_set_update_after_bind_samplers: MAX_LATE,
            max_descriptor_set_update_after_bind_uniform_buffers: MAX_LATE,
            max_descriptor_set_update_after_bind_uniform_buffers_dynamic: MAX_DYNAMIC,
            max_descriptor_set_update_after_bind_storage_buffers: MAX_LATE,
            max_descriptor_set_update_after_bind_storage_buffers_dynamic: MAX_DYNAMIC,
            max_descriptor_set_update_after_bind_sampled_images: MAX_LATE,
            max_descriptor_set_update_after_bind_storage_images: MAX_LATE,
            max_descriptor_set_update_after_bind_input_attachments: 9,
            driver_name: vk::StringArray::from_bytes(&text("Tepui Mali")),
            driver_info: vk::StringArray::from_bytes(&text(concat!(
                "Tepui ",
                env!("CARGO_PKG_VERSION")
            ))),
            max_timeline_semaphore_value_difference: u64::MAX,
            denorm_behavior_independence: vk::ShaderFloatControlsIndependence::ALL,
            rounding_mode_independence: vk::ShaderFloatControlsIndependence::NONE,
            shader_signed_zero_inf_nan_preserve_float16: TRUE,
            shader_signed_zero_inf_nan_preserve_float32: TRUE,
            shader_rounding_mode_rte_float16: TRUE,
            shader_rounding_mode_rte_float32: TRUE,
            ..Default::default()
        },
        v13: vk::PhysicalDeviceVulkan13Properties {
            min_subgroup_size: SUBGROUP_SIZE,
            max_subgroup_size: SUBGROUP_SIZE,
            max_compute_workgroup_subgroups: 1024 / SUBGROUP_SIZE,
            required_subgroup_size_stages: vk::ShaderStageFlags::COMPUTE,
            max_inline_uniform_block_size: 4096,
            max_per_stage_descriptor_inline_uniform_blocks: 32,
            max_per_stage_descriptor_update_after_bind_inline_uniform_blocks: 32,
            max_descriptor_set_inline_uniform_blocks: 32,
            max_descriptor_set_update_after_bind_inline_uniform_blocks: 32,
            max_inline_uniform_total_size: 1 << 16,
            max_buffer_size: max_memory(chip),
            storage_texel_buffer_offset_alignment_bytes: 64,
            uniform_texel_buffer_offset_alignment_bytes: 64,
            ..Default::default()
        },
        v14: vk::PhysicalDeviceVulkan14Properties {
            max_vertex_attrib_divisor: u32::MAX,
            supports_non_zero_first_instance: TRUE,
            line_sub_pixel_precision_bits: 8,
            max_combined_image_sampler_descriptor_count: MAX_PLANES as u32,
            max_push_descriptors: 32,
            dynamic_rendering_local_read_depth_stencil_attachments: FALSE,
            dynamic_rendering_local_read_multisampled_attachments: TRUE,
            default_robustness_storage_buffers: ROBUST,
            default_robustness_uniform_buffers: ROBUST,
            default_robustness_vertex_inputs: ROBUST,
            default_robustness_images: vk::PipelineRobustnessImageBehavior::ROBUST_IMAGE_ACCESS,
            ..Default::default()
        },
    };
    let mut a = core.answers();
    // SAFETY: a structure of numbers.
    unsafe {
        a.add(vk::PhysicalDeviceCustomBorderColorPropertiesEXT {
            max_custom_border_color_samplers: MAX_SAMPLERS,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceTransformFeedbackPropertiesEXT {
            max_transform_feedback_streams: MAX_STREAMS as u32,
            max_transform_feedback_buffers: MAX_FEEDBACK as u32,
            max_transform_feedback_buffer_size: u64::from(u32::MAX),
            // All buffers together.
            max_transform_feedback_stream_data_size: MAX_FEEDBACK as u32 * 512,
            max_transform_feedback_buffer_data_size: 512,
            max_transform_feedback_buffer_data_stride: 2048,
            transform_feedback_queries: TRUE,
            transform_feedback_streams_lines_triangles: TRUE,
            transform_feedback_rasterization_stream_select: TRUE,
            transform_feedback_draw: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMultiDrawPropertiesEXT {
            max_multi_draw_count: MAX_INDIRECT_DRAWS,
            ..Default::default()
        });
        a.add(tepui_vulkan::descriptor::buffer_properties(|ty| crate::descriptor::sizes(ty)[0]));
        a.add(promoted::dynamic_buffers(MAX_DYNAMIC));
        a.add(vk::PhysicalDeviceMaintenance9PropertiesKHR {
            default_vertex_attribute_value: vk::DefaultVertexAttributeValueKHR::ZERO_ZERO_ZERO_ZERO,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMapMemoryPlacedPropertiesEXT {
            min_placed_memory_map_alignment: crate::kernel::PAGE_B,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceShaderObjectPropertiesEXT {
            shader_binary_uuid: cache_uuid(chip),
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceRobustness2PropertiesKHR {
            robust_storage_buffer_access_size_alignment: 4,
            robust_uniform_buffer_access_size_alignment: 4,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceGraphicsPipelineLibraryPropertiesEXT {
            graphics_pipeline_library_independent_interpolation_decoration: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceExtendedDynamicState3PropertiesEXT {
            dynamic_primitive_topology_unrestricted: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceBlendOperationAdvancedPropertiesEXT {
            advanced_blend_max_color_attachments: MAX_COLOURS as u32,
            advanced_blend_independent_blend: TRUE,
            advanced_blend_non_premultiplied_src_color: TRUE,
            advanced_blend_non_premultiplied_dst_color: TRUE,
            advanced_blend_correlated_overlap: TRUE,
            advanced_blend_all_operations: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceProvokingVertexPropertiesEXT {
            provoking_vertex_mode_per_pipeline: TRUE,
            ..Default::default()
        });
    }
    a
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

/// Memory that the host maps write-combined, and memory that it maps cached and writes back, as the GPU does not see the host's cache.
fn memory() -> vk::PhysicalDeviceMemoryProperties {
    let mut memory = PhysicalInfo::unified_memory();
    memory.memory_type_count = MEMORY_TYPES.count_ones();
    let both = vk::MemoryPropertyFlags::DEVICE_LOCAL | vk::MemoryPropertyFlags::HOST_VISIBLE;
    for (k, own) in [
        (MEMORY_COMBINED, vk::MemoryPropertyFlags::HOST_COHERENT),
        (MEMORY_CACHED, vk::MemoryPropertyFlags::HOST_CACHED),
    ] {
        let flags = both | own;
        memory.memory_types[k as usize] = vk::MemoryType { property_flags: flags, heap_index: 0 };
    }
    memory
}

/// Description of a chip's physical device.
pub fn info(chip: &'static Chip) -> PhysicalInfo {
    let queue = vk::QueueFamilyProperties {
        queue_flags: vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER,
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
            limits: limits(),
            sparse_properties: vk::PhysicalDeviceSparseProperties::default(),
        },
        features: features(),
        property_chain: property_chain(chip),
        feature_chain: feature_chain(chip),
        extensions: EXTENSIONS.to_vec(),
        memory: memory(),
        priorities: &[vk::QueueGlobalPriority::LOW, vk::QueueGlobalPriority::MEDIUM],
        queues: vec![queue],
        graphics_stages: vk::ShaderStageFlags::ALL_GRAPHICS,
        set_memory: &[SetMemory::Device { memory_type: MEMORY_COMBINED }],
        max_memory_bytes: max_memory(chip),
        shading_rates: &[],
    }
}
