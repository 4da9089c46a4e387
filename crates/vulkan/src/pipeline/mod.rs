//! Shader modules, pipeline layouts and pipelines.

mod captured;
mod fixed;
mod graphics;
mod making;
mod object;
mod source;
mod stages;

use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use tepui_passes::lower_dispatch_base;
use vulkanalia_sys::{self as vk, Handle};

pub(crate) use self::captured::PipelineBinary;
pub(crate) use self::fixed::{set_inputs, set_locations};
use self::graphics::graphics;
pub(crate) use self::graphics::{key_of_compute, key_of_graphics};
use self::making::{Making, capture};
pub use self::object::{GraphicsPipeline, Kind, Pipeline, PipelineLayout};
pub use self::source::Module;
pub(crate) use self::source::{Source, constants, hash_of, subgroup_size};
use self::source::{captures, flags_of, made_from, objects, robust, sets_of, source_of};
pub(crate) use self::stages::{Translated, link, shader_of};
use crate::backend::Backend;
use crate::cache::{Cache, Made, Programs};
use crate::chain;
use crate::descriptor::SetLayout;
use crate::device::Device;
use crate::entry;
use crate::error::Result;
use crate::object::{get, get_mut, handle, maybe, slice};

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
            let mut making = Making::new(cache, captured::given(next), only_cached, captures);
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
