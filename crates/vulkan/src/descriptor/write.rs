//! Descriptors written into sets: writes, templates and copies.

use vulkanalia_sys as vk;

use super::push::Written;
use super::{Binding, DescriptorType, HostBytes, Set, SetLayout};
use crate::backend::{Backend, Descriptor, MAX_SET_MEMORY, PerSetMemory};
use crate::chain;
use crate::image::{BufferView, ImageView, Sampler};
use crate::memory::Buffer;
use crate::object::{get, get_mut, maybe};

/// Writes descriptors into a set's memory, or into bytes that are pushed.
pub struct Writer<'a, B: Backend> {
    /// Layout of the set.
    pub layout: &'a SetLayout<B>,
    /// GPU addresses of the set.
    pub addresses: PerSetMemory<u64>,
    /// The set.
    pub bytes: PerSetMemory<&'a mut [u8]>,
    /// Address and size of each buffer that takes a dynamic offset.
    pub dynamic: &'a mut [(u64, u32)],
    /// Ranges of bytes that were written, for those who ask.
    pub(super) written: Option<&'a mut Vec<Written>>,
}

impl<B: Backend> Writer<'_, B> {
    /// Initial contents of a set: immutable samplers, and the addresses of inline blocks.
    pub fn begin(&mut self) {
        for (_, b) in &self.layout.bindings {
            for (k, &s) in b.samplers.iter().enumerate() {
                // SAFETY: immutable samplers outlive the layout.
                let sampler = unsafe { get::<Sampler<B>>(s) };
                self.put(
                    b,
                    b.ty,
                    k as u32,
                    &Descriptor::Image { view: None, sampler: Some(&sampler.inner) },
                );
            }
            if b.ty == DescriptorType::InlineUniformBlock {
                let address = self.addresses[0] + u64::from(b.data());
                self.put(b, b.ty, 0, &Descriptor::Buffer { address, size: u64::from(b.count) });
            }
        }
    }

    fn put(&mut self, b: &Binding, ty: DescriptorType, element: u32, d: &Descriptor<'_, B>) {
        let mut parts: PerSetMemory<&mut [u8]> = Default::default();
        for (kind, (part, bytes)) in parts.iter_mut().zip(&mut self.bytes).enumerate() {
            let stride = b.stride[kind] as usize;
            let at = b.offset[kind] as usize + element as usize * stride;
            let Some(bytes) = bytes.get_mut(at..at + stride) else { return };
            *part = bytes;
            if let Some(written) = &mut self.written
                && stride > 0
            {
                written.push((kind, at..at + stride));
            }
        }
        if let (true, Descriptor::Buffer { address, size }) = (ty.is_dynamic(), d)
            && let Some(to) = self.dynamic.get_mut((b.first_dynamic + element) as usize)
        {
            *to = (*address, u32::try_from(*size).unwrap_or(u32::MAX));
        }
        B::write_descriptor(&self.layout.physical, ty, d, parts);
    }

    /// Writes `count` descriptors of a kind from an element on; descriptors past the end of the binding
    /// go to the next bindings.
    ///
    /// # Safety
    /// `at(k)` is the address of the k-th source structure of the kind.
    unsafe fn write(
        &mut self,
        ty: DescriptorType,
        [binding, element, count]: [u32; 3],
        at: impl Fn(u32) -> *const u8,
    ) {
        let elements = self.layout.elements(binding, element);
        for ((b, element), k) in elements.zip(0..count) {
            // SAFETY: as the caller says.
            unsafe { self.one(b, ty, element, at(k)) };
        }
    }

    unsafe fn one(&mut self, b: &Binding, ty: DescriptorType, element: u32, source: *const u8) {
        use DescriptorType as D;
        // SAFETY: the source is of the binding's kind, and its handles are live.
        unsafe {
            match ty {
                D::UniformBuffer
                | D::StorageBuffer
                | D::UniformBufferDynamic
                | D::StorageBufferDynamic => {
                    let info = source.cast::<vk::DescriptorBufferInfo>().read_unaligned();
                    let d = match maybe::<Buffer<B>>(info.buffer) {
                        Some(buffer) => Descriptor::Buffer {
                            address: buffer.address + info.offset,
                            size: buffer.range(info.offset, info.range),
                        },
                        None => Descriptor::Null,
                    };
                    self.put(b, ty, element, &d);
                }
                D::UniformTexelBuffer | D::StorageTexelBuffer => {
                    let view = source.cast::<vk::BufferView>().read_unaligned();
                    let d = maybe::<BufferView<B>>(view)
                        .map_or(Descriptor::Null, |v| Descriptor::BufferView(&v.inner));
                    self.put(b, ty, element, &d);
                }
                D::Sampler if !b.samplers.is_empty() => {}
                D::Sampler
                | D::CombinedImageSampler
                | D::SampledImage
                | D::StorageImage
                | D::InputAttachment => {
                    let info = source.cast::<vk::DescriptorImageInfo>().read_unaligned();
                    let view = if ty == D::Sampler {
                        None
                    } else {
                        maybe::<ImageView<B>>(info.image_view)
                    };
                    let takes_sampler =
                        matches!(ty, D::Sampler | D::CombinedImageSampler) && b.samplers.is_empty();
                    let sampler =
                        if takes_sampler { maybe::<Sampler<B>>(info.sampler) } else { None };
                    if ty != D::Sampler && view.is_none() {
                        self.put(b, ty, element, &Descriptor::Null);
                        if !b.samplers.is_empty() {
                            let fixed = get::<Sampler<B>>(b.samplers[element as usize]);
                            self.put(
                                b,
                                ty,
                                element,
                                &Descriptor::Image { view: None, sampler: Some(&fixed.inner) },
                            );
                        }
                    }
                    let d = Descriptor::Image {
                        view: view.map(|v| &v.inner),
                        sampler: sampler.map(|s| &s.inner),
                    };
                    self.put(b, ty, element, &d);
                }
                D::Mutable => {}
                D::InlineUniformBlock => {
                    let at = b.data() as usize + element as usize;
                    if let Some(byte) = self.bytes[0].get_mut(at) {
                        *byte = *source;
                        if let Some(written) = &mut self.written {
                            written.push((0, at..at + 1));
                        }
                    }
                }
            }
        }
    }

    /// Performs a write.
    ///
    /// # Safety
    /// The structure is valid.
    pub unsafe fn update(&mut self, w: &vk::WriteDescriptorSet) {
        // SAFETY: as the caller says.
        unsafe {
            let Ok(ty) = DescriptorType::new(w.descriptor_type) else { return };
            let (source, stride): (*const u8, usize) = match ty {
                DescriptorType::InlineUniformBlock => {
                    let data: Option<&vk::WriteDescriptorSetInlineUniformBlock> = chain::find(
                        w.next,
                        vk::StructureType::WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
                    );
                    (data.map_or(std::ptr::null(), |d| d.data.cast()), 1)
                }
                DescriptorType::UniformTexelBuffer | DescriptorType::StorageTexelBuffer => {
                    (w.texel_buffer_view.cast(), size_of::<vk::BufferView>())
                }
                ty if ty.is_buffer() => {
                    (w.buffer_info.cast(), size_of::<vk::DescriptorBufferInfo>())
                }
                _ => (w.image_info.cast(), size_of::<vk::DescriptorImageInfo>()),
            };
            if !source.is_null() {
                let place = [w.dst_binding, w.dst_array_element, w.descriptor_count];
                self.write(ty, place, |k| source.add(k as usize * stride));
            }
        }
    }

    /// Performs an update from a template.
    ///
    /// # Safety
    /// `data` has what the template says.
    pub unsafe fn template(&mut self, t: &Template<B>, data: *const u8) {
        for e in &t.entries {
            let Ok(ty) = DescriptorType::new(e.descriptor_type) else { continue };
            let stride = if ty == DescriptorType::InlineUniformBlock { 1 } else { e.stride };
            let place = [e.dst_binding, e.dst_array_element, e.descriptor_count];
            // SAFETY: as the caller says.
            unsafe {
                let start = data.add(e.offset);
                self.write(ty, place, |k| start.add(k as usize * stride));
            }
        }
    }
}

/// A descriptor update template.
pub struct Template<B: Backend> {
    pub(super) entries: Vec<vk::DescriptorUpdateTemplateEntry>,
    /// The bind point that descriptors are pushed to.
    pub point: vk::PipelineBindPoint,
    pub(super) family: std::marker::PhantomData<fn() -> B>,
}

/// Performs a copy.
///
/// # Safety
/// The sets are live and synchronised by the application.
pub(super) unsafe fn copy<B: Backend>(c: &vk::CopyDescriptorSet) {
    // SAFETY: as the caller says.
    unsafe {
        let source: &Set<B> = get(c.src_set);
        let target: &mut Set<B> = get_mut(c.dst_set);
        // The sets may be one: bytes go by address.
        let (from, to) = (source.host(), target.host());
        let each = |kind: usize, at: [u64; 2], size: u32| {
            let is_inside = |at: u64, bytes: HostBytes| at + u64::from(size) <= bytes.size().into();
            if size > 0 && is_inside(at[0], from[kind]) && is_inside(at[1], to[kind]) {
                let source = from[kind].start().add(at[0] as usize);
                let target = to[kind].start().add(at[1] as usize).cast_mut();
                std::ptr::copy(source, target, size as usize);
            }
        };
        let sources = source.layout.elements(c.src_binding, c.src_array_element);
        let target_layout = target.layout.clone();
        let targets = target_layout.elements(c.dst_binding, c.dst_array_element);
        for ((s, from), (t, to)) in sources.zip(targets).take(c.descriptor_count as usize) {
            if s.ty == DescriptorType::InlineUniformBlock {
                let at = [s.data() + from, t.data() + to].map(u64::from);
                each(0, at, 1);
                continue;
            }
            for kind in 0..MAX_SET_MEMORY {
                let at = |b: &Binding, element: u32| {
                    u64::from(b.offset[kind]) + u64::from(element) * u64::from(b.stride[kind])
                };
                // Elements of mutable bindings may be longer than those of others.
                each(kind, [at(s, from), at(t, to)], s.stride[kind].min(t.stride[kind]));
            }
            if s.ty.is_dynamic() && t.ty.is_dynamic() {
                let buffer = source.dynamic.get((s.first_dynamic + from) as usize).copied();
                let slot = target.dynamic.get_mut((t.first_dynamic + to) as usize);
                if let (Some(buffer), Some(slot)) = (buffer, slot) {
                    *slot = buffer;
                }
            }
        }
    }
}
