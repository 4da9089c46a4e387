//! Draw commands: indices, instances, divisors, indirect arguments, and attribute fetches.

use ash::vk;

use super::canvas::{Mesh, SIZE_PX, TOPOLOGIES, VERTEX, band, picture, stages};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Bind, Buffer, Commands, Graphics, Result, State};
use crate::number::Random;

/// An index buffer.
pub fn indices(bench: &Bench, kind: vk::IndexType, list: &[u32]) -> Result<Buffer> {
    match kind {
        vk::IndexType::UINT8_KHR => {
            bench.gpu.require(ash::ext::index_type_uint8::NAME)?;
            bench.gpu.buffer(&list.iter().map(|&i| i as u8).collect::<Vec<_>>())
        }
        vk::IndexType::UINT16 => {
            bench.gpu.buffer(&list.iter().map(|&i| i as u16).collect::<Vec<_>>())
        }
        _ => bench.gpu.buffer(list),
    }
}

/// Names and sizes of indices.
pub const INDEX_TYPES: [(&str, vk::IndexType); 3] = [
    ("u8", vk::IndexType::UINT8_KHR),
    ("u16", vk::IndexType::UINT16),
    ("u32", vk::IndexType::UINT32),
];

/// Indexed draws with every index size, with and without restart.
fn indexed() -> Vec<Case> {
    let mut cases = Vec::new();
    let topologies = [
        ("strip", vk::PrimitiveTopology::TRIANGLE_STRIP),
        ("fan", vk::PrimitiveTopology::TRIANGLE_FAN),
        ("triangles", vk::PrimitiveTopology::TRIANGLE_LIST),
        ("line_strip", vk::PrimitiveTopology::LINE_STRIP),
    ];
    for (size, kind) in INDEX_TYPES {
        for (name, topology) in topologies {
            for restart in [false, true] {
                let list: Vec<u32> = (0..24u32)
                    .map(|i| if restart && i % 7 == 5 { u32::MAX } else { i * 5 % 13 })
                    .collect();
                let suffix = if restart { "_restart" } else { "" };
                let mesh = Mesh::new(
                    format!("draws/indexed_{size}_{name}{suffix}"),
                    "indices with repeats",
                    band(13),
                );
                let mesh = mesh.define("FLAT", "flat").state(|s| {
                    s.topology = topology;
                    s.restart = restart;
                    s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
                });
                cases.push(mesh.drawn(move |bench, pipeline, c| {
                    c.index_buffer(&indices(bench, kind, &list)?, kind);
                    c.draw_indexed(pipeline, list.len() as u32, 1);
                    Ok(())
                }));
            }
        }
    }
    // The restart index if restart is enabled, otherwise the last vertex of many.
    let last = u32::from(u16::MAX);
    for (name, topology) in TOPOLOGIES {
        let mut all = band(13);
        all.resize(last as usize, [0.0; 8]);
        all.push([0.1, 0.9, 0.5, 1.0, 1.0, 1.0, 0.0, 1.0]);
        let list: Vec<u32> = (0..26).map(|i| if i % 5 == 3 { last } else { i * 5 % 13 }).collect();
        let about = "65535 is an index if nothing restarts";
        let mesh = Mesh::new(format!("draws/last_index_{name}"), about, all);
        let mesh = mesh.define("FLAT", "flat").state(|s| {
            s.topology = topology;
            s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
        });
        cases.push(mesh.drawn(move |bench, pipeline, c| {
            c.index_buffer(&indices(bench, vk::IndexType::UINT16, &list)?, vk::IndexType::UINT16);
            c.draw_indexed(pipeline, list.len() as u32, 1);
            Ok(())
        }));
    }
    for (size, kind) in INDEX_TYPES {
        let mesh = Mesh::new(
            format!("draws/behind_the_end_{size}"),
            "indices behind the end of their buffer are zero",
            band(13),
        );
        let case = mesh.drawn(move |bench, pipeline, c| {
            c.index_buffer(&indices(bench, kind, &[1, 2, 3, 4, 5, 6, 7, 8])?, kind);
            c.draw_indexed(pipeline, 12, 1);
            Ok(())
        });
        cases.push(case.robust());
    }
    cases
}

/// A draw of `numbers.vert`: the built-ins that each vertex saw, as integers.
fn numbers(
    name: &str,
    about: &str,
    divisor: Option<u32>,
    draw: impl Fn(&Bench, &Graphics, &Commands) -> Result<()> + Send + Sync + 'static,
) -> Case {
    numbers_with(name, about, divisor, |_| (), draw)
}

/// [`numbers`] with another state.
fn numbers_with(
    name: &str,
    about: &str,
    divisor: Option<u32>,
    change: fn(&mut State),
    draw: impl Fn(&Bench, &Graphics, &Commands) -> Result<()> + Send + Sync + 'static,
) -> Case {
    let shaders = vec![Shader::new("numbers.vert"), Shader::new("shade.frag").define("NUMBERS", 1)];
    Case::new(format!("draws/{name}"), about, shaders, move |bench| {
        let uint = [(vk::Format::R32_UINT, 4)];
        let rate = match divisor {
            Some(_) => vk::VertexInputRate::INSTANCE,
            None => vk::VertexInputRate::VERTEX,
        };
        let mut state = State::new(SIZE_PX)
            .vertex_buffer(vk::VertexInputRate::VERTEX, &uint)
            .vertex_buffer(rate, &uint);
        state.topology = vk::PrimitiveTopology::POINT_LIST;
        change(&mut state);
        if let Some(divisor) = divisor.filter(|&d| d != 1) {
            bench.gpu.require(ash::ext::vertex_attribute_divisor::NAME)?;
            state.divisors =
                vec![vk::VertexInputBindingDivisorDescriptionKHR { binding: 1, divisor }];
        }
        let stages = stages(bench);
        let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
        let each = bench.gpu.buffer(&(0..256u32).map(|i| 255 - i).collect::<Vec<_>>())?;
        let divided = bench.gpu.buffer(&(0..256u32).map(|i| 7 + 3 * i).collect::<Vec<_>>())?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&each, &divided]);
            draw(bench, &pipeline, c)
        })?;
        Ok(vec![Output::peer("picture", &pixels, Rule::Bits).picture(SIZE_PX)])
    })
}

/// Direct draws with every kind of offset.
fn direct() -> Vec<Case> {
    let mut cases = Vec::new();
    for divisor in [None, Some(0), Some(1), Some(2), Some(5)] {
        let name = divisor.map_or("vertex".to_owned(), |d| format!("divisor_{d}"));
        let about = "11 vertices of 13 instances";
        cases.push(numbers(&format!("instances_{name}"), about, divisor, |bench, pipeline, c| {
            c.bind_graphics(pipeline);
            // SAFETY: a pipeline and its vertex buffers are bound.
            unsafe { bench.gpu.device.cmd_draw(c.handle, 11, 13, 3, 2) };
            Ok(())
        }));
    }
    let about = "an attribute that all vertices share, robust access";
    let case = numbers_with(
        "one_for_all",
        about,
        None,
        |s| s.bindings[1].stride = 0,
        |bench, pipeline, c| {
            c.bind_graphics(pipeline);
            // SAFETY: a pipeline and its vertex buffers are bound.
            unsafe { bench.gpu.device.cmd_draw(c.handle, 11, 2, 3, 0) };
            Ok(())
        },
    );
    cases.push(case.robust());
    // The device has no robust access, and of pipelines that are linked only the part with the vertex input does.
    let about = "attributes past the end of their buffer, robust vertex inputs";
    cases.push(numbers_with(
        "past_the_end",
        about,
        None,
        |s| s.robust_inputs = true,
        |bench, pipeline, c| {
            bench.gpu.require(ash::ext::pipeline_robustness::NAME)?;
            let few = bench.gpu.buffer(&[9u32, 8, 7, 6, 5])?;
            c.vertex_buffers(&[&few, &few]);
            c.bind_graphics(pipeline);
            // SAFETY: a pipeline and its vertex buffers are bound.
            unsafe { bench.gpu.device.cmd_draw(c.handle, 11, 1, 0, 0) };
            Ok(())
        },
    ));
    for (size, kind) in INDEX_TYPES {
        cases.push(numbers(
            &format!("offsets_{size}"),
            "first index, what is added to each, first instance",
            Some(2),
            move |bench, pipeline, c| {
                let list: Vec<u32> = (0..20).map(|i| i * 7 % 20).collect();
                c.index_buffer(&indices(bench, kind, &list)?, kind);
                c.bind_graphics(pipeline);
                // SAFETY: a pipeline, its vertex buffers and an index buffer are bound.
                unsafe { bench.gpu.device.cmd_draw_indexed(c.handle, 13, 4, 5, 9, 3) };
                Ok(())
            },
        ));
    }
    for (size, kind) in INDEX_TYPES {
        let about = "indices of a buffer, and then without one: all are zero";
        let draw = move |bench: &Bench, pipeline: &Graphics, c: &Commands| {
            bench.gpu.require(ash::khr::maintenance6::NAME)?;
            // vkCmdBindIndexBuffer reads the null buffer's address (Mesa 26.1.6).
            let is_anv = bench.gpu.name.starts_with("Intel(R)");
            bench.gpu.check(!is_anv, "the driver dies of a null index buffer")?;
            c.index_buffer(&indices(bench, kind, &[3, 4, 5, 6, 7, 8])?, kind);
            c.draw_indexed(pipeline, 6, 1);
            c.no_index_buffer(kind);
            // SAFETY: a pipeline and its vertex buffers are bound.
            unsafe { bench.gpu.device.cmd_draw_indexed(c.handle, 4, 2, 1, 5, 7) };
            Ok(())
        };
        cases.push(numbers(&format!("no_indices_{size}"), about, None, draw));
    }
    cases.push(numbers(
        "many_instances",
        "one vertex of 20 instances, drawn after nothing at all",
        Some(1),
        |bench, pipeline, c| {
            c.bind_graphics(pipeline);
            // SAFETY: a pipeline and its vertex buffers are bound.
            unsafe {
                bench.gpu.device.cmd_draw(c.handle, 0, 5, 0, 0);
                bench.gpu.device.cmd_draw(c.handle, 5, 0, 0, 0);
                bench.gpu.device.cmd_draw(c.handle, 1, 20, 0, 0);
            }
            Ok(())
        },
    ));
    cases
}

/// Draws whose arguments are in memory, with and without a count there.
fn indirect() -> Vec<Case> {
    let mut cases = Vec::new();
    // Vertices, instances, first vertex, first instance; a word of padding.
    let plain: Vec<u32> = (0..6u32).flat_map(|i| [4 + i, 3, i, 1 + i % 2, 99]).collect();
    // Index count, instance count, first index, vertex offset, first instance; a word of padding.
    let with_index: Vec<u32> =
        (0..6u32).flat_map(|i| [3 + i, 2 + i % 3, i, 2 * i, i % 3, 99]).collect();
    // The second word of each draw's arguments, of three draws out of six.
    let without_instances = |words: &[u32], stride: usize| -> Vec<u32> {
        let mut words = words.to_vec();
        words.iter_mut().skip(1).step_by(2 * stride).for_each(|instances| *instances = 0);
        words
    };
    for (name, draws, count) in [
        ("one", 1u32, None),
        ("six", 6, None),
        ("count", 6, Some(4u32)),
        ("count_zero", 6, Some(0)),
        ("no_instances", 6, None),
        ("count_no_instances", 6, Some(5)),
    ] {
        let none = name.ends_with("no_instances");
        let words = if none { without_instances(&plain, 5) } else { plain.clone() };
        cases.push(numbers(
            &format!("indirect_{name}"),
            "arguments in memory",
            Some(1),
            move |bench, pipeline, c| {
                let arguments = bench.gpu.buffer(&words)?;
                let number = bench.gpu.buffer(&[count.unwrap_or(0)])?;
                c.bind_graphics(pipeline);
                let device = &bench.gpu.device;
                // SAFETY: the buffers are live and large enough for six draws and a count.
                unsafe {
                    match count {
                        None => device.cmd_draw_indirect(c.handle, arguments.handle, 0, draws, 20),
                        Some(_) => device.cmd_draw_indirect_count(
                            c.handle,
                            arguments.handle,
                            0,
                            number.handle,
                            0,
                            draws,
                            20,
                        ),
                    }
                }
                Ok(())
            },
        ));
        for (size, kind) in INDEX_TYPES {
            let words = if none { without_instances(&with_index, 6) } else { with_index.clone() };
            cases.push(numbers(
                &format!("indirect_{name}_{size}"),
                "arguments in memory, with indices",
                Some(1),
                move |bench, pipeline, c| {
                    let arguments = bench.gpu.buffer(&words)?;
                    let number = bench.gpu.buffer(&[count.unwrap_or(0)])?;
                    let list: Vec<u32> = (0..20).map(|i| i * 7 % 20).collect();
                    c.index_buffer(&indices(bench, kind, &list)?, kind);
                    c.bind_graphics(pipeline);
                    let device = &bench.gpu.device;
                    let (handle, from) = (c.handle, arguments.handle);
                    // SAFETY: the buffers are live and large enough for six draws and a count.
                    unsafe {
                        match count {
                            None => device.cmd_draw_indexed_indirect(handle, from, 0, draws, 24),
                            Some(_) => device.cmd_draw_indexed_indirect_count(
                                handle,
                                from,
                                0,
                                number.handle,
                                0,
                                draws,
                                24,
                            ),
                        }
                    }
                    Ok(())
                },
            ));
        }
    }
    cases
}

/// Draws and clears with conditional rendering: the conditions are words that a fill wrote in the same
/// command buffer.
fn conditional() -> Vec<Case> {
    // Words of the buffer: those that enable draws and, inverted, those that do not.
    const WORDS: [u32; 4] = [0, 1, 0x8000_0000, 0];
    let mut cases = Vec::new();
    for (name, indirect) in [("direct", false), ("indirect", true)] {
        let case = numbers(
            &format!("conditional_{name}"),
            "draws that words in memory let happen or not",
            Some(1),
            move |bench, pipeline, c| {
                bench.gpu.require(ash::ext::conditional_rendering::NAME)?;
                let words = bench.gpu.buffer(&WORDS)?;
                let list: Vec<u32> = (0..40).map(|i| i * 7 % 40).collect();
                c.index_buffer(
                    &indices(bench, vk::IndexType::UINT16, &list)?,
                    vk::IndexType::UINT16,
                );
                c.bind_graphics(pipeline);
                let device = &bench.gpu.device;
                let mut number = 0;
                for inverted in [false, true] {
                    for word in 0..WORDS.len() as u64 {
                        // Each draw has a different number of vertices and instances.
                        let n = number;
                        number += 1;
                        let plain = bench.gpu.buffer(&[1 + n, 1, 2 * n, n])?;
                        let with_index = bench.gpu.buffer(&[2, 1, n, n, 8 + n])?;
                        let count = bench.gpu.buffer(&[1u32])?;
                        c.conditional(&words, word, inverted, || {
                            // SAFETY: a pipeline, its vertex buffers and an index buffer are bound; arguments are live.
                            unsafe {
                                if indirect {
                                    let from = plain.handle;
                                    device.cmd_draw_indirect(c.handle, from, 0, 1, 16);
                                    let (from, count) = (with_index.handle, count.handle);
                                    device.cmd_draw_indexed_indirect_count(
                                        c.handle, from, 0, count, 0, 1, 20,
                                    );
                                } else {
                                    let corner = vk::Offset2D { x: 3 * n as i32, y: 0 };
                                    let extent = vk::Extent2D { width: 2, height: 3 };
                                    let rect = vk::ClearRect {
                                        rect: vk::Rect2D { offset: corner, extent },
                                        base_array_layer: 0,
                                        layer_count: 1,
                                    };
                                    let color = [n as f32 / 8.0, 0.5, 0.25, 1.0];
                                    let clear = vk::ClearAttachment {
                                        aspect_mask: vk::ImageAspectFlags::COLOR,
                                        color_attachment: 0,
                                        clear_value: vk::ClearValue {
                                            color: vk::ClearColorValue { float32: color },
                                        },
                                    };
                                    device.cmd_clear_attachments(c.handle, &[clear], &[rect]);
                                    device.cmd_draw(c.handle, 1 + n, 1, 2 * n, n);
                                    device.cmd_draw_indexed(c.handle, 2, 1, n, n as i32, 8 + n);
                                }
                            }
                        });
                    }
                }
                Ok(())
            },
        );
        cases.push(case.without_honeykrisp());
    }
    cases
}

/// Every format that vertex buffers must have, and some that they may have: name, bytes, GLSL type.
const FORMATS: &[(&str, vk::Format, u32, &str)] = &[
    ("r8_unorm", vk::Format::R8_UNORM, 1, "vec4"),
    ("r8_snorm", vk::Format::R8_SNORM, 1, "vec4"),
    ("r8_uscaled", vk::Format::R8_USCALED, 1, "vec4"),
    ("r8_sscaled", vk::Format::R8_SSCALED, 1, "vec4"),
    ("r8_uint", vk::Format::R8_UINT, 1, "uvec4"),
    ("r8_sint", vk::Format::R8_SINT, 1, "ivec4"),
    ("rg8_unorm", vk::Format::R8G8_UNORM, 2, "vec4"),
    ("rg8_snorm", vk::Format::R8G8_SNORM, 2, "vec4"),
    ("rg8_uint", vk::Format::R8G8_UINT, 2, "uvec4"),
    ("rg8_sint", vk::Format::R8G8_SINT, 2, "ivec4"),
    ("rgb8_unorm", vk::Format::R8G8B8_UNORM, 3, "vec4"),
    ("rgb8_sint", vk::Format::R8G8B8_SINT, 3, "ivec4"),
    ("rgba8_unorm", vk::Format::R8G8B8A8_UNORM, 4, "vec4"),
    ("rgba8_snorm", vk::Format::R8G8B8A8_SNORM, 4, "vec4"),
    ("rgba8_uscaled", vk::Format::R8G8B8A8_USCALED, 4, "vec4"),
    ("rgba8_sscaled", vk::Format::R8G8B8A8_SSCALED, 4, "vec4"),
    ("rgba8_uint", vk::Format::R8G8B8A8_UINT, 4, "uvec4"),
    ("rgba8_sint", vk::Format::R8G8B8A8_SINT, 4, "ivec4"),
    ("bgra8_unorm", vk::Format::B8G8R8A8_UNORM, 4, "vec4"),
    ("abgr8_unorm", vk::Format::A8B8G8R8_UNORM_PACK32, 4, "vec4"),
    ("abgr8_sint", vk::Format::A8B8G8R8_SINT_PACK32, 4, "ivec4"),
    ("a2b10g10r10_unorm", vk::Format::A2B10G10R10_UNORM_PACK32, 4, "vec4"),
    ("a2b10g10r10_snorm", vk::Format::A2B10G10R10_SNORM_PACK32, 4, "vec4"),
    ("a2b10g10r10_uint", vk::Format::A2B10G10R10_UINT_PACK32, 4, "uvec4"),
    ("a2r10g10b10_unorm", vk::Format::A2R10G10B10_UNORM_PACK32, 4, "vec4"),
    ("b10g11r11_ufloat", vk::Format::B10G11R11_UFLOAT_PACK32, 4, "vec4"),
    ("r16_unorm", vk::Format::R16_UNORM, 2, "vec4"),
    ("r16_snorm", vk::Format::R16_SNORM, 2, "vec4"),
    ("r16_uint", vk::Format::R16_UINT, 2, "uvec4"),
    ("r16_sint", vk::Format::R16_SINT, 2, "ivec4"),
    ("r16_sfloat", vk::Format::R16_SFLOAT, 2, "vec4"),
    ("rg16_unorm", vk::Format::R16G16_UNORM, 4, "vec4"),
    ("rg16_sfloat", vk::Format::R16G16_SFLOAT, 4, "vec4"),
    ("rg16_sint", vk::Format::R16G16_SINT, 4, "ivec4"),
    ("rgb16_unorm", vk::Format::R16G16B16_UNORM, 6, "vec4"),
    ("rgb16_sfloat", vk::Format::R16G16B16_SFLOAT, 6, "vec4"),
    ("rgba16_unorm", vk::Format::R16G16B16A16_UNORM, 8, "vec4"),
    ("rgba16_snorm", vk::Format::R16G16B16A16_SNORM, 8, "vec4"),
    ("rgba16_uscaled", vk::Format::R16G16B16A16_USCALED, 8, "vec4"),
    ("rgba16_uint", vk::Format::R16G16B16A16_UINT, 8, "uvec4"),
    ("rgba16_sint", vk::Format::R16G16B16A16_SINT, 8, "ivec4"),
    ("rgba16_sfloat", vk::Format::R16G16B16A16_SFLOAT, 8, "vec4"),
    ("r32_uint", vk::Format::R32_UINT, 4, "uvec4"),
    ("r32_sint", vk::Format::R32_SINT, 4, "ivec4"),
    ("r32_sfloat", vk::Format::R32_SFLOAT, 4, "vec4"),
    ("rg32_uint", vk::Format::R32G32_UINT, 8, "uvec4"),
    ("rg32_sfloat", vk::Format::R32G32_SFLOAT, 8, "vec4"),
    ("rgb32_sint", vk::Format::R32G32B32_SINT, 12, "ivec4"),
    ("rgb32_sfloat", vk::Format::R32G32B32_SFLOAT, 12, "vec4"),
    ("rgba32_uint", vk::Format::R32G32B32A32_UINT, 16, "uvec4"),
    ("rgba32_sfloat", vk::Format::R32G32B32A32_SFLOAT, 16, "vec4"),
];

/// Vertices of a format case.
const FETCHED: usize = 64;

/// Attributes of every format, as the vertex shader sees them.
fn formats() -> Vec<Case> {
    let case = |&(name, format, bytes, kind): &(&str, vk::Format, u32, &'static str)| {
        let bits = match kind {
            "vec4" => "floatBitsToUint",
            _ => "uvec4",
        };
        let shader = Shader::new("fetch.vert").define("TYPE", kind).define("BITS", bits);
        Case::new(
            format!("draws/format_{name}"),
            "64 attributes of random bits",
            vec![shader],
            move |bench| {
                let data: Vec<u8> = Random::integers(61, FETCHED * bytes as usize)
                    .iter()
                    .map(|&word| (word >> 11) as u8)
                    .collect();
                let buffer = bench.gpu.buffer(&data)?;
                let values = bench.gpu.output::<u32>(4 * FETCHED)?;
                let attribute = [(format, bytes)];
                let mut state =
                    State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &attribute);
                state.topology = vk::PrimitiveTopology::POINT_LIST;
                state.discard = true;
                let stages = [(VERTEX, &bench.spirv[0][..])];
                let pipeline = bench.gpu.graphics(&stages, &state, &[Bind::Storage(&values)])?;
                picture(bench, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.draw(&pipeline, FETCHED as u32, 1);
                    Ok(())
                })?;
                let output = match kind {
                    "vec4" => Output::peer("values", &values.read::<f32>(), Rule::Ulp(1.0)),
                    _ => Output::peer("values", &values.read::<u32>(), Rule::Bits),
                };
                Ok(vec![output])
            },
        )
    };
    FORMATS.iter().map(case).collect()
}

/// A matrix whose columns are attributes. Each vertex takes the column of its number.
fn columns() -> Case {
    let shader = Shader::new("fetch.vert")
        .define("TYPE", "mat4")
        .define("BITS(v)", "floatBitsToUint(v[gl_VertexIndex % 4])");
    Case::new("draws/attribute_columns", "columns of a matrix by index", vec![shader], |bench| {
        let data: Vec<f32> = (0..16 * FETCHED).map(|k| k as f32).collect();
        let buffer = bench.gpu.buffer(&data)?;
        let values = bench.gpu.output::<u32>(4 * FETCHED)?;
        let column = (vk::Format::R32G32B32A32_SFLOAT, 16);
        let mut state =
            State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &[column; 4]);
        state.topology = vk::PrimitiveTopology::POINT_LIST;
        state.discard = true;
        let stages = [(VERTEX, &bench.spirv[0][..])];
        let pipeline = bench.gpu.graphics(&stages, &state, &[Bind::Storage(&values)])?;
        picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.draw(&pipeline, FETCHED as u32, 1);
            Ok(())
        })?;
        let expected: Vec<f32> = (0..FETCHED)
            .flat_map(|v| (0..4).map(move |c| (16 * v + 4 * (v % 4) + c) as f32))
            .collect();
        Ok(vec![Output::cpu("values", &values.read::<f32>(), &expected, Rule::Bits)])
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    [indexed(), direct(), indirect(), conditional(), formats(), vec![columns()]]
        .into_iter()
        .flatten()
        .collect()
}
