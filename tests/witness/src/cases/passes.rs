//! Passes that read their own attachments, depth with layers, and draws too large for one pass over the
//! tiles.

use ash::vk;

use super::canvas::{FRAGMENT, SIZE_PX, VERTEX, Vertex, mesh_state, nearly, stages, vertices};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{
    Attachment, Bind, Graphics, Image, ImageSpec, Pass, RenderPass, Rendered, Result, Shape, State,
    Transfer, ViewSpec,
};
use crate::number::Random;

pub(super) const RGBA8: vk::Format = vk::Format::R8G8B8A8_UNORM;
pub(super) const DEPTH: vk::Format = vk::Format::D32_SFLOAT;
const ONE: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_1;
const FOUR: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_4;
pub(super) const CLEAR: [f32; 4] = [0.2, 0.3, 0.4, 0.5];

/// Triangles anywhere in the view with a depth each, `size` across.
pub(super) fn scattered(seed: u64, count: usize, size: f32) -> Vec<Vertex> {
    let mut random = Random::new(seed);
    let mut next = |low: f32, high: f32| random.float(low, high);
    let mut out = Vec::new();
    for _ in 0..count {
        let (x, y, z) = (next(-1.0, 1.0), next(-1.0, 1.0), next(0.1, 0.9));
        let color = [next(0.0, 1.0), next(0.0, 1.0), next(0.0, 1.0), next(0.2, 1.0)];
        for _ in 0..3 {
            let at = [x + next(-size, size), y + next(-size, size), z + next(-0.05, 0.05), 1.0];
            out.push([at, color].concat().try_into().unwrap_or_default());
        }
    }
    out
}

fn image(
    bench: &Bench,
    format: vk::Format,
    samples: vk::SampleCountFlags,
    layers: u32,
) -> Result<Image> {
    let [width, height] = SIZE_PX;
    let attachment = if format == RGBA8 {
        vk::ImageUsageFlags::COLOR_ATTACHMENT
    } else {
        vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT
    };
    // Stencil is not read as an input.
    let input = if format == vk::Format::D32_SFLOAT_S8_UINT {
        vk::ImageUsageFlags::empty()
    } else {
        vk::ImageUsageFlags::INPUT_ATTACHMENT
    };
    let shape = if layers > 1 { Shape::D2Array } else { Shape::D2 };
    let spec = ImageSpec {
        usage: attachment | input,
        layers,
        ..ImageSpec::sampled(format, shape, [width, height, 1]).through(Transfer::Gpu)
    };
    bench.gpu.image(spec.samples(samples))
}

pub(super) fn pixels(bench: &Bench, name: &str, image: &Image, layers: u32) -> Result<Output> {
    let [width, height] = SIZE_PX;
    let bytes = bench.gpu.read_image(image, 0, (width * height * layers * 4) as usize)?;
    Ok(Output::peer(name, &bytes, nearly()).picture([width, height * layers]))
}

fn depths(bench: &Bench, image: &Image, layers: u32) -> Result<Output> {
    let texels = (SIZE_PX[0] * SIZE_PX[1] * layers) as usize;
    if image.spec.format == vk::Format::D16_UNORM {
        let bytes = bench.gpu.read_image(image, 0, texels * 2)?;
        let depths: Vec<u32> =
            bytes.chunks_exact(2).map(|b| u32::from(u16::from_le_bytes([b[0], b[1]]))).collect();
        return Ok(Output::peer("depth", &depths, nearly()));
    }
    let bytes = bench.gpu.read_image(image, 0, texels * 4)?;
    let depths: Vec<f32> =
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Ok(Output::peer("depth", &depths, Rule::Mostly { abs: 1e-4, permille: 4.0 }))
}

/// Two subpasses: the second reads the colours and depths that the first left at its pixels.
fn subpass_case(name: &'static str, samples: vk::SampleCountFlags) -> Case {
    let many = samples != ONE;
    let input = Shader::new("input.frag")
        .define("INPUT", if many { "subpassInputMS" } else { "subpassInput" })
        .define("AT", if many { ", gl_SampleID" } else { "" })
        .define("OUT", 0)
        .define("DEPTH", 1);
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag"), input];
    let about = "a subpass reads colour and depth of the one before";
    Case::new(format!("passes/{name}"), about, shaders, move |bench| {
        let first = image(bench, RGBA8, samples, 1)?;
        let depth = image(bench, DEPTH, samples, 1)?;
        let second = image(bench, RGBA8, samples, 1)?;
        let single = if many { Some(image(bench, RGBA8, ONE, 1)?) } else { None };
        let images: Vec<&Image> = [&first, &depth, &second].into_iter().chain(&single).collect();
        let pass = two_subpasses(bench, &images, samples)?;

        let mut state = mesh_state();
        state.samples = samples;
        state.depth = Some((vk::CompareOp::LESS, true));
        state.subpass = Some((pass.handle, 0));
        let stages = |fragment: usize| {
            [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])]
        };
        let draws = bench.gpu.graphics(&stages(1), &state, &[])?;
        state.depth = None;
        state.subpass = Some((pass.handle, 1));
        let inputs = [Bind::Input(first.view), Bind::Input(depth.view)];
        let reads = bench.gpu.graphics(&stages(2), &state, &inputs)?;
        let lists = [scattered(51, 20, 0.6), scattered(52, 16, 0.9)];
        let buffers = [vertices(bench, &lists[0])?, vertices(bench, &lists[1])?];
        let color = vk::ClearValue { color: vk::ClearColorValue { float32: CLEAR } };
        let far =
            vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } };
        bench.gpu.submit(|c| {
            c.subpasses(&pass, &[color, far, color, color], 2, |c, number| {
                let number = number as usize;
                c.vertex_buffers(&[&buffers[number]]);
                let pipeline = if number == 0 { &draws } else { &reads };
                c.draw(pipeline, lists[number].len() as u32, 1);
            });
        })?;
        Ok(vec![pixels(bench, "picture", single.as_ref().unwrap_or(&second), 1)?])
    })
}

/// Images: colour and depth of the first subpass, colour of the second, and its resolve target.
fn two_subpasses(
    bench: &Bench,
    images: &[&Image],
    samples: vk::SampleCountFlags,
) -> Result<RenderPass> {
    let general = vk::ImageLayout::GENERAL;
    // What is resolved is not stored itself.
    let [keep, drop] = [vk::AttachmentStoreOp::STORE, vk::AttachmentStoreOp::DONT_CARE];
    let attachments: Vec<_> = (0..)
        .zip(images)
        .map(|(i, image)| {
            vk::AttachmentDescription::default()
                .format(image.spec.format)
                .samples(if i == 3 { ONE } else { samples })
                .load_op(vk::AttachmentLoadOp::CLEAR)
                .store_op(if i == 3 || images.len() == 3 { keep } else { drop })
                .initial_layout(general)
                .final_layout(general)
        })
        .collect();
    let refer = |attachment| [vk::AttachmentReference { attachment, layout: general }];
    let (first, depth, second, resolved) = (refer(0), refer(1), refer(2), refer(3));
    let inputs = [first[0], depth[0]];
    let graphics = vk::PipelineBindPoint::GRAPHICS;
    let draws = vk::SubpassDescription::default()
        .pipeline_bind_point(graphics)
        .color_attachments(&first)
        .depth_stencil_attachment(&depth[0]);
    let mut reads = vk::SubpassDescription::default()
        .pipeline_bind_point(graphics)
        .input_attachments(&inputs)
        .color_attachments(&second);
    if images.len() > 3 {
        reads = reads.resolve_attachments(&resolved);
    }
    let dependencies = [vk::SubpassDependency {
        src_subpass: 0,
        dst_subpass: 1,
        src_stage_mask: vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT
            | vk::PipelineStageFlags::LATE_FRAGMENT_TESTS,
        dst_stage_mask: vk::PipelineStageFlags::FRAGMENT_SHADER,
        src_access_mask: vk::AccessFlags::COLOR_ATTACHMENT_WRITE
            | vk::AccessFlags::DEPTH_STENCIL_ATTACHMENT_WRITE,
        dst_access_mask: vk::AccessFlags::INPUT_ATTACHMENT_READ,
        dependency_flags: vk::DependencyFlags::BY_REGION,
    }];
    let subpasses = [draws, reads];
    let create = vk::RenderPassCreateInfo::default()
        .attachments(&attachments)
        .subpasses(&subpasses)
        .dependencies(&dependencies);
    let views: Vec<_> = images.iter().map(|i| i.view).collect();
    bench.gpu.render_pass(&create, &views, SIZE_PX)
}

/// Subpasses with different view masks: a view's layer is cleared by the first subpass that has the view, drawn on by
/// two, and read as an input attachment by the third.
fn views_case() -> Case {
    const LAYERS: u32 = 3;
    const MASKS: [u32; 3] = [0b011, 0b110, 0b111];
    let input = Shader::new("input.frag")
        .define("INPUT", "subpassInput")
        .define("AT", "")
        .define("OUT", 0)
        .define("DEPTH", 1);
    let shaders =
        vec![Shader::new("mesh.vert").define("VIEW", 1), Shader::new("shade.frag"), input];
    let about = "subpasses with different views, and inputs with layers";
    Case::new("passes/views", about, shaders, move |bench| {
        let [first, depth, second] = [RGBA8, DEPTH, RGBA8].map(|f| image(bench, f, ONE, LAYERS));
        let images = [&first?, &depth?, &second?];
        let general = vk::ImageLayout::GENERAL;
        let attachments = images.map(|image| {
            vk::AttachmentDescription::default()
                .format(image.spec.format)
                .samples(ONE)
                .load_op(vk::AttachmentLoadOp::CLEAR)
                .store_op(vk::AttachmentStoreOp::STORE)
                .initial_layout(general)
                .final_layout(general)
        });
        let refer = |attachment| [vk::AttachmentReference { attachment, layout: general }];
        let (first, depth, second) = (refer(0), refer(1), refer(2));
        let inputs = [first[0], depth[0]];
        let draws = vk::SubpassDescription::default()
            .color_attachments(&first)
            .depth_stencil_attachment(&depth[0]);
        let reads =
            vk::SubpassDescription::default().input_attachments(&inputs).color_attachments(&second);
        let dependencies = [0, 1].map(|from| vk::SubpassDependency {
            src_subpass: from,
            dst_subpass: from + 1,
            src_stage_mask: vk::PipelineStageFlags::ALL_GRAPHICS,
            dst_stage_mask: vk::PipelineStageFlags::ALL_GRAPHICS,
            src_access_mask: vk::AccessFlags::MEMORY_WRITE,
            dst_access_mask: vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE,
            dependency_flags: vk::DependencyFlags::BY_REGION | vk::DependencyFlags::VIEW_LOCAL,
        });
        let subpasses = [draws, draws, reads];
        let mut views =
            vk::RenderPassMultiviewCreateInfo::default().view_masks(&MASKS).view_offsets(&[0; 2]);
        let create = vk::RenderPassCreateInfo::default()
            .attachments(&attachments)
            .subpasses(&subpasses)
            .dependencies(&dependencies)
            .push_next(&mut views);
        let pass = bench.gpu.render_pass(&create, &images.map(|i| i.view), SIZE_PX)?;

        let inputs = [Bind::Input(images[0].view), Bind::Input(images[1].view)];
        let mut state = mesh_state();
        let mut pipelines = Vec::new();
        for number in 0..3 {
            let fragment = if number < 2 { 1 } else { 2 };
            state.depth = (number < 2).then_some((vk::CompareOp::LESS, true));
            state.subpass = Some((pass.handle, number));
            let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])];
            let inputs = if number < 2 { &[][..] } else { &inputs };
            pipelines.push(bench.gpu.graphics(&stages, &state, inputs)?);
        }
        let lists = [scattered(56, 14, 0.6), scattered(57, 12, 0.7), scattered(58, 12, 1.0)];
        let buffers = lists.iter().map(|l| vertices(bench, l)).collect::<Result<Vec<_>>>()?;
        let color = vk::ClearValue { color: vk::ClearColorValue { float32: CLEAR } };
        let far =
            vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 0.8, stencil: 0 } };
        bench.gpu.submit(|c| {
            c.subpasses(&pass, &[color, far, color], 3, |c, number| {
                let number = number as usize;
                c.vertex_buffers(&[&buffers[number]]);
                c.draw(&pipelines[number], lists[number].len() as u32, 1);
            });
        })?;
        Ok(vec![
            pixels(bench, "first", images[0], LAYERS)?,
            depths(bench, images[1], LAYERS)?,
            pixels(bench, "second", images[2], LAYERS)?,
        ])
    })
}

/// The state of draws that write one of two colour attachments.
fn writes_only(target: u32, samples: vk::SampleCountFlags) -> State {
    let mut state = mesh_state();
    state.samples = samples;
    state.colors = vec![RGBA8; 2];
    state.blend = (0..2)
        .map(|i| {
            let mask = vk::ColorComponentFlags::RGBA;
            let mask = if i == target { mask } else { vk::ColorComponentFlags::empty() };
            vk::PipelineColorBlendAttachmentState::default().color_write_mask(mask)
        })
        .collect();
    state
}

/// A dynamic rendering whose later draws read the first attachment: into the second
/// attachment, or back into the first.
fn local_read(name: &'static str, out: u32) -> Case {
    let input = Shader::new("input.frag")
        .define("INPUT", "subpassInput")
        .define("AT", "")
        .define("OUT", out);
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag"), input];
    let about = "a draw reads what earlier draws of its rendering left";
    Case::new(format!("passes/{name}"), about, shaders, move |bench| {
        bench.gpu.require(ash::khr::dynamic_rendering_local_read::NAME)?;
        let targets = [image(bench, RGBA8, ONE, 1)?, image(bench, RGBA8, ONE, 1)?];
        let only = |target| writes_only(target, ONE);
        let stages = |fragment: usize| {
            [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])]
        };
        let draws = bench.gpu.graphics(&stages(1), &only(0), &[])?;
        let reads = bench.gpu.graphics(&stages(2), &only(out), &[Bind::Input(targets[0].view)])?;
        let list = scattered(53, 24, 0.5);
        // One triangle per draw: no triangle reads a pixel that another one of the same draw writes.
        let over: Vec<Vec<Vertex>> = (0..3).map(|i| scattered(54 + i, 1, 1.2)).collect();
        let buffer = vertices(bench, &list)?;
        let buffers = over.iter().map(|l| vertices(bench, l)).collect::<Result<Vec<_>>>()?;
        let pass = Pass {
            colors: targets.iter().map(|t| Attachment::color(t, CLEAR)).collect(),
            size_px: SIZE_PX,
            is_read: true,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
                for buffer in &buffers {
                    c.barrier_by_region();
                    c.vertex_buffers(&[buffer]);
                    c.draw(&reads, 3, 1);
                }
            });
        })?;
        Ok(vec![pixels(bench, "first", &targets[0], 1)?, pixels(bench, "second", &targets[1], 1)?])
    })
}

/// A dynamic rendering whose second draw reads one sample of the first attachment for all samples of a pixel.
fn local_read_sample() -> Case {
    let input = Shader::new("input.frag")
        .define("INPUT", "subpassInputMS")
        .define("AT", ", 2")
        .define("OUT", 1);
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag"), input];
    let about = "a draw reads a sample of what earlier draws of its rendering left";
    Case::new("passes/local_read_sample", about, shaders, move |bench| {
        bench.gpu.require(ash::khr::dynamic_rendering_local_read::NAME)?;
        let samples = FOUR;
        let targets = [image(bench, RGBA8, samples, 1)?, image(bench, RGBA8, samples, 1)?];
        let resolved = image(bench, RGBA8, ONE, 1)?;
        let only = |target| writes_only(target, samples);
        let stages = |fragment: usize| {
            [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])]
        };
        let draws = bench.gpu.graphics(&stages(1), &only(0), &[])?;
        let reads = bench.gpu.graphics(&stages(2), &only(1), &[Bind::Input(targets[0].view)])?;
        let list = scattered(61, 24, 0.5);
        // Only covered samples may be read: a triangle that covers all of them.
        let mut over = scattered(62, 1, 1.0);
        for (vertex, at) in over.iter_mut().zip([[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0]]) {
            vertex[..4].copy_from_slice(&[at[0], at[1], 0.0, 1.0]);
        }
        let (buffer, whole) = (vertices(bench, &list)?, vertices(bench, &over)?);
        let mut second = Attachment::color(&targets[1], CLEAR);
        second.resolve = Some((Rendered::whole(&resolved), vk::ResolveModeFlags::AVERAGE));
        let pass = Pass {
            colors: vec![Attachment::color(&targets[0], CLEAR), second],
            size_px: SIZE_PX,
            is_read: true,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
                c.barrier_by_region();
                c.vertex_buffers(&[&whole]);
                c.draw(&reads, 3, 1);
            });
        })?;
        Ok(vec![pixels(bench, "sample", &resolved, 1)?])
    })
}

/// Colour attachments that are mapped to other shader locations, and one that is mapped to none.
fn moved_locations() -> Case {
    const LOCATIONS: [u32; 3] = [2, vk::ATTACHMENT_UNUSED, 0];
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("outputs.frag")];
    let about = "colour attachments at other locations";
    Case::new("passes/moved_locations", about, shaders, move |bench| {
        bench.gpu.require(ash::khr::dynamic_rendering_local_read::NAME)?;
        let targets = [
            image(bench, RGBA8, ONE, 1)?,
            image(bench, RGBA8, ONE, 1)?,
            image(bench, RGBA8, ONE, 1)?,
        ];
        let mut state = mesh_state();
        state.colors = vec![RGBA8; 3];
        state.locations = LOCATIONS.to_vec();
        // Blend state belongs to the attachment, not to the location.
        let plain = vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA);
        let adds = plain
            .blend_enable(true)
            .src_color_blend_factor(vk::BlendFactor::ONE)
            .dst_color_blend_factor(vk::BlendFactor::CONSTANT_COLOR)
            .src_alpha_blend_factor(vk::BlendFactor::ONE);
        state.blend_constants = [0.25; 4];
        state.blend = vec![adds, plain, plain];
        let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
        let draws = bench.gpu.graphics(&stages, &state, &[])?;
        let list = scattered(59, 24, 0.6);
        let buffer = vertices(bench, &list)?;
        let pass = Pass {
            colors: targets.iter().map(|t| Attachment::color(t, CLEAR)).collect(),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.attachment_locations(&LOCATIONS);
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
            });
        })?;
        let names = ["third", "cleared", "first"];
        names.iter().zip(&targets).map(|(name, t)| pixels(bench, name, t, 1)).collect()
    })
}

/// Colour attachments without a format in the pipeline, or past its last one: writes of the shader to them are dropped,
/// as with an empty write mask.
fn absent_colors() -> Case {
    /// Attachments of the rendering.
    const TARGETS: usize = 4;
    /// The attachments of two pipelines.
    const PRESENT: [&[bool]; 2] = [&[true, false, true], &[true, false]];
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("outputs.frag")];
    let about = "colour attachments that the pipeline lacks";
    let case = Case::new("passes/absent_colors", about, shaders, move |bench| {
        bench.gpu.require(ash::ext::dynamic_rendering_unused_attachments::NAME)?;
        let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
        let lists = [scattered(71, 12, 0.6), scattered(72, 12, 0.6)];
        let buffers = [vertices(bench, &lists[0])?, vertices(bench, &lists[1])?];
        let drawn = |masked: bool| -> Result<Vec<Vec<u8>>> {
            let targets: Vec<Image> =
                (0..TARGETS).map(|_| image(bench, RGBA8, ONE, 1)).collect::<Result<_>>()?;
            let mut pipelines = Vec::new();
            for present in PRESENT {
                let is_present = |k: usize| present.get(k) == Some(&true);
                let mut state = mesh_state();
                if masked {
                    let mask = |k| match is_present(k) {
                        true => vk::ColorComponentFlags::RGBA,
                        false => vk::ColorComponentFlags::empty(),
                    };
                    let blend = vk::PipelineColorBlendAttachmentState::default();
                    state.blend = (0..TARGETS).map(|k| blend.color_write_mask(mask(k))).collect();
                    state.colors = vec![RGBA8; TARGETS];
                } else {
                    let format = |k| if is_present(k) { RGBA8 } else { vk::Format::UNDEFINED };
                    state.colors = (0..present.len()).map(format).collect();
                }
                pipelines.push(bench.gpu.graphics(&stages, &state, &[])?);
            }
            let pass = Pass {
                colors: targets.iter().map(|t| Attachment::color(t, CLEAR)).collect(),
                size_px: SIZE_PX,
                ..Pass::default()
            };
            bench.gpu.submit(|c| {
                c.render(&pass, |c| {
                    for ((buffer, list), pipeline) in buffers.iter().zip(&lists).zip(&pipelines) {
                        c.vertex_buffers(&[buffer]);
                        c.draw(pipeline, list.len() as u32, 1);
                    }
                });
            })?;
            let bytes = (SIZE_PX[0] * SIZE_PX[1] * 4) as usize;
            targets.iter().map(|t| bench.gpu.read_image(t, 0, bytes)).collect()
        };
        let (got, wanted) = (drawn(false)?, drawn(true)?);
        let names = ["first", "second", "third", "fourth"];
        let outputs = names.iter().zip(got.iter().zip(&wanted));
        Ok(outputs.map(|(n, (g, w))| Output::cpu(n, g, w, Rule::Bits).picture(SIZE_PX)).collect())
    });
    // lavapipe writes to attachments that have no format in the pipeline.
    case.without_lavapipe()
}

/// A subpass whose input attachment is its own target, read after barriers.
fn own_input_case() -> Case {
    let input =
        Shader::new("input.frag").define("INPUT", "subpassInput").define("AT", "").define("OUT", 0);
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag"), input];
    let about = "a subpass reads its own target";
    Case::new("passes/own_input", about, shaders, move |bench| {
        let target = image(bench, RGBA8, ONE, 1)?;
        let general = vk::ImageLayout::GENERAL;
        let attachments = [vk::AttachmentDescription::default()
            .format(RGBA8)
            .samples(ONE)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .initial_layout(general)
            .final_layout(general)];
        let own = [vk::AttachmentReference { attachment: 0, layout: general }];
        let subpasses =
            [vk::SubpassDescription::default().input_attachments(&own).color_attachments(&own)];
        let dependencies = [vk::SubpassDependency {
            src_subpass: 0,
            dst_subpass: 0,
            src_stage_mask: vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT,
            dst_stage_mask: vk::PipelineStageFlags::FRAGMENT_SHADER,
            src_access_mask: vk::AccessFlags::COLOR_ATTACHMENT_WRITE,
            dst_access_mask: vk::AccessFlags::INPUT_ATTACHMENT_READ,
            dependency_flags: vk::DependencyFlags::BY_REGION,
        }];
        let create = vk::RenderPassCreateInfo::default()
            .attachments(&attachments)
            .subpasses(&subpasses)
            .dependencies(&dependencies);
        let pass = bench.gpu.render_pass(&create, &[target.view], SIZE_PX)?;
        let mut state = mesh_state();
        state.subpass = Some((pass.handle, 0));
        let stages = |fragment: usize| {
            [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])]
        };
        let draws = bench.gpu.graphics(&stages(1), &state, &[])?;
        let reads = bench.gpu.graphics(&stages(2), &state, &[Bind::Input(target.view)])?;
        let list = scattered(67, 24, 0.5);
        // One triangle per draw: none reads a pixel that another of the same draw writes.
        let over: Vec<Vec<Vertex>> = (0..3).map(|i| scattered(68 + i, 1, 1.2)).collect();
        let buffer = vertices(bench, &list)?;
        let buffers = over.iter().map(|l| vertices(bench, l)).collect::<Result<Vec<_>>>()?;
        let clear = vk::ClearValue { color: vk::ClearColorValue { float32: CLEAR } };
        bench.gpu.submit(|c| {
            c.subpasses(&pass, &[clear], 1, |c, _| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
                for buffer in &buffers {
                    c.barrier_by_region();
                    c.vertex_buffers(&[buffer]);
                    c.draw(&reads, 3, 1);
                }
            });
        })?;
        Ok(vec![pixels(bench, "picture", &target, 1)?])
    })
}

/// Depth tests, and stencil counts if there are, in each layer of an array.
fn layered_depth(name: &'static str, format: vk::Format) -> Case {
    const LAYERS: u32 = 3;
    let shaders = vec![Shader::new("mesh.vert").define("LAYER", LAYERS), Shader::new("shade.frag")];
    Case::new(format!("passes/{name}"), "depth with layers", shaders, move |bench| {
        let stencil = format == vk::Format::D32_SFLOAT_S8_UINT;
        let color = image(bench, RGBA8, ONE, LAYERS)?;
        let depth = image(bench, format, ONE, LAYERS)?;
        let mut state = mesh_state();
        state.depth_format = format;
        state.depth = Some((vk::CompareOp::LESS, true));
        let face = |compare_op, reference, pass_op| vk::StencilOpState {
            compare_op,
            pass_op,
            compare_mask: 0xff,
            write_mask: 0xff,
            reference,
            ..vk::StencilOpState::default()
        };
        if stencil {
            state.stencil_format = format;
            let count = face(vk::CompareOp::ALWAYS, 0, vk::StencilOp::INCREMENT_AND_CLAMP);
            state.stencil = Some([count; 2]);
        }
        let stages = stages(bench);
        let draws = bench.gpu.graphics(&stages, &state, &[])?;
        // Then a picture of the pixels that were counted twice or more.
        state.depth = Some((vk::CompareOp::GREATER, false));
        if stencil {
            let twice = face(vk::CompareOp::LESS_OR_EQUAL, 2, vk::StencilOp::KEEP);
            state.stencil = Some([twice; 2]);
        }
        let again = bench.gpu.graphics(&stages, &state, &[])?;
        let lists = [scattered(61, 14, 0.5), scattered(62, 8, 0.6)];
        let buffers = [vertices(bench, &lists[0])?, vertices(bench, &lists[1])?];
        let target = Attachment::depth(&depth, 1.0, 0);
        let pass = Pass {
            colors: vec![Attachment::color(&color, CLEAR)],
            depth: Some(target),
            stencil: Some(target).filter(|_| stencil),
            size_px: SIZE_PX,
            layers: LAYERS,
            ..Pass::default()
        };
        // The second pass loads what the first one stored.
        let loaded = Pass {
            colors: pass.colors.iter().map(|a| a.loaded()).collect(),
            depth: pass.depth.map(Attachment::loaded),
            stencil: pass.stencil.map(Attachment::loaded),
            ..pass.clone()
        };
        let draw = |pass: &Pass, pipeline: &Graphics, i: usize| {
            bench.gpu.submit(|c| {
                c.render(pass, |c| {
                    c.vertex_buffers(&[&buffers[i]]);
                    c.draw(pipeline, lists[i].len() as u32, LAYERS + 1);
                });
            })
        };
        draw(&pass, &draws, 0)?;
        draw(&loaded, &again, 1)?;
        Ok(vec![pixels(bench, "picture", &color, LAYERS)?, depths(bench, &depth, LAYERS)?])
    })
}

/// Depths that a copy wrote, tested and replaced by a rendering that loads them.
fn depth_loaded(name: &'static str, format: vk::Format) -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new(format!("passes/{name}"), "depths of a copy are tested", shaders, move |bench| {
        let [width, height] = SIZE_PX;
        let spec = ImageSpec {
            usage: vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]).through(Transfer::Gpu)
        };
        // Stripes, of which no block has one depth.
        let near = |x: u32, y: u32| 0.3 + 0.1 * ((x + y) % 5) as f32;
        let texel = |x: u32, y: u32| match format {
            vk::Format::D16_UNORM => ((near(x, y) * 65535.0) as u16).to_le_bytes().to_vec(),
            _ => near(x, y).to_le_bytes().to_vec(),
        };
        let texels = (0..height).flat_map(|y| (0..width).flat_map(move |x| texel(x, y)));
        let depth = bench.gpu.image_of(spec, &[texels.collect()])?;
        let color = image(bench, RGBA8, ONE, 1)?;
        let mut state = mesh_state();
        state.depth_format = format;
        state.depth = Some((vk::CompareOp::LESS, true));
        let draws = bench.gpu.graphics(&stages(bench), &state, &[])?;
        let list = scattered(73, 14, 0.6);
        let buffer = vertices(bench, &list)?;
        let pass = Pass {
            colors: vec![Attachment::color(&color, CLEAR)],
            depth: Some(Attachment::depth(&depth, 0.0, 0).loaded()),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
            });
        })?;
        Ok(vec![pixels(bench, "picture", &color, 1)?, depths(bench, &depth, 1)?])
    })
}

/// Depth of several samples that is resolved at the end of a rendering, and tested in the next one.
fn depth_resolved() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "depth is resolved and tested";
    Case::new("passes/depth_resolved", about, shaders, move |bench| {
        let colors = [image(bench, RGBA8, FOUR, 1)?, image(bench, RGBA8, ONE, 1)?];
        let depth = [image(bench, DEPTH, FOUR, 1)?, image(bench, DEPTH, ONE, 1)?];
        let mut state = mesh_state();
        state.depth_format = DEPTH;
        state.depth = Some((vk::CompareOp::LESS, true));
        state.samples = FOUR;
        let draws = bench.gpu.graphics(&stages(bench), &state, &[])?;
        state.depth = Some((vk::CompareOp::LESS, false));
        state.samples = ONE;
        let tests = bench.gpu.graphics(&stages(bench), &state, &[])?;
        let lists = [scattered(71, 9, 0.5), scattered(72, 12, 0.6)];
        let buffers = [vertices(bench, &lists[0])?, vertices(bench, &lists[1])?];
        let to = (Rendered::whole(&depth[1]), vk::ResolveModeFlags::SAMPLE_ZERO);
        let pass = |k: usize, depth: Attachment| Pass {
            colors: vec![Attachment::color(&colors[k], CLEAR)],
            depth: Some(depth),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        let resolved = Attachment { resolve: Some(to), ..Attachment::depth(&depth[0], 1.0, 0) };
        let passes = [pass(0, resolved), pass(1, Attachment::depth(&depth[1], 0.0, 0).loaded())];
        bench.gpu.submit(|c| {
            for (k, pipeline) in [&draws, &tests].into_iter().enumerate() {
                c.render(&passes[k], |c| {
                    c.vertex_buffers(&[&buffers[k]]);
                    c.draw(pipeline, lists[k].len() as u32, 1);
                });
            }
        })?;
        Ok(vec![pixels(bench, "picture", &colors[1], 1)?, depths(bench, &depth[1], 1)?])
    })
}

/// Depth and stencil on the levels of an image of which the first is compressed and the small ones are not.
fn small_levels(name: &'static str, format: vk::Format, extent: [u32; 2]) -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new(format!("passes/{name}"), "levels of a depth image", shaders, move |bench| {
        let gpu = bench.gpu;
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let [width, height] = extent;
        let shape = if height == 1 { Shape::D1 } else { Shape::D2 };
        let whole = ImageSpec {
            usage,
            ..ImageSpec::sampled(format, shape, [width, height, 1]).through(Transfer::Gpu)
        };
        let depth = gpu.image(whole.levels(4))?;
        let stencil = format != vk::Format::D32_SFLOAT && format != vk::Format::D16_UNORM;
        let plain = format == vk::Format::S8_UINT;
        let list = scattered(81, 10, 0.6);
        let buffer = vertices(bench, &list)?;
        let mut outputs = Vec::new();
        for level in 0..4 {
            let [width, height, _] = depth.spec.level_px(level);
            let color = gpu.image(ImageSpec {
                usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
                ..ImageSpec::sampled(RGBA8, Shape::D2, [width, height, 1])
            })?;
            let mut state = State::new([width, height]).vertex_buffer(
                vk::VertexInputRate::VERTEX,
                &[(vk::Format::R32G32B32A32_SFLOAT, 16); 2],
            );
            if !plain {
                state.depth_format = format;
                state.depth = Some((vk::CompareOp::LESS, true));
            }
            if stencil {
                state.stencil_format = format;
                state.stencil = Some(
                    [vk::StencilOpState {
                        compare_op: vk::CompareOp::ALWAYS,
                        pass_op: vk::StencilOp::INCREMENT_AND_CLAMP,
                        compare_mask: 0xff,
                        write_mask: 0xff,
                        ..vk::StencilOpState::default()
                    }; 2],
                );
            }
            let pipeline = gpu.graphics(&stages(bench), &state, &[])?;
            let view = ViewSpec { levels: [level, 1], ..ViewSpec::whole(&depth.spec) };
            let view = gpu.view(depth.handle, &depth.spec, view)?;
            let target = Attachment::depth(&depth, 0.75, 3).through(view);
            let pass = Pass {
                colors: vec![Attachment::color(&color, CLEAR)],
                depth: Some(target).filter(|_| !plain),
                stencil: Some(target).filter(|_| stencil),
                size_px: [width, height],
                ..Pass::default()
            };
            // In the second pass it is loaded, and drawn on again from the other end.
            for again in [false, true] {
                let loaded = |a: Attachment| if again { a.loaded() } else { a };
                let pass = Pass {
                    colors: pass.colors.iter().map(|&a| loaded(a)).collect(),
                    depth: pass.depth.map(loaded),
                    stencil: pass.stencil.map(loaded),
                    ..pass.clone()
                };
                gpu.submit(|c| {
                    c.render(&pass, |c| {
                        c.vertex_buffers(&[&buffer]);
                        c.draw(&pipeline, if again { 9 } else { list.len() as u32 }, 1);
                    });
                })?;
            }
            let bytes = gpu.read_image(&color, 0, (width * height * 4) as usize)?;
            let rule = Rule::Mostly { abs: 2.0, permille: 20.0 };
            let output = Output::peer(&format!("picture {level}"), &bytes, rule);
            outputs.push(output.picture([width, height]));
            let texel = if plain {
                1
            } else if format == vk::Format::D16_UNORM {
                2
            } else {
                4
            };
            let bytes = gpu.read_image(&depth, level, (width * height) as usize * texel)?;
            let name = format!("depth or stencil {level}");
            outputs.push(match texel {
                4 => {
                    let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                    let depths: Vec<f32> = bytes.chunks_exact(4).map(float).collect();
                    Output::peer(&name, &depths, Rule::Mostly { abs: 1e-4, permille: 20.0 })
                }
                2 => {
                    let half = |b: &[u8]| u32::from(u16::from_le_bytes([b[0], b[1]]));
                    let depths: Vec<u32> = bytes.chunks_exact(2).map(half).collect();
                    Output::peer(&name, &depths, Rule::Mostly { abs: 2.0, permille: 20.0 })
                }
                _ => Output::peer(&name, &bytes, Rule::Mostly { abs: 0.0, permille: 20.0 }),
            });
        }
        Ok(outputs)
    })
}

/// Enough triangles to overflow the hardware's parameter buffer: a partial render draws what is there, and
/// the rest loads it again.
fn overflowing(name: &'static str, samples: vk::SampleCountFlags, instances: u32) -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "more than a million triangles with depth and blending";
    Case::new(format!("passes/{name}"), about, shaders, move |bench| {
        let color = image(bench, RGBA8, samples, 1)?;
        let depth = image(bench, DEPTH, samples, 1)?;
        let single = if samples == ONE { None } else { Some(image(bench, RGBA8, ONE, 1)?) };
        let mut state = mesh_state();
        state.samples = samples;
        state.depth_format = DEPTH;
        state.depth = Some((vk::CompareOp::LESS_OR_EQUAL, true));
        state.blend = vec![
            vk::PipelineColorBlendAttachmentState::default()
                .blend_enable(true)
                .src_color_blend_factor(vk::BlendFactor::SRC_ALPHA)
                .dst_color_blend_factor(vk::BlendFactor::ONE_MINUS_SRC_ALPHA)
                .src_alpha_blend_factor(vk::BlendFactor::ONE)
                .dst_alpha_blend_factor(vk::BlendFactor::ZERO)
                .color_write_mask(vk::ColorComponentFlags::RGBA),
        ];
        let stages = stages(bench);
        let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
        let list = scattered(71, 9000, 0.02);
        let buffer = vertices(bench, &list)?;
        let mut target = Attachment::color(&color, CLEAR);
        target.resolve =
            single.as_ref().map(|s| (Rendered::whole(s), vk::ResolveModeFlags::AVERAGE));
        let pass = Pass {
            colors: vec![target],
            depth: Some(Attachment::depth(&depth, 1.0, 0)),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, list.len() as u32, instances);
            });
        })?;
        Ok(vec![pixels(bench, "picture", single.as_ref().unwrap_or(&color), 1)?])
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        subpass_case("subpasses", ONE),
        subpass_case("subpasses_samples", FOUR),
        views_case(),
        own_input_case(),
        local_read("local_read", 1),
        local_read("local_read_own", 0),
        local_read_sample(),
        moved_locations(),
        absent_colors(),
        depth_resolved(),
        depth_loaded("depth32_loaded", DEPTH),
        depth_loaded("depth16_loaded", vk::Format::D16_UNORM),
        layered_depth("layers_depth32", DEPTH),
        layered_depth("layers_depth16", vk::Format::D16_UNORM),
        layered_depth("layers_stencil", vk::Format::D32_SFLOAT_S8_UINT),
        small_levels("levels_depth32", DEPTH, [47, 23]),
        small_levels("levels_depth16", vk::Format::D16_UNORM, [47, 23]),
        small_levels("levels_stencil", vk::Format::S8_UINT, [47, 23]),
        small_levels("levels_depth_stencil", vk::Format::D32_SFLOAT_S8_UINT, [47, 23]),
        small_levels("levels_1d_depth32", DEPTH, [300, 1]),
        small_levels("levels_1d_depth16", vk::Format::D16_UNORM, [300, 1]),
        small_levels("levels_1d_stencil", vk::Format::S8_UINT, [300, 1]),
        small_levels("levels_1d_depth_stencil", vk::Format::D32_SFLOAT_S8_UINT, [300, 1]),
        overflowing("overflow", ONE, 176),
        overflowing("overflow_samples", FOUR, 176),
    ]
}
