//! From vertices to primitives on the screen: topologies, culling, clipping, provoking vertices,
//! restart, instances.

use ash::vk;

use super::canvas::{
    Mesh, SIZE_PX, Vertex, band, mesh_state, nearly, output, picture, scattered, small, stages,
    vertices,
};
use crate::case::{Case, Output, Rule, Shader};
use crate::number::Random;

fn triangle() -> Case {
    let corner = |x, y, r, g, b| [x, y, 0.5, 1.0, r, g, b, 1.0];
    let list = vec![
        corner(-0.8, -0.7, 1.0, 0.0, 0.0),
        corner(0.9, -0.3, 0.0, 1.0, 0.0),
        corner(-0.1, 0.8, 0.0, 0.0, 1.0),
    ];
    Mesh::new("geometry/triangle", "one triangle with a colour at each corner", list).case()
}

/// Points and lines of all sizes, and the edges and corners of polygons.
fn points_and_lines() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in ["1.0", "2.0", "5.5", "17.0"] {
        let mesh = Mesh::new(format!("geometry/points_{size}"), "40 points", scattered(33, 40));
        let mesh =
            mesh.define("SIZE", size).state(|s| s.topology = vk::PrimitiveTopology::POINT_LIST);
        cases.push(mesh.case());
    }
    let mesh = Mesh::new("geometry/points_coord", "coordinates in points", scattered(34, 12));
    let mesh = mesh.define("SIZE", "23.0").define("POINT_COORD", 1);
    cases.push(mesh.state(|s| s.topology = vk::PrimitiveTopology::POINT_LIST).case());
    for (name, topology) in [
        ("lines", vk::PrimitiveTopology::LINE_LIST),
        ("line_strip", vk::PrimitiveTopology::LINE_STRIP),
    ] {
        for (suffix, flat, last) in
            [("smooth", "", false), ("flat_first", "flat", false), ("flat_last", "flat", true)]
        {
            let mesh = Mesh::new(format!("geometry/{name}_{suffix}"), "lines", scattered(35, 21));
            cases.push(
                mesh.define("FLAT", flat)
                    .state(|s| {
                        s.topology = topology;
                        s.provoking_last = last;
                        s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
                    })
                    .case(),
            );
        }
    }
    // Lines other than Bresenham's may be drawn as rectangles or as parallelograms.
    for width in [1.0, 3.0, 8.0] {
        let mesh = Mesh::new(format!("geometry/lines_{width}"), "wide lines", scattered(36, 16));
        let mut mesh = mesh.state(|s| {
            s.topology = vk::PrimitiveTopology::LINE_LIST;
            s.line_width = width;
            s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
        });
        // Drivers differ in the interpolation of colours across a wide line.
        mesh.rule = Rule::Mostly { abs: 8.0, permille: 4.0 };
        cases.push(mesh.case());
    }
    for (name, mode) in [("line", vk::PolygonMode::LINE), ("point", vk::PolygonMode::POINT)] {
        for (suffix, flat) in [("smooth", ""), ("flat", "flat")] {
            let mesh = Mesh::new(
                format!("geometry/polygon_{name}_{suffix}"),
                "triangles",
                scattered(37, 12),
            );
            cases.push(mesh.define("FLAT", flat).state(|s| s.polygon_mode = mode).case());
        }
    }
    cases
}

/// Vertices in a volume three times as large as the view's, some with negative w.
fn around(seed: u64, count: usize) -> Vec<Vertex> {
    let mut random = Random::new(seed);
    let mut next = |low: f32, high: f32| random.float(low, high);
    (0..count)
        .map(|_| {
            let w = next(-0.6, 2.0);
            let (x, y, z) = (next(-3.0, 3.0), next(-3.0, 3.0), next(-0.7, 2.2));
            [x, y, z, w, next(0.0, 1.0), next(0.0, 1.0), next(0.0, 1.0), 1.0]
        })
        .collect()
}

/// Vertices within the view, at different depths and w.
fn deep(seed: u64, count: usize) -> Vec<Vertex> {
    let mut list = scattered(seed, count);
    let mut random = Random::new(seed + 1);
    for vertex in &mut list {
        let w = random.float(0.2, 8.0);
        vertex[2] = random.float(0.05, 0.95);
        for c in &mut vertex[..3] {
            *c *= w;
        }
        vertex[3] = w;
    }
    list
}

/// Clipping by every plane.
fn clipping() -> Vec<Case> {
    let mut cases = Vec::new();
    let kinds = [
        ("triangles", vk::PrimitiveTopology::TRIANGLE_LIST),
        ("lines", vk::PrimitiveTopology::LINE_LIST),
        ("points", vk::PrimitiveTopology::POINT_LIST),
    ];
    for (name, topology) in kinds {
        for (suffix, clamp, clip) in [
            ("clip", false, None),
            ("clamp", true, None),
            ("clamp_clip", true, Some(true)),
            ("neither", false, Some(false)),
        ] {
            let mesh = Mesh::new(
                format!("geometry/depth_{suffix}_{name}"),
                "primitives through all planes, some behind the eye",
                around(41, 24),
            );
            let mesh = mesh.define("SIZE", "5.0").state(|s| {
                s.topology = topology;
                s.depth_clamp = clamp;
                s.depth_clip = clip;
                s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
            });
            cases.push(mesh.case());
        }
        let mesh = Mesh::new(
            format!("geometry/depth_negative_one_to_one_{name}"),
            "depth in clip space from -w to w",
            around(49, 24),
        );
        let mesh = mesh.define("SIZE", "5.0").state(|s| {
            s.topology = topology;
            s.negative_one_to_one = true;
            s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
        });
        cases.push(mesh.case().without_honeykrisp());
        for planes in [1, 2, 5, 8] {
            let mesh = Mesh::new(
                format!("geometry/clip_distances_{planes}_{name}"),
                "clip distances",
                deep(43, 18),
            );
            let mesh = mesh.define("SIZE", "9.0").define("CLIP", planes);
            cases.push(
                mesh.state(|s| {
                    s.topology = topology;
                    s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
                })
                .case(),
            );
        }
        for planes in [1, 3] {
            let mesh = Mesh::new(
                format!("geometry/cull_distances_{planes}_{name}"),
                "cull distances",
                deep(45, 18),
            );
            let mesh = mesh.define("SIZE", "9.0").define("CULL", planes);
            cases.push(
                mesh.state(|s| {
                    s.topology = topology;
                    s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
                })
                .case(),
            );
        }
    }
    let mesh = Mesh::new("geometry/clip_and_cull", "both kinds of distances", deep(46, 30));
    cases.push(mesh.define("CLIP", 3).define("CULL", 2).case());
    let mesh = Mesh::new("geometry/perspective", "w from 0.2 to 8", deep(47, 30));
    cases.push(mesh.case());
    let mut far = deep(48, 12);
    for vertex in &mut far {
        vertex[0] *= 900.0;
        vertex[1] *= 700.0;
    }
    cases.push(Mesh::new("geometry/guard_band", "vertices far outside", far).case());
    cases
}

/// Viewports: flipped, offset, with another depth range; scissors.
fn viewports() -> Vec<Case> {
    let port = |x, y, width, height, min_depth, max_depth| vk::Viewport {
        x,
        y,
        width,
        height,
        min_depth,
        max_depth,
    };
    let list = [
        ("flipped", port(0.0, 96.0, 128.0, -96.0, 0.0, 1.0)),
        ("offset", port(20.5, 10.25, 60.0, 50.5, 0.0, 1.0)),
        ("beyond", port(0.0, 0.0, 200.0, 180.0, 0.0, 1.0)),
        ("depth", port(0.0, 0.0, 128.0, 96.0, 0.9, 0.1)),
    ];
    let mut cases: Vec<_> = list
        .into_iter()
        .map(|(name, viewport)| {
            let mesh =
                Mesh::new(format!("geometry/viewport_{name}"), "another viewport", deep(51, 15));
            mesh.state(|s| s.viewports = vec![viewport]).case()
        })
        .collect();
    let mesh = Mesh::new("geometry/scissor", "a scissor", scattered(52, 30));
    let scissor = vk::Rect2D {
        offset: vk::Offset2D { x: 17, y: 9 },
        extent: vk::Extent2D { width: 71, height: 53 },
    };
    cases.push(mesh.state(|s| s.scissors = vec![scissor]).case());
    cases
}

/// Points of one pixel on a grid across a viewport in the middle of the picture: those whose centres are outside are
/// not drawn.
fn points_at_the_edge() -> Case {
    /// Left, top, right, bottom of the viewport.
    const INSIDE: [u32; 4] = [32, 24, 96, 72];
    let [left, top, right, bottom] = INSIDE;
    let is_inside = move |x: u32, y: u32| (left..right).contains(&x) && (top..bottom).contains(&y);
    // The pixels at each edge, those next to it, and those between the edges.
    let near = |low: u32, high: u32| {
        let mut list = vec![low - 2, low - 1, low, low + 1, high - 2, high - 1, high, high + 1];
        list.extend((low + 5..high - 5).step_by(7));
        list
    };
    let (columns, rows) = (near(left, right), near(top, bottom));
    let places: Vec<[u32; 2]> =
        rows.iter().flat_map(|&y| columns.iter().map(move |&x| [x, y])).collect();
    let clip = |pixel: u32, low: u32, high: u32| {
        let middle = (low + high) as f32 / 2.0;
        (pixel as f32 + 0.5 - middle) / (high - middle as u32) as f32
    };
    let list: Vec<Vertex> = places
        .iter()
        .map(|&[x, y]| [clip(x, left, right), clip(y, top, bottom), 0.5, 1.0, 1.0, 1.0, 1.0, 1.0])
        .collect();
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "points beside the edges of the viewport";
    Case::new("geometry/points_at_the_edge", about, shaders, move |bench| {
        let mut state = mesh_state();
        state.topology = vk::PrimitiveTopology::POINT_LIST;
        state.viewports = vec![vk::Viewport {
            x: left as f32,
            y: top as f32,
            width: (right - left) as f32,
            height: (bottom - top) as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        }];
        let pipeline = bench.gpu.graphics(&stages(bench), &state, &[])?;
        let buffer = vertices(bench, &list)?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.draw(&pipeline, list.len() as u32, 1);
            Ok(())
        })?;
        let drawn: Vec<u32> = places
            .iter()
            .map(|&[x, y]| u32::from(pixels[4 * (y * SIZE_PX[0] + x) as usize] == 255))
            .collect();
        let wanted: Vec<u32> = places.iter().map(|&[x, y]| u32::from(is_inside(x, y))).collect();
        Ok(vec![Output::cpu("drawn", &drawn, &wanted, Rule::Bits)])
    })
}

fn many_varyings() -> Case {
    let shaders = vec![Shader::new("wide.vert"), Shader::new("wide.frag")];
    Case::new("geometry/many_varyings", "116 components in three ways", shaders, |bench| {
        let stages = stages(bench);
        let pipeline = bench.gpu.graphics(&stages, &mesh_state(), &[])?;
        let list = deep(54, 15);
        let buffer = vertices(bench, &list)?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.draw(&pipeline, list.len() as u32, 1);
            Ok(())
        })?;
        Ok(vec![output(&pixels, nearly())])
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![triangle()];
    cases.extend(points_and_lines());
    cases.extend(clipping());
    cases.extend(viewports());
    let topologies = [
        ("triangles", vk::PrimitiveTopology::TRIANGLE_LIST),
        ("triangle_strip", vk::PrimitiveTopology::TRIANGLE_STRIP),
        ("triangle_fan", vk::PrimitiveTopology::TRIANGLE_FAN),
    ];
    for (name, topology) in topologies {
        for (flat, last) in [(false, false), (true, false), (true, true)] {
            let suffix = match (flat, last) {
                (false, _) => "smooth",
                (true, false) => "flat_first",
                (true, true) => "flat_last",
            };
            let mut mesh =
                Mesh::new(format!("geometry/{name}_{suffix}"), "13 vertices in a band", band(13))
                    .state(|s| {
                        s.topology = topology;
                        s.provoking_last = last;
                    });
            if flat {
                mesh = mesh.define("FLAT", "flat");
            }
            cases.push(mesh.case());
        }
    }
    for (name, cull) in [
        ("front", vk::CullModeFlags::FRONT),
        ("back", vk::CullModeFlags::BACK),
        ("both", vk::CullModeFlags::FRONT_AND_BACK),
        ("none", vk::CullModeFlags::NONE),
    ] {
        for (wound, face) in
            [("ccw", vk::FrontFace::COUNTER_CLOCKWISE), ("cw", vk::FrontFace::CLOCKWISE)]
        {
            let mesh = Mesh::new(
                format!("geometry/cull_{name}_{wound}"),
                "triangles of both windings, their facing as colour",
                scattered(31, 24),
            );
            let mesh = mesh.define("FACING", 1).state(|s| {
                s.cull = cull;
                s.front_face = face;
            });
            cases.push(mesh.case());
        }
    }
    let mesh = Mesh::new("geometry/primitive_id", "the number of each triangle", scattered(39, 60));
    cases.push(mesh.define("PRIMITIVE", 1).case());
    let mut mesh =
        Mesh::new("geometry/primitive_id_instances", "numbers begin anew", scattered(38, 9));
    mesh.instances = 5;
    cases.push(mesh.define("PRIMITIVE", 1).define("INSTANCED", 1).case());
    let mut mesh = Mesh::new("geometry/instances", "64 instances", scattered(40, 6));
    mesh.instances = 64;
    cases.push(mesh.define("INSTANCED", 1).case());
    let mesh = Mesh::new("geometry/many", "30000 triangles", small(53, 30000));
    cases.push(mesh.case());
    cases.push(many_varyings());
    cases.push(points_at_the_edge());
    cases
}
