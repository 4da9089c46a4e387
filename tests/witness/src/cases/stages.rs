//! Geometry and tessellation shaders, transform feedback, layers, viewports and views.

use ash::vk;

use super::canvas::{
    CLEAR, FRAGMENT, SIZE_PX, TOPOLOGIES, VERTEX, Vertex, band, mesh_state, nearly, onto, output,
    picture, scattered, stages, target, vertices,
};
use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Attachment, ImageSpec, Pass, Shape, State};

const GEOMETRY: vk::ShaderStageFlags = vk::ShaderStageFlags::GEOMETRY;
const CONTROL: vk::ShaderStageFlags = vk::ShaderStageFlags::TESSELLATION_CONTROL;
const EVALUATION: vk::ShaderStageFlags = vk::ShaderStageFlags::TESSELLATION_EVALUATION;

/// Draws vertices through stages: `shaders` in the order of `stages`, the fragment shader last.
fn staged(
    name: &str,
    about: &str,
    stages: &'static [vk::ShaderStageFlags],
    shaders: Vec<Shader>,
    state: State,
    list: Vec<Vertex>,
) -> Case {
    Case::new(format!("stages/{name}"), about, shaders, move |bench| {
        let modules: Vec<_> =
            stages.iter().copied().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
        let pipeline = bench.gpu.graphics(&modules, &state, &[])?;
        let buffer = vertices(bench, &list)?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.draw(&pipeline, list.len() as u32, 1);
            Ok(())
        })?;
        Ok(vec![output(&pixels, nearly())])
    })
}

fn geometry_shader(input: &str, out: &str, body: u32, invocations: u32) -> Shader {
    Shader::new("stage.geom")
        .define("IN", input)
        .define("OUT", out)
        .define("BODY", body)
        .define("INVOCATIONS", invocations)
}

fn geometry_shaders() -> Vec<Case> {
    use vk::PrimitiveTopology as T;
    let list = [
        ("points_to_squares", "points", "triangle_strip", 0, T::POINT_LIST, scattered(71, 20)),
        ("points_to_points", "points", "points", 1, T::POINT_LIST, scattered(72, 20)),
        ("lines", "lines", "line_strip", 1, T::LINE_LIST, scattered(73, 20)),
        ("line_strip", "lines", "line_strip", 1, T::LINE_STRIP, scattered(74, 20)),
        ("triangles", "triangles", "triangle_strip", 1, T::TRIANGLE_LIST, scattered(75, 18)),
        ("strip", "triangles", "triangle_strip", 1, T::TRIANGLE_STRIP, band(13)),
        ("fan", "triangles", "triangle_strip", 1, T::TRIANGLE_FAN, band(13)),
        ("to_points", "triangles", "points", 1, T::TRIANGLE_LIST, scattered(76, 18)),
        (
            "adjacency",
            "triangles_adjacency",
            "triangle_strip",
            2,
            T::TRIANGLE_LIST_WITH_ADJACENCY,
            scattered(77, 24),
        ),
        (
            "adjacency_strip",
            "triangles_adjacency",
            "triangle_strip",
            2,
            T::TRIANGLE_STRIP_WITH_ADJACENCY,
            band(14),
        ),
        (
            "line_adjacency",
            "lines_adjacency",
            "line_strip",
            3,
            T::LINE_LIST_WITH_ADJACENCY,
            scattered(78, 24),
        ),
        (
            "line_adjacency_strip",
            "lines_adjacency",
            "line_strip",
            3,
            T::LINE_STRIP_WITH_ADJACENCY,
            scattered(79, 12),
        ),
        ("counts", "triangles", "triangle_strip", 4, T::TRIANGLE_LIST, scattered(80, 30)),
    ];
    let mut cases = Vec::new();
    for (name, input, out, body, topology, vertices) in list {
        for invocations in [1, 3] {
            let mut state = mesh_state();
            state.topology = topology;
            state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
            cases.push(staged(
                &format!("geometry_{name}_{invocations}"),
                "a geometry shader",
                &[VERTEX, GEOMETRY, FRAGMENT],
                vec![
                    Shader::new("mesh.vert"),
                    geometry_shader(input, out, body, invocations),
                    Shader::new("shade.frag"),
                ],
                state,
                vertices.clone(),
            ));
        }
    }
    let mut state = mesh_state();
    state.viewports = quarters();
    state.scissors = vec![state.scissors[0]; 4];
    cases.push(staged(
        "geometry_viewports",
        "a geometry shader that picks viewports",
        &[VERTEX, GEOMETRY, FRAGMENT],
        vec![
            Shader::new("mesh.vert"),
            geometry_shader("triangles", "triangle_strip", 1, 2).define("VIEWPORT", 1),
            Shader::new("shade.frag"),
        ],
        state,
        scattered(81, 18),
    ));
    cases
}

/// A viewport in each quarter of the picture.
fn quarters() -> Vec<vk::Viewport> {
    let [width, height] = SIZE_PX.map(|size| size as f32 / 2.0);
    (0..4)
        .map(|i| vk::Viewport {
            x: width * (i % 2) as f32,
            y: height * (i / 2) as f32,
            width,
            height,
            min_depth: 0.0,
            max_depth: 1.0,
        })
        .collect()
}

fn tessellation() -> Vec<Case> {
    let mut cases = Vec::new();
    for (mode, points) in [("triangles", 3), ("quads", 4), ("isolines", 4)] {
        for spacing in ["equal_spacing", "fractional_odd_spacing", "fractional_even_spacing"] {
            for (suffix, extra) in [("", ""), ("_cw", ", cw"), ("_points", ", point_mode")] {
                if mode == "isolines" && suffix == "_cw" {
                    continue;
                }
                let mut state = mesh_state();
                state.topology = vk::PrimitiveTopology::PATCH_LIST;
                state.patch_points = points;
                state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
                if suffix == "_cw" {
                    state.cull = vk::CullModeFlags::BACK;
                }
                let short = spacing.trim_end_matches("_spacing");
                cases.push(staged(
                    &format!("tessellation_{mode}_{short}{suffix}"),
                    "patches with levels of their own",
                    &[VERTEX, CONTROL, EVALUATION, FRAGMENT],
                    vec![
                        Shader::new("mesh.vert"),
                        Shader::new("stage.tesc").define("POINTS", points).define("LEVEL", "2.3"),
                        Shader::new("stage.tese")
                            .define("POINTS", points)
                            .define("MODE", format!("{mode}, {spacing}{extra}")),
                        Shader::new("shade.frag"),
                    ],
                    state,
                    scattered(83, 3 * points as usize),
                ));
            }
        }
    }
    let mut state = mesh_state();
    state.topology = vk::PrimitiveTopology::PATCH_LIST;
    state.patch_points = 3;
    cases.push(staged(
        "tessellation_and_geometry",
        "patches, then a geometry shader",
        &[VERTEX, CONTROL, EVALUATION, GEOMETRY, FRAGMENT],
        vec![
            Shader::new("mesh.vert"),
            Shader::new("stage.tesc").define("POINTS", 3).define("LEVEL", "2.3"),
            Shader::new("stage.tese")
                .define("POINTS", 3)
                .define("MODE", "triangles, equal_spacing"),
            geometry_shader("triangles", "triangle_strip", 1, 1),
            Shader::new("shade.frag"),
        ],
        state,
        scattered(84, 9),
    ));
    cases
}

/// Captures the vertices of two instances of a band into `room` words, which `rule` judges.
pub fn captured(
    name: &str,
    shaders: Vec<Shader>,
    used: &'static [vk::ShaderStageFlags],
    state: State,
    room: usize,
    rule: Rule,
) -> Case {
    let about = "captured vertices, how many, and how many there would have been";
    Case::new(format!("stages/{name}"), about, shaders, move |bench| {
        bench.gpu.require(ash::ext::transform_feedback::NAME)?;
        let gpu = bench.gpu;
        let calls = ash::ext::transform_feedback::Device::new(&gpu.instance, &gpu.device);
        let modules: Vec<_> =
            used.iter().copied().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
        let pipeline = gpu.graphics(&modules, &state, &[])?;
        let list = band(13);
        let buffer = vertices(bench, &list)?;
        let captured = gpu.output::<f32>(room)?;
        let counter = gpu.buffer(&[0u32; 4])?;
        let queries = gpu.query_pool(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, 1)?;
        let answers = gpu.output::<u64>(2)?;
        let image = target(bench)?;
        let pass = onto(&image);
        gpu.submit(|c| {
            // SAFETY: all objects are live, and queries and captures are begun and ended once
            // each, the captures inside of the rendering.
            unsafe {
                c.reset_queries(queries, 1);
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.bind_graphics(&pipeline);
                    let (calls, null) = (calls.fp(), std::ptr::null());
                    (calls.cmd_bind_transform_feedback_buffers_ext)(
                        c.handle,
                        0,
                        1,
                        &captured.handle,
                        &0,
                        null,
                    );
                    let flags = vk::QueryControlFlags::empty();
                    (calls.cmd_begin_query_indexed_ext)(c.handle, queries, 0, flags, 0);
                    (calls.cmd_begin_transform_feedback_ext)(c.handle, 0, 0, null.cast(), null);
                    c.draw(&pipeline, list.len() as u32, 2);
                    let to = &counter.handle;
                    (calls.cmd_end_transform_feedback_ext)(c.handle, 0, 1, to, &0);
                    (calls.cmd_end_query_indexed_ext)(c.handle, queries, 0, 0);
                });
                c.query_results(queries, 1, 2, &answers);
            }
        })?;
        let pixels = gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)?;
        Ok(vec![
            Output::peer("captured", &captured.read::<f32>(), rule.clone()),
            Output::peer("counter", &counter.read::<u32>(), Rule::Bits),
            Output::peer("queries", &answers.read::<u64>(), Rule::Bits),
            output(&pixels, nearly()),
        ])
    })
}

/// The expected capture of `mesh.vert`, from a draw that may or may not be rasterised.
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
            let case = captured(
                &format!("feedback_{name}_{suffix}"),
                shaders,
                if discard { &[VERTEX] } else { &[VERTEX, FRAGMENT] },
                state,
                8 * room as usize,
                Rule::Bits,
            );
            cases.push(case);
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

/// Draws into layers of an array and returns all of them.
fn layered(
    name: &str,
    shader: Shader,
    geometry: Option<Shader>,
    layers: u32,
    view_mask: u32,
    instances: u32,
) -> Case {
    let mut shaders = vec![shader, Shader::new("shade.frag")];
    shaders.extend(geometry);
    Case::new(format!("stages/{name}"), "layers of an array", shaders, move |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let image = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
            layers,
            ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2Array, [width, height, 1])
        })?;
        let mut state = mesh_state();
        state.view_mask = view_mask;
        let mut stages = stages(bench).to_vec();
        if let Some(geometry) = bench.spirv.get(2) {
            stages.insert(1, (GEOMETRY, &geometry[..]));
        }
        let pipeline = gpu.graphics(&stages, &state, &[])?;
        let list = scattered(85, 12);
        let buffer = vertices(bench, &list)?;
        let pass = Pass {
            colors: vec![Attachment::color(&image, CLEAR)],
            size_px: SIZE_PX,
            layers: if view_mask == 0 { layers } else { 1 },
            view_mask,
            ..Pass::default()
        };
        gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, list.len() as u32, instances);
            });
        })?;
        let pixels = gpu.read_image(&image, 0, (width * height * 4 * layers) as usize)?;
        let picture = Output::peer("picture", &pixels, nearly()).picture([width, height * layers]);
        Ok(vec![picture])
    })
}

fn targets() -> Vec<Case> {
    let vertex = || Shader::new("mesh.vert");
    let mut cases = vec![
        layered("layers_vertex", vertex().define("LAYER", 4), None, 4, 0, 6),
        layered(
            "layers_geometry",
            vertex(),
            Some(geometry_shader("triangles", "triangle_strip", 1, 2).define("LAYER", 1)),
            4,
            0,
            1,
        ),
        layered("layers_first_only", vertex(), None, 3, 0, 1),
        layered("views", vertex().define("VIEW", 1), None, 4, 0b1111, 1),
    ];
    let mut state = mesh_state();
    state.viewports = quarters();
    state.scissors = vec![state.scissors[0]; 4];
    state.scissors[2].extent.width = 30;
    let shaders = vec![vertex().define("VIEWPORT", 4), Shader::new("shade.frag")];
    cases.push(Case::new(
        "stages/viewports_vertex",
        "a viewport for each instance",
        shaders,
        move |bench| {
            let stages = stages(bench);
            let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
            let list = scattered(86, 9);
            let buffer = vertices(bench, &list)?;
            let pixels = picture(bench, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&pipeline, list.len() as u32, 4);
                Ok(())
            })?;
            Ok(vec![output(&pixels, nearly())])
        },
    ));
    cases
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let again = vec![feedback_resumed()];
    [geometry_shaders(), tessellation(), feedback(), again, targets()]
        .into_iter()
        .flatten()
        .collect()
}
