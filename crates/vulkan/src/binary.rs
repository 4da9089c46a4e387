//! Pipeline binaries: what a pipeline was made from, and its programs, as bytes that an application keeps in place of modules.
//!
//! A pipeline has one binary: the SPIR-V of its own stages, and what a pipeline cache of its own would hold. A pipeline that is
//! made from a binary takes the SPIR-V from there, and finds all of its programs.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};
use xxhash_rust::xxh3;

use crate::backend::Backend;
use crate::cache::{Cache, HEADER_B, Header};
use crate::chain;
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::object::{get, handle, slice};
use crate::pipeline::{Pipeline, key_of_compute, key_of_graphics};

/// Sources and programs of a pipeline, captured for its binary.
#[derive(Default)]
pub(crate) struct Captured {
    /// SPIR-V of the pipeline's own stages, by the bits of `VkShaderStageFlagBits`.
    pub stages: Vec<(u32, Vec<u32>)>,
    /// Programs that were compiled for it.
    pub programs: Arc<Cache>,
}

impl Captured {
    /// The SPIR-V of a stage.
    pub fn words(&self, stage: vk::ShaderStageFlags) -> Option<&[u32]> {
        self.stages.iter().find(|s| s.0 == stage.bits()).map(|s| &s.1[..])
    }

    /// The bytes that [`Captured::read`] takes apart.
    fn write(&self, header: &Header) -> Vec<u8> {
        let mut out = header.to_vec();
        out.extend((self.stages.len() as u32).to_le_bytes());
        for (stage, words) in &self.stages {
            out.extend(stage.to_le_bytes());
            out.extend((words.len() as u32).to_le_bytes());
            out.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        }
        out.extend(self.programs.bytes(header, usize::MAX).0);
        out
    }

    /// Takes bytes apart; none when they are not of this device and build, or end too early.
    fn read(header: &Header, bytes: &[u8]) -> Option<Captured> {
        fn word(bytes: &mut &[u8]) -> Option<u32> {
            let (head, rest) = bytes.split_first_chunk::<4>()?;
            *bytes = rest;
            Some(u32::from_le_bytes(*head))
        }
        let mut rest = bytes.strip_prefix(header)?;
        let count = word(&mut rest)?;
        let mut stages = Vec::new();
        for _ in 0..count {
            let (stage, size) = (word(&mut rest)?, word(&mut rest)?);
            let (words, more) = rest.split_at_checked((size as usize).checked_mul(4)?)?;
            let words = words.as_chunks::<4>().0.iter().map(|&w| u32::from_le_bytes(w));
            stages.push((stage, words.collect()));
            rest = more;
        }
        rest.get(..HEADER_B)?;
        Some(Captured { stages, programs: Arc::new(Cache::load(header, rest)) })
    }

    /// The contents of several binaries.
    pub fn join<'a>(all: impl Iterator<Item = &'a Captured>) -> Captured {
        let mut joined = Captured::default();
        for one in all {
            joined.stages.extend(one.stages.iter().cloned());
            joined.programs.merge(&one.programs);
        }
        joined
    }
}

/// A pipeline binary.
pub(crate) struct PipelineBinary {
    key: Vec<u8>,
    bytes: Vec<u8>,
    captured: Captured,
}

impl PipelineBinary {
    /// The binary of a pipeline. Its key is a hash of its bytes.
    fn of(captured: &Captured, header: &Header) -> Result<PipelineBinary> {
        let bytes = captured.write(header);
        let key = xxh3::xxh3_128(&bytes).to_le_bytes().to_vec();
        Self::load(header, key, bytes)
    }

    fn load(header: &Header, key: Vec<u8>, bytes: Vec<u8>) -> Result<PipelineBinary> {
        let foreign = || {
            let why = "a pipeline binary that is damaged or of another driver";
            Error::new(vk::Result::ERROR_INITIALIZATION_FAILED, why)
        };
        let captured = Captured::read(header, &bytes).ok_or_else(foreign)?;
        Ok(PipelineBinary { key, bytes, captured })
    }
}

/// Contents of the binaries that a pipeline is created from; none if there are none.
///
/// # Safety
/// The chain is valid, and the binaries are live.
pub(crate) unsafe fn given(next: *const c_void) -> Option<Captured> {
    // SAFETY: as the caller says.
    unsafe {
        let info: &vk::PipelineBinaryInfoKHR =
            chain::find(next, vk::StructureType::PIPELINE_BINARY_INFO_KHR)?;
        let binaries = slice(info.pipeline_binaries, info.binary_count);
        (!binaries.is_empty())
            .then(|| Captured::join(binaries.iter().map(|&b| &get::<PipelineBinary>(b).captured)))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_read_as_written_and_never_panic() {
        let header: Header = std::array::from_fn(|k| k as u8);
        let own = Captured {
            stages: vec![(1, vec![0x0723_0203, 5, 6]), (16, vec![7])],
            ..Captured::default()
        };
        own.programs.put(9, vec![1, 2, 3]);
        let bytes = own.write(&header);
        let read = Captured::read(&header, &bytes).unwrap();
        assert_eq!(read.stages, own.stages);
        assert_eq!(read.programs.get(9), own.programs.get(9));
        assert_eq!(read.write(&header), bytes);
        let programs = own.programs.bytes(&header, usize::MAX).0.len() - HEADER_B;
        for end in 0..bytes.len() - programs {
            assert!(Captured::read(&header, &bytes[..end]).is_none());
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bad = bytes.clone();
                bad[at] = value;
                let _ = Captured::read(&header, &bad);
            }
        }
    }
}
