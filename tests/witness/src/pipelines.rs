//! Compares how a driver and Tepui compile the same shaders: milliseconds of the thread from SPIR-V to
//! machine code, measured in turns in one process, and the statistics that both report of the result.
//! The device decides for which GPU Tepui compiles.
//!
//! Intel: compute shaders. Mesa's instructions are without each `sync` of its scoreboard pass that waits for one thing;
//! Tepui's are without all of them.
//!
//! AGX:
//!
//! Mesa counts the instructions of the main shader without its preamble, and registers and uniforms
//! in 16-bit halves, as Tepui does. A vertex shader gets a pipeline of its own, with attributes of
//! 32-bit floats: both count the program that fetches attributes and stores varyings at offsets in
//! uniforms. A fragment shader gets a vertex shader that passes attributes on to its inputs, since
//! Mesa removes inputs that no vertex shader writes. Both count the main program, which leaves
//! colours in registers; tests, blending and stores belong to the epilog.

use std::collections::{BTreeMap, HashSet};
use std::ffi::CString;
use std::fmt;
use std::path::PathBuf;

use ash::{ext, khr, vk};
use rspirv::binary::Assemble;
use rspirv::dr::Operand;
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionModel, FunctionControl, MemoryModel,
    StorageClass,
};
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::{self, Attributes};
use tepui_agx_compiler::{Interface, Table as StageTable};
use tepui_format::Format;
use tepui_intel_isa::Generation;
use tepui_ir::{Attrs, Builtin, IoLoc, NumKind, Op, ResKind, Shader, Stage};

use crate::gpu::{Error, Gpu, Result, State};

/// The result of one compiler for a shader.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Snapshot {
    /// Median of the times, in milliseconds.
    pub ms_median: f64,
    /// The shortest.
    pub ms_min: f64,
    /// Statistics by the names of Mesa's shader-db.
    pub stats: BTreeMap<String, f64>,
    /// The reason that there are no statistics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Snapshot {
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
pub struct ShaderFigures {
    /// The file as given.
    pub file: String,
    /// The stage, by its name.
    pub stage: String,
    /// By the driver.
    pub driver: Snapshot,
    /// By Tepui.
    pub tepui: Snapshot,
}

impl ShaderFigures {
    /// The file without its folder, and the stage.
    fn name(&self) -> String {
        format!("{}, {}", self.file.rsplit('/').next().unwrap_or(&self.file), self.stage)
    }
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
fn layout(
    gpu: &Gpu,
    s: &Shader,
    stage: vk::ShaderStageFlags,
) -> Result<(Vec<vk::DescriptorSetLayout>, vk::PipelineLayout)> {
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
                    .stage_flags(stage)
            })
            .collect();
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the device is live.
        let made = unsafe { gpu.device.create_descriptor_set_layout(&create, None) };
        layouts.push(
            made.map_err(|result| Error::Vulkan { call: "vkCreateDescriptorSetLayout", result })?,
        );
    }
    let push = [vk::PushConstantRange::default().stage_flags(stage).size(128)];
    let create =
        vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&push);
    // SAFETY: the set layouts are live.
    let made = unsafe { gpu.device.create_pipeline_layout(&create, None) };
    Ok((layouts, made.map_err(|result| Error::Vulkan { call: "vkCreatePipelineLayout", result })?))
}

/// The driver's statistics of the executable of a stage.
fn statistics(
    gpu: &Gpu,
    pipeline: vk::Pipeline,
    stage: vk::ShaderStageFlags,
) -> Result<BTreeMap<String, f64>> {
    let loader = khr::pipeline_executable_properties::Device::new(&gpu.instance, &gpu.device);
    let of = vk::PipelineInfoKHR::default().pipeline(pipeline);
    // SAFETY: the pipeline is live.
    let all = unsafe { loader.get_pipeline_executable_properties(&of) }
        .map_err(|result| Error::Vulkan { call: "vkGetPipelineExecutablePropertiesKHR", result })?;
    let index = all.iter().position(|e| e.stages.contains(stage));
    let index = index.ok_or_else(|| Error::Missing(format!("an executable for {stage:?}")))?;
    let info =
        vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(index as u32);
    // SAFETY: the pipeline is live and was made to be asked for statistics.
    let list = unsafe { loader.get_pipeline_executable_statistics(&info) }
        .map_err(|result| Error::Vulkan { call: "vkGetPipelineExecutableStatisticsKHR", result })?;
    let mut stats: BTreeMap<String, f64> = list
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
        .collect();
    stats.insert("width".to_owned(), f64::from(all[index].subgroup_size));
    Ok(stats)
}

/// A statistic's name as Tepui writes it.
fn plain(name: &str) -> String {
    match name {
        "GPRs" | "Max live registers" => "registers".to_owned(),
        "Instruction Count" => "instructions".to_owned(),
        "SEND Count" => "sends".to_owned(),
        "Loop Count" => "loops".to_owned(),
        "Cycle Count" => "cycles".to_owned(),
        "Spill Count" => "spills".to_owned(),
        "Fill Count" => "fills".to_owned(),
        name => name.to_lowercase().replace([' ', '-'], "_"),
    }
}

fn flag(stage: Stage) -> vk::ShaderStageFlags {
    match stage {
        Stage::Compute => vk::ShaderStageFlags::COMPUTE,
        Stage::Vertex => vk::ShaderStageFlags::VERTEX,
        Stage::Fragment => vk::ShaderStageFlags::FRAGMENT,
        Stage::TessControl => vk::ShaderStageFlags::TESSELLATION_CONTROL,
        Stage::TessEvaluation => vk::ShaderStageFlags::TESSELLATION_EVALUATION,
        Stage::Geometry => vk::ShaderStageFlags::GEOMETRY,
    }
}

/// A vertex shader that hands on an attribute for each input of a fragment shader, and the number
/// of attributes.
fn vertex_for(fragment: &Shader) -> std::result::Result<(Vec<u32>, u8), String> {
    let wrong = |e: rspirv::dr::Error| e.to_string();
    let mut b = rspirv::dr::Builder::new();
    b.set_version(1, 3);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let void = b.type_void();
    let kind = b.type_function(void, []);
    let (mut io, mut copies, mut attributes) = (Vec::new(), Vec::new(), 0);
    for d in &fragment.inputs {
        let IoLoc::Location(first) = d.slot.loc else {
            return Err(format!("no vertices are made for an input of {:?}", d.slot.loc));
        };
        if d.ty.bits() != 32 {
            return Err(format!("no vertices are made for an input of {}", d.ty));
        }
        let scalar = match d.slot.kind {
            NumKind::Float => b.type_float(32, None),
            NumKind::Sint => b.type_int(32, 1),
            NumKind::Uint => b.type_int(32, 0),
        };
        let n = u32::from(d.ty.comps());
        let ty = if n == 1 { scalar } else { b.type_vector(scalar, n) };
        for location in u32::from(first)..u32::from(first) + d.locations {
            let mut variable = |class, location, component| {
                let pointer = b.type_pointer(None, class, ty);
                let v = b.variable(pointer, None, class, None);
                b.decorate(v, Decoration::Location, [Operand::LiteralBit32(location)]);
                if component > 0 {
                    b.decorate(v, Decoration::Component, [Operand::LiteralBit32(component)]);
                }
                io.push(v);
                v
            };
            let from = variable(StorageClass::Input, attributes, 0);
            let component = u32::from(d.slot.component);
            copies.push((ty, from, variable(StorageClass::Output, location, component)));
            attributes += 1;
        }
    }
    let main = b.begin_function(void, None, FunctionControl::NONE, kind).map_err(wrong)?;
    b.begin_block(None).map_err(wrong)?;
    for (ty, from, to) in copies {
        let v = b.load(ty, None, from, None, []).map_err(wrong)?;
        b.store(to, v, None, []).map_err(wrong)?;
    }
    b.ret().map_err(wrong)?;
    b.end_function().map_err(wrong)?;
    b.entry_point(ExecutionModel::Vertex, main, "main", io);
    let attributes = u8::try_from(attributes).ok().filter(|&n| n <= abi::MAX_ATTRIBUTES);
    Ok((b.module().assemble(), attributes.ok_or("its inputs are more than attributes")?))
}

/// Bytes of an attribute, which are all of one format.
const ATTRIBUTE_B: u32 = 16;

/// The fixed functions of a pipeline that a vertex or fragment shader goes into. Mesa drops a
/// point's size where there are no points.
fn state(attributes: u8, points: bool) -> State {
    let mut state = State::new([64, 64]);
    if points {
        state.topology = vk::PrimitiveTopology::POINT_LIST;
    }
    state.colors = vec![vk::Format::R8G8B8A8_UNORM; 8];
    state.push_bytes = 128;
    let all = vec![(vk::Format::R32G32B32A32_SFLOAT, ATTRIBUTE_B); usize::from(attributes)];
    state.flags = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR;
    if all.is_empty() { state } else { state.vertex_buffer(vk::VertexInputRate::VERTEX, &all) }
}

fn writes_point_size(s: &Shader) -> bool {
    let mut found = false;
    s.walk(|s, _, i| {
        if let (Op::StoreOutput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs) {
            found |= slot.loc == IoLoc::Builtin(Builtin::PointSize);
        }
    });
    s.info.stage == Stage::Vertex && found
}

/// Whether arithmetic has an undefined operand: compiler results for such shaders are not comparable.
fn computes_of_nothing(s: &Shader) -> bool {
    let mut s = s.clone();
    tepui_passes::pipeline::optimise(&mut s);
    let (mut undefined, mut found) = (HashSet::new(), false);
    s.walk(|s, _, i| {
        let tainted = s.args(i).iter().any(|a| undefined.contains(a));
        let op = s.insts[i].op;
        if op == Op::Undef || matches!(op, Op::Vec | Op::Extract) && tainted {
            undefined.extend(s.results(i).iter().copied());
        }
        found |= tainted && op.is_elementwise();
    });
    found
}

/// A capability of a module that the device is not made with: no driver has to take such a shader,
/// and Mesa's compiler ends the process on some.
fn not_offered(gpu: &Gpu, words: &[u32], s: &Shader) -> Option<Capability> {
    const CAPABILITY: u32 = 2 << 16 | 17;
    let has = |extension| gpu.require(extension).is_ok();
    let declared = words.get(5..).unwrap_or(&[]).chunks_exact(2).take_while(|w| w[0] == CAPABILITY);
    declared.filter_map(|w| Capability::from_u32(w[1])).find(|c| {
        !match c {
            // Many declare it and move 64 bits at most.
            Capability::Float64 => gpu.float64 || !computes_with_doubles(s),
            Capability::StorageInputOutput16 => gpu.io16,
            Capability::AtomicFloat32AddEXT => has(ext::shader_atomic_float::NAME),
            Capability::AtomicFloat16AddEXT
            | Capability::AtomicFloat16MinMaxEXT
            | Capability::AtomicFloat32MinMaxEXT => has(ext::shader_atomic_float2::NAME),
            // These extensions are never enabled.
            Capability::FragmentShadingRateKHR
            | Capability::FragmentDensityEXT
            | Capability::TileImageColorReadAccessEXT => false,
            _ => true,
        }
    })
}

/// Whether there are 64-bit floats to be written in integers.
fn computes_with_doubles(s: &Shader) -> bool {
    let mut s = s.clone();
    tepui_passes::pipeline::optimise(&mut s);
    let (mut before, mut found) = (String::new(), false);
    tepui_agx_compiler::lower(&mut s, &Default::default(), &mut |pass, s| {
        let now = s.to_string();
        found |= pass == "lower_float64" && now != before;
        before = now;
    });
    found
}

/// The interface for which Tepui compiles a shader.
fn interface(s: &Shader) -> std::result::Result<Interface, String> {
    if s.info.stage != Stage::Vertex {
        return Ok(Interface::main(s.info.stage));
    }
    let main = tepui_agx_compiler::compile(&mut s.clone(), &Default::default());
    let StageTable::Vertex(t) = main.map_err(|e| e.to_string())?.table else {
        return Err("a vertex shader without its table".to_owned());
    };
    let attribute = Attribute {
        format: Format::R32G32B32A32_SFLOAT,
        stride: ATTRIBUTE_B * u32::from(t.attributes),
        per_instance: None,
    };
    Ok(Interface::Vertex(abi::Vertex {
        attributes: Attributes::Fetch(vec![Some(attribute); usize::from(t.attributes)]),
        ..abi::Vertex::default()
    }))
}

/// Tepui's compiler for a device.
enum Compiler {
    Agx(Interface),
    Intel(Generation),
}

impl Compiler {
    fn new(gpu: &Gpu, s: &Shader) -> std::result::Result<Compiler, String> {
        // SAFETY: the physical device is the instance's.
        let device = unsafe { gpu.instance.get_physical_device_properties(gpu.physical) };
        if device.vendor_id != INTEL {
            return interface(s).map(Compiler::Agx);
        }
        let chip = tepui_intel_chips::with_device_id(device.device_id as u16);
        let chip = chip.ok_or_else(|| format!("no chip has the number {:#x}", device.device_id))?;
        match s.info.stage {
            Stage::Compute => Ok(Compiler::Intel(chip.generation)),
            _ => Err("Tepui is measured with compute shaders alone for Intel's GPUs".to_owned()),
        }
    }

    /// Compiles a shader; milliseconds, and the statistics if `wanted`.
    fn compile(
        &self,
        words: &[u32],
        options: &tepui_spirv::Options,
        wanted: bool,
    ) -> std::result::Result<(f64, BTreeMap<String, f64>), String> {
        let start = cpu_ms();
        let mut s = tepui_spirv::translate(words, options).map_err(|e| e.to_string())?;
        let (ms, stats) = match self {
            Compiler::Agx(interface) => {
                let options = Default::default();
                let p = tepui_agx_compiler::compile_as(&mut s, &options, interface, &mut |_, _| {})
                    .map_err(|e| e.to_string())?;
                (cpu_ms() - start, serde_json::to_value(p.stats))
            }
            &Compiler::Intel(generation) => {
                let p = tepui_intel_compiler::compile(&mut s, generation, &Default::default())
                    .map_err(|e| e.to_string())?;
                let ms = cpu_ms() - start;
                let mut stats = serde_json::to_value(p.stats);
                if let (true, Ok(stats)) = (wanted, &mut stats) {
                    let cycles = p.cycles(generation).map_err(|e| e.to_string())?;
                    stats["cycles"] = cycles.into();
                    // Mesa counts accesses of arrays in scratch memory as spills and fills.
                    stats["spills"] = p.stats.scratch_stores().into();
                    stats["fills"] = p.stats.scratch_loads().into();
                }
                (ms, stats)
            }
        };
        let stats = stats.and_then(serde_json::from_value).map_err(|e| e.to_string())?;
        Ok((ms, stats))
    }
}

/// Vendor of a physical device.
const INTEL: u32 = 0x8086;

/// Time of the processor for this thread, in milliseconds.
fn cpu_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// A shader that the driver can make pipelines of.
struct TestedShader<'a> {
    gpu: &'a Gpu,
    words: &'a [u32],
    options: tepui_spirv::Options,
    stage: Stage,
    compiler: Compiler,
    attributes: u8,
    points: bool,
    entry: CString,
    module: vk::ShaderModule,
    /// The vertex shader of a fragment shader's pipeline.
    vertex: Option<vk::ShaderModule>,
    sets: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
}

impl<'a> TestedShader<'a> {
    fn new(
        gpu: &'a Gpu,
        words: &'a [u32],
        name: String,
        stage: Stage,
    ) -> std::result::Result<TestedShader<'a>, String> {
        let entry = CString::new(name.as_str()).map_err(|e| e.to_string())?;
        let options =
            tepui_spirv::Options { entry: Some(name), stage: Some(stage), ..Default::default() };
        let s = tepui_spirv::translate(words, &options).map_err(|e| e.to_string())?;
        if let Some(capability) = not_offered(gpu, words, &s) {
            return Err(format!("wants {capability:?}, which the device does not offer"));
        }
        if computes_of_nothing(&s) {
            return Err("computes with what nobody wrote, which Mesa folds to a NaN".to_owned());
        }
        let mut interlocks = false;
        s.walk(|s, _, i| interlocks |= s.insts[i].op == Op::InterlockBegin);
        if interlocks {
            return Err("has interlocks, on which Mesa's compiler ends the process".to_owned());
        }
        let module = |code: &[u32]| {
            let create = vk::ShaderModuleCreateInfo::default().code(code);
            // SAFETY: the front end has read the whole module; the empty one is well formed.
            unsafe { gpu.device.create_shader_module(&create, None) }
                .map_err(|e| format!("vkCreateShaderModule: {e:?}"))
        };
        let compiler = Compiler::new(gpu, &s)?;
        let mut attributes = match &compiler {
            Compiler::Agx(Interface::Vertex(abi::Vertex {
                attributes: Attributes::Fetch(all),
                ..
            })) => all.len() as u8,
            _ => 0,
        };
        let mut vertex = None;
        if stage == Stage::Fragment {
            let (code, n) = vertex_for(&s)?;
            (vertex, attributes) = (Some(module(&code)?), n);
        }
        let (sets, layout) = layout(gpu, &s, flag(stage)).map_err(|e| e.to_string())?;
        let module = module(words)?;
        Ok(TestedShader {
            gpu,
            words,
            options,
            stage,
            compiler,
            attributes,
            points: writes_point_size(&s),
            entry,
            module,
            vertex,
            sets,
            layout,
        })
    }

    fn compute_pipeline(&self) -> std::result::Result<vk::Pipeline, String> {
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(self.module)
            .name(&self.entry);
        let create = vk::ComputePipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
            .stage(stage)
            .layout(self.layout);
        let device = &self.gpu.device;
        // SAFETY: module and layout outlive the call.
        let made =
            unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None) };
        Ok(made.map_err(|(_, e)| format!("vkCreateComputePipelines: {e:?}"))?[0])
    }

    /// Compile time of the driver in milliseconds, for a pipeline with fixed functions and, for a fragment
    /// shader, its vertex shader; also stores its statistics in `made` if it has none yet.
    fn driver(&self, made: &mut Snapshot) -> std::result::Result<f64, String> {
        let mut stages: Vec<_> =
            self.vertex.map(|m| (flag(Stage::Vertex), m)).into_iter().collect();
        stages.push((flag(self.stage), self.module));
        let start = cpu_ms();
        let pipeline = match self.stage {
            Stage::Compute => self.compute_pipeline()?,
            _ => {
                let made = self.gpu.graphics_pipeline(
                    &stages,
                    &state(self.attributes, self.points),
                    self.layout,
                );
                made.map_err(|e| e.to_string())?
            }
        };
        let ms = cpu_ms() - start;
        if made.stats.is_empty() {
            let stats = statistics(self.gpu, pipeline, flag(self.stage));
            made.stats = stats.map_err(|e| e.to_string())?;
        }
        // SAFETY: nothing uses the pipeline.
        unsafe { self.gpu.device.destroy_pipeline(pipeline, None) };
        Ok(ms)
    }

    /// Version of [`TestedShader::driver`]: by Tepui.
    fn tepui(&self, made: &mut Snapshot) -> std::result::Result<f64, String> {
        let wanted = made.stats.is_empty();
        let (ms, stats) = self.compiler.compile(self.words, &self.options, wanted)?;
        if wanted {
            made.stats = stats;
        }
        Ok(ms)
    }
}

impl Drop for TestedShader<'_> {
    fn drop(&mut self) {
        let device = &self.gpu.device;
        // SAFETY: nothing uses them any more.
        unsafe {
            for module in self.vertex.into_iter().chain([self.module]) {
                device.destroy_shader_module(module, None);
            }
            device.destroy_pipeline_layout(self.layout, None);
            for &s in &self.sets {
                device.destroy_descriptor_set_layout(s, None);
            }
        }
    }
}

/// Both compilers in turns. What Tepui refuses the driver is not asked for.
fn one(subject: &TestedShader<'_>, rounds: usize, row: &mut ShaderFigures) {
    let (mut driver, mut tepui) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for _ in 0..rounds.max(1) {
        match subject.tepui(&mut row.tepui) {
            Ok(ms) => tepui.push(ms),
            Err(e) => {
                row.tepui.error = Some(e);
                return;
            }
        }
        match subject.driver(&mut row.driver) {
            Ok(ms) => driver.push(ms),
            Err(e) => {
                row.driver.error = Some(e);
                return;
            }
        }
    }
    row.driver.times(driver);
    row.tepui.times(tepui);
}

/// Has both compilers compile each shader of these stages `rounds` times. A graphics pipeline's entry point
/// must be `main` here: others are skipped.
///
/// # Errors
/// When the driver gives no statistics at all.
pub fn run(
    gpu: &Gpu,
    files: &[PathBuf],
    stages: &[Stage],
    rounds: usize,
) -> Result<Vec<ShaderFigures>> {
    gpu.require(khr::pipeline_executable_properties::NAME)?;
    let mut rows = Vec::new();
    for f in files {
        let words = tepui_corpus::read(f).map_err(|e| e.to_string());
        let entries = words
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|words| tepui_spirv::entry_points(words).map_err(|e| e.to_string()));
        let row = |stage: &str| ShaderFigures {
            file: f.display().to_string(),
            stage: stage.to_owned(),
            driver: Snapshot::default(),
            tepui: Snapshot::default(),
        };
        match (words, entries) {
            (Ok(words), Ok(entries)) => {
                for (name, stage) in entries {
                    let Some(stage) = stage.filter(|s| stages.contains(s)) else { continue };
                    if stage != Stage::Compute && name != "main" {
                        continue;
                    }
                    let mut row = row(stage.name());
                    match TestedShader::new(gpu, &words, name, stage) {
                        Ok(subject) => one(&subject, rounds, &mut row),
                        Err(e) => row.tepui.error = Some(e),
                    }
                    rows.push(row);
                }
            }
            (Err(e), _) | (_, Err(e)) => {
                let mut row = row("none");
                row.tepui.error = Some(e);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// The rows that both compiled, as a table that ends in geometric means of Tepui's figures through
/// the driver's.
pub struct Table<'a>(pub &'a [ShaderFigures]);

/// Statistics that the table and the means are of, where a shader has them.
const COLUMNS: [(&str, &str); 9] = [
    ("width", "simd"),
    ("instructions", "inst"),
    ("sends", "sends"),
    ("cycles", "cycles"),
    ("alu", "alu"),
    ("registers", "regs"),
    ("uniforms", "unif"),
    ("spills", "spill"),
    ("fills", "fill"),
];

impl Table<'_> {
    fn both(&self) -> impl Iterator<Item = &ShaderFigures> {
        self.0.iter().filter(|r| r.driver.error.is_none() && r.tepui.error.is_none())
    }

    /// Number of shaders that both compiled.
    #[must_use]
    pub fn len(&self) -> usize {
        self.both().count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The geometric mean of Tepui's statistic through the driver's. Both are counted from one, as
    /// some are zero.
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

    fn geometric(&self, of: impl Fn(&ShaderFigures) -> (f64, f64)) -> f64 {
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
        let both: Vec<&ShaderFigures> = self.both().collect();
        let has = |name: &str| both.iter().any(|r| r.tepui.stats.contains_key(name));
        let columns: Vec<_> = COLUMNS.into_iter().filter(|(name, _)| has(name)).collect();
        for (_, short) in &columns {
            write!(f, "{short:>9}{:>8} ", "")?;
        }
        writeln!(f, "{:>8}{:>9}   (Tepui, driver)", "ms", "")?;
        // Shaders with Tepui's worst ratio come last, next to the means.
        let ratio = |r: &ShaderFigures| {
            r.tepui.stat("instructions") / r.driver.stat("instructions").max(1.0)
        };
        let mut rows = both.clone();
        rows.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        for r in rows {
            for (stat, _) in &columns {
                write!(f, "{:>9}{:>8} ", r.tepui.stat(stat), r.driver.stat(stat))?;
            }
            writeln!(f, "{:>8.3}{:>9.3}   {}", r.tepui.ms_median, r.driver.ms_median, r.name())?;
        }
        for (stat, _) in &columns {
            write!(f, "{:>12.3}      ", self.mean(stat))?;
        }
        writeln!(f, "{:>10.3}          geometric means of {} shaders", self.time(), self.len())?;
        for r in self.0 {
            for (who, made) in [("the driver", &r.driver), ("Tepui", &r.tepui)] {
                if let Some(e) = &made.error {
                    let why = e.lines().next().unwrap_or("");
                    writeln!(f, "{who} refuses {}: {why}", r.name())?;
                }
            }
        }
        Ok(())
    }
}
