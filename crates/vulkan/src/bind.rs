//! Binding of memory to buffers and images.

use std::ffi::c_void;

use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Backend, SparseBind};
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::error::Result;
use crate::image::{Image, offset_by_itself};
use crate::memory::{Buffer, Memory};
use crate::object::{get, get_mut, maybe, slice};
use crate::sparse_block::BLOCK_B;
use crate::wsi::Swapchain;

unsafe fn bind_buffer<B: Backend>(
    device: vk::Device,
    info: &vk::BindBufferMemoryInfo,
) -> Result<()> {
    // SAFETY: the handles are live and synchronised by the application.
    unsafe {
        let (buffer, memory): (&mut Buffer<B>, &Memory<B>) =
            (get_mut(info.buffer), get(info.memory));
        match &buffer.range {
            None => buffer.address = B::address(&memory.inner) + info.memory_offset,
            Some(range) => {
                let (range, memory) = (range.clone(), memory.inner.clone());
                let size = buffer.size.next_multiple_of(BLOCK_B);
                let memory = Some((memory, info.memory_offset));
                let whole = SparseBind { range, offset: 0, size, memory };
                B::bind_sparse(&Device::<B>::of(device).inner, &[whole])?;
            }
        }
        buffer.memory = Some(memory.inner.clone());
    }
    Ok(())
}

unsafe fn bind_image<B: Backend>(device: vk::Device, info: &vk::BindImageMemoryInfo) -> Result<()> {
    // SAFETY: the handles are live and synchronised by the application.
    unsafe {
        let image: &mut Image<B> = get_mut(info.image);
        let plane: Option<&vk::BindImagePlaneMemoryInfo> =
            chain::find(info.next, vk::StructureType::BIND_IMAGE_PLANE_MEMORY_INFO);
        if let Some(memory) = maybe::<Memory<B>>(info.memory) {
            match plane {
                Some(p) => {
                    let plane = B::plane(&image.layout, p.plane_aspect);
                    let offset = info.memory_offset + offset_by_itself(image, plane);
                    image.bind_plane(plane, &memory.inner, offset);
                }
                None => {
                    image.bind(&memory.inner, info.memory_offset);
                    let d = Device::<B>::of(device);
                    B::bind_image(&d.inner, &image.layout, &image.info, &image.addresses)?;
                }
            }
        }
        bind_swapchain::<B>(image, info.next)
    }
}

/// Binds an image to the memory of a swapchain's image where a chain says so.
unsafe fn bind_swapchain<B: Backend>(image: &mut Image<B>, next: *const c_void) -> Result<()> {
    // SAFETY: the chain is the application's and valid, the swapchain is live.
    unsafe {
        let info: Option<&vk::BindImageMemorySwapchainInfoKHR> =
            chain::find(next, vk::StructureType::BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR);
        let Some(info) = info.filter(|info| !info.swapchain.is_null()) else { return Ok(()) };
        let swapchain: &Swapchain<B> = get(info.swapchain);
        if let Some((memory, offset)) = swapchain.memory(info.image_index) {
            image.bind(memory, *offset);
        }
        Ok(())
    }
}

/// Reports the status of one binding where a chain asks for it.
unsafe fn bound(next: *const c_void, result: &Result<()>) {
    // SAFETY: the chain is the application's and valid.
    unsafe {
        let status: Option<&vk::BindMemoryStatus> =
            chain::find(next, vk::StructureType::BIND_MEMORY_STATUS);
        if let Some(s) = status {
            *s.result = result.as_ref().map_or_else(|e| e.code, |()| vk::Result::SUCCESS);
        }
    }
}

entry! {
    /// `vkBindBufferMemory`.
    fn vkBindBufferMemory<B: Backend>(device: vk::Device, buffer: vk::Buffer, memory: vk::DeviceMemory, memory_offset: u64) -> vk::Result {
        unsafe { bind_buffer::<B>(device, &vk::BindBufferMemoryInfo { buffer, memory, memory_offset, ..Default::default() })? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkBindBufferMemory2`.
    fn vkBindBufferMemory2<B: Backend>(device: vk::Device, count: u32, infos: *const vk::BindBufferMemoryInfo) -> vk::Result {
        unsafe {
            for info in slice(infos, count) {
                let result = bind_buffer::<B>(device, info);
                bound(info.next, &result);
                result?;
            }
        }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkBindImageMemory`.
    fn vkBindImageMemory<B: Backend>(device: vk::Device, image: vk::Image, memory: vk::DeviceMemory, memory_offset: u64) -> vk::Result {
        unsafe { bind_image::<B>(device, &vk::BindImageMemoryInfo { image, memory, memory_offset, ..Default::default() })? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkBindImageMemory2`.
    fn vkBindImageMemory2<B: Backend>(device: vk::Device, count: u32, infos: *const vk::BindImageMemoryInfo) -> vk::Result {
        unsafe {
            for info in slice(infos, count) {
                bind_image::<B>(device, info)?;
                bound(info.next, &Ok(()));
            }
        }
        Ok(vk::Result::SUCCESS)
    }
}
