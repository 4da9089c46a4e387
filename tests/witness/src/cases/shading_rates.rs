//! Fragments of several pixels.

use ash::vk;

use super::canvas::{FRAGMENT, SIZE_PX, VERTEX, Vertex, mesh_state};
use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Gpu, ImageSpec, Pass, Pipelines, Shape};

/// Widths and heights of fragments.
const SIDES: [u32; 3] = [1, 2, 4];

/// Depth at a place in pixels: a plane, whose values at the corners of a triangle around the image are between 0 and 1.
fn depth_at([x, y]: [f32; 2]) -> f32 {
    let [width, height] = SIZE_PX.map(|n| n as f32);
    0.125 + 0.25 * x / width + 0.125 * y / height
}

/// A triangle around the image.
fn triangle() -> Vec<Vertex> {
    let [width, height] = SIZE_PX.map(|n| n as f32);
    [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]
        .map(|[x, y]| {
            let z = depth_at([x * width, y * height]);
            [2.0 * x - 1.0, 2.0 * y - 1.0, z, 1.0, 0.0, 0.0, 0.0, 0.0]
        })
        .into()
}

/// Centres, depths and rates of fragments of all sizes, whose pipelines, command buffers or shader objects ask for them.
fn sizes() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("coarse.frag")];
    let about = "fragments of several pixels: place, depth and rate that they see";
    let case = Case::new("samples/coarse", about, shaders, |bench| {
        let gpu = &Gpu::open_with(&bench.gpu.name, ash::khr::fragment_shading_rate::NAME)?;
        let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
        let format = vk::Format::R32G32B32A32_SFLOAT;
        let [width, height] = SIZE_PX;
        let image = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
            ..ImageSpec::sampled(format, Shape::D2, [width, height, 1])
        })?;
        let list = triangle();
        let buffer = gpu.buffer(&list.concat())?;
        let forms = [Pipelines::Whole, Pipelines::Dynamic, Pipelines::Objects];
        let (mut centres, mut others) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for (form, side_x, side_y) in forms.iter().flat_map(|&form| {
            SIDES.iter().flat_map(move |&x| SIDES.iter().map(move |&y| (form, x, y)))
        }) {
            gpu.pipelines.set(form);
            let mut state = mesh_state();
            state.colors = vec![format];
            state.fragment_px = Some([side_x, side_y]);
            let pipeline = gpu.graphics(&stages, &state, &[])?;
            let colors = vec![Attachment::color(&image, [0.0; 4])];
            let pass = Pass { colors, size_px: SIZE_PX, ..Pass::default() };
            gpu.submit(|c| {
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.draw(&pipeline, list.len() as u32, 1);
                });
            })?;
            let bytes = gpu.read_image(&image, 0, (width * height * 16) as usize)?;
            let read: Vec<f32> = bytes
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            let rate = (side_x.ilog2() << 2 | side_y.ilog2()) as f32;
            for (k, read) in (0..width * height).zip(read.chunks_exact(4)) {
                let centre = |at: u32, side: u32| (at / side * side) as f32 + side as f32 / 2.0;
                let at = [centre(k % width, side_x), centre(k / width, side_y)];
                for (list, part) in centres.iter_mut().zip([&read[..2], &at[..]]) {
                    list.extend_from_slice(part);
                }
                for (list, part) in others.iter_mut().zip([&read[2..], &[depth_at(at), rate]]) {
                    list.extend_from_slice(part);
                }
            }
        }
        let rule = || Rule::Abs(1e-5);
        Ok(vec![
            Output::cpu("centres", &centres[0], &centres[1], rule()),
            Output::cpu("depths and rates", &others[0], &others[1], rule()),
        ])
    });
    case.without_lavapipe().without_honeykrisp()
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![sizes()]
}
