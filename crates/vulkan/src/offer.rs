//! Extensions and features of the runtime alone, which need nothing of a family and are offered for every GPU.
//!
//! A family lists those of its hardware and compiler in its [`PhysicalInfo`]; [`join`] adds these, once for each physical device.

use vulkanalia_sys::{self as vk, TRUE};

use crate::backend::PhysicalInfo;
use crate::chain::Answers;
use crate::promoted::Features;

/// Device extensions that the runtime and the SPIR-V front end alone implement, and their versions; those of window systems are in
/// [`crate::wsi`].
pub const EXTENSIONS: &[(&str, u32)] = &[
    ("VK_KHR_bind_memory2", 1),
    ("VK_KHR_calibrated_timestamps", 1),
    ("VK_KHR_copy_commands2", 1),
    ("VK_KHR_create_renderpass2", 1),
    ("VK_KHR_dedicated_allocation", 3),
    ("VK_KHR_descriptor_update_template", 1),
    ("VK_KHR_device_group", 4),
    ("VK_KHR_driver_properties", 1),
    ("VK_KHR_dynamic_rendering", 1),
    ("VK_KHR_external_fence", 1),
    ("VK_KHR_external_fence_fd", 1),
    ("VK_KHR_external_semaphore", 1),
    ("VK_KHR_external_semaphore_fd", 1),
    ("VK_KHR_format_feature_flags2", 2),
    ("VK_KHR_get_memory_requirements2", 1),
    ("VK_KHR_image_format_list", 1),
    ("VK_KHR_imageless_framebuffer", 1),
    ("VK_KHR_map_memory2", 1),
    ("VK_KHR_pipeline_binary", 1),
    ("VK_KHR_pipeline_library", 1),
    ("VK_KHR_push_descriptor", 2),
    ("VK_KHR_relaxed_block_layout", 1),
    ("VK_KHR_separate_depth_stencil_layouts", 1),
    ("VK_KHR_shader_expect_assume", 1),
    ("VK_KHR_shader_non_semantic_info", 1),
    ("VK_KHR_shader_relaxed_extended_instruction", 1),
    ("VK_KHR_shader_untyped_pointers", 1),
    ("VK_KHR_spirv_1_4", 1),
    ("VK_KHR_storage_buffer_storage_class", 1),
    ("VK_KHR_synchronization2", 1),
    ("VK_KHR_timeline_semaphore", 2),
    ("VK_EXT_calibrated_timestamps", 2),
    ("VK_EXT_host_query_reset", 1),
    ("VK_EXT_memory_budget", 1),
    ("VK_EXT_nested_command_buffer", 1),
    ("VK_EXT_pipeline_creation_cache_control", 3),
    ("VK_EXT_pipeline_creation_feedback", 1),
    ("VK_EXT_private_data", 1),
    ("VK_EXT_queue_family_foreign", 1),
    ("VK_EXT_separate_stencil_usage", 1),
    ("VK_EXT_shader_module_identifier", 1),
    ("VK_EXT_shader_replicated_composites", 1),
    ("VK_EXT_tooling_info", 1),
    ("VK_GOOGLE_decorate_string", 1),
    ("VK_GOOGLE_hlsl_functionality1", 1),
    ("VK_GOOGLE_user_type", 1),
];

/// Maximum number of levels of secondary command buffers that execute others. Each takes a frame of the stack where the primary one
/// encodes their commands.
const MAX_NESTING: u32 = 256;

/// Features that belong to [`EXTENSIONS`].
fn features() -> Answers {
    let core = Features {
        v12: vk::PhysicalDeviceVulkan12Features {
            host_query_reset: TRUE,
            imageless_framebuffer: TRUE,
            separate_depth_stencil_layouts: TRUE,
            timeline_semaphore: TRUE,
            ..Default::default()
        },
        v13: vk::PhysicalDeviceVulkan13Features {
            dynamic_rendering: TRUE,
            pipeline_creation_cache_control: TRUE,
            private_data: TRUE,
            synchronization2: TRUE,
            ..Default::default()
        },
        v14: vk::PhysicalDeviceVulkan14Features {
            push_descriptor: TRUE,
            shader_expect_assume: TRUE,
            ..Default::default()
        },
        ..Features::default()
    };
    let mut all = core.answers();
    // SAFETY: structures of the registry with truth values only.
    unsafe {
        all.add(vk::PhysicalDevicePipelineBinaryFeaturesKHR {
            pipeline_binaries: TRUE,
            ..Default::default()
        });
        all.add(vk::PhysicalDeviceNestedCommandBufferFeaturesEXT {
            nested_command_buffer: TRUE,
            nested_command_buffer_rendering: TRUE,
            nested_command_buffer_simultaneous_use: TRUE,
            ..Default::default()
        });
        all.add(vk::PhysicalDeviceShaderModuleIdentifierFeaturesEXT {
            shader_module_identifier: TRUE,
            ..Default::default()
        });
        all.add(vk::PhysicalDeviceShaderRelaxedExtendedInstructionFeaturesKHR {
            shader_relaxed_extended_instruction: TRUE,
            ..Default::default()
        });
        all.add(vk::PhysicalDeviceShaderUntypedPointersFeaturesKHR {
            shader_untyped_pointers: TRUE,
            ..Default::default()
        });
        all.add(vk::PhysicalDeviceShaderReplicatedCompositesFeaturesEXT {
            shader_replicated_composites: TRUE,
            ..Default::default()
        });
    }
    all
}

/// Features of a family whose compiler has atomics of floats of 32 bits, by its hardware or as loops: exchanges, and minima and maxima in
/// memory.
#[must_use]
pub fn float_atomics() -> Answers {
    let mut all = Answers::default();
    // SAFETY: structures of truth values.
    unsafe {
        all.add(vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT {
            shader_buffer_float32_atomics: TRUE,
            shader_shared_float32_atomics: TRUE,
            shader_image_float32_atomics: TRUE,
            ..Default::default()
        });
        all.add(vk::PhysicalDeviceShaderAtomicFloat2FeaturesEXT {
            shader_buffer_float32_atomic_min_max: TRUE,
            shader_shared_float32_atomic_min_max: TRUE,
            ..Default::default()
        });
    }
    all
}

/// Description of a physical device as applications see it: its family's, with the runtime's extensions and features.
pub fn join(family: &PhysicalInfo) -> PhysicalInfo {
    let mut info = family.clone();
    for e in EXTENSIONS {
        debug_assert!(family.extensions.iter().all(|own| own.0 != e.0), "{} is the runtime's", e.0);
    }
    info.extensions.extend(EXTENSIONS);
    info.feature_chain.join(&features());
    // All binaries are the application's, and as they are.
    // SAFETY: structures of truth values and numbers.
    unsafe {
        info.property_chain.add(vk::PhysicalDevicePipelineBinaryPropertiesKHR::default());
        info.property_chain.add(vk::PhysicalDeviceNestedCommandBufferPropertiesEXT {
            max_command_buffer_nesting_level: MAX_NESTING,
            ..Default::default()
        });
    }
    crate::wsi::offer(&mut info);
    info
}
