//! Descriptor pools, and the sets that are allocated from them.

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use super::kind::{ALIGNMENT, DescriptorType};
use super::layout::SetLayout;
use super::write::Writer;
use crate::backend::{
    Allocation, Backend, HostBytes, MAX_SET_MEMORY, MemoryPurpose, PerSetMemory, SetMemory,
};
use crate::chain;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::object::{handle, slice};

/// A range of a pool's memory.
struct Range {
    offset: u32,
    size: u32,
}

/// Memory of a pool.
enum Storage<B: Backend> {
    /// Memory of the device.
    Device(B::Memory),
    /// Memory of the host, in words of the largest alignment.
    Host(Box<[Aligned]>),
}

/// Bytes with the alignment of descriptors.
#[derive(Clone)]
#[repr(C, align(64))]
struct Aligned([u8; ALIGNMENT as usize]);

/// Memory of one kind, and the ranges of it that sets have.
struct Part<B: Backend> {
    storage: Storage<B>,
    size: u32,
    /// Ranges in use, by offset.
    ranges: Vec<Range>,
}

impl<B: Backend> Part<B> {
    fn new(d: &Device<B>, kind: usize, memory: SetMemory, size: u32) -> Result<Part<B>> {
        let room = size.max(ALIGNMENT);
        let storage = match memory {
            SetMemory::Device { memory_type } => Storage::Device(B::allocate(
                &d.inner,
                Allocation {
                    size: u64::from(room),
                    memory_type,
                    purpose: MemoryPurpose::Sets(kind),
                    ..Default::default()
                },
            )?),
            SetMemory::Host => {
                let count = room.div_ceil(ALIGNMENT) as usize;
                let mut words = Vec::new();
                words.try_reserve_exact(count).map_err(|_| Error::host_memory())?;
                words.resize(count, Aligned([0; ALIGNMENT as usize]));
                Storage::Host(words.into_boxed_slice())
            }
        };
        Ok(Part { storage, size, ranges: Vec::new() })
    }

    /// Takes the first gap of `size` bytes.
    fn take(&mut self, size: u32) -> Option<u32> {
        if size == 0 {
            return Some(0);
        }
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

    fn give(&mut self, range: &Piece) {
        if range.size > 0
            && let Some(k) = self.ranges.iter().position(|r| r.offset == range.offset)
        {
            self.ranges.remove(k);
        }
    }

    fn piece(&mut self, offset: u32, size: u32) -> Piece {
        let (address, host) = match &mut self.storage {
            Storage::Device(memory) => (B::address(memory) + u64::from(offset), B::host(memory)),
            Storage::Host(words) => (0, words.as_mut_ptr().cast()),
        };
        // SAFETY: the range is inside of the pool's memory.
        Piece { address, host: unsafe { host.add(offset as usize) }, size, offset }
    }
}

/// A set's range of one kind of memory.
#[derive(Clone, Copy)]
struct Piece {
    /// GPU address; 0 for memory of the host.
    address: u64,
    host: *mut u8,
    size: u32,
    /// First byte in the pool's memory.
    offset: u32,
}

impl Default for Piece {
    fn default() -> Piece {
        Piece { address: 0, host: std::ptr::dangling_mut(), size: 0, offset: 0 }
    }
}

/// A descriptor pool.
pub struct Pool<B: Backend> {
    /// One part for each kind of memory of the physical device's sets.
    parts: Vec<Part<B>>,
    max_sets: u32,
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
    /// A pool with memory for the descriptors that the structure asks for.
    pub(super) unsafe fn new(
        d: &Device<B>,
        info: &vk::DescriptorPoolCreateInfo,
    ) -> Result<Pool<B>> {
        let mut sizes = [0u64; MAX_SET_MEMORY];
        // SAFETY: the structure is the application's and valid.
        for s in unsafe { slice(info.pool_sizes, info.pool_size_count) } {
            let ty = DescriptorType::new(s.type_)?;
            if ty == DescriptorType::InlineUniformBlock {
                sizes[0] += u64::from(s.descriptor_count);
                continue;
            }
            let each = B::descriptor_sizes(&d.physical, ty);
            for (size, each) in sizes.iter_mut().zip(each) {
                *size += u64::from(each) * u64::from(s.descriptor_count);
            }
        }
        // SAFETY: as above.
        let blocks: Option<&vk::DescriptorPoolInlineUniformBlockCreateInfo> = unsafe {
            chain::find(
                info.next,
                vk::StructureType::DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
            )
        };
        let blocks = blocks.map_or(0, |b| b.max_inline_uniform_block_bindings);
        // Each binding may begin at a multiple of the alignment, and so does each set.
        let bindings = u64::from(info.max_sets).saturating_mul(1 + u64::from(info.pool_size_count));
        let gaps = u64::from(blocks).saturating_add(bindings);
        let gaps_b = u64::from(ALIGNMENT).saturating_mul(gaps);
        let memory = B::info(&d.physical).set_memory;
        let mut parts = Vec::with_capacity(memory.len());
        for (kind, (&memory, size)) in memory.iter().zip(sizes).enumerate() {
            let size = u32::try_from(size.saturating_add(gaps_b))
                .map_err(|_| Error::device_memory("a descriptor pool has less than 4 GiB"))?;
            parts.push(Part::new(d, kind, memory, size)?);
        }
        Ok(Pool { parts, max_sets: info.max_sets, sets: Vec::new() })
    }

    pub(super) fn clear(&mut self) {
        self.parts.iter_mut().for_each(|p| p.ranges.clear());
        for set in self.sets.drain(..) {
            // SAFETY: the set was boxed by `allocate`.
            drop(unsafe { Box::from_raw(set) });
        }
    }

    pub(super) unsafe fn allocate(
        &mut self,
        layout: &Arc<SetLayout<B>>,
        variable: Option<u32>,
    ) -> Result<vk::DescriptorSet> {
        let none =
            || Error::new(vk::Result::ERROR_OUT_OF_POOL_MEMORY, "the descriptor pool is full");
        if self.sets.len() as u32 >= self.max_sets {
            return Err(none());
        }
        let sizes = layout.size_with(variable).ok_or_else(none)?;
        let mut pieces = [Piece::default(); MAX_SET_MEMORY];
        for kind in 0..self.parts.len() {
            let Some(offset) = self.parts[kind].take(sizes[kind]) else {
                self.give(&pieces);
                return Err(none());
            };
            pieces[kind] = self.parts[kind].piece(offset, sizes[kind]);
        }
        let dynamic = vec![(0, 0); layout.dynamic as usize].into_boxed_slice();
        let mut set = Set { layout: layout.clone(), pieces, dynamic };
        let mut w = set.writer();
        w.bytes.iter_mut().for_each(|b| b.fill(0));
        w.begin();
        let set = Box::into_raw(Box::new(set));
        self.sets.push(set);
        Ok(handle(set))
    }

    fn give(&mut self, pieces: &PerSetMemory<Piece>) {
        for (part, piece) in self.parts.iter_mut().zip(pieces) {
            part.give(piece);
        }
    }

    pub(super) unsafe fn free(&mut self, set: vk::DescriptorSet) {
        let pointer = set.as_raw() as *mut Set<B>;
        let Some(k) = self.sets.iter().position(|&s| s == pointer) else { return };
        self.sets.swap_remove(k);
        // SAFETY: the set was boxed by `allocate`.
        let set = unsafe { Box::from_raw(pointer) };
        self.give(&set.pieces);
    }
}

/// A descriptor set.
pub struct Set<B: Backend> {
    /// Layout.
    pub layout: Arc<SetLayout<B>>,
    pieces: PerSetMemory<Piece>,
    /// Address and size of each buffer that takes a dynamic offset, in the order of the offsets.
    pub(super) dynamic: Box<[(u64, u32)]>,
}

impl<B: Backend> Set<B> {
    /// GPU address in each kind of memory; 0 in memory of the host.
    pub fn addresses(&self) -> PerSetMemory<u64> {
        self.pieces.map(|p| p.address)
    }

    /// The set's memory as the host sees it.
    pub fn host(&self) -> PerSetMemory<HostBytes> {
        self.pieces.map(|p| HostBytes::new(p.host, p.size))
    }

    /// The set's memory, to write to.
    pub(super) fn writer(&mut self) -> Writer<'_, B> {
        let addresses = self.addresses();
        // SAFETY: the ranges are the set's own; the application synchronises access to it.
        let bytes =
            self.pieces.map(|p| unsafe { std::slice::from_raw_parts_mut(p.host, p.size as usize) });
        Writer { layout: &self.layout, addresses, bytes, dynamic: &mut self.dynamic, written: None }
    }

    /// Address and size of each buffer that takes a dynamic offset, in the order of the offsets.
    pub fn dynamic(&self) -> &[(u64, u32)] {
        &self.dynamic
    }
}
