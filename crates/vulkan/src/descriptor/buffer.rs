//! Descriptor buffers (`VK_EXT_descriptor_buffer`): memory of the application's with descriptors, which it writes by itself.
//!
//! Descriptors are those of the first kind of a set's memory, and a set is an address: programs find everything else from there. The
//! bytes of a descriptor name views and samplers, whose objects live as long as it is used; the device has those of texel buffers
//! ([`super::texels`]).

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys as vk;

use super::kind::DescriptorType;
use super::layout::SetLayout;
use crate::backend::{Backend, Descriptor};
use crate::command::{MAX_DESCRIPTOR_BUFFERS, MAX_SETS, of};
use crate::device::Device;
use crate::draws::Driver;
use crate::entry;
use crate::error::Result;
use crate::image::{ImageView, Sampler, format_of};
use crate::object::{get, maybe, slice};
use crate::pipeline::PipelineLayout;
use crate::record::{points, push_set};

/// Alignment of sets in descriptor buffers in bytes.
const SET_ALIGNMENT: u64 = 64;

/// Bytes of descriptors that commands may reach from the address of a descriptor buffer on: offsets in a set have 32 bits.
const MAX_RANGE_B: u64 = 1 << 31;

/// Largest number of samplers that set layouts embed: those that a device may have.
const MAX_EMBEDDED: u32 = 4000;

/// `VkPhysicalDeviceDescriptorBufferPropertiesEXT` of a family whose descriptors have these bytes in the first kind of a set's memory.
#[must_use]
pub fn buffer_properties(
    size: impl Fn(DescriptorType) -> u32,
) -> vk::PhysicalDeviceDescriptorBufferPropertiesEXT {
    use DescriptorType as D;
    let size = |ty| size(ty) as usize;
    let [uniform_texels, storage_texels] = [D::UniformTexelBuffer, D::StorageTexelBuffer].map(size);
    let [uniform, storage] = [D::UniformBuffer, D::StorageBuffer].map(size);
    vk::PhysicalDeviceDescriptorBufferPropertiesEXT {
        combined_image_sampler_descriptor_single_array: vk::TRUE,
        bufferless_push_descriptors: vk::TRUE,
        allow_sampler_image_view_post_submit_creation: vk::TRUE,
        descriptor_buffer_offset_alignment: SET_ALIGNMENT,
        max_descriptor_buffer_bindings: MAX_DESCRIPTOR_BUFFERS as u32,
        max_resource_descriptor_buffer_bindings: MAX_DESCRIPTOR_BUFFERS as u32,
        max_sampler_descriptor_buffer_bindings: MAX_DESCRIPTOR_BUFFERS as u32,
        max_embedded_immutable_sampler_bindings: MAX_SETS as u32,
        max_embedded_immutable_samplers: MAX_EMBEDDED,
        sampler_descriptor_size: size(D::Sampler),
        combined_image_sampler_descriptor_size: size(D::CombinedImageSampler),
        sampled_image_descriptor_size: size(D::SampledImage),
        storage_image_descriptor_size: size(D::StorageImage),
        uniform_texel_buffer_descriptor_size: uniform_texels,
        robust_uniform_texel_buffer_descriptor_size: uniform_texels,
        storage_texel_buffer_descriptor_size: storage_texels,
        robust_storage_texel_buffer_descriptor_size: storage_texels,
        uniform_buffer_descriptor_size: uniform,
        robust_uniform_buffer_descriptor_size: uniform,
        storage_buffer_descriptor_size: storage,
        robust_storage_buffer_descriptor_size: storage,
        input_attachment_descriptor_size: size(D::InputAttachment),
        max_sampler_descriptor_buffer_range: MAX_RANGE_B,
        max_resource_descriptor_buffer_range: MAX_RANGE_B,
        sampler_descriptor_buffer_address_space_size: MAX_RANGE_B,
        resource_descriptor_buffer_address_space_size: MAX_RANGE_B,
        descriptor_buffer_address_space_size: MAX_RANGE_B,
        ..Default::default()
    }
}

/// Writes the descriptor that a structure describes.
unsafe fn get_descriptor<B: Backend>(
    d: &Device<B>,
    info: &vk::DescriptorGetInfoEXT,
    bytes: &mut [u8],
) {
    use DescriptorType as D;
    let Ok(ty) = DescriptorType::new(info.type_) else { return };
    // A descriptor for each plane, all of them whole.
    let size = B::descriptor_sizes(&d.physical, ty)[0].max(1) as usize;
    let whole = bytes.len() / size * size;
    let bytes = &mut bytes[..whole];
    if bytes.is_empty() {
        return;
    }
    let mut write = |descriptor: &Descriptor<'_, B>| {
        B::write_descriptor(&d.physical, ty, descriptor, [&mut *bytes, &mut [], &mut []]);
    };
    // SAFETY: the member of the union is that of the type, its pointer is null or valid, and its handles are null or live.
    unsafe {
        match ty {
            D::Sampler => {
                let sampler: &Sampler<B> = get(*info.data.sampler);
                write(&Descriptor::Image { view: None, sampler: Some(&sampler.inner) });
            }
            D::CombinedImageSampler | D::SampledImage | D::StorageImage | D::InputAttachment => {
                let image = info.data.sampled_image.as_ref();
                let view = image.and_then(|i| maybe::<ImageView<B>>(i.image_view));
                let combined = image.filter(|_| ty == D::CombinedImageSampler);
                let sampler = combined.and_then(|i| maybe::<Sampler<B>>(i.sampler));
                if view.is_none() {
                    write(&Descriptor::Null);
                }
                let (view, sampler) = (view.map(|v| &v.inner), sampler.map(|s| &s.inner));
                write(&Descriptor::Image { view, sampler });
            }
            D::UniformTexelBuffer | D::StorageTexelBuffer => {
                let texels = info.data.uniform_texel_buffer.as_ref().filter(|a| a.address != 0);
                let written = texels.map(|a| -> Result<()> {
                    let texels = (a.address, a.range, format_of(a.format)?);
                    d.texel_buffers.with(&d.inner, texels, |view| {
                        write(&Descriptor::BufferView(view));
                    })
                });
                if !matches!(written, Some(Ok(()))) {
                    write(&Descriptor::Null);
                }
            }
            D::UniformBuffer | D::StorageBuffer => {
                let buffer = info.data.uniform_buffer.as_ref().filter(|a| a.address != 0);
                write(&match buffer {
                    Some(a) => Descriptor::Buffer { address: a.address, size: a.range },
                    None => Descriptor::Null,
                });
            }
            // The specification has none of these.
            D::UniformBufferDynamic
            | D::StorageBufferDynamic
            | D::InlineUniformBlock
            | D::Mutable => {}
        }
    }
}

/// Binds sets to ranges of descriptor buffers that are bound.
fn set_offsets<B: Driver>(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    layout: &PipelineLayout<B>,
    first: u32,
    indices: &[u32],
    offsets: &[u64],
) {
    // SAFETY: the handle is the entry point's.
    let c = unsafe { of::<B>(buffer) };
    for (n, (&index, &offset)) in (first as usize..MAX_SETS).zip(indices.iter().zip(offsets)) {
        let Some(Some(layout)) = layout.sets.get(n) else { continue };
        let layout: Arc<SetLayout<B>> = layout.clone();
        c.record("vkCmdSetDescriptorBufferOffsetsEXT", move |c| {
            let start = c.state.descriptor_buffers.get(index as usize).copied().unwrap_or(0);
            let at = start + offset;
            let blocks = layout.blocks().map(|(first, size)| (at + u64::from(first), size));
            c.state.bind_buffer_set(point, n, at, layout.size, blocks);
            Ok(())
        });
    }
}

/// Binds the samplers that a set layout embeds.
fn bind_embedded<B: Driver>(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    layout: &PipelineLayout<B>,
    set: u32,
) {
    let name = "vkCmdBindDescriptorBufferEmbeddedSamplersEXT";
    push_set::<B>(name, buffer, point, set, layout, |_| {});
}

entry! {
    /// `vkGetDescriptorSetLayoutSizeEXT`.
    fn vkGetDescriptorSetLayoutSizeEXT<B: Backend>(_device: vk::Device, layout: vk::DescriptorSetLayout, out: *mut u64) {
        unsafe { *out = u64::from(get::<Arc<SetLayout<B>>>(layout).size[0]) }
    }

    /// `vkGetDescriptorSetLayoutBindingOffsetEXT`.
    fn vkGetDescriptorSetLayoutBindingOffsetEXT<B: Backend>(_device: vk::Device, layout: vk::DescriptorSetLayout, binding: u32, out: *mut u64) {
        unsafe {
            let layout = get::<Arc<SetLayout<B>>>(layout);
            // One without descriptors is anywhere.
            *out = layout.binding(binding).map_or(0, |b| u64::from(b.offset[0]));
        }
    }

    /// `vkGetDescriptorEXT`.
    fn vkGetDescriptorEXT<B: Backend>(device: vk::Device, info: *const vk::DescriptorGetInfoEXT, size: usize, out: *mut c_void) {
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(out.cast::<u8>(), size);
            bytes.fill(0);
            get_descriptor(Device::<B>::of(device), &*info, bytes);
        }
    }

    /// `vkCmdBindDescriptorBuffersEXT`.
    fn vkCmdBindDescriptorBuffersEXT<B: Driver>(buffer: vk::CommandBuffer, count: u32, infos: *const vk::DescriptorBufferBindingInfoEXT) {
        unsafe {
            let mut all = [0; MAX_DESCRIPTOR_BUFFERS];
            for (to, info) in all.iter_mut().zip(slice(infos, count)) {
                *to = info.address;
            }
            of::<B>(buffer).record("vkCmdBindDescriptorBuffersEXT", move |c| {
                c.state.descriptor_buffers = all;
                Ok(())
            });
        }
    }

    /// `vkCmdSetDescriptorBufferOffsetsEXT`.
    fn vkCmdSetDescriptorBufferOffsetsEXT<B: Driver>(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, layout: vk::PipelineLayout, first: u32, count: u32, indices: *const u32, offsets: *const u64) {
        unsafe { set_offsets::<B>(buffer, point, get(layout), first, slice(indices, count), slice(offsets, count)) }
    }

    /// `vkCmdSetDescriptorBufferOffsets2EXT`.
    fn vkCmdSetDescriptorBufferOffsets2EXT<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::SetDescriptorBufferOffsetsInfoEXT) {
        unsafe {
            let i = &*info;
            let (indices, offsets) = (slice(i.buffer_indices, i.set_count), slice(i.offsets, i.set_count));
            for point in points(i.stage_flags) {
                set_offsets::<B>(buffer, point, get(i.layout), i.first_set, indices, offsets);
            }
        }
    }

    /// `vkCmdBindDescriptorBufferEmbeddedSamplersEXT`.
    fn vkCmdBindDescriptorBufferEmbeddedSamplersEXT<B: Driver>(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32) {
        unsafe { bind_embedded::<B>(buffer, point, get(layout), set) }
    }

    /// `vkCmdBindDescriptorBufferEmbeddedSamplers2EXT`.
    fn vkCmdBindDescriptorBufferEmbeddedSamplers2EXT<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::BindDescriptorBufferEmbeddedSamplersInfoEXT) {
        unsafe {
            for point in points((*info).stage_flags) {
                bind_embedded::<B>(buffer, point, get((*info).layout), (*info).set);
            }
        }
    }
}
