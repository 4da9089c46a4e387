//! From vertices to primitives on the screen: topologies, culling, clipping, provoking vertices,
//! restart, instances.

use ash::vk;

use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Buffer, Commands, Image, ImageSpec, Pass, Result, Shape, State};
use crate::number::Random;

const SIZE_PX: [u32; 2] = [128, 96];
const CLEAR: [f32; 4] = [0.2, 0.2, 0.2, 1.0];
const VERTEX: vk::ShaderStageFlags = vk::ShaderStageFlags::VERTEX;
const FRAGMENT: vk::ShaderStageFlags = vk::ShaderStageFlags::FRAGMENT;

/// Both drivers place vertices on a grid of 1/256 pixels and fill by the same rule; they may round
/// a coordinate differently, which shows in a few pixels.
fn nearly() -> Rule {
    Rule::Mostly { abs: 2.0, permille: 4.0 }
}

fn target(bench: &Bench) -> Result<Image> {
    let [width, height] = SIZE_PX;
    bench.gpu.image(ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [width, height, 1])
    })
}

/// A vertex of `mesh.vert`.
type Vertex = [f32; 8];

/// Renders once into an image of [`SIZE_PX`] and returns its pixels.
fn picture(bench: &Bench, draw: impl FnOnce(&Commands)) -> Result<Vec<u8>> {
    let image = target(bench)?;
    let pass = Pass {
        colors: vec![Attachment::color(&image, CLEAR)],
        size_px: SIZE_PX,
        ..Pass::default()
    };
    bench.gpu.submit(|c| c.render(&pass, draw))?;
    bench.gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)
}

fn output(pixels: &[u8], rule: Rule) -> Output {
    Output::peer("picture", pixels, rule).picture(SIZE_PX)
}

/// The state that `mesh.vert` needs.
fn mesh_state() -> State {
    let float4 = (vk::Format::R32G32B32A32_SFLOAT, 16);
    State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &[float4, float4])
}

fn vertices(bench: &Bench, list: &[Vertex]) -> Result<Buffer> {
    bench.gpu.buffer(&list.concat())
}

/// Vertices anywhere in the view, at one depth.
fn scattered(seed: u64, count: usize) -> Vec<Vertex> {
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
fn band(count: usize) -> Vec<Vertex> {
    (0..count)
        .map(|i| {
            let x = -0.9 + 1.8 * i as f32 / count as f32;
            let y = if i % 2 == 0 { -0.6 } else { 0.7 - 0.03 * i as f32 };
            let c = i as f32 / count as f32;
            [x, y, 0.5, 1.0, c, 1.0 - c, (i % 3) as f32 / 2.0, 1.0]
        })
        .collect()
}

/// What a case of `mesh.vert` and `shade.frag` varies.
struct Mesh {
    name: String,
    about: &'static str,
    defines: Vec<(&'static str, String)>,
    state: State,
    vertices: Vec<Vertex>,
    instances: u32,
    rule: Rule,
}

impl Mesh {
    fn new(name: impl Into<String>, about: &'static str, vertices: Vec<Vertex>) -> Mesh {
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

    fn define(mut self, name: &'static str, value: impl ToString) -> Mesh {
        self.defines.push((name, value.to_string()));
        self
    }

    fn state(mut self, change: impl FnOnce(&mut State)) -> Mesh {
        change(&mut self.state);
        self
    }

    fn case(self) -> Case {
        let shader = |file| {
            self.defines
                .iter()
                .fold(Shader::new(file), |shader, (name, value)| shader.define(name, value))
        };
        let shaders = vec![shader("mesh.vert"), shader("shade.frag")];
        let Mesh { name, about, state, vertices: list, instances, rule, .. } = self;
        Case::new(format!("geometry/{name}"), about, shaders, move |bench| {
            let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
            let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
            let buffer = vertices(bench, &list)?;
            let pixels = picture(bench, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, list.len() as u32, instances);
            })?;
            Ok(vec![output(&pixels, rule.clone())])
        })
    }
}

fn triangle() -> Case {
    let corner = |x, y, r, g, b| [x, y, 0.5, 1.0, r, g, b, 1.0];
    let list = vec![
        corner(-0.8, -0.7, 1.0, 0.0, 0.0),
        corner(0.9, -0.3, 0.0, 1.0, 0.0),
        corner(-0.1, 0.8, 0.0, 0.0, 1.0),
    ];
    Mesh::new("triangle", "one triangle with a colour at each corner", list).case()
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![triangle()];
    let topologies = [
        ("triangles", vk::PrimitiveTopology::TRIANGLE_LIST),
        ("triangle_strip", vk::PrimitiveTopology::TRIANGLE_STRIP),
        ("triangle_fan", vk::PrimitiveTopology::TRIANGLE_FAN),
    ];
    for (name, topology) in topologies {
        for (flat, last) in [(false, false), (true, false), (true, true)] {
            let suffix = match (flat, last) {
                (false, _) => "smooth",
                (true, false) => "flat_first",
                (true, true) => "flat_last",
            };
            let mut mesh = Mesh::new(format!("{name}_{suffix}"), "13 vertices in a band", band(13))
                .state(|s| {
                    s.topology = topology;
                    s.provoking_last = last;
                });
            if flat {
                mesh = mesh.define("FLAT", "flat");
            }
            cases.push(mesh.case());
        }
    }
    for (name, cull) in [
        ("front", vk::CullModeFlags::FRONT),
        ("back", vk::CullModeFlags::BACK),
        ("both", vk::CullModeFlags::FRONT_AND_BACK),
        ("none", vk::CullModeFlags::NONE),
    ] {
        for (wound, face) in
            [("ccw", vk::FrontFace::COUNTER_CLOCKWISE), ("cw", vk::FrontFace::CLOCKWISE)]
        {
            let mesh = Mesh::new(
                format!("cull_{name}_{wound}"),
                "triangles of both windings, their facing as colour",
                scattered(31, 24),
            );
            let mesh = mesh.define("FACING", 1).state(|s| {
                s.cull = cull;
                s.front_face = face;
            });
            cases.push(mesh.case());
        }
    }
    cases
}
