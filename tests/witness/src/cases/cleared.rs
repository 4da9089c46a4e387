//! Attachments that a rendering clears as a whole and programs read afterwards: drivers mark blocks of compressed images instead of writing
//! them.

use ash::vk;

use super::canvas::{SIZE_PX, Vertex, mesh_state, nearly, stages, vertices};
use super::passes::scattered;
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{
    Attachment, Bind, Image, ImageSpec, Pass, Rendered, Result, SamplerSpec, Shape, Transfer,
    ViewSpec,
};

const COLOR: vk::Format = vk::Format::R16G16B16A16_SFLOAT;
const ZERO: [f32; 4] = [0.0; 4];
const SOME: [f32; 4] = [0.25, 0.5, 0.75, 1.0];

/// An attachment of the canvas' size that programs sample.
fn attachment(format: vk::Format, usage: vk::ImageUsageFlags) -> ImageSpec {
    let [width, height] = SIZE_PX;
    ImageSpec {
        usage: usage | vk::ImageUsageFlags::SAMPLED,
        ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]).through(Transfer::Gpu)
    }
}

/// A view of one aspect of an image.
fn sampled_view(bench: &Bench, image: &Image, levels: [u32; 2]) -> Result<vk::ImageView> {
    let spec = ImageSpec { usage: vk::ImageUsageFlags::SAMPLED, ..image.spec };
    let view = ViewSpec { levels, ..ViewSpec::whole(&spec) };
    bench.gpu.view(image.handle, &spec, view)
}

/// Values that a program reads of an image: a texel of each pixel, and a filtered one between pixels.
fn reads(bench: &Bench, view: vk::ImageView, [width, height]: [u32; 2]) -> Result<Vec<f32>> {
    let gpu = bench.gpu;
    let pixels = || (0..height).flat_map(|y| (0..width).map(move |x| [x as f32, y as f32]));
    let at: Vec<f32> = pixels().flat_map(|[x, y]| [x, y, 0.0, 0.0]).collect();
    let between: Vec<f32> = pixels()
        .flat_map(|[x, y]| [(x + 1.0) / width as f32, (y + 1.0) / height as f32, 0.0, 0.0])
        .collect();
    let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    let sampler = gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, edge))?;
    let (p, q) = (gpu.buffer(&at)?, gpu.buffer(&between)?);
    let r = gpu.poisoned(16 * (width * height) as usize)?;
    let kernel = gpu
        .kernel(&bench.spirv[2])
        .bind(Bind::Texture(view, sampler))
        .storage(&[&p, &q, &r])
        .build()?;
    gpu.run(&kernel, [(width * height).div_ceil(64), 1, 1])?;
    let words = r.bytes();
    Ok(words.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// The shaders of cases that draw meshes and read textures of a type.
fn shaders(sampler: &str, expr: &str) -> Vec<Shader> {
    let read = Shader::new("texture.comp").define("SAMPLER", sampler).define("RESULT", "vec4");
    vec![Shader::new("mesh.vert"), Shader::new("shade.frag"), read.define("EXPR", expr)]
}

/// A texel, and one at a coordinate.
const BOTH: &str = "vec4(texelFetch(t, ivec2(p.xy), 0).xy, textureLod(t, q.xy, 0.0).xy)";

/// As [`BOTH`], of images with one component.
const BOTH_OF_ONE: &str =
    "vec4(texelFetch(t, ivec2(p.xy), 0).x, textureLod(t, q.xy, 0.0).x, 0.0, 0.0)";

/// Depth that is cleared, drawn to and read.
fn depth(name: &'static str, format: vk::Format, clear: f32) -> Case {
    let about = "depth is cleared, drawn to and read";
    Case::new(format!("cleared/{name}"), about, shaders("sampler2D", BOTH_OF_ONE), move |bench| {
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let depth = bench.gpu.image(attachment(format, usage))?;
        let mut state = mesh_state();
        state.colors = Vec::new();
        state.depth_format = format;
        let nearer = if clear > 0.5 { vk::CompareOp::LESS } else { vk::CompareOp::GREATER };
        state.depth = Some((nearer, true));
        let draws = bench.gpu.graphics(&stages(bench), &state, &[])?;
        let list = scattered(91, 6, 0.3);
        let buffer = vertices(bench, &list)?;
        let pass = Pass {
            depth: Some(Attachment::depth(&depth, clear, 0)),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
            });
        })?;
        let first = reads(bench, sampled_view(bench, &depth, [0, 1])?, SIZE_PX)?;
        // Once more, over what is there.
        let over = Pass { depth: pass.depth.map(Attachment::loaded), ..pass };
        bench.gpu.submit(|c| {
            c.barrier();
            c.render(&over, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, 3, 1);
            });
        })?;
        let second = reads(bench, sampled_view(bench, &depth, [0, 1])?, SIZE_PX)?;
        let rule = || Rule::Mostly { abs: 1e-4, permille: 6.0 };
        Ok(vec![Output::peer("once", &first, rule()), Output::peer("twice", &second, rule())])
    })
}

/// Stencil that is cleared, counted and read.
fn stencil() -> Case {
    let about = "stencil is cleared, counted and read";
    Case::new("cleared/stencil", about, shaders("usampler2D", BOTH_OF_ONE), move |bench| {
        let format = vk::Format::S8_UINT;
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let image = bench.gpu.image(attachment(format, usage))?;
        let mut state = mesh_state();
        state.colors = Vec::new();
        state.stencil_format = format;
        let count = vk::StencilOpState {
            compare_op: vk::CompareOp::ALWAYS,
            pass_op: vk::StencilOp::INCREMENT_AND_WRAP,
            compare_mask: 0xff,
            write_mask: 0xff,
            ..Default::default()
        };
        state.stencil = Some([count; 2]);
        let draws = bench.gpu.graphics(&stages(bench), &state, &[])?;
        let list = scattered(92, 14, 0.5);
        let buffer = vertices(bench, &list)?;
        let pass = Pass {
            stencil: Some(Attachment::depth(&image, 0.0, 0xfe)),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, 1);
            });
        })?;
        let read = reads(bench, sampled_view(bench, &image, [0, 1])?, SIZE_PX)?;
        Ok(vec![Output::peer("stencil", &read, nearly())])
    })
}

/// Colours that are cleared, drawn to and read: of several samples, which are resolved, or of several layers.
fn colors(name: &'static str, samples: vk::SampleCountFlags, layers: u32, clear: [f32; 4]) -> Case {
    let several = samples != vk::SampleCountFlags::TYPE_1;
    let (sampler, expr) = match (several, layers) {
        (true, _) => {
            let sum = "texelFetch(t, ivec2(p.xy), 0) + texelFetch(t, ivec2(p.xy), 1)";
            ("sampler2DMS", sum)
        }
        (_, 1) => ("sampler2D", BOTH),
        _ => {
            let texel = "texelFetch(t, ivec3(p.xy, 0), 0) + 4.0 * texelFetch(t, ivec3(p.xy, 2), 0)";
            ("sampler2DArray", texel)
        }
    };
    let about = "colours are cleared, drawn to and read";
    let mut shaders = shaders(sampler, expr);
    if layers > 1 {
        shaders[0] = Shader::new("mesh.vert").define("LAYER", layers);
    }
    Case::new(format!("cleared/{name}"), about, shaders, move |bench| {
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT;
        let spec = attachment(COLOR, usage);
        let shape = if layers > 1 { Shape::D2Array } else { Shape::D2 };
        let image = bench.gpu.image(ImageSpec { shape, layers, ..spec }.samples(samples))?;
        let single = bench.gpu.image(spec)?;
        let mut state = mesh_state();
        state.colors = vec![COLOR];
        state.samples = samples;
        let draws = bench.gpu.graphics(&stages(bench), &state, &[])?;
        let list: Vec<Vertex> = scattered(93, 6, 0.3);
        let buffer = vertices(bench, &list)?;
        let mut target = Attachment::color(&image, clear);
        if several {
            target.resolve = Some((Rendered::whole(&single), vk::ResolveModeFlags::AVERAGE));
        }
        let pass = Pass { colors: vec![target], size_px: SIZE_PX, layers, ..Pass::default() };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&draws, list.len() as u32, layers);
            });
        })?;
        let rule = || Rule::Mostly { abs: 2e-3, permille: 6.0 };
        let read = reads(bench, image.view, SIZE_PX)?;
        let mut outputs = vec![Output::peer("read", &read, rule())];
        if several {
            let bytes = (SIZE_PX[0] * SIZE_PX[1] * 8) as usize;
            let halves = bench.gpu.read_image(&single, 0, bytes)?;
            let words: Vec<u32> = halves
                .chunks_exact(2)
                .map(|b| u32::from(u16::from_le_bytes([b[0], b[1]])))
                .collect();
            outputs.push(Output::peer(
                "resolved",
                &words,
                Rule::Mostly { abs: 2.0, permille: 6.0 },
            ));
        }
        Ok(outputs)
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    use vk::SampleCountFlags as S;
    vec![
        depth("depth32", vk::Format::D32_SFLOAT, 1.0),
        depth("depth16", vk::Format::D16_UNORM, 1.0),
        depth("depth24", vk::Format::X8_D24_UNORM_PACK32, 1.0),
        depth("depth32_stencil", vk::Format::D32_SFLOAT_S8_UINT, 0.0),
        depth("depth24_stencil", vk::Format::D24_UNORM_S8_UINT, 0.0),
        depth("depth32_other", vk::Format::D32_SFLOAT, 0.75),
        stencil(),
        colors("samples_zero", S::TYPE_4, 1, ZERO),
        colors("samples", S::TYPE_4, 1, SOME),
        colors("samples_8", S::TYPE_8, 1, ZERO),
        colors("layers_zero", S::TYPE_1, 3, ZERO),
        colors("layers", S::TYPE_1, 3, SOME),
    ]
}
