//! Physical devices: answers to queries, out of the data that a family's driver gives.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use tepui_format::Format;
use vulkanalia_sys as vk;

use crate::backend::{FormatFeatures, PhysicalInfo};
use crate::chain;
use crate::device::priority;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::samples_of;
use crate::object::{Allocator, dispatch, enumerate, slice};
use crate::registry::Enabled;
use crate::sparse_block;
use crate::table::Table;

/// A physical device as the instance sees it, of whatever family: [`member`](crate::member::member) makes one.
pub trait Family: Send + Sync {
    /// Its description.
    fn info(&self) -> &PhysicalInfo;

    /// Features of a format.
    fn format_features(&self, format: Format) -> FormatFeatures;

    /// DRM format modifiers of images of a format, and the features of such images.
    fn modifiers(&self, format: Format) -> Vec<(u64, vk::FormatFeatureFlags2)>;

    /// Whether images with a DRM format modifier have a plane of how the others are compressed.
    fn has_control_plane(&self, modifier: u64) -> bool;

    /// Whether images with a DRM format modifier have two dimensions, and views of formats with the modifier alone.
    fn restricts_views(&self, modifier: u64) -> bool;

    /// Bytes of device memory that the process holds, by heap.
    fn allocated_bytes(&self) -> [u64; vk::MAX_MEMORY_HEAPS];

    /// Creates a device, for which `enabled` is enabled.
    ///
    /// # Safety
    /// `info` is valid.
    unsafe fn create_device(
        &self,
        enabled: Enabled,
        info: &vk::DeviceCreateInfo,
        allocator: Allocator,
    ) -> Result<vk::Device>;

    /// Device-level commands.
    fn commands(&self) -> &'static Table;
}

/// A physical device.
pub struct Physical {
    /// The family's part.
    pub family: Arc<dyn Family>,
    /// The instance's allocator.
    pub allocator: Allocator,
    /// Version and extensions that the instance is used with.
    pub enabled: Arc<Enabled>,
}

impl Physical {
    fn info(&self) -> &PhysicalInfo {
        self.family.info()
    }

    pub(crate) fn features_of(&self, format: vk::Format) -> FormatFeatures {
        match Format::from_vk(format.as_raw()) {
            Some(format) => self.family.format_features(format),
            None => FormatFeatures::default(),
        }
    }
}

unsafe fn of<'a>(physical: vk::PhysicalDevice) -> &'a Physical {
    // SAFETY: the handle is a physical device's.
    unsafe { dispatch(physical) }
}

/// The flags of Vulkan 1.0, whose bits are those of the newer type.
fn flags1(f: vk::FormatFeatureFlags2) -> vk::FormatFeatureFlags {
    vk::FormatFeatureFlags::from_bits_truncate(f.bits() as u32)
}

/// Format features that a usage requires.
fn needed(usage: vk::ImageUsageFlags) -> vk::FormatFeatureFlags2 {
    use vk::{FormatFeatureFlags2 as F, ImageUsageFlags as U};
    let mut f = F::empty();
    for (u, bit) in [
        (U::SAMPLED, F::SAMPLED_IMAGE),
        (U::STORAGE, F::STORAGE_IMAGE),
        (U::COLOR_ATTACHMENT, F::COLOR_ATTACHMENT),
        (U::DEPTH_STENCIL_ATTACHMENT, F::DEPTH_STENCIL_ATTACHMENT),
        (U::TRANSFER_SRC, F::TRANSFER_SRC),
        (U::TRANSFER_DST, F::TRANSFER_DST),
        (U::HOST_TRANSFER, F::HOST_IMAGE_TRANSFER),
    ] {
        if usage.contains(u) {
            f |= bit;
        }
    }
    f
}

/// Limits of images of a kind; `None` when there are none.
fn image_limits(
    p: &Physical,
    info: &vk::PhysicalDeviceImageFormatInfo2,
    modifier: Option<u64>,
) -> Option<vk::ImageFormatProperties> {
    use vk::FormatFeatureFlags2 as F;
    let features = p.features_of(info.format);
    let format = Format::from_vk(info.format.as_raw())?;
    let (linear, mut have) = match (info.tiling, modifier) {
        (vk::ImageTiling::LINEAR, _) => (true, features.linear),
        (vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT, Some(m)) => {
            let all = p.family.modifiers(format);
            (m == 0, all.iter().find(|x| x.0 == m)?.1)
        }
        _ => (false, features.optimal),
    };
    if info.flags.contains(vk::ImageCreateFlags::EXTENDED_USAGE) {
        // Usage that some format of the same class has, unless the modifier forbids it.
        let lost = if linear { F::empty() } else { features.optimal & !have };
        have |= (F::STORAGE_IMAGE | F::COLOR_ATTACHMENT) & !lost;
    }
    if have.is_empty() || !have.contains(needed(info.usage)) {
        return None;
    }
    let attachment = info.usage.intersects(
        vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
    );
    if info.usage.contains(vk::ImageUsageFlags::INPUT_ATTACHMENT)
        && !have.intersects(
            vk::FormatFeatureFlags2::COLOR_ATTACHMENT
                | vk::FormatFeatureFlags2::DEPTH_STENCIL_ATTACHMENT,
        )
    {
        return None;
    }
    if info.flags.contains(vk::ImageCreateFlags::PROTECTED) {
        return None;
    }
    let sparse = info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING);
    let residency = info.flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY);
    let offered = &p.info().features;
    if sparse
        && (offered.sparse_binding != vk::TRUE || linear || info.tiling != vk::ImageTiling::OPTIMAL)
        || residency && sparse_block::sample_counts(format, info.type_, offered).is_empty()
    {
        return None;
    }
    let control = modifier.filter(|&m| p.family.has_control_plane(m));
    if let Some(m) = modifier.filter(|&m| p.family.restricts_views(m))
        && (info.type_ != vk::ImageType::_2D || !views_have(p, info, m))
    {
        return None;
    }
    let limits = &p.info().properties.limits;
    let planar = format.info().is_planar();
    let compressed = format.info().is_compressed();
    let depth = format.info().is_depth_or_stencil();
    let (extent, layers) = match info.type_ {
        vk::ImageType::_1D => {
            // They are shared as rows.
            if compressed || planar || modifier.is_some_and(|m| m != 0) {
                return None;
            }
            ([limits.max_image_dimension_1d, 1, 1], limits.max_image_array_layers)
        }
        vk::ImageType::_2D => {
            let d = limits.max_image_dimension_2d;
            ([d, d, 1], limits.max_image_array_layers)
        }
        vk::ImageType::_3D => {
            // Blocks of 3D images as texels: no layout of one level has its layers where those of several have them.
            let blocks = info.flags.contains(vk::ImageCreateFlags::BLOCK_TEXEL_VIEW_COMPATIBLE);
            if depth || planar || blocks {
                return None;
            }
            let d = limits.max_image_dimension_3d;
            ([d, d, d], 1)
        }
        _ => return None,
    };
    let cube = info.flags.contains(vk::ImageCreateFlags::CUBE_COMPATIBLE);
    if cube && info.type_ != vk::ImageType::_2D {
        return None;
    }
    let mut levels = 32 - extent.iter().max().copied().unwrap_or(1).leading_zeros();
    let (mut layers, mut samples) = (layers, vk::SampleCountFlags::_1);
    if linear {
        if info.type_ == vk::ImageType::_3D || compressed || depth {
            return None;
        }
        (levels, layers) = (1, 1);
    } else if control.is_some() {
        (levels, layers) = (1, 1);
    } else if info.type_ == vk::ImageType::_2D
        && modifier.is_none()
        && !cube
        && !compressed
        && !planar
    {
        use vk::ImageUsageFlags as U;
        // The counts of blocks hold for all usages.
        if attachment || residency || info.usage.intersects(U::STORAGE | U::SAMPLED) {
            samples |= features.samples;
        }
    }
    if planar {
        levels = 1;
    }
    if residency {
        samples &= sparse_block::sample_counts(format, info.type_, offered);
    }
    Some(vk::ImageFormatProperties {
        max_extent: vk::Extent3D { width: extent[0], height: extent[1], depth: extent[2] },
        max_mip_levels: levels,
        max_array_layers: layers,
        sample_counts: samples,
        max_resource_size: p.info().max_memory_bytes,
    })
}

/// Sparse properties of a format's images; `None` if there are none.
unsafe fn sparse_formats(
    physical: vk::PhysicalDevice,
    info: &vk::PhysicalDeviceSparseImageFormatInfo2,
) -> Option<vk::SparseImageFormatProperties> {
    let of_images = vk::PhysicalDeviceImageFormatInfo2 {
        format: info.format,
        type_: info.type_,
        tiling: info.tiling,
        usage: info.usage,
        flags: vk::ImageCreateFlags::SPARSE_BINDING | vk::ImageCreateFlags::SPARSE_RESIDENCY,
        ..Default::default()
    };
    // SAFETY: the handle is live.
    let limits = image_limits(unsafe { of(physical) }, &of_images, None)?;
    limits.sample_counts.contains(info.samples).then_some(())?;
    let format = Format::from_vk(info.format.as_raw())?;
    Some(sparse_block::format_properties(format, info.type_, samples_of(info.samples)))
}

/// Memory handle types that can be shared.
const SHAREABLE: vk::ExternalMemoryHandleTypeFlags =
    vk::ExternalMemoryHandleTypeFlags::from_bits_truncate(
        vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD.bits()
            | vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT.bits(),
    );

/// Whether memory of a handle type can be imported.
fn is_imported(p: &Physical, ty: vk::ExternalMemoryHandleTypeFlags) -> bool {
    let imports_host = || p.info().extensions.iter().any(|e| e.0 == "VK_EXT_external_memory_host");
    SHAREABLE.contains(ty) || ty == HOST && imports_host()
}

/// Pages of the application's own.
const HOST: vk::ExternalMemoryHandleTypeFlags =
    vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;

fn external_memory(
    p: &Physical,
    ty: vk::ExternalMemoryHandleTypeFlags,
) -> vk::ExternalMemoryProperties {
    if ty == HOST && is_imported(p, ty) {
        return vk::ExternalMemoryProperties {
            external_memory_features: vk::ExternalMemoryFeatureFlags::IMPORTABLE,
            compatible_handle_types: ty,
            ..Default::default()
        };
    }
    if ty.is_empty() || !SHAREABLE.contains(ty) {
        return vk::ExternalMemoryProperties { compatible_handle_types: ty, ..Default::default() };
    }
    vk::ExternalMemoryProperties {
        external_memory_features: vk::ExternalMemoryFeatureFlags::EXPORTABLE
            | vk::ExternalMemoryFeatureFlags::IMPORTABLE,
        export_from_imported_handle_types: SHAREABLE,
        compatible_handle_types: SHAREABLE,
    }
}

entry! {
    /// `vkGetPhysicalDeviceProperties`.
    fn vkGetPhysicalDeviceProperties(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties) {
        unsafe { *out = of(physical).info().properties }
    }

    /// `vkGetPhysicalDeviceProperties2`.
    fn vkGetPhysicalDeviceProperties2(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceProperties2) {
        unsafe {
            let info = of(physical).info();
            (*out).properties = info.properties;
            // Some fields of the structure of Vulkan 1.4 are inputs: the arrays for lists of layouts.
            let mut layouts = vk::PhysicalDeviceHostImageCopyProperties::default();
            chain::each((*out).next, |s_type, at| {
                if s_type == vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES {
                    let asked = &*at.cast::<vk::PhysicalDeviceVulkan14Properties>();
                    (layouts.copy_src_layout_count, layouts.copy_src_layouts) =
                        (asked.copy_src_layout_count, asked.copy_src_layouts);
                    (layouts.copy_dst_layout_count, layouts.copy_dst_layouts) =
                        (asked.copy_dst_layout_count, asked.copy_dst_layouts);
                }
            });
            info.property_chain.answer((*out).next);
            host_image_copy(&mut layouts);
            chain::each((*out).next, |s_type, at| match s_type {
                vk::StructureType::PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES => {
                    host_image_copy(&mut *at.cast());
                }
                // No API lies between the driver and the GPU.
                vk::StructureType::PHYSICAL_DEVICE_LAYERED_API_PROPERTIES_LIST_KHR => {
                    (*at.cast::<vk::PhysicalDeviceLayeredApiPropertiesListKHR>()).layered_api_count = 0;
                }
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_4_PROPERTIES => {
                    let o = &mut *at.cast::<vk::PhysicalDeviceVulkan14Properties>();
                    o.copy_src_layout_count = layouts.copy_src_layout_count;
                    o.copy_src_layouts = layouts.copy_src_layouts;
                    o.copy_dst_layout_count = layouts.copy_dst_layout_count;
                    o.copy_dst_layouts = layouts.copy_dst_layouts;
                    o.optimal_tiling_layout_uuid = layouts.optimal_tiling_layout_uuid;
                    o.identical_memory_type_requirements = layouts.identical_memory_type_requirements;
                }
                _ => {}
            });
        }
    }

    /// `vkGetPhysicalDeviceFeatures`.
    fn vkGetPhysicalDeviceFeatures(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceFeatures) {
        unsafe { *out = of(physical).info().features }
    }

    /// `vkGetPhysicalDeviceFeatures2`.
    fn vkGetPhysicalDeviceFeatures2(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceFeatures2) {
        unsafe {
            let info = of(physical).info();
            (*out).features = info.features;
            info.feature_chain.answer((*out).next);
        }
    }

    /// `vkGetPhysicalDeviceMemoryProperties`.
    fn vkGetPhysicalDeviceMemoryProperties(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceMemoryProperties) {
        unsafe { *out = of(physical).info().memory }
    }

    /// `vkGetPhysicalDeviceMemoryProperties2`.
    fn vkGetPhysicalDeviceMemoryProperties2(physical: vk::PhysicalDevice, out: *mut vk::PhysicalDeviceMemoryProperties2) {
        unsafe {
            let physical = of(physical);
            let memory = &physical.info().memory;
            (*out).memory_properties = *memory;
            chain::each((*out).next, |s_type, at| {
                if s_type == vk::StructureType::PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT {
                    let budget = &mut *at.cast::<vk::PhysicalDeviceMemoryBudgetPropertiesEXT>();
                    (budget.heap_budget, budget.heap_usage) = Default::default();
                    let allocated = physical.family.allocated_bytes();
                    let heaps = &memory.memory_heaps[..memory.memory_heap_count as usize];
                    for (k, heap) in heaps.iter().enumerate() {
                        (budget.heap_budget[k], budget.heap_usage[k]) = (heap.size, allocated[k]);
                    }
                }
            });
        }
    }

    /// `vkGetPhysicalDeviceQueueFamilyProperties`.
    fn vkGetPhysicalDeviceQueueFamilyProperties(physical: vk::PhysicalDevice, count: *mut u32, out: *mut vk::QueueFamilyProperties) {
        unsafe {
            enumerate(count, out, &of(physical).info().queues, |o, q| *o = *q);
        }
    }

    /// `vkGetPhysicalDeviceQueueFamilyProperties2`.
    fn vkGetPhysicalDeviceQueueFamilyProperties2(physical: vk::PhysicalDevice, count: *mut u32, out: *mut vk::QueueFamilyProperties2) {
        unsafe {
            let PhysicalInfo { queues, priorities, .. } = of(physical).info();
            enumerate(count, out, queues, |o, q| {
                o.queue_family_properties = *q;
                chain::each(o.next, |s_type, at| match s_type {
                    vk::StructureType::QUEUE_FAMILY_GLOBAL_PRIORITY_PROPERTIES => {
                        let p = &mut *at.cast::<vk::QueueFamilyGlobalPriorityProperties>();
                        p.priority_count = priorities.len() as u32;
                        p.priorities[..priorities.len()].copy_from_slice(priorities);
                    }
                    vk::StructureType::QUEUE_FAMILY_OWNERSHIP_TRANSFER_PROPERTIES_KHR => {
                        // Images are the same to all families.
                        let p = &mut *at.cast::<vk::QueueFamilyOwnershipTransferPropertiesKHR>();
                        p.optimal_image_transfer_to_queue_families = u32::MAX;
                    }
                    _ => {}
                });
            });
        }
    }

    /// `vkGetPhysicalDeviceFormatProperties`.
    fn vkGetPhysicalDeviceFormatProperties(physical: vk::PhysicalDevice, format: vk::Format, out: *mut vk::FormatProperties) {
        unsafe {
            let f = of(physical).features_of(format);
            *out = vk::FormatProperties {
                linear_tiling_features: flags1(f.linear),
                optimal_tiling_features: flags1(f.optimal),
                buffer_features: flags1(f.buffer),
            };
        }
    }

    /// `vkGetPhysicalDeviceFormatProperties2`.
    fn vkGetPhysicalDeviceFormatProperties2(physical: vk::PhysicalDevice, format: vk::Format, out: *mut vk::FormatProperties2) {
        unsafe {
            let p = of(physical);
            let f = p.features_of(format);
            (*out).format_properties = vk::FormatProperties {
                linear_tiling_features: flags1(f.linear),
                optimal_tiling_features: flags1(f.optimal),
                buffer_features: flags1(f.buffer),
            };
            chain::each((*out).next, |s_type, at| match s_type {
                vk::StructureType::FORMAT_PROPERTIES_3 => {
                    let o = &mut *at.cast::<vk::FormatProperties3>();
                    o.linear_tiling_features = f.linear;
                    o.optimal_tiling_features = f.optimal;
                    o.buffer_features = f.buffer;
                }
                vk::StructureType::DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT => {
                    let o = &mut *at.cast::<vk::DrmFormatModifierPropertiesListEXT>();
                    let all = modifiers(p, format);
                    enumerate(&raw mut o.drm_format_modifier_count, o.drm_format_modifier_properties, &all, |o, (m, f)| {
                        *o = vk::DrmFormatModifierPropertiesEXT {
                            drm_format_modifier: *m,
                            drm_format_modifier_plane_count: plane_count(p, format, *m),
                            drm_format_modifier_tiling_features: flags1(*f),
                        };
                    });
                }
                vk::StructureType::DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT => {
                    let o = &mut *at.cast::<vk::DrmFormatModifierPropertiesList2EXT>();
                    let all = modifiers(p, format);
                    enumerate(&raw mut o.drm_format_modifier_count, o.drm_format_modifier_properties, &all, |o, (m, f)| {
                        *o = vk::DrmFormatModifierProperties2EXT {
                            drm_format_modifier: *m,
                            drm_format_modifier_plane_count: plane_count(p, format, *m),
                            drm_format_modifier_tiling_features: *f,
                        };
                    });
                }
                _ => {}
            });
        }
    }

    /// `vkGetPhysicalDeviceImageFormatProperties`.
    fn vkGetPhysicalDeviceImageFormatProperties(
        physical: vk::PhysicalDevice,
        format: vk::Format,
        type_: vk::ImageType,
        tiling: vk::ImageTiling,
        usage: vk::ImageUsageFlags,
        flags: vk::ImageCreateFlags,
        out: *mut vk::ImageFormatProperties,
    ) -> vk::Result {
        unsafe {
            let info = vk::PhysicalDeviceImageFormatInfo2 { format, type_, tiling, usage, flags, ..Default::default() };
            let limits = image_limits(of(physical), &info, None);
            *out = limits.unwrap_or_default();
            limits.ok_or_else(not_supported)?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetPhysicalDeviceImageFormatProperties2`.
    fn vkGetPhysicalDeviceImageFormatProperties2(
        physical: vk::PhysicalDevice,
        info: *const vk::PhysicalDeviceImageFormatInfo2,
        out: *mut vk::ImageFormatProperties2,
    ) -> vk::Result {
        unsafe {
            let info = &*info;
            let modifier: Option<&vk::PhysicalDeviceImageDrmFormatModifierInfoEXT> = chain::find(
                info.next, vk::StructureType::PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT);
            let external: Option<&vk::PhysicalDeviceExternalImageFormatInfo> = chain::find(
                info.next, vk::StructureType::PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
            let limits = image_limits(of(physical), info, modifier.map(|m| m.drm_format_modifier));
            (*out).image_format_properties = limits.unwrap_or_default();
            limits.ok_or_else(not_supported)?;
            let handle = external.map_or(vk::ExternalMemoryHandleTypeFlags::empty(), |e| e.handle_type);
            if !handle.is_empty() && !is_imported(of(physical), handle) {
                (*out).image_format_properties = vk::ImageFormatProperties::default();
                return Err(not_supported());
            }
            chain::each((*out).next, |s_type, at| match s_type {
                vk::StructureType::EXTERNAL_IMAGE_FORMAT_PROPERTIES => {
                    (*at.cast::<vk::ExternalImageFormatProperties>()).external_memory_properties = external_memory(of(physical), handle);
                }
                vk::StructureType::SAMPLER_YCBCR_CONVERSION_IMAGE_FORMAT_PROPERTIES => {
                    (*at.cast::<vk::SamplerYcbcrConversionImageFormatProperties>()).combined_image_sampler_descriptor_count =
                        Format::from_vk(info.format.as_raw()).map_or(1, |f| f.info().planes().len().max(1) as u32);
                }
                vk::StructureType::HOST_IMAGE_COPY_DEVICE_PERFORMANCE_QUERY => {
                    let o = &mut *at.cast::<vk::HostImageCopyDevicePerformanceQuery>();
                    (o.optimal_device_access, o.identical_memory_layout) = (vk::TRUE, vk::TRUE);
                }
                _ => {}
            });
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetPhysicalDeviceSparseImageFormatProperties`.
    fn vkGetPhysicalDeviceSparseImageFormatProperties(
        physical: vk::PhysicalDevice, format: vk::Format, image_type: vk::ImageType, samples: vk::SampleCountFlags,
        usage: vk::ImageUsageFlags, tiling: vk::ImageTiling, count: *mut u32, out: *mut vk::SparseImageFormatProperties,
    ) {
        unsafe {
            let info = vk::PhysicalDeviceSparseImageFormatInfo2 { format, type_: image_type, samples, usage, tiling, ..Default::default() };
            let one = sparse_formats(physical, &info);
            enumerate(count, out, one.as_slice(), |o, p| *o = *p);
        }
    }

    /// `vkGetPhysicalDeviceSparseImageFormatProperties2`.
    fn vkGetPhysicalDeviceSparseImageFormatProperties2(
        physical: vk::PhysicalDevice, info: *const vk::PhysicalDeviceSparseImageFormatInfo2, count: *mut u32,
        out: *mut vk::SparseImageFormatProperties2,
    ) {
        unsafe {
            let one = sparse_formats(physical, &*info);
            enumerate(count, out, one.as_slice(), |o, p| o.properties = *p);
        }
    }

    /// `vkGetPhysicalDeviceExternalBufferProperties`.
    fn vkGetPhysicalDeviceExternalBufferProperties(
        physical: vk::PhysicalDevice, info: *const vk::PhysicalDeviceExternalBufferInfo, out: *mut vk::ExternalBufferProperties,
    ) {
        unsafe { (*out).external_memory_properties = external_memory(of(physical), (*info).handle_type) }
    }

    /// `vkGetPhysicalDeviceExternalSemaphoreProperties`.
    fn vkGetPhysicalDeviceExternalSemaphoreProperties(
        _physical: vk::PhysicalDevice, info: *const vk::PhysicalDeviceExternalSemaphoreInfo, out: *mut vk::ExternalSemaphoreProperties,
    ) {
        use vk::ExternalSemaphoreHandleTypeFlags as H;
        unsafe {
            let kind: Option<&vk::SemaphoreTypeCreateInfo> = chain::find((*info).next, vk::StructureType::SEMAPHORE_TYPE_CREATE_INFO);
            let timeline = kind.is_some_and(|k| k.semaphore_type == vk::SemaphoreType::TIMELINE);
            let ty = (*info).handle_type;
            let can = ty == H::OPAQUE_FD || ty == H::SYNC_FD && !timeline;
            let o = &mut *out;
            o.export_from_imported_handle_types = if can { ty } else { H::empty() };
            o.compatible_handle_types = if can { ty } else { H::empty() };
            o.external_semaphore_features = match can {
                true => vk::ExternalSemaphoreFeatureFlags::EXPORTABLE | vk::ExternalSemaphoreFeatureFlags::IMPORTABLE,
                false => vk::ExternalSemaphoreFeatureFlags::empty(),
            };
        }
    }

    /// `vkGetPhysicalDeviceExternalFenceProperties`.
    fn vkGetPhysicalDeviceExternalFenceProperties(
        _physical: vk::PhysicalDevice, info: *const vk::PhysicalDeviceExternalFenceInfo, out: *mut vk::ExternalFenceProperties,
    ) {
        use vk::ExternalFenceHandleTypeFlags as H;
        unsafe {
            let ty = (*info).handle_type;
            let can = ty == H::OPAQUE_FD || ty == H::SYNC_FD;
            let o = &mut *out;
            o.export_from_imported_handle_types = if can { ty } else { H::empty() };
            o.compatible_handle_types = if can { ty } else { H::empty() };
            o.external_fence_features = match can {
                true => vk::ExternalFenceFeatureFlags::EXPORTABLE | vk::ExternalFenceFeatureFlags::IMPORTABLE,
                false => vk::ExternalFenceFeatureFlags::empty(),
            };
        }
    }

    /// `vkGetPhysicalDeviceToolProperties`.
    fn vkGetPhysicalDeviceToolProperties(_physical: vk::PhysicalDevice, count: *mut u32, _out: *mut vk::PhysicalDeviceToolProperties) -> vk::Result {
        unsafe { *count = 0 }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkGetPhysicalDeviceCalibrateableTimeDomainsKHR`.
    fn vkGetPhysicalDeviceCalibrateableTimeDomainsKHR(_physical: vk::PhysicalDevice, count: *mut u32, out: *mut vk::TimeDomainKHR) -> vk::Result {
        let all = [vk::TimeDomainKHR::DEVICE, vk::TimeDomainKHR::CLOCK_MONOTONIC];
        Ok(unsafe { enumerate(count, out, &all, |o, d| *o = *d) })
    }

    /// `vkGetPhysicalDeviceMultisamplePropertiesEXT`.
    fn vkGetPhysicalDeviceMultisamplePropertiesEXT(physical: vk::PhysicalDevice, samples: vk::SampleCountFlags, out: *mut vk::MultisamplePropertiesEXT) {
        unsafe {
            let mut all = vk::PhysicalDeviceSampleLocationsPropertiesEXT::default();
            of(physical).info().property_chain.answer((&raw mut all).cast());
            let is_offered = all.sample_location_sample_counts.intersects(samples);
            (*out).max_sample_location_grid_size = if is_offered { all.max_sample_location_grid_size } else { vk::Extent2D::default() };
        }
    }

    /// `vkGetPhysicalDeviceFragmentShadingRatesKHR`.
    fn vkGetPhysicalDeviceFragmentShadingRatesKHR(physical: vk::PhysicalDevice, count: *mut u32, out: *mut vk::PhysicalDeviceFragmentShadingRateKHR) -> vk::Result {
        unsafe {
            Ok(enumerate(count, out, of(physical).info().shading_rates, |o, rate| {
                let [width, height] = rate.size;
                o.sample_counts = rate.samples;
                o.fragment_size = vk::Extent2D { width, height };
            }))
        }
    }

    /// `vkEnumerateDeviceExtensionProperties`.
    fn vkEnumerateDeviceExtensionProperties(physical: vk::PhysicalDevice, layer: *const c_char, count: *mut u32, out: *mut vk::ExtensionProperties) -> vk::Result {
        unsafe {
            if !layer.is_null() {
                return Err(Error::new(vk::Result::ERROR_LAYER_NOT_PRESENT, "the driver has no layers"));
            }
            Ok(enumerate(count, out, &of(physical).info().extensions, |o, &(name, version)| *o = extension(name, version)))
        }
    }

    /// `vkEnumerateDeviceLayerProperties`.
    fn vkEnumerateDeviceLayerProperties(_physical: vk::PhysicalDevice, count: *mut u32, _out: *mut vk::LayerProperties) -> vk::Result {
        unsafe { *count = 0 }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkCreateDevice`.
    fn vkCreateDevice(physical: vk::PhysicalDevice, info: *const vk::DeviceCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Device) -> vk::Result {
        unsafe {
            let p = of(physical);
            check_device(p.info(), &*info)?;
            let allocator = Allocator::new(callbacks, p.allocator);
            let enabled = p.enabled.with_device(&*info);
            *out = p.family.create_device(enabled, &*info, allocator)?;
            Ok(vk::Result::SUCCESS)
        }
    }
}

fn not_supported() -> Error {
    Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, "no such images")
}

fn modifiers(p: &Physical, format: vk::Format) -> Vec<(u64, vk::FormatFeatureFlags2)> {
    Format::from_vk(format.as_raw()).map_or(Vec::new(), |f| p.family.modifiers(f))
}

/// Planes in memory of an image with a modifier.
fn plane_count(p: &Physical, format: vk::Format, modifier: u64) -> u32 {
    let planes = |f: Format| f.info().planes().len().max(1) as u32;
    let of_format = Format::from_vk(format.as_raw()).map_or(1, planes);
    of_format + u32::from(p.family.has_control_plane(modifier))
}

/// Whether views of an image have formats with a modifier: its own, or those of a list.
fn views_have(p: &Physical, info: &vk::PhysicalDeviceImageFormatInfo2, modifier: u64) -> bool {
    if !info.flags.contains(vk::ImageCreateFlags::MUTABLE_FORMAT) {
        return true;
    }
    // SAFETY: the chain is the application's and valid.
    let list: Option<&vk::ImageFormatListCreateInfo> =
        unsafe { chain::find(info.next, vk::StructureType::IMAGE_FORMAT_LIST_CREATE_INFO) };
    // SAFETY: as above.
    let list = list.map_or(&[][..], |l| unsafe { slice(l.view_formats, l.view_format_count) });
    !list.is_empty() && list.iter().all(|&f| modifiers(p, f).iter().any(|m| m.0 == modifier))
}

/// Layouts that host copies go from and to.
fn host_image_copy(o: &mut vk::PhysicalDeviceHostImageCopyProperties) {
    let all = [
        vk::ImageLayout::GENERAL,
        vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
        vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
        vk::ImageLayout::DEPTH_STENCIL_READ_ONLY_OPTIMAL,
        vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL,
        vk::ImageLayout::TRANSFER_SRC_OPTIMAL,
        vk::ImageLayout::TRANSFER_DST_OPTIMAL,
        vk::ImageLayout::PREINITIALIZED,
        vk::ImageLayout::DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL,
        vk::ImageLayout::DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL,
        vk::ImageLayout::DEPTH_ATTACHMENT_OPTIMAL,
        vk::ImageLayout::DEPTH_READ_ONLY_OPTIMAL,
        vk::ImageLayout::STENCIL_ATTACHMENT_OPTIMAL,
        vk::ImageLayout::STENCIL_READ_ONLY_OPTIMAL,
        vk::ImageLayout::READ_ONLY_OPTIMAL,
        vk::ImageLayout::ATTACHMENT_OPTIMAL,
        vk::ImageLayout::ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT,
        vk::ImageLayout::PRESENT_SRC_KHR,
    ];
    // SAFETY: the application gives arrays of the counts, or null.
    unsafe {
        enumerate(&raw mut o.copy_src_layout_count, o.copy_src_layouts, &all, |o, l| *o = *l);
        enumerate(&raw mut o.copy_dst_layout_count, o.copy_dst_layouts, &all, |o, l| *o = *l);
    }
    o.optimal_tiling_layout_uuid = vk::ByteArray(*b"tepui-tiling-v1\0");
    o.identical_memory_type_requirements = vk::TRUE;
}

/// An extension's name and version as the API gives them.
pub fn extension(name: &str, version: u32) -> vk::ExtensionProperties {
    vk::ExtensionProperties {
        extension_name: vk::ExtensionName::from_bytes(name.as_bytes()),
        spec_version: version,
    }
}

/// Whether a device can be created with these extensions, features and queues.
unsafe fn check_device(physical: &PhysicalInfo, info: &vk::DeviceCreateInfo) -> Result<()> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        for &name in
            crate::object::slice(info.enabled_extension_names, info.enabled_extension_count)
        {
            let name = CStr::from_ptr(name).to_string_lossy();
            if !physical.extensions.iter().any(|e| e.0 == name) {
                let why = format!("the device has no extension {name}");
                return Err(Error::new(vk::Result::ERROR_EXTENSION_NOT_PRESENT, why));
            }
        }
        let lacking = |asked: &vk::PhysicalDeviceFeatures| {
            let words = |f: &vk::PhysicalDeviceFeatures| -> Vec<u32> {
                let n = size_of::<vk::PhysicalDeviceFeatures>() / 4;
                std::slice::from_raw_parts(
                    (f as *const vk::PhysicalDeviceFeatures).cast::<u32>(),
                    n,
                )
                .to_vec()
            };
            words(asked).into_iter().zip(words(&physical.features)).any(|(a, h)| a == 1 && h == 0)
        };
        let more: Option<&vk::PhysicalDeviceFeatures2> =
            chain::find(info.next, vk::StructureType::PHYSICAL_DEVICE_FEATURES_2);
        let core = info.enabled_features.as_ref().or(more.map(|m| &m.features));
        if core.is_some_and(lacking) || physical.feature_chain.lacks(info.next.cast::<c_void>()) {
            return Err(Error::unsupported("a feature that the device is asked for"));
        }
        let queues = crate::object::slice(info.queue_create_infos, info.queue_create_info_count);
        for asked in queues.iter().map(|q| priority(q)) {
            if physical.priorities.contains(&asked) {
                continue;
            }
            let code = match asked > vk::QueueGlobalPriority::MEDIUM {
                true => vk::Result::ERROR_NOT_PERMITTED,
                false => vk::Result::ERROR_INITIALIZATION_FAILED,
            };
            let why = format!("queues have no global priority {}", asked.as_raw());
            return Err(Error::new(code, why));
        }
    }
    Ok(())
}

/// Physical devices of families.
pub(crate) fn all(
    families: Vec<Arc<dyn Family>>,
    allocator: Allocator,
    enabled: &Arc<Enabled>,
) -> Vec<Physical> {
    let one = |family| Physical { family, allocator, enabled: enabled.clone() };
    families.into_iter().map(one).collect()
}
