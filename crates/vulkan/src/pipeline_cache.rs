//! Entry points of pipeline caches ([`crate::cache`]).

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys as vk;

use crate::backend::Backend;
use crate::cache::Cache;
use crate::device::Device;
use crate::entry;
use crate::object::{get, handle, maybe, slice};

entry! {
    /// `vkCreatePipelineCache`.
    fn vkCreatePipelineCache<B: Backend>(device: vk::Device, info: *const vk::PipelineCacheCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::PipelineCache) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let data = match info.initial_data.is_null() {
                true => &[][..],
                false => std::slice::from_raw_parts(info.initial_data.cast::<u8>(), info.initial_data_size),
            };
            let cache = Arc::new(Cache::load(&d.cache_header, data));
            *out = handle(d.allocator(callbacks).create(cache)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyPipelineCache`.
    fn vkDestroyPipelineCache<B: Backend>(device: vk::Device, cache: vk::PipelineCache, callbacks: *const vk::AllocationCallbacks) {
        use vk::Handle;
        unsafe {
            if let Some(cache) = maybe::<Arc<Cache>>(cache) {
                cache.forget_made();
            }
            Device::<B>::of(device).allocator(callbacks).destroy(cache.as_raw() as *mut Arc<Cache>)
        }
    }

    /// `vkGetPipelineCacheData`.
    fn vkGetPipelineCacheData<B: Backend>(device: vk::Device, cache: vk::PipelineCache, size: *mut usize, out: *mut c_void) -> vk::Result {
        unsafe {
            let (d, cache) = (Device::<B>::of(device), get::<Arc<Cache>>(cache));
            if out.is_null() {
                *size = cache.bytes(&d.cache_header, usize::MAX).0.len();
                return Ok(vk::Result::SUCCESS);
            }
            let (bytes, whole) = cache.bytes(&d.cache_header, *size);
            out.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            *size = bytes.len();
            Ok(if whole { vk::Result::SUCCESS } else { vk::Result::INCOMPLETE })
        }
    }

    /// `vkMergePipelineCaches`.
    fn vkMergePipelineCaches<B: Backend>(_device: vk::Device, to: vk::PipelineCache, count: u32, from: *const vk::PipelineCache) -> vk::Result {
        unsafe {
            let to: &Arc<Cache> = get(to);
            for f in slice(from, count).iter().filter_map(|&f| maybe::<Arc<Cache>>(f)) {
                to.merge(f);
            }
            Ok(vk::Result::SUCCESS)
        }
    }
}
