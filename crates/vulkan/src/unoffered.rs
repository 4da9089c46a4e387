//! Commands of extensions that are offered, which take a feature that no family offers.
//!
//! Applications may ask for each command of an extension. `VK_EXT_shader_object` brings commands of other extensions with it, and
//! `VK_EXT_descriptor_buffer` those of descriptors that come again in another run (`descriptorBufferCaptureReplay`).
//! source: the Vulkan specification, "VK_EXT_shader_object" and "VK_EXT_descriptor_buffer", "New Commands"

use std::ffi::c_void;

use vulkanalia_sys as vk;

use crate::backend::Backend;
use crate::entry;
use crate::error::Error;

entry! {
    /// `vkCmdSetExtraPrimitiveOverestimationSizeEXT`.
    fn vkCmdSetExtraPrimitiveOverestimationSizeEXT<B: Backend>(_buffer: vk::CommandBuffer, _size: f32) {}

    /// `vkCmdSetCoverageModulationModeNV`.
    fn vkCmdSetCoverageModulationModeNV<B: Backend>(_buffer: vk::CommandBuffer, _mode: vk::CoverageModulationModeNV) {}

    /// `vkCmdSetCoverageModulationTableEnableNV`.
    fn vkCmdSetCoverageModulationTableEnableNV<B: Backend>(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}

    /// `vkCmdSetCoverageModulationTableNV`.
    fn vkCmdSetCoverageModulationTableNV<B: Backend>(_buffer: vk::CommandBuffer, _count: u32, _table: *const f32) {}

    /// `vkCmdSetCoverageReductionModeNV`.
    fn vkCmdSetCoverageReductionModeNV<B: Backend>(_buffer: vk::CommandBuffer, _mode: vk::CoverageReductionModeNV) {}

    /// `vkCmdSetCoverageToColorEnableNV`.
    fn vkCmdSetCoverageToColorEnableNV<B: Backend>(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}

    /// `vkCmdSetCoverageToColorLocationNV`.
    fn vkCmdSetCoverageToColorLocationNV<B: Backend>(_buffer: vk::CommandBuffer, _location: u32) {}

    /// `vkCmdSetRepresentativeFragmentTestEnableNV`.
    fn vkCmdSetRepresentativeFragmentTestEnableNV<B: Backend>(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}

    /// `vkCmdSetShadingRateImageEnableNV`.
    fn vkCmdSetShadingRateImageEnableNV<B: Backend>(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}

    /// `vkCmdSetViewportSwizzleNV`.
    fn vkCmdSetViewportSwizzleNV<B: Backend>(_buffer: vk::CommandBuffer, _first: u32, _count: u32, _swizzles: *const vk::ViewportSwizzleNV) {}

    /// `vkCmdSetViewportWScalingEnableNV`.
    fn vkCmdSetViewportWScalingEnableNV<B: Backend>(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}

    /// `vkGetBufferOpaqueCaptureDescriptorDataEXT`.
    fn vkGetBufferOpaqueCaptureDescriptorDataEXT<B: Backend>(_device: vk::Device, _info: *const vk::BufferCaptureDescriptorDataInfoEXT, _data: *mut c_void) -> vk::Result {
        Err(not_captured())
    }

    /// `vkGetImageOpaqueCaptureDescriptorDataEXT`.
    fn vkGetImageOpaqueCaptureDescriptorDataEXT<B: Backend>(_device: vk::Device, _info: *const vk::ImageCaptureDescriptorDataInfoEXT, _data: *mut c_void) -> vk::Result {
        Err(not_captured())
    }

    /// `vkGetImageViewOpaqueCaptureDescriptorDataEXT`.
    fn vkGetImageViewOpaqueCaptureDescriptorDataEXT<B: Backend>(_device: vk::Device, _info: *const vk::ImageViewCaptureDescriptorDataInfoEXT, _data: *mut c_void) -> vk::Result {
        Err(not_captured())
    }

    /// `vkGetSamplerOpaqueCaptureDescriptorDataEXT`.
    fn vkGetSamplerOpaqueCaptureDescriptorDataEXT<B: Backend>(_device: vk::Device, _info: *const vk::SamplerCaptureDescriptorDataInfoEXT, _data: *mut c_void) -> vk::Result {
        Err(not_captured())
    }
}

fn not_captured() -> Error {
    Error::unsupported("descriptors that come again in another run")
}
