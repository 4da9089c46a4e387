//! Fixtures of cases that draw: a render target and meshes.

use ash::vk;

use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{
    Attachment, Buffer, Commands, Graphics, Image, ImageSpec, Pass, Result, Shape, State,
};
use crate::number::Random;

/// Pixels of the image.
pub const SIZE_PX: [u32; 2] = [128, 96];
/// The clear colour.
pub const CLEAR: [f32; 4] = [0.2, 0.2, 0.2, 1.0];
/// The vertex stage.
pub const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;
/// The fragment stage.
pub const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;

/// Rule for drawn pictures: both drivers place vertices on a grid of 1/256 pixels and use the same fill rule;
/// they may round a coordinate differently, which affects a few pixels.
pub fn nearly() -> Rule {
    Rule::Mostly { abs: 2.0, permille: 4.0 }
}

/// An image to draw on, of `layers` layers.
pub fn target(bench: &Bench) -> Result<Image> {
    let [width, height] = SIZE_PX;
    bench.gpu.image(ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [width, height, 1])
    })
}

/// The vertex and the fragment stage, which are the first two shaders of a case.
pub fn stages<'a>(bench: &Bench<'a>) -> [(vk::ShaderStageFlags, &'a [u32]); 2] {
    [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])]
}

/// A rendering to an image of [`SIZE_PX`] that is cleared first.
pub fn onto(image: &Image) -> Pass {
    let colors = vec![Attachment::color(image, CLEAR)];
    Pass { colors, size_px: SIZE_PX, ..Pass::default() }
}

/// Topologies by name: all that need neither adjacency nor tessellation.
pub const TOPOLOGIES: [(&str, vk::PrimitiveTopology); 6] = [
    ("points", vk::PrimitiveTopology::POINT_LIST),
    ("lines", vk::PrimitiveTopology::LINE_LIST),
    ("line_strip", vk::PrimitiveTopology::LINE_STRIP),
    ("triangles", vk::PrimitiveTopology::TRIANGLE_LIST),
    ("strip", vk::PrimitiveTopology::TRIANGLE_STRIP),
    ("fan", vk::PrimitiveTopology::TRIANGLE_FAN),
];

/// A vertex of `mesh.vert`.
pub type Vertex = [f32; 8];

/// Renders once into an image of [`SIZE_PX`] and returns its pixels.
pub fn picture(bench: &Bench, draw: impl FnOnce(&Commands) -> Result<()>) -> Result<Vec<u8>> {
    let image = target(bench)?;
    let pass = onto(&image);
    let mut result = Ok(());
    bench.gpu.submit(|c| c.render(&pass, |c| result = draw(c)))?;
    result?;
    bench.gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)
}

/// Pixels as a case's output.
pub fn output(pixels: &[u8], rule: Rule) -> Output {
    Output::peer("picture", pixels, rule).picture(SIZE_PX)
}

/// The state that `mesh.vert` needs.
pub fn mesh_state() -> State {
    let float4 = (vk::Format::R32G32B32A32_SFLOAT, 16);
    State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &[float4, float4])
}

/// Vertices in a buffer.
pub fn vertices(bench: &Bench, list: &[Vertex]) -> Result<Buffer> {
    bench.gpu.buffer(&list.concat())
}

/// Vertices anywhere in the view, at one depth.
pub fn scattered(seed: u64, count: usize) -> Vec<Vertex> {
    let mut random = Random::new(seed);
    let mut next = |low: f32, high: f32| random.float(low, high);
    (0..count)
        .map(|_| {
            let (x, y) = (next(-0.95, 0.95), next(-0.95, 0.95));
            [x, y, 0.5, 1.0, next(0.0, 1.0), next(0.0, 1.0), next(0.0, 1.0), 1.0]
        })
        .collect()
}

/// Vertices along a band from left to right, so that strips do not overlap.
pub fn band(count: usize) -> Vec<Vertex> {
    (0..count)
        .map(|i| {
            let x = -0.9 + 1.8 * i as f32 / count as f32;
            let y = if i % 2 == 0 { -0.6 } else { 0.7 - 0.03 * i as f32 };
            let c = i as f32 / count as f32;
            [x, y, 0.5, 1.0, c, 1.0 - c, (i % 3) as f32 / 2.0, 1.0]
        })
        .collect()
}

/// Small triangles anywhere.
pub fn small(seed: u64, count: usize) -> Vec<Vertex> {
    let mut random = Random::new(seed);
    let corners = scattered(seed, count);
    let mut list = Vec::with_capacity(3 * count);
    for corner in corners {
        for _ in 0..3 {
            let mut vertex = corner;
            vertex[0] += random.float(-0.05, 0.05);
            vertex[1] += random.float(-0.05, 0.05);
            list.push(vertex);
        }
    }
    list
}

/// The parameters of a case of `mesh.vert` and `shade.frag`.
pub struct Mesh {
    name: String,
    about: &'static str,
    defines: Vec<(&'static str, String)>,
    pub state: State,
    vertices: Vec<Vertex>,
    pub instances: u32,
    pub rule: Rule,
}

impl Mesh {
    pub fn new(name: impl Into<String>, about: &'static str, vertices: Vec<Vertex>) -> Mesh {
        Mesh {
            name: name.into(),
            about,
            defines: Vec::new(),
            state: mesh_state(),
            vertices,
            instances: 1,
            rule: nearly(),
        }
    }

    pub fn define(mut self, name: &'static str, value: impl ToString) -> Mesh {
        self.defines.push((name, value.to_string()));
        self
    }

    pub fn state(mut self, change: impl FnOnce(&mut State)) -> Mesh {
        change(&mut self.state);
        self
    }

    /// The case that draws all vertices, in order.
    pub fn case(self) -> Case {
        let (count, instances) = (self.vertices.len() as u32, self.instances);
        self.drawn(move |_, pipeline, c| {
            c.draw(pipeline, count, instances);
            Ok(())
        })
    }

    /// The case that draws with commands of its own; the vertices are bound.
    pub fn drawn(
        self,
        draw: impl Fn(&Bench, &Graphics, &Commands) -> Result<()> + Send + Sync + 'static,
    ) -> Case {
        let shader = |file| {
            let defines = self.defines.iter();
            defines.fold(Shader::new(file), |shader, (name, value)| shader.define(name, value))
        };
        let shaders = vec![shader("mesh.vert"), shader("shade.frag")];
        let Mesh { name, about, state, vertices: list, rule, .. } = self;
        Case::new(name, about, shaders, move |bench| {
            let stages = stages(bench);
            let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
            let buffer = vertices(bench, &list)?;
            let pixels = picture(bench, |c| {
                c.vertex_buffers(&[&buffer]);
                draw(bench, &pipeline, c)
            })?;
            Ok(vec![output(&pixels, rule.clone())])
        })
    }
}
