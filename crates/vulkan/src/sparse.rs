//! Sparse resources: buffers and images that have addresses of their own, where memory comes and goes piece by piece.
//!
//! Such a resource reserves a range of the GPU's address space. Pages of it without memory read as zeros, and drop what is written;
//! families offer this where their hardware does so. `vkQueueBindSparse` waits for its semaphores on the host, binds, and signals.

use std::sync::Arc;

use vulkanalia_sys as vk;

use crate::backend::{Backend, SparseBind, SparseLayout, SyncPoint};
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::{self, Image};
use crate::memory::{Buffer, Memory};
use crate::object::{dispatch_mut, get, maybe, slice};
use crate::pages::Pages;
use crate::queue::{Queue, Semaphores, wait_for};
use crate::sparse_block::{BLOCK_B, format_properties, granularity};
use crate::submit::{finish, semaphores_of};

/// Parts of resources and the memory for them, and for each the pages of its image, which the host copies from and to.
struct Binds<B: Backend> {
    list: Vec<SparseBind<B>>,
    pages: Vec<Option<Arc<Pages<B>>>>,
}

impl<B: Backend> Binds<B> {
    fn push(&mut self, bind: SparseBind<B>, pages: Option<&Arc<Pages<B>>>) {
        self.list.push(bind);
        self.pages.push(pages.cloned());
    }
}

/// Binding range of the small levels, in a space of offsets after the image's own.
struct Tail {
    /// Offset of the first layer's.
    offset: u64,
    /// Bytes of a layer's, a multiple of a block.
    size: u64,
}

fn tail(l: &SparseLayout, image_b: u64) -> Tail {
    Tail { offset: image_b.next_multiple_of(BLOCK_B), size: l.tail_size.next_multiple_of(BLOCK_B) }
}

/// Sparse requirements of an image; none if it has none.
pub(crate) fn requirements<B: Backend>(
    image: &Image<B>,
) -> Option<vk::SparseImageMemoryRequirements> {
    if !image.info.flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY) {
        return None;
    }
    let l = B::sparse_layout(&image.layout);
    let tail = tail(&l, B::image_size(&image.layout).0);
    let has_tail = l.tail_level < image.info.levels;
    let i = &image.info;
    let mut format_properties = format_properties(i.format, i.image_type, i.samples);
    if l.single_tail {
        format_properties.flags |= vk::SparseImageFormatFlags::SINGLE_MIPTAIL;
    }
    Some(vk::SparseImageMemoryRequirements {
        format_properties,
        image_mip_tail_first_lod: l.tail_level.min(image.info.levels),
        image_mip_tail_size: if has_tail { tail.size } else { 0 },
        image_mip_tail_offset: if has_tail { tail.offset } else { 0 },
        image_mip_tail_stride: if has_tail && !l.single_tail { tail.size } else { 0 },
    })
}

/// The memory of a bind, which a null handle takes away.
unsafe fn memory_of<B: Backend>(
    memory: vk::DeviceMemory,
    offset: u64,
) -> Option<(Arc<B::Memory>, u64)> {
    // SAFETY: the memory is live, or null.
    unsafe { maybe::<Memory<B>>(memory) }.map(|m| (m.inner.clone(), offset))
}

fn not_sparse() -> Error {
    Error::new(vk::Result::ERROR_UNKNOWN, "memory is bound to what is not sparse")
}

/// Binds of a buffer, or of an image as a row of bytes.
unsafe fn opaque<B: Backend>(
    range: &Arc<B::Range>,
    pages: Option<&Arc<Pages<B>>>,
    binds: &[vk::SparseMemoryBind],
    place: impl Fn(&vk::SparseMemoryBind) -> (u64, u64),
    out: &mut Binds<B>,
) {
    for b in binds {
        let (offset, size) = place(b);
        // SAFETY: as the caller says.
        let memory = unsafe { memory_of::<B>(b.memory, b.memory_offset) };
        out.push(SparseBind { range: range.clone(), offset, size, memory }, pages);
    }
}

/// Location of a byte range of an image: its small levels have offsets after the image.
fn image_bytes<B: Backend>(image: &Image<B>, b: &vk::SparseMemoryBind) -> (u64, u64) {
    let image_b = B::image_size(&image.layout).0;
    if !image.info.flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY)
        || b.resource_offset < image_b.next_multiple_of(BLOCK_B)
    {
        return (b.resource_offset, b.size);
    }
    let l = B::sparse_layout(&image.layout);
    let tail = tail(&l, image_b);
    let at = b.resource_offset - tail.offset;
    let (layer, inside) = (at / tail.size.max(1), at % tail.size.max(1));
    let first = B::subresource(&image.layout, 0, l.tail_level, layer as u32).offset;
    // The last block may reach farther than the levels do.
    let size = b.size.min(l.tail_size.saturating_sub(inside));
    (first + inside, size)
}

/// Binds of blocks of an image: each is several pages, which lie apart.
unsafe fn blocks<B: Backend>(
    image: &Image<B>,
    range: &Arc<B::Range>,
    binds: &[vk::SparseImageMemoryBind],
    out: &mut Binds<B>,
) {
    let l = B::sparse_layout(&image.layout);
    let i = &image.info;
    let block = granularity(i.format, i.image_type, i.samples);
    let block_px = [block.width, block.height, block.depth];
    let across = [0, 1, 2].map(|k| (block_px[k] / l.page_px[k]).max(1));
    for b in binds {
        let (level, layer) = (b.subresource.mip_level, b.subresource.array_layer);
        let size_px = [0, 1, 2].map(|k| (i.extent[k] >> level).max(1));
        let first = [b.offset.x, b.offset.y, b.offset.z].map(|at| at.max(0) as u32);
        let extent = [b.extent.width, b.extent.height, b.extent.depth];
        let blocks = [0, 1, 2].map(|k| extent[k].div_ceil(block_px[k]));
        for n in 0..blocks.iter().product() {
            let of_block = u64::from(n) * BLOCK_B;
            let at = places(n, blocks);
            for page in 0..across.iter().product() {
                let inside = places(page, across);
                let px: [u32; 3] = std::array::from_fn(|k| {
                    first[k] + at[k] * block_px[k] + inside[k] * l.page_px[k]
                });
                if (0..3).any(|k| px[k] >= size_px[k]) {
                    continue;
                }
                let at = of_block + u64::from(page) * l.page_size;
                // SAFETY: as the caller says.
                let memory = unsafe { memory_of::<B>(b.memory, b.memory_offset + at) };
                let offset = B::sparse_page(&image.layout, level, layer, px);
                let (range, size) = (range.clone(), l.page_size);
                out.push(SparseBind { range, offset, size, memory }, Some(&image.pages));
            }
        }
    }
}

/// Column, row and slice of a number in a box.
fn places(n: u32, size: [u32; 3]) -> [u32; 3] {
    [n % size[0], n / size[0] % size[1], n / size[0] / size[1]]
}

/// All binds of a batch, in their order.
unsafe fn binds_of<B: Backend>(info: &vk::BindSparseInfo) -> Result<Binds<B>> {
    let mut out = Binds { list: Vec::new(), pages: Vec::new() };
    // SAFETY: the structure is valid, and its handles are live.
    unsafe {
        for b in slice(info.buffer_binds, info.buffer_bind_count) {
            let buffer: &Buffer<B> = get(b.buffer);
            let range = buffer.range.as_ref().ok_or_else(not_sparse)?;
            let place = |b: &vk::SparseMemoryBind| (b.resource_offset, b.size);
            opaque(range, None, slice(b.binds, b.bind_count), place, &mut out);
        }
        for b in slice(info.image_opaque_binds, info.image_opaque_bind_count) {
            let image: &Image<B> = get(b.image);
            let range = image.sparse.as_ref().ok_or_else(not_sparse)?;
            let place = |b: &vk::SparseMemoryBind| image_bytes(image, b);
            opaque(range, Some(&image.pages), slice(b.binds, b.bind_count), place, &mut out);
        }
        for b in slice(info.image_binds, info.image_bind_count) {
            let image: &Image<B> = get(b.image);
            let range = image.sparse.as_ref().ok_or_else(not_sparse)?;
            blocks(image, range, slice(b.binds, b.bind_count), &mut out);
        }
    }
    Ok(out)
}

impl<B: Backend> Queue<B> {
    /// Binds memory once semaphores are signalled, and signals others.
    fn bind_sparse(&mut self, binds: Binds<B>, s: Semaphores) -> Result<()> {
        let (device, lost) = self.device();
        let queue = self.id;
        let run = move |waits: &[SyncPoint], signals: &[SyncPoint]| {
            wait_for::<B>(&device, &lost, waits)?;
            B::bind_sparse(&device, &binds.list)?;
            for (b, pages) in binds.list.iter().zip(&binds.pages) {
                if let Some(pages) = pages {
                    pages.bind(b.offset, b.size, b.memory.as_ref());
                }
            }
            B::submit(&device, queue, &[], &[], signals)
        };
        self.submit_run(s, Box::new(run), false)
    }
}

entry! {
    /// `vkQueueBindSparse`.
    fn vkQueueBindSparse<B: Backend>(queue: vk::Queue, count: u32, infos: *const vk::BindSparseInfo, fence: vk::Fence) -> vk::Result {
        unsafe {
            let queue: &mut Queue<B> = dispatch_mut(queue);
            for info in slice(infos, count) {
                let semaphores = semaphores_of::<B>(
                    info.next,
                    slice(info.wait_semaphores, info.wait_semaphore_count),
                    slice(info.signal_semaphores, info.signal_semaphore_count),
                );
                queue.bind_sparse(binds_of::<B>(info)?, semaphores)?;
            }
            finish(queue, fence)
        }
    }

    /// `vkGetImageSparseMemoryRequirements`.
    fn vkGetImageSparseMemoryRequirements<B: Backend>(_device: vk::Device, image: vk::Image, count: *mut u32, out: *mut vk::SparseImageMemoryRequirements) {
        unsafe {
            let one = requirements::<B>(get(image));
            crate::object::enumerate(count, out, one.as_slice(), |o, r| *o = *r);
        }
    }

    /// `vkGetImageSparseMemoryRequirements2`.
    fn vkGetImageSparseMemoryRequirements2<B: Backend>(_device: vk::Device, info: *const vk::ImageSparseMemoryRequirementsInfo2, count: *mut u32, out: *mut vk::SparseImageMemoryRequirements2) {
        unsafe {
            let one = requirements::<B>(get((*info).image));
            crate::object::enumerate(count, out, one.as_slice(), |o, r| o.memory_requirements = *r);
        }
    }

    /// `vkGetDeviceImageSparseMemoryRequirements`.
    fn vkGetDeviceImageSparseMemoryRequirements<B: Backend>(device: vk::Device, info: *const vk::DeviceImageMemoryRequirements, count: *mut u32, out: *mut vk::SparseImageMemoryRequirements2) {
        unsafe {
            let image = image::lay_out::<B>(Device::<B>::of(device), &*(*info).create_info);
            let one = image.ok().and_then(|i| requirements::<B>(&i));
            crate::object::enumerate(count, out, one.as_slice(), |o, r| o.memory_requirements = *r);
        }
    }
}
