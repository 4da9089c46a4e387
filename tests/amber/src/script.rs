//! A parsed script, with names resolved to indices.

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

/// The language of a shader.
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
    /// Its stage.
    pub stage: Stage,
    /// Its language.
    pub language: Language,
    /// The target environment, if the script gives one.
    pub target: Option<String>,
    /// The text.
    pub source: String,
}

/// Format and size of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texels {
    /// Their format.
    pub format: Format,
    /// Dimensions, 1 to 3.
    pub dimensions: u8,
    /// Width, height and depth; for attachments, taken from the pipeline.
    pub size_px: [u32; 3],
}

/// A buffer or an image.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its element type, if it consists of numbers.
    pub element: Option<Element>,
    /// Format and size, if it is an image.
    pub texels: Option<Texels>,
    /// Its initial bytes.
    pub bytes: Vec<u8>,
}

/// The type of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Uniform buffer.
    Uniform,
    /// Storage buffer.
    Storage,
    /// Sampled image.
    Sampled,
    /// Combined image sampler, with the index of the sampler.
    Combined(usize),
    /// Storage image.
    StorageImage,
    /// Uniform texel buffer.
    UniformTexels,
    /// Storage texel buffer.
    StorageTexels,
    /// Sampler, with its index.
    Sampler(usize),
}

/// A binding.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Descriptor set, binding and array element.
    pub slot: (u32, u32, u32),
    /// The type.
    pub usage: Usage,
    /// The buffer; unused for a sampler.
    pub buffer: usize,
}

/// A vertex attribute.
#[derive(Clone, Copy, Debug)]
pub struct VertexData {
    /// Its location.
    pub location: u32,
    /// The buffer.
    pub buffer: usize,
    /// Whether it advances per instance.
    pub per_instance: bool,
}

/// A shader in a pipeline.
#[derive(Clone, Debug)]
pub struct PipelineShader {
    /// Index of the shader.
    pub shader: usize,
    /// The entry point.
    pub entry: String,
    /// Specialisation constants: id and bits.
    pub constants: Vec<(u32, u64)>,
}

/// A pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Whether it is a graphics pipeline.
    pub graphics: bool,
    /// Its shaders.
    pub stages: Vec<PipelineShader>,
    /// Resource bindings.
    pub bindings: Vec<Binding>,
    /// Buffer of the push constants.
    pub push: Option<usize>,
    /// Colour attachments: location and buffer.
    pub colours: Vec<(u32, usize)>,
    /// Attributes.
    pub vertex_data: Vec<VertexData>,
    /// The index buffer.
    pub indices: Option<usize>,
    /// Width and height of the framebuffer.
    pub size_px: [u32; 2],
}

/// Primitive topology.
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

/// A dispatch or draw.
#[derive(Clone, Debug)]
pub enum Work {
    /// A dispatch of workgroups.
    Groups([u32; 3]),
    /// A draw with two-component positions at location 0.
    Vertices(Topology, Vec<[f32; 2]>),
    /// A draw with vertex buffers.
    Array {
        /// Primitive topology.
        topology: Topology,
        /// The first vertex or index.
        first: u32,
        /// Number of vertices or indices.
        count: u32,
        /// Number of instances.
        instances: u32,
        /// Whether the draw is indexed.
        indexed: bool,
    },
}

/// Comparison of two numbers.
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

/// Tolerance of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Largest difference.
    pub by: f64,
    /// Whether it is in percent of the expected number.
    pub percent: bool,
}

/// An expectation about a buffer.
#[derive(Clone, Debug)]
pub enum Check {
    /// The numbers from an offset on.
    Numbers {
        /// The offset in bytes.
        at: usize,
        /// The comparison of each number with the expected one.
        comparison: Comparison,
        /// The expected numbers.
        numbers: Vec<Number>,
        /// One tolerance for all numbers, or one for each.
        tolerances: Vec<Tolerance>,
    },
    /// The colours of a rectangle.
    Pixels {
        /// Left, top, width, height.
        rectangle: [u32; 4],
        /// Red, green, blue and perhaps alpha, in 255ths.
        colour: Vec<f64>,
        /// Tolerances in 255ths.
        tolerances: Vec<Tolerance>,
    },
    /// The buffer has the same bytes as another.
    Same(usize),
    /// Limit on the root mean square difference from another buffer, in 255ths.
    MeanSquare(usize, f64),
    /// Limit on the earth mover's distance of the histograms of two buffers, from 0 to 1.
    Histogram(usize, f64),
}

/// A command of a script.
#[derive(Clone, Debug)]
pub enum Command {
    /// Sets the clear colour of [`Command::Clear`].
    ClearColour(usize, [f32; 4]),
    /// Clears the colour attachments of a pipeline.
    Clear(usize),
    /// Runs a pipeline.
    Run(usize, Work),
    /// Checks an expectation.
    Expect(usize, Check),
    /// Copies a buffer over another.
    Copy(usize, usize),
    /// Repeats commands this number of times.
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
    /// Its commands, each with its line.
    pub commands: Vec<(usize, Command)>,
}
