//! Draws one triangle on a driver with given shaders and memory, and returns the picture.

use ash::vk;
use serde::{Deserialize, Serialize};

use crate::gpu::{
    Attachment, Bind, Buffer, Gpu, Image, ImageSpec, Pass, Result, SamplerSpec, Shape, State,
};

/// Width and height of the picture.
pub const SIDE_PX: u32 = 64;
/// Width and height of a texture.
pub const TEXTURE_PX: u32 = 16;

/// The contents of a binding of set 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Binding {
    /// A uniform buffer.
    Uniform(Vec<u8>),
    /// A texture of RGBA8 texels with a sampler of linear filters that repeats: one layer, or a
    /// cube's six.
    Texture(Vec<Vec<u8>>),
}

/// A draw of three vertices over black.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its name, for messages.
    pub name: String,
    /// The vertex and the fragment module; their entry points are `main`.
    pub stages: [Vec<u32>; 2],
    /// Bindings 0, 1, 2, … of set 0.
    pub bindings: Vec<Binding>,
    /// Attributes of each vertex, by location.
    pub vertices: [Vec<[f32; 4]>; 3],
}

/// Draws; returns the floats of each pixel, row by row.
///
/// # Errors
/// The driver's error messages.
pub fn one(gpu: &Gpu, job: &Job) -> Result<Vec<[f32; 4]>> {
    enum Resource {
        Uniform(Buffer),
        Texture(Image),
    }
    let linear = SamplerSpec::new(vk::Filter::LINEAR, vk::SamplerAddressMode::REPEAT);
    let sampler = gpu.sampler(linear)?;
    let made = job
        .bindings
        .iter()
        .map(|b| {
            Ok(match b {
                Binding::Uniform(bytes) => Resource::Uniform(gpu.buffer(bytes)?),
                Binding::Texture(layers) => {
                    let shape = if layers.len() == 6 { Shape::Cube } else { Shape::D2 };
                    let size_px = [TEXTURE_PX, TEXTURE_PX, 1];
                    let spec = ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, shape, size_px);
                    Resource::Texture(gpu.image_of(spec, &[layers.concat()])?)
                }
            })
        })
        .collect::<Result<Vec<Resource>>>()?;
    let binds: Vec<Bind<'_>> = made
        .iter()
        .map(|m| match m {
            Resource::Uniform(b) => Bind::Uniform(b),
            Resource::Texture(i) => Bind::Texture(i.view, sampler),
        })
        .collect();
    let format = vk::Format::R32G32B32A32_SFLOAT;
    let mut state = State::new([SIDE_PX; 2]);
    state.colors = vec![format];
    let locations = job.vertices[0].len();
    let mut buffers = Vec::new();
    if locations > 0 {
        let all = vec![(format, 16); locations];
        state = state.vertex_buffer(vk::VertexInputRate::VERTEX, &all);
        let words: Vec<f32> = job.vertices.iter().flatten().flatten().copied().collect();
        buffers.push(gpu.buffer(&words)?);
    }
    let [vertex, fragment] = &job.stages;
    let stages = [
        (vk::ShaderStageFlags::VERTEX, vertex.as_slice()),
        (vk::ShaderStageFlags::FRAGMENT, fragment.as_slice()),
    ];
    let pipeline = gpu.graphics(&stages, &state, &binds)?;
    let image = gpu.image(ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(format, Shape::D2, [SIDE_PX, SIDE_PX, 1])
    })?;
    let pass = Pass {
        colors: vec![Attachment::color(&image, [0.0; 4])],
        size_px: [SIDE_PX; 2],
        ..Pass::default()
    };
    gpu.submit(|c| {
        c.render(&pass, |c| {
            c.vertex_buffers(&buffers.iter().collect::<Vec<_>>());
            c.draw(&pipeline, 3, 1);
        });
    })?;
    let bytes = gpu.read_image(&image, 0, (SIDE_PX * SIDE_PX * 16) as usize)?;
    Ok(pixels(&bytes))
}

/// Pixels of four floats.
#[must_use]
pub fn pixels(bytes: &[u8]) -> Vec<[f32; 4]> {
    let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    bytes
        .chunks_exact(16)
        .map(|p| [float(p), float(&p[4..]), float(&p[8..]), float(&p[12..])])
        .collect()
}
