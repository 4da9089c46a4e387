//! Limits, features and extensions of the driver, as data.
//!
//! Limits of the hardware and their sources: Mesa, anv_physical_device.c, unless a line says otherwise. Features are those that the
//! compiler and the encoder have so far.

use tepui_intel_chips::{Chip, Generation, VENDOR_ID};
use tepui_vulkan::backend::{PhysicalInfo, SetMemory};
use tepui_vulkan::chain::Answers;
use tepui_vulkan::command::{MAX_PUSH, MAX_SETS};
use tepui_vulkan::promoted::Features;
use tepui_vulkan::vk::{self, FALSE, TRUE};

use crate::properties::{self, SHADING_RATES, cache_uuid, has_coarse_pixels, is_conservative};
use crate::space::SPARSE_B;
use crate::states::UNIFORM_UNIT_B;

/// Descriptors of a kind that a stage sees: those that entries of a binding table can name.
const MAX_DESCRIPTORS: u32 = 200;
/// Buffers with dynamic offsets in all sets, of each kind.
pub const MAX_DYNAMIC: u32 = 16;
/// Samplers at once, the least that the specification allows.
pub const MAX_SAMPLERS: u32 = 4000;
/// Descriptors that may be written after they are bound, which programs find in memory: as many as there are surface states.
pub const MAX_LATE: u32 = 1 << 19;
/// Bytes of the largest allocation.
pub const MAX_MEMORY: u64 = 1 << 32;

/// The only memory type, as a bit.
pub const MEMORY_TYPES: u32 = 1;

/// Device extensions of the hardware and the compiler, and their versions. [`tepui_vulkan::offer`] has those of the runtime.
const EXTENSIONS: &[(&str, u32)] = &[
    ("VK_KHR_16bit_storage", 1),
    ("VK_KHR_8bit_storage", 1),
    ("VK_KHR_buffer_device_address", 1),
    ("VK_KHR_compute_shader_derivatives", 1),
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
    ("VK_KHR_shader_clock", 1),
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
    ("VK_EXT_attachment_feedback_loop_dynamic_state", 1),
    ("VK_EXT_attachment_feedback_loop_layout", 2),
    ("VK_EXT_border_color_swizzle", 1),
    ("VK_EXT_buffer_device_address", 2),
    ("VK_EXT_color_write_enable", 1),
    ("VK_EXT_conditional_rendering", 2),
    ("VK_EXT_custom_border_color", 12),
    ("VK_EXT_depth_bias_control", 1),
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
    ("VK_EXT_external_memory_host", 1),
    ("VK_EXT_fragment_shader_interlock", 1),
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
    ("VK_EXT_post_depth_coverage", 1),
    ("VK_EXT_primitive_topology_list_restart", 1),
    ("VK_EXT_provoking_vertex", 1),
    ("VK_EXT_robustness2", 1),
    ("VK_EXT_sample_locations", 1),
    ("VK_EXT_sampler_filter_minmax", 2),
    ("VK_EXT_scalar_block_layout", 1),
    ("VK_EXT_shader_atomic_float", 1),
    ("VK_EXT_shader_atomic_float2", 1),
    ("VK_EXT_shader_demote_to_helper_invocation", 1),
    ("VK_EXT_shader_object", 1),
    ("VK_EXT_shader_stencil_export", 1),
    ("VK_EXT_shader_subgroup_ballot", 1),
    ("VK_EXT_shader_subgroup_vote", 1),
    ("VK_EXT_shader_uniform_buffer_unsized_array", 1),
    ("VK_EXT_shader_viewport_index_layer", 1),
    ("VK_EXT_subgroup_size_control", 2),
    ("VK_EXT_texel_buffer_alignment", 1),
    ("VK_EXT_transform_feedback", 1),
    ("VK_EXT_primitives_generated_query", 1),
    ("VK_EXT_vertex_attribute_divisor", 3),
    ("VK_EXT_vertex_input_dynamic_state", 2),
    ("VK_EXT_ycbcr_2plane_444_formats", 1),
    ("VK_EXT_ycbcr_image_arrays", 1),
    ("VK_NV_compute_shader_derivatives", 1),
    ("VK_VALVE_mutable_descriptor_type", 1),
];

/// Extensions of a chip.
fn extensions(chip: &Chip) -> Vec<(&'static str, u32)> {
    let mut all = EXTENSIONS.to_vec();
    if has_coarse_pixels(chip) {
        all.push(("VK_KHR_fragment_shading_rate", 2));
    }
    if is_conservative(chip) {
        all.push(("VK_EXT_conservative_rasterization", 1));
    }
    all
}

fn limits(chip: &Chip) -> vk::PhysicalDeviceLimits {
    let samples = crate::format::SAMPLES;
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
        max_descriptor_set_sampled_images: 9 * MAX_DESCRIPTORS,
        max_descriptor_set_storage_images: 6 * MAX_DESCRIPTORS,
        max_descriptor_set_input_attachments: 64,
        max_vertex_input_attributes: 28,
        max_vertex_input_bindings: 28,
        max_vertex_input_attribute_offset: 2047,
        max_vertex_input_binding_stride: 4095,
        max_vertex_output_components: 128,
        max_tessellation_generation_level: 64,
        max_tessellation_patch_size: 32,
        max_tessellation_control_per_vertex_input_components: 128,
        max_tessellation_control_per_vertex_output_components: 128,
        max_tessellation_control_per_patch_output_components: 128,
        max_tessellation_control_total_output_components: 2048,
        max_tessellation_evaluation_input_components: 128,
        max_tessellation_evaluation_output_components: 128,
        max_geometry_shader_invocations: 32,
        max_geometry_input_components: 128,
        max_geometry_output_components: 128,
        max_geometry_output_vertices: 256,
        max_geometry_total_output_components: 1024,
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
        max_draw_indirect_count: u32::MAX,
        max_sampler_lod_bias: 16.0,
        max_sampler_anisotropy: 16.0,
        max_viewports: 16,
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
        storage_image_sample_counts: vk::SampleCountFlags::_1,
        max_sample_mask_words: 1,
        timestamp_compute_and_graphics: TRUE,
        timestamp_period: 1e9 / chip.timestamp_hz as f32,
        max_clip_distances: 8,
        max_cull_distances: 8,
        max_combined_clip_and_cull_distances: 8,
        discrete_queue_priorities: 2,
        point_size_range: [0.125, 255.875],
        line_width_range: [0.0, 8.0],
        point_size_granularity: 0.125,
        line_width_granularity: 1.0 / 128.0,
        strict_lines: FALSE,
        standard_sample_locations: TRUE,
        optimal_buffer_copy_offset_alignment: 128,
        optimal_buffer_copy_row_pitch_alignment: 128,
        non_coherent_atom_size: 64,
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
        image_cube_array,
        sampler_anisotropy,
        texture_compression_bc,
        texture_compression_etc2,
        texture_compression_astc_ldr,
        shader_image_gather_extended,
        shader_storage_image_extended_formats,
        shader_storage_image_write_without_format,
        shader_uniform_buffer_array_dynamic_indexing,
        shader_sampled_image_array_dynamic_indexing,
        shader_storage_buffer_array_dynamic_indexing,
        shader_storage_image_array_dynamic_indexing,
        sample_rate_shading,
        alpha_to_one,
        dual_src_blend,
        large_points,
        multi_draw_indirect,
        multi_viewport,
        occlusion_query_precise,
        pipeline_statistics_query,
        inherited_queries,
        shader_resource_min_lod,
        wide_lines,
        geometry_shader,
        tessellation_shader,
        shader_tessellation_and_geometry_point_size,
    })
}

/// Features of extensions that no core version took over.
macro_rules! answer {
    ($to:expr, $($Type:ident { $($field:ident),* $(,)? })*) => {
        $($to.add(on!($Type { $($field),* }));)*
    };
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
            shader_input_attachment_array_non_uniform_indexing,
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
            inline_uniform_block,
            descriptor_binding_inline_uniform_block_update_after_bind,
            shader_demote_to_helper_invocation,
            shader_terminate_invocation,
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
            bresenham_lines,
            stippled_bresenham_lines,
            vertex_attribute_instance_rate_divisor,
            vertex_attribute_instance_rate_zero_divisor,
            index_type_uint8,
            dynamic_rendering_local_read,
            maintenance5,
            maintenance6,
            pipeline_robustness,
            host_image_copy,
        }),
    }
}

/// State that `VK_EXT_extended_dynamic_state3` may make dynamic.
fn dynamic_state(chip: &Chip) -> vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT {
    let mut dynamic = on!(PhysicalDeviceExtendedDynamicState3FeaturesEXT {
        extended_dynamic_state_3depth_clamp_enable,
        extended_dynamic_state3_polygon_mode,
        extended_dynamic_state3_rasterization_samples,
        extended_dynamic_state3_sample_mask,
        extended_dynamic_state3_alpha_to_coverage_enable,
        extended_dynamic_state3_alpha_to_one_enable,
        extended_dynamic_state3_logic_op_enable,
        extended_dynamic_state3_color_blend_enable,
        extended_dynamic_state3_color_blend_equation,
        extended_dynamic_state3_color_write_mask,
        extended_dynamic_state_3depth_clip_enable,
        extended_dynamic_state3_provoking_vertex_mode,
        extended_dynamic_state3_line_rasterization_mode,
        extended_dynamic_state3_line_stipple_enable,
        extended_dynamic_state_3depth_clip_negative_one_to_one,
        extended_dynamic_state3_tessellation_domain_origin,
        extended_dynamic_state3_rasterization_stream,
        extended_dynamic_state3_sample_locations_enable,
    });
    dynamic.extended_dynamic_state3_conservative_rasterization_mode =
        u32::from(is_conservative(chip));
    dynamic
}

fn feature_chain(chip: &Chip) -> Answers {
    let mut core = core_features();
    // Gen9 draws wide lines as parallelograms, and Gen12 no smooth lines of several samples. source: Mesa, anv_physical_device.c
    core.v14.rectangular_lines = u32::from(chip.generation == Generation::Gen12);
    core.v14.smooth_lines = u32::from(chip.generation == Generation::Gen9);
    let mut a = core.answers();
    a.join(&tepui_vulkan::offer::float_atomics());
    // SAFETY: feature structures of the registry have truth values only.
    unsafe {
        answer! { a,
            PhysicalDeviceComputeShaderDerivativesFeaturesKHR {
                compute_derivative_group_quads, compute_derivative_group_linear,
            }
            PhysicalDeviceMaintenance7FeaturesKHR { maintenance7 }
            PhysicalDeviceMaintenance8FeaturesKHR { maintenance8 }
            PhysicalDeviceMaintenance9FeaturesKHR { maintenance9 }
            PhysicalDeviceBufferDeviceAddressFeaturesEXT {
                buffer_device_address, buffer_device_address_capture_replay,
            }
            PhysicalDevicePipelineExecutablePropertiesFeaturesKHR { pipeline_executable_info }
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
            PhysicalDeviceConditionalRenderingFeaturesEXT {
                conditional_rendering, inherited_conditional_rendering,
            }
            PhysicalDeviceRobustness2FeaturesKHR {
                robust_buffer_access2, robust_image_access2, null_descriptor,
            }
            PhysicalDeviceExtendedDynamicStateFeaturesEXT { extended_dynamic_state }
            PhysicalDeviceExtendedDynamicState2FeaturesEXT {
                extended_dynamic_state2, extended_dynamic_state2_logic_op,
                extended_dynamic_state2_patch_control_points,
            }
            PhysicalDeviceFragmentShaderInterlockFeaturesEXT {
                fragment_shader_sample_interlock, fragment_shader_pixel_interlock,
            }
            PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT { graphics_pipeline_library }
            PhysicalDeviceTransformFeedbackFeaturesEXT { transform_feedback, geometry_streams }
            PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT { primitives_generated_query }
            PhysicalDeviceVertexInputDynamicStateFeaturesEXT { vertex_input_dynamic_state }
            PhysicalDeviceColorWriteEnableFeaturesEXT { color_write_enable }
            PhysicalDeviceDepthBiasControlFeaturesEXT {
                depth_bias_control, least_representable_value_force_unorm_representation,
                float_representation, depth_bias_exact,
            }
            PhysicalDeviceShaderClockFeaturesKHR { shader_subgroup_clock }
            PhysicalDeviceDepthClipEnableFeaturesEXT { depth_clip_enable }
            PhysicalDeviceDepthClipControlFeaturesEXT { depth_clip_control }
            PhysicalDeviceDescriptorBufferFeaturesEXT { descriptor_buffer, descriptor_buffer_image_layout_ignored, descriptor_buffer_push_descriptors }
            PhysicalDeviceDepthClampControlFeaturesEXT { depth_clamp_control }
            PhysicalDeviceDepthClampZeroOneFeaturesKHR { depth_clamp_zero_one }
            PhysicalDeviceProvokingVertexFeaturesEXT { provoking_vertex_last }
            PhysicalDeviceMultiDrawFeaturesEXT { multi_draw }
            PhysicalDeviceNonSeamlessCubeMapFeaturesEXT { non_seamless_cube_map }
            PhysicalDeviceImage2DViewOf3DFeaturesEXT { image_2d_view_of_3d, sampler_2d_view_of_3d }
            PhysicalDeviceImageViewMinLodFeaturesEXT { min_lod }
            PhysicalDevice4444FormatsFeaturesEXT { format_a4_r4_g4_b4, format_a4_b4_g4_r4 }
            PhysicalDeviceTexelBufferAlignmentFeaturesEXT { texel_buffer_alignment }
            PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT { primitive_topology_list_restart }
            PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT { attachment_feedback_loop_layout }
        PhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT { attachment_feedback_loop_dynamic_state }
            PhysicalDeviceBorderColorSwizzleFeaturesEXT {
                border_color_swizzle, border_color_swizzle_from_image,
            }
            PhysicalDeviceShaderUniformBufferUnsizedArrayFeaturesEXT {
                shader_uniform_buffer_unsized_array,
            }
            PhysicalDeviceCustomBorderColorFeaturesEXT {
                custom_border_colors, custom_border_color_without_format,
            }
            PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT {
                dynamic_rendering_unused_attachments,
            }
            PhysicalDeviceMutableDescriptorTypeFeaturesEXT { mutable_descriptor_type }
            PhysicalDeviceShaderObjectFeaturesEXT { shader_object }
            PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT { ycbcr2plane444_formats }
            PhysicalDeviceYcbcrImageArraysFeaturesEXT { ycbcr_image_arrays }
        }
        a.add(dynamic_state(chip));
        if has_coarse_pixels(chip) {
            answer! { a,
                PhysicalDeviceFragmentShadingRateFeaturesKHR { pipeline_fragment_shading_rate }
            }
        }
    }
    a
}

/// Description of a chip's physical device.
pub fn info(chip: &'static Chip) -> PhysicalInfo {
    // source of the heap's size: Mesa, anv_physical_device.c, `anv_compute_sys_heap_size`
    let memory = PhysicalInfo::unified_memory();
    let mut queue = vk::QueueFamilyProperties {
        queue_flags: vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER,
        queue_count: 1,
        // source: Mesa, anv_physical_device.c
        timestamp_valid_bits: 36,
        min_image_transfer_granularity: vk::Extent3D { width: 1, height: 1, depth: 1 },
    };
    let device_name = format!("{}, Tepui", chip.name);
    let (mut limits, mut features) = (limits(chip), features());
    let mut sparse_properties = vk::PhysicalDeviceSparseProperties::default();
    match chip.generation {
        Generation::Gen9 => {}
        Generation::Gen12 => {
            // It has no floats of 64 bits.
            features.shader_float64 = FALSE;
            features.depth_bounds = TRUE;
            queue.queue_flags |= vk::QueueFlags::SPARSE_BINDING;
            limits.sparse_address_space_size = SPARSE_B;
            sparse_properties = vk::PhysicalDeviceSparseProperties {
                residency_standard_2d_block_shape: TRUE,
                residency_standard_2d_multisample_block_shape: TRUE,
                residency_standard_3d_block_shape: TRUE,
                residency_aligned_mip_size: FALSE,
                residency_non_resident_strict: TRUE,
            };
            for on in [
                &mut features.sparse_binding,
                &mut features.sparse_residency_buffer,
                &mut features.sparse_residency_image_2d,
                &mut features.sparse_residency_image_3d,
                &mut features.sparse_residency2_samples,
                &mut features.sparse_residency4_samples,
                &mut features.sparse_residency8_samples,
                &mut features.sparse_residency16_samples,
                &mut features.sparse_residency_aliased,
                &mut features.shader_resource_residency,
            ] {
                *on = TRUE;
            }
        }
    }
    PhysicalInfo {
        properties: vk::PhysicalDeviceProperties {
            api_version: vk::make_version(1, 4, 309),
            driver_version: vk::make_version(0, 1, 0),
            vendor_id: u32::from(VENDOR_ID),
            device_id: u32::from(chip.device_id),
            device_type: vk::PhysicalDeviceType::INTEGRATED_GPU,
            device_name: vk::StringArray::from_bytes(device_name.as_bytes()),
            pipeline_cache_uuid: cache_uuid(chip),
            limits,
            sparse_properties,
        },
        features,
        property_chain: properties::chain(chip),
        feature_chain: feature_chain(chip),
        extensions: extensions(chip),
        memory,
        priorities: &[vk::QueueGlobalPriority::LOW, vk::QueueGlobalPriority::MEDIUM],
        queues: vec![queue],
        graphics_stages: vk::ShaderStageFlags::ALL_GRAPHICS,
        set_memory: &[SetMemory::Device { memory_type: 0 }, SetMemory::Device { memory_type: 0 }],
        max_memory_bytes: MAX_MEMORY,
        shading_rates: if has_coarse_pixels(chip) { &SHADING_RATES } else { &[] },
    }
}
