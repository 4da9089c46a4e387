//! Limits, features and extensions of the driver, as data.
//!
//! Limits of the hardware and their sources: Mesa, hk_physical_device.c, unless a line says otherwise.

use tepui_agx_chips::Chip;
use tepui_vulkan::backend::{MAX_PLANES, PhysicalInfo, SetMemory};
use tepui_vulkan::chain::Answers;
use tepui_vulkan::command::{MAX_PUSH, MAX_SETS};
use tepui_vulkan::feedback::{MAX_FEEDBACK, MAX_STREAMS};
use tepui_vulkan::promoted::{self, CONFORMANCE_VERSION, Features, Properties};
use tepui_vulkan::state::MAX_COLOURS;
use tepui_vulkan::vk::{self, FALSE, TRUE};

use crate::kernel::SPARSE_B;
use crate::state::MAX_SAMPLE_PLACE;

/// Apple's vendor number, which Mesa uses as well. source: PCI-SIG's list
const VENDOR: u32 = 0x106b;
/// Driver ID. Only registered ones have names, and unregistered ones may be returned (Vulkan specification, "Physical Device Enumeration"):
/// this one spells "TEPU". That of Honeykrisp would be wrong for clients that choose by it: zink keeps render passes together then, and
/// Mesa 26.1's loses depth of some scenes, on Honeykrisp as well.
const DRIVER: vk::DriverId = vk::DriverId::from_raw(0x5445_5055);
/// Descriptors of a kind that a stage sees.
const MAX_DESCRIPTORS: u32 = 1 << 20;
/// Buffers with dynamic offsets in all sets, of each kind.
const MAX_DYNAMIC: u32 = 32;
/// Samplers at once, the least that the specification allows. Equal ones share their place in the heap, which has room for fewer
/// that differ ([`crate::device::SAMPLERS`]).
const MAX_SAMPLERS: u32 = 4000;
/// Maximum number of components that vertices pass to fragments.
const MAX_VARYING: u32 = 116;
/// Bytes of the largest allocation.
const MAX_MEMORY: u64 = 1 << 37;

/// The only memory type, as a bit.
pub const MEMORY_TYPES: u32 = 1;

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
    ("VK_EXT_blend_operation_advanced", 2),
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
    ("VK_EXT_global_priority", 2),
    ("VK_EXT_global_priority_query", 1),
    ("VK_EXT_graphics_pipeline_library", 1),
    ("VK_EXT_host_image_copy", 1),
    ("VK_EXT_image_2d_view_of_3d", 1),
    ("VK_EXT_image_drm_format_modifier", 2),
    ("VK_EXT_image_robustness", 1),
    ("VK_EXT_index_type_uint8", 1),
    ("VK_EXT_inline_uniform_block", 1),
    ("VK_EXT_line_rasterization", 1),
    ("VK_EXT_load_store_op_none", 1),
    ("VK_EXT_map_memory_placed", 1),
    ("VK_EXT_multi_draw", 1),
    ("VK_EXT_mutable_descriptor_type", 1),
    ("VK_EXT_non_seamless_cube_map", 1),
    ("VK_EXT_pipeline_protected_access", 1),
    ("VK_EXT_pipeline_robustness", 1),
    ("VK_EXT_primitive_topology_list_restart", 1),
    ("VK_EXT_primitives_generated_query", 1),
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
    ("VK_EXT_vertex_attribute_divisor", 3),
    ("VK_EXT_vertex_input_dynamic_state", 2),
    ("VK_EXT_ycbcr_2plane_444_formats", 1),
    ("VK_EXT_ycbcr_image_arrays", 1),
    ("VK_VALVE_mutable_descriptor_type", 1),
];

fn limits() -> vk::PhysicalDeviceLimits {
    let samples = vk::SampleCountFlags::_1 | vk::SampleCountFlags::_2 | vk::SampleCountFlags::_4;
    vk::PhysicalDeviceLimits {
        max_image_dimension_1d: 16384,
        max_image_dimension_2d: 16384,
        max_image_dimension_3d: 16384,
        max_image_dimension_cube: 16384,
        max_image_array_layers: 2048,
        max_texel_buffer_elements: tepui_agx_compiler::descriptor::MAX_BUFFER_TEXELS,
        max_uniform_buffer_range: 65536,
        max_storage_buffer_range: i32::MAX as u32,
        max_push_constants_size: MAX_PUSH as u32,
        max_memory_allocation_count: 4096,
        max_sampler_allocation_count: MAX_SAMPLERS,
        buffer_image_granularity: 0x400,
        sparse_address_space_size: 0,
        max_bound_descriptor_sets: MAX_SETS as u32,
        max_per_stage_descriptor_samplers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_uniform_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_storage_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_sampled_images: MAX_DESCRIPTORS,
        max_per_stage_descriptor_storage_images: MAX_DESCRIPTORS,
        max_per_stage_descriptor_input_attachments: MAX_DESCRIPTORS,
        max_per_stage_resources: u32::MAX,
        max_descriptor_set_samplers: MAX_DESCRIPTORS,
        max_descriptor_set_uniform_buffers: MAX_DESCRIPTORS,
        max_descriptor_set_uniform_buffers_dynamic: MAX_DYNAMIC,
        max_descriptor_set_storage_buffers: MAX_DESCRIPTORS,
        max_descriptor_set_storage_buffers_dynamic: MAX_DYNAMIC,
        max_descriptor_set_sampled_images: MAX_DESCRIPTORS,
        max_descriptor_set_storage_images: MAX_DESCRIPTORS,
        max_descriptor_set_input_attachments: MAX_DESCRIPTORS,
        max_vertex_input_attributes: u32::from(tepui_agx_compiler::abi::MAX_ATTRIBUTES),
        max_vertex_input_bindings: 32,
        max_vertex_input_attribute_offset: 65535,
        max_vertex_input_binding_stride: 2048,
        max_vertex_output_components: MAX_VARYING,
        max_tessellation_generation_level: 64,
        max_tessellation_patch_size: 32,
        max_tessellation_control_per_vertex_input_components: 128,
        max_tessellation_control_per_vertex_output_components: 128,
        max_tessellation_control_per_patch_output_components: 120,
        max_tessellation_control_total_output_components: 4216,
        max_tessellation_evaluation_input_components: 128,
        max_tessellation_evaluation_output_components: MAX_VARYING,
        max_geometry_shader_invocations: 32,
        max_geometry_input_components: 128,
        max_geometry_output_components: MAX_VARYING,
        max_geometry_output_vertices: 1024,
        max_geometry_total_output_components: 1024,
        max_fragment_input_components: MAX_VARYING,
        max_fragment_output_attachments: 8,
        max_fragment_dual_src_attachments: 1,
        max_fragment_combined_output_resources: MAX_DESCRIPTORS + 8,
        max_compute_shared_memory_size: 32768,
        max_compute_work_group_count: [i32::MAX as u32, 65535, 65535],
        max_compute_work_group_invocations: 1024,
        max_compute_work_group_size: [1024, 1024, 64],
        sub_pixel_precision_bits: 8,
        sub_texel_precision_bits: 8,
        mipmap_precision_bits: 8,
        max_draw_indexed_index_value: u32::MAX,
        max_draw_indirect_count: 65535,
        max_sampler_lod_bias: 15.0,
        max_sampler_anisotropy: 16.0,
        max_viewports: 16,
        max_viewport_dimensions: [32768; 2],
        viewport_bounds_range: [-65536.0, 65536.0],
        viewport_sub_pixel_bits: 8,
        min_memory_map_alignment: 16384,
        // The sixteen bytes that descriptors count addresses in.
        min_texel_buffer_offset_alignment: 16,
        min_uniform_buffer_offset_alignment: 64,
        min_storage_buffer_offset_alignment: 16,
        min_texel_offset: -8,
        max_texel_offset: 7,
        min_texel_gather_offset: -8,
        max_texel_gather_offset: 7,
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
        timestamp_compute_and_graphics: TRUE,
        timestamp_period: 1e9 / tepui_agx_timestamp_hz(),
        max_clip_distances: 8,
        max_cull_distances: 8,
        max_combined_clip_and_cull_distances: 8,
        discrete_queue_priorities: 2,
        point_size_range: [1.0, 511.9375],
        line_width_range: [1.0, 16.0],
        point_size_granularity: 1.0 / 16.0,
        line_width_granularity: 1.0 / 16.0,
        strict_lines: 0,
        standard_sample_locations: TRUE,
        optimal_buffer_copy_offset_alignment: 1,
        optimal_buffer_copy_row_pitch_alignment: 1,
        non_coherent_atom_size: 64,
    }
}

/// Ticks of timestamps in a second. source: asahi_drm.h, `command_timestamp_frequency_hz`; the kernel gives this on every M1 and M2
fn tepui_agx_timestamp_hz() -> f32 {
    24_000_000.0
}

/// Features of Vulkan 1.0.
fn features() -> vk::PhysicalDeviceFeatures {
    vk::PhysicalDeviceFeatures {
        robust_buffer_access: TRUE,
        full_draw_index_uint32: TRUE,
        image_cube_array: TRUE,
        independent_blend: TRUE,
        geometry_shader: TRUE,
        tessellation_shader: TRUE,
        shader_tessellation_and_geometry_point_size: TRUE,
        sample_rate_shading: TRUE,
        dual_src_blend: TRUE,
        logic_op: TRUE,
        multi_draw_indirect: TRUE,
        draw_indirect_first_instance: TRUE,
        depth_clamp: TRUE,
        depth_bias_clamp: TRUE,
        fill_mode_non_solid: TRUE,
        wide_lines: TRUE,
        large_points: TRUE,
        alpha_to_one: TRUE,
        multi_viewport: TRUE,
        sampler_anisotropy: TRUE,
        texture_compression_etc2: TRUE,
        texture_compression_astc_ldr: TRUE,
        texture_compression_bc: TRUE,
        occlusion_query_precise: TRUE,
        pipeline_statistics_query: TRUE,
        vertex_pipeline_stores_and_atomics: TRUE,
        fragment_stores_and_atomics: TRUE,
        shader_image_gather_extended: TRUE,
        shader_storage_image_extended_formats: TRUE,
        shader_storage_image_multisample: TRUE,
        shader_storage_image_read_without_format: TRUE,
        shader_storage_image_write_without_format: TRUE,
        shader_uniform_buffer_array_dynamic_indexing: TRUE,
        shader_sampled_image_array_dynamic_indexing: TRUE,
        shader_storage_buffer_array_dynamic_indexing: TRUE,
        shader_storage_image_array_dynamic_indexing: TRUE,
        shader_clip_distance: TRUE,
        shader_cull_distance: TRUE,
        shader_float64: TRUE,
        shader_int64: TRUE,
        shader_int16: TRUE,
        shader_resource_min_lod: TRUE,
        inherited_queries: TRUE,
        ..Default::default()
    }
}

/// A structure of features with these ones on.
macro_rules! on {
    ($Type:ident { $($field:ident),* $(,)? }) => {
        vk::$Type { $($field: TRUE,)* ..Default::default() }
    };
}

/// Features of extensions that no core version took over.
macro_rules! answer {
    ($to:expr, $($Type:ident { $($field:ident),* $(,)? })*) => {
        // SAFETY: feature structures of the registry have truth values only.
        unsafe { $($to.add(on!($Type { $($field),* }));)* }
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
            variable_pointers_storage_buffer,
            variable_pointers,
            sampler_ycbcr_conversion,
            shader_draw_parameters,
        }),
        v12: on!(PhysicalDeviceVulkan12Features {
            sampler_mirror_clamp_to_edge,
            sampler_filter_minmax,
            draw_indirect_count,
            storage_buffer_8bit_access,
            uniform_and_storage_buffer_8bit_access,
            storage_push_constant8,
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
            buffer_device_address,
            buffer_device_address_capture_replay,
            vulkan_memory_model,
            vulkan_memory_model_device_scope,
            shader_output_viewport_index,
            shader_output_layer,
            subgroup_broadcast_dynamic_id,
        }),
        v13: on!(PhysicalDeviceVulkan13Features {
            robust_image_access,
            inline_uniform_block,
            descriptor_binding_inline_uniform_block_update_after_bind,
            shader_demote_to_helper_invocation,
            shader_terminate_invocation,
            subgroup_size_control,
            compute_full_subgroups,
            texture_compression_astc_hdr,
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
            vertex_attribute_instance_rate_divisor,
            vertex_attribute_instance_rate_zero_divisor,
            index_type_uint8,
            dynamic_rendering_local_read,
            maintenance5,
            maintenance6,
            pipeline_protected_access,
            pipeline_robustness,
            host_image_copy,
        }),
    }
}

fn feature_chain() -> Answers {
    let mut a = core_features().answers();
    a.join(&tepui_vulkan::offer::float_atomics());
    answer! { a,
        PhysicalDeviceRobustness2FeaturesKHR { robust_buffer_access2, robust_image_access2, null_descriptor }
        PhysicalDeviceExtendedDynamicStateFeaturesEXT { extended_dynamic_state }
        PhysicalDeviceExtendedDynamicState2FeaturesEXT {
            extended_dynamic_state2, extended_dynamic_state2_logic_op, extended_dynamic_state2_patch_control_points,
        }
        PhysicalDeviceExtendedDynamicState3FeaturesEXT {
            extended_dynamic_state_3depth_clamp_enable, extended_dynamic_state3_polygon_mode,
            extended_dynamic_state3_rasterization_samples, extended_dynamic_state3_sample_mask,
            extended_dynamic_state3_alpha_to_coverage_enable, extended_dynamic_state3_alpha_to_one_enable,
            extended_dynamic_state3_logic_op_enable, extended_dynamic_state3_color_blend_enable,
            extended_dynamic_state3_color_blend_equation, extended_dynamic_state3_color_blend_advanced,
            extended_dynamic_state3_color_write_mask,
            extended_dynamic_state_3depth_clip_enable, extended_dynamic_state3_provoking_vertex_mode,
            extended_dynamic_state3_line_rasterization_mode, extended_dynamic_state3_line_stipple_enable,
            extended_dynamic_state_3depth_clip_negative_one_to_one, extended_dynamic_state3_tessellation_domain_origin,
            extended_dynamic_state3_rasterization_stream, extended_dynamic_state3_sample_locations_enable,
        }
        PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT { graphics_pipeline_library }
        PhysicalDeviceTransformFeedbackFeaturesEXT { transform_feedback, geometry_streams }
        PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT {
            primitives_generated_query, primitives_generated_query_with_rasterizer_discard,
            primitives_generated_query_with_non_zero_streams,
        }
        PhysicalDeviceVertexInputDynamicStateFeaturesEXT { vertex_input_dynamic_state }
        PhysicalDeviceColorWriteEnableFeaturesEXT { color_write_enable }
        PhysicalDeviceDepthClipEnableFeaturesEXT { depth_clip_enable }
        PhysicalDeviceDepthClipControlFeaturesEXT { depth_clip_control }
        PhysicalDeviceDescriptorBufferFeaturesEXT { descriptor_buffer, descriptor_buffer_image_layout_ignored, descriptor_buffer_push_descriptors }
        PhysicalDeviceDepthClampControlFeaturesEXT { depth_clamp_control }
        PhysicalDeviceDepthClampZeroOneFeaturesKHR { depth_clamp_zero_one }
        PhysicalDeviceProvokingVertexFeaturesEXT {
            provoking_vertex_last, transform_feedback_preserves_provoking_vertex,
        }
        PhysicalDeviceMultiDrawFeaturesEXT { multi_draw }
        PhysicalDeviceNonSeamlessCubeMapFeaturesEXT { non_seamless_cube_map }
        PhysicalDevice4444FormatsFeaturesEXT { format_a4_r4_g4_b4, format_a4_b4_g4_r4 }
        PhysicalDeviceTexelBufferAlignmentFeaturesEXT { texel_buffer_alignment }
        PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT { primitive_topology_list_restart }
        PhysicalDeviceMaintenance7FeaturesKHR { maintenance7 }
        PhysicalDeviceMaintenance8FeaturesKHR { maintenance8 }
        PhysicalDeviceMaintenance9FeaturesKHR { maintenance9 }
        PhysicalDeviceBufferDeviceAddressFeaturesEXT { buffer_device_address, buffer_device_address_capture_replay }
        PhysicalDevicePipelineExecutablePropertiesFeaturesKHR { pipeline_executable_info }
        PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR { shader_maximal_reconvergence }
        PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR { shader_subgroup_uniform_control_flow }
        PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR {
            workgroup_memory_explicit_layout, workgroup_memory_explicit_layout_scalar_block_layout,
            workgroup_memory_explicit_layout_8bit_access, workgroup_memory_explicit_layout_16bit_access,
        }
        PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT { attachment_feedback_loop_layout }
        PhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT { attachment_feedback_loop_dynamic_state }
        PhysicalDeviceBlendOperationAdvancedFeaturesEXT { advanced_blend_coherent_operations }
        PhysicalDeviceBorderColorSwizzleFeaturesEXT { border_color_swizzle }
        PhysicalDeviceConditionalRenderingFeaturesEXT { conditional_rendering, inherited_conditional_rendering }
        PhysicalDeviceCustomBorderColorFeaturesEXT { custom_border_colors, custom_border_color_without_format }
        PhysicalDeviceDepthBiasControlFeaturesEXT {
            depth_bias_control, least_representable_value_force_unorm_representation, depth_bias_exact,
        }
        PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT { dynamic_rendering_unused_attachments }
        PhysicalDeviceImage2DViewOf3DFeaturesEXT { image_2d_view_of_3d, sampler_2d_view_of_3d }
        PhysicalDeviceMutableDescriptorTypeFeaturesEXT { mutable_descriptor_type }
        PhysicalDeviceMapMemoryPlacedFeaturesEXT { memory_map_placed, memory_unmap_reserve }
        PhysicalDeviceShaderObjectFeaturesEXT { shader_object }
        PhysicalDeviceShaderQuadControlFeaturesKHR { shader_quad_control }
        PhysicalDeviceShaderUniformBufferUnsizedArrayFeaturesEXT { shader_uniform_buffer_unsized_array }
        PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT { ycbcr2plane444_formats }
        PhysicalDeviceYcbcrImageArraysFeaturesEXT { ycbcr_image_arrays }
    }
    a
}

fn property_chain(chip: &Chip) -> Answers {
    let samples = vk::SampleCountFlags::_1 | vk::SampleCountFlags::_2 | vk::SampleCountFlags::_4;
    let depth_modes = vk::ResolveModeFlags::SAMPLE_ZERO
        | vk::ResolveModeFlags::AVERAGE
        | vk::ResolveModeFlags::MIN
        | vk::ResolveModeFlags::MAX;
    let stencil_modes =
        vk::ResolveModeFlags::SAMPLE_ZERO | vk::ResolveModeFlags::MIN | vk::ResolveModeFlags::MAX;
    let stages = vk::ShaderStageFlags::COMPUTE | vk::ShaderStageFlags::ALL_GRAPHICS;
    let operations = vk::SubgroupFeatureFlags::BASIC
        | vk::SubgroupFeatureFlags::VOTE
        | vk::SubgroupFeatureFlags::ARITHMETIC
        | vk::SubgroupFeatureFlags::BALLOT
        | vk::SubgroupFeatureFlags::SHUFFLE
        | vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE
        | vk::SubgroupFeatureFlags::CLUSTERED
        | vk::SubgroupFeatureFlags::ROTATE
        | vk::SubgroupFeatureFlags::ROTATE_CLUSTERED
        | vk::SubgroupFeatureFlags::QUAD;
    let uuid = uuid(chip);
    let name = |s: &str| vk::StringArray::from_bytes(s.as_bytes());
    let info = |s: &str| vk::StringArray::from_bytes(s.as_bytes());
    let driver_info = concat!("Tepui ", env!("CARGO_PKG_VERSION"));
    let independence = vk::ShaderFloatControlsIndependence::ALL;
    let core = Properties {
        v11: vk::PhysicalDeviceVulkan11Properties {
            device_uuid: uuid,
            driver_uuid: uuid,
            subgroup_size: 32,
            subgroup_supported_stages: stages,
            subgroup_supported_operations: operations,
            subgroup_quad_operations_in_all_stages: TRUE,
            point_clipping_behavior: vk::PointClippingBehavior::USER_CLIP_PLANES_ONLY,
            max_multiview_view_count: 32,
            max_multiview_instance_index: u32::MAX,
            max_per_set_descriptors: 1 << 24,
            max_memory_allocation_size: MAX_MEMORY,
            ..Default::default()
        },
        v12: vk::PhysicalDeviceVulkan12Properties {
            driver_id: DRIVER,
            filter_minmax_single_component_formats: TRUE,
            filter_minmax_image_component_mapping: TRUE,
            driver_name: name("Tepui AGX"),
            driver_info: info(driver_info),
            conformance_version: CONFORMANCE_VERSION,
            denorm_behavior_independence: independence,
            rounding_mode_independence: independence,
            shader_signed_zero_inf_nan_preserve_float16: TRUE,
            shader_signed_zero_inf_nan_preserve_float32: TRUE,
            shader_signed_zero_inf_nan_preserve_float64: TRUE,
            shader_denorm_preserve_float16: TRUE,
            shader_denorm_preserve_float64: TRUE,
            shader_denorm_flush_to_zero_float32: TRUE,
            shader_rounding_mode_rte_float16: TRUE,
            shader_rounding_mode_rte_float32: TRUE,
            shader_rounding_mode_rte_float64: TRUE,
            max_update_after_bind_descriptors_in_all_pools: u32::MAX,
            shader_uniform_buffer_array_non_uniform_indexing_native: TRUE,
            shader_sampled_image_array_non_uniform_indexing_native: TRUE,
            shader_storage_buffer_array_non_uniform_indexing_native: TRUE,
            shader_storage_image_array_non_uniform_indexing_native: TRUE,
            shader_input_attachment_array_non_uniform_indexing_native: TRUE,
            robust_buffer_access_update_after_bind: TRUE,
            max_per_stage_descriptor_update_after_bind_samplers: MAX_DESCRIPTORS,
            max_per_stage_descriptor_update_after_bind_uniform_buffers: MAX_DESCRIPTORS,
            max_per_stage_descriptor_update_after_bind_storage_buffers: MAX_DESCRIPTORS,
            max_per_stage_descriptor_update_after_bind_sampled_images: MAX_DESCRIPTORS,
            max_per_stage_descriptor_update_after_bind_storage_images: MAX_DESCRIPTORS,
            max_per_stage_descriptor_update_after_bind_input_attachments: MAX_DESCRIPTORS,
            max_per_stage_update_after_bind_resources: u32::MAX,
            max_descriptor_set_update_after_bind_samplers: MAX_DESCRIPTORS,
            max_descriptor_set_update_after_bind_uniform_buffers: MAX_DESCRIPTORS,
            max_descriptor_set_update_after_bind_uniform_buffers_dynamic: MAX_DYNAMIC,
            max_descriptor_set_update_after_bind_storage_buffers: MAX_DESCRIPTORS,
            max_descriptor_set_update_after_bind_storage_buffers_dynamic: MAX_DYNAMIC,
            max_descriptor_set_update_after_bind_sampled_images: MAX_DESCRIPTORS,
            max_descriptor_set_update_after_bind_storage_images: MAX_DESCRIPTORS,
            max_descriptor_set_update_after_bind_input_attachments: MAX_DESCRIPTORS,
            supported_depth_resolve_modes: depth_modes,
            supported_stencil_resolve_modes: stencil_modes,
            independent_resolve_none: TRUE,
            independent_resolve: TRUE,
            max_timeline_semaphore_value_difference: u64::MAX,
            framebuffer_integer_color_sample_counts: samples,
            ..Default::default()
        },
        v13: vk::PhysicalDeviceVulkan13Properties {
            min_subgroup_size: 32,
            max_subgroup_size: 32,
            max_compute_workgroup_subgroups: 32,
            required_subgroup_size_stages: vk::ShaderStageFlags::COMPUTE,
            max_inline_uniform_block_size: 1 << 16,
            max_per_stage_descriptor_inline_uniform_blocks: 32,
            max_per_stage_descriptor_update_after_bind_inline_uniform_blocks: 32,
            max_descriptor_set_inline_uniform_blocks: 192,
            max_descriptor_set_update_after_bind_inline_uniform_blocks: 192,
            max_inline_uniform_total_size: 1 << 16,
            storage_texel_buffer_offset_alignment_bytes: 16,
            storage_texel_buffer_offset_single_texel_alignment: TRUE,
            uniform_texel_buffer_offset_alignment_bytes: 16,
            uniform_texel_buffer_offset_single_texel_alignment: TRUE,
            max_buffer_size: MAX_MEMORY,
            ..Default::default()
        },
        v14: vk::PhysicalDeviceVulkan14Properties {
            line_sub_pixel_precision_bits: 8,
            max_vertex_attrib_divisor: u32::MAX,
            supports_non_zero_first_instance: TRUE,
            max_push_descriptors: 32,
            // Depth and stencil are not in the tile.
            dynamic_rendering_local_read_depth_stencil_attachments: FALSE,
            dynamic_rendering_local_read_multisampled_attachments: TRUE,
            depth_stencil_swizzle_one_support: TRUE,
            // The samples outside of the mask are discarded before early tests.
            early_fragment_sample_mask_test_before_sample_counting: TRUE,
            max_combined_image_sampler_descriptor_count: MAX_PLANES as u32,
            default_robustness_storage_buffers: vk::PipelineRobustnessBufferBehavior::DISABLED,
            default_robustness_uniform_buffers: vk::PipelineRobustnessBufferBehavior::DISABLED,
            default_robustness_vertex_inputs: vk::PipelineRobustnessBufferBehavior::DISABLED,
            default_robustness_images: vk::PipelineRobustnessImageBehavior::ROBUST_IMAGE_ACCESS_2,
            ..Default::default()
        },
    };
    let mut a = core.answers();
    // SAFETY: these structures hold no pointers.
    unsafe {
        a.add(vk::PhysicalDeviceRobustness2PropertiesKHR {
            robust_storage_buffer_access_size_alignment: 4,
            robust_uniform_buffer_access_size_alignment: 64,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceProvokingVertexPropertiesEXT {
            provoking_vertex_mode_per_pipeline: TRUE,
            transform_feedback_preserves_triangle_fan_provoking_vertex: TRUE,
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
        a.add(tepui_vulkan::descriptor::buffer_properties(crate::descriptor::size));
        a.add(vk::PhysicalDeviceMaintenance7PropertiesKHR {
            separate_depth_stencil_attachment_access: TRUE,
            ..promoted::dynamic_buffers(MAX_DYNAMIC)
        });
        a.add(vk::PhysicalDeviceShaderObjectPropertiesEXT {
            shader_binary_uuid: cache_uuid(chip),
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMapMemoryPlacedPropertiesEXT {
            min_placed_memory_map_alignment: tepui_agx_chips::PAGE_BYTES,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceExtendedDynamicState3PropertiesEXT {
            dynamic_primitive_topology_unrestricted: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMaintenance9PropertiesKHR {
            default_vertex_attribute_value: vk::DefaultVertexAttributeValueKHR::ZERO_ZERO_ZERO_ZERO,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceCustomBorderColorPropertiesEXT {
            // Each takes two places of the heap.
            max_custom_border_color_samplers: crate::device::SAMPLERS / 2,
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
        // The hardware has places for the samples of a whole rendering, in sixteenths of a pixel.
        a.add(vk::PhysicalDeviceSampleLocationsPropertiesEXT {
            sample_location_sample_counts: vk::SampleCountFlags::_2 | vk::SampleCountFlags::_4,
            max_sample_location_grid_size: vk::Extent2D { width: 1, height: 1 },
            sample_location_coordinate_range: [0.0, MAX_SAMPLE_PLACE as f32 / 16.0],
            sample_location_sub_pixel_bits: 4,
            ..Default::default()
        });
        // Fragment programs compute all of blending.
        a.add(vk::PhysicalDeviceBlendOperationAdvancedPropertiesEXT {
            advanced_blend_max_color_attachments: MAX_COLOURS as u32,
            advanced_blend_independent_blend: TRUE,
            advanced_blend_non_premultiplied_src_color: TRUE,
            advanced_blend_non_premultiplied_dst_color: TRUE,
            advanced_blend_correlated_overlap: TRUE,
            advanced_blend_all_operations: TRUE,
            ..Default::default()
        });
        a.add(vk::PhysicalDeviceMultiDrawPropertiesEXT {
            max_multi_draw_count: 65535,
            ..Default::default()
        });
    }
    a
}

/// A number that names the chip and the driver's version.
pub fn uuid(chip: &Chip) -> vk::ByteArray<16> {
    let mut bytes = *b"tepui-agx\0\0\0\0\0\0\0";
    for (to, from) in bytes[9..].iter_mut().zip(chip.id.bytes()) {
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

/// Description of a chip's physical device. Sparse resources need soft faults: unmapped memory reads as
/// zeros.
pub fn info(chip: &'static Chip, soft_faults: bool) -> PhysicalInfo {
    // source of the heap's size: Mesa, `hk_get_sysmem_heap_size`
    let memory = PhysicalInfo::unified_memory();
    let (mut limits, mut features) = (limits(), features());
    let mut sparse = vk::PhysicalDeviceSparseProperties::default();
    let mut queue_flags =
        vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER;
    if soft_faults {
        queue_flags |= vk::QueueFlags::SPARSE_BINDING;
        limits.sparse_address_space_size = SPARSE_B;
        (sparse.residency_standard_2d_block_shape, sparse.residency_non_resident_strict) =
            (TRUE, TRUE);
        for on in [
            &mut features.sparse_binding,
            &mut features.sparse_residency_buffer,
            &mut features.sparse_residency_image_2d,
            &mut features.sparse_residency_aliased,
            &mut features.shader_resource_residency,
        ] {
            *on = TRUE;
        }
    }
    let queue = vk::QueueFamilyProperties {
        queue_flags,
        queue_count: 1,
        timestamp_valid_bits: 64,
        min_image_transfer_granularity: vk::Extent3D { width: 1, height: 1, depth: 1 },
    };
    let device_name = format!("{} ({}{}, Tepui)", chip.name, "G", chip.generation);
    PhysicalInfo {
        properties: vk::PhysicalDeviceProperties {
            api_version: vk::make_version(1, 4, 309),
            driver_version: vk::make_version(0, 1, 0),
            vendor_id: VENDOR,
            device_id: chip.soc,
            device_type: vk::PhysicalDeviceType::INTEGRATED_GPU,
            device_name: vk::StringArray::from_bytes(device_name.as_bytes()),
            pipeline_cache_uuid: cache_uuid(chip),
            limits,
            sparse_properties: sparse,
        },
        features,
        property_chain: property_chain(chip),
        feature_chain: feature_chain(),
        extensions: EXTENSIONS.to_vec(),
        memory,
        priorities: &[vk::QueueGlobalPriority::LOW, vk::QueueGlobalPriority::MEDIUM],
        queues: vec![queue],
        graphics_stages: vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::FRAGMENT,
        set_memory: &[SetMemory::Device { memory_type: 0 }],
        max_memory_bytes: MAX_MEMORY,
        shading_rates: &[],
    }
}
