//! Commands by name: the entry points that implement them, and the loader's way to them.
//!
//! [`commands_of`] makes the table of a family's devices; each function is compared with its type in the registry.

use std::any::TypeId;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, OnceLock, PoisonError};

use vulkanalia_sys as vk;

use crate::draws::Driver;
use crate::entry;
use crate::instance::Instance;
use crate::object;
use crate::physical::Family;
use crate::registry;
use crate::table::{Function, Table};

/// A list of `(name, function)` pairs; each function is compared with its type in the registry.
#[macro_export]
macro_rules! commands {
    ($($path:ident :: { $($name:ident $(<$g:ident>)?),* $(,)? })*) => {
        ::pastey::paste! {
            vec![$($({
                let typed: vulkanalia_sys::[<PFN_ $name>] = $crate::$path::$name $(::<$g>)?;
                // SAFETY: function pointers have one size; callers cast it back to the registry's type.
                (stringify!($name), unsafe { std::mem::transmute::<vulkanalia_sys::[<PFN_ $name>], $crate::table::Function>(typed) })
            }),*),*]
        }
    };
}

/// A list of `(name, function)` pairs like [`commands!`], with the functions that dispatch between families in place of a family's
/// own.
macro_rules! dispatchers {
    (@one $path:ident $name:ident) => { $crate::$path::$name };
    (@one $path:ident $name:ident $g:ident) => { ::pastey::paste! { $crate::$path::[<any_ $name>] } };
    ($($path:ident :: { $($name:ident $(<$g:ident>)?),* $(,)? })*) => {
        ::pastey::paste! {
            vec![$($({
                let typed: vulkanalia_sys::[<PFN_ $name>] = dispatchers!(@one $path $name $($g)?);
                // SAFETY: function pointers have one size; callers cast it back to the registry's type.
                (stringify!($name), unsafe { std::mem::transmute::<vulkanalia_sys::[<PFN_ $name>], $crate::table::Function>(typed) })
            }),*),*]
        }
    };
}

/// Calls a macro with the device-level commands by module; those that are generic over the family are marked with `<B>`.
macro_rules! device_commands {
    ($with:ident) => { $with! {
        device::{
            vkGetDeviceProcAddr, vkDestroyDevice<B>, vkGetDeviceQueue<B>, vkGetDeviceQueue2<B>,
            vkDeviceWaitIdle<B>,
            vkGetCalibratedTimestampsKHR<B>, vkGetDeviceGroupPeerMemoryFeatures<B>,
            vkSetDebugUtilsObjectNameEXT<B>, vkSetDebugUtilsObjectTagEXT<B>,
        }
        queue::{
            vkQueueWaitIdle<B>, vkQueueBeginDebugUtilsLabelEXT<B>, vkQueueEndDebugUtilsLabelEXT<B>,
            vkQueueInsertDebugUtilsLabelEXT<B>,
        }
        submit::{ vkQueueSubmit<B>, vkQueueSubmit2<B> }
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
            vkGetMemoryFdPropertiesKHR<B>, vkGetMemoryHostPointerPropertiesEXT<B>, vkCreateBuffer<B>, vkDestroyBuffer<B>,
            vkGetBufferMemoryRequirements<B>, vkGetBufferMemoryRequirements2<B>,
            vkGetDeviceBufferMemoryRequirements<B>, vkGetBufferDeviceAddress<B>, vkGetBufferOpaqueCaptureAddress<B>,
        }
        bind::{
            vkBindBufferMemory<B>, vkBindBufferMemory2<B>, vkBindImageMemory<B>, vkBindImageMemory2<B>,
        }
        image::{
            vkCreateImage<B>, vkDestroyImage<B>, vkGetImageMemoryRequirements<B>,
            vkGetImageMemoryRequirements2<B>, vkGetDeviceImageMemoryRequirements<B>,
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
            vkGetDescriptorSetLayoutSizeEXT<B>, vkGetDescriptorSetLayoutBindingOffsetEXT<B>, vkGetDescriptorEXT<B>,
            vkCmdBindDescriptorBuffersEXT<B>, vkCmdSetDescriptorBufferOffsetsEXT<B>,
            vkCmdSetDescriptorBufferOffsets2EXT<B>, vkCmdBindDescriptorBufferEmbeddedSamplersEXT<B>,
            vkCmdBindDescriptorBufferEmbeddedSamplers2EXT<B>,
        }
        pipeline::{
            vkCreateShaderModule<B>, vkDestroyShaderModule<B>, vkCreatePipelineLayout<B>,
            vkDestroyPipelineLayout<B>, vkCreateComputePipelines<B>, vkGetShaderModuleIdentifierEXT<B>,
            vkGetShaderModuleCreateInfoIdentifierEXT<B>,
            vkCreateGraphicsPipelines<B>, vkDestroyPipeline<B>, vkCreatePrivateDataSlot<B>,
            vkDestroyPrivateDataSlot<B>, vkSetPrivateData<B>, vkGetPrivateData<B>,
        }
        pipeline_cache::{
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
        transform_feedback::{
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
            vkCmdSetFragmentShadingRateKHR<B>, vkCmdSetConservativeRasterizationModeEXT<B>,
            vkCmdSetAlphaToCoverageEnableEXT<B>, vkCmdSetAlphaToOneEnableEXT<B>, vkCmdSetAttachmentFeedbackLoopEnableEXT<B>,
            vkCmdSetColorBlendEnableEXT<B>, vkCmdSetColorBlendEquationEXT<B>,
            vkCmdSetColorBlendAdvancedEXT<B>, vkCmdSetColorWriteMaskEXT<B>,
            vkCmdSetColorWriteEnableEXT<B>, vkCmdSetDepthClampEnableEXT<B>, vkCmdSetDepthClampRangeEXT<B>,
            vkCmdSetDepthClipEnableEXT<B>,
            vkCmdSetDepthClipNegativeOneToOneEXT<B>, vkCmdSetProvokingVertexModeEXT<B>,
            vkCmdSetLineRasterizationModeEXT<B>, vkCmdSetLineStippleEnableEXT<B>, vkCmdSetLineStipple<B>,
            vkCmdSetRasterizationStreamEXT<B>, vkCmdSetTessellationDomainOriginEXT<B>,
            vkCmdSetVertexInputEXT<B>, vkCmdSetRenderingAttachmentLocations<B>,
            vkCmdSetRenderingInputAttachmentIndices<B>,
        }
        unoffered::{
            vkGetBufferOpaqueCaptureDescriptorDataEXT<B>, vkGetImageOpaqueCaptureDescriptorDataEXT<B>,
            vkGetImageViewOpaqueCaptureDescriptorDataEXT<B>, vkGetSamplerOpaqueCaptureDescriptorDataEXT<B>,
            vkCmdSetExtraPrimitiveOverestimationSizeEXT<B>,
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
pub fn commands_of<B: Driver>() -> Vec<(&'static str, Function)> {
    device_commands!(commands)
}

/// The device-level commands that find the family by their first parameter.
fn dispatching_commands() -> Vec<(&'static str, Function)> {
    device_commands!(dispatchers)
}

/// Device-level commands that dispatch between families.
fn any_family() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::new(dispatching_commands()))
}

/// Commands of the devices of a family.
pub(crate) fn of_family<B: Driver>() -> &'static Table {
    static TABLES: Mutex<Vec<(TypeId, &'static Table)>> = Mutex::new(Vec::new());
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let family = TypeId::of::<B>();
    if let Some((_, table)) = tables.iter().find(|t| t.0 == family) {
        return table;
    }
    let table: &'static Table = Box::leak(Box::new(Table::new(commands_of::<B>())));
    tables.push((family, table));
    table
}

/// Commands that need no instance.
fn global() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        Table::new(commands! {
            instance::{
                vkCreateInstance, vkEnumerateInstanceVersion, vkEnumerateInstanceExtensionProperties,
                vkEnumerateInstanceLayerProperties,
            }
        })
    })
}

/// Commands of instances and physical devices.
fn instance() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut all = physical_commands();
        all.extend(commands! {
            instance::{
                vkDestroyInstance, vkEnumeratePhysicalDevices, vkEnumeratePhysicalDeviceGroups,
                vkCreateDebugUtilsMessengerEXT, vkDestroyDebugUtilsMessengerEXT,
                vkSubmitDebugUtilsMessageEXT, vkCreateDebugReportCallbackEXT, vkDestroyDebugReportCallbackEXT,
                vkDebugReportMessageEXT,
            }
            lookup::{ vkGetInstanceProcAddr }
            wsi::{
                vkCreateXcbSurfaceKHR, vkCreateXlibSurfaceKHR, vkCreateWaylandSurfaceKHR,
                vkCreateHeadlessSurfaceEXT, vkDestroySurfaceKHR,
            }
        });
        Table::new(all)
    })
}

/// Commands of instances and physical devices, and those that need none.
pub fn all_of_instances() -> Vec<(&'static str, Function)> {
    [global(), instance()].iter().flat_map(|t| t.iter()).collect()
}

/// Commands of physical devices.
fn physical() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::new(physical_commands()))
}

fn physical_commands() -> Vec<(&'static str, Function)> {
    commands! {
        physical::{
            vkGetPhysicalDeviceProperties, vkGetPhysicalDeviceProperties2, vkGetPhysicalDeviceFeatures,
            vkGetPhysicalDeviceFeatures2, vkGetPhysicalDeviceMemoryProperties,
            vkGetPhysicalDeviceMemoryProperties2, vkGetPhysicalDeviceQueueFamilyProperties,
            vkGetPhysicalDeviceQueueFamilyProperties2, vkGetPhysicalDeviceFormatProperties,
            vkGetPhysicalDeviceFormatProperties2, vkGetPhysicalDeviceImageFormatProperties,
            vkGetPhysicalDeviceImageFormatProperties2, vkGetPhysicalDeviceExternalBufferProperties,
            vkGetPhysicalDeviceExternalSemaphoreProperties, vkGetPhysicalDeviceExternalFenceProperties,
            vkGetPhysicalDeviceToolProperties, vkGetPhysicalDeviceCalibrateableTimeDomainsKHR,
            vkGetPhysicalDeviceMultisamplePropertiesEXT,
            vkGetPhysicalDeviceFragmentShadingRatesKHR, vkEnumerateDeviceExtensionProperties,
            vkEnumerateDeviceLayerProperties, vkCreateDevice,
            vkGetPhysicalDeviceSparseImageFormatProperties, vkGetPhysicalDeviceSparseImageFormatProperties2,
        }
        wsi::{
            vkGetPhysicalDeviceXcbPresentationSupportKHR, vkGetPhysicalDeviceXlibPresentationSupportKHR,
            vkGetPhysicalDeviceWaylandPresentationSupportKHR, vkGetPhysicalDeviceSurfaceSupportKHR,
            vkGetPhysicalDeviceSurfaceCapabilitiesKHR, vkGetPhysicalDeviceSurfaceCapabilities2KHR,
            vkGetPhysicalDeviceSurfaceFormatsKHR, vkGetPhysicalDeviceSurfaceFormats2KHR,
            vkGetPhysicalDeviceSurfacePresentModesKHR, vkGetPhysicalDevicePresentRectanglesKHR,
        }
    }
}

/// Device-level commands for objects of these physical devices: the family's own if they are of one.
fn of_families<'a>(mut families: impl Iterator<Item = &'a dyn Family>) -> Option<&'static Table> {
    let first = families.next()?.commands();
    match families.all(|f| std::ptr::eq(f.commands(), first)) {
        true => Some(first),
        false => Some(any_family()),
    }
}

/// `vk_icdGetPhysicalDeviceProcAddr`: commands that take a physical device.
///
/// # Safety
/// `name` is a string.
pub unsafe fn physical_proc(name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    physical().get(name)
}

/// `vk_icdGetInstanceProcAddr`.
///
/// # Safety
/// `name` is a string; `of` is null or live.
pub unsafe fn proc_addr(of: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    if name == "vkGetInstanceProcAddr" {
        return instance().get(name);
    }
    global().get(name).or_else(|| {
        if vk::Handle::is_null(of) {
            return None;
        }
        // SAFETY: as the caller says.
        let i: &Instance = unsafe { object::dispatch(of) };
        let offers = |name: &str| {
            i.physical.iter().any(|p| p.family.info().extensions.iter().any(|e| e.0 == name))
        };
        if !registry::find(name).is_some_and(|c| i.enabled.has_command(c, offers)) {
            return None;
        }
        let families = i.physical.iter().map(|p| &*p.family);
        let device = || of_families(families)?.get(name);
        instance().get(name).or_else(device)
    })
}

entry! {
    /// `vkGetInstanceProcAddr`.
    fn vkGetInstanceProcAddr(instance: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction {
        unsafe { proc_addr(instance, name) }
    }
}
