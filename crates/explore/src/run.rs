//! Runs shader text on the virtual M1: fragment shaders over a picture, compute shaders over buffers.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tepui_agx_bare::draw::{DepthStencil, Draw, Picture};
use tepui_agx_bare::shader::{self, Bindings};
use tepui_agx_bare::{Buffer, Machine};
use tepui_agx_model::{JobStats, Options, Watch};
use tepui_agx_packets::ppp::ZsFunc;
use tepui_check::Finding;
use tepui_debug::memory::Region;
use tepui_ir::{ResKind, Shader, Stage};

use crate::assembly::{self, Assembly};
use crate::compile::{Compiled, Refused, Text, compile, compile_vertex, tile, translate};
use crate::findings::Places;

/// Largest picture in each direction.
const MAX_SIDE: u32 = 4096;
/// Bytes of all buffers.
pub(crate) const MAX_BUFFERS_B: usize = 1 << 28;
/// Instructions of all SIMD-groups after which a run counts as endless: seconds in a browser.
const MAX_INSTRUCTIONS: u64 = 1 << 28;
/// The same of one SIMD-group, when a debugger watches.
const MAX_WATCHED: u64 = 1 << 20;
/// Bytes of a buffer of which nothing is said.
const DEFAULT_B: usize = 4096;

/// The vertex shader of fragment shaders that come without one: a triangle over the whole picture, with coordinates from 0
/// to 1 at location 0.
const WHOLE: &str = "
struct Corner { @builtin(position) at: vec4f, @location(0) uv: vec2f }
@vertex fn main(@builtin(vertex_index) i: u32) -> Corner {
    let uv = vec2f(f32((i << 1u) & 2u), f32(i & 2u));
    return Corner(vec4f(uv * 2.0 - 1.0, 0.5, 1.0), uv);
}";

/// What a run is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Inputs {
    /// Width and height of the picture.
    pub size: [u32; 2],
    /// Seconds since the start: `time` of the uniform buffer.
    pub time: f32,
    /// Place of the pointer in pixels.
    pub pointer: [f32; 2],
    /// Vertices of the draw.
    pub vertices: u32,
    /// Workgroups in each direction.
    pub groups: [u32; 3],
    /// Buffers' contents.
    pub buffers: Vec<Contents>,
}

impl Default for Inputs {
    fn default() -> Inputs {
        Inputs {
            size: [256, 256],
            time: 0.0,
            pointer: [0.0; 2],
            vertices: 3,
            groups: [1; 3],
            buffers: Vec::new(),
        }
    }
}

/// The contents of a storage buffer.
#[derive(Clone, Debug, Deserialize)]
pub struct Contents {
    /// Descriptor set.
    #[serde(default)]
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// How many words it has.
    pub words: usize,
    /// What they are: `zeros`, `index` (0, 1, 2, … as floats) or `random` (floats from 0 to 1).
    #[serde(default)]
    pub fill: String,
    /// The words themselves, in place of all that.
    #[serde(skip)]
    pub data: Option<Vec<u32>>,
}

impl Contents {
    pub(crate) fn words(&self) -> Vec<u32> {
        if let Some(data) = &self.data {
            return data.clone();
        }
        let count = self.words.min(MAX_BUFFERS_B / 4);
        let mut state = 0x2545_f491u32;
        let mut random = || {
            // xorshift32
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            ((state >> 8) as f32 / (1u32 << 24) as f32).to_bits()
        };
        match self.fill.as_str() {
            "index" => (0..count).map(|k| (k as f32).to_bits()).collect(),
            "random" => (0..count).map(|_| random()).collect(),
            _ => vec![0; count],
        }
    }
}

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

/// The results of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// Width and height of the picture, of fragment shaders.
    pub size: [u32; 2],
    /// Red, green, blue, alpha, row by row.
    #[serde(skip)]
    pub pixels: Vec<u8>,
    /// Storage buffers, of compute shaders.
    pub buffers: Vec<After>,
    /// Threads that ran.
    pub threads: u64,
    /// Instructions of SIMD-groups.
    pub instructions: u64,
    /// What the checker found.
    pub findings: Vec<Finding>,
}

/// A run that a debugger watches.
#[derive(Default)]
pub struct How {
    /// Is told of each instruction.
    pub watch: Option<Watch>,
    /// Report all that the checker finds.
    pub check: bool,
    /// The checker looks at each instruction, also of programs whose registers are proven to be right.
    pub watch_all: bool,
    /// Is told where buffers are before anything runs.
    pub regions: Regions,
}

/// Where the buffers of a run are, by name.
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

impl How {
    /// Options of the model.
    pub(crate) fn options(self) -> Options {
        Options {
            check: self.check,
            audit: self.check,
            prove: !self.watch_all,
            // A short run is one of few SIMD-groups; what is checked runs as it would in a long one.
            translate_after: if self.check { 0 } else { Options::default().translate_after },
            threads: usize::from(self.watch.is_some()),
            instruction_budget: if self.watch.is_some() { MAX_WATCHED } else { MAX_INSTRUCTIONS },
            watch: self.watch,
            job_budget: MAX_INSTRUCTIONS,
            ..Options::default()
        }
    }
}

/// Compiles text and runs it.
///
/// # Errors
/// The text is refused, or its job faults.
pub fn run(text: &Text, inputs: &Inputs, how: How) -> Result<Outcome, Refused> {
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
    how: How,
) -> Result<Outcome, Refused> {
    let regions = how.regions.clone();
    let mut machine = Machine::new(how.options()).map_err(Refused::new)?;
    let (bindings, buffers) = bind(&mut machine, &compiled.translated, inputs)?;
    for (name, _, buffer) in &buffers {
        regions.add(name, buffer);
    }
    match compiled.shader.info.stage {
        Stage::Compute => {
            let stats = shader::run(&mut machine, &compiled.program, &bindings, inputs.groups);
            let stats = stats.map_err(Refused::new)?;
            let mut outcome = results(&stats, &Places::of(text, compiled));
            for (name, (set, binding), buffer) in buffers {
                let words = buffer.read_words().map_err(Refused::new)?;
                outcome.buffers.push(After { set, binding, name, words });
            }
            Ok(outcome)
        }
        Stage::Fragment => draw(&mut machine, text, compiled, &bindings, inputs),
        stage => Err(Refused::new(format!(
            "{stage} shaders run with a fragment shader in the same text: add one"
        ))),
    }
}

/// Threads, instructions and reports of a run.
pub(crate) fn results(stats: &JobStats, places: &Places) -> Outcome {
    Outcome {
        threads: stats.threads,
        instructions: stats.instructions,
        findings: places.findings(&stats.reports),
        ..Outcome::default()
    }
}

/// Name, set and binding, and memory of each storage buffer.
type Storage = Vec<(String, (u32, u32), Buffer)>;

/// Buffers for all that the shader names. Uniform buffers hold width, height, time and, behind a word of zero, the pointer.
fn bind(
    machine: &mut Machine,
    s: &Shader,
    inputs: &Inputs,
) -> Result<(Bindings, Storage), Refused> {
    let (mut bindings, mut storage) = (Bindings::default(), Vec::new());
    let mut room = MAX_BUFFERS_B;
    for r in s.resources.values() {
        let words = match r.kind {
            ResKind::UniformBuffer => {
                let [width, height] = inputs.size.map(|n| n as f32);
                let [x, y] = inputs.pointer;
                [width, height, inputs.time, 0.0, x, y].map(f32::to_bits).to_vec()
            }
            ResKind::StorageBuffer => {
                let own = |c: &&Contents| (c.set, c.binding) == (r.set, r.binding);
                match inputs.buffers.iter().find(own) {
                    Some(contents) => contents.words(),
                    None => vec![0; DEFAULT_B / 4],
                }
            }
            _ => {
                return Err(Refused::new(format!(
                    "`{}` at set {} binding {}: images and samplers cannot be given here yet; \
                     `tepui exec` takes them",
                    r.name, r.set, r.binding
                )));
            }
        };
        // What lies behind the known words reads as zero.
        let bytes =
            (4 * words.len()).max(if r.kind == ResKind::UniformBuffer { 1 << 16 } else { 4 });
        room = room
            .checked_sub(bytes)
            .ok_or_else(|| Refused::new(format!("buffers of more than {MAX_BUFFERS_B} bytes")))?;
        let buffer = machine.buffer(bytes).map_err(Refused::new)?;
        buffer.write_words(&words).map_err(Refused::new)?;
        if r.kind == ResKind::StorageBuffer {
            storage.push((r.name.clone(), (r.set, r.binding), buffer.clone()));
        }
        bindings.buffers.insert((r.set, r.binding, 0), buffer);
    }
    Ok((bindings, storage))
}

fn draw(
    machine: &mut Machine,
    text: &Text,
    fragment: &Compiled,
    bindings: &Bindings,
    inputs: &Inputs,
) -> Result<Outcome, Refused> {
    if inputs.size.iter().any(|n| !(1..=MAX_SIDE).contains(n)) {
        return Err(Refused::new(format!(
            "the picture has 1 to {MAX_SIDE} pixels in each direction"
        )));
    }
    let own = text.spirv().ok().and_then(|words| translate(&words, Stage::Vertex).ok());
    let (vertex, vertices) = match own {
        Some(vertex) => (vertex, inputs.vertices),
        None => {
            let whole = Text { text: WHOLE.to_owned(), ..Text::default() };
            (translate(&whole.spirv()?, Stage::Vertex)?, 3)
        }
    };
    let vertex = compile_vertex(vertex, &fragment.program)?;
    let (vertex_bindings, _) = bind(machine, &vertex.translated, inputs)?;
    // Rows of linear images are aligned to 16 bytes: four pixels.
    let width = inputs.size[0].next_multiple_of(4);
    let tile = tile();
    let size = [width as u16, inputs.size[1] as u16];
    let mut draw = Draw::triangles(&vertex.program, &fragment.program, &tile, size, bindings);
    draw.vertex_bindings = &vertex_bindings;
    draw.vertices = vertices;
    draw.tests = DepthStencil { depth: ZsFunc::Less, stencil: None };
    draw.viewports = vec![[0.0, 0.0, inputs.size[0] as f32, inputs.size[1] as f32]];
    let Picture { mut colours, stats } = machine.draw(&draw).map_err(Refused::new)?;
    let rows = colours.remove(&0).unwrap_or_default();
    let pixels = rows
        .chunks_exact(4 * width as usize)
        .take(inputs.size[1] as usize)
        .flat_map(|row| &row[..4 * inputs.size[0] as usize])
        .copied()
        .collect();
    Ok(Outcome { size: inputs.size, pixels, ..results(&stats, &Places::of(text, fragment)) })
}
