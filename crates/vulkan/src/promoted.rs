//! Features and properties of the core versions, and of the extensions that became part of them.
//!
//! Each core version has one structure for all that it took over, and each extension still has its own with the same
//! fields. A family fills in the structures of the versions; what the extensions' structures say follows from them.

use vulkanalia_sys as vk;

use crate::chain::Answers;

/// Version of the conformance suite that the figures in docs/conformance.md are of: the newest that commit c57d29f97 knows. Clients hide
/// drivers that name none, and the suite fails one that is older than the API's version.
pub const CONFORMANCE_VERSION: vk::ConformanceVersion =
    vk::ConformanceVersion { major: 1, minor: 4, subminor: 6, patch: 1 };

/// Limits on the buffers with dynamic offsets of a pipeline layout: `each` of uniform and of storage buffers, written before or after
/// they are bound.
#[must_use]
pub fn dynamic_buffers(each: u32) -> vk::PhysicalDeviceMaintenance7PropertiesKHR {
    vk::PhysicalDeviceMaintenance7PropertiesKHR {
        max_descriptor_set_total_uniform_buffers_dynamic: each,
        max_descriptor_set_total_storage_buffers_dynamic: each,
        max_descriptor_set_total_buffers_dynamic: 2 * each,
        max_descriptor_set_update_after_bind_total_uniform_buffers_dynamic: each,
        max_descriptor_set_update_after_bind_total_storage_buffers_dynamic: each,
        max_descriptor_set_update_after_bind_total_buffers_dynamic: 2 * each,
        ..Default::default()
    }
}

/// Features by core version.
#[derive(Clone, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Features {
    pub v11: vk::PhysicalDeviceVulkan11Features,
    pub v12: vk::PhysicalDeviceVulkan12Features,
    pub v13: vk::PhysicalDeviceVulkan13Features,
    pub v14: vk::PhysicalDeviceVulkan14Features,
}

/// Properties by core version.
#[derive(Clone, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Properties {
    pub v11: vk::PhysicalDeviceVulkan11Properties,
    pub v12: vk::PhysicalDeviceVulkan12Properties,
    pub v13: vk::PhysicalDeviceVulkan13Properties,
    pub v14: vk::PhysicalDeviceVulkan14Properties,
}

/// Adds structures of extensions whose fields are those of a core version's structure.
macro_rules! promoted {
    ($answers:ident, $all:expr; $($version:ident: $Type:ident { $($field:ident),* $(,)? })*) => {
        // SAFETY: structures of the registry, of which none here has a pointer besides the chain's.
        unsafe {
            $($answers.add(vk::$Type { $($field: $all.$version.$field,)* ..Default::default() });)*
        }
    };
}

impl Features {
    /// Answers to queries: the versions' structures and those of the extensions.
    pub fn answers(&self) -> Answers {
        let mut a = Answers::default();
        // SAFETY: structures of truth values.
        unsafe {
            a.add(self.v11);
            a.add(self.v12);
            a.add(self.v13);
            a.add(self.v14);
        }
        promoted! { a, self;
            v11: PhysicalDevice16BitStorageFeatures { storage_buffer_16bit_access, uniform_and_storage_buffer_16bit_access, storage_push_constant16, storage_input_output16 }
            v11: PhysicalDeviceMultiviewFeatures { multiview, multiview_geometry_shader, multiview_tessellation_shader }
            v11: PhysicalDeviceProtectedMemoryFeatures { protected_memory }
            v11: PhysicalDeviceSamplerYcbcrConversionFeatures { sampler_ycbcr_conversion }
            v11: PhysicalDeviceShaderDrawParametersFeatures { shader_draw_parameters }
            v11: PhysicalDeviceVariablePointersFeatures { variable_pointers_storage_buffer, variable_pointers }
            v12: PhysicalDevice8BitStorageFeatures { storage_buffer_8bit_access, uniform_and_storage_buffer_8bit_access, storage_push_constant8 }
            v12: PhysicalDeviceBufferDeviceAddressFeatures { buffer_device_address, buffer_device_address_capture_replay, buffer_device_address_multi_device }
            v12: PhysicalDeviceDescriptorIndexingFeatures { shader_input_attachment_array_dynamic_indexing, shader_uniform_texel_buffer_array_dynamic_indexing, shader_storage_texel_buffer_array_dynamic_indexing, shader_uniform_buffer_array_non_uniform_indexing, shader_sampled_image_array_non_uniform_indexing, shader_storage_buffer_array_non_uniform_indexing, shader_storage_image_array_non_uniform_indexing, shader_input_attachment_array_non_uniform_indexing, shader_uniform_texel_buffer_array_non_uniform_indexing, shader_storage_texel_buffer_array_non_uniform_indexing, descriptor_binding_uniform_buffer_update_after_bind, descriptor_binding_sampled_image_update_after_bind, descriptor_binding_storage_image_update_after_bind, descriptor_binding_storage_buffer_update_after_bind, descriptor_binding_uniform_texel_buffer_update_after_bind, descriptor_binding_storage_texel_buffer_update_after_bind, descriptor_binding_update_unused_while_pending, descriptor_binding_partially_bound, descriptor_binding_variable_descriptor_count, runtime_descriptor_array }
            v12: PhysicalDeviceHostQueryResetFeatures { host_query_reset }
            v12: PhysicalDeviceImagelessFramebufferFeatures { imageless_framebuffer }
            v12: PhysicalDeviceScalarBlockLayoutFeatures { scalar_block_layout }
            v12: PhysicalDeviceSeparateDepthStencilLayoutsFeatures { separate_depth_stencil_layouts }
            v12: PhysicalDeviceShaderAtomicInt64Features { shader_buffer_int64_atomics, shader_shared_int64_atomics }
            v12: PhysicalDeviceShaderFloat16Int8Features { shader_float16, shader_int8 }
            v12: PhysicalDeviceShaderSubgroupExtendedTypesFeatures { shader_subgroup_extended_types }
            v12: PhysicalDeviceTimelineSemaphoreFeatures { timeline_semaphore }
            v12: PhysicalDeviceUniformBufferStandardLayoutFeatures { uniform_buffer_standard_layout }
            v12: PhysicalDeviceVulkanMemoryModelFeatures { vulkan_memory_model, vulkan_memory_model_device_scope, vulkan_memory_model_availability_visibility_chains }
            v13: PhysicalDeviceDynamicRenderingFeatures { dynamic_rendering }
            v13: PhysicalDeviceImageRobustnessFeatures { robust_image_access }
            v13: PhysicalDeviceInlineUniformBlockFeatures { inline_uniform_block, descriptor_binding_inline_uniform_block_update_after_bind }
            v13: PhysicalDeviceMaintenance4Features { maintenance4 }
            v13: PhysicalDevicePipelineCreationCacheControlFeatures { pipeline_creation_cache_control }
            v13: PhysicalDevicePrivateDataFeatures { private_data }
            v13: PhysicalDeviceShaderDemoteToHelperInvocationFeatures { shader_demote_to_helper_invocation }
            v13: PhysicalDeviceShaderIntegerDotProductFeatures { shader_integer_dot_product }
            v13: PhysicalDeviceShaderTerminateInvocationFeatures { shader_terminate_invocation }
            v13: PhysicalDeviceSubgroupSizeControlFeatures { subgroup_size_control, compute_full_subgroups }
            v13: PhysicalDeviceSynchronization2Features { synchronization2 }
            v13: PhysicalDeviceTextureCompressionASTCHDRFeatures { texture_compression_astc_hdr }
            v13: PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures { shader_zero_initialize_workgroup_memory }
            v14: PhysicalDeviceDynamicRenderingLocalReadFeatures { dynamic_rendering_local_read }
            v14: PhysicalDeviceGlobalPriorityQueryFeatures { global_priority_query }
            v14: PhysicalDeviceHostImageCopyFeatures { host_image_copy }
            v14: PhysicalDeviceIndexTypeUint8Features { index_type_uint8 }
            v14: PhysicalDeviceLineRasterizationFeatures { rectangular_lines, bresenham_lines, smooth_lines, stippled_rectangular_lines, stippled_bresenham_lines, stippled_smooth_lines }
            v14: PhysicalDeviceMaintenance5Features { maintenance5 }
            v14: PhysicalDeviceMaintenance6Features { maintenance6 }
            v14: PhysicalDevicePipelineProtectedAccessFeatures { pipeline_protected_access }
            v14: PhysicalDevicePipelineRobustnessFeatures { pipeline_robustness }
            v14: PhysicalDeviceShaderExpectAssumeFeatures { shader_expect_assume }
            v14: PhysicalDeviceShaderFloatControls2Features { shader_float_controls2 }
            v14: PhysicalDeviceShaderSubgroupRotateFeatures { shader_subgroup_rotate, shader_subgroup_rotate_clustered }
            v14: PhysicalDeviceVertexAttributeDivisorFeatures { vertex_attribute_instance_rate_divisor, vertex_attribute_instance_rate_zero_divisor }
        }
        a
    }
}

impl Properties {
    /// Answers to queries: the versions' structures and those of the extensions.
    pub fn answers(&self) -> Answers {
        let mut a = Answers::default();
        // SAFETY: structures of the registry; pointers to lists of layouts are not read ([`crate::physical`]).
        unsafe {
            a.add(self.v11);
            a.add(self.v12);
            a.add(self.v13);
            a.add(self.v14);
            a.add(vk::PhysicalDeviceSubgroupProperties {
                subgroup_size: self.v11.subgroup_size,
                supported_stages: self.v11.subgroup_supported_stages,
                supported_operations: self.v11.subgroup_supported_operations,
                quad_operations_in_all_stages: self.v11.subgroup_quad_operations_in_all_stages,
                ..Default::default()
            });
        }
        promoted! { a, self;
            v12: PhysicalDeviceDepthStencilResolveProperties { supported_depth_resolve_modes, supported_stencil_resolve_modes, independent_resolve_none, independent_resolve }
            v12: PhysicalDeviceDescriptorIndexingProperties { max_update_after_bind_descriptors_in_all_pools, shader_uniform_buffer_array_non_uniform_indexing_native, shader_sampled_image_array_non_uniform_indexing_native, shader_storage_buffer_array_non_uniform_indexing_native, shader_storage_image_array_non_uniform_indexing_native, shader_input_attachment_array_non_uniform_indexing_native, robust_buffer_access_update_after_bind, quad_divergent_implicit_lod, max_per_stage_descriptor_update_after_bind_samplers, max_per_stage_descriptor_update_after_bind_uniform_buffers, max_per_stage_descriptor_update_after_bind_storage_buffers, max_per_stage_descriptor_update_after_bind_sampled_images, max_per_stage_descriptor_update_after_bind_storage_images, max_per_stage_descriptor_update_after_bind_input_attachments, max_per_stage_update_after_bind_resources, max_descriptor_set_update_after_bind_samplers, max_descriptor_set_update_after_bind_uniform_buffers, max_descriptor_set_update_after_bind_uniform_buffers_dynamic, max_descriptor_set_update_after_bind_storage_buffers, max_descriptor_set_update_after_bind_storage_buffers_dynamic, max_descriptor_set_update_after_bind_sampled_images, max_descriptor_set_update_after_bind_storage_images, max_descriptor_set_update_after_bind_input_attachments }
            v12: PhysicalDeviceDriverProperties { driver_id, driver_name, driver_info, conformance_version }
            v12: PhysicalDeviceFloatControlsProperties { denorm_behavior_independence, rounding_mode_independence, shader_signed_zero_inf_nan_preserve_float16, shader_signed_zero_inf_nan_preserve_float32, shader_signed_zero_inf_nan_preserve_float64, shader_denorm_preserve_float16, shader_denorm_preserve_float32, shader_denorm_preserve_float64, shader_denorm_flush_to_zero_float16, shader_denorm_flush_to_zero_float32, shader_denorm_flush_to_zero_float64, shader_rounding_mode_rte_float16, shader_rounding_mode_rte_float32, shader_rounding_mode_rte_float64, shader_rounding_mode_rtz_float16, shader_rounding_mode_rtz_float32, shader_rounding_mode_rtz_float64 }
            v11: PhysicalDeviceIDProperties { device_uuid, driver_uuid, device_luid, device_node_mask, device_luid_valid }
            v13: PhysicalDeviceInlineUniformBlockProperties { max_inline_uniform_block_size, max_per_stage_descriptor_inline_uniform_blocks, max_per_stage_descriptor_update_after_bind_inline_uniform_blocks, max_descriptor_set_inline_uniform_blocks, max_descriptor_set_update_after_bind_inline_uniform_blocks }
            v14: PhysicalDeviceLineRasterizationProperties { line_sub_pixel_precision_bits }
            v11: PhysicalDeviceMaintenance3Properties { max_per_set_descriptors, max_memory_allocation_size }
            v13: PhysicalDeviceMaintenance4Properties { max_buffer_size }
            v14: PhysicalDeviceMaintenance5Properties { early_fragment_multisample_coverage_after_sample_counting, early_fragment_sample_mask_test_before_sample_counting, depth_stencil_swizzle_one_support, polygon_mode_point_size, non_strict_single_pixel_wide_lines_use_parallelogram, non_strict_wide_lines_use_parallelogram }
            v14: PhysicalDeviceMaintenance6Properties { block_texel_view_compatible_multiple_layers, max_combined_image_sampler_descriptor_count, fragment_shading_rate_clamp_combiner_inputs }
            v11: PhysicalDeviceMultiviewProperties { max_multiview_view_count, max_multiview_instance_index }
            v14: PhysicalDevicePipelineRobustnessProperties { default_robustness_storage_buffers, default_robustness_uniform_buffers, default_robustness_vertex_inputs, default_robustness_images }
            v11: PhysicalDevicePointClippingProperties { point_clipping_behavior }
            v11: PhysicalDeviceProtectedMemoryProperties { protected_no_fault }
            v14: PhysicalDevicePushDescriptorProperties { max_push_descriptors }
            v12: PhysicalDeviceSamplerFilterMinmaxProperties { filter_minmax_single_component_formats, filter_minmax_image_component_mapping }
            v13: PhysicalDeviceShaderIntegerDotProductProperties { integer_dot_product_8bit_unsigned_accelerated, integer_dot_product_8bit_signed_accelerated, integer_dot_product_8bit_mixed_signedness_accelerated, integer_dot_product4x_8bit_packed_unsigned_accelerated, integer_dot_product4x_8bit_packed_signed_accelerated, integer_dot_product4x_8bit_packed_mixed_signedness_accelerated, integer_dot_product_16bit_unsigned_accelerated, integer_dot_product_16bit_signed_accelerated, integer_dot_product_16bit_mixed_signedness_accelerated, integer_dot_product_32bit_unsigned_accelerated, integer_dot_product_32bit_signed_accelerated, integer_dot_product_32bit_mixed_signedness_accelerated, integer_dot_product_64bit_unsigned_accelerated, integer_dot_product_64bit_signed_accelerated, integer_dot_product_64bit_mixed_signedness_accelerated, integer_dot_product_accumulating_saturating_8bit_unsigned_accelerated, integer_dot_product_accumulating_saturating_8bit_signed_accelerated, integer_dot_product_accumulating_saturating_8bit_mixed_signedness_accelerated, integer_dot_product_accumulating_saturating4x_8bit_packed_unsigned_accelerated, integer_dot_product_accumulating_saturating4x_8bit_packed_signed_accelerated, integer_dot_product_accumulating_saturating_16bit_unsigned_accelerated, integer_dot_product_accumulating_saturating_16bit_signed_accelerated, integer_dot_product_accumulating_saturating_16bit_mixed_signedness_accelerated, integer_dot_product_accumulating_saturating_32bit_unsigned_accelerated, integer_dot_product_accumulating_saturating_32bit_signed_accelerated, integer_dot_product_accumulating_saturating_32bit_mixed_signedness_accelerated, integer_dot_product_accumulating_saturating_64bit_unsigned_accelerated, integer_dot_product_accumulating_saturating_64bit_signed_accelerated, integer_dot_product_accumulating_saturating_64bit_mixed_signedness_accelerated }
            v13: PhysicalDeviceSubgroupSizeControlProperties { min_subgroup_size, max_subgroup_size, max_compute_workgroup_subgroups, required_subgroup_size_stages }
            v13: PhysicalDeviceTexelBufferAlignmentProperties { storage_texel_buffer_offset_alignment_bytes, storage_texel_buffer_offset_single_texel_alignment, uniform_texel_buffer_offset_alignment_bytes, uniform_texel_buffer_offset_single_texel_alignment }
            v12: PhysicalDeviceTimelineSemaphoreProperties { max_timeline_semaphore_value_difference }
            v14: PhysicalDeviceVertexAttributeDivisorProperties { max_vertex_attrib_divisor, supports_non_zero_first_instance }
            v14: PhysicalDeviceVertexAttributeDivisorPropertiesEXT { max_vertex_attrib_divisor }
        }
        a
    }
}
