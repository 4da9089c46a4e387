//! How a driver and Tepui compile the same shaders: milliseconds from SPIR-V to machine code, taken in turns in one process,
//! and the statistics that both give of the result.
//!
//! Mesa counts the instructions of the main shader without its preamble, and registers and uniforms in 16-bit halves, as
//! Tepui does.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use ash::{khr, vk};
use tepui_ir::{ResKind, Shader, Stage};

use crate::gpu::{Error, Gpu, Result};

/// What one compiler made of a shader.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Made {
    /// Median of the times, in milliseconds.
    pub ms_median: f64,
    /// The shortest.
    pub ms_min: f64,
    /// Statistics by the names of Mesa's shader-db.
    pub stats: BTreeMap<String, f64>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Made {
    fn times(&mut self, mut times: Vec<f64>) {
        times.sort_by(f64::total_cmp);
        self.ms_median = times.get(times.len() / 2).copied().unwrap_or(0.0);
        self.ms_min = times.first().copied().unwrap_or(0.0);
    }

    fn stat(&self, name: &str) -> f64 {
        self.stats.get(name).copied().unwrap_or(0.0)
    }
}

/// One shader's figures.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Row {
    /// The file as given.
    pub file: String,
    /// By the driver.
    pub driver: Made,
    /// By Tepui.
    pub tepui: Made,
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
            (plain(&name), value)
        })
        .collect())
}

/// A statistic's name as Tepui writes it.
fn plain(name: &str) -> String {
    match name {
        "GPRs" => "registers".to_owned(),
        name => name.to_lowercase().replace([' ', '-'], "_"),
    }
}

const NO_COMPUTE: &str = "has no compute entry point";

/// A compute shader that the driver can make pipelines of.
struct Subject<'a> {
    gpu: &'a Gpu,
    words: &'a [u32],
    options: tepui_spirv::Options,
    entry: CString,
    module: vk::ShaderModule,
    sets: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
}

impl<'a> Subject<'a> {
    fn new(gpu: &'a Gpu, words: &'a [u32]) -> std::result::Result<Subject<'a>, String> {
        let entries = tepui_spirv::entry_points(words).map_err(|e| e.to_string())?;
        let (name, _) =
            entries.iter().find(|(_, stage)| *stage == Some(Stage::Compute)).ok_or(NO_COMPUTE)?;
        let options = tepui_spirv::Options {
            entry: Some(name.clone()),
            stage: Some(Stage::Compute),
            ..Default::default()
        };
        let s = tepui_spirv::translate(words, &options).map_err(|e| e.to_string())?;
        let entry = CString::new(name.as_str()).map_err(|e| e.to_string())?;
        let (sets, layout) = layout(gpu, &s).map_err(|e| e.to_string())?;
        let create = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the front end has read the whole module.
        let module = unsafe { gpu.device.create_shader_module(&create, None) }
            .map_err(|e| format!("vkCreateShaderModule: {e:?}"))?;
        Ok(Subject { gpu, words, options, entry, module, sets, layout })
    }

    /// Milliseconds of the driver; its statistics when `made` has none yet.
    fn driver(&self, made: &mut Made) -> std::result::Result<f64, String> {
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(self.module)
            .name(&self.entry);
        let create = vk::ComputePipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
            .stage(stage)
            .layout(self.layout);
        let device = &self.gpu.device;
        let start = Instant::now();
        // SAFETY: module and layout outlive the call.
        let pipelines =
            unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None) };
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let pipeline = pipelines.map_err(|(_, e)| format!("vkCreateComputePipelines: {e:?}"))?[0];
        if made.stats.is_empty() {
            made.stats = statistics(self.gpu, pipeline).map_err(|e| e.to_string())?;
        }
        // SAFETY: nothing uses the pipeline.
        unsafe { device.destroy_pipeline(pipeline, None) };
        Ok(ms)
    }

    /// As [`Subject::driver`], by Tepui.
    fn tepui(&self, made: &mut Made) -> std::result::Result<f64, String> {
        let start = Instant::now();
        let mut s = tepui_spirv::translate(self.words, &self.options).map_err(|e| e.to_string())?;
        let program = tepui_agx_compiler::compile(&mut s, &Default::default());
        let program = program.map_err(|e| e.to_string())?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        if made.stats.is_empty() {
            let stats = serde_json::to_value(program.stats).map_err(|e| e.to_string())?;
            made.stats = serde_json::from_value(stats).map_err(|e| e.to_string())?;
        }
        Ok(ms)
    }
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        let device = &self.gpu.device;
        // SAFETY: nothing uses them any more.
        unsafe {
            device.destroy_shader_module(self.module, None);
            device.destroy_pipeline_layout(self.layout, None);
            for &s in &self.sets {
                device.destroy_descriptor_set_layout(s, None);
            }
        }
    }
}

/// Both compilers in turns. What Tepui refuses the driver is not asked for: Mesa's aborts on some shaders with 64-bit
/// floats.
fn one(gpu: &Gpu, words: &[u32], rounds: usize, row: &mut Row) -> std::result::Result<(), String> {
    let subject = Subject::new(gpu, words)?;
    let (mut driver, mut tepui) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for _ in 0..rounds.max(1) {
        match subject.tepui(&mut row.tepui) {
            Ok(ms) => tepui.push(ms),
            Err(e) => {
                row.tepui.error = Some(e);
                return Ok(());
            }
        }
        match subject.driver(&mut row.driver) {
            Ok(ms) => driver.push(ms),
            Err(e) => {
                row.driver.error = Some(e);
                return Ok(());
            }
        }
    }
    row.driver.times(driver);
    row.tepui.times(tepui);
    Ok(())
}

/// The `.spv` files of some paths, folders with all that is below them.
///
/// # Errors
/// When a folder cannot be read.
pub fn modules(paths: &[PathBuf]) -> std::io::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inner: Vec<PathBuf> = std::fs::read_dir(path)?
                .map(|e| e.map(|e| e.path()))
                .collect::<std::io::Result<_>>()?;
            inner.retain(|p| p.is_dir() || p.extension().is_some_and(|e| e == "spv"));
            inner.sort();
            out.extend(modules(&inner)?);
        } else {
            out.push(path.clone());
        }
    }
    Ok(out)
}

/// Has both compilers make each compute shader `rounds` times; modules without one are left out.
///
/// # Errors
/// When the driver gives no statistics at all.
pub fn run(gpu: &Gpu, files: &[PathBuf], rounds: usize) -> Result<Vec<Row>> {
    gpu.require(khr::pipeline_executable_properties::NAME)?;
    let mut rows = Vec::new();
    for f in files {
        let mut row =
            Row { file: f.display().to_string(), driver: Made::default(), tepui: Made::default() };
        let done = std::fs::read(f).map_err(|e| e.to_string()).and_then(|bytes| {
            let words: Vec<u32> = bytes
                .chunks_exact(4)
                .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
                .collect();
            one(gpu, &words, rounds, &mut row)
        });
        match done {
            Err(e) if e == NO_COMPUTE => continue,
            Err(e) => row.tepui.error = Some(e),
            Ok(()) => {}
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The rows that both compiled, as a table that ends in geometric means of Tepui's figures through the driver's.
pub struct Table<'a>(pub &'a [Row]);

/// Statistics that the table and the means are of.
const COLUMNS: [(&str, &str); 5] = [
    ("instructions", "inst"),
    ("alu", "alu"),
    ("registers", "regs"),
    ("uniforms", "unif"),
    ("spills", "spill"),
];

impl Table<'_> {
    fn both(&self) -> impl Iterator<Item = &Row> {
        self.0.iter().filter(|r| r.driver.error.is_none() && r.tepui.error.is_none())
    }

    /// How many shaders both compiled.
    #[must_use]
    pub fn len(&self) -> usize {
        self.both().count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The geometric mean of Tepui's statistic through the driver's. Both are counted from one, as some are zero.
    #[must_use]
    pub fn mean(&self, stat: &str) -> f64 {
        self.geometric(|r| (r.tepui.stat(stat).max(1.0), r.driver.stat(stat).max(1.0)))
    }

    /// The geometric mean of Tepui's time through the driver's.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.geometric(|r| (r.tepui.ms_median, r.driver.ms_median))
    }

    /// Sum of a statistic over all shaders: Tepui's, the driver's.
    #[must_use]
    pub fn sum(&self, stat: &str) -> (f64, f64) {
        (
            self.both().map(|r| r.tepui.stat(stat)).sum(),
            self.both().map(|r| r.driver.stat(stat)).sum(),
        )
    }

    fn geometric(&self, of: impl Fn(&Row) -> (f64, f64)) -> f64 {
        let logs: Vec<f64> = self
            .both()
            .map(&of)
            .filter(|(a, b)| *a > 0.0 && *b > 0.0)
            .map(|(a, b)| (a / b).ln())
            .collect();
        (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (_, short) in COLUMNS {
            write!(f, "{short:>7}{:>6} ", "")?;
        }
        writeln!(f, "{:>8}{:>9}   (Tepui, driver)", "ms", "")?;
        // Where Tepui loses most comes last, next to the means.
        let ratio = |r: &Row| r.tepui.stat("instructions") / r.driver.stat("instructions").max(1.0);
        let mut rows: Vec<&Row> = self.both().collect();
        rows.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        for r in rows {
            for (stat, _) in COLUMNS {
                write!(f, "{:>7}{:>6} ", r.tepui.stat(stat), r.driver.stat(stat))?;
            }
            let name = r.file.rsplit('/').next().unwrap_or(&r.file);
            writeln!(f, "{:>8.3}{:>9.3}   {name}", r.tepui.ms_median, r.driver.ms_median)?;
        }
        for (stat, _) in COLUMNS {
            write!(f, "{:>10.3}    ", self.mean(stat))?;
        }
        writeln!(f, "{:>10.3}          geometric means of {} shaders", self.time(), self.len())?;
        for r in self.0 {
            let name = r.file.rsplit('/').next().unwrap_or(&r.file);
            for (who, made) in [("the driver", &r.driver), ("Tepui", &r.tepui)] {
                if let Some(e) = &made.error {
                    writeln!(f, "{who} refuses {name}: {}", e.lines().next().unwrap_or(""))?;
                }
            }
        }
        Ok(())
    }
}
