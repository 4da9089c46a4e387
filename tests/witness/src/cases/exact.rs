//! Sample counts with known values: rectangles on the pixel grid, and alpha to coverage.

use ash::vk;

use super::canvas::{SIZE_PX, Vertex, mesh_state, stages, vertices};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Bind, Image, ImageSpec, Pass, Result, Shape, Transfer};

/// A rectangle in pixels: left, top, right, bottom.
type Rect = [u32; 4];

/// Two triangles over whole pixels, in one colour.
fn rectangle([left, top, right, bottom]: Rect, z: f32, color: [f32; 4]) -> Vec<Vertex> {
    let clip = |n: u32, size: u32| 2.0 * n as f32 / size as f32 - 1.0;
    let [r, g, b, a] = color;
    [(left, top), (right, top), (left, bottom), (left, bottom), (right, top), (right, bottom)]
        .map(|(x, y)| [clip(x, SIZE_PX[0]), clip(y, SIZE_PX[1]), z, 1.0, r, g, b, a])
        .into()
}

fn area([left, top, right, bottom]: Rect) -> u64 {
    u64::from(right - left) * u64::from(bottom - top)
}

fn common(a: Rect, b: Rect) -> u64 {
    let (left, top) = (a[0].max(b[0]), a[1].max(b[1]));
    let (right, bottom) = (a[2].min(b[2]), a[3].min(b[3]));
    area([left, top, right.max(left), bottom.max(top)])
}

fn attachment(
    bench: &Bench,
    format: vk::Format,
    usage: vk::ImageUsageFlags,
    samples: vk::SampleCountFlags,
) -> Result<Image> {
    let [width, height] = SIZE_PX;
    let spec = ImageSpec { usage, ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]) };
    bench.gpu.image(spec.samples(samples).through(Transfer::Gpu))
}

/// Precise occlusion queries around rectangles: one that is fully visible, one that the depth test hides in
/// part, one outside of the view, one that extends beyond it, and one drawn twice.
fn occlusion(count: u64, samples: vk::SampleCountFlags) -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "rectangles on whole pixels in precise queries";
    Case::new(format!("queries/occlusion_exact_{count}"), about, shaders, move |bench| {
        let gpu = bench.gpu;
        let mut state = mesh_state();
        state.samples = samples;
        state.depth_format = vk::Format::D32_SFLOAT;
        state.depth = Some((vk::CompareOp::LESS, true));
        let pipeline = gpu.graphics(&stages(bench), &state, &[])?;
        let [width, height] = SIZE_PX;
        let (near, behind): (Rect, Rect) = ([17, 9, 71, 50], [33, 21, 101, 90]);
        let white = [1.0; 4];
        // Twice the width of the view, so half of it is visible.
        let wide = rectangle([0, height - 3, 2 * width, height], 0.4, white);
        let twice = [rectangle([1, 1, 6, 4], 0.6, white), rectangle([1, 1, 6, 4], 0.5, white)];
        let draws = [
            (rectangle(near, 0.25, white), area(near)),
            (rectangle(behind, 0.75, white), area(behind) - common(near, behind)),
            (rectangle([width, 0, width + 40, 20], 0.1, white), 0),
            (wide, u64::from(width) * 3 - common(near, [0, height - 3, width, height])),
            (twice.concat(), 2 * area([1, 1, 6, 4])),
        ];
        let color = attachment(
            bench,
            vk::Format::R8G8B8A8_UNORM,
            vk::ImageUsageFlags::COLOR_ATTACHMENT,
            samples,
        )?;
        let depth = attachment(
            bench,
            vk::Format::D32_SFLOAT,
            vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            samples,
        )?;
        let buffers = draws.iter().map(|d| vertices(bench, &d.0)).collect::<Result<Vec<_>>>()?;
        let queries = gpu.query_pool(vk::QueryType::OCCLUSION, draws.len() as u32)?;
        let answers = gpu.output::<u64>(draws.len())?;
        let pass = Pass {
            colors: vec![Attachment::color(&color, [0.0; 4])],
            depth: Some(Attachment::depth(&depth, 1.0, 0)),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        gpu.submit(|c| {
            c.reset_queries(queries, draws.len() as u32);
            c.render(&pass, |c| {
                for ((query, buffer), draw) in (0..).zip(&buffers).zip(&draws) {
                    c.vertex_buffers(&[buffer]);
                    let corners = draw.0.len() as u32;
                    let flags = vk::QueryControlFlags::PRECISE;
                    c.query((queries, query), flags, || c.draw(&pipeline, corners, 1));
                }
            });
            c.query_results(queries, draws.len() as u32, 1, &answers);
        })?;
        let expected: Vec<u64> = draws.iter().map(|d| d.1 * count).collect();
        Ok(vec![Output::cpu("samples", &answers.read::<u64>(), &expected, Rule::Bits)])
    })
}

/// Early fragment tests of a rectangle, and of a farther one: samples outside of the pipeline's mask and of primitives that cull distances
/// cull are neither counted nor written to the depth attachment.
/// source: Vulkan specification, "Sample Mask Test", "Early Fragment Test" and "Controlling Viewport Culling": both precede fragment shading
fn early_tests(samples: vk::SampleCountFlags, mask: u32, culls: u32) -> Case {
    let mut shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag").define("EARLY", "")];
    let mut name = format!("queries/early_tests_{}_{mask:x}", samples.as_raw());
    if culls != 0 {
        shaders[0] = Shader::new("mesh.vert").define("CULL", culls);
        name = format!("{name}_culled_{culls}");
    }
    Case::new(
        name,
        "samples and primitives that are gone before early tests",
        shaders,
        move |bench| {
            let gpu = bench.gpu;
            let mut state = mesh_state();
            (state.samples, state.sample_mask) = (samples, mask);
            state.depth_format = vk::Format::D32_SFLOAT;
            state.depth = Some((vk::CompareOp::LESS, true));
            let pipeline = gpu.graphics(&stages(bench), &state, &[])?;
            state.sample_mask = !0;
            let all = gpu.graphics(&stages(bench), &state, &[])?;
            let (near, far): (Rect, Rect) = ([7, 9, 51, 50], [0, 0, SIZE_PX[0], SIZE_PX[1]]);
            let white = [1.0; 4];
            let draws = [rectangle(near, 0.25, white), rectangle(far, 0.75, white)];
            let color_usage = vk::ImageUsageFlags::COLOR_ATTACHMENT;
            let color = attachment(bench, vk::Format::R8G8B8A8_UNORM, color_usage, samples)?;
            let depth_usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
            let depth = attachment(bench, vk::Format::D32_SFLOAT, depth_usage, samples)?;
            let buffers = draws.iter().map(|d| vertices(bench, d)).collect::<Result<Vec<_>>>()?;
            let queries = gpu.query_pool(vk::QueryType::OCCLUSION, 2)?;
            let answers = gpu.output::<u64>(2)?;
            let pass = Pass {
                colors: vec![Attachment::color(&color, [0.0; 4])],
                depth: Some(Attachment::depth(&depth, 1.0, 0)),
                size_px: SIZE_PX,
                ..Pass::default()
            };
            gpu.submit(|c| {
                c.reset_queries(queries, 2);
                c.render(&pass, |c| {
                    for ((query, buffer), pipeline) in (0..).zip(&buffers).zip([&pipeline, &all]) {
                        c.vertex_buffers(&[buffer]);
                        let flags = vk::QueryControlFlags::PRECISE;
                        c.query((queries, query), flags, || c.draw(pipeline, 6, 1));
                    }
                });
                c.query_results(queries, 2, 1, &answers);
            })?;
            let count = u64::from(samples.as_raw());
            // A distance of the vertex shader is negative at all corners of the first rectangle.
            let masked = u64::from((mask & ((1 << count) - 1)).count_ones());
            let kept = if culls == 0 { masked } else { 0 };
            let expected = [kept * area(near), count * area(far) - kept * area(near)];
            Ok(vec![Output::cpu("samples", &answers.read::<u64>(), &expected, Rule::Bits)])
        },
    )
}

/// Bars of increasing alpha as coverage, with every sample read back. Vulkan does not specify which samples
/// an alpha covers; each must be the fragment's or untouched, their number must match the alpha to within
/// one, with none for 0 and all for 1.
fn alpha_to_coverage() -> Case {
    const BARS: u32 = 16;
    const SAMPLES: usize = 4;
    let shaders = ["mesh.vert", "shade.frag", "each_sample.comp"].map(Shader::new).to_vec();
    let about = "bars of alpha as coverage, sample by sample";
    Case::new("samples/alpha_to_coverage_each", about, shaders, |bench| {
        let gpu = bench.gpu;
        let mut state = mesh_state();
        state.samples = vk::SampleCountFlags::TYPE_4;
        state.alpha_to_coverage = true;
        let pipeline = gpu.graphics(&stages(bench), &state, &[])?;
        let [width, height] = SIZE_PX;
        let bar = width / BARS;
        let alpha = |k: u32| k as f32 / (BARS - 1) as f32;
        let list: Vec<Vertex> = (0..BARS)
            .flat_map(|k| {
                rectangle([k * bar, 0, (k + 1) * bar, height], 0.5, [1.0, 1.0, 1.0, alpha(k)])
            })
            .collect();
        let buffer = vertices(bench, &list)?;
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::SAMPLED;
        let image =
            attachment(bench, vk::Format::R8G8B8A8_UNORM, usage, vk::SampleCountFlags::TYPE_4)?;
        let pass = Pass {
            colors: vec![Attachment::color(&image, [0.0; 4])],
            size_px: SIZE_PX,
            ..Pass::default()
        };
        gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, list.len() as u32, 1);
            });
        })?;
        let pixels = (width * height) as usize;
        let texels = gpu.output::<[f32; 4]>(pixels * SAMPLES)?;
        let kernel =
            gpu.kernel(&bench.spirv[2]).bind(Bind::Sampled(image.view)).storage(&[&texels]);
        gpu.run(&kernel.build()?, [width.div_ceil(8), height.div_ceil(8), 1])?;
        let texels = texels.read::<[f32; 4]>();
        // For each pixel the samples that the bar covers; 255 if one is neither the bar's nor the
        // background's.
        let masks: Vec<u32> = texels
            .chunks_exact(SAMPLES)
            .zip(0u32..)
            .map(|(samples, at)| {
                let drawn = alpha(at % width / bar);
                let mut mask = 0;
                for (s, texel) in samples.iter().enumerate() {
                    let is = |a: f32| {
                        let near = (texel[3] - a).abs() < 1.0 / 255.0;
                        near && texel[..3].iter().all(|&c| c == f32::from(u8::from(a != 0.0)))
                    };
                    match (is(drawn), texel == &[0.0; 4]) {
                        (true, _) if drawn != 0.0 => mask |= 1 << s,
                        (_, true) => {}
                        _ => return 255,
                    }
                }
                mask
            })
            .collect();
        let counts: Vec<f32> = masks.iter().map(|m| m.count_ones() as f32).collect();
        let wanted: Vec<f32> =
            (0..pixels as u32).map(|at| SAMPLES as f32 * alpha(at % width / bar)).collect();
        // The first bar is empty, the last is full.
        let ends: Vec<u32> = (0..pixels as u32)
            .filter(|at| [0, BARS - 1].contains(&(at % width / bar)))
            .map(|at| masks[at as usize])
            .collect();
        let full: Vec<u32> = (0..pixels as u32)
            .map(|at| at % width / bar)
            .filter(|k| [0, BARS - 1].contains(k))
            .map(|k| if k == 0 { 0 } else { 15 })
            .collect();
        Ok(vec![
            Output::cpu("samples", &counts, &wanted, Rule::Abs(1.0)),
            Output::cpu("ends", &ends, &full, Rule::Bits),
        ])
    })
}

/// A rectangle with corners between the pixels, with custom sample locations: the samples that it covers, and the
/// positions that fragments see.
fn sample_places() -> Case {
    const SAMPLES: usize = 4;
    /// In sixteenths of a pixel.
    const PLACES: [[u32; 2]; SAMPLES] = [[1, 3], [15, 1], [5, 13], [9, 7]];
    /// Left, top, right, bottom in sixteenths of a pixel; no sample is on an edge.
    const SIXTEENTHS: Rect = [164, 120, 968, 652];
    let shaders = ["mesh.vert", "sample_place.frag", "each_sample.comp"].map(Shader::new).to_vec();
    let about = "samples at places of the application's, sample by sample";
    let case = Case::new("samples/own_places", about, shaders, |bench| {
        let gpu = bench.gpu;
        let mut state = mesh_state();
        state.samples = vk::SampleCountFlags::TYPE_4;
        state.sample_places = PLACES.map(|p| p.map(|n| n as f32 / 16.0)).to_vec();
        let pipeline = gpu.graphics(&stages(bench), &state, &[])?;
        let [width, height] = SIZE_PX;
        let clip = |n: u32, size: u32| 2.0 * n as f32 / (16 * size) as f32 - 1.0;
        let [left, top, right, bottom] = SIXTEENTHS;
        let list: Vec<Vertex> = [
            (left, top),
            (right, top),
            (left, bottom),
            (left, bottom),
            (right, top),
            (right, bottom),
        ]
        .map(|(x, y)| [clip(x, width), clip(y, height), 0.5, 1.0, 1.0, 1.0, 1.0, 1.0])
        .into();
        let buffer = vertices(bench, &list)?;
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::SAMPLED;
        let image =
            attachment(bench, vk::Format::R8G8B8A8_UNORM, usage, vk::SampleCountFlags::TYPE_4)?;
        let pass = Pass {
            colors: vec![Attachment::color(&image, [0.0; 4])],
            size_px: SIZE_PX,
            ..Pass::default()
        };
        gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, list.len() as u32, 1);
            });
        })?;
        let texels = gpu.output::<[f32; 4]>((width * height) as usize * SAMPLES)?;
        let kernel =
            gpu.kernel(&bench.spirv[2]).bind(Bind::Sampled(image.view)).storage(&[&texels]);
        gpu.run(&kernel.build()?, [width.div_ceil(8), height.div_ceil(8), 1])?;
        let texels = texels.read::<[f32; 4]>();
        let mut wanted = Vec::new();
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            for [of_x, of_y] in PLACES {
                let (x, y) = (16 * x + of_x, 16 * y + of_y);
                let inside = (left..right).contains(&x) && (top..bottom).contains(&y);
                let place = [of_x as f32 / 16.0, of_y as f32 / 16.0, 1.0, 1.0];
                wanted.push(if inside { place } else { [0.0; 4] });
            }
        }
        Ok(vec![Output::cpu(
            "samples",
            texels.as_flattened(),
            wanted.as_flattened(),
            Rule::Abs(1.0 / 255.0),
        )])
    });
    // lavapipe uses the standard sample locations.
    case.without_lavapipe()
}

/// Rectangles whose depth biases are in units of the float format and of fixed point, in one rendering.
fn depth_biases() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "biases of float depth in steps of floats and of fixed point";
    let case = Case::new("draws/depth_bias_units", about, shaders, |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let mut state = mesh_state();
        state.depth_format = vk::Format::D32_SFLOAT;
        state.depth = Some((vk::CompareOp::ALWAYS, true));
        state.depth_bias = Some([4096.0, 0.0, 0.0]);
        let floats = gpu.graphics(&stages(bench), &state, &[])?;
        state.bias_of_unorm = true;
        let fixed = gpu.graphics(&stages(bench), &state, &[])?;
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let one = vk::SampleCountFlags::TYPE_1;
        let color = attachment(
            bench,
            vk::Format::R8G8B8A8_UNORM,
            vk::ImageUsageFlags::COLOR_ATTACHMENT,
            one,
        )?;
        let depth = attachment(bench, vk::Format::D32_SFLOAT, usage, one)?;
        let pass = Pass {
            colors: vec![Attachment::color(&color, [0.0; 4])],
            depth: Some(Attachment::depth(&depth, 1.0, 0)),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        let third = width / 3;
        let place = |k: u32| [k * third, 0, (k + 1) * third, height];
        let list = (0..3).map(|k| rectangle(place(k), 0.25, [1.0; 4])).collect::<Vec<_>>();
        let buffers = list.iter().map(|v| vertices(bench, v)).collect::<Result<Vec<_>>>()?;
        gpu.submit(|c| {
            c.render(&pass, |c| {
                for (buffer, pipeline) in buffers.iter().zip([&floats, &fixed, &floats]) {
                    c.vertex_buffers(&[buffer]);
                    c.draw(pipeline, 6, 1);
                }
            });
        })?;
        // A float unit from 0.25 to 0.5 is 2^-25, a 24-bit unit is 2^-24.
        let [of_floats, of_fixed] = [25, 24].map(|n| 0.25 + 4096.0 * 0.5f32.powi(n));
        let wanted: Vec<f32> = (0..width * height)
            .map(|at| match at % width / third {
                0 | 2 => of_floats,
                1 => of_fixed,
                _ => 1.0,
            })
            .collect();
        let bytes = gpu.read_image(&depth, 0, (width * height * 4) as usize)?;
        let got: Vec<f32> = bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        Ok(vec![Output::cpu("depth", &got, &wanted, Rule::Bits)])
    });
    case.without_lavapipe()
}

/// Depth of two samples that is cleared and resolved: to an attachment without stencil, while stencil has a resolve
/// mode, too; and to one that is cleared, while only stencil has a mode.
fn depth_resolves() -> Case {
    let about =
        "depth and stencil resolved to attachments with depth alone, and with stencils alone";
    let case = Case::new("passes/depth_resolves", about, Vec::new(), |bench| {
        use vk::ResolveModeFlags as Mode;
        let gpu = bench.gpu;
        let both = vk::Format::D32_SFLOAT_S8_UINT;
        let [width, height] = SIZE_PX;
        let layout = vk::ImageLayout::GENERAL;
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let clear = |depth, stencil| vk::ClearValue {
            depth_stencil: vk::ClearDepthStencilValue { depth, stencil },
        };
        let mut outputs = Vec::new();
        for (name, format, depth_mode, wanted) in [
            ("depth alone", vk::Format::D32_SFLOAT, Mode::SAMPLE_ZERO, 0.5),
            ("no mode for depth", both, Mode::NONE, 0.25),
        ] {
            let several = attachment(bench, both, usage, vk::SampleCountFlags::TYPE_4)?;
            let single = attachment(bench, format, usage, vk::SampleCountFlags::TYPE_1)?;
            let described = |format, samples| {
                vk::AttachmentDescription2::default()
                    .format(format)
                    .samples(samples)
                    .load_op(vk::AttachmentLoadOp::CLEAR)
                    .stencil_load_op(vk::AttachmentLoadOp::CLEAR)
                    .store_op(vk::AttachmentStoreOp::STORE)
                    .stencil_store_op(vk::AttachmentStoreOp::STORE)
                    .initial_layout(layout)
                    .final_layout(layout)
            };
            let attachments = [
                described(both, vk::SampleCountFlags::TYPE_4),
                described(format, vk::SampleCountFlags::TYPE_1),
            ];
            let refer = |n, aspects| {
                vk::AttachmentReference2::default()
                    .attachment(n)
                    .layout(layout)
                    .aspect_mask(aspects)
            };
            let depth = vk::ImageAspectFlags::DEPTH;
            let all = depth | vk::ImageAspectFlags::STENCIL;
            let from = refer(0, all);
            let to = refer(1, if format == both { all } else { depth });
            let mut resolve = vk::SubpassDescriptionDepthStencilResolve::default()
                .depth_resolve_mode(depth_mode)
                .stencil_resolve_mode(Mode::SAMPLE_ZERO)
                .depth_stencil_resolve_attachment(&to);
            let subpasses = [vk::SubpassDescription2::default()
                .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
                .depth_stencil_attachment(&from)
                .push_next(&mut resolve)];
            let create = vk::RenderPassCreateInfo2::default()
                .attachments(&attachments)
                .subpasses(&subpasses);
            let pass = gpu.render_pass2(&create, &[several.view, single.view], SIZE_PX)?;
            gpu.submit(|c| c.subpasses(&pass, &[clear(0.5, 7), clear(0.25, 9)], 1, |_, _| {}))?;
            let bytes = gpu.read_image(&single, 0, (width * height * 4) as usize)?;
            let got: Vec<f32> =
                bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
            let wanted = vec![wanted; (width * height) as usize];
            outputs.push(Output::cpu(name, &got, &wanted, Rule::Bits));
        }
        Ok(outputs)
    });
    // lavapipe resolves depth without a mode, too.
    case.without_lavapipe()
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        occlusion(1, vk::SampleCountFlags::TYPE_1),
        occlusion(4, vk::SampleCountFlags::TYPE_4),
        early_tests(vk::SampleCountFlags::TYPE_1, 0, 0),
        early_tests(vk::SampleCountFlags::TYPE_4, 0b0101, 0),
        early_tests(vk::SampleCountFlags::TYPE_1, 1, 1),
        early_tests(vk::SampleCountFlags::TYPE_4, 0b1111, 3),
        early_tests(vk::SampleCountFlags::TYPE_4, 0b0110, 1),
        alpha_to_coverage(),
        sample_places(),
        depth_biases(),
        depth_resolves(),
    ]
}
