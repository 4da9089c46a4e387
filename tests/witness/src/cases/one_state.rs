//! Draws between which one dynamic state changes, and then none.

use ash::vk;

use super::canvas::{CLEAR, SIZE_PX, band, mesh_state, nearly, output, stages, target, vertices};
use crate::case::{Case, Shader};
use crate::gpu::{Attachment, ImageSpec, Pass, Pipelines, Shape, State};

/// Name of the case.
pub const NAME: &str = "many/one_state";
/// Vertices of each draw, of one instance.
pub const VERTICES: u32 = 9;

/// A state that a draw changes.
pub struct Change {
    /// Its name.
    pub name: &'static str,
    /// The change.
    pub apply: fn(&mut State),
}

const fn change(name: &'static str, apply: fn(&mut State)) -> Change {
    Change { name, apply }
}

/// The changes; after each, a draw has the state of before.
pub static CHANGES: &[Change] = &[
    change("topology", |s| s.topology = vk::PrimitiveTopology::TRIANGLE_LIST),
    change("restart", |s| s.restart = true),
    change("vertex stride", |s| s.bindings[0].stride = 64),
    change("viewport", |s| s.viewports[0].width = 100.0),
    change("depth range", |s| s.viewports[0].max_depth = 0.75),
    change("scissor", |s| s.scissors[0].extent.width = 90),
    change("polygon mode", |s| s.polygon_mode = vk::PolygonMode::LINE),
    change("cull mode", |s| s.cull = vk::CullModeFlags::BACK),
    change("front face", |s| s.front_face = vk::FrontFace::CLOCKWISE),
    change("discard", |s| s.discard = true),
    change("depth clamp", |s| {
        s.depth_clamp = true;
        s.depth_clip = Some(true);
    }),
    change("depth clip", |s| s.depth_clip = Some(false)),
    change("depth bias enable", |s| s.depth_bias = Some([0.0; 3])),
    change("provoking vertex", |s| s.provoking_last = true),
    change("sample mask", |s| s.sample_mask = 0),
    change("alpha to coverage", |s| s.alpha_to_coverage = true),
    change("depth test", |s| s.depth = Some((vk::CompareOp::GREATER, true))),
    change("depth write", |s| s.depth = Some((vk::CompareOp::ALWAYS, false))),
    change("stencil test", |s| s.stencil = Some(stencil(0))),
    change("blend constants", |s| s.blend_constants = [0.5; 4]),
    change("blend equation", |s| s.blend[0].src_color_blend_factor = vk::BlendFactor::ZERO),
    change("write mask", |s| s.blend[0].color_write_mask = vk::ColorComponentFlags::R),
    change("logic operation", |s| s.logic_op = Some(vk::LogicOp::COPY)),
    change("nothing", |_| ()),
];

fn stencil(reference: u32) -> [vk::StencilOpState; 2] {
    let always = vk::CompareOp::ALWAYS;
    [vk::StencilOpState { compare_op: always, reference, ..Default::default() }; 2]
}

/// The state that changes.
fn base() -> State {
    let blend = vk::PipelineColorBlendAttachmentState {
        blend_enable: vk::TRUE,
        src_color_blend_factor: vk::BlendFactor::CONSTANT_COLOR,
        dst_color_blend_factor: vk::BlendFactor::ZERO,
        color_write_mask: vk::ColorComponentFlags::RGBA,
        ..Default::default()
    };
    State {
        topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
        depth: Some((vk::CompareOp::ALWAYS, true)),
        blend: vec![blend],
        blend_constants: [0.1, 0.2, 0.3, 0.4],
        depth_format: vk::Format::D32_SFLOAT,
        ..mesh_state()
    }
}

/// The case.
pub fn cases() -> Vec<Case> {
    let about = "draws between which one dynamic state changes";
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let case = Case::new(NAME, about, shaders, |bench| {
        let gpu = bench.gpu;
        let pipelines = gpu.pipelines.replace(Pipelines::Dynamic);
        let pipeline = gpu.graphics(&stages(bench), &base(), &[]);
        gpu.pipelines.set(pipelines);
        let pipeline = pipeline?;
        let list = vertices(bench, &[band(13), band(13)].concat())?;
        let image = target(bench)?;
        let [width, height] = SIZE_PX;
        let depth = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ..ImageSpec::sampled(vk::Format::D32_SFLOAT, Shape::D2, [width, height, 1])
        })?;
        let pass = Pass {
            colors: vec![Attachment::color(&image, CLEAR)],
            depth: Some(Attachment::depth(&depth, 0.25, 0)),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&list]);
                c.bind_graphics(&pipeline);
                // SAFETY: a pipeline and its vertex buffer are bound.
                let draw = || unsafe { gpu.device.cmd_draw(c.handle, VERTICES, 1, 0, 0) };
                draw();
                for change in CHANGES {
                    let mut state = base();
                    (change.apply)(&mut state);
                    c.set_dynamic(&state);
                    draw();
                    c.set_dynamic(&base());
                    draw();
                }
            });
        })?;
        let pixels = gpu.read_image(&image, 0, (width * height * 4) as usize)?;
        Ok(vec![output(&pixels, nearly())])
    });
    vec![case]
}
