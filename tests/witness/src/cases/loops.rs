//! Draws that sample the attachments that they write.

use ash::vk;

use super::canvas::{FRAGMENT, SIZE_PX, VERTEX, Vertex, mesh_state, vertices};
use super::passes::{CLEAR, DEPTH, RGBA8, pixels, scattered};
use crate::case::{Case, Output, Rule, Shader};
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
        let gpu = bench.gpu;
        gpu.require(ash::ext::attachment_feedback_loop_layout::NAME)?;
        let [width, height] = SIZE_PX;
        let image = |format, usage| {
            gpu.image(ImageSpec {
                usage,
                ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]).through(Transfer::Gpu)
            })
        };
        let sampled = vk::ImageUsageFlags::SAMPLED;
        let written = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let in_loop = written | sampled | vk::ImageUsageFlags::ATTACHMENT_FEEDBACK_LOOP_EXT;
        let [target, other] = [(); 2].map(|()| image(RGBA8, vk::ImageUsageFlags::COLOR_ATTACHMENT));
        let (target, other) = (target?, other?);
        let (tested, plain) = (image(DEPTH, in_loop)?, image(DEPTH, written)?);
        let copied = image(DEPTH, sampled)?;
        let mut state = mesh_state();
        state.depth_format = DEPTH;
        state.depth = Some((vk::CompareOp::LESS, true));
        let stages = |fragment: usize| {
            [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])]
        };
        let draws = gpu.graphics(&stages(1), &state, &[])?;
        let copies = gpu.graphics(&stages(2), &state, &[Bind::Sampled(copied.view)])?;
        let state = said.state(state, vk::ImageAspectFlags::DEPTH);
        let reads = gpu.graphics(&stages(2), &state, &[Bind::Sampled(tested.view)])?;
        let list = scattered(65, 24, 0.5);
        // One triangle per draw: none reads a pixel that another of the same draw writes.
        let over: Vec<Vec<Vertex>> = (0..3).map(|i| scattered(69 + i, 1, 1.2)).collect();
        let buffer = vertices(bench, &list)?;
        let buffers = over.iter().map(|l| vertices(bench, l)).collect::<Result<Vec<_>, _>>()?;
        let pass = |colour, depth| Pass {
            colors: vec![Attachment::color(colour, CLEAR)],
            depth: Some(Attachment::depth(depth, 1.0, 0)),
            size_px: SIZE_PX,
            is_read: true,
            ..Pass::default()
        };
        gpu.submit(|c| {
            c.render(&pass(&target, &tested), |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
                for buffer in &buffers {
                    c.barrier_of_depth_feedback();
                    c.vertex_buffers(&[buffer]);
                    c.draw(&reads, 3, 1);
                }
            });
        })?;
        // The same draws, each of which samples a copy of the depth before it.
        let first = pass(&other, &plain);
        let later = Pass {
            colors: first.colors.iter().map(|a| a.loaded()).collect(),
            depth: first.depth.map(Attachment::loaded),
            ..first.clone()
        };
        let layers = vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::DEPTH)
            .layer_count(1);
        let region = vk::ImageCopy::default()
            .src_subresource(layers)
            .dst_subresource(layers)
            .extent(vk::Extent3D { width, height, depth: 1 });
        gpu.submit(|c| {
            c.render(&first, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
            });
            for buffer in &buffers {
                let general = vk::ImageLayout::GENERAL;
                // SAFETY: the images are live and in the general layout, and the region is all of them.
                unsafe {
                    gpu.device.cmd_copy_image(
                        c.handle,
                        plain.handle,
                        general,
                        copied.handle,
                        general,
                        &[region],
                    );
                }
                c.barrier();
                c.render(&later, |c| {
                    c.vertex_buffers(&[buffer]);
                    c.draw(&copies, 3, 1);
                });
            }
        })?;
        let bytes = (width * height * 4) as usize;
        let both = |a, b| -> Result<_, crate::gpu::Error> {
            Ok((gpu.read_image(a, 0, bytes)?, gpu.read_image(b, 0, bytes)?))
        };
        let (picture, wanted) = both(&target, &other)?;
        let (depths, wanted_depths) = both(&tested, &plain)?;
        // ANV's two programs round some colours otherwise on Skylake.
        Ok(vec![
            Output::cpu("picture", &picture, &wanted, Rule::Abs(1.0)).picture(SIZE_PX),
            Output::cpu("depth", &depths, &wanted_depths, Rule::Bits),
        ])
    })
    // lavapipe writes depths before its programs sample them.
    .without_lavapipe()
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
