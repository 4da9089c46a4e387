//! Ranges that depth is clamped to.

use ash::vk;

use super::canvas::{SIZE_PX, mesh_state, onto, stages, target, vertices};
use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Attachment, ImageSpec, Pass, Shape, State};

/// Depth of clip space at the left and the right edge of the view.
const DEPTHS: [f32; 2] = [-0.5, 1.5];

/// A case of a rectangle whose depth grows from left to right, with the range that its depth must have.
fn case(name: &str, about: &str, change: fn(&mut State), range: [f32; 2]) -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new(format!("depth/{name}"), about, shaders, move |bench| {
        let gpu = bench.gpu;
        let format = vk::Format::D32_SFLOAT;
        let mut state = State {
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            depth: Some((vk::CompareOp::ALWAYS, true)),
            depth_format: format,
            depth_clamp: true,
            ..mesh_state()
        };
        change(&mut state);
        let pipeline = gpu.graphics(&stages(bench), &state, &[])?;
        let corner = |x: f32, y: f32, z: f32| [x, y, z, 1.0, 1.0, 0.0, 0.0, 1.0];
        let [left, right] = DEPTHS;
        let corners =
            [(-1.0, -1.0, left), (1.0, -1.0, right), (-1.0, 1.0, left), (1.0, 1.0, right)];
        let list = vertices(bench, &corners.map(|(x, y, z)| corner(x, y, z)))?;
        let [width, height] = SIZE_PX;
        let color = target(bench)?;
        let depth = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ..ImageSpec::sampled(format, Shape::D2, [width, height, 1])
        })?;
        let pass = Pass { depth: Some(Attachment::depth(&depth, 0.75, 0)), ..onto(&color) };
        gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&list]);
                c.draw(&pipeline, 4, 1);
            });
        })?;
        let got = gpu.read_image(&depth, 0, (width * height * 4) as usize)?;
        let got: Vec<f32> =
            got.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let row = (0..width).map(|x| {
            let z = left + (right - left) * (x as f32 + 0.5) / width as f32;
            z.clamp(range[0], range[1])
        });
        let right = row.collect::<Vec<f32>>().repeat(height as usize);
        Ok(vec![Output::cpu("depth", &got, &right, Rule::Abs(1e-5))])
    })
}

pub(super) fn cases() -> Vec<Case> {
    let own = |s: &mut State| s.clamp_range = Some([0.25, 0.625]);
    vec![
        case("clamped_to_viewport", "depth is clamped to that of the viewport", |_| (), [0.0, 1.0]),
        case("clamped_to_range", "depth is clamped to a range of its own", own, [0.25, 0.625])
            .without_lavapipe()
            .without_honeykrisp(),
    ]
}
