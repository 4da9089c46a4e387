//! How a driver compiles a compute shader: milliseconds for a pipeline, and the statistics that the driver gives of it.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::time::Instant;

use ash::{khr, vk};
use tepui_ir::{ResKind, Shader, Stage};

use crate::gpu::{Error, Gpu, Result};

/// One shader's figures.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// The file as given.
    pub file: String,
    /// Median of the times to make a pipeline, in milliseconds.
    pub ms_median: f64,
    /// The shortest.
    pub ms_min: f64,
    /// The driver's statistics by its names for them.
    pub stats: BTreeMap<String, f64>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn kind(k: ResKind) -> vk::DescriptorType {
    match k {
        ResKind::UniformBuffer => vk::DescriptorType::UNIFORM_BUFFER,
        ResKind::StorageBuffer => vk::DescriptorType::STORAGE_BUFFER,
        ResKind::Texture => vk::DescriptorType::SAMPLED_IMAGE,
        ResKind::Sampler => vk::DescriptorType::SAMPLER,
        ResKind::CombinedTextureSampler => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        ResKind::StorageImage => vk::DescriptorType::STORAGE_IMAGE,
        ResKind::UniformTexelBuffer => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
        ResKind::StorageTexelBuffer => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
        ResKind::InputAttachment => vk::DescriptorType::INPUT_ATTACHMENT,
    }
}

/// Set layouts for what a shader declares, from set 0 to the last.
fn layout(gpu: &Gpu, s: &Shader) -> Result<(Vec<vk::DescriptorSetLayout>, vk::PipelineLayout)> {
    let sets = s.resources.values().map(|r| r.set + 1).max().unwrap_or(0);
    let mut layouts = Vec::new();
    for set in 0..sets {
        let bindings: Vec<_> = s
            .resources
            .values()
            .filter(|r| r.set == set)
            .map(|r| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(r.binding)
                    .descriptor_type(kind(r.kind))
                    .descriptor_count(r.count.max(1))
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the device is live.
        let made = unsafe { gpu.device.create_descriptor_set_layout(&create, None) };
        layouts.push(
            made.map_err(|result| Error::Vulkan { call: "vkCreateDescriptorSetLayout", result })?,
        );
    }
    let push =
        [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(128)];
    let create =
        vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&push);
    // SAFETY: the set layouts are live.
    let made = unsafe { gpu.device.create_pipeline_layout(&create, None) };
    Ok((layouts, made.map_err(|result| Error::Vulkan { call: "vkCreatePipelineLayout", result })?))
}

fn statistics(gpu: &Gpu, pipeline: vk::Pipeline) -> Result<BTreeMap<String, f64>> {
    let loader = khr::pipeline_executable_properties::Device::new(&gpu.instance, &gpu.device);
    let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
    // SAFETY: the pipeline is live and was made to be asked for statistics.
    let list = unsafe { loader.get_pipeline_executable_statistics(&info) }
        .map_err(|result| Error::Vulkan { call: "vkGetPipelineExecutableStatisticsKHR", result })?;
    Ok(list
        .iter()
        .map(|s| {
            let name = s
                .name_as_c_str()
                .map_or_else(|_| "?".to_owned(), |n| n.to_string_lossy().into_owned());
            // SAFETY: the member read is the one that the format names.
            let value = unsafe {
                match s.format {
                    vk::PipelineExecutableStatisticFormatKHR::BOOL32 => f64::from(s.value.b32),
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => s.value.i64 as f64,
                    vk::PipelineExecutableStatisticFormatKHR::UINT64 => s.value.u64 as f64,
                    _ => s.value.f64,
                }
            };
            (name, value)
        })
        .collect())
}

fn one(gpu: &Gpu, words: &[u32], rounds: usize, row: &mut Row) -> std::result::Result<(), String> {
    let entries = tepui_spirv::entry_points(words).map_err(|e| e.to_string())?;
    let (name, _) = entries
        .iter()
        .find(|(_, stage)| *stage == Some(Stage::Compute))
        .ok_or("has no compute entry point")?;
    let options = tepui_spirv::Options {
        entry: Some(name.clone()),
        stage: Some(Stage::Compute),
        ..Default::default()
    };
    let s = tepui_spirv::translate(words, &options).map_err(|e| e.to_string())?;
    let (sets, layout) = layout(gpu, &s).map_err(|e| e.to_string())?;
    let module = vk::ShaderModuleCreateInfo::default().code(words);
    // SAFETY: the front end has read the whole module.
    let module =
        unsafe { gpu.device.create_shader_module(&module, None) }.map_err(|e| format!("{e:?}"))?;
    let entry = CString::new(name.as_str()).map_err(|e| e.to_string())?;
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(&entry);
    let create = vk::ComputePipelineCreateInfo::default()
        .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
        .stage(stage)
        .layout(layout);
    let mut times = Vec::with_capacity(rounds);
    for k in 0..rounds.max(1) {
        let start = Instant::now();
        // SAFETY: module and layout outlive the call.
        let made = unsafe {
            gpu.device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None)
        };
        times.push(start.elapsed().as_secs_f64() * 1e3);
        let pipeline = made.map_err(|(_, e)| format!("vkCreateComputePipelines: {e:?}"))?[0];
        if k == 0 {
            row.stats = statistics(gpu, pipeline).map_err(|e| e.to_string())?;
        }
        // SAFETY: nothing uses the pipeline.
        unsafe { gpu.device.destroy_pipeline(pipeline, None) };
    }
    // SAFETY: nothing uses them any more.
    unsafe {
        gpu.device.destroy_shader_module(module, None);
        gpu.device.destroy_pipeline_layout(layout, None);
        for s in sets {
            gpu.device.destroy_descriptor_set_layout(s, None);
        }
    }
    times.sort_by(f64::total_cmp);
    row.ms_median = times[times.len() / 2];
    row.ms_min = times[0];
    Ok(())
}

/// Makes each file's pipeline `rounds` times.
///
/// # Errors
/// When the driver gives no statistics at all.
pub fn run(gpu: &Gpu, files: &[std::path::PathBuf], rounds: usize) -> Result<Vec<Row>> {
    gpu.require(khr::pipeline_executable_properties::NAME)?;
    Ok(files
        .iter()
        .map(|f| {
            let mut row = Row {
                file: f.display().to_string(),
                ms_median: 0.0,
                ms_min: 0.0,
                stats: BTreeMap::new(),
                error: None,
            };
            let done = std::fs::read(f).map_err(|e| e.to_string()).and_then(|bytes| {
                let words: Vec<u32> = bytes
                    .chunks_exact(4)
                    .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
                    .collect();
                one(gpu, &words, rounds, &mut row)
            });
            row.error = done.err();
            row
        })
        .collect())
}
