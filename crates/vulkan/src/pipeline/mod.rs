//! Shader modules, pipeline layouts and pipelines.

mod fixed;
mod graphics;
mod source;
mod stages;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tepui_passes::lower_dispatch_base;
use vulkanalia_sys::{self as vk, Handle};

pub(crate) use self::fixed::{set_inputs, set_locations};
use self::graphics::graphics;
pub(crate) use self::graphics::{key_of_compute, key_of_graphics};
pub use self::source::Module;
pub(crate) use self::source::{Source, constants, hash_of, subgroup_size};
use self::source::{captures, flags_of, made_from, objects, robust, sets_of, source_of};
pub(crate) use self::stages::{STAGES, Translated, link, shader_of};
use crate::backend::{Backend, Stages};
use crate::binary::{self, Captured};
use crate::cache::{Cache, Made, Programs};
use crate::chain;
use crate::command::Between;
use crate::descriptor::SetLayout;
use crate::device::Device;
use crate::entry;
use crate::error::Result;
use crate::object::{get, get_mut, handle, maybe, slice};
use crate::state::{GraphicsState, Groups};

/// A pipeline layout.
pub struct PipelineLayout<B: Backend> {
    /// Set layouts by number; those of unused sets may be absent.
    pub sets: Vec<Option<Arc<SetLayout<B>>>>,
}

/// A pipeline.
pub struct Pipeline<B: Backend> {
    /// Its shaders and state.
    pub kind: Kind<B>,
    /// Sources and programs for a binary, until the application releases them.
    captured: Mutex<Option<Arc<Captured>>>,
}

impl<B: Backend> Pipeline<B> {
    /// Contents of the pipeline's binary.
    pub(crate) fn captured(&self) -> Option<Arc<Captured>> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Releases the data for binaries of the pipeline.
    pub(crate) fn release_captured(&self) {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Shaders and state by the kind of pipeline.
pub enum Kind<B: Backend> {
    /// A compute pipeline.
    Compute(Arc<B::Shader>),
    /// A graphics pipeline, or a part of one.
    Graphics(Box<GraphicsPipeline<B>>),
}

/// A graphics pipeline, or a library that is a part of one.
pub struct GraphicsPipeline<B: Backend> {
    /// A number that no other pipeline of the process has, greater than 0.
    pub id: u64,
    /// Vertex shader.
    pub vertex: Option<Arc<B::Shader>>,
    /// Shaders between vertices and the rasteriser.
    pub between: Between<B>,
    /// Fragment shader.
    pub fragment: Option<Arc<B::Shader>>,
    /// State that the pipeline fixes. Pipelines with the same state share it.
    pub state: Arc<GraphicsState>,
    /// Groups of `state` that count.
    pub fixed: Groups,
    /// Groups that commands set.
    pub dynamic: Groups,
    /// Parts that the pipeline has.
    parts: vk::GraphicsPipelineLibraryFlagsEXT,
    /// A hash of what the shaders of a library are made from, for the keys of pipelines that have it.
    sources: u128,
}

impl<B: Backend> GraphicsPipeline<B> {
    /// Its shaders by stage. The family expands stages that are not among those of the hardware.
    fn stages(&self, hardware: vk::ShaderStageFlags) -> Stages<'_, B> {
        let Between { control, evaluation, geometry } = &self.between;
        let all = [&self.vertex, control, evaluation, geometry, &self.fragment];
        Stages::new(all.map(|s| s.as_deref()), hardware)
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

unsafe fn compute<B: Backend>(
    d: &Device<B>,
    info: &vk::ComputePipelineCreateInfo,
    making: &mut Making,
) -> Result<Kind<B>> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        let layout = maybe::<PipelineLayout<B>>(info.layout);
        let flags = flags_of(info.flags, info.next);
        let robust = robust(d, info.stage.next, info.next);
        let source = [(source_of(&info.stage, making.given.as_ref())?, robust)];
        let from = made_from(&[&source[0]], flags);
        capture(&mut making.captured, &[&source[0].0]);
        let programs = &making.programs;
        if let Some(cache) = programs.cache()
            && let Some(made) = cache.made(from, sets_of(layout))
            && let Some(Some(shader)) = made.shaders.first()
            && let Ok(shader) = shader.clone().downcast::<B::Shader>()
        {
            programs.made_before();
            return Ok(Kind::Compute(shader));
        }
        let (mut ir, mut key) = source[0].0.translate(sets_of(layout))?;
        if flags.contains(vk::PipelineCreateFlags2::DISPATCH_BASE) {
            lower_dispatch_base::run(&mut ir);
            key = key.wrapping_add(1);
        }
        let subgroup_size = source[0].0.subgroup_size;
        let translated = Translated { ir, key, robust, subgroup_size };
        let shader = shader_of(d, translated, sets_of(layout), programs, captures(flags), None)?;
        if let Some(cache) = programs.cache() {
            let shaders = objects(&[Some(shader.clone())]);
            cache.keep_made(from, Arc::new(Made::new(objects(sets_of(layout)), shaders)));
        }
        Ok(Kind::Compute(shader))
    }
}

fn identify(hash: u128, out: &mut vk::ShaderModuleIdentifierEXT) {
    let bytes = hash.to_le_bytes();
    out.identifier_size = bytes.len() as u32;
    out.identifier.0[..bytes.len()].copy_from_slice(&bytes);
}

/// Inputs of a pipeline's creation.
struct Making {
    programs: Arc<Programs>,
    /// Binaries that it is created from.
    given: Option<Captured>,
    /// Contents of its own binary.
    captured: Option<Captured>,
}

impl Making {
    fn new(
        cache: Option<&Arc<Cache>>,
        given: Option<Captured>,
        only_cached: bool,
        captures: bool,
    ) -> Making {
        let own = match &given {
            Some(g) => Some(g.programs.clone()),
            None => captures.then(Arc::default),
        };
        let captured = captures
            .then(|| Captured { programs: own.clone().unwrap_or_default(), stages: Vec::new() });
        let programs = match own {
            Some(own) => Programs::of_pipeline(own, only_cached),
            None => Programs::new(cache.cloned(), only_cached),
        };
        Making { programs: Arc::new(programs), given, captured }
    }
}

/// Keeps the SPIR-V that a pipeline is made from, if there are to be binaries of it.
fn capture(captured: &mut Option<Captured>, sources: &[&Source<'_>]) {
    if let Some(c) = captured {
        c.stages = sources.iter().map(|s| (s.stage.bits(), s.words.to_vec())).collect();
    }
}

/// Creates pipelines one by one; the error of the first that fails is returned, and its handle is null.
unsafe fn each<B: Backend, T>(
    d: &Device<B>,
    cache: vk::PipelineCache,
    infos: &[T],
    callbacks: *const vk::AllocationCallbacks,
    out: *mut vk::Pipeline,
    make: impl Fn(&T, &mut Making) -> Result<Kind<B>>,
    common: impl Fn(&T) -> (vk::PipelineCreateFlags2, *const c_void),
) -> Result<vk::Result> {
    use vk::PipelineCreateFlags2 as F;
    let mut result = Ok(vk::Result::SUCCESS);
    // SAFETY: the array has room for each pipeline; the cache is live or null.
    unsafe {
        for k in 0..infos.len() {
            *out.add(k) = vk::Pipeline::null();
        }
        let cache = maybe::<Arc<Cache>>(cache);
        for (k, info) in infos.iter().enumerate() {
            let (flags, next) = common(info);
            let only_cached = flags.contains(F::FAIL_ON_PIPELINE_COMPILE_REQUIRED);
            let captures = flags.contains(F::CAPTURE_DATA_KHR);
            let mut making = Making::new(cache, binary::given(next), only_cached, captures);
            let start = std::time::Instant::now();
            let made = make(info, &mut making).and_then(|kind| {
                let captured = Mutex::new(making.captured.take().map(Arc::new));
                d.allocator(callbacks).create(Pipeline { kind, captured })
            });
            making.programs.created();
            feedback(next, start, &making.programs);
            let failed = match made {
                Ok(p) => {
                    *out.add(k) = handle(p);
                    continue;
                }
                Err(e) if e.code == vk::Result::PIPELINE_COMPILE_REQUIRED => Ok(e.code),
                Err(e) => Err(e),
            };
            // Errors go before codes that are none.
            if matches!(result, Ok(vk::Result::SUCCESS)) || result.is_ok() && failed.is_err() {
                result = failed;
            }
            if flags.contains(F::EARLY_RETURN_ON_FAILURE) {
                break;
            }
        }
    }
    result
}

/// Says whether a pipeline was found in the application's cache, and how long its creation took.
unsafe fn feedback(next: *const c_void, start: std::time::Instant, programs: &Programs) {
    // SAFETY: the chain is the application's and valid.
    unsafe {
        let f: Option<&vk::PipelineCreationFeedbackCreateInfo> =
            chain::find(next, vk::StructureType::PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
        let Some(f) = f else { return };
        let duration = start.elapsed().as_nanos() as u64;
        let mut flags = vk::PipelineCreationFeedbackFlags::VALID;
        if programs.all_found() {
            flags |= vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT;
        }
        *f.pipeline_creation_feedback = vk::PipelineCreationFeedback { flags, duration };
        for k in 0..f.pipeline_stage_creation_feedback_count as usize {
            *f.pipeline_stage_creation_feedbacks.add(k) =
                vk::PipelineCreationFeedback { flags, duration };
        }
    }
}

entry! {
    /// `vkCreateShaderModule`.
    fn vkCreateShaderModule<B: Backend>(device: vk::Device, info: *const vk::ShaderModuleCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::ShaderModule) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let words = slice((*info).code, ((*info).code_size / 4) as u32).to_vec();
            *out = handle(d.allocator(callbacks).create(Module::new(words))?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyShaderModule`.
    fn vkDestroyShaderModule<B: Backend>(device: vk::Device, module: vk::ShaderModule, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(module.as_raw() as *mut Module) }
    }

    /// `vkCreatePipelineLayout`.
    fn vkCreatePipelineLayout<B: Backend>(device: vk::Device, info: *const vk::PipelineLayoutCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::PipelineLayout) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let sets = slice((*info).set_layouts, (*info).set_layout_count).iter();
            let sets = sets.map(|&s| maybe::<Arc<SetLayout<B>>>(s).cloned()).collect();
            *out = handle(d.allocator(callbacks).create(PipelineLayout::<B> { sets })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyPipelineLayout`.
    fn vkDestroyPipelineLayout<B: Backend>(device: vk::Device, layout: vk::PipelineLayout, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(layout.as_raw() as *mut PipelineLayout<B>) }
    }

    /// `vkCreateComputePipelines`.
    fn vkCreateComputePipelines<B: Backend>(device: vk::Device, cache: vk::PipelineCache, count: u32, infos: *const vk::ComputePipelineCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Pipeline) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let make = |i: &vk::ComputePipelineCreateInfo, m: &mut Making| compute(d, i, m);
            each(d, cache, slice(infos, count), callbacks, out, make, |i| (flags_of(i.flags, i.next), i.next))
        }
    }

    /// `vkCreateGraphicsPipelines`.
    fn vkCreateGraphicsPipelines<B: Backend>(device: vk::Device, cache: vk::PipelineCache, count: u32, infos: *const vk::GraphicsPipelineCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Pipeline) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let make = |i: &vk::GraphicsPipelineCreateInfo, m: &mut Making| graphics(d, i, m);
            each(d, cache, slice(infos, count), callbacks, out, make, |i| (flags_of(i.flags, i.next), i.next))
        }
    }

    /// `vkGetShaderModuleIdentifierEXT`.
    fn vkGetShaderModuleIdentifierEXT<B: Backend>(_device: vk::Device, module: vk::ShaderModule, out: *mut vk::ShaderModuleIdentifierEXT) {
        unsafe { identify(get::<Module>(module).hash, &mut *out) }
    }

    /// `vkGetShaderModuleCreateInfoIdentifierEXT`.
    fn vkGetShaderModuleCreateInfoIdentifierEXT<B: Backend>(_device: vk::Device, info: *const vk::ShaderModuleCreateInfo, out: *mut vk::ShaderModuleIdentifierEXT) {
        unsafe { identify(hash_of(slice((*info).code, ((*info).code_size / 4) as u32)), &mut *out) }
    }

    /// `vkDestroyPipeline`.
    fn vkDestroyPipeline<B: Backend>(device: vk::Device, pipeline: vk::Pipeline, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(pipeline.as_raw() as *mut Pipeline<B>) }
    }

    /// `vkCreatePrivateDataSlot`.
    fn vkCreatePrivateDataSlot<B: Backend>(device: vk::Device, _info: *const vk::PrivateDataSlotCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::PrivateDataSlot) -> vk::Result {
        unsafe {
            *out = handle(Device::<B>::of(device).allocator(callbacks).create(PrivateData::default())?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyPrivateDataSlot`.
    fn vkDestroyPrivateDataSlot<B: Backend>(device: vk::Device, slot: vk::PrivateDataSlot, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(slot.as_raw() as *mut PrivateData) }
    }

    /// `vkSetPrivateData`.
    fn vkSetPrivateData<B: Backend>(_device: vk::Device, _type: vk::ObjectType, object: u64, slot: vk::PrivateDataSlot, data: u64) -> vk::Result {
        unsafe { get_mut::<PrivateData>(slot).insert(object, data) };
        Ok(vk::Result::SUCCESS)
    }

    /// `vkGetPrivateData`.
    fn vkGetPrivateData<B: Backend>(_device: vk::Device, _type: vk::ObjectType, object: u64, slot: vk::PrivateDataSlot, out: *mut u64) {
        unsafe { *out = get::<PrivateData>(slot).get(&object).copied().unwrap_or(0) }
    }
}

/// Data that applications attach to objects.
type PrivateData = std::collections::BTreeMap<u64, u64>;
