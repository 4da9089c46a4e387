//! Creation of set layouts: a place for each binding in each kind of a set's memory.

use std::sync::Arc;

use tepui_passes::lower_ycbcr::Conversion;
use vulkanalia_sys as vk;

use super::kind::{ALIGNMENT, DescriptorType};
use super::layout::{Binding, MAX_SET_B, SetLayout};
use super::push::Pushed;
use crate::backend::{Backend, MAX_SET_MEMORY, PerSetMemory};
use crate::chain;
use crate::error::{Error, Result};
use crate::image::Sampler;
use crate::object::{get, slice};

/// Largest number of a binding: compilers use the bit above.
const MAX_BINDING: u32 = i32::MAX as u32;

/// Largest size of a set that is pushed in bytes: command buffers keep such sets on the host. Far more than the limit of
/// descriptors, `maxPushDescriptors`, needs.
const MAX_PUSHED_B: u64 = 1 << 16;

/// Maximum number of dynamic offsets of a set: the host keeps a list of them for each set that is bound. Far more than the limit of such
/// descriptors.
const MAX_DYNAMIC: u32 = 1 << 12;

impl<B: Backend> SetLayout<B> {
    /// A layout from its creation structure.
    ///
    /// # Errors
    /// When there are no such descriptors, or sets would be too large.
    ///
    /// # Safety
    /// The structure is valid.
    pub(super) unsafe fn new(
        physical: &Arc<B::Physical>,
        info: &vk::DescriptorSetLayoutCreateInfo,
    ) -> Result<SetLayout<B>> {
        // SAFETY: the structure is the application's and valid.
        let (list, flags) = unsafe {
            let flags: Option<&vk::DescriptorSetLayoutBindingFlagsCreateInfo> = chain::find(
                info.next,
                vk::StructureType::DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
            );
            (slice(info.bindings, info.binding_count), flags)
        };
        let push = info.flags.contains(vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR);
        let embedded = info
            .flags
            .contains(vk::DescriptorSetLayoutCreateFlags::EMBEDDED_IMMUTABLE_SAMPLERS_EXT);
        let buffer = vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT;
        // SAFETY: the structure is the application's and valid.
        let mutable = unsafe {
            let lists: Option<&vk::MutableDescriptorTypeCreateInfoEXT> =
                chain::find(info.next, vk::StructureType::MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT);
            lists.map_or(&[][..], |m| {
                slice(m.mutable_descriptor_type_lists, m.mutable_descriptor_type_list_count)
            })
        };
        let mut layout = SetLayout {
            bindings: Vec::new(),
            size: [0; MAX_SET_MEMORY],
            dynamic: 0,
            push,
            in_buffer: info.flags.contains(buffer) && !push && !embedded,
            fixed: Pushed::default(),
            variable: false,
            physical: physical.clone(),
        };
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by_key(|&k| list[k].binding);
        let mut end = [0u64; MAX_SET_MEMORY];
        for k in order {
            // SAFETY: the flags are an array of the count, or null.
            let own = flags
                .and_then(|f| unsafe { slice(f.binding_flags, f.binding_count) }.get(k).copied());
            let is_variable = own
                .is_some_and(|f| f.contains(vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT));
            // A binding without descriptors is not there, unless its count is given with each set.
            if list[k].descriptor_count > 0 || is_variable {
                // SAFETY: a list of types is an array of its count.
                let types = mutable.get(k).map_or(&[][..], |m| unsafe {
                    slice(m.descriptor_types, m.descriptor_type_count)
                });
                // SAFETY: the structure is valid.
                unsafe { layout.add(&list[k], own.unwrap_or_default(), types, &mut end)? };
                layout.variable |= is_variable;
            }
        }
        let is_too_large = end.iter().any(|&e| e > MAX_PUSHED_B);
        if push && is_too_large || layout.dynamic > MAX_DYNAMIC {
            return Err(Error::host_memory());
        }
        layout.size = end.map(|e| (e as u32).next_multiple_of(ALIGNMENT));
        if push || embedded {
            layout.fixed = Pushed::fixed(&layout);
        }
        Ok(layout)
    }

    /// Adds a binding after those before, which end at `end` in each kind of memory; a mutable descriptor may be of any of `types`.
    unsafe fn add(
        &mut self,
        b: &vk::DescriptorSetLayoutBinding,
        flags: vk::DescriptorBindingFlags,
        types: &[vk::DescriptorType],
        end: &mut PerSetMemory<u64>,
    ) -> Result<()> {
        if b.binding > MAX_BINDING {
            return Err(Error::host_memory());
        }
        let ty = DescriptorType::new(b.descriptor_type)?;
        let fixes = matches!(ty, DescriptorType::Sampler | DescriptorType::CombinedImageSampler);
        // SAFETY: immutable samplers are an array of the count, or null.
        let samplers = match fixes {
            true => unsafe { slice(b.immutable_samplers, b.descriptor_count) }.to_vec(),
            false => Vec::new(),
        };
        // SAFETY: immutable samplers live as long as the layout is made.
        let conversions = samplers.iter().map(|&s| unsafe { get::<Sampler<B>>(s) }.conversion);
        let mut conversions: Vec<_> = conversions.collect();
        // SAFETY: as above.
        let sampler_keys = samplers.iter().map(|&s| unsafe { get::<Sampler<B>>(s) }.key).collect();
        let planes = conversions.iter().flatten().map(Conversion::planes).max();
        if planes.is_none() {
            conversions.clear();
        }
        let planes = planes.unwrap_or(1);
        let is_block = self.in_buffer && ty == DescriptorType::InlineUniformBlock;
        let sizes = match self.in_buffer {
            true => [size_in_buffer::<B>(&self.physical, ty, types)?, 0, 0],
            false => B::descriptor_sizes(&self.physical, ty),
        };
        let stride = sizes.map(|size| size * planes);
        let mut offset = [0; MAX_SET_MEMORY];
        for ((offset, end), stride) in offset.iter_mut().zip(&mut *end).zip(stride) {
            let alignment = match is_block {
                true => INLINE_ALIGNMENT,
                false => stride.next_power_of_two().min(ALIGNMENT),
            };
            *end = end.next_multiple_of(u64::from(alignment));
            *offset = u32::try_from(*end).map_err(|_| Error::host_memory())?;
        }
        let binding = Binding {
            ty,
            count: b.descriptor_count,
            offset,
            stride,
            planes,
            is_dynamic: ty.is_dynamic() || is_block,
            first_dynamic: self.dynamic,
            updates_after_bind: self.in_buffer
                || flags.contains(vk::DescriptorBindingFlags::UPDATE_AFTER_BIND),
            partially_bound: flags.contains(vk::DescriptorBindingFlags::PARTIALLY_BOUND),
            samplers,
            sampler_keys,
            conversions,
        };
        for (kind, end) in end.iter_mut().enumerate() {
            *end = binding.end(kind, b.descriptor_count);
            if *end > MAX_SET_B {
                return Err(Error::host_memory());
            }
        }
        self.dynamic += match is_block {
            true => 1,
            false if ty.is_dynamic() => b.descriptor_count,
            false => 0,
        };
        self.bindings.push((b.binding, binding));
        Ok(())
    }
}

/// Alignment of the bytes of inline uniform blocks in descriptor buffers.
const INLINE_ALIGNMENT: u32 = 16;

/// Bytes of a descriptor in a descriptor buffer: of the largest of `types` for mutable ones. Inline blocks have none but their bytes.
///
/// # Errors
/// When there are no such descriptors.
fn size_in_buffer<B: Backend>(
    physical: &B::Physical,
    ty: DescriptorType,
    types: &[vk::DescriptorType],
) -> Result<u32> {
    let size = |ty| B::descriptor_sizes(physical, ty)[0];
    Ok(match ty {
        DescriptorType::InlineUniformBlock => 0,
        DescriptorType::Mutable => {
            let mut largest = 0;
            for &ty in types {
                largest = size(DescriptorType::new(ty)?).max(largest);
            }
            largest
        }
        ty => size(ty),
    })
}
