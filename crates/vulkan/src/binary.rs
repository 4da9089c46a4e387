//! Pipeline binaries: what a pipeline was made from, and its programs, as bytes that an application keeps in place of modules.
//!
//! A pipeline has one binary: the SPIR-V of its own stages, and what a pipeline cache of its own would hold. A pipeline that is
//! made from a binary takes the SPIR-V from there, and finds all of its programs.

use std::ffi::c_void;

use vulkanalia_sys::{self as vk, Handle};
use xxhash_rust::xxh3;

use crate::backend::Backend;
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::object::{get, handle, slice};
use crate::pipeline::{Pipeline, PipelineBinary, key_of_compute, key_of_graphics};

fn put_key(key: &[u8], out: &mut vk::PipelineBinaryKeyKHR) {
    let n = key.len().min(out.key.0.len());
    out.key_size = n as u32;
    out.key.0[..n].copy_from_slice(&key[..n]);
}

/// The binaries that an application asks for.
unsafe fn asked<B: Backend>(
    d: &Device<B>,
    info: &vk::PipelineBinaryCreateInfoKHR,
) -> Result<Vec<PipelineBinary>> {
    let header = &d.cache_header;
    // SAFETY: the structure is the application's and valid; the pipeline is live.
    unsafe {
        if let Some(given) = info.keys_and_data_info.as_ref() {
            let keys = slice(given.pipeline_binary_keys, given.binary_count);
            let data = slice(given.pipeline_binary_data, given.binary_count);
            let one = |(k, d): (&vk::PipelineBinaryKeyKHR, &vk::PipelineBinaryDataKHR)| {
                let key = &k.key.0[..(k.key_size as usize).min(k.key.0.len())];
                let bytes = std::slice::from_raw_parts(d.data.cast::<u8>(), d.data_size);
                PipelineBinary::load(header, key.to_vec(), bytes.to_vec())
            };
            return keys.iter().zip(data).map(one).collect();
        }
        let captured = match info.pipeline.is_null() {
            true => None,
            false => get::<Pipeline<B>>(info.pipeline).captured(),
        };
        // The driver keeps no binaries of its own.
        let missing = || Error::new(vk::Result::PIPELINE_BINARY_MISSING_KHR, "no such binary");
        let captured = captured.ok_or_else(missing)?;
        Ok(vec![PipelineBinary::of(&captured, header)?])
    }
}

entry! {
    /// `vkCreatePipelineBinariesKHR`.
    fn vkCreatePipelineBinariesKHR<B: Backend>(device: vk::Device, info: *const vk::PipelineBinaryCreateInfoKHR, callbacks: *const vk::AllocationCallbacks, out: *mut vk::PipelineBinaryHandlesInfoKHR) -> vk::Result {
        unsafe {
            let (d, out) = (Device::<B>::of(device), &mut *out);
            let room = out.pipeline_binary_count as usize;
            let handles = out.pipeline_binaries;
            if !handles.is_null() {
                for k in 0..room {
                    *handles.add(k) = vk::PipelineBinaryKHR::null();
                }
            }
            let all = match asked(d, &*info) {
                Err(e) if e.code == vk::Result::PIPELINE_BINARY_MISSING_KHR => {
                    out.pipeline_binary_count = 0;
                    return Ok(e.code);
                }
                all => all?,
            };
            let count = all.len();
            if handles.is_null() {
                out.pipeline_binary_count = count as u32;
                return Ok(vk::Result::SUCCESS);
            }
            for (k, binary) in all.into_iter().take(room).enumerate() {
                *handles.add(k) = handle(d.allocator(callbacks).create(binary)?);
            }
            out.pipeline_binary_count = count.min(room) as u32;
            Ok(if room < count { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS })
        }
    }

    /// `vkDestroyPipelineBinaryKHR`.
    fn vkDestroyPipelineBinaryKHR<B: Backend>(device: vk::Device, binary: vk::PipelineBinaryKHR, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(binary.as_raw() as *mut PipelineBinary) }
    }

    /// `vkGetPipelineKeyKHR`: of a pipeline, or of the driver.
    fn vkGetPipelineKeyKHR<B: Backend>(device: vk::Device, info: *const vk::PipelineCreateInfoKHR, key: *mut vk::PipelineBinaryKeyKHR) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let next = info.as_ref().map_or(std::ptr::null(), |i| i.next.cast_const());
            let graphics: Option<&vk::GraphicsPipelineCreateInfo> =
                chain::find(next, vk::StructureType::GRAPHICS_PIPELINE_CREATE_INFO);
            let compute: Option<&vk::ComputePipelineCreateInfo> =
                chain::find(next, vk::StructureType::COMPUTE_PIPELINE_CREATE_INFO);
            let of = match (graphics, compute) {
                (Some(g), _) => key_of_graphics(d, g)?,
                (None, Some(c)) => key_of_compute(d, c)?,
                (None, None) => 0,
            };
            let bytes = [&d.cache_header[..], &of.to_le_bytes()].concat();
            put_key(&xxh3::xxh3_128(&bytes).to_le_bytes(), &mut *key);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetPipelineBinaryDataKHR`.
    fn vkGetPipelineBinaryDataKHR(_device: vk::Device, info: *const vk::PipelineBinaryDataInfoKHR, key: *mut vk::PipelineBinaryKeyKHR, size: *mut usize, out: *mut c_void) -> vk::Result {
        unsafe {
            let binary: &PipelineBinary = get((*info).pipeline_binary);
            put_key(&binary.key, &mut *key);
            let room = std::mem::replace(&mut *size, binary.bytes.len());
            if out.is_null() {
                return Ok(vk::Result::SUCCESS);
            }
            if room < binary.bytes.len() {
                return Err(Error::new(vk::Result::ERROR_NOT_ENOUGH_SPACE_KHR, "no room for the binary"));
            }
            out.cast::<u8>().copy_from_nonoverlapping(binary.bytes.as_ptr(), binary.bytes.len());
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkReleaseCapturedPipelineDataKHR`.
    fn vkReleaseCapturedPipelineDataKHR<B: Backend>(_device: vk::Device, info: *const vk::ReleaseCapturedPipelineDataInfoKHR, _callbacks: *const vk::AllocationCallbacks) -> vk::Result {
        unsafe { get::<Pipeline<B>>((*info).pipeline).release_captured() }
        Ok(vk::Result::SUCCESS)
    }
}
