//! What draws leave in queries: samples that passed, and pipeline statistics.

use ash::vk;

use super::canvas::{
    CLEAR, FRAGMENT, SIZE_PX, VERTEX, mesh_state, nearly, output, scattered, small, target,
    vertices,
};
use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Pass};

/// Samples of three draws, each counted on its own: triangles, nothing, and one that is culled.
fn occlusion(precise: bool) -> Case {
    let name = if precise { "precise" } else { "any" };
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new(
        format!("queries/occlusion_{name}"),
        "samples that passed in three draws",
        shaders,
        move |bench| {
            let gpu = bench.gpu;
            let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
            let drawn = gpu.graphics(&stages, &mesh_state(), &[])?;
            let mut state = mesh_state();
            state.cull = vk::CullModeFlags::FRONT_AND_BACK;
            let culled = gpu.graphics(&stages, &state, &[])?;
            let buffer = vertices(bench, &scattered(91, 12))?;
            let queries = gpu.query_pool(vk::QueryType::OCCLUSION, 5)?;
            let answers = gpu.output::<u64>(5)?;
            let image = target(bench)?;
            let pass = Pass {
                colors: vec![Attachment::color(&image, CLEAR)],
                size_px: SIZE_PX,
                ..Pass::default()
            };
            let flags = match precise {
                true => vk::QueryControlFlags::PRECISE,
                false => vk::QueryControlFlags::empty(),
            };
            gpu.submit(|c| {
                let device = &gpu.device;
                // SAFETY: all objects are live; each query is reset, begun and ended once.
                unsafe {
                    device.cmd_reset_query_pool(c.handle, queries, 0, 5);
                    c.render(&pass, |c| {
                        c.vertex_buffers(&[&buffer]);
                        let draws = [(&drawn, 3), (&drawn, 12), (&culled, 12), (&drawn, 9)];
                        for (query, (pipeline, count)) in draws.into_iter().enumerate() {
                            device.cmd_begin_query(c.handle, queries, query as u32, flags);
                            c.draw(pipeline, count, 1);
                            device.cmd_end_query(c.handle, queries, query as u32);
                        }
                        device.cmd_begin_query(c.handle, queries, 4, flags);
                        device.cmd_end_query(c.handle, queries, 4);
                    });
                    device.cmd_copy_query_pool_results(
                        c.handle,
                        queries,
                        0,
                        5,
                        answers.handle,
                        0,
                        8,
                        vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT,
                    );
                }
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

/// A draw of more primitives than the hardware's parameter memory holds at once, so that it draws them
/// in parts: no sample is lost or counted twice.
fn parts() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new(
        "queries/occlusion_in_parts",
        "1.2 million small triangles that blend",
        shaders,
        |bench| {
            let gpu = bench.gpu;
            let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
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
            let pass = Pass {
                colors: vec![Attachment::color(&image, CLEAR)],
                size_px: SIZE_PX,
                ..Pass::default()
            };
            gpu.submit(|c| {
                let device = &gpu.device;
                // SAFETY: all objects are live; the query is reset, begun and ended once.
                unsafe {
                    device.cmd_reset_query_pool(c.handle, queries, 0, 1);
                    c.render(&pass, |c| {
                        c.vertex_buffers(&[&buffer]);
                        let flags = vk::QueryControlFlags::PRECISE;
                        device.cmd_begin_query(c.handle, queries, 0, flags);
                        c.draw(&pipeline, 36, 100_000);
                        device.cmd_end_query(c.handle, queries, 0);
                    });
                    device.cmd_copy_query_pool_results(
                        c.handle,
                        queries,
                        0,
                        1,
                        answer.handle,
                        0,
                        8,
                        vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT,
                    );
                }
            })?;
            let pixels = gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)?;
            Ok(vec![
                Output::peer("samples", &answer.read::<u64>(), Rule::Bits),
                output(&pixels, nearly()),
            ])
        },
    )
}

/// Timestamps around a rendering, which must come in order and not all be one.
fn timestamps() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    Case::new("queries/timestamps", "before, between and after two draws", shaders, |bench| {
        let gpu = bench.gpu;
        let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
        let pipeline = gpu.graphics(&stages, &mesh_state(), &[])?;
        let buffer = vertices(bench, &scattered(94, 30))?;
        let queries = gpu.query_pool(vk::QueryType::TIMESTAMP, 3)?;
        let answers = gpu.output::<u64>(3)?;
        let image = target(bench)?;
        let pass = Pass {
            colors: vec![Attachment::color(&image, CLEAR)],
            size_px: SIZE_PX,
            ..Pass::default()
        };
        gpu.submit(|c| {
            let device = &gpu.device;
            let stamp = |query| {
                let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
                // SAFETY: the queries were reset, and each is written once.
                unsafe { device.cmd_write_timestamp2(c.handle, stage, queries, query) }
            };
            // SAFETY: all objects are live.
            unsafe { device.cmd_reset_query_pool(c.handle, queries, 0, 3) };
            stamp(0);
            for query in 1..3 {
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.draw(&pipeline, 30, 1);
                });
                stamp(query);
            }
            // SAFETY: the queries were written, and the buffer has room for their results.
            unsafe {
                device.cmd_copy_query_pool_results(
                    c.handle,
                    queries,
                    0,
                    3,
                    answers.handle,
                    0,
                    8,
                    vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT,
                );
            }
        })?;
        let [a, b, c] = answers.read::<u64>()[..] else { return Ok(Vec::new()) };
        let in_order = [u32::from(0 < a), u32::from(a <= b), u32::from(b <= c), u32::from(a < c)];
        Ok(vec![Output::cpu("in order", &in_order, &[1; 4], Rule::Bits)])
    })
}

/// Statistics of a draw.
fn statistics() -> Vec<Case> {
    use vk::PrimitiveTopology as T;
    use vk::QueryPipelineStatisticFlags as F;
    let mut cases = Vec::new();
    for (name, topology) in [
        ("points", T::POINT_LIST),
        ("lines", T::LINE_LIST),
        ("line_strip", T::LINE_STRIP),
        ("triangles", T::TRIANGLE_LIST),
        ("strip", T::TRIANGLE_STRIP),
        ("fan", T::TRIANGLE_FAN),
    ] {
        let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
        cases.push(Case::new(
            format!("queries/statistics_{name}"),
            "vertices, primitives and invocations of a draw of two instances",
            shaders,
            move |bench| {
                let gpu = bench.gpu;
                let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[1][..])];
                let mut state = mesh_state();
                state.topology = topology;
                let pipeline = gpu.graphics(&stages, &state, &[])?;
                let buffer = vertices(bench, &scattered(92, 12))?;
                let kinds = F::INPUT_ASSEMBLY_VERTICES
                    | F::INPUT_ASSEMBLY_PRIMITIVES
                    | F::VERTEX_SHADER_INVOCATIONS
                    | F::CLIPPING_INVOCATIONS
                    | F::CLIPPING_PRIMITIVES;
                let create = vk::QueryPoolCreateInfo::default()
                    .query_type(vk::QueryType::PIPELINE_STATISTICS)
                    .query_count(1)
                    .pipeline_statistics(kinds);
                let queries = gpu.query_pool_of(&create)?;
                let answers = gpu.output::<u64>(5)?;
                let image = target(bench)?;
                let pass = Pass {
                    colors: vec![Attachment::color(&image, CLEAR)],
                    size_px: SIZE_PX,
                    ..Pass::default()
                };
                gpu.submit(|c| {
                    let device = &gpu.device;
                    // SAFETY: all objects are live; the query is reset, begun and ended once.
                    unsafe {
                        device.cmd_reset_query_pool(c.handle, queries, 0, 1);
                        let flags = vk::QueryControlFlags::empty();
                        device.cmd_begin_query(c.handle, queries, 0, flags);
                        c.render(&pass, |c| {
                            c.vertex_buffers(&[&buffer]);
                            c.draw(&pipeline, 12, 2);
                        });
                        device.cmd_end_query(c.handle, queries, 0);
                        device.cmd_copy_query_pool_results(
                            c.handle,
                            queries,
                            0,
                            1,
                            answers.handle,
                            0,
                            40,
                            vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT,
                        );
                    }
                })?;
                Ok(vec![Output::peer("counts", &answers.read::<u64>(), Rule::Bits)])
            },
        ));
    }
    cases
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![occlusion(true), occlusion(false), parts(), timestamps()];
    cases.extend(statistics());
    cases
}
