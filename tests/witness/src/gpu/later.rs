//! Extensions that are later than `ash`.

use std::ffi::{CStr, c_void};

use ash::vk;

/// Ranges that depth is clamped to.
pub const DEPTH_CLAMP_CONTROL: &CStr = c"VK_EXT_depth_clamp_control";

/// `VkPhysicalDeviceDepthClampControlFeaturesEXT`.
#[repr(C)]
pub struct DepthClampControlFeatures {
    s_type: vk::StructureType,
    pub p_next: *mut c_void,
    depth_clamp_control: vk::Bool32,
}

impl Default for DepthClampControlFeatures {
    fn default() -> Self {
        let s_type = vk::StructureType::from_raw(1_000_582_000);
        DepthClampControlFeatures { s_type, p_next: std::ptr::null_mut(), depth_clamp_control: 0 }
    }
}

// SAFETY: the structure is the registry's, which lets it extend these.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for DepthClampControlFeatures {}

/// `VkPipelineViewportDepthClampControlCreateInfoEXT` with a range of its own: smallest and largest depth.
#[repr(C)]
pub struct DepthClampRange<'a> {
    s_type: vk::StructureType,
    p_next: *const c_void,
    mode: i32,
    range: Option<&'a [f32; 2]>,
}

impl<'a> DepthClampRange<'a> {
    /// The structure of a range.
    pub fn new(range: &'a [f32; 2]) -> Self {
        let s_type = vk::StructureType::from_raw(1_000_582_001);
        // source: the registry, VK_DEPTH_CLAMP_MODE_USER_DEFINED_RANGE_EXT
        DepthClampRange { s_type, p_next: std::ptr::null(), mode: 1, range: Some(range) }
    }
}

// SAFETY: as above.
unsafe impl vk::ExtendsPipelineViewportStateCreateInfo for DepthClampRange<'_> {}
