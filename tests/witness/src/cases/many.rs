//! Many commands of one kind in a command buffer: draws whose arguments are in memory, draws that differ in
//! one state, dispatches with descriptor sets of their own.

use ash::vk;

use super::canvas::{CLEAR, Mesh, SIZE_PX, band, mesh_state, picture, stages, vertices};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Commands, Result, State};

/// Pixels of the picture; each draw covers one.
const PIXELS: u32 = SIZE_PX[0] * SIZE_PX[1];

/// Numbers of draws: drivers take other paths from 4 and from 100 draws on, and 10,000 exceed ANV's ring.
const COUNTS: [u32; 7] = [1, 3, 4, 99, 100, 2_000, 10_000];

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

/// The expected picture of [`indirect`].
fn expected(draws: u32) -> Vec<u8> {
    let clear = CLEAR.map(|c| (c * 255.0).round() as u8);
    let mut pixels: Vec<u8> = clear.repeat(PIXELS as usize);
    for draw in 0..draws {
        let at = 4 * place(draw) as usize;
        let told = [draw, draw >> 8, instance(draw), place(draw) + 16 * instance(draw)];
        pixels[at..at + 4].copy_from_slice(&told.map(|v| v as u8));
    }
    pixels
}

/// Draws whose arguments are in memory, one pixel each.
fn indirect(name: &str, most: u32, count: Count, indexed: bool) -> Case {
    let kind = if indexed { "indexed_" } else { "" };
    let shaders = vec![Shader::new("draws.vert"), Shader::new("shade.frag").define("NUMBERS", 1)];
    let about = "a pixel for each draw of one command";
    Case::new(format!("many/draws_{kind}{name}_{most}"), about, shaders, move |bench| {
        let mut state = State::new(SIZE_PX);
        state.topology = vk::PrimitiveTopology::POINT_LIST;
        let pipeline = bench.gpu.graphics(&stages(bench), &state, &[])?;
        let each = |draw: u32| match indexed {
            // Index 0 is 0: the vertex offset determines the vertex.
            true => vec![1, 1, 0, place(draw), instance(draw)],
            false => vec![1, 1, place(draw), instance(draw), 99],
        };
        let arguments = bench.gpu.buffer(&(0..most).flat_map(each).collect::<Vec<_>>())?;
        let drawn = if count == Count::Part { most - most / 3 } else { most };
        let number = bench.gpu.buffer(&[drawn])?;
        let index = bench.gpu.buffer(&[0u32])?;
        let pixels = picture(bench, |c| {
            c.bind_graphics(&pipeline);
            c.index_buffer(&index, vk::IndexType::UINT32);
            let device = &bench.gpu.device;
            let (to, from, number) = (c.handle, arguments.handle, number.handle);
            // SAFETY: the buffers are live and as large as `most` draws and a count.
            unsafe {
                match (count, indexed) {
                    (Count::Direct, false) => device.cmd_draw_indirect(to, from, 0, most, 20),
                    (Count::Direct, true) => {
                        device.cmd_draw_indexed_indirect(to, from, 0, most, 20);
                    }
                    (_, false) => {
                        device.cmd_draw_indirect_count(to, from, 0, number, 0, most, 20);
                    }
                    (_, true) => {
                        device.cmd_draw_indexed_indirect_count(to, from, 0, number, 0, most, 20);
                    }
                }
            }
            Ok(())
        })?;
        Ok(vec![Output::cpu("picture", &pixels, &expected(drawn), Rule::Bits).picture(SIZE_PX)])
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
    cases.extend([states(), tables()]);
    cases
}
