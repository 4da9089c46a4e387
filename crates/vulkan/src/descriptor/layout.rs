//! Layouts of descriptor sets: the place of each binding in each kind of a set's memory.

use std::sync::Arc;

use tepui_passes::lower_ycbcr::Conversion;
use vulkanalia_sys as vk;

use super::kind::{ALIGNMENT, DescriptorType};
use super::push::Pushed;
use crate::backend::{MAX_SET_MEMORY, PerSetMemory, Types};
use crate::key::{Key, structures};

/// Largest size of a set in bytes of a kind of memory: offsets in it have 32 bits.
pub(super) const MAX_SET_B: u64 = 1 << 30;

/// A binding of a set layout.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Kind.
    pub ty: DescriptorType,
    /// Elements; bytes of an inline block.
    pub count: u32,
    /// First byte in the set's memory of each kind.
    pub offset: PerSetMemory<u32>,
    /// Bytes from element to element; 0 where descriptors have nothing in a kind of memory.
    pub stride: PerSetMemory<u32>,
    /// Descriptors of an element: one for each plane when a sampler has a Y′CbCr conversion.
    pub planes: u32,
    /// Its buffers are in the list of [`BoundSet::dynamic`](crate::command::BoundSet::dynamic): they take dynamic offsets, or are an inline
    /// block of a descriptor buffer.
    pub is_dynamic: bool,
    /// Number of its first buffer in that list.
    pub first_dynamic: u32,
    /// Descriptors may be written after commands that use them have been recorded.
    pub updates_after_bind: bool,
    /// Descriptors that no command uses need not be valid.
    pub partially_bound: bool,
    /// Samplers that the layout fixes.
    pub samplers: Vec<vk::Sampler>,
    /// Hashes of what they follow from.
    pub(crate) sampler_keys: Vec<u128>,
    /// The Y′CbCr conversions of `samplers`; empty when none has one.
    pub conversions: Vec<Option<Conversion>>,
}

structures! {
    // The samplers' handles differ from process to process: their keys stand for them.
    Binding {
        ty, count, offset, stride, planes, is_dynamic, first_dynamic, updates_after_bind, partially_bound, sampler_keys, conversions; samplers
    }
}

impl Binding {
    /// Offset of an inline block's data in the first kind of memory: after its descriptor.
    pub(super) fn data(&self) -> u32 {
        self.offset[0] + self.stride[0].next_multiple_of(16)
    }

    /// The first byte after `count` elements in a kind of memory.
    pub(super) fn end(&self, kind: usize, count: u32) -> u64 {
        match self.ty {
            DescriptorType::InlineUniformBlock if kind == 0 => {
                u64::from(self.data()) + u64::from(count)
            }
            DescriptorType::InlineUniformBlock => {
                u64::from(self.offset[kind]) + u64::from(self.stride[kind])
            }
            _ => u64::from(self.offset[kind]) + u64::from(self.stride[kind]) * u64::from(count),
        }
    }
}

/// A descriptor set layout.
pub struct SetLayout<B: Types> {
    /// Bindings with their numbers, in the order of these; numbers may be any.
    pub bindings: Vec<(u32, Binding)>,
    /// Bytes of a set in each kind of memory.
    pub size: PerSetMemory<u32>,
    /// Buffers in the list of [`BoundSet::dynamic`](crate::command::BoundSet::dynamic).
    pub dynamic: u32,
    /// Bytes are pushed into the command buffer.
    pub push: bool,
    /// Sets are ranges of descriptor buffers: the application writes descriptors to memory, of the first kind alone, at any time before
    /// commands that use them are executed.
    pub in_buffer: bool,
    /// Initial bytes of a set that is pushed, or that has embedded samplers.
    pub(super) fixed: Pushed,
    /// The last binding's count is given with each set.
    pub(super) variable: bool,
    /// The physical device, whose family writes descriptors.
    pub(super) physical: Arc<B::Physical>,
}

impl<B: Types> SetLayout<B> {
    /// A binding.
    pub fn binding(&self, n: u32) -> Option<&Binding> {
        let k = self.bindings.binary_search_by_key(&n, |b| b.0).ok()?;
        Some(&self.bindings[k].1)
    }

    /// First byte and bytes of each inline block of a set in a descriptor buffer.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u32, u32)> {
        let blocks = self.bindings.iter().filter(|(_, b)| b.is_dynamic);
        blocks.map(|(_, b)| (b.data(), b.count))
    }

    /// Bytes of a set whose last binding has `count` elements; none if it would be too large.
    pub(super) fn size_with(&self, count: Option<u32>) -> Option<PerSetMemory<u32>> {
        let (Some((_, b)), Some(n), true) = (self.bindings.last(), count, self.variable) else {
            return Some(self.size);
        };
        let mut sizes = [0; MAX_SET_MEMORY];
        for (kind, size) in sizes.iter_mut().enumerate() {
            let end = b.end(kind, n);
            if end > MAX_SET_B {
                return None;
            }
            *size = (end as u32).next_multiple_of(ALIGNMENT);
        }
        Some(sizes)
    }

    /// Maximum number of elements of the last binding, if its count is given with each set; else 0. An inline block has at most
    /// `max_inline_b` bytes.
    pub(super) fn max_variable_count(&self, max_inline_b: u32) -> u32 {
        let Some((_, b)) = self.bindings.last().filter(|_| self.variable) else { return 0 };
        if b.ty == DescriptorType::InlineUniformBlock {
            return max_inline_b;
        }
        let used = b.offset.iter().zip(b.stride).filter(|(_, stride)| *stride > 0);
        let counts = used.map(|(&at, stride)| (MAX_SET_B - u64::from(at)) / u64::from(stride));
        counts.min().unwrap_or(0).min(1 << 20) as u32
    }

    /// The elements from an element of a binding on; those past the end of a binding are the next binding's.
    pub(super) fn elements(&self, binding: u32, element: u32) -> Elements<'_> {
        match self.bindings.binary_search_by_key(&binding, |b| b.0) {
            Ok(n) => Elements { bindings: &self.bindings[n..], element },
            // Elements of a binding that is not there are none.
            Err(n) => Elements { bindings: &self.bindings[n..], element: 0 },
        }
    }
}

/// Elements of consecutive bindings.
pub(super) struct Elements<'a> {
    bindings: &'a [(u32, Binding)],
    element: u32,
}

impl<'a> Iterator for Elements<'a> {
    type Item = (&'a Binding, u32);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let ((_, b), rest) = self.bindings.split_first()?;
            if self.element < b.count {
                self.element += 1;
                return Some((b, self.element - 1));
            }
            self.element -= b.count;
            self.bindings = rest;
        }
    }
}

impl<B: Types> Key for SetLayout<B> {
    fn add_to(&self, key: &mut Vec<u8>) {
        self.bindings.add_to(key);
        self.in_buffer.add_to(key);
    }
}
