//! Compiles shader text and keeps what each stage made of it.

use std::collections::BTreeMap;

use serde::{Deserializer, Serialize};
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{self, Colours, Interface, VertexResults};
use tepui_agx_compiler::{Options, Program, Snapshot, Table, compile_as};
use tepui_format::Format;
use tepui_ir::{ResKind, Resource, Shader, Stage};

use crate::inputs::base64;
use crate::listing::{self, Line};
use crate::source::{self, Language, Source, SourceError, SourceLocation};
use crate::{intel, mali};

/// Longest text that is compiled.
const MAX_TEXT_B: usize = 1 << 20;

/// An error of a shader, or of its inputs.
#[derive(Clone, Debug, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct ShaderError {
    /// The message.
    pub message: String,
    /// The position in the source, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
}

impl ShaderError {
    /// An error without a position.
    pub fn new(message: impl ToString) -> ShaderError {
        ShaderError { message: message.to_string(), place: None }
    }
}

impl From<SourceError> for ShaderError {
    fn from(e: SourceError) -> ShaderError {
        ShaderError { message: e.message, place: e.place }
    }
}

/// Options of the compiler that change a program but not its interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub struct CodeOptions {
    /// The limit of half-registers, of Intel's GPUs of registers; 0 for the limit that the workgroup size implies.
    pub registers: u16,
    /// Buffer accesses are checked against the size of their buffer.
    pub robust: bool,
}

impl CodeOptions {
    fn options(self) -> Options {
        Options {
            registers: self.registers,
            robust: self.robust,
            names: true,
            ..Options::default()
        }
    }
}

/// A GPU that shaders are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The M1.
    M1,
    /// An Intel GPU.
    Intel(&'static tepui_intel_chips::Chip),
    /// A Mali GPU.
    Mali(&'static tepui_mali_chips::Chip),
}

/// A shader's text.
#[derive(Clone, Debug, Default, serde::Deserialize)]
pub struct Text {
    /// The text.
    pub text: String,
    /// GLSL: its stage, `compute`, `vertex` or `fragment`.
    #[serde(default)]
    pub stage: Option<String>,
    /// Name of its file, for findings.
    #[serde(default)]
    pub name: String,
    /// The text is assembly.
    #[serde(default)]
    pub assembly: bool,
    /// The GPU: `m1` if it is empty, else a name such as `skl` or `mali-g610`.
    #[serde(default)]
    pub gpu: String,
    /// Compiler options.
    #[serde(default)]
    pub code: CodeOptions,
    /// SPIR-V that another front end compiled from the text; base64 in JSON.
    #[serde(default, deserialize_with = "spirv_words")]
    pub words: Option<Vec<u32>>,
}

fn spirv_words<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u32>>, D::Error> {
    let bytes = base64(from)?;
    bytes.map(|b| source::words(&b)).transpose().map_err(serde::de::Error::custom)
}

impl Text {
    /// The GPU that is asked for.
    ///
    /// # Errors
    /// There is no such GPU.
    pub fn target(&self) -> Result<Target, ShaderError> {
        let id = self.gpu.as_str();
        if ["", "m1"].contains(&id) {
            return Ok(Target::M1);
        }
        let found = intel::chip(id).map(Target::Intel);
        found.or_else(|| mali::chip(id).map(Target::Mali)).ok_or_else(|| {
            ShaderError::new(format!(
                "`{id}` is no GPU that shaders are compiled for: m1, skl, tgl, mali-g57, mali-g610"
            ))
        })
    }

    fn stage(&self) -> Result<Option<Stage>, ShaderError> {
        self.stage
            .as_deref()
            .map(|s| match s {
                "compute" => Ok(Stage::Compute),
                "vertex" => Ok(Stage::Vertex),
                "fragment" => Ok(Stage::Fragment),
                s => Err(ShaderError::new(format!("`{s}` is no stage"))),
            })
            .transpose()
    }

    /// The shader as SPIR-V.
    ///
    /// # Errors
    /// Errors of naga.
    pub fn spirv(&self) -> Result<Vec<u32>, ShaderError> {
        if let Some(words) = &self.words {
            return Ok(words.clone());
        }
        if self.text.len() > MAX_TEXT_B {
            return Err(ShaderError::new(format!("more than {MAX_TEXT_B} bytes of text")));
        }
        let source = Source { name: "shader", text: &self.text, defines: &[], spec: &[] };
        Ok(match source::language_of(&self.text) {
            Language::Wgsl => source::wgsl(&source)?,
            Language::Glsl => source::glsl(&source, self.stage()?.unwrap_or(Stage::Compute))?,
        })
    }

    /// The stage to look at: the one asked for, else the last of compute, fragment, vertex that there is.
    pub(crate) fn stage_of(&self, words: &[u32]) -> Result<Stage, ShaderError> {
        let all = tepui_spirv::entry_points(words).map_err(ShaderError::new)?;
        let has = |stage| all.iter().any(|e| e.1 == Some(stage));
        let order = [Stage::Compute, Stage::Fragment, Stage::Vertex];
        match (self.stage()?.filter(|&s| has(s)), order.into_iter().find(|&s| has(s))) {
            (Some(stage), _) | (None, Some(stage)) => Ok(stage),
            (None, None) => Err(ShaderError::new(
                "there is no entry point: write @compute, @fragment or @vertex before a function",
            )),
        }
    }
}

/// IR or machine IR after a pass.
#[derive(Serialize, Clone, Debug)]
pub struct Pass {
    /// The pass.
    pub name: &'static str,
    /// The IR or machine IR after it.
    pub text: String,
}

impl Pass {
    /// Adds what a pass left; passes that change nothing are left out.
    pub(crate) fn add(kept: &mut Vec<Pass>, name: &'static str, text: String) {
        if kept.last().is_none_or(|last| last.text != text) {
            kept.push(Pass { name, text });
        }
    }
}

/// A buffer, image or sampler that a shader names.
#[derive(Serialize, Clone, Debug, PartialEq, Eq)]
pub struct ResourceInfo {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Name in the source.
    pub name: String,
    /// The word for its kind, as [`ResKind::name`].
    pub kind: &'static str,
    /// Images: the word for their dimensions, as [`tepui_ir::Dim::name`]; nothing for the rest.
    pub dim: &'static str,
    /// Whether it needs a sampler.
    pub sampler: bool,
}

impl ResourceInfo {
    fn new(r: &Resource) -> ResourceInfo {
        ResourceInfo {
            set: r.set,
            binding: r.binding,
            name: r.name.clone(),
            kind: r.kind.name(),
            dim: if takes_image(r.kind) { r.dim.name() } else { "" },
            sampler: takes_sampler(r.kind),
        }
    }
}

/// The resources of shaders, each once.
pub(crate) fn resources_of(shaders: [Option<&Shader>; 2]) -> Vec<ResourceInfo> {
    let mut resources: Vec<ResourceInfo> = Vec::new();
    for shader in shaders.into_iter().flatten() {
        for named in shader.resources.values().map(ResourceInfo::new) {
            if !resources.contains(&named) {
                resources.push(named);
            }
        }
    }
    resources
}

/// Whether a resource is an image or a texel buffer, alone or with a sampler.
#[must_use]
pub fn takes_image(kind: ResKind) -> bool {
    !matches!(kind, ResKind::UniformBuffer | ResKind::StorageBuffer | ResKind::Sampler)
}

/// Whether a resource is a sampler, alone or with an image.
#[must_use]
pub fn takes_sampler(kind: ResKind) -> bool {
    matches!(kind, ResKind::Sampler | ResKind::CombinedTextureSampler)
}

/// A compiled shader, for a page.
#[derive(Serialize, Clone, Debug)]
pub struct Report {
    /// Stage.
    pub stage: String,
    /// Threads of a workgroup.
    pub workgroup: [u32; 3],
    /// Instructions of the preamble, which runs once before.
    pub preamble: Vec<Line>,
    /// Instructions.
    pub asm: Vec<Line>,
    /// Statistics by name.
    pub stats: BTreeMap<String, i64>,
    /// Explanation of the occupancy limit, or the channels and registers of a thread.
    pub occupancy: String,
    /// Statistics in the format of shader-db, of Intel's GPUs a line for each number of channels.
    pub summary: String,
    /// Buffers, images and samplers, including those of the vertex shader in the same text.
    pub resources: Vec<ResourceInfo>,
    /// IR and machine IR after each pass, if requested.
    pub passes: Vec<Pass>,
}

/// A compiled shader.
pub struct Compiled {
    /// Its IR after all passes, with the names of files and lines.
    pub shader: Shader,
    /// Its IR before all passes.
    pub translated: Shader,
    /// Machine code.
    pub program: Program,
    /// IR after each pass.
    pub passes: Vec<Pass>,
    /// The vertex shader of the same text, of fragment shaders.
    pub vertex: Option<Shader>,
}

/// The colour image of fragment shaders.
#[must_use]
pub fn tile() -> Tile {
    let mut tile = Tile { samples: 1, ..Tile::default() };
    tile.formats[0] = Some(Format::R8G8B8A8_UNORM);
    tile
}

/// The interface of a fragment shader that writes [`tile`].
fn fragment() -> Interface {
    let colours = Colours::Tile(Box::new(tile()));
    Interface::Fragment(abi::Fragment { colours, ..abi::Fragment::default() })
}

/// Translates one stage of SPIR-V to IR.
///
/// # Errors
/// It uses what Tepui does not know.
pub fn translate(words: &[u32], stage: Stage) -> Result<Shader, ShaderError> {
    let options =
        tepui_spirv::Options { entry: None, stage: Some(stage), ..tepui_spirv::Options::default() };
    tepui_spirv::translate(words, &options).map_err(ShaderError::new)
}

/// Compiles IR for an M1.
///
/// # Errors
/// It needs what is not compiled.
pub fn compile_ir(
    translated: Shader,
    options: CodeOptions,
    interface: &Interface,
    passes: bool,
) -> Result<Compiled, ShaderError> {
    let mut kept = Vec::new();
    if passes {
        kept.push(Pass { name: "spirv", text: translated.to_string() });
    }
    let mut shader = translated.clone();
    let mut after = |name: &'static str, made: Snapshot<'_>| {
        if !passes {
            return;
        }
        let text = match made {
            Snapshot::Ir(s) => s.to_string(),
            Snapshot::Mir(m) => m.to_string(),
        };
        Pass::add(&mut kept, name, text);
    };
    let program = compile_as(&mut shader, &options.options(), interface, &mut after)
        .map_err(ShaderError::new)?;
    Ok(Compiled { shader, translated, program, passes: kept, vertex: None })
}

/// Compiles text.
///
/// # Errors
/// Reasons why it is refused, with the place where that is known.
pub fn compile(text: &Text, passes: bool) -> Result<Compiled, ShaderError> {
    let words = text.spirv()?;
    let stage = text.stage_of(&words)?;
    let interface = match stage {
        Stage::Fragment => fragment(),
        stage => Interface::main(stage),
    };
    let vertex = match stage {
        Stage::Fragment => translate(&words, Stage::Vertex).ok(),
        _ => None,
    };
    let compiled = compile_ir(translate(&words, stage)?, text.code, &interface, passes)?;
    Ok(Compiled { vertex, ..compiled })
}

/// Compiles text for the GPU that it names.
///
/// # Errors
/// As [`compile`].
pub fn report(text: &Text, passes: bool) -> Result<Report, ShaderError> {
    Ok(match text.target()? {
        Target::Intel(chip) => intel::compile(text, chip, passes)?.report(),
        Target::Mali(chip) => mali::compile(text, chip, passes)?.report(),
        Target::M1 => compile(text, passes)?.report(),
    })
}

/// The vertex program for a fragment program.
///
/// # Errors
/// It needs what is not compiled.
pub fn compile_vertex(vertex: Shader, fragment: &Program) -> Result<Compiled, ShaderError> {
    let Table::Fragment(table) = &fragment.table else {
        return Err(ShaderError::new("this is no fragment shader"));
    };
    let results = VertexResults::StoreFor(table.clone());
    let interface = Interface::Vertex(abi::Vertex { results, ..abi::Vertex::default() });
    compile_ir(vertex, CodeOptions::default(), &interface, false)
}

impl Compiled {
    /// The report that the page shows.
    #[must_use]
    pub fn report(self) -> Report {
        let (p, s) = (&self.program, &self.shader);
        let stage = s.info.stage.to_string();
        let stats = serde_json::to_value(p.stats).ok();
        Report {
            workgroup: p.workgroup_size,
            preamble: p.preamble.as_deref().map_or(Vec::new(), |c| listing::lines(c, s, &[])),
            asm: listing::lines(&p.code, s, &p.locs),
            stats: stats.and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default(),
            occupancy: occupancy(p),
            summary: p.stats.line(&stage.to_uppercase()),
            resources: resources_of([Some(&self.translated), self.vertex.as_ref()]),
            passes: self.passes,
            stage,
        }
    }
}

/// Explains what limits the number of threads per core.
fn occupancy(p: &Program) -> String {
    const MAX_THREADS: u32 = 1024;
    let s = &p.stats;
    if s.threads >= MAX_THREADS {
        return format!("{} threads a core, as many as there can be", s.threads);
    }
    format!(
        "{} threads a core: {} half-registers a thread; {} or fewer would give {MAX_THREADS}",
        s.threads,
        s.registers,
        tepui_agx_compiler::occupancy::tier(0)
    )
}
