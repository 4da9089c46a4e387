//! Geometry and tessellation shaders, layers, viewports and views.

use ash::vk;

use super::canvas::{
    CLEAR, FRAGMENT, SIZE_PX, VERTEX, Vertex, band, mesh_state, nearly, output, picture, scattered,
    small, stages, vertices,
};
use crate::case::{Case, Output, Shader};
use crate::gpu::{Attachment, Bind, ImageSpec, Pass, Shape, State};

pub(super) const GEOMETRY: vk::ShaderStageFlags = vk::ShaderStageFlags::GEOMETRY;
pub(super) const CONTROL: vk::ShaderStageFlags = vk::ShaderStageFlags::TESSELLATION_CONTROL;
pub(super) const EVALUATION: vk::ShaderStageFlags = vk::ShaderStageFlags::TESSELLATION_EVALUATION;

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

/// Vertices of one colour, for primitives whose order is the implementation's choice.
fn one_colour(mut list: Vec<Vertex>) -> Vec<Vertex> {
    list.iter_mut().for_each(|v| v[4..].copy_from_slice(&[1.0, 0.5, 0.25, 1.0]));
    list
}

/// Polygons of geometry shaders and of the tessellator that are drawn as lines or points.
fn outlines() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, mode) in [("lines", vk::PolygonMode::LINE), ("points", vk::PolygonMode::POINT)] {
        for (suffix, flat, last, cull) in [
            ("", "", false, vk::CullModeFlags::NONE),
            ("_culled", "", false, vk::CullModeFlags::BACK),
            ("_flat", "flat", false, vk::CullModeFlags::NONE),
            ("_flat_last", "flat", true, vk::CullModeFlags::NONE),
        ] {
            let mut state = mesh_state();
            state.polygon_mode = mode;
            (state.provoking_last, state.cull) = (last, cull);
            state.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
            cases.push(staged(
                &format!("geometry_{name}{suffix}"),
                "outlines of what a geometry shader emits",
                &[VERTEX, GEOMETRY, FRAGMENT],
                vec![
                    Shader::new("mesh.vert"),
                    geometry_shader("triangles", "triangle_strip", 4, 2),
                    Shader::new("shade.frag").define("FLAT", flat),
                ],
                state.clone(),
                scattered(85, 18),
            ));
            if !flat.is_empty() {
                // The provoking vertex of what the tessellator makes is the implementation's choice.
                continue;
            }
            state.topology = vk::PrimitiveTopology::PATCH_LIST;
            state.patch_points = 3;
            cases.push(staged(
                &format!("tessellation_{name}{suffix}"),
                "outlines of what the tessellator makes",
                &[VERTEX, CONTROL, EVALUATION, FRAGMENT],
                vec![
                    Shader::new("mesh.vert"),
                    Shader::new("stage.tesc").define("POINTS", 3).define("LEVEL", "2.3"),
                    Shader::new("stage.tese")
                        .define("POINTS", 3)
                        .define("MODE", "triangles, equal_spacing"),
                    Shader::new("shade.frag"),
                ],
                state,
                one_colour(scattered(86, 9)),
            ));
        }
    }
    cases
}

/// Draws into layers of an array and returns all of them.
fn layered(
    name: &str,
    shader: Shader,
    between: Vec<(vk::ShaderStageFlags, Shader)>,
    layers: u32,
    view_mask: u32,
    instances: u32,
) -> Case {
    let mut shaders = vec![shader, Shader::new("shade.frag")];
    let (flags, more): (Vec<_>, Vec<_>) = between.into_iter().unzip();
    shaders.extend(more);
    Case::new(format!("stages/{name}"), "layers of an array", shaders, move |bench| {
        let gpu = bench.gpu;
        if view_mask != 0 {
            let (geometry, patches) = (flags.contains(&GEOMETRY), flags.contains(&CONTROL));
            let offers = gpu.offers;
            gpu.feature(!geometry || offers.views_of_geometry, "multiviewGeometryShader")?;
            gpu.feature(!patches || offers.views_of_patches, "multiviewTessellationShader")?;
        }
        let [width, height] = SIZE_PX;
        let image = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
            layers,
            ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2Array, [width, height, 1])
        })?;
        let mut state = mesh_state();
        state.view_mask = view_mask;
        if flags.contains(&CONTROL) {
            state.topology = vk::PrimitiveTopology::PATCH_LIST;
            state.patch_points = 3;
        }
        let mut stages = stages(bench).to_vec();
        let more = flags.iter().copied().zip(bench.spirv[2..].iter().map(Vec::as_slice));
        stages.splice(1..1, more);
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
    let smaller = || geometry_shader("triangles", "triangle_strip", 1, 2);
    let patches = || {
        vec![
            (CONTROL, Shader::new("stage.tesc").define("POINTS", 3).define("LEVEL", "2.3")),
            (
                EVALUATION,
                Shader::new("stage.tese")
                    .define("POINTS", 3)
                    .define("MODE", "triangles, equal_spacing")
                    .define("VIEW", 1),
            ),
        ]
    };
    let mut cases = vec![
        layered("layers_vertex", vertex().define("LAYER", 4), Vec::new(), 4, 0, 6),
        layered(
            "layers_geometry",
            vertex(),
            vec![(GEOMETRY, smaller().define("LAYER", 1))],
            4,
            0,
            1,
        ),
        layered("layers_first_only", vertex(), Vec::new(), 3, 0, 1),
        layered("views", vertex().define("VIEW", 1), Vec::new(), 4, 0b1111, 1),
        layered(
            "views_geometry",
            vertex(),
            vec![(GEOMETRY, smaller().define("VIEW", 1))],
            4,
            0b1011,
            1,
        ),
        layered(
            "views_geometry_vertex",
            vertex().define("VIEW", 1).define("PLAIN", 1),
            vec![(GEOMETRY, smaller())],
            3,
            0b111,
            2,
        ),
        layered("views_tessellation", vertex(), patches(), 4, 0b1101, 1),
        layered(
            "views_tessellation_geometry",
            vertex(),
            [patches(), vec![(GEOMETRY, smaller().define("VIEW", 1))]].concat(),
            3,
            0b110,
            1,
        ),
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

/// Shaders and state of triangles as patches, of which two in seven are culled by their number.
pub(super) fn patches_of_triangles() -> (Vec<Shader>, State) {
    let control = Shader::new("stage.tesc")
        .define("POINTS", 3)
        .define("PATCH", "(gl_PrimitiveID % 7)")
        .define("LEVEL", "1.0")
        .define("CULLED", 1);
    let evaluation =
        Shader::new("stage.tese").define("POINTS", 3).define("MODE", "triangles, equal_spacing");
    let shaders = vec![Shader::new("mesh.vert"), control, evaluation, Shader::new("shade.frag")];
    let topology = vk::PrimitiveTopology::PATCH_LIST;
    (shaders, State { topology, patch_points: 3, ..mesh_state() })
}

/// Maximum sizes: components, primitives whose vertices may take more than a gigabyte, and patches whose points might.
fn largest() -> Vec<Case> {
    const STAGES: &[vk::ShaderStageFlags] = &[VERTEX, GEOMETRY, FRAGMENT];
    let wide = ["wide.vert", "wide.geom", "wide.frag"].map(Shader::new).to_vec();
    let about = "116 components through a geometry shader";
    let mut cases =
        vec![staged("geometry_wide", about, STAGES, wide, mesh_state(), scattered(75, 18))];
    let geometry = geometry_shader("points", "triangle_strip", 5, 32).define("MAX", 100);
    let shaders = vec![Shader::new("mesh.vert"), geometry, Shader::new("shade.frag")];
    let mut state = mesh_state();
    state.topology = vk::PrimitiveTopology::POINT_LIST;
    let about = "256,000 invocations that might emit 100 vertices each";
    cases.push(staged("geometry_large", about, STAGES, shaders, state, scattered(84, 8000)));
    let (shaders, state) = patches_of_triangles();
    let about = "2,500 patches, of which two in seven are culled by their number";
    let stages = &[VERTEX, CONTROL, EVALUATION, FRAGMENT];
    cases.push(staged("tessellation_many", about, stages, shaders, state, small(86, 2500)));
    cases
}

/// A matrix that moves and shrinks for each of three stages, then a factor of the colour for each.
fn uniform_words() -> Vec<f32> {
    let matrix = |k: f32| {
        let size = 1.0 - 0.1 * k;
        let axes = [[size, 0.0, 0.0, 0.0], [0.05 * k, size, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        [axes.as_flattened(), &[0.04 * k, -0.03 * k, 0.0, 1.0]].concat()
    };
    let tint = |k: f32| vec![1.0 - 0.2 * k, 0.7 + 0.1 * k, 1.0 - 0.1 * k, 1.0];
    (1..4).map(|k| matrix(k as f32)).chain((0..3).map(|k| tint(k as f32))).flatten().collect()
}

/// Stages that read a uniform buffer.
fn uniforms() -> Vec<Case> {
    const GEOMETRY_ONLY: &[vk::ShaderStageFlags] = &[VERTEX, GEOMETRY, FRAGMENT];
    const ALL: &[vk::ShaderStageFlags] = &[VERTEX, CONTROL, EVALUATION, GEOMETRY, FRAGMENT];
    let one = |name: &str, flags: &'static [vk::ShaderStageFlags]| {
        let vertex = Shader::new("mesh.vert").define("UNIFORMS", 1);
        let control = Shader::new("stage.tesc").define("POINTS", 3).define("LEVEL", "2.3");
        let evaluation = Shader::new("stage.tese")
            .define("POINTS", 3)
            .define("MODE", "triangles, equal_spacing")
            .define("UNIFORMS", 1);
        let geometry = geometry_shader("triangles", "triangle_strip", 1, 2).define("UNIFORMS", 1);
        let mut shaders = vec![vertex, control, evaluation, geometry, Shader::new("shade.frag")];
        let mut state = mesh_state();
        if flags.contains(&CONTROL) {
            state.topology = vk::PrimitiveTopology::PATCH_LIST;
            state.patch_points = 3;
        } else {
            shaders.drain(1..3);
        }
        let about = "stages with a uniform buffer";
        Case::new(format!("stages/uniforms_{name}"), about, shaders, move |bench| {
            let modules: Vec<_> =
                flags.iter().copied().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
            let buffer = bench.gpu.buffer(&uniform_words())?;
            let pipeline = bench.gpu.graphics(&modules, &state, &[Bind::Uniform(&buffer)])?;
            let list = scattered(91, 18);
            let mesh = vertices(bench, &list)?;
            let pixels = picture(bench, |c| {
                c.vertex_buffers(&[&mesh]);
                c.draw(&pipeline, list.len() as u32, 1);
                Ok(())
            })?;
            Ok(vec![output(&pixels, nearly())])
        })
    };
    vec![one("geometry", GEOMETRY_ONLY), one("tessellation", ALL)]
}

/// The cases.
pub fn cases() -> Vec<Case> {
    [geometry_shaders(), largest(), tessellation(), outlines(), targets(), uniforms()]
        .into_iter()
        .flatten()
        .collect()
}
