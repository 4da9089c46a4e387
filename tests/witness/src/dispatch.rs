//! Runs a compute shader on a driver with given memory, and returns the contents of its buffers and
//! images.

use ash::vk;
use serde::{Deserialize, Serialize};

use crate::gpu::{Bind, Buffer, Gpu, Image, ImageSpec, Result, SamplerSpec, Shape, Transfer};

/// An image with its texels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Picture {
    /// Whether shaders store to it.
    pub storage: bool,
    /// Number of the `VkFormat`.
    pub format: i32,
    /// Dimensions: 1 to 3, or 4 for a cube.
    pub dimensions: u8,
    /// Whether its layers form an array.
    pub array: bool,
    /// Width, height and depth of level 0.
    pub size_px: [u32; 3],
    /// Layers; six for each cube.
    pub layers: u32,
    /// Texels of each level: x fastest, then y, z, layer.
    pub levels: Vec<Vec<u8>>,
}

/// A sampler, in the numbers of `VkSamplerCreateInfo`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are Vulkan's")]
pub struct Sampler {
    pub mag: i32,
    pub min: i32,
    pub mip: i32,
    pub wrap: [i32; 3],
    pub lod: [f32; 2],
    pub border: i32,
    pub compare: Option<i32>,
    pub unnormalized: bool,
}

/// The contents of an array element of a binding.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Element {
    /// Uniform buffer.
    Uniform(Vec<u8>),
    /// Storage buffer.
    Storage(Vec<u8>),
    /// Texel buffer.
    Texels {
        /// Whether shaders store to it.
        storage: bool,
        /// Number of the `VkFormat`.
        format: i32,
        /// Its texels.
        bytes: Vec<u8>,
    },
    /// Storage image or sampled image.
    Image(Picture),
    /// A separate sampler.
    Sampler(Sampler),
    /// Sampled image with its sampler.
    Texture(Picture, Sampler),
}

/// A dispatch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its name, for messages.
    pub name: String,
    /// The module.
    pub spirv: Vec<u32>,
    /// Its entry point.
    pub entry: String,
    /// Specialisation constants of 32 bits by their ids.
    pub constants: Vec<(u32, u32)>,
    /// Workgroups in each direction.
    pub groups: [u32; 3],
    /// Push constants.
    pub push: Vec<u8>,
    /// Elements of bindings 0, 1, 2, … of set 0.
    pub bindings: Vec<Vec<Element>>,
}

/// The outputs of a dispatch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DispatchOutputs {
    /// Lanes of the driver's sub-groups.
    pub subgroup: u32,
    /// The bytes of each element of each binding: buffers, and level 0 of storage images. Empty for read-only
    /// resources.
    pub bindings: Vec<Vec<Vec<u8>>>,
}

/// An element in the driver's memory.
enum Resource {
    Buffer(Buffer, bool),
    Texels(Buffer, bool, vk::BufferView),
    Image(Image, bool, usize),
    Sampler(vk::Sampler),
    Texture(Image, vk::Sampler),
}

impl Resource {
    fn new(gpu: &Gpu, e: &Element) -> Result<Resource> {
        Ok(match e {
            Element::Uniform(bytes) => Resource::Buffer(gpu.buffer(bytes)?, true),
            Element::Storage(bytes) => Resource::Buffer(gpu.buffer(bytes)?, false),
            Element::Texels { storage, format, bytes } => {
                let buffer = gpu.buffer(bytes)?;
                let format = vk::Format::from_raw(*format);
                let view = gpu.buffer_view(&buffer, format, 0, bytes.len() as u64)?;
                Resource::Texels(buffer, *storage, view)
            }
            Element::Image(p) => {
                Resource::Image(image(gpu, p)?, p.storage, p.levels.first().map_or(0, Vec::len))
            }
            Element::Sampler(s) => Resource::Sampler(sampler(gpu, s)?),
            Element::Texture(p, s) => Resource::Texture(image(gpu, p)?, sampler(gpu, s)?),
        })
    }

    fn bind(&self) -> Bind<'_> {
        match self {
            Resource::Buffer(b, true) => Bind::Uniform(b),
            Resource::Buffer(b, false) => Bind::Storage(b),
            Resource::Texels(_, true, view) => Bind::StorageTexel(*view),
            Resource::Texels(_, false, view) => Bind::UniformTexel(*view),
            Resource::Image(i, true, _) => Bind::StorageImage(i.view),
            Resource::Image(i, false, _) => Bind::Sampled(i.view),
            Resource::Sampler(s) => Bind::Sampler(*s),
            Resource::Texture(i, s) => Bind::Texture(i.view, *s),
        }
    }

    fn bytes(&self, gpu: &Gpu) -> Result<Vec<u8>> {
        match self {
            Resource::Buffer(b, _) | Resource::Texels(b, ..) => Ok(b.bytes()),
            Resource::Image(i, true, len) => gpu.read_image(i, 0, *len),
            _ => Ok(Vec::new()),
        }
    }
}

fn image(gpu: &Gpu, p: &Picture) -> Result<Image> {
    let shape = match (p.dimensions, p.array) {
        (1, false) => Shape::D1,
        (1, true) => Shape::D1Array,
        (3, _) => Shape::D3,
        (4, false) => Shape::Cube,
        (4, true) => Shape::CubeArray,
        (_, false) => Shape::D2,
        (_, true) => Shape::D2Array,
    };
    let format = vk::Format::from_raw(p.format);
    let spec = match p.storage {
        true => ImageSpec::storage(format, shape, p.size_px),
        false => ImageSpec::sampled(format, shape, p.size_px),
    };
    let spec = spec.layers(p.layers).levels(p.levels.len() as u32).through(Transfer::Gpu);
    gpu.image_of(spec, &p.levels)
}

fn sampler(gpu: &Gpu, s: &Sampler) -> Result<vk::Sampler> {
    let filter = vk::Filter::from_raw(s.mag);
    gpu.sampler(SamplerSpec {
        min: vk::Filter::from_raw(s.min),
        mip: vk::SamplerMipmapMode::from_raw(s.mip),
        wrap: s.wrap.map(vk::SamplerAddressMode::from_raw),
        border: vk::BorderColor::from_raw(s.border),
        compare: s.compare.map(vk::CompareOp::from_raw),
        lod: s.lod,
        unnormalized: s.unnormalized,
        ..SamplerSpec::new(filter, vk::SamplerAddressMode::REPEAT)
    })
}

/// Dispatches; returns the contents of memory afterwards.
///
/// # Errors
/// The driver's error messages.
pub fn one(gpu: &Gpu, job: &Job) -> Result<DispatchOutputs> {
    let made: Vec<Vec<Resource>> = job
        .bindings
        .iter()
        .map(|b| b.iter().map(|e| Resource::new(gpu, e)).collect::<Result<_>>())
        .collect::<Result<_>>()?;
    let mut kernel = gpu
        .kernel(&job.spirv)
        .entry(&job.entry)
        .specialized(&job.constants)
        .push_bytes(job.push.len() as u32);
    for list in &made {
        kernel = kernel.bind_array(list.iter().map(Resource::bind).collect());
    }
    let kernel = kernel.build()?;
    let [x, y, z] = job.groups;
    gpu.submit(|c| {
        if !job.push.is_empty() {
            c.push(&kernel, &job.push);
        }
        c.dispatch(&kernel, [x, y, z]);
    })?;
    let bytes = |list: &Vec<Resource>| list.iter().map(|m| m.bytes(gpu)).collect::<Result<_>>();
    Ok(DispatchOutputs {
        subgroup: gpu.subgroup_size,
        bindings: made.iter().map(bytes).collect::<Result<_>>()?,
    })
}
