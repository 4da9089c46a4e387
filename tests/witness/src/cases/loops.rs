//! Draws that sample the attachments that they write.

use ash::vk;

use super::canvas::{FRAGMENT, SIZE_PX, VERTEX, Vertex, mesh_state, vertices};
use super::passes::{CLEAR, DEPTH, RGBA8, depths, pixels, scattered};
use crate::case::{Case, Shader};
use crate::gpu::{Attachment, Bind, ImageSpec, Pass, Shape, State, Transfer};

/// A way of saying that a pipeline samples its attachments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// Flags of the pipeline.
    Static,
    /// A command.
    Dynamic,
}

impl Said {
    /// The state of a pipeline that samples attachments of an aspect.
    fn state(self, mut state: State, aspect: vk::ImageAspectFlags) -> State {
        match self {
            Said::Dynamic => state.loops = Some(aspect),
            Said::Static if aspect == vk::ImageAspectFlags::COLOR => {
                state.flags = vk::PipelineCreateFlags::COLOR_ATTACHMENT_FEEDBACK_LOOP_EXT;
            }
            Said::Static => {
                state.flags = vk::PipelineCreateFlags::DEPTH_STENCIL_ATTACHMENT_FEEDBACK_LOOP_EXT;
            }
        }
        state
    }
}

/// Draws that sample the attachment they draw to, after barriers for that.
fn colours(name: &'static str, said: Said) -> Case {
    let shaders =
        vec![Shader::new("mesh.vert"), Shader::new("shade.frag"), Shader::new("feedback.frag")];
    let about = "draws sample their own attachment";
    Case::new(name, about, shaders, move |bench| {
        bench.gpu.require(ash::ext::attachment_feedback_loop_layout::NAME)?;
        let [width, height] = SIZE_PX;
        let target = bench.gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT
                | vk::ImageUsageFlags::SAMPLED
                | vk::ImageUsageFlags::ATTACHMENT_FEEDBACK_LOOP_EXT,
            ..ImageSpec::sampled(RGBA8, Shape::D2, [width, height, 1]).through(Transfer::Gpu)
        })?;
        let state = mesh_state();
        let stages = |fragment: usize| {
            [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])]
        };
        let draws = bench.gpu.graphics(&stages(1), &state, &[])?;
        let state = said.state(state, vk::ImageAspectFlags::COLOR);
        let reads = bench.gpu.graphics(&stages(2), &state, &[Bind::Sampled(target.view)])?;
        let list = scattered(63, 24, 0.5);
        // One triangle per draw: none reads a pixel that another of the same draw writes.
        let over: Vec<Vec<Vertex>> = (0..3).map(|i| scattered(64 + i, 1, 1.2)).collect();
        let buffer = vertices(bench, &list)?;
        let buffers = over.iter().map(|l| vertices(bench, l)).collect::<Result<Vec<_>, _>>()?;
        let pass = Pass {
            colors: vec![Attachment::color(&target, CLEAR)],
            size_px: SIZE_PX,
            is_read: true,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
                for buffer in &buffers {
                    c.barrier_of_feedback();
                    c.vertex_buffers(&[buffer]);
                    c.draw(&reads, 3, 1);
                }
            });
        })?;
        Ok(vec![pixels(bench, "picture", &target, 1)?])
    })
}

/// Draws that sample the depth that they replace: each fragment sees the depth before its own.
fn depth(name: &'static str, said: Said) -> Case {
    let shaders = vec![
        Shader::new("mesh.vert"),
        Shader::new("shade.frag"),
        Shader::new("feedback.frag").define("DEPTH", 1),
    ];
    let about = "draws sample the depth that they replace";
    Case::new(name, about, shaders, move |bench| {
        bench.gpu.require(ash::ext::attachment_feedback_loop_layout::NAME)?;
        let [width, height] = SIZE_PX;
        let image = |format, usage| {
            bench.gpu.image(ImageSpec {
                usage,
                ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]).through(Transfer::Gpu)
            })
        };
        let target = image(RGBA8, vk::ImageUsageFlags::COLOR_ATTACHMENT)?;
        let tested = image(
            DEPTH,
            vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT
                | vk::ImageUsageFlags::SAMPLED
                | vk::ImageUsageFlags::ATTACHMENT_FEEDBACK_LOOP_EXT,
        )?;
        let mut state = mesh_state();
        state.depth_format = DEPTH;
        state.depth = Some((vk::CompareOp::LESS, true));
        let stages = |fragment: usize| {
            [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])]
        };
        let draws = bench.gpu.graphics(&stages(1), &state, &[])?;
        let state = said.state(state, vk::ImageAspectFlags::DEPTH);
        let reads = bench.gpu.graphics(&stages(2), &state, &[Bind::Sampled(tested.view)])?;
        let list = scattered(65, 24, 0.5);
        // One triangle per draw: none reads a pixel that another of the same draw writes.
        let over: Vec<Vec<Vertex>> = (0..3).map(|i| scattered(69 + i, 1, 1.2)).collect();
        let buffer = vertices(bench, &list)?;
        let buffers = over.iter().map(|l| vertices(bench, l)).collect::<Result<Vec<_>, _>>()?;
        let pass = Pass {
            colors: vec![Attachment::color(&target, CLEAR)],
            depth: Some(Attachment::depth(&tested, 1.0, 0)),
            size_px: SIZE_PX,
            is_read: true,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
                for buffer in &buffers {
                    c.barrier_of_depth_feedback();
                    c.vertex_buffers(&[buffer]);
                    c.draw(&reads, 3, 1);
                }
            });
        })?;
        Ok(vec![pixels(bench, "picture", &target, 1)?, depths(bench, &tested, 1)?])
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        colours("passes/feedback_loop", Said::Static),
        colours("passes/feedback_loop_dynamic", Said::Dynamic),
        depth("passes/feedback_loop_depth", Said::Static),
        depth("passes/feedback_loop_depth_dynamic", Said::Dynamic),
    ]
}
