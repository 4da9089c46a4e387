//! What draws leave in queries: samples that passed, and pipeline statistics.

use ash::vk;

use super::canvas::{CLEAR, FRAGMENT, SIZE_PX, VERTEX, mesh_state, scattered, target, vertices};
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
    let mut cases = vec![occlusion(true), occlusion(false)];
    cases.extend(statistics());
    cases
}
