//! Queries: occlusion counts and pipeline statistics.

use ash::vk;

use super::canvas::{
    FRAGMENT, SIZE_PX, TOPOLOGIES, VERTEX, mesh_state, nearly, onto, output, scattered, small,
    stages, target, vertices,
};
use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Gpu, ImageSpec, Pass, Result, Shape};

/// Samples of three draws, each with its own query: triangles, nothing, and a culled draw.
fn occlusion(precise: bool) -> Case {
    let name = if precise { "precise" } else { "any" };
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new(
        format!("queries/occlusion_{name}"),
        "samples that passed in three draws",
        shaders,
        move |bench| {
            let gpu = bench.gpu;
            let stages = stages(bench);
            let drawn = gpu.graphics(&stages, &mesh_state(), &[])?;
            let mut state = mesh_state();
            state.cull = vk::CullModeFlags::FRONT_AND_BACK;
            let culled = gpu.graphics(&stages, &state, &[])?;
            let buffer = vertices(bench, &scattered(91, 12))?;
            let queries = gpu.query_pool(vk::QueryType::OCCLUSION, 5)?;
            let answers = gpu.output::<u64>(5)?;
            let image = target(bench)?;
            let pass = onto(&image);
            let flags = match precise {
                true => vk::QueryControlFlags::PRECISE,
                false => vk::QueryControlFlags::empty(),
            };
            gpu.submit(|c| {
                c.reset_queries(queries, 5);
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    let draws = [(&drawn, 3), (&drawn, 12), (&culled, 12), (&drawn, 9)];
                    for (query, (pipeline, count)) in (0..).zip(draws) {
                        c.query((queries, query), flags, || c.draw(pipeline, count, 1));
                    }
                    c.query((queries, 4), flags, || {});
                });
                c.query_results(queries, 5, 1, &answers);
            })?;
            let mut answers = answers.read::<u64>();
            if !precise {
                // Any number but zero will do.
                answers.iter_mut().for_each(|n| *n = u64::from(*n > 0));
            }
            Ok(vec![Output::peer("samples", &answers, Rule::Bits)])
        },
    )
}

/// A query that is reset and counts again while earlier work runs: commands on a query are in order without barriers.
fn occlusion_again() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "a query that is used three times, without barriers";
    Case::new("queries/occlusion_again", about, shaders, |bench| {
        let gpu = bench.gpu;
        let pipeline = gpu.graphics(&stages(bench), &mesh_state(), &[])?;
        let buffer = vertices(bench, &scattered(91, 12))?;
        let queries = gpu.query_pool(vk::QueryType::OCCLUSION, 1)?;
        let images = [target(bench)?, target(bench)?, target(bench)?];
        let answers = [gpu.output::<u64>(1)?, gpu.output::<u64>(1)?, gpu.output::<u64>(1)?];
        gpu.submit(|c| {
            for ((image, answer), count) in images.iter().zip(&answers).zip([12, 3, 6]) {
                c.reset_queries(queries, 1);
                c.render(&onto(image), |c| {
                    c.vertex_buffers(&[&buffer]);
                    let flags = vk::QueryControlFlags::PRECISE;
                    c.query((queries, 0), flags, || c.draw(&pipeline, count, 1));
                });
                c.query_results(queries, 1, 1, answer);
            }
        })?;
        let samples: Vec<u64> = answers.iter().flat_map(|a| a.read::<u64>()).collect();
        Ok(vec![Output::peer("samples", &samples, Rule::Bits)])
    })
}

/// A draw of more primitives than the hardware's parameter memory holds, so that it is rendered in parts: no
/// sample is lost or counted twice.
fn parts() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new(
        "queries/occlusion_in_parts",
        "1.2 million small triangles that blend",
        shaders,
        |bench| {
            let gpu = bench.gpu;
            let stages = stages(bench);
            let mut state = mesh_state();
            state.blend = vec![
                vk::PipelineColorBlendAttachmentState::default()
                    .blend_enable(true)
                    .src_color_blend_factor(vk::BlendFactor::ONE)
                    .dst_color_blend_factor(vk::BlendFactor::ONE_MINUS_DST_COLOR)
                    .src_alpha_blend_factor(vk::BlendFactor::ONE)
                    .color_write_mask(vk::ColorComponentFlags::RGBA),
            ];
            let pipeline = gpu.graphics(&stages, &state, &[])?;
            let buffer = vertices(bench, &small(93, 12))?;
            let queries = gpu.query_pool(vk::QueryType::OCCLUSION, 1)?;
            let answer = gpu.output::<u64>(1)?;
            let image = target(bench)?;
            let pass = onto(&image);
            gpu.submit(|c| {
                c.reset_queries(queries, 1);
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    let flags = vk::QueryControlFlags::PRECISE;
                    c.query((queries, 0), flags, || c.draw(&pipeline, 36, 100_000));
                });
                c.query_results(queries, 1, 1, &answer);
            })?;
            let pixels = gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)?;
            Ok(vec![
                Output::peer("samples", &answer.read::<u64>(), Rule::Bits),
                output(&pixels, nearly()),
            ])
        },
    )
}

/// Timestamps around a rendering, which must increase and not all be equal.
fn timestamps() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new("queries/timestamps", "before, between and after two draws", shaders, |bench| {
        let gpu = bench.gpu;
        let stages = stages(bench);
        let pipeline = gpu.graphics(&stages, &mesh_state(), &[])?;
        let buffer = vertices(bench, &scattered(94, 30))?;
        let queries = gpu.query_pool(vk::QueryType::TIMESTAMP, 3)?;
        let answers = gpu.output::<u64>(3)?;
        let image = target(bench)?;
        let pass = onto(&image);
        gpu.submit(|c| {
            let device = &gpu.device;
            let stamp = |query| {
                let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
                // SAFETY: the queries were reset, and each is written once.
                unsafe { device.cmd_write_timestamp2(c.handle, stage, queries, query) }
            };
            c.reset_queries(queries, 3);
            stamp(0);
            for query in 1..3 {
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.draw(&pipeline, 30, 1);
                });
                stamp(query);
            }
            c.query_results(queries, 3, 1, &answers);
        })?;
        let [a, b, c] = answers.read::<u64>()[..] else { return Ok(Vec::new()) };
        let in_order = [u32::from(0 < a), u32::from(a <= b), u32::from(b <= c), u32::from(a < c)];
        Ok(vec![Output::cpu("in order", &in_order, &[1; 4], Rule::Bits)])
    })
}

/// Statistics of a draw.
fn statistics() -> Vec<Case> {
    use vk::QueryPipelineStatisticFlags as F;
    let mut cases = Vec::new();
    let plain = TOPOLOGIES.into_iter().map(|(name, topology)| (name, topology, false));
    let emitting = [("emitted", vk::PrimitiveTopology::TRIANGLE_LIST, true)];
    for (name, topology, emits) in plain.chain(emitting) {
        let mut shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
        if emits {
            let geometry = Shader::new("stage.geom")
                .define("IN", "triangles")
                .define("OUT", "triangle_strip")
                .define("BODY", 4)
                .define("INVOCATIONS", 3);
            shaders.insert(1, geometry);
        }
        cases.push(Case::new(
            format!("queries/statistics_{name}"),
            "vertices, primitives and invocations of a draw of two instances",
            shaders,
            move |bench| {
                let gpu = bench.gpu;
                let used: &[_] = match emits {
                    true => &[VERTEX, vk::ShaderStageFlags::GEOMETRY, FRAGMENT],
                    false => &[VERTEX, FRAGMENT],
                };
                let stages: Vec<_> =
                    used.iter().copied().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
                let mut state = mesh_state();
                state.topology = topology;
                let pipeline = gpu.graphics(&stages, &state, &[])?;
                let buffer = vertices(bench, &scattered(92, 12))?;
                let kinds = F::INPUT_ASSEMBLY_VERTICES
                    | F::INPUT_ASSEMBLY_PRIMITIVES
                    | F::CLIPPING_INVOCATIONS
                    | match emits {
                        true => F::GEOMETRY_SHADER_INVOCATIONS | F::GEOMETRY_SHADER_PRIMITIVES,
                        false => F::VERTEX_SHADER_INVOCATIONS | F::CLIPPING_PRIMITIVES,
                    };
                let create = vk::QueryPoolCreateInfo::default()
                    .query_type(vk::QueryType::PIPELINE_STATISTICS)
                    .query_count(1)
                    .pipeline_statistics(kinds);
                let queries = gpu.query_pool_of(&create)?;
                let answers = gpu.output::<u64>(5)?;
                let image = target(bench)?;
                let pass = onto(&image);
                gpu.submit(|c| {
                    c.reset_queries(queries, 1);
                    c.query((queries, 0), vk::QueryControlFlags::empty(), || {
                        c.render(&pass, |c| {
                            c.vertex_buffers(&[&buffer]);
                            c.draw(&pipeline, 12, 2);
                        });
                    });
                    c.query_results(queries, 1, 5, &answers);
                })?;
                Ok(vec![Output::peer("counts", &answers.read::<u64>(), Rule::Bits)])
            },
        ));
    }
    cases
}

/// A query of fragment shader invocations.
fn shaded_fragments(gpu: &Gpu) -> Result<vk::QueryPool> {
    let create = vk::QueryPoolCreateInfo::default()
        .query_type(vk::QueryType::PIPELINE_STATISTICS)
        .query_count(1)
        .pipeline_statistics(vk::QueryPipelineStatisticFlags::FRAGMENT_SHADER_INVOCATIONS);
    gpu.query_pool_of(&create)
}

/// Without tests, as many fragments are shaded as samples pass; draws outside of the query are not counted.
fn fragments() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "fragments of two draws, as many as samples that passed";
    Case::new("queries/statistics_fragments", about, shaders, |bench| {
        let gpu = bench.gpu;
        let pipeline = gpu.graphics(&stages(bench), &mesh_state(), &[])?;
        let buffer = vertices(bench, &scattered(93, 12))?;
        let shaded = shaded_fragments(gpu)?;
        let passed = gpu.query_pool(vk::QueryType::OCCLUSION, 1)?;
        let counts = [gpu.output::<u64>(1)?, gpu.output::<u64>(1)?];
        let image = target(bench)?;
        let pass = onto(&image);
        gpu.submit(|c| {
            c.reset_queries(shaded, 1);
            c.reset_queries(passed, 1);
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, 6, 1);
                c.query((passed, 0), vk::QueryControlFlags::PRECISE, || {
                    c.query((shaded, 0), vk::QueryControlFlags::empty(), || {
                        c.draw(&pipeline, 12, 1);
                        c.draw(&pipeline, 3, 2);
                    });
                });
                c.draw(&pipeline, 9, 1);
            });
            c.query_results(shaded, 1, 1, &counts[0]);
            c.query_results(passed, 1, 1, &counts[1]);
        })?;
        let [shaded, passed] = counts.map(|c| c.read::<u64>());
        let some = [u64::from(passed[0] > 0)];
        Ok(vec![
            Output::cpu("fragments", &shaded, &passed, Rule::Bits),
            Output::cpu("some", &some, &[1], Rule::Bits),
        ])
    })
    // They count the helper invocations of quads too.
    .without_lavapipe()
    .without_honeykrisp()
}

/// Draws without a fragment shader, which only write depth, invoke none.
fn no_fragments() -> Case {
    let about = "fragment shaders invoked by a draw without one, whose samples pass";
    let shaders = vec![Shader::new("mesh.vert")];
    Case::new("queries/statistics_no_fragments", about, shaders, |bench| {
        let gpu = bench.gpu;
        let format = vk::Format::D32_SFLOAT;
        let mut state = mesh_state();
        state.colors = Vec::new();
        state.blend = Vec::new();
        state.depth_format = format;
        state.depth = Some((vk::CompareOp::ALWAYS, true));
        let pipeline = gpu.graphics(&[(VERTEX, &bench.spirv[0][..])], &state, &[])?;
        let buffer = vertices(bench, &scattered(93, 12))?;
        let shaded = shaded_fragments(gpu)?;
        let passed = gpu.query_pool(vk::QueryType::OCCLUSION, 1)?;
        let counts = [gpu.output::<u64>(1)?, gpu.output::<u64>(1)?];
        let image = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ..ImageSpec::sampled(format, Shape::D2, [SIZE_PX[0], SIZE_PX[1], 1])
        })?;
        let depth = Some(Attachment::depth(&image, 1.0, 0));
        let pass = Pass { depth, size_px: SIZE_PX, ..Pass::default() };
        gpu.submit(|c| {
            c.reset_queries(shaded, 1);
            c.reset_queries(passed, 1);
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.query((passed, 0), vk::QueryControlFlags::PRECISE, || {
                    c.query((shaded, 0), vk::QueryControlFlags::empty(), || {
                        c.draw(&pipeline, 12, 1);
                    });
                });
            });
            c.query_results(shaded, 1, 1, &counts[0]);
            c.query_results(passed, 1, 1, &counts[1]);
        })?;
        let [shaded, passed] = counts.map(|c| c.read::<u64>());
        Ok(vec![
            Output::cpu("fragments", &shaded, &[0], Rule::Bits),
            Output::cpu("some", &[u64::from(passed[0] > 0)], &[1], Rule::Bits),
        ])
    })
}

/// Invocations of a direct and of an indirect dispatch.
fn threads() -> Case {
    let about = "threads of a dispatch and of one whose size is in memory";
    Case::new("queries/statistics_threads", about, vec![Shader::new("count.comp")], |bench| {
        let gpu = bench.gpu;
        let data = gpu.buffer(&[0u32; 512])?;
        let arguments = gpu.buffer(&[3u32, 4, 2])?;
        let kernel = gpu.kernel(&bench.spirv[0]).storage(&[&data]).build()?;
        let create = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::PIPELINE_STATISTICS)
            .query_count(1)
            .pipeline_statistics(vk::QueryPipelineStatisticFlags::COMPUTE_SHADER_INVOCATIONS);
        let queries = gpu.query_pool_of(&create)?;
        let answer = gpu.output::<u64>(1)?;
        gpu.submit(|c| {
            c.reset_queries(queries, 1);
            c.query((queries, 0), vk::QueryControlFlags::empty(), || {
                c.dispatch(&kernel, [5, 1, 3]);
                c.barrier();
                c.dispatch_indirect(&kernel, &arguments, 0);
            });
            c.query_results(queries, 1, 1, &answer);
        })?;
        let expected = [32 * (5 * 3 + 3 * 4 * 2)];
        Ok(vec![Output::cpu("threads", &answer.read::<u64>(), &expected, Rule::Bits)])
    })
}

/// Vertices and primitives of several indirect draws of one command.
fn indirect() -> Case {
    use vk::QueryPipelineStatisticFlags as F;
    let about = "vertices and primitives of three draws whose counts are in memory";
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new("queries/statistics_indirect", about, shaders, |bench| {
        let gpu = bench.gpu;
        let pipeline = gpu.graphics(&stages(bench), &mesh_state(), &[])?;
        let buffer = vertices(bench, &scattered(94, 12))?;
        let arguments = gpu.buffer(&[12u32, 1, 0, 0, 6, 2, 3, 0, 6, 3, 0, 0])?;
        let create = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::PIPELINE_STATISTICS)
            .query_count(1)
            .pipeline_statistics(F::INPUT_ASSEMBLY_VERTICES | F::INPUT_ASSEMBLY_PRIMITIVES);
        let queries = gpu.query_pool_of(&create)?;
        let answers = gpu.output::<u64>(2)?;
        let image = target(bench)?;
        let pass = onto(&image);
        gpu.submit(|c| {
            c.reset_queries(queries, 1);
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                // It binds the pipeline, and is outside of the query.
                c.draw(&pipeline, 3, 1);
                c.query((queries, 0), vk::QueryControlFlags::empty(), || {
                    let (device, from) = (&gpu.device, arguments.handle);
                    // SAFETY: a pipeline and its vertex buffer are bound, and the buffer has three draws.
                    unsafe { device.cmd_draw_indirect(c.handle, from, 0, 3, 16) };
                });
            });
            c.query_results(queries, 1, 2, &answers);
        })?;
        let expected = [12 + 2 * 6 + 3 * 6, 4 + 2 * 2 + 3 * 2];
        Ok(vec![Output::cpu("counts", &answers.read::<u64>(), &expected, Rule::Bits)])
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        occlusion(true),
        occlusion(false),
        occlusion_again(),
        parts(),
        timestamps(),
        fragments(),
        no_fragments(),
        threads(),
        indirect(),
    ];
    cases.extend(statistics());
    cases
}
