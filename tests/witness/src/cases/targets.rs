//! Attachments as images: several at once, loaded again, blits, mipmaps, clears, resolves.

use ash::vk;

use super::canvas::{scattered, stages};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{
    Attachment, Commands, Image, ImageSpec, Pass, Rendered, Result, Shape, State, Transfer,
    ViewSpec,
};

const SIZE_PX: [u32; 2] = [80, 72];

fn nearly() -> Rule {
    Rule::Mostly { abs: 2.0, permille: 6.0 }
}

fn target(
    bench: &Bench,
    format: vk::Format,
    size_px: [u32; 2],
    transfer: Transfer,
) -> Result<Image> {
    let [width, height] = size_px;
    bench.gpu.image(ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT
            | vk::ImageUsageFlags::TRANSFER_SRC
            | vk::ImageUsageFlags::TRANSFER_DST,
        ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]).through(transfer)
    })
}

fn state() -> State {
    let float4 = (vk::Format::R32G32B32A32_SFLOAT, 16);
    State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &[float4, float4])
}

/// Draws triangles into a pass of one RGBA8 attachment.
fn paint(bench: &Bench, image: &Image, seed: u64, load: bool) -> Result<()> {
    let stages = stages(bench);
    let pipeline = bench.gpu.graphics(&stages, &state(), &[])?;
    let list = scattered(seed, 24);
    let buffer = bench.gpu.buffer(&list.concat())?;
    let mut attachment = Attachment::color(image, [0.2, 0.4, 0.6, 0.8]);
    if load {
        attachment = attachment.loaded();
    }
    let pass = Pass { colors: vec![attachment], size_px: SIZE_PX, ..Pass::default() };
    bench.gpu.submit(|c| {
        c.render(&pass, |c| {
            c.vertex_buffers(&[&buffer]);
            c.draw(&pipeline, list.len() as u32, 1);
        });
    })
}

fn shaders() -> Vec<Shader> {
    vec![Shader::new("pixels.vert"), Shader::new("pixels.frag").define("SCALE", "")]
}

fn bytes(size_px: [u32; 2], texel: usize) -> usize {
    (size_px[0] * size_px[1]) as usize * texel
}

fn layers(level: u32) -> vk::ImageSubresourceLayers {
    vk::ImageSubresourceLayers {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        mip_level: level,
        base_array_layer: 0,
        layer_count: 1,
    }
}

fn corner(x: i32, y: i32, z: i32) -> vk::Offset3D {
    vk::Offset3D { x, y, z }
}

fn blit(
    c: &Commands,
    from: (&Image, u32, [[i32; 2]; 2]),
    to: (&Image, u32, [[i32; 2]; 2]),
    filter: vk::Filter,
) {
    let corners = |[a, b]: [[i32; 2]; 2]| [corner(a[0], a[1], 0), corner(b[0], b[1], 1)];
    let region = vk::ImageBlit {
        src_subresource: layers(from.1),
        src_offsets: corners(from.2),
        dst_subresource: layers(to.1),
        dst_offsets: corners(to.2),
    };
    let general = vk::ImageLayout::GENERAL;
    c.barrier();
    // SAFETY: both images are live, in the general layout and as large as the region says.
    unsafe {
        c.gpu.device.cmd_blit_image(
            c.handle,
            from.0.handle,
            general,
            to.0.handle,
            general,
            &[region],
            filter,
        );
    }
    c.barrier();
}

fn several(transfer: Transfer, suffix: &str) -> Case {
    let shaders = vec![
        Shader::new("pixels.vert"),
        Shader::new("pixels.frag").define("TARGETS", 1).define("SCALE", ""),
    ];
    Case::new(
        format!("target/several{suffix}"),
        "four attachments of different formats",
        shaders,
        move |bench| {
            let formats = [
                (vk::Format::R8G8B8A8_UNORM, 4),
                (vk::Format::R8G8B8A8_UNORM, 4),
                (vk::Format::R8G8B8A8_UINT, 4),
                (vk::Format::R32G32B32A32_SFLOAT, 16),
            ];
            let images = formats
                .iter()
                .map(|&(format, _)| target(bench, format, SIZE_PX, transfer))
                .collect::<Result<Vec<_>>>()?;
            let stages = stages(bench);
            let mut state = state();
            state.colors = formats.iter().map(|f| f.0).collect();
            let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
            let list = scattered(71, 24);
            let buffer = bench.gpu.buffer(&list.concat())?;
            let mut colors: Vec<_> =
                images.iter().map(|i| Attachment::color(i, [0.25, 0.5, 0.75, 1.0])).collect();
            let color = vk::ClearColorValue { uint32: [10, 20, 30, 40] };
            colors[2].clear = Some(vk::ClearValue { color });
            let pass = Pass { colors, size_px: SIZE_PX, ..Pass::default() };
            bench.gpu.submit(|c| {
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.draw(&pipeline, list.len() as u32, 1);
                });
            })?;
            let mut outputs = Vec::new();
            for (i, (image, (_, texel))) in images.iter().zip(formats).enumerate() {
                let texels = bench.gpu.read_image(image, 0, bytes(SIZE_PX, texel))?;
                let name = format!("attachment {i}");
                outputs.push(if texel == 16 {
                    let floats: Vec<f32> = texels
                        .chunks_exact(4)
                        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                        .collect();
                    Output::peer(&name, &floats, Rule::Mostly { abs: 1e-3, permille: 6.0 })
                } else {
                    Output::peer(&name, &texels, nearly())
                });
            }
            Ok(outputs)
        },
    )
}

/// More bytes per pixel than a tile of the Apple GPU holds: some attachments are in memory. Some are blended or have a
/// write mask, and fragments are discarded.
fn spilled(samples: vk::SampleCountFlags, suffix: &str) -> Case {
    let shaders = vec![
        Shader::new("pixels.vert"),
        Shader::new("pixels.frag")
            .define("TARGETS", 1)
            .define("MANY", 1)
            .define("DISCARD", 1)
            .define("SCALE", ""),
    ];
    Case::new(format!("target/spilled{suffix}"), "eight large attachments", shaders, move |bench| {
        let float = vk::Format::R32G32B32A32_SFLOAT;
        let several = samples != vk::SampleCountFlags::TYPE_1;
        let mut formats = vec![float; 8];
        formats[2] = vk::Format::R32G32B32A32_UINT;
        let single = |&format: &vk::Format| target(bench, format, SIZE_PX, Transfer::Host);
        let images = formats.iter().map(single).collect::<Result<Vec<_>>>()?;
        let multi = |&format: &vk::Format| {
            let [width, height] = SIZE_PX;
            bench.gpu.image(ImageSpec {
                usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
                samples,
                ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]).through(Transfer::Gpu)
            })
        };
        let drawn = match several {
            true => formats.iter().map(multi).collect::<Result<Vec<_>>>()?,
            false => Vec::new(),
        };
        let stages = stages(bench);
        let mut state = state();
        state.samples = samples;
        state.colors = formats.clone();
        let all = vk::ColorComponentFlags::RGBA;
        let plain = vk::PipelineColorBlendAttachmentState::default().color_write_mask(all);
        state.blend = vec![plain; 8];
        state.blend[5] = plain
            .blend_enable(true)
            .src_color_blend_factor(vk::BlendFactor::ONE)
            .dst_color_blend_factor(vk::BlendFactor::ONE)
            .src_alpha_blend_factor(vk::BlendFactor::ONE)
            .dst_alpha_blend_factor(vk::BlendFactor::ZERO);
        state.blend[6] =
            plain.color_write_mask(vk::ColorComponentFlags::R | vk::ColorComponentFlags::A);
        let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
        let list = scattered(72, 24);
        let buffer = bench.gpu.buffer(&list.concat())?;
        let color = |(k, image): (usize, &Image)| {
            let into = drawn.get(k).unwrap_or(image);
            let mode = match k {
                2 => vk::ResolveModeFlags::SAMPLE_ZERO,
                _ => vk::ResolveModeFlags::AVERAGE,
            };
            Attachment {
                resolve: several.then_some((Rendered::whole(image), mode)),
                ..Attachment::color(into, [0.25, 0.5, 0.75, 1.0])
            }
        };
        let colors = images.iter().enumerate().map(color).collect();
        let pass = Pass { colors, size_px: SIZE_PX, ..Pass::default() };
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, list.len() as u32, 1);
            });
        })?;
        let mut outputs = Vec::new();
        // The integers are cleared to the bits of floats.
        for (i, image) in images.iter().enumerate().filter(|(i, _)| *i != 2) {
            let texels = bench.gpu.read_image(image, 0, bytes(SIZE_PX, 16))?;
            let floats: Vec<f32> = texels
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            outputs.push(Output::peer(
                &format!("attachment {i}"),
                &floats,
                Rule::Mostly { abs: 1e-3, permille: if several { 15.0 } else { 6.0 } },
            ));
        }
        Ok(outputs)
    })
}

/// A pass, the commands of `after`, and the resulting picture.
fn after(
    name: &str,
    about: &'static str,
    transfer: Transfer,
    rule: Rule,
    after: impl Fn(&Bench, &Image) -> Result<()> + Send + Sync + 'static,
) -> Case {
    Case::new(format!("target/{name}"), about, shaders(), move |bench| {
        let image = target(bench, vk::Format::R8G8B8A8_UNORM, SIZE_PX, transfer)?;
        paint(bench, &image, 73, false)?;
        after(bench, &image)?;
        let pixels = bench.gpu.read_image(&image, 0, bytes(SIZE_PX, 4))?;
        Ok(vec![Output::peer("picture", &pixels, rule.clone()).picture(SIZE_PX)])
    })
}

fn blits() -> Vec<Case> {
    let [w, h] = SIZE_PX.map(|v| v as i32);
    let whole = [[0, 0], [w, h]];
    let mut cases = Vec::new();
    for (name, from, to) in [
        ("whole", whole, whole),
        ("flip_x", [[w, 0], [0, h]], whole),
        ("flip_y", whole, [[0, h], [w, 0]]),
        ("turn", [[w, h], [0, 0]], whole),
        // To a size at which no texel boundary coincides with the centre of a pixel.
        ("down", whole, [[5, 7], [69, 71]]),
        ("up", [[10, 12], [30, 29]], whole),
        ("part", [[10, 12], [50, 52]], [[3, 60], [73, 20]]),
    ] {
        for (suffix, filter) in [("nearest", vk::Filter::NEAREST), ("linear", vk::Filter::LINEAR)] {
            for (kind, transfer) in [("", Transfer::Host), ("_compressed", Transfer::Gpu)] {
                let rule = Rule::Mostly { abs: 3.0, permille: 15.0 };
                cases.push(after(
                    &format!("blit_{name}_{suffix}{kind}"),
                    "a blit onto the picture",
                    transfer,
                    rule,
                    move |bench, image| {
                        let source = target(bench, vk::Format::R8G8B8A8_UNORM, SIZE_PX, transfer)?;
                        paint(bench, &source, 74, false)?;
                        bench.gpu.submit(|c| blit(c, (&source, 0, from), (image, 0, to), filter))
                    },
                ));
            }
        }
    }
    cases
}

fn mipmaps(transfer: Transfer, suffix: &str) -> Case {
    Case::new(
        format!("target/mipmaps{suffix}"),
        "levels made by blits from level to level",
        shaders(),
        move |bench| {
            let [width, height] = SIZE_PX;
            let spec = ImageSpec {
                usage: vk::ImageUsageFlags::COLOR_ATTACHMENT
                    | vk::ImageUsageFlags::TRANSFER_SRC
                    | vk::ImageUsageFlags::TRANSFER_DST,
                ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [width, height, 1])
            };
            let mut image = bench.gpu.image(spec.through(transfer).mipmapped())?;
            let whole = image.view;
            image.view = bench.gpu.view(
                image.handle,
                &image.spec,
                ViewSpec { levels: [0, 1], ..ViewSpec::whole(&image.spec) },
            )?;
            paint(bench, &image, 75, false)?;
            image.view = whole;
            bench.gpu.submit(|c| {
                for level in 1..image.spec.levels {
                    let size = |level| {
                        let [w, h, _] = image.spec.level_px(level);
                        [[0, 0], [w as i32, h as i32]]
                    };
                    blit(
                        c,
                        (&image, level - 1, size(level - 1)),
                        (&image, level, size(level)),
                        vk::Filter::LINEAR,
                    );
                }
            })?;
            (0..image.spec.levels)
                .map(|level| {
                    let [w, h, _] = image.spec.level_px(level);
                    let texels = bench.gpu.read_image(&image, level, bytes([w, h], 4))?;
                    let rule = Rule::Mostly { abs: 3.0, permille: 15.0 };
                    Ok(Output::peer(&format!("level {level}"), &texels, rule))
                })
                .collect()
        },
    )
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        several(Transfer::Host, ""),
        several(Transfer::Gpu, "_compressed"),
        spilled(vk::SampleCountFlags::TYPE_1, ""),
        spilled(vk::SampleCountFlags::TYPE_4, "_samples"),
        mipmaps(Transfer::Host, ""),
        mipmaps(Transfer::Gpu, "_compressed"),
    ];
    for (suffix, transfer) in [("", Transfer::Host), ("_compressed", Transfer::Gpu)] {
        cases.push(after(
            &format!("loaded{suffix}"),
            "a second pass that loads the first",
            transfer,
            nearly(),
            |bench, image| paint(bench, image, 76, true),
        ));
        cases.push(after(
            &format!("copied{suffix}"),
            "a copy of a part of another picture",
            transfer,
            nearly(),
            move |bench, image| {
                let source = target(bench, vk::Format::R8G8B8A8_UNORM, SIZE_PX, transfer)?;
                paint(bench, &source, 77, false)?;
                bench.gpu.submit(|c| {
                    c.barrier();
                    let region = vk::ImageCopy {
                        src_subresource: layers(0),
                        src_offset: corner(7, 9, 0),
                        dst_subresource: layers(0),
                        dst_offset: corner(21, 5, 0),
                        extent: vk::Extent3D { width: 45, height: 50, depth: 1 },
                    };
                    let general = vk::ImageLayout::GENERAL;
                    // SAFETY: both images are live and as large as the region says.
                    unsafe {
                        c.gpu.device.cmd_copy_image(
                            c.handle,
                            source.handle,
                            general,
                            image.handle,
                            general,
                            &[region],
                        );
                    }
                    c.barrier();
                })
            },
        ));
        cases.push(after(
            &format!("cleared{suffix}"),
            "a clear of the image, then a pass that loads it",
            transfer,
            nearly(),
            |bench, image| {
                bench.gpu.submit(|c| {
                    c.barrier();
                    let color = vk::ClearColorValue { float32: [0.9, 0.1, 0.5, 0.3] };
                    let range = vk::ImageSubresourceRange {
                        aspect_mask: vk::ImageAspectFlags::COLOR,
                        base_mip_level: 0,
                        level_count: 1,
                        base_array_layer: 0,
                        layer_count: 1,
                    };
                    // SAFETY: the image is live and in the general layout.
                    unsafe {
                        c.gpu.device.cmd_clear_color_image(
                            c.handle,
                            image.handle,
                            vk::ImageLayout::GENERAL,
                            &color,
                            &[range],
                        );
                    }
                    c.barrier();
                })?;
                paint(bench, image, 78, true)
            },
        ));
    }
    cases.extend(blits());
    cases
}
