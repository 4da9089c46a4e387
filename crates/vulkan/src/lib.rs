//! The Vulkan runtime that Tepui's drivers share.
//!
//! ```text
//! loader ─▶ instance ─▶ physical device ─▶ device ─▶ queue ─▶ Backend::submit
//!                                            │
//!              pipeline, descriptor, image ──┤
//!                                            ▼
//!                    command buffer ─▶ CommandState ─▶ Encoder (draw, dispatch, copy …)
//! ```
//!
//! The runtime has the loader's interface ([`instance`]), objects ([`object`]), synchronisation ([`sync`], [`device`]), descriptor
//! sets ([`descriptor`]), render passes ([`render_pass`]) and command recording ([`command`], [`record`], [`transfer`]). It names no GPU
//! family: a driver implements [`backend::Backend`] and gives its limits, features and formats as data
//! ([`backend::PhysicalInfo`]).
//!
//! Every entry point is generic over the backend; [`commands_of`] makes the table of a family. Start reading at
//! [`backend`].

#![recursion_limit = "256"]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "entry points trust the application as the specification's valid usage says"
)]

pub mod backend;
mod binary;
pub mod blending;
pub mod cache;
pub mod chain;
pub mod command;
pub mod debug;
mod deferred;
pub mod dependency;
pub mod descriptor;
pub mod device;
pub mod dispatch;
pub mod draws;
pub mod dynamic;
pub mod entry;
pub mod error;
pub mod executable;
pub mod feedback;
pub mod host;
pub mod image;
pub mod instance;
mod key;
pub mod memory;
pub mod object;
pub mod offer;
pub mod pages;
pub mod physical;
pub mod pipeline;
pub mod promoted;
pub mod record;
pub mod registry;
pub mod render_pass;
pub mod shader_object;
pub mod sparse;
pub mod state;
pub mod sync;
pub mod table;
pub mod transfer;
pub mod unoffered;
pub mod wsi;
pub mod ycbcr;

pub use error::{Error, Result};
pub use vulkanalia_sys as vk;

use backend::Backend;
use table::Function;

/// Calls a macro with the device-level commands by module; those that are generic over the family are marked with `<B>`.
macro_rules! device_commands {
    ($with:ident) => { $with! {
        device::{
            vkGetDeviceProcAddr, vkDestroyDevice<B>, vkGetDeviceQueue<B>, vkGetDeviceQueue2<B>,
            vkDeviceWaitIdle<B>, vkQueueWaitIdle<B>, vkQueueSubmit<B>, vkQueueSubmit2<B>,
            vkGetCalibratedTimestampsKHR<B>, vkGetDeviceGroupPeerMemoryFeatures<B>,
            vkSetDebugUtilsObjectNameEXT<B>, vkSetDebugUtilsObjectTagEXT<B>,
            vkQueueBeginDebugUtilsLabelEXT<B>, vkQueueEndDebugUtilsLabelEXT<B>,
            vkQueueInsertDebugUtilsLabelEXT<B>,
        }
        sync::{
            vkCreateFence<B>, vkDestroyFence<B>, vkResetFences<B>, vkGetFenceStatus<B>, vkWaitForFences<B>,
            vkImportFenceFdKHR<B>, vkGetFenceFdKHR<B>, vkCreateSemaphore<B>, vkDestroySemaphore<B>,
            vkGetSemaphoreCounterValue<B>, vkWaitSemaphores<B>, vkSignalSemaphore<B>,
            vkImportSemaphoreFdKHR<B>, vkGetSemaphoreFdKHR<B>, vkCreateEvent<B>, vkDestroyEvent<B>,
            vkGetEventStatus<B>, vkSetEvent<B>, vkResetEvent<B>,
        }
        memory::{
            vkAllocateMemory<B>, vkFreeMemory<B>, vkMapMemory<B>, vkMapMemory2<B>, vkUnmapMemory<B>,
            vkUnmapMemory2<B>, vkFlushMappedMemoryRanges<B>, vkInvalidateMappedMemoryRanges<B>,
            vkGetDeviceMemoryCommitment<B>, vkGetDeviceMemoryOpaqueCaptureAddress<B>, vkGetMemoryFdKHR<B>,
            vkGetMemoryFdPropertiesKHR<B>, vkCreateBuffer<B>, vkDestroyBuffer<B>,
            vkGetBufferMemoryRequirements<B>, vkGetBufferMemoryRequirements2<B>,
            vkGetDeviceBufferMemoryRequirements<B>, vkBindBufferMemory<B>, vkBindBufferMemory2<B>,
            vkGetBufferDeviceAddress<B>, vkGetBufferOpaqueCaptureAddress<B>,
        }
        image::{
            vkCreateImage<B>, vkDestroyImage<B>, vkGetImageMemoryRequirements<B>,
            vkGetImageMemoryRequirements2<B>, vkGetDeviceImageMemoryRequirements<B>,
            vkBindImageMemory<B>, vkBindImageMemory2<B>,
            vkGetImageSubresourceLayout<B>, vkGetImageSubresourceLayout2<B>,
            vkGetDeviceImageSubresourceLayout<B>, vkGetImageDrmFormatModifierPropertiesEXT<B>,
            vkCreateImageView<B>, vkDestroyImageView<B>, vkCreateBufferView<B>, vkDestroyBufferView<B>,
            vkCreateSampler<B>, vkDestroySampler<B>,
        }
        sparse::{
            vkQueueBindSparse<B>, vkGetImageSparseMemoryRequirements<B>,
            vkGetImageSparseMemoryRequirements2<B>, vkGetDeviceImageSparseMemoryRequirements<B>,
        }
        host::{ vkCopyMemoryToImage<B>, vkCopyImageToMemory<B>, vkCopyImageToImage<B>, vkTransitionImageLayout<B> }
        ycbcr::{ vkCreateSamplerYcbcrConversion<B>, vkDestroySamplerYcbcrConversion<B> }
        descriptor::{
            vkCreateDescriptorSetLayout<B>, vkDestroyDescriptorSetLayout<B>,
            vkGetDescriptorSetLayoutSupport<B>, vkCreateDescriptorPool<B>, vkDestroyDescriptorPool<B>,
            vkResetDescriptorPool<B>, vkAllocateDescriptorSets<B>, vkFreeDescriptorSets<B>,
            vkUpdateDescriptorSets<B>, vkCreateDescriptorUpdateTemplate<B>,
            vkDestroyDescriptorUpdateTemplate<B>, vkUpdateDescriptorSetWithTemplate<B>,
        }
        pipeline::{
            vkCreateShaderModule<B>, vkDestroyShaderModule<B>, vkCreatePipelineLayout<B>,
            vkDestroyPipelineLayout<B>, vkCreateComputePipelines<B>, vkGetShaderModuleIdentifierEXT<B>,
            vkGetShaderModuleCreateInfoIdentifierEXT<B>,
            vkCreateGraphicsPipelines<B>, vkDestroyPipeline<B>, vkCreatePrivateDataSlot<B>,
            vkDestroyPrivateDataSlot<B>, vkSetPrivateData<B>, vkGetPrivateData<B>,
        }
        cache::{
            vkCreatePipelineCache<B>, vkDestroyPipelineCache<B>, vkGetPipelineCacheData<B>,
            vkMergePipelineCaches<B>,
        }
        binary::{
            vkCreatePipelineBinariesKHR<B>, vkDestroyPipelineBinaryKHR<B>, vkGetPipelineKeyKHR<B>,
            vkGetPipelineBinaryDataKHR, vkReleaseCapturedPipelineDataKHR<B>,
        }
        shader_object::{
            vkCreateShadersEXT<B>, vkDestroyShaderEXT<B>, vkGetShaderBinaryDataEXT<B>, vkCmdBindShadersEXT<B>,
        }
        executable::{
            vkGetPipelineExecutablePropertiesKHR<B>, vkGetPipelineExecutableStatisticsKHR<B>,
            vkGetPipelineExecutableInternalRepresentationsKHR<B>,
        }
        feedback::{
            vkCmdBindTransformFeedbackBuffersEXT<B>, vkCmdBeginTransformFeedbackEXT<B>,
            vkCmdEndTransformFeedbackEXT<B>, vkCmdDrawIndirectByteCountEXT<B>, vkCmdBeginQueryIndexedEXT<B>,
            vkCmdEndQueryIndexedEXT<B>,
        }
        render_pass::{
            vkCreateRenderPass<B>, vkCreateRenderPass2<B>, vkDestroyRenderPass<B>, vkCreateFramebuffer<B>,
            vkDestroyFramebuffer<B>, vkGetRenderAreaGranularity<B>, vkGetRenderingAreaGranularity<B>,
        }
        command::{
            vkCreateCommandPool<B>, vkDestroyCommandPool<B>, vkResetCommandPool<B>, vkTrimCommandPool<B>,
            vkAllocateCommandBuffers<B>, vkFreeCommandBuffers<B>, vkBeginCommandBuffer<B>,
            vkEndCommandBuffer<B>, vkResetCommandBuffer<B>,
        }
        record::{
            vkCmdBindPipeline<B>, vkCmdBindDescriptorSets<B>, vkCmdBindDescriptorSets2<B>,
            vkCmdPushConstants<B>, vkCmdPushConstants2<B>, vkCmdPushDescriptorSet<B>,
            vkCmdPushDescriptorSet2<B>, vkCmdPushDescriptorSetWithTemplate<B>,
            vkCmdPushDescriptorSetWithTemplate2<B>, vkCmdBindVertexBuffers<B>, vkCmdBindVertexBuffers2<B>,
            vkCmdBindIndexBuffer<B>, vkCmdBindIndexBuffer2<B>, vkCmdDraw<B>, vkCmdDrawIndexed<B>,
            vkCmdBeginConditionalRenderingEXT<B>, vkCmdEndConditionalRenderingEXT<B>, vkCmdDrawMultiEXT<B>, vkCmdDrawMultiIndexedEXT<B>, vkCmdDrawIndirect<B>,
            vkCmdDrawIndexedIndirect<B>, vkCmdDrawIndirectCount<B>, vkCmdDrawIndexedIndirectCount<B>,
            vkCmdDispatch<B>, vkCmdDispatchBase<B>, vkCmdDispatchIndirect<B>, vkCmdBeginRenderPass<B>,
            vkCmdBeginRenderPass2<B>, vkCmdNextSubpass<B>, vkCmdNextSubpass2<B>, vkCmdEndRenderPass<B>,
            vkCmdEndRenderPass2<B>, vkCmdBeginRendering<B>, vkCmdEndRendering<B>, vkCmdExecuteCommands<B>,
            vkCmdPipelineBarrier<B>, vkCmdPipelineBarrier2<B>, vkCmdSetDeviceMask<B>,
            vkCmdBeginDebugUtilsLabelEXT<B>, vkCmdEndDebugUtilsLabelEXT<B>,
            vkCmdInsertDebugUtilsLabelEXT<B>,
        }
        dynamic::{
            vkCmdSetViewport<B>,
            vkCmdSetViewportWithCount<B>, vkCmdSetScissor<B>, vkCmdSetScissorWithCount<B>,
            vkCmdSetLineWidth<B>, vkCmdSetDepthBias<B>, vkCmdSetDepthBias2EXT<B>, vkCmdSetBlendConstants<B>, vkCmdSetDepthBounds<B>,
            vkCmdSetStencilCompareMask<B>, vkCmdSetStencilWriteMask<B>, vkCmdSetStencilReference<B>,
            vkCmdSetCullMode<B>, vkCmdSetFrontFace<B>, vkCmdSetPrimitiveTopology<B>,
            vkCmdSetDepthTestEnable<B>, vkCmdSetDepthWriteEnable<B>, vkCmdSetDepthCompareOp<B>,
            vkCmdSetDepthBoundsTestEnable<B>, vkCmdSetStencilTestEnable<B>, vkCmdSetStencilOp<B>,
            vkCmdSetRasterizerDiscardEnable<B>, vkCmdSetDepthBiasEnable<B>,
            vkCmdSetPrimitiveRestartEnable<B>, vkCmdSetLogicOpEXT<B>, vkCmdSetLogicOpEnableEXT<B>,
            vkCmdSetPatchControlPointsEXT<B>, vkCmdSetPolygonModeEXT<B>,
            vkCmdSetRasterizationSamplesEXT<B>, vkCmdSetSampleMaskEXT<B>,
            vkCmdSetSampleLocationsEnableEXT<B>, vkCmdSetSampleLocationsEXT<B>,
            vkCmdSetAlphaToCoverageEnableEXT<B>, vkCmdSetAlphaToOneEnableEXT<B>,
            vkCmdSetColorBlendEnableEXT<B>, vkCmdSetColorBlendEquationEXT<B>,
            vkCmdSetColorBlendAdvancedEXT<B>, vkCmdSetColorWriteMaskEXT<B>,
            vkCmdSetColorWriteEnableEXT<B>, vkCmdSetDepthClampEnableEXT<B>, vkCmdSetDepthClipEnableEXT<B>,
            vkCmdSetDepthClipNegativeOneToOneEXT<B>, vkCmdSetProvokingVertexModeEXT<B>,
            vkCmdSetLineRasterizationModeEXT<B>, vkCmdSetLineStippleEnableEXT<B>, vkCmdSetLineStipple<B>,
            vkCmdSetRasterizationStreamEXT<B>, vkCmdSetTessellationDomainOriginEXT<B>,
            vkCmdSetVertexInputEXT<B>, vkCmdSetRenderingAttachmentLocations<B>,
            vkCmdSetRenderingInputAttachmentIndices<B>,
        }
        unoffered::{
            vkCmdSetConservativeRasterizationModeEXT<B>, vkCmdSetExtraPrimitiveOverestimationSizeEXT<B>,
            vkCmdSetCoverageModulationModeNV<B>,
            vkCmdSetCoverageModulationTableEnableNV<B>, vkCmdSetCoverageModulationTableNV<B>,
            vkCmdSetCoverageReductionModeNV<B>, vkCmdSetCoverageToColorEnableNV<B>,
            vkCmdSetCoverageToColorLocationNV<B>, vkCmdSetRepresentativeFragmentTestEnableNV<B>,
            vkCmdSetShadingRateImageEnableNV<B>, vkCmdSetViewportSwizzleNV<B>,
            vkCmdSetViewportWScalingEnableNV<B>,
        }
        transfer::{
            vkCmdCopyBuffer<B>, vkCmdCopyBuffer2<B>, vkCmdFillBuffer<B>, vkCmdUpdateBuffer<B>,
            vkCmdCopyImage<B>, vkCmdCopyImage2<B>, vkCmdCopyBufferToImage<B>, vkCmdCopyBufferToImage2<B>,
            vkCmdCopyImageToBuffer<B>, vkCmdCopyImageToBuffer2<B>, vkCmdBlitImage<B>, vkCmdBlitImage2<B>,
            vkCmdResolveImage<B>, vkCmdResolveImage2<B>, vkCmdClearColorImage<B>,
            vkCmdClearDepthStencilImage<B>, vkCmdClearAttachments<B>, vkCreateQueryPool<B>,
            vkDestroyQueryPool<B>, vkResetQueryPool<B>, vkGetQueryPoolResults<B>, vkCmdResetQueryPool<B>,
            vkCmdBeginQuery<B>, vkCmdEndQuery<B>, vkCmdWriteTimestamp<B>, vkCmdWriteTimestamp2<B>,
            vkCmdCopyQueryPoolResults<B>, vkCmdSetEvent<B>, vkCmdSetEvent2<B>, vkCmdResetEvent<B>,
            vkCmdResetEvent2<B>, vkCmdWaitEvents<B>, vkCmdWaitEvents2<B>,
        }
        wsi::{
            vkCreateSwapchainKHR<B>, vkDestroySwapchainKHR<B>, vkGetSwapchainImagesKHR<B>,
            vkAcquireNextImageKHR<B>, vkAcquireNextImage2KHR<B>, vkQueuePresentKHR<B>,
            vkReleaseSwapchainImagesKHR<B>, vkWaitForPresentKHR<B>,
            vkSetSwapchainPresentTimingQueueSizeEXT<B>, vkGetSwapchainTimingPropertiesEXT<B>,
            vkGetSwapchainTimeDomainPropertiesEXT<B>, vkGetPastPresentationTimingEXT<B>,
            vkWaitForPresent2KHR<B>,
            vkGetDeviceGroupPresentCapabilitiesKHR<B>, vkGetDeviceGroupSurfacePresentModesKHR<B>,
        }
    } };
}

/// The device-level commands of a family.
pub fn commands_of<B: Backend>() -> Vec<(&'static str, Function)> {
    device_commands!(commands)
}

/// The device-level commands that find the family by their first parameter.
fn dispatching_commands() -> Vec<(&'static str, Function)> {
    use table::dispatchers;
    device_commands!(dispatchers)
}
