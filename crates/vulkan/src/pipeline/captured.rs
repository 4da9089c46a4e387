//! Sources and programs of pipelines, captured for their binaries.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys as vk;
use xxhash_rust::xxh3;

use crate::cache::{Cache, HEADER_B, Header};
use crate::chain;
use crate::error::{Error, Result};
use crate::object::{get, slice};

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
    pub key: Vec<u8>,
    pub bytes: Vec<u8>,
    captured: Captured,
}

impl PipelineBinary {
    /// The binary of a pipeline. Its key is a hash of its bytes.
    pub fn of(captured: &Captured, header: &Header) -> Result<PipelineBinary> {
        let bytes = captured.write(header);
        let key = xxh3::xxh3_128(&bytes).to_le_bytes().to_vec();
        Self::load(header, key, bytes)
    }

    /// The binary of these bytes.
    pub fn load(header: &Header, key: Vec<u8>, bytes: Vec<u8>) -> Result<PipelineBinary> {
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
