//! What a script says, with names resolved to numbers.

use tepui_format::Format;
use tepui_ir::interp::SamplerData;

use crate::data::{Element, Number};

/// A stage of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Vulkan's")]
pub enum Stage {
    Compute,
    Vertex,
    TessellationControl,
    TessellationEvaluation,
    Geometry,
    Fragment,
}

/// How a shader is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// GLSL.
    Glsl,
    /// SPIR-V's assembly.
    SpirvAsm,
    /// Words of SPIR-V in hexadecimal.
    SpirvHex,
}

/// A shader.
#[derive(Clone, Debug)]
pub struct Shader {
    /// The stage it says it is for.
    pub stage: Stage,
    /// Its language.
    pub language: Language,
    /// What it is assembled for, as the script says.
    pub target: Option<String>,
    /// The text.
    pub source: String,
}

/// Texels of a buffer that is an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texels {
    /// Their format.
    pub format: Format,
    /// Dimensions, 1 to 3.
    pub dimensions: u8,
    /// Width, height and depth; known at the latest when a pipeline draws to it.
    pub size_px: [u32; 3],
}

/// A buffer or an image.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// The type of its elements, if numbers are told apart in them.
    pub element: Option<Element>,
    /// What it is as an image.
    pub texels: Option<Texels>,
    /// Its bytes at the start.
    pub bytes: Vec<u8>,
}

/// What a pipeline binds a buffer as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Uniform buffer.
    Uniform,
    /// Storage buffer.
    Storage,
    /// Image that is sampled.
    Sampled,
    /// Image with the sampler of this number.
    Combined(usize),
    /// Image that is loaded from and stored to.
    StorageImage,
    /// Texel buffer.
    UniformTexels,
    /// Texel buffer that is stored to.
    StorageTexels,
    /// The sampler of this number alone.
    Sampler(usize),
}

/// A binding.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Set, binding and element.
    pub slot: (u32, u32, u32),
    /// As what.
    pub usage: Usage,
    /// The buffer; of a sampler, anything.
    pub buffer: usize,
}

/// A vertex attribute.
#[derive(Clone, Copy, Debug)]
pub struct VertexData {
    /// Its location.
    pub location: u32,
    /// The buffer.
    pub buffer: usize,
    /// Elements go with instances.
    pub per_instance: bool,
}

/// A shader in a pipeline.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Its number.
    pub shader: usize,
    /// The entry point.
    pub entry: String,
    /// Specialisation constants: number and bits.
    pub constants: Vec<(u32, u64)>,
}

/// A pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// It draws.
    pub graphics: bool,
    /// Its shaders.
    pub stages: Vec<Attached>,
    /// What its shaders see.
    pub bindings: Vec<Binding>,
    /// Buffer of the push constants.
    pub push: Option<usize>,
    /// Colour attachments: location and buffer.
    pub colours: Vec<(u32, usize)>,
    /// Attributes.
    pub vertex_data: Vec<VertexData>,
    /// Buffer of indices.
    pub indices: Option<usize>,
    /// Width and height of the framebuffer.
    pub size_px: [u32; 2],
}

/// What vertices form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Vulkan's")]
pub enum Topology {
    PointList,
    LineList,
    LineStrip,
    TriangleList,
    TriangleStrip,
    TriangleFan,
}

/// What a pipeline does.
#[derive(Clone, Debug)]
pub enum Work {
    /// So many workgroups.
    Groups([u32; 3]),
    /// Vertices with two coordinates at location 0.
    Vertices(Topology, Vec<[f32; 2]>),
    /// Vertices of the attributes' buffers.
    Array {
        /// What they form.
        topology: Topology,
        /// The first vertex or index.
        first: u32,
        /// How many.
        count: u32,
        /// Instances.
        instances: u32,
        /// Through indices.
        indexed: bool,
    },
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the script's")]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// How far numbers may be apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The distance.
    pub by: f64,
    /// In hundredths of the expected number.
    pub percent: bool,
}

/// What is expected of a buffer.
#[derive(Clone, Debug)]
pub enum Check {
    /// Numbers from a byte on.
    Numbers {
        /// The byte.
        at: usize,
        /// What holds between each and its peer.
        comparison: Comparison,
        /// The peers.
        numbers: Vec<Number>,
        /// One for all, or one for each.
        tolerances: Vec<Tolerance>,
    },
    /// Colours of a rectangle.
    Pixels {
        /// Left, top, width, height.
        rectangle: [u32; 4],
        /// Red, green, blue and perhaps alpha, in 255ths.
        colour: Vec<f64>,
        /// In 255ths.
        tolerances: Vec<Tolerance>,
    },
    /// The same bytes as another buffer.
    Same(usize),
    /// The root of the mean square of differences to another buffer, in 255ths.
    MeanSquare(usize, f64),
    /// The distance of the histograms of both, from 0 to 1.
    Histogram(usize, f64),
}

/// A step of a script.
#[derive(Clone, Debug)]
pub enum Command {
    /// What [`Command::Clear`] fills colours with.
    ClearColour(usize, [f32; 4]),
    /// Fills the colour attachments of a pipeline.
    Clear(usize),
    /// Runs a pipeline.
    Run(usize, Work),
    /// Compares.
    Expect(usize, Check),
    /// Copies a buffer over another.
    Copy(usize, usize),
    /// So many times.
    Repeat(u32, Vec<(usize, Command)>),
}

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Its shaders.
    pub shaders: Vec<Shader>,
    /// Its buffers and images.
    pub buffers: Vec<Buffer>,
    /// Its samplers.
    pub samplers: Vec<SamplerData>,
    /// Its pipelines.
    pub pipelines: Vec<Pipeline>,
    /// Its steps, each with its line.
    pub commands: Vec<(usize, Command)>,
}
