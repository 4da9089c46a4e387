//! Commands that set state which no family offers.
//!
//! `VK_EXT_shader_object` brings the commands of other extensions with it, and applications may ask for each of them; calling
//! one takes a feature that is not offered. source: the Vulkan specification, "VK_EXT_shader_object", "New Commands"

use vulkanalia_sys as vk;

use crate::backend::Backend;
use crate::entry;

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
}
