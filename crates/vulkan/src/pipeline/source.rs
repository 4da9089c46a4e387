//! Sources of a pipeline's shaders: modules, entry points, constants, and flags.

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

use tepui_ir::{Shader, Stage};
use tepui_passes::lower_ycbcr;
use vulkanalia_sys::{self as vk};
use xxhash_rust::xxh3;

use super::captured::Captured;
use super::object::PipelineLayout;
use crate::backend::{Backend, SubgroupSize};
use crate::cache;
use crate::chain;
use crate::debug::{self, Flags};
use crate::descriptor::SetLayout;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::key::key_of;
use crate::object::{maybe, slice};

/// A shader module: SPIR-V words.
pub struct Module {
    words: Vec<u32>,
    /// Hash of the words.
    pub(super) hash: u128,
}

impl Module {
    pub(super) fn new(words: Vec<u32>) -> Module {
        let hash = hash_of(&words);
        Module { words, hash }
    }
}

pub(crate) fn hash_of(words: &[u32]) -> u128 {
    xxh3::xxh3_128(bytemuck::cast_slice(words))
}

pub(super) fn stage_of(stage: vk::ShaderStageFlags) -> Result<Stage> {
    match stage {
        vk::ShaderStageFlags::VERTEX => Ok(Stage::Vertex),
        vk::ShaderStageFlags::FRAGMENT => Ok(Stage::Fragment),
        vk::ShaderStageFlags::COMPUTE => Ok(Stage::Compute),
        vk::ShaderStageFlags::TESSELLATION_CONTROL => Ok(Stage::TessControl),
        vk::ShaderStageFlags::TESSELLATION_EVALUATION => Ok(Stage::TessEvaluation),
        vk::ShaderStageFlags::GEOMETRY => Ok(Stage::Geometry),
        other => Err(Error::unsupported(format!("shader stage {:#x}", other.bits()))),
    }
}

/// Values of specialisation constants by number.
pub(crate) unsafe fn constants(info: *const vk::SpecializationInfo) -> Vec<(u32, u64)> {
    let mut spec = Vec::new();
    // SAFETY: the structure is the application's and valid, or null.
    unsafe {
        let Some(s) = info.as_ref() else { return spec };
        let data = slice(s.data.cast::<u8>(), s.data_size as u32);
        for e in slice(s.map_entries, s.map_entry_count) {
            let bytes = data.get(e.offset as usize..e.offset as usize + e.size).unwrap_or(&[]);
            let mut bits = [0; 8];
            let n = bytes.len().min(8);
            bits[..n].copy_from_slice(&bytes[..n]);
            spec.push((e.constant_id, u64::from_le_bytes(bits)));
        }
    }
    spec
}

/// Source of a stage.
pub(crate) struct Source<'a> {
    /// SPIR-V.
    pub words: &'a [u32],
    /// Hash of the words.
    pub hash: u128,
    /// Name of the entry point.
    pub entry: Cow<'a, str>,
    /// Stage.
    pub stage: vk::ShaderStageFlags,
    /// Values of specialisation constants.
    pub spec: Vec<(u32, u64)>,
    /// The size of subgroups.
    pub subgroup_size: SubgroupSize,
}

/// The size of a stage's subgroups: what its chain requires, or else whether it may vary.
///
/// # Safety
/// The chain is valid.
pub(crate) unsafe fn subgroup_size(
    words: &[u32],
    may_vary: bool,
    next: *const c_void,
) -> SubgroupSize {
    // SAFETY: the chain is the application's and valid.
    let required: Option<&vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo> = unsafe {
        chain::find(
            next,
            vk::StructureType::PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        )
    };
    // The second word is the version.
    let is_newer = words.get(1).is_some_and(|&version| version >= 0x1_0600);
    match required {
        Some(r) => SubgroupSize::Required(r.required_subgroup_size),
        None if may_vary || is_newer => SubgroupSize::Varying,
        None => SubgroupSize::Constant,
    }
}

/// The source of a stage.
pub(super) unsafe fn source_of<'a>(
    info: &'a vk::PipelineShaderStageCreateInfo,
    given: Option<&'a Captured>,
) -> Result<Source<'a>> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        let inline: Option<&vk::ShaderModuleCreateInfo> =
            chain::find(info.next, vk::StructureType::SHADER_MODULE_CREATE_INFO);
        let binary = given.and_then(|g| g.words(info.stage));
        let (words, words_hash) = match (maybe::<Module>(info.module), inline) {
            _ if let Some(words) = binary => (words, hash_of(words)),
            (Some(m), _) => (&m.words[..], m.hash),
            (None, Some(i)) => {
                let words = slice(i.code, (i.code_size / 4) as u32);
                (words, hash_of(words))
            }
            // An identifier stands for a module that only a cache could have.
            (None, None) => {
                return Err(Error::new(
                    vk::Result::PIPELINE_COMPILE_REQUIRED,
                    "a shader stage without a module",
                ));
            }
        };
        let may_vary =
            info.flags.contains(vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE);
        Ok(Source {
            subgroup_size: subgroup_size(words, may_vary, info.next),
            words,
            hash: words_hash,
            entry: CStr::from_ptr(info.name).to_string_lossy(),
            stage: info.stage,
            spec: constants(info.specialization_info),
        })
    }
}

/// Hash of the inputs of a pipeline's shaders besides its set layouts: sources, robust access, and
/// flags.
pub(super) fn made_from(stages: &[&(Source<'_>, bool)], flags: vk::PipelineCreateFlags2) -> u128 {
    let dispatch_base = flags.contains(vk::PipelineCreateFlags2::DISPATCH_BASE);
    let switches = [captures(flags), dispatch_base, view_is_device(flags)];
    let stages = stages
        .iter()
        .map(|(s, robust)| (s.hash, (s.stage, s.subgroup_size), *robust, &*s.entry, &s.spec));
    key_of(&(switches, stages.collect::<Vec<_>>()))
}

/// Objects as a cache keeps them.
pub(super) fn objects<T: std::any::Any + Send + Sync>(
    all: &[Option<Arc<T>>],
) -> Vec<Option<cache::Object>> {
    all.iter().map(|o| o.clone().map(|o| o as cache::Object)).collect()
}

impl Source<'_> {
    /// Translates the SPIR-V; the second value is a hash of everything that the shader follows from.
    pub(crate) fn translate<B: Backend>(
        &self,
        sets: &[Option<Arc<SetLayout<B>>>],
    ) -> Result<(Shader, u128)> {
        let options = tepui_spirv::Options {
            entry: Some(self.entry.clone().into_owned()),
            stage: Some(stage_of(self.stage)?),
            spec: self.spec.clone(),
        };
        let mut shader = tepui_spirv::translate(self.words, &options)
            .map_err(|e| Error::new(vk::Result::ERROR_INVALID_SHADER_NV, format!("SPIR-V: {e}")))?;
        lower_ycbcr::run(&mut shader, &|set, binding| {
            let binding = sets.get(set as usize)?.as_ref()?.binding(binding)?;
            let conversions = binding.conversions.clone();
            let converts = !conversions.is_empty();
            converts.then_some(lower_ycbcr::Binding { planes: binding.planes, conversions })
        });
        debug::sources(self.words);
        if debug::flags().contains(Flags::IR) {
            eprintln!("{shader}");
        }
        let bindings = sets.iter().map(|s| s.as_ref().map_or(&[][..], |s| &s.bindings));
        let conversions: Vec<_> = bindings
            .enumerate()
            .flat_map(|(set, all)| all.iter().map(move |(n, b)| (set, n, b)))
            .filter(|(.., b)| !b.conversions.is_empty())
            .map(|(set, n, b)| (set, n, b.planes, &b.conversions))
            .collect();
        Ok((shader, key_of(&(self.hash, options, conversions, self.subgroup_size))))
    }
}

/// Robust access that a chain of a pipeline or a stage asks for.
pub(super) struct Robustness {
    /// Accesses of buffers by shaders.
    pub buffers: bool,
    /// Fetches of vertex attributes.
    pub vertex_inputs: bool,
}

impl Robustness {
    /// The robust access of a chain; the device's where it says nothing.
    ///
    /// # Safety
    /// The chain is valid.
    pub unsafe fn of<B: Backend>(d: &Device<B>, next: *const c_void) -> Robustness {
        // SAFETY: the chain is the application's and valid.
        let own: Option<&vk::PipelineRobustnessCreateInfo> =
            unsafe { chain::find(next, vk::StructureType::PIPELINE_ROBUSTNESS_CREATE_INFO) };
        let on = |b: vk::PipelineRobustnessBufferBehavior| {
            b != vk::PipelineRobustnessBufferBehavior::DISABLED
                && (b != vk::PipelineRobustnessBufferBehavior::DEVICE_DEFAULT || d.robust)
        };
        Robustness {
            buffers: own.map_or(d.robust, |o| on(o.storage_buffers) || on(o.uniform_buffers)),
            vertex_inputs: own.map_or(d.robust, |o| on(o.vertex_inputs)),
        }
    }
}

/// Whether the buffers that a stage reads are robust: as the stage's chain or the pipeline's says.
///
/// # Safety
/// The chains are valid.
pub(super) unsafe fn robust<B: Backend>(
    d: &Device<B>,
    stage: *const c_void,
    pipeline: *const c_void,
) -> bool {
    // SAFETY: as the caller says.
    unsafe { Robustness::of(d, stage).buffers || Robustness::of(d, pipeline).buffers }
}

pub(super) fn sets_of<B: Backend>(
    layout: Option<&PipelineLayout<B>>,
) -> &[Option<Arc<SetLayout<B>>>] {
    layout.map_or(&[], |l| &l.sets)
}

/// Whether a pipeline's machine code is to be shown.
pub(super) fn captures(flags: vk::PipelineCreateFlags2) -> bool {
    flags.contains(vk::PipelineCreateFlags2::CAPTURE_INTERNAL_REPRESENTATIONS_KHR)
}

/// Whether shaders see the index of the device as that of the view.
pub(super) fn view_is_device(flags: vk::PipelineCreateFlags2) -> bool {
    flags.contains(vk::PipelineCreateFlags2::VIEW_INDEX_FROM_DEVICE_INDEX)
}

/// The API's pipeline flags, in either width.
pub(super) unsafe fn flags_of(
    flags: vk::PipelineCreateFlags,
    next: *const c_void,
) -> vk::PipelineCreateFlags2 {
    // SAFETY: the chain is the application's and valid.
    let wide: Option<&vk::PipelineCreateFlags2CreateInfo> =
        unsafe { chain::find(next, vk::StructureType::PIPELINE_CREATE_FLAGS_2_CREATE_INFO) };
    wide.map_or(vk::PipelineCreateFlags2::from_bits_truncate(u64::from(flags.bits())), |w| w.flags)
}
