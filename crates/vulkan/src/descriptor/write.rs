//! Descriptors written into sets: writes, templates and copies.

use vulkanalia_sys as vk;

use super::kind::DescriptorType;
use super::layout::{Binding, SetLayout};
use super::push::{Pushed, Written};
use crate::backend::{Backend, Descriptor, PerSetMemory};
use crate::chain;
use crate::image::{BufferView, ImageView, Sampler};
use crate::memory::Buffer;
use crate::object::{get, maybe};

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

impl Pushed {
    /// The bytes that a layout fixes: those of immutable samplers.
    pub(super) fn fixed<B: Backend>(layout: &SetLayout<B>) -> Pushed {
        if layout.bindings.iter().all(|(_, b)| b.samplers.is_empty()) {
            let bytes = layout.size.map(|size| vec![0; size as usize]);
            return Pushed { bytes, written: Vec::new() };
        }
        // An immutable sampler is a part of its descriptor. Written twice over different grounds, its bytes are those that agree.
        let [bytes, ones] = [0, 0xff].map(|ground| {
            let mut bytes = layout.size.map(|size| vec![ground; size as usize]);
            writer(layout, &mut bytes, None).begin();
            bytes
        });
        let mut written = Vec::new();
        for (kind, (zeros, ones)) in bytes.iter().zip(&ones).enumerate() {
            let mut at = 0;
            while at < zeros.len() {
                let run = (at..zeros.len()).take_while(|&k| zeros[k] == ones[k]).count();
                if run > 0 {
                    written.push((kind, at..at + run));
                }
                at += run.max(1);
            }
        }
        Pushed { bytes, written }
    }

    /// The descriptors that `fill` writes, with what the layout fixes.
    pub fn new<B: Backend>(layout: &SetLayout<B>, fill: impl Fn(&mut Writer<'_, B>)) -> Pushed {
        let mut pushed = layout.fixed.clone();
        fill(&mut writer(layout, &mut pushed.bytes, Some(&mut pushed.written)));
        pushed
    }
}

fn writer<'a, B: Backend>(
    layout: &'a SetLayout<B>,
    bytes: &'a mut PerSetMemory<Vec<u8>>,
    written: Option<&'a mut Vec<Written>>,
) -> Writer<'a, B> {
    let bytes = bytes.each_mut().map(|b| &mut **b);
    Writer { layout, addresses: Default::default(), bytes, dynamic: &mut [], written }
}
