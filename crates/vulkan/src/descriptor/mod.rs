//! Descriptor set layouts, pools and sets.
//!
//! A set is a range of its pool's memory of each kind that the family has for sets ([`SetMemory`](crate::backend::SetMemory)), which
//! the GPU, or the family's encoder, reads where shaders say. Each binding begins at an offset that its layout fixes, with as many
//! bytes for each element as the family's driver wants. Buffers with dynamic offsets stand in the set as others do; what they are with
//! their offsets is computed when the set is bound.
//!
//! [`buffer`] and [`texels`] have descriptor buffers, [`kind`] has the kinds of descriptors, [`layout`] the layouts of sets, [`placement`] places bindings, [`pool`] has the memory, [`write`] fills it, [`push`] has what command buffers push.

mod buffer;
mod copy;
mod kind;
mod layout;
mod placement;
mod pool;
mod push;
mod texels;
mod write;

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

pub use self::buffer::*;
pub use self::kind::DescriptorType;
pub use self::layout::{Binding, SetLayout};
pub use self::pool::{Pool, Set};
pub use self::push::Pushed;
pub(crate) use self::texels::TexelBuffers;
pub use self::write::{Template, Writer};
use crate::backend::Backend;
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::object::{get, get_mut, handle, slice};

/// `maxInlineUniformBlockSize` of a physical device.
fn max_inline_block_bytes<B: Backend>(physical: &B::Physical) -> u32 {
    let mut inline = vk::PhysicalDeviceInlineUniformBlockProperties::default();
    // SAFETY: a chain of one structure.
    unsafe { B::info(physical).property_chain.answer((&raw mut inline).cast()) };
    inline.max_inline_uniform_block_size
}

entry! {
    /// `vkCreateDescriptorSetLayout`.
    fn vkCreateDescriptorSetLayout<B: Backend>(device: vk::Device, info: *const vk::DescriptorSetLayoutCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DescriptorSetLayout) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            *out = handle(d.allocator(callbacks).create(Arc::new(SetLayout::<B>::new(&d.physical, &*info)?))?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyDescriptorSetLayout`.
    fn vkDestroyDescriptorSetLayout<B: Backend>(device: vk::Device, layout: vk::DescriptorSetLayout, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(layout.as_raw() as *mut Arc<SetLayout<B>>) }
    }

    /// `vkGetDescriptorSetLayoutSupport`.
    fn vkGetDescriptorSetLayoutSupport<B: Backend>(device: vk::Device, info: *const vk::DescriptorSetLayoutCreateInfo, out: *mut vk::DescriptorSetLayoutSupport) {
        unsafe {
            let physical = &Device::<B>::of(device).physical;
            let layout = SetLayout::<B>::new(physical, &*info);
            (*out).supported = if layout.is_ok() { vk::TRUE } else { vk::FALSE };
            chain::each((*out).next, |s_type, at| {
                if s_type == vk::StructureType::DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_LAYOUT_SUPPORT {
                    let o = &mut *at.cast::<vk::DescriptorSetVariableDescriptorCountLayoutSupport>();
                    o.max_variable_descriptor_count = layout.as_ref().map_or(0, |l| l.max_variable_count(max_inline_block_bytes::<B>(physical)));
                }
            });
        }
    }

    /// `vkCreateDescriptorPool`.
    fn vkCreateDescriptorPool<B: Backend>(device: vk::Device, info: *const vk::DescriptorPoolCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DescriptorPool) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let pool = Pool::<B>::new(d, &*info)?;
            *out = handle(d.allocator(callbacks).create(pool)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyDescriptorPool`.
    fn vkDestroyDescriptorPool<B: Backend>(device: vk::Device, pool: vk::DescriptorPool, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(pool.as_raw() as *mut Pool<B>) }
    }

    /// `vkResetDescriptorPool`.
    fn vkResetDescriptorPool<B: Backend>(_device: vk::Device, pool: vk::DescriptorPool, _flags: vk::DescriptorPoolResetFlags) -> vk::Result {
        unsafe { get_mut::<Pool<B>>(pool).clear() }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkAllocateDescriptorSets`.
    fn vkAllocateDescriptorSets<B: Backend>(_device: vk::Device, info: *const vk::DescriptorSetAllocateInfo, out: *mut vk::DescriptorSet) -> vk::Result {
        unsafe {
            let info = &*info;
            let pool: &mut Pool<B> = get_mut(info.descriptor_pool);
            let variable: Option<&vk::DescriptorSetVariableDescriptorCountAllocateInfo> =
                chain::find(info.next, vk::StructureType::DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO);
            let layouts = slice(info.set_layouts, info.descriptor_set_count);
            for (k, &l) in layouts.iter().enumerate() {
                let layout: &Arc<SetLayout<B>> = get(l);
                let counts = variable.map_or(&[][..], |v| slice(v.descriptor_counts, v.descriptor_set_count));
                let count = if layout.variable { Some(counts.get(k).copied().unwrap_or(0)) } else { None };
                match pool.allocate(layout, count) {
                    Ok(set) => *out.add(k) = set,
                    Err(e) => {
                        for j in 0..k {
                            pool.free(*out.add(j));
                        }
                        for j in 0..layouts.len() {
                            *out.add(j) = vk::DescriptorSet::null();
                        }
                        return Err(e);
                    }
                }
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkFreeDescriptorSets`.
    fn vkFreeDescriptorSets<B: Backend>(_device: vk::Device, pool: vk::DescriptorPool, count: u32, sets: *const vk::DescriptorSet) -> vk::Result {
        unsafe {
            let pool: &mut Pool<B> = get_mut(pool);
            for &s in slice(sets, count) {
                pool.free(s);
            }
        }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkUpdateDescriptorSets`.
    fn vkUpdateDescriptorSets<B: Backend>(_device: vk::Device, writes: u32, write: *const vk::WriteDescriptorSet, copies: u32, copy_: *const vk::CopyDescriptorSet) {
        unsafe {
            for w in slice(write, writes) {
                get_mut::<Set<B>>(w.dst_set).writer().update(w);
            }
            for c in slice(copy_, copies) {
                copy::copy::<B>(c);
            }
        }
    }

    /// `vkCreateDescriptorUpdateTemplate`.
    fn vkCreateDescriptorUpdateTemplate<B: Backend>(device: vk::Device, info: *const vk::DescriptorUpdateTemplateCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DescriptorUpdateTemplate) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let template = Template::<B> {
                entries: slice(info.descriptor_update_entries, info.descriptor_update_entry_count).to_vec(),
                point: info.pipeline_bind_point,
                family: std::marker::PhantomData,
            };
            *out = handle(d.allocator(callbacks).create(template)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyDescriptorUpdateTemplate`.
    fn vkDestroyDescriptorUpdateTemplate<B: Backend>(device: vk::Device, template: vk::DescriptorUpdateTemplate, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(template.as_raw() as *mut Template<B>) }
    }

    /// `vkUpdateDescriptorSetWithTemplate`.
    fn vkUpdateDescriptorSetWithTemplate<B: Backend>(_device: vk::Device, set: vk::DescriptorSet, template: vk::DescriptorUpdateTemplate, data: *const std::ffi::c_void) {
        unsafe { get_mut::<Set<B>>(set).writer().template(get(template), data.cast()) }
    }
}
