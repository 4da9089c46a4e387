//! Geometry and tessellation shaders with every kind of draw: restarts, offsets, and arguments in memory.

use ash::vk;

use super::canvas::{FRAGMENT, VERTEX, band, mesh_state, nearly, output, picture, vertices};
use super::draws::{INDEX_TYPES, indices};
use super::feedback::{CaptureCase, captured};
use crate::case::{Bench, Case, Rule, Shader};
use crate::gpu::{Commands, Graphics, Result};

const GEOMETRY: vk::ShaderStageFlags = vk::ShaderStageFlags::GEOMETRY;
const CONTROL: vk::ShaderStageFlags = vk::ShaderStageFlags::TESSELLATION_CONTROL;
const EVALUATION: vk::ShaderStageFlags = vk::ShaderStageFlags::TESSELLATION_EVALUATION;

/// Draws a band of vertices through a geometry shader that shrinks primitives.
fn drawn(
    name: &str,
    about: &str,
    topology: vk::PrimitiveTopology,
    restart: bool,
    draw: impl Fn(&Bench, &Graphics, &Commands) -> Result<()> + Send + Sync + 'static,
) -> Case {
    use vk::PrimitiveTopology as T;
    let (input, out, body) = match topology {
        T::POINT_LIST => ("points", "triangle_strip", 0),
        T::LINE_LIST | T::LINE_STRIP => ("lines", "line_strip", 1),
        T::LINE_LIST_WITH_ADJACENCY | T::LINE_STRIP_WITH_ADJACENCY => {
            ("lines_adjacency", "line_strip", 3)
        }
        T::TRIANGLE_LIST_WITH_ADJACENCY | T::TRIANGLE_STRIP_WITH_ADJACENCY => {
            ("triangles_adjacency", "triangle_strip", 2)
        }
        _ => ("triangles", "triangle_strip", 1),
    };
    let shaders = vec![
        Shader::new("mesh.vert").define("INSTANCED", 1),
        Shader::new("stage.geom")
            .define("IN", input)
            .define("OUT", out)
            .define("BODY", body)
            .define("INVOCATIONS", 2),
        Shader::new("shade.frag"),
    ];
    Case::new(format!("stages/geometry_{name}"), about, shaders, move |bench| {
        let modules = [VERTEX, GEOMETRY, FRAGMENT];
        let modules: Vec<_> =
            modules.into_iter().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
        let mut state = mesh_state();
        state.topology = topology;
        state.restart = restart;
        state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
        let pipeline = bench.gpu.graphics(&modules, &state, &[])?;
        let buffer = vertices(bench, &band(24))?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.bind_graphics(&pipeline);
            draw(bench, &pipeline, c)
        })?;
        Ok(vec![output(&pixels, nearly())])
    })
}

/// Strips that restart: some without a primitive, one restart after another, and one at the end.
fn restarts() -> Vec<Case> {
    use vk::PrimitiveTopology as T;
    let mut cases = Vec::new();
    for (name, topology) in [
        ("line_strip", T::LINE_STRIP),
        ("strip", T::TRIANGLE_STRIP),
        ("fan", T::TRIANGLE_FAN),
        ("line_strip_adjacency", T::LINE_STRIP_WITH_ADJACENCY),
        ("strip_adjacency", T::TRIANGLE_STRIP_WITH_ADJACENCY),
    ] {
        for (size, kind) in INDEX_TYPES {
            let about = "restarts in front of a geometry shader";
            let name = format!("restart_{name}_{size}");
            cases.push(drawn(&name, about, topology, true, move |bench, pipeline, c| {
                let end = match kind {
                    vk::IndexType::UINT8_KHR => 0xff,
                    vk::IndexType::UINT16 => 0xffff,
                    _ => u32::MAX,
                };
                let mut list: Vec<u32> = vec![end, 0, end, end];
                list.extend(0..9);
                list.push(end);
                list.extend([10, 11, end, 12, end]);
                // More than a sub-group examines together.
                list.extend((0..60).map(|i| i % 7 + 14));
                list.push(end);
                list.extend(13..24);
                list.push(end);
                c.index_buffer(&indices(bench, kind, &list)?, kind);
                c.draw_indexed(pipeline, list.len() as u32, 2);
                Ok(())
            }));
        }
    }
    cases
}

/// Draws whose arguments are in memory, and direct ones with the same arguments.
fn indirect() -> Vec<Case> {
    use vk::PrimitiveTopology as T;
    let mut cases = Vec::new();
    for (name, topology) in
        [("points", T::POINT_LIST), ("triangles", T::TRIANGLE_LIST), ("strip", T::TRIANGLE_STRIP)]
    {
        // Vertices, instances, first vertex, first instance; one draw of nothing.
        let plain = [[9u32, 3, 1, 2], [0, 5, 0, 0], [7, 1, 12, 9]];
        let with_index = [[9u32, 3, 1, 2, 2], [2, 0, 0, 0, 0], [8, 1, 12, 3, 11]];
        for in_memory in [false, true] {
            let way = if in_memory { "indirect" } else { "offsets" };
            let about = "first vertices and instances in front of a geometry shader";
            let draw = move |bench: &Bench, _: &Graphics, c: &Commands| {
                let device = &bench.gpu.device;
                let arguments = bench.gpu.buffer(&plain.concat())?;
                // SAFETY: a pipeline and its vertex buffers are bound, and the buffer holds three draws.
                unsafe {
                    match in_memory {
                        true => device.cmd_draw_indirect(c.handle, arguments.handle, 0, 3, 16),
                        false => plain
                            .iter()
                            .for_each(|&[n, i, v, f]| device.cmd_draw(c.handle, n, i, v, f)),
                    }
                }
                Ok(())
            };
            cases.push(drawn(&format!("{way}_{name}"), about, topology, false, draw));
            for (size, kind) in INDEX_TYPES {
                let draw = move |bench: &Bench, _: &Graphics, c: &Commands| {
                    let device = &bench.gpu.device;
                    let list: Vec<u32> = (0..20).map(|i| i * 7 % 20).collect();
                    c.index_buffer(&indices(bench, kind, &list)?, kind);
                    let arguments = bench.gpu.buffer(&with_index.concat())?;
                    let (handle, from) = (c.handle, arguments.handle);
                    // SAFETY: as above, with an index buffer.
                    unsafe {
                        match in_memory {
                            true => device.cmd_draw_indexed_indirect(handle, from, 0, 3, 20),
                            false => with_index.iter().for_each(|&[n, i, first, add, f]| {
                                device.cmd_draw_indexed(handle, n, i, first, add as i32, f);
                            }),
                        }
                    }
                    Ok(())
                };
                cases.push(drawn(&format!("{way}_{name}_{size}"), about, topology, false, draw));
            }
        }
    }
    cases
}

/// Capture of emitted primitives: in strips of several, truncated, and without rasterisation.
fn feedback() -> Vec<Case> {
    use vk::PrimitiveTopology as T;
    let mut cases = Vec::new();
    for (name, input, out, body, topology) in [
        ("points", "points", "points", 1, T::POINT_LIST),
        ("squares", "points", "triangle_strip", 0, T::POINT_LIST),
        ("lines", "lines", "line_strip", 1, T::LINE_STRIP),
        ("counts", "triangles", "triangle_strip", 4, T::TRIANGLE_STRIP),
    ] {
        for (suffix, discard, room) in
            [("drawn", false, 2000), ("discarded", true, 2000), ("full", true, 270)]
        {
            let mut state = mesh_state();
            state.topology = topology;
            state.discard = discard;
            state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
            let geometry = Shader::new("stage.geom")
                .define("IN", input)
                .define("OUT", out)
                .define("BODY", body)
                .define("INVOCATIONS", 2)
                .define("FEEDBACK", 1);
            let shaders = vec![Shader::new("mesh.vert"), geometry, Shader::new("shade.frag")];
            let mut used = vec![VERTEX, GEOMETRY];
            if !discard {
                used.push(FRAGMENT);
            }
            // A line whose end moved by one unit in the last place covers other pixels.
            if name == "lines" && !discard {
                continue;
            }
            let name = format!("geometry_feedback_{name}_{suffix}");
            // Products may be added with one rounding.
            let (room, rule) = (vec![room], Rule::Ulp(4.0));
            cases.push(captured(CaptureCase { name, shaders, used, state, room, rule }));
        }
    }
    cases
}

/// Parameters of a case with patches.
#[derive(Clone, Copy)]
struct Patches {
    mode: &'static str,
    points: u32,
    /// Whether a geometry shader follows.
    geometry: bool,
    /// Instances of the first draw.
    instances: u32,
}

/// The stages of a tessellated draw and their shaders.
fn tessellated(p: Patches, feedback: bool) -> (Vec<vk::ShaderStageFlags>, Vec<Shader>) {
    let mut evaluation = Shader::new("stage.tese")
        .define("POINTS", p.points)
        .define("MODE", p.mode)
        .define("TINT", 1);
    if feedback {
        evaluation = evaluation.define("FEEDBACK", 1);
    }
    let control = Shader::new("stage.tesc")
        .define("POINTS", p.points)
        // Not the primitive ID: with several instances Honeykrisp does not restart it.
        .define("PATCH", "int(shade_in[0].r * 7.0)")
        .define("LEVEL", "1.5")
        .define("CULLED", 1)
        .define("TINT", 1);
    let vertex = Shader::new("mesh.vert").define("INSTANCED", 1);
    let mut stages = vec![(VERTEX, vertex), (CONTROL, control), (EVALUATION, evaluation)];
    if p.geometry {
        let shader = Shader::new("stage.geom")
            .define("IN", "triangles")
            .define("OUT", "triangle_strip")
            .define("BODY", 1)
            .define("INVOCATIONS", 2);
        stages.push((GEOMETRY, shader));
    }
    let fragment = Shader::new("shade.frag");
    stages.push((FRAGMENT, fragment));
    stages.into_iter().unzip()
}

/// Patches with every kind of draw.
fn patches() -> Vec<Case> {
    let plain = Patches { mode: "triangles", points: 3, geometry: false, instances: 1 };
    let quads = Patches { mode: "quads, fractional_odd_spacing", points: 4, ..plain };
    let lines = Patches { mode: "isolines", points: 4, ..plain };
    let mut cases = Vec::new();
    for (name, p) in [
        ("triangles", plain),
        ("quads", quads),
        ("isolines", lines),
        ("points", Patches { mode: "quads, point_mode", points: 5, ..plain }),
        ("many_points", Patches { mode: "triangles", points: 32, ..plain }),
        ("geometry", Patches { geometry: true, ..plain }),
        ("instances", Patches { instances: 3, ..plain }),
    ] {
        for (way, indexed, in_memory) in [
            ("offsets", false, false),
            ("indirect", false, true),
            ("indices", true, false),
            ("indirect_indices", true, true),
        ] {
            let (stages, shaders) = tessellated(p, false);
            let about = "patches with what others of the patch wrote";
            let name = format!("stages/tessellation_{name}_{way}");
            cases.push(Case::new(name, about, shaders, move |bench| {
                let modules: Vec<_> =
                    stages.iter().copied().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
                let mut state = mesh_state();
                state.topology = vk::PrimitiveTopology::PATCH_LIST;
                state.patch_points = p.points;
                state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
                let pipeline = bench.gpu.graphics(&modules, &state, &[])?;
                let buffer = vertices(bench, &band(140))?;
                let n = p.points;
                // Three patches and a vertex more; nothing; one patch of another instance.
                let plain =
                    [[3 * n + 1, p.instances, 1, 2], [n - 1, 5, 0, 0], [n, 1, 12, 9]].concat();
                let offset =
                    [[3 * n + 1, p.instances, 1, 2, 2], [2, 0, 0, 0, 0], [n, 1, 12, 3, 11]]
                        .concat();
                let device = &bench.gpu.device;
                let arguments = bench.gpu.buffer(if indexed { &offset } else { &plain })?;
                let list: Vec<u32> = (0..130).map(|i| i * 7 % 129).collect();
                let list = indices(bench, vk::IndexType::UINT16, &list)?;
                let pixels = picture(bench, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.index_buffer(&list, vk::IndexType::UINT16);
                    c.bind_graphics(&pipeline);
                    let (to, from) = (c.handle, arguments.handle);
                    // SAFETY: a pipeline and its buffers are bound, and the buffer holds three draws.
                    unsafe {
                        match (indexed, in_memory) {
                            (false, true) => device.cmd_draw_indirect(to, from, 0, 3, 16),
                            (true, true) => device.cmd_draw_indexed_indirect(to, from, 0, 3, 20),
                            (false, false) => plain
                                .chunks(4)
                                .for_each(|d| device.cmd_draw(to, d[0], d[1], d[2], d[3])),
                            (true, false) => offset.chunks(5).for_each(|d| {
                                device.cmd_draw_indexed(to, d[0], d[1], d[2], d[3] as i32, d[4]);
                            }),
                        }
                    }
                    Ok(())
                })?;
                Ok(vec![output(&pixels, nearly())])
            }));
        }
    }
    cases
}

/// Capture of the tessellator's vertices.
fn tessellation_feedback() -> Vec<Case> {
    let plain = Patches { mode: "triangles", points: 3, geometry: false, instances: 1 };
    let mut cases = Vec::new();
    for (name, p) in [
        ("triangles", plain),
        ("quads", Patches { mode: "quads, fractional_even_spacing, cw", points: 4, ..plain }),
        ("isolines", Patches { mode: "isolines", points: 4, ..plain }),
        ("points", Patches { mode: "triangles, point_mode", ..plain }),
    ] {
        for (suffix, discard, room) in
            [("drawn", false, 6000), ("discarded", true, 6000), ("full", true, 270)]
        {
            if p.mode == "isolines" && !discard {
                continue;
            }
            let mut state = mesh_state();
            state.topology = vk::PrimitiveTopology::PATCH_LIST;
            state.patch_points = p.points;
            state.discard = discard;
            let (_, mut shaders) = tessellated(p, true);
            let used: &[_] = match discard {
                true => &[VERTEX, CONTROL, EVALUATION],
                false => &[VERTEX, CONTROL, EVALUATION, FRAGMENT],
            };
            shaders.truncate(used.len());
            let name = format!("tessellation_feedback_{name}_{suffix}");
            // Sums of products, each of which may be rounded or not.
            let (room, rule) = (vec![room], Rule::Abs(1e-6));
            cases.push(captured(CaptureCase {
                name,
                shaders,
                used: used.to_vec(),
                state,
                room,
                rule,
            }));
        }
    }
    cases
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let all = [restarts(), indirect(), feedback(), patches(), tessellation_feedback()];
    all.into_iter().flatten().collect()
}
