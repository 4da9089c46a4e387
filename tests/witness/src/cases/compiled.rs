//! Pipelines as objects: caches, module identifiers, statistics.

use ash::{ext, khr, vk};

use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Bind, During, Error, Gpu, Result};
use crate::number::Random;

fn bits(name: &str, data: &[u32], expected: &[u32]) -> Output {
    Output::cpu(name, data, expected, Rule::Bits)
}

/// A pipeline cache that is destroyed at the end.
struct Cache<'a> {
    gpu: &'a Gpu,
    handle: vk::PipelineCache,
}

impl<'a> Cache<'a> {
    fn new(gpu: &'a Gpu, data: &[u8]) -> Result<Cache<'a>> {
        let create = vk::PipelineCacheCreateInfo::default().initial_data(data);
        // SAFETY: the data outlives the call.
        let handle = unsafe { gpu.device.create_pipeline_cache(&create, None) }
            .during("vkCreatePipelineCache")?;
        Ok(Cache { gpu, handle })
    }

    fn data(&self) -> Result<Vec<u8>> {
        // SAFETY: the cache is live.
        unsafe { self.gpu.device.get_pipeline_cache_data(self.handle) }
            .during("vkGetPipelineCacheData")
    }
}

impl Drop for Cache<'_> {
    fn drop(&mut self) {
        // SAFETY: nothing uses the cache.
        unsafe { self.gpu.device.destroy_pipeline_cache(self.handle, None) }
    }
}

const ONLY_CACHED: vk::PipelineCreateFlags =
    vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;

/// Runs the first shader, `step.comp`, with a pipeline from a cache; `None` if the driver would have to compile.
fn step(b: &Bench, cache: &Cache, flags: vk::PipelineCreateFlags) -> Result<Option<Vec<u32>>> {
    let data = b.gpu.buffer(&Random::integers(77, 256))?;
    let kernel = b.gpu.kernel(&b.spirv[0]).storage(&[&data]).push_bytes(8);
    let kernel = match kernel.flags(flags).cache(cache.handle).build() {
        Err(Error::Vulkan { result: vk::Result::PIPELINE_COMPILE_REQUIRED, .. }) => {
            return Ok(None);
        }
        other => other?,
    };
    b.gpu.submit(|c| {
        c.push(&kernel, &[5u32, 9]);
        c.dispatch(&kernel, [4, 1, 1]);
    })?;
    Ok(Some(data.read()))
}

fn stepped() -> Vec<u32> {
    Random::integers(77, 256).iter().map(|x| x.wrapping_mul(5).wrapping_add(9)).collect()
}

fn cache() -> Case {
    let about = "a pipeline out of a cache whose data went through the application, and none out of an empty one";
    Case::new("compiled/cache", about, vec![Shader::new("step.comp")], |b| {
        let (first, empty) = (Cache::new(b.gpu, &[])?, Cache::new(b.gpu, &[])?);
        let refused = step(b, &empty, ONLY_CACHED)?.is_none();
        let compiled = step(b, &first, vk::PipelineCreateFlags::empty())?.unwrap_or_default();
        let again = Cache::new(b.gpu, &first.data()?)?;
        let found = step(b, &again, ONLY_CACHED)?.unwrap_or_default();
        let merged = Cache::new(b.gpu, &[])?;
        // SAFETY: the caches are live and different.
        unsafe { b.gpu.device.merge_pipeline_caches(merged.handle, &[again.handle]) }
            .during("vkMergePipelineCaches")?;
        let after = step(b, &merged, ONLY_CACHED)?.unwrap_or_default();
        let mut out = vec![bits("refused", &[u32::from(refused)], &[1])];
        for (name, data) in [("compiled", &compiled), ("found", &found), ("merged", &after)] {
            out.push(bits(name, data, &stepped()));
        }
        Ok(out)
    })
    // lavapipe also has a cache of its own, in which the pipeline is found.
    .without_lavapipe()
}

fn damaged() -> Case {
    let about = "caches from damaged data: cut off, and with bytes changed";
    Case::new("compiled/cache_damaged", about, vec![Shader::new("step.comp")], |b| {
        let first = Cache::new(b.gpu, &[])?;
        step(b, &first, vk::PipelineCreateFlags::empty())?;
        let data = first.data()?;
        let mut out = Vec::new();
        for k in 0..16 {
            let mut bad = data.clone();
            if k < 8 {
                bad.truncate(data.len() * k / 8);
            } else {
                let at = bad.len() * (k - 8) / 8;
                bad[at] ^= 0xa5;
            }
            let cache = Cache::new(b.gpu, &bad)?;
            let got = step(b, &cache, vk::PipelineCreateFlags::empty())?.unwrap_or_default();
            out.push(bits(&format!("damage {k}"), &got, &stepped()));
        }
        Ok(out)
    })
}

/// Statistics of a kernel, or its machine code.
fn executables(name: &str, about: &str, texts: bool) -> Case {
    Case::new(format!("compiled/{name}"), about, vec![Shader::new("step.comp")], move |b| {
        let gpu = b.gpu;
        gpu.require(khr::pipeline_executable_properties::NAME)?;
        let data = gpu.buffer(&[0u32; 64])?;
        let flags = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
            | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
        let kernel =
            gpu.kernel(&b.spirv[0]).storage(&[&data]).push_bytes(8).flags(flags).build()?;
        let ask = khr::pipeline_executable_properties::Device::new(&gpu.instance, &gpu.device);
        let info = vk::PipelineInfoKHR::default().pipeline(kernel.pipeline);
        // SAFETY: the pipeline is live, and the device was made with the feature.
        let programs = unsafe { ask.get_pipeline_executable_properties(&info) }
            .during("vkGetPipelineExecutablePropertiesKHR")?;
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(kernel.pipeline);
        // SAFETY: as above.
        let statistics = unsafe { ask.get_pipeline_executable_statistics(&info) }
            .during("vkGetPipelineExecutableStatisticsKHR")?;
        // SAFETY: as above.
        let shown = unsafe { ask.get_pipeline_executable_internal_representations(&info) }
            .during("vkGetPipelineExecutableInternalRepresentationsKHR")?;
        let stages = programs.iter().map(|p| p.stages.as_raw()).collect::<Vec<_>>();
        let named = statistics.iter().filter(|s| s.name_as_c_str().is_ok_and(|n| !n.is_empty()));
        let shown = shown.iter().filter(|t| t.is_text == vk::TRUE && t.data_size > 1).count();
        Ok(match texts {
            true => vec![bits("has text", &[u32::from(shown > 0)], &[1])],
            false => vec![
                bits("stages", &stages, &[vk::ShaderStageFlags::COMPUTE.as_raw()]),
                bits("has statistics", &[u32::from(named.count() > 3)], &[1]),
            ],
        })
    })
    // Its programs have no machine code to show.
    .without_lavapipe()
}

/// A module's identifier is that of its words.
fn identifier() -> Case {
    let shaders = vec![Shader::new("step.comp"), Shader::new("count.comp")];
    Case::new("compiled/identifier", "identifiers of shader modules", shaders, |b| {
        let gpu = b.gpu;
        gpu.require(ext::shader_module_identifier::NAME)?;
        let ask = ext::shader_module_identifier::Device::new(&gpu.instance, &gpu.device);
        let mut all = Vec::new();
        for spirv in b.spirv {
            let create = vk::ShaderModuleCreateInfo::default().code(spirv);
            let mut of_words = vk::ShaderModuleIdentifierEXT::default();
            let mut of_module = vk::ShaderModuleIdentifierEXT::default();
            let device = gpu.device.handle();
            // SAFETY: the words are a whole module.
            unsafe {
                let of = ask.fp().get_shader_module_create_info_identifier_ext;
                of(device, &create, &mut of_words);
                let module = gpu.device.create_shader_module(&create, None);
                let module = module.during("vkCreateShaderModule")?;
                (ask.fp().get_shader_module_identifier_ext)(device, module, &mut of_module);
                gpu.device.destroy_shader_module(module, None);
            }
            let bytes = |i: &vk::ShaderModuleIdentifierEXT| {
                i.identifier[..i.identifier_size as usize].to_vec()
            };
            all.push((bytes(&of_words), bytes(&of_module)));
        }
        let same = all.iter().all(|(w, m)| w == m && !w.is_empty());
        let differ = all[0].0 != all[1].0;
        Ok(vec![bits("holds", &[u32::from(same), u32::from(differ)], &[1, 1])])
    })
    // It does not have the extension.
    .without_lavapipe()
}

/// Bindings that hold any kind of descriptor, written over with another kind.
fn mutable() -> Case {
    let about = "mutable descriptors: buffers and texel buffers, over descriptors of other kinds";
    Case::new("compiled/mutable", about, vec![Shader::new("mutable.comp")], |b| {
        let gpu = b.gpu;
        gpu.require(ext::mutable_descriptor_type::NAME)?;
        let (words, texels) = (Random::integers(91, 256), Random::integers(92, 256));
        let factors = gpu.buffer(&[3u32, 7, 0, 0])?;
        let (w, t) = (gpu.buffer(&words)?, gpu.buffer(&texels)?);
        let view = gpu.buffer_view(&t, vk::Format::R32_UINT, 0, vk::WHOLE_SIZE)?;
        let out = gpu.output::<u32>(256)?;
        let kinds = [
            Bind::Uniform(&factors),
            Bind::Storage(&w),
            Bind::UniformTexel(view),
            Bind::Storage(&out),
        ];
        let kernel = gpu.kernel(&b.spirv[0]).mutable();
        let kernel = kinds.into_iter().fold(kernel, |k, kind| k.bind(kind)).build()?;
        // Every element was another kind before.
        let others =
            [Bind::UniformTexel(view), Bind::Uniform(&t), Bind::Storage(&w), Bind::Uniform(&t)];
        for list in [others, kinds] {
            for (binding, kind) in (0..).zip(&list) {
                kernel.write(gpu, binding, kind);
            }
        }
        gpu.run(&kernel, [8, 1, 1])?;
        let sum = |(w, t): (&u32, &u32)| w.wrapping_mul(3).wrapping_add(t.wrapping_mul(7));
        let expected: Vec<u32> = words.iter().zip(&texels).map(sum).collect();
        Ok(vec![bits("sums", &out.read(), &expected)])
    })
}

/// The cases of this theme.
pub fn cases() -> Vec<Case> {
    vec![
        cache(),
        damaged(),
        executables("executables", "pipeline executables: stages and statistics", false),
        // Honeykrisp gives statistics alone.
        executables("assembly", "pipeline executables: machine code as text", true)
            .without_honeykrisp(),
        identifier(),
        mutable(),
    ]
}
