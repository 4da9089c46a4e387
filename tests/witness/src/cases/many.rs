//! Many commands of one kind in a command buffer: draws whose arguments are in memory, draws that differ in
//! one state, dispatches with descriptor sets of their own.

use ash::vk;

use super::canvas::{CLEAR, Mesh, SIZE_PX, band, mesh_state, picture, stages, vertices};
use super::stages::{CONTROL, EVALUATION};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Buffer, Commands, Graphics, ImageSpec, Pass, Result, Shape, State};

/// Pixels of the picture; each draw covers one.
const PIXELS: u32 = SIZE_PX[0] * SIZE_PX[1];

/// Numbers of draws: drivers take other paths from 4 and from 100 draws on, and 10,000 exceed ANV's ring.
const COUNTS: [u32; 7] = [1, 3, 4, 99, 100, 2_000, 10_000];

/// More draws than some drivers take in one command.
const MANY: u32 = 100_000;

/// The source of the number of draws.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Count {
    /// In the command.
    Direct,
    /// In a buffer, equal to the command's maximum.
    Whole,
    /// In a buffer, below the command's maximum.
    Part,
}

/// The pixel that a draw covers.
fn place(draw: u32) -> u32 {
    draw * 4099 % PIXELS
}

/// The first instance of a draw.
fn instance(draw: u32) -> u32 {
    draw % 5
}

/// A cleared picture.
fn cleared() -> Vec<u8> {
    CLEAR.map(|c| (c * 255.0).round() as u8).repeat(PIXELS as usize)
}

/// Adds draws to an expected picture, whose numbers begin with 0 at `first`.
fn add(pixels: &mut [u8], first: u32, draws: u32) {
    for draw in first..first + draws {
        let (at, number) = (4 * place(draw) as usize, draw - first);
        let told = [number, number >> 8, instance(draw), place(draw) + 16 * instance(draw)];
        pixels[at..at + 4].copy_from_slice(&told.map(|v| v as u8));
    }
}

/// The expected picture of draws in commands of at most `limit`.
fn expected(draws: u32, limit: u32) -> Vec<u8> {
    let mut pixels = cleared();
    let commands = (0..draws).step_by(limit as usize);
    commands.for_each(|first| add(&mut pixels, first, limit.min(draws - first)));
    pixels
}

/// Words of the arguments of draws, five each.
fn arguments(draws: std::ops::Range<u32>, indexed: bool) -> Vec<u32> {
    let each = |draw: u32| match indexed {
        // Index 0 is 0: the vertex offset determines the vertex.
        true => [1, 1, 0, place(draw), instance(draw)],
        false => [1, 1, place(draw), instance(draw), 99],
    };
    draws.flat_map(each).collect()
}

/// Shaders of a point for each draw.
fn shaders() -> Vec<Shader> {
    vec![Shader::new("draws.vert"), Shader::new("shade.frag").define("NUMBERS", 1)]
}

/// The pipeline of [`shaders`], for the views of a mask.
fn pipeline(bench: &Bench, view_mask: u32) -> Result<Graphics> {
    let mut state = State::new(SIZE_PX);
    state.topology = vk::PrimitiveTopology::POINT_LIST;
    state.view_mask = view_mask;
    bench.gpu.graphics(&stages(bench), &state, &[])
}

/// Records draws whose first arguments are those of draw `first`, and whose number is in memory if there is a buffer.
fn draw_indirect(
    c: &Commands,
    (arguments, first): (&Buffer, u32),
    number: Option<&Buffer>,
    most: u32,
    indexed: bool,
) {
    let (device, to, from, at) = (&c.gpu.device, c.handle, arguments.handle, 20 * u64::from(first));
    // SAFETY: the buffers are live and as large as all draws and a count.
    unsafe {
        match (number, indexed) {
            (None, false) => device.cmd_draw_indirect(to, from, at, most, 20),
            (None, true) => device.cmd_draw_indexed_indirect(to, from, at, most, 20),
            (Some(n), false) => {
                device.cmd_draw_indirect_count(to, from, at, n.handle, 0, most, 20);
            }
            (Some(n), true) => {
                device.cmd_draw_indexed_indirect_count(to, from, at, n.handle, 0, most, 20);
            }
        }
    }
}

/// Draws whose arguments are in memory, one pixel each.
fn indirect(name: &str, most: u32, count: Count, indexed: bool) -> Case {
    let kind = if indexed { "indexed_" } else { "" };
    let about = "a pixel for each draw";
    Case::new(format!("many/draws_{kind}{name}_{most}"), about, shaders(), move |bench| {
        let pipeline = pipeline(bench, 0)?;
        let arguments = bench.gpu.buffer(&arguments(0..most, indexed))?;
        let drawn = if count == Count::Part { most - most / 3 } else { most };
        let number = bench.gpu.buffer(&[drawn])?;
        let index = bench.gpu.buffer(&[0u32])?;
        let limit = match count {
            Count::Direct => bench.gpu.max_indirect_draws,
            _ => most,
        };
        let pixels = picture(bench, |c| {
            c.bind_graphics(&pipeline);
            c.index_buffer(&index, vk::IndexType::UINT32);
            let number = (count != Count::Direct).then_some(&number);
            for first in (0..most).step_by(limit as usize) {
                let draws = limit.min(most - first);
                draw_indirect(c, (&arguments, first), number, draws, indexed);
            }
            Ok(())
        })?;
        let right = expected(drawn, limit);
        Ok(vec![Output::cpu("picture", &pixels, &right, Rule::Bits).picture(SIZE_PX)])
    })
}

/// The pipeline of [`shaders`] and of a tessellator, for patches of a point.
fn patches(bench: &Bench) -> Result<Graphics> {
    let mut state = State::new(SIZE_PX);
    state.topology = vk::PrimitiveTopology::PATCH_LIST;
    state.patch_points = 1;
    let [vertex, fragment] = stages(bench);
    let [control, evaluation] = [2, 3].map(|k| &bench.spirv[k][..]);
    let all = [vertex, (CONTROL, control), (EVALUATION, evaluation), fragment];
    bench.gpu.graphics(&all, &state, &[])
}

/// Draws under conditions that hold and that do not, with and without a count in memory, of points or of patches.
fn conditional(most: u32, of_patches: bool) -> Case {
    let about = "draws that words in memory let happen or not";
    let kind = if of_patches { "patches_" } else { "" };
    let mut shaders = shaders();
    if of_patches {
        shaders.extend([Shader::new("draws.tesc"), Shader::new("draws.tese")]);
    }
    let case = Case::new(format!("many/conditional_{kind}{most}"), about, shaders, move |bench| {
        bench.gpu.require(ash::ext::conditional_rendering::NAME)?;
        let pipeline = if of_patches { patches(bench) } else { pipeline(bench, 0) }?;
        let arguments = bench.gpu.buffer(&arguments(0..8 * most, false))?;
        let words = bench.gpu.buffer(&[0u32, 7])?;
        let drawn = most - most / 3;
        let number = bench.gpu.buffer(&[drawn])?;
        let mut right = cleared();
        let pixels = picture(bench, |c| {
            c.bind_graphics(&pipeline);
            let mut first = 0;
            for (inverted, word, counted) in (0..8).map(|k| (k & 1 != 0, k >> 1 & 1, k & 4 != 0)) {
                let number = counted.then_some(&number);
                c.conditional(&words, word, inverted, || {
                    draw_indirect(c, (&arguments, first), number, most, false);
                });
                if (word != 0) != inverted {
                    add(&mut right, first, if counted { drawn } else { most });
                }
                first += most;
            }
            Ok(())
        })?;
        Ok(vec![Output::cpu("picture", &pixels, &right, Rule::Bits).picture(SIZE_PX)])
    });
    case.without_honeykrisp()
}

/// Draws to two of three views.
fn views(most: u32) -> Case {
    const MASK: u32 = 0b101;
    let about = "draws of one command to several views";
    Case::new(format!("many/views_{most}"), about, shaders(), move |bench| {
        let gpu = bench.gpu;
        let [width, height] = SIZE_PX;
        let image = gpu.image(ImageSpec {
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
            layers: 3,
            ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2Array, [width, height, 1])
        })?;
        let (plain, several) = (pipeline(bench, 0)?, pipeline(bench, MASK)?);
        let arguments = gpu.buffer(&arguments(0..most, true))?;
        let index = gpu.buffer(&[0u32])?;
        let number = gpu.buffer(&[most - 1])?;
        let all = Pass {
            colors: vec![Attachment::color(&image, CLEAR)],
            size_px: SIZE_PX,
            layers: 3,
            ..Pass::default()
        };
        let those = Pass { view_mask: MASK, layers: 1, ..all.clone() };
        let draw = |c: &Commands, pipeline, number| {
            c.bind_graphics(pipeline);
            c.index_buffer(&index, vk::IndexType::UINT32);
            draw_indirect(c, (&arguments, 0), number, most, true);
        };
        gpu.submit(|c| {
            // The first layer, and nothing in the others; then all of them, which are cleared before.
            c.render(&all, |c| draw(c, &plain, None));
            c.render(&those, |c| draw(c, &several, Some(&number)));
        })?;
        let pixels = gpu.read_image(&image, 0, 3 * 4 * PIXELS as usize)?;
        let drawn = expected(most - 1, most);
        let right = [&drawn[..], &cleared(), &drawn].concat();
        let picture = Output::cpu("picture", &pixels, &right, Rule::Bits);
        Ok(vec![picture.picture([width, 3 * height])])
    })
}

/// Draws whose arguments commands overwrite between two renderings; the command buffer is submitted twice.
fn rewritten(most: u32) -> Case {
    let about = "arguments that change between the draws of a command buffer";
    Case::new(format!("many/rewritten_{most}"), about, shaders(), move |bench| {
        let gpu = bench.gpu;
        let pipeline = pipeline(bench, 0)?;
        let buffer = gpu.output::<u32>(5 * most as usize)?;
        let number = gpu.output::<u32>(1)?;
        let image = super::canvas::target(bench)?;
        let pass = super::canvas::onto(&image);
        let again = Pass { colors: vec![pass.colors[0].loaded()], ..pass.clone() };
        let counts = [most, most - 1];
        let recorded = gpu.record(|c| {
            for (pass, k) in [(&pass, 0), (&again, 1)] {
                let draws = arguments(k * most..(k + 1) * most, false);
                c.update(&buffer, &draws);
                c.update(&number, &[counts[k as usize]]);
                c.render(pass, |c| {
                    c.bind_graphics(&pipeline);
                    draw_indirect(c, (&buffer, 0), Some(&number), most, false);
                    // Two commands with arguments of one barrier.
                    draw_indirect(c, (&buffer, 1), None, most - 1, false);
                });
            }
        })?;
        let mut right = cleared();
        for (k, count) in (0..).zip(counts) {
            add(&mut right, k * most, count);
            add(&mut right, k * most + 1, most - 1);
        }
        let mut outputs = Vec::new();
        for _ in 0..2 {
            gpu.submit_all(&[recorded])?;
            let pixels = gpu.read_image(&image, 0, 4 * PIXELS as usize)?;
            outputs.push(Output::cpu("picture", &pixels, &right, Rule::Bits).picture(SIZE_PX));
        }
        // SAFETY: the submissions are over.
        unsafe { gpu.device.free_command_buffers(gpu.command_pool, &[recorded]) };
        Ok(outputs)
    })
}

/// Draws that blend with constants, before and after work that is no drawing.
fn constants() -> Case {
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "blend constants that are set once, with a dispatch between the draws";
    Case::new("many/constants", about, shaders, |bench| {
        let gpu = bench.gpu;
        let blend = vk::PipelineColorBlendAttachmentState {
            blend_enable: vk::TRUE,
            src_color_blend_factor: vk::BlendFactor::CONSTANT_COLOR,
            dst_color_blend_factor: vk::BlendFactor::ONE,
            src_alpha_blend_factor: vk::BlendFactor::ONE,
            color_write_mask: vk::ColorComponentFlags::RGBA,
            ..Default::default()
        };
        let state = State {
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            blend: vec![blend],
            blend_constants: [0.25, 0.5, 0.75, 1.0],
            ..mesh_state()
        };
        let pipeline = gpu.graphics(&stages(bench), &state, &[])?;
        let list = vertices(bench, &band(13))?;
        let written = gpu.output::<u32>(4)?;
        let image = super::canvas::target(bench)?;
        let pass = super::canvas::onto(&image);
        let again = Pass { colors: vec![pass.colors[0].loaded()], ..pass.clone() };
        gpu.submit(|c| {
            c.render(&pass, |c| {
                c.vertex_buffers(&[&list]);
                c.draw(&pipeline, 6, 1);
            });
            c.update(&written, &[1, 2, 3, 4]);
            // SAFETY: the pipeline and its vertex buffer are still bound.
            c.render(&again, |c| unsafe { gpu.device.cmd_draw(c.handle, 7, 1, 6, 0) });
        })?;
        let pixels = gpu.read_image(&image, 0, 4 * PIXELS as usize)?;
        Ok(vec![super::canvas::output(&pixels, super::canvas::nearly())])
    })
}

/// Draws of a triangle strip that differ in nothing, in the vertex buffer, in the pipeline's culling, in the scissor
/// rectangle; then in nothing again.
fn states() -> Case {
    let mesh = Mesh::new("many/states", "draws that differ in one state each", band(13));
    let mesh = mesh.state(|s| s.topology = vk::PrimitiveTopology::TRIANGLE_STRIP);
    mesh.drawn(|bench, pipeline, c| {
        let draw = |c: &Commands| {
            // SAFETY: a pipeline and its vertex buffer are bound.
            unsafe { bench.gpu.device.cmd_draw(c.handle, 9, 1, 0, 0) };
        };
        let culled = State {
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            cull: vk::CullModeFlags::BACK,
            ..mesh_state()
        };
        let culled = bench.gpu.graphics(&stages(bench), &culled, &[])?;
        let other: Vec<_> = band(13).into_iter().rev().collect();
        let other = vertices(bench, &other)?;
        c.bind_graphics(pipeline);
        draw(c);
        draw(c);
        c.vertex_buffers(&[&other]);
        draw(c);
        c.bind_graphics(&culled);
        draw(c);
        c.bind_graphics(pipeline);
        draw(c);
        draw(c);
        Ok(())
    })
}

/// Dispatches of [`tables`]: more than a block of ANV's binding tables holds.
const DISPATCHES: u32 = 3_000;

/// Dispatches that alternate between two descriptor sets: drivers that write a table for each need many.
fn tables() -> Case {
    let shader = vec![Shader::new("count.comp")];
    let about = "dispatches that use two descriptor sets in turn";
    Case::new("many/tables", about, shader, |bench: &Bench| -> Result<Vec<Output>> {
        let buffers = [bench.gpu.buffer(&[0u32; 18])?, bench.gpu.buffer(&[0u32; 18])?];
        let [first, second] = [&buffers[0], &buffers[1]];
        let kernels = [
            bench.gpu.kernel(&bench.spirv[0]).storage(&[first]).build()?,
            bench.gpu.kernel(&bench.spirv[0]).storage(&[second]).build()?,
        ];
        bench.gpu.submit(|c| {
            for i in 0..DISPATCHES {
                c.dispatch(&kernels[(i % 2) as usize], [1 + i % 2, 1, 1]);
            }
        })?;
        let half = DISPATCHES / 2;
        let outputs = buffers.iter().zip(1..).map(|(buffer, groups)| {
            let mut expected = [0u32; 18];
            expected[0] = 32 * groups * half;
            expected[1] = groups;
            expected[2..2 + groups as usize].fill(half);
            Output::cpu(&format!("set {groups}"), &buffer.read::<u32>(), &expected, Rule::Bits)
        });
        Ok(outputs.collect())
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, count) in
        [("direct", Count::Direct), ("count", Count::Whole), ("count_part", Count::Part)]
    {
        for most in COUNTS {
            for indexed in [false, true] {
                cases.push(indirect(name, most, count, indexed));
            }
        }
    }
    cases.push(indirect("direct", MANY, Count::Direct, false));
    // Few draws, some more, and many: drivers take other paths.
    for most in [2, 6, 130] {
        cases.extend([false, true].map(|of_patches| conditional(most, of_patches)));
        cases.extend([views(most), rewritten(most)]);
    }
    cases.extend([states(), tables(), constants()]);
    cases
}
