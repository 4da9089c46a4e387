//! Command pools, and the beginning and end of command buffers.

use vulkanalia_sys::{self as vk, Handle};

use super::{CommandBuffer, of};
use crate::backend::Encoder;
use crate::device::Device;
use crate::draws::Driver;
use crate::entry;
use crate::object::{Allocator, Dispatchable, dispatchable, get_mut, handle, slice};

/// A command pool.
pub struct CommandPool<B: Driver> {
    allocator: Allocator,
    queue_family: u32,
    buffers: Vec<*mut Dispatchable<CommandBuffer<B>>>,
}

// SAFETY: the buffers are the pool's own; the application synchronises access to it.
unsafe impl<B: Driver> Send for CommandPool<B> {}
// SAFETY: as above.
unsafe impl<B: Driver> Sync for CommandPool<B> {}

impl<B: Driver> Drop for CommandPool<B> {
    fn drop(&mut self) {
        for b in self.buffers.drain(..) {
            // SAFETY: the buffer was created by this allocator.
            unsafe { self.allocator.destroy(b) };
        }
    }
}

entry! {
    /// `vkCreateCommandPool`.
    fn vkCreateCommandPool<B: Driver>(device: vk::Device, info: *const vk::CommandPoolCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::CommandPool) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let allocator = d.allocator(callbacks);
            let queue_family = (*info).queue_family_index;
            *out = handle(allocator.create(CommandPool::<B> { allocator, queue_family, buffers: Vec::new() })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyCommandPool`.
    fn vkDestroyCommandPool<B: Driver>(device: vk::Device, pool: vk::CommandPool, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(pool.as_raw() as *mut CommandPool<B>) }
    }

    /// `vkResetCommandPool`.
    fn vkResetCommandPool<B: Driver>(_device: vk::Device, pool: vk::CommandPool, _flags: vk::CommandPoolResetFlags) -> vk::Result {
        unsafe {
            for &b in &get_mut::<CommandPool<B>>(pool).buffers {
                (*b).reset();
            }
        }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkTrimCommandPool`.
    fn vkTrimCommandPool<B: Driver>(_device: vk::Device, _pool: vk::CommandPool, _flags: vk::CommandPoolTrimFlags) {}

    /// `vkAllocateCommandBuffers`.
    fn vkAllocateCommandBuffers<B: Driver>(device: vk::Device, info: *const vk::CommandBufferAllocateInfo, out: *mut vk::CommandBuffer) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let pool: &mut CommandPool<B> = get_mut(info.command_pool);
            let count = info.command_buffer_count as usize;
            for k in 0..count {
                let make = || {
                    let is_secondary = info.level == vk::CommandBufferLevel::SECONDARY;
                    let buffer = CommandBuffer::<B>::new(d, pool.queue_family, is_secondary)?;
                    pool.allocator.create(Dispatchable::new(buffer))
                };
                match make() {
                    Ok(b) => {
                        pool.buffers.push(b);
                        *out.add(k) = dispatchable(b);
                    }
                    Err(e) => {
                        for _ in 0..k {
                            if let Some(b) = pool.buffers.pop() {
                                pool.allocator.destroy(b);
                            }
                        }
                        for j in 0..count {
                            *out.add(j) = vk::CommandBuffer::null();
                        }
                        return Err(e);
                    }
                }
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkFreeCommandBuffers`.
    fn vkFreeCommandBuffers<B: Driver>(_device: vk::Device, pool: vk::CommandPool, count: u32, buffers: *const vk::CommandBuffer) {
        unsafe {
            let pool: &mut CommandPool<B> = get_mut(pool);
            for &b in slice(buffers, count) {
                let pointer = b.as_raw() as *mut Dispatchable<CommandBuffer<B>>;
                if let Some(k) = pool.buffers.iter().position(|&p| p == pointer) {
                    pool.buffers.swap_remove(k);
                    pool.allocator.destroy(pointer);
                }
            }
        }
    }

    /// `vkBeginCommandBuffer`.
    fn vkBeginCommandBuffer<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::CommandBufferBeginInfo) -> vk::Result {
        let c = unsafe { of::<B>(buffer) };
        c.reset();
        c.encoder.begin(unsafe { (*info).flags });
        Ok(vk::Result::SUCCESS)
    }

    /// `vkEndCommandBuffer`.
    fn vkEndCommandBuffer<B: Driver>(buffer: vk::CommandBuffer) -> vk::Result {
        let c = unsafe { of::<B>(buffer) };
        if let Some(e) = c.error.take() {
            return Err(e);
        }
        if !c.is_secondary {
            c.encoder.finish()?;
        }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkResetCommandBuffer`.
    fn vkResetCommandBuffer<B: Driver>(buffer: vk::CommandBuffer, _flags: vk::CommandBufferResetFlags) -> vk::Result {
        unsafe { of::<B>(buffer).reset() }
        Ok(vk::Result::SUCCESS)
    }
}
