//! Runs shader text on the virtual M1: fragment shaders over a picture, compute shaders over buffers and images.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tepui_agx_bare::draw::{self, DepthStencil, Draw};
use tepui_agx_bare::{Buffer, Machine, shader};
use tepui_agx_model::{JobStats, Options, Watch};
use tepui_agx_packets::ppp::ZsFunc;
use tepui_check::Finding;
use tepui_debug::memory::Region;
use tepui_ir::Stage;

use crate::assembly::{self, Assembly};
use crate::bind::Resources;
use crate::compile::{Compiled, ShaderError, Text, compile, compile_vertex, tile, translate};
use crate::findings::SourceMap;
pub use crate::inputs::{Contents, ImageInput, Inputs, SamplerInput};

/// Largest picture in each direction.
const MAX_SIDE: u32 = 4096;
/// Instructions of a SIMD-group that a debugger watches after which its run counts as endless.
const MAX_WATCHED: u64 = 1 << 20;

/// The vertex shader of fragment shaders that come without one: a triangle over the whole picture, with coordinates from 0
/// to 1 at location 0.
pub(crate) const WHOLE: &str = "
struct Corner { @builtin(position) at: vec4f, @location(0) uv: vec2f }
@vertex fn main(@builtin(vertex_index) i: u32) -> Corner {
    let uv = vec2f(f32((i << 1u) & 2u), f32(i & 2u));
    return Corner(vec4f(uv * 2.0 - 1.0, 0.5, 1.0), uv);
}";

/// A storage buffer after a run.
#[derive(Clone, Debug, Serialize)]
pub struct After {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Name in the source.
    pub name: String,
    /// Its words.
    pub words: Vec<u32>,
}

/// A storage image after a run; its pixels are in [`Outcome::pixels`].
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Name in the source.
    pub name: String,
    /// Format of its texels.
    pub format: String,
    /// Width, and height of all layers together: they stand one below the other.
    pub size: [u32; 2],
    /// Layers or slices.
    pub layers: u32,
    /// Offset of its pixels.
    pub offset: usize,
    /// A hash of its texels, which shows whether two runs have left the same bits.
    pub fingerprint: String,
}

/// The results of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Width and height of the picture, of fragment shaders.
    pub size: [u32; 2],
    /// Red, green, blue, alpha, row by row: of the picture, then of the storage images.
    #[serde(skip)]
    pub pixels: Vec<u8>,
    /// Storage buffers.
    pub buffers: Vec<After>,
    /// Storage images.
    pub pictures: Vec<Picture>,
    /// Threads that ran.
    pub threads: u64,
    /// Instructions of SIMD-groups.
    pub instructions: u64,
    /// Findings of the checker.
    pub findings: Vec<Finding>,
}

/// Options of a run: callbacks of a debugger, and checks.
#[derive(Default)]
pub struct RunOptions {
    /// Callback for each instruction.
    pub watch: Option<Watch>,
    /// Reports all findings of the checker.
    pub check: bool,
    /// The checker looks at each instruction, also of programs whose register use was verified
    /// statically.
    pub watch_all: bool,
    /// Receives the buffers before anything runs.
    pub regions: Regions,
}

/// Addresses of the buffers of a run, by name.
#[derive(Clone, Default)]
pub struct Regions(Arc<Mutex<Vec<Region>>>);

impl Regions {
    /// Adds a buffer.
    pub(crate) fn add(&self, name: &str, buffer: &Buffer) {
        let (address, bytes) = (buffer.address(), buffer.size() as u64);
        let region = Region { name: name.to_owned(), address, bytes };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(region);
    }

    /// The buffers.
    pub(crate) fn take(&self) -> Vec<Region> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RunOptions {
    /// Options of the model for a run with a budget of instructions.
    pub(crate) fn options(self, budget: u64) -> Options {
        Options {
            check: self.check,
            audit: self.check,
            prove: !self.watch_all,
            // A short run is one of few SIMD-groups; what is checked runs as it would in a long one.
            translate_after: if self.check { 0 } else { Options::default().translate_after },
            threads: usize::from(self.watch.is_some()),
            instruction_budget: if self.watch.is_some() { MAX_WATCHED } else { budget },
            watch: self.watch,
            job_budget: budget,
            ..Options::default()
        }
    }
}

/// Compiles text and runs it.
///
/// # Errors
/// The text is refused, or its job faults.
pub fn run(text: &Text, inputs: &Inputs, how: RunOptions) -> Result<Outcome, ShaderError> {
    if text.assembly {
        return assembly::run(&Assembly::read(text)?, inputs, how);
    }
    let compiled = compile(text, false)?;
    run_compiled(text, &compiled, inputs, how)
}

/// Runs what was compiled of a text.
///
/// # Errors
/// The job faults.
pub fn run_compiled(
    text: &Text,
    compiled: &Compiled,
    inputs: &Inputs,
    how: RunOptions,
) -> Result<Outcome, ShaderError> {
    let regions = how.regions.clone();
    let mut machine = Machine::new(how.options(inputs.budget)).map_err(ShaderError::new)?;
    match compiled.shader.info.stage {
        Stage::Compute => {
            let resources = Resources::new(&mut machine, &[&compiled.translated], inputs)?;
            resources.tell(&regions);
            let (program, bindings) = (&compiled.program, &resources.bindings);
            let stats = shader::run(&mut machine, program, bindings, inputs.groups);
            let mut outcome =
                results(&stats.map_err(ShaderError::new)?, &SourceMap::of(text, compiled));
            resources.read(&mut outcome)?;
            Ok(outcome)
        }
        Stage::Fragment => draw(&mut machine, text, compiled, inputs, &regions),
        stage => Err(ShaderError::new(format!(
            "{stage} shaders run with a fragment shader in the same text: add one"
        ))),
    }
}

/// Threads, instructions and reports of a run.
pub(crate) fn results(stats: &JobStats, places: &SourceMap) -> Outcome {
    Outcome {
        threads: stats.threads,
        instructions: stats.instructions,
        findings: places.findings(&stats.reports),
        ..Outcome::default()
    }
}

fn draw(
    machine: &mut Machine,
    text: &Text,
    fragment: &Compiled,
    inputs: &Inputs,
    regions: &Regions,
) -> Result<Outcome, ShaderError> {
    if inputs.size.iter().any(|n| !(1..=MAX_SIDE).contains(n)) {
        return Err(ShaderError::new(format!(
            "the picture has 1 to {MAX_SIDE} pixels in each direction"
        )));
    }
    let (vertex, vertices) = match &fragment.vertex {
        Some(vertex) => (vertex.clone(), inputs.vertices),
        None => {
            let whole = Text { text: WHOLE.to_owned(), ..Text::default() };
            (translate(&whole.spirv()?, Stage::Vertex)?, 3)
        }
    };
    let vertex = compile_vertex(vertex, &fragment.program)?;
    let shaders = [&vertex.translated, &fragment.translated];
    let resources = Resources::new(machine, &shaders, inputs)?;
    resources.tell(regions);
    let bindings = &resources.bindings;
    // Rows of linear images are aligned to 16 bytes: four pixels.
    let width = inputs.size[0].next_multiple_of(4);
    let tile = tile();
    let size = [width as u16, inputs.size[1] as u16];
    let mut draw = Draw::triangles(&vertex.program, &fragment.program, &tile, size, bindings);
    draw.vertex_bindings = bindings;
    draw.vertices = vertices;
    draw.tests = DepthStencil { depth: ZsFunc::Less, stencil: None };
    draw.viewports = vec![[0.0, 0.0, inputs.size[0] as f32, inputs.size[1] as f32]];
    let draw::Picture { mut colours, stats } = machine.draw(&draw).map_err(ShaderError::new)?;
    let rows = colours.remove(&0).unwrap_or_default();
    let pixels = rows
        .chunks_exact(4 * width as usize)
        .take(inputs.size[1] as usize)
        .flat_map(|row| &row[..4 * inputs.size[0] as usize])
        .copied()
        .collect();
    let places = SourceMap::of(text, fragment);
    let mut outcome = Outcome { size: inputs.size, pixels, ..results(&stats, &places) };
    resources.read(&mut outcome)?;
    Ok(outcome)
}
