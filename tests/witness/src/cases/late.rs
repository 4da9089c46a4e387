//! Draws through geometry and tessellation shaders whose counts the GPU writes in the same command buffer, and large
//! ones.

use ash::vk;

use super::canvas::{
    CLEAR, FRAGMENT, SIZE_PX, VERTEX, mesh_state, nearly, onto, output, picture, scattered, small,
    target, vertices,
};
use super::draws::indices;
use super::stages::{CONTROL, EVALUATION, GEOMETRY, patches_of_triangles};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Commands, During, Graphics, Layouts, Pass, Result, State};

/// Stages of the programs of [`shaders`].
const STAGES: [vk::ShaderStageFlags; 3] = [VERTEX, GEOMETRY, FRAGMENT];

/// Shaders that expand each point to two squares.
fn shaders() -> Vec<Shader> {
    let geometry = Shader::new("stage.geom")
        .define("IN", "points")
        .define("OUT", "triangle_strip")
        .define("BODY", 0)
        .define("INVOCATIONS", 2);
    vec![Shader::new("mesh.vert").define("INSTANCED", 1), geometry, Shader::new("shade.frag")]
}

fn points() -> State {
    State { topology: vk::PrimitiveTopology::POINT_LIST, ..mesh_state() }
}

/// The pipeline of a case's first three shaders, and one without the second.
fn pipelines(bench: &Bench) -> Result<[Graphics; 2]> {
    let all: Vec<_> = STAGES.into_iter().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
    let plain = [all[0], all[2]];
    Ok([bench.gpu.graphics(&all, &points(), &[])?, bench.gpu.graphics(&plain, &points(), &[])?])
}

/// Arguments of the case's draws: vertices, instances, first vertex, first instance; one draw has no primitives.
const ARGUMENTS: [[u32; 4]; 4] = [[5, 2, 0, 3], [4, 0, 1, 1], [3, 1, 4, 0], [6, 3, 2, 1]];

/// Direct and indirect draws alternating, with and without a geometry shader, in two renderings, inside of a query. The
/// command buffer is submitted twice.
fn by_turns() -> Case {
    let about = "draws with and without counts by turns, submitted twice";
    Case::new("stages/late_by_turns", about, shaders(), |bench| {
        let gpu = bench.gpu;
        let [squares, plain] = pipelines(bench)?;
        let buffer = vertices(bench, &scattered(101, 20))?;
        let queries = gpu.query_pool(vk::QueryType::OCCLUSION, 2)?;
        let answers = gpu.output::<u64>(2)?;
        let image = target(bench)?;
        let pass = onto(&image);
        let again =
            Pass { colors: vec![Attachment { clear: None, ..pass.colors[0] }], ..onto(&image) };
        let [arguments, count] = [gpu.buffer(&[0u32; 16])?, gpu.buffer(&[0u32])?];
        let (device, from, number) = (&gpu.device, arguments.handle, count.handle);
        let recorded = gpu.record(|c| {
            c.update(&arguments, &ARGUMENTS.concat());
            c.update(&count, &[2]);
            c.reset_queries(queries, 2);
            let all = vk::QueryControlFlags::PRECISE;
            c.render(&pass, |c| {
                c.vertex_buffers(&[&buffer]);
                c.draw(&plain, 7, 1);
                c.query((queries, 0), all, || {
                    c.draw(&squares, 2, 1);
                    // SAFETY: a pipeline and its vertex buffer are bound, and the buffers hold the arguments.
                    unsafe { device.cmd_draw_indirect(c.handle, from, 0, 2, 16) };
                    c.draw(&plain, 9, 2);
                    // SAFETY: as above.
                    unsafe { device.cmd_draw_indirect(c.handle, from, 32, 1, 0) };
                    c.bind_graphics(&squares);
                    // SAFETY: as above.
                    unsafe { device.cmd_draw_indirect(c.handle, from, 32, 1, 0) };
                    c.draw(&squares, 3, 5);
                });
            });
            // Different counts, which the first draws must not see.
            c.update(&arguments, &[[6, 1, 9, 2], ARGUMENTS[3]].concat());
            c.render(&again, |c| {
                c.vertex_buffers(&[&buffer]);
                c.bind_graphics(&squares);
                c.query((queries, 1), all, || {
                    // SAFETY: as above.
                    unsafe {
                        device.cmd_draw_indirect(c.handle, from, 0, 2, 16);
                        device.cmd_draw_indirect_count(c.handle, from, 0, number, 0, 4, 16);
                    }
                });
            });
            c.barrier();
            c.query_results(queries, 2, 1, &answers);
        })?;
        let mut outputs = Vec::new();
        for _ in 0..2 {
            gpu.submit_all(&[recorded])?;
            let pixels = gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)?;
            outputs.push(output(&pixels, nearly()));
            outputs.push(Output::peer("samples", &answers.read::<u64>(), Rule::Bits));
        }
        // SAFETY: the submissions are over.
        unsafe { gpu.device.free_command_buffers(gpu.command_pool, &[recorded]) };
        Ok(outputs)
    })
}

/// Draws in secondary command buffers, the first of which has several.
fn secondary() -> Case {
    let about = "indirect draws in secondary command buffers";
    Case::new("stages/late_secondary", about, shaders(), |bench| {
        let gpu = bench.gpu;
        let [squares, plain] = pipelines(bench)?;
        let buffer = vertices(bench, &scattered(102, 20))?;
        let arguments = gpu.buffer(&ARGUMENTS.concat())?;
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(gpu.command_pool)
            .level(vk::CommandBufferLevel::SECONDARY)
            .command_buffer_count(2);
        // SAFETY: the pool is live.
        let buffers = unsafe { gpu.device.allocate_command_buffers(&allocate) }
            .during("vkAllocateCommandBuffers")?;
        let formats = [vk::Format::R8G8B8A8_UNORM];
        let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
            .color_attachment_formats(&formats)
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let inherit = vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
        let begin = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
            .inheritance_info(&inherit);
        for (&handle, at) in buffers.iter().zip([0, 32]) {
            let c = Commands { gpu, handle };
            // SAFETY: the command buffer is new; what it uses is live.
            unsafe {
                gpu.device.begin_command_buffer(handle, &begin).during("vkBeginCommandBuffer")?;
                c.vertex_buffers(&[&buffer]);
                c.draw(&plain, 5, 1);
                c.bind_graphics(&squares);
                gpu.device.cmd_draw_indirect(handle, arguments.handle, at, 2, 16);
                c.draw(&plain, 12, 2);
                c.bind_graphics(&squares);
                gpu.device.cmd_draw_indirect(handle, arguments.handle, at, 1, 16);
                gpu.device.end_command_buffer(handle).during("vkEndCommandBuffer")?;
            }
        }
        let image = target(bench)?;
        let color = Attachment::color(&image, CLEAR).info(Layouts::General);
        let info = vk::RenderingInfo::default()
            .flags(vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS)
            .render_area(vk::Extent2D { width: SIZE_PX[0], height: SIZE_PX[1] }.into())
            .layer_count(1)
            .color_attachments(std::slice::from_ref(&color));
        gpu.submit(|c| {
            // SAFETY: the attachment and the secondary command buffers are live until the wait.
            unsafe {
                gpu.device.cmd_begin_rendering(c.handle, &info);
                gpu.device.cmd_execute_commands(c.handle, &buffers);
                gpu.device.cmd_end_rendering(c.handle);
            }
        })?;
        // SAFETY: nothing executes them any more.
        unsafe { gpu.device.free_command_buffers(gpu.command_pool, &buffers) };
        let pixels = gpu.read_image(&image, 0, (SIZE_PX[0] * SIZE_PX[1] * 4) as usize)?;
        Ok(vec![output(&pixels, nearly())])
    })
}

/// Draws with conditions that hold, and that do not.
fn conditional() -> Case {
    let about = "draws through a geometry shader that words in memory let happen or not";
    let case = Case::new("stages/late_conditional", about, shaders(), |bench| {
        bench.gpu.require(ash::ext::conditional_rendering::NAME)?;
        let [squares, _] = pipelines(bench)?;
        let buffer = vertices(bench, &scattered(103, 20))?;
        let arguments = bench.gpu.buffer(&ARGUMENTS.concat())?;
        let words = bench.gpu.buffer(&[0u32, 7])?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.bind_graphics(&squares);
            let (device, from) = (&bench.gpu.device, arguments.handle);
            let mut first = 0;
            for inverted in [false, true] {
                for word in 0..2 {
                    c.conditional(&words, word, inverted, || {
                        // SAFETY: a pipeline and its vertex buffer are bound, and the buffer holds the arguments.
                        unsafe {
                            device.cmd_draw(c.handle, 1, 2, first, 2 * first);
                            let at = 16 * u64::from(first);
                            device.cmd_draw_indirect(c.handle, from, at, 1, 16);
                        }
                    });
                    first += 1;
                }
            }
            Ok(())
        })?;
        Ok(vec![output(&pixels, nearly())])
    });
    case.without_honeykrisp()
}

/// A draw of 256,000 invocations of a geometry shader whose maximum output is more than a gigabyte.
fn large(restarts: bool) -> Case {
    let (name, input) = if restarts { ("restarts", "triangles") } else { ("indirect", "points") };
    let body = if restarts { 1 } else { 5 };
    let geometry = Shader::new("stage.geom")
        .define("IN", input)
        .define("OUT", "triangle_strip")
        .define("BODY", body)
        .define("INVOCATIONS", 32)
        .define("MAX", 100);
    let shaders = vec![Shader::new("mesh.vert"), geometry, Shader::new("shade.frag")];
    let about = "a geometry shader that might emit more than a gigabyte";
    let case = Case::new(format!("stages/late_large_{name}"), about, shaders, move |bench| {
        let modules: Vec<_> =
            STAGES.into_iter().zip(bench.spirv.iter().map(Vec::as_slice)).collect();
        let mut state = points();
        if restarts {
            (state.topology, state.restart) = (vk::PrimitiveTopology::TRIANGLE_STRIP, true);
        }
        let pipeline = bench.gpu.graphics(&modules, &state, &[])?;
        let list = if restarts { small(104, 2500) } else { scattered(104, 8000) };
        let buffer = vertices(bench, &list)?;
        let arguments = bench.gpu.buffer(&[list.len() as u32, 1, 0, 0])?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.bind_graphics(&pipeline);
            if restarts {
                // Triangles separated by restarts, some of which form none.
                let triangle = |k: u32| [3 * k, 3 * k + 1, 3 * k + 2, u32::MAX];
                let list: Vec<u32> = (0..2500).flat_map(triangle).chain([0, u32::MAX, 1]).collect();
                let kind = vk::IndexType::UINT32;
                c.index_buffer(&indices(bench, kind, &list)?, kind);
                c.draw_indexed(&pipeline, list.len() as u32, 1);
                return Ok(());
            }
            // SAFETY: a pipeline and its vertex buffer are bound, and the buffer holds the arguments.
            unsafe { bench.gpu.device.cmd_draw_indirect(c.handle, arguments.handle, 0, 1, 0) };
            Ok(())
        })?;
        Ok(vec![output(&pixels, nearly())])
    });
    case.without_honeykrisp()
}

/// Patches with counts in memory whose maximum tessellation exceeds the available memory.
fn patches() -> Case {
    let (shaders, state) = patches_of_triangles();
    let about = "2,500 patches of an indirect draw, of which two in seven are culled";
    let case = Case::new("stages/late_patches", about, shaders, move |bench| {
        let modules: Vec<_> = [VERTEX, CONTROL, EVALUATION, FRAGMENT]
            .into_iter()
            .zip(bench.spirv.iter().map(Vec::as_slice))
            .collect();
        let pipeline = bench.gpu.graphics(&modules, &state, &[])?;
        let list = small(105, 2500);
        let buffer = vertices(bench, &list)?;
        let arguments = bench.gpu.buffer(&[list.len() as u32, 1, 0, 0])?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&buffer]);
            c.bind_graphics(&pipeline);
            // SAFETY: a pipeline and its vertex buffer are bound, and the buffer holds the arguments.
            unsafe { bench.gpu.device.cmd_draw_indirect(c.handle, arguments.handle, 0, 1, 0) };
            Ok(())
        })?;
        Ok(vec![output(&pixels, nearly())])
    });
    case.without_honeykrisp()
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![by_turns(), secondary(), conditional(), large(false), large(true), patches()]
}
