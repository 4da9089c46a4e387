//! Descriptor set layouts, pools and sets.
//!
//! A set is a range of its pool's memory, which the GPU reads where shaders say. Each binding begins at an offset that its
//! layout fixes, with as many bytes for each element as the family's driver wants. Buffers with dynamic offsets stand in the
//! set as others do; what they are with their offsets is computed when the set is bound.

use std::sync::Arc;

use tepui_passes::lower_ycbcr::Conversion;
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Allocation, Backend, Descriptor};
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::{BufferView, ImageView, Sampler};
use crate::memory::Buffer;
use crate::object::{get, get_mut, handle, maybe, slice};

/// A kind of descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DescriptorType {
    /// A sampler.
    Sampler,
    /// An image with a sampler.
    CombinedImageSampler,
    /// A sampled image.
    SampledImage,
    /// A storage image.
    StorageImage,
    /// A texel buffer that is read.
    UniformTexelBuffer,
    /// A texel buffer that is written.
    StorageTexelBuffer,
    /// A uniform buffer.
    UniformBuffer,
    /// A storage buffer.
    StorageBuffer,
    /// A uniform buffer with a dynamic offset.
    UniformBufferDynamic,
    /// A storage buffer with a dynamic offset.
    StorageBufferDynamic,
    /// An input attachment.
    InputAttachment,
    /// Bytes in the set itself.
    InlineUniformBlock,
    /// Whatever was written last: each element has room for any kind.
    Mutable,
}

impl DescriptorType {
    /// The kind of the API's number.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(ty: vk::DescriptorType) -> Result<DescriptorType> {
        use vk::DescriptorType as T;
        Ok(match ty {
            T::SAMPLER => DescriptorType::Sampler,
            T::COMBINED_IMAGE_SAMPLER => DescriptorType::CombinedImageSampler,
            T::SAMPLED_IMAGE => DescriptorType::SampledImage,
            T::STORAGE_IMAGE => DescriptorType::StorageImage,
            T::UNIFORM_TEXEL_BUFFER => DescriptorType::UniformTexelBuffer,
            T::STORAGE_TEXEL_BUFFER => DescriptorType::StorageTexelBuffer,
            T::UNIFORM_BUFFER => DescriptorType::UniformBuffer,
            T::STORAGE_BUFFER => DescriptorType::StorageBuffer,
            T::UNIFORM_BUFFER_DYNAMIC => DescriptorType::UniformBufferDynamic,
            T::STORAGE_BUFFER_DYNAMIC => DescriptorType::StorageBufferDynamic,
            T::INPUT_ATTACHMENT => DescriptorType::InputAttachment,
            T::INLINE_UNIFORM_BLOCK => DescriptorType::InlineUniformBlock,
            T::MUTABLE_EXT => DescriptorType::Mutable,
            other => {
                return Err(Error::unsupported(format!("descriptors of type {}", other.as_raw())));
            }
        })
    }

    /// Whether an offset is given when the set is bound.
    pub fn is_dynamic(self) -> bool {
        matches!(self, DescriptorType::UniformBufferDynamic | DescriptorType::StorageBufferDynamic)
    }

    /// Whether it is a range of memory.
    pub fn is_buffer(self) -> bool {
        use DescriptorType as D;
        matches!(
            self,
            D::UniformBuffer
                | D::StorageBuffer
                | D::UniformBufferDynamic
                | D::StorageBufferDynamic
                | D::InlineUniformBlock
        )
    }
}

/// Largest alignment of descriptors and inline data in bytes.
const ALIGNMENT: u32 = 64;

/// Largest number of a binding: compilers use the bit above.
const MAX_BINDING: u32 = i32::MAX as u32;

/// Largest size of a set in bytes: offsets in it have 32 bits.
const MAX_SET_B: u64 = 1 << 30;

/// Largest size of a set that is pushed in bytes: command buffers keep such sets on the host. Far more than the limit of
/// descriptors, `maxPushDescriptors`, needs.
const MAX_PUSHED_B: u64 = 1 << 16;

/// Maximum number of dynamic offsets of a set: the host keeps a list of them for each set that is bound. Far more than the limit of such
/// descriptors.
const MAX_DYNAMIC: u32 = 1 << 12;

/// A binding of a set layout.
pub struct Binding {
    /// Kind.
    pub ty: DescriptorType,
    /// Elements; bytes of an inline block.
    pub count: u32,
    /// First byte in the set.
    pub offset: u32,
    /// Bytes from element to element.
    pub stride: u32,
    /// Descriptors of an element: one for each plane when a sampler has a Y′CbCr conversion.
    pub planes: u32,
    /// Number of its first dynamic offset in the set.
    pub first_dynamic: u32,
    /// Samplers that the layout fixes.
    pub samplers: Vec<vk::Sampler>,
    /// The Y′CbCr conversions of `samplers`; empty when none has one.
    pub conversions: Vec<Option<Conversion>>,
}

impl Binding {
    /// Offset of an inline block's data: after its descriptor.
    fn data(&self) -> u32 {
        self.offset + self.stride.next_multiple_of(16)
    }
}

/// A descriptor set layout.
pub struct SetLayout<B: Backend> {
    /// Bindings with their numbers, in the order of these; numbers may be any.
    pub bindings: Vec<(u32, Binding)>,
    /// Bytes of a set.
    pub size: u32,
    /// Dynamic offsets.
    pub dynamic: u32,
    /// Bytes are pushed into the command buffer.
    pub push: bool,
    /// The last binding's count is given with each set.
    variable: bool,
    /// Samplers in `bindings` are of this family.
    family: std::marker::PhantomData<fn() -> B>,
}

impl<B: Backend> SetLayout<B> {
    /// A binding.
    pub fn binding(&self, n: u32) -> Option<&Binding> {
        let k = self.bindings.binary_search_by_key(&n, |b| b.0).ok()?;
        Some(&self.bindings[k].1)
    }

    unsafe fn new(info: &vk::DescriptorSetLayoutCreateInfo) -> Result<SetLayout<B>> {
        // SAFETY: the structure is the application's and valid.
        let (list, flags) = unsafe {
            let flags: Option<&vk::DescriptorSetLayoutBindingFlagsCreateInfo> = chain::find(
                info.next,
                vk::StructureType::DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
            );
            (slice(info.bindings, info.binding_count), flags)
        };
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by_key(|&k| list[k].binding);
        let mut bindings = Vec::new();
        let (mut end, mut dynamic, mut variable) = (0u64, 0u32, false);
        for k in order {
            let b = &list[k];
            // SAFETY: the flags are an array of the count, or null.
            let own = flags
                .and_then(|f| unsafe { slice(f.binding_flags, f.binding_count) }.get(k).copied());
            let is_variable = own
                .is_some_and(|f| f.contains(vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT));
            // A binding without descriptors is not there, unless its count is given with each set.
            if b.descriptor_count == 0 && !is_variable {
                continue;
            }
            if b.binding > MAX_BINDING {
                return Err(Error::host_memory());
            }
            let ty = DescriptorType::new(b.descriptor_type)?;
            let fixes =
                matches!(ty, DescriptorType::Sampler | DescriptorType::CombinedImageSampler);
            // SAFETY: immutable samplers are an array of the count, or null.
            let samplers = match fixes {
                true => unsafe { slice(b.immutable_samplers, b.descriptor_count) }.to_vec(),
                false => Vec::new(),
            };
            // SAFETY: immutable samplers live as long as the layout is made.
            let conversions = samplers.iter().map(|&s| unsafe { get::<Sampler<B>>(s) }.conversion);
            let mut conversions: Vec<_> = conversions.collect();
            let planes = conversions.iter().flatten().map(Conversion::planes).max();
            if planes.is_none() {
                conversions.clear();
            }
            let planes = planes.unwrap_or(1);
            let stride = B::descriptor_size(ty) * planes;
            let bytes = match ty {
                DescriptorType::InlineUniformBlock => {
                    u64::from(stride.next_multiple_of(16)) + u64::from(b.descriptor_count)
                }
                _ => u64::from(stride) * u64::from(b.descriptor_count),
            };
            end = end.next_multiple_of(u64::from(stride.next_power_of_two().min(ALIGNMENT)));
            let binding = Binding {
                ty,
                count: b.descriptor_count,
                offset: u32::try_from(end).map_err(|_| Error::host_memory())?,
                stride,
                planes,
                first_dynamic: dynamic,
                samplers,
                conversions,
            };
            bindings.push((b.binding, binding));
            end += bytes;
            if end > MAX_SET_B {
                return Err(Error::host_memory());
            }
            if ty.is_dynamic() {
                dynamic += b.descriptor_count;
            }
            variable |= is_variable;
        }
        let push = info.flags.contains(vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR);
        if push && end > MAX_PUSHED_B || dynamic > MAX_DYNAMIC {
            return Err(Error::host_memory());
        }
        Ok(SetLayout {
            bindings,
            size: (end as u32).next_multiple_of(ALIGNMENT),
            dynamic,
            push,
            variable,
            family: std::marker::PhantomData,
        })
    }

    /// Bytes of a set whose last binding has `count` elements; none if it would be too large.
    fn size_with(&self, count: Option<u32>) -> Option<u32> {
        let (Some((_, b)), Some(n), true) = (self.bindings.last(), count, self.variable) else {
            return Some(self.size);
        };
        let end = match b.ty {
            DescriptorType::InlineUniformBlock => u64::from(b.data()) + u64::from(n),
            _ => u64::from(b.offset) + u64::from(b.stride) * u64::from(n),
        };
        (end <= MAX_SET_B).then(|| (end as u32).next_multiple_of(ALIGNMENT))
    }
}

/// A range of a pool's memory.
struct Range {
    offset: u32,
    size: u32,
}

/// A descriptor pool.
pub struct Pool<B: Backend> {
    memory: B::Memory,
    size: u32,
    most: u32,
    /// Sets in use, by offset.
    ranges: Vec<Range>,
    sets: Vec<*mut Set<B>>,
}

// SAFETY: the sets are the pool's own; the application synchronises access to it.
unsafe impl<B: Backend> Send for Pool<B> {}
// SAFETY: as above.
unsafe impl<B: Backend> Sync for Pool<B> {}

impl<B: Backend> Drop for Pool<B> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<B: Backend> Pool<B> {
    fn clear(&mut self) {
        self.ranges.clear();
        for set in self.sets.drain(..) {
            // SAFETY: the set was boxed by `allocate`.
            drop(unsafe { Box::from_raw(set) });
        }
    }

    /// The first gap of `size` bytes.
    fn place(&mut self, size: u32) -> Option<u32> {
        let mut at = 0;
        let mut slot = self.ranges.len();
        // Fast path: most sets are allocated consecutively.
        let end = self.ranges.last().map_or(0, |r| r.offset + r.size);
        if self.size - end >= size {
            at = end;
        } else {
            slot = usize::MAX;
            for (k, r) in self.ranges.iter().enumerate() {
                if r.offset - at >= size {
                    slot = k;
                    break;
                }
                at = r.offset + r.size;
            }
            if slot == usize::MAX {
                return None;
            }
        }
        self.ranges.insert(slot, Range { offset: at, size });
        Some(at)
    }

    unsafe fn allocate(
        &mut self,
        layout: &Arc<SetLayout<B>>,
        variable: Option<u32>,
    ) -> Result<vk::DescriptorSet> {
        let none =
            || Error::new(vk::Result::ERROR_OUT_OF_POOL_MEMORY, "the descriptor pool is full");
        if self.sets.len() as u32 >= self.most {
            return Err(none());
        }
        let size = layout.size_with(variable).ok_or_else(none)?;
        let offset = if size == 0 { 0 } else { self.place(size).ok_or_else(none)? };
        // SAFETY: the range is inside of the pool's memory.
        let host = unsafe { B::host(&self.memory).add(offset as usize) };
        let address = B::address(&self.memory) + u64::from(offset);
        let mut set = Set { layout: layout.clone(), address, host, size, offset };
        // SAFETY: as above; the range is not used elsewhere.
        unsafe { std::slice::from_raw_parts_mut(host, size as usize) }.fill(0);
        set.writer().begin();
        let set = Box::into_raw(Box::new(set));
        self.sets.push(set);
        Ok(handle(set))
    }

    unsafe fn free(&mut self, set: vk::DescriptorSet) {
        let pointer = set.as_raw() as *mut Set<B>;
        let Some(k) = self.sets.iter().position(|&s| s == pointer) else { return };
        self.sets.swap_remove(k);
        // SAFETY: the set was boxed by `allocate`.
        let set = unsafe { Box::from_raw(pointer) };
        if set.size > 0
            && let Some(k) = self.ranges.iter().position(|r| r.offset == set.offset)
        {
            self.ranges.remove(k);
        }
    }
}

/// A descriptor set.
pub struct Set<B: Backend> {
    /// Layout.
    pub layout: Arc<SetLayout<B>>,
    /// GPU address.
    pub address: u64,
    host: *mut u8,
    size: u32,
    offset: u32,
}

impl<B: Backend> Set<B> {
    /// The set's memory, to write to.
    fn writer(&mut self) -> Writer<'_, B> {
        // SAFETY: the range is the set's own; the application synchronises access to it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.host, self.size as usize) };
        Writer { layout: &self.layout, address: self.address, bytes }
    }

    /// Address and size of each buffer that takes a dynamic offset, in the order of the offsets.
    pub fn dynamic(&self) -> Vec<(u64, u32)> {
        let mut all = vec![(0, 0); self.layout.dynamic as usize];
        let bindings = self.layout.bindings.iter().map(|(_, b)| b);
        for b in bindings.filter(|b| b.ty.is_dynamic()) {
            for k in 0..b.count {
                // SAFETY: the descriptor is inside of the set.
                all[(b.first_dynamic + k) as usize] = unsafe {
                    let at = self.host.add((b.offset + k * b.stride) as usize);
                    (at.cast::<u64>().read_unaligned(), at.add(8).cast::<u32>().read_unaligned())
                };
            }
        }
        all
    }
}

/// Writes descriptors into a set's memory, or into bytes that are pushed.
pub struct Writer<'a, B: Backend> {
    /// Layout of the set.
    pub layout: &'a SetLayout<B>,
    /// GPU address of the set.
    pub address: u64,
    /// The set.
    pub bytes: &'a mut [u8],
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
                let (address, size) = (self.address + u64::from(b.data()), u64::from(b.count));
                self.put(b, b.ty, 0, &Descriptor::Buffer { address, size });
            }
        }
    }

    fn put(&mut self, b: &Binding, ty: DescriptorType, element: u32, d: &Descriptor<'_, B>) {
        let at = b.offset as usize + element as usize * b.stride as usize;
        if let Some(bytes) = self.bytes.get_mut(at..at + b.stride as usize) {
            B::write_descriptor(ty, d, bytes);
        }
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
        let bindings = &self.layout.bindings;
        let mut element = element;
        let (mut n, starts) = match bindings.binary_search_by_key(&binding, |b| b.0) {
            Ok(n) => (n, true),
            Err(n) => (n, false),
        };
        // Elements of a binding that there is not are none.
        if !starts {
            element = 0;
        }
        for k in 0..count {
            let b = loop {
                let Some((_, b)) = bindings.get(n) else { return };
                if element < b.count {
                    break b;
                }
                (n, element) = (n + 1, element - b.count);
            };
            // SAFETY: as the caller says.
            unsafe { self.one(b, ty, element, at(k)) };
            element += 1;
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
                    if let Some(byte) = self.bytes.get_mut(at) {
                        *byte = *source;
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
    entries: Vec<vk::DescriptorUpdateTemplateEntry>,
    /// The bind point that descriptors are pushed to.
    pub point: vk::PipelineBindPoint,
    family: std::marker::PhantomData<fn() -> B>,
}

unsafe fn copy<B: Backend>(c: &vk::CopyDescriptorSet) {
    // SAFETY: the sets are live and synchronised by the application.
    unsafe {
        let source: &Set<B> = get(c.src_set);
        let target: &mut Set<B> = get_mut(c.dst_set);
        let (Some(s), Some(t)) =
            (source.layout.binding(c.src_binding), target.layout.binding(c.dst_binding))
        else {
            return;
        };
        let each = |from: u64, to: u64, bytes: u32| {
            let is_inside = |at: u64, set: &Set<B>| at + u64::from(bytes) <= u64::from(set.size);
            if is_inside(from, source) && is_inside(to, target) {
                let (from, to) = (source.host.add(from as usize), target.host.add(to as usize));
                std::ptr::copy(from, to, bytes as usize);
            }
        };
        let (first_from, first_to) =
            (u64::from(c.src_array_element), u64::from(c.dst_array_element));
        if s.ty == DescriptorType::InlineUniformBlock {
            let (from, to) = (u64::from(s.data()) + first_from, u64::from(t.data()) + first_to);
            return each(from, to, c.descriptor_count);
        }
        // Elements of mutable bindings may be longer than those of others.
        for k in 0..u64::from(c.descriptor_count) {
            let from = u64::from(s.offset) + (first_from + k) * u64::from(s.stride);
            let to = u64::from(t.offset) + (first_to + k) * u64::from(t.stride);
            each(from, to, s.stride.min(t.stride));
        }
    }
}

entry! {
    /// `vkCreateDescriptorSetLayout`.
    fn vkCreateDescriptorSetLayout<B: Backend>(device: vk::Device, info: *const vk::DescriptorSetLayoutCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DescriptorSetLayout) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            *out = handle(d.allocator(callbacks).create(Arc::new(SetLayout::<B>::new(&*info)?))?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyDescriptorSetLayout`.
    fn vkDestroyDescriptorSetLayout<B: Backend>(device: vk::Device, layout: vk::DescriptorSetLayout, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(layout.as_raw() as *mut Arc<SetLayout<B>>) }
    }

    /// `vkGetDescriptorSetLayoutSupport`.
    fn vkGetDescriptorSetLayoutSupport<B: Backend>(_device: vk::Device, info: *const vk::DescriptorSetLayoutCreateInfo, out: *mut vk::DescriptorSetLayoutSupport) {
        unsafe {
            let layout = SetLayout::<B>::new(&*info);
            (*out).supported = if layout.is_ok() { vk::TRUE } else { vk::FALSE };
            chain::each((*out).next, |s_type, at| {
                if s_type == vk::StructureType::DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_LAYOUT_SUPPORT {
                    let o = &mut *at.cast::<vk::DescriptorSetVariableDescriptorCountLayoutSupport>();
                    let last = layout.as_ref().ok().filter(|l| l.variable).and_then(|l| l.bindings.last());
                    o.max_variable_descriptor_count = last.map_or(0, |(_, b)| match b.ty {
                        DescriptorType::InlineUniformBlock => 1 << 16,
                        _ => ((MAX_SET_B - u64::from(b.offset)) / u64::from(b.stride)).min(1 << 20) as u32,
                    });
                }
            });
        }
    }

    /// `vkCreateDescriptorPool`.
    fn vkCreateDescriptorPool<B: Backend>(device: vk::Device, info: *const vk::DescriptorPoolCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DescriptorPool) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let mut size = 0u64;
            for s in slice(info.pool_sizes, info.pool_size_count) {
                let ty = DescriptorType::new(s.type_)?;
                let each = u64::from(B::descriptor_size(ty));
                size += match ty {
                    DescriptorType::InlineUniformBlock => u64::from(s.descriptor_count),
                    _ => each * u64::from(s.descriptor_count),
                };
            }
            let blocks: Option<&vk::DescriptorPoolInlineUniformBlockCreateInfo> =
                chain::find(info.next, vk::StructureType::DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO);
            let blocks = blocks.map_or(0, |b| b.max_inline_uniform_block_bindings);
            // Each binding may begin at a multiple of the alignment, and so does each set.
            let bindings = u64::from(info.max_sets).saturating_mul(1 + u64::from(info.pool_size_count));
            let gaps = u64::from(blocks).saturating_add(bindings);
            size = size.saturating_add(u64::from(ALIGNMENT).saturating_mul(gaps));
            let size = u32::try_from(size).map_err(|_| Error::device_memory("a descriptor pool has less than 4 GiB"))?;
            let memory = B::allocate(&d.inner, Allocation { size: u64::from(size.max(ALIGNMENT)), ..Default::default() })?;
            let pool = Pool::<B> { memory, size, most: info.max_sets, ranges: Vec::new(), sets: Vec::new() };
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
                copy::<B>(c);
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
