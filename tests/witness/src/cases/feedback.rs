//! Transform feedback: captured vertices, by streams, from every kind of draw.

use ash::vk;

use super::canvas::{
    FRAGMENT, SIZE_PX, TOPOLOGIES, VERTEX, band, mesh_state, nearly, onto, output, target, vertices,
};
use super::draws::indices;
use super::stages::{CONTROL, EVALUATION, GEOMETRY};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Commands, Graphics, Result, State};

/// Parameters of a capture case.
pub struct CaptureCase {
    /// The case's name.
    pub name: String,
    /// Shaders in the order of `used`.
    pub shaders: Vec<Shader>,
    /// Their stages.
    pub used: Vec<vk::ShaderStageFlags>,
    /// State of the pipeline.
    pub state: State,
    /// Words of the buffer of each stream.
    pub room: Vec<usize>,
    /// The rule for captured words.
    pub rule: Rule,
}

/// Captures the vertices of two instances of a band.
pub fn captured(captured: CaptureCase) -> Case {
    captured_by(captured, |_, pipeline, c| {
        c.draw(pipeline, 13, 2);
        Ok(())
    })
}

/// Captures a draw of a band of 13 vertices.
fn captured_by(
    captured: CaptureCase,
    draw: impl Fn(&Bench, &Graphics, &Commands) -> Result<()> + Send + Sync + 'static,
) -> Case {
    let about = "captured vertices, how many, and how many there would have been";
    let CaptureCase { name, shaders, used, state, room, rule } = captured;
    Case::new(format!("stages/{name}"), about, shaders, move |bench| {
        bench.gpu.require(ash::ext::transform_feedback::NAME)?;
        let gpu = bench.gpu;
        let several = room.len() > 1;
        gpu.feature(!several || gpu.offers.geometry_streams, "geometryStreams")?;
        let calls = ash::ext::transform_feedback::Device::new(&gpu.instance, &gpu.device);
        let modules: Vec<_> =
            used.iter().copied().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
        let pipeline = gpu.graphics(&modules, &state, &[])?;
        let list = band(13);
        let buffer = vertices(bench, &list)?;
        let buffers: Vec<_> = room.iter().map(|&n| gpu.output::<f32>(n)).collect::<Result<_>>()?;
        let streams = buffers.len() as u32;
        let counter = gpu.buffer(&[0u32; 4])?;
        let queries = gpu.query_pool(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, streams)?;
        let answers = gpu.output::<u64>(2 * room.len())?;
        let image = target(bench)?;
        let pass = onto(&image);
        let mut drawn = Ok(());
        gpu.submit(|c| {
            // SAFETY: all objects are live, and queries and captures are begun and ended once
            // each, the captures inside of the rendering.
            unsafe {
                c.reset_queries(queries, streams);
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.bind_graphics(&pipeline);
                    let (calls, null) = (calls.fp(), std::ptr::null());
                    let handles: Vec<_> = buffers.iter().map(|b| b.handle).collect();
                    let zeros = [0; 4];
                    (calls.cmd_bind_transform_feedback_buffers_ext)(
                        c.handle,
                        0,
                        streams,
                        handles.as_ptr(),
                        zeros.as_ptr(),
                        null,
                    );
                    let flags = vk::QueryControlFlags::empty();
                    for k in 0..streams {
                        (calls.cmd_begin_query_indexed_ext)(c.handle, queries, k, flags, k);
                    }
                    (calls.cmd_begin_transform_feedback_ext)(c.handle, 0, 0, null.cast(), null);
                    drawn = draw(bench, &pipeline, c);
                    let to = [counter.handle; 4];
                    (calls.cmd_end_transform_feedback_ext)(
                        c.handle,
                        0,
                        streams,
                        to.as_ptr(),
                        [0, 4, 8, 12].as_ptr(),
                    );
                    for k in 0..streams {
                        (calls.cmd_end_query_indexed_ext)(c.handle, queries, k, k);
                    }
                });
                c.query_results(queries, streams, 2, &answers);
            }
        })?;
        drawn?;
        let pixels = gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)?;
        let mut outputs: Vec<_> = buffers
            .iter()
            .zip(["captured", "captured of stream 1", "captured of stream 2"])
            .map(|(b, name)| Output::peer(name, &b.read::<f32>(), rule.clone()))
            .collect();
        outputs.push(Output::peer("counter", &counter.read::<u32>(), Rule::Bits));
        outputs.push(Output::peer("queries", &answers.read::<u64>(), Rule::Bits));
        outputs.push(output(&pixels, nearly()));
        Ok(outputs)
    })
}

/// The expected capture of `mesh.vert`, for draws with and without rasterisation.
fn feedback() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, topology) in TOPOLOGIES {
        for (discard, room) in [(false, 64u32), (true, 64), (true, 7)] {
            let suffix = match (discard, room) {
                (false, _) => "drawn",
                (true, 64) => "discarded",
                _ => "full",
            };
            let shaders =
                vec![Shader::new("mesh.vert").define("FEEDBACK", 1), Shader::new("shade.frag")];
            let mut state = mesh_state();
            state.topology = topology;
            state.discard = discard;
            state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
            cases.push(captured(CaptureCase {
                name: format!("feedback_{name}_{suffix}"),
                shaders,
                used: if discard { vec![VERTEX] } else { vec![VERTEX, FRAGMENT] },
                state,
                room: vec![8 * room as usize],
                rule: Rule::Bits,
            }));
        }
    }
    cases
}

/// Captures in two parts, the second after the first, and draws the captured vertices.
fn feedback_resumed() -> Case {
    let shaders = vec![
        Shader::new("mesh.vert").define("FEEDBACK", 1),
        Shader::new("mesh.vert"),
        Shader::new("shade.frag"),
    ];
    Case::new("stages/feedback_resumed", "captured in two parts, then drawn", shaders, |bench| {
        bench.gpu.require(ash::ext::transform_feedback::NAME)?;
        let gpu = bench.gpu;
        let calls = ash::ext::transform_feedback::Device::new(&gpu.instance, &gpu.device);
        let calls = calls.fp();
        let mut state = mesh_state();
        state.topology = vk::PrimitiveTopology::TRIANGLE_STRIP;
        state.discard = true;
        let capture = gpu.graphics(&[(VERTEX, &bench.spirv[0][..])], &state, &[])?;
        let stages = [(VERTEX, &bench.spirv[1][..]), (FRAGMENT, &bench.spirv[2][..])];
        let draw = gpu.graphics(&stages, &mesh_state(), &[])?;
        let list = band(11);
        let buffer = vertices(bench, &list)?;
        let captured = gpu.output::<f32>(8 * 64)?;
        let counter = gpu.buffer(&[0u32; 4])?;
        let image = target(bench)?;
        let pass = onto(&image);
        gpu.submit(|c| {
            let device = &gpu.device;
            let (null, from) = (std::ptr::null(), &counter.handle);
            // Four triangles, then three.
            for count in [6, 5] {
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.bind_graphics(&capture);
                    // SAFETY: all objects are live; the capture is begun and ended once.
                    unsafe {
                        let into = &captured.handle;
                        (calls.cmd_bind_transform_feedback_buffers_ext)(
                            c.handle, 0, 1, into, &0, null,
                        );
                        (calls.cmd_begin_transform_feedback_ext)(c.handle, 0, 1, from, &0);
                        c.draw(&capture, count, 1);
                        (calls.cmd_end_transform_feedback_ext)(c.handle, 0, 1, from, &0);
                    }
                });
            }
            c.render(&pass, |c| {
                // SAFETY: the buffer is live and has vertex usage.
                unsafe { device.cmd_bind_vertex_buffers(c.handle, 0, &[captured.handle], &[0]) };
                c.draw(&draw, 21, 1);
            });
        })?;
        let pixels = gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)?;
        Ok(vec![
            Output::peer("captured", &captured.read::<u32>(), Rule::Bits),
            output(&pixels, nearly()),
        ])
    })
}

/// Draws whose primitives only the GPU knows: indices with restarts, and arguments in memory; and strips with adjacent
/// vertices.
fn found_by_the_gpu() -> Vec<Case> {
    use vk::PrimitiveTopology as T;
    let mut cases = Vec::new();
    let plain = [T::LINE_STRIP, T::TRIANGLE_STRIP, T::TRIANGLE_FAN];
    let adjacent = [
        T::LINE_LIST_WITH_ADJACENCY,
        T::LINE_STRIP_WITH_ADJACENCY,
        T::TRIANGLE_LIST_WITH_ADJACENCY,
        T::TRIANGLE_STRIP_WITH_ADJACENCY,
    ];
    let ways = ["direct", "restarts", "indirect"];
    for (topology, way) in plain.into_iter().chain(adjacent).flat_map(|t| ways.map(|w| (t, w))) {
        if way == "direct" && plain.contains(&topology) {
            continue;
        }
        let mut state = mesh_state();
        state.topology = topology;
        state.restart = way == "restarts";
        state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
        let what = CaptureCase {
            name: format!("feedback_{way}_{topology:?}").to_lowercase(),
            shaders: vec![
                Shader::new("mesh.vert").define("FEEDBACK", 1),
                Shader::new("shade.frag"),
            ],
            used: vec![VERTEX, FRAGMENT],
            state,
            room: vec![8 * 64],
            rule: Rule::Bits,
        };
        cases.push(captured_by(what, move |bench, pipeline, c| {
            let device = &bench.gpu.device;
            match way {
                "direct" => c.draw(pipeline, 13, 2),
                "restarts" => {
                    let end = 0xffff;
                    let list = [end, 0, 1, 2, 3, 4, 5, end, end, 6, 7, end, 8, 9, 10, 11, 12, 3, 1];
                    let kind = vk::IndexType::UINT16;
                    c.index_buffer(&indices(bench, kind, &list)?, kind);
                    c.draw_indexed(pipeline, list.len() as u32, 2);
                }
                _ => {
                    // Vertices, instances, first vertex, first instance; one draw of nothing.
                    let arguments =
                        bench.gpu.buffer(&[[9u32, 2, 1, 0], [0; 4], [7, 1, 6, 1]].concat())?;
                    // SAFETY: a pipeline and its vertex buffers are bound, and the buffer holds three draws.
                    unsafe { device.cmd_draw_indirect(c.handle, arguments.handle, 0, 3, 16) };
                }
            }
            Ok(())
        }));
    }
    cases
}

/// Geometry shaders that emit to three streams, of which one is rasterised.
fn streams() -> Vec<Case> {
    use vk::PrimitiveTopology as T;
    let mut cases = Vec::new();
    for (name, input, topology) in
        [("points", "points", T::POINT_LIST), ("strip", "triangles", T::TRIANGLE_STRIP)]
    {
        for (suffix, stream, room, drawn) in [
            ("first", 0, [600, 600, 600], [13, 2]),
            ("second", 1, [600, 600, 600], [13, 2]),
            ("full", 0, [600, 90, 5], [13, 2]),
            ("few", 0, [600, 600, 600], [4, 1]),
        ] {
            let mut state = mesh_state();
            state.topology = topology;
            state.rasterization_stream = stream;
            let geometry = Shader::new("streams.geom")
                .define("IN", input)
                .define("INVOCATIONS", drawn[1])
                .define("RASTERISED", stream);
            let what = CaptureCase {
                name: format!("streams_{name}_{suffix}"),
                shaders: vec![Shader::new("mesh.vert"), geometry, Shader::new("shade.frag")],
                used: vec![VERTEX, GEOMETRY, FRAGMENT],
                state,
                room: room.to_vec(),
                rule: Rule::Ulp(4.0),
            };
            cases.push(captured_by(what, move |_, pipeline, c| {
                c.draw(pipeline, drawn[0], drawn[1]);
                Ok(())
            }));
        }
    }
    cases
}

/// Sub-group operations in the stages before the rasteriser: each captured colour says whether they are consistent.
fn subgroups() -> Vec<Case> {
    let mut cases = Vec::new();
    for stage in ["vertex", "geometry", "control", "evaluation"] {
        let tessellates = matches!(stage, "control" | "evaluation");
        let define = |shader: Shader, of: &str| {
            if of == stage { shader.define("SUBGROUP", 1) } else { shader }
        };
        let captures = |shader: Shader| shader.define("FEEDBACK", 1);
        let vertex = define(Shader::new("mesh.vert"), "vertex");
        let (used, shaders) = match stage {
            "vertex" => (vec![VERTEX], vec![captures(vertex)]),
            "geometry" => {
                let geometry = Shader::new("stage.geom")
                    .define("IN", "triangles")
                    .define("OUT", "triangle_strip")
                    .define("BODY", 4)
                    .define("INVOCATIONS", 2);
                let geometry = captures(define(geometry, "geometry"));
                (vec![VERTEX, GEOMETRY], vec![vertex, geometry])
            }
            _ => {
                let control = Shader::new("stage.tesc").define("POINTS", 3).define("LEVEL", "2.3");
                let evaluation = Shader::new("stage.tese")
                    .define("POINTS", 3)
                    .define("MODE", "triangles, equal_spacing");
                let control = define(control, "control");
                let evaluation = captures(define(evaluation, "evaluation"));
                (vec![VERTEX, CONTROL, EVALUATION], vec![vertex, control, evaluation])
            }
        };
        let about = "operations of sub-groups agree with each other";
        let case = Case::new(format!("stages/subgroup_{stage}"), about, shaders, move |bench| {
            let gpu = bench.gpu;
            gpu.require(ash::ext::transform_feedback::NAME)?;
            let calls = ash::ext::transform_feedback::Device::new(&gpu.instance, &gpu.device);
            let modules: Vec<_> =
                used.iter().copied().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
            let mut state = mesh_state();
            state.discard = true;
            if tessellates {
                state.topology = vk::PrimitiveTopology::PATCH_LIST;
                state.patch_points = 3;
            }
            let pipeline = gpu.graphics(&modules, &state, &[])?;
            let list = band(99);
            let buffer = vertices(bench, &list)?;
            let captured = gpu.output::<f32>(1 << 16)?;
            let counter = gpu.buffer(&[0u32; 4])?;
            let image = target(bench)?;
            gpu.submit(|c| {
                c.render(&onto(&image), |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.bind_graphics(&pipeline);
                    let (calls, null) = (calls.fp(), std::ptr::null());
                    // SAFETY: all objects are live; the capture is begun and ended once.
                    unsafe {
                        let (into, to) = (&captured.handle, &counter.handle);
                        (calls.cmd_bind_transform_feedback_buffers_ext)(
                            c.handle, 0, 1, into, &0, null,
                        );
                        (calls.cmd_begin_transform_feedback_ext)(c.handle, 0, 0, null.cast(), null);
                        c.draw(&pipeline, list.len() as u32, 1);
                        (calls.cmd_end_transform_feedback_ext)(c.handle, 0, 1, to, &0);
                    }
                });
            })?;
            // A record is a position and a colour.
            let words = 8;
            let count = counter.read::<u32>()[0] as usize / 4 / words;
            gpu.check(count >= list.len(), "all vertices are captured")?;
            let all = captured.read::<f32>();
            let green: Vec<f32> = all.chunks(words).take(count).map(|v| v[5]).collect();
            let ones = vec![1.0; count];
            Ok(vec![Output::cpu("agreed", &green, &ones, Rule::Abs(1e-5))])
        });
        cases.push(case);
    }
    cases
}

/// The cases.
pub fn cases() -> Vec<Case> {
    [feedback(), vec![feedback_resumed()], found_by_the_gpu(), streams(), subgroups()]
        .into_iter()
        .flatten()
        .collect()
}
