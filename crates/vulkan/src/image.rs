//! Images, image views, texel buffers and samplers.

use std::ffi::c_void;
use std::sync::Arc;

use tepui_format::Format;
use vulkanalia_sys::{self as vk, Handle};

use tepui_passes::lower_ycbcr::Conversion;

use crate::backend::{
    Addresses, Backend, ExplicitPlane, ExplicitPlanes, ImageInfo, ImageRef, MAX_PLANES,
    MAX_VIEW_FORMATS, MemoryUser, Place, SamplerInfo, Subresource, ViewFormats, ViewInfo,
};
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::key::key_of;
use crate::memory::{Buffer, dedicated};
use crate::object::{get, handle, slice};
use crate::pages::Pages;
use crate::sparse_block::BLOCK_B;

/// An image.
pub struct Image<B: Backend> {
    /// Description.
    pub info: ImageInfo,
    /// Its layout.
    pub layout: Arc<B::Image>,
    /// Memory types that it can be bound to, a bit each.
    memory_types: u32,
    /// GPU addresses of the planes once they are bound.
    pub addresses: Addresses,
    /// The memory and offset that each plane is bound to.
    pub(crate) memory: [Option<(Arc<B::Memory>, u64)>; MAX_PLANES],
    /// The addresses of a sparse image, to which memory is bound piece by piece.
    pub(crate) sparse: Option<Arc<B::Range>>,
    /// The memory that is bound to a sparse image.
    pub(crate) pages: Arc<Pages<B>>,
}

/// An image view.
pub struct ImageView<B: Backend> {
    /// Descriptors.
    pub inner: B::View,
    /// The part of the image that attachments use.
    pub image: Arc<ImageRef<B>>,
    /// Aspects of the view.
    pub aspects: vk::ImageAspectFlags,
}

/// A texel buffer.
pub struct BufferView<B: Backend> {
    /// Descriptors.
    pub inner: B::BufferView,
}

/// A sampler.
pub struct Sampler<B: Backend> {
    /// The family's sampler.
    pub inner: B::Sampler,
    /// The Y′CbCr conversion, which becomes a part of the shaders that use the sampler.
    pub conversion: Option<Conversion>,
    /// Hash of everything that the sampler follows from.
    pub(crate) key: u128,
}

/// The format in which an aspect of an image is accessed by itself.
pub fn aspect_format(f: Format, aspect: vk::ImageAspectFlags) -> Format {
    use vk::ImageAspectFlags as A;
    let plane = |n: usize| f.info().planes().get(n).map_or(f, |p| p.format);
    match (f, aspect) {
        (Format::D32_SFLOAT_S8_UINT | Format::D24_UNORM_S8_UINT, A::STENCIL) => Format::S8_UINT,
        (Format::D32_SFLOAT_S8_UINT, _) => Format::D32_SFLOAT,
        (Format::D24_UNORM_S8_UINT, _) => Format::X8_D24_UNORM_PACK32,
        (_, A::PLANE_0) => plane(0),
        (_, A::PLANE_1) => plane(1),
        (_, A::PLANE_2) => plane(2),
        _ => f,
    }
}

/// The format of the API's number.
///
/// # Errors
/// When there is none.
pub fn format_of(format: vk::Format) -> Result<Format> {
    Format::from_vk(format.as_raw()).ok_or_else(|| {
        Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, format!("format {}", format.as_raw()))
    })
}

/// The number of samples of a flag.
pub fn samples_of(flags: vk::SampleCountFlags) -> u32 {
    flags.bits().max(1)
}

/// Description of an image from its creation structure.
///
/// # Safety
/// The structure is valid.
unsafe fn info_of<B: Backend>(device: &B::Device, info: &vk::ImageCreateInfo) -> Result<ImageInfo> {
    // SAFETY: as the caller says.
    let (list, explicit, stencil, views): (
        Option<&vk::ImageDrmFormatModifierListCreateInfoEXT>,
        Option<&vk::ImageDrmFormatModifierExplicitCreateInfoEXT>,
        Option<&vk::ImageStencilUsageCreateInfo>,
        Option<&vk::ImageFormatListCreateInfo>,
    ) = unsafe {
        (
            chain::find(
                info.next,
                vk::StructureType::IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
            ),
            chain::find(
                info.next,
                vk::StructureType::IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
            ),
            chain::find(info.next, vk::StructureType::IMAGE_STENCIL_USAGE_CREATE_INFO),
            chain::find(info.next, vk::StructureType::IMAGE_FORMAT_LIST_CREATE_INFO),
        )
    };
    // SAFETY: as the caller says.
    let views = match views {
        _ if !info.flags.contains(vk::ImageCreateFlags::MUTABLE_FORMAT) => ViewFormats::Own,
        Some(list) => unsafe { view_formats(slice(list.view_formats, list.view_format_count)) },
        None => ViewFormats::Any,
    };
    // SAFETY: as the caller says. Images of a swapchain are rows.
    let for_swapchain = unsafe { is_for_swapchain(info.next) };
    let e = info.extent;
    let has_modifier = info.tiling == vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT;
    let mut out = ImageInfo {
        image_type: info.image_type,
        format: format_of(info.format)?,
        extent: [e.width, e.height, e.depth],
        levels: info.mip_levels,
        layers: info.array_layers,
        samples: samples_of(info.samples),
        usage: info.usage | stencil.map_or(vk::ImageUsageFlags::empty(), |s| s.stencil_usage),
        flags: info.flags,
        views,
        linear: info.tiling == vk::ImageTiling::LINEAR || for_swapchain,
        modifier: None,
        explicit: None,
    };
    if !has_modifier {
        return Ok(out);
    }
    if let Some(e) = explicit {
        out.modifier = Some(e.drm_format_modifier);
        // SAFETY: as the caller says.
        let list = unsafe { slice(e.plane_layouts, e.drm_format_modifier_plane_count) };
        let mut planes = [ExplicitPlane::default(); MAX_PLANES];
        for (plane, p) in planes.iter_mut().zip(list) {
            *plane = ExplicitPlane {
                offset: p.offset,
                row_pitch: p.row_pitch,
                array_pitch: p.array_pitch,
                depth_pitch: p.depth_pitch,
            };
        }
        let count = e.drm_format_modifier_plane_count;
        out.explicit = Some(ExplicitPlanes { count, planes });
    } else if let Some(l) = list {
        // SAFETY: as the caller says.
        let all = unsafe { slice(l.drm_format_modifiers, l.drm_format_modifier_count) };
        let best = B::best_modifier(device, &out, all).ok_or_else(|| {
            Error::new(
                vk::Result::ERROR_FORMAT_NOT_SUPPORTED,
                format!("none of the DRM format modifiers {all:#x?} suits the image"),
            )
        })?;
        out.modifier = Some(best);
    }
    out.linear |= out.modifier == Some(0);
    Ok(out)
}

/// Whether a chain of image creation names a swapchain: such images are linear, so that they can be
/// bound to the memory of the swapchain's images.
unsafe fn is_for_swapchain(next: *const c_void) -> bool {
    // SAFETY: the chain is the application's and valid.
    let info: Option<&vk::ImageSwapchainCreateInfoKHR> =
        unsafe { chain::find(next, vk::StructureType::IMAGE_SWAPCHAIN_CREATE_INFO_KHR) };
    info.is_some_and(|info| !info.swapchain.is_null())
}

/// The formats of a list; any when it is empty, or longer than there is room.
fn view_formats(list: &[vk::Format]) -> ViewFormats {
    let mut out = [None; MAX_VIEW_FORMATS];
    if list.is_empty() || list.len() > out.len() {
        return ViewFormats::Any;
    }
    for (out, f) in out.iter_mut().zip(list) {
        *out = Format::from_vk(f.as_raw());
    }
    ViewFormats::Listed(out)
}

/// Memory requirements of an image, or of one plane that is bound separately.
fn requirements<B: Backend>(
    image: &Image<B>,
    plane: Option<vk::ImageAspectFlags>,
) -> vk::MemoryRequirements {
    let layout = &image.layout;
    let (size, alignment) = match plane {
        Some(aspect) => {
            let n = B::plane(layout, aspect);
            let plane = B::plane_memory(layout, n);
            (offset_by_itself(image, n) + plane.size, plane.alignment)
        }
        None => B::image_size(layout),
    };
    let alignment = match image.info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING) {
        true => alignment.max(BLOCK_B),
        false => alignment,
    };
    vk::MemoryRequirements {
        size: size.next_multiple_of(alignment),
        alignment,
        memory_type_bits: image.memory_types,
    }
}

/// First byte of a plane in memory that is bound to it alone: what the application has laid out may begin anywhere.
pub(crate) fn offset_by_itself<B: Backend>(image: &Image<B>, plane: usize) -> u64 {
    image.info.explicit.and_then(|e| e.planes.get(plane).copied()).map_or(0, |p| p.offset)
}

fn layout_of(s: Subresource) -> vk::SubresourceLayout {
    vk::SubresourceLayout {
        offset: s.offset,
        size: s.size,
        row_pitch: s.row_pitch,
        array_pitch: s.array_pitch,
        depth_pitch: s.depth_pitch,
    }
}

/// The layers of a range, resolved; of a 3D image its slices, when a view of them is 2D.
fn resolve(
    info: &ImageInfo,
    range: vk::ImageSubresourceRange,
    view_type: vk::ImageViewType,
) -> vk::ImageSubresourceRange {
    let mut r = range;
    if r.level_count == vk::REMAINING_MIP_LEVELS {
        r.level_count = info.levels.saturating_sub(r.base_mip_level);
    }
    let slices = (info.extent[2] >> r.base_mip_level).max(1);
    let is_flat = matches!(view_type, vk::ImageViewType::_2D | vk::ImageViewType::_2D_ARRAY);
    let layers =
        if info.image_type == vk::ImageType::_3D && is_flat { slices } else { info.layers };
    if r.layer_count == vk::REMAINING_ARRAY_LAYERS {
        r.layer_count = layers.saturating_sub(r.base_array_layer);
    }
    r
}

impl<B: Backend> Image<B> {
    /// A level and layers as attachments and copies see them.
    pub fn part(&self, level: u32, layer: u32, layers: u32) -> ImageRef<B> {
        ImageRef {
            image: self.layout.clone(),
            info: self.info,
            addresses: self.addresses,
            plane: 0,
            format: self.info.format,
            level,
            layer,
            layers,
        }
    }

    /// Layers of a subresource, with the remaining ones counted.
    pub fn layer_count(&self, layers: vk::ImageSubresourceLayers) -> u32 {
        match layers.layer_count {
            vk::REMAINING_ARRAY_LAYERS => self.info.layers - layers.base_array_layer,
            n => n,
        }
    }

    /// Binds memory to all planes.
    pub fn bind(&mut self, memory: &Arc<B::Memory>, offset: u64) {
        for plane in 0..MAX_PLANES {
            let inside = B::plane_memory(&self.layout, plane).offset;
            self.bind_plane(plane, memory, offset + inside);
        }
    }

    /// Binds memory to one plane.
    pub(crate) fn bind_plane(&mut self, plane: usize, memory: &Arc<B::Memory>, offset: u64) {
        self.addresses[plane] = B::address(memory) + offset;
        self.memory[plane] = Some((memory.clone(), offset));
    }

    /// The host's view of a plane's memory.
    pub fn host(&self, plane: usize) -> Option<*mut u8> {
        let (memory, offset) = self.memory[plane].as_ref()?;
        // SAFETY: the offset is inside of the memory.
        Some(unsafe { B::host(memory).add(*offset as usize) })
    }
}

/// Creates an image.
///
/// # Errors
/// When there is no such image.
///
/// # Safety
/// `info` is valid.
pub unsafe fn create<B: Backend>(d: &Device<B>, info: &vk::ImageCreateInfo) -> Result<Image<B>> {
    // SAFETY: as the caller says.
    let mut image = unsafe { lay_out::<B>(d, info)? };
    if image.info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING) {
        let has_blocks = image.info.flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY);
        let layout = has_blocks.then_some(&*image.layout);
        let size = requirements(&image, None).size;
        let range = B::reserve(&d.inner, size, layout, Place::Any)?;
        for (plane, to) in image.addresses.iter_mut().enumerate() {
            *to = B::range_address(&range) + B::plane_memory(&image.layout, plane).offset;
        }
        image.sparse = Some(Arc::new(range));
    }
    Ok(image)
}

/// An image that has no addresses yet.
///
/// # Errors
/// When there is no such image.
///
/// # Safety
/// `info` is valid.
pub(crate) unsafe fn lay_out<B: Backend>(
    d: &Device<B>,
    info: &vk::ImageCreateInfo,
) -> Result<Image<B>> {
    // SAFETY: as the caller says.
    with_info(d, unsafe { info_of::<B>(&d.inner, info)? })
}

/// An image that has no addresses yet.
///
/// # Errors
/// When there is no such image.
pub fn with_info<B: Backend>(d: &Device<B>, info: ImageInfo) -> Result<Image<B>> {
    let layout = Arc::new(B::image(&d.inner, &info)?);
    let addresses = [0; MAX_PLANES];
    let memory_types = B::memory_types(&d.inner, &MemoryUser::Image(&info));
    Ok(Image {
        info,
        memory_types,
        layout,
        addresses,
        memory: Default::default(),
        sparse: None,
        pages: Arc::default(),
    })
}

entry! {
    /// `vkCreateImage`.
    fn vkCreateImage<B: Backend>(device: vk::Device, info: *const vk::ImageCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Image) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            *out = handle(d.allocator(callbacks).create(create::<B>(d, &*info)?)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyImage`.
    fn vkDestroyImage<B: Backend>(device: vk::Device, image: vk::Image, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(image.as_raw() as *mut Image<B>) }
    }

    /// `vkGetImageMemoryRequirements`.
    fn vkGetImageMemoryRequirements<B: Backend>(_device: vk::Device, image: vk::Image, out: *mut vk::MemoryRequirements) {
        unsafe { *out = requirements::<B>(get(image), None) }
    }

    /// `vkGetImageMemoryRequirements2`.
    fn vkGetImageMemoryRequirements2<B: Backend>(_device: vk::Device, info: *const vk::ImageMemoryRequirementsInfo2, out: *mut vk::MemoryRequirements2) {
        unsafe {
            let plane: Option<&vk::ImagePlaneMemoryRequirementsInfo> =
                chain::find((*info).next, vk::StructureType::IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO);
            let image = get::<Image<B>>((*info).image);
            (*out).memory_requirements = requirements::<B>(image, plane.map(|p| p.plane_aspect));
            dedicated((*out).next, false);
        }
    }

    /// `vkGetDeviceImageMemoryRequirements`.
    fn vkGetDeviceImageMemoryRequirements<B: Backend>(device: vk::Device, info: *const vk::DeviceImageMemoryRequirements, out: *mut vk::MemoryRequirements2) {
        unsafe {
            let d = Device::<B>::of(device);
            if let Ok(image) = lay_out::<B>(d, &*(*info).create_info) {
                let plane = (*info).plane_aspect;
                let disjoint = image.info.flags.contains(vk::ImageCreateFlags::DISJOINT);
                (*out).memory_requirements = requirements::<B>(&image, disjoint.then_some(plane));
            }
            dedicated((*out).next, false);
        }
    }

    /// `vkGetImageSubresourceLayout`.
    fn vkGetImageSubresourceLayout<B: Backend>(_device: vk::Device, image: vk::Image, sub: *const vk::ImageSubresource, out: *mut vk::SubresourceLayout) {
        unsafe {
            let image: &Image<B> = get(image);
            *out = layout_of(subresource(image, *sub));
        }
    }

    /// `vkGetImageSubresourceLayout2`.
    fn vkGetImageSubresourceLayout2<B: Backend>(_device: vk::Device, image: vk::Image, sub: *const vk::ImageSubresource2, out: *mut vk::SubresourceLayout2) {
        unsafe {
            let image: &Image<B> = get(image);
            let s = (*sub).image_subresource;
            subresource2::<B>(image, s, &mut *out);
        }
    }

    /// `vkGetDeviceImageSubresourceLayout`.
    fn vkGetDeviceImageSubresourceLayout<B: Backend>(device: vk::Device, info: *const vk::DeviceImageSubresourceInfo, out: *mut vk::SubresourceLayout2) {
        unsafe {
            let d = Device::<B>::of(device);
            if let Ok(image) = create::<B>(d, &*(*info).create_info) {
                subresource2::<B>(&image, (*(*info).subresource).image_subresource, &mut *out);
            }
        }
    }

    /// `vkGetImageDrmFormatModifierPropertiesEXT`.
    fn vkGetImageDrmFormatModifierPropertiesEXT<B: Backend>(_device: vk::Device, image: vk::Image, out: *mut vk::ImageDrmFormatModifierPropertiesEXT) -> vk::Result {
        unsafe {
            (*out).drm_format_modifier = get::<Image<B>>(image).info.modifier.unwrap_or(0);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkCreateImageView`.
    fn vkCreateImageView<B: Backend>(device: vk::Device, info: *const vk::ImageViewCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::ImageView) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let image: &Image<B> = get(info.image);
            let usage: Option<&vk::ImageViewUsageCreateInfo> = chain::find(info.next, vk::StructureType::IMAGE_VIEW_USAGE_CREATE_INFO);
            let min_lod: Option<&vk::ImageViewMinLodCreateInfoEXT> = chain::find(info.next, vk::StructureType::IMAGE_VIEW_MIN_LOD_CREATE_INFO_EXT);
            let format = format_of(info.format)?;
            let range = resolve(&image.info, info.subresource_range, info.view_type);
            let c = info.components;
            let inner = B::view(&d.inner, &ViewInfo {
                image: &image.layout,
                image_info: &image.info,
                addresses: image.addresses,
                sparse: image.sparse.as_deref(),
                view_type: info.view_type,
                format,
                swizzle: [c.r, c.g, c.b, c.a],
                range,
                usage: usage.map_or(image.info.usage, |u| u.usage),
                min_lod: min_lod.map_or(0.0, |m| m.min_lod),
            })?;
            let plane = B::plane(&image.layout, range.aspect_mask);
            let part = ImageRef { format, plane, ..image.part(range.base_mip_level, range.base_array_layer, range.layer_count) };
            let view = ImageView { inner, image: Arc::new(part), aspects: range.aspect_mask };
            *out = handle(d.allocator(callbacks).create(view)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyImageView`.
    fn vkDestroyImageView<B: Backend>(device: vk::Device, view: vk::ImageView, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(view.as_raw() as *mut ImageView<B>) }
    }

    /// `vkCreateBufferView`.
    fn vkCreateBufferView<B: Backend>(device: vk::Device, info: *const vk::BufferViewCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::BufferView) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let buffer: &Buffer<B> = get(info.buffer);
            let size = buffer.range(info.offset, info.range);
            let inner = B::buffer_view(&d.inner, format_of(info.format)?, buffer.address + info.offset, size)?;
            *out = handle(d.allocator(callbacks).create(BufferView::<B> { inner })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyBufferView`.
    fn vkDestroyBufferView<B: Backend>(device: vk::Device, view: vk::BufferView, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(view.as_raw() as *mut BufferView<B>) }
    }

    /// `vkCreateSampler`.
    fn vkCreateSampler<B: Backend>(device: vk::Device, info: *const vk::SamplerCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Sampler) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let border: Option<&vk::SamplerCustomBorderColorCreateInfoEXT> = chain::find(info.next, vk::StructureType::SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT);
            let reduction: Option<&vk::SamplerReductionModeCreateInfo> = chain::find(info.next, vk::StructureType::SAMPLER_REDUCTION_MODE_CREATE_INFO);
            let is_black = d.custom_borders && info.border_color == vk::BorderColor::FLOAT_OPAQUE_BLACK;
            let sampler = SamplerInfo {
                core: *info,
                border: border.map(|b| swizzled::<B>(info, b.custom_border_color.uint32)),
                border_format: border.and_then(|b| Format::from_vk(b.format.as_raw())),
                opaque_black: is_black.then(|| swizzled::<B>(info, [0, 0, 0, 1f32.to_bits()])),
                reduction: reduction.map_or(vk::SamplerReductionMode::WEIGHTED_AVERAGE, |r| r.reduction_mode),
            };
            let inner = B::sampler(&d.inner, &sampler)?;
            let conversion: Option<&vk::SamplerYcbcrConversionInfo> = chain::find(info.next, vk::StructureType::SAMPLER_YCBCR_CONVERSION_INFO);
            let conversion = conversion.map(|c| *get::<Conversion>(c.conversion));
            *out = handle(d.allocator(callbacks).create(Sampler::<B> { inner, conversion, key: key_of(&(sampler, conversion)) })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroySampler`.
    fn vkDestroySampler<B: Backend>(device: vk::Device, sampler: vk::Sampler, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(sampler.as_raw() as *mut Sampler<B>) }
    }
}

/// A border colour as a view shows it whose components the sampler names, if the view does not do that.
unsafe fn swizzled<B: Backend>(info: &vk::SamplerCreateInfo, colour: [u32; 4]) -> [u32; 4] {
    if B::VIEWS_SWIZZLE_BORDERS {
        return colour;
    }
    // SAFETY: the chain is the application's and valid.
    let mapping: Option<&vk::SamplerBorderColorComponentMappingCreateInfoEXT> = unsafe {
        chain::find(
            info.next,
            vk::StructureType::SAMPLER_BORDER_COLOR_COMPONENT_MAPPING_CREATE_INFO_EXT,
        )
    };
    let Some(c) = mapping.map(|m| m.components) else { return colour };
    let one = match info.border_color {
        vk::BorderColor::INT_CUSTOM_EXT => 1,
        _ => 1f32.to_bits(),
    };
    let parts = [c.r, c.g, c.b, c.a].into_iter().enumerate();
    let mut out = [0; 4];
    for (k, part) in parts {
        out[k] = match part {
            vk::ComponentSwizzle::ZERO => 0,
            vk::ComponentSwizzle::ONE => one,
            vk::ComponentSwizzle::R => colour[0],
            vk::ComponentSwizzle::G => colour[1],
            vk::ComponentSwizzle::B => colour[2],
            vk::ComponentSwizzle::A => colour[3],
            _ => colour[k],
        };
    }
    out
}

/// Location of a subresource, relative to the bound memory: the image's, or the plane's if planes are
/// bound separately.
fn subresource<B: Backend>(image: &Image<B>, s: vk::ImageSubresource) -> Subresource {
    let plane = B::plane(&image.layout, s.aspect_mask);
    let mut sub = B::subresource(&image.layout, plane, s.mip_level, s.array_layer);
    sub.offset += match image.info.flags.contains(vk::ImageCreateFlags::DISJOINT) {
        true => offset_by_itself(image, plane),
        false => B::plane_memory(&image.layout, plane).offset,
    };
    sub
}

unsafe fn subresource2<B: Backend>(
    image: &Image<B>,
    s: vk::ImageSubresource,
    out: &mut vk::SubresourceLayout2,
) {
    let sub = subresource(image, s);
    out.subresource_layout = layout_of(sub);
    // SAFETY: the chain is the application's and valid.
    unsafe {
        chain::each(out.next, |s_type, at| {
            if s_type == vk::StructureType::SUBRESOURCE_HOST_MEMCPY_SIZE {
                (*at.cast::<vk::SubresourceHostMemcpySize>()).size = sub.size;
            }
        });
    }
}
