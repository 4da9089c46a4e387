//! Dependencies of the API's structures: barriers, and what events and render passes order.

use vulkanalia_sys as vk;

use crate::backend::Backend;
use crate::dependency::{BufferDependency, Dependency, ImageDependency, QueueTransfer, Scope};
use crate::image::Image;
use crate::memory::Buffer;
use crate::object::{get, slice};

impl<B: Backend> Dependency<B> {
    unsafe fn add_buffer(
        &mut self,
        (buffer, offset, size): (vk::Buffer, u64, u64),
        [source, destination]: [Scope; 2],
        transfer: Option<QueueTransfer>,
    ) {
        self.add_memory(source, destination);
        // SAFETY: as the caller says.
        let b: &Buffer<B> = unsafe { get(buffer) };
        let (address, size) = (b.address + offset, b.range(offset, size));
        self.buffers.push(BufferDependency { address, size, source, destination, transfer });
    }

    unsafe fn add_image(
        &mut self,
        (image, mut range): (vk::Image, vk::ImageSubresourceRange),
        [old_layout, new_layout]: [vk::ImageLayout; 2],
        [source, destination]: [Scope; 2],
        transfer: Option<QueueTransfer>,
    ) {
        self.add_memory(source, destination);
        // SAFETY: as the caller says.
        let i: &Image<B> = unsafe { get(image) };
        if range.level_count == vk::REMAINING_MIP_LEVELS {
            range.level_count = i.info.levels.saturating_sub(range.base_mip_level);
        }
        if range.layer_count == vk::REMAINING_ARRAY_LAYERS {
            range.layer_count = i.info.layers.saturating_sub(range.base_array_layer);
        }
        self.images.push(ImageDependency {
            image: i.layout.clone(),
            info: i.info,
            addresses: i.addresses,
            range,
            old_layout,
            new_layout,
            source,
            destination,
            transfer,
        });
    }

    /// Adds the dependencies of a structure of version 2.
    ///
    /// # Safety
    /// The structure is valid, and its handles are live.
    pub unsafe fn add_2(&mut self, info: &vk::DependencyInfo) {
        self.flags |= info.dependency_flags;
        // SAFETY: as the caller says.
        unsafe {
            for m in slice(info.memory_barriers, info.memory_barrier_count) {
                self.add_memory(
                    Scope::source(m.src_stage_mask, m.src_access_mask),
                    Scope::destination(m.dst_stage_mask, m.dst_access_mask),
                );
            }
            for b in slice(info.buffer_memory_barriers, info.buffer_memory_barrier_count) {
                let scopes = [
                    Scope::source(b.src_stage_mask, b.src_access_mask),
                    Scope::destination(b.dst_stage_mask, b.dst_access_mask),
                ];
                let transfer =
                    QueueTransfer::new(b.src_queue_family_index, b.dst_queue_family_index);
                self.add_buffer((b.buffer, b.offset, b.size), scopes, transfer);
            }
            for i in slice(info.image_memory_barriers, info.image_memory_barrier_count) {
                let scopes = [
                    Scope::source(i.src_stage_mask, i.src_access_mask),
                    Scope::destination(i.dst_stage_mask, i.dst_access_mask),
                ];
                let transfer =
                    QueueTransfer::new(i.src_queue_family_index, i.dst_queue_family_index);
                let layouts = [i.old_layout, i.new_layout];
                self.add_image((i.image, i.subresource_range), layouts, scopes, transfer);
            }
        }
    }

    /// The dependency of arguments of version 1.
    ///
    /// # Safety
    /// The arrays are valid, and their handles are live.
    pub unsafe fn of_1(
        (source, destination): (vk::PipelineStageFlags, vk::PipelineStageFlags),
        flags: vk::DependencyFlags,
        memory: &[vk::MemoryBarrier],
        buffers: &[vk::BufferMemoryBarrier],
        images: &[vk::ImageMemoryBarrier],
    ) -> Dependency<B> {
        let scopes = |from: vk::AccessFlags, to: vk::AccessFlags| {
            [Scope::source_1(source, from), Scope::destination_1(destination, to)]
        };
        let none = vk::AccessFlags::empty();
        let [before, after] = scopes(none, none);
        let mut d = Dependency { flags, ..Dependency::memory(before, after) };
        for m in memory {
            let [before, after] = scopes(m.src_access_mask, m.dst_access_mask);
            d.add_memory(before, after);
        }
        // SAFETY: as the caller says.
        unsafe {
            for b in buffers {
                let scopes = scopes(b.src_access_mask, b.dst_access_mask);
                let transfer =
                    QueueTransfer::new(b.src_queue_family_index, b.dst_queue_family_index);
                d.add_buffer((b.buffer, b.offset, b.size), scopes, transfer);
            }
            for i in images {
                let scopes = scopes(i.src_access_mask, i.dst_access_mask);
                let transfer =
                    QueueTransfer::new(i.src_queue_family_index, i.dst_queue_family_index);
                let layouts = [i.old_layout, i.new_layout];
                d.add_image((i.image, i.subresource_range), layouts, scopes, transfer);
            }
        }
        d
    }
}
